/* SPDX-License-Identifier: GPL-3.0-or-later */
/* fannkuch: maximum pancake flips over all permutations of n */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef N
#define N 9
#endif
#define MAXN 16

typedef unsigned char elem;

struct perm_state {
	elem perm1[MAXN];
	elem count[MAXN];
	int n, r;
	long index;
};

static void swap_elem(elem *a, elem *b)
{
	elem t = *a;
	*a = *b;
	*b = t;
}

__attribute__((noinline)) static void reverse_prefix(elem *p, int k)
{
	elem *lo = p, *hi = p + k;
	while (lo < hi)
		swap_elem(lo++, hi--);
}

static void copy_perm(elem *dst, const elem *src, int n)
{
	int i;
	for (i = 0; i < n; i++)
		dst[i] = src[i];
}

__attribute__((noinline)) static int count_flips(const elem *perm1, int n)
{
	elem p[MAXN];
	int flips = 0;
	copy_perm(p, perm1, n);
	while (p[0] != 0) {
		reverse_prefix(p, p[0]);
		flips++;
	}
	return flips;
}

static void rotate_left(elem *p, int r)
{
	elem first = p[0];
	int i;
	for (i = 0; i < r; i++)
		p[i] = p[i + 1];
	p[r] = first;
}

__attribute__((noinline)) static int next_perm(struct perm_state *st)
{
	while (st->r > 1) {
		st->count[st->r - 1] = (elem)st->r;
		st->r--;
	}
	st->r = 1;
	for (;;) {
		if (st->r == st->n)
			return 0;
		rotate_left(st->perm1, st->r);
		if (--st->count[st->r] > 0)
			break;
		st->r++;
	}
	st->index++;
	return 1;
}

/* Lehmer-style inversions, O(n^2) */
__attribute__((noinline)) static int parity(const elem *p, int n)
{
	int inv = 0, i, j;
	for (i = 0; i < n - 1; i++)
		for (j = i + 1; j < n; j++)
			if (p[i] > p[j])
				inv ^= 1;
	return inv;
}

/* number of cycles */
__attribute__((noinline)) static int cycles(const elem *p, int n)
{
	unsigned seen = 0;
	int c = 0, i;
	for (i = 0; i < n; i++) {
		int j = i;
		if (seen & (1u << i))
			continue;
		c++;
		do {
			seen |= 1u << j;
			j = p[j];
		} while (j != i);
	}
	return c;
}

int main(void)
{
	struct perm_state st;
	int i, max_flips = 0;
	long check = 0, cyc = 0, par = 0;

	memset(&st, 0, sizeof st);
	st.n = N;
	st.r = N;
	for (i = 0; i < N; i++)
		st.perm1[i] = (elem)i;

	do {
		int f = count_flips(st.perm1, N);
		if (f > max_flips)
			max_flips = f;
		check += (st.index & 1) ? -f : f;
		cyc += cycles(st.perm1, N);
		if (st.index % 5 == 0)
			par += parity(st.perm1, N);
	} while (next_perm(&st));

	printf("checksum %ld Pfannkuchen(%d) = %d perms=%ld cycles=%ld par=%ld\n", check, N, max_flips,
	       st.index + 1, cyc, par);
	return 0;
}
