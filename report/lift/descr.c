/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/lift/descr.h"

#include <math.h>
#include <stdio.h>

#include "profiler/base/err.h"

enum { MAX_REGEX = 200, MAX_REGEXES = 8, MAX_WORDS = 64, MAX_LINE = 4096 };

struct parse {
	const char *name;
	unsigned line;
	struct descr *d;
};

static int bad(const struct parse *p, const char *what)
{
	return sp_fail(SP_EFORMAT, "%s: line %u: %s; skidprof-lift(1) describes such files", p->name, p->line,
	               what);
}

/* Words between blanks; "..." holds blanks together.  Cuts text up in place. */
static int split_words(const struct parse *p, char *text, struct descr_words *out)
{
	while (*(text += strspn(text, " \t"))) {
		bool quoted = *text == '"';
		char *word = text + quoted, *end = word + strcspn(word, quoted ? "\"" : " \t");

		if (quoted && !*end)
			return bad(p, "a quotation mark without its end");
		if (out->v.n == MAX_WORDS)
			return bad(p, "too many words");
		text = *end ? end + 1 : end;
		*end = '\0';
		if (vec_push(&out->v, word) < 0)
			return -SP_ENOMEM;
	}
	return out->v.n ? 0 : bad(p, "a command is missing");
}

/* From '[' to behind its ']', which may come first in it. */
static const char *skip_bracket(const char *s)
{
	s++;
	s += *s == '^';
	s += *s == ']';
	s += strcspn(s, "]");
	return *s ? s + 1 : s;
}

/*
 * Some regular expressions of a few bytes take the C library gigabytes and
 * hours.  Without repeat counts, back references, repeated repeats, repeated
 * groups and groups in groups none does.
 */
static bool is_tame(const char *s)
{
	unsigned depth = 0;
	char before = 0;

	while (*s) {
		if (*s == '{' || (*s == '\\' && s[1] >= '0' && s[1] <= '9'))
			return false;
		if (strchr("*+?", *s) && strchr("*+?)", before))
			return false;
		if (*s == '(' && depth++)
			return false;
		if (*s == ')' && depth)
			depth--;
		before = *s == '\\' || *s == '[' ? 'x' : *s;
		if (*s == '[')
			s = skip_bracket(s);
		else
			s += *s == '\\' && s[1] ? 2 : 1;
	}
	return true;
}

/* A POSIX extended regular expression. */
static int parse_regex(const struct parse *p, const char *text, struct descr_regexes *out)
{
	regex_t re;

	if (!*text || strlen(text) > MAX_REGEX)
		return bad(p, "a regular expression that is empty or too long");
	if (!is_tame(text))
		return bad(p,
		           "no {counts}, \\1, repeated repeats or groups, or groups in groups in a regular "
		           "expression");
	if (out->v.n == MAX_REGEXES)
		return bad(p, "too many regular expressions");
	if (vec_reserve(&out->v, out->v.n + 1) < 0)
		return -SP_ENOMEM;
	if (regcomp(&re, text, REG_EXTENDED) != 0)
		return bad(p, "this is no regular expression");
	out->v.v[out->v.n++] = re;
	return 0;
}

static int parse_give(const struct parse *p, const char *word)
{
	static const char *const words[] = { "", "hex", "raw", "asm", "object" };

	for (int i = GIVE_HEX; i <= GIVE_OBJECT; i++) {
		if (strcmp(words[i], word) == 0) {
			p->d->give = (enum descr_give)i;
			return 0;
		}
	}
	return bad(p, "give is one of hex, raw, asm, object");
}

static int parse_isa(const struct parse *p, const char *word)
{
	if (strcmp(word, "x86-64") == 0)
		p->d->isa[ISA_X86_64] = true;
	else if (strcmp(word, "aarch64") == 0)
		p->d->isa[ISA_AARCH64] = true;
	else
		return bad(p, "isa is x86-64 or aarch64");
	return 0;
}

static int parse_cpu(const struct parse *p, char *text)
{
	struct descr_words words = { 0 };
	int err = split_words(p, text, &words);

	if (err == 0 && words.v.n != 2)
		err = bad(p, "cpu has two names, LLVM's and the program's");
	if (err == 0)
		err = vec_push(&p->d->cpus, (struct descr_cpu){ words.v.v[0], words.v.v[1] });
	vec_fini(&words.v);
	return err;
}

static int parse_per(const struct parse *p, const char *text)
{
	char *end;

	p->d->per = strtod(text, &end);
	if (end == text || *end || !(p->d->per > 0) || !isfinite(p->d->per))
		return bad(p, "per is a number above 0");
	return 0;
}

static int add_line(const struct parse *p, char *text, struct descr_words *out)
{
	return out->v.n == MAX_WORDS ? bad(p, "too many lines") : vec_push(&out->v, text);
}

static int parse_value(const struct parse *p, const char *key, char *value)
{
	struct descr *d = p->d;

	if (strcmp(key, "give") == 0)
		return parse_give(p, value);
	if (strcmp(key, "isa") == 0)
		return parse_isa(p, value);
	if (strcmp(key, "cpu") == 0)
		return parse_cpu(p, value);
	if (strcmp(key, "before") == 0)
		return add_line(p, value, &d->before);
	if (strcmp(key, "after") == 0)
		return add_line(p, value, &d->after);
	if (strcmp(key, "run") == 0)
		return d->run.v.n ? bad(p, "a second run") : split_words(p, value, &d->run);
	if (strcmp(key, "version") == 0)
		return d->version.v.n ? bad(p, "a second version") : split_words(p, value, &d->version);
	if (strcmp(key, "take") == 0)
		return parse_regex(p, value, &d->take);
	if (strcmp(key, "fail") == 0)
		return parse_regex(p, value, &d->fail);
	if (strcmp(key, "per") == 0)
		return parse_per(p, value);
	return bad(p, "an unknown keyword");
}

static int parse_line(const struct parse *p, char *line)
{
	size_t n = strcspn(line, " \t");
	char *value = line + n + strspn(line + n, " \t"), *end = value + strlen(value);

	if (!*line || *line == '#')
		return 0;
	if (!*value)
		return bad(p, "a keyword without a value");
	while (end > value && strchr(" \t\r", end[-1]))
		*--end = '\0';
	line[n] = '\0';
	return parse_value(p, line, value);
}

static int check_whole(const struct parse *p)
{
	const struct descr *d = p->d;

	if (d->give == GIVE_NONE || !d->run.v.n || !d->take.v.n)
		return sp_fail(SP_EFORMAT,
		               "%s: give, run and take must be there; skidprof-lift(1) describes such files",
		               p->name);
	return 0;
}

int descr_parse(const char *name, const char *text, size_t n, struct descr *out)
{
	struct parse p = { name, 0, out };
	char *line, *next;
	int err = 0;

	*out = (struct descr){ .per = 1 };
	out->text = malloc(n + 1);
	if (!out->text)
		return sp_fail(SP_ENOMEM, "out of memory for %s", name);
	memcpy(out->text, text, n);
	out->text[n] = '\0';
	if (strlen(out->text) != n)
		return sp_fail(SP_EFORMAT, "%s: is not a text file", name);
	for (line = out->text; *line && err == 0; line = next) {
		next = line + strcspn(line, "\n");
		if (*next)
			*next++ = '\0';
		p.line++;
		err = parse_line(&p, line);
	}
	return err < 0 ? err : check_whole(&p);
}

static void fini_regexes(struct descr_regexes *r)
{
	for (size_t i = 0; i < r->v.n; i++)
		regfree(&r->v.v[i]);
	vec_fini(&r->v);
}

void descr_fini(struct descr *d)
{
	free(d->text);
	vec_fini(&d->cpus);
	vec_fini(&d->before.v);
	vec_fini(&d->after.v);
	vec_fini(&d->run.v);
	vec_fini(&d->version.v);
	fini_regexes(&d->take);
	fini_regexes(&d->fail);
	*d = (struct descr){ 0 };
}

/* The largest number of a text of numbers and blanks; NAN if there is none. */
static double largest(const char *text, size_t n)
{
	char copy[MAX_LINE], *s = copy, *end;
	double max = NAN;

	memcpy(copy, text, n);
	copy[n] = '\0';
	for (;; s = end) {
		double x = strtod(s, &end);

		if (end == s)
			return max;
		if (isfinite(x))
			max = fmax(max, x);
	}
}

/* What one output line says to a `take`: its first group, else all of the match. */
static bool take_line(const regex_t *re, const char *line, double *x)
{
	regmatch_t m[2];
	const regmatch_t *at;

	if (regexec(re, line, 2, m, 0) != 0)
		return false;
	at = re->re_nsub && m[1].rm_so >= 0 ? &m[1] : &m[0];
	*x = largest(line + at->rm_so, (size_t)(at->rm_eo - at->rm_so));
	return !isnan(*x);
}

/* The next line of text into buf; lines too long are cut off.  NULL at the end. */
static const char *next_line(const char *text, char buf[MAX_LINE], size_t *n)
{
	size_t whole = strcspn(text, "\n");

	if (!*text)
		return NULL;
	*n = whole < MAX_LINE - 1 ? whole : MAX_LINE - 1;
	memcpy(buf, text, *n);
	buf[*n] = '\0';
	return text[whole] ? text + whole + 1 : text + whole;
}

int descr_take(const struct descr *d, const char *output, double *cyc, const char **why, size_t *n_why)
{
	double found[MAX_REGEXES], max = NAN;
	char line[MAX_LINE];
	const char *at = output, *next;
	size_t n;

	*why = "its output has no prediction";
	*n_why = strlen(*why);
	for (size_t i = 0; i < MAX_REGEXES; i++)
		found[i] = NAN;
	for (; (next = next_line(at, line, &n)); at = next) {
		for (size_t i = 0; i < d->fail.v.n; i++) {
			if (regexec(&d->fail.v.v[i], line, 0, NULL, 0) == 0) {
				*why = at;
				*n_why = n;
				return -SP_EFORMAT;
			}
		}
		for (size_t i = 0; i < d->take.v.n; i++)
			take_line(&d->take.v.v[i], line, &found[i]);
	}
	for (size_t i = 0; i < d->take.v.n; i++) {
		if (isnan(found[i]))
			return -SP_EFORMAT;
		max = fmax(max, found[i]);
	}
	if (!(max > 0))
		return -SP_EFORMAT;
	*cyc = max / d->per;
	return 0;
}
