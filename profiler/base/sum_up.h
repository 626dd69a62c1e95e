/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_BASE_SUM_UP_H
#define SKIDPROF_BASE_SUM_UP_H

#include <stddef.h>

/* Sort n elements, and add up those that compare as the same: add(to, from).  Returns how many are left, at the beginning. */
size_t sum_up(void *v, size_t n, size_t size, int (*compare)(const void *, const void *),
              void (*add)(void *to, const void *from));

#endif
