/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Intervals of a recording: what was counted between one sample of a thread and its next. */
#include <stdlib.h>
#include <string.h>

#include "profiler/base/pairs.h"
#include "profiler/base/vec.h"
#include "profiler/calibrate/matter.h"
#include "profiler/perfdata/reader.h"
#include "profiler/pmu/core.h"

enum { N_COUNTS = 6, FEWEST_INTERVALS = 8, MOST_INTERVALS = 2000 };

static const char *const wanted[N_COUNTS] = { "cycles",     "instructions", "branch-misses",
	                                      "l1d-misses", "l2-misses",    "l3-misses" };

struct last {
	double value[N_COUNTS];
	bool is_set;
};

struct reading {
	int event[N_COUNTS]; /* index in the file */
	struct pairs threads;
	VEC(struct last) last;
	VEC(struct matter_counts) intervals;
};

/* "cycles:u" is cycles. */
static bool is_named(const char *name, const char *want)
{
	size_t n = strlen(want);

	return !strncmp(name, want, n) && (name[n] == '\0' || name[n] == ':');
}

static int find_events(const struct pd_reader *r, const char *path, struct reading *g)
{
	for (unsigned k = 0; k < N_COUNTS; k++) {
		g->event[k] = -1;
		for (size_t i = 0; i < pd_n_events(r) && g->event[k] < 0; i++)
			if (is_named(pd_event(r, i)->name, wanted[k]))
				g->event[k] = (int)i;
		if (g->event[k] < 0)
			return sp_fail(SP_EDOMAIN,
			               "%s has no event %s; record with --pmu sim -e "
			               "cycles,instructions,branch-misses,l1d-misses,l2-misses,l3-misses",
			               path, wanted[k]);
	}
	return 0;
}

/* false when a count is missing: the set of counters had its turn without it. */
static bool read_values(const struct reading *g, const struct pd_sample *s, double *out)
{
	for (unsigned k = 0; k < N_COUNTS; k++) {
		bool found = false;

		for (size_t i = 0; i < s->n_values && !found; i++)
			if (s->values[i].event == g->event[k]) {
				out[k] = (double)s->values[i].value;
				found = true;
			}
		if (!found)
			return false;
	}
	return true;
}

static int add_sample(struct reading *g, uint64_t pid, uint64_t tid, const struct pd_sample *s)
{
	long at = pairs_number(&g->threads, pid, tid);
	double now[N_COUNTS];
	struct last *last;
	int err = 0;

	if (at < 0 || ((size_t)at == g->last.n && vec_push(&g->last, (struct last){ 0 }) < 0))
		return -SP_ENOMEM;
	last = &g->last.v[at];
	if (!read_values(g, s, now))
		return 0;
	if (last->is_set && now[0] > last->value[0])
		err = vec_push(&g->intervals,
		               (struct matter_counts){ now[0] - last->value[0], now[1] - last->value[1],
		                                       now[2] - last->value[2], now[3] - last->value[3],
		                                       now[4] - last->value[4], now[5] - last->value[5] });
	memcpy(last->value, now, sizeof(now));
	last->is_set = true;
	return err;
}

/* Neighbours become one until there are few enough: clustering looks at every pair. */
static void thin_out(struct reading *g)
{
	size_t by = g->intervals.n / MOST_INTERVALS + 1, n = 0;

	for (size_t i = 0; i + by <= g->intervals.n; i += by, n++) {
		struct matter_counts sum = { 0 };

		for (size_t k = i; k < i + by; k++) {
			const struct matter_counts *c = &g->intervals.v[k];

			sum.cycles += c->cycles;
			sum.instructions += c->instructions;
			sum.branch_misses += c->branch_misses;
			sum.l1d_misses += c->l1d_misses;
			sum.l2_misses += c->l2_misses;
			sum.l3_misses += c->l3_misses;
		}
		g->intervals.v[n] = sum;
	}
	g->intervals.n = n;
}

static int cluster(const struct reading *g, const struct sim_config *core, struct matter *out)
{
	size_t n = g->intervals.n;
	double *share = calloc(n, (MATTER_KINDS + 1) * sizeof(*share)),
	       *cycles = share ? share + n * MATTER_KINDS : NULL;
	int err;

	if (!share)
		return sp_fail(SP_ENOMEM, "out of memory for %zu intervals", n);
	for (size_t i = 0; i < n; i++) {
		matter_shares(&g->intervals.v[i], core, share + i * MATTER_KINDS);
		cycles[i] = g->intervals.v[i].cycles;
	}
	err = matter_cluster(share, cycles, n, out);
	free(share);
	return err;
}

int matter_read(const char *path, const struct sim_config *core, struct matter *out)
{
	struct reading g = { .last = { 0 } };
	struct pd_reader *r = NULL;
	struct pd_record rec;
	int err;

	if ((err = pd_open(path, &r)) < 0 || (err = find_events(r, path, &g)) < 0)
		goto out;
	while ((err = pd_next(r, &rec)) > 0)
		if (rec.type == PERF_RECORD_SAMPLE &&
		    (err = add_sample(&g, rec.pid, rec.tid, &rec.sample)) < 0)
			goto out;
	if (err < 0)
		goto out;
	thin_out(&g);
	err = g.intervals.n < FEWEST_INTERVALS
	              ? sp_fail(SP_EDOMAIN,
	                        "%s: %zu intervals between samples that have all counts; %d are needed: "
	                        "record longer, or with a shorter period",
	                        path, g.intervals.n, FEWEST_INTERVALS)
	              : cluster(&g, core, out);
out:
	vec_fini(&g.intervals);
	vec_fini(&g.last);
	pairs_fini(&g.threads);
	pd_close(r);
	return err;
}

int matter_report(const char *path, const char *core, FILE *f)
{
	struct sim_core file = { 0 };
	struct sim_config config;
	struct matter m;
	int err = sim_core_load(core, PROGRAM_X86_64, &file);

	if (err < 0)
		return err;
	err = sim_config_parse(file.text, file.n_bytes, &config);
	if (err == 0)
		err = matter_read(path, &config, &m);
	if (err == 0) {
		fprintf(f, "%s on core %s\n", path, file.name);
		matter_print(&m, f);
	}
	sim_core_fini(&file);
	return err;
}
