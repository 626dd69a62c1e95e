/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A profile for other tools.  Formats: flamegraph.pl's, "Callgrind Format Specification" of valgrind's manual, pprof's profile.proto. */
#include "report/exchange.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/base/cmd.h"
#include "profiler/base/mem.h"
#include "report/flame.h"
#include "report/report.h"

int exchange_parse(const char *word, enum exchange *out)
{
	static const char *const words[] = { "folded", "folded-cycles", "callgrind", "pprof", NULL };
	const char *near;

	for (int i = 0; words[i]; i++)
		if (strcmp(word, words[i]) == 0) {
			*out = (enum exchange)(EXCHANGE_FOLDED + i);
			return 0;
		}
	near = cmd_suggest(word, words);
	return sp_fail(SP_EUSAGE, "--export: '%s' is none of folded, folded-cycles, callgrind, pprof%s%s%s",
	               word, near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

/* Counts are whole there. */
static uint64_t whole(double x)
{
	return x > 0 ? (uint64_t)llround(x) : 0;
}

/* ---- a stack a line: "main;step;at 1234" ---- */

/* A name that had a semicolon or an end of line would be two frames, or two lines; others a terminal would obey. */
static void put_frame(const char *name, FILE *f)
{
	for (; *name; name++)
		fputc(*name == ';' ? ':' : iscntrl((unsigned char)*name) ? ' ' : *name, f);
}

static void put_stack(const struct profile *p, const struct flame_frame *frames, size_t i, FILE *f)
{
	if (frames[i].parent) {
		put_stack(p, frames, frames[i].parent, f);
		fputc(';', f);
	}
	put_frame(flame_name(p, frames[i].func), f);
}

static void put_folded(const struct profile *p, const struct flame_frame *frames, size_t n,
                       enum exchange format, bool raw, FILE *f)
{
	bool cycles = format == EXCHANGE_FOLDED_CYCLES || !report_has_insn(p);

	for (size_t i = 1; i < n; i++) {
		uint64_t count = whole(cycles ? frames[i].cyc : raw ? frames[i].raw : frames[i].fixed);

		if (!count)
			continue;
		put_stack(p, frames, i, f);
		fprintf(f, " %" PRIu64 "\n", count);
	}
}

/* ---- callgrind's format ---- */

struct callgrind {
	FILE *f;
	const struct profile *p;
	struct texts files, funcs; /* a name is written once and numbered, from 1 */
	uint32_t module, func, file;
	bool insn;
};

static void put_name(FILE *f, const char *key, const char *text, struct texts *names)
{
	size_t n_known = names->v.n;
	long i = texts_number(names, text, strlen(text));

	fprintf(f, "%s=(%ld)", key, i + 1);
	if ((size_t)i >= n_known) {
		fputc(' ', f);
		put_frame(text, f);
	}
	fputc('\n', f);
}

static const char *file_or_unknown(const struct profile *p, uint32_t file)
{
	const char *path = report_file(p, file);

	return *path ? path : "???";
}

static void put_costs(const struct callgrind *c, const struct profile_count *count)
{
	if (c->insn)
		fprintf(c->f, "%" PRIu64 " %" PRIu64 " ", whole(count->insn), whole(count->raw_insn));
	fprintf(c->f, "%" PRIu64 "\n", whole(count->cyc));
}

static void begin_func(struct callgrind *c, const struct profile_insn *insn)
{
	const struct profile_func *func = &c->p->funcs[insn->phys_func];

	if (insn->module != c->module) {
		const char *path = report_module(c->p, insn->module);

		fputs("\nob=", c->f);
		put_frame(*path ? path : "???", c->f);
		fputc('\n', c->f);
	}
	c->module = insn->module;
	c->func = insn->phys_func;
	c->file = func->file;
	put_name(c->f, "\nfl", file_or_unknown(c->p, func->file), &c->files);
	put_name(c->f, "fn", report_name(func), &c->funcs);
}

static void put_insn(struct callgrind *c, const struct profile_insn *insn)
{
	if (insn->module != c->module || insn->phys_func != c->func)
		begin_func(c, insn);
	/* What is inlined has its lines in another file. */
	if (insn->file && insn->file != c->file) {
		c->file = insn->file;
		put_name(c->f, c->file == c->p->funcs[c->func].file ? "fe" : "fi",
		         file_or_unknown(c->p, c->file), &c->files);
	}
	fprintf(c->f, "0x%" PRIx64 " %u ", insn->vaddr, insn->file ? insn->line : 0);
	put_costs(c, &insn->count);
}

static void put_callgrind(const struct profile *p, FILE *f)
{
	struct callgrind c = {
		.f = f, .p = p, .module = UINT32_MAX, .func = UINT32_MAX, .insn = report_has_insn(p)
	};

	fputs("# callgrind format\nversion: 1\ncreator: skidprof " SKIDPROF_VERSION "\ncmd: ", f);
	put_frame(p->meta.cmdline, f);
	fprintf(f, "\npart: 1\n\ndesc: Counts: %s\n\npositions: instr line\nevents: %sCycles\n",
	        c.insn ? "sampled instructions, corrected for skid, and as sampled; sampled cycles"
	               : "sampled cycles",
	        c.insn ? "Fixed Raw " : "");
	for (size_t i = 0; i < p->n_insns; i++)
		if (whole(p->insns[i].count.insn) || whole(p->insns[i].count.raw_insn) ||
		    whole(p->insns[i].count.cyc))
			put_insn(&c, &p->insns[i]);
	texts_fini(&c.files);
	texts_fini(&c.funcs);
}

/* ---- pprof: profile.proto ---- */

struct bytes {
	VEC(uint8_t) b;
};

static void put_varint(struct bytes *to, uint64_t x)
{
	for (; x >= 0x80; x >>= 7)
		vec_add(&to->b, (uint8_t)(x | 0x80));
	vec_add(&to->b, (uint8_t)x);
}

static void put_number(struct bytes *to, unsigned field, uint64_t x)
{
	put_varint(to, field << 3);
	put_varint(to, x);
}

static void put_bytes(struct bytes *to, unsigned field, const void *data, size_t n)
{
	put_varint(to, field << 3 | 2);
	put_varint(to, n);
	vec_room(&to->b, to->b.n + n);
	if (n)
		memcpy(to->b.v + to->b.n, data, n);
	to->b.n += n;
}

/* A message within another; it is empty then, for the next one. */
static void put_message(struct bytes *to, unsigned field, struct bytes *message)
{
	put_bytes(to, field, message->b.v, message->b.n);
	message->b.n = 0;
}

struct pprof {
	const struct profile *p;
	struct texts texts; /* its table of strings; number 0 is "" */
	struct bytes out, message, part;
};

static uint64_t text_number(struct pprof *w, const char *text)
{
	return (uint64_t)texts_number(&w->texts, text, strlen(text));
}

/* What each number of a sample is. */
static void put_type(struct pprof *w, const char *type, const char *unit)
{
	put_number(&w->message, 1, text_number(w, type));
	put_number(&w->message, 2, text_number(w, unit));
	put_message(&w->out, 1, &w->message);
}

/* Stacks are written from the innermost frame on.  A location is a function here: of profile->funcs from 1 on, then those of no function. */
static uint64_t location_of(const struct profile *p, uint32_t func)
{
	return 1 + (func < flame_first_special ? func : p->n_funcs + (func - flame_first_special));
}

static void put_sample(struct pprof *w, const struct flame_frame *frames, size_t i)
{
	const struct flame_frame *x = &frames[i];

	for (size_t at = i; at; at = frames[at].parent)
		put_varint(&w->part, location_of(w->p, frames[at].func));
	put_message(&w->message, 1, &w->part);
	if (report_has_insn(w->p)) {
		put_varint(&w->part, whole(x->fixed));
		put_varint(&w->part, whole(x->raw));
	}
	put_varint(&w->part, whole(x->cyc));
	put_message(&w->message, 2, &w->part);
	put_message(&w->out, 2, &w->message);
}

static void put_location(struct pprof *w, uint32_t func)
{
	const struct profile *p = w->p;
	const struct profile_func *f = func < flame_first_special ? &p->funcs[func] : NULL;
	const char *name = flame_name(p, func);
	uint64_t id = location_of(p, func);

	put_number(&w->part, 1, id);
	put_number(&w->part, 2, f ? f->line : 0);
	put_number(&w->message, 1, id);
	put_message(&w->message, 4, &w->part);
	put_message(&w->out, 4, &w->message);

	put_number(&w->message, 1, id);
	put_number(&w->message, 2, text_number(w, name));
	put_number(&w->message, 3, text_number(w, f ? f->linkage : name));
	put_number(&w->message, 4, text_number(w, f ? report_file(p, f->file) : ""));
	put_number(&w->message, 5, f ? f->line : 0);
	put_message(&w->out, 5, &w->message);
}

static void put_locations(struct pprof *w, const struct flame_frame *frames, size_t n)
{
	uint8_t *used = mem_calloc(w->p->n_funcs + 8, 1);

	for (size_t i = 1; i < n; i++) {
		uint64_t id = location_of(w->p, frames[i].func);

		if (!used[id])
			put_location(w, frames[i].func);
		used[id] = 1;
	}
	free(used);
}

static void put_pprof(const struct profile *p, const struct flame_frame *frames, size_t n, FILE *f)
{
	struct pprof w = { .p = p };

	text_number(&w, "");
	if (report_has_insn(p)) {
		put_type(&w, "instructions", "count");
		put_type(&w, "instructions_raw", "count");
	}
	put_type(&w, report_has_cyc(p) ? "cycles" : "events", "count");
	for (size_t i = 1; i < n; i++)
		if (whole(frames[i].fixed) || whole(frames[i].raw) || whole(frames[i].cyc))
			put_sample(&w, frames, i);
	put_locations(&w, frames, n);
	for (size_t i = 0; i < w.texts.v.n; i++)
		put_bytes(&w.out, 6, w.texts.v.v[i], strlen(w.texts.v.v[i]));
	fwrite(w.out.b.v, 1, w.out.b.n, f);
	texts_fini(&w.texts);
	vec_fini(&w.out.b);
	vec_fini(&w.message.b);
	vec_fini(&w.part.b);
}

int exchange_write(const struct profile *p, enum exchange format, bool raw, FILE *f)
{
	struct flame_frame *frames = NULL;
	const char *note;
	size_t n = 0;
	int err;

	if (format == EXCHANGE_FOLDED_CYCLES && !report_has_cyc(p))
		return sp_fail(SP_ENOTSUP, "%s: --export folded-cycles: no cycles were sampled",
		               p->meta.input);
	if (format == EXCHANGE_CALLGRIND) {
		put_callgrind(p, f);
		return 0;
	}
	err = flame_frames(p, &frames, &n, &note);
	if (err == 0 && format == EXCHANGE_PPROF)
		put_pprof(p, frames, n, f);
	else if (err == 0)
		put_folded(p, frames, n, format, raw, f);
	free(frames);
	return err;
}
