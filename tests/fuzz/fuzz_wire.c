/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Messages as a plugin of another build, or a program that found the socket, could send them. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/base/log.h"
#include "profiler/pmu/sink.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Two bytes of length, then the message; its own length field is set right in every second one. */
static void send_all(struct sink *s, const uint8_t *data, size_t size)
{
	_Alignas(8) static uint8_t message[4096];

	while (size >= 2) {
		size_t n = (data[0] | (size_t)data[1] << 8) % sizeof(message);

		data += 2;
		size -= 2;
		if (n > size)
			n = size;
		memcpy(message, data, n);
		if (n >= sizeof(struct wire_head) && (n & 1) == 0)
			((struct wire_head *)message)->bytes = (uint32_t)n;
		if (sink_message(s, message, n, -1) < 0)
			return;
		data += n;
		size -= n;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct sim_counters counters = { .n_programmable = 3 };
	const struct sim_group_wish wish = { "instructions,cycles,loads,stores", 0, true };
	struct sim_group group;
	struct sink_config config = { .group = &group, .counting = true };
	struct record_counts counts = { 0 };
	struct sink_summary summary;
	struct sink *s = NULL;
	uint64_t sum = 0;

	sp_log_level_set(-1);
	if (sim_group_parse(&wish, &counters, "x", &group) < 0 || sink_new(&config, &s) < 0)
		abort();
	send_all(s, data, size);
	/* Processes that came without memory for their counts are an error, and nothing is told of them. */
	if (sink_close(s, &counts, &summary) < 0 && !summary.n_uncounted)
		abort();
	for (size_t i = 0; i < counts.n; i++) {
		if (counts.v[i].file >= counts.n_files)
			abort();
		sum += counts.v[i].n;
	}
	if (sum + counts.n_unmapped != summary.n_insn)
		abort();
	record_counts_fini(&counts);
	sink_free(s);
	return 0;
}
