/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What of functions' counts belongs to each frame of the stacks. */
#include <stdlib.h>

#include "profiler/base/mem.h"
#include "profiler/base/pairs.h"
#include "profiler/base/vec.h"
#include "report/inclusive/impl.h"

double inclusive_ratio(double x, double y)
{
	return y > 0 ? x / y : 0;
}

/* A function in the physical one that holds it: what it ran there, and what its frames have. */
struct held {
	double insn, raw, time;
};

struct helds {
	struct pairs index; /* (func, phys_func) */
	VEC(struct held) v;
};

static struct held *held_of(struct helds *h, uint32_t func, uint32_t phys_func)
{
	size_t k = pairs_must(&h->index, func, phys_func);

	if (k == h->v.n)
		vec_add(&h->v, (struct held){ 0 });
	return &h->v.v[k];
}

static void find_held(const struct profile *p, struct helds *h)
{
	for (size_t i = 0; i < p->n_insns; i++)
		held_of(h, p->insns[i].func, p->insns[i].phys_func)->insn += p->insns[i].count.insn;
	for (size_t i = 1; i < p->n_frames; i++) {
		struct held *to = held_of(h, p->frames[i].func, p->frames[i].phys_func);

		to->raw += p->frames[i].raw_insn;
		to->time += p->frames[i].raw_cyc;
	}
}

/* Divided among its frames; where no sample of instructions fell those of time tell. */
static double insn_of_frame(const struct profile_frame *f, const struct held *h)
{
	return h->insn * (h->raw > 0 ? f->raw_insn / h->raw : inclusive_ratio(f->raw_cyc, h->time));
}

double *inclusive_frames(const struct profile *p, double **held)
{
	struct helds h = { 0 };
	double *sum = mem_calloc(p->n_funcs + 1, sizeof(*sum));
	double *insn = mem_calloc(p->n_frames + 1, sizeof(*insn));

	find_held(p, &h);
	for (size_t i = 1; i < p->n_frames; i++) {
		const struct profile_frame *f = &p->frames[i];
		struct held *of = held_of(&h, f->func, f->phys_func);

		/* A profile without instructions has functions alone. */
		if (!p->n_insns)
			of->insn = p->funcs[f->func].count.insn;
		insn[i] = insn_of_frame(f, of);
		sum[f->phys_func] += insn[i];
	}
	pairs_fini(&h.index);
	vec_fini(&h.v);
	/* What is inlined and none was seen of keeps to the function that holds it. */
	for (size_t g = 0; g < p->n_funcs; g++)
		sum[g] = inclusive_ratio(p->funcs[g].rolled.insn, sum[g]);
	for (size_t i = 1; i < p->n_frames && !held; i++)
		insn[i] *= sum[p->frames[i].phys_func];
	if (held)
		*held = sum;
	else
		free(sum);
	return insn;
}

bool *inclusive_called(const struct profile *p)
{
	bool *called = mem_calloc(p->n_funcs + 1, sizeof(*called));

	for (size_t i = 1; i < p->n_frames; i++)
		if (p->frames[i].func == p->frames[i].phys_func)
			called[p->frames[i].func] = true;
	return called;
}

struct profile_frame *inclusive_merge_inlined(const struct profile *p)
{
	struct profile_frame *frames = mem_malloc((p->n_frames + 1) * sizeof(*frames));
	bool *called = inclusive_called(p);

	for (size_t i = 0; i < p->n_frames; i++) { /* callers stand before callees */
		frames[i] = p->frames[i];
		if (i && frames[i].func != frames[i].phys_func && called[frames[i].func] && frames[i].parent)
			frames[i].func = frames[frames[i].parent].func;
	}
	free(called);
	return frames;
}

void inclusive_add_frame(struct inclusive *to, const struct profile_frame *f, double insn)
{
	to->raw_insn += f->raw_insn;
	to->cyc += f->raw_cyc;
	to->insn += insn;
}

bool inclusive_frame_is_empty(const struct profile_frame *f)
{
	return f->raw_insn == 0 && f->raw_cyc == 0;
}
