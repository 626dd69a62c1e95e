/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The one table of tools. */
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/base/cmd.h"
#include "profiler/base/err.h"
#include "profiler/base/log.h"
#include "profiler/base/path.h"
#include "profiler/base/vec.h"
#include "report/lift/tool.h"

static const struct tool_ops *const own[] = { &tool_mca, &tool_native, &tool_native_splits, &tool_sim,
	                                      &tool_sim_run };

/* Description files that come with skidprof. */
static const char *const shipped[] = { "osaca", "uica", "iaca", "ithemal" };

enum { N_OWN = sizeof(own) / sizeof(own[0]), N_SHIPPED = sizeof(shipped) / sizeof(shipped[0]) };

void tool_failed(struct tool_prediction *out, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(out->why, sizeof(out->why), fmt, ap);
	va_end(ap);
	out->cyc = NAN;
}

static int open_one(const struct tool_ops *ops, const char *name, const char *path, struct tool *t)
{
	int err;

	t->ops = ops;
	t->path = NULL;
	snprintf(t->name, sizeof(t->name), "%s", name);
	if (path) {
		t->path = strdup(path);
		if (!t->path)
			return sp_fail(SP_ENOMEM, "out of memory");
	}
	err = ops->open(t);
	if (err < 0)
		free((char *)t->path);
	return err;
}

static int unknown_tool(const char *name)
{
	const char *words[N_OWN + N_SHIPPED + 1], *near;

	for (size_t i = 0; i < N_OWN; i++)
		words[i] = own[i]->name;
	for (size_t i = 0; i < N_SHIPPED; i++)
		words[N_OWN + i] = shipped[i];
	words[N_OWN + N_SHIPPED] = NULL;
	near = cmd_suggest(name, words);
	return sp_fail(SP_EUSAGE,
	               "--tool: there is no '%s'%s%s%s; a description file of your own is named by a path "
	               "with a '/'",
	               name, near ? ", did you mean '" : "", near ? near : "", near ? "'?" : "");
}

static int open_shipped(const char *name, struct tool *t)
{
	char file[64], path[PATH_MAX];
	int err;

	snprintf(file, sizeof(file), "tools/%s.tool", name);
	err = path_find(file, path, sizeof(path));
	return err < 0 ? err : open_one(&tool_external, name, path, t);
}

/* "dir/mine.tool" -> "mine" */
static void base_name(const char *path, char out[TOOL_NAME_MAX])
{
	const char *slash = strrchr(path, '/');
	size_t n;

	path = slash ? slash + 1 : path;
	n = strcspn(path, ".");
	snprintf(out, TOOL_NAME_MAX, "%.*s", (int)(n < TOOL_NAME_MAX ? n : TOOL_NAME_MAX - 1), path);
}

static int open_named(const char *name, struct tool *t)
{
	char base[TOOL_NAME_MAX];

	if (strchr(name, '/')) {
		base_name(name, base);
		return open_one(&tool_external, base, name, t);
	}
	for (size_t i = 0; i < N_OWN; i++)
		if (strcmp(own[i]->name, name) == 0)
			return open_one(own[i], name, NULL, t);
	for (size_t i = 0; i < N_SHIPPED; i++)
		if (strcmp(shipped[i], name) == 0)
			return open_shipped(name, t);
	return unknown_tool(name);
}

static void close_one(struct tool *t)
{
	if (t->ops->close)
		t->ops->close(t);
	free((char *)t->path);
}

struct tool_list {
	VEC(struct tool) v;
};

static int add(struct tool_list *list, const char *name, const struct tool_target *target, bool asked_for)
{
	struct tool t = { .target = target };
	int err = open_named(name, &t);
	bool elsewhere = err == 0 && t.ops->by_machine && !target->this_machine;

	if (elsewhere && !asked_for) {
		sp_debug("%s: it measures this machine, and the code did not run here", name);
		close_one(&t);
		return 0;
	}
	if (elsewhere)
		sp_warn("%s: it measures this machine; the cycles it is held against are another's", name);
	if ((err == -SP_ENOTSUP || err == -SP_ENOENT) && !asked_for) {
		sp_debug("%s", sp_error_text());
		return 0;
	}
	return err < 0 ? err : vec_push(&list->v, t);
}

int tools_open(const char *const *names, size_t n, const struct tool_target *target, struct tool **out,
               size_t *n_out)
{
	struct tool_list list = { 0 };
	int err = 0;

	for (size_t i = 0; i < n && err == 0; i++)
		err = add(&list, names[i], target, true);
	for (size_t i = 0; !n && i < N_OWN && err == 0; i++)
		err = add(&list, own[i]->name, target, false);
	for (size_t i = 0; !n && i < N_SHIPPED && err == 0; i++)
		err = add(&list, shipped[i], target, false);
	if (err == 0 && !list.v.n)
		err = sp_fail(SP_ENOTSUP,
		              "no tool can work here: install llvm, or name one with --tool; -v tells "
		              "why each can't");
	if (err < 0) {
		tools_close(list.v.v, list.v.n);
		return err;
	}
	*out = list.v.v;
	*n_out = list.v.n;
	return 0;
}

void tools_close(struct tool *tools, size_t n)
{
	for (size_t i = 0; i < n; i++)
		close_one(&tools[i]);
	free(tools);
}
