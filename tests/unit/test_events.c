/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which instructions an event counts (a_ki of eq. 6): for each kind one that it counts and one that it doesn't. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <linux/perf_event.h>

#include "correct/recording/events.h"

#define N(list) (sizeof(list) / sizeof((list)[0]))

static struct insn decode(enum insn_isa isa, const char *hex)
{
	struct insn_decoder *d = NULL;
	uint8_t code[16] = { 0 };
	struct insn insn;
	size_t n = 0;

	for (unsigned byte; sscanf(hex + 2 * n, "%2x", &byte) == 1; n++)
		code[n] = (uint8_t)byte;
	/* Arm's are written as words. */
	for (size_t i = 0; isa == ISA_AARCH64 && i < 2; i++) {
		uint8_t swap = code[i];

		code[i] = code[3 - i];
		code[3 - i] = swap;
	}
	assert_int_equal(insn_decoder_new(isa, &d), 0);
	assert_int_equal(insn_decode(d, code, n, 0x1000, &insn), 0);
	insn_decoder_free(d);
	return insn;
}

/* Code of an instruction that counts and how often, and of one that doesn't. */
struct row {
	const char *event, *counts;
	double times;
	const char * not ;
};

static void check(enum insn_isa isa, const struct row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct row *r = &rows[i];
		struct insn yes = decode(isa, r->counts), no = decode(isa, r->not );
		int kind = mix_kind_of(r->event, PERF_TYPE_RAW, 0, NULL);

		if (kind == MIX_NONE)
			fail_msg("%s is not known", r->event);
		if (mix_of_insn(kind, &yes) != r->times)
			fail_msg("%s counts %s %g times", r->event, r->counts, mix_of_insn(kind, &yes));
		if (mix_of_insn(kind, &no) != 0)
			fail_msg("%s counts %s", r->event, r->not );
	}
}

/* jmp, je, call, call *rax, jmp *rax, ret */
#define JMP  "eb02"
#define JE   "7402"
#define CALL "e800000000"
#define CALR "ffd0"
#define JMPR "ffe0"
#define RET  "c3"
/* mov (%rax),%rax; mov %rax,(%rax); lock add %rax,(%rax); nop; add %rax,%rax */
#define LOAD  "488b00"
#define STORE "488900"
#define LOCK  "f0480100"
#define NOP   "0f1f00"
#define ADD   "4801c0"
/* addsd, addss, mulpd, mulps, divsd, minsd of xmm; vaddpd, vaddps of ymm; vfmadd231 sd, pd of ymm */
#define ADDSD  "f20f58c1"
#define ADDSS  "f30f58c1"
#define MULPD  "660f59c1"
#define MULPS  "0f59c1"
#define DIVSD  "f20f5ec1"
#define MINSD  "f20f5dc1"
#define VADDPD "c5ed58d9"
#define VADDPS "c5ec58d9"
#define FMASD  "c4e2e9b9d9"
#define FMAPD  "c4e2edb8d9"
/* vaddpd, vaddps of zmm */
#define ZADDPD "62f1ed4858d9"
#define ZADDPS "62f16c4858d9"
/* cvtsi2sd, ucomisd, roundsd; faddp of the x87; paddd; dpps */
#define CVT   "f20f2ac0"
#define UCOMI "660f2ec1"
#define ROUND "660f3a0bc100"
#define FADDP "dec1"
#define PADDD "660ffec1"
#define DPPS  "660f3a40c1ff"

static void events_of_the_simulated_pmu(void **state)
{
	static const struct row rows[] = {
		{ "branches", JE, 1, ADD },       { "taken-branches", JMP, 1, ADD },
		{ "cond-branches", JE, 1, JMP },  { "calls", CALR, 1, JMP },
		{ "returns", RET, 1, CALL },      { "loads", LOAD, 1, STORE },
		{ "stores", CALL, 1, LOAD },      { "fp-scalar", ADDSD, 1, MULPD },
		{ "fp-vector", MULPD, 1, ADDSD }, { "indirect-branches", JMPR, 1, RET },
		{ "fp-add", ADDSD, 1, DIVSD },    { "fp-mul", MULPD, 1, FMASD },
		{ "fp-div", DIVSD, 1, MULPD },    { "fp-fma", FMASD, 1, MULPD },
		{ "simd-int", PADDD, 1, ADDSD },  { "fp-add", VADDPD, 1, FADDP },
	};

	(void)state;
	check(ISA_X86_64, rows, N(rows));
}

static void events_of_intel(void **state)
{
	static const struct row rows[] = {
		{ "BR_INST_RETIRED.ALL_BRANCHES", RET, 1, ADD },
		{ "BR_INST_RETIRED.CONDITIONAL", JE, 1, JMP },
		{ "BR_INST_RETIRED.NEAR_TAKEN", JMP, 1, JE },
		{ "BR_INST_RETIRED.NEAR_CALL", CALR, 1, JMPR },
		{ "BR_INST_RETIRED.NEAR_RETURN", RET, 1, JMPR },
		{ "BR_INST_RETIRED.INDIRECT", CALR, 1, RET },
		{ "MEM_INST_RETIRED.ALL_LOADS", RET, 1, STORE },
		{ "MEM_INST_RETIRED.ALL_STORES", CALL, 1, LOAD },
		{ "MEM_INST_RETIRED.ANY", LOCK, 1, ADD },
		{ "MEM_INST_RETIRED.LOCK_LOADS", LOCK, 1, LOAD },
		{ "INST_RETIRED.NOP", NOP, 1, ADD },
		{ "FP_ARITH_INST_RETIRED.SCALAR_DOUBLE", ADDSD, 1, ADDSS },
		{ "FP_ARITH_INST_RETIRED.SCALAR_DOUBLE", FMASD, 2, FADDP },
		{ "FP_ARITH_INST_RETIRED.SCALAR_DOUBLE", MINSD, 1, CVT },
		{ "FP_ARITH_INST_RETIRED.SCALAR_DOUBLE", DIVSD, 1, UCOMI },
		{ "FP_ARITH_INST_RETIRED.SCALAR_DOUBLE", DIVSD, 1, ROUND },
		{ "FP_ARITH_INST_RETIRED.SCALAR_SINGLE", ADDSS, 1, ADDSD },
		{ "FP_ARITH_INST_RETIRED.SCALAR", ADDSS, 1, MULPS },
		{ "FP_ARITH_INST_RETIRED.128B_PACKED_DOUBLE", MULPD, 1, VADDPD },
		{ "FP_ARITH_INST_RETIRED.128B_PACKED_SINGLE", DPPS, 2, MULPD },
		{ "FP_ARITH_INST_RETIRED.256B_PACKED_DOUBLE", FMAPD, 2, MULPD },
		{ "FP_ARITH_INST_RETIRED.256B_PACKED_SINGLE", VADDPS, 1, VADDPD },
		{ "FP_ARITH_INST_RETIRED.512B_PACKED_DOUBLE", ZADDPD, 1, VADDPD },
		{ "FP_ARITH_INST_RETIRED.512B_PACKED_SINGLE", ZADDPS, 1, ZADDPD },
		{ "FP_ARITH_INST_RETIRED.4_FLOPS", VADDPD, 1, VADDPS },
		{ "FP_ARITH_INST_RETIRED.8_FLOPS", VADDPS, 1, VADDPD },
		{ "FP_ARITH_INST_RETIRED.VECTOR", ZADDPS, 1, ADDSD },
	};

	(void)state;
	check(ISA_X86_64, rows, N(rows));
}

static void events_of_amd(void **state)
{
	static const struct row rows[] = {
		{ "ex_ret_brn", JE, 1, ADD },
		{ "ex_ret_brn_tkn", JMP, 1, JE },
		{ "ex_ret_cond", JE, 1, JMP },
		{ "ex_ret_near_ret", RET, 1, CALL },
		{ "fp_ret_sse_avx_ops.add_sub_flops", VADDPS, 8, MULPD },
		{ "fp_ret_sse_avx_ops.mult_flops", MULPD, 2, ADDSD },
		{ "fp_ret_sse_avx_ops.div_flops", DIVSD, 1, MULPD },
		/* Four elements of 64 bits, two operations each. */
		{ "fp_ret_sse_avx_ops.mac_flops", FMAPD, 8, MULPD },
		{ "fp_ret_sse_avx_ops.all", FMASD, 2, CVT },
	};

	(void)state;
	check(ISA_X86_64, rows, N(rows));
}

static void events_of_arm(void **state)
{
	static const struct row rows[] = {
		/* b.eq, b, br x0, ret, bl, blr x0, ldr, str, add, fadd, fmadd */
		{ "BR_RETIRED", "54000040", 1, "8b010000" },
		{ "BR_IMMED_RETIRED", "54000040", 1, "d61f0000" },
		{ "BR_IMMED_TAKEN_RETIRED", "94000002", 1, "54000040" },
		{ "BR_RETURN_RETIRED", "d65f03c0", 1, "d61f0000" },
		{ "BR_INDNR_TAKEN_RETIRED", "d63f0000", 1, "d65f03c0" },
		{ "PC_WRITE_RETIRED", "14000002", 1, "54000040" },
		{ "LD_RETIRED", "f9400001", 1, "f9000001" },
		{ "ST_RETIRED", "f9000001", 1, "f9400001" },
		{ "fp-add", "1e622820", 1, "1f420c20" },
		{ "fp-fma", "1f420c20", 1, "1e622820" },
	};

	(void)state;
	check(ISA_AARCH64, rows, N(rows));
	assert_true(mix_of_insn(mix_kind_of("INST_RETIRED", PERF_TYPE_RAW, 0, NULL), &(struct insn){ 0 }) ==
	            1);
}

/* A callee whose code is not there: one return, a taken branch, for each call of it. */
static void what_is_passed_over_comes_back_by_a_return(void **state)
{
	struct insn call = decode(ISA_X86_64, CALL);

	(void)state;
	assert_true(mix_of_edge(MIX_RETURN, &call, FLOW_SKIP) == 1);
	assert_true(mix_of_edge(MIX_BRANCH, &call, FLOW_SKIP) == 1 &&
	            mix_of_edge(MIX_TAKEN, &call, FLOW_SKIP) == 1);
	assert_true(mix_of_edge(MIX_CALL, &call, FLOW_SKIP) == 0 &&
	            mix_of_edge(MIX_RETURN, &call, FLOW_CALL) == 0);
}

static void edges_count_what_was_taken_and_what_was_not(void **state)
{
	struct insn je = decode(ISA_X86_64, JE), jmp = decode(ISA_X86_64, JMP);
	static const struct {
		int kind, taken, fall;
	} list[] = {
		{ MIX_TAKEN, 1, 0 },     { MIX_COND_TAKEN, 1, 0 }, { MIX_DIRECT_TAKEN, 1, 0 },
		{ MIX_NOT_TAKEN, 0, 1 }, { MIX_COND, 0, 0 },
	};

	(void)state;
	for (size_t i = 0; i < N(list); i++) {
		assert_true(mix_of_edge(list[i].kind, &je, FLOW_TAKEN) == list[i].taken);
		assert_true(mix_of_edge(list[i].kind, &je, FLOW_FALL) == list[i].fall);
		assert_true(mix_of_edge(list[i].kind, &jmp, FLOW_TAKEN) == 0);
	}
}

static void raw_codes_are_read_by_the_processor_they_are_of(void **state)
{
	static const struct {
		const char *cpuid;
		uint64_t config;
		int kind;
	} list[] = {
		{ "GenuineIntel,6,85,4", 0x01c4, MIX_COND },        /* Skylake-X */
		{ "GenuineIntel,6,106,6", 0x01c4, MIX_COND_TAKEN }, /* Ice Lake-SP */
		{ "GenuineIntel,6,106,6", 0x11c4, MIX_COND },
		{ "GenuineIntel,6,85,4", 0x11c4, MIX_NONE },
		{ "GenuineIntel,6,85,4", 0x04c7, MIX_FP_ARITH | 0x04 << 8 },
		{ "GenuineIntel,6,60,3", 0x04c7, MIX_NONE }, /* Haswell */
		{ "GenuineIntel,6,85,4", 0x81d0, MIX_LOAD },
		{ "GenuineIntel,6,85,4", 0x10081d0, MIX_NONE }, /* with a threshold */
		{ "AuthenticAMD,25,1,1", 0x0803, MIX_FLOPS | 8 << 8 },
		{ "AuthenticAMD,23,1,1", 0x0803, MIX_NONE }, /* the first Zen */
		{ "AuthenticAMD,26,68,0", 0xd1, MIX_COND },
		{ "0x00000000410fd4f0", 0x0d, MIX_DIRECT },
		{ "0x00000000410fd4f0", 0x70, MIX_NONE }, /* LD_SPEC */
		{ "skidsim,0,0,0,zen5", 0xc4, MIX_NONE },
	};

	(void)state;
	for (size_t i = 0; i < N(list); i++)
		assert_int_equal(mix_kind_of("r1", PERF_TYPE_RAW, list[i].config, list[i].cpuid),
		                 list[i].kind);
}

static void names_are_read_as_perf_and_libpfm4_write_them(void **state)
{
	static const struct {
		const char *name;
		int kind;
	} list[] = {
		{ "BR_INST_RETIRED.NEAR_TAKEN:u", MIX_TAKEN },
		{ "br_inst_retired.near_taken:ppp", MIX_TAKEN },
		{ "cpu_core/BR_INST_RETIRED.NEAR_TAKEN/u", MIX_TAKEN },
		{ "BR_INST_RETIRED:NEAR_TAKEN", MIX_TAKEN },
		{ "skl::BR_INST_RETIRED:NEAR_TAKEN:u", MIX_TAKEN },
		{ "skx::BR_INST_RETIRED:NEAR_TAKEN:e=0:i=0:c=0:t=0:k=0:u=1", MIX_TAKEN },
		{ "amd64_fam19h_zen4::RETIRED_SSE_AVX_FLOPS:ANY:u", MIX_FLOPS | 0xf << 8 },
		{ "arm_n1::BR_RETURN_RETIRED", MIX_RETURN },
		{ "BR_RETURN_SPEC", MIX_NONE },
		{ "ex_ret_ind_brch_instr", MIX_NONE },
		{ "fp_arith_inst_retired.scalar", MIX_FP_ARITH | 3 << 8 },
	};

	(void)state;
	for (size_t i = 0; i < N(list); i++)
		if (mix_kind_of(list[i].name, PERF_TYPE_RAW, 0, "GenuineIntel,6,85,4") != list[i].kind)
			fail_msg("%s is %d", list[i].name,
			         mix_kind_of(list[i].name, PERF_TYPE_RAW, 0, "GenuineIntel,6,85,4"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(events_of_the_simulated_pmu),
		cmocka_unit_test(events_of_intel),
		cmocka_unit_test(events_of_amd),
		cmocka_unit_test(events_of_arm),
		cmocka_unit_test(edges_count_what_was_taken_and_what_was_not),
		cmocka_unit_test(what_is_passed_over_comes_back_by_a_return),
		cmocka_unit_test(raw_codes_are_read_by_the_processor_they_are_of),
		cmocka_unit_test(names_are_read_as_perf_and_libpfm4_write_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
