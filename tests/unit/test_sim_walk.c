/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/unit/sim_fixture.h"

#include "profiler/base/err.h"
#include "profiler/calibrate/model.h"
#include "profiler/calibrate/walk.h"

/* Machine code as hexadecimal text. */
static struct walk_code code_of(const char *hex, uint8_t *room, size_t loop_off)
{
	struct walk_code w = { .code = room, .loop_off = loop_off, .max_insns = 1000 };

	for (; *hex; hex += 2) {
		unsigned byte;

		assert_int_equal(sscanf(hex, "%2x", &byte), 1);
		room[w.n_bytes++] = (uint8_t)byte;
	}
	return w;
}

static void a_loop_is_traced_with_its_addresses_and_turns(void **state)
{
	uint64_t cell[4] = { 0, 0, 0, 0 }, a = (uint64_t)(uintptr_t)cell;
	struct sim_trace t = { 0 };
	struct sim_replay *r;
	uint8_t room[64];
	/*
	 * 0: mov rax,[rsi]   3: add rax,5   7: mov [rsi+8],rax   11: lea rsi,[rsi+8]   15: dec rdi
	 * 18: jne 0   20: ret
	 */
	struct walk_code w = code_of("488b06"
	                             "4883c005"
	                             "48894608"
	                             "488d7608"
	                             "48ffcf"
	                             "75ec"
	                             "c3",
	                             room, 0);

	(void)state;
	assert_int_equal(sim_replay_new(SIM_ISA_X86_64, &r), 0);
	w.arg[0] = 3;
	w.arg[1] = a;
	assert_int_equal(walk_x86(r, &w, &t), 0);
	/* Three turns and the return; each turn loads 8 bytes and stores 8 bytes further on. */
	assert_int_equal(t.steps.n, 4);
	assert_int_equal(t.turns.n, 3);
	for (unsigned i = 0; i < 3; i++) {
		const uint64_t *mem = &t.mem.v[t.steps.v[i].mem];

		assert_int_equal(t.turns.v[i], i);
		assert_int_equal(mem[0], SIM_MEM(a + 8 * i, 0, 3, 0));
		assert_int_equal(mem[1], SIM_MEM(a + 8 * i + 8, 2, 3, 1));
		assert_int_equal(mem[2], SIM_MEM_END);
	}
	/* Memory is as the function would have left it. */
	assert_int_equal(cell[3], 15);
	sim_trace_fini(&t);
	sim_replay_free(r);
}

static void calls_flags_and_widths_are_followed(void **state)
{
	struct sim_trace t = { 0 };
	struct sim_replay *r;
	uint8_t room[64];
	/*
	 * 0: mov eax,-1   5: add al,1 (0x..00, zero, upper bits stay)   7: jne 20 (not taken)   9: call 16
	 * 14: jmp 18   16: push rbx   17: nop; then at 18: ret
	 */
	struct walk_code w = code_of("b8ffffffff"
	                             "0401"
	                             "750b"
	                             "e802000000"
	                             "eb02"
	                             "5b"
	                             "90"
	                             "c3",
	                             room, 16);

	(void)state;
	/* The function at 16 is "pop rbx; nop; ret": it drops the call's return address, so its ret is the outer one. */
	assert_int_equal(sim_replay_new(SIM_ISA_X86_64, &r), 0);
	assert_int_equal(walk_x86(r, &w, &t), 0);
	assert_int_equal(t.steps.n, 3);
	assert_int_equal(t.turns.n, 1);
	assert_int_equal(t.turns.v[0], 2);
	sim_trace_fini(&t);
	sim_replay_free(r);
}

static int walk(const char *hex, uint64_t arg)
{
	struct sim_trace t = { 0 };
	struct sim_replay *r;
	uint8_t room[64];
	struct walk_code w = code_of(hex, room, 0);
	int err;

	assert_int_equal(sim_replay_new(SIM_ISA_X86_64, &r), 0);
	w.arg[0] = arg;
	err = walk_x86(r, &w, &t);
	sim_trace_fini(&t);
	sim_replay_free(r);
	return err;
}

static void what_cannot_be_known_is_refused_where_it_matters(void **state)
{
	(void)state;
	/* cvttsd2si rax,xmm0; ret: the value is not known, and nobody asks for it. */
	assert_int_equal(walk("f2480f2cc0c3", 0), 0);
	/* ...; mov rcx,[rax]: now somebody does. */
	assert_int_equal(walk("f2480f2cc0488b08c3", 0), -SP_ENOTSUP);
	/* ...; test rax,rax; je +0 */
	assert_int_equal(walk("f2480f2cc04885c07400c3", 0), -SP_ENOTSUP);
	/* ucomisd xmm0,xmm1; jb +0 */
	assert_int_equal(walk("660f2ec17200c3", 0), -SP_ENOTSUP);
	/* xor eax,eax knows its result; jmp to itself never ends; jmp out of the code */
	assert_int_equal(walk("f2480f2cc031c085c07400c3", 0), 0);
	assert_int_equal(walk("ebfe", 0), -SP_EDOMAIN);
	assert_int_equal(walk("eb10", 0), -SP_EFORMAT);
}

/* Response of a cliff on a core, at one pressure. */
static double response(struct cliff_model *m, const struct sim_config *config, const char *name,
                       uint32_t pressure)
{
	struct cliff_curve curve = { .n = 1, .pressure = { pressure } };
	const struct cliff *c = cliff_find(name);

	assert_non_null(c);
	assert_int_equal(cliff_run_model(m, config, c, &curve), 0);
	return curve.response[0];
}

static void the_cliffs_run_on_any_simulated_core(void **state)
{
	struct cliff_arena arena;
	struct cliff_model *m;
	struct sim_config config;

	(void)state;
	read_core("zen5", &config);
	assert_int_equal(cliff_arena_open(&arena, 0), 0);
	assert_int_equal(cliff_model_open(&arena, &m), 0);
	/* 100 dependent additions of 1 cycle, of 3. */
	assert_float_equal(response(m, &config, "add-latency", 100), 100, 0.5);
	config.cls[SIM_C_ALU].latency_cyc = 3;
	assert_float_equal(response(m, &config, "add-latency", 100), 300, 0.5);
	/* Two misses overlap within the reorder buffer, and not beyond it. */
	config.rob = 100;
	assert_float_equal(response(m, &config, "rob", 80), 560, 60);
	assert_float_equal(response(m, &config, "rob", 120), 2 * 560, 60);
	cliff_model_close(m);
	cliff_arena_close(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_loop_is_traced_with_its_addresses_and_turns),
		cmocka_unit_test(calls_flags_and_widths_are_followed),
		cmocka_unit_test(what_cannot_be_known_is_refused_where_it_matters),
		cmocka_unit_test(the_cliffs_run_on_any_simulated_core),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
