/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/base/err.h"
#include "report/lift/tool.h"
static int external_open(struct tool *t)
{
	return sp_fail(SP_ENOTSUP, "%s: description files can't be followed yet", t->name);
}
const struct tool_ops tool_external = { .name = "external",
	                                .summary = "a program described by a file",
	                                .open = external_open };
