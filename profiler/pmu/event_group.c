/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/pmu/event_group.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "profiler/base/err.h"
#include "profiler/base/log.h"
#include "profiler/perfdata/writer.h"
#include "profiler/pmu/event_code.h"
#include "profiler/pmu/event_trial.h"

/*
 * Primes, lest a loop's length share a factor with them.  Some thousand
 * interrupts a second on cores of today; 4000 a second by the clock; of events
 * that the kernel counts, every one.
 */
enum { PERIOD = 1000003, RARE_PERIOD = 100003, CLOCK_PERIOD_NS = 1999993, MIN_CLOCK_NS = 10000 };

/* The lowest bits of IBS's counter can't be set. */
enum { IBS_UNIT = 16 };

static const struct pe_place ourselves = { .tid = 0, .cpu = -1, .group_fd = -1 };

/* A word with one of its codes, on the way into a group. */
struct candidate {
	size_t word; /* index into choice.list */
	struct event_code code;
	unsigned kind; /* of core, 0 where they are all alike */
	bool sampled;
};

struct choice {
	const struct record_opts *opts;
	const char *sysfs;
	struct event_list list;
	struct core_pmus pmus;
	struct candidate c[EVENT_GROUP_MAX];
	size_t n;
};

bool event_is_of_processor(const struct perf_event_attr *attr)
{
	return attr->type != PERF_TYPE_SOFTWARE && attr->type != PERF_TYPE_TRACEPOINT &&
	       attr->type != PERF_TYPE_BREAKPOINT;
}

static bool is_main(const struct event_code *code)
{
	uint64_t config = code->config & 0xffffffff;

	return code->type == PERF_TYPE_HARDWARE &&
	       (config == PERF_COUNT_HW_INSTRUCTIONS || config == PERF_COUNT_HW_CPU_CYCLES);
}

static const struct event_word *word_of(const struct choice *ch, const struct candidate *c)
{
	return &ch->list.v[c->word];
}

/* It never happens in user mode. */
static bool is_of_kernel(const struct event_code *code)
{
	return code->type == PERF_TYPE_SOFTWARE && (code->config == PERF_COUNT_SW_CONTEXT_SWITCHES ||
	                                            code->config == PERF_COUNT_SW_CPU_MIGRATIONS);
}

static int add_word(struct choice *ch, size_t index)
{
	struct event_word *word = &ch->list.v[index];
	struct event_code codes[EVENT_PMUS_MAX] = { { 0 } };
	int n = event_code_find(ch->sysfs, word, &ch->pmus, codes);

	if (n > 0 && is_of_kernel(&codes[0]) && !word->user)
		word->user = word->kernel = true;
	for (int i = 0; i < n; i++) {
		if (ch->n == EVENT_GROUP_MAX)
			return sp_fail(SP_EUSAGE, "-e: more than %d events", EVENT_GROUP_MAX);
		ch->c[ch->n++] = (struct candidate){
			.word = index,
			.code = codes[i],
			.kind = codes[i].pmu ? (unsigned)(codes[i].pmu - ch->pmus.v) : 0,
			.sampled = word->period || (is_main(&codes[i]) && !word->by_first),
		};
	}
	return n < 0 ? n : 0;
}

/* Of every group on every kind of core at least one must be sampled: the first. */
static void sample_one_each(struct choice *ch)
{
	for (size_t i = 0; i < ch->n; i++) {
		bool any = false, first = true;

		for (size_t k = 0; k < ch->n; k++) {
			if (word_of(ch, &ch->c[k])->group != word_of(ch, &ch->c[i])->group ||
			    ch->c[k].kind != ch->c[i].kind)
				continue;
			any |= ch->c[k].sampled;
			first &= k >= i;
		}
		ch->c[i].sampled |= !any && first;
	}
}

static uint64_t default_period(const struct event_code *code)
{
	if (is_main(code) || code->is_ibs)
		return PERIOD;
	if (code->type != PERF_TYPE_SOFTWARE)
		return RARE_PERIOD;
	return code->config == PERF_COUNT_SW_CPU_CLOCK || code->config == PERF_COUNT_SW_TASK_CLOCK
	               ? CLOCK_PERIOD_NS
	               : 1;
}

/* What is tried first: settle_precision() finds what there is. */
static int precision(const struct event_word *w)
{
	return w->most_precise ? 3 : w->precise;
}

static void name_event(const struct candidate *c, const struct event_word *w, char out[static PE_NAME_BYTES])
{
	const char *colons = strstr(w->name, "::"), *name = colons ? colons + 2 : w->name;
	bool kernel = w->kernel, user = w->user || !w->kernel;
	char modifiers[8];

	snprintf(modifiers, sizeof(modifiers), "%s%s%.*s", user ? "u" : "", kernel ? "k" : "", precision(w),
	         "ppp");
	if (c->code.pmu)
		snprintf(out, PE_NAME_BYTES, "%s/%.50s/%s", c->code.pmu->name, name, modifiers);
	else if (c->code.of_unit)
		snprintf(out, PE_NAME_BYTES, "%s/%.50s/%s", w->pmu, w->name,
		         c->code.all_modes ? "uk" : modifiers);
	else
		snprintf(out, PE_NAME_BYTES, "%s:%s", name, modifiers);
}

/* IBS takes no p, no guests' modes and no period but of whole 16ths, and without a filter nothing that leaves out a mode. */
static void fit_ibs(const struct candidate *c, struct perf_event_attr *attr)
{
	attr->precise_ip = 0;
	attr->exclude_guest = 0;
	if (!attr->freq)
		attr->sample_period = attr->sample_period < IBS_UNIT
		                              ? IBS_UNIT
		                              : attr->sample_period & ~(uint64_t)(IBS_UNIT - 1);
	if (c->code.all_modes)
		attr->exclude_kernel = attr->exclude_user = attr->exclude_hv = 0;
}

static void fill_event(const struct choice *ch, const struct candidate *c, size_t leader, struct pe_event *e)
{
	const struct event_word *w = word_of(ch, c);
	uint64_t period = w->period ? w->period : ch->opts->period;

	*e = (struct pe_event){ .leader = leader };
	e->attr = (struct perf_event_attr){ .type = c->code.type,
		                            .size = PERF_ATTR_SIZE_VER7,
		                            .config = c->code.config,
		                            .config1 = c->code.config1,
		                            .config2 = c->code.config2,
		                            .sample_id_all = 1,
		                            .use_clockid = 1,
		                            .clockid = CLOCK_MONOTONIC,
		                            .exclude_hv = 1,
		                            .exclude_kernel = !w->kernel,
		                            .exclude_user = w->kernel && !w->user,
		                            .precise_ip = (unsigned)precision(w) & 3,
		                            .exclude_guest = precision(w) > 0 };
	e->most_precise = w->most_precise;
	if (c->sampled && ch->opts->rate_hz && !w->period) {
		e->attr.freq = 1;
		e->attr.sample_freq = ch->opts->rate_hz;
	} else if (c->sampled) {
		e->attr.sample_period = period ? period : default_period(&c->code);
	}
	if (c->code.pmu) {
		e->some_cpus = true;
		e->cpus = c->code.pmu->cpus;
	}
	if (c->code.is_ibs)
		fit_ibs(c, &e->attr);
	name_event(c, w, e->name);
}

static bool is_clock(const struct perf_event_attr *attr)
{
	return attr->type == PERF_TYPE_SOFTWARE &&
	       (attr->config == PERF_COUNT_SW_CPU_CLOCK || attr->config == PERF_COUNT_SW_TASK_CLOCK);
}

/*
 * The kernel's timer ticks every ten microseconds at most, whatever it is asked for, and each sample would be counted for less than it
 * stands for.
 */
static int check_period(const struct pe_event *e)
{
	if (!e->attr.freq && e->attr.sample_period && is_clock(&e->attr) &&
	    e->attr.sample_period < MIN_CLOCK_NS)
		return sp_fail(SP_EUSAGE, "-c: %s is in nanoseconds, and its periods begin at %d", e->name,
		               MIN_CLOCK_NS);
	return 0;
}

/* Has any of them a counter, which runs on until the interrupt? */
static bool has_skid(const struct event_group *g)
{
	for (size_t i = 0; i < g->n; i++)
		if (g->v[i].attr.freq && event_is_of_processor(&g->v[i].attr))
			return true;
	return false;
}

/* Group by group, kind by kind of core, the sampled ones before the others. */
static void line_up(const struct choice *ch, struct event_group *out)
{
	*out = (struct event_group){ .n = 0 };
	for (unsigned g = 0; g < ch->list.n_groups; g++)
		for (unsigned kind = 0; kind < EVENT_PMUS_MAX; kind++) {
			size_t leader = out->n;

			for (int pass = 0; pass < 2; pass++)
				for (size_t i = 0; i < ch->n; i++) {
					const struct candidate *c = &ch->c[i];

					if (word_of(ch, c)->group == g && c->kind == kind &&
					    c->sampled == !pass)
						fill_event(ch, c, leader, &out->v[out->n++]);
				}
		}
}

/* What libdwfl begins with: all that hold addresses, by the numbers of the architecture's perf_regs.h. */
#if defined(__x86_64__)
static const uint64_t unwound_regs = UINT64_C(0xff01ff); /* ax to ip, r8 to r15 */
#else
static const uint64_t unwound_regs = UINT64_C(0x1ffffffff); /* x0 to x30, sp, pc */
#endif

/* As much as perf copies.  Deeper stacks are cut, which reports tell. */
enum { DEFAULT_STACK_BYTES = 8192 };

static void set_stacks(const struct record_opts *opts, struct perf_event_attr *a)
{
	if (opts->stacks == STACKS_NONE)
		return;
	/* The chain is in the file for other readers as well, though it be empty. */
	a->sample_type |= PERF_SAMPLE_CALLCHAIN;
	/* Of the kernel nothing but user code's own calls is asked. */
	a->exclude_callchain_kernel = 1;
	if (opts->stacks != STACKS_DWARF)
		return;
	a->exclude_callchain_user = 1;
	a->sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
	a->sample_regs_user = unwound_regs;
	a->sample_stack_user = opts->stack_bytes ? opts->stack_bytes : DEFAULT_STACK_BYTES;
}

/* What the kernel is to write, which a lone software event needs little of. */
static void set_sample_types(const struct record_opts *opts, struct event_group *g)
{
	uint64_t type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME, read = 0;
	bool reads = g->n > 1 || event_is_of_processor(&g->v[0].attr), freq = false;

	for (size_t i = 0; i < g->n; i++)
		freq |= g->v[i].attr.freq;
	if (reads) {
		type |= PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_READ;
		read = PERF_FORMAT_GROUP | PERF_FORMAT_ID;
	}
	if (freq)
		type |= PERF_SAMPLE_PERIOD;
	/*
	 * inherit_stat would have the kernel tell what each task ran.  But it writes that into the rings of all CPUs, from the one that
	 * the task ends on, and a ring is made for one writer: where tasks end while others run elsewhere rings stand still for
	 * seconds, and what they were to hold is lost and not told.
	 */
	if (g->n == 1 && is_clock(&g->v[0].attr) && !opts->whole_system && !opts->tids) {
		g->v[0].lone_clock = true;
		type |= PERF_SAMPLE_IDENTIFIER;
	}
	if (opts->whole_system || opts->cpus)
		type |= PERF_SAMPLE_CPU;
	for (size_t i = 0; i < g->n; i++) {
		g->v[i].attr.sample_type = type;
		set_stacks(opts, &g->v[i].attr);
		g->v[i].attr.read_format =
		        read | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	}
}

static int try_open(const struct pe_event *e)
{
	struct perf_event_attr attr = e->attr;
	int fd;

	attr.disabled = 1;
	fd = pe_open(&attr, &ourselves);
	if (fd < 0)
		return errno;
	close(fd);
	return 0;
}

/* Does the kernel refuse how it is to be sampled, rather than the event? */
static bool may_be_refined(int error)
{
	return error == EINVAL || error == EOPNOTSUPP || error == ENOENT || error == ENODEV;
}

/* 0, or errno of the least precise try. */
static int lower_precision(struct pe_event *e)
{
	int error = try_open(e);

	while (error && e->attr.precise_ip && may_be_refined(error)) {
		e->attr.precise_ip--;
		error = try_open(e);
	}
	return error;
}

int event_group_most_precise(const struct pe_event *event)
{
	struct pe_event e = *event;

	/* IBS has no branch records beside it. */
	e.attr.sample_type &= ~(uint64_t)PERF_SAMPLE_BRANCH_STACK;
	e.attr.branch_sample_type = 0;
	e.attr.precise_ip = 3;
	e.attr.exclude_guest = 1;
	return lower_precision(&e) ? -1 : (int)e.attr.precise_ip;
}

static int settle_precision(struct pe_event *e)
{
	unsigned asked = e->attr.precise_ip, precise;
	int error = lower_precision(e);

	precise = e->attr.precise_ip;
	if (error == EINVAL && strncmp(e->name, "ibs_", 4) == 0)
		return sp_fail(
		        SP_ENOTSUP,
		        "%s: the kernel refuses it: older ones sample whole CPUs alone by IBS ('perf record "
		        "-a -e %s' does, and skidprof report reads that file); or a term this processor "
		        "lacks",
		        e->name, e->name);
	if (error)
		return pe_fail(error, e, &ourselves);
	if (precise < asked) {
		e->name[strlen(e->name) - (asked - precise)] = '\0';
		if (e->most_precise)
			sp_note("%s: precise_ip %u is as precise as this processor can be", e->name, precise);
		else
			sp_warn("%s: this processor can't be as precise as asked (%.*s); sampled with "
			        "precise_ip %u",
			        e->name, (int)asked, "ppp", precise);
	}
	return 0;
}

static int settle_branches(const struct record_opts *opts, struct event_group *g)
{
	bool any = false;

	for (size_t i = 0; i < g->n && opts->branches != 0; i++) {
		struct pe_event with = g->v[i];
		int error;

		if (!with.attr.sample_period || !event_is_of_processor(&with.attr))
			continue;
		with.attr.sample_type |= PERF_SAMPLE_BRANCH_STACK;
		with.attr.branch_sample_type =
		        PERF_SAMPLE_BRANCH_USER |
		        (opts->branch_filter ? opts->branch_filter : PERF_SAMPLE_BRANCH_ANY);
		error = try_open(&with);
		if (error && opts->stacks == STACKS_LBR)
			return sp_fail(
			        SP_ENOTSUP,
			        "-g lbr: this processor keeps no call stack among its branch records "
			        "(Intel's since Haswell do, outside most virtual machines); -g dwarf and "
			        "-g fp need none");
		if (error && opts->branches > 0)
			return pe_fail(error, &with, &ourselves);
		if (!error)
			g->v[i].attr = with.attr;
		any |= !error;
	}
	if (opts->stacks == STACKS_LBR && !any)
		return sp_fail(SP_EUSAGE,
		               "-g lbr: the kernel's own events have no branch records; sample one of the "
		               "processor's (-e cycles), or use -g dwarf or -g fp");
	if (opts->branches > 0 && !any)
		return sp_fail(SP_EUSAGE,
		               "-b: the kernel's own events have no branch records; sample one of the "
		               "processor's (-e cycles), or use --bursts");
	return 0;
}

/*
 * What else to count where -e names nothing, most telling first (why, fill_order of events.c says): one event a
 * line, under the names that the processors of a vendor have for it.  A raw code stands last, for processors newer
 * than libpfm4, where all of that vendor's of today have the same.
 */
static const struct filler {
	const char *cpuid; /* how it begins; "" = any */
	const char *names[3];
} fillers[] = {
#if defined(__x86_64__)
	{ "", { "branches" } },
	{ "GenuineIntel", { "BR_INST_RETIRED:NEAR_CALL", "r02c4" } },
	{ "AuthenticAMD", { "RETIRED_NEAR_RETURNS", "r00c8" } },
	{ "GenuineIntel", { "MEM_INST_RETIRED:ALL_LOADS", "MEM_UOPS_RETIRED:ALL_LOADS", "r81d0" } },
	{ "GenuineIntel", { "BR_INST_RETIRED:NEAR_TAKEN", "r20c4" } },
	{ "AuthenticAMD", { "RETIRED_TAKEN_BRANCH_INSTRUCTIONS", "r00c4" } },
	{ "GenuineIntel", { "MEM_INST_RETIRED:ALL_STORES", "MEM_UOPS_RETIRED:ALL_STORES", "r82d0" } },
	{ "GenuineIntel", { "BR_INST_RETIRED:COND", "BR_INST_RETIRED:CONDITIONAL" } },
	{ "AuthenticAMD", { "RETIRED_CONDITIONAL_BRANCH_INSTRUCTIONS", "r00d1" } },
	{ "GenuineIntel", { "BR_INST_RETIRED:NEAR_RETURN", "r08c4" } },
#else
	{ "", { "BR_RETIRED" } },    { "", { "BR_RETURN_RETIRED" } }, { "", { "LD_RETIRED" } },
	{ "", { "ST_RETIRED" } },    { "", { "PC_WRITE_RETIRED" } },
#endif
	{ "", { "branch-misses" } },
};

enum { N_FILLERS = sizeof(fillers) / sizeof(fillers[0]), N_NAMES = 3 };

/* Add a member if there is a counter left for it, and if it counts anything. */
static bool add_filler(struct choice *ch, struct event_group *g, const char *name)
{
	struct choice with = *ch;
	struct event_group grown;

	if (with.list.n == EVENT_LIST_MAX)
		return false;
	with.list.v[with.list.n] = (struct event_word){ .group = 0 };
	snprintf(with.list.v[with.list.n].name, EVENT_NAME_BYTES, "%s", name);
	if (add_word(&with, with.list.n++) < 0)
		return false;
	line_up(&with, &grown);
	set_sample_types(ch->opts, &grown);
	for (size_t i = 0; i < grown.n; i = event_group_end(&grown, i))
		if (!event_trial(&grown, i, event_group_end(&grown, i), true))
			return false;
	*ch = with;
	*g = grown;
	return true;
}

static void fill_counters(struct choice *ch, struct event_group *g)
{
	char *cpuid = pd_machine_cpuid();

	for (size_t f = 0; cpuid && f < N_FILLERS; f++) {
		const char *const *names = fillers[f].names;

		if (strncmp(cpuid, fillers[f].cpuid, strlen(fillers[f].cpuid)) != 0)
			continue;
		for (size_t k = 0; k < N_NAMES && names[k]; k++)
			/* Raw codes are those of the big cores. */
			if ((names[k][0] != 'r' || ch->pmus.n == 0) && add_filler(ch, g, names[k]))
				break;
	}
	free(cpuid);
}

static int add_words(struct choice *ch, const char *text)
{
	int err = event_list_parse(text, &ch->list);

	for (size_t i = 0; i < ch->list.n && err == 0; i++)
		err = add_word(ch, i);
	return err;
}

int event_group_check(const char *text)
{
	struct choice ch = { .sysfs = "/sys" };

	return add_words(&ch, text);
}

bool event_group_is_software(const char *text)
{
	struct choice ch = { .sysfs = "/sys" };
	int err = add_words(&ch, text);

	for (size_t i = 0; i < ch.n && err == 0; i++)
		if (ch.c[i].code.type != PERF_TYPE_SOFTWARE)
			return false;
	return err == 0;
}

/* One IBS event is all that a core has of them, and it is in no group. */
static int check_ibs(const struct choice *ch)
{
	for (size_t i = 0; i < ch->n; i++) {
		const struct event_word *w = word_of(ch, &ch->c[i]);

		if (!ch->c[i].code.is_ibs)
			continue;
		for (size_t k = 0; k < ch->n; k++)
			if (k != i && word_of(ch, &ch->c[k])->group == w->group)
				return sp_fail(
				        SP_EUSAGE,
				        "-e: %s/%s/ can't be in a group: say {%s/%s/},{...}, a group each",
				        w->pmu, w->name, w->pmu, w->name);
		if (w->precise || w->most_precise)
			return sp_fail(SP_EUSAGE, "-e: %s/%s/ is precise by itself: leave out the p", w->pmu,
			               w->name);
		if (ch->c[i].code.all_modes && (!w->kernel || !w->user))
			sp_note("%s/%s/: this kernel can't leave out a mode of it (it has no swfilt): the "
			        "kernel's "
			        "samples are recorded with the program's",
			        w->pmu, w->name);
	}
	return 0;
}

int event_group_choose(const char *sysfs, const struct record_opts *opts, struct event_group *out)
{
	struct choice ch = { .opts = opts, .sysfs = sysfs };
	int err;

	core_pmus_find(sysfs, &ch.pmus);
	err = add_words(&ch, opts->events ? opts->events : "instructions,cycles");
	if (err == 0)
		err = check_ibs(&ch);
	if (err < 0)
		return err;
	assert(ch.n > 0);
	sample_one_each(&ch);
	line_up(&ch, out);
	set_sample_types(opts, out);
	for (size_t i = 0; i < out->n && err == 0; i++)
		if ((err = check_period(&out->v[i])) == 0)
			err = settle_precision(&out->v[i]);
	if (err == 0 && !opts->events)
		fill_counters(&ch, out);
	else if (err == 0)
		err = event_trial_all(out);
	if (err == 0)
		err = settle_branches(opts, out);
	if (err == 0 && has_skid(out))
		sp_warn("-F: the kernel changes the period as it goes, so how far a counter ran past it, the "
		        "skid of "
		        "each sample, can't be told; a fixed period (-c) keeps it");
	return err;
}
