/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files of /proc that are kept open: of another thread, and of one that has ended. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "profiler/pmu/procfile.h"

static long first_number(struct procfile *f, pid_t tid)
{
	char text[1024];

	procfile_read(f, tid, "stat", text, sizeof(text));
	return *text ? strtol(text, NULL, 10) : -1;
}

static void each_thread_has_its_own(void **state)
{
	struct procfile f = { 0 };

	(void)state;
	assert_int_equal(first_number(&f, getpid()), getpid());
	assert_int_equal(first_number(&f, getppid()), getppid());
	assert_int_equal(first_number(&f, getpid()), getpid());
	procfile_fini(&f);
}

static void of_one_that_has_ended_there_is_nothing(void **state)
{
	struct procfile f = { 0 };
	pid_t child = fork();

	(void)state;
	if (child == 0)
		for (;;)
			pause();
	assert_true(child > 0);
	assert_int_equal(first_number(&f, child), child);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	assert_int_equal(first_number(&f, child), -1);
	assert_int_equal(first_number(&f, getpid()), getpid());
	procfile_fini(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_thread_has_its_own),
		cmocka_unit_test(of_one_that_has_ended_there_is_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
