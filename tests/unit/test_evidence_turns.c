/* SPDX-License-Identifier: GPL-3.0-or-later */
/* eq. 41: turns of loops that stacks show, over graphs by hand. */
#include "tests/unit/fixture_recording.h"

#include <gsl/gsl_errno.h>
#include <math.h>

#include "correct/evidence/evidence.h"
#include "correct/evidence/turns.h"
#include "correct/infer/space.h"
#include "correct/profile.h"
#include "tests/unit/fixture_problem.h"

/*
 * A, 4 instructions of 4 bytes from 0x1000, falls into B, 3 of them, which
 * goes round to itself or falls into C, 2 of them, which jumps to A.
 */
static const uint32_t n_insn[] = { 4, 3, 2 };
enum { ENTER, AGAIN, DONE, ROUND };
static const struct flow_edge edges[] = {
	{ 0, 1, FLOW_FALL }, { 1, 1, FLOW_TAKEN }, { 1, 2, FLOW_FALL }, { 2, 0, FLOW_TAKEN }
};
static const struct pd_branch again = { 0x1018, 0x1010 }, home = { 0x1020, 0x1000 };

static const struct hand_event events[] = {
	{ "instructions:u", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, 1000, 0, true },
	{ "bursts", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY, 1, 1, false, true },
};
enum { INSN, BURST };

struct bench {
	struct fixture f;
	struct recording *rec;
	struct problem *problems[1];
	struct evidence *ev;
	struct space *space;
};

/* What stacks said of how often AGAIN goes for each ENTER. */
struct said {
	double ratio, sd;
};

/* Without its function nothing is known of loops. */
static void begin(struct bench *b, bool with_function)
{
	const uint32_t entry[] = { 0 };
	struct evidence_input in = { .problems = b->problems, .n = 1 };

	gsl_set_error_handler_off();
	b->f.p->insn_per_sample = b->f.p->cyc_per_sample = 1000;
	b->f.p->total_insn = 1e6;
	b->problems[0] = b->f.p;
	b->rec = recording_by_hand(events, sizeof(events) / sizeof(*events));
	in.rec = b->rec;
	in.graph = &b->f.g;
	assert_int_equal(evidence_begin(&in, &b->ev), 0);
	/* Not before: there is no code from which trips (eq. 38) could be read. */
	if (with_function)
		fixture_functions(&b->f, entry, 1);
	assert_int_equal(space_new(b->f.p, NULL, &b->space), 0);
}

static void end(struct bench *b)
{
	evidence_end(b->ev);
	space_free(b->space);
	recording_close(b->rec);
	fixture_fini(&b->f);
}

/* Branches are given in the order they ran in. */
static void show(struct bench *b, int event, const struct pd_branch *ran, size_t n)
{
	struct pd_branch stack[200];
	struct pd_record r = hand_stack(event, stack, n);
	struct sample_seen s = { .rec = b->rec, .record = &r };

	for (size_t i = 0; i < n; i++)
		stack[i] = ran[n - 1 - i];
	assert_int_equal(evidence_sample(b->ev, &s), 0);
}

/* N(mean, cov) of the equations' two free flows, asked for the ratio of two edges, and for the noise of their difference. */
static struct said ask(struct bench *b, uint32_t more, uint32_t less)
{
	struct equations eqs = { 0 };
	double p[3] = { 0 }, y[2] = { 0 }, t[2], a[2], f[8], det, ratio;
	const double *z = b->space->z;

	assert_int_equal(b->space->n_free, 2);
	assert_int_equal(evidence_finish(b->ev), 0);
	assert_int_equal(evidence_equations(b->ev, 0, b->space, &eqs), 0);
	for (size_t i = 0; i < eqs.n; i++) {
		double w[2] = { eqs.v[i].w[b->space->free_edge[0]], eqs.v[i].w[b->space->free_edge[1]] };

		if (eqs.v[i].kind != PROFILE_BY_PATH)
			continue;
		p[0] += w[0] * w[0];
		p[1] += w[0] * w[1];
		p[2] += w[1] * w[1];
		y[0] += w[0] * eqs.v[i].value;
		y[1] += w[1] * eqs.v[i].value;
	}
	det = p[0] * p[2] - p[1] * p[1];
	assert_true(det > 0);
	t[0] = (p[2] * y[0] - p[1] * y[1]) / det;
	t[1] = (p[0] * y[1] - p[1] * y[0]) / det;
	space_flow(b->space, t, f);
	ratio = f[more] / f[less];
	for (size_t k = 0; k < 2; k++)
		a[k] = z[more * 2 + k] - ratio * z[less * 2 + k];
	equations_fini(&eqs);
	return (struct said){ ratio,
		              sqrt((p[2] * a[0] * a[0] - 2 * p[1] * a[0] * a[1] + p[0] * a[1] * a[1]) / det) /
		                      f[less] };
}

/* Bursts of 60 branches, of which twenty lead in, from anywhere in visits of so many turns, which come one after the other. */
static struct said burst_into(const uint32_t *turns, size_t n_turns, bool with_function)
{
	enum { N = 30, LEN = 60, ALL = 4000 };
	struct bench b = { 0 };
	struct pd_branch *ran = calloc(ALL, sizeof(*ran));
	struct said said;
	size_t n = 0;

	fixture_make(&b.f, n_insn, 3, edges, 4);
	begin(&b, with_function);
	for (size_t i = 0; n < ALL; i++) {
		for (uint32_t k = 1; k < turns[i % n_turns] && n < ALL; k++)
			ran[n++] = again;
		if (n < ALL)
			ran[n++] = home;
	}
	for (size_t i = 0; i < N; i++)
		show(&b, BURST, ran + i * 1237 % (ALL - LEN), LEN);
	said = ask(&b, AGAIN, ENTER);
	end(&b);
	free(ran);
	return said;
}

static void visits_that_are_all_alike_leave_no_doubt(void **state)
{
	const uint32_t thirteen[] = { 13 };
	struct said plain = burst_into(thirteen, 1, false), told = burst_into(thirteen, 1, true);

	(void)state;
	assert_true(plain.sd > 0.2);
	assert_float_equal(told.ratio, 12, 1e-6);
	assert_true(told.sd < plain.sd / 3);
	/* Not none at all: a visit that was not seen may have been left early. */
	assert_true(told.sd > 0.01);
}

static void visits_that_differ_are_as_unsure_as_they_scatter(void **state)
{
	const uint32_t differ[] = { 4, 22, 13, 9, 17, 13, 4, 22 };
	struct said told = burst_into(differ, 8, true);

	(void)state;
	assert_true(told.sd > 0.3);
	assert_true(fabs(told.ratio - 12) < 2 * told.sd);
}

/*
 * By hand: ten visits of three turns, ten of two, and twenty that are seen to
 * make two and were not over.  So n_1 = n_2 = 40, l_2 = 10, n_3 = l_3 = 10, and
 * the mean is 1 + 1 + (1 - 10/40) = 2.75: AGAIN is 1.75 ENTER.
 */
static void cut_visits_count_as_far_as_they_are_seen(void **state)
{
	const struct pd_branch three[] = { home, again, again, home }, two[] = { home, again, home },
	                       cut[] = { home, again, again };
	struct bench b = { 0 };
	struct said said;

	(void)state;
	fixture_make(&b.f, n_insn, 3, edges, 4);
	begin(&b, true);
	for (int i = 0; i < 10; i++) {
		show(&b, BURST, three, 4);
		show(&b, BURST, two, 3);
		show(&b, BURST, cut, 3);
		show(&b, BURST, cut, 3);
	}
	said = ask(&b, AGAIN, ENTER);
	assert_float_equal(said.ratio, 1.75, 1e-6);
	end(&b);
}

/*
 * A -> B; B falls into D or jumps to C, which goes home to A; D goes round to
 * itself ten times, then back to B.  Half the visits to B are left at once,
 * half after five turns of eleven branches, of which bursts of seven see no
 * end: that all visits they see to end have one turn is no news.
 */
static void see_short_ends_only(struct bench *b, bool with_function, struct equations *said)
{
	enum { ALL = 4000, LEN = 7, MOST = 57 };
	static const uint32_t four[] = { 4, 4, 4, 4 };
	static const struct flow_edge nested[] = { { 0, 1, FLOW_FALL },  { 1, 2, FLOW_FALL },
		                                   { 1, 3, FLOW_TAKEN }, { 2, 1, FLOW_TAKEN },
		                                   { 2, 2, FLOW_TAKEN }, { 3, 0, FLOW_TAKEN } };
	static const struct pd_branch out = { 0x101c, 0x1030 }, to_b = { 0x102c, 0x1010 },
	                              to_d = { 0x102c, 0x1020 }, to_a = { 0x103c, 0x1000 };
	struct pd_branch *ran = calloc(ALL, sizeof(*ran));
	size_t n = 0;

	fixture_make(&b->f, four, 4, nested, 6);
	begin(b, with_function);
	for (size_t visit = 0; n + MOST <= ALL; visit++) {
		for (size_t turn = 0; visit % 2 && turn < 5; turn++) {
			for (size_t k = 0; k < 10; k++)
				ran[n++] = to_d;
			ran[n++] = to_b;
		}
		ran[n++] = out;
		ran[n++] = to_a;
	}
	for (size_t i = 0; i < 500; i++)
		show(b, BURST, ran + i * 1237 % (n - LEN), LEN);
	assert_int_equal(evidence_finish(b->ev), 0);
	assert_int_equal(evidence_equations(b->ev, 0, b->space, said), 0);
	free(ran);
}

static void what_has_no_room_in_a_stack_is_not_counted(void **state)
{
	struct bench a = { 0 }, b = { 0 };
	struct equations plain = { 0 }, told = { 0 };

	(void)state;
	see_short_ends_only(&a, false, &plain);
	see_short_ends_only(&b, true, &told);
	assert_true(plain.n > 1);
	assert_int_equal(told.n, plain.n);
	for (size_t i = 0; i < plain.n; i++) {
		assert_float_equal(told.v[i].value, plain.v[i].value, 1e-9 * fabs(plain.v[i].value));
		assert_memory_equal(told.v[i].w, plain.v[i].w, 6 * sizeof(double));
	}
	equations_fini(&plain);
	equations_fini(&told);
	end(&a);
	end(&b);
}

/*
 * 0 leads to the loop 1, 2, whose 1 calls 4 and whose 2 leads on to 3, and so
 * to 0 again; 4 goes round to itself, then to 5, which returns.
 */
static void callees_are_in_no_loop_of_their_callers(void **state)
{
	static const uint32_t one[] = { 1, 1, 1, 1, 1, 1 }, entry[] = { 0, 4 };
	static const struct flow_edge calls[] = {
		{ 0, 1, FLOW_FALL }, { 1, 4, FLOW_CALL, .call = 1 }, { 1, 2, FLOW_SKIP, .call = 1 },
		{ 2, 3, FLOW_FALL }, { 2, 1, FLOW_TAKEN },           { 3, 0, FLOW_TAKEN },
		{ 4, 5, FLOW_FALL }, { 4, 4, FLOW_TAKEN },           { 5, 2, FLOW_RET, .call = 1 },
	};
	static const struct {
		uint32_t from, to, header;
		uint8_t what;
	} wanted[] = {
		{ 0, 1, 1, TURN_COMES },   { 1, 4, 4, TURN_COMES },   { 2, 3, 1, TURN_LEAVES },
		{ 2, 1, 1, TURN_GOES_ON }, { 3, 0, 0, TURN_GOES_ON }, { 4, 5, 4, TURN_LEAVES },
		{ 4, 4, 4, TURN_GOES_ON },
	};
	enum { N_WANTED = sizeof(wanted) / sizeof(*wanted) };
	struct fixture f;
	struct turn_loops t;

	(void)state;
	fixture_make(&f, one, 6, calls, 9);
	fixture_functions(&f, entry, 2);
	assert_int_equal(turn_loops_find(f.p, &t), 0);
	assert_int_equal(t.header.n, 3);
	assert_int_equal(t.events.n, N_WANTED);
	for (size_t i = 0; i < N_WANTED; i++) {
		const struct turn_event *ev = &t.events.v[i];

		assert_int_equal(f.p->edges[ev->edge].from, wanted[i].from);
		assert_int_equal(f.p->edges[ev->edge].to, wanted[i].to);
		assert_int_equal(t.header.v[ev->loop], wanted[i].header);
		assert_int_equal(ev->what, wanted[i].what);
		assert_true(t.event0[ev->edge] <= i && i < t.event0[ev->edge + 1]);
	}
	turn_loops_fini(&t);
	/* Of a recursion no edge tells whose turn it is. */
	f.p->edges[0].recursive = 1;
	assert_int_equal(turn_loops_find(f.p, &t), 0);
	assert_int_equal(t.header.n, 0);
	turn_loops_fini(&t);
	fixture_fini(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(visits_that_are_all_alike_leave_no_doubt),
		cmocka_unit_test(visits_that_differ_are_as_unsure_as_they_scatter),
		cmocka_unit_test(cut_visits_count_as_far_as_they_are_seen),
		cmocka_unit_test(what_has_no_room_in_a_stack_is_not_counted),
		cmocka_unit_test(callees_are_in_no_loop_of_their_callers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
