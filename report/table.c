/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A table as text, by libsmartcols. */
#include "report/table.h"

#include <libsmartcols/libsmartcols.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/base/err.h"
#include "report/number.h"
#include "report/short_name.h"

/*
 * A cell as text is never longer: names of templates can have any length.  INNER_NAME: what is behind a name, in a file or a
 * pipe, is not to be pushed out of sight by it.
 */
enum { CELL_MAX = 4096, LEAST_NAME = 24, SHORTEST_NAME = 12, INNER_NAME = SHORT_NAME_LONG };

struct shown_column {
	const struct column *column;
	size_t width;
	char **names; /* [n_rows], of a column of names */
};

/* The columns that are shown, and how wide they are. */
struct layout {
	struct shown_column *columns;
	size_t n, n_rows;
	size_t least; /* that the name which a row is of has room for, before columns are left out */
	size_t inner; /* width of text but in the last column, SIZE_MAX = as it is */
};

struct cell table_cell(const struct table *t, size_t i, int id)
{
	return t->cell(t->view, t->pick ? t->pick[i] : i, id);
}

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
		number_scaled(cell->num, cell->rough, out);
		break;
	case COLUMN_WHOLE:
		number_grouped(cell->num, out);
		break;
	case COLUMN_ID:
		snprintf(out, CELL_MAX, "%.0f", cell->num);
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
	case COLUMN_ROUGH:
		number_rough(cell->num, cell->num2, out);
		break;
	case COLUMN_RANGE:
		number_range(cell->num, cell->num2, out);
		break;
	case COLUMN_MEAN:
		number_mean(cell->num, lo);
		snprintf(out, CELL_MAX, "%s%s", cell->rough ? "~" : "", lo);
		break;
	case COLUMN_MEANS:
		number_mean(cell->num, lo);
		number_mean(cell->num2, hi);
		if (isinf(cell->num2) && isfinite(cell->num))
			snprintf(out, CELL_MAX, "%s or more", lo);
		else
			snprintf(out, CELL_MAX, isfinite(cell->num) ? "%s..%s" : "-", lo, hi);
		break;
	case COLUMN_ADDR:
		snprintf(out, CELL_MAX, "0x%jx", (uintmax_t)cell->addr);
		break;
	}
}

static bool is_name(const struct column *c)
{
	return c->kind == COLUMN_TEXT && c->flags & COLUMN_SQUEEZE;
}

/* What a column can be squeezed to: the last one is the name that the row is of. */
static size_t least_width(const struct layout *l, size_t i)
{
	size_t least = i + 1 == l->n ? l->least : SHORTEST_NAME;

	if (i + 1 < l->n && least < strlen(l->columns[i].column->heading))
		least = strlen(l->columns[i].column->heading);
	return is_name(l->columns[i].column) && l->columns[i].width > least ? least : l->columns[i].width;
}

static size_t table_width(const struct layout *l, bool squeezed)
{
	size_t sum = l->n ? l->n - 1 : 0; /* gaps of one */

	for (size_t i = 0; i < l->n; i++)
		sum += squeezed ? least_width(l, i) : l->columns[i].width;
	return sum;
}

/* Columns go from the last on, and are named in the order in which they would stand. */
static void name_left_out(struct table_fit *fit, const char *heading)
{
	char before[sizeof(fit->left_out)];

	snprintf(before, sizeof(before), "%s", fit->left_out);
	snprintf(fit->left_out, sizeof(fit->left_out), "%s%s%.*s", heading, *before ? ", " : "",
	         (int)(sizeof(before) - 40), before);
}

static void drop(struct layout *l, size_t i, struct table_fit *fit)
{
	name_left_out(fit, l->columns[i].column->heading);
	short_names_free(l->columns[i].names, l->n_rows);
	memmove(&l->columns[i], &l->columns[i + 1], (l->n - i - 1) * sizeof(*l->columns));
	l->n--;
}

/* Leave out the last column with that flag. */
static bool drop_last(struct layout *l, uint8_t flag, struct table_fit *fit)
{
	size_t i = l->n;

	while (i && !(l->columns[i - 1].column->flags & flag))
		i--;
	if (i)
		drop(l, i - 1, fit);
	return i;
}

/* Last of all what stands between a row's share and its name; what speaks against it stays longest. */
static bool drop_inner(struct layout *l, struct table_fit *fit)
{
	size_t i = l->n < 3 ? 0 : l->n - 2;

	if (i > 1 && l->columns[i].column->flags & COLUMN_STATUS)
		i--;
	if (i)
		drop(l, i, fit);
	return i;
}

static void drop_to_fit(struct layout *l, size_t width, struct table_fit *fit)
{
	while (table_width(l, true) > width)
		if (!drop_last(l, COLUMN_WIDE, fit) && !drop_last(l, COLUMN_LESS, fit))
			break;
	/* Names are shortened as far as they can be before what every row is read for is left out. */
	if (l->least > SHORTEST_NAME)
		l->least = SHORTEST_NAME;
	while (table_width(l, true) > width)
		if (!drop_inner(l, fit))
			return;
}

static bool any_mark(const struct layout *l)
{
	size_t n_mark = strlen(short_name_inlined);

	for (size_t i = 0; i < l->n; i++)
		for (size_t row = 0; l->columns[i].names && row < l->n_rows; row++) {
			const char *name = l->columns[i].names[row];
			size_t n = strlen(name);

			if (n > n_mark && strcmp(name + n - n_mark, short_name_inlined) == 0)
				return true;
		}
	return false;
}

/* The names of a column, for cells of that width. */
static int name_rows(const struct table *t, struct layout *l, size_t i, size_t width)
{
	struct shown_column *c = &l->columns[i];
	char **names = calloc(l->n_rows + 1, sizeof(*names));
	const char **suffixes = calloc(l->n_rows + 1, sizeof(*suffixes));
	bool ok = names && suffixes;

	short_names_free(c->names, l->n_rows);
	c->names = NULL;
	for (size_t row = 0; ok && row < l->n_rows; row++) {
		struct cell cell = table_cell(t, row, c->column->id);

		names[row] = text_safe_new(cell.text ? cell.text : "-");
		/* Of one row it is read before the next is asked for. */
		suffixes[row] = cell.suffix ? strdup(cell.suffix) : NULL;
		ok = names[row] && (!cell.suffix || suffixes[row]);
	}
	if (ok)
		c->names = short_names((const char *const *)names, suffixes, l->n_rows, width, i + 1 < l->n);
	for (size_t row = 0; suffixes && row < l->n_rows; row++)
		free((char *)suffixes[row]);
	free(suffixes);
	short_names_free(names, l->n_rows);
	return c->names ? 0 : sp_fail(SP_ENOMEM, "out of memory for %zu names", l->n_rows);
}

static void measure(const struct table *t, struct layout *l)
{
	char text[CELL_MAX];

	for (size_t i = 0; i < l->n; i++) {
		struct shown_column *c = &l->columns[i];

		c->width = strlen(c->column->heading);
		for (size_t row = 0; row < l->n_rows; row++) {
			struct cell cell = table_cell(t, row, c->column->id);
			size_t width;

			if (!c->names)
				render(c->column, &cell, text);
			width = text_width(c->names ? c->names[row] : text);
			if (width > c->width)
				c->width = width;
		}
	}
}

/* Names beside the one that a row is of get a third of the room at the most. */
static int squeeze(const struct table *t, struct layout *l, size_t width)
{
	size_t n_squeezed = 0, n_inner, fixed = 0, room, last_width;
	int err = 0;

	for (size_t i = 0; i < l->n; i++) {
		n_squeezed += is_name(l->columns[i].column);
		fixed += is_name(l->columns[i].column) ? 1 : l->columns[i].width + 1;
	}
	n_inner = n_squeezed > 1 ? n_squeezed - 1 : 1;
	room = width + 1 > fixed ? width + 1 - fixed : 0;
	last_width = l->n && is_name(l->columns[l->n - 1].column) ? l->columns[l->n - 1].width : 0;
	for (size_t i = 0; i < l->n && err == 0; i++) {
		struct shown_column *c = &l->columns[i];
		bool last = i + 1 == l->n;
		size_t most = last ? room : room / (n_squeezed + 1);

		if (!is_name(c->column))
			continue;
		/* What the last one does not need is theirs. */
		if (!last && room > last_width && (room - last_width) / n_inner > most)
			most = (room - last_width) / n_inner;
		if (most < (last ? (size_t)SHORTEST_NAME : least_width(l, i)))
			most = last ? SHORTEST_NAME : least_width(l, i);
		if (c->width > most) {
			c->width = most;
			err = name_rows(t, l, i, most);
		}
		room = room > c->width ? room - c->width : 0;
		n_inner -= !last && n_inner > 1;
	}
	return err;
}

static void layout_fini(struct layout *l)
{
	for (size_t i = 0; l->columns && i < l->n; i++)
		short_names_free(l->columns[i].names, l->n_rows);
	free(l->columns);
}

/* Choose columns and widths. */
static int lay_out(const struct table *t, size_t n_rows, const struct term *term, struct layout *l,
                   struct table_fit *fit)
{
	int err = 0;

	*fit = (struct table_fit){ 0 };
	l->columns = calloc(t->n_columns + 1, sizeof(*l->columns));
	l->n_rows = n_rows;
	l->least = t->least_name ? t->least_name : LEAST_NAME;
	l->inner = term->width ? SIZE_MAX : INNER_NAME;
	if (!l->columns)
		return sp_fail(SP_ENOMEM, "out of memory for a table");
	for (size_t i = 0; i < t->n_columns; i++) {
		const struct column *c = &t->columns[i];

		if (!(c->flags & COLUMN_NO_TEXT) && (c->need & ~t->have) == 0)
			l->columns[l->n++].column = c;
	}
	for (size_t i = 0; i < l->n && err == 0; i++)
		if (is_name(l->columns[i].column))
			err = name_rows(t, l, i, i + 1 < l->n ? l->inner : SIZE_MAX);
	if (err < 0 || !term->width)
		return err;
	measure(t, l);
	drop_to_fit(l, (size_t)term->width, fit);
	if (table_width(l, false) > (size_t)term->width)
		err = squeeze(t, l, (size_t)term->width);
	fit->marks = err == 0 && any_mark(l);
	return err;
}

static const char *status_color(const char *word)
{
	static const char *const colors[][2] = {
		{ "fixed", "green" }, { "weak", "yellow" }, { "unreliable", "red" },
		{ "no", "red" },      { "yes", "green" },
	};

	for (size_t i = 0; i < sizeof(colors) / sizeof(colors[0]); i++)
		if (strcmp(word, colors[i][0]) == 0)
			return colors[i][1];
	return NULL;
}

static int fill_line(const struct table *t, size_t row, const struct layout *l, struct libscols_line *line)
{
	for (size_t i = 0; i < l->n; i++) {
		const struct column *c = l->columns[i].column;
		struct cell cell = table_cell(t, row, c->id);
		char text[CELL_MAX];

		if (l->columns[i].names) {
			snprintf(text, sizeof(text), "%s", l->columns[i].names[row]);
		} else {
			render(c, &cell, text);
			if (c->kind == COLUMN_TEXT && i + 1 < l->n && l->inner < SIZE_MAX)
				text_squeeze(text, l->inner);
		}
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
		int flags = l->columns[i].column->kind == COLUMN_TEXT ? 0 : SCOLS_FL_RIGHT;

		if (!scols_table_new_column(out, l->columns[i].column->heading, 0, flags))
			return -1;
	}
	for (size_t row = 0; row < n_rows; row++) {
		struct libscols_line *line = scols_table_new_line(out, NULL);

		if (!line || fill_line(t, row, l, line) < 0)
			return -1;
	}
	return 0;
}

bool table_has(const struct table *t, size_t limit, const struct term *term, const char *heading)
{
	size_t n_rows = limit && limit < t->n_rows ? limit : t->n_rows;
	struct layout l = { 0 };
	struct table_fit fit;
	bool has = false;

	if (lay_out(t, n_rows, term, &l, &fit) == 0)
		for (size_t i = 0; i < l.n; i++)
			has |= strcmp(l.columns[i].column->heading, heading) == 0;
	layout_fini(&l);
	return has;
}

void table_print_fit(const struct table_fit *fit, FILE *f)
{
	if (*fit->left_out)
		fprintf(f, "# no room here for %s: a wider window, '| cat' or --format csv has all\n",
		        fit->left_out);
	if (fit->marks)
		fputs("# [i]: inlined\n", f);
}

int table_print(const struct table *t, size_t limit, const struct term *term, struct table_fit *fit)
{
	size_t n_rows = limit && limit < t->n_rows ? limit : t->n_rows;
	struct libscols_table *out = NULL;
	struct layout l = { 0 };
	struct table_fit found;
	int err = lay_out(t, n_rows, term, &l, &found);

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
	if (fit)
		*fit = found;
out:
	scols_unref_table(out);
	layout_fini(&l);
	return err;
}
