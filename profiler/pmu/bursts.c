/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/pmu/bursts.h"

#include <errno.h>
#include <gsl/gsl_randist.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "profiler/base/clock.h"
#include "profiler/base/err.h"
#include "profiler/base/log.h"
#include "profiler/base/vec.h"
#include "profiler/pmu/finer.h"
#include "profiler/pmu/prompt.h"
#include "profiler/pmu/replayer.h"
#include "profiler/pmu/stepper.h"
#include "profiler/pmu/timed.h"
#include "profiler/pmu/timed_paths.h"

enum {
	/*
	 * What a burst began in, a loop's slow turn, it forgets on its way: few long bursts tell more
	 * than many short ones of as many steps.  Where steps are dear the thread isn't held for that.
	 */
	MAX_STEPPED = 160,
	MIN_STEPPED = 40,
	STEPS_PER_BRANCH =
	        25, /* a branch in five to ten instructions is usual; string instructions count each turn */
	GOOD_HELD_NS = 40000000,
	MAX_HELD_NS = 100000000, /* a thread that is held longer is missed by others */
	/* A path that time cuts short is one through dear code: none is, unless the machine stands still. */
	MAX_REPLAY_NS = 50000000,
	EXPECTED_HELD_NS =
	        4000000, /* before one has been seen: some 200 steps of 20 us, as a virtual machine has them */
	EXPECTED_REPLAY_NS = 300000, /* 20 pages or 100 at a few microseconds each, and 1,000 branches */
	EXPECTED_WORK_NS = 250000,
	RECORD_BYTES = 65000, /* of a sample, but for what is not branches or stack: it has at most 64 KB */
	MAX_CALLS = 32,       /* that one burst goes past, at two stops each */
	MAX_PROCESSES = 1024,
	MAX_HZ = 10000,
	FOR_CPUS = 8,             /* so many busy threads may tell of moments at the full rate */
	MANY_MOMENTS = 30,        /* that not one in so many comes has another cause than chance */
	LOOK_EVERY_NS = 10000000, /* at what bursts have cost, to set their rate */
	SAMPLE_BYTES = 512,       /* of one without call chain or stack, and more */
	UNREAD_BYTES = 32768,     /* half of the smallest ring: what may wait in one till we are woken */
};

/*
 * Moments are told by the kernel, in the thread, when it has used up so much CPU time as lies between two; each
 * becomes a burst's with a probability of its own, so that between bursts is a time without memory.
 */
static const double moment_s = 2e-3, least_moment_s = 1e-4, moments_a_burst = 4, spread = 0.15;

/*
 * A moment costs the thread three interrupts: its timer's, the one after it in which the kernel may wake us, and the
 * call to the CPU that we wake on.  In virtual machines that is a third of what a burst takes.  A tenth of the budget is
 * theirs: where interrupts are dear that is a moment in fifteen milliseconds, of which few are in vain.  One that comes
 * with a sample of the clock shares its timer's.  A stop, from the call to the thread's CPU until it runs again, takes as
 * much of the thread's CPU time as six: 60 to 90 microseconds where one takes 15, and 10 to 50 till its caches are as
 * they were.  The two stops at a system call, which the thread comes to by itself, take half of one, and hold it for about one.
 */
static const double of_moments = 0.1, interrupts_a_moment = 3, interrupts_beside_sample = 2,
                    interrupts_a_stop = 6, interrupts_a_call = 1, moments_enough = 1.25;

/*
 * A new task's timer begins with a whole period.  Were that the time between moments, what tasks begin with would have
 * no bursts, and tasks that end before it none at all.  So the timer runs faster, and a moment is each n-th of its
 * samples on a CPU, whichever tasks they are of: bursts begin at all ages from the timer's period on.  A sample that is no
 * moment takes an interrupt, so that with four a moment costs twice as much; beside one of the clock it takes none.
 */
enum { MOST_TOLD = 4 };

#if defined(__x86_64__) || defined(__aarch64__)
#define NO_REPLAY "skidreplay can't be set up here; is it installed, may it have a filter of system calls?"
#else
#define NO_REPLAY "threads are replayed on x86-64 and aarch64 only"
#endif

/* Whose time the budget is of. */
struct process {
	pid_t pid;
	clockid_t clock;
	uint64_t begun_ns, ns; /* CPU time when first seen, and since then */
};

struct bursts {
	const struct record_opts *opts;
	struct stepper stepper;
	struct session *session;
	struct session_hooks hooks;
	struct event_group file; /* the events as the file describes them */
	size_t event;            /* ours in it */
	size_t told_by; /* the kernel's event that tells moments: one of our own, or the clock that is sampled */
	bool by_clock;
	gsl_rng *rng;
	int epoll_fd;

	uint64_t moment_ns; /* of CPU time, from one moment to the next */
	/* The kernel's samples that make a moment, the last of which wakes us: of ours, and of the clock that is finer. */
	uint32_t n_told, n_told_finer;
	uint32_t n_told_on[CPU_SETSIZE]; /* since a CPU's last moment, of both together */
	double interrupt_ns;             /* what one costs here */
	double chance;                   /* that a moment is a burst's */
	uint64_t looked_ns;
	uint64_t wanted_ns; /* CPU time up to which it is counted what was wanted */
	/* The thread that the next one is of, and from among how many moments since the last one. */
	uint32_t pid, tid;
	uint64_t n_since;
	uint32_t asked_pid;
	bool asked_timed; /* a path, and not a burst */

	/* The same of paths to be timed. */
	struct timed_paths timed;
	size_t timed_event; /* in the file alone */
	double timed_chance;
	uint32_t timed_pid, timed_tid;
	uint64_t n_timed_since;

	pid_t program;      /* ours */
	uint64_t before_ns; /* its CPU time until its counters began, its execve() with it */
	VEC(struct process) processes;
	uint64_t ended_ns; /* CPU time of those that have ended */
	/* What they hold the program for; and what they cost it besides: held_ns there is CPU time, the thread's and ours. */
	struct burst_account account, work;
	uint64_t stops_ns; /* CPU time of the program's that stops took */
	uint64_t own_ns;   /* our CPU time up to the last round */
	bool had_moments;  /* or an answer, since then */
	uint64_t n_due, n_put_off, n_steps;
	uint64_t n_written, n_cut; /* in the file, and of those cut short */
	uint64_t n_calls, n_astray;
	uint64_t n_end[BURST_REFUSED + 1];
	uint64_t n_replayed, n_replay_end[RP_N_ENDS], n_pages, n_missed;
	uint64_t begun_ns;
	int refusal;       /* errno of the first one that was refused, and had no tracer that is known */
	uint64_t n_traced; /* that had one */
	pid_t tracer;      /* the first that was met, also of a process that no burst was asked of */
	char tracer_name[PROCFILE_NAME_MAX];
	bool gone; /* the stepper */
};

/* 0: not known yet. */
static double ns_per_branch(const struct burst_account *a)
{
	return a->n_branches ? (double)a->held_ns / (double)a->n_branches : 0;
}

uint32_t burst_branches(const struct burst_account *a)
{
	double ns = ns_per_branch(a);

	if (ns <= 0 || GOOD_HELD_NS / ns < MIN_STEPPED)
		return MIN_STEPPED;
	return GOOD_HELD_NS / ns > MAX_STEPPED ? MAX_STEPPED : (uint32_t)(GOOD_HELD_NS / ns);
}

/* More bursts cut short than this, and the code behind is seen too little of. */
static const double of_replays = 0.02;

/*
 * A little less than there is: what one takes varies, and one that had to be put off would have been at a
 * moment of dear code more often than not.
 */
static const double of_budget = 0.9, least_hz = 2, most_hz = 1000, early_s = 0.1, least_ahead_s = 1;

/*
 * Where pages are dear bursts are shorter, so that there are as many as settle shares to half a point: 300 in ten seconds.
 * Quick at first, slow then: the length goes by the program as a whole and not by the code that it happens to be in, or
 * there would be fewer branches of dear code than of cheap.
 */
static const double enough_hz = 40, quick_step = 0.2, slow_step = 0.02;
enum { QUICK_BURSTS = 32, LEAST_LENGTH = 160 };

uint32_t burst_account_length(const struct burst_account *a)
{
	return a->length > 0 ? (uint32_t)(a->length + 0.5) : BURST_FIRST_LENGTH;
}

void burst_account_learn(struct burst_account *a, uint64_t held_ns)
{
	double length = burst_account_length(a), step = a->n_learnt++ < QUICK_BURSTS ? quick_step : slow_step;
	double may_ns = 1e9 * of_budget * a->budget / enough_hz;

	length *= (double)held_ns > may_ns ? 1 - step : 1 + step;
	a->length = fmin(fmax(length, LEAST_LENGTH), BURST_LENGTH);
}

/* What one of them is expected to take counts as one more; those that found the thread asleep took nothing. */
static double each_ns(const struct burst_account *a)
{
	return (double)(a->held_ns + a->expected_ns) / (double)(a->n_asked + 1);
}

/* The kernel tells of no moment in it, and one that comes while a burst is taken is none: then there are to be more. */
static double comes_of_each(const struct burst_account *a)
{
	double n = (double)a->n_asked;

	return a->n_wanted > n ? (n + 1) / (a->n_wanted + 1) : 1;
}

double burst_account_hz(const struct burst_account *a, double cpu_s, double wall_s)
{
	double each_s = 1e-9 * each_ns(a) * comes_of_each(a), goal = of_budget * a->budget;
	/* Before much has been seen of it, one thread that is always busy. */
	double n_busy = wall_s < early_s ? 1 : fmax(cpu_s / wall_s, 1);
	/* In as much time as has passed what was not made use of is made up for, and what was taken too much is left out. */
	double ahead_s = fmax(cpu_s, least_ahead_s);
	double left_s = goal * (cpu_s + ahead_s) + 1e-9 * ((double)a->ahead_ns - (double)a->held_ns);
	double hz = each_s > 0 ? left_s / (ahead_s * each_s) : 0;

	return fmin(fmax(hz, least_hz), most_hz / n_busy);
}

uint64_t burst_account_allows(const struct burst_account *a, uint32_t n_branches, uint64_t cpu_ns)
{
	double next_ns = !n_branches     ? each_ns(a)
	                 : a->n_branches ? n_branches * ns_per_branch(a)
	                                 : (double)a->expected_ns;
	double left_ns = a->budget * (double)cpu_ns + (double)a->ahead_ns - (double)a->held_ns;

	return left_ns >= next_ns && left_ns >= 1 ? (uint64_t)(left_ns + next_ns) : 0;
}

static void note_process(struct bursts *b, pid_t pid)
{
	struct process p = { .pid = pid };

	for (size_t i = b->processes.n; i > 0; i--)
		if (b->processes.v[i - 1].pid == pid)
			return;
	/* Those beyond are not counted, which makes the budget smaller than it might be. */
	if (b->processes.n >= MAX_PROCESSES || clock_getcpuclockid(pid, &p.clock) != 0)
		return;
	/* A program of ours begins as its counters do; one that ran before is counted from now on, and so it is where these began later. */
	p.begun_ns = !b->opts->argc || b->opts->delay_s > 0 ? clock_ns(p.clock)
	             : pid == b->program                    ? b->before_ns
	                                                    : 0;
	if (vec_push(&b->processes, p) < 0)
		return;
	/* One that is stopped at each turn, as in single steps, is hardly ever met at a moment. */
	if (!b->tracer)
		b->tracer = procfile_tracer(pid, b->tracer_name);
	if (b->tracer == b->stepper.pid)
		b->tracer = 0;
}

/*
 * CPU time of all processes sampled; those that have ended keep what they had.  Of many that had ended before their first sample was
 * read there is no clock: samples tell, without what they ran in the kernel.
 */
static uint64_t target_ns(struct bursts *b)
{
	uint64_t sum = b->ended_ns, told = session_time_ns(b->session);

	for (size_t i = b->processes.n; i-- > 0;) {
		struct process *p = &b->processes.v[i];
		uint64_t now = clock_ns(p->clock);

		if (now > p->begun_ns + p->ns)
			p->ns = now - p->begun_ns;
		sum += p->ns;
		if (now)
			continue;
		b->ended_ns += p->ns;
		*p = b->processes.v[--b->processes.n];
	}
	return sum > told ? sum : told;
}

/* A second of the program's time. */
static double rate_hz(struct bursts *b, uint64_t now)
{
	double cpu_s = 1e-9 * (double)target_ns(b), wall_s = 1e-9 * (double)(now - b->begun_ns);

	if (!isinf(b->opts->bursts_hz))
		return b->opts->bursts_hz;
	if (!b->stepper.replays)
		return BURSTS_STEPPED_HZ;
	return fmin(burst_account_hz(&b->account, cpu_s, wall_s), burst_account_hz(&b->work, cpu_s, wall_s));
}

static void count_wanted(struct bursts *b)
{
	uint64_t ns = target_ns(b);

	b->account.n_wanted += fmin(b->chance, 1) * (double)(ns - b->wanted_ns) / (double)b->moment_ns;
	b->work.n_wanted = b->account.n_wanted;
	b->wanted_ns = ns;
}

static double chance(struct bursts *b)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);

	if (now - b->looked_ns >= LOOK_EVERY_NS) {
		b->looked_ns = now;
		count_wanted(b);
		b->chance = 1e-9 * (double)b->moment_ns * rate_hz(b, now);
		b->timed_chance = 1e-9 * (double)b->moment_ns *
		                  timed_paths_hz(&b->timed, 1e-9 * (double)target_ns(b),
		                                 1e-9 * (double)(now - b->begun_ns));
	}
	return b->chance;
}

/* 0: what is sampled is no clock at an even period. */
static double clock_period_s(const struct perf_event_attr *a)
{
	return a->type == PERF_TYPE_SOFTWARE && !a->freq &&
	                       (a->config == PERF_COUNT_SW_CPU_CLOCK || a->config == PERF_COUNT_SW_TASK_CLOCK)
	               ? 1e-9 * (double)a->sample_period
	               : 0;
}

/* Of a sample of the clock. */
static uint64_t most_bytes(const struct perf_event_attr *a)
{
	return SAMPLE_BYTES + (a->sample_type & PERF_SAMPLE_CALLCHAIN ? 8 * PERF_MAX_STACK_DEPTH : 0) +
	       (a->sample_type & PERF_SAMPLE_STACK_USER ? a->sample_stack_user : 0);
}

/*
 * Not a whole number of anything but the clock's own period: what the program does in a rhythm is met in all its parts.
 * What moments take of the CPU time that bursts may cost they leave.
 */
static void choose_moments(struct bursts *b, const struct perf_event_attr *first)
{
	double n_cpus = (double)sysconf(_SC_NPROCESSORS_ONLN), s = moment_s * fmax(1, n_cpus / FOR_CPUS);
	double clock_s = clock_period_s(first), cost_s;

	b->interrupt_ns = timed_interrupt_ns();
	cost_s = 1e-9 * b->interrupt_ns * (clock_s > 0 ? interrupts_beside_sample : interrupts_a_moment);
	/* Measured on a busy machine an interrupt seems dearer than it is: still as many as enough bursts need. */
	s = fmax(s, fmin(cost_s / (of_moments * b->account.budget), 1 / (moments_enough * enough_hz)));
	if (!isinf(b->opts->bursts_hz))
		s = fmax(fmin(s, 1 / (moments_a_burst * b->opts->bursts_hz)), least_moment_s);
	s *= 1 + spread * (2 * gsl_rng_uniform(b->rng) - 1);
	if (clock_s > 0 && s > clock_s / 2) {
		b->n_told = finer_out_of_step((uint32_t)round(s / clock_s));
		s = clock_s * b->n_told;
		/* A second event at the clock's own period costs as much as the clock does, if its interrupts are the same. */
		b->by_clock = first->exclude_kernel && b->n_told * most_bytes(first) <= UNREAD_BYTES;
	} else {
		b->n_told = (uint32_t)fmin(fmax(floor(s / moment_s), 1), MOST_TOLD);
		cost_s += 1e-9 * b->interrupt_ns * (b->n_told - 1);
	}
	b->moment_ns = (uint64_t)(1e9 * s + 0.5);
	if (isinf(b->opts->bursts_hz))
		b->work.budget -= fmin(cost_s / s, b->work.budget / 2);
}

/*
 * Is this the sample that woke us?  The kernel has one count for a CPU's ring, whichever event its samples are of, and takes from it
 * what that of the waking sample asks for; so do we.  Were they two counts, the sample that we take for the moment would be another
 * one, read a moment late from the first change of events on.  Where tasks have rings of their own each sample wakes us.
 */
static bool is_moment(struct bursts *b, bool fine, const struct tasks_source *from)
{
	uint32_t n_told = fine ? b->n_told_finer : b->n_told;

	if (from->cpu < 0 || from->cpu >= CPU_SETSIZE)
		return true;
	if (++b->n_told_on[from->cpu] < n_told)
		return false;
	b->n_told_on[from->cpu] -= n_told;
	return true;
}

static int on_begin(void *arg, struct session *s, pid_t pid)
{
	struct bursts *b = arg;

	b->program = pid;
	b->before_ns = pid > 0 ? clock_cpu_ns(pid) : 0;
	/* The program has been forked, and has turns as it would have had. */
	prompt_ask();
	b->session = s;
	b->begun_ns = clock_ns(CLOCK_MONOTONIC);
	b->own_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	return 0;
}

/* The budget is a share of what its counters have, as is what the last line tells: execve() is none of that, and takes up to some ms. */
static void on_runs(void *arg, uint64_t ns)
{
	struct bursts *b = arg;
	uint64_t now = clock_cpu_ns(b->program);

	if (ns && now > ns + b->before_ns)
		b->before_ns = now - ns;
}

/* IDENTIFIER, IP and TID are what every sample of ours begins with. */
static int on_record(void *arg, const struct perf_event_header *rec, long event, bool fine,
                     const struct tasks_source *from, bool *drop)
{
	struct bursts *b = arg;
	uint32_t task[2];

	if (event < 0)
		return 0;
	memcpy(task, (const char *)(rec + 1) + 2 * sizeof(uint64_t), sizeof(task));
	note_process(b, (pid_t)task[0]);
	if ((size_t)event != b->told_by && !fine)
		return 0;
	*drop = !fine && !b->by_clock;
	if (!is_moment(b, fine, from))
		return 0;
	b->had_moments = true;
	if (gsl_rng_uniform(b->rng) < chance(b) && gsl_rng_uniform_int(b->rng, ++b->n_since) == 0) {
		b->pid = task[0];
		b->tid = task[1];
	}
	if (gsl_rng_uniform(b->rng) < b->timed_chance &&
	    gsl_rng_uniform_int(b->rng, ++b->n_timed_since) == 0) {
		b->timed_pid = task[0];
		b->timed_tid = task[1];
	}
	return 0;
}

static int take_timed(struct bursts *b, const struct burst *burst)
{
	struct pd_record rec = { .type = PERF_RECORD_SAMPLE,
		                 .event = (int)b->timed_event,
		                 .pid = b->asked_pid,
		                 .tid = (uint32_t)burst->tid,
		                 .cpu = burst->cpu,
		                 .time_ns = clock_ns(CLOCK_MONOTONIC) };

	timed_paths_learn(&b->timed, burst);
	if (burst->timing == TIMING_NONE || burst->timing == TIMING_REFUSED)
		return 0;
	return timed_paths_write(session_writer(b->session), burst, &rec,
	                         session_id(b->session, b->timed_event));
}

static int write_burst(struct bursts *b, const struct burst *burst)
{
	struct pd_branch stack[BURST_MAX_BRANCHES];
	const size_t room = RECORD_BYTES - burst->n * sizeof(struct perf_branch_entry);
	struct pd_record rec = {
		.type = PERF_RECORD_SAMPLE,
		.event = (int)b->event,
		.pid = b->asked_pid,
		.tid = (uint32_t)burst->tid,
		.cpu = burst->cpu,
		.time_ns = clock_ns(CLOCK_MONOTONIC),
		.sample = { .ip = burst->start_ip,
		            .addr = (uint64_t)burst->core_hz,
		            .period = 1,
		            .id = session_id(b->session, b->event),
		            .branches = stack,
		            .n_branches = burst->n,
		            .regs_user = burst->regs,
		            .n_regs_user = burst->n_regs,
		            .regs_abi = burst->n_regs ? PERF_SAMPLE_REGS_ABI_64 : PERF_SAMPLE_REGS_ABI_NONE,
		            .stack_user = burst->stack,
		            .stack_user_bytes =
		                    burst->n_stack_bytes < room ? burst->n_stack_bytes : room & ~(size_t)7 }
	};

	/* Newest first, as perf has it. */
	for (uint32_t i = 0; i < burst->n; i++)
		stack[burst->n - 1 - i] = (struct pd_branch){ .from_ip = burst->branches[i].from_ip,
			                                      .to_ip = burst->branches[i].to_ip };
	return pd_write_sample(session_writer(b->session), &rec);
}

/*
 * Work of ours costs a thread half of its time: that much a thread of the program loses to one that is busy on the same core
 * (55% in a virtual machine whose two processors are one core); where no core is shared it costs others.
 */
static const double of_work = 0.5;

static uint64_t calls_ns(const struct bursts *b, const struct burst *burst)
{
	return (uint64_t)(interrupts_a_call * burst->n_calls * b->interrupt_ns);
}

/* The stop, and the work beside it. */
static void learn_work(struct bursts *b, const struct burst *burst)
{
	uint64_t stop_ns =
	        burst->held_ns ? (uint64_t)(interrupts_a_stop * b->interrupt_ns) + calls_ns(b, burst) : 0;

	b->work.n_asked++;
	b->work.held_ns += (uint64_t)(of_work * (double)burst->work_ns) + stop_ns;
	b->stops_ns += stop_ns;
}

/* Rounds in which samples alone were read are the sampling's. */
static void count_own_work(struct bursts *b)
{
	uint64_t now = clock_ns(CLOCK_PROCESS_CPUTIME_ID);

	if (b->had_moments)
		b->work.held_ns += (uint64_t)(of_work * (double)(now - b->own_ns));
	b->had_moments = false;
	b->own_ns = now;
}

static void note_refusal(struct bursts *b, const struct burst *burst)
{
	if (!burst->tracer) {
		b->refusal = b->refusal ? b->refusal : burst->error;
		return;
	}
	b->n_traced++;
	if (b->tracer)
		return;
	b->tracer = burst->tracer;
	memcpy(b->tracer_name, burst->tracer_name, sizeof(b->tracer_name));
}

static int take_answer(void *arg)
{
	static struct burst burst;
	struct bursts *b = arg;
	int got = stepper_answer(&b->stepper, &burst);

	if (got > 0)
		burst.held_ns += calls_ns(b, &burst);
	if (got < 0) {
		/* Without it the recording goes on, and bursts_say() tells. */
		b->gone = true;
		epoll_ctl(b->epoll_fd, EPOLL_CTL_DEL, b->stepper.fd, NULL);
		return 0;
	}
	if (!got)
		return 0;
	b->had_moments = true;
	if (b->asked_timed)
		return take_timed(b, &burst);
	learn_work(b, &burst);
	b->n_end[burst.end]++;
	b->account.n_asked++;
	if (burst.end == BURST_REFUSED)
		note_refusal(b, &burst);
	if (burst.replayed) {
		b->n_replayed++;
		b->n_pages += burst.n_pages;
		b->n_missed += burst.n_missed;
	}
	b->n_replay_end[burst.replay_end < RP_N_ENDS ? burst.replay_end : 0]++;
	if (burst.replayed && burst.end == BURST_WHOLE && !b->opts->burst_length)
		burst_account_learn(&b->account, burst.held_ns);
	if (burst.held_ns) {
		b->account.held_ns += burst.held_ns;
		if (burst.held_ns > b->account.longest_ns)
			b->account.longest_ns = burst.held_ns;
	}
	b->account.n_branches += burst.n;
	b->n_steps += burst.n_steps;
	b->n_calls += burst.n_calls;
	b->n_astray += burst.astray;
	if (!burst.n)
		return 0;
	b->n_written++;
	b->n_cut += burst.end != BURST_WHOLE;
	return write_burst(b, &burst);
}

struct burst_limits bursts_limits(uint32_t length, const struct burst_account *a)
{
	uint32_t n_stepped = a ? burst_branches(a) : MIN_STEPPED;

	return (struct burst_limits){ .n_branches = length ? length
		                                    : a    ? burst_account_length(a)
		                                           : BURST_FIRST_LENGTH,
		                      .n_calls = MAX_CALLS,
		                      .n_stepped = n_stepped,
		                      .n_steps = n_stepped * STEPS_PER_BRANCH,
		                      .held_ns = MAX_HELD_NS,
		                      .replay_ns = MAX_REPLAY_NS };
}

static int ask(struct bursts *b, uint32_t pid, uint32_t tid, const struct burst_limits *limits)
{
	b->asked_pid = pid;
	b->asked_timed = limits->timed_insns != 0;
	b->gone = stepper_ask(&b->stepper, (pid_t)pid, (pid_t)tid, limits) < 0;
	return 0;
}

/* Is a path to be timed now?  Bursts wait meanwhile. */
static bool ask_timed(struct bursts *b)
{
	struct burst_limits limits;

	/* In turns, where both are due: a path takes longer than a burst, and many of them would leave none. */
	if (!b->n_timed_since || b->gone || b->stepper.asked || (b->asked_timed && b->n_since))
		return false;
	b->n_timed_since = 0;
	limits = timed_paths_limits(&b->timed, target_ns(b));
	if (!limits.timed_insns)
		return false;
	ask(b, b->timed_pid, b->timed_tid, &limits);
	return true;
}

static int on_tick(void *arg)
{
	struct bursts *b = arg;
	struct burst_limits limits = bursts_limits(b->opts->burst_length, &b->account);
	uint64_t held_ns, ns;

	count_own_work(b);
	if (ask_timed(b) || !b->n_since || b->gone || b->stepper.asked)
		return 0;
	b->n_due += b->n_since;
	b->n_since = 0;
	/* The budget is a share of the program's own time: what its clock ran while it was stopped, some of which its counters lack, is ours. */
	ns = target_ns(b);
	ns = ns > b->stops_ns ? ns - b->stops_ns : 0;
	held_ns = burst_account_allows(&b->account, b->stepper.replays ? 0 : limits.n_stepped, ns);
	if (!held_ns) {
		b->n_put_off++;
		/* The moment came, and others would be put off in turn. */
		b->account.n_wanted--;
		return 0;
	}
	if (held_ns < limits.held_ns)
		limits.held_ns = held_ns;
	limits.n_left_out = (uint32_t)gsl_rng_uniform_int(b->rng, limits.n_branches / 2 + 1);
	return ask(b, b->pid, b->tid, &limits);
}

/* The one that is under way is waited for: nothing stays stopped behind us. */
static void on_end(void *arg)
{
	struct bursts *b = arg;

	if (b->gone)
		return;
	stepper_stop(&b->stepper);
}

bool bursts_beside_counters(const struct record_opts *opts)
{
	return opts->branches != 0;
}

void bursts_say_beside(bool records)
{
	sp_note(records ? "taking bursts as well: branch records miss fast code, bursts come at any moment "
	                  "(--bursts=0 "
	                  "turns them off)"
	                : "no branch records here; taking bursts instead (--bursts=0 turns them off)");
}

const char *bursts_why_stepped(void)
{
	return NO_REPLAY;
}

int bursts_new(const struct record_opts *opts, struct bursts **out)
{
	struct bursts *b = calloc(1, sizeof(*b));
	struct epoll_event in = { .events = EPOLLIN };
	int err;

	if (!b)
		return sp_fail(SP_ENOMEM, "out of memory");
	if (opts->bursts_hz > MAX_HZ && !isinf(opts->bursts_hz)) {
		free(b);
		return sp_fail(SP_EUSAGE, "--bursts: at most %d a second, but with the simulated PMU",
		               MAX_HZ);
	}
	b->opts = opts;
	b->epoll_fd = -1;
	b->account = (struct burst_account){ .budget = opts->burst_budget, .expected_ns = EXPECTED_HELD_NS };
	b->work = (struct burst_account){ .budget = opts->burst_budget, .expected_ns = EXPECTED_WORK_NS };
	err = stepper_start(&b->stepper);
	if (err < 0)
		goto out;
	if (b->stepper.replays)
		b->account.expected_ns = EXPECTED_REPLAY_NS;
	else
		sp_note("bursts are taken in single steps, which is slow, so there will be few: " NO_REPLAY);
	timed_paths_init(&b->timed, b->stepper.replays && opts->timed_hz > 0 ? opts->timed_hz : 0,
	                 opts->burst_budget);
	b->rng = gsl_rng_alloc(gsl_rng_mt19937);
	b->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (!b->rng || b->epoll_fd < 0 || epoll_ctl(b->epoll_fd, EPOLL_CTL_ADD, b->stepper.fd, &in) < 0) {
		err = sp_fail_errno("bursts");
		goto out;
	}
	gsl_rng_set(b->rng, opts->seed);
	*out = b;
	return 0;
out:
	bursts_free(b);
	return err;
}

static void counts_time(struct perf_event_attr *attr, uint64_t period_ns)
{
	attr->type = PERF_TYPE_SOFTWARE;
	attr->config = PERF_COUNT_SW_CPU_CLOCK;
	attr->config1 = attr->config2 = 0;
	attr->sample_period = period_ns;
	attr->freq = 0;
	attr->precise_ip = 0;
}

static void wakes_each(struct perf_event_attr *attr, uint32_t n_samples)
{
	attr->watermark = 0;
	attr->wakeup_events = n_samples;
}

/* Wakes us with each moment.  What samples carry beside the first words is not looked at. */
static void tells_moments(struct perf_event_attr *attr, uint64_t moment_ns, uint32_t n_told)
{
	counts_time(attr, moment_ns / n_told);
	wakes_each(attr, n_told);
	attr->exclude_kernel = 1;
	attr->branch_sample_type = 0;
	attr->sample_type &= PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
	                     PERF_SAMPLE_ADDR | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU |
	                     PERF_SAMPLE_PERIOD | PERF_SAMPLE_READ;
}

void bursts_attr(struct perf_event_attr *attr)
{
	/* Of a dummy's samples perf shows no address.  The kernel makes no branch stacks for this one: only we do. */
	counts_time(attr, 1);
	attr->sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
	                    PERF_SAMPLE_ADDR | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD |
	                    PERF_SAMPLE_BRANCH_STACK;
	attr->branch_sample_type = PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_ANY;
}

int bursts_join(struct bursts *b, struct event_group *group, struct session_config *config)
{
	struct pe_event *e, moments;

	if (group->n == EVENT_GROUP_MAX)
		return sp_fail(SP_EUSAGE, "-e: more than %d events beside bursts", EVENT_GROUP_MAX - 1);
	b->event = group->n;
	/* Of a single event the samples don't say which it is. */
	for (size_t i = 0; i < group->n; i++)
		group->v[i].attr.sample_type |= PERF_SAMPLE_IDENTIFIER;
	choose_moments(b, &group->v[0].attr);
	moments = (struct pe_event){ .attr = group->v[0].attr, .name = "bursts", .leader = b->event };
	tells_moments(&moments.attr, b->moment_ns, b->n_told);
	/* The file has what we write in the place of moments. */
	b->file = *group;
	b->file.v[b->file.n++] = moments;
	if (b->by_clock)
		wakes_each(&group->v[0].attr, b->n_told);
	else
		group->v[b->told_by = group->n++] = moments;
	b->n_told_finer = finer_join(group, b->moment_ns);
	bursts_attr(&b->file.v[b->event].attr);
	b->file.v[b->event].attr.sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
	b->file.v[b->event].attr.sample_regs_user = burst_regs_mask();
	b->file.v[b->event].attr.sample_stack_user = BURST_STACK_BYTES;
	b->file.v[b->event].attr.wakeup_events = 1;
	if (b->timed.hz > 0 && b->file.n < EVENT_GROUP_MAX) {
		b->timed_event = b->file.n;
		e = &b->file.v[b->file.n++];
		*e = (struct pe_event){ .attr = group->v[0].attr,
			                .name = "timed-paths",
			                .leader = b->timed_event };
		timed_paths_attr(&e->attr);
	} else {
		b->timed.hz = 0;
	}
	b->hooks = (struct session_hooks){ .arg = b,
		                           .begin = on_begin,
		                           .runs = on_runs,
		                           .record = on_record,
		                           .fd = b->epoll_fd,
		                           .ready = take_answer,
		                           .tick = on_tick,
		                           .tracer = b->stepper.pid,
		                           .end = on_end };
	config->events = group->v;
	config->file_events = b->file.v;
	config->n_file_events = b->file.n;
	config->n_events = group->n;
	config->hooks = &b->hooks;
	return 0;
}

/* "4848 gdb" */
static void name_tracer(const struct bursts *b, char *out, size_t n)
{
	if (b->tracer == getpid())
		snprintf(out, n, "skidprof, which started it, as it asked with PTRACE_TRACEME");
	else
		snprintf(out, n, "%d %s", (int)b->tracer, b->tracer_name);
}

static void say_failures(const struct bursts *b)
{
	const uint64_t n_refused = b->n_end[BURST_REFUSED] - b->n_traced;
	char tracer[100];

	if (b->gone)
		sp_warn("the process that takes bursts was killed: no more were taken");
	/* A thread has one tracer at a time. */
	name_tracer(b, tracer, sizeof(tracer));
	if (b->n_traced)
		sp_warn("%ju burst%s refused: the thread is traced already (by %s)", (uintmax_t)b->n_traced,
		        b->n_traced == 1 ? " was" : "s were", tracer);
	if (n_refused)
		sp_warn("%ju burst%s refused (%s): the thread is traced by another program already, or "
		        "may not be "
		        "(sysctl kernel.yama.ptrace_scope; the program's own prctl PR_SET_DUMPABLE)",
		        (uintmax_t)n_refused, n_refused == 1 ? " was" : "s were", strerror(b->refusal));
}

/* What kept replays from going on, in words, but for what the program itself does. */
static void say_unreplayed(const struct bursts *b)
{
	uint64_t n = 0, n_all = 0;
	char causes[512] = "";
	size_t at = 0;

	for (uint32_t k = 0; k < RP_N_ENDS; k++) {
		n_all += b->n_replay_end[k];
		if (k != RP_END_WHOLE && b->n_replay_end[k] && b->stepper.replays)
			sp_debug("bursts: %ju ended by %s", (uintmax_t)b->n_replay_end[k],
			         replayer_end_words(k));
		if (!rp_end_is_ours(k) || !b->n_replay_end[k])
			continue;
		n += b->n_replay_end[k];
		if (at < sizeof(causes))
			at += (size_t)snprintf(causes + at, sizeof(causes) - at, "%s%s", at ? ", " : "",
			                       replayer_end_words(k));
	}
	if (n > of_replays * (double)n_all)
		sp_warn("%ju of %ju bursts ended early, at what can't be replayed: %s", (uintmax_t)n,
		        (uintmax_t)n_all, causes);
}

/* Why there is none, and what helps; the words may be in text. */
static const char *words_for_none(const struct bursts *b, double cpu_ns, char *text, size_t n)
{
	/* So few moments for its time: most of that is of tasks that end before the first sample of theirs. */
	bool young = isinf(b->opts->bursts_hz) &&
	             cpu_ns > MANY_MOMENTS * (double)(b->n_due + 1) * (double)b->moment_ns;

	if (b->tracer && b->n_traced >= b->n_end[BURST_GONE]) {
		char tracer[100];

		name_tracer(b, tracer, sizeof(tracer));
		snprintf(text, n, ": it is traced already (by %s); %s", tracer,
		         b->tracer == getpid() ? "'skidprof truth' counts what it runs"
		                               : "record it without its tracer");
		return text;
	}
	if (b->n_end[BURST_REFUSED] && b->n_end[BURST_REFUSED] >= b->n_end[BURST_GONE])
		return ": they were refused";
	if (b->n_put_off)
		return ": --burst-budget has no room for one.  Record for longer, or allow more "
		       "(--burst-budget=10%)";
	if (b->n_end[BURST_GONE] || young)
		return ": its processes or threads had ended before they could be stopped; 'skidprof truth' "
		       "counts what "
		       "they run";
	return "; record for longer";
}

void bursts_say(const struct bursts *b, uint64_t time_ns)
{
	double cpu_ns = (double)time_ns;
	char cut[80] = "", why[200];

	say_failures(b);
	timed_paths_say(&b->timed, cpu_ns);
	say_unreplayed(b);
	if (b->n_cut)
		snprintf(cut, sizeof(cut), " (%ju cut short by system calls or signals)",
		         (uintmax_t)b->n_cut);
	/* Where it hardly ran, or its counters were closed as it began, that it has no samples is said. */
	if (!b->n_written && cpu_ns > (double)b->moment_ns)
		sp_note("no bursts in %.2f s of the program's time%s", 1e-9 * cpu_ns,
		        words_for_none(b, cpu_ns, why, sizeof(why)));
	if (!b->n_written)
		return;
	sp_note("%ju burst%s of %.0f branches%s held the program for %.2f%% of its time%s",
	        (uintmax_t)b->n_written, sp_plural(b->n_written),
	        (double)b->account.n_branches / (double)b->n_written, cut,
	        cpu_ns > 0 ? 100 * (double)b->account.held_ns / cpu_ns : 0,
	        b->n_put_off * 2 > b->n_due ? "; --burst-budget allows no more" : "");
	sp_debug("bursts: held for %.3f ms of %.3f ms, the longest for %.3f ms",
	         1e-6 * (double)b->account.held_ns, 1e-6 * cpu_ns, 1e-6 * (double)b->account.longest_ns);
	sp_debug("bursts: stops, and half of our work beside them, took %.3f ms of CPU time",
	         1e-6 * (double)b->work.held_ns);
	sp_debug("bursts: moments %.1f ms apart, from an age of %.1f ms on, where an interrupt takes %.1f us",
	         1e-6 * (double)b->moment_ns, 1e-6 * (double)b->moment_ns / b->n_told,
	         1e-3 * b->interrupt_ns);
	if (b->n_replayed)
		sp_debug("bursts: %ju replayed, %.1f us each; %.1f pages, %.1f of them read alone",
		         (uintmax_t)b->n_replayed, 1e-3 * (double)b->account.held_ns / (double)b->n_replayed,
		         (double)b->n_pages / (double)b->n_replayed,
		         (double)b->n_missed / (double)b->n_replayed);
	sp_debug("bursts: went past %ju system calls; %ju threads came to others than they should have",
	         (uintmax_t)b->n_calls, (uintmax_t)b->n_astray);
	sp_debug("bursts: %ju steps, %.1f us each; %ju due, %ju put off; %ju asleep, %ju in the kernel, %ju "
	         "without SIGTRAP, %ju lost, %ju gone",
	         (uintmax_t)b->n_steps,
	         b->n_steps ? 1e-3 * (double)b->account.held_ns / (double)b->n_steps : 0, (uintmax_t)b->n_due,
	         (uintmax_t)b->n_put_off, (uintmax_t)b->n_end[BURST_ASLEEP],
	         (uintmax_t)b->n_end[BURST_KERNEL], (uintmax_t)b->n_end[BURST_UNFIT],
	         (uintmax_t)b->n_end[BURST_LOST], (uintmax_t)b->n_end[BURST_GONE]);
}

void bursts_free(struct bursts *b)
{
	if (!b)
		return;
	stepper_stop(&b->stepper);
	if (b->epoll_fd >= 0)
		close(b->epoll_fd);
	gsl_rng_free(b->rng);
	vec_fini(&b->processes);
	free(b);
}
