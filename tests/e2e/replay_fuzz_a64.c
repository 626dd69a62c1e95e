/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * replay_fuzz_a64 CASES SEED FILE...: short stretches of instructions from the files' code, as they are and with other
 * operands, with random registers, vectors and memory: once replayed, once run by the processor (or an emulator of one).
 * Both must leave the same behind.
 *
 * The replayer is part of this program, without its sandbox: the emulator of user programs has neither ptrace nor
 * filters of system calls.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "profiler/replay/a64/decode.h"
#include "profiler/replay/machine.h"
#include "profiler/replay/pages.h"
#include "profiler/replay/run.h"
#include "profiler/replay/system.h"
#include "tests/e2e/replay_fuzz.h"

#define CODE_AT 0x30000000ul
#define DATA_AT 0x123456780000ul
#define BRK     0xd4200000u
enum {
	CODE_PAGES = 4,
	DATA_PAGES = 16,
	CODE_BYTES = CODE_PAGES * RP_PAGE,
	DATA_BYTES = DATA_PAGES * RP_PAGE,
	MAX_INSNS = 400000,
	MAX_CLASSES = 1 << 16,
	A_CLASS = 8, /* instructions kept of each kind */
	MAX_LENGTH = 12,
	STACK = 1 << 16,
};

static uint32_t *corpus;
static size_t n_corpus;
static uint8_t classes[MAX_CLASSES];
static uint8_t before[DATA_BYTES], after[DATA_BYTES], expected[DATA_BYTES];
static uint8_t handler_stack[STACK] __attribute__((aligned(64)));
static bool signs; /* this processor signs pointers */

static struct tally {
	unsigned long same, faults, differ, skipped, memory, branches, ends[RP_N_ENDS];
} tally;

void rp_populate(void *at, size_t n)
{
	(void)at;
	(void)n;
}

/* ---- instructions ---- */

static void gather_section(const uint8_t *code, size_t n)
{
	for (size_t at = 0; at + 4 <= n && n_corpus < MAX_INSNS; at += 4) {
		uint32_t word, class;

		memcpy(&word, code + at, 4);
		/* But for registers. */
		class = (word & 0xffe0fc00) * 2654435761u >> 16;
		if (classes[class] < A_CLASS) {
			classes[class]++;
			corpus[n_corpus++] = word;
		}
	}
}

static uint32_t field(uint32_t word, unsigned at, unsigned bits, uint32_t v)
{
	uint32_t mask = ((1u << bits) - 1) << at;

	return (word & ~mask) | (v << at & mask);
}

/* What comes out differently each time, or by keys that only the system has. */
static bool is_of_its_moment(const struct a64_insn *i)
{
	unsigned hint = i->word >> 5 & 127;

	if (i->kind == A64_STRIP || i->kind == A64_STRIP_X17)
		return signs || i->word >> 16 == 0xdac1;
	if (i->kind == A64_LOAD_SIGNED)
		return true;
	if (i->kind == A64_NOTHING && (i->word & 0xfffff01f) == 0xd503201f)
		return (signs && hint >= 8 && hint < 32) || hint == 2 || hint == 3; /* wfe, wfi */
	if (i->kind == A64_NOTHING && (i->word & 0xffff0000) == 0xdac10000)
		return true;
	if (i->kind == A64_BR || i->kind == A64_BLR || i->kind == A64_RET)
		return i->word >> 11 & 1;
	if ((i->word & 0xfffff000) == 0xd53be000 || (i->word & 0xffffff00) == 0xd53b2400)
		return true; /* the clock; random numbers */
	return i->kind == A64_SET_THREAD || i->kind == A64_GET_THREAD;
}

/* Registers that hold addresses stay in x20 to x27 and sp, small numbers in x16 to x18, mostly. */
static uint32_t other_registers(uint32_t word, const struct a64_insn *i)
{
	uint32_t rn = rnd() % 4 ? 20 + rnd() % 8 : 31;

	if (rnd() % 8 == 0)
		return word ^ (uint32_t)(rnd() & 0x1f03ff);
	word = field(word, 0, 5, rnd() % 32 < 30 ? rnd() % 16 : rnd());
	if (i->kind == A64_MEMORY || i->kind == A64_LOAD_EXCLUSIVE || i->kind == A64_STORE_EXCLUSIVE) {
		if (i->mode != A64_LITERAL)
			word = field(word, 5, 5, rn);
		if (i->mode == A64_REGISTER || i->mode == A64_POST_REGISTER)
			word = field(word, 16, 5, 16 + rnd() % 3);
	} else {
		word = field(word, 5, 5, rnd());
	}
	return word;
}

static bool choose_insn(uint32_t *out)
{
	struct a64_insn i, was;
	uint32_t word = rnd() % 16 ? corpus[rnd() % n_corpus] : (uint32_t)rnd();

	a64_decode(word, &was);
	if (rnd() % 4)
		word = other_registers(word, &was);
	a64_decode(word, &i);
	/* Branches lead on, literals lie near. */
	if (i.kind == A64_B || i.kind == A64_BL)
		word = field(word, 0, 26, 1 + rnd() % 4);
	else if (i.kind == A64_IF && (word & 0x7e000000) == 0x36000000)
		word = field(word, 5, 14, 1 + rnd() % 4);
	else if (i.kind == A64_IF)
		word = field(word, 5, 19, 1 + rnd() % 4);
	else if (i.kind == A64_MEMORY && i.mode == A64_LITERAL)
		word = field(word, 5, 19, rnd() % 256 - 128);
	a64_decode(word, &i);
	*out = word;
	tally.memory += i.kind == A64_MEMORY;
	tally.branches += i.kind == A64_IF;
	/* What ends a path ends a stretch, and may do anything to us. */
	return i.kind < A64_SYSCALL && !is_of_its_moment(&i);
}

/* A load-exclusive and the store that belongs to it, or doesn't. */
static unsigned put_exclusives(uint32_t *code)
{
	uint32_t size = rnd() % 4, rn = 20 + rnd() % 8, word = 0x08000000 | size << 30 | rn << 5;
	bool pair = size > 1 && rnd() % 2;
	unsigned n = 0;

	word |= pair ? 1u << 21 : 0;
	code[n++] =
	        word | 1u << 22 | 0x1f0000 | (pair ? 2u << 10 : 31u << 10) | 1 | (rnd() % 2 ? 1u << 15 : 0);
	if (rnd() % 4 == 0)
		code[n++] = 0xd5033f5f; /* clrex */
	if (rnd() % 8 == 0)
		word ^= 1u << 5;
	code[n++] = word | 3u << 16 | (pair ? 5u << 10 : 31u << 10) | 4;
	return n;
}

/* ---- random states ---- */

static uint64_t random_address(void)
{
	uint64_t r = rnd();

	switch (r % 4) {
	case 0: /* near the end of a page */
		return DATA_AT + (1 + r / 64 % (DATA_PAGES - 2)) * RP_PAGE - rnd() % 40;
	case 1:
		return DATA_AT + RP_PAGE + (rnd() % (DATA_BYTES - 2 * RP_PAGE) & ~7ull);
	default:
		return DATA_AT + RP_PAGE + (rnd() % (DATA_BYTES - 2 * RP_PAGE) & ~63ull);
	}
}

static void prepare(struct rp_request *q, uint64_t ip)
{
	uint32_t fpsr_fpcr[2] = { 0, rnd() % 4 ? 0 : (uint32_t)(rnd() & 0x03c00000) };

	for (unsigned k = 0; k < RP_N_GPRS; k++)
		q->regs.gpr[k] = k >= 20 && k < 28   ? random_address()
		                 : k >= 16 && k < 19 ? rnd() % 128 - 64
		                 : rnd() % 4         ? rnd()
		                                     : CODE_AT + RP_PAGE + rnd() % RP_PAGE * 4;
	q->regs.sp = DATA_AT + RP_PAGE + (rnd() % (DATA_BYTES - 2 * RP_PAGE) & ~15ull);
	q->regs.flags = rnd() & 0xf0000000;
	q->regs.ip = ip;
	random_bytes(q->vectors, 512);
	memcpy(q->vectors + 512, fpsr_fpcr, 8);
	q->flags = RP_WANT_STATE;
	q->n_branches = 1000;
	q->n_insns = 0;
	q->deadline = UINT64_MAX;
	q->n_fetched = 0;
}

/* ---- natively ---- */

static struct {
	bool running;
	int signal; /* what ended it */
	const struct rp_request *q;
	ucontext_t ours;
	struct rp_registers regs;
	uint8_t vectors[RP_VECTORS_BYTES];
} native;

static struct fpsimd_context *vectors_of(ucontext_t *uc)
{
	struct _aarch64_ctx *c = (struct _aarch64_ctx *)uc->uc_mcontext.__reserved;

	while (c->magic && c->magic != FPSIMD_MAGIC)
		c = (struct _aarch64_ctx *)((char *)c + c->size);
	return (struct fpsimd_context *)c;
}

/* Longer vectors that follow them in the frame would come in their place. */
static void copy_vectors(struct fpsimd_context *f, const uint8_t *from)
{
	struct _aarch64_ctx *next = (struct _aarch64_ctx *)((char *)f + f->head.size);

	next->magic = next->size = 0;
	memcpy(f->vregs, from, 512);
	memcpy(&f->fpsr, from + 512, 4);
	memcpy(&f->fpcr, from + 516, 4);
}

/* The way in, by a signal of our own: what it returns to are the registers wanted. */
static void on_start(int sig, siginfo_t *si, void *ucp)
{
	ucontext_t *uc = ucp;

	(void)sig;
	(void)si;
	native.ours = *uc;
	native.running = true;
	memcpy(uc->uc_mcontext.regs, native.q->regs.gpr, sizeof(native.q->regs.gpr));
	uc->uc_mcontext.sp = native.q->regs.sp;
	uc->uc_mcontext.pc = native.q->regs.ip;
	uc->uc_mcontext.pstate = native.q->regs.flags;
	copy_vectors(vectors_of(uc), native.q->vectors);
}

static void take_state(ucontext_t *uc, int sig)
{
	const struct fpsimd_context *f = vectors_of(uc);

	native.running = false;
	native.signal = sig;
	memcpy(native.regs.gpr, uc->uc_mcontext.regs, sizeof(native.regs.gpr));
	native.regs.sp = uc->uc_mcontext.sp;
	native.regs.ip = uc->uc_mcontext.pc;
	native.regs.flags = uc->uc_mcontext.pstate;
	memcpy(native.vectors, f->vregs, 512);
	memcpy(native.vectors + 512, &f->fpsr, 4);
	memcpy(native.vectors + 516, &f->fpcr, 4);
	/* Whatever else the frame has is of no use to us. */
	memcpy(uc->uc_mcontext.regs, native.ours.uc_mcontext.regs, sizeof(uc->uc_mcontext.regs));
	uc->uc_mcontext.sp = native.ours.uc_mcontext.sp;
	uc->uc_mcontext.pc = native.ours.uc_mcontext.pc;
	uc->uc_mcontext.pstate = native.ours.uc_mcontext.pstate;
	*vectors_of(uc) = *vectors_of(&native.ours);
}

static void on_end(int sig, siginfo_t *si, void *ucp)
{
	ucontext_t *uc = ucp;
	uint64_t resume;

	if (native.running)
		take_state(uc, sig);
	else if (rp_run_interrupted(machine_signal_ip(uc), &resume))
		machine_go_on_at(uc, resume);
	else {
		dprintf(2, "signal %d of ours at %#llx, of %p\n", sig, uc->uc_mcontext.pc, si->si_addr);
		_exit(3);
	}
}

static void set_handlers(void)
{
	static const int ends[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP };
	stack_t stack = { .ss_sp = handler_stack, .ss_size = sizeof(handler_stack) };
	struct sigaction start = { .sa_sigaction = on_start, .sa_flags = SA_SIGINFO | SA_ONSTACK };
	struct sigaction end = { .sa_sigaction = on_end, .sa_flags = SA_SIGINFO | SA_ONSTACK };

	sigaltstack(&stack, NULL);
	sigaction(SIGUSR1, &start, NULL);
	for (size_t k = 0; k < sizeof(ends) / sizeof(ends[0]); k++)
		sigaction(ends[k], &end, NULL);
}

static void run_native(const struct rp_request *q)
{
	native.q = q;
	raise(SIGUSR1);
}

/* ---- both ways ---- */

static void say(const uint32_t *code, unsigned n, const char *what)
{
	tally.differ++;
	printf("# %s:", what);
	for (unsigned k = 0; k < n; k++)
		printf(" %08x", code[k]);
	printf("\n");
}

static void compare(const uint32_t *code, unsigned n, const struct rp_reply *p)
{
	char what[160];

	for (unsigned k = 0; k < RP_N_GPRS; k++)
		if (native.regs.gpr[k] != p->regs.gpr[k]) {
			snprintf(what, sizeof(what), "x%u is %#jx, replayed %#jx", k,
			         (uintmax_t)native.regs.gpr[k], (uintmax_t)p->regs.gpr[k]);
			say(code, n, what);
			return;
		}
	if (native.regs.sp != p->regs.sp || native.regs.ip != p->regs.ip ||
	    (native.regs.flags ^ p->regs.flags) & 0xf0000000) {
		snprintf(what, sizeof(what), "ip %#jx sp %#jx flags %#jx, replayed %#jx %#jx %#jx",
		         (uintmax_t)native.regs.ip, (uintmax_t)native.regs.sp, (uintmax_t)native.regs.flags,
		         (uintmax_t)p->regs.ip, (uintmax_t)p->regs.sp, (uintmax_t)p->regs.flags);
		say(code, n, what);
		return;
	}
	if (memcmp(native.vectors, p->vectors, 520) != 0) {
		say(code, n, "vectors");
		return;
	}
	memcpy(expected, before, DATA_BYTES);
	for (uint32_t i = 0; i < p->n_pages; i++)
		if (p->pages[i] >= DATA_AT && p->pages[i] < DATA_AT + DATA_BYTES)
			memcpy(expected + (p->pages[i] - DATA_AT), RP_SHARED->frames[p->frames[i]], RP_PAGE);
	for (unsigned k = 0; k < DATA_BYTES; k++)
		if (expected[k] != after[k]) {
			snprintf(what, sizeof(what), "memory at %#lx is %#x, replayed %#x", DATA_AT + k,
			         after[k], expected[k]);
			say(code, n, what);
			return;
		}
	tally.same++;
}

/* A store may have hit it too. */
static void clear_code(void)
{
	uint32_t *code = (uint32_t *)CODE_AT;

	for (size_t k = 0; k < CODE_BYTES / 4; k++)
		if (code[k] != BRK) {
			code[k] = BRK;
			__builtin___clear_cache((char *)&code[k], (char *)&code[k + 1]);
		}
}

/* A store may hit what is ours. */
static bool writes_elsewhere(const struct rp_reply *p)
{
	for (uint32_t i = 0; i < p->n_pages; i++)
		if (p->written[i] && p->pages[i] - DATA_AT >= DATA_BYTES &&
		    p->pages[i] - CODE_AT >= CODE_BYTES)
			return true;
	return false;
}

static void try_stretch(void)
{
	struct rp_request *q = &RP_SHARED->request;
	const struct rp_reply *p = &RP_SHARED->reply;
	uint64_t ip = CODE_AT + RP_PAGE + (rnd() % 4 ? rnd() % 900 : 1024 - rnd() % 12) * 4;
	uint32_t code[MAX_LENGTH + 4];
	unsigned n = 0, want = 1 + rnd() % MAX_LENGTH;
	uint8_t padding[64];

	if (rnd() % 16 == 0)
		n = put_exclusives(code);
	while (n < want)
		if (choose_insn(&code[n]))
			n++;
	memcpy((void *)ip, code, 4 * n);
	__builtin___clear_cache((char *)ip, (char *)ip + 4 * n);
	/* What the last stretch left behind, as new data: small numbers, and others. */
	random_bytes(padding, sizeof(padding));
	memcpy((void *)(DATA_AT + rnd() % (DATA_BYTES - 64)), padding, sizeof(padding));
	prepare(q, ip);
	memcpy(before, (void *)DATA_AT, DATA_BYTES);
	rp_run();
	tally.ends[p->end]++;
	native.signal = 0;
	if ((p->end == RP_END_TRAP || p->end == RP_END_FAULT) && !writes_elsewhere(p))
		run_native(q);
	memcpy(after, (void *)DATA_AT, DATA_BYTES);
	if (!native.signal)
		tally.skipped++; /* a loop for ever, code that was written */
	else if (p->end == RP_END_TRAP && native.signal == SIGTRAP)
		compare(code, n, p);
	else if (p->end == RP_END_FAULT && native.signal != SIGTRAP)
		tally.faults++;
	else if (p->at_ip < CODE_AT || p->at_ip >= CODE_AT + CODE_BYTES)
		tally.skipped++; /* what is no code is run as if it were */
	else {
		char what[64];

		snprintf(what, sizeof(what), "signal %d, replayed an end of kind %u", native.signal, p->end);
		say(code, n, what);
	}
	clear_code();
}

/*
 * What this processor signed is a pointer again when its authentication was replayed.  The hints do
 * nothing on a processor that signs nothing.
 */
static void try_signatures(void)
{
	static const uint32_t pairs[][2] = {
		{ 0xdac10020, 0xdac11020 }, /* pacia, autia x0, x1 */
		{ 0xdac10420, 0xdac11420 }, /* pacib */
		{ 0xdac10820, 0xdac11820 }, /* pacda */
		{ 0xdac10c20, 0xdac11c20 }, /* pacdb */
		{ 0xdac123e0, 0xdac133e0 }, /* paciza, autiza x0 */
		{ 0xd503233f, 0xd50323bf }, /* paciasp, autiasp */
		{ 0xd503237f, 0xd50323ff }, /* pacibsp */
		{ 0xd503211f, 0xd503219f }, /* pacia1716 */
	};
	struct rp_request *q = &RP_SHARED->request;
	const struct rp_reply *p = &RP_SHARED->reply;
	uint32_t *code = (uint32_t *)(CODE_AT + RP_PAGE);

	for (size_t k = signs ? 0 : 5; k < sizeof(pairs) / sizeof(pairs[0]); k++) {
		struct rp_registers first;

		code[0] = pairs[k][0];
		__builtin___clear_cache((char *)code, (char *)(code + 1));
		prepare(q, (uintptr_t)code);
		q->regs.gpr[0] = q->regs.gpr[17] = q->regs.gpr[30] = DATA_AT + 16;
		first = q->regs;
		run_native(q);
		memcpy(q->regs.gpr, native.regs.gpr, sizeof(q->regs.gpr));
		code[0] = pairs[k][1];
		rp_run();
		if (p->end != RP_END_TRAP || memcmp(first.gpr, p->regs.gpr, sizeof(first.gpr)) != 0)
			say(pairs[k], 2, "signed, authenticated");
		code[0] = BRK;
	}
}

static int map_at(uint64_t at, size_t n, int prot)
{
	int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE;

	return mmap((void *)at, n, prot, flags, -1, 0) == (void *)at ? 0 : -1;
}

static int map_all(void)
{
	int fd = open("/proc/self/mem", O_RDONLY | O_CLOEXEC), all = PROT_READ | PROT_WRITE | PROT_EXEC;
	char byte;

	if (map_at(CODE_AT, CODE_BYTES, all) < 0 || map_at(DATA_AT, DATA_BYTES, PROT_READ | PROT_WRITE) < 0 ||
	    map_at(RP_AT_CONTEXT, sizeof(*RP_CONTEXT), PROT_READ | PROT_WRITE) < 0 ||
	    map_at(RP_AT_WINDOW, RP_WINDOW_PAGES * RP_PAGE, PROT_READ | PROT_WRITE) < 0 ||
	    map_at(RP_AT_SHARED, sizeof(*RP_SHARED), PROT_READ | PROT_WRITE) < 0 ||
	    map_at(RP_AT_CODE, RP_CODE_BYTES, all) < 0) {
		perror("mmap");
		return -1;
	}
	/* An emulator may have a program's memory at other addresses. */
	*(char *)DATA_AT = 42;
	if (pread(fd, &byte, 1, DATA_AT) != 1 || byte != 42) {
		fprintf(stderr, "this process can't read its memory by /proc/self/mem\n");
		return -1;
	}
	rp_pages_source(fd);
	/* The emulator knows changed code by the place that it is changed at. */
	rp_run_init((uint8_t *)(uintptr_t)RP_AT_CODE);
	clear_code();
	random_bytes((uint8_t *)DATA_AT, DATA_BYTES);
	return 0;
}

int main(int argc, char **argv)
{
	uint64_t probe = DATA_AT;
	register uint64_t link __asm__("x30");
	unsigned long cases;

	if (argc < 4)
		return 2;
	link = probe;
	__asm__ volatile("hint #25" : "+r"(link)); /* paciasp */
	signs = link != probe;
	cases = strtoul(argv[1], NULL, 0);
	state = strtoul(argv[2], NULL, 0) * 2 + 1;
	corpus = calloc(MAX_INSNS, sizeof(*corpus));
	for (int i = 3; i < argc; i++)
		if (!gather_file(argv[i], EM_AARCH64, gather_section))
			return 2;
	if (map_all() < 0)
		return 77;
	set_handlers();
	try_signatures();
	for (unsigned long k = 0; k < cases && tally.differ < 50; k++)
		try_stretch();
	printf("corpus %zu same %lu faults %lu differ %lu skipped %lu accesses %lu branches %lu%s\n",
	       n_corpus, tally.same, tally.faults, tally.differ, tally.skipped, tally.memory, tally.branches,
	       signs ? " signs" : "");
	return tally.differ != 0 || tally.same < cases / 4;
}
