/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sys/stat.h>
#include <unistd.h>

#include "profiler/base/err.h"
#include "report/annotate.h"
#include "tests/unit/report_fixture.h"

static const struct module_options module_opts = { .no_debuginfod = true };
static struct listing_modules modules = { .opts = &module_opts };

/* The fixture's binary is not there: a function is what the profile has of it. */
static struct annotation *annotated(const struct profile *p, uint32_t func)
{
	struct annotation *a = NULL;

	assert_int_equal(annotation_new(p, func, &modules, &a), 0);
	return a;
}

static void done(struct annotation *a)
{
	annotation_free(a);
	listing_modules_free(&modules);
}

static char *text_of(const struct annotation *a, const struct source_opts *so, int width, bool color)
{
	static const struct annotate_opts all = { .source = true, .assembly = true, .context = 1 };
	struct sources *s = sources_new(so);
	char *text = NULL;
	size_t size;
	struct term term = { .f = open_memstream(&text, &size), .width = width, .color = color };

	assert_int_equal(annotate_text(a, &all, s, &term), 0);
	fclose(term.f);
	sources_free(s);
	return text;
}

static void lines_hold_what_is_put_in_place_in_them(void **state)
{
	struct profile *p = profile_fixture();
	struct annotation *a = annotated(p, 1);
	const struct anno_node *n = a->nodes;

	(void)state;
	/* main; its line of no number holds dot() with line 18; and its line 33. */
	assert_int_equal(a->n_nodes, 5);
	assert_float_equal(n[0].count.insn, 1900000, 1e-6);
	assert_true(n[1].is_line);
	assert_int_equal(n[1].line, 0);
	assert_float_equal(n[1].count.insn, 1200000, 1e-6);
	assert_float_equal(n[1].own.insn, 0, 1e-6);
	assert_string_equal(n[2].name, "dot(int, int)");
	assert_int_equal(n[2].depth, 1);
	assert_int_equal(n[3].line, 18);
	assert_float_equal(n[3].executed, 600000, 1e-6);
	assert_float_equal(n[3].count.raw_insn, 500000, 1e-6);
	assert_int_equal(n[4].line, 33);
	assert_int_equal(n[4].parent, 0);
	/* Two draws of block 0, 600,000 and 610,000, for two instructions. */
	assert_true(n[3].count.lo >= 1200000 && n[3].count.hi <= 1220000 && n[3].count.lo < n[3].count.hi);
	done(a);
	profile_free(p);
}

/* The line of main that holds dot() runs an instruction of its own 1,000 times, and what is inlined at it 600,000 times. */
static void a_line_runs_as_often_as_what_is_its_own(void **state)
{
	struct profile *p = profile_fixture();
	struct annotation *a;

	(void)state;
	a = annotated(p, 1);
	assert_float_equal(a->nodes[1].executed, 600000, 1e-6);
	done(a);
	p->insns[2].line = p->insns[2].file = 0;
	p->insns[2].count.insn = 1000;
	a = annotated(p, 1);
	assert_int_equal(a->nodes[1].line, 0);
	assert_float_equal(a->nodes[1].executed, 1000, 1e-6);
	done(a);
	profile_free(p);
}

/* Time was sampled and instructions were not counted: two shares, each under its name, and nothing of what is not known. */
static void shares_say_what_they_are_of(void **state)
{
	static const struct annotate_opts all = { .source = true, .assembly = true };
	static const struct source_opts none;
	struct profile *p = profile_fixture();
	struct annotation *a;
	struct sources *s = sources_new(&none);
	json_t *doc = NULL, *line;
	char *text;

	(void)state;
	p->meta.insn_event = -1;
	p->meta.relative = true;
	p->meta.core_hz = 1e9;
	p->funcs[1].calls.n_terms = 1;
	p->funcs[1].calls.n = NAN;
	p->funcs[1].calls.rolled.insn = 5;
	a = annotated(p, 1);
	text = text_of(a, &none, 0, false);
	assert_non_null(strstr(text, "\n  a call is 5.000 instructions with what is inlined into it\n"));
	assert_non_null(strstr(text, "\n %INSN   %CYC   LINE SOURCE\n"));
	assert_non_null(strstr(text, "\n 36.8%  65.5%     33 "));
	assert_null(strstr(text, "CPI"));
	free(text);
	assert_int_equal(annotate_json(a, &all, s, &doc), 0);
	line = json_array_get(json_object_get(doc, "lines"), 1);
	assert_float_equal(json_number_value(json_object_get(line, "share")), 19 / 29.0, 1e-9);
	assert_float_equal(json_number_value(json_object_get(line, "share_insn")), 7 / 19.0, 1e-9);
	json_decref(doc);
	sources_free(s);
	done(a);
	profile_free(p);
}

/* Nothing tells how many instructions one region ran beside another: each instruction has its share of its own region's. */
static void shares_are_of_one_region(void **state)
{
	static const struct annotate_opts all = { .source = true, .assembly = true };
	static const struct source_opts none;
	struct profile *p = profile_fixture();
	struct annotation *a;
	struct sources *s = sources_new(&none);
	json_t *doc = NULL, *lines, *insn;
	char *text;

	(void)state;
	p->meta.insn_event = -1;
	p->meta.relative = true;
	p->meta.core_hz = 1e9;
	/* Line 33 runs in a region of its own; one of the two instructions of dot() was not corrected. */
	p->regions = realloc(p->regions, 2 * sizeof(*p->regions));
	p->regions[1] = (struct profile_region){ 0 };
	p->n_regions = 2;
	p->insns[2].region = 1;
	p->insns[1].region = -1;
	p->insns[1].block = UINT32_MAX;
	a = annotated(p, 1);
	assert_int_equal(a->n_regions, 2);
	assert_int_equal(a->nodes[0].region, ANNO_SEVERAL);
	assert_int_equal(a->nodes[4].region, 1);
	text = text_of(a, &none, 0, false);
	assert_non_null(strstr(text, "it runs in 2, and nothing tells"));
	assert_non_null(strstr(text, "\n100.0%  65.5%     33 "));
	free(text);
	assert_int_equal(annotate_json(a, &all, s, &doc), 0);
	assert_true(json_is_null(json_object_get(doc, "share_insn")));
	lines = json_object_get(doc, "lines");
	assert_true(json_is_null(json_object_get(json_array_get(lines, 0), "share_insn")));
	assert_float_equal(json_number_value(json_object_get(json_array_get(lines, 1), "share_insn")), 1,
	                   1e-9);
	insn = json_array_get(json_object_get(doc, "instructions"), 0);
	assert_float_equal(json_number_value(json_object_get(insn, "share_insn")), 1, 1e-9);
	insn = json_array_get(json_object_get(doc, "instructions"), 1);
	assert_true(json_is_null(json_object_get(insn, "share_insn")));
	json_decref(doc);
	sources_free(s);
	done(a);
	profile_free(p);
}

static void text_has_lines_and_instructions(void **state)
{
	static const struct source_opts none;
	struct profile *p = profile_fixture();
	struct annotation *a = annotated(p, 1);
	char *text = text_of(a, &none, 0, false);

	(void)state;
	assert_non_null(strstr(text, "main, app.c:30, in app\n"));
	assert_non_null(strstr(text, " dot(int, int), inlined"));
	assert_non_null(strstr(text, "its code can't be shown: "));
	assert_non_null(strstr(text, "401136  add %rax, %rbx"));
	assert_non_null(strstr(text, "cycles were seen some 378 cycles after their cause, 38 iterations"));
	assert_null(strchr(text, '\033'));
	free(text);
	text = text_of(a, &none, 80, true);
	assert_non_null(strstr(text, "\033[31m"));
	free(text);
	done(a);
	profile_free(p);
}

/* Names and sources are anyone's: none may steer the terminal. */
static void hostile_names_and_sources_are_made_safe(void **state)
{
	char dir[] = "/tmp/test_annotate_XXXXXX", path[64];
	struct profile *p = profile_fixture();
	struct source_opts so = { 0 };
	struct annotation *a;
	char *text;
	FILE *f;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/app.c", dir);
	f = fopen(path, "w");
	for (int i = 1; i <= 40; i++)
		fprintf(f,
		        "\tline %d \033]0;owned\007 \x9b"
		        "2J\n",
		        i);
	fclose(f);
	p->funcs[0].name = "e\033[2Jvil";
	p->insns[0].text = "nop\033[1m";
	assert_int_equal(source_add_dir(&so, dir), 0);
	a = annotated(p, 1);
	text = text_of(a, &so, 0, false);
	assert_null(strchr(text, '\033'));
	assert_null(strchr(text, '\007'));
	assert_null(strstr(text, "\x9b"));
	assert_non_null(strstr(text, "        line 33 \\x1b]0;owned\\x07 \\x9b2J\n"));
	assert_non_null(strstr(text, "e\\x1b[2Jvil"));
	free(text);
	done(a);
	profile_free(p);
	unlink(path);
	rmdir(dir);
}

static void sources_are_found_by_maps_and_folders(void **state)
{
	char dir[] = "/tmp/test_annotate_XXXXXX", path[64], map[128];
	struct source_opts mapped = { 0 }, in_dir = { 0 }, none = { 0 };
	struct sources *s;
	FILE *f;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/a.c", dir);
	f = fopen(path, "w");
	fputs("one\n\ttwo\r\nthree", f);
	fclose(f);
	snprintf(map, sizeof(map), "/build/src=%s", dir);
	assert_int_equal(source_add_map(&mapped, map), 0);
	assert_int_equal(source_add_map(&mapped, "nothing"), -SP_EUSAGE);
	s = sources_new(&mapped);
	assert_string_equal(source_line(s, "/build/src/a.c", 2), "        two");
	assert_string_equal(source_line(s, "/build/src/a.c", 3), "three");
	assert_null(source_line(s, "/build/src/a.c", 4));
	assert_null(source_line(s, "/build/src/a.c", 0));
	assert_null(source_line(s, "/else/a.c", 1));
	sources_free(s);
	assert_int_equal(source_add_dir(&in_dir, "/no/such/folder"), -SP_ENOENT);
	assert_int_equal(source_add_dir(&in_dir, dir), 0);
	s = sources_new(&in_dir);
	assert_string_equal(source_line(s, "/some/where/else/a.c", 1), "one");
	assert_string_equal(source_where(s, "/some/where/else/a.c"), path);
	sources_free(s);
	/* What never ends, or answers, is no source. */
	s = sources_new(&none);
	assert_null(source_line(s, "/dev/zero", 1));
	unlink(path);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_null(source_line(s, path, 1));
	assert_null(source_line(s, "", 1));
	sources_free(s);
	unlink(path);
	rmdir(dir);
}

static void json_has_the_same_tree(void **state)
{
	static const struct annotate_opts all = { .source = true, .assembly = true };
	static const struct source_opts none;
	struct profile *p = profile_fixture();
	struct annotation *a = annotated(p, 1);
	struct sources *s = sources_new(&none);
	json_t *doc = NULL, *lines, *inlined;

	(void)state;
	assert_int_equal(annotate_json(a, &all, s, &doc), 0);
	lines = json_object_get(doc, "lines");
	assert_int_equal(json_array_size(lines), 2);
	inlined = json_array_get(json_object_get(json_array_get(lines, 0), "inlined"), 0);
	assert_string_equal(json_string_value(json_object_get(inlined, "function")), "dot(int, int)");
	assert_int_equal(json_array_size(json_object_get(doc, "instructions")), 3);
	json_decref(doc);
	sources_free(s);
	done(a);
	profile_free(p);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_hold_what_is_put_in_place_in_them),
		cmocka_unit_test(a_line_runs_as_often_as_what_is_its_own),
		cmocka_unit_test(shares_say_what_they_are_of),
		cmocka_unit_test(shares_are_of_one_region),
		cmocka_unit_test(text_has_lines_and_instructions),
		cmocka_unit_test(hostile_names_and_sources_are_made_safe),
		cmocka_unit_test(sources_are_found_by_maps_and_folders),
		cmocka_unit_test(json_has_the_same_tree),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
