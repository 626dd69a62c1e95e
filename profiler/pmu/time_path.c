/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/pmu/time_path.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/base/clock.h"
#include "profiler/pmu/replayer.h"

enum {
	/*
	 * The path up to the first moments proves that it is the thread's own, and is the time in which it recovers: where
	 * others want the CPU they get it when the thread is stopped, and then it finds its caches cold.  Between .5 and 1 ms
	 * after a stop three programs on a busy machine ran at 75 to 89% of the pace that they had from 1 ms on.
	 * More than two moments behind these (replayer_n_passed()), as a loop may come to the registers of one of them twice.
	 */
	N_MORE = 4,
	N_LEAST = 2,
	N_USUAL = 1 + N_MORE, /* of so many are limits->timed_insns */
	AWAIT_NS = 200000000, /* the thread may have to wait for a CPU */
};

bool time_path_prepare(struct time_path *t, struct burst_tools *tools, const struct burst_limits *limits,
                       struct burst *b)
{
	*t = (struct time_path){ .timed.fd = -1 };
	b->timing = TIMING_NONE;
	if (!tools->replayer)
		return false;
	t->n_moments = replayer_n_passed(tools->replayer) + N_MORE;
	if (tools->interrupt_ns <= 0)
		tools->interrupt_ns = timed_interrupt_ns();
	if (tools->interrupt_ns <= 0 || timed_open(&t->timed, b->tid, limits->period_ns, t->n_moments) < 0) {
		b->error = errno;
		b->timing = TIMING_REFUSED;
		return false;
	}
	return true;
}

void time_path_begin(struct time_path *t, struct replayer *r, pid_t pid, struct burst *b)
{
	if (!replayer_take_registers(r, b->tid) || !replayer_keep(r, pid))
		return;
	t->under_way = true;
	timed_begin(&t->timed);
}

/* Most instructions first. */
static int by_insns(const void *a, const void *b)
{
	const struct rp_straight *x = a, *y = b;

	if (x->n_insns != y->n_insns)
		return x->n_insns > y->n_insns ? -1 : 1;
	return x->from_ip < y->from_ip ? -1 : x->from_ip > y->from_ip;
}

static void take_runs(const struct rp_reply *reply, struct burst *b)
{
	static struct rp_straight sorted[RP_MAX_RUNS];
	uint32_t n = reply->n_runs < RP_MAX_RUNS ? reply->n_runs : RP_MAX_RUNS;

	memcpy(sorted, reply->runs, n * sizeof(*sorted));
	qsort(sorted, n, sizeof(*sorted), by_insns);
	b->n_runs = n < BURST_MAX_RUNS ? n : BURST_MAX_RUNS;
	for (uint32_t i = 0; i < b->n_runs; i++)
		b->runs[i] = (struct burst_run){ sorted[i].from_ip, sorted[i].to_ip, (uint32_t)sorted[i].n,
			                         (uint32_t)sorted[i].n_insns };
}

static enum burst_timing judge(const struct rp_request *q, const struct rp_reply *reply)
{
	if (reply->to_mark)
		return TIMING_DONE;
	if (reply->end == RP_END_SYSCALL || reply->end == RP_END_TRAP || reply->end == RP_END_VSYSCALL ||
	    rp_end_is_ours(reply->end))
		return TIMING_CUT;
	return rp_came_again(reply, q->n_passed, q->n_marks) ? TIMING_TWICE : TIMING_LOST;
}

/*
 * Of the thread's own time: without the timer's interrupts, and without the periods that ended in the kernel, of which it
 * tells no moment: the clock that is sampled does not count them either.
 */
static double own_ns(const struct timed_moment *moments, uint32_t from, uint32_t to, double interrupt_ns,
                     double period_ns)
{
	double ns = (double)(moments[to].cpu_ns - moments[from].cpu_ns), n = (double)(to - from);

	return ns - n * interrupt_ns - fmax(round(ns / period_ns) - n, 0) * period_ns;
}

void time_path_end(struct time_path *t, struct burst_tools *tools, const struct burst_limits *limits,
                   struct burst *b)
{
	struct timed_moment moments[RP_MAX_MARKS];
	struct rp_mark marks[RP_MAX_MARKS];
	const struct rp_reply *reply;
	uint64_t begun_ns;
	uint32_t n;
	double ns;

	if (!t->under_way)
		return;
	b->timing = TIMING_LATE;
	replayer_keep_later(tools->replayer);
	n = timed_await(&t->timed, AWAIT_NS, moments, t->n_moments);
	if (n < t->n_moments - N_MORE + N_LEAST)
		return;
	for (uint32_t i = 0; i < n; i++)
		marks[i] = moments[i].mark;
	begun_ns = clock_cpu_ns(replayer_pid(tools->replayer));
	reply = replayer_run_to_marks(tools->replayer, marks, n,
	                              limits->timed_insns * (t->n_moments + 1) / (N_USUAL + 1),
	                              limits->replay_ns);
	if (!reply)
		return;
	b->replayed = true;
	b->replay_ns = clock_cpu_ns(replayer_pid(tools->replayer)) - begun_ns;
	b->replay_end = (uint8_t)reply->end;
	b->n_pages = reply->n_pages;
	b->n_missed = reply->n_missed;
	b->far_insns = reply->n_insns;
	b->timing = (uint8_t)judge(replayer_request(tools->replayer), reply);
	if (b->timing != TIMING_DONE)
		return;
	ns = own_ns(moments, reply->from_mark, reply->to_mark, tools->interrupt_ns,
	            (double)limits->period_ns);
	if (ns <= 0)
		return;
	b->timed_insns = reply->mark_insns[reply->to_mark] - reply->mark_insns[reply->from_mark];
	b->timed_ns = (uint64_t)ns;
	take_runs(reply, b);
}
