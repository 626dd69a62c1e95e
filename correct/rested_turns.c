/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "correct/rested_turns.h"

#include <math.h>
#include <stdlib.h>

#include "profiler/base/err.h"

/* A scope's instructions in the turn that its last sample was of, and over all turns before. */
struct of_scope {
	uint64_t turn;
	double now, sum, squares;
};

struct thread {
	uint64_t turn, time_ns, n_all,
	        n_then; /* its samples; those at the last of the event, which was at time_ns */
};

struct rested_turns {
	struct of_scope *scopes;
	VEC(struct thread) threads;
	uint64_t n_turns;
};

int rested_turns_new(const struct recording *r, size_t n, struct rested_turns **out)
{
	*out = NULL;
	if (!r->rests || r->insn_event < 0 || !(rests_share(r->rests, r->insn_event) > 0))
		return 0;
	*out = calloc(1, sizeof(**out));
	if (*out)
		(*out)->scopes = calloc(n + 1, sizeof(*(*out)->scopes));
	if (*out && (*out)->scopes)
		return 0;
	rested_turns_free(*out);
	*out = NULL;
	return sp_fail(SP_ENOMEM, "out of memory for %zu scopes", n);
}

void rested_turns_free(struct rested_turns *t)
{
	if (!t)
		return;
	vec_fini(&t->threads);
	free(t->scopes);
	free(t);
}

static void end_turn(struct of_scope *s)
{
	s->sum += s->now;
	s->squares += s->now * s->now;
	s->now = 0;
}

int rested_turns_sample(struct rested_turns *t, const struct recording *r, const struct pd_record *rec,
                        uint32_t thread, int32_t scope)
{
	struct thread *th;
	struct of_scope *s;

	if (!t)
		return 0;
	while (t->threads.n <= thread)
		if (vec_push(&t->threads, (struct thread){ 0 }) < 0)
			return -SP_ENOMEM;
	th = &t->threads.v[thread];
	th->n_all++;
	if (rec->event != r->insn_event)
		return 0;
	if (!th->turn ||
	    rests_is_rest(r->rests, rec->event, rec->time_ns - th->time_ns, th->n_all - th->n_then - 1))
		th->turn = ++t->n_turns;
	th->time_ns = rec->time_ns;
	th->n_then = th->n_all;
	if (scope < 0)
		return 0;
	s = &t->scopes[scope];
	if (s->turn != th->turn)
		end_turn(s);
	s->turn = th->turn;
	s->now += recording_weight(r, rec);
	return 0;
}

double rested_turns_sd(struct rested_turns *t, size_t scope, double rested)
{
	struct of_scope *s = t ? &t->scopes[scope] : NULL;
	double n;

	if (!s)
		return 0;
	end_turn(s);
	n = fmax((double)t->n_turns, 1);
	/* Of all turns those that were seen are a sample: where none rested, they are all there were. */
	return sqrt(rested * fmax(s->squares - s->sum * s->sum / n, 0));
}
