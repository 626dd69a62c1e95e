/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_BASE_BEGINS_H
#define SKIDPROF_BASE_BEGINS_H

#include <stdbool.h>
#include <string.h>

/* Does the text begin with this?  NULL begins with nothing. */
static inline bool begins(const char *text, const char *with)
{
	return text && strncmp(text, with, strlen(with)) == 0;
}

#endif
