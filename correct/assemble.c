/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The last step of a correction: what was worked out becomes a profile. */
#include <stdlib.h>

#include "correct/assemble_impl.h"
#include "profiler/base/err.h"

int assemble(const struct work *w, struct profile **out)
{
	struct assembly a = { .w = w, .p = calloc(1, sizeof(struct profile)) };
	int err = a.p ? func_index_new(a.p, &a.funcs) : sp_fail(SP_ENOMEM, "out of memory");

	if (err == 0)
		err = assemble_meta(&a);
	if (err == 0)
		err = assemble_insns(&a);
	if (err == 0)
		err = assemble_regions(&a);
	if (err == 0)
		err = assemble_funcs(&a);
	func_index_free(a.funcs);
	if (err < 0) {
		profile_free(a.p);
		return err;
	}
	*out = a.p;
	return 0;
}
