/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The cliffs of x86-64.  Nothing here may depend on one maker's cores: ranges are wide, cache sizes relative. */
#include <string.h>

#include "profiler/calibrate/cliff.h"

/* clang-format off */
#define LATENCY(text) .cls = CLIFF_LATENCY, .unit = "cycles", .shape = CLIFF_CHAIN, .method = CLIFF_SLOPE, \
	.from = 20, .to = 120, .step = 20, .amount = 1, .snippet = text
#define RATE(text) .cls = CLIFF_BANDWIDTH, .unit = "per cycle", .shape = CLIFF_STREAMS, .method = CLIFF_RATE, \
	.from = 1, .to = 12, .step = 1, .amount = 1, .snippet = text
#define SERIES(text) .cls = CLIFF_BANDWIDTH, .unit = "per cycle", .shape = CLIFF_SERIES, .method = CLIFF_RATE, \
	.from = 96, .to = 768, .step = 96, .amount = 1, .snippet = text
#define WINDOW(text, most, ahead) .cls = CLIFF_CAPACITY, .unit = "entries", .shape = CLIFF_MISSES, \
	.method = CLIFF_KNEE, .integer = true, .from = 20, .to = most, .step = 20, .amount = ahead, .snippet = text
#define CHASE .cls = CLIFF_CAPACITY, .shape = CLIFF_CHASE, .snippet = "mov r14,[r14]"
/* clang-format on */

static const struct cliff cliffs[] = {
	{ "add-latency", LATENCY("add rax,rax"), .params = "class.alu",
	  .isolates = "integer addition; by it a cycle is defined" },
	{ "imul-latency", LATENCY("imul rax,rax"), .params = "class.imul",
	  .isolates = "integer multiplication" },
	{ "fadd-latency", LATENCY("addsd xmm0,xmm14"), .params = "class.fadd",
	  .isolates = "floating-point addition" },
	{ "load-latency", LATENCY("mov rax,[rax]"), .setup = "mov rax,r13", .params = "l1_latency_cyc",
	  .isolates = "a load that hits the first-level cache, its address the base register alone" },
	{ "fmul-rate", RATE("mulsd {x},xmm15"), .params = "class.fmul",
	  .isolates = "ports of floating-point multiplication" },
	{ "imul-rate", SERIES("imul {r},r11,3"), .params = "class.imul",
	  .isolates = "ports of multiplication" },
	{ "nop-rate", SERIES("nop"), .params = "dispatch_width", .isolates = "width of dispatch" },
	{ "store-rate", SERIES("mov [r13+{d}],r11"), .params = "class.store stores_per_cyc",
	  .isolates = "stores into the first-level cache" },
	{ "rob", WINDOW("nop", 800, 2), .params = "rob",
	  .isolates = "reorder buffer: fillers that need nothing else" },
	{ "store-queue", WINDOW("mov [r13+{d}],r11", 320, 0), .params = "store_queue",
	  .isolates = "store queue" },
	{ "l1-size", CHASE, .unit = "KB", .method = CLIFF_KNEE, .scale = CLIFF_OF_L1, .from = 50, .to = 200,
	  .step = 8, .integer = true, .params = "l1_kb l1_ways",
	  .isolates = "size of the first-level data cache" },
	{ "l2-latency", CHASE, .unit = "cycles", .method = CLIFF_LEVEL, .scale = CLIFF_OF_L2, .from = 12,
	  .to = 36, .step = 6, .amount = 1, .params = "l2_latency_cyc",
	  .isolates = "a load that hits the second-level cache" },
	{ "mispredict", .cls = CLIFF_SPECIAL, .unit = "cycles", .shape = CLIFF_PAIR,
	  .method = CLIFF_DIFFERENCE, .from = 0, .to = 1, .step = 1, .amount = 0.5,
	  .base = "movzx eax,[r13+r15+131072]; add rax,r11; add rax,r11; add rax,r11; add rax,r11; add "
	          "rax,r11; "
	          "add rax,r11; add rax,r11; add rax,r11; add rax,r11; add rax,r11; add rax,r11; add "
	          "rax,r11; "
	          "test rax,rax; je @; nop; @:; and rax,r11; add r15,rax; add r15,1; and r15,65535",
	  .snippet = "movzx eax,[r13+r15+65536]; add rax,r11; add rax,r11; add rax,r11; add rax,r11; add "
	             "rax,r11; "
	             "add rax,r11; add rax,r11; add rax,r11; add rax,r11; add rax,r11; add rax,r11; add "
	             "rax,r11; "
	             "test rax,rax; je @; nop; @:; and rax,r11; add r15,rax; add r15,1; and r15,65535",
	  .params = "mispredict_cyc",
	  .isolates = "a branch that goes either way at random, part of the chain that the loop carries" },
	{ "move-elimination", .cls = CLIFF_SPECIAL, .unit = "yes/no", .shape = CLIFF_PAIR,
	  .method = CLIFF_PRESENCE, .from = 0, .to = 1, .step = 1, .amount = 1.5, .integer = true,
	  .base = "add rax,r11", .snippet = "mov rcx,rax; mov rax,rcx; add rax,r11",
	  .params = "move_elimination", .isolates = "moves between registers that take no time" },
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
