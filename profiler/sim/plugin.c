/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * The side that faces QEMU: everything that knows its plugin interface.
 *
 * Two ways to run:
 *  - inline: one thread, only counts wanted: the emulator adds 1 to a counter
 *    at the start of each block, nothing is called.
 *  - followed: a callback at each block and at each access of an instruction
 *    that touches memory.  The block before is worked off when the next one
 *    starts, because only then is it known what it did: where it went, and
 *    whether it got to its end.
 */
#include "profiler/sim/qemu_plugin_api.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "profiler/base/err.h"
#include "profiler/sim/blocks.h"
#include "profiler/sim/core.h"
#include "profiler/sim/counts.h"
#include "profiler/sim/decode.h"
#include "profiler/sim/follow.h"
#include "profiler/sim/guest.h"
#include "profiler/sim/send.h"

#define EXPORT __attribute__((visibility("default")))

enum {
	MAX_VCPUS = 1 << 15,
	MAX_ACCESSES = 4096, /* of one block; more are dropped */
	MAX_PLUGIN_ARG = 2 * 4096 + 64,
	MAX_HANDLERS = 64,
	GUEST_PAGE = 4096,   /* x86-64's */
	MAX_INSN_BYTES = 15, /* the same */
};

struct numbers { /* of the guest's system calls; -1: has none */
	int64_t mmap, mprotect, munmap, mremap, close, dup2, dup3, close_range, prctl, execve, execveat,
	        clone, fork, vfork, exit, kill, tkill, tgkill, sigaction;
};

static const struct numbers numbers_x86_64 = {
	.mmap = 9,
	.mprotect = 10,
	.munmap = 11,
	.mremap = 25,
	.close = 3,
	.dup2 = 33,
	.dup3 = 292,
	.close_range = 436,
	.prctl = 157,
	.execve = 59,
	.execveat = 322,
	.clone = 56,
	.fork = 57,
	.vfork = 58,
	.exit = 60,
	.kill = 62,
	.tkill = 200,
	.tgkill = 234,
	.sigaction = 13,
};

static const struct numbers numbers_aarch64 = {
	.mmap = 222,
	.mprotect = 226,
	.munmap = 215,
	.mremap = 216,
	.close = 57,
	.dup2 = -1,
	.dup3 = 24,
	.close_range = 436,
	.prctl = 167,
	.execve = 221,
	.execveat = 281,
	.clone = 220,
	.fork = -1,
	.vfork = -1,
	.exit = 93,
	.kill = 129,
	.tkill = 130,
	.tgkill = 131,
	.sigaction = 134,
};

struct vcpu {
	struct sim_code *code; /* running; its end is not known yet */
	uint32_t n_mem;
	uint64_t mem[MAX_ACCESSES + 1];
	struct counts_slot *
	        *runs;         /* of its blocks, by id / COUNTS_CHUNK; NULL: not yet, or nothing is counted */
	struct sim_core *core; /* that it runs on; NULL when only counting */
	struct sim_core *kind[WIRE_MAX_KINDS];
	uint32_t now;             /* which of them runs */
	uint64_t move_cyc, rng;   /* when it is moved to the other, in the time of the one that runs */
	uint64_t elsewhere_ns;    /* since its counters began, on the other */
	uint32_t tid, parent_tid; /* tid 0: has not run yet */
	uint64_t
	        start_ns; /* the tree's clock when the thread began, and its time on the other kind of core */
	uint64_t arg[6];  /* of the system call under way */
	int64_t syscall;  /* that the running block ends in; -1: in none */
	bool gone;
};

static struct {
	qemu_plugin_id_t id;
	pthread_mutex_t lock; /* blocks, counts, decoder, vcpus, guest, handlers */
	struct wire_config config;
	uint64_t seed, n_seeds,
	        n_children;      /* of this process: threads' seeds are made from it, and children's */
	struct sim_config *core; /* [n_kinds]; NULL: no timing */
	struct sim_decoder *decoder, *other_decoder;
	struct sim_blocks blocks;
	struct counts counts;
	int counts_fd; /* to be told to the recorder; -1: has been */
	struct follow follow;
	char plugin_file[MAX_PLUGIN_ARG]; /* as -plugin has it, without what comes behind */
	void *packet;                     /* WIRE_CONFIG with its text */
	bool by_exec;                     /* this program was begun by one that we ran */
	uint64_t start_ns;                /* the tree's clock when it was */
	bool resumes;                     /* its counters go on from ... */
	struct sim_pmu_state state[WIRE_MAX_KINDS];
	struct sender sender;
	struct guest guest;
	const struct numbers *nr;
	struct vcpu *vcpu[MAX_VCPUS];
	unsigned n_vcpus;
	bool followed; /* else inline */
	bool faults; /* the program handles faults: blocks may be left in the middle and the program goes on */
	bool scanned, begun;            /* the guest's mappings are known; the recorder was told */
	uint64_t handler[MAX_HANDLERS]; /* of signals */
	unsigned n_handlers;
	uint64_t handled; /* signals that have one: bit number - 1 */
	/* inline way: the newest rep instruction, and what ran behind it by then */
	uint64_t rep_ip, rep_left;
} sim;

EXPORT int qemu_plugin_version = QEMU_PLUGIN_VERSION;

static uint64_t cyc_to_ns(const struct sim_core *c, uint64_t cyc)
{
	return (uint64_t)((double)cyc / c->pmu.config->freq_ghz);
}

static uint64_t now_ns(const struct vcpu *v)
{
	if (!v->core)
		return 0;
	return v->start_ns + cyc_to_ns(v->core, v->core->retire_cyc);
}

/* ---- messages ---- */

static void warn(const struct vcpu *v, const char *text)
{
	sender_text(&sim.sender, WIRE_WARN, v ? v->tid : sim.sender.pid, v ? now_ns(v) : 0, text);
}

/* Of a kind of core, among the events of all. */
static uint32_t first_event(uint32_t kind)
{
	return kind ? sim.config.kind[0].n_events : 0;
}

static void send_sample(void *user, const struct sim_sample *s)
{
	struct vcpu *v = user;
	struct {
		struct wire_sample m;
		uint64_t rest[WIRE_MAX_EVENTS + WIRE_BURST_BRANCHES * sizeof(struct wire_branch) / 8];
	} out;
	uint32_t n = s->n_values;
	size_t bytes = sizeof(out.m) + n * sizeof(uint64_t) + s->n_branches * sizeof(struct wire_branch);

	out.m.ip = s->ip;
	out.m.enabled_ns = v->elsewhere_ns + cyc_to_ns(v->core, s->cycle - v->core->pmu.cycle0);
	out.m.running_ns = cyc_to_ns(v->core, s->running_cyc);
	out.m.period = s->period;
	out.m.event = s->event < sim.config.kind[v->now].n_events ? first_event(v->now) + s->event
	                                                          : sim.config.n_events;
	out.m.n_values = n;
	out.m.n_branches = s->n_branches;
	out.m.pad = 0;
	memcpy(out.rest, s->value, n * sizeof(uint64_t));
	memcpy(out.rest + n, s->branch, s->n_branches * sizeof(struct wire_branch));
	sender_send(&sim.sender, WIRE_SAMPLE, v->tid, v->start_ns + cyc_to_ns(v->core, s->cycle), &out.m.head,
	            bytes);
}

static void send_throttle(void *user, uint32_t event, bool on, uint64_t cycle)
{
	struct vcpu *v = user;
	struct wire_throttle m = { .event = first_event(v->now) + event, .on = on };

	sender_send(&sim.sender, WIRE_THROTTLE, v->tid, v->start_ns + cyc_to_ns(v->core, cycle), &m.head,
	            sizeof(m));
}

static void send_map(void *user, const struct guest_map *map)
{
	struct vcpu *v = user;
	size_t n = strlen(map->path) + 1, bytes = sizeof(struct wire_map) + n;
	struct wire_map *m = malloc(bytes);

	if (!m)
		return;
	m->ip = map->ip;
	m->len_bytes = map->len_bytes;
	m->pgoff_bytes = map->pgoff_bytes;
	m->prot = map->prot;
	m->flags = map->flags;
	memcpy(m->path, map->path, n);
	sender_send(&sim.sender, WIRE_MAP, v->tid, now_ns(v), &m->head, bytes);
	free(m);
}

static void send_totals(struct vcpu *v)
{
	struct {
		struct wire_head head;
		uint64_t value[WIRE_MAX_EVENTS];
	} m;

	if (!v->core || !sim.config.n_events)
		return;
	for (uint32_t k = 0; k < sim.config.n_kinds; k++) {
		struct sim_core *c = v->kind[k];

		c->pmu.value[SIM_CYCLES] = c->retire_cyc - c->pmu.cycle0;
		for (uint32_t i = 0; i < sim.config.kind[k].n_events; i++)
			m.value[first_event(k) + i] = sim_pmu_value(&c->pmu, i);
	}
	sender_send(&sim.sender, WIRE_TOTALS, v->tid, now_ns(v), &m.head,
	            sizeof(m.head) + sim.config.n_events * sizeof(uint64_t));
}

static void send_hello(struct vcpu *v, bool by_exec)
{
	struct wire_hello m = { .by_exec = by_exec, .fresh = !sim.resumes };

	sender_send_fd(&sim.sender, WIRE_HELLO, v->tid, now_ns(v), &m.head, sizeof(m), sim.counts_fd);
	if (sim.counts_fd >= 0)
		close(sim.counts_fd);
	sim.counts_fd = -1;
}

static void send_task(struct vcpu *v, uint32_t ppid)
{
	struct wire_task m = { .ppid = ppid, .ptid = v->parent_tid };

	sender_send(&sim.sender, WIRE_TASK, v->tid, now_ns(v), &m.head, sizeof(m));
}

static void send_first_comm(struct vcpu *v)
{
	const char *path = qemu_plugin_path_to_binary(), *slash = path ? strrchr(path, '/') : NULL;
	char comm[16];

	snprintf(comm, sizeof(comm), "%s", slash ? slash + 1 : path ? path : "?");
	sender_text(&sim.sender, WIRE_COMM, v->tid, now_ns(v), comm);
	free((char *)path);
}

/* ---- counts ---- */

/* A block begins to run.  What is cut off of it by the end of the program counts as if it had run. */
static void count_run(struct vcpu *v, uint32_t id)
{
	struct counts_slot *slot;

	if (!v->runs || id >= sim.counts.head->max_blocks)
		return;
	slot = v->runs[id / COUNTS_CHUNK];
	if (!slot) {
		pthread_mutex_lock(&sim.lock);
		slot = v->runs[id / COUNTS_CHUNK] = counts_slot_get(&sim.counts, id / COUNTS_CHUNK);
		pthread_mutex_unlock(&sim.lock);
	}
	if (slot)
		slot->runs[id % COUNTS_CHUNK]++;
}

/* Its counts stay, and the next thread adds to them. */
static void give_slots_back(struct vcpu *v)
{
	for (uint64_t i = 0; v->runs && i < sim.counts.head->max_blocks / COUNTS_CHUNK; i++)
		if (v->runs[i])
			counts_slot_put(&sim.counts, v->runs[i]);
	free(v->runs);
	v->runs = NULL;
}

/* ---- what a block did ---- */

/* Index of the first instruction whose memory access did not happen, n_insn when all did. */
static uint32_t first_missing(const struct vcpu *v, const struct sim_block *b)
{
	uint32_t from = 0;

	if (v->n_mem)
		from = (uint32_t)(v->mem[v->n_mem - 1] >> 4 & 0xfff) + 1;
	for (uint32_t i = from; i < b->n_insn; i++)
		if (b->insn[i].flags & SIM_F_MEM && b->insn[i].cls != SIM_C_SLOW)
			return i;
	return b->n_insn;
}

static bool is_handler(uint64_t ip)
{
	for (unsigned i = 0; i < sim.n_handlers; i++)
		if (sim.handler[i] == ip)
			return true;
	return false;
}

static uint64_t rep_ip_of(const struct sim_block *b)
{
	return b->is_rep ? b->ip + b->insn[b->n_insn - 1].ip_off : 0;
}

static bool is_successor(const struct sim_block *b, uint64_t ip)
{
	switch (b->exit) {
	case SIM_X_NONE:
		return ip == b->end_ip || (b->is_rep && ip == rep_ip_of(b));
	case SIM_X_COND:
		return ip == b->target || ip == b->end_ip;
	case SIM_X_JUMP:
	case SIM_X_CALL:
		return ip == b->target;
	default:
		return !is_handler(ip);
	}
}

/* Only counting, and no fault can be survived: what happens within a block is of no interest. */
static bool watches_memory(void)
{
	return sim.core || sim.faults;
}

/*
 * How many instructions of the block ran.  All, unless it was left by a
 * fault (the next block is a signal handler's) or the emulator had to start
 * over from the middle (a store into the block's own code).
 */
static uint32_t insns_run(const struct vcpu *v, const struct sim_block *b, uint64_t next_ip)
{
	if (!watches_memory() || is_successor(b, next_ip))
		return b->n_insn;
	for (uint32_t i = 1; i < b->n_insn; i++)
		if (b->ip + b->insn[i].ip_off == next_ip && first_missing(v, b) <= i)
			return i;
	return first_missing(v, b);
}

/* What else there is to count of a run that is over: where it was left, loads that missed. */
static void count_end(struct vcpu *v, const struct sim_block *b, uint32_t n, uint64_t next_ip)
{
	uint32_t n_missed = v->core ? v->core->n_missed : 0;

	if (n == b->n_insn && b->is_rep && next_ip == rep_ip_of(b) && b->id < sim.counts.head->max_blocks)
		__atomic_add_fetch(&sim.counts.again[b->id], 1, __ATOMIC_RELAXED);
	if (n == b->n_insn && !n_missed)
		return;
	pthread_mutex_lock(&sim.lock);
	if (n < b->n_insn)
		counts_left(&sim.counts, b, n);
	for (uint32_t i = 0; i < n_missed; i++)
		counts_missed(&sim.counts, b, v->core->missed[i].index);
	pthread_mutex_unlock(&sim.lock);
}

/* A half to one and a half of what was asked for, so that it keeps no step with the program. */
static void draw_move(struct vcpu *v)
{
	uint64_t mean = (uint64_t)((double)sim.config.stay_ns * v->core->pmu.config->freq_ghz);

	v->move_cyc = v->core->retire_cyc + mean / 2 + sim_pmu_random(&v->rng) % (mean + 1);
}

/* Its time is over: when no interrupt is under way, the thread goes on where it left the other kind of core. */
static void move(struct vcpu *v)
{
	struct sim_core *from = v->core, *to = v->kind[!v->now];

	if (from->retire_cyc < v->move_cyc || !sim_pmu_is_idle(&from->pmu))
		return;
	v->start_ns += cyc_to_ns(from, from->retire_cyc) - cyc_to_ns(to, to->retire_cyc);
	v->elsewhere_ns += cyc_to_ns(from, from->retire_cyc - from->pmu.cycle0) -
	                   cyc_to_ns(to, to->retire_cyc - to->pmu.cycle0);
	v->now = !v->now;
	v->core = to;
	draw_move(v);
}

/* The block before is over: the program went on at next_ip. */
static void finish(struct vcpu *v, uint64_t next_ip)
{
	struct sim_code *c = v->code;
	const struct sim_block *b = v->now ? c->other : &c->block;
	uint32_t n = insns_run(v, b, next_ip);

	v->mem[v->n_mem] = SIM_MEM_END;
	if (v->core)
		sim_core_run(v->core, b, n, next_ip, v->mem);
	if (sim.config.counting)
		count_end(v, b, n, next_ip);
	if (v->core && v->syscall >= 0)
		sim_core_kernel(v->core, (uint64_t)v->syscall);
	v->syscall = -1;
	if (v->core && v->kind[1])
		move(v);
	v->code = NULL;
	v->n_mem = 0;
}

/* Nothing follows: the thread ends, or waits for what comes. */
static void finish_last(struct vcpu *v)
{
	if (v->code)
		finish(v, v->code->block.end_ip);
}

/* ---- callbacks while the program runs ---- */

/* First block of a thread, in that thread. */
static void begin(struct vcpu *v)
{
	v->tid = (uint32_t)syscall(SYS_gettid);
	pthread_mutex_lock(&sim.lock);
	if (sim.begun) {
		send_task(v, sim.sender.pid);
	} else {
		sim.begun = true;
		send_hello(v, sim.by_exec);
		send_first_comm(v);
		for (size_t i = 0; i < sim.guest.maps.n; i++)
			if (sim.guest.maps.v[i].prot & PROT_EXEC)
				send_map(v, &sim.guest.maps.v[i]);
	}
	pthread_mutex_unlock(&sim.lock);
}

static void on_block(unsigned index, void *user)
{
	struct vcpu *v = sim.vcpu[index];
	struct sim_code *c = user;

	if (v->code)
		finish(v, c->block.ip);
	else if (!v->tid)
		begin(v);
	if (sim.config.counting)
		count_run(v, c->block.id);
	v->code = c;
}

static inline void add_access(unsigned index, qemu_plugin_meminfo_t info, uint64_t vaddr, void *user,
                              bool store)
{
	struct vcpu *v = sim.vcpu[index];

	if (v->n_mem < MAX_ACCESSES)
		v->mem[v->n_mem++] = SIM_MEM(vaddr, (uintptr_t)user, qemu_plugin_mem_size_shift(info), store);
	if (v->core && !sim_memory_is_near(&v->core->memory, vaddr))
		sim_memory_expect(&v->core->memory, vaddr);
}

/* For instructions that only load, only store, do both: most need not ask which way an access went. */
static void on_load(unsigned index, qemu_plugin_meminfo_t info, uint64_t vaddr, void *user)
{
	add_access(index, info, vaddr, user, false);
}

static void on_store(unsigned index, qemu_plugin_meminfo_t info, uint64_t vaddr, void *user)
{
	add_access(index, info, vaddr, user, true);
}

static void on_either(unsigned index, qemu_plugin_meminfo_t info, uint64_t vaddr, void *user)
{
	add_access(index, info, vaddr, user, qemu_plugin_mem_is_store(info));
}

/*
 * Inline way: a block that ends in a rep instruction ran.  It is one more
 * step of the same execution when nothing has run behind the instruction
 * since the step before.
 */
static void on_rep(unsigned index, void *user)
{
	struct sim_code *c = user;
	uint64_t ip = rep_ip_of(&c->block), left = 0, max = sim.counts.head->max_blocks;

	(void)index;
	for (struct sim_code *b = sim_blocks_at(&sim.blocks, c->block.end_ip); b; b = sim_blocks_next(b))
		left += b->block.id < max ? sim.counts.runs[b->block.id] : 0;
	if (c->block.ip == ip && sim.rep_ip == ip && sim.rep_left == left && c->block.id < max)
		sim.counts.again[c->block.id]++;
	sim.rep_ip = ip;
	sim.rep_left = left;
}

/* ---- translation ---- */

static uint64_t hash_code(const struct qemu_plugin_tb *tb, size_t n)
{
	uint64_t h = 0xcbf29ce484222325u;

	for (size_t i = 0; i < n; i++) {
		const struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
		const uint8_t *p = qemu_plugin_insn_data(insn);

		for (size_t k = 0; k < qemu_plugin_insn_size(insn); k++)
			h = (h ^ p[k]) * 0x100000001b3u;
	}
	return h;
}

/* The same instructions as the other kind of core runs them. */
static int decode_other(const struct qemu_plugin_tb *tb, size_t n, struct sim_code *c)
{
	struct sim_block *b = calloc(1, sizeof(*b) + n * sizeof(b->insn[0]));

	if (!b)
		return -SP_ENOMEM;
	b->ip = c->block.ip;
	b->n_insn = c->block.n_insn;
	for (size_t i = 0; i < n; i++) {
		const struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);

		sim_decode(sim.other_decoder, qemu_plugin_insn_data(insn), qemu_plugin_insn_size(insn),
		           qemu_plugin_insn_vaddr(insn), b, (uint32_t)i);
	}
	sim_decode_finish(sim.other_decoder, b);
	c->other = b;
	return 0;
}

static struct sim_code *decode_block(const struct qemu_plugin_tb *tb, size_t n, const struct sim_code *key)
{
	struct sim_code *c = sim_code_new(qemu_plugin_tb_vaddr(tb), (uint32_t)n);

	if (!c)
		return NULL;
	c->hash = key->hash;
	c->file = key->file;
	c->off = key->off;
	for (size_t i = 0; i < n; i++) {
		const struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);

		sim_decode(sim.decoder, qemu_plugin_insn_data(insn), qemu_plugin_insn_size(insn),
		           qemu_plugin_insn_vaddr(insn), &c->block, (uint32_t)i);
	}
	sim_decode_finish(sim.decoder, &c->block);
	if ((sim.other_decoder && decode_other(tb, n, c) < 0) || sim_blocks_add(&sim.blocks, c) < 0) {
		free(c->other);
		free(c);
		return NULL;
	}
	if (c->other)
		c->other->id = c->block.id;
	if (sim.config.counting)
		counts_add(&sim.counts, &c->block, c->file, c->off);
	return c;
}

/* Which place of which file this is: another library may be mapped where one was before. */
static void find_place(uint64_t ip, struct sim_code *out)
{
	const struct guest_map *m = guest_find(&sim.guest, ip);

	out->file = COUNTS_NO_FILE;
	out->off = ip;
	if (!m || m->path[0] != '/' || m->path[1] == '/' || !sim.config.counting)
		return;
	out->file = counts_file(&sim.counts, m->path);
	out->off = m->pgoff_bytes + ip - m->ip;
}

static struct sim_code *find_block(const struct qemu_plugin_tb *tb, size_t n)
{
	struct sim_code key = { .hash = hash_code(tb, n) };

	find_place(qemu_plugin_tb_vaddr(tb), &key);
	for (struct sim_code *c = sim_blocks_at(&sim.blocks, qemu_plugin_tb_vaddr(tb)); c;
	     c = sim_blocks_next(c))
		if (c->hash == key.hash && c->block.n_insn == n && c->file == key.file && c->off == key.off)
			return c;
	return decode_block(tb, n, &key);
}

/* Where the emulator adds 1 for each run. */
static uint64_t *inline_count(const struct sim_block *b)
{
	return b->id < sim.counts.head->max_blocks ? &sim.counts.runs[b->id] : &sim.counts.head->unused;
}

/* QEMU 7.2 does not heed the direction it is asked for, so that can't tell loads from stores. */
static void watch_insn(struct qemu_plugin_insn *insn, unsigned flags, size_t index)
{
	qemu_plugin_vcpu_mem_cb_t fn = on_either;

	if ((flags & SIM_F_MEM) == SIM_F_LOAD)
		fn = on_load;
	if ((flags & SIM_F_MEM) == SIM_F_STORE)
		fn = on_store;
	qemu_plugin_register_vcpu_mem_cb(insn, fn, QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_RW,
	                                 (void *)(uintptr_t)index);
}

/*
 * The instructions of a block.  When QEMU finds in the midst of an instruction that it goes on to the next page, it
 * ends the block before it, but leaves it, cut off, at the end of its list: it does not run here, but in a block of
 * its own.  Where it is cut depends on what was to be read next, and may lie before the page's end.
 */
static size_t count_insns(const struct qemu_plugin_tb *tb)
{
	size_t n = qemu_plugin_tb_n_insns(tb);
	const struct qemu_plugin_insn *last = qemu_plugin_tb_get_insn(tb, n - 1);
	uint64_t at = qemu_plugin_insn_vaddr(last);

	if (sim.nr == &numbers_x86_64 && n > 1 && at / GUEST_PAGE != (at + MAX_INSN_BYTES - 1) / GUEST_PAGE &&
	    !sim_decode_length(sim.decoder, qemu_plugin_insn_data(last), qemu_plugin_insn_size(last)))
		n--;
	return n;
}

static void on_translate(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	size_t n;
	struct qemu_plugin_insn *first = qemu_plugin_tb_get_insn(tb, 0);
	struct sim_code *c;

	(void)id;
	pthread_mutex_lock(&sim.lock);
	if (!sim.scanned) {
		sim.guest.base =
		        (uint64_t)(uintptr_t)qemu_plugin_insn_haddr(first) - qemu_plugin_insn_vaddr(first);
		guest_scan(&sim.guest);
		sim.scanned = true;
	}
	n = count_insns(tb);
	c = find_block(tb, n);
	pthread_mutex_unlock(&sim.lock);
	if (!c)
		return;
	if (!sim.followed && !sim.config.counting)
		return;
	if (!sim.followed) {
		qemu_plugin_register_vcpu_tb_exec_inline(tb, QEMU_PLUGIN_INLINE_ADD_U64,
		                                         inline_count(&c->block), 1);
		if (c->block.is_rep)
			qemu_plugin_register_vcpu_tb_exec_cb(tb, on_rep, QEMU_PLUGIN_CB_NO_REGS, c);
		return;
	}
	qemu_plugin_register_vcpu_tb_exec_cb(tb, on_block, QEMU_PLUGIN_CB_NO_REGS, c);
	for (size_t i = 0; watches_memory() && i < n; i++)
		if (c->block.insn[i].flags & SIM_F_MEM)
			watch_insn(qemu_plugin_tb_get_insn(tb, i), c->block.insn[i].flags, i);
}

/* ---- threads and processes ---- */

static struct sim_pmu_setup pmu_setup(struct vcpu *v, uint32_t kind)
{
	double freq_ghz = sim.core[kind].freq_ghz;
	struct sim_pmu_setup s = { .n_events = sim.config.kind[kind].n_events,
		                   .n_sets = sim.config.kind[kind].n_sets,
		                   .rotate_cyc = (uint64_t)((double)sim.config.rotate_ns * freq_ghz),
		                   .n_branches = sim.config.branches,
		                   .branch_filter = sim.config.branch_filter,
		                   .no_values = sim.config.no_values,
		                   .max_rate_hz = sim.config.max_rate_hz,
		                   .burst_cyc = (uint64_t)((double)sim.config.burst_ns * freq_ghz),
		                   .seed = sim_pmu_seed(sim.seed, ++sim.n_seeds),
		                   .sample = send_sample,
		                   .throttle = send_throttle,
		                   .user = v };

	memcpy(s.event, sim.config.event + first_event(kind), s.n_events * sizeof(s.event[0]));
	return s;
}

static void stop_cores(struct vcpu *v)
{
	for (uint32_t k = 0; k < WIRE_MAX_KINDS; k++) {
		if (v->kind[k])
			sim_core_stop(v->kind[k]);
		free(v->kind[k]);
	}
}

/* All kinds of core, or none. */
static int start_cores(struct vcpu *v)
{
	for (uint32_t k = 0; k < sim.config.n_kinds; k++) {
		struct sim_pmu_setup setup = pmu_setup(v, k);
		struct sim_core *c = calloc(1, sizeof(*c));

		if (!c || sim_core_start(c, &sim.core[k], &setup) < 0) {
			free(c);
			stop_cores(v);
			return -SP_ENOMEM;
		}
		v->kind[k] = c;
	}
	v->core = v->kind[0];
	if (v->kind[1]) {
		v->rng = sim_pmu_seed(sim.seed, ++sim.n_seeds);
		draw_move(v);
	}
	return 0;
}

static struct vcpu *vcpu_new(void)
{
	struct vcpu *v = calloc(1, sizeof(*v));

	if (!v)
		return NULL;
	v->syscall = -1;
	if (sim.config.counting)
		v->runs = calloc(sim.counts.head->max_blocks / COUNTS_CHUNK, sizeof(*v->runs));
	if ((sim.config.counting && !v->runs) || (sim.core && start_cores(v) < 0)) {
		free(v->runs);
		free(v);
		return NULL;
	}
	return v;
}

/* Its thread has ended, and the emulator uses its number again. */
static void vcpu_free(struct vcpu *v)
{
	if (!v)
		return;
	give_slots_back(v);
	stop_cores(v);
	free(v);
}

/* The creator's own clock: what others' was meanwhile differs from run to run. */
static uint64_t creators_ns(uint32_t tid)
{
	for (unsigned i = 0; i < sim.n_vcpus; i++)
		if (sim.vcpu[i] && sim.vcpu[i]->tid == tid && !sim.vcpu[i]->gone)
			return now_ns(sim.vcpu[i]);
	return 0;
}

/* The program before this one left what it had counted. */
static void resume(struct vcpu *v)
{
	for (uint32_t k = 0; k < sim.config.n_kinds; k++)
		sim_pmu_resume(&v->kind[k]->pmu, &sim.state[k]);
	if (v->kind[1])
		v->elsewhere_ns = cyc_to_ns(v->kind[1], sim.state[1].elapsed_cyc);
}

/* In the thread that creates the new one. */
static void on_vcpu_init(qemu_plugin_id_t id, unsigned index)
{
	struct vcpu *v = vcpu_new();

	(void)id;
	/* Nothing may be printed, and without its record a thread can't run on: there is no memory left anyway. */
	if (!v || index >= MAX_VCPUS)
		abort();
	v->parent_tid = (uint32_t)syscall(SYS_gettid);
	pthread_mutex_lock(&sim.lock);
	v->start_ns = sim.n_vcpus ? creators_ns(v->parent_tid) : sim.start_ns;
	if (!sim.n_vcpus && v->core && sim.resumes)
		resume(v);
	/* Inline counters are not atomic; the emulator translates anew for the second thread. */
	if (sim.n_vcpus)
		sim.followed = true;
	vcpu_free(sim.vcpu[index]);
	sim.vcpu[index] = v;
	if (index >= sim.n_vcpus)
		sim.n_vcpus = index + 1;
	pthread_mutex_unlock(&sim.lock);
}

static void end_thread(struct vcpu *v)
{
	struct wire_head m;

	if (v->gone)
		return;
	v->gone = true;
	finish_last(v);
	send_totals(v);
	sender_send(&sim.sender, WIRE_EXIT, v->tid, now_ns(v), &m, sizeof(m));
}

static void on_exit_process(qemu_plugin_id_t id, void *user)
{
	struct vcpu *v = NULL;
	struct wire_head m;

	(void)id;
	(void)user;
	for (unsigned i = sim.n_vcpus; i-- > 0;) {
		if (!sim.vcpu[i] || !sim.vcpu[i]->tid)
			continue;
		v = sim.vcpu[i];
		end_thread(v);
	}
	if (!v)
		return;
	sender_send(&sim.sender, WIRE_BYE, v->tid, now_ns(v), &m, sizeof(m));
	sim.sender.fd = -1;
}

/* After a fork, on both sides: the parent's next child will have another seed. */
static void next_child_seed(bool in_child)
{
	uint64_t n = __atomic_add_fetch(&sim.n_children, 1, __ATOMIC_RELAXED);

	if (!in_child)
		return;
	sim.seed = sim_pmu_seed(~sim.seed, n);
	sim.n_children = sim.n_seeds = 0;
}

/* In the child: one thread is left, its counters begin at zero. */
static void begin_child(struct vcpu *v)
{
	uint32_t ppid = sim.sender.pid;

	sim.sender.pid = (uint32_t)getpid();
	/* Those of the parent's other threads are left as they are: one of them may have been at its work. */
	for (unsigned i = 0; i < sim.n_vcpus; i++)
		if (sim.vcpu[i] && sim.vcpu[i] != v)
			sim.vcpu[i] = NULL;
	if (v->runs)
		memset(v->runs, 0, sim.counts.head->max_blocks / COUNTS_CHUNK * sizeof(*v->runs));
	/* Without a file of its own it runs on uncounted, which the recorder sees. */
	if (sim.config.counting && counts_renew(&sim.counts, &sim.counts_fd) < 0)
		sim.counts_fd = -1;
	v->parent_tid = v->tid;
	v->tid = (uint32_t)syscall(SYS_gettid);
	v->code = NULL;
	v->n_mem = 0;
	v->syscall = -1;
	v->elsewhere_ns = 0;
	for (uint32_t k = 0; v->core && k < sim.config.n_kinds; k++)
		sim_pmu_restart(&v->kind[k]->pmu, v->kind[k]->retire_cyc,
		                sim_pmu_seed(sim.seed, ++sim.n_seeds));
	send_hello(v, false);
	send_task(v, ppid);
}

/* ---- system calls ---- */

/* Words of the guest's, NULL at the end; freed by the caller, the words are borrowed.  NULL without memory. */
static char **guest_words(uint64_t ip)
{
	const uint64_t *at = (const uint64_t *)(uintptr_t)(ip + sim.guest.base);
	size_t n = 0;
	char **out;

	while (ip && at[n])
		n++;
	out = calloc(n + 1, sizeof(*out));
	for (size_t i = 0; out && i < n; i++)
		out[i] = (char *)(uintptr_t)(at[i] + sim.guest.base);
	return out;
}

/* What the emulator of the next program reads in place of the recorder's word.  -1: it can't be written. */
static int leave_config(const struct vcpu *v)
{
	struct wire_config *c = sim.packet;
	bool leader = v->tid == sim.sender.pid;
	int fd = memfd_create("skidprof config", 0); /* stays open over the exec, and is closed there */
	struct sim_pmu_state state[WIRE_MAX_KINDS] = { 0 };
	ssize_t n = -1;

	if (fd < 0)
		return -1;
	c->head.time_ns = now_ns(v);
	c->seed = sim_pmu_seed(~sim.seed, ++sim.n_children);
	for (uint32_t k = 0; v->core && k < sim.config.n_kinds; k++)
		sim_pmu_save(&v->kind[k]->pmu, v->kind[k]->retire_cyc, &state[k]);
	if (write(fd, c, c->head.bytes) == (ssize_t)c->head.bytes)
		n = write(fd, state, leader ? sizeof(state) : 0);
	if (n >= 0 && lseek(fd, 0, SEEK_SET) == 0)
		return fd;
	close(fd);
	return -1;
}

/* The path of what is open as fd; "" when it has none any more. */
static void path_of_fd(int fd, char *out, size_t size)
{
	struct stat a, b;
	char link[64];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, out, size - 1);
	out[n < 0 ? 0 : n] = '\0';
	if (n > 0 && (fstat(fd, &a) < 0 || stat(out, &b) < 0 || a.st_ino != b.st_ino || a.st_dev != b.st_dev))
		out[0] = '\0';
}

/* The path that execve or execveat would take; "" where it has none. */
static void exec_path(int64_t num, const uint64_t arg[6], char *out, size_t size)
{
	char below[4096];
	int fd = (int)arg[0];

	guest_string(&sim.guest, num == sim.nr->execve ? arg[0] : arg[1], out, size);
	if (num == sim.nr->execve || out[0] == '/' || (out[0] && fd == AT_FDCWD))
		return;
	snprintf(below, sizeof(below), "%s", out);
	path_of_fd(fd, out, size);
	if (out[0] && below[0] && strlen(out) + strlen(below) + 2 < size) {
		strcat(out, "/");
		strcat(out, below);
	}
}

/*
 * The program that follows runs under an emulator of its own, which takes our
 * place here; where that can't be, natively and without us.  Shells try one
 * folder after the other: what can't succeed is not worth a word.
 */
static void on_exec(struct vcpu *v, int64_t num, const uint64_t arg[6])
{
	const uint64_t *at = num == sim.nr->execve ? arg + 1 : arg + 2;
	char path[4096], plugin[MAX_PLUGIN_ARG + 64], text[4096 + 128];
	char **argv = guest_words(at[0]), **envp = guest_words(at[1]);
	const char *why = "";
	int saved = errno, config;
	bool fails = false;

	exec_path(num, arg, path, sizeof(path));
	finish_last(v);
	send_totals(v);
	config = leave_config(v);
	snprintf(plugin, sizeof(plugin), "%s,fd=%d,config=%d", sim.plugin_file, sim.sender.fd, config);
	if (path[0] && argv && envp && config >= 0 && sim.sender.fd >= 0) {
		fcntl(sim.sender.fd, F_SETFD, 0);
		fails = follow_exec(&sim.follow, plugin, path, argv, envp, &why);
		fcntl(sim.sender.fd, F_SETFD, FD_CLOEXEC);
	}
	if (config >= 0)
		close(config);
	if (!fails) {
		snprintf(text, sizeof(text), "%s\n%s", path, why);
		sender_text(&sim.sender, WIRE_EXEC, v->tid, now_ns(v), text);
	}
	free(argv);
	free(envp);
	errno = saved;
}

static void guard_range(uint64_t from, uint64_t to)
{
	if (sim.sender.fd >= 0 && from <= (uint64_t)sim.sender.fd && to >= (uint64_t)sim.sender.fd)
		sender_guard(&sim.sender, sim.sender.fd);
}

static void register_callbacks(qemu_plugin_id_t id);

/* Signals that an instruction raises, so that its block is left in the middle. */
static bool is_fault(uint64_t signal)
{
	return signal == 4 || signal == 5 || signal == 7 || signal == 8 || signal == 11;
}

static void on_sigaction(uint64_t signal, uint64_t action_ip)
{
	uint64_t handler = action_ip ? *(uint64_t *)(uintptr_t)(action_ip + sim.guest.base) : 0;
	bool anew = false;

	if (handler <= 1)
		return;
	pthread_mutex_lock(&sim.lock);
	if (signal <= 64)
		sim.handled |= (uint64_t)1 << (signal - 1);
	if (!is_handler(handler) && sim.n_handlers < MAX_HANDLERS) {
		sim.handler[sim.n_handlers] = handler;
		__atomic_store_n(&sim.n_handlers, sim.n_handlers + 1, __ATOMIC_RELEASE);
	}
	if (is_fault(signal) && !sim.faults) {
		anew = !watches_memory();
		sim.faults = sim.followed = true;
	}
	pthread_mutex_unlock(&sim.lock);
	/* Code translated so far does not say what happens within a block. */
	if (anew)
		qemu_plugin_reset(sim.id, register_callbacks);
}

/*
 * A signal of the program's own that will kill it: no callback comes then, so
 * its threads' totals go now.
 */
static void on_kill(struct vcpu *v, uint64_t signal)
{
	const uint64_t fatal = 1u << 1 | 1u << 2 | 1u << 5 | 1u << 8 | 1u << 14; /* INT QUIT ABRT KILL TERM */

	if (signal < 1 || signal > 64 || !(fatal & ~sim.handled & (uint64_t)1 << (signal - 1)))
		return;
	finish_last(v);
	send_totals(v);
}

static void on_munmap(uint64_t ip, uint64_t len_bytes)
{
	pthread_mutex_lock(&sim.lock);
	guest_munmap(&sim.guest, ip, len_bytes);
	pthread_mutex_unlock(&sim.lock);
}

static void on_syscall(qemu_plugin_id_t id, unsigned index, int64_t num, uint64_t a1, uint64_t a2,
                       uint64_t a3, uint64_t a4, uint64_t a5, uint64_t a6, uint64_t a7, uint64_t a8)
{
	struct vcpu *v = sim.vcpu[index];
	const uint64_t arg[6] = { a1, a2, a3, a4, a5, a6 };

	(void)id;
	(void)a7;
	(void)a8;
	memcpy(v->arg, arg, sizeof(arg));
	v->syscall = num;
	if (!v->tid)
		begin(v);
	if (v->core)
		sim_pmu_cut_burst(&v->core->pmu, v->core->retire_cyc);
	if (num == sim.nr->execve || num == sim.nr->execveat)
		on_exec(v, num, arg);
	else if (num == sim.nr->munmap)
		on_munmap(a1, a2);
	else if (num == sim.nr->close)
		guard_range(a1, a1);
	else if (num == sim.nr->dup2 || num == sim.nr->dup3)
		guard_range(a2, a2);
	else if (num == sim.nr->close_range)
		guard_range(a1, a2);
	else if (num == sim.nr->sigaction)
		on_sigaction(a1, a2);
	else if ((num == sim.nr->kill && (a1 == sim.sender.pid || !a1)) || num == sim.nr->tkill)
		on_kill(v, a2);
	else if (num == sim.nr->tgkill && a1 == sim.sender.pid)
		on_kill(v, a3);
	else if (num == sim.nr->exit && index)
		end_thread(v);
}

static void on_prctl(struct vcpu *v)
{
	enum { SET_NAME = 15 };
	char comm[16];

	if (v->arg[0] != SET_NAME)
		return;
	guest_string(&sim.guest, v->arg[1], comm, sizeof(comm));
	sender_text(&sim.sender, WIRE_COMM, v->tid, now_ns(v), comm);
}

static void on_syscall_ret(qemu_plugin_id_t id, unsigned index, int64_t num, int64_t ret)
{
	struct vcpu *v = sim.vcpu[index];

	(void)id;
	if (num == sim.nr->fork || num == sim.nr->vfork || num == sim.nr->clone) {
		bool child = !ret && (uint32_t)getpid() != sim.sender.pid;

		/* Process numbers differ from run to run; which child of its parent it is does not. */
		next_child_seed(child);
		if (child)
			begin_child(v);
	}
	if (ret < 0 && ret > -4096)
		return;
	if (num == sim.nr->prctl)
		on_prctl(v);
	if (num != sim.nr->mmap && num != sim.nr->mprotect && num != sim.nr->mremap)
		return;
	pthread_mutex_lock(&sim.lock);
	if (num == sim.nr->mmap)
		guest_mmap(&sim.guest, (uint64_t)ret, v->arg, send_map, v);
	else if (num == sim.nr->mremap)
		guest_mremap(&sim.guest, v->arg[0], v->arg[1], (uint64_t)ret, v->arg[2], send_map, v);
	else
		guest_mprotect(&sim.guest, v->arg[0], v->arg[1], (uint32_t)v->arg[2], send_map, v);
	pthread_mutex_unlock(&sim.lock);
}

/* ---- installation ---- */

/* False: it is not of this version. */
static bool is_config(const struct wire_config *c, size_t n)
{
	uint64_t n_events = 0, n_text = 0;

	if (n < sizeof(*c) || c->head.kind != WIRE_CONFIG || c->version != WIRE_VERSION || !c->n_kinds ||
	    c->n_kinds > WIRE_MAX_KINDS || c->branches > WIRE_MAX_BRANCHES)
		return false;
	for (uint32_t k = 0; k < c->n_kinds; k++) {
		n_events += c->kind[k].n_events;
		n_text += c->kind[k].text_bytes;
		if (c->kind[k].n_sets > WIRE_MAX_EVENTS)
			return false;
	}
	return n_text == n - sizeof(*c) && n_events == c->n_events && n_events <= WIRE_MAX_EVENTS;
}

static int read_cores(const char *text)
{
	int err = 0;

	sim.core = calloc(sim.config.n_kinds, sizeof(*sim.core));
	if (!sim.core)
		return sp_fail(SP_ENOMEM, "out of memory");
	for (uint32_t k = 0; k < sim.config.n_kinds && !err; k++) {
		err = sim_config_parse(text, sim.config.kind[k].text_bytes, &sim.core[k]);
		text += sim.config.kind[k].text_bytes;
	}
	return err;
}

/* The recorder's word, or what the program before us left of it.  fd: the socket, or that file. */
static ssize_t read_packet(int fd, bool left, char *packet)
{
	ssize_t n;

	do
		n = left ? read(fd, packet, WIRE_MAX_BYTES) : recv(fd, packet, WIRE_MAX_BYTES, 0);
	while (n < 0 && errno == EINTR);
	if (left)
		close(fd);
	return n;
}

static int read_config(int fd, int config_fd)
{
	char *packet = malloc(WIRE_MAX_BYTES);
	ssize_t n;
	int err = 0;

	if (!packet)
		return sp_fail(SP_ENOMEM, "out of memory");
	n = read_packet(config_fd >= 0 ? config_fd : fd, config_fd >= 0, packet);
	if (config_fd >= 0 && n > (ssize_t)sizeof(sim.config)) {
		size_t bytes = ((struct wire_config *)packet)->head.bytes;

		sim.resumes = (size_t)n == bytes + sizeof(sim.state);
		if (sim.resumes)
			memcpy(sim.state, packet + bytes, sizeof(sim.state));
		n = (ssize_t)bytes;
	}
	memcpy(&sim.config, packet, n < (ssize_t)sizeof(sim.config) ? 0 : sizeof(sim.config));
	if (n < 0 || !is_config(&sim.config, (size_t)n))
		err = sp_fail(SP_EFORMAT, "the recorder's configuration is not of this version of skidprof");
	for (uint32_t i = 0; !err && i < sim.config.n_events; i++)
		if (sim.config.event[i].event >= SIM_N_EVENTS)
			err = sp_fail(SP_EFORMAT,
			              "the recorder asks for an event this simulator does not have");
	sim.seed = sim.config.seed;
	sim.by_exec = config_fd >= 0;
	sim.start_ns = sim.by_exec ? sim.config.head.time_ns : 0;
	if (!err && sim.config.timing)
		err = read_cores(packet + sizeof(sim.config));
	sim.packet = packet;
	return err;
}

static void lock_for_fork(void)
{
	pthread_mutex_lock(&sim.lock);
}

static void unlock_after_fork(void)
{
	pthread_mutex_unlock(&sim.lock);
}

/* The plugin's file as the argument -plugin needs it: a comma ends it unless it is doubled. */
static void name_plugin(void)
{
	Dl_info info;
	size_t n = 0;

	if (!dladdr(&sim, &info) || !info.dli_fname)
		return;
	for (const char *s = info.dli_fname; *s && n + 2 < sizeof(sim.plugin_file); s++) {
		if (*s == ',')
			sim.plugin_file[n++] = ',';
		sim.plugin_file[n++] = *s;
	}
}

static int set_up(const qemu_info_t *info, int fd, int config_fd)
{
	bool arm = !strcmp(info->target_name, "aarch64");
	int err;

	if (!arm && strcmp(info->target_name, "x86_64"))
		return sp_fail(SP_ENOTSUP, "the simulated core runs x86-64 and aarch64, not %s",
		               info->target_name);
	sim.counts_fd = -1;
	if ((err = read_config(fd, config_fd)) < 0 || (err = sim_blocks_init(&sim.blocks)) < 0)
		return err;
	if (sim.config.counting && (err = counts_new(&sim.counts, &sim.counts_fd)) < 0) {
		if (!sim.by_exec)
			return err;
		/* One that limits were set for before it began: it must run as it would.  That it isn't counted is seen. */
		sim.config.counting = 0;
	}
	name_plugin();
	/* Then nothing is followed, which is said where it matters. */
	if (follow_init(&sim.follow, arm ? EM_AARCH64 : EM_X86_64) < 0)
		sim.follow.n_words = 0;
	sim.nr = arm ? &numbers_aarch64 : &numbers_x86_64;
	sim.followed = sim.config.timing;
	err = sim_decoder_new(arm ? SIM_ISA_AARCH64 : SIM_ISA_X86_64, sim.core, &sim.decoder);
	if (!err && sim.core && sim.config.n_kinds > 1)
		err = sim_decoder_new(arm ? SIM_ISA_AARCH64 : SIM_ISA_X86_64, &sim.core[1],
		                      &sim.other_decoder);
	return err;
}

static void register_callbacks(qemu_plugin_id_t id)
{
	qemu_plugin_register_vcpu_init_cb(id, on_vcpu_init);
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translate);
	qemu_plugin_register_vcpu_syscall_cb(id, on_syscall);
	qemu_plugin_register_vcpu_syscall_ret_cb(id, on_syscall_ret);
	qemu_plugin_register_atexit_cb(id, on_exit_process, NULL);
}

EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv)
{
	int fd = -1, config_fd = -1;

	for (int i = 0; i < argc; i++) {
		if (!strncmp(argv[i], "fd=", 3))
			fd = atoi(argv[i] + 3);
		if (!strncmp(argv[i], "config=", 7))
			config_fd = atoi(argv[i] + 7);
	}
	if (fd < 0 || sender_init(&sim.sender, fd) < 0)
		return -1;
	fcntl(fd, F_SETFD, FD_CLOEXEC);
	pthread_mutex_init(&sim.lock, NULL);
	if (set_up(info, fd, config_fd) < 0) {
		warn(NULL, sp_error_text());
		return -1;
	}
	pthread_atfork(lock_for_fork, unlock_after_fork, unlock_after_fork);
	sim.id = id;
	register_callbacks(id);
	return 0;
}
