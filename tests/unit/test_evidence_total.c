/* SPDX-License-Identifier: GPL-3.0-or-later */
/* eq. 15: how many instructions a scope ran, by the intervals and by the samples. */
#include <gsl/gsl_rng.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "correct/evidence/total.h"

#define NEAR(value, expected, percent) assert_float_equal(value, expected, (percent) / 100. * (expected))

/* 1000 periods of 10,000, of which 30,000 crossed the boundary inwards, and 10,000 went: 9.98e6. */
static void samples_are_periods_but_for_what_is_carried(void **state)
{
	struct total_known k = {
		.boundary = { .insn = 5e6, .n_ends = 10, .wrong = 1e9, .in = 30000, .out = 10000 },
		.counted = 1,
		.inside = 4e6,
		.sampled = 1e7,
		.period = 10000,
		.skid_known = true
	};
	double insn, sd;

	(void)state;
	total_of(&k, &insn, &sd);
	NEAR(insn, 9.98e6, 0.001);
	/* Five visits' ends, and the recording's: sqrt(6 / 6) periods. */
	NEAR(sd, 10000, 0.1);
	k.lost = 0.01;
	total_of(&k, &insn, &sd);
	NEAR(insn, 1.01e7 - 20000, 0.001);
	NEAR(sd, hypot(10000, 1e5), 0.1);
	k.lost = 0;
	k.boundary.unsure = 2000;
	total_of(&k, &insn, &sd);
	NEAR(sd, hypot(10000, 2000), 0.1);
	k.skid_known = false;
	total_of(&k, &insn, &sd);
	NEAR(sd, hypot(10000, 20000), 0.1);
	k.boundary.mixed = 3e5;
	total_of(&k, &insn, &sd);
	NEAR(sd, hypot(hypot(10000, 20000), 3e5), 0.1);
}

/* Two that agree are better together; of two that do not either may be right, whatever noise they were taken to have. */
static void the_two_are_weighed_by_their_noise(void **state)
{
	struct total_known k = { .boundary = { .insn = 1e6, .wrong = 20000 },
		                 .counted = 1,
		                 .inside = 9e6,
		                 .sampled = 1e7,
		                 .period = 20000 * sqrt(6),
		                 .skid_known = true };
	double insn, sd;

	(void)state;
	total_of(&k, &insn, &sd);
	NEAR(insn, 1e7, 1e-6);
	NEAR(sd, 20000 / sqrt(2), 0.1);
	k.sampled = 1.02e7;
	total_of(&k, &insn, &sd);
	NEAR(insn, 1.01e7, 1e-6);
	NEAR(sd, 1e5, 0.1);
	k.boundary.wrong = 2000;
	total_of(&k, &insn, &sd);
	NEAR(insn, 1.01e7, 0.01);
	NEAR(sd, 1e5, 0.1);
	k.sampled = 1e7 + hypot(20000, 2000);
	total_of(&k, &insn, &sd);
	NEAR(insn, 1e7 + 2000 * 2000 / hypot(20000, 2000), 1e-6);
	NEAR(sd, 2000 / sqrt(1.01), 0.1);
}

/* Without samples of instructions, or a crossing whose carried samples are not known, the intervals say it alone. */
static void intervals_alone(void **state)
{
	struct total_known k = { .boundary = { .insn = 1e6, .n_ends = 12, .wrong = 3000 },
		                 .counted = 0.5,
		                 .inside = 9e6,
		                 .sampled = 1e7,
		                 .skid_known = true };
	double insn, sd;

	(void)state;
	total_of(&k, &insn, &sd);
	NEAR(insn, 2e7, 1e-6);
	NEAR(sd, hypot(1e6 / 6, 3000), 0.1);
	k.period = 10000;
	k.boundary.in = NAN;
	total_of(&k, &insn, &sd);
	NEAR(insn, 2e7, 1e-6);
}

/* Counts or not, 20,000 more went in than out; without counts each of a thousand periods is a sample by chance. */
static void samples_alone(void **state)
{
	struct total_known k = { .boundary = { .in = 30000, .out = 10000, .unsure = 2000, .mixed = 4e5 },
		                 .counted = 1,
		                 .sampled = 1e7,
		                 .period = 10000,
		                 .skid_known = true };
	double insn, sd, chance = sqrt(1e7 * 1e4);

	(void)state;
	total_of_samples(&k, &insn, &sd);
	NEAR(insn, 9.98e6, 0.001);
	NEAR(sd, hypot(chance, 4e5), 0.1);
	k.boundary.mixed = 0;
	k.skid_known = false;
	total_of_samples(&k, &insn, &sd);
	NEAR(sd, hypot(chance, 20000), 0.1);
	k.boundary.in = k.boundary.unsure = NAN;
	total_of_samples(&k, &insn, &sd);
	NEAR(insn, 1e7, 1e-6);
	NEAR(sd, chance, 0.1);
}

/*
 * Programs of two to six loops, of 0.4 to 8 instructions a cycle each, visited in turn or at random for 200 to 90,000 cycles
 * at a time; sampled every 10,007 instructions and cycles, and seen S cycles later.
 */
enum { MAX_LOOPS = 6, PROGRAMS = 60 };

struct program {
	gsl_rng *r;
	int n, loop;
	bool in_turn;
	double pace[MAX_LOOPS], cyc[MAX_LOOPS], spread, skid;
	struct boundary *boundary, *alone; /* by counts and samples; by samples alone */
	double now, insn;                  /* cycles, instructions so far */
	double next[2],
	        due[2]; /* overflows by instructions and by cycles; when the interrupt comes, or never */
	double last_insn, last_cyc;
	int32_t last;
	double truth[MAX_LOOPS], inside[MAX_LOOPS];
	double samples[MAX_LOOPS], insn_samples[MAX_LOOPS];
};

static const double period = 10007, run_cyc = 5e7;

static void sample(struct program *p, int event)
{
	double insn = p->insn - p->last_insn, cyc = p->now - p->last_cyc;

	p->samples[p->loop]++;
	boundary_sampled(p->alone, p->loop, event == 0 ? period : 0, event == 0 ? 0 : period);
	if (p->last >= 0 && p->last != p->loop)
		boundary_cross(p->alone, p->last, p->loop, 0, 0);
	p->insn_samples[p->loop] += event == 0;
	if (p->last == p->loop) {
		p->inside[p->loop] += insn;
		boundary_inside(p->boundary, p->loop, insn, cyc);
	} else {
		boundary_cross(p->boundary, p->last, p->loop, insn, p->last < 0 ? 0 : cyc);
	}
	p->last = p->loop;
	p->last_insn = p->insn;
	p->last_cyc = p->now;
}

static double about(struct program *p, double mean, double spread)
{
	return mean * (1 + spread * (2 * gsl_rng_uniform(p->r) - 1));
}

static void visit(struct program *p)
{
	double end = p->now + about(p, p->cyc[p->loop], p->spread), pace = p->pace[p->loop];

	while (p->now < end) {
		double over[2] = { p->now + (p->next[0] - p->insn) / pace, p->next[1] }, to = end;

		for (int i = 0; i < 2; i++)
			to = fmin(to, isinf(p->due[i]) ? over[i] : p->due[i]);
		p->insn += (to - p->now) * pace;
		p->truth[p->loop] += (to - p->now) * pace;
		p->now = to;
		for (int i = 0; i < 2; i++) {
			if (isinf(p->due[i]) && over[i] <= to) {
				p->due[i] = to + about(p, p->skid, 0.25);
				p->next[i] += period;
			} else if (p->due[i] <= to) {
				sample(p, i);
				p->due[i] = INFINITY;
			}
		}
	}
}

/* Where instructions are only counted they never overflow, and visits are longer: no sample tells of hidden ones. */
static void run(struct program *p, gsl_rng *r, bool sampled)
{
	double cyc = (sampled ? 500 : 5000) * exp(log(60) * gsl_rng_uniform(r));

	*p = (struct program){ .r = r,
		               .n = 2 + (int)gsl_rng_uniform_int(r, MAX_LOOPS - 1),
		               .in_turn = gsl_rng_uniform_int(r, 2) == 0,
		               .spread = gsl_rng_uniform(r),
		               .skid = 50 + 600 * gsl_rng_uniform(r),
		               .boundary = boundary_new(MAX_LOOPS),
		               .alone = boundary_new(MAX_LOOPS),
		               .next = { sampled ? period : INFINITY, period },
		               .due = { INFINITY, INFINITY },
		               .last = -1 };
	for (int i = 0; i < p->n; i++) {
		p->pace[i] = exp(log(0.4) + log(20) * gsl_rng_uniform(r));
		p->cyc[i] = cyc * exp(2 * gsl_rng_uniform(r) - 1);
	}
	while (p->now < run_cyc) {
		p->loop = p->in_turn ? (p->loop + 1) % p->n : (int)gsl_rng_uniform_int(r, (unsigned)p->n);
		visit(p);
	}
}

struct score {
	double n, holds, off, off_by_intervals;
};

static void add(struct score *s, double truth, double insn, double sd, double by_intervals)
{
	s->n++;
	s->holds += fabs(insn - truth) < 1.645 * sd;
	s->off += fabs(insn / truth - 1);
	s->off_by_intervals += fabs(by_intervals / truth - 1);
}

static void show(const char *name, const struct score *s)
{
	print_message("%s: %.0f loops, %.2f%% off (by intervals %.2f%%), %.0f%% of the 90%% intervals hold\n",
	              name, s->n, 100 * s->off / s->n, 100 * s->off_by_intervals / s->n,
	              100 * s->holds / s->n);
}

/* Of loops that have 1% of the instructions, all and those that are little mixed. */
static void judge_programs(bool sampled, struct score *all, struct score *apart)
{
	gsl_rng *r = gsl_rng_alloc(gsl_rng_mt19937);
	struct program p;

	for (int k = 0; k < PROGRAMS; k++) {
		struct boundary_sum sums[MAX_LOOPS];

		run(&p, r, sampled);
		boundary_settle(p.boundary, p.skid, p.samples, sums);
		for (int i = 0; i < p.n; i++) {
			struct total_known known = { .inside = p.inside[i],
				                     .boundary = sums[i],
				                     .counted = 1,
				                     .sampled = p.insn_samples[i] * period,
				                     .period = sampled ? period : 0,
				                     .skid_known = true };
			double insn, sd;

			if (p.truth[i] < 0.01 * p.insn)
				continue;
			total_of(&known, &insn, &sd);
			add(all, p.truth[i], insn, sd, p.inside[i] + sums[i].insn);
			if (sums[i].mixed < 0.01 * insn)
				add(apart, p.truth[i], insn, sd, p.inside[i] + sums[i].insn);
		}
		boundary_free(p.boundary);
		boundary_free(p.alone);
	}
	gsl_rng_free(r);
	show("all", all);
	show("little mixed", apart);
}

/* Those little mixed are known well; of the others it is known how badly. */
static void programs_are_told_by_both(void **state)
{
	struct score all = { 0 }, apart = { 0 };

	(void)state;
	judge_programs(true, &all, &apart);
	assert_true(all.holds > 0.87 * all.n);
	assert_true(apart.n > 50 && apart.holds > 0.87 * apart.n);
	assert_true(apart.off < 0.8 * apart.off_by_intervals && apart.off < 0.01 * apart.n);
}

/* As with {cycles,instructions}:S.  Half of each interval to either side was off by 9% where they are little mixed. */
static void programs_are_told_by_counts_alone(void **state)
{
	struct score all = { 0 }, apart = { 0 };

	(void)state;
	judge_programs(false, &all, &apart);
	assert_true(all.holds > 0.87 * all.n);
	assert_true(apart.n > 50 && apart.holds > 0.87 * apart.n);
	assert_true(apart.off < 0.01 * apart.n);
}

/* As with -e cycles,instructions: against what samples stand for, as they are. */
static void programs_are_told_by_samples_alone(void **state)
{
	gsl_rng *r = gsl_rng_alloc(gsl_rng_mt19937);
	struct score all = { 0 };
	struct program p;

	(void)state;
	for (int k = 0; k < PROGRAMS; k++) {
		struct boundary_sum sums[MAX_LOOPS];

		run(&p, r, true);
		boundary_settle(p.alone, p.skid, p.samples, sums);
		for (int i = 0; i < p.n; i++) {
			struct total_known known = { .boundary = sums[i],
				                     .counted = 1,
				                     .sampled = p.insn_samples[i] * period,
				                     .period = period,
				                     .skid_known = true };
			double insn, sd;

			if (p.truth[i] < 0.01 * p.insn)
				continue;
			total_of_samples(&known, &insn, &sd);
			add(&all, p.truth[i], insn, sd, known.sampled);
		}
		boundary_free(p.boundary);
		boundary_free(p.alone);
	}
	gsl_rng_free(r);
	show("samples alone", &all);
	assert_true(all.holds > 0.87 * all.n);
	assert_true(all.off < 0.8 * all.off_by_intervals);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(samples_are_periods_but_for_what_is_carried),
		cmocka_unit_test(the_two_are_weighed_by_their_noise),
		cmocka_unit_test(intervals_alone),
		cmocka_unit_test(samples_alone),
		cmocka_unit_test(programs_are_told_by_both),
		cmocka_unit_test(programs_are_told_by_counts_alone),
		cmocka_unit_test(programs_are_told_by_samples_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
