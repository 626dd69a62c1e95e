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

#include "profiler/base/err.h"
#include "report/match/join.h"
#include "report/match/same_run.h"

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
	struct module_inlining inlining; /* of join_outer */
	struct module_inlining inlined;  /* of join_inner */
	struct profile *p;
	struct truth t;
	const char *object[2], *id[2];
	struct truth_insn insns[4];
};

static void look_into(struct bench *b, const struct module_func *f)
{
	struct module_inlining s[MODULE_MAX_INLININGS];

	for (uint64_t v = f->vaddr; v < f->vaddr + f->size_bytes; v++) {
		size_t n = module_inlinings(b->m, v, s);

		if (n == 2 && strcmp(s[0].name, "join_inner") == 0) {
			b->in_inner = v;
			b->inlined = s[0];
		} else if (n == 1) {
			b->outer = v;
			b->inlining = s[0];
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
	p->funcs[0] = (struct profile_func){ .name = profile_string(p, b->inlining.name),
		                             .linkage = profile_string(p, b->inlining.linkage),
		                             .line = b->inlining.line,
		                             .column = b->inlining.column,
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
	b->object[1] = "/no/such/library.so";
	b->id[0] = module_build_id(b->m);
	b->id[1] = "";
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
	struct truth_join j;

	count(b, 0, b->outer, 40);
	assert_int_equal(match_join(b->p, &b->t, "x.truth", &no_options, &j), 0);
	assert_int_equal(b->p->n_funcs, 1);
	assert_true(j.own[0] == 40 && j.rolled[0] == 40);
	assert_true(j.unmatched == 0);
	match_join_fini(&j);
}

/* 7 executions of an instruction of join_inner: its own, and join_outer's when rolled up. */
static void inlined_instructions_count_for_both_views(void **state)
{
	struct bench *b = *state;
	struct truth_join j;
	size_t inner;

	if (!b->in_inner)
		skip(); /* built without debug information */
	count(b, 0, b->in_inner, 7);
	assert_int_equal(match_join(b->p, &b->t, "x.truth", &no_options, &j), 0);
	assert_int_equal(b->p->n_funcs, 2);
	inner = 1;
	assert_string_equal(b->p->funcs[inner].name, "join_inner");
	assert_int_equal(b->p->funcs[inner].line, b->inlined.line);
	assert_true(j.own[inner] == 7 && j.own[0] == 0);
	assert_true(j.rolled[0] == 7 && j.rolled[inner] == 0);
	match_join_fini(&j);
}

static void a_function_never_sampled_gets_a_row_of_its_own(void **state)
{
	struct bench *b = *state;
	uint64_t first = b->outer < b->unsampled ? b->outer : b->unsampled;
	struct truth_join j;

	count(b, 0, first, first == b->outer ? 3 : 11);
	count(b, 0, first == b->outer ? b->unsampled : b->outer, first == b->outer ? 11 : 3);
	assert_int_equal(match_join(b->p, &b->t, "x.truth", &no_options, &j), 0);
	assert_true(j.rolled[0] == 3);
	for (size_t i = 1; i < b->p->n_funcs; i++)
		if (strcmp(b->p->funcs[i].name, "join_unsampled") == 0) {
			assert_true(j.rolled[i] == 11);
			assert_string_equal(b->p->funcs[i].why, "never sampled");
			assert_int_equal(b->p->funcs[i].status, PROFILE_RAW);
			assert_true(b->p->funcs[i].count.insn == 0);
			match_join_fini(&j);
			return;
		}
	fail_msg("join_unsampled has no row");
}

static void an_object_that_cannot_be_read_is_said_to_be_unmatched(void **state)
{
	struct bench *b = *state;
	struct truth_join j;
	double sum = 0;

	count(b, 0, b->outer, 10000);
	count(b, 1, 0x1000, 70);
	count(b, 1, 0x1004, 30);
	assert_int_equal(match_join(b->p, &b->t, "x.truth", &no_options, &j), 0);
	assert_true(j.unmatched == 100);
	/* They are in neither view lost. */
	for (size_t i = 0; i < b->p->n_funcs; i++)
		sum += j.rolled[i];
	assert_true(sum == 10100);
	assert_string_equal(b->p->funcs[b->p->n_funcs - 1].name, "[unknown]");
	match_join_fini(&j);
}

static void another_build_is_refused(void **state)
{
	struct bench *b = *state;
	struct truth_join j;

	if (!*module_build_id(b->m))
		skip();
	b->id[0] = "0123456789abcdef0123456789abcdef01234567";
	count(b, 0, b->outer, 5);
	assert_int_equal(match_join(b->p, &b->t, "x.truth", &no_options, &j), -SP_ENOENT);
	assert_non_null(strstr(sp_error_text(), "not the same build"));
	assert_null(j.own);
	assert_null(j.rolled);
}

/* 100 of 1,100 instructions: more than 1%. */
static void a_truth_of_another_program_names_both_build_ids(void **state)
{
	struct bench *b = *state;
	struct truth_join j;

	b->id[1] = "00112233";
	count(b, 0, b->outer, 1000);
	count(b, 1, 0x1000, 100);
	assert_int_equal(match_join(b->p, &b->t, "x.truth", &no_options, &j), -SP_ENOENT);
	assert_non_null(strstr(sp_error_text(), "x.truth: 9.1% of its instructions"));
	assert_non_null(strstr(sp_error_text(), "/no/such/library.so, build id 00112233"));
	assert_non_null(strstr(sp_error_text(), module_build_id(b->m)));
}

/* The truth was made of a copy elsewhere, and perf padded the id of the recording with zeros. */
static void the_same_build_id_is_the_same_file_wherever_it_lies(void **state)
{
	struct bench *b = *state;
	char padded[64];
	struct truth_join j;

	if (!*module_build_id(b->m))
		skip();
	snprintf(padded, sizeof(padded), "%s00", module_build_id(b->m));
	b->p->modules[0].build_id = profile_string(b->p, padded);
	b->object[0] = "/somewhere/else/entirely";
	count(b, 0, b->outer, 40);
	assert_int_equal(match_join(b->p, &b->t, "x.truth", &no_options, &j), 0);
	assert_int_equal(b->p->n_funcs, 1);
	assert_true(j.own[0] == 40);
	match_join_fini(&j);
}

static void add_library(struct bench *b, const char *path, const char *id)
{
	struct profile *p = b->p;

	p->modules = realloc(p->modules, 2 * sizeof(*p->modules));
	p->modules[1] = (struct profile_module){ profile_string(p, path), profile_string(p, id), "" };
	p->n_modules = 2;
}

static void a_library_of_another_build_is_left_out(void **state)
{
	struct bench *b = *state;
	struct truth_join j;

	add_library(b, "/lib/library.so", "aa");
	b->id[1] = "bb";
	count(b, 0, b->outer, 40);
	count(b, 1, 0x1000, 60);
	assert_int_equal(match_join(b->p, &b->t, "x.truth", &no_options, &j), 0);
	assert_true(j.incomparable[1] && !j.incomparable[0]);
	assert_true(j.another == 60 && j.own[0] == 40 && b->p->n_funcs == 1);
	match_join_fini(&j);
}

/* Every instruction of join_unsampled, as a tool without build ids counts them. */
static void count_all(struct bench *b, struct truth_insn *insns, uint64_t shift)
{
	const struct module_func *f = module_func(b->m, (size_t)module_func_named(b->m, "join_unsampled"));
	struct insn_decoder *d = NULL;
	struct insn insn;

	b->t.insns = insns;
	b->id[0] = "";
	assert_int_equal(insn_decoder_new(module_isa(b->m), &d), 0);
	for (uint64_t v = f->vaddr; v < f->vaddr + f->size_bytes && b->t.n_insns < 64; v += insn.size_bytes) {
		size_t n;
		const uint8_t *code = module_code(b->m, v, &n);

		assert_int_equal(insn_decode(d, code, n, v, &insn), 0);
		insns[b->t.n_insns++] = (struct truth_insn){ 0, v + shift, 7 };
	}
	insn_decoder_free(d);
}

static void without_build_ids_the_instructions_must_be_the_same(void **state)
{
	struct bench *b = *state;
	struct truth_insn insns[64];
	struct truth_join j;
	char path[4096], *base = strrchr(b->path, '/');

	count_all(b, insns, 0);
	assert_int_equal(match_join(b->p, &b->t, "x.truth", &no_options, &j), 0);
	match_join_fini(&j);
	/* At another path, by the name of the file. */
	snprintf(path, sizeof(path), "/somewhere/else%s", base);
	b->object[0] = path;
	assert_int_equal(match_join(b->p, &b->t, "x.truth", &no_options, &j), 0);
	match_join_fini(&j);
	/* A page further on there are others. */
	b->object[0] = b->path;
	b->t.n_insns = 0;
	count_all(b, insns, 0x1000);
	assert_int_equal(match_join(b->p, &b->t, "x.truth", &no_options, &j), -SP_ENOENT);
	assert_non_null(strstr(sp_error_text(), "its instructions of"));
}

static void an_empty_truth_is_all_zero(void **state)
{
	struct bench *b = *state;
	struct truth_join j;

	assert_int_equal(match_join(b->p, &b->t, "x.truth", &no_options, &j), 0);
	assert_true(j.own[0] == 0 && j.rolled[0] == 0 && j.unmatched == 0);
	match_join_fini(&j);
}

/* Profile: 0x10, 0x14, 0x18, 0x20 of the module; truth: another object first, then 0x10 x 994, 0x18 x 6. */
static void each_instruction_finds_its_own_executions(void **state)
{
	struct bench *b = *state;
	const char *objects[] = { b->object[1], b->path };
	static const uint64_t at[] = { 0x10, 0x14, 0x18, 0x20 };
	const char *ids[] = { b->id[1], b->id[0] };
	struct truth_join j;
	const double *n;

	b->t.build_ids = ids;
	b->t.objects = objects;
	/* So little of another file that it is no other program. */
	count(b, 0, 0x14, 9);
	count(b, 1, 0x10, 994);
	count(b, 1, 0x18, 6);
	b->p->insns = calloc(4, sizeof(*b->p->insns));
	b->p->n_insns = 4;
	for (int i = 0; i < 4; i++)
		b->p->insns[i].vaddr = at[i];
	assert_int_equal(match_join(b->p, &b->t, "x.truth", &no_options, &j), 0);
	n = j.per_insn;
	assert_true(n[0] == 994 && n[1] == 0 && n[2] == 6 && n[3] == 0);
	assert_true(j.listed[0] && !j.listed[1] && j.listed[2] && !j.listed[3]);
	match_join_fini(&j);
}

/* A region of two instructions, both of join_outer and join_unsampled's; one draw: 30 and 70. */
static void region_of_two(struct bench *b, uint64_t first, uint64_t second)
{
	struct profile *p = b->p;
	static const uint32_t funcs[] = { 0, 1 };

	p->funcs = realloc(p->funcs, 2 * sizeof(*p->funcs));
	p->funcs[1] = (struct profile_func){ .name = "join_unsampled",
		                             .linkage = "join_unsampled",
		                             .line = p->funcs[0].line,
		                             .column = p->funcs[0].column,
		                             .why = "",
		                             .count = { .insn = 70, .lo = 69, .hi = 71, .cyc = 50 } };
	p->n_funcs = 2;
	p->funcs[0].count = (struct profile_count){ .insn = 30, .lo = 29, .hi = 31, .cyc = 50 };
	p->insns = calloc(2, sizeof(*p->insns));
	p->n_insns = 2;
	for (uint32_t i = 0; i < 2; i++)
		p->insns[i] = (struct profile_insn){
			.vaddr = i ? second : first,
			.func = funcs[i],
			.phys_func = funcs[i],
			.block = i,
			.count = { .insn = i ? 70 : 30, .cyc = 50 },
		};
	p->regions = calloc(1, sizeof(*p->regions));
	p->regions[0] =
	        (struct profile_region){ .name = "loop", .insn = 100, .cyc = 100, .why = "", .n_draws = 1 };
	p->regions[0].draws = calloc(2, sizeof(float));
	p->n_regions = 1;
	p->meta.relative = true;
	p->meta.insn_event = p->meta.cyc_event = -1;
}

/* 600 and 1400 in the truth: 30% and 70%, as the profile has them. */
static void exact_counts_take_the_place_of_shares(void **state)
{
	struct bench *b = *state;
	bool outer_first = b->outer < b->unsampled;

	region_of_two(b, b->outer, b->unsampled);
	count(b, 0, outer_first ? b->outer : b->unsampled, outer_first ? 600 : 1400);
	count(b, 0, outer_first ? b->unsampled : b->outer, outer_first ? 1400 : 600);
	assert_int_equal(match_apply(b->p, &b->t, "x.truth", &no_options), 0);
	assert_string_equal(b->p->meta.truth, "x.truth");
	assert_string_equal(b->p->meta.truth_why, "");
	assert_false(b->p->meta.relative);
	assert_int_equal(b->p->worst, PROFILE_FIXED);
	assert_true(b->p->funcs[0].count.insn == 600 && b->p->funcs[0].count.lo == 600);
	assert_true(b->p->funcs[0].count.cyc == 50);
	assert_int_equal(b->p->funcs[0].evidence, PROFILE_BY_TRUTH);
	assert_true(b->p->insns[0].count.insn == 600 && b->p->insns[1].count.insn == 1400);
	assert_true(b->p->regions[0].insn == 2000);
}

/* 900 and 1100: 45% where bursts saw 30%, to within 1%. */
static void a_truth_that_bursts_contradict_is_doubted(void **state)
{
	struct bench *b = *state;
	bool outer_first = b->outer < b->unsampled;

	region_of_two(b, b->outer, b->unsampled);
	count(b, 0, outer_first ? b->outer : b->unsampled, outer_first ? 900 : 1100);
	count(b, 0, outer_first ? b->unsampled : b->outer, outer_first ? 1100 : 900);
	assert_int_equal(match_apply(b->p, &b->t, "x.truth", &no_options), 0);
	assert_non_null(
	        strstr(b->p->meta.truth_why, "30.0% of the instructions of loop in this recording, 45.0%"));
	assert_int_equal(b->p->worst, PROFILE_UNRELIABLE);
}

/* join_outer has samples, and an exact count of none: four speak against that count, ten against the run. */
static void a_count_of_none_is_doubted_where_samples_fell(void **state)
{
	struct bench *b = *state;
	struct profile *p = b->p;
	bool *own;

	region_of_two(b, b->outer, b->unsampled);
	free(p->meta.events);
	p->meta.events = calloc(1, sizeof(*p->meta.events));
	p->meta.events[0] =
	        (struct profile_event){ .name = "cpu-clock:u", .period = 5, .n_samples = 40, .total = 200 };
	p->meta.n_events = 1;
	p->meta.cyc_event = 0;
	p->meta.cyc_per_event = 1;
	count(b, 0, b->unsampled, 2000);
	p->funcs[0].count.raw_cyc = p->funcs[0].rolled.raw_cyc = 20;
	assert_int_equal(match_apply(p, &b->t, "x.truth", &no_options), 0);
	assert_int_equal(p->funcs[0].status, PROFILE_UNRELIABLE);
	assert_null(strstr(p->meta.truth_why, "GLIBC_TUNABLES"));
	p->funcs[0].count.raw_cyc = p->funcs[0].rolled.raw_cyc = 50;
	assert_int_equal(match_apply(p, &b->t, "x.truth", &no_options), 0);
	assert_int_equal(p->funcs[0].status, PROFILE_UNRELIABLE);
	assert_int_equal(p->funcs[0].rolled_status, PROFILE_UNRELIABLE);
	assert_int_equal(p->insns[0].status, PROFILE_UNRELIABLE);
	assert_int_equal(p->funcs[1].status, PROFILE_FIXED);
	assert_int_equal(p->insns[1].status, PROFILE_FIXED);
	assert_int_equal(p->worst, PROFILE_UNRELIABLE);
	assert_non_null(strstr(p->funcs[0].why, "GLIBC_TUNABLES=glibc.cpu.hwcaps="));
	assert_non_null(
	        strstr(p->meta.truth_why, "has 100.0% of the cycles: it never ran in the counted run"));
	/* compare, which keeps the recording's own counts, exits by it, too. */
	own = calloc(p->n_funcs, sizeof(*own));
	own[0] = true;
	p->worst = PROFILE_FIXED;
	same_run_doubt_unseen(p, own, own);
	assert_int_equal(p->worst, PROFILE_UNRELIABLE);
	free(own);
}

/* Callgrind without instructions: the physical function has them, no line and no region. */
static void counts_by_name_are_of_physical_functions(void **state)
{
	struct bench *b = *state;
	struct truth_func funcs[] = { { "join_outer", TRUTH_NONE, 600 },
		                      { "join_unsampled@@VERS_1", TRUTH_NONE, 1400 },
		                      { "?"
		                        "??",
		                        TRUTH_NONE, 50 } };

	region_of_two(b, b->outer, b->unsampled);
	b->p->meta.truth_why = "";
	b->p->funcs[0].rolled.raw_cyc = b->p->funcs[1].rolled.raw_cyc = 10;
	b->t.funcs = funcs;
	b->t.n_funcs = 3;
	assert_int_equal(match_apply(b->p, &b->t, "x.truth", &no_options), 0);
	assert_true(b->p->meta.truth_rolled);
	assert_true(b->p->funcs[0].rolled.insn == 600 && b->p->funcs[1].rolled.insn == 1400);
	assert_true(b->p->insns[0].count.insn == 30);
}

static void names_of_another_program_are_refused(void **state)
{
	struct bench *b = *state;
	struct truth_func funcs[] = { { "join_outer", TRUTH_NONE, 600 },
		                      { "no_such_function", TRUTH_NONE, 20 } };

	b->t.funcs = funcs;
	b->t.n_funcs = 2;
	assert_int_equal(match_apply(b->p, &b->t, "x.truth", &no_options), -SP_ENOENT);
	assert_non_null(strstr(sp_error_text(), "3.2% of its instructions are of functions that no file"));
	assert_non_null(strstr(sp_error_text(), "no_such_function"));
}

static void a_list_of_the_most_frequent_is_no_truth_for_cycles(void **state)
{
	struct bench *b = *state;

	b->t.partial = true;
	b->t.format = "a list";
	assert_int_equal(match_apply(b->p, &b->t, "x.truth", &no_options), -SP_ENOTSUP);
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
		TEST(a_truth_of_another_program_names_both_build_ids),
		TEST(the_same_build_id_is_the_same_file_wherever_it_lies),
		TEST(a_library_of_another_build_is_left_out),
		TEST(without_build_ids_the_instructions_must_be_the_same),
		TEST(an_empty_truth_is_all_zero),
		TEST(each_instruction_finds_its_own_executions),
		TEST(exact_counts_take_the_place_of_shares),
		TEST(a_truth_that_bursts_contradict_is_doubted),
		TEST(a_count_of_none_is_doubted_where_samples_fell),
		TEST(counts_by_name_are_of_physical_functions),
		TEST(names_of_another_program_are_refused),
		TEST(a_list_of_the_most_frequent_is_no_truth_for_cycles),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
