/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * replay_fuzz CASES SEED FILE...: instructions of the files' code, as they are and with other operands, each with random
 * registers, vectors and memory: once replayed, once stepped by the processor.  Both must leave the same state behind.
 */
#include <capstone/capstone.h>
#include <cpuid.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "profiler/base/err.h"
#include "profiler/pmu/replayer.h"
#include "profiler/replay/x86/decode.h"
#include "tests/e2e/replay_fuzz.h"

#define CODE_AT 0x30000000ul
#define DATA_AT 0x123456780000ul
enum {
	CODE_BYTES = 8192,
	DATA_PAGES = 16,
	DATA_BYTES = DATA_PAGES * RP_PAGE,
	MAX_INSNS = 400000,
	MAX_CLASSES = 1 << 16,
	A_CLASS = 12, /* instructions kept of each kind */
	FLAGS = 0xcd5,
};

/* So long is for a replayer that hangs: one that waits for its turn on a busy machine is no difference. */
static const uint64_t may_ns = 60000000000u;

struct insn {
	uint8_t len, code[RP_MAX_INSN_BYTES];
};

static struct insn *corpus;
static size_t n_corpus;
static uint8_t classes[MAX_CLASSES];
static uint8_t before[DATA_BYTES], after[DATA_BYTES], expected[DATA_BYTES];
static unsigned xsave_bytes, ymm_at, k_at, zmm_at, hi_zmm_at, features;

static struct tally {
	unsigned long same, faults, differ, ends[RP_N_ENDS], skipped;
} tally;

static unsigned class_of(const struct rp_insn *i)
{
	unsigned group = i->has_modrm ? i->reg & 7 : 0;

	return (unsigned)((i->encoding * 7u + i->map) * 2654435761u ^ i->opcode * 40503u ^ group * 977u ^
	                  i->opsize * 13u ^ i->rep * 31u ^ i->wide * 71u ^ i->mem * 151u ^ i->lock * 313u ^
	                  i->vector_log2 * 617u ^ i->broadcast * 1201u ^ (i->rex != 0) * 2377u ^
	                  (i->segment != 0) * 4001u ^ (i->mask != 0) * 7001u) %
	       MAX_CLASSES;
}

static void gather_section(const uint8_t *code, size_t n)
{
	struct rp_insn i;

	for (size_t at = 0; at < n && n_corpus < MAX_INSNS; at += i.len) {
		if (!rp_decode(code + at, n - at, &i))
			return;
		if (classes[class_of(&i)] >= A_CLASS)
			continue;
		classes[class_of(&i)]++;
		corpus[n_corpus].len = i.len;
		memcpy(corpus[n_corpus++].code, code + at, i.len);
	}
}

/* ---- the process that runs them ---- */

static pid_t start_child(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		int all = PROT_READ | PROT_WRITE | PROT_EXEC;

		mmap((void *)CODE_AT, CODE_BYTES, all, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
		mmap((void *)DATA_AT, DATA_BYTES, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
		memset((void *)CODE_AT, 0x90, CODE_BYTES);
		memset((void *)DATA_AT, 1, DATA_BYTES);
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		for (;;)
			raise(SIGSTOP);
	}
	waitpid(pid, NULL, __WALL);
	return pid;
}

static void put_memory(pid_t pid, uint64_t at, const void *from, size_t n)
{
	struct iovec mine = { (void *)from, n }, theirs = { (void *)at, n };

	if (process_vm_writev(pid, &mine, 1, &theirs, 1, 0) != (ssize_t)n)
		abort();
}

static bool get_memory(pid_t pid, uint64_t at, void *to, size_t n)
{
	struct iovec mine = { to, n }, theirs = { (void *)at, n };

	return process_vm_readv(pid, &mine, 1, &theirs, 1, 0) == (ssize_t)n;
}

/* ---- random states ---- */

static uint64_t random_gpr(void)
{
	uint64_t r = rnd();

	switch (r % 8) {
	case 0:
		return rnd() % 64;
	case 1:
		return rnd();
	case 2: /* near the end of a page */
		return DATA_AT + (1 + r / 64 % (DATA_PAGES - 2)) * RP_PAGE - rnd() % 40;
	case 3:
		return DATA_AT + RP_PAGE + (rnd() % (DATA_BYTES - 2 * RP_PAGE) & ~7ull);
	case 4: /* where memory begins or ends */
		return DATA_AT + (r & 64 ? 0 : DATA_BYTES) + r / 128 % 96 - 64;
	default:
		return DATA_AT + RP_PAGE + (rnd() % (DATA_BYTES - 2 * RP_PAGE) & ~63ull);
	}
}

static void random_vectors(uint8_t *x)
{
	uint64_t bv = 3 | (features & 0xe4);
	static uint8_t x87[16];

	memset(x + 512, 0, 64);
	memcpy(x + 512, &bv, 8);
	random_bytes(x + 160, 256);
	for (unsigned k = 0; k < 8; k++) {
		uint64_t m = rnd();
		uint16_t e = (uint16_t)(0x3fff + rnd() % 8);

		/* Normal numbers of 80 bits. */
		m |= 1ull << 63;
		memcpy(x87, &m, 8);
		memcpy(x87 + 8, &e, 2);
		memcpy(x + 32 + 16 * k, x87, 16);
	}
	x[4] = (uint8_t)(rnd() % 3 ? 0 : 0xff);
	if (features & 4)
		random_bytes(x + ymm_at, 256);
	if (features & 0x20)
		random_bytes(x + k_at, 64);
	if (features & 0x40)
		random_bytes(x + zmm_at, 512);
	if (features & 0x80)
		random_bytes(x + hi_zmm_at, 1024);
}

/* ---- instructions ---- */

static bool is_of_its_moment(const struct rp_insn *i)
{
	if (i->kind == RP_PUSHF || i->kind == RP_POPF)
		return true; /* they see the trap flag that steps the thread */
	if (i->map == 1 && i->encoding == RP_LEGACY) {
		if (i->opcode == 0x31 || i->opcode == 0xa2 || i->opcode == 0x01)
			return true;
		/* rdrand, rdseed, rdpid; what is written of x87's last instruction */
		if (i->opcode == 0xc7 && !i->mem)
			return true;
		if (i->opcode == 0xae && i->mem && (i->reg & 7) != 2 && (i->reg & 7) != 3)
			return true;
		if (i->opcode == 0x02 || i->opcode == 0x03)
			return true;
	}
	if (i->map == 0 && ((i->opcode == 0xd9 && i->mem && (i->reg & 7) == 6) ||
	                    (i->opcode == 0xdd && i->mem && (i->reg & 7) == 6)))
		return true;
	return false;
}

/* What compilers hardly make: mov of an address of 64 and 32 bits, enter, masked stores. */
static void choose_rare(struct insn *out)
{
	static const struct insn rare[] = {
		{ 9, { 0xa0 } },
		{ 9, { 0xa1 } },
		{ 10, { 0x48, 0xa1 } },
		{ 10, { 0x66, 0xa1 } },
		{ 9, { 0xa2 } },
		{ 10, { 0x48, 0xa3 } },
		{ 10, { 0x66, 0xa3 } },
		{ 10, { 0x64, 0xa3 } },
		{ 6, { 0x67, 0xa1 } },
		{ 4, { 0xc8, 0x20, 0x00, 0x00 } },
		{ 4, { 0xc8, 0x00, 0x01, 0x01 } },
		{ 4, { 0xc8, 0x08, 0x00, 0x03 } },
		{ 4, { 0x66, 0x0f, 0xf7, 0xc1 } },
		{ 3, { 0x0f, 0xf7, 0xd3 } },
		{ 5, { 0x67, 0x66, 0x0f, 0xf7, 0xca } },
		{ 5, { 0x64, 0x66, 0x0f, 0xf7, 0xca } },
		{ 4, { 0xc5, 0xf9, 0xf7, 0xd3 } },
	};
	uint64_t at = rnd() % 4 ? DATA_AT + rnd() % DATA_BYTES : random_gpr();

	*out = rare[rnd() % (sizeof(rare) / sizeof(rare[0]))];
	if (out->len > 8)
		memcpy(out->code + out->len - 8, &at, 8);
	else if (out->len == 6)
		at = CODE_AT + rnd() % CODE_BYTES, memcpy(out->code + 2, &at, 4);
}

static void choose_insn(struct insn *out)
{
	struct rp_insn i;

	if (rnd() % 64 == 0) {
		choose_rare(out);
		return;
	}
	*out = corpus[rnd() % n_corpus];
	if (!rp_decode(out->code, out->len, &i) || !i.has_modrm || rnd() % 3 == 0)
		return;
	/* Other operands: what follows is random as well, and may be part of it. */
	for (unsigned k = out->len; k < RP_MAX_INSN_BYTES; k++)
		out->code[k] = (uint8_t)rnd();
	out->code[i.modrm_off] = (uint8_t)((out->code[i.modrm_off] & (rnd() % 2 ? 0xf8 : 0x38)) |
	                                   (rnd() & (rnd() % 2 ? 7 : 0x47)));
	if (i.encoding == RP_LEGACY && i.rex)
		out->code[i.n_prefixes] ^= (uint8_t)(rnd() & 7);
	if (i.encoding == RP_EVEX)
		out->code[i.n_prefixes + 3u] ^= (uint8_t)(rnd() & 0x87);
	if (!rp_decode(out->code, RP_MAX_INSN_BYTES, &i)) {
		*out = corpus[0];
		return;
	}
	/* Displacements that leave the data alone are faults, and little is learnt of those. */
	if (i.mem && i.mod == 2 && i.imm_off >= 4)
		memset(out->code + i.imm_off - 3, (i.disp & 1) ? 0 : 0xff, 3),
		        out->code[i.imm_off - 4] |= out->code[i.imm_off - 1] & 0x80;
	out->len = i.len;
}

/* ---- both ways ---- */

static void to_user(const struct rp_registers *r, struct user_regs_struct *u)
{
	u->rax = r->gpr[0], u->rcx = r->gpr[1], u->rdx = r->gpr[2], u->rbx = r->gpr[3];
	u->rsp = r->gpr[4], u->rbp = r->gpr[5], u->rsi = r->gpr[6], u->rdi = r->gpr[7];
	u->r8 = r->gpr[8], u->r9 = r->gpr[9], u->r10 = r->gpr[10], u->r11 = r->gpr[11];
	u->r12 = r->gpr[12], u->r13 = r->gpr[13], u->r14 = r->gpr[14], u->r15 = r->gpr[15];
	u->rip = r->ip, u->eflags = r->flags, u->fs_base = r->fs_base, u->gs_base = r->gs_base;
	u->orig_rax = (unsigned long long)-1;
}

static void from_user(const struct user_regs_struct *u, struct rp_registers *r)
{
	const uint64_t gpr[] = { u->rax, u->rcx, u->rdx, u->rbx, u->rsp, u->rbp, u->rsi, u->rdi,
		                 u->r8,  u->r9,  u->r10, u->r11, u->r12, u->r13, u->r14, u->r15 };

	memcpy(r->gpr, gpr, sizeof(gpr));
	r->ip = u->rip, r->flags = u->eflags, r->fs_base = u->fs_base, r->gs_base = u->gs_base;
}

/* True when it ran; its repeated turns are steps of their own. */
static bool run_native(pid_t pid, const struct rp_request *q, bool repeats, struct rp_registers *out,
                       uint8_t *xsave, size_t n)
{
	struct user_regs_struct u;
	struct iovec general = { &u, sizeof(u) }, vectors = { (void *)q->vectors, n };
	int status;

	ptrace(PTRACE_GETREGSET, pid, (void *)NT_PRSTATUS, &general);
	to_user(&q->regs, &u);
	if (ptrace(PTRACE_SETREGSET, pid, (void *)NT_PRSTATUS, &general) < 0 ||
	    ptrace(PTRACE_SETREGSET, pid, (void *)NT_X86_XSTATE, &vectors) < 0) {
		perror("SETREGSET");
		exit(1);
	}
	do {
		ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL);
		if (waitpid(pid, &status, __WALL) != pid || !WIFSTOPPED(status)) {
			printf("# the child ended: %#x\n", status);
			exit(1);
		}
		if (WSTOPSIG(status) != SIGTRAP)
			return false;
		ptrace(PTRACE_GETREGSET, pid, (void *)NT_PRSTATUS, &general);
	} while (repeats && u.rip == q->regs.ip);
	vectors.iov_base = xsave;
	ptrace(PTRACE_GETREGSET, pid, (void *)NT_X86_XSTATE, &vectors);
	from_user(&u, out);
	return true;
}

static const char *differing_part(const uint8_t *a, const uint8_t *b)
{
	uint64_t bv_a, bv_b;
	static const uint8_t zero[1024];
	const struct {
		const char *name;
		unsigned bit, at, n;
	} parts[] = { { "x87 control", 0, 0, 6 }, { "x87", 0, 32, 128 },
		      { "mxcsr", 1, 24, 4 },      { "xmm", 1, 160, 256 },
		      { "ymm", 2, ymm_at, 256 },  { "k", 5, k_at, 64 },
		      { "zmm", 6, zmm_at, 512 },  { "zmm16-31", 7, hi_zmm_at, 1024 } };

	memcpy(&bv_a, a + 512, 8);
	memcpy(&bv_b, b + 512, 8);
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		const uint8_t *pa = a + parts[i].at, *pb = b + parts[i].at;

		if (!(features >> parts[i].bit & 1))
			continue;
		/* A component that is as it is after a reset need not be saved. */
		if (parts[i].bit >= 2 || i == 3) {
			pa = bv_a >> parts[i].bit & 1 ? pa : zero;
			pb = bv_b >> parts[i].bit & 1 ? pb : zero;
		} else if (!(bv_a & 1) || !(bv_b & 1)) {
			if (parts[i].bit == 0)
				continue;
		}
		if (memcmp(pa, pb, parts[i].n) != 0)
			return parts[i].name;
	}
	return NULL;
}

static void say(const struct insn *in, const char *what, const struct rp_request *q)
{
	csh h;
	cs_insn *i;

	tally.differ++;
	printf("# %s:", what);
	for (unsigned k = 0; k < in->len; k++)
		printf(" %02x", in->code[k]);
	if (cs_open(CS_ARCH_X86, CS_MODE_64, &h) == CS_ERR_OK) {
		size_t n = cs_disasm(h, in->code, in->len, q->regs.ip, 1, &i);

		if (n) {
			printf("  %s %s", i->mnemonic, i->op_str);
			cs_free(i, n);
		}
		cs_close(&h);
	}
	printf("\n");
}

static void compare(const struct insn *in, struct replayer *r, const struct rp_request *q,
                    const struct rp_reply *p, const struct rp_registers *native, const uint8_t *xsave)
{
	char what[160];
	const char *part;

	for (unsigned k = 0; k < RP_N_GPRS; k++)
		if (native->gpr[k] != p->regs.gpr[k]) {
			snprintf(what, sizeof(what), "register %u is %#jx, replayed %#jx", k,
			         (uintmax_t)native->gpr[k], (uintmax_t)p->regs.gpr[k]);
			say(in, what, q);
			return;
		}
	if (native->ip != p->regs.ip || (native->flags ^ p->regs.flags) & FLAGS ||
	    native->fs_base != p->regs.fs_base || native->gs_base != p->regs.gs_base) {
		snprintf(what, sizeof(what), "ip %#jx flags %#jx, replayed %#jx %#jx", (uintmax_t)native->ip,
		         (uintmax_t)native->flags & FLAGS, (uintmax_t)p->regs.ip,
		         (uintmax_t)p->regs.flags & FLAGS);
		say(in, what, q);
		return;
	}
	part = differing_part(xsave, p->vectors);
	if (part) {
		say(in, part, q);
		return;
	}
	memcpy(expected, before, DATA_BYTES);
	for (uint32_t i = 0; i < p->n_pages; i++)
		if (p->pages[i] >= DATA_AT && p->pages[i] < DATA_AT + DATA_BYTES)
			memcpy(expected + (p->pages[i] - DATA_AT), replayer_page(r, i), RP_PAGE);
	if (memcmp(expected, after, DATA_BYTES) != 0) {
		say(in, "memory", q);
		return;
	}
	tally.same++;
}

static bool is_canonical(uint64_t ip)
{
	return (int64_t)(ip << 16) >> 16 == (int64_t)ip;
}

static void prepare(struct rp_request *q, const struct rp_insn *i, uint64_t ip)
{
	for (unsigned k = 0; k < RP_N_GPRS; k++)
		q->regs.gpr[k] = random_gpr();
	q->regs.gpr[RP_RSP] = DATA_AT + RP_PAGE + rnd() % (DATA_BYTES - 2 * RP_PAGE);
	if (rnd() % 4)
		q->regs.gpr[RP_RSP] &= ~7ull;
	if (i->kind == RP_STRING || i->kind == RP_LOOP)
		q->regs.gpr[RP_RCX] = rnd() % 40;
	if (i->kind == RP_BIT)
		q->regs.gpr[i->reg & 15] = rnd() % 4096;
	/* One index beside a base is enough of an address. */
	if (i->mem && i->index != RP_NO_REG && i->kind != RP_GATHER && i->index != i->base)
		q->regs.gpr[i->index & 15] = rnd() % 128 - 64;
	q->regs.flags = (rnd() & 0x8d5) | 0x202 | (rnd() % 8 ? 0 : 0x400);
	q->regs.ip = ip;
	q->regs.fs_base =
	        i->segment == 0x64 && i->base != RP_NO_REG ? rnd() % 4096 : DATA_AT + RP_PAGE + rnd() % 4096;
	q->regs.gs_base =
	        i->segment == 0x65 && i->base != RP_NO_REG ? rnd() % 4096 : DATA_AT + RP_PAGE + rnd() % 4096;
	random_vectors(q->vectors);
	q->flags = RP_WANT_STATE;
	q->n_insns = 1;
}

static void try_insn(struct replayer *r, pid_t pid)
{
	static uint8_t xsave[RP_VECTORS_BYTES] __attribute__((aligned(64)));
	static uint8_t padding[64];
	struct rp_request *q = replayer_request(r);
	struct rp_registers native = { 0 };
	const struct rp_reply *p;
	struct rp_insn i;
	struct insn in;
	uint64_t ip = CODE_AT + (rnd() % 4 ? rnd() % 4096 : 4096 - rnd() % 16);
	bool ran;

	choose_insn(&in);
	if (!rp_decode(in.code, in.len, &i) || is_of_its_moment(&i)) {
		tally.skipped++;
		return;
	}
	put_memory(pid, ip, in.code, in.len);
	/* What the last access left behind, as new data: small numbers, and others. */
	random_bytes(padding, sizeof(padding));
	put_memory(pid, DATA_AT + rnd() % (DATA_BYTES - 64), padding, sizeof(padding));
	prepare(q, &i, ip);
	get_memory(pid, DATA_AT, before, DATA_BYTES);
	replayer_follow(r, -1);
	p = replayer_run(r, pid, 1000, may_ns);
	if (!p) {
		say(&in, "the replayer died of", q);
		return;
	}
	tally.ends[p->end]++;
	if (p->end != RP_END_WHOLE && p->end != RP_END_FAULT) {
		if (p->end == RP_END_INSTRUCTION && getenv("SAY_UNKNOWN"))
			say(&in, "unknown", q), tally.differ--;
		return;
	}
	/* A gather whose first elements are there is trapped before it faults at the next one. */
	ran = run_native(pid, q, i.kind == RP_STRING || i.kind == RP_GATHER, &native, xsave, xsave_bytes);
	if (ran && p->end == RP_END_WHOLE && !is_canonical(native.ip))
		return;
	get_memory(pid, DATA_AT, after, DATA_BYTES);
	if (!ran && (p->end == RP_END_FAULT || !is_canonical(p->regs.ip)))
		tally.faults++;
	else if (ran != (p->end == RP_END_WHOLE))
		say(&in, ran ? "replayed it faults" : "it faults, and not replayed", q);
	else
		compare(&in, r, q, p, &native, xsave);
}

static void find_features(void)
{
	unsigned a, b, c, d;

	__cpuid_count(0xd, 0, a, b, c, d);
	features = a & 0xe7;
	xsave_bytes = b;
	__cpuid_count(0xd, 2, a, b, c, d);
	ymm_at = b;
	__cpuid_count(0xd, 5, a, b, c, d);
	k_at = b;
	__cpuid_count(0xd, 6, a, b, c, d);
	zmm_at = b;
	__cpuid_count(0xd, 7, a, b, c, d);
	hi_zmm_at = b;
}

int main(int argc, char **argv)
{
	struct replayer *r;
	unsigned long cases;
	struct iovec v;
	pid_t pid;

	if (argc < 4)
		return 2;
	cases = strtoul(argv[1], NULL, 0);
	state = strtoul(argv[2], NULL, 0) * 2 + 1;
	corpus = calloc(MAX_INSNS, sizeof(*corpus));
	for (int i = 3; i < argc; i++)
		gather_file(argv[i], EM_X86_64, gather_section);
	if (replayer_start(&r) < 0) {
		fprintf(stderr, "%s\n", sp_error_text());
		return 77;
	}
	find_features();
	pid = start_child();
	v = (struct iovec){ replayer_request(r)->vectors, RP_VECTORS_BYTES };
	ptrace(PTRACE_GETREGSET, pid, (void *)NT_X86_XSTATE, &v);
	xsave_bytes = (unsigned)v.iov_len;
	for (unsigned long k = 0; k < cases && tally.differ < 200; k++)
		try_insn(r, pid);
	kill(pid, SIGKILL);
	replayer_stop(r);
	printf("corpus %zu same %lu faults %lu differ %lu skipped %lu ends", n_corpus, tally.same,
	       tally.faults, tally.differ, tally.skipped);
	for (uint32_t i = 0; i < RP_N_ENDS; i++)
		if (tally.ends[i])
			printf(" [%s: %lu]", replayer_end_words(i), tally.ends[i]);
	printf("\n");
	return tally.differ != 0;
}
