/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "profiler/base/err.h"
#include "profiler/perfdata/reader.h"
#include "tests/unit/perfdata_bytes.h"

static struct bytes b;

/* Open the first n bytes; the descriptor is closed at once, the reader has its own. */
static int open_n(size_t n, struct pd_reader **r)
{
	char path[32];
	int fd = as_file(&b, n, path), rc = pd_open(path, r);

	close(fd);
	return rc;
}

static struct pd_reader *open_all(void)
{
	struct pd_reader *r = NULL;

	assert_int_equal(open_n(b.n, &r), 0);
	return r;
}

static struct pd_record next(struct pd_reader *r)
{
	struct pd_record rec;

	assert_int_equal(pd_next(r, &rec), 1);
	return rec;
}

static void end(struct pd_reader *r)
{
	struct pd_record rec;

	assert_int_equal(pd_next(r, &rec), 0);
	assert_int_equal(pd_next(r, &rec), 0);
	pd_close(r);
}

#define ALL_FIXED                                                                                          \
	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR | \
	 PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD)

/* Every field there is, in the order of perf_event_open(2). */
static const struct attr full_attr = {
	.config = 1,
	.period = 1000,
	.bytes = 128,
	.sample_type = ALL_FIXED | PERF_SAMPLE_READ | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_RAW |
	               PERF_SAMPLE_BRANCH_STACK | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER |
	               PERF_SAMPLE_WEIGHT | PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_TRANSACTION |
	               PERF_SAMPLE_REGS_INTR | PERF_SAMPLE_PHYS_ADDR | PERF_SAMPLE_CGROUP |
	               PERF_SAMPLE_DATA_PAGE_SIZE | PERF_SAMPLE_CODE_PAGE_SIZE | PERF_SAMPLE_AUX,
	.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID | PERF_FORMAT_TOTAL_TIME_ENABLED |
	               PERF_FORMAT_TOTAL_TIME_RUNNING | 1 << 4,
	.branch_type = PERF_SAMPLE_BRANCH_ANY | 1 << 17,
	.regs_user = 7,
	.regs_intr = 1,
	.sample_id_all = true,
	.ids = { 70, 71 },
	.n_ids = 2,
};

static void put_full_sample_head(void)
{
	rec(&b, PERF_RECORD_SAMPLE, 2);
	u64(&b, 70);       /* IDENTIFIER */
	u64(&b, 0x401000); /* IP */
	u32(&b, 11);       /* TID: pid, tid */
	u32(&b, 12);
	u64(&b, 5000); /* TIME */
	u64(&b, 0xadd);
	u64(&b, 70); /* ID */
	u64(&b, 71); /* STREAM_ID */
	u32(&b, 3);  /* CPU, reserved */
	u32(&b, 0);
	u64(&b, 1234); /* PERIOD */
	u64(&b, 2);    /* READ: members, enabled, running, then value, id, lost of each */
	u64(&b, 900);
	u64(&b, 800);
	u64(&b, 1017);
	u64(&b, 70);
	u64(&b, 1);
	u64(&b, 2029);
	u64(&b, 71);
	u64(&b, 2);
	u64(&b, 3); /* CALLCHAIN */
	u64(&b, (uint64_t)PERF_CONTEXT_USER);
	u64(&b, 0x401000);
	u64(&b, 0x402000);
	u32(&b, 12); /* RAW: 12 bytes, so that 4 + 12 is a multiple of 8 */
	zeros(&b, 12);
}

static void put_full_sample_tail(void)
{
	u64(&b, 2);  /* BRANCH_STACK: entries, hw_idx, then from, to, flags */
	u64(&b, 99); /* hw_idx */
	u64(&b, 0x401010);
	u64(&b, 0x401020);
	/* flags: bit 0 mispredicted, bit 1 predicted, 4..19 cycles */
	u64(&b, flag(&b, 0, true) | (b.big ? 77ull << 44 : 77ull << 4));
	u64(&b, 0x401030);
	u64(&b, 0x401040);
	u64(&b, flag(&b, 1, true));
	u64(&b, 2); /* REGS_USER: abi, 3 registers (mask 7) */
	u64(&b, 0xa);
	u64(&b, 0xb);
	u64(&b, 0xc);
	u64(&b, 16); /* STACK_USER: size, bytes, used */
	u32(&b, b.big ? 0x01020304 : 0x04030201);
	zeros(&b, 12);
	u64(&b, 8);
	u64(&b, 1); /* WEIGHT */
	u64(&b, 2); /* DATA_SRC */
	u64(&b, 3); /* TRANSACTION */
	u64(&b, 0); /* REGS_INTR: abi 0 = none */
	u64(&b, 4); /* PHYS_ADDR */
	u64(&b, 5); /* CGROUP */
	u64(&b, 6); /* DATA_PAGE_SIZE */
	u64(&b, 7); /* CODE_PAGE_SIZE */
	u64(&b, 8); /* AUX: size, bytes */
	u64(&b, 0x5555);
	rec_end(&b);
}

static void check_full_sample(const struct pd_record *s)
{
	assert_int_equal(s->type, PERF_RECORD_SAMPLE);
	assert_int_equal(s->misc, 2);
	assert_int_equal(s->event, 0);
	assert_int_equal(s->sample.ip, 0x401000);
	assert_int_equal(s->pid, 11);
	assert_int_equal(s->tid, 12);
	assert_int_equal(s->cpu, 3);
	assert_int_equal(s->time_ns, 5000);
	assert_int_equal(s->sample.addr, 0xadd);
	assert_int_equal(s->sample.id, 70);
	assert_int_equal(s->sample.stream_id, 71);
	assert_int_equal(s->sample.period, 1234);
	assert_int_equal(s->sample.time_enabled_ns, 900);
	assert_int_equal(s->sample.time_running_ns, 800);
	assert_int_equal(s->sample.n_values, 2);
	assert_int_equal(s->sample.values[0].value, 1017);
	assert_int_equal(s->sample.values[0].lost, 1);
	assert_int_equal(s->sample.values[1].value, 2029);
	assert_int_equal(s->sample.values[1].id, 71);
	assert_int_equal(s->sample.values[1].lost, 2);
	assert_int_equal(s->sample.n_callchain, 3);
	assert_true(s->sample.callchain[0] == (uint64_t)PERF_CONTEXT_USER);
	assert_int_equal(s->sample.callchain[2], 0x402000);
	assert_int_equal(s->sample.regs_abi, PERF_SAMPLE_REGS_ABI_64);
	assert_int_equal(s->sample.n_regs_user, 3);
	assert_int_equal(s->sample.regs_mask, 7);
	assert_int_equal(s->sample.regs_user[2], 0xc);
	/* As much as was used, of what there was room for. */
	assert_int_equal(s->sample.stack_user_bytes, 8);
	assert_memory_equal(s->sample.stack_user, "\1\2\3\4\0\0\0\0", 8);
	assert_int_equal(s->sample.n_branches, 2);
	assert_int_equal(s->sample.branches[0].from_ip, 0x401010);
	assert_int_equal(s->sample.branches[0].to_ip, 0x401020);
	assert_int_equal(s->sample.branches[0].cycles, 77);
	assert_true(s->sample.branches[0].mispredicted && !s->sample.branches[0].predicted);
	assert_true(s->sample.branches[1].predicted && !s->sample.branches[1].mispredicted);
}

static void every_field_of_a_sample_is_read_in_either_byte_order(void **state)
{
	(void)state;
	for (int big = 0; big < 2; big++) {
		struct pd_reader *r;
		struct pd_record s;

		b.big = big;
		file_begin(&b, &full_attr, 1);
		put_full_sample_head();
		put_full_sample_tail();
		file_end(&b);
		file_hostname(&b, "box");
		r = open_all();
		assert_int_equal(pd_header(r)->swapped, big);
		assert_string_equal(pd_header(r)->hostname, "box");
		assert_int_equal(pd_event(r, 0)->attr.sample_period, 1000);
		assert_int_equal(pd_event(r, 0)->attr.sample_id_all, 1);
		assert_int_equal(pd_event(r, 0)->n_ids, 2);
		s = next(r);
		check_full_sample(&s);
		assert_int_equal(pd_stats(r)->dropped_bytes, 0);
		assert_false(pd_stats(r)->unfinished);
		end(r);
	}
	b.big = false;
}

/* The fields one by one: a sample that has this one, and behind it one more we know (PERIOD before, or the CPU). */
static void a_field_that_runs_past_its_record_costs_that_sample_only(void **state)
{
	static const uint64_t counted[] = { PERF_SAMPLE_READ, PERF_SAMPLE_CALLCHAIN, PERF_SAMPLE_BRANCH_STACK,
		                            PERF_SAMPLE_STACK_USER, PERF_SAMPLE_AUX };
	static const uint64_t huge[] = { 9, 1ull << 32, 1ull << 61, UINT64_MAX };

	(void)state;
	for (size_t i = 0; i < sizeof(counted) / sizeof(counted[0]); i++) {
		for (size_t k = 0; k < sizeof(huge) / sizeof(huge[0]); k++) {
			struct attr a = { .sample_type = PERF_SAMPLE_IP | counted[i],
				          .read_format = PERF_FORMAT_GROUP };
			struct pd_reader *r;

			file_begin(&b, &a, 1);
			rec(&b, PERF_RECORD_SAMPLE, 0);
			u64(&b, 0x1000);
			u64(&b, huge[k]); /* promises more than the one word that follows */
			u64(&b, 0);
			rec_end(&b);
			rec(&b, PERF_RECORD_SAMPLE, 0);
			u64(&b, 0x2000);
			u64(&b, 0); /* nothing of it */
			rec_end(&b);
			file_end(&b);
			r = open_all();
			assert_int_equal(next(r).sample.ip, 0x2000);
			assert_int_equal(pd_stats(r)->n_samples, 1);
			assert_int_equal(pd_stats(r)->dropped_bytes, 32); /* header 8, three words */
			end(r);
		}
	}
}

static void an_attr_of_any_size_is_taken(void **state)
{
	static const uint32_t sizes[] = { 64, 72, 80, 96, 104, 112, 120, 128, 136, 144, 200 };

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct attr a[2] = { { .bytes = sizes[i],
			               .config = 7,
			               .sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_ID,
			               .branch_type = 3,
			               .ids = { 5 },
			               .n_ids = 1 },
			             { .bytes = sizes[i],
			               .config = 8,
			               .sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_ID,
			               .ids = { 6 },
			               .n_ids = 1 } };
		struct pd_reader *r;
		struct pd_record s;

		file_begin(&b, a, 2);
		rec(&b, PERF_RECORD_SAMPLE, 0);
		u64(&b, 0x1000);
		u64(&b, 6);
		rec_end(&b);
		file_end(&b);
		r = open_all();
		assert_int_equal(pd_n_events(r), 2);
		assert_int_equal(pd_event(r, 0)->attr.config, 7);
		assert_int_equal(pd_event(r, 0)->attr.branch_sample_type, sizes[i] > 72 ? 3 : 0);
		s = next(r);
		assert_int_equal(s.event, 1);
		end(r);
	}
}

struct read_case {
	uint64_t format;
	uint64_t words[12];
	size_t n_words;
	size_t n_values;
	uint64_t value[2], lost[2], enabled, running;
	int event[2];
};

/* Two events with ids 5 and 6; GROUP is bit 3, ID bit 2, RUNNING 1, ENABLED 0, LOST 4. */
static const struct read_case reads[] = {
	{ 0, { 41 }, 1, 1, { 41 }, { 0 }, 0, 0, { 0 } },
	{ 1, { 41, 9 }, 2, 1, { 41 }, { 0 }, 9, 0, { 0 } },
	{ 3, { 41, 9, 8 }, 3, 1, { 41 }, { 0 }, 9, 8, { 0 } },
	{ 7, { 41, 9, 8, 5 }, 4, 1, { 41 }, { 0 }, 9, 8, { 0 } },
	{ 20, { 41, 5, 2 }, 3, 1, { 41 }, { 2 }, 0, 0, { 0 } },
	{ 8, { 2, 41, 42 }, 3, 2, { 41, 42 }, { 0 }, 0, 0, { 0, 1 } },
	{ 12, { 2, 41, 5, 42, 6 }, 5, 2, { 41, 42 }, { 0 }, 0, 0, { 0, 1 } },
	{ 12, { 2, 41, 5, 42, 99 }, 5, 2, { 41, 42 }, { 0 }, 0, 0, { 0, -1 } },
	{ 15, { 2, 9, 8, 41, 5, 42, 6 }, 7, 2, { 41, 42 }, { 0 }, 9, 8, { 0, 1 } },
	{ 31, { 2, 9, 8, 41, 5, 3, 42, 6, 4 }, 9, 2, { 41, 42 }, { 3, 4 }, 9, 8, { 0, 1 } },
	{ 24, { 2, 41, 3, 42, 4 }, 5, 2, { 41, 42 }, { 3, 4 }, 0, 0, { 0, 1 } },
	{ 8, { 0 }, 1, 0, { 0 }, { 0 }, 0, 0, { 0 } },
};

static void check_read(const struct read_case *c, const struct pd_sample *s)
{
	assert_int_equal(s->n_values, c->n_values);
	assert_int_equal(s->time_enabled_ns, c->enabled);
	assert_int_equal(s->time_running_ns, c->running);
	for (size_t k = 0; k < c->n_values; k++) {
		assert_int_equal(s->values[k].value, c->value[k]);
		assert_int_equal(s->values[k].lost, c->lost[k]);
		assert_int_equal(s->values[k].event, c->event[k]);
	}
}

static void every_read_format_is_read_in_samples_and_read_records(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(reads) / sizeof(reads[0]); i++) {
		const struct read_case *c = &reads[i];
		struct attr a[2] = { { .sample_type = PERF_SAMPLE_ID | PERF_SAMPLE_READ,
			               .read_format = c->format,
			               .sample_id_all = true,
			               .disabled = true,
			               .ids = { 5 },
			               .n_ids = 1 } };
		struct pd_reader *r;
		struct pd_record s;

		a[1] = a[0];
		a[1].disabled = false;
		a[1].ids[0] = 6;
		file_begin(&b, a, 2);
		rec(&b, PERF_RECORD_SAMPLE, 0);
		u64(&b, 5);
		for (size_t k = 0; k < c->n_words; k++)
			u64(&b, c->words[k]);
		rec_end(&b);
		rec(&b, PERF_RECORD_READ, 0);
		u32(&b, 21);
		u32(&b, 22);
		for (size_t k = 0; k < c->n_words; k++)
			u64(&b, c->words[k]);
		u64(&b, 5); /* trailer: the id */
		rec_end(&b);
		file_end(&b);
		r = open_all();
		/* Without GROUP_DESC: the second is enabled already, so it follows a leader. */
		assert_int_equal(pd_event(r, 1)->leader, c->format & PERF_FORMAT_GROUP ? 0 : 1);
		s = next(r);
		check_read(c, &s.sample);
		s = next(r);
		assert_int_equal(s.type, PERF_RECORD_READ);
		assert_int_equal(s.tid, 22);
		check_read(c, &s.sample);
		end(r);
	}
}

#define BASIC (PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME)

static const struct attr basic = { .sample_type = BASIC, .period = 10, .sample_id_all = true };

static void put_sample(uint64_t ip, uint64_t time)
{
	rec(&b, PERF_RECORD_SAMPLE, 2);
	u64(&b, ip);
	u32(&b, 1);
	u32(&b, 1);
	u64(&b, time);
	rec_end(&b);
}

static void put_round(void)
{
	rec(&b, PD_FINISHED_ROUND, 0);
	rec_end(&b);
}

static void put_trailer(uint64_t time)
{
	u32(&b, 1);
	u32(&b, 1);
	u64(&b, time);
}

static void put_mmap2(const char *path, uint64_t time, bool build_id)
{
	rec(&b, PERF_RECORD_MMAP2, (uint16_t)(2 | (build_id ? 1 << 14 : 0)));
	u32(&b, 1);
	u32(&b, 1);
	u64(&b, 0x400000);
	u64(&b, 0x1000);
	u64(&b, 0x2000);
	if (build_id) {
		put(&b, 3, 1);
		zeros(&b, 3);
		memcpy(b.p + b.n, "\x0a\x0b\x0c", 3);
		b.n += 3;
		zeros(&b, 17);
	} else {
		u32(&b, 8);
		u32(&b, 1);
		u64(&b, 77);
		u64(&b, 78);
	}
	u32(&b, 5);
	u32(&b, 2);
	text8(&b, path);
	put_trailer(time);
	rec_end(&b);
}

static void other_records_carry_their_fields_and_trailers(void **state)
{
	struct pd_reader *r;
	struct pd_record x;
	const uint8_t *id = NULL;

	(void)state;
	for (int big = 0; big < 2; big++) {
		b.big = big;
		file_begin(&b, &basic, 1);
		put_mmap2("/bin/a", 1, false);
		put_mmap2("/bin/b", 2, true);
		rec(&b, PERF_RECORD_COMM, 1 << 13);
		u32(&b, 31);
		u32(&b, 32);
		text8(&b, "worker");
		put_trailer(3);
		rec_end(&b);
		rec(&b, PERF_RECORD_FORK, 0);
		u32(&b, 41);
		u32(&b, 40);
		u32(&b, 43);
		u32(&b, 42);
		u64(&b, 4);
		put_trailer(4);
		rec_end(&b);
		rec(&b, PERF_RECORD_LOST, 0);
		u64(&b, 9);
		u64(&b, 100);
		put_trailer(5);
		rec_end(&b);
		rec(&b, PERF_RECORD_LOST_SAMPLES, 0);
		u64(&b, 7);
		put_trailer(6);
		rec_end(&b);
		rec(&b, PERF_RECORD_THROTTLE, 0);
		u64(&b, 7);
		u64(&b, 1);
		u64(&b, 1);
		put_trailer(7);
		rec_end(&b);
		file_end(&b);
		file_hostname(&b, "box");
		r = open_all();
		x = next(r);
		assert_int_equal(x.time_ns, 1);
		assert_string_equal(x.mmap.path, "/bin/a");
		assert_int_equal(x.mmap.ip, 0x400000);
		assert_int_equal(x.mmap.len_bytes, 0x1000);
		assert_int_equal(x.mmap.pgoff_bytes, 0x2000);
		assert_int_equal(x.mmap.maj, 8);
		assert_int_equal(x.mmap.ino, 77);
		assert_int_equal(x.mmap.ino_generation, 78);
		assert_int_equal(x.mmap.prot, 5);
		assert_int_equal(x.mmap.build_id_bytes, 0);
		x = next(r);
		assert_int_equal(x.mmap.build_id_bytes, 3);
		assert_int_equal(pd_build_id(r, "/bin/b", &id), 3);
		assert_memory_equal(id, "\x0a\x0b\x0c", 3);
		assert_int_equal(pd_build_id(r, "/bin/a", &id), 0);
		x = next(r);
		assert_true(x.comm.exec);
		assert_string_equal(x.comm.name, "worker");
		assert_int_equal(x.pid, 31); /* its own, not the trailer's */
		assert_int_equal(x.tid, 32);
		x = next(r);
		assert_int_equal(x.pid, 41);
		assert_int_equal(x.tid, 43);
		assert_int_equal(x.task.ppid, 40);
		assert_int_equal(x.task.ptid, 42);
		assert_int_equal(next(r).lost.n, 100);
		assert_int_equal(next(r).lost.n, 7);
		assert_int_equal(next(r).type, PERF_RECORD_THROTTLE);
		assert_int_equal(pd_stats(r)->n_lost, 100);
		assert_int_equal(pd_stats(r)->n_lost_samples, 7);
		assert_int_equal(pd_stats(r)->n_throttle, 1);
		end(r);
	}
	b.big = false;
}

static void put_lost(uint32_t type, uint16_t misc, uint64_t n, uint64_t time)
{
	rec(&b, type, misc);
	if (type == PERF_RECORD_LOST)
		u64(&b, 9);
	u64(&b, n);
	put_trailer(time);
	rec_end(&b);
}

/* Three samples and a map come out of the buffer: three of four records that were lost there are samples. */
static void lost_samples_are_counted_once_and_without_maps(void **state)
{
	static const struct {
		uint64_t told, by_kernel;
		double samples;
	} cases[] = { { 0, 0, 75 }, { 120, 0, 90 }, { 120, 7, 97 } };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct pd_reader *r;

		file_begin(&b, &basic, 1);
		put_mmap2("/bin/before", 0, false); /* perf's own, of what ran already */
		for (uint64_t t = 1; t <= 3; t++)
			put_sample(0x1000, t);
		put_mmap2("/bin/a", 4, false);
		put_lost(PERF_RECORD_LOST, 0, 100, 5);
		put_lost(PERF_RECORD_LOST_SAMPLES, 1 << 15, 1000, 0); /* a filter of perf record's */
		if (cases[i].by_kernel)
			put_lost(PERF_RECORD_LOST_SAMPLES, 0, cases[i].by_kernel, 6);
		if (cases[i].told)
			put_lost(PERF_RECORD_LOST_SAMPLES, 0, cases[i].told, 0);
		file_end(&b);
		r = open_all();
		for (int pass = 0; pass < 2; pass++) {
			struct pd_record x;

			while (pd_next(r, &x) > 0)
				;
			assert_float_equal(pd_lost_samples(r), cases[i].samples, 1e-9);
			assert_int_equal(pd_rewind(r), 0);
		}
		pd_close(r);
	}
}

static void unknown_records_are_stepped_over_by_size(void **state)
{
	struct pd_reader *r;

	(void)state;
	file_begin(&b, &basic, 1);
	put_sample(0x1, 1);
	rec(&b, 63, 0); /* no kernel has it */
	zeros(&b, 40);
	rec_end(&b);
	rec(&b, 999, 0);
	zeros(&b, 13);
	rec_end(&b);
	/* What AUXTRACE announces follows it and is not in its size. */
	rec(&b, PD_AUXTRACE, 0);
	u64(&b, 24);
	zeros(&b, 32);
	rec_end(&b);
	memset(b.p + b.n, 0xff, 24);
	b.n += 24;
	put_sample(0x2, 2);
	file_end(&b);
	r = open_all();
	assert_int_equal(next(r).sample.ip, 1);
	assert_int_equal(next(r).sample.ip, 2);
	assert_int_equal(pd_stats(r)->n_unknown, 2);
	assert_int_equal(pd_stats(r)->n_records, 5);
	assert_int_equal(pd_stats(r)->dropped_bytes, 0);
	end(r);
}

static void check_order(struct pd_reader *r, const uint64_t *ips, size_t n)
{
	for (size_t i = 0; i < n; i++)
		assert_int_equal(next(r).sample.ip, ips[i]);
	end(r);
}

/*
 * perf's rule: a mark lets go what is not newer than the newest at the mark
 * before.  The first two let go of nothing, the third of what is up to 30, so
 * 10 20 30.  The sample of time 25 comes too late for its place and goes out
 * with the next lot.
 */
static void records_come_in_time_order_as_far_as_the_rounds_allow(void **state)
{
	static const uint64_t expected[] = { 10, 20, 30, 25, 40, 50, 60 };
	struct pd_reader *r;

	(void)state;
	file_begin(&b, &basic, 1);
	put_round(); /* of nothing */
	put_sample(30, 30);
	put_sample(10, 10);
	put_round();
	put_sample(40, 40);
	put_sample(20, 20);
	put_round();
	put_sample(25, 25);
	put_sample(60, 60);
	put_sample(50, 50);
	put_round();
	file_end(&b);
	r = open_all();
	check_order(r, expected, 7);
}

static void without_rounds_all_is_in_order_and_equal_times_stay_as_they_came(void **state)
{
	static const uint64_t expected[] = { 7, 1, 2, 3, 4, 5, 6 };
	struct pd_reader *r;

	(void)state;
	file_begin(&b, &basic, 1);
	put_sample(4, 40);
	put_sample(5, 40);
	put_sample(1, 10);
	put_sample(6, 50);
	put_sample(2, 10);
	put_sample(3, 10);
	put_sample(7, 0); /* no time: it was there before all others */
	file_end(&b);
	r = open_all();
	check_order(r, expected, 7);
}

static void a_file_cut_anywhere_is_read_to_its_last_whole_record(void **state)
{
	size_t at, whole = 0, n_samples = 0, ends[4];

	(void)state;
	file_begin(&b, &basic, 1);
	at = b.n;
	for (size_t i = 0; i < 4; i++) {
		put_sample(i, i + 1);
		ends[i] = b.n;
	}
	file_end(&b);
	file_hostname(&b, "box");
	for (size_t n = 0; n <= b.n; n++) {
		struct pd_reader *r = NULL;
		struct pd_record x;
		int rc = open_n(n, &r);

		/* Without header and attr there is nothing to read by. */
		if (n < 104 + 112 + 16) {
			assert_int_equal(rc, -SP_EFORMAT);
			continue;
		}
		assert_int_equal(rc, 0);
		for (whole = 0; whole < 4 && ends[whole] <= n; whole++)
			;
		for (n_samples = 0; pd_next(r, &x) == 1; n_samples++)
			assert_int_equal(x.sample.ip, n_samples);
		assert_int_equal(n_samples, whole);
		/* All the header promised and that can't be read, there or not. */
		assert_int_equal(pd_stats(r)->dropped_bytes, ends[3] - (whole ? ends[whole - 1] : at));
		assert_int_equal(pd_stats(r)->unfinished, n < ends[3] + 16);
		pd_close(r);
	}
}

static void a_killed_recorders_file_is_read_to_its_end(void **state)
{
	struct pd_reader *r;

	(void)state;
	/* perf: size 0, though bits for features are set already. */
	file_begin(&b, &basic, 1);
	put_at(&b, 72, 1 << 3, 8);
	put_sample(1, 1);
	put_sample(2, 2);
	rec(&b, PERF_RECORD_SAMPLE, 0);
	zeros(&b, 5); /* half a record: 8 + 5 bytes, whose size was never put in */
	r = open_all();
	assert_true(pd_stats(r)->unfinished);
	assert_int_equal(next(r).sample.ip, 1);
	assert_int_equal(next(r).sample.ip, 2);
	assert_int_equal(pd_next(r, &(struct pd_record){ 0 }), 0);
	assert_int_equal(pd_stats(r)->dropped_bytes, 13);
	pd_close(r);
	/* Ours: a size that is behind, no features. */
	file_begin(&b, &basic, 1);
	put_sample(1, 1);
	file_end(&b);
	put_sample(2, 2);
	r = open_all();
	assert_true(pd_stats(r)->unfinished);
	assert_int_equal(next(r).sample.ip, 1);
	assert_int_equal(next(r).sample.ip, 2);
	assert_int_equal(pd_stats(r)->dropped_bytes, 0);
	end(r);
}

static void ids_tell_events_apart_and_unknown_ones_are_counted(void **state)
{
	static const uint64_t seen[] = { 5, 6, 99, 0 };
	static const int expected[] = { 0, 1, -1, 0 };
	struct attr a[2] = {
		{ .sample_type = BASIC | PERF_SAMPLE_ID, .sample_id_all = true, .ids = { 5 }, .n_ids = 1 }
	};
	struct pd_reader *r;

	(void)state;
	a[1] = a[0];
	a[1].ids[0] = 6;
	for (int same = 1; same >= 0; same--) {
		/* A second event whose samples end otherwise: no one can tell how to read one of id 99. */
		if (!same)
			a[1].sample_type |= PERF_SAMPLE_CALLCHAIN;
		file_begin(&b, a, 2);
		for (size_t i = 0; i < 4; i++) {
			rec(&b, PERF_RECORD_SAMPLE, 2);
			u64(&b, 0x1000 + i);
			u64(&b, 0);
			u64(&b, 10 + i);
			u64(&b, seen[i]);
			if (!same && seen[i] == 6)
				u64(&b, 0);
			rec_end(&b);
		}
		file_end(&b);
		r = open_all();
		for (size_t i = 0; i < 4; i++) {
			struct pd_record x;

			if (!same && expected[i] < 0)
				continue;
			x = next(r);
			assert_int_equal(x.sample.ip, 0x1000 + i);
			assert_int_equal(x.event, expected[i]);
		}
		assert_int_equal(pd_stats(r)->n_unknown_id, 1);
		end(r);
	}
}

static void put_pipe_attr(const struct attr *a)
{
	rec(&b, PD_HEADER_ATTR, 0);
	put_attr(&b, a);
	for (size_t i = 0; i < a->n_ids; i++)
		u64(&b, a->ids[i]);
	rec_end(&b);
}

static void put_pipe_text_feature(uint64_t feature, const char *text)
{
	rec(&b, PD_HEADER_FEATURE, 0);
	u64(&b, feature);
	u32(&b, 64);
	memset(b.p + b.n, 0, 64);
	memcpy(b.p + b.n, text, strlen(text));
	b.n += 64;
	rec_end(&b);
}

static void make_pipe(void)
{
	struct attr a = basic;

	a.ids[0] = 5;
	a.n_ids = 1;
	pipe_begin(&b);
	put_pipe_attr(&a);
	rec(&b, PD_EVENT_UPDATE, 0);
	u64(&b, 2); /* a name */
	u64(&b, 5);
	text8(&b, "my-event");
	rec_end(&b);
	put_pipe_text_feature(3, "box");
	put_pipe_text_feature(9, "GenuineIntel,6,85,4");
	/* The trace data announced here follows the record. */
	rec(&b, PD_TRACING_DATA, 0);
	u32(&b, 16);
	u32(&b, 0);
	rec_end(&b);
	memset(b.p + b.n, 0xff, 16);
	b.n += 16;
	rec(&b, PD_BUILD_ID, 1 << 15);
	u32(&b, UINT32_MAX);
	memcpy(b.p + b.n, "0123456789abcdef", 16);
	zeros(&b, 0);
	b.n += 16;
	zeros(&b, 4);
	put(&b, 16, 1); /* how many of the 20 bytes count */
	zeros(&b, 3);
	text8(&b, "/bin/a");
	rec_end(&b);
	put_sample(1, 1);
	put_round();
	put_sample(2, 2);
}

static void pipe_mode_gives_its_events_before_the_first_record(void **state)
{
	(void)state;
	for (int big = 0; big < 2; big++) {
		struct pd_reader *r;
		const uint8_t *id = NULL;

		b.big = big;
		make_pipe();
		r = open_all();
		assert_true(pd_header(r)->pipe);
		assert_int_equal(pd_n_events(r), 1);
		assert_string_equal(pd_event(r, 0)->name, "my-event");
		assert_string_equal(pd_header(r)->hostname, "box");
		assert_string_equal(pd_header(r)->cpuid, "GenuineIntel,6,85,4");
		assert_int_equal(pd_build_id(r, "/bin/a", &id), 16);
		assert_memory_equal(id, "0123456789abcdef", 16);
		assert_int_equal(next(r).sample.ip, 1);
		/* A second pass takes no attr twice. */
		assert_int_equal(pd_rewind(r), 0);
		assert_int_equal(next(r).sample.ip, 1);
		assert_int_equal(next(r).sample.ip, 2);
		assert_int_equal(pd_n_events(r), 1);
		assert_int_equal(pd_stats(r)->n_samples, 2);
		assert_int_equal(pd_stats(r)->dropped_bytes, 0);
		end(r);
	}
	b.big = false;
}

static void a_pipe_can_be_read_but_not_twice(void **state)
{
	struct pd_reader *r;
	char path[32];
	int ends[2];

	(void)state;
	make_pipe();
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(write(ends[1], b.p, b.n), (ssize_t)b.n);
	close(ends[1]);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", ends[0]);
	assert_int_equal(pd_open(path, &r), 0);
	close(ends[0]);
	assert_int_equal(next(r).sample.ip, 1);
	assert_int_equal(pd_rewind(r), -SP_ENOTSUP);
	assert_int_equal(next(r).sample.ip, 2);
	end(r);
}

/* Perf before 3.4, and so that of RHEL 6, had another magic for what is else the same. */
static void the_magic_of_old_perf_is_one(void **state)
{
	(void)state;
	for (int big = 0; big < 2; big++) {
		struct pd_reader *r;

		b.big = big;
		file_begin(&b, &basic, 1);
		put_sample(7, 1);
		put_sample(8, 2);
		file_end(&b);
		memcpy(b.p, big ? "ELIFFREP" : "PERFFILE", 8);
		r = open_all();
		assert_int_equal(next(r).sample.ip, 7);
		assert_int_equal(next(r).sample.ip, 8);
		end(r);
	}
	b.big = false;
}

static void refuse(size_t n, const char *word)
{
	struct pd_reader *r = NULL;

	assert_int_equal(open_n(n, &r), -SP_EFORMAT);
	assert_non_null(strstr(sp_error_text(), word));
	assert_null(strchr(sp_error_text(), '\n'));
}

static void what_is_no_recording_is_refused_in_one_line(void **state)
{
	static const struct {
		const char *bytes;
		size_t n;
		const char *word;
	} cases[] = {
		{ "", 0, "empty" },
		{ "x", 1, "not a perf.data file" },
		{ "some text that goes on for a while\n", 35, "not a perf.data file" },
		{ "# callgrind format\nversion: 1\n", 30, "report -i RECORDING --truth FILE" },
		{ "\x1f\x8b\x08\0\0\0\0\0\0\0\0\0\0\0\0\0", 16, "gunzip" },
		{ "\x28\xb5\x2f\xfd\0\0\0\0\0\0\0\0\0\0\0\0", 16, "unzstd" },
	};
	struct pd_reader *r = NULL;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		memcpy(b.p, cases[i].bytes, cases[i].n);
		refuse(cases[i].n, cases[i].word);
	}
	assert_int_equal(pd_open("/", &r), -SP_EFORMAT);
	assert_non_null(strstr(sp_error_text(), "folder"));
	assert_int_equal(pd_open("/nowhere/at/all", &r), -SP_ENOENT);
	/* perf stat record: the STAT feature in a file, a STAT_CONFIG record in a pipe. */
	file_begin(&b, &basic, 1);
	put_sample(1, 1);
	file_end(&b);
	put_at(&b, 72, 1 << 19, 8);
	refuse(b.n, "perf stat record");
	pipe_begin(&b);
	put_pipe_attr(&basic);
	rec(&b, PD_STAT_CONFIG, 0);
	u64(&b, 0);
	rec_end(&b);
	refuse(b.n, "perf stat record");
}

static void a_header_that_lies_about_sizes_costs_no_memory(void **state)
{
	static const size_t fields[] = { 8, 16, 24, 32, 40, 48 };
	static const uint64_t lies[] = { 0, 1, 15, 79, 1ull << 32, 1ull << 62, UINT64_MAX };

	(void)state;
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		for (size_t k = 0; k < sizeof(lies) / sizeof(lies[0]); k++) {
			struct pd_reader *r = NULL;
			struct pd_record x;

			file_begin(&b, &basic, 1);
			put_sample(1, 1);
			file_end(&b);
			file_hostname(&b, "box");
			put_at(&b, fields[i], lies[k], 8);
			if (open_n(b.n, &r) < 0)
				continue;
			while (pd_next(r, &x) == 1)
				;
			pd_close(r);
		}
	}
}

static void names_come_from_the_attr_where_the_file_has_none(void **state)
{
	static const struct {
		struct attr a;
		const char *name;
	} cases[] = {
		{ { .type = PERF_TYPE_HARDWARE, .config = 1, .exclude_kernel = true }, "instructions:u" },
		{ { .type = PERF_TYPE_SOFTWARE, .config = 0 }, "cpu-clock" },
		/* L1D (0), read (0 << 8), miss (1 << 16) */
		{ { .type = PERF_TYPE_HW_CACHE, .config = 0x10000 }, "L1-dcache-load-misses" },
		{ { .type = PERF_TYPE_RAW, .config = 0x1c7 }, "raw 0x1c7" },
		{ { .type = 77, .config = 5 }, "type 77 config 0x5" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct pd_reader *r;

		file_begin(&b, &cases[i].a, 1);
		file_end(&b);
		r = open_all();
		assert_string_equal(pd_event(r, 0)->name, cases[i].name);
		end(r);
	}
}

/* Bits are numbered in longs: 4 bytes on a 32-bit machine, whose bit 3 is in the fourth byte of eight. */
static void features_of_a_32_bit_machine_of_the_other_order_are_found(void **state)
{
	struct pd_reader *r;

	(void)state;
	b.big = true;
	file_begin(&b, &basic, 1);
	put_sample(1, 1);
	file_end(&b);
	file_hostname(&b, "armeb");
	memset(b.p + 72, 0, 32);
	put_at(&b, 72, 1 << 3, 4);
	r = open_all();
	assert_string_equal(pd_header(r)->hostname, "armeb");
	assert_int_equal(next(r).sample.ip, 1);
	end(r);
	b.big = false;
}

/* As perf's feature DIR_FORMAT, number 24, behind the data: the version. */
static void file_folder(uint64_t version)
{
	size_t table = b.n;

	put_at(&b, 72, 1u << 24, 8);
	u64(&b, table + 16);
	u64(&b, 8);
	u64(&b, version);
}

static void write_in(const char *folder, const char *name)
{
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	f = fopen(path, "w");
	assert_non_null(f);
	assert_int_equal(fwrite(b.p, 1, b.n, f), b.n);
	assert_int_equal(fclose(f), 0);
	b.n = 0;
}

/* The file with the header, which has a sample at 25 of its own and a mark that is of no other file. */
static void write_folder(const char *folder, uint64_t version)
{
	file_begin(&b, &basic, 1);
	put_sample(7, 0);
	put_sample(25, 25);
	put_round();
	put_sample(26, 26);
	put_round();
	file_end(&b);
	file_folder(version);
	write_in(folder, "data");
}

static void remove_folder(const char *folder)
{
	char line[64];

	snprintf(line, sizeof(line), "rm -r %s", folder);
	assert_int_equal(system(line), 0);
}

static void files_of_a_folder_are_one_recording(void **state)
{
	static const uint64_t expected[] = { 7, 10, 20, 25, 26, 30, 40, 50 };
	char folder[] = "/tmp/perfdata-XXXXXX", path[64];
	struct pd_reader *r;

	(void)state;
	assert_non_null(mkdtemp(folder));
	write_folder(folder, 1);
	/* Its buffers are read in turn: not all in order by itself. */
	put_sample(20, 20);
	put_sample(10, 10);
	put_sample(50, 50);
	write_in(folder, "data.0");
	put_sample(30, 30);
	put_sample(40, 40);
	write_in(folder, "data.1");
	assert_int_equal(pd_open(folder, &r), 0);
	for (size_t i = 0; i < 8; i++)
		assert_int_equal(next(r).sample.ip, expected[i]);
	assert_int_equal(pd_rewind(r), 0);
	check_order(r, expected, 8);
	snprintf(path, sizeof(path), "%s/data", folder);
	assert_int_equal(pd_open(path, &r), 0);
	check_order(r, expected, 8);
	/* One that ends within a record loses that one. */
	put_sample(30, 30);
	put_sample(40, 40);
	b.n -= 8;
	write_in(folder, "data.1");
	assert_int_equal(pd_open(folder, &r), 0);
	for (size_t i = 0; i < 8; i++)
		if (expected[i] != 40)
			assert_int_equal(next(r).sample.ip, expected[i]);
	assert_true(pd_stats(r)->dropped_bytes > 0);
	end(r);
	remove_folder(folder);
}

/* A record waits for its turn by time: when it turns out to be damaged, another file is at hand. */
static void damage_in_a_folder_is_told_by_file_and_offset(void **state)
{
	char folder[] = "/tmp/perfdata-XXXXXX", path[64];
	struct pd_reader *r;
	struct pd_record x;

	(void)state;
	assert_non_null(mkdtemp(folder));
	write_folder(folder, 1);
	put_sample(20, 20);
	put_sample(50, 50);
	write_in(folder, "data.0");
	put_sample(30, 30);
	rec(&b, PERF_RECORD_MMAP2, 2); /* of whose fields there is none */
	put_trailer(40);
	rec_end(&b);
	write_in(folder, "data.1");
	assert_int_equal(pd_open(folder, &r), 0);
	/* A second reading tells the same. */
	for (int pass = 0; pass < 2; pass++) {
		assert_int_equal(pd_rewind(r), 0);
		while (pd_next(r, &x) == 1)
			;
		snprintf(path, sizeof(path), "%s/data.1", folder);
		assert_int_equal(pd_stats(r)->dropped_bytes, 24);
		assert_int_equal(pd_stats(r)->dropped_off, 32);
		assert_string_equal(pd_stats(r)->dropped_in, path);
		assert_int_equal(pd_stats(r)->n_dropped_in, 1);
	}
	end(r);
	/* Where two are damaged it is the first that was come upon. */
	put_sample(20, 20);
	b.n -= 8;
	write_in(folder, "data.0");
	assert_int_equal(pd_open(folder, &r), 0);
	while (pd_next(r, &x) == 1)
		;
	snprintf(path, sizeof(path), "%s/data.0", folder);
	assert_int_equal(pd_stats(r)->dropped_off, 0);
	assert_string_equal(pd_stats(r)->dropped_in, path);
	assert_int_equal(pd_stats(r)->n_dropped_in, 2);
	end(r);
	remove_folder(folder);
}

static void a_folder_without_its_samples_is_refused(void **state)
{
	static const uint64_t expected[] = { 7, 25, 26 };
	char folder[] = "/tmp/perfdata-XXXXXX";
	struct pd_reader *r;

	(void)state;
	assert_non_null(mkdtemp(folder));
	assert_int_equal(pd_open(folder, &r), -SP_EFORMAT);
	assert_non_null(strstr(sp_error_text(), "without a file \"data\""));
	write_folder(folder, 1);
	assert_int_equal(pd_open(folder, &r), -SP_EFORMAT);
	assert_non_null(strstr(sp_error_text(), "data.0"));
	/* --kcore's has all in one file. */
	write_folder(folder, 0);
	assert_int_equal(pd_open(folder, &r), 0);
	check_order(r, expected, 3);
	remove_folder(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_field_of_a_sample_is_read_in_either_byte_order),
		cmocka_unit_test(a_field_that_runs_past_its_record_costs_that_sample_only),
		cmocka_unit_test(an_attr_of_any_size_is_taken),
		cmocka_unit_test(every_read_format_is_read_in_samples_and_read_records),
		cmocka_unit_test(other_records_carry_their_fields_and_trailers),
		cmocka_unit_test(lost_samples_are_counted_once_and_without_maps),
		cmocka_unit_test(unknown_records_are_stepped_over_by_size),
		cmocka_unit_test(records_come_in_time_order_as_far_as_the_rounds_allow),
		cmocka_unit_test(without_rounds_all_is_in_order_and_equal_times_stay_as_they_came),
		cmocka_unit_test(a_file_cut_anywhere_is_read_to_its_last_whole_record),
		cmocka_unit_test(a_killed_recorders_file_is_read_to_its_end),
		cmocka_unit_test(ids_tell_events_apart_and_unknown_ones_are_counted),
		cmocka_unit_test(pipe_mode_gives_its_events_before_the_first_record),
		cmocka_unit_test(a_pipe_can_be_read_but_not_twice),
		cmocka_unit_test(the_magic_of_old_perf_is_one),
		cmocka_unit_test(what_is_no_recording_is_refused_in_one_line),
		cmocka_unit_test(a_header_that_lies_about_sizes_costs_no_memory),
		cmocka_unit_test(features_of_a_32_bit_machine_of_the_other_order_are_found),
		cmocka_unit_test(names_come_from_the_attr_where_the_file_has_none),
		cmocka_unit_test(files_of_a_folder_are_one_recording),
		cmocka_unit_test(damage_in_a_folder_is_told_by_file_and_offset),
		cmocka_unit_test(a_folder_without_its_samples_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
