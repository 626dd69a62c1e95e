/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_PREDICT_CORE_H
#define SKIDPROF_PREDICT_CORE_H

/* A core file's name and text, for predict.c: what a core is to the recorder and to the simulator has one name. */
#include <stddef.h>

/* name  out, at least 64 bytes.  *text  out, malloc'd. */
int predict_core_text(const char *core, char *name, char **text, size_t *n_bytes);

#endif
