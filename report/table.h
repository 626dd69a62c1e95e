/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_REPORT_TABLE_H
#define SKIDPROF_REPORT_TABLE_H

/*
 * One description of a table, three ways to write it: text by libsmartcols,
 * JSON and CSV.  A view gives its columns as an array and its cells by a
 * function, so nothing is copied.
 */
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/term.h"

enum column_kind {
	COLUMN_TEXT,
	COLUMN_COUNT,  /* events: "123.4M" in text */
	COLUMN_WHOLE,  /* a small whole number */
	COLUMN_ID,     /* a number that is a name: no commas */
	COLUMN_SHARE,  /* a fraction: "12.3%" in text, 0.123 in data */
	COLUMN_CHANGE, /* the same, signed */
	COLUMN_RATIO,  /* IPC: two decimals in text */
	COLUMN_ROUGH,  /* text only: a ratio with the decimals that half of its interval, num2, leaves it */
	COLUMN_RANGE,  /* text only: "lo..hi" of counts */
	COLUMN_MEAN,   /* a mean of events: "3.998", "16.00k" in text */
	COLUMN_MEANS,  /* text only: "lo..hi" of these */
	COLUMN_ADDR,   /* "0x401136" everywhere */
	COLUMN_BOOL,   /* data only */
};

enum column_flag {
	COLUMN_NO_TEXT = 1 << 0, /* in JSON and CSV only */
	COLUMN_NO_DATA = 1 << 1, /* in text only */
	COLUMN_WIDE = 1 << 2,    /* in text only where there is room: the last ones go first ... */
	COLUMN_SQUEEZE = 1 << 3, /* names: long ones are folded, and cut on a terminal */
	COLUMN_STATUS = 1 << 4,  /* a status word: coloured */
	COLUMN_LESS = 1 << 5,    /* ... and when all those are gone, these */
};

struct column {
	const char *key;     /* in JSON and CSV: stable, documented */
	const char *heading; /* in text */
	int id;              /* for the view's cell function */
	uint8_t kind;        /* enum column_kind */
	uint8_t flags;       /* enum column_flag */
	uint16_t need;       /* in text only where all these bits are in table->have */
};

/* NAN in a number is "not known": "-" in text, null in JSON, nothing in CSV. */
struct cell {
	double num, num2;   /* num2: the upper end of a range */
	const char *text;   /* NULL = not known */
	const char *suffix; /* added in text only; may be NULL */
	uint64_t addr;
	bool rough; /* a count or a mean that chance may have far off: "~123.4M" in text */
};

struct table {
	const struct column *columns;
	size_t n_columns;
	size_t n_rows;
	unsigned have;
	struct cell (*cell)(const void *view, size_t row, int id);
	const void *view;
	const size_t *pick; /* [n_rows] rows of the view that are shown; NULL = all. Borrowed. */
	size_t least_name;  /* room of squeezed columns, before others are left out; 0 = the usual one */
};

/* Row i of what is shown. */
struct cell table_cell(const struct table *t, size_t i, int id);

/* What a table has less of than it could. */
struct table_fit {
	char left_out[200]; /* headings of columns that had no room, with commas between; "" = none */
	bool marks;         /* " [i]" stands for " (inlined)" */
};

/*
 * On a terminal narrower than the table, COLUMN_WIDE columns are left out, one by one, then COLUMN_LESS ones, and
 * COLUMN_SQUEEZE ones shortened (short_name.h), as they are anywhere where they are long.  table_has(): whether table_print() shows
 * this column.  *fit may be NULL; table_print_fit() says it in lines that begin with "# ".  All others return 0, -SP_ENOMEM
 * or -SP_EIO.
 */
bool table_has(const struct table *t, size_t limit, const struct term *term, const char *heading);
int table_print(const struct table *t, size_t limit, const struct term *term, struct table_fit *fit);
void table_print_fit(const struct table_fit *fit, FILE *f);
int table_csv(const struct table *t, FILE *f);
int table_json(const struct table *t, json_t **out);

/* A JSON number, null for NAN and infinities; a JSON string of any bytes. */
json_t *json_number(double x);
json_t *json_text(const char *text);

/* Write a whole document, ended by a newline. */
int json_write(const json_t *doc, FILE *f);

#endif
