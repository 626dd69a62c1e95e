/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "correct/truth/truth.h"
#include "profiler/base/log.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int fd = -1;
	static char path[64];
	struct truth *t = NULL;

	sp_log_level_set(-1);
	if (fd < 0) {
		fd = memfd_create("truth", 0);
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	}
	if (fd < 0 || ftruncate(fd, 0) < 0 || pwrite(fd, data, size, 0) != (ssize_t)size)
		abort();
	if (truth_read(path, &t) == 0) {
		uint64_t sum = 0;

		for (size_t i = 0; i < t->n_insns; i++) {
			sum += t->insns[i].n;
			if (t->insns[i].object >= t->n_objects)
				abort();
			if (i && t->insns[i].object == t->insns[i - 1].object &&
			    t->insns[i].vaddr <= t->insns[i - 1].vaddr)
				abort();
		}
		for (size_t i = 0; i < t->n_funcs; i++)
			sum += t->funcs[i].n_insn;
		if (sum != t->total)
			abort();
		truth_free(t);
	}
	return 0;
}
