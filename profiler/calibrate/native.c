/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The processor itself, as long as it is measured. */
#include "profiler/calibrate/native_int.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "profiler/base/err.h"
#include "profiler/calibrate/ticks.h"
#include "profiler/pmu/cpus.h"

static bool read_word(const char *folder, const char *name, char *out, size_t size)
{
	char path[128];
	FILE *f;
	bool ok;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	f = fopen(path, "r");
	if (!f)
		return false;
	ok = fgets(out, (int)size, f) != NULL;
	fclose(f);
	out[strcspn(out, "\n")] = '\0';
	return ok;
}

/* The data cache of a level as the system describes it, 0 when it doesn't. */
static uint32_t cache_kb(unsigned level)
{
	char path[80], type[16] = "", size[16] = "";
	unsigned is = 0;

	for (unsigned i = 0; i < 8; i++) {
		snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu0/cache/index%u", i);
		if (read_word(path, "level", size, sizeof(size)) &&
		    read_word(path, "type", type, sizeof(type)))
			is = (unsigned)atoi(size);
		if (is == level && strcmp(type, "Instruction") != 0 &&
		    read_word(path, "size", size, sizeof(size)))
			return (uint32_t)atoi(size);
	}
	return 0;
}

/* Only where to look; a system that doesn't tell gets the most common sizes. */
static void find_sizes(struct cliff_sizes *s)
{
	s->l1_kb = cache_kb(1) ? cache_kb(1) : 32;
	s->l2_kb = cache_kb(2) ? cache_kb(2) : 1024;
	s->l3_kb = cache_kb(3) ? cache_kb(3) : 32768;
}

static void pin(struct cliff_native *n)
{
	int cpu = sched_getcpu();

	if (cpu < 0 || sched_getaffinity(0, sizeof(n->cpus_before), &n->cpus_before) < 0)
		return;
	n->is_pinned = cpus_pin(0, cpu);
}

int cliff_native_open(struct cliff_native **out)
{
	struct cliff_native *n;
	int err;

	if (!ticks_exist())
		return sp_fail(
		        SP_ENOTSUP,
		        "there are no cliffs for this processor's instruction set yet: only for x86-64");
	n = calloc(1, sizeof(*n));
	if (!n)
		return sp_fail(SP_ENOMEM, "out of memory");
	find_sizes(&n->sizes);
	n->counter = -1;
	pin(n);
	if ((err = cliff_arena_open(&n->arena, n->sizes.l3_kb)) < 0 ||
	    (err = native_code_open(&n->code)) < 0 || (err = native_clock_start(n)) < 0 ||
	    (err = native_look_start(n)) < 0) {
		cliff_native_close(n);
		return err;
	}
	native_counter_open(n);
	*out = n;
	return 0;
}

void cliff_native_close(struct cliff_native *n)
{
	if (!n)
		return;
	if (n->clock.code)
		munmap(n->clock.code, CLIFF_CODE_BYTES);
	if (n->code.code)
		munmap(n->code.code, CLIFF_CODE_BYTES);
	if (n->window[0].code)
		munmap(n->window[0].code, CLIFF_CODE_BYTES);
	if (n->counter >= 0)
		close(n->counter);
	cliff_arena_close(&n->arena);
	if (n->is_pinned)
		sched_setaffinity(0, sizeof(n->cpus_before), &n->cpus_before);
	free(n);
}

struct cliff_arena *cliff_native_arena(struct cliff_native *n)
{
	return &n->arena;
}

void cliff_native_sizes(const struct cliff_native *n, struct cliff_sizes *out)
{
	*out = n->sizes;
}

const char *cliff_native_no_pmu(const struct cliff_native *n)
{
	return n->counter < 0 ? n->no_pmu : NULL;
}

double cliff_native_core_ghz(const struct cliff_native *n)
{
	return n->core_ghz;
}

double cliff_native_tsc_ghz(const struct cliff_native *n)
{
	return n->tsc_ghz;
}
