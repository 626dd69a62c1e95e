/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Report writer and CSV round-trips: stresses printf and strto* in libc. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef ROWS
#define ROWS 12000
#endif

#define FIELDS 6

typedef struct {
	int id;
	long qty;
	double price, weight;
	unsigned flags;
	char sku[16];
} row_t;

static unsigned long long st = 1;

static unsigned prng(void)
{
	st = st * 2862933555777941757ULL + 3037000493ULL;
	return (unsigned)(st >> 32);
}

static unsigned long hash_text(unsigned long h, const char *s)
{
	while (*s)
		h = h * 65599 + (unsigned char)*s++;
	return h;
}

static void make_row(row_t *r, int i)
{
	r->id = i;
	r->qty = (long)(prng() % 2000000) - 1000000;
	r->price = (double)prng() / 4096.0;
	r->weight = (double)prng() * 1.2345e-12;
	r->flags = prng();
	unsigned k = prng();
	snprintf(r->sku, sizeof r->sku, "%c%c-%05u", 'A' + k % 26, 'A' + (k >> 8) % 26, (k >> 12) % 100000);
}

static int row_to_csv(const row_t *r, char *buf, size_t cap)
{
	return snprintf(buf, cap, "%d,%ld,%.4f,%.12e,0x%x,\"%s\"", r->id, r->qty, r->price, r->weight,
	                r->flags, r->sku);
}

/* split in place; honours double quotes */
static int split(char *line, char **f, int max)
{
	int n = 0, quoted = 0;
	char *out = line;
	f[n++] = out;
	for (char *p = line; *p; p++) {
		if (*p == '"')
			quoted = !quoted;
		else if (*p == ',' && !quoted) {
			*out++ = '\0';
			if (n == max)
				return -1;
			f[n++] = out;
		} else
			*out++ = *p;
	}
	*out = '\0';
	return n;
}

static int to_long(const char *s, int base, long *v)
{
	char *end;
	errno = 0;
	*v = strtol(s, &end, base);
	return errno == 0 && end != s && *end == '\0';
}

static int to_double(const char *s, double *v)
{
	char *end;
	errno = 0;
	*v = strtod(s, &end);
	return errno == 0 && *end == '\0';
}

static int csv_to_row(char *line, row_t *r)
{
	char *f[FIELDS];
	long v;
	if (split(line, f, FIELDS) != FIELDS)
		return 0;
	if (!to_long(f[0], 10, &v))
		return 0;
	r->id = (int)v;
	if (!to_long(f[1], 10, &r->qty) || !to_double(f[2], &r->price) || !to_double(f[3], &r->weight) ||
	    !to_long(f[4], 0, &v))
		return 0;
	r->flags = (unsigned)v;
	strcpy(r->sku, f[5]);
	return 1;
}

/* 1234567 -> "1,234,567" */
static char *commas(long v, char *buf, size_t cap)
{
	char tmp[32];
	int n = snprintf(tmp, sizeof tmp, "%ld", v < 0 ? -v : v), k = 0;
	if (v < 0)
		buf[k++] = '-';
	for (int i = 0; i < n && (size_t)k < cap - 1; i++) {
		if (i && (n - i) % 3 == 0)
			buf[k++] = ',';
		buf[k++] = tmp[i];
	}
	buf[k] = '\0';
	return buf;
}

/* printf-free conversion, for comparison */
static char *utoa(unsigned v, char *end, unsigned base)
{
	*--end = '\0';
	do
		*--end = "0123456789abcdefghijklmnopqrstuvwxyz"[v % base];
	while ((v /= base) != 0);
	return end;
}

static void upcase(char *s)
{
	for (; *s; s++)
		*s = (char)toupper((unsigned char)*s);
}

static unsigned long report_line(FILE *out, const row_t *r, unsigned long h)
{
	char line[160], cbuf[32], ubuf[40];
	snprintf(line, sizeof line, "| %-10s | %12s | %10.2f | %8.3g | %-8s |", r->sku,
	         commas(r->qty, cbuf, sizeof cbuf), r->price, r->weight,
	         utoa(r->flags, ubuf + sizeof ubuf, 36));
	upcase(line);
	if (r->id % 3 == 0)
		fprintf(out, "%s %06d %s\n", line, r->id, r->flags & 1 ? "yes" : "no");
	return hash_text(h, line);
}

static int scan_line(const char *s, double *acc)
{
	int a;
	double d;
	char w[32];
	if (sscanf(s, "%d:%lf:%31s", &a, &d, w) != 3)
		return 0;
	*acc += a + d + w[0];
	return 1;
}

int main(void)
{
	FILE *out = fopen("/dev/null", "w");
	unsigned long h = 0;
	double acc = 0;
	int bad = 0;
	if (!out)
		return 1;
	for (int i = 0; i < ROWS; i++) {
		row_t r, back;
		char buf[256];
		make_row(&r, i);
		row_to_csv(&r, buf, sizeof buf);
		h = hash_text(h, buf);
		if (!csv_to_row(buf, &back) || back.flags != r.flags || strcmp(back.sku, r.sku))
			bad++;
		acc += back.price * 0.5 + back.weight;
		h = report_line(out, &back, h);
		if (i % 4 == 0) {
			sprintf(buf, "%d:%.3f:%s", i, r.price, r.sku);
			bad += !scan_line(buf, &acc);
		}
	}
	fclose(out);
	printf("checksum %016lx %.5f bad=%d\n", h, acc, bad);
	return 0;
}
