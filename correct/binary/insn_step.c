/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "correct/binary/insn_step.h"

#include "correct/binary/insn_impl.h"

void insn_step(struct insn_decoder *d, const uint8_t *code, size_t n_bytes, const struct insn *insn,
               struct insn_step *out)
{
	*out = (struct insn_step){ .dst = STEP_NO_REG, .src = STEP_NO_REG, .right = STEP_NO_REG };
	if (insn->flags & INSN_UNKNOWN) {
		out->writes = UINT32_MAX;
		out->flags = STEP_FLAGS_OTHER;
	} else if (d->isa == ISA_X86_64) {
		insn_x86_step(d, code, n_bytes, insn, out);
	} else {
		insn_a64_step(d, code, n_bytes, insn, out);
	}
}

int insn_step_taken(uint8_t condition, uint64_t l, uint64_t r, unsigned bytes)
{
	unsigned up = 64 - 8 * bytes;
	uint64_t ul = l << up, ur = r << up;
	int64_t sl = (int64_t)ul, sr = (int64_t)ur;

	switch (condition) {
	case STEP_EQUAL:
		return ul == ur;
	case STEP_UNEQUAL:
		return ul != ur;
	case STEP_LESS:
		return sl < sr;
	case STEP_GREATER_EQUAL:
		return sl >= sr;
	case STEP_LESS_EQUAL:
		return sl <= sr;
	case STEP_GREATER:
		return sl > sr;
	case STEP_BELOW:
		return ul < ur;
	case STEP_ABOVE_EQUAL:
		return ul >= ur;
	case STEP_BELOW_EQUAL:
		return ul <= ur;
	case STEP_ABOVE:
		return ul > ur;
	case STEP_NEGATIVE:
		return (int64_t)(ul - ur) < 0;
	case STEP_POSITIVE:
		return (int64_t)(ul - ur) >= 0;
	default:
		return -1;
	}
}
