/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_PERFDATA_CURSOR_H
#define SKIDPROF_PERFDATA_CURSOR_H

/*
 * A bounds-checked walk over bytes of either byte order.  Reading past the
 * end gives zeros and sets `bad`, which the caller looks at once, at the end.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct pd_cursor {
	const uint8_t *p, *end;
	bool swap, bad;
};

static inline size_t cur_left(const struct pd_cursor *c)
{
	return (size_t)(c->end - c->p);
}

/* The next n bytes, NULL past the end. */
static inline const uint8_t *cur_bytes(struct pd_cursor *c, uint64_t n)
{
	const uint8_t *p = c->p;

	if (n > cur_left(c)) {
		c->p = c->end;
		c->bad = true;
		return NULL;
	}
	c->p += n;
	return p;
}

static inline uint16_t pd_u16(const uint8_t *p, bool swap)
{
	uint16_t v;

	memcpy(&v, p, sizeof(v));
	return swap ? __builtin_bswap16(v) : v;
}

static inline uint32_t pd_u32(const uint8_t *p, bool swap)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return swap ? __builtin_bswap32(v) : v;
}

static inline uint64_t pd_u64(const uint8_t *p, bool swap)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return swap ? __builtin_bswap64(v) : v;
}

static inline uint32_t cur_u32(struct pd_cursor *c)
{
	const uint8_t *p = cur_bytes(c, 4);

	return p ? pd_u32(p, c->swap) : 0;
}

static inline uint64_t cur_u64(struct pd_cursor *c)
{
	const uint8_t *p = cur_bytes(c, 8);

	return p ? pd_u64(p, c->swap) : 0;
}

/* A text that must end within the bytes, NULL (and bad) if it doesn't; the walk goes on behind its NUL. */
static inline const char *cur_text(struct pd_cursor *c)
{
	const uint8_t *p = c->p, *nul = cur_left(c) ? memchr(p, 0, cur_left(c)) : NULL;

	if (!nul) {
		c->p = c->end;
		c->bad = true;
		return NULL;
	}
	c->p = nul + 1;
	return (const char *)p;
}

#endif
