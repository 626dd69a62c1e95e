/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <unistd.h>

#include "report/flame.h"
#include "report/html.h"
#include "tests/unit/report_fixture.h"

static double at(const json_t *frames, size_t i, size_t k)
{
	return json_number_value(json_array_get(json_array_get(frames, i), k));
}

static const char *name_of(const json_t *flame, size_t i)
{
	const json_t *funcs = json_object_get(flame, "functions");
	json_int_t f =
	        json_integer_value(json_array_get(json_array_get(json_object_get(flame, "frames"), i), 1));

	return f < 0 ? "all" : json_string_value(json_object_get(json_array_get(funcs, (size_t)f), "name"));
}

static double sum(const json_t *frames, size_t k)
{
	double all = 0;

	for (size_t i = 0; i < json_array_size(frames); i++)
		all += at(frames, i, k);
	return all;
}

/* dot() is inlined in main; setup stands by itself; nothing tells who calls. */
static void without_stacks_functions_hold_what_is_inlined(void **state)
{
	struct profile *p = profile_fixture();
	json_t *doc = json_object(), *flame, *frames;

	(void)state;
	assert_int_equal(flame_json(p, doc), 0);
	flame = json_object_get(doc, "flame");
	frames = json_object_get(flame, "frames");
	assert_int_equal(json_array_size(frames), 4);
	assert_string_equal(name_of(flame, 0), "all");
	assert_string_equal(name_of(flame, 1), "main");
	assert_string_equal(name_of(flame, 2), "dot(int, int)");
	assert_float_equal(at(frames, 2, 0), 1, 0);
	assert_float_equal(sum(frames, 2), 2000000, 1);
	assert_float_equal(sum(frames, 3), 2000000, 1);
	json_decref(doc);
	profile_free(p);
}

/* setup -> main twice: one frame of 3 samples with main below, and main by itself. */
static void stacks_are_frames_below_their_callers(void **state)
{
	static const struct profile_frame frames_in[] = {
		{ UINT32_MAX, UINT32_MAX, UINT32_MAX, 0, 0 },
		{ 0, 2, 2, 100000, 0 },
		{ 1, 1, 1, 1000000, 1900000 },
		{ 0, 1, 1, 400000, 1000000 },
		{ 3, 0, 1, 500000, 2018 },
	};
	struct profile *p = profile_fixture();
	json_t *doc = json_object(), *flame, *frames;

	(void)state;
	p->frames = malloc(sizeof(frames_in));
	memcpy(p->frames, frames_in, sizeof(frames_in));
	p->n_frames = 5;
	assert_int_equal(flame_json(p, doc), 0);
	flame = json_object_get(doc, "flame");
	frames = json_object_get(flame, "frames");
	assert_int_equal(json_array_size(frames), 5);
	assert_string_equal(name_of(flame, 2), "main");
	assert_float_equal(at(frames, 2, 0), 1, 0);
	assert_float_equal(sum(frames, 2), 2000000, 1);
	/* Fixed: main has 700,000 of its own, 5/7 of them called by setup; with dot 1,900,000. */
	assert_float_equal(sum(frames, 3), 2000000, 1);
	assert_float_equal(at(frames, 2, 3), 500000, 1);
	assert_float_equal(at(frames, 4, 3), 1200000, 1);
	json_decref(doc);
	profile_free(p);
}

static char *page_of(const struct profile *p)
{
	static const struct module_options modules = { .no_debuginfod = true };
	static const struct source_opts sources;
	char path[] = "/tmp/test_flame_XXXXXX", *text;
	int fd = mkstemp(path);
	size_t n;
	long size;
	FILE *f;

	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(html_write(p, &(struct html_opts){ &modules, &sources }, path), 0);
	f = fopen(path, "r");
	assert_non_null(f);
	fseek(f, 0, SEEK_END);
	size = ftell(f);
	assert_true(size > 0);
	rewind(f);
	text = malloc((size_t)size + 1);
	n = fread(text, 1, (size_t)size, f);
	text[n] = '\0';
	fclose(f);
	remove(path);
	return text;
}

/* Nothing of the profile can end the script that it stands in. */
static void a_page_holds_hostile_names_as_data(void **state)
{
	struct profile *p = profile_fixture();
	char *page, *data, *end;

	(void)state;
	p->funcs[0].name = p->funcs[0].linkage = "</script><script>alert(1)</script>\xff&<!--";
	p->meta.cmdline = "<img src=x onerror=alert(1)>";
	p->files[1] = "</title>.c";
	p->regions[0].name = "<b>";
	page = page_of(p);
	data = strstr(page, "id=\"data\">");
	assert_non_null(data);
	end = strstr(data, "</script>");
	assert_non_null(end);
	for (const char *s = data + strlen("id=\"data\">"); s < end; s++)
		assert_true(*s != '<' && *s != '>' && *s != '&');
	assert_null(strstr(page, "<img"));
	assert_non_null(strstr(data, "\\u003c/script\\u003e\\u003cscript\\u003ealert(1)"));
	free(page);
	profile_free(p);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_stacks_functions_hold_what_is_inlined),
		cmocka_unit_test(stacks_are_frames_below_their_callers),
		cmocka_unit_test(a_page_holds_hostile_names_as_data),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
