/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/sim/core.h"
#include "profiler/sim/pmu_int.h"

/*
 * The kernel is straight code that runs at an even pace: how it spends its
 * time is of no interest here, that events count there and interrupts find
 * the thread there is.
 */
struct stay {
	uint64_t begin, len; /* cycles */
	uint64_t n_insn, ip;
};

static uint64_t insns_at(const struct stay *k, uint64_t t)
{
	return (t - k->begin) * k->n_insn / k->len;
}

/* The first cycle by which n more instructions than at t have retired. */
static uint64_t when_retired(const struct stay *k, uint64_t t, uint64_t n)
{
	uint64_t up_to = insns_at(k, t) + n;

	return up_to > k->n_insn ? SIM_NEVER : k->begin + (up_to * k->len + k->n_insn - 1) / k->n_insn;
}

static uint64_t passed(const struct stay *k, unsigned event, uint64_t from, uint64_t to)
{
	return event == SIM_CYCLES         ? to - from
	       : event == SIM_INSTRUCTIONS ? insns_at(k, to) - insns_at(k, from)
	                                   : 0;
}

/* Time goes on for those that count here; for the others user mode's clock stands. */
static void pass(struct sim_pmu *p, const struct stay *k, uint64_t from, uint64_t to)
{
	for (uint32_t i = 0; i < p->setup.n_events; i++) {
		struct sim_member *m = &p->member[i];
		uint64_t n = passed(k, p->setup.event[i].event, from, to);

		if (!m->on || !p->setup.event[i].kernel)
			continue;
		m->kernel += n;
		if (m->sampler)
			m->sampler->next -= n;
	}
	/* The times of counters, enabled and running, are user mode's alike. */
	p->cycle0 += to - from;
	p->turn_begin_cyc += to - from;
}

/* When something is to be done for s, from t on. */
static uint64_t next_of(const struct sim_pmu *p, const struct stay *k, const struct sim_sampler *s,
                        uint64_t t)
{
	uint64_t left = s->next - p->value[s->event];

	if (s->due != SIM_NEVER)
		return s->due > t ? s->due : t;
	if (s->armed != SIM_NEVER || !p->setup.event[s->member].kernel)
		return SIM_NEVER;
	if (s->event == SIM_CYCLES)
		return t + left;
	return s->event == SIM_INSTRUCTIONS ? when_retired(k, t, left) : SIM_NEVER;
}

static struct sim_sampler *first_of(const struct sim_pmu *p, const struct stay *k, uint64_t *t)
{
	struct sim_sampler *first = NULL;
	uint64_t from = *t, best = k->begin + k->len;

	for (uint32_t i = 0; i < p->n_run; i++) {
		uint64_t at = next_of(p, k, p->run[i], from);

		if (at < best) {
			best = at;
			first = p->run[i];
		}
	}
	*t = best;
	return first;
}

static uint64_t ip_at(const struct stay *k, uint64_t t)
{
	return k->ip + insns_at(k, t) * 4 % WIRE_KERNEL_CALL_BYTES;
}

static void not_before(uint64_t *t, uint64_t end)
{
	if (*t < end)
		*t = end;
}

void sim_pmu_kernel(struct sim_core *c, uint64_t number)
{
	struct sim_pmu *p = &c->pmu;
	struct stay k = { c->retire_cyc, p->config->syscall_cyc, p->config->syscall_insns,
		          WIRE_KERNEL_IP + number % WIRE_KERNEL_CALLS * WIRE_KERNEL_CALL_BYTES };
	uint64_t t = k.begin, from, end = k.begin + k.len;
	struct sim_sampler *s;

	p->value[SIM_CYCLES] = t - p->cycle0;
	if (p->take_cyc != SIM_NEVER)
		sim_pmu_interrupt(p, t, ip_at(&k, t));
	while (from = t, (s = first_of(p, &k, &t))) {
		pass(p, &k, from, t);
		if (s->due != SIM_NEVER)
			sim_pmu_interrupt(p, t, ip_at(&k, t));
		else
			sim_pmu_overflow(p, s, s->precise ? end : t);
	}
	pass(p, &k, from, end);
	not_before(&p->turn_end_cyc, end);
	not_before(&p->tick_at_cyc, end);
	/* Moments of bursts are the user's time: the clock that tells them leaves the kernel out. */
	p->burst.at_cyc += p->burst.at_cyc < UINT64_MAX - k.len ? k.len : 0;
	p->insns_left = 0;
	sim_pmu_plan(p);
}
