/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An annotated function as text. */
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/base/err.h"
#include "report/annotate.h"
#include "report/number.h"

enum { TEXT_BYTES = 4096, COLUMNS_BYTES = 160, MAX_MARGIN = 6, WIDE = 100, LEAST_TEXT = 20 };

/* Raw and fixed shares that differ by more of the function are worth a word. */
static const double far_off = 0.05;

/* From so much of a function on, a line is hot, or warm. */
static const double hot_share = 0.1, warm_share = 0.02;

struct out {
	const struct annotation *a;
	const struct annotate_opts *o;
	struct sources *s;
	FILE *f;
	size_t width;
	bool color, wide;
	bool insn, cyc; /* what was counted */
	bool only_time; /* without instructions shares are of time */
	bool relative; /* instructions were not counted, but corrected within regions: both shares are shown */
};

static double share_of_cyc(const struct out *x, const struct profile_count *c)
{
	return x->a->total_cyc > 0 ? c->cyc / x->a->total_cyc : 0;
}

/* What is shown: NAN where it is not known. */
static double share_of(const struct out *x, const struct profile_count *c, int32_t region)
{
	if (x->only_time)
		return share_of_cyc(x, c);
	return x->a->total > 0 ? annotation_share_insn(x->a, c, region) : 0;
}

/* What decides whether it is shown, and in which color. */
static double weight_of(const struct out *x, const struct profile_count *c, int32_t region)
{
	double share = share_of(x, c, region);

	return isnan(share) ? share_of_cyc(x, c) : share;
}

static const char *paint(const struct out *x, double share, bool code)
{
	if (!x->color)
		return "";
	return share >= hot_share ? "\033[31m" : share >= warm_share ? "\033[33m" : code ? "" : "\033[2m";
}

/* One line of output: its columns, and a text that is cut to the room there is. */
static void put(const struct out *x, const char *color, const char *columns, const char *fmt, ...)
        __attribute__((format(printf, 4, 5)));
static void put(const struct out *x, const char *color, const char *columns, const char *fmt, ...)
{
	char text[TEXT_BYTES];
	size_t used = strlen(columns), n;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	n = strlen(text);
	while (n && text[n - 1] == ' ')
		text[--n] = '\0';
	if (x->width && text_width(text) + used > x->width) {
		size_t room = x->width > used + LEAST_TEXT ? x->width - used : LEAST_TEXT, i = 0, at = 0;

		/* The end of a line of code matters less than its beginning. */
		for (; text[i] && at < room; i++)
			at += ((unsigned char)text[i + 1] & 0xc0) != 0x80;
		text[i] = '\0';
	}
	fprintf(x->f, "%s%s%s%s\n", color, columns, text, *color ? "\033[0m" : "");
}

static void safe(const char *text, char out[TEXT_BYTES])
{
	text_safe(text ? text : "", out, TEXT_BYTES);
}

static size_t add(char *out, size_t n, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static size_t add(char *out, size_t n, const char *fmt, ...)
{
	va_list ap;
	int more;

	va_start(ap, fmt);
	more = vsnprintf(out + n, COLUMNS_BYTES - n, fmt, ap);
	va_end(ap);
	return more < 0 || n + (size_t)more >= COLUMNS_BYTES ? n : n + (size_t)more;
}

static void range_words(double lo, double hi, char out[2 * NUMBER_MAX + 2])
{
	char a[NUMBER_MAX], b[NUMBER_MAX];

	number_si(lo, a);
	number_si(hi, b);
	snprintf(out, 2 * NUMBER_MAX + 2, isfinite(lo) ? "%s..%s" : "-", a, b);
}

static void headings(const struct out *x, char out[COLUMNS_BYTES])
{
	const char *counted = report_has_other(x->a->p) ? "EVENTS" : "CYCLES";
	size_t n = add(out, 0, "%6s ",
	               x->only_time && x->a->p->meta.cyc_is_time ? "TIME"
	               : x->relative                             ? "%INSN"
	                                                         : "SHARE");

	if (x->insn)
		n = add(out, n, "%8s ", "EXECUTED");
	if (x->insn && x->wide)
		n = add(out, n, "%7s %15s ", "INSNS", "90% INTERVAL");
	if (x->insn && x->o->raw)
		n = add(out, n, "%7s ", "RAW");
	if (x->cyc && x->relative)
		(void)add(out, n, "%6s ", "%CYC");
	else if (x->cyc && !x->only_time)
		(void)add(out, n, "%6s %5s ", counted, "CPI");
	else if (x->cyc)
		(void)add(out, n, "%7s ", counted);
}

/* executed: NAN for what is no line or instruction. */
static void columns(const struct out *x, const struct profile_count *c, int32_t region, double executed,
                    char out[COLUMNS_BYTES])
{
	char share[NUMBER_MAX], a[NUMBER_MAX], range[2 * NUMBER_MAX + 2];
	size_t n;
	bool none = c->insn == 0 && c->cyc == 0 && c->raw_insn == 0;

	number_percent(share_of(x, c, region), 0, share);
	n = add(out, 0, "%6s ", none || isnan(share_of(x, c, region)) ? "" : share);
	if (x->insn) {
		number_si(executed, a);
		n = add(out, n, "%8s ", none || isnan(executed) ? "" : a);
	}
	if (x->insn && x->wide) {
		number_si(c->insn, a);
		range_words(c->lo, c->hi, range);
		n = add(out, n, "%7s %15s ", none ? "" : a, none ? "" : range);
	}
	if (x->insn && x->o->raw) {
		number_si(c->raw_insn, a);
		n = add(out, n, "%7s ", none ? "" : a);
	}
	if (x->cyc && !x->only_time) {
		double cpi = 1 / report_ipc(x->a->p, c->insn, c->cyc);

		number_percent(x->a->total_cyc > 0 ? c->cyc / x->a->total_cyc : NAN, 0, a);
		n = add(out, n, "%6s ", c->cyc > 0 ? a : "");
		if (x->relative)
			return;
		if (isfinite(cpi))
			(void)add(out, n, "%5.2f ", cpi);
		else
			(void)add(out, n, "%5s ", "");
	} else if (x->cyc) {
		number_scaled(c->cyc, report_events(x->a->p, c->cyc, c->n_samples).rough, range);
		(void)add(out, n, "%7s ", c->cyc > 0 ? range : "");
	}
}

static void blank_columns(const struct out *x, char out[COLUMNS_BYTES])
{
	headings(x, out);
	memset(out, ' ', strlen(out));
}

/* ---- the head ---- */

static void print_head(const struct out *x)
{
	const struct profile *p = x->a->p;
	const struct profile_func *f = &p->funcs[x->a->func];
	const struct profile_count *c = &x->a->nodes[0].count;
	char name[TEXT_BYTES], file[TEXT_BYTES], module[TEXT_BYTES], skid[256];
	char n[NUMBER_MAX], lo[NUMBER_MAX], hi[NUMBER_MAX], ipc[NUMBER_MAX];
	/* Instructions that were not counted are known within a region, and not of all of the program. */
	bool time = x->only_time || (p->meta.relative && !p->meta.truth);
	double all = 0;

	for (size_t i = 0; i < p->n_funcs; i++)
		all += time ? p->funcs[i].count.cyc : p->funcs[i].count.insn;
	safe(report_name(f), name);
	safe(report_base(report_file(p, f->file)), file);
	safe(report_base(report_module(p, f->module)), module);
	fprintf(x->f, "\n%s%s%s", x->color ? "\033[1m" : "", name, x->color ? "\033[0m" : "");
	if (*file && f->line)
		fprintf(x->f, ", %s:%u", file, f->line);
	else if (*file)
		fprintf(x->f, ", %s", file);
	fprintf(x->f, ", in %s\n", *module ? module : "?");
	number_percent(all > 0 ? (time ? c->cyc : c->insn) / all : NAN, 0, n);
	fprintf(x->f, "  %s of the %s, with what is inlined into it", n,
	        !time                 ? "instructions"
	        : p->meta.cyc_is_time ? "time"
	                              : "events");
	if (x->insn) {
		number_si(c->insn, n);
		number_si(c->lo, lo);
		number_si(c->hi, hi);
		fprintf(x->f, ": %s", n);
		if (isfinite(c->lo))
			fprintf(x->f, " (%s..%s)", lo, hi);
	}
	if (isfinite(report_ipc(p, c->insn, c->cyc))) {
		snprintf(ipc, sizeof(ipc), "%.2f", report_ipc(p, c->insn, c->cyc));
		fprintf(x->f, ", IPC %s", ipc);
	}
	fprintf(x->f, "; %s\n", profile_status_word(f->rolled_status));
	if (x->relative && x->a->n_regions > 1)
		fprintf(x->f,
		        "  %%INSN: of its instructions in the same region, as corrected: it runs in %zu, and "
		        "nothing tells\n  how many instructions one ran beside another; %%CYC: of its "
		        "cycles, as "
		        "sampled\n",
		        x->a->n_regions);
	else if (x->relative)
		fputs("  %INSN: of its instructions in its region, as corrected; %CYC: of its cycles, as "
		      "sampled\n",
		      x->f);
	if (f->calls.n_terms && isfinite(f->calls.rolled.insn) && !isfinite(f->calls.n)) {
		number_mean(f->calls.rolled.insn, n);
		fprintf(x->f, "  a call is %s instructions with what is inlined into it\n", n);
	} else if (f->calls.n_terms && isfinite(f->calls.rolled.insn)) {
		number_si(f->calls.n, n);
		number_si(f->calls.lo, lo);
		number_si(f->calls.hi, hi);
		fprintf(x->f, "  called %s times", n);
		if (isfinite(f->calls.lo))
			fprintf(x->f, " (%s..%s)", lo, hi);
		number_mean(f->calls.rolled.insn, n);
		fprintf(x->f, ", a call is %s instructions with what is inlined into it\n", n);
	}
	annotation_skid(x->a, skid, sizeof(skid));
	if (*skid && x->cyc)
		fprintf(x->f, "  %s\n", skid);
	if (*x->a->listing->trouble) {
		safe(x->a->listing->trouble, name);
		fprintf(x->f, "  its code can't be shown: %s\n", name);
	}
}

/* ---- source ---- */

/* Instructions or cycles: a slow line has few of the one and much of the other. */
static bool is_hot(const struct out *x, const struct anno_node *n)
{
	if (x->o->whole)
		return n->count.insn > 0 || n->count.cyc > 0 || n->count.raw_insn > 0;
	return weight_of(x, &n->count, n->region) >= x->o->min_share ||
	       (x->cyc && n->count.cyc > 0 && n->count.cyc >= x->o->min_share * x->a->total_cyc);
}

enum { ITERATIONS_MAX = NUMBER_MAX + 16 };

/* ", N iterations"; "" where they are not counted. */
static void iterations_text(double n, char out[ITERATIONS_MAX])
{
	char text[NUMBER_MAX];

	out[0] = '\0';
	if (!isfinite(n))
		return;
	number_si(n, text);
	snprintf(out, ITERATIONS_MAX, ", %s iterations", text);
}

/* Loops whose last branch back is at this very line. */
static void print_trips(const struct out *x, uint32_t node, const char *indent)
{
	const struct profile *p = x->a->p;
	char blank[COLUMNS_BYTES], mean[NUMBER_MAX], lo[NUMBER_MAX], hi[NUMBER_MAX],
	        iterations[ITERATIONS_MAX];

	for (size_t i = 0; i < x->a->listing->n; i++) {
		const struct profile_trips *loops[ANNO_MAX_LOOPS];
		size_t n = x->a->leaf[i] == node ? annotation_loops(x->a, i, loops) : 0;

		for (size_t k = 0; k < n; k++) {
			const struct profile_insn *at = trips_insn(p, loops[k]);

			if (!at || x->a->listing->insns[i].insn != (uint32_t)(at - p->insns))
				continue;
			number_mean(loops[k]->mean, mean);
			number_mean(loops[k]->lo, lo);
			number_mean(loops[k]->hi, hi);
			iterations_text(loops[k]->iterations, iterations);
			blank_columns(x, blank);
			if (!isfinite(loops[k]->mean)) {
				if (isfinite(loops[k]->iterations))
					put(x, x->color ? "\033[36m" : "", blank, "       %s  loop: %s",
					    indent, iterations + 2);
			} else if (isfinite(loops[k]->lo)) {
				put(x, x->color ? "\033[36m" : "", blank,
				    "       %s  loop: %s trips (%s..%s)%s", indent, mean, lo, hi, iterations);
			} else {
				put(x, x->color ? "\033[36m" : "", blank, "       %s  loop: %s trips%s",
				    indent, mean, iterations);
			}
		}
	}
}

/* Where samples were seen, and where what they count ran, are two things. */
static void print_moved(const struct out *x, const struct anno_node *n, const char *indent)
{
	char blank[COLUMNS_BYTES], raw[NUMBER_MAX], fixed[NUMBER_MAX];
	double seen, ran;

	if (!x->insn || x->a->p->meta.truth || !(x->a->total_raw > 0) || x->a->p->meta.relative)
		return;
	seen = n->own.raw_insn / x->a->total_raw;
	ran = share_of(x, &n->own, n->own_region);
	if (fabs(seen - ran) < far_off)
		return;
	number_percent(seen, 0, raw);
	number_percent(ran, 0, fixed);
	blank_columns(x, blank);
	put(x, x->color ? "\033[36m" : "", blank, "       %s  samples: %s were seen here, %s belong here",
	    indent, raw, fixed);
}

static void indent_of(uint32_t depth, char out[64])
{
	uint32_t n = depth < 15 ? 2 * depth : 30;

	memset(out, ' ', n);
	out[n] = '\0';
}

static void print_source_line(const struct out *x, const struct anno_node *n, const char *indent)
{
	const char *source = source_line(x->s, n->file, n->line);
	char left[COLUMNS_BYTES], text[TEXT_BYTES], file[TEXT_BYTES];

	safe(source, text);
	columns(x, &n->count, n->region, n->executed, left);
	if (source) {
		put(x, paint(x, weight_of(x, &n->count, n->region), true), left, "%6u %s%s", n->line, indent,
		    text);
		return;
	}
	safe(report_base(n->file), file);
	if (n->line)
		put(x, paint(x, weight_of(x, &n->count, n->region), true), left, "%6u %s(%s)", n->line,
		    indent, file);
	else
		put(x, paint(x, weight_of(x, &n->count, n->region), true), left, "%6s %s(no line)", "",
		    indent);
}

/* Nothing but a function put in place, in a file that is not there: the function says all. */
static bool is_empty(const struct out *x, const struct anno_node *n)
{
	return n->own.insn == 0 && n->own.cyc == 0 && n->own.raw_insn == 0 && n->child != NODE_NONE &&
	       n->depth && !source_line(x->s, n->file, n->line);
}

/* A line with what is known of it, and what was put in place in it. */
static void print_node(const struct out *x, uint32_t node)
{
	const struct anno_node *n = &x->a->nodes[node];
	char indent[64], left[COLUMNS_BYTES], name[TEXT_BYTES], file[TEXT_BYTES];

	indent_of(n->depth, indent);
	if (n->is_line && !is_empty(x, n)) {
		print_source_line(x, n, indent);
		print_trips(x, node, indent);
		print_moved(x, n, indent);
	} else if (!n->is_line) {
		columns(x, &n->count, n->region, NAN, left);
		safe(n->name, name);
		safe(report_base(n->file), file);
		put(x, paint(x, weight_of(x, &n->count, n->region), true), left, "     > %s%s, inlined%s%s",
		    indent, name, *file ? " from " : "", file);
	}
	for (uint32_t i = n->child; i != NODE_NONE; i = x->a->nodes[i].next)
		if (is_hot(x, &x->a->nodes[i]))
			print_node(x, i);
}

/* Lines without counts, [from, to]. */
static void print_between(const struct out *x, const char *file, uint32_t from, uint32_t to)
{
	char blank[COLUMNS_BYTES], text[TEXT_BYTES];

	blank_columns(x, blank);
	for (uint32_t line = from; line <= to; line++) {
		const char *source = source_line(x->s, file, line);

		if (!source)
			return;
		safe(source, text);
		put(x, paint(x, 0, false), blank, "%6u %s", line, text);
	}
}

/*
 * What stands between two lines that are shown: all of it, or a few lines at each end.  last = 0: nothing was shown of the
 * file yet; next = 0: nothing is after it.
 */
static void print_gap(const struct out *x, const char *file, uint32_t last, uint32_t next)
{
	uint32_t around = x->o->context;
	char blank[COLUMNS_BYTES];

	if (!last) {
		print_between(x, file, next > around ? next - around : 1, next - 1);
		return;
	}
	if (!next) {
		print_between(x, file, last + 1, last + around);
		return;
	}
	if (x->o->whole || next - last <= 2 * around + 2) {
		print_between(x, file, last + 1, next - 1);
		return;
	}
	blank_columns(x, blank);
	print_between(x, file, last + 1, last + around);
	put(x, paint(x, 0, false), blank, "   ...");
	print_between(x, file, next - around, next - 1);
}

static bool is_asked_for(const struct out *x, const struct anno_node *n)
{
	char path[PATH_MAX];

	if (!n->is_line || n->line != x->o->line)
		return false;
	report_path(NULL, n->file, path, sizeof(path));
	return report_same_end(path, x->o->file) >= x->o->same_end;
}

/* Is a node of the line that was asked for, or around one? */
static bool holds_line(const struct out *x, uint32_t node)
{
	for (uint32_t i = node; i < x->a->nodes[node].end; i++) {
		const struct anno_node *n = &x->a->nodes[i];

		if (is_asked_for(x, n))
			return true;
	}
	return false;
}

static bool is_shown(const struct out *x, uint32_t node)
{
	return x->o->file ? holds_line(x, node) : is_hot(x, &x->a->nodes[node]);
}

static void print_in_order(const struct out *x)
{
	const struct annotation *a = x->a;
	const char *program = report_module(a->p, a->p->funcs[a->func].module);
	const char *file = NULL;
	uint32_t last = 0;

	for (uint32_t i = a->nodes[0].child; i != NODE_NONE; i = a->nodes[i].next) {
		const struct anno_node *n = &a->nodes[i];

		if (!is_shown(x, i))
			continue;
		if (!file || strcmp(file, n->file) != 0) {
			char name[TEXT_BYTES];
			const char *where = source_where(x->s, n->file);

			if (file)
				print_gap(x, file, last, 0);
			safe(where ? where : *n->file ? n->file : "source unknown", name);
			fprintf(x->f, "  %s%s\n", name,
			        source_is_newer(x->s, n->file, program)
			                ? " (newer than the program: lines may have moved)"
			        : where || !*n->file ? ""
			                             : " (not found; see --source-dir)");
			file = n->file;
			last = 0;
		}
		if (n->line && n->line != last)
			print_gap(x, file, last, n->line);
		print_node(x, i);
		last = n->line;
	}
	if (file)
		print_gap(x, file, last, 0);
}

/* ---- lines by share ---- */

struct hot_line {
	uint32_t node;
	double share;
};

static int by_share(const void *l, const void *r)
{
	const struct hot_line *a = l, *b = r;

	return a->share != b->share ? (a->share > b->share ? -1 : 1)
	                            : (a->node > b->node) - (a->node < b->node);
}

/* The function that a line is of. */
static const struct anno_node *function_of(const struct annotation *a, uint32_t node)
{
	while (a->nodes[node].is_line)
		node = a->nodes[node].parent;
	return &a->nodes[node];
}

static int print_by_share(const struct out *x)
{
	struct hot_line *lines = calloc(x->a->n_nodes + 1, sizeof(*lines));
	size_t n = 0;

	if (!lines)
		return sp_fail(SP_ENOMEM, "out of memory for %zu lines", x->a->n_nodes);
	for (uint32_t i = 0; i < x->a->n_nodes; i++) {
		double share = weight_of(x, &x->a->nodes[i].own, x->a->nodes[i].own_region);

		if (x->a->nodes[i].is_line && share > 0 && (x->o->whole || share >= x->o->min_share))
			lines[n++] = (struct hot_line){ i, share };
	}
	qsort(lines, n, sizeof(*lines), by_share);
	for (size_t i = 0; i < n; i++) {
		const struct anno_node *line = &x->a->nodes[lines[i].node],
		                       *f = function_of(x->a, lines[i].node);
		char left[COLUMNS_BYTES], text[TEXT_BYTES], file[256], name[TEXT_BYTES];

		columns(x, &line->own, line->own_region, line->executed, left);
		safe(source_line(x->s, line->file, line->line), text);
		text_safe(report_base(line->file), file, sizeof(file));
		safe(f == &x->a->nodes[0] ? "" : f->name, name);
		put(x, paint(x, lines[i].share, true), left, "%s:%u %s%s%s%s", file, line->line,
		    *name ? "[" : "", name, *name ? "] " : "", text + strspn(text, " "));
		print_trips(x, lines[i].node, "");
	}
	free(lines);
	return 0;
}

/* ---- instructions ---- */

static const struct profile_count nothing = { .lo = NAN, .hi = NAN };

static const struct profile_count *count_of(const struct out *x, size_t i)
{
	uint32_t at = x->a->listing->insns[i].insn;

	return at == UINT32_MAX ? &nothing : &x->a->p->insns[at].count;
}

static bool is_in(const struct profile_trips *t, const struct profile_trips *const *loops, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (loops[i] == t)
			return true;
	return false;
}

/* Brackets of the loops around an instruction, the outermost at the left. */
static void margin(const struct out *x, size_t i, char out[MAX_MARGIN + 1])
{
	const struct annotation *a = x->a;
	const struct profile_trips *here[ANNO_MAX_LOOPS], *before[ANNO_MAX_LOOPS], *after[ANNO_MAX_LOOPS];
	size_t n = annotation_loops(a, i, here), n_before = i ? annotation_loops(a, i - 1, before) : 0;
	size_t n_after = i + 1 < a->listing->n ? annotation_loops(a, i + 1, after) : 0;
	size_t width = a->max_depth < MAX_MARGIN ? a->max_depth : MAX_MARGIN;

	memset(out, ' ', width);
	out[width] = '\0';
	for (size_t k = 0; k < n && k < width; k++) {
		const struct profile_trips *t = here[n - 1 - k];

		out[k] = !is_in(t, before, n_before) ? '/' : !is_in(t, after, n_after) ? '\\' : '|';
	}
}

static void print_line_of(const struct out *x, size_t i)
{
	const struct annotation *a = x->a;
	const struct anno_node *line = &a->nodes[a->leaf[i]], *f = function_of(a, a->leaf[i]);
	char blank[COLUMNS_BYTES], text[TEXT_BYTES], file[256], name[TEXT_BYTES], loops[MAX_MARGIN + 1];

	if (!line->line)
		return;
	blank_columns(x, blank);
	margin(x, i, loops);
	for (char *c = loops; *c; c++)
		*c = *c == '|' || *c == '\\' ? '|' : ' ';
	safe(source_line(x->s, line->file, line->line), text);
	text_safe(report_base(line->file), file, sizeof(file));
	safe(f == &a->nodes[0] ? "" : f->name, name);
	put(x, x->color ? "\033[34m" : "", blank, "%s %s:%u %s%s%s%s", loops, file, line->line,
	    *name ? "[" : "", name, *name ? "] " : "", text + strspn(text, " "));
}

/* Of loops that have their header here. */
static void print_loop_heads(const struct out *x, size_t i)
{
	const struct annotation *a = x->a;
	const struct profile_trips *loops[ANNO_MAX_LOOPS];
	size_t n = annotation_loops(a, i, loops);
	char blank[COLUMNS_BYTES], mean[NUMBER_MAX], lo[NUMBER_MAX], hi[NUMBER_MAX],
	        iterations[ITERATIONS_MAX];

	for (size_t k = n; k-- > 0;) {
		const struct profile_trips *t = loops[k];

		if (a->p->blocks[t->header].vaddr != a->listing->insns[i].vaddr)
			continue;
		number_mean(t->mean, mean);
		number_mean(t->lo, lo);
		number_mean(t->hi, hi);
		iterations_text(t->iterations, iterations);
		blank_columns(x, blank);
		if (isfinite(t->mean) && isfinite(t->lo))
			put(x, x->color ? "\033[36m" : "", blank, "%*s loop of depth %u: %s trips (%s..%s)%s",
			    (int)(n - 1 - k), "", t->depth, mean, lo, hi, iterations);
		else if (isfinite(t->mean))
			put(x, x->color ? "\033[36m" : "", blank, "%*s loop of depth %u: %s trips%s",
			    (int)(n - 1 - k), "", t->depth, mean, iterations);
		else
			put(x, x->color ? "\033[36m" : "", blank,
			    "%*s loop of depth %u: how often it is entered is not known%s", (int)(n - 1 - k),
			    "", t->depth, iterations);
	}
}

static void insn_notes(const struct out *x, size_t i, char *out, size_t size)
{
	const struct listing_insn *l = &x->a->listing->insns[i];
	const struct profile_way *taken = annotation_taken(x->a, i);
	struct profile_range share = { NAN, NAN, NAN };
	char a[NUMBER_MAX], lo[NUMBER_MAX], hi[NUMBER_MAX], stall[64], name[256];
	size_t n = 0;

	out[0] = '\0';
	if (*l->goes_to) {
		text_safe(l->goes_to, name, sizeof(name));
		n += (size_t)snprintf(out + n, size - n, "  -> %s", name);
	}
	if (taken)
		profile_way_share(x->a->p, taken, &share);
	if (isfinite(share.mean) && count_of(x, i)->insn > 0) {
		number_percent(share.mean, 0, a);
		number_percent(share.lo, 0, lo);
		number_percent(share.hi, 0, hi);
		n += (size_t)snprintf(out + n, size - n, "  taken %s", a);
		if (isfinite(share.lo))
			n += (size_t)snprintf(out + n, size - n, " (%s..%s)", lo, hi);
	}
	annotation_stall(x->a, i, stall, sizeof(stall));
	if (*stall)
		snprintf(out + n, size - n, "  %s", stall);
}

static void print_insn(const struct out *x, size_t i)
{
	const struct listing_insn *l = &x->a->listing->insns[i];
	const struct profile_count *c = count_of(x, i);
	char left[COLUMNS_BYTES], text[256], notes[512], loops[MAX_MARGIN + 1];

	columns(x, c, annotation_region(x->a, i), c->insn, left);
	text_safe(*l->text ? l->text : "?", text, sizeof(text));
	margin(x, i, loops);
	insn_notes(x, i, notes, sizeof(notes));
	put(x, paint(x, weight_of(x, c, annotation_region(x->a, i)), c->insn > 0 || c->cyc > 0), left,
	    "%s %6" PRIx64 "  %-36s%s", loops, l->vaddr, text, notes);
}

static bool insn_is_hot(const struct out *x, size_t i)
{
	const struct annotation *a = x->a;

	if (x->o->file) {
		for (uint32_t n = a->leaf[i]; n != NODE_NONE; n = a->nodes[n].parent)
			if (is_asked_for(x, &a->nodes[n]))
				return true;
		return false;
	}
	/* A block is shown whole. */
	for (size_t k = i; k < a->listing->n; k++) {
		if (weight_of(x, count_of(x, k), annotation_region(x->a, k)) >= x->o->min_share / 4)
			return true;
		if (k + 1 == a->listing->n || a->block[k + 1] != a->block[i] || a->block[i] == UINT32_MAX)
			break;
	}
	for (size_t k = i; k-- > 0 && a->block[k] == a->block[i] && a->block[i] != UINT32_MAX;)
		if (weight_of(x, count_of(x, k), annotation_region(x->a, k)) >= x->o->min_share / 4)
			return true;
	return false;
}

static void print_assembly(const struct out *x)
{
	const struct annotation *a = x->a;
	uint32_t leaf = NODE_NONE;
	char blank[COLUMNS_BYTES];
	bool hidden = false;

	blank_columns(x, blank);
	for (size_t i = 0; i < a->listing->n; i++) {
		if (!x->o->whole && !insn_is_hot(x, i)) {
			hidden = true;
			continue;
		}
		if (hidden)
			put(x, paint(x, 0, false), blank, "...");
		print_loop_heads(x, i);
		if (hidden || a->leaf[i] != leaf)
			print_line_of(x, i);
		hidden = false;
		leaf = a->leaf[i];
		print_insn(x, i);
	}
	if (hidden)
		put(x, paint(x, 0, false), blank, "...");
}

int annotate_text(const struct annotation *a, const struct annotate_opts *o, struct sources *s,
                  const struct term *term)
{
	const struct profile *p = a->p;
	struct out x = { .a = a,
		         .o = o,
		         .s = s,
		         .f = term->f,
		         .width = (size_t)term->width,
		         .color = term->color,
		         .wide = !term->width || term->width >= WIDE,
		         .insn = report_has_insn(p) && !(p->meta.relative && !p->meta.truth),
		         .cyc = report_has_cyc(p) || report_has_other(p) };
	bool source = o->source && a->listing->has_lines;
	char head[COLUMNS_BYTES];
	int err = 0;

	x.only_time = !report_has_insn(p) && !(p->meta.relative && a->total > 0);
	x.relative = !x.only_time && p->meta.relative && !p->meta.truth;
	print_head(&x);
	if (o->source && !a->listing->has_lines && !*a->listing->trouble)
		fputs("  no debug information tells source lines\n", x.f);
	headings(&x, head);
	if (source) {
		fprintf(x.f, "\n%s  LINE SOURCE\n", head);
		if (o->hot)
			err = print_by_share(&x);
		else
			print_in_order(&x);
	}
	if (err == 0 && (o->assembly || !source)) {
		fprintf(x.f, "\n%s%*s ADDRESS INSTRUCTION\n", head,
		        (int)(a->max_depth < MAX_MARGIN ? a->max_depth : MAX_MARGIN), "");
		print_assembly(&x);
	}
	return err;
}
