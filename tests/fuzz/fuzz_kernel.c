/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The kernel's functions from any list of symbols. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "profiler/binary/module.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char root[] = "/tmp/fuzz_kernel.XXXXXX";

static void leave(void)
{
	char path[80];

	snprintf(path, sizeof(path), "%s/proc/kallsyms", root);
	unlink(path);
	snprintf(path, sizeof(path), "%s/proc", root);
	rmdir(path);
	rmdir(root);
}

static void write_list(const uint8_t *data, size_t size)
{
	static bool there;
	char path[80];
	FILE *f;

	if (!there) {
		if (!mkdtemp(root))
			abort();
		there = true;
		atexit(leave);
		snprintf(path, sizeof(path), "%s/proc", root);
		if (mkdir(path, 0700) < 0)
			abort();
	}
	snprintf(path, sizeof(path), "%s/proc/kallsyms", root);
	f = fopen(path, "w");
	if (!f || fwrite(data, 1, size, f) != size || fclose(f) != 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct module_options opts = { .symfs = root, .kernel_text = 0xffffffff81000000 };
	struct module *m;
	size_t n;

	write_list(data, size);
	if (module_open("[kernel.kallsyms]", NULL, 0, &opts, &m) < 0)
		return 0;
	n = module_n_funcs(m);
	for (size_t i = 0; i < n; i++) {
		const struct module_func *f = module_func(m, i), *before = i ? module_func(m, i - 1) : NULL;

		if (!*f->name || (before && before->vaddr + before->size_bytes > f->vaddr) ||
		    module_func_at(m, f->vaddr) != (long)i)
			abort();
	}
	module_free(m);
	return 0;
}
