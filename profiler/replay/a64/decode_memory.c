/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/replay/a64/decode_int.h"

#define BITS(high, low) a64_bits(i->word, high, low)

enum { RN_MASK = 31 << 5 };

static void is_access(struct a64_insn *i, unsigned mode, unsigned bytes, bool write, uint32_t word)
{
	i->kind = A64_MEMORY;
	i->mode = (uint8_t)mode;
	i->bytes = (uint16_t)bytes;
	i->write = write;
	i->word_without_rn = word & ~(uint32_t)RN_MASK;
}

/* What changes its base must not load or store the same register: the result would be anything. */
static void check_base(struct a64_insn *i, bool vector, bool pair)
{
	bool changed = i->mode == A64_PRE || i->mode == A64_POST;

	if (changed && !vector && i->rn != A64_SP_REG && (i->rd == i->rn || (pair && i->ra == i->rn)))
		i->kind = A64_UNKNOWN;
}

/* ---- vectors from and to structures ---- */

static void decode_structures(struct a64_insn *i)
{
	/* Registers by opcode; 0: none such. */
	static const uint8_t registers[16] = {
		[0] = 4, [2] = 4, [4] = 3, [6] = 3, [7] = 1, [8] = 2, [10] = 2
	};
	unsigned bytes = registers[BITS(15, 12)] * (BITS(30, 30) ? 16u : 8u);
	bool post = BITS(23, 23);

	if (!bytes || BITS(21, 21) || (!post && BITS(20, 16)))
		return;
	is_access(i,
	          !post         ? A64_OFFSET
	          : i->rm == 31 ? A64_POST
	                        : A64_POST_REGISTER,
	          bytes, !BITS(22, 22), i->word & ~(1u << 23 | 31u << 16));
	i->imm = post ? (int64_t)bytes : 0;
}

/* One element of each register, or one for all of its elements. */
static void decode_single_structure(struct a64_insn *i)
{
	unsigned opcode = BITS(15, 13), size = BITS(11, 10), n = ((opcode & 1) << 1 | BITS(21, 21)) + 1, log2;
	bool post = BITS(23, 23), load = BITS(22, 22), s = BITS(12, 12);

	switch (opcode >> 1) {
	case 0:
		log2 = 0;
		break;
	case 1:
		log2 = 1;
		if (size & 1)
			return;
		break;
	case 2:
		log2 = size & 1 ? 3 : 2;
		if (size & 2 || (size == 1 && s))
			return;
		break;
	default:
		log2 = size;
		if (!load || s)
			return;
		break;
	}
	if (!post && BITS(20, 16))
		return;
	is_access(i,
	          !post         ? A64_OFFSET
	          : i->rm == 31 ? A64_POST
	                        : A64_POST_REGISTER,
	          n << log2, !load, i->word & ~(1u << 23 | 31u << 16));
	i->imm = post ? (int64_t)i->bytes : 0;
}

/* ---- exclusive, ordered, compare and swap ---- */

static void decode_exclusive(struct a64_insn *i)
{
	unsigned size = BITS(31, 30);
	bool ordered = BITS(23, 23), load = BITS(22, 22), pair = BITS(21, 21);

	if (!ordered && pair && size < 2) {
		/* casp: both pairs begin with an even register */
		if (i->ra != 31 || (i->rd & 1) || (i->rm & 1))
			return;
		is_access(i, A64_OFFSET, 8u << BITS(30, 30), true, i->word);
	} else if (!ordered) {
		is_access(i, A64_OFFSET, pair ? 2u << size : 1u << size, !load, i->word);
		i->kind = load ? A64_LOAD_EXCLUSIVE : A64_STORE_EXCLUSIVE;
	} else if (pair) {
		if (i->ra != 31)
			return;
		is_access(i, A64_OFFSET, 1u << size, true, i->word); /* cas */
	} else {
		is_access(i, A64_OFFSET, 1u << size, !load, i->word); /* ldar, stlr, ldlar, stllr */
	}
}

/* ldapur and stlur, of general registers. */
static void decode_ordered_unscaled(struct a64_insn *i)
{
	unsigned size = BITS(31, 30), opc = BITS(23, 22);

	if (BITS(26, 26) || BITS(21, 21) || BITS(11, 10)) {
		if (size == 3 && BITS(21, 21) && !BITS(26, 26))
			i->kind = A64_TAGS;
		return;
	}
	if ((size == 3 && opc > 1) || (size == 2 && opc == 3))
		return;
	is_access(i, A64_OFFSET, 1u << size, opc == 0, i->word & ~(511u << 12));
	i->imm = a64_signed_bits(i->word, 20, 12);
}

/* ---- pairs ---- */

static void decode_pair(struct a64_insn *i)
{
	static const uint8_t modes[] = { A64_OFFSET, A64_POST, A64_OFFSET, A64_PRE };
	unsigned opc = BITS(31, 30), mode = BITS(24, 23), log2;
	bool vector = BITS(26, 26), load = BITS(22, 22);

	if (opc == 3)
		return;
	if (!vector && opc == 1) {
		if (!load || !mode) {
			i->kind = mode ? A64_TAGS : A64_UNKNOWN; /* stgp */
			return;
		}
		log2 = 2; /* ldpsw */
	} else {
		log2 = vector ? 2 + opc : 2 + opc / 2;
	}
	/* Two loads into one register are no load of either. */
	if (load && i->rd == i->ra)
		return;
	is_access(i, modes[mode], 2u << log2, !load,
	          (i->word & ~(3u << 23 | 127u << 15)) | (mode ? 2u << 23 : 0));
	i->imm = a64_signed_bits(i->word, 21, 15) * (1 << log2);
	check_base(i, vector, true);
}

/* ---- one register ---- */

/* The unscaled form, whose displacement is 0. */
static uint32_t unscaled(uint32_t word)
{
	return word & ~(1u << 24 | 0xfffu << 10);
}

static void decode_literal(struct a64_insn *i)
{
	/* ldr w, x; ldrsw; of vectors s, d, q: by their unscaled forms. */
	static const uint32_t general[] = { 0xb8400000, 0xf8400000, 0xb8800000 };
	static const uint32_t vectors[] = { 0xbc400000, 0xfc400000, 0x3cc00000 };
	unsigned opc = BITS(31, 30);
	bool vector = BITS(26, 26);

	if (opc == 3) {
		i->kind = vector ? A64_UNKNOWN : A64_NOTHING; /* prfm */
		return;
	}
	is_access(i, A64_LITERAL,
	          vector     ? 4u << opc
	          : opc == 1 ? 8
	                     : 4,
	          false, (vector ? vectors[opc] : general[opc]) | i->rd);
	i->imm = 4 * a64_signed_bits(i->word, 23, 5);
}

/* Size and direction of an access of one register.  False: a prefetch, or none such. */
static bool decode_one(struct a64_insn *i, unsigned *log2)
{
	unsigned size = BITS(31, 30), opc = BITS(23, 22);

	if (BITS(26, 26)) {
		if (opc > 1 && size)
			return false;
		*log2 = opc > 1 ? 4 : size;
		is_access(i, A64_OFFSET, 1u << *log2, !(opc & 1), unscaled(i->word));
		return true;
	}
	if ((size == 3 && opc == 3) || (size == 2 && opc == 3))
		return false;
	if (size == 3 && opc == 2) {
		i->kind = A64_NOTHING;
		return false;
	}
	*log2 = size;
	is_access(i, A64_OFFSET, 1u << size, opc == 0, unscaled(i->word));
	return true;
}

static void decode_atomic(struct a64_insn *i)
{
	unsigned opc = BITS(14, 12);
	bool ldapr = BITS(15, 15) && opc == 4 && BITS(23, 22) == 2 && i->rm == 31;
	bool swap = BITS(15, 15) && opc == 0;

	if (BITS(26, 26) || (BITS(15, 15) && !swap && !ldapr))
		return;
	is_access(i, A64_OFFSET, 1u << BITS(31, 30), !ldapr, i->word);
}

/* ldraa, ldrab */
static void decode_signed(struct a64_insn *i)
{
	if (BITS(31, 30) != 3 || BITS(26, 26))
		return;
	i->imm = 8 * (int64_t)((uint64_t)a64_signed_bits(i->word, 22, 22) << 9 | BITS(20, 12));
	i->kind = A64_LOAD_SIGNED;
	i->mode = BITS(11, 11) ? A64_PRE : A64_OFFSET;
	i->bytes = 8;
	check_base(i, false, false);
}

static void decode_register_offset(struct a64_insn *i)
{
	unsigned log2, option = BITS(15, 13);

	/* Prefetches, too: rprfm has the other two bits of the option in its operand. */
	if (!(option & 2))
		return;
	if (!decode_one(i, &log2))
		return;
	i->mode = A64_REGISTER;
	i->extend = (uint8_t)option;
	i->shift = (uint8_t)(BITS(12, 12) ? log2 : 0);
}

static void decode_unscaled(struct a64_insn *i)
{
	static const uint8_t modes[] = { A64_OFFSET, A64_POST, A64_OFFSET, A64_PRE };
	unsigned log2, mode = BITS(11, 10);

	if (mode == 2 && BITS(26, 26))
		return;
	if (!decode_one(i, &log2)) {
		/* A prefetch has no other form. */
		if (mode)
			i->kind = A64_UNKNOWN;
		return;
	}
	i->mode = modes[mode];
	i->imm = a64_signed_bits(i->word, 20, 12);
	check_base(i, BITS(26, 26), false);
}

static void decode_one_register(struct a64_insn *i)
{
	unsigned log2;

	if (BITS(24, 24)) {
		if (decode_one(i, &log2))
			i->imm = (int64_t)BITS(21, 10) << log2;
	} else if (!BITS(21, 21)) {
		decode_unscaled(i);
	} else if (BITS(11, 10) == 2) {
		decode_register_offset(i);
	} else if (BITS(11, 10) == 0) {
		decode_atomic(i);
	} else {
		decode_signed(i);
	}
}

void a64_decode_memory(struct a64_insn *i)
{
	switch (BITS(29, 28)) {
	case 0:
		if (BITS(31, 31) && BITS(26, 26))
			return;
		if (BITS(26, 26) && !BITS(24, 24))
			decode_structures(i);
		else if (BITS(26, 26))
			decode_single_structure(i);
		else if (!BITS(24, 24))
			decode_exclusive(i);
		break;
	case 1:
		if (!BITS(24, 24))
			decode_literal(i);
		else
			decode_ordered_unscaled(i);
		break;
	case 2:
		decode_pair(i);
		break;
	default:
		decode_one_register(i);
		break;
	}
}
