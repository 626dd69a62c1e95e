/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/sim/core.h"

#include <string.h>

#include "profiler/base/err.h"
#include "profiler/sim/core_memory.h"
#include "profiler/sim/core_ports.h"

_Static_assert((int)SIM_MAX_ROB < (int)SIM_WINDOW, "a window holds the whole reorder buffer");

uint32_t sim_core_room(const struct sim_config *config, unsigned pool)
{
	switch (pool) {
	case SIM_POOL_INT:
		return config->int_regs;
	case SIM_POOL_FP:
		return config->fp_regs;
	case SIM_POOL_FLAGS:
		return config->flag_regs;
	case SIM_POOL_LOAD:
		return config->load_queue;
	case SIM_POOL_STORE:
		return config->store_queue;
	default:
		return SIM_WINDOW;
	}
}

static bool any_precise(const struct sim_pmu_setup *setup)
{
	bool any = false;

	for (uint32_t i = 0; i < setup->n_events; i++)
		any |= setup->event[i].precise != 0;
	return any;
}

/* Each instruction takes one place of a pool at most. */
uint32_t sim_core_least_room(const struct sim_config *config)
{
	uint32_t least = config->rob;

	for (unsigned pool = SIM_POOL_INT; pool < SIM_POOL_STORE; pool++) {
		uint32_t room = sim_core_room(config, pool);

		least = room < least ? room : least;
	}
	least -= SIM_GROUP - 1;
	/* Of two that are fused each has its places, but they are numbered as one. */
	return config->fuse_branches ? (least + 1) / 2 : least;
}

/*
 * Does the core file ask for what run_simple leaves out: schedulers or queues before them, memory that is renamed,
 * instructions tied to ports, lines and stores told apart?
 */
static bool is_full(const struct sim_config *c)
{
	bool binds = false;

	for (unsigned i = 0; i < SIM_N_CLASSES; i++)
		binds |= c->cls[i].bind != 0;
	return binds || c->int_scheduler || c->fp_scheduler || c->address_scheduler || c->memory_renaming ||
	       c->forward_fail_cyc || c->alias_4k_cyc || c->split_lines || c->store_line_cyc ||
	       c->fp_cross_cyc;
}

static void choose_run(struct sim_core *c, bool full);

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
	c->dispatch_width = config->dispatch_width * SIM_SLOT;
	c->mispredict_cyc = config->mispredict_cyc;
	c->resteer_cyc = config->resteer_cyc;
	c->rob = config->rob;
	c->retire_width = config->retire_width;
	for (unsigned pool = 0; pool < SIM_N_POOLS; pool++) {
		/* Not from zero: what lies a window back must be an index as well. */
		c->place[pool] = SIM_WINDOW;
		c->room[pool] = sim_core_room(config, pool);
	}
	c->least_room = sim_core_least_room(config);
	c->scheduler[SIM_WAITS_INT].size = config->int_scheduler;
	c->scheduler[SIM_WAITS_FP].size = config->fp_scheduler;
	c->fp_queue = config->fp_queue;
	c->scheduler_hold_cyc = config->scheduler_hold_cyc;
	c->n_fp = SIM_WINDOW;
	c->scheduler[SIM_WAITS_ADDRESS].size = config->address_scheduler;
	c->stores_per_cyc = config->stores_per_cyc;
	c->cross_cyc = config->fp_cross_cyc;
	c->scaled_load_cyc = config->memory_renaming ? config->scaled_load_cyc : 0;
	c->store_line_cyc = config->store_line_cyc;
	c->store_ports = config->cls[SIM_C_STORE].ports;
	c->forward_cyc = config->forward_cyc;
	c->forward_fail_cyc = config->forward_fail_cyc;
	c->alias_cyc = config->alias_4k_cyc;
	c->renames_memory = config->memory_renaming;
	c->pair_trust = config->pair_trust;
	c->splits_lines = config->split_lines;
	c->call_cyc = config->call_cyc;
	c->return_cyc = config->return_cyc;
	c->rep_bytes = config->rep_bytes;
	c->notes_dispatch = config->precise_by_dispatch && any_precise(setup);
	choose_run(c, is_full(config) || c->notes_dispatch);
	c->takes_native = sim_core_takes_native(config) && !c->notes_dispatch;
	c->predictor.calls_cost = config->call_cyc != 0;
	c->predictor.returns_cost = config->return_cyc != 0;
	c->syscall_cyc = config->syscall_cyc;
	/* All that it looks back to lies in c->retire. */
	c->seq = SIM_WINDOW;
	sim_pmu_init(&c->pmu, config, setup);
	return 0;
}

void sim_core_stop(struct sim_core *c)
{
	sim_memory_fini(&c->memory);
	sim_predictor_fini(&c->predictor);
}

static inline void retire(struct sim_core *c, struct sim_flight *f, uint64_t done)
{
	uint64_t r = max_u64(done, f->retire_cyc);

	f->retire_cyc = max_u64(r, *sim_retired(c, f->seq - c->retire_width) + 1);
	*sim_retired(c, f->seq) = f->retire_cyc;
	f->seq++;
}

static inline uint64_t wait_for_two(const struct sim_core *c, const struct sim_insn *in, uint64_t t)
{
	return max_u64(t, max_u64(c->reg[in->src[0]], c->reg[in->src[1]]));
}

/* When an addition can have a register: it holds a sum if it is ready when its newest sum is for the others. */
static inline uint64_t addend_ready(const struct sim_core *c, uint8_t reg)
{
	return c->sum[reg] + c->cross_cyc == c->reg[reg] ? c->sum[reg] : c->reg[reg];
}

static ALWAYS_INLINE uint64_t wait_for(const struct sim_core *c, const struct sim_insn *in, uint64_t t,
                                       bool full)
{
	if (full && in->flags & SIM_F_SUM)
		t = max_u64(t, max_u64(addend_ready(c, in->src[0]), addend_ready(c, in->src[1])));
	else
		t = wait_for_two(c, in, t);
	if (in->flags & SIM_F_MANY)
		t = max_u64(t, max_u64(c->reg[in->src[2]], c->reg[in->src[3]]));
	return t;
}

/* The ports an instruction may take: all of its class, or the group it was tied to, at random but the same in every run. */
static inline uint64_t ports_of(const struct sim_insn *in, uint64_t seq)
{
	uint32_t h = (uint32_t)seq * 0x9e3779b1u, lowest, group;

	if (!in->n_bind)
		return in->ports;
	h = (h ^ h >> 15) * 0x85ebca6bu;
	lowest = (uint32_t)__builtin_ctz(in->ports);
	group = (uint32_t)((uint64_t)h * in->n_bind >> 32);
	return in->ports & ((1u << in->bind) - 1) << (lowest + group * in->bind);
}

static inline uint64_t execute(struct sim_core *c, const struct sim_insn *in, uint64_t ready)
{
	if (!in->ports)
		return ready;
	if (in->flags & SIM_F_UNIT)
		return take_unit(c, ready, in) + in->latency_cyc;
	return take_port(c, ready, in->ports) + in->latency_cyc;
}

/* When the loaded data is there, of an instruction dispatched at t. */
static ALWAYS_INLINE uint64_t load(struct sim_core *c, struct sim_flight *f, const struct sim_insn *in,
                                   uint64_t t, uint64_t address_cyc, bool full)
{
	uint64_t data;

	if (full && c->renames_memory && in->flags & SIM_F_RENAMES &&
	    is_access_of(*f->mem, in->index, false) && (data = renamed(c, in, *f->mem, t))) {
		while (is_access_of(*f->mem, in->index, false))
			f->mem++;
		return data;
	}
	data = run_loads(c, f, in, address_cyc, full);
	if (full && c->restart_cyc)
		c->restart_cyc = data + c->mispredict_cyc;
	return data;
}

/* From its dispatch, t, to the end of an instruction that touches memory. */
static ALWAYS_INLINE uint64_t run_memory(struct sim_core *c, struct sim_flight *f, const struct sim_insn *in,
                                         uint64_t t, uint64_t enter_cyc, bool full)
{
	uint64_t address_cyc = max_u64(t, max_u64(c->reg[in->addr[0]], c->reg[in->addr[1]]));
	uint64_t done = wait_for(c, in, enter_cyc, full);

	if (full)
		c->address_cyc = address_cyc;

	/* Accesses the decoder did not foresee must not hide those of this instruction. */
	while (is_access_before(*f->mem, in->index))
		f->mem++;
	if (in->flags & SIM_F_LOAD)
		done = max_u64(done, load(c, f, in, t, address_cyc, full) +
		                             (full && in->flags & SIM_F_SCALED ? c->scaled_load_cyc : 0));
	done = execute(c, in, done);
	/* Address known and data ready: the store is done. */
	if (full)
		c->value_cyc = done;
	if (in->flags & SIM_F_STORE) {
		uint64_t place_cyc = take_port(c, address_cyc, c->store_ports);

		if (full)
			c->place_cyc = place_cyc;
		done = max_u64(place_cyc, done) + 1;
	}
	return done;
}

/* After its retirement: what it holds of the queues, and until when. */
static ALWAYS_INLINE void leave_queues(struct sim_core *c, struct sim_flight *f, const struct sim_insn *in,
                                       uint64_t done, bool full)
{
	if (in->flags & SIM_F_LOAD)
		place_take(c, SIM_POOL_LOAD, in->loads_before, f->retire_cyc);
	if (in->flags & SIM_F_STORE)
		place_take(c, SIM_POOL_STORE, in->stores_before, run_stores(c, f, in, done, full));
}

/* The same of one that only loads, on a core that is not full. */
static ALWAYS_INLINE uint64_t run_load(struct sim_core *c, struct sim_flight *f, const struct sim_insn *in,
                                       uint64_t t)
{
	uint64_t address_cyc = max_u64(t, max_u64(c->reg[in->addr[0]], c->reg[in->addr[1]]));

	while (is_access_before(*f->mem, in->index))
		f->mem++;
	return max_u64(wait_for_two(c, in, t), run_loads(c, f, in, address_cyc, false));
}

/* One instruction; the cycle at which it is done.  full: see is_full. */
static ALWAYS_INLINE uint64_t run_insn(struct sim_core *c, struct sim_flight *f, const struct sim_insn *in,
                                       bool full)
{
	unsigned waits = full ? waits_in(in) : SIM_WAITS_NOWHERE;
	uint64_t t, enter_cyc, done;

	if (full) {
		scheduler_wait(c, f, waits);
		if (is_memory(in))
			scheduler_wait(c, f, SIM_WAITS_ADDRESS);
	}
	t = dispatch(c, f, in->slots) + 1;
	if (full && c->notes_dispatch)
		c->dispatched[WINDOW(f->seq)] = t;

	enter_cyc = waits == SIM_WAITS_FP ? leave_fp_queue(c, t) : t;
	if (__builtin_expect(in->kind == SIM_K_PLAIN, 1))
		done = take_port(c, wait_for_two(c, in, enter_cyc), full ? ports_of(in, f->seq) : in->ports) +
		       in->latency_cyc;
	else if (in->kind == SIM_K_FREE)
		done = wait_for_two(c, in, t);
	else if (in->kind == SIM_K_LOAD && !full)
		done = run_load(c, f, in, t);
	else if (in->kind == SIM_K_OTHER)
		done = execute(c, in, wait_for(c, in, enter_cyc, full));
	else
		done = run_memory(c, f, in, t, enter_cyc, full);
	if (full) {
		scheduler_enter(c, waits,
		                is_memory(in) ? c->value_cyc - in->latency_cyc : done - in->latency_cyc);
		if (is_memory(in))
			scheduler_enter(c, SIM_WAITS_ADDRESS, c->address_cyc);
	}
	if (full && in->flags & SIM_F_SUM) {
		c->sum[in->dst[0]] = done;
		done += c->cross_cyc;
	}
	c->reg[in->dst[0]] = c->reg[in->dst[1]] = done;
	if (in->flags & SIM_F_MANY)
		c->reg[in->dst[2]] = done;
	/* One with the branch behind it, it has no place of its own in the reorder buffer. */
	if (!(in->flags & SIM_F_FUSED))
		retire(c, f, done);
	place_take(c, in->pool, in->pool_before, f->retire_cyc);
	if (is_memory(in)) {
		leave_queues(c, f, in, done, full);
		if (full) {
			hold_dispatch(f, c->restart_cyc);
			c->restart_cyc = 0;
		}
	}
	return done;
}

/* When the place of a pool is free that the last one of a group takes: places are freed in order, so that one decides. */
static inline uint64_t last_place_free(const struct sim_core *c, const struct sim_insn *first, unsigned pool)
{
	/* Where the block has taken none, that is a place an older one has taken already. */
	return place_free(c, pool, first->group_taken[pool - SIM_POOL_INT] - 1u);
}

/* Must a group of n wait for room, some of it at least, if it is dispatched at t? */
static ALWAYS_INLINE bool is_tight(struct sim_core *c, const struct sim_insn *first, uint64_t seq, unsigned n,
                                   uint64_t t)
{
	bool tight = last_place_free(c, first, SIM_POOL_STORE) > t;

	/* Places but those of stores are free when who had them has retired: so few in flight fill nothing. */
	if (*sim_retired(c, seq - c->least_room) <= t)
		return tight;
	tight |= *sim_retired(c, seq + n - 1 - c->rob) > t;
	for (unsigned pool = SIM_POOL_INT; pool < SIM_POOL_STORE; pool++)
		tight |= last_place_free(c, first, pool) > t;
	return tight;
}

/* The same for one instruction, where a group has to wait. */
static uint64_t room_for_one(struct sim_core *c, const struct sim_insn *in, uint64_t seq)
{
	uint64_t t = max_u64(*sim_retired(c, seq - c->rob), place_free(c, in->pool, in->pool_before));

	if (in->flags & SIM_F_LOAD)
		t = max_u64(t, place_free(c, SIM_POOL_LOAD, in->loads_before));
	if (in->flags & SIM_F_STORE)
		t = max_u64(t, place_free(c, SIM_POOL_STORE, in->stores_before));
	return t;
}

/* Places taken by the first n_insn instructions of a block. */
static void count_places(struct sim_core *c, const struct sim_block *b, uint32_t n_insn)
{
	if (n_insn == b->n_insn) {
		for (unsigned p = 0; p < SIM_POOLS_ROOM; p++)
			c->place[p] += b->taken[p];
		return;
	}
	for (uint32_t i = 0; i < n_insn; i++) {
		c->place[b->insn[i].pool]++;
		c->place[SIM_POOL_LOAD] += (b->insn[i].flags & SIM_F_LOAD) != 0;
		c->place[SIM_POOL_STORE] += (b->insn[i].flags & SIM_F_STORE) != 0;
	}
}

static ALWAYS_INLINE uint64_t run_insns(struct sim_core *c, const struct sim_block *b, uint32_t n_insn,
                                        const uint64_t *mem, bool full)
{
	struct sim_flight f = { c->seq, c->dispatch_cyc, c->retire_cyc, c->dispatch_n, mem };
	const struct sim_insn *in = b->insn, *end = b->insn + n_insn;
	uint64_t done = 0;

	hold_dispatch(&f, c->fetch_cyc);
	while (in < end) {
		const struct sim_insn *group_end = end - in > SIM_GROUP ? in + SIM_GROUP : end;
		bool tight = is_tight(c, in, f.seq, (unsigned)(group_end - in), f.dispatch_cyc);

		do {
			if (tight)
				hold_dispatch(&f, room_for_one(c, in, f.seq));
			done = run_insn(c, &f, in, full);
		} while (++in < group_end);
	}
	c->seq = f.seq;
	c->dispatch_cyc = f.dispatch_cyc;
	c->retire_cyc = f.retire_cyc;
	c->dispatch_n = f.dispatch_n;
	count_places(c, b, n_insn);
	return done;
}

/* Two of the same: most core files ask for less, and the compiler leaves out what they do without. */
static uint64_t run_full(struct sim_core *c, const struct sim_block *b, uint32_t n_insn, const uint64_t *mem)
{
	return run_insns(c, b, n_insn, mem, true);
}

static uint64_t run_simple(struct sim_core *c, const struct sim_block *b, uint32_t n_insn,
                           const uint64_t *mem)
{
	return run_insns(c, b, n_insn, mem, false);
}

#ifdef __x86_64__
/* The same once more. */
WITH_BMI static uint64_t run_full_bmi(struct sim_core *c, const struct sim_block *b, uint32_t n_insn,
                                      const uint64_t *mem)
{
	return run_insns(c, b, n_insn, mem, true);
}

WITH_BMI static uint64_t run_simple_bmi(struct sim_core *c, const struct sim_block *b, uint32_t n_insn,
                                        const uint64_t *mem)
{
	return run_insns(c, b, n_insn, mem, false);
}
#endif

/* ---- what native code leaves to this ---- */

#ifdef __x86_64__
WITH_BMI static uint64_t help_other(struct sim_core *c, const struct sim_insn *in, uint64_t at,
                                    struct sim_native_frame *frame)
{
	(void)frame;
	return execute(c, in, wait_for(c, in, at, false));
}

WITH_BMI static uint64_t help_memory(struct sim_core *c, const struct sim_insn *in, uint64_t at,
                                     struct sim_native_frame *frame)
{
	return run_memory(c, &frame->f, in, at, at, false);
}

WITH_BMI static uint64_t help_load(struct sim_core *c, const struct sim_insn *in, uint64_t at,
                                   struct sim_native_frame *frame)
{
	uint64_t address_cyc = max_u64(at, max_u64(c->reg[in->addr[0]], c->reg[in->addr[1]]));
	uint64_t done = wait_for(c, in, at, false);

	while (is_access_before(*frame->f.mem, in->index))
		frame->f.mem++;
	return max_u64(done, run_loads(c, &frame->f, in, address_cyc, false));
}

/* It makes one access; what its operation waits for beside is not asked. */
WITH_BMI static uint64_t help_load_issued(struct sim_core *c, const struct sim_insn *in, uint64_t at,
                                          struct sim_native_frame *frame)
{
	enum sim_level level;
	uint64_t data = load_data(c, *frame->f.mem++, at, &level, false);

	if (level != SIM_IN_L1)
		c->missed[c->n_missed++] = (struct sim_missed){ in->index, (uint8_t)level };
	return data + in->load_cyc;
}

WITH_BMI static uint64_t help_leave(struct sim_core *c, const struct sim_insn *in, uint64_t at,
                                    struct sim_native_frame *frame)
{
	(void)at;
	place_take(c, SIM_POOL_STORE, in->stores_before, run_stores(c, &frame->f, in, frame->done, false));
	return 0;
}
#endif

static bool has_bmi(void)
{
#ifdef __x86_64__
	return __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
	       __builtin_cpu_supports("avx2");
#else
	return false;
#endif
}

/* Native code goes on to the next cycle at most once an instruction. */
static bool takes_many_cycles(const struct sim_config *c)
{
	bool many = false;

	for (unsigned i = 0; i < SIM_N_CLASSES; i++)
		many |= c->cls[i].slots_milli > c->dispatch_width * SIM_SLOT;
	return many;
}

bool sim_core_takes_native(const struct sim_config *config)
{
	return has_bmi() && !is_full(config) && !takes_many_cycles(config);
}

static void choose_run(struct sim_core *c, bool full)
{
	c->find_port = find_port;
	c->run = full ? run_full : run_simple;
#ifdef __x86_64__
	if (has_bmi()) {
		c->find_port = find_port_wide;
		c->run = full ? run_full_bmi : run_simple_bmi;
		c->help =
		        (struct sim_help){ help_other, help_memory, help_load, help_load_issued, help_leave };
	}
#endif
}

/* Fetch runs ahead of dispatch by no more than its queue. */
static void follow_dispatch(struct sim_core *c)
{
	if (c->dispatch_cyc > c->fetch_cyc + c->fetch_queue_cyc) {
		c->fetch_cyc = c->dispatch_cyc - c->fetch_queue_cyc;
		c->fetch_n = c->fetch_taken = 0;
	}
}

/* Of what has retired only the newest is looked at: there is room again for a block. */
static void forget_oldest(struct sim_core *c)
{
	uint64_t kept = max_u64(c->rob, c->retire_width), from = c->seq - kept;

	memmove(c->retire, sim_retired(c, from), kept * sizeof(c->retire[0]));
	c->retired_from = from;
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

/* Nothing here depends on time, so it can be done before. */
void sim_core_foretell(struct sim_predictor *p, const struct sim_block *b, uint32_t n_insn, uint64_t next_ip,
                       struct sim_foretold *out)
{
	uint64_t ip = b->last_ip;
	bool calls = b->exit == SIM_X_CALL || b->exit == SIM_X_CALL_IND;

	*out = (struct sim_foretold){ 0 };
	if (b->exit == SIM_X_NONE || n_insn != b->n_insn)
		return;
	out->taken = b->exit != SIM_X_COND || next_ip != b->end_ip;
	switch (b->exit) {
	case SIM_X_COND:
		out->mispredicted = sim_predict_direction(p, ip, out->taken);
		break;
	case SIM_X_JUMP_IND:
	case SIM_X_CALL_IND:
		out->mispredicted = sim_predict_indirect(p, ip, next_ip);
		break;
	case SIM_X_RET:
		out->mispredicted = sim_predict_return(p, next_ip);
		break;
	}
	if (calls)
		sim_predict_call(p, b->end_ip);
	if (out->taken)
		sim_predict_path(p, ip, next_ip);
	/* Where fetch stands for another reason, nobody looks for the target. */
	if (out->mispredicted || (calls && p->calls_cost) || (b->exit == SIM_X_RET && p->returns_cost))
		return;
	out->resteers = out->taken && sim_predict_btb(p, ip);
}

/* The branch at the end.  done: when it was executed. */
static void run_branch(struct sim_core *c, const struct sim_block *b, uint64_t done,
                       const struct sim_foretold *f)
{
	fetched(c, b, f->taken);
	if (f->mispredicted)
		stop_fetch(c, done + c->mispredict_cyc);
	else if (b->exit == SIM_X_RET && c->return_cyc)
		stop_fetch(c, c->fetch_cyc + c->return_cyc);
	else if ((b->exit == SIM_X_CALL || b->exit == SIM_X_CALL_IND) && c->call_cyc)
		stop_fetch(c, c->fetch_cyc + c->call_cyc);
	else if (f->resteers)
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
	struct sim_foretold f;

	sim_core_foretell(&c->predictor, b, n_insn, next_ip, &f);
	sim_core_run_foretold(c, b, n_insn, next_ip, mem, &f);
}

void sim_core_run_foretold(struct sim_core *c, const struct sim_block *b, uint32_t n_insn, uint64_t next_ip,
                           const uint64_t *mem, const struct sim_foretold *f)
{
	struct sim_outcome end = { true, f->taken, f->mispredicted, next_ip };
	uint64_t done;

	/* What does not run misses nothing either. */
	c->n_missed = 0;
	if (b->is_rep && n_insn == b->n_insn && next_ip == b->last_ip) {
		end.whole = false;
		if (n_insn == 1 && rep_step_is_free(c, mem))
			return;
	}
	if (!n_insn)
		return;
	follow_dispatch(c);
	if (c->seq + n_insn - c->retired_from > SIM_RETIRED)
		forget_oldest(c);
	done = b->native && c->takes_native && n_insn == b->n_insn ? b->native(c, mem)
	                                                           : c->run(c, b, n_insn, mem);
	if (b->exit != SIM_X_NONE && n_insn == b->n_insn)
		run_branch(c, b, done, f);
	else
		fetched(c, b, false);
	sim_pmu_block(c, b, n_insn, &end);
}

void sim_core_kernel(struct sim_core *c, uint64_t number)
{
	if (!c->syscall_cyc)
		return;
	sim_pmu_kernel(c, number);
	c->retire_cyc += c->syscall_cyc;
	stop_fetch(c, c->retire_cyc);
}
