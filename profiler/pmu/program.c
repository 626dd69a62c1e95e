/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/pmu/program.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "profiler/base/err.h"
#include "profiler/base/setid.h"

/* As many as the kernel follows, and its limit for a script's first line. */
enum { MAX_SCRIPTS = 5, MAX_SHEBANG = 256 };

static bool is_program(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

static int explain_missing(const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return sp_fail(SP_ENOENT, "%s: %s", path,
		               errno == ENOENT ? "no such program" : strerror(errno));
	if (S_ISDIR(st.st_mode))
		return sp_fail(SP_ENOENT, "%s: is a folder, not a program", path);
	return sp_fail(SP_ENOENT, "%s: is not executable (chmod +x)", path);
}

bool program_gains_rights(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && setid_gains_rights(&st);
}

bool program_search(const char *name, char *out)
{
	const char *dirs = getenv("PATH");

	for (dirs = dirs ? dirs : "/bin:/usr/bin"; dirs; dirs = strchr(dirs, ':')) {
		size_t n;

		dirs += *dirs == ':';
		n = strcspn(dirs, ":");
		/* An empty entry of PATH is the current folder. */
		if (snprintf(out, PATH_MAX, "%.*s%s%s", (int)n, dirs, n ? "/" : "./", name) < PATH_MAX &&
		    is_program(out))
			return true;
	}
	return false;
}

static int search_path(const char *name, char *out)
{
	char here[PATH_MAX + 2];

	if (program_search(name, out))
		return 0;
	snprintf(here, sizeof(here), "./%s", name);
	if (is_program(here))
		return sp_fail(SP_ENOENT, "%s: no such program in PATH; did you mean %s?", name, here);
	return sp_fail(SP_ENOENT, "%s: no such program in PATH", name);
}

static int find(const char *name, char *out)
{
	if (!*name)
		return sp_fail(SP_ENOENT, "the program's name is empty");
	if (!strchr(name, '/'))
		return search_path(name, out);
	if (strlen(name) >= PATH_MAX)
		return sp_fail(SP_ENOENT, "%.40s...: the path is too long", name);
	if (!is_program(name))
		return explain_missing(name);
	strcpy(out, name);
	return 0;
}

static bool is_text(const char *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)bytes[i] < ' ' && !strchr("\t\n\r\f", bytes[i]))
			return false;
	return true;
}

/* What the kernel will refuse, before a recording takes another's place: text that it can't run. */
static int check_script(const char *path)
{
	char head[MAX_SHEBANG + 1] = "", *interp;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, head, MAX_SHEBANG);

	if (fd >= 0)
		close(fd);
	/* What may be run and not be read is the kernel's to judge. */
	if (n < 0 || !is_text(head, (size_t)n))
		return 0;
	if (strncmp(head, "#!", 2) != 0)
		return sp_fail(
		        SP_ENOTSUP,
		        "%s: is neither an ELF program nor a script that begins with #!: if a shell runs "
		        "it, record 'sh %s'",
		        path, path);
	interp = head + 2 + strspn(head + 2, " \t");
	interp[strcspn(interp, " \t\n")] = '\0';
	if (*interp && !is_program(interp))
		return sp_fail(SP_ENOENT, "%s: its interpreter %s is missing or not executable", path,
		               interp[strcspn(interp, "\r")] ? "(the line ends in a carriage return)"
		                                             : interp);
	return 0;
}

int program_locate(const char *name, char *out)
{
	int err = find(name, out);

	return err < 0 ? err : check_script(out);
}

/* Replace argv[0] by the words before it: "interpreter [argument] script". */
static int push_front(struct program *p, const char *interp, const char *arg, const char *script)
{
	int more = arg ? 2 : 1;
	char **argv = calloc((size_t)p->argc + (size_t)more + 1, sizeof(*argv));
	char *first = strdup(interp), *second = arg ? strdup(arg) : NULL, *third = strdup(script);

	if (!argv || !first || (arg && !second) || !third) {
		free(argv);
		free(first);
		free(second);
		free(third);
		return sp_fail(SP_ENOMEM, "out of memory");
	}
	argv[0] = first;
	if (arg)
		argv[1] = second;
	argv[more] = third;
	for (int i = 1; i < p->argc; i++)
		argv[i + more] = p->argv[i];
	free(p->argv[0]);
	free(p->argv);
	p->argv = argv;
	p->argc += more;
	return 0;
}

/* "#!/bin/sh -e": the rest of the line after the interpreter is one argument, as for the kernel. */
static int take_script(struct program *p, char *line)
{
	char script[PATH_MAX], *interp, *arg, *end;

	line[strcspn(line, "\n")] = '\0';
	end = line + strlen(line);
	while (end > line && strchr(" \t\r", end[-1]))
		*--end = '\0';
	interp = line + 2 + strspn(line + 2, " \t");
	if (!*interp)
		return sp_fail(SP_ENOTSUP, "%s: a script whose first line names no interpreter", p->path);
	arg = interp + strcspn(interp, " \t");
	if (*arg) {
		*arg++ = '\0';
		arg += strspn(arg, " \t");
	}
	strcpy(script, p->path);
	if (!is_program(interp))
		return sp_fail(SP_ENOENT, "%s: its interpreter %s is missing or not executable", script,
		               interp);
	if (strlen(interp) >= PATH_MAX)
		return sp_fail(SP_ENOTSUP, "%s: the interpreter's path is too long", script);
	/* "#!/usr/bin/env NAME" only searches PATH, and what it would exec is lost to the emulator: search here. */
	if (strcmp(strrchr(interp, '/') ? strrchr(interp, '/') + 1 : interp, "env") == 0 && *arg &&
	    !strpbrk(arg, "= \t/") && *arg != '-') {
		if (!program_search(arg, p->path))
			return sp_fail(SP_ENOENT, "%s: its interpreter %s is not in PATH", script, arg);
		return push_front(p, arg, NULL, script);
	}
	strcpy(p->path, interp);
	return push_front(p, interp, *arg ? arg : NULL, script);
}

static int read_interp(struct program *p, int fd, const Elf64_Ehdr *h)
{
	for (unsigned i = 0; i < h->e_phnum; i++) {
		Elf64_Phdr ph;
		off_t at = (off_t)(h->e_phoff + (uint64_t)i * h->e_phentsize);

		if (pread(fd, &ph, sizeof(ph), at) != (ssize_t)sizeof(ph))
			return sp_fail(SP_EFORMAT, "%s: its program headers are cut off", p->path);
		if (ph.p_type != PT_INTERP)
			continue;
		if (ph.p_filesz == 0 || ph.p_filesz >= sizeof(p->interp) ||
		    pread(fd, p->interp, ph.p_filesz, (off_t)ph.p_offset) != (ssize_t)ph.p_filesz)
			return sp_fail(SP_EFORMAT, "%s: its dynamic linker's name is damaged", p->path);
		p->interp[ph.p_filesz] = '\0';
		return 0;
	}
	return 0;
}

static int check_elf(struct program *p, int fd, const Elf64_Ehdr *h, ssize_t n)
{
	if (n < (ssize_t)sizeof(Elf32_Ehdr) || memcmp(h->e_ident, ELFMAG, SELFMAG) != 0)
		return sp_fail(SP_ENOTSUP, "%s: is neither an ELF program nor a script that begins with #!",
		               p->path);
	if (h->e_ident[EI_CLASS] != ELFCLASS64)
		return sp_fail(SP_ENOTSUP,
		               "%s: is a 32-bit program; only 64-bit x86-64 and aarch64 ones can be "
		               "recorded",
		               p->path);
	if (h->e_ident[EI_DATA] != ELFDATA2LSB || n < (ssize_t)sizeof(*h) ||
	    (h->e_machine != EM_X86_64 && h->e_machine != EM_AARCH64))
		return sp_fail(
		        SP_ENOTSUP,
		        "%s: is a program for another machine (ELF machine %u); only x86-64 and aarch64 "
		        "ones can be recorded",
		        p->path, h->e_machine);
	if (h->e_type != ET_EXEC && h->e_type != ET_DYN)
		return sp_fail(SP_ENOTSUP, "%s: is an object or core file, not a program", p->path);
	p->isa = h->e_machine == EM_X86_64 ? PROGRAM_X86_64 : PROGRAM_AARCH64;
	return read_interp(p, fd, h);
}

/* 1: a script, p is its interpreter now, look again. */
static int look_inside(struct program *p)
{
	union {
		Elf64_Ehdr elf;
		char text[MAX_SHEBANG];
	} head = { .text = "" };
	int fd = open(p->path, O_RDONLY | O_CLOEXEC), err;
	ssize_t n;

	if (fd < 0)
		return sp_fail_errno("%s: must be readable to be recorded", p->path);
	n = read(fd, head.text, sizeof(head) - 1);
	if (n > 2 && memcmp(head.text, "#!", 2) == 0) {
		head.text[n] = '\0';
		err = take_script(p, head.text);
		err = err < 0 ? err : 1;
	} else {
		err = check_elf(p, fd, &head.elf, n);
	}
	close(fd);
	return err;
}

int program_find(int argc, char **argv, struct program *out)
{
	int err;

	memset(out, 0, sizeof(*out));
	if (argc < 1)
		return sp_fail(SP_EUSAGE, "which program?");
	out->argv = calloc((size_t)argc + 1, sizeof(*out->argv));
	if (!out->argv)
		return sp_fail(SP_ENOMEM, "out of memory");
	for (; out->argc < argc; out->argc++) {
		out->argv[out->argc] = strdup(argv[out->argc]);
		if (!out->argv[out->argc]) {
			err = sp_fail(SP_ENOMEM, "out of memory");
			goto out;
		}
	}
	err = program_locate(argv[0], out->path);
	if (err < 0)
		goto out;
	for (int i = 0; i < MAX_SCRIPTS; i++) {
		err = look_inside(out);
		if (err <= 0)
			break;
	}
	if (err > 0)
		err = sp_fail(SP_ENOTSUP, "%s: scripts run by scripts, too deep", argv[0]);
out:
	if (err < 0)
		program_fini(out);
	return err;
}

void program_fini(struct program *p)
{
	for (int i = 0; p->argv && i < p->argc; i++)
		free(p->argv[i]);
	free(p->argv);
	p->argv = NULL;
	p->argc = 0;
}
