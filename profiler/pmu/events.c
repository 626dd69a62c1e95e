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
	if (strpbrk(name, "{}"))
		return sp_fail(SP_EUSAGE,
		               "-e: the simulated core takes no braces, as at '%s': all events of a list are "
		               "counted together",
		               name);
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

/* What is said of an event beside its name. */
struct wish {
	uint64_t period; /* 0: only counted */
	uint32_t precise;
	bool kernel;
};

static int add_event(struct sim_group *g, uint32_t event, const struct wish *w)
{
	for (uint32_t i = 0; i < g->n; i++)
		if (g->event[i] == event)
			return sp_fail(SP_EUSAGE, "-e: '%s' is named twice", sim_event_name(event));
	if (g->n == WIRE_MAX_EVENTS)
		return sp_fail(SP_EUSAGE, "-e: more than %d events", WIRE_MAX_EVENTS);
	g->event[g->n] = event;
	g->precise[g->n] = w->precise;
	g->kernel[g->n] = w->kernel;
	g->period[g->n++] = w->period;
	return 0;
}

/* P: what the core can do, which is known once all are parsed. */
enum { MOST_PRECISE = 4 };

/* "u", "uk", "upp", "uP". */
static int parse_modifiers(const char *word, const char *modifiers, struct wish *out)
{
	bool user = false, most = false;

	for (const char *m = modifiers; *m; m++) {
		user |= *m == 'u';
		out->kernel |= *m == 'k';
		out->precise += *m == 'p';
		most |= *m == 'P';
		if (!strchr("ukpP", *m) || out->precise > 3 || (most && out->precise))
			return sp_fail(SP_EUSAGE, "-e: '%s:%s': modifiers are u, k and up to three p, or P",
			               word, modifiers);
	}
	out->precise = most ? MOST_PRECISE : out->precise;
	if (out->kernel && !user)
		return sp_fail(SP_EUSAGE,
		               "-e: '%s:%s': the simulated core counts the kernel beside the program only; "
		               "say uk",
		               word, modifiers);
	return 0;
}

/* "branches", "branches/1009", "cycles:upp/20011". */
static int parse_event(struct sim_group *g, char *word, const struct sim_group_wish *wish)
{
	unsigned long long own = 0;
	char *slash = strchr(word, '/'), *colon;
	struct wish w = { 0 };
	int event, err;

	if (slash)
		*slash++ = '\0';
	if ((colon = strchr(word, ':')))
		*colon++ = '\0';
	event = find_event(word);
	if (event < 0)
		return unknown_event(word);
	if (colon && (err = parse_modifiers(word, colon, &w)) < 0)
		return err;
	if (slash) {
		err = cmd_parse_u64("-e: the period", slash, MIN_PERIOD, UINT32_MAX, &own);
		if (err < 0)
			return err;
	} else if (wish->plain || w.precise || event == SIM_INSTRUCTIONS || event == SIM_CYCLES) {
		own = wish->period ? wish->period : DEFAULT_PERIOD;
	}
	w.period = own;
	return add_event(g, (uint32_t)event, &w);
}

static int parse_list(struct sim_group *g, const char *text, const struct sim_group_wish *wish)
{
	char *copy = strdup(text), *save = NULL;
	int err = 0;

	if (!copy)
		return sp_fail(SP_ENOMEM, "out of memory");
	for (char *word = strtok_r(copy, ",", &save); word && err == 0; word = strtok_r(NULL, ",", &save))
		err = parse_event(g, word, wish);
	free(copy);
	if (err == 0 && g->n == 0)
		err = sp_fail(SP_EUSAGE, "-e: no event named");
	return err;
}

static void default_group(struct sim_group *g, const struct sim_group_wish *wish,
                          const struct sim_counters *c)
{
	const struct wish sampled = { .period = wish->period ? wish->period : DEFAULT_PERIOD };
	const struct wish counted = { 0 };
	const uint8_t *order = wish->rotate ? turn_order : fill_order;
	size_t n = wish->rotate ? sizeof(turn_order) : sizeof(fill_order);

	if (!wish->plain)
		add_event(g, SIM_INSTRUCTIONS, &sampled);
	add_event(g, SIM_CYCLES, &sampled);
	if (wish->plain)
		return;
	for (size_t i = 0; i < n && (wish->rotate || n_programmable(g, c) < c->n_programmable); i++)
		add_event(g, order[i], &counted);
}

static void copy_event(struct sim_group *g, const struct sim_group *from, uint32_t i, uint64_t period)
{
	const struct wish w = { period, from->precise[i], from->kernel[i] };

	add_event(g, from->event[i], &w);
}

/* The leader must be sampled: put the sampled ones first, order kept. */
static void sampled_first(struct sim_group *g, uint64_t period)
{
	struct sim_group old = *g;

	g->n = 0;
	for (uint32_t i = 0; i < old.n; i++)
		if (old.period[i])
			copy_event(g, &old, i, old.period[i]);
	if (g->n == 0) {
		old.period[0] = period ? period : DEFAULT_PERIOD;
		copy_event(g, &old, 0, old.period[0]);
	}
	g->n_sampled = g->n;
	for (uint32_t i = 0; i < old.n; i++)
		if (!old.period[i])
			copy_event(g, &old, i, 0);
}

static bool add_to_set(struct sim_group *g, uint32_t set, const struct sim_group *from, uint32_t i)
{
	if (g->n == WIRE_MAX_EVENTS)
		return false;
	g->event[g->n] = from->event[i];
	g->period[g->n] = from->period[i];
	g->precise[g->n] = from->precise[i];
	g->kernel[g->n] = from->kernel[i];
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

/*
 * Linux gives counters to the first of a list of events and on until one finds none; with every turn the first goes to the
 * list's end.  So there are as many sets as events, each begins with another one, and an event is in many.
 */
static void take_turns(struct sim_group *g, const struct sim_counters *c)
{
	g->n_sets = g->n;
	for (uint32_t set = 0; set < g->n_sets; set++) {
		uint32_t used = 0;

		for (uint32_t k = 0; k < g->n; k++) {
			uint32_t i = (set + k) % g->n;

			used += !is_fixed(g->event[i], c);
			if (used > c->n_programmable)
				break;
			if (k)
				g->more_sets[i] |= UINT64_C(1) << set;
			else
				g->set[i] = set;
		}
	}
}

/* What the core's precise sampling can do. */
static int check_precise(const struct sim_group *g, const struct sim_counters *c, const char *core_name)
{
	for (uint32_t i = 0; i < g->n; i++) {
		const char *name = sim_event_name(g->event[i]);

		if (g->precise[i] > c->precise_max)
			return sp_fail(SP_EUSAGE, "-e: '%s': core %s can do %u p at most", name, core_name,
			               c->precise_max);
		if (!g->precise[i] || !c->precise_by_dispatch)
			continue;
		if (g->event[i] != SIM_CYCLES && g->event[i] != SIM_INSTRUCTIONS)
			return sp_fail(SP_EUSAGE,
			               "-e: '%s': on core %s only cycles and instructions can be precise",
			               name, core_name);
		if (!g->plain && g->n > 1)
			return sp_fail(
			        SP_EUSAGE,
			        "-e: '%s': on core %s a precise event can't be in a group; use --plain", name,
			        core_name);
	}
	return 0;
}

static int no_counter(const struct sim_group *g, const struct sim_counters *counters, const char *core_name,
                      bool rotate)
{
	return sp_fail(SP_EUSAGE,
	               "-e: %u events need a programmable counter, and core %s has %u beside the %u "
	               "fixed ones for cycles and instructions%s",
	               n_programmable(g, counters), core_name, counters->n_programmable, counters->n_fixed,
	               rotate ? "" : "; with --rotate they take turns");
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
		err = parse_list(&g, wish->text, wish);
	else
		default_group(&g, wish, counters);
	if (err < 0)
		return err;
	sampled_first(&g, wish->period);
	g.plain = wish->plain;
	g.rate_hz = wish->rate_hz;
	g.branch_filter = wish->branch_filter;
	for (uint32_t i = 0; i < g.n; i++)
		g.precise[i] = g.precise[i] == MOST_PRECISE ? counters->precise_max : g.precise[i];
	if ((err = check_precise(&g, counters, core_name)) < 0)
		return err;
	if (n_programmable(&g, counters) > counters->n_programmable) {
		if (!wish->rotate || (g.plain && !counters->n_programmable))
			return no_counter(&g, counters, core_name, wish->rotate);
		if (g.plain)
			take_turns(&g, counters);
		else if (!split(&g, counters))
			return no_counter(&g, counters, core_name, true);
	}
	g.n_kinds = 1;
	g.kind_n[0] = g.n;
	g.kind_sets[0] = g.n_sets;
	*out = g;
	return 0;
}

int sim_group_join(struct sim_group *g, const struct sim_group *other)
{
	if (g->n + other->n > WIRE_MAX_EVENTS)
		return sp_fail(SP_EUSAGE, "-e: more than %d events on two kinds of core", WIRE_MAX_EVENTS);
	for (uint32_t i = 0; i < other->n; i++) {
		g->event[g->n] = other->event[i];
		g->period[g->n] = other->period[i];
		g->precise[g->n] = other->precise[i];
		g->kernel[g->n] = other->kernel[i];
		g->set[g->n] = g->n_sets + other->set[i];
		g->more_sets[g->n] = other->more_sets[i];
		g->kind[g->n++] = 1;
	}
	g->kind_n[1] = other->n;
	g->kind_sets[1] = other->n_sets;
	g->n_sets += other->n_sets;
	g->n_kinds = 2;
	return 0;
}
