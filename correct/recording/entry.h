/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CORRECT_RECORDING_ENTRY_H
#define SKIDPROF_CORRECT_RECORDING_ENTRY_H

/*
 * Samples of an event that counts the user's code only (exclude_kernel) whose address is the kernel's: the interrupt came
 * when the program had entered it, by a system call or a fault.  What they stand for ran before that.
 */
#include "correct/recording/recording.h"

/* Is it one? */
bool entry_is(const struct recording *r, const struct pd_record *rec);

/*
 * Where the program goes on once the kernel is left: the first user address of the sample's call chain, or of its
 * registers; else what the newest branch record leads to, or the instruction behind the system call that comes next
 * there.  0: nothing tells, or the call ends a handler of a signal.
 */
uint64_t entry_user_ip(struct recording *r, const struct pd_record *rec);

/* Did a burst end at a system call, which its newest branch leads straight to?  Behind it nothing was seen. */
bool entry_cuts(struct recording *r, const struct pd_record *burst);

#endif
