/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/base/err.h"
#include "profiler/base/log.h"
#include "profiler/base/pairs.h"
#include "profiler/base/vec.h"

void mem_end(const char *why)
{
	sp_progress_end();
	fprintf(stderr, "skidprof: %s\n", why);
	exit(sp_exit_status(-SP_ENOMEM));
}

void *mem_have(void *p)
{
	if (!p)
		mem_end("out of memory");
	return p;
}

void *mem_malloc(size_t n_bytes)
{
	return mem_have(malloc(n_bytes));
}

void *mem_calloc(size_t n, size_t size)
{
	return mem_have(calloc(n, size));
}

void *mem_realloc(void *p, size_t n_bytes)
{
	return mem_have(realloc(p, n_bytes));
}

char *mem_strdup(const char *s)
{
	return mem_have(strdup(s));
}

char *mem_strndup(const char *s, size_t n)
{
	return mem_have(strndup(s, n));
}

char *mem_vprintf(const char *fmt, va_list args)
{
	char *out;

	return vasprintf(&out, fmt, args) < 0 ? mem_have(NULL) : out;
}

char *mem_printf(const char *fmt, ...)
{
	va_list args;
	char *out;

	va_start(args, fmt);
	out = mem_vprintf(fmt, args);
	va_end(args);
	return out;
}

void vec_room_raw(void **v, size_t *cap, size_t n, size_t size)
{
	if (vec_reserve_raw(v, cap, n, size) < 0)
		mem_end(sp_error_text());
}

size_t pairs_must(struct pairs *m, uint64_t a, uint64_t b)
{
	long i = pairs_number(m, a, b);

	if (i < 0)
		mem_end(sp_error_text());
	return (size_t)i;
}
