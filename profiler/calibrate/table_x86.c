/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The cliffs of x86-64.  Nothing here may depend on one maker's cores: ranges are wide, cache sizes relative. */
#include <string.h>

#include "profiler/calibrate/cliff.h"

#define CHAIN_OF(n, text)                                                                                \
	.cls = CLIFF_LATENCY, .unit = "cycles", .shape = CLIFF_CHAIN, .method = CLIFF_SLOPE, .from = 48, \
	.to = 288, .step = 48, .amount = n, .snippet = text
#define CHAIN(text) CHAIN_OF(1, text)
#define STREAMS(text)                                                                                 \
	.cls = CLIFF_BANDWIDTH, .unit = "per cycle", .shape = CLIFF_STREAMS, .method = CLIFF_PLATEAU, \
	.from = 1, .to = 12, .step = 1, .amount = 1, .snippet = text
/* Multiples of 36, so that every stream has the same share: of 9 integer and of 12 vector registers. */
#define SERIES_OF(n, by, text)                                                                    \
	.cls = CLIFF_BANDWIDTH, .unit = "per cycle", .shape = CLIFF_SERIES, .method = CLIFF_RATE, \
	.from = 2 * by, .to = 10 * by, .step = by, .amount = n, .snippet = text
#define SERIES(text) SERIES_OF(1, 144, text)
#define WINDOW_OF(what, text, most, ahead)                                                                 \
	.cls = CLIFF_CAPACITY, .unit = what, .shape = CLIFF_MISSES, .method = CLIFF_KNEE, .integer = true, \
	.is_far = true, .from = 20, .to = most, .step = 20, .amount = ahead, .snippet = text
#define WINDOW(text, most, ahead) WINDOW_OF("entries", text, most, ahead)
/* Fillers that wait for the miss before them: the next one is held up by what keeps those that can't be executed yet. */
#define WAITING(before, text)                                                                          \
	.cls = CLIFF_CAPACITY, .unit = "entries", .shape = CLIFF_MISSES, .method = CLIFF_KNEE,         \
	.integer = true, .is_far = true, .from = 8, .to = 320, .step = 8, .amount = 0, .miss = before, \
	.snippet = text
#define FOOTPRINT(of)                                                                                 \
	.cls = CLIFF_CAPACITY, .unit = "KB", .shape = CLIFF_CHASE, .method = CLIFF_FILL, .scale = of, \
	.integer = true, .snippet = "mov r14,[r14]"
#define WALK(of)                                                                                          \
	.cls = CLIFF_LATENCY, .unit = "cycles", .shape = CLIFF_CHASE, .method = CLIFF_LEVEL, .scale = of, \
	.amount = 1, .snippet = "mov r14,[r14]"
#define PAIR(without, with)                                                                        \
	.cls = CLIFF_SPECIAL, .shape = CLIFF_PAIR, .from = 0, .to = 1, .step = 1, .base = without, \
	.snippet = with
#define PRESENT .unit = "yes/no", .method = CLIFF_PRESENCE, .integer = true

#define TWELVE(text) text text text text text text text text text text text text
/* Multiplication makes the numbers: no table of them that a predictor could learn by heart. */
#define BRANCH_ON(what) "imul r15,r10; " TWELVE("add r15,r11; ") "test " what "," what "; js @; nop; @:"

static const struct cliff cliffs[] = {
	/* latency */
	{ "add-latency", CHAIN("add rax,rax"), .params = "class.alu",
	  .isolates = "integer addition; a cycle is defined by it" },
	{ "shift-latency", CHAIN("shl rax,1"), .params = "class.shift", .isolates = "shift by a constant" },
	{ "lea3-latency", CHAIN("lea rax,[rax+r11+8]"), .params = "class.lea3",
	  .isolates = "address arithmetic of three components" },
	{ "popcnt-latency", CHAIN("popcnt rax,rax"), .needs = CLIFF_NEEDS_POPCNT, .params = "class.bits",
	  .isolates = "counting bits" },
	{ "imul-latency", CHAIN("imul rax,rax"), .params = "class.imul",
	  .isolates = "integer multiplication" },
	{ "mul-latency", CHAIN("mul rcx"), .params = "class.imul",
	  .isolates = "multiplication to 128 bits, the lower half" },
	{ "div32-latency", CHAIN("div ecx"), .setup = "mov rdx,0", .params = "class.div32",
	  .isolates = "32-bit division, 1 by 1" },
	{ "div64-latency", CHAIN("div rcx"), .setup = "mov rdx,0", .params = "class.div64",
	  .isolates = "64-bit division, 1 by 1 (larger operands may take longer)" },
	{ "fadd-latency", CHAIN("addsd xmm0,xmm14"), .params = "class.fadd",
	  .isolates = "floating-point addition" },
	{ "fmul-latency", CHAIN("mulsd xmm0,xmm15"), .params = "class.fmul",
	  .isolates = "floating-point multiplication" },
	{ "fma-latency", CHAIN("vfmadd231sd xmm0,xmm14,xmm15"), .needs = CLIFF_NEEDS_FMA,
	  .params = "class.fma", .isolates = "fused multiplication and addition, by the addend" },
	{ "fdiv32-latency", CHAIN("divss xmm0,xmm15"), .params = "class.fdiv32",
	  .isolates = "single-precision division" },
	{ "fdiv64-latency", CHAIN("divsd xmm0,xmm15"), .params = "class.fdiv64",
	  .isolates = "double-precision division" },
	{ "fsqrt32-latency", CHAIN("sqrtss xmm0,xmm0"), .params = "class.fsqrt32",
	  .isolates = "single-precision root" },
	{ "fsqrt64-latency", CHAIN("sqrtsd xmm0,xmm0"), .params = "class.fsqrt64",
	  .isolates = "double-precision root" },
	{ "fconv-latency", CHAIN_OF(2, "cvtdq2ps xmm0,xmm0; cvtps2dq xmm0,xmm0"), .params = "class.fconv",
	  .isolates = "conversion between integer and floating point" },
	{ "vint-latency", CHAIN("paddd xmm0,xmm15"), .params = "class.vint",
	  .isolates = "vector integer addition" },
	{ "vlogic-latency", CHAIN("pand xmm0,xmm15"), .params = "class.vlogic", .isolates = "vector logic" },
	{ "vmul-latency", CHAIN("pmuludq xmm0,xmm15"), .params = "class.vmul",
	  .isolates = "vector integer multiplication" },
	{ "vshuf-latency", CHAIN("pshufd xmm0,xmm0,27"), .params = "class.vshuf", .isolates = "shuffle" },
	{ "crypto-latency", CHAIN("aesenc xmm0,xmm15"), .needs = CLIFF_NEEDS_AES, .params = "class.crypto",
	  .isolates = "a round of AES" },
	{ "cross-latency", CHAIN("movq xmm0,rax; movq rax,xmm0"), .params = "class.tovec",
	  .isolates = "from integer to vector registers and back" },
	{ "fcross-latency", CHAIN("mulsd xmm0,xmm15; addsd xmm0,xmm14"), .params = "fp_cross_cyc",
	  .isolates = "a product that an addition waits for, and the sum that a product does" },
	{ "vload-latency", CHAIN("movsd xmm0,[rax]; movq rax,xmm0"), .setup = "mov rax,r13",
	  .params = "class.vload", .isolates = "a load into a vector register, and the way back from there" },
	{ "load-latency", CHAIN("mov rax,[rax]"), .setup = "mov rax,r13", .params = "l1_latency_cyc",
	  .isolates = "a load that hits the first-level cache, addressed by a base register alone" },
	{ "scaled-load-latency", CHAIN("mov rax,[r13+rax*8+16]"), .setup = "mov rax,0",
	  .params = "scaled_load_cyc",
	  .isolates = "a load that hits the first-level cache, its index scaled" },
	{ "forward-latency", CHAIN("mov [r13+64],rax; mov rax,[r12-4032]"), .params = "forward_cyc",
	  .isolates = "from store to load, through another base register (so not renamed away)" },
	{ "forward-fail-latency", CHAIN("mov [r13+64],rax; mov rax,[r12-4028]"), .params = "forward_fail_cyc",
	  .isolates = "the same where half of what is loaded is not in the store" },
	{ "atomic-latency", CHAIN("lock add [r13+64],r11"), .params = "class.atomic",
	  .isolates = "a locked addition in memory" },
	{ "l2-latency", WALK(CLIFF_OF_L2), .from = 20, .to = 44, .step = 6, .params = "l2_latency_cyc",
	  .isolates = "a load that hits the second-level cache" },
	{ "l3-latency", WALK(CLIFF_OF_L2), .from = 200, .to = 400, .step = 50, .is_shared = true,
	  .params = "l3_latency_cyc", .isolates = "a load that hits the third-level cache" },
	{ "dram-latency", CHAIN("mov r14,[r14]"), .is_far = true, .is_shared = true, .params = "dram_cyc",
	  .isolates = "a load that misses all caches, by itself" },

	/* bandwidth */
	{ "nop-rate", SERIES("nop"), .params = "dispatch_width", .isolates = "width of dispatch" },
	{ "mixed-rate", SERIES_OF(4, 36, "add {r},{r}; movsd {x},[r13+{d}]; nop; lea {r},[r11+8]"),
	  .params = "dispatch_width", .isolates = "width of dispatch, with work for several kinds of port" },
	{ "move-rate", SERIES("mov {r},r11"), .params = "slots.move", .isolates = "eliminated moves" },
	{ "add-rate", SERIES("add {r},{r}"), .params = "class.alu", .isolates = "ports of integer addition" },
	{ "lea-rate", SERIES("lea {r},[r11+8]"), .params = "class.lea",
	  .isolates = "ports of address arithmetic" },
	{ "shift-rate", SERIES("shl {r},1"), .params = "class.shift", .isolates = "ports of shifts" },
	{ "popcnt-rate", SERIES("popcnt {r},r11"), .needs = CLIFF_NEEDS_POPCNT, .params = "class.bits",
	  .isolates = "ports of bit counting" },
	{ "imul-rate", SERIES("imul {r},r11,3"), .params = "class.imul",
	  .isolates = "ports of multiplication" },
	{ "div64-rate", SERIES_OF(1, 36, "mov rax,1; mov rdx,0; div r10"), .params = "class.div64",
	  .isolates = "independent divisions: how far the divider is pipelined" },
	{ "load-rate", SERIES("mov {r},[r13+{d}]"), .params = "class.load",
	  .isolates = "loads from the first-level cache" },
	{ "load256-rate", SERIES("vmovups {y},[r13+{l}]"), .needs = CLIFF_NEEDS_AVX, .params = "class.vload",
	  .isolates = "loads of 32 bytes" },
	{ "store-rate", SERIES("mov [r13+{d}],r11"), .params = "class.store stores_per_cyc",
	  .isolates = "stores into the first-level cache" },
	{ "store-lines-rate", SERIES("mov [r13+{l}],r11"), .params = "store_line_cyc",
	  .isolates = "stores each into another line" },
	{ "branch-rate", SERIES("jo @; @:"), .params = "class.branch",
	  .isolates = "conditional branches not taken" },
	{ "jump-rate", SERIES_OF(1, 36, "jmp @; nop [r13]; nop [r13]; nop [r13]; nop; nop; @:"),
	  .params = "class.jump taken_per_cyc", .isolates = "taken branches" },
	{ "fadd-rate", STREAMS("addsd {x},xmm14"), .params = "class.fadd",
	  .isolates = "ports of floating-point addition" },
	{ "fmul-rate", STREAMS("mulsd {x},xmm15"), .params = "class.fmul",
	  .isolates = "ports of floating-point multiplication" },
	{ "fma-rate", SERIES("vfmadd231sd {x},xmm14,xmm15"), .needs = CLIFF_NEEDS_FMA, .params = "class.fma",
	  .isolates = "ports of fused multiplication and addition" },
	{ "fmix-rate", SERIES_OF(2, 72, "mulsd {x},xmm15; addsd {x},xmm14"), .params = "fp_cross_cyc",
	  .isolates = "whether additions and multiplications share ports" },
	{ "fdiv64-rate", SERIES_OF(1, 36, "divsd {x},xmm15"), .params = "class.fdiv64",
	  .isolates = "how far the divider is pipelined" },
	{ "fsqrt64-rate", SERIES_OF(1, 36, "sqrtsd {x},xmm15"), .params = "class.fsqrt64",
	  .isolates = "how far roots are pipelined" },
	{ "fconv-rate", SERIES("cvtdq2ps {x},{x}"), .params = "class.fconv",
	  .isolates = "ports of conversions" },
	{ "vint-rate", SERIES("paddd {x},xmm15"), .params = "class.vint",
	  .isolates = "ports of vector integer addition" },
	{ "vlogic-rate", SERIES("pand {x},xmm15"), .params = "class.vlogic",
	  .isolates = "ports of vector logic" },
	{ "vmul-rate", SERIES("pmuludq {x},xmm15"), .params = "class.vmul",
	  .isolates = "ports of vector multiplication" },
	{ "vshuf-rate", SERIES("pshufd {x},xmm15,27"), .params = "class.vshuf",
	  .isolates = "ports of shuffles" },
	{ "crypto-rate", SERIES("aesenc {x},xmm15"), .needs = CLIFF_NEEDS_AES, .params = "class.crypto",
	  .isolates = "ports of AES" },

	/* capacity */
	{ "rob", WINDOW("nop", 800, 2), .params = "rob",
	  .isolates = "reorder buffer: fillers that need nothing else" },
	{ "rob-branch", WINDOW("jo @; @:", 800, 2), .params = "rob",
	  .isolates = "reorder buffer, by branches not taken" },
	{ "load-queue", WINDOW("movsd {x},[r13+{d}]", 640, 2), .behind = "fp-regs", .behind_percent = 10,
	  .params = "load_queue", .isolates = "load queue, by loads that take no integer register" },
	{ "store-queue", WINDOW("mov [r13+{d}],r11", 240, 0), .params = "store_queue",
	  .isolates = "store queue" },
	{ "int-regs", WINDOW("add {r},{r}", 640, 2), .behind = "rob", .behind_percent = 2,
	  .params = "int_regs", .isolates = "integer registers for renaming" },
	{ "fp-regs", WINDOW("addsd {x},xmm14", 640, 0), .behind = "rob", .behind_percent = 2,
	  .params = "fp_regs", .isolates = "vector registers for renaming" },
	{ "flag-regs", WINDOW("cmp r11,r12", 800, 0), .behind = "rob", .behind_percent = 2,
	  .params = "flag_regs", .isolates = "registers for flags" },
	{ "int-fp-window", WINDOW_OF("pairs", "add {r},{r}; addsd {x},xmm14", 400, 0), .params = "",
	  .isolates = "additions of both kinds in turn: where the files share a limit" },
	{ "mixed-window", WINDOW_OF("fours", "mov {r},[r13+{d}]; add {r},{r}; addsd {x},xmm14; nop", 200, 0),
	  .params = "", .isolates = "four kinds of filler in turn" },
	{ "int-scheduler", WAITING(NULL, "cmp r14,r15"), .behind = "flag-regs", .behind_percent = 2,
	  .params = "int_scheduler", .isolates = "integer operations that wait for operands" },
	{ "fp-scheduler",
	  WAITING("movq xmm13,{w}; movq {w},xmm13; mov {w},[{w}]; movq xmm12,{w}", "paddd {x},xmm12"),
	  .params = "fp_scheduler",
	  .isolates = "vector operations that wait for operands and hold up those that need not" },
	{ "fp-queue", WAITING("mov {w},[{w}]; movq xmm12,{w}", "paddd {x},xmm12"), .behind = "fp-regs",
	  .behind_percent = 2, .params = "fp_queue",
	  .isolates = "vector operations that wait for operands, in their scheduler or before it" },
	{ "address-scheduler", WAITING("mov {w},[{w}]; mov rbx,{w}; and rbx,r11", "movsd {x},[r13+rbx+{d}]"),
	  .behind = "load-queue", .behind_percent = 2, .params = "address_scheduler",
	  .isolates = "loads that wait for their address" },
	{ "l1-size", FOOTPRINT(CLIFF_OF_L1), .from = 50, .to = 200, .step = 8, .params = "l1_kb l1_ways",
	  .isolates = "size of the first-level data cache" },
	{ "l2-size", FOOTPRINT(CLIFF_OF_L2), .from = 30, .to = 200, .step = 10, .params = "l2_kb l2_ways",
	  .isolates = "size of the second-level cache" },
	{ "l3-size", FOOTPRINT(CLIFF_OF_L3), .from = 10, .to = 190, .step = 20, .is_shared = true,
	  .params = "l3_kb", .isolates = "size of the third-level cache, as far as others leave it to us" },
	{ "return-stack", .cls = CLIFF_CAPACITY, .unit = "entries", .shape = CLIFF_CALLS,
	  .method = CLIFF_BEND, .integer = true, .from = 2, .to = 80, .step = 2, .amount = 0, .snippet = "",
	  .params = "call_cyc return_cyc return_stack", .isolates = "return addresses that are predicted" },

	{ "predictor", .cls = CLIFF_CAPACITY, .unit = "branches", .shape = CLIFF_PATTERN,
	  .method = CLIFF_FILL, .integer = true, .from = 6144, .to = 49152, .step = 6144,
	  .setup = "mov r10,{n}; mov r9,0; mov rbx,1566083941; imul rbx,rbx; imul rbx,rbx",
	  .snippet = "inc r9; cmp r9,r10; cmove r9,r11; lea rax,[r9+rbx]; imul rax,rax; imul rax,rbx; ror "
	             "rax,29; "
	             "imul rax,rax; add rax,rbx; imul rax,rax; test rax,rax; js @; nop; @:",
	  /* Not fitted: the entries of a table are a power of two, and the curve is too flat to tell two near ones apart. */
	  .params = "",
	  .isolates = "directions at random that repeat themselves: how long a pattern is known by heart" },

	/* special */
	{ "mispredict", PAIR(BRANCH_ON("r11"), BRANCH_ON("r15")), .setup = "mov r10,1566083941; or r15,rbx",
	  .unit = "cycles", .method = CLIFF_DIFFERENCE, .amount = 0.5, .params = "mispredict_cyc",
	  /* Zen 5 beside other guests: now 19.2, now 22.3, in spells of seconds, whatever the code between two branches. */
	  .is_shared = true,
	  .isolates = "a branch that goes either way at random, on the chain that the loop carries" },
	{ "move-elimination", PAIR("add rax,r11", "mov rcx,rax; mov rax,rcx; add rax,r11"), PRESENT,
	  .amount = 1.5, .params = "move_elimination",
	  .isolates = "moves between registers that take no time" },
	{ "vmove-elimination",
	  PAIR("paddd xmm0,xmm15", "movaps xmm1,xmm0; movaps xmm0,xmm1; paddd xmm0,xmm15"), PRESENT,
	  .amount = 1.5, .params = "vmove_elimination", .isolates = "the same between vector registers" },
	{ "zero-idiom", PAIR("imul rax,rax; and rax,r11", "imul rax,rax; xor rax,rax"), PRESENT,
	  .amount = 0.6, .params = "zero_idioms",
	  .isolates = "xor of a register with itself waits for nothing" },
	{ "compare-fusion",
	  PAIR("cmp r11,r12; nop; je @; mov {r},r11; mov {r},r11; mov {r},r11; mov {r},r11; @:",
	       "cmp r11,r12; je @; nop; mov {r},r11; mov {r},r11; mov {r},r11; mov {r},r11; @:"),
	  PRESENT, .amount = 0.95, .params = "fuse_branches",
	  .isolates = "compare and branch as one operation" },
	{ "memory-renaming",
	  PAIR("mov [r13+64],rax; mov rax,[r12-4032]", "mov [r13+64],rax; mov rax,[r13+64]"), PRESENT,
	  .amount = 0.5, .params = "memory_renaming",
	  .isolates = "store and load through the same base register take no time" },
	{ "alias-4k",
	  PAIR("mov [r13+rax+64],r11; mov rax,[r12+rax+128]", "mov [r13+rax+64],r11; mov rax,[r12+rax+64]"),
	  .unit = "cycles", .method = CLIFF_DIFFERENCE, .amount = 1, .params = "alias_4k_cyc",
	  .isolates = "a load 4096 bytes from the store before it, whose address is known late" },
	{ "split-load", PAIR("mov {r},[r13+{l}]", "mov {r},[r13+{l}+60]"), .unit = "cycles",
	  .method = CLIFF_DIFFERENCE, .amount = 1, .params = "split_lines",
	  .isolates = "loads that cross a line, beyond those that don't" },
	{ "split-store", PAIR("mov [r13+{l}],r11", "mov [r13+{l}+60],r11"), .unit = "cycles",
	  .method = CLIFF_DIFFERENCE, .amount = 1, .params = "",
	  .isolates = "stores that cross a line, beyond those that don't" },
};
const struct cliff *cliff_table(size_t *n)
{
	*n = sizeof(cliffs) / sizeof(*cliffs);
	return cliffs;
}

const struct cliff *cliff_find(const char *name)
{
	for (size_t i = 0; i < sizeof(cliffs) / sizeof(*cliffs); i++)
		if (!strcmp(cliffs[i].name, name))
			return &cliffs[i];
	return NULL;
}

const char *cliff_class_name(enum cliff_class cls)
{
	static const char *const names[] = { "latency", "bandwidth", "capacity", "special" };

	return names[cls];
}
