/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/assemble/listing.h"

#include <stdlib.h>
#include <string.h>

#include "profiler/base/mem.h"
#include "profiler/base/vec.h"
#include "report/assemble/calls.h"

struct making {
	const struct profile *p;
	uint32_t func;
	struct listing *l;
	struct module *m;
	struct insn_decoder *decoder;
	bool another; /* the file there is now is not the one that ran */
	size_t insn_cap, inlining_cap;
};

static uint8_t hex(char c)
{
	return (uint8_t)(c <= '9' ? c - '0' : (c | 32) - 'a' + 10);
}

/* "9f3c..." as bytes. */
static size_t id_bytes(const char *text, uint8_t *out, size_t size)
{
	size_t n = strlen(text) / 2;

	if (n > size)
		return 0;
	for (size_t i = 0; i < n; i++)
		out[i] = (uint8_t)(hex(text[2 * i]) << 4 | hex(text[2 * i + 1]));
	return n;
}

/* The module of a function, opened once; that of a function in none is the last. */
static int get_module(const struct profile *p, uint32_t func, struct listing_modules *modules,
                      struct module **out)
{
	uint32_t at = p->funcs[func].module < p->n_modules ? p->funcs[func].module : (uint32_t)p->n_modules;
	const struct profile_module *m = at < p->n_modules ? &p->modules[at] : NULL;
	uint8_t id[64];
	size_t n = m ? id_bytes(m->build_id, id, sizeof(id)) : 0;
	int err;

	if (!modules->v) {
		modules->n = p->n_modules + 1;
		modules->v = mem_calloc(modules->n, sizeof(struct module *));
	}
	if (!modules->v[at]) {
		err = module_open(m ? m->path : "", n ? id : NULL, n, modules->opts, &modules->v[at]);
		if (err < 0)
			return err;
	}
	*out = modules->v[at];
	return 0;
}

static int open_module(struct making *x, struct listing_modules *modules)
{
	int err = get_module(x->p, x->func, modules, &x->m);
	uint32_t at = x->p->funcs[x->func].module;
	const char *trouble = at < x->p->n_modules ? x->p->modules[at].trouble : NULL;

	if (err < 0)
		return err;
	x->l->module = x->m;
	/* A file of that name that is not the one that ran has other code, and other lines at its addresses. */
	if (trouble && *trouble) {
		x->another = true;
		x->l->trouble = trouble;
		return 0;
	}
	x->l->trouble = module_state(x->m) == MODULE_OK ? "" : module_why(x->m);
	x->l->has_lines = module_state(x->m) == MODULE_OK && module_has_debug(x->m);
	/* Without a decoder texts are missing, no more. */
	if (module_state(x->m) == MODULE_OK && insn_decoder_new(module_isa(x->m), &x->decoder) < 0) {
		x->decoder = NULL;
		x->l->trouble = "its instruction set is not known";
	}
	return 0;
}

/* A path as it can be opened: relative ones are of the folder that was compiled in. */
static const char *whole_path(struct making *x, const char *file)
{
	const char *dir = file && *file != '/' ? module_file_dir(x->m, file) : NULL;
	const char *path = dir ? texts_printf(&x->l->strings, "%s/%s", dir, file) : file;

	return path ? path : "";
}

/* Without the binary: what the profile knows, which is the innermost function and the physical one. */
static void add_known_inlinings(struct making *x, struct listing_insn *out)
{
	struct listing *l = x->l;
	const struct profile *p = x->p;
	const struct profile_insn *insn = out->insn == UINT32_MAX ? NULL : &p->insns[out->insn];
	struct listing_inlining inner = { p->funcs[x->func].name, "", 0, p->funcs[x->func].line };

	vec_room_raw((void **)&l->inlinings, &x->inlining_cap, l->n_inlinings + 2, sizeof(*l->inlinings));
	out->inlining0 = (uint32_t)l->n_inlinings;
	if (insn && insn->func != x->func) {
		l->inlinings[l->n_inlinings++] = inner;
		inner = (struct listing_inlining){ p->funcs[insn->func].name, "", 0,
			                           p->funcs[insn->func].line };
	}
	if (insn && insn->file < p->n_files) {
		inner.file = p->files[insn->file];
		inner.line = insn->line;
	}
	l->has_lines = l->has_lines || inner.line;
	l->inlinings[l->n_inlinings++] = inner;
	out->n_inlinings = (uint32_t)l->n_inlinings - out->inlining0;
}

/* Inlinings outermost first, each with the line that it is at. */
static void add_inlinings(struct making *x, struct listing_insn *insn)
{
	struct listing *l = x->l;
	struct module_inlining inlinings[MODULE_MAX_INLININGS];
	const char *file = NULL;
	unsigned line = 0;
	size_t n;

	if (x->another || module_state(x->m) != MODULE_OK) {
		add_known_inlinings(x, insn);
		return;
	}
	n = module_inlinings(x->m, insn->vaddr, inlinings);
	module_line(x->m, insn->vaddr, &file, &line);
	insn->inlining0 = (uint32_t)l->n_inlinings;
	insn->n_inlinings = (uint32_t)(n ? n : 1);
	vec_room_raw((void **)&l->inlinings, &x->inlining_cap, l->n_inlinings + n + 1, sizeof(*l->inlinings));
	if (!n)
		l->inlinings[l->n_inlinings++] =
		        (struct listing_inlining){ x->p->funcs[x->func].name, whole_path(x, file), line, 0 };
	for (size_t i = n; i-- > 0;) {
		const char *at = i ? inlinings[i - 1].call_file : file;

		l->inlinings[l->n_inlinings++] = (struct listing_inlining){
			.name = inlinings[i].name,
			.file = whole_path(x, at),
			.line = i ? inlinings[i - 1].call_line : line,
			.decl_line = inlinings[i].line,
		};
	}
}

static uint8_t kind_of(const struct insn *insn)
{
	switch (insn->flow) {
	case INSN_COND:
		return LISTING_BRANCH;
	case INSN_JUMP:
	case INSN_JUMP_IND:
		return LISTING_JUMP;
	case INSN_CALL:
	case INSN_CALL_IND:
		return LISTING_CALL;
	case INSN_RET:
		return LISTING_RETURN;
	default:
		return LISTING_PLAIN;
	}
}

/* The function that begins at an address. */
static const char *function_at(const struct making *x, uint64_t vaddr)
{
	long f = vaddr ? module_func_at(x->m, vaddr) : -1;
	const struct module_func *func = f < 0 ? NULL : module_func(x->m, (size_t)f);

	return func && func->vaddr == vaddr ? func->name : "";
}

/* Append the instruction at an address; its size. */
static int add_insn(struct making *x, uint64_t vaddr, size_t least_bytes)
{
	struct listing *l = x->l;
	struct listing_insn *out;
	struct insn insn = { .size_bytes = (uint8_t)least_bytes };
	size_t n = 0;
	const uint8_t *code = x->decoder ? module_code(x->m, vaddr, &n) : NULL;
	long at = profile_insn_at(x->p, x->p->funcs[x->func].module, vaddr);
	char text[160] = "";
	const char *known;

	vec_room_raw((void **)&l->insns, &x->insn_cap, l->n + 1, sizeof(*l->insns));
	if (code && insn_decode(x->decoder, code, n, vaddr, &insn) == 0)
		(void)insn_text(x->decoder, code, n, vaddr, text, sizeof(text));
	known = *text || at < 0 ? text : x->p->insns[at].text;
	out = &l->insns[l->n++];
	*out = (struct listing_insn){
		.vaddr = vaddr,
		.insn = at < 0 ? UINT32_MAX : (uint32_t)at,
		.size_bytes = insn.size_bytes,
		.kind = kind_of(&insn),
		.waits = (insn.flags & (INSN_LOAD | INSN_DIV)) || (insn.fp & INSN_FP_DIV),
		.target = insn.flags & INSN_MEM_TARGET ? 0 : insn.target,
		.text = texts_add(&l->strings, known, strlen(known)),
	};
	out->goes_to = function_at(x, out->target);
	add_inlinings(x, out);
	return insn.size_bytes ? insn.size_bytes : 1;
}

/* All of [vaddr, end). */
static int add_range(struct making *x, uint64_t vaddr, uint64_t end)
{
	while (vaddr < end) {
		int size = add_insn(x, vaddr, 1);

		if (size < 0)
			return size;
		vaddr += (uint64_t)size;
	}
	return 0;
}

static int by_vaddr(const void *a, const void *b)
{
	const struct listing_insn *x = a, *y = b;

	return (x->vaddr > y->vaddr) - (x->vaddr < y->vaddr);
}

/*
 * What the profile has in [vaddr, end) where no instruction begins, as jumps into the middle of one do, or a file that is not
 * the one that ran and has nothing to tell it by: in its place, so that nothing is missing.  first: of the listing's for that range.
 */
static int add_between(struct making *x, size_t first, size_t i, uint64_t end)
{
	const struct profile *p = x->p;
	size_t n = x->l->n, at = first;
	int err = 0;

	for (uint32_t module = p->insns[i].module; i < p->n_insns && err >= 0; i++) {
		const struct profile_insn *insn = &p->insns[i];

		if (insn->module != module || insn->vaddr >= end)
			break;
		if (insn->phys_func != x->func)
			continue;
		while (at < n && x->l->insns[at].vaddr < insn->vaddr)
			at++;
		if (at == n || x->l->insns[at].vaddr != insn->vaddr)
			err = add_insn(x, insn->vaddr, insn->size_bytes);
	}
	if (x->l->n > n)
		qsort(x->l->insns + first, x->l->n - first, sizeof(*x->l->insns), by_vaddr);
	return err;
}

/* Every piece that the profile has code of: the function itself, copies of it, what was split off. */
static int add_pieces(struct making *x)
{
	const struct profile *p = x->p;
	uint64_t end = 0;
	size_t first;
	int err = 0;

	for (size_t i = 0; i < p->n_insns && err >= 0; i++) {
		const struct profile_insn *insn = &p->insns[i];
		const struct module_func *f;
		long at;

		if (insn->phys_func != x->func || (insn->vaddr < end && end))
			continue;
		at = x->decoder ? module_func_at(x->m, insn->vaddr) : -1;
		if (at < 0) {
			err = add_insn(x, insn->vaddr, insn->size_bytes);
			continue;
		}
		f = module_func(x->m, (size_t)at);
		end = f->vaddr + f->size_bytes;
		first = x->l->n;
		err = add_range(x, f->vaddr, end);
		if (err >= 0)
			err = add_between(x, first, i, end);
	}
	return err < 0 ? err : 0;
}

int listing_new(const struct profile *p, uint32_t func, struct listing_modules *modules, struct listing **out)
{
	struct making x = { .p = p, .func = func, .l = mem_calloc(1, sizeof(struct listing)) };
	int err;

	x.l->trouble = "";
	err = open_module(&x, modules);
	if (err == 0)
		err = add_pieces(&x);
	insn_decoder_free(x.decoder);
	if (err < 0) {
		listing_free(x.l);
		return err;
	}
	*out = x.l;
	return 0;
}

void listing_free(struct listing *l)
{
	if (!l)
		return;
	texts_fini(&l->strings);
	free(l->insns);
	free(l->inlinings);
	free(l);
}

void listing_modules_free(struct listing_modules *m)
{
	for (size_t i = 0; i < m->n; i++)
		module_free(m->v[i]);
	free(m->v);
	m->v = NULL;
	m->n = 0;
}

void listing_fill_texts(struct profile *p, struct module *m, size_t first, size_t end)
{
	struct insn_decoder *decoder = NULL;

	/* Code of a machine that is not known has none. */
	if (insn_decoder_new(module_isa(m), &decoder) < 0)
		return;
	for (size_t i = first; i < end; i++) {
		char text[160];
		size_t n;
		const uint8_t *code = module_code(m, p->insns[i].vaddr, &n);

		if (!code || insn_text(decoder, code, n, p->insns[i].vaddr, text, sizeof(text)) < 0)
			continue;
		p->insns[i].text = profile_string(p, text);
	}
	insn_decoder_free(decoder);
}
