/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_SIM_FOLLOW_H
#define SKIDPROF_SIM_FOLLOW_H

/*
 * Following a program through exec: the emulator runs one program, and what
 * that executes would run natively.  So the emulator is executed in its
 * place, with the options it was begun with, on the same file as the kernel
 * would take, through scripts' first lines.
 */
#include <stddef.h>
#include <stdint.h>

struct follow {
	char **word; /* the emulator's path and the options that every program gets, NULL at the end */
	size_t n_words;
	uint16_t machine; /* e_machine of programs that it runs */
};

/* What this process was begun with, from /proc.  -SP_EIO, -SP_ENOMEM: nothing will be followed. */
int follow_init(struct follow *f, uint16_t machine);

/*
 * Become the emulator of the file that execve(path, argv, envp) would run.
 *
 * plugin  its argument -plugin, whole
 * Returns only when that can't be: 1 when execve would fail, too; 0 when it would succeed, and *why is a
 * phrase for the user then.
 */
int follow_exec(const struct follow *f, const char *plugin, const char *path, char *const *argv,
                char *const *envp, const char **why);

#endif
