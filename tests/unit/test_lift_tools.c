/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "profiler/base/err.h"
#include "report/lift/cache.h"
#include "report/lift/descr.h"
#include "report/lift/give.h"
#include "report/lift/mca.h"
#include "report/lift/proc.h"

#define MINIMUM "give hex\nrun tool {hex}\ntake ^Cycles: ([0-9.]+)\n"

static int parse(const char *text, struct descr *d)
{
	return descr_parse("x.tool", text, strlen(text), d);
}

/* 169 cycles of 100 iterations: 1.69 each. */
static void llvm_mca_says_cycles_of_iterations(void **state)
{
	double cyc = 0;

	(void)state;
	assert_int_equal(mca_parse("Iterations:        100\nInstructions:      700\nTotal Cycles:      169\n",
	                           &cyc),
	                 0);
	assert_float_equal(cyc, 1.69, 1e-12);
	assert_int_equal(mca_parse("Total Cycles:      169\n", &cyc), -SP_EFORMAT);
	assert_int_equal(mca_parse("Iterations: 0\nTotal Cycles: 5\n", &cyc), -SP_EFORMAT);
	assert_int_equal(mca_parse("Iterations: 10\nTotal Cycles: inf\n", &cyc), -SP_EFORMAT);
	assert_int_equal(mca_parse("", &cyc), -SP_EFORMAT);
	assert_float_equal(cyc, 1.69, 1e-12);
}

static void a_description_is_read(void **state)
{
	struct descr d;

	(void)state;
	assert_int_equal(parse("# a tool\ngive object\nisa x86-64\ncpu znver4  zen4 \ncpu skylake SKL\n"
	                       "before movl $111, %ebx\nafter  nop\n"
	                       "run tool --arch {cpu} \"a b\" {file}\nversion tool -V\ntake TP: ([0-9.]+)\n"
	                       "fail ^error\nper 100\n",
	                       &d),
	                 0);
	assert_int_equal(d.give, GIVE_OBJECT);
	assert_true(d.isa[ISA_X86_64] && !d.isa[ISA_AARCH64]);
	assert_int_equal(d.cpus.n, 2);
	assert_string_equal(d.cpus.v[0].llvm, "znver4");
	assert_string_equal(d.cpus.v[0].theirs, "zen4");
	assert_string_equal(d.before.v.v[0], "movl $111, %ebx");
	assert_int_equal(d.run.v.n, 5);
	assert_string_equal(d.run.v.v[3], "a b");
	assert_string_equal(d.version.v.v[1], "-V");
	assert_float_equal(d.per, 100, 0);
	descr_fini(&d);
}

static void refused(const char *text, const char *where)
{
	struct descr d;

	assert_int_equal(parse(text, &d), -SP_EFORMAT);
	if (!strstr(sp_error_text(), where))
		fail_msg("no '%s' in '%s'", where, sp_error_text());
	descr_fini(&d);
}

static void a_bad_description_is_named_by_its_line(void **state)
{
	(void)state;
	refused("", "give, run and take");
	refused("give hex\nrun x\n", "give, run and take");
	refused("give hex\ngiv hex\n", "line 2: an unknown keyword");
	refused("give\n", "line 1: a keyword without a value");
	refused("give soup\n", "line 1: give is one of");
	refused("isa arm\n", "line 1: isa is");
	refused("\n\ncpu znver4\n", "line 3: cpu has two names");
	refused("run a \"b\n", "line 1: a quotation mark");
	refused("run a\nrun b\n", "line 2: a second run");
	refused("take (\n", "line 1: this is no regular expression");
	refused("take a{1,30000}\n", "line 1: no {counts}");
	refused("take (a)\\1\n", "line 1: no {counts}");
	refused("take a+*\n", "line 1: no {counts}");
	refused("take (a)+\n", "line 1: no {counts}");
	refused("take ((a))\n", "line 1: no {counts}");
	refused("per 0\n", "line 1: per is");
	refused("per nan\n", "line 1: per is");
}

static void took(const struct descr *d, const char *output, double want)
{
	double cyc = NAN;
	const char *why;
	size_t n;
	int err = descr_take(d, output, &cyc, &why, &n);

	assert_int_equal(err, isnan(want) ? -SP_EFORMAT : 0);
	if (!isnan(want))
		assert_float_equal(cyc, want, 1e-12);
}

static void the_last_line_that_matches_is_the_prediction(void **state)
{
	struct descr d;

	(void)state;
	assert_int_equal(parse(MINIMUM "fail ^cannot\n", &d), 0);
	took(&d, "Cycles: 3.5\n", 3.5);
	took(&d, "Cycles: 3.5\nx\nCycles: 4\n", 4);
	took(&d, "no Cycles: 3.5", NAN);
	took(&d, "Cycles: 0\n", NAN);
	took(&d, "Cycles: 3.5\ncannot do it\n", NAN);
	took(&d, "", NAN);
	descr_fini(&d);
}

/* OSACA's last line: pressures 0.5 1.0 0.33, critical path 12, loop-carried dependency 2: the bound is 2. */
static void the_largest_number_of_all_takes_counts(void **state)
{
	struct descr d;

	(void)state;
	assert_int_equal(parse("give asm\nrun x\ntake ^ +([0-9. ]+[0-9.]) +[0-9.]+ +[0-9.]+ *$\n"
	                       "take ^ +[0-9. ]+ +[0-9.]+ +([0-9.]+) *$\nper 2\n",
	                       &d),
	                 0);
	took(&d, "       0.50          1.00   0.33    12.0    2.0  \n", 1);
	took(&d, "       0.50          5.00   0.33    12.0    2.0  \n", 2.5);
	descr_fini(&d);
}

/* mov (%rdi), %rax; jne back to itself at 0x1000. */
static const uint8_t code[] = { 0x48, 0x8b, 0x07, 0x75, 0xfb };
static const struct tool_block block = { code, sizeof(code), 0x1000, ISA_X86_64 };

static void a_block_is_handed_over_as_its_bytes_or_in_mnemonics(void **state)
{
	struct descr d;
	char *text;

	(void)state;
	assert_int_equal(parse("give asm\nbefore begin\nafter end\nrun x\ntake x\n", &d), 0);
	text = give_assembly(&d, &block, true);
	assert_string_equal(text, "\t.text\nbegin\n\t.byte 0x48,0x8b,0x07,0x75,0xfb\nend\n");
	free(text);
	text = give_assembly(&d, &block, false);
	assert_string_equal(text, "begin\n.Lskidprof:\n\tmovq (%rdi), %rax\n\tjne .Lskidprof\nend\n");
	free(text);
	descr_fini(&d);
}

static void a_program_is_run_with_the_block_in_its_words(void **state)
{
	struct give g = { .cpu = "zen4" };
	struct proc_result r;
	struct descr d;

	(void)state;
	assert_int_equal(parse("give hex\nrun sh -c \"echo $0 $1; cat >&2\" {hex}! {cpu}\ntake x\n", &d), 0);
	assert_int_equal(give_block(&d, &block, &g), 0);
	assert_int_equal(give_run(&d.run, &g, &r), 0);
	assert_int_equal(r.status, 0);
	assert_string_equal(r.out, "488b0775fb! zen4\n");
	assert_string_equal(r.err, "488b0775fb");
	proc_fini(&r);
	give_fini(&g);
	descr_fini(&d);
}

static void a_missing_program_is_an_error_and_a_failing_one_is_not(void **state)
{
	char *none[] = { (char *)"no-such-program-here", NULL };
	char *fails[] = { (char *)"sh", (char *)"-c", (char *)"echo no >&2; exit 7", NULL };
	struct proc_result r;

	(void)state;
	assert_int_equal(proc_run(none, "", &r), -SP_ENOENT);
	assert_int_equal(proc_run(fails, "much that nobody reads", &r), 0);
	assert_int_equal(r.status, 7);
	assert_string_equal(r.err, "no\n");
	proc_fini(&r);
}

static void a_kept_prediction_is_believed_only_for_what_it_is_of(void **state)
{
	struct tool t = { .ops = &tool_mca, .name = "llvm-mca", .version = "14 znver3" };
	uint8_t other_code[sizeof(code)];
	struct tool_block other = block;
	double cyc = 0;
	char *text;

	(void)state;
	text = cache_text(&t, &block, 1.25);
	assert_string_equal(
	        text, "skidprof lift 1\ntool llvm-mca\nversion 14 znver3\nisa x86-64\naddress 0x0\nturns 0\n"
	              "bytes 488b0775fb\ncycles 1.25\n");
	assert_true(cache_parse(text, &t, &block, &cyc));
	assert_float_equal(cyc, 1.25, 0);
	memcpy(other_code, code, sizeof(code));
	other_code[0] = 0x49;
	other.bytes = other_code;
	assert_false(cache_parse(text, &t, &other, &cyc));
	strcpy(t.version, "15 znver3");
	assert_false(cache_parse(text, &t, &block, &cyc));
	strcpy(t.version, "14 znver3");
	strcpy(strstr(text, "1.25"), "-1\n");
	assert_false(cache_parse(text, &t, &block, &cyc));
	strcpy(strstr(text, "-1"), "2");
	assert_false(cache_parse(text, &t, &block, &cyc)); /* cut short */
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(llvm_mca_says_cycles_of_iterations),
		cmocka_unit_test(a_description_is_read),
		cmocka_unit_test(a_bad_description_is_named_by_its_line),
		cmocka_unit_test(the_last_line_that_matches_is_the_prediction),
		cmocka_unit_test(the_largest_number_of_all_takes_counts),
		cmocka_unit_test(a_block_is_handed_over_as_its_bytes_or_in_mnemonics),
		cmocka_unit_test(a_program_is_run_with_the_block_in_its_words),
		cmocka_unit_test(a_missing_program_is_an_error_and_a_failing_one_is_not),
		cmocka_unit_test(a_kept_prediction_is_believed_only_for_what_it_is_of),
	};

	return cmocka_run_group_tests_name("lift tools", tests, NULL, NULL);
}
