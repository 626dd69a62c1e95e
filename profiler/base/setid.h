/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_BASE_SETID_H
#define SKIDPROF_BASE_SETID_H

#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

/* Does a program with such a file run with another user's or group's rights? */
static inline bool setid_gains_rights(const struct stat *st)
{
	return (st->st_mode & S_ISUID && st->st_uid != geteuid()) ||
	       (st->st_mode & S_ISGID && st->st_mode & S_IXGRP && st->st_gid != getegid());
}

#endif
