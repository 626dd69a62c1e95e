/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "profiler/base/groups.h"

/* 0, 2 and 5 have key 1, 4 has 0, 3 has 2; 1 has none of the three. */
static void numbers_stand_by_their_keys_ascending(void **state)
{
	static const int32_t key[] = { 1, -1, 1, 2, 0, 1 };
	static const uint32_t first[] = { 0, 1, 4, 5 }, of[] = { 4, 0, 2, 5, 3 };
	struct groups g;

	(void)state;
	groups_make(&g, 6, 3, i, key[i]);
	assert_memory_equal(g.first, first, sizeof(first));
	assert_memory_equal(g.of, of, sizeof(of));
	groups_fini(&g);
}

/* As of code without a call. */
static void nothing_has_no_group(void **state)
{
	struct groups g;

	(void)state;
	groups_make(&g, 0, 0, i, i);
	assert_int_equal(g.first[0], 0);
	groups_fini(&g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_stand_by_their_keys_ascending),
		cmocka_unit_test(nothing_has_no_group),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
