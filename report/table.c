/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A table as text, by libsmartcols. */
#include "report/table.h"

#include <libsmartcols/libsmartcols.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/base/err.h"
#include "report/number.h"

/*
 * A cell as text is never longer: names of templates can have any length.  INNER_NAME: what is behind a name, in a file or a
 * pipe, is not to be pushed out of sight by it.
 */
enum { CELL_MAX = 4096, LEAST_NAME = 24, SHORTEST_NAME = 12, INNER_NAME = 60 };

/* The columns that are shown, and how wide they are. */
struct layout {
	const struct column **columns;
	size_t *width;
	size_t n;
	size_t least;   /* that names have room for, before columns are left out */
	size_t squeeze; /* width of squeezed columns, SIZE_MAX = as it is */
	size_t last;    /* of one that is the last: the name that the row is of */
	size_t inner;   /* width of text but in the last column; the same */
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
		number_si(cell->num, out);
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
		number_mean(cell->num, out);
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

static size_t table_width(const struct layout *l, bool squeezed)
{
	size_t sum = l->n ? l->n - 1 : 0; /* gaps of one */

	for (size_t i = 0; i < l->n; i++)
		sum += squeezed && (l->columns[i]->flags & COLUMN_SQUEEZE) && l->width[i] > l->least
		               ? l->least
		               : l->width[i];
	return sum;
}

/* Leave out the last column with that flag. */
static bool drop_last(struct layout *l, uint8_t flag)
{
	size_t i = l->n;

	while (i && !(l->columns[i - 1]->flags & flag))
		i--;
	if (!i)
		return false;
	memmove(&l->columns[i - 1], &l->columns[i], (l->n - i) * sizeof(*l->columns));
	memmove(&l->width[i - 1], &l->width[i], (l->n - i) * sizeof(*l->width));
	l->n--;
	return true;
}

static bool drop_to_fit(struct layout *l, size_t width)
{
	bool dropped = false;

	while (table_width(l, true) > width && (drop_last(l, COLUMN_WIDE) || drop_last(l, COLUMN_LESS)))
		dropped = true;
	return dropped;
}

static void measure(const struct table *t, size_t n_rows, struct layout *l)
{
	char text[CELL_MAX];

	for (size_t i = 0; i < l->n; i++) {
		l->width[i] = strlen(l->columns[i]->heading);
		for (size_t row = 0; row < n_rows; row++) {
			struct cell cell = table_cell(t, row, l->columns[i]->id);
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
	size_t squeezable = 0, fixed, room;

	l->columns = calloc(t->n_columns + 1, sizeof(*l->columns));
	l->width = calloc(t->n_columns + 1, sizeof(*l->width));
	if (!l->columns || !l->width)
		return sp_fail(SP_ENOMEM, "out of memory for a table");
	for (size_t i = 0; i < t->n_columns; i++) {
		const struct column *c = &t->columns[i];

		if (!(c->flags & COLUMN_NO_TEXT) && (c->need & ~t->have) == 0)
			l->columns[l->n++] = c;
	}
	l->least = t->least_name ? t->least_name : LEAST_NAME;
	l->squeeze = l->last = l->inner = SIZE_MAX;
	*left_out = false;
	if (!term->width) {
		l->inner = INNER_NAME;
		return 0;
	}
	measure(t, n_rows, l);
	*left_out = drop_to_fit(l, (size_t)term->width);
	if (table_width(l, false) <= (size_t)term->width)
		return 0;
	for (size_t i = 0; i < l->n; i++)
		squeezable += (l->columns[i]->flags & COLUMN_SQUEEZE) && l->width[i] > l->least;
	if (!squeezable)
		return 0;
	fixed = table_width(l, true) - squeezable * l->least;
	room = (size_t)term->width > fixed ? (size_t)term->width - fixed : 0;
	/* A third of it for where a row is, two for what. */
	l->squeeze = squeezable > 1 ? room / (squeezable + 1) : room;
	if (l->squeeze < SHORTEST_NAME)
		l->squeeze = SHORTEST_NAME;
	l->last = room > squeezable * l->squeeze ? room - (squeezable - 1) * l->squeeze : l->squeeze;
	return 0;
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

static bool ends_with(const char *begin, const char *end, const char *word)
{
	size_t n = strlen(word);

	return (size_t)(end - begin) >= n && strncmp(end - n, word, n) == 0;
}

/* What stands within <> goes: the names of what it is made of say more. */
static void drop_arguments(char *text)
{
	char *to = text;
	int depth = 0;

	for (const char *at = text; *at; at++) {
		bool opens =
		        *at == '<' && !ends_with(text, to, "operator") && !ends_with(text, to, "operator<");
		bool closes = *at == '>' && depth > 0;

		depth -= closes;
		if (depth == 0)
			*to++ = *at;
		depth += opens || (*at == '<' && depth > 0);
	}
	*to = '\0';
}

/* Of a name with a path what is last says most. */
static void squeeze_name(char *text, size_t width)
{
	size_t n = text_width(text);

	if (n > width) {
		drop_arguments(text);
		n = text_width(text);
	}
	if (width < SHORTEST_NAME || n <= width || !strstr(text, "::") || strchr(text, '(')) {
		text_squeeze(text, width);
		return;
	}
	text_skip(text, n - (width - 3));
	memmove(text + 3, text, strlen(text) + 1);
	memset(text, '.', 3);
}

/* What is behind a name, " (inlined)", stays whole where there is room for some of the name, too. */
static void render_squeezed(const struct column *c, const struct cell *cell, size_t width, char out[CELL_MAX])
{
	size_t n_suffix = cell->suffix ? text_width(cell->suffix) : 0, n;

	if (c->kind != COLUMN_TEXT || n_suffix + SHORTEST_NAME > width) {
		render(c, cell, out);
		text_squeeze(out, width);
		return;
	}
	text_safe(cell->text ? cell->text : "-", out, CELL_MAX);
	if (width != SIZE_MAX)
		squeeze_name(out, width - n_suffix);
	n = strlen(out);
	text_safe(cell->suffix ? cell->suffix : "", out + n, CELL_MAX - n);
}

static int fill_line(const struct table *t, size_t row, const struct layout *l, struct libscols_line *line)
{
	for (size_t i = 0; i < l->n; i++) {
		const struct column *c = l->columns[i];
		struct cell cell = table_cell(t, row, c->id);
		size_t width = !(c->flags & COLUMN_SQUEEZE) ? SIZE_MAX : i + 1 < l->n ? l->squeeze : l->last;
		char text[CELL_MAX];

		if (c->kind == COLUMN_TEXT && i + 1 < l->n && l->inner < width)
			width = l->inner;
		if (width < SIZE_MAX || c->flags & COLUMN_SQUEEZE)
			render_squeezed(c, &cell, width, text);
		else
			render(c, &cell, text);
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

bool table_has(const struct table *t, size_t limit, const struct term *term, const char *heading)
{
	size_t n_rows = limit && limit < t->n_rows ? limit : t->n_rows;
	struct layout l = { 0 };
	bool dropped, has = false;

	if (lay_out(t, n_rows, term, &l, &dropped) == 0)
		for (size_t i = 0; i < l.n; i++)
			has |= strcmp(l.columns[i]->heading, heading) == 0;
	free(l.columns);
	free(l.width);
	return has;
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
