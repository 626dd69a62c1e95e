/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/pmu/events.h"

#include <stdlib.h>
#include <string.h>

#include "profiler/base/cmd.h"
#include "profiler/base/err.h"
#include "profiler/sim/events.h"

/* A prime.  A smaller one could be passed by an interrupt's delay; the emulator, not sampling, is what takes time. */
enum { DEFAULT_PERIOD = 10007 };

/* -c has the same bound: see cmd_record.c. */
enum { MIN_PERIOD = 11 };

/*
 * What is counted beside the samples, as far as the core has counters: what
 * tells most about the flow comes first.  That was measured: loops' shares
 * are known from paths already, how often code between two long loops is
 * come to is not, and its calls tell that.
 */
static const uint8_t fill_order[] = {
	SIM_BRANCHES,   SIM_CALLS,         SIM_LOADS,     SIM_TAKEN_BRANCHES,
	SIM_STORES,     SIM_COND_BRANCHES, SIM_FP_SCALAR, SIM_INDIRECT_BRANCHES,
	SIM_SIMD_INT,   SIM_FP_ADD,        SIM_FP_MUL,    SIM_FP_VECTOR,
	SIM_RETURNS,    SIM_FP_DIV,        SIM_FP_FMA,    SIM_BRANCH_MISSES,
	SIM_L1D_MISSES,
};

/*
 * Where they take turns all of them are counted, but for those counts that
 * are not architectural, which are not worth a turn.  In the order above,
 * with other events in one turn, results were no better.
 */
static const uint8_t turn_order[] = {
	SIM_BRANCHES, SIM_TAKEN_BRANCHES, SIM_LOADS,     SIM_STORES,
	SIM_CALLS,    SIM_COND_BRANCHES,  SIM_FP_SCALAR, SIM_INDIRECT_BRANCHES,
	SIM_SIMD_INT, SIM_FP_ADD,         SIM_FP_MUL,    SIM_FP_VECTOR,
	SIM_RETURNS,  SIM_FP_DIV,         SIM_FP_FMA,
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

static void default_group(struct sim_group *g, const struct sim_group_wish *wish,
                          const struct sim_counters *c)
{
	uint64_t p = wish->period ? wish->period : DEFAULT_PERIOD;
	const uint8_t *order = wish->rotate ? turn_order : fill_order;
	size_t n = wish->rotate ? sizeof(turn_order) : sizeof(fill_order);

	add_event(g, SIM_INSTRUCTIONS, p);
	add_event(g, SIM_CYCLES, p);
	for (size_t i = 0; i < n && (wish->rotate || n_programmable(g, c) < c->n_programmable); i++)
		add_event(g, order[i], 0);
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

static bool add_to_set(struct sim_group *g, uint32_t set, const struct sim_group *from, uint32_t i)
{
	if (g->n == WIRE_MAX_EVENTS)
		return false;
	g->event[g->n] = from->event[i];
	g->period[g->n] = from->period[i];
	g->set[g->n++] = set;
	return true;
}

/*
 * Sets of as many counted events as there are counters beside the sampled
 * ones.  What the last one has left over counts the first events once more:
 * a counter that stands idle tells nothing.
 */
static bool split(struct sim_group *g, const struct sim_counters *c)
{
	struct sim_group all = *g, sampled = *g;
	uint32_t counted = all.n - all.n_sampled, room;
	bool fits = true;

	sampled.n = sampled.n_sampled;
	if (!counted || n_programmable(&sampled, c) >= c->n_programmable)
		return false;
	room = c->n_programmable - n_programmable(&sampled, c);
	g->n_sets = (counted + room - 1) / room;
	g->n = 0;
	for (uint32_t set = 0; set < g->n_sets; set++) {
		for (uint32_t i = 0; i < all.n_sampled; i++)
			fits = fits && add_to_set(g, set, &all, i);
		for (uint32_t i = 0; i < room; i++)
			fits = fits && add_to_set(g, set, &all, all.n_sampled + (set * room + i) % counted);
	}
	return fits;
}

int sim_group_parse(const struct sim_group_wish *wish, const struct sim_counters *counters,
                    const char *core_name, struct sim_group *out)
{
	struct sim_group g = { .n_sets = 1 };
	int err = 0;

	/* Smaller ones than this leave hardly anything between two interrupts. */
	if (wish->period && wish->period < MIN_PERIOD)
		return sp_fail(SP_EUSAGE, "-c: the simulated PMU's periods begin at %d", MIN_PERIOD);
	if (wish->text)
		err = parse_list(&g, wish->text, wish->period);
	else
		default_group(&g, wish, counters);
	if (err < 0)
		return err;
	sampled_first(&g, wish->period);
	if (n_programmable(&g, counters) > counters->n_programmable && !(wish->rotate && split(&g, counters)))
		return sp_fail(SP_EUSAGE,
		               "-e: %u events need a programmable counter, and core %s has %u beside the %u "
		               "fixed ones for cycles and instructions%s",
		               n_programmable(&g, counters), core_name, counters->n_programmable,
		               counters->n_fixed, wish->rotate ? "" : "; with --rotate they take turns");
	*out = g;
	return 0;
}

uint32_t sim_group_first(const struct sim_group *g, uint32_t i)
{
	uint32_t first = 0;

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
