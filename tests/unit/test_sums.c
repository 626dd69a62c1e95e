/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The first pass over a recording: the skid of each cycles sample from its own overshoot. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "correct/correct.h"
#include "correct/recording/sums.h"
#include "profiler/perfdata/writer.h"

static char file[] = "/tmp/sums.XXXXXX";
static uint64_t ids[2] = { 10, 11 };
static struct pd_writer_event events[2];

static int setup(void **state)
{
	int fd;

	(void)state;
	strcpy(file, "/tmp/sums.XXXXXX");
	fd = mkstemp(file);
	if (fd < 0)
		return -1;
	close(fd);
	return unlink(file);
}

static int teardown(void **state)
{
	(void)state;
	unlink(file);
	return 0;
}

/* {instructions, cycles}, both sampled every 1009, in one group. */
static struct pd_writer *start(bool freq)
{
	static char *words[] = { "test" };
	static const char *const names[] = { "instructions:u", "cycles:u" };
	struct pd_writer_info in = { .argc = 1, .argv = words, .events = events, .n_events = 2 };
	struct pd_writer *w = NULL;

	memset(events, 0, sizeof(events));
	for (int i = 0; i < 2; i++) {
		struct perf_event_attr *a = &events[i].attr;

		a->size = sizeof(*a);
		a->type = PERF_TYPE_HARDWARE;
		a->config = i ? PERF_COUNT_HW_CPU_CYCLES : PERF_COUNT_HW_INSTRUCTIONS;
		a->sample_period = 1009;
		a->freq = freq;
		a->sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
		                 PERF_SAMPLE_TIME | PERF_SAMPLE_PERIOD | PERF_SAMPLE_READ;
		a->read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID;
		a->sample_id_all = 1;
		events[i].name = names[i];
		events[i].ids = &ids[i];
		events[i].n_ids = 1;
	}
	assert_int_equal(pd_writer_open(file, &in, &w), 0);
	return w;
}

static void sample(struct pd_writer *w, int event, uint64_t insn, uint64_t cyc)
{
	struct pd_value v[2] = { { .id = 10, .value = insn, .event = 0 },
		                 { .id = 11, .value = cyc, .event = 1 } };
	struct pd_record rec = { .event = event, .pid = 5, .tid = 5, .time_ns = 100 + cyc };

	rec.sample = (struct pd_sample){ .ip = 0x401000, .period = 1009, .values = v, .n_values = 2 };
	assert_int_equal(pd_write_sample(w, &rec), 0);
}

static void collect(struct sums *s)
{
	struct correct_opts opts = CORRECT_OPTS_DEFAULT;
	struct recording *r = NULL;

	opts.input = file;
	assert_int_equal(recording_open(&opts, &r), 0);
	assert_int_equal(sums_collect(r, s), 0);
	recording_close(r);
}

/* 1009 + 378, 2 x 1009 + 311, 5 x 1009 + 0: what is past the last multiple of the period. */
static void a_cycles_sample_tells_its_own_skid(void **state)
{
	struct pd_writer *w = start(false);
	struct sums s = { 0 };

	(void)state;
	sample(w, 1, 700, 1387);
	sample(w, 0, 1100, 2000); /* of instructions: its overshoot is g, not S */
	sample(w, 1, 1500, 2329);
	sample(w, 1, 2600, 5045);
	assert_int_equal(pd_writer_close(w), 0);
	collect(&s);
	assert_int_equal(s.n_skid, 3);
	assert_true(s.skid_cyc[0] + s.skid_cyc[1] + s.skid_cyc[2] == 378 + 311);
	assert_true(s.skid_cyc[0] == 378 || s.skid_cyc[1] == 378 || s.skid_cyc[2] == 378);
	sums_fini(&s);
}

/* With a frequency the period changes under way, and its multiples say nothing. */
static void without_a_fixed_period_there_is_no_skid_to_read(void **state)
{
	struct pd_writer *w = start(true);
	struct sums s = { 0 };

	(void)state;
	sample(w, 1, 700, 1387);
	assert_int_equal(pd_writer_close(w), 0);
	collect(&s);
	assert_int_equal(s.n_skid, 0);
	sums_fini(&s);
}

/*
 * A clock of the kernel's has a sample every 10 us, but for 1 ms of each 2, and then a tracepoint has some: neither needs a
 * counter, so neither was without one.  Two events of the core would have taken turns.
 */
static double rested_of(uint32_t type, const char *const names[2])
{
	static char *words[] = { "test" };
	struct pd_writer_info in = { .argc = 1, .argv = words, .events = events, .n_events = 2 };
	struct pd_record rec = { .pid = 5, .tid = 5 };
	struct pd_writer *w = NULL;
	struct sums s = { 0 };
	double rested;

	memset(events, 0, sizeof(events));
	for (int i = 0; i < 2; i++) {
		events[i] =
		        (struct pd_writer_event){ .name = names[i], .ids = &ids[i], .n_ids = 1, .leader = i };
		events[i].attr = (struct perf_event_attr){
			.size = sizeof(struct perf_event_attr),
			.type = type,
			.config = type == PERF_TYPE_SOFTWARE ? PERF_COUNT_SW_TASK_CLOCK : 0x3c,
			.sample_period = 10000,
			.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
			               PERF_SAMPLE_TIME | PERF_SAMPLE_PERIOD,
			.sample_id_all = 1,
		};
	}
	events[1].attr.type = type == PERF_TYPE_SOFTWARE ? PERF_TYPE_TRACEPOINT : type;
	assert_int_equal(pd_writer_open(file, &in, &w), 0);
	for (uint64_t us = 0; us < 200000; us += 10) {
		rec.event = us / 1000 % 2;
		rec.time_ns = (us + 1) * 1000;
		rec.sample = (struct pd_sample){ .ip = 0x401000, .period = 10000 };
		assert_int_equal(pd_write_sample(w, &rec), 0);
	}
	assert_int_equal(pd_writer_close(w), 0);
	collect(&s);
	rested = s.events[0].rested;
	sums_fini(&s);
	unlink(file);
	return rested;
}

static void events_of_the_kernel_never_rest(void **state)
{
	static const char *const cores[] = { "cpu/event=0x3d/", "cpu/event=0x3e/" },
	                         *const kernels[] = { "task-clock", "sched:sched_switch" },
	                         *const kinds[] = { "cpu_core/cache-misses/", "cpu_atom/cache-misses/" };

	(void)state;
	assert_float_equal(rested_of(PERF_TYPE_RAW, cores), 0.5, 0.05);
	assert_float_equal(rested_of(PERF_TYPE_SOFTWARE, kernels), 0, 0);
	/* And what two kinds of cores count is one event, which one of them always counts. */
	assert_float_equal(rested_of(PERF_TYPE_RAW, kinds), 0, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_cycles_sample_tells_its_own_skid, setup, teardown),
		cmocka_unit_test_setup_teardown(without_a_fixed_period_there_is_no_skid_to_read, setup,
		                                teardown),
		cmocka_unit_test_setup_teardown(events_of_the_kernel_never_rest, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
