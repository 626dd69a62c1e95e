/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))

static unsigned int g_seed = 1;
static int my_rand(void)
{
	g_seed = g_seed * 1103515245 + 12345;
	return (g_seed >> 16) & 0x7fff;
}

void random_dna(char *s, int n)
{
	int i;
	for (i = 0; i < n; i++)
		s[i] = "ACGT"[my_rand() & 3];
	s[n] = '\0';
}

void mutate(char *dst, const char *src, int n, int percent)
{
	int i;
	for (i = 0; i < n; i++)
		dst[i] = my_rand() % 100 < percent ? "ACGT"[my_rand() % 4] : src[i];
	dst[n] = '\0';
}

static int min3(int a, int b, int c)
{
	if (a < b)
		return a < c ? a : c;
	return b < c ? b : c;
}

int levenshtein(const char *a, const char *b)
{
	int la = strlen(a), lb = strlen(b), i, j, res;
	int *row = malloc(sizeof(int) * (lb + 1));
	for (j = 0; j <= lb; j++)
		row[j] = j;
	for (i = 1; i <= la; i++) {
		int diag = row[0];
		row[0] = i;
		for (j = 1; j <= lb; j++) {
			int up = row[j];
			row[j] = min3(up + 1, row[j - 1] + 1, diag + (a[i - 1] != b[j - 1]));
			diag = up;
		}
	}
	res = row[lb];
	free(row);
	return res;
}

/* banded version: gives up if distance exceeds k */
int levenshtein_banded(const char *a, const char *b, int k)
{
	int la = strlen(a), lb = strlen(b), i, j;
	int *prev, *cur, *t, best;
	if (abs(la - lb) > k)
		return -1;
	prev = malloc(sizeof(int) * (lb + 2));
	cur = malloc(sizeof(int) * (lb + 2));
	for (j = 0; j <= lb; j++)
		prev[j] = j <= k ? j : INT_MAX / 2;
	for (i = 1; i <= la; i++) {
		int lo = MAX(1, i - k), hi = MIN(lb, i + k);
		cur[lo - 1] = lo == 1 && i <= k ? i : INT_MAX / 2;
		best = cur[lo - 1];
		for (j = lo; j <= hi; j++) {
			int c = prev[j - 1] + (a[i - 1] != b[j - 1]);
			if (j < i + k && prev[j] + 1 < c)
				c = prev[j] + 1;
			if (cur[j - 1] + 1 < c)
				c = cur[j - 1] + 1;
			cur[j] = c;
			if (c < best)
				best = c;
		}
		if (best > k) {
			free(prev);
			free(cur);
			return -1;
		}
		t = prev;
		prev = cur;
		cur = t;
	}
	best = prev[lb];
	free(prev);
	free(cur);
	return best <= k ? best : -1;
}

static short lcs_tab[1201][1201];

int lcs_fill(const char *a, int la, const char *b, int lb)
{
	for (int i = 1; i <= la; i++)
		for (int j = 1; j <= lb; j++)
			if (a[i - 1] == b[j - 1])
				lcs_tab[i][j] = lcs_tab[i - 1][j - 1] + 1;
			else
				lcs_tab[i][j] = MAX(lcs_tab[i - 1][j], lcs_tab[i][j - 1]);
	return lcs_tab[la][lb];
}

int lcs_trace(const char *a, int la, const char *b, int lb, char *out)
{
	int n = lcs_tab[la][lb];
	out[n] = 0;
	while (la > 0 && lb > 0) {
		if (a[la - 1] == b[lb - 1]) {
			out[--n] = a[la - 1];
			la--;
			lb--;
		} else if (lcs_tab[la - 1][lb] >= lcs_tab[la][lb - 1])
			la--;
		else
			lb--;
	}
	return n;
}

typedef struct {
	int weight, value;
} Item;

int knapsack01(const Item *it, int n, int cap)
{
	int *best = calloc(cap + 1, sizeof(int));
	for (int i = 0; i < n; i++)
		for (int w = cap; w >= it[i].weight; w--) {
			int cand = best[w - it[i].weight] + it[i].value;
			if (cand > best[w])
				best[w] = cand;
		}
	int r = best[cap];
	free(best);
	return r;
}

/* memoised recursion */
static int memo[101][1001];

int knap_memo(const Item *it, int i, int cap)
{
	if (i == 0 || cap == 0)
		return 0;
	int *m = &memo[i][cap];
	if (*m >= 0)
		return *m;
	int r = knap_memo(it, i - 1, cap);
	if (it[i - 1].weight <= cap) {
		int with = it[i - 1].value + knap_memo(it, i - 1, cap - it[i - 1].weight);
		if (with > r)
			r = with;
	}
	return *m = r;
}

int item_cmp(const void *a, const void *b)
{
	const Item *x = a, *y = b;
	long l = (long)x->value * y->weight, r = (long)y->value * x->weight;
	if (l != r)
		return l > r ? -1 : 1;
	return x->weight - y->weight;
}

int greedy(Item *it, int n, int cap)
{
	int v = 0;
	qsort(it, n, sizeof *it, item_cmp);
	for (int i = 0; i < n; i++)
		if (it[i].weight <= cap) {
			cap -= it[i].weight;
			v += it[i].value;
		}
	return v;
}

static int lower_bound(const int *a, int n, int x)
{
	int lo = 0;
	while (lo < n) {
		int m = (lo + n) >> 1;
		if (a[m] < x)
			lo = m + 1;
		else
			n = m;
	}
	return lo;
}

int lis(const int *a, int n)
{
	int *tails = malloc(n * sizeof *tails);
	int len = 0;
	for (int i = 0; i < n; i++) {
		int p = lower_bound(tails, len, a[i]);
		tails[p] = a[i];
		if (p == len)
			len++;
	}
	free(tails);
	return len;
}

long matrix_chain(const int *dim, int n)
{
	static long cost[130][130];
	for (int len = 2; len <= n; len++)
		for (int i = 0; i + len <= n; i++) {
			int j = i + len - 1;
			cost[i][j] = LONG_MAX;
			for (int k = i; k < j; k++) {
				long c = cost[i][k] + cost[k + 1][j] + (long)dim[i] * dim[k + 1] * dim[j + 1];
				if (c < cost[i][j])
					cost[i][j] = c;
			}
		}
	return cost[0][n - 1];
}

int main()
{
	static char a[1300], b[1300], c[1300];
	static Item items[200];
	static int arr[60000], dims[131];
	unsigned sum = 0;
	int i;

	for (i = 0; i < 4; i++) {
		random_dna(a, 1000 + 20 * i);
		mutate(b, a, 1000 + 10 * i, 25);
		sum = sum * 31 + levenshtein(a, b);
	}
	for (i = 0; i < 40; i++) {
		mutate(b, a, 1060, 1 + i % 12);
		sum = sum * 31 + levenshtein_banded(a, b, 60);
	}
	for (i = 0; i < 3; i++) {
		random_dna(a, 1200);
		random_dna(b, 1150);
		sum = sum * 31 + lcs_fill(a, 1200, b, 1150);
		lcs_trace(a, 1200, b, 1150, c);
		for (char *p = c; *p; p++)
			sum = sum * 33 + *p;
	}
	for (i = 0; i < 200; i++) {
		items[i].weight = 5 + my_rand() % 90;
		items[i].value = 10 + my_rand() % 500;
	}
	sum = sum * 31 + knapsack01(items, 200, 5000);
	for (i = 0; i < 4; i++) {
		memset(memo, -1, sizeof memo);
		sum = sum * 31 + knap_memo(items + 25 * i, 100, 1000);
	}
	sum = sum * 31 + greedy(items, 200, 5000);
	for (i = 0; i < 60000; i++)
		arr[i] = my_rand() * 7 + i;
	sum = sum * 31 + lis(arr, 60000);
	for (i = 0; i < 131; i++)
		dims[i] = 5 + my_rand() % 60;
	for (i = 60; i <= 130; i += 10)
		sum = sum * 31 + (unsigned)matrix_chain(dims, i);
	printf("checksum %u\n", sum);
	return 0;
}
