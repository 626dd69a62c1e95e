/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/replay/run.h"

#include <string.h>
#include <x86intrin.h>

#include "profiler/replay/blocks.h"
#include "profiler/replay/emit.h"
#include "profiler/replay/layout.h"
#include "profiler/replay/ops.h"
#include "profiler/replay/pages.h"

/* x87, vectors of all sizes, mask registers; neither protection keys nor tiles. */
enum { VECTOR_STATE = 0xe7, LATE_EVERY = 64 };

static struct run {
	uint64_t deadline_tsc;
	uint64_t fixed_flags;
	bool faulted;
	uint8_t own[RP_VECTOR_BYTES] __attribute__((aligned(64))); /* vector state of ours */
} run;

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

void rp_save_vectors(uint8_t area[RP_VECTOR_BYTES])
{
	save_state(area);
}

void rp_load_vectors(uint8_t area[RP_VECTOR_BYTES])
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

/*
 * Where the emitted code comes in and goes out.  1: it left; 2: it missed, rp_miss() is asked; 3: out.
 */
static void __attribute__((noinline)) enter(void)
{
	__asm__ volatile(
	        "push %%rbp\n\tpush %%rbx\n\t"
	        "lea 1f(%%rip), %%rax\n\tmov %%rax, %c[leave]\n\t"
	        "lea 2f(%%rip), %%rax\n\tmov %%rax, %c[slow]\n\t"
	        "mov %%rsp, %c[host_rsp]\n\t"
	        "pushq %c[flags]\n\tpopfq\n\t" REGS(LOAD) LOAD("rax", "0")
	                LOAD("rsp",
	                     "32") "jmp *%c[target]\n"
	                           "1:\t" REGS(SAVE) SAVE(
	                                   "rsp",
	                                   "32") "mov %%eax, %c[exit]\n\t"
	                                         "mov %c[host_rsp], %%rsp\n\t"
	                                         "pushfq\n\tpopq %c[flags]\n\tcld\n\tjmp 3f\n"
	                                         "2:\t" REGS(SAVE) SAVE(
	                                                 "rsp",
	                                                 "32") "mov %c[host_rsp], %%rsp\n\t"
	                                                       "pushfq\n\tpopq %c[flags]\n\tcld\n\t"
	                                                       "and $-16, %%rsp\n\tcall %P[miss]\n\t"
	                                                       "mov %c[host_rsp], %%rsp\n\t"
	                                                       "test %%eax, %%eax\n\tjnz 3f\n\t"
	                                                       "pushq %c[flags]\n\tpopfq\n\t" REGS(LOAD) LOAD(
	                                                               "rsp",
	                                                               "32") "jmp *%c[slow_return]\n"
	                                                                     "3:\tpop %%rbx\n\tpop %%rbp\n\t"
	        :
	        : OFF(leave), OFF(slow), OFF(host_rsp), OFF(flags), OFF(gpr), OFF(target), OFF(exit),
	          OFF(slow_return), [miss] "i"(rp_miss)
	        : "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15",
	          "cc", "memory");
}

/* The access can't be made as it stands: the instruction is to be done in C, or ends the path. */
static void give_up(const struct rp_exit *e)
{
	struct rp_context *c = RP_CONTEXT;
	uint64_t kept = c->lahf;

	c->gpr[e->x] = c->x;
	c->gpr[e->y] = c->y;
	c->gpr[RP_RAX] = c->rax;
	c->flags = (c->flags & ~0x8d5ull) | (kept >> 8 & 0xd5) | (kept & 1 ? 0x800 : 0);
	c->exit = c->slow_exit;
}

int rp_miss(void)
{
	struct rp_context *c = RP_CONTEXT;
	const struct rp_exit *e = rp_exit_at(c->slow_exit);
	uint64_t page = c->slow_at & ~(uint64_t)(RP_PAGE - 1), off = c->slow_at - page;
	uint8_t *ours = off + e->bytes > RP_PAGE ? NULL : rp_page(page, e->write ? RP_WRITE : RP_READ);

	if (!ours) {
		give_up(e);
		return 1;
	}
	rp_pages_open(page, e->write);
	c->slow_at = (uint64_t)(uintptr_t)ours + off;
	return 0;
}

bool rp_run_interrupted(uint64_t ip, uint64_t *resume)
{
	if (ip < RP_AT_CODE || ip >= RP_AT_CODE + RP_CODE_BYTES)
		return false;
	run.faulted = true;
	*resume = RP_CONTEXT->leave;
	return true;
}

bool rp_enter(void)
{
	run.faulted = false;
	enter();
	return !run.faulted;
}

bool rp_is_late(void)
{
	return __rdtsc() > run.deadline_tsc;
}

static void begin(const struct rp_request *q, struct rp_reply *r)
{
	struct rp_context *c = RP_CONTEXT;

	/* All but the state at the end, which comes last. */
	memset(r, 0, offsetof(struct rp_reply, pages));
	run.deadline_tsc = q->deadline_tsc;
	memcpy(c->gpr, q->regs.gpr, sizeof(c->gpr));
	c->flags = (q->regs.flags & RP_FLAGS_RUN) | 2;
	/* As pushf shows them: no trap flag, no resume flag. */
	run.fixed_flags = (q->regs.flags & ~(uint64_t)(RP_FLAGS_RUN | 0x10100)) | 2;
	c->fs_base = q->regs.fs_base;
	c->gs_base = q->regs.gs_base;
	rp_pages_begin(q->fetched, q->n_fetched);
	rp_blocks_begin(q->n_insns != 0);
}

static void note_branch(struct rp_reply *r, uint64_t from, uint64_t to)
{
	r->branches[r->n_branches++] = (struct rp_branch){ from, to };
}

/* The instruction at ip, where its page may be the one that was just run. */
static bool decode_at(uint64_t ip, uint8_t code[RP_MAX_INSN_BYTES], struct rp_insn *i)
{
	size_t n = rp_read_some(ip, code, RP_MAX_INSN_BYTES);

	return n && rp_decode(code, n, i);
}

static int do_in_c(struct rp_reply *r, uint64_t *ip)
{
	uint8_t code[RP_MAX_INSN_BYTES];
	struct rp_insn i;
	uint64_t next = *ip;
	int end;

	if (!decode_at(*ip, code, &i))
		return (int)rp_pages_why(&r->fault_at);
	if (i.kind == RP_SHADOW_STACK && i.map == 1 && i.opcode == 0x1e &&
	    !(RP_SHARED->request.flags & RP_SHADOW_STACK_ON)) {
		/* rdssp without one */
		next = *ip + i.len;
		end = RP_GOES_ON;
	} else {
		end = rp_op(&i, code, *ip, run.fixed_flags, &next);
	}
	if (end != RP_GOES_ON) {
		rp_pages_why(&r->fault_at);
		return end;
	}
	if (i.kind >= RP_CALL && i.kind <= RP_RET && next != *ip + i.len)
		note_branch(r, *ip, next);
	r->n_insns++;
	*ip = next;
	return RP_GOES_ON;
}

/* One block and what comes of it.  *ip moves on. */
static int step(struct rp_reply *r, uint64_t *ip)
{
	const struct rp_exit *e;

	RP_CONTEXT->target = rp_block_at(*ip);
	if (!RP_CONTEXT->target)
		return (int)rp_pages_why(&r->fault_at);
	if (!rp_enter())
		return RP_END_FAULT;
	e = rp_exit_at(RP_CONTEXT->exit);
	r->n_blocks++;
	r->n_insns += e->n_insns;
	*ip = e->kind == RP_EXIT_ACCESS || e->kind == RP_EXIT_OP ? e->ip : e->to;
	if (e->kind == RP_EXIT_TAKEN)
		note_branch(r, e->ip, e->to);
	/* It counts the instruction as done that did not get its memory. */
	r->n_insns -= e->kind == RP_EXIT_ACCESS;
	return e->kind == RP_EXIT_ACCESS || e->kind == RP_EXIT_OP ? do_in_c(r, ip) : RP_GOES_ON;
}

static int go(const struct rp_request *q, struct rp_reply *r)
{
	uint32_t n_branches = q->n_branches < RP_MAX_BRANCHES ? q->n_branches : RP_MAX_BRANCHES;
	int end = RP_GOES_ON;

	while (end == RP_GOES_ON) {
		if (r->n_branches >= n_branches || (q->n_insns && r->n_insns >= q->n_insns))
			return RP_END_WHOLE;
		if (r->n_blocks % LATE_EVERY == 0 && rp_is_late())
			return RP_END_TIME;
		/* The page of system calls at a fixed address is the kernel's. */
		if (r->at_ip >> 12 == 0xffffffffff600)
			return RP_END_VSYSCALL;
		end = step(r, &r->at_ip);
	}
	return end;
}

static void tell_state(const struct rp_request *q, struct rp_reply *r)
{
	const struct rp_context *c = RP_CONTEXT;

	memcpy(r->regs.gpr, c->gpr, sizeof(c->gpr));
	r->regs.ip = r->at_ip;
	r->regs.flags = (c->flags & RP_FLAGS_RUN) | (q->regs.flags & ~(uint64_t)RP_FLAGS_RUN);
	r->regs.fs_base = c->fs_base;
	r->regs.gs_base = c->gs_base;
}

void rp_run(void)
{
	const struct rp_request *q = &RP_SHARED->request;
	struct rp_reply *r = &RP_SHARED->reply;

	begin(q, r);
	r->at_ip = q->regs.ip;
	save_state(run.own);
	load_state(q->xsave);
	r->end = (uint32_t)go(q, r);
	if (q->flags & RP_WANT_STATE) {
		save_state(r->xsave);
		tell_state(q, r);
	}
	load_state(run.own);
	rp_pages_tell();
	r->n_translated = rp_blocks_translated();
}

void rp_run_init(uint8_t *code)
{
	rp_blocks_init(code);
	rp_pages_init();
}
