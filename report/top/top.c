/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/top/top.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/base/err.h"
#include "profiler/base/log.h"
#include "profiler/base/vec.h"
#include "report/annotate.h"

/* The first line of the screen is the title, the last one says which keys there are. */
enum { LINES_AROUND = 2, LEAST_FOLDED = 40 };

static const double cold_share = 0.005; /* as annotate has it */
enum { CONTEXT = 2 };

static const char help_text[] =
        "Up, Down, k, j       the row above, below\n"
        "PgUp, PgDn, space    a page up, down\n"
        "Home, End, g, G      the first, the last\n"
        "Left, Right          scroll sideways, where lines are wider than the terminal\n"
        "Enter, a             source and assembly of the function\n"
        "c                    who calls it\n"
        "e                    what it calls\n"
        "w                    why its numbers are what they are\n"
        "t                    the list with callees counted in, and back\n"
        "s                    the list by the next key: share, raw, fixed, cycles, ipc, change, status, "
        "name\n"
        "r                    raw, fixed or both counts\n"
        "u                    inlined functions in those that hold them, or by themselves\n"
        "/, n                 find a word, and the next line that has it\n"
        "i                    what the numbers come from\n"
        "Esc, q, Backspace    back; from the list, leave\n"
        "Q                    leave\n"
        "?                    this\n";

/* ---- pages ---- */

static void page_fini(struct top_page *page)
{
	free(page->text);
	free(page->lines);
	free(page->funcs);
	*page = (struct top_page){ 0 };
}

static int split(struct top_page *page)
{
	VEC(const char *) lines = { 0 };

	for (char *line = page->text, *end; line && *line; line = end + 1) {
		end = strchr(line, '\n');
		if (vec_push(&lines, line) < 0) {
			vec_fini(&lines);
			return -SP_ENOMEM;
		}
		if (!end)
			break;
		*end = '\0';
	}
	page->lines = lines.v;
	page->n_lines = lines.n;
	return 0;
}

/* A list: a heading, and a row a function. */
static int write_list(const struct top *t, struct top_page *page, const struct term *term)
{
	struct report_opts o = t->opts;
	struct view v = { 0 };
	int err;

	o.view = page->kind == TOP_CHILDREN  ? REPORT_CHILDREN
	         : page->kind == TOP_CALLERS ? REPORT_CALLERS
	         : page->kind == TOP_CALLEES ? REPORT_CALLEES
	                                     : REPORT_FUNCTIONS;
	o.why = page->func >= 0 ? report_name(&t->p->funcs[page->func]) : NULL;
	err = page->kind == TOP_FUNCTIONS  ? view_functions(t->p, &o, &v)
	      : page->kind == TOP_CHILDREN ? view_children(t->p, &o, &v)
	                                   : view_parts(t->p, &o, &v);
	if (err < 0)
		return err;
	page->n_rows = v.table.n_rows;
	page->n_heading = page->n_rows ? 1 : 0;
	if (page->n_rows)
		err = table_print(&v.table, 0, term, NULL);
	else
		children_note(t->p, &o, term->f);
	page->funcs = calloc(page->n_rows + 1, sizeof(*page->funcs));
	if (!page->funcs)
		err = sp_fail(SP_ENOMEM, "out of memory for %zu rows", page->n_rows);
	for (size_t i = 0; i < page->n_rows && err == 0; i++)
		page->funcs[i] = v.func(&v, i);
	view_free(&v);
	return err;
}

/* The function whose code holds that of another one: itself, or what most of it was put in place in. */
static uint32_t physical(const struct profile *p, uint32_t func)
{
	uint32_t best = func;
	double most = -1;

	for (size_t i = 0; i < p->n_insns; i++) {
		const struct profile_count *c = &p->funcs[p->insns[i].phys_func].rolled;

		if (p->insns[i].func != func)
			continue;
		if (p->insns[i].phys_func == func)
			return func;
		if (c->insn + c->cyc > most) {
			most = c->insn + c->cyc;
			best = p->insns[i].phys_func;
		}
	}
	return best;
}

static int write_annotation(struct top *t, const struct top_page *page, const struct term *term)
{
	const struct annotate_opts o = { .source = true,
		                         .assembly = true,
		                         .raw = t->opts.show == REPORT_RAW,
		                         .context = CONTEXT,
		                         .min_share = cold_share };
	struct annotation *a = NULL;
	int err = annotation_new(t->p, physical(t->p, (uint32_t)page->func), &t->modules, &a);

	if (err == 0)
		err = annotate_text(a, &o, t->sources, term);
	annotation_free(a);
	return err;
}

static int write_page(struct top *t, struct top_page *page, const struct term *term)
{
	switch (page->kind) {
	case TOP_ANNOTATE:
		return write_annotation(t, page, term);
	case TOP_WHY:
		return why_print(t->p, report_name(&t->p->funcs[page->func]), term);
	case TOP_ABOUT:
		meta_print(t->p, term->f);
		return 0;
	case TOP_HELP:
		fputs(help_text, term->f);
		return 0;
	default:
		return write_list(t, page, term);
	}
}

static size_t n_body(const struct top_page *page)
{
	return page->n_lines - page->n_heading;
}

size_t top_room(const struct top *t)
{
	const struct top_page *page = top_page(t);
	size_t around = LINES_AROUND + page->n_heading;

	return t->height > (int)around ? (size_t)t->height - around : 1;
}

/* Keep the chosen row on the screen, and no more empty lines below the last than must be. */
static void scroll(const struct top *t, struct top_page *page)
{
	size_t room = top_room(t), n = n_body(page), last = n > room ? n - room : 0;

	if (page->n_rows && page->at >= page->n_rows)
		page->at = page->n_rows - 1;
	if (page->n_rows && page->first > page->at)
		page->first = page->at;
	if (page->n_rows && page->first + room <= page->at)
		page->first = page->at + 1 - room;
	if (page->first > last)
		page->first = last;
}

/* Sentences have no room in one line of a narrow screen: they go on below, two columns in from where they began. */
static int fold(char **text, int width)
{
	char *out = NULL, *line = *text;
	size_t size = 0;
	FILE *f = open_memstream(&out, &size);

	if (!f)
		return sp_fail(SP_ENOMEM, "out of memory for a page");
	while (*line) {
		size_t n = strcspn(line, "\n"), indent = 0, in = strspn(line, " ") + 2;

		in = in < (size_t)width / 2 ? in : (size_t)width / 2;
		while (n > (size_t)width - indent) {
			size_t cut = (size_t)width - indent;

			while (cut > in && line[cut] != ' ')
				cut--;
			cut = cut > in ? cut : (size_t)width - indent;
			fprintf(f, "%*s%.*s\n", (int)indent, "", (int)cut, line);
			line += cut + (line[cut] == ' ');
			n = strcspn(line, "\n");
			indent = in;
		}
		fprintf(f, "%*s%.*s\n", (int)indent, "", (int)n, line);
		line += n + (line[n] == '\n');
	}
	if (fclose(f) != 0) {
		free(out);
		return sp_fail(SP_ENOMEM, "out of memory for a page");
	}
	free(*text);
	*text = out;
	return 0;
}

/* Write a page's text anew, for this width and these options; where one was in it stays. */
static int make(struct top *t, struct top_page *page)
{
	struct top_page made = {
		.kind = page->kind, .func = page->func, .at = page->at, .first = page->first
	};
	struct term term = { .width = t->width };
	size_t size = 0;
	int err;

	term.f = open_memstream(&made.text, &size);
	if (!term.f)
		return sp_fail(SP_ENOMEM, "out of memory for a page");
	err = write_page(t, &made, &term);
	if (fclose(term.f) != 0 && err == 0)
		err = sp_fail(SP_ENOMEM, "out of memory for a page");
	if (err == 0 && (made.kind == TOP_WHY || made.kind == TOP_ABOUT) && t->width > LEAST_FOLDED)
		err = fold(&made.text, t->width);
	if (err == 0)
		err = split(&made);
	if (err < 0) {
		page_fini(&made);
		return err;
	}
	/* Without rows there is no heading, but a sentence. */
	if (made.n_heading > made.n_lines || !made.n_rows)
		made.n_heading = 0;
	if (made.n_rows > n_body(&made))
		made.n_rows = n_body(&made);
	page_fini(page);
	*page = made;
	return 0;
}

static struct top_page *current(struct top *t)
{
	return &t->pages[t->n_pages - 1];
}

const struct top_page *top_page(const struct top *t)
{
	return &t->pages[t->n_pages - 1];
}

/* What fails for one page is said, and the page before stays. */
static int show(struct top *t, enum top_kind kind, long func)
{
	int err;

	if (t->n_pages == TOP_MAX_PAGES) {
		snprintf(t->message, sizeof(t->message), "no deeper than %d pages; q goes back",
		         TOP_MAX_PAGES);
		return 0;
	}
	t->pages[t->n_pages] = (struct top_page){ .kind = kind, .func = func };
	err = make(t, &t->pages[t->n_pages]);
	if (err == -SP_ENOMEM)
		return err;
	if (err < 0) {
		snprintf(t->message, sizeof(t->message), "%s", sp_error_text());
		return 0;
	}
	t->n_pages++;
	scroll(t, current(t));
	return 0;
}

static void back(struct top *t)
{
	page_fini(current(t));
	t->n_pages--;
}

static int make_again(struct top *t)
{
	int err = make(t, current(t));

	if (err == 0)
		scroll(t, current(t));
	return err;
}

/* ---- keys ---- */

static void move(struct top *t, long by)
{
	struct top_page *page = current(t);
	size_t *at = page->n_rows ? &page->at : &page->first;

	*at = by < 0 && *at < (size_t)-by ? 0 : *at + (size_t)by;
	scroll(t, page);
}

/* The function that is meant: of the row, or of the page. */
static long chosen(const struct top *t)
{
	const struct top_page *page = top_page(t);

	return page->n_rows ? page->funcs[page->at] : page->func;
}

static int go(struct top *t, enum top_kind kind)
{
	long func = chosen(t);

	if (func < 0) {
		snprintf(t->message, sizeof(t->message), "no function is chosen here");
		return 0;
	}
	return show(t, kind, func);
}

/* Other options, and the page anew with them. */
static int toggle(struct top *t, int key)
{
	static const char *const shown[] = { "both", "fixed", "raw" };
	static const char *const sorts[] = { "share", "raw",    "fixed",  "cycles",
		                             "ipc",   "change", "status", "name" };
	struct top_page *page = current(t);

	if (key == 't') {
		if (page->kind != TOP_FUNCTIONS && page->kind != TOP_CHILDREN)
			return 0;
		page->kind = page->kind == TOP_FUNCTIONS ? TOP_CHILDREN : TOP_FUNCTIONS;
		page->at = 0;
	} else if (key == 'r') {
		t->opts.show = (t->opts.show + 1) % (sizeof(shown) / sizeof(shown[0]));
		snprintf(t->message, sizeof(t->message), "counts: %s", shown[t->opts.show]);
	} else if (key == 'u') {
		t->opts.rollup = !t->opts.rollup;
		snprintf(t->message, sizeof(t->message), "inlined functions %s",
		         t->opts.rollup ? "in those that hold them" : "by themselves");
	} else {
		t->opts.sort = (t->opts.sort + 1) % (sizeof(sorts) / sizeof(sorts[0]));
		snprintf(t->message, sizeof(t->message), "by %s", sorts[t->opts.sort]);
	}
	return make_again(t);
}

static void find_next(struct top *t, size_t from)
{
	struct top_page *page = current(t);
	size_t n = n_body(page);

	for (size_t k = 0; k < n && t->n_find; k++) {
		size_t i = (from + k) % n;

		if (!strcasestr(page->lines[page->n_heading + i], t->find))
			continue;
		page->first = i;
		page->at = page->n_rows ? i : 0;
		scroll(t, page);
		return;
	}
	snprintf(t->message, sizeof(t->message),
	         t->n_find ? "'%.100s' is nowhere on this page" : "/ begins a search", t->find);
}

/* A key of a word that is being typed. */
static void type(struct top *t, int key)
{
	if (key == TOP_ENTER) {
		t->finding = false;
		find_next(t, top_page(t)->n_rows ? top_page(t)->at : top_page(t)->first);
	} else if (key == TOP_BACK && t->n_find) {
		t->find[--t->n_find] = '\0';
	} else if (key == TOP_BACK) {
		t->finding = false;
	} else if (key >= ' ' && key < 0x100 && t->n_find + 1 < sizeof(t->find)) {
		t->find[t->n_find++] = (char)key;
		t->find[t->n_find] = '\0';
	}
}

static int press(struct top *t, int key)
{
	struct top_page *page = current(t);
	long room = (long)top_room(t), all = (long)page->n_lines;

	switch (key) {
	case TOP_UP:
	case 'k':
		move(t, -1);
		return 0;
	case TOP_DOWN:
	case 'j':
		move(t, 1);
		return 0;
	case TOP_PAGE_UP:
		move(t, -room);
		return 0;
	case TOP_PAGE_DOWN:
	case ' ':
		move(t, room);
		return 0;
	case TOP_HOME:
	case 'g':
		move(t, -all);
		return 0;
	case TOP_END:
	case 'G':
		move(t, all);
		return 0;
	case TOP_LEFT:
		page->left -= page->left < 8 ? page->left : 8;
		return 0;
	case TOP_RIGHT:
		page->left += 8;
		return 0;
	case TOP_BACK:
	case 'q':
		back(t);
		/* Options may be other ones, and the terminal of another width. */
		return t->n_pages ? make_again(t) : 0;
	case 'Q':
		while (t->n_pages)
			back(t);
		return 0;
	default:
		return ' ';
	}
}

/* Keys that open something. */
static int open_other(struct top *t, int key)
{
	switch (key) {
	case TOP_ENTER:
	case 'a':
		return go(t, TOP_ANNOTATE);
	case 'c':
		return go(t, TOP_CALLERS);
	case 'e':
		return go(t, TOP_CALLEES);
	case 'w':
		return go(t, TOP_WHY);
	case 'i':
		return show(t, TOP_ABOUT, -1);
	case '?':
	case 'h':
		return show(t, TOP_HELP, -1);
	case 's':
	case 'r':
	case 't':
	case 'u':
		return toggle(t, key);
	case '/':
		t->finding = true;
		t->n_find = 0;
		t->find[0] = '\0';
		return 0;
	case 'n':
		find_next(t, (top_page(t)->n_rows ? top_page(t)->at : top_page(t)->first) + 1);
		return 0;
	default:
		snprintf(t->message, sizeof(t->message), "? lists the keys");
		return 0;
	}
}

int top_press(struct top *t, int key)
{
	int err;

	if (key == TOP_RESIZED)
		return make_again(t);
	t->message[0] = '\0';
	if (t->finding) {
		type(t, key);
		return 0;
	}
	err = press(t, key);
	return err == ' ' ? open_other(t, key) : err;
}

int top_open(struct top *t, int width, int height)
{
	const struct profile_func *largest;
	size_t n;

	t->width = width;
	t->height = height;
	t->n_pages = 0;
	t->pages[0] = (struct top_page){ .kind = TOP_FUNCTIONS, .func = -1 };
	/* The first page has no other to go back to: what fails there fails. */
	if (make(t, &t->pages[0]) < 0)
		return -SP_ENOMEM;
	t->n_pages = 1;
	scroll(t, current(t));
	n = t->p->worst >= PROFILE_UNRELIABLE ? report_unreliable(t->p, NULL, &largest) : 0;
	if (n)
		snprintf(t->message, sizeof(t->message),
		         "%zu function%s of at least 1%% %s unreliable: w tells why  ? keys  q back", n,
		         sp_plural(n), n == 1 ? "is" : "are");
	return 0;
}

void top_close(struct top *t)
{
	while (t->n_pages)
		back(t);
}

void top_title(const struct top *t, char *out, size_t size)
{
	static const char *const words[] = {
		[TOP_FUNCTIONS] = "functions",
		[TOP_CHILDREN] = "functions with their callees",
		[TOP_CALLERS] = "callers of ",
		[TOP_CALLEES] = "callees of ",
		[TOP_ANNOTATE] = "source and assembly of ",
		[TOP_WHY] = "why: ",
		[TOP_ABOUT] = "what the numbers come from",
		[TOP_HELP] = "keys",
	};
	const struct top_page *page = top_page(t);

	snprintf(out, size, "%s%s", words[page->kind],
	         page->func >= 0 ? report_name(&t->p->funcs[page->func]) : "");
}
