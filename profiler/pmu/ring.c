/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/pmu/ring.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "profiler/base/err.h"

enum {
	MIN_PAGES = 2,
	NEARLY_FULL_BYTES = 1024, /* a sample may have found no room, unless it has branches without number */
	MAX_RECORD_BYTES = 65536, /* its size is 16 bits */
	RELEASE_BYTES = 64 << 10, /* so much is read before the kernel gets the room back */
};

int ring_open(struct ring *out, int fd, size_t n_pages)
{
	size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);

	for (; n_pages >= MIN_PAGES; n_pages /= 2) {
		void *base =
		        mmap(NULL, (n_pages + 1) * page_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

		if (base != MAP_FAILED) {
			*out = (struct ring){ .page = base,
				              .data = (uint8_t *)base + page_bytes,
				              .data_bytes = n_pages * page_bytes };
			return 0;
		}
		/* EPERM is the limit on locked memory; others get no better with less. */
		if (errno != EPERM && errno != ENOMEM)
			break;
	}
	return sp_fail_errno(
	        "the buffer for samples can't be mapped; raise sysctl kernel.perf_event_mlock_kb "
	        "or ulimit -l");
}

void ring_close(struct ring *r)
{
	if (r->page)
		munmap(r->page, r->data_bytes + (size_t)(r->data - (uint8_t *)r->page));
	free(r->joined);
	*r = (struct ring){ 0 };
}

static const struct perf_event_header *join(struct ring *r, size_t at, size_t size)
{
	size_t first = r->data_bytes - at;

	if (!r->joined)
		r->joined = malloc(MAX_RECORD_BYTES);
	if (!r->joined)
		return NULL;
	memcpy(r->joined, r->data + at, first);
	memcpy(r->joined + first, r->data, size - first);
	return (const struct perf_event_header *)r->joined;
}

int ring_drain(struct ring *r, int (*take)(void *arg, const struct perf_event_header *rec), void *arg)
{
	uint64_t head = __atomic_load_n(&r->page->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = r->page->data_tail, released = tail;
	int err = 0;

	r->was_full = head - tail + NEARLY_FULL_BYTES > r->data_bytes;
	while (tail != head && err >= 0) {
		size_t at = tail & (r->data_bytes - 1), size;
		/* Records are multiples of 8 bytes: the header never runs over the end. */
		const struct perf_event_header *rec = (const struct perf_event_header *)(r->data + at);

		size = rec->size;
		if (size < sizeof(*rec) || size > head - tail)
			return sp_fail(SP_EFORMAT, "the kernel handed over a record of %zu bytes", size);
		if (at + size > r->data_bytes)
			rec = join(r, at, size);
		if (!rec)
			return sp_fail(SP_ENOMEM, "out of memory");
		err = take(arg, rec);
		tail += size;
		if (tail - released >= RELEASE_BYTES) {
			__atomic_store_n(&r->page->data_tail, tail, __ATOMIC_RELEASE);
			released = tail;
		}
	}
	__atomic_store_n(&r->page->data_tail, tail, __ATOMIC_RELEASE);
	return err < 0 ? err : 0;
}
