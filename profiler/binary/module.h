/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_BINARY_MODULE_H
#define SKIDPROF_BINARY_MODULE_H

/*
 * A module: one ELF file (program, shared object, vdso) that was mapped,
 * opened for its code, its symbols and its debug information.  All addresses
 * are vaddr, as linked.  What is costly (DWARF) is read on first use, one
 * pass a module; a module is used by one thread at a time.
 */
#include <time.h>

#include "profiler/binary/insn.h"

struct module;

enum module_state {
	MODULE_OK,
	MODULE_MISSING,  /* no such file */
	MODULE_MISMATCH, /* the build id is not the recorded one: not used */
	MODULE_FOREIGN,  /* an ELF file for another machine, or no ELF file */
	MODULE_NAMED,    /* no code, but functions: a list of names, perf-PID.map or the kernel's */
};

struct module_options {
	const char *symfs;     /* prefix put before recorded paths; NULL = none */
	const char *debug_dir; /* more places for separate debug files, ':' between; NULL = the system's */
	bool no_debuginfod;
	/* When the recording ended: a file that was written later, and that no build id tells, may be another.  0 = not known. */
	struct timespec recorded;
	/* The release of the recorded kernel, whose vdso another one has not; NULL = not known.  Borrowed. */
	const char *os_release;
	/* Where the recorded kernel was: the address of that symbol; 0 and NULL = not known.  Borrowed. */
	uint64_t kernel_text;
	const char *kernel_symbol;
};

/*
 * Where in the words of a state what to do about a file that is gone or isn't the one that ran begins, which is the same for all;
 * their length where they are about something else.
 */
size_t module_remedy_at(const char *why);

/*
 * Always gives a module, usable to the degree of its state: one that isn't
 * MODULE_OK has no code, and but for MODULE_NAMED no symbols.  Of a jitdump
 * path is that of the file, or that with "#1", "#2" ... behind it for another
 * layer (jitdump.h).  build_id as recorded, 0 bytes to
 * take any.  *why (borrowed from the module) words a state that isn't OK.  -SP_EIO where a
 * jitdump or a list of names can't be read, -SP_ENOTSUP without a decoder for PLT stubs.
 */
int module_open(const char *path, const uint8_t *build_id, size_t build_id_bytes,
                const struct module_options *opts, struct module **out);
void module_free(struct module *m);

enum module_state module_state(const struct module *m);
const char *module_why(const struct module *m); /* when OK: why it may not be the file that ran, or "" */
/* What debug information is not there, as far as it was asked for; "" = none that is known of. */
const char *module_lacks(const struct module *m);
const char *module_path(const struct module *m);
/* Does a mapping of this name hold what a program made when it ran, a just-in-time compiler's code, say, and no file? */
bool module_is_memory(const char *path);
/* Is its vaddr the address at run time, for the code was made then? */
bool module_is_made(const struct module *m);
bool module_path_is_made(const char *path);          /* told by its name */
const char *module_build_id(const struct module *m); /* hex text, "" if none */
enum insn_isa module_isa(const struct module *m);
/* Is it a program that processes begin with, and not a library?  By its type, or the linker's flag of a program that may lie anywhere. */
bool module_is_program(const struct module *m);
bool module_has_debug(struct module *m); /* DWARF lines were found */

/* File offset to vaddr by the program headers, and back.  False where no segment holds it. */
bool module_vaddr(const struct module *m, uint64_t off, uint64_t *vaddr);
bool module_off(const struct module *m, uint64_t vaddr, uint64_t *off);

/*
 * The bytes of an executable segment at vaddr; *n_bytes is how many follow in
 * it.  NULL where there is no code.  Borrowed.
 */
const uint8_t *module_code(const struct module *m, uint64_t vaddr, size_t *n_bytes);

/* Any allocated, initialised bytes (jump tables in .rodata too). */
const uint8_t *module_data(const struct module *m, uint64_t vaddr, size_t *n_bytes);

/*
 * A function as the linker knows it: from .symtab, else .dynsym, else, in
 * stripped files, the range of an .eh_frame FDE with a made-up name
 * ("0x1234" style: "[libm.so.6+0x1234]").  Sizes of symbols that have none
 * reach to the next symbol.  Aliases fold into one, the preferred name first (global over
 * weak over local, fewer leading underscores).
 */
struct module_func {
	uint64_t vaddr, size_bytes;
	const char *
	        name; /* demangled, without parameters' noise as the demangler gives it; "@plt" suffix in PLT sections */
	const char *linkage; /* as in the symbol table */
	bool ifunc;          /* STT_GNU_IFUNC: the resolver, not the function */
	bool made_up;        /* no symbol: from .eh_frame or the gaps between symbols */
};

size_t module_n_funcs(const struct module *m);
const struct module_func *module_func(const struct module *m, size_t i); /* in address order */
/* Index of the function that holds vaddr, -1 if none. */
long module_func_at(const struct module *m, uint64_t vaddr);
/* "ns::f(int)" of a C++ linkage name, as valgrind and gdb write it: malloc'd, NULL for a name that is not mangled. */
char *module_full_name(const char *linkage);
/* Index of the defined function of that linkage name, of several versions the default one; -1 if none. */
long module_func_named(const struct module *m, const char *linkage);
/* All other linkage names of what has that one, a line each: in the module's pool, NULL = there are none. */
const char *module_aliases(struct module *m, const char *linkage);

/*
 * What the dynamic linker puts into the 8-byte slot at vaddr (PLT, GOT, data
 * pointers): the linkage name of a symbol, or with *name == NULL an address
 * in this module (relative relocations), *ifunc when it is an IRELATIVE
 * resolver.  False where no relocation is.
 */
bool module_slot(struct module *m, uint64_t vaddr, const char **name, uint64_t *target, bool *ifunc);

/*
 * Does the frame pointer point to the frame of the function that vaddr is in, so that a chain of them has its caller?  UNKNOWN
 * where no call frame information tells.
 */
enum module_frame { MODULE_FRAME_UNKNOWN, MODULE_FRAME_NONE, MODULE_FRAME_SET };
enum module_frame module_frame_at(struct module *m, uint64_t vaddr);

/* Source line of an instruction: file borrowed, NULL and 0 where unknown. */
void module_line(struct module *m, uint64_t vaddr, const char **file, unsigned *line);

/* The folder that a relative `file`, as module_line() or an inlining gave it, was compiled in; NULL = not known. */
const char *module_file_dir(struct module *m, const char *file);

/*
 * The functions inlined at an instruction, innermost first, ended by the
 * physical function.  Inlining ids are unique in the module and name the
 * *function* (DWARF abstract origin), not the place it was inlined at: all
 * inlined copies and the out-of-line one share one id.
 */
struct module_inlining {
	uint32_t id;
	const char *name;      /* demangled */
	const char *linkage;   /* may be equal to name */
	const char *file;      /* of the declaration; NULL if unknown */
	unsigned line, column; /* of the declaration; 0 = not known */
	const char *call_file; /* where this copy was inlined; NULL for the physical one */
	unsigned call_line;
};

enum { MODULE_MAX_INLININGS = 32 };

/* Fills inlinings[0..MODULE_MAX_INLININGS); returns how many (0 where not even a symbol is known). */
size_t module_inlinings(struct module *m, uint64_t vaddr, struct module_inlining *inlinings);
/* One past the largest inlining id given out so far. */
uint32_t module_n_inlinings(const struct module *m);

#endif
