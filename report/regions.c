/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A row a region: what was corrected together, and how well it is known. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/base/err.h"
#include "report/report.h"

struct row {
	const struct profile_region *r;
	double share, key;
	char known[KNOWN_MAX], evidence[KNOWN_MAX];
};

enum id {
	ID_SHARE,
	ID_RAW,
	ID_FIXED,
	ID_CYC,
	ID_IPC,
	ID_BLOCKS,
	ID_EDGES,
	ID_FREE,
	ID_RANK,
	ID_PERIODS,
	ID_SAMPLES,
	ID_STATUS,
	ID_KNOWN,
	ID_EVIDENCE,
	ID_MODULE,
	ID_ADDR,
	ID_NAME,
	ID_WHY,
};

static const struct column columns[] = {
	{ "name", "", ID_NAME, COLUMN_TEXT, COLUMN_NO_TEXT },
	{ "share", "SHARE", ID_SHARE, COLUMN_SHARE },
	{ "raw", "RAW", ID_RAW, COLUMN_COUNT, COLUMN_LESS, HAVE_INSN | HAVE_RAW },
	{ "fixed", "FIXED", ID_FIXED, COLUMN_COUNT, 0, HAVE_INSN | HAVE_FIXED },
	{ "cycles", "CYCLES", ID_CYC, COLUMN_COUNT, COLUMN_WIDE, HAVE_CYC },
	{ "ipc", "IPC", ID_IPC, COLUMN_RATIO, 0, HAVE_INSN | HAVE_CYC },
	{ "blocks", "BLOCKS", ID_BLOCKS, COLUMN_WHOLE, COLUMN_WIDE },
	{ "edges", "", ID_EDGES, COLUMN_WHOLE, COLUMN_NO_TEXT },
	{ "free_flows", "UNKNOWNS", ID_FREE, COLUMN_WHOLE, COLUMN_LESS },
	{ "rank", "SETTLED", ID_RANK, COLUMN_WHOLE, COLUMN_LESS },
	{ "skid_periods", "SKID/LOOP", ID_PERIODS, COLUMN_RATIO, COLUMN_LESS },
	{ "samples", "SAMPLES", ID_SAMPLES, COLUMN_WHOLE, COLUMN_WIDE },
	{ "status", "STATUS", ID_STATUS, COLUMN_TEXT, COLUMN_STATUS },
	{ "known_by", "", ID_KNOWN, COLUMN_TEXT, COLUMN_NO_TEXT },
	{ "", "EVIDENCE", ID_EVIDENCE, COLUMN_TEXT, COLUMN_NO_DATA | COLUMN_WIDE },
	{ "module", "", ID_MODULE, COLUMN_TEXT, COLUMN_NO_TEXT },
	{ "vaddr", "", ID_ADDR, COLUMN_ADDR, COLUMN_NO_TEXT },
	{ "", "REGION", ID_NAME, COLUMN_TEXT, COLUMN_NO_DATA | COLUMN_SQUEEZE },
	{ "why", "", ID_WHY, COLUMN_TEXT, COLUMN_NO_TEXT },
};

static struct cell num(double x)
{
	return (struct cell){ .num = x };
}

static struct cell text(const char *s)
{
	return (struct cell){ .text = s ? s : "" };
}

static struct cell size_cell(const struct profile_region *r, int id)
{
	switch (id) {
	case ID_BLOCKS:
		return num(r->n_blocks);
	case ID_EDGES:
		return num(r->n_edges);
	case ID_FREE:
		return num(r->n_free);
	case ID_RANK:
		return num(r->n_rank);
	default:
		return num(r->skid_periods);
	}
}

static struct cell cell(const void *view, size_t i, int id)
{
	const struct view *v = view;
	const struct row *row = (const struct row *)v->rows + i;
	const struct profile_region *r = row->r;
	bool insn = report_has_insn(v->p);

	switch (id) {
	case ID_SHARE:
		return num(row->share);
	case ID_RAW:
		return num(insn ? r->raw_insn : NAN);
	case ID_FIXED:
		return num(insn ? r->insn : NAN);
	case ID_CYC:
		return num(report_has_cyc(v->p) ? r->cyc : NAN);
	case ID_IPC:
		return num(report_ipc(v->p, r->insn, r->cyc));
	case ID_SAMPLES:
		return num(r->n_samples);
	case ID_STATUS:
		return text(profile_status_word(r->status));
	case ID_KNOWN:
		return text(row->known);
	case ID_EVIDENCE:
		return text(row->evidence);
	case ID_MODULE:
		return text(report_base(report_module(v->p, r->module)));
	case ID_ADDR:
		return (struct cell){ .addr = r->vaddr };
	case ID_NAME:
		return text(r->name);
	case ID_WHY:
		return text(r->why);
	default:
		return size_cell(r, id);
	}
}

static double share_of(const struct view *v, size_t i)
{
	return ((const struct row *)v->rows)[i].share;
}

static double sort_key(const struct profile *p, const struct report_opts *o, const struct row *row)
{
	switch (o->sort) {
	case SORT_RAW:
		return row->r->raw_insn;
	case SORT_CYCLES:
		return row->r->cyc;
	case SORT_IPC:
		return report_ipc(p, row->r->insn, row->r->cyc);
	case SORT_CHANGE:
		return fabs(row->r->insn - row->r->raw_insn);
	case SORT_STATUS:
		return row->r->status;
	default:
		return row->r->insn;
	}
}

static int by_key(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	double kx = isnan(x->key) ? -INFINITY : x->key, ky = isnan(y->key) ? -INFINITY : y->key;

	if (kx != ky)
		return kx > ky ? -1 : 1;
	return (x->r > y->r) - (x->r < y->r);
}

static int by_name(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	int order = strcmp(x->r->name, y->r->name);

	return order ? order : (x->r > y->r) - (x->r < y->r);
}

int view_regions(const struct profile *p, const struct report_opts *o, struct view *out)
{
	struct row *rows = calloc(p->n_regions + 1, sizeof(*rows));
	double total = 0;

	if (!rows)
		return sp_fail(SP_ENOMEM, "out of memory for %zu regions", p->n_regions);
	for (size_t i = 0; i < p->n_funcs; i++)
		total += report_has_insn(p) ? p->funcs[i].count.insn : p->funcs[i].count.cyc;
	for (size_t i = 0; i < p->n_regions; i++) {
		rows[i].r = &p->regions[i];
		rows[i].share = report_has_insn(p) ? p->regions[i].insn : p->regions[i].cyc;
		rows[i].share = total > 0 ? rows[i].share / total : NAN;
		rows[i].key = sort_key(p, o, &rows[i]);
		report_known(p->regions[i].evidence, rows[i].known);
		report_evidence(p->regions[i].evidence, rows[i].evidence);
	}
	qsort(rows, p->n_regions, sizeof(*rows), o->sort == SORT_NAME ? by_name : by_key);
	*out = (struct view){ .p = p, .rows = rows, .share = share_of };
	out->table = (struct table){ columns,      sizeof(columns) / sizeof(columns[0]),
		                     p->n_regions, report_have(p, o),
		                     cell,         out };
	return 0;
}
