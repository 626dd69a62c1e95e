/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Curves on the processor, pressure by pressure. */
#include "profiler/calibrate/native_int.h"

#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include <gsl/gsl_sort.h>

#include "profiler/calibrate/ticks.h"

enum {
	MIN_RUN_TICKS = 30000, /* some 10 us: well above what reading the counter costs */
	MAX_ITERATIONS = 1 << 20,
	WINDOW_ITERATIONS = 160, /* until the two walks have found their rhythm */
	PATTERN_REPEATS = 8,     /* a quarter of them is two whole ones */
	WAIT_NS = 20000,         /* between two looks for the neighbour to go */
};

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
			uint64_t t = native_run_ticks(n, &n->code, iterations);

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

	b->r.few[i] = (double)native_run_ticks(n, &n->code, b->r.n_few);
	b->r.many[i] = (double)native_run_ticks(n, &n->code, b->r.n_many);
	if (!native_clock_once(n, &b->clock[i % WATCH_BATCH]))
		b->clock[i % WATCH_BATCH] = n->cycles_per_tick;
	return preemptions() == before;
}

static enum sentinel_word look_in_batch(void *user)
{
	return native_look(((struct batch *)user)->n);
}

static double now_in_batch(void *user)
{
	(void)user;
	return native_seconds_now();
}

/* Not asleep: who sleeps loses caches, and the frequency that work has raised. */
static void wait_in_batch(void *user)
{
	double until = native_seconds_now() + WAIT_NS * 1e-9;

	(void)user;
	while (native_seconds_now() < until)
		;
}

static void warm_in_batch(void *user)
{
	struct cliff_native *n = ((struct batch *)user)->n;

	native_run_ticks(n, &n->code, n->code.warm_iterations);
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
	if ((err = native_code_make(&n->code, c, pressure)) < 0)
		return err;
	native_run_ticks(n, &n->code, n->code.warm_iterations);
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
