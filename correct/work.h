/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CORRECT_WORK_H
#define SKIDPROF_CORRECT_WORK_H

/*
 * What a correction has worked out, on the way from the recording
 * (recording.h, sums.h) to the profile (profile.h).
 */
#include "correct/correct.h"
#include "correct/infer/problem.h"
#include "correct/sums.h"

struct work {
	const struct correct_opts *opts;
	struct recording *rec;
	struct sums sums;
	struct flow_graph *graph;
	struct flow_regions *regions;
	struct problem **problems;  /* [regions->n] */
	struct solution *solutions; /* [regions->n] */
	struct equations_shown {    /* what the mix equations said, for --why: [regions->n] */
		struct profile_equation *v;
		size_t n;
	} * equations;
	struct skid_dist skid;
	enum profile_skid_source skid_source;
	const char *skid_basis;
};

/* The last step: everything worked out becomes a profile. */
int assemble(const struct work *w, struct profile **out);

/* Append the innermost and physical function of an address to the profile, or find them there. */
struct func_index;
int func_index_new(struct profile *p, struct func_index **out);
int func_index_find(struct func_index *index, uint32_t module_id, struct module *m, uint64_t vaddr,
                    uint32_t *func, uint32_t *phys_func);
/* The number of a source file in profile->files; 0 for NULL. */
long func_index_file(struct func_index *index, const char *file);
void func_index_free(struct func_index *index);

#endif
