/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Samples land uniformly in time, so the branch before a slow stretch is too often the newest of a stack.  Stacks are weighed by
 * their newest edge so that newest edges come as often as the older ones do: a path seen at moments chosen without regard to time
 * would look alike at every depth.  Without a round a stack stands for its instructions.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "correct/evidence/path_impl.h"
#include "profiler/base/mem.h"
#include "profiler/base/order.h"

/* Rows of K below, sparse: of the stacks whose newest edge is `from`, how often `to` came before it. */
struct step {
	uint32_t from, to; /* edges */
	double p;
};

static int by_row(const void *a, const void *b)
{
	const struct step *x = a, *y = b;

	return order_pairs(x->from, x->to, y->from, y->to);
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
static struct step *collect_steps(const struct path *s, const struct scope_stacks *r, const double *newest,
                                  size_t *n_out)
{
	struct step *steps = mem_calloc(r->pieces.n + 1, sizeof(*steps));
	size_t n = 0;

	for (size_t i = 0; i < r->stacks.n; i++) {
		const struct stack *st = &r->stacks.v[i];

		for (uint32_t k = st->away; k < st->n_pieces; k++) {
			uint32_t to = closing_edge(s, r->pieces.v[st->piece0 + k]);

			if (newest[to] > 0)
				steps[n++] = (struct step){ st->near, to, st->insn };
		}
	}
	*n_out = normalise(steps, n);
	return steps;
}

/*
 * Stacks that stand for instructions, each for as many: from instructions to branches, by how many
 * instructions lie between two branches before each edge.  insns[E] is scratch.
 */
static void count_branches(const struct path *s, const struct scope_stacks *r, size_t n_edges, double *insns,
                           double *pi)
{
	memset(insns, 0, n_edges * sizeof(*insns));
	memset(pi, 0, n_edges * sizeof(*pi));
	for (size_t i = 0; i < r->stacks.n; i++) {
		const struct stack *st = &r->stacks.v[i];

		for (uint32_t k = 0; k < st->n_pieces; k++) {
			insns[st->near] += s->all.v[r->pieces.v[st->piece0 + k]].n_insn;
			pi[st->near]++;
		}
	}
	for (size_t i = 0; i < n_edges; i++)
		insns[i] = insns[i] > 0 ? pi[i] / insns[i] : 0;
	memset(pi, 0, n_edges * sizeof(*pi));
	for (size_t i = 0; i < r->stacks.n; i++)
		pi[r->stacks.v[i].near] += r->stacks.v[i].insn * insns[r->stacks.v[i].near];
}

/*
 * eq. 12, w[E]: a stack whose newest branch took edge e counts w[e] times.  Given its newest edge a stack is a fair sample of
 * the paths that lead there; only how often an edge is the newest depends on time.  So the true frequencies pi are those that
 * going back along the stacks leaves as they are, pi = pi K, and w is pi over what was seen.  The iteration begins with what
 * was seen and goes back past the reach of the skid, no further: loops that hardly ever led to one another keep the share that
 * they were seen with, which is better known than how often one led to the other.
 */
static void newest_weights(const struct path *s, const struct scope_stacks *r, size_t n_edges, int rounds,
                           double *w, double *newest, double *pi)
{
	struct step *steps = NULL;
	size_t n = 0;

	memset(newest, 0, n_edges * sizeof(*newest));
	for (size_t i = 0; i < r->stacks.n; i++)
		newest[r->stacks.v[i].near] += r->stacks.v[i].insn;
	if (rounds)
		steps = collect_steps(s, r, newest, &n);
	count_branches(s, r, n_edges, w, pi);
	for (int round = 0; round < rounds; round++) {
		/* w is scratch here.  An edge without a row keeps what it has. */
		memcpy(w, pi, n_edges * sizeof(*w));
		for (size_t i = 0; i < n; i++)
			if (i == 0 || steps[i].from != steps[i - 1].from)
				w[steps[i].from] -= pi[steps[i].from];
		for (size_t i = 0; i < n; i++)
			w[steps[i].to] += pi[steps[i].from] * steps[i].p;
		memcpy(pi, w, n_edges * sizeof(*pi));
	}
	for (size_t e = 0; e < n_edges; e++)
		w[e] = newest[e] > 0 ? fmax(pi[e], 0) / newest[e] : 1;
	free(steps);
}

void path_weigh_back(const struct path *s, const struct scope_stacks *r, size_t n_edges, int rounds,
                     float *weight)
{
	double *w = mem_calloc(3 * n_edges + 1, sizeof(*w));

	newest_weights(s, r, n_edges, rounds, w, w + n_edges, w + 2 * n_edges);
	for (size_t i = 0; i < r->stacks.n; i++) {
		const struct stack *st = &r->stacks.v[i];

		for (uint32_t k = 0; k < st->n_pieces; k++)
			weight[st->piece0 + k] = (float)(st->insn * w[st->near]);
	}
	free(w);
}
