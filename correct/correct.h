/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CORRECT_CORRECT_H
#define SKIDPROF_CORRECT_CORRECT_H

/* What is asked of a correction: which recording, of what part of it, and how. */
#include <math.h>

#include "correct/known.h"
#include "correct/recording/filter.h"
#include "profiler/binary/module.h"

enum correct_method {
	METHOD_FULL, /* all evidence: the default */
	METHOD_RAW,  /* samples as they are */
};

struct correct_opts {
	const char *input; /* "-" for standard input */
	enum correct_method method;
	uint64_t seed;
	double skid_cyc;           /* --skid; NAN = measure it, or a default by CPU */
	double budget_s;           /* of work on regions (budget.h); default 10 */
	double min_share;          /* regions of less than this share stay raw; default 0.0003 */
	bool stacks;               /* read call stacks, too: profile->frames and calls */
	struct filter_opts filter; /* the part of the recording that is looked at */
	const char
	        *event; /* of its events the one that is shown, as sampled; NULL = instructions and cycles */
	bool texts;     /* fill in disassembly (annotate wants it, report doesn't) */
	struct module_options modules;
};

#define CORRECT_OPTS_DEFAULT                                                                              \
	{                                                                                                 \
		.input = "skidprof.data", .seed = 1, .skid_cyc = NAN, .budget_s = 10, .min_share = 0.0003 \
	}

/* "full", "raw": -1 for another word, with a suggestion worded. */
int correct_method_parse(const char *word);
const char *correct_method_word(enum correct_method m);

#endif
