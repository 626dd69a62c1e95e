/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Canonical Huffman coder/decoder. */
#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef SIZE
#define SIZE 800000
#endif
#ifndef BLOCK
#define BLOCK 30000
#endif

typedef uint8_t u8;
typedef uint32_t u32;
typedef uint64_t u64;

/* ---- source model: order-1 Markov-ish bytes ---- */
static u32 lfsr = 0xACE1u;
static u32 rnd(void)
{
	lfsr = lfsr * 747796405u + 2891336453u;
	u32 w = ((lfsr >> ((lfsr >> 28) + 4)) ^ lfsr) * 277803737u;
	return (w >> 22) ^ w;
}

static __attribute__((noinline)) void fill(u8 *d, size_t n)
{
	u8 prev = 0;
	for (size_t i = 0; i < n; i++) {
		u32 r = rnd();
		u32 step = __builtin_ctz(r | 0x10000) * 3 + (r >> 28);
		if ((r & 0x30000) == 0)
			prev = 32;
		else
			prev = (u8)((prev + step) % 96 + 32);
		d[i] = prev;
	}
}

/* ---- bit I/O ---- */
struct bitw {
	u8 *p;
	u64 acc;
	int n;
};
struct bitr {
	const u8 *p, *end;
	u64 acc;
	int n;
};

static inline void put_bits(struct bitw *w, u32 v, int n)
{
	w->acc = w->acc << n | v;
	w->n += n;
	while (w->n >= 8) {
		w->n -= 8;
		*w->p++ = (u8)(w->acc >> w->n);
	}
}

static void flush_bits(struct bitw *w)
{
	if (w->n)
		put_bits(w, 0, 8 - w->n);
}

static __attribute__((noinline)) int get_bit(struct bitr *r)
{
	if (r->n == 0) {
		r->acc = r->p < r->end ? *r->p++ : 0;
		r->n = 8;
	}
	return (int)(r->acc >> --r->n) & 1;
}

static inline void refill(struct bitr *r)
{
	while (r->n <= 48) {
		r->acc = r->acc << 8 | (r->p < r->end ? *r->p : 0);
		r->p++;
		r->n += 8;
	}
}

/* ---- code construction ---- */
struct hnode {
	u32 freq;
	short l, r;
};
struct code {
	u32 bits[256];
	u8 len[256];
};

static int heap[512], heap_n;
static struct hnode nodes[512];

static int less(int a, int b)
{
	return nodes[a].freq < nodes[b].freq || (nodes[a].freq == nodes[b].freq && a < b);
}

static void heap_push(int x)
{
	int i = heap_n++;
	while (i > 0 && less(x, heap[(i - 1) / 2])) {
		heap[i] = heap[(i - 1) / 2];
		i = (i - 1) / 2;
	}
	heap[i] = x;
}

static int heap_pop(void)
{
	int top = heap[0], x = heap[--heap_n], i = 0, c;
	while ((c = 2 * i + 1) < heap_n) {
		if (c + 1 < heap_n && less(heap[c + 1], heap[c]))
			c++;
		if (!less(heap[c], x))
			break;
		heap[i] = heap[c];
		i = c;
	}
	heap[i] = x;
	return top;
}

static void assign_len(int n, int depth, u8 *len)
{
	if (nodes[n].l < 0) {
		len[n] = (u8)(depth ? depth : 1);
		return;
	}
	assign_len(nodes[n].l, depth + 1, len);
	assign_len(nodes[n].r, depth + 1, len);
}

static __attribute__((noinline)) void count(const u8 *d, size_t n, u32 *freq)
{
	memset(freq, 0, 256 * sizeof *freq);
	for (size_t i = 0; i < n; i++)
		freq[d[i]]++;
}

static void canonical(struct code *c)
{
	u32 next = 0;
	for (int l = 1; l <= 32; l++) {
		for (int s = 0; s < 256; s++)
			if (c->len[s] == l)
				c->bits[s] = next++;
		next <<= 1;
	}
}

static void build(struct code *c, const u32 *freq)
{
	int nn = 256;
	memset(c, 0, sizeof *c);
	heap_n = 0;
	for (int s = 0; s < 256; s++) {
		nodes[s] = (struct hnode){ freq[s], -1, -1 };
		if (freq[s])
			heap_push(s);
	}
	while (heap_n > 1) {
		int a = heap_pop(), b = heap_pop();
		nodes[nn] = (struct hnode){ nodes[a].freq + nodes[b].freq, (short)a, (short)b };
		heap_push(nn++);
	}
	assign_len(heap[0], 0, c->len);
	canonical(c);
}

/* ---- encode / decode ---- */
static __attribute__((noinline)) size_t encode(const struct code *c, const u8 *in, size_t n, u8 *out)
{
	struct bitw w = { out, 0, 0 };
	for (size_t i = 0; i < n; i++)
		put_bits(&w, c->bits[in[i]], c->len[in[i]]);
	flush_bits(&w);
	return (size_t)(w.p - out);
}

/* bit-at-a-time tree walk over the explicit code tree */
static __attribute__((noinline)) void decode_tree(const struct code *c, const u8 *in, size_t len, u8 *out,
                                                  size_t n)
{
	static int tree[1024][2];
	int used = 1;
	memset(tree, 0, sizeof tree);
	for (int s = 0; s < 256; s++) {
		int t = 0;
		for (int b = c->len[s] - 1; b >= 0; b--) {
			int bit = c->bits[s] >> b & 1;
			if (b == 0)
				tree[t][bit] = -1 - s;
			else {
				if (!tree[t][bit])
					tree[t][bit] = used++;
				t = tree[t][bit];
			}
		}
	}
	struct bitr r = { in, in + len, 0, 0 };
	for (size_t i = 0; i < n; i++) {
		int t = 0;
		do
			t = tree[t][get_bit(&r)];
		while (t > 0);
		out[i] = (u8)(-1 - t);
	}
}

/* table-driven */
static __attribute__((noinline)) void decode_table(const struct code *c, const u8 *in, size_t len, u8 *out,
                                                   size_t n)
{
	enum { TB = 12 };
	static uint16_t table[1 << TB];
	memset(table, 0, sizeof table);
	for (int s = 0; s < 256; s++) {
		if (!c->len[s] || c->len[s] > TB)
			continue;
		u32 base = c->bits[s] << (TB - c->len[s]);
		for (u32 k = 0; k < 1u << (TB - c->len[s]); k++)
			table[base + k] = (uint16_t)(s << 4 | c->len[s]);
	}
	struct bitr r = { in, in + len, 0, 0 };
	for (size_t i = 0; i < n; i++) {
		refill(&r);
		u32 e = table[r.acc >> (r.n - TB) & ((1 << TB) - 1)];
		if (e) {
			r.n -= e & 15;
			out[i] = (u8)(e >> 4);
		} else { /* rare long code: search */
			int l, s = 0;
			for (l = TB + 1; l <= 32; l++) {
				u32 v = (u32)(r.acc >> (r.n - l) & ((1ull << l) - 1));
				for (s = 0; s < 256; s++)
					if (c->len[s] == l && c->bits[s] == v)
						goto found;
			}
found:
			r.n -= l;
			out[i] = (u8)s;
		}
	}
}

static u32 crc_tab[256];
static void crc_init(void)
{
	for (u32 i = 0; i < 256; i++) {
		u32 c = i;
		for (int k = 0; k < 8; k++)
			c = c & 1 ? 0xEDB88320u ^ c >> 1 : c >> 1;
		crc_tab[i] = c;
	}
}
static __attribute__((noinline)) u32 crc(u32 c, const u8 *p, size_t n)
{
	c = ~c;
	while (n--)
		c = crc_tab[(c ^ *p++) & 255] ^ c >> 8;
	return ~c;
}

int main(void)
{
	u8 *src = malloc(SIZE), *enc = malloc(BLOCK * 4), *dec = malloc(BLOCK);
	u32 sum = 0;
	size_t total = 0;
	crc_init();
	fill(src, SIZE);
	for (size_t off = 0; off < SIZE; off += BLOCK) {
		size_t n = SIZE - off < BLOCK ? SIZE - off : BLOCK;
		struct code c;
		u32 freq[256];
		count(src + off, n, freq);
		build(&c, freq);
		size_t len = encode(&c, src + off, n, enc);
		total += len;
		sum = crc(sum, enc, len);
		memset(dec, 0, n);
		decode_tree(&c, enc, len, dec, n);
		if (memcmp(dec, src + off, n))
			return puts("tree decode error"), 1;
		memset(dec, 0, n);
		decode_table(&c, enc, len, dec, n);
		if (memcmp(dec, src + off, n))
			return puts("table decode error"), 1;
		sum = crc(sum, dec, n);
	}
	printf("checksum %08x %zu\n", sum, total);
	return 0;
}
