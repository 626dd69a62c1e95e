/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Ports, places and schedulers of the simulated core: when an instruction can be dispatched and issued.  Included by core.c
 * alone, whose loop over the instructions of a block has all of it inline.
 */
#ifndef SKIDPROF_SIM_CORE_PORTS_H
#define SKIDPROF_SIM_CORE_PORTS_H

#ifdef __x86_64__
#include <immintrin.h>
#endif

#include "profiler/sim/core.h"

#define WINDOW(n)     ((n) & (SIM_WINDOW - 1))
#define ALWAYS_INLINE inline __attribute__((always_inline))

static inline uint64_t max_u64(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* An entry of the calendar with no port taken: which turn of the calendar the cycle is of, see struct sim_core. */
static inline uint32_t turn_of(uint64_t cyc)
{
	_Static_assert(SIM_PORT_CALENDAR == 1 << 11, "16 - 11 = 5");
	return (uint32_t)(cyc << 5) & 0xffff0000;
}

static inline uint32_t *calendar(struct sim_core *c, uint64_t cyc)
{
	return &c->port[cyc & (SIM_PORT_CALENDAR - 1)];
}

/* Which of the ports are free in a cycle.  An entry that stands for another turn is empty. */
static inline uint32_t ports_free(struct sim_core *c, uint64_t cyc, uint32_t ports)
{
	uint32_t taken = *calendar(c, cyc) ^ turn_of(cyc);

	return ports & ~(taken > 0xffff ? 0 : taken);
}

/* The first cycle from t on in which one of the ports is free. */
static __attribute__((noinline)) uint64_t find_port(struct sim_core *c, uint64_t t, uint32_t ports)
{
	while (!ports_free(c, t, ports))
		t++;
	return t;
}

#ifdef __x86_64__
/* Hosts that shift, and find bits, in one instruction where the oldest need three. */
#define WITH_BMI __attribute__((target("bmi,bmi2,avx2")))

/* The same, eight cycles at a time: most waits are shorter, and how long they are the host can't foretell. */
WITH_BMI static __attribute__((noinline)) uint64_t find_port_wide(struct sim_core *c, uint64_t t,
                                                                  uint32_t ports)
{
	const __m256i wanted = _mm256_set1_epi32((int)ports);

	for (;;) {
		__m256i taken, full;
		uint32_t free;

		/* Eight that lie in one turn of the calendar. */
		if ((t & (SIM_PORT_CALENDAR - 1)) > SIM_PORT_CALENDAR - 8) {
			if (ports_free(c, t, ports))
				return t;
			t++;
			continue;
		}
		taken = _mm256_xor_si256(_mm256_loadu_si256((const __m256i *)calendar(c, t)),
		                         _mm256_set1_epi32((int)turn_of(t)));
		/* All of them taken, and nothing in the upper half: of another turn no port would be. */
		full = _mm256_cmpeq_epi32(
		        _mm256_and_si256(taken, _mm256_or_si256(wanted, _mm256_set1_epi32((int)0xffff0000))),
		        wanted);
		free = ~(uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(full)) & 0xff;
		if (free)
			return t + (unsigned)__builtin_ctz(free);
		t += 8;
	}
}
#endif

/* The first cycle from `ready` on in which one of the ports is free; it is taken. */
static inline uint64_t take_port(struct sim_core *c, uint64_t ready, uint32_t ports)
{
	uint32_t *slot = calendar(c, ready), turn = turn_of(ready), taken = *slot ^ turn, avail;

	taken = taken > 0xffff ? 0 : taken;
	avail = ports & ~taken;
	if (__builtin_expect(!avail, 0)) {
		ready = c->find_port(c, ready + 1, ports);
		slot = calendar(c, ready);
		turn = turn_of(ready);
		taken = *slot ^ turn;
		taken = taken > 0xffff ? 0 : taken;
		avail = ports & ~taken;
	}
	*slot = (taken | (avail & -avail)) ^ turn;
	return ready;
}

/* A unit that is not pipelined: the one that is free first. */
static uint64_t take_unit(struct sim_core *c, uint64_t ready, const struct sim_insn *in)
{
	unsigned best = (unsigned)__builtin_ctz(in->ports);

	for (unsigned ports = in->ports; ports; ports &= ports - 1) {
		unsigned port = (unsigned)__builtin_ctz(ports);

		if (c->unit_free[port] < c->unit_free[best])
			best = port;
	}
	ready = take_port(c, max_u64(ready, c->unit_free[best] >> 4), 1u << best);
	c->unit_free[best] = max_u64(ready << 4, c->unit_free[best]) + in->occupancy_16;
	return ready;
}

/* When the place is free that the block's next instruction takes, `before` of its kind ahead of it. */
static inline uint64_t place_free(const struct sim_core *c, unsigned pool, uint32_t before)
{
	return c->freed[pool][WINDOW(c->place[pool] + before - c->room[pool])];
}

static inline void place_take(struct sim_core *c, unsigned pool, uint32_t before, uint64_t freed_cyc)
{
	c->freed[pool][WINDOW(c->place[pool] + before)] = freed_cyc;
}

/* Nothing is dispatched before t. */
static inline void hold_dispatch(struct sim_flight *f, uint64_t t)
{
	if (t > f->dispatch_cyc) {
		f->dispatch_cyc = t;
		f->dispatch_n = 0;
	}
}

/* In program order, dispatch_width a cycle. */
static inline uint64_t dispatch(const struct sim_core *c, struct sim_flight *f, uint32_t slots)
{
	while (f->dispatch_n >= c->dispatch_width) {
		f->dispatch_cyc++;
		f->dispatch_n -= c->dispatch_width;
	}
	f->dispatch_n += slots;
	return f->dispatch_cyc;
}

/* Everything up to t has left, and so much more that there is room for one. */
static void scheduler_advance(struct sim_scheduler *s, uint64_t t)
{
	while (s->n && (s->now < t || s->n >= s->size)) {
		uint16_t *leaves = &s->leaves[++s->now & (SIM_SCHEDULER_CALENDAR - 1)];

		s->n -= *leaves;
		*leaves = 0;
	}
	s->now = max_u64(s->now, t);
}

/* Dispatch stands until there is room; for vectors, in the queue before. */
static inline void scheduler_wait(struct sim_core *c, struct sim_flight *f, unsigned which)
{
	struct sim_scheduler *s = &c->scheduler[which];

	if (!s->size)
		return;
	if (which == SIM_WAITS_FP && c->fp_queue) {
		hold_dispatch(f, c->fp_entered[WINDOW(c->n_fp - c->fp_queue)]);
		return;
	}
	scheduler_advance(s, f->dispatch_cyc);
	hold_dispatch(f, s->now);
}

/* When one that was dispatched at t is in the vector scheduler; in program order, as time there does not go back. */
static inline uint64_t leave_fp_queue(struct sim_core *c, uint64_t t)
{
	struct sim_scheduler *s = &c->scheduler[SIM_WAITS_FP];

	if (!s->size || !c->fp_queue)
		return t;
	scheduler_advance(s, t);
	c->fp_entered[WINDOW(c->n_fp++)] = s->now;
	return s->now;
}

static inline void scheduler_enter(struct sim_core *c, unsigned which, uint64_t leaves_cyc)
{
	struct sim_scheduler *s = &c->scheduler[which];
	uint64_t last = s->now + SIM_SCHEDULER_CALENDAR - 1;

	leaves_cyc += c->scheduler_hold_cyc;
	if (!s->size || leaves_cyc <= s->now)
		return;
	s->leaves[(leaves_cyc < last ? leaves_cyc : last) & (SIM_SCHEDULER_CALENDAR - 1)]++;
	s->n++;
}

#endif
