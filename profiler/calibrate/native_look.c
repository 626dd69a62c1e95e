/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The sentinel's windows on the processor. */
#include "profiler/calibrate/native_int.h"

#include <sys/mman.h>

enum {
	LEARN_ROUNDS = 300,  /* some 20 ms: neighbours come and go in spells of microseconds to seconds */
	LEARN_AGAIN = 30,    /* once more fits than was learnt */
	LOOK_ITERATIONS = 4, /* of a window: a third of a microsecond */
};

#define SIX(text) text text text text text text
/* A root takes long and waits in a queue of its own; two chains of them share the unit, as it is pipelined. */
#define ROOTS SIX("sqrtsd {x},{x}; sqrtsd {x},{x}; sqrtsd {x},{x}; sqrtsd {x},{x}; ")

static const struct cliff window = {
	.name = "sentinel", .shape = CLIFF_MISSES, .miss = ROOTS, .snippet = "nop"
};

static int open_windows(struct cliff_native *n)
{
	struct cliff_code all = { 0 };
	size_t used = 0;
	int err = native_code_open(&all);

	for (size_t i = 0; i < SENTINEL_SIZES && err == 0; i++) {
		n->window[i].code = all.code + used;
		n->window[i].cap = all.cap - used;
		err = cliff_emit(&window, n->sentinel.size[i], &n->window[i]);
		used += (n->window[i].n_bytes + 63) & ~(size_t)63;
	}
	if (all.code && !n->window[0].code)
		n->window[0].code = all.code;
	return err < 0 ? err : native_code_allow(&all, PROT_READ | PROT_EXEC);
}

static double look_through(const struct cliff_native *n, size_t i)
{
	return (double)native_call_ticks(&n->window[i], LOOK_ITERATIONS, n->arena.state);
}

static bool learn_window(struct cliff_native *n, unsigned rounds)
{
	double ticks[SENTINEL_SIZES];

	for (unsigned k = 0; k < rounds; k++) {
		for (size_t i = 0; i < SENTINEL_SIZES; i++)
			ticks[i] = look_through(n, i);
		sentinel_learn(&n->sentinel, ticks);
	}
	return sentinel_settle(&n->sentinel);
}

static enum sentinel_word look_once(const struct cliff_native *n)
{
	const struct sentinel *s = &n->sentinel;
	double first = look_through(n, 0), low = look_through(n, s->low);

	return sentinel_judge(s, first, low, look_through(n, s->high));
}

/* What a single look says that is not the rule may have been an interrupt. */
enum sentinel_word native_look(struct cliff_native *n)
{
	enum sentinel_word word = SENTINEL_ALONE;

	for (unsigned i = 0; i < 2 && n->sentinel.can_tell; i++)
		if ((word = look_once(n)) == SENTINEL_ALONE)
			return word;
	if (word != SENTINEL_GREW)
		return word;
	if (!learn_window(n, LEARN_AGAIN))
		return SENTINEL_SHARED;
	n->n_void++;
	return SENTINEL_GREW;
}

int native_look_start(struct cliff_native *n)
{
	int err;

	sentinel_init(&n->sentinel);
	cliff_arena_prepare(&n->arena, &window, 0);
	if ((err = open_windows(n)) < 0)
		return err;
	learn_window(n, LEARN_ROUNDS);
	return 0;
}
