/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Exact counts joined to a profile: the binary is this test's own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "correct/correct.h"
#include "profiler/base/err.h"

/* Something to count in: a function with another put in place in it, and one that is never sampled. */
static inline __attribute__((always_inline)) unsigned join_inner(unsigned x)
{
	for (unsigned i = 0; i < x; i++)
		x = x * 2654435761u ^ x >> 7;
	return x;
}

__attribute__((noinline)) unsigned join_outer(unsigned x);
__attribute__((noinline)) unsigned join_outer(unsigned x)
{
	return join_inner(x + 3) * 5 + 1;
}

__attribute__((noinline)) unsigned join_unsampled(unsigned x);
__attribute__((noinline)) unsigned join_unsampled(unsigned x)
{
	return x * 12345 + (x >> 3);
}

struct bench {
	char path[4096];
	struct module *m;
	uint64_t outer, unsampled; /* entries */
	uint64_t in_inner; /* an address of join_inner inside join_outer; 0 without debug information */
	struct module_scope scope;   /* of join_outer */
	struct module_scope inlined; /* of join_inner */
	struct profile *p;
	struct truth t;
	char *object[2], *id[2];
	struct truth_insn insns[4];
};

static void look_into(struct bench *b, const struct module_func *f)
{
	struct module_scope s[MODULE_MAX_SCOPES];

	for (uint64_t v = f->vaddr; v < f->vaddr + f->size_bytes; v++) {
		size_t n = module_scopes(b->m, v, s);

		if (n == 2 && strcmp(s[0].name, "join_inner") == 0) {
			b->in_inner = v;
			b->inlined = s[0];
		} else if (n == 1) {
			b->outer = v;
			b->scope = s[0];
		}
	}
}

/* A profile that knows join_outer only. */
static void make_profile(struct bench *b)
{
	struct profile *p = calloc(1, sizeof(*p));

	p->modules = calloc(1, sizeof(*p->modules));
	p->modules[0] = (struct profile_module){ profile_string(p, b->path),
		                                 profile_string(p, module_build_id(b->m)), "" };
	p->n_modules = 1;
	p->funcs = calloc(1, sizeof(*p->funcs));
	p->funcs[0] = (struct profile_func){ .name = profile_string(p, b->scope.name),
		                             .linkage = profile_string(p, b->scope.linkage),
		                             .line = b->scope.line,
		                             .why = "" };
	p->n_funcs = 1;
	b->p = p;
}

static int setup(void **state)
{
	struct bench *b = calloc(1, sizeof(*b));
	struct module_options opts = { .no_debuginfod = true };
	ssize_t n = readlink("/proc/self/exe", b->path, sizeof(b->path) - 1);
	long outer, unsampled;

	if (n < 0 || module_open(b->path, NULL, 0, &opts, &b->m) < 0)
		return -1;
	outer = module_func_named(b->m, "join_outer");
	unsampled = module_func_named(b->m, "join_unsampled");
	if (outer < 0 || unsampled < 0)
		return -1;
	b->unsampled = module_func(b->m, (size_t)unsampled)->vaddr;
	look_into(b, module_func(b->m, (size_t)outer));
	make_profile(b);
	b->object[0] = b->path;
	b->object[1] = (char *)"/no/such/library.so";
	b->id[0] = (char *)module_build_id(b->m);
	b->id[1] = (char *)"";
	b->t = (struct truth){ .objects = b->object, .build_ids = b->id, .n_objects = 2, .insns = b->insns };
	*state = b;
	return 0;
}

static int teardown(void **state)
{
	struct bench *b = *state;

	profile_free(b->p);
	module_free(b->m);
	free(b);
	return 0;
}

static void count(struct bench *b, uint32_t object, uint64_t vaddr, uint64_t n)
{
	b->insns[b->t.n_insns++] = (struct truth_insn){ object, vaddr, n };
	b->t.total += n;
}

static const struct module_options no_options = { .no_debuginfod = true };

static void instructions_go_to_the_function_that_holds_them(void **state)
{
	struct bench *b = *state;
	double *own = NULL, *rolled = NULL, unmatched = -1;

	count(b, 0, b->outer, 40);
	assert_int_equal(correct_truth_join(b->p, &b->t, &no_options, &own, &rolled, &unmatched), 0);
	assert_int_equal(b->p->n_funcs, 1);
	assert_true(own[0] == 40 && rolled[0] == 40);
	assert_true(unmatched == 0);
	free(own);
	free(rolled);
}

/* 7 executions of an instruction of join_inner: its own, and join_outer's when rolled up. */
static void inlined_instructions_count_for_both_views(void **state)
{
	struct bench *b = *state;
	double *own = NULL, *rolled = NULL, unmatched;
	size_t inner;

	if (!b->in_inner)
		skip(); /* built without debug information */
	count(b, 0, b->in_inner, 7);
	assert_int_equal(correct_truth_join(b->p, &b->t, &no_options, &own, &rolled, &unmatched), 0);
	assert_int_equal(b->p->n_funcs, 2);
	inner = 1;
	assert_string_equal(b->p->funcs[inner].name, "join_inner");
	assert_int_equal(b->p->funcs[inner].line, b->inlined.line);
	assert_true(own[inner] == 7 && own[0] == 0);
	assert_true(rolled[0] == 7 && rolled[inner] == 0);
	free(own);
	free(rolled);
}

static void a_function_never_sampled_gets_a_row_of_its_own(void **state)
{
	struct bench *b = *state;
	uint64_t first = b->outer < b->unsampled ? b->outer : b->unsampled;
	double *own = NULL, *rolled = NULL, unmatched;

	count(b, 0, first, first == b->outer ? 3 : 11);
	count(b, 0, first == b->outer ? b->unsampled : b->outer, first == b->outer ? 11 : 3);
	assert_int_equal(correct_truth_join(b->p, &b->t, &no_options, &own, &rolled, &unmatched), 0);
	assert_true(rolled[0] == 3);
	for (size_t i = 1; i < b->p->n_funcs; i++)
		if (strcmp(b->p->funcs[i].name, "join_unsampled") == 0) {
			assert_true(rolled[i] == 11);
			assert_string_equal(b->p->funcs[i].why, "never sampled");
			assert_int_equal(b->p->funcs[i].status, PROFILE_RAW);
			assert_true(b->p->funcs[i].count.insn == 0);
			free(own);
			free(rolled);
			return;
		}
	fail_msg("join_unsampled has no row");
}

static void an_object_that_cannot_be_read_is_said_to_be_unmatched(void **state)
{
	struct bench *b = *state;
	double *own = NULL, *rolled = NULL, unmatched = 0, sum = 0;

	count(b, 0, b->outer, 5);
	count(b, 1, 0x1000, 70);
	count(b, 1, 0x1004, 30);
	assert_int_equal(correct_truth_join(b->p, &b->t, &no_options, &own, &rolled, &unmatched), 0);
	assert_true(unmatched == 100);
	/* They are in neither view lost. */
	for (size_t i = 0; i < b->p->n_funcs; i++)
		sum += rolled[i];
	assert_true(sum == 105);
	assert_string_equal(b->p->funcs[b->p->n_funcs - 1].name, "[unknown]");
	free(own);
	free(rolled);
}

static void another_build_is_refused(void **state)
{
	struct bench *b = *state;
	double *own = NULL, *rolled = NULL, unmatched;

	if (!*module_build_id(b->m))
		skip();
	b->id[0] = (char *)"0123456789abcdef0123456789abcdef01234567";
	count(b, 0, b->outer, 5);
	assert_int_equal(correct_truth_join(b->p, &b->t, &no_options, &own, &rolled, &unmatched), -SP_EDOUBT);
	assert_non_null(strstr(sp_error_text(), "not the same binary"));
	assert_null(own);
	assert_null(rolled);
}

static void an_empty_truth_is_all_zero(void **state)
{
	struct bench *b = *state;
	double *own = NULL, *rolled = NULL, *per_insn = NULL, unmatched = -1;

	assert_int_equal(correct_truth_join(b->p, &b->t, &no_options, &own, &rolled, &unmatched), 0);
	assert_true(own[0] == 0 && rolled[0] == 0 && unmatched == 0);
	assert_int_equal(correct_truth_insns(b->p, &b->t, &per_insn), 0);
	free(own);
	free(rolled);
	free(per_insn);
}

/* Profile: 0x10, 0x14, 0x18, 0x20 of the module; truth: another object first, then 0x10 x 4, 0x18 x 6. */
static void each_instruction_finds_its_own_executions(void **state)
{
	struct bench *b = *state;
	char *objects[] = { b->object[1], b->path };
	static const uint64_t at[] = { 0x10, 0x14, 0x18, 0x20 };
	double *n = NULL;

	b->t.objects = objects;
	count(b, 0, 0x14, 99);
	count(b, 1, 0x10, 4);
	count(b, 1, 0x18, 6);
	b->p->insns = calloc(4, sizeof(*b->p->insns));
	b->p->n_insns = 4;
	for (int i = 0; i < 4; i++)
		b->p->insns[i].vaddr = at[i];
	assert_int_equal(correct_truth_insns(b->p, &b->t, &n), 0);
	assert_true(n[0] == 4 && n[1] == 0 && n[2] == 6 && n[3] == 0);
	free(n);
}

#define TEST(x) cmocka_unit_test_setup_teardown(x, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(instructions_go_to_the_function_that_holds_them),
		TEST(inlined_instructions_count_for_both_views),
		TEST(a_function_never_sampled_gets_a_row_of_its_own),
		TEST(an_object_that_cannot_be_read_is_said_to_be_unmatched),
		TEST(another_build_is_refused),
		TEST(an_empty_truth_is_all_zero),
		TEST(each_instruction_finds_its_own_executions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
