/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_REPORT_MATCH_MATCH_H
#define SKIDPROF_REPORT_MATCH_MATCH_H

/*
 * Which file of a recording each object of a truth is: by build id where both
 * have one, wherever the files lie; else by path, or by the name of the file,
 * where the truth's instructions are instructions of that code.
 */
#include "report/match/join.h"
#include "report/profile.h"

enum match_how {
	MATCH_NONE,    /* the recording has no such file */
	MATCH_FILE,    /* it is this one */
	MATCH_MEMORY,  /* code outside any file, on both sides */
	MATCH_ANOTHER, /* a library of that name, but another build of it: both sides' are left out */
};

struct match_object {
	enum match_how how;
	int32_t module;        /* of the profile, -1 = never sampled, or none */
	struct module *opened; /* its code and symbols; NULL where there are none */
	double n_insn;         /* the truth's instructions in it */
};

struct match {
	struct match_object *objects; /* [t->n_objects] */
	size_t n_objects;
	bool *incomparable; /* [p->n_modules + 1] that can't be compared */
	double another;     /* instructions of the truth in what is left out */
	double nowhere;     /* in files that the recording hasn't */
};

/*
 * path  of the truth, for messages.
 * -SP_ENOENT where more than 1% of the truth's instructions are in no file of
 * the recording, or in another build of the program: it names both sides'
 * build ids, or paths.  What is left out is noted.
 */
int match_objects(const struct profile *p, const struct truth *t, const char *path,
                  const struct module_options *opts, struct match *out);
void match_fini(struct match *m);

/* The recorded program: of the modules that are no libraries the one with most in it; UINT32_MAX = there is none. */
uint32_t match_program(const struct profile *p);

#endif
