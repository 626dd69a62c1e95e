/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Loads and stores of the simulated core: queues, forwarding, lines.  Included by core.c alone, as core_ports.h is. */
#ifndef SKIDPROF_SIM_CORE_MEMORY_H
#define SKIDPROF_SIM_CORE_MEMORY_H

#include "profiler/sim/core_ports.h"

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
static ALWAYS_INLINE uint64_t run_loads(struct sim_core *c, struct sim_flight *f, const struct sim_insn *in,
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
static ALWAYS_INLINE uint64_t run_stores(struct sim_core *c, struct sim_flight *f, const struct sim_insn *in,
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

#endif
