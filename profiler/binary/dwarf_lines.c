/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The line tables of all units, as one table in address order. */
#include "profiler/binary/debug_impl.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

/* Of one unit's code: a damaged list could go on for ever. */
enum { MOST_RANGES = 10000000 };

/* Files of a unit's rows; libdw gives all rows of a file the same pointer. */
struct seen_files {
	struct pairs paths;
	VEC(uint32_t) ids; /* by paths */
};

static uint32_t file_of(struct dwarf_source *s, struct seen_files *seen, Dwarf_Line *line)
{
	const char *path = dwarf_linesrc(line, NULL, NULL);
	long i = path ? (long)pairs_must(&seen->paths, (uintptr_t)path, 0) : -1;

	if (i < 0)
		return NO_ID;
	if ((size_t)i == seen->ids.n)
		vec_add(&seen->ids, debug_file_id(s->m, s->d, path));
	return seen->ids.v[i];
}

static void add_row(struct dwarf_source *s, struct seen_files *seen, const struct span_list *ranges,
                    Dwarf_Line *line, bool *fresh)
{
	struct debug *d = s->d;
	struct line_row row = { .file = NO_ID }, *last = d->lines.n ? &d->lines.v[d->lines.n - 1] : NULL;
	int number = 0;
	bool ends = false;

	if (dwarf_lineaddr(line, &row.vaddr) < 0 || dwarf_lineendsequence(line, &ends) < 0)
		return;
	row.vaddr += s->shift;
	/*
	 * A row at the very end of a sequence holds for nothing, but libdw sorts
	 * it behind the sequence's end: such rows lie outside of the unit.
	 */
	if (!ends && (!debug_is_code(s->m, row.vaddr) || (ranges->n && !spans_at(ranges, row.vaddr))))
		return;
	/* Line 0 is code the compiler made up: it has no line. */
	if (!ends && !dwarf_lineno(line, &number) && number > 0) {
		row.file = file_of(s, seen, line);
		row.line = row.file == NO_ID ? 0 : (unsigned)number;
	}
	if (*fresh || !last) {
		*fresh = false;
	} else if (last->vaddr == row.vaddr) {
		if (!ends)
			*last = row; /* of rows for one address the last one holds */
		return;
	} else if (last->file == row.file && last->line == row.line) {
		return;
	}
	vec_add(&d->lines, row);
}

/* The code of the unit; none where it doesn't say. */
static void unit_ranges(struct dwarf_source *s, Dwarf_Die *unit, struct span_list *ranges)
{
	struct interval_list found = { 0 };
	Dwarf_Addr base = 0, start, end;
	ptrdiff_t offset = 0;

	while (found.n < MOST_RANGES && (offset = dwarf_ranges(unit, offset, &base, &start, &end)) > 0)
		if (start < end)
			vec_add(&found, (struct interval){ start + s->shift, end + s->shift, 0, 0 });
	spans_cut(&found, ranges);
	vec_fini(&found);
}

static void add_unit(struct dwarf_source *s, Dwarf_Die *unit)
{
	struct seen_files seen = { 0 };
	struct span_list ranges = { 0 };
	Dwarf_Attribute attr;
	const char *dir;
	Dwarf_Lines *lines;
	size_t n;
	bool fresh = true;

	if (dwarf_getsrclines(unit, &lines, &n) != 0)
		return;
	dir = dwarf_formstring(dwarf_attr(unit, DW_AT_comp_dir, &attr));
	s->d->unit_dir = dir ? texts_add(&s->m->pool, dir, strlen(dir)) : NULL;
	unit_ranges(s, unit, &ranges);
	for (size_t i = 0; i < n; i++)
		add_row(s, &seen, &ranges, dwarf_onesrcline(lines, i), &fresh);
	s->d->unit_dir = NULL;
	vec_fini(&ranges);
	pairs_fini(&seen.paths);
	vec_fini(&seen.ids);
}

/* The end of one unit's code comes before the start of another's. */
static int compare_rows(const void *a, const void *b)
{
	const struct line_row *x = a, *y = b;
	uint32_t x_file = x->file + 1, y_file = y->file + 1; /* NO_ID first */

	if (x->vaddr != y->vaddr)
		return x->vaddr > y->vaddr ? 1 : -1;
	if (x_file != y_file)
		return x_file > y_file ? 1 : -1;
	return (x->line > y->line) - (x->line < y->line);
}

static void sort(struct debug *d)
{
	size_t n = 0;

	if (d->lines.n)
		qsort(d->lines.v, d->lines.n, sizeof(*d->lines.v), compare_rows);
	for (size_t i = 0; i < d->lines.n; i++) {
		if (n && d->lines.v[n - 1].vaddr == d->lines.v[i].vaddr)
			n--;
		d->lines.v[n++] = d->lines.v[i];
	}
	d->lines.n = n;
}

void dwarf_lines_load(struct dwarf_source *s)
{
	Dwarf_Off off = 0, next;
	size_t header_bytes;

	while (!dwarf_nextcu(s->dwarf, off, &next, &header_bytes, NULL, NULL, NULL) && next > off) {
		Dwarf_Die unit;

		/* Partial units have a line table only for the names of files. */
		if (dwarf_offdie(s->dwarf, off + header_bytes, &unit) &&
		    dwarf_tag(&unit) != DW_TAG_partial_unit && dwarf_tag(&unit) != DW_TAG_type_unit)
			add_unit(s, &unit);
		off = next;
	}
	sort(s->d);
}
