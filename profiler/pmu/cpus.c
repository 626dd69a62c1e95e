/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/pmu/cpus.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "profiler/base/err.h"

static int bad_list(const char *option, const char *text)
{
	return sp_fail(SP_EUSAGE, "%s: '%s' is no list of CPUs such as 0-3,8 (the highest is %d)", option,
	               text, CPU_SETSIZE - 1);
}

int cpus_parse(const char *option, const char *text, cpu_set_t *out)
{
	const char *p = text;
	cpu_set_t set;

	CPU_ZERO(&set);
	do {
		unsigned long first, last;
		char *end;

		if (!isdigit((unsigned char)*p))
			return bad_list(option, text);
		first = last = strtoul(p, &end, 10);
		if (*end == '-' && isdigit((unsigned char)end[1]))
			last = strtoul(end + 1, &end, 10);
		if (last >= CPU_SETSIZE || first > last || (*end && *end != ','))
			return bad_list(option, text);
		for (unsigned long i = first; i <= last; i++)
			CPU_SET(i, &set);
		p = *end ? end + 1 : NULL;
	} while (p);
	*out = set;
	return 0;
}

void cpus_online(cpu_set_t *out)
{
	FILE *f = fopen("/sys/devices/system/cpu/online", "re");
	char line[4096];
	long n = sysconf(_SC_NPROCESSORS_ONLN);
	size_t len = 0;

	if (f && fgets(line, sizeof(line), f))
		while (line[len] && line[len] != '\n')
			len++;
	if (f)
		fclose(f);
	line[len] = '\0';
	if (len && cpus_parse("", line, out) == 0)
		return;
	CPU_ZERO(out);
	for (long i = 0; i < n && i < CPU_SETSIZE; i++)
		CPU_SET((size_t)i, out);
}

bool cpus_pin(pid_t tid, int cpu)
{
	cpu_set_t one;

	if (cpu < 0 || cpu >= CPU_SETSIZE)
		return false;
	CPU_ZERO(&one);
	CPU_SET((size_t)cpu, &one);
	return sched_setaffinity(tid, sizeof(one), &one) == 0;
}
