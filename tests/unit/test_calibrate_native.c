/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What measuring on the processor needs of the system, and that it does measure.  No number is judged by its size. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "profiler/base/err.h"
#include "profiler/calibrate/calibration.h"

#ifndef PR_SET_MDWE
#define PR_SET_MDWE              65
#define PR_MDWE_REFUSE_EXEC_GAIN 1
#endif

static struct cliff_native *native;

static int open_native(void **state)
{
	(void)state;
#ifdef __x86_64__
	return cliff_native_open(&native);
#else
	return 0;
#endif
}

static int close_native(void **state)
{
	(void)state;
	cliff_native_close(native);
	return 0;
}

static int measure(const struct cliff *c, struct cliff_curve *curve)
{
	struct cliff_bench b;
	int err = 1;

	cliff_native_bench(native, &b);
	/* A neighbour who leaves only now makes what was measured void. */
	while (err == 1)
		err = b.run(b.user, c, curve);
	return err;
}

static void need_native(void)
{
	if (!native)
		skip();
}

enum { NO_MDWE = 77 };

/* In a process that may not make memory executable: the exit status of the attempt. */
static int open_without_execution(void)
{
	struct cliff_native *n = NULL;
	int err;

	if (prctl(PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN, 0, 0, 0) < 0)
		return NO_MDWE;
	err = cliff_native_open(&n);
	cliff_native_close(n);
	return err == -SP_ENOTSUP && strstr(sp_error_text(), "lets no code run that was made at run time")
	               ? 0
	               : 1;
}

static void a_system_that_forbids_code_at_run_time_is_named(void **state)
{
	pid_t child;
	int status;

	(void)state;
	need_native();
	child = fork();
	assert_true(child >= 0);
	if (child == 0)
		_exit(open_without_execution());
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == NO_MDWE)
		skip();
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* Longer chains take longer: 6 pressures 48 to 288, each at least a tenth above the one before. */
static void a_curve_is_measured_at_every_pressure(void **state)
{
	const struct cliff *c = cliff_find("imul-latency");
	struct cliff_curve curve;
	struct cliff_sizes sizes;

	(void)state;
	need_native();
	cliff_native_sizes(native, &sizes);
	cliff_pressures(c, &sizes, false, &curve);
	assert_int_equal(curve.n, 6);
	assert_int_equal(measure(c, &curve), 0);
	for (size_t i = 0; i < curve.n; i++) {
		assert_true(isfinite(curve.spread[i]) && curve.spread[i] >= 0);
		assert_true(curve.response[i] > 0);
	}
	assert_true(curve.response[5] > 2 * curve.response[0]);
}

/* The code calls no function, keeps the registers it must keep, and its stores stay in the buffer. */
static void code_of_every_row_runs_and_comes_back(void **state)
{
	size_t n;
	const struct cliff *all = cliff_table(&n);

	(void)state;
	need_native();
	for (size_t i = 0; i < n; i++) {
		struct cliff_curve curve = { .n = 1 };
		const struct cliff_arena *a = cliff_native_arena(native);

		if (cliff_native_lacks(&all[i]) || all[i].scale == CLIFF_OF_L3)
			continue;
		curve.pressure[0] = all[i].scale == CLIFF_AS_IT_IS ? all[i].from : 64;
		assert_int_equal(measure(&all[i], &curve), 0);
		assert_true(curve.response[0] > 0);
		assert_int_equal(a->state->buffer, (uintptr_t)a->buffer);
		for (size_t k = 8192 + 64; k < CLIFF_BUFFER_BYTES; k++)
			assert_int_equal(a->buffer[k], 0);
	}
}

static void rows_are_chosen_by_pattern_with_what_they_are_told_from(void **state)
{
	struct calibration c;

	(void)state;
	assert_int_equal(calibration_choose("load-q*", &c), 0);
	assert_int_equal(c.n, 3);
	assert_string_equal(c.rows[0].cliff->name, "rob");
	assert_string_equal(c.rows[1].cliff->name, "load-queue");
	assert_string_equal(c.rows[2].cliff->name, "fp-regs");
	calibration_fini(&c);
	assert_int_equal(calibration_choose("no-such-*", &c), -SP_EUSAGE);
	assert_int_equal(calibration_choose("mispredic", &c), -SP_EUSAGE);
	assert_non_null(strstr(sp_error_text(), "did you mean 'mispredict'?"));
	assert_int_equal(calibration_choose(NULL, &c), 0);
	assert_true(c.n >= 40);
	calibration_fini(&c);
}

/* Sweeps go on until there are enough; a settled row has its number from all of them. */
static void sweeps_end(void **state)
{
	const struct cliff *c = cliff_find("zero-idiom");
	struct cliff_sweeps *s;
	struct cliff_bench b;

	(void)state;
	need_native();
	s = calloc(1, sizeof(*s));
	assert_non_null(s);
	cliff_native_bench(native, &b);
	while (!cliff_sweeps_settled(c, s, true))
		if (cliff_sweep(&b, c, true, s) == 1)
			memset(s, 0, sizeof(*s));
	/* Without patience and beside a neighbour there may be but one. */
	assert_in_range(s->n, 1, 3);
	assert_true(s->result.value == 0 || s->result.value == 1);
	free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_system_that_forbids_code_at_run_time_is_named),
		cmocka_unit_test(a_curve_is_measured_at_every_pressure),
		cmocka_unit_test(code_of_every_row_runs_and_comes_back),
		cmocka_unit_test(rows_are_chosen_by_pattern_with_what_they_are_told_from),
		cmocka_unit_test(sweeps_end),
	};

	return cmocka_run_group_tests_name("cliffs on the processor", tests, open_native, close_native);
}
