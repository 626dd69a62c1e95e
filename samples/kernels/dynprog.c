/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tables filled from earlier entries. */
#include "kernels.h"

enum { NODES = 40, WORD = 120, ROOM = 1500, ITEMS = 12, BASES = 48 };

static int given[NODES][NODES] __attribute__((aligned(64))), dist[NODES][NODES] __attribute__((aligned(64)));
static uint8_t left[WORD], right[WORD];
static int row[2][WORD + 1] __attribute__((aligned(64)));
static uint16_t common[WORD + 1][WORD + 1] __attribute__((aligned(64)));
static int best[ROOM + 1] __attribute__((aligned(64))), weight[ITEMS], value[ITEMS];
static int pairs[BASES][BASES] __attribute__((aligned(64)));
static uint8_t bases[BASES];

static void init(void)
{
	uint64_t seed = 31;

	for (int i = 0; i < NODES; i++)
		for (int j = 0; j < NODES; j++)
			given[i][j] = 1 + (int)(kernel_random(&seed) % 1000);
	for (int i = 0; i < WORD; i++) {
		left[i] = kernel_random(&seed) % 4;
		right[i] = kernel_random(&seed) % 4;
	}
	for (int i = 0; i < ITEMS; i++) {
		weight[i] = 10 + (int)(kernel_random(&seed) % 300);
		value[i] = 1 + (int)(kernel_random(&seed) % 100);
	}
	for (int i = 0; i < BASES; i++)
		bases[i] = kernel_random(&seed) % 4;
}

KERNEL kernel_floyd(void)
{
	for (int i = 0; i < NODES; i++)
		for (int j = 0; j < NODES; j++)
			dist[i][j] = given[i][j];
	for (int k = 0; k < NODES; k++)
		for (int i = 0; i < NODES; i++)
			for (int j = 0; j < NODES; j++) {
				int via = dist[i][k] + dist[k][j];

				dist[i][j] = via < dist[i][j] ? via : dist[i][j];
			}
}

KERNEL kernel_editdist(void)
{
	for (int j = 0; j <= WORD; j++)
		row[0][j] = j;
	for (int i = 0; i < WORD; i++) {
		const int *old = row[i & 1];
		int *cur = row[~i & 1];

		cur[0] = i + 1;
		for (int j = 0; j < WORD; j++) {
			int swap = old[j] + (left[i] != right[j]), drop = old[j + 1] + 1, add = cur[j] + 1;
			int low = drop < add ? drop : add;

			cur[j + 1] = swap < low ? swap : low;
		}
	}
}

KERNEL kernel_lcs(void)
{
	for (int i = 1; i <= WORD; i++)
		for (int j = 1; j <= WORD; j++) {
			uint16_t up = common[i - 1][j], back = common[i][j - 1];
			uint16_t longer = up > back ? up : back, match = common[i - 1][j - 1] + 1;

			common[i][j] = left[i - 1] == right[j - 1] ? match : longer;
		}
}

KERNEL kernel_knapsack(void)
{
	for (int room = 0; room <= ROOM; room++)
		best[room] = 0;
	for (int i = 0; i < ITEMS; i++)
		for (int room = ROOM; room >= weight[i]; room--) {
			int with = best[room - weight[i]] + value[i];

			best[room] = with > best[room] ? with : best[room];
		}
}

/* How many bases of a strand pair up, as Nussinov counts them. */
KERNEL kernel_nussinov(void)
{
	for (int i = BASES - 1; i >= 0; i--)
		for (int j = i + 1; j < BASES; j++) {
			int most = pairs[i][j - 1], pair;

			pair = j > i + 1 ? pairs[i + 1][j - 1] + (bases[i] + bases[j] == 3) : 0;
			most = pair > most ? pair : most;
			for (int k = i + 1; k < j; k++) {
				pair = pairs[i][k] + pairs[k + 1][j];
				most = pair > most ? pair : most;
			}
			pairs[i][j] = most;
		}
}

const struct kernel kernels_dynprog[] = {
	KERNEL_ROW(floyd, init, dist, NODES *NODES *NODES),
	KERNEL_ROW(editdist, init, row, 2 * WORD * WORD),
	KERNEL_ROW(lcs, init, common, WORD *WORD),
	KERNEL_ROW(knapsack, init, best, ROOM *ITEMS),
	KERNEL_ROW(nussinov, init, pairs, BASES *BASES *BASES / 6),
	{ NULL },
};
