/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs of instructions at addresses of a process that has ended, found again in the files it had mapped. */
#include <stdlib.h>
#include <string.h>

#include "profiler/base/log.h"
#include "profiler/base/mem.h"
#include "report/match/place.h"
#include "report/truth/build.h"

/* More than this in no file of the recording is another program's. */
static const double max_nowhere = 0.01;

enum { PAGE = 4096, MAX_INSN_BYTES = 16, MAX_TB_INSNS = 512 };

struct work {
	struct truth *t;
	const struct place_files *files;
	struct insn_decoder **d; /* [files->n] */
	struct module *m;        /* now looked at, and its decoder */
	struct insn_decoder *decoder;
	uint64_t *vaddr; /* [t->n_runs], of those that are placed */
	uint32_t *file;  /* [t->n_runs], UINT32_MAX = not placed */
};

static bool decode(const struct work *w, uint64_t vaddr, struct insn *out)
{
	size_t n;
	const uint8_t *code = module_code(w->m, vaddr, &n);

	return code && insn_decode(w->decoder, code, n, vaddr, out) == 0 && !(out->flags & INSN_UNKNOWN);
}

/* Does an instruction of function f begin at vaddr? */
static bool is_begin(const struct work *w, const struct module_func *f, uint64_t vaddr)
{
	uint64_t v = f->vaddr;
	struct insn insn;

	while (v < vaddr && decode(w, v, &insn))
		v += insn.size_bytes;
	return v == vaddr;
}

/* "A::f(int)" is "A::f", whoever writes it. */
static bool same_function(const struct module_func *f, const char *name)
{
	size_t n = strcspn(f->name, "(");

	return strcmp(f->linkage, name) == 0 || strcmp(f->name, name) == 0 ||
	       (strncmp(f->name, name, n) == 0 && (name[n] == '\0' || name[n] == '('));
}

/* Instructions that QEMU translates together: straight on to a branch, or to the end of the page. */
static bool is_block(const struct work *w, uint64_t vaddr, uint32_t n)
{
	struct insn insn = { 0 };

	for (uint32_t i = 0; i < n; i++) {
		if (!decode(w, vaddr, &insn))
			return false;
		vaddr += insn.size_bytes;
		if (i + 1 < n && insn.flow != INSN_PLAIN)
			return false;
	}
	return insn.flow != INSN_PLAIN || insn.flags & INSN_REP || n == MAX_TB_INSNS ||
	       (vaddr + MAX_INSN_BYTES) % PAGE < 2 * MAX_INSN_BYTES;
}

static bool fits(const struct work *w, const struct truth_run *run, uint64_t vaddr)
{
	long i = module_func_at(w->m, vaddr);
	const struct module_func *f = i < 0 ? NULL : module_func(w->m, (size_t)i);

	if (!f)
		return false;
	/* Functions are decoded last, for that takes the longest. */
	if (run->func != TRUTH_NONE ? !same_function(f, w->t->symbols[run->func])
	                            : !is_block(w, vaddr, run->n_insns))
		return false;
	return is_begin(w, f, vaddr);
}

/* Runs not placed yet that are of the file's code where it lies `shift` above its addresses as linked. */
static size_t count_fits(const struct work *w, uint64_t shift)
{
	size_t n = 0;

	for (size_t i = 0; i < w->t->n_runs; i++)
		n += w->file[i] == UINT32_MAX && fits(w, &w->t->runs[i], w->t->runs[i].ip - shift);
	return n;
}

/* The file's code: from the first function to the end of the last. */
static bool extent(struct module *m, uint64_t *first, uint64_t *end)
{
	size_t n = module_n_funcs(m);

	if (!n)
		return false;
	*first = module_func(m, 0)->vaddr;
	*end = module_func(m, n - 1)->vaddr + module_func(m, n - 1)->size_bytes;
	return true;
}

struct candidate {
	uint32_t file;
	uint64_t shift;
	size_t n;  /* runs that fit */
	bool tied; /* others fit as well */
};

/* Where the file with run r in it may lie. */
static void try_file(struct work *w, uint32_t file, const struct truth_run *r, struct candidate *best)
{
	uint64_t first, end;

	w->m = w->files->v[file];
	w->decoder = w->d[file];
	if (!extent(w->m, &first, &end))
		return;
	for (uint64_t v = first - first % PAGE + r->ip % PAGE; v < end; v += PAGE) {
		size_t n;

		if (!fits(w, r, v))
			continue;
		n = count_fits(w, r->ip - v);
		if (n == best->n)
			best->tied = true;
		if (n > best->n)
			*best = (struct candidate){ file, r->ip - v, n, false };
	}
}

static void take(struct work *w, const struct candidate *c)
{
	w->m = w->files->v[c->file];
	w->decoder = w->d[c->file];
	for (size_t i = 0; i < w->t->n_runs; i++) {
		uint64_t v = w->t->runs[i].ip - c->shift;

		if (w->file[i] != UINT32_MAX || !fits(w, &w->t->runs[i], v))
			continue;
		w->file[i] = c->file;
		w->vaddr[i] = v;
	}
}

static void place_all(struct work *w)
{
	for (size_t i = 0; i < w->t->n_runs; i++) {
		struct candidate best = { 0 };

		for (uint32_t f = 0; f < w->files->n && w->file[i] == UINT32_MAX; f++)
			try_file(w, f, &w->t->runs[i], &best);
		if (best.n && !best.tied)
			take(w, &best);
	}
}

/* A function by its name in a library of the recording, so of another build of it. */
static bool in_library(const struct work *w, const struct truth_run *run)
{
	for (uint32_t f = 0; f < w->files->n && run->func != TRUTH_NONE; f++)
		if (strstr(module_path(w->files->v[f]), ".so") &&
		    module_func_named(w->files->v[f], w->t->symbols[run->func]) >= 0)
			return true;
	return false;
}

static int judge(const struct work *w, const char *path)
{
	double all = 0, nowhere = 0, library = 0;

	for (size_t i = 0; i < w->t->n_runs; i++) {
		const struct truth_run *r = &w->t->runs[i];
		double n = (double)r->n * r->n_insns;

		all += n;
		if (w->file[i] != UINT32_MAX)
			continue;
		if (in_library(w, r))
			library += n;
		else
			nowhere += n;
	}
	if (nowhere > max_nowhere * all)
		return sp_fail(SP_ENOENT,
		               "%s: %.1f%% of its instructions are no instructions of any file of the "
		               "recording: counts of another program, or of another build",
		               path, 100 * nowhere / all);
	if (library > 0)
		sp_note("left out: %.2g%% of %s, in libraries that are another build in the recording",
		        100 * library / all, path);
	return 0;
}

/* A run's instructions, each of them as often as the run. */
static void add_run(struct work *w, size_t i, const uint32_t *object, struct truth_build *b)
{
	const struct truth_run *r = &w->t->runs[i];
	uint64_t v = w->vaddr[i];
	struct insn insn;

	w->m = w->files->v[w->file[i]];
	w->decoder = w->d[w->file[i]];
	for (uint32_t k = 0; k < r->n_insns && decode(w, v, &insn); k++) {
		vec_add(&b->insns, (struct truth_insn){ object[w->file[i]], v, r->n });
		v += insn.size_bytes;
	}
}

static int add_runs(struct work *w)
{
	uint32_t *object = mem_calloc(w->files->n + 1, sizeof(*object));
	struct truth_build b = { 0 };
	int err = 0;

	for (size_t f = 0; f < w->files->n; f++) {
		truth_build_object(&b, module_path(w->files->v[f]), &object[f]);
		if (err == 0)
			truth_build_id(&b, object[f], module_build_id(w->files->v[f]));
	}
	for (size_t i = 0; i < w->t->n_runs && err == 0; i++)
		if (w->file[i] != UINT32_MAX)
			add_run(w, i, object, &b);
	if (err == 0)
		err = truth_build_move(&b, w->t);
	truth_build_fini(&b);
	free(object);
	return err;
}

int place_runs(struct truth *t, const char *path, const struct place_files *files)
{
	struct work w = { .t = t, .files = files };
	int err = 0;

	w.d = mem_calloc(files->n + 1, sizeof(struct insn_decoder *));
	w.vaddr = mem_calloc(t->n_runs + 1, sizeof(*w.vaddr));
	w.file = mem_malloc((t->n_runs + 1) * sizeof(*w.file));
	for (size_t f = 0; f < files->n && err == 0; f++)
		err = insn_decoder_new(module_isa(files->v[f]), &w.d[f]);
	if (err == 0) {
		memset(w.file, 0xff, (t->n_runs + 1) * sizeof(*w.file));
		place_all(&w);
		err = judge(&w, path);
	}
	if (err == 0)
		err = add_runs(&w);
	for (size_t f = 0; f < files->n; f++)
		insn_decoder_free(w.d[f]);
	free(w.d);
	free(w.vaddr);
	free(w.file);
	return err;
}
