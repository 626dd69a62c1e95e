/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any bytes as a program's code: decoded within their bounds, and emitted within those of a block. */
#include <stdlib.h>
#include <string.h>

#include "profiler/replay/a64/emit.h"
#include "profiler/replay/x86/emit.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_operand(const struct rp_insn *i)
{
	if (i->len > RP_MAX_INSN_BYTES || i->op_off >= i->len || i->imm_off + i->imm_bytes > i->len)
		abort();
	/* No operand is longer. */
	if (i->mem && i->kind == RP_PLAIN && (i->mem_bytes == 0 || i->mem_bytes > 128))
		abort();
	if (i->mem && ((i->base != RP_NO_REG && i->base > 15) || (i->index != RP_NO_REG && i->index > 31)))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rp_emitter e = { .code = malloc(RP_MAX_BLOCK_CODE),
		                .exits = malloc(RP_MAX_BLOCK_EXITS * sizeof(*e.exits)) };
	uint64_t ip = size > 1 ? data[0] * 17u : 0;
	uint8_t *code = malloc(size + 1);
	struct rp_insn i;

	memcpy(code, data, size);
	if (rp_decode(code, size, &i) && i.kind != RP_UNKNOWN)
		check_operand(&i);
	for (int chains = 0; chains < 2; chains++) {
		e.chains = chains;
		rp_emit_block(&e, ip, code, size, RP_MAX_BLOCK_INSNS);
		if (e.n_code > RP_MAX_BLOCK_CODE || e.n_exits > RP_MAX_BLOCK_EXITS)
			abort();
		e.n_code = e.n_exits = 0;
	}
	a64_emit_block(&e, ip & ~3ull, code, size, RP_MAX_BLOCK_INSNS);
	if (e.n_code > RP_MAX_BLOCK_CODE || e.n_exits > RP_MAX_BLOCK_EXITS)
		abort();
	free(code);
	free(e.code);
	free(e.exits);
	return 0;
}
