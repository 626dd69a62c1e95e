/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_REPORT_LIFT_MEASURE_H
#define SKIDPROF_REPORT_LIFT_MEASURE_H

/*
 * A program run with functions of it timed (hook.h): it is started under
 * ptrace, the hooks are put in before its first instruction, and what they
 * counted is read as each process ends.  Forked children and programs that
 * are executed are followed; standard input and output are /dev/null.
 */
#include <stdint.h>

#include "profiler/binary/module.h"

struct measure {
	const struct module *module;
	uint64_t vaddr;
	struct module_code_span {
		const uint8_t *bytes;
		size_t n;
	} code;          /* from vaddr on */
	const char *why; /* out: why it can't be timed; NULL if it was tried */
	double ticks;    /* out: of all calls in all processes */
	double calls;    /* out */
};

/* One run.  *threads out: a process had several threads.  -SP_EIO when the program failed. */
int measure_run(char **argv, struct measure *m, size_t n, bool *threads);

#endif
