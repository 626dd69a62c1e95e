/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names in less room than they have. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "report/number.h"
#include "report/short_name.h"

#define MAP  "std::map<std::string, std::vector<int, std::allocator<int> >, std::less<void> >::find"
#define ITER "<core::slice::iter::Iter<T> as core::iter::traits::iterator::Iterator>::next"
#define FOLD                                                                           \
	"fold<gnu::iterator<std::unique_ptr<Shape>*, std::vector<Shape> >, main(int, " \
	"char**)::<lambda(const Shape&)> >"
#define EQ "core::slice::cmp::<impl core::cmp::PartialEq<[U]> for [T]>::eq"

static const char *cut(const char *name, size_t width)
{
	static char text[500];

	snprintf(text, sizeof(text), "%s", name);
	short_name_cut(text, width);
	return text;
}

static void the_deepest_arguments_go_first(void **state)
{
	(void)state;
	assert_string_equal(cut(MAP, 100), MAP);
	assert_string_equal(
	        cut(MAP, 82),
	        "std::map<std::string, std::vector<int, std::allocator<> >, std::less<void> >::find");
	assert_string_equal(cut(MAP, 60), "std::map<std::string, std::vector<>, std::less<> >::find");
	assert_string_equal(cut(MAP, 30), "std::map<>::find");
	assert_string_equal(cut(MAP, 12), "...::find");
	/* Brackets of no arguments stay with what is around them. */
	assert_string_equal(cut(FOLD, 75),
	                    "fold<gnu::iterator<>, main(int, char**)::<lambda(const Shape&)> >");
	assert_string_equal(cut(FOLD, 60), "fold<>");
	assert_string_equal(cut("Vec<<Range<u64> as Iterator>::Item, A>::push", 41),
	                    "Vec<<Range<> as Iterator>::Item, A>::push");
	/* Operators open nothing. */
	assert_string_equal(cut("a<std::pair<int, double> >::operator-> () and operator<< <char, x<y> >", 40),
	                    "a<>::operator-> () and operator<< <>");
	/* Nor does what does not match. */
	assert_int_equal(text_width(cut("a<b<c::d::e::f::g", 14)), 14);
}

/* "<T as Trait>" is no argument, and alone "<>" would say nothing. */
static void a_type_keeps_its_name(void **state)
{
	(void)state;
	assert_string_equal(cut(ITER, 60), "<Iter<T> as Iterator>::next");
	assert_string_equal(cut(ITER, 25), "<Iter<>>::next");
	assert_string_equal(cut(EQ, 60), "core::slice::cmp::<impl PartialEq<[U]> for [T]>::eq");
	assert_string_equal(cut(EQ, 30), "core::slice::cmp::<[T]>::eq");
}

static void show(const char *const *names, size_t n, size_t width, const char *const *expected)
{
	char **shown = short_names(names, NULL, n, width, 0);

	assert_non_null(shown);
	for (size_t i = 0; i < n; i++)
		assert_string_equal(shown[i], expected[i]);
	short_names_free(shown, n);
}

static void no_two_names_are_shown_alike(void **state)
{
	static const char *const names[] = {
		"std::sort_it_all<std::vector<int, std::allocator<int> >, std::less<int> >",
		"std::sort_it_all<std::vector<long, std::allocator<long> >, std::less<long> >", "main",
		"std::sort_it_all<std::vector<int, std::allocator<int> >, std::less<int> >"
	};
	char **shown = short_names(names, NULL, 4, SIZE_MAX, 0);

	(void)state;
	assert_non_null(shown);
	assert_string_not_equal(shown[0], shown[1]);
	/* One name twice is one name. */
	assert_string_equal(shown[0], shown[3]);
	short_names_free(shown, 4);
	shown = short_names(names, NULL, 4, 24, 0);
	assert_string_not_equal(shown[0], shown[1]);
	assert_true(text_width(shown[0]) <= 24 && text_width(shown[1]) <= 24);
	short_names_free(shown, 4);
	/* Where nothing has room that differs, numbers do. */
	show((const char *const[]){ "a_long_name_with_one_in_its_middle_and_end",
	                            "a_long_name_with_two_in_its_middle_and_end" },
	     2, 20, (const char *const[]){ "a_long_...and_end #1", "a_long_...and_end #2" });
}

static void places_and_words_give_way(void **state)
{
	static const char *const names[] = { "sum_of_all (app.c:30)", "product (app.c:40)" };
	static const char *const loops[] = { "main (app.c:30)", "main (app.c:40)" };
	static const char *const words[] = { " (inlined)", " (inlined)" };
	char **shown = short_names(names, NULL, 2, 12, 1);

	(void)state;
	assert_string_equal(shown[0], "sum_of_all");
	assert_string_equal(shown[1], "product");
	short_names_free(shown, 2);
	shown = short_names(loops, NULL, 2, 12, 1);
	assert_string_equal(shown[0], "main ...:30)");
	assert_string_equal(shown[1], "main ...:40)");
	short_names_free(shown, 2);
	shown = short_names((const char *const[]){ "sum_of_all", "sum" }, words, 2, 16, 0);
	assert_string_equal(shown[0], "sum_of_all [i]");
	assert_string_equal(shown[1], "sum (inlined)");
	short_names_free(shown, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_deepest_arguments_go_first),
		cmocka_unit_test(a_type_keeps_its_name),
		cmocka_unit_test(no_two_names_are_shown_alike),
		cmocka_unit_test(places_and_words_give_way),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
