/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_TESTS_FIXTURE_RECORDING_H
#define SKIDPROF_TESTS_FIXTURE_RECORDING_H

/*
 * A recording of which only the events are in a file; samples are shown by
 * hand.  Process 1 has its code mapped from address 0, so an ip is a vaddr.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "correct/recording/recording.h"
#include "profiler/perfdata/writer.h"

struct hand_event {
	const char *name;
	uint32_t type;
	uint64_t config, period;
	int leader;
	bool group_read, branches;
};

/* A sample of 1000 events, of the one task there is, with a stack of branches, newest first. */
static inline struct pd_record hand_stack(int event, const struct pd_branch *stack, size_t n)
{
	struct pd_record r = { .type = PERF_RECORD_SAMPLE, .pid = 1, .tid = 1, .event = event };

	r.sample = (struct pd_sample){ .period = 1000, .branches = stack, .n_branches = n };
	return r;
}

/*
 * The same as a processor would have it: with one branch more, the newest, behind which another may be missing.  Here it
 * is an entry that was not filled, so that all is told by the stack given, of at most HAND_MAX.  with is room for them.
 */
enum { HAND_MAX = 512 };
static inline struct pd_record hand_record(int event, const struct pd_branch *stack, size_t n,
                                           struct pd_branch with[HAND_MAX + 1])
{
	assert_true(n <= HAND_MAX);
	with[0] = (struct pd_branch){ 0 };
	for (size_t i = 0; i < n; i++)
		with[i + 1] = stack[i];
	return hand_stack(event, with, n ? n + 1 : 0);
}

/* The same, with n_samples records in the file: for what reads it by itself. */
static inline struct recording *recording_with(const struct hand_event *events, size_t n,
                                               const struct pd_record *samples, size_t n_samples)
{
	char path[] = "/tmp/recording.XXXXXX";
	char *words[] = { "test" };
	struct pd_writer_event *e = calloc(n, sizeof(*e));
	uint64_t *ids = calloc(n, sizeof(*ids));
	struct pd_writer_info info = { .argc = 1, .argv = words, .events = e, .n_events = n };
	struct correct_opts opts = CORRECT_OPTS_DEFAULT;
	struct pd_record code = { .type = PERF_RECORD_MMAP, .pid = 1, .tid = 1 };
	struct pd_writer *w = NULL;
	struct recording *r = NULL;
	int fd = mkstemp(path);

	code.mmap = (struct pd_mmap){ .ip = 0, .len_bytes = 1 << 20, .path = "/no/such/program" };
	assert_true(fd >= 0);
	close(fd);
	unlink(path);
	for (size_t i = 0; i < n; i++) {
		struct perf_event_attr *a = &e[i].attr;

		ids[i] = 10 + i;
		*a = (struct perf_event_attr){ .size = sizeof(*a),
			                       .type = events[i].type,
			                       .config = events[i].config,
			                       .sample_period = events[i].period,
			                       .read_format = PERF_FORMAT_ID,
			                       .sample_id_all = 1 };
		a->sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
		                 PERF_SAMPLE_TIME | PERF_SAMPLE_PERIOD | PERF_SAMPLE_READ;
		if (events[i].branches)
			a->sample_type |= PERF_SAMPLE_BRANCH_STACK;
		if (events[i].group_read)
			a->read_format |= PERF_FORMAT_GROUP;
		e[i].name = events[i].name;
		e[i].ids = &ids[i];
		e[i].n_ids = 1;
		e[i].leader = events[i].leader;
	}
	assert_int_equal(pd_writer_open(path, &info, &w), 0);
	if (n_samples)
		assert_int_equal(pd_write_mmap(w, 1, 1, 1, &code.mmap), 0);
	for (size_t i = 0; i < n_samples; i++)
		assert_int_equal(pd_write_sample(w, &samples[i]), 0);
	assert_int_equal(pd_writer_close(w), 0);
	free(e);
	free(ids);
	opts.input = path;
	assert_int_equal(recording_open(&opts, &r), 0);
	unlink(path);
	assert_int_equal(maps_new(&r->maps), 0);
	assert_int_equal(maps_apply(r->maps, &code), 0);
	return r;
}

static inline struct recording *recording_by_hand(const struct hand_event *events, size_t n)
{
	return recording_with(events, n, NULL, 0);
}

#endif
