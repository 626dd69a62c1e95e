/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_BASE_RELAX_H
#define SKIDPROF_BASE_RELAX_H

/* In a loop that waits for another thread's word: what else the processor has to run goes first. */
static inline void relax(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

#endif
