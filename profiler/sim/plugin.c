/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * The side that faces QEMU: everything that knows its plugin interface.
 *
 * Two ways to run:
 *  - inline: one thread, only counts wanted: the emulator adds 1 to a counter
 *    at the start of each block, nothing is called.
 *  - followed: a callback at each block and at each access of an instruction
 *    that touches memory.  The block before is over when the next one starts,
 *    because only then is it known what it did: where it went, and whether it
 *    got to its end.  It is counted then, and timed later (plugin_run.c).
 */
#include "profiler/sim/plugin_int.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "profiler/base/err.h"

#define EXPORT __attribute__((visibility("default")))

enum {
	GUEST_PAGE = 4096,   /* x86-64's */
	MAX_INSN_BYTES = 15, /* the same */
};

struct plugin plugin;

EXPORT int qemu_plugin_version = QEMU_PLUGIN_VERSION;

/* ---- counts ---- */

/* A block begins to run.  What is cut off of it by the end of the program counts as if it had run. */
static void count_run(struct vcpu *v, uint32_t id)
{
	struct counts_slot *slot;

	if (!v->runs || id >= plugin.counts.head->max_blocks)
		return;
	slot = v->runs[id / COUNTS_CHUNK];
	if (!slot) {
		pthread_mutex_lock(&plugin.lock);
		slot = v->runs[id / COUNTS_CHUNK] = counts_slot_get(&plugin.counts, id / COUNTS_CHUNK);
		pthread_mutex_unlock(&plugin.lock);
	}
	if (slot)
		slot->runs[id % COUNTS_CHUNK]++;
}

/* ---- what a block did ---- */

/* Index of the first instruction whose memory access did not happen, n_insn when all did. */
static uint32_t first_missing(const struct vcpu *v, const struct sim_block *b)
{
	uint32_t from = 0;

	if (v->mem_at > v->mem)
		from = (uint32_t)(v->mem_at[-1] >> 4 & 0xfff) + 1;
	for (uint32_t i = from; i < b->n_insn; i++)
		if (b->insn[i].flags & SIM_F_MEM && b->insn[i].cls != SIM_C_SLOW)
			return i;
	return b->n_insn;
}

bool plugin_is_handler(uint64_t ip)
{
	for (unsigned i = 0; i < plugin.n_handlers; i++)
		if (plugin.handler[i] == ip)
			return true;
	return false;
}

static uint64_t rep_ip_of(const struct sim_block *b)
{
	return b->is_rep ? b->last_ip : 0;
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
		return !plugin_is_handler(ip);
	}
}

/* Only counting, and no fault can be survived: what happens within a block is of no interest. */
bool plugin_watches_memory(void)
{
	return plugin.core || plugin.faults;
}

/*
 * How many instructions of the block ran.  All, unless it was left by a
 * fault (the next block is a signal handler's) or the emulator had to start
 * over from the middle (a store into the block's own code).
 */
static uint32_t insns_run(const struct vcpu *v, const struct sim_block *b, uint64_t next_ip)
{
	if (!plugin_watches_memory() || is_successor(b, next_ip))
		return b->n_insn;
	for (uint32_t i = 1; i < b->n_insn; i++)
		if (b->ip + b->insn[i].ip_off == next_ip && first_missing(v, b) <= i)
			return i;
	return first_missing(v, b);
}

/* What else there is to count of a run that is over: where it was left. */
static void count_end(const struct sim_block *b, uint32_t n, uint64_t next_ip)
{
	if (n == b->n_insn && b->is_rep && next_ip == rep_ip_of(b) && b->id < plugin.counts.head->max_blocks)
		__atomic_add_fetch(&plugin.counts.again[b->id], 1, __ATOMIC_RELAXED);
	if (n == b->n_insn)
		return;
	pthread_mutex_lock(&plugin.lock);
	counts_left(&plugin.counts, b, n);
	pthread_mutex_unlock(&plugin.lock);
}

/* The block before is over: the program went on at next_ip. */
static void finish(struct vcpu *v, uint64_t next_ip)
{
	const struct sim_block *b = &v->code->block;
	uint32_t n = insns_run(v, b, next_ip);

	if (plugin.config.counting)
		count_end(b, n, next_ip);
	v->calls.n_insn += n - (n == b->n_insn && b->is_rep && next_ip == rep_ip_of(b));
	if (v->core)
		plugin_ran(v, n, next_ip);
	v->syscall = -1;
	v->code = NULL;
	v->mem_at = v->mem;
}

/* Nothing follows: the thread ends, or waits for what comes. */
void plugin_finish_last(struct vcpu *v)
{
	if (v->code)
		finish(v, v->code->block.end_ip);
	plugin_settle(v);
}

/* ---- callbacks while the program runs ---- */

/* First block of a thread, in that thread. */
void plugin_begin(struct vcpu *v)
{
	v->tid = (uint32_t)syscall(SYS_gettid);
	pthread_mutex_lock(&plugin.lock);
	if (plugin.begun) {
		plugin_send_task(v, plugin.sender.pid);
	} else {
		plugin.begun = true;
		plugin_send_hello(v, plugin.by_exec);
		plugin_send_first_comm(v);
		for (size_t i = 0; i < plugin.guest.maps.n; i++)
			if (plugin.guest.maps.v[i].prot & PROT_EXEC)
				plugin_send_map(v, &plugin.guest.maps.v[i]);
	}
	pthread_mutex_unlock(&plugin.lock);
}

/* A handler begins where the program had not to go.  Called through a pointer it is a function as any other. */
static bool is_signal(const struct sim_block *b, uint64_t ip)
{
	return plugin_is_handler(ip) && b->exit != SIM_X_CALL_IND && !is_successor(b, ip);
}

static __attribute__((noinline)) void block_slowly(struct vcpu *v, struct sim_code *c)
{
	const struct sim_code *before = v->code;

	if (before)
		finish(v, c->block.ip);
	else if (!v->tid)
		plugin_begin(v);
	if (plugin.config.calls && before && is_signal(&before->block, c->block.ip))
		calls_signal(&v->calls, &c->place);
	else if (plugin.config.calls && (before || !v->calls.frames.n))
		calls_step(&v->calls, before ? (enum sim_exit)before->block.exit : SIM_X_NONE,
		           before ? before->block.end_ip : 0, c->block.ip, &c->place);
	if (plugin.config.counting)
		count_run(v, c->block.id);
	v->code = c;
}

/* The program went on at ip as it nearly always does: from the end of the block to where its branch leads. */
static inline bool goes_on(const struct sim_block *b, uint64_t ip)
{
	if (b->exit == SIM_X_NONE)
		return ip == b->end_ip;
	if (b->exit <= SIM_X_JUMP || b->exit == SIM_X_CALL)
		return ip == b->target || (b->exit == SIM_X_COND && ip == b->end_ip);
	return !plugin_is_handler(ip);
}

/* What all of block_slowly comes to for most blocks; it stands apart for this to need no stack. */
static void on_block(unsigned index, void *user)
{
	struct vcpu *v = plugin.vcpu[index];
	struct sim_code *c = user;

	if (v->only_timed && v->code && v->syscall < 0 && v->ran_at + 1 < v->ran_due &&
	    v->mem_at < v->mem_due && goes_on(&v->code->block, c->block.ip)) {
		plugin_note_ran(v, v->code->block.n_insn, c->block.ip);
		v->code = c;
		return;
	}
	block_slowly(v, c);
}

/*
 * What is known of an access before it happens, without a place in memory that would have to be read for it: SIM_MEM
 * without address, and above it the bits of SIM_MEM that the emulator's description decides.  Which way it goes need
 * only be asked where the instruction both loads and stores.
 */
static void *site_of(unsigned flags, size_t index)
{
	uint64_t asked = (flags & SIM_F_MEM) == SIM_F_MEM ? SIM_MEM(0, 0, 7, 1) : SIM_MEM(0, 0, 7, 0);
	uint64_t known = SIM_MEM(0, index, 0, (flags & SIM_F_MEM) == SIM_F_STORE);
	uintptr_t bits = (uintptr_t)(asked << 16 | known);

	return (void *)bits; /* NOLINT(performance-no-int-to-ptr): never read through */
}

/*
 * The emulator's descriptions of accesses, which are few, and what each says: description << 32 | SIM_MEM of size and
 * direction alone.  An entry without one has all bits set.
 */
static uint64_t described[64];

static uint64_t *described_at(qemu_plugin_meminfo_t info)
{
	return &described[(info >> 4 ^ info >> 12) % (sizeof(described) / sizeof(described[0]))];
}

/* An access of vcpu v, of what `known` says of its size and direction. */
static inline void note_access(struct vcpu *v, uint64_t known, uint64_t vaddr, const void *site)
{
	if (v->mem_at < v->mem_end)
		*v->mem_at++ = vaddr << 16 | (known & (uintptr_t)site >> 16) | ((uintptr_t)site & 0xffff);
}

/* Apart, for the other way to need no stack. */
static __attribute__((noinline)) void on_new_access(unsigned index, qemu_plugin_meminfo_t info,
                                                    uint64_t vaddr, const void *site)
{
	uint64_t known = (uint64_t)info << 32 |
	                 SIM_MEM(0, 0, qemu_plugin_mem_size_shift(info), qemu_plugin_mem_is_store(info));

	__atomic_store_n(described_at(info), known, __ATOMIC_RELAXED);
	note_access(plugin.vcpu[index], known, vaddr, site);
}

static void on_access(unsigned index, qemu_plugin_meminfo_t info, uint64_t vaddr, void *user)
{
	uint64_t known = __atomic_load_n(described_at(info), __ATOMIC_RELAXED);

	if (__builtin_expect(known >> 32 != info, 0))
		on_new_access(index, info, vaddr, user);
	else
		note_access(plugin.vcpu[index], known, vaddr, user);
}

/*
 * Inline way: a block that ends in a rep instruction ran.  It is one more
 * step of the same execution when nothing has run behind the instruction
 * since the step before.
 */
static void on_rep(unsigned index, void *user)
{
	struct sim_code *c = user;
	uint64_t ip = rep_ip_of(&c->block), left = 0, max = plugin.counts.head->max_blocks;

	(void)index;
	for (struct sim_code *b = sim_blocks_at(&plugin.blocks, c->block.end_ip); b; b = sim_blocks_next(b))
		left += b->block.id < max ? plugin.counts.runs[b->block.id] : 0;
	if (c->block.ip == ip && plugin.rep_ip == ip && plugin.rep_left == left && c->block.id < max)
		plugin.counts.again[c->block.id]++;
	plugin.rep_ip = ip;
	plugin.rep_left = left;
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

		sim_decode(plugin.other_decoder, qemu_plugin_insn_data(insn), qemu_plugin_insn_size(insn),
		           qemu_plugin_insn_vaddr(insn), b, (uint32_t)i);
	}
	sim_decode_finish(plugin.other_decoder, b);
	sim_native_make(plugin.other_native, b);
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
	if (plugin.config.counting && plugin.config.calls)
		c->place = plugin_place(c->file, c->off);
	for (size_t i = 0; i < n; i++) {
		const struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);

		sim_decode(plugin.decoder, qemu_plugin_insn_data(insn), qemu_plugin_insn_size(insn),
		           qemu_plugin_insn_vaddr(insn), &c->block, (uint32_t)i);
	}
	sim_decode_finish(plugin.decoder, &c->block);
	sim_native_make(plugin.native, &c->block);
	if ((plugin.other_decoder && decode_other(tb, n, c) < 0) || sim_blocks_add(&plugin.blocks, c) < 0) {
		sim_code_free(c);
		return NULL;
	}
	if (c->other)
		c->other->id = c->block.id;
	if (plugin.config.counting)
		counts_add(&plugin.counts, &c->block, c->file, c->off);
	return c;
}

/* Which place of which file this is: another library may be mapped where one was before. */
static void find_place(uint64_t ip, struct sim_code *out)
{
	const struct guest_map *m = guest_find(&plugin.guest, ip);

	out->file = COUNTS_NO_FILE;
	out->off = ip;
	if (!m || m->path[0] != '/' || m->path[1] == '/' || !plugin.config.counting)
		return;
	out->file = counts_file(&plugin.counts, m->path);
	out->off = m->pgoff_bytes + ip - m->ip;
}

static struct sim_code *find_block(const struct qemu_plugin_tb *tb, size_t n)
{
	struct sim_code key = { .hash = hash_code(tb, n) };

	find_place(qemu_plugin_tb_vaddr(tb), &key);
	for (struct sim_code *c = sim_blocks_at(&plugin.blocks, qemu_plugin_tb_vaddr(tb)); c;
	     c = sim_blocks_next(c))
		if (c->hash == key.hash && c->block.n_insn == n && c->file == key.file && c->off == key.off)
			return c;
	return decode_block(tb, n, &key);
}

/* Where the emulator adds 1 for each run. */
static uint64_t *inline_count(const struct sim_block *b)
{
	return b->id < plugin.counts.head->max_blocks ? &plugin.counts.runs[b->id]
	                                              : &plugin.counts.head->unused;
}

/* QEMU 7.2 does not heed the direction it is asked for, so that can't tell loads from stores. */
static void watch_insn(const struct sim_code *c, struct qemu_plugin_insn *insn, size_t index)
{
	qemu_plugin_register_vcpu_mem_cb(insn, on_access, QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_RW,
	                                 site_of(c->block.insn[index].flags, index));
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

	if (plugin.nr == plugin_numbers(false) && n > 1 &&
	    at / GUEST_PAGE != (at + MAX_INSN_BYTES - 1) / GUEST_PAGE &&
	    !sim_decode_length(plugin.decoder, qemu_plugin_insn_data(last), qemu_plugin_insn_size(last)))
		n--;
	return n;
}

static void on_translate(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	size_t n;
	struct qemu_plugin_insn *first = qemu_plugin_tb_get_insn(tb, 0);
	struct sim_code *c;

	(void)id;
	pthread_mutex_lock(&plugin.lock);
	if (!plugin.scanned) {
		plugin.guest.base =
		        (uint64_t)(uintptr_t)qemu_plugin_insn_haddr(first) - qemu_plugin_insn_vaddr(first);
		guest_scan(&plugin.guest);
		plugin.scanned = true;
	}
	n = count_insns(tb);
	c = find_block(tb, n);
	pthread_mutex_unlock(&plugin.lock);
	if (!c)
		return;
	if (!plugin.followed && !plugin.config.counting)
		return;
	if (!plugin.followed) {
		qemu_plugin_register_vcpu_tb_exec_inline(tb, QEMU_PLUGIN_INLINE_ADD_U64,
		                                         inline_count(&c->block), 1);
		if (c->block.is_rep)
			qemu_plugin_register_vcpu_tb_exec_cb(tb, on_rep, QEMU_PLUGIN_CB_NO_REGS, c);
		return;
	}
	qemu_plugin_register_vcpu_tb_exec_cb(tb, on_block, QEMU_PLUGIN_CB_NO_REGS, c);
	for (size_t i = 0; plugin_watches_memory() && i < n; i++)
		if (c->block.insn[i].flags & SIM_F_MEM)
			watch_insn(c, qemu_plugin_tb_get_insn(tb, i), i);
}

void plugin_register_callbacks(qemu_plugin_id_t id)
{
	qemu_plugin_register_vcpu_init_cb(id, plugin_on_vcpu_init);
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translate);
	qemu_plugin_register_vcpu_syscall_cb(id, plugin_on_syscall);
	qemu_plugin_register_vcpu_syscall_ret_cb(id, plugin_on_syscall_ret);
	qemu_plugin_register_atexit_cb(id, plugin_on_exit_process, NULL);
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
	if (fd < 0 || sender_init(&plugin.sender, fd) < 0)
		return -1;
	fcntl(fd, F_SETFD, FD_CLOEXEC);
	memset(described, 0xff, sizeof(described));
	pthread_mutex_init(&plugin.lock, NULL);
	if (plugin_set_up(info, fd, config_fd) < 0) {
		plugin_warn(NULL, sp_error_text());
		return -1;
	}
	plugin.id = id;
	plugin_register_callbacks(id);
	return 0;
}
