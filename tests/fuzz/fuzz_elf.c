/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A module from any bytes: symbols, relocations, frames and DWARF, and what is asked of them; the simulated core's functions. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "profiler/base/log.h"
#include "profiler/binary/module.h"
#include "profiler/sim/symbols.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST_FUNCS = 64, MOST_INSNS = 64 };

static void decode(const struct module *m, const struct module_func *f)
{
	struct insn_decoder *d;
	uint64_t vaddr = f->vaddr;
	size_t n_bytes;

	if (insn_decoder_new(module_isa(m), &d) < 0)
		abort();
	for (int i = 0; i < MOST_INSNS && vaddr < f->vaddr + f->size_bytes; i++) {
		const uint8_t *code = module_code(m, vaddr, &n_bytes);
		struct insn insn;
		char text[64];

		if (!code || insn_decode(d, code, n_bytes, vaddr, &insn) < 0)
			break;
		if (!insn.size_bytes || insn.size_bytes > 15 || insn.size_bytes > n_bytes)
			abort();
		if (insn_text(d, code, n_bytes, vaddr, text, sizeof(text)) < 0)
			abort();
		vaddr += insn.size_bytes;
	}
	insn_decoder_free(d);
}

static void ask(struct module *m, const struct module_func *f)
{
	struct module_inlining inlinings[MODULE_MAX_INLININGS];
	const char *text;
	uint64_t target, vaddr;
	unsigned line;
	bool ifunc;
	size_t n = module_inlinings(m, f->vaddr, inlinings);

	if (!n || n > MODULE_MAX_INLININGS || !f->name || !f->linkage || !f->size_bytes)
		abort();
	for (size_t i = 0; i < n; i++)
		if (!inlinings[i].name || inlinings[i].id >= module_n_inlinings(m))
			abort();
	module_line(m, f->vaddr, &text, &line);
	module_slot(m, f->vaddr, &text, &target, &ifunc);
	if (module_off(m, f->vaddr, &target))
		module_vaddr(m, target, &vaddr);
}

/* In order, one each, and each found where it begins. */
static void read_functions(const char *path)
{
	struct symbols s = { .v = { 0 } };

	symbols_read(&s, path);
	for (size_t i = 0; i < s.v.n; i++) {
		const struct symbol *x = &s.v.v[i], *found = symbols_find(&s, x->off);

		if ((i && x[-1].off >= x->off) || (found && found != x) || (!found && x->end_off > x->off))
			abort();
	}
	if (symbols_find(&s, UINT64_MAX) && !s.v.n)
		abort();
	vec_fini(&s.v);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int fd = -1;
	static char path[64];
	struct module *m = NULL;

	sp_log_level_set(-1);
	if (fd < 0) {
		fd = memfd_create("elf", 0);
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	}
	if (fd < 0 || ftruncate(fd, 0) < 0 || pwrite(fd, data, size, 0) != (ssize_t)size)
		abort();
	read_functions(path);
	if (module_open(path, NULL, 0, NULL, &m) < 0)
		return 0;
	if (module_state(m) != MODULE_OK && module_n_funcs(m))
		abort();
	for (size_t i = 0; i < module_n_funcs(m) && i < MOST_FUNCS; i++) {
		const struct module_func *f = module_func(m, i);

		ask(m, f);
		decode(m, f);
	}
	module_free(m);
	return 0;
}
