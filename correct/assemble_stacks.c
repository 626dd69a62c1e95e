/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Call stacks of samples, as a tree from the outermost callers down. */
#include <stdlib.h>

#include "correct/assemble_impl.h"
#include "profiler/base/vec.h"

enum { MOST_FRAMES = 1024 };

/* Markers of the kernel's between the parts of a chain: the highest addresses there are. */
#define FIRST_MARKER ((uint64_t)-4095)

struct stacks {
	struct assembly *a;
	struct pairs places;          /* (module, vaddr) */
	VEC(struct scopes_of) scopes; /* by places */
	VEC(uint32_t) funcs;          /* of all scopes, outermost first */
	struct pairs children;        /* (frame, function): frame - 1 */
	size_t frame_cap;
};

struct scopes_of {
	uint32_t func0, n;
};

/* The functions at an address, outermost first; -SP_ENOMEM. */
static int scopes_at(struct stacks *s, struct place at, struct scopes_of *out)
{
	struct module_scope scopes[MODULE_MAX_SCOPES];
	long place = pairs_number(&s->places, (uint32_t)at.module, at.vaddr);
	size_t n;

	if (place < 0)
		return -SP_ENOMEM;
	if ((size_t)place < s->scopes.n) {
		*out = s->scopes.v[place];
		return 0;
	}
	n = module_scopes(s->a->w->rec->modules[at.module], at.vaddr, scopes);
	if (!n)
		scopes[n++] = (struct module_scope){ .id = UINT32_MAX,
			                             .name = "[unknown]",
			                             .linkage = "[unknown]" };
	*out = (struct scopes_of){ (uint32_t)s->funcs.n, (uint32_t)n };
	for (size_t i = n; i-- > 0;) {
		long func = func_index_scope(s->a->funcs, (uint32_t)at.module, &scopes[i], i + 1 < n);

		if (func < 0 || vec_push(&s->funcs, (uint32_t)func) < 0)
			return -SP_ENOMEM;
	}
	return vec_push(&s->scopes, *out);
}

static long child_of(struct stacks *s, uint32_t frame, uint32_t func, uint32_t phys)
{
	struct profile *p = s->a->p;
	long child = pairs_number(&s->children, frame, func);

	if (child < 0)
		return child;
	if ((size_t)child + 1 < p->n_frames)
		return child + 1;
	if (vec_reserve_raw((void **)&p->frames, &s->frame_cap, p->n_frames + 1, sizeof(*p->frames)) < 0)
		return -SP_ENOMEM;
	p->frames[p->n_frames] = (struct profile_frame){ .parent = frame, .func = func, .phys_func = phys };
	return (long)p->n_frames++;
}

/* Below frame, all functions at an address. */
static long descend(struct stacks *s, long frame, struct place at)
{
	struct scopes_of scopes;

	/* What is in no file is a frame of nothing that has a name. */
	if (at.module < 0)
		return frame;
	if (scopes_at(s, at, &scopes) < 0)
		return -SP_ENOMEM;
	for (uint32_t i = 0; i < scopes.n && frame >= 0; i++)
		frame = child_of(s, (uint32_t)frame, s->funcs.v[scopes.func0 + i], s->funcs.v[scopes.func0]);
	return frame;
}

static int add_stack(void *arg, const struct recording *rec, const struct pd_record *r, struct place place)
{
	struct stacks *s = arg;
	const uint64_t *chain = r->sample.callchain;
	size_t n = r->sample.n_callchain < MOST_FRAMES ? r->sample.n_callchain : MOST_FRAMES;
	double weight = recording_weight(rec, r);
	bool innermost = true;
	long frame = 0;

	if (r->event != rec->insn_event && r->event != rec->cyc_event)
		return 0;
	/* The first address is where the sample was; others are returned to, and the call is before them. */
	for (size_t i = n; i-- > 0 && frame >= 0;) {
		if (chain[i] >= FIRST_MARKER || chain[i] == r->sample.ip)
			continue;
		frame = descend(s, frame, recording_place(rec, r->pid, chain[i] - 1));
		innermost = false;
	}
	if (frame >= 0)
		frame = descend(s, frame, place);
	if (frame < 0)
		return -SP_ENOMEM;
	s->a->p->meta.n_chains += !innermost;
	if (r->event == rec->insn_event)
		s->a->p->frames[frame].raw_insn += weight;
	else
		s->a->p->frames[frame].raw_cyc += weight;
	return 0;
}

static bool has_chains(const struct work *w)
{
	for (size_t i = 0; i < pd_n_events(w->rec->reader); i++)
		if (pd_event(w->rec->reader, i)->attr.sample_type & PERF_SAMPLE_CALLCHAIN)
			return true;
	return false;
}

int assemble_stacks(struct assembly *a)
{
	struct stacks s = { .a = a };
	int err = 0;

	if (!a->w->opts->stacks || !has_chains(a->w))
		return 0;
	if (vec_reserve_raw((void **)&a->p->frames, &s.frame_cap, 1, sizeof(*a->p->frames)) < 0)
		return -SP_ENOMEM;
	a->p->frames[0] =
	        (struct profile_frame){ .parent = UINT32_MAX, .func = UINT32_MAX, .phys_func = UINT32_MAX };
	a->p->n_frames = 1;
	err = recording_each(a->w->rec, "reading call stacks", add_stack, &s);
	pairs_fini(&s.places);
	pairs_fini(&s.children);
	vec_fini(&s.scopes);
	vec_fini(&s.funcs);
	return err < 0 ? err : assemble_modules(a);
}
