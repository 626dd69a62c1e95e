/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where there is no PMU: the time, by the kernel's clock, and the way the program takes, by bursts. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "profiler/base/err.h"
#include "profiler/pmu/bursts.h"
#include "profiler/pmu/pmu.h"
#include "profiler/pmu/program.h"

enum { SOURCE_BYTES = 600 };

static void source_in_words(const struct record_opts *opts, char out[SOURCE_BYTES])
{
	bool forced = strcmp(opts->pmu, "auto") == 0 && pe_probe_hardware() < 0;

	snprintf(out, SOURCE_BYTES, "sampling the clock%s; instructions are not counted%s%s",
	         opts->bursts_hz > 0 ? ", with bursts" : "", forced ? ": " : "",
	         forced ? sp_error_text() : "");
}

/* What is sampled: o gets what the clock decides by itself. */
static int choose(const struct record_opts *opts, struct record_opts *o, struct event_group *group)
{
	*o = *opts;
	o->events = "cpu-clock";
	o->branches = 0;
	/* All that runs on a machine is not ours to stop, unless asked for. */
	if (o->bursts_hz < 0)
		o->bursts_hz = o->whole_system ? 0 : HUGE_VAL;
	return event_group_choose("/sys", o, group);
}

static int clock_plan(const struct record_opts *opts, struct record_plan *out)
{
	struct event_group group;
	struct record_opts o;
	int err = choose(opts, &o, &group);

	if (err == 0)
		pmu_plan_group(&o, &group, out);
	return err;
}

/* Something that is no time. */
static int refuse_events(const struct record_opts *opts)
{
	int err = event_group_check(opts->events);

	if (err < 0)
		return err;
	if (strcmp(opts->pmu, "auto") == 0 && pe_probe_hardware() < 0)
		return sp_fail_prefix(-SP_EUSAGE, "-e %s: 'skidprof record --pmu sim' can count it; here",
		                      opts->events);
	return sp_fail(SP_EUSAGE,
	               "-e %s: with --pmu clock time is all that is sampled; without --pmu events of the "
	               "kernel can be "
	               "(cpu-clock:k, page-faults), others need --pmu hardware or --pmu sim",
	               opts->events);
}

static int clock_run(const struct record_opts *opts, struct record_counts *counts, int *exit_status)
{
	struct event_group group;
	char source[SOURCE_BYTES];
	struct record_opts o;
	int err;

	(void)counts;
	if (opts->counting)
		return sp_fail(SP_EUSAGE, "--truth needs --pmu sim, or a run of its own: skidprof truth %s",
		               opts->argc ? opts->argv[0] : "PROGRAM");
	if (opts->events)
		return refuse_events(opts);
	if (opts->core)
		return sp_fail(SP_EUSAGE, "--core %s: cores are simulated; add --pmu sim", opts->core);
	if (opts->stacks == STACKS_LBR)
		return sp_fail(SP_EUSAGE,
		               "-g lbr: no branch records without a PMU; -g dwarf and -g fp need none");
	if (opts->branches > 0)
		return sp_fail(SP_EUSAGE,
		               "-b: no branch records without a PMU; --bursts RATE takes their place");
	err = choose(opts, &o, &group);
	if (err < 0)
		return err;
	source_in_words(&o, source);
	return pmu_run_group(&o, &group, source, exit_status);
}

/* A program of another machine can't run natively. */
static bool is_foreign(const struct record_opts *opts)
{
#if defined(__aarch64__)
	const enum program_isa ours = PROGRAM_AARCH64;
#else
	const enum program_isa ours = PROGRAM_X86_64;
#endif
	struct program p;
	bool foreign;

	if (!opts->argc || program_find(opts->argc, opts->argv, &p) < 0)
		return false;
	foreign = p.isa != ours;
	program_fini(&p);
	return foreign;
}

static int clock_probe(const struct record_opts *opts)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE,
		                        .size = PERF_ATTR_SIZE_VER5,
		                        .config = PERF_COUNT_SW_CPU_CLOCK,
		                        .exclude_kernel = 1,
		                        .disabled = 1 };
	const struct pe_place ourselves = { .tid = 0, .cpu = -1, .group_fd = -1 };
	const struct pe_event event = { .attr = attr, .name = "cpu-clock" };
	int fd = pe_open(&attr, &ourselves);

	if (fd < 0)
		return pe_fail(errno, &event, &ourselves);
	close(fd);
	if (is_foreign(opts))
		return sp_fail(SP_ENOTSUP, "%s: is a program for another machine", opts->argv[0]);
	return 0;
}

const struct pmu_ops pmu_clock = {
	.name = "clock", .probe = clock_probe, .plan = clock_plan, .run = clock_run
};
