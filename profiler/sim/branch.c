/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/sim/branch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/base/err.h"

enum {
	SHORTEST = 4,          /* taken branches of history that the first tagged table sees */
	SHORTEST_TARGET = 2,   /* the same of indirect targets */
	LEAST_TARGET_BITS = 4, /* their tables are an eighth of the others */
	FULL = 1024,           /* allocations without room until every entry counts for half as useful */
	MAX_NEW = 2,           /* entries for one wrong prediction */
	TRUSTED = 3,
	MOST_USEFUL = 3,
};

/* Geometric: of n tables, from the first's history to the last's, table k's. */
static struct sim_length length_of(uint32_t k, uint32_t n, uint32_t first, uint32_t last)
{
	double at = n > 1 ? (double)k / (n - 1) : 1, least = first < last ? first : last;
	struct sim_length length = { (uint64_t)lround(least * pow(last / least, at)), 1 };

	for (uint64_t i = 0; i < length.branches; i++)
		length.power *= UINT64_C(0x9e3779b97f4a7c15);
	return length;
}

int sim_predictor_init(struct sim_predictor *p, const struct sim_config *config)
{
	size_t n = (size_t)1 << config->predictor_bits, btb = 16;

	while (btb * 2 <= config->btb_entries)
		btb *= 2;
	memset(p, 0, sizeof(*p));
	p->bits = config->predictor_bits;
	p->target_bits = p->bits > LEAST_TARGET_BITS + 4 ? p->bits - 4 : LEAST_TARGET_BITS;
	p->n_tables = config->predictor_tables;
	p->btb_mask = (uint32_t)btb - 1;
	p->stack_size = config->return_stack;
	p->random = 1;
	p->path.mask = 1;
	while (p->path.mask <= config->predictor_history)
		p->path.mask = p->path.mask << 1 | 1;
	p->base = calloc(n, sizeof(*p->base));
	p->tagged = calloc(n * p->n_tables, sizeof(*p->tagged));
	p->target = calloc((size_t)SIM_TARGET_TABLES << p->target_bits, sizeof(*p->target));
	p->btb = calloc(btb, sizeof(*p->btb));
	p->stack = calloc(p->stack_size, sizeof(*p->stack));
	for (uint32_t k = 0; k < p->n_tables && p->tagged; k++)
		p->table[k] =
		        (struct sim_table){ length_of(k, p->n_tables, SHORTEST, config->predictor_history),
			                    p->tagged + k * n };
	for (uint32_t k = 0; k < SIM_TARGET_TABLES; k++)
		p->target_length[k] =
		        length_of(k, SIM_TARGET_TABLES, SHORTEST_TARGET, config->predictor_history);
	if (p->base && p->tagged && p->target && p->btb && p->stack)
		return 0;
	sim_predictor_fini(p);
	return sp_fail(SP_ENOMEM, "out of memory for a simulated branch predictor");
}

void sim_predictor_fini(struct sim_predictor *p)
{
	free(p->base);
	free(p->tagged);
	free(p->target);
	free(p->btb);
	free(p->stack);
	memset(p, 0, sizeof(*p));
}

/* Without a branch: which way is as hard to foretell for the machine that runs this. */
static inline int8_t step(int8_t counter, bool up, int lo, int hi)
{
	int next = counter + 2 * up - 1;

	next = next < lo ? lo : next;
	return (int8_t)(next > hi ? hi : next);
}

/* Xorshift (Marsaglia 2003): the same on every run. */
static uint32_t next_random(struct sim_predictor *p)
{
	p->random ^= p->random << 13;
	p->random ^= p->random >> 17;
	p->random ^= p->random << 5;
	return p->random;
}

/* A branch at the present end of the path. */
struct here {
	uint64_t key, sum, n;
};

static inline struct here here(const struct sim_path *path, uint64_t ip)
{
	return (struct here){ ip * UINT64_C(0xff51afd7ed558ccd), path->sum[path->n & path->mask], path->n };
}

/*
 * The branch after so much history.  The sum up to now less that up to then,
 * grown by what came between, is of the branches between alone.  The upper
 * bits depend on all of it: index and tag are made of these.
 */
static inline uint64_t place(const struct sim_path *path, const struct here *at,
                             const struct sim_length *length)
{
	return (at->sum - path->sum[(at->n - length->branches) & path->mask] * length->power) ^ at->key;
}

static inline uint16_t tag_of(uint64_t place)
{
	return (uint16_t)(place >> 26);
}

/* Wrong too often for want of room: what is useful must become so again. */
static bool is_full(int32_t *full, int refused, int made)
{
	*full += refused - 2 * made;
	if (*full < 0)
		*full = 0;
	if (*full < FULL)
		return false;
	*full = 0;
	return true;
}

/* A wrong prediction asks for entries with more history, in tables from about `from` on. */
static void allocate(struct sim_predictor *p, const struct here *now, uint32_t from, bool taken,
                     struct sim_base *base)
{
	int made = 0, refused = 0;

	/* Not always the next: branches that are learned at the same time would all take turns in it. */
	from += next_random(p) % 4 == 0;
	for (uint32_t k = from; k < p->n_tables && made < MAX_NEW; k++) {
		uint64_t at = place(&p->path, now, &p->table[k].length);
		struct sim_tagged *e = &p->table[k].entry[at >> (64 - p->bits)];

		if (e->useful) {
			refused++;
			continue;
		}
		*e = (struct sim_tagged){ tag_of(at), taken ? 0 : -1, 0 };
		base->reach = base->reach > k ? base->reach : (uint8_t)(k + 1);
		made++;
		k++;
	}
	if (is_full(&p->full, refused, made))
		for (size_t i = 0; i < (size_t)p->n_tables << p->bits; i++)
			p->tagged[i].useful >>= 1;
}

/*
 * Which of the first n tables know the branch: a bit each, and their entries.  All are asked at once, as the machine
 * that runs this can't foretell which will: looked at one after the other, each would wait for the one before.
 */
static inline uint32_t look_up(const struct sim_predictor *p, const struct here *now, uint32_t n,
                               struct sim_tagged **entry)
{
	const unsigned shift = 64 - p->bits;
	uint32_t known = 0;

	for (uint32_t k = 0; k < n; k++) {
		const struct sim_table *t = &p->table[k];
		uint64_t at = place(&p->path, now, &t->length);

		entry[k] = &t->entry[at >> shift];
		known |= (uint32_t)(entry[k]->tag == tag_of(at)) << k;
	}
	return known;
}

/* The one of them with the most history; *n becomes its number + 1, 0: none, and NULL. */
static inline struct sim_tagged *longest(uint32_t known, struct sim_tagged *const *entry, uint32_t *n)
{
	*n = known ? 32 - (uint32_t)__builtin_clz(known) : 0;
	return known ? entry[*n - 1] : NULL;
}

/* What is known of the branch, without its tagged entries. */
static inline void learn_base(struct sim_base *base, bool taken)
{
	base->counter = step(base->counter, taken, -1, 2);
}

/* The branch went so, and e knew it by the longest history; true: the prediction was wrong. */
static bool learn(struct sim_predictor *p, struct sim_tagged *e, struct sim_base *base,
                  struct sim_tagged *second, bool taken)
{
	bool guess = e->counter >= 0, other = second ? second->counter >= 0 : base->counter > 0;
	bool is_new = !e->useful && (e->counter == 0 || e->counter == -1);
	bool wrong = (is_new && p->distrust >= 0 ? other : guess) != taken;

	if (is_new && guess != other)
		p->distrust = step(p->distrust, other == taken, -8, 7);
	if (!e->useful) {
		if (second)
			second->counter = step(second->counter, taken, -4, 3);
		else
			learn_base(base, taken);
	}
	e->counter = step(e->counter, taken, -4, 3);
	if (guess != other)
		e->useful = (uint8_t)step((int8_t)e->useful, guess == taken, 0, MOST_USEFUL);
	return wrong;
}

bool sim_predict_direction(struct sim_predictor *p, uint64_t ip, bool taken)
{
	struct sim_base *base = &p->base[(ip >> 1 ^ ip >> (p->bits + 1)) & ((1u << p->bits) - 1)];
	const struct here now = here(&p->path, ip);
	struct sim_tagged *entry[SIM_MAX_TABLES], *e;
	uint32_t known = look_up(p, &now, base->reach, entry), n, n_second;
	bool wrong, was_new = false;

	e = longest(known, entry, &n);
	if (!e) {
		wrong = (base->counter > 0) != taken;
		learn_base(base, taken);
	} else if (e->useful == MOST_USEFUL && (e->counter >= 0) == taken) {
		/* Whatever the others say, it neither needs them nor becomes more useful. */
		e->counter = step(e->counter, taken, -4, 3);
		return false;
	} else {
		was_new = !e->useful && e->counter == (taken ? 0 : -1);
		known ^= 1u << (n - 1);
		wrong = learn(p, e, base, longest(known, entry, &n_second), taken);
	}
	/* What is new and was right all by itself will be believed soon. */
	if (wrong && !was_new)
		allocate(p, &now, n, taken, base);
	return wrong;
}

/* ---- indirect targets ---- */

static struct sim_target *target_at(struct sim_predictor *p, uint32_t table, uint64_t place)
{
	return &p->target[((uint64_t)table << p->target_bits) + (place >> (64 - p->target_bits))];
}

static uint32_t target_tag(uint64_t place)
{
	return (uint32_t)(place >> 20) | 1;
}

static void allocate_target(struct sim_predictor *p, const struct here *now, uint64_t target, uint32_t from)
{
	int made = 0, refused = 0;

	from += from && next_random(p) % 4 == 0;
	for (uint32_t k = from; k < SIM_TARGET_TABLES && !made; k++) {
		uint64_t at = place(&p->path, now, &p->target_length[k]);
		struct sim_target *e = target_at(p, k, at);

		if (e->useful)
			refused++;
		else
			*e = (struct sim_target){ target, target_tag(at), 0, 0 }, made++;
	}
	if (is_full(&p->target_full, refused, made))
		for (size_t i = 0; i < (size_t)SIM_TARGET_TABLES << p->target_bits; i++)
			p->target[i].useful >>= 1;
}

bool sim_predict_indirect(struct sim_predictor *p, uint64_t ip, uint64_t target)
{
	const struct here now = here(&p->path, ip);
	struct sim_target *best = NULL, *second = NULL;
	uint32_t table = 0; /* of the best, + 1 */
	bool wrong;

	for (uint32_t k = SIM_TARGET_TABLES; k-- > 0 && !second;) {
		uint64_t at = place(&p->path, &now, &p->target_length[k]);
		struct sim_target *e = target_at(p, k, at);

		if (e->tag != target_tag(at))
			continue;
		second = best ? e : NULL;
		best = best ? best : e;
		table = table ? table : k + 1;
	}
	/* A target of which nothing is certain yet is believed less than one that has been right. */
	wrong = !best || (!best->trust && second && second->trust ? second : best)->target != target;
	if (best && best->target == target) {
		best->trust += best->trust < TRUSTED;
		if (second && second->target != target)
			best->useful = 1;
	} else if (best && best->trust) {
		best->trust--;
	} else if (best) {
		best->target = target;
		best->useful = 0;
	}
	if (wrong)
		allocate_target(p, &now, target, table);
	return wrong;
}
