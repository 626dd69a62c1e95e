/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "correct/recording/chosen.h"

#include <stdio.h>
#include <string.h>

#include "correct/recording/events.h"
#include "profiler/base/begins.h"
#include "profiler/base/err.h"
#include "profiler/base/mem.h"

/* perf's bit of ibs_op's config: operations are counted, not cycles. */
enum { IBS_OP_CNT_CTL = 1 << 19 };

static int kind_of(const struct pd_reader *r, size_t event)
{
	const struct pd_event *e = pd_event(r, event);

	if (begins(e->name, "ibs_op/"))
		return e->attr.config & IBS_OP_CNT_CTL ? MIX_NONE : MIX_CYCLES;

	return mix_kind_of(e->name, e->attr.type, e->attr.config, pd_header(r)->cpuid);
}

/* The event that stands for instructions (or cycles): sampled, and of several a generic one, listed first. */
static int find_event(const struct pd_reader *r, int kind)
{
	int found = -1;

	for (size_t i = 0; i < pd_n_events(r); i++) {
		const struct perf_event_attr *attr = &pd_event(r, i)->attr;

		if (!attr->sample_period || kind_of(r, i) != kind)
			continue;
		if (attr->type == PERF_TYPE_HARDWARE)
			return (int)i;
		found = found < 0 ? (int)i : found;
	}
	return found;
}

/* Instructions that are read with every sample of cycles. */
static int find_counted(const struct pd_reader *r, int cyc_event)
{
	int leader = cyc_event < 0 ? -1 : pd_event(r, (size_t)cyc_event)->leader;

	for (size_t i = 0; leader >= 0 && i < pd_n_events(r); i++) {
		const struct pd_event *e = pd_event(r, i);

		if (e->leader == leader && e->attr.read_format & PERF_FORMAT_GROUP &&
		    kind_of(r, i) == MIX_INSN)
			return (int)i;
	}
	return -1;
}

static int find_bursts(const struct pd_reader *r)
{
	for (size_t i = 0; i < pd_n_events(r); i++)
		if (pd_event_is_bursts(pd_event(r, i)))
			return (int)i;
	return -1;
}

/* AMD's IBS tags operations, and Arm's SPE micro-operations: precise without being asked for it. */
static enum recording_precision precision_of(const struct pd_reader *r, int event)
{
	const struct pd_event *e = event < 0 ? NULL : pd_event(r, (size_t)event);

	if (!e)
		return SEEN_LATER;
	if (e->spe || begins(e->name, "ibs_") || begins(e->name, "arm_spe"))
		return SEEN_THERE;
	if (!e->attr.precise_ip)
		return SEEN_LATER;
	/* PDIR, PDist: of the events that are asked for with all three p, those that have a distribution that is precise; AMD has IBS. */
	if (begins(pd_header(r)->cpuid, "AuthenticAMD") || begins(pd_header(r)->cpuid, "HygonGenuine") ||
	    e->attr.precise_ip == 3 || strcasestr(e->name, "prec_dist"))
		return SEEN_THERE;
	return SEEN_SHADOWED;
}

/* Neither cycles nor instructions: an event that has branch records, else the first. */
static int find_other(const struct pd_reader *r, int but, int nor)
{
	int first = -1;

	for (size_t i = 0; i < pd_n_events(r); i++) {
		const struct pd_event *e = pd_event(r, i);

		if (!e->attr.sample_period || (int)i == but || (int)i == nor)
			continue;
		if (pd_event_has_paths(e))
			return (int)i;
		if (first < 0 || pd_event_is_dummy(pd_event(r, (size_t)first)))
			first = (int)i;
	}
	return first;
}

/* MIX_TAKEN or MIX_BRANCH where samples of these, and of no cycles or instructions, have branch records; else MIX_NONE. */
static int find_branch_kind(const struct recording *r)
{
	int kind = r->cyc_is_other && pd_event_has_paths(pd_event(r->reader, (size_t)r->cyc_event))
	                   ? kind_of(r->reader, (size_t)r->cyc_event)
	                   : MIX_NONE;

	return kind == MIX_TAKEN || kind == MIX_BRANCH ? kind : MIX_NONE;
}

/* Branch records tell the shares of a region, as bursts do. */
static bool tells_shares(const struct recording *r)
{
	return r->burst_event >= 0 ||
	       (r->cyc_event >= 0 && pd_event_has_paths(pd_event(r->reader, (size_t)r->cyc_event)));
}

/* The event that is called so: by all of its name, or else by a part. */
static int find_named(const struct pd_reader *r, const char *name)
{
	for (int part = PD_NAME_WHOLE; part < PD_NAME_PARTS; part++)
		for (size_t i = 0; i < pd_n_events(r); i++)
			if (pd_event(r, i)->attr.sample_period &&
			    pd_event_is_named(pd_event(r, i), name, (enum pd_name_part)part))
				return (int)i;
	return -1;
}

/* One event as its samples were seen. */
static void choose_wanted(struct recording *r)
{
	int event = find_named(r->reader, r->wanted);
	int kind = event < 0 ? MIX_NONE : kind_of(r->reader, (size_t)event);

	chosen_learn(r);
	event = event < 0 ? event : r->events[event].same;
	r->insn_event = r->cyc_event = r->burst_event = -1;
	r->path_event = timed_paths_event(r->reader);
	r->insn_counted = r->cyc_is_other = r->relative = false;
	r->branch_kind = MIX_NONE;
	if (kind == MIX_INSN) {
		r->insn_event = event;
	} else {
		r->cyc_event = event;
		r->cyc_is_other = kind != MIX_CYCLES;
	}
	r->insn_precise = precision_of(r->reader, r->insn_event);
	r->cyc_precise = precision_of(r->reader, r->cyc_event);
}

void chosen_set(struct recording *r)
{
	if (r->wanted) {
		choose_wanted(r);
		return;
	}
	r->insn_event = find_event(r->reader, MIX_INSN);
	r->cyc_event = find_event(r->reader, MIX_CYCLES);
	if (r->insn_event < 0) {
		r->insn_event = find_counted(r->reader, r->cyc_event);
		r->insn_counted = r->insn_event >= 0;
	}
	r->cyc_is_other = false;
	r->burst_event = find_bursts(r->reader);
	r->path_event = timed_paths_event(r->reader);
	/* cpu-clock, say, where there is no PMU: where its samples fell is still worth showing. */
	if (r->insn_event < 0 && r->cyc_event < 0) {
		r->cyc_event = find_other(r->reader, r->burst_event, r->path_event);
		r->cyc_is_other = r->cyc_event >= 0;
	}
	r->branch_kind = find_branch_kind(r);
	r->cyc_is_even = r->cyc_is_other && pd_event_is_clock(pd_event(r->reader, (size_t)r->cyc_event));
	r->insn_precise = r->insn_counted ? SEEN_LATER : precision_of(r->reader, r->insn_event);
	r->cyc_precise = precision_of(r->reader, r->cyc_event);
	r->relative = r->insn_event < 0 && r->cyc_event >= 0 && tells_shares(r);
}

/* Do they count the same, each on its kind of cores? */
static bool are_twins(const struct pd_reader *r, size_t i, size_t k)
{
	const struct pd_event *a = pd_event(r, i), *b = pd_event(r, k);
	const int kind = kind_of(r, i);

	if (kind != kind_of(r, k) || !pd_on_other_cores(a, b) ||
	    !a->attr.sample_period != !b->attr.sample_period)
		return false;
	return kind != MIX_NONE || (a->attr.sample_period && strcmp(a->name + pd_event_pmu_length(a),
	                                                            b->name + pd_event_pmu_length(b)) == 0);
}

/* The first event that counts the same on another kind of cores; i itself if there is none. */
static size_t same_on_other_cores(const struct pd_reader *r, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (are_twins(r, k, i))
			return k;
	return i;
}

int chosen_of_kind(const struct recording *r, int kind)
{
	int event = find_event(r->reader, kind);

	return event < 0 ? -1 : r->events[event].same;
}

bool chosen_is_part(const struct recording *r, size_t i)
{
	for (size_t k = 0; k < r->n_events; k++)
		if (r->events[k].same != r->events[i].same && are_twins(r->reader, i, k))
			return true;
	return false;
}

/* Of a processor with two kinds of cores, one was asked for by the name of its PMU. */
static bool wants_one_kind(const struct recording *r)
{
	return r->wanted && strchr(r->wanted, '/') && !strstr(r->wanted, PD_NAME_AND);
}

/* The first event of another group that counts the same as event i; i itself if there is none. */
static size_t same_in_groups(const struct pd_reader *r, size_t i)
{
	const struct pd_event *e = pd_event(r, i);

	for (size_t k = 0; k < i && e->attr.read_format & PERF_FORMAT_GROUP; k++)
		if (pd_event(r, k)->leader != e->leader && pd_attrs_same(&pd_event(r, k)->attr, &e->attr))
			return k;
	return i;
}

void chosen_learn(struct recording *r)
{
	size_t n = pd_n_events(r->reader);
	struct recording_event *grown;
	uint32_t groups = 0;

	if (n == r->n_events)
		return;
	grown = mem_realloc(r->events, (n + 1) * sizeof(*grown));
	r->events = grown;
	r->n_events = n;
	for (size_t i = 0; i < n && !r->branches; i++)
		if (pd_event(r->reader, i)->attr.sample_type & PERF_SAMPLE_BRANCH_STACK)
			r->branches = pd_branches_of(&pd_event(r->reader, i)->attr);
	for (size_t i = 0; i < n; i++) {
		size_t leader = (size_t)pd_event(r->reader, i)->leader, same = same_in_groups(r->reader, i);

		if (same == i && !wants_one_kind(r))
			same = same_on_other_cores(r->reader, i);
		/* An event of the other cores' second group is the same as one of their first, and that as one of these. */
		if (same != i)
			same = (size_t)grown[same].same;
		grown[i] = (struct recording_event){ .same = (int)same,
			                             .group = leader < i ? grown[leader].group : groups++,
			                             .several = same != i };
		grown[same].several = same != i || grown[same].several;
	}
}

int chosen_check(const struct recording *r)
{
	char names[300] = "";

	if (!r->wanted || r->insn_event >= 0 || r->cyc_event >= 0)
		return 0;
	for (size_t i = 0, n = 0; i < pd_n_events(r->reader) && n < sizeof(names); i++) {
		const struct pd_event *e = pd_event(r->reader, i);

		if (e->attr.sample_period && same_in_groups(r->reader, i) == i && !pd_event_is_dummy(e))
			n += (size_t)snprintf(names + n, sizeof(names) - n, "%s%s", n ? ", " : "", e->name);
	}
	return sp_fail(SP_ENOENT, "--event: no event '%s' was sampled; there %s: %s", r->wanted,
	               *names ? "are" : "is", *names ? names : "none");
}
