/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/replay/marks.h"

#include <string.h>

#include "profiler/replay/blocks.h"
#include "profiler/replay/machine.h"
#include "profiler/replay/pages.h"
#include "profiler/replay/run.h"

/* Ways out between two looks at the time. */
enum { FUEL = 20000 };

static struct marks {
	uint64_t ips[RP_MAX_MARKS];
	uint64_t guards
	        [RP_MAX_MARKS]; /* code that looks whether the mark is met, of the first one at its address; 0 = not yet */
	uint32_t n;
	/* RP_COUNTS when each was met first. */
	struct counts {
		uint64_t v[RP_MAX_EXITS];
		uint32_t n;
	} at[RP_MAX_MARKS];
} m;

static void begin(const struct rp_request *q, struct rp_reply *r)
{
	m.n = q->n_marks < RP_MAX_MARKS ? q->n_marks : RP_MAX_MARKS;
	for (uint32_t k = 0; k < m.n; k++)
		m.ips[k] = q->marks[k].regs.ip;
	memset(m.guards, 0, sizeof(m.guards));
	rp_blocks_stop_at(m.ips, m.n);
	RP_CONTEXT->insns = 0;
	r->n_runs = r->from_mark = r->to_mark = 0;
	memset(r->mark_insns, 0, sizeof(r->mark_insns));
	memset(r->mark_met, 0, sizeof(r->mark_met));
}

/* The first one there; m.n: none. */
static uint32_t mark_at(uint64_t ip)
{
	uint32_t k = 0;

	while (k < m.n && m.ips[k] != ip)
		k++;
	return k;
}

static bool is_mark(uint64_t ip)
{
	return mark_at(ip) < m.n;
}

/* An instruction for C at a mark that others came before begins a block of its own. */
static bool is_put_off(const struct rp_exit *e)
{
	return e->kind == RP_EXIT_OP && e->n_insns > 0 && is_mark(e->ip);
}

static struct rp_straight straight_of(const struct rp_exit *e, uint64_t n)
{
	bool put_off = is_put_off(e), op = e->kind == RP_EXIT_OP && !put_off;
	uint64_t to = e->kind == RP_EXIT_NEXT ? e->to - 1 : put_off ? e->ip - 1 : e->ip;

	return (struct rp_straight){ e->from, to, n, n * (e->n_insns + (op ? 1u : 0)) };
}

static void keep_counts(struct counts *at)
{
	at->n = rp_n_exits();
	memcpy(at->v, RP_COUNTS, at->n * sizeof(at->v[0]));
}

/* What ran between two marks.  False: too much of it. */
static bool tell_runs(struct rp_reply *r, const struct counts *from, const struct counts *to)
{
	for (uint32_t i = 0; i < to->n; i++) {
		uint64_t n = to->v[i] - (i < from->n ? from->v[i] : 0);

		if (!n)
			continue;
		if (r->n_runs == RP_MAX_RUNS)
			return false;
		r->runs[r->n_runs++] = straight_of(rp_exit_at(i), n);
	}
	return true;
}

/*
 * Registers come to the same again and again where a loop has its state in memory: the stack tells most of these apart,
 * and shows a way that went through memory as it was later.
 */
static bool is_at(uint64_t ip, const struct rp_mark *mark)
{
	uint8_t stack[RP_MARK_STACK];
	uint32_t n = mark->n_stack < RP_MARK_STACK ? mark->n_stack : RP_MARK_STACK;

	return machine_is_at(ip, &mark->regs) && rp_read_some(RP_STACK(&mark->regs), stack, n) == n &&
	       memcmp(stack, mark->stack, n) == 0;
}

/* In their order: a mark is looked for behind where the one before it was met. */
static bool is_due(const struct rp_reply *r, uint32_t k)
{
	return !k || (r->mark_met[k - 1] && r->mark_insns[k - 1] < r->n_insns);
}

static void meet_marks(const struct rp_request *q, struct rp_reply *r, uint64_t ip)
{
	for (uint32_t k = 0; k < m.n && is_due(r, k); k++) {
		if (m.ips[k] != ip || !is_at(ip, &q->marks[k]) || r->mark_met[k]++)
			continue;
		r->mark_insns[k] = r->n_insns;
		keep_counts(&m.at[k]);
	}
}

/* A mark that is met twice tells nothing: m.n where none from k on was met once. */
static uint32_t met_once(const struct rp_reply *r, uint32_t k)
{
	while (k < m.n && r->mark_met[k] != 1)
		k++;
	return k;
}

/* Marks lie so many instructions apart at most. */
static uint64_t part_of(const struct rp_request *q)
{
	return q->n_insns / (m.n + 1);
}

/*
 * As far past the second of two as the first lies back, or (RP_PAST_MARKS) from the first as far as the thread may have gone at the
 * fastest: what is met once more within that may not be where it was.
 */
static bool is_past_marks(const struct rp_request *q, const struct rp_reply *r)
{
	uint32_t from = met_once(r, q->n_passed), to = met_once(r, from + 1);

	return to < m.n && r->n_insns - r->mark_insns[to] >= r->mark_insns[to] - r->mark_insns[from] &&
	       (!(q->flags & RP_PAST_MARKS) || r->n_insns - r->mark_insns[from] >= (to - from) * part_of(q));
}

/* Where the way ended for another reason, too. */
static int choose_marks(const struct rp_request *q, struct rp_reply *r, int end)
{
	uint32_t from = met_once(r, q->n_passed), to = met_once(r, from + 1);

	if (to >= m.n)
		return end;
	if (!tell_runs(r, &m.at[from], &m.at[to]))
		return RP_END_MUCH_CODE;
	r->from_mark = from;
	r->to_mark = to;
	return end;
}

/* Marks lie as far from each other as the first from the beginning, about: a way that misses one is another's. */
static bool is_lost(const struct rp_request *q, const struct rp_reply *r)
{
	uint64_t part = part_of(q);

	for (uint32_t k = 0; k < m.n; k++)
		if (!r->mark_met[k])
			return r->n_insns >= (k + 1) * part;
	return r->n_insns >= q->n_insns;
}

/* A new block's ways out have not been counted yet. */
static uint64_t block_at(uint64_t ip)
{
	uint32_t n = rp_n_exits();
	uint64_t code = rp_block_at(ip);

	memset(RP_COUNTS + n, 0, (rp_n_exits() - n) * sizeof(*RP_COUNTS));
	return code;
}

/* Where blocks don't count themselves, and of an access that was given up: its instruction is not done yet. */
static void count_in_c(const struct rp_exit *e, uint32_t exit)
{
	if (MACHINE_CHAINS && e->kind != RP_EXIT_ACCESS)
		return;
	RP_COUNTS[exit]++;
	RP_CONTEXT->insns += e->n_insns - (e->kind == RP_EXIT_ACCESS ? 1u : 0);
}

/* Where others come to the block at ip: at a mark they are looked at first. */
static uint64_t way_to(const struct rp_request *q, uint64_t ip)
{
	const struct rp_registers *there[RP_MAX_MARKS];
	uint32_t first = mark_at(ip), n = rp_n_exits();
	uint64_t code = block_at(ip);
	size_t n_there = 0;

	if (!code || first == m.n)
		return code;
	for (uint32_t k = first; k < m.n && !m.guards[first]; k++)
		if (m.ips[k] == ip)
			there[n_there++] = &q->marks[k].regs;
	if (!m.guards[first])
		m.guards[first] = rp_blocks_guard(ip, there, n_there, code);
	memset(RP_COUNTS + n, 0, (rp_n_exits() - n) * sizeof(*RP_COUNTS));
	return m.guards[first];
}

/* On to the next block, which this way out leads to by itself from now on. */
static void chain(const struct rp_request *q, const struct rp_exit *e, uint64_t to)
{
	uint64_t code = e->kind == RP_EXIT_AT || e->chain ? way_to(q, to) : 0;

	if (code && e->kind == RP_EXIT_AT)
		machine_note_target(to, code);
	else if (code)
		rp_blocks_chain(e, code);
}

static int step(const struct rp_request *q, struct rp_reply *r, uint64_t *ip)
{
	const struct rp_exit *e;
	bool in_c;
	int end;

	RP_CONTEXT->target = block_at(*ip);
	RP_CONTEXT->fuel = FUEL;
	if (!RP_CONTEXT->target)
		return (int)rp_blocks_why(&r->fault_at);
	if (!rp_enter())
		return RP_END_FAULT;
	e = rp_exit_at(RP_CONTEXT->exit);
	count_in_c(e, RP_CONTEXT->exit);
	r->n_insns = RP_CONTEXT->insns;
	r->n_blocks++;
	in_c = e->kind == RP_EXIT_ACCESS || e->kind == RP_EXIT_OP;
	*ip = in_c ? e->ip : e->kind == RP_EXIT_AT ? machine_went_to() : e->to;
	if (!in_c)
		chain(q, e, *ip);
	if (!in_c || is_put_off(e))
		return RP_GOES_ON;
	end = rp_do_in_c(r, ip);
	RP_CONTEXT->insns = r->n_insns;
	return end;
}

int rp_go_to_marks(const struct rp_request *q, struct rp_reply *r)
{
	int end = RP_GOES_ON;

	begin(q, r);
	while (end == RP_GOES_ON) {
		meet_marks(q, r, r->at_ip);
		if (is_past_marks(q, r) || is_lost(q, r))
			end = RP_END_WHOLE;
		if (end == RP_GOES_ON)
			end = rp_may_go_on(r);
		if (end == RP_GOES_ON)
			end = step(q, r, &r->at_ip);
	}
	return choose_marks(q, r, end);
}
