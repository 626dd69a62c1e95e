/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_REPORT_OPTIONS_H
#define SKIDPROF_REPORT_OPTIONS_H

/*
 * Options that report and compare share: what is read, how it is corrected,
 * and how the result is written.
 */
#include <argp.h>
#include <math.h>

#include "correct/correct.h"
#include "report/report.h"

struct input_opts {
	struct correct_opts correct;
	bool method_given, input_given;
	enum report_format format;
	enum term_color color;
	bool no_pager;
};

#define INPUT_OPTS_DEFAULT                       \
	{                                        \
		.correct = CORRECT_OPTS_DEFAULT, \
	}

enum input_key {
	KEY_METHOD = 0x200,
	KEY_SEED,
	KEY_SKID,
	KEY_BUDGET,
	KEY_MODEL,
	KEY_SYMFS,
	KEY_DEBUG_DIR,
	KEY_NO_DEBUGINFOD,
	KEY_FORMAT,
	KEY_COLOR,
	KEY_NO_PAGER,
	KEY_COMM,
	KEY_PID,
	KEY_TID,
	KEY_TIME,
};

/* Rows of an argp_option table, group 1: input and method. */
#define READ_OPTIONS                                                                                              \
	{ NULL, 0, NULL, 0, "Input and method:", 1 },                                                             \
	        { "input", 'i', "FILE", 0, "A perf.data file, - for standard input (default skidprof.data)", 1 }, \
	        { "method", KEY_METHOD, "WORD", 0, "full (default) or raw", 1 },                                  \
	        { "seed", KEY_SEED, "N", 0, "Seed of the random numbers (default 1)", 1 },                        \
	        { "skid", KEY_SKID, "CYCLES", 0, "The skid S, where the file doesn't tell it", 1 },               \
	        { "budget", KEY_BUDGET, "SECONDS", 0, "Work on regions, the hottest first (default 10)", 1 },     \
	        { "model",                                                                                        \
		  KEY_MODEL,                                                                                      \
		  "KEY=VALUE",                                                                                    \
		  0,                                                                                              \
		  "Change a constant of the model, for an experiment; help lists them",                           \
		  1 },                                                                                            \
	        { "symfs", KEY_SYMFS, "DIR", 0, "Look for binaries under DIR", 1 },                               \
	        { "debug-dir",                                                                                    \
		  KEY_DEBUG_DIR,                                                                                  \
		  "DIRS",                                                                                         \
		  0,                                                                                              \
		  "More places for separate debug files, ':' between",                                            \
		  1 },                                                                                            \
	{                                                                                                         \
		"no-debuginfod", KEY_NO_DEBUGINFOD, NULL, 0, "Ask no debuginfod server", 1                        \
	}

/* The same, and group 3: how the result is written. */
#define INPUT_OPTIONS                                                                    \
	READ_OPTIONS, { NULL, 0, NULL, 0, "How it is written:", 3 },                     \
	        { "format", KEY_FORMAT, "WORD", 0, "text (default), json or csv", 3 },   \
	        { "color", KEY_COLOR, "WHEN", 0, "auto (default), always or never", 3 }, \
	{                                                                                \
		"no-pager", KEY_NO_PAGER, NULL, 0, "Write straight to the terminal", 3   \
	}

/* Rows that choose a part of the recording; group 1. */
#define PART_OPTIONS                                                                                 \
	{ "comm", KEY_COMM, "NAMES", 0, "Only threads of these names or patterns, ',' between", 1 }, \
	        { "pid", KEY_PID, "PIDS", 0, "Only these processes", 1 },                            \
	        { "tid", KEY_TID, "TIDS", 0, "Only these threads", 1 },                              \
	{                                                                                            \
		"time", KEY_TIME, "FROM..TO", 0,                                                     \
		        "Only this window: 2..5 seconds from the first sample, or 10%..20%", 1       \
	}

/* Returns 0, -SP_EUSAGE worded, or ARGP_ERR_UNKNOWN for a key that isn't ours. */
int input_parse(int key, char *arg, struct input_opts *o);

/* A word that is no option is the file, where none was named yet; else -SP_EUSAGE. */
int input_word(struct input_opts *o, const char *prog, char *arg);

/* The name of a function that is a recording's, where none is named and there is no default one: -SP_EUSAGE.  NULL is fine. */
int input_check_word(const struct input_opts *o, const char *word);

/* A percentage ("1%") or a fraction ("0.01") from 0 to 1. */
int parse_share(const char *option, const char *text, double *out);

/* Where the result goes, by the options. */
void input_term(const struct input_opts *o, struct term *term);

#endif
