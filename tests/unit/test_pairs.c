/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Numbers for pairs of integers, and for texts, in the order they are first seen. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "profiler/base/texts.h"

static void an_empty_map_knows_no_pair(void **state)
{
	struct pairs m = { 0 };

	(void)state;
	assert_int_equal(pairs_find(&m, 0, 0), -1);
	assert_int_equal(pairs_find(&m, 7, 9), -1);
	pairs_fini(&m);
}

static void pairs_are_numbered_in_the_order_they_come(void **state)
{
	struct pairs m = { 0 };

	(void)state;
	assert_int_equal(pairs_number(&m, 5, 6), 0);
	assert_int_equal(pairs_number(&m, 6, 5), 1); /* the order within a pair matters */
	assert_int_equal(pairs_number(&m, 0, 0), 2); /* zero is a key like others */
	assert_int_equal(pairs_number(&m, UINT64_MAX, UINT64_MAX), 3);
	assert_int_equal(pairs_number(&m, 5, 6), 0);
	assert_int_equal(m.n, 4);
	pairs_fini(&m);
}

static void each_pair_has_its_element(void **state)
{
	struct pairs m = { 0 };
	VEC(uint32_t) seen = { 0 };

	(void)state;
	for (uint64_t i = 0; i < 1000; i++)
		*pairs_in(&m, &seen, i % 7, i % 3) += 1;
	assert_int_equal(seen.n, 21);
	assert_int_equal(*pairs_in(&m, &seen, 0, 0), 48); /* 0, 21, ... 987 */
	assert_int_equal(*pairs_in(&m, &seen, 7, 0), 0);
	assert_int_equal(seen.n, 22);
	pairs_fini(&m);
	vec_fini(&seen);
}

static void looking_for_a_pair_gives_it_no_number(void **state)
{
	struct pairs m = { 0 };

	(void)state;
	assert_int_equal(pairs_number(&m, 1, 2), 0);
	assert_int_equal(pairs_find(&m, 2, 1), -1);
	assert_int_equal(pairs_find(&m, 1, 2), 0);
	assert_int_equal(m.n, 1);
	pairs_fini(&m);
}

/* 64 slots at first, doubled whenever half are taken: 100000 pairs pass twelve doublings. */
static void numbers_stay_the_same_while_the_map_grows(void **state)
{
	struct pairs m = { 0 };

	(void)state;
	for (uint64_t i = 0; i < 100000; i++)
		assert_int_equal(pairs_number(&m, i / 7, i * 4096), (long)i);
	for (uint64_t i = 0; i < 100000; i++)
		assert_int_equal(pairs_find(&m, i / 7, i * 4096), (long)i);
	assert_int_equal(pairs_find(&m, 1, 0), -1);
	assert_true(m.cap == 1u << 18);
	pairs_fini(&m);
}

static void an_emptied_map_begins_anew(void **state)
{
	struct pairs m = { 0 };

	(void)state;
	assert_int_equal(pairs_number(&m, 1, 1), 0);
	assert_int_equal(pairs_number(&m, 2, 2), 1);
	pairs_fini(&m);
	assert_int_equal(pairs_find(&m, 1, 1), -1);
	assert_int_equal(pairs_number(&m, 2, 2), 0);
	pairs_fini(&m);
}

static void texts_are_kept_once_and_numbered(void **state)
{
	struct texts t = { 0 };
	const char *kept = texts_add(&t, "main.c", 4);

	(void)state;
	assert_string_equal(kept, "main");
	assert_int_equal(texts_number(&t, "", 9), 1);
	/* A beginning of a text is another, and the end of a text is its NUL byte. */
	assert_int_equal(texts_number(&t, "main", 3), 2);
	assert_int_equal(texts_number(&t, "main\0x", 6), 0);
	assert_ptr_equal(texts_printf(&t, "ma%s", "in"), kept);
	assert_int_equal(texts_find(&t, "mai"), 2);
	assert_int_equal(texts_find(&t, "main.c"), -1);
	for (int i = 0; i < 100000; i++)
		assert_non_null(texts_printf(&t, "%d", i));
	assert_ptr_equal(texts_add(&t, "main", 4), kept);
	assert_int_equal(texts_find(&t, "99999"), 100002);
	texts_fini(&t);
	assert_int_equal(texts_find(&t, "main"), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_map_knows_no_pair),
		cmocka_unit_test(pairs_are_numbered_in_the_order_they_come),
		cmocka_unit_test(each_pair_has_its_element),
		cmocka_unit_test(looking_for_a_pair_gives_it_no_number),
		cmocka_unit_test(numbers_stay_the_same_while_the_map_grows),
		cmocka_unit_test(an_emptied_map_begins_anew),
		cmocka_unit_test(texts_are_kept_once_and_numbered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
