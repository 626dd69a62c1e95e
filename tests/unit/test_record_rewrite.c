/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Records of the kernel's get the file's ids, and times that say what they seem to. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "profiler/pmu/rewrite.h"

enum { MS = 1000000 };

/* The kernel's ids in these tests: 70 and up for event 0, 80 and up for event 1. */
long tasks_event(const struct tasks *t, uint64_t id)
{
	(void)t;
	return id >= 70 && id < 90 ? (long)(id - 70) / 10 : -1;
}

#define GROUP \
	(PERF_FORMAT_GROUP | PERF_FORMAT_ID | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING)

static void set_header(void *record, uint32_t type, size_t size)
{
	struct perf_event_header h = { .type = type, .size = (uint16_t)size };

	memcpy(record, &h, sizeof(h));
}

static void make_events(struct pe_event e[static 2])
{
	memset(e, 0, 2 * sizeof(*e));
	for (int i = 0; i < 2; i++) {
		e[i].attr.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
		                        PERF_SAMPLE_TIME | PERF_SAMPLE_READ;
		e[i].attr.read_format = GROUP;
	}
}

/* header, id, ip, pid/tid, time, nr, enabled, running, 2 x (value, id) */
struct group_sample {
	struct perf_event_header header;
	uint64_t id, ip;
	uint32_t pid, tid;
	uint64_t time_ns, nr, enabled_ns, running_ns;
	struct {
		uint64_t value, id;
	} v[2];
};

static struct group_sample sample_of(uint32_t tid, uint64_t id, uint64_t enabled_ns, uint64_t running_ns)
{
	return (struct group_sample){ .header = { PERF_RECORD_SAMPLE, 2, sizeof(struct group_sample) },
		                      .id = id,
		                      .ip = 0x401000,
		                      .pid = 5,
		                      .tid = tid,
		                      .time_ns = 12345,
		                      .nr = 2,
		                      .enabled_ns = enabled_ns,
		                      .running_ns = running_ns,
		                      .v = { { 1000, id % 10 + 70 }, { 2000, id % 10 + 80 } } };
}

static const struct group_sample *written(struct rewrite *r, const struct group_sample *s, int cpu,
                                          struct rewrite_result *out)
{
	const struct tasks_source from = { .cpu = cpu, .tid = -1, .inherited = true };

	assert_int_equal(rewrite_record(r, NULL, &s->header, &from, out), 0);
	return (const struct group_sample *)out->rec;
}

static void samples_of_a_task_on_a_cpu_share_ids(void **state)
{
	struct pe_event events[2];
	struct rewrite_result out;
	struct rewrite *r;
	struct group_sample a = sample_of(5, 71, MS, MS), b = sample_of(5, 82, MS, MS);
	const struct group_sample *got;

	(void)state;
	make_events(events);
	assert_int_equal(rewrite_new(events, 2, &r), 0);
	/* Event 0 has ids 1 to 256, event 1 257 to 512. */
	got = written(r, &a, 0, &out);
	assert_int_equal(out.event, 0);
	assert_int_equal(out.time_ns, 12345);
	assert_int_equal(got->id, 1);
	assert_int_equal(got->v[0].id, 1);
	assert_int_equal(got->v[1].id, 257);
	assert_int_equal(got->v[1].value, 2000);
	assert_int_equal(a.id, 71); /* the ring's own is left alone */
	/* The other event on another CPU: the second of each. */
	got = written(r, &b, 1, &out);
	assert_int_equal(out.event, 1);
	assert_int_equal(got->id, 258);
	assert_int_equal(got->v[0].id, 2);
	/* And back: the first ones again. */
	got = written(r, &a, 0, &out);
	assert_int_equal(got->id, 1);
	rewrite_free(r);
}

static void tasks_past_the_last_id_share_it(void **state)
{
	struct pe_event events[2];
	struct rewrite_result out;
	struct rewrite *r;

	(void)state;
	make_events(events);
	assert_int_equal(rewrite_new(events, 2, &r), 0);
	for (uint32_t tid = 1; tid <= 300; tid++) {
		struct group_sample s = sample_of(tid, 70, MS, MS);
		const struct group_sample *got = written(r, &s, 0, &out);

		assert_int_equal(got->id, tid < 256 ? tid : 256);
	}
	rewrite_free(r);
}

/*
 * 300 ms enabled, 100 of them on CPU 0 and 200 on CPU 1: nothing was shared.  Then on
 * CPU 0 alone until 1000 ms are enabled and 300 there counted: 500 of 1000 in all, so
 * these 300 stand for 600.
 */
static void time_on_other_cpus_is_no_sharing(void **state)
{
	struct group_sample a = sample_of(5, 70, 300 * MS, 200 * MS),
	                    b = sample_of(5, 70, 300 * MS, 100 * MS),
	                    c = sample_of(5, 70, 1000 * MS, 300 * MS);
	struct pe_event events[2];
	struct rewrite_result out;
	struct rewrite *r;

	(void)state;
	make_events(events);
	assert_int_equal(rewrite_new(events, 2, &r), 0);
	written(r, &a, 1, &out);
	assert_int_equal(written(r, &b, 0, &out)->enabled_ns, 100 * MS);
	assert_int_equal(written(r, &c, 0, &out)->enabled_ns, 600 * MS);
	assert_int_equal(written(r, &c, 0, &out)->running_ns, 300 * MS);
	rewrite_free(r);
}

static void other_records_end_with_an_id_of_the_file(void **state)
{
	/* LOST: header, id, how many, then pid/tid, time, id */
	uint64_t lost[6] = { 0, 82, 17, 0, 99, 82 }, fork[7] = { 0, 0, 0, 0, 0, 0, 4711 };
	const struct tasks_source from = { .cpu = 0, .tid = -1 };
	struct pe_event events[2];
	struct rewrite_result out;
	struct rewrite *r;

	(void)state;
	make_events(events);
	assert_int_equal(rewrite_new(events, 2, &r), 0);
	set_header(lost, PERF_RECORD_LOST, sizeof(lost));
	assert_int_equal(rewrite_record(r, NULL, (struct perf_event_header *)lost, &from, &out), 0);
	assert_int_equal(out.n_lost, 17);
	assert_int_equal(out.event, -1);
	assert_int_equal(((const uint64_t *)out.rec)[1], 257);
	assert_int_equal(((const uint64_t *)out.rec)[5], 257);
	/* The tracker's speak for the first event. */
	set_header(fork, PERF_RECORD_FORK, sizeof(fork));
	assert_int_equal(rewrite_record(r, NULL, (struct perf_event_header *)fork, &from, &out), 0);
	assert_int_equal(((const uint64_t *)out.rec)[6], 1);
	rewrite_free(r);
}

/* IP, TID, TIME and no id: as it came. */
static void a_lone_event_is_passed_on(void **state)
{
	struct pe_event event = { .attr = { .sample_type =
		                                    PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME } };
	const struct tasks_source from = { .cpu = 0, .tid = -1 };
	uint64_t sample[4] = { 0, 0x401000, 5, 777 };
	struct rewrite_result out;
	struct rewrite *r;
	size_t n;

	(void)state;
	assert_int_equal(rewrite_new(&event, 1, &r), 0);
	assert_int_equal(rewrite_ids(r, 0, &n)[0], 1);
	assert_int_equal(n, 1);
	set_header(sample, PERF_RECORD_SAMPLE, sizeof(sample));
	assert_int_equal(rewrite_record(r, NULL, (struct perf_event_header *)sample, &from, &out), 0);
	assert_ptr_equal(out.rec, sample);
	assert_int_equal(out.event, 0);
	assert_int_equal(out.time_ns, 777);
	rewrite_free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(samples_of_a_task_on_a_cpu_share_ids),
		cmocka_unit_test(tasks_past_the_last_id_share_it),
		cmocka_unit_test(time_on_other_cpus_is_no_sharing),
		cmocka_unit_test(other_records_end_with_an_id_of_the_file),
		cmocka_unit_test(a_lone_event_is_passed_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
