/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The last step of a correction: what was worked out becomes a profile. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "correct/work.h"
#include "profiler/base/vec.h"

/* An interval wider than this, to either side of the value, is not an answer. */
static const double weak_half_width = 0.10;

enum { MIN_REGION_SAMPLES = 30 };

struct assembly {
	const struct work *w;
	struct profile *p;
	struct func_index *funcs;
	size_t insn_cap;
};

/* ---- the header of a report ---- */

static const char *pmu_word(const struct work *w)
{
	const char *cpuid = pd_header(w->rec->reader)->cpuid;

	if (cpuid && strncmp(cpuid, "skidsim", 7) == 0)
		return "simulated";
	for (size_t i = 0; i < pd_n_events(w->rec->reader); i++)
		if (pd_event(w->rec->reader, i)->attr.type != PERF_TYPE_SOFTWARE)
			return "hardware";
	return "clock";
}

static int fill_events(struct assembly *a)
{
	const struct work *w = a->w;
	struct profile_meta *meta = &a->p->meta;

	meta->events = calloc(w->sums.n_events + 1, sizeof(*meta->events));
	if (!meta->events)
		return sp_fail(SP_ENOMEM, "out of memory");
	for (size_t i = 0; i < w->sums.n_events; i++) {
		const struct pd_event *e = pd_event(w->rec->reader, i);
		const struct event_sum *sum = &w->sums.events[i];

		meta->events[i] = (struct profile_event){
			.name = profile_string(a->p, e->name),
			.period = e->attr.freq ? 0 : e->attr.sample_period,
			.freq = e->attr.freq,
			.n_samples = sum->n_samples,
			.total = sum->value_sum > 0 ? sum->value_sum : sum->period_sum,
			.multiplexed = sum->multiplexed,
		};
		if (!meta->events[i].name)
			return -SP_ENOMEM;
	}
	meta->n_events = w->sums.n_events;
	return 0;
}

static const char *text_or_empty(struct assembly *a, const char *text)
{
	return profile_string(a->p, text ? text : "");
}

static int fill_meta(struct assembly *a)
{
	const struct work *w = a->w;
	const struct pd_header *h = pd_header(w->rec->reader);
	const struct pd_stats *stats = pd_stats(w->rec->reader);

	a->p->meta = (struct profile_meta){
		.input = text_or_empty(a, w->opts->input),
		.cmdline = text_or_empty(a, h->cmdline),
		.hostname = text_or_empty(a, h->hostname),
		.cpudesc = text_or_empty(a, h->cpudesc),
		.pmu = pmu_word(w),
		.method = correct_method_word(w->opts->method),
		.seed = w->opts->seed,
		.insn_event = w->rec->insn_event,
		.cyc_event = w->rec->cyc_event,
		.skid_source = w->skid_source,
		.skid_p10_cyc = skid_dist_quantile(&w->skid, 0.1),
		.skid_median_cyc = skid_dist_quantile(&w->skid, 0.5),
		.skid_p90_cyc = skid_dist_quantile(&w->skid, 0.9),
		.n_skids = w->skid_source == SKID_MEASURED ? w->sums.n_skid : 0,
		.n_samples = stats->n_samples,
		.n_lost = stats->n_lost + stats->n_lost_samples,
		.n_throttled = stats->n_throttle,
		.n_unmapped = w->rec->n_unmapped,
		.dropped_bytes = stats->dropped_bytes,
		.unfinished = stats->unfinished,
		.branch_records = w->sums.branch_records,
	};
	return fill_events(a);
}

static int fill_modules(struct assembly *a)
{
	const struct recording *rec = a->w->rec;

	a->p->modules = calloc(rec->n_modules + 1, sizeof(*a->p->modules));
	if (!a->p->modules)
		return sp_fail(SP_ENOMEM, "out of memory");
	for (size_t i = 0; i < rec->n_modules; i++)
		a->p->modules[i] =
		        (struct profile_module){ text_or_empty(a, module_path(rec->modules[i])),
			                         text_or_empty(a, module_build_id(rec->modules[i])),
			                         text_or_empty(a, module_why(rec->modules[i])) };
	a->p->n_modules = rec->n_modules;
	return 0;
}

/* ---- instructions ---- */

static struct profile_insn *add_insn(struct assembly *a, uint32_t module, uint64_t vaddr)
{
	struct profile *p = a->p;
	struct module *m = a->w->rec->modules[module];
	struct profile_insn *insn;
	const char *file;
	long file_number;

	if (vec_reserve_raw((void **)&p->insns, &a->insn_cap, p->n_insns + 1, sizeof(*p->insns)) < 0)
		return NULL;
	insn = &p->insns[p->n_insns];
	*insn = (struct profile_insn){ .vaddr = vaddr,
		                       .module = module,
		                       .region = -1,
		                       .block = UINT32_MAX,
		                       .status = PROFILE_RAW,
		                       .text = "",
		                       .count = { .lo = NAN, .hi = NAN } };
	if (func_index_find(a->funcs, module, m, vaddr, &insn->func, &insn->phys_func) < 0)
		return NULL;
	module_line(m, vaddr, &file, &insn->line);
	file_number = func_index_file(a->funcs, file);
	if (file_number < 0)
		return NULL;
	insn->file = (uint32_t)file_number;
	p->n_insns++;
	return insn;
}

static int by_value(const void *a, const void *b)
{
	float x = *(const float *)a, y = *(const float *)b;

	return (x > y) - (x < y);
}

/* Mean and 5% and 95% points of one block's draws; column is scratch of n_draws. */
static void block_interval(const struct solution *sol, size_t n_blocks, size_t b, float *column, double *mean,
                           double *lo, double *hi)
{
	double sum = 0;

	for (size_t i = 0; i < sol->n_draws; i++) {
		column[i] = sol->draws[i * n_blocks + b];
		sum += (double)column[i];
	}
	qsort(column, sol->n_draws, sizeof(*column), by_value);
	*mean = sum / (double)sol->n_draws;
	*lo = (double)column[(size_t)(0.05 * (double)(sol->n_draws - 1))];
	*hi = (double)column[(size_t)(0.95 * (double)(sol->n_draws - 1) + 0.5)];
}

static uint8_t status_of_region(const struct work *w, size_t r)
{
	return w->solutions[r].verdict == VERDICT_UNRELIABLE ? PROFILE_UNRELIABLE
	       : w->solutions[r].verdict == VERDICT_WEAK     ? PROFILE_WEAK
	                                                     : PROFILE_FIXED;
}

static int add_region_insns(struct assembly *a, size_t r)
{
	const struct problem *prob = a->w->problems[r];
	const struct solution *sol = &a->w->solutions[r];
	float *column = calloc(sol->n_draws + 1, sizeof(*column));
	int err = column ? 0 : sp_fail(SP_ENOMEM, "out of memory");

	for (size_t b = 0; err == 0 && b < prob->n_blocks; b++) {
		const struct problem_block *block = &prob->blocks[b];
		double mean = NAN, lo = NAN, hi = NAN;

		if (sol->n_draws)
			block_interval(sol, prob->n_blocks, b, column, &mean, &lo, &hi);
		for (uint32_t i = block->insn0; i < block->insn0 + block->n_insn; i++) {
			uint32_t module = a->w->graph->blocks[block->graph_block].module;
			struct profile_insn *insn = add_insn(a, module, prob->insns[i].vaddr);

			if (!insn) {
				err = -SP_ENOMEM;
				break;
			}
			insn->region = (int32_t)r;
			insn->block = sol->n_draws ? (uint32_t)b : UINT32_MAX;
			insn->size_bytes = prob->insns[i].size_bytes;
			insn->status = status_of_region(a->w, r);
			insn->count.raw_insn = prob->seen_insn[i];
			insn->count.raw_cyc = insn->count.cyc = prob->seen_cyc[i];
			insn->count.insn = sol->n_draws ? mean : prob->seen_insn[i];
			insn->count.lo = lo;
			insn->count.hi = hi;
		}
	}
	free(column);
	return err;
}

static bool in_region(const struct work *w, uint32_t module, uint64_t vaddr)
{
	long b = w->graph ? flow_block_at(w->graph, module, vaddr) : -1;

	return b >= 0 && w->regions && w->regions->of_block[b] >= 0;
}

static int add_raw_insns(struct assembly *a)
{
	const struct work *w = a->w;

	for (size_t i = 0; i < w->sums.n; i++) {
		const struct place_sum *s = &w->sums.v[i];
		struct profile_insn *insn;

		if (in_region(w, s->module, s->vaddr) || (s->insn == 0 && s->cyc == 0))
			continue;
		insn = add_insn(a, s->module, s->vaddr);
		if (!insn)
			return -SP_ENOMEM;
		insn->count.raw_insn = insn->count.insn = s->insn;
		insn->count.raw_cyc = insn->count.cyc = s->cyc;
	}
	return 0;
}

static int by_address(const void *a, const void *b)
{
	const struct profile_insn *x = a, *y = b;

	if (x->module != y->module)
		return x->module < y->module ? -1 : 1;
	return x->vaddr < y->vaddr ? -1 : x->vaddr > y->vaddr;
}

/* Disassembly, for reports that show it. */
static int fill_texts(struct assembly *a)
{
	struct insn_decoder *decoder = NULL;
	uint32_t module = UINT32_MAX;
	int err = 0;

	for (size_t i = 0; i < a->p->n_insns && err == 0; i++) {
		struct profile_insn *insn = &a->p->insns[i];
		struct module *m = a->w->rec->modules[insn->module];
		const uint8_t *code;
		char text[160];
		size_t n;

		if (insn->module != module) {
			insn_decoder_free(decoder);
			decoder = NULL;
			module = insn->module;
			if (insn_decoder_new(module_isa(m), &decoder) < 0)
				decoder = NULL;
		}
		code = decoder ? module_code(m, insn->vaddr, &n) : NULL;
		if (!code || insn_text(decoder, code, n, insn->vaddr, text, sizeof(text)) < 0)
			continue;
		insn->text = profile_string(a->p, text);
		err = insn->text ? 0 : -SP_ENOMEM;
	}
	insn_decoder_free(decoder);
	return err;
}

static int fill_insns(struct assembly *a)
{
	int err = 0;

	for (size_t r = 0; a->w->regions && r < a->w->regions->n && err == 0; r++)
		err = add_region_insns(a, r);
	if (err == 0)
		err = add_raw_insns(a);
	if (err == 0 && a->p->n_insns)
		qsort(a->p->insns, a->p->n_insns, sizeof(*a->p->insns), by_address);
	if (err == 0 && a->w->opts->texts)
		err = fill_texts(a);
	return err;
}

/* ---- regions ---- */

static const char *region_name(struct assembly *a, const struct flow_region *reg)
{
	const struct flow_block *head = &a->w->graph->blocks[reg->header];
	struct module *m = a->w->rec->modules[head->module];
	struct module_scope scopes[MODULE_MAX_SCOPES];
	size_t n = module_scopes(m, head->vaddr, scopes);
	const char *file = NULL, *slash;
	char name[512];
	unsigned line = 0;

	module_line(m, head->vaddr, &file, &line);
	slash = file ? strrchr(file, '/') : NULL;
	if (file && line)
		snprintf(name, sizeof(name), "%.300s (%.100s:%u)", n ? scopes[n - 1].name : "[unknown]",
		         slash ? slash + 1 : file, line);
	else
		snprintf(name, sizeof(name), "%.300s (0x%jx)", n ? scopes[n - 1].name : "[unknown]",
		         (uintmax_t)head->vaddr);
	return profile_string(a->p, name);
}

static double samples_in(const struct problem *p)
{
	double sum = 0;

	for (size_t i = 0; i < p->n_insns; i++)
		sum += p->seen_insn[i];
	return p->insn_per_sample > 0 ? sum / p->insn_per_sample : 0;
}

/* Cycles between two executions of the block that runs most: a turn of the innermost hot loop. */
static double turn_cyc(const struct problem *p, const struct solution *sol)
{
	double most = 0;

	for (size_t b = 0; b < p->n_blocks && sol->n_draws; b++)
		most = fmax(most, (double)sol->draws[b]);
	return most > 0 ? p->total_cyc / most : NAN;
}

/* Why a region is not to be trusted beyond what its solution says; "" if nothing. */
static const char *distrust(const struct flow_region *reg, const struct solution *sol, double n_samples)
{
	if (n_samples < MIN_REGION_SAMPLES && sol->n_free > 1)
		return "too few samples in its region: record longer, or with a smaller period";
	if (reg->unknown_target && reg->unknown_weight > 0)
		return "its region jumps or calls to where we could not tell: branch records (-b) would show "
		       "it";
	if (reg->undecoded)
		return "its region holds instructions that could not be decoded";
	return "";
}

static int copy_loops(struct assembly *a, const struct work *w, const struct solution *sol,
                      struct profile_region *out)
{
	enum { SHOWN = 20 };
	size_t n = sol->loops ? sol->loops->n : 0;

	out->n_loops = (uint32_t)n;
	out->loops_capped = sol->loops && sol->loops->capped;
	if (!n)
		return 0;
	out->loops = calloc(n < SHOWN ? n : SHOWN, sizeof(*out->loops));
	if (!out->loops)
		return sp_fail(SP_ENOMEM, "out of memory");
	for (size_t i = 0; i < n && i < SHOWN; i++) {
		const struct flow_loop *l = &sol->loops->v[i];
		char text[600];
		size_t at = 0;

		for (size_t k = 0; k < l->n && at < sizeof(text) - 32; k++)
			at += (size_t)snprintf(
			        text + at, sizeof(text) - at, "%s0x%jx", k ? "->" : "",
			        (uintmax_t)w->graph->blocks[w->graph->edges[l->edges[k]].from].vaddr);
		out->loops[i] = (struct profile_loop){ sol->loop_count ? sol->loop_count[i] : NAN,
			                               sol->loop_lo ? sol->loop_lo[i] : NAN,
			                               sol->loop_hi ? sol->loop_hi[i] : NAN,
			                               profile_string(a->p, text) };
		if (!out->loops[i].text)
			return -SP_ENOMEM;
		out->n_shown_loops++;
	}
	return 0;
}

/* The equations of all scopes of a region, in a row. */
static int copy_equations(struct assembly *a, size_t r, struct profile_region *out)
{
	const struct work *w = a->w;
	size_t n = 0;

	for (size_t s = 0; s < w->scopes.n; s++)
		n += w->scopes.v[s].parent == r ? w->equations[s].n : 0;
	out->equations = calloc(n + 1, sizeof(*out->equations));
	if (!out->equations)
		return sp_fail(SP_ENOMEM, "out of memory");
	for (size_t s = 0; s < w->scopes.n; s++)
		for (size_t i = 0; w->scopes.v[s].parent == r && i < w->equations[s].n; i++) {
			struct profile_equation *eq = &out->equations[out->n_equations];

			*eq = w->equations[s].v[i];
			eq->event = profile_string(a->p, eq->event);
			if (!eq->event)
				return -SP_ENOMEM;
			out->n_equations++;
		}
	return 0;
}

static int fill_region(struct assembly *a, size_t r)
{
	const struct work *w = a->w;
	const struct problem *prob = w->problems[r];
	const struct flow_region *reg = &w->regions->v[r];
	struct solution *sol = &w->solutions[r];
	struct profile_region *out = &a->p->regions[r];
	double n_samples = samples_in(prob), turn = turn_cyc(prob, sol);
	const char *doubt = distrust(reg, sol, n_samples), *why = sol->why[0] ? sol->why : doubt;
	int err;

	*out = (struct profile_region){
		.name = region_name(a, reg),
		.module = w->graph->blocks[reg->header].module,
		.vaddr = w->graph->blocks[reg->header].vaddr,
		.n_blocks = (uint32_t)prob->n_blocks,
		.n_edges = (uint32_t)prob->n_edges,
		.n_free = sol->n_free,
		.n_rank = sol->n_rank,
		.insn = prob->total_insn,
		.cyc = prob->total_cyc,
		.n_samples = n_samples,
		.r_hat = sol->r_hat,
		.n_eff = sol->n_eff,
		.skid_periods = turn > 0 ? skid_dist_quantile(&w->skid, 0.5) / turn : NAN,
		.status = *doubt ? PROFILE_UNRELIABLE : status_of_region(w, r),
		.evidence = sol->evidence,
		.why = profile_string(a->p, why),
	};
	for (size_t i = 0; i < prob->n_insns; i++)
		out->raw_insn += prob->seen_insn[i];
	if (!out->name || !out->why)
		return -SP_ENOMEM;
	err = copy_loops(a, w, sol, out);
	if (err == 0)
		err = copy_equations(a, r, out);
	/* The draws change owner. */
	out->draws = sol->draws;
	out->n_draws = sol->n_draws;
	sol->draws = NULL;
	return err;
}

static int fill_regions(struct assembly *a)
{
	size_t n = a->w->regions ? a->w->regions->n : 0;
	int err = 0;

	a->p->regions = calloc(n + 1, sizeof(*a->p->regions));
	if (!a->p->regions)
		return sp_fail(SP_ENOMEM, "out of memory");
	a->p->n_regions = n;
	for (size_t r = 0; r < n && err == 0; r++)
		err = fill_region(a, r);
	for (size_t i = 0; i < a->p->n_insns && err == 0; i++) {
		struct profile_insn *insn = &a->p->insns[i];

		if (insn->region >= 0 && a->p->regions[insn->region].status == PROFILE_UNRELIABLE)
			insn->status = PROFILE_UNRELIABLE;
	}
	return err;
}

/* ---- functions ---- */

/* The instructions of each function (or physical function), as lists: of[first[f] .. first[f + 1]). */
struct grouping {
	uint32_t *of, *first;
};

static int group_insns(const struct profile *p, bool physical, struct grouping *g)
{
	g->first = calloc(p->n_funcs + 2, sizeof(*g->first));
	g->of = calloc(p->n_insns + 1, sizeof(*g->of));
	if (!g->first || !g->of)
		return sp_fail(SP_ENOMEM, "out of memory");
	for (size_t i = 0; i < p->n_insns; i++)
		g->first[(physical ? p->insns[i].phys_func : p->insns[i].func) + 2]++;
	for (size_t f = 2; f < p->n_funcs + 2; f++)
		g->first[f] += g->first[f - 1];
	for (size_t i = 0; i < p->n_insns; i++)
		g->of[g->first[(physical ? p->insns[i].phys_func : p->insns[i].func) + 1]++] = (uint32_t)i;
	return 0;
}

static int sum_insns(const struct profile *p, const uint32_t *insns, size_t n, struct profile_count *out)
{
	bool corrected = false;

	*out = (struct profile_count){ .lo = NAN, .hi = NAN };
	for (size_t k = 0; k < n; k++) {
		const struct profile_insn *insn = &p->insns[insns[k]];

		out->raw_insn += insn->count.raw_insn;
		out->raw_cyc += insn->count.raw_cyc;
		out->cyc += insn->count.cyc;
		out->insn += insn->count.insn;
		corrected = corrected || insn->block != UINT32_MAX;
	}
	return corrected ? profile_interval(p, insns, n, &out->insn, &out->lo, &out->hi) : 0;
}

/* The status of a function: that of the regions that hold most of it, and its own interval. */
static void judge(struct profile *p, struct profile_func *f, const uint32_t *insns, size_t n)
{
	double in_region = 0, unreliable = 0, all = 0;
	const char *why = "";

	f->status = PROFILE_RAW;
	for (size_t k = 0; k < n; k++) {
		const struct profile_insn *insn = &p->insns[insns[k]];
		const struct profile_region *r = insn->region >= 0 ? &p->regions[insn->region] : NULL;

		all += insn->count.insn;
		if (!r)
			continue;
		in_region += insn->count.insn;
		f->evidence |= r->evidence;
		if (r->status == PROFILE_UNRELIABLE) {
			unreliable += insn->count.insn;
			why = r->why;
		}
	}
	if (in_region < 0.5 * all || in_region == 0) {
		f->why = all > 0 ? "most of it ran outside any hot loop" : "";
		return;
	}
	if (unreliable > 0.05 * all) {
		f->status = PROFILE_UNRELIABLE;
		f->why = why;
	} else if (!(f->count.hi - f->count.lo <= 2 * weak_half_width * f->count.insn)) {
		f->status = PROFILE_WEAK;
		f->why = "nothing measured settles it: the interval is wide";
	} else {
		f->status = PROFILE_FIXED;
		f->why = "";
	}
}

static int fill_funcs(struct assembly *a)
{
	struct profile *p = a->p;
	struct grouping own = { 0 }, rolled = { 0 };
	double period = 1, total = 0;
	int err = group_insns(p, false, &own);

	if (err == 0)
		err = group_insns(p, true, &rolled);
	if (a->w->rec->insn_event >= 0 && a->w->sums.events[a->w->rec->insn_event].n_samples)
		period = a->w->sums.events[a->w->rec->insn_event].period_sum /
		         (double)a->w->sums.events[a->w->rec->insn_event].n_samples;
	for (size_t f = 0; f < p->n_funcs && err == 0; f++) {
		struct profile_func *func = &p->funcs[f];
		size_t n = own.first[f + 1] - own.first[f];

		err = sum_insns(p, own.of + own.first[f], n, &func->count);
		if (err == 0)
			err = sum_insns(p, rolled.of + rolled.first[f], rolled.first[f + 1] - rolled.first[f],
			                &func->rolled);
		func->n_samples = func->count.raw_insn / period;
		total += func->count.insn;
		judge(p, func, own.of + own.first[f], n);
	}
	for (size_t f = 0; f < p->n_funcs && err == 0; f++)
		if (p->funcs[f].count.insn >= 0.01 * total && p->funcs[f].status > p->worst)
			p->worst = p->funcs[f].status;
	free(own.of);
	free(own.first);
	free(rolled.of);
	free(rolled.first);
	return err;
}

int assemble(const struct work *w, struct profile **out)
{
	struct assembly a = { .w = w, .p = calloc(1, sizeof(struct profile)) };
	int err = a.p ? func_index_new(a.p, &a.funcs) : sp_fail(SP_ENOMEM, "out of memory");

	if (err == 0)
		err = fill_meta(&a);
	if (err == 0)
		err = fill_modules(&a);
	if (err == 0)
		err = fill_insns(&a);
	if (err == 0)
		err = fill_regions(&a);
	if (err == 0)
		err = fill_funcs(&a);
	func_index_free(a.funcs);
	if (err < 0) {
		profile_free(a.p);
		return err;
	}
	*out = a.p;
	return 0;
}
