/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_BASE_DRAFT_H
#define SKIDPROF_BASE_DRAFT_H

/* A file that appears under its name when it is whole, and takes no other's place before. */
#include <stdio.h>

/*
 * Calls put(arg, f) and names the file path.  What is no regular file, a device or a pipe, is
 * written to as it stands ("-": standard output): a rename would put a file in its place.
 */
int draft_write(const char *path, int (*put)(const void *arg, FILE *f), const void *arg);

#endif
