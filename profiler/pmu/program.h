/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_PMU_PROGRAM_H
#define SKIDPROF_PMU_PROGRAM_H

/*
 * The program to record: found as execvp would find it, a script resolved to
 * its interpreter, the ELF header read.
 */
#include <limits.h>
#include <stdbool.h>

enum program_isa { PROGRAM_X86_64, PROGRAM_AARCH64 };

struct program {
	char path[PATH_MAX]; /* the ELF file */
	enum program_isa isa;
	char interp[PATH_MAX]; /* its dynamic linker; "" = static */
	char **argv;           /* what it gets; NULL-terminated, owned, argv[0] as execvp sets it */
	int argc;
};

/* -SP_ENOENT when there is no such program, -SP_ENOTSUP when it is not one we can run. */
int program_find(int argc, char **argv, struct program *out);
/* The file that execvp would take for a name: out has at least PATH_MAX bytes.  -SP_ENOENT with a suggestion. */
int program_locate(const char *name, char *out);
/* The path of an executable in PATH, at least PATH_MAX bytes; false where there is none. */
bool program_search(const char *name, char *out);
/* Would the kernel begin it with rights of another user or group, for its set-ID bits? */
bool program_gains_rights(const char *path);
void program_fini(struct program *p);

#endif
