/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which cliffs matter: clusters by density, shares of cycles, the two rounds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "profiler/base/err.h"
#include "profiler/calibrate/dbscan.h"
#include "profiler/calibrate/matter.h"

/* On a line: three at 0..2, four at 10..13, one at 30, and one at 3.9 that only the border point 3 reaches. */
static void clusters_are_what_is_dense(void **state)
{
	const double points[] = { 0, 30, 1, 10, 11, 2, 12, 13 };
	int of[8];

	(void)state;
	assert_int_equal(dbscan(points, 8, 1, 1, 3, of), 2);
	/* 0 and 2 have two neighbours only (themselves and 1): border points of the core point 1. */
	assert_int_equal(of[0], 0);
	assert_int_equal(of[2], 0);
	assert_int_equal(of[5], 0);
	assert_int_equal(of[1], DBSCAN_NOISE);
	assert_int_equal(of[3], 1);
	assert_int_equal(of[4], 1);
	assert_int_equal(of[6], 1);
	assert_int_equal(of[7], 1);
}

/* A border point passes nothing on: 2 is one, so 3 is not reached through it. */
static void border_points_do_not_grow_a_cluster(void **state)
{
	const double points[] = { 0, 0.5, 1, 2, 3 };
	int of[5];

	(void)state;
	assert_int_equal(dbscan(points, 5, 1, 1, 4, of), 1);
	assert_int_equal(of[3], 0);
	assert_int_equal(of[4], DBSCAN_NOISE);
}

/* Distance in two dimensions: 3-4-5. */
static void distances_are_euclidean(void **state)
{
	const double points[] = { 0, 0, 3, 4 };
	int of[2];

	(void)state;
	assert_int_equal(dbscan(points, 2, 2, 5, 2, of), 1);
	assert_int_equal(dbscan(points, 2, 2, 4.9, 2, of), 0);
	assert_int_equal(of[0], DBSCAN_NOISE);
	assert_int_equal(dbscan(points, 0, 2, 5, 2, of), 0);
}

static const struct sim_config core = {
	.dispatch_width = 8,
	.mispredict_cyc = 15,
	.l1 = { .latency_cyc = 4 },
	.l2 = { .latency_cyc = 14 },
	.l3 = { .latency_cyc = 54 },
	.dram_cyc = 500,
};

/*
 * 10000 cycles: 16000 / 8 = 2000 retiring; 100 x 15 = 1500 speculation; 60 - 40 = 20 x (14 - 4) = 200 L2;
 * 40 - 4 = 36 x (54 - 4) = 1800 L3; 4 x 500 = 2000 memory; the rest is 2500.
 */
static void shares_are_counts_times_latencies(void **state)
{
	const struct matter_counts n = { 10000, 16000, 100, 60, 40, 4 };
	double share[MATTER_KINDS];

	(void)state;
	matter_shares(&n, &core, share);
	assert_float_equal(share[MATTER_RETIRING], 0.20, 1e-6);
	assert_float_equal(share[MATTER_SPECULATION], 0.15, 1e-6);
	assert_float_equal(share[MATTER_L2], 0.02, 1e-6);
	assert_float_equal(share[MATTER_L3], 0.18, 1e-6);
	assert_float_equal(share[MATTER_DRAM], 0.20, 1e-6);
	assert_float_equal(share[MATTER_REST], 0.25, 1e-6);
}

/* 8000 / 8 = 1000 retiring leave 9000; 30 misses of 500 that overlapped would be 15000: they are 0.9. */
static void overlapping_misses_take_no_more_than_there_is(void **state)
{
	const struct matter_counts n = { 10000, 8000, 0, 30, 30, 30 };
	double share[MATTER_KINDS], sum = 0;

	(void)state;
	matter_shares(&n, &core, share);
	assert_float_equal(share[MATTER_DRAM], 0.9, 1e-6);
	for (unsigned k = 0; k < MATTER_KINDS; k++)
		sum += share[k];
	assert_float_equal(sum, 1, 1e-6);
}

/* Three kinds of interval, ten each; two of them look alike in the first round (memory) and part in the second. */
static void memory_is_split_by_its_levels(void **state)
{
	static const double kinds[3][MATTER_KINDS] = {
		{ 0.9, 0, 0, 0, 0, 0.1 },
		{ 0.2, 0, 0.1, 0.7, 0, 0 },
		{ 0.2, 0, 0, 0.1, 0.7, 0 },
	};
	double share[30 * MATTER_KINDS], cycles[30];
	struct matter m;

	(void)state;
	for (unsigned i = 0; i < 30; i++) {
		memcpy(share + i * MATTER_KINDS, kinds[i % 3], sizeof(kinds[0]));
		cycles[i] = 1 + i % 3; /* 10, 20, 30 of 60 */
	}
	assert_int_equal(matter_cluster(share, cycles, 30, &m), 0);
	assert_int_equal(m.n, 3);
	assert_int_equal(m.n_noise, 0);
	assert_float_equal(m.cluster[0].cycles, 0.5, 1e-6);
	assert_int_equal(m.cluster[0].chief, MATTER_DRAM);
	assert_int_equal(m.cluster[1].chief, MATTER_L3);
	assert_float_equal(m.cluster[1].share[MATTER_L3], 0.7, 1e-6);
	assert_int_equal(m.cluster[2].chief, MATTER_RETIRING);
	assert_int_equal(m.cluster[2].n_points, 10);
}

/* A cliff is listed under what it can change, and every kind has some. */
static void every_kind_has_its_cliffs(void **state)
{
	size_t n;
	const struct cliff *all = cliff_table(&n);

	(void)state;
	assert_true(matter_concerns(cliff_find("mispredict"), MATTER_SPECULATION));
	assert_false(matter_concerns(cliff_find("mispredict"), MATTER_DRAM));
	assert_true(matter_concerns(cliff_find("dram-latency"), MATTER_DRAM));
	assert_false(matter_concerns(cliff_find("dram-latency"), MATTER_REST));
	assert_true(matter_concerns(cliff_find("fma-latency"), MATTER_REST));
	for (int k = 0; k < MATTER_KINDS; k++) {
		size_t some = 0;

		for (size_t i = 0; i < n; i++)
			some += matter_concerns(&all[i], (enum matter_kind)k);
		assert_true(some >= 3);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(clusters_are_what_is_dense),
		cmocka_unit_test(border_points_do_not_grow_a_cluster),
		cmocka_unit_test(distances_are_euclidean),
		cmocka_unit_test(shares_are_counts_times_latencies),
		cmocka_unit_test(overlapping_misses_take_no_more_than_there_is),
		cmocka_unit_test(memory_is_split_by_its_levels),
		cmocka_unit_test(every_kind_has_its_cliffs),
	};

	return cmocka_run_group_tests_name("which cliffs matter", tests, NULL, NULL);
}
