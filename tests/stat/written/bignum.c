/* SPDX-License-Identifier: GPL-3.0-or-later */
/* bignum.c - natural numbers in base 2^32, little-endian limbs */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint32_t limb;
typedef uint64_t dlimb;

typedef struct {
	limb *d;
	int n, cap;
} big;

static void big_reserve(big *b, int n)
{
	if (b->cap < n) {
		b->d = realloc(b->d, n * sizeof(limb));
		b->cap = n;
	}
}
static void big_init(big *b)
{
	b->d = NULL;
	b->n = b->cap = 0;
}
static void big_free(big *b)
{
	free(b->d);
	big_init(b);
}
static void big_trim(big *b)
{
	while (b->n > 0 && b->d[b->n - 1] == 0)
		b->n--;
}
static void big_set(big *b, dlimb v)
{
	big_reserve(b, 2);
	b->d[0] = (limb)v;
	b->d[1] = (limb)(v >> 32);
	b->n = 2;
	big_trim(b);
}
static void big_copy(big *r, const big *a)
{
	big_reserve(r, a->n);
	memcpy(r->d, a->d, a->n * sizeof(limb));
	r->n = a->n;
}

/* ---- raw limb vector helpers ---- */

limb add_n(limb *r, const limb *a, const limb *b, int n)
{
	dlimb c = 0;
	for (int i = 0; i < n; i++) {
		c += (dlimb)a[i] + b[i];
		r[i] = (limb)c;
		c >>= 32;
	}
	return (limb)c;
}

limb sub_n(limb *r, const limb *a, const limb *b, int n)
{
	limb borrow = 0;
	for (int i = 0; i < n; i++) {
		dlimb t = (dlimb)a[i] - b[i] - borrow;
		r[i] = (limb)t;
		borrow = (t >> 32) & 1;
	}
	return borrow;
}

static void add_1(limb *r, limb c)
{
	while (c) {
		dlimb t = (dlimb)*r + c;
		*r++ = (limb)t;
		c = t >> 32;
	}
}

__attribute__((noinline)) limb addmul_1(limb *r, const limb *a, int n, limb m)
{
	dlimb c = 0;
	for (int i = 0; i < n; i++) {
		c += (dlimb)a[i] * m + r[i];
		r[i] = (limb)c;
		c >>= 32;
	}
	return (limb)c;
}

__attribute__((noinline)) limb submul_1(limb *r, const limb *a, int n, limb m)
{
	dlimb c = 0;
	for (int i = 0; i < n; i++) {
		c += (dlimb)a[i] * m;
		limb lo = (limb)c;
		c >>= 32;
		c += r[i] < lo;
		r[i] -= lo;
	}
	return (limb)c;
}

static void mul_school(limb *r, const limb *a, int an, const limb *b, int bn)
{
	memset(r, 0, (an + bn) * sizeof(limb));
	for (int j = 0; j < bn; j++)
		r[an + j] = addmul_1(r + j, a, an, b[j]);
}

#define KARA_MIN 24

/* r[2n] = a[n]*b[n]; scratch needs about 4n + some */
static void mul_kara(limb *r, const limb *a, const limb *b, int n, limb *t)
{
	if (n < KARA_MIN || (n & 1)) {
		mul_school(r, a, n, b, n);
		return;
	}
	int h = n / 2;
	limb *sa = t, *sb = t + h, *m = t + 2 * h, *rest = m + n + 2;
	mul_kara(r, a, b, h, t);
	mul_kara(r + n, a + h, b + h, h, t);
	limb ca = add_n(sa, a, a + h, h), cb = add_n(sb, b, b + h, h);
	mul_kara(m, sa, sb, h, rest);
	m[n] = 0;
	if (ca)
		m[n] += add_n(m + h, m + h, sb, h);
	if (cb)
		m[n] += add_n(m + h, m + h, sa, h);
	if (ca && cb)
		m[n]++;
	m[n] -= sub_n(m, m, r, n);
	m[n] -= sub_n(m, m, r + n, n);
	limb c = add_n(r + h, r + h, m, n);
	add_1(r + h + n, c);
	if (m[n])
		add_1(r + h + n, m[n]);
}

static void big_mul(big *r, const big *a, const big *b)
{
	if (a->n < b->n) {
		const big *s = a;
		a = b;
		b = s;
	}
	if (b->n == 0) {
		r->n = 0;
		return;
	}
	big p;
	big_init(&p);
	if (b->n < KARA_MIN) {
		big_reserve(&p, a->n + b->n);
		mul_school(p.d, a->d, a->n, b->d, b->n);
		p.n = a->n + b->n;
	} else {
		/* pad both up to a multiple of 16 limbs */
		int n = (a->n + 15) & ~15;
		limb *x = calloc(2 * n, sizeof(limb)), *y = x + n, *t = malloc((6 * n + 64) * sizeof(limb));
		memcpy(x, a->d, a->n * sizeof(limb));
		memcpy(y, b->d, b->n * sizeof(limb));
		big_reserve(&p, 2 * n);
		mul_kara(p.d, x, y, n, t);
		p.n = 2 * n;
		free(x);
		free(t);
	}
	big_trim(&p);
	big_free(r);
	*r = p;
}

static void big_mul_small(big *b, limb m)
{
	dlimb c = 0;
	for (int i = 0; i < b->n; i++) {
		c += (dlimb)b->d[i] * m;
		b->d[i] = (limb)c;
		c >>= 32;
	}
	if (c) {
		big_reserve(b, b->n + 8);
		b->d[b->n++] = (limb)c;
	}
}

limb big_div_small(big *b, limb m)
{
	dlimb r = 0;
	for (int i = b->n - 1; i >= 0; i--) {
		r = r << 32 | b->d[i];
		b->d[i] = (limb)(r / m);
		r %= m;
	}
	big_trim(b);
	return (limb)r;
}

static void big_add(big *r, const big *a, const big *b)
{
	if (a->n < b->n) {
		const big *s = a;
		a = b;
		b = s;
	}
	int an = a->n, bn = b->n;
	big_reserve(r, an + 1);
	const limb *ad = a->d, *bd = b->d;
	limb c = add_n(r->d, ad, bd, bn);
	for (int i = bn; i < an; i++) {
		dlimb t = (dlimb)ad[i] + c;
		r->d[i] = (limb)t;
		c = t >> 32;
	}
	r->d[an] = c;
	r->n = an + 1;
	big_trim(r);
}

static int big_cmp(const big *a, const big *b)
{
	if (a->n != b->n)
		return a->n < b->n ? -1 : 1;
	for (int i = a->n - 1; i >= 0; i--)
		if (a->d[i] != b->d[i])
			return a->d[i] < b->d[i] ? -1 : 1;
	return 0;
}

static void shl_bits(limb *r, const limb *a, int n, int s)
{
	limb c = 0;
	for (int i = 0; i < n; i++) {
		dlimb t = (dlimb)a[i] << s | c;
		r[i] = (limb)t;
		c = t >> 32;
	}
	r[n] = c;
}

/* Knuth algorithm D */
void big_divmod(big *q, big *rem, const big *a, const big *b)
{
	if (big_cmp(a, b) < 0) {
		q->n = 0;
		big_copy(rem, a);
		return;
	}
	int s = __builtin_clz(b->d[b->n - 1]), n = b->n, m = a->n - n;
	limb *u = malloc((a->n + 1) * sizeof(limb)), *v = malloc((n + 1) * sizeof(limb));
	shl_bits(u, a->d, a->n, s);
	shl_bits(v, b->d, n, s);
	big_reserve(q, m + 1);
	for (int j = m; j >= 0; j--) {
		dlimb num = (dlimb)u[j + n] << 32 | u[j + n - 1];
		dlimb qh = num / v[n - 1], rh = num % v[n - 1];
		while (qh >> 32 || (n > 1 && qh * v[n - 2] > (rh << 32 | u[j + n - 2]))) {
			qh--;
			rh += v[n - 1];
			if (rh >> 32)
				break;
		}
		limb c = submul_1(u + j, v, n, (limb)qh);
		limb top = u[j + n];
		u[j + n] = top - c;
		if (top < c) {
			qh--;
			u[j + n] += add_n(u + j, u + j, v, n);
		}
		q->d[j] = (limb)qh;
	}
	q->n = m + 1;
	big_trim(q);
	big_reserve(rem, n);
	for (int i = 0; i < n; i++)
		rem->d[i] = s ? u[i] >> s | (limb)((dlimb)u[i + 1] << (32 - s)) : u[i];
	rem->n = n;
	big_trim(rem);
	free(u);
	free(v);
}

static char *to_decimal(const big *a)
{
	big t;
	big_init(&t);
	big_copy(&t, a);
	int cap = a->n * 10 + 20, pos = cap;
	char *s = malloc(cap + 1);
	s[pos] = 0;
	while (t.n) {
		limb r = big_div_small(&t, 1000000000u);
		for (int i = 0; i < 9 && (t.n || r); i++, r /= 10)
			s[--pos] = '0' + r % 10;
	}
	if (pos == cap)
		s[--pos] = '0';
	memmove(s, s + pos, cap - pos + 1);
	big_free(&t);
	return s;
}

void factorial_range(big *r, unsigned lo, unsigned hi)
{
	if (hi - lo < 8) {
		big_set(r, lo);
		for (unsigned i = lo + 1; i <= hi; i++)
			big_mul_small(r, i);
		return;
	}
	big a, b;
	big_init(&a);
	big_init(&b);
	unsigned mid = lo + (hi - lo) / 2;
	factorial_range(&a, lo, mid);
	factorial_range(&b, mid + 1, hi);
	big_mul(r, &a, &b);
	big_free(&a);
	big_free(&b);
}

void fib_add(big *r, int n)
{
	big a, b, t;
	big_init(&a);
	big_init(&b);
	big_init(&t);
	big_set(&a, 0);
	big_set(&b, 1);
	while (n-- > 0) {
		big_add(&t, &a, &b);
		big s = a;
		a = b;
		b = t;
		t = s;
	}
	big_copy(r, &a);
	big_free(&a);
	big_free(&b);
	big_free(&t);
}

/* F(2k) = F(k)*(2F(k+1)-F(k)), F(2k+1) = F(k)^2+F(k+1)^2 */
static void fib_double(big *f, big *g, unsigned n)
{
	if (n == 0) {
		big_set(f, 0);
		big_set(g, 1);
		return;
	}
	big a, b, t, c, d;
	big_init(&a);
	big_init(&b);
	big_init(&t);
	big_init(&c);
	big_init(&d);
	fib_double(&a, &b, n / 2);
	big_add(&t, &b, &b);
	limb *z = calloc(t.n + 1, sizeof(limb));
	memcpy(z, a.d, a.n * sizeof(limb));
	sub_n(t.d, t.d, z, t.n);
	free(z);
	big_trim(&t);
	big_mul(&c, &a, &t);
	big_mul(&a, &a, &a);
	big_mul(&b, &b, &b);
	big_add(&d, &a, &b);
	if (n & 1) {
		big_copy(f, &d);
		big_add(g, &c, &d);
	} else {
		big_copy(f, &c);
		big_copy(g, &d);
	}
	big_free(&a);
	big_free(&b);
	big_free(&t);
	big_free(&c);
	big_free(&d);
}

static unsigned digest(unsigned h, const char *s)
{
	while (*s)
		h = h * 31 + (unsigned char)*s++;
	return h;
}

int main(void)
{
	big f, g, x, y, q, r;
	unsigned h = 0;
	big_init(&f);
	big_init(&g);
	big_init(&x);
	big_init(&y);
	big_init(&q);
	big_init(&r);

	big_set(&f, 1);
	for (unsigned i = 2; i <= 1800; i++)
		big_mul_small(&f, i);
	factorial_range(&g, 1, 1800);
	if (big_cmp(&f, &g)) {
		puts("factorial mismatch");
		return 1;
	}
	char *s = to_decimal(&f);
	h = digest(h, s);
	free(s);

	fib_add(&x, 20000);
	fib_double(&y, &g, 20000);
	if (big_cmp(&x, &y)) {
		puts("fib mismatch");
		return 1;
	}
	s = to_decimal(&x);
	h = digest(h, s);
	free(s);

	factorial_range(&f, 1, 5000);
	fib_double(&x, &g, 30000);
	for (int i = 0; i < 3; i++) {
		big_mul(&y, &f, &x);
		big_mul_small(&y, 12345 + i);
		big_add(&y, &y, &g);
		big_divmod(&q, &r, &y, &x);
		h = h * 131 + (q.n ? q.d[q.n / 2] : 0) + (r.n ? r.d[0] : 0);
		big_mul(&g, &q, &x);
		big_add(&g, &g, &r);
		if (big_cmp(&g, &y)) {
			puts("divmod mismatch");
			return 1;
		}
		big_copy(&g, &r);
		big_add(&x, &x, &q);
	}
	printf("checksum %08x limbs %d\n", h, y.n);
	big_free(&f);
	big_free(&g);
	big_free(&x);
	big_free(&y);
	big_free(&q);
	big_free(&r);
	return 0;
}
