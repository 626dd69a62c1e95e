/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Kernels, blocks and scores as tables. */
#include "report/lift/print.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/base/begins.h"
#include "profiler/base/err.h"
#include "profiler/base/log.h"
#include "profiler/binary/module.h"
#include "report/lift/lift.h"
#include "report/number.h"
#include "report/truth/truth.h"

enum { NOTE_MAX = 240, MAX_FIXED = 16, PER_TOOL = 9, KEY_MAX = TOOL_NAME_MAX + 16 };

/* Columns that are the same whatever tools there are. */
enum id {
	ID_NAME,
	ID_MODULE,
	ID_BASE,
	ID_VADDR,
	ID_CALLS,
	ID_INSNS,
	ID_BLOCKS,
	ID_MEASURED,
	ID_MISSES,
	ID_STATUS,
	ID_NOTE,
	ID_EXECUTIONS,
	ID_LO,
	ID_HI,
	ID_RANGE,
	ID_BYTES,
	ID_PART,
	ID_TIME,
	ID_SPREAD,
	ID_TOOL, /* and on: PER_TOOL for each tool */
};

enum tool_id {
	TOOL_CYC,
	TOOL_LO,
	TOOL_HI,
	TOOL_ERROR,
	TOOL_CPI,
	TOOL_CPI_LO,
	TOOL_CPI_HI,
	TOOL_PER_1000, /* instructions: enough digits for a table */
	TOOL_RANGE,
};

struct lift_view {
	const struct lift *l;
	size_t first; /* block that is the first row */
	struct column *columns;
	char (*keys)[KEY_MAX];
	size_t n_columns, n_keys;
	char *text; /* of the cell last asked for, if it needed making */
	struct table table;
};

static const struct column kernel_columns[] = {
	{ "kernel", "", ID_NAME, COLUMN_TEXT, COLUMN_NO_TEXT },
	{ "module", "", ID_MODULE, COLUMN_TEXT, COLUMN_NO_TEXT },
	{ "vaddr", "", ID_VADDR, COLUMN_ADDR, COLUMN_NO_TEXT },
	{ "calls", "CALLS", ID_CALLS, COLUMN_COUNT, COLUMN_WIDE, HAVE_INSN },
	{ "instructions", "INSTRUCTIONS", ID_INSNS, COLUMN_COUNT, COLUMN_WIDE, HAVE_INSN },
	{ "n_blocks", "BLOCKS", ID_BLOCKS, COLUMN_WHOLE },
	{ "measured", "MEASURED", ID_MEASURED, COLUMN_COUNT },
	{ "miss_share", "", ID_MISSES, COLUMN_SHARE, COLUMN_NO_TEXT },
	{ "status", "", ID_STATUS, COLUMN_TEXT, COLUMN_NO_TEXT },
};

static const struct column kernel_end[] = {
	{ "", "MODULE", ID_BASE, COLUMN_TEXT, COLUMN_NO_DATA, HAVE_MODULES },
	{ "", "KERNEL", ID_NAME, COLUMN_TEXT, COLUMN_NO_DATA | COLUMN_SQUEEZE },
	{ "note", "NOTE", ID_NOTE, COLUMN_TEXT },
};

static const struct column block_columns[] = {
	{ "kernel", "", ID_NAME, COLUMN_TEXT, COLUMN_NO_TEXT },
	{ "vaddr", "BLOCK", ID_VADDR, COLUMN_ADDR },
	{ "executions", "RAN", ID_EXECUTIONS, COLUMN_COUNT, 0, HAVE_INSN },
	{ "lo", "", ID_LO, COLUMN_COUNT, COLUMN_NO_TEXT },
	{ "hi", "", ID_HI, COLUMN_COUNT, COLUMN_NO_TEXT },
	{ "", "90% INTERVAL", ID_RANGE, COLUMN_RANGE, COLUMN_NO_DATA | COLUMN_WIDE, HAVE_INSN },
	{ "instructions", "INSNS", ID_INSNS, COLUMN_WHOLE },
	{ "insn_share", "SHARE", ID_PART, COLUMN_SHARE },
	{ "time_share", "TIME", ID_TIME, COLUMN_SHARE },
};

static const struct column block_end[] = {
	{ "spread", "SPREAD", ID_SPREAD, COLUMN_RATIO },
	{ "bytes", "BYTES", ID_BYTES, COLUMN_TEXT, COLUMN_SQUEEZE },
	{ "note", "NOTE", ID_NOTE, COLUMN_TEXT },
};

static struct cell num(double x)
{
	return (struct cell){ .num = x };
}

static struct cell text(const char *s)
{
	return (struct cell){ .text = s };
}

/* A text that lives until the next one. */
static char *scratch(struct lift_view *v, size_t n)
{
	free(v->text);
	v->text = calloc(1, n);
	return v->text;
}

/* Does a tool run any of these blocks on numbers of its own, which take another time to divide? */
static bool divides_others(const struct lift *l, size_t block0, size_t n)
{
	bool runs = false, divides = false;

	for (size_t t = 0; t < l->n_tools; t++)
		runs |= begins(l->tools[t].name, "native");
	for (size_t b = block0; b < block0 + n; b++)
		divides |= l->blocks[b].divides;
	return runs && divides;
}

static const char other_numbers[] = "native divides other numbers; ";

static struct cell kernel_note(struct lift_view *v, const struct lift_kernel *k)
{
	char *s = scratch(v, NOTE_MAX), percent[NUMBER_MAX];
	size_t n = 0;

	if (!s)
		return text(NULL);
	if (k->status != PROFILE_FIXED)
		n += (size_t)snprintf(s + n, NOTE_MAX - n, "%s; ", profile_status_word(k->status));
	/* Without a region, 'report --why' has the reason. */
	if (k->known > 0 && k->known < LIFT_MIN_KNOWN && n < NOTE_MAX) {
		number_percent(k->known, 0, percent);
		n += (size_t)snprintf(s + n, NOTE_MAX - n, "only %s of its time is in one region; ", percent);
	}
	if (k->why_not && n < NOTE_MAX)
		n += (size_t)snprintf(s + n, NOTE_MAX - n, "not timed: %s; ", k->why_not);
	if (lift_misses(k) && n < NOTE_MAX) {
		number_percent(k->n_miss / k->n_load, 0, percent);
		n += (size_t)snprintf(s + n, NOTE_MAX - n, "%s L1 misses; ", percent);
	}
	if (divides_others(v->l, k->block0, k->n_blocks) && n < NOTE_MAX)
		n += (size_t)snprintf(s + n, NOTE_MAX - n, "%s", other_numbers);
	for (size_t t = 0; t < v->l->n_tools && n < NOTE_MAX; t++)
		if (k->sums[t].n_failed)
			n += (size_t)snprintf(s + n, NOTE_MAX - n, "%s is out: %zu block%s; ",
			                      v->l->tools[t].name, k->sums[t].n_failed,
			                      k->sums[t].n_failed == 1 ? "" : "s");
	n = strlen(s);
	if (n > 2)
		s[n - 2] = '\0';
	return text(s);
}

static struct cell kernel_tool(const struct lift_sum *s, unsigned what)
{
	switch (what) {
	case TOOL_CYC:
		return num(s->cyc);
	case TOOL_LO:
		return num(s->lo);
	case TOOL_HI:
		return num(s->hi);
	case TOOL_CPI:
		return num(s->cpi);
	case TOOL_CPI_LO:
		return num(s->cpi_lo);
	case TOOL_CPI_HI:
		return num(s->cpi_hi);
	case TOOL_PER_1000:
		return num(1000 * s->cpi);
	case TOOL_RANGE:
		return (struct cell){ .num = 1000 * s->cpi_lo, .num2 = 1000 * s->cpi_hi };
	default:
		return num(s->error);
	}
}

static struct cell kernel_cell(const void *view, size_t i, int id)
{
	struct lift_view *v = (struct lift_view *)view;
	const struct lift_kernel *k = &v->l->kernels[i];

	if (id >= ID_TOOL)
		return kernel_tool(&k->sums[(id - ID_TOOL) / PER_TOOL], (unsigned)(id - ID_TOOL) % PER_TOOL);
	switch ((enum id)id) {
	case ID_NAME:
		return text(k->name);
	case ID_MODULE:
		return text(module_path(v->l->modules[k->module]));
	case ID_BASE:
		return text(report_base(module_path(v->l->modules[k->module])));
	case ID_VADDR:
		return (struct cell){ .addr = k->vaddr };
	case ID_CALLS:
		return num(k->calls);
	case ID_INSNS:
		return num(k->insn);
	case ID_BLOCKS:
		return num((double)k->n_blocks);
	case ID_MEASURED:
		return num(k->cyc);
	case ID_MISSES:
		return num(k->n_miss / k->n_load);
	case ID_STATUS:
		return text(profile_status_word(k->status));
	default:
		return kernel_note(v, k);
	}
}

/* How far apart the tools are: largest over smallest prediction. */
static double spread(const struct lift *l, size_t block)
{
	double lo = INFINITY, hi = 0;
	size_t n = 0;

	for (size_t t = 0; t < l->n_tools; t++) {
		double cyc = lift_prediction(l, block, t)->cyc;

		if (!l->tools[t].ops->predict || !(cyc > 0))
			continue;
		lo = fmin(lo, cyc);
		hi = fmax(hi, cyc);
		n++;
	}
	return n > 1 ? hi / lo : NAN;
}

static struct cell block_bytes(struct lift_view *v, const struct lift_block *b)
{
	char *s = scratch(v, 2 * b->code.n_bytes + 1);

	for (size_t i = 0; s && i < b->code.n_bytes; i++)
		snprintf(s + 2 * i, 3, "%02x", b->code.bytes[i]);
	return text(s);
}

static struct cell block_note(struct lift_view *v, size_t block)
{
	const struct lift_block *b = &v->l->blocks[block];
	char *s = scratch(v, NOTE_MAX);
	size_t n = 0;

	if (s && b->undecoded)
		n += (size_t)snprintf(s, NOTE_MAX, "not decoded at 0x%jx; ", (uintmax_t)b->undecoded);
	if (s && divides_others(v->l, block, 1))
		n += (size_t)snprintf(s + n, NOTE_MAX - n, "%s", other_numbers);
	for (size_t t = 0; s && t < v->l->n_tools && n < NOTE_MAX; t++)
		if (lift_prediction(v->l, block, t)->why[0])
			n += (size_t)snprintf(s + n, NOTE_MAX - n, "%s; ",
			                      lift_prediction(v->l, block, t)->why);
	n = s ? strlen(s) : 0;
	if (n > 2)
		s[n - 2] = '\0';
	return text(s);
}

static struct cell block_cell(const void *view, size_t i, int id)
{
	struct lift_view *v = (struct lift_view *)view;
	size_t block = v->first + i;
	const struct lift_block *b = &v->l->blocks[block];

	if (id >= ID_TOOL)
		return num(lift_prediction(v->l, block, (size_t)(id - ID_TOOL) / PER_TOOL)->cyc);
	switch ((enum id)id) {
	case ID_NAME:
		return text(v->l->kernels[b->kernel].name);
	case ID_VADDR:
		return (struct cell){ .addr = b->code.vaddr };
	case ID_EXECUTIONS:
		return num(v->l->relative ? NAN : b->n);
	case ID_LO:
		return num(b->lo);
	case ID_HI:
		return num(b->hi);
	case ID_RANGE:
		return (struct cell){ .num = b->lo, .num2 = b->hi };
	case ID_INSNS:
		return num(b->n_insn);
	case ID_PART:
		return num(b->n * b->n_insn / lift_insns(v->l, &v->l->kernels[b->kernel]));
	case ID_TIME:
		return num(b->cyc / v->l->kernels[b->kernel].cyc);
	case ID_SPREAD:
		return num(spread(v->l, block));
	case ID_BYTES:
		return block_bytes(v, b);
	default:
		return block_note(v, block);
	}
}

static void add_columns(struct lift_view *v, const struct column *c, size_t n)
{
	memcpy(v->columns + v->n_columns, c, n * sizeof(*c));
	v->n_columns += n;
}

static const char *new_key(struct lift_view *v, const char *tool, const char *suffix)
{
	char *key = v->keys[v->n_keys++];

	snprintf(key, KEY_MAX, "%s%s", tool, suffix);
	return key;
}

static void add_tool_columns(struct lift_view *v, size_t t, bool kernels)
{
	const char *name = v->l->tools[t].name;
	int id = (int)(ID_TOOL + t * PER_TOOL);

	if (!kernels) {
		if (v->l->tools[t].ops->predict)
			add_columns(v,
			            &(struct column){ new_key(v, name, "_cycles"), name, id + TOOL_CYC,
			                              COLUMN_RATIO },
			            1);
		return;
	}
	add_columns(
	        v,
	        (struct column[]){
	                { new_key(v, name, "_cycles"), name, id + TOOL_CYC, COLUMN_COUNT, 0, HAVE_INSN },
	                { new_key(v, name, "_lo"), "", id + TOOL_LO, COLUMN_COUNT, COLUMN_NO_TEXT },
	                { new_key(v, name, "_hi"), "", id + TOOL_HI, COLUMN_COUNT, COLUMN_NO_TEXT },
	                { new_key(v, name, "_error"), "ERROR", id + TOOL_ERROR, COLUMN_CHANGE, 0, HAVE_INSN },
	                { new_key(v, name, "_cpi"), "", id + TOOL_CPI, COLUMN_RATIO, COLUMN_NO_TEXT },
	                { new_key(v, name, "_cpi_lo"), "", id + TOOL_CPI_LO, COLUMN_RATIO, COLUMN_NO_TEXT },
	                { new_key(v, name, "_cpi_hi"), "", id + TOOL_CPI_HI, COLUMN_RATIO, COLUMN_NO_TEXT },
	                { "", name, id + TOOL_PER_1000, COLUMN_COUNT, COLUMN_NO_DATA, HAVE_PARTS },
	                { "", "90% INTERVAL", id + TOOL_RANGE, COLUMN_RANGE, COLUMN_NO_DATA | COLUMN_WIDE,
	                  HAVE_PARTS },
	        },
	        PER_TOOL);
}

static void view_fini(struct lift_view *v)
{
	free(v->columns);
	free(v->keys);
	free(v->text);
}

static bool many_modules(const struct lift *l)
{
	for (size_t i = 1; i < l->n_kernels; i++)
		if (l->kernels[i].module != l->kernels[0].module)
			return true;
	return false;
}

/* Which rows a table has. */
struct lift_rows {
	bool blocks; /* else kernels */
	size_t first, n;
};

static struct lift_rows kernel_rows(const struct lift *l)
{
	return (struct lift_rows){ false, 0, l->n_kernels };
}

static struct lift_rows block_rows(const struct lift_kernel *k)
{
	return (struct lift_rows){ true, k->block0, k->n_blocks };
}

static int view_init(const struct lift *l, struct lift_rows rows, struct lift_view *v)
{
	*v = (struct lift_view){ .l = l, .first = rows.first };
	v->columns = calloc(MAX_FIXED + PER_TOOL * l->n_tools, sizeof(*v->columns));
	v->keys = calloc(PER_TOOL * l->n_tools + 1, sizeof(*v->keys));
	if (!v->columns || !v->keys) {
		view_fini(v);
		return sp_fail(SP_ENOMEM, "out of memory for a table");
	}
	if (rows.blocks)
		add_columns(v, block_columns, sizeof(block_columns) / sizeof(block_columns[0]));
	else
		add_columns(v, kernel_columns, sizeof(kernel_columns) / sizeof(kernel_columns[0]));
	for (size_t t = 0; t < l->n_tools; t++)
		add_tool_columns(v, t, !rows.blocks);
	if (rows.blocks)
		add_columns(v, block_end, sizeof(block_end) / sizeof(block_end[0]));
	else
		add_columns(v, kernel_end, sizeof(kernel_end) / sizeof(kernel_end[0]));
	v->table = (struct table){ v->columns,
		                   v->n_columns,
		                   rows.n,
		                   (many_modules(l) ? HAVE_MODULES : 0u) |
		                           (l->relative ? HAVE_PARTS : HAVE_INSN),
		                   rows.blocks ? block_cell : kernel_cell,
		                   v };
	return 0;
}

enum score_id {
	SCORE_NAME,
	SCORE_VERSION,
	SCORE_N,
	SCORE_OUT,
	SCORE_COVERAGE,
	SCORE_MEAN,
	SCORE_MEDIAN,
	SCORE_Q1,
	SCORE_Q3,
	SCORE_WORST,
	SCORE_TAU
};

static const struct column score_columns[] = {
	{ "tool", "TOOL", SCORE_NAME, COLUMN_TEXT },
	{ "version", "VERSION", SCORE_VERSION, COLUMN_TEXT },
	{ "kernels", "KERNELS", SCORE_N, COLUMN_WHOLE },
	{ "out", "OUT", SCORE_OUT, COLUMN_WHOLE },
	{ "coverage", "COVERAGE", SCORE_COVERAGE, COLUMN_SHARE },
	{ "mean_err", "MEAN-ERR", SCORE_MEAN, COLUMN_SHARE },
	{ "q1_err", "25%", SCORE_Q1, COLUMN_SHARE },
	{ "median_err", "MEDIAN", SCORE_MEDIAN, COLUMN_SHARE },
	{ "q3_err", "75%", SCORE_Q3, COLUMN_SHARE },
	{ "worst_err", "WORST", SCORE_WORST, COLUMN_SHARE },
	{ "tau", "TAU", SCORE_TAU, COLUMN_RATIO },
};

static struct cell score_cell(const void *view, size_t t, int id)
{
	const struct lift *l = view;
	const struct lift_score *s = &l->scores[t];

	switch ((enum score_id)id) {
	case SCORE_NAME:
		return text(l->tools[t].name);
	case SCORE_VERSION:
		return text(l->tools[t].version);
	case SCORE_N:
		return num((double)s->n_kernels);
	case SCORE_OUT:
		return num((double)s->n_out);
	case SCORE_COVERAGE:
		return num(s->coverage);
	case SCORE_MEAN:
		return num(s->mean);
	case SCORE_MEDIAN:
		return num(s->median);
	case SCORE_Q1:
		return num(s->q1);
	case SCORE_Q3:
		return num(s->q3);
	case SCORE_WORST:
		return num(s->worst);
	default:
		return num(s->tau);
	}
}

static struct table score_table(const struct lift *l)
{
	return (struct table){ score_columns, sizeof(score_columns) / sizeof(score_columns[0]),
		               l->n_tools,    ~0u,
		               score_cell,    l };
}

const char *lift_measured_by(const struct lift *l)
{
	bool profile = false, timed = false;

	for (size_t i = 0; i < l->n_kernels; i++) {
		profile |= l->kernels[i].measured == MEASURED_PROFILE;
		timed |= l->kernels[i].measured == MEASURED_TIMED;
	}
	return timed ? "timed" : profile ? "profile" : "none";
}

/* Where the numbers come from. */
static void print_head(const struct lift *l, FILE *f)
{
	char a[512], b[512];

	if (l->profile)
		meta_print(l->profile, f);
	if (l->exact) {
		text_safe(*l->truth->creator ? l->truth->creator : "unknown", a, sizeof(a));
		text_safe(*l->truth->cmdline ? l->truth->cmdline : "unknown", b, sizeof(b));
		fprintf(f, "# executions are exact, counted by %s: %s\n", a, b);
	} else if (l->relative) {
		fputs("# executions are known of each other only: SHARE is of the kernel's instructions, and "
		      "tools are given in\n"
		      "# CYCLES OF 1,000 INSTRUCTIONS.  For whole cycles and errors count executions: "
		      "'skidprof "
		      "truth PROGRAM',\n"
		      "# then lift with --truth FILE beside -i\n",
		      f);
	} else {
		fputs("# executions are the profile's corrected ones\n", f);
	}
	if (l->profile && strcmp(lift_measured_by(l), "profile") == 0)
		fprintf(f, "# MEASURED cycles are the profile's, of its %s PMU\n", l->profile->meta.pmu);
	else if (strcmp(lift_measured_by(l), "timed") == 0)
		fputs("# MEASURED cycles are those from entry to exit, summed over a run: the smallest of "
		      "four\n",
		      f);
	else if (strcmp(lift_measured_by(l), "none") == 0)
		fputs("# no cycles were measured: errors can't be told; -i FILE gives a profile's, --measure "
		      "times a program\n",
		      f);
	fprintf(f, "# predicted for %s\n\n", *l->target.cpu ? l->target.cpu : "an unknown core");
}

static int print_table(const struct table *t, const struct term *term)
{
	struct table_fit fit = { 0 };
	int err = table_print(t, 0, term, &fit);

	table_print_fit(&fit, term->f);
	return err;
}

static int print_blocks(const struct lift *l, const struct lift_kernel *k, const struct term *term)
{
	struct lift_view v;
	char name[512];
	int err = view_init(l, block_rows(k), &v);

	if (err < 0)
		return err;
	text_safe(k->name, name, sizeof(name));
	fprintf(term->f, "\n%s\n", name);
	err = print_table(&v.table, term);
	view_fini(&v);
	return err;
}

/* Those that the verdict doesn't name. */
static void print_left_out(const struct lift *l, FILE *f)
{
	size_t n = 0;

	for (size_t i = 0; i < l->n_kernels; i++)
		n += lift_misses(&l->kernels[i]) && l->kernels[i].status != PROFILE_UNRELIABLE;
	if (n)
		fprintf(f,
		        "# in no average: %zu kernel%s of which over %.0f%% of the loads miss the "
		        "first-level "
		        "cache (NOTE)\n",
		        n, sp_plural(n), 100 * LIFT_MAX_MISS);
}

static int print_text(const struct lift *l, bool blocks, const struct term *term)
{
	struct table scores = score_table(l);
	struct lift_view v;
	int err = view_init(l, kernel_rows(l), &v);

	if (err < 0)
		return err;
	print_head(l, term->f);
	err = print_table(&v.table, term);
	for (size_t i = 0; blocks && i < l->n_kernels && err == 0; i++)
		err = print_blocks(l, &l->kernels[i], term);
	if (err == 0) {
		fputc('\n', term->f);
		err = print_table(&scores, term);
		print_left_out(l, term->f);
	}
	view_fini(&v);
	return err;
}

static int print_csv(const struct lift *l, bool blocks, FILE *f)
{
	struct lift_view v;
	int err = view_init(l, blocks ? (struct lift_rows){ true, 0, l->n_blocks } : kernel_rows(l), &v);

	if (err < 0)
		return err;
	err = table_csv(&v.table, f);
	view_fini(&v);
	return err;
}

/* A kernel's blocks, put into its row. */
static int add_blocks(const struct lift *l, const struct lift_kernel *k, json_t *row)
{
	struct lift_view v;
	json_t *rows = NULL;
	int err = view_init(l, block_rows(k), &v);

	if (err < 0)
		return err;
	err = table_json(&v.table, &rows);
	view_fini(&v);
	if (err == 0 && json_object_set_new(row, "blocks", rows) < 0)
		err = sp_fail(SP_ENOMEM, "out of memory for JSON");
	return err;
}

static int add_kernels(const struct lift *l, json_t *doc)
{
	struct lift_view v;
	json_t *rows = NULL;
	int err = view_init(l, kernel_rows(l), &v);

	if (err < 0)
		return err;
	err = table_json(&v.table, &rows);
	view_fini(&v);
	if (err == 0 && json_object_set_new(doc, "kernels", rows) < 0)
		err = sp_fail(SP_ENOMEM, "out of memory for JSON");
	for (size_t i = 0; i < l->n_kernels && err == 0; i++)
		err = add_blocks(l, &l->kernels[i], json_array_get(rows, i));
	return err;
}

int lift_json(const struct lift *l, json_t **out)
{
	struct table scores = score_table(l);
	json_t *doc = json_pack("{s:i, s:b, s:s, s:s}", "skidprof", 1, "exact", l->exact, "measured_by",
	                        lift_measured_by(l), "cpu", l->target.cpu),
	       *part = NULL;
	int err = doc ? 0 : sp_fail(SP_ENOMEM, "out of memory for JSON");

	if (err == 0 && l->profile) {
		err = meta_json(l->profile, &part);
		if (err == 0)
			json_object_set_new(doc, "meta", part);
	}
	if (err == 0)
		err = add_kernels(l, doc);
	if (err == 0)
		err = table_json(&scores, &part);
	if (err == 0 && json_object_set_new(doc, "tools", part) < 0)
		err = sp_fail(SP_ENOMEM, "out of memory for JSON");
	if (err < 0)
		json_decref(doc);
	else
		*out = doc;
	return err;
}

int lift_print(const struct lift *l, enum report_format format, bool blocks, const struct term *term)
{
	json_t *doc;
	int err;

	switch (format) {
	case REPORT_CSV:
		return print_csv(l, blocks, term->f);
	case REPORT_TEXT:
		return print_text(l, blocks, term);
	case REPORT_JSON:
		break;
	}
	err = lift_json(l, &doc);
	if (err < 0)
		return err;
	err = json_write(doc, term->f);
	json_decref(doc);
	return err;
}
