/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/unit/sim_fixture.h"

#include <math.h>

#include "profiler/calibrate/fit.h"
#include "profiler/calibrate/knob.h"

static void every_key_of_the_table_can_be_moved(void **state)
{
	struct knob knobs[KNOBS_OF_KEY];
	struct sim_config config;
	size_t n;
	const struct cliff *c = cliff_table(&n);

	(void)state;
	read_core("zen5", &config);
	for (size_t i = 0; i < n; i++) {
		char params[256], *save = NULL;

		snprintf(params, sizeof(params), "%s", c[i].params);
		for (char *key = strtok_r(params, " ", &save); key; key = strtok_r(NULL, " ", &save))
			if (!strstr(key, "_ways") && !knobs_of(key, &config, knobs))
				fail_msg("cliff %s speaks of %s, which no core file has", c[i].name, key);
	}
}

static void ports_are_taken_from_those_of_the_same_part(void **state)
{
	struct knob knobs[KNOBS_OF_KEY];
	struct sim_config c;

	(void)state;
	read_core("zen5", &c);
	/* class.bits has 0,1,2 of the integer ports 0 to 5; class.alu all of them. */
	assert_int_equal(knobs_of("class.bits", &c, knobs), 4);
	assert_int_equal(knobs[1].kind, KNOB_PORTS);
	assert_int_equal(knob_get(&knobs[1], &c), 3);
	assert_true(knob_set(&knobs[1], &c, 5));
	assert_int_equal(c.cls[SIM_C_BITS].ports, 0x1f);
	assert_true(knob_set(&knobs[1], &c, 2));
	assert_int_equal(knob_get(&knobs[1], &c), 2);
	/* Six ports can be tied in twos and threes, not in fours. */
	knobs_of("class.alu", &c, knobs);
	assert_int_equal(knobs[2].kind, KNOB_CHOICE);
	assert_true(knob_set(&knobs[2], &c, knob_choice(6, 3)));
	assert_false(knob_set(&knobs[2], &c, knob_choice(6, 4)));
	assert_int_equal(c.cls[SIM_C_ALU].bind, 3);
	assert_int_equal(knob_get(&knobs[2], &c), knob_choice(6, 3));
	/* Without ports nothing would ever be executed. */
	assert_false(knob_set(&knobs[2], &c, knob_choice(0, 0)));
	/* Both at a time: four of them, in twos. */
	assert_true(knob_set(&knobs[2], &c, knob_choice(4, 2)));
	assert_int_equal(__builtin_popcount(c.cls[SIM_C_ALU].ports), 4);
	assert_int_equal(c.cls[SIM_C_ALU].bind, 2);
}

static void a_core_file_written_is_read_back_the_same(void **state)
{
	struct sim_config a, b;
	char *text = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&text, &n);

	(void)state;
	read_core("zen5", &a);
	a.cls[SIM_C_FSQRT64].occupancy_16 = 7 * 16 + 8;
	a.cls[SIM_C_MOVE].slots_milli = 1120;
	a.cls[SIM_C_ALU].bind = 2;
	a.flag_regs = 363;
	a.has_tovec = true;
	assert_non_null(f);
	sim_config_write(&a, f);
	fclose(f);
	assert_int_equal(sim_config_parse(text, n, &b), 0);
	assert_memory_equal(&a, &b, sizeof(a));
	free(text);
}

static double found_by(const char *row, const struct sim_config *config, enum cliff_verdict want)
{
	const struct cliff_sizes sizes = { 48, 1024, 32768 };
	const struct cliff *c = cliff_find(row);
	struct cliff_curve coarse, fine;
	struct cliff_arena arena;
	struct cliff_model *m;
	struct cliff_result r;

	assert_int_equal(cliff_arena_open(&arena, 0), 0);
	assert_int_equal(cliff_model_open(&arena, &m), 0);
	cliff_pressures(c, &sizes, false, &coarse);
	assert_int_equal(cliff_run_model(m, config, c, &coarse), 0);
	cliff_refine(c, &coarse, &fine);
	if (fine.n)
		assert_int_equal(cliff_run_model(m, config, c, &fine), 0);
	cliff_curve_join(&coarse, &fine);
	assert_int_equal(cliff_infer(c, &coarse, &r), 0);
	assert_int_equal(r.verdict, want);
	cliff_model_close(m);
	cliff_arena_close(&arena);
	return r.value;
}

/* 70 compares wait for a miss in a scheduler of 70; without a limit the reorder buffer's 448 are out of the row's range. */
static void an_integer_scheduler_is_seen_to_the_entry(void **state)
{
	struct sim_config c;

	(void)state;
	read_core("zen5", &c);
	c.int_scheduler = 70;
	assert_float_equal(found_by("int-scheduler", &c, CLIFF_CLEAN), 70, 0);
	c.int_scheduler = 0;
	assert_true(isnan(found_by("int-scheduler", &c, CLIFF_ABSENT)));
}

/* Of 60, one is the miss's way to the vector registers and one must be left for the next miss's address. */
static void a_vector_scheduler_is_seen_to_the_entry(void **state)
{
	struct sim_config c;

	(void)state;
	read_core("zen5", &c);
	c.fp_scheduler = 60;
	c.fp_queue = 50;
	assert_float_equal(found_by("fp-scheduler", &c, CLIFF_CLEAN), 58, 0);
}

/* 60 in the scheduler, 50 before it, one of them the miss's way to the vector registers. */
static void a_vector_queue_is_seen_to_the_entry(void **state)
{
	struct sim_config c;

	(void)state;
	read_core("zen5", &c);
	c.fp_scheduler = 60;
	c.fp_queue = 50;
	assert_float_equal(found_by("fp-queue", &c, CLIFF_CLEAN), 109, 0);
}

/* The next miss waits for its own address in the same 44. */
static void an_address_scheduler_is_seen_to_the_entry(void **state)
{
	struct sim_config c;

	(void)state;
	read_core("zen5", &c);
	c.address_scheduler = 44;
	assert_float_equal(found_by("address-scheduler", &c, CLIFF_CLEAN), 43, 0);
}

/* Ten cycles more after the last store has left make ten cycles more a turn. */
static void a_failed_forwarding_is_seen_to_the_cycle(void **state)
{
	struct sim_config c;
	double before;

	(void)state;
	read_core("zen5", &c);
	c.forward_fail_cyc = 12;
	before = found_by("forward-fail-latency", &c, CLIFF_CLEAN);
	c.forward_fail_cyc = 22;
	assert_float_equal(found_by("forward-fail-latency", &c, CLIFF_CLEAN), before + 10, 1e-6);
}

/* 16 entries know nothing of a pattern of 512: half of the turns pay 15 cycles and more, which those of 64K entries don't. */
static void a_pattern_is_known_by_heart_or_not(void **state)
{
	struct cliff_curve little = { .n = 1, .pressure = { 512 } }, large = little;
	const struct cliff *row = cliff_find("predictor");
	struct cliff_arena arena;
	struct cliff_model *m;
	struct sim_config c;

	(void)state;
	read_core("zen5", &c);
	assert_int_equal(cliff_arena_open(&arena, 0), 0);
	assert_int_equal(cliff_model_open(&arena, &m), 0);
	c.predictor_bits = 4;
	assert_int_equal(cliff_run_model(m, &c, row, &little), 0);
	c.predictor_bits = 16;
	assert_int_equal(cliff_run_model(m, &c, row, &large), 0);
	assert_true(little.response[0] > large.response[0] + 15 / 2.0);
	cliff_model_close(m);
	cliff_arena_close(&arena);
}

/* Errors of +1%, -3% and nothing found: 1, 3 and 100%; the integer row is not among the continuous ones. */
static void the_summary_is_of_clean_rows(void **state)
{
	static const struct cliff whole = { .name = "whole", .integer = true }, real = { .name = "real" };
	const struct fit_row rows[] = {
		{ .cliff = &whole, .err_after = 0.01, .counts = true },
		{ .cliff = &real, .err_after = -0.03, .counts = true },
		{ .cliff = &real, .err_after = NAN, .counts = true },
		{ .cliff = &real, .err_after = 5, .counts = false },
	};
	struct fit_summary s;

	(void)state;
	fit_summarise(rows, 4, true, &s);
	assert_int_equal(s.n, 3);
	assert_int_equal(s.n_continuous, 2);
	assert_float_equal(s.mean, 1.04 / 3, 1e-12);
	assert_float_equal(s.mean_continuous, 1.03 / 2, 1e-12);
	assert_float_equal(s.median, 0.03, 1e-12);
	assert_float_equal(s.signed_mean, -1.02 / 3, 1e-12);
	assert_float_equal(s.worst, -1, 1e-12);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_key_of_the_table_can_be_moved),
		cmocka_unit_test(ports_are_taken_from_those_of_the_same_part),
		cmocka_unit_test(a_core_file_written_is_read_back_the_same),
		cmocka_unit_test(an_integer_scheduler_is_seen_to_the_entry),
		cmocka_unit_test(a_vector_scheduler_is_seen_to_the_entry),
		cmocka_unit_test(a_vector_queue_is_seen_to_the_entry),
		cmocka_unit_test(an_address_scheduler_is_seen_to_the_entry),
		cmocka_unit_test(a_failed_forwarding_is_seen_to_the_cycle),
		cmocka_unit_test(a_pattern_is_known_by_heart_or_not),
		cmocka_unit_test(the_summary_is_of_clean_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
