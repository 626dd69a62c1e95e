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
	struct timed_path path = { (double)s->period, (double)s->addr, module, -1, vaddr };

	if (!s->stream_id) {
		vec_add(&t->v, path);
		return;
	}
	if (!t->v.n)
		return;
	t->v.v[t->v.n - 1].insn += (double)s->period;
	vec_add(&t->runs, ((struct timed_run){ (uint32_t)t->v.n - 1, module, vaddr, (double)s->period }));
}

void timed_paths_fini(struct timed_paths *t)
{
	vec_fini(&t->v);
	vec_fini(&t->runs);
}

/* Paths of one loop, or of all that have too few of their own. */
struct paces {
	double n, n_failed, sum, squares;
	double share; /* of the time */
};

/* A mean of one has no standard error. */
static bool tell_a_mean(const struct paces *of)
{
	return of->n > 1;
}

static void add_path(struct paces *of, const struct timed_path *p, double insn)
{
	double rate = p->ns > 0 ? insn / p->ns : 0;

	of->n += p->ns > 0;
	of->n_failed += !(p->ns > 0);
	of->sum += rate;
	of->squares += rate * rate;
}

static void add_paces(struct paces *of, const struct paces *more)
{
	of->n += more->n;
	of->n_failed += more->n_failed;
	of->sum += more->sum;
	of->squares += more->squares;
}

/* Of one loop's paths, relative to their mean; or of the paths of all loops about the means of theirs. */
struct scatter {
	double squares, n;
};

static void add_scatter(struct scatter *out, const struct paces *of)
{
	double mean = of->sum / of->n;

	if (!tell_a_mean(of) || !(mean > 0))
		return;
	out->squares += fmax(0, of->squares / mean / mean - of->n);
	out->n += of->n - 1;
}

/* The mean of loops by their times: its own error, and what Satterthwaite's degrees of freedom of a sum rest on. */
struct mean {
	double rate, var, var_by_n;
	struct scatter of_all;
};

static void add_term(struct mean *out, double rate, double var, double n)
{
	out->rate += rate;
	out->var += var;
	out->var_by_n += n > 0 ? var * var / n : 0;
}

/* Few paths don't know their scatter: then it is that of all, and what loops differ by where they are of several. */
static void add_mean(struct mean *out, double share, const struct paces *of, bool several)
{
	struct scatter s = { 0 };
	double mean = share * of->sum / of->n, var;

	add_scatter(&s, of);
	if (of->n < model->few && out->of_all.n > s.n)
		s = out->of_all;
	else
		several = false;
	var = (s.n > 0 ? s.squares / s.n : 0) + (several ? model->pace_spread * model->pace_spread : 0);
	add_term(out, mean, mean * mean * var / of->n, s.n);
}

/*
 * Time that has no paths of its own, at the pace of the loops that have: known to what the n of these differ by, and one more that
 * differs as those of other programs do.  How paths of one loop differ says nothing of another.
 */
static void add_lent(struct mean *out, double share, const struct paces *loops, size_t n_loops, size_t but)
{
	double n = 0, time = 0, rate = 0, squares = 0, off;

	for (size_t k = 0; k < n_loops; k++) {
		double mean = loops[k].sum / loops[k].n;

		if (k == but || !tell_a_mean(&loops[k]) || !(loops[k].share > 0))
			continue;
		/* West's way to a weighted variance in one pass. */
		time += loops[k].share;
		squares += loops[k].share * (mean - rate) * (mean - rate) * (1 - loops[k].share / time);
		rate += (mean - rate) * loops[k].share / time;
		n++;
	}
	off = model->pace_spread * rate;
	if (n > 0)
		add_term(out, share * rate,
		         share * share * (n * squares / time + off * off) / n * (1 + 1 / n), 0);
}

static void set_interval(const struct mean *m, double n, struct timed_rate *out)
{
	double half = (m->var_by_n > 0 ? gsl_cdf_tdist_Pinv(0.95, m->var * m->var / m->var_by_n)
	               : m->var > 0    ? gsl_cdf_ugaussian_Pinv(0.95)
	                               : gsl_cdf_tdist_Pinv(0.95, n - 1)) *
	              hypot(sqrt(m->var), model->neighbours_off * m->rate);

	out->rate = m->rate;
	out->lo = fmax(0, m->rate - half);
	out->hi = m->rate + half;
}

/* Of each loop of enough paths by itself; the others' are put together with what is in no loop, loops[n]. */
static struct mean mean_of_loops(struct paces *loops, size_t n)
{
	struct mean m = { 0 };
	struct paces *rest = &loops[n];

	rest->share = 1;
	for (size_t k = 0; k < n; k++)
		add_scatter(&m.of_all, &loops[k]);
	for (size_t k = 0; k < n; k++) {
		if (!tell_a_mean(&loops[k])) {
			add_paces(rest, &loops[k]);
			continue;
		}
		add_mean(&m, loops[k].share, &loops[k], false);
		rest->share -= loops[k].share;
	}
	rest->share = fmax(rest->share, 0);
	return m;
}

static void add_all(const struct timed_paths *t, const double *insn, struct paces *loops, size_t n_loops)
{
	for (size_t i = 0; i < t->v.n; i++) {
		const struct timed_path *p = &t->v.v[i];

		add_path(&loops[p->loop >= 0 && (size_t)p->loop < n_loops ? (size_t)p->loop : n_loops], p,
		         insn ? insn[i] : p->insn);
	}
}

/*
 * Share of the time that paths don't tell of: of each loop that of its moments without one.  Those that are told are no sample of
 * these, for the faster code is the more it writes and the more often it calls the system.
 */
static double missed_time(const struct paces *loops, size_t n_loops)
{
	double missed = 0;

	for (size_t k = 0; k <= n_loops; k++)
		if (loops[k].n_failed > 0 && (k == n_loops || tell_a_mean(&loops[k])))
			missed += loops[k].share * loops[k].n_failed / (loops[k].n + loops[k].n_failed);
	return missed;
}

/*
 * eq. 10, moments in each loop by themselves: the faster its code, the longer a replay takes, and the fewer paths there are in a
 * second of it.  Where no path was timed the pace of others is lent, but for `loop`'s own.
 */
static void rate_in(const struct timed_paths *t, size_t loop, const double *insn, const double *share,
                    size_t n_loops, struct timed_rate *out)
{
	struct paces *loops = mem_calloc(n_loops + 1, sizeof(*loops));
	const struct paces *rest = &loops[n_loops];
	struct mean m;

	*out = (struct timed_rate){ 0 };
	add_all(t, insn, loops, n_loops);
	for (size_t k = 0; k <= n_loops; k++) {
		loops[k].share = k < n_loops ? share[k] : 0;
		out->n += (uint64_t)loops[k].n;
		out->n_failed += (uint64_t)loops[k].n_failed;
	}
	if (loop < n_loops && !tell_a_mean(&loops[loop]))
		goto out;
	m = mean_of_loops(loops, n_loops);
	if (out->n < model->few || missed_time(loops, n_loops) > model->timed_missed)
		goto out;
	if (tell_a_mean(rest))
		add_mean(&m, rest->share, rest, true);
	else if (rest->share > 0)
		add_lent(&m, rest->share, loops, n_loops, loop);
	set_interval(&m, (double)out->n, out);
out:
	free(loops);
}

void timed_paths_rate(const struct timed_paths *t, const double *share, size_t n_loops,
                      struct timed_rate *out)
{
	rate_in(t, n_loops + 1, NULL, share, n_loops, out);
}

void timed_paths_rate_in(const struct timed_paths *t, size_t loop, const double *insn, const double *share,
                         size_t n_loops, struct timed_rate *out)
{
	rate_in(t, loop, insn, share, n_loops, out);
}
