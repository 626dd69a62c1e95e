/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/pmu/host.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

const char *host_line(const char *path, char *out, size_t size)
{
	FILE *f = fopen(path, "re");

	*out = '\0';
	if (f && !fgets(out, (int)size, f))
		*out = '\0';
	if (f)
		fclose(f);
	out[strcspn(out, "\n")] = '\0';
	return out;
}

int host_number(const char *path, int otherwise)
{
	char text[32];
	int n;

	return sscanf(host_line(path, text, sizeof(text)), "%d", &n) == 1 ? n : otherwise;
}

/* "none integrity [confidentiality]" */
bool host_is_locked_down(void)
{
	char text[128];

	return strstr(host_line("/sys/kernel/security/lockdown", text, sizeof(text)), "[confidentiality]");
}

int host_seccomp(void)
{
	FILE *f = fopen("/proc/self/status", "re");
	char line[256];
	int mode = 0;

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "Seccomp: %d", &mode) == 1)
			break;
	if (f)
		fclose(f);
	return mode;
}

bool host_is_virtual(void)
{
	char text[4096];
	FILE *f = fopen("/proc/cpuinfo", "re");
	bool found = false;

	while (f && !found && fgets(text, sizeof(text), f))
		found = strncmp(text, "flags", 5) == 0 && strstr(text, " hypervisor");
	if (f)
		fclose(f);
	return found || access("/sys/hypervisor/type", F_OK) == 0;
}

const char *host_container(void)
{
	char kind[128];

	if (access("/.dockerenv", F_OK) == 0)
		return "Docker";
	if (access("/run/.containerenv", F_OK) == 0)
		return "Podman";
	return *host_line("/run/systemd/container", kind, sizeof(kind)) ? "a container" : NULL;
}

bool host_in_user_namespace(void)
{
	unsigned long inside, outside, n;
	char line[64];

	/* The first namespace has all numbers as they are. */
	return sscanf(host_line("/proc/self/uid_map", line, sizeof(line)), "%lu %lu %lu", &inside, &outside,
	              &n) == 3 &&
	       (inside || outside || n < UINT32_MAX);
}
