/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A collection of recursive programs: Ackermann, Hanoi, Hofstadter F/M, Takeuchi, and a calculator. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned ack(unsigned m, unsigned n)
{
	if (m == 0)
		return n + 1;
	if (n == 0)
		return ack(m - 1, 1);
	return ack(m - 1, ack(m, n - 1));
}

static int tak(int x, int y, int z)
{
	return y >= x ? z : tak(tak(x - 1, y, z), tak(y - 1, z, x), tak(z - 1, x, y));
}

/* Hanoi with explicit pegs */
struct peg {
	int disk[32];
	int top;
};
static struct peg pegs[3];
static unsigned long hanoi_sig;

void move_disk(int from, int to)
{
	struct peg *f = &pegs[from], *t = &pegs[to];
	int d = f->disk[--f->top];
	if (t->top && t->disk[t->top - 1] < d)
		abort();
	t->disk[t->top++] = d;
	hanoi_sig = hanoi_sig * 5 + d * (to + 1);
}

void hanoi(int n, int from, int to, int via)
{
	if (n == 0)
		return;
	hanoi(n - 1, from, via, to);
	move_disk(from, to);
	hanoi(n - 1, via, to, from);
}

/* Hofstadter female/male sequences */
static int hof_m(int n);

__attribute__((noinline)) static int hof_f(int n)
{
	return n == 0 ? 1 : n - hof_m(hof_f(n - 1));
}

__attribute__((noinline)) static int hof_m(int n)
{
	return n == 0 ? 0 : n - hof_f(hof_m(n - 1));
}

/* parity automaton by mutual recursion over a string */
int st_odd(const char *s, int depth);
int st_bracket(const char *s, int depth);

int st_even(const char *s, int depth)
{
	if (!*s)
		return depth * 2;
	if (*s == '(')
		return 1 + st_bracket(s + 1, depth + 1);
	return isdigit((unsigned char)*s) ? st_odd(s + 1, depth) + 1 : st_even(s + 1, depth);
}

int st_odd(const char *s, int depth)
{
	if (!*s)
		return depth * 2 + 1;
	if (*s == '(')
		return st_bracket(s + 1, depth + 1);
	return isdigit((unsigned char)*s) ? st_even(s + 1, depth) : 2 + st_odd(s + 1, depth);
}

int st_bracket(const char *s, int depth)
{
	if (*s == ')')
		return st_even(s + 1, depth - 1) ^ 1;
	return st_odd(s, depth);
}

/* ---- calculator ---- */

typedef struct {
	const char *p;
	int err;
	long vars[26];
} Parser;

static long parse_expr(Parser *ps);

void skip_ws(Parser *ps)
{
	while (*ps->p == ' ')
		ps->p++;
}

static int accept(Parser *ps, char c)
{
	skip_ws(ps);
	if (*ps->p != c)
		return 0;
	ps->p++;
	return 1;
}

long parse_number(Parser *ps)
{
	long v = 0;
	while (*ps->p >= '0' && *ps->p <= '9')
		v = v * 10 + (*ps->p++ - '0');
	return v;
}

long parse_primary(Parser *ps)
{
	skip_ws(ps);
	char c = *ps->p;
	if (c == '(') {
		ps->p++;
		long v = parse_expr(ps);
		if (!accept(ps, ')'))
			ps->err++;
		return v;
	}
	if (c == '-') {
		ps->p++;
		return -parse_primary(ps);
	}
	if (isdigit((unsigned char)c))
		return parse_number(ps);
	if (c >= 'a' && c <= 'z') {
		ps->p++;
		return ps->vars[c - 'a'];
	}
	ps->err++;
	return 0;
}

static long ipow(long b, long e)
{
	long r = 1;
	for (e &= 7; e > 0; e >>= 1) {
		if (e & 1)
			r = r * b % 1000007;
		b = b * b % 1000007;
	}
	return r;
}

static long parse_power(Parser *ps)
{
	long b = parse_primary(ps);
	if (accept(ps, '^'))
		return ipow(b % 1000007, parse_power(ps));
	return b;
}

long parse_term(Parser *ps)
{
	long v = parse_power(ps);
	for (;;) {
		if (accept(ps, '*'))
			v = v * parse_power(ps) % 1000007;
		else if (accept(ps, '/')) {
			long d = parse_power(ps);
			v = d ? v / d : 0;
		} else if (accept(ps, '%')) {
			long d = parse_power(ps);
			v = d ? v % d : 0;
		} else
			return v;
	}
}

static long parse_expr(Parser *ps)
{
	long v = parse_term(ps);
	for (;;) {
		if (accept(ps, '+'))
			v += parse_term(ps);
		else if (accept(ps, '-'))
			v -= parse_term(ps);
		else
			return v % 1000007;
	}
}

static unsigned gseed = 99;
static unsigned rnd(unsigned n)
{
	gseed = gseed * 1664525u + 1013904223u;
	return (gseed >> 10) % n;
}

static char *gen_expr(char *d, int depth)
{
	if (depth == 0) {
		if (rnd(3))
			return d + sprintf(d, "%u", rnd(1000));
		*d++ = 'a' + rnd(26);
		return d;
	}
	if (rnd(3) == 0)
		*d++ = ' ';
	if (rnd(4) == 0) {
		*d++ = '(';
		d = gen_expr(d, depth - 1);
		*d++ = ')';
		return d;
	}
	if (rnd(9) == 0)
		*d++ = '-';
	d = gen_expr(d, depth - 1);
	*d++ = "+-*/%^+*"[rnd(8)];
	return gen_expr(d, depth - 1);
}

int main(void)
{
	static char buf[1 << 16];
	unsigned long sum = 0;

	sum += ack(2, 700) + ack(3, 8);
	sum = sum * 31 + tak(18, 12, 6) + tak(20, 12, 5);

	for (int r = 0; r < 3; r++) {
		for (int i = 0; i < 17; i++)
			pegs[0].disk[i] = 17 - i;
		pegs[0].top = 17;
		pegs[1].top = pegs[2].top = 0;
		hanoi(17, 0, 2, 1);
		sum += hanoi_sig;
	}
	for (int i = 0; i < 64; i++)
		sum = sum * 3 + hof_f(i) + hof_m(i + 3);

	Parser ps;
	int errs = 0;
	for (int i = 0; i < 26; i++)
		ps.vars[i] = i * i - 40;
	for (int e = 0; e < 50; e++) {
		char *end = gen_expr(buf, 9);
		*end = 0;
		sum += st_even(buf, 0);
		for (int r = 0; r < 22; r++) {
			ps.p = buf;
			ps.err = 0;
			ps.vars[r] = e + r;
			sum = sum * 7 + parse_expr(&ps);
			errs += ps.err + (*ps.p != 0);
		}
	}
	printf("checksum %lu errors %d\n", sum, errs);
	return 0;
}
