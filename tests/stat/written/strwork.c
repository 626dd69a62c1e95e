/* SPDX-License-Identifier: GPL-3.0-or-later */
/* String handling: libc routines at many sizes and alignments, plus home-made case folding and UTF-8. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint32_t seed = 0xC0FFEE;
static uint32_t rnd(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 17;
	return seed ^= seed << 5;
}

/* ---- own routines ---- */

static int to_lower_ascii(int c)
{
	return c >= 'A' && c <= 'Z' ? c + 32 : c;
}

static void str_tolower(char *s)
{
	for (; *s; s++)
		*s = to_lower_ascii((unsigned char)*s);
}

int str_casecmp(const char *a, const char *b)
{
	int x, y;
	do {
		x = to_lower_ascii((unsigned char)*a++);
		y = to_lower_ascii((unsigned char)*b++);
	} while (x && x == y);
	return x - y;
}

static int utf8_encode(char *d, uint32_t cp)
{
	if (cp < 0x80) {
		d[0] = cp;
		return 1;
	}
	if (cp < 0x800) {
		d[0] = 0xC0 | cp >> 6;
		d[1] = 0x80 | (cp & 63);
		return 2;
	}
	if (cp < 0x10000) {
		d[0] = 0xE0 | cp >> 12;
		d[1] = 0x80 | (cp >> 6 & 63);
		d[2] = 0x80 | (cp & 63);
		return 3;
	}
	d[0] = 0xF0 | cp >> 18;
	d[1] = 0x80 | (cp >> 12 & 63);
	d[2] = 0x80 | (cp >> 6 & 63);
	d[3] = 0x80 | (cp & 63);
	return 4;
}

const unsigned char *utf8_decode(const unsigned char *s, uint32_t *cp)
{
	unsigned c = *s++;
	int n;
	if (c < 0x80) {
		*cp = c;
		return s;
	}
	if ((c & 0xE0) == 0xC0) {
		n = 1;
		c &= 0x1F;
	} else if ((c & 0xF0) == 0xE0) {
		n = 2;
		c &= 0x0F;
	} else if ((c & 0xF8) == 0xF0) {
		n = 3;
		c &= 0x07;
	} else {
		*cp = 0xFFFD;
		return s;
	}
	while (n--) {
		if ((*s & 0xC0) != 0x80) {
			*cp = 0xFFFD;
			return s;
		}
		c = c << 6 | (*s++ & 63);
	}
	*cp = c;
	return s;
}

static uint32_t fold_cp(uint32_t c)
{
	if (c < 128)
		return to_lower_ascii(c);
	if (c >= 0x391 && c <= 0x3A9)
		return c + 32;
	if (c >= 0x410 && c <= 0x42F)
		return c + 32;
	if (c >= 0xC0 && c <= 0xDE && c != 0xD7)
		return c + 32;
	return c;
}

static size_t utf8_length(const char *s)
{
	size_t n = 0;
	while (*s)
		n += (*s++ & 0xC0) != 0x80;
	return n;
}

uint64_t utf8_scan(const char *s)
{
	const unsigned char *p = (const unsigned char *)s;
	uint64_t h = 0;
	uint32_t cp;
	while (*p) {
		p = utf8_decode(p, &cp);
		h = h * 1099511628211ULL + fold_cp(cp);
	}
	return h;
}

char *reverse_words(char *s)
{
	char *p = s, *start = s;
	for (;; p++) {
		if (*p == ' ' || !*p) {
			for (char *a = start, *b = p - 1; a < b; a++, b--) {
				char t = *a;
				*a = *b;
				*b = t;
			}
			if (!*p)
				return s;
			start = p + 1;
		}
	}
}

/* ---- exercises ---- */

static char *gen_text(size_t n)
{
	char *t = malloc(n + 1);
	for (size_t i = 0; i < n; i++) {
		uint32_t r = rnd() % 64;
		t[i] = r < 10 ? ' ' : r < 36 ? 'a' + r - 10 : r < 62 ? 'A' + r - 36 : r == 62 ? ',' : '\n';
	}
	t[n] = 0;
	return t;
}

uint64_t run_lengths(char *text, size_t n)
{
	uint64_t s = 0;
	for (int i = 0; i < 6000; i++) {
		size_t off = rnd() % (n / 2), len = 1u << rnd() % 11;
		len += rnd() % len;
		char save = text[off + len];
		text[off + len] = 0;
		s = s * 3 + strlen(text + off);
		text[off + len] = save;
	}
	return s;
}

uint64_t run_copies(const char *text, size_t n)
{
	static char buf[8192];
	uint64_t s = 0;
	for (int i = 0; i < 9000; i++) {
		size_t limit = 4u << rnd() % 9;
		size_t len = rnd() % limit + 1;
		size_t d = rnd() % 16, from = rnd() % (n / 2);
		memcpy(buf + d, text + from, len);
		d = rnd() % 32;
		from = rnd() % 32;
		memmove(buf + d, buf + from, len);
		s += (unsigned char)buf[rnd() % (len + 20)] * (i + 1);
	}
	return s;
}

static uint64_t run_search(const char *text)
{
	static const char *const needles[] = { "zq", "abc", "Q,", "xyZ", "the", "ee\n", "A A", "hello" };
	uint64_t s = 0;
	for (unsigned k = 0; k < sizeof needles / sizeof *needles; k++) {
		const char *p = text;
		int limit = 150;
		while (limit-- && (p = strstr(p, needles[k])) != NULL)
			s = s * 5 + (p++ - text);
	}
	for (const char *p = text; (p = strchr(p, ',')) != NULL; p++)
		s += p - text;
	for (const char *p = text; (p = strchr(p, '\n')) != NULL; p++)
		s ^= (uint64_t)(p - text) << 7;
	return s;
}

static int cmp_str(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}
static int cmp_case(const void *a, const void *b)
{
	return str_casecmp(*(char *const *)a, *(char *const *)b);
}

static uint64_t run_sort(const char *text, size_t n)
{
	enum { NW = 5000 };
	static char *w[NW];
	char *copy = malloc(n + 1), *save = NULL;
	uint64_t s = 0;
	int c = 0;
	memcpy(copy, text, n + 1);
	for (char *t = strtok_r(copy, " ,\n", &save); t && c < NW; t = strtok_r(NULL, " ,\n", &save))
		w[c++] = t;
	qsort(w, c, sizeof *w, cmp_str);
	for (int i = 0; i < c; i += 7)
		s = s * 31 + strlen(w[i]) + (unsigned char)w[i][0];
	for (int i = 1; i < c; i++)
		s += strcmp(w[i - 1], w[i]) == 0;
	qsort(w, c, sizeof *w, cmp_case);
	for (int i = 0; i < c; i += 5)
		s = s * 31 + to_lower_ascii((unsigned char)w[i][0]);
	free(copy);
	return s;
}

static uint64_t run_prefix_compares(const char *text, size_t n)
{
	char *dup = malloc(n + 1);
	uint64_t s = 0;
	strcpy(dup, text);
	for (int i = 0; i < 1500; i++) {
		size_t off = rnd() % (n - 2100);
		size_t len = 1 + rnd() % 2000;
		char save = dup[off + len];
		dup[off + len] = '\x01';
		s = s * 7 + (strcmp(text + off, dup + off) > 0) + (memcmp(text + off, dup + off, len) == 0);
		dup[off + len] = save;
	}
	free(dup);
	return s;
}

static char *gen_utf8(int n)
{
	char *t = malloc(n * 4 + 1), *d = t;
	while (n--) {
		uint32_t cp;
		switch (rnd() % 8) {
		case 0:
			cp = 0xC0 + rnd() % 64;
			break;
		case 1:
			cp = 0x391 + rnd() % 48;
			break;
		case 2:
			cp = 0x410 + rnd() % 64;
			break;
		case 3:
			cp = 0x4E00 + rnd() % 8000;
			break;
		case 4:
			cp = 0x1F600 + rnd() % 64;
			break;
		default:
			cp = 32 + rnd() % 95;
		}
		d += utf8_encode(d, cp);
	}
	*d = 0;
	return t;
}

int main(void)
{
	size_t n = 60000;
	uint64_t sum = 0;
	char *text = gen_text(n), *u = gen_utf8(40000);
	for (int r = 0; r < 16; r++) {
		sum = sum * 3 + run_lengths(text, n);
		sum = sum * 3 + run_copies(text, n);
		sum = sum * 3 + run_search(text);
		sum = sum * 3 + run_prefix_compares(text, n);
		sum = sum * 3 + utf8_scan(u) + utf8_length(u);
		if (r % 2)
			sum = sum * 3 + run_sort(text, n);
		reverse_words(text);
		if (r % 5 == 3) {
			char *copy = strdup(text);
			str_tolower(copy);
			sum = sum * 3 + run_search(copy);
			free(copy);
		}
	}
	printf("checksum %016llx\n", (unsigned long long)sum);
	free(text);
	free(u);
	return 0;
}
