/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/short_name.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/number.h"

/* LEAST_NAME: columns of a name that are worth more than a suffix.  MARK: a number and its sign.  MARK_ROOM: of " []". */
enum { LEAST_NAME = 12, MOST_DEPTH = 2, MARK = 24, MARK_ROOM = 3 };

const char short_name_inlined[] = " [i]";

static bool ends_with(const char *begin, const char *end, const char *word)
{
	size_t n = strlen(word);

	return (size_t)(end - begin) >= n && strncmp(end - n, word, n) == 0;
}

/* "f<" and "operator< <", not "<T as Trait>", "operator<" and "a < b". */
static bool opens_arguments(const char *begin, const char *at)
{
	if (*at == '<' && at > begin && at[-1] == ' ' &&
	    (ends_with(begin, at - 1, "operator<") || ends_with(begin, at - 1, "operator<<")))
		return true;
	return *at == '<' && at > begin &&
	       (isalnum((unsigned char)at[-1]) || at[-1] == '_' || at[-1] == ')') &&
	       !ends_with(begin, at, "operator");
}

/*
 * What stands deeper in arguments of templates than that goes; a name whose brackets do not match stays.  Brackets that open no
 * arguments, as in "main()::<lambda(int)>" and "<T as Trait>", go or stay with what is around them.
 */
static void fold_arguments(char *name, int deepest)
{
	char *out = strdup(name), *to = out;
	/* of_arguments: bit i, of what the (i+1)-th open bracket is. */
	uint64_t of_arguments = 0;
	int depth = 0, open = 0;

	for (const char *at = name; out && *at; at++) {
		bool argument = opens_arguments(name, at);

		if (argument ||
		    (*at == '<' && !ends_with(name, at, "operator") && !ends_with(name, at, "operator<"))) {
			if (open == 64)
				break;
			if (argument && depth++ == deepest)
				*to++ = '<';
			of_arguments = (of_arguments & ~(1ULL << open)) | (uint64_t)argument << open;
			open++;
		} else if (*at == '>' && open > 0 && !ends_with(name, at, "-")) {
			depth -= of_arguments >> --open & 1;
		}
		if (depth <= deepest)
			*to++ = *at;
	}
	if (out && open == 0) {
		*to = '\0';
		strcpy(name, out);
	}
	free(out);
}

/* Where a path such as "core::iter::Iter" that begins here has its last part. */
static const char *last_part(const char *path)
{
	static const char of_paths[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_{}:";

	for (size_t n = strspn(path, of_paths); n >= 2; n--)
		if (path[n - 1] == ':' && path[n - 2] == ':')
			return path + n;
	return path;
}

/* "<a::b::T as c::Trait>::f" -> "<T as Trait>::f" */
static void drop_scopes(char *name)
{
	static const char *const before[] = { "<impl ", "<dyn ", " as ", " for ", "<" };
	char *to = name;

	for (const char *at = name; *at;) {
		const char *next = at + 1;

		for (size_t i = 0; i < sizeof(before) / sizeof(before[0]); i++) {
			size_t n = strlen(before[i]);

			/* Arguments are folded by depth: "<" here is that of a type. */
			if (strncmp(at, before[i], n) != 0 || (n == 1 && opens_arguments(name, at)) ||
			    (*at == ' ' && name[0] != '<' && !strstr(name, "::<")))
				continue;
			memmove(to, at, n);
			to += n;
			at = next = last_part(at + n);
			break;
		}
		if (at != next)
			*to++ = *at;
		at = next;
	}
	*to = '\0';
}

void short_name_fold(char *name, size_t width)
{
	for (int deepest = MOST_DEPTH; deepest >= 0 && text_width(name) > width; deepest--) {
		if (deepest == 0)
			drop_scopes(name);
		if (text_width(name) > width)
			fold_arguments(name, deepest);
	}
}

/* "<T as Trait>::f" -> "<T>::f", "a::<impl Trait for T>::f" -> "a::<T>::f" */
static void drop_trait(char *name)
{
	char *open = name[0] == '<' ? name : strstr(name, "::<"), *as, *of, *end;

	if (!open)
		return;
	open += *open == ':' ? 3 : 1;
	as = strstr(open, " as ");
	end = as ? strstr(as, ">::") : NULL;
	if (end)
		memmove(as, end, strlen(end) + 1);
	of = strncmp(open, "impl ", 5) == 0 ? strstr(open, " for ") : NULL;
	of = of ? of + 5 : strncmp(open, "impl ", 5) == 0 ? open + 5 : NULL;
	if (of)
		memmove(open, of, strlen(of) + 1);
}

/* Scopes go from the first on, if the rest has room behind three dots. */
static bool drop_outer(char *name, size_t width)
{
	int depth = 0;

	for (char *at = name; *at; at++) {
		depth += *at == '<' || *at == '(';
		depth -= (*at == '>' || *at == ')') && depth > 0;
		if (depth || at[0] != ':' || at[1] != ':' || text_width(at) + 3 > width)
			continue;
		memmove(name + 3, at, strlen(at) + 1);
		memset(name, '.', 3);
		return true;
	}
	return false;
}

void short_name_cut(char *name, size_t width)
{
	short_name_fold(name, width);
	if (text_width(name) > width)
		drop_trait(name);
	/* Of a type's function both are worth showing. */
	if (text_width(name) > width && (width < LEAST_NAME || name[0] == '<' || !drop_outer(name, width)))
		text_squeeze(name, width);
}

/* ---- a column ---- */

struct shown {
	const char *name;
	char *text;
	size_t row;
};

/* How rows that would be shown alike are told apart: the first of these that does. */
enum apart { NOT_APART, BY_MIDDLE, BY_DIFFERENCE, BY_NUMBER };

static const char *suffix_in(const char *suffix, const char *name, size_t width)
{
	if (!suffix)
		return "";
	return strcmp(suffix, " (inlined)") == 0 && text_width(name) + text_width(suffix) > width
	               ? short_name_inlined
	               : suffix;
}

/* The name in short, something that tells it from others, and the suffix. */
static char *compose(const char *name, enum apart how, const char *apart, const char *suffix, size_t width)
{
	size_t n_name = strlen(name), room = n_name + MARK + strlen(apart), n_behind;
	char *text = malloc(room + 2 * SHORT_NAME_LONG + (suffix ? strlen(suffix) : 0));
	bool cut = width != SIZE_MAX;

	if (!text)
		return NULL;
	memcpy(text, name, n_name + 1);
	short_name_fold(text, cut && width < SHORT_NAME_LONG ? width : SHORT_NAME_LONG);
	if (cut)
		suffix = suffix_in(suffix, text, width > text_width(apart) ? width - text_width(apart) : 0);
	n_behind = text_width(apart) + (suffix ? text_width(suffix) : 0);
	/* What leaves no room for a name is left out, too. */
	if (cut && n_behind + (text_width(text) < LEAST_NAME ? text_width(text) : LEAST_NAME) > width) {
		suffix = "";
		n_behind = text_width(apart);
	}
	if (cut && how == BY_MIDDLE)
		text_squeeze(text, width > n_behind ? width - n_behind : 0);
	else if (cut)
		short_name_cut(text, width > n_behind ? width - n_behind : 0);
	strcat(text, apart);
	strcat(text, suffix ? suffix : "");
	return text;
}

static int by_text(const void *a, const void *b)
{
	const struct shown *x = a, *y = b;
	int order = strcmp(x->text, y->text);

	order = order ? order : strcmp(x->name, y->name);
	return order ? order : (x->row > y->row) - (x->row < y->row);
}

static size_t same_head(const char *a, const char *b)
{
	size_t n = 0;

	while (a[n] && a[n] == b[n])
		n++;
	return n;
}

/*
 * " [double]": the argument, or parameter, from column `at` on, in which a name differs; "" where nothing follows, or more than there
 * is room for.
 */
static void differing(const char *name, size_t at, size_t width, char out[SHORT_NAME_LONG + MARK])
{
	char part[4096];
	size_t n = 0, most = width < SHORT_NAME_LONG ? width / 2 : SHORT_NAME_LONG;
	int depth = 0;

	while (at && !strchr(" <,(", name[at - 1]))
		at--;
	for (const char *c = name + at; *c && n + 1 < sizeof(part); c++) {
		if (depth == 0 && strchr(",>)", *c))
			break;
		depth += *c == '<' || *c == '(';
		depth -= *c == '>' || *c == ')';
		part[n++] = *c;
	}
	part[n] = '\0';
	short_name_fold(part, most > MARK_ROOM ? most - MARK_ROOM : 0);
	if (text_width(part) + MARK_ROOM > most) {
		const char *last = last_part(part);

		memmove(part, last, strlen(last) + 1);
	}
	if (*part && text_width(part) + MARK_ROOM <= most)
		snprintf(out, SHORT_NAME_LONG + MARK, " [%.*s]", SHORT_NAME_LONG + MARK - 4, part);
	else
		*out = '\0';
}

/* Rows [0, n) are shown alike; is any of another name? */
static bool differ(const struct shown *s, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if (strcmp(s[i].name, s[0].name) != 0)
			return true;
	return false;
}

static bool set_text(struct shown *s, enum apart how, const char *apart, const char *const *suffixes,
                     size_t width)
{
	free(s->text);
	s->text = compose(s->name, how, apart, suffixes ? suffixes[s->row] : NULL, width);
	return s->text;
}

static bool tell_apart(struct shown *s, size_t n, const char *const *suffixes, size_t width, enum apart how)
{
	bool ok = true;

	qsort(s, n, sizeof(*s), by_text);
	for (size_t i = 0, end; ok && i < n; i = end) {
		size_t number = 1;

		for (end = i + 1; end < n && strcmp(s[end].text, s[i].text) == 0; end++)
			;
		if (!differ(s + i, end - i))
			continue;
		for (size_t k = i; ok && k < end; k++) {
			char apart[SHORT_NAME_LONG + MARK] = "";
			size_t before = k > i ? same_head(s[k].name, s[k - 1].name) : 0,
			       behind = k + 1 < end ? same_head(s[k].name, s[k + 1].name) : 0;

			number += k > i && s[k].name[before];
			if (how == BY_NUMBER)
				snprintf(apart, sizeof(apart), " #%zu", number);
			else if (how == BY_DIFFERENCE)
				differing(s[k].name, before > behind ? before : behind, width, apart);
			ok = set_text(&s[k], how, apart, suffixes, width);
		}
	}
	return ok;
}

/* "f (file.c:1)" -> "f" */
static bool drop_place(char *name)
{
	char *place = strstr(name, " (");

	if (!place || place == name || !strchr(place, ')'))
		return false;
	*place = '\0';
	return true;
}

static bool begin(struct shown *s, const char *const *names, const char *const *suffixes, size_t n,
                  size_t width, int aside)
{
	for (size_t i = 0; i < n; i++) {
		char *without = aside && width != SIZE_MAX ? strdup(names[i]) : NULL;

		s[i] = (struct shown){ .name = names[i], .row = i };
		if (without)
			short_name_fold(without, width);
		if (without && text_width(without) > width && drop_place(without))
			s[i].text = compose(without, NOT_APART, "", suffixes ? suffixes[i] : NULL, width);
		else
			s[i].text = compose(names[i], NOT_APART, "", suffixes ? suffixes[i] : NULL, width);
		free(without);
		if (!s[i].text)
			return false;
	}
	return true;
}

char **short_names(const char *const *names, const char *const *suffixes, size_t n, size_t width, int aside)
{
	struct shown *s = calloc(n + 1, sizeof(*s));
	char **out = calloc(n + 1, sizeof(*out));
	bool ok = s && out && begin(s, names, suffixes, n, width, aside) &&
	          (width == SIZE_MAX || tell_apart(s, n, suffixes, width, BY_MIDDLE)) &&
	          tell_apart(s, n, suffixes, width, BY_DIFFERENCE) &&
	          tell_apart(s, n, suffixes, width, BY_NUMBER);

	for (size_t i = 0; s && i < n; i++) {
		if (ok)
			out[s[i].row] = s[i].text;
		else
			free(s[i].text);
	}
	free(s);
	if (ok)
		return out;
	free(out);
	return NULL;
}

void short_names_free(char **shown, size_t n)
{
	for (size_t i = 0; shown && i < n; i++)
		free(shown[i]);
	free(shown);
}
