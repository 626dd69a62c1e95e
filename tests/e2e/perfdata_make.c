/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Writes a recording of the shape our simulated recorder makes, of this very
 * program, for perf and for our reader to look at:
 *
 *	perfdata_make FILE N_SAMPLES [branches] [zstd] [rounds] [killed]
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "profiler/base/err.h"
#include "profiler/perfdata/writer.h"

enum { N_EVENTS = 4, PERIOD = 100003 };

/* What samples point at; it must stay a function of its own for perf to name. */
__attribute__((noinline, used)) static double kernel(double x)
{
	for (int i = 0; i < 100; i++)
		x = x * 1.5 + i;
	return x;
}

struct shape {
	bool branches, rounds, killed;
	uint32_t level;
};

static void make_events(struct pd_writer_event *ev, uint64_t *ids, bool branches)
{
	static const char *const names[N_EVENTS] = { "instructions:u", "cycles:u", "branches:u", "r01c7:u" };
	static const uint64_t configs[N_EVENTS] = { PERF_COUNT_HW_INSTRUCTIONS, PERF_COUNT_HW_CPU_CYCLES,
		                                    PERF_COUNT_HW_BRANCH_INSTRUCTIONS, 0x1c7 };

	for (int i = 0; i < N_EVENTS; i++) {
		struct perf_event_attr *a = &ev[i].attr;

		ids[i] = 100 + (uint64_t)i;
		memset(&ev[i], 0, sizeof(ev[i]));
		a->type = i < 3 ? PERF_TYPE_HARDWARE : PERF_TYPE_RAW;
		a->size = sizeof(*a);
		a->config = configs[i];
		a->sample_period = i < 2 ? PERIOD : 0;
		a->sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
		                 PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_READ;
		a->read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID | PERF_FORMAT_TOTAL_TIME_ENABLED |
		                 PERF_FORMAT_TOTAL_TIME_RUNNING;
		if (branches) {
			a->sample_type |= PERF_SAMPLE_BRANCH_STACK;
			a->branch_sample_type = PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_USER;
		}
		a->disabled = i == 0;
		a->exclude_kernel = a->exclude_hv = 1;
		a->sample_id_all = 1;
		a->mmap = a->comm = a->task = a->mmap2 = a->comm_exec = i == 0;
		ev[i].name = names[i];
		ev[i].ids = &ids[i];
		ev[i].n_ids = 1;
		ev[i].leader = 0;
	}
}

/* The executable mappings of this process, as the kernel would report them. */
static int write_maps(struct pd_writer *w, uint32_t pid)
{
	FILE *f = fopen("/proc/self/maps", "re");
	char line[4400];
	int rc = 0;

	while (f && rc == 0 && fgets(line, sizeof(line), f)) {
		struct pd_mmap m = { .prot = PROT_READ | PROT_EXEC, .flags = MAP_PRIVATE };
		char prot[5], path[4096] = "//anon";
		uint64_t end;

		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64 " %4095s", &m.ip,
		           &end, prot, &m.pgoff_bytes, &m.maj, &m.min, &m.ino, path) < 7)
			continue;
		m.len_bytes = end - m.ip;
		m.path = path;
		if (prot[2] == 'x')
			rc = pd_write_mmap(w, pid, pid, 0, &m);
	}
	if (f)
		fclose(f);
	return rc;
}

static int write_samples(struct pd_writer *w, uint32_t pid, long n, const struct shape *shape)
{
	uint64_t at = (uint64_t)(uintptr_t)&kernel;
	int rc = 0;

	for (long i = 0; i < n && rc == 0; i++) {
		struct pd_branch b[32];
		struct pd_value v[N_EVENTS] = {
			{ .id = 100, .value = (uint64_t)(i + 1) * PERIOD + 17, .event = 0 },
			{ .id = 101, .value = (uint64_t)(i + 1) * PERIOD + 300, .event = 1 },
			{ .id = 102, .value = (uint64_t)i * 20000, .event = 2 },
			{ .id = 103, .value = (uint64_t)i * 500, .event = 3 },
		};
		struct pd_record rec = {
			.type = PERF_RECORD_SAMPLE,
			.event = (int)(i & 1),
			.pid = pid,
			.tid = pid,
			.time_ns = 1000000 + (uint64_t)i * 25000,
			.sample = { .ip = at + (uint64_t)(i % 16),
			            .period = PERIOD,
			            .values = v,
			            .n_values = N_EVENTS,
			            .time_enabled_ns = 1000 + (uint64_t)i * 25000,
			            .time_running_ns = 1000 + (uint64_t)i * 25000 },
		};

		for (int k = 0; k < 32; k++)
			b[k] = (struct pd_branch){ at + 40, at + 8, (uint16_t)k, k % 7 == 0, k % 7 != 0 };
		if (shape->branches) {
			rec.sample.branches = b;
			rec.sample.n_branches = 32;
		}
		rc = pd_write_sample(w, &rec);
		if (rc == 0 && shape->rounds && i % 1000 == 999)
			rc = pd_write_round(w);
	}
	return rc;
}

static int record(const char *path, long n, const struct shape *shape, int argc, char **argv)
{
	struct pd_writer_event events[N_EVENTS];
	uint64_t ids[N_EVENTS];
	struct pd_writer_info info = { .argc = argc, .argv = argv, .events = events, .n_events = N_EVENTS };
	uint32_t pid = (uint32_t)getpid();
	struct pd_writer *w;
	int rc;

	make_events(events, ids, shape->branches);
	info.compress_level = shape->level;
	rc = pd_writer_open(path, &info, &w);
	if (rc < 0)
		return rc;
	rc = pd_write_comm(w, pid, pid, 0, "perfdata_make", false);
	if (rc == 0)
		rc = write_maps(w, pid);
	if (rc == 0)
		rc = write_samples(w, pid, n, shape);
	if (rc == 0 && shape->rounds)
		rc = pd_write_round(w);
	if (rc == 0 && shape->killed) {
		rc = pd_writer_flush(w);
		_exit(rc < 0);
	}
	if (rc < 0) {
		pd_writer_close(w);
		return rc;
	}
	return pd_writer_close(w);
}

int main(int argc, char **argv)
{
	struct shape shape = { false, false, false, 0 };

	if (argc < 3)
		return 2;
	for (int i = 3; i < argc; i++) {
		shape.branches |= !strcmp(argv[i], "branches");
		shape.rounds |= !strcmp(argv[i], "rounds");
		shape.killed |= !strcmp(argv[i], "killed");
		if (!strcmp(argv[i], "zstd"))
			shape.level = 1;
	}
	if (record(argv[1], atol(argv[2]), &shape, argc, argv) < 0) {
		fprintf(stderr, "%s\n", sp_error_text());
		return 1;
	}
	return kernel(1) < 0;
}
