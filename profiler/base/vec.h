/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_BASE_VEC_H
#define SKIDPROF_BASE_VEC_H

/*
 * Growable arrays.  VEC(struct x) is a struct { struct x *v; size_t n, cap; },
 * all zero when empty.  Elements are named by index; pointers into v die with
 * the next push.
 *
 *	VEC(uint64_t) ips = { 0 };
 *	if (vec_push(&ips, ip) < 0) ...          -SP_ENOMEM, message worded
 *	vec_fini(&ips);
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define VEC(type)              \
	struct {               \
		type *v;       \
		size_t n, cap; \
	}

/* Make room for n elements of size bytes: 0 or -SP_ENOMEM, the array untouched. */
int vec_reserve_raw(void **v, size_t *cap, size_t n, size_t size);

#define vec_reserve(vec, want) vec_reserve_raw((void **)&(vec)->v, &(vec)->cap, (want), sizeof(*(vec)->v))

#define vec_push(vec, ...) \
	(vec_reserve((vec), (vec)->n + 1) < 0 ? -SP_ENOMEM : ((vec)->v[(vec)->n++] = (__VA_ARGS__), 0))

/* The same for who can do nothing without: the program ends where there is no memory (mem.h). */
void vec_room_raw(void **v, size_t *cap, size_t n, size_t size);

#define vec_room(vec, want) vec_room_raw((void **)&(vec)->v, &(vec)->cap, (want), sizeof(*(vec)->v))
#define vec_add(vec, ...)   (vec_room((vec), (vec)->n + 1), (void)((vec)->v[(vec)->n++] = (__VA_ARGS__)))

#define vec_fini(vec)                      \
	do {                               \
		free((vec)->v);            \
		(vec)->v = NULL;           \
		(vec)->n = (vec)->cap = 0; \
	} while (0)

#include "profiler/base/err.h"

#endif
