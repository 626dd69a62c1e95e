/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A plugin of QEMU that prints what its own hotblocks does, for tests: Debian
 * packages none.  Blocks are kept by address; all of them are printed, or the
 * number of the argument limit=N.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/sim/qemu_plugin_api.h"

#define EXPORT __attribute__((visibility("default")))

extern EXPORT int qemu_plugin_version;
EXPORT int qemu_plugin_version = QEMU_PLUGIN_VERSION;
EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv);
/* Text for -d plugin, as the plugin interface has it. */
void qemu_plugin_outs(const char *text);

static struct block {
	uint64_t pc, n;
	size_t n_insns;
	int translated;
} blocks[1 << 16];
static size_t n_blocks, limit = SIZE_MAX;

static void translate(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	uint64_t pc = qemu_plugin_tb_vaddr(tb);
	size_t n_insns = qemu_plugin_tb_n_insns(tb), i = 0;

	(void)id;
	while (i < n_blocks && (blocks[i].pc != pc || blocks[i].n_insns != n_insns))
		i++;
	if (i == sizeof(blocks) / sizeof(blocks[0]))
		return;
	if (i == n_blocks)
		blocks[n_blocks++] = (struct block){ .pc = pc, .n_insns = n_insns };
	blocks[i].translated++;
	qemu_plugin_register_vcpu_tb_exec_inline(tb, QEMU_PLUGIN_INLINE_ADD_U64, &blocks[i].n, 1);
}

static int by_count(const void *a, const void *b)
{
	const struct block *x = a, *y = b;

	return (x->n < y->n) - (x->n > y->n);
}

static void print(qemu_plugin_id_t id, void *user)
{
	char line[128];

	(void)id;
	(void)user;
	qsort(blocks, n_blocks, sizeof(blocks[0]), by_count);
	snprintf(line, sizeof(line), "collected %zu entries in the hash table\npc, tcount, icount, ecount\n",
	         n_blocks);
	qemu_plugin_outs(line);
	for (size_t i = 0; i < n_blocks && i < limit; i++) {
		snprintf(line, sizeof(line), "0x%016" PRIx64 ", %d, %zu, %" PRIu64 "\n", blocks[i].pc,
		         blocks[i].translated, blocks[i].n_insns, blocks[i].n);
		qemu_plugin_outs(line);
	}
}

int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv)
{
	(void)info;
	for (int i = 0; i < argc; i++)
		if (strncmp(argv[i], "limit=", 6) == 0)
			limit = strtoul(argv[i] + 6, NULL, 10);
	qemu_plugin_register_vcpu_tb_trans_cb(id, translate);
	qemu_plugin_register_atexit_cb(id, print, NULL);
	return 0;
}
