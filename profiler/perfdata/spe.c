/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/perfdata/spe.h"

#include <string.h>

/* Headers, without the bits that say how long the payload is (5:4) or which of its kind it is. */
enum {
	PAD = 0x00,
	END = 0x01,
	TIMESTAMP = 0x71,
	EXTENDED = 0x20, /* 7:4; a second byte follows, 0 for an alignment */
	EVENTS = 0x42,
	SOURCE = 0x43,
	SIZED = 0xcf, /* the mask of these two */
	CONTEXT = 0x64,
	OPERATION = 0x48,
	CLASSED = 0xfc,
	ADDRESS = 0xb0,
	COUNTER = 0x98,
	INDEXED = 0xf8,
};

enum kind { K_NONE, K_ALIGN, K_END, K_TIMESTAMP, K_EVENTS, K_CONTEXT, K_PC };

enum { NO_PACKET = -1, NEED_MORE = 0 }; /* beside sizes */

struct packet {
	enum kind kind; /* K_NONE: nothing that is of use here */
	uint64_t payload;
};

/* A header that a payload follows, and its kind. */
static bool has_payload(uint8_t h, unsigned index, enum kind *kind)
{
	*kind = K_NONE;
	if (h == TIMESTAMP)
		*kind = K_TIMESTAMP;
	else if ((h & SIZED) == EVENTS)
		*kind = K_EVENTS;
	else if ((h & CLASSED) == CONTEXT)
		*kind = K_CONTEXT;
	else if ((h & INDEXED) == ADDRESS)
		*kind = index ? K_NONE : K_PC;
	else
		return (h & SIZED) == SOURCE || (h & CLASSED) == OPERATION || (h & INDEXED) == COUNTER;
	return true;
}

static int take_payload(const uint8_t *p, size_t n, size_t header, struct packet *k)
{
	size_t bytes = (size_t)1 << (p[header - 1] >> 4 & 3);

	if (n < header + bytes)
		return NEED_MORE;
	for (size_t i = 0; i < bytes; i++)
		k->payload |= (uint64_t)p[header + i] << 8 * i;
	return (int)(header + bytes);
}

/* The packet at p: its size, of an alignment that of its header. */
static int read_packet(const uint8_t *p, size_t n, struct packet *k)
{
	unsigned index = p[0] & 7;
	size_t header = 1;

	*k = (struct packet){ K_NONE, 0 };
	if (p[0] == PAD)
		return 1;
	if (p[0] == END) {
		k->kind = K_END;
		return 1;
	}
	if ((p[0] & 0xf0) == EXTENDED) {
		if (n < 2)
			return NEED_MORE;
		header = 2;
		index = (p[0] & 3u) << 3 | (p[1] & 7u);
		if (!p[1]) {
			k->kind = K_ALIGN;
			k->payload = 2ull << (p[0] & 0xf);
			return 2;
		}
		/* Only addresses and counters have numbers that need one. */
		if ((p[1] & INDEXED) != ADDRESS && (p[1] & INDEXED) != COUNTER)
			return NO_PACKET;
	}
	return has_payload(p[header - 1], index, &k->kind) ? take_payload(p, n, header, k) : NO_PACKET;
}

/* Bit 55 tells the kernel's half of the addresses from the user's; the exception level and more stand above. */
static uint64_t whole_address(uint64_t payload)
{
	const uint64_t top = 0xffull << 56;

	return payload >> 55 & 1 ? payload | top : payload & ~top;
}

static void begin(struct spe_decoder *d)
{
	d->rec = (struct spe_record){ 0 };
	d->tainted = false;
}

/* There is one of each in a record: a second one is the next record's, and the end of this one never came. */
static void note(struct spe_decoder *d, enum spe_has what)
{
	if (d->rec.has & what) {
		d->n_cut++;
		begin(d);
	}
	d->rec.has |= (uint8_t)what;
}

static bool ended(struct spe_decoder *d, struct spe_record *out)
{
	bool whole = d->rec.has & SPE_PC && !d->tainted;

	*out = d->rec;
	d->n_cut += !whole && d->rec.has & ~SPE_TIMESTAMP;
	begin(d);
	return whole;
}

/* True where it was the last of a whole record. */
static bool take(struct spe_decoder *d, const struct packet *k, struct spe_record *out)
{
	switch (k->kind) {
	case K_PC:
		note(d, SPE_PC);
		d->rec.pc = whole_address(k->payload);
		d->rec.el = k->payload >> 61 & 3;
		break;
	case K_EVENTS:
		note(d, SPE_EVENTS);
		d->rec.events = k->payload;
		break;
	case K_CONTEXT:
		d->rec.has |= SPE_CONTEXT;
		d->rec.context = (uint32_t)k->payload;
		break;
	case K_TIMESTAMP:
		d->rec.has |= SPE_TIMESTAMP;
		d->rec.timestamp = k->payload;
		return ended(d, out);
	case K_END:
		return ended(d, out);
	case K_ALIGN: /* to the next multiple of that, its header included */
		d->skip = k->payload - ((d->off - 2) & (k->payload - 1));
		d->skip -= d->skip < 2 ? d->skip : 2;
		break;
	case K_NONE:
		break;
	}
	return false;
}

/* Step over n bytes: those held, which are fewer, and those at *p. */
static void consume(struct spe_decoder *d, const uint8_t **p, size_t n)
{
	d->off += n;
	*p += n - d->n_held;
	d->n_held = 0;
}

/* The next packet: true, or false if its end is still to come. */
static bool next_packet(struct spe_decoder *d, const uint8_t **p, const uint8_t *end, struct packet *k)
{
	size_t left = (size_t)(end - *p), room = SPE_PACKET_MAX - d->n_held, more = left < room ? left : room;
	size_t n = d->n_held + more;
	const uint8_t *at = *p;
	int size;

	if (d->n_held) {
		memcpy(d->held + d->n_held, *p, more);
		at = d->held;
	}
	size = read_packet(at, n, k);
	if (size == NEED_MORE) {
		memmove(d->held, at, n);
		d->n_held = n;
		*p += more;
		return false;
	}
	if (size == NO_PACKET) {
		d->damaged_bytes++;
		d->tainted = true;
		size = 1;
	}
	consume(d, p, (size_t)size);
	return true;
}

bool spe_next(struct spe_decoder *d, const uint8_t **p, const uint8_t *end, struct spe_record *out)
{
	struct packet k;

	while (*p < end) {
		if (d->skip) {
			size_t left = (size_t)(end - *p), n = d->skip < left ? (size_t)d->skip : left;

			d->skip -= n;
			consume(d, p, n);
			continue;
		}
		if (!next_packet(d, p, end, &k))
			return false;
		if (take(d, &k, out))
			return true;
	}
	return false;
}

void spe_cut(struct spe_decoder *d, uint64_t off)
{
	d->n_cut += d->rec.has || d->n_held;
	begin(d);
	d->n_held = 0;
	d->skip = 0;
	d->off = off;
}
