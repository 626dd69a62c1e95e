/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Modules of code that was made at run time.  A vaddr of theirs is the
 * address at run time.
 */
#include "profiler/binary/debug_impl.h"
#include "profiler/binary/jitdump.h"
#include "profiler/binary/perf_map.h"

#include "profiler/base/err.h"
#include "profiler/base/mem.h"
#include "profiler/base/order.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_BYTES = 1 << 30 }; /* a longer file is read so far */

bool made_is_jitdump(int fd)
{
	uint8_t begin[64];
	ssize_t n = pread(fd, begin, sizeof(begin), 0);

	return n > 0 && jitdump_is_one(begin, (size_t)n);
}

/* Not mapped: its program may cut it short while it is read. */
static int read_all(struct module *m)
{
	struct stat st;

	if (fstat(m->fd, &st) < 0)
		return sp_fail_errno("%s", m->opened);
	m->raw_bytes = st.st_size > MOST_BYTES ? MOST_BYTES : (size_t)st.st_size;
	m->read = mem_malloc(m->raw_bytes + 1);
	for (size_t done = 0; done < m->raw_bytes;) {
		ssize_t n = pread(m->fd, m->read + done, m->raw_bytes - done, (off_t)done);

		if (n <= 0)
			m->raw_bytes = done;
		else
			done += (size_t)n;
	}
	m->raw = m->read;
	return 0;
}

static void add_func(struct module *m, uint64_t vaddr, uint64_t size_bytes, const char *name)
{
	const char *kept = texts_add(&m->pool, name, strlen(name));

	vec_add(&m->funcs, (struct module_func){ vaddr, size_bytes, NULL, kept, false, false });
}

/* Rows of one function: those that lie in it; behind it nothing is known. */
static void add_lines(struct module *m, const struct jitdump *j, const struct jit_code *code)
{
	uint64_t end = code->vaddr + code->size_bytes;
	size_t n = m->debug->lines.n;

	for (uint32_t i = code->line0; i < code->line0 + code->n_lines; i++) {
		const struct jit_line *line = &j->lines.v[i];
		struct line_row row = { line->vaddr, debug_file_id(m, m->debug, line->file), line->line };

		if (line->vaddr >= code->vaddr && line->vaddr < end)
			vec_add(&m->debug->lines, row);
	}
	if (m->debug->lines.n == n)
		return;
	qsort(m->debug->lines.v + n, m->debug->lines.n - n, sizeof(*m->debug->lines.v), order_u64);
	vec_add(&m->debug->lines, (struct line_row){ end, NO_ID, 0 });
}

static void add_code(struct module *m, const struct jitdump *j, const struct jit_code *code)
{
	struct segment seg = { code->vaddr, (uint64_t)(code->bytes - m->raw), code->size_bytes,
		               code->size_bytes, true };

	vec_add(&m->segments, seg);
	vec_add(&m->code, (struct code_range){ code->vaddr, code->size_bytes, "", 0 });
	add_func(m, code->vaddr, code->size_bytes, *code->name ? code->name : "[jit]");
	add_lines(m, j, code);
}

static enum insn_isa isa_of(uint32_t machine)
{
	return machine == EM_X86_64 ? ISA_X86_64 : machine == EM_AARCH64 ? ISA_AARCH64 : ISA_NONE;
}

int made_load_jitdump(struct module *m, uint32_t layer)
{
	struct jitdump j = { 0 };
	int err = read_all(m);

	if (err < 0)
		return err;
	if (jitdump_parse(m->raw, m->raw_bytes, m->opened, &j) < 0)
		return module_unusable(m, MODULE_FOREIGN, "%s", sp_error_text());
	m->isa = isa_of(j.machine);
	if (m->isa == ISA_NONE) {
		jitdump_fini(&j);
		return module_unusable(m, MODULE_FOREIGN,
		                       "%s: code for another machine (number %u), not x86-64 or aarch64",
		                       m->opened, j.machine);
	}
	m->debug = mem_calloc(1, sizeof(*m->debug));
	for (size_t i = 0; i < j.codes.n; i++)
		if (j.codes.v[i].layer == layer)
			add_code(m, &j, &j.codes.v[i]);
	symbols_index(m);
	jitdump_fini(&j);
	return 0;
}

int made_load_names(struct module *m)
{
	struct perf_map map = { 0 };
	int err = read_all(m);

	if (err < 0)
		return err;
	perf_map_parse((const char *)m->raw, m->raw_bytes, &m->pool, &map);
	for (size_t i = 0; i < map.entries.n; i++)
		add_func(m, map.entries.v[i].vaddr, map.entries.v[i].size_bytes, map.entries.v[i].name);
	symbols_index(m);
	perf_map_fini(&map);
	return module_unusable(
	        m, MODULE_NAMED,
	        "%s: names of code that was made at run time, and not the code: its counts are raw; a "
	        "jitdump (jit-PID.dump) beside it would have the code",
	        m->opened);
}
