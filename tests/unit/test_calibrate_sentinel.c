/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Is a neighbour on the core, and what is done about it: by numbers alone, no core is measured. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <gsl/gsl_randist.h>
#include <gsl/gsl_rng.h>

#include "profiler/calibrate/cliff.h"
#include "profiler/calibrate/watch.h"

/* ---- the decision ---- */

/* What windows take on a core that holds so many instructions: 480 cycles for chains at the same time, 960 one after the other. */
static void windows(const struct sentinel *s, unsigned holds, double ticks_per_cycle,
                    double ticks[SENTINEL_SIZES])
{
	for (size_t i = 0; i < SENTINEL_SIZES; i++)
		ticks[i] = (s->size[i] + SENTINEL_CHAIN <= holds ? 480 : 960) * ticks_per_cycle;
}

static enum sentinel_word judge(const struct sentinel *s, unsigned holds, double ticks_per_cycle)
{
	double ticks[SENTINEL_SIZES];

	windows(s, holds, ticks_per_cycle, ticks);
	return sentinel_judge(s, ticks[0], ticks[s->low], ticks[s->high]);
}

/* Rounds of learning, of which one in `every` is beside a neighbour who takes half. */
static bool learn(struct sentinel *s, unsigned holds, unsigned rounds, unsigned every)
{
	double ticks[SENTINEL_SIZES];

	for (unsigned k = 0; k < rounds; k++) {
		windows(s, k % every ? holds : holds / 2, 1, ticks);
		sentinel_learn(s, ticks);
	}
	return sentinel_settle(s);
}

static void half_a_core_is_told_from_a_whole_one(void **state)
{
	struct sentinel s;

	(void)state;
	for (unsigned holds = 97; holds < 700; holds += 31) {
		sentinel_init(&s);
		assert_true(learn(&s, holds, 100, 5));
		assert_true(s.can_tell);
		/* Sizes grow by an eighth. */
		assert_in_range(sentinel_window(&s), holds * 7 / 8, holds);
		assert_int_equal(judge(&s, holds, 1), SENTINEL_ALONE);
		assert_int_equal(judge(&s, holds / 2, 1), SENTINEL_SHARED);
	}
}

/* From 4.5 to 1.5 GHz and back: the clock of the machine is not that of the core. */
static void the_frequency_does_not_matter(void **state)
{
	struct sentinel s;

	(void)state;
	sentinel_init(&s);
	learn(&s, 448, 100, 5);
	for (double f = 0.5; f < 4; f *= 1.1) {
		assert_int_equal(judge(&s, 448, f), SENTINEL_ALONE);
		assert_int_equal(judge(&s, 224, f), SENTINEL_SHARED);
	}
}

static void a_neighbour_who_leaves_late_is_noticed(void **state)
{
	struct sentinel s;

	(void)state;
	sentinel_init(&s);
	learn(&s, 224, 300, 1000);
	assert_in_range(sentinel_window(&s), 196, 224);
	/* While he stays he can't be told from a smaller core. */
	assert_int_equal(judge(&s, 224, 1), SENTINEL_ALONE);
	assert_int_equal(judge(&s, 448, 1), SENTINEL_GREW);
	assert_true(learn(&s, 448, 30, 1000));
	assert_int_equal(judge(&s, 448, 1), SENTINEL_ALONE);
	assert_int_equal(judge(&s, 224, 1), SENTINEL_SHARED);
	/* Once known it stays known. */
	assert_false(learn(&s, 224, 300, 1000));
	assert_int_equal(judge(&s, 224, 1), SENTINEL_SHARED);
}

/* One round in which a single window took too little: an interrupt in the first of them. */
static void one_lucky_round_is_nothing(void **state)
{
	double ticks[SENTINEL_SIZES];
	struct sentinel s;

	(void)state;
	sentinel_init(&s);
	windows(&s, 300, 1, ticks);
	ticks[0] *= 20;
	sentinel_learn(&s, ticks);
	sentinel_learn(&s, ticks);
	assert_true(learn(&s, 300, 100, 1000));
	assert_in_range(sentinel_window(&s), 262, 300);
}

static void a_core_whose_chains_never_overlap_tells_nothing(void **state)
{
	struct sentinel s;

	(void)state;
	sentinel_init(&s);
	assert_false(learn(&s, 0, 100, 1000));
	assert_false(s.can_tell);
	assert_int_equal(sentinel_window(&s), 0);
	assert_int_equal(judge(&s, 0, 1), SENTINEL_ALONE);
	sentinel_init(&s);
	assert_false(learn(&s, 100000, 100, 1000));
	assert_false(s.can_tell);
	assert_int_equal(judge(&s, 100000, 1), SENTINEL_ALONE);
}

/* ---- samples ---- */

/* What is seen, look by look; a sample is the number of the look before it. */
struct script {
	const char *looks; /* a: alone, s: shared, g: grew; the last goes on for ever */
	size_t at;
	double now_s;
	size_t taken[64], n_taken, lost;
	unsigned n_waits, n_warm;
};

static enum sentinel_word script_look(void *user)
{
	struct script *s = user;
	char c = s->looks[s->at];

	s->at += s->looks[s->at + 1] != '\0';
	s->now_s += 1e-6;
	return c == 'a' ? SENTINEL_ALONE : c == 's' ? SENTINEL_SHARED : SENTINEL_GREW;
}

static bool script_take(void *user, size_t i)
{
	struct script *s = user;

	s->now_s += 50e-6;
	s->taken[i] = s->at;
	s->n_taken++;
	return s->n_taken > s->lost;
}

static void script_wait(void *user)
{
	struct script *s = user;

	s->now_s += 600e-6;
	s->n_waits++;
}

static void script_warm(void *user)
{
	((struct script *)user)->n_warm++;
}

static double script_now(void *user)
{
	return ((struct script *)user)->now_s;
}

static const struct watch_ops scripted = { script_look, script_take, NULL,
	                                   script_wait, script_warm, script_now };

static void a_sample_beside_a_neighbour_is_taken_again(void **state)
{
	/* Alone; 1st good; 2nd: he comes while it runs; gone at the second look for him; 2nd again, 3rd. */
	struct script s = { .looks = "aassaaa" };
	struct watch w = { .patience_s = 1 };

	(void)state;
	assert_int_equal(watch_samples(&w, &scripted, &s, 0, 3), SENTINEL_ALONE);
	assert_int_equal(s.n_taken, 4);
	assert_int_equal(w.n_again, 1);
	assert_int_equal(w.n_kept, 0);
	assert_int_equal(s.n_waits, 2);
	/* Two waits of 0.6 ms are more than one: caches are warmed. */
	assert_int_equal(s.n_warm, 1);
	assert_true(fabs(w.waited_s - 2 * 601e-6) < 1e-9);
	/* Spent: the waits, and the sample with its look. */
	assert_true(fabs(1 - w.patience_s - 2 * 601e-6 - 51e-6) < 1e-9);
	/* He was there when the sample and the first wait ended: of looks 51, 51, 601, 601, 51, 51 us apart. */
	assert_true(fabs(w.shared_s - (51 + 601) * 1e-6) < 1e-9);
	assert_true(fabs(w.looked_s - (4 * 51 + 2 * 601) * 1e-6) < 1e-9);
}

static void patience_ends_and_what_was_kept_is_said(void **state)
{
	struct script s = { .looks = "as" };
	struct watch w = { .patience_s = 0.01 };

	(void)state;
	assert_int_equal(watch_samples(&w, &scripted, &s, 0, 8), SENTINEL_SHARED);
	assert_true(w.patience_s == 0);
	assert_int_equal(w.n_again, 1);
	assert_int_equal(w.n_kept, 8);
	assert_in_range(s.n_waits, 16, 18);
}

static void more_than_was_learnt_ends_it_at_once(void **state)
{
	struct script s = { .looks = "aag" };
	struct watch w = { .patience_s = 1 };

	(void)state;
	assert_int_equal(watch_samples(&w, &scripted, &s, 0, 8), SENTINEL_GREW);
	assert_int_equal(s.n_taken, 2);
}

/* Samples that another task spoilt are tried again three times each, all in all; then they count. */
static void samples_that_do_not_count_are_bounded(void **state)
{
	struct script few = { .looks = "a", .lost = 5 }, all = { .looks = "a", .lost = 1000 };
	struct watch w = { .patience_s = 1 };

	(void)state;
	assert_int_equal(watch_samples(&w, &scripted, &few, 0, 8), SENTINEL_ALONE);
	assert_int_equal(few.n_taken, 8 + 5);
	assert_int_equal(watch_samples(&w, &scripted, &all, 0, 8), SENTINEL_ALONE);
	assert_int_equal(all.n_taken, 8 + 3 * 8);
}

/* ---- a machine with a neighbour ---- */

/*
 * He comes and goes in spells of random length.  While he is there every
 * capacity is halved and additions run at 3.7 a cycle instead of 5.15, as on
 * the machine where this was found.
 */
struct machine {
	gsl_rng *rng;
	struct watch watch;
	bool is_blind; /* looks see nobody: what happened without looks */
	double now_s, until_s, mean_there_s, mean_gone_s;
	bool is_there, was_there;
	const struct cliff *c;
	uint32_t pressure;
	struct runs *r;
};

static double response(const struct machine *m, bool shared)
{
	if (m->c->method == CLIFF_KNEE)
		return m->pressure + m->c->amount <= (shared ? 221 : 443) ? 650 + m->pressure / 8.0 : 1250;
	return m->pressure / (shared ? 3.7 : 5.15);
}

static void pass(struct machine *m, double seconds)
{
	m->now_s += seconds;
	m->was_there = m->is_there;
	while (m->now_s > m->until_s) {
		m->is_there = !m->is_there;
		m->was_there |= m->is_there;
		m->until_s += gsl_ran_exponential(m->rng, m->is_there ? m->mean_there_s : m->mean_gone_s);
	}
}

static enum sentinel_word machine_look(void *user)
{
	struct machine *m = user;

	pass(m, 3e-6);
	return m->is_there && !m->is_blind ? SENTINEL_SHARED : SENTINEL_ALONE;
}

static double timed(struct machine *m, uint64_t iterations, double seconds)
{
	bool began = m->is_there;

	pass(m, seconds);
	return (double)iterations * (response(m, began) + response(m, m->was_there)) / 2 *
	       (1 + gsl_ran_gaussian(m->rng, 0.002));
}

static bool machine_take(void *user, size_t i)
{
	struct machine *m = user;

	m->r->few[i] = timed(m, m->r->n_few, 10e-6);
	m->r->many[i] = timed(m, m->r->n_many, 40e-6);
	return true;
}

static void machine_wait(void *user)
{
	pass(user, 20e-6);
}

static void machine_warm(void *user)
{
	pass(user, 10e-6);
}

static double machine_now(void *user)
{
	return ((struct machine *)user)->now_s;
}

static const struct watch_ops machine_ops = { machine_look, machine_take, NULL,
	                                      machine_wait, machine_warm, machine_now };

static int machine_run(void *user, const struct cliff *c, struct cliff_curve *curve)
{
	struct machine *m = user;

	for (size_t i = 0; i < curve->n; i++) {
		struct runs r = { .n_few = 40, .n_many = 160 };

		m->c = c;
		m->pressure = curve->pressure[i];
		m->r = &r;
		assert_int_equal(watch_point(&m->watch, &machine_ops, m, c, &r, curve, i), 0);
	}
	return 0;
}

/* Sweeps of a row, as a script: d disturbed, u undisturbed, v everything is void. */
static int scripted_run(void *user, const struct cliff *c, struct cliff_curve *curve)
{
	const char **at = user;
	char what = **at;

	*at += (*at)[1] != '\0';
	for (size_t i = 0; i < curve->n; i++)
		curve->response[i] = (what == 'd' ? 3 : 2) * (double)curve->pressure[i];
	curve->is_disturbed |= what == 'd';
	(void)c;
	return what == 'v';
}

static struct cliff_sweeps *sweeps_of(const char *script, bool quick, int *err)
{
	const struct cliff *c = cliff_find("imul-latency");
	const struct cliff_bench b = { scripted_run, &script, { 48, 1024, 32768 } };
	struct cliff_sweeps *s = calloc(1, sizeof(*s));

	assert_non_null(s);
	*err = 0;
	while (!cliff_sweeps_settled(c, s, quick) && *err == 0)
		*err = cliff_sweep(&b, c, quick, s);
	return s;
}

/* A first sweep is two runs: its pressures, and those around a change point, of which a chain has none. */
static void disturbed_sweeps_count_only_where_there_is_no_other(void **state)
{
	struct cliff_sweeps *s;
	int err;

	(void)state;
	s = sweeps_of("dduuuuuu", false, &err);
	assert_int_equal(err, 0);
	assert_int_equal(s->n, CLIFF_MAX_SWEEPS);
	assert_false(s->is_disturbed);
	assert_true(fabs(s->result.value - 2) < 1e-9);
	assert_int_equal(s->result.verdict, CLIFF_CLEAN);
	free(s);
	s = sweeps_of("uud", true, &err);
	assert_int_equal(s->n, 1);
	/* One is not enough to say that it repeats. */
	assert_int_equal(s->result.verdict, CLIFF_WEAK);
	assert_true(fabs(s->result.value - 2) < 1e-9);
	free(s);
	s = sweeps_of("d", true, &err);
	assert_true(s->is_disturbed);
	assert_int_equal(s->result.verdict, CLIFF_NOISY);
	free(s);
	s = sweeps_of("uuv", true, &err);
	assert_int_equal(err, 1);
	free(s);
}

/* A window of 443 beside memory that is slow for a while: coarse points 400 and 420 of the first so many runs. */
static int slow_memory(void *user, const struct cliff *c, struct cliff_curve *curve)
{
	unsigned *left = user;

	for (size_t i = 0; i < curve->n; i++) {
		uint32_t p = curve->pressure[i];

		curve->response[i] = p + c->amount <= 443 ? 700 : 1280;
		if (*left && (p == 400 || p == 420))
			curve->response[i] = p == 400 ? 1700 : 1320;
		curve->spread[i] = 10;
	}
	*left -= *left > 0;
	return 0;
}

static void a_change_point_that_was_a_disturbance_is_looked_for_again(void **state)
{
	const struct cliff *c = cliff_find("rob");

	(void)state;
	/* A first sweep is two runs, and there are three attempts at it. */
	for (unsigned disturbed = 0; disturbed <= 6; disturbed++) {
		unsigned left = disturbed;
		const struct cliff_bench b = { slow_memory, &left, { 48, 1024, 32768 } };
		struct cliff_sweeps *s = calloc(1, sizeof(*s));

		assert_non_null(s);
		while (!cliff_sweeps_settled(c, s, true))
			assert_int_equal(cliff_sweep(&b, c, true, s), 0);
		if (s->result.verdict == CLIFF_CLEAN)
			assert_float_equal(s->result.value, 443, 1);
		assert_true(disturbed > 4 || s->result.verdict == CLIFF_CLEAN);
		free(s);
	}
}

struct tally {
	unsigned clean, wrong, noisy;
};

/* The table's row, as calibrate measures it, with seconds between two sweeps. */
static void calibrate_row(struct machine *m, const char *name, double truth, struct tally *t)
{
	const struct cliff *c = cliff_find(name);
	const struct cliff_bench b = { machine_run, m, { 48, 1024, 32768 } };
	struct cliff_sweeps *s = calloc(1, sizeof(*s));

	assert_non_null(s);
	while (!cliff_sweeps_settled(c, s, false)) {
		assert_int_equal(cliff_sweep(&b, c, false, s), 0);
		pass(m, 2);
	}
	if (s->result.verdict == CLIFF_CLEAN) {
		t->clean++;
		t->wrong += !(fabs(s->result.value / truth - 1) < 0.03);
	}
	t->noisy += s->is_disturbed && s->result.verdict == CLIFF_NOISY;
	free(s);
}

/* Spells from tenths of a millisecond to ten seconds; he is there for that share of the time. */
static struct tally neighbourhood(double share, double patience_s, bool is_blind)
{
	static const double spells_s[] = { 0.0003, 0.003, 0.03, 0.3, 3, 10 };
	struct tally t = { 0 };

	for (unsigned k = 0; k < sizeof(spells_s) / sizeof(*spells_s); k++)
		for (unsigned seed = 1; seed <= 4; seed++) {
			struct machine m = { .rng = gsl_rng_alloc(gsl_rng_mt19937),
				             .watch = { .patience_s = patience_s },
				             .is_blind = is_blind,
				             .mean_there_s = spells_s[k],
				             .mean_gone_s = spells_s[k] * (1 - share) / share };

			gsl_rng_set(m.rng, seed);
			calibrate_row(&m, "rob", 443, &t);
			calibrate_row(&m, "add-rate", 5.15, &t);
			gsl_rng_free(m.rng);
		}
	return t;
}

static void nothing_false_is_clean_beside_a_neighbour(void **state)
{
	static const double shares[] = { 0.1, 0.3, 0.6, 0.9 };

	(void)state;
	for (unsigned i = 0; i < sizeof(shares) / sizeof(*shares); i++) {
		struct tally patient = neighbourhood(shares[i], 120, false),
		             hasty = neighbourhood(shares[i], 0.05, false);

		print_message("neighbour there %.0f%% of the time: of 48 rows %u clean, %u wrong, %u shared; "
		              "with 0.05 s of "
		              "patience %u, %u, %u\n",
		              100 * shares[i], patient.clean, patient.wrong, patient.noisy, hasty.clean,
		              hasty.wrong, hasty.noisy);
		assert_int_equal(patient.wrong, 0);
		assert_int_equal(hasty.wrong, 0);
		/* With patience most rows are had: but not where nobody is alone for a millisecond, or for minutes. */
		if (shares[i] < 0.5)
			assert_true(patient.clean >= 40);
	}
}

/* The control: the same machine without looks has clean rows that are wrong. */
static void without_looks_it_would_be(void **state)
{
	struct tally t = neighbourhood(0.6, 120, true);

	(void)state;
	print_message("without looks: of 48 rows %u clean, %u wrong\n", t.clean, t.wrong);
	assert_true(t.wrong > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(half_a_core_is_told_from_a_whole_one),
		cmocka_unit_test(the_frequency_does_not_matter),
		cmocka_unit_test(a_neighbour_who_leaves_late_is_noticed),
		cmocka_unit_test(one_lucky_round_is_nothing),
		cmocka_unit_test(a_core_whose_chains_never_overlap_tells_nothing),
		cmocka_unit_test(a_sample_beside_a_neighbour_is_taken_again),
		cmocka_unit_test(patience_ends_and_what_was_kept_is_said),
		cmocka_unit_test(more_than_was_learnt_ends_it_at_once),
		cmocka_unit_test(samples_that_do_not_count_are_bounded),
		cmocka_unit_test(disturbed_sweeps_count_only_where_there_is_no_other),
		cmocka_unit_test(a_change_point_that_was_a_disturbance_is_looked_for_again),
		cmocka_unit_test(nothing_false_is_clean_beside_a_neighbour),
		cmocka_unit_test(without_looks_it_would_be),
	};

	return cmocka_run_group_tests_name("a neighbour on the core", tests, NULL, NULL);
}
