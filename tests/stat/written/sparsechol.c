/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * sparsechol: direct and iterative solution of a resistor-grid system.
 * RCM ordering, elimination tree, up-looking Cholesky; CG with Jacobi and IC(0).
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOINLINE __attribute__((noinline)) /* keep the stages apart in profiles */

typedef struct {
	int n, nnz;
	int *p, *i; /* compressed columns */
	double *x;
} csc;

static uint64_t s0 = 0x1234567890abcdefULL, s1 = 0xfedcba0987654321ULL;

static double frand(void) /* xorshift128+ */
{
	uint64_t a = s0, b = s1;
	s0 = b;
	a ^= a << 23;
	s1 = a ^ b ^ (a >> 17) ^ (b >> 26);
	return (double)((s1 + b) >> 11) * (1.0 / 9007199254740992.0);
}

static void *xalloc(size_t n, size_t size)
{
	void *p = calloc(n ? n : 1, size);
	if (!p)
		abort();
	return p;
}

static csc *csc_new(int n, int nz)
{
	csc *a = xalloc(1, sizeof *a);
	a->n = n;
	a->nnz = nz;
	a->p = xalloc((size_t)n + 1, sizeof *a->p);
	a->i = xalloc((size_t)nz, sizeof *a->i);
	a->x = xalloc((size_t)nz, sizeof *a->x);
	return a;
}

static void csc_free(csc *a)
{
	free(a->p);
	free(a->i);
	free(a->x);
	free(a);
}

/* Symmetric matrix of a w*h grid of random conductances, both triangles, columns sorted. */
static csc *grid(int w, int h)
{
	int n = w * h, at = 0;
	double *east = xalloc((size_t)n, sizeof *east), *south = xalloc((size_t)n, sizeof *south);
	csc *a = csc_new(n, 5 * n);
	for (int k = 0; k < n; k++) {
		east[k] = 0.2 + frand();
		south[k] = 0.2 + frand() * frand() * 4;
	}
	for (int k = 0; k < n; k++) {
		int x = k % w, y = k / w, diag;
		double sum = 0.01;
		a->p[k] = at;
		if (y > 0) {
			a->i[at] = k - w;
			sum -= a->x[at++] = -south[k - w];
		}
		if (x > 0) {
			a->i[at] = k - 1;
			sum -= a->x[at++] = -east[k - 1];
		}
		diag = at;
		a->i[at++] = k;
		if (x < w - 1) {
			a->i[at] = k + 1;
			sum -= a->x[at++] = -east[k];
		}
		if (y < h - 1) {
			a->i[at] = k + w;
			sum -= a->x[at++] = -south[k];
		}
		a->x[diag] = sum;
	}
	a->p[n] = a->nnz = at;
	free(east);
	free(south);
	return a;
}

static NOINLINE void spmv(const csc *a, const double *x, double *y)
{
	for (int j = 0; j < a->n; j++) { /* symmetric: columns serve as rows */
		double s = 0;
		for (int q = a->p[j]; q < a->p[j + 1]; q++)
			s += a->x[q] * x[a->i[q]];
		y[j] = s;
	}
}

static NOINLINE double dot(const double *a, const double *b, int n)
{
	double s = 0;
	for (int i = 0; i < n; i++)
		s += a[i] * b[i];
	return s;
}

static NOINLINE void axpy(double k, const double *x, double *y, int n)
{
	for (int i = 0; i < n; i++)
		y[i] += k * x[i];
}

/* Breadth-first from a pseudo-peripheral node; reversed. */
static int *rcm(const csc *a)
{
	int n = a->n, *order = xalloc((size_t)n, sizeof *order), root = n / 2, head, tail;
	char *seen = xalloc((size_t)n, 1);
	for (int round = 0; round < 3; round++) {
		memset(seen, 0, (size_t)n);
		head = 0, tail = 1;
		seen[order[0] = root] = 1;
		while (head < tail) {
			int u = order[head++], first = tail;
			for (int q = a->p[u]; q < a->p[u + 1]; q++) {
				int v = a->i[q], d = a->p[v + 1] - a->p[v], k = tail;
				if (seen[v])
					continue;
				seen[v] = 1;
				for (; k > first && a->p[order[k - 1] + 1] - a->p[order[k - 1]] > d; k--)
					order[k] = order[k - 1];
				order[k] = v;
				tail++;
			}
		}
		root = order[tail - 1];
	}
	for (int i = 0; i < n / 2; i++) {
		int t = order[i];
		order[i] = order[n - 1 - i];
		order[n - 1 - i] = t;
	}
	free(seen);
	return order;
}

/* Upper triangle of P A P'. */
static NOINLINE csc *permute_upper(const csc *a, const int *order)
{
	int n = a->n, at = 0, *inv = xalloc((size_t)n, sizeof *inv);
	csc *c = csc_new(n, a->nnz);
	for (int k = 0; k < n; k++)
		inv[order[k]] = k;
	for (int k = 0; k < n; k++) {
		c->p[k] = at;
		for (int q = a->p[order[k]]; q < a->p[order[k] + 1]; q++)
			if (inv[a->i[q]] <= k) {
				c->i[at] = inv[a->i[q]];
				c->x[at++] = a->x[q];
			}
	}
	c->p[n] = c->nnz = at;
	free(inv);
	return c;
}

static int *etree(const csc *c)
{
	int n = c->n, *parent = xalloc((size_t)n, sizeof *parent), *anc = xalloc((size_t)n, sizeof *anc);
	for (int k = 0; k < n; k++) {
		parent[k] = anc[k] = -1;
		for (int q = c->p[k]; q < c->p[k + 1]; q++)
			for (int i = c->i[q], next; i != -1 && i < k; i = next) {
				next = anc[i];
				anc[i] = k;
				if (next == -1)
					parent[i] = k;
			}
	}
	free(anc);
	return parent;
}

/* Pattern of row k of L, topologically ordered in stack[top..n-1]. */
static NOINLINE int ereach(const csc *c, int k, const int *parent, int *stack, int *mark)
{
	int top = c->n;
	mark[k] = k;
	for (int q = c->p[k]; q < c->p[k + 1]; q++) {
		int len = 0;
		for (int i = c->i[q]; mark[i] != k; i = parent[i]) {
			stack[len++] = i;
			mark[i] = k;
		}
		while (len > 0)
			stack[--top] = stack[--len];
	}
	return top;
}

static NOINLINE csc *cholesky(const csc *c, const int *parent)
{
	int n = c->n, nz = 0;
	size_t m = (size_t)n;
	int *stack = xalloc(m, sizeof *stack), *mark = xalloc(m, sizeof *mark),
	    *fill = xalloc(m, sizeof *fill);
	double *x = xalloc(m, sizeof *x);

	memset(mark, -1, m * sizeof *mark);
	for (int k = 0; k < n; k++) { /* symbolic: column counts */
		fill[k]++;
		for (int t = ereach(c, k, parent, stack, mark); t < n; t++)
			fill[stack[t]]++;
	}
	for (int k = 0; k < n; k++)
		nz += fill[k];
	csc *l = csc_new(n, nz);
	for (int k = 0; k < n; k++) {
		l->p[k + 1] = l->p[k] + fill[k];
		fill[k] = l->p[k];
		mark[k] = -1;
	}
	for (int k = 0; k < n; k++) {
		int top = ereach(c, k, parent, stack, mark);
		for (int q = c->p[k]; q < c->p[k + 1]; q++)
			x[c->i[q]] = c->x[q];
		double d = x[k];
		x[k] = 0;
		for (; top < n; top++) {
			int i = stack[top];
			double lki = x[i] / l->x[l->p[i]];
			x[i] = 0;
			for (int q = l->p[i] + 1; q < fill[i]; q++)
				x[l->i[q]] -= l->x[q] * lki;
			d -= lki * lki;
			l->i[fill[i]] = k;
			l->x[fill[i]++] = lki;
		}
		if (d <= 0) {
			fprintf(stderr, "not positive definite at %d\n", k);
			exit(1);
		}
		l->i[fill[k]] = k;
		l->x[fill[k]++] = sqrt(d);
	}
	free(stack), free(mark), free(fill), free(x);
	return l;
}

static void lsolve(const csc *l, double *x)
{
	for (int j = 0; j < l->n; j++) {
		double xj = x[j] /= l->x[l->p[j]];
		for (int q = l->p[j] + 1; q < l->p[j + 1]; q++)
			x[l->i[q]] -= l->x[q] * xj;
	}
}

static void ltsolve(const csc *l, double *x)
{
	for (int j = l->n - 1; j >= 0; j--) {
		double s = x[j];
		for (int q = l->p[j] + 1; q < l->p[j + 1]; q++)
			s -= l->x[q] * x[l->i[q]];
		x[j] = s / l->x[l->p[j]];
	}
}

/* Incomplete Cholesky with zero fill, from the lower triangle of a. */
static NOINLINE csc *ichol0(const csc *a)
{
	int n = a->n, at = 0, *pos = xalloc((size_t)n, sizeof *pos);
	csc *l = csc_new(n, a->nnz);
	for (int j = 0; j < n; j++) {
		l->p[j] = at;
		for (int q = a->p[j]; q < a->p[j + 1]; q++)
			if (a->i[q] >= j) {
				l->i[at] = a->i[q];
				l->x[at++] = a->x[q];
			}
	}
	l->p[n] = l->nnz = at;
	for (int k = 0; k < n; k++) {
		double piv = l->x[l->p[k]] = sqrt(l->x[l->p[k]]);
		for (int q = l->p[k] + 1; q < l->p[k + 1]; q++) {
			l->x[q] /= piv;
			pos[l->i[q]] = q + 1;
		}
		for (int q = l->p[k] + 1; q < l->p[k + 1]; q++)
			for (int r = l->p[l->i[q]], j = l->i[q]; r < l->p[j + 1]; r++)
				if (pos[l->i[r]])
					l->x[r] -= l->x[q] * l->x[pos[l->i[r]] - 1];
		for (int q = l->p[k] + 1; q < l->p[k + 1]; q++)
			pos[l->i[q]] = 0;
	}
	free(pos);
	return l;
}

static int cg(const csc *a, const csc *pre, const double *b, double *x, double tol)
{
	int n = a->n, it = 0;
	size_t m = (size_t)n;
	double *r = xalloc(m, sizeof *r), *z = xalloc(m, sizeof *z), *p = xalloc(m, sizeof *p),
	       *ap = xalloc(m, sizeof *ap);
	double *inv = xalloc(m, sizeof *inv), rz = 0, stop = tol * tol * dot(b, b, n);
	for (int j = 0; j < n; j++)
		for (int q = a->p[j]; q < a->p[j + 1]; q++)
			if (a->i[q] == j)
				inv[j] = 1 / a->x[q];
	memset(x, 0, m * sizeof *x);
	memcpy(r, b, m * sizeof *r);
	while (dot(r, r, n) > stop && it < 1000) {
		double old = rz;
		if (pre) {
			memcpy(z, r, m * sizeof *z);
			lsolve(pre, z);
			ltsolve(pre, z);
		} else {
			for (int i = 0; i < n; i++)
				z[i] = r[i] * inv[i];
		}
		rz = dot(r, z, n);
		double beta = it++ ? rz / old : 0;
		for (int i = 0; i < n; i++)
			p[i] = z[i] + beta * p[i];
		spmv(a, p, ap);
		double alpha = rz / dot(p, ap, n);
		axpy(alpha, p, x, n);
		axpy(-alpha, ap, r, n);
	}
	free(r), free(z), free(p), free(ap), free(inv);
	return it;
}

int main(void)
{
	csc *a = grid(48, 44);
	int n = a->n, *order = rcm(a);
	csc *c = permute_upper(a, order);
	int *parent = etree(c);
	csc *l = cholesky(c, parent), *ic = ichol0(a);
	double *b = xalloc((size_t)n, sizeof *b), *x = xalloc((size_t)n, sizeof *x),
	       *y = xalloc((size_t)n, sizeof *y);
	double *px = xalloc((size_t)n, sizeof *px), worst = 0, norm = 0;
	int it_jac = 0, it_ic = 0;

	for (int rhs = 0; rhs < 8; rhs++) {
		for (int i = 0; i < n; i++)
			b[i] = frand() - 0.5;
		for (int i = 0; i < n; i++)
			px[i] = b[order[i]];
		lsolve(l, px);
		ltsolve(l, px);
		if (rhs % 4 == 0)
			it_jac += cg(a, NULL, b, x, 1e-8);
		it_ic += cg(a, ic, b, y, 1e-8);
		for (int i = 0; i < n; i++)
			worst = fmax(worst, fabs(px[i] - y[order[i]]));
		norm += sqrt(dot(px, px, n));
	}
	printf("sparsechol n=%d lnz=%d jacobi=%d ic0=%d ok=%d norm=%.8f\n", n, l->nnz, it_jac, it_ic,
	       worst < 1e-4, norm);
	csc_free(a), csc_free(c), csc_free(l), csc_free(ic);
	return 0;
}
