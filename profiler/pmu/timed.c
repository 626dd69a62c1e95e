/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/pmu/timed.h"

#include <errno.h>
#include <gsl/gsl_sort.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "profiler/base/clock.h"
#include "profiler/base/err.h"
#include "profiler/pmu/perf_event.h"

enum {
	RING_PAGES = 2,
	/* Of an interrupt's cost: so many, of which a timer tick or another program may spoil some. */
	TRIALS = 100,
	TRIAL_NS = 50000, /* from one to the next */
	MOST_NS = 200000000,
	LEAST_GAP_NS = 300, /* a turn of the loop that looks for gaps takes less, no interrupt does */
	CLOCK_NS = 2000000, /* to learn the rate of the counter by */
};

#if defined(__x86_64__)

#include <asm/perf_regs.h>

#define BIT(r) (1ull << PERF_REG_X86_##r)

static const uint64_t regs_mask = BIT(AX) | BIT(BX) | BIT(CX) | BIT(DX) | BIT(SI) | BIT(DI) | BIT(BP) |
                                  BIT(SP) | BIT(IP) | BIT(R8) | BIT(R9) | BIT(R10) | BIT(R11) | BIT(R12) |
                                  BIT(R13) | BIT(R14) | BIT(R15);
enum { N_REGS = RP_N_GPRS + 1 };

/* The kernel's order of them, as they are encoded. */
static void take_registers(const uint64_t *from, struct rp_registers *out)
{
	static const uint8_t number[RP_N_GPRS] = { RP_RAX, RP_RBX, RP_RCX, RP_RDX, RP_RSI, RP_RDI,
		                                   RP_RBP, RP_RSP, 8,      9,      10,     11,
		                                   12,     13,     14,     15 };
	enum { BEFORE_IP = 8 };

	for (unsigned i = 0; i < RP_N_GPRS; i++)
		out->gpr[number[i]] = from[i + (i >= BEFORE_IP)];
	out->ip = from[BEFORE_IP];
}

#elif defined(__aarch64__)

/* x0 to x30, the stack pointer, the address. */
static const uint64_t regs_mask = (1ull << (RP_N_GPRS + 2)) - 1;
enum { N_REGS = RP_N_GPRS + 2 };

static void take_registers(const uint64_t *from, struct rp_registers *out)
{
	memcpy(out->gpr, from, sizeof(out->gpr));
	out->sp = from[RP_N_GPRS];
	out->ip = from[RP_N_GPRS + 1];
}

#else

static const uint64_t regs_mask = 0;
enum { N_REGS = 0 };

static void take_registers(const uint64_t *from, struct rp_registers *out)
{
	(void)from;
	(void)out;
}

#endif

/*
 * Words of a sample behind its header: the counter's value, times enabled and running; the registers; the stack, its size,
 * bytes, and how many of these there really are.
 */
enum {
	READ_ENABLED = 1,
	REGS_ABI = 3,
	REGS_AT = 4,
	STACK_SIZE = REGS_AT + N_REGS,
	STACK_AT = STACK_SIZE + 1,
	STACK_USED = STACK_AT + RP_MARK_STACK / 8,
	N_WORDS = STACK_USED + 1,
};

int timed_open(struct timed *t, pid_t tid, uint64_t period_ns, uint32_t n)
{
	const struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = period_ns,
		.sample_type = PERF_SAMPLE_READ | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
		.sample_regs_user = regs_mask,
		.sample_stack_user = RP_MARK_STACK,
		.disabled = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.wakeup_events = n,
	};
	const struct pe_place at = { .tid = tid, .cpu = -1, .group_fd = -1 };
	int err;

	*t = (struct timed){ .fd = pe_open(&attr, &at), .period_ns = period_ns };
	if (t->fd < 0)
		return sp_fail_errno("perf_event_open");
	err = ring_open(&t->ring, t->fd, RING_PAGES);
	if (err < 0) {
		close(t->fd);
		t->fd = -1;
	}
	return err;
}

void timed_close(struct timed *t)
{
	if (t->fd < 0)
		return;
	ring_close(&t->ring);
	close(t->fd);
	t->fd = -1;
}

void timed_begin(struct timed *t)
{
	ioctl(t->fd, PERF_EVENT_IOC_ENABLE, 0);
}

struct moments {
	struct timed_moment *v;
	uint32_t n, most;
};

static int take(void *arg, const struct perf_event_header *rec)
{
	struct moments *m = arg;
	const uint64_t *words = (const uint64_t *)(rec + 1);

	if (rec->type != PERF_RECORD_SAMPLE || rec->size < sizeof(*rec) + N_WORDS * sizeof(*words) ||
	    m->n == m->most || words[REGS_ABI] != PERF_SAMPLE_REGS_ABI_64)
		return 0;
	if (words[STACK_SIZE] != RP_MARK_STACK)
		return 0;
	m->v[m->n] = (struct timed_moment){ .cpu_ns = words[READ_ENABLED],
		                            .mark.n_stack = words[STACK_USED] < RP_MARK_STACK
		                                                    ? (uint32_t)words[STACK_USED]
		                                                    : RP_MARK_STACK };
	take_registers(words + REGS_AT, &m->v[m->n].mark.regs);
	memcpy(m->v[m->n].mark.stack, words + STACK_AT, RP_MARK_STACK);
	m->n++;
	return 0;
}

uint32_t timed_await(struct timed *t, uint64_t may_ns, struct timed_moment *out, uint32_t n)
{
	struct pollfd p = { .fd = t->fd, .events = POLLIN };
	struct moments m = { out, 0, n };
	uint64_t until = clock_ns(CLOCK_MONOTONIC) + may_ns, now;

	while ((now = clock_ns(CLOCK_MONOTONIC)) < until) {
		const struct timespec left = { (time_t)((until - now) / 1000000000u),
			                       (long)((until - now) % 1000000000u) };

		if (ppoll(&p, 1, &left, NULL) >= 0 || errno != EINTR)
			break;
	}
	ioctl(t->fd, PERF_EVENT_IOC_DISABLE, 0);
	return ring_drain(&t->ring, take, &m) < 0 ? 0 : m.n;
}

/* Where time is missing between two looks at the counter, more than a look takes. */
static size_t find_gaps(double ns_per_tick, double *gaps)
{
	uint64_t last = rp_clock(), until = last + (uint64_t)(MOST_NS / ns_per_tick);
	size_t n = 0;

	while (last < until && n < TRIALS) {
		uint64_t now = rp_clock();

		if ((double)(now - last) * ns_per_tick > LEAST_GAP_NS)
			gaps[n++] = (double)(now - last) * ns_per_tick;
		last = now;
	}
	return n;
}

static double learn_rate(void)
{
	uint64_t begun_ns = clock_ns(CLOCK_MONOTONIC), begun = rp_clock(), ns;

	do
		ns = clock_ns(CLOCK_MONOTONIC) - begun_ns;
	while (ns < CLOCK_NS);
	return (double)ns / (double)(rp_clock() - begun);
}

double timed_interrupt_ns(void)
{
	double gaps[TRIALS];
	double ns_per_tick = learn_rate();
	struct timed t;
	size_t n;

	if (timed_open(&t, 0, TRIAL_NS, TRIALS) < 0)
		return 0;
	timed_begin(&t);
	n = find_gaps(ns_per_tick, gaps);
	timed_close(&t);
	gsl_sort(gaps, 1, n);
	return n >= TRIALS / 2 ? gaps[n / 2] : 0;
}
