/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Separate debug files, by libdwfl: build id, .gnu_debuglink (with its
 * checksum), dwz's alternate files, the compressed symbols of
 * .gnu_debugdata, and a debuginfod server where the user set one up.
 */
#include "profiler/binary/module_impl.h"

#include "profiler/base/mem.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What libdwfl calls back with: its standard search, but for the server when that isn't wanted. */
static int find_debuginfo(Dwfl_Module *module, void **user, const char *name, Dwarf_Addr base,
                          const char *file, const char *link, GElf_Word crc, char **found)
{
	const struct module *m = *user;
	const char *urls = m && m->opts.no_debuginfod ? getenv("DEBUGINFOD_URLS") : NULL;
	char *kept = urls ? mem_strdup(urls) : NULL;
	int fd;

	/* libdwfl has no switch for its server search but this variable. */
	if (kept)
		unsetenv("DEBUGINFOD_URLS");
	fd = dwfl_standard_find_debuginfo(module, user, name, base, file, link, crc, found);
	if (kept)
		setenv("DEBUGINFOD_URLS", kept, 1);
	free(kept);
	return fd;
}

/* libdwfl's search path; a directory of its own is searched for build ids below it, too. */
static char *search_path(const struct module *m)
{
	static const char system_path[] = ":.debug:/usr/lib/debug";

	if (!m->opts.debug_dir)
		return mem_strdup(system_path);
	return mem_printf("%s:%s", system_path, m->opts.debug_dir);
}

static Dwfl_Module *report(struct module *m)
{
	Dwfl_Module *module = NULL;
	void **user;
	int fd = dup(m->fd);

	if (fd < 0)
		return NULL;
	dwfl_report_begin(m->dwfl);
	module = dwfl_report_offline(m->dwfl, m->opened, m->opened, fd);
	if (!module)
		close(fd);
	else if (!dwfl_module_info(module, &user, NULL, NULL, NULL, NULL, NULL, NULL))
		module = NULL;
	else
		*user = m;
	dwfl_report_end(m->dwfl, NULL, NULL);
	return module;
}

void debuglink_begin(struct module *m)
{
	m->debug_path = search_path(m);
	m->callbacks = (Dwfl_Callbacks){ .find_elf = dwfl_build_id_find_elf,
		                         .find_debuginfo = find_debuginfo,
		                         .section_address = dwfl_offline_section_address,
		                         .debuginfo_path = &m->debug_path };
	m->dwfl = mem_have(dwfl_begin(&m->callbacks));
	m->dwfl_module = report(m);
}

void debuglink_end(struct module *m)
{
	if (m->dwfl)
		dwfl_end(m->dwfl);
	m->dwfl = NULL;
	m->dwfl_module = NULL;
	free(m->debug_path);
	m->debug_path = NULL;
}
