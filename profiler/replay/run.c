/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/replay/run.h"

#include <string.h>

#include "profiler/replay/blocks.h"
#include "profiler/replay/machine.h"
#include "profiler/replay/marks.h"
#include "profiler/replay/pages.h"

enum { LATE_EVERY = 64 };

static struct run {
	uint64_t deadline;
	bool faulted;
} run;

int rp_miss(void)
{
	const struct rp_exit *e = rp_exit_at(RP_CONTEXT->slow_exit);
	uint64_t at = machine_place(RP_CONTEXT->slow_at), off = at % RP_PAGE, page = at - off;
	uint8_t *ours = off + e->bytes > RP_PAGE ? NULL : rp_page(page, e->write ? RP_WRITE : RP_READ);

	/* The instruction is to be done in C, or ends the path. */
	if (!ours) {
		machine_give_up(e);
		RP_CONTEXT->exit = RP_CONTEXT->slow_exit;
		return 1;
	}
	rp_pages_open(page, e->write);
	RP_CONTEXT->slow_at = (uint64_t)(uintptr_t)ours + off;
	return 0;
}

bool rp_run_interrupted(uint64_t ip, uint64_t *resume)
{
	if (ip < RP_AT_CODE || ip >= RP_AT_FAST + RP_CODE_BYTES)
		return false;
	run.faulted = true;
	*resume = RP_CONTEXT->leave;
	return true;
}

bool rp_enter(void)
{
	run.faulted = false;
	machine_enter();
	return !run.faulted;
}

bool rp_is_late(void)
{
	return rp_clock() > run.deadline;
}

int rp_may_go_on(const struct rp_reply *r)
{
	if (r->n_blocks % LATE_EVERY == 0 && rp_is_late())
		return RP_END_TIME;
	return machine_may_run(r->at_ip);
}

static void begin(const struct rp_request *q, struct rp_reply *r)
{
	/* All but the state at the end, which comes last. */
	memset(r, 0, offsetof(struct rp_reply, pages));
	run.deadline = q->deadline;
	rp_pages_begin(q->fetched, q->n_fetched, machine_tlb_size(q->flags & RP_TO_MARKS));
	rp_blocks_begin(q->flags & RP_TO_MARKS ? RP_BLOCKS_FAST
	                : q->n_insns           ? RP_BLOCKS_SINGLE
	                                       : RP_BLOCKS_KEPT);
	r->at_ip = q->regs.ip;
	machine_begin(q);
}

static void note_branch(struct rp_reply *r, uint64_t from, uint64_t to)
{
	/* Of a way to marks they are many, and told as runs. */
	if (RP_SHARED->request.flags & RP_TO_MARKS)
		return;
	r->branches[r->n_branches++] = (struct rp_branch){ from, to };
}

int rp_do_in_c(struct rp_reply *r, uint64_t *ip)
{
	uint64_t next = *ip;
	bool taken = false;
	int end = machine_do(*ip, &next, &taken);

	if (end != RP_GOES_ON) {
		rp_pages_why(&r->fault_at);
		return end;
	}
	if (taken)
		note_branch(r, *ip, next);
	r->n_insns++;
	*ip = next;
	return RP_GOES_ON;
}

/* One block and what comes of it.  *ip moves on. */
static int step(struct rp_reply *r, uint64_t *ip)
{
	const struct rp_exit *e;

	RP_CONTEXT->target = rp_block_at(*ip);
	if (!RP_CONTEXT->target)
		return (int)rp_blocks_why(&r->fault_at);
	if (!rp_enter())
		return RP_END_FAULT;
	e = rp_exit_at(RP_CONTEXT->exit);
	r->n_blocks++;
	r->n_insns += e->n_insns;
	*ip = e->kind == RP_EXIT_ACCESS || e->kind == RP_EXIT_OP ? e->ip : e->to;
	if (e->kind == RP_EXIT_TAKEN)
		note_branch(r, e->ip, e->to);
	/* It counts the instruction as done that did not get its memory. */
	r->n_insns -= e->kind == RP_EXIT_ACCESS;
	return e->kind == RP_EXIT_ACCESS || e->kind == RP_EXIT_OP ? rp_do_in_c(r, ip) : RP_GOES_ON;
}

static int go(const struct rp_request *q, struct rp_reply *r)
{
	uint32_t n_branches = q->n_branches < RP_MAX_BRANCHES ? q->n_branches : RP_MAX_BRANCHES;
	int end = RP_GOES_ON;

	while (end == RP_GOES_ON) {
		if (r->n_branches >= n_branches || (q->n_insns && r->n_insns >= q->n_insns))
			return RP_END_WHOLE;
		end = rp_may_go_on(r);
		if (end == RP_GOES_ON)
			end = step(r, &r->at_ip);
	}
	return end;
}

void rp_run(void)
{
	const struct rp_request *q = &RP_SHARED->request;
	struct rp_reply *r = &RP_SHARED->reply;

	begin(q, r);
	r->end = (uint32_t)(q->flags & RP_TO_MARKS ? rp_go_to_marks(q, r) : go(q, r));
	machine_end(q, r);
	rp_pages_tell();
	r->n_translated = rp_blocks_translated();
}

void rp_run_init(uint8_t *code)
{
	rp_blocks_init(code);
	rp_pages_init();
}
