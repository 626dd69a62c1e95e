/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which level has a line, against rows of lines that are searched and moved one by one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "profiler/sim/cache.h"

enum { MOST_WAYS = 64, N_ACCESSES = 20000, SLOWLY = 100000 };

struct row {
	uint64_t line[MOST_WAYS]; /* newest first; 0: none */
	uint32_t ways;
};

static uint64_t seed;

static uint64_t draw(uint64_t n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (seed >> 33) % n;
}

/* True when it was there; it is the newest from now on. */
static bool row_access(struct row *r, uint64_t line)
{
	uint32_t w = 0;
	bool hit;

	while (w < r->ways && r->line[w] != line)
		w++;
	hit = w < r->ways;
	for (w -= !hit; w > 0; w--)
		r->line[w] = r->line[w - 1];
	r->line[0] = line;
	return hit;
}

static enum sim_level row_level(struct row *row, uint64_t line)
{
	if (row_access(&row[0], line))
		return SIM_IN_L1;
	if (row_access(&row[1], line))
		return SIM_IN_L2;
	return row_access(&row[2], line) ? SIM_IN_L3 : SIM_IN_DRAM;
}

/* Three levels of one set each, of four ways a kilobyte; lines that differ only in what does not fit into 32 bits are told apart. */
static void levels_match(uint32_t kb1, uint32_t kb2, uint32_t kb3)
{
	const struct sim_config config = { .line_bytes = 256,
		                           .page_kb = 4,
		                           .l1 = { kb1, 4 * kb1, 4 },
		                           .l2 = { kb2, 4 * kb2, 14 },
		                           .l3 = { kb3, 4 * kb3, 50 },
		                           .dram_cyc = 500,
		                           .mshrs = 8 };
	struct row row[3] = { { .ways = 4 * kb1 }, { .ways = 4 * kb2 }, { .ways = 4 * kb3 } };
	struct sim_memory m;
	enum sim_level level;

	seed = kb1;
	assert_int_equal(sim_memory_init(&m, &config), 0);
	for (uint64_t i = 0; i < N_ACCESSES; i++) {
		uint64_t line = 7 + draw(row[2].ways) + (draw(2) << 34);

		sim_memory_access(&m, line * config.line_bytes, i * SLOWLY, &level);
		assert_int_equal(level, row_level(row, line));
	}
	sim_memory_fini(&m);
}

static void the_line_that_was_not_used_longest_goes(void **state)
{
	(void)state;
	levels_match(1, 2, 4);
	levels_match(3, 4, 5);
	levels_match(4, 5, 12);
	levels_match(9, 11, 16);
}

/* Sets that are found by a mask: of these the two newest lines are looked at first. */
static void sets_are_independent(void **state)
{
	const uint32_t ways[] = { 1, 2, 3, 12 };
	enum { SETS = 4 };

	(void)state;
	for (size_t k = 0; k < sizeof(ways) / sizeof(ways[0]); k++) {
		const struct sim_config config = { .line_bytes = 256,
			                           .page_kb = 4,
			                           .l1 = { ways[k], ways[k], 4 },
			                           .l2 = { 1 << 10, 16, 14 },
			                           .l3 = { 1 << 12, 16, 50 },
			                           .dram_cyc = 500,
			                           .mshrs = 8 };
		struct sim_memory m;
		enum sim_level level;

		assert_int_equal(sim_memory_init(&m, &config), 0);
		assert_int_equal(m.l1.n_sets, SETS);
		/* As many lines of a set as it has ways stay, one more than that pushes each out before its turn. */
		for (uint64_t more = 0; more < 2; more++)
			for (uint64_t i = 0; i < 4 * SETS * (ways[k] + more); i++) {
				uint64_t line = (1 + more) * 4096 + i % (SETS * (ways[k] + more));

				sim_memory_access(&m, line * config.line_bytes, (more * 10000 + i) * SLOWLY,
				                  &level);
				if (i >= SETS * (ways[k] + more))
					assert_int_equal(level, more ? SIM_IN_L2 : SIM_IN_L1);
			}
		sim_memory_fini(&m);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_line_that_was_not_used_longest_goes),
		cmocka_unit_test(sets_are_independent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
