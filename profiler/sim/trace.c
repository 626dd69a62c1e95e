/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/sim/trace.h"

#include "profiler/base/err.h"

enum {
	MAX_PERIOD = 8,      /* turns that may alternate before they repeat */
	SETTLED_INSNS = 512, /* measured instructions, at least, before turns are compared */
	LOOP_SETTLE = 64,
	LOOP_TURNS = 4096,
};

/* What the turns so far took; the newest ones only. */
struct pace {
	uint64_t took[4 * MAX_PERIOD];
	size_t n;
};

void sim_trace_fini(struct sim_trace *t)
{
	vec_fini(&t->steps);
	vec_fini(&t->mem);
	vec_fini(&t->turns);
	vec_fini(&t->warm);
}

static uint64_t took(const struct pace *p, size_t ago)
{
	return p->took[(p->n - 1 - ago) % (4 * MAX_PERIOD)];
}

static void pace_add(struct pace *p, uint64_t cyc)
{
	p->took[p->n++ % (4 * MAX_PERIOD)] = cyc;
}

/* The shortest period of the newest turns, seen four times over; 0 when they have none. */
static size_t period_of(const struct pace *p)
{
	for (size_t period = 1; period <= MAX_PERIOD && 4 * period <= p->n; period++) {
		size_t i = 0;

		while (i < 3 * period && took(p, i) == took(p, i + period))
			i++;
		if (i == 3 * period)
			return period;
	}
	return 0;
}

static double mean_of_newest(const struct pace *p, size_t n)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += took(p, i);
	return (double)sum / (double)n;
}

static void warm(struct sim_replay *r, const struct sim_trace *t, uint64_t far)
{
	uint64_t line = sim_replay_core(r)->memory.line_shift;

	for (size_t i = 0; i < t->warm.n; i++)
		for (uint64_t at = t->warm.v[i].from; at < t->warm.v[i].to; at += UINT64_C(1) << line)
			sim_replay_touch(r, at + far);
}

/* Accesses with `far` added; the array ends with SIM_MEM_END. */
static const uint64_t *moved(const uint64_t *mem, uint64_t far, uint64_t *room, size_t n_room)
{
	size_t i = 0;

	if (!far)
		return mem;
	for (; i + 1 < n_room && mem[i] != SIM_MEM_END; i++)
		room[i] = mem[i] + (far << 16);
	room[i] = SIM_MEM_END;
	return room;
}

double sim_trace_run(struct sim_replay *r, const struct sim_trace *t, size_t settle, uint64_t far)
{
	uint64_t room[4096 + 1], from = 0, last = 0;
	struct pace pace = { 0 };
	size_t turn = 0, period, n_insn = 0;

	warm(r, t, far);
	for (size_t i = 0; i < t->steps.n; i++) {
		const struct sim_step *s = &t->steps.v[i];
		uint64_t next = i + 1 < t->steps.n ? sim_replay_block(r, s[1].block)->ip : t->end_ip;

		if (turn < t->turns.n && t->turns.v[turn] == i) {
			uint64_t now = sim_replay_cycles(r);

			if (turn == settle)
				from = now;
			if (turn > settle)
				pace_add(&pace, now - last);
			last = now;
			if (turn++ > settle && t->regular && n_insn >= SETTLED_INSNS &&
			    (period = period_of(&pace)))
				return mean_of_newest(&pace, period);
		}
		n_insn += turn > settle ? sim_replay_block(r, s->block)->n_insn : 0;
		sim_replay_run(r, s->block, next,
		               moved(&t->mem.v[s->mem], far, room, sizeof(room) / sizeof(*room)));
	}
	return (double)(last - from) / (double)(t->turns.n - 1 - settle);
}

double sim_loop_run(struct sim_replay *r, const uint32_t *block, const uint64_t *const *mem, size_t n)
{
	static const uint64_t nothing[] = { SIM_MEM_END };
	struct pace pace = { 0 };
	uint64_t last = 0, from = 0;
	size_t period = 0, n_insn = 0;

	for (size_t turn = 0; turn < LOOP_SETTLE + LOOP_TURNS; turn++) {
		if (turn > LOOP_SETTLE)
			pace_add(&pace, sim_replay_cycles(r) - last);
		last = sim_replay_cycles(r);
		from = turn == LOOP_SETTLE ? last : from;
		if (n_insn >= SETTLED_INSNS && (period = period_of(&pace)))
			return mean_of_newest(&pace, period);
		for (size_t i = 0; i < n; i++) {
			uint32_t next = block[i + 1 < n ? i + 1 : 0];

			n_insn += turn >= LOOP_SETTLE ? sim_replay_block(r, block[i])->n_insn : 0;
			sim_replay_run(r, block[i], sim_replay_block(r, next)->ip,
			               mem && mem[i] ? mem[i] : nothing);
		}
	}
	return (double)(last - from) / (LOOP_TURNS - 1);
}
