/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/number.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* `more` digits than four. */
static void print_si(double x, int more, char out[NUMBER_MAX])
{
	static const char units[] = " kMGTPE";
	size_t unit = 0;
	double a = fabs(x);

	if (!isfinite(x)) {
		strcpy(out, "-");
		return;
	}
	/* 999.95 would round to "1000.0": it belongs to the next unit. */
	while (a >= (unit ? 999.95 : 999.5) && unit + 2 < sizeof(units)) {
		a /= 1000;
		unit++;
	}
	if (unit == 0)
		snprintf(out, NUMBER_MAX, "%.0f", x);
	else
		snprintf(out, NUMBER_MAX, "%s%.*f%c", x < 0 ? "-" : "",
		         more + (a < 9.9995   ? 3
		                 : a < 99.995 ? 2
		                              : 1),
		         a, units[unit]);
}

void number_si(double x, char out[NUMBER_MAX])
{
	print_si(x, 0, out);
}

void number_scaled(double x, bool rough, char out[RANGE_MAX])
{
	char a[NUMBER_MAX];

	print_si(x, 0, a);
	snprintf(out, RANGE_MAX, "%s%s", rough ? "~" : "", a);
}

void number_range(double lo, double hi, char out[RANGE_MAX])
{
	enum { MOST_MORE = 2 };
	char a[NUMBER_MAX], b[NUMBER_MAX];
	int more = 0;

	do {
		print_si(lo, more, a);
		print_si(hi, more, b);
	} while (lo < hi && strcmp(a, b) == 0 && more++ < MOST_MORE);
	snprintf(out, RANGE_MAX, isfinite(lo) ? "%s..%s" : "-", a, b);
}

void number_mean(double x, char out[NUMBER_MAX])
{
	double a = fabs(x);

	if (a < 999.95)
		snprintf(out, NUMBER_MAX, "%.*f", a < 9.9995 ? 3 : a < 99.995 ? 2 : 1, x);
	else
		number_si(x, out);
}

void number_rough(double x, double half, char out[NUMBER_MAX])
{
	int places = half <= 0.05 ? 2 : half <= 0.5 ? 1 : 0;

	if (isfinite(x) && half <= x)
		snprintf(out, NUMBER_MAX, "%.*f", places, x);
	else
		strcpy(out, "-");
}

void number_grouped(double x, char out[NUMBER_MAX])
{
	char digits[NUMBER_MAX];
	size_t n, k = 0;

	if (!isfinite(x) || fabs(x) >= 1e30) {
		number_si(x, out);
		return;
	}
	snprintf(digits, sizeof(digits), "%.0f", fabs(x));
	n = strlen(digits);
	if (x <= -0.5)
		out[k++] = '-';
	for (size_t i = 0; i < n; i++) {
		if (i && (n - i) % 3 == 0)
			out[k++] = ',';
		out[k++] = digits[i];
	}
	out[k] = '\0';
}

/* Of a change: from there on nobody reads it as a percentage. */
enum { MANY_TIMES = 99 };

static void print_times(double times, char out[NUMBER_MAX])
{
	char n[NUMBER_MAX];

	number_si(times, n);
	snprintf(out, NUMBER_MAX, "x%.*s", NUMBER_MAX - 2, n);
}

void number_percent(double fraction, int is_signed, char out[NUMBER_MAX])
{
	double percent = 100 * fraction;
	int places = fabs(percent) < 9.995 ? 2 : 1;

	if (!isfinite(fraction))
		strcpy(out, "-");
	else if (is_signed && fraction >= MANY_TIMES && fraction < 1e20)
		print_times(1 + fraction, out);
	else if (fabs(percent) >= 1e6)
		snprintf(out, NUMBER_MAX, is_signed ? "%+.1e%%" : "%.1e%%", percent);
	else
		snprintf(out, NUMBER_MAX, is_signed ? "%+.*f%%" : "%.*f%%", places, percent);
}

/*
 * Bytes of the printable UTF-8 character at s, 0 if it is none: controls (C0,
 * DEL, C1), overlong forms, surrogates and what lies past U+10FFFF.
 */
static size_t char_bytes(const unsigned char *s)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t n = s[0] < 0x80   ? 1
	           : s[0] < 0xc2 ? 0
	           : s[0] < 0xe0 ? 2
	           : s[0] < 0xf0 ? 3
	           : s[0] < 0xf5 ? 4
	                         : 0;
	uint32_t c;

	if (n == 1)
		return s[0] >= 0x20 && s[0] != 0x7f;
	if (n == 0)
		return 0;
	c = s[0] & (0x7fu >> n);
	for (size_t i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (s[i] & 0x3fu);
	}
	if (c < least[n] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff) || c < 0xa0)
		return 0;
	return n;
}

char *number_things(size_t n, const char *plural, char out[NUMBER_MAX])
{
	size_t length = strlen(plural), tail = n > 1                                                ? 0
	                                       : length > 4 && !strcmp(plural + length - 4, "sses") ? 2
	                                                                                            : 1;

	snprintf(out, NUMBER_MAX, "%zu more %.*s", n, (int)(length - tail), plural);
	return out;
}

size_t text_safe(const char *text, char *out, size_t size)
{
	const unsigned char *s = (const unsigned char *)text;
	size_t k = 0;

	while (*s) {
		size_t n = char_bytes(s), need = n ? n : 4;

		if (k + need >= size)
			break;
		if (n)
			memcpy(out + k, s, n);
		else
			snprintf(out + k, size - k, "\\x%02x", *s);
		k += need;
		s += n ? n : 1;
	}
	out[k] = '\0';
	return k;
}

char *text_safe_new(const char *text)
{
	size_t size = 4 * strlen(text) + 1;
	char *out = malloc(size);

	if (out)
		text_safe(text, out, size);
	return out;
}

static int hex_digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Other bytes are never written so: behind their backslash stands what was in the name itself. */
void text_unsafe(char *text)
{
	char *to = text;

	for (const char *s = text; *s; s++) {
		int high = s[0] == '\\' && s[1] == 'x' ? hex_digit(s[2]) : -1;
		int low = high < 0 ? -1 : hex_digit(s[3]), byte = 16 * high + low;

		if (low >= 0 && byte && (byte < ' ' || byte >= 0x7f)) {
			*to++ = (char)byte;
			s += 3;
		} else {
			*to++ = *s;
		}
	}
	*to = '\0';
}

static bool begins_char(char c)
{
	return ((unsigned char)c & 0xc0) != 0x80;
}

size_t text_width(const char *text)
{
	size_t width = 0;

	for (; *text; text++)
		width += begins_char(*text);
	return width;
}

/* Where the character number `at` begins. */
static size_t char_offset(const char *text, size_t at)
{
	size_t i = 0;

	for (;; i++) {
		if (!text[i])
			return i;
		if (begins_char(text[i]) && at-- == 0)
			return i;
	}
}

void text_skip(char *text, size_t n)
{
	size_t from = char_offset(text, n);

	memmove(text, text + from, strlen(text + from) + 1);
}

void text_squeeze(char *text, size_t width)
{
	size_t total = text_width(text), head, tail, from, to;

	if (total <= width)
		return;
	if (width < 5) {
		text[char_offset(text, width)] = '\0';
		return;
	}
	head = (width - 3 + 1) / 2;
	tail = width - 3 - head;
	from = char_offset(text, head);
	to = char_offset(text, total - tail);
	/* What is left out has more characters than the three dots have bytes. */
	memcpy(text + from, "...", 3);
	memmove(text + from + 3, text + to, strlen(text + to) + 1);
}
