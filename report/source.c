/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/source.h"

#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "profiler/base/err.h"
#include "profiler/base/vec.h"

/* No file that a person reads is larger. */
enum { MAX_BYTES = 64 << 20, TAB = 8 };

struct source_file {
	char *path, *where, *text;
	VEC(const char *) lines;
};

struct sources {
	const struct source_opts *o;
	VEC(struct source_file) files;
};

int source_add_dir(struct source_opts *o, const char *dir)
{
	struct stat st;

	if (o->n_dirs == SOURCE_MAX_MAPS)
		return sp_fail(SP_EUSAGE, "--source-dir: no more than %d", SOURCE_MAX_MAPS);
	if (stat(dir, &st) < 0 || !S_ISDIR(st.st_mode))
		return sp_fail(SP_ENOENT, "--source-dir: there is no folder '%s'", dir);
	o->dirs[o->n_dirs++] = dir;
	return 0;
}

int source_add_map(struct source_opts *o, const char *map)
{
	if (o->n_maps == SOURCE_MAX_MAPS)
		return sp_fail(SP_EUSAGE, "--prefix-map: no more than %d", SOURCE_MAX_MAPS);
	if (!strchr(map, '=') || *map == '=')
		return sp_fail(SP_EUSAGE, "--prefix-map: '%s' is not OLD=NEW", map);
	o->maps[o->n_maps++] = map;
	return 0;
}

struct sources *sources_new(const struct source_opts *o)
{
	struct sources *s = calloc(1, sizeof(*s));

	if (s)
		s->o = o;
	return s;
}

void sources_free(struct sources *s)
{
	for (size_t i = 0; s && i < s->files.n; i++) {
		free(s->files.v[i].path);
		free(s->files.v[i].where);
		free(s->files.v[i].text);
		vec_fini(&s->files.v[i].lines);
	}
	if (s)
		vec_fini(&s->files);
	free(s);
}

/* A path comes from a file of anyone's: no device, no pipe, nothing that would not end. */
static int open_regular(const char *path)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	if (fd >= 0 && (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size > MAX_BYTES)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static void map_path(const struct source_opts *o, const char *path, char out[PATH_MAX])
{
	for (size_t i = 0; i < o->n_maps; i++) {
		size_t n = strcspn(o->maps[i], "=");

		if (strncmp(path, o->maps[i], n) != 0)
			continue;
		snprintf(out, PATH_MAX, "%s%s", o->maps[i] + n + 1, path + n);
		return;
	}
	snprintf(out, PATH_MAX, "%s", path);
}

/* "/build/app/src/a.c" may be src/a.c, or a.c, of a folder given. */
static int open_in_dirs(const struct source_opts *o, const char *path, char where[PATH_MAX])
{
	for (const char *end = path; end; end = strchr(end, '/')) {
		end += *end == '/';
		for (size_t i = 0; i < o->n_dirs; i++) {
			int fd;

			if (snprintf(where, PATH_MAX, "%s/%s", o->dirs[i], end) >= PATH_MAX)
				continue;
			fd = open_regular(where);
			if (fd >= 0)
				return fd;
		}
	}
	return -1;
}

static int find(const struct source_opts *o, const char *path, char where[PATH_MAX])
{
	char mapped[PATH_MAX];
	int fd;

	map_path(o, path, mapped);
	fd = open_in_dirs(o, mapped, where);
	if (fd >= 0)
		return fd;
	memcpy(where, mapped, PATH_MAX);
	return open_regular(where);
}

/* The whole file with blanks for tabs, NULL when out of memory or unreadable. */
static char *read_text(int fd)
{
	FILE *f = fdopen(fd, "r");
	char *text = NULL;
	size_t size = 0, column = 0;
	FILE *out;
	int c;

	if (!f) {
		close(fd);
		return NULL;
	}
	out = open_memstream(&text, &size);
	while (out && (c = getc(f)) != EOF) {
		if (c == '\t') {
			do
				putc(' ', out);
			while (++column % TAB);
			continue;
		}
		column = c == '\n' ? 0 : column + 1;
		if (c && c != '\r')
			putc(c, out);
	}
	if (out && fclose(out) != 0) {
		free(text);
		text = NULL;
	}
	fclose(f);
	return text;
}

static int split(struct source_file *f)
{
	for (char *at = f->text; at && *at;) {
		char *end = strchr(at, '\n');

		if (vec_push(&f->lines, at) < 0)
			return -SP_ENOMEM;
		if (!end)
			break;
		*end = '\0';
		at = end + 1;
	}
	return 0;
}

static struct source_file *file_of(struct sources *s, const char *path)
{
	struct source_file f = { 0 };
	char where[PATH_MAX];
	int fd;

	if (!path || !*path)
		return NULL;
	for (size_t i = 0; i < s->files.n; i++)
		if (strcmp(s->files.v[i].path, path) == 0)
			return &s->files.v[i];
	f.path = strdup(path);
	fd = f.path ? find(s->o, path, where) : -1;
	if (fd >= 0) {
		f.where = strdup(where);
		f.text = read_text(fd);
	}
	/* What there is no room for is not there: the report goes on without its text. */
	if (!f.path || split(&f) < 0 || vec_push(&s->files, f) < 0) {
		vec_fini(&f.lines);
		free(f.path);
		free(f.where);
		free(f.text);
		return NULL;
	}
	return &s->files.v[s->files.n - 1];
}

const char *source_line(struct sources *s, const char *path, uint32_t line)
{
	const struct source_file *f = file_of(s, path);

	return f && line && line <= f->lines.n ? f->lines.v[line - 1] : NULL;
}

const char *source_where(struct sources *s, const char *path)
{
	const struct source_file *f = file_of(s, path);

	return f && f->text ? f->where : NULL;
}

bool source_is_newer(struct sources *s, const char *path, const char *program)
{
	const char *where = source_where(s, path);
	struct stat source, of;

	return where && program && stat(where, &source) == 0 && stat(program, &of) == 0 &&
	       source.st_mtime > of.st_mtime;
}
