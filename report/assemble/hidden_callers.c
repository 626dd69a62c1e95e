/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/assemble/hidden_callers.h"

#include <ctype.h>
#include <string.h>

#include "profiler/base/mem.h"
#include "profiler/base/pairs.h"
#include "profiler/base/vec.h"
#include "report/assemble/callers.h"

/* Of a place where threads begin so many callees are kept: with more of them it tells nothing. */
enum { MOST_CALLEES = 8 };

/* Of jumps in a row, as from a destructor to what frees memory by two names, so many functions are between. */
enum { MOST_BETWEEN = 2 };

/* A call, or a jump out of the function, to a known address. */
struct leaves {
	uint64_t from, next, to; /* next: the instruction behind it */
};

struct function {
	uint32_t module;
	long func; /* module_func() */
	bool scanned;
	VEC(struct leaves) to;
	bool points; /* it calls, or jumps, through a pointer */
};

/* A place where stacks begin: the functions that whole stacks have below it. */
struct site {
	uint32_t n, callees[MOST_CALLEES]; /* numbers of functions */
	bool full;
};

struct hidden_callers {
	const struct recording *rec;
	struct insn_decoder *decoders[ISA_AARCH64 + 1];
	struct pairs frame_index, func_index,
	        site_index;  /* (module, vaddr), (module, function), (module, vaddr) */
	VEC(uint8_t) frames; /* enum module_frame */
	VEC(struct function) funcs;
	VEC(struct site) sites;
	struct pairs way_index; /* (caller, callee): numbers of functions */
	VEC(uint64_t) ways;     /* goes_to() */
	VEC(struct stack_place) stack;
	bool exact; /* stacks are not told by frame pointers, which some code has none of */
	bool left_open, all_seen;
};

void hidden_callers_new(const struct recording *rec, struct hidden_callers **out)
{
	*out = mem_calloc(1, sizeof(**out));
	(*out)->rec = rec;
	(*out)->exact = strcmp(callers_source(rec), "frame pointers") != 0;
}

void hidden_callers_free(struct hidden_callers *h)
{
	if (!h)
		return;
	for (size_t i = 0; i < sizeof(h->decoders) / sizeof(*h->decoders); i++)
		insn_decoder_free(h->decoders[i]);
	for (size_t i = 0; i < h->funcs.n; i++)
		vec_fini(&h->funcs.v[i].to);
	pairs_fini(&h->frame_index);
	pairs_fini(&h->func_index);
	pairs_fini(&h->site_index);
	vec_fini(&h->frames);
	vec_fini(&h->funcs);
	vec_fini(&h->sites);
	pairs_fini(&h->way_index);
	vec_fini(&h->ways);
	vec_fini(&h->stack);
	free(h);
}

static struct module *module_of(const struct hidden_callers *h, uint32_t module)
{
	return h->rec->modules[module];
}

/* An enum module_frame. */
static int frame_at(struct hidden_callers *h, struct place at)
{
	size_t k;

	if (at.module < 0)
		return MODULE_FRAME_UNKNOWN;
	k = pairs_must(&h->frame_index, (uint32_t)at.module, at.vaddr);
	if (k == h->frames.n)
		vec_add(&h->frames, (uint8_t)module_frame_at(module_of(h, (uint32_t)at.module), at.vaddr));
	return h->frames.v[k];
}

/* Number of the function at a place, -1 where there is none. */
static long function_at(struct hidden_callers *h, struct place at)
{
	long func = at.module < 0 ? -1 : module_func_at(module_of(h, (uint32_t)at.module), at.vaddr);
	size_t number;

	if (func < 0)
		return -1;
	number = pairs_must(&h->func_index, (uint32_t)at.module, (uint64_t)func);
	if (number == h->funcs.n)
		vec_add(&h->funcs, (struct function){ .module = (uint32_t)at.module, .func = func });
	return (long)number;
}

static const struct module_func *code_of(const struct hidden_callers *h, const struct function *f)
{
	return module_func(module_of(h, f->module), (size_t)f->func);
}

/* ---- code ---- */

static bool decode(struct hidden_callers *h, const struct module *m, uint64_t vaddr, struct insn *out)
{
	struct insn_decoder **d = &h->decoders[module_isa(m)];
	size_t n_bytes;
	const uint8_t *code = module_code(m, vaddr, &n_bytes);

	return code && (*d || insn_decoder_new(module_isa(m), d) == 0) &&
	       insn_decode(*d, code, n_bytes, vaddr, out) == 0;
}

/* What it goes to. */
static void scan(struct hidden_callers *h, long number)
{
	struct function *f = &h->funcs.v[number];
	struct module *m = module_of(h, f->module);
	const struct module_func *range = code_of(h, f);
	struct insn insn;

	if (f->scanned)
		return;
	f->scanned = true;
	for (uint64_t at = range->vaddr; at - range->vaddr < range->size_bytes && decode(h, m, at, &insn);
	     at += insn.size_bytes) {
		bool leaves = insn.flow == INSN_CALL || ((insn.flow == INSN_JUMP || insn.flow == INSN_COND) &&
		                                         insn.target - range->vaddr >= range->size_bytes);

		f->points |= insn.flow == INSN_CALL_IND || insn.flow == INSN_JUMP_IND;
		if (leaves)
			vec_add(&f->to, (struct leaves){ at, at + insn.size_bytes, insn.target });
	}
}

/* Is it a word of the text, as memcpy of __memcpy_avx2, and not read of fread? */
static bool has_word(const char *text, const char *word, size_t n)
{
	const char *end = text ? text + strlen(text) : NULL, *at = text;

	while (at && (at = memmem(at, (size_t)(end - at), word, n)) != NULL) {
		if ((at == text || !isalnum((unsigned char)at[-1])) && !isalnum((unsigned char)at[n]))
			return true;
		at++;
	}
	return false;
}

/* Is a stub of the linker's, "memcpy@plt", one of a function that is elsewhere?  Of one in several variants these bear its name. */
static bool is_stub_of(const struct hidden_callers *h, const struct module_func *stub,
                       const struct function *f)
{
	const struct module_func *func = code_of(h, f);
	const char *end = strchr(stub->name, '@');
	size_t n = end ? (size_t)(end - stub->name) : 0;

	return n && (has_word(func->name, stub->name, n) ||
	             has_word(module_aliases(module_of(h, f->module), func->linkage), stub->name, n));
}

static bool is_stub(const struct hidden_callers *h, long number)
{
	return strchr(code_of(h, &h->funcs.v[number])->name, '@');
}

static uint64_t find_way(const struct hidden_callers *h, const struct function *f, const struct function *to)
{
	struct module *m = module_of(h, f->module);

	for (size_t i = 0; i < f->to.n; i++) {
		long func = module_func_at(m, f->to.v[i].to);

		if (func >= 0 && (to->module == f->module ? func == to->func
		                                          : is_stub_of(h, module_func(m, (size_t)func), to)))
			return f->to.v[i].from;
	}
	return 0;
}

/* Where function `caller` goes to `callee` by itself: 0 = nowhere that is known. */
static uint64_t goes_to(struct hidden_callers *h, long caller, long callee)
{
	size_t k = pairs_must(&h->way_index, (uint64_t)caller, (uint64_t)callee);

	scan(h, caller);
	if (k == h->ways.n)
		vec_add(&h->ways, find_way(h, &h->funcs.v[caller], &h->funcs.v[callee]));
	return h->ways.v[k];
}

/* The function that the call which holds this place enters, -1 where the code doesn't tell. */
static long called_at(struct hidden_callers *h, struct place at)
{
	long caller = function_at(h, at);

	if (caller < 0)
		return -1;
	scan(h, caller);
	for (size_t i = 0; i < h->funcs.v[caller].to.n; i++) {
		const struct leaves *l = &h->funcs.v[caller].to.v[i];
		long number;

		if (l->next != at.vaddr + 1)
			continue;
		number = function_at(h, (struct place){ at.module, l->to });
		/* What a stub goes on to is in another file. */
		if (number >= 0 && !is_stub(h, number))
			return number;
	}
	return -1;
}

/* ---- stacks ---- */

static struct site *site_of(struct hidden_callers *h, struct place at)
{
	long k = pairs_must(&h->site_index, (uint32_t)at.module, at.vaddr);

	if ((size_t)k == h->sites.n)
		vec_add(&h->sites, (struct site){ 0 });
	return &h->sites.v[k];
}

static void learn(struct hidden_callers *h, struct place below, struct place at)
{
	struct site *site;
	long number = h->all_seen || at.module < 0 ? -1 : function_at(h, below);

	if (number < 0)
		return;
	site = site_of(h, at);
	for (uint32_t i = 0; i < site->n; i++)
		if (site->callees[i] == (uint32_t)number)
			return;
	site->full |= site->n == MOST_CALLEES;
	if (!site->full)
		site->callees[site->n++] = (uint32_t)number;
}

/* Of those that whole stacks have below a place, the only one that goes to `callee`; -1 = there is none. */
static long seen_below(struct hidden_callers *h, struct place at, long callee)
{
	const struct site *site = at.module < 0 ? NULL : site_of(h, at);
	long found = -1;

	if (!site)
		return -1;
	for (uint32_t i = 0; i < site->n; i++) {
		if (!goes_to(h, site->callees[i], callee))
			continue;
		if (found >= 0)
			return -1;
		found = site->callees[i];
	}
	return site->full ? -1 : found;
}

/* The caller of what stands last, of function `callee` (-1: of none), next on the stack: where it goes there, if that is known. */
static void insert(struct hidden_callers *h, long callee, long caller)
{
	uint64_t from = callee >= 0 ? goes_to(h, caller, callee) : 0;
	const struct function *f = &h->funcs.v[caller];

	h->stack.v[h->stack.n - 1].open = !from;
	if (!from)
		from = code_of(h, f)->vaddr;
	vec_add(&h->stack, (struct stack_place){ { (int32_t)f->module, from }, false });
}

/*
 * The caller of what has no frame at `at`, whose own return is to `outer`.  What a call through a pointer enters other stacks
 * tell only where a thread begins, with one function: anywhere else there may be more that never were on a whole stack.
 */
static void find_hidden(struct hidden_callers *h, struct place at, struct place outer, bool begins)
{
	long callee = function_at(h, at), caller = called_at(h, outer);

	/* A recursion hides itself. */
	if (caller >= 0 && caller == callee)
		return;
	if (caller < 0 && callee >= 0 && begins)
		caller = seen_below(h, outer, callee);
	h->left_open |= caller < 0 && begins;
	if (caller >= 0)
		insert(h, callee, caller);
	else
		h->stack.v[h->stack.n - 1].open = true;
}

/* Does the code go there by itself, or by the linker? */
static bool leads_to(struct hidden_callers *h, long caller, long callee)
{
	return goes_to(h, caller, callee) ||
	       is_stub_of(h, code_of(h, &h->funcs.v[caller]), &h->funcs.v[callee]);
}

/* May it have gone there: by itself, by a pointer, or by jumps of as many others, which stand for one another's names? */
static bool may_reach(struct hidden_callers *h, long caller, long callee, int others);

/* The only one that caller goes to by itself and that may reach callee.  -1 = there is none, or several. */
static long find_between(struct hidden_callers *h, long caller, long callee, int others)
{
	long found = -1;

	scan(h, caller);
	for (size_t i = 0; i < h->funcs.v[caller].to.n; i++) {
		struct place to = { (int32_t)h->funcs.v[caller].module, h->funcs.v[caller].to.v[i].to };
		long number = function_at(h, to);

		if (number < 0 || number == caller || number == callee || number == found ||
		    !may_reach(h, number, callee, others))
			continue;
		if (found >= 0)
			return -1;
		found = number;
	}
	return found;
}

static bool may_reach(struct hidden_callers *h, long caller, long callee, int others)
{
	scan(h, caller);
	return h->funcs.v[caller].points || leads_to(h, caller, callee) ||
	       (others > 0 && find_between(h, caller, callee, others - 1) >= 0);
}

/*
 * From calls[next] out, the first record of a call of function `callee`; or the first behind one of a call from there, which
 * was left, with all that it had called.  next where there is neither.
 */
static size_t find_left(struct hidden_callers *h, const struct stack_call *calls, size_t n, long callee,
                        size_t next)
{
	for (size_t i = next; i < n; i++) {
		long entered = function_at(h, calls[i].entry), from = function_at(h, calls[i].at);

		if (entered == callee || from == callee)
			return i + (entered != callee);
	}
	return next;
}

/*
 * The same, of one that the records name, with those between.  What has a pointer to call through went there itself, as far as
 * anybody knows.
 */
static void insert_chain(struct hidden_callers *h, long callee, long caller)
{
	long chain[MOST_BETWEEN + 1] = { caller };
	int n = 1;

	scan(h, caller);
	while (n <= MOST_BETWEEN && !h->funcs.v[chain[n - 1]].points && !leads_to(h, chain[n - 1], callee)) {
		chain[n] = find_between(h, chain[n - 1], callee, MOST_BETWEEN - n);
		if (chain[n] < 0)
			break;
		n++;
	}
	while (n-- > 0) {
		insert(h, callee, chain[n]);
		if (h->funcs.v[chain[n]].points)
			h->stack.v[h->stack.n - 2].open = false;
		callee = chain[n];
	}
}

/*
 * calls[*next]: the newest record of those before the place that stands last, of function `callee`.  Where that is not what was
 * called, it was called from there, or jumped to, since; or calls were left without a return, by an exception, again and again.  That
 * another was called, which did, is to be thought of only of what has no pointer to call through.
 */
static void find_unrecorded(struct hidden_callers *h, const struct stack_call *calls, size_t n, size_t *next)
{
	const long callee = function_at(h, h->stack.v[h->stack.n - 1].at);
	const size_t first = *next;
	long caller;
	size_t i;

	if (callee < 0)
		return;
	do {
		i = *next;
		caller = function_at(h, calls[i].entry);
		if (caller < 0 || callee == caller)
			return;
		if (!leads_to(h, caller, callee))
			*next = find_left(h, calls, n, callee, i);
	} while (i < *next && *next < n);
	/* The oldest of what was left may have lost the call that it began with. */
	if (first < *next)
		*next = n;
	if (first < *next || is_stub(h, caller))
		return;
	insert_chain(h, callee, caller);
}

void hidden_callers_find(struct hidden_callers *h, const struct stack_call *calls, size_t n,
                         struct stack_place **out, size_t *n_out)
{
	h->stack.n = 0;
	for (size_t i = 0, next; i < n; i = next) {
		struct place at = calls[i].at;
		int frame = h->exact ? MODULE_FRAME_SET : frame_at(h, at);

		next = i + 1;
		vec_add(&h->stack, (struct stack_place){ at, false });
		if (next < n && calls[next].entry.module >= 0)
			find_unrecorded(h, calls, n, &next);
		else if (next < n && frame == MODULE_FRAME_NONE)
			find_hidden(h, at, calls[next].at, next + 1 == n);
		else if (next + 1 == n && !h->exact)
			learn(h, at, calls[next].at);
	}
	*out = h->stack.v;
	*n_out = h->stack.n;
}

bool hidden_callers_again(struct hidden_callers *h)
{
	bool again = h->left_open && !h->all_seen;

	h->all_seen = true;
	return again;
}
