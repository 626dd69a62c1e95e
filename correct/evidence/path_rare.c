/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What hardly any stack ran over may come in long runs: none of a few stacks shows that it was not gone, only that it
 * filled none of them (eq. 46).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "correct/evidence/path_impl.h"

/* Edges that so many stacks ran over, or more, are known by their scatter. */
enum { SEEN = 2 };

struct rare {
	const struct problem *p;
	uint8_t *carries; /* [E] can have any flow */
	uint32_t *first;  /* [B + 1] edges of each block */
	uint32_t *dist;   /* [B] taken branches up to there */
	uint32_t *queue;  /* [2 E + 2] begins in the middle: what no branch leads to comes first */
	uint32_t *stacks; /* [E] that ran over it */
	uint32_t *latest; /* [E] 1 + the latest of them */
};

static void fini(struct rare *a)
{
	free(a->carries);
	free(a->first);
	free(a->dist);
	free(a->queue);
	free(a->stacks);
	free(a->latest);
}

static int init(struct rare *a, const struct problem *p, const struct space *space)
{
	size_t n = p->n_edges;

	*a = (struct rare){ .p = p,
		            .carries = calloc(n + 1, 1),
		            .first = calloc(p->n_blocks + 2, sizeof(*a->first)),
		            .dist = calloc(p->n_blocks + 1, sizeof(*a->dist)),
		            .queue = calloc(2 * n + 2, sizeof(*a->queue)),
		            .stacks = calloc(n + 1, sizeof(*a->stacks)),
		            .latest = calloc(n + 1, sizeof(*a->latest)) };
	if (!a->carries || !a->first || !a->dist || !a->queue || !a->stacks || !a->latest)
		return sp_fail(SP_ENOMEM, "out of memory for %zu edges", n);
	for (size_t e = 0; e < n; e++)
		a->carries[e] = equations_any(space->z + e * space->n_free, 1, space->n_free);
	/* Edges are in the order of their blocks. */
	for (size_t e = 0; e < n; e++)
		a->first[p->edges[e].from + 1] = (uint32_t)e + 1;
	for (size_t b = 0; b < p->n_blocks; b++)
		a->first[b + 1] = a->first[b + 1] > a->first[b] ? a->first[b + 1] : a->first[b];
	return 0;
}

static void count_stacks(struct rare *a, const struct path *s, const struct scope_stacks *r)
{
	for (size_t i = 0; i < r->stacks.n; i++) {
		const struct stack *st = &r->stacks.v[i];

		for (uint32_t k = 0; k < st->n_pieces; k++) {
			const struct piece *p = &s->all.v[r->pieces.v[st->piece0 + k]];

			for (uint32_t j = 0; j < p->n_edges; j++) {
				uint32_t e = s->pool.v[p->edge0 + j];

				a->stacks[e] += a->latest[e] != i + 1;
				a->latest[e] = (uint32_t)i + 1;
			}
		}
	}
}

static uint32_t n_taken(const struct problem_edge *e)
{
	return e->kind != FLOW_FALL && e->kind != FLOW_SKIP;
}

/* Taken branches of the shortest way round that goes by an edge; 0: there is none. */
static uint32_t shortest_turn(struct rare *a, const struct problem_edge *by)
{
	size_t head = a->p->n_edges, tail = head;

	memset(a->dist, 0xff, a->p->n_blocks * sizeof(*a->dist));
	a->dist[by->to] = n_taken(by);
	a->queue[tail++] = by->to;
	while (head < tail) {
		uint32_t b = a->queue[head++];

		if (b == by->from)
			return a->dist[b];
		for (uint32_t k = a->first[b]; k < a->first[b + 1]; k++) {
			const struct problem_edge *e = &a->p->edges[k];
			uint32_t d = a->dist[b] + n_taken(e);

			/* Once a block's turn has come its distance stays, so each edge queues once at most. */
			if (!a->carries[k] || d >= a->dist[e->to])
				continue;
			a->dist[e->to] = d;
			if (n_taken(e))
				a->queue[tail++] = e->to;
			else
				a->queue[--head] = e->to;
		}
	}
	return 0;
}

int path_rare(const struct path *s, const struct scope_stacks *r, const struct problem *p,
              const struct space *space, double *most)
{
	struct rare a;
	double n_pieces = 0;
	int err = init(&a, p, space);

	if (err == 0)
		count_stacks(&a, s, r);
	for (size_t i = 0; i < r->stacks.n; i++)
		n_pieces += (double)r->stacks.v[i].n_pieces / (double)r->stacks.n;
	for (size_t e = 0; err == 0 && e < p->n_edges; e++) {
		uint32_t turn = a.carries[e] && a.stacks[e] < SEEN ? shortest_turn(&a, &p->edges[e]) : 0;

		most[e] = turn ? fmax(n_pieces / turn, 1) : 0;
	}
	fini(&a);
	return err;
}
