/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "correct/recording/timed_paths.h"

#include <gsl/gsl_cdf.h>
#include <math.h>

#include "correct/model/model.h"
#include "profiler/perfdata/reader.h"

int timed_paths_event(const struct pd_reader *r)
{
	for (size_t i = 0; i < pd_n_events(r); i++) {
		const struct perf_event_attr *a = &pd_event(r, i)->attr;

		if (a->type == PERF_TYPE_SOFTWARE && a->config == PERF_COUNT_SW_TASK_CLOCK &&
		    a->sample_period == 1 && !a->freq && a->sample_type & PERF_SAMPLE_ADDR &&
		    a->sample_type & PERF_SAMPLE_STREAM_ID)
			return (int)i;
	}
	return -1;
}

int timed_paths_add(struct timed_paths *t, const struct pd_sample *s)
{
	struct timed_path path = { (double)s->period, (double)s->addr };

	if (!s->stream_id)
		return vec_push(&t->v, path);
	if (t->v.n)
		t->v.v[t->v.n - 1].insn += (double)s->period;
	return 0;
}

void timed_paths_fini(struct timed_paths *t)
{
	vec_fini(&t->v);
}

/*
 * eq. 10.  Moments lie evenly in time, and each path is of as much of it as others: so their paces have the mean of the whole.
 */
struct timed_rate timed_paths_rate(const struct timed_paths *t)
{
	struct timed_rate r = { 0 };
	double sum = 0, squares = 0, n, sd;

	for (size_t i = 0; i < t->v.n; i++) {
		const struct timed_path *p = &t->v.v[i];
		double rate = p->ns > 0 ? p->insn / p->ns : 0;

		r.n += p->ns > 0;
		r.n_failed += !(p->ns > 0);
		sum += rate;
		squares += rate * rate;
	}
	n = (double)r.n;
	if (r.n < model->few || (double)r.n_failed > model->timed_missed * (double)t->v.n)
		return r;
	r.rate = sum / n;
	sd = sqrt(fmax(0, squares / n - r.rate * r.rate) / (n - 1));
	sd = gsl_cdf_tdist_Pinv(0.95, n - 1) * hypot(sd, model->timed_pace_off * r.rate);
	r.lo = fmax(0, r.rate - sd);
	r.hi = r.rate + sd;
	return r;
}
