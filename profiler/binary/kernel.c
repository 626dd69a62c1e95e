/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The kernel's functions, by the list of its symbols (/proc/kallsyms): names without code.  The list has to be that of the
 * kernel that was recorded, and of the same boot, for a kernel is at another address each time.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/base/err.h"
#include "profiler/base/mem.h"
#include "profiler/base/order.h"
#include "profiler/binary/module_impl.h"
#include "profiler/perfdata/build_id_cache.h"

enum {
	MAX_GAP = 1 << 20
}; /* a function is no longer: what follows the last one before a hole is not its own */

bool kernel_is_name(const char *path)
{
	return strcmp(path, "[kernel.kallsyms]") == 0;
}

/* Recorders write zeros where they could not read one. */
static bool is_id(const uint8_t *id, size_t id_bytes)
{
	for (size_t i = 0; i < id_bytes; i++)
		if (id[i])
			return true;
	return false;
}

/* The running kernel's list, if it is the one that was recorded, or perf's copy of that one's. */
static void find_list(const struct module *m, const uint8_t *id, size_t id_bytes, char **out)
{
	uint8_t here[PD_BUILD_ID_MAX];
	size_t n = pd_kernel_build_id(here);
	bool any = is_id(id, id_bytes);

	*out = NULL;
	if (m->opts.symfs) {
		*out = mem_printf("%s/proc/kallsyms", m->opts.symfs);
	} else if (any && n && id_bytes >= n && memcmp(id, here, n) == 0) {
		*out = mem_strdup("/proc/kallsyms");
	} else if (any) {
		*out = build_id_cache_kallsyms(id, id_bytes);
		if (!*out)
			return;
	} else {
		return;
	}
}

/* "ffffffff81000000 T _text", and "\t[module]" behind that of a module. */
static void add_line(struct module *m, char *line, uint64_t *text)
{
	char *end, *name;
	uint64_t vaddr = strtoull(line, &end, 16);
	const char *kept;

	if (end == line || *end != ' ' || !end[1] || end[2] != ' ')
		return;
	name = end + 3;
	name[strcspn(name, "\t\n ")] = '\0';
	if (strcmp(name, m->opts.kernel_symbol ? m->opts.kernel_symbol : "_text") == 0)
		*text = vaddr;
	/* So near the end there is no room for a function: a damaged list. */
	if (!*name || !strchr("tTwW", end[1]) || !vaddr || vaddr > UINT64_MAX - MAX_GAP)
		return;
	kept = texts_add(&m->pool, name, strlen(name));
	vec_add(&m->funcs, (struct module_func){ vaddr, 0, kept, kept, false, false });
}

static int read_list(struct module *m, FILE *f, uint64_t *text)
{
	char *line = NULL;
	size_t size = 0;
	int err = 0;

	while (getline(&line, &size, f) >= 0)
		add_line(m, line, text);
	if (ferror(f))
		err = sp_fail_errno("%s", m->opened);
	free(line);
	return err;
}

/* Sizes reach to the next function; of several names at one address the first stays. */
static void set_sizes(struct module *m)
{
	size_t k = 0;

	if (m->funcs.n)
		qsort(m->funcs.v, m->funcs.n, sizeof(*m->funcs.v), order_u64);
	for (size_t i = 0; i < m->funcs.n; i++)
		if (!k || m->funcs.v[k - 1].vaddr != m->funcs.v[i].vaddr)
			m->funcs.v[k++] = m->funcs.v[i];
	m->funcs.n = k;
	for (size_t i = 0; i < k; i++) {
		uint64_t size = i + 1 < k ? m->funcs.v[i + 1].vaddr - m->funcs.v[i].vaddr : MAX_GAP;

		m->funcs.v[i].size_bytes = size < MAX_GAP ? size : MAX_GAP;
	}
}

static int without_names(struct module *m, const char *why)
{
	m->funcs.n = 0;
	return module_unusable(m, MODULE_MISSING, "%s: %s", m->path, why);
}

static int load_list(struct module *m, FILE *f)
{
	uint64_t text = 0;
	char why[300];
	int err = read_list(m, f, &text);

	if (err < 0)
		return err;
	if (!m->funcs.n)
		return without_names(m, "the kernel hides its symbols' addresses: report as root, or set "
		                        "kernel.kptr_restrict to 0 and kernel.perf_event_paranoid to 1");
	if (!m->opts.kernel_text)
		return without_names(
		        m, "the recording does not say where the kernel was: its functions have no names");
	if (text != m->opts.kernel_text) {
		snprintf(why, sizeof(why),
		         "the kernel was at 0x%" PRIx64 " and is at 0x%" PRIx64
		         " in %s, as after another boot: its functions have no names",
		         m->opts.kernel_text, text, m->opened);
		return without_names(m, why);
	}
	set_sizes(m);
	symbols_index(m);
	return module_unusable(m, MODULE_NAMED,
	                       "%s: names of functions from %s, and not their code: its counts are raw",
	                       m->path, m->opened);
}

int kernel_load_names(struct module *m, const uint8_t *id, size_t id_bytes)
{
	int err;
	FILE *f;

	find_list(m, id, id_bytes, &m->opened);
	if (!m->opened && !is_id(id, id_bytes))
		return without_names(m,
		                     "the recording has no build id that tells which kernel it was, as a "
		                     "simulated one has none, nor what perf writes to a pipe (-o FILE has): "
		                     "its functions have no names");
	if (!m->opened)
		return without_names(m, "it is not the kernel that runs here, and perf's cache has not got "
		                        "its symbols: its functions "
		                        "have no names");
	f = fopen(m->opened, "re");
	if (!f)
		return module_unusable(m, MODULE_MISSING, "%s: %s: %s", m->path, m->opened, strerror(errno));
	err = load_list(m, f);
	fclose(f);
	return err;
}
