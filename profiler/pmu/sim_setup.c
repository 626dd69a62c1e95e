/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/pmu/sim_setup.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "profiler/base/err.h"
#include "profiler/pmu/bursts.h"

enum {
	/*
	 * A second of the program's time, where nothing was said: one burst to a few dozen samples.  A program
	 * that runs here for a hundredth of a second stands for ten seconds of it: those have 95 to 820 bursts by
	 * the default budget, the median 400, of 420 to 1000 branches (14 programs of Debian's, record -v on an EPYC
	 * guest that shares its two processors), where this makes 90 to 420 of BURST_FIRST_LENGTH (random programs of
	 * tests/stat/gen.c).
	 */
	DEFAULT_BURSTS_HZ = 25000,
	/*
	 * Likewise, how long a thread stays on one kind of core: some hundred samples, as the scheduler leaves
	 * it there for some hundredths of a second.
	 */
	STAY_NS = 100000,
};

static bool is_tagged(const struct sim_setup *s, uint32_t i)
{
	return s->group.precise[i] && s->core[s->group.kind[i]].counters.precise_by_dispatch;
}

/* Where nothing is said: if these events can have them. */
static bool wants_branches(const struct sim_setup *s, const struct record_opts *opts)
{
	bool any = opts->branches != 0;

	for (uint32_t i = 0; i < s->group.n && opts->branches < 0; i++)
		any = any && !is_tagged(s, i);
	return any;
}

/* What these events can't have on this core. */
static int check_cores(const struct sim_setup *s)
{
	const struct sim_group *g = &s->group;

	for (uint32_t i = 0; i < g->n; i++) {
		const struct sim_core *core = &s->core[g->kind[i]];

		if (is_tagged(s, i) && s->branches)
			return sp_fail(SP_EUSAGE,
			               "-e: '%s': core %s has no branch records with precise events; add "
			               "--no-branches",
			               sim_group_name(g, i), core->name);
		if (g->kernel[i] && !core->counters.syscall_cyc)
			return sp_fail(SP_EUSAGE,
			               "-e: '%s': system calls cost no time on core %s (syscall_cyc), so "
			               "nothing is to be counted in the kernel",
			               sim_group_name(g, i), core->name);
	}
	return 0;
}

/* What the record takes, as the plugin knows it. */
static uint32_t wire_filter(uint64_t mask)
{
	static const struct {
		uint64_t mask;
		uint32_t only;
	} kinds[] = {
		{ PERF_SAMPLE_BRANCH_COND, WIRE_ONLY_COND },
		{ PERF_SAMPLE_BRANCH_CALL, WIRE_ONLY_CALL },
		{ PERF_SAMPLE_BRANCH_IND_CALL, WIRE_ONLY_INDIRECT_CALL },
		{ PERF_SAMPLE_BRANCH_ANY_CALL, WIRE_ONLY_CALL | WIRE_ONLY_INDIRECT_CALL },
		{ PERF_SAMPLE_BRANCH_ANY_RETURN, WIRE_ONLY_RETURN },
		{ PERF_SAMPLE_BRANCH_IND_JUMP, WIRE_ONLY_INDIRECT_JUMP },
		{ PERF_SAMPLE_BRANCH_CALL_STACK, WIRE_CALL_STACK },
	};
	uint32_t filter = 0;

	if (mask & PERF_SAMPLE_BRANCH_ANY)
		return 0;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		filter |= mask & kinds[i].mask ? kinds[i].only : 0;
	return filter;
}

/* "big,little", unless that is a file's name. */
static int load_cores(const char *word, enum program_isa isa, struct sim_setup *s)
{
	const char *comma = word && access(word, R_OK) < 0 ? strchr(word, ',') : NULL;
	char first[PATH_MAX];
	int err;

	s->n_cores = 1;
	if (!comma) {
		err = sim_core_load(word, isa, &s->core[0]);
		snprintf(s->name, sizeof(s->name), "%s", s->core[0].name);
		return err;
	}
	if (strchr(comma + 1, ','))
		return sp_fail(SP_EUSAGE, "--core: '%s': a processor has two kinds of core at most", word);
	snprintf(first, sizeof(first), "%.*s", (int)(comma - word), word);
	err = sim_core_load(first, isa, &s->core[0]);
	if (err == 0)
		err = sim_core_load(comma + 1, isa, &s->core[1]);
	s->n_cores = 2;
	snprintf(s->name, sizeof(s->name), "%.64s and %.64s", s->core[0].name, s->core[1].name);
	return err;
}

static int make_groups(const struct record_opts *o, struct sim_setup *s)
{
	const struct sim_group_wish wish = { o->events, o->period,  o->rotate_ns != 0,
		                             o->plain,  o->rate_hz, o->branch_filter };
	struct sim_group other;
	int err;

	err = sim_group_parse(&wish, &s->core[0].counters, s->core[0].name, &s->group);
	if (err < 0 || s->n_cores == 1)
		return err;
	err = sim_group_parse(&wish, &s->core[1].counters, s->core[1].name, &other);
	return err < 0 ? err : sim_group_join(&s->group, &other);
}

/* As deep as the records of all kinds. */
static uint32_t depth_of(const struct sim_setup *s)
{
	uint32_t depth = s->core[0].counters.branch_records;

	for (uint32_t k = 1; k < s->n_cores; k++)
		if (s->core[k].counters.branch_records < depth)
			depth = s->core[k].counters.branch_records;
	return depth;
}

int sim_setup_make(const struct record_opts *o, enum program_isa isa, struct sim_setup *s)
{
	int err;

	err = load_cores(o->core, isa, s);
	if (err == 0)
		err = make_groups(o, s);
	if (err < 0)
		return err;
	s->branches = wants_branches(s, o) ? depth_of(s) : 0;
	if (o->branches > 0 && !s->branches)
		return sp_fail(SP_EUSAGE, "-b: core %s has no branch records", s->name);
	err = check_cores(s);
	if (err < 0)
		return err;
	/* What a thread would be held for costs nothing here, so that there is no budget to go by. */
	s->bursts_hz = isinf(o->bursts_hz) ? DEFAULT_BURSTS_HZ : o->bursts_hz;
	/* As beside real counters. */
	if (o->bursts_hz < 0)
		s->bursts_hz = !o->plain && bursts_beside_counters(o) ? DEFAULT_BURSTS_HZ : 0;
	return 0;
}

void sim_setup_fini(struct sim_setup *s)
{
	for (uint32_t k = 0; k < WIRE_MAX_KINDS; k++)
		sim_core_fini(&s->core[k]);
}

static void fill_events(const struct sim_group *g, struct wire_config *c)
{
	for (uint32_t i = 0; i < g->n; i++) {
		uint32_t first_set = g->kind[i] ? g->kind_sets[0] : 0;

		c->event[i] = (struct wire_event){ .event = g->event[i],
			                           .set = g->set[i] - first_set,
			                           .period = g->period[i],
			                           .more_sets = g->more_sets[i],
			                           .kernel = g->kernel[i],
			                           .precise = g->precise[i],
			                           .rate_hz = g->period[i] ? (uint32_t)g->rate_hz : 0 };
	}
	c->n_events = g->n;
	for (uint32_t k = 0; k < g->n_kinds; k++) {
		c->kind[k].n_events = g->kind_n[k];
		c->kind[k].n_sets = g->kind_sets[k];
	}
}

int sim_setup_message(const struct sim_setup *s, const struct record_opts *opts, struct wire_config **out,
                      size_t *n_bytes)
{
	size_t n = sizeof(struct wire_config);
	struct wire_config *c;
	char *text;

	for (uint32_t k = 0; k < s->n_cores; k++)
		n += s->core[k].n_bytes;
	if (n > WIRE_MAX_BYTES)
		return sp_fail(SP_EFORMAT, "%s: too long for core files", s->name);
	c = calloc(1, n);
	if (!c)
		return sp_fail(SP_ENOMEM, "out of memory");
	c->head = (struct wire_head){ .kind = WIRE_CONFIG, .bytes = (uint32_t)n };
	c->version = WIRE_VERSION;
	c->timing = opts->output != NULL;
	c->counting = opts->counting;
	c->calls = opts->calls;
	c->branches = s->branches;
	c->branch_filter = wire_filter(s->group.branch_filter);
	c->no_values = s->group.plain;
	c->max_rate_hz = (uint32_t)opts->max_rate_hz;
	c->seed = opts->seed;
	c->rotate_ns = opts->rotate_ns;
	c->stay_ns = STAY_NS;
	c->burst_ns = s->bursts_hz > 0 ? (uint64_t)(1e9 / s->bursts_hz) : 0;
	c->burst_branches = opts->burst_length ? opts->burst_length : BURST_FIRST_LENGTH;
	c->n_kinds = s->n_cores;
	if (c->timing)
		fill_events(&s->group, c);
	text = (char *)(c + 1);
	for (uint32_t k = 0; k < s->n_cores; k++) {
		c->kind[k].text_bytes = (uint32_t)s->core[k].n_bytes;
		memcpy(text, s->core[k].text, s->core[k].n_bytes);
		text += s->core[k].n_bytes;
	}
	*out = c;
	*n_bytes = n;
	return 0;
}

bool sim_setup_has_turns(const struct sim_setup *s)
{
	return s->group.n_sets > s->group.n_kinds;
}
