/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_BASE_PATH_H
#define SKIDPROF_BASE_PATH_H

/*
 * Where the program's own files are: beside the executable in a build tree,
 * under PREFIX/lib/skidprof and PREFIX/share/skidprof once installed.
 */
#include <stddef.h>

/*
 * The path of a file of ours: "skidsim.so", "cores/zen5.core".
 *
 * out  at least PATH_MAX bytes.
 * Returns 0; -SP_ENOENT with the places that were tried.
 */
int path_find(const char *name, char *out, size_t size);

#endif
