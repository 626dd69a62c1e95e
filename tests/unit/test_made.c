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

#include "correct/recording/made.h"
#include "profiler/base/log.h"
#include "profiler/binary/jitdump.h"
#include "profiler/binary/perf_map.h"

/* A jitdump as it grows. */
struct dump {
	uint8_t bytes[4096];
	size_t n;
};

static void put(struct dump *d, const void *p, size_t n)
{
	memcpy(d->bytes + d->n, p, n);
	d->n += n;
}

static void put32(struct dump *d, uint32_t x)
{
	put(d, &x, sizeof(x));
}

static void put64(struct dump *d, uint64_t x)
{
	put(d, &x, sizeof(x));
}

static struct dump begin(uint64_t flags)
{
	struct dump d = { .n = 0 };

	put32(&d, 0x4a695444);
	put32(&d, 1);
	put32(&d, 40);
	put32(&d, 62); /* EM_X86_64 */
	put32(&d, 0);
	put32(&d, 1);
	put64(&d, 1);
	put64(&d, flags);
	return d;
}

static void load(struct dump *d, const char *name, uint64_t vaddr, uint32_t size_bytes, uint64_t time_ns)
{
	static const uint8_t code[64] = { 0xc3 };

	put32(d, 0);
	put32(d, (uint32_t)(16 + 40 + strlen(name) + 1 + size_bytes));
	put64(d, time_ns);
	put32(d, 1);
	put32(d, 1);
	put64(d, vaddr);
	put64(d, vaddr);
	put64(d, size_bytes);
	put64(d, 1);
	put(d, name, strlen(name) + 1);
	put(d, code, size_bytes);
}

static void move(struct dump *d, uint64_t from, uint64_t to, uint64_t time_ns)
{
	put32(d, 1);
	put32(d, 16 + 48);
	put64(d, time_ns);
	put64(d, 0);
	put64(d, 0);
	put64(d, from);
	put64(d, to);
	put64(d, 16);
	put64(d, 1);
}

static void codes_that_overlap_are_in_other_layers(void **state)
{
	struct dump d = begin(0);
	struct jitdump j;

	(void)state;
	load(&d, "a", 0x1000, 16, 10);
	load(&d, "b", 0x1010, 16, 10);
	load(&d, "c", 0x1008, 16, 20);
	assert_int_equal(jitdump_parse(d.bytes, d.n, "it", &j), 0);
	assert_int_equal(j.n_layers, 2);
	assert_string_equal(jitdump_at(&j, 0, 0x100f)->name, "a");
	assert_string_equal(jitdump_at(&j, 0, 0x1010)->name, "b");
	assert_string_equal(jitdump_at(&j, 1, 0x1010)->name, "c");
	assert_null(jitdump_at(&j, 0, 0x1020));
	assert_null(jitdump_at(&j, 1, 0x1007));
	jitdump_fini(&j);
}

static void moved_code_is_at_both_places(void **state)
{
	struct dump d = begin(0);
	struct jitdump j;

	(void)state;
	load(&d, "a", 0x1000, 16, 10);
	move(&d, 0x1000, 0x2000, 20);
	move(&d, 0x5000, 0x6000, 20);
	assert_int_equal(jitdump_parse(d.bytes, d.n, "it", &j), 0);
	assert_int_equal(j.codes.n, 2);
	assert_string_equal(jitdump_at(&j, 0, 0x2008)->name, "a");
	assert_int_equal(jitdump_at(&j, 0, 0x2008)->from_ns, 20);
	assert_ptr_equal(jitdump_at(&j, 0, 0x2008)->bytes, jitdump_at(&j, 0, 0x1008)->bytes);
	jitdump_fini(&j);
}

static void a_dump_that_is_still_written_is_read_to_its_last_whole_record(void **state)
{
	struct dump d = begin(0);
	struct jitdump j;
	size_t whole;

	(void)state;
	load(&d, "a", 0x1000, 16, 10);
	whole = d.n;
	load(&d, "b", 0x2000, 16, 10);
	for (size_t n = whole + 1; n < d.n; n++) {
		assert_int_equal(jitdump_parse(d.bytes, n, "it", &j), 0);
		assert_int_equal(j.codes.n, 1);
		assert_int_equal(j.dropped_off, whole);
		assert_int_equal(j.dropped_bytes, n - whole);
		jitdump_fini(&j);
	}
}

static void what_is_no_dump_of_this_machine_is_refused(void **state)
{
	struct dump d = begin(0);
	struct jitdump j;

	(void)state;
	assert_true(jitdump_parse(d.bytes, 39, "it", &j) < 0);
	d.bytes[4] = 2;
	assert_true(jitdump_parse(d.bytes, d.n, "it", &j) < 0);
	d.bytes[4] = 1;
	memcpy(d.bytes, "JiTD", 4);
	assert_true(jitdump_parse(d.bytes, d.n, "it", &j) < 0);
}

static void files_are_known_by_name(void **state)
{
	(void)state;
	assert_true(jitdump_is_name("/tmp/jit-12.dump"));
	assert_false(jitdump_is_name("/tmp/jit-12.dump.old"));
	assert_false(jitdump_is_name("/tmp/jit-.dump"));
	assert_true(perf_map_is_name("/tmp/perf-7.map"));
	assert_false(perf_map_is_name("/tmp/perf-7.mapped"));
}

static void of_names_that_overlap_the_last_holds(void **state)
{
	static const char text[] =
	        "1000 10 a\n0x1010 10 b with blanks\n\nnonsense\n1008 4 c\r\n2000 0 empty\n3000 8 d";
	struct texts pool = { 0 };
	struct perf_map m;

	(void)state;
	perf_map_parse(text, strlen(text), &pool, &m);
	assert_int_equal(m.entries.n, 3);
	assert_string_equal(m.entries.v[0].name, "c");
	assert_string_equal(m.entries.v[1].name, "b with blanks");
	assert_int_equal(m.entries.v[1].vaddr, 0x1010);
	assert_string_equal(m.entries.v[2].name, "d");
	assert_int_equal(m.n_bad, 2);
	perf_map_fini(&m);
	texts_fini(&pool);
}

static char *written(const struct dump *d, char *path)
{
	FILE *f;
	int fd;

	strcpy(path, "/tmp/skidprof-test-XXXXXX");
	assert_non_null(mkdtemp(path));
	strcat(path, "/jit-7.dump");
	fd = (f = fopen(path, "w")) ? fileno(f) : -1;
	assert_true(fd >= 0);
	assert_int_equal(fwrite(d->bytes, 1, d->n, f), d->n);
	assert_int_equal(fclose(f), 0);
	return path;
}

static void removed(char *path)
{
	unlink(path);
	*strrchr(path, '/') = '\0';
	rmdir(path);
}

static void time_tells_which_code_was_there(void **state)
{
	struct dump d = begin(0);
	struct made *m;
	char path[64];
	const char *first, *second;

	(void)state;
	load(&d, "a", 0x1000, 16, 10);
	load(&d, "b", 0x1000, 16, 20);
	written(&d, path);
	made_new(NULL, false, true, &m);
	made_map(m, 5, path);
	first = made_find(m, 5, 0x1004, 15);
	second = made_find(m, 5, 0x1004, 25);
	assert_non_null(first);
	assert_non_null(second);
	assert_ptr_not_equal(first, second);
	assert_ptr_equal(made_find(m, 5, 0x1004, 15), first);
	assert_null(made_find(m, 5, 0x1004, 5));
	assert_null(made_find(m, 6, 0x1004, 15));
	assert_int_equal(made_changes(m, 9), 0);
	assert_int_equal(made_changes(m, 10), 1);
	assert_int_equal(made_changes(m, 30), 2);
	made_free(m);
	removed(path);
}

static void without_a_common_clock_nothing_is_guessed(void **state)
{
	struct made *m;
	char path[64];

	(void)state;
	sp_log_level_set(-1);
	for (int flags = 0; flags < 2; flags++) {
		struct dump d = begin((uint64_t)flags);

		load(&d, "a", 0x1000, 16, 10);
		load(&d, "b", 0x1000, 16, 20);
		load(&d, "c", 0x2000, 16, 20);
		written(&d, path);
		made_new(NULL, false, flags, &m);
		made_map(m, 5, path);
		assert_null(made_find(m, 5, 0x1004, 15));
		assert_string_equal(made_find(m, 5, 0x2004, 15), path);
		made_free(m);
		removed(path);
	}
	sp_log_level_set(0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(codes_that_overlap_are_in_other_layers),
		cmocka_unit_test(moved_code_is_at_both_places),
		cmocka_unit_test(a_dump_that_is_still_written_is_read_to_its_last_whole_record),
		cmocka_unit_test(what_is_no_dump_of_this_machine_is_refused),
		cmocka_unit_test(files_are_known_by_name),
		cmocka_unit_test(of_names_that_overlap_the_last_holds),
		cmocka_unit_test(time_tells_which_code_was_there),
		cmocka_unit_test(without_a_common_clock_nothing_is_guessed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
