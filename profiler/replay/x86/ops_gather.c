/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Gathers and scatters: their addresses are in a vector register, which is saved to be looked at. */
#include <cpuid.h>
#include <string.h>

#include "profiler/replay/machine.h"
#include "profiler/replay/pages.h"
#include "profiler/replay/run.h"
#include "profiler/replay/x86/ops.h"

/* Where XSAVE puts the parts of a vector register, and mask registers. */
static struct places {
	bool known;
	unsigned ymm, mask, zmm, hi_zmm;
} places;

static unsigned place_of(unsigned component)
{
	unsigned a, b, c, d;

	__cpuid_count(0xd, component, a, b, c, d);
	return b;
}

static void find_places(void)
{
	if (!places.known)
		places = (struct places){ true, place_of(2), place_of(5), place_of(6), place_of(7) };
}

/* The byte `off` of a vector register.  Elements never lie across the parts. */
static uint8_t *vector_at(uint8_t *area, unsigned reg, unsigned off)
{
	if (reg >= 16)
		return area + places.hi_zmm + (size_t)64 * (reg - 16) + off;
	if (off >= 32)
		return area + places.zmm + (size_t)32 * reg + off - 32;
	return off >= 16 ? area + places.ymm + (size_t)16 * reg + off - 16
	                 : area + 160 + (size_t)16 * reg + off;
}

struct gather {
	uint8_t *area;
	const struct rp_insn *i;
	unsigned data_bytes, index_bytes, n;
	bool store;
	uint64_t base;
};

static uint64_t element_address(const struct gather *g, unsigned k)
{
	int64_t wide;
	int32_t index;
	uint64_t at;

	if (g->index_bytes == 8) {
		memcpy(&wide, vector_at(g->area, g->i->index, 8 * k), sizeof(wide));
	} else {
		memcpy(&index, vector_at(g->area, g->i->index, 4 * k), sizeof(index));
		wide = index;
	}
	at = g->base + ((uint64_t)wide << g->i->scale);
	return g->i->addrsize ? (uint32_t)at : at;
}

static bool is_wanted(const struct gather *g, unsigned k)
{
	uint64_t mask;

	if (g->i->encoding == RP_VEX)
		return *vector_at(g->area, g->i->vvvv & 15, g->data_bytes * (k + 1) - 1) & 0x80;
	memcpy(&mask, g->area + places.mask + (size_t)8 * g->i->mask, sizeof(mask));
	return mask >> k & 1;
}

static bool do_element(const struct gather *g, unsigned k, uint64_t segment)
{
	uint8_t *data = vector_at(g->area, g->i->reg, g->data_bytes * k);
	uint64_t at = element_address(g, k) + segment;

	if (!is_wanted(g, k))
		return true;
	return g->store ? rp_write(at, data, g->data_bytes) : rp_read(at, data, g->data_bytes);
}

static void clear_vector(uint8_t *area, unsigned reg, unsigned from)
{
	unsigned bytes = places.zmm ? 64 : 32;

	for (unsigned off = from; off < bytes; off += 4)
		memset(vector_at(area, reg, off), 0, 4);
}

/* The mask is used up; what lies above the elements is zero. */
static void finish(const struct gather *g)
{
	if (g->i->encoding == RP_VEX)
		clear_vector(g->area, g->i->vvvv & 15, 0);
	else
		memset(g->area + places.mask + (size_t)8 * g->i->mask, 0, 8);
	if (!g->store)
		clear_vector(g->area, g->i->reg, g->data_bytes * g->n);
}

/* No index, registers that may not be the same, a mask that may not be the one of all ones. */
static bool is_void(const struct rp_insn *i)
{
	unsigned mask = i->vvvv & 15;

	if (i->index == RP_NO_REG)
		return true;
	if (i->encoding == RP_EVEX)
		return !i->mask || i->zeroing || i->broadcast || (i->opcode < 0xa0 && i->reg == i->index);
	return i->reg == i->index || i->reg == mask || mask == i->index;
}

int rp_op_gather(const struct rp_insn *i, uint64_t ip)
{
	static uint8_t area[RP_STATE_BYTES] __attribute__((aligned(64)));
	struct gather g = { .area = area,
		            .i = i,
		            .data_bytes = i->wide ? 8 : 4,
		            .index_bytes = i->opcode & 1 ? 8 : 4,
		            .store = i->opcode >= 0xa0,
		            .base = (uint64_t)(int64_t)i->disp };
	uint64_t why_at, segment = i->segment == 0x64   ? RP_CONTEXT->fs_base
	                           : i->segment == 0x65 ? RP_CONTEXT->gs_base
	                                                : 0;

	(void)ip;
	find_places();
	if (is_void(i))
		return RP_END_FAULT;
	if (i->base != RP_NO_REG)
		g.base += RP_CONTEXT->gpr[i->base & 15];
	g.n = (16u << i->vector_log2) / (g.data_bytes > g.index_bytes ? g.data_bytes : g.index_bytes);
	rp_save_vectors(area);
	for (unsigned k = 0; k < g.n; k++)
		if (!do_element(&g, k, segment))
			return (int)rp_pages_why(&why_at);
	finish(&g);
	rp_load_vectors(area);
	return RP_GOES_ON;
}
