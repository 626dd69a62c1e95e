/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_PERFDATA_SPE_H
#define SKIDPROF_PERFDATA_SPE_H

/*
 * Packets of Arm's Statistical Profiling Extension, put together to records: one for each operation that was sampled, as the
 * architecture's manual (DDI 0487, "Statistical Profiling Extension Sample Record Specification") lays them out.  They are
 * little-endian, whatever the file is.  Of what they tell only the part that makes a sample is kept.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum spe_has { SPE_PC = 1, SPE_EVENTS = 2, SPE_CONTEXT = 4, SPE_TIMESTAMP = 8 };

/* Bits of spe_record.events. */
enum spe_event { SPE_EV_RETIRED = 1 << 1 };

struct spe_record {
	uint64_t pc; /* with the top byte that the packet has no room for */
	uint64_t events, timestamp;
	uint32_t context; /* CONTEXTIDR, the thread under Linux */
	uint8_t el;       /* exception level of the pc; 0 = user */
	uint8_t has;      /* enum spe_has: the packets that came */
};

/* What was sampled and is no sample. */
struct spe_losses {
	uint64_t n_full;        /* times that its memory was full: what was sampled meanwhile is lost */
	uint64_t n_collided;    /* times that it chose an operation while it followed another */
	uint64_t n_not_retired; /* operations that were sampled and thrown away */
	uint64_t n_cut;         /* records without an end, or a beginning */
	uint64_t n_no_thread;   /* samples that nothing tells whose they are */
	uint64_t damaged_bytes; /* that are no packets */
};

enum { SPE_PACKET_MAX = 10 }; /* an extended header, eight bytes */

struct spe_decoder {
	struct spe_record rec; /* what came of it so far */
	bool tainted;          /* something in it could not be read */
	uint64_t off;          /* in the memory that the processor wrote, for packets that align */
	uint64_t skip;         /* bytes of an alignment still to come */
	uint8_t held[SPE_PACKET_MAX];
	size_t n_held; /* the packet that stands half in the bytes before */

	uint64_t n_cut;         /* records whose end, or beginning, never came */
	uint64_t damaged_bytes; /* that begin no packet */
};

/*
 * The next whole record from *p on, which is moved: true, or false where the bytes are used up.  A record, and a packet, may go
 * on in the next bytes.  After a byte that begins no packet the record at hand is given up, and the next one read from its start.
 */
bool spe_next(struct spe_decoder *d, const uint8_t **p, const uint8_t *end, struct spe_record *out);

/* The bytes to come, from off on, don't continue those before. */
void spe_cut(struct spe_decoder *d, uint64_t off);

#endif
