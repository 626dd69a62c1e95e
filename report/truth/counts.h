/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_REPORT_TRUTH_COUNTS_H
#define SKIDPROF_REPORT_TRUTH_COUNTS_H

/* What main() hands to the recorder. */
#include "profiler/record.h"

/* Write exact counts as a truth file: see record_write_truth. */
int truth_write_counts(const char *path, const struct record_counts *counts, int argc, char **argv);

#endif
