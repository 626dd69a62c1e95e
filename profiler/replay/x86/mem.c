/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the compiler calls for copies.  libc's use vector registers, and those
 * are the program's while it is replayed: these stand in their place.
 */
#include <stddef.h>
#include <string.h>

void *memcpy(void *restrict to, const void *restrict from, size_t n)
{
	void *out = to;

	__asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(n) : : "memory");
	return out;
}

void *memmove(void *to, const void *from, size_t n)
{
	char *t = (char *)to + n - 1;
	const char *f = (const char *)from + n - 1;

	if ((char *)to <= (const char *)from || (char *)to > f)
		return memcpy(to, from, n);
	__asm__ volatile("std\n\trep movsb\n\tcld" : "+D"(t), "+S"(f), "+c"(n) : : "memory", "cc");
	return to;
}

void *memset(void *to, int byte, size_t n)
{
	void *out = to;

	__asm__ volatile("rep stosb" : "+D"(to), "+c"(n) : "a"(byte) : "memory");
	return out;
}

int memcmp(const void *a, const void *b, size_t n)
{
	const unsigned char *x = a, *y = b;
	size_t i = 0;

	/* Pages are mostly as they were: by words up to where they differ. */
	for (; i + sizeof(size_t) <= n; i += sizeof(size_t)) {
		size_t p, q;

		__builtin_memcpy(&p, x + i, sizeof(p));
		__builtin_memcpy(&q, y + i, sizeof(q));
		if (p != q)
			break;
	}
	for (; i < n; i++)
		if (x[i] != y[i])
			return x[i] < y[i] ? -1 : 1;
	return 0;
}
