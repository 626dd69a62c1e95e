/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where the numbers come from: the first lines of every report. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "correct/judge/reasons.h"
#include "correct/model/model.h"
#include "profiler/base/err.h"
#include "profiler/base/log.h"
#include "profiler/base/mem.h"
#include "profiler/binary/module.h"
#include "report/number.h"
#include "report/report.h"

enum { LINE_MAX_BYTES = 1536, MAX_TROUBLES = 8 };

/* A file without names is worth a line from such a share of the samples on. */
static const double unnamed_told = 0.1;

static const char *skid_words(enum profile_skid_source source)
{
	switch (source) {
	case SKID_MEASURED:
		return "measured";
	case SKID_GIVEN:
		return "given";
	case SKID_DEFAULT:
		return "default";
	case SKID_PRECISE:
		return "precise";
	case SKID_NONE:
		break;
	}
	return "unknown";
}

static void safe(const char *text, char out[LINE_MAX_BYTES])
{
	text_safe(text && *text ? text : "unknown", out, LINE_MAX_BYTES);
}

static const struct meta_columns all_columns = { .parts = true, .cycles = true, .cpi = true };

static bool is_bursts(const struct profile_event *e)
{
	return e->name && strcmp(e->name, "bursts") == 0;
}

/* "cycles every 100,003" */
static void event_words(const struct profile_event *e, char *out, size_t size)
{
	char name[128], period[NUMBER_MAX];

	text_safe(e->name ? e->name : "?", name, sizeof(name));
	number_grouped((double)e->period, period);
	if (is_bursts(e))
		snprintf(out, size, "%ju burst%s", (uintmax_t)e->n_samples, sp_plural(e->n_samples));
	else if (e->freq)
		snprintf(out, size, "%s by frequency", name);
	else if (e->period)
		snprintf(out, size, "%s every %s%s", name, period, strstr(name, "-clock") ? " ns" : "");
	else
		snprintf(out, size, "%s", name);
}

static bool is_timed_paths(const struct profile_event *e)
{
	return e->name && strcmp(e->name, "timed-paths") == 0;
}

static bool is_sampled(const struct profile_event *e)
{
	return !is_timed_paths(e) && !e->aside && (e->freq || e->period || e->n_samples);
}

static size_t add_event(const struct profile_event *e, const char *before, char *out, size_t n, size_t size)
{
	char words[256];

	event_words(e, words, sizeof(words));
	snprintf(out + n, size - n, "%s%s", before, words);
	return strlen(out);
}

static void sampled_list(const struct profile_meta *m, char *out, size_t size)
{
	size_t n = 0;

	out[0] = '\0';
	for (size_t i = 0; i < m->n_events && n + 1 < size; i++) {
		if (!is_sampled(&m->events[i]))
			continue;
		n = add_event(&m->events[i], n ? ", " : "", out, n, size);
		if (m->events[i].multiplexed)
			snprintf(out + n, size - n, " (multiplexed)");
		n = strlen(out);
	}
}

/* Events that were only counted: those that had a counter all the time, then those that took turns. */
static void counted_list(const struct profile_meta *m, char *out, size_t size)
{
	size_t n = 0;

	out[0] = '\0';
	for (int turns = 0; turns < 2; turns++) {
		const char *before = !turns ? "" : n ? "; multiplexed: " : "multiplexed: ";

		for (size_t i = 0; i < m->n_events && n + 1 < size; i++) {
			if (is_sampled(&m->events[i]) || is_timed_paths(&m->events[i]) ||
			    m->events[i].aside || m->events[i].multiplexed != turns)
				continue;
			n = add_event(&m->events[i], before, out, n, size);
			before = ", ";
		}
	}
}

static void skid_line(const struct profile_meta *m, char *out, size_t size)
{
	if (m->skid_source == SKID_PRECISE)
		snprintf(out, size, "no skid: precise samples");
	else if (m->skid_source == SKID_NONE || !isfinite(m->skid_median_cyc))
		snprintf(out, size, "skid unknown");
	else
		snprintf(out, size, "skid %.0f cycles (10-90%% %.0f..%.0f, %s)", m->skid_median_cyc,
		         m->skid_p10_cyc, m->skid_p90_cyc, skid_words(m->skid_source));
}

/* Time has no skid that a loop could feel: what it is made of says more. */
bool report_by_clock(const struct profile_meta *m)
{
	return m->pmu && strcmp(m->pmu, "clock") == 0;
}

static bool sampled_time(const struct profile_meta *m)
{
	return !report_by_clock(m) || m->cyc_is_time || m->n_bursts;
}

static void clock_line(const struct profile_meta *m, char *out, size_t size)
{
	if (!sampled_time(m))
		snprintf(out, size, "time was not sampled");
	else if (m->core_hz > 0)
		snprintf(out, size, "cycles are time x %.2f GHz", m->core_hz / 1e9);
	else
		snprintf(out, size, "the core's frequency was not measured");
}

/* Moments of bursts and of timed paths are no samples. */
static uint64_t n_sampled(const struct profile_meta *m)
{
	uint64_t n = 0;
	bool timed = false;

	for (size_t i = 0; i < m->n_events; i++) {
		timed |= is_timed_paths(&m->events[i]);
		if (!is_timed_paths(&m->events[i]) && !is_bursts(&m->events[i]))
			n += m->events[i].n_samples;
	}
	return timed ? n : m->n_samples - m->n_bursts;
}

void meta_first_line(const struct profile *p, char *out, size_t size)
{
	const struct profile_meta *m = &p->meta;
	char pmu[LINE_MAX_BYTES], events[512], skid[128], n[NUMBER_MAX], lost[NUMBER_MAX];

	safe(m->pmu, pmu);
	sampled_list(m, events, sizeof(events));
	if (report_by_clock(m))
		clock_line(m, skid, sizeof(skid));
	else
		skid_line(m, skid, sizeof(skid));
	number_grouped((double)n_sampled(m), n);
	number_grouped((double)m->n_lost, lost);
	/* Events of the kernel need no PMU, and not all are a clock's. */
	snprintf(out, size, "%.40s%s; %s; %s; %s sample%s, %s lost%s%s", sampled_time(m) ? pmu : "no",
	         report_by_clock(m) && sampled_time(m) ? ", no PMU" : " PMU",
	         *events ? events : "no sampled event", skid, n, sp_plural(n_sampled(m)), lost,
	         m->model ? "; AN EXPERIMENT, --model " : "", m->model ? m->model : "");
}

/* The C library's functions of which each processor has its own. */
static bool names_variant(const char *why)
{
	static const char *const parts[] = { "_avx", "_evex", "_sse", "_erms" };

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		if (strstr(why, parts[i]))
			return true;
	return false;
}

static void print_truth(const struct profile *p, FILE *f)
{
	const struct profile_meta *m = &p->meta;
	char text[LINE_MAX_BYTES], n[NUMBER_MAX];
	double insn = 0, cyc = 0;

	for (size_t i = 0; i < p->n_funcs; i++) {
		insn += p->funcs[i].rolled.insn;
		cyc += p->funcs[i].rolled.cyc;
	}
	safe(m->truth, text);
	number_si(insn, n);
	fprintf(f, "# instructions are exact counts of another run: %s; SHARE is of them, %s in all", text,
	        n);
	if (report_has_cyc(p) && cyc > 0 && !m->truth_of_other_arguments)
		fprintf(f, ", IPC %.2f", insn / cyc);
	fputc('\n', f);
	if (*m->truth_why) {
		safe(m->truth_why, text);
		fprintf(f, "# NOT THE SAME RUN? %s\n", text);
		if (names_variant(text) && !strstr(text, REASON_TUNABLES))
			fputs("# the C library chooses such functions by the processor, for the emulated one "
			      "others: to choose alike, record with\n"
			      "# " REASON_TUNABLES " (skidprof-truth(1))\n",
			      f);
	}
}

/* Totals of groups are read, and miss nothing; samples do. */
static void print_unsampled(const struct profile_meta *m, FILE *f)
{
	char name[128];

	for (size_t i = 0; i < m->n_events; i++) {
		const struct profile_event *e = &m->events[i];

		if (!(e->unsampled > 0))
			continue;
		text_safe(e->name ? e->name : "?", name, sizeof(name));
		fprintf(f,
		        "# %s: no sample stands for %.1f%% of what was counted, for some were lost or came "
		        "faster "
		        "than they can be taken: raw counts and cycles are too low by that; record with a "
		        "larger "
		        "period\n",
		        name, 100 * e->unsampled);
	}
}

static void print_ended(const struct profile_meta *m, FILE *f)
{
	int event = m->insn_event < 0 ? m->cyc_event : m->insn_event;
	double share = event < 0 ? 0 : m->events[event].ended;

	if (share > 0 && m->insn_event < 0)
		fprintf(f,
		        "# short processes or threads: %.0f%% of their CPU time, with the kernel's, is in no "
		        "sample, for they "
		        "ended before their first or after their last: record with a smaller period (-c)\n",
		        100 * share);
	else if (share > 0)
		fprintf(f,
		        "# short processes or threads: what each ran before its first sample or after its "
		        "last is in no "
		        "count: half a period each at most would be %.0f%% more instructions; record with a "
		        "smaller period (-c)\n",
		        100 * share / (1 - share));
}

/* Nothing in the file tells what is missing of these. */
static void print_hidden(const struct profile_meta *m, FILE *f)
{
	char name[128];

	for (size_t i = 0; i < m->n_events; i++) {
		const struct profile_event *e = &m->events[i];

		if (!(e->hidden > 0))
			continue;
		text_safe(e->name ? e->name : "?", name, sizeof(name));
		fprintf(f,
		        "# %s: samples come about as fast as they skid, so that one interrupt serves "
		        "several: some %.0f%% or more are missing, most where code is fast; record with a "
		        "larger period (-c)\n",
		        name, 100 * e->hidden);
	}
}

/* What totals were scaled for: counts that no sample stands for. */
static void print_scaled(const struct profile *p, FILE *f)
{
	const struct profile_meta *m = &p->meta;
	char name[128];

	for (size_t i = 0; i < m->n_events; i++) {
		const struct profile_event *e = &m->events[i];

		if (!(e->rested > 0) || (m->one_event && (int)i != m->cyc_event))
			continue;
		text_safe(e->name ? e->name : "?", name, sizeof(name));
		if (!e->total) {
			fprintf(f,
			        "# %s had no counter %.1f%% of this time, in turns with other events, and no "
			        "sample in the rest of it: how much there was of it is not known\n",
			        name, 100 * e->rested);
			continue;
		}
		fprintf(f,
		        "# %s had no counter %.1f%% of the time, in turns with other events or throttled: "
		        "its counts are "
		        "scaled by %.3f",
		        name, 100 * e->rested, 1 / (1 - e->rested));
		/* Each function has its samples in the table, and most of them have few. */
		if ((int)i == m->cyc_event && report_has_other(p))
			fprintf(f,
			        ", and marked ~ where chance leaves more than 5%% to either side: %.0f%% for "
			        "10 "
			        "samples, %.0f%% for 100, and more where they come in bursts",
			        100 * report_chance(10), 100 * report_chance(100));
		fputc('\n', f);
	}
	for (size_t i = 0; i < m->n_events; i++) {
		const struct profile_event *e = &m->events[i];

		if (!(e->throttled > 0) || (m->one_event && (int)i != m->cyc_event))
			continue;
		text_safe(e->name ? e->name : "?", name, sizeof(name));
		fprintf(f,
		        "# %s was stopped %.1f%% of the time, for its samples came too often "
		        "(kernel.perf_event_max_sample_rate): its counts are scaled by %.3f; record with a "
		        "larger period\n",
		        name, 100 * e->throttled, 1 / (1 - e->throttled));
	}
	if (m->lost_share > 0)
		fprintf(f,
		        "# the kernel lost %.1f samples for each hundred here: counts are scaled by %.3f\n",
		        100 * m->lost_share, 1 + m->lost_share);
}

/* The processor's kinds of cores: samples of all are used, and counts are of all together. */
static void print_cores(const struct profile_meta *m, FILE *f)
{
	for (size_t i = 0; i < m->n_cores; i++) {
		const struct profile_core *c = &m->cores[i];
		char name[128], insn[NUMBER_MAX], cyc[NUMBER_MAX];

		text_safe(c->name, name, sizeof(name));
		number_grouped(c->insn, insn);
		number_grouped(c->cyc, cyc);
		if (c->insn > 0 && c->cyc > 0)
			fprintf(f, "# %s: %s instructions, %s cycles, IPC %.2f\n", name, insn, cyc,
			        c->insn / c->cyc);
		else
			fprintf(f, "# %s: %s %s\n", name, c->insn > 0 ? insn : cyc,
			        c->insn > 0 ? "instructions" : "cycles");
	}
}

/* Nothing of the file is passed over in silence: events that no column is of. */
static void print_not_shown(const struct profile_meta *m, FILE *f)
{
	bool any = false;

	for (int i = 0; i < (int)m->n_events; i++) {
		const struct profile_event *e = &m->events[i];
		char name[128], n[NUMBER_MAX];

		if (i == m->insn_event || i == m->cyc_event || !e->n_samples || is_timed_paths(e) ||
		    is_bursts(e))
			continue;
		text_safe(e->name ? e->name : "?", name, sizeof(name));
		number_grouped((double)e->n_samples, n);
		fprintf(f, "%s%s (%s samples)", any ? ", " : "# sampled, but not shown here: ", name, n);
		any = true;
	}
	if (any)
		fputs("; --event NAME shows one\n", f);
}

static void print_filter(const struct profile_meta *m, FILE *f)
{
	char words[LINE_MAX_BYTES], n[NUMBER_MAX], all[NUMBER_MAX];

	if (!m->filter)
		return;
	safe(m->filter, words);
	number_grouped((double)n_sampled(m), n);
	number_grouped((double)m->n_all_samples, all);
	fprintf(f, "# only %s: %s of %s samples\n", words, n, all);
}

/* Where most moments tell nothing, as many of a longer run do. */
static void print_not_timed(const struct profile_meta *m, FILE *f)
{
	const double n = (double)m->n_timed, all = n + (double)m->n_not_timed;

	if (m->n_not_timed > model->timed_missed * all)
		fprintf(f,
		        "instructions are not told: %.0f%% of the moments tell nothing, and over %.0f%% "
		        "may be of another pace; a longer run does not mend that\n",
		        100 * (1 - n / all), 100 * model->timed_missed);
	else if (m->n_timed < PROFILE_MIN_BURSTS)
		fprintf(f,
		        "too few to tell instructions, which takes %d: %.0f%% of the moments tell "
		        "them; record longer\n",
		        PROFILE_MIN_BURSTS, 100 * n / all);
	else
		fputs("instructions are told only of a whole recording in which a clock was sampled\n", f);
}

/* Instructions of the whole program where none were counted. */
static void print_timed(const struct profile_meta *m, FILE *f)
{
	char insn[NUMBER_MAX], lo[NUMBER_MAX], hi[NUMBER_MAX];

	if ((!m->n_timed && !m->n_not_timed) || m->truth)
		return;
	if (!(m->timed_insn > 0)) {
		fprintf(f, "# %ju timed path%s, and %ju moment%s at which none could be timed: ",
		        (uintmax_t)m->n_timed, sp_plural(m->n_timed), (uintmax_t)m->n_not_timed,
		        sp_plural(m->n_not_timed));
		print_not_timed(m, f);
		return;
	}
	number_si(m->timed_insn, insn);
	number_si(m->timed_lo, lo);
	number_si(m->timed_hi, hi);
	fprintf(f, "# %ju timed paths: %s instructions in all (90%% interval %s to %s)",
	        (uintmax_t)m->n_timed, insn, lo, hi);
	if (m->timed_cyc > 0)
		fprintf(f, ", IPC %.2f (%.2f to %.2f)", m->timed_insn / m->timed_cyc,
		        m->timed_lo / m->timed_cyc, m->timed_hi / m->timed_cyc);
	fputc('\n', f);
}

static bool had_timed_paths(const struct profile_meta *m)
{
	for (size_t i = 0; i < m->n_events; i++)
		if (is_timed_paths(&m->events[i]))
			return true;
	return m->n_timed + m->n_not_timed > 0;
}

/* What the columns are that the table has. */
static void print_relative(const struct profile_meta *m, const struct meta_columns *columns, FILE *f)
{
	char name[LINE_MAX_BYTES] = "the time";

	if (columns->compared) {
		fputs("# instructions were not counted: bursts tell a function's share of its region's\n", f);
		return;
	}
	if (!m->cyc_is_time)
		safe(m->events[m->cyc_event].name, name);
	fprintf(f, "# instructions were not counted: SHARE is of %s as sampled", name);
	if (columns->cycles && m->core_hz > 0)
		fprintf(f, ", and CYCLES are that time x %.3f GHz", m->core_hz / 1e9);
	fputc('\n', f);
	if (columns->parts)
		fprintf(f, "# STATUS is of IN-REGION, a function's share of its region's instructions%s\n",
		        columns->cpi ? "; CPI/REGION is its cycles per instruction over the region's" : "");
	fprintf(f, "# 'skidprof truth PROGRAM' counts instructions: report --truth FILE%s\n",
	        had_timed_paths(m) ? ""
	                           : "; 'record --timed-bursts auto' times some loops of many programs, and "
	                             "tells them roughly");
}

static void print_not_counted(const struct profile *p, const struct meta_columns *columns, FILE *f)
{
	const struct profile_meta *m = &p->meta;

	if (m->pace > 0) {
		const char *of = m->pace_is_a_branch ? "branch" : "cycle";

		fprintf(f,
		        "# instructions were not counted: %s tell them, %.3f a %s in all (RAW is %s times "
		        "that)\n",
		        m->pace_timed         ? "timed paths"
		        : m->pace_is_a_branch ? "branch records"
		                              : "the cycles in branch records",
		        m->pace, of, m->pace_is_a_branch ? "branches" : "cycles");
	} else if (m->relative) {
		print_relative(m, columns, f);
	} else if (!report_has_insn(p) && report_by_clock(m) && m->n_bursts) {
		fprintf(f,
		        "# nothing was corrected: %ju burst%s too few to tell instructions by (%d are the "
		        "least, "
		        "some hundred are good).\n"
		        "# The table shows where time went.  Record longer, or with a larger "
		        "--burst-budget\n",
		        (uintmax_t)m->n_bursts, m->n_bursts == 1 ? " is" : "s are", PROFILE_MIN_BURSTS);
	} else if (!report_has_insn(p) && !sampled_time(m)) {
		fputs("# neither instructions nor time were sampled: shares are of these events alone; "
		      "'skidprof record' tells where time goes\n",
		      f);
	} else if (!report_has_insn(p) && report_by_clock(m)) {
		fputs("# no instructions were counted and no bursts taken: only where time passes is known; "
		      "'skidprof record' takes bursts, more of them in a longer run or with --bursts=RATE\n",
		      f);
	} else if (!report_has_insn(p)) {
		fputs("# no instructions event in this file: instructions and IPC can't be shown, and "
		      "nothing "
		      "can be corrected; record with -e cycles,instructions\n",
		      f);
	}
}

/* The function that most of the profile is in; NULL = there is none. */
static const struct profile_func *largest_func(const struct profile *p)
{
	const struct profile_func *most = NULL;

	for (size_t i = 0; i < p->n_funcs; i++)
		if (!most || profile_weight(p, &p->funcs[i].count) > profile_weight(p, &most->count))
			most = &p->funcs[i];
	return most;
}

static bool all_of_kernel(const struct profile *p)
{
	for (size_t i = 0; i < p->n_funcs; i++)
		if (p->funcs[i].module >= p->n_modules || p->modules[p->funcs[i].module].path[0] != '[')
			return false;
	return p->n_funcs > 0;
}

bool meta_nothing_fixed(const struct profile *p, char *out, size_t size)
{
	const struct profile_meta *m = &p->meta;
	const struct profile_func *most = largest_func(p);
	char name[LINE_MAX_BYTES];

	/* Exact counts and precise samples are right without a correction. */
	if (m->truth || m->as_sampled || !most)
		return false;
	for (size_t i = 0; i < p->n_funcs; i++)
		if (p->funcs[i].status != PROFILE_RAW)
			return false;
	if (strcmp(m->method, "raw") == 0)
		snprintf(out, size, "--method raw leaves samples where they were seen");
	else if (all_of_kernel(p))
		snprintf(out, size,
		         "all samples are of the kernel, whose code is not read; record user code, too");
	else if (!report_has_insn(p) && report_by_clock(m) && m->n_bursts)
		snprintf(out, size,
		         "%ju burst%s too few to tell instructions by (%d are the least); record longer, or "
		         "with a larger --burst-budget",
		         (uintmax_t)m->n_bursts, m->n_bursts == 1 ? " is" : "s are", PROFILE_MIN_BURSTS);
	else if (!report_has_insn(p) && report_by_clock(m))
		snprintf(out, size,
		         "no instructions were counted and no bursts taken; record longer, or with "
		         "--bursts=RATE");
	else if (!report_has_insn(p))
		snprintf(out, size, "no instructions were sampled; record with -e cycles,instructions");
	else {
		safe(report_name(most), name);
		text_squeeze(name, 60);
		snprintf(out, size, "%s; 'skidprof report --why %s' tells more",
		         most->why && *most->why ? most->why : "no hot loop was found", name);
	}
	return true;
}

void meta_not_counted(const struct profile *p, FILE *f)
{
	print_not_counted(p, &all_columns, f);
}

/* Of which file most samples are in functions without symbols, "[libz.so.1+0x4970]"; *share: of all samples. */
static const char *most_unnamed(const struct profile *p, double *share)
{
	const bool by_cyc = p->meta.cyc_event >= 0;
	double all = 0, most = 0, *of = mem_calloc(p->n_modules + 1, sizeof(*of));
	const char *path = NULL;

	for (size_t i = 0; i < p->n_funcs; i++) {
		const struct profile_func *func = &p->funcs[i];
		const double n = by_cyc ? func->count.raw_cyc : func->count.raw_insn;

		all += n;
		/* The kernel and code made at run time have lines of their own. */
		if (func->module < p->n_modules && p->modules[func->module].path[0] == '/' &&
		    func->name[0] == '[' && strstr(func->name, "+0x"))
			of[func->module] += n;
	}
	for (size_t i = 0; i < p->n_modules; i++)
		if (of[i] > most) {
			most = of[i];
			path = p->modules[i].path;
		}
	*share = all > 0 ? most / all : 0;
	free(of);
	return path;
}

static void print_unnamed(const struct profile *p, FILE *f)
{
	char path[LINE_MAX_BYTES];
	double share;
	const char *most = most_unnamed(p, &share);

	if (share < unnamed_told)
		return;
	safe(most, path);
	fprintf(f,
	        "# %s has no symbols for %.0f%% of the samples: its functions are named by their addresses "
	        "(a build that is not stripped, debug symbols of its package, or DEBUGINFOD_URLS give "
	        "names)\n",
	        path, 100 * share);
}

static void print_missing(const struct profile *p, const struct meta_columns *columns, FILE *f)
{
	const struct profile_meta *m = &p->meta;
	char name[128];

	print_filter(m, f);
	print_not_shown(m, f);
	if (m->one_event) {
		if (report_has_other(p)) {
			text_safe(m->events[m->cyc_event].name, name, sizeof(name));
			fprintf(f, "# EVENTS are %s%s, as samples were seen\n", name,
			        strstr(name, "clock") ? " (time in nanoseconds)" : "");
		}
		print_scaled(p, f);
		return;
	}
	if (m->truth)
		print_truth(p, f);
	else
		print_not_counted(p, columns, f);
	if (m->core_hz > 0 && columns->cycles && (m->truth || !m->relative))
		fprintf(f,
		        "# CYCLES are time x %.3f GHz, the core's frequency as a chain of dependent "
		        "instructions "
		        "showed it during the recording\n",
		        m->core_hz / 1e9);
	print_timed(m, f);
	if (!report_has_cyc(p) && !report_by_clock(m))
		fputs("# no cycles event in this file: cycles and IPC can't be shown; record with "
		      "-e cycles,instructions\n",
		      f);
	if (report_has_other(p)) {
		const char *other = m->events[m->cyc_event].name;

		text_safe(other ? other : "?", name, sizeof(name));
		fprintf(f, "# EVENTS are %s%s, as samples were seen\n", name,
		        strstr(name, "clock") ? " (time in nanoseconds)" : "");
	}
	if (m->skid_source == SKID_DEFAULT && m->insn_event >= 0)
		fputs("# the skid is a default, not this machine's: --skid CYCLES gives another, a recording "
		      "with "
		      "group values measures it\n",
		      f);
	print_unnamed(p, f);
	print_scaled(p, f);
	print_unsampled(m, f);
	print_hidden(m, f);
	print_ended(m, f);
	print_cores(m, f);
	if (m->as_sampled && m->chance_samples > 0)
		fputs("# precise samples are where they were caused: counts are as sampled, and intervals "
		      "are those of "
		      "chance; branch records (-b) would tell ways and calls\n",
		      f);
	if (m->shadowed)
		fputs("# precise samples of this kind have a shadow: an instruction that retires while the "
		      "unit "
		      "waits for a slow one gets none, the one behind it more.  inst_retired.prec_dist:ppp, "
		      "IBS and SPE "
		      "have none\n",
		      f);
	if (m->branches && *m->branches)
		fprintf(f,
		        "# branch records are %s: they tell where code goes and who calls, but not the way "
		        "between: record all of them (-b)\n",
		        m->branches);
	if (m->trace)
		fprintf(f,
		        "# the file holds a trace (%s), which is not read: "
		        "'perf inject --itrace=i100us' makes samples of it\n",
		        m->trace);
	if (m->unfinished)
		fputs("# the recorder did not finish this file: what had been written is shown\n", f);
}

/* Does the trouble end with what to do about it, which is the same for many?  Then it goes. */
static bool cut_remedy(char *why)
{
	size_t at = module_remedy_at(why);
	bool has = why[at];

	why[at] = '\0';
	return has;
}

void meta_troubles(const struct profile *p, FILE *f)
{
	size_t n = 0;
	bool remedy = false;

	for (size_t i = 0; i < p->n_modules; i++) {
		char path[LINE_MAX_BYTES], why[LINE_MAX_BYTES];

		const char *trouble = p->modules[i].trouble;

		if (!trouble || !*trouble)
			trouble = p->modules[i].lacks;
		if (!trouble || !*trouble)
			continue;
		safe(p->modules[i].path, path);
		safe(trouble, why);
		remedy |= cut_remedy(why);
		if (++n > MAX_TROUBLES)
			continue;
		/* The reason often begins with the path itself. */
		if (strncmp(why, path, strlen(path)) == 0)
			fprintf(f, "# %s\n", why);
		else
			fprintf(f, "# %s: %s\n", path, why);
	}
	if (n > MAX_TROUBLES)
		fprintf(f, "# and %zu more files that could not be used; --format json names all\n",
		        n - MAX_TROUBLES);
	if (remedy)
		fputs("# for files that are gone or changed: give the directory that holds the right ones "
		      "with --symfs, or record "
		      "again\n",
		      f);
}

/* What went amiss while recording; nothing in most recordings. */
static void print_amiss(const struct profile_meta *m, FILE *f)
{
	const struct {
		uint64_t n;
		const char *what;
	} parts[] = { { m->n_throttled, "times throttled" },
		      { m->n_unmapped, "samples outside known files" },
		      { m->spe.n_full, "times SPE's memory was full, and samples lost" },
		      { m->spe.n_collided, "times SPE's operations collided" },
		      { m->spe.n_cut, "SPE's records without an end" },
		      { m->spe.n_not_retired, "sampled operations did not retire" },
		      { m->spe.n_no_thread, "samples of no known thread" },
		      { m->dropped_bytes, m->n_dropped_in ? "bytes of the folder's files dropped"
		                                          : "bytes of the file dropped" } };
	bool any = false;

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		char n[NUMBER_MAX];

		if (!parts[i].n)
			continue;
		number_grouped((double)parts[i].n, n);
		fprintf(f, "%s%s %s", any ? ", " : "# ", n, parts[i].what);
		any = true;
	}
	if (any)
		fputc('\n', f);
}

/* Samples of the user's code whose interrupt came in the kernel. */
static void print_entries(const struct profile_meta *m, FILE *f)
{
	char n[NUMBER_MAX];

	number_grouped((double)m->n_entries, n);
	if (m->n_entries)
		fprintf(f,
		        "# %s sample%s came just after a system call or page fault: %s counted at the "
		        "instruction that "
		        "made it\n",
		        n, sp_plural(m->n_entries), m->n_entries == 1 ? "it is" : "each is");
	number_grouped((double)m->n_entries_lost, n);
	if (m->n_entries_lost)
		fprintf(f,
		        "# %s sample%s came just after a system call or page fault, and %s counted in the "
		        "kernel: branch "
		        "records (-b) or call stacks (-g) would tell which instruction made it, unless it "
		        "ended a signal's "
		        "handler\n",
		        n, sp_plural(m->n_entries_lost), m->n_entries_lost == 1 ? "is" : "are");
}

void meta_print(const struct profile *p, FILE *f)
{
	meta_print_for(p, &all_columns, f);
}

void meta_print_for(const struct profile *p, const struct meta_columns *columns, FILE *f)
{
	const struct profile_meta *m = &p->meta;
	char a[LINE_MAX_BYTES], b[LINE_MAX_BYTES], c[LINE_MAX_BYTES];
	char n[NUMBER_MAX];

	meta_first_line(p, a, sizeof(a));
	fprintf(f, "# %s\n", a);
	safe(m->input, a);
	safe(m->cmdline, b);
	fprintf(f, "# file %s: %s\n", a, b);
	safe(m->hostname, a);
	safe(m->cpudesc, b);
	fprintf(f, "# host %s, cpu %s\n", a, b);
	counted_list(m, a, sizeof(a));
	fprintf(f, "# also counted: %s; branch records: %s\n", *a ? a : "nothing",
	        m->branches && *m->branches ? m->branches
	        : !m->branch_records        ? m->n_bursts ? "no, bursts instead" : "no"
	        : m->branch_cycles          ? "yes, with cycles"
	                                    : "yes");
	print_amiss(m, f);
	print_entries(m, f);
	number_grouped((double)m->n_skids, n);
	safe(m->method, c);
	fprintf(f, "# method %s, seed %" PRIu64, c, m->seed);
	if (m->skid_source == SKID_MEASURED)
		fprintf(f, ", skid from %s overshoots of the cycles counter", n);
	fputc('\n', f);
	print_missing(p, columns, f);
	meta_troubles(p, f);
}

static json_t *text_or_null(const char *text)
{
	return text && *text ? json_text(text) : json_null();
}

static json_t *events_json(const struct profile_meta *m)
{
	json_t *events = json_array();

	for (size_t i = 0; i < m->n_events; i++) {
		const struct profile_event *e = &m->events[i];

		json_array_append_new(events,
		                      json_pack("{s:o, s:I, s:b, s:I, s:o, s:b, s:f, s:f, s:f, s:f, s:f}",
		                                "name", json_text(e->name ? e->name : ""), "period",
		                                (json_int_t)e->period, "freq", e->freq, "samples",
		                                (json_int_t)e->n_samples, "total", json_number(e->total),
		                                "multiplexed", e->multiplexed, "rested", e->rested,
		                                "throttled", e->throttled, "unsampled", e->unsampled, "ended",
		                                e->ended, "hidden", e->hidden));
	}
	return events;
}

static json_t *cores_json(const struct profile_meta *m)
{
	json_t *cores = json_array();

	for (size_t i = 0; i < m->n_cores; i++) {
		const struct profile_core *c = &m->cores[i];

		json_array_append_new(
		        cores, json_pack("{s:o, s:o, s:o, s:o}", "name", json_text(c->name), "instructions",
		                         json_number(c->insn), "cycles", json_number(c->cyc), "ipc",
		                         json_number(c->insn > 0 && c->cyc > 0 ? c->insn / c->cyc : NAN)));
	}
	return cores;
}

static json_t *modules_json(const struct profile *p)
{
	json_t *modules = json_array();

	for (size_t i = 0; i < p->n_modules; i++) {
		const struct profile_module *m = &p->modules[i];

		json_array_append_new(modules,
		                      json_pack("{s:o, s:o, s:o, s:o}", "path", text_or_null(m->path),
		                                "build_id", text_or_null(m->build_id), "trouble",
		                                text_or_null(m->trouble), "lacks", text_or_null(m->lacks)));
	}
	return modules;
}

static json_t *timed_json(const struct profile_meta *m)
{
	bool known = m->timed_insn > 0, ipc = known && m->timed_cyc > 0;

	return json_pack("{s:I, s:I, s:o, s:o, s:o, s:o}", "paths", (json_int_t)m->n_timed, "moments_without",
	                 (json_int_t)m->n_not_timed, "instructions", json_number(known ? m->timed_insn : NAN),
	                 "lo", json_number(known ? m->timed_lo : NAN), "hi",
	                 json_number(known ? m->timed_hi : NAN), "ipc",
	                 json_number(ipc ? m->timed_insn / m->timed_cyc : NAN));
}

static json_t *skid_json(const struct profile_meta *m)
{
	bool known = m->skid_source != SKID_NONE;

	return json_pack("{s:s, s:o, s:o, s:o, s:I}", "source", skid_words(m->skid_source), "p10_cyc",
	                 json_number(known ? m->skid_p10_cyc : NAN), "median_cyc",
	                 json_number(known ? m->skid_median_cyc : NAN), "p90_cyc",
	                 json_number(known ? m->skid_p90_cyc : NAN), "measured_from", (json_int_t)m->n_skids);
}

/* Add a value to an object, remembering a failure: jansson says NULL when memory is out. */
static void add(json_t *o, const char *key, json_t *value, bool *bad)
{
	if (json_object_set_new(o, key, value) < 0)
		*bad = true;
}

/* null where no packets of Arm's SPE were read, or all of them are samples. */
static json_t *spe_json(const struct spe_losses *s)
{
	if (!(s->n_full + s->n_collided + s->n_not_retired + s->n_cut + s->n_no_thread + s->damaged_bytes))
		return json_null();
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I}", "memory_full", (json_int_t)s->n_full, "collided",
	                 (json_int_t)s->n_collided, "not_retired", (json_int_t)s->n_not_retired, "cut",
	                 (json_int_t)s->n_cut, "no_thread", (json_int_t)s->n_no_thread, "damaged_bytes",
	                 (json_int_t)s->damaged_bytes);
}

int meta_json(const struct profile *p, json_t **out)
{
	const struct profile_meta *m = &p->meta;
	json_t *o = json_object();
	bool bad = !o;

	add(o, "input", text_or_null(m->input), &bad);
	add(o, "cmdline", text_or_null(m->cmdline), &bad);
	add(o, "hostname", text_or_null(m->hostname), &bad);
	add(o, "cpu", text_or_null(m->cpudesc), &bad);
	add(o, "pmu", text_or_null(m->pmu), &bad);
	add(o, "method", text_or_null(m->method), &bad);
	add(o, "model", text_or_null(m->model), &bad);
	add(o, "seed", json_integer((json_int_t)m->seed), &bad);
	add(o, "events", events_json(m), &bad);
	add(o, "cores", cores_json(m), &bad);
	add(o, "instructions_event", m->insn_event < 0 ? json_null() : json_integer(m->insn_event), &bad);
	add(o, "cycles_event", m->cyc_event < 0 ? json_null() : json_integer(m->cyc_event), &bad);
	add(o, "skid", skid_json(m), &bad);
	add(o, "core_hz", json_number(m->core_hz > 0 ? m->core_hz : NAN), &bad);
	add(o, "bursts", json_integer((json_int_t)m->n_bursts), &bad);
	add(o, "timed", timed_json(m), &bad);
	add(o, "instructions_relative", json_boolean(m->relative), &bad);
	add(o, "filter", text_or_null(m->filter), &bad);
	add(o, "all_samples", json_integer((json_int_t)(m->filter ? m->n_all_samples : n_sampled(m))), &bad);
	add(o, "instructions_per_cycle", json_number(m->pace > 0 && !m->pace_is_a_branch ? m->pace : NAN),
	    &bad);
	add(o, "instructions_per_branch", json_number(m->pace > 0 && m->pace_is_a_branch ? m->pace : NAN),
	    &bad);
	add(o, "truth", text_or_null(m->truth), &bad);
	add(o, "truth_doubt", text_or_null(m->truth_why), &bad);
	add(o, "samples", json_integer((json_int_t)n_sampled(m)), &bad);
	add(o, "lost", json_integer((json_int_t)m->n_lost), &bad);
	add(o, "throttled", json_integer((json_int_t)m->n_throttled), &bad);
	add(o, "unmapped", json_integer((json_int_t)m->n_unmapped), &bad);
	add(o, "after_kernel_entry", json_integer((json_int_t)m->n_entries), &bad);
	add(o, "in_kernel_entry", json_integer((json_int_t)m->n_entries_lost), &bad);
	add(o, "dropped_bytes", json_integer((json_int_t)m->dropped_bytes), &bad);
	add(o, "dropped_in", text_or_null(m->dropped_in), &bad);
	add(o, "spe", spe_json(&m->spe), &bad);
	add(o, "unfinished", json_boolean(m->unfinished), &bad);
	add(o, "trace", text_or_null(m->trace), &bad);
	add(o, "branch_records", json_boolean(m->branch_records), &bad);
	add(o, "branch_cycles", json_boolean(m->branch_cycles), &bad);
	add(o, "shadowed", json_boolean(m->shadowed), &bad);
	add(o, "branches", text_or_null(m->branches), &bad);
	add(o, "worst_status", json_string(profile_status_word(p->worst)), &bad);
	add(o, "modules", modules_json(p), &bad);
	if (bad) {
		json_decref(o);
		return sp_fail(SP_ENOMEM, "out of memory for JSON");
	}
	*out = o;
	return 0;
}
