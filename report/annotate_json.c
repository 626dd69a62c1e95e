/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An annotated function as JSON. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "profiler/base/err.h"
#include "report/annotate.h"

static json_t *address(uint64_t vaddr)
{
	char text[32];

	snprintf(text, sizeof(text), "0x%" PRIx64, vaddr);
	return json_string(text);
}

static json_t *whole_or_null(uint32_t n)
{
	return n ? json_integer(n) : json_null();
}

static json_t *text_or_null(const char *text)
{
	return text && *text ? json_text(text) : json_null();
}

/* What is counted, in an object. */
static void set_count(json_t *o, const struct annotation *a, const struct profile_count *c, int32_t region)
{
	bool insn = report_has_insn(a->p);
	double part = insn ? c->insn : c->cyc, all = insn ? a->total : a->total_cyc;

	json_object_set_new(o, "share", json_number(all > 0 ? part / all : NAN));
	/* Where instructions are not counted, but corrected within regions, that is of cycles, and this of those. */
	json_object_set_new(o, "share_insn",
	                    json_number(a->total > 0 && (insn || a->p->meta.relative)
	                                        ? annotation_share_insn(a, c, region)
	                                        : NAN));
	json_object_set_new(o, "raw", json_number(insn ? c->raw_insn : NAN));
	json_object_set_new(o, "fixed", json_number(insn ? c->insn : NAN));
	json_object_set_new(o, "lo", json_number(c->lo));
	json_object_set_new(o, "hi", json_number(c->hi));
	json_object_set_new(o, "cycles", json_number(report_has_cyc(a->p) ? c->cyc : NAN));
	json_object_set_new(o, "events", json_number(report_has_other(a->p) ? c->raw_cyc : NAN));
	json_object_set_new(o, "cpi", json_number(1 / report_ipc(a->p, c->insn, c->cyc)));
}

/* Lines with what is put in place in them, or functions with their lines. */
static json_t *nodes_json(const struct annotation *a, uint32_t first, struct sources *s)
{
	json_t *out = json_array();

	for (uint32_t i = first; i != NODE_NONE; i = a->nodes[i].next) {
		const struct anno_node *n = &a->nodes[i];
		json_t *o = json_object();

		json_object_set_new(o, "file", text_or_null(n->file));
		json_object_set_new(o, "line", whole_or_null(n->line));
		if (n->is_line)
			json_object_set_new(o, "text", text_or_null(source_line(s, n->file, n->line)));
		else
			json_object_set_new(o, "function", json_text(n->name));
		set_count(o, a, &n->count, n->region);
		if (n->is_line)
			json_object_set_new(o, "executed", json_number(n->executed > 0 ? n->executed : NAN));
		json_object_set_new(o, "status", json_string(profile_status_word(n->status)));
		if (n->child != NODE_NONE)
			json_object_set_new(o, n->is_line ? "inlined" : "lines", nodes_json(a, n->child, s));
		json_array_append_new(out, o);
	}
	return out;
}

static json_t *inlined_json(const struct annotation *a, const struct listing_insn *l)
{
	json_t *out = json_array();

	for (uint32_t d = 1; d < l->n_inlinings; d++)
		json_array_append_new(out, json_text(a->listing->inlinings[l->inlining0 + d].name));
	return out;
}

static json_t *insn_json(const struct annotation *a, size_t i)
{
	static const char *const kinds[] = { "plain", "branch", "jump", "call", "return" };
	static const struct profile_count nothing = { .lo = NAN, .hi = NAN };
	const struct listing_insn *l = &a->listing->insns[i];
	const struct profile_insn *insn = l->insn == UINT32_MAX ? NULL : &a->p->insns[l->insn];
	const struct listing_inlining *at = &a->listing->inlinings[l->inlining0 + l->n_inlinings - 1];
	const struct profile_way *taken = annotation_taken(a, i);
	const struct profile_trips *loops[ANNO_MAX_LOOPS];
	struct profile_range share = { NAN, NAN, NAN };
	char stall[64];
	json_t *o = json_object();

	json_object_set_new(o, "vaddr", address(l->vaddr));
	json_object_set_new(o, "text", text_or_null(l->text));
	json_object_set_new(o, "kind", json_string(kinds[l->kind]));
	json_object_set_new(o, "file", text_or_null(at->file));
	json_object_set_new(o, "line", whole_or_null(at->line));
	json_object_set_new(o, "inlined", inlined_json(a, l));
	set_count(o, a, insn ? &insn->count : &nothing, annotation_region(a, i));
	json_object_set_new(o, "executed",
	                    json_number(insn && report_has_insn(a->p) ? insn->count.insn : NAN));
	json_object_set_new(o, "status",
	                    insn ? json_string(profile_status_word(profile_judge(insn->status, &insn->count)))
	                         : json_null());
	json_object_set_new(o, "target", l->target ? address(l->target) : json_null());
	json_object_set_new(o, "goes_to", text_or_null(l->goes_to));
	if (taken)
		profile_way_share(a->p, taken, &share);
	json_object_set_new(o, "taken", json_number(share.mean));
	json_object_set_new(o, "taken_lo", json_number(share.lo));
	json_object_set_new(o, "taken_hi", json_number(share.hi));
	json_object_set_new(o, "loop",
	                    annotation_loops(a, i, loops) ? address(a->p->blocks[loops[0]->header].vaddr)
	                                                  : json_null());
	annotation_stall(a, i, stall, sizeof(stall));
	json_object_set_new(o, "note", text_or_null(stall));
	return o;
}

/* The loops that the function's instructions are in. */
static json_t *loops_json(const struct annotation *a)
{
	const struct profile *p = a->p;
	json_t *out = json_array();

	for (size_t t = 0; t < p->n_trips; t++) {
		const struct profile_trips *l = &p->trips[t];
		const struct profile_block *b = &p->blocks[l->header];
		json_t *o;

		if (b->func != a->func)
			continue;
		o = json_object();
		json_object_set_new(o, "header", address(b->vaddr));
		json_object_set_new(o, "depth", json_integer(l->depth));
		json_object_set_new(o, "around",
		                    l->parent == UINT32_MAX
		                            ? json_null()
		                            : address(p->blocks[p->trips[l->parent].header].vaddr));
		json_object_set_new(o, "trips", json_number(l->mean));
		json_object_set_new(o, "trips_lo", json_number(l->lo));
		json_object_set_new(o, "trips_hi", json_number(l->hi));
		json_object_set_new(o, "iterations", json_number(l->iterations));
		json_object_set_new(o, "entries", json_number(l->entries));
		json_array_append_new(out, o);
	}
	return out;
}

int annotate_json(const struct annotation *a, const struct annotate_opts *o, struct sources *s, json_t **out)
{
	const struct profile_func *f = &a->p->funcs[a->func];
	json_t *doc = json_object(), *insns = json_array();
	char skid[256];
	int err;

	annotation_skid(a, skid, sizeof(skid));
	json_object_set_new(doc, "function", json_text(f->name));
	json_object_set_new(doc, "full_name", json_text(report_name(f)));
	json_object_set_new(doc, "module", json_text(report_base(report_module(a->p, f->module))));
	json_object_set_new(doc, "file", text_or_null(report_file(a->p, f->file)));
	json_object_set_new(doc, "line", whole_or_null(f->line));
	set_count(doc, a, &a->nodes[0].count, a->nodes[0].region);
	json_object_set_new(doc, "status", json_string(profile_status_word(f->rolled_status)));
	json_object_set_new(doc, "calls", json_number(f->calls.n_terms ? f->calls.n : NAN));
	json_object_set_new(doc, "calls_lo", json_number(f->calls.n_terms ? f->calls.lo : NAN));
	json_object_set_new(doc, "calls_hi", json_number(f->calls.n_terms ? f->calls.hi : NAN));
	json_object_set_new(doc, "note", text_or_null(skid));
	json_object_set_new(doc, "trouble", text_or_null(a->listing->trouble));
	json_object_set_new(doc, "loops", loops_json(a));
	if (o->source)
		json_object_set_new(doc, "lines",
		                    a->listing->has_lines ? nodes_json(a, a->nodes[0].child, s)
		                                          : json_array());
	for (size_t i = 0; i < a->listing->n && o->assembly; i++)
		json_array_append_new(insns, insn_json(a, i));
	err = o->assembly ? json_object_set(doc, "instructions", insns) : 0;
	json_decref(insns);
	if (err < 0) {
		json_decref(doc);
		return sp_fail(SP_ENOMEM, "out of memory for JSON");
	}
	*out = doc;
	return 0;
}
