/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/base/vec.h"

#include <stdint.h>

int vec_reserve_raw(void **v, size_t *cap, size_t n, size_t size)
{
	size_t want = *cap ? *cap : 8;
	void *grown;

	if (n <= *cap)
		return 0;
	/* PTRDIFF_MAX bounds any object; below it the growth can't wrap. */
	if (n > PTRDIFF_MAX / size)
		return sp_fail(SP_ENOMEM, "an array of %zu elements is too large", n);
	while (want < n)
		want += want / 2 + 1;
	if (want > PTRDIFF_MAX / size)
		want = n;
	grown = realloc(*v, want * size);
	if (!grown)
		return sp_fail(SP_ENOMEM, "out of memory for %zu bytes", want * size);
	*v = grown;
	*cap = want;
	return 0;
}
