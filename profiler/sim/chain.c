/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/sim/chain.h"

#include <stdbool.h>

#include "profiler/sim/core.h"

/* Where a stack is come back to without a trace, its next frame is no farther from it. */
enum { RESUMED_NEAR = 1 << 10 };

static struct sim_chain_call *call_of(struct sim_chain_stack *s, uint32_t k)
{
	return &s->ring[(s->n - 1 - k) % SIM_CHAIN_CALLS];
}

static struct sim_chain_call *top_of(struct sim_chain_stack *s)
{
	return s->n_valid ? call_of(s, 0) : NULL;
}

static void pop(struct sim_chain_stack *s)
{
	s->n--;
	s->n_valid--;
}

/* What lies below the stack pointer has been left. */
static void pop_below(struct sim_chain_stack *s, uint64_t at)
{
	while (s->n_valid && call_of(s, 0)->at && call_of(s, 0)->at < at)
		pop(s);
}

static void go_to(struct sim_chain *c, uint32_t stack)
{
	c->stack[c->current].used = ++c->now;
	c->current = stack;
}

/* May the thread have come from one place of this stack to the other by calls, returns, and what leaves frames? */
static bool is_on(struct sim_chain_stack *s, uint64_t at, uint64_t near)
{
	uint64_t top, bottom;

	if (!s->n_valid)
		return false;
	top = call_of(s, 0)->at;
	bottom = call_of(s, s->n_valid - 1)->at;
	/* Of a stack that was moved it is not known. */
	if (!top || !bottom)
		return true;
	return at >= top ? at - top < near || at <= bottom : top - at < near;
}

/* The stack that the thread must be on: another where this one is far away, and a new one where none is near. */
static void find_stack(struct sim_chain *c, uint64_t at)
{
	uint32_t found = SIM_CHAIN_STACKS, oldest = !c->current;

	if (!c->stack[c->current].n_valid || is_on(&c->stack[c->current], at, SIM_CHAIN_NEAR))
		return;
	for (uint32_t i = 0; i < SIM_CHAIN_STACKS && found == SIM_CHAIN_STACKS; i++) {
		struct sim_chain_stack *s = &c->stack[i];

		if (i == c->current)
			continue;
		if (s->n_valid && call_of(s, s->n_valid - 1)->at && is_on(s, at, RESUMED_NEAR))
			found = i;
		if (s->used < c->stack[oldest].used)
			oldest = i;
	}
	if (found == SIM_CHAIN_STACKS) {
		c->stack[oldest].n = c->stack[oldest].n_valid = 0;
		found = oldest;
	}
	go_to(c, found);
}

static void call(struct sim_chain *c, uint64_t at, uint64_t return_ip)
{
	struct sim_chain_stack *s;

	if (at)
		find_stack(c, at);
	s = &c->stack[c->current];
	if (at)
		pop_below(s, at + 1);
	s->n++;
	s->n_valid += s->n_valid < SIM_CHAIN_CALLS;
	*call_of(s, 0) = (struct sim_chain_call){ at, return_ip };
}

/* The stack whose innermost call returns to ip, the one that the thread is on before others; SIM_CHAIN_STACKS: none. */
static uint32_t find_top(struct sim_chain *c, uint64_t ip)
{
	for (uint32_t i = 0; i < SIM_CHAIN_STACKS; i++) {
		uint32_t k = (c->current + i) % SIM_CHAIN_STACKS;
		const struct sim_chain_call *top = top_of(&c->stack[k]);

		if (top && top->return_ip == ip)
			return k;
	}
	return SIM_CHAIN_STACKS;
}

/* Back to the innermost call of a stack, which may have been moved meanwhile. */
static void come_back(struct sim_chain *c, uint32_t stack)
{
	struct sim_chain_stack *s = &c->stack[stack];

	if (stack != c->current)
		go_to(c, stack);
	pop(s);
	for (uint32_t k = 0; k < s->n_valid; k++)
		call_of(s, k)->at = 0;
}

/* By where return addresses lie. */
static bool returns_at(struct sim_chain *c, uint64_t at)
{
	if (is_on(&c->stack[c->current], at, SIM_CHAIN_NEAR))
		pop_below(&c->stack[c->current], at);
	for (uint32_t i = 0; i < SIM_CHAIN_STACKS; i++) {
		uint32_t k = (c->current + i) % SIM_CHAIN_STACKS;
		const struct sim_chain_call *top = top_of(&c->stack[k]);

		if (!top || top->at != at)
			continue;
		if (k != c->current)
			go_to(c, k);
		pop(&c->stack[k]);
		return true;
	}
	return false;
}

/* The nearest call of this stack that returns to ip, with all that it has called. */
static bool returns_to(struct sim_chain_stack *s, uint64_t ip)
{
	for (uint32_t k = 0; k < s->n_valid; k++) {
		const struct sim_chain_call *it = call_of(s, k);

		if (it->at)
			return false;
		if (it->return_ip != ip)
			continue;
		s->n -= k + 1;
		s->n_valid -= k + 1;
		return true;
	}
	return false;
}

static void come_to(struct sim_chain *c, uint64_t at, uint64_t ip)
{
	uint32_t stack;

	if ((at && returns_at(c, at)) || returns_to(&c->stack[c->current], ip))
		return;
	stack = find_top(c, ip);
	if (stack < SIM_CHAIN_STACKS)
		come_back(c, stack);
}

/* The address of the last instruction's newest access, 0 if it has none. */
static uint64_t newest_access(const struct sim_block *b, const uint64_t *mem, uint32_t n_mem, bool store)
{
	for (uint32_t i = n_mem; i-- > 0;)
		if (mem[i] != SIM_MEM_END && (mem[i] >> 4 & 0xfff) == b->n_insn - 1u && (mem[i] & 1) == store)
			return mem[i] >> 16;
	return 0;
}

void sim_chain_step(struct sim_chain *c, const struct sim_block *b, uint64_t next_ip, const uint64_t *mem,
                    uint32_t n_mem)
{
	uint32_t stack;

	switch (b->exit) {
	case SIM_X_CALL:
	case SIM_X_CALL_IND:
		call(c, newest_access(b, mem, n_mem, true), b->end_ip);
		break;
	case SIM_X_RET:
		come_to(c, newest_access(b, mem, n_mem, false), next_ip);
		break;
	case SIM_X_JUMP_IND:
		/* Who changes stacks jumps to where a call of the other one returns to. */
		stack = find_top(c, next_ip);
		if (stack < SIM_CHAIN_STACKS)
			come_back(c, stack);
		break;
	default:
		break;
	}
}

uint32_t sim_chain_read(const struct sim_chain *c, uint64_t *out, uint32_t cap)
{
	const struct sim_chain_stack *s = &c->stack[c->current];
	uint32_t n = 0;

	for (; n < s->n_valid && n < cap; n++)
		out[n] = s->ring[(s->n - 1 - n) % SIM_CHAIN_CALLS].return_ip;
	return n;
}
