/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "profiler/base/err.h"
#include "profiler/perfdata/reader.h"
#include "profiler/perfdata/writer.h"

enum { N = 3 };

static char dir[] = "/tmp/perfdata.XXXXXX", file[64], old[64];
static struct pd_writer_event events[N];
static uint64_t ids[N][2];
static char *words[] = { "skidprof", "record", "a b" };

static int setup(void **state)
{
	(void)state;
	strcpy(dir, "/tmp/perfdata.XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(file, sizeof(file), "%s/x.data", dir);
	snprintf(old, sizeof(old), "%s/x.data.old", dir);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	unlink(file);
	unlink(old);
	return rmdir(dir);
}

/* {instructions, cycles, raw}: two sampled, one that only counts. */
static struct pd_writer_info info(uint64_t extra_type)
{
	static const char *const names[N] = { "instructions:u", "cycles:u", "rc4:u" };
	struct pd_writer_info in = { .argc = 3, .argv = words, .events = events, .n_events = N };

	memset(events, 0, sizeof(events));
	for (int i = 0; i < N; i++) {
		struct perf_event_attr *a = &events[i].attr;

		a->size = sizeof(*a);
		a->type = i < 2 ? PERF_TYPE_HARDWARE : PERF_TYPE_RAW;
		a->config = (uint64_t[]){ PERF_COUNT_HW_INSTRUCTIONS, PERF_COUNT_HW_CPU_CYCLES, 0xc4 }[i];
		a->sample_period = i < 2 ? 1009 : 0;
		a->sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
		                 PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_READ |
		                 extra_type;
		a->read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID | PERF_FORMAT_TOTAL_TIME_ENABLED |
		                 PERF_FORMAT_TOTAL_TIME_RUNNING;
		a->branch_sample_type = extra_type & PERF_SAMPLE_BRANCH_STACK ? PERF_SAMPLE_BRANCH_ANY : 0;
		a->sample_id_all = 1;
		ids[i][0] = 10 + (uint64_t)i;
		ids[i][1] = 20 + (uint64_t)i;
		events[i].name = names[i];
		events[i].ids = ids[i];
		events[i].n_ids = 2;
	}
	return in;
}

static struct pd_writer *open_writer(uint64_t extra_type, uint32_t level)
{
	struct pd_writer_info in = info(extra_type);
	struct pd_writer *w = NULL;

	in.compress_level = level;
	in.cpuid = "GenuineIntel,6,85,4";
	in.cpudesc = "A CPU";
	in.arch = "aarch64";
	assert_int_equal(pd_writer_open(file, &in, &w), 0);
	return w;
}

static int write_sample(struct pd_writer *w, uint64_t i)
{
	struct pd_value v[N] = { { .id = 10, .value = i, .event = 0 },
		                 { .id = 11, .value = 2 * i, .event = 1 },
		                 { .id = 12, .value = 3 * i, .event = 2 } };
	struct pd_branch br[2] = { { .from_ip = i, .to_ip = i + 1, .cycles = 9, .predicted = true },
		                   { .from_ip = i + 2, .to_ip = i + 3, .mispredicted = true } };
	uint64_t chain[2] = { (uint64_t)PERF_CONTEXT_USER, i };
	struct pd_record rec = { .event = (int)(i % 2), .pid = 5, .tid = 6, .cpu = 1, .time_ns = 100 + i };

	rec.sample = (struct pd_sample){ .ip = 0x401000 + i,
		                         .period = 1009,
		                         .values = v,
		                         .n_values = N,
		                         .time_enabled_ns = i,
		                         .time_running_ns = i,
		                         .branches = br,
		                         .n_branches = 2,
		                         .callchain = chain,
		                         .n_callchain = 2 };
	return pd_write_sample(w, &rec);
}

static struct pd_reader *open_reader(const char *path)
{
	struct pd_reader *r = NULL;

	assert_int_equal(pd_open(path, &r), 0);
	return r;
}

static void check_header(const struct pd_reader *r)
{
	const struct pd_header *h = pd_header(r);

	assert_int_equal(pd_n_events(r), N);
	for (size_t i = 0; i < N; i++) {
		const struct pd_event *e = pd_event(r, i);

		assert_string_equal(e->name, events[i].name);
		assert_int_equal(e->leader, 0);
		assert_int_equal(e->n_ids, 2);
		assert_int_equal(e->ids[1], 20 + i);
		assert_int_equal(e->attr.config, events[i].attr.config);
		assert_int_equal(e->attr.sample_period, i < 2 ? 1009 : 0);
		assert_int_equal(e->attr.size, 128);
	}
	assert_string_equal(h->cpuid, "GenuineIntel,6,85,4");
	assert_string_equal(h->cpudesc, "A CPU");
	assert_string_equal(h->arch, "aarch64");
	assert_string_equal(h->cmdline, "skidprof record a b");
	assert_true(h->n_cpus_online >= 1);
	assert_non_null(h->hostname);
	assert_non_null(h->os_release);
}

static void check_sample(const struct pd_record *x, uint64_t i, bool branches)
{
	assert_int_equal(x->type, PERF_RECORD_SAMPLE);
	assert_int_equal(x->event, i % 2);
	assert_int_equal(x->sample.id, 10 + i % 2);
	assert_int_equal(x->sample.ip, 0x401000 + i);
	assert_int_equal(x->pid, 5);
	assert_int_equal(x->tid, 6);
	assert_int_equal(x->cpu, 1);
	assert_int_equal(x->time_ns, 100 + i);
	assert_int_equal(x->sample.period, 1009);
	assert_int_equal(x->sample.n_values, N);
	for (uint64_t k = 0; k < N; k++) {
		assert_int_equal(x->sample.values[k].value, (k + 1) * i);
		assert_int_equal(x->sample.values[k].event, k);
	}
	assert_int_equal(x->sample.n_branches, branches ? 2 : 0);
	assert_int_equal(x->sample.n_callchain, branches ? 2 : 0);
	if (!branches)
		return;
	assert_int_equal(x->sample.branches[0].from_ip, i);
	assert_int_equal(x->sample.branches[0].cycles, 9);
	assert_true(x->sample.branches[0].predicted);
	assert_true(x->sample.branches[1].mispredicted);
	assert_int_equal(x->sample.branches[1].to_ip, i + 3);
	assert_int_equal(x->sample.callchain[1], i);
}

/* Read file and expect the samples 0 .. n-1 (at least, if more is set); returns how many there were. */
static uint64_t check_samples(uint64_t n, bool branches, bool unfinished)
{
	struct pd_reader *r = open_reader(file);
	struct pd_record x;
	uint64_t i = 0;

	check_header(r);
	while (pd_next(r, &x) == 1) {
		if (x.type == PERF_RECORD_SAMPLE)
			check_sample(&x, i++, branches);
	}
	assert_true(i >= n);
	assert_int_equal(pd_stats(r)->n_samples, i);
	assert_int_equal(pd_stats(r)->unfinished, unfinished);
	assert_int_equal(pd_stats(r)->n_unknown, 0);
	pd_close(r);
	return i;
}

static void samples_come_back_as_they_were_written(void **state)
{
	static const uint32_t levels[] = { 0, 1, 19 };

	(void)state;
	for (size_t l = 0; l < 3; l++) {
		for (int branches = 0; branches < 2; branches++) {
			struct pd_writer *w =
			        open_writer(branches ? PERF_SAMPLE_BRANCH_STACK | PERF_SAMPLE_CALLCHAIN : 0,
			                    levels[l]);

			for (uint64_t i = 0; i < 20000; i++) {
				assert_int_equal(write_sample(w, i), 0);
				if (i % 1000 == 0)
					assert_int_equal(pd_write_round(w), 0);
			}
			assert_int_equal(pd_writer_close(w), 0);
			assert_int_equal(check_samples(20000, branches, false), 20000);
		}
	}
}

static void stacks_and_registers_come_back(void **state)
{
	const uint64_t regs[2] = { 11, 22 };
	const uint8_t stack[16] = { 1, 2, 3, [15] = 9 };
	struct pd_writer_info in = info(PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER);
	struct pd_writer_event event = in.events[0];
	struct pd_record rec = { .event = 0, .time_ns = 1 }, x;
	struct pd_writer *w = NULL;
	struct pd_reader *r;
	int n = 0;

	(void)state;
	event.attr.sample_regs_user = 0x101;
	event.attr.sample_stack_user = 64;
	in.events = &event;
	in.n_events = 1;
	assert_int_equal(pd_writer_open(file, &in, &w), 0);
	/* None, and both. */
	assert_int_equal(pd_write_sample(w, &rec), 0);
	rec.sample = (struct pd_sample){ .ip = 0x401000,
		                         .regs_user = regs,
		                         .n_regs_user = 2,
		                         .regs_abi = PERF_SAMPLE_REGS_ABI_64,
		                         .stack_user = stack,
		                         .stack_user_bytes = sizeof(stack) };
	assert_int_equal(pd_write_sample(w, &rec), 0);
	assert_int_equal(pd_writer_close(w), 0);
	r = open_reader(file);
	while (pd_next(r, &x) == 1) {
		if (x.type != PERF_RECORD_SAMPLE)
			continue;
		assert_int_equal(x.sample.n_regs_user, n ? 2 : 0);
		assert_int_equal(x.sample.stack_user_bytes, n ? sizeof(stack) : 0);
		if (n) {
			assert_int_equal(x.sample.regs_mask, 0x101);
			assert_int_equal(x.sample.regs_user[1], 22);
			assert_memory_equal(x.sample.stack_user, stack, sizeof(stack));
		}
		n++;
	}
	assert_int_equal(n, 2);
	pd_close(r);
}

static void other_records_come_back_as_they_were_written(void **state)
{
	struct pd_writer *w = open_writer(0, 0);
	struct pd_mmap plain = { .ip = 0x400000,
		                 .len_bytes = 0x1000,
		                 .pgoff_bytes = 0x3000,
		                 .maj = 8,
		                 .min = 2,
		                 .ino = 99,
		                 .ino_generation = 3,
		                 .prot = 5,
		                 .flags = 2,
		                 .path = "/bin/true" };
	struct pd_mmap with_id = plain, data = plain;
	struct { /* as the kernel's ring buffer would give it */
		struct perf_event_header h;
		uint32_t pid, tid;
		char comm[8];
		uint64_t trailer[4]; /* tid, time, cpu, identifier */
	} raw = { { PERF_RECORD_COMM, 0, sizeof(raw) }, 7, 7, "rawcomm", { 7, 9, 0, 10 } };
	struct pd_record x;
	struct pd_reader *r;
	const uint8_t *id;

	(void)state;
	with_id.path = "/opt/with-id";
	with_id.build_id_bytes = 4;
	memcpy(with_id.build_id, "\x01\x02\x03\x04", 4);
	data.path = "/data";
	data.data = true;
	assert_int_equal(pd_write_mmap(w, 5, 6, 1, &plain), 0);
	assert_int_equal(pd_write_mmap(w, 5, 6, 2, &with_id), 0);
	assert_int_equal(pd_write_mmap(w, 5, 6, 3, &data), 0);
	assert_int_equal(pd_write_comm(w, 5, 6, 4, "name", true), 0);
	assert_int_equal(pd_write_task(w, PERF_RECORD_FORK, 50, 51, 5, 6, 5), 0);
	assert_int_equal(pd_write_task(w, PERF_RECORD_EXIT, 50, 51, 5, 6, 6), 0);
	assert_int_equal(pd_write_lost(w, 11, 123, 7), 0);
	assert_int_equal(pd_write_raw(w, &raw.h), 0);
	assert_int_equal(pd_writer_close(w), 0);

	r = open_reader(file);
	check_header(r);
	assert_int_equal(pd_next(r, &x), 1);
	assert_string_equal(x.mmap.path, "/bin/true");
	assert_int_equal(x.mmap.pgoff_bytes, 0x3000);
	assert_int_equal(x.mmap.ino, 99);
	assert_int_equal(x.mmap.prot, 5);
	assert_int_equal(x.time_ns, 1);
	/* Read from the file that is there; Debian's have 20 bytes. */
	assert_int_equal(pd_build_id(r, "/bin/true", &id), 20);
	assert_int_equal(pd_next(r, &x), 1);
	assert_int_equal(x.mmap.build_id_bytes, 4);
	assert_int_equal(pd_build_id(r, "/opt/with-id", &id), 4);
	assert_memory_equal(id, "\x01\x02\x03\x04", 4);
	assert_int_equal(pd_next(r, &x), 1);
	assert_true(x.mmap.data);
	assert_int_equal(pd_next(r, &x), 1);
	assert_true(x.comm.exec);
	assert_string_equal(x.comm.name, "name");
	assert_int_equal(x.tid, 6);
	assert_int_equal(pd_next(r, &x), 1);
	assert_int_equal(x.type, PERF_RECORD_FORK);
	assert_int_equal(x.tid, 51);
	assert_int_equal(x.task.ptid, 6);
	assert_int_equal(pd_next(r, &x), 1);
	assert_int_equal(x.type, PERF_RECORD_EXIT);
	assert_int_equal(pd_next(r, &x), 1);
	assert_int_equal(x.lost.n, 123);
	assert_int_equal(x.lost.id, 11);
	assert_int_equal(pd_next(r, &x), 1);
	assert_string_equal(x.comm.name, "rawcomm");
	assert_int_equal(x.event, 0);
	assert_int_equal(x.time_ns, 9);
	assert_int_equal(pd_next(r, &x), 0);
	pd_close(r);
}

static void a_killed_recorders_file_has_all_that_was_flushed(void **state)
{
	(void)state;
	for (uint32_t level = 0; level < 2; level++) {
		int status;
		pid_t pid = fork();

		if (!pid) {
			struct pd_writer *w = open_writer(0, level);

			for (uint64_t i = 0; i < 30000; i++)
				write_sample(w, i);
			pd_writer_flush(w);
			for (uint64_t i = 30000; i < 30100; i++)
				write_sample(w, i);
			raise(SIGKILL);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFSIGNALED(status));
		assert_int_equal(check_samples(30000, false, true), 30000);
	}
}

/* A limit on file sizes stands for a full disk: the write that crosses it comes back short. */
static void what_a_full_disk_holds_can_be_read(void **state)
{
	static const rlim_t limits[] = { 900, 4000, 100000, 1048576 + 500, 2000001 };

	(void)state;
	signal(SIGXFSZ, SIG_IGN);
	for (uint32_t level = 0; level < 2; level++) {
		for (size_t l = 0; l < sizeof(limits) / sizeof(limits[0]); l++) {
			int status;
			pid_t pid = fork();

			if (!pid) {
				struct rlimit limit = { limits[l], limits[l] };
				struct pd_writer_info in = info(0);
				struct pd_writer *w = NULL;
				int rc, close_rc;

				in.compress_level = level;
				in.cpuid = "GenuineIntel,6,85,4";
				in.cpudesc = "A CPU";
				in.arch = "aarch64";
				setrlimit(RLIMIT_FSIZE, &limit);
				rc = pd_writer_open(file, &in, &w);
				if (rc < 0)
					_exit(rc == -SP_EIO ? 1 : 9);
				for (uint64_t i = 0; i < 200000 && rc == 0; i++)
					rc = write_sample(w, level ? i * 7919 % 200000 * i : i);
				close_rc = pd_writer_close(w);
				_exit(close_rc == -SP_EIO && (rc == 0 || rc == -SP_EIO) ? 0 : 9);
			}
			assert_int_equal(waitpid(pid, &status, 0), pid);
			assert_true(WIFEXITED(status) && WEXITSTATUS(status) != 9);
			if (WEXITSTATUS(status) == 0 && !level)
				/* A sample is 8 + 7 words + 8 of the group: 136 bytes; the head takes under 4000. */
				check_samples(limits[l] < 8000 ? 0 : (limits[l] - 4000) / 136, false, true);
			if (WEXITSTATUS(status) == 0 && level) {
				struct pd_reader *r = open_reader(file);
				struct pd_record x;

				while (pd_next(r, &x) == 1)
					;
				pd_close(r);
			}
		}
	}
	signal(SIGXFSZ, SIG_DFL);
}

static void an_existing_file_is_kept_as_old(void **state)
{
	struct pd_writer *w;
	char text[8] = { 0 };
	FILE *f = fopen(file, "w");

	(void)state;
	fputs("before", f);
	fclose(f);
	w = open_writer(0, 0);
	assert_int_equal(write_sample(w, 0), 0);
	assert_int_equal(pd_writer_close(w), 0);
	f = fopen(old, "r");
	assert_non_null(f);
	assert_int_equal(fread(text, 1, 7, f), 6);
	fclose(f);
	assert_string_equal(text, "before");
	check_samples(1, false, false);
}

static void what_cannot_be_created_or_written_is_refused(void **state)
{
	struct pd_writer_info in = info(0);
	struct pd_record rec = { .event = N };
	struct pd_writer *w = NULL;

	(void)state;
	assert_int_equal(pd_writer_open("/nowhere/at/all", &in, &w), -SP_EIO);
	assert_non_null(strstr(sp_error_text(), "/nowhere/at/all"));
	assert_int_equal(pd_writer_open("/dev/full", &in, &w), -SP_EIO);
	assert_int_equal(pd_writer_open("/tmp", &in, &w), -SP_EIO);
	w = open_writer(PERF_SAMPLE_WEIGHT, 0);
	assert_int_equal(pd_write_sample(w, &rec), -SP_EDOMAIN);
	rec.event = 0;
	assert_int_equal(pd_write_sample(w, &rec), -SP_ENOTSUP);
	assert_int_equal(pd_writer_close(w), 0);
}

static void pipe_mode_is_read_back(void **state)
{
	int saved = dup(STDOUT_FILENO), fd = open(file, O_RDWR | O_CREAT | O_TRUNC, 0600), rc = 0;
	struct pd_writer_info in = info(0);
	struct pd_writer *w = NULL;
	struct pd_reader *r;

	(void)state;
	in.cpuid = "GenuineIntel,6,85,4";
	in.cpudesc = "A CPU";
	in.arch = "aarch64";
	fflush(stdout);
	dup2(fd, STDOUT_FILENO);
	rc = pd_writer_open("-", &in, &w);
	for (uint64_t i = 0; i < 5000 && rc == 0; i++)
		rc = write_sample(w, i);
	if (rc == 0)
		rc = pd_writer_close(w);
	dup2(saved, STDOUT_FILENO);
	close(saved);
	close(fd);
	assert_int_equal(rc, 0);
	r = open_reader(file);
	assert_true(pd_header(r)->pipe);
	pd_close(r);
	assert_int_equal(check_samples(5000, false, false), 5000);
}

static void the_size_counts_what_is_written(void **state)
{
	struct pd_writer *w = open_writer(0, 0);
	uint64_t before = pd_writer_bytes(w);
	struct stat st;

	(void)state;
	assert_int_equal(write_sample(w, 1), 0);
	/* header 8, identifier, ip, tid, time, cpu, period 48, group: 3 + 3 * 2 words 72 */
	assert_int_equal(pd_writer_bytes(w) - before, 8 + 48 + 72);
	assert_int_equal(pd_writer_flush(w), 0);
	assert_int_equal(stat(file, &st), 0);
	assert_int_equal((uint64_t)st.st_size, before + 128);
	assert_int_equal(pd_writer_close(w), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(samples_come_back_as_they_were_written, setup, teardown),
		cmocka_unit_test_setup_teardown(stacks_and_registers_come_back, setup, teardown),
		cmocka_unit_test_setup_teardown(other_records_come_back_as_they_were_written, setup,
		                                teardown),
		cmocka_unit_test_setup_teardown(a_killed_recorders_file_has_all_that_was_flushed, setup,
		                                teardown),
		cmocka_unit_test_setup_teardown(what_a_full_disk_holds_can_be_read, setup, teardown),
		cmocka_unit_test_setup_teardown(an_existing_file_is_kept_as_old, setup, teardown),
		cmocka_unit_test_setup_teardown(what_cannot_be_created_or_written_is_refused, setup,
		                                teardown),
		cmocka_unit_test_setup_teardown(pipe_mode_is_read_back, setup, teardown),
		cmocka_unit_test_setup_teardown(the_size_counts_what_is_written, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
