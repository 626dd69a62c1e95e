/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Gathers and scatters: their addresses are in a vector register, which is saved to be looked at. */
#include "profiler/replay/layout.h"
#include "profiler/replay/ops.h"

int rp_op_gather(const struct rp_insn *i, uint64_t ip)
{
	(void)i;
	(void)ip;
	return RP_END_INSTRUCTION;
}
