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
#if defined(__aarch64__)
	register long x8 __asm__("x8") = nr;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;

	__asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3) : "memory");
	return x0;
#else
	long ret;
	register long r10 __asm__("r10") = d;

	__asm__ volatile("syscall"
	                 : "=a"(ret)
	                 : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10)
	                 : "rcx", "r11", "memory");
	return ret;
#endif
}

#endif
