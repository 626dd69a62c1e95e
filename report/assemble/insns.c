/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The instructions of a profile: what the draws say of those in regions, the raw counts of all others. */
#include <math.h>
#include <stdlib.h>

#include "profiler/base/log.h"
#include "profiler/base/mem.h"
#include "profiler/base/order.h"
#include "profiler/base/select.h"
#include "profiler/base/vec.h"
#include "report/assemble/assemble_impl.h"
#include "report/assemble/calls.h"
#include "report/assemble/listing.h"

enum { PROGRESS_INSNS = 1024 };

static struct profile_insn *add_insn(struct assembly *a, uint32_t module, uint64_t vaddr)
{
	struct profile *p = a->p;
	struct module *m = a->w->rec->modules[module];
	struct profile_insn *insn;
	const char *file;

	vec_room_raw((void **)&p->insns, &a->insn_cap, p->n_insns + 1, sizeof(*p->insns));
	if (p->n_insns % PROGRESS_INSNS == 0)
		sp_progress("naming instructions", p->n_insns, 0);
	insn = &p->insns[p->n_insns];
	*insn = (struct profile_insn){ .vaddr = vaddr,
		                       .module = module,
		                       .region = -1,
		                       .block = UINT32_MAX,
		                       .status = PROFILE_RAW,
		                       .text = "",
		                       .count = { .lo = NAN, .hi = NAN } };
	func_index_find(a->funcs, module, m, vaddr, &insn->func, &insn->phys_func);
	module_line(m, vaddr, &file, &insn->line);
	insn->file = (uint32_t)func_index_file(a->funcs, file, module_file_dir(m, file));
	p->n_insns++;
	return insn;
}

/* Mean and 5% and 95% points of one block's draws; column is scratch of n_draws. */
static void block_interval(const struct solution *sol, size_t n_blocks, size_t b, double *column,
                           double *mean, double *lo, double *hi)
{
	double sum = 0;

	for (size_t i = 0; i < sol->n_draws; i++) {
		column[i] = (double)sol->draws[i * n_blocks + b];
		sum += column[i];
	}
	*mean = sum / (double)sol->n_draws;
	*lo = select_nth(column, sol->n_draws, (size_t)(0.05 * (double)(sol->n_draws - 1)));
	*hi = select_nth(column, sol->n_draws, (size_t)(0.95 * (double)(sol->n_draws - 1) + 0.5));
}

uint8_t assemble_status(const struct work *w, size_t r)
{
	return w->solutions[r].verdict == VERDICT_UNRELIABLE ? PROFILE_UNRELIABLE
	       : w->solutions[r].verdict == VERDICT_RAW      ? PROFILE_RAW
	       : w->solutions[r].verdict == VERDICT_WEAK     ? PROFILE_WEAK
	                                                     : PROFILE_FIXED;
}

/*
 * Is a block of the region in a scope that was solved?  Code between the
 * loops of a region, and loops hardly sampled, keep their raw counts: the
 * region's draws repeat those, which is no reason to show them as certain.
 * *unsolved: the scope that was not, SIZE_MAX where it is in none.
 */
static bool is_solved(const struct work *w, size_t region, uint32_t graph_block, size_t *unsolved)
{
	*unsolved = SIZE_MAX;
	if (w->solutions[region].averaged)
		return true;
	for (size_t s = 0; s < w->scopes.n; s++) {
		const struct scope *scope = &w->scopes.v[s];

		if (scope->parent != region)
			continue;
		if (scope->whole)
			return true;
		if (!bsearch(&graph_block, scope->region->blocks, scope->region->n_blocks,
		             sizeof(graph_block), order_u32))
			continue;
		if (w->scope_solutions[s].n_draws)
			return true;
		*unsolved = s;
	}
	return false;
}

static void add_region_insns(struct assembly *a, size_t r)
{
	const struct problem *prob = a->w->problems[r];
	const struct solution *sol = &a->w->solutions[r];
	double *column = mem_calloc(sol->n_draws + 1, sizeof(*column));

	for (size_t b = 0; b < prob->n_blocks; b++) {
		const struct problem_block *block = &prob->blocks[b];
		size_t unsolved = SIZE_MAX;
		bool drawn = sol->n_draws && is_solved(a->w, r, block->graph_block, &unsolved);
		const struct solution *of_part =
		        drawn || unsolved == SIZE_MAX ? NULL : &a->w->scope_solutions[unsolved];
		double mean = NAN, lo = NAN, hi = NAN;

		if (drawn)
			block_interval(sol, prob->n_blocks, b, column, &mean, &lo, &hi);
		/* One answer, without a measure of how well it is known. */
		if (sol->n_draws == 1)
			lo = hi = NAN;
		if (drawn && sol->doubt && sol->n_draws > 1) {
			lo = fmax(lo - (double)sol->doubt[b], 0);
			hi += (double)sol->doubt[b];
		}
		for (uint32_t i = block->insn0; i < block->insn0 + block->n_insn; i++) {
			uint32_t module = a->w->graph->blocks[block->graph_block].module;
			struct profile_insn *insn;

			if (!drawn && prob->seen_insn[i] == 0 && prob->seen_cyc[i] == 0)
				continue; /* a region without an answer may be of millions */
			insn = add_insn(a, module, prob->insns[i].vaddr);
			insn->region = (int32_t)r;
			insn->block = drawn ? (uint32_t)b : UINT32_MAX;
			insn->why_raw = of_part && *of_part->why ? profile_string(a->p, of_part->why) : NULL;
			insn->open_part = of_part && of_part->verdict == VERDICT_UNRELIABLE
			                          ? (uint32_t)unsolved + 1
			                          : 0;
			insn->size_bytes = prob->insns[i].size_bytes;
			insn->status = drawn || !sol->n_draws ? assemble_status(a->w, r) : PROFILE_RAW;
			insn->count.raw_insn = prob->seen_insn[i];
			insn->count.raw_cyc = insn->count.cyc = prob->seen_cyc[i];
			insn->count.insn = drawn ? mean : prob->seen_insn[i];
			insn->count.lo = lo;
			insn->count.hi = hi;
		}
	}
	free(column);
}

static bool in_region(const struct work *w, uint32_t module, uint64_t vaddr)
{
	long b = w->graph ? flow_block_at(w->graph, module, vaddr) : -1;

	return b >= 0 && w->regions && w->regions->of_block[b] >= 0;
}

static void add_raw_insns(struct assembly *a)
{
	const struct work *w = a->w;

	for (size_t i = 0; i < w->sums.n; i++) {
		const struct place_sum *s = &w->sums.v[i];
		struct profile_insn *insn;

		if (in_region(w, s->module, s->vaddr) || (s->insn == 0 && s->cyc == 0))
			continue;
		insn = add_insn(a, s->module, s->vaddr);
		insn->count.raw_insn = insn->count.insn = s->insn;
		insn->count.raw_cyc = insn->count.cyc = s->cyc;
		profile_chance(a->p, s->insn, &insn->count.lo, &insn->count.hi);
	}
}

static int by_address(const void *a, const void *b)
{
	const struct profile_insn *x = a, *y = b;

	return order_pairs(x->module, x->vaddr, y->module, y->vaddr);
}

/* Periods of a frequency differ: how many samples fell there is in no sum of them. */
static void count_samples(struct assembly *a)
{
	const struct work *w = a->w;

	for (size_t i = 0; i < w->sums.n; i++) {
		const struct place_sum *s = &w->sums.v[i];
		long at = profile_insn_at(a->p, s->module, s->vaddr);

		if (at >= 0)
			a->p->insns[at].count.n_samples += w->rec->insn_event >= 0 ? s->n_insn : s->n_cyc;
	}
}

/* Disassembly, for reports that show it. */
static void fill_texts(struct assembly *a)
{
	const struct profile *p = a->p;

	for (size_t i = 0, j; i < p->n_insns; i = j) {
		for (j = i + 1; j < p->n_insns && p->insns[j].module == p->insns[i].module; j++)
			;
		listing_fill_texts(a->p, a->w->rec->modules[p->insns[i].module], i, j);
	}
}

void assemble_insns(struct assembly *a)
{
	for (size_t r = 0; a->w->regions && r < a->w->regions->n; r++)
		add_region_insns(a, r);
	add_raw_insns(a);
	sp_progress_end();
	if (a->p->n_insns)
		qsort(a->p->insns, a->p->n_insns, sizeof(*a->p->insns), by_address);
	count_samples(a);
	if (a->w->opts->texts)
		fill_texts(a);
}
