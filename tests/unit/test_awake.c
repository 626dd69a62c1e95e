/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A CPU that is kept awake: someone runs on it, at the lowest priority, from the beginning to the end and no longer. */
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "profiler/base/clock.h"
#include "profiler/pmu/awake.h"
#include "profiler/pmu/procfile.h"

static const uint64_t long_ns = 20000000000, a_while_ns = 1000000;

static char state_of(pid_t pid)
{
	struct procfile kept = { 0 };
	char text[512];
	const char *state = procfile_state(&kept, pid, text, sizeof(text));
	char found = state ? *state : 0;

	procfile_fini(&kept);
	return found;
}

static void rest(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = a_while_ns }, NULL);
}

/* On a busy machine it may take its time. */
static bool comes_to(pid_t pid, char state)
{
	for (uint64_t begun = clock_ns(CLOCK_MONOTONIC); clock_ns(CLOCK_MONOTONIC) - begun < long_ns; rest())
		if (state_of(pid) == state)
			return true;
	return false;
}

static bool uses_more_than(pid_t pid, uint64_t ns)
{
	for (uint64_t begun = clock_ns(CLOCK_MONOTONIC); clock_ns(CLOCK_MONOTONIC) - begun < long_ns; rest())
		if (clock_cpu_ns(pid) > ns)
			return true;
	return false;
}

static uint32_t first_cpu(void)
{
	cpu_set_t set;
	uint32_t cpu = 0;

	assert_int_equal(sched_getaffinity(0, sizeof(set), &set), 0);
	while (!CPU_ISSET(cpu, &set))
		cpu++;
	return cpu;
}

/* One that has come to its wait. */
static struct awake *start_asleep(pid_t *pid)
{
	struct awake *a = awake_start();

	assert_non_null(a);
	*pid = awake_pid(a);
	assert_true(comes_to(*pid, 'S'));
	return a;
}

static void it_runs_from_begin_to_end(void **state)
{
	pid_t pid;
	struct awake *a = start_asleep(&pid);
	uint32_t cpu = first_cpu();
	cpu_set_t set;
	uint64_t used;

	(void)state;
	assert_int_equal(sched_getscheduler(pid), SCHED_IDLE);
	for (int turn = 0; turn < 3; turn++) {
		used = clock_cpu_ns(pid);
		awake_begin(a, cpu);
		assert_true(uses_more_than(pid, used + a_while_ns));
		assert_int_equal(sched_getaffinity(pid, sizeof(set), &set), 0);
		assert_int_equal(CPU_COUNT(&set), 1);
		assert_true(CPU_ISSET(cpu, &set));
		awake_end(a);
		assert_true(comes_to(pid, 'S'));
		used = clock_cpu_ns(pid);
		for (int i = 0; i < 20; i++)
			rest();
		assert_int_equal(clock_cpu_ns(pid), used);
		awake_end(a);
	}
	awake_stop(a);
	assert_int_equal(kill(pid, 0), -1);
}

static void no_such_cpu_is_left_asleep(void **state)
{
	pid_t pid;
	struct awake *a = start_asleep(&pid);
	uint64_t used;

	(void)state;
	used = clock_cpu_ns(pid);
	awake_begin(a, CPU_SETSIZE - 1);
	awake_begin(a, UINT32_MAX);
	for (int i = 0; i < 20; i++)
		rest();
	assert_int_equal(state_of(pid), 'S');
	assert_int_equal(clock_cpu_ns(pid), used);
	awake_stop(a);
}

static void none_is_nothing(void **state)
{
	(void)state;
	awake_begin(NULL, 0);
	awake_end(NULL);
	assert_int_equal(awake_pid(NULL), 0);
	awake_stop(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_runs_from_begin_to_end),
		cmocka_unit_test(no_such_cpu_is_left_asleep),
		cmocka_unit_test(none_is_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
