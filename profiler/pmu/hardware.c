/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The processor's own counters, and the kernel's software events. */
#include "profiler/pmu/pmu.h"

#include <stdio.h>
#include <string.h>

#include "profiler/base/err.h"
#include "profiler/base/log.h"
#include "profiler/pmu/event_group.h"
#include "profiler/pmu/session.h"

static void say_source(const struct event_group *g)
{
	char text[1024] = "";
	size_t used = 0;
	bool hardware = false;

	for (size_t i = 0; i < g->n && used < sizeof(text); i++) {
		hardware |= event_is_of_processor(&g->v[i].attr);
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s%s", i ? ", " : "",
		                         g->v[i].name, g->v[i].attr.sample_period ? "" : " (counted)");
	}
	sp_note("%s: %s", hardware ? "this machine's PMU" : "events of the kernel, no PMU", text);
}

static int hardware_run(const struct record_opts *opts, struct record_counts *counts, int *exit_status)
{
	struct event_group group;
	struct session_config config = { .opts = opts };
	struct session_summary summary;
	int err;

	(void)counts;
	if (opts->counting)
		return sp_fail(SP_EUSAGE,
		               "--truth needs --pmu sim: a PMU samples, it doesn't count every instruction");
	err = event_group_choose(opts, &group);
	if (err < 0)
		return err;
	say_source(&group);
	config.events = group.v;
	config.n_events = group.n;
	err = session_run(&config, &summary, exit_status);
	if (err == 0)
		session_say(&config, &summary);
	session_summary_fini(&summary);
	return err;
}

/* The kernel's own events need no PMU. */
static int hardware_probe(const struct record_opts *opts)
{
	return opts->events && event_group_is_software(opts->events) ? 0 : pe_probe_hardware();
}

const struct pmu_ops pmu_hardware = { .name = "hardware", .probe = hardware_probe, .run = hardware_run };
