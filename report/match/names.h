/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_REPORT_MATCH_NAMES_H
#define SKIDPROF_REPORT_MATCH_NAMES_H

/*
 * Exact counts by function joined to a profile by name: every tool writes
 * names its own way ("f", "f(int)", "f@@VERS_1", "f'2", "(below main)").
 */
#include "report/match/match.h"
#include "report/profile.h"

/* A truth's functions, one of each name, with names as the binaries have them. */
struct names_join {
	struct truth_func *funcs; /* [n] sorted by name; the names are the profile's strings */
	size_t n;
	uint32_t *owner;    /* [p->n_funcs] which of funcs each physical function is, UINT32_MAX = none */
	bool *incomparable; /* [p->n_modules + 1] as in struct truth_join */
	double another;
	double unnamed; /* instructions of functions that the tool knew no name of: in no row */
};

/*
 * -SP_ENOENT where more than 1% of the instructions with a name have one that
 * no file of the recording has: a truth of another program.
 */
int match_names(struct profile *p, const struct truth *t, const char *path, const struct module_options *opts,
                struct names_join *out);
void match_names_fini(struct names_join *j);

/*
 * owner[p->n_funcs] of funcs[n]: matched by linkage name, by the name of its symbol, symbols[p->n_funcs] (NULL: not known), by
 * name with parameters, by name, and by name without parameters, in that order.
 */
void names_match(struct profile *p, const char *const *symbols, const struct truth_func *funcs, size_t n,
                 uint32_t *owner);

/* Does that linkage name, which may be NULL, stand for a stub that goes on to a function of another file? */
bool names_is_stub(const char *linkage);

#endif
