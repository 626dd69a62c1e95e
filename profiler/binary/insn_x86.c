/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * x86-64.  Length, branches and stack traffic come from the encoding
 * (x86_form.c); what an explicit memory operand is used for, and what is
 * arithmetic, from capstone's mnemonic and operand order.  Capstone 4's own
 * read/write marks are not used: they call lea, nop and cmp what they aren't.
 */
#include "profiler/binary/insn_impl.h"
#include "profiler/binary/x86_form.h"

#include <string.h>

/* decoder.kind: what the mnemonic tells. */
enum {
	DEST_STORE = 0,  /* a memory operand that comes first is written only */
	DEST_LOAD = 1,   /* ... is read only */
	DEST_UPDATE = 2, /* ... is read and written */
	DEST_NONE = 3,   /* memory operands are not accessed */
	DEST_MASK = 3,
	KIND_FP_SCALAR = 4,
	KIND_FP_VECTOR = 8,
	KIND_X87 = 16,
	KIND_FMA = 32,
	KIND_MANY = 64, /* gathers and scatters */
	KIND_PREFETCH = 128,
	KIND_CONVERT = 256,
	KIND_FP_SHIFT = 9, /* enum insn_fp from here on: its first bits, which the name tells */
};

#define N_WORDS(words) (sizeof(words) / sizeof((words)[0]))

/* All lists are sorted: they are searched by halves. */
static const char *const dest_load[] = {
	"bt",        "call",    "cmp",    "div",      "fbld",    "fldcw",     "fldenv",  "frstor", "fxrstor",
	"fxrstor64", "idiv",    "imul",   "invpcid",  "jmp",     "lcall",     "ldmxcsr", "lgdt",   "lidt",
	"ljmp",      "lldt",    "lmsw",   "ltr",      "mul",     "push",      "test",    "verr",   "verw",
	"vldmxcsr",  "vmptrld", "xrstor", "xrstor64", "xrstors", "xrstors64",
};

static const char *const dest_update[] = {
	"adc", "add", "and",  "btc", "btr",  "bts", "cmpxchg", "cmpxchg16b", "cmpxchg8b", "dec",
	"inc", "neg", "not",  "or",  "rcl",  "rcr", "rol",     "ror",        "sal",       "sar",
	"sbb", "shl", "shld", "shr", "shrd", "sub", "xadd",    "xchg",       "xor",
};

static const char *const dest_none[] = {
	"cldemote", "clflush", "clflushopt", "clwb", "invlpg", "lea", "nop",
};

/* x87 with a memory operand reads it, but for these. */
static const char *const x87_store[] = {
	"fbstp",   "fist",   "fistp", "fisttp", "fnsave", "fnstcw",
	"fnstenv", "fnstsw", "fst",   "fstp",   "fxsave", "fxsave64",
};

static const char *const x87_arithmetic[] = {
	"f2xm1",  "fadd",  "faddp",  "fcos",  "fdiv",    "fdivp",  "fdivr",   "fdivrp",
	"fiadd",  "fidiv", "fidivr", "fimul", "fisub",   "fisubr", "fmul",    "fmulp",
	"fpatan", "fprem", "fprem1", "fptan", "frndint", "fscale", "fsin",    "fsincos",
	"fsqrt",  "fsub",  "fsubp",  "fsubr", "fsubrp",  "fyl2x",  "fyl2xp1",
};

/* Compares and converts; sorted like the rest. */
static const char *const x87_convert[] = {
	"fcom",  "fcomi",  "fcomip", "fcomp", "fcompi", "fcompp",  "ficom",  "ficomp",  "fild",    "fist",
	"fistp", "fisttp", "ftst",   "fucom", "fucomi", "fucomip", "fucomp", "fucompi", "fucompp",
};

/* SSE and AVX arithmetic without the v before and the ss, sd, ps, pd behind. */
static const char *const fp_stems[] = {
	"add",   "addsub", "div",     "dp",      "exp2",   "getexp", "getmant", "hadd",   "hsub",
	"max",   "min",    "mul",     "range",   "rcp",    "rcp14",  "rcp28",   "reduce", "rndscale",
	"round", "rsqrt",  "rsqrt14", "rsqrt28", "scalef", "sqrt",   "sub",
};

/* Of those what they are to events that count by operation; the rest is minimum, maximum, reciprocals, dot products. */
static const struct {
	const char *stem;
	uint8_t fp;
} fp_operations[] = {
	{ "add", INSN_FP_ADD },        { "addsub", INSN_FP_ADD },   { "sub", INSN_FP_ADD },
	{ "hadd", INSN_FP_ADD },       { "hsub", INSN_FP_ADD },     { "mul", INSN_FP_MUL },
	{ "div", INSN_FP_DIV },        { "sqrt", INSN_FP_DIV },     { "round", INSN_FP_ROUND },
	{ "rndscale", INSN_FP_ROUND }, { "reduce", INSN_FP_ROUND }, { "getexp", INSN_FP_ROUND },
	{ "getmant", INSN_FP_ROUND },  { "scalef", INSN_FP_ROUND }, { "range", INSN_FP_ROUND },
	{ "exp2", INSN_FP_ROUND },
};

static const char *const fma_stems[] = { "fmadd", "fmaddsub", "fmsub", "fmsubadd", "fnmadd", "fnmsub" };

static uint16_t dest_kind(const char *name)
{
	if (insn_word_in(name, dest_none, N_WORDS(dest_none)))
		return DEST_NONE;
	if (!strncmp(name, "prefetch", 8) || !strncmp(name, "vgatherpf", 9) ||
	    !strncmp(name, "vscatterpf", 10))
		return DEST_NONE | KIND_PREFETCH;
	if (insn_word_in(name, dest_load, N_WORDS(dest_load)))
		return DEST_LOAD;
	if (insn_word_in(name, dest_update, N_WORDS(dest_update)))
		return DEST_UPDATE;
	if (name[0] == 'f' && !insn_word_in(name, x87_store, N_WORDS(x87_store)))
		return DEST_LOAD;
	return DEST_STORE;
}

/* Cut the form (132, 213, 231) off fused multiply-adds' stems. */
static bool is_fma(char *stem)
{
	size_t len = strlen(stem);

	if (len > 3 && strspn(stem + len - 3, "123") == 3)
		stem[len - 3] = 0;
	return insn_word_in(stem, fma_stems, N_WORDS(fma_stems));
}

/* cvt<from>2<to>: scalar if either is one number, as in si, usi, ss, sd. */
static uint16_t convert_kind(const char *name)
{
	bool scalar = strstr(name, "ss2") || strstr(name, "sd2") || strstr(name, "si2");

	return KIND_CONVERT | (scalar ? KIND_FP_SCALAR : KIND_FP_VECTOR);
}

static uint16_t fp_operation(const char *stem, bool single)
{
	uint16_t fp = INSN_FP_KNOWN | (single ? INSN_FP_SINGLE : 0);

	for (size_t i = 0; i < N_WORDS(fp_operations); i++)
		if (!strcmp(stem, fp_operations[i].stem))
			fp |= fp_operations[i].fp;
	return (uint16_t)(fp << KIND_FP_SHIFT);
}

static uint16_t fp_kind(const char *name)
{
	char stem[32];
	size_t len = strlen(name);
	uint16_t kind;
	bool fma;

	if (insn_word_in(name, x87_arithmetic, N_WORDS(x87_arithmetic)))
		return KIND_FP_SCALAR | KIND_X87;
	if (insn_word_in(name, x87_convert, N_WORDS(x87_convert)))
		return KIND_FP_SCALAR | KIND_X87 | KIND_CONVERT;
	if (!strncmp(name, "cvt", 3) || !strncmp(name, "vcvt", 4))
		return convert_kind(name);
	if (len < 4 || len >= sizeof(stem) || !strchr("sp", name[len - 2]) || !strchr("sd", name[len - 1]))
		return 0;
	kind = name[len - 2] == 's' ? KIND_FP_SCALAR : KIND_FP_VECTOR;
	memcpy(stem, name, len - 2);
	stem[len - 2] = 0;
	if (stem[0] == 'v')
		memmove(stem, stem + 1, len - 2);
	/* cmpps may bear its predicate in its name: cmpltps */
	if (!strncmp(stem, "cmp", 3) || !strcmp(stem, "comi") || !strcmp(stem, "ucomi"))
		return kind | KIND_CONVERT;
	fma = is_fma(stem);
	if (!fma && !insn_word_in(stem, fp_stems, N_WORDS(fp_stems)))
		return 0;
	return kind | (fma || !strcmp(stem, "dp") ? KIND_FMA : 0) | fp_operation(stem, name[len - 1] == 's');
}

void insn_x86_learn(struct insn_decoder *d)
{
	for (unsigned id = 1; id < INSN_MAX_IDS && id < X86_INS_ENDING; id++) {
		const char *name = cs_insn_name(d->detail, id);

		if (!name)
			continue;
		d->kind[id] = dest_kind(name) | fp_kind(name);
		if (strstr(name, "gather") || strstr(name, "scatter"))
			d->kind[id] |= KIND_MANY;
	}
}

/* Branches of the one-byte map; true if it is one. */
static bool one_byte_flow(const struct x86_form *f, uint8_t *flow)
{
	uint8_t op = f->opcode;

	if ((op & 0xf0) == 0x70 || (op >= 0xe0 && op <= 0xe3))
		*flow = INSN_COND;
	else if (op == 0xe9 || op == 0xeb)
		*flow = INSN_JUMP;
	else if (op == 0xe8)
		*flow = INSN_CALL;
	else if ((op & 0xf6) == 0xc2 || op == 0xcf) /* c2 c3 ca cb, iret */
		*flow = INSN_RET;
	else if (op == 0xcc || op == 0xf1 || op == 0xf4)
		*flow = INSN_STOP;
	else if (op == 0xcd)
		*flow = INSN_SYSCALL;
	else if (op == 0xff && (x86_form_reg(f) == 2 || x86_form_reg(f) == 3))
		*flow = INSN_CALL_IND;
	else if (op == 0xff && (x86_form_reg(f) == 4 || x86_form_reg(f) == 5))
		*flow = INSN_JUMP_IND;
	else if (op == 0xc7 && f->modrm == 0xf8) /* xbegin: aborts go to the target */
		*flow = INSN_COND;
	else
		return false;
	return true;
}

static bool two_byte_flow(const struct x86_form *f, uint8_t *flow)
{
	uint8_t op = f->opcode;

	if ((op & 0xf0) == 0x80)
		*flow = INSN_COND;
	else if (op == 0x0b || op == 0xb9 || op == 0xff)
		*flow = INSN_STOP;
	else if (op == 0x05 || op == 0x34)
		*flow = INSN_SYSCALL;
	else if (op == 0x07 || op == 0x35)
		*flow = INSN_RET;
	else
		return false;
	return true;
}

static void find_flow(const struct x86_form *f, struct insn *out)
{
	if (f->vector || f->map > X86_MAP_0F ||
	    !(f->map == X86_MAP_ONE ? one_byte_flow(f, &out->flow) : two_byte_flow(f, &out->flow)))
		return;
	if (out->flow == INSN_COND || out->flow == INSN_JUMP || out->flow == INSN_CALL) {
		out->target = out->vaddr + out->size_bytes + (uint64_t)(int64_t)f->imm;
	} else if ((out->flow == INSN_CALL_IND || out->flow == INSN_JUMP_IND) && f->has_memory) {
		if (!f->fs_gs && (f->rip_relative || f->absolute)) {
			out->flags |= INSN_MEM_TARGET;
			out->target = (f->rip_relative ? out->vaddr + out->size_bytes : 0) +
			              (uint64_t)(int64_t)f->disp;
		}
	}
}

/* What goes to or comes from memory without being an operand. */
static uint32_t implicit_memory(const struct x86_form *f, uint8_t flow)
{
	uint8_t op = f->opcode;

	if (flow == INSN_CALL || flow == INSN_CALL_IND)
		return INSN_STORE;
	if (flow == INSN_RET && f->map == X86_MAP_ONE)
		return INSN_LOAD;
	if (f->vector)
		return f->map == X86_MAP_0F && op == 0xf7 ? INSN_STORE : 0; /* vmaskmovdqu */
	if (f->map == X86_MAP_0F) {
		if (op == 0xa0 || op == 0xa8 ||
		    (op == 0xf7 && !f->rep && !f->repne)) /* push fs/gs, maskmov */
			return INSN_STORE;
		return op == 0xa1 || op == 0xa9 ? INSN_LOAD : 0;
	}
	if (f->map != X86_MAP_ONE)
		return 0;
	if ((op & 0xf8) == 0x50 || op == 0x68 || op == 0x6a || op == 0x9c ||
	    (op == 0xff && x86_form_reg(f) == 6))
		return INSN_STORE;
	if (op == 0xc8)
		return f->imm >> 16 & 0x1f ? INSN_STORE | INSN_TWO_STORES : INSN_STORE; /* enter */
	if ((op & 0xf8) == 0x58 || op == 0x8f || op == 0x9d || op == 0xc9 || op == 0xd7)
		return INSN_LOAD;
	return 0;
}

/* String instructions, whose operands capstone lists in ways of its own.  True if it is one. */
static bool string_memory(const struct x86_form *f, uint32_t *flags)
{
	if (f->vector || f->map != X86_MAP_ONE)
		return false;
	switch (f->opcode & 0xfe) {
	case 0x6c: /* ins */
	case 0xaa: /* stos */
		*flags |= INSN_STORE;
		break;
	case 0x6e: /* outs */
	case 0xac: /* lods */
	case 0xae: /* scas */
		*flags |= INSN_LOAD;
		break;
	case 0xa4: /* movs */
		*flags |= INSN_LOAD | INSN_STORE;
		break;
	case 0xa6: /* cmps */
		*flags |= INSN_LOAD | INSN_TWO_LOADS;
		break;
	default:
		return false;
	}
	if (f->rep || f->repne)
		*flags |= INSN_REP;
	return true;
}

/*
 * rdssp, f3 0f 1e /1, and incssp, f3 0f ae /5, of registers: the shadow stack's, which unwinders and longjmp(3) hold and
 * capstone does not know.  Where it is not enabled the first does nothing and the second is jumped over.
 */
static bool is_shadow_stack(const struct x86_form *f)
{
	if (f->vector || f->map != X86_MAP_0F || !f->rep || f->modrm >> 6 != 3)
		return false;
	return (f->opcode == 0x1e && x86_form_reg(f) == 1) || (f->opcode == 0xae && x86_form_reg(f) == 5);
}

/* Hints that do nothing one can see: nop, pause, the 0f 19..1f space with endbr64. */
static bool is_nop(const struct x86_form *f)
{
	if (f->vector)
		return false;
	if (f->map == X86_MAP_ONE)
		return f->opcode == 0x90 && !f->rex_b;
	/* Not rdssp, which writes a register where shadow stacks are enabled. */
	return f->map == X86_MAP_0F && f->opcode >= 0x19 && f->opcode <= 0x1f && !is_shadow_stack(f);
}

static uint32_t operand_memory(const cs_x86 *x86, uint16_t kind)
{
	uint32_t flags = 0;

	if ((kind & DEST_MASK) == DEST_NONE)
		return 0;
	for (uint8_t i = 0; i < x86->op_count; i++) {
		if (x86->operands[i].type != X86_OP_MEM)
			continue;
		if (i > 0) /* xchg, the exception, is known by its opcode */
			flags |= INSN_LOAD;
		else if ((kind & DEST_MASK) == DEST_UPDATE)
			flags |= INSN_LOAD | INSN_STORE;
		else
			flags |= (kind & DEST_MASK) == DEST_LOAD ? INSN_LOAD : INSN_STORE;
	}
	if (kind & KIND_MANY)
		flags |=
		        (flags & INSN_LOAD ? INSN_TWO_LOADS : 0) | (flags & INSN_STORE ? INSN_TWO_STORES : 0);
	return flags;
}

static bool is_vector_reg(unsigned reg)
{
	return (reg >= X86_REG_MM0 && reg <= X86_REG_MM7) || (reg >= X86_REG_XMM0 && reg <= X86_REG_XMM31) ||
	       (reg >= X86_REG_YMM0 && reg <= X86_REG_YMM31) || (reg >= X86_REG_ZMM0 && reg <= X86_REG_ZMM31);
}

static uint32_t operand_arithmetic(const cs_x86 *x86, uint16_t kind)
{
	if (kind & (KIND_FP_SCALAR | KIND_FP_VECTOR))
		return (kind & KIND_FP_SCALAR ? INSN_FP_SCALAR : INSN_FP_VECTOR) |
		       (kind & KIND_X87 ? INSN_X87 : 0) | (kind & KIND_FMA ? INSN_FMA : 0) |
		       (kind & KIND_CONVERT ? INSN_FP_CONVERT : 0);
	for (uint8_t i = 0; i < x86->op_count; i++)
		if (x86->operands[i].type == X86_OP_REG && is_vector_reg(x86->operands[i].reg))
			return INSN_SIMD_INT;
	return 0;
}

static uint8_t operand_width(const cs_x86 *x86)
{
	uint8_t width = 0;

	for (uint8_t i = 0; i < x86->op_count; i++) {
		unsigned reg = x86->operands[i].type == X86_OP_REG ? x86->operands[i].reg : 0;

		if (reg >= X86_REG_ZMM0 && reg <= X86_REG_ZMM31)
			return INSN_FP_512;
		if (reg >= X86_REG_YMM0 && reg <= X86_REG_YMM31)
			width = INSN_FP_256;
	}
	return width;
}

static bool is_integer_division(const struct x86_form *f)
{
	return !f->vector && f->map == X86_MAP_ONE && (f->opcode & 0xfe) == 0xf6 && x86_form_reg(f) >= 6;
}

static bool is_exchange(const struct x86_form *f)
{
	return !f->vector && f->map == X86_MAP_ONE && (f->opcode & 0xfe) == 0x86 && f->has_memory;
}

static void find_flags(struct insn_decoder *d, const struct x86_form *f, const uint8_t *code,
                       struct insn *out)
{
	const cs_insn *detail;
	uint16_t kind;

	out->flags |= implicit_memory(f, out->flow);
	if (is_integer_division(f))
		out->flags |= INSN_DIV;
	if (f->lock && f->has_memory)
		out->flags |= INSN_LOCK;
	if (is_exchange(f)) /* locked with or without the prefix */
		out->flags |= INSN_LOAD | INSN_STORE | INSN_LOCK;
	if (is_nop(f)) {
		out->flags |= INSN_NOP;
		return;
	}
	if (is_shadow_stack(f) || string_memory(f, &out->flags))
		return;
	detail = insn_detail(d, code, out->size_bytes, out->vaddr);
	if (!detail || detail->size != out->size_bytes || detail->id >= INSN_MAX_IDS) {
		if (f->vector)
			out->flags |= x86_vector_flags(f);
		else if (out->flow == INSN_PLAIN)
			out->flags |= INSN_UNKNOWN;
		else if (f->has_memory && (out->flow == INSN_CALL_IND || out->flow == INSN_JUMP_IND))
			out->flags |= INSN_LOAD;
		return;
	}
	kind = d->kind[detail->id];
	out->flags |=
	        operand_memory(&detail->detail->x86, kind) | operand_arithmetic(&detail->detail->x86, kind);
	out->fp = (uint8_t)(kind >> KIND_FP_SHIFT);
	if (out->fp)
		out->fp |= operand_width(&detail->detail->x86);
	if (kind & KIND_PREFETCH)
		out->flags |= INSN_PREFETCH;
}

int insn_x86_decode(struct insn_decoder *d, const uint8_t *code, size_t n_bytes, struct insn *out)
{
	struct x86_form form;
	int found = x86_form_parse(code, n_bytes, &form);

	if (found < 0)
		return -1;
	if (!found) {
		out->size_bytes = 1;
		out->flags = INSN_UNKNOWN;
		return 0;
	}
	out->size_bytes = form.size_bytes;
	find_flow(&form, out);
	find_flags(d, &form, code, out);
	return 0;
}
