/* SPDX-License-Identifier: GPL-3.0-or-later */
/* gen SEED [MILLIONS]: print a random C program that runs about so many million instructions. */
#include "gen.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

uint64_t rng_u64(struct rng *r)
{
	/* splitmix64: neighbouring seeds give unrelated streams */
	uint64_t z = r->state += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

unsigned rng_below(struct rng *r, unsigned n)
{
	return (unsigned)((rng_u64(r) >> 32) * n >> 32);
}

unsigned rng_range(struct rng *r, unsigned lo, unsigned hi)
{
	return lo + rng_below(r, hi - lo + 1);
}

static double rng_real(struct rng *r)
{
	return (double)(rng_u64(r) >> 11) * 0x1p-53;
}

double rng_scale(struct rng *r, double lo, double hi)
{
	if (hi <= lo)
		return lo;
	return lo * pow(hi / lo, rng_real(r));
}

bool rng_chance(struct rng *r, double p)
{
	return rng_real(r) < p;
}

/* A name like "update_index": unique, because verb and noun walk through all pairs. */
static void name_func(struct program *prog, struct func *f)
{
	static const char *const verbs[] = { "scan",  "update", "fold",  "match", "merge", "probe", "pack",
		                             "score", "visit",  "route", "relax", "count", "weigh" };
	static const char *const nouns[] = { "row",  "index", "edge",  "state", "window", "bucket",
		                             "cell", "leaf",  "token", "frame", "slot" };
	unsigned k = (unsigned)(f - prog->funcs);

	snprintf(f->name, sizeof(f->name), "%s_%s", verbs[k % 13], nouns[k % 11]);
}

static void make_tables(struct program *prog)
{
	/* Lines of 64 bytes: 4 KB to 16 MB.  The large ones are rare: filling them is work too. */
	static const unsigned lines[] = { 64, 512, 512, 4096, 4096, 16384, 16384, 65536, 131072 };
	unsigned sum = 0;

	prog->n_tables = rng_range(&prog->rng, 2, MAX_TABLES);
	for (unsigned t = 0; t < prog->n_tables; t++) {
		unsigned n = lines[rng_below(&prog->rng, 9)];

		if (sum + n > 150000)
			n = 4096;
		sum += n;
		prog->table_lines[t] = n;
	}
}

static void write_recursion(struct body *b, struct func *self, double budget)
{
	struct cost one, sum = { 6, 6 };
	double p = 0.25 + 0.5 * rng_real(&b->prog->rng);

	body_line(b, "if (depth == 0)");
	body_line(b, "\treturn x ^ y;");
	one = body_block(b, budget);
	body_line(b, "y += %s(x * %u + 1, y, depth - 1);", self->name, rng_range(&b->prog->rng, 3, 99) | 1);
	body_line(b, "if ((x >> 40 & 255) < %u)", (unsigned)(256 * p));
	body_line(b, "\tz ^= %s(x ^ %u, z, depth - 1);", self->name, rng_range(&b->prog->rng, 1, 9999));
	self->cost = sum;
	for (int depth = 1; depth <= 5; depth++) {
		self->cost.own = one.own + 16 + (1 + p) * self->cost.own;
		self->cost.all = one.all + 16 + (1 + p) * self->cost.all;
	}
	/* Each activation adds its own share to the work done. */
	self->cost.own = one.own + 16;
}

static void write_straight(struct body *b, struct func *self, double budget)
{
	self->cost = body_block(b, budget);
	self->cost.own += self->kind == FUNC_INLINE ? 3 : 14;
	self->cost.all += self->kind == FUNC_INLINE ? 3 : 14;
}

static void make_func(struct program *prog, enum func_kind kind, double budget)
{
	struct func *self = &prog->funcs[prog->n_funcs];
	struct body b = { .prog = prog, .self = self, .indent = 1 };
	char *text;
	size_t size;
	FILE *out;

	self->kind = kind;
	name_func(prog, self);
	b.traits = body_traits(prog);
	b.f = open_memstream(&text, &size);
	if (!b.f)
		exit(1);
	body_begin(&b);
	if (kind == FUNC_RECURSIVE)
		write_recursion(&b, self, budget);
	else
		write_straight(&b, self, budget);
	body_end(&b);
	fclose(b.f);

	out = open_memstream(&self->text, &size);
	if (!out)
		exit(1);
	fprintf(out, "static %s uint64_t %s(uint64_t x, uint64_t y%s)\n{\n",
	        kind == FUNC_INLINE ? "INLINE" : "NOINLINE", self->name,
	        kind == FUNC_RECURSIVE ? ", unsigned depth" : "");
	if (kind != FUNC_INLINE)
		fprintf(out, "\twork += %.0f;\n", self->cost.own);
	fprintf(out, "%s}\n\n", text);
	fclose(out);
	free(text);
	prog->n_funcs++;
}

/* Small ones first: a function calls only those before it. */
static void make_funcs(struct program *prog)
{
	struct rng *r = &prog->rng;
	unsigned n_inline = rng_range(r, 2, 8), n_leaf = rng_range(r, 1, 5), n_mid = rng_below(r, 5);

	for (unsigned k = 0; k < n_inline; k++)
		make_func(prog, FUNC_INLINE, rng_scale(r, 4, 60));
	for (unsigned k = 0; k < n_leaf; k++)
		make_func(prog, FUNC_REAL, rng_scale(r, 8, 300));
	if (rng_chance(r, 0.25))
		make_func(prog, FUNC_RECURSIVE, rng_scale(r, 8, 60));
	for (unsigned k = 0; k < n_mid; k++) {
		bool small = rng_chance(r, 0.4);

		make_func(prog, small ? FUNC_INLINE : FUNC_REAL, rng_scale(r, 20, small ? 200 : 2500));
	}
}

static void mark_used(struct program *prog)
{
	/* Callers come after callees, so one pass from the end reaches everything. */
	for (unsigned k = prog->n_funcs; k-- > 0;)
		for (unsigned c = 0; c < k && prog->funcs[k].used; c++)
			prog->funcs[c].used |= prog->funcs[k].calls[c];
}

/* A phase repeats one body until the work it was given is done: one region of the program. */
static void write_phase(struct program *prog, FILE *f, unsigned k, double budget)
{
	struct body b = { .prog = prog, .f = f, .indent = 1, .traits = body_traits(prog) };
	struct cost cost;
	char *text;
	size_t size;

	fprintf(f, "static NOINLINE uint64_t phase%u(uint64_t x, uint64_t limit)\n{\n", k);
	body_line(&b, "uint64_t y = x >> 7;");
	body_begin(&b);
	b.f = open_memstream(&text, &size);
	if (!b.f)
		exit(1);
	b.indent = 2;
	b.loop_depth = 1;
	body_stir(&b);
	cost = body_block(&b, budget);
	fclose(b.f);
	fprintf(f, "\tfor (unsigned i0 = 0; work < limit; i0++) {\n\t\twork += %.0f;\n%s\t}\n", cost.own + 10,
	        text);
	free(text);
	b.f = f;
	b.indent = 1;
	body_end(&b);
	fputs("}\n\n", f);
}

static void write_prologue(const struct program *prog, uint64_t seed, FILE *f)
{
	fprintf(f,
	        "/* Random program %" PRIu64 ". */\n"
	        "#include <inttypes.h>\n#include <stdint.h>\n#include <stdio.h>\n\n"
	        "#define INLINE   inline __attribute__((always_inline))\n"
	        "#define NOINLINE __attribute__((noinline))\n\n"
	        "struct line {\n\tuint32_t a, b;\n\tuint64_t c;\n\tdouble d;\n\tstruct line *next;\n"
	        "\tuint64_t pad[4];\n};\n\nstatic uint64_t work;\n",
	        seed);
	for (unsigned t = 0; t < prog->n_tables; t++)
		fprintf(f, "static struct line table%u[%u];\n", t, prog->table_lines[t]);
	/* The chain through a table is one cycle over all its lines, in random order. */
	fputs("\nstatic NOINLINE void fill(struct line *t, uint32_t n, uint64_t x)\n{\n"
	      "\tfor (uint32_t i = 0; i < n; i++) {\n"
	      "\t\tx = x * 6364136223846793005u + 1442695040888963407u;\n"
	      "\t\tt[i].a = (uint32_t)(x >> 32);\n\t\tt[i].b = (uint32_t)(x >> 20);\n\t\tt[i].c = x;\n"
	      "\t\tt[i].d = (double)(x >> 56);\n\t\tt[i].next = &t[i];\n\t}\n"
	      "\tfor (uint32_t i = n - 1; i > 0; i--) {\n"
	      "\t\tuint32_t j = (uint32_t)(((uint64_t)t[i].a * i) >> 32);\n"
	      "\t\tstruct line *next = t[i].next;\n\n\t\tt[i].next = t[j].next;\n\t\tt[j].next = "
	      "next;\n\t}\n}\n\n",
	      f);
}

static void write_main(struct program *prog, unsigned n_phases, double millions, FILE *f)
{
	struct rng *r = &prog->rng;
	unsigned rounds = rng_chance(r, 0.7) ? 1 : rng_range(r, 2, 12);
	double share[4], sum = 0;

	for (unsigned k = 0; k < n_phases; k++)
		sum += share[k] = rng_scale(r, 0.2, 1);
	fputs("int main(void)\n{\n\tuint64_t x = 1;\n\n", f);
	for (unsigned t = 0; t < prog->n_tables; t++)
		fprintf(f, "\tfill(table%u, %u, %u);\n", t, prog->table_lines[t], t + 1);
	fprintf(f, "\tfor (int round = 0; round < %u; round++) {\n", rounds);
	for (unsigned k = 0; k < n_phases; k++)
		fprintf(f, "\t\tx ^= phase%u(x, work + %.0f);\n", k,
		        millions * 1e6 / rounds * share[k] / sum);
	fputs("\t}\n\tprintf(\"%016\" PRIx64 \"\\n\", x);\n\treturn 0;\n}\n", f);
}

int main(int argc, char **argv)
{
	static struct program prog;
	uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
	double millions = argc > 2 ? strtod(argv[2], NULL) : 200;
	unsigned n_phases;
	char *phases;
	size_t size;
	FILE *f;

	if (argc < 2 || argc > 3 || millions < 1) {
		fputs("Usage: gen SEED [MILLIONS_OF_INSTRUCTIONS]\n", stderr);
		return 2;
	}
	prog.rng.state = seed * 0x2545f4914f6cdd1du;
	make_tables(&prog);
	make_funcs(&prog);
	n_phases = rng_range(&prog.rng, 1, 4);
	f = open_memstream(&phases, &size);
	if (!f)
		return 1;
	for (unsigned k = 0; k < n_phases; k++)
		write_phase(&prog, f, k, rng_scale(&prog.rng, 25, 6000));
	fclose(f);
	mark_used(&prog);
	write_prologue(&prog, seed, stdout);
	for (unsigned k = 0; k < prog.n_funcs; k++) {
		if (prog.funcs[k].used)
			fputs(prog.funcs[k].text, stdout);
		free(prog.funcs[k].text);
	}
	fputs(phases, stdout);
	free(phases);
	write_main(&prog, n_phases, millions, stdout);
	return ferror(stdout) ? 1 : 0;
}
