/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_BASE_PERF_OPTIONS_H
#define SKIDPROF_BASE_PERF_OPTIONS_H

/*
 * Options of perf(1) that have another name here, in one table: fingers know them.  Where ours does the same theirs is taken
 * for it; where it is done otherwise, or by itself, or not at all, a usage error says so.
 */

/*
 * A word that is no option of `command` (report): argv[0], with its argument behind it or in argv[1], which is NULL at the end.
 * Words that are taken become ours, in place.
 *
 * Returns 1 = it was taken, 0 = perf has no such option either, -SP_EUSAGE = said what does it here, -SP_ENOMEM.
 */
int perf_option(const char *command, const char *prog, char **argv);

/*
 * Keys, ',' between, of an option that both have: -SP_EUSAGE = one of them is perf's only, said what does it here; else 0.
 */
int perf_option_keys(const char *command, const char *option, const char *keys);

/* The name of a hidden option of all commands that does nothing: what ours do anyway becomes it. */
#define PERF_OPTION_IDLE "as-it-is"

#endif
