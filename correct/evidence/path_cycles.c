/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Branch records that tell the cycles between branches (Intel from Skylake on, Arm's BRBE) place each branch in time before the
 * moment of the sample. Samples of the cycles event are taken at moments spread evenly over time, so what runs in the W cycles
 * before one is a fair sample of what runs, whatever the code before and after it: nothing leans towards what is slow.
 *
 * The moment itself is not on record: it lies somewhere between the newest branch and the next one.  How long it takes from a
 * branch to the next is learned from the older branches, by its edge and by the one before it: the first lap after a division
 * waits for that, and no other does.
 *
 * The piece that ended with the newest branch is not followed, and that branch is the newest more often the longer it takes until
 * the next.  What is missing so is given to the other pieces that end with a branch of the same edge, after one of the same.
 *
 * Samples of instructions do not come evenly in time: their skid is about the same each time, so a period that keeps step with a
 * loop's instructions meets the same part of it again and again.  Their stacks are weighed by their newest branch
 * (path_newest.c).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <gsl/gsl_sort.h>

#include "correct/evidence/path_impl.h"
#include "correct/model/model.h"
#include "profiler/base/mem.h"
#include "profiler/base/pairs.h"

enum {
	SINGLE = 32, /* cycles that have a bin each; then 8 bins to the power of two */
	OCTAVE = 8,
	N_BINS = SINGLE + 11 * OCTAVE, /* up to 65536: the field has 16 bits, and stays at its highest */
	ROUNDS = 3,
};

/* How long from branches that were come to in one way to the next branch. */
struct gaps {
	double n[N_BINS], sum_cyc[N_BINS];
	double seen;               /* how many of them */
	double within[N_BINS + 1]; /* P(so many cycles ago or less | a moment between the two) */
	double past[N_BINS + 1];   /* its integral: of so many cycles ago, those before the branch */
	double total_cyc;
};

static unsigned bin_of(uint32_t cyc)
{
	unsigned octave;

	if (cyc < SINGLE)
		return cyc;
	octave = 31 - (unsigned)__builtin_clz(cyc) - 5;
	return SINGLE + octave * OCTAVE + ((cyc >> (octave + 2)) & (OCTAVE - 1));
}

static double bin_begin(unsigned bin)
{
	if (bin < SINGLE)
		return bin;
	return ldexp(OCTAVE + (bin - SINGLE) % OCTAVE, (int)((bin - SINGLE) / OCTAVE) + 2);
}

/* How a branch was come to: by the edge of the branch before it.  Way 0 is that of all; each edge has one of any before, too. */
struct ways {
	struct pairs numbers; /* (edge, the edge before) */
	uint32_t *of_piece;   /* [pieces.n], of the branch that ends it */
	uint32_t *of_newest;  /* [stacks.n], of the branch before the moment */
	VEC(uint32_t) edge;   /* [numbers.n] the way of the same edge from anywhere */
};

static uint32_t way_to(struct ways *w, uint32_t edge, uint32_t before)
{
	size_t any = pairs_must(&w->numbers, edge, UINT32_MAX),
	       n = before == UINT32_MAX ? any : pairs_must(&w->numbers, edge, before);

	while (w->edge.n < w->numbers.n)
		vec_add(&w->edge, (uint32_t)any);
	return (uint32_t)n;
}

static void add_ways(const struct path *s, const struct scope_stacks *r, size_t i, struct ways *w)
{
	const struct stack *st = &r->stacks.v[i];
	uint32_t before = UINT32_MAX, n = 0;

	for (uint32_t k = st->n_pieces; k-- > 0;) {
		uint32_t edge = closing_edge(s, r->pieces.v[st->piece0 + k]);

		n = way_to(w, edge, before);
		w->of_piece[st->piece0 + k] = n;
		before = edge;
	}
	if (st->newest != UINT32_MAX)
		n = way_to(w, st->newest, before);
	w->of_newest[i] = n;
}

static void ways_fini(struct ways *w)
{
	pairs_fini(&w->numbers);
	vec_fini(&w->edge);
	free(w->of_piece);
	free(w->of_newest);
}

static void ways_new(const struct path *s, const struct scope_stacks *r, struct ways *w)
{
	*w = (struct ways){ .of_piece = mem_calloc(r->pieces.n + 1, sizeof(*w->of_piece)),
		            .of_newest = mem_calloc(r->stacks.n + 1, sizeof(*w->of_newest)) };
	pairs_must(&w->numbers, UINT32_MAX, UINT32_MAX);
	vec_add(&w->edge, 0);
	for (size_t i = 0; i < r->stacks.n; i++)
		add_ways(s, r, i, w);
}

/* The second line of eq. 11 at the bins' ends: sum of min(gap, x) over the sum of gaps. */
static void integrate(struct gaps *g, const struct gaps *edge, const struct gaps *pooled)
{
	const struct gaps *of = g->seen >= model->few && g->total_cyc > 0 ? g
	                        : edge->total_cyc > 0                     ? edge
	                                                                  : pooled;
	double shorter_cyc = 0, longer = 0;

	for (unsigned b = 0; b < N_BINS; b++)
		longer += of->n[b];
	for (unsigned b = 0; b <= N_BINS; b++) {
		g->within[b] = of->total_cyc > 0 ? (shorter_cyc + bin_begin(b) * longer) / of->total_cyc : 1;
		if (b && of->total_cyc > 0)
			g->past[b] = g->past[b - 1] + (bin_begin(b) - bin_begin(b - 1)) *
			                                      (g->within[b - 1] + g->within[b]) / 2;
		if (b < N_BINS) {
			shorter_cyc += of->sum_cyc[b];
			longer -= of->n[b];
		}
	}
}

/* P(the moment was x cycles after its newest branch, or less). */
static double within(const struct gaps *g, double x)
{
	unsigned b;
	double lo, hi;

	if (x <= 0)
		return 0;
	if (x >= UINT16_MAX)
		return 1;
	b = bin_of((uint32_t)x);
	lo = bin_begin(b);
	hi = bin_begin(b + 1);
	return fmin(1, g->within[b] + (g->within[b + 1] - g->within[b]) * (x - lo) / (hi - lo));
}

/* Of x cycles before the moment, those before its newest branch, in the mean. */
static double past(const struct gaps *g, double x)
{
	const unsigned b = x < UINT16_MAX ? bin_of((uint32_t)x) : N_BINS;

	return g->past[b] + (x - bin_begin(b)) * (g->within[b] + within(g, x)) / 2;
}

/* Cycles from a stack's oldest branch to its newest, which no piece ends with. */
static double covered(const struct scope_stacks *r, const struct stack *st)
{
	double sum = st->lead;

	for (uint32_t k = 0; k < st->n_pieces; k++)
		sum += r->marks.v[st->piece0 + k];
	return sum;
}

bool path_has_cycles(const struct scope_stacks *r)
{
	size_t n_stacks = 0, n_pieces = 0, n_timed = 0;

	for (size_t i = 0; i < r->stacks.n; i++) {
		const struct stack *st = &r->stacks.v[i];

		if (!(st->cyc > 0))
			continue;
		n_stacks++;
		n_pieces += st->n_pieces;
		for (uint32_t k = 0; k < st->n_pieces; k++)
			n_timed += r->marks.v[st->piece0 + k] > 0;
	}
	/* Two branches may retire in one cycle, but not most. */
	return n_stacks >= model->few && n_timed * 2 > n_pieces;
}

/* W: as far back as nearly all stacks reach that were not cut short where they left the scope. */
static double window(const struct scope_stacks *r)
{
	double *x = mem_calloc(r->stacks.n + 1, sizeof(*x)), w_cyc;
	size_t n = 0, n_whole = 0;

	for (size_t i = 0; i < r->stacks.n; i++)
		n_whole += !r->stacks.v[i].broken;
	for (size_t i = 0; i < r->stacks.n; i++)
		if (!n_whole || !r->stacks.v[i].broken)
			x[n++] = covered(r, &r->stacks.v[i]);
	gsl_sort(x, 1, n);
	w_cyc = fmax(1, x[(size_t)((double)n * model->small)]);
	free(x);
	return w_cyc;
}

static void add_gap(struct gaps *gaps, const struct ways *ways, uint32_t way, uint32_t cyc, double w,
                    bool again)
{
	const uint32_t edge = ways->edge.v[way];
	struct gaps *of[] = { &gaps[0], &gaps[edge], &gaps[way] };

	for (size_t i = 0; i < (way == edge ? 2 : 3); i++) {
		of[i]->n[bin_of(cyc)] += w;
		of[i]->sum_cyc[bin_of(cyc)] += w * cyc;
		of[i]->total_cyc += w * cyc;
		of[i]->seen += !again;
	}
}

/* A gap counts when the branch at its end lies in the window, so that long ones are not left out.  newest[stacks]: their weights. */
static void add_gaps(const struct scope_stacks *r, const struct ways *ways, const float *weight,
                     const float *newest, bool lossy, struct gaps *gaps)
{
	memset(gaps, 0, ways->numbers.n * sizeof(*gaps));
	for (size_t i = 0; i < r->stacks.n; i++) {
		const struct stack *st = &r->stacks.v[i];

		/* Where branches are missing the newest gap may be two, which a loop of one branch doesn't show: the one before it stands in. */
		if (!lossy)
			add_gap(gaps, ways, ways->of_piece[st->piece0], st->lead, (double)newest[i], false);
		else if (st->n_pieces > 1)
			add_gap(gaps, ways, ways->of_piece[st->piece0 + 1], r->marks.v[st->piece0],
			        (double)newest[i], true);
		for (uint32_t k = st->piece0; k + 1 < st->piece0 + st->n_pieces; k++)
			add_gap(gaps, ways, ways->of_piece[k + 1], r->marks.v[k], (double)weight[k], false);
	}
}

static void integrate_all(const struct ways *ways, struct gaps *gaps)
{
	for (size_t i = 0; i < ways->numbers.n; i++)
		integrate(&gaps[i], &gaps[ways->edge.v[i]], &gaps[0]);
}

/* eq. 11.  A stack that ends within the window stands for all of it.  *newest: the weight of its newest branch. */
static void weigh_stack(const struct scope_stacks *r, const struct stack *st, const struct gaps *near,
                        double w_cyc, float *weight, float *newest)
{
	double all = covered(r, st), ago = st->lead, whole = 1;

	if (all < w_cyc)
		whole = w_cyc / fmax(w_cyc - past(near, w_cyc - all), 1);
	*newest = (float)(st->cyc * whole * within(near, w_cyc));
	for (uint32_t k = 0; k < st->n_pieces; k++) {
		weight[st->piece0 + k] = (float)(st->cyc * whole * within(near, w_cyc - ago));
		ago += r->marks.v[st->piece0 + k];
	}
}

/* What pieces weigh, by the way to the branch that each ends with: in the window, n of them, and all. */
struct ending {
	double missing, in_window, all, n;
	double led; /* of those in the window that others come before */
};

static void add_endings(const struct scope_stacks *r, const struct ways *ways, const float *newest,
                        const float *weight, struct ending *of)
{
	for (size_t i = 0; i < r->stacks.n; i++) {
		const struct stack *st = &r->stacks.v[i];

		if (st->newest != UINT32_MAX)
			of[ways->of_newest[i]].missing += (double)newest[i];
		for (uint32_t k = st->piece0; k < st->piece0 + st->n_pieces; k++) {
			const uint32_t way = ways->of_piece[k], edge = ways->edge.v[way];
			struct ending *e[] = { &of[edge], &of[way] };

			for (size_t j = 0; j < (way == edge ? 1 : 2); j++) {
				e[j]->in_window += (double)weight[k];
				e[j]->n += weight[k] > 0;
				e[j]->led += k + 1 < st->piece0 + st->n_pieces ? (double)weight[k] : 0;
				e[j]->all += st->cyc;
			}
		}
	}
}

/* What is missing of a way that hardly lies in the window is its edge's. */
static void pass_missing(const struct ways *ways, struct ending *of)
{
	for (size_t i = 0; i < ways->numbers.n; i++) {
		if (of[i].n >= model->few || ways->edge.v[i] == i)
			continue;
		of[ways->edge.v[i]].missing += of[i].missing;
		of[i].missing = 0;
	}
}

/* What is known of a scope's moments. */
struct moments {
	double w_cyc; /* W */
	struct ways ways;
	struct gaps *gaps;      /* [ways.numbers.n] */
	struct ending *endings; /* the same */
	float *newest;          /* [stacks.n] what newest branches weigh */
	double missing;         /* branches between the newest and the one before it */
};

/*
 * What newest branches weigh goes to the pieces that end with a branch come to in the same way, and what is missing before them to the
 * pieces before those, as far as W reaches there.  Where it takes longer than W until the next branch none of these lies in the
 * window, and those from before it have to do.
 */
static void restore_stack(const struct scope_stacks *r, const struct stack *st, const struct moments *m,
                          float *weight)
{
	double before = 0;

	for (uint32_t k = st->piece0; k < st->piece0 + st->n_pieces; k++) {
		const uint32_t way = m->ways.of_piece[k];
		const struct ending *own = &m->endings[way], *e = &m->endings[m->ways.edge.v[way]];
		const double reach =
		        within(&m->gaps[way], m->w_cyc - r->marks.v[k]) / within(&m->gaps[way], m->w_cyc);
		double w = (double)weight[k], by_own, of_all = e->all > 0 ? st->cyc / e->all : 0;

		if (e->n < model->few) {
			weight[k] = (float)(of_all > 0 ? of_all * (e->missing + e->in_window) + before : w);
			before = m->missing * of_all * e->missing * reach;
			continue;
		}
		by_own = own != e && own->missing > 0 ? own->missing / own->in_window : 0;
		weight[k] = (float)(w * (1 + by_own + e->missing / e->in_window) + before);
		before = m->missing * w * (by_own + (e->led > 0 ? e->missing / e->led : 0)) * reach;
	}
}

static void moments_init(const struct path *s, const struct scope_stacks *r, double w_cyc, struct moments *m)
{
	*m = (struct moments){ .w_cyc = w_cyc, .newest = mem_calloc(r->stacks.n + 1, sizeof(*m->newest)) };
	ways_new(s, r, &m->ways);
	if (s->n_breaks >= model->some)
		m->missing = fmin(s->n_newest_breaks / s->n_breaks, 1);
	/* All zero, the gaps are none: the first round takes each moment for that of its newest branch. */
	m->gaps = mem_calloc(m->ways.numbers.n + 1, sizeof(*m->gaps));
	m->endings = mem_calloc(m->ways.numbers.n + 1, sizeof(*m->endings));
}

static void moments_fini(struct moments *m)
{
	ways_fini(&m->ways);
	free(m->gaps);
	free(m->newest);
	free(m->endings);
}

static void weigh(const struct path *s, const struct scope_stacks *r, double w_cyc, float *weight)
{
	struct moments m;

	moments_init(s, r, w_cyc, &m);
	for (int round = 0; round < ROUNDS; round++) {
		integrate_all(&m.ways, m.gaps);
		for (size_t i = 0; i < r->stacks.n; i++)
			weigh_stack(r, &r->stacks.v[i], &m.gaps[m.ways.of_newest[i]], w_cyc, weight,
			            &m.newest[i]);
		if (round + 1 < ROUNDS)
			add_gaps(r, &m.ways, weight, m.newest, m.missing > model->small, m.gaps);
	}
	add_endings(r, &m.ways, m.newest, weight, m.endings);
	pass_missing(&m.ways, m.endings);
	for (size_t i = 0; i < r->stacks.n; i++)
		restore_stack(r, &r->stacks.v[i], &m, weight);
	moments_fini(&m);
}

void path_weigh_by_cycles(const struct path *s, const struct scope_stacks *r, double share, float *weight)
{
	weigh(s, r, fmax(1, share * window(r)), weight);
}

/* Instructions that a stack counts, in the window of each of the moments that it stands for. */
static double counted(const struct path *s, const struct scope_stacks *r, const struct stack *st,
                      const float *weight)
{
	double sum = 0;

	for (uint32_t k = 0; k < st->n_pieces; k++)
		sum += (double)weight[st->piece0 + k] * s->all.v[r->pieces.v[st->piece0 + k]].n_insn;
	return sum;
}

/* Cycles that a stack's pieces lasted, as they count. */
static double lasted(const struct scope_stacks *r, const struct stack *st, const float *weight)
{
	double sum = 0;

	for (uint32_t k = st->piece0; k < st->piece0 + st->n_pieces; k++)
		sum += (double)weight[k] * r->marks.v[k];
	return sum;
}

void path_pace_by_cycles(const struct path *s, const struct scope_stacks *r, double *pace, double *sd)
{
	float *weight = mem_calloc(r->pieces.n + 1, sizeof(*weight));
	double w_cyc = window(r), insn = 0, cyc = 0, pieces_cyc = 0, squares = 0;

	weigh(s, r, w_cyc, weight);
	for (size_t i = 0; i < r->stacks.n; i++) {
		insn += counted(s, r, &r->stacks.v[i], weight);
		cyc += w_cyc * r->stacks.v[i].cyc;
		pieces_cyc += lasted(r, &r->stacks.v[i], weight);
	}
	*pace = cyc > 0 ? insn / cyc : 0;
	for (size_t i = 0; i < r->stacks.n; i++) {
		double off = counted(s, r, &r->stacks.v[i], weight) - *pace * w_cyc * r->stacks.v[i].cyc;

		squares += off * off;
	}
	/* Together pieces last as long as the windows that they end in: what these miss by is an error of their weights. */
	*sd = cyc > 0 ? hypot(sqrt(squares) / cyc, *pace * (pieces_cyc / cyc - 1)) : 0;
	free(weight);
}
