/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading exact counts: which format a file has, and its lines. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "correct/truth/build.h"

/* The longest C++ names seen have some hundred thousand characters; a line beyond this is no text of ours. */
enum { LINE_MAX_BYTES = 1 << 20 };

int truth_lines_open(struct truth_lines *l, const char *path)
{
	memset(l, 0, sizeof(*l));
	l->path = path;
	l->buf = malloc(LINE_MAX_BYTES);
	if (!l->buf)
		return sp_fail(SP_ENOMEM, "out of memory");
	l->f = fopen(path, "re");
	if (l->f)
		return 0;
	if (errno == ENOENT)
		sp_fail(SP_ENOENT, "%s: no such file; make it with 'skidprof truth -o %s ./app'", path, path);
	else
		sp_fail_errno("%s", path);
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

int truth_lines_next(struct truth_lines *l)
{
	size_t n;

	/* A NUL shortens what strlen sees: a line that then lacks its end is no text. */
	if (!fgets(l->buf, LINE_MAX_BYTES, l->f)) {
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

/* Any of these begins the header of a callgrind file; the first line alone is optional. */
static int looks_like_callgrind(const char *line)
{
	static const char *const words[] = { "# callgrind format", "version:", "creator:", "pid:",  "cmd:",
		                             "positions:",         "events:",  "part:",    "desc:", NULL };

	for (size_t i = 0; words[i]; i++)
		if (strncmp(line, words[i], strlen(words[i])) == 0)
			return 1;
	return 0;
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
		err = looks_like_callgrind(l.buf) ? truth_parse_callgrind(&l, &b) : truth_parse_names(&l, &b);
	if (err == 0)
		err = truth_build_finish(&b, out);
	truth_build_fini(&b);
	truth_lines_close(&l);
	return err;
}
