/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>

#include "tests/unit/sim_fixture.h"

/* A core that delays every interrupt by the same time, counting cycles and instructions. */
static void prepare(struct rig *r, uint32_t skid_cyc, uint64_t cycles_period, uint64_t insns_period)
{
	rig_prepare(r, "zen5");
	r->config.n_skid_bins = 1;
	r->config.skid[0] = (struct sim_skid_bin){ skid_cyc, skid_cyc + 1, 1 };
	r->setup.n_events = 2;
	r->setup.event[0] = (struct wire_event){ SIM_CYCLES, 0, cycles_period };
	r->setup.event[1] = (struct wire_event){ SIM_INSTRUCTIONS, 0, insns_period };
	rig_start(r);
}

/* A chain of 100 adds of 3 bytes: one retires each cycle. */
static void run_chain(struct rig *r, unsigned n_blocks)
{
	const char *const add[] = { "4801c0" };
	struct sim_block *b = block_of(r, add, 1, 100);

	for (unsigned i = 0; i < n_blocks; i++)
		sim_core_run(r->core, b, 100, b->end_ip, no_memory);
	free(b);
}

static void the_cycles_value_modulo_the_period_is_the_skid(void **state)
{
	struct rig r;

	(void)state;
	prepare(&r, 37, 1009, 0);
	run_chain(&r, 1000);
	/* 100,000 adds, one a cycle: overflows at 1009, 2018 ... 99 * 1009 = 99,891 */
	assert_int_equal(r.n_samples, 99);
	for (size_t i = 0; i < r.n_samples; i++) {
		assert_int_equal(r.sample[i].event, 0);
		assert_int_equal(r.sample[i].value[0], (i + 1) * 1009 + 37);
		assert_int_equal(r.sample[i].value[0], r.sample[i].cycle);
	}
	rig_stop(&r);
}

/* The n-th instruction (from 0) is n % 100 places of 3 bytes into the block. */
static void the_ip_is_the_oldest_instruction_not_retired(void **state)
{
	struct rig r;

	(void)state;
	prepare(&r, 37, 0, 1013);
	run_chain(&r, 1000);
	assert_int_equal(r.n_samples, 98);
	for (size_t i = 0; i < r.n_samples; i++) {
		const struct sim_sample *s = &r.sample[i];

		/* value[1] instructions have retired: the next one is that index */
		assert_int_equal(s->ip, 0x400000 + s->value[1] % 100 * 3);
		/* one instruction a cycle: 37 cycles are 37 instructions */
		assert_int_equal(s->value[1] % 1013, 37);
	}
	rig_stop(&r);
}

static void samples_come_in_the_order_of_time(void **state)
{
	struct rig r;

	(void)state;
	prepare(&r, 300, 1009, 733);
	run_chain(&r, 1000);
	for (size_t i = 1; i < r.n_samples; i++)
		assert_true(r.sample[i].cycle >= r.sample[i - 1].cycle);
	assert_true(r.n_samples > 200);
	rig_stop(&r);
}

/*
 * One interrupt serves all counters that have overflowed: with a period of
 * 1000 for both, instructions (a few cycles behind) overflow while the
 * interrupt of cycles is under way, and come at the same place.
 */
static void one_interrupt_serves_all_counters_that_overflowed(void **state)
{
	struct rig r;

	(void)state;
	prepare(&r, 100, 1000, 1000);
	run_chain(&r, 100);
	assert_int_equal(r.n_samples, 18);
	for (size_t i = 0; i < r.n_samples; i += 2) {
		assert_int_equal(r.sample[i].event, 0);
		assert_int_equal(r.sample[i + 1].event, 1);
		assert_int_equal(r.sample[i].cycle, r.sample[i + 1].cycle);
		assert_int_equal(r.sample[i].ip, r.sample[i + 1].ip);
	}
	rig_stop(&r);
}

/*
 * 100,000 cycles in turns of 3750 to 6250: 16 to 27 of them.  Each set's counts
 * go on where they stopped, so its overshoots stay what they are, and
 * together they are all that ran.
 */
static void sets_take_turns_and_lose_nothing(void **state)
{
	uint64_t insns[2], n_turns = 1;
	struct rig r;

	(void)state;
	rig_prepare(&r, "zen5");
	r.config.n_skid_bins = 1;
	r.config.skid[0] = (struct sim_skid_bin){ 100, 101, 1 };
	r.setup.n_events = 4;
	r.setup.n_sets = 2;
	r.setup.rotate_cyc = 5000;
	r.setup.event[0] = (struct wire_event){ SIM_CYCLES, 0, 1000 };
	r.setup.event[1] = (struct wire_event){ SIM_INSTRUCTIONS, 0, 0 };
	r.setup.event[2] = (struct wire_event){ SIM_CYCLES, 1, 1000 };
	r.setup.event[3] = (struct wire_event){ SIM_INSTRUCTIONS, 1, 0 };
	rig_start(&r);
	run_chain(&r, 1000);
	for (size_t i = 0; i < r.n_samples; i++) {
		const struct sim_sample *s = &r.sample[i];

		assert_true(s->event == 0 || s->event == 2);
		assert_int_equal(s->n_values, 2);
		assert_int_equal(s->value[0] % 1000, 100);
		assert_int_equal(s->running_cyc, s->value[0]);
		n_turns += i > 0 && s->event != r.sample[i - 1].event;
	}
	assert_in_range(n_turns, 16, 27);
	/* An overflow whose interrupt is under way at the end of a turn still has it: none is lost. */
	assert_in_range(r.n_samples, 98, 100);
	insns[0] = sim_pmu_value(&r.core->pmu, 1);
	insns[1] = sim_pmu_value(&r.core->pmu, 3);
	assert_int_equal(insns[0] + insns[1], 100000);
	assert_in_range(insns[0], 40000, 60000);
	rig_stop(&r);
}

/* A delay longer than the period: the counter has one interrupt pending at most. */
static void an_overflow_under_way_hides_the_next(void **state)
{
	struct rig r;

	(void)state;
	prepare(&r, 2500, 1000, 0);
	run_chain(&r, 1000);
	/* overflow at 1000, interrupt at 3500, next overflow at 4000, interrupt at 6500 ... every 3000 */
	assert_int_equal(r.n_samples, 33);
	assert_int_equal(r.sample[0].value[0], 3500);
	assert_int_equal(r.sample[1].value[0], 6500);
	rig_stop(&r);
}

static void the_skid_follows_the_core_files_histogram(void **state)
{
	enum { N = 200000 };
	struct sim_config config;
	uint64_t rng = 1;
	uint32_t below_310 = 0, below_380 = 0, below_640 = 0;

	(void)state;
	read_core("zen5", &config);
	for (int i = 0; i < N; i++) {
		uint64_t s = sim_pmu_skid(&config, 1000, &rng);

		below_310 += s < 310;
		below_380 += s < 380;
		below_640 += s < 640;
	}
	/*
	 * Of 21,937 measured: 2110 below 310, 11,180 below 380, 19,637 below 640. Standard deviation of a
	 * share of 200,000 draws is at most 0.0011: 5 of them.
	 */
	assert_float_equal((double)below_310 / N, 2110.0 / 21937, 0.0056);
	assert_float_equal((double)below_380 / N, 11180.0 / 21937, 0.0056);
	assert_float_equal((double)below_640 / N, 19637.0 / 21937, 0.0056);
}

static void the_same_seed_gives_the_same_samples(void **state)
{
	struct rig r[2];

	(void)state;
	for (int k = 0; k < 2; k++) {
		rig_prepare(&r[k], "zen5");
		r[k].setup.n_events = 1;
		r[k].setup.event[0] = (struct wire_event){ SIM_CYCLES, 0, 997 };
		r[k].setup.seed = 5;
		rig_start(&r[k]);
		run_chain(&r[k], 1000);
	}
	assert_int_equal(r[0].n_samples, r[1].n_samples);
	for (size_t i = 0; i < r[0].n_samples; i++) {
		assert_int_equal(r[0].sample[i].cycle, r[1].sample[i].cycle);
		assert_int_equal(r[0].sample[i].ip, r[1].sample[i].ip);
	}
	rig_stop(&r[0]);
	rig_stop(&r[1]);
}

/* jmp from block to block in a ring of 3: the record holds the last 4, newest first. */
static void branch_records_are_the_last_taken_ones_newest_first(void **state)
{
	const char *const jmp[] = { "90", "eb00" };
	struct sim_block *b[3];
	struct rig r;

	(void)state;
	rig_prepare(&r, "zen5");
	r.setup.n_events = 1;
	r.setup.event[0] = (struct wire_event){ SIM_CYCLES, 0, 101 };
	r.setup.n_branches = 4;
	rig_start(&r);
	for (unsigned i = 0; i < 3; i++)
		b[i] = block_at(&r, 0x400000 + i * 0x100, jmp, 2);
	for (unsigned i = 0; i < 30000; i++)
		sim_core_run(r.core, b[i % 3], 2, b[(i + 1) % 3]->ip, no_memory);
	assert_true(r.n_samples > 20);
	for (size_t i = 0; i < r.n_samples; i++) {
		const struct sim_sample *s = &r.sample[i];

		assert_int_equal(s->n_branches, 4);
		/* The newest led to the block the interrupt found; each came from where the one before led. */
		assert_int_equal(s->branch[0].to_ip, s->ip & ~0xffull);
		for (unsigned k = 0; k + 1 < 4; k++)
			assert_int_equal(s->branch[k].from_ip - 1, s->branch[k + 1].to_ip);
	}
	for (unsigned i = 0; i < 3; i++)
		free(b[i]);
	rig_stop(&r);
}

/*
 * A ring of three jumps on a core whose records tell cycles: those of the three
 * newest are a lap, and 30000 jumps are 10000 of them; on one whose records do
 * not, none.
 */
static void branch_records_tell_cycles_where_the_core_does(void **state)
{
	const char *const jmp[] = { "90", "eb00" }, *const cores[] = { "skylake", "zen5" };

	(void)state;
	for (unsigned c = 0; c < 2; c++) {
		struct sim_block *b[3];
		uint64_t sum = 0;
		struct rig r;

		rig_prepare(&r, cores[c]);
		r.setup.n_events = 1;
		r.setup.event[0] = (struct wire_event){ SIM_CYCLES, 0, 101 };
		r.setup.n_branches = 4;
		rig_start(&r);
		for (unsigned i = 0; i < 3; i++)
			b[i] = block_at(&r, 0x400000 + i * 0x100, jmp, 2);
		for (unsigned i = 0; i < 30000; i++)
			sim_core_run(r.core, b[i % 3], 2, b[(i + 1) % 3]->ip, no_memory);
		assert_true(r.n_samples > 20);
		for (size_t i = 0; i < r.n_samples; i++)
			for (unsigned k = 0; k < 3; k++)
				sum += r.sample[i].branch[k].cycles;
		/* The warm-up's laps are longer: 5% of the mean. */
		if (c == 0)
			assert_float_equal((double)sum / (double)r.n_samples,
			                   (double)r.core->retire_cyc / 10000,
			                   (double)r.core->retire_cyc / 10000 * 0.05);
		else
			assert_int_equal(sum, 0);
		for (unsigned i = 0; i < 3; i++)
			free(b[i]);
		rig_stop(&r);
	}
}

static void totals_are_sums_over_the_instructions(void **state)
{
	/* mov rcx,[rax]; mov [rax],rcx; addsd xmm0,xmm1; addpd xmm0,xmm1; call +0 */
	const char *const insns[] = { "488b08", "488908", "f20f58c1", "660f58c1", "e800000000" };
	const uint64_t mem[] = { SIM_MEM(0x1000, 0, 3, 0), SIM_MEM(0x1000, 1, 3, 1), SIM_MEM(0x2000, 4, 3, 1),
		                 SIM_MEM_END };
	struct sim_block *b;
	struct rig r;

	(void)state;
	prepare(&r, 30, 97, 89);
	b = block_at(&r, 0x400000, insns, 5);
	for (unsigned i = 0; i < 1000; i++)
		sim_core_run(r.core, b, 5, b->target, mem);
	assert_int_equal(r.core->pmu.value[SIM_INSTRUCTIONS], 5000);
	assert_int_equal(r.core->pmu.value[SIM_LOADS], 1000);
	assert_int_equal(r.core->pmu.value[SIM_STORES], 2000);
	assert_int_equal(r.core->pmu.value[SIM_FP_SCALAR], 1000);
	assert_int_equal(r.core->pmu.value[SIM_FP_VECTOR], 1000);
	assert_int_equal(r.core->pmu.value[SIM_CALLS], 1000);
	assert_int_equal(r.core->pmu.value[SIM_BRANCHES], 1000);
	assert_int_equal(r.core->pmu.value[SIM_TAKEN_BRANCHES], 1000);
	assert_int_equal(r.core->pmu.value[SIM_COND_BRANCHES], 0);
	assert_int_equal(r.core->pmu.value[SIM_INDIRECT_BRANCHES], 0);
	assert_int_equal(r.core->pmu.value[SIM_FP_ADD], 2000);
	assert_int_equal(r.core->pmu.value[SIM_FP_MUL], 0);
	free(b);
	rig_stop(&r);
}

enum { BURST = 160 };

/* A jump to itself, one taken branch a turn: bursts, about 5000 cycles apart. */
static struct sim_block *prepare_bursts(struct rig *r, uint64_t burst_cyc)
{
	const char *const jump[] = { "4801c0", "ebfb" };

	rig_prepare(r, "zen5");
	r->setup.n_events = 1;
	r->setup.event[0] = (struct wire_event){ SIM_CYCLES, 0, 1000003 };
	r->setup.burst_cyc = burst_cyc;
	r->setup.burst_branches = BURST;
	rig_start(r);
	return block_at(r, 0x400000, jump, 2);
}

/* The next burst begins some time after the end of the one before. */
static void a_burst_is_of_the_branches_that_follow(void **state)
{
	struct rig r;
	struct sim_block *b = prepare_bursts(&r, 5000);
	double burst_cyc, mean_cyc;

	(void)state;
	for (unsigned i = 0; i < 500000; i++)
		sim_core_run(r.core, b, 2, b->ip, no_memory);
	assert_true(r.n_samples > 50);
	for (size_t i = 0; i < r.n_samples; i++) {
		const struct sim_sample *s = &r.sample[i];

		assert_int_equal(s->event, 1);
		assert_int_equal(s->n_values, 0);
		assert_int_equal(s->n_branches, BURST);
		assert_true(s->ip == 0x400000 || s->ip == 0x400003);
		for (uint32_t k = 0; k < s->n_branches; k++) {
			assert_int_equal(s->branch[k].from_ip, 0x400003);
			assert_int_equal(s->branch[k].to_ip, 0x400000);
		}
	}
	/* Exponential times of 5000 cycles between bursts: their mean is within four of its standard deviations. */
	burst_cyc = (double)r.core->retire_cyc / 500000 * BURST;
	mean_cyc = (double)r.sample[r.n_samples - 1].cycle / (double)r.n_samples;
	assert_true(fabs(mean_cyc - burst_cyc - 5000) < 4 * 5000 / sqrt((double)r.n_samples));
	free(b);
	rig_stop(&r);
}

/* Two blocks in turns tell that the newest branch comes first, and none is missing. */
static void a_burst_has_its_newest_branch_first(void **state)
{
	const char *const there[] = { "eb0e" }, *const back[] = { "ebee" };
	struct sim_block *a, *b;
	struct rig r;

	(void)state;
	free(prepare_bursts(&r, 3000));
	a = block_at(&r, 0x400000, there, 1);
	b = block_at(&r, 0x400010, back, 1);
	for (unsigned i = 0; i < 100000; i++)
		sim_core_run(r.core, i % 2 ? b : a, 1, i % 2 ? a->ip : b->ip, no_memory);
	assert_true(r.n_samples > 10);
	for (size_t i = 0; i < r.n_samples; i++) {
		const struct sim_sample *s = &r.sample[i];

		for (uint32_t k = 0; k + 1 < s->n_branches; k++)
			assert_int_equal(s->branch[k + 1].to_ip, s->branch[k].from_ip);
		/* It began with the instruction at ip. */
		assert_int_equal(s->branch[s->n_branches - 1].from_ip, s->ip);
	}
	free(a);
	free(b);
	rig_stop(&r);
}

/* Of the longest burst. */
static uint32_t most_branches(const struct rig *r)
{
	uint32_t most = 0;

	for (size_t i = 0; i < r->n_samples; i++)
		most = r->sample[i].n_branches > most ? r->sample[i].n_branches : most;
	return most;
}

static void a_burst_ends_where_it_is_cut(void **state)
{
	struct rig r;
	struct sim_block *b = prepare_bursts(&r, 1);

	(void)state;
	for (unsigned i = 0; i < 1000; i++) {
		sim_core_run(r.core, b, 2, b->ip, no_memory);
		if (i % 10 == 9)
			sim_pmu_cut_burst(&r.core->pmu, r.core->retire_cyc);
	}
	assert_true(r.n_samples > 50);
	assert_in_range(most_branches(&r), 5, 10);
	free(b);
	rig_stop(&r);
}

/* A call behind each branch: the burst ends with the last branch before the one that leads to one call too many. */
static void a_burst_goes_past_so_many_calls(void **state)
{
	struct rig r;
	struct sim_block *b = prepare_bursts(&r, 1);

	(void)state;
	for (unsigned i = 0; i < 10000; i++) {
		sim_core_run(r.core, b, 2, b->ip, no_memory);
		sim_pmu_pass_call(&r.core->pmu, r.core->retire_cyc);
	}
	assert_true(r.n_samples > 50);
	assert_int_equal(most_branches(&r), SIM_BURST_CALLS);
	free(b);
	rig_stop(&r);
}

static void without_a_rate_there_are_no_bursts(void **state)
{
	struct rig r;
	struct sim_block *b = prepare_bursts(&r, 0);

	(void)state;
	for (unsigned i = 0; i < 100000; i++)
		sim_core_run(r.core, b, 2, b->ip, no_memory);
	sim_pmu_cut_burst(&r.core->pmu, r.core->retire_cyc);
	assert_int_equal(r.n_samples, 0);
	free(b);
	rig_stop(&r);
}

/* mulps, vfmadd231sd, sqrtsd, minsd, paddd, movaps, jmp *rax: what each counts for beside its kind. */
static void operations_and_indirect_branches_are_told(void **state)
{
	const char *const insns[] = { "0f59c1",   "c4e2e9b9d9", "f20f51c1", "f20f5dc1",
		                      "660ffec1", "0f28c1",     "ffe0" };
	struct sim_block *b;
	struct rig r;

	(void)state;
	prepare(&r, 30, 97, 89);
	b = block_at(&r, 0x400000, insns, 7);
	for (unsigned i = 0; i < 10; i++)
		sim_core_run(r.core, b, 7, b->ip, no_memory);
	assert_int_equal(r.core->pmu.value[SIM_FP_MUL], 10);
	assert_int_equal(r.core->pmu.value[SIM_FP_FMA], 10);
	assert_int_equal(r.core->pmu.value[SIM_FP_DIV], 10);
	assert_int_equal(r.core->pmu.value[SIM_FP_ADD], 0);
	assert_int_equal(r.core->pmu.value[SIM_FP_VECTOR], 10);
	assert_int_equal(r.core->pmu.value[SIM_FP_SCALAR], 30);
	assert_int_equal(r.core->pmu.value[SIM_SIMD_INT], 20);
	assert_int_equal(r.core->pmu.value[SIM_INDIRECT_BRANCHES], 10);
	free(b);
	rig_stop(&r);
}

/* rep stosb of 1000 bytes: the emulator runs it 1000 times, it retires once. */
static void a_rep_instruction_retires_once(void **state)
{
	const char *const stos[] = { "f3aa" };
	struct sim_block *b;
	struct rig r;

	(void)state;
	prepare(&r, 3, 97, 0);
	b = block_at(&r, 0x400000, stos, 1);
	assert_int_equal(b->is_rep, 1);
	for (unsigned i = 0; i < 1000; i++) {
		const uint64_t mem[] = { SIM_MEM(0x1000 + i, 0, 0, 1), SIM_MEM_END };

		sim_core_run(r.core, b, 1, i < 999 ? b->ip : b->end_ip, mem);
	}
	assert_int_equal(r.core->pmu.value[SIM_INSTRUCTIONS], 1);
	assert_int_equal(r.core->pmu.value[SIM_STORES], 1);
	free(b);
	rig_stop(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_cycles_value_modulo_the_period_is_the_skid),
		cmocka_unit_test(the_ip_is_the_oldest_instruction_not_retired),
		cmocka_unit_test(samples_come_in_the_order_of_time),
		cmocka_unit_test(one_interrupt_serves_all_counters_that_overflowed),
		cmocka_unit_test(sets_take_turns_and_lose_nothing),
		cmocka_unit_test(an_overflow_under_way_hides_the_next),
		cmocka_unit_test(the_skid_follows_the_core_files_histogram),
		cmocka_unit_test(the_same_seed_gives_the_same_samples),
		cmocka_unit_test(branch_records_are_the_last_taken_ones_newest_first),
		cmocka_unit_test(branch_records_tell_cycles_where_the_core_does),
		cmocka_unit_test(totals_are_sums_over_the_instructions),
		cmocka_unit_test(operations_and_indirect_branches_are_told),
		cmocka_unit_test(a_burst_is_of_the_branches_that_follow),
		cmocka_unit_test(a_burst_has_its_newest_branch_first),
		cmocka_unit_test(a_burst_ends_where_it_is_cut),
		cmocka_unit_test(a_burst_goes_past_so_many_calls),
		cmocka_unit_test(without_a_rate_there_are_no_bursts),
		cmocka_unit_test(a_rep_instruction_retires_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
