/* SPDX-License-Identifier: GPL-3.0-or-later */
/* eq. 22: a correction of precise samples that leaves open more than chance did is none. */
#include "tests/unit/fixture_problem.h"

#include <math.h>

#include "correct/solve/keep_raw.h"

/* A, then B or not, then C and back to A, each a function of its own. */
static const uint32_t n_insn[] = { 10, 5, 4 };
static const uint32_t entry[] = { 0, 1, 2 };
enum { A, B, C, N_DRAWS = 200 };

/* B is drawn as mean times, up and down by sd; seen 1000 times.  A and C 2000 times. */
static int judge_of(enum problem_precise precise, double mean, double sd, double moved, bool stacks)
{
	struct fixture f;
	struct solution sol;
	int raw;

	fixture_hmmer(&f, n_insn);
	fixture_functions(&f, entry, 3);
	f.p->precise = precise;
	f.p->seen_insn[0] = 20000;
	f.p->seen_insn[10] = 5000;
	f.p->seen_insn[15] = 8000;
	solution_init(&sol, f.p, N_DRAWS);
	sol.moved = moved;
	for (size_t e = 0; e < f.p->n_edges; e++)
		sol.edge_flow[e] = 1000;
	for (size_t i = 0; i < N_DRAWS; i++) {
		sol.draws[i * 3 + A] = sol.draws[i * 3 + C] = 2000;
		sol.draws[i * 3 + B] = (float)(mean + (i % 2 ? sd : -sd));
	}
	raw = keep_raw_judge(f.p, &sol, stacks);
	solution_fini(&sol);
	fixture_fini(&f);
	return raw;
}

static int judge(enum problem_precise precise, double mean, double sd, double moved)
{
	return judge_of(precise, mean, sd, moved, false);
}

/* By themselves 33,000 samples of an instruction each are known to 182, the root of their number and one more a function. */
static void precise_samples_stay_where_they_are_known_better_alone(void **state)
{
	(void)state;
	assert_int_equal(judge(PRECISE_EXACT, 1000, 36, 0), 0);
	assert_int_equal(judge(PRECISE_EXACT, 1000, 37, 0), 1);
	/* Half an instruction of 1000 crossings of the four edges between them: 2 x 4 x 500^2 more in squares, 1426 in all. */
	assert_int_equal(judge(PRECISE_SHADOWED, 1000, 285, 0.5), 0);
	assert_int_equal(judge(PRECISE_SHADOWED, 1000, 286, 0.5), 1);
}

/* Known well, and five instructions times 51 or 52 off where 182 are chance: 255^2 and 260^2 for twice 33,000. */
static void what_precise_samples_contradict_gives_way_to_them(void **state)
{
	(void)state;
	assert_int_equal(judge(PRECISE_EXACT, 1051, 1, 0), 0);
	assert_int_equal(judge(PRECISE_EXACT, 1052, 1, 0), 1);
	/* Beside stacks as well; but there samples have told what the draws are unsure of. */
	assert_int_equal(judge_of(PRECISE_EXACT, 1052, 1, 0, true), 1);
	assert_int_equal(judge_of(PRECISE_EXACT, 1000, 37, 0, true), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(precise_samples_stay_where_they_are_known_better_alone),
		cmocka_unit_test(what_precise_samples_contradict_gives_way_to_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
