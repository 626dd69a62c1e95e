/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where an interrupt finds the program: between instructions, by precise events, in the kernel; and what the branch record shows. */
#include "tests/unit/sim_fixture.h"

enum { LOOP_INSNS = 12 };

/* A core whose delays are all alike. */
static void prepare(struct rig *r, const char *core, uint32_t skid_cyc)
{
	rig_prepare(r, core);
	r->config.n_skid_bins = 1;
	r->config.skid[0] = (struct sim_skid_bin){ skid_cyc, skid_cyc + 1, 1 };
}

static void sample(struct rig *r, uint32_t event, uint64_t period, uint32_t precise)
{
	r->setup.event[r->setup.n_events++] =
	        (struct wire_event){ .event = event, .period = period, .precise = precise };
}

/* sqrtsd xmm0, xmm0, each waits for the one before; ten nops; jmp back.  A turn is as long as the square root. */
static struct sim_block *root_loop(struct rig *r)
{
	const char *const insns[LOOP_INSNS] = { "f20f51c0", "90", "90", "90", "90", "90",
		                                "90",       "90", "90", "90", "90", "ebf0" };

	return block_at(r, 0x400000, insns, LOOP_INSNS);
}

static void run_loop(struct rig *r, const struct sim_block *b, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		sim_core_run(r->core, b, b->n_insn, b->ip, no_memory);
}

/* The share of samples at each instruction of the block. */
static void shares(const struct rig *r, const struct sim_block *b, double *share)
{
	memset(share, 0, b->n_insn * sizeof(*share));
	for (size_t k = 0; k < r->n_samples; k++)
		for (uint32_t i = 0; i < b->n_insn; i++)
			if (r->sample[k].ip == b->ip + b->insn[i].ip_off)
				share[i] += 1.0 / (double)r->n_samples;
}

/* Eight retire a cycle: the square root and seven nops in one, the rest in the next.  Of 20 cycles the root waits for 19. */
static void what_is_oldest_retires_first_with_its_group(void **state)
{
	double share[2][LOOP_INSNS];

	(void)state;
	for (unsigned retires = 0; retires < 2; retires++) {
		struct sim_block *b;
		struct rig r;

		prepare(&r, "zen5", 100);
		r.config.interrupt_retires = retires;
		sample(&r, SIM_CYCLES, 1009, 0);
		rig_start(&r);
		b = root_loop(&r);
		run_loop(&r, b, 100000);
		assert_true(r.n_samples > 1500);
		shares(&r, b, share[retires]);
		free(b);
		rig_stop(&r);
	}
	assert_true(share[0][0] > 0.9);
	assert_true(share[1][8] > 0.9);
	/* Nobody else begins a group. */
	assert_float_equal(share[1][8] + share[1][0], 1, 1e-9);
}

/* The counters of a sample are those of the place that it shows, and no earlier than S after the overflow. */
static void counters_are_read_where_the_interrupt_was_taken(void **state)
{
	struct sim_block *b;
	struct rig r;

	(void)state;
	prepare(&r, "zen5", 100);
	r.config.interrupt_retires = 1;
	sample(&r, SIM_CYCLES, 1009, 0);
	sample(&r, SIM_INSTRUCTIONS, 0, 0);
	rig_start(&r);
	b = root_loop(&r);
	run_loop(&r, b, 100000);
	for (size_t k = 0; k < r.n_samples; k++) {
		const struct sim_sample *s = &r.sample[k];

		assert_int_equal(s->ip, b->ip + b->insn[s->value[1] % LOOP_INSNS].ip_off);
		assert_in_range(s->value[0] % 1009, 100, 121);
	}
	free(b);
	rig_stop(&r);
}

/* sqrtsd; cmp; jne back, the last two one instruction: no interrupt comes between them. */
static void a_fused_pair_is_shown_by_its_first_half(void **state)
{
	const char *const insns[] = {
		"f20f51c0", "90", "90", "90", "90", "90", "90", "90", "4839d8", "75ed"
	};
	double share[10];

	(void)state;
	for (unsigned retires = 0; retires < 2; retires++) {
		struct sim_block *b;
		struct rig r;

		prepare(&r, "turin", 100);
		r.config.interrupt_retires = retires;
		sample(&r, SIM_CYCLES, 1009, 0);
		rig_start(&r);
		b = block_at(&r, 0x400000, insns, 10);
		assert_true(b->insn[8].flags & SIM_F_FUSED);
		run_loop(&r, b, 100000);
		shares(&r, b, share);
		assert_float_equal(share[9], 0, 1e-9);
		assert_true(share[retires ? 8 : 0] > 0.9);
		free(b);
		rig_stop(&r);
	}
}

/* One machine and program: medians of S were 382 to 458 cycles at a period of 1 million, 439 to 511 at 5, 533 to 630 at 10. */
static void delays_are_longer_at_longer_periods(void **state)
{
	enum { N = 100001 };
	static const struct {
		uint64_t period;
		double from, to;
	} seen[] = {
		{ 10007, 370, 390 }, { 1000000, 382, 458 }, { 5000000, 439, 511 }, { 10000000, 533, 630 }
	};
	struct sim_config config;

	(void)state;
	read_core("skylake", &config);
	for (size_t k = 0; k < 4; k++) {
		uint32_t below_from = 0, below_to = 0, sharp = 0;
		uint64_t rng = k;

		for (int i = 0; i < N; i++) {
			uint64_t s = sim_pmu_skid(&config, seen[k].period, &rng);

			below_from += (double)s < seen[k].from;
			below_to += (double)s < seen[k].to;
			sharp += s < 340;
		}
		assert_true(below_from < N / 2);
		assert_true(below_to > N / 2);
		/* What lies below 340 cycles stays: 8621 of 21,937. */
		assert_float_equal((double)sharp / N, 8621.0 / 21937, 0.008);
	}
}

/* call over a jump and a conditional branch to a ret, and back. */
struct program {
	struct sim_block *call, *jump, *cond, *ret, *back;
};

static void build_program(struct rig *r, struct program *p)
{
	const char *const call[] = { "e8fb0f0000" }, *const jump[] = { "e9fb0f0000" },
	                  *const cond[] = { "0f85fa0f0000" }, *const ret[] = { "c3" },
	                  *const back[] = { "ebf9" };

	p->call = block_at(r, 0x400000, call, 1);
	p->back = block_at(r, 0x400005, back, 1);
	p->jump = block_at(r, 0x401000, jump, 1);
	p->cond = block_at(r, 0x402000, cond, 1);
	p->ret = block_at(r, 0x403000, ret, 1);
}

static void run_program(struct rig *r, const struct program *p, unsigned n)
{
	const uint64_t push[] = { SIM_MEM(0x7000, 0, 3, 1), SIM_MEM_END },
	               pop[] = { SIM_MEM(0x7000, 0, 3, 0), SIM_MEM_END };

	for (unsigned i = 0; i < n; i++) {
		sim_core_run(r->core, p->call, 1, p->jump->ip, push);
		sim_core_run(r->core, p->jump, 1, p->cond->ip, no_memory);
		sim_core_run(r->core, p->cond, 1, p->ret->ip, no_memory);
		sim_core_run(r->core, p->ret, 1, p->back->ip, pop);
		sim_core_run(r->core, p->back, 1, p->call->ip, no_memory);
	}
}

static void free_program(struct program *p)
{
	free(p->call);
	free(p->back);
	free(p->jump);
	free(p->cond);
	free(p->ret);
}

static void start_program(struct rig *r, struct program *p, uint32_t filter)
{
	r->setup.n_branches = 16;
	r->setup.branch_filter = filter;
	sample(r, SIM_CYCLES, 1009, 0);
	rig_start(r);
	build_program(r, p);
	run_program(r, p, 50000);
	assert_true(r->n_samples > 50);
}

static void a_branch_record_takes_what_its_filter_says(void **state)
{
	static const struct {
		uint32_t filter;
		uint64_t from[3];
	} seen[] = { { WIRE_ONLY_COND, { 0x402000 } },
		     { WIRE_ONLY_RETURN, { 0x403000 } },
		     { WIRE_ONLY_CALL | WIRE_ONLY_INDIRECT_CALL, { 0x400000 } },
		     { WIRE_ONLY_JUMP, { 0x401000, 0x400005 } },
		     { WIRE_ONLY_CALL | WIRE_ONLY_RETURN, { 0x400000, 0x403000 } } };

	(void)state;
	for (size_t k = 0; k < sizeof(seen) / sizeof(seen[0]); k++) {
		struct program p;
		struct rig r;

		prepare(&r, "zen5", 100);
		start_program(&r, &p, seen[k].filter);
		for (size_t i = 1; i < r.n_samples; i++) {
			assert_int_equal(r.sample[i].n_branches, 16);
			for (uint32_t b = 0; b < 16; b++)
				assert_true(r.sample[i].branch[b].from_ip == seen[k].from[0] ||
				            r.sample[i].branch[b].from_ip == seen[k].from[1]);
		}
		free_program(&p);
		rig_stop(&r);
	}
}

static void a_call_stack_holds_the_calls_that_have_not_returned(void **state)
{
	size_t inside = 0, outside = 0;
	struct program p;
	struct rig r;

	(void)state;
	prepare(&r, "skylake", 100);
	start_program(&r, &p, WIRE_CALL_STACK);
	for (size_t i = 0; i < r.n_samples; i++) {
		const struct sim_sample *s = &r.sample[i];
		bool in_call = s->ip >= 0x401000;

		inside += in_call;
		outside += !in_call;
		assert_int_equal(s->n_branches, in_call);
		if (in_call) {
			assert_int_equal(s->branch[0].from_ip, 0x400000);
			assert_int_equal(s->branch[0].cycles, 0);
		}
	}
	assert_true(inside > 10 && outside > 10);
	free_program(&p);
	rig_stop(&r);
}

/* A ring of five branches: where one is missing, the newest does not come from where the one before led. */
static void the_branch_before_the_newest_is_missing_as_often_as_the_core_says(void **state)
{
	size_t missing = 0;
	struct program p;
	struct rig r;

	(void)state;
	prepare(&r, "skylake", 100);
	r.config.branch_gap_percent = 25;
	r.config.branch_freeze_cyc = 0;
	r.setup.seed = 3;
	r.setup.n_branches = 16;
	sample(&r, SIM_CYCLES, 211, 0);
	rig_start(&r);
	build_program(&r, &p);
	run_program(&r, &p, 100000);
	for (size_t i = 1; i < r.n_samples; i++) {
		const struct sim_sample *s = &r.sample[i];

		assert_int_equal(s->n_branches, 16);
		missing += s->branch[0].from_ip != s->branch[1].to_ip;
		for (uint32_t b = 1; b + 1 < 16; b++)
			assert_int_equal(s->branch[b].from_ip, s->branch[b + 1].to_ip);
	}
	/* Standard deviation of the share of some 4000: 0.7%. */
	assert_true(r.n_samples > 4000);
	assert_float_equal((double)missing / (double)r.n_samples, 0.25, 0.03);
	free_program(&p);
	rig_stop(&r);
}

static void branches_just_before_the_interrupt_are_not_recorded_where_the_record_stands(void **state)
{
	(void)state;
	for (unsigned freeze = 0; freeze < 3; freeze++) {
		struct program p;
		struct rig r;
		size_t led = 0;

		prepare(&r, "skylake", 100);
		r.config.branch_gap_percent = 0;
		r.config.branch_freeze_cyc = freeze == 1 ? 1000 : 0;
		r.config.branch_freeze_overflow = freeze == 2;
		start_program(&r, &p, 0);
		for (size_t i = 1; i < r.n_samples; i++)
			led += r.sample[i].n_branches && r.sample[i].branch[0].to_ip == r.sample[i].ip;
		if (freeze)
			assert_true(led < r.n_samples * 0.5);
		else
			assert_int_equal(led, r.n_samples - 1);
		free_program(&p);
		rig_stop(&r);
	}
}

/* Cycles are sampled on the root that keeps the others waiting: that is what retires next; or on what is behind it. */
static void a_precise_sample_shows_what_retires_next(void **state)
{
	double share[LOOP_INSNS];

	(void)state;
	for (uint32_t precise = 1; precise <= 2; precise++) {
		struct sim_block *b;
		struct rig r;

		prepare(&r, "skylake", 100);
		r.config.precise_max = 3;
		r.config.precise_shadow_cyc = 3;
		sample(&r, SIM_CYCLES, 1009, precise);
		sample(&r, SIM_INSTRUCTIONS, 0, 0);
		rig_start(&r);
		b = root_loop(&r);
		run_loop(&r, b, 100000);
		shares(&r, b, share);
		assert_true(share[precise == 1] > 0.75);
		/* The counters are the interrupt's, S after what was caught. */
		for (size_t k = 0; k < r.n_samples; k++)
			assert_true(r.sample[k].value[0] % 1009 >= 100);
		free(b);
		rig_stop(&r);
	}
}

/* Of instructions, the most precise samples are of the very one that made the counter overflow: all have their turn. */
static void the_most_precise_sample_shows_the_very_instruction(void **state)
{
	double share[LOOP_INSNS];
	struct sim_block *b;
	struct rig r;

	(void)state;
	prepare(&r, "skylake", 100);
	sample(&r, SIM_INSTRUCTIONS, 1009, 3);
	rig_start(&r);
	b = root_loop(&r);
	run_loop(&r, b, 100000);
	assert_true(r.n_samples > 1000);
	for (size_t k = 0; k < r.n_samples; k++)
		assert_int_equal(r.sample[k].ip, b->ip + b->insn[((k + 1) * 1009 - 1) % LOOP_INSNS].ip_off);
	shares(&r, b, share);
	for (unsigned i = 0; i < LOOP_INSNS; i++)
		assert_float_equal(share[i], 1.0 / LOOP_INSNS, 0.01);
	free(b);
	rig_stop(&r);
}

/* With a shadow, what lies in it is never caught: the nops that retire with the root, 1 to 3 cycles behind an overflow. */
static void the_shadow_falls_on_what_retires_soon_after(void **state)
{
	double share[LOOP_INSNS];
	struct sim_block *b;
	struct rig r;

	(void)state;
	prepare(&r, "skylake", 100);
	r.config.precise_shadow_cyc = 5;
	sample(&r, SIM_INSTRUCTIONS, 1009, 2);
	rig_start(&r);
	b = root_loop(&r);
	run_loop(&r, b, 100000);
	shares(&r, b, share);
	assert_true(share[0] > 0.99);
	free(b);
	rig_stop(&r);
}

/* IBS: cycles tag what is dispatched, which the reorder buffer lets in where the oldest leaves; ops tag the very one. */
static void ibs_tags_what_is_dispatched(void **state)
{
	double cycles[LOOP_INSNS] = { 0 }, ops[LOOP_INSNS] = { 0 };

	(void)state;
	for (unsigned by_ops = 0; by_ops < 2; by_ops++) {
		struct sim_block *b;
		struct rig r;

		prepare(&r, "zen5", 100);
		r.config.precise_max = 2;
		r.config.precise_by_dispatch = 1;
		sample(&r, by_ops ? SIM_INSTRUCTIONS : SIM_CYCLES, 1009, 1);
		rig_start(&r);
		b = root_loop(&r);
		run_loop(&r, b, 100000);
		assert_true(r.n_samples > 1000);
		shares(&r, b, by_ops ? ops : cycles);
		free(b);
		rig_stop(&r);
	}
	for (unsigned i = 0; i < LOOP_INSNS; i++)
		assert_float_equal(ops[i], 1.0 / LOOP_INSNS, 0.01);
	/* Where time goes by retirement there would be 90% on the root. */
	assert_true(cycles[0] < 0.5);
}

/* 1000 cycles and 500 instructions a call. */
static void prepare_kernel(struct rig *r, bool counts)
{
	prepare(r, "zen5", 100);
	r->config.syscall_cyc = 1000;
	r->config.syscall_insns = 500;
	sample(r, SIM_CYCLES, 1009, 0);
	sample(r, SIM_INSTRUCTIONS, 0, 0);
	r->setup.event[0].kernel = r->setup.event[1].kernel = counts;
	rig_start(r);
}

static void the_kernels_time_counts_for_those_that_ask_for_it(void **state)
{
	(void)state;
	for (unsigned counts = 0; counts < 2; counts++) {
		struct sim_block *b;
		size_t inside = 0;
		struct rig r;

		prepare_kernel(&r, counts);
		b = root_loop(&r);
		for (unsigned i = 0; i < 1000; i++) {
			run_loop(&r, b, 50);
			sim_core_kernel(r.core, 7);
		}
		r.core->pmu.value[SIM_CYCLES] = r.core->retire_cyc - r.core->pmu.cycle0;
		assert_int_equal(sim_pmu_value(&r.core->pmu, 1),
		                 1000 * 50 * LOOP_INSNS + counts * 1000 * 500);
		/* A turn of the loop is 20 cycles, and one begins anew after each call. */
		assert_float_equal((double)sim_pmu_value(&r.core->pmu, 0), 1000 * 50 * 20 + counts * 1e6,
		                   5e4);
		for (size_t k = 0; k < r.n_samples; k++)
			if (r.sample[k].ip >= WIRE_KERNEL_IP) {
				inside++;
				assert_int_equal((r.sample[k].ip - WIRE_KERNEL_IP) / WIRE_KERNEL_CALL_BYTES,
				                 7);
			}
		/* Half of the time is the kernel's; else an interrupt is there by chance, 100 cycles of each 1000. */
		if (counts)
			assert_in_range(inside, r.n_samples * 45 / 100, r.n_samples * 55 / 100);
		else
			assert_in_range(inside, r.n_samples * 5 / 100, r.n_samples * 15 / 100);
		free(b);
		rig_stop(&r);
	}
}

/* The event stands still from the 5th sample of a tick to the tick's end: 4 ms are 18 million cycles. */
static struct {
	size_t on, off;
} throttled;

static void note_throttle(void *user, uint32_t event, bool on, uint64_t cycle)
{
	(void)user;
	(void)cycle;
	assert_int_equal(event, 0);
	throttled.on += on;
	throttled.off += !on;
}

static void an_event_that_comes_too_often_stands_still_until_the_tick(void **state)
{
	struct sim_block *b;
	struct rig r;

	(void)state;
	throttled.on = throttled.off = 0;
	prepare(&r, "zen5", 100);
	r.config.freq_ghz = 0.01; /* a tick of 40,000 cycles */
	sample(&r, SIM_CYCLES, 1009, 0);
	r.setup.max_rate_hz = 4 * 250;
	r.setup.throttle = note_throttle;
	rig_start(&r);
	b = root_loop(&r);
	run_loop(&r, b, 20000); /* 400,000 cycles */
	assert_in_range(throttled.on, 9, 11);
	assert_in_range(throttled.off, throttled.on - 1, throttled.on);
	assert_int_equal(r.n_samples, throttled.on * 5);
	/* What it has counted are five periods of each tick. */
	assert_in_range(sim_pmu_value(&r.core->pmu, 0), throttled.on * 5 * 1009,
	                throttled.on * 5 * 1009 + 1000);
	free(b);
	rig_stop(&r);
}

/* From a period of 1 to the one that gives the rate, as Linux does. */
static void a_rate_is_come_to(void **state)
{
	double late = 0;
	struct sim_block *b;
	struct rig r;

	(void)state;
	prepare(&r, "zen5", 100);
	sample(&r, SIM_CYCLES, 0, 0);
	r.setup.event[0].rate_hz = 450000; /* of 4.5 GHz: every 10,000 cycles */
	rig_start(&r);
	b = root_loop(&r);
	run_loop(&r, b, 200000);
	assert_true(r.n_samples > 390);
	assert_in_range(r.sample[0].period, 1, 2);
	for (size_t k = 100; k < r.n_samples; k++)
		late += (double)r.sample[k].period / (double)(r.n_samples - 100);
	assert_float_equal(late, 10000, 300);
	free(b);
	rig_stop(&r);
}

/* Three events, two counters: each set begins with another event, and each event is in two of three. */
static void events_of_several_sets_count_in_each(void **state)
{
	uint64_t sum = 0;
	struct sim_block *b;
	struct rig r;

	(void)state;
	prepare(&r, "zen5", 100);
	sample(&r, SIM_CYCLES, 1009, 0);
	sample(&r, SIM_INSTRUCTIONS, 1009, 0);
	sample(&r, SIM_TAKEN_BRANCHES, 101, 0);
	r.setup.n_sets = 3;
	r.setup.no_values = true;
	r.setup.rotate_cyc = 20000;
	for (uint32_t i = 0; i < 3; i++) {
		r.setup.event[i].set = i;
		r.setup.event[i].more_sets = 1u << (i + 2) % 3;
	}
	rig_start(&r);
	b = root_loop(&r);
	run_loop(&r, b, 100000);
	for (size_t k = 0; k < r.n_samples; k++)
		assert_int_equal(r.sample[k].n_values, 0);
	for (uint32_t i = 0; i < 3; i++) {
		static const double all[] = { 2e6, 1.2e6, 1e5 };
		double share = (double)sim_pmu_value(&r.core->pmu, i) / all[i];

		/* 100 turns of 15,000 to 25,000 cycles. */
		assert_float_equal(share, 2.0 / 3, 0.04);
		sum += (uint64_t)(share * 1000);
	}
	assert_in_range(sum, 1980, 2020);
	free(b);
	rig_stop(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_oldest_retires_first_with_its_group),
		cmocka_unit_test(counters_are_read_where_the_interrupt_was_taken),
		cmocka_unit_test(a_fused_pair_is_shown_by_its_first_half),
		cmocka_unit_test(delays_are_longer_at_longer_periods),
		cmocka_unit_test(a_branch_record_takes_what_its_filter_says),
		cmocka_unit_test(a_call_stack_holds_the_calls_that_have_not_returned),
		cmocka_unit_test(the_branch_before_the_newest_is_missing_as_often_as_the_core_says),
		cmocka_unit_test(branches_just_before_the_interrupt_are_not_recorded_where_the_record_stands),
		cmocka_unit_test(a_precise_sample_shows_what_retires_next),
		cmocka_unit_test(the_most_precise_sample_shows_the_very_instruction),
		cmocka_unit_test(the_shadow_falls_on_what_retires_soon_after),
		cmocka_unit_test(ibs_tags_what_is_dispatched),
		cmocka_unit_test(the_kernels_time_counts_for_those_that_ask_for_it),
		cmocka_unit_test(an_event_that_comes_too_often_stands_still_until_the_tick),
		cmocka_unit_test(a_rate_is_come_to),
		cmocka_unit_test(events_of_several_sets_count_in_each),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
