/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_REPLAY_X86_DECODE_FLAGS_H
#define SKIDPROF_REPLAY_X86_DECODE_FLAGS_H

#include "profiler/replay/x86/decode.h"

/* What an instruction has to do with the flags of arithmetic (CF, PF, AF, ZF, SF, OF). */
enum rp_flags {
	RP_FLAGS_OTHER, /* it reads some, or changes some and leaves others: nothing may be wrong about them before it */
	RP_FLAGS_SET,  /* it sets all of them, whatever they were */
	RP_FLAGS_LEFT, /* nothing */
};

/* RP_FLAGS_OTHER where it isn't known to be another. */
enum rp_flags rp_flags_of(const struct rp_insn *i);

#endif
