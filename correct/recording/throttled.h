/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CORRECT_RECORDING_THROTTLED_H
#define SKIDPROF_CORRECT_RECORDING_THROTTLED_H

/*
 * An event whose samples come more often than kernel.perf_event_max_sample_rate allows is stopped until the next tick, and so
 * is its counter: records say from when to when, and what ran meanwhile is in no sample and in no count (eq. 5).
 */
#include <stdbool.h>
#include <stdint.h>

struct throttled;

struct throttled *throttled_new(void);
void throttled_free(struct throttled *t);

/* A sample of a thread; times ascend within it. */
void throttled_sample(struct throttled *t, uint32_t tid, int event, uint64_t time_ns);

/* One counter of an event, told by its stream, was stopped (on) or goes on. */
void throttled_record(struct throttled *t, uint32_t tid, int event, uint64_t stream, bool on,
                      uint64_t time_ns);

/* A thread ended: what is stopped of it stays so until then. */
void throttled_exit(struct throttled *t, uint32_t tid, uint64_t time_ns);

/* Once all were shown: the share of the time that its threads were awake in which an event was stopped so. */
double throttled_share(const struct throttled *t, int event);

/* To be called before that. */
void throttled_settle(struct throttled *t);

#endif
