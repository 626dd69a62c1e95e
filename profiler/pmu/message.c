/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/pmu/message.h"

#include "profiler/sim/wire.h"

static bool text_ends(const void *message, size_t at, size_t n)
{
	return n > at && ((const char *)message)[n - 1] == '\0';
}

static uint32_t values_of(const struct wire_sample *sample, const struct sim_group *group)
{
	return sample->event < group->n ? sim_group_values(group, sample->event) : 0;
}

bool message_is_whole(const void *message, size_t n, const struct sim_group *group, bool bursts)
{
	const struct wire_head *head = message;
	const struct wire_sample *sample = message;

	if (n < sizeof(*head) || head->bytes != n)
		return false;
	switch (head->kind) {
	case WIRE_MAP:
		return text_ends(message, sizeof(struct wire_map), n);
	case WIRE_COMM:
	case WIRE_EXEC:
	case WIRE_WARN:
		return text_ends(message, sizeof(struct wire_text), n);
	case WIRE_HELLO:
		return n >= sizeof(struct wire_hello);
	case WIRE_TASK:
		return n >= sizeof(struct wire_task);
	case WIRE_SAMPLE:
		return n >= sizeof(*sample) && sample->event < group->n + bursts &&
		       sample->n_values == values_of(sample, group) && sample->n_branches <= WIRE_MAX_BURST &&
		       sample->n_chain <= WIRE_MAX_CHAIN &&
		       n >= sizeof(*sample) + (sample->n_values + sample->n_chain) * sizeof(uint64_t) +
		                       sample->n_branches * sizeof(struct wire_branch);
	case WIRE_THROTTLE:
		return n >= sizeof(struct wire_throttle) &&
		       ((const struct wire_throttle *)message)->event < group->n;
	default:
		return head->kind < WIRE_THROTTLE + 1u;
	}
}
