/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The functions of a profile: one for each function of the source, wherever its copies were inlined. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/base/mem.h"
#include "profiler/base/pairs.h"
#include "profiler/base/vec.h"
#include "report/assemble/func_index.h"

struct func_index {
	struct profile *p;
	struct pairs inlinings; /* (module, inlining id) */
	struct pairs files;     /* by the address of the name: modules keep theirs alive */
	size_t func_cap;
};

void func_index_new(struct profile *p, struct func_index **out)
{
	struct func_index *index = mem_calloc(1, sizeof(*index));

	index->p = p;
	*out = index;
	/* Number 0 is "unknown". */
	func_index_file(index, "", NULL);
}

void func_index_free(struct func_index *index)
{
	if (!index)
		return;
	pairs_fini(&index->inlinings);
	pairs_fini(&index->files);
	free(index);
}

long func_index_file(struct func_index *index, const char *file, const char *dir)
{
	struct profile *p = index->p;
	long i;

	if (!file)
		return 0;
	i = pairs_must(&index->files, (uint64_t)(uintptr_t)file, 0);
	if ((size_t)i == p->n_files)
		profile_add_file(p, file);
	if (dir && *file != '/' && !p->file_dirs[i])
		p->file_dirs[i] = profile_string(p, dir);
	return i;
}

static void add_func(struct func_index *index, uint32_t module_id, const struct module_inlining *inlining,
                     long number)
{
	struct profile *p = index->p;
	struct profile_func *f;
	long file = func_index_file(index, inlining->file, NULL);

	vec_room_raw((void **)&p->funcs, &index->func_cap, (size_t)number + 1, sizeof(*p->funcs));
	f = &p->funcs[number];
	*f = (struct profile_func){ .name = profile_string(p, inlining->name),
		                    .linkage = profile_string(p, inlining->linkage ? inlining->linkage
		                                                                   : inlining->name),
		                    .module = module_id,
		                    .file = (uint32_t)file,
		                    .line = inlining->line,
		                    .column = inlining->column,
		                    .status = PROFILE_RAW,
		                    .why = "",
		                    .rolled_status = PROFILE_RAW,
		                    .rolled_why = "",
		                    .count = { .lo = NAN, .hi = NAN },
		                    .rolled = { .lo = NAN, .hi = NAN },
		                    .part = PROFILE_NO_PART,
		                    .rolled_part = PROFILE_NO_PART };
	p->n_funcs = (size_t)number + 1;
}

static long number_of(struct func_index *index, uint32_t module_id, const struct module_inlining *inlining)
{
	long number = pairs_must(&index->inlinings, module_id, inlining->id);

	if ((size_t)number == index->p->n_funcs)
		add_func(index, module_id, inlining, number);
	return number;
}

long func_index_inlining(struct func_index *index, uint32_t module_id, const struct module_inlining *inlining,
                         bool inlined)
{
	long number = number_of(index, module_id, inlining);

	if (inlined)
		index->p->funcs[number].inlined = true;
	return number;
}

void func_index_find(struct func_index *index, uint32_t module_id, struct module *m, uint64_t vaddr,
                     uint32_t *func, uint32_t *phys_func)
{
	struct module_inlining inlinings[MODULE_MAX_INLININGS];
	size_t n = module_inlinings(m, vaddr, inlinings);
	long inner, outer;

	if (!n) {
		/* No symbol holds it: one row a module for all such code. */
		inlinings[0] = (struct module_inlining){ .id = UINT32_MAX,
			                                 .name = "[unknown]",
			                                 .linkage = "[unknown]" };
		n = 1;
	}
	inner = number_of(index, module_id, &inlinings[0]);
	outer = number_of(index, module_id, &inlinings[n - 1]);
	if (n > 1)
		index->p->funcs[inner].inlined = true;
	*func = (uint32_t)inner;
	*phys_func = (uint32_t)outer;
}
