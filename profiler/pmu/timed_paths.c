/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/pmu/timed_paths.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "profiler/base/log.h"
#include "profiler/pmu/replayer.h"

enum {
	EXPECTED_HELD_NS = 500000, /* before one was seen */
	EXPECTED_REPLAY_NS = 15000000,
	/*
	 * From moment to moment: two of them are a millisecond (time_path.c).  Paths of three times the length tell hardly more,
	 * for a program's pace differs more from place to place than from one such time to the next; but they take three times the
	 * replay.
	 */
	PERIOD_NS = 500000,
	/* The fastest code comes to some 15 instructions a nanosecond; a moment more is for what lies behind the last. */
	MOST_INSNS = 45000000,
	MOST_REPLAY_NS = 1000000000,
	MOST_HELD_NS = 30000000,
	/* What replays may take before the program has run: in one of a second they are to be some twenty. */
	REPLAYS_AHEAD_NS = 200000000,
};

/* Replays run beside the program, on another CPU where there is one: so much of its time they may take. */
static const double replay_budget = 0.2;

/* A greater share of moments without a path may be of another pace than the rest, and is worth a word. */
static const double of_paths = 1.0 / 3;

void timed_paths_init(struct timed_paths *t, double hz, double budget)
{
	*t = (struct timed_paths){ .hz = hz,
		                   .account = { .budget = budget, .expected_ns = EXPECTED_HELD_NS },
		                   .replays = { .budget = replay_budget,
		                                .ahead_ns = REPLAYS_AHEAD_NS,
		                                .expected_ns = EXPECTED_REPLAY_NS } };
}

double timed_paths_hz(const struct timed_paths *t, double cpu_s, double wall_s)
{
	if (!isinf(t->hz))
		return t->hz;
	return fmin(burst_account_hz(&t->account, cpu_s, wall_s),
	            burst_account_hz(&t->replays, cpu_s, wall_s));
}

void timed_paths_attr(struct perf_event_attr *attr)
{
	attr->type = PERF_TYPE_SOFTWARE;
	attr->config = PERF_COUNT_SW_TASK_CLOCK;
	attr->config1 = attr->config2 = 0;
	attr->sample_period = 1;
	attr->freq = 0;
	attr->precise_ip = 0;
	attr->branch_sample_type = 0;
	attr->sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
	                    PERF_SAMPLE_ADDR | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD;
}

struct burst_limits timed_paths_limits(const struct timed_paths *t, uint64_t cpu_ns)
{
	struct burst_limits limits = { .replay_ns = MOST_REPLAY_NS,
		                       .held_ns = MOST_HELD_NS,
		                       .period_ns = PERIOD_NS };

	if (burst_account_allows(&t->account, 0, cpu_ns) &&
	    (!isinf(t->hz) || burst_account_allows(&t->replays, 0, cpu_ns)))
		limits.timed_insns = MOST_INSNS;
	return limits;
}

void timed_paths_learn(struct timed_paths *t, const struct burst *b)
{
	/* What ended before it could begin has no time either. */
	t->n[b->timing < BURST_N_TIMINGS && (b->timing != TIMING_DONE || b->timed_ns) ? b->timing
	                                                                              : TIMING_NONE]++;
	t->account.n_asked++;
	if (b->timing == TIMING_REFUSED && !t->error)
		t->error = b->error;
	if (b->timing == TIMING_CUT && b->replay_end < RP_N_ENDS)
		t->n_end[b->replay_end]++;
	if (b->timing == TIMING_LOST && b->replay_end < RP_N_ENDS)
		t->n_lost_end[b->replay_end]++;
	if (b->held_ns) {
		t->account.held_ns += b->held_ns;
		t->account.longest_ns =
		        b->held_ns > t->account.longest_ns ? b->held_ns : t->account.longest_ns;
	}
	t->replays.n_asked++;
	t->replays.held_ns += b->replay_ns;
	t->insns += b->timed_insns;
	t->ns += b->timed_ns;
}

int timed_paths_write(struct pd_writer *w, const struct burst *b, struct pd_record *rec, uint64_t id)
{
	uint64_t told = 0;
	int err;

	for (uint32_t i = 0; i < b->n_runs; i++)
		told += b->runs[i].n_insns;
	rec->sample = (struct pd_sample){
		.ip = b->start_ip, .addr = b->timed_ns, .period = b->timed_insns - told, .id = id
	};
	err = pd_write_sample(w, rec);
	for (uint32_t i = 0; i < b->n_runs && err == 0; i++) {
		const struct burst_run *run = &b->runs[i];

		rec->sample = (struct pd_sample){ .ip = run->from_ip,
			                          .addr = run->to_ip,
			                          .stream_id = run->n,
			                          .period = run->n_insns,
			                          .id = id };
		err = pd_write_sample(w, rec);
	}
	return err;
}

/* How a replay ends that does not come past where its thread was. */
static const char *lost_words(uint32_t end)
{
	return end == RP_END_WHOLE ? "the way led elsewhere, as where memory had changed that was not copied"
	       : end == RP_END_FAULT
	               ? "the way led to a fault, as where memory had changed that was not copied"
	       : end == RP_END_TIME ? "the replay took too long"
	                            : replayer_end_words(end);
}

static void say_causes(const struct timed_paths *t)
{
	sp_debug("timed paths: %ju done, %ju at no moment to do so, %ju without enough turns, %ju cut, %ju "
	         "lost, %ju "
	         "ambiguous; held for %.3f ms, the longest for %.3f ms; replays took %.3f ms",
	         (uintmax_t)t->n[TIMING_DONE], (uintmax_t)t->n[TIMING_NONE], (uintmax_t)t->n[TIMING_LATE],
	         (uintmax_t)t->n[TIMING_CUT], (uintmax_t)t->n[TIMING_LOST], (uintmax_t)t->n[TIMING_TWICE],
	         1e-6 * (double)t->account.held_ns, 1e-6 * (double)t->account.longest_ns,
	         1e-6 * (double)t->replays.held_ns);
	for (uint32_t k = 0; k < RP_N_ENDS; k++)
		if (t->n_end[k])
			sp_debug("timed paths: %ju cut by %s", (uintmax_t)t->n_end[k], replayer_end_words(k));
	for (uint32_t k = 0; k < RP_N_ENDS; k++)
		if (t->n_lost_end[k])
			sp_debug("timed paths: %ju lost: %s", (uintmax_t)t->n_lost_end[k], lost_words(k));
}

void timed_paths_say(const struct timed_paths *t, double cpu_ns)
{
	uint64_t done = t->n[TIMING_DONE], n_cut = t->n_end[RP_END_SYSCALL], n_lost = t->n[TIMING_LOST];
	char why[160];

	if (!(t->hz > 0))
		return;
	snprintf(why, sizeof(why),
	         "; at %ju a system call came too soon, at %ju the replay lost its way or took too long"
	         "%s",
	         (uintmax_t)n_cut, (uintmax_t)n_lost, sp_log_level() > 0 ? "" : " (-v has all reasons)");
	say_causes(t);
	if (t->n[TIMING_REFUSED])
		sp_warn("%ju paths could not be timed: %s", (uintmax_t)t->n[TIMING_REFUSED],
		        strerror(t->error));
	if (!t->account.n_asked)
		sp_note("no path was timed: %.2f s of the program's time were too short for one; record for "
		        "longer",
		        1e-9 * cpu_ns);
	else if (!done)
		sp_note("no path could be timed at %ju moment%s%s; 'skidprof truth' counts instructions",
		        (uintmax_t)t->account.n_asked, sp_plural(t->account.n_asked), why);
	else
		sp_note("%ju timed path%s of %.0f instructions held the program for %.2f%% of its time%s",
		        (uintmax_t)done, sp_plural(done), (double)t->insns / (double)done,
		        cpu_ns > 0 ? 100 * (double)t->account.held_ns / cpu_ns : 0,
		        (double)(n_cut + n_lost) > of_paths * (double)t->account.n_asked ? why : "");
}
