/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/sim/pmu.h"

#include <string.h>

#include "profiler/sim/core.h"
#include "profiler/sim/pmu_int.h"

void sim_pmu_plan(struct sim_pmu *p)
{
	uint64_t stop = p->turn_end_cyc < p->burst.at_cyc ? p->turn_end_cyc : p->burst.at_cyc;

	if (p->tick_at_cyc < stop)
		stop = p->tick_at_cyc;
	if (p->take_cyc < stop)
		stop = p->take_cyc;
	for (uint32_t k = 0; k < p->n_run; k++) {
		const struct sim_sampler *s = p->run[k];
		/* Whose interrupt comes while another waits to be taken is served by that one. */
		uint64_t t = p->take_cyc == SIM_NEVER ? s->due : SIM_NEVER;

		if (s->event == SIM_CYCLES && !sim_pmu_is_busy(s))
			t = s->next + p->cycle0;
		if (t < stop)
			stop = t;
	}
	p->stop_cyc = stop;
}

uint64_t sim_pmu_value(const struct sim_pmu *p, uint32_t i)
{
	const struct sim_member *m = &p->member[i];

	return (m->on ? p->value[p->setup.event[i].event] : m->stopped) - m->missed + m->kernel;
}

/* The period that is counted now ends where the counter stands; those that passed meanwhile are hidden. */
static void begin_period(struct sim_pmu *p, struct sim_sampler *s)
{
	uint64_t value = p->value[s->event];

	s->counting = s->period;
	if (!p->setup.event[s->member].rate_hz) {
		s->next += value < s->next ? 0 : ((value - s->next) / s->period + 1) * s->period;
		return;
	}
	s->next += s->period;
	/* No counter can be told to overflow at once. */
	if (s->next < value + 2)
		s->next = value + (s->period > 2 ? s->period : 2);
}

void sim_pmu_drop(struct sim_pmu *p, struct sim_sampler *s)
{
	s->due = s->armed = SIM_NEVER;
	s->wants_next = false;
	sim_lbr_go_on(&p->lbr);
	begin_period(p, s);
}

void sim_pmu_restart(struct sim_pmu *p, uint64_t now_cyc, uint64_t seed)
{
	memset(p->value, 0, sizeof(p->value));
	memset(p->member, 0, sizeof(p->member));
	memset(p->running_cyc, 0, sizeof(p->running_cyc));
	p->cycle0 = now_cyc;
	p->rng = seed;
	p->turn_rng = sim_pmu_seed(seed, 1);
	p->take_cyc = SIM_NEVER;
	p->burst_waits = p->watch = false;
	sim_burst_init(&p->burst, p->setup.burst_cyc, p->setup.burst_branches, sim_pmu_seed(seed, 2),
	               now_cyc);
	sim_lbr_init(&p->lbr, p->setup.n_branches, p->setup.branch_filter, sim_pmu_seed(seed, 3));
	p->n_samplers = 0;
	for (uint32_t i = 0; i < p->setup.n_events; i++) {
		const struct wire_event *e = &p->setup.event[i];
		/* Where the kernel has to find the period it begins with 1. */
		uint64_t period = e->rate_hz ? 1 : e->period;

		if (!period)
			continue;
		p->member[i].sampler = &p->sampler[p->n_samplers++];
		*p->member[i].sampler = (struct sim_sampler){ .event = (uint8_t)e->event,
			                                      .member = (uint8_t)i,
			                                      .precise = (uint8_t)e->precise,
			                                      .period = period,
			                                      .counting = period,
			                                      .next = period,
			                                      .armed = SIM_NEVER,
			                                      .due = SIM_NEVER,
			                                      .last_cyc = now_cyc };
	}
	sim_pmu_begin_turns(p, now_cyc);
}

void sim_pmu_init(struct sim_pmu *p, const struct sim_config *config, const struct sim_pmu_setup *setup)
{
	memset(p, 0, sizeof(*p));
	p->setup = *setup;
	p->config = config;
	sim_pmu_restart(p, 0, setup->seed);
}

void sim_pmu_save(const struct sim_pmu *p, uint64_t now_cyc, struct sim_pmu_state *out)
{
	memset(out, 0, sizeof(*out));
	out->elapsed_cyc = now_cyc - p->cycle0;
	for (uint32_t i = 0; i < p->setup.n_events; i++) {
		out->value[i] = sim_pmu_value(p, i);
		out->period[i] = p->member[i].sampler ? p->member[i].sampler->period : 0;
	}
	for (uint32_t s = 0; s < p->setup.n_sets; s++)
		out->running_cyc[s] = p->running_cyc[s] + (s == p->set ? now_cyc - p->turn_begin_cyc : 0);
}

/* Cycles are counted from cycle0, so that goes back.  What members have is added as if the kernel had counted it. */
void sim_pmu_resume(struct sim_pmu *p, const struct sim_pmu_state *state)
{
	p->cycle0 = 0 - state->elapsed_cyc;
	p->value[SIM_CYCLES] = state->elapsed_cyc;
	memcpy(p->running_cyc, state->running_cyc, sizeof(p->running_cyc));
	for (uint32_t i = 0; i < p->setup.n_events; i++) {
		struct sim_member *m = &p->member[i];
		struct sim_sampler *s = m->sampler;

		m->stopped = m->missed = p->value[p->setup.event[i].event];
		m->kernel = state->value[i];
		if (!s || !state->period[i])
			continue;
		s->period = s->counting = state->period[i];
		s->tick_value = state->value[i];
		s->next = m->stopped + s->period - state->value[i] % s->period;
	}
	sim_pmu_plan(p);
}

void sim_pmu_overflow(struct sim_pmu *p, struct sim_sampler *s, uint64_t now_cyc)
{
	sim_lbr_overflow(&p->lbr, p->config);
	if (!s->precise) {
		s->due = now_cyc + sim_pmu_skid(p->config, s->counting, &p->rng);
		return;
	}
	s->armed = now_cyc + p->config->precise_shadow_cyc;
	p->watch = true;
}

void sim_pmu_interrupt(struct sim_pmu *p, uint64_t now, uint64_t ip)
{
	struct wire_branch branch[WIRE_MAX_BRANCHES];
	struct sim_sample out = { .cycle = now,
		                  .running_cyc = p->running_cyc[p->set] + now - p->turn_begin_cyc,
		                  .branch = branch };
	struct sim_sampler *served[WIRE_MAX_EVENTS] = { NULL };
	uint32_t n_served = 0;

	p->take_cyc = SIM_NEVER;
	for (uint32_t i = 0; i < p->setup.n_events && !p->setup.no_values; i++)
		if (sim_pmu_in_set(p, i)) /* throttled or not */
			out.value[out.n_values++] = sim_pmu_value(p, i);
	out.n_branches = sim_lbr_read(&p->lbr, p->config, now, branch);
	sim_lbr_go_on(&p->lbr);
	for (uint32_t k = 0; k < p->n_run; k++)
		if (p->run[k]->due != SIM_NEVER)
			served[n_served++] = p->run[k];
	for (uint32_t k = 0; k < n_served; k++) {
		struct sim_sampler *s = served[k];

		out.ip = s->precise ? s->ip : ip;
		out.event = s->member;
		out.period = s->counting;
		s->due = SIM_NEVER;
		begin_period(p, s);
		p->setup.sample(p->setup.user, &out);
		sim_pmu_sampled(p, s, now);
	}
}

bool sim_pmu_is_idle(const struct sim_pmu *p)
{
	bool busy = p->take_cyc != SIM_NEVER || p->burst.open || p->burst_waits || p->turn_over;

	for (uint32_t k = 0; k < p->n_run; k++)
		busy |= sim_pmu_is_busy(p->run[k]);
	return !busy;
}

static void end_burst(struct sim_pmu *p, uint64_t now_cyc)
{
	struct sim_sample out = { .cycle = now_cyc, .ip = p->burst.ip, .event = p->setup.n_events };

	out.n_branches = p->burst.n;
	out.n_chain = p->burst.n_chain;
	out.chain = p->burst.chain;
	out.branch = sim_burst_end(&p->burst, now_cyc);
	if (out.n_branches)
		p->setup.sample(p->setup.user, &out);
	sim_pmu_plan(p);
}

void sim_pmu_cut_burst(struct sim_pmu *p, uint64_t now_cyc)
{
	if (p->burst.open)
		end_burst(p, now_cyc);
}

void sim_pmu_pass_call(struct sim_pmu *p, uint64_t now_cyc)
{
	if (!p->burst.open || p->burst.n_calls++ < SIM_BURST_CALLS)
		return;
	/* Whole, but for the branch that leads to this call. */
	p->burst.n -= p->burst.n > 1;
	end_burst(p, now_cyc);
}

static bool is_due(const struct sim_pmu *p, uint64_t now)
{
	for (uint32_t k = 0; k < p->n_run; k++)
		if (p->run[k]->due <= now)
			return true;
	return false;
}

/* A stepper's stop is an interrupt like others. */
static void begin_burst(struct sim_pmu *p, uint64_t retire_cyc, uint64_t ip)
{
	if (p->config->interrupt_retires && !p->burst_waits) {
		p->burst.at_cyc = retire_cyc;
		p->burst_waits = true;
		return;
	}
	p->burst_waits = false;
	sim_burst_begin(&p->burst, ip, p->setup.chain);
}

/* All that happens before the cycle in which the instruction at ip, the oldest, retires. */
static void advance(struct sim_pmu *p, uint64_t retire_cyc, uint64_t ip)
{
	while (p->stop_cyc < retire_cyc) {
		uint64_t now = p->stop_cyc;

		p->value[SIM_CYCLES] = now - p->cycle0;
		/* A cycle counter that overflows now may have a delay of none. */
		for (uint32_t k = 0; k < p->n_run; k++) {
			struct sim_sampler *s = p->run[k];

			if (s->event == SIM_CYCLES && !sim_pmu_is_busy(s) && s->next + p->cycle0 <= now)
				sim_pmu_overflow(p, s, now);
		}
		if (p->take_cyc == now)
			sim_pmu_interrupt(p, now, ip);
		else if (p->take_cyc == SIM_NEVER && is_due(p, now) && p->config->interrupt_retires)
			p->take_cyc = retire_cyc;
		else if (p->take_cyc == SIM_NEVER && is_due(p, now))
			sim_pmu_interrupt(p, now, ip);
		if (p->burst.at_cyc == now)
			begin_burst(p, retire_cyc, ip);
		if (p->tick_at_cyc <= now)
			sim_pmu_tick(p, now);
		if (p->turn_end_cyc == now)
			sim_pmu_end_turn(p, now);
		sim_pmu_plan(p);
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

/* An instruction that has just been counted. */
struct retired {
	uint64_t ip, retire_cyc, dispatch_cyc;
	uint64_t before[SIM_EVENTS_ROOM]; /* the counters without it, where one is to be caught */
};

static void caught(struct sim_pmu *p, struct sim_sampler *s, const struct retired *r)
{
	s->armed = SIM_NEVER;
	s->ip = r->ip;
	s->wants_next = s->precise == 1 && !p->config->precise_by_dispatch;
	s->due = r->retire_cyc + sim_pmu_skid(p->config, s->counting, &p->rng);
}

/* Only instructions that count for the event raise the assist that catches them. */
static bool is_caught(const struct sim_pmu *p, const struct sim_sampler *s, const struct retired *r)
{
	if (s->armed == SIM_NEVER)
		return false;
	if (p->config->precise_by_dispatch)
		return r->dispatch_cyc >= s->armed;
	return r->retire_cyc >= s->armed &&
	       (s->event == SIM_CYCLES || p->value[s->event] != r->before[s->event]);
}

static void catch (struct sim_pmu *p, const struct retired *r)
{
	p->watch = false;
	for (uint32_t k = 0; k < p->n_run; k++) {
		if (is_caught(p, p->run[k], r))
			caught(p, p->run[k], r);
		p->watch |= p->run[k]->armed != SIM_NEVER || p->run[k]->wants_next;
	}
	sim_pmu_plan(p);
}

/* Samples that show the instruction behind the one that was caught. */
static void give_next(struct sim_pmu *p, uint64_t ip)
{
	for (uint32_t k = 0; k < p->n_run; k++) {
		if (p->run[k]->wants_next)
			p->run[k]->ip = ip;
		p->run[k]->wants_next = false;
	}
}

/* The very instruction is shown by what counts instructions where they are dispatched, and by the most precise of the others. */
static bool shows_the_very_one(const struct sim_pmu *p, const struct sim_sampler *s)
{
	return s->precise && (p->config->precise_by_dispatch || s->precise == 3);
}

static void find_overflows(struct sim_pmu *p, const struct retired *r)
{
	for (uint32_t k = 0; k < p->n_run; k++) {
		struct sim_sampler *s = p->run[k];

		if (s->event == SIM_CYCLES || sim_pmu_is_busy(s) || p->value[s->event] < s->next)
			continue;
		if (shows_the_very_one(p, s))
			caught(p, s, r);
		else
			sim_pmu_overflow(p, s, r->retire_cyc);
	}
	sim_pmu_plan(p);
}

static void end_branch(struct sim_core *c, const struct sim_block *b, const struct sim_outcome *end)
{
	if (!end->taken)
		return;
	sim_lbr_add(&c->pmu.lbr, b->exit, b->last_ip, end->to_ip, c->retire_cyc, end->mispredicted);
	if (c->pmu.burst.open && sim_burst_branch(&c->pmu.burst, b->last_ip, end->to_ip))
		end_burst(&c->pmu, c->retire_cyc);
}

/* The first instruction's place in the reorder buffer: one that was fused with the next has none of its own. */
static uint64_t first_place(const struct sim_core *c, const struct sim_block *b, uint32_t n_insn)
{
	uint64_t seq = c->seq - n_insn;

	for (uint32_t i = 0; i < n_insn; i++)
		seq += (b->insn[i].flags & SIM_F_FUSED) != 0;
	return seq;
}

/* Instruction by instruction, in the order of retirement; apart, for what is done most of the time to be short. */
static __attribute__((noinline)) void count_slowly(struct sim_core *c, const struct sim_block *b,
                                                   uint32_t n_insn, const struct sim_outcome *end)
{
	struct sim_pmu *p = &c->pmu;
	uint64_t seq = first_place(c, b, n_insn);
	uint32_t k = 0;

	for (uint32_t i = 0; i < n_insn; i++) {
		const struct sim_insn *in = &b->insn[i];
		/* Left between two that are fused, the first one has retired with what was before it. */
		struct retired r = { b->ip + in->ip_off, seq < c->seq ? *sim_retired(c, seq) : c->retire_cyc,
			             c->dispatched[seq % SIM_WINDOW] };
		bool last = i + 1 == n_insn;

		if (p->watch)
			give_next(p, r.ip);
		advance(p, r.retire_cyc, r.ip);
		if (last && !end->whole)
			break;
		if (p->watch)
			memcpy(r.before, p->value, sizeof(r.before));
		count_insn(p, in);
		while (k < c->n_missed && c->missed[k].index == i)
			count_miss(p, c->missed[k++].level);
		if (last) {
			count_outcome(p, end);
			end_branch(c, b, end);
		}
		if (p->watch)
			catch (p, &r);
		find_overflows(p, &r);
		seq += !(in->flags & SIM_F_FUSED);
	}
}

/*
 * So many instructions may retire before another counter overflows: each
 * counts for an event at most once.  A counter that waits for its interrupt
 * does not overflow again before that.
 */
static uint64_t insns_to_overflow(const struct sim_pmu *p)
{
	uint64_t least = SIM_NEVER;

	for (uint32_t k = 0; k < p->n_run; k++) {
		const struct sim_sampler *s = p->run[k];
		uint64_t value = p->value[s->event], left = s->next > value ? s->next - value : 0;

		if (s->event != SIM_CYCLES && !sim_pmu_is_busy(s) && left < least)
			least = left;
	}
	return least;
}

static bool overflows_in(const struct sim_pmu *p, const struct sim_block *b)
{
	for (uint32_t k = 0; k < p->n_run; k++) {
		const struct sim_sampler *s = p->run[k];
		/* The misses of a block are at most its loads, and so on: n_insn bounds them all. */
		uint64_t most = b->total[s->event] ? b->total[s->event] : b->n_insn;

		if (s->event != SIM_CYCLES && !sim_pmu_is_busy(s) && p->value[s->event] + most >= s->next)
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

/*
 * Not of the events between, which are no block's: each is counted by itself, and the processor would have to wait for
 * the one number that was just written before it could read it with its neighbours.
 */
static inline void add_totals(struct sim_pmu *p, const struct sim_block *b, unsigned from, unsigned to)
{
	for (unsigned e = from; e <= to; e++)
		p->value[e] += b->total[e];
}

_Static_assert(SIM_TAKEN_BRANCHES == SIM_BRANCHES + 1 && SIM_COND_BRANCHES == SIM_TAKEN_BRANCHES + 1 &&
                       SIM_BRANCH_MISSES == SIM_FP_VECTOR + 1 && SIM_INDIRECT_BRANCHES == SIM_L3_MISSES + 1 &&
                       SIM_SIMD_INT == SIM_N_EVENTS - 1,
               "no event is left out");

void sim_pmu_block(struct sim_core *c, const struct sim_block *b, uint32_t n_insn,
                   const struct sim_outcome *end)
{
	struct sim_pmu *p = &c->pmu;

	if (c->retire_cyc > p->stop_cyc || p->watch || n_insn != b->n_insn || !end->whole ||
	    may_overflow(p, b)) {
		count_slowly(c, b, n_insn, end);
		p->insns_left = 0;
		return;
	}
	add_totals(p, b, SIM_INSTRUCTIONS, SIM_BRANCHES);
	add_totals(p, b, SIM_COND_BRANCHES, SIM_FP_VECTOR);
	add_totals(p, b, SIM_INDIRECT_BRANCHES, SIM_SIMD_INT);
	count_misses(c);
	count_outcome(p, end);
	end_branch(c, b, end);
}
