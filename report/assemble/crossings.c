/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where instructions were not counted only bursts that lead into a loop, or out of it, tell how often it is entered.  An exit that few of
 * them have seen may be met by luck, or never: then nothing is said of the loop's trips.
 *
 * Of others the bursts themselves say how far off the mean may be, beyond what the flow's noise is.  A burst is a moment of the time.
 * Visits that are short are many and take little of it, so that a few moments hold most visits, and a recording may have none of
 * these: to each side one moment more is thought of, which is as far beyond the furthest that was seen as that is from the mean
 * (after N. Gaffke, Three test statistics for a nonparametric one-sided hypothesis on the mean of a nonnegative variable, 2005).
 * And moments at which a loop turns more often may be faster, or slower: their pace is a power of their trips (eq. 19), and each half
 * of a burst is weighed by the trips of the other, for in one and the same half chance would weigh itself.
 */
#include <gsl/gsl_randist.h>
#include <gsl/gsl_rng.h>
#include <gsl/gsl_sort.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "correct/flow/trips.h"
#include "correct/model/model.h"
#include "profiler/base/mem.h"
#include "profiler/base/order.h"
#include "report/assemble/flow_impl.h"

enum { HALVES = 2, DRAWS = 256 };

/* Turns of a loop, or instructions of a function; entries; and of those whole visits, that began and ended in the half. */
struct half {
	double turns, entries, whole_turns, whole;
	double before, run; /* turns before the first entry, and since the last one */
};

/* What a burst ran of a loop, or of a function: loops first, then profile->funcs. */
struct visits {
	uint32_t of;
	uint32_t n_out; /* entries from another region, or none */
	bool left;      /* the loop was left to other code of its function */
	struct half half[HALVES];
};

struct crossings {
	const struct flow_part *x;
	VEC(struct visits) v;
	size_t first; /* of this burst */
	size_t *at;   /* [n_trips + n_funcs] where the burst's are, + 1 */
};

static struct visits *visits_of(struct crossings *c, size_t of)
{
	if (c->at[of] <= c->first) {
		vec_add(&c->v, (struct visits){ .of = (uint32_t)of });
		c->at[of] = c->v.n;
	}
	return &c->v.v[c->at[of] - 1];
}

static void enter(struct half *h)
{
	if (h->entries > 0) {
		h->whole++;
		h->whole_turns += h->run;
	} else {
		h->before = h->run;
	}
	h->entries++;
	h->run = 0;
}

static bool is_in(const struct profile *p, uint32_t loop, uint32_t around)
{
	while (loop != UINT32_MAX && loop != around)
		loop = p->trips[loop].parent;
	return loop == around;
}

static uint32_t loop_of(const struct crossings *c, long block)
{
	uint32_t k = block < 0 ? UINT32_MAX : c->x->number[block];

	return k == UINT32_MAX ? UINT32_MAX : c->x->a->p->blocks[k].trips;
}

static bool ends_with_call(const struct flow_graph *g, const struct flow_block *b)
{
	const struct insn *last = b->n_insn ? &g->insns[b->insn0 + b->n_insn - 1] : NULL;

	return last && (last->flow == INSN_CALL || last->flow == INSN_CALL_IND);
}

/* A block that ran behind another, -1 where that is not known, in one half of a burst. */
static void run_block(struct crossings *c, long before, long block, int half)
{
	const struct profile *p = c->x->a->p;
	const struct flow_graph *g = c->x->g;
	const struct flow_block *b = &g->blocks[block], *from = before < 0 ? NULL : &g->blocks[before];
	const int32_t *region = c->x->a->w->regions->of_block;
	const uint32_t k = c->x->number[block];
	struct visits *v;

	if (k == UINT32_MAX || p->blocks[k].func == UINT32_MAX)
		return;
	for (uint32_t t = p->blocks[k].trips; t != UINT32_MAX; t = p->trips[t].parent) {
		v = visits_of(c, t);
		if (p->trips[t].header != k)
			continue;
		if (from && !is_in(p, loop_of(c, before), t))
			enter(&v->half[half]);
		v->half[half].turns++;
		v->half[half].run++;
	}
	for (uint32_t t = loop_of(c, before);
	     from && from->func == b->func && t != UINT32_MAX && !is_in(p, p->blocks[k].trips, t);
	     t = p->trips[t].parent)
		visits_of(c, t)->left = true;
	v = visits_of(c, p->n_trips + p->blocks[k].func);
	if (from && g->funcs[b->func].entry == block && (from->func != b->func || ends_with_call(g, from))) {
		enter(&v->half[half]);
		v->n_out += region[before] != region[block];
	}
	v->half[half].turns += b->n_insn;
	v->half[half].run += b->n_insn;
}

static void show_burst(void *arg, const struct recording *r, const struct pd_record *rec, struct place place)
{
	struct crossings *c = arg;
	const struct pd_sample *s = &rec->sample;
	const struct flow_graph *g = c->x->g;
	/* What made its moment slow says which way comes next, too. */
	const size_t half_of = s->n_branches / 2,
	             lead_in = half_of < model->lead_in ? half_of : model->lead_in;
	long before = -1;

	(void)place;
	if (rec->event != r->burst_event || s->n_branches < 2)
		return;
	c->first = c->v.n;
	for (size_t i = s->n_branches - 1 - lead_in; i-- > 0;) {
		long b = recording_block(g, recording_place(r, rec->pid, s->branches[i + 1].to_ip)),
		     last = recording_block(g, recording_place(r, rec->pid, s->branches[i].from_ip));
		const int half = i < half_of;

		for (; b >= 0 && b <= last; before = b++)
			run_block(c, before, b, half);
		if (b < 0 || last < 0)
			before = -1;
	}
}

static int by_unit(const void *a, const void *b)
{
	const struct visits *x = a, *y = b;

	return (x->of > y->of) - (x->of < y->of);
}

/* ---- what they say ---- */

/* One unit's bursts, in numbers that a draw needs. */
struct moments {
	const struct visits *v;
	size_t n;
	double *log_trips; /* [n][HALVES] over the mean, of whole visits, or of a cut one that was longer than the mean */
	double mean, least, most; /* trips; of a moment's */
	double a_turn, an_entry;  /* what a turn and an entry take of a burst */
};

/* The most of a visit that the half cut. */
static double cut_of(const struct half *h)
{
	return fmax(h->before, h->run);
}

static double whole_trips(double mean, double turns, double visits, double cut)
{
	if (visits > 0)
		return fmax(turns / visits, cut * visits > turns ? (turns + cut) / (visits + 1) : 0);
	return fmax(mean, cut);
}

static double sum_of(const struct visits *v, bool entries)
{
	return entries ? v->half[0].entries + v->half[1].entries : v->half[0].turns + v->half[1].turns;
}

/* False where no visit was seen to begin. */
static bool moments_init(struct moments *m, const struct visits *v, size_t n)
{
	double turns = 0, entries = 0, longest = 0;

	*m = (struct moments){ .v = v, .n = n, .least = INFINITY };
	for (size_t i = 0; i < n; i++) {
		turns += sum_of(&v[i], false);
		entries += sum_of(&v[i], true);
		longest = fmax(longest, sum_of(&v[i], false));
	}
	if (!(entries > 0) || !(turns > 0))
		return false;
	m->mean = turns / entries;
	m->a_turn = 1 / longest;
	m->an_entry = fmax((double)n - turns * m->a_turn, 0) / entries;
	m->log_trips = mem_calloc(n * HALVES + 1, sizeof(*m->log_trips));
	for (size_t i = 0; i < n; i++) {
		const struct half *h = v[i].half;
		const double all = whole_trips(m->mean, h[0].whole_turns + h[1].whole_turns,
		                               h[0].whole + h[1].whole, fmax(cut_of(&h[0]), cut_of(&h[1])));

		m->least = fmin(m->least, all);
		m->most = fmax(m->most, all);
		for (int k = 0; k < HALVES; k++)
			m->log_trips[i * HALVES + k] = log(
			        fmax(whole_trips(m->mean, h[k].whole_turns, h[k].whole, cut_of(&h[k])), 1) /
			        m->mean);
	}
	return true;
}

/* Trips as one draw has them, with one moment more, of `more` trips. */
static double draw_trips(const struct moments *m, double power, double more, gsl_rng *rng)
{
	const double entries = 1 / (m->a_turn * more + m->an_entry);
	double x = gsl_ran_exponential(rng, 1), num = x * more * entries, den = x * entries;

	for (size_t i = 0; i < m->n; i++) {
		x = gsl_ran_exponential(rng, 1);
		for (int k = 0; k < HALVES; k++) {
			double w = x * exp(power * m->log_trips[i * HALVES + 1 - k]);

			num += w * m->v[i].half[k].turns;
			den += w * m->v[i].half[k].entries;
		}
	}
	return den > 0 ? num / den : INFINITY;
}

/* As far beyond as that is from the mean; a loop that is entered turns once. */
static double beyond(const struct moments *m, double furthest)
{
	return fmax(furthest * furthest / m->mean, 1);
}

/* least: what trips may be of moments that no burst saw, though samples did; 0: there are none. */
static void find_spread(const struct moments *m, double least, struct profile_spread *out)
{
	double few[DRAWS], many[DRAWS];
	gsl_rng *rng = mem_have(gsl_rng_alloc(gsl_rng_mt19937));

	gsl_rng_set(rng, 1);
	for (int i = 0; i < DRAWS; i++) {
		const double power = gsl_ran_gaussian(rng, model->pace_spread);

		few[i] = draw_trips(m, power, least > 0 ? least : beyond(m, fmin(m->least, m->mean)), rng);
		many[i] = draw_trips(m, power, beyond(m, fmax(m->most, m->mean)), rng);
	}
	gsl_sort(few, 1, DRAWS);
	gsl_sort(many, 1, DRAWS);
	out->mean = m->mean;
	out->lo = few[DRAWS / 20];
	out->hi = many[DRAWS - 1 - DRAWS / 20];
	gsl_rng_free(rng);
}

static bool has_samples(const struct profile *p, const struct flow_block *b)
{
	size_t at = sorted_count(p->n_insns, k,
	                         order_pairs(p->insns[k].module, p->insns[k].vaddr, b->module, b->vaddr) < 0);

	for (; at < p->n_insns && p->insns[at].module == b->module && p->insns[at].vaddr < b->end_vaddr; at++)
		if (p->insns[at].count.raw_cyc > 0)
			return true;
	return false;
}

/* Functions that are called where their region does not reach, and time was sampled: before the call, or where it comes back to. */
static void find_outside(const struct flow_part *x, uint8_t *outside)
{
	const struct profile *p = x->a->p;
	const struct flow_graph *g = x->g;
	const int32_t *region = x->a->w->regions->of_block;

	for (uint32_t e = 0; e < g->n_edges; e++) {
		const struct flow_edge *edge = &g->edges[e];
		const struct flow_block *from = &g->blocks[edge->from], *to = &g->blocks[edge->to];
		const uint32_t k = x->number[edge->to];

		if (edge->kind == FLOW_RET || edge->kind == FLOW_SKIP || from->func == to->func ||
		    g->funcs[to->func].entry != edge->to || region[edge->to] < 0 ||
		    region[edge->from] == region[edge->to] || k == UINT32_MAX ||
		    p->blocks[k].func == UINT32_MAX)
			continue;
		if (has_samples(p, from) || (edge->from + 1 < g->n_blocks &&
		                             from[1].vaddr == from->end_vaddr && has_samples(p, from + 1)))
			outside[p->blocks[k].func] = 1;
	}
}

/* Of this function, or loop of it, what its bursts v[n] tell. */
static void tell(struct profile *p, const uint8_t *outside, const struct visits *v, size_t n,
                 const double *shares)
{
	const bool is_loop = v->of < p->n_trips;
	struct profile_trips *t = is_loop ? &p->trips[v->of] : NULL;
	const uint32_t func = is_loop ? p->blocks[t->header].func : v->of - (uint32_t)p->n_trips;
	struct profile_spread *out = is_loop ? &t->seen : &p->funcs[func].calls.seen;
	const bool known = func < p->n_funcs; /* else none of its header's code is in the profile */
	struct moments m;
	uint32_t met = 0;

	for (size_t i = 0; i < n && is_loop; i++)
		met += v[i].left || sum_of(&v[i], true) > 0;
	if (is_loop)
		t->hardly_seen = met < PROFILE_MIN_BURSTS;
	if (!known)
		return;
	out->unseen = outside[func] && !(shares[func] > 0);
	if (moments_init(&m, v, n))
		find_spread(&m, out->unseen ? 1 : 0, out);
	out->outside = shares[func];
	free(m.log_trips);
}

/* Of entries of each function those of bursts that came from outside of its region. */
static void find_shares(const struct crossings *c, double *shares)
{
	const struct profile *p = c->x->a->p;
	double *all = mem_calloc(p->n_funcs + 1, sizeof(*all));

	for (size_t i = 0; i < c->v.n; i++) {
		const struct visits *v = &c->v.v[i];

		if (v->of < p->n_trips)
			continue;
		all[v->of - p->n_trips] += sum_of(v, true);
		shares[v->of - p->n_trips] += v->n_out;
	}
	for (size_t f = 0; f < p->n_funcs; f++)
		shares[f] = all[f] > 0 ? shares[f] / all[f] : 0;
	free(all);
}

/* Loops of which the code itself tells the trips (eq. 8), however they are entered, need no bursts. */
static int find_counted(struct flow_part *x)
{
	struct profile *p = x->a->p;
	uint8_t *wanted = mem_calloc(x->g->n_blocks + 1, 1);
	struct flow_trips trips = { 0 };
	int err;

	for (size_t b = 0; b < x->g->n_blocks; b++)
		wanted[b] = x->number[b] != UINT32_MAX;
	err = flow_trips_find(x->g, x->a->w->rec->modules, wanted, &trips);
	for (size_t i = 0; err == 0 && i < trips.n; i++) {
		const struct flow_trip *t = &trips.v[i];
		const struct flow_block *head = &x->g->blocks[t->header];
		const uint32_t k = x->number[t->header];
		bool counted = k != UINT32_MAX && p->blocks[k].trips != UINT32_MAX &&
		               p->trips[p->blocks[k].trips].header == k;

		for (uint32_t j = head->in0; j < head->in0 + head->n_in && counted; j++) {
			const uint32_t e = x->g->in[j], from = x->g->edges[e].from;

			if (flow_is_kept(x, e) && !flow_trip_holds(t, from))
				counted = x->g->edges[e].kind != FLOW_CALL && flow_trip_count(t, from) > 0;
		}
		for (size_t j = 0; j < t->n_body && counted; j++) {
			const struct flow_block *b = &x->g->blocks[t->body[j]];

			for (uint32_t e = b->out0; e < b->out0 + b->n_out; e++)
				counted &= e == t->exit || !flow_is_kept(x, e) ||
				           !flow_is_way(x, &x->g->edges[e]) ||
				           flow_trip_holds(t, x->g->edges[e].to);
		}
		if (counted)
			p->trips[p->blocks[k].trips].counted = true;
	}
	flow_trips_fini(&trips);
	free(wanted);
	return err;
}

int flow_find_crossings(struct flow_part *x)
{
	struct profile *p = x->a->p;
	struct crossings c = { .x = x };
	uint8_t *outside;
	double *shares;
	int err;

	for (size_t t = 0; t < p->n_trips; t++)
		p->trips[t].hardly_seen = p->meta.relative;
	if (!p->meta.relative || !p->n_blocks)
		return 0;
	err = find_counted(x);
	if (err < 0)
		return err;
	c.at = mem_calloc(p->n_trips + p->n_funcs + 1, sizeof(*c.at));
	outside = mem_calloc(p->n_funcs + 1, 1);
	shares = mem_calloc(p->n_funcs + 1, sizeof(*shares));
	err = recording_each(x->a->w->rec, "counting trips", show_burst, &c);
	find_outside(x, outside);
	find_shares(&c, shares);
	if (c.v.n)
		qsort(c.v.v, c.v.n, sizeof(*c.v.v), by_unit);
	for (size_t i = 0, end; i < c.v.n; i = end) {
		for (end = i + 1; end < c.v.n && c.v.v[end].of == c.v.v[i].of;)
			end++;
		tell(p, outside, c.v.v + i, end - i, shares);
	}
	free(c.at);
	free(outside);
	free(shares);
	vec_fini(&c.v);
	return err;
}
