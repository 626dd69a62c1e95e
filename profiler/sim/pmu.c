/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/sim/pmu.h"

#include <string.h>

#include "profiler/sim/core.h"

#define NEVER UINT64_MAX

/* splitmix64 (Steele, Lea, Flood 2014): any seed is a good one. */
uint64_t sim_pmu_random(uint64_t *rng)
{
	uint64_t z = (*rng += 0x9e3779b97f4a7c15u);

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

uint64_t sim_pmu_seed(uint64_t seed, uint64_t n)
{
	seed += n * 0xd1342543de82ef95u;
	return sim_pmu_random(&seed);
}

/* The bias of the modulo is below 2^-30: weights and bins are small. */
uint64_t sim_pmu_skid(const struct sim_config *c, uint64_t *rng)
{
	uint64_t at = sim_pmu_random(rng) % c->skid[c->n_skid_bins - 1].weight_up_to;
	uint32_t lo = 0, hi = c->n_skid_bins - 1;

	while (lo < hi) {
		uint32_t mid = (lo + hi) / 2;

		if (at < c->skid[mid].weight_up_to)
			hi = mid;
		else
			lo = mid + 1;
	}
	return c->skid[lo].lo_cyc + sim_pmu_random(rng) % (c->skid[lo].hi_cyc - c->skid[lo].lo_cyc);
}

/* When the fast path must stop: an interrupt, an overflow of the cycle counter, a burst, or the end of a turn. */
static void plan(struct sim_pmu *p)
{
	p->stop_cyc = p->turn_end_cyc < p->burst.at_cyc ? p->turn_end_cyc : p->burst.at_cyc;
	for (const struct sim_sampler *s = p->run; s < p->run_end; s++) {
		uint64_t t = s->due;

		if (t == NEVER && s->event == SIM_CYCLES)
			t = s->next + p->cycle0;
		if (t < p->stop_cyc)
			p->stop_cyc = t;
	}
}

uint64_t sim_pmu_value(const struct sim_pmu *p, uint32_t i)
{
	const struct wire_event *e = &p->setup.event[i];

	return (e->set == p->set ? p->value[e->event] : p->missed[i].stopped) - p->missed[i].missed;
}

/* A turn lasts 0.75 to 1.25 of what was asked for, so that it keeps no step with the program. */
static void begin_turn(struct sim_pmu *p, uint64_t now_cyc)
{
	uint64_t half = p->setup.rotate_cyc / 2;

	p->turn_begin_cyc = now_cyc;
	p->turn_over = false;
	p->turn_end_cyc = NEVER;
	if (p->setup.n_sets > 1)
		p->turn_end_cyc = now_cyc + p->setup.rotate_cyc - half / 2 +
		                  sim_pmu_random(&p->turn_rng) % (half + 1) + 1;
	p->run = p->sampler;
	while (p->run < p->sampler + p->n_samplers && p->run->set != p->set)
		p->run++;
	for (p->run_end = p->run; p->run_end < p->sampler + p->n_samplers && p->run_end->set == p->set;)
		p->run_end++;
	p->insns_left = 0;
	plan(p);
}

/* What overflowed and has had no interrupt by the end of its turn gets none. */
static void stop_samplers(struct sim_pmu *p)
{
	for (struct sim_sampler *s = p->run; s < p->run_end; s++) {
		if (s->due == NEVER)
			continue;
		s->due = NEVER;
		s->next += ((p->value[s->event] - s->next) / s->period + 1) * s->period;
	}
}

static void next_turn(struct sim_pmu *p, uint64_t now_cyc)
{
	stop_samplers(p);
	p->running_cyc[p->set] += now_cyc - p->turn_begin_cyc;
	for (uint32_t i = 0; i < p->setup.n_events; i++)
		if (p->setup.event[i].set == p->set)
			p->missed[i].stopped = p->value[p->setup.event[i].event];
	p->set = (p->set + 1) % p->setup.n_sets;
	begin_turn(p, now_cyc);
	for (struct sim_sampler *s = p->run; s < p->run_end; s++)
		s->next += p->value[s->event] - p->missed[s->member].stopped;
	for (uint32_t i = 0; i < p->setup.n_events; i++)
		if (p->setup.event[i].set == p->set)
			p->missed[i].missed += p->value[p->setup.event[i].event] - p->missed[i].stopped;
	plan(p);
}

/* At its time: at once, or when the interrupts that are under way by then have come. */
static void end_turn(struct sim_pmu *p, uint64_t now_cyc)
{
	uint64_t last = now_cyc;

	for (const struct sim_sampler *s = p->run; s < p->run_end && !p->turn_over; s++)
		if (s->due != NEVER && s->due > last)
			last = s->due;
	p->turn_over = true;
	p->turn_end_cyc = last;
	if (last == now_cyc)
		next_turn(p, now_cyc);
}

void sim_pmu_restart(struct sim_pmu *p, uint64_t now_cyc, uint64_t seed)
{
	memset(p->value, 0, sizeof(p->value));
	memset(p->missed, 0, sizeof(p->missed));
	memset(p->running_cyc, 0, sizeof(p->running_cyc));
	p->cycle0 = now_cyc;
	p->rng = seed;
	p->turn_rng = sim_pmu_seed(seed, 1);
	p->n_branch = 0;
	p->set = 0;
	sim_burst_init(&p->burst, p->setup.burst_cyc, sim_pmu_seed(seed, 2), now_cyc);
	for (uint32_t i = 0; i < p->n_samplers; i++) {
		p->sampler[i].next = p->sampler[i].period;
		p->sampler[i].due = NEVER;
	}
	begin_turn(p, now_cyc);
}

void sim_pmu_init(struct sim_pmu *p, const struct sim_config *config, const struct sim_pmu_setup *setup)
{
	memset(p, 0, sizeof(*p));
	p->setup = *setup;
	p->config = config;
	for (uint32_t i = 0; i < setup->n_events; i++) {
		const struct wire_event *e = &setup->event[i];

		if (e->period)
			p->sampler[p->n_samplers++] =
			        (struct sim_sampler){ (uint8_t)e->event, (uint8_t)i, (uint8_t)e->set,
				                      e->period,         NEVER,      NEVER };
	}
	sim_pmu_restart(p, 0, setup->seed);
}

static void record_branch(struct sim_pmu *p, const struct sim_pmu_branch *b)
{
	p->branch[p->n_branch++ % WIRE_MAX_BRANCHES] = *b;
}

static void copy_branches(const struct sim_pmu *p, struct sim_sample *s)
{
	uint64_t n = p->setup.n_branches < p->n_branch ? p->setup.n_branches : p->n_branch;

	s->n_branches = (uint32_t)n;
	for (uint64_t k = 0; k < n; k++) {
		const struct sim_pmu_branch *b = &p->branch[(p->n_branch - 1 - k) % WIRE_MAX_BRANCHES];
		const struct sim_pmu_branch *before = &p->branch[(p->n_branch - 2 - k) % WIRE_MAX_BRANCHES];
		bool known = p->config->branch_cycles && p->n_branch >= k + 2 && k + 1 < WIRE_MAX_BRANCHES;

		s->branch[k] = (struct wire_branch){ b->from_ip, b->to_ip, b->mispredicted,
			                             known ? (uint32_t)(b->cycle - before->cycle) : 0 };
	}
}

/* One interrupt serves every counter that has overflowed by now. */
static void interrupt(struct sim_pmu *p, uint64_t now, uint64_t ip)
{
	struct sim_sample out = { .cycle = now,
		                  .ip = ip,
		                  .running_cyc = p->running_cyc[p->set] + now - p->turn_begin_cyc };

	for (uint32_t i = 0; i < p->setup.n_events; i++)
		if (p->setup.event[i].set == p->set)
			out.value[out.n_values++] = sim_pmu_value(p, i);
	copy_branches(p, &out);
	for (struct sim_sampler *s = p->run; s < p->run_end; s++) {
		if (s->due == NEVER)
			continue;
		s->due = NEVER;
		s->next += ((p->value[s->event] - s->next) / s->period + 1) * s->period;
		out.event = s->member;
		p->setup.sample(p->setup.user, &out);
	}
}

static void end_burst(struct sim_pmu *p, uint64_t now_cyc)
{
	struct sim_sample out = { .cycle = now_cyc, .ip = p->burst.ip, .event = p->setup.n_events };

	out.n_branches = sim_burst_end(&p->burst, now_cyc, out.branch);
	if (out.n_branches)
		p->setup.sample(p->setup.user, &out);
	plan(p);
}

void sim_pmu_cut_burst(struct sim_pmu *p, uint64_t now_cyc)
{
	if (p->burst.open)
		end_burst(p, now_cyc);
}

/* All that happens before the cycle in which the instruction at ip retires. */
static void advance(struct sim_pmu *p, uint64_t retire_cyc, uint64_t ip)
{
	while (p->stop_cyc < retire_cyc) {
		uint64_t now = p->stop_cyc;
		bool is_due = false;

		p->value[SIM_CYCLES] = now - p->cycle0;
		/* A cycle counter that overflows now may have a delay of none. */
		for (struct sim_sampler *s = p->run; s < p->run_end; s++)
			if (s->event == SIM_CYCLES && s->due == NEVER && s->next + p->cycle0 == now)
				s->due = now + sim_pmu_skid(p->config, &p->rng);
		for (const struct sim_sampler *s = p->run; s < p->run_end; s++)
			is_due |= s->due == now;
		if (is_due)
			interrupt(p, now, ip);
		if (p->burst.at_cyc == now)
			sim_burst_begin(&p->burst, now, ip, p->value[SIM_INSTRUCTIONS]);
		if (p->turn_end_cyc == now)
			end_turn(p, now);
		plan(p);
	}
}

static void count_outcome(struct sim_pmu *p, const struct sim_outcome *end)
{
	p->value[SIM_TAKEN_BRANCHES] += end->taken;
	p->value[SIM_BRANCH_MISSES] += end->mispredicted;
}

static void count_insn(struct sim_pmu *p, const struct sim_insn *in)
{
	for (unsigned bits = in->events; bits; bits &= bits - 1)
		p->value[__builtin_ctz(bits)]++;
}

static void count_miss(struct sim_pmu *p, unsigned level)
{
	p->value[SIM_L1D_MISSES]++;
	p->value[SIM_L2_MISSES] += level >= SIM_IN_L3;
	p->value[SIM_L3_MISSES] += level >= SIM_IN_DRAM;
}

static void find_overflows(struct sim_pmu *p, uint64_t retire_cyc)
{
	for (struct sim_sampler *s = p->run; s < p->run_end; s++)
		if (s->event != SIM_CYCLES && s->due == NEVER && p->value[s->event] >= s->next)
			s->due = retire_cyc + sim_pmu_skid(p->config, &p->rng);
	plan(p);
}

static void end_branch(struct sim_core *c, const struct sim_block *b, const struct sim_insn *last,
                       const struct sim_outcome *end)
{
	struct sim_pmu_branch r = { b->ip + last->ip_off, end->to_ip, c->retire_cyc, end->mispredicted };

	if (!end->taken)
		return;
	if (c->pmu.setup.n_branches)
		record_branch(&c->pmu, &r);
	if (c->pmu.burst.open &&
	    sim_burst_branch(&c->pmu.burst, r.from_ip, r.to_ip, c->pmu.value[SIM_INSTRUCTIONS]))
		end_burst(&c->pmu, c->retire_cyc);
}

/* Instruction by instruction, in the order of retirement. */
static void count_slowly(struct sim_core *c, const struct sim_block *b, uint32_t n_insn,
                         const struct sim_outcome *end)
{
	struct sim_pmu *p = &c->pmu;
	uint64_t seq = c->seq - n_insn;
	uint32_t k = 0;

	for (uint32_t i = 0; i < n_insn; i++, seq++) {
		const struct sim_insn *in = &b->insn[i];
		uint64_t retire = c->retire[seq % SIM_WINDOW];
		bool last = i + 1 == n_insn;

		advance(p, retire, b->ip + in->ip_off);
		if (last && !end->whole)
			break;
		count_insn(p, in);
		while (k < c->n_missed && c->missed[k].index == i)
			count_miss(p, c->missed[k++].level);
		if (last) {
			count_outcome(p, end);
			end_branch(c, b, in, end);
		}
		find_overflows(p, retire);
	}
}

/*
 * So many instructions may retire before another counter overflows: each
 * counts for an event at most once.  A counter that waits for its interrupt
 * does not overflow again before that.
 */
static uint64_t insns_to_overflow(const struct sim_pmu *p)
{
	uint64_t least = NEVER;

	for (const struct sim_sampler *s = p->run; s < p->run_end; s++) {
		uint64_t value = p->value[s->event], left = s->next > value ? s->next - value : 0;

		if (s->event != SIM_CYCLES && s->due == NEVER && left < least)
			least = left;
	}
	return least;
}

static bool overflows_in(const struct sim_pmu *p, const struct sim_block *b)
{
	for (const struct sim_sampler *s = p->run; s < p->run_end; s++) {
		/* The misses of a block are at most its loads, and so on: n_insn bounds them all. */
		uint64_t most = b->total[s->event] ? b->total[s->event] : b->n_insn;

		if (s->event != SIM_CYCLES && s->due == NEVER && p->value[s->event] + most >= s->next)
			return true;
	}
	return false;
}

/* The same, looked at closely only near the next overflow. */
static inline bool may_overflow(struct sim_pmu *p, const struct sim_block *b)
{
	if (p->insns_left <= b->n_insn) {
		p->insns_left = insns_to_overflow(p);
		if (p->insns_left <= b->n_insn && overflows_in(p, b))
			return true;
	}
	p->insns_left = p->insns_left > b->n_insn ? p->insns_left - b->n_insn : 0;
	return false;
}

static void count_misses(struct sim_core *c)
{
	for (uint32_t k = 0; k < c->n_missed; k++)
		count_miss(&c->pmu, c->missed[k].level);
}

void sim_pmu_block(struct sim_core *c, const struct sim_block *b, uint32_t n_insn,
                   const struct sim_outcome *end)
{
	struct sim_pmu *p = &c->pmu;

	if (c->retire_cyc > p->stop_cyc || n_insn != b->n_insn || !end->whole || may_overflow(p, b)) {
		count_slowly(c, b, n_insn, end);
		p->insns_left = 0;
		return;
	}
	for (unsigned e = 0; e < SIM_EVENTS_ROOM; e++)
		p->value[e] += b->total[e];
	count_misses(c);
	count_outcome(p, end);
	end_branch(c, b, &b->insn[n_insn - 1], end);
}
