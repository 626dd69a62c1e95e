/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Mix (eq. 8): exact totals of every event the group carried.  The difference
 * of group values between two neighbouring samples of a thread is an exact
 * count; where both lie in one region it is that region's, whatever the skid.
 * What is used is the ratio of each event to instructions (eq. 13), and the total of
 * instructions apart, so that an interval lost at the region's edge costs the
 * total but not the mix.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "correct/evidence/events.h"
#include "correct/evidence/evidence.h"
#include "profiler/base/vec.h"

enum { MAX_KINDS = 24 };

/* Where the interval to a thread's next sample begins. */
struct begin {
	bool valid;
	int32_t scope;
	int32_t last_scope; /* the region most lately in, through samples outside any */
	uint32_t n_outside; /* samples outside since then */
	uint64_t value[MAX_KINDS];
};

/* Sums over a region's intervals; the event's index within the group is k. */
struct scope_sums {
	double insn;      /* inside, exact */
	double edge_insn; /* half of the intervals that cross the region's edge */
	double n_intervals, n_crossings;
	double sum[MAX_KINDS];    /* of event k over inside intervals */
	double sum_sq[MAX_KINDS]; /* of (event k)^2 */
	double cross[MAX_KINDS];  /* of event k x instructions */
	double insn_sq;
	double n_excursions,
	        n_outside; /* runs of samples elsewhere between two inside ones, and samples in them */
};

struct mix {
	struct evidence_input in;
	enum mix_kind kind[MAX_KINDS];
	int event[MAX_KINDS]; /* index into the reader's events */
	size_t n_kinds;
	int insn;                /* index into kind[], -1 = no group that counts instructions was read yet */
	struct scope_sums *sums; /* [scopes] */
	struct {
		struct begin *v;
		size_t n, cap;
	} threads;
};

static void find_kinds(struct mix *m)
{
	const struct pd_reader *r = m->in.rec->reader;

	for (size_t i = 0; i < pd_n_events(r) && m->n_kinds < MAX_KINDS; i++) {
		const struct pd_event *e = pd_event(r, i);
		enum mix_kind kind = mix_kind_of(e->name, e->attr.type, e->attr.config, pd_header(r)->cpuid);

		if (kind == MIX_NONE || !(e->attr.read_format & PERF_FORMAT_GROUP))
			continue;
		m->kind[m->n_kinds] = kind;
		m->event[m->n_kinds++] = (int)i;
	}
}

/*
 * Events of several groups are never read together: keep those of the first
 * group seen to count instructions, to which all others are set in relation.
 */
static void choose_group(struct mix *m, const struct pd_sample *s)
{
	size_t kept = 0;
	uint64_t value;
	bool counts_insn = false;

	for (size_t k = 0; k < m->n_kinds; k++)
		counts_insn = counts_insn || (m->kind[k] == MIX_INSN && sample_value(s, m->event[k], &value));
	if (!counts_insn)
		return;
	for (size_t k = 0; k < m->n_kinds; k++) {
		if (!sample_value(s, m->event[k], &value))
			continue;
		m->kind[kept] = m->kind[k];
		m->event[kept] = m->event[k];
		if (m->kind[kept] == MIX_INSN && m->insn < 0)
			m->insn = (int)kept;
		kept++;
	}
	m->n_kinds = kept;
}

static int begin(const struct evidence_input *in, void **state)
{
	struct mix *m = calloc(1, sizeof(*m));

	if (!m)
		return sp_fail(SP_ENOMEM, "out of memory");
	m->in = *in;
	m->insn = -1;
	find_kinds(m);
	m->sums = calloc(in->n + 1, sizeof(*m->sums));
	if (!m->sums) {
		free(m);
		return sp_fail(SP_ENOMEM, "out of memory");
	}
	*state = m;
	return 0;
}

static int grow_threads(struct mix *m, uint32_t thread)
{
	size_t n = m->threads.n;

	if (thread < n)
		return 0;
	if (vec_reserve(&m->threads, (size_t)thread + 1) < 0)
		return -SP_ENOMEM;
	for (; n <= thread; n++)
		m->threads.v[n] = (struct begin){ .scope = -1, .last_scope = -1 };
	m->threads.n = n;
	return 0;
}

/* The group's values in our order; false when one is missing. */
static bool read_values(const struct mix *m, const struct pd_sample *s, uint64_t *value)
{
	for (size_t k = 0; k < m->n_kinds; k++)
		if (!sample_value(s, m->event[k], &value[k]))
			return false;
	return m->n_kinds > 0;
}

static void add_inside(struct mix *m, struct scope_sums *r, const double *delta)
{
	double insn = delta[m->insn];

	r->insn += insn;
	r->insn_sq += insn * insn;
	r->n_intervals++;
	for (size_t k = 0; k < m->n_kinds; k++) {
		r->sum[k] += delta[k];
		r->sum_sq[k] += delta[k] * delta[k];
		r->cross[k] += delta[k] * insn;
	}
}

static void follow_excursions(struct mix *m, struct begin *b, int32_t scope)
{
	if (scope < 0) {
		b->n_outside++;
		return;
	}
	if (b->last_scope == scope && b->n_outside) {
		m->sums[scope].n_excursions++;
		m->sums[scope].n_outside += b->n_outside;
	}
	b->last_scope = scope;
	b->n_outside = 0;
}

/* Half of an interval that crosses the region's edge is the region's. */
static void add_crossing(struct mix *m, int32_t scope, double insn)
{
	if (scope < 0)
		return;
	m->sums[scope].edge_insn += insn / 2;
	m->sums[scope].n_crossings++;
}

static int sample(void *state, const struct sample_seen *s)
{
	struct mix *m = state;
	uint64_t value[MAX_KINDS] = { 0 };
	double delta[MAX_KINDS] = { 0 };
	struct begin *b;
	bool forward = true;

	if (m->insn < 0)
		choose_group(m, &s->record->sample);
	if (m->insn < 0 || !read_values(m, &s->record->sample, value))
		return 0;
	if (grow_threads(m, s->thread) < 0)
		return -SP_ENOMEM;
	b = &m->threads.v[s->thread];
	follow_excursions(m, b, s->scope);
	/* Values that go back are another counter's: a new exec, or another thread's number reused. */
	for (size_t k = 0; k < m->n_kinds; k++) {
		forward = forward && value[k] >= b->value[k];
		delta[k] = (double)(value[k] - b->value[k]);
	}
	/* Before its first sample a thread was elsewhere, and its counters began at 0. */
	if (forward && b->valid && b->scope == s->scope && s->scope >= 0) {
		add_inside(m, &m->sums[s->scope], delta);
	} else if (forward && (!b->valid || b->scope != s->scope)) {
		add_crossing(m, b->scope, delta[m->insn]);
		add_crossing(m, s->scope, delta[m->insn]);
	}
	b->valid = true;
	b->scope = s->scope;
	memcpy(b->value, value, m->n_kinds * sizeof(*value));
	return 0;
}

/*
 * Share of inside intervals spent in code outside that no sample fell in.
 * Where the next sample is inside or outside without regard to where this
 * one was (mixing 1), the region is left and entered again many times between
 * two samples, and its intervals hold as much foreign code as there is; where
 * samples stay inside for long (mixing near 0) they hold next to none.
 */
static double unseen_share(const struct scope_sums *r)
{
	double outside, mixing;

	if (r->n_excursions < 1 || r->n_intervals < 1)
		return 0;
	outside = r->n_outside / (r->n_outside + r->n_intervals + r->n_excursions);
	mixing = r->n_excursions / (r->n_intervals + r->n_excursions) / outside;
	mixing = fmin(1, mixing);
	return outside * mixing * mixing * mixing;
}

/* Instructions of the region, better than samples x period: exact but for the intervals at its edge. */
static int finish(void *state)
{
	struct mix *m = state;

	/* What ran after a thread's last sample, on average half the way to the next. */
	for (size_t t = 0; t < m->threads.n; t++) {
		int32_t scope = m->threads.v[t].scope;
		struct scope_sums *r = &m->sums[scope < 0 ? 0 : scope];

		if (scope < 0 || r->n_intervals < 1)
			continue;
		r->edge_insn += r->insn / r->n_intervals / 2;
		r->n_crossings++;
	}
	for (size_t r = 0; r < m->in.n; r++) {
		if (m->sums[r].insn > 0)
			m->in.problems[r]->total_insn = m->sums[r].insn + m->sums[r].edge_insn;
		m->in.problems[r]->unseen_share = unseen_share(&m->sums[r]);
	}
	return 0;
}

static void fill_weights(const struct problem *p, enum mix_kind kind, double *w)
{
	for (size_t e = 0; e < p->n_edges; e++) {
		const struct problem_block *to = &p->blocks[p->edges[e].to],
		                           *from = &p->blocks[p->edges[e].from];

		for (uint32_t i = 0; i < to->n_insn; i++)
			w[e] += mix_of_insn(kind, &p->insns[to->insn0 + i]);
		if (from->n_insn)
			w[e] += mix_of_edge(kind, &p->insns[from->insn0 + from->n_insn - 1],
			                    (enum flow_edge_kind)p->edges[e].kind);
	}
}

static bool all_zero(const double *w, size_t n)
{
	for (size_t e = 0; e < n; e++)
		if (w[e] != 0)
			return false;
	return true;
}

/*
 * Standard error of the ratio event k / instructions over the region: the
 * intervals' scatter about it counts only for the part of the region's time
 * not covered by inside intervals, since those are a census, not a sample.
 */
static double ratio_sd(const struct scope_sums *r, size_t k, double total)
{
	double ratio = r->sum[k] / r->insn, n = r->n_intervals;
	double scatter = r->sum_sq[k] - 2 * ratio * r->cross[k] + ratio * ratio * r->insn_sq;
	double se = sqrt(fmax(scatter, 0)) / r->insn;
	double uncovered = total > 0 ? fmax(1 - r->insn / total, 0) : 0;
	double per_interval = n > 0 ? se * sqrt(n) : 1;
	/* Code unseen outside has another mix: of the order of the ratio's own size. */
	double foreign = unseen_share(r) * 0.5 * ratio;
	/* A count is exact to the instruction at either end of each run of intervals. */
	double end = 4 / r->insn * sqrt(r->n_crossings + 2);

	return sqrt(se * se * uncovered + uncovered * uncovered * per_interval * per_interval / fmax(n, 1) +
	            foreign * foreign + end * end + 1e-10);
}

static int total_equation(const struct mix *m, const struct problem *p, size_t scope, struct equations *out)
{
	const struct scope_sums *r = &m->sums[scope];
	struct equation *eq = equations_add(out, p->n_edges);
	double sd;

	if (!eq)
		return -SP_ENOMEM;
	fill_weights(p, MIX_INSN, eq->w);
	eq->name = "instructions";
	eq->kind = 0; /* eq. 3, which every method has */
	eq->value = p->total_insn;
	/* Each crossing puts the region's edge somewhere, evenly, in one interval. */
	if (p->relative)
		sd = 0;
	else if (m->insn >= 0 && r->insn > 0)
		sd = sqrt(r->n_crossings / 12) *
		             (r->n_crossings > 0 ? 2 * r->edge_insn / r->n_crossings : 0) +
		     unseen_share(r) * p->total_insn;
	else
		sd = sqrt(p->total_insn * p->insn_per_sample);
	eq->sd = sd + 1e-5 * p->total_insn;
	return 0;
}

static int equations(void *state, size_t scope, const struct space *space, struct equations *out)
{
	struct mix *m = state;
	const struct problem *p = m->in.problems[scope];
	const struct scope_sums *r = &m->sums[scope];
	int err = total_equation(m, p, scope, out);

	(void)space;
	if (err < 0 || m->insn < 0 || r->n_intervals < 3 || !(r->insn > 0))
		return err;
	for (size_t k = 0; k < m->n_kinds; k++) {
		double ratio = r->sum[k] / r->insn;
		struct equation *eq;

		if (m->kind[k] == MIX_INSN || m->kind[k] == MIX_CYCLES)
			continue;
		eq = equations_add(out, p->n_edges);
		if (!eq)
			return -SP_ENOMEM;
		fill_weights(p, m->kind[k], eq->w);
		if (all_zero(eq->w, p->n_edges) && ratio < 1e-3) {
			/* None in the region and none counted: nothing to learn. */
			free(eq->w);
			out->n--;
			continue;
		}
		eq->name = pd_event(m->in.rec->reader, (size_t)m->event[k])->name;
		eq->kind = PROFILE_BY_MIX;
		/* As a ratio to instructions: how many there are in all is another matter, known less well. */
		for (size_t e = 0; e < p->n_edges; e++)
			eq->w[e] -= ratio * p->blocks[p->edges[e].to].n_insn;
		eq->shown = ratio * p->total_insn;
		eq->sd = ratio_sd(r, k, p->total_insn) * p->total_insn;
	}
	return 0;
}

static void end(void *state)
{
	struct mix *m = state;

	vec_fini(&m->threads);
	free(m->sums);
	free(m);
}

const struct evidence_ops evidence_mix = {
	.name = "mix",
	.begin = begin,
	.sample = sample,
	.finish = finish,
	.equations = equations,
	.end = end,
};
