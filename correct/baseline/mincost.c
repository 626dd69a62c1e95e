/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The rival: repair the raw block counts w_b = E_b / instructions of b into a
 * flow, changing them as little as costs say, in the manner of LLVM's profi
 * (He et al., POPL 2022): raising a count costs 10 an execution, lowering it
 * 20, and raising one from 0 costs 11.  A network flow with nodes split in two
 * would do for jumps; that a call returns to its own caller is one more
 * equation for each call block, so this is a linear program:
 *
 *	minimise    sum_b  up_cost_b up_b + 20 down_b
 *	subject to  flow into b = flow out of b
 *	            flow into b - up_b + down_b = w_b
 *	            calls out of c = returns to c
 *	            f, up, down >= 0
 *
 * The optimum is rescaled to eq. 3's total.
 */
#include <math.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <glpk.h>

#include "correct/infer/problem.h"
#include "correct/profile.h"
#include "profiler/base/err.h"
#include "profiler/base/mem.h"

enum { COST_UP = 10, COST_UP_FROM_ZERO = 11, COST_DOWN = 20 };

struct flow_lp {
	const struct problem *p;
	double *weight;    /* [B] w_b, scaled to at most 1e6 */
	int32_t *call_row; /* [B] row of the block's calls and returns, -1 = none */
	int n_calls;
	double *flow; /* [E] the solution */
};

/* Rows 1 .. B conserve, B + 1 .. 2 B count, then one a call block.  Columns: E flows, B up, B down. */
static int row_conserve(size_t b)
{
	return (int)b + 1;
}

static int row_count(const struct flow_lp *lp, size_t b)
{
	return (int)(lp->p->n_blocks + b) + 1;
}

/* Raw counts: their greatest is made 1e6, so that the simplex works with numbers of one size. */
static double weigh(struct flow_lp *lp)
{
	const struct problem *p = lp->p;
	double most = 0;

	for (size_t b = 0; b < p->n_blocks; b++) {
		const struct problem_block *pb = &p->blocks[b];

		for (uint32_t i = pb->insn0; i < pb->insn0 + pb->n_insn; i++)
			lp->weight[b] += p->seen_insn[i] / pb->n_insn;
		most = fmax(most, lp->weight[b]);
	}
	for (size_t b = 0; b < p->n_blocks && most > 0; b++)
		lp->weight[b] *= 1e6 / most;
	return most;
}

static void number_calls(struct flow_lp *lp)
{
	for (size_t b = 0; b < lp->p->n_blocks; b++)
		lp->call_row[b] = -1;
	for (size_t e = 0; e < lp->p->n_edges; e++) {
		int32_t c = lp->p->edges[e].call;

		if (c >= 0 && lp->call_row[c] < 0)
			lp->call_row[c] = (int32_t)(2 * lp->p->n_blocks) + ++lp->n_calls;
	}
}

static void add_rows(const struct flow_lp *lp, glp_prob *glp)
{
	size_t n_blocks = lp->p->n_blocks;

	glp_add_rows(glp, (int)(2 * n_blocks) + lp->n_calls);
	for (size_t b = 0; b < n_blocks; b++) {
		glp_set_row_bnds(glp, row_conserve(b), GLP_FX, 0, 0);
		glp_set_row_bnds(glp, row_count(lp, b), GLP_FX, lp->weight[b], lp->weight[b]);
	}
	for (int c = 0; c < lp->n_calls; c++)
		glp_set_row_bnds(glp, (int)(2 * n_blocks) + c + 1, GLP_FX, 0, 0);
}

/* One edge: out of from, into to, counted at to, and with its sign in the calls' row.  GLPK counts from 1. */
static void add_edge(const struct flow_lp *lp, glp_prob *glp, size_t e)
{
	const struct problem_edge *pe = &lp->p->edges[e];
	int rows[5], n = 0;
	double coef[5];

	if (pe->from != pe->to) {
		rows[++n] = row_conserve(pe->from);
		coef[n] = -1;
		rows[++n] = row_conserve(pe->to);
		coef[n] = 1;
	}
	rows[++n] = row_count(lp, pe->to);
	coef[n] = 1;
	if (pe->call >= 0 && lp->call_row[pe->call] >= 0) {
		rows[++n] = lp->call_row[pe->call];
		coef[n] = pe->kind == FLOW_CALL ? 1 : -1;
	}
	glp_set_col_bnds(glp, (int)e + 1, GLP_LO, 0, 0);
	glp_set_mat_col(glp, (int)e + 1, n, rows, coef);
}

static void add_change(const struct flow_lp *lp, glp_prob *glp, size_t b, bool up)
{
	int rows[2] = { 0, row_count(lp, b) };
	double coef[2] = { 0, up ? -1 : 1 };
	int col = (int)(lp->p->n_edges + b + (up ? 0 : lp->p->n_blocks)) + 1;

	glp_set_col_bnds(glp, col, GLP_LO, 0, 0);
	glp_set_mat_col(glp, col, 1, rows, coef);
	glp_set_obj_coef(glp, col, up ? (lp->weight[b] > 0 ? COST_UP : COST_UP_FROM_ZERO) : COST_DOWN);
}

static void build(const struct flow_lp *lp, glp_prob *glp)
{
	glp_set_obj_dir(glp, GLP_MIN);
	add_rows(lp, glp);
	glp_add_cols(glp, (int)(lp->p->n_edges + 2 * lp->p->n_blocks));
	for (size_t e = 0; e < lp->p->n_edges; e++)
		add_edge(lp, glp, e);
	for (size_t b = 0; b < lp->p->n_blocks; b++) {
		add_change(lp, glp, b, true);
		add_change(lp, glp, b, false);
	}
}

static int optimize(const struct flow_lp *lp, glp_prob *glp)
{
	glp_smcp parm;
	int status;

	glp_init_smcp(&parm);
	parm.msg_lev = GLP_MSG_OFF;
	parm.presolve = GLP_ON;
	parm.it_lim = (int)fmin(1e6, 200.0 * (double)(lp->p->n_blocks + lp->p->n_edges) + 1000);
	if (glp_simplex(glp, &parm) != 0)
		return -1;
	status = glp_get_status(glp);
	for (size_t e = 0; e < lp->p->n_edges; e++)
		lp->flow[e] = fmax(glp_get_col_prim(glp, (int)e + 1), 0);
	return status == GLP_OPT ? 0 : -1;
}

static void on_glpk_error(void *info)
{
	longjmp(*(jmp_buf *)info, 1);
}

/*
 * GLPK aborts on its own errors unless jumped out of; its memory goes with
 * its environment then.  It keeps one environment a thread, which nobody else
 * would free when the thread ends.
 */
static int solve(const struct flow_lp *lp)
{
	jmp_buf env;
	glp_prob *glp;
	int ret;

	glp_term_out(GLP_OFF);
	if (setjmp(env)) {
		glp_free_env();
		return -1;
	}
	glp_error_hook(on_glpk_error, env);
	glp = glp_create_prob();
	build(lp, glp);
	ret = optimize(lp, glp);
	glp_delete_prob(glp);
	glp_free_env();
	return ret;
}

/* Executions of each block from the flow into it, and eq. 3: scaled so that they make |E| instructions. */
static bool rescale(const struct flow_lp *lp, double *n_exec)
{
	const struct problem *p = lp->p;
	double insns = 0, scale;

	memset(n_exec, 0, p->n_blocks * sizeof(*n_exec));
	for (size_t e = 0; e < p->n_edges; e++)
		n_exec[p->edges[e].to] += lp->flow[e];
	for (size_t b = 0; b < p->n_blocks; b++)
		insns += n_exec[b] * p->blocks[b].n_insn;
	if (!(insns > 0))
		return false;
	scale = p->total_insn / insns;
	for (size_t e = 0; e < p->n_edges; e++)
		lp->flow[e] *= scale;
	for (size_t b = 0; b < p->n_blocks; b++)
		n_exec[b] *= scale;
	return true;
}

static void conclude(const struct flow_lp *lp, bool solved, double unit, struct solution *out)
{
	const struct problem *p = lp->p;
	bool scaled = solved && rescale(lp, lp->weight);

	for (size_t b = 0; b < p->n_blocks; b++)
		out->draws[b] = (float)(scaled ? lp->weight[b] : lp->weight[b] * unit);
	if (scaled)
		memcpy(out->edge_flow, lp->flow, p->n_edges * sizeof(*lp->flow));
	out->evidence = PROFILE_BY_FLOW;
	if (scaled)
		solution_doubt(out, REASON_OF(no_uncertainty));
	else if (unit == 0)
		solution_doubt(out, REASON_OF(no_insns));
	else
		solution_doubt(out, REASON_OF(no_flow_raw));
}

int method_flow(const struct problem *p, const struct infer_opts *opts, struct solution *out)
{
	struct flow_lp lp = { .p = p };
	double unit;
	int ret;

	(void)opts; /* nothing is random here */
	*out = (struct solution){ .r_hat = NAN, .n_eff = NAN };
	lp.weight = mem_calloc(p->n_blocks + 1, sizeof(*lp.weight));
	lp.call_row = mem_calloc(p->n_blocks + 1, sizeof(*lp.call_row));
	lp.flow = mem_calloc(p->n_edges + 1, sizeof(*lp.flow));
	ret = solution_init(out, p, 1);
	if (ret == 0) {
		unit = weigh(&lp) / 1e6;
		number_calls(&lp);
		conclude(&lp, unit > 0 && solve(&lp) == 0, unit, out);
	}
	free(lp.flow);
	free(lp.call_row);
	free(lp.weight);
	return ret;
}
