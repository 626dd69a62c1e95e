/* SPDX-License-Identifier: GPL-3.0-or-later */
/* --why as JSON. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "profiler/base/err.h"
#include "report/why.h"

static json_t *equations_json(const struct profile_region *r)
{
	json_t *equations = json_array();

	for (size_t i = 0; i < r->n_equations; i++) {
		const struct profile_equation *e = &r->equations[i];

		json_array_append_new(equations,
		                      json_pack("{s:o, s:o, s:o, s:o, s:i}", "event",
		                                json_text(e->event ? e->event : ""), "measured",
		                                json_number(e->measured), "fitted", json_number(e->fitted),
		                                "sd", json_number(e->sd), "part", (int)e->part));
	}
	return equations;
}

static json_t *advice_json(const struct profile *p, const struct profile_func *func,
                           const struct profile_region *r)
{
	char advice[WHY_MAX_ADVICE][WHY_ADVICE_BYTES];
	size_t n = why_advice(p, func, r, advice);
	json_t *out = json_array();

	for (size_t i = 0; i < n; i++)
		json_array_append_new(out, json_text(advice[i]));
	return out;
}

static json_t *part_json(const struct profile *p, const struct profile_func *func,
                         const struct why_part *part)
{
	const struct profile_region *r = part->region;
	bool exact = r->evidence & PROFILE_BY_TRUTH, raw = why_has_raw(p);
	double insn = exact || raw || !p->meta.truth ? r->insn : NAN;
	char known[KNOWN_MAX], vaddr[32];

	report_known(r->evidence, known);
	snprintf(vaddr, sizeof(vaddr), "0x%" PRIx64, r->vaddr);
	return json_pack("{s:o, s:s, s:s, s:s, s:o, s:I, s:o, s:o, s:o, s:o, s:I, s:I, s:I, s:I, s:I, "
	                 "s:o, s:o, s:o, s:o, s:o, s:o}",
	                 "name", json_text(r->name ? r->name : ""), "vaddr", vaddr, "status",
	                 profile_status_word(r->status), "known_by", known, "why",
	                 json_text(r->why ? r->why : ""), "function_instructions", (json_int_t)part->n_insns,
	                 "function_raw", json_number(raw ? part->raw_insn : NAN), "function_fixed",
	                 json_number(part->insn), "raw", json_number(raw ? r->raw_insn : NAN), "fixed",
	                 json_number(insn), "blocks", (json_int_t)r->n_blocks, "edges",
	                 (json_int_t)r->n_edges, "free_flows", (json_int_t)r->n_free, "rank",
	                 (json_int_t)r->n_rank, "unseen_flows", (json_int_t)r->n_unseen, "called",
	                 json_number(r->called_insn), "untaken", json_number(r->untaken_insn), "total_sd",
	                 json_number(r->total_sd), "skid_periods", json_number(r->skid_periods), "equations",
	                 exact ? json_array() : equations_json(r), "advice", advice_json(p, func, r));
}

/* What a call comes to: without what is inlined, and without callees. */
static void add_rate(json_t *to, const struct profile *p, const struct profile_func *func)
{
	const struct profile_rate *r = &func->calls.own;
	bool told = func->calls.n_terms, cyc = told && isfinite(calls_cyc(p, func, r));
	const struct {
		const char *name;
		double value;
	} numbers[] = { { "insn_per_call", told ? r->insn : NAN },
		        { "insn_per_call_lo", told ? r->lo : NAN },
		        { "insn_per_call_hi", told ? r->hi : NAN },
		        { "cycles_per_call", cyc ? r->cyc : NAN },
		        { "cycles_per_call_lo", cyc ? r->cyc_lo : NAN },
		        { "cycles_per_call_hi", cyc ? r->cyc_hi : NAN },
		        { "ipc_of_call", cyc ? calls_ipc(p, func, r) : NAN } };

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		json_object_set_new(to, numbers[i].name, json_number(numbers[i].value));
}

static json_t *one_json(const struct profile *p, const struct why *w)
{
	json_t *out;
	const struct profile_count *c = &w->func->count;
	json_t *regions = json_array();
	char known[KNOWN_MAX];
	bool insn = report_has_insn(p), told = w->func->calls.n_terms;

	report_known(w->func->evidence, known);
	for (size_t i = 0; i < w->n_parts; i++)
		json_array_append_new(regions, part_json(p, w->func, &w->parts[i]));
	out = json_pack("{s:o, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}",
	                "name", json_text(w->func->name), "status", profile_status_word(w->func->status),
	                "known_by", known, "why", json_text(w->func->why ? w->func->why : ""), "raw",
	                json_number(insn && why_has_raw(p) ? c->raw_insn : NAN), "fixed",
	                insn ? json_number(c->insn) : json_null(), "lo", json_number(c->lo), "hi",
	                json_number(c->hi), "cycles", report_has_cyc(p) ? json_number(c->cyc) : json_null(),
	                "ipc_raw", json_number(why_has_raw(p) ? report_ipc(p, c->raw_insn, c->raw_cyc) : NAN),
	                "ipc_fixed", json_number(report_ipc(p, c->insn, c->cyc)), "outside_regions_raw",
	                json_number(why_has_raw(p) ? w->outside.raw_insn : NAN), "regions", regions, "calls",
	                json_number(told ? w->func->calls.n : NAN), "calls_lo",
	                json_number(told ? w->func->calls.lo : NAN), "calls_hi",
	                json_number(told ? w->func->calls.hi : NAN));
	if (out)
		add_rate(out, p, w->func);
	return out;
}

int why_json(const struct profile *p, const char *function, json_t **out)
{
	json_t *all = json_array();
	size_t n = 0;
	int err = 0;

	for (size_t i = 0; err == 0 && i < p->n_funcs; i++) {
		struct why w = { 0 };

		if (!report_matches(&p->funcs[i], function))
			continue;
		n++;
		err = why_find(p, (uint32_t)i, &w);
		if (err == 0 && json_array_append_new(all, one_json(p, &w)) < 0)
			err = sp_fail(SP_ENOMEM, "out of memory for JSON");
		free(w.parts);
	}
	if (err == 0 && n == 0)
		err = report_no_match(p, function);
	if (err < 0)
		json_decref(all);
	else
		*out = all;
	return err;
}
