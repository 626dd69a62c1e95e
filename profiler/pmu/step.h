/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_PMU_STEP_H
#define SKIDPROF_PMU_STEP_H

/*
 * What an instruction means to one who steps over it: is it a branch, and may
 * it be stepped over at all without the program noticing.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { STEP_MAX_INSN_BYTES = 15 };

enum step_kind {
	STEP_PLAIN,  /* goes on to the next instruction; a string instruction may stay where it is */
	STEP_BRANCH, /* may go elsewhere */
	/* Always taken, also where it leads to the next instruction, as a switch does to its first case: processors record it. */
	STEP_JUMP,
	/*
	 * Must not be stepped over: it enters the kernel, where a thread may sleep; it lets the
	 * program see the trap flag (pushf) or loses it (popf); or it can't succeed between two
	 * traps (a transaction, a load-exclusive).
	 */
	STEP_NEVER,
};

struct step_insn {
	uint8_t kind; /* enum step_kind */
	uint8_t size_bytes;
};

/* Decodes the instructions of the machine we run on. */
struct step_decoder;

/* -SP_ENOTSUP on a machine we can't step on. */
int step_decoder_new(struct step_decoder **out);
/* code[n]: what stands at ip.  What can't be decoded is STEP_NEVER. */
struct step_insn step_decode(struct step_decoder *d, const uint8_t *code, size_t n, uint64_t ip);
void step_decoder_free(struct step_decoder *d);

/* An instruction of aarch64, whose words need no decoder. */
struct step_insn step_decode_a64(uint32_t word);

enum step_seen {
	STEP_SEEN_ON,    /* went straight on */
	STEP_SEEN_TAKEN, /* a branch was taken */
	STEP_SEEN_LOST,  /* neither: something else than the instruction moved the thread */
};

/* What a step from ip to next was. */
enum step_seen step_judge(struct step_insn insn, uint64_t ip, uint64_t next);

#endif
