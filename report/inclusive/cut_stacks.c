/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/inclusive/cut_stacks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "correct/model/model.h"
#include "profiler/base/begins.h"
#include "profiler/base/mem.h"

/* Does a thread begin in it, as the C library's, the loader's, or Go's do?  main() is called by code without frame pointers. */
static bool is_entry(const struct profile *p, uint32_t func)
{
	static const char *const names[] = {
		"main", "clone", "__clone", "clone3", "__clone3", "start_thread"
	};
	static const char *const beginnings[] = {
		"_start",         "__libc_start",       "_dl_start",
		"runtime.goexit", "runtime.mstart",     "runtime.mcall",
		"runtime.rt0_go", "runtime.asmcgocall", "runtime.systemstack",
		"ret_from_fork",  "secondary_startup"
	};
	const struct profile_func *f = &p->funcs[func];
	const char *file = f->module < p->n_modules ? strrchr(p->modules[f->module].path, '/') : NULL;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strcmp(f->name, names[i]) == 0)
			return true;
	for (size_t i = 0; i < sizeof(beginnings) / sizeof(*beginnings); i++)
		if (begins(f->name, beginnings[i]))
			return true;
	/* Without symbols of the C library it is nobody's name that calls main(). */
	return f->name[0] == '[' && file && begins(file, "/libc.so");
}

/* [n_frames], malloc'd: does no function that a thread begins in stand above it, or is one? */
static bool *find_cut(const struct profile *p)
{
	bool *cut = mem_malloc((p->n_frames + 1) * sizeof(*cut));
	uint8_t *entry = mem_calloc(p->n_funcs + 1, sizeof(*entry));

	for (uint32_t f = 0; f < p->n_funcs; f++)
		entry[f] = is_entry(p, f);
	for (size_t i = 0; i < p->n_frames; i++) /* callers stand before callees */
		cut[i] = i == 0 || (cut[p->frames[i].parent] && !entry[p->frames[i].func]);
	free(entry);
	return cut;
}

double cut_stacks_share(const struct profile *p)
{
	double all[2] = { 0 }, sum[2] = { 0 };
	bool *cut = p->n_frames ? find_cut(p) : NULL;
	int by;

	for (size_t i = 1; cut && i < p->n_frames; i++) {
		all[0] += p->frames[i].raw_cyc;
		all[1] += p->frames[i].raw_insn;
		sum[0] += cut[i] ? p->frames[i].raw_cyc : 0;
		sum[1] += cut[i] ? p->frames[i].raw_insn : 0;
	}
	free(cut);
	by = all[1] > 0;
	return all[by] > 0 ? sum[by] / all[by] : 0;
}

double cut_stacks_open_share(const struct profile *p)
{
	return p->meta.n_chains ? (double)p->meta.n_chains_open / (double)p->meta.n_chains : 0;
}

/* What stacks of a kind have in all, and of them those that each function is on. */
struct tally {
	const struct profile *p;
	const double *insn;
	struct inclusive all, *on; /* on: [n_funcs] */
	uint32_t *last;            /* [n_funcs] frame + 1 that counted for a function last */
};

static void tally_new(const struct profile *p, const double *insn, struct tally *t)
{
	*t = (struct tally){ .p = p, .insn = insn };
	t->on = mem_calloc(p->n_funcs + 1, sizeof(*t->on));
	t->last = mem_calloc(p->n_funcs + 1, sizeof(*t->last));
}

static void tally_free(struct tally *t)
{
	free(t->on);
	free(t->last);
}

static void add_stack(struct tally *t, uint32_t i, double part)
{
	const struct profile_frame *f = &t->p->frames[i];
	double insn = part * t->insn[i], cyc = part * f->raw_cyc;

	t->all.insn += insn;
	t->all.cyc += cyc;
	for (uint32_t at = i; at; at = t->p->frames[at].parent) {
		uint32_t func = t->p->frames[at].func;

		if (t->last[func] == i + 1)
			continue;
		t->last[func] = i + 1;
		t->on[func].insn += insn;
		t->on[func].cyc += cyc;
	}
}

static void widen(const struct tally *t, const bool *may, struct inclusive *out)
{
	const struct profile *p = t->p;
	const bool of_insn = inclusive_is_of_insn(p);
	double whole = 0;

	for (size_t i = 1; i < p->n_frames; i++)
		whole += of_insn ? t->insn[i] : p->frames[i].raw_cyc;
	for (size_t f = 0; f < p->n_funcs; f++) {
		double more = of_insn ? t->all.insn - t->on[f].insn : t->all.cyc - t->on[f].cyc;

		if ((!may || may[f]) && (out[f].insn > 0 || out[f].cyc > 0))
			out[f].hi = fmin(out[f].hi + more, fmax(out[f].hi, whole));
	}
}

/* may[f]: f may be missing above func, for func is among what it calls, and what that calls.  Whose calls nobody knows is anyone's. */
static void find_callers(const struct profile *p, uint32_t func, bool *may)
{
	bool change = true;

	memset(may, 0, p->n_funcs * sizeof(*may));
	may[func] = true;
	while (change) {
		change = false;
		for (size_t i = 0; i < p->n_calls; i++)
			if (may[p->calls[i].callee] && !may[p->calls[i].caller])
				change = may[p->calls[i].caller] = true;
	}
	may[func] = false;
	for (size_t f = 0; f < p->n_funcs; f++)
		change |= may[f];
	for (size_t f = 0; f < p->n_funcs; f++)
		may[f] |= !change;
}

/* What of a frame's count is not known to be its parent's. */
static double doubt_of(const struct profile_frame *f)
{
	return f->open ? 1 : f->doubt;
}

/* Of what is below frames of func whose caller is missing, or in doubt, part[k] may be below any that calls func. */
static void missing_above(const struct profile *p, const double *insn, uint32_t func, uint32_t first,
                          double *part, bool *may, struct inclusive *out)
{
	struct tally t;

	tally_new(p, insn, &t);
	for (uint32_t k = first; k < p->n_frames; k++) { /* callers stand before callees */
		const struct profile_frame *f = &p->frames[k];

		part[k] = f->parent < first ? 0 : part[f->parent];
		if (f->func == func)
			part[k] = fmax(part[k], doubt_of(f));
		if (part[k] > 0)
			add_stack(&t, k, part[k]);
	}
	find_callers(p, func, may);
	widen(&t, may, out);
	tally_free(&t);
}

/* From the outermost of it in, what of a stack is not a function's if a caller is another than it was on other stacks. */
static void take_doubt(const struct profile *p, uint32_t i, double weight, uint32_t *last,
                       struct inclusive *out)
{
	double right = 1;

	for (uint32_t at = i; at; at = p->frames[at].parent) {
		uint32_t func = p->frames[at].func;

		if (last[func] != i + 1 && right < 1)
			out[func].lo = fmax(out[func].lo - (1 - right) * weight, 0);
		last[func] = i + 1;
		right *= 1 - p->frames[at].doubt;
	}
}

static void missing_bounds(const struct profile *p, const double *insn, struct inclusive *out)
{
	const bool of_insn = inclusive_is_of_insn(p);
	double *part = mem_calloc(p->n_frames + 1, sizeof(*part));
	bool *may = mem_calloc(p->n_funcs + 1, sizeof(*may)),
	     *done = mem_calloc(p->n_funcs + 1, sizeof(*done));
	uint32_t *last = mem_calloc(p->n_funcs + 1, sizeof(*last));

	for (uint32_t i = 1; i < p->n_frames; i++) {
		const struct profile_frame *f = &p->frames[i];

		take_doubt(p, i, of_insn ? insn[i] : f->raw_cyc, last, out);
		if (!(doubt_of(f) > 0) || done[f->func])
			continue;
		done[f->func] = true;
		missing_above(p, insn, f->func, i, part, may, out);
	}
	free(part);
	free(may);
	free(done);
	free(last);
}

void cut_stacks_bounds(const struct profile *p, const double *insn, struct inclusive *out)
{
	struct tally t = { 0 };
	bool *cut;

	missing_bounds(p, insn, out);
	if (cut_stacks_share(p) <= model->little)
		return;
	cut = find_cut(p);
	tally_new(p, insn, &t);
	for (uint32_t i = 1; i < p->n_frames; i++)
		if (cut[i])
			add_stack(&t, i, 1);
	widen(&t, NULL, out);
	tally_free(&t);
	free(cut);
}

void cut_stacks_judge(const struct profile *p, struct inclusive *out)
{
	if (cut_stacks_open_share(p) <= model->little && cut_stacks_share(p) <= model->little)
		return;
	for (size_t f = 0; f < p->n_funcs; f++)
		if (out[f].hi - out[f].lo > (inclusive_is_of_insn(p) ? out[f].insn : out[f].cyc))
			out[f].raw_insn = out[f].insn = out[f].cyc = NAN;
}
