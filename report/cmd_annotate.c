/* SPDX-License-Identifier: GPL-3.0-or-later */
/* skidprof annotate: the command line. */
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "profiler/base/cmd.h"
#include "profiler/base/err.h"
#include "profiler/base/log.h"
#include "profiler/base/mem.h"
#include "report/annotate.h"
#include "report/assemble/assemble.h"
#include "report/cmd.h"
#include "report/number.h"
#include "report/options.h"

enum key {
	KEY_ASM = 0x100,
	KEY_SOURCE,
	KEY_WHOLE,
	KEY_HOT,
	KEY_RAW,
	KEY_CONTEXT,
	KEY_MIN_SHARE,
	KEY_LIMIT,
	KEY_SOURCE_DIR,
	KEY_PREFIX_MAP,
};

static const struct argp_option options[] = {
	INPUT_OPTIONS,
	PART_OPTIONS,
	{ "source-dir", KEY_SOURCE_DIR, "DIR", 0, "Look for source files under DIR first; may be repeated",
	  1 },
	{ "prefix-map", KEY_PREFIX_MAP, "OLD=NEW", 0, "Source paths that begin with OLD begin with NEW here",
	  1 },
	{ NULL, 0, NULL, 0, "What is shown:", 2 },
	{ "source", KEY_SOURCE, NULL, 0, "Source lines only (default: assembly, too)", 2 },
	{ "asm", KEY_ASM, NULL, 0, "Assembly only", 2 },
	{ "whole", KEY_WHOLE, NULL, 0, "Cold lines and instructions, too", 2 },
	{ "hot", KEY_HOT, NULL, 0, "Lines by their share, the hottest first", 2 },
	{ "raw", KEY_RAW, NULL, 0, "Raw counts beside the fixed ones", 2 },
	{ "context", KEY_CONTEXT, "N", 0, "Cold lines shown around a hot one (default 2)", 2 },
	{ "min-share", KEY_MIN_SHARE, "SHARE", 0, "Lines of less of the function are cold (default 0.5%)",
	  2 },
	{ "limit", KEY_LIMIT, "N", 0, "Functions shown when none is named (default 3, the hottest)", 2 },
	{ 0 },
};

struct options {
	struct input_opts input;
	struct annotate_opts annotate;
	struct source_opts sources;
	struct listing_modules modules;
	unsigned long long context, limit;
	const char *what;
	char file[1024];     /* of FILE:LINE */
	char path[PATH_MAX]; /* cleaned of "." and ".." */
};

/* Of two arguments one may be the recording, as other commands take it. */
static int second_argument(const char *first, const char *second)
{
	const char *file = access(second, R_OK) == 0 ? second : access(first, R_OK) == 0 ? first : NULL;
	const char *function = file == first ? second : first;

	if (file)
		return sp_fail(SP_EUSAGE, "the recording is named with -i: skidprof annotate -i %s %s", file,
		               function);
	return sp_fail(SP_EUSAGE, "annotate shows one function, or line, at a time: '%s' or '%s'?", first,
	               second);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;
	int err = 0;

	switch (key) {
	case KEY_ASM:
		o->annotate.source = false;
		o->annotate.assembly = true;
		break;
	case KEY_SOURCE:
		o->annotate.source = true;
		o->annotate.assembly = false;
		break;
	case KEY_WHOLE:
		o->annotate.whole = true;
		break;
	case KEY_HOT:
		o->annotate.hot = true;
		break;
	case KEY_RAW:
		o->annotate.raw = true;
		break;
	case KEY_CONTEXT:
		err = cmd_parse_u64("--context", arg, 0, 10000, &o->context);
		break;
	case KEY_MIN_SHARE:
		err = parse_share("--min-share", arg, &o->annotate.min_share);
		break;
	case KEY_LIMIT:
		err = cmd_parse_u64("--limit", arg, 1, 1000, &o->limit);
		break;
	case KEY_SOURCE_DIR:
		err = source_add_dir(&o->sources, arg);
		break;
	case KEY_PREFIX_MAP:
		err = source_add_map(&o->sources, arg);
		break;
	case ARGP_KEY_ARG:
		if (o->what)
			err = second_argument(o->what, arg);
		o->what = arg;
		break;
	default:
		err = input_parse(key, arg, &o->input);
		if (err == ARGP_ERR_UNKNOWN)
			return err;
	}
	return err < 0 ? EINVAL : 0;
}

/* "file.c:17", but no "ns::f" and no "f(int):1" of a name. */
static bool is_place(const char *what, char *file, size_t size, uint32_t *line)
{
	const char *colon = strrchr(what, ':');
	unsigned long n;
	char *end;

	if (!colon || colon == what || colon[-1] == ':' || !colon[1])
		return false;
	n = strtoul(colon + 1, &end, 10);
	if (*end || !n || n > UINT32_MAX || (size_t)(colon - what) >= size)
		return false;
	memcpy(file, what, (size_t)(colon - what));
	file[colon - what] = '\0';
	*line = (uint32_t)n;
	return true;
}

static double weight_of(const struct profile *p, const struct profile_count *c)
{
	return report_has_insn(p) ? c->insn : c->cyc;
}

/* Physical functions with code of what was asked for, marked. */
static void mark_by_name(const struct profile *p, const char *name, bool *wanted)
{
	bool own = false, held = false;

	/* One that exists by itself is meant itself; one that is only inlined, where it is. */
	for (size_t i = 0; i < p->n_funcs; i++) {
		bool matches = report_matches(&p->funcs[i], name) &&
		               (p->funcs[i].rolled.insn > 0 || p->funcs[i].rolled.cyc > 0 ||
		                p->funcs[i].rolled.raw_insn > 0);

		wanted[i] = matches;
		own = own || matches;
	}
	if (own)
		return;
	for (size_t i = 0; i < p->n_insns; i++)
		if (report_matches(&p->funcs[p->insns[i].func], name))
			held = wanted[p->insns[i].phys_func] = true;
	if (held)
		sp_note("'%s' is inlined, and not called: what holds it is shown", name);
}

/* How much of its end the path of a file has in common with what was asked for; *path: the whole of it. */
static size_t same_end(const struct profile *p, uint32_t file, const char *asked, char path[PATH_MAX])
{
	report_path(p->file_dirs[file], report_file(p, file), path, PATH_MAX);
	return report_same_end(path, asked);
}

/*
 * A file is named by as much of its path as tells it: of those that could be meant the ones that share most with it, so that
 * of two files of one name a folder tells one, and a path of another machine finds its file by its end.
 */
static void mark_by_line(const struct profile *p, struct annotate_opts *o, bool *wanted)
{
	size_t *ends = mem_calloc(p->n_files + 1, sizeof(*ends));
	char path[PATH_MAX], first[PATH_MAX] = "", other[PATH_MAX] = "";

	o->same_end = 1;
	for (uint32_t i = 0; i < p->n_files; i++) {
		ends[i] = same_end(p, i, o->file, path);
		o->same_end = ends[i] > o->same_end ? ends[i] : o->same_end;
	}
	for (size_t i = 0; i < p->n_insns; i++) {
		const struct profile_insn *insn = &p->insns[i];

		if (insn->line != o->line || insn->file >= p->n_files || ends[insn->file] < o->same_end)
			continue;
		wanted[insn->phys_func] = true;
		same_end(p, insn->file, o->file, path);
		if (!*first)
			memcpy(first, path, sizeof(path));
		else if (strcmp(first, path) != 0)
			memcpy(other, path, sizeof(path));
	}
	free(ends);
	if (*first && o->same_end < report_same_end(o->file, o->file))
		sp_note("%s:%u is taken for a line of %s", o->file, o->line, first);
	if (*other)
		sp_note("%s:%u is a line of %s, of %s, and perhaps of more: a folder before the name tells "
		        "one",
		        o->file, o->line, first, other);
}

struct chosen {
	uint32_t func;
	double weight;
};

static int by_weight(const void *a, const void *b)
{
	const struct chosen *x = a, *y = b;

	return x->weight != y->weight ? (x->weight > y->weight ? -1 : 1)
	                              : (x->func > y->func) - (x->func < y->func);
}

static int choose(const struct profile *p, struct options *o, struct chosen **out, size_t *n)
{
	struct chosen *all = calloc(p->n_funcs + 1, sizeof(*all));
	bool *wanted = calloc(p->n_funcs + 1, sizeof(*wanted));
	int err = all && wanted ? 0 : sp_fail(SP_ENOMEM, "out of memory for %zu functions", p->n_funcs);
	bool place = o->what && is_place(o->what, o->file, sizeof(o->file), &o->annotate.line);

	*n = 0;
	if (err < 0)
		goto out;
	if (place) {
		report_path(NULL, o->file, o->path, sizeof(o->path));
		o->annotate.file = o->path;
		mark_by_line(p, &o->annotate, wanted);
	} else if (o->what) {
		mark_by_name(p, o->what, wanted);
	}
	for (size_t i = 0; i < p->n_funcs; i++) {
		double weight = weight_of(p, &p->funcs[i].rolled);

		if (o->what ? wanted[i] : weight > 0)
			all[(*n)++] = (struct chosen){ (uint32_t)i, weight };
	}
	qsort(all, *n, sizeof(*all), by_weight);
	if (!o->what && *n > o->limit)
		*n = o->limit;
	if (!*n && place)
		err = sp_fail(SP_ENOENT,
		              "no instruction of %s is in this profile; the lines that are: skidprof report "
		              "--lines",
		              o->what);
	else if (!*n && o->what)
		err = report_no_match(p, o->what);
	else if (!*n)
		err = sp_fail(SP_ENOENT, "no function of this profile has a sample");
out:
	free(wanted);
	if (err < 0) {
		free(all);
		return err;
	}
	*out = all;
	return 0;
}

static int show_json(const struct profile *p, struct options *o, struct sources *s,
                     const struct chosen *funcs, size_t n, FILE *f)
{
	json_t *doc = json_pack("{s:i}", "skidprof", 1), *meta = NULL, *all = json_array();
	int err = doc && all ? meta_json(p, &meta) : sp_fail(SP_ENOMEM, "out of memory for JSON");

	if (err == 0)
		json_object_set_new(doc, "meta", meta);
	for (size_t i = 0; i < n && err == 0; i++) {
		struct annotation *a = NULL;
		json_t *one = NULL;

		err = annotation_new(p, funcs[i].func, &o->modules, &a);
		if (err == 0)
			err = annotate_json(a, &o->annotate, s, &one);
		if (err == 0)
			json_array_append_new(all, one);
		annotation_free(a);
	}
	if (err == 0) {
		json_object_set(doc, "functions", all);
		err = json_write(doc, f);
	}
	json_decref(all);
	json_decref(doc);
	return err;
}

static int show_text(const struct profile *p, struct options *o, struct sources *s,
                     const struct chosen *funcs, size_t n, const struct term *term)
{
	struct term_notes notes;
	FILE *f = term_notes_begin(&notes);
	int err;

	if (!f)
		return -SP_ENOMEM;
	meta_print_for(p, &(struct meta_columns){ .cycles = true }, f);
	err = term_notes_end(&notes, term);
	for (size_t i = 0; i < n && err == 0; i++) {
		struct annotation *a = NULL;

		err = annotation_new(p, funcs[i].func, &o->modules, &a);
		if (err == 0)
			err = annotate_text(a, &o->annotate, s, term);
		annotation_free(a);
	}
	return err;
}

static int show(const struct profile *p, struct options *o)
{
	struct sources *s = sources_new(&o->sources);
	struct chosen *funcs = NULL;
	struct term term;
	size_t n = 0;
	int err = s ? choose(p, o, &funcs, &n) : sp_fail(SP_ENOMEM, "out of memory"), closed;

	o->modules.opts = &o->input.correct.modules;
	if (err == 0) {
		input_term(&o->input, &term);
		err = o->input.format == REPORT_JSON ? show_json(p, o, s, funcs, n, term.f)
		                                     : show_text(p, o, s, funcs, n, &term);
		closed = term_close(&term);
		err = err < 0 ? err : closed;
	}
	free(funcs);
	sources_free(s);
	listing_modules_free(&o->modules);
	return err;
}

int cmd_annotate(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.args_doc = "[FUNCTION|FILE:LINE]",
		.doc = "Show source lines and assembly with what each ran: executions, instructions, cycles, "
		       "trip "
		       "counts of loops and shares of branches."
		       "\vExit status: 0 done, 1 failed, 2 usage, 3 done, but functions of at least 1% are "
		       "unreliable, or the file is damaged.  See skidprof-annotate(1).",
	};
	struct options o = { .input = INPUT_OPTS_DEFAULT,
		             .annotate = { .source = true, .assembly = true, .min_share = 0.005 },
		             .context = 2,
		             .limit = 3 };
	struct profile *p = NULL;
	int err;

	err = cmd_parse(&argp, argc, argv, 0, NULL, &o);
	if (err < 0)
		return err;
	if (o.input.format == REPORT_CSV)
		return sp_fail(SP_EUSAGE, "annotate has no table to write as csv; use --format text or json");
	o.annotate.context = (uint32_t)o.context;
	err = input_check_word(&o.input, o.what);
	if (err == 0)
		err = assemble_profile(&o.input.correct, &p);
	if (err == 0)
		err = show(p, &o);
	if (err == 0)
		err = report_verdict(p);
	profile_free(p);
	return err;
}
