/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/pmu/burst.h"

#include <elf.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "profiler/base/clock.h"
#include "profiler/pmu/corefreq.h"
#include "profiler/pmu/replayer.h"
#include "profiler/pmu/time_path.h"
#include "profiler/pmu/waited.h"

#if defined(__x86_64__)
typedef struct user_regs_struct regs_type;
#define REGS_IP(r) ((r)->rip)
#else
typedef struct user_regs_struct regs_type;
#define REGS_IP(r) ((r)->pc)
#endif

enum { N_PAGES = 8, PAGE = 4096 };

/*
 * A thread that runs on another CPU stops within some ten microseconds.  Who sleeps till then leaves a CPU idle, and in a virtual
 * machine that takes several times as long to wake.
 */
enum { AWAKE_NS = 50000 };

/* The frequency takes some fifty microseconds to measure, as long as a short burst, and doesn't change that fast. */
enum { CORE_HZ_EVERY_NS = 250000000 };

/* Code of the stepped process, read a page at a time and forgotten with the burst. */
struct code {
	pid_t tid;
	struct {
		uint64_t ip;
		size_t n; /* bytes there are; 0 = empty */
		uint8_t bytes[PAGE];
	} pages[N_PAGES];
};

static size_t read_code(pid_t tid, uint64_t ip, uint8_t *out, size_t n)
{
	struct iovec mine = { out, n }, theirs = { (void *)(uintptr_t)ip, n };
	ssize_t got = process_vm_readv(tid, &mine, 1, &theirs, 1, 0);

	return got > 0 ? (size_t)got : 0;
}

/* The bytes at ip; an instruction that ends on the next page is read by itself. */
static const uint8_t *code_at(struct code *c, uint64_t ip, uint8_t buf[STEP_MAX_INSN_BYTES], size_t *n)
{
	uint64_t base = ip & ~(uint64_t)(PAGE - 1);
	size_t slot = (ip / PAGE) % N_PAGES, off = ip - base;

	if (off + STEP_MAX_INSN_BYTES > PAGE) {
		size_t here = PAGE - off;

		/* The next page may not be there, and needn't be. */
		*n = read_code(c->tid, ip, buf, STEP_MAX_INSN_BYTES);
		if (!*n)
			*n = read_code(c->tid, ip, buf, here);
		return buf;
	}
	if (c->pages[slot].ip != base || !c->pages[slot].n) {
		c->pages[slot].ip = base;
		c->pages[slot].n = read_code(c->tid, base, c->pages[slot].bytes, PAGE);
	}
	*n = c->pages[slot].n > off ? c->pages[slot].n - off : 0;
	return c->pages[slot].bytes + off;
}

static int get_regs(pid_t tid, regs_type *regs)
{
	struct iovec v = { regs, sizeof(*regs) };

	return ptrace(PTRACE_GETREGSET, tid, (void *)NT_PRSTATUS, &v) < 0 ? -1 : 0;
}

#if defined(__x86_64__)

static bool in_syscall(pid_t tid, const regs_type *regs)
{
	(void)tid;
	return (int64_t)regs->orig_rax >= 0;
}

/*
 * Some system calls (epoll_wait, semop, sigtimedwait) answer a stop with EINTR
 * although no signal was handled.  Then no signal is waiting either, and the
 * call can be made again as if nothing had been.
 */
static void mend_syscall(pid_t tid, const regs_type *regs)
{
	regs_type again = *regs;
	struct iovec v = { &again, sizeof(again) };

	if ((int64_t)regs->rax != -EINTR)
		return;
	again.rax = regs->orig_rax;
	again.orig_rax = (uint64_t)-1;
	again.rip -= 2;
	ptrace(PTRACE_SETREGSET, tid, (void *)NT_PRSTATUS, &v);
}

#else

#ifndef NT_ARM_SYSTEM_CALL
#define NT_ARM_SYSTEM_CALL 0x404
#endif

static bool in_syscall(pid_t tid, const regs_type *regs)
{
	int number = -1;
	struct iovec v = { &number, sizeof(number) };

	(void)regs;
	return ptrace(PTRACE_GETREGSET, tid, (void *)NT_ARM_SYSTEM_CALL, &v) == 0 && number != -1;
}

/* The call's first argument is overwritten by its result and kept where a tracer can't see it. */
static void mend_syscall(pid_t tid, const regs_type *regs)
{
	(void)tid;
	(void)regs;
}

#endif

#if defined(__x86_64__)

/* ax to ip, r8 to r15 */
uint64_t burst_regs_mask(void)
{
	return UINT64_C(0xff01ff);
}

static uint32_t list_regs(const regs_type *r, uint64_t *out, uint64_t *sp)
{
	const uint64_t all[] = { r->rax, r->rbx, r->rcx, r->rdx, r->rsi, r->rdi, r->rbp, r->rsp, r->rip,
		                 r->r8,  r->r9,  r->r10, r->r11, r->r12, r->r13, r->r14, r->r15 };

	*sp = r->rsp;
	memcpy(out, all, sizeof(all));
	return sizeof(all) / sizeof(*all);
}

#else

/* x0 to x30, sp, pc */
uint64_t burst_regs_mask(void)
{
	return UINT64_C(0x1ffffffff);
}

static uint32_t list_regs(const regs_type *r, uint64_t *out, uint64_t *sp)
{
	memcpy(out, r->regs, sizeof(r->regs));
	out[31] = *sp = r->sp;
	out[32] = r->pc;
	return 33;
}

#endif

/* Page by page, for the stack may end in the midst of it. */
static void take_stack(pid_t tid, const regs_type *regs, struct burst *b)
{
	struct iovec mine = { b->stack, sizeof(b->stack) }, theirs[BURST_STACK_BYTES / PAGE + 1];
	uint64_t sp, left = sizeof(b->stack);
	unsigned n = 0;
	ssize_t got;

	b->n_regs = list_regs(regs, b->regs, &sp);
	for (uint64_t at = sp; left; n++) {
		uint64_t len = PAGE - at % PAGE;

		len = len < left ? len : left;
		theirs[n] = (struct iovec){ (void *)(uintptr_t)at, len };
		at += len;
		left -= len;
	}
	got = process_vm_readv(tid, &mine, 1, theirs, n, 0);
	b->n_stack_bytes = got > 0 ? (uint32_t)got & ~7u : 0;
}

struct signals {
	unsigned long long pending, shared, blocked, ignored;
};

static bool read_signals(pid_t tid, struct signals *out)
{
	char path[64], line[256];
	FILE *f;

	*out = (struct signals){ 0 };
	snprintf(path, sizeof(path), "/proc/%d/status", (int)tid);
	f = fopen(path, "re");
	if (!f)
		return false;
	while (fgets(line, sizeof(line), f)) {
		sscanf(line, "SigPnd: %llx", &out->pending);
		sscanf(line, "ShdPnd: %llx", &out->shared);
		sscanf(line, "SigBlk: %llx", &out->blocked);
		sscanf(line, "SigIgn: %llx", &out->ignored);
	}
	fclose(f);
	return true;
}

/* Is a signal waiting that the thread would take?  Then a system call was interrupted for good reason. */
static bool signal_waits(pid_t tid)
{
	struct signals s;

	return !read_signals(tid, &s) || ((s.pending | s.shared) & ~s.blocked) != 0;
}

/*
 * A trap forces its signal on the thread: where SIGTRAP is blocked (as in its own handler) or
 * ignored, the kernel takes the program's choice back for good, and the next SIGTRAP would kill it.
 */
static bool takes_traps(pid_t tid)
{
	struct signals s;

	return read_signals(tid, &s) && !((s.blocked | s.ignored) >> (SIGTRAP - 1) & 1);
}

/* Wait for the thread, for so long without going to sleep; false when it is gone. */
static bool await(pid_t tid, int *status, uint64_t awake_ns)
{
	uint64_t until = awake_ns ? clock_ns(CLOCK_MONOTONIC) + awake_ns : 0;
	pid_t got = 0;

	while (got == 0 && awake_ns && clock_ns(CLOCK_MONOTONIC) < until)
		got = waitpid(tid, status, __WALL | WNOHANG);
	while (got == 0 || (got < 0 && errno == EINTR))
		got = waitpid(tid, status, __WALL);
	return got == tid && WIFSTOPPED(*status);
}

/*
 * A trap of our own making, as against a SIGTRAP that the program is sent, or that a breakpoint
 * instruction of its own made just before we came.
 */
static bool is_our_trap(pid_t tid, int status)
{
	siginfo_t info;

	if (WSTOPSIG(status) != SIGTRAP || status >> 16)
		return false;
	return ptrace(PTRACE_GETSIGINFO, tid, NULL, &info) == 0 && info.si_code == TRAP_TRACE;
}

/*
 * Let the thread go from the stop that `status` tells of.  A signal on its way goes on; a stop
 * of the whole process (SIGSTOP, Ctrl-Z) is left as it is.
 */
static void let_go(pid_t tid, int status, bool ours)
{
	long signal = ours || status >> 16 ? 0 : WSTOPSIG(status);

	ptrace(PTRACE_DETACH, tid, NULL, (void *)signal);
}

/* Steps until enough has been seen.  Returns how it ended; *status is the last stop, *ours whether we made it. */
static enum burst_end walk(struct step_decoder *d, const struct burst_limits *limits,
                           const volatile sig_atomic_t *stop, struct burst *b, int *status, bool *ours)
{
	struct code code = { .tid = b->tid };
	uint64_t ip = b->start_ip, until = b->time_ns + limits->held_ns;

	while (b->n < limits->n_stepped && b->n_steps < limits->n_steps && !*stop &&
	       clock_ns(CLOCK_MONOTONIC) < until) {
		uint8_t buf[STEP_MAX_INSN_BYTES];
		size_t n_bytes;
		const uint8_t *bytes = code_at(&code, ip, buf, &n_bytes);
		struct step_insn insn = step_decode(d, bytes, n_bytes, ip);
		regs_type regs;

		if (insn.kind == STEP_NEVER)
			return BURST_CUT;
		if (ptrace(PTRACE_SINGLESTEP, b->tid, NULL, NULL) < 0 || !await(b->tid, status, 0))
			return BURST_GONE;
		*ours = is_our_trap(b->tid, *status);
		if (!*ours)
			return BURST_SIGNAL;
		if (get_regs(b->tid, &regs) < 0)
			return BURST_GONE;
		b->n_steps++;
		switch (step_judge(insn, ip, REGS_IP(&regs))) {
		case STEP_SEEN_LOST:
			return BURST_CUT;
		case STEP_SEEN_TAKEN:
			b->branches[b->n++] = (struct burst_branch){ ip, REGS_IP(&regs) };
			break;
		case STEP_SEEN_ON:
			break;
		}
		ip = REGS_IP(&regs);
	}
	return BURST_WHOLE;
}

/*
 * True when it went somewhere, or the thread itself would go no further.  Also where the replayer was lost on its way, most
 * often because it did not get a CPU: the thread was held for long enough, and is not to be stepped besides.
 */
static bool replay(struct replayer *r, pid_t pid, const struct burst_limits *limits, struct burst *b)
{
	const struct rp_reply *reply;

	if (!r || !replayer_pid(r) || !replayer_take_registers(r, b->tid))
		return false;
	reply = replayer_run(r, pid, limits->n_branches, limits->replay_ns);
	if (!reply) {
		b->end = BURST_LOST;
		return !replayer_pid(r);
	}
	b->replay_end = (uint8_t)reply->end;
	b->n_pages = reply->n_pages;
	b->n_missed = reply->n_missed;
	if (!reply->n_branches && rp_end_is_ours(reply->end))
		return false;
	b->replayed = true;
	b->n = reply->n_branches < BURST_MAX_BRANCHES ? reply->n_branches : BURST_MAX_BRANCHES;
	for (uint32_t i = 0; i < b->n; i++)
		b->branches[i] =
		        (struct burst_branch){ reply->branches[i].from_ip, reply->branches[i].to_ip };
	b->end = reply->end == RP_END_WHOLE || reply->end == RP_END_TIME ? BURST_WHOLE : BURST_CUT;
	return true;
}

/* What the thread itself would not have gone is cut off. */
static void check(struct replayer *r, pid_t pid, struct burst *b)
{
	uint32_t end = b->replay_end, n = replayer_check(r, pid, &end);

	if (n >= b->n)
		return;
	b->n = n;
	b->replay_end = (uint8_t)end;
	b->end = BURST_CUT;
}

/* Is it running, and where?  *alone: its process has no other thread. */
static bool is_running(struct burst_tools *tools, struct burst *b, bool *alone)
{
	char text[1024];
	int field = 2, cpu = -1;
	const char *s;

	procfile_read(&tools->stat, b->tid, "stat", text, sizeof(text));
	/* The name may have spaces in it, and ends at the last parenthesis; the state follows, then threads are field 20, the CPU 39. */
	s = strrchr(text, ')');
	if (!s || s[1] != ' ' || s[2] != 'R')
		return false;
	for (; s && (s = strchr(s, ' ')); s++)
		if (++field == 20)
			*alone = atoi(s + 1) == 1;
		else if (field == 39)
			cpu = atoi(s + 1);
	if (cpu >= 0 && cpu < CPU_SETSIZE)
		b->cpu = (uint32_t)cpu;
	return true;
}

static void go_to_cpu(struct burst_tools *tools, uint32_t cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (!tools->pinned)
		sched_getaffinity(0, sizeof(tools->anywhere), &tools->anywhere);
	tools->pinned = true;
	sched_setaffinity(0, sizeof(set), &set);
}

static void go_anywhere(struct burst_tools *tools)
{
	if (tools->pinned)
		sched_setaffinity(0, sizeof(tools->anywhere), &tools->anywhere);
	tools->pinned = false;
}

/*
 * Between two steps the thread and we wait for each other, on one CPU that is a switch, across two a
 * wake-up: so who steps goes to the thread's CPU.  Who replays stays away until the thread has stopped: a
 * scheduler may let the thread run till it goes to sleep before it lets another one on that CPU ask for
 * the stop.  The replayer comes to us, for the same reason as we go to a thread.
 */
static void meet(struct burst_tools *tools, pid_t pid, uint32_t cpu)
{
	if (!tools->replayer) {
		go_to_cpu(tools, cpu);
		return;
	}
	replayer_follow(tools->replayer, sched_getcpu());
	replayer_open(tools->replayer, pid);
}

static void measure_core(struct burst_tools *tools, struct burst *b)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);

	/* Only the record of a burst has room for it. */
	if (!b->n || (tools->core_hz_ns && now - tools->core_hz_ns < CORE_HZ_EVERY_NS))
		return;
	tools->core_hz_ns = now;
	go_to_cpu(tools, b->cpu);
	b->core_hz = corefreq_measure_hz();
}

/* What those who have a part in a burst have waited for a CPU so far, and used of one. */
struct use {
	uint64_t own_waited, thread_waited;
	uint64_t own_ran, replayer_ran, thread_ran;
	uint64_t process_ran; /* that of the thread, where it is the only one; 0 else */
};

/* What was used alone, where nobody's waits are asked for. */
static struct use look_at_work(struct burst_tools *tools)
{
	return (struct use){ .own_ran = clock_ns(CLOCK_PROCESS_CPUTIME_ID),
		             .replayer_ran =
		                     clock_cpu_ns(tools->replayer ? replayer_pid(tools->replayer) : 0) };
}

static struct use look_at_use(struct burst_tools *tools, pid_t tid, bool alone)
{
	const struct turns own = waited_look(&tools->own_turns, getpid()),
	                   thread = waited_look(&tools->turns, tid);

	return (struct use){ .own_waited = own.waited_ns,
		             .thread_waited = thread.waited_ns,
		             .own_ran = clock_ns(CLOCK_PROCESS_CPUTIME_ID),
		             .replayer_ran =
		                     clock_cpu_ns(tools->replayer ? replayer_pid(tools->replayer) : 0),
		             .thread_ran = thread.ran_ns,
		             .process_ran = alone ? clock_cpu_ns(tid) : 0 };
}

/* One that stopped at once had no time to wait, and is held while we look: what others used is as it was. */
static struct use look_when_stopped(struct burst_tools *tools, pid_t tid, bool alone, const struct use *asked)
{
	struct use now = look_at_work(tools);

	now.own_waited = asked->own_waited;
	now.thread_waited = asked->thread_waited;
	now.thread_ran = asked->thread_ran;
	now.process_ran = alone ? clock_cpu_ns(tid) : 0;
	return now;
}

static uint64_t difference(uint64_t more, uint64_t less)
{
	return more > less ? more - less : 0;
}

/* While the thread was stopped. */
static uint64_t ran_stopped_ns(const struct use use[3])
{
	return difference(use[2].own_ran, use[1].own_ran) +
	       difference(use[2].replayer_ran, use[1].replayer_ran);
}

/*
 * Until it stopped the thread ran on, or waited for a CPU; when it had, we were woken, and may have waited for one in turn,
 * if not before it had.  A wait of its that began before we asked is told as a whole when it is over.  From then on it is
 * held for as long as one of us is at work: what we wait for others can't be told from our waits for each other, on one CPU, so not they
 * are taken away but work is added up.
 */
static uint64_t held_ns(const struct burst *b, uint64_t asked_ns, const struct use use[3])
{
	const struct use *asked = &use[0], *stopped = &use[1], *after = &use[2];
	uint64_t own_waited = difference(stopped->own_waited, asked->own_waited),
	         ran_on = difference(stopped->process_ran, asked->process_ran),
	         free = difference(stopped->thread_waited, asked->thread_waited) +
	                (ran_on > own_waited ? ran_on : own_waited);
	uint64_t ran = ran_stopped_ns(use);

	if (!b->replayed)
		ran += difference(after->thread_ran, stopped->thread_ran);
	return difference(difference(b->time_ns, asked_ns), free) + ran + 1;
}

static uint64_t work_ns(struct burst_tools *tools, const struct use use[3])
{
	const struct use now = look_at_work(tools);
	uint64_t before = tools->ran_ns;

	tools->ran_ns = now.own_ran + now.replayer_ran;
	/* Where a replayer ended it begins anew. */
	return difference(difference(tools->ran_ns, before), ran_stopped_ns(use));
}

void burst_tools_begin(struct burst_tools *tools)
{
	const struct use now = look_at_work(tools);

	tools->ran_ns = now.own_ran + now.replayer_ran;
}

void burst_take(struct burst_tools *tools, pid_t pid, pid_t tid, const struct burst_limits *limits,
                const volatile sig_atomic_t *stop, struct burst *out)
{
	int status = 0;
	struct use use[3];
	uint64_t asked_ns;
	bool ours = false, alone = false;
	regs_type regs;
	struct time_path path = { .timed.fd = -1 };

	memset(out, 0, offsetof(struct burst, stack));
	out->tid = tid;
	if (!is_running(tools, out, &alone)) {
		out->end = BURST_ASLEEP;
		return;
	}
	if (limits->timed_insns && !time_path_prepare(&path, tools, limits, out))
		return;
	meet(tools, pid, out->cpu);
	if (limits->timed_insns)
		replayer_plan(tools->replayer, pid);
	use[0] = look_at_use(tools, tid, alone);
	asked_ns = clock_ns(CLOCK_MONOTONIC);
	if (ptrace(PTRACE_SEIZE, tid, NULL, NULL) < 0) {
		out->error = errno;
		/* The kernel refuses one that is ending, too. */
		out->end =
		        out->error == ESRCH || !is_running(tools, out, &alone) ? BURST_GONE : BURST_REFUSED;
		timed_close(&path.timed);
		return;
	}
	ptrace(PTRACE_INTERRUPT, tid, NULL, NULL);
	if (!await(tid, &status, out->cpu == (uint32_t)sched_getcpu() ? 0 : AWAKE_NS)) {
		out->end = BURST_GONE;
		timed_close(&path.timed);
		return;
	}
	out->time_ns = clock_ns(CLOCK_MONOTONIC);
	use[1] = out->time_ns - asked_ns < AWAKE_NS ? look_when_stopped(tools, tid, alone, &use[0])
	                                            : look_at_use(tools, tid, alone);
	if (status >> 16 != PTRACE_EVENT_STOP || WSTOPSIG(status) != SIGTRAP) {
		out->end = BURST_SIGNAL;
	} else if (get_regs(tid, &regs) < 0) {
		out->end = BURST_GONE;
	} else if (in_syscall(tid, &regs)) {
		out->end = BURST_KERNEL;
		if (!signal_waits(tid))
			mend_syscall(tid, &regs);
	} else if (limits->timed_insns) {
		out->start_ip = REGS_IP(&regs);
		time_path_begin(&path, tools->replayer, pid, out);
	} else {
		out->start_ip = REGS_IP(&regs);
		take_stack(tid, &regs, out);
		if (!replay(tools->replayer, pid, limits, out)) {
			go_to_cpu(tools, out->cpu);
			if (takes_traps(tid))
				out->end = (uint8_t)walk(tools->decoder, limits, stop, out, &status, &ours);
			else
				out->end = BURST_UNFIT;
		}
	}
	use[2] = out->replayed ? look_at_work(tools) : look_at_use(tools, tid, alone);
	let_go(tid, status, ours);
	if (limits->timed_insns) {
		time_path_end(&path, tools, limits, out);
		timed_close(&path.timed);
	} else if (out->replayed) {
		check(tools->replayer, pid, out);
		replayer_learn(tools->replayer);
	}
	out->held_ns = held_ns(out, asked_ns, use);
	measure_core(tools, out);
	if (tools->replayer)
		go_anywhere(tools);
	out->work_ns = work_ns(tools, use);
}
