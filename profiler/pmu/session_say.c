/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a recording with the kernel's events came to, in words. */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "profiler/base/log.h"
#include "profiler/base/path.h"
#include "profiler/pmu/program.h"
#include "profiler/pmu/session.h"

static uint64_t n_samples(const struct session_config *c, const struct session_summary *s)
{
	uint64_t n = 0;

	for (size_t i = 0; i < c->n_events; i++)
		n += s->n_samples[i];
	return n;
}

/* Moments of bursts are no samples: what became of them has a line of its own (bursts_say). */
static bool is_bursts(const struct pe_event *e)
{
	return strcmp(e->name, "bursts") == 0;
}

static void say_samples(const struct session_config *c, const struct session_summary *s)
{
	char events[1024] = "", lost[64] = "none lost";
	size_t used = 0;

	for (size_t i = 0; i < c->n_events; i++) {
		const struct pe_event *e = &c->events[i];

		if (!e->attr.sample_period || is_bursts(e) || e->finer || used >= sizeof(events))
			continue;
		used += (size_t)snprintf(events + used, sizeof(events) - used, "%s%ju of %s %s %ju%s",
		                         used ? ", " : "", (uintmax_t)s->n_samples[i], e->name,
		                         e->attr.freq ? "at" : "at period", (uintmax_t)e->attr.sample_period,
		                         e->attr.freq ? " Hz" : "");
	}
	if (s->n_lost)
		snprintf(lost, sizeof(lost), "%ju LOST", (uintmax_t)s->n_lost);
	sp_note("%ju sample%s (%s); %ju bytes in %s; %s", (uintmax_t)n_samples(c, s),
	        sp_plural(n_samples(c, s)), events, (uintmax_t)s->bytes, path_words(c->opts->output), lost);
}

/* The kernel's own events never wait for a counter. */
static bool counters_are_shared(const struct session_config *c)
{
	for (size_t i = 0; i < c->n_events; i++)
		if (c->events[i].attr.type != PERF_TYPE_SOFTWARE)
			return true;
	return false;
}

/* The program's file where the kernel closes counters as it begins: it may not be looked into, or has another user's rights; else "". */
static const char *closed_to_us(const struct session_config *c, char *path)
{
	*path = '\0';
	if (c->opts->argc == 0 || program_locate(c->opts->argv[0], path) < 0)
		return "";
	if (program_gains_rights(path))
		return "runs with another user's or group's rights";
	/* Root may read whatever is there. */
	return access(path, R_OK) < 0 ? "may be run, but not be read" : "";
}

static void say_none(const struct session_config *c)
{
	char path[PATH_MAX];
	const char *closed = closed_to_us(c, path);

	if (*closed)
		sp_warn("no samples: %s %s, so the kernel closes its counters as it begins: %s", path, closed,
		        geteuid() == 0 ? "record it while it runs (-p PID)" : "record it as root");
	else
		sp_warn("no samples: nothing that was %s ran as long as one period (-c)%s",
		        c->opts->argc ? "recorded" : "asked for",
		        geteuid() == 0
		                ? ""
		                : ", or the kernel closed the counters, as it does when a program gets "
		                  "another user's rights");
}

/* As reports do (reasons.def). */
static const double told_missed = 0.02;

static void say_losses(const struct session_config *c, const struct session_summary *s)
{
	const struct tasks_stats *t = &s->tasks;
	uint64_t n = n_samples(c, s);

	if (s->n_lost)
		sp_warn("%ju sample%s (%.2f%%) %s lost because the buffers were full: take fewer (a larger "
		        "-c)",
		        (uintmax_t)s->n_lost, sp_plural(s->n_lost),
		        100.0 * (double)s->n_lost / (double)(s->n_lost + n), s->n_lost == 1 ? "was" : "were");
	if (n > 0 && (double)s->missed_ns > told_missed * (double)t->time_ns)
		sp_warn("%.0f%% of the CPU time is in no sample: processes or threads ended before their "
		        "first or after "
		        "their last%s",
		        100 * (double)s->missed_ns / (double)t->time_ns,
		        s->missed_ns < t->time_ns / 2 ? "; take a smaller period (-c)"
		                                      : "; 'skidprof truth' counts what they run");
	if (s->n_throttled)
		sp_warn("the kernel stopped sampling %ju time%s, because interrupts came too often: take a "
		        "larger "
		        "-c, or as root raise sysctl kernel.perf_event_max_sample_rate and set "
		        "kernel.perf_cpu_time_max_percent=0",
		        (uintmax_t)s->n_throttled, sp_plural(s->n_throttled));
	if (t->counted_share < 0.98 && counters_are_shared(c))
		sp_warn("the counters were shared: a group counted %.0f%% of its time, and values have to be "
		        "scaled; "
		        "record fewer events or stop what else uses the PMU (the NMI watchdog, another "
		        "profiler)",
		        100 * t->counted_share);
	if (t->n_missed)
		sp_warn("%ju tasks ended before they could be followed, and were not sampled (this kernel "
		        "can't "
		        "let them inherit a group's events; Linux 6.12 can)",
		        (uintmax_t)t->n_missed);
	if (t->n_refused)
		sp_warn("%ju tasks were not sampled: %s", (uintmax_t)t->n_refused, t->refusal);
	if (n == 0)
		say_none(c);
}

static void say_stats(const struct session_config *c, const struct session_summary *s)
{
	double n = (double)n_samples(c, s);

	sp_note("stats: %.0f samples/s, %.1f bytes/sample, recorder %.3f s of CPU in %.3f s (%.2f%%), "
	        "rings of %zu KiB, tasks %s",
	        s->seconds > 0 ? n / s->seconds : 0, n > 0 ? (double)s->bytes / n : 0, s->cpu_s, s->seconds,
	        s->seconds > 0 ? 100 * s->cpu_s / s->seconds : 0, s->tasks.ring_bytes >> 10,
	        s->tasks.inherited ? "inherited" : "followed");
}

void session_say(const struct session_config *c, const struct session_summary *s)
{
	if (s->ended)
		sp_note("the recording ended by %s%s", s->ended,
		        c->opts->argc ? ", and the program with it" : "");
	if (s->left_running)
		sp_warn("what the program started still runs; the recording has ended with the program, and "
		        "record -p PID takes what runs on");
	say_losses(c, s);
	say_samples(c, s);
	if (c->opts->stats)
		say_stats(c, s);
}
