/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/perfdata/writer_int.h"

void emit_bytes(struct pd_emit *e, const void *p, size_t n)
{
	if (e->growable && !e->failed && e->cap - e->n < n)
		e->failed = vec_reserve_raw((void **)&e->p, &e->cap, e->n + n, 1) < 0;
	if (e->failed || e->cap - e->n < n) {
		e->failed = true;
		return;
	}
	if (p && n)
		memcpy(e->p + e->n, p, n);
	else if (n)
		memset(e->p + e->n, 0, n);
	e->n += n;
}

void emit_u32(struct pd_emit *e, uint32_t v)
{
	emit_bytes(e, &v, sizeof(v));
}

void emit_u64(struct pd_emit *e, uint64_t v)
{
	emit_bytes(e, &v, sizeof(v));
}

void emit_text(struct pd_emit *e, const char *text, size_t align)
{
	size_t n = strlen(text) + 1, whole = (n + align - 1) / align * align;

	emit_bytes(e, text, n);
	emit_bytes(e, NULL, whole - n);
}

void emit_begin(struct pd_emit *e, uint32_t type, uint16_t misc)
{
	struct perf_event_header h = { .type = type, .misc = misc };

	e->n = 0;
	e->failed = false;
	emit_bytes(e, &h, sizeof(h));
}

void emit_end(struct pd_emit *e)
{
	uint16_t size;

	emit_bytes(e, NULL, (8 - e->n % 8) % 8);
	size = (uint16_t)e->n;
	if (!e->failed)
		memcpy(e->p + offsetof(struct perf_event_header, size), &size, sizeof(size));
}
