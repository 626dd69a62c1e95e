/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Events of units that the kernel describes in sysfs, as perf names them: UNIT/TERM=VALUE,.../ */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/base/err.h"
#include "profiler/pmu/event_code.h"

/* An event in sysfs is a list of terms: those have no events among them. */
enum { MAX_DEPTH = 2 };

/* A unit's folder, and what its terms have come to. */
struct unit {
	char folder[PATH_MAX];
	const struct event_word *word;
	struct event_code *out;
};

static bool read_text(const struct unit *u, const char *part, const char *name, char *out, size_t size)
{
	char path[PATH_MAX + 200];
	FILE *f;
	bool ok;

	snprintf(path, sizeof(path), "%s/%s%s", u->folder, part, name);
	f = fopen(path, "re");
	ok = f && fgets(out, (int)size, f);
	if (f)
		fclose(f);
	if (ok)
		out[strcspn(out, "\n")] = '\0';
	return ok;
}

static int bad_term(const struct unit *u, const char *term, const char *what)
{
	return sp_fail(SP_EUSAGE, "-e: '%s/%s/': %s '%s'; %s/format lists what the unit knows", u->word->pmu,
	               u->word->name, what, term, u->folder);
}

/* Which of the three words "config1:0-7" names, NULL = none. */
static uint64_t *word_named(struct event_code *code, const char *name, size_t n)
{
	uint64_t *const words[] = { &code->config, &code->config1, &code->config2 };
	static const char *const names[] = { "config", "config1", "config2" };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strlen(names[i]) == n && strncmp(names[i], name, n) == 0)
			return words[i];
	return NULL;
}

/* "config:0-7,32-35": the value's bits go there, lowest first.  False where the format is odd, or the value too large for it. */
static bool place_bits(struct event_code *code, const char *format, uint64_t value)
{
	const char *colon = strchr(format, ':');
	uint64_t *word = colon ? word_named(code, format, (size_t)(colon - format)) : NULL;

	for (const char *p = colon; word && p && *p; p = strchr(p, ',')) {
		char *end;
		unsigned long from = strtoul(p + 1, &end, 10), to = from;

		if (*end == '-')
			to = strtoul(end + 1, &end, 10);
		if (end == p + 1 || from > to || to > 63)
			return false;
		for (unsigned long bit = from; bit <= to; bit++, value >>= 1)
			*word = (*word & ~(UINT64_C(1) << bit)) | (value & 1) << bit;
		p = end;
	}
	return word && value == 0;
}

static int take_terms(struct unit *u, char *terms, int depth);

/* "cnt_ctl=1", "swfilt", "config=0x40000", or an event's name. */
static int take_term(struct unit *u, char *term, int depth)
{
	char text[512], *equals = strchr(term, '='), *end = NULL;
	uint64_t value = 1, *whole;

	if (equals) {
		*equals = '\0';
		errno = 0;
		value = strtoull(equals + 1, &end, 0);
		if (end == equals + 1 || *end || errno || equals[1] == '-')
			return bad_term(u, equals + 1, "no number:");
	}
	/* Nothing above the unit's folder. */
	if (!*term || strchr(term, '/') || term[0] == '.')
		return bad_term(u, term, "no term");
	whole = equals ? word_named(u->out, term, strlen(term)) : NULL;
	if (whole) {
		*whole = value;
		return 0;
	}
	if (read_text(u, "format/", term, text, sizeof(text)))
		return place_bits(u->out, text, value) ? 0 : bad_term(u, term, "too large a value for");
	if (!equals && depth + 1 < MAX_DEPTH && read_text(u, "events/", term, text, sizeof(text)))
		return take_terms(u, text, depth + 1);
	return bad_term(u, term, "no term");
}

static int take_terms(struct unit *u, char *terms, int depth)
{
	char *save = NULL;
	int err = 0;

	for (char *t = strtok_r(terms, ",", &save); t && err == 0; t = strtok_r(NULL, ",", &save))
		err = take_term(u, t, depth);
	return err;
}

/* AMD's IBS: its samples name the operation that was tagged. */
static bool is_ibs(const char *unit)
{
	return strcmp(unit, "ibs_op") == 0 || strcmp(unit, "ibs_fetch") == 0;
}

int event_unit_find(const char *sysfs, const struct event_word *word, struct event_code *out)
{
	struct unit u = { .word = word, .out = out };
	char text[512], terms[EVENT_NAME_BYTES], swfilt[] = "swfilt";
	int err;

	if (word->pmu[0] == '.')
		return -SP_ENOENT;
	snprintf(u.folder, sizeof(u.folder), "%s/bus/event_source/devices/%s", sysfs, word->pmu);
	if (!read_text(&u, "", "type", text, sizeof(text)))
		return -SP_ENOENT;
	*out = (struct event_code){ .type = (uint32_t)strtoul(text, NULL, 10), .of_unit = true };
	snprintf(terms, sizeof(terms), "%s", word->name);
	err = take_terms(&u, terms, 0);
	if (err < 0 || !is_ibs(word->pmu))
		return err;
	/* IBS counts in all modes; newer kernels drop samples of those that are not asked for, when they are told to. */
	out->is_ibs = true;
	out->all_modes = take_term(&u, swfilt, 0) < 0;
	return 0;
}
