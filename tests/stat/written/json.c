/* SPDX-License-Identifier: GPL-3.0-or-later */
/* JSON: generate a random document, serialise, parse it back, query, compare. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef ROUNDS
#define ROUNDS 60
#endif

typedef enum { J_NULL, J_BOOL, J_NUM, J_STR, J_ARR, J_OBJ } jtype;

typedef struct jval {
	jtype type;
	union {
		int b;
		double num;
		char *str;
		struct {
			struct jval **items;
			char **keys;
			size_t len, cap;
		} c;
	} u;
} jval;

/* ---- growable buffer ---- */
typedef struct {
	char *p;
	size_t len, cap;
} sbuf;

static void sb_grow(sbuf *b, size_t need)
{
	while (b->cap < b->len + need)
		b->cap = b->cap ? b->cap * 2 : 256;
	b->p = realloc(b->p, b->cap);
	if (!b->p)
		abort();
}

static void sb_putc(sbuf *b, char c)
{
	if (b->len + 1 >= b->cap)
		sb_grow(b, 2);
	b->p[b->len++] = c;
}

static void sb_puts(sbuf *b, const char *s)
{
	size_t n = strlen(s);
	if (b->len + n + 1 >= b->cap)
		sb_grow(b, n + 2);
	while (n--)
		b->p[b->len++] = *s++;
}

/* ---- arena: everything belonging to one document is dropped at once ---- */
#define ARENA_SIZE (4u << 20)
static char *arena;
static size_t arena_used;

static void *aalloc(size_t n)
{
	void *p = arena + arena_used;
	arena_used += (n + 15) & ~(size_t)15;
	if (arena_used > ARENA_SIZE) {
		fputs("arena full\n", stderr);
		abort();
	}
	return p;
}

static char *asave(const char *s, size_t n)
{
	char *p = aalloc(n + 1);
	for (size_t i = 0; i < n; i++)
		p[i] = s[i];
	p[n] = 0;
	return p;
}

/* ---- constructors ---- */
static jval *jnew(jtype t)
{
	jval *v = aalloc(sizeof *v);
	*v = (jval){ .type = t };
	return v;
}

static void jpush(jval *c, char *key, jval *item)
{
	if (c->u.c.len == c->u.c.cap) {
		c->u.c.cap = c->u.c.cap ? c->u.c.cap * 2 : 4;
		jval **items = aalloc(c->u.c.cap * sizeof *items);
		char **keys = c->type == J_OBJ ? aalloc(c->u.c.cap * sizeof *keys) : NULL;
		for (size_t i = 0; i < c->u.c.len; i++) {
			items[i] = c->u.c.items[i];
			if (keys)
				keys[i] = c->u.c.keys[i];
		}
		c->u.c.items = items;
		c->u.c.keys = keys;
	}
	if (c->type == J_OBJ)
		c->u.c.keys[c->u.c.len] = key;
	c->u.c.items[c->u.c.len++] = item;
}

/* ---- random documents ---- */
static unsigned rs = 7;
static unsigned rnd(unsigned n)
{
	rs = rs * 1103515245u + 12345u;
	return (rs >> 16) % n;
}

static char *rand_string(void)
{
	unsigned n = 2 + rnd(14);
	char *s = aalloc(n + 1);
	for (unsigned i = 0; i < n; i++)
		s[i] = rnd(20) ? (char)('a' + rnd(26)) : "\"\\\n\t /"[rnd(6)];
	s[n] = 0;
	return s;
}

static jval *generate(int depth)
{
	jval *v;
	unsigned kind = depth > 0 ? rnd(10) : rnd(5);
	if (depth == 7)
		kind = 9;
	switch (kind) {
	case 0:
		return jnew(J_NULL);
	case 1:
		v = jnew(J_BOOL);
		v->u.b = (int)rnd(2);
		return v;
	case 2:
		v = jnew(J_NUM);
		v->u.num = (double)rnd(30000) - 10000;
		return v;
	case 3:
		v = jnew(J_NUM);
		v->u.num = ((double)rnd(30000) - 15000) / 128.0;
		return v;
	case 4:
	case 5:
		v = jnew(J_STR);
		v->u.str = rand_string();
		return v;
	case 6:
	case 7:
		v = jnew(J_ARR);
		for (unsigned i = 1 + rnd(6); i > 0; i--)
			jpush(v, NULL, generate(depth - 1));
		return v;
	default:
		v = jnew(J_OBJ);
		for (unsigned i = (depth == 7 ? 14 : 2) + rnd(6); i > 0; i--) {
			char *k = rand_string();
			jpush(v, k, generate(depth - 1));
		}
		return v;
	}
}

/* ---- writer ---- */
static void write_string(sbuf *b, const char *s)
{
	sb_putc(b, '"');
	for (; *s; s++) {
		switch (*s) {
		case '"':
			sb_puts(b, "\\\"");
			break;
		case '\\':
			sb_puts(b, "\\\\");
			break;
		case '\n':
			sb_puts(b, "\\n");
			break;
		case '\t':
			sb_puts(b, "\\u0009");
			break;
		default:
			sb_putc(b, *s);
		}
	}
	sb_putc(b, '"');
}

static void write_number(sbuf *b, double d)
{
	char tmp[40], *p = tmp + sizeof tmp;
	double scaled = fabs(d) * 1e7;
	if (d != floor(d) && scaled < 1e15 && scaled == floor(scaled)) { /* short decimal fraction */
		long n = (long)scaled;
		int digits = 7;
		while (n % 10 == 0) {
			n /= 10;
			digits--;
		}
		*--p = 0;
		for (; digits >= 0 || n; n /= 10) {
			*--p = (char)('0' + n % 10);
			if (--digits == 0)
				*--p = '.';
		}
		if (d < 0)
			*--p = '-';
		sb_puts(b, p);
	} else if (d == floor(d) && fabs(d) < 1e9) {
		long n = (long)fabs(d);
		*--p = 0;
		do
			*--p = (char)('0' + n % 10);
		while (n /= 10);
		if (d < 0)
			*--p = '-';
		sb_puts(b, p);
	} else {
		snprintf(tmp, sizeof tmp, "%.9g", d);
		sb_puts(b, tmp);
	}
}

static void write_value(sbuf *b, const jval *v, int pretty, int level)
{
	size_t i;
	switch (v->type) {
	case J_NULL:
		sb_puts(b, "null");
		break;
	case J_BOOL:
		sb_puts(b, v->u.b ? "true" : "false");
		break;
	case J_NUM:
		write_number(b, v->u.num);
		break;
	case J_STR:
		write_string(b, v->u.str);
		break;
	case J_ARR:
	case J_OBJ:
		sb_putc(b, v->type == J_ARR ? '[' : '{');
		for (i = 0; i < v->u.c.len; i++) {
			if (i)
				sb_putc(b, ',');
			if (pretty) {
				sb_putc(b, '\n');
				for (int k = 0; k <= level; k++)
					sb_puts(b, "  ");
			}
			if (v->type == J_OBJ) {
				write_string(b, v->u.c.keys[i]);
				sb_puts(b, pretty ? ": " : ":");
			}
			write_value(b, v->u.c.items[i], pretty, level + 1);
		}
		sb_putc(b, v->type == J_ARR ? ']' : '}');
	}
}

/* ---- parser ---- */
typedef struct {
	const char *s, *end;
	int err;
} parser;

static jval *parse_value(parser *p);

static void skip_ws(parser *p)
{
	while (p->s < p->end && isspace((unsigned char)*p->s))
		p->s++;
}

static int accept(parser *p, char c)
{
	skip_ws(p);
	if (p->s < p->end && *p->s == c) {
		p->s++;
		return 1;
	}
	return 0;
}

static int literal(parser *p, const char *w)
{
	size_t n = strlen(w);
	if ((size_t)(p->end - p->s) < n || memcmp(p->s, w, n)) {
		p->err = 1;
		return 0;
	}
	p->s += n;
	return 1;
}

static int hexval(int c)
{
	return c <= '9' ? c - '0' : (c | 32) - 'a' + 10;
}

static char *parse_string(parser *p)
{
	static sbuf b;
	b.len = 0;
	if (!accept(p, '"')) {
		p->err = 1;
		return NULL;
	}
	while (p->s < p->end && *p->s != '"') {
		char c = *p->s++;
		if (c == '\\') {
			c = *p->s++;
			if (c == 'n')
				c = '\n';
			else if (c == 'u') {
				int u = 0;
				for (int i = 0; i < 4; i++)
					u = u * 16 + hexval(*p->s++);
				c = (char)u;
			}
		}
		sb_putc(&b, c);
	}
	p->s++;
	return asave(b.p ? b.p : "", b.len);
}

static double parse_number(parser *p)
{
	double v = 0, scale = 1;
	int neg = 0, ex = 0, eneg = 0;
	if (*p->s == '-') {
		neg = 1;
		p->s++;
	}
	if (!isdigit((unsigned char)*p->s))
		p->err = 1;
	while (isdigit((unsigned char)*p->s))
		v = v * 10 + (*p->s++ - '0');
	if (*p->s == '.')
		for (p->s++; isdigit((unsigned char)*p->s); p->s++) {
			v = v * 10 + (*p->s - '0');
			scale *= 10;
		}
	if (*p->s == 'e' || *p->s == 'E') {
		p->s++;
		if (*p->s == '-' || *p->s == '+')
			eneg = *p->s++ == '-';
		while (isdigit((unsigned char)*p->s))
			ex = ex * 10 + (*p->s++ - '0');
	}
	v /= scale;
	if (ex)
		v *= pow(10, eneg ? -ex : ex);
	return neg ? -v : v;
}

static jval *parse_container(parser *p, jtype t)
{
	jval *v = jnew(t);
	char close = t == J_ARR ? ']' : '}';
	p->s++;
	if (accept(p, close))
		return v;
	do {
		char *key = NULL;
		if (t == J_OBJ) {
			key = parse_string(p);
			if (!accept(p, ':'))
				p->err = 1;
		}
		jpush(v, key, parse_value(p));
	} while (!p->err && accept(p, ','));
	if (!accept(p, close))
		p->err = 1;
	return v;
}

static jval *parse_value(parser *p)
{
	jval *v;
	skip_ws(p);
	switch (p->s < p->end ? *p->s : 0) {
	case '{':
		return parse_container(p, J_OBJ);
	case '[':
		return parse_container(p, J_ARR);
	case '"':
		v = jnew(J_STR);
		v->u.str = parse_string(p);
		return v;
	case 't':
		v = jnew(J_BOOL);
		v->u.b = literal(p, "true");
		return v;
	case 'f':
		v = jnew(J_BOOL);
		literal(p, "false");
		return v;
	case 'n':
		literal(p, "null");
		return jnew(J_NULL);
	default:
		v = jnew(J_NUM);
		v->u.num = parse_number(p);
		return v;
	}
}

static int jequal(const jval *a, const jval *b)
{
	if (a->type != b->type)
		return 0;
	switch (a->type) {
	case J_NULL:
		return 1;
	case J_BOOL:
		return a->u.b == b->u.b;
	case J_NUM:
		return fabs(a->u.num - b->u.num) < 1e-5;
	case J_STR:
		return !strcmp(a->u.str, b->u.str);
	default:
		if (a->u.c.len != b->u.c.len)
			return 0;
		for (size_t i = 0; i < a->u.c.len; i++) {
			if (a->type == J_OBJ && strcmp(a->u.c.keys[i], b->u.c.keys[i]))
				return 0;
			if (!jequal(a->u.c.items[i], b->u.c.items[i]))
				return 0;
		}
		return 1;
	}
}

static unsigned adler(const char *s, size_t n)
{
	unsigned a = 1, b = 0;
	while (n--) {
		a = (a + (unsigned char)*s++) % 65521;
		b = (b + a) % 65521;
	}
	return b << 16 | a;
}

int main(void)
{
	unsigned sum = 0;
	arena = malloc(ARENA_SIZE);
	if (!arena)
		return 1;
	size_t bytes = 0;
	for (int r = 0; r < ROUNDS; r++) {
		arena_used = 0;
		jval *doc = generate(7);
		size_t mark = arena_used;
		for (int pretty = 0; pretty < 2; pretty++) {
			static sbuf b;
			b.len = 0;
			write_value(&b, doc, pretty, 0);
			parser p = { b.p, b.p + b.len, 0 };
			b.p[b.len] = 0;
			jval *back = parse_value(&p);
			if (p.err || !jequal(doc, back)) {
				puts("MISMATCH");
				return 1;
			}
			sum = sum * 31 + adler(b.p, b.len);
			bytes += b.len;
			arena_used = mark;
		}
	}
	printf("checksum %08x bytes %zu\n", sum, bytes);
	return 0;
}
