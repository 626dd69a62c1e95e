/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/replay/blocks.h"

#include <string.h>

#include "profiler/replay/machine.h"
#include "profiler/replay/pages.h"
#include "profiler/replay/system.h"

enum {
	N_BLOCKS = 1 << 16,
	N_CODE_PAGES = 2048,
	AHEAD_BYTES = 1 << 19, /* of each kind, more than a path's blocks take as a rule */
	MOST_BYTES = RP_MAX_BLOCK_INSNS * MACHINE_INSN_BYTES, /* of a block */
	NONE = 0xffffffff,
};

struct code_page {
	uint64_t at;
	uint32_t epoch;      /* the replay that looked at it last */
	uint32_t generation; /* counts its changes */
	uint8_t bytes[RP_PAGE];
};

/* In the number of a block of RP_BLOCKS_FAST. */
#define FAST (1ull << 62)

struct block {
	uint64_t ip;    /* or that with FAST */
	uint32_t code;  /* offset */
	uint32_t epoch; /* the replay that found it as it was */
	uint32_t pages[2],
	        generations
	                [2]; /* code pages it was made of; the second is the first one where there is none */
};

static struct blocks {
	struct rp_emitter emitter, fast;
	uint32_t epoch, n_pages, n_blocks, n_translated;
	enum rp_blocks kind;
	bool full; /* there was no room for another fast one */
	const uint64_t *stops;
	size_t n_stops;
	struct code_page pages[N_CODE_PAGES];
	uint32_t page_slots[2 * N_CODE_PAGES]; /* 1 + page, 0 = none */
	struct block blocks[N_BLOCKS];
	uint32_t block_slots[2 * N_BLOCKS];
} b;

static struct rp_exit exits[2][RP_MAX_EXITS];

/* A page that is touched first is dear.  Returns up to where that is done now. */
static size_t touch(volatile uint8_t *at, size_t from, size_t to)
{
	for (; from < to; from += RP_PAGE) {
		uint8_t as_it_is = at[from];

		at[from] = as_it_is;
	}
	return from;
}

static size_t least(size_t x, size_t y)
{
	return x < y ? x : y;
}

void rp_blocks_make_room(void)
{
	static size_t code, exit, pages, blocks;
	size_t run = code;

	code = touch(b.emitter.code, code, least(b.emitter.n_code + AHEAD_BYTES, RP_CODE_BYTES));
	for (; run < code; run += RP_PAGE)
		(void)*(volatile const uint8_t *)(uintptr_t)(RP_AT_CODE +
		                                             run); // NOLINT(performance-no-int-to-ptr)
	exit = touch((uint8_t *)exits[0], exit,
	             least(b.emitter.n_exits * sizeof(exits[0][0]) + AHEAD_BYTES, sizeof(exits[0])));
	pages = touch((uint8_t *)b.pages, pages,
	              least(b.n_pages * sizeof(b.pages[0]) + AHEAD_BYTES, sizeof(b.pages)));
	blocks = touch((uint8_t *)b.blocks, blocks,
	               least(b.n_blocks * sizeof(b.blocks[0]) + AHEAD_BYTES, sizeof(b.blocks)));
}

void rp_blocks_init(uint8_t *code)
{
	b.emitter = (struct rp_emitter){ .code = code, .at = RP_AT_CODE, .exits = exits[0] };
	b.fast = (struct rp_emitter){
		.code = code + RP_CODE_BYTES, .at = RP_AT_FAST, .exits = exits[1], .chains = MACHINE_CHAINS
	};
	rp_populate(b.page_slots, sizeof(b.page_slots));
	rp_populate(b.block_slots, sizeof(b.block_slots));
	rp_blocks_make_room();
}

static uint64_t hash(uint64_t x)
{
	return x * 0x9e3779b97f4a7c15u >> 32;
}

/* The page's slot, or the empty one where it goes. */
static uint32_t *page_slot(uint64_t at)
{
	for (uint64_t h = hash(at);; h++) {
		uint32_t *s = &b.page_slots[h % (2 * N_CODE_PAGES)];

		if (!*s || b.pages[*s - 1].at == at)
			return s;
	}
}

static uint32_t *block_slot(uint64_t ip)
{
	for (uint64_t h = hash(ip);; h++) {
		uint32_t *s = &b.block_slots[h % (2 * N_BLOCKS)];

		if (!*s || b.blocks[*s - 1].ip == ip)
			return s;
	}
}

/* Last in, first out: what was put in later never stands in the way of what was there before. */
static void forget(void)
{
	while (b.n_blocks) {
		*block_slot(b.blocks[b.n_blocks - 1].ip) = 0;
		b.n_blocks--;
	}
	while (b.n_pages) {
		*page_slot(b.pages[b.n_pages - 1].at) = 0;
		b.n_pages--;
	}
	b.emitter.n_code = b.emitter.n_exits = 0;
}

void rp_blocks_begin(enum rp_blocks kind)
{
	/* Fast ones can't make room while they run. */
	if (kind == RP_BLOCKS_SINGLE || b.kind == RP_BLOCKS_SINGLE ||
	    (kind == RP_BLOCKS_FAST &&
	     (b.n_blocks > N_BLOCKS / 2 || b.n_pages > N_CODE_PAGES / 2 || rp_emitter_is_full(&b.emitter))))
		forget();
	b.kind = kind;
	b.epoch++;
	b.n_translated = 0;
	b.n_stops = 0;
	b.full = false;
	b.fast.n_code = b.fast.n_exits = 0;
	if (kind == RP_BLOCKS_FAST)
		machine_forget_targets();
}

void rp_blocks_stop_at(const uint64_t *stops, size_t n)
{
	b.stops = stops;
	b.n_stops = n;
}

/* The bytes as they are in this replay.  NONE where there are none. */
static uint32_t look_at_page(uint64_t at)
{
	uint32_t *slot = page_slot(at);
	struct code_page *p;
	const uint8_t *now;

	if (*slot && b.pages[*slot - 1].epoch == b.epoch)
		return *slot - 1;
	now = rp_page(at, RP_EXECUTE);
	if (!now)
		return NONE;
	if (!*slot) {
		p = &b.pages[b.n_pages];
		p->at = at;
		p->generation = 0;
		memcpy(p->bytes, now, RP_PAGE);
		*slot = ++b.n_pages;
	}
	p = &b.pages[*slot - 1];
	p->epoch = b.epoch;
	if (memcmp(p->bytes, now, RP_PAGE) != 0) {
		p->generation++;
		memcpy(p->bytes, now, RP_PAGE);
	}
	return *slot - 1;
}

static bool is_as_it_was(struct block *block)
{
	if (block->epoch == b.epoch)
		return true;
	for (unsigned k = 0; k < 2; k++) {
		uint32_t page = look_at_page(b.pages[block->pages[k]].at);

		if (page == NONE || b.pages[page].generation != block->generations[k])
			return false;
	}
	block->epoch = b.epoch;
	return true;
}

/* Bytes at ip up to the end of its page.  NULL where there are none. */
static const uint8_t *read_code(uint64_t ip, size_t *n, uint32_t pages[2])
{
	uint64_t off = ip % RP_PAGE;

	pages[0] = pages[1] = look_at_page(ip - off);
	*n = RP_PAGE - off;
	return pages[0] == NONE ? NULL : b.pages[pages[0]].bytes + off;
}

/* With those of the next page that an instruction may have. */
static const uint8_t *read_on(uint64_t ip, const uint8_t *code, size_t *n, uint32_t pages[2])
{
	static uint8_t both[MOST_BYTES + MACHINE_INSN_BYTES];
	uint32_t next = look_at_page((ip | (RP_PAGE - 1)) + 1);

	if (next == NONE)
		return code;
	pages[1] = next;
	memcpy(both, code, *n);
	memcpy(both + *n, b.pages[next].bytes, MACHINE_INSN_BYTES);
	*n += MACHINE_INSN_BYTES;
	return both;
}

/* Bytes from ip to the nearest stop behind it; 0 = there is none in the next n. */
static size_t bytes_to_stop(uint64_t ip, size_t n)
{
	size_t least = 0;

	for (size_t i = 0; i < b.n_stops; i++) {
		uint64_t off = b.stops[i] - ip;

		if (off && off < n && (!least || off < least))
			least = off;
	}
	return least;
}

static uint64_t translate(uint64_t ip, uint64_t key, struct rp_emitter *e)
{
	unsigned max_insns = b.kind == RP_BLOCKS_SINGLE ? 1 : RP_MAX_BLOCK_INSNS;
	uint32_t pages[2], *slot = block_slot(key);
	size_t n, most;
	const uint8_t *code = read_code(ip, &n, pages);
	struct block *block;

	if (!code)
		return 0;
	most = bytes_to_stop(ip, n);
	if (most)
		n = most;
	else if (n < MOST_BYTES && machine_ends_beyond(code, n, max_insns))
		code = read_on(ip, code, &n, pages);
	/* One that has changed takes its own place. */
	if (!*slot)
		*slot = ++b.n_blocks;
	block = &b.blocks[*slot - 1];
	block->ip = key;
	block->epoch = b.epoch;
	block->code = (uint32_t)e->n_code;
	for (unsigned k = 0; k < 2; k++) {
		block->pages[k] = pages[k];
		block->generations[k] = b.pages[pages[k]].generation;
	}
	machine_emit_block(e, ip, code, n, max_insns);
	machine_code_is_new(e, block->code);
	b.n_translated++;
	return e->at + block->code;
}

static bool is_full(const struct rp_emitter *e)
{
	return b.n_blocks == N_BLOCKS || b.n_pages + 2 > N_CODE_PAGES || rp_emitter_is_full(e);
}

static uint64_t fast_block_at(uint64_t ip)
{
	uint32_t slot = *block_slot(ip | FAST);

	if (slot && b.blocks[slot - 1].epoch == b.epoch)
		return RP_AT_FAST + b.blocks[slot - 1].code;
	b.full = is_full(&b.fast);
	return b.full ? 0 : translate(ip, ip | FAST, &b.fast);
}

uint64_t rp_block_at(uint64_t ip)
{
	uint32_t slot;

	if (b.kind == RP_BLOCKS_FAST)
		return fast_block_at(ip);
	slot = *block_slot(ip);
	if (slot && is_as_it_was(&b.blocks[slot - 1]))
		return RP_AT_CODE + b.blocks[slot - 1].code;
	/* The block that was just left is not needed any more. */
	if (is_full(&b.emitter))
		forget();
	return translate(ip, ip, &b.emitter);
}

uint32_t rp_blocks_why(uint64_t *at)
{
	return b.full ? RP_END_MUCH_CODE : rp_pages_why(at);
}

const struct rp_exit *rp_exit_at(uint32_t index)
{
	return &exits[b.kind == RP_BLOCKS_FAST][index < RP_MAX_EXITS ? index : 0];
}

uint32_t rp_n_exits(void)
{
	return (uint32_t)(b.kind == RP_BLOCKS_FAST ? b.fast.n_exits : b.emitter.n_exits);
}

uint64_t rp_blocks_guard(uint64_t ip, const struct rp_registers *const *marks, size_t n, uint64_t code)
{
	return rp_emitter_is_full(&b.fast) ? 0 : machine_emit_guard(&b.fast, ip, marks, n, code);
}

void rp_blocks_chain(const struct rp_exit *e, uint64_t code)
{
	machine_chain(&b.fast, e, code);
}

struct rp_emitter *rp_blocks_emitter(void)
{
	/* Blocks that run on are not to be forgotten: what is run once has a page's room more than they take. */
	if (b.kind != RP_BLOCKS_FAST && rp_emitter_is_full(&b.emitter))
		forget();
	return &b.emitter;
}

uint32_t rp_blocks_translated(void)
{
	return b.n_translated;
}
