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

/* Once all are known: -SP_ENOENT where the one that was asked for was not sampled. */
int chosen_check(const struct recording *r);

/* What the branches on an event's records are. */
enum recording_branches chosen_branches(const struct perf_event_attr *attr);

#endif
