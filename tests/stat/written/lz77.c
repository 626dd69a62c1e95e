/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * lz77.c - hash-chain LZ77 with lazy matching, a byte-oriented token format
 * and the matching decompressor.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef INPUT
#define INPUT 900000
#endif

#define HASH_BITS 14
#define HASH_SIZE (1u << HASH_BITS)
#define WINDOW    32768u
#define MIN_MATCH 4
#define MAX_MATCH 270
#define MAX_CHAIN 24

struct match {
	uint32_t len;
	uint32_t dist;
};

struct encoder {
	const uint8_t *src;
	uint32_t size;
	int32_t head[HASH_SIZE];
	int32_t prev[WINDOW];
	uint8_t *out;
	uint32_t lit_start;
	unsigned long probes;
};

/* ------------------------------------------------------------ test data */

static uint32_t rng = 0xdecafbad;

static uint32_t next(uint32_t n)
{
	rng = rng * 1664525 + 1013904223;
	return (uint32_t)(((uint64_t)rng * n) >> 32);
}

static const char *words[] = {
	"static",
	"int",
	"return",
	"struct",
	"->next",
	" = ",
	"(void)",
	"if (",
	") {\n\t",
	"}\n",
	"while",
	"buffer",
	"length",
	"size_t ",
	"unsigned ",
	"0x",
	"NULL",
	";\n\t",
	"for (i = 0; i < n; i++)",
	"printf(\"%d\\n\", ",
	"error",
	"/* ",
	" */",
	"goto out",
	"memcpy(",
	"&&",
	"||",
	"!=",
	"count",
	"value",
};

static void synth(uint8_t *d, uint32_t n)
{
	uint32_t i = 0;

	while (i < n) {
		uint32_t r = next(100);

		if (r < 72) {
			const char *w = words[next(sizeof words / sizeof *words)];
			while (*w && i < n)
				d[i++] = (uint8_t)*w++;
		} else if (r < 85 || i < 400) {
			uint32_t k = 1 + next(8);
			while (k-- && i < n)
				d[i++] = (uint8_t)('a' + next(26));
		} else if (r < 99) {
			uint32_t k = 5 + next(30), back = 1 + next(i < 20000 ? i : 20000);
			while (k-- && i < n) {
				d[i] = d[i - back];
				i++;
			}
		} else {
			uint32_t k = next(60);
			while (k-- && i < n)
				d[i++] = ' ';
		}
	}
}

/* ------------------------------------------------------------ compressor */

static inline uint32_t read32(const uint8_t *p)
{
	uint32_t v;
	memcpy(&v, p, 4);
	return v;
}

static inline uint32_t hash4(const uint8_t *p)
{
	return (read32(p) * 2654435761u) >> (32 - HASH_BITS);
}

static __attribute__((noinline)) void insert_hash(struct encoder *e, uint32_t pos)
{
	uint32_t h;

	if (pos + MIN_MATCH > e->size)
		return;
	h = hash4(e->src + pos);
	e->prev[pos & (WINDOW - 1)] = e->head[h];
	e->head[h] = (int32_t)pos;
}

static __attribute__((noinline)) uint32_t match_length(const uint8_t *a, const uint8_t *b, uint32_t max)
{
	uint32_t n = 0;

	while (n < max && a[n] == b[n])
		n++;
	return n;
}

static __attribute__((noinline)) struct match find_match(struct encoder *e, uint32_t pos)
{
	struct match best = { 0, 0 };
	uint32_t max = e->size - pos;
	int chain = MAX_CHAIN;
	int32_t cand;

	if (max < MIN_MATCH)
		return best;
	if (max > MAX_MATCH)
		max = MAX_MATCH;
	for (cand = e->head[hash4(e->src + pos)]; cand >= 0 && chain-- > 0;
	     cand = e->prev[cand & (WINDOW - 1)]) {
		uint32_t dist = pos - (uint32_t)cand, len;

		if (dist >= WINDOW)
			break;
		e->probes++;
		if (best.len && e->src[cand + best.len] != e->src[pos + best.len])
			continue;
		if (read32(e->src + cand) != read32(e->src + pos))
			continue;
		len = match_length(e->src + cand, e->src + pos, max);
		if (len > best.len) {
			best.len = len;
			best.dist = dist;
			if (len == max)
				break;
		}
	}
	return best;
}

static void put_varint(uint8_t **p, uint32_t v)
{
	while (v >= 128) {
		*(*p)++ = (uint8_t)(v | 128);
		v >>= 7;
	}
	*(*p)++ = (uint8_t)v;
}

static void flush_literals(struct encoder *e, uint32_t end)
{
	uint32_t n = end - e->lit_start;

	put_varint(&e->out, n);
	while (e->lit_start < end)
		*e->out++ = e->src[e->lit_start++];
}

static void emit_match(struct encoder *e, struct match m)
{
	put_varint(&e->out, m.len - MIN_MATCH);
	*e->out++ = (uint8_t)m.dist;
	*e->out++ = (uint8_t)(m.dist >> 8);
}

static uint32_t compress(const uint8_t *src, uint32_t n, uint8_t *dst, unsigned long *probes)
{
	struct encoder *e = malloc(sizeof *e);
	uint32_t pos = 0, written;

	if (!e)
		abort();
	memset(e->head, 0xff, sizeof e->head);
	memset(e->prev, 0xff, sizeof e->prev);
	e->src = src;
	e->size = n;
	e->out = dst;
	e->lit_start = 0;
	e->probes = 0;
	while (pos < n) {
		struct match m = find_match(e, pos), m2;
		uint32_t stop;

		insert_hash(e, pos);
		if (m.len < MIN_MATCH) {
			pos++;
			continue;
		}
		if (m.len < 32 && pos + 1 < n) { /* lazy evaluation */
			m2 = find_match(e, pos + 1);
			if (m2.len > m.len) {
				pos++;
				insert_hash(e, pos);
				m = m2;
			}
		}
		flush_literals(e, pos);
		emit_match(e, m);
		for (stop = pos + m.len, pos++; pos < stop; pos++)
			insert_hash(e, pos);
		e->lit_start = pos;
	}
	flush_literals(e, n);
	written = (uint32_t)(e->out - dst);
	*probes += e->probes;
	free(e);
	return written;
}

/* ---------------------------------------------------------- decompressor */

static uint32_t get_varint(const uint8_t **p)
{
	uint32_t v = 0;
	int shift = 0;

	for (;;) {
		uint8_t b = *(*p)++;
		v |= (uint32_t)(b & 127) << shift;
		if (b < 128)
			return v;
		shift += 7;
	}
}

static __attribute__((noinline)) void copy_match(uint8_t *d, uint32_t dist, uint32_t len)
{
	const uint8_t *s = d - dist;

	while (len--)
		*d++ = *s++;
}

static __attribute__((noinline)) uint32_t decompress(const uint8_t *in, uint32_t n, uint8_t *dst)
{
	const uint8_t *end = in + n;
	uint8_t *d = dst;

	for (;;) {
		uint32_t lits = get_varint(&in), len, dist;

		while (lits--)
			*d++ = *in++;
		if (in >= end)
			break;
		len = get_varint(&in) + MIN_MATCH;
		dist = in[0] | (uint32_t)in[1] << 8;
		in += 2;
		copy_match(d, dist, len);
		d += len;
	}
	return (uint32_t)(d - dst);
}

static __attribute__((noinline)) uint32_t adler32(const uint8_t *p, uint32_t n)
{
	uint32_t a = 1, b = 0, i;

	for (i = 0; i < n; i++) {
		a += p[i];
		b += a;
		if ((i & 4095) == 4095) {
			a %= 65521;
			b %= 65521;
		}
	}
	return (b % 65521) << 16 | a % 65521;
}

int main(void)
{
	uint8_t *src = malloc(INPUT), *packed = malloc(INPUT * 2), *back = malloc(INPUT + 16);
	unsigned long probes = 0;
	uint32_t clen, dlen, i;

	if (!src || !packed || !back)
		return 1;
	synth(src, INPUT);
	clen = compress(src, INPUT, packed, &probes);
	for (i = 0; i < 3; i++) {
		memset(back, 0, INPUT);
		dlen = decompress(packed, clen, back);
		if (dlen != INPUT || memcmp(src, back, INPUT)) {
			puts("round trip failed");
			return 1;
		}
	}
	printf("checksum %08x %08x in %u out %u probes %lu\n", adler32(src, INPUT), adler32(packed, clen),
	       INPUT, clen, probes);
	return 0;
}
