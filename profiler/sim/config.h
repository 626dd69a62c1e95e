/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_SIM_CONFIG_H
#define SKIDPROF_SIM_CONFIG_H

/*
 * A core file: what one processor core is.  Lines are
 *
 *	key value              # source
 *	class.NAME LATENCY OCCUPANCY PORTS
 *	slots.NAME MILLI
 *	bind.NAME PORTS
 *	skid LO HI WEIGHT
 *
 * LATENCY is in cycles from issue to result; OCCUPANCY is for how many cycles
 * the port is taken (more than 1: not pipelined; sixteenths count); PORTS are numbers separated
 * by commas, or "-" for an instruction that needs none (nop, eliminated
 * move).  MILLI is how much of a cycle's dispatch an instruction takes, in
 * thousandths of one instruction's share (1000 where nothing is said); bind is
 * for classes whose instructions are tied at dispatch to one group of that many
 * neighbouring ports and wait for it, whatever is free elsewhere (0: not tied).
 * A skid line gives a bin [LO, HI) of cycles and its weight.  A misspelt key is
 * an error, not a default; the keys that may be left out are marked below.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum sim_class {
	SIM_C_NOP,
	SIM_C_MOVE, /* register to register: renamed away where the core can */
	SIM_C_ALU,  /* add, and, cmp, mov of an immediate, setcc, cmov ... */
	SIM_C_SHIFT,
	SIM_C_LEA,  /* with two components */
	SIM_C_LEA3, /* with base, index and displacement */
	SIM_C_BITS, /* popcnt, lzcnt, tzcnt ... */
	SIM_C_IMUL,
	SIM_C_DIV32,
	SIM_C_DIV64,
	SIM_C_JUMP,   /* direct and indirect, calls and returns */
	SIM_C_BRANCH, /* conditional */
	SIM_C_LOAD,   /* port only: the latency is the cache's */
	SIM_C_STORE,
	SIM_C_FMOVE, /* vector register moves */
	SIM_C_FADD,  /* add, sub, min, max, compare */
	SIM_C_FMUL,
	SIM_C_FMA,
	SIM_C_FDIV32,
	SIM_C_FDIV64,
	SIM_C_FSQRT32,
	SIM_C_FSQRT64,
	SIM_C_FCONV,
	SIM_C_FCOMI,  /* compare into the flags, moves from vector to integer registers */
	SIM_C_VLOGIC, /* and, or, xor */
	SIM_C_VINT,   /* integer add, compare */
	SIM_C_VMUL,
	SIM_C_VSHUF, /* shuffles, shifts, blends, inserts */
	SIM_C_CRYPTO,
	SIM_C_X87,    /* x87 beside the four basic operations */
	SIM_C_ATOMIC, /* locked read-modify-write, barriers */
	SIM_C_SLOW,   /* microcode: cpuid, system calls, what capstone can't decode */
	/* May be left out: */
	SIM_C_TOVEC, /* from integer to vector registers; else as fcomi */
	SIM_C_VLOAD, /* into vector registers: ports, and cycles beyond the cache's; else as load */
	SIM_N_CLASSES,
};

struct sim_class_config {
	uint32_t latency_cyc;
	uint32_t occupancy_16; /* cycles x 16 */
	uint32_t ports;        /* bit mask */
	uint32_t slots_milli, bind;
};

enum {
	SIM_MAX_SKID_BINS = 256,
	SIM_MAX_PORTS = 16,
	SIM_MAX_ROB = 1000,
	SIM_MAX_TABLES = 16,
	SIM_MAX_HISTORY = 1000
};

struct sim_skid_bin {
	uint32_t lo_cyc, hi_cyc; /* [lo, hi) */
	uint64_t weight_up_to;   /* of this and all before */
};

struct sim_cache_config {
	uint32_t kb, ways, latency_cyc;
};

struct sim_config {
	double freq_ghz;
	uint32_t fetch_width;     /* instructions a cycle */
	uint32_t fetch_queue_cyc; /* how far fetch can run ahead of dispatch */
	uint32_t taken_per_cyc;   /* taken branches fetched a cycle: 1 or 2 */
	uint32_t dispatch_width;  /* micro-operations a cycle */
	uint32_t retire_width;
	uint32_t rob; /* instructions in flight */
	uint32_t load_queue, store_queue;
	uint32_t stores_per_cyc;    /* that leave the store queue for the cache */
	uint32_t int_regs, fp_regs; /* in flight, beside the architectural ones */
	uint32_t move_elimination, zero_idioms;
	uint32_t mispredict_cyc; /* from the end of the branch's execution to dispatch on the right path */
	uint32_t resteer_cyc;    /* a taken branch that the target buffer did not know */
	uint32_t
	        predictor_bits; /* log2 of the entries of each direction table; of indirect targets, an eighth */
	uint32_t btb_entries, return_stack;
	uint32_t line_bytes;
	struct sim_cache_config l1, l2, l3;
	uint32_t dram_cyc, dram_gap_cyc; /* latency; between two lines */
	uint32_t mshrs;                  /* lines being fetched at a time */
	uint32_t prefetch_lines;         /* how far the stream prefetcher runs ahead; 0 = none */
	uint32_t forward_cyc;            /* store to load */
	/* From here to skid: may be left out, and then do nothing (but for the predictor's, which are 3 and 60). */
	uint32_t predictor_tables;  /* of directions, with more and more history */
	uint32_t predictor_history; /* taken branches that the last of them sees */
	uint32_t flag_regs;         /* in flight, for instructions that write the flags alone */
	uint32_t int_scheduler, fp_scheduler,
	        address_scheduler;   /* that wait for operands, for an address; 0: no limit */
	uint32_t scheduler_hold_cyc; /* that an instruction keeps its entry after it was issued */
	uint32_t fp_queue;           /* of dispatched vector instructions, in order, before their scheduler */
	uint32_t fuse_branches;      /* compare and conditional branch are one instruction */
	uint32_t
	        memory_renaming; /* a load of what a store wrote by the same register and displacement costs nothing */
	uint32_t
	        pair_trust; /* with it, so does one that has had the same store's newest value that often in a row; 0: never */
	uint32_t
	        forward_fail_cyc; /* load of bytes that no one store wrote, after these have left for the cache; 0: as forward_cyc */
	uint32_t
	        alias_4k_cyc; /* load behind a store whose address differs above the 12th bit alone; 0: no matter */
	uint32_t split_lines; /* an access over the end of a line makes two */
	uint32_t
	        fp_cross_cyc; /* beyond an addition's latency, for whatever waits for the sum but an addition */
	uint32_t scaled_load_cyc;   /* the same of a load whose index is scaled */
	uint32_t vmove_elimination; /* of moves between vector registers */
	uint32_t store_line_cyc;    /* between two stores that leave for the cache, when their lines differ */
	uint32_t call_cyc, return_cyc;      /* that fetch stands after a predicted call, return */
	uint32_t page_kb;                   /* what the outer caches' places are made of; 4 */
	uint32_t tlb_entries, tlb2_entries; /* 0: translation costs nothing */
	uint32_t tlb2_cyc, walk_cyc;        /* a page known to the second one; to none */
	uint32_t rep_bytes;                 /* moved a cycle by rep string instructions */
	uint32_t n_counters;                /* programmable */
	uint32_t n_fixed;                   /* 1: cycles; 2: cycles and instructions */
	uint32_t branch_records;            /* 0 = has none */
	uint32_t branch_cycles;             /* each tells the cycles since the one before */
	/* Where an interrupt finds the program. */
	uint32_t
	        interrupt_retires; /* what is oldest when it comes retires first, with all that retire in the same cycle */
	uint32_t
	        skid_period; /* whose delays the skid lines are; at longer ones they are longer; 0: at all the same ... */
	uint32_t skid_doubling_cyc;  /* ... by so much each time the period doubles ... */
	uint32_t skid_sharp_cyc;     /* ... but for delays below this */
	uint32_t branch_gap_percent; /* of branch stacks that lack the branch before the newest */
	uint32_t branch_freeze_cyc;  /* branches this close before the interrupt are not recorded */
	uint32_t
	        branch_freeze_overflow; /* nor are any from the overflow on, nor what was before that the next time */
	uint32_t precise_max;           /* precise_ip can be so high */
	uint32_t precise_shadow_cyc; /* after an overflow no instruction is caught for so long */
	uint32_t
	        precise_by_dispatch; /* cycles: the first dispatched at the overflow is caught; instructions: the very one */
	uint32_t syscall_cyc, syscall_insns; /* that a system call takes in the kernel; 0: no time */
	struct sim_class_config cls[SIM_N_CLASSES];
	struct sim_skid_bin skid[SIM_MAX_SKID_BINS];
	uint32_t n_skid_bins;
	bool has_tovec; /* conversions between the two kinds of register cost the way between them as well */
};

/*
 * Read a core file's text, not NUL-terminated.
 *
 * Returns 0; -SP_EFORMAT with line and key named.  `out` is undefined on error.
 */
int sim_config_parse(const char *text, size_t n_bytes, struct sim_config *out);

/* The text that is read back as the same core; what the stream makes of it is the caller's to check. */
void sim_config_write(const struct sim_config *c, FILE *to);

/* Where a key's number, a uint32_t, lies in struct sim_config, and what is allowed there. */
struct sim_config_field {
	size_t at;
	uint32_t min, max;
};

/* False: there is no such key (freq_ghz, classes and skid are none). */
bool sim_config_field(const char *name, struct sim_config_field *out);

/* enum sim_class, or -1. */
int sim_class_find(const char *name);

#endif
