/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Exact counts in shared memory: what the plugin writes, and what the recorder makes of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "profiler/base/err.h"
#include "profiler/pmu/image.h"
#include "profiler/sim/blocks.h"
#include "profiler/sim/counts.h"

struct fixture {
	struct counts counts;
	struct image image;
	struct image_files files;
	struct tally tally;
	struct sim_code *a, *b;
	int fd;
};

/* Two blocks of "/bin/a": 3 instructions of 2 bytes from 0x10 on, and the last two of them. */
static void begin(struct fixture *f)
{
	memset(f, 0, sizeof(*f));
	assert_int_equal(counts_new(&f->counts, &f->fd), 0);
	assert_int_equal(image_open(1, f->fd, &f->image), 0);
	f->a = sim_code_new(0x1010, 3);
	f->b = sim_code_new(0x1012, 2);
	assert_non_null(f->a);
	assert_non_null(f->b);
	for (uint16_t i = 0; i < 3; i++)
		f->a->block.insn[i].ip_off = (uint16_t)(2 * i);
	f->b->block.insn[1].ip_off = 2;
	f->b->block.id = 1;
	/* The middle one is a load. */
	f->a->block.insn[1].events = f->b->block.insn[0].events = 1 << SIM_LOADS;
	counts_add(&f->counts, &f->a->block, counts_file(&f->counts, "/bin/a"), 0x10);
	counts_add(&f->counts, &f->b->block, counts_file(&f->counts, "/bin/a"), 0x12);
}

static void end(struct fixture *f)
{
	image_close(&f->image);
	munmap(f->counts.base, f->counts.at.end);
	vec_fini(&f->counts.free);
	close(f->fd);
	free(f->a);
	free(f->b);
	for (size_t i = 0; i < f->files.n; i++)
		free(f->files.v[i]);
	vec_fini(&f->files);
	tally_fini(&f->tally);
}

static int add(struct fixture *f)
{
	return image_add(&f->image, &f->files, &f->tally);
}

static void counts_of_overlapping_blocks_add_up(void **state)
{
	struct record_counts c = { 0 };
	struct fixture f;

	(void)state;
	begin(&f);
	f.counts.runs[0] = 10;
	f.counts.runs[1] = 5;
	/* Two of a's runs left before its last instruction; one of b's did not finish its last. */
	counts_left(&f.counts, &f.a->block, 2);
	counts_left(&f.counts, &f.a->block, 2);
	f.counts.again[1] = 1;
	/* The load missed twice in one block and once in the other. */
	counts_missed(&f.counts, &f.a->block, 1);
	counts_missed(&f.counts, &f.a->block, 1);
	counts_missed(&f.counts, &f.b->block, 0);
	assert_int_equal(add(&f), 0);
	assert_int_equal(tally_finish(&f.tally, &c), 0);
	assert_int_equal(c.n, 3);
	assert_string_equal(f.files.v[c.v[0].file], "/bin/a");
	assert_int_equal(c.v[0].off, 0x10);
	assert_int_equal(c.v[0].n, 10);
	assert_int_equal(c.v[1].n, 10 + 5);
	assert_int_equal(c.v[1].n_load, 10 + 5);
	assert_int_equal(c.v[1].n_miss, 2 + 1);
	assert_int_equal(c.v[0].n_load + c.v[0].n_miss, 0);
	assert_int_equal(c.v[2].off, 0x14);
	assert_int_equal(c.v[2].n, 8 + 4);
	record_counts_fini(&c);
	end(&f);
}

static void what_a_thread_counted_stays_when_another_takes_its_place(void **state)
{
	struct fixture f;
	struct counts_slot *first, *second, *third;

	(void)state;
	begin(&f);
	first = counts_slot_get(&f.counts, 0);
	second = counts_slot_get(&f.counts, 0);
	assert_ptr_not_equal(first, second);
	first->runs[0] += 100;
	second->runs[0] += 10;
	counts_slot_put(&f.counts, first);
	third = counts_slot_get(&f.counts, 0);
	assert_ptr_equal(first, third);
	third->runs[0] += 1;
	/* Of other blocks: not the one that is free. */
	counts_slot_put(&f.counts, third);
	assert_ptr_not_equal(counts_slot_get(&f.counts, 1), third);
	assert_int_equal(add(&f), 0);
	assert_int_equal(f.tally.total, 3 * 111);
	end(&f);
}

static void a_child_of_fork_has_the_same_blocks_and_counts_of_its_own(void **state)
{
	struct fixture f;
	struct image child;
	int fd;

	(void)state;
	begin(&f);
	f.counts.runs[0] = 10;
	/* The parent goes on adding before the child has its own; what it adds then is not the child's. */
	f.counts.head->n_blocks = 3;
	assert_int_equal(counts_renew(&f.counts, &fd), 0);
	assert_int_equal(image_open(2, fd, &child), 0);
	assert_int_equal(f.counts.head->n_blocks, 2);
	assert_int_equal(f.counts.runs[0], 0);
	f.counts.runs[1] = 4;
	assert_int_equal(image_add(&child, &f.files, &f.tally), 0);
	assert_int_equal(f.tally.total, 2 * 4);
	assert_int_equal(add(&f), 0);
	assert_int_equal(f.tally.total, 2 * 4 + 3 * 10);
	image_close(&child);
	close(fd);
	end(&f);
}

static void counts_that_contradict_each_other_are_refused(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f);
	f.counts.runs[0] = 1;
	counts_left(&f.counts, &f.a->block, 1);
	counts_left(&f.counts, &f.a->block, 2);
	assert_int_equal(add(&f), -SP_EFORMAT);
	assert_non_null(strstr(sp_error_text(), "contradict"));
	end(&f);

	begin(&f);
	f.counts.runs[0] = 3;
	counts_missed(&f.counts, &f.a->block, 3); /* there are three */
	assert_int_equal(add(&f), -SP_EFORMAT);
	end(&f);

	begin(&f);
	f.counts.runs[1] = 3;
	f.counts.again[1] = 4;
	assert_int_equal(add(&f), -SP_EFORMAT);
	end(&f);

	begin(&f);
	f.counts.runs[1] = 1;
	counts_missed(&f.counts, &f.b->block, 0);
	counts_missed(&f.counts, &f.b->block, 0);
	assert_int_equal(add(&f), -SP_EFORMAT);
	end(&f);
}

static void what_was_written_over_is_refused(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f);
	f.counts.head->n_blocks = f.counts.head->max_blocks + 1;
	assert_int_equal(add(&f), -SP_EFORMAT);
	f.counts.head->n_blocks = 2;
	f.counts.runs[0] = 1;
	/* A file that is none; a place outside; a block longer than all. */
	((struct counts_block *)(f.counts.base + f.counts.at.code))->file = 7;
	assert_int_equal(add(&f), -SP_EFORMAT);
	((struct counts_block *)(f.counts.base + f.counts.at.code))->file = 1;
	((uint64_t *)(f.counts.base + f.counts.at.left))[0] = 8;
	assert_int_equal(add(&f), -SP_EFORMAT);
	((uint64_t *)(f.counts.base + f.counts.at.left))[0] = 0;
	((struct counts_block *)(f.counts.base + f.counts.at.code))->n_insn = UINT32_MAX;
	assert_int_equal(add(&f), -SP_EFORMAT);
	f.counts.head->n_slots = UINT64_MAX / 2;
	assert_int_equal(add(&f), -SP_EFORMAT);
	f.counts.head->full = 1;
	assert_int_equal(add(&f), -SP_ENOMEM);
	f.counts.head->version = 99;
	image_close(&f.image);
	assert_int_equal(image_open(1, f.fd, &f.image), -SP_EFORMAT);
	end(&f);
}

static void a_sum_that_does_not_hold_is_an_error(void **state)
{
	struct record_counts c = { 0 };
	struct tally t = { 0 };

	(void)state;
	assert_int_equal(tally_add(&t, &(struct record_count){ .n = 5 }), 0);
	t.total = 4;
	assert_int_equal(tally_finish(&t, &c), -SP_EFORMAT);
	assert_non_null(strstr(sp_error_text(), "above the total"));
	t.total = 6;
	assert_int_equal(tally_finish(&t, &c), -SP_EFORMAT);
	assert_non_null(strstr(sp_error_text(), "add up"));
	tally_fini(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_of_overlapping_blocks_add_up),
		cmocka_unit_test(what_a_thread_counted_stays_when_another_takes_its_place),
		cmocka_unit_test(a_child_of_fork_has_the_same_blocks_and_counts_of_its_own),
		cmocka_unit_test(counts_that_contradict_each_other_are_refused),
		cmocka_unit_test(what_was_written_over_is_refused),
		cmocka_unit_test(a_sum_that_does_not_hold_is_an_error),
	};

	return cmocka_run_group_tests_name("sim_counts", tests, NULL, NULL);
}
