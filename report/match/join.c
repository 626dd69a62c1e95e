/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Exact counts beside a profile: which function of it holds each instruction of the truth. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "correct/judge/reasons.h"
#include "profiler/base/mem.h"
#include "profiler/base/order.h"
#include "profiler/base/sum_up.h"
#include "profiler/base/texts.h"
#include "report/assemble/names.h"
#include "report/match/match.h"

/* The truth's functions, and where they are in the profile. */
struct join {
	struct profile *p;
	const struct truth *t;
	struct pairs inlinings; /* (object, inlining id) -> func[] */
	VEC(uint32_t) func;     /* profile function of each */
	struct texts linkages;
	struct pairs names;    /* (module and linkage, line and column) -> of_name[] */
	VEC(uint32_t) of_name; /* the last profile function of that name */
	size_t func_cap;
	size_t n_sampled; /* functions of the profile that it had before */
	VEC(double) own;
	VEC(double) rolled;
	struct match match;
	double unmatched;
};

static uint64_t name_key(uint32_t module, long linkage)
{
	return (uint64_t)module << 32 | (uint32_t)linkage;
}

/* Closures of one line have one name. */
static uint64_t place_key(uint32_t line, uint32_t column)
{
	return (uint64_t)column << 32 | line;
}

/* Enter function i of the profile under its name. */
static int enter_name(struct join *j, uint32_t i)
{
	const struct profile_func *f = &j->p->funcs[i];
	long linkage = texts_number(&j->linkages, f->linkage, strlen(f->linkage)), name;

	if (linkage < 0)
		return (int)linkage;
	name = pairs_must(&j->names, name_key(f->module, linkage), place_key(f->line, f->column));
	if ((size_t)name == j->of_name.n)
		vec_add(&j->of_name, i);
	j->of_name.v[name] = i;
	return 0;
}

static long find_name(const struct join *j, uint32_t module, const char *linkage, uint64_t place)
{
	long text = texts_find(&j->linkages, linkage),
	     name = text < 0 ? -1 : pairs_find(&j->names, name_key(module, text), place);

	return name < 0 ? -1 : (long)j->of_name.v[name];
}

/* The number of a source file, most often that of the function before. */
static uint32_t add_file(struct profile *p, const char *file)
{
	if (!file || !*file)
		return 0;
	if (p->n_files && strcmp(p->files[p->n_files - 1], file) == 0)
		return (uint32_t)p->n_files - 1;
	return profile_add_file(p, file);
}

/* A function that ran but was never sampled: a row of its own, all zero. */
static long add_func(struct join *j, uint32_t module, const struct module_inlining *inlining)
{
	struct profile *p = j->p;
	const char *linkage = inlining->linkage ? inlining->linkage : inlining->name;
	uint32_t file = add_file(p, inlining->file);

	if (j->func_cap < p->n_funcs)
		j->func_cap = p->n_funcs;
	vec_room_raw((void **)&p->funcs, &j->func_cap, p->n_funcs + 1, sizeof(*p->funcs));
	p->funcs[p->n_funcs] = (struct profile_func){ .name = profile_string(p, inlining->name),
		                                      .linkage = profile_string(p, linkage),
		                                      .module = module,
		                                      .file = file,
		                                      .line = inlining->line,
		                                      .column = inlining->column,
		                                      .opens = true,
		                                      .status = PROFILE_RAW,
		                                      .why = reason_text_never_sampled,
		                                      .rolled_status = PROFILE_RAW,
		                                      .rolled_why = reason_text_never_sampled,
		                                      .count = { .lo = NAN, .hi = NAN },
		                                      .rolled = { .lo = NAN, .hi = NAN },
		                                      .part = PROFILE_NO_PART,
		                                      .rolled_part = PROFILE_NO_PART };
	p->n_funcs++;
	enter_name(j, (uint32_t)p->n_funcs - 1);
	return (long)p->n_funcs - 1;
}

/* The profile's function of an inlining of the truth. */
static long func_of(struct join *j, uint32_t object, uint32_t module, const struct module_inlining *inlining)
{
	long key = pairs_must(&j->inlinings, object, inlining->id), i;

	if ((size_t)key < j->func.n)
		return j->func.v[key];
	i = find_name(j, module, inlining->linkage ? inlining->linkage : inlining->name,
	              place_key(inlining->line, inlining->column));
	if (i < 0)
		i = add_func(j, module, inlining);
	vec_add(&j->func, (uint32_t)i);
	return i;
}

/* A place in both views for every function of the profile. */
static void cover(struct join *j)
{
	while (j->own.n < j->p->n_funcs) {
		vec_add(&j->own, 0);
		vec_add(&j->rolled, 0);
	}
}

static void credit(struct join *j, size_t i, bool rolled, double n)
{
	cover(j);
	if (rolled)
		j->rolled.v[i] += n;
	else
		j->own.v[i] += n;
}

/* All instructions of one object: insns[0 .. n). */
static void join_object(struct join *j, size_t object, const struct truth_insn *insns, size_t n)
{
	const struct match_object *o = &j->match.objects[object];
	/* Functions of objects without samples can't be in the profile: a module number of their own. */
	uint32_t module = o->module >= 0 ? (uint32_t)o->module : (uint32_t)(j->p->n_modules + object);

	if (o->how == MATCH_ANOTHER)
		return;
	for (size_t i = 0; i < n; i++) {
		struct module_inlining inlinings[MODULE_MAX_INLININGS];
		size_t n_inlinings = o->opened ? module_inlinings(o->opened, insns[i].vaddr, inlinings) : 0;
		long inner, outer;

		if (!n_inlinings) {
			if (!o->opened && o->module < 0)
				j->unmatched += (double)insns[i].n;
			inlinings[0] = (struct module_inlining){ .id = UINT32_MAX,
				                                 .name = "[unknown]",
				                                 .linkage = "[unknown]" };
			n_inlinings = 1;
		}
		inner = func_of(j, (uint32_t)object, module, &inlinings[0]);
		outer = func_of(j, (uint32_t)object, module, &inlinings[n_inlinings - 1]);
		credit(j, (size_t)inner, false, (double)insns[i].n);
		credit(j, (size_t)outer, true, (double)insns[i].n);
	}
}

/* The truth's object of each module of the profile, -1 = none. */
static void objects_of(const struct join *j, long *object_of)
{
	for (size_t m = 0; m < j->p->n_modules; m++)
		object_of[m] = -1;
	for (size_t o = 0; o < j->match.n_objects; o++)
		if (j->match.objects[o].how == MATCH_FILE && j->match.objects[o].module >= 0)
			object_of[j->match.objects[o].module] = (long)o;
}

static const struct truth_insn *find_insn(const struct truth *t, uint32_t object, uint64_t vaddr)
{
	size_t lo = sorted_count(t->n_insns, k,
	                         order_pairs(t->insns[k].object, t->insns[k].vaddr, object, vaddr) < 0);

	return lo < t->n_insns && t->insns[lo].object == object && t->insns[lo].vaddr == vaddr ? &t->insns[lo]
	                                                                                       : NULL;
}

static void join_insns(const struct join *j, double *n, bool *listed)
{
	const struct profile *p = j->p;
	long *object_of = mem_calloc(p->n_modules + 1, sizeof(*object_of));

	objects_of(j, object_of);
	for (size_t i = 0; i < p->n_insns; i++) {
		long object = object_of[p->insns[i].module];
		const struct truth_insn *x =
		        object < 0 ? NULL : find_insn(j->t, (uint32_t)object, p->insns[i].vaddr);

		n[i] = x ? (double)x->n : 0;
		listed[i] = x != NULL;
	}
	free(object_of);
}

static int join_funcs(struct join *j)
{
	const struct truth *t = j->t;
	int err = 0;

	for (size_t i = 0; i < j->p->n_funcs && err == 0; i++)
		err = enter_name(j, (uint32_t)i);
	for (size_t i = 0, next; i < t->n_insns && err == 0; i = next) {
		next = i;
		while (next < t->n_insns && t->insns[next].object == t->insns[i].object)
			next++;
		join_object(j, t->insns[i].object, t->insns + i, next - i);
	}
	cover(j);
	return err;
}

/* The physical function that begins at an address; UINT32_MAX: none that is known. */
static uint32_t func_at(struct join *j, uint32_t object, uint64_t vaddr)
{
	const struct match_object *o = object == TRUTH_NONE ? NULL : &j->match.objects[object];
	struct module_inlining inlinings[MODULE_MAX_INLININGS];
	size_t n;
	uint32_t module;

	if (!o || o->how == MATCH_ANOTHER)
		return UINT32_MAX;
	module = o->module >= 0 ? (uint32_t)o->module : (uint32_t)(j->p->n_modules + object);
	n = o->opened ? module_inlinings(o->opened, vaddr, inlinings) : 0;
	if (!n) {
		inlinings[0] = (struct module_inlining){ .id = UINT32_MAX,
			                                 .name = "[unknown]",
			                                 .linkage = "[unknown]" };
		n = 1;
	}
	return (uint32_t)func_of(j, object, module, &inlinings[n - 1]);
}

static int by_callee(const void *a, const void *b)
{
	const struct profile_counted *x = a, *y = b;

	return order_pairs(x->callee, x->caller, y->callee, y->caller);
}

static void add_calls(void *to, const void *from)
{
	struct profile_counted *sum = to;
	const struct profile_counted *x = from;

	sum->n += x->n;
	sum->insn += x->insn;
}

/* Code without names is one function, and so are names for one place. */
static void join_calls(struct join *j, struct truth_join *out)
{
	const struct truth *t = j->t;
	size_t n = 0;

	out->calls = mem_calloc(t->n_calls + 1, sizeof(*out->calls));
	for (size_t i = 0; i < t->n_calls; i++) {
		const struct truth_call *c = &t->calls[i];
		struct profile_counted x = { .caller = func_at(j, c->from_object, c->from_vaddr),
			                     .callee = func_at(j, c->to_object, c->to_vaddr),
			                     .n = (double)c->n,
			                     .insn = (double)c->n_insn };

		if (x.callee != UINT32_MAX)
			out->calls[n++] = x;
	}
	cover(j);
	out->n_calls = sum_up(out->calls, n, sizeof(*out->calls), by_callee, add_calls);
}

static bool in_gap(const struct truth *t, uint32_t object, uint64_t vaddr)
{
	for (size_t i = 0; i < t->n_gaps; i++)
		if (t->gaps[i].object == object && vaddr >= t->gaps[i].vaddr && vaddr < t->gaps[i].end_vaddr)
			return true;
	return false;
}

/* Functions and files that the truth says nothing of. */
static void find_gaps(struct join *j, struct truth_join *out)
{
	const struct profile *p = j->p;
	long *object_of = mem_calloc(p->n_modules + 1, sizeof(*object_of));

	out->gap = mem_calloc(p->n_funcs + 1, sizeof(*out->gap));
	objects_of(j, object_of);
	for (size_t m = 0; m < p->n_modules; m++)
		if (j->t->of_objects && object_of[m] < 0)
			j->match.incomparable[m] = true;
	for (size_t i = 0; i < p->n_insns && j->t->n_gaps; i++) {
		const struct profile_insn *insn = &p->insns[i];
		long object = object_of[insn->module];

		if (object < 0 || !in_gap(j->t, (uint32_t)object, insn->vaddr))
			continue;
		if (insn->func < p->n_funcs)
			out->gap[insn->func] = true;
		if (insn->phys_func < p->n_funcs)
			out->gap[insn->phys_func] = true;
	}
	free(object_of);
}

static void name_unsampled(struct join *j)
{
	struct profile *p = j->p;

	free(p->unsampled);
	p->unsampled = mem_calloc(j->t->n_objects + 1, sizeof(*p->unsampled));
	for (p->n_unsampled = 0; p->n_unsampled < j->t->n_objects; p->n_unsampled++)
		p->unsampled[p->n_unsampled] = profile_string(p, j->t->objects[p->n_unsampled]);
}

static void take(struct join *j, struct truth_join *out)
{
	name_unsampled(j);
	names_tell_apart(j->p, j->n_sampled, NULL);
	out->own = j->own.v;
	out->rolled = j->rolled.v;
	out->incomparable = j->match.incomparable;
	out->unmatched = j->unmatched;
	out->another = j->match.another;
	j->own.v = j->rolled.v = NULL;
	j->match.incomparable = NULL;
}

int match_join(struct profile *p, const struct truth *t, const char *path, const struct module_options *opts,
               struct truth_join *out)
{
	struct join j = { .p = p, .t = t, .n_sampled = p->n_funcs };
	int err;

	memset(out, 0, sizeof(*out));
	out->per_insn = mem_calloc(p->n_insns + 1, sizeof(*out->per_insn));
	out->listed = mem_calloc(p->n_insns + 1, sizeof(*out->listed));
	err = match_objects(p, t, path, opts, &j.match);
	if (err == 0)
		join_insns(&j, out->per_insn, out->listed);
	if (err == 0)
		err = join_funcs(&j);
	if (err == 0) {
		join_calls(&j, out);
		find_gaps(&j, out);
		take(&j, out);
	} else {
		match_join_fini(out);
	}
	match_fini(&j.match);
	pairs_fini(&j.inlinings);
	pairs_fini(&j.names);
	vec_fini(&j.func);
	texts_fini(&j.linkages);
	vec_fini(&j.of_name);
	vec_fini(&j.own);
	vec_fini(&j.rolled);
	return err;
}

void match_join_fini(struct truth_join *j)
{
	free(j->own);
	free(j->rolled);
	free(j->per_insn);
	free(j->listed);
	free(j->incomparable);
	free(j->gap);
	free(j->calls);
	memset(j, 0, sizeof(*j));
}
