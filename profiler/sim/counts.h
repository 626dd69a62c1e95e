/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_SIM_COUNTS_H
#define SKIDPROF_SIM_COUNTS_H

/*
 * Exact counts, in memory that the recorder shares (profiler/pmu/image.c reads
 * it): whatever ends the program, a signal from outside or a fault of the
 * emulator's own among it, what ran until then is there.
 *
 * One sparse file for each process image, told to the recorder with
 * WIRE_HELLO; a child of fork and a program begun by exec have their own.
 * Nothing in it is ever reset and no number is moved, so it can be read at any
 * time.  It has, one behind the other:
 *
 *   head    struct counts_head
 *   files   paths of mapped files, each with its end, numbered from 1
 *   runs    u64[max_blocks]  the emulator adds here while one thread runs
 *   again   u64[max_blocks]  runs that did not finish the rep instruction at the end
 *   left    u64[max_blocks]  0, or where u64[n_insn] stand: runs that left before instruction i
 *   missed  u64[max_blocks]  0, or where u64[n_insn] stand: runs in which a load of instruction i missed
 *   code    struct counts_block, one a block, by id
 *   extra   what left and missed point to, as offsets in the file
 *   calls   struct counts_call: what threads that have ended called
 *   slots   struct counts_slot: runs of blocks in one thread.  A thread takes those it needs; when it
 *           has ended the next one goes on adding to them.
 *
 * A block's runs are its `runs` and those of all slots.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profiler/base/vec.h"
#include "profiler/sim/block.h"

enum {
	COUNTS_MAGIC = 0x736b6370, /* "skcp" */
	COUNTS_VERSION = 3,
	COUNTS_CHUNK = 1 << 12, /* blocks of one slot */
	COUNTS_LOADS = 1 << 15, /* of counts_block.insn: it is a load */
	COUNTS_NO_FILE = 0,     /* code outside any file: made at run time */
	COUNTS_FIRST_FILE = 1,
};

struct counts_head {
	uint32_t magic, version;
	uint64_t max_blocks;
	uint64_t n_blocks, n_slots; /* whole ones */
	uint64_t files_used, code_used, extra_used;
	uint64_t n_calls; /* whole ones */
	uint64_t n_returns,
	        n_lost_returns; /* of all threads that are among them; lost: to where nobody had called from */
	uint64_t n_switches;    /* of stacks, by those threads */
	uint32_t n_files;
	uint32_t full;        /* something found no room: the counts are not complete */
	uint32_t broken;      /* something was to be counted of an instruction that is none */
	uint32_t calls_whole; /* the process has ended, and all its calls are there */
	uint64_t unused;      /* what is not counted is added here */
};

struct counts_block {
	uint64_t off; /* in the file; outside a file, the address */
	uint32_t file, n_insn;
	uint16_t insn
	        []; /* its distance from the block's start, and COUNTS_LOADS; then up to a multiple of 8 bytes */
};

struct counts_slot {
	uint64_t chunk; /* blocks from chunk * COUNTS_CHUNK on */
	uint64_t runs[COUNTS_CHUNK];
};

/* Calls of one function by another: where they begin, as counts_block has it. */
struct counts_call {
	uint32_t caller_file, callee_file;
	uint64_t caller_off, callee_off;
	uint64_t n, n_insn;   /* with all that was called, once where it calls itself */
	uint32_t begins, pad; /* 1: nobody called, a thread begins */
};

/* Where the parts begin. */
struct counts_layout {
	uint64_t files, runs, again, left, missed, code, extra, calls, slots, end;
};
void counts_layout(uint64_t max_blocks, struct counts_layout *out);

/* Bytes of a block's record. */
size_t counts_block_bytes(uint32_t n_insn);

/* The plugin's side. */
struct counts {
	uint8_t *base;                 /* NULL: nothing is counted */
	struct counts_head *head, own; /* own: as it is here; the parent of a fork goes on changing *head */
	struct counts_layout at;
	uint64_t *runs, *again;
	VEC(struct counts_slot *) free; /* slots whose thread has ended */
	bool no_calls;                  /* some of them are not there */
};

/*
 * Map a new file.
 * fd  out: the file, for the recorder; the caller closes it.
 * -SP_ENOMEM where there is no address space for even a small one.
 */
int counts_new(struct counts *c, int *fd);

/*
 * In the child of a fork: a file of its own at the same addresses, with the
 * same files and blocks, all counts zero.  Every slot is gone.
 * -SP_ENOMEM where it can't have one; it counts on then for nobody to see.
 */
int counts_renew(struct counts *c, int *fd);

/* The number of a mapped file, COUNTS_NO_FILE without room. */
uint32_t counts_file(struct counts *c, const char *path);

/* The path of a file by its number; NULL: it is none. */
const char *counts_path(const struct counts *c, uint32_t file);

/* Describe the next block; its id is the number of blocks before.  Without room it is not counted, and head->full says so. */
void counts_add(struct counts *c, const struct sim_block *b, uint32_t file, uint64_t off);

/* What one function called of another.  Without room head->calls_whole will not be set. */
void counts_call(struct counts *c, const struct counts_call *call);
/* The returns of a thread that has ended. */
void counts_stacks(struct counts *c, uint64_t n_returns, uint64_t n_lost, uint64_t n_switches);
/* The process has ended: calls are complete. */
void counts_calls_end(struct counts *c);

/* A slot of a thread for blocks of that chunk; NULL without room. */
struct counts_slot *counts_slot_get(struct counts *c, uint64_t chunk);
void counts_slot_put(struct counts *c, struct counts_slot *slot);

/* A run of block b left before instruction `index`; a load of it missed.  Under a lock of the caller's. */
void counts_left(struct counts *c, const struct sim_block *b, uint32_t index);
void counts_missed(struct counts *c, const struct sim_block *b, uint32_t index);

#endif
