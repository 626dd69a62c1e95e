/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_BINARY_MODULE_IMPL_H
#define SKIDPROF_BINARY_MODULE_IMPL_H

/* The inside of a module, shared by the files of this room; nobody else includes this. */
#include "profiler/base/texts.h"
#include "profiler/base/vec.h"
#include "profiler/binary/module.h"
#include "profiler/binary/spans.h"

#include <elfutils/libdwelf.h>
#include <elfutils/libdwfl.h>
#include <libelf.h>

struct segment {
	uint64_t vaddr, off, file_bytes, mem_bytes;
	bool executable;
};

/* Where code can be: an executable section, or segment where there are no sections. */
struct code_range {
	uint64_t vaddr, size_bytes;
	const char *section;  /* "" if it is a segment */
	uint64_t entry_bytes; /* of a PLT section; 0 where the linker doesn't say */
};

/* Aliases have an entry each. */
struct func_name {
	const char *linkage;
	uint64_t vaddr;
	uint8_t rank; /* of several names for one address: lower is better */
	bool old;     /* kept for old programs: "exp@GLIBC_2.2.5" beside "exp@@GLIBC_2.29"; found last */
};

struct slot {
	uint64_t vaddr, target;
	const char *name;
	bool ifunc;
};

struct debug;

struct module {
	char *path;   /* as asked for */
	char *opened; /* with symfs, without " (deleted)" */
	char *why, *build_id;
	char *lacks; /* debug information that is in a file that is not there; NULL = none known of */
	enum module_state state;
	enum insn_isa isa;
	bool program; /* module_is_program() */
	int fd;
	Elf *elf;
	const uint8_t *raw; /* the file */
	size_t raw_bytes;
	uint8_t *read;              /* the same where it had to be read: a jitdump */
	struct module_options opts; /* strings of its own */
	Dwfl *dwfl;                 /* finds the debug file; NULL once it is no longer needed */
	Dwfl_Module *dwfl_module;   /* NULL where libdwfl refuses the file */
	Dwfl_Callbacks callbacks;
	char *debug_path;
	struct texts pool;
	VEC(struct segment) segments;
	VEC(struct code_range) code;
	VEC(struct module_func) funcs;
	struct span_list spans;       /* owned by funcs */
	VEC(struct func_name) names;  /* by name */
	VEC(uint32_t) names_by_vaddr; /* into names; empty until aliases are asked for */
	VEC(struct slot) slots;
	struct debug *debug; /* NULL until DWARF was read */
	Dwarf_CFI *cfi;      /* NULL until asked for, or there is none */
};

/* symbols.c: fill m->funcs, spans and names. */
int symbols_load(struct module *m);
/* Demangled without parameters, in the module's pool; the linkage name itself where it isn't mangled. */
const char *symbols_demangle(struct texts *pool, const char *linkage);

/* The preferred name of what a symbol is the only one to name so; that name itself where no other is better. */
const char *symbols_preferred(const struct module *m, const char *linkage);

/* m->spans and m->names of m->funcs, which are in address order. */
void symbols_index(struct module *m);

/*
 * made.c: code that was made at run time.  m->fd is a jitdump, of which the module is one layer; or a list of names
 * (perf-PID.map), whose module has functions but no code.  m->state tells the rest.
 */
bool made_is_jitdump(int fd);
int made_load_jitdump(struct module *m, uint32_t layer);
int made_load_names(struct module *m);

/* kernel.c: the kernel's functions, by its list of symbols; likewise MODULE_NAMED at best. */
bool kernel_is_name(const char *path);
int kernel_load_names(struct module *m, const uint8_t *id, size_t id_bytes);

/* module.c: set the state and word it: 0, for who returns with that. */
int __attribute__((format(printf, 3, 4)))
module_unusable(struct module *m, enum module_state state, const char *fmt, ...);

/* ehframe.c: calls seen for every frame description entry's range. */
typedef void ehframe_seen(void *data, uint64_t vaddr, uint64_t size_bytes);
void ehframe_walk(const struct module *m, ehframe_seen *seen, void *data);

/* slots.c: fill m->slots, in address order. */
void slots_load(struct module *m);
const struct slot *slots_at(const struct module *m, uint64_t vaddr);

/* plt.c: calls seen for every stub of a PLT section that jumps through a slot. */
typedef int plt_seen(void *data, uint64_t vaddr, uint64_t size_bytes, const struct slot *slot);
int plt_walk(const struct module *m, plt_seen *seen, void *data);

/* debuglink.c: m->dwfl and m->dwfl_module, which find separate debug files; */
void debuglink_begin(struct module *m);
void debuglink_end(struct module *m);

/* dwarf.c: read all DWARF there is, once. */
struct debug *debug_get(struct module *m);
void debug_free(struct debug *d);

#endif
