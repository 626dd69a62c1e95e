/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_PMU_STOPPED_H
#define SKIDPROF_PMU_STOPPED_H

/* A thread that we trace (ptrace) and have stopped, or wait for to stop. */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

#if defined(__x86_64__)
#define STOPPED_IP(regs) ((regs)->rip)
#else
#define STOPPED_IP(regs) ((regs)->pc)
#endif

/* General registers; -1: it is gone. */
int stopped_regs(pid_t tid, struct user_regs_struct *out);

/* Has it stopped in a system call, or just behind one? */
bool stopped_in_call(pid_t tid, const struct user_regs_struct *regs);

/* Has it made a call just now?  An interrupt that came in the kernel is taken at the first instruction behind. */
bool stopped_behind_call(pid_t tid, const struct user_regs_struct *regs);

/* Of one that has stopped in a call: is it over?  Else the stop came between, and it is to be made again. */
bool stopped_call_is_over(const struct user_regs_struct *regs);

/*
 * Some system calls (epoll_wait, semop, sigtimedwait) answer a stop with EINTR although no signal was handled.  Where no
 * signal is waiting, such a call is made again as if nothing had been (x86-64).
 */
void stopped_mend_call(pid_t tid, const struct user_regs_struct *regs);

/*
 * A trap forces its signal on a thread: where SIGTRAP is blocked (as in its own handler) or ignored, the kernel takes the
 * program's choice back for good, and the next SIGTRAP would kill it.
 */
bool stopped_takes_traps(pid_t tid);

/* Wait for it to stop, so many ns without going to sleep; false when it is gone. */
bool stopped_await(pid_t tid, int *status, uint64_t awake_ns);

/* Is it in a stop that PTRACE_INTERRUPT asked for, and not of a signal, or of the whole process? */
bool stopped_by_us(int status);

/*
 * Let it go from the stop that `status` (of waitpid()) tells of; ours: we made its signal.  Other signals on their way go on; a
 * stop of the whole process (SIGSTOP, Ctrl-Z) is left as it is.  False: it was killed meanwhile, and must be waited for.
 */
bool stopped_let_go(pid_t tid, int status, bool ours);

#endif
