/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Cliffs' machine code: capstone must read back what the table says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <capstone/capstone.h>
#include <cmocka.h>

#include "profiler/base/err.h"
#include "profiler/calibrate/asm_x86.h"
#include "profiler/calibrate/cliff.h"

static csh capstone;
static uint8_t room[CLIFF_CODE_BYTES];

static int open_capstone(void **state)
{
	(void)state;
	return cs_open(CS_ARCH_X86, CS_MODE_64, &capstone) == CS_ERR_OK ? 0 : -1;
}

static int close_capstone(void **state)
{
	(void)state;
	cs_close(&capstone);
	return 0;
}

/* Capstone's text as ours: no sizes of memory operands, no blanks within operands. */
static void normalise(const cs_insn *in, char *out, size_t size)
{
	static const char *const sizes[] = { "xmmword ptr ", "ymmword ptr ", "qword ptr ",
		                             "dword ptr ",   "byte ptr ",    "ptr " };
	char text[200];
	size_t n = 0;

	snprintf(text, sizeof(text), "%s", in->op_str);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		char *at = strstr(text, sizes[i]);

		if (at)
			memmove(at, at + strlen(sizes[i]), strlen(at + strlen(sizes[i])) + 1);
	}
	n = (size_t)snprintf(out, size, "%s%s", in->mnemonic, *text ? " " : "");
	for (const char *s = text; *s && n + 1 < size; s++)
		if (*s != ' ')
			out[n++] = *s;
	out[n] = '\0';
}

static size_t assemble(const char *text, uint32_t stream)
{
	struct asm_buf b = { .code = room, .cap = sizeof(room) };

	if (asm_text(&b, text, stream) < 0)
		fail_msg("%s: %s", text, sp_error_text());
	return b.n;
}

/* One instruction, as capstone reads it. */
static void reads_back(const char *text, uint32_t stream, const char *want)
{
	char got[200];
	size_t n = assemble(text, stream);
	cs_insn *in;

	assert_int_equal(cs_disasm(capstone, room, n, 0, 0, &in), 1);
	assert_int_equal(in->size, n);
	normalise(in, got, sizeof(got));
	cs_free(in, 1);
	assert_string_equal(got, want);
}

static void forms_read_back_as_they_were_written(void **state)
{
	static const char *const texts[] = {
		"mov rax,rcx",
		"mov r8,r15",
		"mov rax,[rax]",
		"mov r14,[r14]",
		"mov [r13+0x40],rax",
		"mov rax,[r12-8]",
		"mov rax,0x12345678",
		"mov eax,ecx",
		"movzx eax,[r13+r15+0x20000]",
		"lea rax,[rax+r11+8]",
		"lea r9,[r13+rax*8]",
		"add rbp,r10",
		"add rax,[rsp]",
		"add [rsi],r9",
		"add rax,1",
		"or rax,rcx",
		"and r15,0xffff",
		"sub rax,rcx",
		"sub rsp,8",
		"xor r9,r9",
		"cmp r11,r12",
		"cmp rax,-1",
		"test r15,r15",
		"inc rax",
		"dec rdi",
		"shl rax,1",
		"ror r9,7",
		"mul rcx",
		"div ecx",
		"div r10",
		"imul rax,r9",
		"imul r9,r11,3",
		"popcnt r10,r11",
		"cmove rax,r9",
		"nop",
		"nop [r13]",
		"push r12",
		"pop rbx",
		"ret",
		"movq xmm9,rax",
		"movq rax,xmm9",
		"movsd xmm3,[r13+8]",
		"movsd [r13+8],xmm12",
		"movups xmm0,[rax]",
		"movaps xmm1,xmm9",
		"addsd xmm0,xmm14",
		"mulsd xmm11,xmm15",
		"divsd xmm1,xmm2",
		"divss xmm1,xmm2",
		"sqrtsd xmm8,xmm8",
		"sqrtss xmm0,xmm0",
		"cvtdq2ps xmm1,xmm9",
		"cvtps2dq xmm9,xmm1",
		"pand xmm0,xmm15",
		"pxor xmm0,xmm0",
		"paddd xmm10,xmm15",
		"pmuludq xmm0,xmm1",
		"pshufd xmm1,xmm15,0x1b",
		"aesenc xmm9,xmm15",
		"vfmadd231sd xmm1,xmm14,xmm15",
		"vmovups ymm9,[r13+0x80]",
		"vmovups [rax],ymm1",
		"vzeroupper",
		"lock add [r13+0x40],r11",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		char decimal[100] = "";

		/* Our numbers are decimal, capstone's from 10 on are not. */
		for (const char *s = texts[i]; *s;) {
			char *end = (char *)s + 1;
			char piece[32] = { *s };

			if (!strncmp(s, "0x", 2))
				snprintf(piece, sizeof(piece), "%lu", strtoul(s, &end, 16));
			strcat(decimal, piece);
			s = end;
		}
		reads_back(decimal, 0, texts[i]);
	}
}

static void braces_stand_for_the_registers_of_a_stream(void **state)
{
	(void)state;
	reads_back("add {r},{r}", 0, "add rax,rax");
	reads_back("add {r},{r}", 5, "add rsi,rsi");
	reads_back("add {r},{r}", 8, "add r10,r10");
	reads_back("add {r},{r}", 9, "add rax,rax");
	reads_back("div {e}", 6, "div r8d");
	reads_back("movaps {x},{x}", 13, "movaps xmm1,xmm1");
	/* 8 x 9 = 72 = 0x48; 64 x 65 = 4160, modulo 4096: 64 */
	reads_back("mov [r13+{d}],r11", 9, "mov [r13+0x48],r11");
	reads_back("mov [r13+{l}],r11", 65, "mov [r13+0x40],r11");
	reads_back("mov r10,{n}", 4097, "mov r10,0x1001");
	reads_back("mov {w},[{w}]", 0, "mov r14,[r14]");
	reads_back("mov {w},[{w}]", 1, "mov r15,[r15]");
}

static void a_label_is_reached_from_both_sides(void **state)
{
	/* xor (3 bytes), dec (3), jne back to 3, je forward over the nop. */
	static const uint8_t want[] = { 0x48, 0x31, 0xc0, 0x48, 0xff, 0xcf, 0x74, 0x01, 0x90 };
	size_t n = assemble("xor rax,rax; dec rdi; je @; nop; @:", 0);

	(void)state;
	assert_int_equal(n, sizeof(want));
	assert_memory_equal(room, want, sizeof(want));
	n = assemble("@:; dec rdi; jne @", 0);
	assert_int_equal(n, 5);
	assert_int_equal((int8_t)room[4], -5);
}

static void what_is_not_known_is_named(void **state)
{
	static const char *const bad[] = {
		"frobnicate rax", "add rax,xmm0", "mov rax,[rax+rcx+rdx+7", "add rax,300", "jmp @",
		"mov {q},rax",    "mov rax",      "shl rax,rcx,rdx,rbx"
	};
	struct asm_buf b = { .code = room, .cap = sizeof(room) };

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		b.n = 0;
		if (asm_text(&b, bad[i], 0) != -SP_EFORMAT)
			fail_msg("'%s' was assembled", bad[i]);
	}
	b = (struct asm_buf){ .code = room, .cap = 4 };
	assert_int_equal(asm_text(&b, "nop; nop; nop; nop; nop", 0), -SP_ENOMEM);
}

/* Every row at both ends of its range: the loop is as many instructions as told, all known, and ends with dec and jne to its start. */
static void every_cliff_is_a_loop_of_known_instructions(void **state)
{
	const struct cliff_sizes sizes = { 48, 1024, 32768 };
	size_t n_cliffs;
	const struct cliff *all = cliff_table(&n_cliffs);

	(void)state;
	assert_true(n_cliffs >= 40);
	for (size_t i = 0; i < n_cliffs; i++) {
		struct cliff_curve curve;

		cliff_pressures(&all[i], &sizes, false, &curve);
		assert_true(curve.n >= 2);
		for (size_t k = 0; k < curve.n; k += curve.n - 1) {
			struct cliff_code code = { .code = room, .cap = sizeof(room) };
			cs_insn *in;
			size_t n, end = 0;

			assert_int_equal(cliff_emit(&all[i], curve.pressure[k], &code), 0);
			assert_int_equal(code.loop_off % 64, 0);
			n = cs_disasm(capstone, room + code.loop_off, code.n_bytes - code.loop_off,
			              code.loop_off, 0, &in);
			assert_true(n > code.insns_in_loop);
			end = code.insns_in_loop;
			assert_string_equal(in[end - 1].mnemonic, "jne");
			assert_int_equal(strtoul(in[end - 1].op_str, NULL, 0), code.loop_off);
			assert_string_equal(in[end - 2].mnemonic, "dec");
			assert_string_equal(in[n - 1].mnemonic, "ret");
			assert_int_equal(in[n - 1].address + in[n - 1].size, code.n_bytes);
			cs_free(in, n);
		}
	}
}

/* Two misses that don't wait for each other, and the fillers after each. */
static void a_window_is_two_misses_with_fillers_behind_each(void **state)
{
	struct cliff_code code = { .code = room, .cap = sizeof(room) };
	static const char want[] = "\x4d\x8b\x36\x90\x90\x90\x4d\x8b\x3f\x90\x90\x90\x48\xff\xcf";

	(void)state;
	assert_int_equal(cliff_emit(cliff_find("rob"), 3, &code), 0);
	assert_int_equal(code.insns_in_loop, 2 + 2 * 3 + 2);
	assert_memory_equal(room + code.loop_off, want, sizeof(want) - 1);
}

static void nested_calls_are_as_deep_as_told(void **state)
{
	struct cliff_code code = { .code = room, .cap = sizeof(room) };
	size_t calls = 0, at;
	cs_insn *in;
	size_t n;

	(void)state;
	assert_int_equal(cliff_emit(cliff_find("return-stack"), 7, &code), 0);
	assert_int_equal(code.insns_in_loop, 3);
	n = cs_disasm(capstone, room, code.n_bytes, 0, 0, &in);
	for (at = 0; at < n && in[at].address != code.loop_off; at++)
		;
	assert_string_equal(in[at].mnemonic, "call");
	/* Follow the calls down. */
	while (!strcmp(in[at].mnemonic, "call")) {
		unsigned long to = strtoul(in[at].op_str, NULL, 0);

		calls++;
		for (at = 0; in[at].address != to; at++)
			;
	}
	assert_string_equal(in[at].mnemonic, "ret");
	assert_int_equal(calls, 7);
	cs_free(in, n);
}

static void names_are_found_and_used_once(void **state)
{
	size_t n;
	const struct cliff *all = cliff_table(&n);

	(void)state;
	for (size_t i = 0; i < n; i++) {
		assert_ptr_equal(cliff_find(all[i].name), &all[i]);
		assert_true(!all[i].behind || cliff_find(all[i].behind));
		assert_non_null(all[i].params);
		assert_non_null(all[i].isolates);
	}
	assert_null(cliff_find("no-such"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(forms_read_back_as_they_were_written),
		cmocka_unit_test(braces_stand_for_the_registers_of_a_stream),
		cmocka_unit_test(a_label_is_reached_from_both_sides),
		cmocka_unit_test(what_is_not_known_is_named),
		cmocka_unit_test(every_cliff_is_a_loop_of_known_instructions),
		cmocka_unit_test(a_window_is_two_misses_with_fillers_behind_each),
		cmocka_unit_test(nested_calls_are_as_deep_as_told),
		cmocka_unit_test(names_are_found_and_used_once),
	};

	return cmocka_run_group_tests_name("cliffs' code", tests, open_capstone, close_capstone);
}
