/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "report/number.h"

static void counts_have_four_digits_and_a_unit(void **state)
{
	static const struct {
		double x;
		const char *text;
	} cases[] = {
		{ 0, "0" },           { 999, "999" },       { 999.4, "999" },     { 999.6, "1.000k" },
		{ 1000, "1.000k" },   { 9999, "9.999k" },   { 9999.6, "10.00k" }, { 99996, "100.0k" },
		{ 123456, "123.5k" }, { 999949, "999.9k" }, { 999951, "1.000M" }, { 1.5e9, "1.500G" },
		{ 2e15, "2.000P" },   { -1500, "-1.500k" }, { NAN, "-" },         { INFINITY, "-" },
		{ -INFINITY, "-" },
	};
	char text[NUMBER_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		number_si(cases[i].x, text);
		assert_string_equal(text, cases[i].text);
	}
	/* No number is too large for the buffer. */
	number_si(1e308, text);
	assert_true(strlen(text) < NUMBER_MAX);
}

/* Where both ends look alike they get digits, two at most. */
static void ends_of_an_interval_are_told_apart(void **state)
{
	static const struct {
		double lo, hi;
		const char *text;
	} cases[] = {
		{ 1180000, 1220000, "1.180M..1.220M" },
		{ 124.97e6, 125.02e6, "124.97M..125.02M" },
		{ 2999852, 2999984, "2.9999M..3.0000M" },
		{ 2.9999701e6, 2.9999899e6, "2.99997M..2.99999M" },
		{ 2.9999781e6, 2.9999799e6, "2.99998M..2.99998M" },
		{ 16, 16, "16..16" },
		{ NAN, NAN, "-" },
	};
	char text[RANGE_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		number_range(cases[i].lo, cases[i].hi, text);
		assert_string_equal(text, cases[i].text);
	}
}

static void one_thing_is_no_plural(void **state)
{
	char text[NUMBER_MAX];

	(void)state;
	assert_string_equal(number_things(3, "functions", text), "3 more functions");
	assert_string_equal(number_things(1, "functions", text), "1 more function");
	assert_string_equal(number_things(1, "processes", text), "1 more process");
	assert_string_equal(number_things(1, "lines", text), "1 more line");
}

static void whole_numbers_are_grouped_by_thousands(void **state)
{
	char text[NUMBER_MAX];

	(void)state;
	number_grouped(0, text);
	assert_string_equal(text, "0");
	number_grouped(999, text);
	assert_string_equal(text, "999");
	number_grouped(1000, text);
	assert_string_equal(text, "1,000");
	number_grouped(-1234567, text);
	assert_string_equal(text, "-1,234,567");
	number_grouped(-0.2, text);
	assert_string_equal(text, "0");
	number_grouped(1e29, text);
	assert_true(strlen(text) < NUMBER_MAX);
	number_grouped(1e300, text);
	assert_true(strlen(text) < NUMBER_MAX);
	number_grouped(NAN, text);
	assert_string_equal(text, "-");
}

static void percentages_show_two_to_three_digits(void **state)
{
	char text[NUMBER_MAX];

	(void)state;
	number_percent(0.1234, 0, text);
	assert_string_equal(text, "12.3%");
	number_percent(0.01234, 1, text);
	assert_string_equal(text, "+1.23%");
	number_percent(-0.5, 1, text);
	assert_string_equal(text, "-50.0%");
	number_percent(NAN, 1, text);
	assert_string_equal(text, "-");
	number_percent(14200, 1, text);
	assert_string_equal(text, "x14.20k");
	number_percent(98.9, 1, text);
	assert_string_equal(text, "+9890.0%");
	number_percent(1e300, 1, text);
	assert_true(strlen(text) < NUMBER_MAX);
}

static void names_lose_what_could_steer_a_terminal(void **state)
{
	char text[100];

	(void)state;
	text_safe("plain", text, sizeof(text));
	assert_string_equal(text, "plain");
	text_safe("\033[31mred\n\t\177", text, sizeof(text));
	assert_string_equal(text, "\\x1b[31mred\\x0a\\x09\\x7f");
	/* C1 controls: U+009B begins a sequence on some terminals. */
	text_safe("\xc2\x9b", text, sizeof(text));
	assert_string_equal(text, "\\xc2\\x9b");
}

static void names_that_are_not_utf8_are_escaped_byte_by_byte(void **state)
{
	char text[100];

	(void)state;
	text_safe("gr\xc3\xb6\xc3\x9f"
	          "e \xe2\x82\xac \xf0\x9f\x99\x82",
	          text, sizeof(text));
	assert_string_equal(text, "gr\xc3\xb6\xc3\x9f"
	                          "e \xe2\x82\xac \xf0\x9f\x99\x82");
	/* a lone continuation, a cut sequence, an overlong '/', a surrogate, past U+10FFFF, 0xff */
	text_safe("\x80|\xe2\x82|\xc0\xaf|\xed\xa0\x80|\xf4\x90\x80\x80|\xff", text, sizeof(text));
	assert_string_equal(text, "\\x80|\\xe2\\x82|\\xc0\\xaf|\\xed\\xa0\\x80|\\xf4\\x90\\x80\\x80|\\xff");
}

static void cutting_a_name_off_keeps_its_characters_whole(void **state)
{
	char text[6];

	(void)state;
	assert_int_equal(text_safe("abcd\xe2\x82\xac", text, sizeof(text)), 4);
	assert_string_equal(text, "abcd");
	assert_int_equal(text_safe("abc\x01", text, sizeof(text)), 3);
	assert_string_equal(text, "abc");
}

static void a_name_is_typed_as_it_is_shown(void **state)
{
	static const char *const names[] = { "plain",    "a\nb\x1f\x7f", "bad\xff\xfe", "\xc2\x9b",
		                             "back\\sl", "\\x41\\x",     "\\x" };
	char shown[64];

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		text_safe(names[i], shown, sizeof(shown));
		text_unsafe(shown);
		assert_string_equal(shown, names[i]);
	}
}

static void long_names_lose_their_middle(void **state)
{
	char text[] = "std::vector<int>::push_back(int const&)";
	char umlauts[] = "\xc3\xa4\xc3\xb6\xc3\xbc\xc3\xa4\xc3\xb6\xc3\xbc\xc3\xa4\xc3\xb6\xc3\xbc\xc3\xa4";

	(void)state;
	text_squeeze(text, 39);
	assert_string_equal(text, "std::vector<int>::push_back(int const&)");
	/* 20 columns: 9 of the head, 3 dots, 8 of the tail */
	text_squeeze(text, 20);
	assert_string_equal(text, "std::vect... const&)");
	/* 7 columns of 10: 2 of each side */
	text_squeeze(umlauts, 7);
	assert_string_equal(umlauts, "\xc3\xa4\xc3\xb6...\xc3\xbc\xc3\xa4");
	text_squeeze(umlauts, 3);
	assert_string_equal(umlauts, "\xc3\xa4\xc3\xb6.");
	text_squeeze(umlauts, 0);
	assert_string_equal(umlauts, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_have_four_digits_and_a_unit),
		cmocka_unit_test(ends_of_an_interval_are_told_apart),
		cmocka_unit_test(one_thing_is_no_plural),
		cmocka_unit_test(whole_numbers_are_grouped_by_thousands),
		cmocka_unit_test(percentages_show_two_to_three_digits),
		cmocka_unit_test(names_lose_what_could_steer_a_terminal),
		cmocka_unit_test(names_that_are_not_utf8_are_escaped_byte_by_byte),
		cmocka_unit_test(cutting_a_name_off_keeps_its_characters_whole),
		cmocka_unit_test(a_name_is_typed_as_it_is_shown),
		cmocka_unit_test(long_names_lose_their_middle),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
