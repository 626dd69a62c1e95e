/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What was sampled over time.  How long a recording is shows at its end: steps double as it goes on. */

#include "correct/model/effort.h"
#include "profiler/base/mem.h"
#include "report/assemble/assemble_impl.h"
#include "report/assemble/calls.h"

struct time_line {
	struct profile *p;
	uint64_t start_ns;
	bool started;
};

/* Two steps become one, until the time is in one of them. */
static void make_room(struct profile *p, uint64_t since_ns)
{
	while (since_ns / p->step_ns >= EFFORT_TIME_LINE) {
		for (size_t i = 0; i < EFFORT_TIME_LINE; i++) {
			struct profile_step sum = { 0 };

			for (size_t k = 2 * i; k < 2 * i + 2 && k < EFFORT_TIME_LINE; k++) {
				sum.insn += p->steps[k].insn;
				sum.cyc += p->steps[k].cyc;
				for (size_t r = 0; r <= PROFILE_TIME_REGIONS; r++)
					sum.regions[r] += p->steps[k].regions[r];
			}
			p->steps[i] = sum;
		}
		p->step_ns *= 2;
		p->n_steps = (p->n_steps + 1) / 2;
	}
}

static size_t region_of(const struct profile *p, struct place place)
{
	long b = place.module < 0 ? -1 : profile_insn_at(p, (uint32_t)place.module, place.vaddr);
	int32_t region = b < 0 ? -1 : p->insns[b].region;

	return region >= 0 && region < PROFILE_TIME_REGIONS ? (size_t)region : PROFILE_TIME_REGIONS;
}

static void add_sample(void *arg, const struct recording *rec, const struct pd_record *r, struct place place)
{
	struct time_line *t = arg;
	struct profile *p = t->p;
	bool insn = r->event == rec->insn_event, cyc = r->event == rec->cyc_event;
	double weight = recording_weight(rec, r);
	struct profile_step *step;
	uint64_t since;

	if ((!insn && !cyc) || !r->time_ns)
		return;
	if (!t->started) {
		t->started = true;
		t->start_ns = r->time_ns;
	}
	since = r->time_ns > t->start_ns ? r->time_ns - t->start_ns : 0;
	make_room(p, since);
	if (since / p->step_ns >= p->n_steps)
		p->n_steps = since / p->step_ns + 1;
	step = &p->steps[since / p->step_ns];
	step->insn += insn ? weight : 0;
	step->cyc += cyc ? weight : 0;
	if (insn || rec->insn_event < 0)
		step->regions[region_of(p, place)] += weight;
}

int assemble_time(struct assembly *a)
{
	struct time_line t = { .p = a->p };

	if (!a->w->opts->stacks)
		return 0;
	a->p->steps = mem_calloc(EFFORT_TIME_LINE, sizeof(*a->p->steps));
	a->p->step_ns = 1000;
	return recording_each(a->w->rec, "placing samples in time", add_sample, &t);
}
