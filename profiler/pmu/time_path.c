/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/pmu/time_path.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/base/clock.h"
#include "profiler/pmu/replayer.h"

enum {
	/*
	 * The path up to the first moments proves that it is the thread's own, and is the time in which it recovers: where
	 * others want the CPU they get it when the thread is stopped, and then it finds its caches cold.  Between .5 and 1 ms
	 * after a stop three programs on a busy machine ran at 75 to 89% of the pace that they had from 1 ms on.
	 */
	N_PASSED = 1,
	N_MOMENTS = N_PASSED + 2,
	AWAIT_NS = 200000000, /* the thread may have to wait for a CPU */
};

bool time_path_prepare(struct time_path *t, struct burst_tools *tools, const struct burst_limits *limits,
                       struct burst *b)
{
	*t = (struct time_path){ .timed.fd = -1 };
	b->timing = TIMING_NONE;
	if (!tools->replayer)
		return false;
	if (tools->interrupt_ns <= 0)
		tools->interrupt_ns = timed_interrupt_ns();
	if (tools->interrupt_ns <= 0 || timed_open(&t->timed, b->tid, limits->period_ns, N_MOMENTS) < 0) {
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

static enum burst_timing judge(const struct rp_reply *reply)
{
	bool ends_in_kernel =
	        reply->end == RP_END_SYSCALL || reply->end == RP_END_TRAP || reply->end == RP_END_VSYSCALL;

	for (uint32_t k = 0; k < N_MOMENTS; k++)
		if (!reply->mark_met[k])
			return ends_in_kernel || rp_end_is_ours(reply->end) ? TIMING_CUT : TIMING_LOST;
	for (uint32_t k = 0; k < N_MOMENTS; k++)
		if (reply->mark_met[k] > 1 || (k && reply->mark_insns[k] <= reply->mark_insns[k - 1]))
			return TIMING_TWICE;
	return TIMING_DONE;
}

void time_path_end(struct time_path *t, struct burst_tools *tools, const struct burst_limits *limits,
                   struct burst *b)
{
	struct timed_moment moments[N_MOMENTS];
	struct rp_mark marks[N_MOMENTS];
	const struct rp_reply *reply;
	uint64_t begun_ns;
	double ns;

	if (!t->under_way)
		return;
	b->timing = TIMING_LATE;
	if (timed_await(&t->timed, AWAIT_NS, moments, N_MOMENTS) < N_MOMENTS)
		return;
	for (uint32_t i = 0; i < N_MOMENTS; i++)
		marks[i] = moments[i].mark;
	begun_ns = clock_cpu_ns(replayer_pid(tools->replayer));
	reply = replayer_run_to_marks(tools->replayer, marks, N_MOMENTS, limits->timed_insns,
	                              limits->replay_ns);
	if (!reply)
		return;
	b->replayed = true;
	b->replay_ns = clock_cpu_ns(replayer_pid(tools->replayer)) - begun_ns;
	b->replay_end = (uint8_t)reply->end;
	b->n_pages = reply->n_pages;
	b->n_missed = reply->n_missed;
	b->far_insns = reply->n_insns;
	b->timing = (uint8_t)judge(reply);
	ns = (double)(moments[N_PASSED + 1].cpu_ns - moments[N_PASSED].cpu_ns) - tools->interrupt_ns;
	if (b->timing != TIMING_DONE || ns <= 0)
		return;
	b->timed_insns = reply->mark_insns[N_PASSED + 1] - reply->mark_insns[N_PASSED];
	b->timed_ns = (uint64_t)ns;
	take_runs(reply, b);
}
