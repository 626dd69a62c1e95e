/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CORRECT_MODEL_MODEL_H
#define SKIDPROF_CORRECT_MODEL_MODEL_H

/*
 * The constants of the model (model.def): model->few and the like.  They are the program's: experiments set them before
 * anything is corrected, and nothing changes them then, so that threads may read them.
 */
#include <stddef.h>
#include <stdint.h>

#define CONSTANT(key, value, least, most, reason) double key;
#define COUNT(key, value, least, most, reason)    uint32_t key;
struct model {
#include "correct/model/model.def"
};

extern const struct model *const model;

/* One row, for lists. */
struct model_row {
	const char *key, *reason;
	double value, least, most; /* as it stands in the table */
	double now;
};

size_t model_n_rows(void);
struct model_row model_row(size_t i);

/* "KEY=VALUE".  -SP_EUSAGE, worded, for a key that there is none of, or a value out of its range. */
int model_set(const char *text);

/* What is not as in the table: "few=20, small=0.02".  NULL: nothing is.  It lives as long as the program. */
const char *model_changed(void);

/* All as in the table again. */
void model_reset(void);

#endif
