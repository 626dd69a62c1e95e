/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "correct/binary/module_impl.h"

#include <stdlib.h>

struct debug *debug_get(struct module *m)
{
	return m->debug;
}

void debug_free(struct debug *d)
{
	free(d);
}

bool module_has_debug(struct module *m)
{
	return debug_get(m) != NULL;
}

void module_line(struct module *m, uint64_t vaddr, const char **file, unsigned *line)
{
	(void)m;
	(void)vaddr;
	*file = NULL;
	*line = 0;
}

size_t module_scopes(struct module *m, uint64_t vaddr, struct module_scope *scopes)
{
	long func = module_func_at(m, vaddr);

	if (func < 0)
		return 0;
	scopes[0] = (struct module_scope){ .id = (uint32_t)func,
		                           .name = module_func(m, (size_t)func)->name,
		                           .linkage = module_func(m, (size_t)func)->linkage };
	return 1;
}

uint32_t module_n_scopes(const struct module *m)
{
	return (uint32_t)m->funcs.n;
}
