/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/sim/core.h"

#include <string.h>
#ifdef __x86_64__
#include <immintrin.h>
#endif

#include "profiler/base/err.h"

#define WINDOW(n)     ((n) & (SIM_WINDOW - 1))
#define ALWAYS_INLINE inline __attribute__((always_inline))

_Static_assert((int)SIM_MAX_ROB < (int)SIM_WINDOW, "a window holds the whole reorder buffer");

static inline uint64_t max_u64(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static void set_pool(struct sim_core *c, unsigned pool, uint32_t size)
{
	/* Not from zero: what lies a window back must be an index as well. */
	c->place[pool] = SIM_WINDOW;
	c->room[pool] = size;
}

static bool any_precise(const struct sim_pmu_setup *setup)
{
	bool any = false;

	for (uint32_t i = 0; i < setup->n_events; i++)
		any |= setup->event[i].precise != 0;
	return any;
}

/*
 * How many instructions before a group the newest one is, at least, that anything but a store queue may have to wait for:
 * each instruction takes one place of a pool at most.
 */
static uint64_t least_room(const struct sim_core *c, const struct sim_config *config)
{
	uint64_t least = c->rob;

	for (unsigned pool = SIM_POOL_INT; pool < SIM_POOL_STORE; pool++)
		least = c->room[pool] < least ? c->room[pool] : least;
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
	set_pool(c, SIM_POOL_NONE, SIM_WINDOW);
	set_pool(c, SIM_POOL_INT, config->int_regs);
	set_pool(c, SIM_POOL_FP, config->fp_regs);
	set_pool(c, SIM_POOL_FLAGS, config->flag_regs);
	set_pool(c, SIM_POOL_LOAD, config->load_queue);
	set_pool(c, SIM_POOL_STORE, config->store_queue);
	c->least_room = least_room(c, config);
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
	c->predictor.calls_cost = config->call_cyc != 0;
	c->predictor.returns_cost = config->return_cyc != 0;
	c->syscall_cyc = config->syscall_cyc;
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

/* What changes with every instruction: kept in registers while a block runs, so its address must not be taken. */
struct flight {
	uint64_t seq, dispatch_cyc, retire_cyc;
	uint32_t dispatch_n;
	const uint64_t *mem; /* accesses of the block not used yet */
};

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
static inline void hold_dispatch(struct flight *f, uint64_t t)
{
	if (t > f->dispatch_cyc) {
		f->dispatch_cyc = t;
		f->dispatch_n = 0;
	}
}

/* In program order, dispatch_width a cycle. */
static inline uint64_t dispatch(const struct sim_core *c, struct flight *f, uint32_t slots)
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
static inline void scheduler_wait(struct sim_core *c, struct flight *f, unsigned which)
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

static inline unsigned waits_in(const struct sim_insn *in)
{
	if (!in->ports || in->cls == SIM_C_LOAD || in->cls == SIM_C_VLOAD || in->cls == SIM_C_STORE)
		return SIM_WAITS_NOWHERE;
	return (in->cls >= SIM_C_FMOVE && in->cls <= SIM_C_X87) || in->cls == SIM_C_TOVEC ? SIM_WAITS_FP
	                                                                                  : SIM_WAITS_INT;
}

static inline bool is_memory(const struct sim_insn *in)
{
	return in->kind >= SIM_K_LOAD;
}

static inline bool is_access_of(uint64_t mem, uint32_t index, bool store)
{
	return (mem & 0xfff1) == (index << 4 | store);
}

/* Of an instruction before that one: the low bits of the two compare as the indices do. */
static inline bool is_access_before(uint64_t mem, uint32_t index)
{
	return (mem & 0xffff) < index << 4;
}

/* Parts of one instruction's accesses that lie in one line make one access of the core. */
static inline bool is_same_access(const struct sim_core *c, uint64_t a, uint64_t b)
{
	return ((a ^ b) & 0xfff1) == 0 && (a ^ b) >> 16 >> c->memory.line_shift == 0;
}

static inline uint64_t bytes_of(uint64_t mem)
{
	return UINT64_C(1) << (mem >> 1 & 7);
}

static inline bool is_over_line(const struct sim_core *c, uint64_t mem)
{
	uint64_t line = UINT64_C(1) << c->memory.line_shift;

	return (mem >> 16 & (line - 1)) + bytes_of(mem) > line;
}

/* The word of an address, and a bit for each of its bytes that n_bytes from there on cover. */
static inline uint64_t word_of(uint64_t vaddr, uint64_t n_bytes)
{
	static const uint8_t first[] = { 0, 0x1, 0x3, 0x7, 0xf, 0x1f, 0x3f, 0x7f, 0xff };
	uint64_t bits = first[n_bytes < 8 ? n_bytes : 8];

	return ((vaddr >> 3) + 1) << 8 | (bits << (vaddr & 7) & 0xff);
}

/* What an address is called before it is known; a register's contents are told by when they were there. */
static inline uint64_t name_of(const struct sim_core *c, const struct sim_insn *in)
{
	if (!in->form || !(in->flags & SIM_F_RENAMES) || !c->renames_memory)
		return 0;
	if (in->form == SIM_FORM_STACK)
		return SIM_FORM_STACK;
	return c->reg[in->addr[0]] << 16 | in->form;
}

/* The store in f looks as if it wrote what a load of that word reads, by the bits that are compared first. */
static inline bool is_alias(const struct sim_core *c, const struct sim_forward *f, uint64_t word)
{
	return c->alias_cyc && f->word && f->word & word & 0xff && (f->word ^ word) >> 8;
}

static inline bool is_written_by(const struct sim_forward *f, uint64_t word)
{
	return f->word & word & 0xff && (f->word ^ word) >> 8 == 0;
}

/* What the stores on their way to the cache wrote of one access. */
struct written {
	uint64_t end, store; /* of the bytes seen so far; who wrote them, 0: the cache has them */
	uint64_t left_cyc;   /* when the last of these stores has left */
	bool is_mixed;       /* no one store wrote all, nor has the cache all */
};

static inline void look_at_word(const struct sim_core *c, uint64_t vaddr, uint64_t n_bytes,
                                uint64_t issue_cyc, struct written *w)
{
	const struct sim_forward *f = &c->forward[vaddr >> 3 & (SIM_FORWARD - 1)];
	uint64_t word = word_of(vaddr, n_bytes), store = 0;

	if (f->drain_cyc > issue_cyc && (f->word ^ word) >> 8 == 0 && f->word & word & 0xff) {
		store = c->forward_more[vaddr >> 3 & (SIM_FORWARD - 1)].store;
		w->is_mixed |= (word & 0xff & ~f->word) != 0;
		w->left_cyc = max_u64(w->left_cyc, f->drain_cyc);
	}
	if (w->end == vaddr)
		w->is_mixed |= store != w->store;
	w->store = store;
	w->end = vaddr + n_bytes < (vaddr | 7) + 1 ? vaddr + n_bytes : (vaddr | 7) + 1;
}

/*
 * Bytes of an instruction's loads that lie in more than one store, or in one and the cache: no store can forward them, so
 * the load waits until the last has left for the cache.  0: there are none.
 */
static uint64_t blocked_until(const struct sim_core *c, const struct sim_insn *in, const uint64_t *mem,
                              uint64_t issue_cyc)
{
	struct written w = { 0 };
	uint64_t until = 0;

	for (; is_access_of(*mem, in->index, false); mem++) {
		uint64_t vaddr = *mem >> 16, end = vaddr + bytes_of(*mem);

		if (vaddr != w.end)
			w = (struct written){ 0 };
		for (; vaddr < end; vaddr = (vaddr | 7) + 1)
			look_at_word(c, vaddr, end - vaddr, issue_cyc, &w);
		if (w.is_mixed)
			until = max_u64(until, w.left_cyc);
	}
	return until;
}

/* A store not yet in the cache gives its data to a younger load. */
static ALWAYS_INLINE uint64_t load_data(struct sim_core *c, uint64_t mem, uint64_t issue_cyc,
                                        enum sim_level *level, bool full)
{
	uint64_t vaddr = mem >> 16;
	uint32_t at = vaddr >> 3 & (SIM_FORWARD - 1);
	const struct sim_forward *f = &c->forward[at];

	if (f->drain_cyc > issue_cyc) {
		uint64_t word = word_of(vaddr, bytes_of(mem));

		if (is_written_by(f, word)) {
			*level = SIM_IN_L1;
			return max_u64(issue_cyc, f->data_cyc) + c->forward_cyc;
		}
		/* Only then does it go to the cache: that it is not the store's does not put it there. */
		if (full && is_alias(c, f, word))
			issue_cyc = max_u64(issue_cyc, c->forward_more[at].place_cyc) + c->alias_cyc;
	}
	return sim_memory_access(&c->memory, vaddr, issue_cyc, level);
}

/* A load and the store whose newest value it had now, or (of is_pair false) another's or none of those in flight. */
static bool learn_pair(struct sim_pair *p, uint16_t load, const struct sim_forward_more *f, bool is_pair)
{
	bool known = p->load == load && p->store == f->site;

	if (is_pair)
		*p = (struct sim_pair){ load, f->site, known ? p->trust + 1 : 0 };
	else if (p->load == load)
		p->trust = 0;
	return is_pair && known;
}

/*
 * The load reads what a store in flight wrote, by the same name or because it always has that store's newest value: the
 * stored register's value, without going to memory.  0: it does not.
 */
static inline uint64_t renamed(struct sim_core *c, const struct sim_insn *in, uint64_t mem,
                               uint64_t dispatch_cyc)
{
	uint64_t name = name_of(c, in), vaddr = mem >> 16, word = word_of(vaddr, bytes_of(mem));
	const struct sim_forward *newest = &c->forward[vaddr >> 3 & (SIM_FORWARD - 1)];
	const struct sim_forward_more *f = &c->forward_more[vaddr >> 3 & (SIM_FORWARD - 1)];
	struct sim_pair *p = &c->pair[in->site % SIM_PAIRS];
	bool trusted = p->load == in->site && p->trust >= c->pair_trust, is_pair;

	is_pair = newest->drain_cyc > dispatch_cyc && f->vaddr == vaddr && f->site &&
	          !(word & 0xff & ~newest->word);
	if (is_pair && name && f->name == name)
		return max_u64(dispatch_cyc, f->value_cyc);
	if (!c->pair_trust)
		return 0;
	is_pair = is_pair && c->newest[f->site % SIM_STORE_SITES] == f->store;
	if (learn_pair(p, in->site, f, is_pair))
		return trusted ? max_u64(dispatch_cyc, f->value_cyc) : 0;
	if (trusted)
		c->restart_cyc = 1;
	return 0;
}

/* All loads of an instruction; the cycle at which the last data is there. */
static ALWAYS_INLINE uint64_t run_loads(struct sim_core *c, struct flight *f, const struct sim_insn *in,
                                        uint64_t address_cyc, bool full)
{
	const uint64_t *mem = f->mem;
	uint64_t data = address_cyc, before,
	         blocked = full && c->forward_fail_cyc ? blocked_until(c, in, mem, address_cyc) : 0;
	uint32_t ports = in->load_ports;
	enum sim_level level, deepest = SIM_IN_L1;

	while (is_access_of(*mem, in->index, false)) {
		uint64_t issue_cyc = take_port(c, address_cyc, ports);
		data = max_u64(data, load_data(c, *mem, issue_cyc, &level, full));
		if (level > deepest)
			deepest = level;
		if (full && c->splits_lines && is_over_line(c, *mem)) {
			issue_cyc = take_port(c, issue_cyc, ports);
			data = max_u64(data,
			               load_data(c, *mem + (bytes_of(*mem) << 16), issue_cyc, &level, full));
			if (level > deepest)
				deepest = level;
		}
		do
			before = *mem++;
		while (is_same_access(c, *mem, before));
	}
	f->mem = mem;
	if (blocked)
		data = max_u64(data, blocked + c->forward_fail_cyc);
	if (deepest != SIM_IN_L1)
		c->missed[c->n_missed++] = (struct sim_missed){ in->index, (uint8_t)deepest };
	return data + in->load_cyc;
}

/* Younger loads find the store by the words it writes. */
static ALWAYS_INLINE void remember_store(struct sim_core *c, const struct sim_insn *in, uint64_t mem,
                                         uint64_t done, bool full)
{
	uint64_t vaddr = mem >> 16, first = vaddr, end = vaddr + bytes_of(mem), drain_cyc = c->drain_cyc;
	struct sim_forward_more more;

	if (full) {
		more = (struct sim_forward_more){
			c->value_cyc,   c->place_cyc,
			name_of(c, in), c->place[SIM_POOL_STORE] + in->stores_before,
			first,          in->flags & SIM_F_RENAMES ? in->site : 0
		};
		if (more.site)
			c->newest[more.site % SIM_STORE_SITES] = more.store;
	}
	do {
		uint32_t at = vaddr >> 3 & (SIM_FORWARD - 1);

		c->forward[at] = (struct sim_forward){ word_of(vaddr, end - vaddr), done, drain_cyc };
		if (full)
			c->forward_more[at] = more;
		vaddr = (vaddr | 7) + 1;
	} while (vaddr < end);
}

/* Stores to one line may leave together, those to another have a time of their own after what left by then. */
static inline void leave_line(struct sim_core *c, uint64_t line, uint64_t drained)
{
	if (line != c->last_line)
		c->drain_cyc = max_u64(c->drain_cyc, drained + c->store_line_cyc);
	c->last_line = line;
}

/* All stores of an instruction; the cycle at which the last has left for the cache. */
static ALWAYS_INLINE uint64_t run_stores(struct sim_core *c, struct flight *f, const struct sim_insn *in,
                                         uint64_t done, bool full)
{
	const uint64_t *freed = c->freed[SIM_POOL_STORE];
	uint64_t before = SIM_MEM_END, drained = c->drain_cyc;
	const uint64_t *mem = f->mem;

	c->drain_cyc = max_u64(c->drain_cyc, f->retire_cyc + 1);
	c->drain_cyc =
	        max_u64(c->drain_cyc,
	                freed[WINDOW(c->place[SIM_POOL_STORE] + in->stores_before - c->stores_per_cyc)] + 1);
	for (; is_access_of(*mem, in->index, true); before = *mem++) {
		uint64_t vaddr = *mem >> 16, line;
		enum sim_level level;

		if (before == SIM_MEM_END || !is_same_access(c, *mem, before)) {
			/* The line is asked for when the address is known, so that misses overlap. */
			line = sim_memory_access(&c->memory, vaddr, done, &level) - c->memory.l1.latency_cyc;
			c->drain_cyc = max_u64(c->drain_cyc, line);
			if (full)
				leave_line(c, vaddr >> c->memory.line_shift, drained);
		}
		if (full && c->splits_lines && is_over_line(c, *mem)) {
			line = sim_memory_access(&c->memory, vaddr + bytes_of(*mem), done, &level) -
			       c->memory.l1.latency_cyc;
			c->drain_cyc = max_u64(c->drain_cyc, line);
			leave_line(c, (vaddr >> c->memory.line_shift) + 1, drained);
		}
		remember_store(c, in, *mem, done, full);
	}
	f->mem = mem;
	return c->drain_cyc;
}

static inline void retire(struct sim_core *c, struct flight *f, uint64_t done)
{
	uint64_t r = max_u64(done, f->retire_cyc);

	f->retire_cyc = max_u64(r, c->retire[WINDOW(f->seq - c->retire_width)] + 1);
	c->retire[WINDOW(f->seq)] = f->retire_cyc;
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
static ALWAYS_INLINE uint64_t load(struct sim_core *c, struct flight *f, const struct sim_insn *in,
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
static ALWAYS_INLINE uint64_t run_memory(struct sim_core *c, struct flight *f, const struct sim_insn *in,
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
static ALWAYS_INLINE void leave_queues(struct sim_core *c, struct flight *f, const struct sim_insn *in,
                                       uint64_t done, bool full)
{
	if (in->flags & SIM_F_LOAD)
		place_take(c, SIM_POOL_LOAD, in->loads_before, f->retire_cyc);
	if (in->flags & SIM_F_STORE)
		place_take(c, SIM_POOL_STORE, in->stores_before, run_stores(c, f, in, done, full));
}

/* The same of one that only loads, on a core that is not full. */
static ALWAYS_INLINE uint64_t run_load(struct sim_core *c, struct flight *f, const struct sim_insn *in,
                                       uint64_t t)
{
	uint64_t address_cyc = max_u64(t, max_u64(c->reg[in->addr[0]], c->reg[in->addr[1]]));

	while (is_access_before(*f->mem, in->index))
		f->mem++;
	return max_u64(wait_for_two(c, in, t), run_loads(c, f, in, address_cyc, false));
}

/* One instruction; the cycle at which it is done.  full: see is_full. */
static ALWAYS_INLINE uint64_t run_insn(struct sim_core *c, struct flight *f, const struct sim_insn *in,
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
static ALWAYS_INLINE bool is_tight(const struct sim_core *c, const struct sim_insn *first, uint64_t seq,
                                   unsigned n, uint64_t t)
{
	bool tight = last_place_free(c, first, SIM_POOL_STORE) > t;

	/* Places but those of stores are free when who had them has retired: so few in flight fill nothing. */
	if (c->retire[WINDOW(seq - c->least_room)] <= t)
		return tight;
	tight |= c->retire[WINDOW(seq + n - 1 - c->rob)] > t;
	for (unsigned pool = SIM_POOL_INT; pool < SIM_POOL_STORE; pool++)
		tight |= last_place_free(c, first, pool) > t;
	return tight;
}

/* The same for one instruction, where a group has to wait. */
static uint64_t room_for_one(const struct sim_core *c, const struct sim_insn *in, uint64_t seq)
{
	uint64_t t = max_u64(c->retire[WINDOW(seq - c->rob)], place_free(c, in->pool, in->pool_before));

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
	struct flight f = { c->seq, c->dispatch_cyc, c->retire_cyc, c->dispatch_n, mem };
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

static void choose_run(struct sim_core *c, bool full)
{
	c->find_port = find_port;
	c->run = full ? run_full : run_simple;
#ifdef __x86_64__
	if (__builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
	    __builtin_cpu_supports("avx2")) {
		c->find_port = find_port_wide;
		c->run = full ? run_full_bmi : run_simple_bmi;
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
	uint64_t ip = b->ip + b->insn[b->n_insn - 1].ip_off;
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
	if (b->is_rep && n_insn == b->n_insn && next_ip == b->ip + b->insn[n_insn - 1].ip_off) {
		end.whole = false;
		if (n_insn == 1 && rep_step_is_free(c, mem))
			return;
	}
	if (!n_insn)
		return;
	follow_dispatch(c);
	done = c->run(c, b, n_insn, mem);
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
