/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Functions and their inlined copies.  One pass over the entries of all units
 * finds the functions that have code, and the qualified names of those that
 * have no linkage name; then each function's inlined copies become ranges.
 *
 * A function is known by its linkage name, or, where that isn't global or is
 * missing, by its name with the file and line of its declaration: so the
 * copies of a header's function are one function in all units.  The parts the
 * compiler splits off (.cold, .part, .constprop, .isra) name their origin in
 * DWARF, and belong to it.
 */
#include "profiler/binary/debug_impl.h"

#include "profiler/base/mem.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

enum {
	DEEPEST = 256,      /* nesting that compilers don't reach */
	LONGEST_CHAIN = 16, /* of references from one entry to its origin */
};

/* A unit's table of files, by which declarations and call sites name them; NO_ID until looked up. */
struct unit {
	Dwarf_Files *files;
	size_t n_files;
	uint32_t *ids;
};

/* What an entry without a linkage name stands in: "a::b", and where that is a class without a name (a closure's) its entry. */
struct holder {
	const char *prefix;
	Dwarf_Die unnamed; /* addr NULL: it is no such class */
};

struct walk {
	struct dwarf_source *s;
	/* Damaged DWARF can make a walk endless: no more entries than the units have bytes. */
	uint64_t budget;
	VEC(Dwarf_Die) functions; /* with code */
	struct pairs holder_ids;  /* of entries without a linkage name, into holders */
	VEC(struct holder) holders;
	struct pairs origins;       /* entries that a function's copies refer to ... */
	VEC(uint32_t) inlining_of;  /* ... and its inlining, by origins */
	struct pairs inlining_keys; /* pool texts: numbers of inlinings */
	struct interval_list intervals;
	struct pairs unit_ids; /* by libdw's unit, into units */
	VEC(struct unit) units;
};

/* The next sibling, if it really is further on: references can form loops. */
static bool next_sibling(Dwarf_Die *die)
{
	Dwarf_Die next;

	if (dwarf_siblingof(die, &next) != 0 || next.addr <= die->addr)
		return false;
	*die = next;
	return true;
}

static const char *linkage_name(Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	Dwarf_Attribute *found = dwarf_attr_integrate(die, DW_AT_linkage_name, &attr);

	if (!found)
		found = dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attr);
	return found ? dwarf_formstring(found) : NULL;
}

static bool has_code(Dwarf_Die *die)
{
	return dwarf_hasattr(die, DW_AT_low_pc) || dwarf_hasattr(die, DW_AT_ranges);
}

static bool is_class(int tag)
{
	return tag == DW_TAG_structure_type || tag == DW_TAG_class_type || tag == DW_TAG_union_type ||
	       tag == DW_TAG_enumeration_type || tag == DW_TAG_interface_type;
}

/* Entries below which functions may stand. */
static bool may_hold_functions(int tag)
{
	return is_class(tag) || tag == DW_TAG_namespace || tag == DW_TAG_module || tag == DW_TAG_subprogram ||
	       tag == DW_TAG_lexical_block;
}

/* Compilers declare a closure's call themselves, and no one else's of a class. */
static bool is_closure(Dwarf_Die *class)
{
	Dwarf_Attribute attr;
	Dwarf_Die die;
	const char *name;

	if (dwarf_child(class, &die) != 0)
		return false;
	do {
		name = dwarf_tag(&die) == DW_TAG_subprogram ? dwarf_diename(&die) : NULL;
		if (name && strcmp(name, "operator()") == 0 && dwarf_attr(&die, DW_AT_artificial, &attr))
			return true;
	} while (next_sibling(&die));
	return false;
}

/* "a::b" for what stands inside it; blocks add nothing. */
static const char *prefix_below(struct walk *w, Dwarf_Die *die, int tag, const char *prefix)
{
	const char *name = tag == DW_TAG_lexical_block ? NULL : dwarf_diename(die);

	if (!name && tag == DW_TAG_namespace)
		name = "(anonymous namespace)";
	else if (!name && is_class(tag))
		name = is_closure(die) ? "{lambda}" : "{unnamed}";
	if (!name)
		return prefix;
	return *prefix ? texts_printf(&w->s->m->pool, "%s::%s", prefix, name)
	               : texts_add(&w->s->m->pool, name, strlen(name));
}

static void note_function(struct walk *w, Dwarf_Die *die, const struct holder *holder)
{
	if (*holder->prefix && !linkage_name(die)) {
		size_t id = pairs_must(&w->holder_ids, (uintptr_t)die->addr, 0);

		if (id == w->holders.n)
			vec_add(&w->holders, *holder);
		w->holders.v[id] = *holder;
	}
	if (has_code(die))
		vec_add(&w->functions, *die);
}

static void find_functions(struct walk *w, Dwarf_Die *parent, const char *prefix, unsigned depth)
{
	struct holder holder = { .prefix = prefix };
	Dwarf_Die die;

	if (depth > DEEPEST || dwarf_child(parent, &die) != 0)
		return;
	if (is_class(dwarf_tag(parent)) && !dwarf_diename(parent))
		holder.unnamed = *parent;
	do {
		int tag = dwarf_tag(&die);

		if (!w->budget)
			return;
		w->budget--;
		if (tag == DW_TAG_subprogram)
			note_function(w, &die, &holder);
		if (may_hold_functions(tag) && dwarf_haschildren(&die) > 0)
			find_functions(w, &die, prefix_below(w, &die, tag, prefix), depth + 1);
	} while (next_sibling(&die));
}

/* The entry that stands for the function whatever copy of it this is. */
static Dwarf_Die origin_of(Dwarf_Die die)
{
	Dwarf_Attribute attr;
	Dwarf_Die origin;

	for (int i = 0; i < LONGEST_CHAIN; i++) {
		if (!dwarf_attr(&die, DW_AT_abstract_origin, &attr) || !dwarf_formref_die(&attr, &origin))
			break;
		die = origin;
	}
	return die;
}

static struct holder *holder_of(struct walk *w, Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	Dwarf_Die declared;
	long id = pairs_find(&w->holder_ids, (uintptr_t)die->addr, 0);

	/* A definition outside its class stands where the class doesn't. */
	if (id < 0 && dwarf_attr(die, DW_AT_specification, &attr) && dwarf_formref_die(&attr, &declared))
		id = pairs_find(&w->holder_ids, (uintptr_t)declared.addr, 0);
	return id < 0 ? NULL : &w->holders.v[id];
}

static const char *qualified_name(struct walk *w, Dwarf_Die *die, const struct holder *holder)
{
	const char *name = dwarf_diename(die);

	if (!name || !*name)
		return "(unnamed)";
	if (!holder)
		return texts_add(&w->s->m->pool, name, strlen(name));
	return texts_printf(&w->s->m->pool, "%s::%s", holder->prefix, name);
}

static struct unit *unit_of(struct walk *w, Dwarf_CU *cu)
{
	struct unit *unit;
	Dwarf_Die die;
	size_t id = pairs_must(&w->unit_ids, (uintptr_t)cu, 0);

	if (id < w->units.n)
		return &w->units.v[id];
	vec_add(&w->units, (struct unit){ 0 });
	unit = &w->units.v[id];
	if (dwarf_cu_info(cu, NULL, NULL, &die, NULL, NULL, NULL, NULL) < 0 ||
	    dwarf_getsrcfiles(&die, &unit->files, &unit->n_files) != 0)
		unit->n_files = 0;
	if (unit->n_files) {
		unit->ids = mem_malloc(unit->n_files * sizeof(*unit->ids));
		memset(unit->ids, 0xff, unit->n_files * sizeof(*unit->ids));
	}
	return unit;
}

/* The file that an attribute gives by its number.  libdw's own function aborts on units without lines. */
static uint32_t file_of(struct walk *w, Dwarf_Attribute *attr)
{
	struct unit *unit;
	Dwarf_Word number;
	const char *path;

	if (!attr || dwarf_formudata(attr, &number) != 0)
		return NO_ID;
	unit = unit_of(w, attr->cu);
	if (number >= unit->n_files)
		return NO_ID;
	if (unit->ids[number] == NO_ID) {
		path = dwarf_filesrc(unit->files, number, NULL, NULL);
		if (path)
			unit->ids[number] = debug_file_id(w->s->m, w->s->d, path);
	}
	return unit->ids[number];
}

/* Names that another file may use for something else. */
static bool is_local_linkage(const char *linkage)
{
	return !strncmp(linkage, "_ZL", 3) || strstr(linkage, "12_GLOBAL__N_") ||
	       strncmp(linkage, "_", 1) != 0;
}

static void describe(struct walk *w, Dwarf_Die *die, struct inlining *inlining)
{
	const char *linkage = linkage_name(die), *preferred;
	struct holder *holder = holder_of(w, die);
	Dwarf_Attribute attr;
	Dwarf_Die *declared = die;
	int line = 0;

	/* A closure's call has no place of its own, but its class has: else all closures of a function were one. */
	if (holder && holder->unnamed.addr && dwarf_decl_line(die, &line) != 0)
		declared = &holder->unnamed;
	inlining->file = file_of(w, dwarf_attr_integrate(declared, DW_AT_decl_file, &attr));
	inlining->line = !dwarf_decl_line(declared, &line) && line > 0 ? (unsigned)line : 0;
	inlining->column = !dwarf_decl_column(declared, &line) && line > 0 ? (unsigned)line : 0;
	if (linkage && *linkage) {
		inlining->linkage = texts_add(&w->s->m->pool, linkage, strlen(linkage));
		inlining->name = NULL;
	} else {
		inlining->linkage = inlining->name = qualified_name(w, die, holder);
	}
	/* In glibc malloc is __libc_malloc, as __GI___libc_malloc: its users know it by the name that they call. */
	preferred = symbols_preferred(w->s->m, inlining->linkage);
	if (preferred != inlining->linkage) {
		inlining->linkage = preferred;
		inlining->name = NULL;
	}
}

/* The inlining of an origin that was not met before: that of another unit's copy of the same function, or a new one. */
static void new_origin(struct walk *w, Dwarf_Die *origin)
{
	struct debug *d = w->s->d;
	struct inlining inlining;
	const char *key;
	size_t id;

	describe(w, origin, &inlining);
	key = inlining.name || is_local_linkage(inlining.linkage)
	              ? texts_printf(&w->s->m->pool, "%s %u:%u:%u", inlining.linkage, inlining.file,
	                             inlining.line, inlining.column)
	              : inlining.linkage;
	id = pairs_must(&w->inlining_keys, (uintptr_t)key, 0);
	if (id == d->inlinings.n)
		vec_add(&d->inlinings, inlining);
	vec_add(&w->inlining_of, (uint32_t)id);
}

static void inlining_of(struct walk *w, Dwarf_Die *die, uint32_t *id)
{
	Dwarf_Die origin = origin_of(*die);
	size_t number = pairs_must(&w->origins, (uintptr_t)origin.addr, 0);

	if (number == w->inlining_of.n)
		new_origin(w, &origin);
	*id = w->inlining_of.v[number];
}

/* The ranges of a copy; *n_ranges counts those that are code. */
static void add_ranges(struct walk *w, Dwarf_Die *die, uint32_t owner, uint32_t depth, size_t *n_ranges)
{
	Dwarf_Addr base = 0, start, end;
	ptrdiff_t offset = 0;

	while (w->budget && (offset = dwarf_ranges(die, offset, &base, &start, &end)) > 0) {
		w->budget--;
		start += w->s->shift;
		end += w->s->shift;
		if (start >= end || !debug_is_code(w->s->m, start) || !debug_is_code(w->s->m, end - 1))
			continue;
		vec_add(&w->intervals, (struct interval){ start, end, owner, depth });
		++*n_ranges;
	}
}

/* Names that stand in a file of dwz's are not there without it: code goes by its symbol then, as if it had no entry. */
static bool has_name(Dwarf_Die *die)
{
	Dwarf_Die origin = origin_of(*die);
	const char *linkage = linkage_name(&origin), *name = dwarf_diename(&origin);

	return (linkage && *linkage) || (name && *name);
}

static void add_copy(struct walk *w, Dwarf_Die *die, uint32_t parent, uint32_t depth, bool *used)
{
	struct copy copy = { .parent = parent, .call_file = NO_ID };
	uint32_t owner = (uint32_t)w->s->d->copies.n;
	Dwarf_Attribute attr;
	Dwarf_Word line;
	size_t n_ranges = 0;

	if (has_name(die))
		add_ranges(w, die, owner, depth, &n_ranges);
	*used = n_ranges > 0;
	if (!*used)
		return;
	inlining_of(w, die, &copy.inlining);
	if (parent != NO_ID) {
		copy.call_file = file_of(w, dwarf_attr(die, DW_AT_call_file, &attr));
		if (!dwarf_formudata(dwarf_attr(die, DW_AT_call_line, &attr), &line))
			copy.call_line = (uint32_t)line;
	}
	vec_add(&w->s->d->copies, copy);
}

/* The copies inlined below an entry that belongs to the copy `parent`. */
static void add_inlined(struct walk *w, Dwarf_Die *entry, uint32_t parent, uint32_t depth)
{
	Dwarf_Die die;

	if (depth > DEEPEST || dwarf_child(entry, &die) != 0)
		return;
	do {
		int tag = dwarf_tag(&die);
		uint32_t owner = (uint32_t)w->s->d->copies.n;
		bool used = false;

		if (!w->budget)
			return;
		w->budget--;
		if (tag == DW_TAG_inlined_subroutine)
			add_copy(w, &die, parent, depth, &used);
		if (used || tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block ||
		    tag == DW_TAG_try_block || tag == DW_TAG_catch_block)
			add_inlined(w, &die, used ? owner : parent, depth + 1);
	} while (next_sibling(&die));
}

static void add_function(struct walk *w, Dwarf_Die *die)
{
	uint32_t owner = (uint32_t)w->s->d->copies.n;
	bool used;

	add_copy(w, die, NO_ID, 0, &used);
	if (used)
		add_inlined(w, die, owner, 1);
}

/* The first file of debug information that is not found is named, for one remedy serves all. */
static void note_lacking(struct module *m, const char *name)
{
	if (!m->lacks)
		m->lacks = mem_printf("debug information is in '%s', which is not there: functions that were "
		                      "inlined, and some names and lines, are not known",
		                      name);
}

static void note_split(struct walk *w, Dwarf_Die *skeleton)
{
	Dwarf_Attribute attr;
	const char *name = dwarf_formstring(dwarf_attr(skeleton, DW_AT_dwo_name, &attr));

	if (!name)
		name = dwarf_formstring(dwarf_attr(skeleton, DW_AT_GNU_dwo_name, &attr));
	note_lacking(w->s->m, name ? name : "a .dwo file");
}

static void note_alternate(struct dwarf_source *s)
{
	const char *name;
	const void *id;

	if (dwelf_dwarf_gnu_debugaltlink(s->dwarf, &name, &id) > 0)
		note_lacking(s->m, name);
}

/* The unit whose entries count: of a skeleton the one in its .dwo file. */
static bool unit_entry(struct walk *w, Dwarf *dwarf, Dwarf_Off off, size_t header_bytes, Dwarf_Die *unit)
{
	Dwarf_Die split;
	uint8_t type;

	if (!dwarf_offdie(dwarf, off + header_bytes, unit))
		return false;
	if (dwarf_cu_info(unit->cu, NULL, &type, NULL, &split, NULL, NULL, NULL) || type != DW_UT_skeleton)
		return true;
	if (split.addr)
		*unit = split;
	else
		note_split(w, unit);
	return true;
}

static void walk_units(struct walk *w, Dwarf *dwarf)
{
	enum { SPLIT_BYTES = 64 << 20 }; /* a .dwo file's size isn't known here */
	Dwarf_Off off = 0, next;
	size_t header_bytes;

	while (!dwarf_nextcu(dwarf, off, &next, &header_bytes, NULL, NULL, NULL) && next > off) {
		Dwarf_Die unit;

		if (unit_entry(w, dwarf, off, header_bytes, &unit)) {
			/* Entries are visited twice: here and for their copies; ranges are counted, too. */
			w->budget += 4 * (next - off);
			if (dwarf_cu_getdwarf(unit.cu) != dwarf)
				w->budget += SPLIT_BYTES;
			find_functions(w, &unit, "", 0);
		}
		off = next;
	}
}

static void walk_fini(struct walk *w)
{
	for (size_t i = 0; i < w->units.n; i++)
		free(w->units.v[i].ids);
	vec_fini(&w->units);
	pairs_fini(&w->unit_ids);
	vec_fini(&w->intervals);
	pairs_fini(&w->inlining_keys);
	vec_fini(&w->inlining_of);
	pairs_fini(&w->origins);
	vec_fini(&w->holders);
	pairs_fini(&w->holder_ids);
	vec_fini(&w->functions);
}

void dwarf_inlinings_load(struct dwarf_source *s)
{
	struct walk w = { .s = s };
	Dwarf *alt = dwarf_getalt(s->dwarf);

	walk_units(&w, s->dwarf);
	/* What several files share is in dwz's file: no code, but the names. */
	if (alt)
		walk_units(&w, alt);
	else
		note_alternate(s);
	for (size_t i = 0; i < w.functions.n; i++)
		add_function(&w, &w.functions.v[i]);
	spans_cut(&w.intervals, &s->d->spans);
	walk_fini(&w);
}
