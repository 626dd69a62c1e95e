/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/calibrate/matter.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/base/err.h"
#include "profiler/calibrate/dbscan.h"

/* Neighbours differ by no more than a tenth of the time in all; a cluster is 2% of the points, at least 4. */
static const double EPS = 0.1;

/* The first round knows four kinds: the levels of memory are one. */
enum { TOP_KINDS = 4 };

static double at_least_0(double x)
{
	return x > 0 ? x : 0;
}

void matter_shares(const struct matter_counts *n, const struct sim_config *core, double *share)
{
	double left, wait = 0, scale;

	share[MATTER_RETIRING] = fmin(1, n->instructions / core->dispatch_width / n->cycles);
	share[MATTER_SPECULATION] = n->branch_misses * core->mispredict_cyc / n->cycles;
	share[MATTER_L2] = at_least_0(n->l1d_misses - n->l2_misses) *
	                   at_least_0((double)core->l2.latency_cyc - core->l1.latency_cyc) / n->cycles;
	share[MATTER_L3] = at_least_0(n->l2_misses - n->l3_misses) *
	                   at_least_0((double)core->l3.latency_cyc - core->l1.latency_cyc) / n->cycles;
	share[MATTER_DRAM] = n->l3_misses * core->dram_cyc / n->cycles;
	for (unsigned k = MATTER_SPECULATION; k <= MATTER_DRAM; k++)
		wait += share[k];
	left = 1 - share[MATTER_RETIRING];
	scale = wait > left ? left / wait : 1;
	for (unsigned k = MATTER_SPECULATION; k <= MATTER_DRAM; k++)
		share[k] *= scale;
	share[MATTER_REST] = left - fmin(wait, left);
}

static void top_of(const double *share, double *top)
{
	top[0] = share[MATTER_RETIRING];
	top[1] = share[MATTER_SPECULATION];
	top[2] = share[MATTER_L2] + share[MATTER_L3] + share[MATTER_DRAM];
	top[3] = share[MATTER_REST];
}

/* Sum up the points of one cluster. */
static struct matter_cluster sum_up(const double *share, const double *cycles, size_t n, const int *of,
                                    int id)
{
	struct matter_cluster c = { .chief = MATTER_RETIRING };

	for (size_t i = 0; i < n; i++) {
		if (of[i] != id)
			continue;
		c.n_points++;
		c.cycles += cycles[i];
		for (unsigned k = 0; k < MATTER_KINDS; k++)
			c.share[k] += cycles[i] * share[i * MATTER_KINDS + k];
	}
	for (unsigned k = 0; k < MATTER_KINDS && c.cycles > 0; k++)
		c.share[k] /= c.cycles;
	for (unsigned k = MATTER_SPECULATION; k < MATTER_KINDS; k++)
		if (c.share[k] >= 0.2 && (c.chief == MATTER_RETIRING || c.share[k] > c.share[c.chief]))
			c.chief = (enum matter_kind)k;
	return c;
}

static void add_cluster(struct matter *m, struct matter_cluster c)
{
	size_t i = m->n < MATTER_MAX_CLUSTERS ? m->n++ : MATTER_MAX_CLUSTERS - 1;

	for (; i > 0 && m->cluster[i - 1].cycles < c.cycles; i--)
		m->cluster[i] = m->cluster[i - 1];
	m->cluster[i] = c;
}

/* Second round: the points of one cluster of the first that wait for memory, by its levels. */
static long split(const double *share, size_t n, size_t least, int *of, int id, double *levels, int *sub)
{
	size_t used = 0;
	long n_sub;

	for (size_t i = 0; i < n; i++)
		if (of[i] == id)
			memcpy(levels + 3 * used++, share + i * MATTER_KINDS + MATTER_L2,
			       3 * sizeof(*levels));
	n_sub = dbscan(levels, used, 3, EPS, least, sub);
	used = 0;
	/* Numbers beyond those of the first round: of cluster id, sub-cluster s is id + (s + 1) * n. */
	for (size_t i = 0; i < n && n_sub > 1; i++)
		if (of[i] == id) {
			of[i] = sub[used] < 0 ? DBSCAN_NOISE : id + (sub[used] + 1) * (int)n;
			used++;
		}
	return n_sub;
}

static bool waits_for_memory(const struct matter_cluster *c)
{
	return c->share[MATTER_L2] + c->share[MATTER_L3] + c->share[MATTER_DRAM] >= 0.2;
}

int matter_cluster(const double *share, const double *cycles, size_t n, struct matter *out)
{
	double *points = calloc(n, TOP_KINDS * sizeof(*points)), total = 0;
	int *of = calloc(n, sizeof(*of)), *sub = calloc(n, sizeof(*sub));
	size_t least = n / 50 > 4 ? n / 50 : 4;
	long n_top = -SP_ENOMEM, n_sub;

	memset(out, 0, sizeof(*out));
	out->n_points = n;
	if (!points || !of || !sub) {
		sp_fail(SP_ENOMEM, "out of memory for %zu intervals", n);
		goto out;
	}
	for (size_t i = 0; i < n; i++)
		top_of(share + i * MATTER_KINDS, points + i * TOP_KINDS);
	n_top = dbscan(points, n, TOP_KINDS, EPS, least, of);
	for (int id = 0; id < n_top; id++) {
		struct matter_cluster c = sum_up(share, cycles, n, of, id);

		n_sub = waits_for_memory(&c) ? split(share, n, least, of, id, points, sub) : 1;
		if (n_sub < 0) {
			n_top = n_sub;
			break;
		}
		for (long s = 0; s < n_sub && n_sub > 1; s++)
			add_cluster(out, sum_up(share, cycles, n, of, id + (int)(s + 1) * (int)n));
		if (n_sub <= 1)
			add_cluster(out, c);
	}
	for (size_t i = 0; i < n; i++) {
		out->n_noise += of[i] == DBSCAN_NOISE;
		total += cycles[i];
	}
	for (size_t i = 0; i < out->n; i++)
		out->cluster[i].cycles /= total;
out:
	free(sub);
	free(of);
	free(points);
	return n_top < 0 ? (int)n_top : 0;
}

/* ---- which cliffs ---- */

bool matter_concerns(const struct cliff *c, enum matter_kind kind)
{
	/* Between blanks, so that a whole name is found. */
	static const char *const names[MATTER_KINDS] = {
		[MATTER_RETIRING] =
		        " nop-rate mixed-rate move-rate move-elimination zero-idiom compare-fusion ",
		[MATTER_SPECULATION] = " mispredict return-stack predictor branch-rate jump-rate ",
		[MATTER_L2] = " load-latency load-rate l1-size l2-latency load-queue rob ",
		[MATTER_L3] = " l2-size l2-latency l3-latency load-queue rob ",
		[MATTER_DRAM] =
		        (" l3-size l3-latency dram-latency load-queue store-queue rob int-regs fp-regs "
		         "int-scheduler fp-scheduler fp-queue address-scheduler "),
		[MATTER_REST] = " rob int-regs fp-regs int-scheduler fp-scheduler memory-renaming ",
	};
	char word[64];

	/* What the core computes with, when it waits for its own results. */
	if (kind == MATTER_REST && (c->cls == CLIFF_LATENCY || c->cls == CLIFF_BANDWIDTH) &&
	    c->shape != CLIFF_CHASE && !c->is_far)
		return true;
	snprintf(word, sizeof(word), " %s ", c->name);
	return strstr(names[kind], word) != NULL;
}

static void print_cliffs(enum matter_kind kind, FILE *f)
{
	size_t n, column = 0;
	const struct cliff *all = cliff_table(&n);

	for (size_t i = 0; i < n; i++) {
		if (!matter_concerns(&all[i], kind))
			continue;
		if (column + strlen(all[i].name) > 90) {
			fputs("\n   ", f);
			column = 0;
		}
		column += (size_t)fprintf(f, " %s", all[i].name);
	}
	fputc('\n', f);
}

void matter_print(const struct matter *m, FILE *f)
{
	static const char *const kinds[MATTER_KINDS] = { "retiring", "speculation", "L2",
		                                         "L3",       "memory",      "rest" };

	fprintf(f,
	        "%zu intervals, %zu of them in no cluster; shares of cycles, by counts and the core's "
	        "latencies:\n\n",
	        m->n_points, m->n_noise);
	fputs("  CYCLES", f);
	for (unsigned k = 0; k < MATTER_KINDS; k++)
		fprintf(f, "  %11s", kinds[k]);
	fputc('\n', f);
	for (size_t i = 0; i < m->n; i++) {
		fprintf(f, "%7.1f%%", 100 * m->cluster[i].cycles);
		for (unsigned k = 0; k < MATTER_KINDS; k++)
			fprintf(f, "  %10.1f%%", 100 * m->cluster[i].share[k]);
		fprintf(f, "\n  chiefly %s:", kinds[m->cluster[i].chief]);
		print_cliffs(m->cluster[i].chief, f);
	}
}
