/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Packets of SPE.  The first byte says where the bytes are cut: the same bytes in one piece, and in pieces, are the same records.
 * fuzz_perfdata has what stands around them.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/perfdata/spe.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct seen {
	struct spe_record last;
	size_t n;
	uint64_t sum;
};

static void read_piece(struct spe_decoder *d, const uint8_t *p, size_t n, struct seen *s)
{
	const uint8_t *end = p + n;

	while (spe_next(d, &p, end, &s->last)) {
		if (!(s->last.has & SPE_PC) || p > end)
			abort();
		s->n++;
		s->sum = s->sum * 31 + s->last.pc + s->last.timestamp + s->last.events + s->last.context +
		         s->last.el;
	}
	if (p != end || d->n_held >= SPE_PACKET_MAX)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct spe_decoder whole = { 0 }, pieces = { 0 };
	struct seen a = { 0 }, b = { 0 };
	size_t step;

	if (size < 2)
		return 0;
	step = 1 + data[0] % 16;
	data++;
	size--;
	read_piece(&whole, data, size, &a);
	for (size_t at = 0; at < size; at += step) {
		size_t n = size - at < step ? size - at : step;
		/* So that a byte too far is seen. */
		uint8_t *copy = malloc(n);

		if (!copy)
			abort();
		memcpy(copy, data + at, n);
		read_piece(&pieces, copy, n, &b);
		free(copy);
	}
	if (a.n != b.n || a.sum != b.sum || whole.n_cut != pieces.n_cut ||
	    whole.damaged_bytes != pieces.damaged_bytes || whole.off + whole.n_held != size ||
	    pieces.off + pieces.n_held != size)
		abort();
	spe_cut(&whole, size);
	return 0;
}
