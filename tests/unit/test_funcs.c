/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a function's status rests on. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "correct/judge/reasons.h"
#include "report/assemble/assemble_impl.h"

enum { REGIONS = 12, INSNS = 2 * REGIONS };

/* One function by the clock, of two instructions in each region, which share its time alike but for the second's. */
struct bench {
	struct event_sum sum;
	struct recording rec;
	struct work w;
	struct profile p;
	struct profile_module module;
	struct profile_func func;
	struct profile_insn insns[INSNS];
	struct profile_region regions[REGIONS];
	struct assembly a;
};

static struct bench *make_bench(void)
{
	static const char *const why[REGIONS] = {
		"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"
	};
	struct bench *b = calloc(1, sizeof(*b));

	assert_non_null(b);
	b->rec.insn_event = -1;
	b->sum = (struct event_sum){ .n_samples = 100, .period_sum = 1e6 };
	b->w.rec = &b->rec;
	b->w.sums.events = &b->sum;
	b->p.meta.insn_event = -1;
	b->p.meta.relative = true;
	b->module = (struct profile_module){ .path = "/bin/x", .trouble = "" };
	b->p.modules = &b->module;
	b->p.n_modules = 1;
	b->p.funcs = &b->func;
	b->p.n_funcs = 1;
	b->p.insns = b->insns;
	b->p.n_insns = INSNS;
	b->p.regions = b->regions;
	b->p.n_regions = REGIONS;
	for (int i = 0; i < INSNS; i++)
		b->insns[i] = (struct profile_insn){ .region = i % REGIONS,
			                             .block = UINT32_MAX,
			                             .count = { .cyc = i % REGIONS == 1 ? 70 : 10 } };
	for (int r = 0; r < REGIONS; r++)
		b->regions[r] = (struct profile_region){ .status = PROFILE_UNRELIABLE, .why = why[r] };
	b->a = (struct assembly){ .w = &b->w, .p = &b->p };
	return b;
}

/* Not the region that comes last, nor one that is past what is kept apart. */
static void the_reason_is_that_of_most_of_it(void **state)
{
	struct bench *b = make_bench();

	(void)state;
	assemble_funcs(&b->a);
	assert_int_equal(b->func.status, PROFILE_UNRELIABLE);
	assert_string_equal(b->func.why, "b");
	/* Where the most is well known, it is of the rest. */
	b->regions[1].status = PROFILE_RAW;
	b->insns[4].count.cyc = 20;
	assemble_funcs(&b->a);
	assert_int_equal(b->func.status, PROFILE_UNRELIABLE);
	assert_string_equal(b->func.why, "e");
	free(b);
}

/* A share is of the region that has most of it: what little is elsewhere costs the rest of its trust; a count is of all parts. */
static void doubt_counts_in_proportion(void **state)
{
	struct bench *b = make_bench();

	(void)state;
	for (int r = 1; r < REGIONS; r++)
		b->regions[r].status = PROFILE_RAW;
	assemble_funcs(&b->a);
	assert_int_equal(b->func.status, PROFILE_WEAK);
	assert_string_equal(b->func.why, reason_text_partly_unreliable);
	b->p.meta.relative = false;
	assemble_funcs(&b->a);
	assert_int_equal(b->func.status, PROFILE_UNRELIABLE);
	assert_string_equal(b->func.why, "a");
	b->p.meta.relative = true;
	b->insns[1].count.cyc = 1000;
	assemble_funcs(&b->a);
	assert_string_not_equal(b->func.why, reason_text_partly_unreliable);
	assert_int_not_equal(b->func.status, PROFILE_UNRELIABLE);
	free(b);
}

/* In a region some of which was solved: what was not has the region's reason where that is unreliable, else that of its own part. */
static void what_was_not_solved_says_why(void **state)
{
	struct bench *b = make_bench();

	(void)state;
	for (int r = 0; r < REGIONS; r++)
		b->regions[r].n_draws = 100;
	assemble_funcs(&b->a);
	assert_int_equal(b->func.status, PROFILE_UNRELIABLE);
	assert_string_equal(b->func.why, "b");
	for (int r = 0; r < REGIONS; r++)
		b->regions[r].status = PROFILE_WEAK;
	assemble_funcs(&b->a);
	assert_int_equal(b->func.status, PROFILE_RAW);
	assert_string_equal(b->func.why, reason_text_outside);
	b->insns[1].why_raw = b->insns[13].why_raw = "its part";
	assemble_funcs(&b->a);
	assert_int_equal(b->func.status, PROFILE_RAW);
	assert_string_equal(b->func.why, reason_text_outside);
	b->insns[1].count.cyc = 1000;
	assemble_funcs(&b->a);
	assert_int_equal(b->func.status, PROFILE_RAW);
	assert_string_equal(b->func.why, "its part");
	free(b);
}

/* The total of a part that nothing settles is right as sampled, what its functions have of it is not. */
static void of_a_part_that_is_open_functions_that_share_it_are_unreliable(void **state)
{
	struct bench *b = make_bench();
	struct profile_func funcs[2] = { 0 };

	(void)state;
	b->p.funcs = funcs;
	b->p.n_funcs = 2;
	b->w.scopes.n = 1;
	for (int r = 0; r < REGIONS; r++) {
		b->regions[r].n_draws = 100;
		b->regions[r].status = PROFILE_WEAK;
	}
	for (int i = 0; i < INSNS; i++)
		if (i % REGIONS == 1) {
			b->insns[i].open_part = 1;
			b->insns[i].why_raw = "its part";
			b->insns[i].count.cyc = 1000;
		}
	assemble_funcs(&b->a);
	assert_int_equal(funcs[0].status, PROFILE_RAW);
	assert_string_equal(funcs[0].why, "its part");
	b->insns[REGIONS + 1].func = b->insns[REGIONS + 1].phys_func = 1;
	assemble_funcs(&b->a);
	for (int f = 0; f < 2; f++) {
		assert_int_equal(funcs[f].status, PROFILE_UNRELIABLE);
		assert_int_equal(funcs[f].rolled_status, PROFILE_UNRELIABLE);
		assert_string_equal(funcs[f].why, "its part");
	}
	assert_int_equal(b->insns[1].status, PROFILE_UNRELIABLE);
	free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_reason_is_that_of_most_of_it),
		cmocka_unit_test(doubt_counts_in_proportion),
		cmocka_unit_test(what_was_not_solved_says_why),
		cmocka_unit_test(of_a_part_that_is_open_functions_that_share_it_are_unreliable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
