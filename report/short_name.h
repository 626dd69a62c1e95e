/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_REPORT_SHORT_NAME_H
#define SKIDPROF_REPORT_SHORT_NAME_H

/*
 * Names of functions in less room.  Arguments of templates go first, the deepest of them at the beginning, then the scopes of Rust's
 * "<a::T as b::Trait>", then outer scopes: what is last in a name says most.
 */
#include <stddef.h>

/* Columns past which a name is folded even where there is room for all of it. */
enum { SHORT_NAME_LONG = 60 };

/* Leaves out arguments and scopes of a safe text, in place, until it has `width` columns or no more of them. */
void short_name_fold(char *name, size_t width);

/* The same, and cuts it where that isn't enough. */
void short_name_cut(char *name, size_t width);

/*
 * What a column shows.  names[n], suffixes[n] (each may be NULL): safe texts.  width: of the cells, SIZE_MAX = as long as folded names
 * are.  aside: the column stands beside the one that rows are of, and a place behind a name, " (file.c:1)", goes where all
 * names differ without.  Two rows of different names are never shown alike: what differs follows in brackets, or a number.
 * Each text is malloc'd; NULL when out of memory.
 */
char **short_names(const char *const *names, const char *const *suffixes, size_t n, size_t width, int aside);
void short_names_free(char **shown, size_t n);

/* " (inlined)" where there is no room for it. */
extern const char short_name_inlined[];

#endif
