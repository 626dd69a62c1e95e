/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/pmu/event_trial.h"

#include <unistd.h>

#include "profiler/base/err.h"

enum { N_ROUNDS = 100000 };

static __attribute__((noinline)) unsigned work(unsigned i)
{
	volatile unsigned v = i;

	return v & 1 ? v * 5 : v + 3;
}

/* Some 0.2 ms: members that can't be on the counters all at once never get there. */
static void work_a_while(void)
{
	volatile unsigned sum = 0;

	for (unsigned i = 0; i < N_ROUNDS; i++)
		sum = sum + work(i);
}

static int open_member(const struct pe_event *e, int group_fd)
{
	struct perf_event_attr attr = e->attr;

	attr.sample_period = 0;
	attr.freq = 0;
	attr.precise_ip = 0;
	attr.sample_type = attr.branch_sample_type = 0;
	attr.read_format =
	        PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	return pe_open(&attr, &(struct pe_place){ .tid = 0, .cpu = -1, .group_fd = group_fd });
}

/* words: nr, enabled, running, values */
static bool has_counted(const uint64_t *words, bool all_move)
{
	if (words[2] == 0)
		return false;
	for (uint64_t i = 0; all_move && i < words[0]; i++)
		if (words[3 + i] == 0)
			return false;
	return true;
}

bool event_trial(const struct event_group *g, size_t leader, size_t end, bool all_move)
{
	int fds[EVENT_GROUP_MAX] = { -1 };
	uint64_t words[3 + EVENT_GROUP_MAX] = { 0 };
	size_t n = 0;
	bool ok = true;

	for (size_t i = leader; i < end && ok; i++) {
		fds[n] = open_member(&g->v[i], n ? fds[0] : -1);
		ok = fds[n] >= 0;
		n += ok;
	}
	/* On a kind of core that we may not be running on, opening must do. */
	if (ok && !g->v[leader].some_cpus) {
		work_a_while();
		ok = read(fds[0], words, sizeof(words)) > 0 && has_counted(words, all_move);
	}
	while (n)
		close(fds[--n]);
	return ok;
}

size_t event_group_end(const struct event_group *g, size_t leader)
{
	size_t end = leader + 1;

	while (end < g->n && g->v[end].leader == leader)
		end++;
	return end;
}

int event_trial_all(const struct event_group *g)
{
	for (size_t i = 0, end; i < g->n; i = end) {
		size_t fit;

		end = event_group_end(g, i);
		if (end - i == 1 || event_trial(g, i, end, false))
			continue;
		for (fit = end - 1; fit > i + 1 && !event_trial(g, i, fit, false); fit--)
			;
		return sp_fail(SP_EUSAGE,
		               "-e: a group of %zu events is more than this processor counts at a time: from "
		               "'%s' on they don't fit (the NMI watchdog may hold a counter); make groups of "
		               "fewer, {a,b},{c,d}, which take turns",
		               end - i, g->v[fit].name);
	}
	return 0;
}
