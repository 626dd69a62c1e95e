/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_REPORT_SOURCE_H
#define SKIDPROF_REPORT_SOURCE_H

/*
 * Source files, found by the paths that debug information has, and read once.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SOURCE_MAX_MAPS = 16 };

struct source_opts {
	/* Folders to look in, under the whole path and under ever shorter ends of it. */
	const char *dirs[SOURCE_MAX_MAPS];
	size_t n_dirs;
	/* "OLD=NEW": paths that begin with OLD begin with NEW here; the first that fits counts. */
	const char *maps[SOURCE_MAX_MAPS];
	size_t n_maps;
};

struct sources;

int source_add_dir(struct source_opts *o, const char *dir);
int source_add_map(struct source_opts *o, const char *map);

struct sources *sources_new(const struct source_opts *o); /* o borrowed; NULL when out of memory */
void sources_free(struct sources *s);

/*
 * A line (from 1) of a file, without its newline, tabs as blanks; NULL where there is no such file, or line.  Bytes are as
 * in the file: make them safe.  Borrowed.
 */
const char *source_line(struct sources *s, const char *path, uint32_t line);
/* Where a path was found, NULL where it wasn't. */
const char *source_where(struct sources *s, const char *path);
/* Was it written after the program's file?  Then lines may not be those that were compiled. */
bool source_is_newer(struct sources *s, const char *path, const char *program);

#endif
