/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "correct/evidence/path_impl.h"

enum {
	MAX_STACKS = 200000, /* kept a scope; past it every second one is dropped, again and again */
	CACHE_SIZE = 1 << 16,
	MIN_HALVED = 8, /* branches of a burst of which half can be spared */
	LEAD_IN = 20,   /* and no more than this are */
};

/* Addresses are looked up once: (pid, start, end, target) -> piece. */
struct cached {
	uint32_t pid;
	int32_t scope;
	uint64_t start_ip, from_ip, to_ip;
	uint32_t piece; /* index + 1, 0 = empty */
};

static void end(void *state)
{
	struct path *s = state;

	for (size_t r = 0; s->scopes && r < s->in.n; r++) {
		vec_fini(&s->scopes[r].stacks);
		vec_fini(&s->scopes[r].pieces);
		vec_fini(&s->scopes[r].cycles);
	}
	free(s->scopes);
	vec_fini(&s->all);
	vec_fini(&s->pool);
	paces_fini(&s->paces);
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

/* The scope's own number of the edge between two blocks, UINT32_MAX if there is none inside it. */
static uint32_t edge_between(const struct path *s, int32_t scope, long from, long to, bool taken)
{
	const struct flow_graph *g = s->in.graph;
	const struct flow_block *b = &g->blocks[from];

	for (uint32_t i = 0; i < b->n_out; i++) {
		const struct flow_edge *e = &g->edges[b->out0 + i];

		if (e->to == (uint32_t)to && (e->kind == FLOW_FALL || e->kind == FLOW_SKIP) == !taken)
			return (uint32_t)problem_edge_at(s->in.problems[scope], b->out0 + i);
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

bool path_passes_over(struct scope_stacks *r, bool burst)
{
	return (!burst || r->thin_bursts) && r->n_seen++ % r->stride;
}

void path_thin(struct scope_stacks *r)
{
	size_t kept = 0, n_bursts = 0;

	for (size_t i = 0; i < r->stacks.n; i++)
		n_bursts += r->stacks.v[i].burst;
	r->thin_bursts |= n_bursts > r->stacks.n / 2;
	for (size_t i = 0; i < r->stacks.n; i++)
		if (i % 2 == 0 || (r->stacks.v[i].burst && !r->thin_bursts))
			r->stacks.v[kept++] = r->stacks.v[i];
	r->stacks.n = kept;
	r->stride *= 2;
}

/*
 * What made a burst's moment slow, a miss or a wrong prediction, may also say
 * which way comes next.  It is forgotten some branches on: the first ones of a
 * burst only lead there.
 */
static size_t lead_in(const struct pd_sample *smp, bool burst)
{
	size_t half = smp->n_branches / 2;

	if (!burst || smp->n_branches < MIN_HALVED)
		return 0;
	return half < LEAD_IN ? half : LEAD_IN;
}

size_t path_n_pieces(const struct pd_sample *smp, bool burst)
{
	return smp->n_branches - 1 - lead_in(smp, burst);
}

size_t path_newer(const struct pd_sample *smp, bool burst, size_t i)
{
	return burst ? path_n_pieces(smp, true) - 1 - i : i;
}

static long piece_from_moment(struct path *s, const struct sample_seen *seen, bool burst, size_t i)
{
	const struct pd_branch *newer =
	        &seen->record->sample.branches[path_newer(&seen->record->sample, burst, i)];

	return piece_of(s, seen->scope, seen->record->pid, newer + 1, newer);
}

/* The edge of a burst's first branch past its lead-in, UINT32_MAX if it is none of the scope's. */
static uint32_t first_edge(const struct path *s, const struct sample_seen *seen)
{
	const struct pd_sample *smp = &seen->record->sample;
	const struct pd_branch *first = &smp->branches[path_newer(smp, true, 0) + 1];
	struct place from = recording_place(s->in.rec, seen->record->pid, first->from_ip),
	             to = recording_place(s->in.rec, seen->record->pid, first->to_ip);
	long b = from.module < 0 ? -1 : flow_block_at(s->in.graph, (uint32_t)from.module, from.vaddr),
	     next = to.module < 0 ? -1 : flow_block_at(s->in.graph, (uint32_t)to.module, to.vaddr);

	return b < 0 || next < 0 ? UINT32_MAX : edge_between(s, seen->scope, b, next, true);
}

static int sample(void *state, const struct sample_seen *seen)
{
	struct path *s = state;
	const struct pd_sample *smp = &seen->record->sample;
	double weight = recording_weight(s->in.rec, seen->record);
	bool burst = seen->record->event == s->in.rec->burst_event,
	     of_cycles = seen->record->event == s->in.rec->cyc_event;
	struct scope_stacks *r;
	struct stack stack;
	uint32_t span = 0;

	/* A file without any needs no paces: there may be millions of samples. */
	s->has_stacks |= smp->n_branches >= 2 || s->in.rec->burst_event >= 0;
	if (s->has_stacks && paces_sample(&s->paces, s->in.rec, seen, &span) < 0)
		return -SP_ENOMEM;
	if (smp->n_branches < 2 || seen->scope < 0)
		return 0;
	if (s->maps_changes != s->in.rec->maps_changes) {
		memset(s->cache, 0, CACHE_SIZE * sizeof(*s->cache));
		s->maps_changes = s->in.rec->maps_changes;
	}
	r = &s->scopes[seen->scope];
	if (path_passes_over(r, burst))
		return 0;
	/* Bursts are taken at moments, each as good as another: where nothing was counted, so are they. */
	stack = (struct stack){ .piece0 = (uint32_t)r->pieces.n,
		                .span = of_cycles || (burst && !s->in.rec->relative) ? span : 0,
		                .insn = burst ? 1 : weight,
		                .cyc = of_cycles && !s->in.rec->cyc_is_other ? weight : 0,
		                .burst = burst };
	for (size_t i = 0; i < path_n_pieces(smp, burst); i++) {
		long piece = piece_from_moment(s, seen, burst, i);

		if (piece < 0)
			return (int)piece;
		r->n_pieces++;
		if (s->all.v[piece].scope < 0) {
			/* What lies before a break is another path's, or a fault of the hardware. */
			r->n_broken++;
			stack.broken = true;
			break;
		}
		if (vec_push(&r->pieces, (uint32_t)piece) < 0 ||
		    vec_push(&r->cycles, burst ? 0 : smp->branches[i].cycles) < 0)
			return -SP_ENOMEM;
		stack.n_pieces++;
		s->in.problems[seen->scope]->stacked_insn += s->all.v[piece].n_insn;
	}
	if (!stack.n_pieces)
		return 0;
	stack.near = burst ? first_edge(s, seen) : closing_edge(s, r->pieces.v[stack.piece0]);
	stack.away = !burst;
	if (stack.near == UINT32_MAX)
		return 0;
	if (r->stacks.n >= MAX_STACKS)
		path_thin(r);
	return vec_push(&r->stacks, stack);
}

static int finish(void *state)
{
	struct path *s = state;

	for (size_t r = 0; r < s->in.n; r++)
		paces_apply(&s->paces, &s->scopes[r]);
	return 0;
}

const struct evidence_ops evidence_path = {
	.name = "path",
	.begin = begin,
	.sample = sample,
	.finish = finish,
	.equations = path_equations,
	.end = end,
};
