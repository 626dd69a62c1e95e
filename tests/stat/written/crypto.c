/* SPDX-License-Identifier: GPL-3.0-or-later */
/* AES-128 (T-tables, generated at start-up; ECB/CTR/CBC) and SHA-256 + HMAC. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef MSG
#define MSG (256 * 1024)
#endif
#ifndef ITER
#define ITER 2
#endif

/* ===================== AES ===================== */
static uint8_t SBOX[256], INV[256];
static uint32_t TE[4][256], TD[4][256];

typedef struct {
	uint32_t ek[44], dk[44];
} aes_key;

#define ROTL8(x, n) ((uint8_t)(((x) << (n)) | ((x) >> (8 - (n)))))
#define ROR32(x, n) (((x) >> (n)) | ((x) << (32 - (n))))

static uint8_t gmul(uint8_t a, uint8_t b)
{
	uint8_t r = 0;
	while (b) {
		if (b & 1)
			r ^= a;
		a = (uint8_t)((a << 1) ^ ((a & 0x80) ? 0x1b : 0));
		b >>= 1;
	}
	return r;
}

static void aes_tables(void)
{
	uint8_t p = 1, q = 1;
	do {
		p = (uint8_t)(p ^ (p << 1) ^ ((p & 0x80) ? 0x1b : 0));
		q ^= (uint8_t)(q << 1);
		q ^= (uint8_t)(q << 2);
		q ^= (uint8_t)(q << 4);
		if (q & 0x80)
			q ^= 0x09;
		SBOX[p] = (uint8_t)(q ^ ROTL8(q, 1) ^ ROTL8(q, 2) ^ ROTL8(q, 3) ^ ROTL8(q, 4) ^ 0x63);
	} while (p != 1);
	SBOX[0] = 0x63;
	for (int i = 0; i < 256; i++)
		INV[SBOX[i]] = (uint8_t)i;
	for (int i = 0; i < 256; i++) {
		uint8_t s = SBOX[i], v = INV[i];
		uint32_t e = (uint32_t)gmul(s, 2) << 24 | (uint32_t)s << 16 | (uint32_t)s << 8 | gmul(s, 3);
		uint32_t d = (uint32_t)gmul(v, 14) << 24 | (uint32_t)gmul(v, 9) << 16 |
		             (uint32_t)gmul(v, 13) << 8 | gmul(v, 11);
		for (int t = 0; t < 4; t++) {
			TE[t][i] = t ? ROR32(e, 8 * t) : e;
			TD[t][i] = t ? ROR32(d, 8 * t) : d;
		}
	}
}

static inline uint32_t load_be(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static inline void store_be(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 24);
	p[1] = (uint8_t)(v >> 16);
	p[2] = (uint8_t)(v >> 8);
	p[3] = (uint8_t)v;
}

static uint32_t sub_word(uint32_t w)
{
	return (uint32_t)SBOX[w >> 24] << 24 | (uint32_t)SBOX[w >> 16 & 255] << 16 |
	       (uint32_t)SBOX[w >> 8 & 255] << 8 | SBOX[w & 255];
}

static void aes_expand(aes_key *k, const uint8_t *key)
{
	uint8_t rcon = 1;
	for (int i = 0; i < 4; i++)
		k->ek[i] = load_be(key + 4 * i);
	for (int i = 4; i < 44; i++) {
		uint32_t t = k->ek[i - 1];
		if (i % 4 == 0) {
			t = sub_word(ROR32(t, 24)) ^ (uint32_t)rcon << 24;
			rcon = gmul(rcon, 2);
		}
		k->ek[i] = k->ek[i - 4] ^ t;
	}
	for (int r = 0; r <= 10; r++)
		for (int c = 0; c < 4; c++) {
			uint32_t w = k->ek[4 * (10 - r) + c];
			if (r > 0 && r < 10)
				w = TD[0][SBOX[w >> 24]] ^ TD[1][SBOX[w >> 16 & 255]] ^
				    TD[2][SBOX[w >> 8 & 255]] ^ TD[3][SBOX[w & 255]];
			k->dk[4 * r + c] = w;
		}
}

__attribute__((noinline)) static void aes_encrypt(const aes_key *k, const uint8_t *in, uint8_t *out)
{
	const uint32_t *rk = k->ek;
	uint32_t s[4], t[4];
	for (int i = 0; i < 4; i++)
		s[i] = load_be(in + 4 * i) ^ rk[i];
	for (int r = 1; r < 10; r++) {
		rk += 4;
		for (int i = 0; i < 4; i++)
			t[i] = TE[0][s[i] >> 24] ^ TE[1][s[(i + 1) & 3] >> 16 & 255] ^
			       TE[2][s[(i + 2) & 3] >> 8 & 255] ^ TE[3][s[(i + 3) & 3] & 255] ^ rk[i];
		memcpy(s, t, sizeof s);
	}
	rk += 4;
	for (int i = 0; i < 4; i++)
		store_be(out + 4 * i,
		         ((uint32_t)SBOX[s[i] >> 24] << 24 |
		          (uint32_t)SBOX[s[(i + 1) & 3] >> 16 & 255] << 16 |
		          (uint32_t)SBOX[s[(i + 2) & 3] >> 8 & 255] << 8 | SBOX[s[(i + 3) & 3] & 255]) ^
		                 rk[i]);
}

__attribute__((noinline)) static void aes_decrypt(const aes_key *k, const uint8_t *in, uint8_t *out)
{
	const uint32_t *rk = k->dk;
	uint32_t s[4], t[4];
	for (int i = 0; i < 4; i++)
		s[i] = load_be(in + 4 * i) ^ rk[i];
	for (int r = 1; r < 10; r++) {
		rk += 4;
		for (int i = 0; i < 4; i++)
			t[i] = TD[0][s[i] >> 24] ^ TD[1][s[(i + 3) & 3] >> 16 & 255] ^
			       TD[2][s[(i + 2) & 3] >> 8 & 255] ^ TD[3][s[(i + 1) & 3] & 255] ^ rk[i];
		memcpy(s, t, sizeof s);
	}
	rk += 4;
	for (int i = 0; i < 4; i++)
		store_be(out + 4 * i,
		         ((uint32_t)INV[s[i] >> 24] << 24 | (uint32_t)INV[s[(i + 3) & 3] >> 16 & 255] << 16 |
		          (uint32_t)INV[s[(i + 2) & 3] >> 8 & 255] << 8 | INV[s[(i + 1) & 3] & 255]) ^
		                 rk[i]);
}

__attribute__((noinline)) static void xor_block(uint8_t *d, const uint8_t *a, const uint8_t *b)
{
	for (int i = 0; i < 16; i++)
		d[i] = a[i] ^ b[i];
}

static void cbc_encrypt(const aes_key *k, uint8_t *buf, size_t n)
{
	uint8_t iv[16] = { 0 };
	for (; n >= 16; n -= 16, buf += 16) {
		xor_block(buf, buf, iv);
		aes_encrypt(k, buf, buf);
		memcpy(iv, buf, 16);
	}
}

static void cbc_decrypt(const aes_key *k, uint8_t *buf, size_t n)
{
	uint8_t iv[16] = { 0 }, c[16];
	for (; n >= 16; n -= 16, buf += 16) {
		memcpy(c, buf, 16);
		aes_decrypt(k, buf, buf);
		xor_block(buf, buf, iv);
		memcpy(iv, c, 16);
	}
}

static void inc_counter(uint8_t *c)
{
	for (int i = 15; i >= 0 && ++c[i] == 0; i--)
		;
}

static void ctr_crypt(const aes_key *k, uint8_t *buf, size_t n)
{
	uint8_t ctr[16] = { 0 }, ks[16];
	for (; n >= 16; n -= 16, buf += 16) {
		aes_encrypt(k, ctr, ks);
		xor_block(buf, buf, ks);
		inc_counter(ctr);
	}
}

/* ===================== SHA-256 ===================== */
typedef struct {
	uint32_t h[8];
	uint64_t len;
	uint8_t buf[64];
	size_t fill;
} sha_ctx;

static const uint32_t K[64] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
	0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
	0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
	0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
	0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
	0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
	0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2
};

static uint32_t ch(uint32_t x, uint32_t y, uint32_t z)
{
	return (x & y) ^ (~x & z);
}
static uint32_t maj(uint32_t x, uint32_t y, uint32_t z)
{
	return (x & y) ^ (x & z) ^ (y & z);
}
static uint32_t bsig0(uint32_t x)
{
	return ROR32(x, 2) ^ ROR32(x, 13) ^ ROR32(x, 22);
}
static uint32_t bsig1(uint32_t x)
{
	return ROR32(x, 6) ^ ROR32(x, 11) ^ ROR32(x, 25);
}
static uint32_t ssig0(uint32_t x)
{
	return ROR32(x, 7) ^ ROR32(x, 18) ^ (x >> 3);
}
static uint32_t ssig1(uint32_t x)
{
	return ROR32(x, 17) ^ ROR32(x, 19) ^ (x >> 10);
}

__attribute__((noinline)) static void sha_schedule(uint32_t *w, const uint8_t *p)
{
	for (int i = 0; i < 16; i++)
		w[i] = load_be(p + 4 * i);
	for (int i = 16; i < 64; i++)
		w[i] = ssig1(w[i - 2]) + w[i - 7] + ssig0(w[i - 15]) + w[i - 16];
}

__attribute__((noinline)) static void sha_block(uint32_t *H, const uint8_t *p)
{
	uint32_t w[64], a = H[0], b = H[1], c = H[2], d = H[3], e = H[4], f = H[5], g = H[6], h = H[7];
	sha_schedule(w, p);
	for (int i = 0; i < 64; i++) {
		uint32_t t1 = h + bsig1(e) + ch(e, f, g) + K[i] + w[i];
		uint32_t t2 = bsig0(a) + maj(a, b, c);
		h = g;
		g = f;
		f = e;
		e = d + t1;
		d = c;
		c = b;
		b = a;
		a = t1 + t2;
	}
	H[0] += a;
	H[1] += b;
	H[2] += c;
	H[3] += d;
	H[4] += e;
	H[5] += f;
	H[6] += g;
	H[7] += h;
}

static void sha_init(sha_ctx *s)
{
	static const uint32_t iv[8] = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
		                        0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19 };
	memcpy(s->h, iv, sizeof iv);
	s->len = 0;
	s->fill = 0;
}

static void sha_update(sha_ctx *s, const void *data, size_t n)
{
	const uint8_t *p = data;
	s->len += n;
	while (n > 0) {
		size_t k = 64 - s->fill < n ? 64 - s->fill : n;
		memcpy(s->buf + s->fill, p, k);
		s->fill += k;
		p += k;
		n -= k;
		if (s->fill == 64) {
			sha_block(s->h, s->buf);
			s->fill = 0;
		}
	}
}

static void sha_final(sha_ctx *s, uint8_t *out)
{
	uint64_t bits = s->len * 8;
	uint8_t pad[72] = { 0x80 };
	size_t padlen = (s->fill < 56 ? 56 : 120) - s->fill;
	store_be(pad + padlen, (uint32_t)(bits >> 32));
	store_be(pad + padlen + 4, (uint32_t)bits);
	sha_update(s, pad, padlen + 8);
	for (int i = 0; i < 8; i++)
		store_be(out + 4 * i, s->h[i]);
}

static void hmac(const uint8_t *key, const uint8_t *m, size_t n, uint8_t *out)
{
	uint8_t k[64];
	sha_ctx s;
	for (int i = 0; i < 64; i++)
		k[i] = (uint8_t)((i < 16 ? key[i] : 0) ^ 0x36);
	sha_init(&s);
	sha_update(&s, k, 64);
	sha_update(&s, m, n);
	sha_final(&s, out);
	for (int i = 0; i < 64; i++)
		k[i] ^= 0x36 ^ 0x5c;
	sha_init(&s);
	sha_update(&s, k, 64);
	sha_update(&s, out, 32);
	sha_final(&s, out);
}

static int self_test(void)
{
	static const uint8_t want[4] = { 0xba, 0x78, 0x16, 0xbf };
	static const uint8_t fips[4] = { 0x69, 0xc4, 0xe0, 0xd8 };
	uint8_t d[32], key[16], pt[16], ct[16];
	aes_key k;
	sha_ctx s;
	sha_init(&s);
	sha_update(&s, "abc", 3);
	sha_final(&s, d);
	for (int i = 0; i < 16; i++) {
		key[i] = (uint8_t)i;
		pt[i] = (uint8_t)(i * 0x11);
	}
	aes_expand(&k, key);
	aes_encrypt(&k, pt, ct);
	if (memcmp(d, want, 4) || memcmp(ct, fips, 4))
		return 0;
	aes_decrypt(&k, ct, ct);
	return !memcmp(ct, pt, 16);
}

int main(void)
{
	static uint8_t buf[MSG], orig[MSG];
	uint8_t key[16], tag[32];
	aes_key k;
	uint32_t x = 1;
	aes_tables();
	if (!self_test()) {
		puts("self test failed");
		return 1;
	}
	for (size_t i = 0; i < MSG; i++) {
		x = x * 69069 + 1;
		buf[i] = (uint8_t)(x >> 24);
	}
	memcpy(orig, buf, MSG);
	memset(tag, 0, sizeof tag);
	for (int it = 0; it < ITER; it++) {
		for (int i = 0; i < 16; i++)
			key[i] = (uint8_t)(tag[i] + i);
		aes_expand(&k, key);
		cbc_encrypt(&k, buf, MSG);
		hmac(key, buf, MSG, tag);
		ctr_crypt(&k, buf, MSG);
		ctr_crypt(&k, buf, MSG);
		cbc_decrypt(&k, buf, MSG);
		if (memcmp(buf, orig, MSG)) {
			puts("round trip failed");
			return 1;
		}
	}
	printf("checksum ");
	for (int i = 0; i < 32; i++)
		printf("%02x", tag[i]);
	putchar('\n');
	return 0;
}
