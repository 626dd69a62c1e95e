/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * dctcodec: a JPEG-like still image coder.  Colour transform, 4:2:0 chroma,
 * 8x8 DCT, quantisation, and an adaptive binary range coder for the levels.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOINLINE __attribute__((noinline)) /* keep the stages apart in profiles */

#define W 272
#define H 208

typedef struct {
	int w, h;
	uint8_t *px;
} plane;

static uint32_t xs = 2463534242u;
static uint32_t xs32(void)
{
	xs ^= xs << 13;
	xs ^= xs >> 17;
	return xs ^= xs << 5;
}

static inline uint8_t clamp8(int v)
{
	return v < 0 ? 0 : v > 255 ? 255 : (uint8_t)v;
}

static plane plane_new(int w, int h)
{
	plane p = { w, h, calloc((size_t)w * (size_t)h, 1) };
	return p;
}

/* A gradient, some soft discs, and sensor noise. */
static NOINLINE void paint(uint8_t *rgb, int frame)
{
	struct {
		float x, y, r, c[3];
	} disc[9];
	for (int d = 0; d < 9; d++) {
		disc[d].x = (float)(xs32() % W);
		disc[d].y = (float)(xs32() % H);
		disc[d].r = 12.0f + (float)(xs32() % 40);
		for (int k = 0; k < 3; k++)
			disc[d].c[k] = (float)(xs32() % 256);
	}
	for (int y = 0; y < H; y++)
		for (int x = 0; x < W; x++) {
			float c[3] = { (float)x * 255 / W, (float)y * 255 / H,
				       128.0f + 90.0f * sinf(0.05f * (float)(x + y + frame)) };
			for (int d = 0; d < 9; d++) {
				float dx = (float)x - disc[d].x, dy = (float)y - disc[d].y;
				float q = dx * dx + dy * dy, r2 = disc[d].r * disc[d].r;
				if (q < r2) {
					float a = 1.0f - q / r2;
					for (int k = 0; k < 3; k++)
						c[k] += a * (disc[d].c[k] - c[k]);
				}
			}
			int noise = (int)(xs32() & 7) - 4;
			for (int k = 0; k < 3; k++)
				*rgb++ = clamp8((int)c[k] + noise);
		}
}

static NOINLINE void rgb_to_ycc(const uint8_t *rgb, plane *y, plane *cb, plane *cr)
{
	for (int i = 0; i < W * H; i++, rgb += 3) {
		int r = rgb[0], g = rgb[1], b = rgb[2];
		y->px[i] = clamp8((19595 * r + 38470 * g + 7471 * b + 32768) >> 16);
		cb->px[i] = clamp8(((-11059 * r - 21709 * g + 32768 * b + 32768) >> 16) + 128);
		cr->px[i] = clamp8(((32768 * r - 27439 * g - 5329 * b + 32768) >> 16) + 128);
	}
}

static NOINLINE void ycc_to_rgb(const plane *y, const plane *cb, const plane *cr, uint8_t *rgb)
{
	for (int j = 0; j < H; j++)
		for (int i = 0; i < W; i++, rgb += 3) {
			int l = y->px[j * W + i];
			int u = cb->px[(j / 2) * cb->w + i / 2] - 128,
			    v = cr->px[(j / 2) * cr->w + i / 2] - 128;
			rgb[0] = clamp8(l + ((91881 * v + 32768) >> 16));
			rgb[1] = clamp8(l - ((22554 * u + 46802 * v + 32768) >> 16));
			rgb[2] = clamp8(l + ((116130 * u + 32768) >> 16));
		}
}

static NOINLINE plane halve(const plane *p)
{
	plane q = plane_new(p->w / 2, p->h / 2);
	for (int y = 0; y < q.h; y++)
		for (int x = 0; x < q.w; x++) {
			const uint8_t *s = p->px + 2 * y * p->w + 2 * x;
			q.px[y * q.w + x] = (uint8_t)((s[0] + s[1] + s[p->w] + s[p->w + 1] + 2) >> 2);
		}
	return q;
}

/* ---- transform: even/odd decomposed 8-point DCT-II and its inverse ---- */

static float cosv[8]; /* cos(k pi / 16) / 2 */

static void dct8(float *d, int step)
{
	float s[4], t[4];
	for (int i = 0; i < 4; i++) {
		s[i] = d[i * step] + d[(7 - i) * step];
		t[i] = d[i * step] - d[(7 - i) * step];
	}
	float a = s[0] + s[3], b = s[1] + s[2], c = s[0] - s[3], e = s[1] - s[2];
	d[0] = (a + b) * cosv[4];
	d[4 * step] = (a - b) * cosv[4];
	d[2 * step] = c * cosv[2] + e * cosv[6];
	d[6 * step] = c * cosv[6] - e * cosv[2];
	d[1 * step] = t[0] * cosv[1] + t[1] * cosv[3] + t[2] * cosv[5] + t[3] * cosv[7];
	d[3 * step] = t[0] * cosv[3] - t[1] * cosv[7] - t[2] * cosv[1] - t[3] * cosv[5];
	d[5 * step] = t[0] * cosv[5] - t[1] * cosv[1] + t[2] * cosv[7] + t[3] * cosv[3];
	d[7 * step] = t[0] * cosv[7] - t[1] * cosv[5] + t[2] * cosv[3] - t[3] * cosv[1];
}

static void idct8(float *d, int step)
{
	float x[8], s[4], t[4];
	for (int i = 0; i < 8; i++)
		x[i] = d[i * step];
	float a = (x[0] + x[4]) * cosv[4], b = (x[0] - x[4]) * cosv[4];
	float c = x[2] * cosv[2] + x[6] * cosv[6], e = x[2] * cosv[6] - x[6] * cosv[2];
	s[0] = a + c, s[3] = a - c, s[1] = b + e, s[2] = b - e;
	t[0] = x[1] * cosv[1] + x[3] * cosv[3] + x[5] * cosv[5] + x[7] * cosv[7];
	t[1] = x[1] * cosv[3] - x[3] * cosv[7] - x[5] * cosv[1] - x[7] * cosv[5];
	t[2] = x[1] * cosv[5] - x[3] * cosv[1] + x[5] * cosv[7] + x[7] * cosv[3];
	t[3] = x[1] * cosv[7] - x[3] * cosv[5] + x[5] * cosv[3] - x[7] * cosv[1];
	for (int i = 0; i < 4; i++) {
		d[i * step] = s[i] + t[i];
		d[(7 - i) * step] = s[i] - t[i];
	}
}

static void fdct(float blk[64])
{
	for (int i = 0; i < 8; i++)
		dct8(blk + 8 * i, 1);
	for (int i = 0; i < 8; i++)
		dct8(blk + i, 8);
}

static void idct(float blk[64])
{
	for (int i = 0; i < 8; i++)
		idct8(blk + i, 8);
	for (int i = 0; i < 8; i++)
		idct8(blk + 8 * i, 1);
}

/* ---- adaptive binary range coder (carry-propagating) ---- */

typedef struct {
	uint8_t *buf;
	size_t pos, cap;
	uint64_t low;
	uint32_t range, code;
	uint8_t cache;
	size_t pending;
} rcoder;

typedef uint16_t prob;

typedef struct {
	prob last[64], zero[2][64], sign, more[3][20], bit[20];
} model;

static void model_init(model *m)
{
	prob *p = (prob *)m;
	for (size_t i = 0; i < sizeof *m / sizeof *p; i++)
		p[i] = 2048;
}

static void put_byte(rcoder *r, uint8_t b)
{
	if (r->pos == r->cap)
		r->buf = realloc(r->buf, r->cap = r->cap * 2 + 1024);
	r->buf[r->pos++] = b;
}

static void shift_low(rcoder *r)
{
	if ((uint32_t)r->low < 0xFF000000u || (r->low >> 32)) {
		uint8_t carry = (uint8_t)(r->low >> 32), c = r->cache;
		do {
			put_byte(r, (uint8_t)(c + carry));
			c = 0xFF;
		} while (--r->pending);
		r->cache = (uint8_t)(r->low >> 24);
	}
	r->pending++;
	r->low = (uint32_t)r->low << 8;
}

static void enc_bit(rcoder *r, prob *p, int bit)
{
	uint32_t bound = (r->range >> 12) * *p;
	if (!bit) {
		r->range = bound;
		*p = (prob)(*p + ((4096 - *p) >> 5));
	} else {
		r->low += bound;
		r->range -= bound;
		*p = (prob)(*p - (*p >> 5));
	}
	while (r->range < (1u << 24)) {
		r->range <<= 8;
		shift_low(r);
	}
}

static int dec_bit(rcoder *r, prob *p)
{
	uint32_t bound = (r->range >> 12) * *p;
	int bit = r->code >= bound;
	if (!bit) {
		r->range = bound;
		*p = (prob)(*p + ((4096 - *p) >> 5));
	} else {
		r->code -= bound;
		r->range -= bound;
		*p = (prob)(*p - (*p >> 5));
	}
	while (r->range < (1u << 24)) {
		r->range <<= 8;
		r->code = r->code << 8 | (r->pos < r->cap ? r->buf[r->pos] : 0);
		r->pos++;
	}
	return bit;
}

/* Exp-Golomb magnitudes, with adaptive prefix and suffix bits. */
static void enc_level(rcoder *r, model *m, int ctx, int v)
{
	unsigned mag = (unsigned)abs(v), n = 0;
	while (mag >> (n + 1))
		n++;
	for (unsigned i = 0; i < n; i++)
		enc_bit(r, &m->more[ctx][i], 1);
	enc_bit(r, &m->more[ctx][n], 0);
	for (unsigned i = n; i-- > 0;)
		enc_bit(r, &m->bit[i], mag >> i & 1);
	enc_bit(r, &m->sign, v < 0);
}

static int dec_level(rcoder *r, model *m, int ctx)
{
	int n = 0, mag = 1;
	while (n < 19 && dec_bit(r, &m->more[ctx][n]))
		n++;
	for (int i = n; i-- > 0;)
		mag = mag << 1 | dec_bit(r, &m->bit[i]);
	return dec_bit(r, &m->sign) ? -mag : mag;
}

static uint8_t zigzag[64];
static int quant[2][64];

static void tables(int quality)
{
	int at = 0;
	for (int s = 0; s < 15; s++)
		for (int i = 0; i <= s; i++) {
			int y = s & 1 ? i : s - i, x = s - y;
			if (y < 8 && x < 8)
				zigzag[at++] = (uint8_t)(8 * y + x);
		}
	for (int i = 0; i < 64; i++) {
		int f = i / 8 + i % 8;
		quant[0][i] = 1 + (10 + 5 * f) * (100 - quality) / 50;
		quant[1][i] = 1 + (14 + 9 * f) * (100 - quality) / 50;
	}
	for (int k = 0; k < 8; k++)
		cosv[k] = (float)(cos(k * 3.14159265358979 / 16) / 2);
}

static NOINLINE void enc_block(rcoder *r, model *m, const int *lv, int *dc)
{
	int last = 63, near = 0;
	while (last > 0 && lv[last] == 0)
		last--;
	int diff = lv[0] - *dc;
	*dc = lv[0];
	enc_bit(r, &m->zero[0][0], diff != 0);
	if (diff)
		enc_level(r, m, 0, diff);
	for (int i = 0; i < last; i++) {
		enc_bit(r, &m->last[i], 0);
		enc_bit(r, &m->zero[near][i + 1], lv[i + 1] != 0);
		if ((near = lv[i + 1] != 0))
			enc_level(r, m, i < 6 ? 1 : 2, lv[i + 1]);
	}
	if (last < 63)
		enc_bit(r, &m->last[last], 1);
}

static NOINLINE void dec_block(rcoder *r, model *m, int *lv, int *dc)
{
	int near = 0;
	memset(lv, 0, 64 * sizeof *lv);
	if (dec_bit(r, &m->zero[0][0]))
		*dc += dec_level(r, m, 0);
	lv[0] = *dc;
	for (int i = 0; i < 63 && !dec_bit(r, &m->last[i]); i++)
		if ((near = dec_bit(r, &m->zero[near][i + 1])))
			lv[i + 1] = dec_level(r, m, i < 6 ? 1 : 2);
}

static void enc_plane(rcoder *r, const plane *p, const int *q)
{
	model m;
	int dc = 0, lv[64];
	float blk[64];
	model_init(&m);
	for (int by = 0; by < p->h; by += 8)
		for (int bx = 0; bx < p->w; bx += 8) {
			for (int i = 0; i < 64; i++)
				blk[i] = (float)p->px[(by + i / 8) * p->w + bx + i % 8] - 128.0f;
			fdct(blk);
			for (int i = 0; i < 64; i++)
				lv[i] = (int)lrintf(blk[zigzag[i]] / (float)q[zigzag[i]]);
			enc_block(r, &m, lv, &dc);
		}
}

static void dec_plane(rcoder *r, plane *p, const int *q)
{
	model m;
	int dc = 0, lv[64];
	float blk[64];
	model_init(&m);
	for (int by = 0; by < p->h; by += 8)
		for (int bx = 0; bx < p->w; bx += 8) {
			dec_block(r, &m, lv, &dc);
			for (int i = 0; i < 64; i++)
				blk[zigzag[i]] = (float)(lv[i] * q[zigzag[i]]);
			idct(blk);
			for (int i = 0; i < 64; i++)
				p->px[(by + i / 8) * p->w + bx + i % 8] = clamp8((int)lrintf(blk[i]) + 128);
		}
}

int main(void)
{
	static uint8_t src[W * H * 3], out[W * H * 3];
	uint64_t sum = 14695981039346656037ull;
	size_t bytes = 0;
	double worst = 99;

	for (int frame = 0; frame < 5; frame++) {
		plane y = plane_new(W, H), cb = plane_new(W, H), cr = plane_new(W, H);
		tables(55 + 9 * frame);
		paint(src, frame);
		rgb_to_ycc(src, &y, &cb, &cr);
		plane hb = halve(&cb), hr = halve(&cr);

		rcoder e = { .range = 0xFFFFFFFFu, .pending = 1 };
		enc_plane(&e, &y, quant[0]);
		enc_plane(&e, &hb, quant[1]);
		enc_plane(&e, &hr, quant[1]);
		for (int i = 0; i < 5; i++)
			shift_low(&e);

		rcoder d = { .buf = e.buf, .cap = e.pos, .range = 0xFFFFFFFFu, .pos = 1 };
		for (int i = 0; i < 4; i++)
			d.code = d.code << 8 | d.buf[d.pos++];
		dec_plane(&d, &y, quant[0]);
		dec_plane(&d, &hb, quant[1]);
		dec_plane(&d, &hr, quant[1]);
		ycc_to_rgb(&y, &hb, &hr, out);

		double err = 0;
		for (int i = 0; i < W * H * 3; i++) {
			int df = src[i] - out[i];
			err += df * df;
			sum = (sum ^ out[i]) * 1099511628211ull;
		}
		double psnr = 10 * log10(255.0 * 255.0 * W * H * 3 / (err + 1e-9));
		if (psnr < worst)
			worst = psnr;
		bytes += e.pos;
		free(e.buf), free(y.px), free(cb.px), free(cr.px), free(hb.px), free(hr.px);
	}
	printf("dctcodec bytes=%zu worst=%.2fdB sum=%016llx\n", bytes, worst, (unsigned long long)sum);
	return worst < 25;
}
