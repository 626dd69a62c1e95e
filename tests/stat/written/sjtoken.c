/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * sjtoken - a tokenizer and mini-JSON/INI style reader that reports errors via
 * setjmp/longjmp, with a TRY/CATCH macro layer and nested handler frames.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct eframe {
	jmp_buf jb;
	struct eframe *up;
};
static struct eframe *etop;
static int ecode, eline;
static char emsg[64];

enum { E_NONE, E_CHAR, E_STRING, E_NUMBER, E_SYNTAX, E_DEPTH, E_YIELD };

static void throw(int code, int line, const char *msg)
{
	ecode = code;
	eline = line;
	strncpy(emsg, msg, sizeof emsg - 1);
	if (!etop) {
		fprintf(stderr, "uncaught %s\n", msg);
		exit(2);
	}
	longjmp(etop->jb, code);
}

#define TRY                        \
	{                          \
		struct eframe ef_; \
		ef_.up = etop;     \
		etop = &ef_;       \
		if (setjmp(ef_.jb) == 0) {
#define CATCH          \
	etop = ef_.up; \
	}              \
	else           \
	{              \
		etop = ef_.up;
#define ENDTRY \
	}      \
	}

/* ---------- tokenizer ---------- */

enum tok { T_EOF, T_LBRACE, T_RBRACE, T_LBRACK, T_RBRACK, T_COLON, T_COMMA, T_STR, T_NUM, T_IDENT };
static const char *const tokname[] = { "eof", "{", "}", "[", "]", ":", ",", "string", "number", "ident" };

struct lexer {
	const char *src, *cur;
	int line;
	enum tok kind;
	char text[256];
	int len;
	double num;
	unsigned long ntok;
};

static unsigned char cls[256];
enum { C_BAD, C_WS, C_DIGIT, C_ALPHA, C_PUNCT, C_QUOTE, C_HASH, C_END };

static void init_classes(void)
{
	int c;
	for (c = 'a'; c <= 'z'; c++)
		cls[c] = cls[c - 32] = C_ALPHA;
	for (c = '0'; c <= '9'; c++)
		cls[c] = C_DIGIT;
	cls['_'] = C_ALPHA;
	cls['-'] = C_DIGIT;
	cls[' '] = cls['\t'] = cls['\n'] = cls['\r'] = C_WS;
	for (const char *p = "{}[]:,"; *p; p++)
		cls[(int)*p] = C_PUNCT;
	cls['"'] = C_QUOTE;
	cls['#'] = C_HASH;
	cls[0] = C_END;
}

static int peekc(const struct lexer *lx)
{
	return (unsigned char)*lx->cur;
}
static int nextc(struct lexer *lx)
{
	int c = (unsigned char)*lx->cur++;
	if (c == '\n')
		lx->line++;
	return c;
}

static void push(struct lexer *lx, int c)
{
	if (lx->len >= 255)
		throw(E_STRING, lx->line, "token too long");
	lx->text[lx->len++] = c;
}

static void lex_string(struct lexer *lx)
{
	nextc(lx);
	for (;;) {
		int c = nextc(lx);
		if (c == '"')
			break;
		if (c == 0 || c == '\n') {
			lx->cur--;
			throw(E_STRING, lx->line, "unterminated string");
		}
		if (c == '\\') {
			c = nextc(lx);
			switch (c) {
			case 'n':
				c = '\n';
				break;
			case 't':
				c = '\t';
				break;
			case '"':
			case '\\':
				break;
			default:
				throw(E_STRING, lx->line, "bad escape");
			}
		}
		push(lx, c);
	}
	lx->text[lx->len] = 0;
	lx->kind = T_STR;
}

static void lex_number(struct lexer *lx)
{
	double v = 0, scale = 1;
	int neg = 0, digits = 0;
	if (peekc(lx) == '-')
		neg = 1, nextc(lx);
	while (cls[peekc(lx)] == C_DIGIT && peekc(lx) != '-')
		v = v * 10 + (nextc(lx) - '0'), digits++;
	if (peekc(lx) == '.') {
		nextc(lx);
		while (cls[peekc(lx)] == C_DIGIT && peekc(lx) != '-') {
			scale /= 10;
			v += (nextc(lx) - '0') * scale;
			digits++;
		}
	}
	if (!digits || cls[peekc(lx)] == C_ALPHA)
		throw(E_NUMBER, lx->line, "malformed number");
	lx->num = neg ? -v : v;
	lx->kind = T_NUM;
}

static void advance(struct lexer *lx)
{
	lx->len = 0;
	lx->ntok++;
again:
	switch (cls[peekc(lx)]) {
	case C_WS:
		while (cls[peekc(lx)] == C_WS)
			nextc(lx);
		goto again;
	case C_HASH:
		while (peekc(lx) && peekc(lx) != '\n')
			lx->cur++;
		goto again;
	case C_DIGIT:
		lex_number(lx);
		return;
	case C_ALPHA:
		do
			push(lx, nextc(lx));
		while (cls[peekc(lx)] == C_ALPHA || cls[peekc(lx)] == C_DIGIT);
		lx->text[lx->len] = 0;
		lx->kind = T_IDENT;
		return;
	case C_QUOTE:
		lex_string(lx);
		return;
	case C_END:
		lx->kind = T_EOF;
		return;
	case C_PUNCT:
		switch (nextc(lx)) {
		case '{':
			lx->kind = T_LBRACE;
			break;
		case '}':
			lx->kind = T_RBRACE;
			break;
		case '[':
			lx->kind = T_LBRACK;
			break;
		case ']':
			lx->kind = T_RBRACK;
			break;
		case ':':
			lx->kind = T_COLON;
			break;
		default:
			lx->kind = T_COMMA;
		}
		return;
	default:
		nextc(lx);
		throw(E_CHAR, lx->line, "stray character");
	}
}

/* ---------- parser ---------- */

struct stats {
	unsigned hash;
	int objs, arrs, strs, nums, idents, maxdepth;
	double total;
};

static void mix(struct stats *st, const char *s, int n)
{
	unsigned h = st->hash;
	for (int i = 0; i < n; i++)
		h = (h ^ (unsigned char)s[i]) * 0x01000193u;
	st->hash = h;
}

static void expect(struct lexer *lx, enum tok k)
{
	if (lx->kind != k) {
		char m[64];
		strcpy(m, "expected ");
		strcat(m, tokname[k]);
		throw(E_SYNTAX, lx->line, m);
	}
	advance(lx);
}

static void value(struct lexer *lx, struct stats *st, int depth)
{
	if (depth > 40)
		throw(E_DEPTH, lx->line, "nesting too deep");
	if (depth > st->maxdepth)
		st->maxdepth = depth;
	switch (lx->kind) {
	case T_LBRACE:
		st->objs++;
		advance(lx);
		while (lx->kind != T_RBRACE) {
			if (lx->kind != T_STR && lx->kind != T_IDENT)
				throw(E_SYNTAX, lx->line, "expected key");
			mix(st, lx->text, lx->len);
			advance(lx);
			expect(lx, T_COLON);
			value(lx, st, depth + 1);
			if (lx->kind != T_COMMA)
				break;
			advance(lx);
		}
		expect(lx, T_RBRACE);
		break;
	case T_LBRACK:
		st->arrs++;
		advance(lx);
		while (lx->kind != T_RBRACK) {
			value(lx, st, depth + 1);
			if (lx->kind != T_COMMA)
				break;
			advance(lx);
		}
		expect(lx, T_RBRACK);
		break;
	case T_STR:
		st->strs++;
		mix(st, lx->text, lx->len);
		advance(lx);
		break;
	case T_NUM:
		st->nums++;
		st->total += lx->num;
		advance(lx);
		break;
	case T_IDENT:
		st->idents++;
		if (strcmp(lx->text, "true") && strcmp(lx->text, "false") && strcmp(lx->text, "null"))
			throw(E_SYNTAX, lx->line, "unknown literal");
		advance(lx);
		break;
	default:
		throw(E_SYNTAX, lx->line, "unexpected token");
	}
}

/* panic-mode recovery: skip to the next "\n\n" record boundary */
static void resync(struct lexer *lx)
{
	while (*lx->cur && !(lx->cur[0] == '\n' && lx->cur[1] == '\n'))
		nextc(lx);
}

/* ---------- generator-ish consumer: yields by longjmp when a batch is full ---------- */

struct batch {
	struct lexer *lx;
	volatile int records, errors, bycode[8];
	volatile unsigned sig;
};

static void run_batch(struct batch *b, struct stats *st, int limit)
{
	struct lexer *lx = b->lx;
	volatile int n = 0;
	for (;;) {
		volatile int done = 0;
		TRY advance(lx);
		if (lx->kind == T_EOF)
			done = 1;
		else {
			value(lx, st, 0);
			b->records++;
			if (lx->kind != T_EOF)
				lx->cur -= 1;
		}
		CATCH
		b->errors++;
		b->bycode[ecode & 7]++;
		b->sig = b->sig * 31 + eline * 3 + (unsigned char)emsg[0] + strlen(emsg);
		resync(lx);
		ENDTRY
		if (done || !*lx->cur)
			return;
		if (++n == limit)
			throw(E_YIELD, lx->line, "yield");
	}
}

/* ---------- input generator ---------- */

static unsigned rs = 4242;
static unsigned rnd(unsigned n)
{
	rs ^= rs << 13;
	rs ^= rs >> 17;
	rs ^= rs << 5;
	return rs % n;
}

static char *gen_word(char *d)
{
	int n = 2 + rnd(9);
	while (n--)
		*d++ = 'a' + rnd(26);
	return d;
}

static char *gen_value(char *d, int depth)
{
	int n;
	switch (rnd(depth > 0 ? 9 : 5)) {
	case 0:
		return d + sprintf(d, "%d.%02u", (int)rnd(2000) - 1000, rnd(100));
	case 1:
		return d + sprintf(d, "%s", rnd(3) ? "true" : "null");
	case 2:
		return d + sprintf(d, "%u", rnd(100000));
	case 3:
	case 4:
		*d++ = '"';
		for (n = 1 + rnd(4); n--;) {
			d = gen_word(d);
			if (rnd(6) == 0) {
				*d++ = '\\';
				*d++ = "nt\"q"[rnd(40) ? rnd(3) : 3];
			}
			*d++ = ' ';
		}
		if (rnd(150))
			*d++ = '"';
		return d;
	case 5:
	case 6:
		*d++ = '[';
		for (n = rnd(6); n--;) {
			d = gen_value(d, depth - 1);
			if (n) {
				*d++ = ',';
				*d++ = ' ';
			}
		}
		if (rnd(80))
			*d++ = ']';
		return d;
	default:
		*d++ = '{';
		for (n = rnd(6); n--;) {
			d = gen_word(d);
			if (rnd(200))
				*d++ = ':';
			*d++ = ' ';
			d = gen_value(d, depth - 1);
			if (n)
				*d++ = ',';
			if (rnd(5) == 0)
				d += sprintf(d, "\n\t# note %u\n", rnd(100));
		}
		*d++ = rnd(100) ? '}' : '@';
		return d;
	}
}

int main(void)
{
	char *buf = malloc(8 << 20), *d = buf;
	struct stats st = { 0 };
	init_classes();
	for (int i = 0; i < 3000; i++) {
		d = gen_value(d, 5);
		*d++ = '\n';
		*d++ = '\n';
	}
	*d = 0;
	unsigned long ntok = 0;
	int yields = 0, recs = 0, errs = 0;
	unsigned sig = 0;
	for (int pass = 0; pass < 17; pass++) {
		struct lexer lx = { buf, buf, 1, T_EOF, "", 0, 0, 0 };
		struct batch b = { &lx, 0, 0, { 0 }, 0 };
		volatile int finished = 0, y = 0;
		while (!finished) {
			TRY run_batch(&b, &st, 7 + pass);
			finished = 1;
			CATCH
			if (ecode != E_YIELD) {
				printf("unexpected %s\n", emsg);
				return 1;
			}
			y++;
			ENDTRY
		}
		yields += y;
		recs += b.records;
		errs += b.errors;
		sig = sig * 17 + b.sig;
		ntok += lx.ntok;
	}
	printf("checksum %08x %08x tok %lu rec %d err %d yield %d obj %d arr %d depth %d total %.2f\n",
	       st.hash, sig, ntok, recs, errs, yields, st.objs, st.arrs, st.maxdepth, st.total);
	free(buf);
	return 0;
}
