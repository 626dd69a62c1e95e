/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "profiler/base/err.h"
#include "profiler/pmu/events.h"

static const struct sim_counters six = { .n_programmable = 6, .n_fixed = 2, .branch_records = 32 };

static int parse(const char *text, uint64_t period, const struct sim_counters *c, const char *core,
                 struct sim_group *g)
{
	const struct sim_group_wish wish = { .text = text, .period = period };

	return sim_group_parse(&wish, c, core, g);
}

static void refused(const char *text, const char *because)
{
	struct sim_group g;

	assert_int_equal(parse(text, 0, &six, "six", &g), -SP_EUSAGE);
	if (!strstr(sp_error_text(), because))
		fail_msg("'%s' lacks '%s'", sp_error_text(), because);
}

static void the_default_group_fills_the_counters(void **state)
{
	struct sim_group g;

	(void)state;
	assert_int_equal(parse(NULL, 0, &six, "six", &g), 0);
	assert_int_equal(g.n, 8); /* two fixed, six programmable */
	assert_int_equal(g.n_sampled, 2);
	assert_string_equal(sim_group_name(&g, 0), "instructions");
	assert_string_equal(sim_group_name(&g, 1), "cycles");
	assert_string_equal(sim_group_name(&g, 2), "branches");
	assert_int_equal(g.period[0], 10007);
	assert_int_equal(g.period[1], 10007);
	assert_int_equal(g.period[2], 0);
}

static void without_fixed_counters_the_group_is_smaller(void **state)
{
	const struct sim_counters c = { .n_programmable = 3 };
	struct sim_group g;

	(void)state;
	assert_int_equal(parse(NULL, 0, &c, "three", &g), 0);
	assert_int_equal(g.n, 3);
	assert_int_equal(parse("instructions,cycles,loads,stores", 0, &c, "three", &g), -SP_EUSAGE);
	assert_non_null(strstr(sp_error_text(), "three has 3"));
	/* With two to spare: branches, and calls, which tell what the shares of loops don't. */
	assert_int_equal(parse(NULL, 0, &(struct sim_counters){ .n_programmable = 4 }, "four", &g), 0);
	assert_int_equal(g.n, 4);
	assert_string_equal(sim_group_name(&g, 2), "branches");
	assert_string_equal(sim_group_name(&g, 3), "calls");
}

/*
 * No fixed counters: beside instructions and cycles four of six are free.  Six events to count make two sets,
 * and the second has room for the first two once more.
 */
static void events_without_a_counter_take_turns(void **state)
{
	static const char *const names[] = { "instructions", "cycles",  "branches",     "taken-branches",
		                             "loads",        "stores",  "instructions", "cycles",
		                             "calls",        "returns", "branches",     "taken-branches" };
	const struct sim_counters c = { .n_programmable = 6 };
	struct sim_group_wish wish = {
		"instructions,cycles,branches,taken-branches,loads,stores,calls,returns", 0, true
	};
	struct perf_event_attr attr;
	struct sim_group g;

	(void)state;
	assert_int_equal(sim_group_parse(&wish, &c, "six", &g), 0);
	assert_int_equal(g.n, 12);
	assert_int_equal(g.n_sets, 2);
	assert_int_equal(g.n_sampled, 2);
	for (uint32_t i = 0; i < 12; i++) {
		assert_string_equal(sim_group_name(&g, i), names[i]);
		assert_int_equal(g.set[i], i / 6);
		assert_int_equal(g.period[i], i % 6 < 2 ? 10007 : 0);
		assert_int_equal(sim_group_first(&g, i), i / 6 * 6);
		sim_group_attr(&g, i, false, &attr);
		assert_int_equal(attr.disabled, i % 6 == 0);
		assert_int_equal(attr.mmap, i == 0);
	}
	assert_int_equal(sim_group_size(&g, 1), 6);
	wish.rotate = false;
	assert_int_equal(sim_group_parse(&wish, &c, "six", &g), -SP_EUSAGE);
	assert_non_null(strstr(sp_error_text(), "--rotate"));
	/* Turns are no way to count beside what takes all counters. */
	wish = (struct sim_group_wish){ "instructions,cycles,loads", 0, true };
	assert_int_equal(sim_group_parse(&wish, &(struct sim_counters){ .n_programmable = 2 }, "two", &g),
	                 -SP_EUSAGE);
}

static void a_given_period_is_taken(void **state)
{
	struct sim_group g;

	(void)state;
	assert_int_equal(parse(NULL, 20011, &six, "six", &g), 0);
	assert_int_equal(g.period[0], 20011);
	assert_int_equal(parse("loads/3001,instructions", 0, &six, "six", &g), 0);
	assert_int_equal(g.n_sampled, 2);
	assert_int_equal(g.period[0], 3001);
	assert_int_equal(g.period[1], 10007);
}

static void sampled_events_come_first(void **state)
{
	struct sim_group g;

	(void)state;
	assert_int_equal(parse("loads,stores,cycles", 0, &six, "six", &g), 0);
	assert_int_equal(g.n_sampled, 1);
	assert_string_equal(sim_group_name(&g, 0), "cycles");
	assert_string_equal(sim_group_name(&g, 1), "loads");
	assert_string_equal(sim_group_name(&g, 2), "stores");
	/* Neither instructions nor cycles: the first one is sampled. */
	assert_int_equal(parse("stores,loads", 0, &six, "six", &g), 0);
	assert_int_equal(g.n, 2);
	assert_int_equal(g.n_sampled, 1);
	assert_string_equal(sim_group_name(&g, 0), "stores");
	assert_int_equal(g.period[0], 10007);
}

static void perf_knows_its_own_events(void **state)
{
	struct perf_event_attr attr;
	struct sim_group g;

	(void)state;
	assert_int_equal(parse("cpu-cycles,branch-instructions,loads", 0, &six, "six", &g), 0);
	sim_group_attr(&g, 0, true, &attr);
	assert_int_equal(attr.type, PERF_TYPE_HARDWARE);
	assert_int_equal(attr.config, PERF_COUNT_HW_CPU_CYCLES);
	assert_true(attr.sample_type & PERF_SAMPLE_BRANCH_STACK);
	assert_true(attr.sample_type & PERF_SAMPLE_IDENTIFIER);
	assert_true(attr.exclude_kernel);
	assert_true(attr.size <= 128);
	sim_group_attr(&g, 1, false, &attr);
	assert_int_equal(attr.config, PERF_COUNT_HW_BRANCH_INSTRUCTIONS);
	assert_false(attr.sample_type & PERF_SAMPLE_BRANCH_STACK);
	sim_group_attr(&g, 2, false, &attr);
	assert_int_equal(attr.type, PERF_TYPE_RAW);
	assert_int_equal(attr.sample_period, 0);
}

static void wrong_events_are_refused(void **state)
{
	(void)state;
	refused("branchs", "did you mean 'branches'");
	refused("quux", "lists them");
	refused("loads,loads", "twice");
	refused("cycles,cpu-cycles", "twice");
	refused("", "no event");
	refused(",", "no event");
	refused("cycles/0", "period");
	refused("cycles/many", "period");
	refused("branches,taken-branches,cond-branches,calls,returns,loads,stores", "six has 6");
}

/* Four counters and two fixed ones: of seven events each set leaves one out, and each event is in four sets at least. */
static void plain_events_take_linux_turns(void **state)
{
	const struct sim_counters four = { .n_programmable = 4, .n_fixed = 2, .precise_max = 3 };
	const struct sim_group_wish wish = {
		.text = "cycles:upp,instructions,branches,loads,stores,calls,cond-branches",
		.rotate = true,
		.plain = true
	};
	struct perf_event_attr attr;
	struct sim_group g;

	(void)state;
	assert_int_equal(sim_group_parse(&wish, &four, "four", &g), 0);
	assert_int_equal(g.n, 7);
	assert_int_equal(g.n_sampled, 7);
	assert_int_equal(g.n_sets, 7);
	for (uint32_t set = 0; set < 7; set++) {
		uint32_t used = 0;

		for (uint32_t i = 2; i < 7; i++)
			used += g.set[i] == set || g.more_sets[i] >> set & 1;
		assert_int_equal(used, 4);
	}
	for (uint32_t i = 0; i < 7; i++) {
		assert_int_equal(sim_group_first(&g, i), i);
		assert_int_equal(sim_group_values(&g, i), 0);
		sim_group_attr(&g, i, false, &attr);
		assert_int_equal(attr.sample_type & PERF_SAMPLE_READ, 0);
		assert_int_equal(attr.precise_ip, i == 0 ? 2 : 0);
	}
}

static void two_kinds_of_core_have_their_events_each(void **state)
{
	const struct sim_group_wish wish = { .text = "instructions,cycles,loads" };
	struct perf_event_attr attr;
	struct sim_group g, other;
	char name[40];

	(void)state;
	assert_int_equal(sim_group_parse(&wish, &six, "six", &g), 0);
	assert_int_equal(sim_group_parse(&wish, &six, "six", &other), 0);
	assert_int_equal(sim_group_join(&g, &other), 0);
	assert_int_equal(g.n, 6);
	assert_int_equal(g.n_sets, 2);
	assert_int_equal(sim_group_first(&g, 5), 3);
	assert_string_equal(sim_group_full_name(&g, 0, name, sizeof(name)), "cpu_core/instructions/u");
	assert_string_equal(sim_group_full_name(&g, 4, name, sizeof(name)), "cpu_atom/cycles/u");
	sim_group_attr(&g, 4, false, &attr);
	assert_int_equal(attr.type, PERF_TYPE_HARDWARE);
	assert_int_equal(attr.config, UINT64_C(10) << 32 | PERF_COUNT_HW_CPU_CYCLES);
	sim_group_attr(&g, 5, false, &attr);
	assert_int_equal(attr.type, 10);
}

static void what_a_core_cannot_do_precisely_is_refused(void **state)
{
	const struct sim_counters intel = { .n_programmable = 4, .precise_max = 3 },
	                          amd = { .n_programmable = 6, .precise_max = 2, .precise_by_dispatch = 1 };
	struct sim_group_wish wish = { .text = "cycles:ppp" };
	struct sim_group g;

	(void)state;
	assert_int_equal(sim_group_parse(&wish, &intel, "intel", &g), 0);
	assert_int_equal(g.precise[0], 3);
	assert_int_equal(sim_group_parse(&wish, &amd, "amd", &g), -SP_EUSAGE);
	wish.text = "branches:pp";
	assert_int_equal(sim_group_parse(&wish, &intel, "intel", &g), 0);
	assert_int_equal(sim_group_parse(&wish, &amd, "amd", &g), -SP_EUSAGE);
	wish.text = "cycles:pp,instructions";
	assert_int_equal(sim_group_parse(&wish, &amd, "amd", &g), -SP_EUSAGE);
	wish.plain = true;
	assert_int_equal(sim_group_parse(&wish, &amd, "amd", &g), 0);
	wish.text = "cycles:k";
	assert_int_equal(sim_group_parse(&wish, &amd, "amd", &g), -SP_EUSAGE);
	/* P is what there is: two on AMD's, none at all where a core has none. */
	wish.text = "cycles:uP";
	assert_int_equal(sim_group_parse(&wish, &intel, "intel", &g), 0);
	assert_int_equal(g.precise[0], 3);
	assert_int_equal(sim_group_parse(&wish, &amd, "amd", &g), 0);
	assert_int_equal(g.precise[0], 2);
	assert_int_equal(sim_group_parse(&wish, &(struct sim_counters){ .n_programmable = 4 }, "none", &g),
	                 0);
	assert_int_equal(g.precise[0], 0);
	wish.text = "cycles:pP";
	assert_int_equal(sim_group_parse(&wish, &amd, "amd", &g), -SP_EUSAGE);
	wish.text = "cycles:pppp";
	assert_int_equal(sim_group_parse(&wish, &amd, "amd", &g), -SP_EUSAGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_default_group_fills_the_counters),
		cmocka_unit_test(without_fixed_counters_the_group_is_smaller),
		cmocka_unit_test(events_without_a_counter_take_turns),
		cmocka_unit_test(a_given_period_is_taken),
		cmocka_unit_test(sampled_events_come_first),
		cmocka_unit_test(perf_knows_its_own_events),
		cmocka_unit_test(wrong_events_are_refused),
		cmocka_unit_test(plain_events_take_linux_turns),
		cmocka_unit_test(two_kinds_of_core_have_their_events_each),
		cmocka_unit_test(what_a_core_cannot_do_precisely_is_refused),
	};

	return cmocka_run_group_tests_name("record_events", tests, NULL, NULL);
}
