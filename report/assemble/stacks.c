/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Call stacks of samples, as a tree from the outermost callers down. */

#include "profiler/base/vec.h"
#include "report/assemble/assemble_impl.h"
#include "report/assemble/callers.h"
#include "report/assemble/hidden_callers.h"
#include "report/assemble/lost_callers.h"

struct stacks {
	struct assembly *a;
	struct callers callers;
	struct pairs places;                /* (module, vaddr) */
	VEC(struct inlinings_of) inlinings; /* by places */
	VEC(uint32_t) funcs;                /* of all inlinings, outermost first */
	struct pairs children;              /* (frame, and how it was called; function): frame - 1 */
	size_t frame_cap;
	VEC(struct stack_call) calls; /* of the sample's stack, innermost first */
	struct hidden_callers *hidden;
	struct lost_callers lost;
	size_t n_calls;       /* that a branch record has held, at most */
	VEC(uint32_t) tested; /* functions of a burst's stack, innermost first */
};

struct inlinings_of {
	uint32_t func0, n;
};

/* The functions at an address, outermost first. */
static void inlinings_at(struct stacks *s, struct place at, struct inlinings_of *out)
{
	struct module_inlining inlinings[MODULE_MAX_INLININGS];
	long place = pairs_must(&s->places, (uint32_t)at.module, at.vaddr);
	size_t n;

	if ((size_t)place < s->inlinings.n) {
		*out = s->inlinings.v[place];
		return;
	}
	n = module_inlinings(s->a->w->rec->modules[at.module], at.vaddr, inlinings);
	if (!n)
		inlinings[n++] = (struct module_inlining){ .id = UINT32_MAX,
			                                   .name = "[unknown]",
			                                   .linkage = "[unknown]" };
	*out = (struct inlinings_of){ (uint32_t)s->funcs.n, (uint32_t)n };
	for (size_t i = n; i-- > 0;) {
		long func = func_index_inlining(s->a->funcs, (uint32_t)at.module, &inlinings[i], i + 1 < n);

		vec_add(&s->funcs, (uint32_t)func);
	}
	vec_add(&s->inlinings, *out);
}

/* How is the caller of a frame known? */
enum called { RECORDED, OPEN, LOST, N_CALLED };

static long child_of(struct stacks *s, uint32_t frame, enum called how, uint32_t func, uint32_t phys)
{
	struct profile *p = s->a->p;
	long child = pairs_must(&s->children, N_CALLED * (uint64_t)frame + how, func);

	if ((size_t)child + 1 < p->n_frames)
		return child + 1;
	vec_room_raw((void **)&p->frames, &s->frame_cap, p->n_frames + 1, sizeof(*p->frames));
	p->frames[p->n_frames] = (struct profile_frame){
		.parent = frame, .func = func, .phys_func = phys, .open = how == OPEN, .doubt = how == LOST
	};
	return (long)p->n_frames++;
}

/* Below frame, all functions at an address. */
static long descend(struct stacks *s, long frame, struct place at, enum called how)
{
	struct inlinings_of inlinings;

	/* What is in no file is a frame of nothing that has a name. */
	if (at.module < 0)
		return frame;
	inlinings_at(s, at, &inlinings);
	for (uint32_t i = 0; i < inlinings.n && frame >= 0; i++)
		frame = child_of(s, (uint32_t)frame, i == 0 ? how : RECORDED, s->funcs.v[inlinings.func0 + i],
		                 s->funcs.v[inlinings.func0]);
	return frame;
}

/* What called the outermost function of a stack, 0 = nothing that is known. */
static uint32_t lost_above(struct stacks *s, uint32_t tid, struct place at)
{
	struct inlinings_of inlinings;

	if (at.module < 0)
		return 0;
	inlinings_at(s, at, &inlinings);
	return lost_callers_find(&s->lost, s->a->p, tid, s->funcs.v[inlinings.func0]);
}

/* The places of a sample's stack, innermost first, with the callers that frame pointers and branch records leave out. */
static void places_of(struct stacks *s, const struct recording *rec, const struct pd_record *r,
                      struct place place, struct stack_place **out, size_t *n)
{
	const struct place none = { .module = -1 };
	const struct callers *c = &s->callers;
	size_t first = c->ips.n - c->entries.n;

	s->calls.n = 0;
	vec_add(&s->calls, (struct stack_call){ place, none });
	for (size_t i = 0; i < c->ips.n; i++) {
		struct place at = recording_place(rec, r->pid, c->ips.v[i] - 1),
		             entry = i < first ? none : recording_place(rec, r->pid, c->entries.v[i - first]);

		vec_add(&s->calls, (struct stack_call){ at, entry });
	}
	hidden_callers_find(s->hidden, s->calls.v, s->calls.n, out, n);
}

/* All functions at some places of a stack, to the end of s->tested. */
static void add_functions(struct stacks *s, const struct stack_place *at, size_t n)
{
	struct inlinings_of inlinings;

	for (size_t i = 0; i < n; i++) {
		if (at[i].at.module < 0)
			continue;
		inlinings_at(s, at[i].at, &inlinings);
		for (uint32_t k = 0; k < inlinings.n; k++)
			vec_add(&s->tested, s->funcs.v[inlinings.func0 + k]);
	}
}

/* A burst has its whole stack: were it one of branch records, would its lost callers be found? */
static void test_lost(struct stacks *s, const struct recording *rec, const struct pd_record *r,
                      struct place place)
{
	struct lost_test test = { .tid = r->tid };
	struct inlinings_of outermost;
	struct stack_place *at;
	size_t n_whole, n_held, n;
	bool whole;

	if (!s->n_calls || !callers_of_bursts(rec))
		return;
	callers_of(&s->callers, s->a->w->rec, r, &whole);
	n_whole = s->callers.ips.n;
	if (!whole || n_whole <= s->n_calls)
		return;
	s->callers.ips.n = s->n_calls;
	places_of(s, rec, r, place, &at, &n_held);
	s->callers.ips.n = n_whole;
	places_of(s, rec, r, place, &at, &n);
	if (n_held >= n || at[n_held - 1].at.module < 0)
		return;
	inlinings_at(s, at[n_held - 1].at, &outermost);
	test.func = s->funcs.v[outermost.func0];
	s->tested.n = 0;
	add_functions(s, at, n_held);
	test.n_held = s->tested.n;
	add_functions(s, at + n_held, n - n_held);
	test.n_above = s->tested.n - test.n_held;
	test.held = s->tested.v;
	test.above = s->tested.v + test.n_held;
	lost_callers_test(&s->lost, s->a->p, &test);
}

static void add_stack(void *arg, const struct recording *rec, const struct pd_record *r, struct place place)
{
	struct stacks *s = arg;
	struct profile_meta *meta = &s->a->p->meta;
	double weight = recording_weight(rec, r);
	struct stack_place *at;
	bool whole, open = false, lost;
	long frame = 0;
	size_t n;

	if (r->event == rec->burst_event)
		test_lost(s, rec, r, place);
	if (r->event != rec->insn_event && r->event != rec->cyc_event)
		return;
	s->n_calls = s->n_calls < rec->n_calls ? rec->n_calls : s->n_calls;
	callers_of(&s->callers, s->a->w->rec, r, &whole);
	places_of(s, rec, r, place, &at, &n);
	frame = lost_above(s, r->tid, at[n - 1].at);
	lost = frame > 0;
	for (size_t i = n; i-- > 0;) {
		frame = descend(s, frame, at[i].at, at[i].open ? OPEN : lost && i + 1 == n ? LOST : RECORDED);
		open |= at[i].open;
	}
	lost_callers_learn(&s->lost, s->a->p, r->tid, (uint32_t)frame, r->event == rec->insn_event);
	meta->n_chains += n > 1;
	meta->n_chains_open += open;
	meta->n_chains_lost += lost;
	meta->n_chains_cut += !whole;
	if (r->event == rec->insn_event)
		s->a->p->frames[frame].raw_insn += weight;
	else
		s->a->p->frames[frame].raw_cyc += weight;
}

static int add_stacks(struct stacks *s)
{
	struct profile *p = s->a->p;
	int err;

	do {
		pairs_fini(&s->children);
		lost_callers_free(&s->lost);
		p->n_frames = 0;
		vec_room_raw((void **)&p->frames, &s->frame_cap, 1, sizeof(*p->frames));
		p->frames[p->n_frames++] = (struct profile_frame){ .parent = UINT32_MAX,
			                                           .func = UINT32_MAX,
			                                           .phys_func = UINT32_MAX };
		p->meta.n_chains = p->meta.n_chains_cut = p->meta.n_chains_open = p->meta.n_chains_lost = 0;
		err = recording_each(s->a->w->rec, "reading call stacks", add_stack, s);
	} while (err == 0 && hidden_callers_again(s->hidden));
	lost_callers_judge(&s->lost, p);
	p->meta.n_lost_tested = s->lost.n_tested;
	p->meta.n_lost_wrong = s->lost.n_wrong;
	return err;
}

int assemble_stacks(struct assembly *a)
{
	struct stacks s = { .a = a };
	int err;

	if (!a->w->opts->stacks || !callers_are_recorded(a->w->rec))
		return 0;
	a->p->meta.chains = callers_source(a->w->rec);
	hidden_callers_new(a->w->rec, &s.hidden);
	err = add_stacks(&s);
	hidden_callers_free(s.hidden);
	callers_fini(&s.callers);
	/* Where not one sample has a caller the code's flow tells more. */
	if (!a->p->meta.n_chains)
		a->p->n_frames = 0;
	lost_callers_free(&s.lost);
	pairs_fini(&s.places);
	pairs_fini(&s.children);
	vec_fini(&s.inlinings);
	vec_fini(&s.funcs);
	vec_fini(&s.calls);
	vec_fini(&s.tested);
	return err;
}
