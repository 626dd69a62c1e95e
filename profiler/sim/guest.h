/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_SIM_GUEST_H
#define SKIDPROF_SIM_GUEST_H

/*
 * What the guest process has mapped where: files, and memory that may be
 * executed.  Found in /proc/self/maps at the start and followed through system
 * calls, so that it is at any time what the kernel has.
 */
#include <stdbool.h>
#include <stdint.h>

#include "profiler/base/vec.h"

struct guest_map {
	uint64_t ip, len_bytes, pgoff_bytes;
	uint32_t prot, flags;
	char *path; /* "//anon": no file */
};

struct guest {
	uint64_t base;              /* host address of guest address 0 */
	VEC(struct guest_map) maps; /* by address, none over another */
};

/* Told of each mapping that has become executable. */
typedef void guest_map_fn(void *user, const struct guest_map *m);

/*
 * Note the executable segments of the program and its interpreter, which the
 * emulator has mapped before the guest ran.  /proc/self/maps shows the
 * emulator's own files as well: theirs have executable pages, the guest's
 * never (guest code is data to the host), so the guest's come from the ELF
 * program headers.
 */
void guest_scan(struct guest *g);

/* After a successful mmap: arg are its arguments.  Memory that can't be executed and has no file is only forgotten. */
void guest_mmap(struct guest *g, uint64_t ip, const uint64_t arg[6], guest_map_fn *fn, void *user);
/*
 * Before munmap, not after: another thread may have mapped something else there by then.
 */
void guest_munmap(struct guest *g, uint64_t ip, uint64_t len_bytes);
/* After a successful mremap from ip to new_ip. */
void guest_mremap(struct guest *g, uint64_t ip, uint64_t len_bytes, uint64_t new_ip, uint64_t new_len_bytes,
                  guest_map_fn *fn, void *user);
/* After a successful mprotect: report what has become executable. */
void guest_mprotect(struct guest *g, uint64_t ip, uint64_t len_bytes, uint32_t prot, guest_map_fn *fn,
                    void *user);

/* The mapping that holds ip; NULL: memory without a file.  Borrowed until the next change. */
const struct guest_map *guest_find(const struct guest *g, uint64_t ip);

/* A string of the guest's, truncated to size; "" at address 0. */
void guest_string(const struct guest *g, uint64_t ip, char *out, size_t size);

#endif
