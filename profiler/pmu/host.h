/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_PMU_HOST_H
#define SKIDPROF_PMU_HOST_H

/* The machine and the kernel that we run on, as /proc and /sys tell of them. */
#include <stdbool.h>
#include <stddef.h>

/* The first line of a small file of /proc or /sys, into out; "" if there is none. */
const char *host_line(const char *path, char *out, size_t size);
int host_number(const char *path, int otherwise);

/* Is the kernel locked down so far that counters are closed? */
bool host_is_locked_down(void);

/* 0: no filter of system calls is on us; 1: all but a few are forbidden; 2: a filter. */
int host_seccomp(void);

/* Is this a virtual machine, as the processor says? */
bool host_is_virtual(void);

/* What kind of container we are in, as those mark themselves; NULL: none is known. */
const char *host_container(void);
bool host_in_user_namespace(void);

#endif
