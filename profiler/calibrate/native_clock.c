/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Code that is made at run time, and what it takes: cycles, by a chain of additions beside the time stamp counter. */
#include "profiler/calibrate/native_int.h"

#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>

#include "profiler/base/err.h"
#include "profiler/calibrate/ticks.h"
#include "profiler/pmu/perf_event.h"

enum {
	CLOCK_ADDS = 100,       /* in an iteration of the clock's chain */
	CLOCK_ITERATIONS = 200, /* some 5 us */
	CLOCK_RUNS = 9,
};

/* ---- code that can be run ---- */

int native_code_open(struct cliff_code *c)
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
int native_code_allow(struct cliff_code *c, int prot)
{
	if (mprotect(c->code, c->cap, prot) < 0)
		return sp_fail(
		        SP_ENOTSUP,
		        "this system lets no code run that was made at run time (SELinux, PaX or a seccomp "
		        "filter refuses it), so no cliff can be measured");
	return 0;
}

int native_code_make(struct cliff_code *out, const struct cliff *c, uint32_t pressure)
{
	int err = native_code_allow(out, PROT_READ | PROT_WRITE);

	if (err == 0)
		err = cliff_emit(c, pressure, out);
	return err < 0 ? err : native_code_allow(out, PROT_READ | PROT_EXEC);
}

uint64_t native_call_ticks(const struct cliff_code *c, uint64_t iterations, struct cliff_state *state)
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
uint64_t native_run_ticks(struct cliff_native *n, const struct cliff_code *c, uint64_t iterations)
{
	uint64_t before, after;

	if (n->counter < 0)
		return native_call_ticks(c, iterations, n->arena.state);
	if (read(n->counter, &before, sizeof(before)) != sizeof(before))
		return LOST;
	native_call_ticks(c, iterations, n->arena.state);
	return read(n->counter, &after, sizeof(after)) == sizeof(after) ? after - before : LOST;
}

void native_counter_open(struct cliff_native *n)
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
bool native_clock_once(struct cliff_native *n, double *cycles_per_tick)
{
	uint64_t one = native_run_ticks(n, &n->clock, CLOCK_ITERATIONS);
	uint64_t three = native_run_ticks(n, &n->clock, 3 * CLOCK_ITERATIONS);

	*cycles_per_tick = 2.0 * CLOCK_ITERATIONS * CLOCK_ADDS / (double)(three - one);
	return three > one;
}

static double clock_now(struct cliff_native *n)
{
	double ratio[CLOCK_RUNS];
	size_t used = 0;

	for (unsigned i = 0; i < CLOCK_RUNS; i++)
		used += native_clock_once(n, &ratio[used]);
	gsl_sort(ratio, 1, used);
	return used ? gsl_stats_median_from_sorted_data(ratio, 1, used) : n->cycles_per_tick;
}

double native_seconds_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_RAW, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void find_tsc(struct cliff_native *n)
{
	double begin = native_seconds_now(), now;
	uint64_t ticks = ticks_begin();

	while ((now = native_seconds_now()) < begin + 0.02)
		;
	n->tsc_ghz = (double)(ticks_end() - ticks) / (now - begin) * 1e-9;
}

int native_clock_start(struct cliff_native *n)
{
	const struct cliff *add = cliff_find("add-latency");
	int err;

	cliff_arena_prepare(&n->arena, add, CLOCK_ADDS);
	if ((err = native_code_open(&n->clock)) < 0 ||
	    (err = native_code_make(&n->clock, add, CLOCK_ADDS)) < 0)
		return err;
	/* The frequency rises within milliseconds of work. */
	native_run_ticks(n, &n->clock, 400000);
	find_tsc(n);
	n->cycles_per_tick = clock_now(n);
	n->core_ghz = n->tsc_ghz * n->cycles_per_tick;
	return 0;
}
