/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Ordering: what is in `given` is sorted into `v` each time. */
#include "kernels.h"

enum { N = 512 };

static uint32_t given[N] __attribute__((aligned(64))), v[N] __attribute__((aligned(64)));
static uint32_t spare[N] __attribute__((aligned(64)));
static uint32_t count[256] __attribute__((aligned(64)));

static void init(void)
{
	uint64_t seed = 71;

	for (int i = 0; i < N; i++)
		given[i] = kernel_random(&seed) & 0xffff;
}

/* A few places out of order, as an insertion sort is given them in practice. */
static void init_nearly(void)
{
	uint64_t seed = 72;

	for (int i = 0; i < N; i++)
		given[i] = (uint32_t)i * 16 + kernel_random(&seed) % 100;
}

KERNEL kernel_insertion(void)
{
	for (int i = 0; i < N; i++) {
		uint32_t x = given[i];
		int j = i;

		for (; j > 0 && v[j - 1] > x; j--)
			v[j] = v[j - 1];
		v[j] = x;
	}
}

KERNEL kernel_radix(void)
{
	for (int i = 0; i < N; i++)
		v[i] = given[i];
	for (int shift = 0; shift < 16; shift += 8) {
		uint32_t at = 0;

		for (int d = 0; d < 256; d++)
			count[d] = 0;
		for (int i = 0; i < N; i++)
			count[v[i] >> shift & 255]++;
		for (int d = 0; d < 256; d++) {
			uint32_t n = count[d];

			count[d] = at;
			at += n;
		}
		for (int i = 0; i < N; i++)
			spare[count[v[i] >> shift & 255]++] = v[i];
		for (int i = 0; i < N; i++)
			v[i] = spare[i];
	}
}

/* Every comparison is made, whatever the data: Batcher's bitonic network. */
KERNEL kernel_bitonic(void)
{
	for (int i = 0; i < N; i++)
		v[i] = given[i];
	for (int size = 2; size <= N; size *= 2)
		for (int step = size / 2; step > 0; step /= 2)
			for (int i = 0; i < N / 2; i++) {
				int low = (i & ~(step - 1)) * 2 | (i & (step - 1)), high = low + step;
				uint32_t a = v[low], b = v[high];
				uint32_t less = a < b ? a : b, more = a < b ? b : a;

				v[low] = low & size ? more : less;
				v[high] = low & size ? less : more;
			}
}

/* Runs of sixteen, merged without a branch on the data. */
KERNEL kernel_merge(void)
{
	for (int half = 1; half <= N / 2; half *= 2) {
		const uint32_t *from = half == 1 ? given : v;

		for (int i = 0; i < N; i++)
			spare[i] = from[i];
		for (int at = 0; at < N; at += 2 * half) {
			int a = at, b = at + half;

			for (int k = at; k < at + 2 * half; k++) {
				int left = b >= at + 2 * half || (a < at + half && spare[a] <= spare[b]);

				v[k] = spare[left ? a : b];
				a += left;
				b += !left;
			}
		}
	}
}

const struct kernel kernels_sort[] = {
	KERNEL_ROW(insertion, init_nearly, v, N * 6),
	KERNEL_ROW(radix, init, v, N * 8),
	KERNEL_ROW(bitonic, init, v, N / 2 * 45 * 2),
	KERNEL_ROW(merge, init, v, N * 9 * 2),
	{ NULL },
};
