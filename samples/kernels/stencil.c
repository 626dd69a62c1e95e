/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Each point from its neighbours. */
#include "kernels.h"

enum { LINE = 1000, SIDE = 36, CUBE = 12, STEPS = 4 };

static double line[LINE] __attribute__((aligned(64))), next_line[LINE] __attribute__((aligned(64)));
static double grid[SIDE][SIDE] __attribute__((aligned(64))),
        next_grid[SIDE][SIDE] __attribute__((aligned(64)));
static double ex[SIDE][SIDE] __attribute__((aligned(64)));
static double cube[CUBE][CUBE][CUBE] __attribute__((aligned(64)));
static double next_cube[CUBE][CUBE][CUBE] __attribute__((aligned(64)));
static uint8_t life[64][64] __attribute__((aligned(64))), next_life[64][64] __attribute__((aligned(64)));

static void init(void)
{
	uint64_t seed = 25;

	kernel_fill(line, LINE, 21);
	kernel_fill(&grid[0][0], (size_t)SIDE * SIDE, 22);
	kernel_fill(&ex[0][0], (size_t)SIDE * SIDE, 23);
	kernel_fill(&cube[0][0][0], (size_t)CUBE * CUBE * CUBE, 24);
	for (int i = 0; i < 64; i++)
		for (int j = 0; j < 64; j++)
			life[i][j] = kernel_random(&seed) & 1;
}

KERNEL kernel_jacobi1d(void)
{
	for (int t = 0; t < STEPS; t++) {
		for (int i = 1; i < LINE - 1; i++)
			next_line[i] = 0.33333 * (line[i - 1] + line[i] + line[i + 1]);
		for (int i = 1; i < LINE - 1; i++)
			line[i] = 0.33333 * (next_line[i - 1] + next_line[i] + next_line[i + 1]) + 0.001;
	}
}

KERNEL kernel_jacobi2d(void)
{
	for (int i = 1; i < SIDE - 1; i++)
		for (int j = 1; j < SIDE - 1; j++)
			next_grid[i][j] = 0.2 * (grid[i][j] + grid[i][j - 1] + grid[i][j + 1] +
			                         grid[i - 1][j] + grid[i + 1][j]);
}

/* In place: each point waits for the one before. */
KERNEL kernel_seidel2d(void)
{
	for (int i = 1; i < SIDE - 1; i++)
		for (int j = 1; j < SIDE - 1; j++)
			grid[i][j] = (grid[i - 1][j - 1] + grid[i - 1][j] + grid[i - 1][j + 1] +
			              grid[i][j - 1] + grid[i][j] + grid[i][j + 1] + grid[i + 1][j - 1] +
			              grid[i + 1][j] + grid[i + 1][j + 1]) /
			             9.0;
}

KERNEL kernel_fdtd2d(void)
{
	for (int i = 0; i < SIDE; i++)
		for (int j = 1; j < SIDE; j++)
			ex[i][j] = 0.9 * ex[i][j] + 0.1 * (grid[i][j] - grid[i][j - 1]);
	for (int i = 0; i < SIDE - 1; i++)
		for (int j = 0; j < SIDE - 1; j++)
			grid[i][j] = 0.9 * grid[i][j] - 0.07 * (ex[i][j + 1] - ex[i][j]) + 0.1;
}

KERNEL kernel_heat3d(void)
{
	for (int i = 1; i < CUBE - 1; i++)
		for (int j = 1; j < CUBE - 1; j++)
			for (int k = 1; k < CUBE - 1; k++)
				next_cube[i][j][k] =
				        0.125 * (cube[i + 1][j][k] - 2 * cube[i][j][k] + cube[i - 1][j][k]) +
				        0.125 * (cube[i][j + 1][k] - 2 * cube[i][j][k] + cube[i][j - 1][k]) +
				        0.125 * (cube[i][j][k + 1] - 2 * cube[i][j][k] + cube[i][j][k - 1]) +
				        cube[i][j][k];
}

KERNEL kernel_life(void)
{
	for (int i = 1; i < 63; i++)
		for (int j = 1; j < 63; j++) {
			int n = life[i - 1][j - 1] + life[i - 1][j] + life[i - 1][j + 1] + life[i][j - 1] +
			        life[i][j + 1] + life[i + 1][j - 1] + life[i + 1][j] + life[i + 1][j + 1];

			next_life[i][j] = n == 3 || (n == 2 && life[i][j]);
		}
}

const struct kernel kernels_stencil[] = {
	KERNEL_ROW(jacobi1d, init, line, 2 * STEPS * LINE),
	KERNEL_ROW(jacobi2d, init, next_grid, SIDE *SIDE),
	KERNEL_ROW(seidel2d, init, grid, SIDE *SIDE * 4),
	KERNEL_ROW(fdtd2d, init, grid, 2 * SIDE * SIDE),
	KERNEL_ROW(heat3d, init, next_cube, CUBE *CUBE *CUBE),
	KERNEL_ROW(life, init, next_life, 64 * 64),
	{ NULL },
};
