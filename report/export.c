/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A table as data: JSON by jansson, CSV quoted as RFC 4180 has it. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/base/err.h"
#include "report/number.h"
#include "report/table.h"

json_t *json_number(double x)
{
	if (!isfinite(x))
		return json_null();
	/* Whole numbers read better without ".0", and doubles hold them exactly up to 2^53. */
	if (x == floor(x) && fabs(x) < 9007199254740992.0)
		return json_integer((json_int_t)x);
	return json_real(x);
}

json_t *json_text(const char *text)
{
	char *safe = text_safe_new(text);
	json_t *out = safe ? json_string(safe) : NULL;

	free(safe);
	return out;
}

static json_t *json_cell(const struct column *c, const struct cell *cell)
{
	char addr[32];

	switch ((enum column_kind)c->kind) {
	case COLUMN_TEXT:
		return cell->text ? json_text(cell->text) : json_null();
	case COLUMN_BOOL:
		return isnan(cell->num) ? json_null() : json_boolean(cell->num != 0);
	case COLUMN_ADDR:
		snprintf(addr, sizeof(addr), "0x%" PRIx64, cell->addr);
		return json_string(addr);
	default:
		return json_number(cell->num);
	}
}

int table_json(const struct table *t, json_t **out)
{
	json_t *rows = json_array();

	for (size_t row = 0; rows && row < t->n_rows; row++) {
		json_t *object = json_object();

		if (json_array_append_new(rows, object) < 0)
			goto fail;
		for (size_t i = 0; i < t->n_columns; i++) {
			const struct column *c = &t->columns[i];
			struct cell cell;

			if (c->flags & COLUMN_NO_DATA)
				continue;
			cell = table_cell(t, row, c->id);
			if (json_object_set_new_nocheck(object, c->key, json_cell(c, &cell)) < 0)
				goto fail;
		}
	}
	if (!rows)
		goto fail;
	*out = rows;
	return 0;
fail:
	json_decref(rows);
	return sp_fail(SP_ENOMEM, "out of memory for %zu rows of JSON", t->n_rows);
}

static int write_piece(const char *text, size_t n, void *f)
{
	return fwrite(text, 1, n, f) == n ? 0 : -1;
}

int json_write(const json_t *doc, FILE *f)
{
	/* 15 digits: what a double carries faithfully in decimal, without the noise of 17. */
	if (json_dump_callback(doc, write_piece, f, JSON_INDENT(2) | JSON_REAL_PRECISION(15)) < 0)
		return ferror(f) ? 0 : sp_fail(SP_ENOMEM, "out of memory for JSON");
	fputc('\n', f);
	return 0;
}

static void csv_text(const char *text, FILE *f)
{
	if (!text[strcspn(text, ",\"\r\n")] && text[0] != ' ') {
		fputs(text, f);
		return;
	}
	fputc('"', f);
	for (; *text; text++) {
		if (*text == '"')
			fputc('"', f);
		fputc(*text, f);
	}
	fputc('"', f);
}

static int csv_cell(const struct column *c, const struct cell *cell, FILE *f)
{
	char *safe;

	switch ((enum column_kind)c->kind) {
	case COLUMN_TEXT:
		safe = text_safe_new(cell->text ? cell->text : "");
		if (!safe)
			return sp_fail(SP_ENOMEM, "out of memory for a name");
		csv_text(safe, f);
		free(safe);
		return 0;
	case COLUMN_BOOL:
		fputs(isnan(cell->num) ? "" : cell->num != 0 ? "1" : "0", f);
		return 0;
	case COLUMN_ADDR:
		fprintf(f, "0x%" PRIx64, cell->addr);
		return 0;
	default:
		if (isfinite(cell->num))
			fprintf(f, "%.15g", cell->num);
		return 0;
	}
}

int table_csv(const struct table *t, FILE *f)
{
	const char *gap = "";

	for (size_t i = 0; i < t->n_columns; i++) {
		if (t->columns[i].flags & COLUMN_NO_DATA)
			continue;
		fprintf(f, "%s%s", gap, t->columns[i].key);
		gap = ",";
	}
	fputc('\n', f);
	for (size_t row = 0; row < t->n_rows; row++) {
		gap = "";
		for (size_t i = 0; i < t->n_columns; i++) {
			struct cell cell;
			int err;

			if (t->columns[i].flags & COLUMN_NO_DATA)
				continue;
			cell = table_cell(t, row, t->columns[i].id);
			fputs(gap, f);
			err = csv_cell(&t->columns[i], &cell, f);
			if (err < 0)
				return err;
			gap = ",";
		}
		fputc('\n', f);
	}
	return 0;
}
