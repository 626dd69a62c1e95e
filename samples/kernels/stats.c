/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What one says about many numbers. */
#include "kernels.h"

enum { ROWS = 60, COLS = 24, LONG = 2000, BINS = 256 };

static double data[ROWS][COLS] __attribute__((aligned(64)));
static double mean[COLS] __attribute__((aligned(64))), cov[COLS][COLS] __attribute__((aligned(64)));
static double scaled[ROWS][COLS] __attribute__((aligned(64)));
static double series[LONG] __attribute__((aligned(64))), sums[2];
static uint8_t bytes[4096] __attribute__((aligned(64)));
static uint32_t bins[BINS] __attribute__((aligned(64)));
static int32_t steps[LONG] __attribute__((aligned(64))), running[LONG] __attribute__((aligned(64)));

static void init(void)
{
	uint64_t seed = 41;

	kernel_fill(&data[0][0], (size_t)ROWS * COLS, 42);
	kernel_fill(series, LONG, 43);
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)kernel_random(&seed);
	for (int i = 0; i < LONG; i++)
		steps[i] = (int)(kernel_random(&seed) % 2001) - 1000;
}

KERNEL kernel_covariance(void)
{
	for (int j = 0; j < COLS; j++)
		mean[j] = 0;
	for (int i = 0; i < ROWS; i++)
		for (int j = 0; j < COLS; j++)
			mean[j] += data[i][j];
	for (int j = 0; j < COLS; j++)
		mean[j] /= ROWS;
	for (int i = 0; i < ROWS; i++)
		for (int j = 0; j < COLS; j++)
			scaled[i][j] = data[i][j] - mean[j];
	for (int i = 0; i < COLS; i++)
		for (int j = i; j < COLS; j++) {
			double sum = 0;

			for (int k = 0; k < ROWS; k++)
				sum += scaled[k][i] * scaled[k][j];
			cov[i][j] = cov[j][i] = sum / (ROWS - 1);
		}
}

/* Mean and variance in one pass, as Welford does it: a division in every step. */
KERNEL kernel_welford(void)
{
	double m = 0, s = 0;

	for (int i = 0; i < LONG; i++) {
		double off = series[i] - m;

		m += off / (i + 1);
		s += off * (series[i] - m);
	}
	sums[0] = m;
	sums[1] = s / (LONG - 1);
}

KERNEL kernel_histogram(void)
{
	for (int i = 0; i < BINS; i++)
		bins[i] = 0;
	for (size_t i = 0; i < sizeof(bytes); i++)
		bins[bytes[i]]++;
}

KERNEL kernel_prefix(void)
{
	int32_t sum = 0;

	for (int i = 0; i < LONG; i++) {
		sum += steps[i];
		running[i] = sum;
	}
}

KERNEL kernel_minmax(void)
{
	double low = series[0], high = series[0];

	for (int i = 1; i < LONG; i++) {
		low = series[i] < low ? series[i] : low;
		high = series[i] > high ? series[i] : high;
	}
	sums[0] = low;
	sums[1] = high;
}

const struct kernel kernels_stats[] = {
	KERNEL_ROW(covariance, init, cov, COLS *COLS *ROWS / 2),
	KERNEL_ROW(welford, init, sums, 4 * LONG),
	KERNEL_ROW(histogram, init, bins, 4096),
	KERNEL_ROW(prefix, init, running, LONG),
	KERNEL_ROW(minmax, init, sums, 2 * LONG),
	{ NULL },
};
