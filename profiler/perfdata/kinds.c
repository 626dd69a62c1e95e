/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What an event counts, and where, as its attributes and its name tell. */
#include <string.h>

#include "profiler/perfdata/reader.h"

bool pd_event_is_dummy(const struct pd_event *e)
{
	return e->attr.type == PERF_TYPE_SOFTWARE && e->attr.config == PERF_COUNT_SW_DUMMY;
}

bool pd_event_is_kernels(const struct pd_event *e)
{
	return e->attr.type == PERF_TYPE_SOFTWARE || e->attr.type == PERF_TYPE_TRACEPOINT;
}

bool pd_event_has_counter(const struct pd_reader *r, size_t i)
{
	return !pd_event_is_kernels(pd_event(r, i)) ||
	       !pd_event_is_kernels(pd_event(r, (size_t)pd_event(r, i)->leader));
}

size_t pd_event_pmu_length(const struct pd_event *e)
{
	const char *slash = strchr(e->name, '/');

	return slash ? (size_t)(slash - e->name) : 0;
}

bool pd_on_other_cores(const struct pd_event *a, const struct pd_event *b)
{
	size_t n = pd_event_pmu_length(a), m = pd_event_pmu_length(b);

	if (a->attr.type == PERF_TYPE_HARDWARE && b->attr.type == PERF_TYPE_HARDWARE &&
	    a->attr.config >> 32 != b->attr.config >> 32)
		return true;
	return n && m && (n != m || strncmp(a->name, b->name, n) != 0);
}

bool pd_attrs_same(const struct perf_event_attr *a, const struct perf_event_attr *b)
{
	return a->type == b->type && a->config == b->config && a->config1 == b->config1 &&
	       a->config2 == b->config2 && a->sample_period == b->sample_period && a->freq == b->freq &&
	       a->exclude_kernel == b->exclude_kernel && a->exclude_user == b->exclude_user &&
	       a->precise_ip == b->precise_ip;
}

bool pd_event_is_named(const struct pd_event *e, const char *name, enum pd_name_part part)
{
	const char *own = e->name, *end = strstr(name, PD_NAME_AND);
	size_t n = end ? (size_t)(end - name) : strlen(name), pmu = pd_event_pmu_length(e);

	if (part == PD_NAME_IN_PMU)
		own += pmu ? pmu + 1 : 0;
	return strncmp(own, name, n) == 0 &&
	       (!own[n] || (part == PD_NAME_BARE && (own[n] == ':' || (n && own[n - 1] == '/'))) ||
	        (part == PD_NAME_IN_PMU && pmu && (own[n] == ':' || own[n] == '/')));
}

bool pd_event_is_clock(const struct pd_event *e)
{
	const struct perf_event_attr *a = &e->attr;

	if (a->type == PERF_TYPE_SOFTWARE)
		return a->config == PERF_COUNT_SW_CPU_CLOCK || a->config == PERF_COUNT_SW_TASK_CLOCK;
	if (a->type == PERF_TYPE_HARDWARE)
		return a->config == PERF_COUNT_HW_REF_CPU_CYCLES || a->config == PERF_COUNT_HW_BUS_CYCLES;
	return strcasestr(e->name, "ref-cycles") || strcasestr(e->name, "ref_tsc");
}

enum pd_branches pd_branches_of(const struct perf_event_attr *attr)
{
	const uint64_t type = attr->branch_sample_type,
	               kinds = PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_ANY_CALL |
	                       PERF_SAMPLE_BRANCH_ANY_RETURN | PERF_SAMPLE_BRANCH_IND_CALL |
	                       PERF_SAMPLE_BRANCH_COND | PERF_SAMPLE_BRANCH_CALL_STACK |
	                       PERF_SAMPLE_BRANCH_IND_JUMP | PERF_SAMPLE_BRANCH_CALL,
	               calls = PERF_SAMPLE_BRANCH_ANY_CALL | PERF_SAMPLE_BRANCH_IND_CALL |
	                       PERF_SAMPLE_BRANCH_CALL;

	if (!(type & kinds) || type & PERF_SAMPLE_BRANCH_ANY)
		return PD_BRANCHES_ALL;
	if (type & PERF_SAMPLE_BRANCH_CALL_STACK)
		return PD_BRANCHES_CALLERS;
	if (!(type & kinds & ~(uint64_t)PERF_SAMPLE_BRANCH_COND))
		return PD_BRANCHES_CONDITIONAL;
	if (!(type & kinds & ~(uint64_t)PERF_SAMPLE_BRANCH_ANY_RETURN))
		return PD_BRANCHES_RETURNS;
	return type & kinds & ~calls ? PD_BRANCHES_SOME : PD_BRANCHES_CALLS;
}

const char *pd_branches_word(enum pd_branches kind)
{
	static const char *const words[] = {
		[PD_BRANCHES_ALL] = "",
		[PD_BRANCHES_CONDITIONAL] = "conditional branches only",
		[PD_BRANCHES_CALLS] = "calls only",
		[PD_BRANCHES_RETURNS] = "returns only",
		[PD_BRANCHES_CALLERS] = "a call stack",
		[PD_BRANCHES_SOME] = "some kinds of branches only",
	};

	return words[kind];
}

bool pd_event_has_paths(const struct pd_event *e)
{
	return e->attr.sample_period && e->attr.sample_type & PERF_SAMPLE_BRANCH_STACK &&
	       pd_branches_of(&e->attr) == PD_BRANCHES_ALL;
}

bool pd_event_is_bursts(const struct pd_event *e)
{
	return e->attr.type == PERF_TYPE_SOFTWARE &&
	       (e->attr.config == PERF_COUNT_SW_DUMMY || e->attr.config == PERF_COUNT_SW_CPU_CLOCK) &&
	       e->attr.sample_type & PERF_SAMPLE_BRANCH_STACK;
}
