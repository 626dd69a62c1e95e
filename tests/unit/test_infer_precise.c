/* SPDX-License-Identifier: GPL-3.0-or-later */
/* eq. 22: what precise samples say of the blocks of a loop with two ways, worked out by hand. */
#include "tests/unit/fixture_problem.h"

#include <math.h>

#include "correct/infer/precise.h"

/* A, then B or not, then C and back to A. */
static const uint32_t n_insn[] = { 10, 5, 4 };
enum { A_TO_B, A_TO_C, B_TO_C, C_TO_A, A0 = 0, B0 = 10, C0 = 15 };
static const double flow[] = { 1000, 1000, 1000, 2000 };

/* Squared misses of the true flow, of a sample every instruction; n_next: how often one in A was next to one in C, 0: it is not known. */
static double misses_of(double a, double b, double c, double moved, int n_next)
{
	struct fixture f;
	struct space *space;
	struct equations eqs = { 0 };
	double *t, sum = 0;

	fixture_hmmer(&f, n_insn);
	f.p->total_insn = 33000;
	f.p->seen_insn[A0 + 3] = a;
	f.p->seen_insn[B0 + 1] = b;
	f.p->seen_insn[C0 + 2] = c;
	for (int i = 0; i < n_next; i++)
		problem_note_next(f.p, i % 2 ? 0 : 2, i % 2 ? 2 : 0);
	space = space_new(f.p, NULL);
	t = calloc(space->n_free, sizeof(*t));
	assert_non_null(t);
	for (size_t k = 0; k < space->n_free; k++)
		t[k] = flow[space->free_edge[k]];
	assert_int_equal(precise_equations(f.p, space, t, moved, &eqs), 0);
	assert_int_equal(eqs.n, 3);
	for (size_t i = 0; i < eqs.n; i++) {
		double miss = eqs.v[i].value;

		for (size_t e = 0; e < f.p->n_edges; e++)
			miss -= eqs.v[i].w[e] * flow[e];
		sum += miss * miss / (eqs.v[i].sd * eqs.v[i].sd);
	}
	equations_fini(&eqs);
	space_free(space);
	free(t);
	fixture_fini(&f);
	return sum;
}

static double misses(double a, double b, double c, double moved)
{
	return misses_of(a, b, c, moved, 0);
}

static void blocks_are_seen_as_often_as_their_instructions_ran(void **state)
{
	(void)state;
	assert_float_equal(misses(20000, 5000, 8000, 0), 0, 1e-6);
	/* 141.4 more in A are one standard deviation: its square is 20001 samples. */
	assert_float_equal(misses(20000 + sqrt(20001), 5000, 8000, 0), 1, 0.02);
}

/* An instruction of each of 1000 crossings from A to C is seen in C: 7 and 11 standard deviations of chance, one of what is moved. */
static void what_an_edge_moves_is_missing_before_it_and_too_much_behind(void **state)
{
	(void)state;
	assert_float_equal(misses(19000, 5000, 9000, 0), 1e6 / 20001 + 1e6 / 9001, 0.1);
	/* Over A to C or over C to A, of 1 and 4 million: it needs no more than 1 of their sum in squares. */
	assert_true(misses(19000, 5000, 9000, 1) < 1);
	/* As many in neither: no edge takes them away, and chance alone would be 10 standard deviations of 33,000. */
	assert_true(misses(19000, 5000, 7000, 1) > 50);
}

/* 200 changes between A and C: variance 100 each, and as much less together; 1 of a sample. */
static void samples_that_stay_are_counted_without_chance(void **state)
{
	(void)state;
	assert_float_equal(misses_of(20010, 5000, 7990, 0, 200), 200 / 201., 1e-3);
	assert_float_equal(misses_of(20000, 5010, 8000, 0, 200), 100, 1e-3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(blocks_are_seen_as_often_as_their_instructions_ran),
		cmocka_unit_test(samples_that_stay_are_counted_without_chance),
		cmocka_unit_test(what_an_edge_moves_is_missing_before_it_and_too_much_behind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
