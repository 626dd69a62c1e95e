/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/sim/decode.h"

#include <stdlib.h>
#include <string.h>

#include "profiler/base/err.h"
#include "profiler/sim/decode_isa.h"

int sim_decoder_new(enum sim_isa isa, const struct sim_config *config, struct sim_decoder **out)
{
	struct sim_decoder *d = calloc(1, sizeof(*d));
	cs_arch arch = isa == SIM_ISA_AARCH64 ? CS_ARCH_ARM64 : CS_ARCH_X86;
	cs_mode mode = isa == SIM_ISA_AARCH64 ? CS_MODE_ARM : CS_MODE_64;

	if (!d)
		return sp_fail(SP_ENOMEM, "out of memory for the decoder");
	d->isa = isa;
	d->config = config;
	if (cs_open(arch, mode, &d->cs) != CS_ERR_OK) {
		free(d);
		return sp_fail(SP_ENOTSUP, "capstone: can't decode this instruction set");
	}
	cs_option(d->cs, CS_OPT_DETAIL, CS_OPT_ON);
	d->insn = cs_malloc(d->cs);
	if (!d->insn) {
		sim_decoder_free(d);
		return sp_fail(SP_ENOMEM, "out of memory for the decoder");
	}
	if (isa == SIM_ISA_AARCH64)
		sim_a64_registers(d->reg);
	else
		sim_x86_registers(d->reg);
	*out = d;
	return 0;
}

void sim_decoder_free(struct sim_decoder *d)
{
	if (!d)
		return;
	if (d->insn)
		cs_free(d->insn, 1);
	cs_close(&d->cs);
	free(d);
}

int sim_class_by_prefix(const struct sim_prefix *table, const char *mnemonic)
{
	for (; table->text; table++)
		if (!strncmp(mnemonic, table->text, strlen(table->text)))
			return table->cls;
	return -1;
}

void sim_add_reg(uint8_t *set, size_t n, uint8_t empty, uint8_t reg)
{
	for (size_t i = 0; i < n; i++) {
		if (set[i] == reg)
			return;
		if (set[i] == empty) {
			set[i] = reg;
			return;
		}
	}
}

bool sim_has_reg(const uint8_t *set, size_t n, uint8_t reg)
{
	for (size_t i = 0; i < n; i++)
		if (set[i] == reg)
			return true;
	return false;
}

/*
 * All sources and results of an instruction: address registers only in addr,
 * unless the operation reads them as well (a 64-bit store of its own base).
 */
void sim_registers(struct sim_decoder *d, struct sim_insn *in, const uint8_t *only_address)
{
	cs_regs read, written;
	uint8_t n_read = 0, n_written = 0;

	if (cs_regs_access(d->cs, d->insn, read, &n_read, written, &n_written) != CS_ERR_OK)
		return;
	for (uint8_t i = 0; i < n_read; i++) {
		uint8_t r = d->reg[read[i]];

		if (r != SIM_R_READY && !only_address[r])
			sim_add_reg(in->src, sizeof(in->src), SIM_R_READY, r);
	}
	for (uint8_t i = 0; i < n_written; i++) {
		uint8_t r = d->reg[written[i]];

		if (r != SIM_R_READY)
			sim_add_reg(in->dst, sizeof(in->dst), SIM_R_SINK, r);
	}
}

/* Groups of neighbouring ports; a class with ports for one group only has no choice to make. */
static void tie_to_ports(struct sim_insn *in, uint32_t bind)
{
	unsigned n = (unsigned)__builtin_popcount(in->ports);

	in->bind = (uint8_t)bind;
	in->n_bind = bind && n > bind ? (uint8_t)(n / bind) : 0;
}

/* Conversions from integer to vector registers and back: the way takes its time, less the cycle both have in common. */
static uint32_t crossing(const struct sim_config *c, const struct sim_insn *in)
{
	bool to = sim_is_vector(in->dst[0]), from = sim_is_vector(in->src[0]);
	uint32_t way;

	if (!c->has_tovec || in->cls != SIM_C_FCONV || in->flags & SIM_F_MEM || in->src[0] == SIM_R_READY ||
	    to == from)
		return 0;
	way = c->cls[to ? SIM_C_TOVEC : SIM_C_FCOMI].latency_cyc;
	return way ? way - 1 : 0;
}

/* What the class costs on this core. */
static void cost(const struct sim_decoder *d, struct sim_insn *in)
{
	const struct sim_class_config *c = &d->config->cls[in->cls];

	in->slots = (uint16_t)c->slots_milli;
	if (in->cls == SIM_C_LOAD || in->cls == SIM_C_STORE)
		return; /* ports are taken access by access, the latency is the cache's */
	in->ports = (uint16_t)c->ports;
	in->latency_cyc = (uint16_t)c->latency_cyc;
	in->occupancy_16 = (uint16_t)c->occupancy_16;
	tie_to_ports(in, c->bind);
	in->latency_cyc = (uint16_t)(in->latency_cyc + crossing(d->config, in));
	if (d->config->fp_cross_cyc && in->cls == SIM_C_FADD && in->events & 1u << SIM_FP_ADD)
		in->flags |= SIM_F_SUM;
	if (c->occupancy_16 > 16)
		in->flags |= SIM_F_UNIT;
	if (in->flags & SIM_F_BREAK) {
		memset(in->src, SIM_R_READY, sizeof(in->src));
		in->ports = 0;
	}
}

/* Compare and branch are one: the branch waits for the compare's sources, which need no port of their own. */
static void fuse(struct sim_block *b)
{
	struct sim_insn *in;

	if (b->n_insn < 2 || b->exit != SIM_X_COND)
		return;
	in = &b->insn[b->n_insn - 2];
	if (!(in->flags & SIM_F_FUSES))
		return;
	in->ports = 0;
	in->slots = 0;
	in->flags |= SIM_F_FUSED;
	if (in->kind == SIM_K_PLAIN)
		in->kind = SIM_K_FREE;
}

static void pool_of(struct sim_insn *in)
{
	for (size_t i = 0; i < sizeof(in->dst); i++) {
		uint8_t r = in->dst[i];

		if (r >= SIM_R_VEC && r <= SIM_R_X87)
			in->pool = SIM_POOL_FP;
		else if (r >= SIM_R_INT && r < SIM_R_FLAGS)
			in->pool = SIM_POOL_INT;
		if (in->pool)
			return;
	}
	if (sim_has_reg(in->dst, sizeof(in->dst), SIM_R_FLAGS))
		in->pool = SIM_POOL_FLAGS;
}

/* Of each of its loads: the latency is the cache's and what comes to it. */
static void cost_of_loads(const struct sim_config *c, struct sim_insn *in)
{
	const struct sim_class_config *to = &c->cls[in->pool == SIM_POOL_FP ? SIM_C_VLOAD : SIM_C_LOAD];

	in->load_ports = (uint16_t)to->ports;
	in->load_cyc = in->pool == SIM_POOL_FP ? (uint16_t)to->latency_cyc : 0;
	if (in->flags & SIM_F_SCALED && !c->memory_renaming)
		in->load_cyc = (uint16_t)(in->load_cyc + c->scaled_load_cyc);
}

static bool decode_one(struct sim_decoder *d, const uint8_t *code, size_t n_bytes, uint64_t ip)
{
	return cs_disasm_iter(d->cs, &code, &n_bytes, &ip, d->insn);
}

size_t sim_decode_length(struct sim_decoder *d, const uint8_t *code, size_t n_bytes)
{
	return n_bytes && decode_one(d, code, n_bytes, 0) ? d->insn->size : 0;
}

void sim_decode(struct sim_decoder *d, const uint8_t *code, size_t n_bytes, uint64_t ip, struct sim_block *b,
                uint32_t index)
{
	struct sim_insn *in = &b->insn[index];

	*in = (struct sim_insn){ .cls = SIM_C_SLOW, .flags = SIM_F_MEM };
	memset(in->dst, SIM_R_SINK, sizeof(in->dst));
	in->ip_off = (uint16_t)(ip - b->ip);
	in->index = (uint16_t)index;
	in->events = 1u << SIM_INSTRUCTIONS;
	b->exit = SIM_X_NONE;
	b->target = 0;
	b->is_rep = 0;
	b->end_ip = ip + n_bytes;
	if (decode_one(d, code, n_bytes, ip)) {
		in->flags = 0;
		if (d->isa == SIM_ISA_AARCH64)
			sim_a64_decode(d, in, b);
		else
			sim_x86_decode(d, in, b);
		if (in->flags & SIM_F_REP)
			b->is_rep = 1;
	}
	if (d->config)
		cost(d, in);
	pool_of(in);
	if (d->config)
		cost_of_loads(d->config, in);
	if (in->src[2] != SIM_R_READY || in->dst[2] != SIM_R_SINK)
		in->flags |= SIM_F_MANY;
	if ((in->flags & (SIM_F_MEM | SIM_F_MANY | SIM_F_UNIT)) == SIM_F_LOAD && !in->ports)
		in->kind = SIM_K_LOAD;
	else if (in->flags & SIM_F_MEM)
		in->kind = SIM_K_MEMORY;
	else if (in->flags & (SIM_F_MANY | SIM_F_UNIT | SIM_F_SUM))
		in->kind = SIM_K_OTHER;
	else
		in->kind = in->ports ? SIM_K_PLAIN : SIM_K_FREE;
}

static unsigned exit_events(unsigned exit)
{
	switch (exit) {
	case SIM_X_NONE:
		return 0;
	case SIM_X_COND:
		return 1u << SIM_BRANCHES | 1u << SIM_COND_BRANCHES;
	case SIM_X_CALL:
		return 1u << SIM_BRANCHES | 1u << SIM_CALLS;
	case SIM_X_CALL_IND:
		return 1u << SIM_BRANCHES | 1u << SIM_CALLS | 1u << SIM_INDIRECT_BRANCHES;
	case SIM_X_JUMP_IND:
		return 1u << SIM_BRANCHES | 1u << SIM_INDIRECT_BRANCHES;
	case SIM_X_RET:
		return 1u << SIM_BRANCHES | 1u << SIM_RETURNS;
	default:
		return 1u << SIM_BRANCHES;
	}
}

static uint16_t site_of(uint64_t ip)
{
	uint64_t rest = (ip * 0x9e3779b97f4a7c15u) >> 49 & ~(uint64_t)(SIM_PAIRS - 1);

	return (uint16_t)(0x8000 | rest | (ip >> 3 & (SIM_PAIRS - 1)));
}

/* Number the places that the instructions take, so that the core needs no running counts. */
static void count_places(struct sim_block *b)
{
	memset(b->taken, 0, sizeof(b->taken));
	for (uint32_t i = 0; i < b->n_insn; i++) {
		struct sim_insn *in = &b->insn[i];

		in->site = site_of(b->ip + in->ip_off);
		in->pool_before = b->taken[in->pool]++;
		in->loads_before = b->taken[SIM_POOL_LOAD];
		in->stores_before = b->taken[SIM_POOL_STORE];
		b->taken[SIM_POOL_LOAD] += (in->flags & SIM_F_LOAD) != 0;
		b->taken[SIM_POOL_STORE] += (in->flags & SIM_F_STORE) != 0;
		for (unsigned p = 0; p < SIM_N_LIMITED; p++)
			b->insn[i - i % SIM_GROUP].group_taken[p] = b->taken[SIM_POOL_INT + p];
	}
}

void sim_decode_finish(const struct sim_decoder *d, struct sim_block *b)
{
	memset(b->total, 0, sizeof(b->total));
	b->last_ip = b->ip + b->insn[b->n_insn - 1].ip_off;
	b->insn[b->n_insn - 1].events |= exit_events(b->exit);
	for (uint32_t i = 0; i < b->n_insn; i++)
		for (unsigned bits = b->insn[i].events; bits; bits &= bits - 1)
			b->total[__builtin_ctz(bits)]++;
	count_places(b);
	if (d->config && d->config->fuse_branches)
		fuse(b);
	if (d->config) {
		b->fetch_cyc = (uint8_t)(b->n_insn / d->config->fetch_width);
		b->fetch_rest = (uint8_t)(b->n_insn % d->config->fetch_width);
	}
}
