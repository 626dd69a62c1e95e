/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <sys/resource.h>
#include <zstd.h>

#include <cmocka.h>

#include "profiler/base/err.h"
#include "profiler/perfdata/reader.h"
#include "tests/unit/perfdata_bytes.h"

enum { N_SAMPLES = 40 };

static struct bytes b, plain;
static uint8_t packed[1 << 17];

static const struct attr attr = { .sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TIME, .period = 1 };

static void make_plain(size_t n)
{
	plain.n = 0;
	for (size_t i = 0; i < n; i++) {
		rec(&plain, PERF_RECORD_SAMPLE, 2);
		u64(&plain, 0x1000 + i * i);
		u64(&plain, i + 1);
		rec_end(&plain);
	}
}

/* One zstd stream, flushed and not ended, as perf writes it. Returns its size. */
static size_t pack(const uint8_t *p, size_t n)
{
	ZSTD_CCtx *c = ZSTD_createCCtx();
	ZSTD_inBuffer in = { p, n, 0 };
	ZSTD_outBuffer out = { packed, sizeof(packed), 0 };

	assert_int_equal(ZSTD_compressStream2(c, &out, &in, ZSTD_e_flush), 0);
	ZSTD_freeCCtx(c);
	return out.pos;
}

static void put_packed(const uint8_t *p, size_t n, bool second)
{
	rec(&b, second ? PD_COMPRESSED2 : PD_COMPRESSED, 0);
	if (second)
		u64(&b, n);
	memcpy(b.p + b.n, p, n);
	b.n += n;
	/* The padding is not part of the stream: make it look like data. */
	while (second && b.n % 8)
		b.p[b.n++] = 0xaa;
	rec_end(&b);
}

static struct pd_reader *open_all(void)
{
	struct pd_reader *r = NULL;
	char path[32];
	int fd = as_file(&b, b.n, path);

	assert_int_equal(pd_open(path, &r), 0);
	close(fd);
	return r;
}

static size_t read_samples(struct pd_reader *r)
{
	struct pd_record x;
	size_t n = 0;

	while (pd_next(r, &x) == 1) {
		assert_int_equal(x.sample.ip, 0x1000 + n * n);
		n++;
	}
	return n;
}

static void a_stream_cut_into_records_anywhere_is_one_stream(void **state)
{
	size_t n;

	(void)state;
	make_plain(N_SAMPLES);
	n = pack(plain.p, plain.n);
	assert_true(n > 100);
	for (int second = 0; second < 2; second++) {
		for (size_t cut = 0; cut <= n; cut++) {
			struct pd_reader *r;

			file_begin(&b, &attr, 1);
			put_packed(packed, cut, second);
			/* A mark between them is outside the stream. */
			rec(&b, PD_FINISHED_ROUND, 0);
			rec_end(&b);
			put_packed(packed + cut, n - cut, second);
			file_end(&b);
			file_hostname(&b, "box");
			r = open_all();
			assert_int_equal(read_samples(r), N_SAMPLES);
			assert_int_equal(pd_rewind(r), 0);
			assert_int_equal(read_samples(r), N_SAMPLES);
			assert_int_equal(pd_stats(r)->dropped_bytes, 0);
			pd_close(r);
		}
	}
}

static void a_file_cut_within_the_stream_gives_what_can_be_unpacked(void **state)
{
	size_t n, start, last = 0;

	(void)state;
	make_plain(N_SAMPLES);
	n = pack(plain.p, plain.n);
	for (size_t there = 0; there <= n; there++) {
		struct pd_reader *r;
		size_t got;

		file_begin(&b, &attr, 1);
		start = b.n;
		put_packed(packed, there / 2, false);
		put_packed(packed + there / 2, there - there / 2, false);
		file_end(&b);
		assert_true(b.n > start);
		r = open_all();
		got = read_samples(r);
		assert_true(got >= last && got <= N_SAMPLES);
		last = got;
		pd_close(r);
	}
	assert_int_equal(last, N_SAMPLES);
}

static void a_damaged_stream_ends_there_and_the_rest_is_counted(void **state)
{
	struct pd_reader *r;
	size_t n, at;

	(void)state;
	make_plain(N_SAMPLES);
	n = pack(plain.p, plain.n);
	file_begin(&b, &attr, 1);
	put_packed(packed, n, false);
	at = b.n;
	put_packed((const uint8_t *)"this is no zstd", 15, false);
	put_packed(packed, n, false);
	file_end(&b);
	file_hostname(&b, "box");
	r = open_all();
	assert_int_equal(read_samples(r), N_SAMPLES);
	/* Two records of 8 + 15 and 8 + n bytes. */
	assert_int_equal(pd_stats(r)->dropped_bytes, 8 + 15 + 8 + n);
	assert_true(at > n);
	pd_close(r);
}

/* The same record again and again, never all of it in memory. */
static size_t pack_many(const uint8_t *p, size_t n, size_t times)
{
	ZSTD_CCtx *c = ZSTD_createCCtx();
	ZSTD_outBuffer out = { packed, sizeof(packed), 0 };

	for (size_t i = 0; i < times; i++) {
		ZSTD_inBuffer in = { p, n, 0 };

		while (in.pos < in.size)
			assert_false(ZSTD_isError(ZSTD_compressStream2(c, &out, &in, ZSTD_e_continue)));
	}
	assert_int_equal(ZSTD_compressStream2(c, &out, &(ZSTD_inBuffer){ NULL, 0, 0 }, ZSTD_e_flush), 0);
	ZSTD_freeCCtx(c);
	return out.pos;
}

/* 128 MB of unknown records pack into a few kB; they must pass through a window, not be held. */
static void what_unpacks_to_much_is_read_through_a_window(void **state)
{
	enum { EACH = 65528, TIMES = 2048 };
	static uint8_t one[EACH];
	const struct perf_event_header h = { .type = 63, .size = EACH };
	struct rusage before, after;
	struct pd_reader *r;
	struct pd_record x;
	size_t n;

	(void)state;
	memcpy(one, &h, sizeof(h));
	n = pack_many(one, EACH, TIMES);
	assert_true(n < 60000);
	file_begin(&b, &attr, 1);
	put_packed(packed, n, false);
	file_end(&b);
	getrusage(RUSAGE_SELF, &before);
	r = open_all();
	assert_int_equal(pd_next(r, &x), 0);
	assert_int_equal(pd_stats(r)->n_unknown, TIMES);
	pd_close(r);
	getrusage(RUSAGE_SELF, &after);
	/* In kB: zstd's own window is 2 MB at this level. */
	assert_true(after.ru_maxrss - before.ru_maxrss < 16 << 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stream_cut_into_records_anywhere_is_one_stream),
		cmocka_unit_test(a_file_cut_within_the_stream_gives_what_can_be_unpacked),
		cmocka_unit_test(a_damaged_stream_ends_there_and_the_rest_is_counted),
		cmocka_unit_test(what_unpacks_to_much_is_read_through_a_window),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
