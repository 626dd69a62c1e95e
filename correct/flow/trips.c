/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Counted loops.  What a register holds at a place is followed back through the blocks that every way there leads through, as a
 * constant or as some unknown plus a constant; two that have the same unknown differ by a constant. That the last visits of those
 * blocks belong together follows from dominance: no way leads back to the one that is farther without passing the nearer again.
 */
#include "correct/flow/trips.h"

#include <stdlib.h>
#include <string.h>

#include "correct/flow/dominators.h"
#include "correct/model/effort.h"
#include "profiler/base/err.h"
#include "profiler/base/mem.h"
#include "profiler/base/order.h"
#include "profiler/base/vec.h"
#include "profiler/binary/insn_step.h"

enum { MAX_COUNT = 1 << 20 }; /* of a loop that is counted at all */

/* Where an unknown is from: an instruction whose result is not known, or a block's beginning. */
enum { KNOWN, AT_INSN, AT_BLOCK };

struct value {
	uint8_t origin;
	uint8_t reg;
	uint32_t at;
	uint64_t add;
	bool narrow; /* with an unknown: the upper half is zero, and the sum made in the lower */
};

struct reading {
	const struct flow_graph *g;
	struct local_flow flow;
	struct insn_step *steps; /* of all instructions of its blocks */
	uint32_t *step0;         /* [flow.n] */
	uint32_t *writes;        /* [flow.n] registers that a block may change */
	uint32_t *between;       /* [flow.n] the same on the ways from the dominator of a block to it ... */
	uint8_t *between_known;  /* [flow.n] ... once looked for */
	uint32_t *stack;
	uint8_t *seen;
};

static uint32_t n_insn_of(const struct reading *r, uint32_t b)
{
	return r->g->blocks[r->flow.block[b]].n_insn;
}

/* ---- what registers hold ---- */

static struct value unknown(uint8_t origin, uint32_t at, uint8_t reg)
{
	return (struct value){ .origin = origin, .at = at, .reg = reg };
}

/* Registers that may change between the last visit of the block's dominator and its beginning. */
static uint32_t changed_between(struct reading *r, uint32_t b)
{
	const struct local_flow *l = &r->flow;
	uint32_t n = 0, mask = 0;

	if (r->between_known[b])
		return r->between[b];
	memset(r->seen, 0, l->n);
	r->stack[n++] = b;
	while (n) {
		uint32_t at = r->stack[--n];

		for (uint32_t k = l->in0[at]; k < l->in0[at + 1]; k++) {
			uint32_t from = l->edges[k].from;

			if (from == l->idom[b] || r->seen[from])
				continue;
			r->seen[from] = 1;
			mask |= r->writes[from];
			r->stack[n++] = from;
		}
	}
	r->between[b] = mask;
	r->between_known[b] = 1;
	return mask;
}

static struct value add_to(struct value v, const struct insn_step *s, struct value opaque)
{
	if (v.origin == KNOWN)
		v.add = s->bytes == 4 ? (uint32_t)(v.add + s->imm) : v.add + s->imm;
	else if (s->bytes == 8 && v.narrow && s->imm)
		return opaque;
	else
		v.add += s->imm;
	v.narrow |= s->bytes == 4 && v.origin != KNOWN;
	return v;
}

/* What reg holds before instruction k of a block; k = its number of instructions: at its end. */
static struct value value_before(struct reading *r, uint32_t b, uint32_t k, uint8_t reg, unsigned depth)
{
	const uint32_t bit = 1u << reg, *idom = r->flow.idom;

	while (true) {
		const struct insn_step *s = r->steps + r->step0[b];
		struct value opaque, v;

		while (k > 0 && !(s[k - 1].writes & bit))
			k--;
		if (k == 0) {
			if (idom[b] == LOCAL_NONE || changed_between(r, b) & bit)
				return unknown(AT_BLOCK, b, reg);
			b = idom[b];
			k = n_insn_of(r, b);
			continue;
		}
		s += k - 1;
		opaque = unknown(AT_INSN, r->step0[b] + k - 1, reg);
		if (s->op == STEP_OTHER || s->dst != reg || depth == EFFORT_COPIES)
			return opaque;
		if (s->op == STEP_SET)
			return (struct value){ .add = s->imm };
		v = value_before(r, b, k - 1, s->src, depth + 1);
		if (s->op == STEP_ADD)
			return add_to(v, s, opaque);
		if (v.origin != KNOWN)
			return opaque;
		v.add = (v.add & ~((uint64_t)0xffff << s->shift)) | s->imm << s->shift;
		return v;
	}
}

/* ---- how a loop is counted ---- */

struct counter {
	uint32_t test_block, test_insn; /* where it is compared */
	uint32_t step_block, step_insn; /* where it moves on */
	const struct insn_step *test, *step;
	uint8_t reg;   /* that moves */
	uint8_t limit; /* the other; STEP_NO_REG: test->right_imm */
	uint8_t condition;
	bool left;     /* it is the comparison's left side */
	bool stays;    /* the loop goes on where the branch is taken */
	bool stepped;  /* it has moved before the comparison of its iteration */
	uint32_t exit; /* graph edge */
};

/* Runs once in every iteration: on all ways round, and in no loop inside. */
static bool each_iteration(const struct reading *r, const struct local_loop *loop, uint32_t b)
{
	const struct local_flow *l = &r->flow;

	for (uint32_t k = l->in0[loop->header]; k < l->in0[loop->header + 1]; k++)
		if (loop->in[l->edges[k].from] && !local_flow_dominates(l, b, l->edges[k].from))
			return false;
	return local_flow_innermost(l, b) == loop;
}

/* The one instruction of the loop that changes reg, if it adds a constant to it. */
static bool find_step(const struct reading *r, const struct local_loop *loop, struct counter *c)
{
	c->step = NULL;
	for (uint32_t b = 0; b < r->flow.n; b++) {
		if (!loop->in[b] || !(r->writes[b] >> c->reg & 1))
			continue;
		for (uint32_t k = 0; k < n_insn_of(r, b); k++) {
			const struct insn_step *s = &r->steps[r->step0[b] + k];

			if (!(s->writes >> c->reg & 1))
				continue;
			if (c->step || s->op != STEP_ADD || s->dst != c->reg || s->src != c->reg || !s->imm)
				return false;
			c->step = s;
			c->step_block = b;
			c->step_insn = k;
		}
	}
	return c->step && each_iteration(r, loop, c->step_block);
}

static bool changes_in(const struct reading *r, const struct local_loop *loop, uint8_t reg)
{
	for (uint32_t b = 0; b < r->flow.n; b++)
		if (loop->in[b] && r->writes[b] >> reg & 1)
			return true;
	return false;
}

/* The comparison that the branch at a block's end asks, in the same block. */
static bool find_test(const struct reading *r, struct counter *c)
{
	const struct insn_step *s = r->steps + r->step0[c->test_block];

	for (uint32_t k = n_insn_of(r, c->test_block); k-- > 0;) {
		if (s[k].flags == STEP_FLAGS_KEPT)
			continue;
		c->test = &s[k];
		c->test_insn = k;
		return s[k].flags == STEP_FLAGS_COMPARED ||
		       (s[k].flags == STEP_FLAGS_SUMMED &&
		        (c->condition < STEP_BELOW || c->condition > STEP_ABOVE));
	}
	return false;
}

/* Does the comparison hold a register that moves against something that does not? */
static bool find_sides(const struct reading *r, const struct local_loop *loop, struct counter *c)
{
	uint8_t sides[] = { c->test->left, c->test->right };

	for (int i = 0; i < 2; i++) {
		c->reg = sides[i];
		c->limit = sides[1 - i];
		c->left = i == 0;
		if (c->reg == STEP_NO_REG || !find_step(r, loop, c))
			continue;
		if (c->limit != STEP_NO_REG && changes_in(r, loop, c->limit))
			continue;
		c->stepped = c->step_block == c->test_block
		                     ? c->step_insn < c->test_insn
		                     : local_flow_dominates(&r->flow, c->step_block, c->test_block);
		return true;
	}
	return false;
}

/* Is the loop left at the end of a block by a comparison that counts it? */
static bool find_counter(const struct reading *r, const struct local_loop *loop, uint32_t b,
                         struct counter *c)
{
	const struct flow_block *block = &r->g->blocks[r->flow.block[b]];
	const struct flow_edge *edge[2];
	bool in[2];

	*c = (struct counter){ .test_block = b };
	if (block->n_out != 2 || !block->n_insn)
		return false;
	c->condition = r->steps[r->step0[b] + block->n_insn - 1].condition;
	for (uint32_t k = 0; k < 2; k++) {
		edge[k] = &r->g->edges[block->out0 + k];
		if (edge[k]->kind != FLOW_TAKEN && edge[k]->kind != FLOW_FALL)
			return false;
		in[k] = false;
		for (uint32_t e = 0; e < r->flow.n_edges && !in[k]; e++)
			in[k] = r->flow.edges[e].edge == block->out0 + k && loop->in[r->flow.edges[e].to];
	}
	if (c->condition == STEP_NEVER_KNOWN || in[0] == in[1] || edge[0]->kind == edge[1]->kind)
		return false;
	c->stays = edge[in[0] ? 0 : 1]->kind == FLOW_TAKEN;
	c->exit = block->out0 + (in[0] ? 1 : 0);
	return each_iteration(r, loop, b) && find_test(r, c) && find_sides(r, loop, c);
}

/* Iterations from a beginning to a limit that is as far from it as `limit` says; 0: not known, or too many. */
static uint32_t count_iterations(const struct counter *c, uint64_t at, uint64_t limit)
{
	for (uint32_t k = 1; k <= MAX_COUNT; k++) {
		int taken;

		if (c->stepped)
			at = c->step->bytes == 4 ? (uint32_t)(at + c->step->imm) : at + c->step->imm;
		taken = insn_step_taken(c->condition, c->left ? at : limit, c->left ? limit : at,
		                        c->test->compare_bytes);
		if (taken < 0)
			return 0;
		if (taken != c->stays)
			return k;
		if (!c->stepped)
			at = c->step->bytes == 4 ? (uint32_t)(at + c->step->imm) : at + c->step->imm;
	}
	return 0;
}

static uint32_t count_from(struct reading *r, const struct counter *c, uint32_t from)
{
	uint32_t k = n_insn_of(r, from);
	struct value begin = value_before(r, from, k, c->reg, 0), end = { .add = c->test->right_imm };
	unsigned bytes = c->test->compare_bytes;

	if (c->limit != STEP_NO_REG)
		end = value_before(r, from, k, c->limit, 0);
	if (begin.origin != end.origin || begin.at != end.at || begin.reg != end.reg)
		return 0;
	if (begin.origin != KNOWN) {
		/* Wherever it is, no compiler lets it pass the end of what its kind can hold. */
		uint64_t middle = 1ull << (8 * bytes - 2);

		if (bytes < 4 || (bytes == 8 && (begin.narrow || end.narrow || c->step->bytes == 4)))
			return 0;
		begin.add += middle;
		end.add += middle;
	}
	return count_iterations(c, begin.add, end.add);
}

/* ---- loops of a function ---- */

static void add_trip(struct reading *r, const struct local_loop *loop, const struct counter *c,
                     struct flow_trips *out)
{
	const struct local_flow *l = &r->flow;
	uint32_t n_in = l->in0[loop->header + 1] - l->in0[loop->header];
	struct flow_trip t = { .header = l->block[loop->header],
		               .exit = c->exit,
		               .body = mem_calloc(loop->n_in, sizeof(*t.body)),
		               .entries = mem_calloc(n_in, sizeof(*t.entries)) };

	for (uint32_t b = 0; b < l->n; b++)
		if (loop->in[b])
			t.body[t.n_body++] = l->block[b];
	qsort(t.body, t.n_body, sizeof(*t.body), order_u32);
	for (uint32_t k = l->in0[loop->header]; k < l->in0[loop->header + 1]; k++) {
		uint32_t from = l->edges[k].from, count = loop->in[from] ? 0 : count_from(r, c, from);

		if (count)
			t.entries[t.n_entries++] = (struct flow_trip_entry){ l->block[from], count };
	}
	if (t.n_entries) {
		vec_add(out, t);
	} else {
		free(t.body);
		free(t.entries);
	}
}

static void read_loops(struct reading *r, struct flow_trips *out)
{
	for (uint32_t i = 0; i < r->flow.n_loops; i++) {
		const struct local_loop *loop = &r->flow.loops[i];
		struct counter c;
		bool known = true;
		size_t n = out->n;

		for (uint32_t b = 0; b < r->flow.n; b++)
			known &= !loop->in[b] || !r->g->blocks[r->flow.block[b]].unknown_target;
		/* A loop may be counted against several ends, of which one is known: the first that tells a trip count. */
		for (uint32_t b = 0; known && out->n == n && b < r->flow.n; b++)
			if (loop->in[b] && find_counter(r, loop, b, &c))
				add_trip(r, loop, &c, out);
	}
}

static void decode(struct reading *r, struct insn_decoder *d, const struct module *m)
{
	for (uint32_t b = 0; b < r->flow.n; b++) {
		const struct flow_block *block = &r->g->blocks[r->flow.block[b]];

		for (uint32_t k = 0; k < block->n_insn; k++) {
			const struct insn *insn = &r->g->insns[block->insn0 + k];
			struct insn_step *s = &r->steps[r->step0[b] + k];
			size_t n_bytes;
			const uint8_t *code = module_code(m, insn->vaddr, &n_bytes);

			*s = (struct insn_step){ .writes = UINT32_MAX, .flags = STEP_FLAGS_OTHER };
			if (code)
				insn_step(d, code, n_bytes, insn, s);
			r->writes[b] |= s->writes;
		}
	}
}

static int read_function(const struct flow_graph *g, uint32_t f, struct insn_decoder *d,
                         const struct module *m, struct flow_trips *out)
{
	struct reading r = { .g = g };
	uint32_t n_insn = 0;
	int err = local_flow_new(g, f, &r.flow);

	if (err < 0 || !r.flow.n_loops) {
		local_flow_fini(&r.flow);
		return err == -SP_EDOMAIN ? 0 : err;
	}
	r.step0 = mem_calloc(5 * (size_t)r.flow.n + 1, sizeof(*r.step0));
	r.between_known = mem_calloc(2 * (size_t)r.flow.n + 1, 1);
	for (uint32_t b = 0; b < r.flow.n; b++) {
		r.step0[b] = n_insn;
		n_insn += n_insn_of(&r, b);
	}
	r.steps = mem_calloc(n_insn + 1, sizeof(*r.steps));
	r.writes = r.step0 + r.flow.n;
	r.between = r.writes + r.flow.n;
	r.stack = r.between + r.flow.n;
	r.seen = r.between_known + r.flow.n;
	decode(&r, d, m);
	read_loops(&r, out);
	free(r.step0);
	free(r.between_known);
	free(r.steps);
	local_flow_fini(&r.flow);
	return err;
}

static bool is_wanted(const struct flow_graph *g, const struct flow_func *fn, const uint8_t *wanted)
{
	for (uint32_t i = 0; i < fn->n_blocks; i++)
		if (wanted[g->func_blocks[fn->block0 + i]])
			return true;
	return false;
}

int flow_trips_find(const struct flow_graph *g, struct module *const *modules, const uint8_t *wanted,
                    struct flow_trips *out)
{
	struct insn_decoder *decoders[ISA_AARCH64 + 1] = { 0 };
	int err = 0;

	*out = (struct flow_trips){ 0 };
	for (uint32_t f = 0; f < g->n_funcs && err == 0; f++) {
		const struct module *m = modules[g->funcs[f].module];
		enum insn_isa isa = module_isa(m);

		if (!is_wanted(g, &g->funcs[f], wanted))
			continue;
		if (!decoders[isa])
			err = insn_decoder_new(isa, &decoders[isa]);
		if (err == 0)
			err = read_function(g, f, decoders[isa], m, out);
	}
	for (size_t i = 0; i < sizeof(decoders) / sizeof(*decoders); i++)
		insn_decoder_free(decoders[i]);
	if (err < 0)
		flow_trips_fini(out);
	return err;
}

void flow_trips_fini(struct flow_trips *t)
{
	for (size_t i = 0; i < t->n; i++) {
		free(t->v[i].body);
		free(t->v[i].entries);
	}
	free(t->v);
	*t = (struct flow_trips){ 0 };
}

uint32_t flow_trip_count(const struct flow_trip *t, uint32_t from)
{
	for (size_t i = 0; i < t->n_entries; i++)
		if (t->entries[i].from == from)
			return t->entries[i].count;
	return 0;
}

bool flow_trip_holds(const struct flow_trip *t, uint32_t block)
{
	return bsearch(&block, t->body, t->n_body, sizeof(block), order_u32) != NULL;
}
