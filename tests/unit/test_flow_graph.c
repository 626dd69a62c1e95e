/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Graphs of functions in this very program, which are written out in assembly. */
#include "tests/unit/flow_graphs.h"

#include <stdio.h>

#ifdef __x86_64__
__asm__(".text\n"
        ".type flowtest_loop, @function\n"
        "flowtest_loop: call *%rbx\n"
        "flowtest_after: dec %ecx\n"
        "jne flowtest_loop\n"
        "ret\n"
        ".size flowtest_loop, . - flowtest_loop\n"
        ".type flowtest_callee, @function\n"
        "flowtest_callee: inc %eax\n"
        "ret\n"
        ".size flowtest_callee, . - flowtest_callee\n"
        ".type flowtest_jump, @function\n"
        "flowtest_jump: jmp *%rdx\n"
        "nop\n"
        "flowtest_case: dec %eax\n"
        "jne flowtest_jump\n"
        "ret\n"
        ".size flowtest_jump, . - flowtest_jump\n"
        ".type flowtest_slot, @function\n"
        "flowtest_slot: call *getppid@GOTPCREL(%rip)\n"
        "flowtest_slot_after: dec %ecx\n"
        "jne flowtest_slot\n"
        "ret\n"
        ".size flowtest_slot, . - flowtest_slot\n"
        ".type flowtest_far, @function\n"
        "flowtest_far: call flowtest_large\n"
        "flowtest_far_after: dec %ecx\n"
        "jne flowtest_far\n"
        "ret\n"
        ".size flowtest_far, . - flowtest_far\n"
        ".type flowtest_large, @function\n"
        "flowtest_large: .rept 300\n"
        "inc %eax\n"
        ".endr\n"
        "ret\n"
        ".size flowtest_large, . - flowtest_large\n"
        ".type flowtest_top, @function\n"
        "flowtest_top: call flowtest_once\n"
        "call flowtest_callee\n"
        "ret\n"
        ".size flowtest_top, . - flowtest_top\n"
        ".type flowtest_once, @function\n"
        "flowtest_once: .rept 300\n"
        "inc %eax\n"
        ".endr\n"
        "call flowtest_callee\n"
        "ret\n"
        ".size flowtest_once, . - flowtest_once\n"
        ".type flowtest_try, @function\n"
        "flowtest_try: call flowtest_risky\n"
        "dec %ecx\n"
        "jne flowtest_try\n" /* jumps away land here */
        "ret\n"
        ".size flowtest_try, . - flowtest_try\n"
        ".type flowtest_risky, @function\n"
        "flowtest_risky: je 1f\n"
        "call flowtest_leap\n"
        "1: ret\n"
        ".size flowtest_risky, . - flowtest_risky\n"
        ".type flowtest_leap, @function\n"
        "flowtest_leap: jmp *%rsi\n"
        ".size flowtest_leap, . - flowtest_leap\n"
        ".type flowtest_resume, @function\n"
        "flowtest_resume: call flowtest_leap\n" /* others jump back behind it */
        "ret\n"
        ".size flowtest_resume, . - flowtest_resume\n"
        ".type flowtest_turns, @function\n"
        "flowtest_turns: call flowtest_resume\n"
        "dec %ecx\n"
        "jne flowtest_turns\n"
        "ret\n"
        ".size flowtest_turns, . - flowtest_turns\n"
        ".type flowtest_other, @function\n"
        "flowtest_other: call flowtest_leap\n"
        "jmp flowtest_other\n"
        ".size flowtest_other, . - flowtest_other\n");

struct self {
	struct module *m;
	struct flow_graph *g;
};

static uint64_t vaddr_of(const struct self *s, const char *name)
{
	long at = module_func_named(s->m, name);

	assert_true(at >= 0);
	return module_func(s->m, (size_t)at)->vaddr;
}

static void open_self(struct self *s)
{
	const struct module_options opts = { .no_debuginfod = true };

	*s = (struct self){ 0 };
	assert_int_equal(module_open("/proc/self/exe", NULL, 0, &opts, &s->m), 0);
}

static void build(struct self *s, const struct flow_hot *hot, size_t n_hot, const struct flow_seen *seen,
                  size_t n_seen)
{
	const struct flow_input in = {
		.modules = &s->m, .n_modules = 1, .hot = hot, .n_hot = n_hot, .seen = seen, .n_seen = n_seen
	};

	flow_free(s->g);
	s->g = NULL;
	assert_int_equal(flow_build(&in, &s->g), 0);
}

static void close_self(struct self *s)
{
	flow_free(s->g);
	module_free(s->m);
}

static const struct flow_edge *edge_between(const struct self *s, uint64_t from, uint64_t to)
{
	for (size_t i = 0; i < s->g->n_edges; i++) {
		const struct flow_edge *e = &s->g->edges[i];

		if (s->g->blocks[e->from].vaddr == from && s->g->blocks[e->to].vaddr == to &&
		    e->kind != FLOW_SKIP)
			return e;
	}
	return NULL;
}

static void an_indirect_call_alone_is_unknown(void **state)
{
	struct self s;
	uint64_t loop;

	(void)state;
	open_self(&s);
	loop = vaddr_of(&s, "flowtest_loop");
	build(&s, &(struct flow_hot){ 0, loop, 1 }, 1, NULL, 0);
	/* call, dec + jne, ret */
	assert_int_equal(s.g->n_blocks, 3);
	assert_true(s.g->blocks[0].unknown_target);
	assert_false(s.g->blocks[1].unknown_target);
	/* SKIP over the call, back and on from the branch. */
	assert_int_equal(s.g->n_edges, 3);
	assert_int_equal(s.g->edges[0].kind, FLOW_SKIP);
	close_self(&s);
}

static void branch_records_tell_targets(void **state)
{
	struct flow_seen seen = { .n = 7 };
	const struct flow_edge *call, *ret;
	struct self s;

	(void)state;
	open_self(&s);
	seen.from_vaddr = vaddr_of(&s, "flowtest_loop");
	seen.to_vaddr = vaddr_of(&s, "flowtest_callee");
	build(&s, &(struct flow_hot){ 0, seen.from_vaddr, 1 }, 1, &seen, 1);
	call = edge_between(&s, seen.from_vaddr, seen.to_vaddr);
	assert_non_null(call);
	assert_int_equal(call->kind, FLOW_CALL);
	assert_false(call->guessed);
	assert_false(s.g->blocks[call->from].unknown_target);
	/* call *%rbx is two bytes long */
	ret = edge_between(&s, seen.to_vaddr, seen.from_vaddr + 2);
	assert_non_null(ret);
	assert_int_equal(ret->kind, FLOW_RET);
	assert_int_equal(ret->call, call->from);
	close_self(&s);
}

/* As longjmp(3) does: past the function that called what jumps, which therefore does not return there, into the one before. */
static void a_jump_into_the_middle_of_another_function_leads_away(void **state)
{
	struct flow_seen seen = { .n = 7 };
	const struct flow_edge *away;
	struct self s;
	uint64_t try, risky;

	(void)state;
	open_self(&s);
	try = vaddr_of(&s, "flowtest_try");
	risky = vaddr_of(&s, "flowtest_risky");
	seen.from_vaddr = vaddr_of(&s, "flowtest_leap");
	seen.to_vaddr = try + 5 + 2; /* past the call and dec */
	build(&s, &(struct flow_hot){ 0, try, 1 }, 1, &seen, 1);
	away = edge_between(&s, seen.from_vaddr, seen.to_vaddr);
	assert_non_null(away);
	assert_int_equal(away->kind, FLOW_IND);
	assert_true(away->away);
	for (size_t i = 0; i < s.g->n_edges; i++) {
		const struct flow_edge *e = &s.g->edges[i];

		assert_int_equal(e->away, e == away);
		/* Of the two calls only that of `risky`, from `try`, is returned from. */
		if (e->kind == FLOW_RET || e->kind == FLOW_SKIP)
			assert_int_equal(s.g->blocks[e->call].vaddr, try);
	}
	/* je is two bytes long: the call has its edge. */
	assert_non_null(edge_between(&s, risky + 2, seen.from_vaddr));
	close_self(&s);
}

/* Coroutines: what switches leaves a function for good, but another comes back behind the call of it, and that one returns. */
static void a_function_that_is_jumped_back_into_returns(void **state)
{
	struct flow_seen seen[2] = { { .n = 7 }, { .n = 7 } };
	uint64_t turns, resume, other, leap;
	const struct flow_edge *ret;
	struct self s;

	(void)state;
	open_self(&s);
	turns = vaddr_of(&s, "flowtest_turns");
	resume = vaddr_of(&s, "flowtest_resume");
	other = vaddr_of(&s, "flowtest_other");
	leap = vaddr_of(&s, "flowtest_leap");
	seen[0].from_vaddr = seen[1].from_vaddr = leap;
	seen[0].to_vaddr = other + 5; /* past the call */
	/* As long as nobody was seen to come back it does not return. */
	build(&s, &(struct flow_hot){ 0, turns, 1 }, 1, seen, 1);
	assert_null(edge_between(&s, resume + 5, turns + 5));
	seen[1].to_vaddr = resume + 5;
	build(&s, &(struct flow_hot){ 0, turns, 1 }, 1, seen, 2);
	ret = edge_between(&s, resume + 5, turns + 5);
	assert_non_null(ret);
	assert_int_equal(ret->kind, FLOW_RET);
	/* What switches itself returns to none of its callers. */
	for (size_t i = 0; i < s.g->n_edges; i++)
		if (s.g->edges[i].kind == FLOW_RET)
			assert_int_equal(s.g->blocks[s.g->edges[i].call].vaddr, turns);
	close_self(&s);
}

/* What a slot's name would find may be another version of the function; here it finds none at all. */
static void branch_records_tell_what_a_slot_was_bound_to(void **state)
{
	struct flow_seen seen = { .to_module = 1, .n = 1 };
	struct module *modules[2];
	struct flow_hot hot;
	struct self s;

	(void)state;
	open_self(&s);
	assert_int_equal(module_open("/proc/self/exe", NULL, 0,
	                             &(struct module_options){ .no_debuginfod = true }, &modules[1]),
	                 0);
	modules[0] = s.m;
	seen.from_vaddr = vaddr_of(&s, "flowtest_slot");
	seen.to_vaddr = vaddr_of(&s, "flowtest_callee");
	hot = (struct flow_hot){ 0, seen.from_vaddr, 1 };
	assert_int_equal(flow_build(&(struct flow_input){ modules, 2, &hot, 1, &seen, 1 }, &s.g), 0);
	assert_non_null(edge_between(&s, seen.from_vaddr, seen.to_vaddr));
	/* call *getppid@GOTPCREL(%rip) is six bytes long */
	assert_non_null(edge_between(&s, seen.to_vaddr, seen.from_vaddr + 6));
	module_free(modules[1]);
	close_self(&s);
}

/* More than 256 instructions without a sample are not worth following, unless branch records show that they ran. */
static void large_callees_without_samples_are_followed_if_they_ran(void **state)
{
	struct flow_seen seen = { .n = 1 };
	struct flow_hot hot;
	struct self s;

	(void)state;
	open_self(&s);
	seen.from_vaddr = vaddr_of(&s, "flowtest_far");
	seen.to_vaddr = vaddr_of(&s, "flowtest_large");
	hot = (struct flow_hot){ 0, seen.from_vaddr, 1 };
	build(&s, &hot, 1, NULL, 0);
	assert_null(edge_between(&s, seen.from_vaddr, seen.to_vaddr));
	/* 300 inc and a ret are stepped over. */
	assert_int_equal(s.g->edges[0].kind, FLOW_SKIP);
	assert_int_equal(s.g->edges[0].cut_insn, 301);
	build(&s, &hot, 1, &seen, 1);
	assert_non_null(edge_between(&s, seen.from_vaddr, seen.to_vaddr));
	/* call rel32 is five bytes long */
	assert_non_null(edge_between(&s, seen.to_vaddr, seen.from_vaddr + 5));
	close_self(&s);
}

static bool has_cold_call(const struct self *s, uint64_t from, uint64_t to)
{
	for (size_t i = 0; i < s->g->n_cold_calls; i++) {
		const struct flow_cold_call *c = &s->g->cold_calls[i];

		if (c->from_vaddr >= from && c->from_vaddr < from + 1024 && c->to_vaddr == to)
			return !c->from_points && !c->to_points;
	}
	return false;
}

/* What was called once, and has no sample, is not in the graph; it leads to what has one, beside another way. */
static void calls_through_what_is_left_out_are_told(void **state)
{
	struct flow_hot hot[2] = { { 0 } };
	uint64_t top, once, callee;
	struct self s;

	(void)state;
	open_self(&s);
	top = vaddr_of(&s, "flowtest_top");
	once = vaddr_of(&s, "flowtest_once");
	callee = vaddr_of(&s, "flowtest_callee");
	hot[top < callee] = (struct flow_hot){ 0, callee, 1 };
	hot[top > callee] = (struct flow_hot){ 0, top, 1 };
	build(&s, hot, 2, NULL, 0);
	assert_null(edge_between(&s, top, once));
	assert_true(has_cold_call(&s, top, once));
	assert_true(has_cold_call(&s, once, callee));
	/* Where nothing ran, it leads nowhere. */
	build(&s, &(struct flow_hot){ 0, top, 1 }, 1, NULL, 0);
	assert_false(has_cold_call(&s, top, once));
	close_self(&s);
}

/* A loop that takes too little time for a sample of its own calls what has them all: one branch of it is enough. */
static void callers_without_samples_are_there_if_they_branched(void **state)
{
	struct flow_seen seen = { .n = 1 };
	struct flow_hot hot;
	struct self s;

	(void)state;
	open_self(&s);
	/* From the dec and jne behind a call of five bytes. */
	seen.to_vaddr = vaddr_of(&s, "flowtest_far");
	seen.from_vaddr = seen.to_vaddr + 7;
	hot = (struct flow_hot){ 0, vaddr_of(&s, "flowtest_large"), 1 };
	build(&s, &hot, 1, NULL, 0);
	assert_null(edge_between(&s, seen.to_vaddr, hot.vaddr));
	build(&s, &hot, 1, &seen, 1);
	assert_non_null(edge_between(&s, seen.to_vaddr, hot.vaddr));
	assert_non_null(edge_between(&s, seen.to_vaddr + 5, seen.to_vaddr));
	close_self(&s);
}

static void hot_functions_that_nothing_calls_are_guessed(void **state)
{
	struct flow_hot hot[2] = { { 0 } };
	const struct flow_edge *call;
	struct self s;

	(void)state;
	open_self(&s);
	hot[0] = (struct flow_hot){ 0, vaddr_of(&s, "flowtest_loop"), 1 };
	hot[1] = (struct flow_hot){ 0, vaddr_of(&s, "flowtest_callee"), 1 };
	build(&s, hot, 2, NULL, 0);
	call = edge_between(&s, hot[0].vaddr, hot[1].vaddr);
	assert_non_null(call);
	assert_true(call->guessed);
	assert_false(s.g->blocks[call->from].unknown_target);
	close_self(&s);
}

static void hot_code_behind_an_unreadable_jump_is_its_target(void **state)
{
	struct flow_hot hot[2] = { { 0 } };
	const struct flow_edge *jump;
	struct self s;

	(void)state;
	open_self(&s);
	/* jmp *%rdx: two bytes, nop: one; then flowtest_case */
	hot[0] = (struct flow_hot){ 0, vaddr_of(&s, "flowtest_jump"), 1 };
	hot[1] = (struct flow_hot){ 0, hot[0].vaddr + 3, 1 };
	build(&s, hot, 2, NULL, 0);
	jump = edge_between(&s, hot[0].vaddr, hot[1].vaddr);
	assert_non_null(jump);
	assert_int_equal(jump->kind, FLOW_IND);
	assert_true(jump->guessed);
	assert_int_equal(s.g->n_funcs, 1);
	close_self(&s);
}

static void blocks_are_found_by_address(void **state)
{
	struct self s;
	uint64_t loop;

	(void)state;
	open_self(&s);
	loop = vaddr_of(&s, "flowtest_loop");
	build(&s, &(struct flow_hot){ 0, loop, 1 }, 1, NULL, 0);
	for (size_t i = 0; i < s.g->n_blocks; i++)
		for (uint64_t at = s.g->blocks[i].vaddr; at < s.g->blocks[i].end_vaddr; at++)
			assert_int_equal(flow_block_at(s.g, 0, at), i);
	assert_int_equal(flow_block_at(s.g, 0, loop - 1), -1);
	assert_int_equal(flow_block_at(s.g, 1, loop), -1);
	assert_int_equal(flow_block_at(s.g, 0, s.g->blocks[s.g->n_blocks - 1].end_vaddr), -1);
	close_self(&s);
}

static void samples_outside_of_code_are_no_graph(void **state)
{
	const struct flow_hot hot[] = { { 0, 0x10, 1 }, { 0, UINT64_MAX, 1 }, { 3, 0x1000, 1 } };
	struct self s;

	(void)state;
	open_self(&s);
	build(&s, hot, 3, NULL, 0);
	assert_int_equal(s.g->n_blocks, 0);
	assert_int_equal(s.g->n_edges, 0);
	close_self(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_indirect_call_alone_is_unknown),
		cmocka_unit_test(branch_records_tell_targets),
		cmocka_unit_test(a_jump_into_the_middle_of_another_function_leads_away),
		cmocka_unit_test(a_function_that_is_jumped_back_into_returns),
		cmocka_unit_test(branch_records_tell_what_a_slot_was_bound_to),
		cmocka_unit_test(large_callees_without_samples_are_followed_if_they_ran),
		cmocka_unit_test(calls_through_what_is_left_out_are_told),
		cmocka_unit_test(callers_without_samples_are_there_if_they_branched),
		cmocka_unit_test(hot_functions_that_nothing_calls_are_guessed),
		cmocka_unit_test(hot_code_behind_an_unreadable_jump_is_its_target),
		cmocka_unit_test(blocks_are_found_by_address),
		cmocka_unit_test(samples_outside_of_code_are_no_graph),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
#else
int main(void)
{
	printf("ok 1 - graphs of x86-64 assembly # SKIP not on this machine\n");
	return 0;
}
#endif
