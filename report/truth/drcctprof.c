/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What DrCCTProf's clients instr_statistics and instr_statistics_clean_call
 * print since 2021: the 200 calling contexts that ran most often, an
 * instruction each.
 *
 *   NO. 1 PC 0x00007f901b7fb710 "mov    edx, dword ptr [rax+0x08]"
 *   =>EXECUTION TIMES
 *   609984
 *   =>BACKTRACE
 *   #0   0x00007f901b7fb710 "mov ..." in SteepestEdge::entered4X at [:0]
 *   #1   ...
 *
 * The addresses are of that run, in a file that is not named; the text of the
 * instruction is absent from the backtrace of one client.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/truth/build.h"

struct parse {
	struct truth_lines *l;
	struct truth_build *b;
	uint64_t ip, n, sum;
	bool open;  /* a context was begun and its function is awaited */
	bool count; /* its count is known */
};

static int bad(struct parse *p, const char *what)
{
	return sp_fail(SP_EFORMAT,
	               "%s: line %lu: %s; known is what DrCCTProf's clients instr_statistics and "
	               "instr_statistics_clean_call print since 2021 (skidprof-truth(1))",
	               p->l->path, p->l->n, what);
}

static bool parse_ip(const char **s, uint64_t *ip)
{
	char *end;

	if (strncmp(*s, "0x", 2) != 0)
		return false;
	errno = 0;
	*ip = strtoull(*s, &end, 16);
	if (errno || end == *s + 2)
		return false;
	*s = end + strspn(end, " \t");
	return true;
}

static int begin_context(struct parse *p, const char *line)
{
	const char *s = strstr(line, "PC ");

	if (p->open)
		return bad(p, "a context before the one above has its function");
	if (!s)
		return bad(p, "a context without 'PC'");
	s += 3;
	if (!parse_ip(&s, &p->ip))
		return bad(p, "a context without an address");
	p->open = true;
	p->count = false;
	return 0;
}

static int take_count(struct parse *p)
{
	int err = truth_lines_next(p->l);
	const char *s = p->l->buf;

	if (err < 0)
		return err;
	if (err == 0 || !truth_number(&s, &p->n) || *s)
		return bad(p, "no count after 'EXECUTION TIMES'");
	if (!p->open || p->count)
		return bad(p, "a count without a context");
	p->count = true;
	return truth_add(p->l, &p->sum, p->n);
}

/* "#0 0x... "text" in NAME at [file:line]": a name may have blanks. */
static int end_context(struct parse *p, char *line)
{
	const char *s = line + 2 + strspn(line + 2, " \t"), *text;
	char *end = NULL;
	uint32_t name;
	uint64_t ip;

	if (!p->open || !p->count)
		return bad(p, "a backtrace without a count");
	if (!parse_ip(&s, &ip) || ip != p->ip)
		return bad(p, "a backtrace that begins at another address");
	text = *s == '"' ? strstr(s + 1, "\" in ") : NULL;
	s = text ? text + 2 : s;
	for (char *at = strstr(line, " at ["); at; at = strstr(at + 1, " at ["))
		end = at;
	if (strncmp(s, "in ", 3) != 0 || !end || end <= s + 3)
		return bad(p, "a backtrace without a function");
	*end = '\0';
	truth_build_number(p->b, TRUTH_SYMBOLS, s + 3, &name);
	truth_build_func(p->b, s + 3, TRUTH_NONE, p->n);
	vec_add(&p->b->runs, (struct truth_run){ p->ip, 1, name, p->n });
	p->open = false;
	return 0;
}

int truth_parse_drcctprof(struct truth_lines *l, struct truth_build *b)
{
	struct parse p = { .l = l, .b = b };
	int err;

	do {
		err = 0;
		if (strncmp(l->buf, "NO. ", 4) == 0)
			err = begin_context(&p, l->buf);
		else if (strncmp(l->buf, "=>EXECUTION TIMES", 17) == 0)
			err = take_count(&p);
		else if (strncmp(l->buf, "#0", 2) == 0)
			err = end_context(&p, l->buf);
	} while (err == 0 && (err = truth_lines_next(l)) > 0);
	if (err == 0 && p.open)
		err = bad(&p, "the file ends in the middle of a context");
	if (err == 0 && p.sum == 0)
		err = bad(&p, "no context has a count");
	b->format = "DrCCTProf's list of the contexts that ran most often";
	b->partial = true;
	b->creator = "DrCCTProf";
	return err;
}
