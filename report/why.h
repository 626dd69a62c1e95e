/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_REPORT_WHY_H
#define SKIDPROF_REPORT_WHY_H

/* What --why says, before it is text or JSON. */
#include "report/report.h"

/* A function's part in one region. */
struct why_part {
	const struct profile_region *region; /* NULL = outside any */
	size_t n_insns;
	double raw_insn, insn;
};

struct why {
	const struct profile_func *func;
	struct why_part *parts; /* malloc'd */
	size_t n_parts;
	struct why_part outside;
};

/* The caller frees out->parts.  Returns 0, -SP_ENOMEM. */
int why_find(const struct profile *p, uint32_t func, struct why *out);

enum { WHY_MAX_ADVICE = 8, WHY_ADVICE_BYTES = 256 };

/* Are instructions as they were sampled known, beside others? */
bool why_has_raw(const struct profile *p);

/* What would settle a region's open flows where it or the function is not fixed; returns how many sentences. */
size_t why_advice(const struct profile *p, const struct profile_func *func, const struct profile_region *r,
                  char out[][WHY_ADVICE_BYTES]);

#endif
