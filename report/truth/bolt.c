/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a program instrumented by 'llvm-bolt --instrument' writes when it ends
 * (fdata): how often each branch was taken, on the real processor.
 *
 *   1 main 19f 1 main 170 0 39999
 *
 * from: 1 and a symbol, or 0 for code that BOLT did not read; the offset in
 * it, hexadecimal; to: the same; mispredictions; how often.  A blank in a
 * name is "\ ".  What perf2bolt makes of samples has the same form, with
 * mispredictions, or a first line that says so.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/truth/build.h"

static int bad(const struct truth_lines *l, const char *what)
{
	return sp_fail(SP_EFORMAT,
	               "%s: line %lu: %s; known is what a program made by 'llvm-bolt --instrument' writes",
	               l->path, l->n, what);
}

/* The next word, in place, blanks unescaped; NULL at the end. */
static char *word(char **s)
{
	char *begin = *s + strspn(*s, " "), *in = begin, *out = begin;

	if (!*begin)
		return NULL;
	while (*in && *in != ' ') {
		if (*in == '\\' && in[1])
			in++;
		*out++ = *in++;
	}
	*s = *in ? in + 1 : in;
	*out = '\0';
	return begin;
}

static bool whole_number(const char *text, int base, uint64_t *out)
{
	char *end;

	if (!text || !strchr("0123456789abcdef", *text))
		return false;
	errno = 0;
	*out = strtoull(text, &end, base);
	if (errno == ERANGE)
		*out = UINT64_MAX;
	return end != text && !*end;
}

/* "1 main 19f", or "0 [unknown] 0". */
static int parse_place(struct truth_lines *l, struct truth_build *b, char **s, uint32_t *symbol,
                       uint64_t *off)
{
	const char *kind = word(s), *name = word(s), *offset = word(s);

	if (!kind || !name || (strcmp(kind, "0") != 0 && strcmp(kind, "1") != 0) ||
	    !whole_number(offset, 16, off))
		return bad(l, "no place of a branch");
	truth_build_number(b, TRUTH_SYMBOLS, *kind == '1' ? name : "", symbol);
	return 0;
}

static int parse_row(struct truth_lines *l, struct truth_build *b, uint64_t *sum)
{
	struct truth_branch branch;
	uint64_t mispredicted;
	char *s = l->buf;
	int err = parse_place(l, b, &s, &branch.from, &branch.from_off);

	if (err == 0)
		err = parse_place(l, b, &s, &branch.to, &branch.to_off);
	if (err < 0)
		return err;
	if (!whole_number(word(&s), 10, &mispredicted) || !whole_number(word(&s), 10, &branch.n) || word(&s))
		return bad(l, "no count of a branch");
	if (mispredicted)
		return bad(l, "mispredictions: made of samples by perf2bolt, and so no exact counts");
	if (truth_add(l, sum, branch.n) < 0)
		return -SP_EFORMAT;
	if (branch.n)
		vec_add(&b->branches, branch);
	return 0;
}

int truth_parse_bolt(struct truth_lines *l, struct truth_build *b)
{
	uint64_t sum = 0;
	int err;

	do
		err = *l->buf ? parse_row(l, b, &sum) : 0;
	while (err == 0 && (err = truth_lines_next(l)) > 0);
	if (err == 0 && sum == 0)
		err = bad(l, "no branch has a count");
	b->format = "branches of a native run, counted by BOLT's instrumentation";
	b->creator = "BOLT's instrumentation";
	return err;
}
