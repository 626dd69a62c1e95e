/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Native code of blocks against core.c, which says what it is to do: one core runs it, another one does not. */
#include "tests/unit/sim_fixture.h"

#include "profiler/sim/native.h"

enum { N_BLOCKS = 60, MOST_INSNS = 24, MOST_MEM = 4 * MOST_INSNS, N_RUNS = 20000 };

/* One of everything that native code treats in its own way, or leaves to core.c. */
static const char *const insns[] = {
	"90",           /* nop */
	"4801c0",       /* add rax, rax */
	"4801d8",       /* add rax, rbx */
	"480fafc1",     /* imul rax, rcx */
	"48f7e1",       /* mul rcx: three results */
	"48f7f1",       /* div rcx: a unit that is not pipelined */
	"31c0",         /* xor eax, eax: waits for nothing */
	"4889c1",       /* mov rcx, rax: renamed */
	"480f44c1",     /* cmove rax, rcx */
	"4811d8",       /* adc rax, rbx */
	"488d0448",     /* lea rax, [rax + 2 * rcx] */
	"488b00",       /* mov rax, [rax] */
	"488b04cb",     /* mov rax, [rbx + 8 * rcx] */
	"480300",       /* add rax, [rax] */
	"f20f1000",     /* movsd xmm0, [rax] */
	"f20f5800",     /* addsd xmm0, [rax] */
	"f20f5ec1",     /* divsd xmm0, xmm1 */
	"f20f5e00",     /* divsd xmm0, [rax]: the unit, and memory */
	"660f70c800",   /* pshufd xmm1, xmm0, 0 */
	"c4e2f1b8c2",   /* vfmadd231pd xmm0, xmm1, xmm2 */
	"488903",       /* mov [rbx], rax */
	"48014308",     /* add [rbx + 8], rax */
	"f20f1103",     /* movsd [rbx], xmm0 */
	"50",           /* push rax */
	"58",           /* pop rax */
	"ff30",         /* push [rax] */
	"480fb10b",     /* cmpxchg [rbx], rcx */
	"f0480fc103",   /* lock xadd [rbx], rax */
	"48f731",       /* div [rcx] */
	"c4e2f9920448", /* vgatherdpd: many accesses */
	"0fa2",         /* cpuid: slow */
};

/* The last one of most blocks. */
static const char *const ends[] = { "4839c8", "7400", "eb00", "c3", "e800000000", "ffe0", "f348a5" };

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static uint64_t rng;

static uint64_t draw(uint64_t n)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return (rng >> 11) % n;
}

static struct sim_block *random_block(struct rig *r, uint64_t ip)
{
	size_t n = 1 + draw(MOST_INSNS - 2);
	const char *all[MOST_INSNS];

	for (size_t i = 0; i < n; i++)
		all[i] = insns[draw(COUNT(insns))];
	all[n++] = ends[draw(COUNT(ends))];
	/* A compare before the branch may be one with it. */
	if (n > 1 && !strcmp(all[n - 1], "7400"))
		all[n - 2] = draw(2) ? "4839c8" : "483b00";
	return block_at(r, ip, all, n);
}

/* Near each other, on one line or page, or all over: words meet stores, lines are there, on their way or not. */
static uint64_t random_address(void)
{
	static const uint64_t reach[] = { 64, 4096, 1 << 16, 1 << 24 };

	return (1 << 28) + draw(reach[draw(COUNT(reach))]);
}

/* What the block accesses in one run, and sometimes what nobody expects. */
static void random_accesses(const struct sim_block *b, uint64_t *mem)
{
	size_t n = 0;

	for (uint32_t i = 0; i < b->n_insn; i++) {
		unsigned flags = draw(50) ? b->insn[i].flags : SIM_F_MEM;
		size_t loads = flags & SIM_F_LOAD ? draw(20) ? 1 : draw(3) : 0;
		size_t stores = flags & SIM_F_STORE ? draw(20) ? 1 : draw(3) : 0;

		for (; loads > 0; loads--)
			mem[n++] = SIM_MEM(random_address(), i, draw(5), 0);
		for (; stores > 0; stores--)
			mem[n++] = SIM_MEM(random_address(), i, draw(5), 1);
	}
	mem[n] = SIM_MEM_END;
}

#define SAME(field) assert_memory_equal(&a->field, &b->field, sizeof(a->field))

static void compare(const struct sim_core *a, const struct sim_core *b)
{
	assert_int_equal(a->seq, b->seq);
	assert_int_equal(a->fetch_cyc, b->fetch_cyc);
	assert_int_equal(a->dispatch_cyc, b->dispatch_cyc);
	assert_int_equal(a->dispatch_n, b->dispatch_n);
	assert_int_equal(a->retire_cyc, b->retire_cyc);
	assert_int_equal(a->drain_cyc, b->drain_cyc);
	assert_int_equal(a->n_missed, b->n_missed);
	assert_memory_equal(a->missed, b->missed, a->n_missed * sizeof(a->missed[0]));
	/* But for what is never read. */
	_Static_assert(SIM_R_SINK == SIM_N_REGS - 1, "the last one");
	assert_memory_equal(a->reg, b->reg, SIM_R_SINK * sizeof(a->reg[0]));
	SAME(place);
}

/* What is slow to compare. */
static void compare_all(const struct sim_core *a, const struct sim_core *b)
{
	compare(a, b);
	SAME(retire);
	/* Nobody waits for a place where there is no pool. */
	for (unsigned pool = SIM_POOL_INT; pool < SIM_N_POOLS; pool++)
		SAME(freed[pool]);
	SAME(port);
	SAME(unit_free);
	SAME(forward);
	SAME(pmu.value);
	SAME(memory.stream);
	SAME(memory.dram);
	SAME(memory.miss);
	assert_memory_equal(a->memory.newest, b->memory.newest,
	                    a->memory.l1.n_sets * sizeof(a->memory.newest[0]));
	assert_memory_equal(a->memory.older.set, b->memory.older.set,
	                    a->memory.l1.n_sets * a->memory.older.set_bytes);
}

static void run_both(struct rig *plain, struct rig *own, struct sim_block *const *block)
{
	uint64_t mem[MOST_MEM + 1];

	for (unsigned k = 0; k < N_RUNS; k++) {
		struct sim_block *b = block[draw(4) ? draw(N_BLOCKS) : k / 1000 % N_BLOCKS];
		uint32_t n = draw(100) ? b->n_insn : (uint32_t)draw(b->n_insn + 1u);
		uint64_t next = draw(2) ? b->end_ip : b->ip;

		random_accesses(b, mem);
		sim_core_run(plain->core, b, n, next, mem);
		sim_core_run(own->core, b, n, next, mem);
		compare(plain->core, own->core);
	}
	compare_all(plain->core, own->core);
}

/* A core file with changes, and whether its blocks have native code. */
static bool times_match(const char *core, void change(struct sim_config *c))
{
	struct sim_block *block[N_BLOCKS];
	struct sim_native *native;
	struct rig plain, own;
	bool made = true;

	rng = 88172645463325252;
	rig_prepare(&plain, core);
	rig_prepare(&own, core);
	if (change) {
		change(&plain.config);
		change(&own.config);
	}
	rig_start(&plain);
	rig_start(&own);
	plain.core->takes_native = false;
	native = sim_native_new(&own.config);
	for (unsigned i = 0; i < N_BLOCKS; i++) {
		block[i] = random_block(&own, 0x400000 + 0x1000 * i);
		sim_native_make(native, block[i]);
		made &= block[i]->native != NULL;
	}
	run_both(&plain, &own, block);
	for (unsigned i = 0; i < N_BLOCKS; i++)
		free(block[i]);
	sim_native_free(native);
	rig_stop(&plain);
	rig_stop(&own);
	return made;
}

/* Does this host run such code? */
static bool is_made_here(void)
{
	struct sim_config c;

	read_core("zen5", &c);
	return sim_core_takes_native(&c);
}

static void native_code_times_as_the_core_does(void **state)
{
	(void)state;
	assert_int_equal(times_match("zen5", NULL), is_made_here());
	assert_int_equal(times_match("skylake", NULL), is_made_here());
}

static void fusing(struct sim_config *c)
{
	c->fuse_branches = 1;
}

static void fused_pairs_take_one_place(void **state)
{
	(void)state;
	assert_int_equal(times_match("skylake", fusing), is_made_here());
}

static void little_room(struct sim_config *c)
{
	c->rob = 24;
	c->int_regs = 16;
	c->fp_regs = 10;
	c->load_queue = 6;
	c->store_queue = 4;
	c->flag_regs = 8;
	c->dispatch_width = 3;
	c->retire_width = 2;
}

static void little_room_fusing(struct sim_config *c)
{
	little_room(c);
	fusing(c);
}

static void instructions_wait_for_room(void **state)
{
	(void)state;
	assert_int_equal(times_match("zen5", little_room), is_made_here());
	assert_int_equal(times_match("skylake", little_room_fusing), is_made_here());
}

static void one_way(struct sim_config *c)
{
	c->l1.ways = 1;
}

static void odd_sets(struct sim_config *c)
{
	c->l1.ways = 7;
	c->l1.kb = 42;
}

static void short_lines(struct sim_config *c)
{
	c->line_bytes = 32;
}

static void caches_may_have_any_form(void **state)
{
	(void)state;
	assert_int_equal(times_match("zen5", one_way), is_made_here());
	assert_int_equal(times_match("zen5", odd_sets), is_made_here());
	assert_int_equal(times_match("zen5", short_lines), is_made_here());
}

static void long_shares(struct sim_config *c)
{
	c->dispatch_width = 1;
	c->cls[SIM_C_ALU].slots_milli = 2500;
}

static void what_native_code_does_not_know_the_core_runs(void **state)
{
	(void)state;
	assert_false(times_match("zen5", long_shares));
	assert_false(times_match("turin", NULL));
}

static void where_there_is_no_room_for_code_the_core_runs(void **state)
{
	const char *const add[] = { "4801c0" }, *const to_memory[] = { "48014308" };
	struct sim_native *native;
	struct sim_block *b, *long_one;
	unsigned n = 0;
	struct rig r;

	(void)state;
	rig_prepare(&r, "zen5");
	rig_start(&r);
	native = sim_native_new(&r.config);
	b = block_of(&r, add, 1, 500);
	/* Nothing needs more code than one that loads, computes and stores. */
	long_one = block_of(&r, to_memory, 1, SIM_WINDOW - 1);
	do {
		long_one->native = NULL;
		sim_native_make(native, long_one);
	} while (long_one->native && ++n < 100000);
	assert_int_equal(n > 0, is_made_here());
	/* What is left may do for the short one, a few times. */
	do {
		b->native = NULL;
		sim_native_make(native, b);
	} while (b->native && ++n < 100000);
	assert_null(b->native);
	assert_int_equal((int)cycles_each(&r, b, 20), 500);
	free(b);
	free(long_one);
	sim_native_free(native);
	rig_stop(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(native_code_times_as_the_core_does),
		cmocka_unit_test(fused_pairs_take_one_place),
		cmocka_unit_test(instructions_wait_for_room),
		cmocka_unit_test(caches_may_have_any_form),
		cmocka_unit_test(what_native_code_does_not_know_the_core_runs),
		cmocka_unit_test(where_there_is_no_room_for_code_the_core_runs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
