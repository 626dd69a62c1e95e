/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which pages a replay may touch, of this process's own mappings. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "profiler/pmu/mapped.h"

static struct rp_reply reply = {
	.n_branches = 100, .n_pages = 1, .used_after = { 40 }, .written_after = { 60 }
};

static void *map(void *at, int rights)
{
	void *page = mmap(at, RP_PAGE, rights, MAP_PRIVATE | MAP_ANONYMOUS | (at ? MAP_FIXED : 0), -1, 0);

	assert_ptr_not_equal(page, MAP_FAILED);
	reply.pages[0] = (uintptr_t)page;
	return page;
}

/* Branches that may be kept; those of a path that is not whole end by a fault. */
static uint32_t check(struct mapped *m)
{
	uint32_t end = RP_END_WHOLE, n = mapped_check(m, getpid(), &reply, &end);

	assert_int_equal(end, n < reply.n_branches ? RP_END_FAULT : RP_END_WHOLE);
	return n;
}

static void a_path_is_cut_where_a_page_may_not_be_touched_so(void **state)
{
	struct mapped m = { 0 };
	void *page = map(NULL, PROT_READ);

	(void)state;
	assert_int_equal(check(&m), 100);
	reply.written[0] = true;
	assert_int_equal(check(&m), 60);
	reply.written[0] = false;
	map(page, PROT_NONE);
	m.keep_until = 0;
	assert_int_equal(check(&m), 40);
	munmap(page, RP_PAGE);
	mapped_fini(&m);
}

/* A thread may have run to its end since it was let go: nothing of it can be read then. */
static void a_process_that_has_ended_had_the_mappings_of_before(void **state)
{
	struct mapped m = { 0 };
	void *page = map(NULL, PROT_NONE);
	uint32_t end = RP_END_WHOLE;
	pid_t child = fork();

	(void)state;
	if (child == 0)
		for (;;)
			pause();
	assert_true(child > 0);
	assert_int_equal(mapped_check(&m, child, &reply, &end), 40);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	m.keep_until = 0;
	assert_int_equal(mapped_check(&m, child, &reply, &end), 40);
	mapped_fini(&m);
	assert_int_equal(mapped_check(&m, child, &reply, &end), 0);
	assert_int_equal(end, RP_END_GONE);
	munmap(page, RP_PAGE);
	mapped_fini(&m);
}

static void what_is_mapped_no_more_was_there_when_it_was_read(void **state)
{
	struct mapped m = { 0 };
	void *page = map(NULL, PROT_READ);

	(void)state;
	assert_int_equal(check(&m), 100);
	munmap(page, RP_PAGE);
	assert_int_equal(check(&m), 100);
	mapped_fini(&m);
}

/* Where the kernel can be asked for one mapping: nobody waits until all are read again. */
static void a_right_that_is_lost_is_noticed_at_once(void **state)
{
	struct mapped m = { 0 };
	uint8_t *three = mmap(NULL, 3 * RP_PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)state;
	assert_ptr_not_equal(three, MAP_FAILED);
	reply.pages[0] = (uintptr_t)three + RP_PAGE;
	assert_int_equal(check(&m), 100);
	assert_int_equal(check(&m), 100);
	if (!m.maps.tid)
		skip();
	mprotect(three + RP_PAGE, RP_PAGE, PROT_NONE);
	assert_int_equal(check(&m), 40);
	reply.pages[0] = (uintptr_t)three;
	assert_int_equal(check(&m), 100);
	reply.pages[0] = (uintptr_t)three + 2 * RP_PAGE;
	assert_int_equal(check(&m), 100);
	munmap(three, 3 * RP_PAGE);
	mapped_fini(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_path_is_cut_where_a_page_may_not_be_touched_so),
		cmocka_unit_test(a_process_that_has_ended_had_the_mappings_of_before),
		cmocka_unit_test(what_is_mapped_no_more_was_there_when_it_was_read),
		cmocka_unit_test(a_right_that_is_lost_is_noticed_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
