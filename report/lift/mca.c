/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * llvm-mca: the block as LLVM's own disassembler prints it, run so many times
 * that start and end don't count.  The newest one installed.
 */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/base/err.h"
#include "report/lift/mca.h"
#include "report/lift/proc.h"
#include "report/lift/tool.h"

enum { NEWEST = 30, OLDEST = 11, ITERATIONS = 500 };

struct mca {
	char mca[PATH_MAX], mc[PATH_MAX];
	char triple[32], mc_triple[32], cpu[TOOL_NAME_MAX + 8], iterations[24];
};

/* What LLVM of before a core's time has nearest to it. */
static const char *const forebears[][2] = {
	{ "znver5", "znver4" },
	{ "znver4", "znver3" },
	{ "znver3", "znver2" },
	{ "znver2", "znver1" },
	{ "cortex-a78", "cortex-a76" },
	{ "cortex-a76", "cortex-a57" },
	{ "neoverse-n2", "cortex-a57" },
	{ "neoverse-n1", "cortex-a57" },
	{ "neoverse-v1", "neoverse-n1" },
	{ "sapphirerapids", "icelake-server" },
	{ "icelake-server", "skylake-avx512" },
	{ "alderlake", "icelake-client" },
	{ "rocketlake", "icelake-client" },
	{ "tigerlake", "icelake-client" },
	{ "icelake-client", "skylake" },
	{ "skylake-avx512", "skylake" },
};

static const char *forebear(const char *cpu)
{
	for (size_t i = 0; i < sizeof(forebears) / sizeof(forebears[0]); i++)
		if (strcmp(forebears[i][0], cpu) == 0)
			return forebears[i][1];
	return NULL;
}

/* Both programs of one version. */
static int find(struct mca *m, char version[8])
{
	char name[2][24];

	for (int v = NEWEST; v >= OLDEST - 1; v--) {
		version[0] = '\0';
		if (v >= OLDEST)
			snprintf(version, 8, "%d", v);
		snprintf(name[0], sizeof(name[0]), "llvm-mca%s%s", *version ? "-" : "", version);
		snprintf(name[1], sizeof(name[1]), "llvm-mc%s%s", *version ? "-" : "", version);
		if (proc_find(name[0], m->mca, sizeof(m->mca)) == 0 &&
		    proc_find(name[1], m->mc, sizeof(m->mc)) == 0)
			return 0;
	}
	return sp_fail(SP_ENOTSUP, "llvm-mca: not installed, or without llvm-mc; install the package llvm");
}

/* LLVM says of a core it does not know that it ignores it, and goes on: with what, nobody knows. */
static int knows_cpu(const struct mca *m, const char *cpu)
{
	char flag[TOOL_NAME_MAX + 8];
	char *argv[] = { (char *)m->mca, (char *)m->triple, flag, (char *)"-iterations=1", NULL };
	struct proc_result r;
	int known, err;

	snprintf(flag, sizeof(flag), "-mcpu=%s", cpu);
	err = proc_run(argv, "nop\n", &r);
	if (err < 0)
		return err;
	known = r.status == 0 && !strstr(r.err, "not a recognized") && !strstr(r.err, "invalid");
	proc_fini(&r);
	return known;
}

static int choose_cpu(struct mca *m, const char *wanted, char cpu[TOOL_NAME_MAX])
{
	for (const char *c = *wanted ? wanted : NULL; c; c = forebear(c)) {
		int known = knows_cpu(m, c);

		if (known < 0)
			return known;
		if (known) {
			snprintf(cpu, TOOL_NAME_MAX, "%s", c);
			snprintf(m->cpu, sizeof(m->cpu), "-mcpu=%s", c);
			return 0;
		}
	}
	return sp_fail(SP_ENOTSUP, "llvm-mca: it knows no core like '%s'; --cpu NAME names one it has",
	               *wanted ? wanted : "unknown");
}

static int mca_open(struct tool *t)
{
	struct mca *m = calloc(1, sizeof(*m));
	const char *arch = t->target->isa == ISA_AARCH64 ? "aarch64" : "x86_64";
	char version[8], cpu[TOOL_NAME_MAX];
	int err;

	if (!m)
		return sp_fail(SP_ENOMEM, "out of memory");
	snprintf(m->triple, sizeof(m->triple), "-mtriple=%s", arch);
	snprintf(m->mc_triple, sizeof(m->mc_triple), "-triple=%s", arch);
	snprintf(m->iterations, sizeof(m->iterations), "-iterations=%d", ITERATIONS);
	err = find(m, version);
	if (err == 0)
		err = choose_cpu(m, t->target->cpu, cpu);
	if (err < 0) {
		free(m);
		return err;
	}
	snprintf(t->version, sizeof(t->version), "%s %.48s", *version ? version : "default", cpu);
	t->state = m;
	return 0;
}

static void mca_close(struct tool *t)
{
	free(t->state);
}

/* The first line of a program's complaints. */
static void complain(const char *program, const struct proc_result *r, struct tool_prediction *out)
{
	const char *line = strstr(r->err, "error: ");

	line = line ? line + strlen("error: ") : r->err;
	if (r->status == PROC_TIMED_OUT)
		tool_failed(out, "%s: no answer in %d seconds", program, PROC_SECONDS);
	else
		tool_failed(out, "%s: exit status %d: %.*s", program, r->status, (int)strcspn(line, "\n"),
		            line);
}

/* "0x48 0x01 0xd8": what llvm-mc reads. */
static char *hex_words(const struct tool_block *b)
{
	char *text = malloc(5 * b->n_bytes + 2);

	if (!text)
		return NULL;
	for (size_t i = 0; i < b->n_bytes; i++)
		snprintf(text + 5 * i, 6, "0x%02x ", b->bytes[i]);
	strcpy(text + 5 * b->n_bytes, "\n");
	return text;
}

int mca_parse(const char *text, double *cyc)
{
	static const char iterations[] = "Iterations:", cycles[] = "Total Cycles:";
	const char *i = strstr(text, iterations), *c = i ? strstr(i, cycles) : NULL;
	char *end;
	double n, total;

	if (!c)
		return -SP_EFORMAT;
	n = strtod(i + strlen(iterations), &end);
	total = strtod(c + strlen(cycles), &end);
	if (!(n >= 1) || !(total > 0) || !isfinite(n) || !isfinite(total))
		return -SP_EFORMAT;
	*cyc = total / n;
	return 0;
}

static int disassemble(const struct mca *m, const struct tool_block *b, struct proc_result *r)
{
	char *argv[] = { (char *)m->mc, (char *)"--disassemble", (char *)m->mc_triple, (char *)"-mattr=+all",
		         NULL };
	char *hex = hex_words(b);
	int err = hex ? 0 : -SP_ENOMEM;

	if (b->isa != ISA_AARCH64)
		argv[3] = NULL;
	if (err == 0)
		err = proc_run(argv, hex, r);
	free(hex);
	return err;
}

static void mca_predict(const struct tool *t, const struct tool_block *b, struct tool_prediction *out)
{
	const struct mca *m = t->state;
	char *argv[] = { (char *)m->mca,
		         (char *)m->triple,
		         (char *)m->cpu,
		         (char *)m->iterations,
		         (char *)"--instruction-info=0",
		         (char *)"--resource-pressure=0",
		         NULL };
	struct proc_result code = { 0 }, r = { 0 };

	if (disassemble(m, b, &code) < 0) {
		tool_failed(out, "llvm-mc: %s", sp_error_text());
	} else if (code.status || strstr(code.err, "invalid instruction encoding")) {
		complain("llvm-mc", &code, out);
		if (strstr(code.err, "invalid instruction encoding"))
			tool_failed(out, "llvm-mc: it can't decode this block");
	} else if (proc_run(argv, code.out, &r) < 0) {
		tool_failed(out, "llvm-mca: %s", sp_error_text());
	} else if (r.status) {
		complain("llvm-mca", &r, out);
	} else if (mca_parse(r.out, &out->cyc) < 0) {
		tool_failed(out, "llvm-mca: its output has no 'Total Cycles'");
	}
	proc_fini(&code);
	proc_fini(&r);
}

const struct tool_ops tool_mca = {
	.name = "llvm-mca",
	.summary = "LLVM's machine code analyzer",
	.open = mca_open,
	.close = mca_close,
	.predict = mca_predict,
};
