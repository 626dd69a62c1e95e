/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_BASE_TIDY_H
#define SKIDPROF_BASE_TIDY_H

/*
 * What a signal that ends us, as Ctrl-C does, must not leave: files that are half written, folders for a while,
 * programs that work for us in process groups of their own.  It ends us as before, when these are gone.  Any thread may call.
 */
#include <sys/types.h>

/* From now on such a signal removes that file, or folder when it is empty.  Its number, -1 where too many are. */
int tidy_path(const char *path);
/* It is there under another name, or removed.  Also of -1. */
void tidy_path_done(int number);

/* From now on such a signal kills that process group. */
int tidy_group(pid_t group);
void tidy_group_done(int number);

#endif
