/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_SIM_GUEST_H
#define SKIDPROF_SIM_GUEST_H

/*
 * What the guest process has mapped: executable file mappings, found in
 * /proc/self/maps at the start and followed through system calls.
 */
#include <stdbool.h>
#include <stdint.h>

#include "profiler/base/vec.h"

struct guest_map {
	uint64_t ip, len_bytes, pgoff_bytes;
	uint32_t prot, flags;
	char *path;
};

struct guest {
	uint64_t base;              /* host address of guest address 0 */
	VEC(struct guest_map) maps; /* file mappings made by the guest, executable or not */
};

typedef void guest_map_fn(void *user, const struct guest_map *m);

/*
 * Report the executable segments of the program and its interpreter, which the
 * emulator has mapped before the guest ran.  /proc/self/maps shows the
 * emulator's own files as well: theirs have executable pages, the guest's
 * never (guest code is data to the host), so the guest's come from the ELF
 * program headers.
 */
void guest_scan(struct guest *g, guest_map_fn *fn, void *user);

/* After a successful mmap of a file: remember it, report it when executable. */
void guest_mmap(struct guest *g, uint64_t ip, const uint64_t arg[6], guest_map_fn *fn, void *user);
/* After a successful mprotect: report what has become executable. */
void guest_mprotect(struct guest *g, uint64_t ip, uint64_t len_bytes, uint32_t prot, guest_map_fn *fn,
                    void *user);

/* A string of the guest's, truncated to size; "" at address 0. */
void guest_string(const struct guest *g, uint64_t ip, char *out, size_t size);

#endif
