/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CALIBRATE_KNOB_H
#define SKIDPROF_CALIBRATE_KNOB_H

/*
 * What can be moved on a simulated core, as whole numbers: a key of its file,
 * or one aspect of an instruction class.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profiler/sim/config.h"

enum knob_kind {
	KNOB_FIELD,     /* a key's number */
	KNOB_LATENCY,   /* of a class */
	KNOB_PORTS,     /* how many ports a class has */
	KNOB_OCCUPANCY, /* in sixteenths of a cycle */
	KNOB_CHOICE, /* how many ports a class has and how it is tied to them: possibilities without an order, see knob_choice */
	KNOB_SLOTS, /* of dispatch, in thousandths */
};

struct knob {
	enum knob_kind kind;
	size_t at; /* of the number in struct sim_config, or the class */
	int64_t min, max;
};

enum { KNOBS_OF_KEY = 5 };

/*
 * The knobs of a key as rows name it: "rob", "class.alu" (latency, ports,
 * ties, occupancy), "slots.move".  In the order in which they are to be
 * turned: how long a unit is taken comes before how many there are where c's
 * is not pipelined, because a rate alone does not tell the two apart.
 * Returns how many; 0: no such key.
 */
size_t knobs_of(const char *key, const struct sim_config *c, struct knob out[KNOBS_OF_KEY]);

int64_t knob_clamp(const struct knob *k, int64_t v);
int64_t knob_get(const struct knob *k, const struct sim_config *c);

/* The value of a KNOB_CHOICE: n ports, to which instructions are tied in groups of `bind`, 0: not tied. */
int64_t knob_choice(int64_t n_ports, int64_t bind);

/* False: this core can't have that value, and is as it was. */
bool knob_set(const struct knob *k, struct sim_config *c, int64_t v);

/* Every value of a KNOB_CHOICE; stops at the first failure. */
typedef int knob_try_fn(void *user, int64_t v);
int knob_try_all(knob_try_fn *fn, void *user);

#endif
