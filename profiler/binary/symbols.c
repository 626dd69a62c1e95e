/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Functions as the linker knows them, in three layers: symbols and PLT stubs;
 * ranges of .eh_frame where those leave code uncovered; the gaps that still
 * remain.
 */
#include "profiler/binary/module_impl.h"

#include "profiler/base/mem.h"
#include "profiler/base/order.h"

#include <ctype.h>
#include <elf.h>
#include <gelf.h>
#include <libiberty/demangle.h>
#include <stdlib.h>
#include <string.h>

enum {
	LONGEST_MANGLED = 4096, /* longer ones stay as they are: demangling can grow without bound */
	LEAST_GAP_BYTES = 64,   /* shorter gaps are alignment */
};

/* A symbol that may become a function. */
struct candidate {
	uint64_t vaddr, size_bytes;
	const char *name; /* without its version; NULL = made up */
	uint8_t rank;     /* of names for one address: lower is better */
	bool ifunc, label, old;
};

struct frame {
	uint64_t vaddr, size_bytes;
};

struct loader {
	struct module *m;
	VEC(struct candidate) found;
	size_t n_symbols; /* the first of found, which are symbols, not stubs */
	VEC(struct frame) frames;
	size_t next_frame;
};

/* "_D3app3runFiZv" or "_Dmain": D's own mangling. */
static bool is_of_d(const char *linkage)
{
	return !strncmp(linkage, "_D", 2) &&
	       (isdigit((unsigned char)linkage[2]) || !strcmp(linkage + 2, "main"));
}

char *module_full_name(const char *linkage)
{
	if (strlen(linkage) >= LONGEST_MANGLED)
		return NULL;
	if (is_of_d(linkage))
		return cplus_demangle(linkage, DMGL_DLANG | DMGL_PARAMS);
	return strncmp(linkage, "_Z", 2) ? NULL : cplus_demangle(linkage, DMGL_PARAMS | DMGL_ANSI);
}

/* "app.run!(int).run(int) const" loses its last pair, and what follows that: D's demangler cannot leave them out. */
static void cut_parameters(char *name)
{
	char *end = strrchr(name, ')');
	int depth = 0;

	for (; end && end > name; end--) {
		depth += (*end == ')') - (*end == '(');
		if (!depth) {
			if (end[-1] != '!') /* else a template's own arguments */
				*end = '\0';
			return;
		}
	}
}

const char *symbols_demangle(struct texts *pool, const char *linkage)
{
	const char *kept = linkage, *suffix = strchr(linkage, '@'); /* ours: "@plt" */
	char *mangled, *plain = NULL;
	bool of_d;

	if (linkage[0] != '_' || !strchr("ZRD", linkage[1]) || strlen(linkage) >= LONGEST_MANGLED)
		return linkage;
	mangled = mem_strndup(linkage, suffix ? (size_t)(suffix - linkage) : strlen(linkage));
	of_d = is_of_d(mangled);
	plain = cplus_demangle(mangled, of_d ? DMGL_DLANG : DMGL_NO_OPTS);
	if (plain && of_d)
		cut_parameters(plain);
	if (plain)
		kept = texts_printf(pool, "%s%s", plain, suffix ? suffix : "");
	free(plain);
	free(mangled);
	return kept;
}

static const struct code_range *range_at(const struct module *m, uint64_t vaddr)
{
	size_t low = sorted_count(m->code.n, k, m->code.v[k].vaddr <= vaddr);

	if (!low || vaddr - m->code.v[low - 1].vaddr >= m->code.v[low - 1].size_bytes)
		return NULL;
	return &m->code.v[low - 1];
}

/* Global before weak before local, then fewer leading underscores. */
static uint8_t rank_of(const GElf_Sym *sym, const char *name)
{
	unsigned bind = GELF_ST_BIND(sym->st_info);
	unsigned binding = bind == STB_GLOBAL ? 0 : bind == STB_WEAK ? 1 : 2;
	size_t underscores = strspn(name, "_");

	if (!strncmp(name, "_Z", 2) || !strncmp(name, "_R", 2) || is_of_d(name))
		underscores = 0; /* the mangling's own */
	return (uint8_t)(binding * 16 + (underscores > 15 ? 15 : underscores));
}

/* aarch64 marks code and data with $x and $d; they name nothing. */
static bool is_mapping_symbol(const char *name)
{
	return name[0] == '$' && (name[1] == 'x' || name[1] == 'd') && (!name[2] || name[2] == '.');
}

static void add_symbol(struct loader *l, const GElf_Sym *sym, uint64_t vaddr, const char *name)
{
	unsigned type = GELF_ST_TYPE(sym->st_info);
	const char *version;
	struct candidate c = { vaddr, .ifunc = type == STT_GNU_IFUNC, .label = type == STT_NOTYPE };

	if ((type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE) || sym->st_shndx == SHN_UNDEF ||
	    sym->st_shndx == SHN_ABS || !name || !name[0] || is_mapping_symbol(name) ||
	    !range_at(l->m, vaddr))
		return;
	version = strchr(name + 1, '@');
	c.name = texts_keep(&l->m->pool, name, version ? (size_t)(version - name) : strlen(name));
	c.size_bytes = sym->st_size;
	c.rank = rank_of(sym, c.name);
	c.old = version && version[1] != '@';
	vec_add(&l->found, c);
}

/* .symtab, that of the separate debug file, .gnu_debugdata, or .dynsym: libdwfl knows them all. */
static void add_symbols(struct loader *l)
{
	Dwfl_Module *module = l->m->dwfl_module;
	GElf_Addr bias = 0;
	int n;

	if (!module || !dwfl_module_getelf(module, &bias))
		return;
	n = dwfl_module_getsymtab(module);
	for (int i = 1; i < n; i++) {
		GElf_Sym sym;
		GElf_Addr vaddr;
		const char *name = dwfl_module_getsym_info(module, i, &sym, &vaddr, NULL, NULL, NULL);

		if (name)
			add_symbol(l, &sym, vaddr - bias, name);
	}
}

static int compare_candidates(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	if (x->vaddr != y->vaddr)
		return x->vaddr > y->vaddr ? 1 : -1;
	if (x->label != y->label)
		return x->label - y->label;
	/* What nobody can link against any more, as cfree@GLIBC_2.2.5 beside free. */
	if (x->old != y->old)
		return x->old - y->old;
	if (x->rank != y->rank)
		return x->rank - y->rank;
	return x->name && y->name ? strcmp(x->name, y->name) : 0;
}

static void sort(struct loader *l)
{
	if (l->found.n)
		qsort(l->found.v, l->found.n, sizeof(*l->found.v), compare_candidates);
}

/* The name of a symbol at vaddr among the first n, which are sorted. */
static const char *name_at(const struct loader *l, size_t n, uint64_t vaddr)
{
	size_t low = sorted_count(n, k, l->found.v[k].vaddr < vaddr);

	return low < n && l->found.v[low].vaddr == vaddr ? l->found.v[low].name : NULL;
}

static int add_stub(void *data, uint64_t vaddr, uint64_t size_bytes, const struct slot *slot)
{
	struct loader *l = data;
	struct candidate c = { vaddr, size_bytes };
	/* A stub without a symbol goes to an ifunc of this module; its resolver bears the name. */
	const char *name = slot->name ? slot->name : name_at(l, l->n_symbols, slot->target);

	/* A damaged file's sections may lie anywhere. */
	if (!range_at(l->m, vaddr))
		return 0;
	if (name)
		c.name = texts_printf(&l->m->pool, "%s@plt", name);
	else
		c.name = texts_printf(&l->m->pool, "[0x%jx]@plt", (uintmax_t)slot->target);
	vec_add(&l->found, c);
	return 0;
}

/* Aliases into one; labels that lie inside a function are dropped.  Sizes are made to be. */
static void fold(struct loader *l)
{
	size_t n = 0;
	uint64_t covered = 0;

	for (size_t i = 0; i < l->found.n; i++) {
		struct candidate c = l->found.v[i];

		for (; i + 1 < l->found.n && l->found.v[i + 1].vaddr == c.vaddr; i++) {
			if (l->found.v[i + 1].size_bytes > c.size_bytes)
				c.size_bytes = l->found.v[i + 1].size_bytes;
			c.ifunc |= l->found.v[i + 1].ifunc;
		}
		if (c.label && c.vaddr < covered)
			continue;
		if (c.vaddr + c.size_bytes > covered)
			covered = c.vaddr + c.size_bytes;
		l->found.v[n++] = c;
	}
	l->found.n = n;
	for (size_t i = 0; i < n; i++) {
		struct candidate *c = &l->found.v[i];
		const struct code_range *range = range_at(l->m, c->vaddr);
		uint64_t room = range->vaddr + range->size_bytes - c->vaddr;

		if (!c->size_bytes && i + 1 < n && c[1].vaddr - c->vaddr < room)
			c->size_bytes = c[1].vaddr - c->vaddr;
		if (!c->size_bytes || c->size_bytes > room)
			c->size_bytes = room;
	}
}

static void collect_frame(void *data, uint64_t vaddr, uint64_t size_bytes)
{
	struct loader *l = data;

	if (range_at(l->m, vaddr))
		vec_add(&l->frames, (struct frame){ vaddr, size_bytes });
}

static void add_made_up(struct loader *l, uint64_t vaddr, uint64_t end)
{
	vec_add(&l->found, (struct candidate){ vaddr, end - vaddr });
}

/* Fill [vaddr, end), where no symbol is, by frame entries, then what is left of it by itself. */
static void fill_gap(struct loader *l, uint64_t vaddr, uint64_t end)
{
	while (l->next_frame < l->frames.n && l->frames.v[l->next_frame].vaddr < vaddr)
		l->next_frame++;
	for (; l->next_frame < l->frames.n; l->next_frame++) {
		const struct frame *f = &l->frames.v[l->next_frame];
		uint64_t stop = end;

		if (f->vaddr >= end)
			break;
		if (f->vaddr < vaddr)
			continue;
		if (f->size_bytes < stop - f->vaddr)
			stop = f->vaddr + f->size_bytes;
		if (f->vaddr - vaddr >= LEAST_GAP_BYTES)
			add_made_up(l, vaddr, f->vaddr);
		add_made_up(l, f->vaddr, stop);
		vaddr = stop;
	}
	if (vaddr < end && end - vaddr >= LEAST_GAP_BYTES)
		add_made_up(l, vaddr, end);
}

static void fill_gaps(struct loader *l)
{
	size_t n = l->found.n, i = 0;

	ehframe_walk(l->m, collect_frame, l);
	if (l->frames.n)
		qsort(l->frames.v, l->frames.n, sizeof(*l->frames.v), order_u64);
	for (size_t r = 0; r < l->m->code.n; r++) {
		uint64_t at = l->m->code.v[r].vaddr, end = at + l->m->code.v[r].size_bytes;

		for (; i < n && l->found.v[i].vaddr < end; i++) {
			uint64_t func_end = l->found.v[i].vaddr + l->found.v[i].size_bytes;

			if (l->found.v[i].vaddr > at)
				fill_gap(l, at, l->found.v[i].vaddr);
			if (func_end > at)
				at = func_end;
		}
		if (at < end)
			fill_gap(l, at, end);
	}
	sort(l);
}

static const char *made_up_name(struct module *m, uint64_t vaddr)
{
	const char *slash = strrchr(m->opened, '/');

	return texts_printf(&m->pool, "[%s+0x%jx]", slash ? slash + 1 : m->opened, (uintmax_t)vaddr);
}

static void keep(struct loader *l)
{
	struct module *m = l->m;

	for (size_t i = 0; i < l->found.n; i++) {
		const struct candidate *c = &l->found.v[i];
		struct module_func func = { c->vaddr, c->size_bytes, NULL, c->name, c->ifunc, !c->name };

		if (!func.linkage)
			func.linkage = func.name = made_up_name(m, c->vaddr);
		vec_add(&m->funcs, func);
	}
}

/* Functions may lie inside one another: of two, the later one is the inner. */
static void cut_spans(struct module *m)
{
	struct interval_list all = { 0 };

	for (size_t i = 0; i < m->funcs.n; i++)
		vec_add(&all,
		        (struct interval){ m->funcs.v[i].vaddr,
		                           m->funcs.v[i].vaddr + m->funcs.v[i].size_bytes, (uint32_t)i, 0 });
	spans_cut(&all, &m->spans);
	vec_fini(&all);
}

static int compare_names(const void *a, const void *b)
{
	const struct func_name *x = a, *y = b;
	int order = strcmp(x->linkage, y->linkage);

	if (order || x->old != y->old)
		return order ? order : x->old - y->old;
	return (x->vaddr > y->vaddr) - (x->vaddr < y->vaddr);
}

/* Every name, the aliases' too, before they are folded. */
static void index_by_name(struct loader *l)
{
	struct module *m = l->m;

	for (size_t i = 0; i < l->found.n; i++)
		vec_add(&m->names, (struct func_name){ l->found.v[i].name, l->found.v[i].vaddr,
		                                       l->found.v[i].rank, l->found.v[i].old });
	if (m->names.n)
		qsort(m->names.v, m->names.n, sizeof(*m->names.v), compare_names);
}

void symbols_index(struct module *m)
{
	cut_spans(m);
	for (size_t i = 0; i < m->funcs.n; i++)
		vec_add(&m->names,
		        (struct func_name){ m->funcs.v[i].linkage, m->funcs.v[i].vaddr, 0, false });
	if (m->names.n)
		qsort(m->names.v, m->names.n, sizeof(*m->names.v), compare_names);
}

int symbols_load(struct module *m)
{
	struct loader l = { .m = m };
	int err;

	add_symbols(&l);
	sort(&l);
	l.n_symbols = l.found.n;
	err = plt_walk(m, add_stub, &l);
	sort(&l);
	if (!err) {
		index_by_name(&l);
		fold(&l);
		fill_gaps(&l);
		keep(&l);
		cut_spans(m);
	}
	vec_fini(&l.frames);
	vec_fini(&l.found);
	return err;
}

size_t module_n_funcs(const struct module *m)
{
	return m->funcs.n;
}

const struct module_func *module_func(const struct module *m, size_t i)
{
	struct module_func *func = &m->funcs.v[i];

	/* Demangled when first asked for: most functions never are. */
	if (!func->name)
		func->name = symbols_demangle(&((struct module *)m)->pool, func->linkage);
	return func;
}

long module_func_at(const struct module *m, uint64_t vaddr)
{
	const struct span *span = spans_at(&m->spans, vaddr);

	return span ? (long)span->owner : -1;
}

/* The first of that name, NULL = there is none. */
static const struct func_name *first_named(const struct module *m, const char *linkage)
{
	size_t low = sorted_count(m->names.n, k, strcmp(m->names.v[k].linkage, linkage) < 0);

	return low < m->names.n && !strcmp(m->names.v[low].linkage, linkage) ? &m->names.v[low] : NULL;
}

long module_func_named(const struct module *m, const char *linkage)
{
	const struct func_name *name = first_named(m, linkage);

	return name ? module_func_at(m, name->vaddr) : -1;
}

/* The same, but NULL where several functions have that name, as local ones of several files may: but for old versions. */
static const struct func_name *only_named(const struct module *m, const char *linkage)
{
	const struct func_name *name = first_named(m, linkage);

	for (size_t i = name ? (size_t)(name - m->names.v) : 0;
	     name && i < m->names.n && !strcmp(m->names.v[i].linkage, linkage); i++)
		if (m->names.v[i].vaddr != name->vaddr && m->names.v[i].old == name->old)
			return NULL;
	return name;
}

const char *symbols_preferred(const struct module *m, const char *linkage)
{
	const struct func_name *name = only_named(m, linkage), *best;
	long func = name ? module_func_at(m, name->vaddr) : -1;

	if (func < 0 || m->funcs.v[func].vaddr != name->vaddr)
		return linkage;
	best = only_named(m, m->funcs.v[func].linkage);
	return best && best->rank < name->rank ? best->linkage : linkage;
}

static int compare_vaddrs(const void *a, const void *b, void *module)
{
	const struct func_name *names = ((const struct module *)module)->names.v;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	if (names[x].vaddr != names[y].vaddr)
		return names[x].vaddr < names[y].vaddr ? -1 : 1;
	return (x > y) - (x < y);
}

static void sort_by_vaddr(struct module *m)
{
	for (uint32_t i = (uint32_t)m->names_by_vaddr.n; i < m->names.n; i++)
		vec_add(&m->names_by_vaddr, i);
	qsort_r(m->names_by_vaddr.v, m->names_by_vaddr.n, sizeof(*m->names_by_vaddr.v), compare_vaddrs, m);
}

const char *module_aliases(struct module *m, const char *linkage)
{
	const struct func_name *name = only_named(m, linkage);
	const char *all = NULL, *last = linkage;
	size_t i;

	if (!name)
		return NULL;
	if (!m->names_by_vaddr.n)
		sort_by_vaddr(m);
	i = sorted_count(m->names.n, k, m->names.v[m->names_by_vaddr.v[k]].vaddr < name->vaddr);
	for (; i < m->names.n && m->names.v[m->names_by_vaddr.v[i]].vaddr == name->vaddr; i++) {
		const char *other = m->names.v[m->names_by_vaddr.v[i]].linkage;

		if (!strcmp(other, linkage) || !strcmp(other, last))
			continue;
		last = other;
		all = texts_printf(&m->pool, "%s%s%s", all ? all : "", all ? "\n" : "", other);
	}
	return all;
}
