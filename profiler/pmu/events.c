/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/pmu/events.h"

#include <stdlib.h>
#include <string.h>

#include "profiler/base/cmd.h"
#include "profiler/base/err.h"
#include "profiler/sim/events.h"

/*
 * Prime, so that no loop's length divides it; near 1e5, so that the
 * overshoot (about 1e3 cycles at most) stays a small part of it.
 */
/* A prime.  A smaller one could be passed by an interrupt's delay; the emulator, not sampling, is what takes time. */
enum { DEFAULT_PERIOD = 10007 };

/* -c has the same bound: see cmd_record.c. */
enum { MIN_PERIOD = 11 };

/*
 * What is counted beside the samples, as far as the core has counters: what
 * tells most about the flow comes first.
 */
static const uint8_t fill_order[] = {
	SIM_BRANCHES,  SIM_TAKEN_BRANCHES, SIM_LOADS,   SIM_STORES,        SIM_CALLS,      SIM_COND_BRANCHES,
	SIM_FP_SCALAR, SIM_FP_VECTOR,      SIM_RETURNS, SIM_BRANCH_MISSES, SIM_L1D_MISSES,
};

/* Names that perf's users know beside ours. */
static const struct {
	const char *name;
	int event;
} aliases[] = {
	{ "cpu-cycles", SIM_CYCLES },
	{ "insn", SIM_INSTRUCTIONS },
	{ "branch-instructions", SIM_BRANCHES },
};

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

static int find_event(const char *name)
{
	int event = sim_event_find(name);

	for (size_t i = 0; event < 0 && i < sizeof(aliases) / sizeof(aliases[0]); i++)
		if (strcmp(name, aliases[i].name) == 0)
			event = aliases[i].event;
	return event;
}

static int unknown_event(const char *name)
{
	const char *words[SIM_N_EVENTS + 1] = { NULL }, *near;

	for (unsigned e = 0; e < SIM_N_EVENTS; e++)
		words[e] = sim_event_name(e);
	near = cmd_suggest(name, words);
	if (near)
		return sp_fail(SP_EUSAGE, "-e: the simulated core has no event '%s'; did you mean '%s'?",
		               name, near);
	return sp_fail(SP_EUSAGE,
	               "-e: the simulated core has no event '%s'; 'man skidprof-record' lists them", name);
}

static bool is_fixed(uint32_t event, const struct sim_counters *c)
{
	return (event == SIM_CYCLES && c->n_fixed > 0) || (event == SIM_INSTRUCTIONS && c->n_fixed > 1);
}

static uint32_t n_programmable(const struct sim_group *g, const struct sim_counters *c)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < g->n; i++)
		n += !is_fixed(g->event[i], c);
	return n;
}

static int add_event(struct sim_group *g, uint32_t event, uint64_t period)
{
	for (uint32_t i = 0; i < g->n; i++)
		if (g->event[i] == event)
			return sp_fail(SP_EUSAGE, "-e: '%s' is named twice", sim_event_name(event));
	if (g->n == WIRE_MAX_EVENTS)
		return sp_fail(SP_EUSAGE, "-e: more than %d events", WIRE_MAX_EVENTS);
	g->event[g->n] = event;
	g->period[g->n++] = period;
	return 0;
}

/* "branches" or "branches/1009". */
static int parse_event(struct sim_group *g, char *word, uint64_t period)
{
	unsigned long long own = 0;
	char *slash = strchr(word, '/');
	int event, err;

	if (slash)
		*slash++ = '\0';
	event = find_event(word);
	if (event < 0)
		return unknown_event(word);
	if (slash) {
		err = cmd_parse_u64("-e: the period", slash, MIN_PERIOD, UINT32_MAX, &own);
		if (err < 0)
			return err;
	} else if (event == SIM_INSTRUCTIONS || event == SIM_CYCLES) {
		own = period ? period : DEFAULT_PERIOD;
	}
	return add_event(g, (uint32_t)event, own);
}

static int parse_list(struct sim_group *g, const char *text, uint64_t period)
{
	char *copy = strdup(text), *save = NULL;
	int err = 0;

	if (!copy)
		return sp_fail(SP_ENOMEM, "out of memory");
	for (char *word = strtok_r(copy, ",", &save); word && err == 0; word = strtok_r(NULL, ",", &save))
		err = parse_event(g, word, period);
	free(copy);
	if (err == 0 && g->n == 0)
		err = sp_fail(SP_EUSAGE, "-e: no event named");
	return err;
}

static void default_group(struct sim_group *g, uint64_t period, const struct sim_counters *c)
{
	uint64_t p = period ? period : DEFAULT_PERIOD;

	add_event(g, SIM_INSTRUCTIONS, p);
	add_event(g, SIM_CYCLES, p);
	for (size_t i = 0; i < sizeof(fill_order) && n_programmable(g, c) < c->n_programmable; i++)
		add_event(g, fill_order[i], 0);
}

/* The leader must be sampled: put the sampled ones first, order kept. */
static void sampled_first(struct sim_group *g, uint64_t period)
{
	struct sim_group old = *g;

	g->n = 0;
	for (uint32_t i = 0; i < old.n; i++)
		if (old.period[i])
			add_event(g, old.event[i], old.period[i]);
	if (g->n == 0)
		old.period[0] = period ? period : DEFAULT_PERIOD;
	if (g->n == 0)
		add_event(g, old.event[0], old.period[0]);
	g->n_sampled = g->n;
	for (uint32_t i = 0; i < old.n; i++)
		if (!old.period[i])
			add_event(g, old.event[i], 0);
}

int sim_group_parse(const char *text, uint64_t period, const struct sim_counters *counters,
                    const char *core_name, struct sim_group *out)
{
	struct sim_group g = { 0 };
	int err = 0;

	/* Smaller ones than this leave hardly anything between two interrupts. */
	if (period && period < MIN_PERIOD)
		return sp_fail(SP_EUSAGE, "-c: the simulated PMU's periods begin at %d", MIN_PERIOD);
	if (text)
		err = parse_list(&g, text, period);
	else
		default_group(&g, period, counters);
	if (err < 0)
		return err;
	sampled_first(&g, period);
	if (n_programmable(&g, counters) > counters->n_programmable)
		return sp_fail(SP_EUSAGE,
		               "-e: %u events need a programmable counter, and core %s has %u beside the %u "
		               "fixed ones for cycles and instructions",
		               n_programmable(&g, counters), core_name, counters->n_programmable,
		               counters->n_fixed);
	*out = g;
	return 0;
}

const char *sim_group_name(const struct sim_group *g, size_t i)
{
	return sim_event_name(g->event[i]);
}

void sim_group_attr(const struct sim_group *g, size_t i, bool branches, struct perf_event_attr *attr)
{
	uint64_t config;

	memset(attr, 0, sizeof(*attr));
	attr->size = PERF_ATTR_SIZE_VER7;
	if (hardware_config(g->event[i], &config)) {
		attr->type = PERF_TYPE_HARDWARE;
		attr->config = config;
	} else {
		attr->type = PERF_TYPE_RAW;
		attr->config = g->event[i];
	}
	attr->sample_period = g->period[i];
	attr->sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
	                    PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_READ;
	attr->read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID | PERF_FORMAT_TOTAL_TIME_ENABLED |
	                    PERF_FORMAT_TOTAL_TIME_RUNNING;
	if (branches) {
		attr->sample_type |= PERF_SAMPLE_BRANCH_STACK;
		attr->branch_sample_type = PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_ANY;
	}
	attr->exclude_kernel = 1;
	attr->exclude_hv = 1;
	attr->sample_id_all = 1;
	if (i == 0) {
		attr->disabled = 1;
		attr->enable_on_exec = 1;
		attr->mmap = 1;
		attr->mmap2 = 1;
		attr->comm = 1;
		attr->comm_exec = 1;
		attr->task = 1;
	}
}
