/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/sim/replay.h"

#include <stdio.h>

#include "profiler/base/err.h"
#include "profiler/base/vec.h"

enum { MAX_INSN_BYTES = 15, FIRST_BUCKETS = 1 << 10 };

/* One encoding: decoded once for a core, however often it stands in the code. */
struct form {
	uint8_t bytes[MAX_INSN_BYTES], n_bytes;
	uint8_t exit, is_rep;
	uint64_t target; /* of a branch at address 0 */
	struct sim_insn insn;
};

struct piece {
	uint64_t ip;
	size_t first; /* in replay.insn */
	uint32_t n_insn;
	struct sim_block *block;
};

struct sim_replay {
	enum sim_isa isa;
	const struct sim_config *config;
	struct sim_decoder *decoder;
	struct sim_core *core;
	VEC(struct form) forms;
	uint32_t *bucket; /* form + 1; 0 = empty */
	size_t n_buckets;
	VEC(uint32_t) insn; /* forms of all pieces, one piece after the other */
	VEC(struct piece) pieces;
};

int sim_replay_new(enum sim_isa isa, struct sim_replay **out)
{
	struct sim_replay *r = calloc(1, sizeof(*r));
	int err;

	if (!r)
		return sp_fail(SP_ENOMEM, "out of memory for a replay");
	r->isa = isa;
	r->n_buckets = FIRST_BUCKETS;
	r->bucket = calloc(r->n_buckets, sizeof(*r->bucket));
	err = r->bucket ? sim_decoder_new(isa, NULL, &r->decoder)
	                : sp_fail(SP_ENOMEM, "out of memory for a replay");
	if (err < 0) {
		sim_replay_free(r);
		return err;
	}
	*out = r;
	return 0;
}

static void core_free(struct sim_replay *r)
{
	if (r->core)
		sim_core_stop(r->core);
	free(r->core);
	r->core = NULL;
}

void sim_replay_free(struct sim_replay *r)
{
	if (!r)
		return;
	core_free(r);
	for (size_t i = 0; i < r->pieces.n; i++)
		free(r->pieces.v[i].block);
	vec_fini(&r->pieces);
	vec_fini(&r->insn);
	vec_fini(&r->forms);
	free(r->bucket);
	sim_decoder_free(r->decoder);
	free(r);
}

static uint64_t hash_bytes(const uint8_t *p, size_t n)
{
	uint64_t h = 0xcbf29ce484222325u;

	for (size_t i = 0; i < n; i++)
		h = (h ^ p[i]) * 0x100000001b3u;
	return h ^ h >> 29;
}

static void put_form(struct sim_replay *r, uint32_t form)
{
	const struct form *f = &r->forms.v[form];
	size_t b = hash_bytes(f->bytes, f->n_bytes) & (r->n_buckets - 1);

	while (r->bucket[b])
		b = (b + 1) & (r->n_buckets - 1);
	r->bucket[b] = form + 1;
}

static int grow(struct sim_replay *r)
{
	uint32_t *bucket = calloc(r->n_buckets * 4, sizeof(*bucket));

	if (!bucket)
		return sp_fail(SP_ENOMEM, "out of memory for a replay");
	free(r->bucket);
	r->bucket = bucket;
	r->n_buckets *= 4;
	for (uint32_t i = 0; i < r->forms.n; i++)
		put_form(r, i);
	return 0;
}

static void decode_form(struct sim_replay *r, struct form *f)
{
	/* Room for the one instruction that follows the head. */
	_Alignas(struct sim_block) char room[sizeof(struct sim_block) + sizeof(struct sim_insn)] = { 0 };
	struct sim_block *one = (struct sim_block *)room;

	one->n_insn = 1;
	sim_decode(r->decoder, f->bytes, f->n_bytes, 0, one, 0);
	f->insn = one->insn[0];
	f->exit = one->exit;
	f->is_rep = one->is_rep;
	f->target = one->target;
}

static int find_form(struct sim_replay *r, const uint8_t *code, size_t n_bytes, uint32_t *out)
{
	struct form f = { .n_bytes = (uint8_t)n_bytes };
	size_t b = hash_bytes(code, n_bytes) & (r->n_buckets - 1);
	int err;

	for (; r->bucket[b]; b = (b + 1) & (r->n_buckets - 1)) {
		const struct form *have = &r->forms.v[r->bucket[b] - 1];

		if (have->n_bytes == n_bytes && !memcmp(have->bytes, code, n_bytes)) {
			*out = r->bucket[b] - 1;
			return 0;
		}
	}
	if (r->forms.n * 2 >= r->n_buckets && (err = grow(r)) < 0)
		return err;
	memcpy(f.bytes, code, n_bytes);
	decode_form(r, &f);
	*out = (uint32_t)r->forms.n;
	if ((err = vec_push(&r->forms, f)) < 0)
		return err;
	put_form(r, *out);
	return 0;
}

/* The piece's block, from what its forms are on the present core. */
static void fill_block(const struct sim_replay *r, const struct piece *p)
{
	struct sim_block *b = p->block;
	uint64_t ip = p->ip;

	b->ip = ip;
	b->n_insn = (uint16_t)p->n_insn;
	for (uint32_t i = 0; i < p->n_insn; i++) {
		const struct form *f = &r->forms.v[r->insn.v[p->first + i]];

		b->insn[i] = f->insn;
		b->insn[i].index = (uint16_t)i;
		b->insn[i].ip_off = (uint16_t)(ip - p->ip);
		b->exit = f->exit;
		b->is_rep = f->is_rep;
		b->target = f->target ? ip + f->target : 0;
		ip += f->n_bytes;
	}
	b->end_ip = ip;
	sim_decode_finish(r->decoder, b);
}

long sim_replay_add(struct sim_replay *r, uint64_t ip, const uint8_t *code, size_t n_bytes, uint32_t *block)
{
	struct piece p = { .ip = ip, .first = r->insn.n };
	size_t at = 0, len;
	uint32_t form;
	int err;

	while (p.n_insn < SIM_REPLAY_INSNS &&
	       (len = sim_decode_length(r->decoder, code + at, n_bytes - at))) {
		if ((err = find_form(r, code + at, len, &form)) < 0 || (err = vec_push(&r->insn, form)) < 0)
			return err;
		p.n_insn++;
		at += len;
		if (r->forms.v[form].exit != SIM_X_NONE || r->forms.v[form].is_rep)
			break;
	}
	if (!p.n_insn)
		return sp_fail(SP_EFORMAT, "no instruction at address %#jx", (uintmax_t)ip);
	p.block = calloc(1, sizeof(*p.block) + p.n_insn * sizeof(p.block->insn[0]));
	if (!p.block)
		return sp_fail(SP_ENOMEM, "out of memory for a replay");
	fill_block(r, &p);
	*block = (uint32_t)r->pieces.n;
	if ((err = vec_push(&r->pieces, p)) < 0) {
		free(p.block);
		return err;
	}
	return (long)at;
}

const struct sim_block *sim_replay_block(const struct sim_replay *r, uint32_t block)
{
	return r->pieces.v[block].block;
}

int sim_replay_start(struct sim_replay *r, const struct sim_config *config)
{
	const struct sim_pmu_setup nothing = { .n_sets = 1 };
	int err;

	core_free(r);
	sim_decoder_free(r->decoder);
	r->decoder = NULL;
	r->config = config;
	if ((err = sim_decoder_new(r->isa, config, &r->decoder)) < 0)
		return err;
	for (size_t i = 0; i < r->forms.n; i++)
		decode_form(r, &r->forms.v[i]);
	for (size_t i = 0; i < r->pieces.n; i++)
		fill_block(r, &r->pieces.v[i]);
	if (!(r->core = malloc(sizeof(*r->core))))
		return sp_fail(SP_ENOMEM, "out of memory for a simulated core");
	if ((err = sim_core_start(r->core, config, &nothing)) < 0) {
		free(r->core);
		r->core = NULL;
	}
	return err;
}

int sim_replay_sample(struct sim_replay *r, const struct sim_pmu_setup *setup)
{
	if (setup->n_events > WIRE_MAX_EVENTS)
		return sp_fail(SP_EDOMAIN, "%u events; there is room for %u", setup->n_events,
		               WIRE_MAX_EVENTS);
	sim_pmu_init(&r->core->pmu, r->config, setup);
	return 0;
}

void sim_replay_run(struct sim_replay *r, uint32_t block, uint64_t next_ip, const uint64_t *mem)
{
	const struct sim_block *b = r->pieces.v[block].block;

	sim_core_run(r->core, b, b->n_insn, next_ip, mem);
}

void sim_replay_touch(struct sim_replay *r, uint64_t vaddr)
{
	sim_memory_warm(&r->core->memory, vaddr);
}

uint64_t sim_replay_cycles(const struct sim_replay *r)
{
	return r->core->retire_cyc;
}

const struct sim_core *sim_replay_core(const struct sim_replay *r)
{
	return r->core;
}
