/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/match/match.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/base/err.h"
#include "profiler/base/log.h"
#include "profiler/base/mem.h"
#include "report/truth/emit.h"

/* More of a truth than this that is in no file of the recording makes it one of another program. */
static const double max_nowhere = 0.01;

/*
 * Of a file's own instructions that go on to the next one, that one has a count
 * too.  Of code that lies elsewhere hardly half do; what faults or is left by a
 * signal may miss its next one, so a hundredth may.
 */
static const double max_misfit = 0.01;

struct work {
	const struct profile *p;
	const struct truth *t;
	const char *path;
	const struct module_options *opts;
	struct match *m;
	struct profile_mapped *files; /* of the recording: those mapped, else its modules */
	size_t n_files;
	size_t *first; /* [n_objects + 1] of t->insns */
};

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool is_library(const char *path)
{
	const char *base = base_name(path);

	return strstr(base, ".so") || strncmp(base, "ld-", 3) == 0 || strcmp(base, "[vdso]") == 0;
}

/* perf pads short ids with zeros. */
static bool same_id(const char *a, const char *b)
{
	while (*a && *a == *b)
		a++, b++;
	return strspn(a, "0") == strlen(a) && strspn(b, "0") == strlen(b);
}

static const char *truth_id(const struct work *w, size_t object)
{
	return w->t->build_ids && w->t->build_ids[object] ? w->t->build_ids[object] : "";
}

static const char *or_unknown(const char *id)
{
	return *id ? id : "unknown";
}

/* Files that the recording knows: a profile made by hand has modules alone. */
static void list_files(struct work *w)
{
	const struct profile *p = w->p;

	w->files = mem_calloc(p->n_mapped + p->n_modules + 1, sizeof(*w->files));
	for (size_t i = 0; i < p->n_mapped; i++)
		w->files[w->n_files++] = p->mapped[i];
	for (size_t i = 0; i < p->n_modules; i++) {
		size_t k = 0;

		while (k < p->n_mapped && p->mapped[k].module != (int32_t)i)
			k++;
		if (k == p->n_mapped)
			w->files[w->n_files++] =
			        (struct profile_mapped){ p->modules[i].path, p->modules[i].build_id,
				                         (int32_t)i };
		else if (!*w->files[k].build_id && !*p->modules[i].trouble)
			w->files[k].build_id = p->modules[i].build_id;
	}
}

/* Instructions of each object, which lie together. */
static void weigh(struct work *w)
{
	const struct truth *t = w->t;
	size_t i = 0;

	w->first = mem_calloc(t->n_objects + 2, sizeof(*w->first));
	for (size_t o = 0; o < t->n_objects; o++) {
		w->first[o] = i;
		for (; i < t->n_insns && t->insns[i].object == o; i++)
			w->m->objects[o].n_insn += (double)t->insns[i].n;
	}
	w->first[t->n_objects] = i;
	for (i = 0; i < t->n_funcs; i++)
		if (t->funcs[i].object != TRUTH_NONE)
			w->m->objects[t->funcs[i].object].n_insn += (double)t->funcs[i].n_insn;
}

/* Are the truth's instructions of `object` of this code?  A truth by function has none. */
static bool fits(const struct work *w, size_t object, struct module *m)
{
	size_t n = w->first[object + 1] - w->first[object], n_next = 0, n_misfit = 0;
	const struct truth_insn *insns;
	struct insn_decoder *d = NULL;

	if (n == 0)
		return true;
	insns = w->t->insns + w->first[object];
	if (insn_decoder_new(module_isa(m), &d) < 0)
		return false;
	for (size_t i = 0; i < n; i++) {
		size_t n_bytes;
		const uint8_t *code = module_code(m, insns[i].vaddr, &n_bytes);
		uint64_t next = i + 1 < n ? insns[i + 1].vaddr : UINT64_MAX, end;
		struct insn insn;
		bool goes_on, good;

		good = code && insn_decode(d, code, n_bytes, insns[i].vaddr, &insn) == 0;
		goes_on = !good || insn.flow == INSN_PLAIN;
		end = good ? insns[i].vaddr + insn.size_bytes : 0;
		good = good && (goes_on ? next == end : next >= end);
		n_next += goes_on || !good;
		n_misfit += !good;
	}
	insn_decoder_free(d);
	return (double)n_misfit <= max_misfit * (double)n_next;
}

static int open_file(const struct work *w, const char *path, struct module **out)
{
	int err = module_open(path, NULL, 0, w->opts, out);

	if (err == 0 && module_state(*out) != MODULE_OK) {
		module_free(*out);
		*out = NULL;
	}
	return err;
}

/* The code that both are of: the recording's file, or else the truth's. */
static int open_same(const struct work *w, size_t object, const struct profile_mapped *f)
{
	struct match_object *o = &w->m->objects[object];
	const char *id = *f->build_id ? f->build_id : truth_id(w, object);
	int err = open_file(w, f->path, &o->opened);

	if (err == 0 && o->opened && *id && !same_id(module_build_id(o->opened), id)) {
		module_free(o->opened);
		o->opened = NULL;
	}
	if (err < 0 || o->opened)
		return err;
	err = open_file(w, w->t->objects[object], &o->opened);
	if (err == 0 && o->opened && *id && !same_id(module_build_id(o->opened), id)) {
		module_free(o->opened);
		o->opened = NULL;
	}
	return err;
}

/* Candidates in the order of what speaks for them. */
static const struct profile_mapped *find_file(const struct work *w, size_t object, bool *proven)
{
	const char *id = truth_id(w, object), *path = w->t->objects[object];
	const struct profile_mapped *best = NULL;
	bool best_path = false, best_sampled = false;

	*proven = false;
	for (size_t i = 0; i < w->n_files; i++) {
		const struct profile_mapped *f = &w->files[i];
		bool same_path = strcmp(f->path, path) == 0, sampled = f->module >= 0;

		if (*id && *f->build_id && same_id(id, f->build_id) && (!*proven || sampled)) {
			*proven = true;
			best = f;
		}
		if (*proven || (!same_path && strcmp(base_name(f->path), base_name(path)) != 0))
			continue;
		if (!best || (same_path && !best_path) ||
		    (same_path == best_path && sampled && !best_sampled)) {
			best = f;
			best_path = same_path;
			best_sampled = sampled;
		}
	}
	return best;
}

/* A truth books all code outside any file as one object, which a recording has by the name of its mapping. */
static bool match_memory(const struct work *w, size_t object)
{
	const char *path = w->t->objects[object];

	if (strcmp(path, TRUTH_ANONYMOUS) != 0 && strcmp(path, "???") != 0)
		return false;
	for (size_t i = 0; i < w->n_files; i++) {
		if (module_is_memory(w->files[i].path)) {
			w->m->objects[object].how = MATCH_MEMORY;
			w->m->objects[object].module = w->files[i].module;
			return true;
		}
	}
	return false;
}

/* What the recording has by function, from a jitdump or a list of names, the truth has in one sum: neither is compared. */
static void except_made(const struct work *w, size_t object, double total)
{
	struct match_object *o = &w->m->objects[object];
	bool any = false;

	for (size_t i = 0; i < w->p->n_modules; i++) {
		if (!module_path_is_made(w->p->modules[i].path))
			continue;
		w->m->incomparable[i] = any = true;
	}
	if (!any)
		return;
	if (o->module >= 0)
		w->m->incomparable[o->module] = true;
	o->how = MATCH_ANOTHER;
	w->m->another += o->n_insn;
	sp_note("left out, on both sides: code that was made at run time (%.2g%% of the truth), of which the "
	        "truth has the "
	        "sum only",
	        100 * o->n_insn / total);
}

/* Of the files those that are no libraries, the one with most samples, or counts; NULL = there is none. */
static const struct profile_mapped *program_among(const struct profile *p, const struct profile_mapped *files,
                                                  size_t n_files)
{
	const struct profile_mapped *best = NULL;
	double most = -1;

	for (size_t i = 0; i < n_files; i++) {
		const struct profile_mapped *f = &files[i];
		double n = 0;

		if (is_library(f->path) || f->path[0] == '[' || module_is_memory(f->path))
			continue;
		for (size_t k = 0; f->module >= 0 && k < p->n_funcs; k++)
			if (p->funcs[k].module == (uint32_t)f->module)
				n += p->funcs[k].rolled.raw_insn + p->funcs[k].rolled.raw_cyc +
				     p->funcs[k].rolled.insn;
		if (n > most) {
			most = n;
			best = f;
		}
	}
	return best;
}

static const struct profile_mapped *program_of(const struct work *w)
{
	return program_among(w->p, w->files, w->n_files);
}

uint32_t match_program(const struct profile *p)
{
	struct profile_mapped *files = mem_calloc(p->n_modules + 1, sizeof(*files));
	const struct profile_mapped *program;
	uint32_t module;

	for (size_t i = 0; i < p->n_modules; i++)
		files[i] = (struct profile_mapped){ p->modules[i].path, p->modules[i].build_id, (int32_t)i };
	program = program_among(p, files, p->n_modules);
	module = program ? (uint32_t)program->module : UINT32_MAX;
	free(files);
	return module;
}

static int fail_another(const struct work *w, size_t object, const struct profile_mapped *f)
{
	const char *theirs = truth_id(w, object);

	if (*theirs && *f->build_id)
		return sp_fail(SP_ENOENT,
		               "%s: it is of %s, build id %s, the recording of %s, build id %s: not the same "
		               "build; run 'skidprof record' and 'skidprof truth' again on one build",
		               w->path, w->t->objects[object], theirs, f->path, f->build_id);
	return sp_fail(
	        SP_ENOENT,
	        "%s: its instructions of %s are not those of %s in the recording (build id %s): not the "
	        "same build; count and record again on one build",
	        w->path, w->t->objects[object], f->path, or_unknown(f->build_id));
}

/* The recording has a file of that name: is it the same one? */
static int match_file(struct work *w, size_t object, const struct profile_mapped *f, bool proven)
{
	struct match_object *o = &w->m->objects[object];
	const char *id = truth_id(w, object);
	bool differs = !proven && *id && *f->build_id,
	     same_path = strcmp(f->path, w->t->objects[object]) == 0;
	bool usable = f->module < 0 || !*w->p->modules[f->module].trouble;
	int err = 0;

	o->module = f->module;
	if (!differs && !usable && !is_library(f->path) && !module_is_memory(f->path) && f->path[0] != '[')
		return sp_fail(SP_ENOENT, "%s; as it is, there is nothing to compare with the exact counts",
		               w->p->modules[f->module].trouble);
	if (!differs)
		err = open_same(w, object, f);
	if (err < 0)
		return err;
	if (!differs && !proven && o->opened &&
	    !(same_path && *id && same_id(module_build_id(o->opened), id)))
		differs = !fits(w, object, o->opened);
	if (differs && !same_path && !is_library(f->path)) {
		/* Another program that happens to have that name. */
		module_free(o->opened);
		o->opened = NULL;
		o->module = -1;
		return 0;
	}
	if (differs && !is_library(f->path))
		return fail_another(w, object, f);
	o->how = differs || !usable ? MATCH_ANOTHER : MATCH_FILE;
	return 0;
}

static void note_library(const struct work *w, size_t object, double total, bool alone)
{
	const struct match_object *o = &w->m->objects[object];
	const struct profile_mapped *f;
	char why[512];
	bool proven;

	f = find_file(w, object, &proven);
	if (f && f->module >= 0 && *w->p->modules[f->module].trouble)
		snprintf(why, sizeof(why), "%s", w->p->modules[f->module].trouble);
	else
		snprintf(why, sizeof(why), "the recording's has build id %s, the truth's %s",
		         or_unknown(f ? f->build_id : ""), or_unknown(truth_id(w, object)));
	(alone ? sp_note : sp_debug)("left out, on both sides: functions of %s (%.2g%% of the truth): %s",
	                             f ? f->path : w->t->objects[object], 100 * o->n_insn / total, why);
}

/* Of one library all is said; of more the sum, and each of them with -v. */
static void note_left_out(const struct work *w, const bool *is_out, double total)
{
	double left = 0;
	size_t n = 0;

	for (size_t i = 0; i < w->m->n_objects; i++) {
		n += is_out[i];
		left += is_out[i] ? w->m->objects[i].n_insn : 0;
	}
	for (size_t i = 0; i < w->m->n_objects; i++)
		if (is_out[i])
			note_library(w, i, total, n == 1);
	if (n > 1)
		sp_note("left out, on both sides: functions of %zu libraries that are another build or can't "
		        "be "
		        "read (%.2g%% of the truth); -v says which",
		        n, 100 * left / total);
}

/* More than 1% in no file of the recording: another program. */
static int judge(const struct work *w, double total)
{
	const struct profile_mapped *program = program_of(w);
	size_t worst = 0;

	for (size_t i = 0; i < w->m->n_objects; i++) {
		const struct match_object *o = &w->m->objects[i];

		if (o->how == MATCH_NONE &&
		    (w->m->objects[worst].how != MATCH_NONE || o->n_insn > w->m->objects[worst].n_insn))
			worst = i;
	}
	if (total > 0 && w->m->nowhere > max_nowhere * total)
		return sp_fail(SP_ENOENT,
		               "%s: %.1f%% of its instructions are in no file of the recording: most in %s, "
		               "build id %s; "
		               "the recording is of %s, build id %s; count and record the same build",
		               w->path, 100 * w->m->nowhere / total, w->t->objects[worst],
		               or_unknown(truth_id(w, worst)), program ? program->path : "another program",
		               program ? or_unknown(program->build_id) : "unknown");
	if (total > 0 && w->m->another >= total * (1 - max_nowhere))
		return sp_fail(SP_ENOENT,
		               "%s: all that it counts is another build in the recording, or code that was "
		               "made at run "
		               "time: nothing is left to compare",
		               w->path);
	return 0;
}

static int match_all(struct work *w)
{
	bool *is_out = mem_calloc(w->m->n_objects + 1, sizeof(*is_out));
	double total = 0;
	int err = 0;

	for (size_t i = 0; i < w->m->n_objects; i++)
		total += w->m->objects[i].n_insn;
	for (size_t i = 0; i < w->m->n_objects && err == 0; i++) {
		struct match_object *o = &w->m->objects[i];
		const struct profile_mapped *f;
		bool proven;

		o->module = -1;
		if (!(o->n_insn > 0))
			continue;
		if (match_memory(w, i)) {
			except_made(w, i, total);
			continue;
		}
		f = find_file(w, i, &proven);
		if (f)
			err = match_file(w, i, f, proven);
		if (o->how == MATCH_NONE)
			w->m->nowhere += o->n_insn;
		if (err < 0 || o->how != MATCH_ANOTHER)
			continue;
		w->m->another += o->n_insn;
		if (o->module >= 0)
			w->m->incomparable[o->module] = true;
		is_out[i] = true;
	}
	if (err == 0)
		note_left_out(w, is_out, total);
	free(is_out);
	return err < 0 ? err : judge(w, total);
}

int match_objects(const struct profile *p, const struct truth *t, const char *path,
                  const struct module_options *opts, struct match *out)
{
	struct work w = { .p = p, .t = t, .path = path, .opts = opts, .m = out };
	int err;

	memset(out, 0, sizeof(*out));
	out->objects = mem_calloc(t->n_objects + 1, sizeof(*out->objects));
	out->incomparable = mem_calloc(p->n_modules + 1, sizeof(*out->incomparable));
	out->n_objects = t->n_objects;
	list_files(&w);
	weigh(&w);
	err = match_all(&w);
	free(w.files);
	free(w.first);
	if (err < 0)
		match_fini(out);
	return err;
}

void match_fini(struct match *m)
{
	for (size_t i = 0; i < m->n_objects; i++)
		module_free(m->objects[i].opened);
	free(m->objects);
	free(m->incomparable);
	memset(m, 0, sizeof(*m));
}
