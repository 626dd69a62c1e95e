/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What core the code ran on, under LLVM's name: the recording's, else this machine's. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/base/err.h"
#include "profiler/base/log.h"
#include "profiler/binary/module.h"
#include "report/lift/lift.h"

/* Our simulated cores. */
static const char *const simulated[][2] = {
	{ "zen5", "znver5" },
	{ "skylake", "skylake" },
	{ "cortex-a76", "cortex-a76" },
};

/* Families and models as CPUID has them: the first row that fits. */
static const struct {
	const char *vendor;
	int family, model_lo, model_hi;
	const char *name;
} cpus[] = {
	{ "AuthenticAMD", 0x1a, 0, 255, "znver5" },
	{ "AuthenticAMD", 0x19, 0x10, 0x1f, "znver4" },
	{ "AuthenticAMD", 0x19, 0x60, 0xaf, "znver4" },
	{ "AuthenticAMD", 0x19, 0, 255, "znver3" },
	{ "AuthenticAMD", 0x17, 0x30, 255, "znver2" },
	{ "AuthenticAMD", 0x17, 0, 0x2f, "znver1" },
	{ "GenuineIntel", 6, 0xcf, 0xcf, "sapphirerapids" }, /* Emerald Rapids */
	{ "GenuineIntel", 6, 0x8f, 0x8f, "sapphirerapids" },
	{ "GenuineIntel", 6, 0xb7, 0xbf, "alderlake" }, /* Raptor Lake */
	{ "GenuineIntel", 6, 0x97, 0x9a, "alderlake" },
	{ "GenuineIntel", 6, 0xa7, 0xa7, "rocketlake" },
	{ "GenuineIntel", 6, 0xa5, 0xa6, "skylake" }, /* Comet Lake */
	{ "GenuineIntel", 6, 0x8c, 0x8d, "tigerlake" },
	{ "GenuineIntel", 6, 0x6a, 0x6c, "icelake-server" },
	{ "GenuineIntel", 6, 0x7d, 0x7e, "icelake-client" },
	{ "GenuineIntel", 6, 0x55, 0x55, "skylake-avx512" },
	{ "GenuineIntel", 6, 0x8e, 0x9e, "skylake" }, /* Kaby Lake, Coffee Lake */
	{ "GenuineIntel", 6, 0x4e, 0x5e, "skylake" },
	{ "GenuineIntel", 6, 0x3d, 0x4f, "broadwell" },
	{ "GenuineIntel", 6, 0x3c, 0x46, "haswell" },
	{ "0x41", 8, 0xd0b, 0xd0b, "cortex-a76" },
	{ "0x41", 8, 0xd0c, 0xd0c, "neoverse-n1" },
	{ "0x41", 8, 0xd49, 0xd49, "neoverse-n2" },
	{ "0x41", 8, 0xd40, 0xd40, "neoverse-v1" },
};

struct cpuinfo {
	char vendor[32], name[128];
	int family, model;
};

/* The value of "key : value", NULL for another key. */
static const char *value_of(const char *line, const char *key)
{
	size_t n = strlen(key);

	if (strncmp(line, key, n) != 0 || !strchr(" \t:", line[n]))
		return NULL;
	line = strchr(line, ':');
	return line ? line + 1 + strspn(line + 1, " \t") : NULL;
}

static void parse_line(const char *line, struct cpuinfo *c)
{
	const char *v;

	if ((v = value_of(line, "vendor_id")) || (v = value_of(line, "CPU implementer")))
		snprintf(c->vendor, sizeof(c->vendor), "%.31s", v);
	else if ((v = value_of(line, "cpu family")) || (v = value_of(line, "CPU architecture")))
		c->family = (int)strtol(v, NULL, 0);
	else if ((v = value_of(line, "model name")))
		snprintf(c->name, sizeof(c->name), "%.127s", v);
	else if ((v = value_of(line, "model")) || (v = value_of(line, "CPU part")))
		c->model = (int)strtol(v, NULL, 0);
}

static void read_cpuinfo(struct cpuinfo *c)
{
	FILE *f = fopen("/proc/cpuinfo", "re");
	char line[512];

	*c = (struct cpuinfo){ 0 };
	/* The first processor: a blank line ends it. */
	while (f && fgets(line, sizeof(line), f) && line[0] != '\n') {
		line[strcspn(line, "\n")] = '\0';
		parse_line(line, c);
	}
	if (f)
		fclose(f);
}

static const char *name_of(const struct cpuinfo *c)
{
	for (size_t i = 0; i < sizeof(cpus) / sizeof(cpus[0]); i++)
		if (strcmp(cpus[i].vendor, c->vendor) == 0 && cpus[i].family == c->family &&
		    c->model >= cpus[i].model_lo && c->model <= cpus[i].model_hi)
			return cpus[i].name;
	return "";
}

static const char *simulated_core(const char *cpudesc)
{
	static const char prefix[] = "simulated core ";

	if (strncmp(cpudesc, prefix, strlen(prefix)) != 0)
		return "";
	cpudesc += strlen(prefix);
	for (size_t i = 0; i < sizeof(simulated) / sizeof(simulated[0]); i++) {
		size_t n = strlen(simulated[i][0]);

		if (strncmp(cpudesc, simulated[i][0], n) == 0 && (cpudesc[n] == ' ' || !cpudesc[n]))
			return simulated[i][1];
	}
	return "";
}

int lift_find_target(const struct lift_opts *o, struct lift *l)
{
	const struct profile *p = l->profile;
	bool recorded = p && !o->measure; /* its cycles are what predictions are held against */
	struct cpuinfo here;

	read_cpuinfo(&here);
	l->target.isa = module_isa(l->modules[l->kernels[0].module]);
	l->target.this_machine = !recorded || strcmp(p->meta.cpudesc, here.name) == 0;
	if (o->cpu)
		snprintf(l->cpu, sizeof(l->cpu), "%s", o->cpu);
	else
		snprintf(l->cpu, sizeof(l->cpu), "%s",
		         l->target.this_machine ? name_of(&here) : simulated_core(p->meta.cpudesc));
	l->target.cpu = l->cpu;
	l->target.core = o->core;
	snprintf(l->cpudesc, sizeof(l->cpudesc), "%s", recorded ? p->meta.cpudesc : here.name);
	for (size_t k = 0; k < l->n_kernels; k++)
		if (module_isa(l->modules[l->kernels[k].module]) != l->target.isa)
			return sp_fail(SP_ENOTSUP,
			               "kernels of two instruction sets: choose some with --kernel");
	return 0;
}
