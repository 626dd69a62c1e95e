/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/html.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/base/err.h"
#include "profiler/base/pairs.h"
#include "profiler/base/vec.h"
#include "report/annotate.h"
#include "report/flame.h"
#include "report/inclusive/inclusive.h"
#include "report/number.h"
#include "report/page.h"

/* Instructions shown: of 400 bytes each, half of the ten megabytes that a page may have. */
enum { MAX_INSNS = 12000 };

enum { MAX_ANNOTATIONS = 20, MAX_GRAPHS = 6, MAX_GRAPH_BLOCKS = 150 };

/* Functions of less of the whole have no source in the page, loops of less no row. */
static const double min_annotated = 0.005, min_loop = 1e-4;

PAGE_EMBED(html_page_js, "report/html/page.js");

/* ---- parts of the document ---- */

static int add_view(json_t *doc, const char *key, const struct profile *p,
                    int (*make)(const struct profile *, const struct report_opts *, struct view *),
                    enum report_view which)
{
	struct report_opts o = REPORT_OPTS_DEFAULT;
	struct view v = { 0 };
	json_t *rows = NULL;
	int err;

	o.view = which;
	err = make(p, &o, &v);
	if (err == 0)
		err = table_json(&v.table, &rows);
	view_free(&v);
	if (err == 0 && json_object_set_new(doc, key, rows) < 0)
		err = sp_fail(SP_ENOMEM, "out of memory for a page");
	return err;
}

/* What a function prints; malloc'd, NULL when out of memory. */
static char *printed(const struct profile *p, void (*print)(const struct profile *, FILE *))
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return NULL;
	print(p, f);
	fclose(f);
	return text;
}

int html_facts(const struct profile *p, json_t *lines)
{
	char *text = printed(p, meta_print), *rest, *line;

	if (!text)
		return sp_fail(SP_ENOMEM, "out of memory for a page");
	for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		json_array_append_new(lines, json_text(line + (strncmp(line, "# ", 2) == 0 ? 2 : 0)));
	free(text);
	return 0;
}

/* One paragraph of lines that begin with "# ". */
static void add_not_counted(const struct profile *p, json_t *doubts)
{
	char *lines = printed(p, meta_not_counted), *to = lines;

	for (const char *s = lines; lines && *s;) {
		size_t n;

		s += strncmp(s, "# ", 2) == 0 ? 2 : 0;
		n = strcspn(s, "\n");
		memmove(to, s, n);
		to += n;
		s += n;
		if (!*s || !*++s)
			continue;
		/* Each line is a sentence, whose end no line break tells.  Each "# " has left room. */
		if (to[-1] != '.')
			*to++ = '.';
		*to++ = ' ';
	}
	if (to && to > lines) {
		*to = '\0';
		json_array_append_new(doubts, json_text(lines));
	}
	free(lines);
}

static void add_doubt(const char *of, const char *why, json_t *doubts)
{
	char *text;

	if (asprintf(&text, "%s%s%s", of ? of : "", of ? ": " : "", why) < 0)
		return;
	json_array_append_new(doubts, json_text(text));
	free(text);
}

void html_doubts(const struct profile *p, const char *of, json_t *doubts)
{
	char text[600];

	if (!of && !p->meta.truth)
		add_not_counted(p, doubts);
	if (report_verdict(p) < 0)
		add_doubt(of, sp_error_text(), doubts);
	if (*p->meta.truth_why)
		add_doubt(of, p->meta.truth_why, doubts);
	if (p->meta.n_lost) {
		snprintf(text, sizeof(text),
		         "%ju sample%s lost: the program ran faster than they could be written",
		         (uintmax_t)p->meta.n_lost, p->meta.n_lost == 1 ? " was" : "s were");
		add_doubt(of, text, doubts);
	}
	for (size_t i = 0; i < p->n_modules; i++)
		if (*p->modules[i].trouble)
			add_doubt(of, p->modules[i].trouble, doubts);
}

static double weight_of(const struct profile *p, const struct profile_count *c)
{
	return report_has_insn(p) ? c->insn : c->cyc;
}

struct ranked {
	uint32_t index;
	double weight;
};

static int by_weight(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	return x->weight != y->weight ? (x->weight > y->weight ? -1 : 1)
	                              : (x->index > y->index) - (x->index < y->index);
}

/* Physical functions, the heaviest first, and what all of them come to. */
static struct ranked *rank(const struct profile *p, double *total)
{
	struct ranked *all = calloc(p->n_funcs + 1, sizeof(*all));

	*total = 0;
	for (uint32_t i = 0; all && i < p->n_funcs; i++) {
		all[i] = (struct ranked){ i, weight_of(p, &p->funcs[i].rolled) };
		*total += weight_of(p, &p->funcs[i].count);
	}
	if (all && p->n_funcs)
		qsort(all, p->n_funcs, sizeof(*all), by_weight);
	return all;
}

static int add_annotations(json_t *doc, const struct profile *p, const struct html_opts *o)
{
	struct annotate_opts show = { .source = true };
	size_t left = MAX_INSNS;
	struct sources *s = sources_new(o->sources);
	struct listing_modules modules = { .opts = o->modules };
	json_t *out = json_array();
	double total;
	struct ranked *funcs = rank(p, &total);
	int err = s && out && funcs ? 0 : sp_fail(SP_ENOMEM, "out of memory for a page");

	for (size_t i = 0; i < p->n_funcs && i < MAX_ANNOTATIONS && err == 0; i++) {
		struct annotation *a = NULL;
		json_t *one = NULL;

		if (!(funcs[i].weight > min_annotated * total))
			break;
		err = annotation_new(p, funcs[i].index, &modules, &a);
		if (err == 0) {
			/* Where there is no source, there must be something. */
			show.assembly = a->listing->n <= left;
			left -= show.assembly ? a->listing->n : 0;
			err = annotate_json(a, &show, s, &one);
		}
		if (err == 0) {
			json_object_set_new(one, "of_all", json_number(funcs[i].weight / total));
			json_array_append_new(out, one);
		}
		annotation_free(a);
	}
	listing_modules_free(&modules);
	free(funcs);
	sources_free(s);
	json_object_set_new(doc, "annotations", out);
	return err;
}

/* ---- regions as graphs ---- */

static void address(char out[32], uint64_t vaddr)
{
	snprintf(out, 32, "0x%" PRIx64, vaddr);
}

static json_t *block_json(const struct profile *p, const struct profile_block *b)
{
	const struct profile_insn *insn = &p->insns[b->insn];
	struct profile_range n = { NAN, NAN, NAN };
	char vaddr[32], place[PLACE_MAX], loop[2 * NUMBER_MAX] = "", mean[NUMBER_MAX];

	profile_block_count(p, (uint32_t)(b - p->blocks), &n);
	address(vaddr, b->vaddr);
	lines_place(p, insn, place);
	if (b->trips != UINT32_MAX && p->trips[b->trips].header == (uint32_t)(b - p->blocks)) {
		number_mean(p->trips[b->trips].mean, mean);
		snprintf(loop, sizeof(loop), "loop of depth %u, %s trips", p->trips[b->trips].depth, mean);
	}
	return json_pack("{s:s, s:o, s:s, s:o, s:o, s:s}", "vaddr", vaddr, "n", json_number(n.mean), "place",
	                 place, "name", json_text(report_name(&p->funcs[insn->func])), "text",
	                 json_text(insn->text), "loop", loop);
}

/* The blocks of a region with most executions, in order of their addresses: number[block] is their place. */
static size_t choose_blocks(const struct profile *p, int32_t region, uint32_t *number, uint32_t *chosen)
{
	struct ranked *all = calloc(p->n_blocks + 1, sizeof(*all));
	size_t n = 0, k = 0;

	memset(number, 0xff, p->n_blocks * sizeof(*number));
	for (uint32_t b = 0; all && b < p->n_blocks; b++) {
		uint32_t insn = p->blocks[b].insn;

		if (insn != UINT32_MAX && p->insns[insn].region == region && p->insns[insn].count.insn > 0)
			all[n++] = (struct ranked){ b, p->insns[insn].count.insn };
	}
	if (n)
		qsort(all, n, sizeof(*all), by_weight);
	n = n < MAX_GRAPH_BLOCKS ? n : MAX_GRAPH_BLOCKS;
	for (size_t i = 0; i < n; i++)
		number[all[i].index] = 0;
	for (uint32_t b = 0; b < p->n_blocks && n; b++)
		if (number[b] != UINT32_MAX) {
			number[b] = (uint32_t)k;
			chosen[k++] = b;
		}
	free(all);
	return k;
}

static json_t *graph_json(const struct profile *p, int32_t region, uint32_t *number, uint32_t *chosen)
{
	size_t n = choose_blocks(p, region, number, chosen);
	json_t *blocks = json_array(), *ways = json_array();

	for (size_t i = 0; i < n; i++) {
		const struct profile_block *b = &p->blocks[chosen[i]];

		json_array_append_new(blocks, block_json(p, b));
		for (uint32_t w = b->out0; w < b->out0 + b->n_out; w++) {
			struct profile_range count = { NAN, NAN, NAN }, share = { NAN, NAN, NAN };

			if (number[p->ways[w].to] == UINT32_MAX)
				continue;
			profile_way_count(p, &p->ways[w], &count);
			profile_way_share(p, &p->ways[w], &share);
			json_array_append_new(ways, json_pack("{s:i, s:i, s:o, s:o}", "from", (int)i, "to",
			                                      (int)number[p->ways[w].to], "n",
			                                      json_number(count.mean), "share",
			                                      json_number(share.mean)));
		}
	}
	return json_pack("{s:o, s:o, s:o}", "name", json_text(p->regions[region].name), "blocks", blocks,
	                 "ways", ways);
}

static int add_graphs(json_t *doc, const struct profile *p)
{
	struct ranked *regions = calloc(p->n_regions + 1, sizeof(*regions));
	uint32_t *number = calloc(2 * p->n_blocks + 2, sizeof(*number));
	json_t *out = json_array();
	int err = regions && number && out ? 0 : sp_fail(SP_ENOMEM, "out of memory for a page");

	for (uint32_t r = 0; r < p->n_regions && err == 0; r++)
		regions[r] = (struct ranked){ r, p->regions[r].insn };
	if (err == 0 && p->n_regions)
		qsort(regions, p->n_regions, sizeof(*regions), by_weight);
	for (size_t i = 0; i < p->n_regions && i < MAX_GRAPHS && err == 0; i++)
		json_array_append_new(out, graph_json(p, (int32_t)regions[i].index, number,
		                                      number + p->n_blocks + 1));
	free(regions);
	free(number);
	json_object_set_new(doc, "graphs", out);
	return err;
}

/* ---- time ---- */

static void add_time(json_t *doc, const struct profile *p)
{
	json_t *steps = json_array(), *names = json_array();

	for (size_t i = 0; i < p->n_steps; i++) {
		json_t *regions = json_array();

		for (size_t r = 0; r <= PROFILE_TIME_REGIONS; r++)
			json_array_append_new(regions, json_real(p->steps[i].regions[r]));
		json_array_append_new(steps,
		                      json_pack("{s:o, s:o, s:o}", "instructions",
		                                json_number(p->meta.insn_event >= 0 ? p->steps[i].insn : NAN),
		                                "cycles",
		                                json_number(report_has_cyc(p) ? p->steps[i].cyc : NAN),
		                                "regions", regions));
	}
	for (size_t r = 0; r < PROFILE_TIME_REGIONS; r++)
		json_array_append_new(names, json_text(r < p->n_regions ? p->regions[r].name : "-"));
	json_array_append_new(names, json_text("everything else"));
	json_object_set_new(doc, "time",
	                    json_pack("{s:o, s:o, s:f, s:s}", "steps", steps, "regions", names, "step_ns",
	                              (double)p->step_ns, "what",
	                              p->meta.insn_event >= 0 ? "instructions" : "time"));
}

/* Loops that matter. */
static void drop_small_loops(json_t *doc)
{
	json_t *trips = json_object_get(doc, "trips");
	size_t i = json_array_size(trips);

	while (i-- > 0)
		if (!(json_number_value(json_object_get(json_array_get(trips, i), "share")) >= min_loop))
			json_array_remove(trips, i);
}

/* A name that others have, too, is shown in full, and its line tells whose source it is. */
static void drop_full_name(json_t *function)
{
	if (!json_equal(json_object_get(function, "full_name"), json_object_get(function, "name")))
		return;
	json_object_del(function, "full_name");
	json_object_del(function, "line");
}

/* What may as well be twice as much, or half, is shown nowhere without its interval. */
static void drop_unsure(json_t *function)
{
	static const char *const counts[] = { "calls", "insn_per_call", "cycles_per_call" };

	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		double n = json_number_value(json_object_get(function, counts[i])), end[2];
		char key[32];

		for (int k = 0; k < 2; k++) {
			snprintf(key, sizeof(key), "%s_%s", counts[i], k ? "hi" : "lo");
			end[k] = json_number_value(json_object_get(function, key));
			json_object_del(function, key);
		}
		if (end[1] > 2 * n || end[0] < n / 2)
			json_object_set_new(function, counts[i], json_null());
	}
}

/* Its samples tell, which are not shown. */
static void mark_rough(json_t *function, const struct profile *p)
{
	double n = json_number_value(json_object_get(function, "samples"));

	if (report_events(p, 0, n).rough)
		json_object_set_new(function, "events_rough", json_true());
}

/* Of a program with ten thousand functions these are half of the page, and it shows none of them; regions beside shares of them. */
static void drop_unshown(json_t *functions, const struct profile *p)
{
	static const char *const unshown[] = { "samples", "share_raw", "share_fixed",
		                               "linkage", "file",      "ipc_of_call" };

	for (size_t i = 0; i < json_array_size(functions); i++) {
		drop_full_name(json_array_get(functions, i));
		drop_unsure(json_array_get(functions, i));
		mark_rough(json_array_get(functions, i), p);
		for (size_t k = 0; k < sizeof(unshown) / sizeof(unshown[0]); k++)
			json_object_del(json_array_get(functions, i), unshown[k]);
		if (!p->meta.relative)
			json_object_del(json_array_get(functions, i), "region");
	}
}

static int make_document(const struct profile *p, const struct html_opts *o, json_t *doc)
{
	json_t *lines = json_array(), *doubts = json_array();
	int err = html_facts(p, lines);

	json_object_set_new(doc, "skidprof", json_integer(1));
	json_object_set_new(doc, "lines", lines);
	json_object_set_new(doc, "doubts", doubts);
	json_object_set_new(doc, "title", json_text(*p->meta.cmdline ? p->meta.cmdline : p->meta.input));
	html_doubts(p, NULL, doubts);
	if (err == 0)
		err = add_view(doc, "functions", p, view_functions, REPORT_FUNCTIONS);
	drop_unshown(json_object_get(doc, "functions"), p);
	if (err == 0)
		err = add_view(doc, "regions", p, view_regions, REPORT_REGIONS);
	if (err == 0)
		err = add_view(doc, "trips", p, view_trips, REPORT_TRIPS);
	if (err == 0) {
		drop_small_loops(doc);
		err = flame_json(p, doc);
	}
	if (err == 0)
		err = add_annotations(doc, p, o);
	if (err == 0)
		err = add_graphs(doc, p);
	if (err == 0)
		add_time(doc, p);
	return err;
}

int html_write(const struct profile *p, const struct html_opts *o, const char *path)
{
	json_t *doc = json_object();
	int err = doc ? make_document(p, o, doc) : sp_fail(SP_ENOMEM, "out of memory for a page");

	if (err == 0)
		err = page_write(doc, html_page_js, path);
	json_decref(doc);
	return err;
}
