/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CORRECT_RECORDING_CHOSEN_H
#define SKIDPROF_CORRECT_RECORDING_CHOSEN_H

/*
 * What each event of a recording is to the corrector: instructions, cycles, bursts or timed paths; how precise its samples
 * are; which branches are on its records; and which events count the same in groups that take turns, or on other cores.
 */
#include "correct/recording/recording.h"

/* Of the events that the file has so far: in pipe mode they come with the records. */
void chosen_set(struct recording *r);

/* Events that came since, and which of them count the same. */
void chosen_learn(struct recording *r);

/* The sampled event that stands for MIX_INSN or MIX_CYCLES, whichever is shown; -1 = none does. */
int chosen_of_kind(const struct recording *r, int kind);

/* Are the events of other kinds of cores that count the same apart from it?  It is silent, then, while its threads run there. */
bool chosen_is_part(const struct recording *r, size_t i);

/* Once all are known: -SP_ENOENT where the one that was asked for was not sampled. */
int chosen_check(const struct recording *r);

#endif
