/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_BINARY_INSN_IMPL_H
#define SKIDPROF_BINARY_INSN_IMPL_H

/* Shared by insn.c and its two instruction sets; nobody else includes this. */
#include "profiler/binary/insn.h"

#include <capstone/capstone.h>

enum { INSN_MAX_IDS = 2048 };

struct insn_decoder {
	enum insn_isa isa;
	csh detail; /* Intel order of operands, with their details */
	csh text;   /* what is shown to people */
	cs_insn *scratch, *scratch_text;
	uint16_t kind[INSN_MAX_IDS]; /* by capstone's instruction id: what the mnemonic says */
};

void insn_x86_learn(struct insn_decoder *d);
int insn_x86_decode(struct insn_decoder *d, const uint8_t *code, size_t n_bytes, struct insn *out);

/*
 * The flags of a VEX or EVEX instruction that capstone doesn't know, from its
 * opcode: those maps are regular enough to tell loads, stores and arithmetic.
 */
struct x86_form;
uint32_t x86_vector_flags(const struct x86_form *f);

void insn_a64_learn(struct insn_decoder *d);
int insn_a64_decode(struct insn_decoder *d, const uint8_t *code, size_t n_bytes, struct insn *out);

/*
 * Number of a general register as encoded, INSN_NO_REG for any other; *bytes: 8,
 * 4, 2, 1 of it, 0 for the second byte alone.
 */
uint8_t insn_x86_register(x86_reg reg, unsigned *bytes);

/* capstone's view of the instruction, NULL where it has none; till the next call. */
const cs_insn *insn_detail(struct insn_decoder *d, const uint8_t *code, size_t n_bytes, uint64_t vaddr);

/* Is word one of the n words, which are sorted? */
bool insn_word_in(const char *word, const char *const *sorted, size_t n);

#endif
