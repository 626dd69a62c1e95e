/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A jitdump from any bytes: the parser, and modules of its layers with what is asked of them. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "profiler/base/log.h"
#include "profiler/binary/jitdump.h"
#include "profiler/binary/module.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void look_at_codes(const struct jitdump *j, const uint8_t *data, size_t size)
{
	for (size_t i = 0; i < j->codes.n; i++) {
		const struct jit_code *c = &j->codes.v[i], *before = i ? c - 1 : NULL;

		if (c->layer >= j->n_layers || c->bytes < data ||
		    c->size_bytes > (size_t)(data + size - c->bytes) || c->line0 + c->n_lines > j->lines.n)
			abort();
		if (before && before->layer == c->layer && before->vaddr + before->size_bytes > c->vaddr)
			abort();
		if (jitdump_at(j, c->layer, c->vaddr + c->size_bytes - 1) != c)
			abort();
	}
}

static void look_at_module(struct module *m)
{
	for (size_t i = 0; i < module_n_funcs(m); i++) {
		const struct module_func *f = module_func(m, i);
		struct module_inlining inlinings[MODULE_MAX_INLININGS];
		const char *file;
		unsigned line;
		size_t n_bytes;

		if (!module_code(m, f->vaddr, &n_bytes) || n_bytes < f->size_bytes ||
		    !module_inlinings(m, f->vaddr, inlinings))
			abort();
		module_line(m, f->vaddr, &file, &line);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int fd = -1;
	struct jitdump j;
	struct module *m;
	char path[64];

	sp_log_level_set(-1);
	if (jitdump_parse(data, size, "it", &j) == 0) {
		look_at_codes(&j, data, size);
		jitdump_fini(&j);
	}
	if (fd < 0)
		fd = memfd_create("jitdump", 0);
	if (fd < 0 || ftruncate(fd, 0) < 0 || pwrite(fd, data, size, 0) != (ssize_t)size)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (module_open(path, NULL, 0, NULL, &m) == 0) {
		if (module_state(m) == MODULE_OK && module_is_made(m))
			look_at_module(m);
		module_free(m);
	}
	return 0;
}
