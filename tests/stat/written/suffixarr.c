/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Suffix array toolbox: build by prefix doubling, LCP, BWT, FM-index search, repeats. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOINLINE __attribute__((noinline)) /* keep the stages apart in profiles */

static uint64_t state = 0x853c49e6748fea9bULL;

static unsigned draw(unsigned n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (unsigned)((state >> 33) % n);
}

#define STEP  32 /* occurrence checkpoint spacing */
#define SIGMA 5  /* $ A C G T */

/* A genome-like string: random bases plus mutated copies of earlier stretches. */
static NOINLINE void make_genome(uint8_t *s, int n)
{
	int at = 0;
	while (at < n - 1) {
		if (at > 200 && draw(100) < 6) {
			int len = 20 + (int)draw(180),
			    from = (int)draw((unsigned)(at - len > 0 ? at - len : 1));
			for (int i = 0; i < len && at < n - 1; i++, at++)
				s[at] = draw(50) == 0 ? (uint8_t)(1 + draw(4)) : s[from + i];
		} else {
			for (int i = 0; i < 40 && at < n - 1; i++)
				s[at++] = (uint8_t)(1 + draw(4));
		}
	}
	s[n - 1] = 0;
}

/* Stable counting sort of in[] by key[in[i]] */
static void radix_pass(const int *in, int *out, const int *key, int *count, int n, int k)
{
	memset(count, 0, (size_t)(k + 1) * sizeof *count);
	for (int i = 0; i < n; i++)
		count[key[i] + 1]++;
	for (int i = 0; i < k; i++)
		count[i + 1] += count[i];
	for (int i = 0; i < n; i++)
		out[count[key[in[i]]]++] = in[i];
}

static NOINLINE int rerank(const int *sa, const int *rank, int *out, int n, int h)
{
	int r = 0;
	out[sa[0]] = 0;
	for (int i = 1; i < n; i++) {
		int a = sa[i - 1], b = sa[i];
		int ra = a + h < n ? rank[a + h] : -1, rb = b + h < n ? rank[b + h] : -1;
		if (rank[a] != rank[b] || ra != rb)
			r++;
		out[b] = r;
	}
	return r + 1;
}

static NOINLINE int *suffix_array(const uint8_t *s, int n)
{
	size_t bytes = (size_t)n * sizeof(int);
	int *sa = malloc(bytes), *tmp = malloc(bytes), *rank = malloc(bytes), *nrank = malloc(bytes);
	int *count = malloc(((size_t)n + SIGMA + 2) * sizeof(int));
	int classes = SIGMA;

	for (int i = 0; i < n; i++) {
		tmp[i] = i;
		rank[i] = s[i];
	}
	radix_pass(tmp, sa, rank, count, n, SIGMA);
	for (int h = 1; classes < n; h *= 2) {
		int m = 0;
		for (int i = n - h; i < n; i++)
			tmp[m++] = i;
		for (int i = 0; i < n; i++)
			if (sa[i] >= h)
				tmp[m++] = sa[i] - h;
		radix_pass(tmp, sa, rank, count, n, classes);
		classes = rerank(sa, rank, nrank, n, h);
		int *t = rank;
		rank = nrank;
		nrank = t;
	}
	free(tmp);
	free(rank);
	free(nrank);
	free(count);
	return sa;
}

static NOINLINE int *kasai(const uint8_t *s, const int *sa, int n)
{
	int *lcp = calloc((size_t)n, sizeof *lcp), *pos = malloc((size_t)n * sizeof *pos);
	int h = 0;
	for (int i = 0; i < n; i++)
		pos[sa[i]] = i;
	for (int i = 0; i < n; i++) {
		if (pos[i] == 0) {
			h = 0;
			continue;
		}
		int j = sa[pos[i] - 1];
		while (i + h < n && j + h < n && s[i + h] == s[j + h])
			h++;
		lcp[pos[i]] = h;
		if (h > 0)
			h--;
	}
	free(pos);
	return lcp;
}

struct fm {
	uint8_t *bwt;
	int n, first[SIGMA + 1];
	int (*occ)[SIGMA];
	const int *sa;
};

static NOINLINE void fm_build(struct fm *f, const uint8_t *s, const int *sa, int n)
{
	int run[SIGMA] = { 0 };
	f->n = n;
	f->sa = sa;
	f->bwt = malloc((size_t)n);
	f->occ = malloc(((size_t)n / STEP + 1) * sizeof *f->occ);
	for (int i = 0; i < n; i++) {
		if (i % STEP == 0)
			memcpy(f->occ[i / STEP], run, sizeof run);
		f->bwt[i] = s[sa[i] ? sa[i] - 1 : n - 1];
		run[f->bwt[i]]++;
	}
	f->first[0] = 0;
	for (int c = 0; c < SIGMA; c++)
		f->first[c + 1] = f->first[c] + run[c];
}

static int fm_rank(const struct fm *f, int c, int i)
{
	if (i == f->n)
		return f->first[c + 1] - f->first[c];
	int r = f->occ[i / STEP][c];
	for (int k = i - i % STEP; k < i; k++)
		r += f->bwt[k] == c;
	return r;
}

static NOINLINE int fm_count(const struct fm *f, const uint8_t *pat, int m, int *lo_out)
{
	int lo = 0, hi = f->n;
	while (m-- > 0 && lo < hi) {
		int c = pat[m];
		lo = f->first[c] + fm_rank(f, c, lo);
		hi = f->first[c] + fm_rank(f, c, hi);
	}
	*lo_out = lo;
	return lo < hi ? hi - lo : 0;
}

/* Allow up to k substitutions by branching on the backward search. */
static int fm_fuzzy(const struct fm *f, const uint8_t *pat, int m, int lo, int hi, int k)
{
	if (lo >= hi)
		return 0;
	if (m == 0)
		return hi - lo;
	int total = 0;
	for (int c = 1; c < SIGMA; c++) {
		int cost = c != pat[m - 1];
		if (cost <= k)
			total += fm_fuzzy(f, pat, m - 1, f->first[c] + fm_rank(f, c, lo),
			                  f->first[c] + fm_rank(f, c, hi), k - cost);
	}
	return total;
}

static int sa_search(const uint8_t *s, const int *sa, int n, const uint8_t *pat, int m, int upper)
{
	int lo = 0, hi = n;
	while (lo < hi) {
		int mid = lo + (hi - lo) / 2, len = n - sa[mid] < m ? n - sa[mid] : m;
		int c = memcmp(s + sa[mid], pat, (size_t)len);
		if (c < 0 || (c == 0 && (len < m || upper)))
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* Maximal intervals of the LCP array with at least `occ` members: a stack sweep. */
static NOINLINE uint64_t repeats(const int *lcp, int n, int minlen, int occ, int *longest)
{
	struct {
		int start, h;
	} *stack = malloc(((size_t)n + 1) * sizeof *stack);
	int top = 0;
	uint64_t hash = 7;
	*longest = 0;
	for (int i = 1; i <= n; i++) {
		int h = i < n ? lcp[i] : 0, start = i - 1;
		while (top > 0 && stack[top - 1].h > h) {
			top--;
			start = stack[top].start;
			if (stack[top].h >= minlen && i - start >= occ) {
				hash = hash * 6364136223846793005ULL +
				       (uint64_t)(stack[top].h * 1009 + i - start);
				if (stack[top].h > *longest)
					*longest = stack[top].h;
			}
		}
		if (h > 0 && (top == 0 || stack[top - 1].h < h)) {
			stack[top].start = start;
			stack[top++].h = h;
		}
	}
	free(stack);
	return hash;
}

static int unbwt_ok(const struct fm *f, const uint8_t *s)
{
	int row = 0;
	for (int i = f->n - 2; i >= 0; i--) {
		int c = f->bwt[row];
		if (c != s[i])
			return 0;
		row = f->first[c] + fm_rank(f, c, row);
	}
	return 1;
}

int main(void)
{
	enum { N = 110000, QUERIES = 12000 };
	uint8_t *s = malloc(N), pat[64];
	make_genome(s, N);
	int *sa = suffix_array(s, N), *lcp = kasai(s, sa, N), longest, bad = 0, lo;
	uint64_t sum = repeats(lcp, N, 12, 3, &longest);
	struct fm f;
	fm_build(&f, s, sa, N);
	if (!unbwt_ok(&f, s))
		return 1;

	for (int q = 0; q < QUERIES; q++) {
		int m = 6 + (int)draw(30), at = (int)draw(N - 64);
		memcpy(pat, s + at, (size_t)m);
		if (q & 1)
			pat[draw((unsigned)m)] = (uint8_t)(1 + draw(4));
		int c = fm_count(&f, pat, m, &lo);
		int a = sa_search(s, sa, N, pat, m, 0), b = sa_search(s, sa, N, pat, m, 1);
		bad += c != b - a || (c && a != lo);
		sum = sum * 31 + (uint64_t)c;
		if (q % 64 == 0)
			sum ^= (uint64_t)fm_fuzzy(&f, pat, m < 14 ? m : 14, 0, N, 1) << 20;
	}
	printf("suffixarr longest=%d bad=%d sum=%016llx\n", longest, bad, (unsigned long long)sum);
	return bad != 0;
}
