/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "profiler/base/cmd.h"
#include "profiler/base/err.h"
#include "profiler/base/log.h"

/* A command with an option that takes an argument, one that doesn't, and one that refuses its argument. */
struct input {
	const char *file;
	int fast;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct input *in = state->input;

	switch (key) {
	case 'i':
		in->file = arg;
		return 0;
	case 'f':
		in->fast++;
		return 0;
	case 'n':
		return sp_fail(SP_EUSAGE, "--number: '%s' is no number", arg) < 0 ? EINVAL : 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option options[] = {
	{ "input", 'i', "FILE", 0, "" }, { "fast", 'f', NULL, 0, "" }, { "number", 'n', "N", 0, "" }, { 0 }
};
static const struct argp argp = { .options = options, .parser = parse };

/* Split words into argv and parse them. */
static int run(const char *words, int in_order, struct input *in, const char **first)
{
	static char copy[200];
	static char *argv[20];
	char *rest = copy, *word;
	int argc = 0, at = 0, err;

	memset(in, 0, sizeof(*in));
	strcpy(copy, words);
	while ((word = strsep(&rest, " ")))
		argv[argc++] = word;
	argv[argc] = NULL;
	err = cmd_parse(&argp, argc, argv, in_order, &at, in);
	if (first)
		*first = at < argc ? argv[at] : NULL;
	return err;
}

static void options_reach_the_command(void **state)
{
	struct input in;
	const char *first;

	(void)state;
	assert_int_equal(run("x --input a.data -f", 0, &in, &first), 0);
	assert_string_equal(in.file, "a.data");
	assert_int_equal(in.fast, 1);
	assert_null(first);
	assert_int_equal(run("x --input=b -ff", 0, &in, NULL), 0);
	assert_string_equal(in.file, "b");
	assert_int_equal(in.fast, 2);
	/* a value stuck to its option, ending in the option's letter */
	assert_int_equal(run("x -ixi", 0, &in, NULL), 0);
	assert_string_equal(in.file, "xi");
	assert_int_equal(run("x -i -", 0, &in, NULL), 0);
	assert_string_equal(in.file, "-");
}

static void the_program_to_record_keeps_its_options(void **state)
{
	struct input in;
	const char *first;

	(void)state;
	assert_int_equal(run("x -f prog --unknown -f", 1, &in, &first), 0);
	assert_string_equal(first, "prog");
	assert_int_equal(in.fast, 1);
	assert_int_equal(run("x -- --prog", 1, &in, &first), 0);
	assert_string_equal(first, "--prog");
	assert_int_equal(run("x -i file prog -i other", 1, &in, &first), 0);
	assert_string_equal(first, "prog");
	assert_string_equal(in.file, "file");
}

static void a_misspelt_option_gets_the_nearest(void **state)
{
	struct input in;

	(void)state;
	assert_int_equal(run("x --imput a", 0, &in, NULL), -SP_EUSAGE);
	assert_string_equal(sp_error_text(), "x: unknown option --imput; did you mean --input?");
	assert_int_equal(run("x --fats=3", 0, &in, NULL), -SP_EUSAGE);
	assert_string_equal(sp_error_text(), "x: unknown option --fats; did you mean --fast?");
	assert_int_equal(run("x --qqqqqqqq", 0, &in, NULL), -SP_EUSAGE);
	assert_string_equal(sp_error_text(), "x: unknown option --qqqqqqqq; see 'x --help'");
	assert_int_equal(run("x -z", 0, &in, NULL), -SP_EUSAGE);
	assert_string_equal(sp_error_text(), "x: unknown option -z; see 'x --help'");
}

static void a_missing_argument_is_named(void **state)
{
	struct input in;

	(void)state;
	assert_int_equal(run("x -f --input", 0, &in, NULL), -SP_EUSAGE);
	assert_string_equal(sp_error_text(), "x: option --input needs an argument");
	assert_int_equal(run("x -i", 0, &in, NULL), -SP_EUSAGE);
	assert_string_equal(sp_error_text(), "x: option -i needs an argument");
}

static void a_refused_argument_keeps_its_message(void **state)
{
	struct input in;

	(void)state;
	assert_int_equal(run("x --number seven", 0, &in, NULL), -SP_EUSAGE);
	assert_string_equal(sp_error_text(), "--number: 'seven' is no number");
}

static void verbose_and_quiet_are_everywhere(void **state)
{
	struct input in;

	(void)state;
	sp_log_level_set(0);
	assert_int_equal(run("x -v --verbose", 0, &in, NULL), 0);
	assert_int_equal(sp_log_level(), 2);
	assert_int_equal(run("x -q", 0, &in, NULL), 0);
	assert_int_equal(sp_log_level(), -1);
	sp_log_level_set(0);
}

static void words_that_are_near_are_suggested(void **state)
{
	static const char *const words[] = { "record", "report", "truth", "compare", NULL };

	(void)state;
	assert_string_equal(cmd_suggest("reprot", words), "report");
	assert_string_equal(cmd_suggest("recrod", words), "record");
	assert_string_equal(cmd_suggest("comp", words), "compare");
	assert_string_equal(cmd_suggest("thruth", words), "truth");
	/* Two letters swapped are one slip, also in a short word. */
	assert_string_equal(cmd_suggest("mxi", (const char *const[]){ "mix", NULL }), "mix");
	assert_null(cmd_suggest("annotate", words));
	assert_null(cmd_suggest("x", words));
	assert_null(cmd_suggest("", words));
}

static void words_of_any_length_are_compared(void **state)
{
	static const char *const words[] = { "record", NULL };
	char large[5000];

	(void)state;
	memset(large, 'r', sizeof(large) - 1);
	large[sizeof(large) - 1] = '\0';
	assert_null(cmd_suggest(large, words));
	assert_null(cmd_suggest("abc", (const char *const[]){ large, NULL }));
}

static void numbers_are_whole_and_in_range(void **state)
{
	unsigned long long n = 7;

	(void)state;
	assert_int_equal(cmd_parse_u64("--limit", "12", 1, 100, &n), 0);
	assert_int_equal(n, 12);
	assert_int_equal(cmd_parse_u64("--limit", "0x10", 1, 100, &n), 0);
	assert_int_equal(n, 16);
	for (const char *const *bad = (const char *const[]){ "", "x", "1x", "-1", "101", "0", "1.5",
	                                                     "99999999999999999999999", " -3", NULL };
	     *bad; bad++) {
		assert_int_equal(cmd_parse_u64("--limit", *bad, 1, 100, &n), -SP_EUSAGE);
		assert_int_equal(n, 16);
	}
	assert_int_equal(cmd_parse_u64("--seed", " -3", 0, UINT64_MAX, &n), -SP_EUSAGE);
	assert_int_equal(cmd_parse_u64("--limit", " -3", 1, 100, &n), -SP_EUSAGE);
	assert_string_equal(sp_error_text(), "--limit: ' -3' is not a whole number from 1 to 100");
}

static void real_numbers_are_in_range(void **state)
{
	double x = 7;

	(void)state;
	assert_int_equal(cmd_parse_double("--skid", "12.5", 0, 100, &x), 0);
	assert_float_equal(x, 12.5, 1e-12);
	for (const char *const *bad =
	             (const char *const[]){ "", "x", "1x", "-1", "101", "nan", "inf", "1e999", NULL };
	     *bad; bad++) {
		assert_int_equal(cmd_parse_double("--skid", *bad, 0, 100, &x), -SP_EUSAGE);
		assert_float_equal(x, 12.5, 1e-12);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(options_reach_the_command),
		cmocka_unit_test(the_program_to_record_keeps_its_options),
		cmocka_unit_test(a_misspelt_option_gets_the_nearest),
		cmocka_unit_test(a_missing_argument_is_named),
		cmocka_unit_test(a_refused_argument_keeps_its_message),
		cmocka_unit_test(verbose_and_quiet_are_everywhere),
		cmocka_unit_test(words_that_are_near_are_suggested),
		cmocka_unit_test(words_of_any_length_are_compared),
		cmocka_unit_test(numbers_are_whole_and_in_range),
		cmocka_unit_test(real_numbers_are_in_range),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
