/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/replay/machine.h"

#include <string.h>

#include "profiler/replay/pages.h"
#include "profiler/replay/run.h"
#include "profiler/replay/x86/emit.h"
#include "profiler/replay/x86/ops.h"

/* x87, vectors of all sizes, mask registers; neither protection keys nor tiles. */
enum { VECTOR_STATE = 0xe7, MOST_TARGETS = 1 << 14 };

static struct {
	uint64_t fixed_flags;
	bool shadow_stack;
	uint16_t targets[MOST_TARGETS]; /* slots in use */
	unsigned n_targets;
	uint8_t own[RP_STATE_BYTES] __attribute__((aligned(64))); /* vector state of ours */
} machine;

bool machine_ends_beyond(const uint8_t *code, size_t n, unsigned max_insns)
{
	struct rp_insn i;
	size_t at = 0;

	for (unsigned k = 0; k < max_insns && at < n; k++, at += i.len) {
		if (!rp_decode(code + at, n - at, &i))
			return true;
		if (i.kind >= RP_JMP && i.kind != RP_PUSH && i.kind != RP_POP && i.kind != RP_LEAVE)
			return false;
	}
	return false;
}

size_t machine_emit_block(struct rp_emitter *e, uint64_t ip, const uint8_t *code, size_t n,
                          unsigned max_insns)
{
	return rp_emit_block(e, ip, code, n, max_insns);
}

/* The processor sees to it. */
void machine_code_is_new(const struct rp_emitter *e, size_t from)
{
	(void)e;
	(void)from;
}

static uint64_t state_mask(void)
{
	uint32_t low, high;

	__asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
	(void)high;
	return low & VECTOR_STATE;
}

static void save_state(void *area)
{
	__asm__ volatile("xsave64 (%0)" : : "r"(area), "a"((uint32_t)state_mask()), "d"(0) : "memory");
}

static void load_state(const void *area)
{
	__asm__ volatile("xrstor64 (%0)" : : "r"(area), "a"((uint32_t)state_mask()), "d"(0) : "memory");
}

void rp_save_vectors(uint8_t area[RP_STATE_BYTES])
{
	save_state(area);
}

void rp_load_vectors(uint8_t area[RP_STATE_BYTES])
{
	uint64_t all = state_mask();

	/* What was as after a reset may have been changed. */
	memcpy(area + 512, &all, sizeof(all));
	load_state(area);
}

#define OFF(name) [name] "i"(RP_FIELD(name))
#define REGS(op)                                                                                       \
	op("rcx", "8") op("rdx", "16") op("rbx", "24") op("rbp", "40") op("rsi", "48") op("rdi", "56") \
	        op("r8", "64") op("r9", "72") op("r10", "80") op("r11", "88") op("r12", "96")          \
	                op("r13", "104") op("r14", "112") op("r15", "120")
#define SAVE(r, off) "mov %%" r ", %c[gpr]+" off "\n\t"
#define LOAD(r, off) "mov %c[gpr]+" off ", %%" r "\n\t"

/* An address that is known here. */
static int miss(void)
{
	return rp_miss();
}

/*
 * Where the emitted code comes in and goes out.  1: it left; 2: it missed, miss() is asked; 3: out.
 */
void __attribute__((noinline)) machine_enter(void)
{
	__asm__ volatile(
	        "push %%rbp\n\tpush %%rbx\n\t"
	        "lea 1f(%%rip), %%rax\n\tmov %%rax, %c[leave]\n\t"
	        "lea 2f(%%rip), %%rax\n\tmov %%rax, %c[slow]\n\t"
	        "mov %%rsp, %c[host_rsp]\n\t"
	        "pushq %c[flags]\n\tpopfq\n\t" REGS(LOAD) LOAD("rax", "0") LOAD(
	                "rsp",
	                "32") "jmp *%c[target]\n"
	                      "1:\t" REGS(SAVE) SAVE(
	                              "rsp",
	                              "32") "mov %%eax, %c[exit]\n\t"
	                                    "mov %c[host_rsp], %%rsp\n\t"
	                                    "pushfq\n\tpopq %c[flags]\n\tcld\n\tjmp 3f\n"
	                                    "2:\t" REGS(SAVE) SAVE("rax", "0") SAVE(
	                                            "rsp",
	                                            "32") "mov %c[host_rsp], %%rsp\n\t"
	                                                  "pushfq\n\tpopq %c[flags]\n\tcld\n\t"
	                                                  "and $-16, %%rsp\n\tcall %P[miss]\n\t"
	                                                  "mov %c[host_rsp], %%rsp\n\t"
	                                                  "test %%eax, %%eax\n\tjnz 3f\n\t"
	                                                  "pushq %c[flags]\n\tpopfq\n\t" REGS(
	                                                          LOAD) LOAD("rax", "0")
	                                                          LOAD("rsp",
	                                                               "32") "jmp *%c[slow_return]\n"
	                                                                     "3:\tpop %%rbx\n\tpop %%rbp\n\t"
	        :
	        : OFF(leave), OFF(slow), OFF(host_rsp), OFF(flags), OFF(gpr), OFF(target), OFF(exit),
	          OFF(slow_return), [miss] "i"(miss)
	        : "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15",
	          "cc", "memory");
}

void machine_give_up(const struct rp_exit *e)
{
	struct rp_context *c = RP_CONTEXT;
	uint64_t kept = c->lahf;

	c->gpr[e->x] = c->x;
	c->gpr[e->y] = c->y;
	if (e->flags_kept)
		c->flags = (c->flags & ~0x8d5ull) | (kept >> 8 & 0xd5) | (kept & 1 ? 0x800 : 0);
}

uint64_t machine_place(uint64_t at)
{
	return at;
}

void machine_begin(const struct rp_request *q)
{
	struct rp_context *c = RP_CONTEXT;

	memcpy(c->gpr, q->regs.gpr, sizeof(c->gpr));
	c->flags = (q->regs.flags & RP_FLAGS_RUN) | 2;
	/* As pushf shows them: no trap flag, no resume flag. */
	machine.fixed_flags = (q->regs.flags & ~(uint64_t)(RP_FLAGS_RUN | 0x10100)) | 2;
	machine.shadow_stack = q->flags & RP_SHADOW_STACK_ON;
	c->fs_base = q->regs.fs_base;
	c->gs_base = q->regs.gs_base;
	save_state(machine.own);
	load_state(q->vectors);
}

void machine_end(const struct rp_request *q, struct rp_reply *r)
{
	const struct rp_context *c = RP_CONTEXT;

	if (q->flags & RP_WANT_STATE) {
		save_state(r->vectors);
		memcpy(r->regs.gpr, c->gpr, sizeof(c->gpr));
		r->regs.ip = r->at_ip;
		r->regs.flags = (c->flags & RP_FLAGS_RUN) | (q->regs.flags & ~(uint64_t)RP_FLAGS_RUN);
		r->regs.fs_base = c->fs_base;
		r->regs.gs_base = c->gs_base;
	}
	load_state(machine.own);
}

void machine_chain(const struct rp_emitter *emitter, const struct rp_exit *e, uint64_t to)
{
	uint32_t distance;

	if (!e->chain)
		return;
	distance = (uint32_t)(to - (emitter->at + e->chain + sizeof(distance)));
	memcpy(emitter->code + e->chain, &distance, sizeof(distance));
}

uint64_t machine_went_to(void)
{
	return RP_CONTEXT->to;
}

/* No address of these low bits is the negative of it. */
static uint64_t no_target(uint16_t slot)
{
	return slot ? 0 : 1;
}

void machine_note_target(uint64_t to, uint64_t code)
{
	uint16_t slot = (uint16_t)to;

	if (RP_TARGETS->minus_to[slot] == no_target(slot)) {
		if (machine.n_targets == MOST_TARGETS)
			return;
		machine.targets[machine.n_targets++] = slot;
	}
	RP_TARGETS->minus_to[slot] = 0 - to;
	RP_TARGETS->code[slot] = (uint32_t)code;
}

void machine_forget_targets(void)
{
	RP_TARGETS->minus_to[0] = no_target(0);
	while (machine.n_targets > 0) {
		uint16_t slot = machine.targets[--machine.n_targets];

		RP_TARGETS->minus_to[slot] = no_target(slot);
	}
}

uint64_t machine_emit_guard(struct rp_emitter *e, uint64_t ip, const struct rp_registers *const *marks,
                            size_t n, uint64_t code)
{
	return rp_emit_guard(e, ip, marks, n, code);
}

bool machine_is_at(uint64_t ip, const struct rp_registers *regs)
{
	return ip == regs->ip && memcmp(RP_CONTEXT->gpr, regs->gpr, sizeof(regs->gpr)) == 0;
}

int machine_may_run(uint64_t ip)
{
	/* The page of system calls at a fixed address is the kernel's. */
	return ip >> 12 == 0xffffffffff600 ? RP_END_VSYSCALL : RP_GOES_ON;
}

int machine_do(uint64_t ip, uint64_t *next, bool *taken)
{
	uint8_t code[RP_MAX_INSN_BYTES];
	/* Its page may be the one that was just run. */
	size_t n = rp_read_some(ip, code, RP_MAX_INSN_BYTES);
	struct rp_insn i;
	uint64_t at;
	int end;

	if (!n || !rp_decode(code, n, &i))
		return (int)rp_pages_why(&at);
	*next = ip + i.len;
	/* rdssp without one */
	if (i.kind == RP_SHADOW_STACK && i.map == 1 && i.opcode == 0x1e && !machine.shadow_stack)
		return RP_GOES_ON;
	end = rp_op(&i, code, ip, machine.fixed_flags, next);
	/* Processors record those that lead to the next instruction, too. */
	*taken = i.kind >= RP_CALL && i.kind <= RP_RET;
	return end;
}

uint64_t machine_signal_ip(const ucontext_t *uc)
{
	return (uint64_t)uc->uc_mcontext.gregs[REG_RIP];
}

void machine_go_on_at(ucontext_t *uc, uint64_t ip)
{
	uc->uc_mcontext.gregs[REG_RIP] = (long long)ip;
	uc->uc_mcontext.gregs[REG_EFL] = 2;
}
