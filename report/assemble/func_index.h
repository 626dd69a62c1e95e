/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_REPORT_ASSEMBLE_FUNC_INDEX_H
#define SKIDPROF_REPORT_ASSEMBLE_FUNC_INDEX_H

/* The functions of a profile, found by address. */
#include "profiler/binary/module.h"
#include "report/profile.h"

/* Append the innermost and physical function of an address to the profile, or find them there. */
struct func_index;
void func_index_new(struct profile *p, struct func_index **out);
void func_index_find(struct func_index *index, uint32_t module_id, struct module *m, uint64_t vaddr,
                     uint32_t *func, uint32_t *phys_func);
/* The number of a source file in profile->files; 0 for NULL.  dir: what a relative one is of, if that is known, else NULL. */
long func_index_file(struct func_index *index, const char *file, const char *dir);
/* The number of one inlining's function, made if it isn't there. */
long func_index_inlining(struct func_index *index, uint32_t module_id, const struct module_inlining *inlining,
                         bool inlined);
void func_index_free(struct func_index *index);

#endif
