/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "profiler/base/err.h"
#include "profiler/base/log.h"
#include "profiler/perfdata/reader.h"
#include "profiler/pmu/sink.h"
#include "profiler/sim/blocks.h"
#include "profiler/sim/counts.h"

enum { PID = 4000, T1 = 4000, T2 = 4001, CHILD = 5000 };

static char path[64];
static const struct sim_counters counters = { .n_programmable = 6, .n_fixed = 2, .branch_records = 32 };

/* instructions and cycles sampled, loads counted. */
struct fixture {
	struct sim_group group;
	struct sink_config config;
	struct sink *sink;
	struct sink_summary sum;
};

static void begin(struct fixture *f, const char *output, bool counting)
{
	static char *argv[] = { (char *)"./app", NULL };

	memset(f, 0, sizeof(*f));
	assert_int_equal(sim_group_parse(&(struct sim_group_wish){ "instructions,cycles,loads" }, &counters,
	                                 "x", &f->group),
	                 0);
	f->config = (struct sink_config){ .output = output,
		                          .group = &f->group,
		                          .branches = true,
		                          .counting = counting,
		                          .cpudesc = "d",
		                          .cpuid = "skidsim,x",
		                          .arch = "x86_64",
		                          .argc = 1,
		                          .argv = argv };
	assert_int_equal(sink_new(&f->config, &f->sink), 0);
}

static struct wire_head head(uint32_t kind, size_t bytes, uint32_t pid, uint32_t tid, uint64_t time_ns)
{
	return (struct wire_head){
		.kind = kind, .bytes = (uint32_t)bytes, .pid = pid, .tid = tid, .time_ns = time_ns
	};
}

/* fd: its exact counts. */
static void tell_hello(struct fixture *f, uint32_t pid, bool by_exec, int fd)
{
	struct wire_hello h = { .head = head(WIRE_HELLO, sizeof(h), pid, pid, 1), .by_exec = by_exec };

	assert_int_equal(sink_message(f->sink, &h, sizeof(h), fd), 0);
}

static void tell(struct fixture *f, uint32_t kind, uint32_t pid, uint32_t tid, uint64_t time_ns)
{
	struct wire_head h = head(kind, sizeof(h), pid, tid, time_ns);

	assert_int_equal(sink_message(f->sink, &h, sizeof(h), -1), 0);
}

static void tell_task(struct fixture *f, uint32_t pid, uint32_t tid, uint32_t ppid, uint32_t ptid,
                      uint64_t time_ns)
{
	struct wire_task t = { .head = head(WIRE_TASK, sizeof(t), pid, tid, time_ns),
		               .ppid = ppid,
		               .ptid = ptid };

	assert_int_equal(sink_message(f->sink, &t, sizeof(t), -1), 0);
}

static void tell_text(struct fixture *f, uint32_t kind, const char *text)
{
	_Alignas(8) char buf[256];
	size_t n = sizeof(struct wire_text) + strlen(text) + 1;
	struct wire_text *t = (struct wire_text *)buf;

	t->head = head(kind, n, PID, T1, 5);
	strcpy(t->text, text);
	assert_int_equal(sink_message(f->sink, t, n, -1), 0);
}

/* A sample of plugin member `event` with one branch; n values as the plugin has them (loads 7). */
static void tell_sample(struct fixture *f, uint32_t tid, uint64_t time_ns, uint32_t event, uint64_t insn,
                        uint64_t cyc)
{
	struct {
		struct wire_sample s;
		uint64_t v[3];
		struct wire_branch b[1];
	} m = { .v = { insn, cyc, 7 }, .b = { { 0x401100, 0x401200, 1, 70000 } } };

	m.s.head = head(WIRE_SAMPLE, sizeof(m), PID, tid, time_ns);
	m.s.ip = 0x401234;
	m.s.enabled_ns = m.s.running_ns = 90;
	m.s.event = event;
	m.s.n_values = 3;
	m.s.n_branches = 1;
	assert_int_equal(sink_message(f->sink, &m, m.s.head.bytes, -1), 0);
}

static void end(struct fixture *f, struct record_counts *counts)
{
	assert_int_equal(sink_close(f->sink, counts, &f->sum), 0);
	sink_free(f->sink);
}

static int new_path(void **state)
{
	int fd;

	(void)state;
	strcpy(path, "/tmp/test_record_sink.XXXXXX");
	fd = mkstemp(path);
	close(fd);
	unlink(path);
	return fd < 0;
}

static int remove_path(void **state)
{
	char old[80];

	(void)state;
	snprintf(old, sizeof(old), "%s.old", path);
	unlink(old);
	unlink(path);
	return 0;
}

static void a_sample_of_no_member_is_refused(void **state)
{
	_Alignas(8) char buf[256] = { 0 };
	struct wire_sample *s = (struct wire_sample *)buf;
	struct fixture f;

	(void)state;
	begin(&f, NULL, false);
	s->head = head(WIRE_SAMPLE, sizeof(*s) + 3 * sizeof(uint64_t), 1, 1, 1);
	s->n_values = 3;
	s->event = 3; /* the group has 0 to 2 */
	assert_int_equal(sink_message(f.sink, buf, s->head.bytes, -1), -SP_EFORMAT);
	s->n_values = 0; /* a burst, which was not asked for */
	assert_int_equal(sink_message(f.sink, buf, s->head.bytes, -1), -SP_EFORMAT);
	s->n_values = 3;
	s->event = 2;
	assert_int_equal(sink_message(f.sink, buf, s->head.bytes, -1), 0);
	assert_int_equal(sink_close(f.sink, NULL, &f.sum), 0);
	sink_free(f.sink);
}

static void a_sample_arrives_whole(void **state)
{
	struct pd_reader *r = NULL;
	struct pd_record rec;
	struct fixture f;
	int seen = 0;

	(void)state;
	begin(&f, path, false);
	tell_hello(&f, PID, false, -1);
	tell_sample(&f, T1, 150, 1, 60000, 100200);
	tell_sample(&f, T2, 160, 0, 100009, 80000);
	end(&f, NULL);
	assert_int_equal(pd_open(path, &r), 0);
	assert_int_equal(pd_n_events(r), 3);
	assert_string_equal(pd_event(r, 0)->name, "instructions");
	assert_string_equal(pd_event(r, 2)->name, "loads");
	assert_int_equal(pd_event(r, 2)->leader, 0);
	assert_string_equal(pd_header(r)->cpuid, "skidsim,x");
	while (pd_next(r, &rec) > 0) {
		if (rec.type != PERF_RECORD_SAMPLE)
			continue;
		assert_int_equal(rec.event, seen == 0 ? 1 : 0);
		assert_int_equal(rec.tid, seen == 0 ? T1 : T2);
		assert_int_equal(rec.pid, PID);
		assert_int_equal(rec.misc & PERF_RECORD_MISC_CPUMODE_MASK, PERF_RECORD_MISC_USER);
		assert_int_equal(rec.sample.ip, 0x401234);
		assert_int_equal(rec.sample.n_values, 3);
		assert_int_equal(rec.sample.values[0].event, 0);
		assert_int_equal(rec.sample.values[0].value, seen == 0 ? 60000 : 100009);
		assert_int_equal(rec.sample.values[2].value, 7);
		assert_int_equal(rec.sample.time_enabled_ns, 90);
		assert_int_equal(rec.sample.time_running_ns, 90);
		assert_int_equal(rec.sample.n_branches, 1);
		assert_int_equal(rec.sample.branches[0].from_ip, 0x401100);
		assert_true(rec.sample.branches[0].mispredicted);
		assert_int_equal(rec.sample.branches[0].cycles, 65535); /* 70000 has no room */
		seen++;
	}
	assert_int_equal(seen, 2);
	pd_close(r);
}

/* Behind the last member of the group, without values: an event of its own, which counts nothing. */
static void a_burst_is_no_member_of_the_group(void **state)
{
	struct {
		struct wire_sample s;
		struct wire_branch b[2];
		uint64_t chain[2];
	} m = { .b = { { 0x401300, 0x401400, 0, 0 }, { 0x401100, 0x401200, 0, 0 } },
		.chain = { 0x402010, 0x403010 } };
	struct pd_reader *r = NULL;
	struct pd_record rec;
	struct fixture f;
	int seen = 0;

	(void)state;
	begin(&f, NULL, false);
	sink_free(f.sink);
	f.config.output = path;
	f.config.branches = false;
	f.config.bursts = true;
	assert_int_equal(sink_new(&f.config, &f.sink), 0);
	m.s.head = head(WIRE_SAMPLE, sizeof(m), PID, T1, 150);
	m.s.ip = 0x401080;
	m.s.event = 3;
	m.s.n_branches = 2;
	m.s.n_chain = 2;
	assert_int_equal(sink_message(f.sink, &m, m.s.head.bytes, -1), 0);
	end(&f, NULL);
	assert_int_equal(f.sum.n_samples[3], 1);
	assert_int_equal(f.sum.n_burst_branches, 2);
	assert_int_equal(pd_open(path, &r), 0);
	assert_int_equal(pd_n_events(r), 4);
	assert_string_equal(pd_event(r, 3)->name, "bursts");
	assert_int_equal(pd_event(r, 3)->leader, 3);
	assert_int_equal(pd_event(r, 3)->attr.type, PERF_TYPE_SOFTWARE);
	assert_int_equal(pd_event(r, 3)->attr.config, PERF_COUNT_SW_CPU_CLOCK);
	while (pd_next(r, &rec) > 0) {
		if (rec.type != PERF_RECORD_SAMPLE)
			continue;
		assert_int_equal(rec.event, 3);
		assert_int_equal(rec.sample.ip, 0x401080);
		assert_int_equal(rec.sample.n_values, 0);
		assert_int_equal(rec.sample.n_branches, 2);
		assert_int_equal(rec.sample.branches[0].from_ip, 0x401300);
		assert_int_equal(rec.sample.branches[1].to_ip, 0x401200);
		/* Whose addresses, its own, and who called. */
		assert_int_equal(rec.sample.n_callchain, 4);
		assert_int_equal(rec.sample.callchain[1], 0x401080);
		assert_int_equal(rec.sample.callchain[3], 0x403010);
		seen++;
	}
	assert_int_equal(seen, 1);
	pd_close(r);
}

/* Two sets of three: the second one's samples have its own leader, values, ids and time. */
static void a_set_that_takes_turns_is_a_group_of_its_own(void **state)
{
	const struct sim_group_wish wish = { "instructions,cycles,loads,stores", 0, true };
	const struct sim_counters three = { .n_programmable = 3 };
	struct {
		struct wire_sample s;
		uint64_t v[3];
	} m = { .v = { 10050, 9000, 77 } };
	struct pd_reader *r = NULL;
	struct pd_record rec;
	struct fixture f;

	(void)state;
	begin(&f, path, false);
	assert_int_equal(sim_group_parse(&wish, &three, "three", &f.group), 0);
	assert_int_equal(f.group.n_sets, 2);
	tell_hello(&f, PID, false, -1);
	m.s.head = head(WIRE_SAMPLE, sizeof(m), PID, T1, 150);
	m.s.event = 4; /* the second set's cycles */
	m.s.n_values = 3;
	m.s.enabled_ns = 100;
	m.s.running_ns = 30;
	assert_int_equal(sink_message(f.sink, &m, sizeof(m), -1), 0);
	m.s.n_values = 2;
	assert_int_equal(sink_message(f.sink, &m, sizeof(m), -1), -SP_EFORMAT);
	end(&f, NULL);
	assert_int_equal(pd_open(path, &r), 0);
	assert_int_equal(pd_n_events(r), 6);
	assert_int_equal(pd_event(r, 2)->leader, 0);
	assert_int_equal(pd_event(r, 5)->leader, 3);
	assert_string_equal(pd_event(r, 5)->name, "stores");
	while (pd_next(r, &rec) > 0) {
		if (rec.type != PERF_RECORD_SAMPLE)
			continue;
		assert_int_equal(rec.event, 4);
		assert_int_equal(rec.sample.n_values, 3);
		for (int i = 0; i < 3; i++) {
			assert_int_equal(rec.sample.values[i].event, 3 + i);
			assert_int_equal(rec.sample.values[i].value, m.v[i]);
		}
		assert_int_equal(rec.sample.time_enabled_ns, 100);
		assert_int_equal(rec.sample.time_running_ns, 30);
	}
	assert_int_equal(f.sum.n_samples[4], 1);
	pd_close(r);
}

/* A thread that comes later than another has waited: what it runs from then on takes as long as its own clock says. */
static void time_never_goes_back_and_stands_still_for_no_one(void **state)
{
	static const uint64_t when[] = { 200, 200, 230, 300 };
	struct pd_reader *r = NULL;
	struct pd_record rec;
	struct fixture f;
	int n = 0;

	(void)state;
	begin(&f, path, false);
	tell_sample(&f, T1, 200, 0, 100003, 1);
	tell_sample(&f, T2, 180, 0, 100003, 1);
	tell_sample(&f, T2, 210, 0, 200006, 1);
	tell_sample(&f, T1, 300, 0, 200006, 1);
	end(&f, NULL);
	assert_int_equal(pd_open(path, &r), 0);
	while (pd_next(r, &rec) > 0)
		if (rec.type == PERF_RECORD_SAMPLE && n < 4)
			assert_int_equal(rec.time_ns, when[n++]);
	assert_int_equal(n, 4);
	pd_close(r);
}

/* A block of `n` instructions of one byte at `off` of a file, which ran `runs` times while one thread was there. */
static void count_block(struct counts *c, const char *file, uint64_t off, uint16_t n, uint64_t runs)
{
	struct sim_code *code = sim_code_new(0x1000, n);

	assert_non_null(code);
	code->block.id = (uint32_t)c->own.n_blocks;
	for (uint16_t i = 0; i < n; i++)
		code->block.insn[i].ip_off = i;
	counts_add(c, &code->block, file ? counts_file(c, file) : COUNTS_NO_FILE, off);
	c->runs[code->block.id] = runs;
	free(code);
}

static void counts_of_processes_add_up_by_file_and_offset(void **state)
{
	struct record_counts c = { 0 };
	struct counts parent, child;
	struct fixture f;
	int fd;

	(void)state;
	begin(&f, NULL, true);
	assert_int_equal(counts_new(&parent, &fd), 0);
	count_block(&parent, "/bin/a", 0x1010, 1, 5);
	count_block(&parent, "/bin/a", 0x1014, 1, 6);
	count_block(&parent, NULL, 0x99, 1, 3);
	tell_hello(&f, PID, false, fd);
	close(fd);
	tell_task(&f, CHILD, CHILD, PID, PID, 20);
	assert_int_equal(counts_new(&child, &fd), 0);
	count_block(&child, "/bin/b", 0x1010, 2, 1);
	count_block(&child, "/bin/a", 0x1010, 1, 110);
	tell_hello(&f, CHILD, false, fd);
	close(fd);
	tell(&f, WIRE_BYE, CHILD, CHILD, 30);
	end(&f, &c);
	assert_int_equal(c.n, 4);
	assert_string_equal(c.files[c.v[0].file], "/bin/b");
	assert_int_equal(c.v[0].n + c.v[1].n, 2);
	assert_string_equal(c.files[c.v[2].file], "/bin/a");
	assert_int_equal(c.v[2].off, 0x1010);
	assert_int_equal(c.v[2].n, 115);
	assert_int_equal(c.v[3].off, 0x1014);
	assert_int_equal(c.v[3].n, 6);
	assert_int_equal(c.n_unmapped, 3);
	assert_int_equal(f.sum.n_insn, 126);
	assert_int_equal(f.sum.n_processes, 2);
	record_counts_fini(&c);
}

static void what_a_process_counted_before_exec_stays(void **state)
{
	struct record_counts c = { 0 };
	struct counts before, after;
	struct fixture f;
	int fd;

	(void)state;
	begin(&f, NULL, true);
	assert_int_equal(counts_new(&before, &fd), 0);
	count_block(&before, "/bin/sh", 0x10, 1, 7);
	tell_hello(&f, PID, false, fd);
	close(fd);
	assert_int_equal(counts_new(&after, &fd), 0);
	count_block(&after, "/bin/a", 0x10, 1, 11);
	tell_hello(&f, PID, true, fd);
	close(fd);
	tell(&f, WIRE_BYE, PID, PID, 30);
	end(&f, &c);
	assert_int_equal(c.n, 2);
	assert_int_equal(c.v[0].n, 7);
	assert_int_equal(c.v[1].n, 11);
	assert_int_equal(f.sum.n_processes, 1);
	record_counts_fini(&c);
}

static void a_process_that_could_not_be_counted_is_an_error(void **state)
{
	struct record_counts c = { 0 };
	struct fixture f;

	(void)state;
	begin(&f, NULL, true);
	tell_hello(&f, PID, false, -1);
	assert_int_equal(sink_close(f.sink, &c, &f.sum), -SP_ENOTSUP);
	assert_non_null(strstr(sp_error_text(), "could not be counted: 1"));
	record_counts_fini(&c);
	sink_free(f.sink);
}

static void programs_lost_to_exec_are_named_once(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, NULL, false);
	tell_text(&f, WIRE_EXEC, "/bin/ls\nit is late");
	tell_text(&f, WIRE_EXEC, "/bin/l");
	tell_text(&f, WIRE_EXEC, "/bin/ls");
	tell_text(&f, WIRE_EXEC, ""); /* fexecve */
	assert_int_equal(sink_close(f.sink, NULL, &f.sum), 0);
	assert_string_equal(f.sum.lost_execs, "/bin/ls, /bin/l, a file without a name");
	assert_string_equal(f.sum.exec_why, "it is late");
	assert_int_equal(f.sum.n_lost_execs, 4);
	sink_free(f.sink);
}

static void half_a_message_is_refused(void **state)
{
	_Alignas(8) char buf[256] = { 0 };
	struct wire_head *h = (struct wire_head *)buf;
	struct wire_sample *s = (struct wire_sample *)buf;
	struct fixture f;

	(void)state;
	begin(&f, NULL, false);
	assert_int_equal(sink_message(f.sink, buf, 3, -1), -SP_EFORMAT);
	*h = head(WIRE_HELLO, 100, 1, 1, 1);
	assert_int_equal(sink_message(f.sink, buf, sizeof(*h), -1), -SP_EFORMAT);
	*h = head(WIRE_MAP, sizeof(struct wire_map), 1, 1, 1); /* a path without its end */
	assert_int_equal(sink_message(f.sink, buf, h->bytes, -1), -SP_EFORMAT);
	*h = head(99, sizeof(*h), 1, 1, 1);
	assert_int_equal(sink_message(f.sink, buf, sizeof(*h), -1), -SP_EFORMAT);
	*h = head(WIRE_SAMPLE, sizeof(*s), 1, 1, 1);
	s->n_values = 3; /* and not one of them follows */
	assert_int_equal(sink_message(f.sink, buf, h->bytes, -1), -SP_EFORMAT);
	assert_int_equal(sink_close(f.sink, NULL, &f.sum), 0);
	sink_free(f.sink);
}

static void a_place_that_cannot_be_written_is_known_before_the_program_runs(void **state)
{
	struct sink_config c = { .output = "/nonexistent/x.data" };
	struct sink *s = NULL;

	(void)state;
	assert_int_equal(sink_new(&c, &s), -SP_EIO);
	c.output = "/tmp";
	assert_int_equal(sink_new(&c, &s), -SP_EIO);
	assert_null(s);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, new_path, remove_path)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_sample_of_no_member_is_refused),
		TEST(a_sample_arrives_whole),
		TEST(a_burst_is_no_member_of_the_group),
		TEST(a_set_that_takes_turns_is_a_group_of_its_own),
		TEST(time_never_goes_back_and_stands_still_for_no_one),
		TEST(counts_of_processes_add_up_by_file_and_offset),
		TEST(what_a_process_counted_before_exec_stays),
		TEST(a_process_that_could_not_be_counted_is_an_error),
		TEST(programs_lost_to_exec_are_named_once),
		TEST(half_a_message_is_refused),
		TEST(a_place_that_cannot_be_written_is_known_before_the_program_runs),
	};

	return cmocka_run_group_tests_name("record_sink", tests, NULL, NULL);
}
