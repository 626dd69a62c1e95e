/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_PERFDATA_FEATURES_H
#define SKIDPROF_PERFDATA_FEATURES_H

/*
 * Numbers of the file format that reader and writer share: magics, feature
 * bits, flags in misc that only user-space records have.
 */

/* "PERFILE2" and, before perf 3.4 and with the same that follows, "PERFFILE", as a little-endian machine reads them. */
#define PD_MAGIC    0x32454c4946524550ull
#define PD_MAGIC_V1 0x454c494646524550ull

enum {
	PD_HEADER_BYTES = 104, /* of a file; the first 16 alone are pipe mode */
	PD_PIPE_HEADER_BYTES = 16,
	PD_N_FEATURES = 256,
	PD_NAME_ALIGN = 64, /* texts are padded with zeros to it */
	PD_MISC_BUILD_ID_SIZE = 1 << 15,
};

enum pd_feat {
	PD_FEAT_TRACING_DATA = 1,
	PD_FEAT_BUILD_ID = 2,
	PD_FEAT_HOSTNAME = 3,
	PD_FEAT_OSRELEASE = 4,
	PD_FEAT_VERSION = 5,
	PD_FEAT_ARCH = 6,
	PD_FEAT_NRCPUS = 7,
	PD_FEAT_CPUDESC = 8,
	PD_FEAT_CPUID = 9,
	PD_FEAT_CMDLINE = 11,
	PD_FEAT_EVENT_DESC = 12,
	PD_FEAT_GROUP_DESC = 17,
	PD_FEAT_STAT = 19,
	PD_FEAT_SAMPLE_TIME = 21,
	PD_FEAT_DIR_FORMAT = 24,
	PD_FEAT_COMPRESSED = 27,
};

#endif
