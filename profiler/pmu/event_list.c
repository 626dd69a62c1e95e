/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/pmu/event_list.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/base/err.h"

enum { MAX_PRECISE = 3, MAX_PERIOD_DIGITS = 18 };

struct scan {
	const char *text, *p;
	struct event_list *out;
	unsigned group;
};

static int bad(const struct scan *s, const char *what)
{
	return sp_fail(SP_EUSAGE, "-e: %s at '%.20s' (character %td of '%.200s')", what,
	               *s->p ? s->p : "the end", s->p - s->text + 1, s->text);
}

static const char modifiers[] = "ukpP";
/* A single event's S would be a umask: a state of a cache line. */
static const char group_modifiers[] = "ukpPS";

/* Is the text a bundle of modifiers, "ukpp"?  A umask never is: theirs are longer or upper case, and none is a P. */
static bool are_modifiers(const char *p, size_t n)
{
	return n > 0 && strspn(p, modifiers) >= n;
}

static int apply_modifiers(const struct scan *s, struct event_word *w, const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		w->user |= p[i] == 'u';
		w->kernel |= p[i] == 'k';
		w->precise += p[i] == 'p';
		w->most_precise |= p[i] == 'P';
		w->by_first |= p[i] == 'S';
	}
	if (w->precise && w->most_precise)
		return bad(s, "p and P");
	return w->precise > MAX_PRECISE ? bad(s, "more than three p") : 0;
}

static size_t name_length(const char *p)
{
	size_t n = 0;

	while (isalnum((unsigned char)p[n]) || (p[n] && strchr("_-.:=", p[n])))
		n++;
	return n;
}

static int take_text(const struct scan *s, char *out, size_t size, const char *p, size_t n)
{
	if (n >= size)
		return bad(s, "a name too long");
	memcpy(out, p, n);
	out[n] = '\0';
	return 0;
}

/* "/1009", where a number stands to the end of the word. */
static bool is_period(const char *p)
{
	size_t n = *p == '/' ? strspn(p + 1, "0123456789") : 0;

	return n && (!p[1 + n] || strchr(",}", p[1 + n]));
}

static int take_period(struct scan *s, struct event_word *w)
{
	char *end;

	if (!is_period(s->p))
		return 0;
	if (strspn(s->p + 1, "0123456789") > MAX_PERIOD_DIGITS)
		return bad(s, "a period too long");
	w->period = strtoull(s->p + 1, &end, 10);
	if (!w->period)
		return bad(s, "a period of 0");
	s->p = end;
	return 0;
}

/* Arm's SPE writes packets to memory of its own, which we don't read here: perf does, and its files are read. */
static int refuse_spe(const struct event_word *w)
{
	if (strncmp(w->pmu, "arm_spe", strlen("arm_spe")) != 0)
		return 0;
	return sp_fail(
	        SP_ENOTSUP,
	        "-e: %s writes packets, which are not recorded here: 'perf record -e %s// PROGRAM' does, "
	        "and skidprof report reads that file",
	        w->pmu, w->pmu);
}

/* "cpu_core/cycles/u": s->p is at the first slash. */
static int take_pmu(struct scan *s, struct event_word *w)
{
	size_t n = 0;
	int err;

	strcpy(w->pmu, w->name);
	w->name[0] = '\0';
	err = refuse_spe(w);
	if (err < 0)
		return err;
	s->p++;
	while (s->p[n] && (isalnum((unsigned char)s->p[n]) || strchr("_-.:=,", s->p[n])))
		n++;
	if (s->p[n] != '/')
		return bad(s, "PMU/NAME/ expected");
	err = take_text(s, w->name, sizeof(w->name), s->p, n);
	if (err < 0)
		return err;
	s->p += n + 1;
	n = strspn(s->p, modifiers);
	err = apply_modifiers(s, w, s->p, n);
	s->p += n;
	return err;
}

/* Modifiers are the last piece behind a colon, if it looks like them: how long with the colon. */
static size_t tail_length(const char *p, size_t n)
{
	size_t tail = 0;

	while (tail < n && p[n - 1 - tail] != ':')
		tail++;
	return tail < n && are_modifiers(p + n - tail, tail) ? tail + 1 : 0;
}

static int take_name(struct scan *s, struct event_word *w)
{
	size_t n = name_length(s->p), tail;
	bool has_pmu = s->p[n] == '/' && !is_period(s->p + n);
	int err = 0;

	tail = has_pmu ? 0 : tail_length(s->p, n);
	if (n == tail || s->p[n - tail - 1] == ':')
		return bad(s, "an event's name expected");
	if (tail)
		err = apply_modifiers(s, w, s->p + n - tail + 1, tail - 1);
	if (err == 0)
		err = take_text(s, w->name, has_pmu ? sizeof(w->pmu) : sizeof(w->name), s->p, n - tail);
	if (err < 0)
		return err;
	s->p += n;
	if (!has_pmu && strcmp(w->name, "ibs") == 0) {
		strcpy(w->pmu, "ibs_op");
		w->name[0] = '\0';
	}
	return has_pmu ? take_pmu(s, w) : 0;
}

static int take_event(struct scan *s)
{
	struct event_word w = { .group = s->group };
	int err;

	if (s->out->n == EVENT_LIST_MAX)
		return bad(s, "too many events");
	err = take_name(s, &w);
	if (err == 0)
		err = take_period(s, &w);
	if (err == 0)
		s->out->v[s->out->n++] = w;
	return err;
}

static int take_group(struct scan *s)
{
	size_t first = s->out->n, n;
	int err;

	do {
		s->p++;
		err = take_event(s);
	} while (err == 0 && *s->p == ',');
	if (err < 0)
		return err;
	if (*s->p++ != '}') {
		s->p--;
		return bad(s, "} expected");
	}
	n = *s->p == ':' ? strspn(s->p + 1, group_modifiers) : 0;
	for (size_t i = first; i < s->out->n && err == 0 && n; i++)
		err = apply_modifiers(s, &s->out->v[i], s->p + 1, n);
	s->p += n ? n + 1 : 0;
	return err;
}

int event_list_parse(const char *text, struct event_list *out)
{
	struct scan s = { .text = text, .p = text, .out = out };
	bool grouped = strchr(text, '{') != NULL;
	int err;

	*out = (struct event_list){ .n = 0 };
	for (;;) {
		err = *s.p == '{' ? take_group(&s) : take_event(&s);
		if (err < 0)
			return err;
		if (!*s.p)
			break;
		if (*s.p != ',')
			return bad(&s, "a comma expected");
		s.p++;
		s.group += grouped;
	}
	out->n_groups = s.group + 1;
	return 0;
}
