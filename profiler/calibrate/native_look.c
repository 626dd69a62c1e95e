/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The sentinel's windows on the processor. */
#include "profiler/calibrate/native_int.h"

#include <math.h>
#include <sys/mman.h>
#include <time.h>

enum {
	LEARN_ROUNDS = 300,     /* of some 60 us each, and as many naps: */
	LEARN_NAP_NS = 1000000, /* neighbours come and go in spells of microseconds to seconds */
	LEARN_AGAIN = 30,       /* once more fits than was learnt */
	TRY_AGAIN = 1024,       /* looks, where nothing could be learnt */
	LOOK_ITERATIONS = 4,    /* of a window: a third of a microsecond */
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

/* The first window is looked through twice: cold code, or an interrupt in it, would make all others seem to fit. */
static bool learn_window(struct cliff_native *n, unsigned rounds, long nap_ns)
{
	const struct timespec nap = { .tv_nsec = nap_ns };
	double ticks[SENTINEL_SIZES];

	for (unsigned k = 0; k < rounds; k++) {
		if (nap_ns)
			nanosleep(&nap, NULL);
		for (size_t i = 0; i < SENTINEL_SIZES; i++)
			ticks[i] = look_through(n, i);
		ticks[0] = fmin(ticks[0], look_through(n, 0));
		sentinel_learn(&n->sentinel, ticks);
	}
	return sentinel_settle(&n->sentinel);
}

static enum sentinel_word look_once(const struct cliff_native *n)
{
	const struct sentinel *s = &n->sentinel;
	double first = look_through(n, 0), low = look_through(n, s->low), high = look_through(n, s->high);

	return sentinel_judge(s, fmin(first, look_through(n, 0)), low, high);
}

/* Once more fits than was learnt, or something does: what was measured until now was measured beside a neighbour, or nobody knows. */
static enum sentinel_word learn_again(struct cliff_native *n, enum sentinel_word otherwise)
{
	if (!learn_window(n, LEARN_AGAIN, 0))
		return otherwise;
	n->n_void++;
	return SENTINEL_GREW;
}

/* What a single look says that is not the rule may have been an interrupt. */
enum sentinel_word native_look(struct cliff_native *n)
{
	enum sentinel_word word = SENTINEL_ALONE;

	if (!n->sentinel.can_tell)
		return ++n->n_unable % TRY_AGAIN ? SENTINEL_ALONE : learn_again(n, SENTINEL_ALONE);
	for (unsigned i = 0; i < 2; i++)
		if ((word = look_once(n)) == SENTINEL_ALONE)
			return word;
	return word == SENTINEL_GREW ? learn_again(n, SENTINEL_SHARED) : word;
}

int native_look_start(struct cliff_native *n)
{
	int err;

	sentinel_init(&n->sentinel);
	cliff_arena_prepare(&n->arena, &window, 0);
	if ((err = open_windows(n)) < 0)
		return err;
	learn_window(n, LEARN_ROUNDS, LEARN_NAP_NS);
	return 0;
}
