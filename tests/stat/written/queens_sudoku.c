/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef QN
#define QN 11
#endif
#ifndef REPS
#define REPS 1
#endif

/* ---------- n queens, three ways ---------- */

static long queens_bits(unsigned all, unsigned cols, unsigned d1, unsigned d2)
{
	if (cols == all)
		return 1;
	long n = 0;
	for (unsigned free_ = all & ~(cols | d1 | d2); free_; free_ &= free_ - 1) {
		unsigned bit = free_ & -free_;
		n += queens_bits(all, cols | bit, ((d1 | bit) << 1) & all, (d2 | bit) >> 1);
	}
	return n;
}

static int board[16];

__attribute__((noinline)) static bool safe(int row, int col)
{
	for (int r = 0; r < row; r++) {
		int d = board[r] - col;
		if (d == 0 || d == row - r || d == r - row)
			return false;
	}
	return true;
}

static long queens_array(int row, int n)
{
	if (row == n)
		return 1;
	long total = 0;
	for (int c = 0; c < n; c++) {
		if (safe(row, c)) {
			board[row] = c;
			total += queens_array(row + 1, n);
		}
	}
	return total;
}

static long perm_count;
static char up[32], down[32];

static void queens_perm(int *q, int k, int n)
{
	if (k == n) {
		perm_count++;
		return;
	}
	for (int i = k; i < n; i++) {
		int v = q[i];
		if (up[v + k] || down[v - k + n])
			continue;
		q[i] = q[k];
		q[k] = v;
		up[v + k] = down[v - k + n] = 1;
		queens_perm(q, k + 1, n);
		up[v + k] = down[v - k + n] = 0;
		q[k] = q[i];
		q[i] = v;
	}
}

/* ---------- sudoku ---------- */

static const char *puzzles[] = {
	"53..7....6..195....98....6.8...6...34..8.3..17...2...6.6....28....419..5....8..79",
	"..............3.85..1.2.......5.7.....4...1...9.......5......73..2.1........4...9",
	"4.....8.5.3..........7......2.....6.....8.4......1.......6.3.7.5..2.....1.4......",
	"85...24..72......9..4.........1.7..23.5...9...4...........8..7..17..........36.4.",
	"..53.....8......2..7..1.5..4....53...1..7...6..32...8..6.5....9..4....3......97..",
	"1....7.9..3..2...8..96..5....53..9...1..8...26....4...3......1..4......7..7...3..",
};

typedef struct {
	unsigned char cell[81];
	unsigned short row[9], col[9], box[9];
	long nodes;
} Sudoku;

static inline int box_of(int r, int c)
{
	return r / 3 * 3 + c / 3;
}

static inline void place(Sudoku *s, int i, int d)
{
	int r = i / 9, c = i % 9;
	unsigned short m = (unsigned short)(1u << d);
	s->cell[i] = (unsigned char)d;
	s->row[r] |= m;
	s->col[c] |= m;
	s->box[box_of(r, c)] |= m;
}

static inline void unplace(Sudoku *s, int i, int d)
{
	int r = i / 9, c = i % 9;
	unsigned short m = (unsigned short)~(1u << d);
	s->cell[i] = 0;
	s->row[r] &= m;
	s->col[c] &= m;
	s->box[box_of(r, c)] &= m;
}

static unsigned candidates(const Sudoku *s, int i)
{
	int r = i / 9, c = i % 9;
	return 0x3feu & ~(s->row[r] | s->col[c] | s->box[box_of(r, c)]);
}

static int popcount(unsigned v)
{
	int n = 0;
	for (; v; v &= v - 1)
		n++;
	return n;
}

__attribute__((noinline)) static int most_constrained(const Sudoku *s, unsigned *cand)
{
	int best = -1, best_n = 10;
	for (int i = 0; i < 81; i++) {
		if (s->cell[i])
			continue;
		unsigned m = candidates(s, i);
		int n = popcount(m);
		if (n < best_n) {
			best_n = n;
			best = i;
			*cand = m;
			if (n <= 1)
				break;
		}
	}
	return best;
}

static bool solve(Sudoku *s)
{
	unsigned cand = 0;
	int i = most_constrained(s, &cand);
	if (i < 0)
		return true;
	s->nodes++;
	for (int d = 1; d <= 9; d++) {
		if (!(cand >> d & 1))
			continue;
		place(s, i, d);
		if (solve(s))
			return true;
		unplace(s, i, d);
	}
	return false;
}

/* naive solver: first empty cell, scan peers */
static bool naive_ok(const unsigned char *g, int i, int d)
{
	int r = i / 9, c = i % 9, br = r - r % 3, bc = c - c % 3;
	for (int k = 0; k < 9; k++)
		if (g[r * 9 + k] == d || g[k * 9 + c] == d || g[(br + k / 3) * 9 + bc + k % 3] == d)
			return false;
	return true;
}

static bool naive_solve(unsigned char *g, int i, long *budget)
{
	while (i < 81 && g[i])
		i++;
	if (i == 81)
		return true;
	if (--*budget < 0)
		return true; /* give up */
	for (int d = 1; d <= 9; d++)
		if (naive_ok(g, i, d)) {
			g[i] = (unsigned char)d;
			if (naive_solve(g, i + 1, budget))
				return true;
		}
	g[i] = 0;
	return false;
}

static void load(Sudoku *s, const char *p)
{
	memset(s, 0, sizeof *s);
	for (int i = 0; i < 81; i++)
		if (p[i] >= '1' && p[i] <= '9')
			place(s, i, p[i] - '0');
}

int main(void)
{
	unsigned long sum = 0;
	for (int rep = 0; rep < REPS; rep++) {
		int q[16];
		sum += queens_bits((1u << QN) - 1, 0, 0, 0);
		sum += queens_array(0, QN - 1);
		for (int i = 0; i < QN; i++)
			q[i] = i;
		queens_perm(q, 0, QN);
		for (size_t k = 0; k < sizeof puzzles / sizeof *puzzles; k++) {
			Sudoku s;
			unsigned char g[81];
			long budget = 9000;
			load(&s, puzzles[k]);
			memcpy(g, s.cell, 81);
			bool ok = solve(&s);
			naive_solve(g, 0, &budget);
			for (int i = 0; i < 81; i++)
				sum = sum * 11 + s.cell[i] + 3 * g[i];
			sum += (unsigned long)s.nodes * 7 + ok;
		}
	}
	printf("checksum %016lx queens %ld\n", sum, perm_count);
	return 0;
}
