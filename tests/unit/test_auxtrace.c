/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "profiler/perfdata/reader.h"
#include "tests/unit/perfdata_bytes.h"

static struct bytes b;

enum { SPE = 70, DUMMY = 71, PMU = 8, PID = 5, TID = 6 };

#define FIELDS \
	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU)

static void trailer(uint32_t pid, uint32_t tid, uint64_t time, uint32_t cpu)
{
	u32(&b, pid);
	u32(&b, tid);
	u64(&b, time);
	u32(&b, cpu);
	u32(&b, 0);
	u64(&b, DUMMY);
}

static void begin(void)
{
	static const struct attr attrs[] = {
		{ .type = PMU,
		  .period = 1024,
		  .sample_type = FIELDS,
		  .sample_id_all = true,
		  .ids = { SPE },
		  .n_ids = 1 },
		{ .type = 1,
		  .config = 9,
		  .period = 1,
		  .sample_type = FIELDS,
		  .sample_id_all = true,
		  .ids = { DUMMY },
		  .n_ids = 1 },
	};

	file_begin(&b, attrs, 2);
}

/* perf's time is 1000 + ticks * 3 / 2: mult 3, shift 1; tick 10 is 1015, 20 is 1030. */
static void time_conv(void)
{
	rec(&b, 79, 0);
	u64(&b, 1);
	u64(&b, 3);
	u64(&b, 1000);
	u64(&b, 0);
	u64(&b, 0);
	put(&b, 1, 1);
	zeros(&b, 7);
	rec_end(&b);
}

static void info_old(void)
{
	rec(&b, 70, 0);
	u32(&b, 4);
	u32(&b, 0);
	u64(&b, PMU);
	u64(&b, 0);
	rec_end(&b);
}

/* As perf since 6.13 has it, with a word more in both parts. */
static void info_new(uint64_t shared, uint64_t of_cpu_1)
{
	rec(&b, 70, 0);
	u32(&b, 4);
	u32(&b, 0);
	u64(&b, 3);
	u64(&b, 5);
	u64(&b, shared);
	u64(&b, 2);
	u64(&b, 0xbad);
	for (uint64_t cpu = 0; cpu < 2; cpu++) {
		u64(&b, 0x1010101010101010);
		u64(&b, cpu);
		u64(&b, 4);
		u64(&b, 0x410fd0c0);
		u64(&b, cpu ? of_cpu_1 : shared);
		u64(&b, 1024);
		u64(&b, 1);
	}
	rec_end(&b);
}

/* One record of SPE: the timer's ticks, 0 = END; a CONTEXT where it isn't 0. */
static void packets(uint64_t pc, int el, uint64_t events, uint32_t context, uint64_t ticks)
{
	bool big = b.big;

	b.big = false;
	put(&b, 0xb0, 1);
	put(&b, (pc & ((1ull << 56) - 1)) | (uint64_t)el << 61 | 1ull << 63, 8);
	if (context) {
		put(&b, 0x64, 1);
		put(&b, context, 4);
	}
	put(&b, 0x42, 1);
	put(&b, events, 1);
	put(&b, ticks ? 0x71 : 1, 1);
	if (ticks)
		put(&b, ticks, 8);
	b.big = big;
}

static size_t aux_at;

static void auxtrace(uint64_t off, uint32_t tid, uint32_t cpu)
{
	rec(&b, 71, 0);
	u64(&b, 0);
	u64(&b, off);
	u64(&b, 0);
	u32(&b, cpu);
	u32(&b, tid);
	u32(&b, cpu);
	u32(&b, 0);
	rec_end(&b);
	aux_at = b.n;
}

static void auxtrace_end(void)
{
	put_at(&b, aux_at - 40, b.n - aux_at, 8);
}

static void aux(uint64_t off, uint64_t n, uint64_t flags, uint32_t cpu)
{
	rec(&b, PERF_RECORD_AUX, 0);
	u64(&b, off);
	u64(&b, n);
	u64(&b, flags);
	trailer(PID, TID, 1, cpu);
	rec_end(&b);
}

static void comm(uint32_t pid, uint32_t tid, uint64_t time)
{
	rec(&b, PERF_RECORD_COMM, 0);
	u32(&b, pid);
	u32(&b, tid);
	text8(&b, "prog");
	trailer(pid, tid, time, 0);
	rec_end(&b);
}

static void round_mark(void)
{
	rec(&b, 68, 0);
	rec_end(&b);
}

static struct pd_reader *open_it(void)
{
	struct pd_reader *r = NULL;
	char path[32];
	int fd;

	if (data_at(&b) > 16)
		file_end(&b);
	fd = as_file(&b, b.n, path);
	assert_int_equal(pd_open(path, &r), 0);
	close(fd);
	return r;
}

/* The next sample; the records before it are of no matter. */
static struct pd_record sample(struct pd_reader *r)
{
	struct pd_record rec;

	do
		assert_int_equal(pd_next(r, &rec), 1);
	while (rec.type != PERF_RECORD_SAMPLE);
	return rec;
}

static void end(struct pd_reader *r)
{
	struct pd_record rec;
	int rc;

	while ((rc = pd_next(r, &rec)) == 1)
		assert_int_not_equal(rec.type, PERF_RECORD_SAMPLE);
	assert_int_equal(rc, 0);
	pd_close(r);
}

static void simple(bool big, void (*info)(void))
{
	b.big = big;
	begin();
	time_conv();
	info();
	comm(PID, TID, 5);
	auxtrace(0, UINT32_MAX, 3);
	packets(0x401000, 0, 2, TID, 10);
	auxtrace_end();
}

static void a_packet_record_is_a_sample_of_its_event(void **state)
{
	(void)state;
	for (int big = 0; big < 2; big++) {
		struct pd_reader *r;
		struct pd_record rec;

		simple(big, info_old);
		r = open_it();
		assert_true(pd_event(r, 0)->spe);
		assert_false(pd_event(r, 1)->spe);
		assert_string_equal(pd_event(r, 0)->name, "arm_spe//");
		rec = sample(r);
		assert_int_equal(rec.event, 0);
		assert_int_equal(rec.misc, PERF_RECORD_MISC_USER);
		assert_int_equal(rec.sample.ip, 0x401000);
		assert_int_equal(rec.sample.period, 1024);
		assert_int_equal(rec.sample.id, SPE);
		assert_int_equal(rec.pid, PID);
		assert_int_equal(rec.tid, TID);
		assert_int_equal(rec.cpu, 3);
		assert_int_equal(rec.time_ns, 1015);
		assert_int_equal(pd_stats(r)->n_samples, 1);
		end(r);
	}
}

static void info_of_one_kind_of_cores(void)
{
	info_new(PMU, PMU);
}

static void the_newer_layout_of_AUXTRACE_INFO_is_read(void **state)
{
	struct pd_reader *r;

	(void)state;
	simple(false, info_of_one_kind_of_cores);
	r = open_it();
	assert_true(pd_event(r, 0)->spe);
	assert_int_equal(sample(r).event, 0);
	end(r);
}

static void each_kind_of_cores_has_its_event(void **state)
{
	static const struct attr attrs[] = {
		{ .type = PMU,
		  .period = 1024,
		  .sample_type = FIELDS,
		  .sample_id_all = true,
		  .ids = { SPE },
		  .n_ids = 1 },
		{ .type = 9,
		  .period = 2048,
		  .sample_type = FIELDS,
		  .sample_id_all = true,
		  .ids = { DUMMY },
		  .n_ids = 1 },
	};
	struct pd_reader *r;

	(void)state;
	b.big = false;
	file_begin(&b, attrs, 2);
	info_new(PMU, 9);
	for (uint32_t cpu = 0; cpu < 3; cpu++) {
		auxtrace(0, UINT32_MAX, cpu);
		packets(0x401000, 0, 2, TID, 0);
		auxtrace_end();
	}
	r = open_it();
	assert_int_equal(sample(r).event, 0);
	assert_int_equal(sample(r).event, 1);
	/* Of a CPU that is not named, the one that all share. */
	assert_int_equal(sample(r).event, 0);
	end(r);
}

static void samples_wait_for_their_turn_over_many_rounds(void **state)
{
	struct pd_reader *r;
	struct pd_record rec;

	(void)state;
	b.big = false;
	begin();
	time_conv();
	info_old();
	/* Two rounds are over before the processor's memory is read. */
	comm(PID, TID, 1020);
	round_mark();
	comm(PID, TID, 1040);
	round_mark();
	round_mark();
	auxtrace(0, UINT32_MAX, 0);
	packets(0x401000, 0, 2, TID, 10); /* 1015 */
	packets(0x402000, 0, 2, TID, 20); /* 1030 */
	packets(0x403000, 0, 2, TID, 30); /* 1045 */
	auxtrace_end();
	round_mark();
	r = open_it();
	for (int pass = 0; pass < 2; pass++) {
		for (uint64_t time = 1015; time <= 1045; time += 5) {
			if (time == 1025 || time == 1035)
				continue;
			assert_int_equal(pd_next(r, &rec), 1);
			assert_int_equal(rec.time_ns, time);
			assert_int_equal(rec.type, time % 10      ? PERF_RECORD_SAMPLE
			                           : time == 1030 ? PERF_RECORD_SAMPLE
			                                          : PERF_RECORD_COMM);
		}
		assert_int_equal(pd_next(r, &rec), 0);
		assert_int_equal(pd_rewind(r), 0);
	}
	pd_close(r);
}

/* What it would say of records before it was read otherwise: a second pass would see others. */
static void an_AUXTRACE_INFO_behind_other_records_is_dropped(void **state)
{
	struct pd_reader *r;
	struct pd_record rec;

	(void)state;
	b.big = false;
	begin();
	comm(PID, TID, 1);
	aux(0, 100, 0, 0);
	info_old();
	auxtrace(0, UINT32_MAX, 0);
	packets(0x401000, 0, 2, TID, 10);
	auxtrace_end();
	r = open_it();
	for (int pass = 0; pass < 2; pass++) {
		assert_int_equal(pd_next(r, &rec), 1);
		assert_int_equal(pd_next(r, &rec), 1);
		assert_int_equal(rec.type, PERF_RECORD_AUX);
		assert_int_equal(pd_next(r, &rec), 0);
		assert_int_equal(pd_stats(r)->dropped_bytes, 32);
		assert_int_equal(pd_rewind(r), 0);
	}
	assert_false(pd_event(r, 0)->spe);
	pd_close(r);
}

static void what_did_not_retire_is_no_sample(void **state)
{
	struct pd_reader *r;

	(void)state;
	b.big = false;
	begin();
	info_old();
	auxtrace(0, UINT32_MAX, 0);
	packets(0x401000, 0, 0, TID, 10);
	packets(0x402000, 0, 0x14, TID, 10);
	packets(0x403000, 0, 0x16, TID, 10);
	auxtrace_end();
	r = open_it();
	assert_int_equal(sample(r).sample.ip, 0x403000);
	assert_int_equal(pd_stats(r)->spe.n_not_retired, 2);
	end(r);
}

static void kernel_samples_are_told_by_their_level(void **state)
{
	struct pd_reader *r;
	struct pd_record rec;

	(void)state;
	b.big = false;
	begin();
	info_old();
	auxtrace(0, UINT32_MAX, 0);
	packets(0xffff800008001000, 1, 2, TID, 10);
	packets(0xffff800008002000, 2, 2, TID, 20);
	auxtrace_end();
	r = open_it();
	for (uint64_t i = 1; i <= 2; i++) {
		rec = sample(r);
		assert_int_equal(rec.sample.ip, 0xffff800008000000 + 0x1000 * i);
		assert_int_equal(rec.misc, PERF_RECORD_MISC_KERNEL);
	}
	end(r);
}

static void switched(uint32_t type, bool out, uint32_t tid, uint64_t time, uint32_t cpu)
{
	rec(&b, type, out ? 1 << 13 : 0);
	if (type == PERF_RECORD_SWITCH_CPU_WIDE) { /* the other one: who comes, or who went */
		u32(&b, out ? PID : 0);
		u32(&b, out ? tid : 0);
	}
	trailer(type == PERF_RECORD_SWITCH || !out ? PID : 0, type == PERF_RECORD_SWITCH || !out ? tid : 0,
	        time, cpu);
	rec_end(&b);
}

/* Without packets CONTEXT: of thread 6 up to 1020, on CPU 0, of 7 from then on. */
static void by_switches(uint32_t type, bool out)
{
	struct pd_reader *r;
	struct pd_record got;

	b.big = false;
	begin();
	time_conv();
	info_old();
	auxtrace(0, UINT32_MAX, 0);
	packets(0x401000, 0, 2, 0, 10); /* 1015 */
	packets(0x402000, 0, 2, 0, 20); /* 1030 */
	auxtrace_end();
	auxtrace(0, UINT32_MAX, 1);
	packets(0x403000, 0, 2, 0, 30); /* 1045: nothing tells */
	auxtrace_end();
	rec(&b, PERF_RECORD_ITRACE_START, 0);
	u32(&b, PID);
	u32(&b, 6);
	trailer(0, 0, 1010, 0);
	rec_end(&b);
	if (type == PERF_RECORD_SWITCH)
		switched(type, true, 6, 1019, 0);
	switched(type, out, 7, 1020, 0);
	r = open_it();
	got = sample(r);
	assert_int_equal(got.tid, 6);
	assert_int_equal(got.pid, PID);
	got = sample(r);
	assert_int_equal(got.tid, 7);
	assert_int_equal(got.pid, PID);
	assert_int_equal(sample(r).tid, UINT32_MAX);
	assert_int_equal(pd_stats(r)->spe.n_no_thread, 1);
	end(r);
}

static void switches_tell_the_thread(void **state)
{
	(void)state;
	by_switches(PERF_RECORD_SWITCH, false);
	by_switches(PERF_RECORD_SWITCH_CPU_WIDE, false);
	by_switches(PERF_RECORD_SWITCH_CPU_WIDE, true);
}

static void or_it_has_memory_of_its_own(void **state)
{
	struct pd_reader *r;
	struct pd_record rec;

	(void)state;
	b.big = false;
	begin();
	info_old();
	comm(PID, 8, 5);
	auxtrace(0, 8, UINT32_MAX);
	packets(0x401000, 0, 2, 0, 10);
	auxtrace_end();
	r = open_it();
	rec = sample(r);
	assert_int_equal(rec.tid, 8);
	assert_int_equal(rec.pid, PID);
	/* Nothing tells perf's time from the processor's: a sample is as old as what was read before it. */
	assert_int_equal(rec.time_ns, 5);
	end(r);
}

static void a_record_goes_on_in_the_next_AUXTRACE(void **state)
{
	struct pd_reader *r;
	size_t from, n;
	uint8_t whole[32];

	(void)state;
	b.big = false;
	begin();
	time_conv();
	info_old();
	from = b.n;
	packets(0x401000, 0, 2, TID, 10);
	n = b.n - from;
	assert_true(n <= sizeof(whole));
	memcpy(whole, b.p + from, n);
	b.n = from;
	for (size_t at = 0; at < n; at++) {
		auxtrace(at, UINT32_MAX, 0);
		put(&b, whole[at], 1);
		auxtrace_end();
		/* Another CPU's have nothing to do with it. */
		auxtrace(at, UINT32_MAX, 1);
		put(&b, 0, 1);
		auxtrace_end();
	}
	r = open_it();
	assert_int_equal(sample(r).sample.ip, 0x401000);
	assert_int_equal(pd_stats(r)->spe.n_cut + pd_stats(r)->spe.damaged_bytes, 0);
	end(r);
}

/* Where the lost piece ends is in an AUXTRACE, or between two. */
static void where_memory_was_full_a_record_has_no_end(void **state)
{
	(void)state;
	for (int apart = 0; apart < 2; apart++) {
		struct pd_reader *r;

		b.big = false;
		begin();
		time_conv();
		info_old();
		aux(0, 12, PERF_AUX_FLAG_TRUNCATED | PERF_AUX_FLAG_PARTIAL, 0);
		aux(12, 25, PERF_AUX_FLAG_COLLISION, 0);
		auxtrace(0, UINT32_MAX, 0);
		put(&b, 0xb0, 1); /* twelve bytes: a PC, and the beginning of a CONTEXT */
		zeros(&b, 8);
		put(&b, 0x64, 1);
		put(&b, 9, 2);
		if (apart) {
			auxtrace_end();
			auxtrace(12, UINT32_MAX, 0);
		}
		packets(0x402000, 0, 2, TID, 20);
		auxtrace_end();
		r = open_it();
		assert_int_equal(sample(r).sample.ip, 0x402000);
		assert_int_equal(pd_stats(r)->spe.n_cut, 1);
		assert_int_equal(pd_stats(r)->spe.n_full, 1);
		assert_int_equal(pd_stats(r)->spe.n_collided, 1);
		assert_int_equal(pd_stats(r)->spe.damaged_bytes, 0);
		end(r);
	}
}

static void damaged_packets_are_counted(void **state)
{
	struct pd_reader *r;

	(void)state;
	b.big = false;
	begin();
	info_old();
	auxtrace(0, UINT32_MAX, 0);
	packets(0x401000, 0, 2, TID, 10);
	put(&b, 0xff, 1);
	packets(0x402000, 0, 2, TID, 10);
	packets(0x403000, 0, 2, TID, 10);
	auxtrace_end();
	r = open_it();
	assert_int_equal(sample(r).sample.ip, 0x401000);
	assert_int_equal(sample(r).sample.ip, 0x403000);
	assert_int_equal(pd_stats(r)->spe.damaged_bytes, 1);
	end(r);
}

static void bytes_that_are_cut_off_are_dropped(void **state)
{
	struct pd_reader *r;

	(void)state;
	simple(false, info_old);
	put_at(&b, aux_at - 40, 1000, 8);
	r = open_it();
	assert_int_equal(sample(r).sample.ip, 0x401000);
	end(r);
	r = open_it();
	while (pd_next(r, &(struct pd_record){ 0 }) == 1)
		continue;
	assert_true(pd_stats(r)->dropped_bytes > 0);
	pd_close(r);
}

static void a_counter_narrower_than_a_word_is_widened(void **state)
{
	struct pd_reader *r;

	(void)state;
	b.big = false;
	begin();
	rec(&b, 79,
	    0); /* 8 bits wide; when it was read it stood at 0x1f0: 0x10 is 0x210, and perf's time that */
	u64(&b, 0);
	u64(&b, 1);
	u64(&b, 0);
	u64(&b, 0x1f0);
	u64(&b, 0xff);
	put(&b, 1, 1);
	put(&b, 1, 1);
	zeros(&b, 6);
	rec_end(&b);
	info_old();
	auxtrace(0, UINT32_MAX, 0);
	packets(0x401000, 0, 2, TID, 0x10);
	auxtrace_end();
	r = open_it();
	assert_int_equal(sample(r).time_ns, 0x210);
	end(r);
}

static void other_kinds_are_stepped_over(void **state)
{
	struct pd_reader *r;

	(void)state;
	b.big = false;
	begin();
	rec(&b, 70, 0);
	u32(&b, 1); /* Intel's PT */
	u32(&b, 0);
	u64(&b, PMU);
	u64(&b, 0);
	rec_end(&b);
	auxtrace(0, UINT32_MAX, 0);
	packets(0x401000, 0, 2, TID, 10);
	auxtrace_end();
	r = open_it();
	assert_false(pd_event(r, 0)->spe);
	end(r);
}

static void a_pipe_is_read_as_it_comes(void **state)
{
	static const struct attr a = {
		.type = PMU, .period = 1024, .sample_type = FIELDS, .sample_id_all = true
	};
	struct pd_reader *r;

	(void)state;
	b.big = false;
	pipe_begin(&b);
	rec(&b, 64, 0);
	put_attr(&b, &a);
	u64(&b, SPE);
	rec_end(&b);
	info_old();
	auxtrace(0, UINT32_MAX, 0);
	packets(0x401000, 0, 2, TID, 10);
	auxtrace_end();
	{
		char path[32];
		int fd = as_file(&b, b.n, path);

		assert_int_equal(pd_open(path, &r), 0);
		close(fd);
	}
	assert_true(pd_event(r, 0)->spe);
	assert_int_equal(sample(r).sample.ip, 0x401000);
	end(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_packet_record_is_a_sample_of_its_event),
		cmocka_unit_test(the_newer_layout_of_AUXTRACE_INFO_is_read),
		cmocka_unit_test(each_kind_of_cores_has_its_event),
		cmocka_unit_test(samples_wait_for_their_turn_over_many_rounds),
		cmocka_unit_test(an_AUXTRACE_INFO_behind_other_records_is_dropped),
		cmocka_unit_test(what_did_not_retire_is_no_sample),
		cmocka_unit_test(kernel_samples_are_told_by_their_level),
		cmocka_unit_test(switches_tell_the_thread),
		cmocka_unit_test(or_it_has_memory_of_its_own),
		cmocka_unit_test(a_record_goes_on_in_the_next_AUXTRACE),
		cmocka_unit_test(where_memory_was_full_a_record_has_no_end),
		cmocka_unit_test(damaged_packets_are_counted),
		cmocka_unit_test(bytes_that_are_cut_off_are_dropped),
		cmocka_unit_test(a_counter_narrower_than_a_word_is_widened),
		cmocka_unit_test(other_kinds_are_stepped_over),
		cmocka_unit_test(a_pipe_is_read_as_it_comes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
