/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/sim/calls.h"

#include <string.h>

enum { MOST_FRAMES = 1 << 22 };

/* Where a signal's handler returns to, whom the kernel calls: code of the kernel's choice, and so nobody's call. */
enum { BY_SIGNAL = 1 };

static uint32_t top_func(const struct calls *c)
{
	return c->frames.n ? c->frames.v[c->frames.n - 1].func : CALLS_NOBODY;
}

static bool make_room(struct calls *c, uint32_t func)
{
	while (c->active.n <= func && !c->failed)
		c->failed = vec_push(&c->active, 0) < 0;
	return !c->failed;
}

static void push(struct calls *c, uint32_t func, uint64_t return_ip)
{
	struct calls_frame f = { return_ip, c->n_insn, func };

	if (!make_room(c, func))
		return;
	c->failed = c->frames.n >= MOST_FRAMES || vec_push(&c->frames, f) < 0;
	if (!c->failed)
		c->active.v[func]++;
}

static void pop(struct calls *c)
{
	struct calls_frame f = c->frames.v[--c->frames.n];
	uint32_t caller = top_func(c);
	long i = pairs_number(&c->index, caller, f.func);

	if (i < 0 || ((size_t)i == c->arcs.n &&
	              vec_push(&c->arcs, ((struct calls_arc){ caller, f.func, 0, 0 })) < 0)) {
		c->failed = true;
		return;
	}
	c->arcs.v[i].n++;
	if (c->frames.n < c->looking_up)
		c->looking_up = 0;
	/* What runs below another call of the function is that one's already. */
	if (--c->active.v[f.func] == 0)
		c->arcs.v[i].n_insn += c->n_insn - f.since;
}

static void pop_to(struct calls *c, size_t n)
{
	while (c->frames.n > n && !c->failed)
		pop(c);
}

/* How many frames are left by a return to next_ip; all where nothing has called from there. */
static size_t find_return(const struct calls *c, uint64_t next_ip)
{
	size_t n = c->frames.n;

	while (n > 0 && c->frames.v[n - 1].return_ip != next_ip)
		n--;
	return n ? n - 1 : c->frames.n;
}

/* The newest frame of the function stays, and what is below it. */
static void pop_above(struct calls *c, uint32_t func)
{
	size_t n = c->frames.n;

	if (func >= c->active.n || !c->active.v[func])
		return;
	while (c->frames.v[n - 1].func != func)
		n--;
	pop_to(c, n);
}

/* The newest of the frames that jumps have put on the function that was called last, and that one. */
static bool pop_jumped(struct calls *c, uint32_t func)
{
	for (size_t n = c->frames.n; n > 0; n--) {
		if (c->frames.v[n - 1].func == func) {
			pop_to(c, n);
			return true;
		}
		if (c->frames.v[n - 1].return_ip)
			return false;
	}
	return false;
}

/* What nobody called has nowhere to return to: the loader jumps to the program so, and is done. */
static void begin(struct calls *c, uint32_t func)
{
	size_t n = c->frames.n;

	while (n > 0 && !c->frames.v[n - 1].return_ip)
		n--;
	if (!n)
		pop_to(c, 0);
	push(c, func, 0);
}

static void enter(struct calls *c, uint32_t func)
{
	if (!pop_jumped(c, func))
		begin(c, func);
}

void calls_step(struct calls *c, enum sim_exit exit, uint64_t behind, uint64_t next_ip,
                const struct calls_place *to)
{
	bool from_stub = c->from_stub, from_entry = c->from_entry;

	c->from_stub = to->stub;
	c->from_entry = to->looks_up;
	if (c->failed)
		return;
	c->n_switches += to->enters && to->switches;
	if (exit == SIM_X_CALL || exit == SIM_X_CALL_IND) {
		push(c, to->called, behind);
		return;
	}
	if (!c->frames.n) {
		push(c, to->called, 0);
		return;
	}
	if (exit == SIM_X_RET) {
		size_t n = find_return(c, next_ip);

		c->n_returns++;
		if (n < c->frames.n) {
			pop_to(c, n);
			return;
		}
		if (c->frames.v[n - 1].return_ip == BY_SIGNAL) {
			pop_to(c, n - 1);
			return;
		}
		c->n_lost++;
	}
	if (c->frames.n == c->looking_up && (to->func || exit == SIM_X_JUMP_IND)) {
		c->looking_up = 0;
		from_stub = true;
	}
	if (!to->func && !to->looks_up && from_entry)
		c->looking_up = c->frames.n;
	else if (!to->func && !to->looks_up && from_stub)
		enter(c, to->called);
	else if (to->func && to->func != top_func(c) && to->enters)
		enter(c, to->func);
	else if (to->func)
		pop_above(c, to->func);
}

void calls_signal(struct calls *c, const struct calls_place *to)
{
	c->from_stub = c->from_entry = false;
	if (!c->failed)
		push(c, to->called, BY_SIGNAL);
}

void calls_end(struct calls *c)
{
	pop_to(c, 0);
}

void calls_restart(struct calls *c)
{
	c->n_insn = c->n_returns = c->n_lost = c->n_switches = 0;
	for (size_t i = 0; i < c->frames.n; i++)
		c->frames.v[i].since = 0;
	vec_fini(&c->arcs);
	pairs_fini(&c->index);
	memset(&c->arcs, 0, sizeof(c->arcs));
	memset(&c->index, 0, sizeof(c->index));
}

void calls_forget(struct calls *c)
{
	calls_fini(c);
	memset(c, 0, sizeof(*c));
}

void calls_fini(struct calls *c)
{
	vec_fini(&c->frames);
	vec_fini(&c->active);
	pairs_fini(&c->index);
	vec_fini(&c->arcs);
}
