/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_SIM_CORE_H
#define SKIDPROF_SIM_CORE_H

/*
 * The timing of one out-of-order core running one thread, driven by the trace
 * of what the emulator ran.  Instructions are taken in program order; for
 * each it is worked out when it is dispatched, issued, done and retired:
 *
 *  - dispatch in order, dispatch_width a cycle, while there is room in the
 *    reorder buffer, load and store queue and register files;
 *  - issue when the sources are ready and a port is free in that cycle
 *    (a calendar of cycles, so that a younger instruction may go first);
 *  - retirement in order, retire_width a cycle;
 *  - stores leave the store queue in order after retirement;
 *  - fetch stops at a mispredicted branch until it has executed.
 *
 * Not modelled: instructions of more than one micro-operation, wrong-path
 * instructions, scheduler sizes, instruction cache, operands' values (a
 * division always takes the same time), memory-order mispredictions, caches
 * shared between cores.  System calls cost no time.
 */
#include <stdbool.h>
#include <stdint.h>

#include "profiler/sim/block.h"
#include "profiler/sim/cache.h"
#include "profiler/sim/pmu.h"

enum {
	SIM_WINDOW = 1024, /* power of two > SIM_MAX_ROB, and > instructions in a block */
	SIM_RETIRED = 2 * SIM_WINDOW,
	SIM_PORT_CALENDAR_BITS = 11,
	SIM_PORT_CALENDAR = 1 << SIM_PORT_CALENDAR_BITS,
	SIM_SCHEDULER_CALENDAR = 4096, /* who waits longer counts as if it left then */
	SIM_FORWARD = 512,             /* words of a page: entries of the store-to-load table */
	SIM_STORE_SITES = 512,
};

/* A load that missed, in the newest block. */
struct sim_missed {
	uint16_t index;
	uint8_t level; /* enum sim_level */
};

/* The newest store to a word, or to the same place of another page. */
struct sim_forward {
	uint64_t word; /* address / 8 + 1, then a bit for each byte written */
	uint64_t data_cyc, drain_cyc;
};

/* What else is known of it on a core that is_full. */
struct sim_forward_more {
	uint64_t value_cyc; /* when the register that was stored had its value */
	uint64_t place_cyc; /* when its address was known */
	uint64_t name;      /* register, its contents' age and displacement; 0 = has an index */
	uint64_t store;     /* its number */
	uint64_t vaddr;
	uint16_t site; /* of the store, 0: does not rename */
};

/* The load of a site has had the newest value stored by another site, `trust` times in a row. */
struct sim_pair {
	uint16_t load, store;
	uint32_t trust;
};

/* Who waits to be executed: entries are taken in program order and left in any. */
struct sim_scheduler {
	uint64_t now; /* leaves up to here are no longer among n */
	uint32_t n, size;
	uint16_t leaves[SIM_SCHEDULER_CALENDAR]; /* by cycle */
};

/* What changes with every instruction: kept in registers while a block runs. */
struct sim_flight {
	uint64_t seq, dispatch_cyc, retire_cyc;
	uint32_t dispatch_n;
	const uint64_t *mem; /* accesses of the block not used yet */
};

/* Where native code keeps it when it calls. */
struct sim_native_frame {
	struct sim_flight f;
	uint64_t done; /* when the newest instruction was */
};

/*
 * What native code leaves to core.c: at, when the instruction can begin or its load was issued.
 */
typedef uint64_t sim_help_fn(struct sim_core *c, const struct sim_insn *in, uint64_t at,
                             struct sim_native_frame *frame);
struct sim_help {
	sim_help_fn *other, *memory; /* when an instruction is done */
	sim_help_fn *load;           /* when all that the operation waits for is there */
	sim_help_fn *load_issued;    /* when the data is */
	sim_help_fn *leave;          /* its stores leave for the cache; 0 */
};

typedef uint64_t sim_run_fn(struct sim_core *c, const struct sim_block *b, uint32_t n_insn,
                            const uint64_t *mem);

typedef uint64_t sim_find_port_fn(struct sim_core *c, uint64_t from_cyc, uint32_t ports);

struct sim_core {
	/* front end */
	uint64_t fetch_cyc, dispatch_cyc, fetch_queue_cyc;
	uint32_t fetch_n, fetch_taken, fetch_width, taken_per_cyc, dispatch_n, dispatch_width;
	uint32_t mispredict_cyc, resteer_cyc;
	/* in flight */
	uint64_t seq, rob, retire_cyc, retire_width;
	uint64_t reg[SIM_N_REGS];
	uint64_t sum[SIM_N_REGS]; /* when additions have the register, if it holds a sum */
	uint64_t cross_cyc, scaled_load_cyc;
	/*
	 * When each retired, from number retired_from on: see sim_retired.  No ring: within a block, who stands so far before
	 * an instruction lies so far before it here, too.
	 */
	uint64_t retire[SIM_RETIRED];
	uint64_t retired_from;
	uint64_t dispatched[SIM_WINDOW]; /* where samples are taken by it */
	bool notes_dispatch;
	/* Runs instructions of a block: what the core file asks for, and the host's processor is best at. */
	sim_run_fn *run;
	sim_find_port_fn *find_port;
	bool takes_native; /* blocks' own code runs them */
	struct sim_help help;
	uint64_t syscall_cyc;
	struct sim_missed missed[SIM_WINDOW];
	uint32_t n_missed;
	/* Of each pool: places taken by the blocks so far, and how many there are.  Whole vectors are read and written. */
	uint64_t place[SIM_POOLS_ROOM], room[SIM_POOLS_ROOM];
	uint64_t
	        least_room; /* when all have retired that are so far before a group, only stores may have to wait */
	uint64_t freed[SIM_N_POOLS][SIM_WINDOW]; /* when the n-th place of a pool was free again */
	uint64_t drain_cyc, stores_per_cyc;      /* of the newest store */
	/*
	 * Ports taken in each cycle, and above them which turn of the calendar it is of (cycle / SIM_PORT_CALENDAR).  Of the
	 * turn 16 bits are kept: an entry that nothing took over in 65,536 turns would be read as a new one.
	 */
	uint32_t port[SIM_PORT_CALENDAR];
	uint64_t unit_free[SIM_MAX_PORTS]; /* cycles x 16 */
	uint32_t store_line_cyc, store_ports, forward_cyc, forward_fail_cyc, alias_cyc, rep_bytes;
	bool renames_memory, splits_lines;
	struct sim_scheduler scheduler[SIM_N_SCHEDULERS];
	uint64_t fp_entered[SIM_WINDOW]; /* when the n-th left the queue before the vector scheduler */
	uint64_t n_fp, fp_queue, scheduler_hold_cyc;
	uint64_t value_cyc, place_cyc; /* of the store that is running */
	uint64_t address_cyc;          /* of the newest access */
	uint64_t last_line;            /* of the newest store */
	uint32_t call_cyc, return_cyc;
	uint64_t rep_place, rep_bytes_left;
	struct sim_forward forward[SIM_FORWARD];
	struct sim_forward_more forward_more[SIM_FORWARD];
	struct sim_pair pair[SIM_PAIRS];  /* by the load's site */
	uint64_t newest[SIM_STORE_SITES]; /* store of a site: its number */
	uint64_t restart_cyc; /* after a load that had a wrong value: when what is behind it begins anew */
	uint32_t pair_trust;
	struct sim_memory memory;
	/* Another thread may be at the predictor, see sim_core_foretell: it shares no line of the cache with the rest. */
	uint8_t apart[64];
	struct sim_predictor predictor;
	uint8_t apart_too[64];
	struct sim_pmu pmu;
};

/*
 * Memory accesses of a block in program order, packed: address << 16 | index
 * of the instruction << 4 | log2 of the bytes << 1 | store.  The array ends
 * with SIM_MEM_END.
 */
#define SIM_MEM(vaddr, index, shift, store) \
	((uint64_t)(vaddr) << 16 | (uint64_t)(index) << 4 | (uint64_t)(shift) << 1 | (store))
#define SIM_MEM_END UINT64_C(0xffff)

/* When the instruction of that number retired: one of the newest, as many as the core looks back. */
static inline uint64_t *sim_retired(struct sim_core *c, uint64_t seq)
{
	return &c->retire[seq - c->retired_from];
}

/* Places of a pool of that core. */
uint32_t sim_core_room(const struct sim_config *config, unsigned pool);

/*
 * How many instructions before a group the newest one is, at least, that anything but a store queue may have to wait for.
 */
uint32_t sim_core_least_room(const struct sim_config *config);

/* Sizes follow config; the PMU is initialised too.  -SP_ENOMEM. */
int sim_core_start(struct sim_core *c, const struct sim_config *config, const struct sim_pmu_setup *setup);
void sim_core_stop(struct sim_core *c);

/* Is native.h's code made for such cores, on this host? */
bool sim_core_takes_native(const struct sim_config *config);

/*
 * Run the first n_insn instructions of a block.
 *
 * next_ip  where the program went on; decides what the branch at the end did.
 * mem      see SIM_MEM; only borrowed.
 */
void sim_core_run(struct sim_core *c, const struct sim_block *b, uint32_t n_insn, uint64_t next_ip,
                  const uint64_t *mem);

/* What the predictor makes of the branch at a block's end. */
struct sim_foretold {
	bool taken, mispredicted;
	bool resteers; /* was predicted, but the target buffer did not know it */
};

/*
 * The same in two parts, of which the first touches the predictor only and the second all but the predictor.
 * Either takes the blocks in the order in which they ran.
 */
void sim_core_foretell(struct sim_predictor *p, const struct sim_block *b, uint32_t n_insn, uint64_t next_ip,
                       struct sim_foretold *out);
void sim_core_run_foretold(struct sim_core *c, const struct sim_block *b, uint32_t n_insn, uint64_t next_ip,
                           const uint64_t *mem, const struct sim_foretold *f);

/* System call number `number` runs for the core file's syscall_cyc: nothing behind it begins before its end. */
void sim_core_kernel(struct sim_core *c, uint64_t number);

#endif
