/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A program from outside, by its description file. */
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "profiler/base/err.h"
#include "report/lift/descr.h"
#include "report/lift/give.h"
#include "report/lift/proc.h"
#include "report/lift/tool.h"

enum { MAX_FILE_BYTES = 1 << 16 };

struct external {
	struct descr d;
	const char *cpu; /* the program's name of the core; "" where the description has none */
};

static int read_file(const char *path, char *text, size_t *n)
{
	FILE *f = fopen(path, "re");
	int bad;

	if (!f)
		return sp_fail_errno("%s", path);
	*n = fread(text, 1, MAX_FILE_BYTES, f);
	bad = ferror(f);
	fclose(f);
	if (bad)
		return sp_fail_errno("%s", path);
	return *n < MAX_FILE_BYTES ? 0
	                           : sp_fail(SP_EFORMAT, "%s: too long for a description of a tool", path);
}

static uint32_t hash(const char *text, size_t n)
{
	uint32_t h = 0x811c9dc5u;

	for (size_t i = 0; i < n; i++)
		h = (h ^ (unsigned char)text[i]) * 0x01000193u;
	return h;
}

/* The program can be run, for this code. */
static int check(const struct tool *t, struct external *x)
{
	enum insn_isa isa = t->target->isa;
	char path[PATH_MAX];

	if ((x->d.isa[ISA_X86_64] || x->d.isa[ISA_AARCH64]) && !x->d.isa[isa])
		return sp_fail(SP_ENOTSUP, "%s: not for this instruction set", t->name);
	if (proc_find(x->d.run.v.v[0], path, sizeof(path)) < 0)
		return sp_fail(SP_ENOTSUP, "%s: there is no program '%s'", t->name, x->d.run.v.v[0]);
	x->cpu = "";
	for (size_t i = 0; i < x->d.cpus.n; i++) {
		if (strcmp(x->d.cpus.v[i].llvm, t->target->cpu) == 0) {
			x->cpu = x->d.cpus.v[i].theirs;
			return 0;
		}
	}
	return x->d.cpus.n ? sp_fail(SP_ENOTSUP, "%s: it has no core like '%s'", t->name, t->target->cpu) : 0;
}

/* Its first line of output. */
static int ask_version(const struct external *x, char *out, size_t size)
{
	struct give g = { .cpu = x->cpu };
	struct proc_result r;
	const char *text;
	int err;

	snprintf(out, size, "?");
	if (!x->d.version.v.n)
		return 0;
	err = give_run(&x->d.version, &g, &r);
	if (err < 0)
		return err;
	text = *r.out ? r.out : r.err;
	snprintf(out, size, "%.*s", (int)strcspn(text, "\n"), text);
	proc_fini(&r);
	return 0;
}

static int set_up(struct tool *t, struct external *x, char *text)
{
	char version[48];
	size_t n = 0;
	int err = read_file(t->path, text, &n);

	if (err == 0)
		err = descr_parse(t->path, text, n, &x->d);
	if (err == 0)
		err = check(t, x);
	if (err == 0)
		err = ask_version(x, version, sizeof(version));
	if (err == 0)
		snprintf(t->version, sizeof(t->version), "%s %.24s %08x", version, x->cpu, hash(text, n));
	return err;
}

static void external_close(struct tool *t)
{
	struct external *x = t->state;

	descr_fini(&x->d);
	free(x);
}

static int external_open(struct tool *t)
{
	struct external *x = calloc(1, sizeof(*x));
	char *text = malloc(MAX_FILE_BYTES);
	int err = x && text ? 0 : sp_fail(SP_ENOMEM, "out of memory");

	if (x)
		t->state = x;
	if (err == 0)
		err = set_up(t, x, text);
	free(text);
	if (err < 0 && x)
		external_close(t);
	return err;
}

static void take(const struct external *x, const char *name, const struct proc_result *r,
                 struct tool_prediction *out)
{
	const char *why;
	size_t n;

	if (r->status == PROC_TIMED_OUT)
		tool_failed(out, "%s: no answer in %d seconds", name, PROC_SECONDS);
	else if (r->status)
		tool_failed(out, "%s: exit status %d: %.*s", name, r->status, (int)strcspn(r->err, "\n"),
		            r->err);
	else if (descr_take(&x->d, r->out, &out->cyc, &why, &n) < 0)
		tool_failed(out, "%s: %.*s", name, (int)n, why);
}

static void external_predict(const struct tool *t, const struct tool_block *b, struct tool_prediction *out)
{
	const struct external *x = t->state;
	struct give g = { .cpu = x->cpu };
	struct proc_result r;

	if (give_block(&x->d, b, &g) < 0 || give_run(&x->d.run, &g, &r) < 0) {
		tool_failed(out, "%s: %s", t->name, sp_error_text());
	} else {
		take(x, t->name, &r, out);
		proc_fini(&r);
	}
	give_fini(&g);
}

const struct tool_ops tool_external = {
	.name = "external",
	.summary = "a program that a file describes",
	.open = external_open,
	.close = external_close,
	.predict = external_predict,
};
