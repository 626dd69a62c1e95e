/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/replay/machine.h"

#include <string.h>

#include "profiler/replay/a64/emit.h"
#include "profiler/replay/a64/ops.h"
#include "profiler/replay/pages.h"
#include "profiler/replay/run.h"

/* Those that a branch may look at. */
#define NZCV 0xf0000000u

static uint8_t own[RP_VECTORS_BYTES] __attribute__((aligned(64))); /* vectors of ours */

/* Instructions are as long as they lie apart. */
bool machine_ends_beyond(const uint8_t *code, size_t n, unsigned max_insns)
{
	(void)code;
	(void)n;
	(void)max_insns;
	return false;
}

size_t machine_emit_block(struct rp_emitter *e, uint64_t ip, const uint8_t *code, size_t n,
                          unsigned max_insns)
{
	return a64_emit_block(e, ip, code, n, max_insns);
}

/* What was written at one place goes out of the data cache, what stood at the other out of that of instructions. */
void machine_code_is_new(const struct rp_emitter *e, size_t from)
{
	uint64_t type, line_d, line_i;

	__asm__("mrs %0, ctr_el0" : "=r"(type));
	line_d = 4ull << (type >> 16 & 15);
	line_i = 4ull << (type & 15);
	for (size_t at = from & ~(line_d - 1); at < e->n_code; at += line_d)
		__asm__ volatile("dc cvau, %0" : : "r"(e->code + at) : "memory");
	__asm__ volatile("dsb ish" : : : "memory");
	for (size_t at = from & ~(line_i - 1); at < e->n_code; at += line_i)
		__asm__ volatile("ic ivau, %0" : : "r"(e->at + at) : "memory");
	__asm__ volatile("dsb ish\n\tisb" : : : "memory");
}

#define PAIR(op, q, r, off) op " " q ", " r ", [%0, #" off "]\n\t"
#define VECTORS(op)                   \
	PAIR(op, "q0", "q1", "0")     \
	PAIR(op, "q2", "q3", "32")    \
	PAIR(op, "q4", "q5", "64")    \
	PAIR(op, "q6", "q7", "96")    \
	PAIR(op, "q8", "q9", "128")   \
	PAIR(op, "q10", "q11", "160") \
	PAIR(op, "q12", "q13", "192") \
	PAIR(op, "q14", "q15", "224") \
	PAIR(op, "q16", "q17", "256") \
	PAIR(op, "q18", "q19", "288") \
	PAIR(op, "q20", "q21", "320") \
	PAIR(op, "q22", "q23", "352") \
	PAIR(op, "q24", "q25", "384") \
	PAIR(op, "q26", "q27", "416") \
	PAIR(op, "q28", "q29", "448") \
	PAIR(op, "q30", "q31", "480")

/* As the kernel's NT_PRFPREG: vectors, fpsr, fpcr. */
static void save_vectors(uint8_t area[RP_VECTORS_BYTES])
{
	uint64_t fpsr, fpcr;

	__asm__ volatile(".arch_extension simd\n\t" VECTORS("stp") : : "r"(area) : "memory");
	__asm__ volatile("mrs %0, fpsr" : "=r"(fpsr));
	__asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
	memcpy(area + 512, &(uint32_t){ (uint32_t)fpsr }, 4);
	memcpy(area + 516, &(uint32_t){ (uint32_t)fpcr }, 4);
}

static void load_vectors(const uint8_t area[RP_VECTORS_BYTES])
{
	uint32_t fpsr, fpcr;

	memcpy(&fpsr, area + 512, 4);
	memcpy(&fpcr, area + 516, 4);
	__asm__ volatile(".arch_extension simd\n\t" VECTORS("ldp") : : "r"(area) : "memory");
	__asm__ volatile("msr fpsr, %0" : : "r"((uint64_t)fpsr));
	__asm__ volatile("msr fpcr, %0" : : "r"((uint64_t)fpcr));
}

void machine_begin(const struct rp_request *q)
{
	struct a64_context *c = RP_CONTEXT;

	memcpy(c->gpr, q->regs.gpr, sizeof(c->gpr));
	c->sp = q->regs.sp;
	c->flags = q->regs.flags & NZCV;
	c->thread = q->regs.thread;
	a64_ops_begin();
	save_vectors(own);
	load_vectors(q->vectors);
}

void machine_end(const struct rp_request *q, struct rp_reply *r)
{
	const struct a64_context *c = RP_CONTEXT;

	if (q->flags & RP_WANT_STATE) {
		save_vectors(r->vectors);
		memcpy(r->regs.gpr, c->gpr, sizeof(c->gpr));
		r->regs.sp = c->sp;
		r->regs.ip = r->at_ip;
		r->regs.flags = (c->flags & NZCV) | (q->regs.flags & ~(uint64_t)NZCV);
		r->regs.thread = c->thread;
	}
	load_vectors(own);
}

#define OFF(name) [name] "i"(A64_FIELD(name))
#define EACH(op)                                                                                           \
	op("x0", "x1", "0") op("x2", "x3", "16") op("x4", "x5", "32") op("x6", "x7", "48")                 \
	        op("x8", "x9", "64") op("x10", "x11", "80") op("x12", "x13", "96") op("x14", "x15", "112") \
	                op("x18", "x19", "144") op("x20", "x21", "160") op("x22", "x23", "176")            \
	                        op("x24", "x25", "192") op("x26", "x27", "208") op("x28", "x29", "224")
#define SAVE(a, b, off) "stp " a ", " b ", [sp, #" off "]\n\t"
#define LOAD(a, b, off) "ldp " a ", " b ", [sp, #" off "]\n\t"

_Static_assert(A64_FIELD(gpr) == 0 && A64_FIELD(kept) <= 504, "as the code below has it");

/* All registers, by the context that the stack pointer points to; x17 is used up. */
#define SAVE_ALL   \
	EACH(SAVE) \
	"stp x16, x17, [sp, #128]\n\tstr x30, [sp, #240]\n\tmrs x17, nzcv\n\tstr x17, [sp, %[flags]]\n\t"
#define LOAD_ALL                                             \
	"ldr x17, [sp, %[flags]]\n\tmsr nzcv, x17\n\t" EACH( \
	        LOAD) "ldr x16, [sp, #128]\n\tldr x30, [sp, #240]\n\t"

/* An address that is known here. */
static int __attribute__((used)) miss(void)
{
	return rp_miss();
}

/*
 * Where the emitted code comes in and goes out; it restores x17 itself.  1: it left, x16 says by which
 * exit; 2: it missed, miss() is asked; 3: out.
 */
void __attribute__((noinline)) machine_enter(void)
{
	__asm__ volatile("stp x29, x30, [sp, #-16]!\n\t"
	                 "mov x16, %[context]\n\t"
	                 "adr x17, 1f\n\tstr x17, [x16, %[leave]]\n\t"
	                 "adr x17, 2f\n\tstr x17, [x16, %[slow]]\n\t"
	                 "mov x17, sp\n\tstr x17, [x16, %[host_sp]]\n\t"
	                 "mov sp, x16\n\t" LOAD_ALL "ldr x17, [sp, %[target]]\n\tbr x17\n"
	                 "1:\tstr w16, [sp, %[exit]]\n\tldp x16, x17, [sp, %[kept]]\n\t" SAVE_ALL
	                 "ldr x17, [sp, %[host_sp]]\n\tmov sp, x17\n\tb 3f\n"
	                 "2:\t" SAVE_ALL "ldr x17, [sp, %[host_sp]]\n\tmov sp, x17\n\t"
	                 "bl %[miss]\n\tcbnz w0, 3f\n\t"
	                 "mov x16, %[context]\n\tmov sp, x16\n\t" LOAD_ALL
	                 "ldr x17, [sp, %[slow_return]]\n\tbr x17\n"
	                 "3:\tldp x29, x30, [sp], #16\n\t"
	                 :
	                 : OFF(flags), OFF(leave), OFF(slow), OFF(host_sp), OFF(target), OFF(exit), OFF(kept),
	                   OFF(slow_return), [context] "i"(RP_AT_CONTEXT), [miss] "S"(miss)
	                 : "x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12",
	                   "x13", "x14", "x15", "x16", "x17", "x18", "x19", "x20", "x21", "x22", "x23", "x24",
	                   "x25", "x26", "x27", "x28", "cc", "memory");
}

void machine_give_up(const struct rp_exit *e)
{
	struct a64_context *c = RP_CONTEXT;

	c->gpr[e->x] = c->kept[0];
	c->gpr[e->y] = c->kept[1];
	c->gpr[e->z] = c->kept[2];
}

/* Bits 56 to 63 of a program's address are its own. */
uint64_t machine_place(uint64_t at)
{
	return at >> 55 & 1 ? at : at & 0xffffffffffffffu;
}

void machine_chain(const struct rp_emitter *emitter, const struct rp_exit *e, uint64_t to)
{
	(void)emitter;
	(void)e;
	(void)to;
}

uint64_t machine_went_to(void)
{
	return 0;
}

void machine_note_target(uint64_t to, uint64_t code)
{
	(void)to;
	(void)code;
}

void machine_forget_targets(void)
{
}

uint64_t machine_emit_guard(struct rp_emitter *e, uint64_t ip, const struct rp_registers *const *marks,
                            size_t n, uint64_t code)
{
	(void)e;
	(void)ip;
	(void)marks;
	(void)n;
	return code;
}

bool machine_is_at(uint64_t ip, const struct rp_registers *regs)
{
	return ip == regs->ip && RP_CONTEXT->sp == regs->sp &&
	       memcmp(RP_CONTEXT->gpr, regs->gpr, sizeof(regs->gpr)) == 0;
}

int machine_may_run(uint64_t ip)
{
	return ip % A64_INSN_BYTES ? RP_END_FAULT : RP_GOES_ON;
}

int machine_do(uint64_t ip, uint64_t *next, bool *taken)
{
	struct a64_insn i;
	uint64_t at;
	uint32_t word;

	if (!rp_read(ip, &word, sizeof(word)))
		return (int)rp_pages_why(&at);
	a64_decode(word, &i);
	return a64_op(&i, ip, next, taken);
}

uint64_t machine_signal_ip(const ucontext_t *uc)
{
	return uc->uc_mcontext.pc;
}

void machine_go_on_at(ucontext_t *uc, uint64_t ip)
{
	uc->uc_mcontext.pc = ip;
}
