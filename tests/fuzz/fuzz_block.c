/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What skidprof and skidblock say to each other, by the first byte: 'b' a
 * block's code, made a request that skidblock must take; 'q' a request as it
 * comes, 'r' a reply.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "report/lift/native_block.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { WHY_MAX = 160 };

/* The second byte: how often the block runs in succession. */
static void try_code(const uint8_t *data, size_t size)
{
	static struct insn_decoder *d;
	static struct block_request r;
	struct tool_block b = { .vaddr = 0x401000, .isa = ISA_X86_64 };

	if (!size || (!d && insn_decoder_new(ISA_X86_64, &d) < 0))
		return;
	b.turns = data[0];
	b.bytes = data + 1;
	b.n_bytes = size - 1;
	/* Only a jump: it is not sent. */
	if (native_prepare(d, &b, &r) == 0 && r.n_insn && !block_request_valid(&r))
		abort();
}

static void try_request(const uint8_t *data, size_t size)
{
	struct block_request *r = calloc(1, sizeof(*r));

	if (!r)
		abort();
	memcpy(r, data, size < sizeof(*r) ? size : sizeof(*r));
	if (block_request_valid(r)) {
		for (unsigned i = 0; i < r->n_patches; i++)
			if (r->patches[i].disp_off + 4u > sizeof(r->code) ||
			    r->patches[i].end_off > sizeof(r->code))
				abort();
		for (unsigned i = 0; i < r->n_accesses; i++)
			if (r->accesses[i].insn_off >= sizeof(r->code))
				abort();
	}
	free(r);
}

static void try_reply(const uint8_t *data, size_t size)
{
	struct block_reply r = { .magic = BLOCK_MAGIC };
	char *why = malloc(WHY_MAX);

	if (!why)
		abort();
	memcpy(&r, data, size < sizeof(r) ? size : sizeof(r));
	if (block_reply_valid(&r)) {
		native_reason(&r, why, WHY_MAX);
		if (!memchr(why, '\0', WHY_MAX) || (r.verdict == BLOCK_TIMED && !(r.cyc >= 0)))
			abort();
	}
	free(why);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!size)
		return 0;
	if (data[0] == 'b')
		try_code(data + 1, size - 1);
	else if (data[0] == 'q')
		try_request(data + 1, size - 1);
	else
		try_reply(data + 1, size - 1);
	return 0;
}
