/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_PMU_BUILDID_H
#define SKIDPROF_PMU_BUILDID_H

#include <stddef.h>
#include <stdint.h>

/* The GNU build id of an ELF file: how many bytes, 0 = it has none or is no such file. */
size_t buildid_read(const char *path, uint8_t *out, size_t size);

#endif
