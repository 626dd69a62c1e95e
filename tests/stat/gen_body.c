/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "gen.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

struct cond {
	char text[96];
	double p; /* chance of being true, roughly */
	double insn;
};

static struct cost body_if(struct body *b, double budget);
static struct cost body_switch(struct body *b, double budget);
static struct cost body_loop(struct body *b, double budget);

void body_line(struct body *b, const char *fmt, ...)
{
	va_list ap;

	for (int i = 0; i < b->indent; i++)
		putc('\t', b->f);
	va_start(ap, fmt);
	vfprintf(b->f, fmt, ap);
	va_end(ap);
	putc('\n', b->f);
}

struct traits body_traits(struct program *prog)
{
	struct rng *r = &prog->rng;
	struct traits t = { .table = { rng_below(r, prog->n_tables), rng_below(r, prog->n_tables) } };

	t.loads = rng_chance(r, 0.7);
	t.stores = rng_chance(r, 0.5);
	t.chases = rng_chance(r, 0.2);
	t.divides = rng_chance(r, 0.2);
	t.floats = rng_chance(r, 0.4);
	t.switches = rng_chance(r, 0.3);
	return t;
}

void body_begin(struct body *b)
{
	body_line(b, "uint64_t z = x ^ y >> 3;");
	body_line(b, "unsigned h = 0, flag = 0;");
	if (b->traits.floats)
		body_line(b, "double f = (double)(x & 127), g = (double)(y & 63) + 0.5;");
	if (b->traits.chases)
		body_line(b, "struct line *p = &table%u[x & %u];", b->traits.table[0],
		          b->prog->table_lines[b->traits.table[0]] - 1);
	putc('\n', b->f);
}

void body_end(struct body *b)
{
	body_line(b, "return x + y + z + flag + h%s%s;", b->traits.floats ? " + (uint64_t)(f + g)" : "",
	          b->traits.chases ? " + p->a" : "");
}

static const char *one_var(struct body *b)
{
	static const char *const names[] = { "x", "y", "z" };

	return names[rng_below(&b->prog->rng, 3)];
}

/* An index into a table: anywhere, in a row, or with a stride. */
static void index_text(struct body *b, unsigned table, char *out, size_t size)
{
	struct rng *r = &b->prog->rng;
	unsigned mask = b->prog->table_lines[table] - 1;

	if (b->loop_depth > 0 && rng_chance(r, 0.4))
		snprintf(out, size, "(%s + i%u * %u) & %u", rng_chance(r, 0.5) ? "(y >> 5 & 3)" : "(x >> 60)",
		         b->var[b->loop_depth], rng_chance(r, 0.6) ? 1 : rng_range(r, 2, 37), mask);
	else
		snprintf(out, size, "%s >> %u & %u", rng_chance(r, 0.7) ? "x" : "z", rng_range(r, 8, 30),
		         mask);
}

double body_stir(struct body *b)
{
	struct rng *r = &b->prog->rng;

	switch (rng_below(r, 3)) {
	case 0:
		body_line(b, "x = x * 6364136223846793005u + 1442695040888963407u;");
		return 3;
	case 1:
		body_line(b, "x ^= x << 13;");
		body_line(b, "x ^= x >> 7;");
		body_line(b, "x ^= x << 17;");
		return 9;
	default:
		body_line(b, "x = (x ^ x >> 29) * 0x%" PRIx64 "u + y;", rng_u64(r) | 1);
		return 6;
	}
}

/* x keeps its randomness: only reversible steps write it. */
static double body_arith(struct body *b)
{
	struct rng *r = &b->prog->rng;

	switch (rng_below(r, 6)) {
	case 0:
		body_line(b, "y += x >> %u;", rng_range(r, 1, 40));
		return 3;
	case 1:
		body_line(b, "z = (z << %u) - z + (y & %u);", rng_range(r, 1, 9), rng_range(r, 1, 255));
		return 4;
	case 2:
		body_line(b, "x += (y ^ z) * %u;", rng_range(r, 3, 999) | 1);
		return 3;
	case 3:
		body_line(b, "y = (y ^ %s) & 0xffffffffff;", rng_chance(r, 0.5) ? "z" : "x");
		return 3;
	case 4:
		body_line(b, "z = x > z ? y + %u : z ^ x;", rng_below(r, 64));
		return 4;
	default:
		body_line(b, "x ^= z >> %u;", rng_range(r, 3, 31));
		return 3;
	}
}

/* f stays within 0..512: the weights of every step sum to less than one. */
static double body_float(struct body *b)
{
	struct rng *r = &b->prog->rng;

	switch (rng_below(r, 5)) {
	case 0:
		body_line(b, "f = f * 0.5 + g * 0.25 + (double)(y & 63);");
		return 6;
	case 1:
		body_line(b, "g = g * 0.875 + f * 0.0625 + 1.25;");
		return 4;
	case 2:
		body_line(b, "f = %u.0 / (g + 0.75);", rng_range(r, 1, 200));
		return 3;
	case 3:
		body_line(b, "g = f > %u.0 ? g * 0.5 : f * 0.5 + 3.0;", rng_range(r, 1, 100));
		return 5;
	default: {
		unsigned t = b->traits.table[rng_below(r, 2)];
		char at[96];

		index_text(b, t, at, sizeof(at));
		body_line(b, "g = g * 0.5 + table%u[%s].d;", t, at);
		return 7;
	}
	}
}

static double body_load(struct body *b)
{
	struct rng *r = &b->prog->rng;
	unsigned t = b->traits.table[rng_below(r, 2)];
	char at[96];

	index_text(b, t, at, sizeof(at));
	switch (rng_below(r, 3)) {
	case 0:
		body_line(b, "y += table%u[%s].a;", t, at);
		break;
	case 1:
		body_line(b, "z ^= table%u[%s].c;", t, at);
		break;
	default:
		body_line(b, "x += table%u[%s].b;", t, at);
		break;
	}
	return 6;
}

static double body_store(struct body *b)
{
	unsigned t = b->traits.table[rng_below(&b->prog->rng, 2)];
	char at[96];

	index_text(b, t, at, sizeof(at));
	/* Only the field that no condition reads: the data's distribution stays what it was. */
	if (rng_chance(&b->prog->rng, 0.6))
		body_line(b, "table%u[%s].c = %s;", t, at, one_var(b));
	else
		body_line(b, "table%u[%s].c += z & 255;", t, at);
	return 6;
}

static double body_chase(struct body *b)
{
	body_line(b, "p = p->next;");
	if (rng_chance(&b->prog->rng, 0.6))
		body_line(b, "%s += p->%s;", rng_chance(&b->prog->rng, 0.5) ? "y" : "x",
		          rng_chance(&b->prog->rng, 0.5) ? "a" : "c");
	return 2.5;
}

static double body_divide(struct body *b)
{
	struct rng *r = &b->prog->rng;

	if (rng_chance(r, 0.5))
		body_line(b, "z += x / (y %% %u + 3);", rng_range(r, 5, 500));
	else
		body_line(b, "y += (uint32_t)x %% ((uint32_t)(z & 1023) + 7);");
	return 7;
}

static struct cond cond_on_byte(struct body *b)
{
	struct rng *r = &b->prog->rng;
	unsigned limit = rng_chance(r, 0.3) ? rng_range(r, 2, 20) : rng_range(r, 20, 236);
	struct cond c = { .p = limit / 256.0, .insn = 2 };

	/* The same byte asked again: the outcomes of two branches go together. */
	if (!b->has_h || rng_chance(r, 0.65)) {
		body_line(b, "h = (unsigned)(x >> %u) & 255;", rng_range(r, 20, 50));
		c.insn += 3;
	}
	b->has_h = true;
	snprintf(c.text, sizeof(c.text), "h < %u", limit);
	return c;
}

static struct cond cond_periodic(struct body *b)
{
	struct rng *r = &b->prog->rng;
	unsigned every = rng_range(r, 2, 9);
	struct cond c = { .p = 1.0 / every, .insn = 6 };

	snprintf(c.text, sizeof(c.text), "i%u %% %u == %u", b->var[b->loop_depth], every,
	         rng_below(r, every));
	return c;
}

static struct cond cond_on_data(struct body *b)
{
	struct rng *r = &b->prog->rng;
	unsigned t = b->traits.table[rng_below(r, 2)], sixteenths = rng_range(r, 1, 15);
	struct cond c = { .p = sixteenths / 16.0, .insn = 6 };
	char at[60];

	index_text(b, t, at, sizeof(at));
	snprintf(c.text, sizeof(c.text), "table%u[%s].a < 0x%x0000000u", t, at, sixteenths);
	return c;
}

static struct cond cond_any(struct body *b)
{
	struct rng *r = &b->prog->rng;
	unsigned kind = rng_below(r, 10);
	struct cond c = { .text = "f > g", .p = 0.6, .insn = 3 };

	if (kind < 2 && b->loop_depth > 0)
		return cond_periodic(b);
	if (kind < 4 && b->traits.loads)
		return cond_on_data(b);
	if (kind == 4 && b->traits.floats)
		return c;
	if (kind == 5) {
		snprintf(c.text, sizeof(c.text), "flag");
		c.p = 0.5;
		return c;
	}
	c = cond_on_byte(b);
	if (kind == 6) {
		body_line(b, "flag = %s;", c.text);
		c.insn += 2;
	}
	return c;
}

static struct cost simple(double insn)
{
	return (struct cost){ insn, insn };
}

static void cost_add(struct cost *sum, struct cost c, double weight)
{
	sum->own += weight * c.own;
	sum->all += weight * c.all;
}

static struct cost body_if(struct body *b, double budget)
{
	struct cond c = cond_any(b);
	struct cost sum = simple(c.insn);
	bool has_else = rng_chance(&b->prog->rng, 0.45);
	double then_budget = budget * (has_else ? 0.5 : 0.8);

	body_line(b, "if (%s) {", c.text);
	b->indent++;
	cost_add(&sum, body_block(b, then_budget), c.p);
	b->indent--;
	if (has_else) {
		body_line(b, "} else {");
		b->indent++;
		cost_add(&sum, body_block(b, then_budget), 1 - c.p);
		b->indent--;
	}
	body_line(b, "}");
	return sum;
}

static struct cost body_switch(struct body *b, double budget)
{
	struct rng *r = &b->prog->rng;
	unsigned n = 1u << rng_range(r, 2, 3), labels = n - rng_below(r, 2);
	struct cost sum = simple(7);
	int open = b->loops_open;

	b->loops_open = 0; /* a `break` in here would be the switch's */
	if (rng_chance(r, 0.5))
		body_line(b, "switch (x >> %u & %u) {", rng_range(r, 20, 50), n - 1);
	else /* uneven: the smaller of two draws */
		body_line(b, "switch (x >> %u & x >> %u & %u) {", rng_range(r, 20, 35), rng_range(r, 36, 50),
		          n - 1);
	for (unsigned k = 0; k < labels; k++) {
		body_line(b, "case %u:", k);
		b->indent++;
		cost_add(&sum, body_block(b, budget / n), 1.0 / n);
		if (k + 1 == labels || rng_chance(r, 0.85))
			body_line(b, "break;");
		else
			body_line(b, "/* fall through */");
		b->indent--;
	}
	body_line(b, "default:");
	body_line(b, "\tz++;");
	body_line(b, "\tbreak;");
	body_line(b, "}");
	b->loops_open = open;
	return sum;
}

/* Writes the head of a loop; returns its trips, on average, when nothing leaves it early. */
static double loop_head(struct body *b, double most)
{
	struct rng *r = &b->prog->rng;
	unsigned var = ++b->n_vars, n = (unsigned)rng_scale(r, 2, most);

	b->var[++b->loop_depth] = var;
	if (rng_chance(r, 0.5)) {
		body_line(b, "for (unsigned i%u = 0; i%u < %u; i%u++) {", var, var, n, var);
		return n;
	}
	body_line(b, "for (unsigned i%u = 0, n%u = %u + (unsigned)(x >> 33) %% %u; i%u < n%u; i%u++) {", var,
	          var, (n + 1) / 2, n, var, var, var);
	return (n + 1) / 2 + (n - 1) / 2.0;
}

static struct cost body_loop(struct body *b, double budget)
{
	double exit_outer = b->exit_p, trips, per_trip = rng_scale(&b->prog->rng, 6, budget / 2);
	int open = b->loops_open;
	struct cost sum = simple(4), one = simple(2);

	trips = loop_head(b, budget / per_trip);
	b->exit_p = 0;
	b->loops_open = 1;
	b->indent++;
	cost_add(&one, simple(body_stir(b)), 1);
	cost_add(&one, body_block(b, per_trip), 1);
	b->indent--;
	body_line(b, "}");
	b->loop_depth--;
	b->loops_open = open;
	if (b->exit_p > 0)
		trips = (1 - pow(1 - b->exit_p, trips)) / b->exit_p;
	b->exit_p = exit_outer;
	cost_add(&sum, one, trips);
	return sum;
}

/* A callee that fits the budget, or NULL. */
static struct func *pick_callee(struct body *b, double budget)
{
	struct program *prog = b->prog;
	unsigned end = b->self ? (unsigned)(b->self - prog->funcs) : prog->n_funcs;

	for (int tries = 0; tries < 8 && end > 0; tries++) {
		struct func *f = &prog->funcs[rng_below(&prog->rng, end)];

		/* A phase would rather call what no phase has called yet. */
		if (!b->self && f->used && tries < 5)
			continue;
		if (f->cost.all <= budget &&
		    (f->kind == FUNC_INLINE || !b->self || b->self->kind != FUNC_INLINE))
			return f;
	}
	return NULL;
}

static struct cost body_call(struct body *b, struct func *f)
{
	struct rng *r = &b->prog->rng;

	if (b->self)
		b->self->calls[f - b->prog->funcs] = true;
	else
		f->used = true;
	body_line(b, "%s %s %s(x%s, %s%s);", rng_chance(r, 0.5) ? "y" : "z",
	          rng_chance(r, 0.5) ? "+=" : "^=", f->name, rng_chance(r, 0.3) ? " >> 1" : "",
	          rng_chance(r, 0.5) ? "y" : "z", f->kind == FUNC_RECURSIVE ? ", 5" : "");
	if (f->kind == FUNC_INLINE)
		return f->cost;
	return (struct cost){ 4, 4 + f->cost.all };
}

/* Leave an iteration early; what follows it in the block is then run less often. */
static double body_jump(struct body *b, struct cost *sum)
{
	struct cond c = cond_any(b);
	bool leave = rng_chance(&b->prog->rng, 0.4);

	cost_add(sum, simple(c.insn), 1);
	if (c.p > 0.6) /* the rare side jumps */
		body_line(b, "if (!(%s))", c.text);
	else
		body_line(b, "if (%s)", c.text);
	body_line(b, "\t%s;", leave ? "break" : "continue");
	if (c.p > 0.6)
		c.p = 1 - c.p;
	if (leave)
		b->exit_p = fmin(0.9, b->exit_p + c.p);
	return 1 - c.p;
}

static double body_plain(struct body *b)
{
	struct rng *r = &b->prog->rng;
	const struct traits *t = &b->traits;
	unsigned kind = rng_below(r, 12);

	if (kind < 3 && t->loads)
		return body_load(b);
	if (kind == 3 && t->stores)
		return body_store(b);
	if (kind == 4 && t->chases)
		return body_chase(b);
	if (kind == 5 && t->divides)
		return body_divide(b);
	if (kind < 9 && t->floats)
		return body_float(b);
	return body_arith(b);
}

struct cost body_block(struct body *b, double budget)
{
	struct rng *r = &b->prog->rng;
	struct cost sum = { 0 };
	double weight = 1;
	bool has_h = b->has_h;

	do {
		double left = budget - sum.all;
		struct func *callee = rng_chance(r, b->self ? 0.3 : 0.5) ? pick_callee(b, left) : NULL;

		if (callee)
			cost_add(&sum, body_call(b, callee), weight);
		else if (left > 60 && b->loop_depth < MAX_LOOP_DEPTH && rng_chance(r, 0.3))
			cost_add(&sum, body_loop(b, left * 0.8), weight);
		else if (left > 30 && b->traits.switches && rng_chance(r, 0.15))
			cost_add(&sum, body_switch(b, left * 0.8), weight);
		else if (left > 10 && rng_chance(r, 0.35))
			cost_add(&sum, body_if(b, left * 0.7), weight);
		else if (b->loops_open && b->loop_depth > 1 && sum.all > 0 && rng_chance(r, 0.05))
			weight *= body_jump(b, &sum);
		else
			cost_add(&sum, simple(body_plain(b)), weight);
	} while (sum.all < budget && rng_chance(r, 0.985));
	b->has_h = has_h;
	return sum;
}
