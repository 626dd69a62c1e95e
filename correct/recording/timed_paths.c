/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "correct/recording/timed_paths.h"

#include <gsl/gsl_cdf.h>
#include <math.h>
#include <stdlib.h>

#include "correct/model/model.h"
#include "profiler/base/mem.h"
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

void timed_paths_add(struct timed_paths *t, const struct pd_sample *s, int32_t module, uint64_t vaddr)
{
	struct timed_path path = { (double)s->period, (double)s->addr, module, vaddr };

	if (!s->stream_id) {
		vec_add(&t->v, path);
		return;
	}
	if (!t->v.n)
		return;
	t->v.v[t->v.n - 1].insn += (double)s->period;
	vec_add(&t->runs, ((struct timed_run){ (uint32_t)t->v.n - 1, module, vaddr, vaddr + (s->addr - s->ip),
	                                       (double)s->period }));
}

void timed_paths_fini(struct timed_paths *t)
{
	vec_fini(&t->v);
	vec_fini(&t->runs);
}

void timed_paths_rate(const struct timed_paths *t, struct timed_rate *out)
{
	double n = 0, sum = 0, squares = 0, half;

	for (size_t i = 0; i < t->v.n; i++) {
		const double pace = t->v.v[i].ns > 0 ? t->v.v[i].insn / t->v.v[i].ns : 0;

		n += t->v.v[i].ns > 0;
		sum += pace;
		squares += pace * pace;
	}
	*out = (struct timed_rate){ .n = (uint64_t)n, .n_failed = t->v.n - (uint64_t)n };
	if (n < model->few || (double)out->n_failed > model->timed_missed * (double)t->v.n)
		return;
	out->rate = sum / n;
	out->spread = sum > 0 ? sqrt(fmax(n * squares / (sum * sum) - 1, 0)) : 0;
	half = gsl_cdf_tdist_Pinv(0.95, n - 1) * out->rate *
	       hypot(out->spread / sqrt(n - 1), model->neighbours_off);
	out->lo = fmax(out->rate - half, 0);
	out->hi = out->rate + half;
}
