/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A table as text, by libsmartcols. */
#include "report/table.h"

#include <libsmartcols/libsmartcols.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/base/err.h"
#include "report/number.h"

/* A cell as text is never longer: names of templates can have any length. */
enum { CELL_MAX = 4096, LEAST_NAME = 24 };

/* The columns that are shown, and how wide they are. */
struct layout {
	const struct column **columns;
	size_t *width;
	size_t n;
	size_t squeeze; /* width of squeezed columns, SIZE_MAX = as it is */
};

static void render(const struct column *c, const struct cell *cell, char out[CELL_MAX])
{
	char lo[NUMBER_MAX], hi[NUMBER_MAX];
	size_t n;

	out[0] = '\0';
	switch ((enum column_kind)c->kind) {
	case COLUMN_TEXT:
	case COLUMN_BOOL:
		n = text_safe(cell->text ? cell->text : "-", out, CELL_MAX);
		text_safe(cell->suffix ? cell->suffix : "", out + n, CELL_MAX - n);
		break;
	case COLUMN_COUNT:
		number_si(cell->num, out);
		break;
	case COLUMN_WHOLE:
		number_grouped(cell->num, out);
		break;
	case COLUMN_SHARE:
	case COLUMN_CHANGE:
		number_percent(cell->num, c->kind == COLUMN_CHANGE, out);
		break;
	case COLUMN_RATIO:
		if (isfinite(cell->num))
			snprintf(out, CELL_MAX, "%.2f", cell->num);
		else
			strcpy(out, "-");
		break;
	case COLUMN_RANGE:
		number_si(cell->num, lo);
		number_si(cell->num2, hi);
		snprintf(out, CELL_MAX, isfinite(cell->num) ? "%s..%s" : "-", lo, hi);
		break;
	case COLUMN_MEAN:
		number_mean(cell->num, out);
		break;
	case COLUMN_MEANS:
		number_mean(cell->num, lo);
		number_mean(cell->num2, hi);
		snprintf(out, CELL_MAX, isfinite(cell->num) ? "%s..%s" : "-", lo, hi);
		break;
	case COLUMN_ADDR:
		snprintf(out, CELL_MAX, "0x%jx", (uintmax_t)cell->addr);
		break;
	}
}

static size_t table_width(const struct layout *l, bool squeezed)
{
	size_t sum = l->n ? l->n - 1 : 0; /* gaps of one */

	for (size_t i = 0; i < l->n; i++)
		sum += squeezed && (l->columns[i]->flags & COLUMN_SQUEEZE) && l->width[i] > LEAST_NAME
		               ? LEAST_NAME
		               : l->width[i];
	return sum;
}

static bool drop_wide(struct layout *l)
{
	size_t k = 0;

	for (size_t i = 0; i < l->n; i++) {
		if (l->columns[i]->flags & COLUMN_WIDE)
			continue;
		l->columns[k] = l->columns[i];
		l->width[k++] = l->width[i];
	}
	if (k == l->n)
		return false;
	l->n = k;
	return true;
}

static void measure(const struct table *t, size_t n_rows, struct layout *l)
{
	char text[CELL_MAX];

	for (size_t i = 0; i < l->n; i++) {
		l->width[i] = strlen(l->columns[i]->heading);
		for (size_t row = 0; row < n_rows; row++) {
			struct cell cell = t->cell(t->view, row, l->columns[i]->id);
			size_t width;

			render(l->columns[i], &cell, text);
			width = text_width(text);
			if (width > l->width[i])
				l->width[i] = width;
		}
	}
}

/* Choose columns and widths; true in *left_out when some had no room. */
static int lay_out(const struct table *t, size_t n_rows, const struct term *term, struct layout *l,
                   bool *left_out)
{
	size_t squeezable = 0, fixed;

	l->columns = calloc(t->n_columns + 1, sizeof(*l->columns));
	l->width = calloc(t->n_columns + 1, sizeof(*l->width));
	if (!l->columns || !l->width)
		return sp_fail(SP_ENOMEM, "out of memory for a table");
	for (size_t i = 0; i < t->n_columns; i++) {
		const struct column *c = &t->columns[i];

		if (!(c->flags & COLUMN_NO_TEXT) && (c->need & ~t->have) == 0)
			l->columns[l->n++] = c;
	}
	l->squeeze = SIZE_MAX;
	*left_out = false;
	if (!term->width)
		return 0;
	measure(t, n_rows, l);
	if (table_width(l, true) > (size_t)term->width)
		*left_out = drop_wide(l);
	if (table_width(l, false) <= (size_t)term->width)
		return 0;
	for (size_t i = 0; i < l->n; i++)
		squeezable += (l->columns[i]->flags & COLUMN_SQUEEZE) && l->width[i] > LEAST_NAME;
	if (!squeezable)
		return 0;
	fixed = table_width(l, true) - squeezable * LEAST_NAME;
	l->squeeze = (size_t)term->width > fixed ? ((size_t)term->width - fixed) / squeezable : 0;
	if (l->squeeze < LEAST_NAME)
		l->squeeze = LEAST_NAME;
	return 0;
}

static const char *status_color(const char *word)
{
	static const char *const colors[][2] = {
		{ "fixed", "green" }, { "weak", "yellow" },  { "unreliable", "red" },
		{ "outside", "red" }, { "inside", "green" },
	};

	for (size_t i = 0; i < sizeof(colors) / sizeof(colors[0]); i++)
		if (strcmp(word, colors[i][0]) == 0)
			return colors[i][1];
	return NULL;
}

static int fill_line(const struct table *t, size_t row, const struct layout *l, struct libscols_line *line)
{
	for (size_t i = 0; i < l->n; i++) {
		const struct column *c = l->columns[i];
		struct cell cell = t->cell(t->view, row, c->id);
		char text[CELL_MAX];

		render(c, &cell, text);
		if (c->flags & COLUMN_SQUEEZE)
			text_squeeze(text, l->squeeze);
		if (scols_line_set_data(line, i, text) != 0)
			return -1;
		if ((c->flags & COLUMN_STATUS) && status_color(text))
			scols_cell_set_color(scols_line_get_cell(line, i), status_color(text));
	}
	return 0;
}

static int fill(const struct table *t, size_t n_rows, const struct layout *l, struct libscols_table *out)
{
	for (size_t i = 0; i < l->n; i++) {
		int flags = l->columns[i]->kind == COLUMN_TEXT ? 0 : SCOLS_FL_RIGHT;

		if (!scols_table_new_column(out, l->columns[i]->heading, 0, flags))
			return -1;
	}
	for (size_t row = 0; row < n_rows; row++) {
		struct libscols_line *line = scols_table_new_line(out, NULL);

		if (!line || fill_line(t, row, l, line) < 0)
			return -1;
	}
	return 0;
}

int table_print(const struct table *t, size_t limit, const struct term *term, bool *left_out)
{
	size_t n_rows = limit && limit < t->n_rows ? limit : t->n_rows;
	struct libscols_table *out = NULL;
	struct layout l = { 0 };
	bool dropped = false;
	int err = lay_out(t, n_rows, term, &l, &dropped);

	if (err < 0)
		goto out;
	err = sp_fail(SP_ENOMEM, "out of memory for a table of %zu rows", n_rows);
	out = scols_new_table();
	if (!out)
		goto out;
	/* Names are made safe and widths chosen here already. */
	scols_table_enable_noencoding(out, 1);
	scols_table_set_termforce(out, SCOLS_TERMFORCE_NEVER);
	scols_table_enable_colors(out, term->color);
	scols_table_set_stream(out, term->f);
	if (fill(t, n_rows, &l, out) < 0)
		goto out;
	err = scols_print_table(out) == 0 ? 0 : sp_fail(SP_EIO, "a table could not be written");
	if (left_out)
		*left_out = dropped;
out:
	scols_unref_table(out);
	free(l.columns);
	free(l.width);
	return err;
}
