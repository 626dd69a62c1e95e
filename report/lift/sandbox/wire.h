/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_REPORT_LIFT_SANDBOX_WIRE_H
#define SKIDPROF_REPORT_LIFT_SANDBOX_WIRE_H

/*
 * What skidprof and skidblock, the program that runs blocks, say to each
 * other: a request on its standard input, a reply on its standard output, and
 * so on until the input ends.  Both are of one build and one machine; each
 * checks what the other says.
 */
#include <stdbool.h>
#include <stdint.h>

enum {
	BLOCK_MAGIC = 0x6b627370, /* both ways: "pskb" */
	BLOCK_MAX_BYTES = 4096,
	BLOCK_MAX_INSNS = 512,
	BLOCK_MAX_PATCHES = 512,
	BLOCK_MAX_ACCESSES = 1024,
	BLOCK_N_REGS = 16,
	BLOCK_NO_REG = 0xff,
	/* More instructions in succession than this are without end: no core looks so far. */
	BLOCK_MAX_TURNED = 1200,
	/* Instructions that name data by their own address find it in an area of this size instead. */
	BLOCK_RIP_BYTES = 1 << 16,
};

/* An instruction's 32-bit displacement from its own end. */
struct block_patch {
	uint16_t disp_off, end_off; /* in the block: of the displacement, of the instruction's end */
	uint32_t slot;              /* where in the area the data are */
};

/* Memory that an instruction reads or writes: base + index * scale + disp.  In the instructions' order. */
struct block_access {
	uint16_t insn_off;
	uint8_t base, index; /* 0 rax, 1 rcx ... 15, as encoded; BLOCK_NO_REG */
	uint8_t scale, bytes;
	int32_t disp;
};

struct block_request {
	uint32_t magic;
	uint16_t n_bytes, n_insn, n_patches, n_accesses;
	/* So often it runs in succession, then with registers of its own anew; 0 = without end. */
	uint16_t n_turns;
	uint16_t carried;         /* registers that it hands on to itself, or stores at: one bit each */
	uint32_t carried_vectors; /* the same of vector registers */
	uint8_t vector_bytes;     /* the widest vector registers it names: 16, 32, 64; 0 = none */
	uint8_t small_rcx;        /* it repeats a string instruction rcx times */
	uint8_t code[BLOCK_MAX_BYTES];
	struct block_patch patches[BLOCK_MAX_PATCHES];
	struct block_access accesses[BLOCK_MAX_ACCESSES];
};

enum block_verdict {
	BLOCK_TIMED,    /* cyc is an execution's time */
	BLOCK_FAULT,    /* SIGSEGV or SIGBUS at `addr`, which can't be given to it */
	BLOCK_TRAP,     /* SIGTRAP, SIGILL: it is no straight code of this processor */
	BLOCK_DIVIDE,   /* SIGFPE */
	BLOCK_SYSCALL,  /* it called the system, which it may not */
	BLOCK_KILLED,   /* it lost its way so that not even a handler ran */
	BLOCK_ENDLESS,  /* killed by the clock */
	BLOCK_PAGES,    /* it touches too many pages */
	BLOCK_UNSTEADY, /* times differ from round to round */
	BLOCK_BROKEN,   /* the sandbox itself can't be set up; err */
	N_BLOCK_VERDICTS,
};

struct block_reply {
	uint32_t magic;
	uint32_t verdict; /* enum block_verdict */
	int32_t signal, err;
	uint64_t addr;
	double cyc;        /* an execution, in the steady state; median of rounds */
	double spread;     /* of the rounds: quartiles' distance over the median */
	uint32_t n_copies; /* of the block in the shorter of two runs */
	uint32_t n_pages;  /* touched */
	uint32_t n_splits; /* accesses across a cache line's end, in n_watched copies */
	uint32_t n_watched;
};

static inline bool block_reg_valid(unsigned reg)
{
	return reg < BLOCK_N_REGS || reg == BLOCK_NO_REG;
}

static inline bool block_request_valid(const struct block_request *r)
{
	if (r->magic != BLOCK_MAGIC || r->n_bytes > BLOCK_MAX_BYTES || r->n_insn > BLOCK_MAX_INSNS ||
	    r->n_insn < 1 || r->n_patches > BLOCK_MAX_PATCHES || r->n_accesses > BLOCK_MAX_ACCESSES)
		return false;
	if (r->n_turns * (unsigned)r->n_insn > BLOCK_MAX_TURNED)
		return false;
	for (unsigned i = 0; i < r->n_patches; i++)
		if (r->patches[i].disp_off + 4 > r->n_bytes || r->patches[i].end_off > r->n_bytes)
			return false;
	for (unsigned i = 0; i < r->n_accesses; i++)
		if (r->accesses[i].insn_off >= r->n_bytes ||
		    (i && r->accesses[i].insn_off < r->accesses[i - 1].insn_off) ||
		    !block_reg_valid(r->accesses[i].base) || !block_reg_valid(r->accesses[i].index))
			return false;
	return true;
}

/* A time is a number of cycles; words there are for every verdict. */
static inline bool block_reply_valid(const struct block_reply *r)
{
	if (r->magic != BLOCK_MAGIC || r->verdict >= N_BLOCK_VERDICTS)
		return false;
	return r->verdict != BLOCK_TIMED || (r->cyc >= 0 && r->cyc < 1e12);
}

#endif
