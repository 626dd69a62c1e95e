/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What differs between two sides, as one page. */
#include <stdio.h>

#include "profiler/base/err.h"
#include "report/diff.h"
#include "report/html.h"
#include "report/page.h"

PAGE_EMBED(html_diff_js, "report/html/diff.js");

/* Rows of less have no room in a page: of a program of ten thousand functions what is left is a thousand. */
static const double min_share = 1e-4;

/* The rows that the page has; of the others one fact tells. */
static int add_rows(json_t *doc, const struct diff *d, json_t *facts)
{
	const char *what = d->lines ? "lines" : "functions";
	json_t *rows = NULL, *all = NULL;
	size_t n_small = 0;
	char text[200];
	int err = diff_rows_json(d, &all, &rows);

	if (err < 0)
		return err;
	for (size_t i = json_array_size(rows); i-- > 0;) {
		double share = json_number_value(json_object_get(json_array_get(rows, i), "share"));

		if (!(share >= min_share)) {
			json_array_remove(rows, i);
			n_small++;
		}
	}
	if (n_small) {
		snprintf(text, sizeof(text),
		         "%zu %s of less than %g%% are not in this page; --format csv has them", n_small,
		         what, 100 * min_share);
		json_array_append_new(facts, json_text(text));
	}
	if (!d->lines)
		json_object_set(doc, "all", all);
	json_decref(all);
	return json_object_set_new(doc, what, rows) < 0 ? sp_fail(SP_ENOMEM, "out of memory for a page") : 0;
}

/* The same sides in the other way, by functions or by lines. */
static int add_other(json_t *doc, const struct diff *d, enum diff_measure by, json_t *facts)
{
	struct diff other = {
		.a = d->a, .b = d->b, .lines = !d->lines, .rollup = d->rollup, .min_share = d->min_share
	};
	int err = diff_make(&other, by);

	if (err == 0)
		err = add_rows(doc, &other, facts);
	diff_unmake(&other);
	return err;
}

static int add_side(json_t *doc, const char *name, const struct diff_side *s)
{
	json_t *heads = json_object_get(doc, "heads"), *facts = json_object_get(doc, "facts");
	char line[1200], first[1000] = "exact counts";
	int err = 0;

	for (size_t i = 0; i < s->n && err == 0; i++) {
		const struct profile *p = s->profiles[i];

		if (!p->meta.truth)
			meta_first_line(p, first, sizeof(first));
		snprintf(line, sizeof(line), "%s: %s: %s", name, p->meta.input ? p->meta.input : "?", first);
		json_array_append_new(heads, json_text(line));
		json_array_append_new(facts, json_text(name));
		err = html_facts(p, facts);
		if (err == 0 && !p->meta.truth)
			html_doubts(p, name, json_object_get(doc, "doubts"));
	}
	return err;
}

static const char *side_name(const struct diff_side *s)
{
	const char *name = s->n ? s->profiles[0]->meta.input : NULL;

	return name ? name : "?";
}

static int make_document(const struct diff *d, enum diff_measure by, json_t *doc)
{
	const char *const notes[] = { diff_noise_note(d), diff_words_note(d), diff_insn_note(d) };
	json_t *facts = json_array();
	char title[1000];
	int err;

	snprintf(title, sizeof(title), "%s to %s", side_name(&d->a), side_name(&d->b));
	json_object_set_new(doc, "skidprof", json_integer(1));
	json_object_set_new(doc, "title", json_text(title));
	json_object_set_new(doc, "by", json_string(diff_measure_name(by)));
	json_object_set_new(doc, "heads", json_array());
	json_object_set_new(doc, "doubts", json_array());
	json_object_set_new(doc, "facts", facts);
	err = add_side(doc, "before", &d->a);
	if (err == 0)
		err = add_side(doc, "after", &d->b);
	for (size_t i = 0; err == 0 && i < sizeof(notes) / sizeof(notes[0]); i++)
		if (notes[i])
			json_array_append_new(json_object_get(doc, "heads"), json_text(notes[i]));
	if (err == 0)
		err = add_rows(doc, d, facts);
	return err < 0 ? err : add_other(doc, d, by, facts);
}

int diff_html(const struct diff *d, enum diff_measure by, const char *path)
{
	json_t *doc = json_object();
	int err = doc ? make_document(d, by, doc) : sp_fail(SP_ENOMEM, "out of memory for a page");

	if (err == 0)
		err = page_write(doc, html_diff_js, path);
	json_decref(doc);
	return err;
}
