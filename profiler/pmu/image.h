/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_PMU_IMAGE_H
#define SKIDPROF_PMU_IMAGE_H

/*
 * The exact counts of one process image: memory that the plugin counts in
 * (profiler/sim/counts.h), seen from the recorder's side.
 */
#include <stddef.h>
#include <stdint.h>

#include "profiler/pmu/tally.h"

struct image {
	uint32_t pid;
	const uint8_t *base;
	size_t bytes;
	uint64_t
	        max_blocks; /* as it was when that fitted `bytes`: the program can write over what it shares */
};

/* Map the file behind fd.  The caller closes fd.  -SP_EFORMAT when it is none of this version. */
int image_open(uint32_t pid, int fd, struct image *out);
void image_close(struct image *image);

/*
 * Add all counts to the tally.
 *
 * files  paths of the files that the tally's numbers stand for; new ones are added, owned.
 * -SP_EFORMAT when the counts contradict each other, or are not complete.
 */
struct image_files {
	char **v;
	size_t n, cap;
};
int image_add(const struct image *image, struct image_files *files, struct tally *tally);

#endif
