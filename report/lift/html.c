/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/lift/html.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>

#include "profiler/base/draft.h"
#include "profiler/base/err.h"
#include "report/number.h"

enum {
	ROW_PX = 34,      /* of a box */
	LABEL_PX = 130,   /* left of the boxes */
	BOX_PX = 620,     /* of their axis */
	SCATTER_PX = 560, /* a square */
	MARGIN_PX = 60,
};

/* Errors beyond this are drawn at the edge. */
static const double most_error = 1.0;

static const char *const colours[] = { "#1b6ca8", "#d1495b", "#2e933c", "#8d6a9f", "#e08e0b",
	                               "#3b3b98", "#00798c", "#7a4419", "#5c5c5c", "#b5179e" };

static const char style[] = "body{font:14px sans-serif;margin:2em;max-width:72em;color:#222}"
                            "table{border-collapse:collapse;margin:1em 0}"
                            "td,th{padding:.2em .7em;text-align:right;border-bottom:1px solid #ddd}"
                            "td:first-child,th:first-child{text-align:left;font-family:monospace}"
                            "svg{display:block;margin:1em 0}text{font:12px sans-serif}.out{color:#999}";

static const char *entity(char c)
{
	switch (c) {
	case '<':
		return "&lt;";
	case '>':
		return "&gt;";
	case '&':
		return "&amp;";
	case '"':
		return "&quot;";
	case '\'':
		return "&#39;";
	default:
		return NULL;
	}
}

void html_text(FILE *f, const char *text)
{
	char *safe = text_safe_new(text);

	for (const char *s = safe ? safe : "?"; *s; s++) {
		const char *e = entity(*s);

		if (e)
			fputs(e, f);
		else
			fputc(*s, f);
	}
	free(safe);
}

static bool is_drawn(const struct lift_kernel *k, size_t tool)
{
	return lift_judges(k) && isfinite(k->sums[tool].error);
}

static const char *colour(size_t tool)
{
	return colours[tool % (sizeof(colours) / sizeof(colours[0]))];
}

static double box_x(double error)
{
	return LABEL_PX +
	       BOX_PX * (fmax(-most_error, fmin(most_error, error)) + most_error) / (2 * most_error);
}

/* Signed errors of the kernels that count, in order. */
static size_t errors_of(const struct lift *l, size_t tool, double *out)
{
	size_t n = 0;

	for (size_t i = 0; i < l->n_kernels; i++)
		if (is_drawn(&l->kernels[i], tool))
			out[n++] = l->kernels[i].sums[tool].error;
	gsl_sort(out, 1, n);
	return n;
}

static void put_line(FILE *f, double x1, double y1, double x2, double y2, const char *stroke)
{
	fprintf(f, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"%s\"/>\n", x1, y1, x2, y2,
	        stroke);
}

static void put_box(FILE *f, const double *sorted, size_t n, double y, const char *stroke)
{
	double q1 = box_x(gsl_stats_quantile_from_sorted_data(sorted, 1, n, 0.25));
	double median = box_x(gsl_stats_quantile_from_sorted_data(sorted, 1, n, 0.5));
	double q3 = box_x(gsl_stats_quantile_from_sorted_data(sorted, 1, n, 0.75));

	put_line(f, box_x(sorted[0]), y, box_x(sorted[n - 1]), y, stroke);
	put_line(f, box_x(sorted[0]), y - 5, box_x(sorted[0]), y + 5, stroke);
	put_line(f, box_x(sorted[n - 1]), y - 5, box_x(sorted[n - 1]), y + 5, stroke);
	fprintf(f, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"20\" fill=\"#fff\" stroke=\"%s\"/>\n",
	        q1, y - 10, fmax(1, q3 - q1), stroke);
	fprintf(f,
	        "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"%s\" stroke-width=\"3\"/>\n",
	        median, y - 10, median, y + 10, stroke);
}

static void put_box_axis(FILE *f, double height)
{
	static const double ticks[] = { -1, -0.5, -0.2, 0, 0.2, 0.5, 1 };

	for (size_t i = 0; i < sizeof(ticks) / sizeof(ticks[0]); i++) {
		put_line(f, box_x(ticks[i]), 0, box_x(ticks[i]), height, ticks[i] == 0 ? "#222" : "#ddd");
		fprintf(f, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%+.0f%%</text>\n",
		        box_x(ticks[i]), height + 16, 100 * ticks[i]);
	}
}

static void put_boxes(FILE *f, const struct lift *l, double *scratch)
{
	double height = ROW_PX * (double)l->n_tools;

	fprintf(f,
	        "<h2>Errors of each tool</h2><p>Predicted over measured cycles, less one: least, quartiles, "
	        "median, "
	        "most; beyond %.0f%% drawn at the edge.</p>\n<svg width=\"%d\" height=\"%.0f\">\n",
	        100 * most_error, LABEL_PX + BOX_PX + MARGIN_PX, height + 24);
	put_box_axis(f, height);
	for (size_t t = 0; t < l->n_tools; t++) {
		double y = ROW_PX * ((double)t + 0.5);
		size_t n = errors_of(l, t, scratch);

		fprintf(f, "<text x=\"0\" y=\"%.1f\">", y + 4);
		html_text(f, l->tools[t].name);
		fprintf(f, " (%zu)</text>\n", n);
		if (n)
			put_box(f, scratch, n, y, colour(t));
	}
	fputs("</svg>\n", f);
}

/* The decades that hold all points. */
struct axis {
	double lo, hi; /* log10 */
};

static struct axis find_axis(const struct lift *l)
{
	struct axis a = { INFINITY, -INFINITY };

	for (size_t i = 0; i < l->n_kernels; i++)
		for (size_t t = 0; t < l->n_tools; t++) {
			const struct lift_kernel *k = &l->kernels[i];

			if (!is_drawn(k, t) || !(k->sums[t].cyc > 0))
				continue;
			a.lo = fmin(a.lo, floor(log10(fmin(k->cyc, k->sums[t].cyc))));
			a.hi = fmax(a.hi, ceil(log10(fmax(k->cyc, k->sums[t].cyc))));
		}
	if (a.hi <= a.lo)
		a.hi = a.lo + 1;
	return a;
}

static double scatter_px(const struct axis *a, double cyc)
{
	return SCATTER_PX * (log10(cyc) - a->lo) / (a->hi - a->lo);
}

static void put_point(FILE *f, const struct axis *a, const struct lift_kernel *k, const struct tool *t,
                      size_t tool)
{
	fprintf(f, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" fill=\"%s\" fill-opacity=\"0.6\"><title>",
	        MARGIN_PX + scatter_px(a, k->cyc), SCATTER_PX - scatter_px(a, k->sums[tool].cyc),
	        colour(tool));
	html_text(f, k->name);
	fputs(", ", f);
	html_text(f, t->name);
	fprintf(f, " %+.1f%%</title></circle>\n", 100 * k->sums[tool].error);
}

static void put_scatter_axes(FILE *f, const struct axis *a)
{
	for (int i = 0; i <= (int)(a->hi - a->lo); i++) {
		double d = a->lo + i, px = scatter_px(a, pow(10, d));

		put_line(f, MARGIN_PX + px, 0, MARGIN_PX + px, SCATTER_PX, "#ddd");
		put_line(f, MARGIN_PX, SCATTER_PX - px, MARGIN_PX + SCATTER_PX, SCATTER_PX - px, "#ddd");
		fprintf(f, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">1e%.0f</text>\n", MARGIN_PX + px,
		        SCATTER_PX + 16, d);
		fprintf(f, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">1e%.0f</text>\n", MARGIN_PX - 6,
		        SCATTER_PX - px + 4, d);
	}
	put_line(f, MARGIN_PX, SCATTER_PX, MARGIN_PX + SCATTER_PX, 0, "#222");
	fprintf(f, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">measured cycles</text>\n",
	        MARGIN_PX + SCATTER_PX, SCATTER_PX + 34);
}

static void put_scatter(FILE *f, const struct lift *l)
{
	struct axis a = find_axis(l);

	fputs("<h2>Predicted against measured cycles</h2>\n<p>", f);
	for (size_t t = 0; t < l->n_tools; t++) {
		fprintf(f, "<span style=\"color:%s\">&#9679; ", colour(t));
		html_text(f, l->tools[t].name);
		fputs("</span> ", f);
	}
	if (!isfinite(a.lo)) {
		fputs("</p><p>No kernel was measured.</p>\n", f);
		return;
	}
	fprintf(f, "</p>\n<svg width=\"%d\" height=\"%d\">\n", 2 * MARGIN_PX + SCATTER_PX, SCATTER_PX + 40);
	put_scatter_axes(f, &a);
	for (size_t i = 0; i < l->n_kernels; i++)
		for (size_t t = 0; t < l->n_tools; t++)
			if (is_drawn(&l->kernels[i], t) && l->kernels[i].sums[t].cyc > 0)
				put_point(f, &a, &l->kernels[i], &l->tools[t], t);
	fputs("</svg>\n", f);
}

static void put_percent(FILE *f, double x, int is_signed)
{
	char s[NUMBER_MAX];

	number_percent(x, is_signed, s);
	fprintf(f, "<td>%s</td>", s);
}

static void put_grouped(FILE *f, double x)
{
	char s[NUMBER_MAX];

	number_grouped(x, s);
	fprintf(f, "<td>%s</td>", s);
}

static void put_scores(FILE *f, const struct lift *l)
{
	fputs("<h2>Tools</h2>\n<table><tr><th>tool</th><th>version</th><th>kernels</th><th>out</th><th>mean "
	      "error</th>"
	      "<th>25%</th><th>median</th><th>75%</th><th>worst</th><th>tau</th><th>coverage</th></tr>\n",
	      f);
	for (size_t t = 0; t < l->n_tools; t++) {
		const struct lift_score *s = &l->scores[t];

		fputs("<tr><td>", f);
		html_text(f, l->tools[t].name);
		fputs("</td><td>", f);
		html_text(f, l->tools[t].version);
		fprintf(f, "</td><td>%zu</td><td>%zu</td>", s->n_kernels, s->n_out);
		put_percent(f, s->mean, 0);
		put_percent(f, s->q1, 0);
		put_percent(f, s->median, 0);
		put_percent(f, s->q3, 0);
		put_percent(f, s->worst, 0);
		if (isfinite(s->tau))
			fprintf(f, "<td>%.2f</td>", s->tau);
		else
			fputs("<td>-</td>", f);
		put_percent(f, s->coverage, 0);
		fputs("</tr>\n", f);
	}
	fputs("</table>\n", f);
}

/* How far off it is; where that can't be told, its cycles an instruction. */
static void put_tool(FILE *f, const struct lift *l, const struct lift_sum *s)
{
	if (!l->relative)
		put_percent(f, s->error, 1);
	else if (isfinite(s->cpi))
		fprintf(f, "<td>%.3f</td>", s->cpi);
	else
		fputs("<td>-</td>", f);
}

/* What is known of how often blocks ran. */
static const char *executions_are(const struct lift *l)
{
	if (l->exact)
		return "executions exact";
	return l->relative ? "executions known of each other only: tools by cycles an instruction"
	                   : "executions of a corrected profile";
}

static void put_kernels(FILE *f, const struct lift *l)
{
	fputs("<h2>Kernels</h2>\n<table><tr><th>kernel</th><th>measured</th>", f);
	for (size_t t = 0; t < l->n_tools; t++) {
		fputs("<th>", f);
		html_text(f, l->tools[t].name);
		fputs("</th>", f);
	}
	fputs("</tr>\n", f);
	for (size_t i = 0; i < l->n_kernels; i++) {
		const struct lift_kernel *k = &l->kernels[i];

		fprintf(f, "<tr%s><td>", lift_judges(k) ? "" : " class=\"out\"");
		html_text(f, k->name);
		fputs("</td>", f);
		put_grouped(f, k->cyc);
		for (size_t t = 0; t < l->n_tools; t++)
			put_tool(f, l, &k->sums[t]);
		fputs("</tr>\n", f);
	}
	fputs("</table>\n<p>Grey: not in the averages, because its data are not in the first-level cache or "
	      "its executions "
	      "are not to be trusted.</p>\n",
	      f);
}

static int put_page(FILE *f, const struct lift *l)
{
	double *scratch = calloc(l->n_kernels + 1, sizeof(*scratch));

	if (!scratch)
		return sp_fail(SP_ENOMEM, "out of memory for a page");
	fprintf(f,
	        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>skidprof "
	        "lift</title>"
	        "<style>%s</style></head><body>\n<h1>Block predictions lifted to kernels</h1>\n<p>Predicted "
	        "for ",
	        style);
	html_text(f, *l->target.cpu ? l->target.cpu : "an unknown core");
	fprintf(f, "; %s; %zu kernels.</p>\n", executions_are(l), l->n_kernels);
	put_scores(f, l);
	if (!l->relative) {
		put_boxes(f, l, scratch);
		put_scatter(f, l);
	}
	put_kernels(f, l);
	fputs("</body></html>\n", f);
	free(scratch);
	return 0;
}

static int put_lift(const void *l, FILE *f)
{
	return put_page(f, l);
}

int lift_html(const struct lift *l, const char *path)
{
	return draft_write(path, put_lift, l);
}
