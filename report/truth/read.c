/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading exact counts: which format a file has, and its lines. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/base/begins.h"
#include "profiler/base/log.h"
#include "profiler/base/mem.h"
#include "report/truth/build.h"

/* The longest C++ names seen have some hundred thousand characters; a line beyond this is no text of ours. */
enum { LINE_MAX_BYTES = 1 << 20 };

int truth_lines_open(struct truth_lines *l, const char *path)
{
	memset(l, 0, sizeof(*l));
	l->path = path;
	l->buf = mem_malloc(LINE_MAX_BYTES);
	l->f = fopen(path, "re");
	if (l->f)
		return 0;
	if (errno == ENOENT)
		sp_fail(SP_ENOENT, "%s: no such file; make it with 'skidprof truth -o %s ./app'", path, path);
	else
		sp_fail_errno("%s: can't be read; make one of your own with 'skidprof truth -o FILE ./app'",
		              path);
	truth_lines_close(l);
	return -SP_EIO;
}

void truth_lines_close(struct truth_lines *l)
{
	if (l->f)
		fclose(l->f);
	free(l->buf);
	memset(l, 0, sizeof(*l));
}

enum { PROGRESS_LINES = 16384 };

int truth_lines_next(struct truth_lines *l)
{
	size_t n;

	/* A NUL shortens what strlen sees: a line that then lacks its end is no text. */
	if (l->n % PROGRESS_LINES == 0)
		sp_progress("reading exact counts: lines", l->n, 0);
	if (!fgets(l->buf, LINE_MAX_BYTES, l->f)) {
		sp_progress_end();
		if (ferror(l->f))
			return sp_fail_errno("%s", l->path);
		return 0;
	}
	l->n++;
	n = strlen(l->buf);
	if ((n == 0 || l->buf[n - 1] != '\n') && !feof(l->f))
		return sp_fail(SP_EFORMAT, "%s: line %lu is no text: not a file of exact counts", l->path,
		               l->n);
	while (n && (l->buf[n - 1] == '\n' || l->buf[n - 1] == '\r'))
		l->buf[--n] = '\0';
	return 1;
}

bool truth_number(const char **s, uint64_t *out)
{
	char *end;

	if (!(**s >= '0' && **s <= '9'))
		return false;
	errno = 0;
	*out = strtoull(*s, &end, 10);
	if (errno == ERANGE)
		*out = UINT64_MAX;
	if (*end && *end != ' ' && *end != '\t')
		return false;
	*s = end + strspn(end, " \t");
	return true;
}

int truth_add(const struct truth_lines *l, uint64_t *sum, uint64_t n)
{
	if (n > INT64_MAX)
		return sp_fail(SP_EFORMAT,
		               "%s: line %lu: %ju is no count: it fell below zero and wrapped round, or the "
		               "file is damaged; make it again",
		               l->path, l->n, (uintmax_t)n);
	if (n > INT64_MAX - *sum)
		return sp_fail(SP_EFORMAT,
		               "%s: line %lu: counts so far add up to more than can be; the file is damaged: "
		               "make it again",
		               l->path, l->n);
	*sum += n;
	return 0;
}

/* Any of these begins the header of a callgrind file; the first line alone is optional. */
static bool looks_like_callgrind(const char *line)
{
	static const char *const words[] = { "# callgrind format", "version:", "creator:", "pid:",  "cmd:",
		                             "positions:",         "events:",  "part:",    "desc:", NULL };

	for (size_t i = 0; words[i]; i++)
		if (begins(line, words[i]))
			return true;
	return false;
}

/* Eight words, two of them the kinds of places. */
static bool looks_like_bolt(const char *line)
{
	size_t n = 0;

	for (const char *s = line; *s; s++)
		n += *s != ' ' && (s == line || (s[-1] == ' ' && (s - line < 2 || s[-2] != '\\')));
	return n == 8 && (line[0] == '0' || line[0] == '1') && line[1] == ' ';
}

static int parse(struct truth_lines *l, struct truth_build *b)
{
	if (looks_like_callgrind(l->buf))
		return truth_parse_callgrind(l, b);
	if (begins(l->buf, "NO. "))
		return truth_parse_drcctprof(l, b);
	if (looks_like_bolt(l->buf))
		return truth_parse_bolt(l, b);
	if ((begins(l->buf, "collected ") && strstr(l->buf, "entries in the hash table")) ||
	    begins(l->buf, "pc, tcount, icount, ecount"))
		return truth_parse_hotblocks(l, b);
	if (begins(l->buf, "boltedcollection") || begins(l->buf, "no_lbr"))
		return sp_fail(SP_EFORMAT,
		               "%s: made of samples by perf2bolt, and so no exact counts; those are what a "
		               "program made by 'llvm-bolt --instrument' writes",
		               l->path);
	return truth_parse_names(l, b);
}

int truth_read(const char *path, struct truth **out)
{
	struct truth_build b = { 0 };
	struct truth_lines l;
	int err;

	err = truth_lines_open(&l, path);
	if (err < 0)
		return err;
	do
		err = truth_lines_next(&l);
	while (err > 0 && !l.buf[strspn(l.buf, " \t")]);
	if (err == 0)
		err = sp_fail(SP_EFORMAT, "%s: the file is empty: no exact counts", path);
	else if (err > 0)
		err = parse(&l, &b);
	if (err == 0)
		err = truth_build_finish(&b, out);
	truth_build_fini(&b);
	truth_lines_close(&l);
	return err;
}
