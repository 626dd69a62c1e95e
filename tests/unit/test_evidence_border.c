/* SPDX-License-Identifier: GPL-3.0-or-later */
/* eq. 15 by loop: what was sampled in a loop is what it ran, where samples one after the other show that its visits are long. */
#include <gsl/gsl_rng.h>

#include "tests/unit/fixture_problem.h"

#include <math.h>

#include "correct/evidence/evidence.h"

enum { N_SAMPLES = 20000, PERIOD = 1000, PACE = 2, SKID = 300 };

/* Two loops, 1 and 2, in one that begins with 0. */
static void make(struct fixture *f)
{
	static const uint32_t n_insn[] = { 2, 4, 6, 2 }, entry[] = { 0 };
	static const struct flow_edge edges[] = {
		{ 0, 1, FLOW_FALL },  { 1, 1, FLOW_TAKEN }, { 1, 2, FLOW_FALL },
		{ 2, 2, FLOW_TAKEN }, { 2, 3, FLOW_FALL },  { 3, 0, FLOW_TAKEN },
	};

	fixture_make(f, n_insn, 4, edges, 6);
	fixture_functions(f, entry, 1);
	skid_dist_constant(&f->p->skid, SKID);
	f->p->insn_per_sample = PERIOD;
	f->p->cyc_per_sample = PERIOD / PACE;
}

/* Samples: from the loop that the one before was in to the other one by this chance. */
static void say(struct fixture *f, double chance, struct equations *out)
{
	struct recording rec = { .insn_event = 0, .cyc_event = 1, .insn_counted = f->p->insn_counted };
	const struct evidence_input in = { .rec = &rec, .graph = &f->g, .problems = &f->p, .n = 1 };
	struct pd_record record = { .event = 0 };
	gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
	void *state;
	uint32_t loop = 1;

	gsl_rng_set(rng, 7);
	f->p->total_insn = 0;
	assert_int_equal(evidence_border.begin(&in, &state), 0);
	for (int i = 0; i < N_SAMPLES; i++) {
		const uint32_t at = f->p->blocks[loop].insn0;

		evidence_border.sample(state,
		                       &(struct sample_seen){ .rec = &rec, .record = &record, .insn = at });
		f->p->seen_insn[at] += PERIOD;
		f->p->seen_cyc[at] += (double)PERIOD / PACE;
		f->p->total_insn += PERIOD;
		if (gsl_rng_uniform(rng) < chance)
			loop = 3 - loop;
	}
	assert_int_equal(evidence_border.equations(state, 0, NULL, out), 0);
	evidence_border.end(state);
	gsl_rng_free(rng);
}

static const struct equation *of_loop(const struct equations *eqs, size_t edge)
{
	for (size_t i = 0; i < eqs->n; i++)
		if (eqs->v[i].w[edge] > 0)
			return &eqs->v[i];
	return NULL;
}

/* Half of S is open at each of some 200 visits, of which either loop has as many. */
static void long_visits_ran_what_was_sampled(void **state)
{
	const double visits = N_SAMPLES / 100., carried = 0.5 * SKID * PACE * visits;
	struct equations eqs = { 0 };
	const struct equation *eq;
	struct fixture f;

	(void)state;
	make(&f);
	say(&f, 1. / 100, &eqs);
	assert_true(eqs.n > 0);
	eq = of_loop(&eqs, 1);
	assert_non_null(eq);
	assert_float_equal(eq->w[1], 4, 0);
	assert_float_equal(eq->w[0], 4, 0);
	assert_float_equal(eq->w[3], 0, 0);
	assert_float_equal(eq->value, f.p->seen_insn[2], 1e-6 * eq->value);
	assert_true(eq->sd > 0.7 * carried && eq->sd < 3 * carried);
	assert_int_equal(eq->kind, PROFILE_BY_BORDER);
	equations_fini(&eqs);
	fixture_fini(&f);
}

/* Where one sample says nothing of the next, visits may be as many as there are iterations. */
static void short_visits_say_nothing(void **state)
{
	struct equations eqs = { 0 };
	struct fixture f;

	(void)state;
	make(&f);
	say(&f, 0.5, &eqs);
	assert_int_equal(eqs.n, 0);
	equations_fini(&eqs);
	fixture_fini(&f);
}

/* Stacks tell the way, and counts between samples of cycles are in the wrong place. */
static void what_is_known_better_is_left_alone(void **state)
{
	struct equations eqs = { 0 };
	struct fixture f;

	(void)state;
	make(&f);
	f.p->stacked_insn = 1;
	say(&f, 1. / 100, &eqs);
	assert_int_equal(eqs.n, 0);
	f.p->stacked_insn = 0;
	f.p->insn_counted = true;
	say(&f, 1. / 100, &eqs);
	assert_int_equal(eqs.n, 0);
	equations_fini(&eqs);
	fixture_fini(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(long_visits_ran_what_was_sampled),
		cmocka_unit_test(short_visits_say_nothing),
		cmocka_unit_test(what_is_known_better_is_left_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
