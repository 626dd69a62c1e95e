/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/sim/counts.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "profiler/base/err.h"

enum {
	MAX_BLOCKS = 1 << 24,
	MIN_BLOCKS = 1 << 16,
	HEAD_BYTES = 1 << 12,
	FILES_BYTES = 1 << 22,
	/* Room in the sparse file, for a block: some four times what programs' blocks take on average. */
	CODE_EACH = 256,
	EXTRA_EACH = 64,
	CALLS_EACH = 64,
	/* Slots for 128 threads that each run all blocks there can be. */
	SLOT_EACH = 128 * 8,
};

void counts_layout(uint64_t max_blocks, struct counts_layout *out)
{
	uint64_t at = HEAD_BYTES;

	out->files = at;
	out->runs = at += FILES_BYTES;
	out->again = at += max_blocks * sizeof(uint64_t);
	out->left = at += max_blocks * sizeof(uint64_t);
	out->missed = at += max_blocks * sizeof(uint64_t);
	out->code = at += max_blocks * sizeof(uint64_t);
	out->extra = at += max_blocks * CODE_EACH;
	out->calls = at += max_blocks * EXTRA_EACH;
	out->slots = at += max_blocks * CALLS_EACH;
	out->end = at + max_blocks * SLOT_EACH;
}

size_t counts_block_bytes(uint32_t n_insn)
{
	return (sizeof(struct counts_block) + n_insn * sizeof(uint16_t) + 7) & ~(size_t)7;
}

/* A file as large as that, for which a limit (ulimit -f) would send a signal. */
static bool file_may_have(uint64_t bytes)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_FSIZE, &limit) < 0 || limit.rlim_cur >= bytes;
}

/* A sparse file of that size; -1: none. */
static int make_file(uint64_t bytes)
{
	int fd = file_may_have(bytes) ? memfd_create("skidprof counts", MFD_CLOEXEC) : -1;

	if (fd < 0 || ftruncate(fd, (off_t)bytes) == 0)
		return fd;
	close(fd);
	return -1;
}

int counts_new(struct counts *c, int *fd)
{
	memset(c, 0, sizeof(*c));
	/* Address space may be limited (ulimit -v): less of it will do for most programs. */
	for (uint64_t max = MAX_BLOCKS; max >= MIN_BLOCKS; max /= 4) {
		void *p;

		counts_layout(max, &c->at);
		*fd = make_file(c->at.end);
		if (*fd < 0)
			continue;
		p = mmap(NULL, c->at.end, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, *fd, 0);
		if (p == MAP_FAILED) {
			close(*fd);
			continue;
		}
		c->base = p;
		c->head = p;
		*c->head = c->own = (struct counts_head){ COUNTS_MAGIC, COUNTS_VERSION, .max_blocks = max };
		c->runs = (uint64_t *)(c->base + c->at.runs);
		c->again = (uint64_t *)(c->base + c->at.again);
		return 0;
	}
	return sp_fail(SP_ENOMEM,
	               "no room for the exact counts; is memory limited (ulimit -v) or the size of "
	               "files (ulimit -f)?");
}

static bool write_all(int fd, const void *from, size_t n, uint64_t to)
{
	const uint8_t *p = from;

	while (n) {
		ssize_t done = pwrite(fd, p, n, (off_t)to);

		if (done <= 0)
			return false;
		p += done;
		to += (uint64_t)done;
		n -= (size_t)done;
	}
	return true;
}

/* What stands at our addresses from now on: fd's, or with -1 memory of this process alone. */
static bool map_again(struct counts *c, int fd)
{
	int flags = MAP_NORESERVE | MAP_FIXED | (fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED);
	void *p = mmap(c->base, c->at.end, PROT_READ | PROT_WRITE, flags, fd, 0);

	if (p == MAP_FAILED)
		return false;
	c->base = p;
	return true;
}

int counts_renew(struct counts *c, int *fd)
{
	c->own.n_slots = c->own.extra_used = c->own.n_calls = c->own.n_returns = c->own.n_lost_returns =
	        c->own.n_switches = 0;
	c->own.calls_whole = 0;
	c->no_calls = false;
	vec_fini(&c->free);
	*fd = make_file(c->at.end);
	if (*fd >= 0 && write_all(*fd, &c->own, sizeof(c->own), 0) &&
	    write_all(*fd, c->base + c->at.files, c->own.files_used, c->at.files) &&
	    write_all(*fd, c->base + c->at.code, c->own.code_used, c->at.code) && map_again(c, *fd))
		return 0;
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
	/* The parent's must not be added to. */
	if (!map_again(c, -1))
		abort();
	*c->head = c->own;
	return sp_fail(SP_ENOMEM, "out of memory for the exact counts of a child process");
}

static void no_room(struct counts *c)
{
	c->own.full = c->head->full = 1;
}

uint32_t counts_file(struct counts *c, const char *path)
{
	char *files = (char *)c->base + c->at.files, *at = files;
	size_t n = strlen(path) + 1;

	for (uint32_t i = 0; i < c->own.n_files; i++, at += strlen(at) + 1)
		if (strcmp(at, path) == 0)
			return COUNTS_FIRST_FILE + i;
	if (c->own.files_used + n > FILES_BYTES) {
		no_room(c);
		return COUNTS_NO_FILE;
	}
	memcpy(files + c->own.files_used, path, n);
	c->own.files_used += n;
	c->own.n_files++;
	__atomic_store_n(&c->head->n_files, c->own.n_files, __ATOMIC_RELEASE);
	return COUNTS_FIRST_FILE + c->own.n_files - 1;
}

const char *counts_path(const struct counts *c, uint32_t file)
{
	const char *at = (const char *)c->base + c->at.files;

	if (file < COUNTS_FIRST_FILE || file - COUNTS_FIRST_FILE >= c->own.n_files)
		return NULL;
	for (uint32_t i = COUNTS_FIRST_FILE; i < file; i++)
		at += strlen(at) + 1;
	return at;
}

void counts_add(struct counts *c, const struct sim_block *b, uint32_t file, uint64_t off)
{
	size_t bytes = counts_block_bytes(b->n_insn);
	struct counts_block *out = (struct counts_block *)(c->base + c->at.code + c->own.code_used);

	if (b->id != c->own.n_blocks || b->id >= c->own.max_blocks ||
	    c->own.code_used + bytes > c->at.extra - c->at.code) {
		no_room(c);
		return;
	}
	out->off = off;
	out->file = file;
	out->n_insn = b->n_insn;
	for (uint32_t i = 0; i < b->n_insn; i++)
		out->insn[i] = (uint16_t)(b->insn[i].ip_off |
		                          (b->insn[i].events >> SIM_LOADS & 1 ? COUNTS_LOADS : 0));
	c->own.code_used += bytes;
	c->own.n_blocks++;
	__atomic_store_n(&c->head->n_blocks, c->own.n_blocks, __ATOMIC_RELEASE);
}

struct counts_slot *counts_slot_get(struct counts *c, uint64_t chunk)
{
	struct counts_slot *slot;

	for (size_t i = 0; i < c->free.n; i++) {
		slot = c->free.v[i];
		if (slot->chunk != chunk)
			continue;
		c->free.v[i] = c->free.v[--c->free.n];
		return slot;
	}
	if ((c->own.n_slots + 1) * sizeof(*slot) > c->at.end - c->at.slots) {
		no_room(c);
		return NULL;
	}
	slot = (struct counts_slot *)(c->base + c->at.slots) + c->own.n_slots++;
	slot->chunk = chunk;
	__atomic_store_n(&c->head->n_slots, c->own.n_slots, __ATOMIC_RELEASE);
	return slot;
}

void counts_slot_put(struct counts *c, struct counts_slot *slot)
{
	/* Without memory for the list the slot stays as it is: read, and never added to again. */
	if (vec_push(&c->free, slot) < 0)
		return;
}

static void add_at(struct counts *c, uint64_t index, const struct sim_block *b, uint32_t i)
{
	uint64_t *at = (uint64_t *)(c->base + index) + b->id, bytes = b->n_insn * sizeof(uint64_t);

	if (b->id >= c->own.n_blocks)
		return;
	/* What lies behind is another block's: a fault of the caller's must be seen and not counted there. */
	if (i >= b->n_insn) {
		c->own.broken = c->head->broken = 1;
		return;
	}
	if (!*at) {
		if (c->own.extra_used + bytes > c->at.calls - c->at.extra) {
			no_room(c);
			return;
		}
		*at = c->at.extra + c->own.extra_used;
		c->own.extra_used += bytes;
	}
	((uint64_t *)(c->base + *at))[i]++;
}

void counts_left(struct counts *c, const struct sim_block *b, uint32_t index)
{
	add_at(c, c->at.left, b, index);
}

void counts_missed(struct counts *c, const struct sim_block *b, uint32_t index)
{
	add_at(c, c->at.missed, b, index);
}

void counts_call(struct counts *c, const struct counts_call *call)
{
	struct counts_call *to = (struct counts_call *)(c->base + c->at.calls) + c->own.n_calls;

	if ((c->own.n_calls + 1) * sizeof(*to) > c->at.slots - c->at.calls) {
		c->no_calls = true;
		return;
	}
	*to = *call;
	c->own.n_calls++;
	__atomic_store_n(&c->head->n_calls, c->own.n_calls, __ATOMIC_RELEASE);
}

void counts_stacks(struct counts *c, uint64_t n_returns, uint64_t n_lost, uint64_t n_switches)
{
	c->head->n_returns = c->own.n_returns += n_returns;
	c->head->n_switches = c->own.n_switches += n_switches;
	c->head->n_lost_returns = c->own.n_lost_returns += n_lost;
}

void counts_calls_end(struct counts *c)
{
	if (!c->no_calls)
		__atomic_store_n(&c->head->calls_whole, 1, __ATOMIC_RELEASE);
}
