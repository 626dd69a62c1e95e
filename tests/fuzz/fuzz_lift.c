/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What lift reads, by the first byte: 'd' a description file and, after a
 * line "---", the output of its program; 'm' llvm-mca's output; 'c' a
 * prediction kept on disk.
 */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "report/lift/cache.h"
#include "report/lift/descr.h"
#include "report/lift/mca.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(double cyc)
{
	if (!(cyc > 0) || !isfinite(cyc))
		abort();
}

static void try_descr(const char *text, size_t n)
{
	static const char fence[] = "\n---\n";
	const char *cut = strstr(text, fence), *why;
	size_t n_descr = cut ? (size_t)(cut + 1 - text) : n, n_why;
	struct descr d;
	double cyc;

	if (descr_parse("fuzz", text, n_descr, &d) == 0) {
		if (!d.run.v.n || !d.take.v.n || d.give == GIVE_NONE)
			abort();
		if (cut && descr_take(&d, cut + strlen(fence), &cyc, &why, &n_why) == 0)
			check(cyc);
	}
	descr_fini(&d);
}

static void try_mca(const char *text)
{
	double cyc;

	if (mca_parse(text, &cyc) == 0)
		check(cyc);
}

static void try_cache(const char *text)
{
	static const uint8_t code[] = { 0x48, 0x8b, 0x07, 0x75, 0xfb };
	const struct tool_block block = { code, sizeof(code), 0x1000, ISA_X86_64 };
	struct tool t = { .ops = &tool_mca, .name = "llvm-mca", .version = "14 znver3" };
	double cyc;

	if (cache_parse(text, &t, &block, &cyc))
		check(cyc);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text;

	if (!size || size > 8192)
		return 0;
	text = malloc(size);
	if (!text)
		abort();
	memcpy(text, data + 1, size - 1);
	text[size - 1] = '\0';
	if (data[0] == 'd')
		try_descr(text, size - 1);
	else if (data[0] == 'm')
		try_mca(text);
	else
		try_cache(text);
	free(text);
	return 0;
}
