/* SPDX-License-Identifier: GPL-3.0-or-later */
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
#include "profiler/base/log.h"
#include "report/truth/emit.h"

static int read_text(const char *text, struct truth **t)
{
	char path[] = "/tmp/test_truth.XXXXXX";
	int fd = mkstemp(path), err;
	size_t n = strlen(text);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, n), (ssize_t)n);
	close(fd);
	err = truth_read(path, t);
	unlink(path);
	return err;
}

static void refused(const char *text, const char *because)
{
	struct truth *t = NULL;

	assert_int_equal(read_text(text, &t), -SP_EFORMAT);
	assert_null(t);
	if (!strstr(sp_error_text(), because))
		fail_msg("'%s' lacks '%s'", sp_error_text(), because);
}

static uint64_t count_at(const struct truth *t, const char *object, uint64_t vaddr)
{
	for (size_t i = 0; i < t->n_insns; i++)
		if (strcmp(t->objects[t->insns[i].object], object) == 0 && t->insns[i].vaddr == vaddr)
			return t->insns[i].n;
	return 0;
}

#define HEAD "# callgrind format\nversion: 1\npositions: instr line\nevents: Ir\n"

static void subpositions_count_from_the_line_before(void **state)
{
	struct truth *t = NULL;

	(void)state;
	/* 0x1000, then +4 = 0x1004, * = 0x1004 again, -2 = 0x1002, +0x10 = 0x1012. */
	assert_int_equal(read_text(HEAD "ob=(1) /bin/a\nfn=(1) f\n0x1000 10 5\n+4 +1 7\n* * 1\n-2 -3 2\n"
	                                "+0x10 * 9\n",
	                           &t),
	                 0);
	assert_int_equal(t->n_insns, 4);
	assert_int_equal(count_at(t, "/bin/a", 0x1000), 5);
	assert_int_equal(count_at(t, "/bin/a", 0x1004), 8);
	assert_int_equal(count_at(t, "/bin/a", 0x1002), 2);
	assert_int_equal(count_at(t, "/bin/a", 0x1012), 9);
	assert_int_equal(t->total, 24);
	truth_free(t);
}

static void inclusive_cost_of_calls_is_left_out(void **state)
{
	struct truth *t = NULL;

	(void)state;
	/*
	 * The call's target 0x2000 is no base for what follows: the line below calls= is at 0x1004,
	 * the one after it at 0x1009.
	 */
	assert_int_equal(read_text(HEAD "ob=(1) /bin/a\n0x1000 10 5\n+4 * 5\ncob=(2) /lib/b\ncfn=(9) g\n"
	                                "calls=5 0x2000 70\n* * 700\n+5 * 5\nob=(2)\n0x2000 70 5\n",
	                           &t),
	                 0);
	assert_int_equal(t->total, 20);
	assert_int_equal(count_at(t, "/bin/a", 0x1004), 5);
	assert_int_equal(count_at(t, "/bin/a", 0x1009), 5);
	assert_int_equal(count_at(t, "/lib/b", 0x2000), 5);
	truth_free(t);
}

static void jumps_have_no_cost(void **state)
{
	struct truth *t = NULL;

	(void)state;
	assert_int_equal(read_text(HEAD "ob=/bin/a\n0x1000 10 5\njcnd=4/5 -16 10\n* *\n+2 * 1\n"
	                                "jump=3 0x1000 10\n+4 * \n+4 * 2\n",
	                           &t),
	                 0);
	/* 5 + 1 + 2; the jump's own line moves the base: 0x1002 + 4 + 4. */
	assert_int_equal(t->total, 8);
	assert_int_equal(count_at(t, "/bin/a", 0x100a), 2);
	truth_free(t);
}

static void only_the_event_ir_counts(void **state)
{
	struct truth *t = NULL;

	(void)state;
	assert_int_equal(read_text("version: 1\npositions: instr line\nevents: Dr Ir Dw\nob=a\n"
	                           "0x10 1 100 7 300\n0x20 1 100\n0x30 1 100 2\n",
	                           &t),
	                 0);
	/* Costs left out at the end of a line are zero: 0x20 has no Ir. */
	assert_int_equal(t->n_insns, 2);
	assert_int_equal(t->total, 9);
	truth_free(t);
}

/* callgrind --cache-sim=yes: loads and those that missed, of an instruction in two parts 3 + 1 of 5 + 4. */
static void loads_and_misses_are_kept(void **state)
{
	struct truth *t = NULL;

	(void)state;
	assert_int_equal(read_text("version: 1\npositions: instr line\nevents: Ir Dr Dw D1mr\nob=a\n"
	                           "0x10 1 5 5 0 3\n0x20 1 7\n0x10 1 4 4 0 1\n",
	                           &t),
	                 0);
	assert_int_equal(t->n_insns, 2);
	assert_int_equal(t->insns[0].n, 9);
	assert_int_equal(t->insns[0].n_load, 9);
	assert_int_equal(t->insns[0].n_miss, 4);
	assert_int_equal(t->insns[1].n_load, 0);
	assert_int_equal(t->total_load, 9);
	assert_int_equal(t->total_miss, 4);
	truth_free(t);
}

static void parts_of_one_file_add_up(void **state)
{
	struct truth *t = NULL;

	(void)state;
	assert_int_equal(read_text(HEAD
	                           "part: 1\nob=(1) a\n0x10 1 3\ntotals: 3\n"
	                           "part: 2\npositions: instr line\nevents: Ir Dr\nob=(1) a\n0x10 1 4 1\n"
	                           "0x14 1 5\ntotals: 9\n",
	                           &t),
	                 0);
	assert_int_equal(t->n_objects, 1);
	assert_int_equal(t->n_insns, 2);
	assert_int_equal(count_at(t, "a", 0x10), 7);
	assert_int_equal(t->total, 12);
	truth_free(t);
}

static void instructions_without_lines_are_read_too(void **state)
{
	struct truth *t = NULL;

	(void)state;
	assert_int_equal(read_text("events: Ir\npositions: instr\nob=a\n0x10 3\n+1 4\n", &t), 0);
	assert_int_equal(count_at(t, "a", 0x11), 4);
	truth_free(t);
}

static void our_build_ids_are_kept(void **state)
{
	struct truth *t = NULL;

	(void)state;
	assert_int_equal(read_text("# callgrind format\nversion: 1\ncreator: skidprof 0.1\ncmd: ./a b\n"
	                           "desc: Build id: 0123abcd /opt/my app\npositions: instr line\nevents: Ir\n"
	                           "ob=(1) /opt/my app\n0x10 3 1\n",
	                           &t),
	                 0);
	assert_int_equal(t->n_objects, 1);
	assert_string_equal(t->objects[0], "/opt/my app");
	assert_string_equal(t->build_ids[0], "0123abcd");
	assert_string_equal(t->creator, "skidprof 0.1");
	assert_string_equal(t->cmdline, "./a b");
	truth_free(t);
}

static uint64_t count_of(const struct truth *t, const char *name)
{
	for (size_t i = 0; i < t->n_funcs; i++)
		if (strcmp(t->funcs[i].name, name) == 0)
			return t->funcs[i].n_insn;
	return 0;
}

static uint64_t count_on(const struct truth *t, const char *file, uint32_t line)
{
	for (size_t i = 0; i < t->n_lines; i++)
		if (strcmp(t->files[t->lines[i].file], file) == 0 && t->lines[i].line == line)
			return t->lines[i].n_insn;
	return 0;
}

static void callgrind_without_instructions_counts_functions_and_lines(void **state)
{
	struct truth *t = NULL;

	(void)state;
	/* Names are defined by cfn= too; lines of an inlined function's file stay in the function. */
	assert_int_equal(
	        read_text("# callgrind format\nversion: 1\ncreator: callgrind-3.19.0\npositions: line\n"
	                  "events: Ir\nsummary: 40\n\nob=(1) /bin/a\nfl=(1) a.c\nfn=(1) main\n12 3\n"
	                  "cob=(2) /lib/b.so\ncfi=(2) b.c\ncfn=(2) g\ncalls=1 7\n13 500\n+1 4\nfi=(3) in.h\n"
	                  "5 10\nfe=(1)\n16 1\n\nob=(2)\nfl=(2)\nfn=(2)\n7 20\n0 2\n\ntotals: 40\n",
	                  &t),
	        0);
	assert_int_equal(t->n_insns, 0);
	assert_int_equal(t->total, 40);
	assert_int_equal(count_of(t, "main"), 18);
	assert_int_equal(count_of(t, "g"), 22);
	assert_string_equal(t->objects[t->funcs[0].object], "/lib/b.so");
	assert_int_equal(count_on(t, "a.c", 12), 3);
	/* "+1" counts from the line of the call's cost. */
	assert_int_equal(count_on(t, "a.c", 14), 4);
	assert_int_equal(count_on(t, "in.h", 5), 10);
	assert_int_equal(count_on(t, "b.c", 0), 2);
	assert_non_null(strstr(t->format, "callgrind"));
	truth_free(t);
}

static void cachegrind_is_read_and_told_from_callgrind(void **state)
{
	struct truth *t = NULL;

	(void)state;
	assert_int_equal(
	        read_text("desc: I1 cache:  32768 B, 64 B, 8-way associative\ncmd: ./a\nevents: Ir I1mr\n"
	                  "fl=a.c\nfn=(below main)\n12 3 1\nfl=b.c\nfn=ns::f(int)\n7 5\n0 2\nsummary: 10 1\n",
	                  &t),
	        0);
	assert_int_equal(t->total, 10);
	assert_int_equal(count_of(t, "(below main)"), 3);
	assert_int_equal(count_of(t, "ns::f(int)"), 7);
	assert_int_equal(t->funcs[0].object, TRUTH_NONE);
	assert_int_equal(t->n_objects, 0);
	assert_int_equal(count_on(t, "b.c", 7), 5);
	assert_non_null(strstr(t->format, "cachegrind"));
	assert_string_equal(t->creator, "cachegrind");
	truth_free(t);
}

/* What a file says of itself is held against it. */
static void counts_that_cannot_be_are_refused(void **state)
{
	(void)state;
	refused(HEAD "ob=a\n0x10 1 3\n0x14 1 18446744073709551549\n",
	        "line 7: 18446744073709551549 is no count");
	refused(HEAD "ob=a\n0x10 1 99999999999999999999\n", "line 6: 18446744073709551615 is no count");
	refused(HEAD "ob=a\n0x10 1 9000000000000000000\n0x14 1 9000000000000000000\n",
	        "line 7: counts so far");
	refused(HEAD "ob=a\n0x10 1 3\n0x14 1 8\ntotals: 7\n", "line 7: a count of 8, more than all together");
	refused(HEAD "ob=a\n0x10 1 3\n0x14 1 3\ntotals: 7\n", "add up to 6, its line 'totals:' says 7");
	refused("version: 1\npositions: instr line\nevents: Ir\nsummary: 7\nob=a\n0x10 1 3\n",
	        "add up to 3, its line 'summary:' says 7");
	refused("events: Ir\nfl=a\nfn=f\n3 4\nsummary: 5\n", "add up to 4");
	refused("main 10\nf 18446744073709551615\n", "line 2");
	refused("version: 1\npositions: line\nevents: Ir\nfn=f\n1 3\npositions: instr\nob=a\n0x10 3\n",
	        "line 6");
	refused("version: 1\npositions: instr\nevents: Ir\nob=a\n0x10 3\npositions: line\nfn=f\n1 3\n",
	        "line 6");
	refused("events: Cycles\npositions: instr line\nob=a\n0x10 1 3\n", "Ir");
}

static void damage_is_refused_by_line(void **state)
{
	(void)state;
	refused(HEAD "ob=(1) a\n0x10 zwei 3\n", "line 6");
	refused(HEAD "ob=(x) a\n", "line 5");
	refused(HEAD "ob=(99999999999) a\n", "line 5");
	refused(HEAD "ob=a\n0x10 1 3\ncalls=1 0x20 1\n", "middle of a call");
	refused(HEAD "ob=a\n0x10 1 -3\n", "no number");
	refused("version: 1\npositions: file\n", "positions");
	refused(HEAD, "no instruction has a count");
	refused("version: 2\n", "version");
	refused("", "empty");
	refused("\n\n", "empty");
}

static void drcctprof_contexts_are_runs_of_one_instruction(void **state)
{
	struct truth *t = NULL;

	(void)state;
	assert_int_equal(
	        read_text("NO. 1 PC 0x00007f90fb710 \"mov    edx, dword ptr [rax+0x08]\"\n=>EXECUTION "
	                  "TIMES\n1000\n"
	                  "=>BACKTRACE\n#0   0x00007f90fb710 in A::f at [:0]\n#1   0x00007f90fb430 in main "
	                  "at [:0]\n\n\n\n"
	                  "NO. 2 PC 0x00007f90fb710 \"mov    edx\"\n=>EXECUTION TIMES\n500\n=>BACKTRACE\n"
	                  "#0   0x00007f90fb710 \"mov    edx in it\" in A::f at [a.c:3]\n"
	                  "NO. 3 PC 0x00007f90fb800 \"ret\"\n=>EXECUTION TIMES\n7\n=>BACKTRACE\n"
	                  "#0   0x00007f90fb800 \"ret\" in operator new at [:0]\n",
	                  &t),
	        0);
	assert_int_equal(t->n_funcs, 2);
	assert_int_equal(count_of(t, "A::f"), 1500);
	assert_int_equal(count_of(t, "operator new"), 7);
	assert_int_equal(t->n_runs, 3);
	assert_int_equal(t->runs[0].ip, 0x7f90fb710);
	assert_int_equal(t->runs[0].n_insns, 1);
	assert_string_equal(t->symbols[t->runs[0].func], "A::f");
	assert_true(t->partial);
	truth_free(t);
	refused("NO. 1 PC 0x10 \"x\"\n=>EXECUTION TIMES\nmany\n", "line 3: no count");
	refused("NO. 1 PC 0x10 \"x\"\n=>EXECUTION TIMES\n3\n", "in the middle of a context");
	refused("NO. 1 PC 0x10 \"x\"\n=>EXECUTION TIMES\n3\n=>BACKTRACE\n#0 0x14 in f at [:0]\n",
	        "another address");
	/* As it was before 2021. */
	refused("NO. 1 PC add(12):\"(0x401136)x\"\n=>EXECUTION TIMES\n3\n", "without an address");
	refused("NO. 1 ins call number 3\n", "PC");
}

static void hotblocks_are_runs(void **state)
{
	struct truth *t = NULL;

	(void)state;
	assert_int_equal(read_text("collected 903 entries in the hash table\npc, tcount, icount, ecount\n"
	                           "0x0000004000001690, 1, 5, 66087\n0x00000040002b0, 1, 4, 66 - main\n",
	                           &t),
	                 0);
	assert_int_equal(t->n_runs, 2);
	assert_int_equal(t->runs[0].ip, 0x4000001690);
	assert_int_equal(t->runs[0].n_insns, 5);
	assert_int_equal(t->runs[0].n, 66087);
	assert_true(t->partial);
	truth_free(t);
	assert_int_equal(
	        read_text(
	                "collected 1 entries in the hash table\npc, tcount, icount, ecount\n0x10, 1, 1, 6\n",
	                &t),
	        0);
	assert_false(t->partial);
	truth_free(t);
	refused("pc, tcount, icount, ecount\n0x10, 1, 0, 6\n", "line 2: a block of so many");
	refused("pc, tcount, icount, ecount\n0x10, 1, 5\n", "line 2: not 'pc");
	refused("pc, tcount, icount, ecount\n0x10, 1, 5, 18446744073709551615\n", "line 2");
	refused("collected 3 entries in the hash table\n", "no block has a count");
}

static void branches_of_bolt_are_kept(void **state)
{
	struct truth *t = NULL;

	(void)state;
	assert_int_equal(
	        read_text(
	                "1 main 1b 1 main 1d 0 1\n1 main 4d 1 a\\ b@PLT 0 0 12\n0 [unknown] 0 1 main 0 0 3\n",
	                &t),
	        0);
	assert_int_equal(t->n_branches, 3);
	assert_string_equal(t->symbols[t->branches[1].to], "a b@PLT");
	assert_string_equal(t->symbols[t->branches[2].from], "");
	assert_int_equal(t->branches[0].from_off, 0x1b);
	assert_int_equal(t->branches[1].n, 12);
	truth_free(t);
	refused("1 main 1b 1 main 1d 0 1\n1 main 1b 1 main 1d 4 10\n", "line 2: mispredictions");
	refused("boltedcollection\n1 main 1b 1 main 1d 4 10\n", "perf2bolt");
	refused("1 main 1b 1 main 1d 0 1\n1 main\n", "line 2: no place");
	refused("1 main 1b 1 main 1d 0 99999999999999999999\n", "line 1");
}

static void a_table_of_names_is_read_either_way_round(void **state)
{
	struct truth *t = NULL;

	(void)state;
	assert_int_equal(read_text("# made by hand\nmain 10\n20\toperator new\nmain 5\n", &t), 0);
	assert_int_equal(t->n_funcs, 2);
	assert_string_equal(t->funcs[0].name, "main");
	assert_int_equal(t->funcs[0].n_insn, 15);
	assert_string_equal(t->funcs[1].name, "operator new");
	truth_free(t);
	refused("<html><body>no counts</body></html>\n", "line 1");
	refused("main ten\n", "line 1");
}

static void a_missing_file_names_the_command_that_makes_it(void **state)
{
	struct truth *t = NULL;

	(void)state;
	assert_true(truth_read("/nonexistent/t", &t) < 0);
	assert_non_null(strstr(sp_error_text(), "skidprof truth"));
}

/* Our own executable is an object that has code, functions and lines. */
static void what_is_written_reads_back(void **state)
{
	char exe[4096], path[] = "/tmp/test_truth.XXXXXX";
	const char *objects[] = { exe, "[anonymous]" }, *ids[] = { "", "" };
	struct truth_insn insns[] = { { 0, 0x1000, 7, 7, 2 }, { 0, 0x1004, 9, 0, 0 }, { 1, 0, 5, 0, 0 } };
	struct truth in = { .objects = objects,
		            .build_ids = ids,
		            .n_objects = 2,
		            .insns = insns,
		            .n_insns = 3,
		            .creator = "skidprof 0",
		            .cmdline = "./x",
		            .total = 21,
		            .total_load = 7,
		            .total_miss = 2 };
	struct truth *t = NULL;
	struct module *modules[] = { NULL, NULL };
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	int fd = mkstemp(path);

	(void)state;
	assert_true(n > 0 && fd >= 0);
	exe[n] = '\0';
	close(fd);
	assert_int_equal(module_open(exe, NULL, 0, NULL, &modules[0]), 0);
	assert_int_equal(truth_emit(path, &in, modules), 0);
	module_free(modules[0]);
	assert_int_equal(truth_read(path, &t), 0);
	unlink(path);
	assert_int_equal(t->n_objects, 2);
	assert_int_equal(t->n_insns, 3);
	assert_int_equal(count_at(t, exe, 0x1004), 9);
	assert_int_equal(count_at(t, "[anonymous]", 0), 5);
	assert_int_equal(t->total, 21);
	assert_int_equal(t->total_load, 7);
	assert_int_equal(t->total_miss, 2);
	assert_string_equal(t->cmdline, "./x");
	truth_free(t);
}

static void a_file_that_cannot_be_written_is_one_clear_error(void **state)
{
	struct truth in = { .creator = "", .cmdline = "" };

	(void)state;
	assert_int_equal(truth_emit("/nonexistent/folder/t", &in, NULL), -SP_EIO);
	assert_non_null(strstr(sp_error_text(), "/nonexistent/folder/t"));
	/* A full disk shows when the file is closed. */
	assert_int_equal(truth_emit("/dev/full", &in, NULL), -SP_EIO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(subpositions_count_from_the_line_before),
		cmocka_unit_test(inclusive_cost_of_calls_is_left_out),
		cmocka_unit_test(jumps_have_no_cost),
		cmocka_unit_test(only_the_event_ir_counts),
		cmocka_unit_test(loads_and_misses_are_kept),
		cmocka_unit_test(parts_of_one_file_add_up),
		cmocka_unit_test(instructions_without_lines_are_read_too),
		cmocka_unit_test(our_build_ids_are_kept),
		cmocka_unit_test(callgrind_without_instructions_counts_functions_and_lines),
		cmocka_unit_test(cachegrind_is_read_and_told_from_callgrind),
		cmocka_unit_test(counts_that_cannot_be_are_refused),
		cmocka_unit_test(damage_is_refused_by_line),
		cmocka_unit_test(drcctprof_contexts_are_runs_of_one_instruction),
		cmocka_unit_test(hotblocks_are_runs),
		cmocka_unit_test(branches_of_bolt_are_kept),
		cmocka_unit_test(a_table_of_names_is_read_either_way_round),
		cmocka_unit_test(a_missing_file_names_the_command_that_makes_it),
		cmocka_unit_test(what_is_written_reads_back),
		cmocka_unit_test(a_file_that_cannot_be_written_is_one_clear_error),
	};

	return cmocka_run_group_tests_name("truth", tests, NULL, NULL);
}
