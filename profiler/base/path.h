/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_BASE_PATH_H
#define SKIDPROF_BASE_PATH_H

/*
 * Where the program's own files are: beside the executable in a build tree,
 * under PREFIX/lib/skidprof and PREFIX/share/skidprof once installed.  And
 * where a user's may be.
 */
#include <stddef.h>

/*
 * The path of a file of ours: "skidsim.so", "cores/zen5.core".
 *
 * out  at least PATH_MAX bytes.
 * Returns 0; -SP_ENOENT with the places that were tried.
 */
int path_find(const char *name, char *out, size_t size);

/*
 * Can a file be written at path?  Asked before work that may take long.
 * path    NULL: none is to be; "-": standard output.
 * option  the one that names it, for messages: "-o".
 * 0 or -SP_EIO, worded.
 */
int path_check_output(const char *path, const char *option);

/* The same of what standard output has no room for beside what is written there: "-" is a mistake, and no name. */
int path_check_file(const char *path, const char *option);

/* As people read it: "standard output" for -. */
const char *path_words(const char *path);

/*
 * Take "." and "x/.." out of a path, by its text alone.  ".." that lead a relative path go too: where the folder a
 * unit was built in was taken out (-ffile-prefix-map), others name the same file without them.
 *
 * out  at least as many bytes as path has; path itself, too.  It is not ended.
 * Returns how many bytes it has.
 */
size_t path_fold(const char *path, char *out);

#endif
