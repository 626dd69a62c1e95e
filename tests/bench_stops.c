/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * bench_stops KB MS FILE: sums over an array of so many KB, in the same order each time, for MS milliseconds.  FILE gets, for each turn of
 * some 20 microseconds, the time at its end, CLOCK_MONOTONIC, and the thread's CPU time: two 64-bit numbers of nanoseconds.
 * What a stop costs the thread is read from the turns about it.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { TURN = 4000, PER_SUM = 8, LEAST_TURN_NS = 3000 };

static uint64_t now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

struct sums {
	size_t n, at;
	double *factors; /* [n][PER_SUM] */
	uint32_t *from;  /* [n][PER_SUM] */
	double *in, *out;
};

static int sums_new(struct sums *s, size_t kb)
{
	const size_t row = PER_SUM * (sizeof(double) + sizeof(uint32_t));
	uint32_t random = 1;

	*s = (struct sums){ .n = kb * 1024 / row };
	if (!s->n)
		return -1;
	s->factors = calloc(s->n * PER_SUM, sizeof(*s->factors));
	s->from = calloc(s->n * PER_SUM, sizeof(*s->from));
	s->in = calloc(s->n, sizeof(*s->in));
	s->out = calloc(s->n, sizeof(*s->out));
	if (!s->factors || !s->from || !s->in || !s->out)
		return -1;
	for (size_t i = 0; i < s->n * PER_SUM; i++) {
		random = random * 1664525 + 1013904223;
		s->from[i] = (uint32_t)((random >> 8) % s->n);
		s->factors[i] = 1.0 / (1 + random % 7);
	}
	for (size_t i = 0; i < s->n; i++)
		s->in[i] = 1;
	return 0;
}

static void turn(struct sums *s)
{
	for (size_t i = 0; i < TURN; i++) {
		const size_t first = s->at * PER_SUM;
		double sum = 0;

		for (size_t k = first; k < first + PER_SUM; k++)
			sum += s->factors[k] * s->in[s->from[k]];
		s->out[s->at] = sum > 3 ? sum * 0.3 : sum;
		if (++s->at == s->n) {
			double *in = s->in;

			s->at = 0;
			s->in = s->out;
			s->out = in;
		}
	}
}

int main(int argc, char **argv)
{
	const uint64_t ms = argc == 4 ? strtoull(argv[2], NULL, 10) : 0, begun = now_ns(CLOCK_MONOTONIC);
	size_t n = 0, most = ms * 1000000 / LEAST_TURN_NS;
	uint64_t(*ends)[2] = calloc(most + 1, sizeof(*ends));
	struct sums s;
	FILE *f;

	if (!ms || !ends || sums_new(&s, strtoul(argv[1], NULL, 10)) < 0)
		return 2;
	do {
		turn(&s);
		ends[n][0] = now_ns(CLOCK_MONOTONIC);
		ends[n][1] = now_ns(CLOCK_THREAD_CPUTIME_ID);
	} while (ends[n][0] - begun < ms * 1000000 && ++n < most);
	f = fopen(argv[3], "wb");
	if (!f || fwrite(ends, sizeof(*ends), n, f) != n || fclose(f) != 0)
		return 1;
	return 0;
}
