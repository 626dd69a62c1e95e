/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/pmu/event_code.h"

#include <ctype.h>
#include <dirent.h>
#include <limits.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "profiler/base/cmd.h"
#include "profiler/base/err.h"
#include "profiler/pmu/cpus.h"

#define CACHE(level, op, result)                                                    \
	(PERF_COUNT_HW_CACHE_##level | (uint64_t)PERF_COUNT_HW_CACHE_OP_##op << 8 | \
	 (uint64_t)PERF_COUNT_HW_CACHE_RESULT_##result << 16)

/* perf's names.  The first of several for one event is the one that is listed first. */
static const struct generic {
	const char *name;
	uint32_t type;
	uint64_t config;
} generics[] = {
	{ "instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS },
	{ "cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES },
	{ "cpu-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES },
	{ "branches", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS },
	{ "branch-instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS },
	{ "branch-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES },
	{ "cache-references", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES },
	{ "cache-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES },
	{ "bus-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BUS_CYCLES },
	{ "ref-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_REF_CPU_CYCLES },
	{ "stalled-cycles-frontend", PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_FRONTEND },
	{ "stalled-cycles-backend", PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_BACKEND },
	{ "L1-dcache-loads", PERF_TYPE_HW_CACHE, CACHE(L1D, READ, ACCESS) },
	{ "L1-dcache-load-misses", PERF_TYPE_HW_CACHE, CACHE(L1D, READ, MISS) },
	{ "L1-dcache-stores", PERF_TYPE_HW_CACHE, CACHE(L1D, WRITE, ACCESS) },
	{ "L1-icache-load-misses", PERF_TYPE_HW_CACHE, CACHE(L1I, READ, MISS) },
	{ "LLC-loads", PERF_TYPE_HW_CACHE, CACHE(LL, READ, ACCESS) },
	{ "LLC-load-misses", PERF_TYPE_HW_CACHE, CACHE(LL, READ, MISS) },
	{ "LLC-stores", PERF_TYPE_HW_CACHE, CACHE(LL, WRITE, ACCESS) },
	{ "dTLB-loads", PERF_TYPE_HW_CACHE, CACHE(DTLB, READ, ACCESS) },
	{ "dTLB-load-misses", PERF_TYPE_HW_CACHE, CACHE(DTLB, READ, MISS) },
	{ "dTLB-stores", PERF_TYPE_HW_CACHE, CACHE(DTLB, WRITE, ACCESS) },
	{ "iTLB-load-misses", PERF_TYPE_HW_CACHE, CACHE(ITLB, READ, MISS) },
	{ "cpu-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK },
	{ "task-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK },
	{ "page-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS },
	{ "faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS },
	{ "minor-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN },
	{ "major-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MAJ },
	{ "context-switches", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES },
	{ "cs", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES },
	{ "cpu-migrations", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS },
	{ "migrations", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS },
	{ "alignment-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_ALIGNMENT_FAULTS },
	{ "emulation-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_EMULATION_FAULTS },
};

enum { N_GENERICS = sizeof(generics) / sizeof(generics[0]) };

static bool read_line(const char *path, char *out, size_t size)
{
	FILE *f = fopen(path, "re");
	bool ok = f && fgets(out, (int)size, f);

	if (f)
		fclose(f);
	if (ok)
		out[strcspn(out, "\n")] = '\0';
	return ok;
}

static int by_type(const void *a, const void *b)
{
	const struct core_pmu *x = a, *y = b;

	return x->type < y->type ? -1 : x->type > y->type;
}

/* A PMU of cores that are not all alike says which are its own in a file "cpus"; uncore ones have a "cpumask". */
void core_pmus_find(const char *sysfs, struct core_pmus *out)
{
	char folder[PATH_MAX], path[PATH_MAX + 300], line[4096];
	struct dirent *d;
	DIR *dir;

	*out = (struct core_pmus){ .n = 0 };
	snprintf(folder, sizeof(folder), "%s/bus/event_source/devices", sysfs);
	dir = opendir(folder);
	while (dir && out->n < EVENT_PMUS_MAX && (d = readdir(dir))) {
		struct core_pmu *p = &out->v[out->n];

		if (d->d_name[0] == '.' || strlen(d->d_name) >= sizeof(p->name))
			continue;
		snprintf(path, sizeof(path), "%s/%s/cpus", folder, d->d_name);
		if (!read_line(path, line, sizeof(line)) || cpus_parse("", line, &p->cpus) < 0)
			continue;
		snprintf(path, sizeof(path), "%s/%s/type", folder, d->d_name);
		if (!read_line(path, line, sizeof(line)))
			continue;
		p->type = (uint32_t)strtoul(line, NULL, 10);
		strcpy(p->name, d->d_name);
		out->n++;
	}
	if (dir)
		closedir(dir);
	/* Arm's single kind of core has such a file, too. */
	if (out->n == 1)
		out->n = 0;
	qsort(out->v, out->n, sizeof(out->v[0]), by_type);
}

static const struct generic *find_generic(const char *name)
{
	for (size_t i = 0; i < N_GENERICS; i++)
		if (strcasecmp(generics[i].name, name) == 0)
			return &generics[i];
	return NULL;
}

/* "r01c2" */
static bool is_raw(const char *name, uint64_t *config)
{
	size_t n = strspn(name + (*name == 'r'), "0123456789abcdefABCDEF");

	if (name[0] != 'r' || n == 0 || n > 16 || name[1 + n])
		return false;
	*config = strtoull(name + 1, NULL, 16);
	return true;
}

static int unknown(const struct event_word *word)
{
	const char *names[N_GENERICS + 1] = { NULL }, *near;

	for (size_t i = 0; i < N_GENERICS; i++)
		names[i] = generics[i].name;
	near = cmd_suggest(word->name, names);
	if (!near)
		near = event_pfm_suggest(word->name);
	if (near)
		return sp_fail(SP_EUSAGE, "-e: no event '%s' on this processor; did you mean '%s'?",
		               word->name, near);
	return sp_fail(SP_EUSAGE,
	               "-e: no event '%s' on this processor; 'skidprof record -e help' lists them%s",
	               word->name, strchr(word->name, ':') ? " (tracepoints only perf record takes)" : "");
}

/* One on each kind of core, or on the one that is named. */
static int on_each_pmu(const struct event_word *word, const struct core_pmus *pmus, struct event_code code,
                       struct event_code *out)
{
	bool raw = code.type == PERF_TYPE_RAW;
	int n = 0;

	for (size_t i = 0; i < pmus->n; i++) {
		const struct core_pmu *p = &pmus->v[i];

		if (*word->pmu && strcmp(word->pmu, p->name) != 0)
			continue;
		out[n] = code;
		out[n].pmu = p;
		if (raw)
			out[n++].type = p->type;
		else
			out[n++].config |= (uint64_t)p->type << 32;
	}
	if (n == 0)
		return sp_fail(SP_EUSAGE, "-e: there are no cores with a PMU '%s'", word->pmu);
	return n;
}

/* Names there are libpfm4's as well. */
static bool is_pmu_of_cores(const struct event_word *word, const struct core_pmus *pmus)
{
	for (size_t i = 0; i < pmus->n; i++)
		if (strcmp(word->pmu, pmus->v[i].name) == 0)
			return !strchr(word->name, '=');
	return strcmp(word->pmu, "cpu") == 0 && strchr(word->name, ':');
}

/* No name of cores' events, as "cpu_core/cycles/" has: what stands between the slashes is the unit's own. */
static int on_unit(const char *sysfs, const struct event_word *word, struct event_code *out)
{
	int err = event_unit_find(sysfs, word, out);

	if (err == -SP_ENOENT && (strcmp(word->pmu, "ibs_op") == 0 || strcmp(word->pmu, "ibs_fetch") == 0))
		return sp_fail(SP_ENOTSUP,
		               "-e: %s/%s/: there is no IBS here: AMD's processors have it, and most virtual "
		               "machines hide it; 'skidprof doctor' says what there is",
		               word->pmu, word->name);
	if (err == -SP_ENOENT)
		return sp_fail(SP_EUSAGE, "-e: '%s/%s/': no unit of that name in %s/bus/event_source/devices",
		               word->pmu, word->name, sysfs);
	return err < 0 ? err : 1;
}

int event_code_find(const char *sysfs, const struct event_word *word, const struct core_pmus *pmus,
                    struct event_code *out)
{
	const struct generic *g = find_generic(word->name);
	struct event_code code = { .type = PERF_TYPE_RAW };
	bool of_cores = true;
	int err = 0;

	if (*word->pmu && !g && !is_raw(word->name, &code.config) && !is_pmu_of_cores(word, pmus))
		return on_unit(sysfs, word, out);
	if (g) {
		code.type = g->type;
		code.config = g->config;
		of_cores = g->type != PERF_TYPE_SOFTWARE;
	} else if (!is_raw(word->name, &code.config)) {
		err = event_pfm_find(word->name, &code);
		of_cores = false;
	}
	if (err == -SP_ENOENT)
		return unknown(word);
	if (err < 0)
		return err;
	if (of_cores && pmus->n)
		return on_each_pmu(word, pmus, code, out);
	if (*word->pmu && strcmp(word->pmu, "cpu") != 0)
		return sp_fail(SP_EUSAGE, "-e: '%s/%s/': %s", word->pmu, word->name,
		               of_cores ? "this machine's cores are all of one kind; leave the PMU out"
		                        : "that event needs no PMU");
	/* libpfm4 knows which kind of core a name is of, and gives that PMU's number. */
	for (size_t i = 0; i < pmus->n; i++)
		if (pmus->v[i].type == code.type)
			code.pmu = &pmus->v[i];
	out[0] = code;
	return 1;
}

void event_code_list(FILE *to, const char *part)
{
	for (size_t i = 0; i < N_GENERICS; i++)
		if (!part || strcasestr(generics[i].name, part))
			fprintf(to, "%-32s %s\n", generics[i].name,
			        generics[i].type == PERF_TYPE_SOFTWARE ? "counted by the kernel"
			                                               : "on any processor that has it");
	event_pfm_list(to, part);
}
