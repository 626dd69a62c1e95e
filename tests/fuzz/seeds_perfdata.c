/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Makes the seeds in tests/fuzz/corpus/perfdata: seeds_perfdata FOLDER.
 * Small files by hand of each kind the reader tells apart, nothing in them
 * from the machine they are made on.
 *
 *	cc -iquote . -D_GNU_SOURCE tests/fuzz/seeds_perfdata.c -lzstd && ./a.out tests/fuzz/corpus/perfdata
 */
#include <zstd.h>

#include "profiler/perfdata/record.h"
#include "tests/unit/perfdata_bytes.h"

static struct bytes b;

#define FIXED                                                                                             \
	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | \
	 PERF_SAMPLE_PERIOD)

static struct attr event(uint64_t id, uint64_t extra_type)
{
	return (struct attr){
		.config = id,
		.period = 1000,
		.sample_type = FIXED | extra_type,
		.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID | PERF_FORMAT_TOTAL_TIME_ENABLED,
		.branch_type = 1,
		.regs_user = 3,
		.sample_id_all = true,
		.disabled = id == 1,
		.ids = { id },
		.n_ids = 1,
	};
}

static void trailer(uint64_t time)
{
	u32(&b, 5);
	u32(&b, 5);
	u64(&b, time);
	u64(&b, 0);
	u64(&b, 1);
}

static void tasks(void)
{
	rec(&b, PERF_RECORD_COMM, 1 << 13);
	u32(&b, 5);
	u32(&b, 5);
	text8(&b, "prog");
	trailer(10);
	rec_end(&b);
	rec(&b, PERF_RECORD_MMAP2, 2);
	u32(&b, 5);
	u32(&b, 5);
	u64(&b, 0x400000);
	u64(&b, 0x2000);
	u64(&b, 0);
	zeros(&b, 24);
	u32(&b, 5);
	u32(&b, 2);
	text8(&b, "/bin/prog");
	trailer(11);
	rec_end(&b);
	rec(&b, PERF_RECORD_FORK, 0);
	u32(&b, 6);
	u32(&b, 5);
	u32(&b, 6);
	u32(&b, 5);
	u64(&b, 30);
	trailer(30);
	rec_end(&b);
	rec(&b, PERF_RECORD_LOST, 0);
	u64(&b, 1);
	u64(&b, 3);
	trailer(31);
	rec_end(&b);
	rec(&b, PERF_RECORD_EXIT, 0);
	u32(&b, 6);
	u32(&b, 5);
	u32(&b, 6);
	u32(&b, 5);
	u64(&b, 40);
	trailer(40);
	rec_end(&b);
}

static void sample(uint64_t id, uint64_t time, uint64_t extra_type)
{
	rec(&b, PERF_RECORD_SAMPLE, 2);
	u64(&b, id);
	u64(&b, 0x400100 + time);
	u32(&b, 5);
	u32(&b, 5);
	u64(&b, time);
	u64(&b, 0);
	u64(&b, 1000);
	if (extra_type & PERF_SAMPLE_READ) {
		u64(&b, 2);
		u64(&b, time);
		u64(&b, 1000);
		u64(&b, 1);
		u64(&b, 2000);
		u64(&b, 2);
	}
	if (extra_type & PERF_SAMPLE_CALLCHAIN) {
		u64(&b, 2);
		u64(&b, (uint64_t)PERF_CONTEXT_USER);
		u64(&b, 0x400200);
	}
	if (extra_type & PERF_SAMPLE_RAW) {
		u32(&b, 4);
		u32(&b, 0);
	}
	if (extra_type & PERF_SAMPLE_BRANCH_STACK) {
		u64(&b, 1);
		u64(&b, 0x400300);
		u64(&b, 0x400400);
		u64(&b, 2);
	}
	if (extra_type & PERF_SAMPLE_REGS_USER) {
		u64(&b, 2);
		zeros(&b, 16);
	}
	if (extra_type & PERF_SAMPLE_STACK_USER) {
		u64(&b, 8);
		zeros(&b, 8);
		u64(&b, 8);
	}
	rec_end(&b);
}

static void round_mark(void)
{
	rec(&b, PD_FINISHED_ROUND, 0);
	rec_end(&b);
}

static void records(uint64_t extra_type)
{
	tasks();
	sample(1, 20, extra_type);
	sample(2, 15, extra_type);
	round_mark();
	sample(1, 35, extra_type);
	round_mark();
	sample(2, 50, extra_type);
}

static void save(const char *folder, const char *name)
{
	char path[4096];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	f = fopen(path, "wb");
	if (!f || fwrite(b.p, 1, b.n, f) != b.n || fclose(f))
		abort();
}

static void file_of(uint64_t extra_type)
{
	struct attr a[2] = { event(1, extra_type), event(2, extra_type) };

	file_begin(&b, a, 2);
	records(extra_type);
	file_end(&b);
	file_hostname(&b, "box");
}

static void pipe_attrs(void)
{
	for (uint64_t id = 1; id <= 2; id++) {
		struct attr a = event(id, 0);

		rec(&b, PD_HEADER_ATTR, 0);
		put_attr(&b, &a);
		u64(&b, id);
		rec_end(&b);
	}
	rec(&b, PD_EVENT_UPDATE, 0);
	u64(&b, 2);
	u64(&b, 1);
	text8(&b, "name");
	rec_end(&b);
	rec(&b, PD_HEADER_FEATURE, 0);
	u64(&b, 17); /* GROUP_DESC */
	u32(&b, 1);
	u32(&b, 8);
	zeros(&b, 8);
	u32(&b, 0);
	u32(&b, 2);
	rec_end(&b);
	rec(&b, PD_BUILD_ID, 1 << 15);
	u32(&b, UINT32_MAX);
	zeros(&b, 20);
	put(&b, 20, 1);
	zeros(&b, 3);
	text8(&b, "/bin/prog");
	rec_end(&b);
}

static void packets(uint64_t ticks)
{
	put(&b, 0xb0, 1);
	put(&b, 0x400100 | 1ull << 63, 8);
	put(&b, 0x64, 1);
	u32(&b, 6);
	put(&b, 0x0242, 2);
	put(&b, 0x71, 1);
	u64(&b, ticks);
}

/* What Arm's SPE wrote: two CPUs, a record that goes on in the next AUXTRACE, one that the kernel lost the end of. */
static void spe(bool new)
{
	rec(&b, PD_TIME_CONV, 0);
	u64(&b, 1);
	u64(&b, 2);
	zeros(&b, 24);
	u64(&b, 1);
	rec_end(&b);
	rec(&b, PD_AUXTRACE_INFO, 0);
	u64(&b, 4);
	u64(&b, new ? 2 : 0); /* our events are of type 0 */
	if (new) {
		u64(&b, 4);
		u64(&b, 0);
		u64(&b, 1);
		u64(&b, 0x1010101010101010);
		u64(&b, 1);
		u64(&b, 2);
		u64(&b, 0x410fd0c0);
	}
	u64(&b, 0);
	rec_end(&b);
	rec(&b, PERF_RECORD_AUX, 0);
	u64(&b, 0);
	u64(&b, 57);
	u64(&b, PERF_AUX_FLAG_TRUNCATED | PERF_AUX_FLAG_PARTIAL);
	trailer(16);
	rec_end(&b);
	for (uint64_t i = 0; i < 4; i++) {
		rec(&b, PD_AUXTRACE, 0);
		u64(&b, i & 1 ? 5 : 45);
		u64(&b, i / 2 * 45);
		u64(&b, 0);
		u32(&b, i & 1);
		u32(&b, UINT32_MAX);
		u64(&b, i & 1);
		rec_end(&b);
		if (i & 1) {
			zeros(&b, 5);
			continue;
		}
		packets(10 + i);
		zeros(&b, 20 - 5 * i);
		for (uint64_t k = 0; i && k < 10; k++)
			put(&b, 0x98, 1);
	}
}

/* The records made since `from` become one COMPRESSED or COMPRESSED2 record. */
static void compress(size_t from, bool second)
{
	uint8_t packed[4096];
	ZSTD_CCtx *c = ZSTD_createCCtx();
	ZSTD_inBuffer in = { b.p + from, b.n - from, 0 };
	ZSTD_outBuffer out = { packed, sizeof(packed), 0 };

	if (!c || ZSTD_compressStream2(c, &out, &in, ZSTD_e_flush))
		abort();
	ZSTD_freeCCtx(c);
	b.n = from;
	rec(&b, second ? PD_COMPRESSED2 : PD_COMPRESSED, 0);
	if (second)
		u64(&b, out.pos);
	memcpy(b.p + b.n, packed, out.pos);
	b.n += out.pos;
	if (second)
		zeros(&b, (8 - b.n % 8) % 8);
	rec_end(&b);
}

int main(int argc, char **argv)
{
	static const uint64_t all = PERF_SAMPLE_READ | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_RAW |
	                            PERF_SAMPLE_BRANCH_STACK | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
	struct attr a = event(1, 0);

	if (argc != 2)
		return 2;
	file_of(0);
	save(argv[1], "file");
	file_of(all);
	save(argv[1], "file-all-fields");
	b.big = true;
	file_of(all);
	save(argv[1], "file-big-endian");
	pipe_begin(&b);
	pipe_attrs();
	records(0);
	save(argv[1], "pipe-big-endian");
	b.big = false;
	pipe_begin(&b);
	pipe_attrs();
	records(0);
	save(argv[1], "pipe");
	for (int second = 0; second < 2; second++) {
		size_t from;

		pipe_begin(&b);
		pipe_attrs();
		from = b.n;
		records(0);
		compress(from, second);
		save(argv[1], second ? "pipe-compressed2" : "pipe-compressed");
	}
	for (int new = 0; new < 2; new ++) {
		struct attr two[2] = { event(1, 0), event(2, 0) };

		file_begin(&b, two, 2);
		spe(new);
		records(0);
		file_end(&b);
		save(argv[1], new ? "file-spe-new" : "file-spe");
	}
	pipe_begin(&b);
	pipe_attrs();
	spe(true);
	records(0);
	save(argv[1], "pipe-spe");
	a.bytes = 144;
	file_begin(&b, &a, 1);
	records(0);
	save(argv[1], "file-killed");
	return 0;
}
