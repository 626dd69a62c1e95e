/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_REPLAY_PAGES_H
#define SKIDPROF_REPLAY_PAGES_H

/*
 * The program's memory, as far as one replay needs it: copies of its pages,
 * which lie in the shared frames.  What is written is written to the copy.
 * All are forgotten with the replay, so memory is of one moment.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void rp_pages_init(void);

/* A new replay: n_fetched pages lie in the first frames; the table that code looks in has so many entries. */
void rp_pages_begin(const uint64_t *fetched, uint32_t n_fetched, uint32_t tlb_size);

/* Where pages are read from: a descriptor of /proc/PID/mem. */
void rp_pages_source(int fd);

/* Page i of a kind that the kernel shares (wire.h), as it is here. */
enum { RP_MAX_CLOCK_PAGES = 16 };
void rp_pages_clock(unsigned kind, unsigned i, const void *page);

enum rp_use {
	RP_READ,
	RP_WRITE,
	RP_EXECUTE, /* ends if it is written from then on */
};

/* The copy of a page, read if need be.  NULL: rp_pages_why() says. */
uint8_t *rp_page(uint64_t page, enum rp_use use);
/* enum rp_end and the address that could not be had. */
uint32_t rp_pages_why(uint64_t *at);

/* Put the page into the table that the emitted code looks in. */
void rp_pages_open(uint64_t page, bool write);

/* Bytes that may lie in two pages.  False: rp_pages_why() says. */
bool rp_read(uint64_t at, void *out, size_t n);
bool rp_write(uint64_t at, const void *from, size_t n);
/* As much of it as there is. */
size_t rp_read_some(uint64_t at, void *out, size_t n);
size_t rp_write_some(uint64_t at, const void *from, size_t n);

/* Pages touched, into the reply. */
void rp_pages_tell(void);

#endif
