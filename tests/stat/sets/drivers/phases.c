/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Programs whose phases are short and take turns: loops of other event rates and paces follow one another every .02 ms to 5 ms,
 * which is less than what is between two samples, or some dozens of them.  -DPLAN=N says which turns they take.
 */
#include <stdint.h>
#include <stdio.h>

enum { WORDS = 1 << 12, NODES = 1 << 15 };

static uint32_t words[WORDS], next_of[NODES];
static double grid[WORDS];

#define KERNEL __attribute__((noinline)) static uint32_t

/* A division each time: slow, and hardly any instructions. */
KERNEL divide(uint32_t n)
{
	uint32_t sum = 1;

	for (uint32_t i = 1; i <= n; i++)
		sum += (words[i % WORDS] | 0x80000000u) / (sum % 1000 + 3);
	return sum;
}

/* Loads that miss, each of which waits for the one before. */
KERNEL chase(uint32_t n)
{
	uint32_t at = 0;

	for (uint32_t i = 0; i < n; i++)
		at = next_of[at];
	return at;
}

/* Branches that nobody can foretell. */
KERNEL choose(uint32_t n)
{
	uint32_t up = 0, down = 0, x = 12345;

	for (uint32_t i = 0; i < n; i++) {
		x ^= x << 13;
		x ^= x >> 17;
		x ^= x << 5;
		if (x & 4)
			up += x >> 3;
		else
			down ^= words[x % WORDS];
	}
	return up + down;
}

/* Floating point, of three streams. */
KERNEL smooth(uint32_t n)
{
	double sum = 0;

	for (uint32_t k = 0; k < n; k += WORDS - 2)
		for (uint32_t i = 1; i + 1 < WORDS && k + i <= n; i++) {
			grid[i] = 0.25 * grid[i - 1] + 0.5 * grid[i] + 0.25 * grid[i + 1];
			sum += grid[i];
		}
	return (uint32_t)(int64_t)sum;
}

/* Stores, as fast as they go. */
KERNEL fill(uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		words[i % WORDS] = words[(i + 7) % WORDS] + i;
		__asm__ volatile("" ::: "memory");
	}
	return words[5];
}

/* Called code, and a loop of three iterations in it. */
__attribute__((noinline)) static uint32_t mix(uint32_t x)
{
	for (int i = 0; i < 3; i++)
		x = (x ^ x >> 15) * 2246822519u;
	return x;
}

KERNEL hash(uint32_t n)
{
	uint32_t h = 7;

	for (uint32_t i = 0; i < n; i++)
		h += mix(h ^ words[i % WORDS]);
	return h;
}

/* Iterations of so many thousandths of a millisecond, at some three instructions a nanosecond or one division in five. */
#define US(us, each) ((uint32_t)((us) * (each)))
#define DIVIDE(us)   sum += divide(US(us, 150))
#define CHASE(us)    sum += chase(US(us, 250))
#define CHOOSE(us)   sum += choose(US(us, 250))
#define SMOOTH(us)   sum += smooth(US(us, 300))
#define FILL(us)     sum += fill(US(us, 800))
#define HASH(us)     sum += hash(US(us, 120))

#if PLAN == 1 /* all of .02 ms */
#define TURNS 170
#define TURN        \
	DIVIDE(20); \
	FILL(20);   \
	HASH(20);   \
	SMOOTH(20); \
	FILL(20);   \
	CHOOSE(20);
#elif PLAN == 2 /* of .1 ms to .5 ms, two of them in turn before the third comes */
#define TURNS 8
#define TURN         \
	CHASE(100);  \
	HASH(200);   \
	CHASE(100);  \
	HASH(200);   \
	FILL(500);   \
	CHASE(100);  \
	HASH(200);   \
	SMOOTH(300); \
	DIVIDE(300);
#elif PLAN == 3 /* of 1 ms to 5 ms */
#define TURNS 2
#define TURN          \
	FILL(5000);   \
	DIVIDE(1000); \
	CHOOSE(3000); \
	CHASE(1000);
#else /* stretches of 2 ms in which two loops take turns of .02 ms, between others */
#define TURNS 3
#define TURN                           \
	for (int i = 0; i < 50; i++) { \
		FILL(20);              \
		DIVIDE(20);            \
	}                              \
	HASH(1000);                    \
	for (int i = 0; i < 50; i++) { \
		SMOOTH(20);            \
		CHOOSE(20);            \
	}
#endif

int main(void)
{
	uint32_t sum = 0;

	for (uint32_t i = 0; i < WORDS; i++) {
		words[i] = i * 2654435761u;
		grid[i] = i % 17;
	}
	/* One cycle through all nodes, for the step is odd. */
	for (uint32_t i = 0; i < NODES; i++)
		next_of[i] = (i + 20483) % NODES;
	for (uint32_t turn = 0; turn < TURNS; turn++) {
		TURN
	}
	return printf("%u\n", sum) < 0;
}
