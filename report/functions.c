/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A row a function: inlined ones as functions of their own, or rolled up. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "correct/judge/reasons.h"
#include "profiler/base/err.h"
#include "report/number.h"
#include "report/report.h"

struct row {
	const struct profile_func *f;
	const struct profile_count *count;
	uint8_t status;
	bool inlined; /* some of what it counts is in other functions */
	const char *why;
	double share, share_raw, share_fixed, time;
	double size; /* the share; where it is of time, and instructions are known to be more of its region, theirs of the region's time;
			where it is of instructions of another run, that has none of it, the time */
	double key;  /* to sort by, largest first */
	char known[KNOWN_MAX], evidence[KNOWN_MAX];
	const struct profile_part *part;
	char part_range[2 * NUMBER_MAX + 2];
	bool has_part_range; /* what is raw has no interval: most of it is outside of regions */
};

enum id {
	ID_SHARE,
	ID_SHARE_RAW,
	ID_SHARE_FIXED,
	ID_RAW,
	ID_FIXED,
	ID_LO,
	ID_HI,
	ID_RANGE,
	ID_RAW_CYC,
	ID_CYC,
	ID_IPC_RAW,
	ID_IPC,
	ID_STATUS,
	ID_KNOWN,
	ID_EVIDENCE,
	ID_SAMPLES,
	ID_OTHER,
	ID_INLINED,
	ID_MODULE,
	ID_NAME,
	ID_FULL,
	ID_LINKAGE,
	ID_FILE,
	ID_LINE,
	ID_WHY,
	ID_PART,
	ID_PART_LO,
	ID_PART_HI,
	ID_PART_RANGE,
	ID_CPI,
	ID_CPI_LO,
	ID_CPI_HI,
	ID_REGION,
	ID_CALLS_SURE,
	ID_CALL_INSN_SURE,
	ID_CALL_CYC_SURE,
	ID_CALLS,
	ID_CALLS_LO,
	ID_CALLS_HI,
	ID_CALL_INSN,
	ID_CALL_INSN_LO,
	ID_CALL_INSN_HI,
	ID_CALL_CYC,
	ID_CALL_CYC_LO,
	ID_CALL_CYC_HI,
	ID_CALL_IPC,
};

enum { NAME_BY_PARTS = 34 };

static const struct column columns[] = {
	{ "name", "", ID_NAME, COLUMN_TEXT, COLUMN_NO_TEXT },
	{ "share", "SHARE", ID_SHARE, COLUMN_SHARE },
	{ "samples", "SAMPLES", ID_SAMPLES, COLUMN_WHOLE, COLUMN_LESS, HAVE_SAMPLES },
	{ "raw", "RAW", ID_RAW, COLUMN_COUNT, COLUMN_LESS, HAVE_INSN | HAVE_RAW },
	{ "fixed", "FIXED", ID_FIXED, COLUMN_COUNT, 0, HAVE_INSN | HAVE_FIXED },
	{ "lo", "", ID_LO, COLUMN_COUNT, COLUMN_NO_TEXT },
	{ "hi", "", ID_HI, COLUMN_COUNT, COLUMN_NO_TEXT },
	{ "", "90% INTERVAL", ID_RANGE, COLUMN_RANGE, COLUMN_NO_DATA, HAVE_INSN | HAVE_FIXED },
	{ "cycles_raw", "", ID_RAW_CYC, COLUMN_COUNT, COLUMN_NO_TEXT },
	{ "cycles", "CYCLES", ID_CYC, COLUMN_COUNT, COLUMN_WIDE, HAVE_CYC },
	{ "", "CALLS", ID_CALLS_SURE, COLUMN_COUNT, COLUMN_NO_DATA | COLUMN_WIDE, HAVE_CALLS },
	{ "", "INSN/CALL", ID_CALL_INSN_SURE, COLUMN_MEAN, COLUMN_NO_DATA | COLUMN_WIDE, HAVE_CALLS },
	{ "", "CYC/CALL", ID_CALL_CYC_SURE, COLUMN_MEAN, COLUMN_NO_DATA | COLUMN_WIDE,
	  HAVE_CALLS | HAVE_CYC },
	{ "events", "EVENTS", ID_OTHER, COLUMN_COUNT, 0, HAVE_OTHER },
	{ "ipc_raw", "IPC-RAW", ID_IPC_RAW, COLUMN_RATIO, COLUMN_LESS, HAVE_INSN | HAVE_CYC | HAVE_RAW },
	{ "ipc_fixed", "IPC", ID_IPC, COLUMN_RATIO, 0, HAVE_INSN | HAVE_CYC | HAVE_FIXED },
	{ "", "IN-REGION", ID_PART, COLUMN_SHARE, COLUMN_NO_DATA, HAVE_PARTS },
	{ "", "90% INTERVAL", ID_PART_RANGE, COLUMN_TEXT, COLUMN_NO_DATA, HAVE_PARTS },
	{ "", "CPI/REGION", ID_CPI, COLUMN_ROUGH, COLUMN_NO_DATA | COLUMN_LESS, HAVE_PARTS },
	{ "", "REGION", ID_REGION, COLUMN_TEXT, COLUMN_NO_DATA | COLUMN_SQUEEZE, HAVE_PARTS },
	{ "status", "STATUS", ID_STATUS, COLUMN_TEXT, COLUMN_STATUS },
	{ "known_by", "", ID_KNOWN, COLUMN_TEXT, COLUMN_NO_TEXT },
	{ "", "EVIDENCE", ID_EVIDENCE, COLUMN_TEXT, COLUMN_NO_DATA | COLUMN_WIDE, HAVE_FIXED },
	{ "share_raw", "", ID_SHARE_RAW, COLUMN_SHARE, COLUMN_NO_TEXT },
	{ "share_fixed", "", ID_SHARE_FIXED, COLUMN_SHARE, COLUMN_NO_TEXT },
	{ "inlined", "", ID_INLINED, COLUMN_BOOL, COLUMN_NO_TEXT },
	{ "module", "MODULE", ID_MODULE, COLUMN_TEXT, COLUMN_NO_DATA | COLUMN_WIDE | COLUMN_SQUEEZE,
	  HAVE_MODULES },
	{ "module", "", ID_MODULE, COLUMN_TEXT, COLUMN_NO_TEXT },
	{ "", "FUNCTION", ID_FULL, COLUMN_TEXT, COLUMN_NO_DATA | COLUMN_SQUEEZE },
	{ "linkage", "", ID_LINKAGE, COLUMN_TEXT, COLUMN_NO_TEXT },
	{ "file", "", ID_FILE, COLUMN_TEXT, COLUMN_NO_TEXT },
	{ "line", "", ID_LINE, COLUMN_WHOLE, COLUMN_NO_TEXT },
	{ "why", "", ID_WHY, COLUMN_TEXT, COLUMN_NO_TEXT },
	{ "region_share", "", ID_PART, COLUMN_SHARE, COLUMN_NO_TEXT },
	{ "region_share_lo", "", ID_PART_LO, COLUMN_SHARE, COLUMN_NO_TEXT },
	{ "region_share_hi", "", ID_PART_HI, COLUMN_SHARE, COLUMN_NO_TEXT },
	{ "cpi_relative", "", ID_CPI, COLUMN_RATIO, COLUMN_NO_TEXT },
	{ "cpi_relative_lo", "", ID_CPI_LO, COLUMN_RATIO, COLUMN_NO_TEXT },
	{ "cpi_relative_hi", "", ID_CPI_HI, COLUMN_RATIO, COLUMN_NO_TEXT },
	{ "region", "", ID_REGION, COLUMN_TEXT, COLUMN_NO_TEXT },
	{ "calls", "", ID_CALLS, COLUMN_COUNT, COLUMN_NO_TEXT },
	{ "calls_lo", "", ID_CALLS_LO, COLUMN_COUNT, COLUMN_NO_TEXT },
	{ "calls_hi", "", ID_CALLS_HI, COLUMN_COUNT, COLUMN_NO_TEXT },
	{ "insn_per_call", "", ID_CALL_INSN, COLUMN_COUNT, COLUMN_NO_TEXT },
	{ "insn_per_call_lo", "", ID_CALL_INSN_LO, COLUMN_COUNT, COLUMN_NO_TEXT },
	{ "insn_per_call_hi", "", ID_CALL_INSN_HI, COLUMN_COUNT, COLUMN_NO_TEXT },
	{ "cycles_per_call", "", ID_CALL_CYC, COLUMN_COUNT, COLUMN_NO_TEXT },
	{ "cycles_per_call_lo", "", ID_CALL_CYC_LO, COLUMN_COUNT, COLUMN_NO_TEXT },
	{ "cycles_per_call_hi", "", ID_CALL_CYC_HI, COLUMN_COUNT, COLUMN_NO_TEXT },
	{ "ipc_of_call", "", ID_CALL_IPC, COLUMN_RATIO, COLUMN_NO_TEXT },
	{ "full_name", "", ID_FULL, COLUMN_TEXT, COLUMN_NO_TEXT },
};

/* What is behind a name in text: the kernel's functions are marked as perf marks them. */
static const char *suffix_of(const struct profile *p, const struct row *r)
{
	return r->inlined                                                   ? " (inlined)"
	       : strncmp(report_module(p, r->f->module), "[kernel", 7) == 0 ? " [k]"
	                                                                    : NULL;
}

static struct cell num(double x)
{
	return (struct cell){ .num = x };
}

static struct cell text(const char *s)
{
	return (struct cell){ .text = s ? s : "" };
}

/* Nothing but other counts tells instructions. */
static bool only_truth(const struct profile *p)
{
	return p->meta.insn_event < 0 && !(p->meta.pace > 0);
}

/* What is counted by an event that was not recorded is not 0 but not known. */
static struct cell count_cell(const struct profile *p, const struct row *r, int id)
{
	const struct profile_count *c = r->count;
	bool insn = report_has_insn(p), cyc = report_has_cyc(p);

	switch (id) {
	case ID_RAW:
		return num(insn && !only_truth(p) ? c->raw_insn : NAN);
	case ID_FIXED:
		return num(insn ? c->insn : NAN);
	case ID_LO:
		return num(insn ? c->lo : NAN);
	case ID_HI:
		return num(insn ? c->hi : NAN);
	case ID_RANGE:
		return (struct cell){ .num = insn ? c->lo : NAN, .num2 = c->hi };
	case ID_RAW_CYC:
		return num(cyc ? c->raw_cyc : NAN);
	case ID_CYC:
		return num(cyc ? c->cyc : NAN);
	case ID_IPC_RAW:
		return num(p->meta.insn_event >= 0 ? report_ipc(p, c->raw_insn, c->raw_cyc) : NAN);
	default:
		return num(report_ipc(p, c->insn, c->cyc));
	}
}

/* Shares and costs within the region. */
static struct cell part_cell(const struct profile *p, const struct row *r, int id)
{
	if (!p->meta.relative && (!(p->meta.pace > 0) || p->meta.truth))
		return id == ID_REGION ? text("") : num(NAN);
	switch (id) {
	case ID_PART:
		return num(r->part->share);
	case ID_PART_LO:
		return num(r->has_part_range ? r->part->lo : NAN);
	case ID_PART_HI:
		return num(r->has_part_range ? r->part->hi : NAN);
	case ID_PART_RANGE:
		return text(r->part_range);
	case ID_CPI:
		return (struct cell){ .num = r->part->cpi, .num2 = (r->part->cpi_hi - r->part->cpi_lo) / 2 };
	case ID_CPI_LO:
		return num(r->part->cpi_lo);
	case ID_CPI_HI:
		return num(r->part->cpi_hi);
	default:
		return text(r->part->region < 0 ? "" : p->regions[r->part->region].name);
	}
}

/*
 * In text no interval stands beside these: what may as well be twice as much, or half, is left out, and what is not known as
 * well as counts that are fixed is marked.
 */
static struct cell sure(double n, double lo, double hi)
{
	if (hi > 2 * n || lo < n / 2)
		return num(NAN);
	return (struct cell){ .num = n, .rough = hi - lo > 2 * reason_limit_wide * n };
}

/* How often it was called, and what a call comes to: not known of what is only inlined. */
static struct cell calls_cell(const struct profile *p, const struct row *r, int id)
{
	const struct profile_calls *c = &r->f->calls;
	const struct profile_rate *rate = r->count == &r->f->rolled ? &c->rolled : &c->own;
	const double cyc = calls_cyc(p, r->f, rate);

	if (!c->n_terms)
		return num(NAN);
	switch (id) {
	case ID_CALLS_SURE:
		return sure(c->n, c->lo, c->hi);
	case ID_CALL_INSN_SURE:
		return sure(rate->insn, rate->lo, rate->hi);
	case ID_CALL_CYC_SURE:
		return sure(cyc, rate->cyc_lo, rate->cyc_hi);
	case ID_CALLS:
		return num(c->n);
	case ID_CALLS_LO:
		return num(c->lo);
	case ID_CALLS_HI:
		return num(c->hi);
	case ID_CALL_INSN:
		return num(rate->insn);
	case ID_CALL_INSN_LO:
		return num(rate->lo);
	case ID_CALL_INSN_HI:
		return num(rate->hi);
	case ID_CALL_CYC_LO:
		return num(isfinite(cyc) ? rate->cyc_lo : NAN);
	case ID_CALL_CYC_HI:
		return num(isfinite(cyc) ? rate->cyc_hi : NAN);
	case ID_CALL_IPC:
		return num(calls_ipc(p, r->f, rate));
	default:
		return num(cyc);
	}
}

static struct cell cell(const void *view, size_t i, int id)
{
	const struct view *v = view;
	const struct row *r = (const struct row *)v->rows + i;
	const char *file = report_file(v->p, r->f->file);

	switch (id) {
	case ID_SHARE:
		return num(r->share);
	case ID_SHARE_RAW:
		return num(r->share_raw);
	case ID_SHARE_FIXED:
		return num(r->share_fixed);
	case ID_STATUS:
		return text(profile_status_word(r->status));
	case ID_KNOWN:
		return text(r->known);
	case ID_EVIDENCE:
		return text(r->evidence);
	case ID_SAMPLES:
		return num(report_samples(v->p, r->count));
	case ID_OTHER:
		return report_events(v->p, r->count->raw_cyc, report_samples(v->p, r->count));
	case ID_INLINED:
		return num(r->inlined);
	case ID_MODULE:
		return text(report_base(report_module(v->p, r->f->module)));
	case ID_NAME:
	case ID_FULL:
		return (struct cell){ .text = id == ID_FULL ? report_name(r->f) : r->f->name,
			              .suffix = suffix_of(v->p, r) };
	case ID_LINKAGE:
		return text(r->f->linkage);
	case ID_FILE:
		return *file ? text(file) : (struct cell){ 0 };
	case ID_LINE:
		return num(r->f->line ? (double)r->f->line : NAN);
	case ID_WHY:
		return text(r->why);
	case ID_PART:
	case ID_PART_LO:
	case ID_PART_HI:
	case ID_PART_RANGE:
	case ID_CPI:
	case ID_CPI_LO:
	case ID_CPI_HI:
	case ID_REGION:
		return part_cell(v->p, r, id);
	case ID_CALLS_SURE:
	case ID_CALL_INSN_SURE:
	case ID_CALL_CYC_SURE:
	case ID_CALLS:
	case ID_CALLS_LO:
	case ID_CALLS_HI:
	case ID_CALL_INSN:
	case ID_CALL_INSN_LO:
	case ID_CALL_INSN_HI:
	case ID_CALL_CYC:
	case ID_CALL_CYC_LO:
	case ID_CALL_CYC_HI:
	case ID_CALL_IPC:
		return calls_cell(v->p, r, id);
	default:
		return count_cell(v->p, r, id);
	}
}

static double share_of(const struct view *v, size_t i)
{
	return ((const struct row *)v->rows)[i].share;
}

static double time_of(const struct view *v, size_t i)
{
	return ((const struct row *)v->rows)[i].time;
}

static double size_of(const struct view *v, size_t i)
{
	return ((const struct row *)v->rows)[i].size;
}

static double sort_key(const struct profile *p, const struct report_opts *o, const struct row *r)
{
	const struct profile_count *c = r->count;

	switch (o->sort) {
	case SORT_RAW:
		return c->raw_insn;
	case SORT_FIXED:
		return c->insn;
	case SORT_CYCLES:
		return c->cyc;
	case SORT_IPC:
		return o->show == REPORT_RAW ? report_ipc(p, c->raw_insn, c->raw_cyc)
		                             : report_ipc(p, c->insn, c->cyc);
	case SORT_CHANGE:
		return fabs(c->insn - c->raw_insn);
	case SORT_STATUS:
		return r->status;
	case SORT_CALLS:
		return r->f->calls.n_terms ? r->f->calls.n : NAN;
	case SORT_SHARE:
	case SORT_NAME:
	case SORT_PID:
		break;
	}
	return p->meta.truth && !(c->insn > 0) ? r->time : r->share;
}

/* Largest first, unknown last, equal ones by name: the same profile always gives the same order. */
static int by_key(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	double kx = isnan(x->key) ? -INFINITY : x->key, ky = isnan(y->key) ? -INFINITY : y->key;
	int order;

	if (kx != ky)
		return kx > ky ? -1 : 1;
	if (x->share != y->share)
		return x->share > y->share ? -1 : 1;
	if (x->size != y->size)
		return x->size > y->size ? -1 : 1;
	order = strcmp(x->f->name, y->f->name);
	return order ? order : (x->f > y->f) - (x->f < y->f);
}

static int by_name(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	int order = strcmp(x->f->name, y->f->name);

	return order ? order : (x->f > y->f) - (x->f < y->f);
}

/* What shares are of, in the order of what is best known. */
struct totals {
	double raw, insn, cyc, samples;
};

static double ratio(double x, double total)
{
	return total > 0 ? x / total : NAN;
}

static void set_shares(const struct profile *p, const struct report_opts *o, const struct totals *all,
                       struct row *r)
{
	bool insn = report_has_insn(p);

	r->time = all->cyc > 0 ? r->count->cyc / all->cyc : 0;
	r->share_raw = !only_truth(p) ? ratio(r->count->raw_insn, all->raw) : NAN;
	r->share_fixed = insn ? ratio(r->count->insn, all->insn) : NAN;
	if (insn)
		r->share = o->show == REPORT_RAW && !p->meta.truth ? r->share_raw : r->share_fixed;
	else if (p->meta.cyc_event >= 0)
		r->share = ratio(r->count->cyc, all->cyc);
	else
		r->share = ratio(r->f->n_samples, all->samples);
}

static void range_words(const struct row *r, char *out, size_t size)
{
	const struct profile_part *part = r->part;
	char lo[NUMBER_MAX], hi[NUMBER_MAX];

	number_percent(part->lo, 0, lo);
	number_percent(part->hi, 0, hi);
	snprintf(out, size, isfinite(part->lo) && r->has_part_range ? "%s..%s" : "-", lo, hi);
}

static bool is_shown(const struct profile *p, const struct report_opts *o, const struct row *r)
{
	const struct profile_count *c = r->count;

	if (o->function && !report_matches(r->f, o->function))
		return false;
	if (c->raw_insn > 0 || c->raw_cyc > 0 || c->insn > 0 || c->cyc > 0)
		return true;
	return p->meta.insn_event < 0 && p->meta.cyc_event < 0 && r->f->n_samples > 0;
}

static long func_of(const struct view *v, size_t i)
{
	return ((const struct row *)v->rows)[i].f - v->p->funcs;
}

int view_functions(const struct profile *p, const struct report_opts *o, struct view *out)
{
	struct row *rows = calloc(p->n_funcs + 1, sizeof(*rows));
	struct totals all = { 0 };
	size_t n = 0, n_match = 0;

	if (!rows)
		return sp_fail(SP_ENOMEM, "out of memory for %zu functions", p->n_funcs);
	for (size_t i = 0; i < p->n_funcs; i++) {
		all.raw += p->funcs[i].count.raw_insn;
		all.insn += p->funcs[i].count.insn;
		all.cyc += p->funcs[i].count.cyc;
		all.samples += p->funcs[i].n_samples;
	}
	for (size_t i = 0; i < p->n_funcs; i++) {
		struct row *r = &rows[n];

		r->f = &p->funcs[i];
		r->inlined = r->f->inlined && !o->rollup;
		r->count = o->rollup ? &r->f->rolled : &r->f->count;
		r->status = o->rollup ? r->f->rolled_status : r->f->status;
		r->why = o->rollup ? r->f->rolled_why : r->f->why;
		n_match += !o->function || report_matches(r->f, o->function);
		if (!is_shown(p, o, r))
			continue;
		set_shares(p, o, &all, r);
		report_known(o->rollup ? r->f->rolled_evidence : r->f->evidence, r->known);
		report_evidence(o->rollup ? r->f->rolled_evidence : r->f->evidence, r->evidence);
		r->part = o->rollup ? &r->f->rolled_part : &r->f->part;
		r->has_part_range = r->status != PROFILE_RAW;
		r->size = r->share;
		if (p->meta.relative && r->part->region >= 0) {
			range_words(r, r->part_range, sizeof(r->part_range));
			r->size = fmax(r->share,
			               r->part->share * ratio(p->regions[r->part->region].cyc, all.cyc));
		}
		if (p->meta.truth && !(r->count->insn > 0))
			r->size = r->time;
		r->key = sort_key(p, o, r);
		n++;
	}
	if (!n_match && o->function) {
		free(rows);
		return report_no_match(p, o->function);
	}
	qsort(rows, n, sizeof(*rows), o->sort == SORT_NAME ? by_name : by_key);
	*out = (struct view){ .p = p, .rows = rows, .share = share_of, .size = size_of, .func = func_of };
	if (report_has_insn(p) && report_has_cyc(p))
		out->time = time_of;
	out->table = (struct table){ columns, sizeof(columns) / sizeof(columns[0]),
		                     n,       report_have(p, o),
		                     cell,    out };
	/* Beside shares of regions there are more numbers that can be done without than beside counts. */
	if (out->table.have & HAVE_PARTS)
		out->table.least_name = NAME_BY_PARTS;
	return 0;
}
