/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The callgrind format, read: ours, what callgrind writes with and without
 * --dump-instr=yes, and cachegrind's, which is the same without a word of
 * positions or objects.  The line after calls= is the cost of the callee,
 * which is no self cost; ours are of whole functions, and are kept.  The line
 * after jump= or jcnd= has none.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/truth/build.h"

enum { MAX_POSITIONS = 4, MAX_NAME_ID = 1 << 20 };

/* Texts by the number of name compression. */
struct numbered {
	VEC(struct {
		uint32_t text;
		bool known;
	})
	ids;
};

struct parse {
	struct truth_lines *l;
	struct truth_build *b;
	uint64_t pos[MAX_POSITIONS]; /* of the last line: "+3", "-2" and "*" count from it */
	int n_pos, instr, line;      /* columns; which one has the address or the line, -1 = none */
	int ir, dr, d1mr;            /* columns of the events Ir, Dr, D1mr, -1 = none */
	uint32_t object, file, func; /* that costs are of now */
	uint32_t callee_object;      /* of the next call; TRUTH_NONE = the same */
	bool have_object, ours, callgrind, in_threads;
	struct numbered objects, files, funcs;
	uint64_t sum, totals, summary;
	bool have_totals, have_summary;
	uint64_t largest;        /* count ... */
	unsigned long largest_n; /* ... and its line in the file */
};

static int bad(struct parse *p, const char *what)
{
	return sp_fail(SP_EFORMAT, "%s: line %lu: %s; the file is damaged: make it again", p->l->path,
	               p->l->n, what);
}

static const char *skip_space(const char *s)
{
	return s + strspn(s, " \t");
}

/* The text after "key" where the line starts with it, else NULL. */
static const char *after(const char *line, const char *key)
{
	size_t n = strlen(key);

	return strncmp(line, key, n) == 0 ? skip_space(line + n) : NULL;
}

static int parse_positions(struct parse *p, const char *s)
{
	bool by_instr = p->instr >= 0;

	p->n_pos = 0;
	p->instr = p->line = -1;
	while (*s) {
		size_t n = strcspn(s, " \t");

		if (p->n_pos == MAX_POSITIONS)
			return bad(p, "too many kinds of positions");
		if (n == 5 && strncmp(s, "instr", n) == 0)
			p->instr = p->n_pos;
		else if (n == 4 && strncmp(s, "line", n) == 0)
			p->line = p->n_pos;
		p->n_pos++;
		s = skip_space(s + n);
	}
	if (p->instr < 0 && p->line < 0)
		return bad(p, "positions that are neither instr nor line");
	/* Lines are counted where instructions are not: of a file that has both they would be a part of the total only. */
	if (p->sum && by_instr != (p->instr >= 0))
		return bad(p, "costs by instruction and costs by line in one file");
	return 0;
}

static int parse_events(struct parse *p, const char *s)
{
	p->ir = p->dr = p->d1mr = -1;
	for (int i = 0; *s; i++) {
		size_t n = strcspn(s, " \t");

		if (n == 2 && strncmp(s, "Ir", n) == 0)
			p->ir = i;
		else if (n == 2 && strncmp(s, "Dr", n) == 0)
			p->dr = i;
		else if (n == 4 && strncmp(s, "D1mr", n) == 0)
			p->d1mr = i;
		s = skip_space(s + n);
	}
	if (p->ir < 0)
		return sp_fail(SP_EFORMAT, "%s: has no event Ir (instructions executed)", p->l->path);
	return 0;
}

static bool parse_number(const char **s, uint64_t *out)
{
	char *end;

	if (strncmp(*s, "0x", 2) != 0)
		return truth_number(s, out);
	errno = 0;
	*out = strtoull(*s, &end, 16);
	if (errno || (*end && *end != ' ' && *end != '\t'))
		return false;
	*s = skip_space(end);
	return true;
}

/* One sub-position: "0x4010", "12", "+3", "-2" or "*". */
static bool parse_position(const char **s, uint64_t *pos)
{
	uint64_t n;

	switch (**s) {
	case '*':
		*s = skip_space(*s + 1);
		return true;
	case '+':
	case '-': {
		bool minus = **s == '-';

		(*s)++;
		if (!parse_number(s, &n))
			return false;
		*pos = minus ? *pos - n : *pos + n;
		return true;
	}
	default:
		return parse_number(s, pos);
	}
}

/* callgrind writes code outside any file as an object without a name. */
static void unknown_object(struct parse *p)
{
	if (!p->have_object && (p->callgrind || p->instr >= 0))
		truth_build_object(p->b, "???", &p->object);
	p->have_object = p->have_object || p->callgrind || p->instr >= 0;
}

/* Counts by function and by line, where there are none by instruction. */
static int add_place(struct parse *p, uint64_t n)
{
	uint64_t line = p->line < 0 ? 0 : p->pos[p->line];

	if (line > UINT32_MAX)
		return bad(p, "a source line that is none");
	if (p->func == TRUTH_NONE)
		truth_build_number(p->b, TRUTH_SYMBOLS, "???", &p->func);
	if (p->file == TRUTH_NONE)
		truth_build_number(p->b, TRUTH_FILES, "???", &p->file);
	truth_build_func(p->b, p->b->texts[TRUTH_SYMBOLS].v.v[p->func], p->object, n);
	vec_add(&p->b->lines, (struct truth_line){ p->object, p->file, (uint32_t)line, n });
	return 0;
}

static int add_cost(struct parse *p, struct truth_insn *insn)
{
	int err = truth_add(p->l, &p->sum, insn->n);

	if (err < 0)
		return err;
	unknown_object(p);
	if (insn->n > p->largest) {
		p->largest = insn->n;
		p->largest_n = p->l->n;
	}
	if (p->instr < 0)
		return add_place(p, insn->n);
	insn->object = p->object;
	insn->vaddr = p->pos[p->instr];
	vec_add(&p->b->insns, *insn);
	return 0;
}

static int parse_costs(struct parse *p, struct truth_insn *insn)
{
	const char *s = skip_space(p->l->buf);

	if (p->ir < 0)
		return bad(p, "a cost before the line 'events:'");
	for (int i = 0; i < p->n_pos; i++)
		if (!parse_position(&s, &p->pos[i]))
			return bad(p, "no position where one must be");
	for (int i = 0; *s; i++) {
		uint64_t cost;

		if (!parse_number(&s, &cost))
			return bad(p, "a cost that is no number");
		if (i == p->ir)
			insn->n = cost;
		else if (i == p->dr)
			insn->n_load = cost;
		else if (i == p->d1mr)
			insn->n_miss = cost;
	}
	return 0;
}

static int parse_cost(struct parse *p, bool counts)
{
	struct truth_insn insn = { 0 };
	int err = parse_costs(p, &insn);

	if (err < 0)
		return err;
	/* An address that was only passed over costs nothing and is no instruction that ran. */
	return counts && insn.n ? add_cost(p, &insn) : 0;
}

static void number_text(struct parse *p, const struct numbered *of, const char *text, uint32_t *out)
{
	if (!*text)
		text = "???";
	if (of == &p->objects)
		truth_build_object(p->b, text, out);
	else
		truth_build_number(p->b, of == &p->files ? TRUTH_FILES : TRUTH_SYMBOLS, text, out);
}

/* "(3) /lib/libc.so" defines number 3, "(3)" uses it, "/lib/libc.so" stands for itself. */
static int parse_name(struct parse *p, struct numbered *of, const char *s, uint32_t *out)
{
	uint64_t id;
	char *end;

	if (*s != '(' || !(s[1] >= '0' && s[1] <= '9')) {
		if (*s == '(' && of == &p->objects)
			return bad(p, "a name's number that is none");
		number_text(p, of, s, out);
		return 0;
	}
	errno = 0;
	id = strtoull(s + 1, &end, 10);
	if (errno || *end != ')' || id >= MAX_NAME_ID)
		return bad(p, "a name's number that is none");
	s = skip_space(end + 1);
	if (!*s && id < of->ids.n && of->ids.v[id].known) {
		*out = of->ids.v[id].text;
		return 0;
	}
	number_text(p, of, s, out);
	if (id >= of->ids.n) {
		vec_room(&of->ids, id + 1);
		memset(of->ids.v + of->ids.n, 0, (id + 1 - of->ids.n) * sizeof(*of->ids.v));
		of->ids.n = id + 1;
	}
	of->ids.v[id].text = *out;
	of->ids.v[id].known = true;
	return 0;
}

/* "desc: Build id: HEX PATH": ours. */
static int parse_build_id(struct parse *p, const char *s)
{
	size_t n = strspn(s, "0123456789abcdef");
	uint32_t object;
	char hex[65];

	if (n == 0 || n >= sizeof(hex) || s[n] != ' ' || !s[n + 1])
		return bad(p, "a build id that is none");
	memcpy(hex, s, n);
	hex[n] = '\0';
	truth_build_object(p->b, s + n + 1, &object);
	truth_build_id(p->b, object, hex);
	return 0;
}

/* "totals:", or "summary:", of all parts. */
static int parse_sum(struct parse *p, const char *s, uint64_t *sum, bool *have)
{
	uint64_t n;

	for (int i = 0; *s; i++) {
		if (!parse_number(&s, &n))
			return bad(p, "a total that is no number");
		if (i != p->ir)
			continue;
		*have = true;
		if (truth_add(p->l, sum, n) < 0)
			return -SP_EFORMAT;
	}
	return 0;
}

/* Positions of the call's target are not the next line's base: only the line below is. */
static int skip_target(struct parse *p)
{
	int err = truth_lines_next(p->l);

	if (err == 0)
		return bad(p, "the file ends in the middle of a call or jump");
	return err < 0 ? err : parse_cost(p, false);
}

/* "calls=3 0x4010 0" and the line below it: ours are of one function by another, by where they begin. */
static int parse_calls(struct parse *p, const char *s)
{
	struct truth_call call = { .from_object = p->object, .to_object = p->callee_object };
	uint64_t to[MAX_POSITIONS] = { 0 };
	struct truth_insn cost = { 0 };
	int err;

	if (call.to_object == TRUTH_NONE)
		call.to_object = p->object;
	p->callee_object = TRUTH_NONE;
	if (!p->ours || p->instr < 0)
		return skip_target(p);
	if (!p->have_object || !truth_number(&s, &call.n))
		return bad(p, "a call that is none");
	for (int i = 0; i < p->n_pos; i++)
		if (!parse_position(&s, &to[i]))
			return bad(p, "no position where one must be");
	err = truth_lines_next(p->l);
	if (err <= 0)
		return err < 0 ? err : bad(p, "the file ends in the middle of a call or jump");
	err = parse_costs(p, &cost);
	if (err < 0)
		return err;
	call.to_vaddr = to[p->instr];
	call.from_vaddr = p->pos[p->instr];
	call.n_insn = cost.n;
	if (p->in_threads)
		call.from_object = TRUTH_NONE;
	vec_add(&p->b->calls, call);
	return 0;
}

static int parse_spec(struct parse *p, const char *line)
{
	uint32_t ignored;
	const char *s;

	if ((s = after(line, "ob="))) {
		int err;

		/* It has no code. */
		p->in_threads = p->ours && strstr(s, TRUTH_THREADS);
		if (p->in_threads)
			return 0;
		err = parse_name(p, &p->objects, s, &p->object);
		p->have_object = err == 0;
		return err;
	}
	if ((s = after(line, "cob=")))
		return parse_name(p, &p->objects, s, &p->callee_object);
	if ((s = after(line, "calls=")))
		return parse_calls(p, s);
	if (after(line, "jump=") || after(line, "jcnd="))
		return skip_target(p);
	/* Of instructions the binary knows better what function and line they are of. */
	if (p->instr >= 0)
		return 0;
	if ((s = after(line, "fl=")) || (s = after(line, "fi=")) || (s = after(line, "fe=")))
		return parse_name(p, &p->files, s, &p->file);
	if ((s = after(line, "fn=")))
		return parse_name(p, &p->funcs, s, &p->func);
	if ((s = after(line, "cfi=")) || (s = after(line, "cfl=")))
		return parse_name(p, &p->files, s, &ignored);
	if ((s = after(line, "cfn=")))
		return parse_name(p, &p->funcs, s, &ignored);
	return 0;
}

static int parse_header(struct parse *p, const char *line)
{
	const char *s;

	if ((s = after(line, "positions:"))) {
		p->callgrind = true;
		return parse_positions(p, s);
	}
	if ((s = after(line, "events:")))
		return parse_events(p, s);
	if ((s = after(line, "creator:"))) {
		p->ours = strncmp(s, "skidprof", 8) == 0;
		p->callgrind = true;
		truth_build_text(p->b, &p->b->creator, s);
		return 0;
	}
	if ((s = after(line, "cmd:"))) {
		truth_build_text(p->b, &p->b->cmdline, s);
		return 0;
	}
	if ((s = after(line, "pid:"))) {
		truth_build_task(&p->b->process, (uint32_t)strtoul(s, NULL, 10));
		return 0;
	}
	if ((s = after(line, "thread:"))) {
		truth_build_task(&p->b->thread, (uint32_t)strtoul(s, NULL, 10));
		return 0;
	}
	if ((s = after(line, "desc: Build id:")))
		return p->ours ? parse_build_id(p, s) : 0;
	if ((s = after(line, "totals:")))
		return parse_sum(p, s, &p->totals, &p->have_totals);
	if ((s = after(line, "summary:")))
		return parse_sum(p, s, &p->summary, &p->have_summary);
	if ((s = after(line, "version:"))) {
		p->callgrind = true;
		if (strcmp(s, "1") != 0)
			return sp_fail(SP_EFORMAT,
			               "%s: callgrind format of version '%.20s'; only version 1 is known",
			               p->l->path, s);
	}
	return 0;
}

static int parse_line(struct parse *p)
{
	const char *line = skip_space(p->l->buf);

	if (!*line || *line == '#')
		return 0;
	if (strchr("0123456789+-*", *line))
		return parse_cost(p, true);
	if (line[strcspn(line, ":=")] == '=')
		return parse_spec(p, line);
	if (line[strcspn(line, ":=")] == ':')
		return parse_header(p, line);
	return bad(p, "neither a cost nor a header");
}

/* No count is above the total, and all add up to it. */
static int check_sums(struct parse *p)
{
	uint64_t claim = p->have_totals ? p->totals : p->summary;
	const char *word = p->have_totals ? "totals:" : "summary:";

	if (p->sum == 0)
		return sp_fail(SP_EFORMAT, "%s: no instruction has a count", p->l->path);
	if (!p->have_totals && !p->have_summary)
		return 0;
	if (p->largest > claim)
		return sp_fail(SP_EFORMAT,
		               "%s: line %lu: a count of %ju, more than all together (line '%s' says %ju); "
		               "the "
		               "file is damaged: make it again",
		               p->l->path, p->largest_n, (uintmax_t)p->largest, word, (uintmax_t)claim);
	if (p->sum != claim)
		return sp_fail(SP_EFORMAT,
		               "%s: line %lu: its counts add up to %ju, its line '%s' says %ju; the file is "
		               "cut off or "
		               "damaged: make it again",
		               p->l->path, p->l->n, (uintmax_t)p->sum, word, (uintmax_t)claim);
	if (p->ours && p->have_summary && p->summary != p->sum)
		return sp_fail(SP_EFORMAT,
		               "%s: its counts add up to %ju, its line 'summary:' says %ju; the file is "
		               "damaged: make it again",
		               p->l->path, (uintmax_t)p->sum, (uintmax_t)p->summary);
	return 0;
}

static void say_format(const struct parse *p)
{
	p->b->format = p->ours         ? "skidprof's counts by instruction"
	               : p->instr >= 0 ? "callgrind's counts by instruction"
	               : p->callgrind  ? "callgrind's counts by function and line (no --dump-instr=yes)"
	                               : "cachegrind's counts by function and line";
	p->b->moves_plt = p->callgrind && !p->ours;
}

int truth_parse_callgrind(struct truth_lines *l, struct truth_build *b)
{
	/* Without a line "positions:" the format's default is source lines only. */
	struct parse p = { .l = l, .b = b, .n_pos = 1, .instr = -1, .ir = -1, .dr = -1, .d1mr = -1 };
	int err;

	p.object = p.callee_object = p.file = p.func = TRUTH_NONE;
	do
		err = parse_line(&p);
	while (err == 0 && (err = truth_lines_next(l)) > 0);
	if (err == 0)
		err = check_sums(&p);
	if (err == 0 && !b->creator)
		b->creator = p.callgrind ? "callgrind" : "cachegrind";
	say_format(&p);
	vec_fini(&p.objects.ids);
	vec_fini(&p.files.ids);
	vec_fini(&p.funcs.ids);
	return err;
}
