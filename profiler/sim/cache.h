/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_SIM_CACHE_H
#define SKIDPROF_SIM_CACHE_H

/*
 * Three levels of cache, the memory behind them and a stream prefetcher.
 * Lines carry the cycle at which they arrive, so that a second access to a
 * line on its way waits for it instead of hitting.
 *
 * Time may go back between calls: an out-of-order core asks for an early
 * cycle after a late one.  What has a limited rate (memory, miss registers)
 * is therefore booked in calendars, not with a "next free" cycle.
 *
 * Addresses are translated when the first level misses: a page that is in
 * neither table of translations costs a walk.  That hits need their page as
 * well is left out: it would be looked up for every access to find next to nothing.
 */
#include <stdbool.h>
#include <stdint.h>

#include "profiler/sim/config.h"

struct sim_line {
	uint64_t tag;   /* line number + 1; 0 = empty */
	uint64_t ready; /* cycle << 1 | brought by the prefetcher and not used yet */
};

struct sim_cache {
	uint64_t n_sets, mask; /* mask: n_sets - 1, or 0 when that is no power of two */
	uint32_t ways, latency_cyc;
};

/*
 * Lines of all sets of a cache.  Each stays in its way, of a set all ways are compared at once, and the order in which they
 * were used is a row of their numbers: how long it takes to find a line and to make it the newest does not depend on where
 * it is, which the host could not foretell.  Line numbers + 1 have no more than 48 bits (see SIM_MEM); of a set stand one
 * behind the other their lower 32 bits, the upper 16, the order, newest first, and where they are kept the arrivals.
 */
struct sim_lines {
	uint8_t *set;
	uint32_t ways, room, set_bytes; /* room: ways, rounded up for vectors */
};

/* A table of translations: [n_sets][ways] pages + 1, newest first; ways 0 = translation is free. */
struct sim_tlb {
	struct sim_cache form;
	uint64_t *page;
};

enum { SIM_N_STREAMS = 16, SIM_CALENDAR = 4096 };

struct sim_stream {
	uint64_t page, last_line;
	int32_t step;
	uint32_t hits;
};

struct sim_memory {
	struct sim_cache l1, l2, l3;
	struct sim_lines older; /* of the first level, but for the two newest of each set */
	struct sim_lines second, third;
	struct sim_tlb tlb, tlb2;
	uint32_t page_shift, tlb2_cyc, walk_cyc;
	uint32_t line_shift, page_lines_shift, dram_cyc, dram_gap_cyc, mshrs, prefetch_lines;
	struct sim_line (
	        *newest)[2]; /* of each set of the first level; of one way, the second one is empty */
	/* The same for sim_memory_near; where the number of sets is no power of two, an empty one. */
	const struct sim_line (*near)[2];
	uint64_t near_mask;
	uint32_t stream_next;
	struct sim_stream *stream_last; /* found */
	struct sim_stream stream[SIM_N_STREAMS];
	uint64_t dram[SIM_CALENDAR]; /* slot number + 1: taken */
	uint64_t miss[SIM_CALENDAR]; /* (bucket number + 1) << 16 | misses under way */
};

/* How deep an access had to go: the misses it counts. */
enum sim_level { SIM_IN_L1, SIM_IN_L2, SIM_IN_L3, SIM_IN_DRAM };

/* -SP_ENOMEM. */
int sim_memory_init(struct sim_memory *m, const struct sim_config *config);
void sim_memory_fini(struct sim_memory *m);

/* Put the line of an address into all caches, at no cost in cycles; it becomes their newest. */
void sim_memory_warm(struct sim_memory *m, uint64_t vaddr);

/* Ask the host for what a miss of that address would look at, some time before the access. */
void sim_memory_expect(const struct sim_memory *m, uint64_t vaddr);

/* Slow path of sim_memory_access: everything but an old line at the front of its set. */
uint64_t sim_memory_lookup(struct sim_memory *m, uint64_t line, uint64_t now_cyc, enum sim_level *level);

/* Where the line is if it is one of the two newest of its set. */
static inline const struct sim_line *sim_memory_near(const struct sim_memory *m, uint64_t line)
{
	const struct sim_line *set = m->near[line & m->near_mask];

	return set->tag == line + 1 ? set : set + 1;
}

/*
 * Access the line of an address at a cycle.
 *
 * level  out.
 * Returns the cycle at which the data is there.
 */
static inline uint64_t sim_memory_access(struct sim_memory *m, uint64_t vaddr, uint64_t now_cyc,
                                         enum sim_level *level)
{
	uint64_t line = vaddr >> m->line_shift;
	const struct sim_line *l = sim_memory_near(m, line);

	/*
	 * The order of the two is not worth the time to keep it.  Turned by a bit, what the prefetcher brought and
	 * was not used yet is far in the future.
	 */
	if (l->tag == line + 1 && (l->ready >> 1 | l->ready << 63) <= now_cyc) {
		*level = SIM_IN_L1;
		return now_cyc + m->l1.latency_cyc;
	}
	return sim_memory_lookup(m, line, now_cyc, level);
}

#endif
