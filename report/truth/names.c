/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A table of counts by function: "main 1000" or "1000 main" a line; '#' begins a comment. */
#include <string.h>

#include "report/truth/build.h"

/* The whole of s[0..n) as a count. */
static bool is_count(const char *s, size_t n, uint64_t *out)
{
	const char *end = s;

	return n && strspn(s, "0123456789") >= n && truth_number(&end, out);
}

static int take(struct truth_lines *l, struct truth_build *b, const char *name, uint64_t n, uint64_t *sum)
{
	int err = truth_add(l, sum, n);

	if (err == 0)
		truth_build_func(b, name, TRUTH_NONE, n);
	return err;
}

/* A name may have blanks ("operator new"): the count is the first or the last word. */
static int parse_row(struct truth_lines *l, struct truth_build *b, uint64_t *sum)
{
	char *line = l->buf, *last;
	size_t n = strlen(line), first;
	uint64_t count;

	while (n && strchr(" \t", line[n - 1]))
		line[--n] = '\0';
	line += strspn(line, " \t");
	if (!*line || *line == '#')
		return 0;
	first = strcspn(line, " \t");
	last = line + strlen(line);
	while (last > line && !strchr(" \t", last[-1]))
		last--;
	if (last > line && is_count(last, strlen(last), &count)) {
		n = (size_t)(last - line);
		while (n && strchr(" \t", line[n - 1]))
			n--;
		line[n] = '\0';
		return take(l, b, line, count, sum);
	}
	if (line[first] && is_count(line, first, &count))
		return take(l, b, line + first + strspn(line + first, " \t"), count, sum);
	return sp_fail(SP_EFORMAT,
	               "%s: line %lu: no format of exact counts that is known (skidprof-truth(1)); "
	               "'skidprof truth -o T ./app' counts exactly",
	               l->path, l->n);
}

int truth_parse_names(struct truth_lines *l, struct truth_build *b)
{
	uint64_t sum = 0;
	int err;

	do
		err = parse_row(l, b, &sum);
	while (err == 0 && (err = truth_lines_next(l)) > 0);
	if (err == 0 && sum == 0)
		err = sp_fail(SP_EFORMAT, "%s: no counts in it", l->path);
	b->format = b->creator = "a table of names and counts";
	return err;
}
