/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A row a function that is called, or a loop: how often, and what each time came to. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/base/err.h"
#include "report/assemble/calls.h"
#include "report/report.h"

enum id {
	ID_SHARE,
	ID_N,
	ID_LO,
	ID_HI,
	ID_RANGE,
	ID_INSN,
	ID_INSN_LO,
	ID_INSN_HI,
	ID_INSN_RANGE,
	ID_CYC,
	ID_CYC_LO,
	ID_CYC_HI,
	ID_CYC_RANGE,
	ID_IPC,
	ID_ITERATIONS,
	ID_ENTRIES,
	ID_DEPTH,
	ID_STATUS,
	ID_NAME,
	ID_FULL,
	ID_MODULE,
	ID_FILE,
	ID_LINE,
	ID_ADDR,
};

static const struct column call_columns[] = {
	{ "share", "SHARE", ID_SHARE, COLUMN_SHARE },
	{ "calls", "CALLS", ID_N, COLUMN_COUNT },
	{ "calls_lo", "", ID_LO, COLUMN_COUNT, COLUMN_NO_TEXT },
	{ "calls_hi", "", ID_HI, COLUMN_COUNT, COLUMN_NO_TEXT },
	{ "", "90% INTERVAL", ID_RANGE, COLUMN_RANGE, COLUMN_NO_DATA | COLUMN_LESS },
	{ "insn_per_call", "INSN/CALL", ID_INSN, COLUMN_MEAN },
	{ "insn_per_call_lo", "", ID_INSN_LO, COLUMN_MEAN, COLUMN_NO_TEXT },
	{ "insn_per_call_hi", "", ID_INSN_HI, COLUMN_MEAN, COLUMN_NO_TEXT },
	{ "", "90% INTERVAL", ID_INSN_RANGE, COLUMN_MEANS, COLUMN_NO_DATA | COLUMN_WIDE },
	{ "cycles_per_call", "CYC/CALL", ID_CYC, COLUMN_MEAN, 0, HAVE_CYC },
	{ "cycles_per_call_lo", "", ID_CYC_LO, COLUMN_MEAN, COLUMN_NO_TEXT },
	{ "cycles_per_call_hi", "", ID_CYC_HI, COLUMN_MEAN, COLUMN_NO_TEXT },
	{ "", "90% INTERVAL", ID_CYC_RANGE, COLUMN_MEANS, COLUMN_NO_DATA | COLUMN_WIDE, HAVE_CYC },
	{ "ipc", "IPC", ID_IPC, COLUMN_RATIO, 0, HAVE_CYC },
	{ "status", "STATUS", ID_STATUS, COLUMN_TEXT, COLUMN_STATUS },
	{ "module", "MODULE", ID_MODULE, COLUMN_TEXT, COLUMN_WIDE | COLUMN_SQUEEZE, HAVE_MODULES },
	{ "function", "", ID_NAME, COLUMN_TEXT, COLUMN_NO_TEXT },
	{ "full_name", "FUNCTION", ID_FULL, COLUMN_TEXT, COLUMN_SQUEEZE },
};

static const struct column trip_columns[] = {
	{ "share", "SHARE", ID_SHARE, COLUMN_SHARE },
	{ "trips", "TRIPS", ID_N, COLUMN_MEAN },
	{ "trips_lo", "", ID_LO, COLUMN_MEAN, COLUMN_NO_TEXT },
	{ "trips_hi", "", ID_HI, COLUMN_MEAN, COLUMN_NO_TEXT },
	{ "", "90% INTERVAL", ID_RANGE, COLUMN_MEANS, COLUMN_NO_DATA },
	{ "iterations", "ITERATIONS", ID_ITERATIONS, COLUMN_COUNT, COLUMN_LESS },
	{ "entries", "ENTERED", ID_ENTRIES, COLUMN_COUNT, COLUMN_LESS },
	{ "depth", "DEPTH", ID_DEPTH, COLUMN_WHOLE, COLUMN_WIDE },
	{ "status", "STATUS", ID_STATUS, COLUMN_TEXT, COLUMN_STATUS },
	{ "vaddr", "", ID_ADDR, COLUMN_ADDR, COLUMN_NO_TEXT },
	{ "file", "", ID_FILE, COLUMN_TEXT, COLUMN_NO_TEXT },
	{ "line", "", ID_LINE, COLUMN_WHOLE, COLUMN_NO_TEXT },
	{ "module", "MODULE", ID_MODULE, COLUMN_TEXT, COLUMN_WIDE | COLUMN_SQUEEZE, HAVE_MODULES },
	{ "loop", "LOOP", ID_NAME, COLUMN_TEXT, COLUMN_SQUEEZE },
};

struct row {
	double share;
	double n, lo, hi;
	double ipc;                      /* of a call of a function */
	const struct profile_rate *rate; /* of a function */
	const struct profile_trips *trips;
	const struct profile_insn *insn; /* the loop's branch back */
	const char *name, *full;
	uint32_t module;
	uint8_t status;
	char *place; /* of a loop: behind all rows */
};

static struct cell num(double x)
{
	return (struct cell){ .num = x };
}

static struct cell text(const char *s)
{
	return (struct cell){ .text = s ? s : "" };
}

double calls_ipc(const struct profile *p, const struct profile_func *f, const struct profile_rate *rate)
{
	return report_ipc(p, rate->insn * f->calls.n, rate->cyc * f->calls.n);
}

double calls_cyc(const struct profile *p, const struct profile_func *f, const struct profile_rate *rate)
{
	return report_has_cyc(p) && isfinite(calls_ipc(p, f, rate)) ? rate->cyc : NAN;
}

static struct cell rate_cell(const struct row *r, int id)
{
	const struct profile_rate *rate = r->rate;
	bool cyc = isfinite(r->ipc);

	switch (id) {
	case ID_INSN:
		return num(rate->insn);
	case ID_INSN_LO:
		return num(rate->lo);
	case ID_INSN_HI:
		return num(rate->hi);
	case ID_INSN_RANGE:
		return (struct cell){ .num = rate->lo, .num2 = rate->hi };
	case ID_CYC_LO:
		return num(cyc ? rate->cyc_lo : NAN);
	case ID_CYC_HI:
		return num(cyc ? rate->cyc_hi : NAN);
	case ID_CYC_RANGE:
		return (struct cell){ .num = cyc ? rate->cyc_lo : NAN, .num2 = rate->cyc_hi };
	default:
		return num(cyc ? rate->cyc : NAN);
	}
}

static struct cell cell(const void *view, size_t i, int id)
{
	const struct view *v = view;
	const struct row *r = (const struct row *)v->rows + i;
	const char *file = r->insn ? report_file(v->p, r->insn->file) : "";

	switch (id) {
	case ID_SHARE:
		return num(r->share);
	case ID_N:
		return num(r->n);
	case ID_LO:
		return num(r->lo);
	case ID_HI:
		return num(r->hi);
	case ID_RANGE:
		return (struct cell){ .num = r->lo, .num2 = r->hi };
	case ID_ITERATIONS:
		return num(r->trips->iterations);
	case ID_ENTRIES:
		return num(r->trips->entries);
	case ID_DEPTH:
		return num(r->trips->depth);
	case ID_STATUS:
		/* Of a loop that nothing is known of nothing is judged. */
		if (r->trips && isnan(r->n) && isnan(r->trips->iterations))
			return (struct cell){ 0 };
		return text(profile_status_word(r->status));
	case ID_NAME:
		return text(r->name ? r->name : r->place);
	case ID_FULL:
		return text(r->full);
	case ID_MODULE:
		return text(report_base(report_module(v->p, r->module)));
	case ID_FILE:
		return *file ? text(file) : (struct cell){ 0 };
	case ID_LINE:
		return num(r->insn && r->insn->line ? (double)r->insn->line : NAN);
	case ID_IPC:
		return num(r->ipc);
	case ID_ADDR:
		return (struct cell){ .addr = v->p->blocks[r->trips->header].vaddr };
	default:
		return rate_cell(r, id);
	}
}

static double share_of(const struct view *v, size_t i)
{
	return ((const struct row *)v->rows)[i].share;
}

static double weight_of(const struct profile *p, const struct profile_count *c)
{
	return report_has_insn(p) ? c->insn : c->cyc;
}

static double total_of(const struct profile *p)
{
	double total = 0;

	for (size_t i = 0; i < p->n_funcs; i++)
		total += weight_of(p, &p->funcs[i].count);
	return total;
}

static int by_share(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->share != y->share)
		return x->share > y->share ? -1 : 1;
	return x->module != y->module ? (x->module < y->module ? -1 : 1) : (x->n < y->n) - (x->n > y->n);
}

static int by_calls(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	double m = isnan(x->n) ? -1 : x->n, n = isnan(y->n) ? -1 : y->n;

	return m != n ? (m > n ? -1 : 1) : by_share(a, b);
}

static int by_name(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	int order = strcmp(x->name ? x->name : x->place, y->name ? y->name : y->place);

	return order ? order : by_share(a, b);
}

static void finish(const struct profile *p, const struct report_opts *o, struct row *rows, size_t n,
                   struct view *out)
{
	qsort(rows, n, sizeof(*rows),
	      o->sort == SORT_NAME    ? by_name
	      : o->sort == SORT_CALLS ? by_calls
	                              : by_share);
	*out = (struct view){ .p = p, .rows = rows, .share = share_of };
	out->table = (struct table){ .n_rows = n, .have = report_have(p, o), .cell = cell, .view = out };
}

/* A number of a status is no better than its own interval, nor where some came from where no burst saw it. */
static uint8_t judge(uint8_t status, const struct profile_spread *seen, double n, double lo, double hi)
{
	if (seen->unseen && status < PROFILE_WEAK)
		status = PROFILE_WEAK;
	return profile_judge(status, &(struct profile_count){ .insn = n, .lo = lo, .hi = hi });
}

int view_calls(const struct profile *p, const struct report_opts *o, struct view *out)
{
	struct row *rows = calloc(p->n_funcs + 1, sizeof(*rows));
	double total = total_of(p);
	size_t n = 0, n_match = 0;

	if (!rows)
		return sp_fail(SP_ENOMEM, "out of memory for %zu functions", p->n_funcs);
	for (size_t i = 0; i < p->n_funcs; i++) {
		const struct profile_func *f = &p->funcs[i];
		const struct profile_calls *c = &f->calls;
		bool matches = !o->function || report_matches(f, o->function);

		n_match += matches;
		if (!matches || !c->n_terms || isnan(c->rolled.insn))
			continue;
		rows[n].share = weight_of(p, o->rollup ? &f->rolled : &f->count) / total;
		rows[n].n = c->n;
		rows[n].lo = c->lo;
		rows[n].hi = c->hi;
		rows[n].rate = o->rollup ? &c->rolled : &c->own;
		rows[n].ipc = calls_ipc(p, f, rows[n].rate);
		rows[n].name = f->name;
		rows[n].full = report_name(f);
		rows[n].module = f->module;
		rows[n].status =
		        judge(o->rollup ? f->rolled_status : f->status, &c->seen, c->n, c->lo, c->hi);
		rows[n].status = judge(rows[n].status, &c->seen, rows[n].rate->insn, rows[n].rate->lo,
		                       rows[n].rate->hi);
		n++;
	}
	if (!n_match && o->function) {
		free(rows);
		return report_no_match(p, o->function);
	}
	finish(p, o, rows, n, out);
	out->table.columns = call_columns;
	out->table.n_columns = sizeof(call_columns) / sizeof(call_columns[0]);
	return 0;
}

/* Instructions that have a block as theirs: [first, end) of p->insns. */
static double block_weight(const struct profile *p, const struct profile_block *b)
{
	double sum = 0;

	if (b->insn == UINT32_MAX)
		return 0;
	for (size_t i = b->insn;
	     i < p->n_insns && p->insns[i].module == b->module && p->insns[i].vaddr < b->end_vaddr; i++)
		sum += weight_of(p, &p->insns[i].count);
	return sum;
}

static bool leads_to(const struct profile *p, const struct profile_block *b, uint32_t to)
{
	for (uint32_t i = b->out0; i < b->out0 + b->n_out; i++)
		if (p->ways[i].to == to)
			return true;
	return false;
}

const struct profile_insn *trips_insn(const struct profile *p, const struct profile_trips *t)
{
	const struct profile_block *header = &p->blocks[t->header];
	const struct profile_insn *best = header->insn == UINT32_MAX ? NULL : &p->insns[header->insn];
	uint64_t last = 0;

	for (uint32_t i = t->block0; i < t->block0 + t->n_in; i++) {
		const struct profile_block *b = &p->blocks[p->trips_blocks[i]];

		if (b->insn == UINT32_MAX || b->end_vaddr <= last || !leads_to(p, b, t->header))
			continue;
		last = b->end_vaddr;
		for (size_t k = b->insn;
		     k < p->n_insns && p->insns[k].module == b->module && p->insns[k].vaddr < last; k++)
			best = &p->insns[k];
	}
	return best;
}

/* text: room for its name, to its end. */
static struct row trips_row(const struct profile *p, const struct profile_trips *t, double total, char **text)
{
	const struct profile_block *b = &p->blocks[t->header];
	const struct profile_insn *insn = trips_insn(p, t);
	struct row r = { .n = t->mean,
		         .lo = t->lo,
		         .hi = t->hi,
		         .trips = t,
		         .insn = insn,
		         .module = b->module,
		         .status = isnan(t->mean) ? judge(p->insns[b->insn].status, &t->seen, t->iterations,
		                                          t->iterations_lo, t->iterations_hi)
		                                  : judge(p->insns[b->insn].status, &t->seen, t->mean, t->lo,
		                                          t->hi) };
	char place[PLACE_MAX];

	for (uint32_t i = t->block0; i < t->block0 + t->n_in; i++)
		r.share += block_weight(p, &p->blocks[p->trips_blocks[i]]) / total;
	lines_place(p, insn, place);
	if (place[0] == '?') /* by where it begins, else all loops of a function without lines would be one */
		snprintf(place, sizeof(place), "0x%" PRIx64, insn->vaddr);
	/* Cut off, the brackets of a name would not match, and nothing of it could be folded. */
	r.place = *text;
	*text += sprintf(*text, "%s (%s)", p->funcs[insn->func].name, place) + 1;
	return r;
}

/* Loops in code that samples or records know. */
static bool has_code(const struct profile *p, const struct profile_trips *t)
{
	return p->blocks[t->header].insn != UINT32_MAX;
}

/* One block of memory: rows, and behind them *text, room for their names. */
static struct row *trips_rows(const struct profile *p, char **text)
{
	size_t n_bytes = (p->n_trips + 1) * sizeof(struct row);
	struct row *rows;

	for (size_t i = 0; i < p->n_trips; i++)
		if (has_code(p, &p->trips[i]))
			n_bytes += strlen(p->funcs[trips_insn(p, &p->trips[i])->func].name) + PLACE_MAX +
			           sizeof(" ()");
	rows = calloc(1, n_bytes);
	*text = rows ? (char *)(rows + p->n_trips + 1) : NULL;
	return rows;
}

int view_trips(const struct profile *p, const struct report_opts *o, struct view *out)
{
	char *text;
	struct row *rows = trips_rows(p, &text);
	double total = total_of(p);
	size_t n = 0;
	bool any = !o->function;

	if (!rows)
		return sp_fail(SP_ENOMEM, "out of memory for %zu loops", p->n_trips);
	for (size_t i = 0; i < p->n_funcs && !any; i++)
		any = report_matches(&p->funcs[i], o->function);
	if (!any) {
		free(rows);
		return report_no_match(p, o->function);
	}
	for (size_t i = 0; i < p->n_trips; i++) {
		const struct profile_trips *t = &p->trips[i];
		const struct profile_block *b = &p->blocks[t->header];

		if (!has_code(p, t))
			continue;
		if (o->function && !report_matches(&p->funcs[p->insns[b->insn].func], o->function) &&
		    !report_matches(&p->funcs[b->func], o->function))
			continue;
		rows[n] = trips_row(p, t, total, &text);
		n += rows[n].share > 0;
	}
	finish(p, o, rows, n, out);
	out->table.columns = trip_columns;
	out->table.n_columns = sizeof(trip_columns) / sizeof(trip_columns[0]);
	return 0;
}
