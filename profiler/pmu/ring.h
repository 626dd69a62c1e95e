/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_PMU_RING_H
#define SKIDPROF_PMU_RING_H

/*
 * The buffer through which the kernel hands over records.  It is mapped on
 * one event's descriptor; other events of the same CPU or task may write to
 * it as well.
 */
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ring {
	struct perf_event_mmap_page *page;
	uint8_t *data;
	size_t data_bytes; /* a power of two */
	bool was_full;     /* when it was last drained: something may have been lost, and not told yet */
	uint8_t *joined;   /* a record that runs over the end, put together; made when needed */
};

/*
 * Map `fd` with n_pages (a power of two) of records, or fewer, down to two, where the limit
 * on locked memory stands against it: out->data_bytes says what came of it.
 * -SP_EIO with the remedy worded.
 */
int ring_open(struct ring *out, int fd, size_t n_pages);

/*
 * Hand over all records there are, oldest first.  rec lives until take returns, and
 * can't be written to; a negative result of take ends it and is returned.
 */
int ring_drain(struct ring *r, int (*take)(void *arg, const struct perf_event_header *rec), void *arg);

void ring_close(struct ring *r);

#endif
