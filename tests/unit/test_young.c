/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Time of threads that are younger than at any burst. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "correct/divide/stages.h"

enum { N_THREADS = 20, N_SAMPLES = 100 };

/* A hundred samples of each of twenty threads, and a burst in each after `first`, `first` + 5, ... of them. */
static double share_with_bursts_from(uint32_t first, uint32_t step)
{
	struct problem p = { 0 }, none = { 0 };
	struct problem *const problems[] = { &p, &none };
	struct young *y = young_begin(2);

	for (uint32_t t = 0; t < N_THREADS; t++) {
		for (uint32_t i = 0; i < N_SAMPLES; i++) {
			if (i == first + t * step)
				young_sample(y, t, 0, true);
			young_sample(y, t, 0, false);
		}
		young_sample(y, t, -1, false);
	}
	young_end(y, problems);
	young_free(y);
	assert_true(none.young_share == 0);
	return p.young_share;
}

static void bursts_of_all_ages_leave_none(void **state)
{
	(void)state;
	assert_true(share_with_bursts_from(0, 5) == 0);
	/* A tenth of the time without one is chance with twenty: .9^20 = .12. */
	assert_true(share_with_bursts_from(10, 4) == 0);
}

/* 60 of 100 samples, told apart to a sixteenth, and the one that is as old as the first burst: .4^20 is no chance. */
static void late_ones_do(void **state)
{
	(void)state;
	assert_float_equal(share_with_bursts_from(60, 2), 0.6, 0.6 * (exp2(1 / 16.) - 1) + 1. / N_SAMPLES);
}

/* One thread whose bursts all fell into other code first was old enough for them: that this code had none was chance. */
static void a_thread_that_had_bursts_elsewhere_was_not_too_young(void **state)
{
	struct problem here = { 0 }, elsewhere = { 0 };
	struct problem *const problems[] = { &here, &elsewhere };
	struct young *y = young_begin(2);

	(void)state;
	for (uint32_t i = 0; i < N_SAMPLES; i++) {
		young_sample(y, 0, 0, false);
		young_sample(y, 0, i < 60 ? 1 : 0, true);
	}
	young_end(y, problems);
	young_free(y);
	assert_true(here.young_share < 0.02);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bursts_of_all_ages_leave_none), cmocka_unit_test(late_ones_do),
		cmocka_unit_test(a_thread_that_had_bursts_elsewhere_was_not_too_young)
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
