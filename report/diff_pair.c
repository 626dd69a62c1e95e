/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which function, and which line, of one side is which of the other. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/base/err.h"
#include "report/diff_impl.h"

static uint64_t hash_text(uint64_t h, const char *s)
{
	for (; *s; s++)
		h = (h ^ (unsigned char)*s) * 0x100000001b3u;
	return (h ^ 0xff) * 0x100000001b3u;
}

/* "libstdc++.so" of "libstdc++.so.6.0.30", "libc.so" of "libc-2.36.so": another version of a library is that library. */
static const char *module_key(const char *module, char *key, size_t size)
{
	const char *so = strstr(module, ".so");
	size_t n = so && (!so[3] || so[3] == '.') ? (size_t)(so - module) : 0, k = n;

	if (!n)
		return module;
	while (k && strchr("0123456789.", module[k - 1]))
		k--;
	n = k > 1 && k < n && module[k - 1] == '-' ? k - 1 : n;
	snprintf(key, size, "%.*s.so", (int)n, module);
	return key;
}

static int module_order(const char *x, const char *y)
{
	char a[256], b[256];

	return strcmp(module_key(x, a, sizeof(a)), module_key(y, b, sizeof(b)));
}

static uint64_t hash_module(const char *module)
{
	char key[256];

	return hash_text(0xcbf29ce484222325u, module_key(module, key, sizeof(key)));
}

uint64_t unit_hash(const struct unit *u, bool with_file)
{
	uint64_t h = hash_text(hash_module(u->module), u->f->linkage);

	return with_file ? hash_text(h, report_base(u->file)) : h;
}

bool unit_same(const struct unit *x, const struct unit *y, bool with_file)
{
	return x->is_line == y->is_line && x->offset == y->offset && !module_order(x->module, y->module) &&
	       !strcmp(x->f->linkage, y->f->linkage) &&
	       (!with_file || !strcmp(report_base(x->file), report_base(y->file)));
}

/* ---- functions ---- */

/* How two units may be of one kin, the surest first. */
enum kin { KIN_ALL, KIN_LINKAGE, KIN_NAME, N_KINS };

/* Without parameters, and without what a compiler adds to the name of a function that it changed. */
static size_t bare_length(const char *name)
{
	static const char *const added[] = { ".constprop.", ".isra.", ".part.", ".cold", ".lto_priv." };
	size_t n = strcspn(name, "(");

	n = n ? n : strlen(name);
	for (size_t i = 0; i < sizeof(added) / sizeof(added[0]); i++) {
		const char *at = strstr(name, added[i]);

		if (at && at > name && (size_t)(at - name) < n)
			n = (size_t)(at - name);
	}
	return n;
}

bool unit_same_name(const struct unit *x, const struct unit *y)
{
	size_t n = bare_length(x->f->name);

	return n == bare_length(y->f->name) && !strncmp(x->f->name, y->f->name, n);
}

static bool is_kin(const struct unit *x, const struct unit *y, enum kin kin)
{
	if (kin != KIN_NAME)
		return unit_same(x, y, kin == KIN_ALL);
	return !module_order(x->module, y->module) && unit_same_name(x, y);
}

static uint64_t kin_hash(const struct unit *u, enum kin kin)
{
	char bare[512];

	if (kin != KIN_NAME)
		return unit_hash(u, kin == KIN_ALL);
	snprintf(bare, sizeof(bare), "%.*s", (int)bare_length(u->f->name), u->f->name);
	return hash_text(hash_module(u->module), bare);
}

struct keyed {
	uint64_t hash;
	uint32_t unit;
	uint8_t side;
};

static int by_hash(const void *a, const void *b)
{
	const struct keyed *x = a, *y = b;

	if (x->hash != y->hash)
		return x->hash < y->hash ? -1 : 1;
	if (x->side != y->side)
		return x->side < y->side ? -1 : 1;
	return (x->unit > y->unit) - (x->unit < y->unit);
}

/* Pair what has one of its kin on the other side, and only one. */
static int pair_kin(struct unit_list *a, struct unit_list *b, enum kin kin)
{
	struct unit_list *lists[] = { a, b };
	struct keyed *all = calloc(a->v.n + b->v.n + 1, sizeof(*all));
	size_t n = 0;

	if (!all)
		return sp_fail(SP_ENOMEM, "out of memory for %zu functions", a->v.n + b->v.n);
	for (uint8_t side = 0; side < 2; side++)
		for (uint32_t i = 0; i < lists[side]->v.n; i++)
			if (lists[side]->v.v[i].other == UINT32_MAX)
				all[n++] = (struct keyed){ kin_hash(&lists[side]->v.v[i], kin), i, side };
	qsort(all, n, sizeof(*all), by_hash);
	for (size_t i = 0, j; i < n; i = j) {
		struct unit *x, *y;

		for (j = i + 1; j < n && all[j].hash == all[i].hash; j++)
			;
		if (j - i != 2 || all[i].side == all[i + 1].side)
			continue;
		x = &a->v.v[all[i].unit];
		y = &b->v.v[all[i + 1].unit];
		if (!is_kin(x, y, kin))
			continue;
		x->other = all[i + 1].unit;
		y->other = all[i].unit;
	}
	free(all);
	return 0;
}

struct placed {
	uint32_t unit;
	const struct unit *u;
};

static int by_place(const void *a, const void *b)
{
	const struct unit *x = ((const struct placed *)a)->u, *y = ((const struct placed *)b)->u;
	int order = module_order(x->module, y->module);

	if (!order)
		order = strcmp(report_base(x->file), report_base(y->file));
	if (!order)
		order = (x->line > y->line) - (x->line < y->line);
	return order ? order : (x > y) - (x < y);
}

/* Functions in order of their source, those without one left out. */
static size_t in_order(const struct unit_list *l, struct placed *out)
{
	size_t n = 0;

	for (uint32_t i = 0; i < l->v.n; i++)
		if (*l->v.v[i].file && l->v.v[i].line)
			out[n++] = (struct placed){ i, &l->v.v[i] };
	if (n)
		qsort(out, n, sizeof(*out), by_place);
	return n;
}

static bool same_file(const struct unit *x, const struct unit *y)
{
	return !module_order(x->module, y->module) && !strcmp(report_base(x->file), report_base(y->file));
}

/* How many unpaired ones of that file follow. */
static size_t run_of(const struct placed *v, size_t i, size_t n, const struct unit *like)
{
	size_t k = 0;

	while (i + k < n && v[i + k].u->other == UINT32_MAX && same_file(v[i + k].u, like))
		k++;
	return k;
}

/*
 * What has another name and stands between the same neighbours of the same file was renamed, where as many stand there on
 * both sides.  x[i] and y[j] are the first behind two that are paired.
 */
static void pair_run(struct unit_list *a, struct unit_list *b, const struct placed *x, size_t i, size_t n_x,
                     const struct placed *y, size_t j, size_t n_y, const struct unit *like)
{
	size_t n = run_of(x, i, n_x, like);

	if (!n || run_of(y, j, n_y, like) != n)
		return;
	/* The neighbours behind must be a pair as well, or the end of the file on both sides. */
	if (i + n < n_x && same_file(x[i + n].u, like)) {
		if (j + n >= n_y || x[i + n].u->other != y[j + n].unit)
			return;
	} else if (j + n < n_y && same_file(y[j + n].u, like)) {
		return;
	}
	for (size_t k = 0; k < n; k++) {
		a->v.v[x[i + k].unit].other = y[j + k].unit;
		b->v.v[y[j + k].unit].other = x[i + k].unit;
	}
}

static int pair_renamed(struct unit_list *a, struct unit_list *b)
{
	struct placed *x = calloc(a->v.n + 1, sizeof(*x)), *y = calloc(b->v.n + 1, sizeof(*y));
	size_t *at = calloc(b->v.n + 1, sizeof(*at)), n_x, n_y;
	int err = x && y && at ? 0 : sp_fail(SP_ENOMEM, "out of memory for %zu functions", a->v.n);

	if (err == 0) {
		n_x = in_order(a, x);
		n_y = in_order(b, y);
		for (size_t j = 0; j < n_y; j++)
			at[y[j].unit] = j;
		for (size_t i = 0; i < n_x; i++) {
			bool first = !i || !same_file(x[i - 1].u, x[i].u);
			size_t j = 0;

			/* The first of a file, or behind one that is paired. */
			if (first) {
				while (j < n_y && !same_file(y[j].u, x[i].u))
					j++;
				pair_run(a, b, x, i, n_x, y, j, n_y, x[i].u);
			} else if (x[i - 1].u->other != UINT32_MAX && x[i].u->other == UINT32_MAX &&
			           b->v.v[x[i - 1].u->other].line) {
				pair_run(a, b, x, i, n_x, y, at[x[i - 1].u->other] + 1, n_y, x[i].u);
			}
		}
	}
	free(x);
	free(y);
	free(at);
	return err;
}

int pair_functions(struct unit_list *a, struct unit_list *b)
{
	int err = 0;

	for (int kin = 0; kin < N_KINS && err == 0; kin++)
		err = pair_kin(a, b, (enum kin)kin);
	return err < 0 ? err : pair_renamed(a, b);
}

/* ---- lines ---- */

void unit_add_code(uint16_t code[UNIT_CODES], const char *text)
{
	char name[32];

	snprintf(name, sizeof(name), "%.*s", (int)strcspn(text ? text : "", " \t"), text ? text : "");
	if (code[hash_text(0xcbf29ce484222325u, name) % UNIT_CODES] < UINT16_MAX)
		code[hash_text(0xcbf29ce484222325u, name) % UNIT_CODES]++;
}

/* A line of a function, which has one number on both sides where it is paired. */
struct func_line {
	uint32_t func, unit, line;
	const char *file; /* "" = the one that the function is declared in, whatever its name */
	uint8_t side;
	bool settled; /* it is paired, in order: partner is a place in the other side's list */
	size_t partner;
};

static int by_func(const void *a, const void *b)
{
	const struct func_line *x = a, *y = b;
	int order;

	if (x->func != y->func)
		return x->func < y->func ? -1 : 1;
	order = strcmp(x->file, y->file);
	if (order)
		return order;
	if (x->side != y->side)
		return x->side < y->side ? -1 : 1;
	return (x->line > y->line) - (x->line < y->line);
}

static const char *func_file(const struct unit *u)
{
	return report_base(report_file(u->p, u->f->file));
}

static int by_identity(const void *a, const void *b)
{
	const struct unit *x = *(const struct unit *const *)a, *y = *(const struct unit *const *)b;
	int order = strcmp(x->f->linkage, y->f->linkage);

	if (!order)
		order = module_order(x->module, y->module);
	return order ? order : strcmp(func_file(x), func_file(y));
}

/* Of one side.  first: the number of a function that is not paired, or is the other side's, is its place behind that. */
static int number_lines(const struct unit_list *lines, const struct unit_list *funcs, uint8_t side,
                        uint32_t first, struct func_line *out)
{
	const struct unit **sorted = calloc(funcs->v.n + 1, sizeof(*sorted));

	if (!sorted)
		return sp_fail(SP_ENOMEM, "out of memory for %zu functions", funcs->v.n);
	for (size_t i = 0; i < funcs->v.n; i++)
		sorted[i] = &funcs->v.v[i];
	if (funcs->v.n)
		qsort(sorted, funcs->v.n, sizeof(*sorted), by_identity);
	for (uint32_t i = 0; i < lines->v.n; i++) {
		const struct unit *u = &lines->v.v[i], **f;
		uint32_t func = UINT32_MAX;

		f = funcs->v.n ? bsearch(&u, sorted, funcs->v.n, sizeof(*sorted), by_identity) : NULL;
		if (f)
			func = side && (*f)->other != UINT32_MAX ? (*f)->other
			                                         : first + (uint32_t)(*f - funcs->v.v);
		out[i] = (struct func_line){
			func, i, u->line,
			strcmp(report_base(u->file), func_file(u)) == 0 ? "" : report_base(u->file), side
		};
	}
	free(sorted);
	return 0;
}

/* What two lines have in common of their instructions, as a share of what either has. */
static double likeness(const struct unit *x, const struct unit *y)
{
	unsigned both = 0, either = 0;

	for (int i = 0; i < UNIT_CODES; i++) {
		both += x->code[i] < y->code[i] ? x->code[i] : y->code[i];
		either += x->code[i] > y->code[i] ? x->code[i] : y->code[i];
	}
	return either ? (double)both / either : 0;
}

/*
 * How well two lines go together.  Any pair is better than none, as a line that was changed is still that line; a place that is
 * the same says less than some of the likeness of whole lines, since one line more above moves all below it.
 */
static double match(const struct unit *x, const struct unit *y, double least)
{
	static const double same_place = 0.3, any = 0.05;
	double like = likeness(x, y);

	return like < least ? -INFINITY : any + like + (x->offset == y->offset ? same_place : 0);
}

/* Of a function with more pairs of lines than this only those that moved and are alike are looked for. */
enum { MAX_MATCHES = 4000000 };

/*
 * Lines that are so alike are the same one, wherever it is; others are only where it is.  Of two lines that changed places
 * (tests/e2e/438) half of the instructions have the same names.
 */
static const double alike = 0.8;

/* Lines of one function on both sides. */
struct func_lines {
	struct unit_list *a, *b;
	struct func_line *x, *y;
	size_t n_x, n_y;
};

static struct unit *unit_x(const struct func_lines *f, size_t i)
{
	return &f->a->v.v[f->x[i].unit];
}

static struct unit *unit_y(const struct func_lines *f, size_t j)
{
	return &f->b->v.v[f->y[j].unit];
}

static void pair_up(const struct func_lines *f, size_t i, size_t j)
{
	unit_x(f, i)->other = f->y[j].unit;
	unit_y(f, j)->other = f->x[i].unit;
}

/* The best way to pair them in order, of those that are so alike: best[i][j] is of those from i and j on. */
static int align(const struct func_lines *f, double least)
{
	size_t wide = f->n_y + 1, i, j;
	double *best;

	if (f->n_x * f->n_y > MAX_MATCHES)
		return 0;
	best = calloc((f->n_x + 1) * wide, sizeof(*best));
	if (!best)
		return sp_fail(SP_ENOMEM, "out of memory for %zu lines", f->n_x + f->n_y);
	for (i = f->n_x; i-- > 0;)
		for (j = f->n_y; j-- > 0;)
			best[i * wide + j] =
			        fmax(best[(i + 1) * wide + j + 1] + match(unit_x(f, i), unit_y(f, j), least),
			             fmax(best[(i + 1) * wide + j], best[i * wide + j + 1]));
	/* Of two ways that are as good the one that stays close to what follows. */
	for (i = j = 0; i < f->n_x && j < f->n_y;) {
		if (best[i * wide + j] <= best[(i + 1) * wide + j]) {
			i++;
		} else if (best[i * wide + j] <= best[i * wide + j + 1]) {
			j++;
		} else {
			f->x[i].settled = true;
			f->x[i].partner = j;
			pair_up(f, i++, j++);
		}
	}
	free(best);
	return 0;
}

/* What moved past others: each by the one that is most like it, if it is hardly different. */
static void pair_moved(const struct func_lines *f)
{
	for (size_t i = 0; i < f->n_x; i++) {
		size_t found = f->n_y;
		double most = 0;

		for (size_t j = 0; j < f->n_y && unit_x(f, i)->other == UINT32_MAX; j++) {
			double like =
			        unit_y(f, j)->other == UINT32_MAX ? likeness(unit_x(f, i), unit_y(f, j)) : 0;

			if (like < alike || like <= most)
				continue;
			most = like;
			found = j;
		}
		if (found < f->n_y)
			pair_up(f, i, found);
	}
}

static size_t drop_paired(const struct unit_list *l, struct func_line *v, size_t n)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++)
		if (l->v.v[v[i].unit].other == UINT32_MAX)
			v[kept++] = v[i];
	return kept;
}

/* Lines that were changed: what is left between two that are settled, in order. */
static int pair_changed(const struct func_lines *f)
{
	size_t i0 = 0, j0 = 0;
	int err = 0;

	for (size_t i = 0; i <= f->n_x && err == 0; i++) {
		struct func_lines gap = *f;
		size_t j = f->n_y;

		if (i < f->n_x && !f->x[i].settled)
			continue;
		if (i < f->n_x)
			j = f->x[i].partner;
		gap.x += i0;
		gap.y += j0;
		gap.n_x = drop_paired(f->a, gap.x, i - i0);
		gap.n_y = drop_paired(f->b, gap.y, j - j0);
		err = align(&gap, 0);
		i0 = i + 1;
		j0 = j + 1;
	}
	return err;
}

/* First those that are alike and in order, then those that moved, then what was changed where it is. */
static int pair_in_function(const struct func_lines *f)
{
	int err = align(f, alike);

	pair_moved(f);
	return err < 0 ? err : pair_changed(f);
}

int pair_lines(struct unit_list *a, struct unit_list *b, const struct unit_list *x, const struct unit_list *y)
{
	size_t n = a->v.n + b->v.n;
	struct func_line *all = calloc(n + 1, sizeof(*all));
	int err = all ? 0 : sp_fail(SP_ENOMEM, "out of memory for %zu lines", n);

	if (err == 0)
		err = number_lines(a, x, 0, 0, all);
	if (err == 0)
		err = number_lines(b, y, 1, (uint32_t)x->v.n, all + a->v.n);
	if (err == 0 && n)
		qsort(all, n, sizeof(*all), by_func);
	for (size_t i = 0, j, end; i < n && err == 0; i = end) {
		for (j = i;
		     j < n && all[j].func == all[i].func && !strcmp(all[j].file, all[i].file) && !all[j].side;
		     j++)
			;
		for (end = j; end < n && all[end].func == all[i].func && !strcmp(all[end].file, all[i].file);
		     end++)
			;
		if (all[i].func == UINT32_MAX)
			continue;
		err = pair_in_function(&(struct func_lines){ a, b, all + i, all + j, j - i, end - j });
	}
	free(all);
	return err;
}
