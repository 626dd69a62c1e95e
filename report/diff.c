/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/diff.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/base/err.h"
#include "profiler/base/mem.h"
#include "profiler/base/pairs.h"
#include "report/diff_impl.h"
#include "report/match/match.h"

/* A 90% interval is so many standard deviations to either side. */
static const double z90 = 1.6449;

/* ---- what profiles say ---- */

static double period_of(const struct profile *p, int event)
{
	const struct profile_event *e = event < 0 ? NULL : &p->meta.events[event];

	if (!e)
		return 0;
	return e->period && !e->freq ? (double)e->period : e->n_samples ? e->total / (double)e->n_samples : 0;
}

/* Of a clock whose rate was measured; else counts of time, or of another event, are its own. */
static double cyc_per_event(const struct profile *p)
{
	return report_has_cyc(p) && p->meta.cyc_per_event > 0 ? p->meta.cyc_per_event : 1;
}

static double cyc_period(const struct profile *p)
{
	return report_has_cyc(p) ? period_of(p, p->meta.cyc_event) * p->meta.cyc_per_event : NAN;
}

static bool has_insn(const struct profile *p)
{
	return report_has_insn(p) && (!p->meta.relative || p->meta.truth);
}

static double square(double x)
{
	return x * x;
}

/* A half interval as a variance. */
static double var_of(double lo, double hi)
{
	return square((hi - lo) / (2 * z90));
}

/*
 * Samples are counted as their period: so many times a Poisson number, of which one that was never seen may still be one.
 */
static double sampled_var(double count, double period)
{
	return fmax(count, period) * period;
}

/*
 * The noise of corrected instructions is what their interval says, and that of a total that is known to one sample.  Where
 * they are not fixed, the interval holds less often than it should: no less than the noise of their samples is believed.
 */
static double insn_var(const struct profile *p, const struct profile_count *c, uint8_t status)
{
	double period = period_of(p, p->meta.insn_event), sampled = sampled_var(c->insn, period);

	if (p->meta.truth)
		return 0;
	if (!isfinite(c->lo))
		return sampled;
	return status == PROFILE_FIXED ? var_of(c->lo, c->hi) + square(period)
	                               : fmax(var_of(c->lo, c->hi), sampled);
}

static struct said say(const struct profile *p, const struct profile_count *c, uint8_t status, double exec,
                       double exec_var)
{
	struct said s;
	double insn = has_insn(p) ? c->insn : NAN, counted = p->meta.cyc_event >= 0 ? c->cyc : NAN,
	       cyc = report_has_cyc(p) ? counted : NAN;

	s.corrected = insn > 0 && (p->meta.truth || isfinite(c->lo));
	s.raw = insn > 0 && !s.corrected;
	s.v[DIFF_INSN] = insn;
	s.var[DIFF_INSN] = insn_var(p, c, status);
	s.v[DIFF_CYC] = cyc;
	s.var[DIFF_CYC] = sampled_var(cyc, cyc_period(p));
	s.v[DIFF_IPC] = report_ipc(p, insn, cyc);
	s.var[DIFF_IPC] =
	        square(s.v[DIFF_IPC]) * (s.var[DIFF_INSN] / square(insn) + s.var[DIFF_CYC] / square(cyc));
	s.v[DIFF_EXEC] = exec;
	s.var[DIFF_EXEC] = exec_var;
	s.v[DIFF_OTHER] = counted / cyc_per_event(p);
	s.var[DIFF_OTHER] = sampled_var(s.v[DIFF_OTHER], period_of(p, p->meta.cyc_event));
	/* Executions are no better known than the instructions that they come to. */
	if (!p->meta.truth && insn > 0)
		s.var[DIFF_EXEC] = fmax(exec_var, square(exec / insn) * s.var[DIFF_INSN]);
	return s;
}

static struct said say_func(const struct profile *p, const struct profile_func *f, bool rollup)
{
	const struct profile_calls *c = &f->calls;
	bool told = c->n_terms && isfinite(c->n);

	return say(p, rollup ? &f->rolled : &f->count, rollup ? f->rolled_status : f->status,
	           told ? c->n : NAN, !told || p->meta.truth ? 0 : var_of(c->lo, c->hi));
}

/* A profile that has nothing of a unit has seen none of it. */
static struct said say_nothing(const struct profile *p)
{
	static const struct profile_count none = { .lo = NAN, .hi = NAN };
	struct said s = say(p, &none, PROFILE_RAW, NAN, 0);

	s.v[DIFF_IPC] = NAN;
	return s;
}

/* ---- units ---- */

/* The unit of a list that a like one is, made if it isn't there; NULL when out of memory. */
static struct unit *find_unit(struct unit_list *l, struct pairs *index, const struct unit *like,
                              const struct diff_side *side)
{
	/* Two of one hash are told apart by trying the next number. */
	for (uint64_t probe = 0;; probe++) {
		long key = pairs_number(index, unit_hash(like, true) + probe,
		                        like->offset + (uint64_t)like->is_line);

		if (key < 0)
			return NULL;
		if ((size_t)key < l->v.n) {
			if (unit_same(&l->v.v[key], like, true))
				return &l->v.v[key];
			continue;
		}
		if (vec_push(&l->v, *like) < 0)
			return NULL;
		break;
	}
	struct unit *u = &l->v.v[l->v.n - 1];

	u->other = UINT32_MAX;
	u->said = calloc(side->n + 1, sizeof(*u->said));
	if (!u->said) {
		sp_fail(SP_ENOMEM, "out of memory for %zu functions", l->v.n);
		return NULL;
	}
	for (size_t i = 0; i < side->n; i++)
		u->said[i] = say_nothing(side->profiles[i]);
	return u;
}

static struct unit unit_of(const struct profile *p, const struct profile_func *f, uint32_t program)
{
	return (struct unit){ .p = p,
		              .f = f,
		              .module = f->module == program ? "" : report_base(report_module(p, f->module)),
		              .file = report_file(p, f->file),
		              .line = f->line };
}

/* What two functions of one name come to together. */
static void add_said(const struct profile *p, struct said *to, const struct said *more)
{
	struct said sum = *to;

	for (int m = 0; m < DIFF_N_MEASURES; m++) {
		if (isnan(more->v[m]))
			continue;
		sum.v[m] = (isnan(to->v[m]) ? 0 : to->v[m]) + more->v[m];
		/* Of none was said what one sample may be: that is not added up. */
		sum.var[m] = (to->v[m] > 0 ? to->var[m] : 0) + more->var[m];
	}
	sum.v[DIFF_IPC] = report_ipc(p, sum.v[DIFF_INSN], sum.v[DIFF_CYC]);
	sum.var[DIFF_IPC] = square(sum.v[DIFF_IPC]) * (sum.var[DIFF_INSN] / square(sum.v[DIFF_INSN]) +
	                                               sum.var[DIFF_CYC] / square(sum.v[DIFF_CYC]));
	sum.raw |= more->raw;
	sum.corrected |= more->corrected;
	*to = sum;
}

static bool is_counted(const struct profile_count *c)
{
	return c->insn > 0 || c->cyc > 0;
}

static int add_funcs(struct unit_list *l, struct pairs *index, const struct diff_side *side, size_t n,
                     bool rollup)
{
	const struct profile *p = side->profiles[n];
	uint32_t program = match_program(p);
	int err = 0;

	for (size_t i = 0; i < p->n_funcs && err == 0; i++) {
		const struct profile_func *f = &p->funcs[i];
		struct unit like = unit_of(p, f, program), *u;
		struct said s;
		/* Cycles as sampled have no status: it is of what was corrected. */
		uint8_t status = !has_insn(p) ? PROFILE_FIXED : rollup ? f->rolled_status : f->status;

		if (!is_counted(rollup ? &f->rolled : &f->count))
			continue;
		u = find_unit(l, index, &like, side);
		if (!u)
			return -SP_ENOMEM;
		s = say_func(p, f, rollup);
		add_said(p, &u->said[n], &s);
		if (status > u->status)
			u->status = status;
	}
	return err;
}

/* The instructions [i, j) of one line of one function. */
static int add_line(struct unit_list *l, struct pairs *index, const struct diff_side *side, size_t n,
                    const uint32_t *insns, size_t n_insns, uint32_t program)
{
	const struct profile *p = side->profiles[n];
	const struct profile_insn *first = &p->insns[insns[0]];
	const struct profile_func *f = &p->funcs[first->func];
	struct unit like = unit_of(p, f, program), *u;
	struct profile_count c = { .lo = NAN, .hi = NAN };
	const struct profile_insn *most = first;
	uint16_t code[UNIT_CODES] = { 0 };
	bool corrected = false;
	struct said s;
	double mean;

	for (size_t i = 0; i < n_insns; i++) {
		const struct profile_insn *insn = &p->insns[insns[i]];

		c.raw_insn += insn->count.raw_insn;
		c.insn += insn->count.insn;
		c.cyc += insn->count.cyc;
		corrected = corrected || insn->block != UINT32_MAX;
		unit_add_code(code, insn->text);
		if (insn->count.insn > most->count.insn)
			most = insn;
	}
	if (!is_counted(&c))
		return 0;
	if (corrected && !p->meta.truth)
		profile_interval(p, insns, n_insns, &mean, &c.lo, &c.hi);
	like.is_line = true;
	like.file = report_file(p, first->file);
	like.line = first->line;
	like.offset = first->line - (f->line && f->line <= first->line ? f->line : 0);
	u = find_unit(l, index, &like, side);
	if (!u)
		return -SP_ENOMEM;
	s = say(p, &c, profile_judge(most->status, &c), has_insn(p) ? most->count.insn : NAN,
	        p->meta.truth || !isfinite(most->count.lo) ? 0 : var_of(most->count.lo, most->count.hi));
	u->said[n] = s;
	memcpy(u->code, code, sizeof(code));
	if (has_insn(p) && most->status > u->status)
		u->status = most->status;
	return 0;
}

static int by_func_and_line(const void *a, const void *b, void *profile)
{
	const struct profile_insn *insns = ((const struct profile *)profile)->insns;
	const struct profile_insn *x = &insns[*(const uint32_t *)a], *y = &insns[*(const uint32_t *)b];

	if (x->func != y->func)
		return x->func < y->func ? -1 : 1;
	if (x->file != y->file)
		return x->file < y->file ? -1 : 1;
	if (x->line != y->line)
		return x->line < y->line ? -1 : 1;
	return (x > y) - (x < y);
}

static int add_lines(struct unit_list *l, struct pairs *index, const struct diff_side *side, size_t n)
{
	struct profile *p = side->profiles[n];
	uint32_t *insns = mem_calloc(p->n_insns + 1, sizeof(*insns)), program = match_program(p);
	int err = 0;

	for (size_t i = 0; i < p->n_insns; i++)
		insns[i] = (uint32_t)i;
	if (p->n_insns)
		qsort_r(insns, p->n_insns, sizeof(*insns), by_func_and_line, p);
	for (size_t i = 0, j; i < p->n_insns && err == 0; i = j) {
		const struct profile_insn *x = &p->insns[insns[i]];

		for (j = i; j < p->n_insns && p->insns[insns[j]].func == x->func &&
		            p->insns[insns[j]].file == x->file && p->insns[insns[j]].line == x->line;
		     j++)
			;
		err = add_line(l, index, side, n, insns + i, j - i, program);
	}
	free(insns);
	return err;
}

static int list_units(const struct diff *d, const struct diff_side *side, struct unit_list **out)
{
	struct unit_list *l = calloc(1, sizeof(*l));
	struct pairs index = { 0 };
	int err = l ? 0 : sp_fail(SP_ENOMEM, "out of memory");

	*out = l;
	for (size_t i = 0; i < side->n && err == 0; i++)
		err = d->lines ? add_lines(l, &index, side, i) : add_funcs(l, &index, side, i, d->rollup);
	if (l)
		l->n_profiles = side->n;
	pairs_fini(&index);
	return err;
}

static void units_free(struct unit_list *l)
{
	for (size_t i = 0; l && i < l->v.n; i++)
		free(l->v.v[i].said);
	if (l)
		vec_fini(&l->v);
	free(l);
}

/* ---- numbers ---- */

struct estimate {
	double mean, var,
	        squares; /* var: of the mean, by the noise within recordings; squares: how these differ */
	size_t n;
	bool timed; /* of something that no two runs have alike */
};

/* Time, and cycles of a real processor, depend on what else the machine did: no recording knows that of itself. */
static bool is_timed(const struct profile *p, int m)
{
	return (m == DIFF_CYC || m == DIFF_IPC || m == DIFF_OTHER) && !p->meta.truth && p->meta.pmu &&
	       strcmp(p->meta.pmu, "simulated") != 0;
}

static struct estimate estimate_of(const struct diff_side *side, const struct said *said, int m)
{
	struct estimate e = { 0 };

	for (size_t i = 0; i < side->n; i++) {
		if (isnan(said[i].v[m]))
			continue;
		e.mean += said[i].v[m];
		e.var += said[i].var[m];
		e.timed |= is_timed(side->profiles[i], m);
		e.n++;
	}
	if (!e.n)
		return (struct estimate){ NAN, NAN, 0, 0, false };
	e.mean /= (double)e.n;
	e.var /= square((double)e.n);
	for (size_t i = 0; i < side->n; i++)
		if (!isnan(said[i].v[m]))
			e.squares += square(said[i].v[m] - e.mean);
	return e;
}

/*
 * Profiles scatter by their own noise, and by how runs differ, which is the same on both sides.  Of several the scatter that they
 * show holds both, unless it is less than their noise by chance.
 */
static double difference_var(const struct estimate *a, const struct estimate *b, uint32_t n_free)
{
	double noise = a->var + b->var;

	if (!n_free)
		return a->timed || b->timed ? NAN : noise;
	return fmax(noise, (a->squares + b->squares) / n_free * (1 / (double)a->n + 1 / (double)b->n));
}

static struct diff_number compare(const struct estimate *a, const struct estimate *b, bool sure)
{
	uint32_t n_free = a->n + b->n > 2 ? (uint32_t)(a->n + b->n - 2) : 0;
	struct diff_number d = { .a = a->mean,
		                 .b = b->mean,
		                 .delta = b->mean - a->mean,
		                 .sd = sqrt(difference_var(a, b, n_free)),
		                 .n_free = n_free,
		                 .unsure = !sure };
	double half = diff_half(&d, 0.1);

	d.delta_lo = d.delta - half;
	d.delta_hi = d.delta + half;
	d.change = d.delta / d.a;
	d.lo = d.delta_lo / d.a;
	d.hi = d.delta_hi / d.a;
	/* Nothing falls by more than all of it. */
	if (d.a > 0 && d.lo < -1)
		d.lo = -1;
	return d;
}

/*
 * Raw counts lie a skid late: what the skid takes from a function it takes on both sides, but of a corrected count they differ
 * by that alone.
 */
static bool is_raw_against_corrected(const struct said *a, size_t n_a, const struct said *b, size_t n_b)
{
	bool raw[2] = { false, false }, corrected[2] = { false, false };

	for (size_t i = 0; i < n_a + n_b; i++) {
		raw[i >= n_a] |= i < n_a ? a[i].raw : b[i - n_a].raw;
		corrected[i >= n_a] |= i < n_a ? a[i].corrected : b[i - n_a].corrected;
	}
	return (raw[0] && !raw[1] && corrected[1]) || (raw[1] && !raw[0] && corrected[0]);
}

static void compare_said(const struct diff *d, const struct said *a, const struct said *b, struct diff_row *r)
{
	bool mixed = is_raw_against_corrected(a, d->a.n, b, d->b.n);

	for (int m = 0; m < DIFF_N_MEASURES; m++) {
		struct estimate x = estimate_of(&d->a, a, m), y = estimate_of(&d->b, b, m);

		/* What is only on one side ran no less on the other; how fast it would have been nobody knows. */
		r->m[m] = compare(&x, &y, r->status != PROFILE_UNRELIABLE && (m == DIFF_CYC || !mixed));
	}
}

/* Where cycles tell, the event that they are of says nothing more. */
static void leave_other(const struct diff *d, struct diff_row *r)
{
	static const struct estimate none = { NAN, NAN, 0, 0, false };

	if (!d->has[DIFF_OTHER])
		r->m[DIFF_OTHER] = compare(&none, &none, true);
}

static int make_row(const struct diff *d, const struct unit *a, const struct unit *b, struct diff_row *r)
{
	const struct unit *u = b ? b : a;
	const struct diff_side *other = b ? &d->a : &d->b;
	struct said *nothing = NULL;

	*r = (struct diff_row){ .name = u->f->name,
		                .module = *u->module ? u->module
		                                     : report_base(report_module(u->p, u->f->module)),
		                .file = u->file,
		                .line = u->line,
		                .new_there = !a,
		                .gone = !b };
	r->status = a && (!b || a->status > b->status) ? a->status : b ? b->status : PROFILE_RAW;
	if (a && b && strcmp(a->f->name, b->f->name) != 0 && !unit_same_name(a, b))
		r->old_name = a->f->name;
	if (a && b && a->is_line && a->line != b->line)
		r->old_line = a->line;
	if (!a || !b) {
		nothing = calloc(other->n + 1, sizeof(*nothing));
		if (!nothing)
			return sp_fail(SP_ENOMEM, "out of memory");
		for (size_t i = 0; i < other->n; i++)
			nothing[i] = say_nothing(other->profiles[i]);
	}
	compare_said(d, a ? a->said : nothing, b ? b->said : nothing, r);
	leave_other(d, r);
	free(nothing);
	return 0;
}

/* The whole of a profile is the sum of its parts, and so is its noise. */
static struct said say_total(const struct profile *p)
{
	struct profile_count c = { .lo = NAN, .hi = NAN };
	struct said s;
	double var = 0;

	for (size_t i = 0; i < p->n_funcs; i++) {
		const struct profile_func *f = &p->funcs[i];

		c.insn += f->count.insn;
		c.cyc += f->count.cyc;
		if (is_counted(&f->count))
			var += insn_var(p, &f->count, f->status);
	}
	s = say(p, &c, PROFILE_FIXED, NAN, 0);
	s.var[DIFF_INSN] = var;
	s.var[DIFF_IPC] = square(s.v[DIFF_IPC]) * (var / square(c.insn) + s.var[DIFF_CYC] / square(c.cyc));
	return s;
}

/* Is it the same event that all recordings sampled, besides instructions? */
static bool is_one_event(const struct diff *d)
{
	const char *first = NULL;

	for (size_t i = 0; i < d->a.n + d->b.n; i++) {
		const struct profile_meta *m =
		        &(i < d->a.n ? d->a.profiles[i] : d->b.profiles[i - d->a.n])->meta;
		const char *name = m->cyc_event < 0 ? NULL : m->events[m->cyc_event].name;

		if (!name || (first && strcmp(name, first) != 0))
			return false;
		first = name;
	}
	return true;
}

static int make_total(struct diff *d)
{
	struct said *a = calloc(d->a.n + 1, sizeof(*a)), *b = calloc(d->b.n + 1, sizeof(*b));
	int err = a && b ? 0 : sp_fail(SP_ENOMEM, "out of memory");

	for (size_t i = 0; i < d->a.n && err == 0; i++)
		a[i] = say_total(d->a.profiles[i]);
	for (size_t i = 0; i < d->b.n && err == 0; i++)
		b[i] = say_total(d->b.profiles[i]);
	if (err == 0) {
		d->total =
		        (struct diff_row){ .name = "all", .module = "", .file = "", .share = 1, .weight = 1 };
		compare_said(d, a, b, &d->total);
		for (int m = 0; m < DIFF_N_MEASURES; m++)
			d->has[m] = !isnan(d->total.m[m].delta);
		d->has[DIFF_OTHER] &= !d->has[DIFF_INSN] && !d->has[DIFF_CYC] && is_one_event(d);
		leave_other(d, &d->total);
	}
	free(a);
	free(b);
	return err;
}

/* Its weight in the program where it has more. */
static double share_of(const struct diff *d, const struct diff_row *r, int m)
{
	return fmax(r->m[m].a / d->total.m[m].a, r->m[m].b / d->total.m[m].b);
}

/* Of a slow function the time may differ, of which instructions are few. */
static void set_share(const struct diff *d, struct diff_row *r)
{
	r->share = r->weight = share_of(d, r, diff_main_measure(d));
	if (d->has[DIFF_CYC])
		r->weight = fmax(r->share, share_of(d, r, DIFF_CYC));
}

static int by_delta(const void *a, const void *b, void *measure)
{
	const struct diff_row *x = a, *y = b;
	int m = *(const int *)measure;
	double p = fabs(x->m[m].delta), q = fabs(y->m[m].delta);

	p = isnan(p) ? -1 : p;
	q = isnan(q) ? -1 : q;
	if (p != q)
		return p > q ? -1 : 1;
	if (x->share != y->share)
		return x->share > y->share ? -1 : 1;
	return strcmp(x->name, y->name);
}

void diff_sort(struct diff *d, enum diff_measure sort)
{
	int measure = (int)sort;

	if (d->n_rows)
		qsort_r(d->rows, d->n_rows, sizeof(*d->rows), by_delta, &measure);
}

static int make_rows(struct diff *d, const struct unit_list *a, const struct unit_list *b, int sort)
{
	int err = 0;

	d->rows = calloc(a->v.n + b->v.n + 1, sizeof(*d->rows));
	if (!d->rows)
		return sp_fail(SP_ENOMEM, "out of memory for %zu functions", a->v.n + b->v.n);
	for (size_t i = 0; i < a->v.n && err == 0; i++) {
		const struct unit *u = &a->v.v[i];

		err = make_row(d, u, u->other == UINT32_MAX ? NULL : &b->v.v[u->other],
		               &d->rows[d->n_rows++]);
	}
	for (size_t i = 0; i < b->v.n && err == 0; i++)
		if (b->v.v[i].other == UINT32_MAX)
			err = make_row(d, NULL, &b->v.v[i], &d->rows[d->n_rows++]);
	d->has[DIFF_EXEC] = false;
	for (size_t i = 0; i < d->n_rows; i++) {
		set_share(d, &d->rows[i]);
		d->has[DIFF_EXEC] |= d->has[DIFF_INSN] && !isnan(d->rows[i].m[DIFF_EXEC].delta);
	}
	diff_sort(d, (enum diff_measure)sort);
	return err < 0 ? err : diff_words(d);
}

/* Lines are those of functions, which are paired first. */
static int pair_by_functions(const struct diff *d, struct unit_list *a, struct unit_list *b)
{
	const struct diff funcs = { .a = d->a, .b = d->b };
	struct unit_list *x = NULL, *y = NULL;
	int err = list_units(&funcs, &d->a, &x);

	if (err == 0)
		err = list_units(&funcs, &d->b, &y);
	if (err == 0)
		err = pair_functions(x, y);
	if (err == 0)
		err = pair_lines(a, b, x, y);
	units_free(x);
	units_free(y);
	return err;
}

int diff_make(struct diff *d, enum diff_measure sort)
{
	struct unit_list *a = NULL, *b = NULL;
	int err = list_units(d, &d->a, &a);

	d->units[0] = a;
	if (err == 0) {
		err = list_units(d, &d->b, &b);
		d->units[1] = b;
	}
	if (err == 0)
		err = d->lines ? pair_by_functions(d, a, b) : pair_functions(a, b);
	if (err == 0)
		err = make_total(d);
	return err ? err : make_rows(d, a, b, (int)sort);
}

void diff_unmake(struct diff *d)
{
	units_free(d->units[0]);
	units_free(d->units[1]);
	free(d->rows);
	d->units[0] = d->units[1] = NULL;
	d->rows = NULL;
	d->n_rows = 0;
}

void diff_fini(struct diff *d)
{
	diff_unmake(d);
	for (size_t i = 0; i < d->a.n; i++)
		profile_free(d->a.profiles[i]);
	for (size_t i = 0; i < d->b.n; i++)
		profile_free(d->b.profiles[i]);
	free(d->a.profiles);
	free(d->b.profiles);
	*d = (struct diff){ 0 };
}
