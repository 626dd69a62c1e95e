/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CORRECT_RECORDING_ENDED_H
#define SKIDPROF_CORRECT_RECORDING_ENDED_H

/*
 * What threads ran before their first sample or after their last, and ended: counters that they inherit begin with a
 * whole period.  The recorder of skidprof tells it, perf record -s what each thread counted; else a thread with
 * samples misses half a period in the mean, and one without as long as it lived, up to that.
 */
#include "profiler/perfdata/record.h"

struct ended;

struct ended *ended_new(void);
void ended_free(struct ended *e);

/* A sample of the event that is asked for. */
void ended_sample(struct ended *e, uint32_t tid, uint64_t time_ns);

/* FORK, EXIT and READ; attr: of a READ's event. */
void ended_record(struct ended *e, const struct pd_record *rec, const struct perf_event_attr *attr);

/* Share of all that ran; n_threads and n_samples: of the event, period: of a clock in nanoseconds, 0 for another event. */
double ended_share(struct ended *e, double n_threads, double n_samples, double period_ns);

/*
 * An event whose samples come more often than kernel.perf_event_max_sample_rate allows is stopped until the next tick, and so
 * is its counter: records say from when to when, and what ran meanwhile is in no sample and in no count (eq. 5).
 */
struct throttled;

struct throttled *throttled_new(void);
void throttled_free(struct throttled *t);

/* A sample of a thread, and how many events it stands for (> 0); times ascend within it. */
void throttled_sample(struct throttled *t, uint32_t tid, int event, uint64_t time_ns, double events);
/* One before or after the part that is looked at: it tells that its thread ran, and is no end of a gap. */
void throttled_elsewhen(struct throttled *t, uint32_t tid, int event, uint64_t time_ns);

/* One counter of an event, told by its stream, was stopped (on) or goes on. */
void throttled_record(struct throttled *t, uint32_t tid, int event, uint64_t stream, bool on,
                      uint64_t time_ns);

/* A thread ended: what is stopped of it stays so until then. */
void throttled_exit(struct throttled *t, uint32_t tid, uint64_t time_ns);

/* Once all were shown: the share of the time that its threads were awake in which an event was stopped so, of the window. */
double throttled_share(const struct throttled *t, int event);

/* To be called before that. */
void throttled_settle(struct throttled *t, uint64_t from_ns, uint64_t to_ns);

#endif
