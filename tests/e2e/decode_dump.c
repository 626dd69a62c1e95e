/* SPDX-License-Identifier: GPL-3.0-or-later */
/* decode_dump FILE VADDR SIZE ...: one line an instruction of each range: vaddr size flow target unknown. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "profiler/base/err.h"
#include "profiler/binary/module.h"

static void dump(const struct module *m, struct insn_decoder *d, uint64_t vaddr, uint64_t size)
{
	static const char *const flows[] = { "plain",    "jump", "cond", "jump-ind", "call",
		                             "call-ind", "ret",  "stop", "syscall" };
	size_t n_bytes = 0;
	const uint8_t *code = module_code(m, vaddr, &n_bytes);
	struct insn insn;

	for (size_t at = 0; code && at < n_bytes && at < size; at += insn.size_bytes) {
		if (insn_decode(d, code + at, n_bytes - at, vaddr + at, &insn) < 0)
			break;
		printf("%" PRIx64 " %u %s %" PRIx64 " %d\n", insn.vaddr, insn.size_bytes, flows[insn.flow],
		       insn.target, !!(insn.flags & INSN_UNKNOWN));
	}
}

int main(int argc, char **argv)
{
	struct module *m;
	struct insn_decoder *d;

	if (argc < 4 || module_open(argv[1], NULL, 0, NULL, &m) < 0 ||
	    insn_decoder_new(module_isa(m), &d) < 0) {
		fprintf(stderr, "decode_dump: %s\n", sp_error_text());
		return 1;
	}
	for (int i = 2; i + 1 < argc; i += 2)
		dump(m, d, strtoull(argv[i], NULL, 16), strtoull(argv[i + 1], NULL, 16));
	insn_decoder_free(d);
	module_free(m);
	return 0;
}
