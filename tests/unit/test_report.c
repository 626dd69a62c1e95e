/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

#include "correct/judge/reasons.h"
#include "profiler/base/err.h"
#include "profiler/base/log.h"
#include "report/report.h"
#include "report/why.h"
#include "tests/unit/report_fixture.h"

static char *text_of(const struct profile *p, const struct report_opts *o, int width)
{
	int err;
	char *text = report_text(p, o, width, &err);

	assert_int_equal(err, 0);
	return text;
}

static json_t *json_of(const struct profile *p, struct report_opts o)
{
	json_error_t where;
	json_t *doc;
	char *text;

	o.format = REPORT_JSON;
	text = text_of(p, &o, 0);
	doc = json_loads(text, 0, &where);
	if (!doc)
		fail_msg("%s at %d", where.text, where.position);
	free(text);
	return doc;
}

static double number(const json_t *o, const char *key)
{
	return json_number_value(json_object_get(o, key));
}

static void the_header_says_where_the_numbers_come_from(void **state)
{
	struct profile *p = profile_fixture();
	struct report_opts o = REPORT_OPTS_DEFAULT;
	char *text = text_of(p, &o, 0);

	(void)state;
	assert_ptr_equal(text,
	                 strstr(text,
	                        "# simulated PMU; cycles every 1,009, instructions every 1,000; "
	                        "skid 378 cycles (10-90% 310..646, measured); 5,000 samples, 0 lost\n"));
	assert_non_null(strstr(text, "# host here, cpu A core\n"));
	assert_non_null(strstr(text, "# also counted: branches; branch records: no\n"));
	assert_non_null(
	        strstr(text, "# method full, seed 7, skid from 3,000 overshoots of the cycles counter\n"));
	assert_null(strstr(text, "outside known files"));
	free(text);
	profile_free(p);
}

static void functions_are_a_row_each(void **state)
{
	struct profile *p = profile_fixture();
	struct report_opts o = REPORT_OPTS_DEFAULT;
	char *text = text_of(p, &o, 0);

	(void)state;
	/* IPC: 500,000 / 1,000,000 raw, 1,200,000 / 1,000,000 fixed; setup has 2,018 / 1,009 = 2 samples: none. */
	assert_non_null(strstr(
	        text,
	        "\n\n"
	        "SHARE    RAW  FIXED   90% INTERVAL CYCLES IPC-RAW  IPC STATUS EVIDENCE        FUNCTION\n"
	        "60.0% 500.0k 1.200M 1.180M..1.220M 1.000M    0.50 1.20 fixed  totals,branches dot(int, int) "
	        "(inlined)\n"
	        "35.0% 1.400M 700.0k 300.0k..1.100M 1.900M    0.74 0.37 weak   bounds          main\n"
	        "5.00% 100.0k 100.0k              - 2.018k       -    - raw                    setup\n"));
	free(text);
	profile_free(p);
}

static void raw_alone_shows_what_other_profilers_do(void **state)
{
	struct profile *p = profile_fixture();
	struct report_opts o = REPORT_OPTS_DEFAULT;
	char *text;

	(void)state;
	o.show = REPORT_RAW;
	text = text_of(p, &o, 0);
	assert_non_null(strstr(text, "\nSHARE    RAW CYCLES IPC-RAW STATUS FUNCTION\n"
	                             "70.0% 1.400M 1.900M    0.74 weak   main\n"
	                             "25.0% 500.0k 1.000M    0.50 fixed  dot(int, int) (inlined)\n"));
	free(text);
	o.show = REPORT_FIXED;
	text = text_of(p, &o, 0);
	assert_non_null(strstr(text,
	                       "\nSHARE  FIXED   90% INTERVAL CYCLES  IPC STATUS EVIDENCE        FUNCTION\n"
	                       "60.0% 1.200M 1.180M..1.220M 1.000M 1.20 fixed  totals,branches dot"));
	free(text);
	profile_free(p);
}

static void rolled_up_functions_hold_their_inlined_ones(void **state)
{
	struct profile *p = profile_fixture();
	struct report_opts o = REPORT_OPTS_DEFAULT;
	json_t *doc, *funcs;

	(void)state;
	o.rollup = true;
	doc = json_of(p, o);
	funcs = json_object_get(doc, "functions");
	assert_int_equal(json_array_size(funcs), 2);
	assert_string_equal(json_string_value(json_object_get(json_array_get(funcs, 0), "name")), "main");
	assert_float_equal(number(json_array_get(funcs, 0), "fixed"), 1900000, 1e-9);
	assert_float_equal(number(json_array_get(funcs, 0), "share_fixed"), 0.95, 1e-9);
	/* How its parts share what is known of the whole is another question. */
	assert_string_equal(json_string_value(json_object_get(json_array_get(funcs, 0), "status")), "fixed");
	assert_string_equal(json_string_value(json_object_get(json_array_get(funcs, 0), "why")), "");
	json_decref(doc);
	profile_free(p);
}

static void json_has_every_number_and_null_for_unknown_ones(void **state)
{
	struct profile *p = profile_fixture();
	const struct report_opts o = REPORT_OPTS_DEFAULT;
	json_t *doc = json_of(p, o), *meta = json_object_get(doc, "meta"), *f;

	(void)state;
	assert_float_equal(number(doc, "skidprof"), 1, 1e-9);
	assert_float_equal(number(meta, "seed"), 7, 1e-9);
	assert_string_equal(json_string_value(json_object_get(meta, "pmu")), "simulated");
	assert_float_equal(number(json_object_get(meta, "skid"), "median_cyc"), 378, 1e-9);
	assert_int_equal(json_array_size(json_object_get(meta, "events")), 3);
	f = json_array_get(json_object_get(doc, "functions"), 0);
	assert_float_equal(number(f, "raw"), 500000, 1e-9);
	assert_float_equal(number(f, "lo"), 1180000, 1e-9);
	assert_float_equal(number(f, "ipc_fixed"), 1.2, 1e-9);
	assert_true(json_is_true(json_object_get(f, "inlined")));
	f = json_array_get(json_object_get(doc, "functions"), 2);
	assert_true(json_is_null(json_object_get(f, "lo")) && json_is_null(json_object_get(f, "hi")));
	assert_true(json_is_null(json_object_get(f, "ipc_fixed")));
	f = json_array_get(json_object_get(doc, "regions"), 0);
	assert_float_equal(number(f, "free_flows"), 2, 1e-9);
	assert_float_equal(number(f, "skid_periods"), 37.8, 1e-9);
	assert_string_equal(json_string_value(json_object_get(f, "vaddr")), "0x401136");
	json_decref(doc);
	profile_free(p);
}

static void csv_quotes_what_has_commas_and_quotes(void **state)
{
	struct profile *p = profile_fixture();
	struct report_opts o = REPORT_OPTS_DEFAULT;
	char *text;

	(void)state;
	sp_log_level_set(-1);
	p->funcs[1].name = "a \"b\",c\n";
	o.format = REPORT_CSV;
	text = text_of(p, &o, 0);
	sp_log_level_set(0);
	assert_non_null(strstr(text, "\n\"dot(int, int)\",0.6,500,500000,1200000,1180000,1220000,"));
	assert_non_null(strstr(text, "\n\"a \"\"b\"\",c\\x0a\",0.35,"));
	/* Unknown numbers are empty: lo and hi, both IPCs. */
	assert_non_null(strstr(text, "\nsetup,0.05,100,100000,100000,,,2018,2018,,,,raw,"));
	free(text);
	profile_free(p);
}

static void odd_names_break_no_format(void **state)
{
	static const char *const names[] = { "",          "\xff\xfe",     "tab\there",       "\033[2J",
		                             "a,b;\"c\"", "\xed\xa0\x80", "operator\"\" _x", "\\x1b",
		                             "%s%n" };
	struct report_opts o = REPORT_OPTS_DEFAULT;

	(void)state;
	sp_log_level_set(-1);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct profile *p = profile_fixture();
		json_t *doc;

		p->funcs[0].name = p->funcs[0].linkage = names[i];
		p->meta.cmdline = p->meta.hostname = p->meta.input = names[i];
		p->meta.events[0].name = p->regions[0].name = p->files[1] = names[i];
		doc = json_of(p, o);
		assert_int_equal(json_array_size(json_object_get(doc, "functions")), 3);
		json_decref(doc);
		for (int view = REPORT_FUNCTIONS; view <= REPORT_WHY; view++) {
			for (int width = 0; width < 200; width += 50) {
				char *text;

				o.view = (enum report_view)view;
				o.why = "main";
				text = text_of(p, &o, width);
				for (const char *s = text; *s; s++)
					assert_true((unsigned char)*s >= 0x20 || *s == '\n');
				free(text);
			}
		}
		o.view = REPORT_FUNCTIONS;
		profile_free(p);
	}
	sp_log_level_set(0);
}

static void narrow_terminals_lose_columns_and_middles_of_names(void **state)
{
	struct profile *p = profile_fixture();
	struct report_opts o = REPORT_OPTS_DEFAULT;
	char *text, *line, *rest;

	(void)state;
	p->funcs[0].name =
	        "std::vector<std::pair<int, double>, std::allocator<std::pair<int, double> > >::push_back()";
	/* What a template is made of goes first, but for operators. */
	text = text_of(p, &o, 100);
	assert_non_null(strstr(text, " std::vector<>::push_back() (inlined)\n"));
	free(text);
	p->funcs[0].name = "a<std::pair<int, double> >::operator-> and operator<< <std::pair<int, double> >";
	text = text_of(p, &o, 100);
	assert_non_null(strstr(text, " a<>::operator-> and operator<< <> [i]\n"));
	free(text);
	p->funcs[0].name =
	        "std::vector<std::pair<int, double>, std::allocator<std::pair<int, double> > >::push_back()";
	text = text_of(p, &o, 80);
	assert_non_null(strstr(text, "# no room here for "));
	assert_null(strstr(text, "STATUS EVIDENCE"));
	assert_non_null(strstr(text, "..."));
	rest = strstr(text, "\n\n") + 2;
	while ((line = strsep(&rest, "\n")) && line[0] != '#')
		assert_true(strlen(line) <= 80);
	free(text);
	/* With room enough nothing is cut, nor left out but what templates are made of in turn. */
	text = text_of(p, &o, 200);
	assert_non_null(
	        strstr(text, " std::vector<std::pair<>, std::allocator<> >::push_back() (inlined)\n"));
	assert_non_null(strstr(text, "EVIDENCE"));
	free(text);
	profile_free(p);
}

/* The width of the widest line of the table. */
static size_t widest(char *text)
{
	char *rest = strstr(text, "\n\n") + 2, *line;
	size_t most = 0;

	while ((line = strsep(&rest, "\n")) && line[0] != '#')
		most = strlen(line) > most ? strlen(line) : most;
	return most;
}

static void eighty_and_sixty_columns_are_enough(void **state)
{
	struct profile *p = profile_fixture();
	struct report_opts o = REPORT_OPTS_DEFAULT;
	char *text;

	(void)state;
	p->funcs[0].name =
	        "std::vector<std::pair<int, double>, std::allocator<std::pair<int, double> > >::push_back()";
	text = text_of(p, &o, 80);
	/* SHARE .. STATUS are 57 columns; what is left is the name's. */
	assert_non_null(strstr(text, "SHARE    RAW  FIXED   90% INTERVAL IPC-RAW  IPC STATUS FUNCTION"));
	/* The name has the room that a word behind it would take. */
	assert_non_null(strstr(text, " ...::push_back() [i]\n"));
	assert_non_null(strstr(text, "\n# [i]: inlined\n"));
	assert_true(widest(text) <= 80);
	free(text);
	text = text_of(p, &o, 60);
	assert_non_null(strstr(text, "\nSHARE  FIXED   90% INTERVAL  IPC STATUS FUNCTION"));
	assert_true(widest(text) <= 60);
	free(text);
	profile_free(p);
}

/* setup has 5% of 2,000,000. */
static void rows_below_the_least_share_are_left_out_and_said(void **state)
{
	struct profile *p = profile_fixture();
	struct report_opts o = REPORT_OPTS_DEFAULT;
	json_t *doc;
	char *text;

	(void)state;
	o.min_share = 0.0501;
	text = text_of(p, &o, 0);
	assert_null(strstr(text, "setup"));
	assert_non_null(strstr(text, "\n# 1 more function, 5.00% of the instructions and 0.07% of the "
	                             "cycles together, is below --min-share\n"));
	free(text);
	doc = json_of(p, o);
	assert_int_equal(json_array_size(json_object_get(doc, "functions")), 2);
	json_decref(doc);
	o.sort = SORT_NAME;
	o.min_share = 0.4;
	text = text_of(p, &o, 0);
	assert_non_null(strstr(text, "dot(int, int)"));
	assert_null(strstr(text, " main\n"));
	free(text);
	profile_free(p);
}

/* main, 100%, has dot, 60%, put in place in it: what it runs by itself is 35% where dot has a row of its own. */
static void what_is_inlined_is_not_its_caller_s_own(void **state)
{
	static const struct profile_frame frames[] = {
		{ UINT32_MAX, UINT32_MAX, UINT32_MAX, 0, 0 },
		{ 0, 1, 1, 1400000, 1900000 },
		{ 1, 0, 1, 500000, 1000000 },
	};
	struct profile *p = profile_fixture();
	struct report_opts o = REPORT_OPTS_DEFAULT;
	json_t *doc, *rows;
	char *text;

	(void)state;
	p->n_frames = 3;
	p->frames = malloc(sizeof(frames));
	memcpy(p->frames, frames, sizeof(frames));
	o.view = REPORT_CHILDREN;
	doc = json_of(p, o);
	rows = json_object_get(doc, "children");
	assert_string_equal(json_string_value(json_object_get(json_array_get(rows, 0), "function")), "main");
	assert_float_equal(number(json_array_get(rows, 0), "share_self"), 700000 / 2e6, 1e-9);
	assert_float_equal(number(json_array_get(rows, 1), "share_self"), 1200000 / 2e6, 1e-9);
	json_decref(doc);
	/* Shares of rows that hold one another have no sum. */
	o.limit = 1;
	text = text_of(p, &o, 0);
	assert_non_null(strstr(text, "# 2 more functions are not shown; --limit 0 shows all\n"));
	free(text);
	profile_free(p);
}

/* dot, inlined into main and called by it as well, has a tenth of its cycles in code of its own: it alone is no part of main's. */
static void what_is_inlined_of_a_called_function_is_its_caller_s(void **state)
{
	static const struct profile_frame frames[] = {
		{ UINT32_MAX, UINT32_MAX, UINT32_MAX, 0, 0 },
		{ 0, 1, 1, 0, 2900000 },
		{ 1, 0, 0, 0, 100000 },
	};
	struct profile *p = profile_fixture();
	struct report_opts o = REPORT_OPTS_DEFAULT;
	double sum = 0;
	json_t *doc, *rows;

	(void)state;
	p->meta.insn_event = -1;
	p->funcs[0].count.cyc += 100000;
	p->funcs[0].rolled = (struct profile_count){ .raw_cyc = 100000, .cyc = 100000, .n_samples = 50 };
	p->n_frames = 3;
	p->frames = malloc(sizeof(frames));
	memcpy(p->frames, frames, sizeof(frames));
	o.view = REPORT_CHILDREN;
	o.limit = 0;
	doc = json_of(p, o);
	rows = json_object_get(doc, "children");
	assert_int_equal(json_array_size(rows), 3);
	for (size_t i = 0; i < 3; i++)
		sum += number(json_array_get(rows, i), "share_self");
	assert_float_equal(sum, 1, 1e-9);
	/* No stack has setup: it is there for its own, and more is not known of it. */
	assert_string_equal(json_string_value(json_object_get(json_array_get(rows, 2), "function")), "setup");
	assert_true(json_is_null(json_object_get(json_array_get(rows, 2), "share")));
	json_decref(doc);
	profile_free(p);
}

/* Nobody calls what is inlined only. */
static void callers_of_what_is_inlined_only_are_those_that_hold_it(void **state)
{
	struct profile *p = profile_fixture();
	struct report_opts o = REPORT_OPTS_DEFAULT;
	char *text;

	(void)state;
	o.view = REPORT_CALLERS;
	o.why = "dot";
	text = text_of(p, &o, 0);
	assert_non_null(strstr(text, "# 'dot(int, int)' is inlined, and not called: into 'main'\n"));
	free(text);
	o.why = "main";
	text = text_of(p, &o, 0);
	assert_null(strstr(text, "is inlined"));
	free(text);
	profile_free(p);
}

static void what_the_limit_hides_is_said(void **state)
{
	struct profile *p = profile_fixture();
	struct report_opts o = REPORT_OPTS_DEFAULT;
	char *text;

	(void)state;
	o.limit = 1;
	text = text_of(p, &o, 0);
	assert_non_null(strstr(text, "# 2 more functions, 40.0% of the instructions and 65.5% of the cycles "
	                             "together, are not shown; --limit 0 shows all\n"));
	assert_null(strstr(text, "setup"));
	free(text);
	o.limit = 0;
	text = text_of(p, &o, 0);
	assert_null(strstr(text, "not shown"));
	free(text);
	profile_free(p);
}

static const char *first_name(const json_t *doc)
{
	return json_string_value(
	        json_object_get(json_array_get(json_object_get(doc, "functions"), 0), "name"));
}

/* dot: fixed 1.2M, IPC 1.2; main: raw 1.4M, 1.9M cycles, weak; changes 700k each, equal: dot's share is larger. */
static void rows_are_sorted_by_any_key(void **state)
{
	static const char *const first[] = {
		[SORT_SHARE] = "dot(int, int)", [SORT_RAW] = "main",
		[SORT_FIXED] = "dot(int, int)", [SORT_CYCLES] = "main",
		[SORT_IPC] = "dot(int, int)",   [SORT_CHANGE] = "dot(int, int)",
		[SORT_STATUS] = "main",         [SORT_NAME] = "dot(int, int)",
	};
	struct profile *p = profile_fixture();
	struct report_opts o = REPORT_OPTS_DEFAULT;

	(void)state;
	for (int key = 0; key <= SORT_NAME; key++) {
		json_t *doc;

		o.sort = (enum report_sort)key;
		doc = json_of(p, o);
		assert_string_equal(first_name(doc), first[key]);
		json_decref(doc);
	}
	profile_free(p);
}

static void functions_are_found_by_every_name_they_have(void **state)
{
	const struct profile_func f = { .name = "ns::Vec::dot(int, int)", .linkage = "_ZN2ns3Vec3dotEii" };
	const struct profile_func other = { .name = "malloc",
		                            .linkage = "malloc",
		                            .aliases = "__GI___libc_malloc\n__libc_malloc" };
	const struct profile_func index = { .name = "Vec::operator[](int)", .linkage = "_ZN3VecixEi" };
	const struct profile_func sift = { .name = "void ns::sift<int>(int*)", .linkage = "s" };
	const struct profile_func find = { .name = "Table<Key, std::less<Key> >::find", .linkage = "f" };
	const struct profile_func shift = { .name = "ns::operator<< <char>(char)", .linkage = "o" };
	const struct profile_func iter = {
		.name = "<core::slice::iter::Iter<T> as core::iter::traits::iterator::Iterator>::next",
		.linkage = "i"
	};
	const struct profile_func hidden = { .name = "(anonymous namespace)::step(int)", .linkage = "h" };
	const struct profile_func tagged = { .name = "ns::make<int>[abi:cxx11](int)", .linkage = "t" };

	(void)state;
	assert_true(report_matches(&f, "ns::Vec::dot(int, int)"));
	assert_true(report_matches(&f, "ns::Vec::dot"));
	assert_true(report_matches(&f, "dot"));
	assert_true(report_matches(&f, "Vec::dot"));
	assert_true(report_matches(&f, "_ZN2ns3Vec3dotEii"));
	assert_true(report_matches(&f, "ns::*"));
	assert_true(report_matches(&f, "*dot*"));
	assert_false(report_matches(&f, "ot"));
	assert_false(report_matches(&f, "ns"));
	assert_false(report_matches(&f, ""));
	assert_true(report_matches(&index, "operator[]"));
	for (const char *const *word =
	             (const char *const[]){ "sift", "ns::sift", "*sift<*", "ns::sift<int>", "*s?ft", NULL };
	     *word; word++)
		assert_true(report_matches(&sift, *word));
	assert_false(report_matches(&sift, "sift<char>"));
	assert_true(report_matches(&find, "find"));
	assert_true(report_matches(&find, "Table::find"));
	/* As tables have it. */
	assert_true(report_matches(&iter, "<Iter<T> as Iterator>::next"));
	assert_false(report_matches(&iter, "<Iter<T> as Iterator>::last"));
	assert_true(report_matches(&find, "Table<Key, std::less<Key> >::find"));
	assert_false(report_matches(&find, "Table"));
	assert_true(report_matches(&shift, "operator<<"));
	assert_true(report_matches(&shift, "ns::operator<<"));
	assert_true(report_matches(&hidden, "step"));
	/* The compiler's tags are not in the source. */
	for (const char *const *word = (const char *const[]){ "make", "ns::make<int>", "make<int>[abi:cxx11]",
	                                                      "make[abi:cxx11]", NULL };
	     *word; word++)
		assert_true(report_matches(&tagged, *word));
	assert_false(report_matches(&tagged, "cxx11"));
	assert_true(report_matches(&other, "malloc"));
	assert_true(report_matches(&other, "__libc_malloc"));
	assert_true(report_matches(&other, "__GI___libc_malloc"));
	assert_true(report_matches(&other, "__libc_*"));
	assert_false(report_matches(&other, "__GI_"));
}

/* Go's compiler tells the file of a function, and not the line. */
static void a_file_without_a_line_stands_by_itself(void **state)
{
	struct profile *p = profile_fixture();
	struct report_opts o = REPORT_OPTS_DEFAULT;
	char *text;
	int err;

	(void)state;
	o.view = REPORT_WHY;
	o.why = "main";
	text = report_text(p, &o, 0, &err);
	assert_non_null(text);
	assert_non_null(strstr(text, "main, "));
	assert_null(strstr(text, ":0, in "));
	free(text);
	for (size_t i = 0; i < p->n_funcs; i++)
		p->funcs[i].line = 0;
	text = report_text(p, &o, 0, &err);
	assert_non_null(text);
	assert_non_null(strstr(text, ".c, in "));
	assert_null(strstr(text, ":0, in "));
	free(text);
	profile_free(p);
}

static void a_function_that_is_not_there_gets_the_nearest(void **state)
{
	struct profile *p = profile_fixture();
	struct report_opts o = REPORT_OPTS_DEFAULT;
	char *text;
	int err;

	(void)state;
	o.function = "mian";
	for (int view = REPORT_FUNCTIONS; view <= REPORT_WHY; view++) {
		if (view == REPORT_REGIONS)
			continue;
		o.view = (enum report_view)view;
		o.why = "mian";
		text = report_text(p, &o, 0, &err);
		assert_int_equal(err, -SP_ENOENT);
		assert_non_null(strstr(sp_error_text(), "did you mean 'main'?"));
		free(text);
	}
	profile_free(p);
}

/* An unreliable region, for this reason, has one advice, which begins so. */
static void assert_advised(const struct profile *p, const char *why, const char *begins)
{
	const struct profile_region r = { .status = PROFILE_UNRELIABLE, .n_free = 2, .why = why };
	char advice[WHY_MAX_ADVICE][WHY_ADVICE_BYTES];

	assert_int_equal(why_advice(p, &p->funcs[1], &r, advice), 1);
	assert_ptr_equal(strstr(advice[0], begins), advice[0]);
}

/* Time at 2 GHz: a sample every 1,009 ns is 2,018 cycles; setup has one of them, too few for a cost. */
static void without_counts_shares_of_the_region_are_shown(void **state)
{
	struct profile *p = profile_fixture();
	struct report_opts o = REPORT_OPTS_DEFAULT;
	struct profile_region region = { .name = "loop (app.c:30)", .why = "" };
	char *text, advice[WHY_MAX_ADVICE][WHY_ADVICE_BYTES];
	json_t *doc, *f;

	(void)state;
	p->meta.pmu = "clock";
	p->meta.insn_event = -1;
	p->meta.relative = true;
	p->meta.core_hz = 2e9;
	p->meta.cyc_per_event = 2;
	p->meta.n_bursts = 400;
	free(p->regions[0].draws);
	free(p->regions[0].equations);
	p->regions[0] = region;
	p->n_regions = 1;
	p->funcs[0].part = (struct profile_part){ 0, 0.6, 0.59, 0.61, 0.575, 0.55, 0.60 };
	p->funcs[1].part = (struct profile_part){ 0, 0.4, 0.39, 0.41, 1.6375, 1.62, 1.66 };
	p->funcs[2].part = (struct profile_part){ -1, NAN, NAN, NAN, NAN, NAN, NAN };
	/* Advice is of what such a recording can have. */
	assert_int_equal(why_advice(p, &p->funcs[1],
	                            &(struct profile_region){ .status = PROFILE_WEAK, .n_free = 2 }, advice),
	                 1);
	assert_non_null(strstr(advice[0], "more bursts"));
	assert_int_equal(why_advice(p, &p->funcs[1],
	                            &(struct profile_region){ .status = PROFILE_WEAK,
	                                                      .why = reason_text_apart_in_time },
	                            advice),
	                 1);
	assert_null(strstr(advice[0], "more bursts"));
	assert_non_null(strstr(advice[0], "--timed-bursts auto"));
	assert_non_null(strstr(advice[0], "'skidprof truth' counts all instructions exactly"));
	assert_int_equal(why_advice(p, &p->funcs[1],
	                            &(struct profile_region){ .status = PROFILE_UNRELIABLE,
	                                                      .why = reason_text_scopes_apart },
	                            advice),
	                 1);
	assert_null(strstr(advice[0], "more bursts"));
	/* Nor where those that there are leave the code, nor where a share is known already. */
	assert_int_equal(
	        why_advice(p, &p->funcs[1],
	                   &(struct profile_region){
	                           .status = PROFILE_WEAK,
	                           .why = "14% of its branch records or bursts leave its code, and show "
	                                  "nothing of it from there on: 'skidprof truth' counts it" },
	                   advice),
	        1);
	assert_non_null(strstr(advice[0], "More bursts don't help"));
	assert_int_equal(why_advice(p, &p->funcs[1],
	                            &(struct profile_region){
	                                    .status = PROFILE_FIXED, .n_free = 1, .n_rank = 1 },
	                            advice),
	                 1);
	assert_non_null(strstr(advice[0], "share of this region is known"));
	assert_int_equal(why_advice(p, &p->funcs[1],
	                            &(struct profile_region){
	                                    .status = PROFILE_UNRELIABLE,
	                                    .why = "too large to be solved: 9 blocks, of which 5 "
	                                           "have samples or are on record" },
	                            advice),
	                 1);
	assert_null(strstr(advice[0], "more bursts"));
	assert_non_null(strstr(advice[0], "only if they show that less of its code runs"));
	assert_int_equal(why_advice(p, &p->funcs[1],
	                            &(struct profile_region){
	                                    .status = PROFILE_UNRELIABLE,
	                                    .why = "not reached within --budget 1: a region" },
	                            advice),
	                 1);
	assert_non_null(strstr(advice[0], "a larger --budget"));
	for (int counted = 0; counted < 2; counted++) {
		p->meta.relative = !counted;
		assert_advised(
		        p,
		        "averaged along branch records or bursts, not solved: its region is of several "
		        "programs, a and b among them",
		        "report --comm");
		assert_advised(
		        p,
		        "63% of its samples are in code that its flow does not lead through: 'skidprof "
		        "truth' counts it",
		        "'skidprof truth'");
	}
	p->meta.relative = true;
	/* Timed paths tell instructions by the clock: it can take neither other events nor branch records. */
	p->meta.relative = false;
	p->meta.pace = 2;
	p->meta.pace_timed = true;
	assert_int_equal(why_advice(p, &p->funcs[1],
	                            &(struct profile_region){ .status = PROFILE_UNRELIABLE,
	                                                      .why = reason_text_apart_in_time },
	                            advice),
	                 1);
	assert_non_null(strstr(advice[0], "More bursts don't help"));
	assert_null(strstr(advice[0], "timed paths"));
	assert_int_equal(why_advice(p, &p->funcs[1],
	                            &(struct profile_region){
	                                    .status = PROFILE_WEAK, .n_free = 2, .total_sd = 0.1 },
	                            advice),
	                 2);
	assert_non_null(strstr(advice[0], "more timed paths"));
	assert_non_null(strstr(advice[1], "more bursts"));
	p->meta.relative = true;
	p->meta.pace = 0;
	p->meta.pace_timed = false;
	text = text_of(p, &o, 0);
	assert_non_null(strstr(text, "# clock, no PMU; "));
	assert_non_null(strstr(text, "cycles are time x 2.00 GHz; 4,600 samples, 0 lost\n"));
	assert_non_null(
	        strstr(text,
	               "# 'skidprof truth PROGRAM' counts instructions: report --truth FILE; 'record "
	               "--timed-bursts auto' times some loops of many programs, and tells them roughly\n"));
	free(text);
	/* Where most moments tell nothing nobody is sent for more of them, nor for longer. */
	p->meta.n_timed = 10;
	p->meta.n_not_timed = 10;
	text = text_of(p, &o, 0);
	assert_non_null(strstr(text,
	                       "# 10 timed paths, and 10 moments at which none could be timed: instructions "
	                       "are not told: 50% of the moments tell nothing"));
	assert_null(strstr(text, "--timed-bursts"));
	assert_null(strstr(text, "record longer"));
	free(text);
	p->meta.n_timed = 8;
	p->meta.n_not_timed = 2;
	text = text_of(p, &o, 0);
	assert_non_null(strstr(text,
	                       "too few to tell instructions, which takes 10: 80% of the moments tell them; "
	                       "record longer\n"));
	assert_null(strstr(text, "--timed-bursts"));
	free(text);
	p->meta.n_timed = p->meta.n_not_timed = 0;
	text = text_of(p, &o, 0);
	assert_non_null(strstr(text, "IN-REGION 90% INTERVAL CPI/REGION"));
	assert_non_null(strstr(text, "40.0% 39.0%..41.0%       1.64 loop (app.c:30) weak"));
	assert_null(strstr(text, "IPC-RAW"));
	free(text);
	/* On 80 columns a share has the region that it is of, and no line is longer, or of columns that are not there. */
	text = text_of(p, &o, 80);
	assert_non_null(strstr(text, "IN-REGION 90% INTERVAL REGION"));
	assert_non_null(strstr(text, " loop   weak"));
	assert_null(strstr(text, "INTERVAL CPI/REGION"));
	assert_null(strstr(text, "SAMPLES CYCLES"));
	for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
		assert_true(strcspn(line, "\n") <= 80);
	free(text);
	/* Of a ratio that is not well known as much is shown as is. */
	p->funcs[1].part.cpi_lo = 1.2;
	p->funcs[1].part.cpi_hi = 2.1;
	text = text_of(p, &o, 0);
	assert_non_null(strstr(text, "40.0% 39.0%..41.0%        1.6 loop (app.c:30) weak"));
	free(text);
	p->funcs[1].part.cpi_hi = INFINITY;
	text = text_of(p, &o, 0);
	assert_non_null(strstr(text, "40.0% 39.0%..41.0%          - loop (app.c:30) weak"));
	free(text);
	p->funcs[1].part.cpi_lo = 1.62;
	p->funcs[1].part.cpi_hi = 1.66;
	/* The name of a template's region leaves what is behind it in sight, without a terminal too: 60 wide, and JSON has it whole. */
	p->regions[0].name =
	        "table<std::basic_string<char, std::char_traits<char>, std::allocator<char> > >::grow "
	        "(hashtable.h:2566)";
	text = text_of(p, &o, 0);
	assert_non_null(strstr(text, "1.64 table<std::basic_string<> >::grow (hashtable.h:2566) weak"));
	free(text);
	doc = json_of(p, o);
	f = json_array_get(json_object_get(doc, "functions"), 0);
	assert_string_equal(json_string_value(json_object_get(f, "region")), p->regions[0].name);
	json_decref(doc);
	/* A share that nothing tells how well it is known. */
	p->funcs[1].part.lo = p->funcs[1].part.hi = NAN;
	o.view = REPORT_WHY;
	o.why = "main";
	text = text_of(p, &o, 0);
	assert_non_null(strstr(text, "  40.0% of the instructions of region table<"));
	assert_non_null(strstr(text, "(hashtable.h:2566): how far that may be off is not known\n"));
	free(text);
	o.view = REPORT_FUNCTIONS;
	doc = json_of(p, o);
	f = json_array_get(json_object_get(doc, "functions"), 0);
	assert_true(json_is_null(json_object_get(f, "fixed")));
	assert_true(json_is_null(json_object_get(f, "ipc_fixed")));
	assert_float_equal(number(f, "region_share"), 0.4, 1e-9);
	assert_float_equal(number(json_object_get(doc, "meta"), "core_hz"), 2e9, 1);
	json_decref(doc);
	/* Exact counts come in: instructions and IPC, and no shares of regions any more. */
	p->meta.relative = false;
	p->meta.truth = "x.truth";
	text = text_of(p, &o, 0);
	assert_non_null(
	        strstr(text,
	               "# instructions are exact counts of another run: x.truth; SHARE is of them, 2.000M in "
	               "all, IPC 0.69\n"));
	assert_non_null(strstr(text, "\nSHARE  FIXED   90% INTERVAL CYCLES  IPC STATUS"));
	assert_null(strstr(text, "IN-REGION"));
	free(text);
	/* Time by line is as sampled: there is nothing to be judged of it. */
	p->meta.truth = NULL;
	p->meta.relative = true;
	o.view = REPORT_LINES;
	text = text_of(p, &o, 0);
	assert_null(strstr(text, "STATUS"));
	free(text);
	doc = json_of(p, o);
	assert_true(
	        json_is_null(json_object_get(json_array_get(json_object_get(doc, "lines"), 0), "status")));
	json_decref(doc);
	o.view = REPORT_FUNCTIONS;
	p->meta.relative = false;
	/* Too few bursts for shares: time is all there is. */
	p->meta.truth = NULL;
	p->meta.n_bursts = 1;
	text = text_of(p, &o, 0);
	assert_non_null(strstr(text, "# nothing was corrected: 1 burst is too few to tell instructions by "));
	assert_null(strstr(text, "IN-REGION"));
	free(text);
	profile_free(p);
}

static void no_functions_are_no_error(void **state)
{
	struct profile *p = calloc(1, sizeof(*p));
	struct report_opts o = REPORT_OPTS_DEFAULT;
	json_t *doc;
	char *text;

	(void)state;
	p->meta.insn_event = p->meta.cyc_event = -1;
	for (int view = REPORT_FUNCTIONS; view <= REPORT_CHILDREN; view++) {
		o.view = (enum report_view)view;
		text = text_of(p, &o, 80);
		assert_non_null(
		        strstr(text, "# unknown PMU; no sampled event; skid unknown; 0 samples, 0 lost\n"));
		assert_non_null(strstr(text, " to show\n"));
		free(text);
	}
	o.view = REPORT_FUNCTIONS;
	doc = json_of(p, o);
	assert_int_equal(json_array_size(json_object_get(doc, "functions")), 0);
	json_decref(doc);
	profile_free(p);
}

/* Not 0 but not there: instructions and IPC have no column, null in JSON, and the header says why. */
static void what_was_not_recorded_is_not_shown_as_0(void **state)
{
	struct profile *p = profile_fixture();
	struct report_opts o = REPORT_OPTS_DEFAULT;
	json_t *doc, *f;
	char *text;

	(void)state;
	p->meta.insn_event = -1;
	for (int i = 0; i < 3; i++)
		p->funcs[i].count.raw_insn = p->funcs[i].count.insn = p->funcs[i].n_samples = 0;
	p->funcs[1].count.n_samples = 1883;
	text = text_of(p, &o, 0);
	assert_non_null(strstr(text, "# no instructions event in this file: "));
	/* main: 1.9M of 2,902,018 cycles = 65.5% */
	assert_non_null(strstr(text, "\nSHARE SAMPLES CYCLES STATUS EVIDENCE        FUNCTION\n"
	                             "65.5%   1,883 1.900M weak   bounds          main\n"));
	free(text);
	doc = json_of(p, o);
	f = json_array_get(json_object_get(doc, "functions"), 0);
	assert_true(json_is_null(json_object_get(f, "raw")) && json_is_null(json_object_get(f, "fixed")));
	assert_true(json_is_null(json_object_get(f, "ipc_raw")));
	json_decref(doc);
	profile_free(p);
}

static void a_clock_profile_is_shown_under_the_name_of_its_event(void **state)
{
	struct profile *p = profile_fixture();
	struct report_opts o = REPORT_OPTS_DEFAULT;
	json_t *doc, *f;
	char *text;

	(void)state;
	p->meta.insn_event = -1;
	p->meta.events[0].name = "cpu-clock";
	text = text_of(p, &o, 0);
	assert_non_null(strstr(text, "# no cycles event in this file: "));
	assert_non_null(strstr(text, "# EVENTS are cpu-clock (time in nanoseconds)"));
	assert_non_null(strstr(text, "\nSHARE SAMPLES EVENTS STATUS EVIDENCE        FUNCTION\n"));
	free(text);
	doc = json_of(p, o);
	f = json_array_get(json_object_get(doc, "functions"), 0);
	assert_true(json_is_null(json_object_get(f, "cycles")));
	assert_float_equal(number(f, "events"), 1900000, 1e-9);
	json_decref(doc);
	profile_free(p);
}

static void without_cycles_there_is_no_ipc(void **state)
{
	struct profile *p = profile_fixture();
	struct report_opts o = REPORT_OPTS_DEFAULT;
	char *text;

	(void)state;
	p->meta.cyc_event = -1;
	text = text_of(p, &o, 0);
	assert_non_null(strstr(text, "# no cycles event in this file: "));
	assert_non_null(
	        strstr(text, "\nSHARE    RAW  FIXED   90% INTERVAL STATUS EVIDENCE        FUNCTION\n"));
	free(text);
	profile_free(p);
}

/* 20 samples of 1009 cycles: 20,180 cycles.  Less than five samples, or over 8 a cycle, is no IPC, and why is told. */
static void an_ipc_that_no_core_reaches_is_not_shown(void **state)
{
	struct profile *p = profile_fixture();

	(void)state;
	assert_float_equal(report_ipc(p, 40360, 20180), 2, 1e-9);
	assert_float_equal(report_ipc(p, 8 * 20180, 20180), 8, 1e-9);
	assert_true(isnan(report_ipc(p, 8.1 * 20180, 20180)));
	assert_true(isnan(report_ipc(p, 4036, 4036)));
	assert_null(report_no_ipc(p, 40360, 20180));
	assert_non_null(strstr(report_no_ipc(p, 8.1 * 20180, 20180), "retires together with other code"));
	assert_non_null(strstr(report_no_ipc(p, 4036, 4036), "fewer than five samples"));
	profile_free(p);
}

static void infinities_and_nans_are_never_printed(void **state)
{
	struct profile *p = profile_fixture();
	struct report_opts o = REPORT_OPTS_DEFAULT;
	json_t *doc;

	(void)state;
	for (int i = 0; i < 3; i++)
		p->funcs[i].count = (struct profile_count){ 10, NAN, INFINITY, NAN, -INFINITY, 0 };
	p->regions[0].skid_periods = p->regions[0].cyc = NAN;
	p->meta.skid_median_cyc = NAN;
	for (int view = REPORT_FUNCTIONS; view <= REPORT_WHY; view++) {
		char *text;

		o.view = (enum report_view)view;
		o.why = "main";
		text = text_of(p, &o, 0);
		assert_null(strcasestr(text, "nan"));
		assert_null(strstr(text, "inf"));
		free(text);
		doc = json_of(p, o);
		json_decref(doc);
	}
	profile_free(p);
}

static void lines_and_instructions_have_rows_of_their_own(void **state)
{
	struct profile *p = profile_fixture();
	struct report_opts o = REPORT_OPTS_DEFAULT;
	char *text;

	(void)state;
	o.view = REPORT_LINES;
	text = text_of(p, &o, 0);
	/* Block 0 twice: draws of 600,000 and 610,000 make 1,201,000 to 1,219,000. */
	assert_non_null(strstr(
	        text,
	        "60.0% 500.0k 1.200M 1.201M..1.219M 1.000M    0.50 1.20 fixed  app.c:18 dot(int, int)\n"));
	free(text);
	o.view = REPORT_INSNS;
	o.function = "dot";
	text = text_of(p, &o, 0);
	assert_true(strstr(text, "0x401136 add %rax, %rbx") < strstr(text, "0x40113a imul %rax, %rcx"));
	assert_null(strstr(text, "jne"));
	free(text);
	/* In a region that was solved, but not known to 5% itself. */
	p->insns[1].count.hi = 800000;
	text = text_of(p, &o, 0);
	assert_non_null(strstr(text, "fixed  0x401136"));
	assert_non_null(strstr(text, "weak   0x40113a"));
	free(text);
	o = (struct report_opts)REPORT_OPTS_DEFAULT;
	o.view = REPORT_LINES;
	p->regions[0].draws[0] = 400000;
	text = text_of(p, &o, 0);
	assert_non_null(strstr(text, "weak   app.c:18"));
	free(text);
	profile_free(p);
}

static void why_tells_what_is_open_and_what_would_settle_it(void **state)
{
	struct profile *p = profile_fixture();
	struct report_opts o = REPORT_OPTS_DEFAULT;
	json_t *doc, *region;
	char *text;

	(void)state;
	o.view = REPORT_WHY;
	o.why = "main";
	text = text_of(p, &o, 0);
	assert_non_null(
	        strstr(text, "\nmain, src/app.c:30, in /bin/app\n  status: weak: one free flow is open\n"));
	/* A row with one reason has it once. */
	assert_non_null(
	        strstr(text, "region main (app.c:33) at 0x401136: weak as a whole, for the same reason\n"));
	assert_non_null(
	        strstr(text,
	               "2 branch counts decide all the others, and what is known settles 1 of them to 10%"));
	assert_null(strstr(text, "without samples"));
	assert_non_null(strstr(
	        text,
	        "branches                 counted 100,000, the result 100,100, off by +0.10% (2.0 sd)"));
	assert_non_null(strstr(text, "- record -b: "));
	assert_non_null(
	        strstr(text, "not yet counted: taken branches, conditional branches, calls, loads, stores"));
	free(text);
	/* With two it says whose each is. */
	p->funcs[1].why = "it is small";
	text = text_of(p, &o, 0);
	assert_non_null(strstr(text, "  status: weak: it is small\n"));
	assert_non_null(strstr(text, "at 0x401136: weak as a whole: one free flow is open\n"));
	free(text);
	/* A weak function in a region most of which is known. */
	p->regions[0].status = PROFILE_FIXED;
	p->funcs[1].n_samples = 140;
	text = text_of(p, &o, 0);
	assert_non_null(strstr(text, "at 0x401136: fixed; of a part of it: one free flow is open\n"));
	assert_non_null(strstr(text, "- record -b: "));
	assert_non_null(strstr(text, "- more samples: 140 of instructions fell into this function;"));
	free(text);
	p->meta.branch_records = true;
	text = text_of(p, &o, 0);
	assert_null(strstr(text, "- record -b: "));
	assert_non_null(strstr(text, "- take bursts as well (--bursts)"));
	free(text);
	p->meta.branch_cycles = true;
	text = text_of(p, &o, 0);
	assert_non_null(strstr(text, "- take bursts as well (--bursts)"));
	free(text);
	p->meta.n_bursts = 9;
	text = text_of(p, &o, 0);
	assert_null(strstr(text, "--bursts"));
	free(text);
	p->meta.n_bursts = 0;
	p->meta.branch_records = p->meta.branch_cycles = false;
	p->regions[0].status = PROFILE_WEAK;
	p->funcs[1].n_samples = 1400;
	/* What is there already is not advised. */
	p->meta.branch_records = true;
	p->regions[0].n_rank = 2;
	p->regions[0].n_unseen = 70;
	p->regions[0].called_insn = 3.4e6;
	p->regions[0].total_sd = 0.019;
	text = text_of(p, &o, 0);
	assert_null(strstr(text, "the total is known to"));
	assert_null(strstr(text, "no burst took"));
	free(text);
	p->regions[0].untaken_insn = 0.042 * p->regions[0].insn;
	text = text_of(p, &o, 0);
	assert_non_null(strstr(text, "    branch records give 4.2% of the instructions to ways through the "
	                             "code that no burst took; "));
	free(text);
	p->regions[0].total_sd = 0.24;
	text = text_of(p, &o, 0);
	assert_non_null(
	        strstr(text, "the total is known to 24%: samples are too far apart for how long the program "
	                     "stays here, and a smaller period (record -c) tells more"));
	assert_non_null(strstr(text,
	                       "70 more branch counts are of code without samples, or with hardly any: it "
	                       "is taken not to have run, "
	                       "but for these"));
	assert_non_null(strstr(text, "besides it calls other code, of some 3.4e+06 instructions"));
	free(text);
	doc = json_of(p, o);
	region =
	        json_array_get(json_object_get(json_array_get(json_object_get(doc, "why"), 0), "regions"), 0);
	assert_int_equal(json_array_size(json_object_get(region, "advice")), 0);
	assert_float_equal(number(region, "unseen_flows"), 70, 1e-9);
	assert_float_equal(number(region, "called"), 3.4e6, 1e-3);
	assert_float_equal(number(region, "total_sd"), 0.24, 1e-9);
	assert_float_equal(number(json_array_get(json_object_get(region, "equations"), 0), "fitted"), 100100,
	                   1e-9);
	json_decref(doc);
	profile_free(p);
}

static void unreliable_functions_that_matter_make_the_verdict(void **state)
{
	struct profile *p = profile_fixture();

	(void)state;
	assert_int_equal(report_verdict(p), 0);
	p->worst = PROFILE_UNRELIABLE;
	p->funcs[1].status = PROFILE_UNRELIABLE;
	p->funcs[1].why = "too few samples";
	assert_int_equal(report_verdict(p), -SP_EDOUBT);
	assert_string_equal(sp_error_text(),
	                    "1 function of at least 1% is unreliable, 'main' the largest: too few samples");
	/* Of a long name 29 columns before and 28 behind three points, and the reason is seen. */
	p->funcs[1].name =
	        "table<aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa, bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb>::find_next";
	assert_int_equal(report_verdict(p), -SP_EDOUBT);
	assert_string_equal(sp_error_text(),
	                    "1 function of at least 1% is unreliable, "
	                    "'table<aaaaaaaaaaaaaaaaaaaaaaa...bbbbbbbbbbbbbbbb>::find_next' the largest: "
	                    "too few samples");
	profile_free(p);
}

/* Without counts of instructions it is time that matters: 0 of 0 instructions is no 1%. */
static void time_makes_the_verdict_where_instructions_were_not_counted(void **state)
{
	static const double cyc[] = { 40, 59.5, 0.5 };
	struct profile *p = profile_fixture();

	(void)state;
	p->meta.insn_event = -1;
	p->meta.relative = true;
	p->worst = PROFILE_UNRELIABLE;
	for (size_t i = 0; i < p->n_funcs && i < sizeof(cyc) / sizeof(*cyc); i++) {
		p->funcs[i].count.insn = 0;
		p->funcs[i].count.cyc = cyc[i];
		p->funcs[i].status = PROFILE_UNRELIABLE;
		p->funcs[i].why = "too few samples";
	}
	assert_int_equal(report_verdict(p), -SP_EDOUBT);
	assert_string_equal(sp_error_text(),
	                    "2 functions of at least 1% are unreliable, 'main' the largest: too few samples");
	profile_free(p);
}

static void words_of_options_are_checked(void **state)
{
	enum report_format format;
	enum report_sort sort;
	enum term_color color;

	(void)state;
	assert_int_equal(report_format_parse("json", &format), 0);
	assert_int_equal(format, REPORT_JSON);
	assert_int_equal(report_format_parse("jsn", &format), -SP_EUSAGE);
	assert_non_null(strstr(sp_error_text(), "did you mean 'json'?"));
	assert_int_equal(report_sort_parse("change", &sort), 0);
	assert_int_equal(sort, SORT_CHANGE);
	assert_int_equal(report_sort_parse("zzzzzzzzz", &sort), -SP_EUSAGE);
	assert_non_null(strstr(sp_error_text(), "share, raw, fixed, cycles, ipc, change, status, name"));
	assert_int_equal(term_color_parse("never", &color), 0);
	assert_int_equal(color, TERM_COLOR_NEVER);
	assert_int_equal(term_color_parse("alway", &color), -SP_EUSAGE);
}

static double seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (double)ts.tv_sec + 1e-9 * (double)ts.tv_nsec;
}

/*
 * 100,000 functions in all three formats take 2 s of processor time here, twice that with sanitizers;
 * anything quadratic would take minutes.
 */
/* Of twenty functions that no sample of time fell in one has a third of its region's instructions: it is shown, the others not. */
static void what_has_instructions_is_shown_without_time(void **state)
{
	enum { MANY = 20 };
	struct profile *p = profile_fixture();
	struct report_opts o = REPORT_OPTS_DEFAULT;
	struct profile_region region = { .name = "loop", .why = "", .cyc = 1e6 };
	char *text;

	(void)state;
	p->meta.insn_event = -1;
	p->meta.relative = true;
	free(p->regions[0].draws);
	free(p->regions[0].equations);
	p->regions[0] = region;
	p->n_regions = 1;
	p->funcs = realloc(p->funcs, MANY * sizeof(*p->funcs));
	for (size_t i = 3; i < MANY; i++) {
		char name[40];

		snprintf(name, sizeof(name), "idle_%zu", i);
		p->funcs[i] =
		        (struct profile_func){ .name = profile_string(p, name), .linkage = "", .why = "" };
		p->funcs[i].count.insn = i == 15 ? 0.33 : 1e-9;
		p->funcs[i].part = (struct profile_part){ 0, p->funcs[i].count.insn, 0, 1, NAN, NAN, NAN };
	}
	p->n_funcs = MANY;
	text = text_of(p, &o, 0);
	assert_non_null(strstr(text, "idle_15\n"));
	assert_null(strstr(text, "idle_9\n"));
	free(text);
	profile_free(p);
}

static void a_hundred_thousand_functions_are_no_matter(void **state)
{
	enum { MANY = 100000 };
	struct profile *p = profile_fixture();
	struct report_opts o = REPORT_OPTS_DEFAULT;
	struct profile_func *funcs = calloc(MANY, sizeof(*funcs));
	double begin = seconds();

	(void)state;
	for (size_t i = 0; i < MANY; i++) {
		char name[40];

		funcs[i] = p->funcs[i % 3];
		snprintf(name, sizeof(name), "function_%zu(int)", i);
		funcs[i].name = profile_string(p, name);
	}
	free(p->funcs);
	p->funcs = funcs;
	p->n_funcs = MANY;
	o.limit = 0;
	sp_log_level_set(-1);
	for (int format = REPORT_TEXT; format <= REPORT_CSV; format++) {
		char *text;

		o.format = (enum report_format)format;
		text = text_of(p, &o, 120);
		assert_non_null(strstr(text, "function_99999(int)"));
		free(text);
	}
	sp_log_level_set(0);
	assert_true(seconds() - begin < 30);
	profile_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_header_says_where_the_numbers_come_from),
		cmocka_unit_test(functions_are_a_row_each),
		cmocka_unit_test(raw_alone_shows_what_other_profilers_do),
		cmocka_unit_test(rolled_up_functions_hold_their_inlined_ones),
		cmocka_unit_test(json_has_every_number_and_null_for_unknown_ones),
		cmocka_unit_test(csv_quotes_what_has_commas_and_quotes),
		cmocka_unit_test(odd_names_break_no_format),
		cmocka_unit_test(narrow_terminals_lose_columns_and_middles_of_names),
		cmocka_unit_test(eighty_and_sixty_columns_are_enough),
		cmocka_unit_test(rows_below_the_least_share_are_left_out_and_said),
		cmocka_unit_test(what_is_inlined_is_not_its_caller_s_own),
		cmocka_unit_test(what_is_inlined_of_a_called_function_is_its_caller_s),
		cmocka_unit_test(callers_of_what_is_inlined_only_are_those_that_hold_it),
		cmocka_unit_test(what_the_limit_hides_is_said),
		cmocka_unit_test(rows_are_sorted_by_any_key),
		cmocka_unit_test(functions_are_found_by_every_name_they_have),
		cmocka_unit_test(a_file_without_a_line_stands_by_itself),
		cmocka_unit_test(a_function_that_is_not_there_gets_the_nearest),
		cmocka_unit_test(without_counts_shares_of_the_region_are_shown),
		cmocka_unit_test(no_functions_are_no_error),
		cmocka_unit_test(what_was_not_recorded_is_not_shown_as_0),
		cmocka_unit_test(a_clock_profile_is_shown_under_the_name_of_its_event),
		cmocka_unit_test(without_cycles_there_is_no_ipc),
		cmocka_unit_test(an_ipc_that_no_core_reaches_is_not_shown),
		cmocka_unit_test(infinities_and_nans_are_never_printed),
		cmocka_unit_test(lines_and_instructions_have_rows_of_their_own),
		cmocka_unit_test(why_tells_what_is_open_and_what_would_settle_it),
		cmocka_unit_test(unreliable_functions_that_matter_make_the_verdict),
		cmocka_unit_test(time_makes_the_verdict_where_instructions_were_not_counted),
		cmocka_unit_test(words_of_options_are_checked),
		cmocka_unit_test(what_has_instructions_is_shown_without_time),
		cmocka_unit_test(a_hundred_thousand_functions_are_no_matter),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
