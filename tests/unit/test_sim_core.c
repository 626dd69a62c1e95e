/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/unit/sim_fixture.h"

#define ASSERT_NEAR(got, want, off)                                                                   \
	do {                                                                                          \
		double got_ = (got), want_ = (want);                                                  \
		if (!(got_ >= want_ - (off) && got_ <= want_ + (off)))                                \
			fail_msg("%s is %.3f, not %.3f (+- %.3f)", #got, got_, want_, (double)(off)); \
	} while (0)

#define ADD_RAX  "4801c0"   /* add rax, rax */
#define IMUL_RAX "480fafc0" /* imul rax, rax */
#define NOP      "90"

/* Cycles an instruction, when the given ones are repeated on a core. */
static double cycles_per_insn(const char *core, const char *const *insns, size_t n)
{
	size_t times = 240 / n;
	struct sim_block *b;
	struct rig r;
	double c;

	rig_prepare(&r, core);
	rig_start(&r);
	b = block_of(&r, insns, n, times);
	c = cycles_each(&r, b, 200) / b->n_insn;
	free(b);
	rig_stop(&r);
	return c;
}

#define CYCLES(core, ...)                                           \
	cycles_per_insn(core, (const char *const[]){ __VA_ARGS__ }, \
	                sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(char *))

static void a_chain_runs_at_the_latency_of_its_instruction(void **state)
{
	(void)state;
	ASSERT_NEAR(CYCLES("zen5", ADD_RAX), 1, 0.01);
	ASSERT_NEAR(CYCLES("zen5", IMUL_RAX), 3, 0.01);
	ASSERT_NEAR(CYCLES("zen5", "f20f58c0"), 2, 0.01);   /* addsd xmm0, xmm0 */
	ASSERT_NEAR(CYCLES("zen5", "f20f59c0"), 3, 0.01);   /* mulsd xmm0, xmm0 */
	ASSERT_NEAR(CYCLES("zen5", "c4e2f1b8c2"), 4, 0.01); /* vfmadd231pd xmm0, xmm1, xmm2 */
	ASSERT_NEAR(CYCLES("zen5", "f20f5ec0"), 13, 0.05);  /* divsd xmm0, xmm0 */
	ASSERT_NEAR(CYCLES("skylake", "f20f58c0"), 4, 0.01);
	/* Arm: add x0, x0, x0; mul x0, x0, x0; fadd d0, d0, d0 */
	ASSERT_NEAR(CYCLES("cortex-a76", "0000008b"), 1, 0.01);
	ASSERT_NEAR(CYCLES("cortex-a76", "007c009b"), 2, 0.01);
	ASSERT_NEAR(CYCLES("cortex-a76", "0028601e"), 2, 0.01);
}

/* add rax,1; add rcx,1 ... add r11,1: eight registers */
#define ADDS                                                                                            \
	"4883c001", "4883c101", "4883c201", "4883c301", "4883c601", "4883c701", "4983c001", "4983c101", \
	        "4983c201", "4983c301", "4983c401", "4983c501"

static void independent_adds_fill_the_ports_or_the_width(void **state)
{
	(void)state;
	/* Zen 5: 6 ports, 8 wide. Skylake: 4 ports, 4 wide. A76: 3 ports, 4 wide. */
	ASSERT_NEAR(CYCLES("zen5", ADDS), 1.0 / 6, 0.002);
	ASSERT_NEAR(CYCLES("skylake", ADDS), 1.0 / 4, 0.002);
	/* add x0,x0,#1 ... add x5,x5,#1 */
	ASSERT_NEAR(CYCLES("cortex-a76", "00040091", "21040091", "42040091", "63040091", "84040091",
	                   "a5040091"),
	            1.0 / 3, 0.003);
	/* Multiplications have 3 of the 6 ports: imul rax,rax; imul rcx,rcx ... */
	ASSERT_NEAR(CYCLES("zen5", "480fafc0", "480fafc9", "480fafd2", "480fafdb", "480faff6", "480fafff",
	                   "4d0fafc0", "4d0fafc9", "4d0fafd2", "4d0fafdb", "4d0fafe4", "4d0fafed"),
	            1.0 / 3, 0.003);
}

static void nops_and_renamed_moves_run_at_the_dispatch_width(void **state)
{
	(void)state;
	ASSERT_NEAR(CYCLES("zen5", NOP), 1.0 / 8, 0.002);
	ASSERT_NEAR(CYCLES("skylake", NOP), 1.0 / 4, 0.002);
	/* mov rcx, rax; mov rax, rcx: a chain of moves costs nothing but its place */
	ASSERT_NEAR(CYCLES("zen5", "4889c1", "4889c8"), 1.0 / 8, 0.002);
	/* xor eax, eax after a multiplication into rax breaks the chain */
	ASSERT_NEAR(CYCLES("zen5", "480fafc0", "31c0"), 0.167, 0.01);
}

static void divisions_are_not_pipelined(void **state)
{
	(void)state;
	/* xor edx,edx; mov eax,1; div rcx: each division starts afresh; the unit is taken for 7 cycles */
	ASSERT_NEAR(CYCLES("zen5", "31d2", "b801000000", "48f7f1"), 7.0 / 3, 0.02);
	/* divsd into four registers: one unit, 5 cycles each */
	ASSERT_NEAR(CYCLES("zen5", "f20f5ec4", "f20f5ecc", "f20f5ed4", "f20f5edc"), 5, 0.05);
}

static void retirement_has_a_width_of_its_own(void **state)
{
	const char *const nop[] = { NOP };
	struct sim_block *b;
	struct rig r;

	(void)state;
	rig_prepare(&r, "zen5");
	r.config.retire_width = 3;
	rig_start(&r);
	b = block_of(&r, nop, 1, 240);
	ASSERT_NEAR(cycles_each(&r, b, 200), 240 / 3., 0.5);
	free(b);
	rig_stop(&r);
}

/* mov rax, [rax] along a random cycle through n_lines lines: cycles a load. */
static double chase(const char *core, size_t n_lines, size_t n_loads)
{
	const char *const load[] = { "488b00" };
	uint32_t *next = calloc(n_lines, sizeof(*next));
	uint64_t seed = 1, at = 0, from = 0;
	struct sim_block *b;
	struct rig r;
	double c;

	assert_non_null(next);
	rig_prepare(&r, core);
	rig_start(&r);
	b = block_of(&r, load, 1, 1);
	/* Sattolo's shuffle: one cycle through all. */
	for (size_t i = 0; i < n_lines; i++)
		next[i] = (uint32_t)i;
	for (size_t i = n_lines - 1; i > 0; i--) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		size_t j = (size_t)((seed >> 33) % i);
		uint32_t t = next[i];

		next[i] = next[j];
		next[j] = t;
	}
	for (size_t i = 0; i < n_lines + n_loads; i++) {
		uint64_t mem[] = { SIM_MEM(0x10000000 + at * 64, 0, 3, 0), SIM_MEM_END };

		if (i == n_lines)
			from = r.core->retire_cyc;
		sim_core_run(r.core, b, 1, b->end_ip, mem);
		at = next[at];
	}
	c = (double)(r.core->retire_cyc - from) / (double)n_loads;
	free(next);
	free(b);
	rig_stop(&r);
	return c;
}

static void a_load_costs_the_latency_of_the_level_it_finds(void **state)
{
	(void)state;
	/* 16 KB in L1 (48), 512 KB in L2 (1 MB), 8 MB in L3 (32 MB), 256 MB in none */
	ASSERT_NEAR(chase("zen5", 256, 20000), 4, 0.01);
	/* 512 KB does not fit L1; 48 of the 512 KB hit there at times */
	ASSERT_NEAR(chase("zen5", 8192, 50000), 14, 1);
	ASSERT_NEAR(chase("zen5", 131072, 100000), 50, 4);
	ASSERT_NEAR(chase("zen5", 4194304, 100000), 560, 70);
	ASSERT_NEAR(chase("skylake", 256, 20000), 5, 0.01);
}

/*
 * Two loads that miss, n_nops between them: they overlap while the second
 * enters the reorder buffer before the first has retired.
 */
static double two_misses(size_t n_nops)
{
	struct sim_block *load, *nops;
	const char *const l[] = { "488b00" }, *const nop[] = { NOP };
	uint64_t at = 0x10000000, from = 0;
	struct rig r;
	double c;

	rig_prepare(&r, "zen5");
	r.config.prefetch_lines = 0;
	r.config.dram_gap_cyc = 0;
	rig_start(&r);
	load = block_of(&r, l, 1, 1);
	nops = block_of(&r, nop, 1, n_nops);
	for (unsigned i = 0; i < 200; i++) {
		if (i == 20)
			from = r.core->retire_cyc;
		for (unsigned k = 0; k < 2; k++) {
			uint64_t mem[] = { SIM_MEM(at += 1 << 20, 0, 3, 0), SIM_MEM_END };

			/* rax is never written by what comes between: break the chain by hand */
			r.core->reg[SIM_R_INT] = 0;
			sim_core_run(r.core, load, 1, load->end_ip, mem);
			sim_core_run(r.core, nops, nops->n_insn, nops->end_ip, no_memory);
		}
	}
	c = (double)(r.core->retire_cyc - from) / 180;
	free(load);
	free(nops);
	rig_stop(&r);
	return c;
}

static void the_reorder_buffer_bounds_how_far_misses_overlap(void **state)
{
	(void)state;
	/*
	 * 448 entries. Up to 446 nops both misses are under way together and a round costs about one; a
	 * few more, and the second load has to wait for the first to retire: two.
	 */
	double below = two_misses(400), above = two_misses(460);

	ASSERT_NEAR(above, 2 * 560, 60);
	assert_true(below < 0.65 * above);
	assert_true(two_misses(440) < 0.65 * above);
	assert_true(two_misses(450) > 0.9 * above);
}

/* A loop of one conditional branch that depends on a chain of adds; taken by a pattern.  The jump back is what history is made of. */
static double branch_round(int random, uint64_t *misses)
{
	/* add rax,rax (10 times); test rax,rax; jne +2 */
	const char *const insns[] = { ADD_RAX, ADD_RAX, ADD_RAX, ADD_RAX, ADD_RAX,  ADD_RAX,
		                      ADD_RAX, ADD_RAX, ADD_RAX, ADD_RAX, "4885c0", "7502" };
	const char *const jump[] = { "ebf0" };
	struct sim_block *b, *back;
	uint64_t seed = 1, from = 0, missed = 0;
	struct rig r;

	rig_prepare(&r, "zen5");
	rig_start(&r);
	b = block_at(&r, 0x400000, insns, 12);
	back = block_at(&r, 0x400100, jump, 1);
	for (unsigned i = 0; i < 22000; i++) {
		int taken = i & 1;

		seed = seed * 6364136223846793005u + 1442695040888963407u;
		if (random)
			taken = seed >> 63;
		if (i == 2000) {
			from = r.core->retire_cyc;
			missed = r.core->pmu.value[SIM_BRANCH_MISSES];
		}
		sim_core_run(r.core, b, 12, taken ? b->target : b->end_ip, no_memory);
		sim_core_run(r.core, back, 1, b->ip, no_memory);
	}
	*misses = r.core->pmu.value[SIM_BRANCH_MISSES] - missed;
	free(b);
	free(back);
	from = r.core->retire_cyc - from;
	rig_stop(&r);
	return (double)from / 20000;
}

static void a_misprediction_costs_the_penalty(void **state)
{
	uint64_t learned_misses, random_misses;
	double learned = branch_round(0, &learned_misses), random = branch_round(1, &random_misses);
	double each;

	(void)state;
	/* An alternating branch is learned; a random one is not, whatever the predictor. */
	assert_true(learned_misses < 20);
	assert_true(random_misses > 9000 && random_misses < 11500);
	ASSERT_NEAR(learned, 10, 0.1);
	/*
	 * The chain goes on only behind the branch: 15 cycles after it has executed, which is two after the
	 * chain's last add (test, branch), while a predicted one would have cost nothing; one more from
	 * dispatch to issue.
	 */
	each = (random - 10) * 20000 / (double)random_misses;
	ASSERT_NEAR(each, 15 + 2 + 1, 1.0);
}

static void a_store_hands_its_data_to_a_younger_load(void **state)
{
	/* mov [rdi], rax; mov rax, [rdi] */
	const char *const insns[] = { "488907", "488b07" };
	struct sim_block *b;
	uint64_t mem[] = { SIM_MEM(0x1000, 0, 3, 1), SIM_MEM(0x1000, 1, 3, 0), SIM_MEM_END };
	struct rig r;

	(void)state;
	rig_prepare(&r, "zen5");
	rig_start(&r);
	b = block_at(&r, 0x400000, insns, 2);
	for (unsigned i = 0; i < 1000; i++)
		sim_core_run(r.core, b, 2, b->end_ip, mem);
	/* the store is done one cycle after its data, the load 7 cycles later */
	ASSERT_NEAR((double)r.core->retire_cyc / 1000, 8, 0.7);
	assert_int_equal(r.core->pmu.value[SIM_L1D_MISSES], 0);
	free(b);
	rig_stop(&r);
}

/* call down n levels and return, again and again: mispredictions a round. */
static double returns_missed(unsigned depth)
{
	const char *const call[] = { "e800000000" }, *const ret[] = { "c3" };
	struct sim_block *calls[128], *b;
	uint64_t mem[] = { SIM_MEM(0x1000, 0, 3, 1), SIM_MEM_END }, before = 0;
	struct rig r;
	double n;

	rig_prepare(&r, "zen5");
	rig_start(&r);
	for (unsigned i = 0; i < depth; i++)
		calls[i] = block_at(&r, 0x400000 + i * 16, call, 1);
	b = block_at(&r, 0x500000, ret, 1);
	for (unsigned round = 0; round < 50; round++) {
		if (round == 10)
			before = r.core->pmu.value[SIM_BRANCH_MISSES];
		for (unsigned i = 0; i < depth; i++)
			sim_core_run(r.core, calls[i], 1, calls[i]->target, mem);
		for (unsigned i = depth; i-- > 0;)
			sim_core_run(r.core, b, 1, calls[i]->end_ip, no_memory);
	}
	n = (double)(r.core->pmu.value[SIM_BRANCH_MISSES] - before) / 40;
	for (unsigned i = 0; i < depth; i++)
		free(calls[i]);
	free(b);
	rig_stop(&r);
	return n;
}

static void the_return_stack_holds_as_many_as_the_core_file_says(void **state)
{
	(void)state;
	ASSERT_NEAR(returns_missed(20), 0, 0);
	ASSERT_NEAR(returns_missed(52), 0, 0);
	ASSERT_NEAR(returns_missed(60), 8, 0);
}

static void a_stream_is_prefetched(void **state)
{
	/* mov rcx, [rax], 8 bytes further each time: without help a line each 8 loads from memory */
	const char *const load[] = { "488b08" };
	double cycles[2];

	(void)state;
	for (int on = 0; on < 2; on++) {
		struct sim_block *b;
		struct rig r;

		rig_prepare(&r, "zen5");
		if (!on)
			r.config.prefetch_lines = 0;
		r.config.rob = 32;
		rig_start(&r);
		b = block_of(&r, load, 1, 1);
		for (uint64_t i = 0; i < 100000; i++) {
			uint64_t mem[] = { SIM_MEM(0x10000000 + i * 8, 0, 3, 0), SIM_MEM_END };

			sim_core_run(r.core, b, 1, b->end_ip, mem);
		}
		cycles[on] = (double)r.core->retire_cyc / 100000;
		free(b);
		rig_stop(&r);
	}
	assert_true(cycles[1] < cycles[0] / 2);
}

static void loads_and_stores_have_ports_and_queues(void **state)
{
	const char *const load[] = { "488b08" }, *const store[] = { "488908" };
	uint64_t mem[241];
	struct sim_block *b;
	struct rig r;

	(void)state;
	rig_prepare(&r, "zen5");
	rig_start(&r);
	b = block_of(&r, load, 1, 240);
	for (unsigned i = 0; i < 240; i++)
		mem[i] = SIM_MEM(0x1000 + 8 * (i % 8), i, 3, 0);
	mem[240] = SIM_MEM_END;
	for (unsigned i = 0; i < 200; i++)
		sim_core_run(r.core, b, 240, b->end_ip, mem);
	/* 4 load ports */
	ASSERT_NEAR((double)r.core->retire_cyc / 200, 60, 4);
	free(b);
	b = block_of(&r, store, 1, 240);
	for (unsigned i = 0; i < 240; i++)
		mem[i] |= 1;
	uint64_t from = r.core->retire_cyc;
	for (unsigned i = 0; i < 200; i++)
		sim_core_run(r.core, b, 240, b->end_ip, mem);
	/* 2 ports, and 2 a cycle leave for the cache */
	ASSERT_NEAR((double)(r.core->retire_cyc - from) / 200, 120, 4);
	free(b);
	rig_stop(&r);
}

/* Cycles a turn of a loop body on a core changed by hand; every instruction's accesses are given by `mem`. */
static double turn(const struct sim_config *config, const char *const *insns, size_t n, const uint64_t *mem)
{
	struct sim_block *b;
	struct rig r;
	uint64_t from;
	double c;

	rig_prepare(&r, "zen5");
	r.config = *config;
	rig_start(&r);
	b = block_at(&r, 0x400000, insns, n);
	for (unsigned i = 0; i < 1000; i++)
		sim_core_run(r.core, b, b->n_insn, b->end_ip, mem ? mem : no_memory);
	from = r.core->retire_cyc;
	for (unsigned i = 0; i < 2000; i++)
		sim_core_run(r.core, b, b->n_insn, b->end_ip, mem ? mem : no_memory);
	c = (double)(r.core->retire_cyc - from) / 2000;
	free(b);
	rig_stop(&r);
	return c;
}

#define TURN(config, mem, ...)                             \
	turn(config, (const char *const[]){ __VA_ARGS__ }, \
	     sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(char *), mem)

static void a_load_by_the_name_of_a_store_costs_nothing(void **state)
{
	/* mov [r13+64],rax; mov rax,[r13+64]: a chain through memory; mov rax,[r12+64]: the same place by another name */
	const uint64_t mem[] = { SIM_MEM(0x1040, 0, 3, 1), SIM_MEM(0x1040, 1, 3, 0), SIM_MEM_END };
	struct sim_config c;

	(void)state;
	read_core("zen5", &c);
	ASSERT_NEAR(TURN(&c, mem, "49894540", "498b4540"), 8, 0.01); /* 1 to store, 7 to forward */
	c.memory_renaming = 1;
	/* Two store ports: no more than that holds it up. */
	ASSERT_NEAR(TURN(&c, mem, "49894540", "498b4540"), 0.5, 0.01);
	ASSERT_NEAR(TURN(&c, mem, "49894540", "498b442440"), 8, 0.01);
}

static void vectors_and_bytes_are_not_renamed(void **state)
{
	/* movsd [r13+64],xmm0; movsd xmm0,[r13+64].  mov [r13+64],al; movzx eax,byte [r13+64] */
	const uint64_t mem[] = { SIM_MEM(0x1040, 0, 3, 1), SIM_MEM(0x1040, 1, 3, 0), SIM_MEM_END };
	const uint64_t byte[] = { SIM_MEM(0x1040, 0, 0, 1), SIM_MEM(0x1040, 1, 0, 0), SIM_MEM_END };
	struct sim_config c;

	(void)state;
	read_core("zen5", &c);
	c.memory_renaming = 1;
	c.pair_trust = 10;
	ASSERT_NEAR(TURN(&c, mem, "f2410f114540", "f2410f104540"), 8, 0.01);
	ASSERT_NEAR(TURN(&c, byte, "41884540", "410fb64540"), 8, 0.01);
}

static void a_load_that_always_has_one_stores_value_costs_nothing(void **state)
{
	/* mov [r13+64],rax; mov rax,[r12+64], once from elsewhere */
	const char *const insns[] = { "49894540", "498b442440" };
	const uint64_t mem[] = { SIM_MEM(0x1040, 0, 3, 1), SIM_MEM(0x1040, 1, 3, 0), SIM_MEM_END };
	const uint64_t other[] = { SIM_MEM(0x1040, 0, 3, 1), SIM_MEM(0x1840, 1, 3, 0), SIM_MEM_END };
	struct sim_block *b;
	struct rig r;
	uint64_t from;

	(void)state;
	rig_prepare(&r, "zen5");
	r.config.memory_renaming = 1;
	r.config.pair_trust = 10;
	ASSERT_NEAR(TURN(&r.config, mem, "49894540", "498b442440"), 0.5, 0.01);
	rig_start(&r);
	b = block_at(&r, 0x400000, insns, 2);
	sim_core_run(r.core, b, 2, b->end_ip, other);
	for (unsigned i = 0; i < 2000; i++)
		sim_core_run(r.core, b, 2, b->end_ip, mem);
	sim_core_run(r.core, b, 2, b->end_ip, other);
	from = r.core->retire_cyc;
	sim_core_run(r.core, b, 2, b->end_ip, mem);
	/* Trusted in vain: after 15 cycles all begins anew, and the next load is forwarded: 1 to issue, 1 to store, 7. */
	assert_int_equal(r.core->retire_cyc - from, 15 + 1 + 1 + 7);
	free(b);
	rig_stop(&r);
}

static void a_load_of_more_than_was_stored_waits_until_it_has_left(void **state)
{
	/* mov [r13+64],eax: 4 bytes; mov rax,[r12+64]: 8 */
	const uint64_t mem[] = { SIM_MEM(0x1040, 0, 2, 1), SIM_MEM(0x1040, 1, 3, 0), SIM_MEM_END };
	struct sim_config c;

	(void)state;
	read_core("zen5", &c);
	c.forward_fail_cyc = 14;
	/* 1 to store and retire, 1 until it has left, 14. */
	ASSERT_NEAR(TURN(&c, mem, "41894540", "498b442440"), 1 + 1 + 14, 0.01);
	/* mov rcx,[r12+64]: nobody waits for it but the next turn's store, which can't retire before. */
	ASSERT_NEAR(TURN(&c, mem, "41894540", "498b4c2440"), 1 + 14, 0.01);
}

static void a_load_from_two_stores_waits_until_they_have_left(void **state)
{
	/* mov [r13+64],eax; mov [r13+68],eax; mov rax,[r12+64] */
	const uint64_t mem[] = { SIM_MEM(0x1040, 0, 2, 1), SIM_MEM(0x1044, 1, 2, 1), SIM_MEM(0x1040, 2, 3, 0),
		                 SIM_MEM_END };
	/* The same two words, 8 bytes each, and a load of half of both; one store of 16 bytes, and that load. */
	const uint64_t both[] = { SIM_MEM(0x1040, 0, 3, 1), SIM_MEM(0x1048, 1, 3, 1),
		                  SIM_MEM(0x1044, 2, 3, 0), SIM_MEM_END };
	const uint64_t one[] = { SIM_MEM(0x1040, 0, 3, 1), SIM_MEM(0x1048, 0, 3, 1), SIM_MEM(0x1044, 1, 3, 0),
		                 SIM_MEM_END };
	struct sim_config c;

	(void)state;
	read_core("zen5", &c);
	c.forward_fail_cyc = 14;
	ASSERT_NEAR(TURN(&c, mem, "41894540", "41894544", "498b442440"), 1 + 1 + 14, 1.01);
	ASSERT_NEAR(TURN(&c, both, "49894540", "49894548", "498b442444"), 1 + 1 + 14, 1.01);
	ASSERT_NEAR(TURN(&c, one, "49894540", "498b442444"), 8, 0.01); /* forwarded: 1 + 7 */
}

static void a_load_4096_bytes_from_a_store_takes_it_for_its_own(void **state)
{
	/* mov [r13+rax+64],r11; mov rax,[r12+rax+64]: the load's address waits for the load before */
	const uint64_t mem[] = { SIM_MEM(0x1040, 0, 3, 1), SIM_MEM(0x2040, 1, 3, 0), SIM_MEM_END };
	struct sim_config c;
	double without;

	(void)state;
	read_core("zen5", &c);
	without = TURN(&c, mem, "4d895c0540", "498b440440");
	ASSERT_NEAR(without, 4, 0.01);
	c.alias_4k_cyc = 6;
	/* It waits for the store's address, which comes when its own does, not for the data. */
	ASSERT_NEAR(TURN(&c, mem, "4d895c0540", "498b440440"), 4 + 6, 0.01);
}

static void a_load_4096_bytes_from_a_store_needs_no_data_of_it(void **state)
{
	/*
	 * mov [r13+64],rax; mov rax,[r12+64]: the stored register is what the load before gave, both addresses are there from
	 * the start.  The load takes 4 + 6 but waits for nothing: two stores a cycle.  If it waited for the data, a turn would
	 * take more than 10.
	 */
	const uint64_t mem[] = { SIM_MEM(0x1040, 0, 3, 1), SIM_MEM(0x2040, 1, 3, 0), SIM_MEM_END };
	struct sim_config c;

	(void)state;
	read_core("zen5", &c);
	c.alias_4k_cyc = 6;
	ASSERT_NEAR(TURN(&c, mem, "49894540", "498b442440"), 0.5, 0.01);
}

static void a_load_4096_bytes_from_a_store_misses_as_any_other(void **state)
{
	/*
	 * mov [r13+rax+64],r11; mov rax,[r12+rax+64]; mov rcx,[r13]: in a cache of 16 lines, one to a set, each drives the one
	 * before out.  The load waits 6 for the store and takes the second level's 14.
	 */
	const uint64_t mem[] = { SIM_MEM(0x1040, 0, 3, 1), SIM_MEM(0x2040, 1, 3, 0), SIM_MEM(0x2440, 2, 3, 0),
		                 SIM_MEM_END };
	struct sim_config c;

	(void)state;
	read_core("zen5", &c);
	c.l1.kb = c.l1.ways = 1;
	c.prefetch_lines = 0;
	c.alias_4k_cyc = 6;
	ASSERT_NEAR(TURN(&c, mem, "4d895c0540", "498b440440", "498b4d00"), 6 + 14, 0.01);
}

static void an_access_over_the_end_of_a_line_makes_two(void **state)
{
	/* Four loads of 8 bytes, each over a line's end: mov rax,[r13]; mov rcx,[r13]; mov rdx,[r13]; mov rbx,[r13] */
	const uint64_t mem[] = { SIM_MEM(0x103c, 0, 3, 0), SIM_MEM(0x103c, 1, 3, 0), SIM_MEM(0x103c, 2, 3, 0),
		                 SIM_MEM(0x103c, 3, 3, 0), SIM_MEM_END };
	struct sim_config c;

	(void)state;
	read_core("zen5", &c);
	ASSERT_NEAR(TURN(&c, mem, "498b4500", "498b4d00", "498b5500", "498b5d00"), 1, 0.01);
	c.split_lines = 1;
	ASSERT_NEAR(TURN(&c, mem, "498b4500", "498b4d00", "498b5500", "498b5d00"), 2, 0.01);
}

static void stores_to_other_lines_leave_one_after_the_other(void **state)
{
	/* mov [r13],rax; mov [r13+64],rax */
	const uint64_t mem[] = { SIM_MEM(0x1000, 0, 3, 1), SIM_MEM(0x1040, 1, 3, 1), SIM_MEM_END };
	struct sim_config c;

	(void)state;
	read_core("zen5", &c);
	ASSERT_NEAR(TURN(&c, mem, "49894500", "49894540"), 1, 0.01);
	c.store_line_cyc = 3;
	ASSERT_NEAR(TURN(&c, mem, "49894500", "49894540"), 6, 0.01);
}

static void a_sum_is_there_sooner_for_a_sum(void **state)
{
	struct sim_config c;

	(void)state;
	read_core("zen5", &c);
	/* mulsd xmm0,xmm1; addsd xmm0,xmm1: 3 + 2 */
	ASSERT_NEAR(TURN(&c, NULL, "f20f59c1", "f20f58c1"), 5, 0.01);
	c.fp_cross_cyc = 1;
	ASSERT_NEAR(TURN(&c, NULL, "f20f59c1", "f20f58c1"), 6, 0.01);
	ASSERT_NEAR(TURN(&c, NULL, "f20f58c1", "f20f58c1"), 4, 0.01);
	/* minsd xmm0,xmm1, of the same class, is none: 2, and 3 for the sum before it. */
	ASSERT_NEAR(TURN(&c, NULL, "f20f5dc1", "f20f58c1"), 5, 0.01);
	ASSERT_NEAR(TURN(&c, NULL, "f20f5dc1"), 2, 0.01);
}

static void dispatch_can_take_more_than_a_share(void **state)
{
	struct sim_config c;

	(void)state;
	read_core("zen5", &c);
	/* Eight moves a cycle; at 1250 thousandths each, 6.4. */
	ASSERT_NEAR(TURN(&c, NULL, "4889c1", "4889c1", "4889c1", "4889c1"), 0.5, 0.005);
	c.cls[SIM_C_MOVE].slots_milli = 1250;
	ASSERT_NEAR(TURN(&c, NULL, "4889c1", "4889c1", "4889c1", "4889c1"), 4 / 6.4, 0.005);
}

static void instructions_tied_to_ports_wait_for_them(void **state)
{
	struct sim_config c;
	double chain, free_running;

	(void)state;
	read_core("zen5", &c);
	c.cls[SIM_C_ALU].bind = 1;
	/* One chain needs no second port: add rax,rax. */
	chain = TURN(&c, NULL, "4801c0");
	ASSERT_NEAR(chain, 1, 0.01);
	/*
	 * Two chains of one cycle on six ports, each addition tied to one at random: both go in a cycle unless they drew the
	 * same port (1/6).  Then one is late; from then on they are apart, and a clash costs nothing that was not lost.
	 */
	free_running = TURN(&c, NULL, "4801c0", "4801c9");
	assert_true(free_running > 1.02 && free_running < 1 + 1.0 / 3);
}

static void flags_have_registers_of_their_own(void **state)
{
	/* A miss (560 cycles) every 101 instructions, cmp eax,ecx between: with 50 registers each miss waits for the one before. */
	const char *insns[101];
	struct sim_block *b;
	struct rig r;
	uint64_t took[2];

	(void)state;
	for (unsigned wide = 0; wide < 2; wide++) {
		rig_prepare(&r, "zen5");
		r.config.flag_regs = wide ? 400 : 50;
		r.config.prefetch_lines = 0;
		rig_start(&r);
		insns[0] = "488b00"; /* mov rax,[rax] */
		for (unsigned i = 1; i < 101; i++)
			insns[i] = "39ca"; /* cmp edx,ecx */
		b = block_at(&r, 0x400000, insns, 101);
		for (uint64_t i = 0; i < 100; i++) {
			const uint64_t mem[] = { SIM_MEM(i << 20, 0, 3, 0), SIM_MEM_END };

			r.core->reg[SIM_R_INT] = 0; /* misses independent of each other */
			sim_core_run(r.core, b, 101, b->end_ip, mem);
		}
		took[wide] = r.core->retire_cyc;
		free(b);
		rig_stop(&r);
	}
	ASSERT_NEAR((double)took[0] / 100, 560, 60);
	assert_true(took[1] * 3 < took[0]);
}

/* A step of a rep instruction within a line that has been fetched costs nothing, and misses nothing. */
static void misses_are_of_the_block_that_ran_last(void **state)
{
	const char *const loads[] = { "488b00", "488b1b" }; /* mov rax,[rax]; mov rbx,[rbx] */
	const char *const fill[] = { "f348ab" };            /* rep stosq */
	const uint64_t far[] = { SIM_MEM(1ull << 30, 0, 3, 0), SIM_MEM(2ull << 30, 1, 3, 0), SIM_MEM_END };
	const uint64_t first[] = { SIM_MEM(3ull << 30, 0, 3, 1), SIM_MEM_END };
	const uint64_t next[] = { SIM_MEM((3ull << 30) + 8, 0, 3, 1), SIM_MEM_END };
	struct sim_block *b, *rep;
	struct rig r;

	(void)state;
	rig_prepare(&r, "zen5");
	rig_start(&r);
	b = block_at(&r, 0x400000, loads, 2);
	rep = block_at(&r, 0x400100, fill, 1);
	assert_true(rep->is_rep);
	sim_core_run(r.core, rep, 1, rep->ip, first);
	sim_core_run(r.core, b, 2, b->end_ip, far);
	assert_int_equal(r.core->n_missed, 2);
	sim_core_run(r.core, rep, 1, rep->ip, next);
	assert_int_equal(r.core->n_missed, 0);
	free(b);
	free(rep);
	rig_stop(&r);
}

/* Cycles a turn of a load that misses (560 cycles) and 100 instructions that wait for it, none for another. */
static double turn_of_miss(const char *load, const char *waiting, uint32_t int_scheduler,
                           uint32_t fp_scheduler, uint32_t fp_queue)
{
	const char *insns[101];
	struct sim_block *b;
	struct rig r;
	double took;

	rig_prepare(&r, "zen5");
	r.config.int_scheduler = int_scheduler;
	r.config.fp_scheduler = fp_scheduler;
	r.config.fp_queue = fp_queue;
	r.config.prefetch_lines = 0;
	rig_start(&r);
	insns[0] = load;
	for (unsigned i = 1; i < 101; i++)
		insns[i] = waiting;
	b = block_at(&r, 0x400000, insns, 101);
	for (uint64_t i = 0; i < 100; i++) {
		const uint64_t mem[] = { SIM_MEM(i << 20, 0, 3, 0), SIM_MEM_END };

		r.core->reg[SIM_R_INT] = 0; /* misses independent of each other */
		sim_core_run(r.core, b, 101, b->end_ip, mem);
	}
	took = (double)r.core->retire_cyc / 100;
	free(b);
	rig_stop(&r);
	return took;
}

static void a_place_in_the_scheduler_is_kept_after_issue(void **state)
{
	struct sim_config c;

	(void)state;
	read_core("zen5", &c);
	c.int_scheduler = 16;
	c.scheduler_hold_cyc = 9;
	/* Four times lea rcx,[rax+1]: 1 cycle to issue and 9 more, of 16 places: 1.6 a cycle. */
	ASSERT_NEAR(TURN(&c, NULL, "488d4801", "488d4801", "488d4801", "488d4801"), 2.5, 0.01);
}

static void a_compare_with_its_branch_takes_one_place(void **state)
{
	/* cmp eax,ecx; je +0 */
	const char *const insns[] = { "39c8", "7400" };
	struct sim_block *b;
	struct rig r;
	uint64_t from;

	(void)state;
	for (unsigned fuses = 0; fuses < 2; fuses++) {
		rig_prepare(&r, "zen5");
		r.config.fuse_branches = fuses;
		rig_start(&r);
		b = block_at(&r, 0x400000, insns, 2);
		from = r.core->seq;
		sim_core_run(r.core, b, 2, b->end_ip, no_memory);
		assert_int_equal(r.core->seq - from, fuses ? 1 : 2);
		free(b);
		rig_stop(&r);
	}
}

static void a_byte_is_merged_into_its_register(void **state)
{
	struct sim_config c;

	(void)state;
	read_core("zen5", &c);
	/* mov al,cl; add rax,1: each waits for the other.  movzx eax,cl does not. */
	ASSERT_NEAR(TURN(&c, NULL, "88c8", "4883c001"), 2, 0.01);
	assert_true(TURN(&c, NULL, "0fb6c1", "4883c001") < 0.5);
}

static void what_waits_has_to_fit_into_the_scheduler(void **state)
{
	const char *load = "488b00", *lea = "488d4801";          /* mov rax,[rax]; lea rcx,[rax+1] */
	const char *vload = "f20f1000", *shuffle = "660f70c800"; /* movsd xmm0,[rax]; pshufd xmm1,xmm0,0 */

	(void)state;
	/* 50 places: the next miss comes behind instructions that wait for the one before.  110: two at a time. */
	ASSERT_NEAR(turn_of_miss(load, lea, 50, 0, 0), 560, 60);
	ASSERT_NEAR(turn_of_miss(load, lea, 110, 0, 0), 280, 40);
	/* Of vectors, the queue before the scheduler counts with it: 20 + 60, 20 + 90. */
	ASSERT_NEAR(turn_of_miss(vload, shuffle, 0, 20, 60), 560, 60);
	ASSERT_NEAR(turn_of_miss(vload, shuffle, 0, 20, 90), 280, 40);
	/* They do not take places of the other kind. */
	assert_true(turn_of_miss(vload, shuffle, 20, 0, 0) < 200);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_chain_runs_at_the_latency_of_its_instruction),
		cmocka_unit_test(independent_adds_fill_the_ports_or_the_width),
		cmocka_unit_test(nops_and_renamed_moves_run_at_the_dispatch_width),
		cmocka_unit_test(divisions_are_not_pipelined),
		cmocka_unit_test(retirement_has_a_width_of_its_own),
		cmocka_unit_test(a_load_costs_the_latency_of_the_level_it_finds),
		cmocka_unit_test(the_reorder_buffer_bounds_how_far_misses_overlap),
		cmocka_unit_test(a_misprediction_costs_the_penalty),
		cmocka_unit_test(a_store_hands_its_data_to_a_younger_load),
		cmocka_unit_test(the_return_stack_holds_as_many_as_the_core_file_says),
		cmocka_unit_test(a_stream_is_prefetched),
		cmocka_unit_test(loads_and_stores_have_ports_and_queues),
		cmocka_unit_test(a_load_by_the_name_of_a_store_costs_nothing),
		cmocka_unit_test(a_load_of_more_than_was_stored_waits_until_it_has_left),
		cmocka_unit_test(a_load_from_two_stores_waits_until_they_have_left),
		cmocka_unit_test(a_load_4096_bytes_from_a_store_takes_it_for_its_own),
		cmocka_unit_test(a_load_4096_bytes_from_a_store_needs_no_data_of_it),
		cmocka_unit_test(a_load_4096_bytes_from_a_store_misses_as_any_other),
		cmocka_unit_test(an_access_over_the_end_of_a_line_makes_two),
		cmocka_unit_test(stores_to_other_lines_leave_one_after_the_other),
		cmocka_unit_test(a_sum_is_there_sooner_for_a_sum),
		cmocka_unit_test(dispatch_can_take_more_than_a_share),
		cmocka_unit_test(instructions_tied_to_ports_wait_for_them),
		cmocka_unit_test(flags_have_registers_of_their_own),
		cmocka_unit_test(what_waits_has_to_fit_into_the_scheduler),
		cmocka_unit_test(misses_are_of_the_block_that_ran_last),
		cmocka_unit_test(a_place_in_the_scheduler_is_kept_after_issue),
		cmocka_unit_test(a_compare_with_its_branch_takes_one_place),
		cmocka_unit_test(a_byte_is_merged_into_its_register),
		cmocka_unit_test(vectors_and_bytes_are_not_renamed),
		cmocka_unit_test(a_load_that_always_has_one_stores_value_costs_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
