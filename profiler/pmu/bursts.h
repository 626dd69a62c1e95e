/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_PMU_BURSTS_H
#define SKIDPROF_PMU_BURSTS_H

/*
 * Bursts beside a recording: at random moments of its CPU time a thread is
 * stopped, and the branches that it takes from there are found (burst.h), as
 * often as asked for and as its time allows.  The moments are the kernel's, an
 * event of the thread's own clock: whoever it shares a CPU with, they are spread
 * evenly over what it does.  In the file bursts are an event of their own, with
 * branch stacks.  A burst's stack lies ahead of its moment, not behind it.
 */
#include "profiler/pmu/event_group.h"
#include "profiler/pmu/session.h"

enum {
	BURSTS_STEPPED_HZ =
	        50, /* so many a second, where as many as possible are wanted and all must be stepped */
	BURST_FIRST_LENGTH = 1000, /* branches of the first ones that are replayed, and of simulated ones */
	/* ... and of later ones, where the budget is enough: a sample has at most 64 KB, and a turn of an outer loop is often about 1,000 */
	BURST_LENGTH = 2000,
};

/*
 * Are bursts to be taken beside counters, where nothing was said of them?  They take the place of branch records, or hold
 * against them: an interrupt waits for the oldest instruction, so that the moments of records are not even in time.  Not
 * where no branches were wanted.
 */
bool bursts_beside_counters(const struct record_opts *opts);

/* Says that they are. */
void bursts_say_beside(bool records);

/* What a target may be held up for before a burst is due that was put off. */
struct burst_account {
	double budget;     /* share of the target's CPU time */
	uint64_t ahead_ns; /* lent at the beginning, beside that */
	uint64_t held_ns;  /* so far, through n_branches */
	uint64_t n_branches;
	uint64_t n_asked;     /* bursts asked for, with those that found the thread asleep */
	double n_wanted;      /* that the rates chosen so far stand for: not each moment is told */
	uint64_t longest_ns;  /* by one burst */
	uint64_t expected_ns; /* of one, before any was seen */
	double length;        /* branches of one that is replayed; 0 = none was seen */
	uint64_t n_learnt;    /* bursts that it goes by */
};

/*
 * How many branches should the next one have, where it is replayed?  So many that the budget is enough for forty
 * bursts a second of the target's time, from 160 to BURST_LENGTH.
 */
uint32_t burst_account_length(const struct burst_account *a);

/* One of that length held the target for so long. */
void burst_account_learn(struct burst_account *a, uint64_t held_ns);

/*
 * How many branches should the next one take, where it is stepped?  160; 40 at first, and so few that it holds the
 * thread for 40 ms, but not fewer than 40, where steps are dear.
 */
uint32_t burst_branches(const struct burst_account *a);

/*
 * How long may the next one hold it, after cpu_ns of the target's time?  0 = none may be taken yet: what is left is less
 * than it should take.  One that is stepped takes as long as its n_branches; one that is replayed (n_branches = 0) what
 * others took, for that is its stop and its pages, wherever its way ends.  One that takes longer may take as much
 * again, and the next one waits for that: ended where the code is slow, bursts would see too little of it.
 */
uint64_t burst_account_allows(const struct burst_account *a, uint32_t n_branches, uint64_t cpu_ns);

/*
 * How often a second of the target's CPU time are they to be taken, so that the budget is made use of, lasts for all of
 * them, and never keeps one from its moment?  cpu_s, wall_s: of the target so far.
 */
double burst_account_hz(const struct burst_account *a, double cpu_s, double wall_s);

/* What the next one may take: length in branches, 0 = the default; a: what has been, NULL = nothing yet. */
struct burst_limits bursts_limits(uint32_t length, const struct burst_account *a);

/* Why they are stepped here rather than replayed, and what to do. */
const char *bursts_why_stepped(void);

/* Makes of another event's description, of the same recording, the one that files have of bursts. */
void bursts_attr(struct perf_event_attr *attr);

struct bursts;

/* Bursts as opts has them, seeded by opts->seed.  Starts the stepper: before the program. */
int bursts_new(const struct record_opts *opts, struct bursts **out);

/* Adds their event to the group, and what else the session needs to the config; all borrowed. */
int bursts_join(struct bursts *b, struct event_group *group, struct session_config *config);

/* How many there were, what they cost of the time that all processes had, and what came in between. */
void bursts_say(const struct bursts *b, uint64_t time_ns);

void bursts_free(struct bursts *b);

#endif
