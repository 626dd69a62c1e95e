/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_PMU_FINER_H
#define SKIDPROF_PMU_FINER_H

/*
 * The clock where threads live for a few periods or less.  Each inherited event begins with a whole period, on each
 * CPU, so that threads younger than that have no samples, and others none but at its multiples.  While much time is
 * missed for that, another event takes the clock's place, whose period is a fraction of it, and one sample of as many
 * is kept, whichever threads of a CPU they are of: all ages from the fraction on are sampled, and each sample that is
 * kept still stands for a whole period.
 */
#include "profiler/pmu/event_group.h"
#include "profiler/pmu/rewrite.h"
#include "profiler/pmu/tasks.h"

/*
 * Adds that event to a group whose only one that samples the program is a clock that threads inherit.  moment_ns: of
 * this much CPU time its samples wake us once; 0: as the clock's do.  Returns how many samples that is, 0 where no
 * event was added.
 */
uint32_t finer_join(struct event_group *group, uint64_t moment_ns);

/*
 * From n on, the first number of samples to a moment that few processes are in step with.  The kernel counts samples on from
 * one process to the next.  Equal short processes have as many each, and where that number shares a factor with n, moments keep to some
 * of their ages: with 15 samples and n = 6 the first third of them had 8 of 174 bursts.  A prime shares one with each n-th number
 * only: from four on the next one, from seven.
 */
uint32_t finer_out_of_step(uint32_t n);

struct finer;

/* events: borrowed.  NULL in *out where the first is no clock that threads inherit.  -SP_ENOMEM. */
int finer_new(const struct pe_event *events, size_t n_events, uint64_t seed, struct finer **out);
void finer_free(struct finer *f);

/* A sample from a ring: is it kept?  Not where another one of the finer event is, in its place. */
bool finer_sample(struct finer *f, const struct rewrite_result *sample, const struct tasks_source *from);

/*
 * FORK and EXIT, others are passed over: how long a task lived tells what its samples lack.  After its last sample it ran for
 * half a period in the mean, and one that lived for less than a period has none.  -SP_ENOMEM.
 */
int finer_task(struct finer *f, const struct perf_event_header *rec);

/* So many samples were lost from a ring: how many would have been kept of them? */
uint64_t finer_lost(struct finer *f, uint64_t n);

/* After the rings were read: change over where that is due. */
int finer_look(struct finer *f, struct tasks *t, uint64_t now_ns);

/* The time of threads, those that have ended, before their first sample or after their last, as finer_task() puts it. */
uint64_t finer_missed_ns(const struct finer *f);

/* That, and what samples stood for so far. */
uint64_t finer_time_ns(const struct finer *f);

#endif
