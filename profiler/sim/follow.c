/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/sim/follow.h"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "profiler/base/err.h"
#include "profiler/base/setid.h"
#include "profiler/base/vec.h"

enum {
	MAX_WORDS_BYTES = 1 << 16,
	LINE_BYTES = 256, /* of a script's first line the kernel reads no more */
	MAX_SCRIPTS = 5,  /* scripts run by scripts: where the kernel gives up */
	MAX_SEGMENTS = 64,
};

struct words {
	VEC(char *) v; /* borrowed words */
	VEC(char *) owned;
	bool failed; /* no memory */
};

static void add(struct words *w, const char *word)
{
	if (vec_push(&w->v, (char *)word) < 0)
		w->failed = true;
}

/* A word that is freed with the list. */
static const char *keep(struct words *w, char *word)
{
	if (!word || vec_push(&w->owned, word) < 0) {
		free(word);
		w->failed = true;
		return "";
	}
	return word;
}

static void words_fini(struct words *w)
{
	for (size_t i = 0; i < w->owned.n; i++)
		free(w->owned.v[i]);
	vec_fini(&w->owned);
	vec_fini(&w->v);
}

/* ---- what we were begun with ---- */

static ssize_t read_file(const char *path, char *out, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t n = 0;
	ssize_t got = -1;

	while (fd >= 0 && n < size && (got = read(fd, out + n, size - n)) > 0)
		n += (size_t)got;
	if (fd >= 0)
		close(fd);
	return got < 0 ? -1 : (ssize_t)n;
}

/* The recorder writes "qemu -cpu X [-L X] -seed X -plugin X -0 NAME PROGRAM ...": its words up to -plugin. */
int follow_init(struct follow *f, uint16_t machine)
{
	char *text = malloc(MAX_WORDS_BYTES), path[PATH_MAX];
	ssize_t n = text ? read_file("/proc/self/cmdline", text, MAX_WORDS_BYTES) : -1;
	ssize_t n_path = readlink("/proc/self/exe", path, sizeof(path) - 1);
	struct words w = { .failed = n <= 0 || n_path <= 0 };

	memset(f, 0, sizeof(*f));
	f->machine = machine;
	if (!w.failed) {
		path[n_path] = '\0';
		add(&w, keep(&w, strdup(path)));
		for (char *s = text + strlen(text) + 1; s < text + n && strcmp(s, "-plugin") != 0;
		     s += strlen(s) + 1) {
			/* Of the program before: see add_environment. */
			if (strcmp(s, "-E") == 0)
				s += strlen(s) + 1;
			else
				add(&w, keep(&w, strdup(s)));
		}
		add(&w, NULL);
	}
	free(text);
	if (w.failed) {
		words_fini(&w);
		return sp_fail(SP_EIO, "/proc/self/cmdline: not to be read, so no exec will be followed");
	}
	f->word = w.v.v; /* and what is owned lives as long as we do */
	f->n_words = w.v.n - 1;
	return 0;
}

/* ---- what the kernel would run ---- */

/*
 * The first line of a script, as Linux's binfmt_script reads it: an interpreter and perhaps one argument,
 * with spaces and tabs around.  line is cut up.  False: none.
 */
static bool parse_script(char *line, char **interpreter, char **argument)
{
	char *s = line + 2, *end;

	line[strcspn(line, "\n")] = '\0';
	s += strspn(s, " \t");
	for (end = s + strlen(s); end > s && strchr(" \t", end[-1]); end--)
		end[-1] = '\0';
	*interpreter = s;
	s += strcspn(s, " \t");
	if (*s) {
		*s++ = '\0';
		s += strspn(s, " \t");
	}
	*argument = *s ? s : NULL;
	return **interpreter != '\0';
}

/* The dynamic linker that a program asks for: there is none, or it can be read. */
static bool has_linker(int fd, const Elf64_Ehdr *eh)
{
	char path[PATH_MAX];

	for (unsigned i = 0; i < eh->e_phnum && i < MAX_SEGMENTS; i++) {
		Elf64_Phdr ph;
		off_t at = (off_t)(eh->e_phoff + i * sizeof(ph));

		if (pread(fd, &ph, sizeof(ph), at) != (ssize_t)sizeof(ph) || ph.p_type != PT_INTERP)
			continue;
		if (ph.p_filesz >= sizeof(path) ||
		    pread(fd, path, ph.p_filesz, (off_t)ph.p_offset) != (ssize_t)ph.p_filesz)
			return false;
		path[ph.p_filesz] = '\0';
		return access(path, R_OK) == 0;
	}
	return true;
}

/* With -L the emulator looks elsewhere first. */
static bool has_prefix(const struct follow *f)
{
	for (size_t i = 1; i < f->n_words; i++)
		if (strcmp(f->word[i], "-L") == 0)
			return true;
	return false;
}

/* A phrase why the emulator can't run it; NULL: it can; "": nothing can. */
static const char *judge_elf(const struct follow *f, int fd)
{
	struct stat st;
	Elf64_Ehdr eh;

	if (pread(fd, &eh, sizeof(eh), 0) < (ssize_t)EI_NIDENT || memcmp(eh.e_ident, ELFMAG, SELFMAG) != 0)
		return "";
	if (eh.e_ident[EI_CLASS] != ELFCLASS64 || eh.e_machine != f->machine)
		return "it is for another processor";
	if (fstat(fd, &st) < 0 || setid_gains_rights(&st))
		return "it runs with another user's rights";
	return has_prefix(f) || has_linker(fd, &eh) ? NULL : "";
}

/*
 * The program at the end of the scripts, and its arguments: into `path` and w.
 * Returns as judge_elf does.
 */
static const char *resolve(const struct follow *f, const char **path, char *const *argv, struct words *w)
{
	struct words script = { 0 }; /* interpreter and argument of each, the last one's first */
	const char *why = "";

	for (unsigned depth = 0; depth <= MAX_SCRIPTS; depth++) {
		char line[LINE_BYTES + 1] = "", *interpreter, *argument;
		int fd = open(*path, O_RDONLY | O_CLOEXEC);
		ssize_t n;

		if (fd < 0)
			why = access(*path, X_OK) == 0 ? "its file can't be read" : "";
		if (fd < 0 || access(*path, X_OK) != 0) {
			if (fd >= 0)
				close(fd);
			break;
		}
		n = pread(fd, line, LINE_BYTES, 0);
		if (n < 2 || memcmp(line, "#!", 2) != 0) {
			why = judge_elf(f, fd);
			close(fd);
			break;
		}
		close(fd);
		if (!parse_script(line, &interpreter, &argument))
			break;
		/* interpreter [argument] path: so it stands before what was found until now. */
		if (script.v.n)
			script.v.v[script.v.n - 1] = NULL;
		add(&script, keep(w, strdup(*path)));
		if (argument)
			add(&script, keep(w, strdup(argument)));
		add(&script, *path = keep(w, strdup(interpreter)));
	}
	for (size_t i = script.v.n; i-- > 0;)
		if (script.v.v[i])
			add(w, script.v.v[i]);
	if (!script.v.n && argv && argv[0])
		add(w, argv[0]);
	for (size_t i = 1; argv && argv[0] && argv[i]; i++)
		add(w, argv[i]);
	w->failed |= script.failed;
	words_fini(&script);
	return why;
}

/* ---- */

/*
 * What steers the dynamic linker must reach the program's, not the emulator's
 * own.  The rest of the environment goes through as it is.
 */
static void add_environment(struct words *w, char *const *envp, struct words *env)
{
	for (size_t i = 0; envp && envp[i]; i++) {
		if (strncmp(envp[i], "LD_", 3) != 0) {
			add(env, envp[i]);
			continue;
		}
		add(w, "-E");
		add(w, envp[i]);
	}
	add(env, NULL);
}

int follow_exec(const struct follow *f, const char *plugin, const char *path, char *const *argv,
                char *const *envp, const char **why)
{
	struct words command = { 0 }, program = { 0 }, env = { 0 };
	char dashed[PATH_MAX + 2];
	const char *reason = resolve(f, &path, argv, &program);

	if (!reason && f->n_words && !program.failed) {
		for (size_t i = 0; i < f->n_words; i++)
			add(&command, f->word[i]);
		add_environment(&command, envp, &env);
		add(&command, "-plugin");
		add(&command, plugin);
		add(&command, "-0");
		add(&command, program.v.n ? program.v.v[0] : "");
		snprintf(dashed, sizeof(dashed), "%s%s", *path == '-' ? "./" : "", path);
		add(&command, dashed);
		for (size_t i = 1; i < program.v.n; i++)
			add(&command, program.v.v[i]);
		add(&command, NULL);
		if (!command.failed && !env.failed)
			execve(command.v.v[0], command.v.v, env.v.v);
		reason = "the emulator could not be started for it";
	} else if (!reason) {
		reason = "/proc can't be read";
	}
	words_fini(&command);
	words_fini(&program);
	words_fini(&env);
	*why = reason;
	return *reason == '\0';
}
