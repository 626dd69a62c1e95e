/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Calls (eq. 1): what calls itself returns as often as it is called, to each place alike, but for what is under way at the
 * ends.  Calls that a jump away may leave, by longjmp(3) or an exception, are not among them where branch records show it.
 * Those outside recursions need no equation: the flows that are looked for have as many returns.
 */
#include "correct/evidence/evidence.h"
#include "correct/model/model.h"

/* Calls and returns of one block, not matched: +1 and -1. */
static bool fill_weights(const struct problem *p, uint32_t call, double *w)
{
	bool called = false, returned = false;

	for (size_t e = 0; e < p->n_edges; e++) {
		if (p->edges[e].recursive != call)
			continue;
		w[e] = p->edges[e].kind == FLOW_CALL ? 1 : -1;
		called |= w[e] > 0;
		returned |= w[e] < 0;
	}
	return called && returned;
}

static int equations(void *state, size_t scope, const struct space *space, struct equations *out)
{
	const struct evidence_input *in = state;
	const struct problem *p = in->problems[scope];
	double sd = model->little * p->total_insn / (double)p->n_insns;
	/* Beside branch records they are judged with those: a longjmp(3) on no record may make them wrong. */
	uint8_t kind =
	        out->n && (out->v[out->n - 1].kind & PROFILE_BY_PATH) ? PROFILE_BY_PATH : PROFILE_BY_FLOW;

	(void)space;
	for (size_t i = 0; i < p->n_edges; i++) {
		struct equation *eq;

		if (!p->edges[i].recursive || p->edges[i].kind != FLOW_CALL ||
		    (i > 0 && p->edges[i - 1].recursive == p->edges[i].recursive))
			continue;
		eq = equations_add(out, p->n_edges);
		if (!fill_weights(p, p->edges[i].recursive, eq->w)) {
			equations_drop(out);
			continue;
		}
		eq->name = "returns of a recursion";
		eq->kind = kind;
		eq->sd = sd;
	}
	return 0;
}

const struct evidence_ops evidence_calls = {
	.name = "calls",
	.equations = equations,
};
