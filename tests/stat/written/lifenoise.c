/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Conway's Life, three ways (naive bytes, bit-packed, row-table), seeded from Perlin noise. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define W     256
#define H     192
#define WORDS (W / 64)

/* ---- Perlin ---- */

static uint8_t perm[512];

static void perlin_init(uint32_t seed)
{
	for (int i = 0; i < 256; i++)
		perm[i] = i;
	for (int i = 255; i > 0; i--) {
		seed = seed * 1103515245u + 12345u;
		int j = (seed >> 8) % (i + 1);
		uint8_t t = perm[i];
		perm[i] = perm[j];
		perm[j] = t;
	}
	memcpy(perm + 256, perm, 256);
}

static double fade(double t)
{
	return t * t * t * (t * (t * 6 - 15) + 10);
}
static double lerp(double t, double a, double b)
{
	return a + t * (b - a);
}

static double grad(int hash, double x, double y, double z)
{
	int h = hash & 15;
	double u = h < 8 ? x : y;
	double v = h < 4 ? y : h == 12 || h == 14 ? x : z;
	return ((h & 1) ? -u : u) + ((h & 2) ? -v : v);
}

double perlin(double x, double y, double z)
{
	double fx = floor(x), fy = floor(y), fz = floor(z);
	int X = (int)fx & 255, Y = (int)fy & 255, Z = (int)fz & 255;
	x -= fx;
	y -= fy;
	z -= fz;
	double u = fade(x), v = fade(y), w = fade(z);
	int A = perm[X] + Y, AA = perm[A] + Z, AB = perm[A + 1] + Z;
	int B = perm[X + 1] + Y, BA = perm[B] + Z, BB = perm[B + 1] + Z;
	return lerp(w,
	            lerp(v, lerp(u, grad(perm[AA], x, y, z), grad(perm[BA], x - 1, y, z)),
	                 lerp(u, grad(perm[AB], x, y - 1, z), grad(perm[BB], x - 1, y - 1, z))),
	            lerp(v, lerp(u, grad(perm[AA + 1], x, y, z - 1), grad(perm[BA + 1], x - 1, y, z - 1)),
	                 lerp(u, grad(perm[AB + 1], x, y - 1, z - 1),
	                      grad(perm[BB + 1], x - 1, y - 1, z - 1))));
}

double fbm(double x, double y, double z, int octaves)
{
	double s = 0, amp = 1, norm = 0;
	while (octaves--) {
		s += amp * perlin(x, y, z);
		norm += amp;
		amp *= 0.5;
		x *= 2.03;
		y *= 2.03;
		z *= 1.97;
	}
	return s / norm;
}

static void noise_field(uint8_t *cells, double z)
{
	for (int y = 0; y < H; y++)
		for (int x = 0; x < W; x++)
			cells[y * W + x] = fbm(x * 0.19, y * 0.19, z, 3) > 0.08;
}

/* ---- naive life ---- */

static int cell_at(const uint8_t *g, int x, int y)
{
	if (x < 0)
		x += W;
	else if (x >= W)
		x -= W;
	if (y < 0)
		y += H;
	else if (y >= H)
		y -= H;
	return g[y * W + x];
}

static int neighbours(const uint8_t *g, int x, int y)
{
	int n = 0;
	if (x > 0 && x < W - 1 && y > 0 && y < H - 1) {
		const uint8_t *p = g + y * W + x;
		return p[-W - 1] + p[-W] + p[-W + 1] + p[-1] + p[1] + p[W - 1] + p[W] + p[W + 1];
	}
	for (int dy = -1; dy <= 1; dy++)
		for (int dx = -1; dx <= 1; dx++)
			if (dx || dy)
				n += cell_at(g, x + dx, y + dy);
	return n;
}

void step_naive(const uint8_t *in, uint8_t *out)
{
	for (int y = 0; y < H; y++)
		for (int x = 0; x < W; x++) {
			int n = neighbours(in, x, y);
			out[y * W + x] = n == 3 || (n == 2 && in[y * W + x]);
		}
}

/* ---- bit-packed life ---- */

typedef uint64_t row_t[WORDS];

static void pack(const uint8_t *cells, row_t *g)
{
	memset(g, 0, H * sizeof *g);
	for (int y = 0; y < H; y++)
		for (int x = 0; x < W; x++)
			if (cells[y * W + x])
				g[y][x / 64] |= 1ULL << (x % 64);
}

static inline uint64_t west(const uint64_t *r, int i)
{
	return r[i] << 1 | r[(i + WORDS - 1) % WORDS] >> 63;
}
static inline uint64_t east(const uint64_t *r, int i)
{
	return r[i] >> 1 | r[(i + 1) % WORDS] << 63;
}

static inline void full_add(uint64_t a, uint64_t b, uint64_t c, uint64_t *s, uint64_t *k)
{
	uint64_t t = a ^ b;
	*s = t ^ c;
	*k = (a & b) | (t & c);
}

static void life_row(const uint64_t *up, const uint64_t *me, const uint64_t *dn, uint64_t *out)
{
	for (int i = 0; i < WORDS; i++) {
		uint64_t s0, k0, s1, k1, s2, k2, s3, k3, c;
		full_add(west(up, i), up[i], east(up, i), &s0, &k0);
		full_add(west(dn, i), dn[i], east(dn, i), &s1, &k1);
		s2 = west(me, i) ^ east(me, i);
		k2 = west(me, i) & east(me, i);
		full_add(s0, s1, s2, &s3, &k3);
		/* twos: k0 k1 k2 k3 */
		uint64_t t, f;
		full_add(k0, k1, k2, &t, &f);
		c = t & k3;
		t ^= k3;
		out[i] = t & ~(f | c) & (s3 | me[i]);
	}
}

void step_packed(row_t *in, row_t *out)
{
	for (int y = 0; y < H; y++)
		life_row(in[(y + H - 1) % H], in[y], in[(y + 1) % H], out[y]);
}

static int popcount64(uint64_t x)
{
	x -= x >> 1 & 0x5555555555555555ULL;
	x = (x & 0x3333333333333333ULL) + (x >> 2 & 0x3333333333333333ULL);
	x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0fULL;
	return x * 0x0101010101010101ULL >> 56;
}

int population(row_t *g)
{
	int n = 0;
	for (int y = 0; y < H; y++)
		for (int i = 0; i < WORDS; i++)
			n += popcount64(g[y][i]);
	return n;
}

/* ---- life from a list of live cells, counting into a scratch field ---- */

static int live[W * H];

static int collect_live(const uint8_t *g)
{
	int n = 0;
	for (int i = 0; i < W * H; i++)
		if (g[i])
			live[n++] = i;
	return n;
}

void scatter_counts(int nlive, uint8_t *cnt)
{
	memset(cnt, 0, W * H);
	for (int k = 0; k < nlive; k++) {
		int x = live[k] % W, y = live[k] / W;
		int xl = (x + W - 1) % W, xr = (x + 1) % W;
		int yu = (y + H - 1) % H * W, yd = (y + 1) % H * W, ym = y * W;
		cnt[yu + xl]++;
		cnt[yu + x]++;
		cnt[yu + xr]++;
		cnt[ym + xl]++;
		cnt[ym + xr]++;
		cnt[yd + xl]++;
		cnt[yd + x]++;
		cnt[yd + xr]++;
	}
}

void apply_counts(uint8_t *g, const uint8_t *cnt)
{
	for (int i = 0; i < W * H; i++)
		g[i] = cnt[i] == 3 || (cnt[i] == 2 && g[i]);
}

int main(void)
{
	static uint8_t a[W * H], b[W * H], s[W * H], cnt[W * H];
	static row_t p[H], q[H], chk[H];
	uint32_t sum = 0;
	perlin_init(1234);
	for (int r = 0; r < 2; r++) {
		noise_field(a, r * 3.7 + 0.5);
		memcpy(s, a, sizeof s);
		pack(a, p);
		for (int g = 0; g < 16; g++) {
			step_naive(a, b);
			memcpy(a, b, sizeof a);
			step_packed(p, q);
			memcpy(p, q, sizeof p);
			scatter_counts(collect_live(s), cnt);
			apply_counts(s, cnt);
			sum = sum * 31 + population(p);
		}
		pack(a, chk);
		if (memcmp(chk, p, sizeof p) || memcmp(a, s, sizeof a)) {
			puts("implementations differ");
			return 1;
		}
		for (int g = 0; g < 300; g++) {
			step_packed(p, q);
			step_packed(q, p);
			if (g % 8 == 0)
				sum = sum * 31 + population(p);
		}
	}
	printf("checksum %08x final %d\n", sum, population(p));
	return 0;
}
