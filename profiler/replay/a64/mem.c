/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the compiler calls for copies.  libc's use vector registers, and those
 * are the program's while it is replayed: these stand in their place.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Or it would make calls of these functions of their loops. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("no-tree-loop-distribute-patterns")
#endif

/* Wherever they lie. */
struct words {
	uint64_t v[2];
} __attribute__((packed, may_alias));

void *memcpy(void *restrict to, const void *restrict from, size_t n)
{
	unsigned char *t = to;
	const unsigned char *f = from;

	for (; n >= sizeof(struct words); n -= sizeof(struct words)) {
		const struct words w = *(const struct words *)f;

		((struct words *)t)->v[0] = w.v[0];
		((struct words *)t)->v[1] = w.v[1];
		t += sizeof(struct words);
		f += sizeof(struct words);
	}
	while (n--)
		*t++ = *f++;
	return to;
}

void *memmove(void *to, const void *from, size_t n)
{
	unsigned char *t = to;
	const unsigned char *f = from;

	if (t >= f + n || f >= t + n)
		return memcpy(to, from, n);
	if (t <= f)
		for (size_t i = 0; i < n; i++)
			t[i] = f[i];
	else
		while (n--)
			t[n] = f[n];
	return to;
}

void *memset(void *to, int byte, size_t n)
{
	uint64_t all = 0x0101010101010101u * (unsigned char)byte;
	unsigned char *t = to;

	for (; n >= sizeof(struct words); n -= sizeof(struct words)) {
		((struct words *)t)->v[0] = all;
		((struct words *)t)->v[1] = all;
		t += sizeof(struct words);
	}
	while (n--)
		*t++ = (unsigned char)byte;
	return to;
}

int memcmp(const void *a, const void *b, size_t n)
{
	const unsigned char *x = a, *y = b;

	for (; n >= sizeof(struct words); n -= sizeof(struct words)) {
		const struct words *v = (const struct words *)x, *w = (const struct words *)y;

		if ((v->v[0] ^ w->v[0]) | (v->v[1] ^ w->v[1]))
			break;
		x += sizeof(struct words);
		y += sizeof(struct words);
	}
	for (size_t i = 0; i < n; i++)
		if (x[i] != y[i])
			return x[i] < y[i] ? -1 : 1;
	return 0;
}
