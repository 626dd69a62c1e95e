/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_PMU_EVENT_LIST_H
#define SKIDPROF_PMU_EVENT_LIST_H

/*
 * What -e says of a real processor's events, taken apart; nothing is looked up.
 *
 *	EVENT = NAME [:UMASK ...] [:MODIFIERS] [/PERIOD]
 *	      | PMU/NAME/[MODIFIERS] [/PERIOD]
 *	      | UNIT/[TERM[=VALUE],...]/[MODIFIERS] [/PERIOD]   terms as sysfs has them
 *	      | ibs                               ibs_op//
 *	LIST  = EVENT, ...                    one group
 *	      | {EVENT, ...}[:MODIFIERS], ... a group each; with S among these the first is sampled, the others counted
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { EVENT_NAME_BYTES = 80, EVENT_LIST_MAX = 64 };

struct event_word {
	char pmu[32];                /* "" = not named */
	char name[EVENT_NAME_BYTES]; /* umasks with it; a unit's terms */
	uint64_t period;             /* 0 = none given */
	unsigned group;              /* words of one number belong together */
	bool user, kernel;           /* neither: as is the rule, user mode */
	int precise;                 /* 0 to 3 */
	bool by_first;               /* S: of its group the first alone is sampled */
	bool most_precise;           /* P: as precise as the processor can be, 0 where it can't */
};

struct event_list {
	struct event_word v[EVENT_LIST_MAX];
	size_t n;
	unsigned n_groups;
};

/* -SP_EUSAGE with what is wrong, and where. */
int event_list_parse(const char *text, struct event_list *out);

#endif
