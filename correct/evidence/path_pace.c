/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How fast a thread ran where a stack was taken: samples of cycles, and bursts, come evenly in time, and stand for the
 * instructions of their time (eq. 10).  Loops take turns within a few samples, so what counts is the interval that a burst
 * lies in, or those on either side of a sample: the pace before a loop was come to is another's.
 */
#include "correct/evidence/path_impl.h"
#include "correct/model/model.h"

enum { AHEAD = 2 }; /* intervals; what more would add is nothing to speak of */

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
		struct span *before = &p->spans.v[last->span - 1];

		before->next = (uint32_t)p->spans.n + 1;
		span.insn = (float)(insn - last->insn);
		span.cyc = (float)(cyc - last->cyc);
		span.back_insn = span.insn + (float)model->further * before->back_insn;
		span.back_cyc = span.cyc + (float)model->further * before->back_cyc;
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

/* Instructions per cycle, 0 if unknown. */
static double pace_at(const struct paces *p, uint32_t at, bool burst)
{
	const struct span *s = &p->spans.v[at - 1];
	double times = 1, insn = (burst ? model->further : 1) * (double)s->back_insn,
	       cyc = (burst ? model->further : 1) * (double)s->back_cyc;

	for (int i = 0; i < AHEAD && s->next; i++, times *= model->further) {
		s = &p->spans.v[s->next - 1];
		insn += times * (double)s->insn;
		cyc += times * (double)s->cyc;
	}
	return cyc > 0 ? insn / cyc : 0;
}

void paces_apply(const struct paces *p, struct scope_stacks *r)
{
	for (size_t i = 0; i < r->stacks.n; i++) {
		struct stack *st = &r->stacks.v[i];
		double pace = st->span ? pace_at(p, st->span, st->burst) : 0;

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
