/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/page.h"

#include <stdio.h>
#include <stdlib.h>

#include "profiler/base/draft.h"
#include "profiler/base/err.h"

PAGE_EMBED(page_common_js, "report/html/common.js");
PAGE_EMBED(page_css, "report/html/page.css");

struct page {
	const json_t *doc;
	const char *script;
};

/* What is not known needs no room: the script takes a key that is not there for null. */
static void drop_nulls(json_t *value)
{
	const char *key;
	json_t *v;
	void *next;
	size_t i;

	json_object_foreach_safe(value, next, key, v)
	{
		if (json_is_null(v))
			json_object_del(value, key);
		else
			drop_nulls(v);
	}
	for (i = 0; i < json_array_size(value); i++)
		drop_nulls(json_array_get(value, i));
}

/* JSON inside of HTML: no '<' can end the script, and none of JavaScript's own line ends break it. */
static int put_json(const json_t *doc, FILE *f)
{
	char *text = json_dumps(doc, JSON_COMPACT | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(7));

	if (!text)
		return sp_fail(SP_ENOMEM, "out of memory for a page");
	for (const char *s = text; *s; s++) {
		if (*s == '<' || *s == '>' || *s == '&')
			fprintf(f, "\\u%04x", (unsigned)*s);
		else
			fputc(*s, f);
	}
	free(text);
	return 0;
}

static int put_page(const void *arg, FILE *f)
{
	const struct page *p = arg;
	int err;

	fprintf(f,
	        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
	        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
	        "'unsafe-inline'; "
	        "script-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\">"
	        "<meta name=\"viewport\" "
	        "content=\"width=device-width\"><title>skidprof</title>\n<style>%s</style></head>\n"
	        "<body><header><h1 id=\"title\"></h1><div id=\"head-facts\"></div></header>"
	        "<nav id=\"tabs\" role=\"tablist\"></nav><main id=\"main\"></main><div id=\"tip\" "
	        "hidden></div>\n"
	        "<noscript><p>This page needs its own script, and nothing else.</p></noscript>\n"
	        "<script type=\"application/json\" id=\"data\">",
	        page_css);
	err = put_json(p->doc, f);
	fprintf(f, "</script>\n<script>%s%s</script></body></html>\n", page_common_js, p->script);
	return err;
}

int page_write(json_t *doc, const char *script, const char *path)
{
	drop_nulls(doc);
	return draft_write(path, put_page, &(struct page){ doc, script });
}
