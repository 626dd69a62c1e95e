/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_SIM_BLOCK_H
#define SKIDPROF_SIM_BLOCK_H

/*
 * A block of guest code as the core runs it: one compact record an
 * instruction, made once when the emulator translates the block.
 */
#include <stdint.h>

#include "profiler/sim/branch.h"
#include "profiler/sim/events.h"

/* Registers of either instruction set, numbered for the scoreboard. */
enum {
	SIM_R_READY = 0, /* never written: a source that is always there */
	SIM_R_INT = 1,   /* 32 of them */
	SIM_R_FLAGS = 33,
	SIM_R_VEC = 34, /* 32 of them */
	SIM_R_X87 = 66,
	SIM_R_SINK = 67, /* never read: a result nobody waits for */
	SIM_N_REGS = 68,
};

enum {
	SIM_F_LOAD = 1 << 0,
	SIM_F_STORE = 1 << 1,
	SIM_F_REP = 1 << 2,     /* one instruction, re-entered by the emulator for every step */
	SIM_F_UNIT = 1 << 3,    /* not pipelined */
	SIM_F_BREAK = 1 << 4,   /* breaks the dependence on what it computes from (xor of equals) */
	SIM_F_MANY = 1 << 5,    /* more than two sources or results */
	SIM_F_FUSES = 1 << 6,   /* with a conditional branch behind it, where the core does that */
	SIM_F_SUM = 1 << 7,     /* floating point: another sum has its result sooner than anything else */
	SIM_F_RENAMES = 1 << 8, /* loads or stores 4 or 8 bytes of integer registers */
	SIM_F_SCALED = 1 << 9,  /* the index of its address is scaled */
	SIM_F_FUSED = 1 << 10,  /* with the conditional branch behind it */
	SIM_F_MEM = SIM_F_LOAD | SIM_F_STORE,
};

/* Register files (at most one an instruction) and queues: places that are limited. */
enum { SIM_POOL_NONE, SIM_POOL_INT, SIM_POOL_FP, SIM_POOL_FLAGS, SIM_POOL_LOAD, SIM_POOL_STORE, SIM_N_POOLS };

enum { SIM_POOLS_ROOM = 8 }; /* SIM_N_POOLS, rounded up for vector additions */

enum {
	SIM_PAIRS = 16, /* of a load and a store that are known at a time: by eight bytes of code each */
	SIM_N_LIMITED = SIM_N_POOLS - SIM_POOL_INT,
	SIM_SLOT = 1000, /* of dispatch: what most instructions take */
	/* sim_insn.form of an access by the stack pointer: the address alone says which place it is. */
	SIM_FORM_STACK = 0xffff,
};

/* Where an instruction waits for its operands; what touches memory also waits for its address. */
enum { SIM_WAITS_NOWHERE, SIM_WAITS_INT, SIM_WAITS_FP, SIM_WAITS_ADDRESS, SIM_N_SCHEDULERS };

/* How much of the model an instruction needs. */
enum {
	SIM_K_PLAIN, /* up to two sources and results, one pipelined port */
	SIM_K_FREE,  /* the same without a port */
	SIM_K_OTHER, /* more registers, a unit that is not pipelined */
	SIM_K_LOAD,  /* loads, and that is all */
	SIM_K_MEMORY,
};

enum { SIM_EVENTS_ROOM = 24 }; /* SIM_N_EVENTS, rounded up for vector additions */

_Static_assert((int)SIM_N_EVENTS <= (int)SIM_EVENTS_ROOM, "room for all events");

struct sim_insn {
	uint8_t src[4];  /* what the operation waits for */
	uint8_t addr[2]; /* what the address waits for */
	uint8_t dst[3];
	uint16_t flags;
	uint8_t kind, pool;
	uint16_t ports, latency_cyc;
	uint16_t occupancy_16;
	uint8_t cls;
	uint32_t events; /* bit per event that its retirement counts for */
	uint16_t ip_off; /* from the block's start */
	uint16_t index;  /* in the block */
	/* places in its register file, load and store queue taken by the block's instructions before it */
	uint16_t pool_before, loads_before, stores_before;
	/* the same up to the end of the group that begins here: the register files, loads, stores */
	uint16_t group_taken[SIM_N_LIMITED];
	uint16_t slots;                /* of dispatch, SIM_SLOT to one instruction's share */
	uint16_t load_ports, load_cyc; /* of each access that loads; beyond the cache's */
	uint16_t
	        form; /* of the address, when it is a register and a displacement: equal for equal ones; else 0 */
	uint8_t n_bind, bind; /* tied to one of n_bind groups of `bind` ports; n_bind 0: not */
	uint16_t site; /* of what renames: its address, as loads and stores are paired by it; never 0 */
};

/* Instructions for which it is asked at once whether there is room. */
enum { SIM_GROUP = 4 };

struct sim_core;

/* Times a whole run of one block, see native.h; mem as for sim_core_run.  When its last instruction is done. */
typedef uint64_t sim_native_fn(struct sim_core *c, const uint64_t *mem);

struct sim_block {
	uint64_t ip, end_ip; /* end_ip: after the last instruction */
	uint64_t target;     /* of a direct branch at the end */
	uint64_t last_ip;    /* of the last instruction */
	uint32_t id;         /* index of its counter */
	uint16_t n_insn;
	uint8_t exit;                    /* enum sim_exit */
	uint8_t fetch_cyc, fetch_rest;   /* n_insn / fetch width, and what is left */
	uint8_t is_rep;                  /* ends in a rep string instruction */
	sim_native_fn *native;           /* NULL: there is none */
	uint16_t taken[SIM_POOLS_ROOM];  /* places taken in all */
	uint64_t total[SIM_EVENTS_ROOM]; /* events of one whole run */
	struct sim_insn insn[];
};

#endif
