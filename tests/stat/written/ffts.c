/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Recursive and iterative radix-2 FFT using C99 complex, plus fast convolution and a power spectrum. */
#include <complex.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef M_PI
#define M_PI 3.14159265358979323846
#endif

typedef double complex cplx;

static void fft_rec_step(cplx *buf, cplx *out, int n, int step)
{
	if (step >= n)
		return;
	fft_rec_step(out, buf, n, step * 2);
	fft_rec_step(out + step, buf + step, n, step * 2);
	for (int i = 0; i < n; i += 2 * step) {
		cplx t = cexp(-I * M_PI * i / n) * out[i + step];
		buf[i / 2] = out[i] + t;
		buf[(i + n) / 2] = out[i] - t;
	}
}

static void fft_recursive(cplx *x, int n)
{
	cplx *tmp = malloc(n * sizeof *tmp);
	memcpy(tmp, x, n * sizeof *tmp);
	fft_rec_step(x, tmp, n, 1);
	free(tmp);
}

/* textbook even/odd split with allocation at each level */
static void fft_split(cplx *x, int n, const cplx *roots, int stride)
{
	if (n == 1)
		return;
	if (n == 2) {
		cplx a = x[0], b = x[1];
		x[0] = a + b;
		x[1] = a - b;
		return;
	}
	int h = n / 2;
	cplx *even = malloc(n * sizeof *even), *odd = even + h;
	for (int i = 0; i < h; i++) {
		even[i] = x[2 * i];
		odd[i] = x[2 * i + 1];
	}
	fft_split(even, h, roots, stride * 2);
	fft_split(odd, h, roots, stride * 2);
	for (int k = 0; k < h; k++) {
		cplx t = roots[k * stride] * odd[k];
		x[k] = even[k] + t;
		x[k + h] = even[k] - t;
	}
	free(even);
}

static unsigned reverse_bits(unsigned v, int bits)
{
	unsigned r = 0;
	for (int i = 0; i < bits; i++) {
		r = r << 1 | (v & 1);
		v >>= 1;
	}
	return r;
}

static void bit_reverse_permute(cplx *x, int n)
{
	int bits = 0;
	while (1 << bits < n)
		bits++;
	for (int i = 0; i < n; i++) {
		int j = reverse_bits(i, bits);
		if (i < j) {
			cplx t = x[i];
			x[i] = x[j];
			x[j] = t;
		}
	}
}

static inline cplx cmul(cplx a, cplx b)
{
	double ar = creal(a), ai = cimag(a), br = creal(b), bi = cimag(b);
	return CMPLX(ar * br - ai * bi, ar * bi + ai * br);
}

static void butterflies(cplx *x, int n, int len, const cplx *roots)
{
	int half = len / 2, stride = n / len;
	for (int i = 0; i < n; i += len)
		for (int j = 0; j < half; j++) {
			cplx u = x[i + j], v = cmul(x[i + j + half], roots[j * stride]);
			x[i + j] = u + v;
			x[i + j + half] = u - v;
		}
}

static void fft_iterative(cplx *x, int n, const cplx *roots)
{
	bit_reverse_permute(x, n);
	for (int len = 2; len <= n; len <<= 1)
		butterflies(x, n, len, roots);
}

static cplx *make_roots(int n, int sign)
{
	cplx *r = malloc(n * sizeof *r);
	for (int i = 0; i < n; i++)
		r[i] = CMPLX(cos(2 * M_PI * i / n), sign * sin(2 * M_PI * i / n));
	return r;
}

static void hann(cplx *x, int n)
{
	for (int i = 0; i < n; i++)
		x[i] *= 0.5 - 0.5 * cos(2 * M_PI * i / (n - 1));
}

static void gen_signal(cplx *x, int n, int seed)
{
	unsigned s = seed * 2654435761u + 1;
	for (int i = 0; i < n; i++) {
		s = s * 1103515245u + 12345u;
		double noise = ((s >> 16) & 0x7fff) / 32768.0 - 0.5;
		x[i] = (i % 64 < 32 ? 1.0 : -1.0) * 0.3 + noise + ((i * seed) % 17) * 0.05;
	}
}

static double peak(const cplx *x, int n, int *where)
{
	double best = -1;
	for (int i = 1; i < n / 2; i++) {
		double m = creal(x[i]) * creal(x[i]) + cimag(x[i]) * cimag(x[i]);
		if (m > best) {
			best = m;
			*where = i;
		}
	}
	return sqrt(best);
}

static double max_diff(const cplx *a, const cplx *b, int n)
{
	double d = 0;
	for (int i = 0; i < n; i++) {
		double e = cabs(a[i] - b[i]);
		if (e > d)
			d = e;
	}
	return d;
}

static double convolve(const double *a, const double *b, int n, const cplx *fw, const cplx *inv)
{
	cplx *x = calloc(n, sizeof *x), *y = calloc(n, sizeof *y);
	for (int i = 0; i < n / 2; i++) {
		x[i] = a[i];
		y[i] = b[i];
	}
	fft_iterative(x, n, fw);
	fft_iterative(y, n, fw);
	for (int i = 0; i < n; i++)
		x[i] = cmul(x[i], y[i]);
	fft_iterative(x, n, inv);
	double s = 0;
	for (int i = 0; i < n; i++)
		s += creal(x[i]) / n * (i % 5);
	free(x);
	free(y);
	return s;
}

int main(void)
{
	const int n = 4096;
	cplx *a = malloc(n * sizeof *a), *b = malloc(n * sizeof *b), *c = malloc(n * sizeof *c);
	cplx *fw = make_roots(n, -1), *inv = make_roots(n, 1);
	double acc = 0, worst = 0;
	long bins = 0;
	for (int r = 1; r <= 15; r++) {
		int where = 0;
		gen_signal(a, n, r);
		hann(a, n);
		memcpy(b, a, n * sizeof *a);
		memcpy(c, a, n * sizeof *a);
		fft_iterative(a, n, fw);
		fft_split(c, n, fw, 1);
		if (r % 3 == 0) {
			fft_recursive(b, n);
			double d = max_diff(a, b, n);
			if (d > worst)
				worst = d;
		}
		double d = max_diff(a, c, n);
		if (d > worst)
			worst = d;
		acc += peak(a, n, &where);
		bins = bins * 3 + where;
	}
	double *p = malloc(n * sizeof *p), *q = malloc(n * sizeof *q);
	for (int i = 0; i < n; i++) {
		p[i] = i % 10;
		q[i] = (i * 7) % 10;
	}
	for (int r = 0; r < 14; r++)
		acc += convolve(p, q, n, fw, inv) * 1e-6;
	printf("checksum %.6f bins %ld %s\n", acc, bins, worst < 1e-8 ? "ok" : "BAD");
	free(a);
	free(b);
	free(c);
	free(fw);
	free(inv);
	free(p);
	free(q);
	return 0;
}
