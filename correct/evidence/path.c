/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Path (eq. 10): branch stacks.  Between one taken branch's target and the
 * next one's source the code ran straight on, so a stack of n branches tells
 * n - 1 pieces of a real path, edge by edge.
 *
 * Samples land uniformly in time, so the branch before a slow stretch is too
 * often the newest of a stack.  Stacks are weighed by their newest edge so
 * that newest edges come as often as the older ones do: a path seen at moments
 * chosen without regard to time would look alike at every depth.
 *
 * A burst lies ahead of its moment instead of behind it: all the same, with
 * its oldest edge for the newest.
 */
#include <gsl/gsl_blas.h>
#include <gsl/gsl_errno.h>
#include <gsl/gsl_linalg.h>
#include <gsl/gsl_randist.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "correct/evidence/evidence.h"
#include "correct/profile.h"
#include "profiler/base/vec.h"

enum {
	MAX_STACKS = 200000, /* kept a scope; past it every second one is dropped, again and again */
	MIN_STACKS = 10,     /* fewer say nothing worth an equation */
	CACHE_SIZE = 1 << 16,
	MIN_HALVED = 8,       /* branches of a burst of which half can be spared */
	BURST_ROUNDS = 40,    /* of bursts half a burst each: 400 branches */
	WEIGHT_ROUNDS = 1500, /* of about half a stack each: 10,000 branches */
};

/*
 * Errors that weighing leaves, all seen on random programs, where they hardly
 * move the result but widen its interval: a share of every flow, a share of
 * what weighing changed it by, and the weights' own scatter.
 */
static const double bias_left = 0.01, change_left = 0.2, scatter_factor = 1.5;

/* A straight run and the branch that ended it: edges of one scope in pool[edge0 ..]. */
struct piece {
	int32_t scope; /* -1 = not a path in the scope's graph */
	uint32_t edge0, n_edges;
	uint32_t n_insn; /* of the blocks entered */
};

struct stack {
	uint32_t piece0,
	        n_pieces; /* scope_stacks.pieces, from the moment it was taken at: newest first, or ahead */
	uint32_t near;    /* edge of the branch next to that moment ... */
	uint32_t away;    /* ... and the first piece whose branch is further off */
	double weight;    /* instructions it stands for */
};

struct scope_stacks {
	struct {
		struct stack *v;
		size_t n, cap;
	} stacks;
	struct {
		uint32_t *v;
		size_t n, cap;
	} pieces;
	uint64_t n_seen, stride;
	bool bursts;                 /* its stacks are those */
	uint64_t n_broken, n_pieces; /* pieces that are no path of the scope, and all */
};

/* Addresses are looked up once: (pid, start, end, target) -> piece. */
struct cached {
	uint32_t pid;
	int32_t scope;
	uint64_t start_ip, from_ip, to_ip;
	uint32_t piece; /* index + 1, 0 = empty */
};

/* Instructions per cycle of a thread lately: what a cycle sample stands for. */
struct pace {
	uint64_t insn, cyc;
	double d_insn, d_cyc;
	bool valid;
};

struct path {
	struct evidence_input in;
	struct scope_stacks *scopes;
	struct {
		struct piece *v;
		size_t n, cap;
	} all;
	struct {
		uint32_t *v;
		size_t n, cap;
	} pool;
	struct {
		struct pace *v;
		size_t n, cap;
	} paces;
	struct cached *cache;
	uint64_t maps_changes;
};

static void end(void *state)
{
	struct path *s = state;

	for (size_t r = 0; s->scopes && r < s->in.n; r++) {
		vec_fini(&s->scopes[r].stacks);
		vec_fini(&s->scopes[r].pieces);
	}
	free(s->scopes);
	vec_fini(&s->all);
	vec_fini(&s->pool);
	vec_fini(&s->paces);
	free(s->cache);
	free(s);
}

static int begin(const struct evidence_input *in, void **state)
{
	struct path *s = calloc(1, sizeof(*s));

	if (!s)
		return sp_fail(SP_ENOMEM, "out of memory");
	s->in = *in;
	s->scopes = calloc(in->n + 1, sizeof(*s->scopes));
	s->cache = calloc(CACHE_SIZE, sizeof(*s->cache));
	if (!s->scopes || !s->cache) {
		end(s);
		return sp_fail(SP_ENOMEM, "out of memory");
	}
	for (size_t r = 0; r < in->n; r++)
		s->scopes[r].stride = 1;
	*state = s;
	return 0;
}

/* A problem's own number of a graph edge; its edges are in the graph's order.  UINT32_MAX = not in it. */
static uint32_t local_edge(const struct problem *p, uint32_t graph_edge)
{
	size_t lo = 0, hi = p->n_edges;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (p->edges[mid].graph_edge < graph_edge)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < p->n_edges && p->edges[lo].graph_edge == graph_edge ? (uint32_t)lo : UINT32_MAX;
}

/* The scope's own number of the edge between two blocks, UINT32_MAX if there is none inside it. */
static uint32_t edge_between(const struct path *s, int32_t scope, long from, long to, bool taken)
{
	const struct flow_graph *g = s->in.graph;
	const struct flow_block *b = &g->blocks[from];

	for (uint32_t i = 0; i < b->n_out; i++) {
		const struct flow_edge *e = &g->edges[b->out0 + i];

		if (e->to == (uint32_t)to && (e->kind == FLOW_FALL || e->kind == FLOW_SKIP) == !taken)
			return local_edge(s->in.problems[scope], b->out0 + i);
	}
	return UINT32_MAX;
}

/* Follow the code from `start` to the branch at `from`, then to `to`: push its edges. */
static int trace_piece(struct path *s, int32_t scope, struct place start, struct place from, struct place to,
                       struct piece *out)
{
	const struct flow_graph *g = s->in.graph;
	long at, last, target;

	out->scope = -1;
	out->edge0 = (uint32_t)s->pool.n;
	if (start.module < 0 || from.module != start.module || to.module < 0 || from.vaddr < start.vaddr)
		return 0;
	at = flow_block_at(g, (uint32_t)start.module, start.vaddr);
	last = flow_block_at(g, (uint32_t)from.module, from.vaddr);
	target = flow_block_at(g, (uint32_t)to.module, to.vaddr);
	if (at < 0 || last < at || target < 0 || g->blocks[target].vaddr != to.vaddr)
		return 0;
	for (; at <= last; at++) {
		/* Blocks are in address order, so the run's are neighbours. */
		long next = at < last ? at + 1 : target;
		uint32_t e = edge_between(s, scope, at, next, at == last);

		if (e == UINT32_MAX)
			return 0;
		if (vec_push(&s->pool, e) < 0)
			return -SP_ENOMEM;
		out->n_insn += g->blocks[next].n_insn;
		out->n_edges++;
	}
	out->scope = scope;
	return 0;
}

/* Index of the piece, or -SP_ENOMEM. */
static long piece_of(struct path *s, int32_t scope, uint32_t pid, const struct pd_branch *older,
                     const struct pd_branch *newer)
{
	uint64_t hash = (older->to_ip * 0x9e3779b97f4a7c15u ^ newer->from_ip) * 0x9e3779b97f4a7c15u ^
	                newer->to_ip * 0xc2b2ae3d27d4eb4fu ^ pid ^ (uint64_t)scope << 32;
	struct cached *c = &s->cache[(hash ^ hash >> 29) % CACHE_SIZE];
	struct piece piece = { 0 };
	int err;

	if (c->piece && c->pid == pid && c->scope == scope && c->start_ip == older->to_ip &&
	    c->from_ip == newer->from_ip && c->to_ip == newer->to_ip)
		return c->piece - 1;
	err = trace_piece(s, scope, recording_place(s->in.rec, pid, older->to_ip),
	                  recording_place(s->in.rec, pid, newer->from_ip),
	                  recording_place(s->in.rec, pid, newer->to_ip), &piece);
	if (err < 0 || vec_push(&s->all, piece) < 0)
		return -SP_ENOMEM;
	*c = (struct cached){ pid, scope, older->to_ip, newer->from_ip, newer->to_ip, (uint32_t)s->all.n };
	return (long)s->all.n - 1;
}

/* Keep the thread's pace; returns instructions per cycle over the last few samples, 0 if unknown. */
static double keep_pace(struct path *s, const struct sample_seen *seen)
{
	uint64_t insn, cyc;
	struct pace *pace;

	while (s->paces.n <= seen->counters)
		if (vec_push(&s->paces, (struct pace){ 0 }) < 0)
			return 0;
	pace = &s->paces.v[seen->counters];
	if (!sample_value(&seen->record->sample, s->in.rec->insn_event, &insn) ||
	    !sample_value(&seen->record->sample, s->in.rec->cyc_event, &cyc))
		return 0;
	if (pace->valid && insn >= pace->insn && cyc >= pace->cyc) {
		/* Half-life of about five samples: long against one interval, short against a phase. */
		pace->d_insn = 0.87 * pace->d_insn + (double)(insn - pace->insn);
		pace->d_cyc = 0.87 * pace->d_cyc + (double)(cyc - pace->cyc);
	}
	pace->valid = true;
	pace->insn = insn;
	pace->cyc = cyc;
	return pace->d_cyc > 0 ? pace->d_insn / pace->d_cyc : 0;
}

/* Halve what is kept of a scope with very many stacks. */
static void thin(struct scope_stacks *r)
{
	size_t kept = 0;

	for (size_t i = 0; i < r->stacks.n; i += 2)
		r->stacks.v[kept++] = r->stacks.v[i];
	r->stacks.n = kept;
	r->stride *= 2;
}

/*
 * What made a burst's moment slow, a miss or a wrong prediction, may also say
 * which way comes next.  It is forgotten some branches on: the first half of a
 * burst only leads there.
 */
static size_t lead_in(const struct pd_sample *smp, bool burst)
{
	return burst && smp->n_branches >= MIN_HALVED ? smp->n_branches / 2 : 0;
}

/*
 * The i-th piece of a sample's stack, counted from the moment it was taken at:
 * back from there in a record of the processor's, on from there in a burst.
 */
static long piece_from_moment(struct path *s, const struct sample_seen *seen, size_t i)
{
	const struct pd_sample *smp = &seen->record->sample;
	bool burst = seen->record->event == s->in.rec->burst_event;
	size_t newer = burst ? smp->n_branches - 2 - lead_in(smp, true) - i : i;

	return piece_of(s, seen->scope, seen->record->pid, &smp->branches[newer + 1], &smp->branches[newer]);
}

/* The edge of a burst's first branch past its lead-in, UINT32_MAX if it is none of the scope's. */
static uint32_t first_edge(const struct path *s, const struct sample_seen *seen)
{
	const struct pd_sample *smp = &seen->record->sample;
	const struct pd_branch *first = &smp->branches[smp->n_branches - 1 - lead_in(smp, true)];
	struct place from = recording_place(s->in.rec, seen->record->pid, first->from_ip),
	             to = recording_place(s->in.rec, seen->record->pid, first->to_ip);
	long b = from.module < 0 ? -1 : flow_block_at(s->in.graph, (uint32_t)from.module, from.vaddr),
	     next = to.module < 0 ? -1 : flow_block_at(s->in.graph, (uint32_t)to.module, to.vaddr);

	return b < 0 || next < 0 ? UINT32_MAX : edge_between(s, seen->scope, b, next, true);
}

/* The edge of the branch that ended a piece. */
static uint32_t closing_edge(const struct path *s, uint32_t piece)
{
	const struct piece *p = &s->all.v[piece];

	return s->pool.v[p->edge0 + p->n_edges - 1];
}

static int sample(void *state, const struct sample_seen *seen)
{
	struct path *s = state;
	const struct pd_sample *smp = &seen->record->sample;
	double ipc = keep_pace(s, seen), weight = recording_weight(s->in.rec, seen->record);
	bool burst = seen->record->event == s->in.rec->burst_event;
	struct scope_stacks *r;
	struct stack stack;

	if (smp->n_branches < 2 || seen->scope < 0)
		return 0;
	if (s->maps_changes != s->in.rec->maps_changes) {
		memset(s->cache, 0, CACHE_SIZE * sizeof(*s->cache));
		s->maps_changes = s->in.rec->maps_changes;
	}
	r = &s->scopes[seen->scope];
	if (r->n_seen++ % r->stride)
		return 0;
	/* Bursts are taken at moments, each as good as another. */
	if (burst)
		weight = 1;
	else if (seen->record->event == s->in.rec->cyc_event && ipc > 0)
		weight *= ipc;
	stack = (struct stack){ .piece0 = (uint32_t)r->pieces.n, .weight = weight };
	for (size_t i = 0; i + 1 + lead_in(smp, burst) < smp->n_branches; i++) {
		long piece = piece_from_moment(s, seen, i);

		if (piece < 0)
			return (int)piece;
		r->n_pieces++;
		if (s->all.v[piece].scope < 0) {
			/* What lies before a break is another path's, or a fault of the hardware. */
			r->n_broken++;
			break;
		}
		if (vec_push(&r->pieces, (uint32_t)piece) < 0)
			return -SP_ENOMEM;
		stack.n_pieces++;
	}
	if (!stack.n_pieces)
		return 0;
	stack.near = burst ? first_edge(s, seen) : closing_edge(s, r->pieces.v[stack.piece0]);
	stack.away = !burst;
	if (stack.near == UINT32_MAX)
		return 0;
	r->bursts |= burst;
	if (r->stacks.n >= MAX_STACKS)
		thin(r);
	return vec_push(&r->stacks, stack);
}

/* Weighted sums over stacks: executions of each edge, and instructions. */
struct tally {
	double *edge; /* [E] */
	double insn;
};

/* Rows of K below, sparse: of the stacks whose newest edge is `from`, how often `to` came before it. */
struct step {
	uint32_t from, to; /* edges */
	double p;
};

static int by_row(const void *a, const void *b)
{
	const struct step *x = a, *y = b;

	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return (x->to > y->to) - (x->to < y->to);
}

/* Add up equal steps and make each row sum to 1; returns how many are left. */
static size_t normalise(struct step *steps, size_t n)
{
	size_t kept = 0;

	if (n)
		qsort(steps, n, sizeof(*steps), by_row);
	for (size_t i = 0; i < n; i++) {
		if (kept && steps[kept - 1].from == steps[i].from && steps[kept - 1].to == steps[i].to)
			steps[kept - 1].p += steps[i].p;
		else
			steps[kept++] = steps[i];
	}
	for (size_t i = 0, end; i < kept; i = end) {
		double sum = 0;

		for (end = i; end < kept && steps[end].from == steps[i].from; end++)
			sum += steps[end].p;
		for (size_t k = i; k < end; k++)
			steps[k].p /= sum;
	}
	return kept;
}

/* Edges that were never the newest have no row, and are passed over. */
static int collect_steps(const struct path *s, const struct scope_stacks *r, const double *newest,
                         struct step **out, size_t *n_out)
{
	struct step *steps = calloc(r->pieces.n + 1, sizeof(*steps));
	size_t n = 0;

	if (!steps)
		return sp_fail(SP_ENOMEM, "out of memory for %zu branches", r->pieces.n);
	for (size_t i = 0; i < r->stacks.n; i++) {
		const struct stack *st = &r->stacks.v[i];

		for (uint32_t k = st->away; k < st->n_pieces; k++) {
			uint32_t to = closing_edge(s, r->pieces.v[st->piece0 + k]);

			if (newest[to] > 0)
				steps[n++] = (struct step){ st->near, to, st->weight };
		}
	}
	*n_out = normalise(steps, n);
	*out = steps;
	return 0;
}

/*
 * Bursts are few.  A loop that one or two began in, and did not leave, would in time draw all of pi
 * to itself: where an edge leads is as uncertain as if one more burst had gone on like all together.
 */
static double doubt(const struct scope_stacks *r, double n_bursts)
{
	return r->bursts ? 1 / (n_bursts + 1) : 0;
}

/*
 * eqs. 14 and 17, w[E]: a stack whose branch next to its moment took edge e
 * (the newest, or a burst's oldest) counts w[e] times.
 * Given its newest edge a stack is a fair sample of the paths that lead
 * there; only how often an edge is the newest depends on time.  So the true
 * frequencies pi are those that going back along the stacks leaves as they
 * are, pi = pi K, and w is pi over what was seen.  The iteration begins with
 * what was seen and goes back about as far as one sample is from the next:
 * over longer stretches the samples themselves are fair, and loops that never
 * led to one another keep their share.
 */
static int newest_weights(const struct path *s, const struct scope_stacks *r, size_t n_edges, double *w,
                          double *newest, double *pi)
{
	struct step *steps = NULL;
	double total = 0;
	size_t n = 0;
	int err;

	memset(newest, 0, n_edges * sizeof(*newest));
	for (size_t i = 0; i < r->stacks.n; i++)
		newest[r->stacks.v[i].near] += r->stacks.v[i].weight;
	for (size_t e = 0; e < n_edges; e++)
		total += newest[e];
	err = collect_steps(s, r, newest, &steps, &n);
	if (err < 0)
		return err;
	memcpy(pi, newest, n_edges * sizeof(*pi));
	for (int round = 0; round < (r->bursts ? BURST_ROUNDS : WEIGHT_ROUNDS); round++) {
		double away = 0;

		/* w is scratch here.  An edge without a row keeps what it has. */
		memcpy(w, pi, n_edges * sizeof(*w));
		for (size_t i = 0; i < n; i++)
			if (i == 0 || steps[i].from != steps[i - 1].from) {
				w[steps[i].from] -= pi[steps[i].from];
				away += pi[steps[i].from] * doubt(r, newest[steps[i].from]);
			}
		for (size_t i = 0; i < n; i++)
			w[steps[i].to] +=
			        pi[steps[i].from] * steps[i].p * (1 - doubt(r, newest[steps[i].from]));
		for (size_t e = 0; e < n_edges && away > 0; e++)
			w[e] += away * newest[e] / total;
		memcpy(pi, w, n_edges * sizeof(*pi));
	}
	for (size_t e = 0; e < n_edges; e++)
		w[e] = newest[e] > 0 ? fmax(pi[e], 0) / newest[e] : 1;
	free(steps);
	return 0;
}

static void add_stack(const struct path *s, const struct scope_stacks *r, const struct stack *st,
                      double weight, struct tally *t)
{
	for (uint32_t k = 0; k < st->n_pieces; k++) {
		const struct piece *p = &s->all.v[r->pieces.v[st->piece0 + k]];

		for (uint32_t i = 0; i < p->n_edges; i++)
			t->edge[s->pool.v[p->edge0 + i]] += weight;
		t->insn += weight * p->n_insn;
	}
}

static double stack_weight(const struct stack *st, const double *w)
{
	return st->weight * w[st->near];
}

/*
 * Covariance of the free edges' flows from the scatter of stacks about the
 * mean: cov[d][d].  x_s - I_s f/N of a stack has mean zero at the true flow.
 */
static void scatter(const struct path *s, const struct scope_stacks *r, const double *w,
                    const struct space *space, const struct tally *mean, double *cov, struct tally *one)
{
	size_t d = space->n_free;

	memset(cov, 0, d * d * sizeof(*cov));
	for (size_t i = 0; i < r->stacks.n; i++) {
		const struct stack *st = &r->stacks.v[i];

		memset(one->edge, 0, space->n_edges * sizeof(double));
		one->insn = 0;
		add_stack(s, r, st, stack_weight(st, w), one);
		for (size_t e = 0; e < space->n_edges; e++)
			one->edge[e] -= one->insn * mean->edge[e] / mean->insn;
		for (size_t a = 0; a < d; a++) {
			double x = one->edge[space->free_edge[a]];

			for (size_t b = 0; x != 0 && b <= a; b++)
				cov[a * d + b] += x * one->edge[space->free_edge[b]];
		}
	}
}

/*
 * Shrink towards the diagonal where stacks are few, leave no edge quite
 * certain, and allow each flow the error that weighing by the newest edge
 * alone leaves (eq. 18): what was slow before that edge is still seen too often, and
 * most so where the bias to be taken away was large.
 */
static void regularise(double *cov, const struct space *space, const struct tally *mean,
                       const struct tally *unweighed, size_t n_stacks, double unit)
{
	size_t d = space->n_free;
	double keep = 1 - fmin(0.9, (double)d / (double)n_stacks);

	for (size_t a = 0; a < d; a++) {
		uint32_t e = space->free_edge[a];
		double change = unweighed->edge[e] * mean->insn / unweighed->insn - mean->edge[e];
		double bias = hypot(bias_left * mean->edge[e], change_left * change);

		for (size_t b = 0; b < a; b++)
			cov[a * d + b] *= keep * scatter_factor * scatter_factor;
		cov[a * d + a] = scatter_factor * scatter_factor * cov[a * d + a] + unit * unit + bias * bias;
		for (size_t b = 0; b <= a; b++)
			cov[b * d + a] = cov[a * d + b];
	}
}

/*
 * Turn N(mean, cov) of the free edges into d independent equations of unit
 * noise: with cov = L L', rows of inverse(L).
 */
static int add_rows(const struct space *space, const struct tally *mean, double scale, double *cov,
                    struct equations *out)
{
	size_t d = space->n_free;
	gsl_matrix_view m = gsl_matrix_view_array(cov, d, d);
	gsl_matrix *inverse;
	int err = 0;

	/* No matrix is a reason to abort(): the handler is off in correct_run. */
	if (gsl_linalg_cholesky_decomp1(&m.matrix) != GSL_SUCCESS)
		return sp_fail(SP_EDOMAIN, "branch records: their covariance could not be factored");
	inverse = gsl_matrix_alloc(d, d);
	if (!inverse)
		return sp_fail(SP_ENOMEM, "out of memory");
	gsl_matrix_set_identity(inverse);
	gsl_blas_dtrsm(CblasLeft, CblasLower, CblasNoTrans, CblasNonUnit, 1, &m.matrix, inverse);
	for (size_t i = 0; i < d && err == 0; i++) {
		struct equation *eq = equations_add(out, space->n_edges);

		if (!eq) {
			err = -SP_ENOMEM;
			break;
		}
		eq->name = "branch records";
		eq->kind = PROFILE_BY_PATH;
		eq->sd = scale;
		for (size_t k = 0; k <= i; k++) {
			double x = gsl_matrix_get(inverse, i, k);

			eq->w[space->free_edge[k]] = x;
			eq->value += x * mean->edge[space->free_edge[k]] * scale;
		}
	}
	gsl_matrix_free(inverse);
	return err;
}

static int equations(void *state, size_t scope, const struct space *space, struct equations *out)
{
	struct path *s = state;
	struct scope_stacks *r = &s->scopes[scope];
	size_t n_edges = space->n_edges, d = space->n_free;
	struct tally mean = { .edge = calloc(n_edges + 1, sizeof(double)) };
	struct tally one = { .edge = calloc(n_edges + 1, sizeof(double)) };
	struct tally unweighed = { .edge = calloc(n_edges + 1, sizeof(double)) };
	double *w = calloc(n_edges + 1, sizeof(double)), *cov = calloc(d * d + 1, sizeof(double)), unit = 0;
	int err = 0;

	if (r->stacks.n < MIN_STACKS || !d)
		goto out;
	if (!mean.edge || !one.edge || !unweighed.edge || !w || !cov) {
		err = sp_fail(SP_ENOMEM, "out of memory for branch records of %zu edges", n_edges);
		goto out;
	}
	err = newest_weights(s, r, n_edges, w, one.edge, mean.edge);
	if (err < 0)
		goto out;
	memset(mean.edge, 0, n_edges * sizeof(double));
	for (size_t i = 0; i < r->stacks.n; i++) {
		const struct stack *st = &r->stacks.v[i];
		double weight = stack_weight(st, w);

		add_stack(s, r, st, weight, &mean);
		add_stack(s, r, st, st->weight, &unweighed);
		unit += weight / (double)r->stacks.n;
	}
	/* Samples of no weight, as of an event without a period in a damaged file. */
	if (!(mean.insn > 0) || !(unweighed.insn > 0))
		goto out;
	scatter(s, r, w, space, &mean, cov, &one);
	regularise(cov, space, &mean, &unweighed, r->stacks.n, unit);
	err = add_rows(space, &mean, s->in.problems[scope]->total_insn / mean.insn, cov, out);
out:
	free(mean.edge);
	free(one.edge);
	free(unweighed.edge);
	free(w);
	free(cov);
	return err;
}

int method_path(struct evidence *ev, size_t scope, const struct infer_opts *opts, struct solution *out)
{
	struct path *s = evidence_state(ev, &evidence_path);
	const struct scope_stacks *r = &s->scopes[scope];
	const struct problem *p = s->in.problems[scope];
	/* Without stacks there are no draws: the raw counts are better than zeros. */
	size_t n_draws = r->stacks.n < MIN_STACKS ? 0 : opts->n_keep;
	struct tally t = { .edge = calloc(p->n_edges + 1, sizeof(double)) };
	gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
	int err = solution_init(out, p, n_draws);

	if (err < 0)
		goto out;
	if (!t.edge || !rng) {
		err = sp_fail(SP_ENOMEM, "out of memory");
		goto out;
	}
	if (!n_draws) {
		out->verdict = VERDICT_UNRELIABLE;
		snprintf(out->why, sizeof(out->why), "only %zu branch stacks: record with -b, or longer",
		         r->stacks.n);
		goto out;
	}
	out->evidence = PROFILE_BY_PATH;
	gsl_rng_set(rng, opts->seed);
	/* Draw 0 is the average itself; the rest resample the stacks with Poisson weights. */
	for (size_t i = 0; i < n_draws; i++) {
		memset(t.edge, 0, p->n_edges * sizeof(double));
		t.insn = 0;
		for (size_t k = 0; k < r->stacks.n; k++)
			add_stack(s, r, &r->stacks.v[k],
			          r->stacks.v[k].weight * (i ? gsl_ran_poisson(rng, 1) : 1), &t);
		for (size_t e = 0; t.insn > 0 && e < p->n_edges; e++) {
			double f = t.edge[e] / t.insn * p->total_insn;

			out->draws[i * p->n_blocks + p->edges[e].to] += (float)f;
			out->edge_flow[e] += f / (double)n_draws;
		}
	}
out:
	free(t.edge);
	gsl_rng_free(rng);
	return err;
}

const struct evidence_ops evidence_path = {
	.name = "path",
	.begin = begin,
	.sample = sample,
	.equations = equations,
	.end = end,
};
