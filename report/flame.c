/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/flame.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/base/err.h"
#include "profiler/base/mem.h"
#include "profiler/base/order.h"
#include "profiler/base/vec.h"
#include "report/inclusive/inclusive.h"
#include "report/report.h"

/* Below this share of everything nobody sees a frame. */
static const double min_frame = 1e-4;

enum { MAX_DEPTH = 60, MAX_FRAMES = 60000 };

/* Frames that are no function's: all of it, code whose callers nothing tells, frames that are each too small, and add_unseen(). */
static const uint32_t frame_all = UINT32_MAX, frame_unplaced = UINT32_MAX - 1, frame_small = UINT32_MAX - 2,
                      frame_unseen = UINT32_MAX - 3;
const uint32_t flame_first_special = UINT32_MAX - 3;

/* A caller with so much of the calls has all of them. */
static const double whole = 0.999;

struct flame {
	const struct profile *p;
	VEC(struct flame_frame) frames;
	double total; /* fixed instructions, or cycles */
	double cycles;
};

static double weight(const struct flame *f, double fixed, double cyc)
{
	return report_has_insn(f->p) ? fixed : cyc;
}

static int add(struct flame *f, uint32_t parent, uint32_t func, double raw, double fixed, double cyc,
               bool guess)
{
	return vec_push(&f->frames, (struct flame_frame){ parent, func, raw, fixed, cyc, guess });
}

/*
 * What is inlined and no sample fell in has no frame of its own: a frame below that of the function that holds it has it.  number:
 * of each frame of the profile, sum: scratch of as many.
 */
static int add_unseen(struct flame *f, const double *insn, const double *held, const uint32_t *number,
                      double *sum)
{
	const struct profile *p = f->p;
	int err = 0;

	memset(sum, 0, (p->n_frames + 1) * sizeof(*sum));
	for (uint32_t i = 1; i < p->n_frames; i++) {
		uint32_t holder = i;

		while (p->frames[holder].func != p->frames[i].phys_func && p->frames[holder].parent &&
		       p->frames[p->frames[holder].parent].phys_func == p->frames[i].phys_func)
			holder = p->frames[holder].parent;
		if (held[p->frames[i].phys_func] > 0)
			sum[holder] += (held[p->frames[i].phys_func] - 1) * insn[i];
	}
	for (size_t i = 1; i < p->n_frames && err == 0; i++) {
		if (sum[i] >= min_frame * f->total && f->frames.v[number[i]].func < flame_first_special)
			err = add(f, number[i], frame_unseen, 0, sum[i], 0, false);
		else
			f->frames.v[number[i]].fixed += sum[i];
	}
	return err;
}

/* ---- of call stacks: small ones are one of their caller's, which else would seem to run them itself ---- */

static int of_stacks(struct flame *f)
{
	const struct profile *p = f->p;
	double *held, *insn = inclusive_frames(p, &held), *sum = mem_calloc(p->n_frames + 1, sizeof(*sum));
	uint32_t *number = mem_calloc(2 * (p->n_frames + 1), sizeof(*number)), *small;
	int err = 0;

	for (size_t i = p->n_frames; i-- > 1;) {
		sum[i] += weight(f, insn[i], p->frames[i].raw_cyc);
		sum[p->frames[i].parent] += sum[i];
	}
	small = number + p->n_frames + 1; /* of each frame that has callees which are */
	for (size_t i = 1; i < p->n_frames && err == 0; i++) {
		const struct profile_frame *frame = &p->frames[i];
		uint32_t parent = number[frame->parent];

		if (sum[i] < min_frame * f->total || f->frames.n >= MAX_FRAMES) {
			struct flame_frame *to;

			if (f->frames.v[parent].func == frame_small)
				number[i] = parent;
			else if (small[frame->parent])
				number[i] = small[frame->parent];
			else {
				number[i] = small[frame->parent] = (uint32_t)f->frames.n;
				err = add(f, parent, frame_small, 0, 0, 0, false);
				if (err < 0)
					break;
			}
			to = &f->frames.v[number[i]];
			to->raw += frame->raw_insn;
			to->fixed += insn[i];
			to->cyc += frame->raw_cyc;
			continue;
		}
		number[i] = (uint32_t)f->frames.n;
		err = add(f, parent, frame->func, frame->raw_insn, insn[i], frame->raw_cyc, false);
	}
	if (err == 0)
		err = add_unseen(f, insn, held, number, sum);
	free(insn);
	free(held);
	free(sum);
	free(number);
	return err;
}

/* ---- of the flow ---- */

struct piece {
	uint32_t phys_func, func;
	double raw, insn, cyc;
};

struct walk {
	struct flame *f;
	double *below;           /* [n_funcs] what it has with all that it calls, as calls are shared */
	struct inclusive *most;  /* [n_funcs] the same, as far as it is known: bounds, too */
	double *left;            /* [n_funcs] share of it that is more than its callers have themselves */
	double *placed;          /* [n_funcs] share of what each runs itself that has a frame */
	uint8_t *on_path;        /* [n_funcs] */
	struct piece *pieces;    /* what each physical function has inlined, and itself, by both */
	size_t *first_piece;     /* [n_funcs + 1] by physical function */
	uint32_t unplaced;       /* the frame of what nothing is known to call, 0 = there is none yet */
	size_t *first_of_caller; /* [n_funcs + 1] calls sorted by caller */
	const struct profile_call **by_caller;
};

static int by_caller(const void *a, const void *b)
{
	const struct profile_call *x = *(struct profile_call *const *)a,
	                          *y = *(struct profile_call *const *)b;

	if (x->caller != y->caller)
		return x->caller < y->caller ? -1 : 1;
	return (x->callee > y->callee) - (x->callee < y->callee);
}

static int by_functions(const void *a, const void *b)
{
	const struct piece *x = a, *y = b;

	return order_pairs(x->phys_func, x->func, y->phys_func, y->func);
}

static int find_pieces(struct walk *w)
{
	const struct profile *p = w->f->p;
	size_t n = 0;

	w->pieces = calloc(p->n_insns + 1, sizeof(*w->pieces));
	w->first_piece = calloc(p->n_funcs + 2, sizeof(*w->first_piece));
	if (!w->pieces || !w->first_piece)
		return sp_fail(SP_ENOMEM, "out of memory for a page");
	for (size_t i = 0; i < p->n_insns; i++)
		w->pieces[i] =
		        (struct piece){ p->insns[i].phys_func, p->insns[i].func, p->insns[i].count.raw_insn,
			                p->insns[i].count.insn, p->insns[i].count.cyc };
	qsort(w->pieces, p->n_insns, sizeof(*w->pieces), by_functions);
	for (size_t i = 0; i < p->n_insns; i++) {
		struct piece *to = n ? &w->pieces[n - 1] : NULL, *x = &w->pieces[i];

		if (!to || by_functions(to, x) != 0) {
			w->pieces[n++] = *x;
			w->first_piece[x->phys_func + 1]++;
			continue;
		}
		to->raw += x->raw;
		to->insn += x->insn;
		to->cyc += x->cyc;
	}
	for (size_t g = 0; g < p->n_funcs; g++)
		w->first_piece[g + 1] += w->first_piece[g];
	return 0;
}

/* The function itself, with what is inlined in it below: what of that is too small is its own. */
static int add_own(struct walk *w, uint32_t parent, uint32_t func, double share, bool guess)
{
	const struct piece *first = w->pieces + w->first_piece[func],
	                   *end = w->pieces + w->first_piece[func + 1];
	const double least = min_frame * w->f->total;
	uint32_t self = (uint32_t)w->f->frames.n;
	struct piece own = { 0 };
	int err;

	for (const struct piece *x = first; x < end; x++) {
		if (x->func != func && share * weight(w->f, x->insn, x->cyc) >= least)
			continue;
		own.raw += share * x->raw;
		own.insn += share * x->insn;
		own.cyc += share * x->cyc;
	}
	err = add(w->f, parent, func, own.raw, own.insn, own.cyc, guess);
	for (const struct piece *x = first; x < end && err == 0; x++)
		if (x->func != func && share * weight(w->f, x->insn, x->cyc) >= least)
			err = add(w->f, self, x->func, share * x->raw, share * x->insn, share * x->cyc,
			          guess);
	w->placed[func] += share;
	return err;
}

/*
 * Does a call tell who called?  Of several whose number nothing tells only those of functions that were seen to run; one that
 * has no other beside it is certain.
 */
static bool tells(const struct profile *p, const struct profile_call *c)
{
	const struct profile_count *ran = &p->funcs[c->caller].rolled;

	if (!(c->share > 0) || c->callee == c->caller)
		return false;
	return !c->guessed || c->share >= whole || ran->raw_insn > 0 || ran->insn > 0 || ran->cyc > 0;
}

/* What frames of it have in all: bounds of a recursion are all of the program, and small frames would take the room of large ones. */
static double *share_below(const struct flame *f)
{
	const struct profile *p = f->p;
	double *below = mem_calloc(p->n_funcs + 1, sizeof(*below)),
	       *next = mem_calloc(p->n_funcs + 1, sizeof(*next));

	/* Deeper ones are not shown. */
	for (int round = 0; round < MAX_DEPTH; round++) {
		for (size_t g = 0; g < p->n_funcs; g++)
			next[g] = weight(f, p->funcs[g].rolled.insn, p->funcs[g].rolled.cyc);
		for (size_t i = 0; i < p->n_calls; i++)
			if (tells(p, &p->calls[i]))
				next[p->calls[i].caller] += p->calls[i].share * below[p->calls[i].callee];
		for (size_t g = 0; g < p->n_funcs; g++)
			below[g] = fmin(next[g], f->total);
	}
	free(next);
	return below;
}

/* Of the callee; what threads begin with is not for who else calls it, who would have more below it than it comes to. */
static double share_of_call(const struct walk *w, const struct profile_call *c)
{
	const struct inclusive *by = &w->most[c->caller];
	const struct profile_count *ran = &w->f->p->funcs[c->caller].rolled;
	const double has = c->share * w->below[c->callee], known = weight(w->f, by->insn, by->cyc),
	             room = (known > 0 ? known : by->hi) - weight(w->f, ran->insn, ran->cyc);

	return by->hi > 0 && has > by->hi ? c->share * fmax(room, 0) / has : c->share;
}

static int descend(struct walk *w, uint32_t parent, uint32_t func, double share, bool guess, int depth)
{
	struct flame *f = w->f;
	uint32_t self = (uint32_t)f->frames.n;
	int err;

	if (w->on_path[func] || depth > MAX_DEPTH || f->frames.n >= MAX_FRAMES ||
	    share * w->below[func] < min_frame * f->total)
		return 0;
	err = add_own(w, parent, func, share, guess);
	w->on_path[func] = 1;
	for (size_t i = w->first_of_caller[func]; i < w->first_of_caller[func + 1] && err == 0; i++) {
		const struct profile_call *c = w->by_caller[i];
		double its;

		if (!tells(w->f->p, c))
			continue;
		its = share_of_call(w, c);
		w->left[c->callee] += share * (c->share - its);
		err = descend(w, self, c->callee, share * its, guess || its < whole, depth + 1);
	}
	w->on_path[func] = 0;
	return err;
}

static int need_unplaced(struct walk *w)
{
	if (w->unplaced)
		return 0;
	w->unplaced = (uint32_t)w->f->frames.n;
	return add(w->f, 0, frame_unplaced, 0, 0, 0, true);
}

/* What nobody is known to call stands at the bottom, and what the code says is called, and not by whom, apart. */
static int from_roots(struct walk *w)
{
	enum { CALLED = 1, BY_SOMEONE };
	const struct profile *p = w->f->p;
	uint8_t *called = calloc(p->n_funcs + 1, 1);
	int err = called ? 0 : sp_fail(SP_ENOMEM, "out of memory for a page");

	for (size_t i = 0; i < p->n_calls && err == 0; i++) {
		uint8_t *of = &called[p->calls[i].callee];

		if (tells(p, &p->calls[i]))
			*of = CALLED;
		else if (p->calls[i].guessed && !*of)
			*of = BY_SOMEONE;
	}
	for (uint32_t f = 0; f < p->n_funcs && err == 0; f++) {
		if (called[f] == CALLED)
			continue;
		if (called[f] && w->below[f] >= min_frame * w->f->total)
			err = need_unplaced(w);
		if (err == 0)
			err = descend(w, called[f] ? w->unplaced : 0, f, 1, called[f], 0);
	}
	free(called);
	return err;
}

/* Who else calls what its callers have too little for. */
static int add_left(struct walk *w)
{
	int err = 0;

	for (uint32_t f = 0; f < w->f->p->n_funcs && err == 0; f++) {
		const double left = fmin(w->left[f], 1 - w->placed[f]);

		if (left * w->below[f] < min_frame * w->f->total)
			continue;
		err = need_unplaced(w);
		if (err == 0)
			err = descend(w, w->unplaced, f, left, true, 0);
	}
	return err;
}

/* What has no way from a root: it is called from where the flow does not tell, or by itself through others. */
static int add_unplaced(struct walk *w)
{
	const struct profile *p = w->f->p;
	double all = 0, cycles = 0;
	int err = 0;

	/* Cycles may be of functions without instructions. */
	for (uint32_t f = 0; f < p->n_funcs; f++) {
		const struct profile_count *c = &p->funcs[f].rolled;
		double left = fmax(1 - w->placed[f], 0);

		all += left * weight(w->f, c->insn, c->cyc);
		cycles += left * c->cyc;
	}
	if (all < min_frame * w->f->total && cycles < min_frame * w->f->cycles)
		return 0;
	err = need_unplaced(w);
	for (uint32_t f = 0; f < p->n_funcs && err == 0; f++) {
		const struct profile_count *c = &p->funcs[f].rolled;
		const double left = fmax(1 - w->placed[f], 0);
		struct flame_frame *to = &w->f->frames.v[w->unplaced];

		if (left * weight(w->f, c->insn, c->cyc) >= min_frame * w->f->total &&
		    w->f->frames.n < MAX_FRAMES) {
			err = add_own(w, w->unplaced, f, left, true);
			continue;
		}
		to->raw += left * c->raw_insn;
		to->fixed += left * c->insn;
		to->cyc += left * c->cyc;
	}
	return err;
}

static int of_flow(struct flame *f)
{
	const struct profile *p = f->p;
	struct walk w = { .f = f };
	int err;

	w.below = share_below(f);
	w.most = inclusive_count(p);
	w.left = mem_calloc(p->n_funcs + 1, sizeof(*w.left));
	w.on_path = mem_calloc(p->n_funcs + 1, 1);
	w.placed = mem_calloc(p->n_funcs + 1, sizeof(*w.placed));
	w.first_of_caller = mem_calloc(p->n_funcs + 2, sizeof(*w.first_of_caller));
	w.by_caller = mem_calloc(p->n_calls + 1, sizeof(const struct profile_call *));
	for (size_t i = 0; i < p->n_calls; i++) {
		w.by_caller[i] = &p->calls[i];
		w.first_of_caller[p->calls[i].caller + 1]++;
	}
	for (size_t i = 0; i < p->n_funcs; i++)
		w.first_of_caller[i + 1] += w.first_of_caller[i];
	if (p->n_calls)
		qsort(w.by_caller, p->n_calls, sizeof(const struct profile_call *), by_caller);
	err = find_pieces(&w);
	if (err == 0)
		err = from_roots(&w);
	if (err == 0)
		err = add_left(&w);
	if (err == 0)
		err = add_unplaced(&w);
	free(w.below);
	free(w.most);
	free(w.left);
	free(w.pieces);
	free(w.first_piece);
	free(w.on_path);
	free(w.placed);
	free(w.first_of_caller);
	free(w.by_caller);
	return err;
}

/* ---- of bursts' stacks and paths: what is on none of them stands apart ---- */

/* A context that is too small to be seen, with all below it: a frame below its caller's, one for all such. */
static int add_small(struct walk *w, uint32_t parent, uint32_t *small, uint32_t func, double share)
{
	const struct profile_count *c = &w->f->p->funcs[func].rolled;
	struct flame_frame *to;
	int err = 0;

	if (!*small) {
		*small = (uint32_t)w->f->frames.n;
		err = add(w->f, parent, frame_small, 0, 0, 0, false);
	}
	if (err < 0)
		return err;
	to = &w->f->frames.v[*small];
	to->raw += share * c->raw_insn;
	to->fixed += share * c->insn;
	to->cyc += share * c->cyc;
	w->placed[func] += share;
	return 0;
}

static int of_contexts(struct flame *f)
{
	const struct profile *p = f->p;
	struct walk w = { .f = f };
	double *of_func = mem_calloc(p->n_funcs + 1, sizeof(*of_func)),
	       *below = mem_calloc(p->n_contexts + 1, sizeof(*below));
	/* The frame of each context, and of what is small below it; of the outermost ones last. */
	uint32_t *number = mem_calloc(2 * (p->n_contexts + 1), sizeof(*number)),
	         *small = number + p->n_contexts + 1;
	int err;

	w.placed = mem_calloc(p->n_funcs + 1, sizeof(*w.placed));
	for (size_t i = p->n_contexts; i-- > 0;) {
		const struct profile_context *c = &p->contexts[i];

		of_func[c->func] += c->insn;
		below[i] += c->insn;
		if (c->parent != UINT32_MAX)
			below[c->parent] += below[i];
	}
	err = find_pieces(&w);
	for (size_t i = 0; i < p->n_contexts && err == 0; i++) {
		const struct profile_context *c = &p->contexts[i];
		size_t above = c->parent == UINT32_MAX ? p->n_contexts : c->parent;
		double share = of_func[c->func] > 0 ? c->insn / of_func[c->func] : 0;
		bool in_small = above < p->n_contexts && number[above] == small[above] && small[above];

		number[i] = (uint32_t)f->frames.n;
		if (!in_small && below[i] >= min_frame * f->total && f->frames.n < MAX_FRAMES) {
			err = add_own(&w, number[above], c->func, share, false);
			continue;
		}
		err = add_small(&w, number[above], &small[above], c->func, share);
		number[i] = small[i] = small[above];
	}
	if (err == 0)
		err = add_unplaced(&w);
	free(of_func);
	free(below);
	free(number);
	free(w.placed);
	free(w.pieces);
	free(w.first_piece);
	return err;
}

/* ---- the document ---- */

static json_t *func_json(const struct profile *p, uint32_t func)
{
	const struct profile_func *f = &p->funcs[func];
	bool insn = report_has_insn(p);

	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:s}", "name", json_text(report_name(f)), "module",
	                 json_text(report_base(report_module(p, f->module))), "raw",
	                 json_number(insn ? f->count.raw_insn : NAN), "fixed",
	                 json_number(insn ? f->count.insn : NAN), "lo", json_number(f->count.lo), "hi",
	                 json_number(f->count.hi), "status", profile_status_word(f->status));
}

static json_t *frames_json(const struct profile *p, const struct flame_frame *v, size_t n, json_t *funcs,
                           uint32_t *number)
{
	json_t *out = json_array();

	for (size_t i = 0; i < n; i++) {
		const struct flame_frame *x = &v[i];
		json_t *one = json_array();

		if (x->func < flame_first_special && number[x->func] == UINT32_MAX) {
			number[x->func] = (uint32_t)json_array_size(funcs);
			json_array_append_new(funcs, func_json(p, x->func));
		}
		json_array_append_new(one, json_integer(x->parent));
		/* What is no function's is -1 to -4. */
		json_array_append_new(one, json_integer(x->func < flame_first_special
		                                                ? (json_int_t)number[x->func]
		                                                : -1 - (json_int_t)(frame_all - x->func)));
		json_array_append_new(one, json_real(round(x->raw)));
		json_array_append_new(one, json_real(round(x->fixed)));
		json_array_append_new(one, json_real(round(x->cyc)));
		json_array_append_new(one, json_integer(x->guess));
		json_array_append_new(out, one);
	}
	return out;
}

int flame_frames(const struct profile *p, struct flame_frame **out, size_t *n, const char **note)
{
	bool stacks = inclusive_source(p) == INCLUSIVE_STACKS,
	     bursts = !stacks && inclusive_source(p) == INCLUSIVE_FLOW && p->n_context_stacks > 0;
	struct flame f = { .p = p };
	int err = add(&f, 0, frame_all, 0, 0, 0, false);

	for (size_t i = 0; i < p->n_funcs; i++) {
		f.total += weight(&f, p->funcs[i].count.insn, p->funcs[i].count.cyc);
		f.cycles += p->funcs[i].count.cyc;
	}
	if (err == 0)
		err = stacks ? of_stacks(&f) : bursts ? of_contexts(&f) : of_flow(&f);
	if (err < 0) {
		vec_fini(&f.frames);
		return err;
	}
	*out = f.frames.v;
	*n = f.frames.n;
	*note = stacks   ? "who called: call stacks of the samples"
	        : bursts ? "who called: stacks of bursts, and their paths; what is on none of them stands "
	                   "apart, hatched"
	                 : "who called: the code's flow; hatched frames have several callers and are divided "
	                   "as these call, which is a guess; what nothing is known to call stands apart: "
	                   "record -g tells more";
	return 0;
}

const char *flame_name(const struct profile *p, uint32_t func)
{
	return func == frame_all        ? "all"
	       : func == frame_unplaced ? "[callers not known]"
	       : func == frame_small    ? "[callees, each too small to be seen]"
	       : func == frame_unseen   ? "[inlined, where no sample fell]"
	                                : report_name(&p->funcs[func]);
}

int flame_json(const struct profile *p, json_t *doc)
{
	uint32_t *number = mem_malloc((p->n_funcs + 1) * sizeof(*number));
	struct flame_frame *v = NULL;
	json_t *funcs = json_array(), *frames;
	const char *note;
	size_t n = 0;
	int err = flame_frames(p, &v, &n, &note);

	if (err == 0) {
		memset(number, 0xff, (p->n_funcs + 1) * sizeof(*number));
		frames = frames_json(p, v, n, funcs, number);
		json_object_set_new(doc, "flame",
		                    json_pack("{s:b, s:b, s:s, s:O, s:o}", "has_insn", report_has_insn(p),
		                              "of_time", p->meta.cyc_is_time, "note", note, "functions",
		                              funcs, "frames", frames));
	}
	json_decref(funcs);
	free(number);
	free(v);
	return err;
}
