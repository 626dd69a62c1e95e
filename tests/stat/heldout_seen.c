/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The first set: its table was looked at kernel by kernel while the model was
 * being made, so it tells of the model less than it seems to.
 */
#include <stdbool.h>
#include <string.h>

#include "tests/stat/heldout.h"

enum {
	DIM = 64,
	GRID = 192,
	N_SORT = 2048,
	N_HASH = 1 << 14,
	N_CHASE = 1 << 15,
	N_TEXT = 1 << 15,
	N_VEC = 2048
};

static double a[DIM][DIM], b[DIM][DIM], c[DIM][DIM];
static float grid[GRID][GRID], next[GRID][GRID];
static uint32_t keys[N_SORT], sorted[N_SORT], table[N_HASH], found;
static struct node {
	struct node *to;
	uint64_t pad[7];
} nodes[N_CHASE];
static struct node *at = nodes;
static char text[N_TEXT + 1];
static double x[N_VEC], y[N_VEC], sum;
static uint32_t words, numbers, bits;
static uint64_t mixed;

KERNEL kernel_gemm(void)
{
	for (int i = 0; i < DIM; i++)
		for (int k = 0; k < DIM; k++)
			for (int j = 0; j < DIM; j++)
				c[i][j] += a[i][k] * b[k][j];
}

KERNEL kernel_stencil(void)
{
	for (int i = 1; i < GRID - 1; i++)
		for (int j = 1; j < GRID - 1; j++)
			next[i][j] = 0.2f * (grid[i][j] + grid[i - 1][j] + grid[i + 1][j] + grid[i][j - 1] +
			                     grid[i][j + 1]);
}

/* Shell's sort with gaps by thirds. */
KERNEL kernel_sort(void)
{
	memcpy(sorted, keys, sizeof(keys));
	for (int gap = 1093; gap > 0; gap /= 3)
		for (int i = gap; i < N_SORT; i++) {
			uint32_t v = sorted[i];
			int j = i;

			for (; j >= gap && sorted[j - gap] > v; j -= gap)
				sorted[j] = sorted[j - gap];
			sorted[j] = v;
		}
}

KERNEL kernel_hash(void)
{
	memset(table, 0, sizeof(table));
	for (int i = 0; i < N_SORT; i++) {
		uint32_t h = (keys[i] * 2654435761u) >> 18;

		while (table[h] && table[h] != keys[i])
			h = (h + 1) & (N_HASH - 1);
		table[h] = keys[i];
	}
}

KERNEL kernel_chase(void)
{
	for (int i = 0; i < 4096; i++)
		at = at->to;
}

KERNEL kernel_words(void)
{
	bool in = false;

	for (const char *p = text; *p; p++) {
		bool is = *p != ' ';

		words += is && !in;
		in = is;
	}
}

KERNEL kernel_parse(void)
{
	uint32_t v = 0;

	for (const char *p = text; *p; p++) {
		if (*p >= '0' && *p <= '9') {
			v = v * 10 + (uint32_t)(*p - '0');
		} else if (v) {
			numbers += v;
			v = 0;
		}
	}
}

KERNEL kernel_search(void)
{
	for (int i = 0; i < N_SORT; i++) {
		uint32_t lo = 0, n = N_SORT;

		while (n > 1) {
			uint32_t half = n / 2;

			lo += sorted[lo + half - 1] < keys[i] ? half : 0;
			n -= half;
		}
		found += sorted[lo];
	}
}

/* One straight-line loop each, to be given to a block predictor as well. */
KERNEL kernel_dot(void)
{
	double s = 0;

	for (int i = 0; i < N_VEC; i++)
		s += x[i] * y[i];
	sum = s;
}

KERNEL kernel_axpy(void)
{
	for (int i = 0; i < N_VEC; i++)
		y[i] = y[i] * 0.5 + x[i];
}

KERNEL kernel_horner(void)
{
	double s = 0;

	for (int i = 0; i < N_VEC; i++)
		s = s * 0.75 + x[i];
	sum = s;
}

KERNEL kernel_mix(void)
{
	uint64_t h = mixed;

	for (int i = 0; i < N_VEC; i++) {
		h ^= h >> 29;
		h *= 0x9e3779b97f4a7c15u;
		h += keys[i];
	}
	mixed = h;
}

KERNEL kernel_bits(void)
{
	uint32_t n = 0;

	for (int i = 0; i < N_SORT; i++) {
		uint32_t v = keys[i];

		v -= v >> 1 & 0x55555555;
		v = (v & 0x33333333) + (v >> 2 & 0x33333333);
		n += (((v + (v >> 4)) & 0x0f0f0f0f) * 0x01010101) >> 24;
	}
	bits += n;
}

static void init(void)
{
	uint64_t s = 7;

	for (int i = 0; i < DIM; i++)
		for (int j = 0; j < DIM; j++) {
			a[i][j] = next_random(&s) * 1e-9;
			b[i][j] = next_random(&s) * 1e-9;
		}
	for (int i = 0; i < GRID; i++)
		for (int j = 0; j < GRID; j++)
			grid[i][j] = (float)next_random(&s) * 1e-9f;
	for (int i = 0; i < N_SORT; i++)
		keys[i] = next_random(&s);
	for (int i = 0; i < N_CHASE; i++)
		nodes[i].to = &nodes[i];
	for (int i = N_CHASE - 1; i > 0; i--) {
		int j = (int)(next_random(&s) % (unsigned)i);
		struct node *t = nodes[i].to;

		nodes[i].to = nodes[j].to;
		nodes[j].to = t;
	}
	for (int i = 0; i < N_TEXT; i++) {
		unsigned r = next_random(&s) >> 8;

		text[i] = (char)(r % 7 == 0 ? ' ' : r % 3 == 0 ? '0' + r % 10 : 'a' + r % 26);
	}
	for (int i = 0; i < N_VEC; i++) {
		x[i] = next_random(&s) * 1e-10;
		y[i] = next_random(&s) * 1e-10;
	}
	/* What search looks through. */
	kernel_sort();
}

/* Results that nobody asks for would not be computed. */
static double result(void)
{
	return sum + next[1][1] + c[1][1] + y[1] + words + numbers + bits + found + (double)mixed;
}

static const struct kernel kernels[] = {
	{ "gemm", kernel_gemm, 0, 0 },
	{ "stencil", kernel_stencil, 0, 0 },
	{ "sort", kernel_sort, 0, 0 },
	{ "hash", kernel_hash, 0, 0 },
	{ "chase", kernel_chase, 0, 0 },
	{ "words", kernel_words, 0, 0 },
	{ "parse", kernel_parse, 0, 0 },
	{ "search", kernel_search, 0, 0 },
	{ "dot", kernel_dot, N_VEC, sizeof(double) },
	{ "axpy", kernel_axpy, N_VEC, sizeof(double) },
	{ "horner", kernel_horner, N_VEC, sizeof(double) },
	{ "mix", kernel_mix, N_VEC, sizeof(uint32_t) },
	{ "bits", kernel_bits, N_SORT, sizeof(uint32_t) },
	{ NULL, NULL, 0, 0 },
};

const struct kernel_set heldout_seen = { "seen", kernels, init, result };
