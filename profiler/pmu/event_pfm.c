/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The names of events in the vendors' manuals, by libpfm4.  Its header has its own perf_event.h, so it stays in here. */
#include <perfmon/pfmlib_perf_event.h>
#include <string.h>
#include <strings.h>

#include "profiler/base/cmd.h"
#include "profiler/base/err.h"
#include "profiler/base/log.h"
#include "profiler/base/vec.h"
#include "profiler/pmu/event_code.h"

static bool is_ready(void)
{
	return pfm_initialize() == PFM_SUCCESS;
}

int event_pfm_find(const char *name, struct event_code *out)
{
	struct perf_event_attr attr = { .size = 0 };
	pfm_perf_encode_arg_t arg = { .attr = &attr, .size = sizeof(arg) };
	int rc = is_ready() ? pfm_get_os_event_encoding(name, PFM_PLM3, PFM_OS_PERF_EVENT, &arg)
	                    : PFM_ERR_NOTFOUND;

	/* Where the kernel's tracepoints can be listed libpfm4 knows them, too: they count nothing that user code runs. */
	if (rc == PFM_ERR_NOTFOUND || rc == PFM_ERR_NOTSUPP ||
	    (rc == PFM_SUCCESS && attr.type == PERF_TYPE_TRACEPOINT))
		return -SP_ENOENT;
	if (rc != PFM_SUCCESS)
		return sp_fail(
		        SP_EUSAGE,
		        "-e: '%s': %s; 'skidprof record -e help' lists the event's umasks (NAME:UMASK)", name,
		        pfm_strerror(rc));
	*out = (struct event_code){
		.type = attr.type, .config = attr.config, .config1 = attr.config1, .config2 = attr.config2
	};
	return 0;
}

/* PMUs of this processor's cores: not the kernel's tables, nor what lies outside the cores. */
static bool is_core_pmu(pfm_pmu_t pmu, pfm_pmu_info_t *info)
{
	memset(info, 0, sizeof(*info));
	info->size = sizeof(*info);
	return pfm_get_pmu_info(pmu, info) == PFM_SUCCESS && info->is_present &&
	       info->type == PFM_PMU_TYPE_CORE;
}

static bool event_at(pfm_pmu_t pmu, int index, pfm_event_info_t *info)
{
	(void)pmu;
	memset(info, 0, sizeof(*info));
	info->size = sizeof(*info);
	return pfm_get_event_info(index, PFM_OS_NONE, info) == PFM_SUCCESS;
}

static void list_umasks(FILE *to, int index, int n_attrs)
{
	for (int i = 0; i < n_attrs; i++) {
		pfm_event_attr_info_t a = { .size = sizeof(a) };

		if (pfm_get_event_attr_info(index, i, PFM_OS_NONE, &a) == PFM_SUCCESS &&
		    a.type == PFM_ATTR_UMASK)
			fprintf(to, "    :%-27s %s\n", a.name, a.desc);
	}
}

void event_pfm_list(FILE *to, const char *part)
{
	pfm_pmu_info_t pmu;
	pfm_event_info_t e;
	bool any = false;

	for (int p = PFM_PMU_NONE; is_ready() && p < PFM_PMU_MAX; p++) {
		if (!is_core_pmu((pfm_pmu_t)p, &pmu))
			continue;
		any = true;
		for (int i = pmu.first_event; i >= 0; i = pfm_get_event_next(i)) {
			if (!event_at((pfm_pmu_t)p, i, &e) || (part && !strcasestr(e.name, part)))
				continue;
			fprintf(to, "%-32s %s: %s\n", e.name, pmu.name, e.desc);
			list_umasks(to, i, e.nattrs);
		}
	}
	if (!any)
		sp_note("libpfm4 doesn't know this processor: its own events are to be had by their codes, "
		        "rNNN");
}

const char *event_pfm_suggest(const char *name)
{
	VEC(const char *) names = { 0 };
	const char *near = NULL;
	pfm_pmu_info_t pmu;
	pfm_event_info_t e;

	for (int p = PFM_PMU_NONE; is_ready() && p < PFM_PMU_MAX; p++)
		for (int i = is_core_pmu((pfm_pmu_t)p, &pmu) ? pmu.first_event : -1; i >= 0;
		     i = pfm_get_event_next(i))
			if (event_at((pfm_pmu_t)p, i, &e) && vec_push(&names, e.name) < 0)
				goto out;
	if (vec_push(&names, NULL) == 0)
		near = cmd_suggest(name, names.v);
out:
	vec_fini(&names);
	return near;
}
