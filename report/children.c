/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A row a function with all that it calls; or a row a caller, or callee, of one function. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "correct/model/model.h"
#include "profiler/base/log.h"
#include "profiler/base/mem.h"
#include "profiler/binary/module.h"
#include "report/inclusive/cut_stacks.h"
#include "report/inclusive/inclusive.h"
#include "report/number.h"
#include "report/report.h"

enum id {
	ID_SHARE,
	ID_SELF,
	ID_RAW,
	ID_FIXED,
	ID_LO,
	ID_HI,
	ID_RANGE,
	ID_CYC,
	ID_OTHER,
	ID_CALLS,
	ID_CALLS_LO,
	ID_CALLS_HI,
	ID_CALLS_RANGE,
	ID_STATUS,
	ID_MODULE,
	ID_NAME,
	ID_FULL,
};

/* Names of functions that one is inlined into; one line has room for no more. */
enum { MOST_HOLDERS = 5 };

static const struct column child_columns[] = {
	{ "share", "WITH-CALLEES", ID_SHARE, COLUMN_SHARE },
	{ "share_self", "SELF", ID_SELF, COLUMN_SHARE },
	{ "raw", "RAW", ID_RAW, COLUMN_COUNT, COLUMN_WIDE, HAVE_INSN | HAVE_RAW },
	{ "fixed", "FIXED", ID_FIXED, COLUMN_COUNT, 0, HAVE_INSN | HAVE_FIXED },
	{ "", "BOUNDS", ID_RANGE, COLUMN_RANGE, COLUMN_NO_DATA | COLUMN_LESS },
	{ "lo", "", ID_LO, COLUMN_COUNT, COLUMN_NO_TEXT },
	{ "hi", "", ID_HI, COLUMN_COUNT, COLUMN_NO_TEXT },
	{ "cycles", "CYCLES", ID_CYC, COLUMN_COUNT, COLUMN_LESS, HAVE_CYC },
	{ "events", "EVENTS", ID_OTHER, COLUMN_COUNT, COLUMN_LESS, HAVE_OTHER },
	{ "status", "STATUS", ID_STATUS, COLUMN_TEXT, COLUMN_STATUS, HAVE_INSN | HAVE_FIXED },
	{ "module", "MODULE", ID_MODULE, COLUMN_TEXT, COLUMN_WIDE | COLUMN_SQUEEZE, HAVE_MODULES },
	{ "function", "", ID_NAME, COLUMN_TEXT, COLUMN_NO_TEXT },
	{ "full_name", "FUNCTION", ID_FULL, COLUMN_TEXT, COLUMN_SQUEEZE },
};

static const struct column part_columns[] = {
	{ "share", "SHARE", ID_SHARE, COLUMN_SHARE },
	{ "raw", "RAW", ID_RAW, COLUMN_COUNT, COLUMN_LESS, HAVE_INSN | HAVE_RAW },
	{ "fixed", "FIXED", ID_FIXED, COLUMN_COUNT, 0, HAVE_INSN | HAVE_FIXED },
	{ "cycles", "CYCLES", ID_CYC, COLUMN_COUNT, COLUMN_LESS, HAVE_CYC },
	{ "events", "EVENTS", ID_OTHER, COLUMN_COUNT, COLUMN_LESS, HAVE_OTHER },
	{ "calls", "CALLS", ID_CALLS, COLUMN_COUNT },
	{ "", "90% INTERVAL", ID_CALLS_RANGE, COLUMN_RANGE, COLUMN_NO_DATA },
	{ "calls_lo", "", ID_CALLS_LO, COLUMN_COUNT, COLUMN_NO_TEXT },
	{ "calls_hi", "", ID_CALLS_HI, COLUMN_COUNT, COLUMN_NO_TEXT },
	{ "module", "MODULE", ID_MODULE, COLUMN_TEXT, COLUMN_WIDE | COLUMN_SQUEEZE, HAVE_MODULES },
	{ "function", "", ID_NAME, COLUMN_TEXT, COLUMN_NO_TEXT },
	{ "full_name", "FUNCTION", ID_FULL, COLUMN_TEXT, COLUMN_SQUEEZE },
};

struct row {
	const struct profile_func *f; /* NULL: no caller */
	struct inclusive count;
	double share, self, calls, calls_lo, calls_hi, key;
	const char *suffix;
};

static struct cell num(double x)
{
	return (struct cell){ .num = x };
}

/* How many there must have been of the event that is shown, for so many: a part of a stack's sample has gone to several. */
static double samples_of(const struct profile *p, double events)
{
	const struct profile_event *e = report_has_other(p) ? &p->meta.events[p->meta.cyc_event] : NULL;

	return e && e->total > 0 ? events * (double)e->n_samples / e->total : NAN;
}

static struct cell cell(const void *view, size_t i, int id)
{
	const struct view *v = view;
	const struct row *r = (const struct row *)v->rows + i;
	bool insn = report_has_insn(v->p);
	/* Bounds are of instructions; stacks give none of time, whose count they are then equal to. */
	bool bounded = insn || r->count.hi > r->count.lo;

	switch (id) {
	case ID_SHARE:
		return num(r->share);
	case ID_SELF:
		return num(r->self);
	case ID_RAW:
		return num(insn ? r->count.raw_insn : NAN);
	case ID_FIXED:
		return num(insn ? r->count.insn : NAN);
	case ID_LO:
		return num(bounded ? r->count.lo : NAN);
	case ID_HI:
		return num(bounded ? r->count.hi : NAN);
	case ID_RANGE:
		return (struct cell){ .num = r->count.hi > r->count.lo ? r->count.lo : NAN,
			              .num2 = r->count.hi };
	case ID_CYC:
		return num(report_has_cyc(v->p) ? r->count.cyc : NAN);
	case ID_OTHER:
		return report_events(v->p, r->count.cyc, samples_of(v->p, r->count.cyc));
	case ID_CALLS:
		return num(r->calls);
	case ID_CALLS_LO:
		return num(r->calls_lo);
	case ID_CALLS_HI:
		return num(r->calls_hi);
	case ID_CALLS_RANGE:
		return (struct cell){ .num = r->calls_lo, .num2 = r->calls_hi };
	case ID_STATUS:
		return (struct cell){ .text = insn ? profile_status_word(r->count.status) : NULL };
	case ID_MODULE:
		return (struct cell){ .text = r->f ? report_base(report_module(v->p, r->f->module)) : "" };
	default:
		return (struct cell){ .text = !r->f           ? "[no caller is known]"
			                      : id == ID_FULL ? report_name(r->f)
			                                      : r->f->name,
			              .suffix = r->suffix };
	}
}

static double share_of(const struct view *v, size_t i)
{
	double share = ((const struct row *)v->rows)[i].share;

	return isnan(share) ? 0 : share;
}

/* What shares are of: fixed instructions, raw ones, or time. */
static double weight_of(const struct profile *p, const struct report_opts *o, const struct inclusive *c)
{
	if (!report_has_insn(p))
		return c->cyc;
	return o->show == REPORT_RAW && !p->meta.truth ? c->raw_insn : c->insn;
}

static double total_of(const struct profile *p, const struct report_opts *o)
{
	double total = 0;

	for (size_t i = 0; i < p->n_funcs; i++) {
		const struct profile_count *c = &p->funcs[i].count;

		total += weight_of(p, o,
		                   &(struct inclusive){
		                           .raw_insn = c->raw_insn, .insn = c->insn, .cyc = c->cyc });
	}
	return total;
}

static int by_share(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->key != y->key)
		return x->key > y->key ? -1 : 1;
	return x->f && y->f ? strcmp(x->f->name, y->f->name) : (x->f == NULL) - (y->f == NULL);
}

static int by_name(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	int order = x->f && y->f ? strcmp(x->f->name, y->f->name) : 0;

	return order ? order : by_share(a, b);
}

static long func_of(const struct view *v, size_t i)
{
	const struct profile_func *f = ((const struct row *)v->rows)[i].f;

	return f ? f - v->p->funcs : -1;
}

/* What is not known is as much as it is at least. */
static double sort_key(const struct profile *p, const struct report_opts *o, const struct row *r)
{
	const struct inclusive *c = &r->count;
	double key = r->share;

	if (o->sort == SORT_RAW)
		key = c->raw_insn;
	else if (o->sort == SORT_FIXED)
		key = c->insn;
	else if (o->sort == SORT_CYCLES)
		key = c->cyc;
	else if (o->sort == SORT_IPC)
		key = report_ipc(p, c->insn, c->cyc);
	else if (o->sort == SORT_STATUS)
		key = c->status;
	else if (o->sort == SORT_CALLS)
		key = r->calls;
	else if (isnan(key))
		key = r->key;
	return isnan(key) ? -1 : key;
}

static void finish(const struct profile *p, const struct report_opts *o, struct row *rows, size_t n,
                   struct view *out)
{
	for (size_t i = 0; i < n; i++)
		rows[i].key = sort_key(p, o, &rows[i]);
	if (n)
		qsort(rows, n, sizeof(*rows), o->sort == SORT_NAME ? by_name : by_share);
	*out = (struct view){ .p = p, .rows = rows, .share = share_of, .func = func_of };
	out->table = (struct table){ .n_rows = n, .have = report_have(p, o), .cell = cell, .view = out };
}

/* Do stacks have rows for what is inlined, too?  What such a row has its caller's own code has not. */
static bool inlined_listed(const struct profile *p)
{
	for (size_t i = 1; i < p->n_frames; i++)
		if (p->frames[i].func != p->frames[i].phys_func)
			return true;
	return false;
}

static void add_count(struct inclusive *to, const struct profile_count *c, double sign)
{
	to->raw_insn += sign * c->raw_insn;
	to->insn += sign * c->insn;
	to->cyc += sign * c->cyc;
}

/* What functions run by themselves, malloc'd, [n_funcs]; apart: rows of what is only inlined have their own of it. */
static struct inclusive *own_counts(const struct profile *p, bool apart)
{
	struct inclusive *own = mem_calloc(p->n_funcs + 1, sizeof(*own));
	bool *called = inclusive_called(p);

	for (size_t i = 0; i < p->n_funcs; i++) {
		const struct profile_func *f = &p->funcs[i];

		/* What is inlined is its caller's, unless it has a row of its own. */
		add_count(&own[i], apart ? &f->count : &f->rolled, 1);
	}
	for (size_t i = 0; i < p->n_insns && apart; i++) {
		const struct profile_insn *insn = &p->insns[i];

		if (insn->func == insn->phys_func || !called[insn->func])
			continue;
		add_count(&own[insn->func], &insn->count, -1);
		add_count(&own[insn->phys_func], &insn->count, 1);
	}
	free(called);
	return own;
}

int view_children(const struct profile *p, const struct report_opts *o, struct view *out)
{
	struct row *rows = mem_calloc(p->n_funcs + 1, sizeof(*rows));
	struct inclusive *all = inclusive_count(p);
	double total = total_of(p, o);
	size_t n = 0, n_match = 0;
	bool known = inclusive_source(p) != INCLUSIVE_NONE,
	     apart = inclusive_source(p) == INCLUSIVE_STACKS && inlined_listed(p) && !p->meta.truth_rolled;
	struct inclusive *own = own_counts(p, apart);

	for (size_t i = 0; i < p->n_funcs; i++) {
		const struct profile_func *f = &p->funcs[i];
		bool matches = !o->function || report_matches(f, o->function);

		n_match += matches;
		/* What may be all or nothing of code that others may have called, too, tells nothing, but for its own. */
		if (!matches || !known ||
		    (!(all[i].lo > 0) && !(all[i].insn > 0) && !(all[i].insn == 0 && all[i].cyc > 0) &&
		     !(weight_of(p, o, &own[i]) > 0)))
			continue;
		/* On no stack, for no sample fell in it: the flow knows of it, and not what it calls. */
		if (weight_of(p, o, &all[i]) == 0 && weight_of(p, o, &own[i]) > 0)
			all[i].raw_insn = all[i].insn = all[i].cyc = all[i].lo = all[i].hi = NAN;
		rows[n++] = (struct row){ .f = f,
			                  .count = all[i],
			                  .share = weight_of(p, o, &all[i]) / total,
			                  .key = fmax(weight_of(p, o, &own[i]), all[i].lo) / total,
			                  .self = fmax(weight_of(p, o, &own[i]), 0) / total };
	}
	free(all);
	free(own);
	if (o->function && !n_match) {
		free(rows);
		return report_no_match(p, o->function);
	}
	finish(p, o, rows, n, out);
	out->table.columns = child_columns;
	out->table.n_columns = sizeof(child_columns) / sizeof(child_columns[0]);
	return 0;
}

/* The function of that name with most in it. */
static long find_func(const struct profile *p, const char *name)
{
	long best = -1;
	double most = -1;

	for (size_t i = 0; i < p->n_funcs; i++) {
		const struct profile_count *c = &p->funcs[i].rolled, *own = &p->funcs[i].count;
		double weight = c->insn + c->cyc + own->insn + own->cyc;

		/* As we name it ourselves. */
		if (strcmp(report_name(&p->funcs[i]), name) == 0)
			return (long)i;
		if (!report_matches(&p->funcs[i], name) || weight <= most)
			continue;
		best = (long)i;
		most = weight;
	}
	return best;
}

/* By the flow an only caller makes all calls. */
static void set_only_caller(const struct profile *p, uint32_t func, struct inclusive_part *only)
{
	const struct profile_calls *c = &p->funcs[func].calls;

	if (!isnan(only->n) || only->func == UINT32_MAX || only->func == func || !c->n_terms ||
	    p->meta.relative || inclusive_source(p) != INCLUSIVE_FLOW)
		return;
	only->n = c->n;
	only->lo = c->lo;
	only->hi = c->hi;
}

int view_parts(const struct profile *p, const struct report_opts *o, struct view *out)
{
	long func = o->why ? find_func(p, o->why) : -1;
	struct inclusive_part *parts = NULL;
	struct row *rows;
	double total = total_of(p, o);
	size_t n = 0;
	bool callers = o->view == REPORT_CALLERS;

	if (func < 0)
		return report_no_match(p, o->why ? o->why : "");
	if (inclusive_source(p) != INCLUSIVE_NONE)
		parts = (callers ? inclusive_callers : inclusive_callees)(p, (uint32_t)func, &n);
	if (callers && n == 1)
		set_only_caller(p, (uint32_t)func, &parts[0]);
	rows = mem_calloc(n + 1, sizeof(*rows));
	for (size_t i = 0; i < n; i++) {
		bool self = parts[i].func == (uint32_t)func;

		rows[i] = (struct row){ .f = parts[i].func == UINT32_MAX ? NULL : &p->funcs[parts[i].func],
			                .count = parts[i].count,
			                .share = weight_of(p, o, &parts[i].count) / total,
			                .calls = parts[i].n,
			                .calls_lo = parts[i].lo,
			                .calls_hi = parts[i].hi,
			                .key = isnan(parts[i].count.insn)
			                               ? 0
			                               : weight_of(p, o, &parts[i].count) / total,
			                .suffix = !self     ? NULL
			                          : callers ? " (itself)"
			                                    : " (its own)" };
	}
	free(parts);
	finish(p, o, rows, n, out);
	out->table.columns = part_columns;
	out->table.n_columns = sizeof(part_columns) / sizeof(part_columns[0]);
	return 0;
}

/* Callers, or callees, of which nothing but the name is known. */
static void note_unknown_parts(const struct profile *p, const struct report_opts *o, FILE *f)
{
	long func = o->why ? find_func(p, o->why) : -1;
	bool callers = o->view == REPORT_CALLERS, any = false;
	struct inclusive_part *parts;
	char name[200];
	size_t n = 0;

	if (func < 0)
		return;
	parts = (callers ? inclusive_callers : inclusive_callees)(p, (uint32_t)func, &n);
	for (size_t i = 0; i < n; i++)
		any |= !isnan(inclusive_is_of_insn(p) ? parts[i].count.insn : parts[i].count.cyc) ||
		       !isnan(parts[i].n);
	free(parts);
	if (!n || any)
		return;
	text_safe(report_name(&p->funcs[func]), name, sizeof(name));
	fprintf(f,
	        "# the flow names the %s of '%s', and nothing tells how much of it is whose: call stacks "
	        "(record -g) do\n",
	        callers ? "callers" : "callees", name);
}

/* A function without code of its own is called by nobody: what it is inlined into is. */
static void note_inlined(const struct profile *p, const struct report_opts *o, FILE *f)
{
	long func = o->why ? find_func(p, o->why) : -1;
	bool *holds = func < 0 ? NULL : calloc(p->n_funcs + 1, sizeof(*holds));
	char name[200];
	size_t n = 0;

	if (!holds || p->funcs[func].rolled.insn > 0 || p->funcs[func].rolled.cyc > 0) {
		free(holds);
		return;
	}
	for (size_t i = 0; i < p->n_insns; i++)
		if (p->insns[i].func == (uint32_t)func && p->insns[i].phys_func != (uint32_t)func)
			holds[p->insns[i].phys_func] = true;
	text_safe(report_name(&p->funcs[func]), name, sizeof(name));
	for (size_t i = 0; i < p->n_funcs; i++) {
		char into[200];

		if (!holds[i] || n++ >= MOST_HOLDERS)
			continue;
		text_safe(report_name(&p->funcs[i]), into, sizeof(into));
		if (n == 1)
			fprintf(f, "# '%s' is inlined, and not called: into '%s'", name, into);
		else
			fprintf(f, ", '%s'", into);
	}
	if (n > MOST_HOLDERS)
		fprintf(f, " and %zu more", n - MOST_HOLDERS);
	if (n)
		fputc('\n', f);
	free(holds);
}

/* Stacks that end early hide who called the first function on them. */
static const char *stacks_cut(const struct profile *p, char *text, size_t size)
{
	double all =
	        (double)(p->meta.n_chains > p->meta.n_chains_cut ? p->meta.n_chains : p->meta.n_chains_cut);
	int n = 0;

	text[0] = '\0';
	if (p->meta.n_chains_cut)
		n = snprintf(text, size, "; %.3g%% end before the outermost caller",
		             100 * (double)p->meta.n_chains_cut / all);
	if (p->meta.n_chains_lost && (size_t)n < size)
		snprintf(text + n, size - (size_t)n, "; outer callers of %.3g%% are of other stacks",
		         100 * (double)p->meta.n_chains_lost / fmax(all, (double)p->meta.n_chains_lost));
	return text;
}

/* More than a little was sampled in files that are gone, or another build's: without them no copy of a stack is unwound past them. */
static bool files_are_gone(const struct profile *p)
{
	double gone = 0, all = 0;

	for (size_t i = 0; i < p->n_funcs; i++) {
		const struct profile_func *func = &p->funcs[i];
		const char *trouble = func->module < p->n_modules ? p->modules[func->module].trouble : "";

		all += func->count.n_samples;
		if (trouble[module_remedy_at(trouble)])
			gone += func->count.n_samples;
	}
	return gone > model->little * all;
}

/* Why stacks end before their threads begin, and what helps. */
static const char *cut_cause(const struct profile *p)
{
	const char *chains = p->meta.chains ? p->meta.chains : "";

	if (strcmp(chains, "frame pointers") == 0)
		return "code without frame pointers: record -g dwarf tells it, or a build with "
		       "-fno-omit-frame-pointer";
	if (strcmp(chains, "branch records") == 0)
		return "branch records hold the innermost calls only: record -g dwarf tells it";
	if (files_are_gone(p))
		return "copies of the stack are unwound with the files that ran, some of which are gone: "
		       "give their directory with --symfs";
	return "copies of the stack are too short: record -g dwarf,BYTES copies more";
}

static void note_cut_stacks(const struct profile *p, FILE *f)
{
	double cut = cut_stacks_share(p), open = cut_stacks_open_share(p);
	const char *chains = p->meta.chains ? p->meta.chains : "";

	if (open > model->little)
		fprintf(f,
		        "# A CALLER IS MISSING in the stacks of %.3g%% of the samples, %s:\n"
		        "# BOUNDS hold what is not known: record -g dwarf tells it\n",
		        100 * open,
		        strcmp(chains, "branch records") == 0
		                ? "whose records lack a call"
		                : "which are in code that sets up no frame pointer");
	/* Where no sample has a caller the stacks are not made use of at all. */
	if (!p->n_frames && strcmp(chains, "frame pointers") == 0)
		cut = 1;
	if (cut <= model->little)
		return;
	fprintf(f,
	        "# STACKS ARE CUT: those of %.3g%% of the samples do not reach where their thread begins; "
	        "BOUNDS hold what is not known;\n# %s\n",
	        100 * cut, cut_cause(p));
}

/* Counts of functions of this share are to be known so well. */
static const double least_share = 0.05, close = 0.02;

/* Do samples so many times as often come faster than interrupts do? */
static bool too_often(const struct profile *p, double times)
{
	const struct profile_event *cyc = p->meta.cyc_event < 0 ? NULL : &p->meta.events[p->meta.cyc_event];

	return cyc &&
	       cyc->total * p->meta.cyc_per_event < times * p->meta.skid_median_cyc * (double)cyc->n_samples;
}

/* Two digits of it. */
static const char *roughly(double x, char out[NUMBER_MAX])
{
	double unit = pow(10, fmax(floor(log10(x)) - 1, 0));

	number_grouped(round(x / unit) * unit, out);
	return out;
}

/* What the number of stacks leaves open, and how many leave 2%: as many are below a function of 5% as fall that way. */
static void note_number(const struct profile *p, FILE *f)
{
	bool by_stacks = inclusive_source(p) == INCLUSIVE_STACKS;
	int event = p->meta.insn_event >= 0 ? p->meta.insn_event : p->meta.cyc_event;
	uint64_t n = !by_stacks ? p->n_context_stacks : event < 0 ? 0 : p->meta.events[event].n_samples;
	double half = n ? z_of_90 * sqrt((1 - least_share) / least_share / (double)n) : 0,
	       times = half * half / (close * close);
	char number[NUMBER_MAX], longer[NUMBER_MAX], period[NUMBER_MAX];

	if (times <= 1)
		return;
	number_grouped((double)n, number);
	fprintf(f,
	        "# by %s %s%s a function of %.0f%% is known to %.0f%%%s in nine of ten cases; to %.0f%% by ",
	        number, by_stacks ? "sample" : "burst", sp_plural(n), 100 * least_share, 100 * half,
	        by_stacks ? "" : " at worst", 100 * close);
	if (by_stacks && !too_often(p, times))
		fprintf(f, "a period of %s, or ",
		        roughly(profile_mean_period(&p->meta.events[event]) / times, period));
	fprintf(f, "a run %s times as long%s\n", roughly(times, longer),
	        by_stacks || p->n_frames ? "" : ", or call stacks (record -g)");
}

/* The largest function whose count by stacks is not known to 2%, for its calls are short beside the skid. */
static void note_short_calls(const struct profile *p, FILE *f)
{
	const struct report_opts o = REPORT_OPTS_DEFAULT;
	struct inclusive *all = NULL;
	const struct profile_func *most = NULL;
	double total = total_of(p, &o), weight = least_share * total;
	char name[200];

	if (!report_has_insn(p))
		return;
	all = inclusive_count(p);
	for (size_t i = 0; i < p->n_funcs; i++) {
		if (all[i].hi - all[i].lo <= 2 * close * all[i].insn || all[i].insn < weight)
			continue;
		weight = all[i].insn;
		most = &p->funcs[i];
	}
	free(all);
	if (!most)
		return;
	text_safe(most->name, name, sizeof(name));
	fprintf(f,
	        "# stacks are seen a skid (%.0f cycles) after their cause: calls of '%s', the largest such, "
	        "are "
	        "short beside it,\n"
	        "# and how much of what they call is theirs is known no better than BOUNDS of --children "
	        "tell%s\n",
	        p->meta.skid_median_cyc, name,
	        !p->n_contexts     ? ""
	        : p->meta.n_bursts ? ", by bursts where those tell more"
	                           : ", by paths where those tell more");
}

/* Is there a function of which only bounds are known? */
static bool any_unknown(const struct profile *p)
{
	struct inclusive *all = inclusive_count(p);
	bool any = false;

	for (size_t i = 0; i < p->n_funcs && !any; i++)
		any = all[i].lo > 0 && all[i].hi > all[i].lo &&
		      !isfinite(inclusive_is_of_insn(p) ? all[i].insn : all[i].cyc);
	free(all);
	return any;
}

static void note_flow(const struct profile *p, const struct report_opts *o, FILE *f)
{
	if (o->view == REPORT_CHILDREN && any_unknown(p))
		fputs("# -: hot loops do not call it, it calls itself through others, or paths tell too "
		      "little; "
		      "BOUNDS hold\n# its own count and all that it may have called\n",
		      f);
	if (p->n_frames) {
		fprintf(f,
		        "# call stacks of samples, by %s, are not used: %.3g%% of them lack callers, or have "
		        "wrong ones, and the stacks of bursts do not\n",
		        p->meta.chains, 100 * inclusive_doubted_stacks(p));
		if (cut_stacks_share(p) > model->little)
			fprintf(f, "# %s\n", cut_cause(p));
	}
	if (p->n_context_stacks)
		fprintf(f,
		        "# who called: stacks of %ju bursts where they begin, their paths, and the code's "
		        "flow, "
		        "with BOUNDS of 90%%\n",
		        (uintmax_t)p->n_context_stacks);
	else if (p->n_contexts)
		fprintf(f,
		        "# who called: the code's flow; how a function is divided among several callers is "
		        "told by %s,\n"
		        "# with BOUNDS of 90%%, which hold besides what calls longer than those leave open "
		        "(record -g)\n",
		        p->meta.n_bursts ? "bursts" : "branch records");
	else if (p->meta.n_bursts)
		fprintf(f,
		        "# who called: the code's flow; how a function is divided among several callers it "
		        "can't "
		        "tell, and %ju burst%s are too few\n# to tell it: a recording of a few seconds has "
		        "enough, and record -g has stacks\n",
		        (uintmax_t)p->meta.n_bursts, sp_plural(p->meta.n_bursts));
	else
		fputs("# who called: the code's flow; how a function is divided among several callers it "
		      "can't "
		      "tell (call stacks can: record -g)\n",
		      f);
}

void children_note(const struct profile *p, const struct report_opts *o, FILE *f)
{
	char cut[120];

	if (o->view < REPORT_CHILDREN || o->view > REPORT_CALLEES)
		return;
	if (inclusive_source(p) == INCLUSIVE_COUNTED) {
		fputs("# who called: every call was counted\n", f);
		return;
	}
	if (inclusive_source(p) == INCLUSIVE_STACKS) {
		fprintf(f, "# who called: call stacks of %ju sample%s, by %s%s\n",
		        (uintmax_t)p->meta.n_chains, sp_plural(p->meta.n_chains), p->meta.chains,
		        stacks_cut(p, cut, sizeof(cut)));
		note_number(p, f);
		note_short_calls(p, f);
	} else if (inclusive_source(p) == INCLUSIVE_FLOW) {
		note_flow(p, o, f);
		note_number(p, f);
	} else if (p->meta.chains && *p->meta.chains) {
		fprintf(f,
		        "# who called: nothing tells; no sample's call stack (%s) has a caller that can be "
		        "told%s\n",
		        p->meta.chains,
		        strcmp(p->meta.chains, CHAINS_COPIES) == 0
		                ? ": to unwind them takes the files that ran, under --symfs"
		                : "");
	} else {
		fputs("# who called: nothing tells; this recording has no call stacks (record -g) and no hot "
		      "region\n",
		      f);
	}
	if (p->meta.truth)
		fputs("# the exact counts have no calls: 'skidprof truth -g' counts them\n", f);
	if (!p->n_frames || inclusive_source(p) == INCLUSIVE_STACKS)
		note_cut_stacks(p, f);
	if (o->view != REPORT_CHILDREN && inclusive_source(p) == INCLUSIVE_FLOW)
		note_unknown_parts(p, o, f);
	if (o->view != REPORT_CHILDREN && inclusive_source(p) != INCLUSIVE_STACKS)
		note_inlined(p, o, f);
}
