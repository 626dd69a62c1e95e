/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "profiler/base/mem.h"
#include "profiler/base/vec.h"

static void a_failure_returns_its_code_and_keeps_its_message(void **state)
{
	(void)state;
	assert_int_equal(sp_fail(SP_EFORMAT, "%s: record at %d", "a.data", 7), -SP_EFORMAT);
	assert_string_equal(sp_error_text(), "a.data: record at 7");
	assert_int_equal(sp_fail(SP_EUSAGE, "another"), -SP_EUSAGE);
	assert_string_equal(sp_error_text(), "another");
}

static void the_system_says_why(void **state)
{
	(void)state;
	errno = ENOENT;
	assert_int_equal(sp_fail_errno("%s", "a.data"), -SP_EIO);
	assert_string_equal(sp_error_text(), "a.data: No such file or directory");
	errno = ENOMEM;
	assert_int_equal(sp_fail_errno("b"), -SP_ENOMEM);
}

static void a_prefix_goes_before_the_message(void **state)
{
	(void)state;
	sp_fail(SP_EFORMAT, "bad magic");
	assert_int_equal(sp_fail_prefix(-SP_EFORMAT, "%s", "a.data"), -SP_EFORMAT);
	assert_string_equal(sp_error_text(), "a.data: bad magic");
}

static void the_old_message_may_be_part_of_the_new(void **state)
{
	(void)state;
	sp_fail(SP_EFORMAT, "bad magic");
	sp_fail(SP_EIO, "%s, and %s", sp_error_text(), sp_error_text());
	assert_string_equal(sp_error_text(), "bad magic, and bad magic");
}

static void long_messages_are_cut_off(void **state)
{
	char large[5000];

	(void)state;
	memset(large, 'x', sizeof(large) - 1);
	large[sizeof(large) - 1] = '\0';
	sp_fail(SP_EIO, "%s", large);
	assert_int_equal(strlen(sp_error_text()), 1023);
	errno = EIO;
	sp_fail_errno("%s", large);
	sp_fail_prefix(-SP_EIO, "%s", large);
	assert_int_equal(strlen(sp_error_text()), 1023);
}

static void exit_statuses_are_those_of_the_manual(void **state)
{
	(void)state;
	assert_int_equal(sp_exit_status(0), 0);
	assert_int_equal(sp_exit_status(-SP_EFORMAT), 1);
	assert_int_equal(sp_exit_status(-SP_ENOENT), 1);
	assert_int_equal(sp_exit_status(-SP_EUSAGE), 2);
	assert_int_equal(sp_exit_status(-SP_EDOUBT), 3);
}

static void arrays_grow_and_keep_what_they_have(void **state)
{
	VEC(int) v = { 0 };

	(void)state;
	for (int i = 0; i < 10000; i++)
		assert_int_equal(vec_push(&v, i), 0);
	assert_int_equal(v.n, 10000);
	assert_true(v.cap >= v.n);
	for (int i = 0; i < 10000; i++)
		assert_int_equal(v.v[i], i);
	assert_int_equal(vec_reserve(&v, 20000), 0);
	assert_true(v.cap >= 20000);
	assert_int_equal(v.n, 10000);
	vec_fini(&v);
	assert_null(v.v);
	assert_int_equal(v.n + v.cap, 0);
}

static void arrays_too_large_are_refused_and_left_as_they_are(void **state)
{
	VEC(uint64_t) v = { 0 };
	uint64_t *before;

	(void)state;
	assert_int_equal(vec_push(&v, 7), 0);
	before = v.v;
	assert_int_equal(vec_reserve(&v, SIZE_MAX), -SP_ENOMEM);
	assert_int_equal(vec_reserve(&v, SIZE_MAX / 8), -SP_ENOMEM);
	assert_int_equal(vec_reserve(&v, SIZE_MAX / 16 + 1), -SP_ENOMEM);
	assert_ptr_equal(v.v, before);
	assert_int_equal(v.v[0], 7);
	assert_int_equal(v.n, 1);
	vec_fini(&v);
}

/* The sanitizer's allocator returns nothing then, as libc's does. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "allocator_may_return_null=1";
}

static void without_memory_the_program_ends_with_one_line(void **state)
{
	volatile size_t too_many = SIZE_MAX / 2; /* more than an object may have, which compilers warn of */
	char said[4096] = "";
	int pipe_fd[2], status;
	pid_t child;

	(void)state;
	assert_int_equal(pipe(pipe_fd), 0);
	child = fork();
	if (child == 0) {
		dup2(pipe_fd[1], STDERR_FILENO);
		mem_calloc(too_many, 4);
		_exit(77);
	}
	close(pipe_fd[1]);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(read(pipe_fd[0], said, sizeof(said) - 1) > 0);
	close(pipe_fd[0]);
	assert_int_equal(WEXITSTATUS(status), 1);
	/* The sanitizer warns first. */
	assert_non_null(strstr(said, "skidprof"));
	assert_string_equal(strstr(said, "skidprof"), "skidprof: out of memory\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_failure_returns_its_code_and_keeps_its_message),
		cmocka_unit_test(the_system_says_why),
		cmocka_unit_test(a_prefix_goes_before_the_message),
		cmocka_unit_test(the_old_message_may_be_part_of_the_new),
		cmocka_unit_test(long_messages_are_cut_off),
		cmocka_unit_test(exit_statuses_are_those_of_the_manual),
		cmocka_unit_test(arrays_grow_and_keep_what_they_have),
		cmocka_unit_test(arrays_too_large_are_refused_and_left_as_they_are),
		cmocka_unit_test(without_memory_the_program_ends_with_one_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
