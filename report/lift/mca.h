/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_REPORT_LIFT_MCA_H
#define SKIDPROF_REPORT_LIFT_MCA_H

/* Cycles an iteration in llvm-mca's summary.  -SP_EFORMAT, not worded, when it is none. */
int mca_parse(const char *text, double *cyc);

#endif
