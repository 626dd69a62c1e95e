/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Simulated cores whose parameters are drawn at random and hidden; the fit sees
 * their cliffs alone, and starts from a core file as it is shipped.
 *
 *	blind CORE.core N [FIRST_SEED] [-v]
 *
 * Whole numbers must be found exactly, the others within 2%.  Exit status 1
 * when fewer than 95% of the whole numbers or of the others are.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gsl/gsl_randist.h>
#include <gsl/gsl_rng.h>

#include "profiler/base/err.h"
#include "profiler/calibrate/fit.h"
#include "profiler/calibrate/knob.h"
#include "profiler/sim/replay.h"

/* What is hidden: a knob, its range, and how near is near enough. */
struct secret {
	const char *key;
	enum knob_kind kind;
	int64_t min, max;
	bool continuous;
};

/*
 * Every key that the table's rows speak of, in ranges in which its cliff can be
 * seen: a queue longer than the reorder buffer shows nowhere, a forwarding shorter than a cache hit
 * or a failure shorter than a forwarding is none.  Left out are
 *
 *	class.alu's latency         the cycle is defined by it
 *	class.store, class.jump     their ports: a rate shows the smaller of them and stores_per_cyc, taken_per_cyc
 *	ways of caches              no cliff speaks of them
 *	l3_kb                       walks over tens of megabytes; no real core's is better than weak
 */
static const struct secret secrets[] = {
	{ "dispatch_width", KNOB_FIELD, 6, 8, false },
	{ "stores_per_cyc", KNOB_FIELD, 1, 2, false },
	{ "taken_per_cyc", KNOB_FIELD, 1, 2, false },
	{ "rob", KNOB_FIELD, 400, 640, false },
	{ "store_queue", KNOB_FIELD, 40, 120, false },
	{ "int_regs", KNOB_FIELD, 100, 220, false },
	{ "fp_regs", KNOB_FIELD, 240, 360, false },
	{ "load_queue", KNOB_FIELD, 60, 220, false },
	{ "flag_regs", KNOB_FIELD, 120, 360, false },
	{ "int_scheduler", KNOB_FIELD, 40, 96, false },
	{ "fp_scheduler", KNOB_FIELD, 40, 96, false },
	{ "fp_queue", KNOB_FIELD, 24, 120, false },
	{ "address_scheduler", KNOB_FIELD, 24, 56, false },
	{ "return_stack", KNOB_FIELD, 8, 64, false },
	{ "call_cyc", KNOB_FIELD, 0, 4, false },
	{ "mispredict_cyc", KNOB_FIELD, 8, 25, false },
	{ "l1_latency_cyc", KNOB_FIELD, 3, 6, false },
	{ "l2_latency_cyc", KNOB_FIELD, 10, 20, false },
	{ "l3_latency_cyc", KNOB_FIELD, 30, 80, false },
	{ "forward_cyc", KNOB_FIELD, 5, 12, false },
	{ "forward_fail_cyc", KNOB_FIELD, 12, 25, false },
	{ "alias_4k_cyc", KNOB_FIELD, 3, 15, false },
	{ "store_line_cyc", KNOB_FIELD, 1, 3, false },
	{ "fp_cross_cyc", KNOB_FIELD, 0, 2, false },
	{ "scaled_load_cyc", KNOB_FIELD, 0, 2, false },
	{ "move_elimination", KNOB_FIELD, 0, 1, false },
	{ "vmove_elimination", KNOB_FIELD, 0, 1, false },
	{ "zero_idioms", KNOB_FIELD, 0, 1, false },
	{ "fuse_branches", KNOB_FIELD, 0, 1, false },
	{ "memory_renaming", KNOB_FIELD, 0, 1, false },
	{ "split_lines", KNOB_FIELD, 0, 1, false },
	{ "class.shift", KNOB_LATENCY, 1, 3, false },
	{ "class.lea3", KNOB_LATENCY, 1, 3, false },
	{ "class.bits", KNOB_LATENCY, 1, 4, false },
	{ "class.imul", KNOB_LATENCY, 2, 6, false },
	{ "class.div32", KNOB_LATENCY, 8, 30, false },
	{ "class.div64", KNOB_LATENCY, 9, 45, false },
	{ "class.fadd", KNOB_LATENCY, 2, 6, false },
	{ "class.fmul", KNOB_LATENCY, 2, 6, false },
	{ "class.fma", KNOB_LATENCY, 3, 8, false },
	{ "class.fdiv32", KNOB_LATENCY, 8, 20, false },
	{ "class.fdiv64", KNOB_LATENCY, 9, 25, false },
	{ "class.fsqrt32", KNOB_LATENCY, 8, 25, false },
	{ "class.fsqrt64", KNOB_LATENCY, 9, 30, false },
	{ "class.fconv", KNOB_LATENCY, 2, 6, false },
	{ "class.vlogic", KNOB_LATENCY, 1, 3, false },
	{ "class.vint", KNOB_LATENCY, 1, 3, false },
	{ "class.vmul", KNOB_LATENCY, 3, 6, false },
	{ "class.vshuf", KNOB_LATENCY, 1, 3, false },
	{ "class.crypto", KNOB_LATENCY, 2, 7, false },
	{ "class.tovec", KNOB_LATENCY, 1, 8, false },
	{ "class.vload", KNOB_LATENCY, 0, 4, false },
	{ "class.atomic", KNOB_LATENCY, 9, 30, false }, /* its unit is taken for 8 */
	{ "class.alu", KNOB_PORTS, 3, 6, false },
	{ "class.alu", KNOB_CHOICE, 0, 3, false },
	{ "class.lea", KNOB_PORTS, 2, 6, false },
	{ "class.shift", KNOB_PORTS, 1, 4, false },
	{ "class.bits", KNOB_PORTS, 1, 5, false },
	{ "class.imul", KNOB_PORTS, 1, 4, false },
	{ "class.branch", KNOB_PORTS, 1, 3, false },
	{ "class.load", KNOB_PORTS, 2, 4, false },
	{ "class.vload", KNOB_PORTS, 1, 3, false },
	{ "class.fadd", KNOB_PORTS, 1, 4, false },
	{ "class.fmul", KNOB_PORTS, 1, 4, false },
	{ "class.fma", KNOB_PORTS, 1, 4, false },
	{ "class.fconv", KNOB_PORTS, 1, 4, false },
	{ "class.vlogic", KNOB_PORTS, 1, 4, false },
	{ "class.vint", KNOB_PORTS, 1, 4, false },
	{ "class.vmul", KNOB_PORTS, 1, 3, false },
	{ "class.vshuf", KNOB_PORTS, 1, 3, false },
	{ "class.crypto", KNOB_PORTS, 1, 3, false },
	{ "l1_kb", KNOB_FIELD, 24, 48, true },
	{ "l2_kb", KNOB_FIELD, 512, 1024, true },
	{ "dram_cyc", KNOB_FIELD, 400, 700, true },
	{ "class.div64", KNOB_OCCUPANCY, 48, 128, true },
	{ "class.fdiv64", KNOB_OCCUPANCY, 48, 120, true },
	{ "class.fsqrt64", KNOB_OCCUPANCY, 64, 140, true },
	{ "slots.move", KNOB_SLOTS, 1000, 1500, true },
};

enum { N_SECRETS = sizeof(secrets) / sizeof(*secrets) };

struct score {
	unsigned n[2], found[2]; /* [continuous] */
	unsigned missed[N_SECRETS];
	bool verbose;
};

static void die(int err)
{
	if (err < 0) {
		fprintf(stderr, "blind: %s\n", sp_error_text());
		exit(1);
	}
}

static void read_core(const char *path, struct sim_config *out)
{
	static char text[1 << 16];
	FILE *f = fopen(path, "r");
	size_t n;

	if (!f) {
		perror(path);
		exit(1);
	}
	n = fread(text, 1, sizeof(text), f);
	fclose(f);
	die(sim_config_parse(text, n, out));
}

static struct knob knob_of(const struct secret *s, const struct sim_config *c)
{
	struct knob knobs[KNOBS_OF_KEY];
	size_t n = knobs_of(s->key, c, knobs);

	for (size_t i = 0; i < n; i++)
		if (knobs[i].kind == s->kind)
			return knobs[i];
	fprintf(stderr, "blind: no such knob: %s\n", s->key);
	exit(1);
}

static uint32_t least(uint32_t a, int b)
{
	return a < (uint32_t)b ? a : (uint32_t)b;
}

/* A secret as far as a cliff can see it: of what limits or delays one thing together, only what comes of both. */
static int64_t seen(const struct secret *s, const struct knob *k, const struct sim_config *c)
{
	if (!strcmp(s->key, "stores_per_cyc"))
		return least(c->stores_per_cyc, __builtin_popcount(c->cls[SIM_C_STORE].ports));
	if (!strcmp(s->key, "taken_per_cyc"))
		return least(c->taken_per_cyc, __builtin_popcount(c->cls[SIM_C_JUMP].ports));
	/* A store a cycle is a line a cycle at most. */
	if (!strcmp(s->key, "store_line_cyc") && c->store_line_cyc < 1 &&
	    least(c->stores_per_cyc, __builtin_popcount(c->cls[SIM_C_STORE].ports)) == 1)
		return 1;
	if (!strcmp(s->key, "call_cyc"))
		return c->call_cyc + c->return_cyc;
	if (s->kind == KNOB_CHOICE)
		return c->cls[k->at].bind;
	return knob_get(k, c);
}

/* Loops have so many independent streams: as many operations are under way at most. */
enum { STREAMS_INT = 9, STREAMS_FP = 12 };

/* Moves that are not renamed away are additions: what eliminated ones take of dispatch shows nowhere.  Ports that no loop fills don't either. */
static bool shows(const struct secret *s, const struct knob *k, const struct sim_config *hidden)
{
	const struct sim_class_config *c = &hidden->cls[s->kind == KNOB_FIELD ? 0 : k->at];
	uint32_t streams = k->at >= SIM_C_FMOVE ? STREAMS_FP : STREAMS_INT;

	if (s->kind == KNOB_PORTS && c != &hidden->cls[SIM_C_VLOAD])
		return c->latency_cyc * (uint32_t)__builtin_popcount(c->ports) < streams;
	return s->kind != KNOB_SLOTS || hidden->move_elimination;
}

static void draw(gsl_rng *rng, struct sim_config *c)
{
	for (size_t i = 0; i < N_SECRETS; i++) {
		struct knob k = knob_of(&secrets[i], c);
		uint64_t range = (uint64_t)(secrets[i].max - secrets[i].min + 1);

		int64_t v = secrets[i].min + (int64_t)gsl_rng_uniform_int(rng, range);

		/* Where the ports drawn can't be tied so, they are not tied. */
		knob_set(&k, c,
		         k.kind == KNOB_CHOICE ? knob_choice(knob_get(&k, c) / knob_choice(1, 0), v) : v);
	}
	/* Its sets are whole ones. */
	while (c->l1.kb * 1024 % (c->line_bytes * c->l1.ways))
		c->l1.kb--;
}

/* The cliff on the hidden core, as it would be measured on a processor. */
static void measure(struct cliff_model *m, const struct sim_config *hidden, const struct cliff *c,
                    struct fit_row *row)
{
	const struct cliff_sizes sizes = { hidden->l1.kb, hidden->l2.kb, hidden->l3.kb };
	struct cliff_curve fine;

	row->cliff = c;
	cliff_pressures(c, &sizes, false, &row->real);
	die(cliff_run_model(m, hidden, c, &row->real));
	cliff_refine(c, &row->real, &fine);
	if (fine.n) {
		die(cliff_run_model(m, hidden, c, &fine));
		cliff_curve_join(&row->real, &fine);
	}
	die(cliff_infer(c, &row->real, &row->real_is));
}

/* ---- the skid ---- */

enum { SKID_PERIOD = 20011, SKID_SAMPLES = 4000 };

struct skids {
	double sum;
	unsigned n;
};

/* Cycles are sampled with a fixed period, so what the counter is past a multiple of it is the delay itself. */
static void keep_skid(void *user, const struct sim_sample *sample)
{
	struct skids *s = user;

	s->sum += (double)(sample->value[0] % SKID_PERIOD);
	s->n++;
}

/* The mean of a core's delays, as a recording on it shows. */
static double recorded_skid(const struct sim_config *c, uint64_t seed)
{
	static const uint8_t loop[] = { 0x48, 0x01, 0xc0, 0xeb, 0xfb }; /* add rax,rax; jmp to it */
	static const uint64_t nothing[] = { SIM_MEM_END };
	struct skids skids = { 0 };
	struct sim_pmu_setup setup = {
		.n_events = 1, .n_sets = 1, .seed = seed, .sample = keep_skid, .user = &skids
	};
	struct sim_replay *r;
	uint32_t block;

	setup.event[0] = (struct wire_event){ SIM_CYCLES, 0, SKID_PERIOD };
	die(sim_replay_new(SIM_ISA_X86_64, &r));
	die((int)sim_replay_add(r, 0x400000, loop, sizeof(loop), &block));
	die(sim_replay_start(r, c));
	die(sim_replay_sample(r, &setup));
	while (skids.n < SKID_SAMPLES)
		sim_replay_run(r, block, 0x400000, nothing);
	sim_replay_free(r);
	return skids.sum / skids.n;
}

/* A delay with two modes, as the real ones have. */
static void draw_skid(gsl_rng *rng, struct sim_config *c)
{
	uint64_t weight = 0;
	uint32_t at = 50 + (uint32_t)gsl_rng_uniform_int(rng, 400);

	c->n_skid_bins = 8;
	for (uint32_t i = 0; i < c->n_skid_bins; i++) {
		weight += 1 + gsl_rng_uniform_int(rng, 100);
		c->skid[i] = (struct sim_skid_bin){ at, at + 20, weight };
		at += i == 3 ? 200 : 20;
	}
}

static double true_skid(const struct sim_config *c)
{
	double sum = 0;
	uint64_t before = 0;

	for (uint32_t i = 0; i < c->n_skid_bins; i++) {
		sum += (double)(c->skid[i].weight_up_to - before) *
		       (c->skid[i].lo_cyc + c->skid[i].hi_cyc - 1) / 2;
		before = c->skid[i].weight_up_to;
	}
	return sum / (double)before;
}

/* The mean's standard error is some 2 cycles of 300 (sd 130 / sqrt(4000)): 2% is three of them. */
static void compare_skid(const struct sim_config *hidden, uint64_t seed, struct score *s)
{
	double want = true_skid(hidden), have = recorded_skid(hidden, seed);
	bool ok = fabs(have / want - 1) <= 0.02;

	s->n[1]++;
	s->found[1] += ok;
	if (!ok && s->verbose)
		printf("# core %ju: skid is %.1f, recorded %.1f\n", (uintmax_t)seed, want, have);
}

/* The rows that speak of a key that was not found. */
static void explain(const char *key, const struct fit_row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strstr(rows[i].cliff->params, key))
			printf("#\t%s: %s, %g there, %g on the core found\n", rows[i].cliff->name,
			       cliff_verdict_name(rows[i].real_is.verdict), rows[i].real_is.value,
			       rows[i].after_is.value);
}

static void compare(const struct sim_config *hidden, const struct sim_config *found, uint64_t seed,
                    const struct fit_row *rows, size_t n, struct score *s)
{
	for (size_t i = 0; i < N_SECRETS; i++) {
		struct knob k = knob_of(&secrets[i], hidden);
		int64_t want = seen(&secrets[i], &k, hidden), have = seen(&secrets[i], &k, found);
		bool ok =
		        secrets[i].continuous ? fabs((double)have / (double)want - 1) <= 0.02 : have == want;

		if (!shows(&secrets[i], &k, hidden))
			continue;
		s->n[secrets[i].continuous]++;
		s->found[secrets[i].continuous] += ok;
		s->missed[i] += !ok;
		if (!ok && s->verbose) {
			printf("# core %ju: %s (kind %d) is %jd, found %jd\n", (uintmax_t)seed,
			       secrets[i].key, (int)secrets[i].kind, (intmax_t)want, (intmax_t)have);
			explain(secrets[i].key, rows, n);
		}
	}
}

/* Cliffs of which the hidden parameters show; the third level's size is left out. */
static bool is_wanted(const struct cliff *c)
{
	return *c->params && strcmp(c->name, "l3-size");
}

static void one_core(struct cliff_model *m, const struct sim_config *start, uint64_t seed,
                     struct score *score)
{
	gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
	struct sim_config hidden = *start, found = *start;
	struct fit_row *rows;
	const struct cliff *table;
	size_t n_table, n = 0;

	gsl_rng_set(rng, seed);
	draw(rng, &hidden);
	draw_skid(rng, &hidden);
	table = cliff_table(&n_table);
	rows = calloc(n_table, sizeof(*rows));
	if (!rows)
		exit(1);
	for (size_t i = 0; i < n_table; i++)
		if (is_wanted(&table[i]))
			measure(m, &hidden, &table[i], &rows[n++]);
	die(fit_config(m, rows, n, &found, NULL, NULL));
	die(fit_after(m, &found, rows, n));
	compare(&hidden, &found, seed, rows, n, score);
	compare_skid(&hidden, seed, score);
	free(rows);
	gsl_rng_free(rng);
}

int main(int argc, char **argv)
{
	struct score score = { .verbose = argc > 4 && !strcmp(argv[4], "-v") };
	struct cliff_arena arena;
	struct cliff_model *m;
	struct sim_config start;
	uint64_t first;
	bool ok;

	if (argc < 3) {
		fprintf(stderr, "usage: blind CORE.core N [FIRST_SEED] [-v]\n");
		return 2;
	}
	first = argc > 3 ? strtoull(argv[3], NULL, 10) : 1;
	read_core(argv[1], &start);
	die(cliff_arena_open(&arena, 0));
	for (uint64_t seed = first; seed < first + strtoull(argv[2], NULL, 10); seed++) {
		/* A model of its own for each: traces would pile up, as every core has its change points elsewhere. */
		die(cliff_model_open(&arena, &m));
		one_core(m, &start, seed, &score);
		cliff_model_close(m);
	}
	cliff_arena_close(&arena);
	printf("%-18s %7s %6s\n", "parameter", "missed", "kind");
	for (size_t i = 0; i < N_SECRETS; i++)
		if (score.missed[i])
			printf("%-18s %7u %6d\n", secrets[i].key, score.missed[i], (int)secrets[i].kind);
	for (int k = 0; k < 2; k++)
		printf("%s: %u of %u found (%.2f%%)\n",
		       k ? "continuous, within 2%" : "whole numbers, exactly", score.found[k], score.n[k],
		       100.0 * score.found[k] / score.n[k]);
	ok = score.found[0] >= 0.95 * score.n[0] && score.found[1] >= 0.95 * score.n[1];
	return ok ? 0 : 1;
}
