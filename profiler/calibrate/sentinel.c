/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/calibrate/sentinel.h"

#include <math.h>
#include <string.h>

/* Fillers grow by an eighth: from 24 to some 1000, beyond any core's buffer. */
static const double FIRST = 24, GROWTH = 1.13;
/* Chains at the same time take as long as one of them, else twice that: the middle, as a factor. */
static const double OVERLAPS = 1.4;
/* Half a buffer is well below the one, what is learnt from half a buffer well below the other. */
static const double LOW = 0.8, HIGH = 1.3, LEAST_GROWTH = 1.2;
/* So often, and in that share of the rounds: what disturbs a round makes it longer, and hardly ever shorter. */
enum { LEAST_ROUNDS = 3 };
static const double LEAST_SHARE = 0.02;

void sentinel_init(struct sentinel *s)
{
	double size = FIRST;

	memset(s, 0, sizeof(*s));
	for (size_t i = 0; i < SENTINEL_SIZES; i++, size *= GROWTH)
		s->size[i] = (uint32_t)size;
}

void sentinel_learn(struct sentinel *s, const double ticks[SENTINEL_SIZES])
{
	s->rounds++;
	for (size_t i = 0; i < SENTINEL_SIZES; i++)
		s->overlapped[i] += ticks[i] < OVERLAPS * ticks[0];
}

static double entries(const struct sentinel *s, size_t i)
{
	return s->size[i] + SENTINEL_CHAIN;
}

/* The most fillers up to which all fit: a window longer than one that never fits was lucky. */
static size_t most_that_fit(const struct sentinel *s)
{
	size_t i = 0;

	while (i + 1 < SENTINEL_SIZES && s->overlapped[i + 1] >= LEAST_ROUNDS &&
	       s->overlapped[i + 1] >= LEAST_SHARE * s->rounds)
		i++;
	return i;
}

bool sentinel_settle(struct sentinel *s)
{
	size_t best = most_that_fit(s), last = SENTINEL_SIZES - 1;

	/* A size more is where a step is not sharp, and no neighbour who left. */
	if (s->can_tell && entries(s, best) < LEAST_GROWTH * entries(s, s->best))
		return false;
	s->best = best;
	for (s->low = s->best; s->low > 0 && entries(s, s->low) > LOW * entries(s, s->best);)
		s->low--;
	for (s->high = s->best; s->high < last && entries(s, s->high) < HIGH * entries(s, s->best);)
		s->high++;
	/* Chains that always overlap or never do say nothing. */
	s->can_tell = s->low > 0 && entries(s, s->high) >= HIGH * entries(s, s->best);
	return s->can_tell;
}

enum sentinel_word sentinel_judge(const struct sentinel *s, double first, double low, double high)
{
	if (!s->can_tell)
		return SENTINEL_ALONE;
	if (high < OVERLAPS * first)
		return SENTINEL_GREW;
	return low < OVERLAPS * first ? SENTINEL_ALONE : SENTINEL_SHARED;
}

uint32_t sentinel_window(const struct sentinel *s)
{
	return s->can_tell ? s->size[s->best] + SENTINEL_CHAIN : 0;
}
