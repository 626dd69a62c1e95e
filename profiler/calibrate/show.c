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
	if (r->behind)
		fprintf(f, " (that is %s)", r->behind);
	else if (r->lacks)
		fprintf(f, " (%s)", r->lacks);
	fputc('\n', f);
}

static void put_skid(const struct calibration *c, FILE *f)
{
	if (c->no_pmu)
		fprintf(f,
		        "\nThe skid of this processor can't be measured: %s.\n"
		        "Core files keep the distribution they name, with its source.\n",
		        c->no_pmu);
}

int calibration_text(const struct calibration *c, FILE *f)
{
	fprintf(f, "%s, %.2f GHz; cycles by %s\n", c->cpu, c->core_ghz,
	        c->no_pmu ? "a chain of additions beside the time stamp counter" : "the cycle counter");
	if (!c->has_huge_pages)
		fputs("No huge pages: footprints beyond some hundred KB are also the TLB's.\n", f);
	fprintf(f, "\n%-18s %-10s%9s %-9s%21s  %s\n", "CLIFF", "CLASS", "REAL", "UNIT", "95% INTERVAL",
	        "VERDICT");
	for (size_t i = 0; i < c->n; i++)
		put_row(&c->rows[i], f);
	fprintf(f, "\n%zu cliffs: %zu clean, %zu weak, %zu absent, %zu noisy; %.0f s\n", c->n,
	        calibration_count(c, CLIFF_CLEAN), calibration_count(c, CLIFF_WEAK),
	        calibration_count(c, CLIFF_ABSENT), calibration_count(c, CLIFF_NOISY), c->seconds);
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

	return json_pack("{s:s, s:s, s:s, s:o, s:o, s:o, s:s, s:s?, s:b, s:s, s:o}", "name", r->cliff->name,
	                 "class", cliff_class_name(r->cliff->cls), "unit", r->cliff->unit, "real",
	                 number_or_null(ok ? r->real.value : none), "lo",
	                 number_or_null(ok ? r->real.lo : none), "hi", number_or_null(ok ? r->real.hi : none),
	                 "verdict", r->lacks ? "unsupported" : cliff_verdict_name(r->real.verdict), "note",
	                 r->lacks ? r->lacks : r->behind, "integer", r->cliff->integer, "params",
	                 r->cliff->params, "curve", curve_json(&r->curve));
}

int calibration_json(const struct calibration *c, FILE *f)
{
	json_t *rows = json_array(), *doc = NULL;
	char *text = NULL;

	for (size_t i = 0; i < c->n && rows; i++)
		json_array_append_new(rows, row_json(&c->rows[i]));
	if (rows && json_array_size(rows) == c->n)
		doc = json_pack("{s:i, s:s, s:f, s:f, s:s, s:s?, s:b, s:f, s:O}", "skidprof", 1, "cpu",
		                c->cpu, "core_ghz", c->core_ghz, "tsc_ghz", c->tsc_ghz, "cycles_by",
		                c->no_pmu ? "additions" : "counter", "no_pmu", c->no_pmu, "quick", c->quick,
		                "seconds", c->seconds, "cliffs", rows);
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

int calibration_csv(const struct calibration *c, FILE *f)
{
	fputs("name,class,unit,real,lo,hi,verdict,note\n", f);
	for (size_t i = 0; i < c->n; i++) {
		const struct calibration_row *r = &c->rows[i];

		fprintf(f, "%s,%s,%s,", r->cliff->name, cliff_class_name(r->cliff->cls), r->cliff->unit);
		if (has_value(r))
			fprintf(f, "%.8g,%.8g,%.8g,", r->real.value, r->real.lo, r->real.hi);
		else
			fputs(",,,", f);
		fprintf(f, "%s,%s\n", r->lacks ? "unsupported" : cliff_verdict_name(r->real.verdict),
		        r->lacks    ? r->lacks
		        : r->behind ? r->behind
		                    : "");
	}
	return 0;
}
