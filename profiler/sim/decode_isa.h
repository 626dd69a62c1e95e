/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_SIM_DECODE_ISA_H
#define SKIDPROF_SIM_DECODE_ISA_H

/* Between decode.c and the one file for each instruction set; nobody else's business. */
#include <capstone/capstone.h>
#include <stdbool.h>

#include "profiler/sim/decode.h"

struct sim_decoder {
	csh cs;
	cs_insn *insn;
	enum sim_isa isa;
	const struct sim_config *config;
	uint8_t reg[512]; /* capstone's register -> ours; SIM_R_READY for those not followed */
};

/* First match wins. */
struct sim_prefix {
	const char *text;
	int cls;
};

/* -1 when no prefix fits. */
int sim_class_by_prefix(const struct sim_prefix *table, const char *mnemonic);

void sim_add_reg(uint8_t *set, size_t n, uint8_t empty, uint8_t reg);
bool sim_has_reg(const uint8_t *set, size_t n, uint8_t reg);

static inline bool sim_is_vector(uint8_t reg)
{
	return reg >= SIM_R_VEC && reg < SIM_R_X87;
}

/* only_address: [SIM_N_REGS], 1 for registers that nothing but the address needs. */
void sim_registers(struct sim_decoder *d, struct sim_insn *in, const uint8_t *only_address);

void sim_x86_registers(uint8_t *map);
void sim_a64_registers(uint8_t *map);

/* d->insn to flags, class, registers, events of `in`, and the exit of b. */
void sim_x86_decode(struct sim_decoder *d, struct sim_insn *in, struct sim_block *b);
void sim_a64_decode(struct sim_decoder *d, struct sim_insn *in, struct sim_block *b);

#endif
