/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Branch records of a sample after another: whether any branch was taken between them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "profiler/perfdata/stack.h"

static const struct pd_branch way[] = {
	{ 0x900, 0xa00, 13, 0, 1 }, { 0x804, 0x8f0, 21, 0, 1 }, { 0x700, 0x800, 5, 0, 1 },
	{ 0x604, 0x6f0, 9, 0, 1 },  { 0x500, 0x600, 17, 0, 1 }, { 0x404, 0x4f0, 2, 0, 1 },
};

static bool next(struct pd_stack *last, const struct pd_branch *b, size_t n)
{
	return pd_stack_is_still(last, &(struct pd_sample){ .branches = b, .n_branches = n });
}

static void the_same_records_are_of_no_branch_since(void **state)
{
	struct pd_stack last = { 0 };
	struct pd_branch later[5];

	(void)state;
	assert_false(next(&last, way, 5));
	assert_true(next(&last, way, 5));
	assert_true(next(&last, way, 5));
	/* The same ways, run again: they took another time. */
	memcpy(later, way, sizeof(later));
	later[3].cycles++;
	assert_false(next(&last, later, 5));
	assert_true(next(&last, later, 5));
	/* Another branch since. */
	assert_false(next(&last, way + 1, 5));
	assert_false(next(&last, NULL, 0));
	assert_false(next(&last, way, 5));
}

static void one_behind_the_newest_may_be_missing(void **state)
{
	struct pd_stack last = { 0 };
	struct pd_branch less[5] = { { 0x900, 0xa00, 34, 0, 1 } };

	(void)state;
	memcpy(less + 1, way + 2, 4 * sizeof(*less));
	assert_false(next(&last, way, 5));
	assert_true(next(&last, less, 5));
	assert_true(next(&last, less, 5));
	assert_true(next(&last, way, 5));
}

static void a_loop_has_the_same_records_at_each_iteration(void **state)
{
	const struct pd_branch loop[] = { way[0], way[1], way[0], way[1], way[0] };
	struct pd_stack last = { 0 };

	(void)state;
	assert_false(next(&last, loop, 5));
	assert_false(next(&last, loop, 5));
}

static void without_cycles_nothing_tells(void **state)
{
	struct pd_branch untimed[5];
	struct pd_stack last = { 0 };

	(void)state;
	memcpy(untimed, way, sizeof(untimed));
	for (size_t i = 0; i < 5; i++)
		untimed[i].cycles = 0;
	assert_false(next(&last, untimed, 5));
	assert_false(next(&last, untimed, 5));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_same_records_are_of_no_branch_since),
		cmocka_unit_test(one_behind_the_newest_may_be_missing),
		cmocka_unit_test(a_loop_has_the_same_records_at_each_iteration),
		cmocka_unit_test(without_cycles_nothing_tells),
	};

	return cmocka_run_group_tests_name("stack", tests, NULL, NULL);
}
