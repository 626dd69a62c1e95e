/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Turns of loops as stacks show them (eq. 41).  Edges' shares in stacks tell
 * how often a loop goes round for each time it is come to, but a stack that
 * holds a part of a visit scatters them, however alike all visits are.  Here a
 * stack that comes to a loop counts its turns, and of each k-th turn it tells
 * whether it was the last: of a loop that always turns alike a few visits say
 * as much as thousands of stacks do otherwise.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "correct/evidence/path_impl.h"
#include "correct/evidence/turns.h"
#include "profiler/base/err.h"
#include "profiler/base/log.h"

enum {
	MAX_TURNS = 160, /* that are told one by one */
	MIN_SEEN = 5,    /* turns, or visits' ends; fewer tell nothing */
};

/* Branches that a turn may last, of which one is chosen for each loop. */
static const uint32_t lengths[] = { 1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 24, 32, 48, 64, 96, 128 };

enum { N_LENGTHS = sizeof(lengths) / sizeof(*lengths) };

/* Of all turns, those that may last longer: they are left out, and it is not known how they end. */
static const double most_longer = 0.005;

/* Of what weighing stacks changed, what it leaves to be changed, as in (18). */
static const double left_of_change = 0.2;

/*
 * A record's moment is seldom a slow turn's alone: how a visit ends and how long it took go together.  Odds of a turn to be
 * the last may be wrong by that share; open programs came out worse with less.
 */
static const double wrong_odds = 1;

/* Of a flow's variance: rounding must not make it certain. */
static const double least_variance = 1e-6;

/* All k-th turns of a loop. */
struct turn {
	double n, last, n2; /* how many, of which their visits' last ones; of weights the squares */
	double n_as_seen, last_as_seen; /* before they were weighed */
	double pull;                    /* one more that is the last takes so much from the mean */
};

struct loop {
	struct turn *turn; /* [MAX_TURNS + 1], from 1 on; NULL = no visit was seen to begin */
	double begun[N_LENGTHS],
	        ended[N_LENGTHS];        /* turns with room for as much, and those that lasted no longer */
	uint32_t length;                 /* the one chosen, 0 = none */
	double n, last;                  /* turns of up to that, whichever of their visit they were */
	uint32_t n_told;                 /* turn[1] .. turn[n_told] were seen often enough */
	double n_ends;                   /* visits seen to end, in stacks of equal weight */
	double mean, mean_as_seen, tail; /* of turns a visit, and the part of it past n_told */
	double by_odds;                  /* the mean changes so much as the odds to be the last do */
	double var;                      /* of the mean: its scatter over stacks */

	/* In the stack being followed: */
	size_t stack;
	uint32_t k;      /* the turn of its visit that it is in, 0 = not known */
	bool under_way;  /* a turn began ... */
	uint32_t began;  /* ... in this piece */
	double its_pull; /* of its turns together */
};

enum round { MEASURE_LENGTH, COUNT, SCATTER };

/* Where a stack is followed, in the order in which it ran. */
struct at {
	enum round round;
	size_t stack;
	uint32_t piece, end;
	double weight, as_seen;
};

struct reading {
	const struct path *s;
	struct turn_loops where;
	struct loop *loops; /* [where.header.n] */
};

static void begin_turn(struct loop *l, const struct at *at, uint32_t k)
{
	l->k = k <= MAX_TURNS ? k : 0;
	l->under_way = true;
	l->began = at->piece;
	for (size_t i = 0; at->round == MEASURE_LENGTH && i < N_LENGTHS; i++)
		if (at->end - 1 - at->piece >= lengths[i])
			l->begun[i] += at->weight;
}

static void count_turn(struct loop *l, const struct at *at, bool is_last)
{
	struct turn *turn = &l->turn[l->k];

	turn->n += at->weight;
	turn->n2 += at->weight * at->weight;
	turn->n_as_seen += at->as_seen;
	turn->last += is_last ? at->weight : 0;
	turn->last_as_seen += is_last ? at->as_seen : 0;
}

/*
 * Which turns count must not depend on how they end, and a stack that ends before they do does not show that: only those
 * for which it had room, whatever became of them.
 */
static int end_turn(struct loop *l, const struct at *at, bool is_last)
{
	uint32_t lasted = at->piece - l->began, room = at->end - 1 - l->began;

	if (!l->under_way)
		return 0;
	l->under_way = false;
	for (size_t i = 0; at->round == MEASURE_LENGTH && i < N_LENGTHS; i++)
		if (room >= lengths[i] && lasted <= lengths[i])
			l->ended[i] += at->weight;
	if (!l->length || room < l->length || lasted > l->length)
		return 0;
	if (at->round == COUNT) {
		l->n += at->weight;
		l->last += is_last ? at->weight : 0;
	}
	if (!l->k)
		return 0;
	if (!l->turn)
		l->turn = calloc(MAX_TURNS + 1, sizeof(*l->turn));
	if (!l->turn)
		return sp_fail(SP_ENOMEM, "out of memory for a loop's turns");
	if (at->round == COUNT)
		count_turn(l, at, is_last);
	else if (l->k <= l->n_told)
		l->its_pull +=
		        at->weight * l->turn[l->k].pull * (is_last - l->turn[l->k].last / l->turn[l->k].n);
	return 0;
}

static int pass_edge(struct reading *rd, uint32_t edge, const struct at *at)
{
	for (uint32_t i = rd->where.event0[edge]; i < rd->where.event0[edge + 1]; i++) {
		const struct turn_event *event = &rd->where.events.v[i];
		struct loop *l = &rd->loops[event->loop];
		bool goes_on = event->what == TURN_GOES_ON, leaves = event->what == TURN_LEAVES;

		if (l->stack != at->stack) {
			l->stack = at->stack;
			l->under_way = false;
			l->k = 0;
			l->var += l->its_pull * l->its_pull;
			l->its_pull = 0;
		}
		if ((goes_on || leaves) && end_turn(l, at, leaves) < 0)
			return -SP_ENOMEM;
		if (goes_on || event->what == TURN_COMES) {
			begin_turn(l, at, goes_on ? l->k + (l->k > 0) : 1);
		} else {
			l->under_way = false;
			l->k = 0;
		}
	}
	return 0;
}

static int follow_stacks(struct reading *rd, const struct scope_stacks *r, const float *weight,
                         enum round round)
{
	for (size_t i = 0; i < rd->where.header.n; i++)
		rd->loops[i].stack = SIZE_MAX;
	for (size_t i = 0; i < r->stacks.n; i++) {
		const struct stack *st = &r->stacks.v[i];
		/* A burst that leaves the scope had room for more, where nothing is seen of how it went on. */
		struct at at = { .round = round,
			         .stack = i,
			         .end = st->burst && st->broken ? UINT32_MAX : st->n_pieces,
			         .as_seen = st->insn };

		for (at.piece = 0; at.piece < st->n_pieces; at.piece++) {
			uint32_t k = st->burst ? at.piece : st->n_pieces - 1 - at.piece;
			const struct piece *p = &rd->s->all.v[r->pieces.v[st->piece0 + k]];

			at.weight = (double)weight[st->piece0 + k];
			for (uint32_t e = 0; e < p->n_edges; e++)
				if (pass_edge(rd, rd->s->pool.v[p->edge0 + e], &at) < 0)
					return -SP_ENOMEM;
		}
	}
	return 0;
}

static void choose_length(struct loop *l)
{
	for (size_t i = 0; i < N_LENGTHS && !l->length; i++)
		if (l->begun[i] > 0 && l->begun[i] - l->ended[i] < most_longer * l->begun[i])
			l->length = lengths[i];
}

/* Of k-th turns, those that are not the last. */
static double part_going_on(const struct turn *turn)
{
	return turn->n > turn->last ? 1 - turn->last / turn->n : 0;
}

/* Turns to come after the k-th, where it is not the last: so many of the mean each k-th turn takes that is, from all of them. */
static void set_pulls(struct loop *l, double mean_turns)
{
	double on = 1, after = mean_turns;

	for (uint32_t k = l->n_told; k > 0; k--) {
		l->turn[k].pull = after;
		after = 1 + part_going_on(&l->turn[k]) * after;
	}
	for (uint32_t k = 1; k <= l->n_told; k++) {
		struct turn *turn = &l->turn[k];
		double going_on = part_going_on(turn);

		l->by_odds += on * turn->pull * going_on * (1 - going_on);
		turn->pull *= on / turn->n;
		on *= going_on;
	}
}

/*
 * eq. 41: a visit has its k-th turn if none before was the last, and the mean is the sum of how likely that is.  Past the
 * turns that were seen often enough it goes on as turns do on average.
 */
static bool tell_mean(struct loop *l)
{
	double on = 1, on_as_seen = 1, mean_turns;

	if (!l->turn || !(l->last > 0))
		return false;
	for (uint32_t k = 1; k <= MAX_TURNS; k++) {
		const struct turn *turn = &l->turn[k];
		double in_stacks = turn->n2 > 0 ? turn->n * turn->n / turn->n2 : 0;

		if (in_stacks < MIN_SEEN)
			break;
		l->n_told = k;
		l->mean += on;
		l->mean_as_seen += on_as_seen;
		l->n_ends += in_stacks * turn->last / turn->n;
		on *= part_going_on(turn);
		on_as_seen *=
		        turn->n_as_seen > turn->last_as_seen ? 1 - turn->last_as_seen / turn->n_as_seen : 0;
	}
	mean_turns = l->n / l->last;
	l->tail = on * mean_turns;
	l->mean += l->tail;
	l->mean_as_seen += on_as_seen * mean_turns;
	set_pulls(l, mean_turns);
	return l->n_ends >= MIN_SEEN;
}

/*
 * Standard deviation of the mean: scatter, what is past the turns that were told, what weighing changed, that one visit
 * more than were seen might have been left after any number of turns, and what moments bend.
 */
static double noise_of(const struct loop *l, bool biased)
{
	double var = l->var + l->its_pull * l->its_pull,
	       change = left_of_change * (l->mean - l->mean_as_seen),
	       unseen = (l->mean - 1) / sqrt(12) / l->n_ends, moment = biased ? wrong_odds * l->by_odds : 0;

	return sqrt(path_scatter * path_scatter * var + l->tail * l->tail + change * change +
	            unseen * unseen + moment * moment);
}

/* Ways back less the turns that each visit makes after its first: an equation's weights, w[d] in the free flows. */
static double fill_weights(const struct reading *rd, size_t loop, const struct space *space,
                           const double *mean, double *w)
{
	const size_t d = space->n_free;
	double visits = 0;

	memset(w, 0, d * sizeof(*w));
	for (size_t i = 0; i < rd->where.events.n; i++) {
		const struct turn_event *event = &rd->where.events.v[i];
		const double *z = space->z + event->edge * d;
		double times = event->what == TURN_GOES_ON ? 1 : 1 - rd->loops[loop].mean, flow = 0;

		if (event->loop != loop || event->what == TURN_LEAVES || event->what == TURN_BREAKS_IN)
			continue;
		for (size_t k = 0; k < d; k++) {
			w[k] += times * z[k];
			flow += z[k] * mean[k];
		}
		if (event->what == TURN_COMES)
			visits += fmax(flow, 0);
	}
	return visits;
}

/*
 * N(mean, cov) is told that w t = 0 to sd, by the same stacks: what shares of edges in them said of w t is dropped for
 * it, unless it was better, and whatever goes together with w t moves along.  x[d] is scratch.
 */
static void tell(struct path_estimate *to, size_t d, const double *w, double sd, bool biased, double *x)
{
	double var = 0, says = 0, told;

	for (size_t i = 0; i < d; i++) {
		x[i] = 0;
		for (size_t k = 0; k < d; k++)
			x[i] += to->cov[i * d + k] * w[k];
		var += w[i] * x[i];
		says += w[i] * to->mean[i];
	}
	told = fmax(sd * sd, least_variance * var);
	/* What may be biased by when its stacks were taken is believed as far as it agrees. */
	if (biased)
		told = fmax(told, says * says - var);
	sp_debug("  stacks say %g to %g, turns 0 to %g", says, sqrt(fmax(var, 0)), sqrt(told));
	if (!(told < var))
		return;
	for (size_t i = 0; i < d; i++) {
		to->mean[i] -= x[i] / var * says;
		for (size_t k = 0; k < d; k++)
			to->cov[i * d + k] -= x[i] * x[k] / var * (1 - told / var);
	}
}

static int tell_all(struct reading *rd, const struct problem *p, const struct space *space, bool biased,
                    struct path_estimate *to)
{
	size_t d = space->n_free;
	double *w = calloc(2 * d + 1, sizeof(*w));

	if (!w)
		return sp_fail(SP_ENOMEM, "out of memory for %zu free flows", d);
	for (size_t i = 0; i < rd->where.header.n; i++) {
		const struct loop *l = &rd->loops[i];
		double visits;

		if (!(l->mean > 0))
			continue;
		visits = fill_weights(rd, i, space, to->mean, w);
		sp_debug("loop at 0x%jx: %g turns to %g were seen, of up to %u branches; come to %g times",
		         (uintmax_t)p->graph->blocks[rd->where.header.v[i]].vaddr, l->mean,
		         noise_of(l, biased), l->length, visits);
		/* Half a visit is cut by each end of what is looked at. */
		tell(to, d, w, noise_of(l, biased) * visits + l->mean / 2, biased, w + d);
	}
	free(w);
	return 0;
}

int path_tell_turns(const struct path *s, const struct problem *p, const struct path_estimate *of,
                    const struct space *space, struct path_estimate *to)
{
	struct reading rd = { .s = s };
	int err = turn_loops_find(p, &rd.where);

	if (err < 0)
		return err;
	rd.loops = calloc(rd.where.header.n + 1, sizeof(*rd.loops));
	err = rd.loops ? follow_stacks(&rd, &of->stacks, of->weight, MEASURE_LENGTH)
	               : sp_fail(SP_ENOMEM, "out of memory for %zu loops", rd.where.header.n);
	for (size_t i = 0; err == 0 && i < rd.where.header.n; i++)
		choose_length(&rd.loops[i]);
	if (err == 0)
		err = follow_stacks(&rd, &of->stacks, of->weight, COUNT);
	for (size_t i = 0; err == 0 && i < rd.where.header.n; i++)
		if (!tell_mean(&rd.loops[i]))
			rd.loops[i].mean = rd.loops[i].n_told = 0;
	if (err == 0)
		err = follow_stacks(&rd, &of->stacks, of->weight, SCATTER);
	if (err == 0)
		err = tell_all(&rd, p, space, !of->stacks.bursts, to);
	for (size_t i = 0; rd.loops && i < rd.where.header.n; i++)
		free(rd.loops[i].turn);
	free(rd.loops);
	turn_loops_fini(&rd.where);
	return err;
}
