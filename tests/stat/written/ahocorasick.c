/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * ahocorasick: multi-pattern search over generated prose.  The automaton is
 * compared against Rabin-Karp, Horspool and Shift-Or on the same text.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOINLINE __attribute__((noinline)) /* keep the stages apart in profiles */

#define SIGMA    27 /* a..z and a space */
#define TEXT_LEN 900000
#define NPAT     1200
#define MAXPAT   12

static uint64_t rng_state = 0x9E3779B97F4A7C15ull;

static uint32_t rnd(void)
{
	uint64_t x = rng_state;
	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	rng_state = x;
	return (uint32_t)(x >> 32);
}

static uint32_t rnd_below(uint32_t n)
{
	return (uint32_t)(((uint64_t)rnd() * n) >> 32);
}

/* ---------------------------------------------------------------- text */

static const char *const onset[] = { "b", "br", "c", "ch", "d", "f", "g",  "gr", "h",  "l",
	                             "m", "n",  "p", "pl", "r", "s", "st", "t",  "th", "w" };
static const char *const nucleus[] = { "a", "e", "i", "o", "u", "ea", "ou", "ai" };
static const char *const coda[] = { "", "", "n", "r", "s", "t", "nd", "ng", "l" };

#define PICK(a) ((a)[rnd_below(sizeof(a) / sizeof((a)[0]))])

static size_t append(char *dst, size_t at, size_t cap, const char *s)
{
	while (*s && at < cap)
		dst[at++] = *s++;
	return at;
}

static size_t make_word(char *dst, size_t at, size_t cap)
{
	int syllables = 1 + (int)rnd_below(3);
	while (syllables-- > 0) {
		at = append(dst, at, cap, PICK(onset));
		at = append(dst, at, cap, PICK(nucleus));
		at = append(dst, at, cap, PICK(coda));
	}
	return at;
}

static char *make_text(size_t n)
{
	char *t = malloc(n + 1);
	size_t at = 0;
	while (at < n) {
		at = make_word(t, at, n);
		at = append(t, at, n, " ");
	}
	t[n] = 0;
	return t;
}

/* ----------------------------------------------------------- automaton */

struct node {
	int32_t next[SIGMA];
	int32_t fail;
	int32_t dict;    /* nearest suffix that ends a pattern */
	int32_t pattern; /* or -1 */
};

struct automaton {
	struct node *nodes;
	int count, cap;
};

static inline int code(char c)
{
	return c == ' ' ? 26 : c - 'a';
}

static int new_node(struct automaton *a)
{
	if (a->count == a->cap) {
		a->cap = a->cap ? a->cap * 2 : 256;
		a->nodes = realloc(a->nodes, (size_t)a->cap * sizeof *a->nodes);
	}
	struct node *n = &a->nodes[a->count];
	memset(n->next, 0xff, sizeof n->next);
	n->fail = n->dict = 0;
	n->pattern = -1;
	return a->count++;
}

/* Returns the id already stored for this word, or id if it is new. */
static int add_pattern(struct automaton *a, const char *s, int id)
{
	int at = 0;
	for (; *s; s++) {
		int c = code(*s);
		if (a->nodes[at].next[c] < 0) {
			int fresh = new_node(a);
			a->nodes[at].next[c] = fresh;
		}
		at = a->nodes[at].next[c];
	}
	if (a->nodes[at].pattern < 0)
		a->nodes[at].pattern = id;
	return a->nodes[at].pattern;
}

static NOINLINE void link_failures(struct automaton *a)
{
	int *queue = malloc((size_t)a->count * sizeof *queue);
	int head = 0, tail = 0;
	struct node *n = a->nodes;

	for (int c = 0; c < SIGMA; c++) {
		int k = n[0].next[c];
		if (k < 0)
			n[0].next[c] = 0;
		else
			queue[tail++] = k;
	}
	while (head < tail) {
		int u = queue[head++];
		for (int c = 0; c < SIGMA; c++) {
			int v = n[u].next[c];
			int f = n[n[u].fail].next[c];
			if (v < 0) {
				n[u].next[c] = f;
				continue;
			}
			n[v].fail = f;
			n[v].dict = n[f].pattern >= 0 ? f : n[f].dict;
			queue[tail++] = v;
		}
	}
	free(queue);
}

static NOINLINE void scan_automaton(const struct automaton *a, const char *text, size_t n, uint32_t *hits)
{
	int s = 0;
	for (size_t i = 0; i < n; i++) {
		s = a->nodes[s].next[code(text[i])];
		for (int m = a->nodes[s].pattern >= 0 ? s : a->nodes[s].dict; m > 0; m = a->nodes[m].dict)
			hits[a->nodes[m].pattern]++;
	}
}

/* ---------------------------------------------------------- Rabin-Karp */

#define RK_BITS 12

static NOINLINE void scan_rabin_karp(char pats[][MAXPAT + 1], const int *alias, int npat, int len,
                                     const char *text, size_t n, uint32_t *hits)
{
	static int16_t bucket[1 << RK_BITS], chain[NPAT];
	uint32_t top = 1;

	memset(bucket, 0xff, sizeof bucket);
	for (int i = 1; i < len; i++)
		top *= 257;
	for (int p = 0; p < npat; p++) {
		if (alias[p] != p || strlen(pats[p]) != (size_t)len)
			continue;
		uint32_t h = 0;
		for (int i = 0; i < len; i++)
			h = h * 257 + (unsigned char)pats[p][i];
		uint32_t b = (h * 2654435761u) >> (32 - RK_BITS);
		chain[p] = bucket[b];
		bucket[b] = (int16_t)p;
	}
	uint32_t h = 0;
	for (int i = 0; i < len - 1; i++)
		h = h * 257 + (unsigned char)text[i];
	for (size_t i = 0; i + (size_t)len <= n; i++) {
		h = h * 257 + (unsigned char)text[i + (size_t)len - 1];
		for (int p = bucket[(h * 2654435761u) >> (32 - RK_BITS)]; p >= 0; p = chain[p])
			if (memcmp(pats[p], text + i, (size_t)len) == 0)
				hits[p]++;
		h -= top * (unsigned char)text[i];
	}
}

/* ------------------------------------------------ single-pattern scans */

static uint32_t scan_horspool(const char *pat, const char *text, size_t n)
{
	size_t m = strlen(pat), skip[256];
	uint32_t found = 0;

	for (int i = 0; i < 256; i++)
		skip[i] = m;
	for (size_t i = 0; i + 1 < m; i++)
		skip[(unsigned char)pat[i]] = m - 1 - i;
	for (size_t at = 0; at + m <= n;) {
		size_t j = m;
		while (j > 0 && pat[j - 1] == text[at + j - 1])
			j--;
		found += j == 0;
		at += skip[(unsigned char)text[at + m - 1]];
	}
	return found;
}

static uint32_t scan_shift_or(const char *pat, const char *text, size_t n)
{
	uint32_t mask[256], state = ~0u, found = 0;
	size_t m = strlen(pat);

	memset(mask, 0xff, sizeof mask);
	for (size_t i = 0; i < m; i++)
		mask[(unsigned char)pat[i]] &= ~(1u << i);
	for (size_t i = 0; i < n; i++) {
		state = (state << 1) | mask[(unsigned char)text[i]];
		found += !(state >> (m - 1) & 1);
	}
	return found;
}

int main(void)
{
	static char pats[NPAT][MAXPAT + 1];
	static int alias[NPAT];
	static uint32_t hits[NPAT], rk_hits[NPAT];
	struct automaton ac = { 0 };
	char *text = make_text(TEXT_LEN);

	new_node(&ac);
	for (int i = 0; i < NPAT; i++) {
		size_t len;
		do {
			len = make_word(pats[i], 0, MAXPAT);
		} while (len < 3);
		pats[i][len] = 0;
		alias[i] = add_pattern(&ac, pats[i], i);
	}
	link_failures(&ac);
	scan_automaton(&ac, text, TEXT_LEN, hits);
	for (int len = 3; len <= MAXPAT; len += 3)
		scan_rabin_karp(pats, alias, NPAT, len, text, TEXT_LEN, rk_hits);

	uint64_t sum = 1469598103934665603ull;
	int bad = 0;
	for (int i = 0; i < NPAT; i++) {
		sum = (sum ^ hits[i]) * 1099511628211ull;
		if (strlen(pats[i]) % 3 == 0 && alias[i] == i)
			bad += hits[i] != rk_hits[i];
	}
	for (int i = 0; i < NPAT; i += 100) {
		uint32_t want = hits[alias[i]];
		bad += scan_horspool(pats[i], text, TEXT_LEN) != want;
		if (i % 200 == 0)
			bad += scan_shift_or(pats[i], text, TEXT_LEN) != want;
	}
	printf("ahocorasick nodes=%d bad=%d sum=%016llx\n", ac.count, bad, (unsigned long long)sum);
	free(ac.nodes);
	free(text);
	return bad != 0;
}
