/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How fast a thread ran where a stack was taken: samples of cycles, and bursts, come evenly in time, and stand for the
 * instructions of their time (eq. 10).  Loops take turns within a few samples, so what counts are the intervals that a burst
 * runs over, or those on either side of a sample: what ran before is another loop's.
 */
#include "correct/evidence/path_impl.h"

static void grow(struct paces *p, const struct sample_seen *seen)
{
	while (p->threads.n <= seen->thread)
		vec_add(&p->threads, 0);
	while (p->counters.n <= seen->counters)
		vec_add(&p->counters, (struct counted){ 0 });
}

/* The interval that ends at a sample of these counts; one without a beginning has no length. */
static void add_span(struct paces *p, const struct counted *last, uint64_t insn, uint64_t cyc)
{
	struct span span = { 0 };

	if (last->span && insn >= last->insn && cyc >= last->cyc) {
		p->spans.v[last->span - 1].next = (uint32_t)p->spans.n + 1;
		span.insn = (float)(insn - last->insn);
		span.cyc = (float)(cyc - last->cyc);
	}
	vec_add(&p->spans, span);
}

uint32_t paces_sample(struct paces *p, const struct recording *rec, const struct sample_seen *seen)
{
	struct counted *last;
	uint64_t insn, cyc;

	grow(p, seen);
	if (seen->record->event == rec->burst_event)
		return p->threads.v[seen->thread];
	if (!sample_value(&seen->record->sample, rec->insn_event, &insn) ||
	    !sample_value(&seen->record->sample, rec->cyc_event, &cyc))
		return 0;
	last = &p->counters.v[seen->counters];
	add_span(p, last, insn, cyc);
	*last = (struct counted){ insn, cyc, (uint32_t)p->spans.n };
	return p->threads.v[seen->thread] = last->span;
}

/* Instructions per cycle, 0 if unknown: a sample ends one interval and begins the next, which a burst of n_insn begins in the midst of. */
static double pace_at(const struct paces *p, const struct stack *st, double n_insn)
{
	const struct span *s = &p->spans.v[st->span - 1];
	double insn = 0, cyc = 0, ran = 0;

	if (!st->burst || !s->next) {
		insn = (double)s->insn;
		cyc = (double)s->cyc;
	}
	while (s->next && ran <= n_insn) {
		s = &p->spans.v[s->next - 1];
		insn += (double)s->insn;
		cyc += (double)s->cyc;
		ran += (double)s->insn * (ran > 0 ? 1 : 0.5);
	}
	return cyc > 0 ? insn / cyc : 0;
}

void paces_apply(const struct paces *p, const struct piece *all, struct scope_stacks *r)
{
	for (size_t i = 0; i < r->stacks.n; i++) {
		struct stack *st = &r->stacks.v[i];
		double n_insn = 0, pace;

		if (!st->span)
			continue;
		for (uint32_t k = 0; st->burst && k < st->n_pieces; k++)
			n_insn += all[r->pieces.v[st->piece0 + k]].n_insn;
		pace = pace_at(p, st, n_insn);
		if (pace > 0)
			st->insn *= pace;
		st->span = 0;
	}
}

void paces_fini(struct paces *p)
{
	vec_fini(&p->spans);
	vec_fini(&p->counters);
	vec_fini(&p->threads);
}
