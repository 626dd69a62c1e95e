/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Exact counts beside a profile: which function of it holds each instruction of the truth. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "correct/correct.h"
#include "correct/truth/emit.h"
#include "profiler/base/pairs.h"
#include "profiler/base/vec.h"

/* The truth's functions, and where they are in the profile. */
struct join {
	struct profile *p;
	const struct truth *t;
	struct pairs scopes; /* (object, scope id) -> func[] */
	VEC(uint32_t) func;  /* profile function of each */
	struct pairs names;  /* (hash of module and linkage, line) -> first_of[] */
	VEC(uint32_t) first_of;
	uint32_t *same_name; /* next profile function of the same key; UINT32_MAX = none */
	size_t same_cap, func_cap;
	VEC(double) own;
	VEC(double) rolled;
	double unmatched;
};

static uint64_t hash_text(const char *s, uint64_t h)
{
	for (; *s; s++)
		h = (h ^ (unsigned char)*s) * 0x100000001b3u;
	return h;
}

static uint64_t hash_func(const struct profile_func *f)
{
	return hash_text(f->linkage, 0xcbf29ce484222325u ^ (uint64_t)f->module << 40);
}

/* Enter function i of the profile under its name. */
static int enter_name(struct join *j, uint32_t i)
{
	const struct profile_func *f = &j->p->funcs[i];
	long key = pairs_number(&j->names, hash_func(f), f->line);

	if (key < 0 ||
	    vec_reserve_raw((void **)&j->same_name, &j->same_cap, (size_t)i + 1, sizeof(*j->same_name)) < 0)
		return -SP_ENOMEM;
	j->same_name[i] = UINT32_MAX;
	if ((size_t)key == j->first_of.n)
		return vec_push(&j->first_of, i);
	j->same_name[i] = j->first_of.v[key];
	j->first_of.v[key] = i;
	return 0;
}

static long find_name(const struct join *j, uint32_t module, const char *linkage, uint32_t line)
{
	struct profile_func want = { .module = module, .linkage = linkage, .line = line };
	long key = pairs_find(&j->names, hash_func(&want), line);
	uint32_t i = key < 0 ? UINT32_MAX : j->first_of.v[key];

	while (i != UINT32_MAX &&
	       (j->p->funcs[i].module != module || strcmp(j->p->funcs[i].linkage, linkage) != 0))
		i = j->same_name[i];
	return i == UINT32_MAX ? -1 : (long)i;
}

/* A function that ran but was never sampled: a row of its own, all zero. */
static long add_func(struct join *j, uint32_t module, const struct module_scope *scope)
{
	struct profile *p = j->p;
	const char *linkage = scope->linkage ? scope->linkage : scope->name;

	if (j->func_cap < p->n_funcs)
		j->func_cap = p->n_funcs;
	if (vec_reserve_raw((void **)&p->funcs, &j->func_cap, p->n_funcs + 1, sizeof(*p->funcs)) < 0)
		return -SP_ENOMEM;
	p->funcs[p->n_funcs] = (struct profile_func){ .name = profile_string(p, scope->name),
		                                      .linkage = profile_string(p, linkage),
		                                      .module = module,
		                                      .line = scope->line,
		                                      .status = PROFILE_RAW,
		                                      .why = "never sampled",
		                                      .rolled_status = PROFILE_RAW,
		                                      .rolled_why = "never sampled",
		                                      .count = { .lo = NAN, .hi = NAN },
		                                      .rolled = { .lo = NAN, .hi = NAN } };
	if (!p->funcs[p->n_funcs].name || !p->funcs[p->n_funcs].linkage)
		return sp_fail(SP_ENOMEM, "out of memory");
	p->n_funcs++;
	return enter_name(j, (uint32_t)p->n_funcs - 1) < 0 ? -SP_ENOMEM : (long)p->n_funcs - 1;
}

/* The profile's function of a scope of the truth. */
static long func_of(struct join *j, uint32_t object, uint32_t module, const struct module_scope *scope)
{
	long key = pairs_number(&j->scopes, object, scope->id), i;

	if (key < 0)
		return key;
	if ((size_t)key < j->func.n)
		return j->func.v[key];
	i = find_name(j, module, scope->linkage ? scope->linkage : scope->name, scope->line);
	if (i < 0)
		i = add_func(j, module, scope);
	if (i < 0 || vec_push(&j->func, (uint32_t)i) < 0)
		return -SP_ENOMEM;
	return i;
}

/* A place in both views for every function of the profile. */
static int cover(struct join *j)
{
	while (j->own.n < j->p->n_funcs)
		if (vec_push(&j->own, 0) < 0 || vec_push(&j->rolled, 0) < 0)
			return -SP_ENOMEM;
	return 0;
}

static int credit(struct join *j, size_t i, bool rolled, double n)
{
	if (cover(j) < 0)
		return -SP_ENOMEM;
	if (rolled)
		j->rolled.v[i] += n;
	else
		j->own.v[i] += n;
	return 0;
}

/*
 * The profile's module of an object's path; -1 when it was never sampled in.  A truth books all code outside any file as one
 * object, which a recording has by the name of its mapping.
 */
static long module_of(const struct profile *p, const char *path)
{
	bool anonymous = !strcmp(path, TRUTH_ANONYMOUS);

	for (size_t i = 0; i < p->n_modules; i++)
		if (anonymous ? module_is_memory(p->modules[i].path) : !strcmp(p->modules[i].path, path))
			return (long)i;
	return -1;
}

static int check_build_id(const struct profile *p, const struct truth *t, size_t object, long module)
{
	const char *theirs = t->build_ids ? t->build_ids[object] : "", *ours;

	if (module < 0)
		return 0;
	ours = p->modules[module].build_id;
	/* A file that is there but was not used is another build: nothing of it was reported. */
	if (*p->modules[module].trouble && *ours)
		return sp_fail(SP_EDOUBT, "%s; as it is, there is nothing to compare",
		               p->modules[module].trouble);
	if (!theirs || !*theirs)
		return 0;
	if (*ours && strcmp(ours, theirs) != 0)
		return sp_fail(SP_EDOUBT,
		               "%s: the recording is of build id %s, the truth of %s: not the same binary; "
		               "run 'skidprof record' and 'skidprof truth' again",
		               t->objects[object], ours, theirs);
	return 0;
}

/* All instructions of one object: insns[0 .. n). */
static int join_object(struct join *j, size_t object, const struct truth_insn *insns, size_t n,
                       const struct module_options *opts)
{
	long known = module_of(j->p, j->t->objects[object]);
	/* Functions of objects without samples can't be in the profile: a module number of their own. */
	uint32_t module = known >= 0 ? (uint32_t)known : (uint32_t)(j->p->n_modules + object);
	struct module *m = NULL;
	int err = check_build_id(j->p, j->t, object, known);

	if (err == 0)
		err = module_open(j->t->objects[object], NULL, 0, opts, &m);
	for (size_t i = 0; i < n && err == 0; i++) {
		struct module_scope scopes[MODULE_MAX_SCOPES];
		size_t n_scopes = module_state(m) == MODULE_OK ? module_scopes(m, insns[i].vaddr, scopes) : 0;
		long inner, outer;

		if (!n_scopes) {
			if (module_state(m) != MODULE_OK && known < 0)
				j->unmatched += (double)insns[i].n;
			scopes[0] = (struct module_scope){ .id = UINT32_MAX,
				                           .name = "[unknown]",
				                           .linkage = "[unknown]" };
			n_scopes = 1;
		}
		inner = func_of(j, (uint32_t)object, module, &scopes[0]);
		outer = inner < 0 ? inner : func_of(j, (uint32_t)object, module, &scopes[n_scopes - 1]);
		if (outer < 0 || credit(j, (size_t)inner, false, (double)insns[i].n) < 0 ||
		    credit(j, (size_t)outer, true, (double)insns[i].n) < 0)
			err = -SP_ENOMEM;
	}
	module_free(m);
	return err;
}

int correct_truth_join(struct profile *p, const struct truth *t, const struct module_options *opts,
                       double **own, double **rolled, double *unmatched)
{
	struct join j = { .p = p, .t = t };
	int err = 0;

	for (size_t i = 0; i < p->n_funcs && err == 0; i++)
		err = enter_name(&j, (uint32_t)i);
	for (size_t i = 0, next; i < t->n_insns && err == 0; i = next) {
		next = i;
		while (next < t->n_insns && t->insns[next].object == t->insns[i].object)
			next++;
		err = join_object(&j, t->insns[i].object, t->insns + i, next - i, opts);
	}
	if (err == 0)
		err = cover(&j);
	if (err == 0) {
		*own = j.own.v;
		*rolled = j.rolled.v;
		*unmatched = j.unmatched;
		j.own.v = j.rolled.v = NULL;
	}
	pairs_fini(&j.scopes);
	pairs_fini(&j.names);
	vec_fini(&j.func);
	vec_fini(&j.first_of);
	vec_fini(&j.own);
	vec_fini(&j.rolled);
	free(j.same_name);
	return err;
}

int correct_truth_insns(const struct profile *p, const struct truth *t, double **per_insn)
{
	double *n = calloc(p->n_insns + 1, sizeof(*n));
	long *object_of = calloc(p->n_modules + 1, sizeof(*object_of));
	size_t k = 0;

	if (!n || !object_of) {
		free(n);
		free(object_of);
		return sp_fail(SP_ENOMEM, "out of memory for %zu instructions", p->n_insns);
	}
	for (size_t m = 0; m < p->n_modules; m++) {
		object_of[m] = -1;
		for (size_t o = 0; o < t->n_objects; o++)
			if (strcmp(t->objects[o], p->modules[m].path) == 0)
				object_of[m] = (long)o;
	}
	/* Both are sorted by address within an object: bisect for each. */
	for (size_t i = 0; i < p->n_insns; i++) {
		long object = object_of[p->insns[i].module];
		size_t lo = 0, hi = t->n_insns;

		while (object >= 0 && lo < hi) {
			const struct truth_insn *x = &t->insns[k = lo + (hi - lo) / 2];

			if (x->object < (uint32_t)object ||
			    (x->object == (uint32_t)object && x->vaddr < p->insns[i].vaddr))
				lo = k + 1;
			else
				hi = k;
		}
		if (object >= 0 && lo < t->n_insns && t->insns[lo].object == (uint32_t)object &&
		    t->insns[lo].vaddr == p->insns[i].vaddr)
			n[i] = (double)t->insns[lo].n;
	}
	free(object_of);
	*per_insn = n;
	return 0;
}
