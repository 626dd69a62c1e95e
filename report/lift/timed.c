/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Measured cycles of kernels: the program run four times, the smallest kept. */
#include <math.h>
#include <stdlib.h>

#include "profiler/base/err.h"
#include "profiler/base/log.h"
#include "profiler/binary/module.h"
#include "report/lift/clock.h"
#include "report/lift/hook.h"
#include "report/lift/lift.h"
#include "report/lift/measure.h"

enum { RUNS = 4 };

/* The last instruction of a block. */
static bool last_insn(struct insn_decoder *d, const struct tool_block *b, struct insn *insn)
{
	for (size_t at = 0; at < b->n_bytes; at += insn->size_bytes)
		if (insn_decode(d, b->bytes + at, b->n_bytes - at, b->vaddr + at, insn) < 0)
			return false;
	return true;
}

/* Does control come to a block from elsewhere than the block before it?  Its jumps tell; so do tables of them. */
static bool is_target(const struct lift_kernel *k, const struct lift *l, size_t block, struct insn_decoder *d)
{
	const struct tool_block *before, *b = &l->blocks[block].code;
	struct insn insn = { 0 };

	if (block == k->block0)
		return true;
	before = &l->blocks[block - 1].code;
	return before->vaddr + before->n_bytes != b->vaddr || !last_insn(d, before, &insn) ||
	       insn.flow != INSN_COND;
}

/* Only its own code runs between its entry and its exit. */
static const char *leaves(const struct lift_kernel *k, const struct insn *last)
{
	if (last->flow == INSN_CALL || last->flow == INSN_CALL_IND)
		return "it calls functions, whose time would count";
	if (last->flow != INSN_JUMP && last->flow != INSN_COND)
		return NULL;
	if (last->target < k->vaddr || last->target >= k->end_vaddr)
		return "it jumps to another function, whose time would count";
	/* The last instruction that moves begins within the jump: behind it nothing has changed. */
	return last->target < k->vaddr + HOOK_JUMP_BYTES ? "it jumps back to its first bytes" : NULL;
}

static const char *why_not(const struct lift *l, const struct lift_kernel *k, struct insn_decoder *d)
{
	for (size_t i = k->block0; i < k->block0 + k->n_blocks; i++) {
		const struct tool_block *b = &l->blocks[i].code;
		struct insn insn = { 0 };
		const char *why;

		if (b->vaddr > k->vaddr && b->vaddr < k->vaddr + HOOK_JUMP_BYTES && is_target(k, l, i, d))
			return "it jumps back to its first bytes";
		if (!last_insn(d, b, &insn))
			return "a block of it can't be decoded";
		why = leaves(k, &insn);
		if (why)
			return why;
	}
	return NULL;
}

static int plan(struct lift *l, struct measure *m)
{
	struct insn_decoder *d;
	int err = insn_decoder_new(l->target.isa, &d);

	for (size_t i = 0; err == 0 && i < l->n_kernels; i++) {
		struct lift_kernel *k = &l->kernels[i];

		k->cyc = NAN;
		k->measured = MEASURED_NOT;
		k->why_not = why_not(l, k, d);
		m[i] = (struct measure){ .module = l->modules[k->module], .vaddr = k->vaddr };
		m[i].code.bytes = module_code(m[i].module, k->vaddr, &m[i].code.n);
		if (m[i].code.n > k->end_vaddr - k->vaddr)
			m[i].code.n = k->end_vaddr - k->vaddr;
	}
	if (err == 0)
		insn_decoder_free(d);
	return err;
}

/* Exact counts must agree; corrected ones of a kernel's few entries have noise; bursts have none. */
static bool same_work(const struct lift *l, const struct lift_kernel *k, double calls)
{
	if (l->relative)
		return true;
	return fabs(calls - k->calls) <= (l->exact ? 0.001 : 0.25) * calls;
}

static void keep_smallest(const struct lift *l, struct lift_kernel *k, const struct measure *m,
                          double overhead, double rate)
{
	double cyc = (m->ticks - m->calls * overhead) * rate;

	if (k->why_not)
		return;
	if (m->why)
		k->why_not = m->why;
	else if (!(m->calls > 0))
		k->why_not = "it was not called";
	else if (!same_work(l, k, m->calls))
		k->why_not = "it was not called as often as in the counted run";
	else if (!(cyc > 0))
		k->why_not = "it is too short to be timed";
	else if (!(k->cyc <= cyc))
		k->cyc = cyc;
	k->measured = k->why_not ? MEASURED_NOT : MEASURED_TIMED;
	if (k->why_not)
		k->cyc = NAN;
}

static int run_once(struct lift *l, struct measure *m, double overhead)
{
	double before = clock_cyc_per_tick(), after;
	bool threads = false;
	int err = measure_run(l->argv, m, l->n_kernels, &threads);

	if (err < 0)
		return err;
	after = clock_cyc_per_tick();
	if (!(fabs(after / before - 1) < 0.02))
		sp_warn("the core's clock changed from %.3f to %.3f cycles a tick while the program ran",
		        before, after);
	for (size_t i = 0; i < l->n_kernels; i++) {
		if (threads && !l->kernels[i].why_not)
			l->kernels[i].why_not = "the program has threads, which can't be told apart";
		keep_smallest(l, &l->kernels[i], &m[i], overhead, (before + after) / 2);
	}
	return 0;
}

int lift_measure(struct lift *l)
{
	struct measure *m = calloc(l->n_kernels + 1, sizeof(*m));
	double overhead = clock_hook_ticks();
	int err = m ? plan(l, m) : sp_fail(SP_ENOMEM, "out of memory");

	for (int i = 0; i < RUNS && err == 0; i++) {
		sp_progress("measuring", (uint64_t)i, RUNS);
		err = run_once(l, m, overhead);
	}
	sp_progress_end();
	free(m);
	return err;
}
