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
#include "profiler/pmu/awake.h"
#include "profiler/pmu/corefreq.h"
#include "profiler/pmu/cpus.h"
#include "profiler/pmu/past_call.h"
#include "profiler/pmu/replayer.h"
#include "profiler/pmu/stopped.h"
#include "profiler/pmu/time_path.h"
#include "profiler/pmu/waited.h"

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

#if defined(__x86_64__)

/* ax to ip, r8 to r15 */
uint64_t burst_regs_mask(void)
{
	return UINT64_C(0xff01ff);
}

static uint32_t list_regs(const struct user_regs_struct *r, uint64_t *out, uint64_t *sp)
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

static uint32_t list_regs(const struct user_regs_struct *r, uint64_t *out, uint64_t *sp)
{
	memcpy(out, r->regs, sizeof(r->regs));
	out[31] = *sp = r->sp;
	out[32] = r->pc;
	return 33;
}

#endif

/* Page by page, for the stack may end in the midst of it. */
static void take_stack(pid_t tid, const struct user_regs_struct *regs, struct burst *b)
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
		struct user_regs_struct regs;

		if (insn.kind == STEP_NEVER)
			return BURST_CUT;
		if (ptrace(PTRACE_SINGLESTEP, b->tid, NULL, NULL) < 0 || !stopped_await(b->tid, status, 0))
			return BURST_GONE;
		*ours = is_our_trap(b->tid, *status);
		if (!*ours)
			return BURST_SIGNAL;
		if (stopped_regs(b->tid, &regs) < 0)
			return BURST_GONE;
		b->n_steps++;
		switch (step_judge(insn, ip, STOPPED_IP(&regs))) {
		case STEP_SEEN_LOST:
			return BURST_CUT;
		case STEP_SEEN_TAKEN:
			b->branches[b->n++] = (struct burst_branch){ ip, STOPPED_IP(&regs) };
			break;
		case STEP_SEEN_ON:
			break;
		}
		ip = STOPPED_IP(&regs);
	}
	return BURST_WHOLE;
}

/*
 * True when it went somewhere, or the thread itself would go no further.  Also where the replayer was lost on its way, most
 * often because it did not get a CPU: the thread was held for long enough, and is not to be stepped besides.
 */
static bool replay(struct replayer *r, pid_t pid, const struct burst_limits *limits, struct burst *b,
                   uint64_t *end_ip)
{
	const struct rp_reply *reply;

	if (!r || !replayer_pid(r) ||
	    !(b->n_calls ? replayer_take_registers_behind_call : replayer_take_registers)(r, b->tid))
		return false;
	reply = replayer_run(r, pid, limits->n_branches - b->n, limits->replay_ns);
	if (!reply) {
		b->end = BURST_LOST;
		return !replayer_pid(r);
	}
	*end_ip = reply->at_ip;
	b->replay_end = (uint8_t)reply->end;
	b->n_pages += reply->n_pages;
	b->n_missed += reply->n_missed;
	if (!reply->n_branches && rp_end_is_ours(reply->end))
		return false;
	b->replayed = true;
	for (uint32_t i = 0; i < reply->n_branches && b->n < BURST_MAX_BRANCHES; i++)
		b->branches[b->n++] =
		        (struct burst_branch){ reply->branches[i].from_ip, reply->branches[i].to_ip };
	b->end = reply->end == RP_END_WHOLE || reply->end == RP_END_TIME ? BURST_WHOLE : BURST_CUT;
	return true;
}

/* Of the last replay, which began with branch n_before: what the thread itself would not have gone is cut off. */
static void check(struct replayer *r, pid_t pid, struct burst *b, uint32_t n_before)
{
	uint32_t end = b->replay_end, n = replayer_check(r, pid, &end);

	if (n < b->n - n_before) {
		b->n = n_before + n;
		b->replay_end = (uint8_t)end;
		b->end = BURST_CUT;
	}
	replayer_learn(r);
}

/* Its state as /proc has it, 'R' where it runs, and where that is; 0: it can't be read.  *alone: its process has no other thread. */
static char state_now(struct burst_tools *tools, struct burst *b, bool *alone)
{
	char text[1024];
	int field = 3, cpu = -1;
	const char *s = procfile_state(&tools->stat, b->tid, text, sizeof(text));

	if (!s || *s != 'R')
		return s ? *s : '\0';
	/* Threads are field 20, the CPU 39. */
	for (; s && (s = strchr(s, ' ')); s++)
		if (++field == 20)
			*alone = atoi(s + 1) == 1;
		else if (field == 39)
			cpu = atoi(s + 1);
	if (cpu >= 0 && cpu < CPU_SETSIZE)
		b->cpu = (uint32_t)cpu;
	return 'R';
}

static bool is_traced(struct burst *b)
{
	b->tracer = procfile_tracer(b->tid, b->tracer_name);
	if (b->tracer == getpid())
		b->tracer = 0;
	return b->tracer != 0;
}

/* The kernel refuses one that is ending, too; one that was stopped for its tracer in the meantime runs as little. */
static enum burst_end why_not_seized(struct burst_tools *tools, struct burst *b, bool *alone)
{
	if (b->error == ESRCH)
		return BURST_GONE;
	return is_traced(b) || state_now(tools, b, alone) == 'R' ? BURST_REFUSED : BURST_GONE;
}

static void go_to_cpu(struct burst_tools *tools, uint32_t cpu)
{
	if (!tools->pinned)
		sched_getaffinity(0, sizeof(tools->anywhere), &tools->anywhere);
	tools->pinned = true;
	cpus_pin(0, (int)cpu);
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

	/* Only who is stepped runs in it; of others the kernel may tell by now what they ran for before. */
	if (b->n_steps)
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

/* A burst on its way. */
struct way {
	struct past_call_thread thread;
	bool stopped;
	/* Of the last replay: it went somewhere, from branch n_before on, to end_ip. */
	bool went, checked;
	uint32_t n_before;
	uint64_t end_ip;
	uint64_t passed_ns; /* CPU time that the replays behind system calls took */
};

static void check_way(struct burst_tools *tools, pid_t pid, struct way *w, struct burst *b)
{
	if (w->went && !w->checked)
		check(tools->replayer, pid, b, w->n_before);
	w->checked = true;
}

static bool replay_on(struct burst_tools *tools, pid_t pid, const struct burst_limits *limits, struct way *w,
                      struct burst *b)
{
	w->n_before = b->n;
	w->checked = false;
	w->went = replay(tools->replayer, pid, limits, b, &w->end_ip) && b->end != BURST_LOST;
	return w->went || b->end == BURST_LOST;
}

static bool is_at_call(const struct burst_tools *tools, const struct burst_limits *limits,
                       const struct way *w, const struct burst *b)
{
	return w->went && w->stopped && b->end == BURST_CUT && b->replay_end == RP_END_SYSCALL &&
	       b->n < limits->n_branches && b->n_calls < limits->n_calls &&
	       tools->left.n < PAST_CALL_MOST_LEFT;
}

/* The thread goes to the call and makes it.  Unless it is stopped behind it, it has been let go, or left. */
static void pass_call(struct burst_tools *tools, pid_t pid, struct way *w, struct burst *b)
{
	enum past_call got;

	awake_end(tools->awake);
	got = past_call_begin(&w->thread, &tools->left);
	b->n_calls++;
	/* While it runs. */
	check_way(tools, pid, w, b);
	if (got == PAST_CALL_DONE)
		got = past_call_reach(&w->thread, w->end_ip, &tools->left);
	if (got == PAST_CALL_DONE)
		got = past_call_make(&w->thread, &tools->left);
	w->stopped = got == PAST_CALL_DONE;
	if (w->stopped)
		awake_begin(tools->awake, b->cpu);
	b->astray = got == PAST_CALL_ASTRAY;
	if (b->astray)
		b->n = w->n_before;
}

/*
 * One that has gone past as many calls as it may is whole, and ends somewhere behind the last of them: who reads one that ends
 * at a call takes it to show nothing behind, and all would end there.
 */
static void end_among_last(struct burst *b, uint32_t n_before, uint32_t random)
{
	uint32_t n_last = b->n - n_before;

	if (b->n < 2)
		return;
	b->n -= n_last > 1 ? 1 + random % (n_last - 1) : 1;
	b->end = BURST_WHOLE;
}

/*
 * On past system calls, for as many branches as are wanted.  A burst that ended at the first of them would show little of
 * what runs between two that lie close together.
 */
static void go_past_calls(struct burst_tools *tools, pid_t pid, const struct burst_limits *limits,
                          const volatile sig_atomic_t *stop, struct way *w, struct burst *b)
{
	while (is_at_call(tools, limits, w, b) && !*stop) {
		struct use before, after;

		pass_call(tools, pid, w, b);
		before = look_at_work(tools);
		/* Not where the check cut the way before the call. */
		if (!w->stopped || b->replay_end != RP_END_SYSCALL)
			break;
		replay_on(tools, pid, limits, w, b);
		if (!w->went)
			b->end = BURST_CUT;
		after = look_at_work(tools);
		w->passed_ns += difference(after.own_ran, before.own_ran) +
		                difference(after.replayer_ran, before.replayer_ran);
	}
	if (w->stopped && b->n_calls == limits->n_calls && b->end == BURST_CUT &&
	    b->replay_end == RP_END_SYSCALL)
		end_among_last(b, w->n_before, limits->n_left_out);
}

/*
 * A thread that makes many calls stops at the end of one, most often: a burst from there would show what follows calls more
 * often than it runs.  So it begins some branches later, where nothing of its stack is known.
 */
static void leave_out(struct burst *b, uint32_t n)
{
	n = n < b->n ? n : b->n;
	if (!n)
		return;
	b->start_ip = b->branches[n - 1].to_ip;
	b->n -= n;
	memmove(b->branches, b->branches + n, b->n * sizeof(b->branches[0]));
	b->n_regs = b->n_stack_bytes = 0;
}

static struct burst_limits with_left_out(const struct burst_limits *limits)
{
	struct burst_limits more = *limits;

	more.n_branches += limits->n_left_out;
	if (more.n_branches > BURST_MAX_BRANCHES)
		more.n_branches = BURST_MAX_BRANCHES;
	return more;
}

void burst_take(struct burst_tools *tools, pid_t pid, pid_t tid, const struct burst_limits *limits,
                const volatile sig_atomic_t *stop, struct burst *out)
{
	int status = 0;
	struct use use[3];
	uint64_t asked_ns;
	bool ours = false, alone = false, behind_call = false;
	char state;
	struct user_regs_struct regs;
	struct burst_limits wanted = *limits;
	struct time_path path = { .timed.fd = -1 };
	struct way way = { .thread.tid = tid, .stopped = true };
	const pid_t process = pid;

	memset(out, 0, offsetof(struct burst, stack));
	out->tid = tid;
	past_call_let_go(&tools->left);
	if (past_call_is_left(&tools->left, tid)) {
		out->end = BURST_KERNEL;
		return;
	}
	state = state_now(tools, out, &alone);
	if (state != 'R') {
		/* Stopped for a tracer. */
		out->end = state == 't' && is_traced(out) ? BURST_REFUSED : BURST_ASLEEP;
		return;
	}
	if (tid != pid)
		pid = procfile_holder(&tools->process, pid);
	if (limits->timed_insns && !time_path_prepare(&path, tools, limits, out))
		return;
	meet(tools, pid, out->cpu);
	if (limits->timed_insns)
		replayer_plan(tools->replayer, pid);
	use[0] = look_at_use(tools, tid, alone);
	asked_ns = clock_ns(CLOCK_MONOTONIC);
	if (past_call_seize(tid, &tools->left) < 0) {
		out->error = errno;
		out->end = (uint8_t)why_not_seized(tools, out, &alone);
		timed_close(&path.timed);
		return;
	}
	ptrace(PTRACE_INTERRUPT, tid, NULL, NULL);
	way.thread.awake_ns = out->cpu == (uint32_t)sched_getcpu() ? 0 : AWAKE_NS;
	if (!past_call_await(&way.thread, process, &tools->left)) {
		out->end = BURST_GONE;
		timed_close(&path.timed);
		return;
	}
	status = way.thread.status;
	awake_begin(tools->awake, out->cpu);
	out->time_ns = clock_ns(CLOCK_MONOTONIC);
	use[1] = out->time_ns - asked_ns < AWAKE_NS ? look_when_stopped(tools, tid, alone, &use[0])
	                                            : look_at_use(tools, tid, alone);
	if (!stopped_by_us(status)) {
		out->end = BURST_SIGNAL;
	} else if (stopped_regs(tid, &regs) < 0) {
		out->end = BURST_GONE;
	} else if (stopped_in_call(tid, &regs) && (limits->timed_insns || !stopped_call_is_over(&regs))) {
		out->end = BURST_KERNEL;
		stopped_mend_call(tid, &regs);
	} else if (limits->timed_insns) {
		out->start_ip = STOPPED_IP(&regs);
		time_path_begin(&path, tools->replayer, pid, out);
	} else {
		out->start_ip = STOPPED_IP(&regs);
		take_stack(tid, &regs, out);
		behind_call = stopped_behind_call(tid, &regs);
		if (behind_call)
			wanted = with_left_out(limits);
		if (!replay_on(tools, pid, &wanted, &way, out)) {
			awake_end(tools->awake);
			go_to_cpu(tools, out->cpu);
			if (stopped_takes_traps(tid))
				out->end = (uint8_t)walk(tools->decoder, limits, stop, out, &status, &ours);
			else
				out->end = BURST_UNFIT;
		}
	}
	use[2] = out->replayed ? look_at_work(tools) : look_at_use(tools, tid, alone);
	way.thread.status = status;
	way.thread.awake_ns = out->cpu == (uint32_t)sched_getcpu() ? 0 : AWAKE_NS;
	go_past_calls(tools, pid, &wanted, stop, &way, out);
	awake_end(tools->awake);
	if (way.stopped && !stopped_let_go(tid, way.thread.status, ours || out->n_calls))
		past_call_bury(&tools->left, tid);
	if (limits->timed_insns) {
		time_path_end(&path, tools, limits, out);
		timed_close(&path.timed);
	} else {
		check_way(tools, pid, &way, out);
	}
	if (behind_call && out->replayed)
		leave_out(out, limits->n_left_out);
	out->held_ns = held_ns(out, asked_ns, use) + way.passed_ns;
	measure_core(tools, out);
	if (tools->replayer)
		go_anywhere(tools);
	out->work_ns = difference(work_ns(tools, use), way.passed_ns);
}
