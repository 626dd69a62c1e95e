/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/predict.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/base/err.h"
#include "profiler/base/vec.h"
#include "profiler/predict_core.h"
#include "profiler/sim/trace.h"

/* Where the code and its data are said to be. */
#define CODE_VADDR 0x400000u
#define DATA_VADDR 0x10000000u

enum { LINE = 64, ACCESS_SHIFT = 3 /* 8 bytes */, JUMP_BYTES = 5 };

struct predictor {
	char name[80]; /* "zen5 1a2b3c4d": with a hash of the file */
	struct sim_config config;
};

/* The body as the core takes it: blocks, and what each touches. */
struct body {
	struct sim_replay *replay;
	VEC(uint32_t) blocks;
	VEC(uint64_t) mem; /* of all blocks, each ended by SIM_MEM_END */
	VEC(size_t) mem0;  /* where each block's begin */
	VEC(const uint64_t *) at;
	uint64_t n_insns;
};

/* Two files of one name are told apart. */
static void add_hash(char *name, size_t size, const char *text, size_t n_bytes)
{
	uint32_t h = 0x811c9dc5u;
	size_t n = strlen(name);

	for (size_t i = 0; i < n_bytes; i++)
		h = (h ^ (uint8_t)text[i]) * 0x1000193u;
	snprintf(name + n, size - n, " %08x", (unsigned)h);
}

int predictor_open(const char *core, struct predictor **out)
{
	struct predictor *p = calloc(1, sizeof(*p));
	char *text = NULL;
	size_t n_bytes;
	int err = p ? 0 : sp_fail(SP_ENOMEM, "out of memory for a predictor");

	if (err == 0)
		err = predict_core_text(core, p->name, &text, &n_bytes);
	if (err == 0) {
		add_hash(p->name, sizeof(p->name), text, n_bytes);
		err = sim_config_parse(text, n_bytes, &p->config);
		if (err < 0)
			sp_fail_prefix(err, "core %s", p->name);
	}
	free(text);
	if (err < 0)
		free(p);
	else
		*out = p;
	return err;
}

void predictor_close(struct predictor *p)
{
	free(p);
}

const char *predictor_core(const struct predictor *p)
{
	return p->name;
}

static void body_fini(struct body *b)
{
	sim_replay_free(b->replay);
	vec_fini(&b->blocks);
	vec_fini(&b->mem);
	vec_fini(&b->mem0);
	vec_fini(&b->at);
}

static int add_accesses(struct body *b, const struct sim_insn *in)
{
	uint64_t at = DATA_VADDR + LINE * b->n_insns;
	int err = 0;

	if (in->flags & SIM_F_LOAD)
		err = vec_push(&b->mem, SIM_MEM(at, in->index, ACCESS_SHIFT, 0));
	if (err == 0 && in->flags & SIM_F_STORE)
		err = vec_push(&b->mem, SIM_MEM(at, in->index, ACCESS_SHIFT, 1));
	b->n_insns++;
	return err;
}

static int add_blocks(struct body *b, const uint8_t *code, size_t n_bytes)
{
	for (size_t at = 0; at < n_bytes;) {
		uint32_t block;
		long took = sim_replay_add(b->replay, CODE_VADDR + at, code + at, n_bytes - at, &block);
		const struct sim_block *s;

		if (took < 0)
			return (int)took;
		at += (size_t)took;
		s = sim_replay_block(b->replay, block);
		if (vec_push(&b->blocks, block) < 0 || vec_push(&b->mem0, b->mem.n) < 0)
			return -SP_ENOMEM;
		for (uint32_t i = 0; i < s->n_insn; i++)
			if (add_accesses(b, &s->insn[i]) < 0)
				return -SP_ENOMEM;
		if (vec_push(&b->mem, SIM_MEM_END) < 0)
			return -SP_ENOMEM;
	}
	for (size_t i = 0; i < b->blocks.n; i++)
		if (vec_push(&b->at, &b->mem.v[b->mem0.v[i]]) < 0)
			return -SP_ENOMEM;
	return 0;
}

/* The body with a jump back to its begin. */
static uint8_t *looped(const uint8_t *code, size_t n_bytes)
{
	uint8_t *loop = malloc(n_bytes + JUMP_BYTES);
	uint32_t back = (uint32_t) - (n_bytes + JUMP_BYTES);

	if (!loop)
		return NULL;
	memcpy(loop, code, n_bytes);
	loop[n_bytes] = 0xe9;
	memcpy(loop + n_bytes + 1, &back, sizeof(back));
	return loop;
}

int predictor_loop(const struct predictor *p, const uint8_t *code, size_t n_bytes, double *cyc)
{
	struct body b = { 0 };
	uint8_t *loop = looped(code, n_bytes);
	int err = loop ? sim_replay_new(SIM_ISA_X86_64, &b.replay) : -SP_ENOMEM;

	if (err == 0)
		err = add_blocks(&b, loop, n_bytes + JUMP_BYTES);
	if (err == 0)
		err = sim_replay_start(b.replay, &p->config);
	if (err == 0)
		*cyc = sim_loop_run(b.replay, b.blocks.v, b.at.v, b.blocks.n);
	body_fini(&b);
	free(loop);
	return err;
}
