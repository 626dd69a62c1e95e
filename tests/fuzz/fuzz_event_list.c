/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/pmu/event_code.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct core_pmus hybrid = {
		.v = { { .name = "cpu_core", .type = 4 }, { .name = "cpu_atom", .type = 10 } }, .n = 2
	};
	struct event_code codes[EVENT_PMUS_MAX];
	char *text = malloc(size + 1);
	struct event_list list;

	memcpy(text, data, size);
	text[size] = '\0';
	if (event_list_parse(text, &list) == 0) {
		if (!list.n || list.n > EVENT_LIST_MAX || !list.n_groups || list.n_groups > list.n)
			abort();
		for (size_t i = 0; i < list.n; i++)
			if (!(*list.v[i].name || *list.v[i].pmu) || list.v[i].group >= list.n_groups ||
			    event_code_find("/sys", &list.v[i], &hybrid, codes) > EVENT_PMUS_MAX)
				abort();
	}
	free(text);
	return 0;
}
