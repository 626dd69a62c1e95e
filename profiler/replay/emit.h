/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_REPLAY_EMIT_H
#define SKIDPROF_REPLAY_EMIT_H

/*
 * A block of the program becomes code that can run here: straight code from
 * one address up to the first branch that is always taken, or up to an
 * instruction that must be done in C.  Instructions are copied; one that names
 * memory looks its page up in a table first (layout.h) and then names the
 * copy.  Every way out says which it was.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profiler/replay/layout.h"

enum rp_exit_kind {
	RP_EXIT_NEXT,   /* straight on to `to` */
	RP_EXIT_TAKEN,  /* the branch at ip was taken, to `to` */
	RP_EXIT_AT,     /* the same, to where only the processor knew (machine_went_to()) */
	RP_EXIT_OP,     /* the instruction at ip is to be done in C */
	RP_EXIT_ACCESS, /* no way out: an access, for the case that it misses */
};

struct rp_exit {
	uint64_t from; /* where its block begins */
	uint64_t ip, to;
	uint32_t
	        chain; /* offset of the jump that leads on to the next block, once it is known; 0 = there is none */
	uint16_t n_insns; /* done when this way is taken */
	uint8_t kind;     /* enum rp_exit_kind */
	/* Of an access. */
	uint8_t x, y, z; /* registers that it borrows: beside rax x and y; of aarch64 all three */
	bool write;
	bool flags_kept; /* aside, from before it; else nobody needs them */
	uint16_t bytes;
};

/* Code and exits, appended to till there is no more room. */
struct rp_emitter {
	uint8_t *code; /* RP_CODE_BYTES, where it can be written ... */
	uint32_t at;   /* ... and where it runs */
	/*
	 * Its ways out count themselves (RP_COUNTS) and their instructions, and may be made to lead on to the next block
	 * without C.  Every now and then, when the fuel is used up, they come out all the same.
	 */
	bool chains;
	size_t n_code;
	struct rp_exit *exits;
	size_t n_exits;
};

enum {
	RP_MAX_EXITS = 1 << 18,
	RP_MAX_BLOCK_INSNS = 64,
	/* No block is longer, whatever is in it. */
	RP_MAX_BLOCK_CODE = 32768,
	RP_MAX_BLOCK_EXITS = 3 * RP_MAX_BLOCK_INSNS,
};

static inline bool rp_emitter_is_full(const struct rp_emitter *e)
{
	return e->n_code + RP_MAX_BLOCK_CODE > RP_CODE_BYTES ||
	       e->n_exits + RP_MAX_BLOCK_EXITS > RP_MAX_EXITS;
}

#endif
