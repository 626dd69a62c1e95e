/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A user's configuration from any bytes. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "profiler/base/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const commands[] = { "report", "record", NULL };
	static const struct argp_option options[] = {
		{ "limit", 'n', "N", 0, "a value", 0 },
		{ "color", 'c', "WHEN", OPTION_ARG_OPTIONAL, "a value or none", 0 },
		{ "no-pager", 'p', NULL, 0, "no value", 0 },
		{ 0 },
	};
	struct config c;
	char path[40];
	int fd = memfd_create("config", 0);

	if (fd < 0 || (size && write(fd, data, size) != (ssize_t)size))
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	setenv("SKIDPROF_CONFIG", path, 1);
	if (config_read("report", commands, options, &c) == 0) {
		/* Each word is an option of the command, from a line of the file. */
		for (size_t i = 0; i < c.n; i++)
			if (!c.words[i].line || (strncmp(c.words[i].text, "--limit=", 8) != 0 &&
			                         strncmp(c.words[i].text, "--color", 7) != 0 &&
			                         strcmp(c.words[i].text, "--no-pager") != 0))
				abort();
		config_fini(&c);
	}
	close(fd);
	return 0;
}
