/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "correct/evidence/path_impl.h"
#include "correct/model/effort.h"
#include "correct/model/model.h"
#include "correct/recording/events.h"
#include "profiler/base/mem.h"

enum { UNTRUE_PIECES = 1 }; /* of a record, the newest, in which a branch may be missing */

/* (pid, scope, start, end, target) -> piece */
struct cached {
	uint32_t pid;
	int32_t scope;
	uint64_t ip[3];
	uint32_t piece; /* index + 1, 0 = empty */
	bool over;
};

void path_init(struct path *s)
{
	s->cache = mem_calloc(EFFORT_PIECES, sizeof(*s->cache));
}

void path_fini(struct path *s)
{
	vec_fini(&s->all);
	vec_fini(&s->pool);
	paces_fini(&s->paces);
	free(s->cache);
}

void path_stacks_fini(struct scope_stacks *r)
{
	vec_fini(&r->stacks);
	vec_fini(&r->pieces);
	vec_fini(&r->marks);
}

uint32_t *path_known(struct path *s, int32_t scope, uint32_t pid, const uint64_t ip[3], bool over)
{
	uint64_t hash = (ip[0] * 0x9e3779b97f4a7c15u ^ ip[1]) * 0x9e3779b97f4a7c15u ^
	                ip[2] * 0xc2b2ae3d27d4eb4fu ^ pid ^ (uint64_t)scope << 32 ^ over;
	struct cached *c = &s->cache[(hash ^ hash >> 29) % EFFORT_PIECES];

	if (s->maps_changes != s->in.rec->maps_changes)
		memset(s->cache, 0, EFFORT_PIECES * sizeof(*s->cache));
	s->maps_changes = s->in.rec->maps_changes;
	if (c->piece && c->pid == pid && c->scope == scope && memcmp(c->ip, ip, sizeof(c->ip)) == 0 &&
	    c->over == over)
		return &c->piece;
	*c = (struct cached){ pid, scope, { ip[0], ip[1], ip[2] }, 0, over };
	return &c->piece;
}

static void end(void *state)
{
	struct path *s = state;

	for (size_t r = 0; s->scopes && r < s->in.n; r++)
		path_stacks_fini(&s->scopes[r]);
	free(s->scopes);
	path_fini(s);
	free(s);
}

static int begin(const struct evidence_input *in, void **state)
{
	struct path *s = mem_calloc(1, sizeof(*s));

	s->in = *in;
	s->scopes = mem_calloc(in->n + 1, sizeof(*s->scopes));
	path_init(s);
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

/* What lies between two branches of a stack that are next to one another, or have another's code between them. */
struct section {
	const struct pd_branch *older; /* it starts where this one went, ... */
	const struct pd_branch *from;  /* ... and ends with this one, ... */
	const struct pd_branch *to;    /* ... or where this one came back, from other code ... */
	double away_insn;              /* ... of about so many instructions */
	bool open;                     /* it is not known to where, or from where: the stack ends there */
};

/* Branches of the kind that was sampled, in going along an edge: what comes back from other code is that code's. */
static uint32_t branches_at(const struct path *s, const struct problem *p, uint32_t e)
{
	const int kind = s->in.rec->branch_kind;
	const struct problem_block *from = &p->blocks[p->edges[e].from];
	const struct insn *last;

	if (kind == MIX_NONE || !from->n_insn)
		return 0;
	last = &p->insns[from->insn0 + from->n_insn - 1];
	return (uint32_t)(mix_of_insn(kind, last) +
	                  (p->edges[e].kind == FLOW_SKIP
	                           ? 0
	                           : mix_of_edge(kind, last, (enum flow_edge_kind)p->edges[e].kind)));
}

/* Push the edges of the code from `start` to the branch at `from`, then to `to`: past a call where it is `over` that. */
static void trace_piece(struct path *s, int32_t scope, const struct place at[3], bool over, struct piece *out)
{
	const struct flow_graph *g = s->in.graph;
	struct place start = at[0], from = at[1], to = at[2];
	long b, last, target;

	out->scope = -1;
	out->edge0 = (uint32_t)s->pool.n;
	if (start.module < 0 || from.module != start.module || to.module < 0 || from.vaddr < start.vaddr)
		return;
	b = flow_block_at(g, (uint32_t)start.module, start.vaddr);
	last = flow_block_at(g, (uint32_t)from.module, from.vaddr);
	target = flow_block_at(g, (uint32_t)to.module, to.vaddr);
	if (b < 0 || last < b || target < 0 || g->blocks[target].vaddr != to.vaddr)
		return;
	for (; b <= last; b++) {
		/* Blocks are in address order, so the run's are neighbours. */
		long next = b < last ? b + 1 : target;
		uint32_t e = edge_between(s, scope, b, next, b == last && !over);

		if (e == UINT32_MAX)
			return;
		vec_add(&s->pool, e);
		out->n_insn += g->blocks[next].n_insn;
		out->n_branches += branches_at(s, s->in.problems[scope], e);
		out->n_edges++;
	}
	if (!over || s->in.problems[scope]->edges[s->pool.v[s->pool.n - 1]].kind == FLOW_SKIP)
		out->scope = scope;
}

/* Index of the piece. */
static uint32_t piece_of(struct path *s, int32_t scope, uint32_t pid, const struct section *sec)
{
	const uint64_t ip[] = { sec->older->to_ip, sec->from->from_ip, sec->to->to_ip };
	const bool over = sec->from != sec->to;
	uint32_t *known = path_known(s, scope, pid, ip, over);
	struct piece piece = { 0 };

	if (*known)
		return *known - 1;
	trace_piece(s, scope,
	            (struct place[]){ recording_place(s->in.rec, pid, ip[0]),
	                              recording_place(s->in.rec, pid, ip[1]),
	                              recording_place(s->in.rec, pid, ip[2]) },
	            over, &piece);
	vec_add(&s->all, piece);
	*known = (uint32_t)s->all.n;
	return *known - 1;
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
 * What made a burst's moment slow, a miss or a wrong prediction, may also say which way comes next.  It is forgotten some branches
 * on: the first ones of a burst only lead there.
 */
static size_t lead_in(const struct pd_sample *smp)
{
	size_t half = smp->n_branches / 2;

	if (smp->n_branches < model->few)
		return 0;
	return half < model->lead_in ? half : model->lead_in;
}

size_t path_n_pieces(const struct pd_sample *smp, bool burst)
{
	size_t spared = burst ? lead_in(smp) : UNTRUE_PIECES;

	return smp->n_branches > 1 + spared ? smp->n_branches - 1 - spared : 0;
}

size_t path_newer(const struct pd_sample *smp, bool burst, size_t i)
{
	return burst ? path_n_pieces(smp, true) - 1 - i : i + UNTRUE_PIECES;
}

/* The graph's block at an address, -1 if the scope has none there. */
static long scope_block(const struct path *s, const struct sample_seen *seen, uint64_t ip)
{
	long b = recording_block(s->in.graph, recording_place(s->in.rec, seen->record->pid, ip));

	return b >= 0 && problem_block_at(s->in.problems[seen->scope], (uint32_t)b) >= 0 ? b : -1;
}

/*
 * A call may lead to code that is not the scope's: another's, or none that is known.  The stack comes back from there:
 * from its moment on, which is the first branch from the i-th on that has its far end in the scope's code?
 */
static size_t beyond(const struct path *s, const struct sample_seen *seen, bool burst, size_t i)
{
	const struct pd_sample *smp = &seen->record->sample;
	size_t n = path_n_pieces(smp, burst);

	for (; i < n; i++) {
		const struct pd_branch *b = &smp->branches[path_newer(smp, burst, i)];

		if (scope_block(s, seen, burst ? b->to_ip : b->from_ip) >= 0)
			break;
	}
	return i;
}

/* About how many instructions ran from where `first` went until `last` came back from there. */
static double insn_between(const struct pd_branch *first, const struct pd_branch *last)
{
	double insn = 0;

	for (const struct pd_branch *b = last; b < first; b++)
		if (b->from_ip >= b[1].to_ip && b->from_ip - b[1].to_ip < PATH_MOST_BYTES)
			insn += path_insns_of(b->from_ip - b[1].to_ip);
	return insn;
}

/* The edge over a call to other code that begins where `ip` is, or, going back, ends there; UINT32_MAX: none. */
static uint32_t skip_edge(const struct path *s, const struct sample_seen *seen, bool ahead, uint64_t ip)
{
	const struct flow_graph *g = s->in.graph;
	long block = scope_block(s, seen, ip), skip = -1;
	const struct flow_block *b = block < 0 ? NULL : &g->blocks[block];

	for (uint32_t i = 0; b && skip < 0 && i < (ahead ? b->n_out : b->n_in); i++) {
		uint32_t e = ahead ? b->out0 + i : g->in[b->in0 + i];

		if (g->edges[e].kind == FLOW_SKIP)
			skip = problem_edge_at(s->in.problems[seen->scope], e);
	}
	return (uint32_t)skip;
}

/* The i-th piece from the moment on; *i out: the next one's number, *of: what it was. */
static uint32_t piece_from_moment(struct path *s, const struct sample_seen *seen, bool burst, size_t *i,
                                  struct section *of)
{
	const struct pd_sample *smp = &seen->record->sample;
	const struct pd_branch *near = &smp->branches[path_newer(smp, burst, *i)], *far;
	const size_t n = path_n_pieces(smp, burst);
	uint32_t piece;
	size_t k;

	*of = (struct section){ near + 1, near, near, 0, false };
	piece = piece_of(s, seen->scope, seen->record->pid, of);
	if (s->all.v[piece].scope >= 0) {
		++*i;
		return piece;
	}
	k = beyond(s, seen, burst, *i);
	of->open = k == n && skip_edge(s, seen, burst, burst ? near->from_ip : near->to_ip) != UINT32_MAX;
	if (k == *i || k == n)
		return piece;
	far = &smp->branches[path_newer(smp, burst, k)];
	*of = burst ? (struct section){ near + 1, near, far, insn_between(near, far), false }
	            : (struct section){ far + 1, far, near, insn_between(far, near), false };
	*i = k + 1;
	return piece_of(s, seen->scope, seen->record->pid, of);
}

/*
 * The edge of a burst's first branch past its lead-in, UINT32_MAX if it is none of the scope's.  From code that was called
 * the burst is followed once it is back; *i: the number of its first piece then.
 */
static uint32_t first_edge(const struct path *s, const struct sample_seen *seen, size_t *i)
{
	const struct pd_sample *smp = &seen->record->sample;

	for (; *i < path_n_pieces(smp, true); ++*i) {
		const struct pd_branch *first = &smp->branches[path_newer(smp, true, *i) + 1];
		long b = scope_block(s, seen, first->from_ip), next = scope_block(s, seen, first->to_ip);

		if (next >= 0)
			return b < 0 ? skip_edge(s, seen, false, first->to_ip)
			             : edge_between(s, seen->scope, b, next, true);
	}
	return UINT32_MAX;
}

/* The edge of a record's newest branch: where it comes back from other code, the one over the call to that. */
static uint32_t newest_edge(const struct path *s, const struct sample_seen *seen)
{
	const struct pd_branch *b = seen->record->sample.branches;
	long from = scope_block(s, seen, b->from_ip), to = scope_block(s, seen, b->to_ip);

	if (to < 0)
		return UINT32_MAX;
	return from < 0 ? skip_edge(s, seen, false, b->to_ip) : edge_between(s, seen->scope, from, to, true);
}

/*
 * The branch before the newest one led to other code, and the newest may be where that came back: then the call is gone over, and the
 * piece that ends with it is whole.  What is missing between the two is none of the scope's.  *first: the next piece's number.
 */
static void past_call(struct path *s, const struct sample_seen *seen, struct scope_stacks *r, size_t *first,
                      struct stack *stack)
{
	const struct pd_sample *smp = &seen->record->sample;
	const struct pd_branch *newest = smp->branches, *far;
	const size_t n = path_n_pieces(smp, false);
	struct section over;
	uint32_t piece;
	size_t k;

	if (!n || scope_block(s, seen, newest[1].to_ip) >= 0)
		return;
	k = beyond(s, seen, false, 0);
	*first = k < n ? k + 1 : n;
	if (k == n || scope_block(s, seen, newest->to_ip) < 0)
		return;
	far = &smp->branches[path_newer(smp, false, k)];
	over = (struct section){ far + 1, far, newest, insn_between(far, newest), false };
	piece = piece_of(s, seen->scope, seen->record->pid, &over);
	if (s->all.v[piece].scope < 0)
		return;
	vec_add(&r->pieces, piece);
	vec_add(&r->marks, far->cycles);
	stack->n_pieces++;
	r->away_insn += over.away_insn;
	s->in.problems[seen->scope]->stacked_insn += s->all.v[piece].n_insn;
}

/* Where the newest branch is none of the scope's, the one before it has to do. */
static void set_near(const struct path *s, uint32_t newest, const struct scope_stacks *r, struct stack *stack)
{
	stack->newest = newest;
	stack->away = newest == UINT32_MAX;
	stack->near = stack->away ? closing_edge(s, r->pieces.v[stack->piece0]) : newest;
}

/* Does a sample of the cycles event stand for time, by its branch records? */
static bool tells_time(const struct recording *rec)
{
	return (!rec->cyc_is_other || rec->cyc_is_even) && !rec->events[rec->as_recorded].untimed;
}

/*
 * How often a branch is missing before the newest one, by the code: as often as there is no way between the two, over how often there
 * would be none were the branch before them missing.
 */
static void find_breaks(struct path *s, const struct sample_seen *seen, const struct stack *st)
{
	const struct pd_branch *b = seen->record->sample.branches;
	const struct section newest = { b + 1, b, b, 0, false }, longer = { b + 3, b + 1, b + 1, 0, false };
	uint32_t piece, without;

	if (st->burst || st->newest == UINT32_MAX || st->n_pieces < 2)
		return;
	piece = piece_of(s, seen->scope, seen->record->pid, &newest);
	without = piece_of(s, seen->scope, seen->record->pid, &longer);
	s->n_newest_breaks += s->all.v[piece].scope < 0;
	s->n_breaks += s->all.v[without].scope < 0;
}

static void add_sample(struct path *s, const struct sample_seen *seen)
{
	const struct pd_sample *smp = &seen->record->sample;
	double weight = recording_weight(s->in.rec, seen->record);
	bool burst = seen->record->event == s->in.rec->burst_event,
	     of_cycles = seen->record->event == s->in.rec->cyc_event;
	const size_t n_pieces = path_n_pieces(smp, burst);
	struct scope_stacks *r;
	struct stack stack;
	uint32_t span = 0;
	size_t first = 0;
	bool ends_with_newest;

	/* A file without any needs no paces: there may be millions of samples. */
	s->has_stacks |= smp->n_branches >= 2 || s->in.rec->burst_event >= 0;
	if (s->has_stacks)
		span = paces_sample(&s->paces, s->in.rec, seen);
	if (smp->n_branches < 2 || seen->scope < 0)
		return;
	r = &s->scopes[seen->scope];
	if (path_passes_over(r, burst))
		return;
	r->n_followed++;
	/* Bursts are taken at moments, each as good as another: where nothing was counted, so are they. */
	stack = (struct stack){ .piece0 = (uint32_t)r->pieces.n,
		                .span = of_cycles || (burst && !s->in.rec->relative) ? span : 0,
		                .stage = seen->stage,
		                .insn = burst ? 1 : weight,
		                .cyc = of_cycles && tells_time(s->in.rec) ? weight : 0,
		                .burst = burst };
	if (burst)
		stack.near = first_edge(s, seen, &first);
	else
		past_call(s, seen, r, &first, &stack);
	ends_with_newest = stack.n_pieces > 0;
	for (size_t i = first; i < n_pieces;) {
		const uint16_t place = (uint16_t)(((double)i + 0.5) / (double)n_pieces * PATH_PLACES);
		struct section of;
		uint32_t piece = piece_from_moment(s, seen, burst, &i, &of);

		if (s->all.v[piece].scope < 0) {
			/* What lies before a break is another path's, or a fault of the hardware. */
			r->n_broken += !of.open;
			stack.broken = true;
			break;
		}
		vec_add(&r->pieces, piece);
		vec_add(&r->marks, burst ? place : of.from->cycles);
		stack.n_pieces++;
		r->away_insn += of.away_insn;
		s->in.problems[seen->scope]->stacked_insn += s->all.v[piece].n_insn;
	}
	if (!stack.n_pieces)
		return;
	if (!burst)
		set_near(s, ends_with_newest ? UINT32_MAX : newest_edge(s, seen), r, &stack);
	stack.lead = burst || ends_with_newest ? 0 : smp->branches[0].cycles;
	if (stack.near == UINT32_MAX)
		return;
	find_breaks(s, seen, &stack);
	if (r->stacks.n >= EFFORT_STACKS)
		path_thin(r);
	vec_add(&r->stacks, stack);
}

/*
 * An interrupt waits until an instruction retires, and those that do with it.  Where the last of these is a branch, which leads to the
 * sampled instruction, the moment was before it: behind the next record (eq. 11).
 */
static bool is_before_newest(const struct recording *rec, const struct pd_record *record)
{
	const struct pd_sample *smp = &record->sample;

	return smp->n_branches && smp->branches[0].cycles && smp->branches[0].to_ip == smp->ip &&
	       record->event == rec->cyc_event && !rec->cyc_precise;
}

static void sample(void *state, const struct sample_seen *seen)
{
	struct path *s = state;
	struct pd_record before;
	struct sample_seen of = *seen;

	if (is_before_newest(s->in.rec, seen->record)) {
		before = *seen->record;
		before.sample.branches++;
		before.sample.n_branches--;
		of.record = &before;
	}
	add_sample(s, &of);
}

/*
 * eq. 3: what a scope calls that is not its own is in its total where no sample fell in it: with what did, that is all of which
 * its stacks tell the share of such code.  Samples elsewhere that calls do not explain leave the total as it is.
 */
static void settle_called(const struct scope_stacks *r, struct problem *p)
{
	double share = r->away_insn / (r->away_insn + p->stacked_insn), all = p->total_insn + p->outside_insn;

	/* There the total is a time. */
	if (p->relative)
		return;
	if (p->outside_insn > model->called_most * share * all || r->stacks.n < model->many) {
		p->total_sd = hypot(p->total_sd, share * p->total_insn);
		return;
	}
	p->called_share = share;
	p->unseen_share = 0;
	p->total_insn = all * (1 - share);
	p->total_sd = hypot(p->total_sd, model->guess * share * all);
}

/*
 * eq. 10: where no instructions were counted, but branch records tell cycles, or branches were sampled, these tell how many
 * instructions the time, or the branches, of each scope hold.
 */
static void set_pace(const struct path *s, const struct scope_stacks *r, struct problem *p)
{
	double pace = 0, sd = 0;

	if (!p->relative)
		return;
	if (s->in.rec->branch_kind) {
		path_pace_by_branches(s, r, p->n_edges, &pace, &sd);
	} else if (!s->in.rec->cyc_is_other && path_has_cycles(r)) {
		struct scope_stacks of;

		path_stacks_of_cycles(r, &of);
		path_pace_by_cycles(s, &of, &pace, &sd);
		vec_fini(&of.stacks);
	}
	if (!(pace > 0))
		return;
	p->pace = pace;
	p->total_insn = pace * p->total_cyc;
	p->total_sd = hypot(p->total_sd, hypot(sd, model->biased * pace) * p->total_cyc);
	p->insn_per_sample *= pace;
}

static void finish(void *state)
{
	struct path *s = state;

	for (size_t i = 0; i < s->in.n; i++) {
		struct scope_stacks *r = &s->scopes[i];

		set_pace(s, r, s->in.problems[i]);
		paces_apply(&s->paces, s->all.v, r);
		/* Eq. 12 tells what records stand for; nothing does of bursts. */
		if (s->in.rec->burst_event >= 0 && s->in.problems[i]->relative &&
		    !(s->in.problems[i]->pace > 0))
			path_level_stages(s, r, s->in.problems[i]);
		if (r->n_followed)
			s->in.problems[i]->broken_share = (double)r->n_broken / (double)r->n_followed;
		if (r->away_insn > 0)
			settle_called(r, s->in.problems[i]);
	}
}

const struct evidence_ops evidence_path = {
	.name = "path",
	.begin = begin,
	.sample = sample,
	.finish = finish,
	.equations = path_equations,
	.end = end,
};
