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

#endif
