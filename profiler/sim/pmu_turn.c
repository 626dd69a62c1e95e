/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/sim/pmu_int.h"

/* The kernel's tick on most distributions (CONFIG_HZ=250). */
enum { TICK_HZ = 250 };

static uint64_t value_now(const struct sim_pmu *p, uint32_t i)
{
	return p->value[p->setup.event[i].event];
}

bool sim_pmu_in_set(const struct sim_pmu *p, uint32_t i)
{
	const struct wire_event *e = &p->setup.event[i];

	return e->set == p->set || e->more_sets >> p->set & 1;
}

static void stop_member(struct sim_pmu *p, uint32_t i)
{
	struct sim_member *m = &p->member[i];

	m->on = false;
	m->stopped = value_now(p, i);
	if (m->sampler && sim_pmu_is_busy(m->sampler))
		sim_pmu_drop(p, m->sampler);
}

static void start_member(struct sim_pmu *p, uint32_t i)
{
	struct sim_member *m = &p->member[i];
	uint64_t others = value_now(p, i) - m->stopped;

	m->on = true;
	m->missed += others;
	if (m->sampler)
		m->sampler->next += others;
}

/* Who is in the set that counts now, and was not throttled, counts. */
static void set_members(struct sim_pmu *p)
{
	for (uint32_t i = 0; i < p->setup.n_events; i++) {
		const struct sim_sampler *s = p->member[i].sampler;
		bool on = sim_pmu_in_set(p, i) && !(s && s->throttled);

		if (on && !p->member[i].on)
			start_member(p, i);
		else if (!on && p->member[i].on)
			stop_member(p, i);
	}
	p->n_run = 0;
	for (uint32_t k = 0; k < p->n_samplers; k++)
		if (p->member[p->sampler[k].member].on)
			p->run[p->n_run++] = &p->sampler[k];
	p->insns_left = 0;
	sim_pmu_plan(p);
}

/* A turn lasts 0.75 to 1.25 of what was asked for, so that it keeps no step with the program. */
static void begin_turn(struct sim_pmu *p, uint64_t now_cyc)
{
	uint64_t half = p->setup.rotate_cyc / 2;

	p->turn_begin_cyc = now_cyc;
	p->turn_over = false;
	p->turn_end_cyc = SIM_NEVER;
	if (p->setup.n_sets > 1)
		p->turn_end_cyc = now_cyc + p->setup.rotate_cyc - half / 2 +
		                  sim_pmu_random(&p->turn_rng) % (half + 1) + 1;
	set_members(p);
}

void sim_pmu_begin_turns(struct sim_pmu *p, uint64_t now_cyc)
{
	bool ticks = p->setup.max_rate_hz != 0;

	for (uint32_t i = 0; i < p->setup.n_events; i++)
		ticks |= p->setup.event[i].rate_hz != 0;
	p->tick_cyc = ticks ? (uint64_t)(p->config->freq_ghz * 1e9 / TICK_HZ) : 0;
	p->tick_at_cyc = ticks ? now_cyc + p->tick_cyc : SIM_NEVER;
	p->set = 0;
	begin_turn(p, now_cyc);
}

static void next_turn(struct sim_pmu *p, uint64_t now_cyc)
{
	p->running_cyc[p->set] += now_cyc - p->turn_begin_cyc;
	p->set = (p->set + 1) % p->setup.n_sets;
	begin_turn(p, now_cyc);
}

void sim_pmu_end_turn(struct sim_pmu *p, uint64_t now_cyc)
{
	uint64_t last = now_cyc;

	for (uint32_t k = 0; k < p->n_run && !p->turn_over; k++)
		if (p->run[k]->due != SIM_NEVER && p->run[k]->due > last)
			last = p->run[k]->due;
	if (p->take_cyc != SIM_NEVER && p->take_cyc > last)
		last = p->take_cyc;
	p->turn_over = true;
	p->turn_end_cyc = last;
	if (last == now_cyc)
		next_turn(p, now_cyc);
}

/* As Linux does it (perf_adjust_period): an eighth of the way to the period that would have given the rate. */
static void adjust_period(struct sim_pmu *p, struct sim_sampler *s, uint64_t n, double ns)
{
	double wanted = (double)n * 1e9 / (ns * p->setup.event[s->member].rate_hz);
	int64_t delta = (int64_t)(wanted < 1e15 ? wanted : 1e15) - (int64_t)s->period;

	s->period = (uint64_t)((int64_t)s->period + (delta + 7) / 8);
	if (!s->period)
		s->period = 1;
}

static double ns_of(const struct sim_pmu *p, uint64_t cyc)
{
	return (double)cyc / p->config->freq_ghz;
}

void sim_pmu_sampled(struct sim_pmu *p, struct sim_sampler *s, uint64_t now_cyc)
{
	uint64_t since = now_cyc - s->last_cyc;

	s->last_cyc = now_cyc;
	if (p->setup.event[s->member].rate_hz && since && since < 2 * p->tick_cyc)
		adjust_period(p, s, s->counting, ns_of(p, since));
	s->n_in_tick++;
	if (!p->setup.max_rate_hz || s->n_in_tick <= p->setup.max_rate_hz / TICK_HZ)
		return;
	s->throttled = true;
	p->setup.throttle(p->setup.user, s->member, true, now_cyc);
	set_members(p);
}

void sim_pmu_tick(struct sim_pmu *p, uint64_t now_cyc)
{
	for (uint32_t k = 0; k < p->n_samplers; k++) {
		struct sim_sampler *s = &p->sampler[k];
		uint64_t value = sim_pmu_value(p, s->member), n = value - s->tick_value;

		if (s->throttled)
			p->setup.throttle(p->setup.user, s->member, false, now_cyc);
		s->throttled = false;
		s->n_in_tick = 0;
		s->tick_value = value;
		if (p->setup.event[s->member].rate_hz && n)
			adjust_period(p, s, n, ns_of(p, p->tick_cyc));
		/* What is still to be counted of a period that was far too long is let go. */
		if (p->setup.event[s->member].rate_hz && p->member[s->member].on && !sim_pmu_is_busy(s) &&
		    s->next - value_now(p, s->member) > 8 * s->period)
			s->next = value_now(p, s->member) + 1;
	}
	p->tick_at_cyc += p->tick_cyc;
	if (p->tick_at_cyc <= now_cyc)
		p->tick_at_cyc = now_cyc + p->tick_cyc;
	set_members(p);
}
