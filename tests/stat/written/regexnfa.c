/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * regexnfa: two regex engines over the same syntax (Pike-style NFA simulation
 * and a backtracking matcher), run on synthetic log text.
 * Syntax: literals, ., [a-z^], (), |, *, +, ?, \d \w \s, ^ and $.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHAR = 1, ANY, CLASS, SPLIT, JMP, BOL, EOL, MATCH };

typedef struct {
	int op, x, y;
	unsigned char c;
	unsigned char set[32];
} Inst;
typedef struct {
	Inst code[256];
	int n;
} Prog;

/* ---------------- parser / compiler ---------------- */

static const char *re;
static Prog *out;

static int emit(int op, int x, int y)
{
	Inst *i = &out->code[out->n];
	memset(i, 0, sizeof *i);
	i->op = op;
	i->x = x;
	i->y = y;
	return out->n++;
}

static void insert_at(int pos)
{
	memmove(&out->code[pos + 1], &out->code[pos], (out->n - pos) * sizeof(Inst));
	out->n++;
	memset(&out->code[pos], 0, sizeof(Inst));
	for (int i = pos + 1; i < out->n; i++) {
		Inst *p = &out->code[i];
		if (p->op == SPLIT || p->op == JMP) {
			if (p->x >= pos)
				p->x++;
			if (p->op == SPLIT && p->y >= pos)
				p->y++;
		}
	}
}

static void set_add(unsigned char *s, int c)
{
	s[c >> 3] |= 1 << (c & 7);
}
static int set_has(const unsigned char *s, unsigned char c)
{
	return s[c >> 3] >> (c & 7) & 1;
}

static void set_named(unsigned char *s, int k)
{
	for (int c = 0; c < 256; c++)
		if ((k == 'd' && isdigit(c)) || (k == 'w' && (isalnum(c) || c == '_')) ||
		    (k == 's' && isspace(c)))
			set_add(s, c);
}

static void p_alt(void);

static void p_atom(void)
{
	int i;
	switch (*re) {
	case '(':
		re++;
		p_alt();
		if (*re == ')')
			re++;
		break;
	case '.':
		re++;
		emit(ANY, 0, 0);
		break;
	case '^':
		re++;
		emit(BOL, 0, 0);
		break;
	case '$':
		re++;
		emit(EOL, 0, 0);
		break;
	case '[': {
		int neg = 0;
		i = emit(CLASS, 0, 0);
		re++;
		if (*re == '^')
			neg = 1, re++;
		while (*re && *re != ']') {
			if (re[1] == '-' && re[2] != ']') {
				for (int c = re[0]; c <= re[2]; c++)
					set_add(out->code[i].set, c);
				re += 3;
			} else
				set_add(out->code[i].set, (unsigned char)*re++);
		}
		re++;
		if (neg)
			for (int k = 0; k < 32; k++)
				out->code[i].set[k] ^= 0xff;
		break;
	}
	case '\\':
		if (strchr("dws", re[1])) {
			i = emit(CLASS, 0, 0);
			set_named(out->code[i].set, re[1]);
		} else {
			i = emit(CHAR, 0, 0);
			out->code[i].c = re[1];
		}
		re += 2;
		break;
	default:
		i = emit(CHAR, 0, 0);
		out->code[i].c = *re++;
	}
}

static void p_rep(void)
{
	int start = out->n;
	p_atom();
	while (*re == '*' || *re == '+' || *re == '?') {
		switch (*re++) {
		case '*':
			insert_at(start);
			emit(JMP, start, 0);
			out->code[start].op = SPLIT;
			out->code[start].x = start + 1;
			out->code[start].y = out->n;
			break;
		case '+':
			emit(SPLIT, start, out->n + 1);
			break;
		case '?':
			insert_at(start);
			out->code[start].op = SPLIT;
			out->code[start].x = start + 1;
			out->code[start].y = out->n;
			break;
		}
	}
}

static void p_cat(void)
{
	while (*re && *re != '|' && *re != ')')
		p_rep();
}

static void p_alt(void)
{
	int start = out->n;
	p_cat();
	while (*re == '|') {
		re++;
		insert_at(start);
		int j = emit(JMP, 0, 0);
		out->code[start].op = SPLIT;
		out->code[start].x = start + 1;
		out->code[start].y = out->n;
		p_cat();
		out->code[j].x = out->n;
	}
}

static void compile(const char *s, Prog *p)
{
	re = s;
	out = p;
	p->n = 0;
	p_alt();
	emit(MATCH, 0, 0);
}

/* ---------------- Pike VM ---------------- */

typedef struct {
	int pc[256], n;
} List;
static unsigned mark[256], gen;

static void addthread(const Prog *p, List *l, int pc, int at_bol, int at_eol)
{
	if (mark[pc] == gen)
		return;
	mark[pc] = gen;
	const Inst *i = &p->code[pc];
	switch (i->op) {
	case JMP:
		addthread(p, l, i->x, at_bol, at_eol);
		break;
	case SPLIT:
		addthread(p, l, i->x, at_bol, at_eol);
		addthread(p, l, i->y, at_bol, at_eol);
		break;
	case BOL:
		if (at_bol)
			addthread(p, l, pc + 1, at_bol, at_eol);
		break;
	case EOL:
		if (at_eol)
			addthread(p, l, pc + 1, at_bol, at_eol);
		break;
	default:
		l->pc[l->n++] = pc;
	}
}

int step_inst(const Inst *i, unsigned char c)
{
	switch (i->op) {
	case CHAR:
		return i->c == c;
	case ANY:
		return 1;
	case CLASS:
		return set_has(i->set, c);
	}
	return 0;
}

int nfa_search(const Prog *p, const char *s, int len)
{
	static List a, b;
	List *cur = &a, *nxt = &b, *t;
	cur->n = 0;
	gen++;
	for (int pos = 0;; pos++) {
		addthread(p, cur, 0, pos == 0, pos == len);
		gen++;
		nxt->n = 0;
		for (int k = 0; k < cur->n; k++) {
			const Inst *i = &p->code[cur->pc[k]];
			if (i->op == MATCH)
				return pos;
			if (pos < len && step_inst(i, s[pos]))
				addthread(p, nxt, cur->pc[k] + 1, 0, pos + 1 == len);
		}
		if (pos >= len)
			return -1;
		t = cur;
		cur = nxt;
		nxt = t;
	}
}

/* ---------------- backtracker ---------------- */

static long bt_steps;

static const char *bt(const Prog *p, int pc, const char *s, const char *bol, const char *eol)
{
	for (;;) {
		const Inst *i = &p->code[pc];
		bt_steps++;
		switch (i->op) {
		case MATCH:
			return s;
		case JMP:
			pc = i->x;
			break;
		case SPLIT: {
			const char *r = bt(p, i->x, s, bol, eol);
			if (r)
				return r;
			pc = i->y;
			break;
		}
		case BOL:
			if (s != bol)
				return NULL;
			pc++;
			break;
		case EOL:
			if (s != eol)
				return NULL;
			pc++;
			break;
		default:
			if (s == eol || !step_inst(i, *s))
				return NULL;
			s++;
			pc++;
		}
	}
}

int bt_search(const Prog *p, const char *s, int len)
{
	for (int st = 0; st <= len; st++) {
		const char *e = bt(p, 0, s + st, s, s + len);
		if (e)
			return st * 1000 + (int)(e - s);
	}
	return -1;
}

/* ---------------- text generation ---------------- */

static unsigned long seed = 88172645463325252UL;
static unsigned rnd(unsigned n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (seed >> 20) % n;
}

static const char *const words[] = { "error",   "warning",    "user",    "login",  "timeout", "disk",
	                             "foo_bar", "connection", "refused", "socket", "abba",    "abacab",
	                             "module",  "x",          "retry",   "failed" };

static char *put(char *d, const char *s)
{
	while (*s)
		*d++ = *s++;
	return d;
}
static char *putnum(char *d, unsigned v)
{
	if (v >= 10)
		d = putnum(d, v / 10);
	*d++ = '0' + v % 10;
	return d;
}

static int gen_line(char *buf)
{
	char *d = buf;
	int n = 4 + rnd(7);
	d = putnum(d, 2000 + rnd(25));
	*d++ = '-';
	d = putnum(d, 10 + rnd(3));
	*d++ = '-';
	d = putnum(d, 10 + rnd(19));
	while (n--) {
		*d++ = ' ';
		switch (rnd(6)) {
		case 0:
			d = putnum(d, rnd(100000));
			break;
		case 1:
			d = put(d, words[rnd(16)]);
			*d++ = '@';
			d = put(d, words[rnd(16)]);
			d = put(d, rnd(2) ? ".com" : ".org");
			break;
		case 2:
			for (int i = 0; i < 4; i++) {
				if (i)
					*d++ = '.';
				d = putnum(d, rnd(256));
			}
			break;
		default:
			d = put(d, words[rnd(16)]);
		}
	}
	*d = 0;
	return d - buf;
}

int main(void)
{
	static const char *const pats[] = {
		"\\d+\\.\\d+\\.\\d+\\.\\d+$",
		"(error|warning|failed).*(disk|socket)",
		"[a-z_]+@[a-z_]+\\.org",
		"^20[01]\\d-1[12]-\\d\\d .*timeout",
		"(ab*a?c?)+b ",
		"[^0-9 ]+ [^0-9 ]+ \\d+ x",
	};
	enum { NP = sizeof pats / sizeof *pats };
	static Prog progs[NP];
	char line[1024];
	unsigned sum = 0;
	int hits[NP] = { 0 };
	for (int i = 0; i < NP; i++)
		compile(pats[i], &progs[i]);
	for (int l = 0; l < 900; l++) {
		int len = gen_line(line);
		for (int i = 0; i < NP; i++) {
			int a = nfa_search(&progs[i], line, len);
			int b = bt_search(&progs[i], line, len);
			if ((a >= 0) != (b >= 0)) {
				printf("engines disagree: %s / %s\n", pats[i], line);
				return 1;
			}
			if (a >= 0)
				hits[i]++;
			sum = sum * 33 + a * 7 + b;
		}
	}
	printf("checksum %08x steps %ld hits", sum, bt_steps);
	for (int i = 0; i < NP; i++)
		printf(" %d", hits[i]);
	putchar('\n');
	return 0;
}
