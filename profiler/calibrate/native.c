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
#include "profiler/calibrate/watch.h"
#include "profiler/pmu/perf_event.h"

enum {
	CLOCK_ADDS = 100,       /* in an iteration of the clock's chain */
	CLOCK_ITERATIONS = 200, /* some 5 us */
	CLOCK_RUNS = 9,
	MIN_RUN_TICKS = 30000, /* some 10 us: well above what reading the counter costs */
	MAX_ITERATIONS = 1 << 20,
	WINDOW_ITERATIONS = 160, /* until the two walks have found their rhythm */
	PATTERN_REPEATS = 8,     /* a quarter of them is two whole ones */
	LEARN_ROUNDS = 300,      /* some 20 ms: neighbours come and go in spells of microseconds to seconds */
	LEARN_AGAIN = 30,        /* once more fits than was learnt */
	LOOK_ITERATIONS = 4,     /* of a window: a third of a microsecond */
	WAIT_NS = 20000,         /* between two looks for the neighbour to go */
	NAP_NS = 500000,         /* once he has stayed for longer */
};

struct cliff_native {
	struct cliff_arena arena;
	struct cliff_code code, clock;
	struct cliff_code window[SENTINEL_SIZES]; /* the sentinel's; in one mapping */
	struct sentinel sentinel;
	struct watch watch;
	unsigned n_void; /* how often more was found to fit than was learnt */
	struct cliff_sizes sizes;
	cpu_set_t cpus_before;
	bool is_pinned;
	double cycles_per_tick, tsc_ghz, core_ghz;
	int counter;      /* the processor's cycle counter, -1 = none */
	char no_pmu[256]; /* why not */
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

static uint64_t call_ticks(const struct cliff_code *c, uint64_t iterations, struct cliff_state *state)
{
	void (*f)(uint64_t, struct cliff_state *);
	uint64_t begin;

	memcpy(&f, &c->code, sizeof(f));
	begin = ticks_begin();
	f(iterations, state);
	return ticks_end() - begin;
}

/* A run that the counter lost: as if it had been disturbed, which quantiles overlook. */
enum { LOST = INT32_MAX };

/* Core cycles where there is a counter for them, else ticks of the time stamp counter. */
static uint64_t run_ticks(struct cliff_native *n, const struct cliff_code *c, uint64_t iterations)
{
	uint64_t before, after;

	if (n->counter < 0)
		return call_ticks(c, iterations, n->arena.state);
	if (read(n->counter, &before, sizeof(before)) != sizeof(before))
		return LOST;
	call_ticks(c, iterations, n->arena.state);
	return read(n->counter, &after, sizeof(after)) == sizeof(after) ? after - before : LOST;
}

static void open_counter(struct cliff_native *n)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_HARDWARE,
		                        .size = sizeof(attr),
		                        .config = PERF_COUNT_HW_CPU_CYCLES,
		                        .pinned = 1,
		                        .exclude_kernel = 1,
		                        .exclude_hv = 1 };

	if (pe_probe_hardware() == 0) {
		n->counter = pe_open(&attr, &(struct pe_place){ .tid = 0, .cpu = -1, .group_fd = -1 });
		if (n->counter < 0)
			sp_fail_errno("the cycle counter can't be opened");
	}
	if (n->counter < 0)
		snprintf(n->no_pmu, sizeof(n->no_pmu), "%s", sp_error_text());
}

/* ---- the clock ---- */

/* Core cycles a tick, by a chain of additions of two lengths: what starting and reading cost falls out. */
static bool clock_once(struct cliff_native *n, double *cycles_per_tick)
{
	uint64_t one = run_ticks(n, &n->clock, CLOCK_ITERATIONS);
	uint64_t three = run_ticks(n, &n->clock, 3 * CLOCK_ITERATIONS);

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
	run_ticks(n, &n->clock, 400000);
	find_tsc(n);
	n->cycles_per_tick = clock_now(n);
	n->core_ghz = n->tsc_ghz * n->cycles_per_tick;
	return 0;
}

/* ---- the sentinel ---- */

#define SIX(text) text text text text text text
/* A root takes long and waits in a queue of its own; two chains of them share the unit, as it is pipelined. */
#define ROOTS SIX("sqrtsd {x},{x}; sqrtsd {x},{x}; sqrtsd {x},{x}; sqrtsd {x},{x}; ")

static const struct cliff window = {
	.name = "sentinel", .shape = CLIFF_MISSES, .miss = ROOTS, .snippet = "nop"
};

static int open_windows(struct cliff_native *n)
{
	struct cliff_code all = { 0 };
	size_t used = 0;
	int err = code_open(&all);

	for (size_t i = 0; i < SENTINEL_SIZES && err == 0; i++) {
		n->window[i].code = all.code + used;
		n->window[i].cap = all.cap - used;
		err = cliff_emit(&window, n->sentinel.size[i], &n->window[i]);
		used += (n->window[i].n_bytes + 63) & ~(size_t)63;
	}
	if (all.code && !n->window[0].code)
		n->window[0].code = all.code;
	return err < 0 ? err : code_allow(&all, PROT_READ | PROT_EXEC);
}

static double look_through(const struct cliff_native *n, size_t i)
{
	return (double)call_ticks(&n->window[i], LOOK_ITERATIONS, n->arena.state);
}

static bool learn_window(struct cliff_native *n, unsigned rounds)
{
	double ticks[SENTINEL_SIZES];

	for (unsigned k = 0; k < rounds; k++) {
		for (size_t i = 0; i < SENTINEL_SIZES; i++)
			ticks[i] = look_through(n, i);
		sentinel_learn(&n->sentinel, ticks);
	}
	return sentinel_settle(&n->sentinel);
}

static enum sentinel_word look_once(const struct cliff_native *n)
{
	const struct sentinel *s = &n->sentinel;
	double first = look_through(n, 0), low = look_through(n, s->low);

	return sentinel_judge(s, first, low, look_through(n, s->high));
}

/* What a single look says that is not the rule may have been an interrupt. */
static enum sentinel_word look_around(void *user)
{
	struct cliff_native *n = user;
	enum sentinel_word word = SENTINEL_ALONE;

	for (unsigned i = 0; i < 2 && n->sentinel.can_tell; i++)
		if ((word = look_once(n)) == SENTINEL_ALONE)
			return word;
	if (word != SENTINEL_GREW)
		return word;
	if (!learn_window(n, LEARN_AGAIN))
		return SENTINEL_SHARED;
	n->n_void++;
	return SENTINEL_GREW;
}

static int start_sentinel(struct cliff_native *n)
{
	int err;

	sentinel_init(&n->sentinel);
	cliff_arena_prepare(&n->arena, &window, 0);
	if ((err = open_windows(n)) < 0)
		return err;
	learn_window(n, LEARN_ROUNDS);
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
	n->counter = -1;
	pin(n);
	if ((err = cliff_arena_open(&n->arena)) < 0 || (err = code_open(&n->code)) < 0 ||
	    (err = start_clock(n)) < 0 || (err = start_sentinel(n)) < 0) {
		cliff_native_close(n);
		return err;
	}
	open_counter(n);
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
	if (n->window[0].code)
		munmap(n->window[0].code, CLIFF_CODE_BYTES);
	if (n->counter >= 0)
		close(n->counter);
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

const char *cliff_native_no_pmu(const struct cliff_native *n)
{
	return n->counter < 0 ? n->no_pmu : NULL;
}

double cliff_native_core_ghz(const struct cliff_native *n)
{
	return n->core_ghz;
}

double cliff_native_tsc_ghz(const struct cliff_native *n)
{
	return n->tsc_ghz;
}

/* ---- one pressure ---- */

/* So many iterations that a run takes long beside the reading of the counter. */
static uint64_t choose_iterations(struct cliff_native *n, const struct cliff *c, uint32_t pressure)
{
	uint64_t iterations = c->shape == CLIFF_MISSES    ? WINDOW_ITERATIONS
	                      : c->shape == CLIFF_PATTERN ? PATTERN_REPEATS * (uint64_t)pressure
	                                                  : 4,
	         least;

	for (;; iterations *= 2) {
		least = UINT64_MAX;
		for (unsigned i = 0; i < 3; i++) {
			uint64_t t = run_ticks(n, &n->code, iterations);

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

/* Median of a run's own clock and its neighbours': the frequency may have changed a millisecond later. */
static double clock_near(const double *clock, size_t i)
{
	double v[3];
	size_t from = i == 0 ? 0 : i + 1 == WATCH_BATCH ? WATCH_BATCH - 3 : i - 1;

	memcpy(v, clock + from, sizeof(v));
	gsl_sort(v, 1, 3);
	return v[1];
}

/* Runs of a point, and the clocks of the last batch. */
struct batch {
	struct cliff_native *n;
	struct runs r;
	double clock[WATCH_BATCH];
};

/* The clock runs in between.  A run during which another task had the processor does not count. */
static bool take_run(void *user, size_t i)
{
	struct batch *b = user;
	struct cliff_native *n = b->n;
	long before = preemptions();

	b->r.few[i] = (double)run_ticks(n, &n->code, b->r.n_few);
	b->r.many[i] = (double)run_ticks(n, &n->code, b->r.n_many);
	if (!clock_once(n, &b->clock[i % WATCH_BATCH]))
		b->clock[i % WATCH_BATCH] = n->cycles_per_tick;
	return preemptions() == before;
}

static enum sentinel_word look_in_batch(void *user)
{
	return look_around(((struct batch *)user)->n);
}

static double now_in_batch(void *user)
{
	(void)user;
	return seconds_now();
}

/* Not asleep at first: who sleeps loses caches, and the frequency that work has raised. */
static void wait_in_batch(void *user, double waited_s)
{
	const struct timespec nap = { .tv_nsec = NAP_NS };
	double until = seconds_now() + WAIT_NS * 1e-9;

	(void)user;
	if (waited_s > 10 * NAP_NS * 1e-9)
		nanosleep(&nap, NULL);
	while (seconds_now() < until)
		;
}

static void warm_in_batch(void *user)
{
	struct cliff_native *n = ((struct batch *)user)->n;

	run_ticks(n, &n->code, n->code.warm_iterations);
}

static void scale_batch(void *user, size_t from, size_t to)
{
	struct batch *b = user;

	for (size_t i = from; i < to; i++) {
		b->n->cycles_per_tick = clock_near(b->clock, i - from);
		b->r.few[i] *= b->n->cycles_per_tick;
		b->r.many[i] *= b->n->cycles_per_tick;
	}
}

static int run_point(struct cliff_native *n, const struct cliff *c, struct cliff_curve *curve, size_t i)
{
	static const struct watch_ops ops = { look_in_batch, take_run,      scale_batch,
		                              wait_in_batch, warm_in_batch, now_in_batch };
	uint32_t pressure = curve->pressure[i];
	struct batch b = { .n = n };
	int err;

	cliff_arena_prepare(&n->arena, c, pressure);
	if ((err = code_make(&n->code, c, pressure)) < 0)
		return err;
	run_ticks(n, &n->code, n->code.warm_iterations);
	b.r.n_many = choose_iterations(n, c, pressure);
	b.r.n_few = b.r.n_many / 4;
	err = watch_point(&n->watch, &ops, &b, c, &b.r, curve, i);
	curve->response[i] /= n->code.parts;
	curve->spread[i] /= n->code.parts;
	return err;
}

static int run_curve(void *user, const struct cliff *c, struct cliff_curve *curve)
{
	int err = 0;

	for (size_t i = 0; i < curve->n && err == 0; i++)
		err = run_point(user, c, curve, i);
	return err;
}

void cliff_native_bench(struct cliff_native *n, struct cliff_bench *out)
{
	*out = (struct cliff_bench){ run_curve, n, n->sizes };
}

void cliff_native_patience(struct cliff_native *n, double seconds)
{
	n->watch.patience_s = seconds;
}

void cliff_native_company(const struct cliff_native *n, struct cliff_company *out)
{
	const struct watch *w = &n->watch;

	*out = (struct cliff_company){ .window = sentinel_window(&n->sentinel),
		                       .share = w->looked_s > 0 ? w->shared_s / w->looked_s : 0,
		                       .waited_s = w->waited_s,
		                       .n_looks = w->n_looks,
		                       .n_again = w->n_again,
		                       .n_void = n->n_void };
}

const char *cliff_native_lacks(const struct cliff *c)
{
	return ticks_lack(c->needs);
}
