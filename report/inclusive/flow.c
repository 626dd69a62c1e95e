/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inclusive counts by the code's flow, and by paths where it leaves them open. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "correct/model/model.h"
#include "profiler/base/mem.h"
#include "report/assemble/context_walk.h"
#include "report/inclusive/impl.h"

/* What calls nothing is what it runs itself. */
static bool *mark_callers(const struct profile *p)
{
	bool *calls = mem_calloc(p->n_funcs + 1, sizeof(*calls));

	for (size_t i = 0; i < p->n_calls; i++)
		calls[p->calls[i].caller] = calls[p->calls[i].caller] || p->calls[i].share > 0;
	for (size_t i = 0; i < p->n_contexts; i++)
		if (p->contexts[i].parent != UINT32_MAX)
			calls[p->contexts[p->contexts[i].parent].func] = true;
	return calls;
}

/* What calls that no path shows come to, of one that may call itself through others. */
static double unshown_weight(const struct profile *p, uint32_t func, const struct owners *o)
{
	bool in_cycle = false;
	double sum = 0;

	for (size_t i = 0; i < p->n_calls; i++) {
		const struct profile_call *c = &p->calls[i];

		if (!(o->any[c->caller] > 0) || c->caller == c->callee || !(c->share > inclusive_small))
			continue;
		in_cycle |= c->callee == func;
		sum += o->ran[i] > 0 ? 0 : c->share * o->below[c->callee];
	}
	return in_cycle ? fmin(sum, o->unseen) : 0;
}

/* Paths of a recursion tell only where they have its calls: of the others what they come to may be func's, or not. */
static void ask_contexts(const struct profile *p, uint32_t func, struct owners *o, struct inclusive *c)
{
	const struct inclusive by_flow = *c;
	double unshown = unshown_weight(p, func, o);

	owners_count(p, func, o, c);
	c->lo = fmax(c->lo - unshown, by_flow.lo);
	c->hi = fmin(c->hi + unshown, by_flow.hi);
	/* What may be twice as much, or half, is not known at all. */
	if (c->hi - c->lo > inclusive_weight(p, c) || 2 * c->lo < inclusive_weight(p, c))
		*(inclusive_is_of_insn(p) ? &c->insn : &c->cyc) = NAN;
}

/*
 * Where something in it calls by a pointer, all may be called whose callers nothing tells, with what that calls.  What calls func
 * is not: the code would have to come back to it.
 */
static double uncalled_weight(const struct profile *p, uint32_t func, const struct owners *o)
{
	bool opens = false;
	double sum = 0;

	for (size_t g = 0; g < p->n_funcs && !opens; g++)
		opens = o->any[g] > 0 && p->funcs[g].opens;
	for (size_t i = 0; i < o->uncalled.n && opens; i++) {
		uint32_t g = o->uncalled.v[i];

		if (!o->reach[i * p->n_funcs + func] && !(o->any[g] > 0) && !o->begins[i])
			sum += o->below[g];
	}
	return fmin(sum, o->unseen);
}

/* By the flow: bounds, and a count where they are close; else by paths, where they tell it. */
static struct inclusive count_told(const struct profile *p, uint32_t f, struct owners *o)
{
	struct inclusive least, most, c;

	inclusive_find_any(&o->sets, f, o->any);
	memcpy(o->all, o->any, p->n_funcs * sizeof(*o->all));
	inclusive_keep_all(&o->sets, f, o->all);
	most = inclusive_sum(p, o->any);
	least = inclusive_sum(p, o->all);
	c = inclusive_between(p, &least, &most);
	if (inclusive_is_of_insn(p)) {
		double half = own_noise_half(o->noise, o->all);
		bool same = memcmp(o->any, o->all, p->n_funcs * sizeof(*o->all)) == 0;

		c.lo = fmax(c.lo - half, 0);
		c.hi += same ? half : own_noise_half(o->noise, o->any);
	}
	if (isnan(inclusive_weight(p, &c)) && inclusive_weight(p, &most) > 0 && p->n_contexts)
		ask_contexts(p, f, o, &c);
	return c;
}

static bool has_main(const struct owners *o)
{
	for (size_t k = 0; k < o->mains.n; k++)
		if (o->any[o->mains.v[k]] > 0)
			return true;
	return false;
}

/*
 * The code has calls that main() makes, and not that threads begin with the same functions: all of these would be main()'s.  What
 * ran in such threads is none of it.
 */
static void leave_threads(const struct profile *p, const struct owners *o, struct inclusive *c)
{
	const double room = o->most - o->begun, weight = inclusive_weight(p, c);

	if (!(o->begun > 0) || !has_main(o))
		return;
	c->hi = fmin(c->hi, room + o->begun_half);
	/* Bounds that allow it tell of its part; others take all for its own. */
	if (c->lo > c->hi)
		c->lo = fmin(fmax(c->lo - o->begun - o->begun_half, 0), c->hi);
	if (!(weight > c->hi))
		return;
	c->raw_insn = NAN;
	if (inclusive_is_of_insn(p)) {
		c->insn = fmax(room, c->lo);
		c->cyc = NAN;
	} else {
		c->cyc = fmax(room, c->lo);
	}
	/* What may be twice as much, or half, is not known at all. */
	if (c->hi - c->lo > inclusive_weight(p, c) || 2 * c->lo < inclusive_weight(p, c))
		*(inclusive_is_of_insn(p) ? &c->insn : &c->cyc) = NAN;
}

/* With what may be called by pointers besides. */
static struct inclusive count_by_calls(const struct profile *p, uint32_t f, struct owners *o)
{
	struct inclusive c = count_told(p, f, o);
	double more = uncalled_weight(p, f, o);

	c.hi = fmin(c.hi + more, fmax(c.hi, o->most));
	/* What may be twice as much is not known. */
	if (more > inclusive_weight(p, &c))
		c.raw_insn = c.insn = c.cyc = NAN;
	leave_threads(p, o, &c);
	return c;
}

/* What functions come to that nobody is known to call: by paths where these know it, and not as calls are shared. */
static void begin(const struct profile *p, const struct own_noise *noise, struct owners *o)
{
	owners_new(p, noise, o);
	for (size_t i = 0; i < o->uncalled.n; i++) {
		struct inclusive c = count_told(p, o->uncalled.v[i], o);
		double *below = &o->below[o->uncalled.v[i]];

		*below = fmax(*below, inclusive_weight(p, &c));
	}
}

void inclusive_by_flow(const struct profile *p, const struct own_noise *noise, struct inclusive *out)
{
	struct owners o;
	bool *calls = mark_callers(p);

	begin(p, noise, &o);
	for (uint32_t f = 0; f < p->n_funcs; f++) {
		const struct profile_count *c = &p->funcs[f].rolled;
		double own;

		if (!calls[f] && !inclusive_has_code(p, f))
			continue;
		if (!calls[f] && !p->funcs[f].opens) {
			out[f] =
			        (struct inclusive){ .raw_insn = c->raw_insn, .insn = c->insn, .cyc = c->cyc };
			out[f].by_status[p->funcs[f].rolled_status] = c->insn;
			own = inclusive_weight(p, &out[f]);
			out[f].lo = out[f].hi = own;
			if (inclusive_is_of_insn(p) && c->hi > c->lo) {
				out[f].lo = c->lo;
				out[f].hi = c->hi;
			}
			continue;
		}
		out[f] = count_by_calls(p, f, &o);
	}
	owners_free(&o);
	free(calls);
}

/* Is a frame one of a physical function, and none above it of the same? */
static bool is_outermost(const struct profile *p, size_t frame)
{
	const uint32_t func = p->frames[frame].func;

	if (func != p->frames[frame].phys_func)
		return false;
	for (uint32_t at = p->frames[frame].parent; at; at = p->frames[at].parent)
		if (p->frames[at].func == func)
			return false;
	return true;
}

/*
 * Functions that jump to another at their end are on no stack of it: its frame has taken the place of theirs.  The flow tells
 * them by calls that no stack has, where several would.  Malloc'd, [n_funcs]: instructions of such calls.
 */
static double *find_jumped(const struct profile *p)
{
	bool *seen = mem_calloc(p->n_calls + 1, sizeof(*seen));
	/* Samples of instructions in what somebody called, with all below it. */
	double *jumped = mem_calloc(p->n_funcs + 1, sizeof(*jumped)),
	       *samples = mem_calloc(p->n_funcs + 1, sizeof(*samples)),
	       *below = mem_calloc(p->n_frames + 1, sizeof(*below));
	double period = profile_mean_period(&p->meta.events[p->meta.insn_event]);

	for (size_t i = p->n_frames; i-- > 1;) { /* callers stand before callees */
		const struct profile_frame *f = &p->frames[i];
		/* The flow has calls of physical functions: what is inlined calls as the one that holds it. */
		long call = f->parent ? context_find_call(p, p->frames[f->parent].phys_func, f->func) : -1;

		below[i] += f->raw_insn;
		below[f->parent] += below[i];
		if (f->parent && period > 0 && is_outermost(p, i))
			samples[f->func] += below[i] / period;
		if (call >= 0)
			seen[call] = true;
	}
	for (size_t i = 0; i < p->n_calls; i++) {
		const struct profile_call *c = &p->calls[i];
		double missing = seen[i] ? 0 : c->share * samples[c->callee];

		/* Beside what its own stacks have, as few as a caller of one call in thousands has make no matter. */
		if (missing >= model->few && missing > model->little * samples[c->caller])
			jumped[c->caller] += missing * period;
	}
	free(seen);
	free(samples);
	free(below);
	return jumped;
}

/*
 * Samples as they are tell it (stack_bounds.c), and not the sum of its parts.  What has hardly any, or less than half of what paths
 * have, may have jumped to all the others.
 */
static bool as_sampled(const struct profile *p, const struct inclusive *c, const struct inclusive *by_paths)
{
	double period = profile_mean_period(&p->meta.events[p->meta.insn_event]);

	return c->by_status[PROFILE_RAW] == c->insn && c->raw_insn >= model->few * period &&
	       2 * c->insn > by_paths->lo;
}

void inclusive_ask_paths(const struct profile *p, const struct own_noise *noise, struct inclusive *out)
{
	struct owners o;
	double *jumped = p->meta.insn_event >= 0 ? find_jumped(p) : NULL;
	bool *called = inclusive_called(p), *calls = mark_callers(p);

	begin(p, noise, &o);
	for (uint32_t f = 0; f < p->n_funcs; f++) {
		struct inclusive by_paths;
		bool jumps = jumped && jumped[f] > 0, wider, more, sampled;

		/* The flow knows physical functions: what is only inlined stacks alone have. */
		if (!(out[f].hi > out[f].lo || calls[f]) || !called[f] || !inclusive_is_of_insn(p))
			continue;
		by_paths = count_by_calls(p, f, &o);
		wider = by_paths.hi - by_paths.lo >= out[f].hi - out[f].lo;
		/* What it jumps to at its end no stack has below it: all that paths have there is more than stacks allow. */
		more = by_paths.lo > out[f].hi;
		sampled = jumped && as_sampled(p, &out[f], &by_paths);
		/* What stacks have seen below it happened: calls of code that runs long are too few to be on paths. */
		if (by_paths.hi < out[f].lo || (wider && !jumps && (!more || sampled)))
			continue;
		if (wider && !more && isnan(by_paths.insn)) {
			out[f].hi = fmin(out[f].hi + jumped[f], by_paths.hi);
			continue;
		}
		out[f].insn = isnan(by_paths.insn) ? fmin(fmax(out[f].insn, by_paths.lo), by_paths.hi)
		                                   : by_paths.insn;
		out[f].lo = by_paths.lo;
		out[f].hi = by_paths.hi;
	}
	owners_free(&o);
	free(jumped);
	free(called);
	free(calls);
}
