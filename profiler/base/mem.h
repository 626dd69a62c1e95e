/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_BASE_MEM_H
#define SKIDPROF_BASE_MEM_H

/*
 * Memory that there is: where the machine has none left the program ends with
 * one line and status 1, as git does.  For the stages after the recording, which
 * have nothing to save then; what records goes on as it can, with vec_push()
 * and calloc().
 */
#include <stdarg.h>
#include <stddef.h>

/* As the functions of these names; none returns NULL. */
void *mem_malloc(size_t n_bytes);
void *mem_calloc(size_t n, size_t size);
void *mem_realloc(void *p, size_t n_bytes);
char *mem_strdup(const char *s);
char *mem_strndup(const char *s, size_t n);
/* A text by printf's format, in place of asprintf(). */
char *mem_printf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
char *mem_vprintf(const char *fmt, va_list args);

/* What another library allocated, or the end of the program where that is NULL. */
void *mem_have(void *p);

/* The end of the program, for want of memory. */
void mem_end(const char *why) __attribute__((noreturn));

#endif
