/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_REPLAY_SYSTEM_H
#define SKIDPROF_REPLAY_SYSTEM_H

#include <stddef.h>

/*
 * Memory that will be touched while a thread waits is touched now: in some virtual machines a page takes as long
 * as a short replay.
 */
void rp_populate(void *at, size_t n);

/* System calls without libc, which may use vector registers: those are the program's. */
static inline long rp_syscall4(long nr, long a, long b, long c, long d)
{
	long ret;
	register long r10 __asm__("r10") = d;

	__asm__ volatile("syscall"
	                 : "=a"(ret)
	                 : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10)
	                 : "rcx", "r11", "memory");
	return ret;
}

#endif
