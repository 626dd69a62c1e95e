/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/base/config.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/base/cmd.h"
#include "profiler/base/err.h"
#include "profiler/base/mem.h"

enum { MAX_OPTIONS = 256, MAX_FILE_BYTES = 1 << 20 };

static const char *const *known_commands;

void config_set_commands(const char *const *commands)
{
	known_commands = commands;
}

const char *const *config_commands(void)
{
	return known_commands;
}

/* What a reading goes by, and where it is. */
struct reading {
	const char *command;
	const char *const *commands;
	const struct argp_option *options;
	struct config *out;
	unsigned line;
	bool mine;   /* the section is the command's */
	bool in_one; /* there was a section */
};

static int find_path(char **out)
{
	const char *given = getenv("SKIDPROF_CONFIG"), *base = getenv("XDG_CONFIG_HOME"),
	           *home = getenv("HOME");
	int len = 0;

	*out = NULL;
	if (given && !*given)
		return 0;
	if (given)
		len = asprintf(out, "%s", given);
	/* The XDG specification: a path that is not absolute is to be ignored. */
	else if (base && *base == '/')
		len = asprintf(out, "%s/skidprof/config", base);
	else if (home && *home)
		len = asprintf(out, "%s/.config/skidprof/config", home);
	if (len >= 0)
		return 0;
	*out = NULL;
	return sp_fail(SP_ENOMEM, "out of memory");
}

static char *trim(char *text)
{
	size_t n;

	while (isspace((unsigned char)*text))
		text++;
	n = strlen(text);
	while (n && isspace((unsigned char)text[n - 1]))
		n--;
	text[n] = '\0';
	return text;
}

static int begin_section(struct reading *r, char *text)
{
	size_t n = strlen(text);
	const char *name, *near;

	if (text[n - 1] != ']')
		return sp_fail(SP_EFORMAT, "%s:%u: a section is written [NAME]: the ']' is missing",
		               r->out->path, r->line);
	text[n - 1] = '\0';
	name = trim(text + 1);
	r->mine = strcmp(name, r->command) == 0;
	r->in_one = true;
	for (size_t i = 0; r->commands[i]; i++)
		if (strcmp(name, r->commands[i]) == 0)
			return 0;
	near = cmd_suggest(name, r->commands);
	return sp_fail(SP_EFORMAT, "%s:%u: [%s]: no such command%s%s%s", r->out->path, r->line, name,
	               near ? "; did you mean [" : "; sections are named after commands", near ? near : "",
	               near ? "]?" : "");
}

static const struct argp_option *find_option(const struct argp_option *o, const char *key)
{
	for (; o && (o->name || o->key || o->doc); o++)
		if (o->name && strcmp(o->name, key) == 0)
			return o;
	return NULL;
}

static int unknown_key(const struct reading *r, const char *key)
{
	const char *words[MAX_OPTIONS], *near;
	size_t n = 0;

	for (const struct argp_option *o = r->options; (o->name || o->key || o->doc) && n + 1 < MAX_OPTIONS;
	     o++)
		if (o->name)
			words[n++] = o->name;
	words[n] = NULL;
	near = cmd_suggest(key, words);
	return sp_fail(SP_EFORMAT, "%s:%u: %s: 'skidprof %s' has no such option%s%s%s", r->out->path, r->line,
	               key, r->command, near ? "; did you mean " : ", see its --help", near ? near : "",
	               near ? "?" : "");
}

/* 1 for yes, 0 for no, -1 for neither. */
static int truth_of(const char *text)
{
	static const char *const yes[] = { "", "true", "yes", "on", "1" }, *const no[] = { "false", "no",
		                                                                           "off", "0" };

	for (size_t i = 0; i < sizeof(yes) / sizeof(yes[0]); i++)
		if (strcasecmp(text, yes[i]) == 0)
			return 1;
	for (size_t i = 0; i < sizeof(no) / sizeof(no[0]); i++)
		if (strcasecmp(text, no[i]) == 0)
			return 0;
	return -1;
}

static int add_word(struct reading *r, const char *key, const char *value)
{
	struct config_word *grown = realloc(r->out->words, (r->out->n + 1) * sizeof(*grown));
	char *text = NULL;

	if (grown)
		r->out->words = grown;
	if (!grown || asprintf(&text, value ? "--%s=%s" : "--%s", key, value) < 0)
		return sp_fail(SP_ENOMEM, "out of memory");
	grown[r->out->n++] = (struct config_word){ text, r->line };
	return 0;
}

static int add_key(struct reading *r, char *text)
{
	char *equals = strchr(text, '='), *key, *value = NULL;
	const struct argp_option *option;
	int yes;

	if (equals) {
		*equals = '\0';
		value = trim(equals + 1);
	}
	key = trim(text);
	if (!r->in_one)
		return sp_fail(
		        SP_EFORMAT,
		        "%s:%u: %s: in which command? A line [COMMAND], like [report], has to come first",
		        r->out->path, r->line, key);
	if (!r->mine)
		return 0;
	option = find_option(r->options, key);
	if (!option)
		return unknown_key(r, key);
	if (option->arg && !(option->flags & OPTION_ARG_OPTIONAL) && (!value || !*value))
		return sp_fail(SP_EFORMAT, "%s:%u: %s needs a value: %s = %s", r->out->path, r->line, key,
		               key, option->arg);
	if (option->arg)
		return add_word(r, key, value);
	yes = truth_of(value ? value : "");
	if (yes < 0)
		return sp_fail(SP_EFORMAT, "%s:%u: %s is on or off, and not '%s'", r->out->path, r->line, key,
		               value);
	return yes ? add_word(r, key, NULL) : 0;
}

/* A device may have no end, and no line's end, either. */
static int read_lines(struct reading *r, FILE *f)
{
	char *all = mem_malloc(MAX_FILE_BYTES + 1), *rest = all, *line;
	size_t n;
	int err = 0;

	errno = 0;
	n = fread(all, 1, MAX_FILE_BYTES, f);
	all[n] = '\0';
	if (n == MAX_FILE_BYTES)
		err = sp_fail(SP_EFORMAT, "%s: has a megabyte or more, and is no configuration",
		              r->out->path);
	while (err == 0 && (line = strsep(&rest, "\n"))) {
		char *text;

		r->line++;
		text = trim(line);
		if (*text == '[')
			err = begin_section(r, text);
		else if (*text && *text != '#' && *text != ';')
			err = add_key(r, text);
	}
	if (err == 0 && ferror(f))
		err = sp_fail_errno("%s", r->out->path);
	free(all);
	return err;
}

/* There is no file to read: what that means. */
static int without_file(struct config *out)
{
	bool asked_for = getenv("SKIDPROF_CONFIG");
	int err = 0;

	if (!asked_for && (errno == EACCES || errno == EPERM)) {
		out->unreadable = errno;
		return 0;
	}
	if (asked_for || (errno != ENOENT && errno != ENOTDIR))
		err = sp_fail_errno("%s", out->path);
	config_fini(out);
	return err;
}

int config_read(const char *command, const char *const *commands, const struct argp_option *options,
                struct config *out)
{
	struct reading r = { .command = command, .commands = commands, .options = options, .out = out };
	FILE *f;
	int err;

	*out = (struct config){ 0 };
	err = find_path(&out->path);
	if (err < 0 || !out->path)
		return err;
	f = fopen(out->path, "re");
	if (!f)
		return without_file(out);
	err = read_lines(&r, f);
	fclose(f);
	if (err < 0)
		config_fini(out);
	return err;
}

void config_fini(struct config *c)
{
	for (size_t i = 0; i < c->n; i++)
		free(c->words[i].text);
	free(c->words);
	free(c->path);
	*c = (struct config){ 0 };
}
