/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Textual instruction counts by function, as clients of CCTLib and DrCCTProf
 * print them.  Three forms are understood, told by the first lines:
 *
 *   NO. 1 PC main(12):"(0x401136)add eax, 1"    DrCCTProf's list of contexts:
 *   =>EXECUTION TIMES                           the count belongs to the
 *   1000                                        function named first
 *   =>BACKTRACE ...
 *
 *   1000                                        a count, then a context as
 *   7:0x401136:add eax, 1:main:/a/b.c:12        CCTLib prints it, callers below
 *
 *   main 1000     or     1000 main              a table, '#' begins a comment
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "correct/truth/build.h"
#include "profiler/base/log.h"

struct parse {
	struct truth_lines *l;
	struct truth_build *b;
	char *name; /* function a count is awaited for (DrCCTProf) */
	bool want_count;
	bool have_count; /* a count awaits its context (CCTLib) */
	uint64_t count;
	size_t n_contexts;
};

static int bad(struct parse *p, const char *what)
{
	return sp_fail(SP_EFORMAT,
	               "%s: line %lu: %s; known are callgrind's format and textual counts of CCTLib and "
	               "DrCCTProf (skidprof-truth(1))",
	               p->l->path, p->l->n, what);
}

/* The whole of s[0..n) as a count, with thousands unseparated. */
static bool is_count(const char *s, size_t n, uint64_t *out)
{
	char digits[24];

	if (n == 0 || n >= sizeof(digits) || strspn(s, "0123456789") < n)
		return false;
	memcpy(digits, s, n);
	digits[n] = '\0';
	errno = 0;
	*out = strtoull(digits, NULL, 10);
	return errno == 0;
}

/* "NO. 1 PC main(12):"(0x401136)..."": the name ends at the parenthesis that has the line number. */
static int begin_context(struct parse *p, const char *s)
{
	const char *end;

	s = strstr(s, "PC ");
	if (!s)
		return bad(p, "a context without 'PC'");
	s += 3;
	if (*s == '#')
		s += strcspn(s, " "), s += strspn(s, " ");
	end = strstr(s, "):\"");
	while (end && end > s && *end != '(')
		end--;
	if (!end || end == s)
		return bad(p, "a context without a function name");
	free(p->name);
	p->name = strndup(s, (size_t)(end - s));
	return p->name ? 0 : sp_fail(SP_ENOMEM, "out of memory");
}

static int end_context(struct parse *p, const char *line)
{
	uint64_t n;
	int err;

	if (!is_count(line, strlen(line), &n))
		return bad(p, "no count after 'EXECUTION TIMES'");
	if (!p->name)
		return bad(p, "a count without a context");
	err = truth_build_func(p->b, p->name, n);
	free(p->name);
	p->name = NULL;
	p->n_contexts++;
	p->want_count = false;
	return err;
}

static int parse_drcctprof(struct parse *p)
{
	int err;

	do {
		const char *line = p->l->buf;

		err = 0;
		if (p->want_count)
			err = end_context(p, line);
		else if (strncmp(line, "NO. ", 4) == 0)
			err = begin_context(p, line);
		else if (strncmp(line, "=>EXECUTION TIMES", 17) == 0)
			p->want_count = true;
	} while (err == 0 && (err = truth_lines_next(p->l)) > 0);
	if (err == 0)
		sp_warn("%s: lists the %zu contexts that ran most often, not all: its total is a lower bound",
		        p->l->path, p->n_contexts);
	return err;
}

/* A colon that is not half of a C++ "::". */
static bool single_colon(const char *line, const char *s)
{
	return *s == ':' && s[1] != ':' && (s == line || s[-1] != ':');
}

/* "handle:ip:disassembly:function:path:line": found from the end, because disassembly has colons too. */
static int context_name(struct parse *p, const char *line, char **name)
{
	const char *ip = strchr(line, ':'), *s = line + strlen(line), *end = NULL;
	int n_colons = 0;

	if (!ip || strncmp(ip + 1, "0x", 2) != 0)
		return bad(p, "no context after a count");
	while (s > ip && n_colons < 3) {
		s--;
		if (!single_colon(line, s))
			continue;
		n_colons++;
		if (n_colons == 2)
			end = s;
	}
	if (n_colons < 3 || s <= ip || end == s + 1)
		return bad(p, "a context without a function name");
	*name = strndup(s + 1, (size_t)(end - s - 1));
	return *name ? 0 : sp_fail(SP_ENOMEM, "out of memory");
}

static int take_context(struct parse *p)
{
	char *name = NULL;
	int err = context_name(p, p->l->buf, &name);

	if (err == 0)
		err = truth_build_func(p->b, name, p->count);
	free(name);
	p->have_count = false;
	return err;
}

static int parse_cctlib(struct parse *p)
{
	int err;

	do {
		const char *line = p->l->buf;

		err = 0;
		if (!*line)
			continue;
		if (p->have_count)
			err = take_context(p);
		else
			p->have_count = is_count(line, strlen(line), &p->count);
	} while (err == 0 && (err = truth_lines_next(p->l)) > 0);
	return err;
}

/* A name may have blanks ("operator new"): the count is the first or the last word. */
static int parse_row(struct parse *p, char *line)
{
	size_t n = strlen(line), first;
	char *last;
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
		return truth_build_func(p->b, line, count);
	}
	if (line[first] && is_count(line, first, &count))
		return truth_build_func(p->b, line + first + strspn(line + first, " \t"), count);
	return bad(p, "neither 'name count' nor 'count name'");
}

static int parse_table(struct parse *p)
{
	int err;

	do
		err = parse_row(p, p->l->buf);
	while (err == 0 && (err = truth_lines_next(p->l)) > 0);
	return err;
}

int truth_parse_names(struct truth_lines *l, struct truth_build *b)
{
	struct parse p = { .l = l, .b = b };
	uint64_t n;
	int err;

	if (strncmp(l->buf, "NO. ", 4) == 0)
		err = parse_drcctprof(&p);
	else if (is_count(l->buf, strlen(l->buf), &n))
		err = parse_cctlib(&p);
	else
		err = parse_table(&p);
	free(p.name);
	if (err == 0 && b->funcs.n == 0)
		err = sp_fail(SP_EFORMAT, "%s: no counts in it", l->path);
	if (err == 0)
		err = truth_build_text(&b->creator, "textual counts by function");
	return err;
}
