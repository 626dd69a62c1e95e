/* SPDX-License-Identifier: GPL-3.0-or-later */
/* When all that a process may write is kept, and which pages those are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sys/mman.h>
#include <unistd.h>

#include "profiler/pmu/keep_all.h"

static void learn(struct keep_all *k, int n, bool done, bool lost)
{
	for (int i = 0; i < n; i++)
		keep_all_learn(k, done, lost);
}

static void a_third_of_paths_lost_turns_it_on(void **state)
{
	struct keep_all k = { 0 };

	(void)state;
	learn(&k, 2, false, true);
	learn(&k, 6, true, false);
	assert_false(k.on);
	/* The two have been forgotten by now. */
	learn(&k, 2, false, true);
	assert_false(k.on);
	learn(&k, 1, false, true);
	assert_true(k.on);
}

/* Of eight paths before three were done: five must be. */
static void it_stays_where_more_are_done(void **state)
{
	struct keep_all k = { 0 };

	(void)state;
	learn(&k, 3, true, false);
	learn(&k, 2, false, false);
	learn(&k, 3, false, true);
	assert_true(k.on);
	learn(&k, 5, true, false);
	learn(&k, 3, false, true);
	assert_true(k.on);
	learn(&k, 100, false, true);
	assert_true(k.on);
}

static void it_is_given_up_where_it_does_not_help(void **state)
{
	struct keep_all k = { 0 };

	(void)state;
	learn(&k, 3, true, false);
	learn(&k, 2, false, false);
	learn(&k, 3, false, true);
	learn(&k, 4, true, false);
	learn(&k, 4, false, true);
	assert_true(!k.on && k.refused);
	learn(&k, 100, false, true);
	assert_false(k.on);
}

enum { MOST = 1 << 16, N_PAGES = 8 };

static bool has_page(const struct kept_pages *p, uint64_t page)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->v[i] == page)
			return true;
	return false;
}

static bool is_fresh(const struct kept_pages *p, uint64_t page)
{
	return rp_is_within(p->fresh, p->n_fresh, page);
}

static void what_was_touched_is_told_and_all_else_is_fresh(void **state)
{
	static uint64_t v[MOST];
	static struct rp_range fresh[RP_MAX_FRESH];
	struct kept_pages p = { v, 0, MOST, fresh, 0, RP_MAX_FRESH };
	size_t bytes = N_PAGES * RP_PAGE;
	uint8_t *m = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t at = (uint64_t)(uintptr_t)m;

	(void)state;
	assert_true(m != MAP_FAILED);
	if (sysconf(_SC_PAGESIZE) != RP_PAGE || madvise(m, bytes, MADV_NOHUGEPAGE) < 0)
		skip();
	*(volatile uint8_t *)(m + 3 * RP_PAGE) = 1;
	assert_true(keep_all_find(getpid(), &p));
	assert_true(has_page(&p, at + 3 * RP_PAGE));
	assert_false(has_page(&p, at + 4 * RP_PAGE));
	assert_true(is_fresh(&p, at + 4 * RP_PAGE));
	/* Code is nobody's to write. */
	assert_false(is_fresh(&p, (uint64_t)(uintptr_t)has_page));
	munmap(m, bytes);
}

/* Its pagemap alone has four gigabytes: a stop that long is none. */
static void terabytes_are_left_out(void **state)
{
	static uint64_t v[MOST];
	static struct rp_range fresh[RP_MAX_FRESH];
	struct kept_pages p = { v, 0, MOST, fresh, 0, RP_MAX_FRESH };
	size_t bytes = (size_t)1 << 41;
	uint8_t *m =
	        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	uint64_t at = (uint64_t)(uintptr_t)m;

	(void)state;
	if (m == MAP_FAILED || sysconf(_SC_PAGESIZE) != RP_PAGE)
		skip();
	*(volatile uint8_t *)m = 1;
	assert_true(keep_all_find(getpid(), &p));
	assert_false(has_page(&p, at) || is_fresh(&p, at + RP_PAGE));
	munmap(m, bytes);
}

static void more_than_there_is_room_for_is_not_told(void **state)
{
	uint64_t v[2];
	struct rp_range fresh[1];
	struct kept_pages p = { v, 0, 2, fresh, 0, 1 };

	(void)state;
	assert_false(keep_all_find(getpid(), &p));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_third_of_paths_lost_turns_it_on),
		cmocka_unit_test(it_stays_where_more_are_done),
		cmocka_unit_test(it_is_given_up_where_it_does_not_help),
		cmocka_unit_test(what_was_touched_is_told_and_all_else_is_fresh),
		cmocka_unit_test(terabytes_are_left_out),
		cmocka_unit_test(more_than_there_is_room_for_is_not_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
