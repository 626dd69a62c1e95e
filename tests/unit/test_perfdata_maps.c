/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "profiler/base/err.h"
#include "profiler/perfdata/maps.h"

static struct maps *m;

static int setup(void **state)
{
	(void)state;
	return maps_new(&m);
}

static int teardown(void **state)
{
	(void)state;
	maps_free(m);
	return 0;
}

static void map_as(uint32_t pid, uint64_t ip, uint64_t bytes, uint64_t pgoff, const char *path)
{
	struct pd_record rec = {
		.type = PERF_RECORD_MMAP2, .misc = PERF_RECORD_MISC_USER, .pid = pid, .tid = pid
	};

	rec.mmap = (struct pd_mmap){ .ip = ip, .len_bytes = bytes, .pgoff_bytes = pgoff, .path = path };
	assert_int_equal(maps_apply(m, &rec), 0);
}

static void fork_as(uint32_t pid, uint32_t tid, uint32_t ppid, uint16_t misc)
{
	struct pd_record rec = { .type = PERF_RECORD_FORK, .misc = misc, .pid = pid, .tid = tid };

	rec.task.ppid = rec.task.ptid = ppid;
	assert_int_equal(maps_apply(m, &rec), 0);
}

static void exit_as(uint32_t pid, uint32_t tid)
{
	struct pd_record rec = { .type = PERF_RECORD_EXIT, .pid = pid, .tid = tid };

	assert_int_equal(maps_apply(m, &rec), 0);
}

static void comm_as(uint32_t pid, uint32_t tid, const char *name, bool exec)
{
	struct pd_record rec = { .type = PERF_RECORD_COMM, .pid = pid, .tid = tid };

	rec.comm.name = name;
	rec.comm.exec = exec;
	assert_int_equal(maps_apply(m, &rec), 0);
}

static void check_at(uint32_t pid, uint64_t ip, const char *path, uint64_t off)
{
	struct maps_place p;

	assert_true(maps_find(m, pid, ip, &p));
	assert_string_equal(maps_file(m, p.file)->path, path);
	assert_int_equal(p.off, off);
}

static void check_nothing_at(uint32_t pid, uint64_t ip)
{
	struct maps_place p;

	assert_false(maps_find(m, pid, ip, &p));
}

static void an_ip_is_found_in_its_file_at_its_offset(void **state)
{
	(void)state;
	map_as(1, 0x400000, 0x1000, 0x2000, "/bin/a");
	map_as(1, 0x7f0000000000, 0x5000, 0, "/lib/c.so");
	check_at(1, 0x400000, "/bin/a", 0x2000);
	check_at(1, 0x400fff, "/bin/a", 0x2fff);
	check_nothing_at(1, 0x401000);
	check_nothing_at(1, 0x3fffff);
	check_at(1, 0x7f0000000123, "/lib/c.so", 0x123);
	check_nothing_at(2, 0x400000);
}

static void pseudo_files_are_addressed_as_they_are(void **state)
{
	(void)state;
	map_as(1, 0x7ffd0000, 0x2000, 0x7ffd0000, "[vdso]");
	map_as(1, 0x10000, 0x1000, 0, "//anon");
	check_at(1, 0x7ffd0010, "[vdso]", 0x10); /* the vdso is an ELF file mapped from its start */
	check_at(1, 0x10010, "//anon", 0x10010);
	check_at(1, 0xffffffff81000000, "[kernel.kallsyms]", 0xffffffff81000000);
	map_as(UINT32_MAX, 0xffffffffc0000000, 0x4000, 0, "[nf_tables]");
	map_as(UINT32_MAX, 0xffffffff81000000, 0x1000000, 0xffffffff81000000, "[kernel.kallsyms]_text");
	check_at(9, 0xffffffffc0000001, "[nf_tables]", 0xffffffffc0000001);
	check_at(9, 0xffffffff81000100, "[kernel.kallsyms]", 0xffffffff81000100);
	/* A page of the process in the kernel's half is the process's. */
	map_as(1, 0xffffffffff600000, 0x1000, 0, "[vsyscall]");
	check_at(1, 0xffffffffff600400, "[vsyscall]", 0x400);
	/* A 32-bit kernel is in the lower half of ours. */
	map_as(UINT32_MAX, 0xc0000000, 0x1000000, 0xc0000000, "[kernel.kallsyms]_stext");
	check_at(1, 0xc0000040, "[kernel.kallsyms]", 0xc0000040);
}

static void a_new_map_cuts_what_it_covers(void **state)
{
	(void)state;
	map_as(1, 0x10000, 0x10000, 0, "/a");
	map_as(1, 0x14000, 0x4000, 0x100000, "/b"); /* in the middle: /a keeps both ends */
	check_at(1, 0x13fff, "/a", 0x3fff);
	check_at(1, 0x14000, "/b", 0x100000);
	check_at(1, 0x17fff, "/b", 0x103fff);
	check_at(1, 0x18000, "/a", 0x8000);
	map_as(1, 0xf000, 0x6000, 0, "/c"); /* over the start of /a and of /b */
	check_at(1, 0xf000, "/c", 0);
	check_at(1, 0x14fff, "/c", 0x5fff);
	check_at(1, 0x15000, "/b", 0x101000);
	map_as(1, 0xf000, 0x20000, 0, "/d"); /* over all */
	check_at(1, 0x18000, "/d", 0x9000);
	/* Data over code leaves no code there. */
	struct pd_record rec = {
		.type = PERF_RECORD_MMAP, .misc = PERF_RECORD_MISC_USER, .pid = 1, .tid = 1
	};

	rec.mmap = (struct pd_mmap){ .ip = 0x10000, .len_bytes = 0x1000, .path = "/data", .data = true };
	assert_int_equal(maps_apply(m, &rec), 0);
	check_nothing_at(1, 0x10800);
	check_at(1, 0x11000, "/d", 0x2000);
}

static void a_map_at_the_end_of_the_address_space_does_not_wrap(void **state)
{
	(void)state;
	map_as(1, UINT64_MAX - 0xfff, 0x10000, 0, "/top");
	map_as(1, 5, 0, 0, "/nothing");
	check_at(1, UINT64_MAX - 1, "/top", 0xffe);
	check_nothing_at(1, 5);
}

static const char *comm_of(const struct maps *maps, uint32_t pid, uint32_t tid)
{
	static char room[MAPS_COMM_ROOM];

	return maps_comm(maps, pid, tid, room);
}

static void fork_inherits_and_then_both_go_their_own_ways(void **state)
{
	(void)state;
	comm_as(1, 1, "sh", false);
	map_as(1, 0x1000, 0x1000, 0, "/sh");
	fork_as(2, 2, 1, 0);
	assert_string_equal(comm_of(m, 2, 2), "sh");
	check_at(2, 0x1000, "/sh", 0);
	map_as(2, 0x1800, 0x1000, 0, "/child");
	map_as(1, 0x5000, 0x1000, 0, "/parent");
	check_at(1, 0x1900, "/sh", 0x900);
	check_at(2, 0x1900, "/child", 0x100);
	check_nothing_at(2, 0x5000);
	comm_as(2, 2, "ls", true);
	check_nothing_at(2, 0x1000);
	check_at(1, 0x1000, "/sh", 0);
	assert_string_equal(comm_of(m, 2, 2), "ls");
	assert_string_equal(comm_of(m, 1, 1), "sh");
	assert_string_equal(comm_of(m, 1, 7), ":7");
	assert_string_equal(comm_of(m, 0, 0), "swapper");
	/* One that perf found running, made by exec since: nothing to inherit. */
	fork_as(3, 3, 1, 1 << 13);
	check_nothing_at(3, 0x1000);
	/* A thread shares what its process has. */
	fork_as(1, 8, 1, 0);
	check_at(1, 0x1000, "/sh", 0);
	assert_string_equal(comm_of(m, 1, 8), "sh");
}

static void a_thread_that_ended_keeps_its_name_for_late_samples_but_not_for_ever(void **state)
{
	(void)state;
	comm_as(1, 1, "sh", false);
	fork_as(1, 2, 1, 0);
	comm_as(1, 2, "worker", false);
	exit_as(1, 2);
	assert_string_equal(comm_of(m, 1, 2), "worker");
	exit_as(1, 2); /* told twice, it counts once */
	/* The number is used again, by a thread of a name of its own and by one of another process. */
	fork_as(1, 2, 1, 0);
	assert_string_equal(comm_of(m, 1, 2), "sh");
	exit_as(1, 2);
	comm_as(5, 5, "other", false);
	fork_as(5, 2, 5, 0);
	assert_string_equal(comm_of(m, 1, 2), ":2");
	assert_string_equal(comm_of(m, 5, 2), "other");
	exit_as(5, 2);
	for (uint32_t tid = 10; tid < 3000; tid++) {
		fork_as(1, tid, 1, 0);
		exit_as(1, tid);
	}
	assert_string_equal(comm_of(m, 5, 2), ":2");
	assert_string_equal(comm_of(m, 1, 10), ":10");
	assert_string_equal(comm_of(m, 1, 2999), "sh");
	assert_string_equal(comm_of(m, 1, 1), "sh");
}

static void a_process_that_ended_keeps_its_maps_for_late_samples_but_not_for_ever(void **state)
{
	(void)state;
	comm_as(1, 1, "sh", false);
	map_as(1, 0x1000, 0x1000, 0, "/sh");
	fork_as(2, 2, 1, 0);
	fork_as(2, 3, 2, 0);
	exit_as(2, 2); /* its other thread lives on */
	check_at(2, 0x1000, "/sh", 0);
	exit_as(2, 3);
	check_at(2, 0x1000, "/sh", 0);
	for (uint32_t pid = 10; pid < 3000; pid++) {
		fork_as(pid, pid, 1, 0);
		exit_as(pid, pid);
	}
	check_nothing_at(2, 0x1000);
	assert_string_equal(comm_of(m, 2, 2), ":2");
	check_at(2999, 0x1000, "/sh", 0);
	assert_string_equal(comm_of(m, 2999, 2999), "sh");
	check_at(1, 0x1000, "/sh", 0);
	/* The number is used again. */
	fork_as(2, 2, 1, 0);
	check_at(2, 0x1000, "/sh", 0);
}

static void a_file_is_listed_once_for_each_build_id(void **state)
{
	struct pd_record rec = {
		.type = PERF_RECORD_MMAP2, .misc = PERF_RECORD_MISC_USER, .pid = 1, .tid = 1
	};
	size_t before = maps_n_files(m);
	struct maps_place p;

	(void)state;
	for (int i = 0; i < 6; i++) {
		rec.mmap = (struct pd_mmap){ .ip = 0x1000 * (uint64_t)(i + 1),
			                     .len_bytes = 0x1000,
			                     .path = "/a" };
		rec.mmap.build_id_bytes = i < 2 ? 0 : 20;
		rec.mmap.build_id[0] = (uint8_t)(i / 2);
		assert_int_equal(maps_apply(m, &rec), 0);
	}
	assert_int_equal(maps_n_files(m), before + 3); /* none, 1.., 2.. */
	assert_true(maps_find(m, 1, 0x5000, &p));
	assert_int_equal(maps_file(m, p.file)->build_id_bytes, 20);
	assert_int_equal(maps_file(m, p.file)->build_id[0], 2);
}

static void a_guests_maps_are_not_ours(void **state)
{
	struct pd_record rec = {
		.type = PERF_RECORD_MMAP, .misc = PERF_RECORD_MISC_GUEST_USER, .pid = 1, .tid = 1
	};

	(void)state;
	rec.mmap = (struct pd_mmap){ .ip = 0x1000, .len_bytes = 0x1000, .path = "/guest" };
	assert_int_equal(maps_apply(m, &rec), 0);
	check_nothing_at(1, 0x1000);
}

static double cpu_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Map n pages in an order that jumps about, then see that each is where it should be. */
static double many(uint32_t pid, uint64_t n)
{
	double t = cpu_s();

	/* 7919 is prime and n a power of two: i * 7919 mod n takes every value once. */
	for (uint64_t i = 0; i < n; i++)
		map_as(pid, 0x1000 * (1 + i * 7919 % n), 0x1000, 0x1000 * (i * 7919 % n), "/many");
	t = cpu_s() - t;
	for (uint64_t i = 0; i < n; i += 97)
		check_at(pid, 0x1000 * (1 + i) + 5, "/many", 0x1000 * i + 5);
	return t;
}

/*
 * 16 times as many maps cost 16 times the time and log(n) more, plus caches;
 * an array that shifts its elements would cost 256 times.
 */
static void a_million_maps_and_ten_thousand_forks_are_not_quadratic(void **state)
{
	double small, large;

	(void)state;
	small = many(1, 1 << 16);
	large = many(2, 1 << 20);
	print_message("# 2^16 maps %.3f s, 2^20 maps %.3f s\n", small, large);
	assert_true(large < 100 * small);
	for (uint32_t pid = 100; pid < 10100; pid++) {
		fork_as(pid, pid, 2, 0);
		map_as(pid, 0x1000, 0x1000, 0, "/own");
	}
	check_at(5000, 0x1800, "/own", 0x800);
	check_at(5000, 0x2800, "/many", 0x1800);
	check_at(2, 0x1800, "/many", 0x800);
}

/* Against an array of pages: random maps of random lengths, forked now and then. */
static void random_maps_agree_with_a_plain_array(void **state)
{
	enum { PAGES = 200, PROCS = 4, STEPS = 20000 };
	static uint32_t page[PROCS][PAGES]; /* 0 = none, else 1 + step that mapped it */
	uint64_t rng = 12345;

	(void)state;
	memset(page, 0, sizeof(page));
	for (uint32_t step = 0; step < STEPS; step++) {
		uint32_t r, pid, from, start, n;
		char path[32];

		rng = rng * 6364136223846793005ull + 1442695040888963407ull;
		r = (uint32_t)(rng >> 33);
		pid = r % PROCS;
		start = r / 7 % PAGES;
		n = 1 + r / 1009 % 30;
		if (r / 3 % 50 == 0) {
			from = (pid + 1) % PROCS;
			fork_as(pid + 1, pid + 1, from + 1, 0);
			memcpy(page[pid], page[from], sizeof(page[0]));
			continue;
		}
		snprintf(path, sizeof(path), "/f%u", step % 100);
		map_as(pid + 1, 0x1000ull * start, 0x1000ull * n, 0, path);
		for (uint32_t k = start; k < start + n && k < PAGES; k++)
			page[pid][k] = 1 + step % 100;
		pid = r / 11 % PROCS;
		start = r / 13 % PAGES;
		snprintf(path, sizeof(path), "/f%u", page[pid][start] - 1);
		struct maps_place p;

		if (page[pid][start] == 0) {
			check_nothing_at(pid + 1, 0x1000ull * start);
			continue;
		}
		assert_true(maps_find(m, pid + 1, 0x1000ull * start, &p));
		assert_string_equal(maps_file(m, p.file)->path, path);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
		        a_thread_that_ended_keeps_its_name_for_late_samples_but_not_for_ever, setup,
		        teardown),
		cmocka_unit_test_setup_teardown(an_ip_is_found_in_its_file_at_its_offset, setup, teardown),
		cmocka_unit_test_setup_teardown(pseudo_files_are_addressed_as_they_are, setup, teardown),
		cmocka_unit_test_setup_teardown(a_new_map_cuts_what_it_covers, setup, teardown),
		cmocka_unit_test_setup_teardown(a_map_at_the_end_of_the_address_space_does_not_wrap, setup,
		                                teardown),
		cmocka_unit_test_setup_teardown(fork_inherits_and_then_both_go_their_own_ways, setup,
		                                teardown),
		cmocka_unit_test_setup_teardown(
		        a_process_that_ended_keeps_its_maps_for_late_samples_but_not_for_ever, setup,
		        teardown),
		cmocka_unit_test_setup_teardown(a_file_is_listed_once_for_each_build_id, setup, teardown),
		cmocka_unit_test_setup_teardown(a_guests_maps_are_not_ours, setup, teardown),
		cmocka_unit_test_setup_teardown(a_million_maps_and_ten_thousand_forks_are_not_quadratic,
		                                setup, teardown),
		cmocka_unit_test_setup_teardown(random_maps_agree_with_a_plain_array, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
