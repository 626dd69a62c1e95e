/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/binary/debug_impl.h"

#include "profiler/base/mem.h"
#include "profiler/base/order.h"
#include "profiler/base/path.h"

#include <stdlib.h>
#include <string.h>

bool debug_is_code(const struct module *m, uint64_t vaddr)
{
	for (size_t i = 0; i < m->segments.n; i++)
		if (m->segments.v[i].executable && vaddr >= m->segments.v[i].vaddr &&
		    vaddr - m->segments.v[i].vaddr < m->segments.v[i].file_bytes)
			return true;
	return false;
}

uint32_t debug_file_id(struct module *m, struct debug *d, const char *path)
{
	char *folded = mem_malloc(strlen(path) + 2);
	const char *kept;
	size_t id;

	kept = texts_add(&m->pool, folded, path_fold(path, folded));
	free(folded);
	id = pairs_must(&d->file_ids, (uintptr_t)kept, 0);
	if (id == d->files.n) {
		vec_add(&d->dirs, d->unit_dir);
		vec_add(&d->files, kept);
	}
	return (uint32_t)id;
}

static void load(struct module *m, struct debug *d)
{
	struct dwarf_source s = { .m = m, .d = d };
	GElf_Addr elf_bias = 0;
	Dwarf_Addr dwarf_bias = 0;

	if (!m->dwfl_module || !dwfl_module_getelf(m->dwfl_module, &elf_bias))
		return;
	s.dwarf = dwfl_module_getdwarf(m->dwfl_module, &dwarf_bias);
	if (!s.dwarf)
		return;
	s.shift = dwarf_bias - elf_bias;
	dwarf_lines_load(&s);
	dwarf_inlinings_load(&s);
}

struct debug *debug_get(struct module *m)
{
	struct debug *d = m->debug;

	if (d)
		return d;
	d = mem_calloc(1, sizeof(*d));
	load(m, d);
	debuglink_end(m);
	m->debug = d;
	return d;
}

void debug_free(struct debug *d)
{
	if (!d)
		return;
	free(d->func_inlinings);
	vec_fini(&d->spans);
	vec_fini(&d->copies);
	vec_fini(&d->inlinings);
	vec_fini(&d->lines);
	pairs_fini(&d->file_ids);
	vec_fini(&d->files);
	vec_fini(&d->dirs);
	free(d);
}

bool module_has_debug(struct module *m)
{
	return debug_get(m)->lines.n > 0;
}

void module_line(struct module *m, uint64_t vaddr, const char **file, unsigned *line)
{
	const struct debug *d = debug_get(m);
	size_t low = sorted_count(d->lines.n, k, d->lines.v[k].vaddr <= vaddr);

	*file = NULL;
	*line = 0;
	if (!low || d->lines.v[low - 1].file == NO_ID)
		return;
	*file = d->files.v[d->lines.v[low - 1].file];
	*line = d->lines.v[low - 1].line;
}

const char *module_file_dir(struct module *m, const char *file)
{
	const struct debug *d = debug_get(m);
	long id = file ? pairs_find(&d->file_ids, (uintptr_t)file, 0) : -1;

	return id < 0 || (size_t)id >= d->dirs.n ? NULL : d->dirs.v[id];
}

/* The inlining of a function that only has a symbol, made when first asked for. */
static uint32_t symbol_inlining(struct module *m, struct debug *d, uint64_t vaddr)
{
	long func = module_func_at(m, vaddr);

	if (func < 0)
		return NO_ID;
	if (!d->func_inlinings) {
		d->func_inlinings = mem_malloc(m->funcs.n * sizeof(*d->func_inlinings));
		memset(d->func_inlinings, 0xff, m->funcs.n * sizeof(*d->func_inlinings));
	}
	if (d->func_inlinings[func] == NO_ID) {
		const struct module_func *f = module_func(m, (size_t)func);

		vec_add(&d->inlinings, (struct inlining){ f->name, f->linkage, NO_ID, 0, 0 });
		d->func_inlinings[func] = (uint32_t)d->inlinings.n - 1;
	}
	return d->func_inlinings[func];
}

static void fill_inlining(struct module *m, struct debug *d, uint32_t id, struct module_inlining *out)
{
	struct inlining *inlining = &d->inlinings.v[id];

	if (!inlining->name)
		inlining->name = symbols_demangle(&m->pool, inlining->linkage);
	*out = (struct module_inlining){ .id = id,
		                         .name = inlining->name,
		                         .linkage = inlining->linkage,
		                         .file = inlining->file == NO_ID ? NULL : d->files.v[inlining->file],
		                         .line = inlining->line,
		                         .column = inlining->column };
}

size_t module_inlinings(struct module *m, uint64_t vaddr, struct module_inlining *inlinings)
{
	struct debug *d = debug_get(m);
	const struct span *span = spans_at(&d->spans, vaddr);
	uint32_t at = span ? span->owner : NO_ID, id;
	size_t n = 0;

	while (d->copies.v && at != NO_ID) {
		const struct copy *copy = &d->copies.v[at];

		/* In a chain too deep to show, the physical function still ends it. */
		if (n == MODULE_MAX_INLININGS)
			n--;
		fill_inlining(m, d, copy->inlining, &inlinings[n]);
		inlinings[n].call_file = copy->call_file == NO_ID ? NULL : d->files.v[copy->call_file];
		inlinings[n++].call_line = copy->call_line;
		at = copy->parent;
	}
	if (n)
		return n;
	id = symbol_inlining(m, d, vaddr);
	if (id == NO_ID)
		return 0;
	fill_inlining(m, d, id, &inlinings[0]);
	return 1;
}

uint32_t module_n_inlinings(const struct module *m)
{
	return m->debug ? (uint32_t)m->debug->inlinings.n : 0;
}
