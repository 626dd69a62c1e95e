/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A calibration as text, JSON and CSV. */
#include "profiler/calibrate/calibration.h"

#include <math.h>
#include <stdlib.h>

#include <jansson.h>

#include "profiler/base/err.h"

static bool has_value(const struct calibration_row *r)
{
	return !r->lacks && isfinite(r->real.value);
}

/* Counts as they are, anything else to four digits: more is noise. */
static void put_number(const struct cliff *c, double x, int width, FILE *f)
{
	int digits = c->integer ? 0 : fabs(x) < 1 ? 4 : fabs(x) < 10 ? 3 : fabs(x) < 100 ? 2 : 1;

	fprintf(f, "%*.*f", width, digits, x);
}

const char *calibration_note(const struct calibration_row *r)
{
	if (r->lacks)
		return r->lacks;
	if (r->behind)
		return r->behind;
	return r->is_disturbed ? "the core was shared whenever it was measured" : NULL;
}

void calibration_company(const struct calibration *c, char *out, size_t size)
{
	const struct cliff_company *w = &c->company;

	if (!w->window)
		snprintf(out, size, "Whether the core is shared with a neighbour can't be told here.");
	else if (w->share < 0.0005)
		snprintf(out, size,
		         "The core was not seen to be shared: some %u instructions fit into it at all times.",
		         w->window);
	else
		snprintf(
		        out, size,
		        "The core was shared with a neighbour %.1f%% of the time; %ju runs were taken again, "
		        "%.1f s waited.",
		        100 * w->share, (uintmax_t)w->n_again, w->waited_s);
}

static void put_row(const struct calibration_row *r, FILE *f)
{
	const struct cliff *c = r->cliff;

	fprintf(f, "%-18s %-10s", c->name, cliff_class_name(c->cls));
	if (has_value(r)) {
		put_number(c, r->real.value, 9, f);
		fprintf(f, " %-9s", c->unit);
		put_number(c, r->real.lo, 9, f);
		fputs(" ..", f);
		put_number(c, r->real.hi, 9, f);
	} else {
		fprintf(f, "%9s %-9s%9s   %9s", "-", c->unit, "", "");
	}
	fprintf(f, "  %s", r->lacks ? "-" : cliff_verdict_name(r->real.verdict));
	if (calibration_note(r))
		fprintf(f, r->behind ? " (that is %s)" : " (%s)", calibration_note(r));
	fputc('\n', f);
}

static void put_error(double e, int width, FILE *f)
{
	if (isnan(e))
		fprintf(f, "%*s ", width, "-");
	else
		fprintf(f, "%+*.2f%%", width, 100 * e);
}

static void put_value(const struct cliff *c, double x, FILE *f)
{
	if (isfinite(x))
		put_number(c, x, 10, f);
	else
		fprintf(f, "%10s", "-");
}

static void put_fit_row(const struct fit_row *r, FILE *f)
{
	/* The model's counts are counts, its rates are not. */
	fprintf(f, "%-18s", r->cliff->name);
	put_value(r->cliff, r->real_is.value, f);
	put_value(r->cliff, r->before_is.value, f);
	put_value(r->cliff, r->after_is.value, f);
	put_error(r->err_before, 11, f);
	put_error(r->err_after, 9, f);
	fputs(r->counts ? "\n" : "  not counted\n", f);
}

static void put_summary(const char *when, const struct fit_summary *s, FILE *f)
{
	fprintf(f,
	        "%s: mean absolute error %.2f%% over %zu clean rows, %.2f%% over the %zu of them that are "
	        "cycles, "
	        "bytes or rates; median "
	        "%.2f%%, worst %+.2f%% (%s), signed mean %+.2f%%\n",
	        when, 100 * s->mean, s->n, 100 * s->mean_continuous, s->n_continuous, 100 * s->median,
	        100 * s->worst, s->worst_name, 100 * s->signed_mean);
}

static void put_fit(const struct calibration_fit *fit, FILE *f)
{
	if (!fit->rows)
		return;
	fprintf(f, "\nThe simulated core %s, as it is and fitted (%.0f s):\n\n%-18s%10s%10s%10s%12s%10s\n",
	        fit->core, fit->seconds, "CLIFF", "REAL", "BEFORE", "AFTER", "ERR-BEFORE", "ERR-AFTER");
	for (size_t i = 0; i < fit->n; i++)
		put_fit_row(&fit->rows[i], f);
	fputc('\n', f);
	put_summary("before", &fit->before, f);
	put_summary("after", &fit->after, f);
}

static void put_skid(const struct calibration *c, FILE *f)
{
	if (*c->no_pmu)
		fprintf(f,
		        "\nThe skid of this processor can't be measured: %s.\n"
		        "Core files keep the distribution they name, with its source.\n",
		        c->no_pmu);
}

int calibration_text(const struct calibration *c, FILE *f)
{
	char company[200];

	fprintf(f, "%s, %.2f GHz; cycles by %s\n", c->cpu, c->core_ghz,
	        *c->no_pmu ? "a chain of additions beside the time stamp counter" : "the cycle counter");
	calibration_company(c, company, sizeof(company));
	fprintf(f, "%s\n", company);
	if (!c->has_huge_pages)
		fputs("No huge pages: footprints beyond some hundred KB are also the TLB's.\n", f);
	fprintf(f, "\n%-18s %-10s%9s %-9s%21s  %s\n", "CLIFF", "CLASS", "REAL", "UNIT", "95% INTERVAL",
	        "VERDICT");
	for (size_t i = 0; i < c->n; i++)
		put_row(&c->rows[i], f);
	fprintf(f, "\n%zu cliffs: %zu clean, %zu weak, %zu absent, %zu noisy; %.0f s\n", c->n,
	        calibration_count(c, CLIFF_CLEAN), calibration_count(c, CLIFF_WEAK),
	        calibration_count(c, CLIFF_ABSENT), calibration_count(c, CLIFF_NOISY), c->seconds);
	put_fit(&c->fit, f);
	put_skid(c, f);
	return 0;
}

static json_t *number_or_null(double x)
{
	return isfinite(x) ? json_real(x) : json_null();
}

static json_t *curve_json(const struct cliff_curve *curve)
{
	json_t *points = json_array();

	for (size_t i = 0; i < curve->n && points; i++)
		json_array_append_new(points, json_pack("[i,f,f]", (int)curve->pressure[i],
		                                        curve->response[i], curve->spread[i]));
	return points;
}

static json_t *row_json(const struct calibration_row *r)
{
	bool ok = has_value(r);
	double none = NAN;
	const struct fit_row *fit = r->fit;

	return json_pack("{s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:s, s:s?, s:b, s:s, s:o}",
	                 "name", r->cliff->name, "class", cliff_class_name(r->cliff->cls), "unit",
	                 r->cliff->unit, "real", number_or_null(ok ? r->real.value : none), "lo",
	                 number_or_null(ok ? r->real.lo : none), "hi", number_or_null(ok ? r->real.hi : none),
	                 "before", number_or_null(fit ? fit->before_is.value : none), "after",
	                 number_or_null(fit ? fit->after_is.value : none), "err_before",
	                 number_or_null(fit ? fit->err_before : none), "err_after",
	                 number_or_null(fit ? fit->err_after : none), "verdict",
	                 r->lacks ? "unsupported" : cliff_verdict_name(r->real.verdict), "note",
	                 calibration_note(r), "integer", r->cliff->integer, "params", r->cliff->params,
	                 "curve", curve_json(&r->curve));
}

static void add_fit_json(json_t *doc, const struct calibration_fit *fit)
{
	const struct {
		const char *name;
		double value;
	} numbers[] = {
		{ "mean_err_before", fit->before.mean },
		{ "mean_err_after", fit->after.mean },
		{ "mean_err_before_continuous", fit->before.mean_continuous },
		{ "mean_err_after_continuous", fit->after.mean_continuous },
		{ "median_err_before", fit->before.median },
		{ "median_err_after", fit->after.median },
		{ "worst_err_before", fit->before.worst },
		{ "worst_err_after", fit->after.worst },
		{ "signed_mean_err_before", fit->before.signed_mean },
		{ "signed_mean_err_after", fit->after.signed_mean },
		{ "fit_seconds", fit->seconds },
	};

	json_object_set_new(doc, "against", json_string(fit->core));
	json_object_set_new(doc, "clean_rows", json_integer((json_int_t)fit->after.n));
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		json_object_set_new(doc, numbers[i].name, number_or_null(numbers[i].value));
}

static json_t *company_json(const struct cliff_company *w)
{
	return json_pack("{s:b, s:i, s:f, s:f, s:I, s:I, s:i}", "told", w->window != 0, "window",
	                 (int)w->window, "share", w->share, "waited_s", w->waited_s, "looks",
	                 (json_int_t)w->n_looks, "taken_again", (json_int_t)w->n_again, "begun_anew",
	                 (int)w->n_void);
}

int calibration_json(const struct calibration *c, FILE *f)
{
	json_t *rows = json_array(), *doc = NULL;
	char *text = NULL;

	for (size_t i = 0; i < c->n && rows; i++)
		json_array_append_new(rows, row_json(&c->rows[i]));
	if (rows && json_array_size(rows) == c->n)
		doc = json_pack("{s:i, s:s, s:f, s:f, s:s, s:s?, s:b, s:f, s:o, s:O}", "skidprof", 1, "cpu",
		                c->cpu, "core_ghz", c->core_ghz, "tsc_ghz", c->tsc_ghz, "cycles_by",
		                *c->no_pmu ? "additions" : "counter", "no_pmu", *c->no_pmu ? c->no_pmu : NULL,
		                "quick", c->quick, "seconds", c->seconds, "core_shared",
		                company_json(&c->company), "cliffs", rows);
	if (doc && c->fit.rows)
		add_fit_json(doc, &c->fit);
	text = doc ? json_dumps(doc, JSON_INDENT(2) | JSON_REAL_PRECISION(8)) : NULL;
	if (text)
		fprintf(f, "%s\n", text);
	json_decref(doc);
	json_decref(rows);
	if (!text)
		return sp_fail(SP_ENOMEM, "out of memory for %zu cliffs as JSON", c->n);
	free(text);
	return 0;
}

static void put_csv(double x, FILE *f)
{
	if (isfinite(x))
		fprintf(f, ",%.8g", x);
	else
		fputc(',', f);
}

int calibration_csv(const struct calibration *c, FILE *f)
{
	fputs("name,class,unit,real,lo,hi,verdict,note,before,after,err_before,err_after\n", f);
	for (size_t i = 0; i < c->n; i++) {
		const struct calibration_row *r = &c->rows[i];

		fprintf(f, "%s,%s,%s,", r->cliff->name, cliff_class_name(r->cliff->cls), r->cliff->unit);
		if (has_value(r))
			fprintf(f, "%.8g,%.8g,%.8g,", r->real.value, r->real.lo, r->real.hi);
		else
			fputs(",,,", f);
		fprintf(f, "%s,%s", r->lacks ? "unsupported" : cliff_verdict_name(r->real.verdict),
		        calibration_note(r) ? calibration_note(r) : "");
		put_csv(r->fit ? r->fit->before_is.value : NAN, f);
		put_csv(r->fit ? r->fit->after_is.value : NAN, f);
		put_csv(r->fit ? r->fit->err_before : NAN, f);
		put_csv(r->fit ? r->fit->err_after : NAN, f);
		fputc('\n', f);
	}
	return 0;
}
