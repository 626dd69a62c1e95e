/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_REPORT_LIFT_PRINT_H
#define SKIDPROF_REPORT_LIFT_PRINT_H

/* What was lifted, as something to read. */
#include "report/lift/lift.h"
#include "report/report.h"

/* blocks: a table a kernel, too (JSON always has it). */
int lift_print(const struct lift *l, enum report_format format, bool blocks, const struct term *term);

/* The whole as one JSON document. */
int lift_json(const struct lift *l, json_t **out);

/* Where measured cycles come from: "profile", "timed", "none". */
const char *lift_measured_by(const struct lift *l);

#endif
