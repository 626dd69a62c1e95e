/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From curves with a known answer to numbers; the traps that native measurements set. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <gsl/gsl_randist.h>
#include <gsl/gsl_rng.h>

#include "profiler/base/err.h"
#include "profiler/calibrate/cliff.h"
#include "profiler/calibrate/runs.h"

enum { N_TRIES = 200 };

static struct cliff_result infer(const struct cliff *c, const struct cliff_curve *curve)
{
	struct cliff_result r;

	assert_int_equal(cliff_infer(c, curve, &r), 0);
	return r;
}

static struct cliff_curve points(uint32_t from, uint32_t to, uint32_t step)
{
	struct cliff_curve c = { 0 };

	for (uint32_t p = from; p <= to; p += step)
		c.pressure[c.n++] = p;
	return c;
}

/* Normal noise, a share of the response. */
static void add_noise(struct cliff_curve *c, gsl_rng *rng, double share)
{
	for (size_t i = 0; i < c->n; i++) {
		c->response[i] *= 1 + gsl_ran_gaussian(rng, share);
		c->spread[i] = share * c->response[i];
	}
}

/* ---- trend lines ---- */

/* Trap 5: 37 cycles for starting and reading are no part of 3 cycles a multiplication. */
static void what_every_run_costs_is_no_latency(void **state)
{
	const struct cliff c = { .name = "x", .method = CLIFF_SLOPE, .amount = 1 };
	struct cliff_curve curve = points(48, 288, 48);
	struct cliff_result r;
	struct runs runs = { .n = 16, .n_few = 10, .n_many = 40 };
	double response, spread;

	(void)state;
	for (size_t i = 0; i < curve.n; i++)
		curve.response[i] = 37 + 3.0 * curve.pressure[i];
	r = infer(&c, &curve);
	assert_float_equal(r.value, 3, 1e-9);
	assert_int_equal(r.verdict, CLIFF_CLEAN);
	/* Runs of 10 and 40 iterations of 100 cycles, 500 for the counter: (4500 - 1500) / 30. */
	for (size_t i = 0; i < runs.n; i++) {
		runs.few[i] = 500 + 10 * 100;
		runs.many[i] = 500 + 40 * 100;
	}
	runs_read(&runs, 0.1, &response, &spread);
	assert_float_equal(response, 100, 1e-9);
	assert_float_equal(spread, 0, 1e-9);
}

/* Two operations a snippet: 6 cycles each, so 3 an operation; and 4 of them in 2 cycles are 2 a cycle. */
static void amounts_are_operations_in_a_snippet(void **state)
{
	const struct cliff chain = { .name = "x", .method = CLIFF_SLOPE, .amount = 2 };
	const struct cliff series = { .name = "x", .method = CLIFF_RATE, .amount = 4 };
	struct cliff_curve curve = points(10, 50, 10);

	(void)state;
	for (size_t i = 0; i < curve.n; i++)
		curve.response[i] = 1 + 6.0 * curve.pressure[i];
	assert_float_equal(infer(&chain, &curve).value, 3, 1e-9);
	for (size_t i = 0; i < curve.n; i++)
		curve.response[i] = 1 + 2.0 * curve.pressure[i];
	assert_float_equal(infer(&series, &curve).value, 2, 1e-9);
}

/* A 95% interval of a trend line holds the truth 190 times of 200, sd 3.1; 5 sd below is 174. */
static void intervals_of_trend_lines_hold_the_truth(void **state)
{
	const struct cliff c = { .name = "x", .method = CLIFF_SLOPE, .amount = 1 };
	gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
	unsigned held = 0;

	(void)state;
	for (unsigned k = 0; k < N_TRIES; k++) {
		struct cliff_curve curve = points(48, 288, 48);
		struct cliff_result r;

		/* Noise of the same size at every point, as the interval supposes. */
		for (size_t i = 0; i < curve.n; i++)
			curve.response[i] = 20 + 4.0 * curve.pressure[i] + gsl_ran_gaussian(rng, 3);
		r = infer(&c, &curve);
		held += r.lo <= 4 && 4 <= r.hi;
	}
	gsl_rng_free(rng);
	assert_in_range(held, 174, 200);
}

/* Multiplications of latency 3 on 2 ports: p streams take max(3, p / 2) cycles, so 2 a cycle from 6 on. */
static void a_plateau_is_where_more_streams_bring_nothing(void **state)
{
	const struct cliff c = { .name = "x", .method = CLIFF_PLATEAU, .amount = 1 };
	struct cliff_curve curve = points(1, 12, 1);
	struct cliff_result r;

	(void)state;
	for (size_t i = 0; i < curve.n; i++)
		curve.response[i] = fmax(3, curve.pressure[i] / 2.0);
	r = infer(&c, &curve);
	assert_float_equal(r.value, 2, 1e-9);
	assert_float_equal(r.before, 1 / 3.0, 1e-9);
	assert_int_equal(r.verdict, CLIFF_CLEAN);
}

/* ---- change points ---- */

static const struct cliff window = {
	.name = "x", .shape = CLIFF_MISSES, .method = CLIFF_KNEE, .amount = 2, .is_far = true
};

/* Some 800 cycles while both misses are in the window, 1400 when they are not; a little more for each filler. */
static double window_response(uint32_t p, uint32_t room)
{
	return (p <= room ? 780 : 1370) + 0.15 * p;
}

static struct cliff_curve window_curve(struct cliff_curve at, uint32_t room)
{
	for (size_t i = 0; i < at.n; i++)
		at.response[i] = window_response(at.pressure[i], room);
	return at;
}

/* As a measurement does it: coarse steps, then every pressure around the change. */
static struct cliff_curve two_stages(uint32_t room, gsl_rng *rng, double noise)
{
	struct cliff_curve coarse = window_curve(points(20, 800, 20), room), fine;

	add_noise(&coarse, rng, noise);
	cliff_refine(&window, &coarse, &fine);
	fine = window_curve(fine, room);
	add_noise(&fine, rng, noise);
	cliff_curve_join(&coarse, &fine);
	return coarse;
}

/* At 2% of noise the step is 30 sd: every one of 200 windows of random sizes must be found to the entry. */
static void windows_are_found_to_the_entry(void **state)
{
	gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);

	(void)state;
	for (unsigned k = 0; k < N_TRIES; k++) {
		uint32_t room = 40 + (uint32_t)gsl_rng_uniform_int(rng, 680);
		struct cliff_curve curve = two_stages(room, rng, 0.02);
		struct cliff_result r = infer(&window, &curve);

		assert_float_equal(r.value, room + 2, 0);
		assert_int_equal(r.verdict, CLIFF_CLEAN);
		assert_true(r.lo <= r.value && r.value <= r.hi);
	}
	gsl_rng_free(rng);
}

/* Trap 2: a miss of 50 cycles is over before 8 fillers a cycle have filled anything: a bend at 200, but no step. */
static void fillers_slower_than_the_miss_are_no_window(void **state)
{
	struct cliff_curve curve = points(20, 800, 20);
	size_t n;
	const struct cliff *all = cliff_table(&n);

	(void)state;
	for (size_t i = 0; i < curve.n; i++)
		curve.response[i] = fmax(50, 2 * curve.pressure[i] / 8.0);
	assert_int_equal(infer(&window, &curve).verdict, CLIFF_ABSENT);
	assert_true(isnan(infer(&window, &curve).value));
	/* And every window's misses go to memory that no cache holds. */
	for (size_t i = 0; i < n; i++)
		assert_true(all[i].shape != CLIFF_MISSES || all[i].is_far);
}

/* Trap 7: taken jumps cost half a cycle each, before and behind the step at 292. */
static void a_step_is_found_on_a_slope(void **state)
{
	struct cliff_curve curve = points(20, 600, 4);
	struct cliff_result r;

	(void)state;
	for (size_t i = 0; i < curve.n; i++)
		curve.response[i] = 1000 + 0.5 * curve.pressure[i] + (curve.pressure[i] > 292 ? 500 : 0);
	r = infer(&window, &curve);
	assert_float_equal(r.value, 292 + 2, 0);
	assert_float_equal(r.before, 1146, 1);
	assert_float_equal(r.after, 1648, 1);
}

/*
 * A step that takes 14 entries, as registers for flags do, seen closely on its left and coarsely on its right: half
 * way up, at 360, whatever line could be laid along the step itself.
 */
static void a_wide_step_is_where_it_is_half_way_up(void **state)
{
	struct cliff_curve curve = points(20, 320, 20);
	struct cliff_result r;

	(void)state;
	for (uint32_t p = 330; p < 370; p++)
		curve.pressure[curve.n++] = p;
	for (uint32_t p = 380; p <= 800; p += 20)
		curve.pressure[curve.n++] = p;
	for (size_t i = 0; i < curve.n; i++)
		curve.response[i] = 700 + 0.2 * curve.pressure[i] +
		                    600 * fmin(1, fmax(0, (curve.pressure[i] - 353.0) / 14));
	r = infer(&window, &curve);
	assert_float_equal(r.value, 360 + 2, 1);
	assert_int_equal(r.verdict, CLIFF_CLEAN);
}

/* A slope alone is none, nor is noise alone. */
static void no_step_is_absent(void **state)
{
	gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
	struct cliff_curve curve = points(20, 800, 20);

	(void)state;
	for (size_t i = 0; i < curve.n; i++)
		curve.response[i] = 700 + 1.2 * curve.pressure[i];
	assert_int_equal(infer(&window, &curve).verdict, CLIFF_ABSENT);
	for (unsigned k = 0; k < N_TRIES; k++) {
		for (size_t i = 0; i < curve.n; i++)
			curve.response[i] = 700;
		add_noise(&curve, rng, 0.03);
		assert_int_equal(infer(&window, &curve).verdict, CLIFF_ABSENT);
	}
	gsl_rng_free(rng);
}

/* 4 cycles a call up to 31, then 27 more for each return that is not predicted. */
static void a_bend_is_where_returns_begin_to_miss(void **state)
{
	const struct cliff c = { .name = "x", .shape = CLIFF_CALLS, .method = CLIFF_BEND };
	struct cliff_curve coarse = points(2, 80, 2), fine;
	struct cliff_result r;

	(void)state;
	for (unsigned stage = 0; stage < 2; stage++) {
		struct cliff_curve *curve = stage ? &fine : &coarse;

		for (size_t i = 0; i < curve->n; i++)
			curve->response[i] =
			        4.0 * curve->pressure[i] + 27 * fmax(0, curve->pressure[i] - 31.0);
		if (!stage)
			cliff_refine(&c, &coarse, &fine);
	}
	cliff_curve_join(&coarse, &fine);
	r = infer(&c, &coarse);
	assert_float_equal(r.value, 31, 1);
	assert_int_equal(r.verdict, CLIFF_CLEAN);
}

/* Trap 8: loads that need a vector register each stop where the registers do; that says nothing of the load queue. */
static void a_place_shared_by_two_structures_is_the_other_ones(void **state)
{
	const struct cliff *queue = cliff_find("load-queue");
	const struct cliff_result regs = { .value = 413, .verdict = CLIFF_CLEAN },
	                          none = { .verdict = CLIFF_ABSENT };
	struct cliff_result same = { .value = 411, .verdict = CLIFF_CLEAN },
	                    less = { .value = 202, .verdict = CLIFF_CLEAN };
	struct cliff_result alone = same, own = { .value = 417, .verdict = CLIFF_CLEAN };

	(void)state;
	assert_string_equal(queue->behind, "fp-regs");
	cliff_attribute(queue, &regs, &same);
	assert_int_equal(same.verdict, CLIFF_ABSENT);
	cliff_attribute(queue, &regs, &less);
	assert_int_equal(less.verdict, CLIFF_CLEAN);
	cliff_attribute(queue, &none, &alone);
	assert_int_equal(alone.verdict, CLIFF_CLEAN);
	/* But 417 vector registers in a reorder buffer of 443 are their own limit. */
	cliff_attribute(cliff_find("fp-regs"), &(struct cliff_result){ .value = 443, .verdict = CLIFF_CLEAN },
	                &own);
	assert_int_equal(own.verdict, CLIFF_CLEAN);
}

/* ---- footprints ---- */

static const struct cliff footprint = {
	.name = "x", .shape = CLIFF_CHASE, .method = CLIFF_FILL, .scale = CLIFF_OF_L1
};

/* 48 KB in 12 ways, least recently used goes: each KB more overflows 16 of 64 sets, until at 52 KB all miss. */
static void a_cache_is_as_large_as_where_its_sets_begin_to_overflow(void **state)
{
	struct cliff_curve curve = points(24, 96, 1);
	struct cliff_result r;

	(void)state;
	for (size_t i = 0; i < curve.n; i++)
		curve.response[i] = 4 + 10 * fmin(1, fmax(0, curve.pressure[i] - 48.0) / 4);
	/* A neighbour on the machine spoils one point. */
	curve.response[10] = 30;
	r = infer(&footprint, &curve);
	assert_float_equal(r.value, 48, 0);
	assert_int_equal(r.verdict, CLIFF_CLEAN);
}

/* Pages at random: the rise from 500 to 1500 is long, its middle near the size, and nobody may call that exact. */
static void a_long_rise_is_weak(void **state)
{
	struct cliff_curve curve = points(300, 2000, 50);
	struct cliff_result r;

	(void)state;
	for (size_t i = 0; i < curve.n; i++)
		curve.response[i] = 14 + 33 * fmin(1, fmax(0, curve.pressure[i] - 500.0) / 1000);
	r = infer(&footprint, &curve);
	assert_float_equal(r.value, 1000, 50);
	assert_int_equal(r.verdict, CLIFF_WEAK);
	assert_true(r.lo < 800 && r.hi > 1200);
}

/* ---- pairs ---- */

/*
 * A second-level cache of a virtual machine whose pages lie at random, as measured: it rises from 400 KB on, and most
 * points are around 1 MB, where the change point was looked for.  The rise does not begin there.
 */
static void points_that_crowd_in_a_rise_do_not_hide_where_it_begins(void **state)
{
	static const struct {
		uint32_t kb;
		double cycles;
	} seen[] = { { 308, 14.0 },  { 408, 14.3 },  { 512, 15.7 },  { 616, 16.7 },  { 716, 17.3 },
		     { 820, 17.7 },  { 920, 18.1 },  { 972, 19.0 },  { 983, 19.2 },  { 994, 19.8 },
		     { 1005, 20.2 }, { 1016, 21.2 }, { 1024, 23.9 }, { 1027, 22.2 }, { 1038, 23.8 },
		     { 1049, 25.2 }, { 1060, 25.7 }, { 1071, 26.3 }, { 1082, 27.1 }, { 1093, 28.2 },
		     { 1104, 29.0 }, { 1115, 30.0 }, { 1126, 31.1 }, { 1128, 32.8 }, { 1137, 31.4 },
		     { 1148, 32.3 }, { 1159, 32.4 }, { 1170, 33.9 }, { 1228, 39.3 }, { 1332, 36.6 },
		     { 1432, 38.7 }, { 1536, 40.8 }, { 1640, 42.9 }, { 1740, 39.5 }, { 1844, 40.5 },
		     { 1944, 41.1 }, { 2048, 42.2 } };
	struct cliff_curve curve = { .n = sizeof(seen) / sizeof(*seen) };
	struct cliff_result r;

	(void)state;
	for (size_t i = 0; i < curve.n; i++) {
		curve.pressure[i] = seen[i].kb;
		curve.response[i] = seen[i].cycles;
	}
	r = infer(cliff_find("l2-size"), &curve);
	assert_int_equal(r.verdict, CLIFF_WEAK);
	assert_true(r.lo < 950 && r.hi > 1200);
}

static void a_difference_counts_only_beyond_its_noise(void **state)
{
	const struct cliff c = { .name = "x", .method = CLIFF_DIFFERENCE, .amount = 0.5 };
	struct cliff_curve curve = {
		.n = 2, .pressure = { 0, 1 }, .response = { 15, 24 }, .spread = { 0.03, 0.04 }
	};
	struct cliff_result r = infer(&c, &curve);

	(void)state;
	/* (24 - 15) / 0.5 = 18, +- hypot(0.03, 0.04) / 0.5 = 0.1 */
	assert_float_equal(r.value, 18, 1e-6);
	assert_float_equal(r.hi - r.value, 0.1, 1e-6);
	assert_int_equal(r.verdict, CLIFF_CLEAN);
	curve.spread[1] = 3;
	assert_int_equal(infer(&c, &curve).verdict, CLIFF_NOISY);
	curve.response[1] = 15.1;
	assert_int_equal(infer(&c, &curve).verdict, CLIFF_ABSENT);
}

static void a_feature_is_there_or_not(void **state)
{
	const struct cliff c = { .name = "x", .method = CLIFF_PRESENCE, .amount = 1.5 };
	struct cliff_curve curve = {
		.n = 2, .pressure = { 0, 1 }, .response = { 1, 1 }, .spread = { 0.01, 0.01 }
	};

	(void)state;
	assert_float_equal(infer(&c, &curve).value, 1, 0);
	curve.response[1] = 3;
	assert_float_equal(infer(&c, &curve).value, 0, 0);
	assert_int_equal(infer(&c, &curve).verdict, CLIFF_CLEAN);
	curve.response[1] = 1.5;
	assert_int_equal(infer(&c, &curve).verdict, CLIFF_WEAK);
}

/* ---- sweeps and runs ---- */

static void sweeps_that_differ_are_not_clean(void **state)
{
	struct cliff_result sweep[2] = { { .value = 100, .verdict = CLIFF_CLEAN },
		                         { .value = 101, .verdict = CLIFF_CLEAN } };
	struct cliff_result r = { .value = 100, .lo = 100, .hi = 100, .verdict = CLIFF_CLEAN };

	(void)state;
	cliff_agree(sweep, 2, &r);
	assert_int_equal(r.verdict, CLIFF_CLEAN);
	assert_float_equal(r.hi, 101, 0);
	/* 12% apart: half of that is more than 3%. */
	sweep[1].value = 112;
	cliff_agree(sweep, 2, &r);
	assert_int_equal(r.verdict, CLIFF_WEAK);
	sweep[1].verdict = CLIFF_ABSENT;
	cliff_agree(sweep, 2, &r);
	assert_int_equal(r.verdict, CLIFF_NOISY);
}

/* Trap 6: one walk that happened to start in a cache took 186 cycles an iteration, the others 1287. */
static void the_luckiest_walk_is_not_the_truth(void **state)
{
	struct runs r = { .n = 16, .n_few = 10, .n_many = 40 };
	double response, spread;

	(void)state;
	for (size_t i = 0; i < r.n; i++) {
		r.few[i] = 10 * 1287;
		r.many[i] = 40 * 1287;
	}
	r.many[5] = r.few[5] = 186 * 40;
	assert_float_equal(runs_quantile(&window), 0.25, 0);
	assert_float_equal(runs_quantile(&footprint), 0.25, 0);
	runs_read(&r, runs_quantile(&window), &response, &spread);
	assert_float_equal(response, 1287, 1e-9);
}

/* Interrupts make a fifth of the runs of a chain longer; a low quantile does not see them. */
static void interrupted_runs_do_not_count(void **state)
{
	const struct cliff chain = { .name = "x", .shape = CLIFF_CHAIN };
	struct runs r = { .n = 40, .n_few = 10, .n_many = 40 };
	double response, spread;

	(void)state;
	for (size_t i = 0; i < r.n; i++) {
		r.few[i] = 10 * 300;
		r.many[i] = 40 * 300 + (i % 5 == 0 ? 20000 : 0);
	}
	runs_read(&r, runs_quantile(&chain), &response, &spread);
	assert_float_equal(response, 300, 1e-9);
}

/* ---- rows ---- */

/* Trap 3: with and without misses, the branch hangs on the same chain; only what it looks at differs. */
static void mispredicted_branches_are_on_the_loop_carried_chain(void **state)
{
	const struct cliff *c = cliff_find("mispredict");
	const char *with = strstr(c->snippet, "test r15,r15; js @"),
	           *without = strstr(c->base, "test r11,r11; js @");

	(void)state;
	assert_non_null(with);
	assert_non_null(without);
	assert_int_equal(with - c->snippet, without - c->base);
	assert_memory_equal(c->snippet, c->base, (size_t)(with - c->snippet));
	assert_memory_equal(c->snippet, "imul r15,r10; add r15,r11; ", 27);
	/* Half of the branches miss. */
	assert_float_equal(c->amount, 0.5, 0);
}

/* Also the fewer points of a quick measurement are enough for every row's method, whatever the caches' sizes are. */
static void every_row_has_points_enough(void **state)
{
	static const struct cliff_sizes machines[] = { { 48, 1024, 32768 },
		                                       { 32, 256, 6144 },
		                                       { 64, 512, 4096 } };
	size_t n;
	const struct cliff *all = cliff_table(&n);

	(void)state;
	for (size_t m = 0; m < sizeof(machines) / sizeof(*machines); m++)
		for (size_t i = 0; i < 2 * n; i++) {
			struct cliff_curve curve;
			struct cliff_result r;

			cliff_pressures(&all[i / 2], &machines[m], i % 2, &curve);
			for (size_t k = 0; k < curve.n; k++)
				curve.response[k] = curve.pressure[k] + 1;
			assert_int_equal(cliff_infer(&all[i / 2], &curve, &r), 0);
		}
}

/* Trap 4: through the register of the store, a load may be renamed away. */
static void forwarding_goes_through_another_register(void **state)
{
	const struct cliff *forward = cliff_find("forward-latency"),
	                   *renaming = cliff_find("memory-renaming");

	(void)state;
	assert_string_equal(forward->snippet, "mov [r13+64],rax; mov rax,[r12-4032]");
	assert_string_equal(renaming->base, forward->snippet);
	assert_string_equal(renaming->snippet, "mov [r13+64],rax; mov rax,[r13+64]");
}

/* Trap 1: pages never written are all the one page of zeros; of a written one the kernel says that it is anonymous. */
static void all_memory_is_written_before_it_is_read(void **state)
{
	struct cliff_arena a;
	unsigned long begin, end, kb, anonymous_kb = 0;
	bool is_ours = false;
	char line[256];
	FILE *f;

	(void)state;
	assert_int_equal(cliff_arena_open(&a, 0), 0);
	f = fopen("/proc/self/smaps", "r");
	if (!f) {
		cliff_arena_close(&a);
		skip();
	}
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lx-%lx ", &begin, &end) == 2)
			is_ours = begin < (uintptr_t)a.buffer && end > (uintptr_t)a.chase;
		else if (is_ours && sscanf(line, "Anonymous: %lu kB", &kb) == 1)
			anonymous_kb += kb;
	}
	fclose(f);
	cliff_arena_close(&a);
	assert_true(anonymous_kb >= (CLIFF_CHASE_BYTES + CLIFF_BUFFER_BYTES) / 1024);
}

/* A server's third-level cache of 300 MB: footprints of up to 190% of it must have room. */
static void a_large_cache_has_a_larger_memory(void **state)
{
	const struct cliff *c = cliff_find("l3-size");
	const uint32_t kb = 570 << 10;
	struct cliff_arena a;
	uint64_t at, first, n = 0;

	(void)state;
	if (cliff_arena_open(&a, 300 << 10) < 0)
		skip(); /* so much is not free */
	assert_int_equal(a.chase_bytes, 1 << 30);
	cliff_arena_prepare(&a, c, kb);
	at = first = a.state->chase[0];
	do {
		assert_true(at >= (uintptr_t)a.chase && at < (uintptr_t)a.chase + (uint64_t)kb * 1024);
		at = *(uint64_t *)(uintptr_t)at;
		n++;
	} while (at != first);
	assert_int_equal(n, (uint64_t)kb * 1024 / 64);
	cliff_arena_close(&a);
	assert_int_equal(cliff_arena_open(&a, UINT32_MAX), -SP_ENOMEM);
}

/* Every line of a footprint is visited before the first comes again. */
static void a_chase_visits_every_line(void **state)
{
	const struct cliff *c = cliff_find("l1-size");
	const unsigned lines = 36 * 1024 / 64;
	struct cliff_arena a;
	uint64_t at, first;

	(void)state;
	assert_int_equal(cliff_arena_open(&a, 0), 0);
	cliff_arena_prepare(&a, c, 36);
	at = first = a.state->chase[0];
	for (unsigned i = 1; i < lines; i++) {
		at = *(uint64_t *)(uintptr_t)at;
		assert_true(at != first);
		assert_in_range(at, (uintptr_t)a.chase, (uintptr_t)a.chase + 36 * 1024 - 64);
	}
	assert_int_equal(*(uint64_t *)(uintptr_t)at, first);
	cliff_arena_close(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_every_run_costs_is_no_latency),
		cmocka_unit_test(amounts_are_operations_in_a_snippet),
		cmocka_unit_test(intervals_of_trend_lines_hold_the_truth),
		cmocka_unit_test(a_plateau_is_where_more_streams_bring_nothing),
		cmocka_unit_test(windows_are_found_to_the_entry),
		cmocka_unit_test(fillers_slower_than_the_miss_are_no_window),
		cmocka_unit_test(a_step_is_found_on_a_slope),
		cmocka_unit_test(a_wide_step_is_where_it_is_half_way_up),
		cmocka_unit_test(no_step_is_absent),
		cmocka_unit_test(a_bend_is_where_returns_begin_to_miss),
		cmocka_unit_test(a_place_shared_by_two_structures_is_the_other_ones),
		cmocka_unit_test(a_cache_is_as_large_as_where_its_sets_begin_to_overflow),
		cmocka_unit_test(a_long_rise_is_weak),
		cmocka_unit_test(points_that_crowd_in_a_rise_do_not_hide_where_it_begins),
		cmocka_unit_test(a_difference_counts_only_beyond_its_noise),
		cmocka_unit_test(a_feature_is_there_or_not),
		cmocka_unit_test(sweeps_that_differ_are_not_clean),
		cmocka_unit_test(the_luckiest_walk_is_not_the_truth),
		cmocka_unit_test(interrupted_runs_do_not_count),
		cmocka_unit_test(mispredicted_branches_are_on_the_loop_carried_chain),
		cmocka_unit_test(every_row_has_points_enough),
		cmocka_unit_test(forwarding_goes_through_another_register),
		cmocka_unit_test(all_memory_is_written_before_it_is_read),
		cmocka_unit_test(a_large_cache_has_a_larger_memory),
		cmocka_unit_test(a_chase_visits_every_line),
	};

	return cmocka_run_group_tests_name("cliffs: inference and traps", tests, NULL, NULL);
}
