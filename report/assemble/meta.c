/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The header of a profile: where it comes from, its events, its modules. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "correct/model/model.h"
#include "profiler/base/mem.h"
#include "report/assemble/assemble_impl.h"

static const char *pmu_word(const struct work *w)
{
	const char *cpuid = pd_header(w->rec->reader)->cpuid;

	if (cpuid && strncmp(cpuid, "skidsim", 7) == 0)
		return "simulated";
	for (size_t i = 0; i < pd_n_events(w->rec->reader); i++)
		if (!pd_event_is_kernels(pd_event(w->rec->reader, i)))
			return "hardware";
	return "clock";
}

/* Events that are one, for they count the same on two kinds of cores: "cpu_core/cycles/ + cpu_atom/cycles/". */
static const char *joined_name(struct assembly *a, size_t first)
{
	const struct recording *rec = a->w->rec;
	char name[256];
	size_t n;

	snprintf(name, sizeof(name), "%s", pd_event(rec->reader, first)->name);
	for (size_t i = first + 1; i < rec->n_events; i++) {
		const struct pd_event *e = pd_event(rec->reader, i);

		n = strlen(name);
		if (rec->events[i].same == (int)first && pd_event_pmu_length(e) &&
		    strcmp(e->name, pd_event(rec->reader, first)->name) != 0)
			snprintf(name + n, sizeof(name) - n, PD_NAME_AND "%s", e->name);
	}
	return profile_string(a->p, name);
}

/* Is name the first n characters of text? */
static bool is_named(const char *name, const char *text, size_t n)
{
	return name && strlen(name) == n && strncmp(name, text, n) == 0;
}

/* Instructions and cycles of each kind of cores, where there is more than one. */
static void fill_cores(struct assembly *a)
{
	const struct work *w = a->w;
	const struct recording *rec = w->rec;
	struct profile_meta *meta = &a->p->meta;

	meta->cores = mem_calloc(rec->n_events + 1, sizeof(*meta->cores));
	for (size_t i = 0; i < rec->n_events && i < w->sums.n_events; i++) {
		const struct pd_event *e = pd_event(rec->reader, i);
		bool insn = rec->events[i].same == rec->insn_event,
		     cyc = rec->events[i].same == rec->cyc_event;
		size_t n = pd_event_pmu_length(e), k = 0;

		if (!n || (!insn && !cyc) || !e->attr.sample_period)
			continue;
		while (k < meta->n_cores && !is_named(meta->cores[k].name, e->name, n))
			k++;
		if (k == meta->n_cores) {
			const char *kept;
			char name[128];

			snprintf(name, sizeof(name), "%.*s", (int)n, e->name);
			kept = profile_string(a->p, name);
			meta->cores[meta->n_cores++].name = kept;
		}
		*(insn ? &meta->cores[k].insn : &meta->cores[k].cyc) += w->sums.events[i].own_sum;
	}
	/* One kind is all that there is, or that is looked at. */
	if (meta->n_cores == 1 || w->opts->filter.core)
		meta->n_cores = 0;
}

/* Instructions that have no sample for that reason, for one that has: of all scopes, each by its own pace, which differs. */
static double hidden_in_scopes(const struct work *w)
{
	double hidden = 0, all = w->sums.events[w->rec->insn_event].period_sum;

	for (size_t s = 0; w->scope_problems && s < w->scopes.n; s++)
		hidden += w->scope_problems[s]->hidden * w->scope_problems[s]->total_insn;
	return all > 0 ? hidden / all : 0;
}

/* Share of an event's overflows that have no sample, for it comes about as fast as it skids (eq. 5); groups counted all. */
static double hidden_share(const struct work *w, size_t i)
{
	const struct event_sum *sum = &w->sums.events[i], *cyc;
	bool is_insn = (int)i == w->rec->insn_event && !w->rec->insn_counted;
	double hidden;

	if ((!is_insn && (int)i != w->rec->cyc_event) || w->rec->cyc_event < 0 || w->rec->cyc_is_other ||
	    sum->value_sum > 0 || !sum->n_samples || w->skid_source == SKID_PRECISE)
		return 0;
	cyc = &w->sums.events[w->rec->cyc_event];
	hidden = skid_dist_hidden(&w->skid, cyc->period_sum / (double)sum->n_samples);
	if (is_insn)
		hidden = fmin(fmax(hidden, hidden_in_scopes(w)), 1);
	return hidden > model->little * (1 + hidden) ? hidden / (1 + hidden) : 0;
}

static void fill_events(struct assembly *a)
{
	const struct work *w = a->w;
	struct profile_meta *meta = &a->p->meta;

	meta->events = mem_calloc(w->sums.n_events + 1, sizeof(*meta->events));
	for (size_t i = 0; i < w->sums.n_events; i++) {
		const struct pd_event *e = pd_event(w->rec->reader, i);
		const struct event_sum *sum = &w->sums.events[i];

		/* Of those that are one, the first: what samples are shown as keeps its index. */
		if (w->rec->events[i].same != (int)i)
			continue;
		meta->events[meta->n_events] = (struct profile_event){
			.name = joined_name(a, i),
			.period = e->attr.freq ? 0 : e->attr.sample_period,
			.freq = e->attr.freq,
			.aside = pd_event_is_dummy(e) && !sum->n_samples,
			.n_samples = sum->n_samples,
			.total = sum->value_sum > 0 ? sum->value_sum : sum->period_sum,
			.multiplexed = sum->multiplexed,
			.rested = sum->rested,
			.throttled = sum->throttled,
			.unsampled = sum->unsampled,
			.ended = sum->ended > model->little ? sum->ended : 0,
			.hidden = hidden_share(w, i),
		};
		meta->n_events++;
	}
}

static const char *text_or_empty(struct assembly *a, const char *text)
{
	return profile_string(a->p, text ? text : "");
}

/* Where an event stands in the profile's list, which has those that are one only once. */
static int listed(const struct recording *rec, int event)
{
	int n = 0;

	for (int i = 0; i < event; i++)
		n += rec->events[i].same == i;
	return event < 0 ? event : n;
}

/* Time becomes cycles where the core's frequency is known, and where it is nanoseconds. */
static double core_hz(const struct work *w)
{
	const struct perf_event_attr *attr;

	if (w->rec->cyc_event < 0 || !w->rec->cyc_is_other)
		return 0;
	attr = &pd_event(w->rec->reader, (size_t)w->rec->cyc_event)->attr;
	if (attr->type != PERF_TYPE_SOFTWARE ||
	    (attr->config != PERF_COUNT_SW_CPU_CLOCK && attr->config != PERF_COUNT_SW_TASK_CLOCK))
		return 0;
	return w->sums.core_hz;
}

static double cyc_per_event(const struct work *w)
{
	return core_hz(w) > 0 ? core_hz(w) / 1e9 : 1;
}

/* Paths are of the whole recording, and of what the clock sampled. */
static void fill_timed(struct profile_meta *m, const struct work *w)
{
	const struct timed_rate r = w->timed;
	double ns;

	m->n_timed = r.n;
	m->n_not_timed = r.n_failed;
	if (w->rec->filter || w->rec->cyc_event < 0 || !w->rec->cyc_is_even)
		return;
	ns = w->sums.events[w->rec->cyc_event].period_sum;
	m->timed_insn = ns * r.rate;
	m->timed_lo = ns * r.lo;
	m->timed_hi = ns * r.hi;
	m->timed_cyc = ns * m->core_hz / 1e9;
}

static void fill_chance(struct profile_meta *m, const struct work *w)
{
	const struct event_sum *sum = m->as_sampled ? &w->sums.events[w->rec->insn_event] : NULL;

	/* Where some come in step with a loop, what it has too many of others have too few of. */
	if (!sum || w->regions)
		return;
	m->chance_samples = (double)sum->n_samples;
	m->chance_insn = sum->period_sum;
}

static void fill_header(struct assembly *a)
{
	const struct work *w = a->w;
	const struct pd_header *h = pd_header(w->rec->reader);
	const struct pd_stats *stats = pd_stats(w->rec->reader);

	a->p->meta = (struct profile_meta){
		.input = text_or_empty(a, w->opts->input),
		.cmdline = text_or_empty(a, h->cmdline),
		.hostname = text_or_empty(a, h->hostname),
		.cpudesc = text_or_empty(a, h->cpudesc),
		.arch = text_or_empty(a, h->arch),
		.pmu = pmu_word(w),
		.method = correct_method_word(w->as_sampled ? METHOD_RAW : w->opts->method),
		.model = model_changed(),
		.seed = w->opts->seed,
		.insn_event = listed(w->rec, w->rec->insn_event),
		.cyc_event = listed(w->rec, w->rec->cyc_event),
		.skid_source = w->skid_source,
		.skid_p10_cyc = skid_dist_quantile(&w->skid, 0.1),
		.skid_median_cyc = skid_dist_quantile(&w->skid, 0.5),
		.skid_p90_cyc = skid_dist_quantile(&w->skid, 0.9),
		.lost_share = w->sums.lost_share,
		.shadowed = w->rec->insn_precise == SEEN_SHADOWED,
		.as_sampled =
		        w->as_sampled && w->skid_source == SKID_PRECISE && w->rec->insn_precise == SEEN_THERE,
		.n_skids = w->skid_source == SKID_MEASURED ? w->sums.n_skid : 0,
		.n_samples = w->rec->filter ? filter_n_kept(w->rec->filter) : stats->n_samples,
		.n_all_samples = w->rec->filter ? filter_n_samples(w->rec->filter) : 0,
		.one_event = w->opts->event,
		.n_lost = (uint64_t)llround(pd_lost_samples(w->rec->reader)),
		.n_throttled = stats->n_throttle,
		.n_unmapped = w->rec->n_unmapped,
		.n_entries = w->rec->n_entries,
		.n_entries_lost = w->rec->n_entries_lost,
		.dropped_bytes = stats->dropped_bytes,
		.dropped_off = stats->dropped_off,
		.dropped_in = text_or_empty(a, stats->dropped_in),
		.n_dropped_in = stats->n_dropped_in,
		.cut_off = stats->cut_off,
		.unfinished = stats->unfinished,
		.trace = stats->trace,
		.spe = stats->spe,
		.branch_records = w->sums.branch_records,
		.branch_cycles = w->sums.branch_cycles,
		.branches = pd_branches_word(w->rec->branches),
		.relative = w->rec->relative && !(w->pace > 0),
		.cyc_known = w->rec->cyc_event >= 0 && !w->rec->cyc_is_other,
		.cyc_is_time = w->rec->cyc_event >= 0 && (!w->rec->cyc_is_other || w->rec->cyc_is_even),
		.pace = w->pace / cyc_per_event(w),
		.pace_timed = w->pace_timed,
		.pace_is_a_branch = w->rec->branch_kind != 0,
		.n_bursts = w->sums.n_bursts,
		.core_hz = core_hz(w),
		.cyc_per_event = cyc_per_event(w),
		.truth_why = "",
	};
	fill_timed(&a->p->meta, w);
	fill_chance(&a->p->meta, w);
}

/* Hexadecimal text of a build id; recorders write zeros where they could not read one. */
static void hex(const uint8_t *bytes, size_t n, char *out)
{
	bool any = false;

	*out = '\0';
	for (size_t i = 0; i < n; i++) {
		sprintf(out + 2 * i, "%02x", bytes[i]);
		any = any || bytes[i];
	}
	if (!any)
		*out = '\0';
}

static void fill_mapped(struct assembly *a)
{
	struct recording *rec = a->w->rec;
	struct profile *p = a->p;

	p->mapped = mem_calloc(maps_n_files(rec->maps) + 1, sizeof(*p->mapped));
	for (size_t i = 0; i < maps_n_files(rec->maps); i++) {
		const struct maps_file *f = maps_file(rec->maps, (uint32_t)i);
		const uint8_t *id = f->build_id;
		size_t n = f->build_id_bytes;
		char text[2 * PD_BUILD_ID_MAX + 1];

		if (!n)
			n = pd_build_id(rec->reader, f->path, &id);
		hex(id, n < PD_BUILD_ID_MAX ? n : PD_BUILD_ID_MAX, text);
		p->mapped[i] = (struct profile_mapped){ profile_string(p, f->path), profile_string(p, text),
			                                i < rec->n_files && rec->files[i].module >= 0
			                                        ? rec->files[i].module
			                                        : -1 };
		p->n_mapped++;
	}
}

/* Those that are open and not listed yet. */
static void add_modules(struct assembly *a)
{
	const struct recording *rec = a->w->rec;
	struct profile *p = a->p;

	p->modules = mem_realloc(p->modules, (rec->n_modules + 1) * sizeof(*p->modules));
	for (size_t i = p->n_modules; i < rec->n_modules; i++)
		p->modules[i] = (struct profile_module){ text_or_empty(a, module_path(rec->modules[i])),
			                                 text_or_empty(a, module_build_id(rec->modules[i])),
			                                 text_or_empty(a, module_why(rec->modules[i])),
			                                 text_or_empty(a, module_lacks(rec->modules[i])) };
	p->n_modules = rec->n_modules;
}

void assemble_modules(struct assembly *a)
{
	add_modules(a);
	fill_mapped(a);
}

void assemble_late_modules(struct assembly *a)
{
	const struct recording *rec = a->w->rec;

	add_modules(a);
	for (size_t i = 0; i < a->p->n_mapped && i < rec->n_files; i++)
		a->p->mapped[i].module = rec->files[i].module >= 0 ? rec->files[i].module : -1;
}

static void fill_filter(struct assembly *a)
{
	char words[400];

	if (!a->w->rec->filter)
		return;
	filter_words(&a->w->opts->filter, words, sizeof(words));
	a->p->meta.filter = profile_string(a->p, words);
}

/* A thread that no record names is one of its process. */
static const char *process_name(struct profile *p, const struct task_sum *s)
{
	char thread[MAPS_COMM_ROOM], process[MAPS_COMM_ROOM];

	snprintf(thread, sizeof(thread), ":%u", s->tid);
	snprintf(process, sizeof(process), ":%u", s->pid);
	return profile_string(p, strcmp(s->comm, thread) == 0 ? process : s->comm);
}

static void fill_tasks(struct assembly *a)
{
	const struct tasks *t = &a->w->sums.tasks;
	struct profile *p = a->p;

	p->tasks = mem_calloc(t->rows.n + 1, sizeof(*p->tasks));
	for (size_t i = 0; i < t->rows.n; i++) {
		const struct task_sum *s = &t->rows.v[i];

		p->tasks[i] = (struct profile_task){ s->pid,
			                             s->tid,
			                             profile_string(p, s->comm),
			                             process_name(p, s),
			                             s->insn,
			                             s->cyc * p->meta.cyc_per_event,
			                             s->n_insn + s->n_cyc };
		p->n_tasks++;
	}
}

void assemble_meta(struct assembly *a)
{
	fill_header(a);
	fill_filter(a);
	fill_tasks(a);
	fill_events(a);
	fill_cores(a);
}
