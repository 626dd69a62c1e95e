/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/calibrate/knob.h"

#include <string.h>

enum { BIND_BITS = 5, MOST_BIND = 3, MOST_TIED = 8 };

static struct knob of_class(enum knob_kind kind, int id, int64_t min, int64_t max)
{
	return (struct knob){ kind, (size_t)id, min, max };
}

size_t knobs_of(const char *key, const struct sim_config *c, struct knob out[KNOBS_OF_KEY])
{
	struct sim_config_field f;
	size_t len = strlen(key);
	bool pipelined;
	int id;

	/* How a cache's lines share it hardly shows in a walk at random. */
	if (len > 5 && !strcmp(key + len - 5, "_ways"))
		return 0;
	if (sim_config_field(key, &f)) {
		out[0] = (struct knob){ KNOB_FIELD, f.at, f.min, f.max };
		return 1;
	}
	if (!strncmp(key, "slots.", 6) && (id = sim_class_find(key + 6)) >= 0) {
		out[0] = of_class(KNOB_SLOTS, id, 500, 4000);
		return 1;
	}
	if (strncmp(key, "class.", 6) || (id = sim_class_find(key + 6)) < 0)
		return 0;
	out[0] = of_class(KNOB_LATENCY, id, 0, 200);
	pipelined = c->cls[id].occupancy_16 <= 16;
	out[pipelined ? 1 : 2] = of_class(KNOB_PORTS, id, 1, SIM_MAX_PORTS);
	out[pipelined ? 2 : 3] = of_class(KNOB_CHOICE, id, 0, knob_choice(SIM_MAX_PORTS, SIM_MAX_PORTS));
	out[pipelined ? 3 : 1] = of_class(KNOB_OCCUPANCY, id, 16, 255 * 16);
	return 4;
}

int64_t knob_choice(int64_t n_ports, int64_t bind)
{
	return n_ports << BIND_BITS | bind;
}

int64_t knob_clamp(const struct knob *k, int64_t v)
{
	return v < k->min ? k->min : v > k->max ? k->max : v;
}

int64_t knob_get(const struct knob *k, const struct sim_config *c)
{
	const struct sim_class_config *cls = &c->cls[k->at < SIM_N_CLASSES ? k->at : 0];
	uint32_t v;

	switch (k->kind) {
	case KNOB_FIELD:
		memcpy(&v, (const char *)c + k->at, sizeof(v));
		return v;
	case KNOB_LATENCY:
		return cls->latency_cyc;
	case KNOB_PORTS:
		return __builtin_popcount(cls->ports);
	case KNOB_OCCUPANCY:
		return cls->occupancy_16;
	case KNOB_CHOICE:
		return knob_choice(__builtin_popcount(cls->ports), cls->bind);
	case KNOB_SLOTS:
		return cls->slots_milli;
	}
	return 0;
}

/* Ports of the same part of the core: those that the classes like this one have between them. */
static uint32_t ports_around(const struct sim_config *c, int id)
{
	static const uint8_t kinds[][2] = { { SIM_C_ALU, SIM_C_BRANCH },
		                            { SIM_C_LOAD, SIM_C_LOAD },
		                            { SIM_C_STORE, SIM_C_STORE },
		                            { SIM_C_FMOVE, SIM_C_X87 } };
	uint32_t around = 0;

	for (size_t k = 0; k < sizeof(kinds) / sizeof(*kinds); k++)
		if (id >= kinds[k][0] && id <= kinds[k][1])
			for (int i = kinds[k][0]; i <= kinds[k][1]; i++)
				around |= c->cls[i].ports;
	return around ? around : c->cls[id].ports;
}

/* n ports, as far as possible those it has; else the nearest above, then below, then any that nobody of another kind has. */
static bool set_ports(struct sim_config *c, int id, int64_t n)
{
	uint32_t have = c->cls[id].ports, more = ports_around(c, id) & ~have, all = 0;

	if (!have || n < 1)
		return false;
	for (int i = 0; i < SIM_N_CLASSES; i++)
		all |= c->cls[i].ports;
	while (__builtin_popcount(have) > n)
		have &= have - 1;
	while (__builtin_popcount(have) < n) {
		uint32_t above = more & ~((2u << (31 - __builtin_clz(have))) - 1);

		if (!more)
			more = ~all & ((1u << SIM_MAX_PORTS) - 1) & ~have;
		if (!more)
			return false;
		above = above ? above & -above : 1u << (31 - __builtin_clz(more));
		have |= above;
		more &= ~above;
	}
	c->cls[id].ports = have;
	return true;
}

static bool can_tie(const struct sim_class_config *c, int64_t bind)
{
	unsigned n = (unsigned)__builtin_popcount(c->ports);

	return !bind ||
	       (n && n % bind == 0 && n > bind && c->ports >> __builtin_ctz(c->ports) == (1u << n) - 1);
}

static bool set_tie(struct sim_config *c, int id, int64_t v)
{
	struct sim_class_config *cls = &c->cls[id], was = *cls;
	int64_t bind = v & ((1 << BIND_BITS) - 1);

	if (!set_ports(c, id, v >> BIND_BITS))
		return false;
	if (can_tie(cls, bind)) {
		cls->bind = (uint32_t)bind;
		return true;
	}
	*cls = was;
	return false;
}

bool knob_set(const struct knob *k, struct sim_config *c, int64_t v)
{
	struct sim_class_config *cls = &c->cls[k->at < SIM_N_CLASSES ? k->at : 0];
	uint32_t as = (uint32_t)v;

	switch (k->kind) {
	case KNOB_FIELD:
		memcpy((char *)c + k->at, &as, sizeof(as));
		return true;
	case KNOB_LATENCY:
		cls->latency_cyc = as;
		c->has_tovec |= k->at == SIM_C_TOVEC;
		return true;
	case KNOB_PORTS:
		if (!set_ports(c, (int)k->at, v))
			return false;
		if (!can_tie(cls, cls->bind))
			cls->bind = 0;
		return true;
	case KNOB_OCCUPANCY:
		if (!cls->ports)
			return false;
		cls->occupancy_16 = as;
		return true;
	case KNOB_CHOICE:
		return set_tie(c, (int)k->at, v);
	case KNOB_SLOTS:
		cls->slots_milli = as;
		return true;
	}
	return false;
}

int knob_try_all(knob_try_fn *fn, void *user)
{
	for (int64_t n = 1; n <= MOST_TIED; n++)
		for (int64_t bind = 0; bind <= MOST_BIND && bind < n; bind++) {
			int err = bind && n % bind ? 0 : fn(user, knob_choice(n, bind));

			if (err < 0)
				return err;
		}
	return 0;
}
