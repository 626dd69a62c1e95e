/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The callgrind format, read: ours and what callgrind --dump-instr=yes
 * writes.  Only the self cost of instructions counts; the line after calls=
 * is the cost of the callee, and the one after jump= or jcnd= has none.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "correct/truth/build.h"
#include "profiler/base/log.h"

enum { MAX_POSITIONS = 4, MAX_NAME_ID = 1 << 20 };

struct parse {
	struct truth_lines *l;
	struct truth_build *b;
	uint64_t pos[MAX_POSITIONS]; /* of the last line: "+3", "-2" and "*" count from it */
	int n_pos, instr;            /* columns; which one has the address, -1 = none */
	int ir, dr, d1mr;            /* columns of the events Ir, Dr, D1mr, -1 = none */
	uint32_t object;
	bool have_object, ours;
	VEC(struct {
		uint32_t object;
		bool known;
	})
	names; /* objects by the number of name compression */
	uint64_t sum, claimed;
	bool have_claim;
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
	p->n_pos = 0;
	p->instr = -1;
	while (*s) {
		size_t n = strcspn(s, " \t");

		if (p->n_pos == MAX_POSITIONS)
			return bad(p, "too many kinds of positions");
		if (n == 5 && strncmp(s, "instr", n) == 0)
			p->instr = p->n_pos;
		p->n_pos++;
		s = skip_space(s + n);
	}
	if (p->instr < 0)
		return sp_fail(SP_EFORMAT,
		               "%s: has no counts per instruction; make it with 'skidprof truth', or with "
		               "'valgrind --tool=callgrind --dump-instr=yes'",
		               p->l->path);
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

	if (!(**s >= '0' && **s <= '9'))
		return false;
	errno = 0;
	*out = strtoull(*s, &end, strncmp(*s, "0x", 2) == 0 ? 16 : 10);
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

static int parse_cost(struct parse *p, bool counts)
{
	const char *s = p->l->buf;
	struct truth_insn insn = { 0 };

	if (p->instr < 0 || p->ir < 0)
		return bad(p, "a cost before the lines 'positions:' and 'events:'");
	for (int i = 0; i < p->n_pos; i++)
		if (!parse_position(&s, &p->pos[i]))
			return bad(p, "no position where one must be");
	for (int i = 0; *s; i++) {
		uint64_t cost;

		if (!parse_number(&s, &cost))
			return bad(p, "a cost that is no number");
		if (i == p->ir)
			insn.n = cost;
		else if (i == p->dr)
			insn.n_load = cost;
		else if (i == p->d1mr)
			insn.n_miss = cost;
	}
	/* An address that was only passed over costs nothing and is no instruction that ran. */
	if (!counts || insn.n == 0)
		return 0;
	if (!p->have_object) {
		int err = truth_build_object(p->b, "???", &p->object);

		if (err < 0)
			return err;
		p->have_object = true;
	}
	p->sum += insn.n;
	insn.object = p->object;
	insn.vaddr = p->pos[p->instr];
	return truth_build_insn(p->b, &insn);
}

/* "(3) /lib/libc.so" defines number 3, "(3)" uses it, "/lib/libc.so" stands for itself. */
static int parse_object(struct parse *p, const char *s, uint32_t *object)
{
	uint64_t id;
	char *end;
	int err;

	if (*s != '(')
		return truth_build_object(p->b, *s ? s : "???", object);
	errno = 0;
	id = strtoull(s + 1, &end, 10);
	if (errno || *end != ')' || end == s + 1 || id >= MAX_NAME_ID)
		return bad(p, "a name's number that is none");
	s = skip_space(end + 1);
	if (!*s && id < p->names.n && p->names.v[id].known) {
		*object = p->names.v[id].object;
		return 0;
	}
	/* callgrind writes code outside any file as a number without a name. */
	err = truth_build_object(p->b, *s ? s : "???", object);
	if (err < 0)
		return err;
	if (id >= p->names.n) {
		if (vec_reserve(&p->names, id + 1) < 0)
			return -SP_ENOMEM;
		memset(p->names.v + p->names.n, 0, (id + 1 - p->names.n) * sizeof(*p->names.v));
		p->names.n = id + 1;
	}
	p->names.v[id].object = *object;
	p->names.v[id].known = true;
	return 0;
}

/* "desc: Build id: HEX PATH": ours. */
static int parse_build_id(struct parse *p, const char *s)
{
	size_t n = strspn(s, "0123456789abcdef");
	uint32_t object;
	char hex[65];
	int err;

	if (n == 0 || n >= sizeof(hex) || s[n] != ' ' || !s[n + 1])
		return bad(p, "a build id that is none");
	memcpy(hex, s, n);
	hex[n] = '\0';
	err = truth_build_object(p->b, s + n + 1, &object);
	return err < 0 ? err : truth_build_id(p->b, object, hex);
}

static int parse_totals(struct parse *p, const char *s)
{
	uint64_t n;

	for (int i = 0; *s; i++) {
		if (!parse_number(&s, &n))
			return bad(p, "a total that is no number");
		if (i == p->ir) {
			p->claimed += n;
			p->have_claim = true;
		}
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

static int parse_spec(struct parse *p, const char *line)
{
	uint32_t ignored;
	const char *s;

	if ((s = after(line, "ob="))) {
		int err = parse_object(p, s, &p->object);

		p->have_object = err == 0;
		return err;
	}
	if ((s = after(line, "cob=")))
		return parse_object(p, s, &ignored);
	if (after(line, "calls=") || after(line, "jump=") || after(line, "jcnd="))
		return skip_target(p);
	return 0; /* fl= fi= fe= fn= cfi= cfl= cfn=: the binary knows better */
}

static int parse_header(struct parse *p, const char *line)
{
	const char *s;

	if ((s = after(line, "positions:")))
		return parse_positions(p, s);
	if ((s = after(line, "events:")))
		return parse_events(p, s);
	if ((s = after(line, "creator:"))) {
		p->ours = strncmp(s, "skidprof", 8) == 0;
		return truth_build_text(&p->b->creator, s);
	}
	if ((s = after(line, "cmd:")))
		return truth_build_text(&p->b->cmdline, s);
	if ((s = after(line, "desc: Build id:")))
		return p->ours ? parse_build_id(p, s) : 0;
	if ((s = after(line, "totals:")))
		return parse_totals(p, s);
	if ((s = after(line, "version:")) && strcmp(s, "1") != 0)
		return sp_fail(SP_EFORMAT, "%s: callgrind format of version '%.20s'; only version 1 is known",
		               p->l->path, s);
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

int truth_parse_callgrind(struct truth_lines *l, struct truth_build *b)
{
	/* Without a line "positions:" the format's default is source lines only. */
	struct parse p = { .l = l, .b = b, .n_pos = 1, .instr = -1, .ir = -1, .dr = -1, .d1mr = -1 };
	int err;

	do
		err = parse_line(&p);
	while (err == 0 && (err = truth_lines_next(l)) > 0);
	if (err == 0 && p.instr < 0)
		err = parse_positions(&p, "line");
	if (err == 0 && p.sum == 0)
		err = sp_fail(SP_EFORMAT, "%s: no instruction has a count", l->path);
	if (err == 0 && p.have_claim && p.claimed != p.sum)
		sp_warn("%s: its instructions add up to %ju, its line 'totals:' says %ju: cut off or edited?",
		        l->path, (uintmax_t)p.sum, (uintmax_t)p.claimed);
	vec_fini(&p.names);
	return err;
}
