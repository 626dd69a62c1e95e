/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Random code with calls, returns and recursion: what is left of regions is what plain rounds over all of it leave. */
#include "tests/unit/flow_graphs.h"

#include "correct/flow/shape.h"

enum { FUNCS = 5, PER_FUNC = 5, BLOCKS = FUNCS * PER_FUNC, MOST_EDGES = 200, ROUNDS = 4000 };

static uint32_t state_of_numbers = 7;

static uint32_t number_below(uint32_t end)
{
	state_of_numbers = state_of_numbers * 1664525 + 1013904223;
	return (uint32_t)((uint64_t)state_of_numbers * end >> 32);
}

/* Each function: blocks that fall and jump about, some of them calls of any function, the last one returns. */
static struct flow_graph *random_code(void)
{
	uint32_t entry[FUNCS];
	struct flow_edge e[MOST_EDGES];
	size_t n = 0;

	for (uint32_t f = 0; f < FUNCS; f++)
		entry[f] = f * PER_FUNC;
	for (uint32_t b = 0; b < BLOCKS; b++) {
		uint32_t f = b / PER_FUNC, first = entry[f], last = first + PER_FUNC - 1;

		if (b == last)
			continue;
		if (number_below(3)) {
			e[n++] = (struct flow_edge){ .from = b, .to = b + 1, .kind = FLOW_FALL };
			e[n++] = (struct flow_edge){ .from = b,
				                     .to = first + number_below(PER_FUNC),
				                     .kind = FLOW_TAKEN,
				                     .away = !number_below(20) };
			continue;
		}
		e[n++] = (struct flow_edge){ .from = b, .to = b + 1, .kind = FLOW_SKIP, .call = b };
		for (uint32_t k = 1 + number_below(2); k; k--) {
			uint32_t callee = number_below(FUNCS);

			e[n++] = (struct flow_edge){
				.from = b, .to = entry[callee], .kind = FLOW_CALL, .call = b
			};
			if (number_below(6))
				e[n++] = (struct flow_edge){ .from = entry[callee] + PER_FUNC - 1,
					                     .to = b + 1,
					                     .kind = FLOW_RET,
					                     .call = b };
		}
	}
	return graph_by_hand(BLOCKS, entry, FUNCS, e, n);
}

/* The part that a shape begins with, and what is left of it. */
struct part {
	const struct flow_graph *g;
	bool block[BLOCKS], edge[MOST_EDGES];
	uint32_t header;
	bool recursive;
};

static bool lacks_callee(const struct part *p, uint32_t call)
{
	bool any = false;

	for (size_t e = 0; e < p->g->n_edges; e++) {
		if (p->g->edges[e].kind != FLOW_CALL || p->g->edges[e].from != call)
			continue;
		if (!p->edge[e])
			return true;
		any = true;
	}
	return !any;
}

static bool is_inside(const struct part *p, const struct flow_edge *e)
{
	return p->block[e->from] && p->block[e->to];
}

static bool match_calls(struct part *p)
{
	unsigned has[BLOCKS] = { 0 };
	bool away = false, changed = false;

	for (size_t e = 0; e < p->g->n_edges; e++) {
		const struct flow_edge *at = &p->g->edges[e];

		if (p->edge[e] && (at->kind == FLOW_CALL || at->kind == FLOW_RET))
			has[at->call] |= at->kind == FLOW_CALL ? 1 : 2;
		away |= p->edge[e] && at->away;
	}
	for (size_t e = 0; e < p->g->n_edges; e++) {
		const struct flow_edge *at = &p->g->edges[e];

		if (p->edge[e] && (at->kind == FLOW_CALL || at->kind == FLOW_RET) && has[at->call] != 3 &&
		    !(away && has[at->call] == 1)) {
			p->edge[e] = false;
			changed = true;
		}
	}
	return changed;
}

/* reach[a][b]: from a one comes to b, by an edge at least. */
static void close_reach(const struct part *p, bool reach[BLOCKS][BLOCKS])
{
	memset(reach, 0, sizeof(bool[BLOCKS][BLOCKS]));
	for (size_t e = 0; e < p->g->n_edges; e++)
		if (p->edge[e] && is_inside(p, &p->g->edges[e]))
			reach[p->g->edges[e].from][p->g->edges[e].to] = true;
	for (int k = 0; k < BLOCKS; k++)
		for (int a = 0; a < BLOCKS; a++)
			for (int b = 0; reach[a][k] && b < BLOCKS; b++)
				reach[a][b] |= reach[k][b];
}

static bool peel_plainly(struct part *p)
{
	static bool reach[BLOCKS][BLOCKS];
	bool changed;

	for (size_t e = 0; e < p->g->n_edges; e++)
		if (p->g->edges[e].kind == FLOW_SKIP)
			p->edge[e] = is_inside(p, &p->g->edges[e]) && lacks_callee(p, p->g->edges[e].from);
	changed = match_calls(p);
	close_reach(p, reach);
	for (size_t e = 0; e < p->g->n_edges; e++) {
		const struct flow_edge *at = &p->g->edges[e];
		bool keep = p->edge[e] && is_inside(p, at) &&
		            (at->from == at->to || reach[at->to][at->from]) &&
		            (p->recursive || at->from == p->header || reach[p->header][at->from]) &&
		            (p->recursive || at->from == p->header || reach[at->from][p->header]);

		changed |= p->edge[e] && !keep && at->kind != FLOW_SKIP;
		p->edge[e] = keep;
	}
	for (uint32_t b = 0; b < BLOCKS; b++) {
		bool keep = p->block[b] &&
		            (b == p->header ||
		             (p->recursive ? reach[b][b] : reach[b][p->header] && reach[p->header][b]));

		changed |= p->block[b] && !keep;
		p->block[b] = keep;
	}
	return changed;
}

/* A block without an edge is none of a region. */
static void drop_lonely(struct part *p)
{
	for (uint32_t b = 0; b < BLOCKS; b++) {
		bool any = false;

		for (size_t e = 0; e < p->g->n_edges; e++)
			any |= p->edge[e] && p->g->edges[e].from == b;
		p->block[b] &= any;
	}
}

/* Returns how many rounds it took. */
static int check_one(const struct flow_graph *g, struct shape_room *room, bool recursive)
{
	uint8_t block[BLOCKS + 1], edge[MOST_EDGES], closed[BLOCKS + 1] = { 0 };
	double heat[BLOCKS] = { 0 };
	struct nest_view view = view_of_all(g, block, edge, closed);
	struct nest nest;
	struct part p = { .g = g, .header = number_below(BLOCKS), .recursive = recursive };
	struct shape shape = { .view = &view, .nest = &nest, .heat = heat, .room = room };
	struct flow_region r = { 0 };
	int n_rounds = 1;

	memset(block, 1, sizeof(block));
	memset(edge, 1, sizeof(edge));
	nest_find(&view, &nest);
	for (uint32_t b = 0; b < BLOCKS; b++)
		if (b == p.header || number_below(12)) {
			shape_add_block(&shape, b);
			p.block[b] = true;
		}
	assert_int_equal(vec_push(&shape.headers, p.header), 0);
	shape.recursive = recursive;
	for (size_t e = 0; e < g->n_edges; e++)
		p.edge[e] = is_inside(&p, &g->edges[e]) &&
		            (g->edges[e].kind != FLOW_RET || p.block[g->edges[e].call]);
	shape_finish(&shape, &r);
	while (peel_plainly(&p))
		n_rounds++;
	drop_lonely(&p);
	for (size_t e = 0, k = 0; e < g->n_edges; e++) {
		bool has = k < r.n_edges && r.edges[k] == e;

		assert_true(has == p.edge[e]);
		k += has;
	}
	for (uint32_t b = 0, k = 0; b < BLOCKS; b++) {
		bool has = k < r.n_blocks && r.blocks[k] == b;

		assert_true(has == p.block[b]);
		k += has;
	}
	flow_region_fini(&r);
	shape_fini(&shape);
	nest_fini(&nest);
	view_of_all_free(&view);
	return n_rounds;
}

static void what_is_left_is_what_plain_rounds_leave(void **state)
{
	int longest = 0;

	(void)state;
	for (int round = 0; round < ROUNDS; round++) {
		struct flow_graph *g = random_code();
		struct shape_room room;

		shape_room_init(&room, g);
		for (int k = 0; k < 4; k++) {
			int n = check_one(g, &room, k % 2);

			longest = n > longest ? n : longest;
		}
		shape_room_fini(&room);
		flow_free(g);
	}
	/* There are some that take many. */
	assert_true(longest >= 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_left_is_what_plain_rounds_leave),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
