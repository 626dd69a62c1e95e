/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/pmu/tally.h"

#include <inttypes.h>

#include "profiler/base/err.h"
#include "profiler/base/log.h"
#include "profiler/base/order.h"
#include "profiler/base/sum_up.h"

enum { MIN_SUM = 1 << 16 };

static int compare(const void *a, const void *b)
{
	const struct record_count *x = a, *y = b;

	return order_pairs(x->file, x->off, y->file, y->off);
}

static void add(void *to, const void *from)
{
	struct record_count *sum = to;
	const struct record_count *x = from;

	sum->n += x->n;
	sum->n_load += x->n_load;
	sum->n_miss += x->n_miss;
}

static void sum_up_counts(struct tally *t)
{
	t->counts.n = t->n_summed = sum_up(t->counts.v, t->counts.n, sizeof(*t->counts.v), compare, add);
}

int tally_add(struct tally *t, const struct record_count *count)
{
	/* Doubling before each sum keeps the sorting cheap on the whole. */
	if (t->counts.n >= MIN_SUM && t->counts.n >= 2 * t->n_summed)
		sum_up_counts(t);
	t->total += count->n;
	return vec_push(&t->counts, *count);
}

void tally_add_unmapped(struct tally *t, uint64_t n)
{
	t->n_unmapped += n;
	t->total += n;
}

static int compare_calls(const void *a, const void *b)
{
	const struct record_call *x = a, *y = b;
	int order = (x->begins > y->begins) - (x->begins < y->begins);

	if (!order)
		order = order_pairs(x->caller_file, x->caller_off, y->caller_file, y->caller_off);
	return order ? order : order_pairs(x->callee_file, x->callee_off, y->callee_file, y->callee_off);
}

static void add_call(void *to, const void *from)
{
	struct record_call *sum = to;
	const struct record_call *x = from;

	sum->n += x->n;
	sum->n_insn += x->n_insn;
}

static void sum_up_calls(struct tally *t)
{
	t->calls.n = t->n_calls_summed =
	        sum_up(t->calls.v, t->calls.n, sizeof(*t->calls.v), compare_calls, add_call);
}

int tally_add_call(struct tally *t, const struct record_call *call)
{
	if (t->calls.n >= MIN_SUM && t->calls.n >= 2 * t->n_calls_summed)
		sum_up_calls(t);
	return vec_push(&t->calls, *call);
}

/* Calls that are not all are none; nor where returns do not fit them: of a program that changes stacks by itself. */
static void hand_over_calls(struct tally *t, struct record_counts *out)
{
	static const double most_lost = 0.001;

	if (!t->calls_wanted)
		return;
	if (t->n_calls_lost)
		sp_note("who called is not written: %u process%s ended by a signal, or ran too much code",
		        t->n_calls_lost, t->n_calls_lost == 1 ? "" : "es");
	else if (t->n_switches)
		sp_note("who called is not written: the program changed its stacks %ju times (coroutines, "
		        "goroutines)",
		        (uintmax_t)t->n_switches);
	else if ((double)t->n_lost_returns > most_lost * (double)t->n_returns)
		sp_note("who called is not written: %.2g%% of all returns go to where nobody called from; "
		        "the "
		        "program changes its stacks by itself",
		        100 * (double)t->n_lost_returns / (double)t->n_returns);
	else {
		sum_up_calls(t);
		out->calls = t->calls.v;
		out->n_calls = t->calls.n;
		memset(&t->calls, 0, sizeof(t->calls));
	}
}

int tally_finish(struct tally *t, struct record_counts *out)
{
	uint64_t sum = t->n_unmapped;

	sum_up_counts(t);
	for (size_t i = 0; i < t->counts.n; i++) {
		if (t->counts.v[i].n > t->total)
			return sp_fail(SP_EFORMAT,
			               "an instruction's exact count, %ju, is above the total, %ju",
			               (uintmax_t)t->counts.v[i].n, (uintmax_t)t->total);
		sum += t->counts.v[i].n;
	}
	if (sum != t->total)
		return sp_fail(SP_EFORMAT, "the exact counts add up to %ju, and not to their total, %ju",
		               (uintmax_t)sum, (uintmax_t)t->total);
	out->v = t->counts.v;
	out->n = t->counts.n;
	out->n_unmapped = t->n_unmapped;
	memset(&t->counts, 0, sizeof(t->counts));
	hand_over_calls(t, out);
	tally_fini(t);
	memset(t, 0, sizeof(*t));
	return 0;
}

void tally_fini(struct tally *t)
{
	vec_fini(&t->counts);
	vec_fini(&t->calls);
}
