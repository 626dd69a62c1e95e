/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <string.h>

#include "profiler/pmu/events.h"
#include "profiler/sim/events.h"

/* perf's own events, so that every tool knows them; the rest are raw codes of the simulated PMU. */
static bool hardware_config(uint32_t event, uint64_t *config)
{
	switch (event) {
	case SIM_CYCLES:
		*config = PERF_COUNT_HW_CPU_CYCLES;
		return true;
	case SIM_INSTRUCTIONS:
		*config = PERF_COUNT_HW_INSTRUCTIONS;
		return true;
	case SIM_BRANCHES:
		*config = PERF_COUNT_HW_BRANCH_INSTRUCTIONS;
		return true;
	case SIM_BRANCH_MISSES:
		*config = PERF_COUNT_HW_BRANCH_MISSES;
		return true;
	default:
		return false;
	}
}

uint32_t sim_group_first(const struct sim_group *g, uint32_t i)
{
	uint32_t first = g->plain ? i : 0;

	while (first < i && g->set[first] != g->set[i])
		first++;
	return first;
}

uint32_t sim_group_size(const struct sim_group *g, uint32_t set)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < g->n; i++)
		n += g->set[i] == set;
	return n;
}

uint32_t sim_group_values(const struct sim_group *g, uint32_t i)
{
	return g->plain ? 0 : sim_group_size(g, g->set[i]);
}

const char *sim_group_name(const struct sim_group *g, size_t i)
{
	return sim_event_name(g->event[i]);
}

const char *sim_group_full_name(const struct sim_group *g, size_t i, char *out, size_t size)
{
	static const char *const pmus[] = { "cpu_core", "cpu_atom" };

	if (g->n_kinds < 2)
		snprintf(out, size, "%s", sim_event_name(g->event[i]));
	else
		snprintf(out, size, "%s/%s/%s", pmus[g->kind[i]], sim_event_name(g->event[i]),
		         g->kernel[i] ? "" : "u");
	return out;
}

/* Numbers that Linux gives to cpu_core and cpu_atom. */
static const uint32_t pmu_type[] = { 4, 10 };

void sim_group_attr(const struct sim_group *g, size_t i, bool branches, struct perf_event_attr *attr)
{
	uint64_t config;

	memset(attr, 0, sizeof(*attr));
	attr->size = PERF_ATTR_SIZE_VER7;
	if (hardware_config(g->event[i], &config)) {
		attr->type = PERF_TYPE_HARDWARE;
		attr->config = config;
		/* As perf says which PMU is meant. */
		if (g->n_kinds > 1)
			attr->config |= (uint64_t)pmu_type[g->kind[i]] << PERF_PMU_TYPE_SHIFT;
	} else {
		attr->type = g->n_kinds > 1 ? pmu_type[g->kind[i]] : PERF_TYPE_RAW;
		attr->config = g->event[i];
	}
	attr->sample_period = g->period[i];
	if (g->rate_hz && g->period[i]) {
		attr->freq = 1;
		attr->sample_freq = g->rate_hz;
	}
	attr->precise_ip = g->precise[i];
	attr->sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
	                    PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD;
	attr->read_format = PERF_FORMAT_ID;
	if (!g->plain) {
		attr->sample_type |= PERF_SAMPLE_READ;
		attr->read_format |=
		        PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	}
	if (branches) {
		attr->sample_type |= PERF_SAMPLE_BRANCH_STACK;
		attr->branch_sample_type = PERF_SAMPLE_BRANCH_USER |
		                           (g->branch_filter ? g->branch_filter : PERF_SAMPLE_BRANCH_ANY);
	}
	attr->exclude_kernel = !g->kernel[i];
	attr->exclude_hv = 1;
	attr->sample_id_all = 1;
	/* Each set's leader; the one file needs its maps and tasks once. */
	if (sim_group_first(g, (uint32_t)i) == i) {
		attr->disabled = 1;
		attr->enable_on_exec = 1;
	}
	if (i == 0) {
		attr->mmap = 1;
		attr->mmap2 = 1;
		attr->comm = 1;
		attr->comm_exec = 1;
		attr->task = 1;
	}
}
