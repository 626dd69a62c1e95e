/* SPDX-License-Identifier: GPL-3.0-or-later */
/* By which words a function is asked for. */
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "profiler/base/cmd.h"
#include "profiler/base/err.h"
#include "report/number.h"
#include "report/report.h"
#include "report/short_name.h"

enum { MAX_NAME = 512 };

static bool is_glob(const char *pattern)
{
	return pattern[strcspn(pattern, "*?[")];
}

/* How many characters of "operator<<" and the like stand here, which open no template arguments; 0 = none. */
static size_t operator_at(const char *name)
{
	static const char word[] = "operator";

	if (strncmp(name, word, sizeof(word) - 1) != 0)
		return 0;
	return sizeof(word) - 1 + strspn(name + sizeof(word) - 1, "<>=-*") +
	       (strncmp(name + sizeof(word) - 1, "()", 2) == 0 ? 2 : 0);
}

/* How many characters of an ABI tag stand here, "[abi:cxx11]", which source code does not write; 0 = none. */
static size_t tag_at(const char *name)
{
	return strncmp(name, "[abi:", 5) == 0 && strchr(name, ']') ? strcspn(name, "]") + 1 : 0;
}

/*
 * "ns::A<int>::f[abi:cxx11]<char>(long)" without its arguments, and ns::A::f if those of templates and tags are to go, too: cut off at
 * size - 1.
 */
static void strip(const char *name, bool templates, bool tags, char *out, size_t size)
{
	static const char nameless[] = "(anonymous namespace)";
	size_t n = 0, depth = 0, taken;

	for (; *name && n + 1 < size; name += taken) {
		taken = tags ? tag_at(name) : 0;
		if (taken)
			continue;
		taken = operator_at(name);
		if (!taken)
			taken = strncmp(name, nameless, sizeof(nameless) - 1) == 0 ? sizeof(nameless) - 1 : 1;
		if (taken == 1 && *name == '(' && !depth)
			break;
		depth += templates && taken == 1 && *name == '<';
		for (size_t i = 0; i < taken && !depth && n + 1 < size; i++)
			out[n++] = name[i];
		depth -= depth && taken == 1 && *name == '>';
	}
	/* "operator<< <char>" */
	while (n && out[n - 1] == ' ')
		n--;
	out[n] = '\0';
}

/* Is it the whole name, or what stands in its scopes? */
static bool ends_with(const char *name, const char *word)
{
	size_t n = strlen(name), n_word = strlen(word);

	if (!n_word || n < n_word || strcmp(name + n - n_word, word) != 0)
		return false;
	/* Before it a scope, or the type that a function template returns. */
	return n == n_word || name[n - n_word - 1] == ' ' ||
	       (n >= n_word + 2 && name[n - n_word - 1] == ':' && name[n - n_word - 2] == ':');
}

/* "ns::f<int>(char)" is called so, and "ns::f<int>", "f<int>", "ns::f" and "f". */
static bool named(const char *name, const char *word)
{
	char bare[MAX_NAME];

	if (strcmp(name, word) == 0)
		return true;
	for (int without = 0; without < 4; without++) {
		strip(name, without & 1, without & 2, bare, sizeof(bare));
		if (ends_with(bare, word) || (is_glob(word) && fnmatch(word, bare, 0) == 0))
			return true;
	}
	return false;
}

/* Any of the names, a line each. */
static bool any_matches(const char *names, const char *pattern)
{
	char name[MAX_NAME];

	for (size_t n; names && *names; names += n + (names[n] == '\n')) {
		n = strcspn(names, "\n");
		snprintf(name, sizeof(name), "%.*s", (int)n, names);
		if (strcmp(name, pattern) == 0 || (is_glob(pattern) && fnmatch(pattern, name, 0) == 0))
			return true;
	}
	return false;
}

/* A name as tables have it, that somebody copied. */
static bool shown_as(const char *name, const char *pattern)
{
	char *text = text_safe_new(name);
	bool same;

	if (text)
		short_name_fold(text, SHORT_NAME_LONG);
	same = text && strcmp(text, pattern) == 0;
	free(text);
	return same;
}

static bool matches(const struct profile_func *f, const char *pattern)
{
	if (strchr(pattern, '<') && shown_as(report_name(f), pattern))
		return true;
	if (f->full && strcmp(f->full, pattern) == 0)
		return true;
	if (named(f->name, pattern) || strcmp(f->linkage, pattern) == 0)
		return true;
	if (any_matches(f->aliases, pattern))
		return true;
	if (!is_glob(pattern))
		return false;
	return fnmatch(pattern, f->name, 0) == 0 || fnmatch(pattern, f->linkage, 0) == 0;
}

bool report_matches(const struct profile_func *f, const char *pattern)
{
	bool match = matches(f, pattern);
	char *typed;

	/* Names that are no text are shown with escapes, and asked for with them. */
	if (match || !strstr(pattern, "\\x"))
		return match;
	typed = strdup(pattern);
	if (typed)
		text_unsafe(typed);
	match = typed && matches(f, typed);
	free(typed);
	return match;
}

/* The shortest name that has a word in it; NULL: none. */
static const char *name_with(const char *const *names, const char *word)
{
	const char *best = NULL;

	for (; *names; names++)
		if (strstr(*names, word) && (!best || strlen(*names) < strlen(best)))
			best = *names;
	return best;
}

int report_no_match(const struct profile *p, const char *pattern)
{
	const char **names = calloc(p->n_funcs + 1, sizeof(*names));
	const char *near, *with;
	char shown[200], wanted[200], why[400];
	bool part;

	if (!names)
		return sp_fail(SP_ENOMEM, "out of memory");
	for (size_t i = 0; i < p->n_funcs; i++)
		names[i] = p->funcs[i].name;
	text_safe(pattern, wanted, sizeof(wanted));
	if (strchr(pattern, '.') && access(pattern, F_OK) == 0) {
		free(names);
		return sp_fail(SP_ENOENT,
		               "no function '%s' in this profile, but a file: a recording is named with -i",
		               wanted);
	}
	near = cmd_suggest(pattern, names);
	with = name_with(names, pattern);
	/* A part of a name is what was meant, rather than another word as long. */
	part = with && !(near && strstr(near, pattern));
	text_safe(part ? with : near ? near : "", shown, sizeof(shown));
	free(names);
	if (part)
		return sp_fail(SP_ENOENT, "no function '%s' in this profile; '*%s*' finds '%s' and the like",
		               wanted, wanted, shown);
	if (near)
		return sp_fail(SP_ENOENT, "no function '%s' in this profile; did you mean '%s'?", wanted,
		               shown);
	/* Code of a file that is gone or changed has no names: it may be there. */
	for (size_t i = 0; i < p->n_funcs; i++) {
		const struct profile_func *f = &p->funcs[i];

		if (strcmp(f->name, "[unknown]") != 0 || f->status != PROFILE_UNRELIABLE || !f->why ||
		    !*f->why)
			continue;
		text_safe(f->why, why, sizeof(why));
		return sp_fail(SP_ENOENT, "no function '%s' in this profile, where code has no names: %s",
		               wanted, why);
	}
	return sp_fail(SP_ENOENT,
	               "no function '%s' in this profile; 'skidprof report' lists them, and '*%s*' "
	               "finds a part of a name",
	               wanted, wanted);
}
