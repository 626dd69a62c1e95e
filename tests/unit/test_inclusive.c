/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "report/inclusive/cut_stacks.h"
#include "report/inclusive/inclusive.h"

enum { MAIN, FEW, MANY, LEAF, FIB, N_FUNCS };

/* Own instructions: main 10, few 20, many 30, leaf 1000, fib 40; raw ones are half of them. */
static struct profile *five(void)
{
	static const double own[] = { 10, 20, 30, 1000, 40 };
	static const char *const names[] = { "main", "few", "many", "leaf", "fib" };
	struct profile *p = calloc(1, sizeof(*p));

	p->n_funcs = N_FUNCS;
	p->funcs = calloc(N_FUNCS, sizeof(*p->funcs));
	for (int f = 0; f < N_FUNCS; f++) {
		p->funcs[f].count = p->funcs[f].rolled =
		        (struct profile_count){ .insn = own[f], .raw_insn = own[f] / 2, .cyc = own[f] };
		p->funcs[f].name = names[f];
	}
	return p;
}

static void add_call(struct profile *p, uint32_t caller, uint32_t callee, double n, double share)
{
	p->calls = realloc(p->calls, (p->n_calls + 1) * sizeof(*p->calls));
	p->calls[p->n_calls++] =
	        (struct profile_call){ .caller = caller, .callee = callee, .n = n, .share = share };
}

static void what_has_one_caller_is_its_caller_s(void **state)
{
	struct profile *p = five();
	struct inclusive *all;

	(void)state;
	add_call(p, MAIN, FEW, 5, 1);
	add_call(p, FEW, LEAF, 5, 1);
	assert_int_equal(inclusive_source(p), INCLUSIVE_FLOW);
	all = inclusive_count(p);
	assert_float_equal(all[MAIN].insn, 1030, 1e-9);
	assert_float_equal(all[MAIN].raw_insn, 515, 1e-9);
	assert_float_equal(all[FEW].insn, 1020, 1e-9);
	assert_float_equal(all[LEAF].insn, 1000, 1e-9);
	assert_float_equal(all[MANY].insn, 30, 1e-9);
	free(all);
	profile_free(p);
}

/* Half of the calls of leaf are few's; what they come to may be all of it or nothing. */
static void of_several_callers_there_are_bounds(void **state)
{
	struct profile *p = five();
	struct inclusive_part *parts;
	struct inclusive *all;
	size_t n;

	(void)state;
	add_call(p, MAIN, FEW, 5, 1);
	add_call(p, MAIN, MANY, 5, 1);
	add_call(p, FEW, LEAF, 5, 0.5);
	add_call(p, MANY, LEAF, 5, 0.5);
	all = inclusive_count(p);
	assert_true(isnan(all[FEW].insn));
	assert_float_equal(all[FEW].lo, 20, 1e-9);
	assert_float_equal(all[FEW].hi, 1020, 1e-9);
	/* Whoever it was, main called them. */
	assert_float_equal(all[MAIN].insn, 1060, 1e-9);
	free(all);
	parts = inclusive_callers(p, LEAF, &n);
	assert_int_equal(n, 2);
	assert_true(isnan(parts[0].count.insn));
	assert_float_equal(parts[0].n, 5, 1e-9);
	free(parts);
	profile_free(p);
}

/* Instructions within regions don't add up, as cycles do: a nanosecond each is 3 cycles here. */
static void where_time_was_sampled_bounds_are_cycles(void **state)
{
	struct profile *p = five();
	struct inclusive *all;

	(void)state;
	p->meta.relative = true;
	for (int f = 0; f < N_FUNCS; f++)
		p->funcs[f].rolled.cyc *= 3;
	add_call(p, MAIN, FEW, 5, 1);
	add_call(p, MAIN, MANY, 5, 1);
	add_call(p, FEW, LEAF, 5, 0.5);
	add_call(p, MANY, LEAF, 5, 0.5);
	all = inclusive_count(p);
	assert_float_equal(all[FEW].lo, 60, 1e-9);
	assert_float_equal(all[FEW].hi, 3060, 1e-9);
	assert_float_equal(all[MAIN].cyc, 3180, 1e-9);
	assert_float_equal(all[MAIN].lo, 3180, 1e-9);
	free(all);
	profile_free(p);
}

static void a_recursion_is_for_who_began_it(void **state)
{
	struct profile *p = five();
	struct inclusive *all;

	(void)state;
	add_call(p, MAIN, FIB, 1, 0.01);
	add_call(p, FIB, FIB, 99, 0.99);
	all = inclusive_count(p);
	assert_float_equal(all[MAIN].insn, 50, 1e-9);
	assert_float_equal(all[FIB].insn, 40, 1e-9);
	free(all);
	profile_free(p);
}

static uint32_t add_context(struct profile *p, uint32_t parent, uint32_t func, double insn)
{
	struct profile_context *c;

	p->contexts = realloc(p->contexts, (p->n_contexts + 1) * sizeof(*p->contexts));
	c = &p->contexts[p->n_contexts];
	*c = (struct profile_context){ .parent = parent, .func = func, .insn = insn };
	for (int i = 0; i < CONTEXT_PARTS; i++)
		c->without[i] = insn;
	return (uint32_t)p->n_contexts++;
}

/* main calls few, many and fib, which call leaf. */
static struct profile *with_flow(void)
{
	struct profile *p = five();

	add_call(p, MAIN, FEW, 5, 1);
	add_call(p, MAIN, MANY, 5, 1);
	add_call(p, FEW, LEAF, 5, 0.5);
	add_call(p, MANY, LEAF, 5, 0.5);
	return p;
}

/* eq. 20.  Paths have a tenth of leaf below few, and nine tenths below many, of whom the caller is not seen. */
/* Threads begin with it: the code has one call of it, main's, and paths show who else calls it. */
static void what_threads_begin_with_is_not_all_its_one_caller_s(void **state)
{
	struct profile *p = five();
	struct inclusive_part *parts;
	uint32_t root;
	size_t n;

	(void)state;
	add_call(p, MAIN, MANY, 5, 1);
	add_call(p, MANY, LEAF, 5, 1);
	root = add_context(p, UINT32_MAX, MAIN, 10);
	add_context(p, add_context(p, root, MANY, 5), LEAF, 250);
	root = add_context(p, UINT32_MAX, FEW, 20);
	add_context(p, add_context(p, root, MANY, 15), LEAF, 750);
	parts = inclusive_callers(p, MANY, &n);
	assert_int_equal(n, 2);
	assert_int_equal(parts[0].func, MAIN);
	assert_float_equal(parts[0].count.insn, 1030 * 0.25, 1e-6);
	assert_int_equal(parts[1].func, FEW);
	assert_float_equal(parts[1].count.insn, 1030 * 0.75, 1e-6);
	assert_true(isnan(parts[1].n));
	free(parts);
	parts = inclusive_callees(p, FEW, &n);
	assert_int_equal(n, 2);
	assert_int_equal(parts[1].func, MANY);
	assert_float_equal(parts[1].count.insn, 1030 * 0.75, 1e-6);
	free(parts);
	parts = inclusive_callees(p, MAIN, &n);
	assert_int_equal(n, 2);
	assert_float_equal(parts[1].count.insn, 1030 * 0.25, 1e-6);
	free(parts);
	profile_free(p);
}

static void paths_divide_what_several_call(void **state)
{
	struct profile *p = with_flow();
	struct inclusive_part *parts;
	struct inclusive *all;
	size_t n;

	(void)state;
	add_context(p, add_context(p, UINT32_MAX, FEW, 2), LEAF, 1);
	add_context(p, add_context(p, UINT32_MAX, MANY, 3), LEAF, 9);
	all = inclusive_count(p);
	assert_float_equal(all[FEW].insn, 20 + 100, 1e-9);
	assert_float_equal(all[MANY].insn, 30 + 900, 1e-9);
	assert_float_equal(all[MANY].lo, 930, 1e-9);
	assert_float_equal(all[MANY].hi, 930, 1e-9);
	assert_true(isnan(all[MANY].cyc));
	assert_float_equal(all[MAIN].insn, 1060, 1e-9);
	free(all);
	parts = inclusive_callers(p, LEAF, &n);
	assert_int_equal(n, 2);
	assert_float_equal(parts[0].count.insn, 100, 1e-9);
	assert_float_equal(parts[1].count.insn, 900, 1e-9);
	free(parts);
	parts = inclusive_callees(p, MANY, &n);
	assert_float_equal(parts[0].count.insn + parts[1].count.insn, 930, 1e-9);
	free(parts);
	profile_free(p);
}

/* A tenth more or fewer calls by few, or by many, is a tenth of what those came to: of few's 100 of 1000 nine tenths of ten. */
static void noise_of_calls_is_of_what_they_ran(void **state)
{
	struct inclusive *all;

	(void)state;
	for (size_t noisy = 2; noisy < 4; noisy++) {
		struct profile *p = with_flow();

		add_context(p, add_context(p, UINT32_MAX, FEW, 2), LEAF, 1);
		add_context(p, add_context(p, UINT32_MAX, MANY, 3), LEAF, 9);
		p->calls[noisy].context_sd = 0.1;
		all = inclusive_count(p);
		assert_float_equal(all[FEW].hi - all[FEW].insn, 1.753 * 9, 1e-3);
		free(all);
		profile_free(p);
	}
}

/* No path has fib: of its 40 a quarter of the calls, as the flow counts them, is few's. */
static void what_no_path_tells_is_shared_as_it_is_called(void **state)
{
	struct profile *p = with_flow();
	struct inclusive *all;

	(void)state;
	add_call(p, FEW, FIB, 1, 0.25);
	add_call(p, MANY, FIB, 3, 0.75);
	add_context(p, add_context(p, UINT32_MAX, FEW, 2), LEAF, 1);
	add_context(p, add_context(p, UINT32_MAX, MANY, 3), LEAF, 9);
	all = inclusive_count(p);
	assert_float_equal(all[FEW].insn, 20 + 100 + 10, 1e-9);
	assert_float_equal(all[FEW].lo, 20 + 100, 1e-9);
	assert_float_equal(all[FEW].hi, 20 + 100 + 40, 1e-9);
	assert_float_equal(all[MANY].insn, 30 + 900 + 30, 1e-9);
	free(all);
	profile_free(p);
}

/* Of leaf, 1000 instructions, half has no caller on any path: of those that have one, four of five are many's. */
static void what_paths_leave_open_is_between_bounds(void **state)
{
	struct profile *p = with_flow();
	struct inclusive *all;

	(void)state;
	add_context(p, add_context(p, UINT32_MAX, FEW, 2), LEAF, 1);
	add_context(p, add_context(p, UINT32_MAX, MANY, 3), LEAF, 4);
	add_context(p, UINT32_MAX, LEAF, 5);
	all = inclusive_count(p);
	assert_float_equal(all[MANY].insn, 30 + 800, 1e-9);
	assert_float_equal(all[MANY].lo, 30 + 400, 1e-9);
	assert_float_equal(all[MANY].hi, 30 + 900, 1e-9);
	assert_int_equal(all[MANY].status, PROFILE_WEAK);
	/* Of few it is 100 to 600, and may be next to nothing. */
	assert_true(isnan(all[FEW].insn));
	assert_float_equal(all[FEW].lo, 20 + 100, 1e-9);
	assert_float_equal(all[FEW].hi, 20 + 600, 1e-9);
	free(all);
	profile_free(p);
}

/* Of leaf few has half by all paths, and 4 of 9 without one sixteenth of them. */
static void paths_have_an_interval(void **state)
{
	struct profile *p = with_flow();
	struct inclusive *all;
	uint32_t few;
	double sd;

	(void)state;
	few = add_context(p, add_context(p, UINT32_MAX, FEW, 2), LEAF, 5);
	add_context(p, add_context(p, UINT32_MAX, MANY, 3), LEAF, 5);
	p->contexts[few].without[3] = 4;
	all = inclusive_count(p);
	/* 1000 * (1/2 - 4/9) off in one of 16 parts; Student's t of 15 degrees of freedom. */
	sd = 1000.0 / 18 * sqrt(15.0 / 16 * (1 - 1.0 / 16));
	assert_float_equal(all[FEW].lo, 520 - 1.753 * sd, 1e-3);
	assert_float_equal(all[FEW].hi, 520 + 1.753 * sd, 1e-3);
	assert_float_equal(all[FEW].insn, 520, 1e-9);
	free(all);
	profile_free(p);
}

static uint32_t add_frame(struct profile *p, uint32_t parent, uint32_t func, double raw)
{
	p->frames = realloc(p->frames, (p->n_frames + 1) * sizeof(*p->frames));
	p->frames[p->n_frames] = (struct profile_frame){ parent, func, func, raw, raw };
	return (uint32_t)p->n_frames++;
}

/* main -> few -> leaf 100, main -> many -> leaf 400, main -> fib -> fib -> fib 20; main 5, few 10, many 15. */
static struct profile *with_stacks(void)
{
	struct profile *p = five();
	uint32_t root = add_frame(p, UINT32_MAX, UINT32_MAX, 0), at = add_frame(p, root, MAIN, 5);

	add_frame(p, add_frame(p, at, FEW, 10), LEAF, 100);
	add_frame(p, add_frame(p, at, MANY, 15), LEAF, 400);
	add_frame(p, add_frame(p, add_frame(p, at, FIB, 0), FIB, 0), FIB, 20);
	return p;
}

/* Every stack of leaf has few above it: that paths have none of these calls, which are few and long, takes nothing away. */
static void paths_take_nothing_from_what_stacks_saw(void **state)
{
	struct profile *p = five();
	struct inclusive *all;
	uint32_t root = add_frame(p, UINT32_MAX, UINT32_MAX, 0), at = add_frame(p, root, MAIN, 5);

	(void)state;
	p->meta.insn_event = -1;
	p->meta.pace = 1;
	add_call(p, MAIN, FEW, 5, 1);
	add_call(p, MAIN, MANY, 5, 1);
	add_call(p, MANY, LEAF, 5, 1);
	add_frame(p, add_frame(p, at, FEW, 10), LEAF, 400);
	add_frame(p, at, MANY, 15);
	add_context(p, UINT32_MAX, FEW, 2);
	add_context(p, add_context(p, UINT32_MAX, MANY, 3), LEAF, 5);
	all = inclusive_count(p);
	assert_true(all[FEW].lo <= 1020 && all[FEW].hi >= 1020);
	free(all);
	profile_free(p);
}

/* Of stacks that end in leaf it is not known who called, however they were told: main has 105 of 505 samples, or all. */
static void cut_stacks_may_be_anyone_s(void **state)
{
	struct profile *p = five();
	struct inclusive *all;
	uint32_t root = add_frame(p, UINT32_MAX, UINT32_MAX, 0), at = add_frame(p, root, MAIN, 5);

	(void)state;
	add_frame(p, at, LEAF, 100);
	add_frame(p, root, LEAF, 400);
	assert_float_equal(cut_stacks_share(p), 400. / 505, 1e-9);
	all = inclusive_count(p);
	assert_true(isnan(all[MAIN].insn));
	assert_true(all[MAIN].lo <= 10 + 200 && all[MAIN].hi >= 10 + 1000);
	assert_int_not_equal(all[MAIN].status, PROFILE_FIXED);
	assert_float_equal(all[LEAF].insn, 1000, 1e-9); /* none of them is without it */
	free(all);
	profile_free(p);
}

/* main calls by a pointer, and nothing tells who calls few, which calls leaf: it may be main, and not what main calls. */
static void pointers_may_call_what_nobody_is_known_to(void **state)
{
	struct profile *p = five();
	struct inclusive *all;

	(void)state;
	add_call(p, MAIN, MANY, 5, 1);
	add_call(p, FEW, LEAF, 5, 1);
	p->funcs[MAIN].uncalled = p->funcs[FEW].uncalled = true;
	p->funcs[MAIN].opens = p->funcs[LEAF].opens = true;
	all = inclusive_count(p);
	assert_float_equal(all[MAIN].lo, 40, 1e-9);
	assert_float_equal(all[MAIN].hi, 1060, 1e-9);
	assert_true(isnan(all[MAIN].insn)); /* it may be twice as much */
	assert_float_equal(all[MANY].hi, 30, 1e-9);
	assert_float_equal(all[LEAF].hi, 1040, 1e-9); /* few calls it: of those it is main's 40 only */
	assert_float_equal(all[LEAF].insn, 1000, 1e-9);
	free(all);
	profile_free(p);
}

/* few is known to 4, and leaf to 3: both together to 5. */
static void own_counts_widen_the_sum(void **state)
{
	struct profile *p = five();
	struct inclusive *all;

	(void)state;
	add_call(p, MAIN, FEW, 5, 1);
	add_call(p, FEW, LEAF, 5, 1);
	p->funcs[FEW].rolled.lo = 16;
	p->funcs[FEW].rolled.hi = 24;
	p->funcs[LEAF].rolled.lo = 997;
	p->funcs[LEAF].rolled.hi = 1003;
	all = inclusive_count(p);
	assert_float_equal(all[FEW].insn, 1020, 1e-9);
	assert_float_equal(all[FEW].lo, 1015, 1e-9);
	assert_float_equal(all[FEW].hi, 1025, 1e-9);
	assert_float_equal(all[LEAF].lo, 997, 1e-9);
	free(all);
	profile_free(p);
}

static void draw(struct profile *p, size_t insn, uint32_t func, size_t block)
{
	p->insns[insn] = (struct profile_insn){ .func = func, .phys_func = func, .block = (uint32_t)block };
}

/* few and leaf are drawn together, each known to 100: more of one is more of the other, or less where the sum is counted. */
static void what_is_drawn_together_is_summed_together(void **state)
{
	for (int less = 0; less < 2; less++) {
		struct profile *p = five();
		struct inclusive *all;

		(void)state;
		add_call(p, MAIN, FEW, 5, 1);
		add_call(p, FEW, LEAF, 5, 1);
		p->insns = calloc(2, sizeof(*p->insns));
		p->n_insns = 2;
		draw(p, 0, FEW, 0);
		draw(p, 1, LEAF, 1);
		p->regions = calloc(1, sizeof(*p->regions));
		p->n_regions = 1;
		p->regions[0].n_blocks = 2;
		p->regions[0].n_draws = 100;
		p->regions[0].draws = calloc(200, sizeof(float));
		for (int d = 0; d < 100; d++) {
			p->regions[0].draws[2 * d] = 400 + (float)d;
			p->regions[0].draws[2 * d + 1] = less ? 1000 - (float)d : 1000 + (float)d;
		}
		for (int f = FEW; f <= LEAF; f += LEAF - FEW)
			p->funcs[f].rolled = (struct profile_count){ .insn = 1000, .lo = 900, .hi = 1100 };
		all = inclusive_count(p);
		assert_float_equal(all[FEW].insn, 2000, 1e-9);
		assert_float_equal(all[FEW].hi - all[FEW].insn, less ? 0 : 200, 1e-3);
		assert_int_equal(all[FEW].status, less ? PROFILE_FIXED : PROFILE_WEAK);
		free(all);
		profile_free(p);
	}
}

/* few and many call each other: a path that has leaf below few, and many beside it, says nothing of what many comes to. */
static void of_a_cycle_paths_tell_what_they_show(void **state)
{
	struct profile *p = five();
	struct inclusive_part *parts;
	struct inclusive *all;
	uint32_t at;
	size_t n;

	(void)state;
	add_call(p, MAIN, FEW, 5, 0.5);
	add_call(p, MANY, FEW, 5, 0.5);
	add_call(p, FEW, MANY, 5, 1);
	add_call(p, FEW, LEAF, 5, 0.5);
	add_call(p, MANY, LEAF, 5, 0.5);
	at = add_context(p, UINT32_MAX, MAIN, 10);
	at = add_context(p, at, FEW, 20);
	add_context(p, at, MANY, 30);
	add_context(p, at, LEAF, 1000);
	all = inclusive_count(p);
	assert_true(isnan(all[MANY].insn));
	assert_float_equal(all[MANY].lo, 30, 1e-9);
	assert_true(all[MANY].hi > 30 + 0.5 * 1050 && all[MANY].hi <= 1050);
	/* Whoever of them it was, main called them. */
	assert_float_equal(all[MAIN].insn, 1060, 1e-9);
	free(all);
	/* The call that closes the circle is a call: what it comes to is in that of main. */
	parts = inclusive_callers(p, FEW, &n);
	assert_int_equal(n, 2);
	assert_int_equal(parts[1].func, MANY);
	assert_true(isnan(parts[1].count.insn));
	assert_float_equal(parts[1].n, 5, 1e-9);
	free(parts);
	profile_free(p);
}

/* With every instruction a sample, total of them; few's own 20 are known to one. */
static struct inclusive *count_sampled(struct profile *p, double total)
{
	struct profile_event event = { .period = 1, .total = total };
	struct inclusive *all;

	p->meta.events = &event;
	p->meta.n_events = 1;
	p->funcs[FEW].rolled.lo = 19;
	p->funcs[FEW].rolled.hi = 21;
	all = inclusive_count(p);
	p->meta.events = NULL;
	p->meta.n_events = 0;
	return all;
}

/* few ends in a jump to leaf, which the stacks have below main: that few called it a path tells, and the flow how often. */
static void what_ends_in_a_jump_has_what_it_jumps_to(void **state)
{
	struct profile *p = five();
	uint32_t root = add_frame(p, UINT32_MAX, UINT32_MAX, 0), at = add_frame(p, root, MAIN, 5);
	struct inclusive *all;

	(void)state;
	add_frame(p, at, FEW, 10);
	add_frame(p, at, LEAF, 500);
	add_call(p, MAIN, FEW, 5, 1);
	add_call(p, FEW, LEAF, 5, 1);
	add_context(p, add_context(p, add_context(p, UINT32_MAX, MAIN, 1), FEW, 2), LEAF, 100);
	all = count_sampled(p, 1030);
	assert_float_equal(all[FEW].insn, 20 + 1000, 1e-9);
	/* Which is main's as before. */
	assert_float_equal(all[MAIN].insn, 10 + 20 + 1000, 1e-9);
	free(all);
	profile_free(p);
}

/*
 * So, too, where leaf has too few samples on stacks to tell that few jumped, and where main calls leaf besides, so that paths, of
 * which few's have 100 of 160 instructions in leaf, leave more open than stacks do.
 */
static void what_ends_in_a_jump_is_not_its_own_alone(void **state)
{
	struct profile *p = five();
	uint32_t root = add_frame(p, UINT32_MAX, UINT32_MAX, 0), at = add_frame(p, root, MAIN, 5);
	struct inclusive *all;

	(void)state;
	add_frame(p, at, FEW, 2);
	add_frame(p, at, LEAF, 5);
	add_call(p, MAIN, FEW, 5, 1);
	add_call(p, FEW, LEAF, 5, .7);
	add_call(p, MAIN, LEAF, 2, .3);
	add_context(p, add_context(p, add_context(p, UINT32_MAX, MAIN, 1), FEW, 2), LEAF, 100);
	add_context(p, UINT32_MAX, LEAF, 60);
	all = count_sampled(p, 1030);
	assert_true(all[FEW].lo > 20 + 1000 * 100. / 160 - 2 && all[FEW].hi <= 1021);
	assert_true(all[FEW].insn >= all[FEW].lo && all[FEW].insn <= all[FEW].hi);
	free(all);
	profile_free(p);
}

/* The same where few is inlined, too, in itself and in many: the flow knows calls of it.  Only inlined, it is on stacks alone. */
static void paths_are_asked_of_what_is_called_and_inlined(void **state)
{
	(void)state;
	for (int called = 0; called < 2; called++) {
		struct profile *p = five();
		uint32_t root = add_frame(p, UINT32_MAX, UINT32_MAX, 0), at = add_frame(p, root, MAIN, 5),
		         few = called ? add_frame(p, at, FEW, 10) : 0, many = add_frame(p, at, MANY, 15);
		struct inclusive *all;

		if (few)
			add_frame(p, few, FEW, 10);
		few = add_frame(p, many, FEW, 10);
		p->frames[few].phys_func = MANY;
		add_frame(p, at, LEAF, 500);
		add_call(p, MAIN, FEW, 5, 1);
		add_call(p, MAIN, MANY, 5, 1);
		add_call(p, FEW, LEAF, 5, 1);
		add_context(p, add_context(p, add_context(p, UINT32_MAX, MAIN, 1), FEW, 2), LEAF, 100);
		p->funcs[FEW].inlined = true;
		all = count_sampled(p, 1060);
		if (called)
			assert_float_equal(all[FEW].insn, 20 + 1000, 1e-9);
		else
			assert_true(all[FEW].insn < 100);
		free(all);
		profile_free(p);
	}
}

/*
 * main -> few -> leaf 100, main -> many -> leaf 400 by way of few, which is inlined in many: few has what is below its calls, and
 * all else is many's, to whom leaf is a callee.  Where few is not called it has what is below it in many.
 */
static void what_is_called_has_not_what_is_below_its_inlined_copies(void **state)
{
	(void)state;
	for (int called = 0; called < 2; called++) {
		struct profile *p = five();
		uint32_t root = add_frame(p, UINT32_MAX, UINT32_MAX, 0), at = add_frame(p, root, MAIN, 5),
		         copy;
		struct inclusive *all;
		struct inclusive_part *parts;
		size_t n;

		add_frame(p, add_frame(p, at, called ? FEW : FIB, 10), LEAF, 100);
		copy = add_frame(p, add_frame(p, at, MANY, 15), FEW, 5);
		p->frames[copy].phys_func = MANY;
		add_frame(p, copy, LEAF, 400);
		p->funcs[FEW].inlined = true;
		all = inclusive_count(p);
		assert_float_equal(all[MANY].raw_insn, 420, 1e-9);
		assert_float_equal(all[FEW].raw_insn, called ? 110 : 405, 1e-9);
		assert_float_equal(all[MANY].insn, 30 + 800, 1e-9);
		if (called)
			assert_float_equal(all[FEW].insn, 20 + 200, 1e-9);
		free(all);
		parts = inclusive_callers(p, FEW, &n);
		assert_int_equal(n, 1);
		assert_int_equal(parts[0].func, called ? MAIN : MANY);
		assert_float_equal(parts[0].count.raw_insn, called ? 110 : 405, 1e-9);
		free(parts);
		parts = inclusive_callees(p, MANY, &n);
		assert_int_equal(n, 2);
		assert_int_equal(parts[0].func, called ? MANY : FEW);
		assert_float_equal(parts[0].count.raw_insn, called ? 20 : 405, 1e-9);
		assert_int_equal(parts[1].func, called ? LEAF : MANY);
		assert_float_equal(parts[1].count.raw_insn, called ? 400 : 15, 1e-9);
		free(parts);
		profile_free(p);
	}
}

/* Half of the stacks have callers of others in their place: bursts, which have whole ones, tell whether that is wrong. */
static void lost_callers_are_doubted_as_bursts_find_them_wrong(void **state)
{
	struct profile *p = five();
	uint32_t root = add_frame(p, UINT32_MAX, UINT32_MAX, 0);

	(void)state;
	add_frame(p, add_frame(p, root, MAIN, 5), FEW, 10);
	add_call(p, MAIN, FEW, 5, 1);
	p->meta.chains = "branch records";
	p->meta.n_chains = 1000;
	p->meta.n_chains_lost = 500;
	p->n_context_stacks = 400;
	assert_float_equal(inclusive_doubted_stacks(p), .5, 1e-9);
	assert_int_equal(inclusive_source(p), INCLUSIVE_FLOW);
	p->meta.n_lost_tested = 198;
	assert_float_equal(inclusive_doubted_stacks(p), .5 / 200, 1e-9);
	assert_int_equal(inclusive_source(p), INCLUSIVE_STACKS);
	p->meta.n_lost_wrong = 99;
	assert_float_equal(inclusive_doubted_stacks(p), .5 / 2, 1e-9);
	assert_int_equal(inclusive_source(p), INCLUSIVE_FLOW);
	p->n_context_stacks = 0;
	profile_free(p);
}

/*
 * Fixed counts of leaf, 1000 for 500 raw ones, go to its stacks as those do: of its ten samples two are few's, which binomially are
 * 1.26 more or less.
 */
static void stacks_divide_what_is_fixed(void **state)
{
	struct profile *p = with_stacks();
	struct inclusive *all;

	(void)state;
	p->meta.n_events = 1;
	p->meta.events = calloc(1, sizeof(*p->meta.events));
	p->meta.events[0].period = 50;
	p->meta.events[0].total = 1100;
	assert_int_equal(inclusive_source(p), INCLUSIVE_STACKS);
	all = inclusive_count(p);
	assert_float_equal(all[FEW].insn, 20 + 200, 1e-9);
	assert_float_equal(all[FEW].hi - 220, 1.645 * 100 * sqrt(10 * .2 * .8), 1e-6);
	assert_float_equal(all[MANY].insn, 30 + 800, 1e-9);
	assert_float_equal(all[MANY].raw_insn, 415, 1e-9);
	assert_float_equal(all[MAIN].insn, 1100, 1e-9);
	/* Three times on the stack, counted once. */
	assert_float_equal(all[FIB].insn, 40, 1e-9);
	free(all);
	profile_free(p);
}

/* Exact counts of leaf, 1000, go to its stacks as samples of time do: of ten two are few's, 1.26 more or less. */
static void exact_counts_are_divided_no_better_than_time_tells(void **state)
{
	struct profile *p = with_stacks();
	struct inclusive *all;

	(void)state;
	p->meta.n_events = 1;
	p->meta.events = calloc(1, sizeof(*p->meta.events));
	p->meta.events[0].period = 50;
	p->meta.insn_event = -1;
	p->meta.cyc_per_event = 1;
	p->meta.truth = "exact";
	for (size_t i = 1; i < p->n_frames; i++)
		p->frames[i].raw_insn = 0;
	all = inclusive_count(p);
	assert_float_equal(all[FEW].insn, 20 + 200, 1e-9);
	assert_float_equal(all[FEW].hi - 220, 1.645 * 100 * sqrt(10 * .2 * .8), 1e-6);
	free(all);
	profile_free(p);
}

/* Of few's parts leaf's count is known to half of it; of its 110 raw ones of 550, period 1, samples tell it to a ninth. */
static void samples_tell_what_parts_do_not(void **state)
{
	struct profile *p = with_stacks();
	struct inclusive *all;

	(void)state;
	p->meta.n_events = 1;
	p->meta.events = calloc(1, sizeof(*p->meta.events));
	p->meta.events[0] = (struct profile_event){ .period = 1, .total = 2200 };
	p->funcs[LEAF].rolled.lo = 500;
	p->funcs[LEAF].rolled.hi = 1500;
	all = inclusive_count(p);
	assert_float_equal(all[FEW].insn, 2200 * .2, 1e-9);
	assert_float_equal(all[FEW].hi - all[FEW].insn, 1.645 * 2200 * sqrt(.2 * .8 / 550), 1e-3);
	assert_int_equal(all[FEW].status, PROFILE_WEAK);
	free(all);
	profile_free(p);
}

/* A skid of 10 cycles, one instruction for each ten of them: of samples so many instructions apart. */
static void show_skid(struct profile *p, double apart)
{
	p->meta.n_events = 2;
	p->meta.events = calloc(2, sizeof(*p->meta.events));
	p->meta.events[0] =
	        (struct profile_event){ .period = (uint64_t)apart, .n_samples = 550, .total = 1100 * apart };
	p->meta.events[1] = (struct profile_event){ .period = 1, .n_samples = 550, .total = 11000 * apart };
	p->meta.cyc_event = 1;
	p->meta.cyc_per_event = 1;
	p->meta.skid_median_cyc = 10;
}

/* A call of few is shorter than the skid, and each is seen; but its stacks come in one row: one of them may lie beside it. */
static void what_is_seldom_left_is_seldom_displaced(void **state)
{
	struct profile *p = with_stacks();
	struct inclusive *all;
	double far;

	(void)state;
	show_skid(p, 1);
	p->funcs[FEW].calls = (struct profile_calls){ .n = 1000, .hi = 1000, .n_terms = 1 };
	all = inclusive_count(p);
	far = all[FEW].hi;
	free(all);
	p->funcs[FEW].visits = 1;
	all = inclusive_count(p);
	assert_true(far > 1100);
	assert_true(all[FEW].hi < all[FEW].insn + 1 + 1.645 * 1100 * sqrt(.2 * .8 / 550));
	free(all);
	/* More calls than that are known: between samples it was left, and all that is seen in it may be from outside. */
	p->funcs[FEW].calls.lo = 900;
	all = inclusive_count(p);
	assert_true(all[FEW].hi == far);
	free(all);
	p->funcs[FEW].calls.lo = NAN;
	all = inclusive_count(p);
	assert_true(all[FEW].hi < 1100);
	free(all);
	/* Samples as close as the skid say nothing of it. */
	p->meta.skid_median_cyc = 20;
	all = inclusive_count(p);
	assert_true(all[FEW].hi > 1100);
	free(all);
	profile_free(p);
}

/* The same, of so many times the samples' counts. */
static void sample_apart(struct profile *p, double times)
{
	show_skid(p, times);
	for (size_t i = 1; i < p->n_frames; i++) {
		p->frames[i].raw_insn *= times;
		p->frames[i].raw_cyc *= times;
	}
	for (size_t f = 0; f < p->n_funcs; f++)
		p->funcs[f].count.insn = p->funcs[f].rolled.insn *= times;
}

/*
 * Of few's 1005 calls 1000 are leaf's, which runs only below few: five come from outside, each displaces a skid of 10 cycles, of two
 * instructions.  Where leaf is only guessed to be called by few all of it may have come from outside.
 */
static void what_only_it_calls_calls_it_from_inside(void **state)
{
	struct profile *p = with_stacks();
	struct inclusive *all;

	(void)state;
	sample_apart(p, 1);
	add_call(p, MAIN, FEW, 5, .005);
	add_call(p, LEAF, FEW, 1000, .995);
	add_call(p, FEW, LEAF, 1000, 1);
	for (size_t i = 0; i < p->n_calls; i++)
		p->calls[i].lo = p->calls[i].hi = p->calls[i].n;
	p->funcs[FEW].calls = (struct profile_calls){ .n = 1005, .lo = 1005, .hi = 1005, .n_terms = 1 };
	all = inclusive_count(p);
	assert_float_equal(all[FEW].insn, 220, 1e-9);
	assert_true(all[FEW].hi > 220 + 5 * 20 && all[FEW].hi < 220 + 5 * 20 + 50);
	free(all);
	p->calls[0].guessed = true;
	all = inclusive_count(p);
	assert_true(all[FEW].hi > 1100);
	free(all);
	profile_free(p);
}

/*
 * Samples are 200 instructions apart, a skid is 20: ten visits of many samples each displace a skid each, and what may hide between two
 * samples that one.  Where nine of them are of one sample each sample may be from outside.
 */
static void long_visits_displace_a_skid_each(void **state)
{
	struct profile *p = with_stacks();
	struct inclusive *all;
	double hi;

	(void)state;
	sample_apart(p, 100);
	p->funcs[FEW].visits = 10;
	all = inclusive_count(p);
	assert_float_equal(all[FEW].insn, 22000, 1e-6);
	hi = all[FEW].hi;
	free(all);
	p->funcs[FEW].brief = 9;
	all = inclusive_count(p);
	assert_float_equal(all[FEW].hi - hi, 10 * 200 - (10 * 20 + 200), 1e-2);
	free(all);
	profile_free(p);
}

/*
 * Leaf's count is known to a third of it: samples of few's one visit tell it better, 220.  Paths have two fifths of leaf there, by which
 * it is 300 at least: their interval is the wider one, and few jumps nowhere.
 */
static void paths_that_know_less_give_nothing_to_what_samples_tell(void **state)
{
	struct profile *p = with_stacks();
	struct inclusive *all;

	(void)state;
	sample_apart(p, 1);
	p->funcs[FEW].visits = 1;
	p->funcs[LEAF].rolled.lo = 700;
	p->funcs[LEAF].rolled.hi = 1300;
	add_call(p, MAIN, FEW, 5, 1);
	add_call(p, MAIN, MANY, 5, 1);
	add_call(p, FEW, LEAF, 5, 0.5);
	add_call(p, MANY, LEAF, 5, 0.5);
	add_context(p, add_context(p, UINT32_MAX, FEW, 20), LEAF, 400);
	add_context(p, add_context(p, UINT32_MAX, MANY, 30), LEAF, 600);
	all = inclusive_count(p);
	assert_float_equal(all[FEW].insn, 220, 1e-9);
	assert_true(all[FEW].hi < 300);
	free(all);
	profile_free(p);
}

/*
 * few's own 60 and two tenths of leaf's 1000 are 260, but samples of its only visit come to 220: at even distances these are known
 * to one of them or two, and it is the parts that are wrong.  Of periods that the kernel chose chance leaves 31 open, as before.
 */
static void one_visit_is_told_by_its_own_samples(void **state)
{
	(void)state;
	for (int freq = 0; freq < 2; freq++) {
		struct profile *p = with_stacks();
		struct inclusive *all;

		show_skid(p, 1);
		p->meta.events[0].period = 2;
		p->meta.events[0].freq = freq;
		for (size_t i = 1; i < p->n_frames; i++)
			p->frames[i].raw_insn *= 2;
		p->funcs[FEW].count.insn = p->funcs[FEW].rolled.insn = 60;
		p->funcs[FEW].visits = 1;
		all = inclusive_count(p);
		assert_float_equal(all[FEW].insn, freq ? 260 : 220, 1e-9);
		if (!freq)
			assert_float_equal(all[FEW].hi, 220 + 2 + 1.645 * 2, 1e-3);
		free(all);
		profile_free(p);
	}
}

/*
 * What is inlined into few calls leaf: the flow has a call of few's, and stacks do have it.  Few has not jumped to leaf, and paths that
 * leave more open than stacks are not asked.
 */
static void what_is_inlined_calls_as_what_holds_it(void **state)
{
	(void)state;
	for (int inlined = 0; inlined < 2; inlined++) {
		struct profile *p = five();
		uint32_t root = add_frame(p, UINT32_MAX, UINT32_MAX, 0), at = add_frame(p, root, MAIN, 5);
		struct inclusive *all;

		at = add_frame(p, at, FEW, 10);
		at = add_frame(p, at, MANY, 0);
		p->frames[at].phys_func = inlined ? FEW : MANY;
		add_frame(p, at, LEAF, 500);
		add_call(p, MAIN, FEW, 5, 1);
		add_call(p, FEW, LEAF, 5, .7);
		add_call(p, MAIN, LEAF, 2, .3);
		add_context(p, add_context(p, add_context(p, UINT32_MAX, MAIN, 1), FEW, 2), LEAF, 100);
		add_context(p, UINT32_MAX, LEAF, 60);
		all = count_sampled(p, 1030);
		assert_float_equal(all[FEW].insn, 1020, 1e-9);
		assert_float_equal(all[FEW].lo, inlined ? 1019 : 20 + 1000 * 100. / 160 - 1, 1);
		free(all);
		profile_free(p);
	}
}

/* leaf's caller was few on other stacks: a tenth of leaf's 1000 may be another's, that calls it. */
static void a_caller_that_was_lost_is_in_doubt(void **state)
{
	struct profile *p = five();
	struct inclusive *all;
	uint32_t root = add_frame(p, UINT32_MAX, UINT32_MAX, 0), at = add_frame(p, root, MAIN, 5), lost;

	(void)state;
	add_call(p, MAIN, FEW, 5, 1);
	add_call(p, MAIN, MANY, 5, 1);
	add_call(p, FEW, LEAF, 5, .5);
	add_call(p, MANY, LEAF, 5, .5);
	lost = add_frame(p, add_frame(p, at, FEW, 10), LEAF, 500);
	add_frame(p, at, MANY, 15);
	add_frame(p, at, FIB, 20);
	p->frames[lost].doubt = .1;
	all = inclusive_count(p);
	assert_float_equal(all[FEW].insn, 20 + 1000, 1e-9);
	assert_float_equal(all[FEW].lo, 20 + 900, 1e-9);
	assert_float_equal(all[MANY].hi, 30 + 100, 1e-9);
	/* It does not call leaf. */
	assert_float_equal(all[FIB].hi, 40, 1e-9);
	free(all);
	profile_free(p);
}

static void callers_and_callees_add_up(void **state)
{
	struct profile *p = with_stacks();
	struct inclusive_part *parts;
	size_t n;

	(void)state;
	parts = inclusive_callers(p, LEAF, &n);
	assert_int_equal(n, 2);
	assert_int_equal(parts[0].func, FEW);
	assert_float_equal(parts[0].count.insn, 200, 1e-9);
	assert_int_equal(parts[1].func, MANY);
	assert_float_equal(parts[1].count.insn, 800, 1e-9);
	free(parts);
	/* Of a recursion, who called it first. */
	parts = inclusive_callers(p, FIB, &n);
	assert_int_equal(n, 1);
	assert_int_equal(parts[0].func, MAIN);
	free(parts);
	parts = inclusive_callees(p, MAIN, &n);
	assert_int_equal(n, 4);
	assert_int_equal(parts[0].func, MAIN);
	assert_float_equal(parts[0].count.insn, 10, 1e-9);
	assert_float_equal(parts[1].count.insn, 220, 1e-9);
	free(parts);
	parts = inclusive_callers(p, MAIN, &n);
	assert_int_equal(n, 1);
	assert_int_equal(parts[0].func, UINT32_MAX);
	free(parts);
	profile_free(p);
}

/* leaf is called by the inner of two calls of fib, and calls few, which calls leaf again. */
static void a_recursion_has_its_own_and_what_it_calls(void **state)
{
	struct profile *p = five();
	struct inclusive_part *parts;
	uint32_t root = add_frame(p, UINT32_MAX, UINT32_MAX, 0), at = add_frame(p, root, MAIN, 5), leaf;
	size_t n;

	(void)state;
	leaf = add_frame(p, add_frame(p, add_frame(p, at, FIB, 10), FIB, 10), LEAF, 300);
	add_frame(p, add_frame(p, leaf, FEW, 10), LEAF, 200);
	parts = inclusive_callees(p, FIB, &n);
	assert_int_equal(n, 2);
	assert_int_equal(parts[0].func, LEAF);
	assert_float_equal(parts[0].count.insn, 1000 + 20, 1e-9);
	assert_int_equal(parts[1].func, FIB);
	assert_float_equal(parts[1].count.insn, 40, 1e-9);
	free(parts);
	profile_free(p);
}

static void without_either_nothing_is_known(void **state)
{
	struct profile *p = five();

	(void)state;
	assert_int_equal(inclusive_source(p), INCLUSIVE_NONE);
	profile_free(p);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_has_one_caller_is_its_caller_s),
		cmocka_unit_test(of_several_callers_there_are_bounds),
		cmocka_unit_test(where_time_was_sampled_bounds_are_cycles),
		cmocka_unit_test(a_recursion_is_for_who_began_it),
		cmocka_unit_test(what_threads_begin_with_is_not_all_its_one_caller_s),
		cmocka_unit_test(paths_divide_what_several_call),
		cmocka_unit_test(noise_of_calls_is_of_what_they_ran),
		cmocka_unit_test(what_no_path_tells_is_shared_as_it_is_called),
		cmocka_unit_test(what_paths_leave_open_is_between_bounds),
		cmocka_unit_test(paths_have_an_interval),
		cmocka_unit_test(paths_take_nothing_from_what_stacks_saw),
		cmocka_unit_test(cut_stacks_may_be_anyone_s),
		cmocka_unit_test(pointers_may_call_what_nobody_is_known_to),
		cmocka_unit_test(own_counts_widen_the_sum),
		cmocka_unit_test(what_is_drawn_together_is_summed_together),
		cmocka_unit_test(of_a_cycle_paths_tell_what_they_show),
		cmocka_unit_test(what_ends_in_a_jump_has_what_it_jumps_to),
		cmocka_unit_test(what_ends_in_a_jump_is_not_its_own_alone),
		cmocka_unit_test(stacks_divide_what_is_fixed),
		cmocka_unit_test(exact_counts_are_divided_no_better_than_time_tells),
		cmocka_unit_test(samples_tell_what_parts_do_not),
		cmocka_unit_test(what_is_seldom_left_is_seldom_displaced),
		cmocka_unit_test(what_only_it_calls_calls_it_from_inside),
		cmocka_unit_test(long_visits_displace_a_skid_each),
		cmocka_unit_test(paths_that_know_less_give_nothing_to_what_samples_tell),
		cmocka_unit_test(one_visit_is_told_by_its_own_samples),
		cmocka_unit_test(what_is_inlined_calls_as_what_holds_it),
		cmocka_unit_test(paths_are_asked_of_what_is_called_and_inlined),
		cmocka_unit_test(what_is_called_has_not_what_is_below_its_inlined_copies),
		cmocka_unit_test(lost_callers_are_doubted_as_bursts_find_them_wrong),
		cmocka_unit_test(a_caller_that_was_lost_is_in_doubt),
		cmocka_unit_test(callers_and_callees_add_up),
		cmocka_unit_test(a_recursion_has_its_own_and_what_it_calls),
		cmocka_unit_test(without_either_nothing_is_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
