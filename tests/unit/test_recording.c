/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Samples as they are shown: what was counted beside cycles, and events that count the same. */
#include "tests/unit/fixture_recording.h"

#include "correct/recording/entry.h"

struct seen {
	int event[16];
	uint64_t period[16];
	uint32_t tid[16];
	size_t n;
};

static void keep(void *arg, const struct recording *r, const struct pd_record *rec, struct place place)
{
	struct seen *seen = arg;

	(void)r;
	(void)place;
	assert_true(seen->n < 16);
	seen->event[seen->n] = rec->event;
	seen->tid[seen->n] = rec->tid;
	seen->period[seen->n++] = rec->sample.period;
}

/* perf record -e '{cycles,instructions}:S' -c 1000: only cycles are sampled. */
static void leader_sampling(struct pd_writer_event *e)
{
	static const uint64_t ids[] = { 10, 11 };

	for (size_t i = 0; i < 2; i++) {
		e[i] = (struct pd_writer_event){ .name = i ? "instructions" : "cycles",
			                         .ids = &ids[i],
			                         .n_ids = 1 };
		e[i].attr = (struct perf_event_attr){
			.type = PERF_TYPE_HARDWARE,
			.config = i ? PERF_COUNT_HW_INSTRUCTIONS : PERF_COUNT_HW_CPU_CYCLES,
			.sample_period = i ? 0 : 1000,
			.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
			               PERF_SAMPLE_TIME | PERF_SAMPLE_PERIOD | PERF_SAMPLE_READ,
			.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID,
			.sample_id_all = 1,
		};
		e[i].attr.size = PERF_ATTR_SIZE_VER7;
	}
}

static uint64_t now_ns;

static void write_sample(struct pd_writer *w, uint32_t tid, uint64_t cyc, uint64_t insn)
{
	const struct pd_value v[] = { { .id = 10, .value = cyc, .event = 0 },
		                      { .id = 11, .value = insn, .event = 1 } };
	struct pd_record rec = { .type = PERF_RECORD_SAMPLE, .pid = 1, .tid = tid, .time_ns = ++now_ns };

	rec.sample = (struct pd_sample){ .ip = 0x1000, .id = 10, .period = 1000, .values = v, .n_values = 2 };
	assert_int_equal(pd_write_sample(w, &rec), 0);
}

/* A file that is written, and the recording that it is read as. */
struct written {
	char path[32];
	struct pd_writer *w;
	struct recording *r;
};

static void begin_written(struct written *f, const struct pd_writer_event events[2])
{
	char *words[] = { (char *)"test" };
	struct pd_writer_info info = { .argc = 1, .argv = words, .events = events, .n_events = 2 };
	int fd;

	*f = (struct written){ .path = "/tmp/test_recording.XXXXXX" };
	fd = mkstemp(f->path);
	close(fd);
	unlink(f->path);
	assert_int_equal(pd_writer_open(f->path, &info, &f->w), 0);
}

static void read_written(struct written *f)
{
	struct correct_opts opts = CORRECT_OPTS_DEFAULT;

	assert_int_equal(pd_writer_close(f->w), 0);
	opts.input = f->path;
	assert_int_equal(recording_open(&opts, &f->r), 0);
}

static void end_written(struct written *f)
{
	recording_close(f->r);
	unlink(f->path);
}

/*
 * Thread 1: 1500 instructions by its first sample, 700 more by its second; an exec then begins anew with 90.
 * Thread 2 counts for itself.  A second pass sees the same.
 */
static void instructions_counted_beside_cycles_are_shown_as_samples(void **state)
{
	static const uint64_t insns[] = { 1500, 400, 700, 90 };
	static const uint32_t tids[] = { 1, 2, 1, 1 };
	struct pd_writer_event events[2];
	struct written f;

	(void)state;
	leader_sampling(events);
	begin_written(&f, events);
	write_sample(f.w, 1, 1000, 1500);
	write_sample(f.w, 2, 1000, 400);
	write_sample(f.w, 1, 2000, 2200);
	write_sample(f.w, 1, 1000, 90);
	read_written(&f);
	assert_true(f.r->insn_counted);
	assert_int_equal(f.r->insn_event, 1);
	for (int pass = 0; pass < 2; pass++) {
		struct seen seen = { .n = 0 };

		assert_true(recording_each(f.r, "test", keep, &seen) >= 0);
		assert_int_equal(seen.n, 8);
		for (size_t i = 0; i < 4; i++) {
			assert_int_equal(seen.event[2 * i], 0);
			assert_int_equal(seen.period[2 * i], 1000);
			assert_int_equal(seen.event[2 * i + 1], 1);
			assert_int_equal(seen.period[2 * i + 1], insns[i]);
			assert_int_equal(seen.tid[2 * i + 1], tids[i]);
		}
	}
	end_written(&f);
}

/*
 * A period is 1000.  Thread 1: one by its first sample, two more by its second and one by its third; an exec begins anew; then
 * samples were lost, for which none stands.  Thread 2 counts for itself.
 */
static void a_late_interrupt_is_a_sample_of_all_that_its_counter_ran_over(void **state)
{
	static const uint64_t counted[] = { 1200, 2100, 3900, 4500, 1300, 4300, 9100, 13100 },
	                      told[] = { 1, 1, 2, 1, 1, 3, 1, 1 };
	static const uint32_t tids[] = { 1, 2, 1, 1, 1, 1, 1, 1 };
	struct pd_writer_event events[2];
	struct written f;

	(void)state;
	leader_sampling(events);
	events[0].attr.enable_on_exec = 1;
	events[1].attr.sample_period = 1000;
	begin_written(&f, events);
	for (size_t i = 0; i < 8; i++) {
		if (i == 6)
			assert_int_equal(pd_write_lost(f.w, 10, 4, ++now_ns), 0);
		write_sample(f.w, tids[i], counted[i], 7);
	}
	read_written(&f);
	assert_false(f.r->insn_counted);
	for (int pass = 0; pass < 2; pass++) {
		struct seen seen = { .n = 0 };

		assert_true(recording_each(f.r, "test", keep, &seen) >= 0);
		assert_int_equal(seen.n, 8);
		for (size_t i = 0; i < 8; i++)
			assert_int_equal(seen.period[i], 1000 * told[i]);
	}
	end_written(&f);
}

/* Two groups of one kind each with instructions and cycles: the second's are the first's. */
static void events_that_count_the_same_are_one(void **state)
{
	static const struct hand_event events[] = {
		{ "instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, 1000, 0, true },
		{ "loads", PERF_TYPE_RAW, 7, 0, 0, true },
		{ "instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, 1000, 2, true },
		{ "stores", PERF_TYPE_RAW, 8, 0, 2, true },
		{ "loads", PERF_TYPE_RAW, 7, 0, 2, true },
	};
	static const int same[] = { 0, 1, 0, 3, 1 };
	struct recording *r = recording_by_hand(events, 5);

	(void)state;
	for (size_t i = 0; i < 5; i++) {
		assert_int_equal(r->events[i].same, same[i]);
		assert_int_equal(r->events[i].group, i >= 2);
		assert_int_equal(r->events[i].several, i != 3);
	}
	assert_false(r->insn_counted);
	recording_close(r);
}

/* An event of the user's code alone, and samples of it at an address of the kernel's. */
static void samples_after_a_system_call_are_where_it_was_made(void **state)
{
	static const struct hand_event events[] = { { "instructions:u", PERF_TYPE_HARDWARE,
		                                      PERF_COUNT_HW_INSTRUCTIONS, 1000, 0, false, true } };
	static const uint64_t kernel = UINT64_C(0xffffffff81001234);
	static const uint64_t chain[] = { (uint64_t)PERF_CONTEXT_KERNEL, kernel, (uint64_t)PERF_CONTEXT_USER,
		                          0x4000, 0x5000 };
	/* Of x86-64, ax and ip. */
	static const uint64_t regs[] = { 60, 0x4010 };
	const struct pd_branch stack[] = { { .from_ip = 0x3000, .to_ip = 0x4020 },
		                           { .from_ip = 0x2000, .to_ip = 0x3000 } };
	/* With the kernel's: the call itself is on record, and the kernel's way. */
	const struct pd_branch whole[] = { { .from_ip = kernel, .to_ip = kernel + 64 },
		                           { .from_ip = 0x4030, .to_ip = kernel } };
	struct recording *r = recording_by_hand(events, 1);
	struct perf_event_attr *attr = (struct perf_event_attr *)&pd_event(r->reader, 0)->attr;
	struct pd_record rec = hand_stack(0, stack, 2);

	(void)state;
	rec.sample.ip = kernel;
	assert_false(entry_is(r, &rec));
	attr->exclude_kernel = 1;
	assert_true(entry_is(r, &rec));
	/* That process's code can't be read. */
	assert_int_equal(entry_user_ip(r, &rec), 0x4020);
	rec.sample.branches = whole;
	assert_int_equal(entry_user_ip(r, &rec), 0x4030);
	rec.sample.regs_user = regs;
	rec.sample.n_regs_user = 2;
	rec.sample.regs_mask = 1 << 0 | 1 << 8;
	assert_int_equal(entry_user_ip(r, &rec), 0x4010);
	rec.sample.callchain = chain;
	rec.sample.n_callchain = 5;
	assert_int_equal(entry_user_ip(r, &rec), 0x4000);
	/* Of the kernel's part alone nothing is learnt. */
	rec.sample.n_callchain = 2;
	rec.sample.regs_user = NULL;
	rec.sample.n_branches = 0;
	assert_int_equal(entry_user_ip(r, &rec), 0);
	rec.sample.ip = 0x4000;
	assert_false(entry_is(r, &rec));
	recording_close(r);
}

static void note_modules(void *arg, const struct recording *r, const struct pd_record *rec,
                         struct place place)
{
	const char **paths = arg;

	assert_true(place.module >= 0);
	assert_int_equal(place.vaddr, rec->sample.ip);
	paths[rec->time_ns - 1] = module_path(r->modules[place.module]);
}

/* A sample has taken its time, though the file has no mapping of where it was, or it was inside a guest, at an address that is mapped here. */
static void samples_that_no_mapping_holds_are_shown(void **state)
{
	static const struct hand_event events[] = { { "cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES,
		                                      1000, 0, false, false } };
	static const uint64_t ips[] = { 0x1000, UINT64_C(1) << 40, 0x1000, 0x1000 };
	static const uint16_t modes[] = { PERF_RECORD_MISC_USER, PERF_RECORD_MISC_USER,
		                          PERF_RECORD_MISC_GUEST_USER, PERF_RECORD_MISC_GUEST_KERNEL };
	struct pd_record samples[4];
	const char *paths[4] = { NULL };
	struct recording *r;

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		samples[i] = hand_stack(0, NULL, 0);
		samples[i].sample.ip = ips[i];
		samples[i].misc = modes[i];
		samples[i].time_ns = i + 1;
	}
	r = recording_with(events, 1, samples, 4);
	for (int pass = 0; pass < 2; pass++) {
		assert_true(recording_each(r, "test", note_modules, paths) >= 0);
		assert_string_equal(paths[0], "/no/such/program");
		assert_string_equal(paths[1], "[unmapped]");
		assert_string_equal(paths[2], "[guest]");
		assert_string_equal(paths[3], "[guest]");
		assert_int_equal(r->n_unmapped, 3);
		assert_int_equal(r->n_modules, 3);
	}
	recording_close(r);
}

/* perf record -F 97 -e '{cycles,instructions}:S': a sample's period is the frequency's guess, which may be a hundred times as much. */
static void with_a_frequency_a_sample_has_what_was_counted(void **state)
{
	static const uint64_t periods[] = { 900, 1400, 600, 800, 3100, 700 };
	struct pd_writer_event events[2];
	struct written f;
	struct seen seen = { .n = 0 };

	(void)state;
	leader_sampling(events);
	events[0].attr.freq = 1;
	begin_written(&f, events);
	write_sample(f.w, 1, 900, 1400);
	write_sample(f.w, 1, 1500, 2200);
	write_sample(f.w, 1, 4600, 2900);
	read_written(&f);
	assert_true(recording_each(f.r, "test", keep, &seen) >= 0);
	assert_int_equal(seen.n, 6);
	for (size_t i = 0; i < 6; i++)
		assert_int_equal(seen.period[i], periods[i]);
	end_written(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(instructions_counted_beside_cycles_are_shown_as_samples),
		cmocka_unit_test(a_late_interrupt_is_a_sample_of_all_that_its_counter_ran_over),
		cmocka_unit_test(with_a_frequency_a_sample_has_what_was_counted),
		cmocka_unit_test(events_that_count_the_same_are_one),
		cmocka_unit_test(samples_after_a_system_call_are_where_it_was_made),
		cmocka_unit_test(samples_that_no_mapping_holds_are_shown),
	};

	return cmocka_run_group_tests_name("recording", tests, NULL, NULL);
}
