/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The simulated core, twice: `sim` takes a block by itself in the steady
 * state, as the native tool lays it out; `sim-run` is what the core took for
 * the whole kernel when the program was recorded on it, every cache line and
 * branch of the run seen: the role that [HARNESS] gives Gus.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/base/err.h"
#include "profiler/predict.h"
#include "report/lift/lift.h"
#include "report/lift/native_block.h"
#include "report/lift/sandbox/anew.h"

/* Instructions of a body, at least: more than a window holds. */
enum { BODY_INSNS = 600 };

/* The core file for a processor by LLVM's name; NULL = none comes with skidprof. */
static const char *core_of(const char *cpu)
{
	if (strncmp(cpu, "znver", 5) == 0)
		return "zen5";
	return strncmp(cpu, "skylake", 7) == 0 ? "skylake" : NULL;
}

static int sim_open(struct tool *t)
{
	const char *core = t->target->core ? t->target->core : core_of(t->target->cpu);
	struct predictor *p;
	int err;

	if (t->target->isa != ISA_X86_64)
		return sp_fail(SP_ENOTSUP, "%s: blocks of x86-64 only so far", t->name);
	if (!core)
		return sp_fail(SP_ENOTSUP, "%s: no core file for '%s': --core names one", t->name,
		               t->target->cpu);
	err = predictor_open(core, &p);
	if (err < 0)
		return err;
	t->state = p;
	snprintf(t->version, sizeof(t->version), "core %s", predictor_core(p));
	return 0;
}

static void sim_close(struct tool *t)
{
	predictor_close(t->state);
}

/* Copies of the block, and after each n_turns of them its registers anew. */
static int lay_out(const struct block_request *r, uint8_t **code, size_t *n_bytes, uint32_t *n_copies)
{
	uint32_t turns = r->n_turns ? r->n_turns : 1;
	uint32_t n = (BODY_INSNS / r->n_insn + turns) / turns * turns;
	static const uint32_t value[16];
	uint8_t *at = malloc(n * (size_t)(r->n_bytes + BLOCK_ANEW_BYTES));

	if (!at)
		return sp_fail(SP_ENOMEM, "out of memory for a block");
	*code = at;
	*n_copies = n;
	for (uint32_t i = 0; i < n; i++) {
		memcpy(at, r->code, r->n_bytes);
		at += r->n_bytes;
		if (r->n_turns && (i + 1) % turns == 0)
			at += block_anew(r, value, 1, at);
	}
	*n_bytes = (size_t)(at - *code);
	return 0;
}

static int predict(const struct predictor *p, const struct tool_block *b, double *cyc)
{
	struct insn_decoder *d = NULL;
	struct block_request *r = malloc(sizeof(*r));
	uint8_t *code = NULL;
	size_t n_bytes = 0;
	uint32_t n_copies = 1;
	int err = r ? insn_decoder_new(ISA_X86_64, &d) : sp_fail(SP_ENOMEM, "out of memory for a block");

	if (err == 0)
		err = native_prepare(d, b, r);
	if (err == 0 && !r->n_insn) {
		*cyc = 0; /* only a jump */
	} else if (err == 0) {
		err = lay_out(r, &code, &n_bytes, &n_copies);
		if (err == 0)
			err = predictor_loop(p, code, n_bytes, cyc);
		if (err == 0)
			*cyc /= n_copies;
	}
	free(code);
	insn_decoder_free(d);
	free(r);
	return err;
}

static void sim_predict(const struct tool *t, const struct tool_block *b, struct tool_prediction *out)
{
	if (predict(t->state, b, &out->cyc) < 0)
		tool_failed(out, "%s", sp_error_text());
}

static int sim_run_open(struct tool *t)
{
	snprintf(t->version, sizeof(t->version), "as recorded");
	return 0;
}

/* The core that the profile is of, NULL when it is of none of ours. */
static const char *recorded_core(const struct lift *l)
{
	return l->profile && strcmp(l->profile->meta.pmu, "simulated") == 0 ? l->profile->meta.cpudesc : NULL;
}

static void sim_run_kernel(const struct tool *t, const struct lift *l, const struct lift_kernel *k,
                           struct tool_prediction *out)
{
	size_t first, n = lift_profile_insns(l, k->module, k->vaddr, k->end_vaddr, &first);
	double cyc = 0;

	(void)t;
	if (!recorded_core(l)) {
		tool_failed(out, "needs a recording on the simulated core: -i FILE of record --pmu sim");
		return;
	}
	for (size_t i = first; i < first + n; i++)
		cyc += l->profile->insns[i].count.cyc;
	out->cyc = cyc > 0 ? cyc : NAN;
	if (!(cyc > 0))
		tool_failed(out, "no sample of cycles is in it: record with a shorter period");
}

const struct tool_ops tool_sim = {
	.name = "sim",
	.summary = "the simulated core, block by block",
	.open = sim_open,
	.close = sim_close,
	.predict = sim_predict,
	.by_turns = true,
};

const struct tool_ops tool_sim_run = {
	.name = "sim-run",
	.summary = "the simulated core, the whole run",
	.open = sim_run_open,
	.kernel = sim_run_kernel,
};
