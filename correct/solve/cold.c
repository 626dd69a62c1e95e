/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "correct/solve/solve.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "correct/infer/interior.h"
#include "correct/infer/space.h"
#include "correct/model/model.h"
#include "profiler/base/err.h"
#include "profiler/base/mem.h"

static double samples_of(const struct problem *p, double insn, double cyc)
{
	return (p->insn_per_sample > 0 ? insn / p->insn_per_sample : 0) +
	       (p->cyc_per_sample > 0 ? cyc / p->cyc_per_sample : 0);
}

static double samples_in(const struct problem *p, const struct problem_block *b)
{
	double insn = 0, cyc = 0;

	for (uint32_t i = b->insn0; i < b->insn0 + b->n_insn; i++) {
		insn += p->seen_insn[i];
		cyc += p->seen_cyc[i];
	}
	return samples_of(p, insn, cyc);
}

/* Which blocks are to be kept, where some may be left out. */
static bool find_warm(const struct problem *p, const uint8_t *on_record, size_t n_free, bool *warm)
{
	double *n = mem_calloc(p->n_blocks + 1, sizeof(*n)), n_samples = 0;

	for (size_t b = 0; b < p->n_blocks; b++) {
		n[b] = samples_in(p, &p->blocks[b]);
		n_samples += n[b];
		/* What is on record ran: so much is known of what has a sample. */
		if (on_record && on_record[p->blocks[b].graph_block])
			n[b] = fmax(n[b], 1);
	}
	for (size_t b = 0; b < p->n_blocks; b++)
		warm[b] = n[b] > 0;
	free(n);
	/* One of few samples is not as good as none. */
	return n_free > model->cold_flows && n_samples * model->least >= 1;
}

int cold_cut(const struct problem *p, bool ran, const uint8_t *on_record, bool *usable, double *f,
             uint32_t *n_free_out)
{
	int err = interior_find(p, NULL, usable, f);
	size_t n = 0, left = 0;
	bool *warm;

	*n_free_out = 0;
	if (err < 0 || ran)
		return err;
	space_size(p, usable, &n);
	warm = mem_calloc(p->n_blocks + 1, sizeof(*warm));
	if (find_warm(p, on_record, n, warm)) {
		interior_warm(p, warm);
		err = interior_find(p, warm, usable, f);
		if (err == 0)
			space_size(p, usable, &left);
		if (err == 0 && n > left)
			*n_free_out = (uint32_t)(n - left);
	}
	free(warm);
	return err == -SP_EDOMAIN ? interior_find(p, NULL, usable, f) : err;
}
