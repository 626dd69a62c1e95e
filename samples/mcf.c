/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Pricing of a network simplex method: which arc enters the basis next?
 *
 * primal_bea_mpp() steps through one group of arcs with a large stride, loads
 * both end nodes of each (cache misses), and asks bea_is_dual_infeasible(), a
 * few compares that the compiler puts in place, whether the arc is worth
 * keeping.  The compares retire in the shadow of the loads: a sampling
 * profiler hardly sees them.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { ARC_BASIC = 0, ARC_AT_LOWER = 1, ARC_AT_UPPER = 2 };
enum { N_NODES = 12000, N_ARCS = 60000, N_GROUPS = 29, N_KEPT = 40 };

struct node {
	long potential;
	struct node *pred;
	long flow;
	long depth;
	long pad[4];
};

struct arc {
	long cost;
	struct node *tail, *head;
	int ident;
	int group;
	long flow, upper;
	long pad[2];
};

struct candidate {
	struct arc *arc;
	long cost, abs_cost;
};

static struct node nodes[N_NODES];
static struct arc arcs[N_ARCS];
static struct candidate basket[N_ARCS / N_GROUPS + 2];
static uint64_t lcg_state = 20000701;

static uint32_t lcg_next(void)
{
	lcg_state = lcg_state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(lcg_state >> 33);
}

static uint32_t lcg_below(uint32_t n)
{
	return (uint32_t)(((uint64_t)lcg_next() * n) >> 31);
}

static inline int bea_is_dual_infeasible(const struct arc *arc, long red_cost)
{
	return (red_cost < 0 && arc->ident == ARC_AT_LOWER) || (red_cost > 0 && arc->ident == ARC_AT_UPPER);
}

/* The hot loop: the arcs of one group that would improve the flow go to the basket. */
__attribute__((noinline)) static long primal_bea_mpp(long group)
{
	long n = 0;

	for (struct arc *arc = arcs + group; arc < arcs + N_ARCS; arc += N_GROUPS) {
		if (arc->ident > ARC_BASIC) {
			long red_cost = arc->cost - arc->tail->potential + arc->head->potential;

			if (bea_is_dual_infeasible(arc, red_cost)) {
				n++;
				basket[n].arc = arc;
				basket[n].cost = red_cost;
				basket[n].abs_cost = labs(red_cost);
			}
		}
	}
	return n;
}

/* The arc with the largest gain enters; the tree above its tail gets new potentials. */
static void enter_best(long n)
{
	struct candidate *best = &basket[1];
	struct node *p;
	long step;

	for (long i = 2; i <= n && i <= N_KEPT; i++)
		if (basket[i].abs_cost > best->abs_cost)
			best = &basket[i];
	step = best->cost / 2;
	best->arc->ident = best->arc->ident == ARC_AT_LOWER ? ARC_AT_UPPER : ARC_AT_LOWER;
	best->arc->flow++;
	p = best->arc->tail;
	for (int up = 0; up < 12 && p; up++, p = p->pred) {
		p->potential += step;
		p->flow++;
	}
}

static void build_network(void)
{
	for (long i = 0; i < N_NODES; i++) {
		nodes[i].pred = i ? &nodes[lcg_below((uint32_t)i)] : NULL;
		nodes[i].potential = (long)lcg_below(20000) - 10000;
	}
	for (long i = 0; i < N_ARCS; i++) {
		uint32_t kind = lcg_below(10);

		arcs[i].tail = &nodes[lcg_below(N_NODES)];
		arcs[i].head = &nodes[lcg_below(N_NODES)];
		arcs[i].cost = (long)lcg_below(12000) - 3000;
		arcs[i].ident = kind < 2 ? ARC_BASIC : kind < 8 ? ARC_AT_LOWER : ARC_AT_UPPER;
		arcs[i].group = (int)(i % N_GROUPS);
	}
}

int main(int argc, char **argv)
{
	long rounds = argc > 1 ? atol(argv[1]) : 6300, found = 0, sum = 0;

	build_network();
	for (long r = 0; r < rounds; r++) {
		long n = primal_bea_mpp(r % N_GROUPS);

		found += n;
		if (n > 0)
			enter_best(n);
	}
	for (long i = 0; i < N_NODES; i++)
		sum = (sum * 31 + nodes[i].potential) & 0xffffffffffff;
	printf("mcf: %ld candidates, checksum %012lx\n", found, sum);
	return 0;
}
