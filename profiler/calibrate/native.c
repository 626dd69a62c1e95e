/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Cliffs on the processor itself. */
#include "profiler/calibrate/cliff.h"

#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>

#include "profiler/base/err.h"
#include "profiler/calibrate/ticks.h"

enum {
	MAX_RUNS = 96,
	BATCH = 16,             /* runs between two looks at the interval */
	CLOCK_ADDS = 100,       /* in an iteration of the clock's chain */
	CLOCK_ITERATIONS = 200, /* some 5 us */
	CLOCK_RUNS = 9,
	MIN_RUN_TICKS = 30000, /* some 10 us: well above what reading the counter costs */
	MAX_ITERATIONS = 1 << 20,
};

struct cliff_native {
	struct cliff_arena arena;
	struct cliff_code code, clock;
	struct cliff_sizes sizes;
	cpu_set_t cpus_before;
	bool is_pinned;
	double cycles_per_tick, tsc_ghz;
};

/* ---- code that can be run ---- */

static int code_open(struct cliff_code *c)
{
	c->code = mmap(NULL, CLIFF_CODE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (c->code == MAP_FAILED) {
		c->code = NULL;
		return sp_fail_errno("no memory for the cliffs' code");
	}
	c->cap = CLIFF_CODE_BYTES;
	return 0;
}

/* Never writable and executable at a time, so that it works where the system forbids both at once. */
static int code_allow(struct cliff_code *c, int prot)
{
	if (mprotect(c->code, c->cap, prot) < 0)
		return sp_fail(
		        SP_ENOTSUP,
		        "this system lets no code run that was made at run time (SELinux, PaX or a seccomp "
		        "filter refuses it), so no cliff can be measured");
	return 0;
}

static int code_make(struct cliff_code *out, const struct cliff *c, uint32_t pressure)
{
	int err = code_allow(out, PROT_READ | PROT_WRITE);

	if (err == 0)
		err = cliff_emit(c, pressure, out);
	return err < 0 ? err : code_allow(out, PROT_READ | PROT_EXEC);
}

static uint64_t run_ticks(const struct cliff_code *c, uint64_t iterations, struct cliff_state *state)
{
	void (*f)(uint64_t, struct cliff_state *);
	uint64_t begin;

	memcpy(&f, &c->code, sizeof(f));
	begin = ticks_begin();
	f(iterations, state);
	return ticks_end() - begin;
}

/* ---- the clock ---- */

/* Core cycles a tick, by a chain of additions of two lengths: what starting and reading cost falls out. */
static bool clock_once(struct cliff_native *n, double *cycles_per_tick)
{
	uint64_t one = run_ticks(&n->clock, CLOCK_ITERATIONS, n->arena.state);
	uint64_t three = run_ticks(&n->clock, 3 * CLOCK_ITERATIONS, n->arena.state);

	*cycles_per_tick = 2.0 * CLOCK_ITERATIONS * CLOCK_ADDS / (double)(three - one);
	return three > one;
}

static double clock_now(struct cliff_native *n)
{
	double ratio[CLOCK_RUNS];
	size_t used = 0;

	for (unsigned i = 0; i < CLOCK_RUNS; i++)
		used += clock_once(n, &ratio[used]);
	gsl_sort(ratio, 1, used);
	return used ? gsl_stats_median_from_sorted_data(ratio, 1, used) : n->cycles_per_tick;
}

static double seconds_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_RAW, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void find_tsc(struct cliff_native *n)
{
	double begin = seconds_now(), now;
	uint64_t ticks = ticks_begin();

	while ((now = seconds_now()) < begin + 0.02)
		;
	n->tsc_ghz = (double)(ticks_end() - ticks) / (now - begin) * 1e-9;
}

static int start_clock(struct cliff_native *n)
{
	const struct cliff *add = cliff_find("add-latency");
	int err;

	cliff_arena_prepare(&n->arena, add, CLOCK_ADDS);
	if ((err = code_open(&n->clock)) < 0 || (err = code_make(&n->clock, add, CLOCK_ADDS)) < 0)
		return err;
	/* The frequency rises within milliseconds of work. */
	run_ticks(&n->clock, 400000, n->arena.state);
	find_tsc(n);
	n->cycles_per_tick = clock_now(n);
	return 0;
}

/* ---- session ---- */

static bool read_word(const char *folder, const char *name, char *out, size_t size)
{
	char path[128];
	FILE *f;
	bool ok;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	f = fopen(path, "r");
	if (!f)
		return false;
	ok = fgets(out, (int)size, f) != NULL;
	fclose(f);
	out[strcspn(out, "\n")] = '\0';
	return ok;
}

/* The data cache of a level as the system describes it, 0 when it doesn't. */
static uint32_t cache_kb(unsigned level)
{
	char path[80], type[16] = "", size[16] = "";
	unsigned is = 0;

	for (unsigned i = 0; i < 8; i++) {
		snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu0/cache/index%u", i);
		if (read_word(path, "level", size, sizeof(size)) &&
		    read_word(path, "type", type, sizeof(type)))
			is = (unsigned)atoi(size);
		if (is == level && strcmp(type, "Instruction") != 0 &&
		    read_word(path, "size", size, sizeof(size)))
			return (uint32_t)atoi(size);
	}
	return 0;
}

/* Only where to look; a system that doesn't tell gets the most common sizes. */
static void find_sizes(struct cliff_sizes *s)
{
	s->l1_kb = cache_kb(1) ? cache_kb(1) : 32;
	s->l2_kb = cache_kb(2) ? cache_kb(2) : 1024;
	s->l3_kb = cache_kb(3) ? cache_kb(3) : 32768;
}

static void pin(struct cliff_native *n)
{
	int cpu = sched_getcpu();
	cpu_set_t one;

	if (cpu < 0 || sched_getaffinity(0, sizeof(n->cpus_before), &n->cpus_before) < 0)
		return;
	CPU_ZERO(&one);
	CPU_SET((unsigned)cpu, &one);
	n->is_pinned = sched_setaffinity(0, sizeof(one), &one) == 0;
}

int cliff_native_open(struct cliff_native **out)
{
	struct cliff_native *n;
	int err;

	if (!ticks_exist())
		return sp_fail(
		        SP_ENOTSUP,
		        "there are no cliffs for this processor's instruction set yet: only for x86-64");
	n = calloc(1, sizeof(*n));
	if (!n)
		return sp_fail(SP_ENOMEM, "out of memory");
	find_sizes(&n->sizes);
	pin(n);
	if ((err = cliff_arena_open(&n->arena)) < 0 || (err = code_open(&n->code)) < 0 ||
	    (err = start_clock(n)) < 0) {
		cliff_native_close(n);
		return err;
	}
	*out = n;
	return 0;
}

void cliff_native_close(struct cliff_native *n)
{
	if (!n)
		return;
	if (n->clock.code)
		munmap(n->clock.code, CLIFF_CODE_BYTES);
	if (n->code.code)
		munmap(n->code.code, CLIFF_CODE_BYTES);
	cliff_arena_close(&n->arena);
	if (n->is_pinned)
		sched_setaffinity(0, sizeof(n->cpus_before), &n->cpus_before);
	free(n);
}

struct cliff_arena *cliff_native_arena(struct cliff_native *n)
{
	return &n->arena;
}

void cliff_native_sizes(const struct cliff_native *n, struct cliff_sizes *out)
{
	*out = n->sizes;
}

double cliff_native_core_ghz(const struct cliff_native *n)
{
	return n->tsc_ghz * n->cycles_per_tick;
}

double cliff_native_tsc_ghz(const struct cliff_native *n)
{
	return n->tsc_ghz;
}

/* ---- one pressure ---- */

/* Runs of two lengths in core cycles, sorted when looked at. */
struct runs {
	double few[MAX_RUNS], many[MAX_RUNS];
	size_t n;
	uint64_t n_few, n_many; /* iterations */
};

/* So many iterations that a run takes long beside the reading of the counter. */
static uint64_t choose_iterations(struct cliff_native *n)
{
	uint64_t iterations = 4, least;

	for (;; iterations *= 2) {
		least = UINT64_MAX;
		for (unsigned i = 0; i < 3; i++) {
			uint64_t t = run_ticks(&n->code, iterations, n->arena.state);

			least = t < least ? t : least;
		}
		if (least >= MIN_RUN_TICKS || iterations >= MAX_ITERATIONS)
			return iterations;
	}
}

static long preemptions(void)
{
	struct rusage u;

	return getrusage(RUSAGE_THREAD, &u) == 0 ? u.ru_nivcsw : 0;
}

/*
 * The clock runs in between, so that the frequency is that of the same
 * millisecond.  A run during which another task had the processor does not
 * count, as long as there are others.
 */
static void add_batch(struct cliff_native *n, struct runs *r)
{
	double clock[BATCH];
	size_t first = r->n, clocks = 0;

	for (unsigned tries = 0; r->n < first + BATCH; tries++) {
		long before = preemptions();

		r->few[r->n] = (double)run_ticks(&n->code, r->n_few, n->arena.state);
		r->many[r->n] = (double)run_ticks(&n->code, r->n_many, n->arena.state);
		if (tries < 2 * BATCH && preemptions() != before)
			continue;
		clocks += clock_once(n, &clock[clocks]);
		r->n++;
	}
	if (clocks) {
		gsl_sort(clock, 1, clocks);
		n->cycles_per_tick = gsl_stats_median_from_sorted_data(clock, 1, clocks);
	}
	for (size_t i = first; i < r->n; i++) {
		r->few[i] *= n->cycles_per_tick;
		r->many[i] *= n->cycles_per_tick;
	}
	gsl_sort(r->few, 1, r->n);
	gsl_sort(r->many, 1, r->n);
}

static double quantile(const double *sorted, size_t n, double q)
{
	return gsl_stats_quantile_from_sorted_data(sorted, 1, n, q);
}

/*
 * What disturbs a run makes it longer, so a low quantile is the truth.  Where
 * every run walks over other memory, the lowest is a lucky one; where runs
 * draw lots (random branches), so is anything below the median.
 */
static double quantile_of(const struct cliff *c)
{
	if (c->shape == CLIFF_MISSES || c->shape == CLIFF_CHASE)
		return 0.25;
	return c->shape == CLIFF_PAIR ? 0.5 : 0.1;
}

static void read_runs(const struct runs *r, double q, double *response, double *spread)
{
	double iterations = (double)(r->n_many - r->n_few);
	double width = quantile(r->many, r->n, 0.75) - quantile(r->many, r->n, 0.25) +
	               quantile(r->few, r->n, 0.75) - quantile(r->few, r->n, 0.25);

	*response = (quantile(r->many, r->n, q) - quantile(r->few, r->n, q)) / iterations;
	/* Of a normal distribution: sd = distance of the quartiles / 1.35, of its median 1.25 sd / sqrt(n). */
	*spread = 1.96 * 1.25 / 1.35 * width / sqrt((double)r->n) / iterations;
}

static int run_point(struct cliff_native *n, const struct cliff *c, uint32_t pressure, double *response,
                     double *spread)
{
	struct runs r = { 0 };
	int err;

	cliff_arena_prepare(&n->arena, c, pressure);
	if ((err = code_make(&n->code, c, pressure)) < 0)
		return err;
	run_ticks(&n->code, n->code.warm_iterations, n->arena.state);
	r.n_many = choose_iterations(n);
	r.n_few = r.n_many / 4;
	do {
		add_batch(n, &r);
		read_runs(&r, quantile_of(c), response, spread);
		/* A quarter of a percent: what a row moves by should stay under one. */
	} while (r.n + BATCH <= MAX_RUNS && *spread > 0.0025 * *response);
	*response /= n->code.parts;
	*spread /= n->code.parts;
	return 0;
}

int cliff_run_native(struct cliff_native *n, const struct cliff *c, struct cliff_curve *curve)
{
	int err = 0;

	for (size_t i = 0; i < curve->n && err == 0; i++)
		err = run_point(n, c, curve->pressure[i], &curve->response[i], &curve->spread[i]);
	return err;
}

const char *cliff_native_lacks(const struct cliff *c)
{
	return ticks_lack(c->needs);
}
