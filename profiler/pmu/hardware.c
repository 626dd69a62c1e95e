/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The processor's own counters, and the kernel's software events. */
#include "profiler/pmu/pmu.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/base/err.h"
#include "profiler/base/log.h"
#include "profiler/perfdata/writer.h"
#include "profiler/pmu/bursts.h"
#include "profiler/pmu/event_group.h"
#include "profiler/pmu/finer.h"
#include "profiler/pmu/period.h"

static void say_source(const struct record_plan *plan)
{
	sp_note("%s: %s", plan->counts ? "this machine's PMU" : "events of the kernel, no PMU", plan->events);
}

static void judge_periods(const struct event_group *g)
{
	for (size_t i = 0; i < g->n; i++) {
		const struct perf_event_attr *attr = &g->v[i].attr;

		/* Members mostly have their leader's. */
		if (event_is_of_processor(attr) && attr->sample_period && !attr->freq &&
		    (i == 0 || attr->sample_period != g->v[i - 1].attr.sample_period))
			period_judge(attr->sample_period);
	}
}

int pmu_run_group(const struct record_opts *opts, struct event_group *group, const char *source,
                  int *exit_status)
{
	struct session_config config = {
		.opts = opts, .events = group->v, .n_events = group->n, .source = source
	};
	struct session_summary summary = { 0 };
	struct bursts *bursts = NULL;
	int err = opts->bursts_hz > 0 ? bursts_new(opts, &bursts) : 0;

	if (err == 0 && bursts)
		err = bursts_join(bursts, group, &config);
	if (err == 0 && !bursts) {
		config.file_events = group->v;
		config.n_file_events = group->n;
		finer_join(group, 0);
		config.n_events = group->n;
	}
	if (err == 0)
		err = session_run(&config, &summary, exit_status);
	if (err == 0 && bursts)
		bursts_say(bursts, summary.tasks.time_ns);
	if (err == 0)
		session_say(&config, &summary);
	session_summary_fini(&summary);
	bursts_free(bursts);
	return err;
}

static bool has_branch_records(const struct event_group *g)
{
	for (size_t i = 0; i < g->n; i++)
		if (g->v[i].attr.sample_type & PERF_SAMPLE_BRANCH_STACK &&
		    !(g->v[i].attr.branch_sample_type & PERF_SAMPLE_BRANCH_CALL_STACK))
			return true;
	return false;
}

/* AMD's branch records have no cycles; Intel's since Skylake and Arm's do.  No interface of the kernel tells. */
static bool records_tell_cycles(void)
{
	char *cpuid = pd_machine_cpuid();
	bool tell = !cpuid ||
	            (strncmp(cpuid, "AuthenticAMD", 12) != 0 && strncmp(cpuid, "HygonGenuine", 12) != 0);

	free(cpuid);
	return tell;
}

void pmu_plan_group(const struct record_opts *opts, const struct event_group *g, struct record_plan *out)
{
	size_t used = 0;

	for (size_t i = 0; i < g->n; i++) {
		out->counts |= event_is_of_processor(&g->v[i].attr);
		if (used < sizeof(out->events))
			used += (size_t)snprintf(out->events + used, sizeof(out->events) - used, "%s%s%s",
			                         i ? ", " : "", g->v[i].name,
			                         g->v[i].attr.sample_period ? "" : " (counted)");
	}
	out->n_events = (uint32_t)g->n;
	out->records = has_branch_records(g);
	out->tell_cycles = out->records && records_tell_cycles();
	out->bursts_hz = opts->bursts_hz;
}

/* Where nothing was said of bursts. */
static double default_bursts(const struct record_opts *opts, const struct event_group *g,
                             const struct record_plan *plan)
{
	/* All that runs on a machine is not ours to stop. */
	return plan->counts && !opts->whole_system && g->n < EVENT_GROUP_MAX && bursts_beside_counters(opts)
	               ? HUGE_VAL
	               : 0;
}

static int choose(const struct record_opts *opts, struct event_group *group, struct record_plan *plan)
{
	int err = event_group_choose("/sys", opts, group);

	if (err < 0)
		return err;
	pmu_plan_group(opts, group, plan);
	if (opts->bursts_hz < 0)
		plan->bursts_hz = default_bursts(opts, group, plan);
	return 0;
}

static int hardware_plan(const struct record_opts *opts, struct record_plan *out)
{
	struct event_group group;

	return choose(opts, &group, out);
}

static int hardware_run(const struct record_opts *opts, struct record_counts *counts, int *exit_status)
{
	struct record_plan plan = { 0 };
	struct record_opts o = *opts;
	struct event_group group;
	int err;

	(void)counts;
	if (opts->counting || opts->core)
		return sp_fail(SP_EUSAGE, "--truth and --core are the simulated core's: give --pmu sim");
	err = choose(opts, &group, &plan);
	if (err < 0)
		return err;
	if (opts->timed_hz > 0 && !(plan.bursts_hz > 0))
		return sp_fail(SP_EUSAGE,
		               "--timed-bursts: no bursts are taken beside these events; add --bursts "
		               "auto, or leave it out");
	say_source(&plan);
	judge_periods(&group);
	if (opts->bursts_hz < 0 && plan.bursts_hz > 0)
		bursts_say_beside(plan.records);
	o.bursts_hz = plan.bursts_hz;
	return pmu_run_group(&o, &group, NULL, exit_status);
}

/* The kernel's own events need no PMU. */
static int hardware_probe(const struct record_opts *opts)
{
	if (opts->counting || opts->core)
		return sp_fail(SP_ENOTSUP, "--truth and --core are the simulated core's");
	return opts->events && event_group_is_software(opts->events) ? 0 : pe_probe_hardware();
}

const struct pmu_ops pmu_hardware = {
	.name = "hardware", .probe = hardware_probe, .plan = hardware_plan, .run = hardware_run
};
