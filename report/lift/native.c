/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Blocks run on this processor, after [BHIVE] (Chen et al., IISWC 2019): each
 * alone in a process that can do nothing else, unrolled at two lengths whose
 * times are subtracted, with pages put where it reaches.  Its rules of
 * rejection hold: a fault, times that are unsteady, accesses across the end
 * of a cache line.  `native-splits` keeps the last.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "profiler/base/err.h"
#include "profiler/base/path.h"
#include "report/lift/native_block.h"
#include "report/lift/tool.h"

struct native {
	struct insn_decoder *decoder;
	struct native_server *server;
	struct block_request request;
};

static void native_close(struct tool *t)
{
	struct native *n = t->state;

	if (!n)
		return;
	native_server_stop(n->server);
	insn_decoder_free(n->decoder);
	free(n);
	t->state = NULL;
}

static int set_up(struct native *n)
{
	char path[4096];
	int err = path_find("skidblock", path, sizeof(path));

	if (err < 0)
		return sp_fail(SP_ENOTSUP, "native: %s", sp_error_text());
	err = insn_decoder_new(ISA_X86_64, &n->decoder);
	return err < 0 ? err : native_server_start(path, &n->server);
}

static int native_open(struct tool *t)
{
	int err;

#ifndef __x86_64__
	return sp_fail(SP_ENOTSUP,
	               "%s: blocks are run on x86-64 only so far: the code that sets registers and "
	               "maps pages around a block is written for it",
	               t->name);
#endif
	if (t->target->isa != ISA_X86_64)
		return sp_fail(SP_ENOTSUP, "%s: blocks of another instruction set can't be run here",
		               t->name);
	t->state = calloc(1, sizeof(struct native));
	if (!t->state)
		return sp_fail(SP_ENOMEM, "out of memory");
	err = set_up(t->state);
	if (err < 0)
		native_close(t);
	else
		snprintf(t->version, sizeof(t->version), "rdtsc, in cycles of a chain of additions");
	return err;
}

/* The verdict on the block; false, and out says why, when there is none. */
static bool run(struct native *n, const struct tool_block *b, struct block_reply *r,
                struct tool_prediction *out)
{
	char why[TOOL_WHY_MAX];

	if (native_prepare(n->decoder, b, &n->request) < 0) {
		tool_failed(out, "%s", sp_error_text());
		return false;
	}
	/* Only a jump: nothing is left that could be timed. */
	if (!n->request.n_insn) {
		*r = (struct block_reply){ .verdict = BLOCK_TIMED };
		return true;
	}
	if (native_server_ask(n->server, &n->request, r) < 0) {
		tool_failed(out, "%s", sp_error_text());
		return false;
	}
	if (r->verdict == BLOCK_TIMED)
		return true;
	native_reason(r, why, sizeof(why));
	tool_failed(out, "%s", why);
	return false;
}

static void native_splits_predict(const struct tool *t, const struct tool_block *b,
                                  struct tool_prediction *out)
{
	struct block_reply r;

	if (run(t->state, b, &r, out))
		out->cyc = r.cyc;
}

static void native_predict(const struct tool *t, const struct tool_block *b, struct tool_prediction *out)
{
	struct block_reply r;

	if (!run(t->state, b, &r, out))
		return;
	out->cyc = r.cyc;
	if (r.n_splits)
		tool_failed(out, "%.2f accesses an execution cross the end of a cache line",
		            (double)r.n_splits / (r.n_watched ? r.n_watched : 1));
}

const struct tool_ops tool_native = {
	.name = "native",
	.summary = "the block run on this processor, by BHive's rules",
	.open = native_open,
	.close = native_close,
	.predict = native_predict,
	.by_turns = true,
	.by_machine = true,
};

const struct tool_ops tool_native_splits = {
	.name = "native-splits",
	.summary = "the same, accesses across cache lines allowed",
	.open = native_open,
	.close = native_close,
	.predict = native_splits_predict,
	.by_turns = true,
	.by_machine = true,
};
