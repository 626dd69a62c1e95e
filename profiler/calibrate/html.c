/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A calibration as one page: a plot for each cliff, nothing to be fetched from anywhere. */
#include "profiler/calibrate/calibration.h"

#include <math.h>
#include <string.h>

#include "profiler/base/draft.h"

enum { WIDTH = 420, HEIGHT = 220, LEFT = 52, RIGHT = 8, TOP_EDGE = 8, BOTTOM = 24 };

static const char head[] =
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>skidprof calibrate</title>\n"
        "<style>body{font:14px sans-serif;margin:1em auto;max-width:92em;padding:0 1em}"
        "figure{display:inline-block;margin:.5em;vertical-align:top;width:420px}"
        "figcaption{font-size:13px}svg{background:#fafafa;border:1px solid #ddd}"
        "table{border-collapse:collapse}td,th{padding:.1em .7em;text-align:right}"
        "td:first-child,th:first-child{text-align:left}"
        ".real{stroke:#222;fill:none;stroke-width:1.5}.before{stroke:#c60;fill:none;stroke-dasharray:5 3}"
        ".after{stroke:#06c;fill:none}.knee{stroke:#090;stroke-dasharray:2 2}text{font-size:10px;fill:#555}"
        "@media(prefers-color-scheme:dark){body{background:#222;color:#ddd}}</style></head><body>\n";

static void put_text(const char *s, FILE *f)
{
	for (; *s; s++) {
		switch (*s) {
		case '<':
			fputs("&lt;", f);
			break;
		case '>':
			fputs("&gt;", f);
			break;
		case '&':
			fputs("&amp;", f);
			break;
		case '"':
			fputs("&quot;", f);
			break;
		default:
			/* A processor's name comes from its maker. */
			fputc((unsigned char)*s < ' ' ? ' ' : *s, f);
		}
	}
}

struct axes {
	double x0, x1, y1; /* y begins at 0 */
};

static double x_of(const struct axes *a, double x)
{
	return LEFT + (x - a->x0) / (a->x1 > a->x0 ? a->x1 - a->x0 : 1) * (WIDTH - LEFT - RIGHT);
}

static double y_of(const struct axes *a, double y)
{
	return HEIGHT - BOTTOM - y / (a->y1 > 0 ? a->y1 : 1) * (HEIGHT - BOTTOM - TOP_EDGE);
}

static void put_curve(const struct cliff_curve *c, const struct axes *a, const char *cls, FILE *f)
{
	fprintf(f, "<polyline class=\"%s\" points=\"", cls);
	for (size_t i = 0; i < c->n; i++)
		fprintf(f, "%.1f,%.1f ", x_of(a, c->pressure[i]), y_of(a, c->response[i]));
	fputs("\"/>", f);
}

static double highest(const struct cliff_curve *c)
{
	double most = 0;

	for (size_t i = 0; i < c->n; i++)
		most = fmax(most, c->response[i]);
	return most;
}

static void put_plot(const struct calibration_row *r, FILE *f)
{
	const struct cliff_curve *real = &r->curve;
	const struct fit_row *fit = r->fit;
	struct axes a = { real->pressure[0], real->pressure[real->n - 1], highest(real) };

	if (fit)
		a.y1 = fmax(a.y1, fmax(highest(&fit->before), highest(&fit->after)));
	fprintf(f, "<svg width=\"%d\" height=\"%d\" role=\"img\">", WIDTH, HEIGHT);
	fprintf(f, "<text x=\"2\" y=\"18\">%.4g cyc</text><text x=\"2\" y=\"%d\">0</text>", a.y1,
	        HEIGHT - BOTTOM);
	fprintf(f,
	        "<text x=\"%d\" y=\"%d\">%.0f</text><text x=\"%d\" y=\"%d\" text-anchor=\"end\">%.0f</text>",
	        LEFT, HEIGHT - 8, a.x0, WIDTH - RIGHT, HEIGHT - 8, a.x1);
	put_curve(real, &a, "real", f);
	if (fit) {
		put_curve(&fit->before, &a, "before", f);
		put_curve(&fit->after, &a, "after", f);
	}
	if (r->cliff->cls == CLIFF_CAPACITY && isfinite(r->real.value) && r->real.value <= a.x1)
		fprintf(f, "<line class=\"knee\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\"/>",
		        x_of(&a, r->real.value), x_of(&a, r->real.value), TOP_EDGE, HEIGHT - BOTTOM);
	fputs("</svg>", f);
}

static void put_figure(const struct calibration_row *r, FILE *f)
{
	fputs("<figure>", f);
	put_plot(r, f);
	fputs("<figcaption><b>", f);
	put_text(r->cliff->name, f);
	fprintf(f, "</b> (%s%s): ", cliff_verdict_name(r->real.verdict),
	        r->is_disturbed ? ", as the core was shared" : "");
	put_text(r->cliff->isolates, f);
	if (isfinite(r->real.value))
		fprintf(f, "; %.5g ", r->real.value);
	put_text(r->cliff->unit, f);
	if (r->fit && isfinite(r->fit->after_is.value))
		fprintf(f, ", model %.5g before, %.5g after", r->fit->before_is.value,
		        r->fit->after_is.value);
	fputs("</figcaption></figure>\n", f);
}

static void put_summary(const char *what, const struct fit_summary *s, FILE *f)
{
	fprintf(f,
	        "<tr><td>%s</td><td>%.2f%%</td><td>%.2f%%</td><td>%.2f%%</td><td>%+.2f%%</td><td>%+.2f%%</"
	        "td></tr>\n",
	        what, 100 * s->mean, 100 * s->mean_continuous, 100 * s->median, 100 * s->worst,
	        100 * s->signed_mean);
}

static int put_page(const void *calibration, FILE *f)
{
	const struct calibration *c = calibration;
	char company[200];

	fputs(head, f);
	fputs("<h1>", f);
	put_text(c->cpu, f);
	fprintf(f,
	        "</h1>\n<p>%.2f GHz. Pressure against response in cycles: <b>black</b> the processor, orange "
	        "the core ",
	        c->core_ghz);
	put_text(c->fit.core, f);
	fputs(" before the fit, blue after it; green the inferred change point.</p>\n", f);
	calibration_company(c, company, sizeof(company));
	fputs("<p>", f);
	put_text(company, f);
	fputs("</p>\n", f);
	fprintf(f,
	        "<table><tr><th>%zu clean rows</th><th>mean |error|</th><th>continuous</th><th>median</th>"
	        "<th>worst</th><th>signed mean</th></tr>\n",
	        c->fit.after.n);
	put_summary("before", &c->fit.before, f);
	put_summary("after", &c->fit.after, f);
	fputs("</table>\n", f);
	for (size_t i = 0; i < c->n; i++)
		if (!c->rows[i].lacks && c->rows[i].curve.n)
			put_figure(&c->rows[i], f);
	fputs("</body></html>\n", f);
	return 0;
}

int calibration_html(const struct calibration *c, const char *path)
{
	return draft_write(path, put_page, c);
}
