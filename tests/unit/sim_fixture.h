/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_TESTS_SIM_FIXTURE_H
#define SKIDPROF_TESTS_SIM_FIXTURE_H

/* A simulated core, and machine code made by hand to run on it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "profiler/sim/core.h"
#include "profiler/sim/decode.h"

struct rig {
	struct sim_config config;
	struct sim_pmu_setup setup;
	struct sim_core *core;
	struct sim_decoder *decoder;
	enum sim_isa isa;
	/* what the PMU has delivered */
	struct sim_sample *sample;
	size_t n_samples;
};

static inline void keep_sample(void *user, const struct sim_sample *s)
{
	struct rig *r = user;

	size_t n = s->n_branches * sizeof(*s->branch);
	struct wire_branch *branch = malloc(n + 1);

	assert_non_null(branch);
	if (n)
		memcpy(branch, s->branch, n);
	/* By doubling: a sanitizer's realloc copies it all. */
	if (!(r->n_samples & (r->n_samples - 1)))
		r->sample = realloc(r->sample, (r->n_samples ? 2 * r->n_samples : 1) * sizeof(*s));
	assert_non_null(r->sample);
	r->sample[r->n_samples] = *s;
	r->sample[r->n_samples++].branch = branch;
}

static inline void read_core(const char *name, struct sim_config *out)
{
	const char *top = getenv("TOP");
	char path[512], *text = malloc(1 << 16);
	size_t n;
	FILE *f;

	snprintf(path, sizeof(path), "%s/profiler/sim/cores/%s.core", top ? top : ".", name);
	f = fopen(path, "r");
	assert_non_null(f);
	assert_non_null(text);
	n = fread(text, 1, 1 << 16, f);
	fclose(f);
	assert_int_equal(sim_config_parse(text, n, out), 0);
	free(text);
}

static inline void rig_prepare(struct rig *r, const char *core)
{
	memset(r, 0, sizeof(*r));
	read_core(core, &r->config);
	r->isa = !strcmp(core, "cortex-a76") ? SIM_ISA_AARCH64 : SIM_ISA_X86_64;
	r->setup.sample = keep_sample;
	r->setup.user = r;
}

/* After changes to config and setup. */
static inline void rig_start(struct rig *r)
{
	r->setup.n_sets = r->setup.n_sets ? r->setup.n_sets : 1;
	r->core = calloc(1, sizeof(*r->core));
	assert_non_null(r->core);
	assert_int_equal(sim_core_start(r->core, &r->config, &r->setup), 0);
	assert_int_equal(sim_decoder_new(r->isa, &r->config, &r->decoder), 0);
}

static inline void rig_stop(struct rig *r)
{
	sim_core_stop(r->core);
	free(r->core);
	sim_decoder_free(r->decoder);
	for (size_t i = 0; i < r->n_samples; i++)
		free((void *)(uintptr_t)r->sample[i].branch); // NOLINT(performance-no-int-to-ptr)
	free(r->sample);
}

/* n instructions as hexadecimal text, "4801c0": one block at ip. */
static inline struct sim_block *block_at(struct rig *r, uint64_t ip, const char *const *insns, size_t n)
{
	struct sim_block *b = calloc(1, sizeof(*b) + n * sizeof(b->insn[0]));

	assert_non_null(b);
	b->ip = ip;
	b->n_insn = (uint16_t)n;
	for (size_t i = 0; i < n; i++) {
		uint8_t code[16];
		size_t len = strlen(insns[i]) / 2;

		for (size_t k = 0; k < len; k++) {
			unsigned byte;

			assert_int_equal(sscanf(insns[i] + 2 * k, "%2x", &byte), 1);
			code[k] = (uint8_t)byte;
		}
		sim_decode(r->decoder, code, len, ip, b, (uint32_t)i);
		ip += len;
	}
	sim_decode_finish(r->decoder, b);
	return b;
}

/* The same instructions n_times in a row, as one block. */
static inline struct sim_block *block_of(struct rig *r, const char *const *insns, size_t n, size_t n_times)
{
	const char **all = calloc(n * n_times, sizeof(*all));
	struct sim_block *b;

	assert_non_null(all);
	for (size_t i = 0; i < n * n_times; i++)
		all[i] = insns[i % n];
	b = block_at(r, 0x400000, all, n * n_times);
	free(all);
	return b;
}

static const uint64_t no_memory[] = { SIM_MEM_END };

/* Run a block over and over; cycles for each run in the long run. */
static inline double cycles_each(struct rig *r, const struct sim_block *b, unsigned n_runs)
{
	uint64_t from;

	for (unsigned i = 0; i < 20; i++)
		sim_core_run(r->core, b, b->n_insn, b->end_ip, no_memory);
	from = r->core->retire_cyc;
	for (unsigned i = 0; i < n_runs; i++)
		sim_core_run(r->core, b, b->n_insn, b->end_ip, no_memory);
	return (double)(r->core->retire_cyc - from) / n_runs;
}

#endif
