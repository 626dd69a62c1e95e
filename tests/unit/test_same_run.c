/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Exact counts that can't be of the run that was recorded. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "report/match/same_run.h"
#include "tests/unit/report_fixture.h"

/* 2,900,000 cycles of main and 2,018 of setup; instructions as the truth has them. */
static struct profile *counted(double of_main, double of_setup)
{
	struct profile *p = profile_fixture();

	p->funcs[1].rolled.insn = of_main;
	p->funcs[2].rolled.insn = of_setup;
	for (int i = 0; i < 3; i++)
		p->funcs[i].rolled_evidence = PROFILE_BY_TRUTH;
	return p;
}

static const char *doubt_of(struct profile *p)
{
	same_run_doubt(p);
	return p->meta.truth_why;
}

static void a_total_far_from_the_recorded_one_is_of_another_run(void **state)
{
	/* 2,000,000 were sampled. */
	struct profile *near = counted(1750000, 100000), *far = counted(1650000, 100000);

	(void)state;
	assert_string_equal(doubt_of(near), "");
	assert_string_equal(
	        doubt_of(far),
	        "the truth has 1.75e+06 instructions, this recording 2e+06: another input, or a part of the "
	        "run");
	/* Of a hundred samples a total is known to a tenth, and three times that may be chance. */
	far->meta.truth_why = "";
	far->meta.events[1].n_samples = 100;
	assert_string_equal(doubt_of(far), "");
	profile_free(near);
	profile_free(far);
}

static void timed_paths_tell_a_total_too(void **state)
{
	struct profile *p = counted(1900000, 100000);

	(void)state;
	p->meta.insn_event = -1;
	p->meta.timed_insn = 1400000;
	p->meta.timed_lo = 1200000;
	p->meta.timed_hi = 1600000;
	assert_string_equal(doubt_of(p), "");
	p->meta.timed_hi = 1500000;
	assert_non_null(strstr(doubt_of(p), "this recording 1.4e+06"));
	profile_free(p);
}

/* No instructions were counted: a truth of any length is good, but one that no core runs in that time. */
static void time_alone_tells_what_can_not_be(void **state)
{
	struct profile *shorter = counted(19000, 1000), *longer = counted(24000000, 100000),
	               *elsewhere = counted(1900000, 4000000);

	(void)state;
	shorter->meta.insn_event = longer->meta.insn_event = elsewhere->meta.insn_event = -1;
	assert_string_equal(doubt_of(shorter), "");
	assert_non_null(strstr(doubt_of(longer), "no core keeps up 8 a cycle"));
	/* setup has two samples: 4,000,000 / 16 = 250,000 cycles are missing, over a twentieth of all. */
	assert_non_null(strstr(doubt_of(elsewhere), "hardly any time was sampled"));
	profile_free(shorter);
	profile_free(longer);
	profile_free(elsewhere);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_total_far_from_the_recorded_one_is_of_another_run),
		cmocka_unit_test(timed_paths_tell_a_total_too),
		cmocka_unit_test(time_alone_tells_what_can_not_be),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
