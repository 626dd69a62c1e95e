/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/sim/core.h"

#include <string.h>

#include "profiler/base/err.h"

#define WINDOW(n) ((n) & (SIM_WINDOW - 1))

_Static_assert((int)SIM_MAX_ROB < (int)SIM_WINDOW, "a window holds the whole reorder buffer");

static inline uint64_t max_u64(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

int sim_core_start(struct sim_core *c, const struct sim_config *config, const struct sim_pmu_setup *setup)
{
	int err;

	memset(c, 0, sizeof(*c));
	if ((err = sim_memory_init(&c->memory, config)) < 0)
		return err;
	if ((err = sim_predictor_init(&c->predictor, config)) < 0) {
		sim_memory_fini(&c->memory);
		return err;
	}
	c->fetch_width = config->fetch_width;
	c->fetch_queue_cyc = config->fetch_queue_cyc;
	c->taken_per_cyc = config->taken_per_cyc;
	c->dispatch_width = config->dispatch_width;
	c->mispredict_cyc = config->mispredict_cyc;
	c->resteer_cyc = config->resteer_cyc;
	c->rob = config->rob;
	c->retire_width = config->retire_width;
	c->pool[SIM_POOL_NONE].size = SIM_WINDOW;
	c->pool[SIM_POOL_INT].size = config->int_regs;
	c->pool[SIM_POOL_FP].size = config->fp_regs;
	c->loads.size = config->load_queue;
	c->stores.size = config->store_queue;
	c->stores_per_cyc = config->stores_per_cyc;
	c->load_ports = config->cls[SIM_C_LOAD].ports;
	c->store_ports = config->cls[SIM_C_STORE].ports;
	c->forward_cyc = config->forward_cyc;
	c->rep_bytes = config->rep_bytes;
	/* So that "time - window" never wraps. */
	c->seq = SIM_WINDOW;
	sim_pmu_init(&c->pmu, config, setup);
	return 0;
}

void sim_core_stop(struct sim_core *c)
{
	sim_memory_fini(&c->memory);
	sim_predictor_fini(&c->predictor);
}

/* The first cycle from `ready` on in which one of the ports is free; it is taken. */
static inline uint64_t take_port(struct sim_core *c, uint64_t ready, uint32_t ports)
{
	for (;; ready++) {
		uint64_t *slot = &c->port[ready & (SIM_PORT_CALENDAR - 1)];
		uint64_t now = *slot >> 16 == ready ? *slot : ready << 16;
		uint64_t avail = ports & ~now;

		if (avail) {
			*slot = now | (avail & -avail);
			return ready;
		}
	}
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
	ready = take_port(c, max_u64(ready, c->unit_free[best]), 1u << best);
	c->unit_free[best] = ready + in->occupancy_cyc;
	return ready;
}

/* Room for one more in a queue or register file of which the oldest entry is freed at its retirement. */
static inline uint64_t pool_room(const struct sim_pool *p)
{
	return p->freed[WINDOW(p->n - p->size)];
}

static inline void pool_take(struct sim_pool *p, uint64_t freed_cyc)
{
	p->freed[WINDOW(p->n)] = freed_cyc;
	p->n++;
}

/* In program order, dispatch_width a cycle, not before `t`. */
static inline uint64_t dispatch(struct sim_core *c, uint64_t t, uint32_t uops)
{
	if (t > c->dispatch_cyc) {
		c->dispatch_cyc = t;
		c->dispatch_n = uops;
	} else if ((c->dispatch_n += uops) > c->dispatch_width) {
		/* More than a whole group of microcode takes several cycles. */
		do {
			c->dispatch_cyc++;
			c->dispatch_n -= c->dispatch_width;
		} while (c->dispatch_n > c->dispatch_width);
	}
	return c->dispatch_cyc;
}

/* A store not yet in the cache gives its data to a younger load. */
static inline uint64_t load_data(struct sim_core *c, uint64_t vaddr, uint64_t issue, uint8_t *missed)
{
	const struct sim_forward *f = &c->forward[vaddr >> 3 & (SIM_FORWARD - 1)];
	enum sim_level level;
	uint64_t data;

	if (f->word == (vaddr >> 3) + 1 && f->drain_cyc > issue) {
		/* The latency covers address and look-up: data that is ready late adds the second half only. */
		return max_u64(issue, f->data_cyc) + c->forward_cyc;
	}
	data = sim_memory_access(&c->memory, vaddr, issue, &level);
	if (level > *missed)
		*missed = (uint8_t)level;
	return data;
}

/* Parts of one instruction's accesses that lie in one line make one access of the core. */
static inline bool same_access(uint64_t a, uint64_t b)
{
	return ((a ^ b) & 0xfff1) == 0 && (a ^ b) >> 16 < 64 &&
	       ((a >> 16) & ~UINT64_C(63)) == ((b >> 16) & ~UINT64_C(63));
}

struct access {
	const uint64_t *mem; /* next to be used */
	uint64_t ready_cyc;  /* address known */
};

static inline uint64_t run_loads(struct sim_core *c, struct access *a, uint32_t index, uint8_t *missed)
{
	uint64_t data = a->ready_cyc, before = SIM_MEM_END;

	for (; (*a->mem >> 4 & 0xfff) == index && !(*a->mem & 1); a->mem++) {
		if (before != SIM_MEM_END && same_access(*a->mem, before))
			continue;
		data = max_u64(data, load_data(c, *a->mem >> 16, take_port(c, a->ready_cyc, c->load_ports),
		                               missed));
		before = *a->mem;
	}
	return data;
}

/* Address known and data ready: the store is done; it leaves for the cache after retirement. */
static inline uint64_t store_issue(struct sim_core *c, struct access *a, uint64_t data)
{
	return max_u64(take_port(c, a->ready_cyc, c->store_ports), data) + 1;
}

static inline uint64_t run_stores(struct sim_core *c, struct access *a, uint32_t index, uint64_t done,
                                  uint64_t retire)
{
	uint64_t before = SIM_MEM_END;
	uint64_t drain = max_u64(c->drain_cyc, c->stores.freed[WINDOW(c->stores.n - c->stores_per_cyc)] + 1);

	for (; (*a->mem >> 4 & 0xfff) == index && (*a->mem & 1); a->mem++) {
		uint64_t vaddr = *a->mem >> 16;
		struct sim_forward *f = &c->forward[vaddr >> 3 & (SIM_FORWARD - 1)];
		enum sim_level level;

		if (before == SIM_MEM_END || !same_access(*a->mem, before)) {
			/* The line is asked for when the address is known, so that misses overlap. */
			uint64_t line = sim_memory_access(&c->memory, vaddr, done, &level);

			drain = max_u64(drain, max_u64(retire + 1, line - c->memory.l1.latency_cyc));
		}
		*f = (struct sim_forward){ (vaddr >> 3) + 1, done, drain };
		before = *a->mem;
	}
	c->drain_cyc = drain;
	return drain;
}

static inline uint64_t retire_at(struct sim_core *c, uint64_t seq, uint64_t done)
{
	uint64_t r = max_u64(done, c->retire_cyc);

	r = max_u64(r, c->retire[WINDOW(seq - c->retire_width)] + 1);
	c->retire[WINDOW(seq)] = r;
	c->retire_cyc = r;
	return r;
}

static inline uint64_t wait_for(const struct sim_core *c, const struct sim_insn *in, uint64_t t)
{
	uint64_t a = max_u64(c->reg[in->src[0]], c->reg[in->src[1]]);
	uint64_t b = max_u64(c->reg[in->src[2]], c->reg[in->src[3]]);

	return max_u64(t, max_u64(a, b));
}

static inline uint64_t issue(struct sim_core *c, const struct sim_insn *in, uint64_t ready)
{
	if (!in->ports)
		return ready;
	return (in->flags & SIM_F_UNIT ? take_unit(c, ready, in) : take_port(c, ready, in->ports)) +
	       in->latency_cyc;
}

/* Returns the cycle at which the instruction is done. */
static inline uint64_t run_insn(struct sim_core *c, const struct sim_insn *in, uint32_t index,
                                const uint64_t **mem)
{
	struct sim_pool *regs = &c->pool[in->pool];
	uint64_t seq = c->seq++, t, done, retire;
	struct access a = { *mem, 0 };
	uint8_t missed = 0;

	t = max_u64(max_u64(c->fetch_cyc, c->retire[WINDOW(seq - c->rob)]), pool_room(regs));
	if (in->flags & SIM_F_MEM) {
		if (in->flags & SIM_F_LOAD)
			t = max_u64(t, pool_room(&c->loads));
		if (in->flags & SIM_F_STORE)
			t = max_u64(t, pool_room(&c->stores));
	}
	t = dispatch(c, t, in->uops) + 1;
	done = wait_for(c, in, t);
	if (in->flags & SIM_F_MEM) {
		a.ready_cyc = max_u64(t, max_u64(c->reg[in->addr[0]], c->reg[in->addr[1]]));
		if (in->flags & SIM_F_LOAD)
			done = max_u64(done, run_loads(c, &a, index, &missed));
		done = issue(c, in, done);
		if (in->flags & SIM_F_STORE)
			done = store_issue(c, &a, done);
	} else {
		done = issue(c, in, done);
	}
	c->reg[in->dst[0]] = c->reg[in->dst[1]] = c->reg[in->dst[2]] = done;
	retire = retire_at(c, seq, done);
	pool_take(regs, retire);
	if (in->flags & SIM_F_MEM) {
		if (in->flags & SIM_F_LOAD)
			pool_take(&c->loads, retire);
		if (in->flags & SIM_F_STORE)
			pool_take(&c->stores, run_stores(c, &a, index, done, retire));
		*mem = a.mem;
		c->block_missed[missed]++;
	}
	c->missed[WINDOW(seq)] = missed;
	return done;
}

static void fetch_block(struct sim_core *c, const struct sim_block *b)
{
	/* Fetch runs ahead of dispatch by no more than its queue. */
	if (c->dispatch_cyc > c->fetch_cyc + c->fetch_queue_cyc) {
		c->fetch_cyc = c->dispatch_cyc - c->fetch_queue_cyc;
		c->fetch_n = c->fetch_taken = 0;
	}
	(void)b;
}

/* What fetching a block of that many instructions costs those behind it. */
static void fetched(struct sim_core *c, const struct sim_block *b, bool taken)
{
	uint32_t rest = c->fetch_n + b->fetch_rest, cycles = b->fetch_cyc;

	if (rest >= c->fetch_width) {
		rest -= c->fetch_width;
		cycles++;
	}
	if (cycles)
		c->fetch_taken = 0;
	if (taken && ++c->fetch_taken >= c->taken_per_cyc) {
		cycles++;
		rest = 0;
		c->fetch_taken = 0;
	}
	c->fetch_cyc += cycles;
	c->fetch_n = rest;
}

static void stop_fetch(struct sim_core *c, uint64_t until)
{
	if (until <= c->fetch_cyc)
		return;
	c->fetch_cyc = until;
	c->fetch_n = c->fetch_taken = 0;
}

/* The branch at the end: predict, compare with what happened.  done: when it was executed. */
static void run_branch(struct sim_core *c, const struct sim_block *b, uint64_t done, struct sim_outcome *o)
{
	struct sim_predictor *p = &c->predictor;
	uint64_t ip = b->ip + b->insn[b->n_insn - 1].ip_off;

	o->taken = b->exit != SIM_X_COND || o->to_ip != b->end_ip;
	switch (b->exit) {
	case SIM_X_COND:
		o->mispredicted = sim_predict_direction(p, ip, o->taken);
		break;
	case SIM_X_JUMP_IND:
	case SIM_X_CALL_IND:
		o->mispredicted = sim_predict_indirect(p, ip, o->to_ip);
		break;
	case SIM_X_RET:
		o->mispredicted = sim_predict_return(p, o->to_ip);
		break;
	}
	if (b->exit == SIM_X_CALL || b->exit == SIM_X_CALL_IND)
		sim_predict_call(p, b->end_ip);
	fetched(c, b, o->taken);
	if (o->mispredicted)
		stop_fetch(c, done + c->mispredict_cyc);
	else if (o->taken && sim_predict_btb(p, ip))
		stop_fetch(c, c->fetch_cyc + c->resteer_cyc);
}

/* A step of a rep instruction within bytes that one cycle's step has covered already costs nothing. */
static bool rep_step_is_free(struct sim_core *c, const uint64_t *mem)
{
	uint64_t place = *mem >> 16;

	if (*mem == SIM_MEM_END || place - c->rep_place >= c->rep_bytes) {
		c->rep_place = place;
		return false;
	}
	return true;
}

void sim_core_run(struct sim_core *c, const struct sim_block *b, uint32_t n_insn, uint64_t next_ip,
                  const uint64_t *mem)
{
	struct sim_outcome end = { .whole = true, .to_ip = next_ip };
	uint64_t done = 0;

	if (b->is_rep && n_insn == b->n_insn && next_ip == b->ip + b->insn[n_insn - 1].ip_off) {
		end.whole = false;
		if (n_insn == 1 && rep_step_is_free(c, mem))
			return;
	}
	if (!n_insn)
		return;
	memset(c->block_missed, 0, sizeof(c->block_missed));
	fetch_block(c, b);
	for (uint32_t i = 0; i < n_insn; i++) {
		/* Accesses the decoder did not foresee must not hide those of the next instruction. */
		while ((*mem >> 4 & 0xfff) < i)
			mem++;
		done = run_insn(c, &b->insn[i], i, &mem);
	}
	if (b->exit != SIM_X_NONE && n_insn == b->n_insn)
		run_branch(c, b, done, &end);
	else
		fetched(c, b, false);
	sim_pmu_block(c, b, n_insn, &end);
}
