/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_PERFDATA_BUILD_ID_CACHE_H
#define SKIDPROF_PERFDATA_BUILD_ID_CACHE_H

/* perf's cache of binaries by build id, which perf record and perf buildid-cache --add fill: the file that ran, wherever it is now. */
#include "profiler/perfdata/record.h"

/* The GNU build id of the running kernel: its size, 0 = none. */
size_t pd_kernel_build_id(uint8_t id[PD_BUILD_ID_MAX]);

/* The same of the code that this kernel puts in every process, "[vdso]". */
size_t pd_vdso_build_id(uint8_t id[PD_BUILD_ID_MAX]);

/* A file of that build id in $PERF_BUILDID_DIR, or ~/.debug: malloc'd; NULL where there is none, or no memory. */
char *build_id_cache_find(const uint8_t *id, size_t n);

/* The symbols of the kernel of that build id, as perf record keeps them; likewise. */
char *build_id_cache_kallsyms(const uint8_t *id, size_t n);

/*
 * Copy the file that fd is open for into the cache, as perf does, under the path that it was mapped by; nothing to do where
 * the cache has that build id.  0, -SP_EIO, -SP_ENOMEM, -SP_EDOMAIN for a path that can't be one.
 */
int build_id_cache_add(int fd, const char *path, const uint8_t *id, size_t n);

#endif
