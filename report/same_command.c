/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/same_command.h"

#include <stdio.h>
#include <string.h>

#include "profiler/base/err.h"
#include "report/report.h"
#include "report/truth/truth.h"

/* Is `tail` the end of `line`, from a name on? */
static bool ends_with(const char *line, const char *tail)
{
	size_t n = strlen(line), n_tail = strlen(tail);
	char before = n > n_tail ? line[n - n_tail - 1] : '/';

	return n >= n_tail && strcmp(line + n - n_tail, tail) == 0 && (before == '/' || before == ' ');
}

static const char *arguments(const char *line)
{
	return line + strcspn(line, " ");
}

/* "./app 3", "/opt/app 3" and "./copy 3" are one, for files are known by their code; a recorder or "env" may stand before. */
static bool is_same(const char *recorded, const char *counted)
{
	return strcmp(arguments(recorded), arguments(counted)) == 0 ||
	       ends_with(recorded, report_command_base(counted)) ||
	       ends_with(counted, report_command_base(recorded));
}

/* Of what was sampled of a program, elsewhere than where most of it was, past which it is of several threads or processes. */
static const double max_others = 0.01;

enum { COMM_LEN = 15 };

/* Is it of the program of that command?  The kernel keeps so much of a name. */
static bool is_of(const struct profile_task *t, const char *command)
{
	const char *base = report_command_base(command);
	size_t n = strcspn(base, " ");

	n = n < COMM_LEN ? n : COMM_LEN;
	return n && strlen(t->process) == n && strncmp(t->process, base, n) == 0;
}

/* Another program's processes are no others: code of this one is not in them. */
static double share_of_others(const struct profile *p, const char *command, bool threads)
{
	const struct profile_task *most = NULL;
	double sum = 0, of_most = 0;

	for (size_t i = 0; i < p->n_tasks; i++) {
		const struct profile_task *t = &p->tasks[i];

		if (!is_of(t, command))
			continue;
		sum += t->n_samples;
		if (!most || t->n_samples > most->n_samples)
			most = t;
	}
	/* A thread that changed its name is there twice. */
	for (size_t i = 0; i < p->n_tasks && most; i++) {
		const struct profile_task *t = &p->tasks[i];

		if (is_of(t, command) && t->pid == most->pid && (!threads || t->tid == most->tid))
			of_most += t->n_samples;
	}
	return sum > 0 ? 1 - of_most / sum : 0;
}

int report_same_tasks(struct profile *p, const char *truth, const struct truth *t)
{
	char why[1200];
	const char *command = t->cmdline + strspn(t->cmdline, " ");

	if (!(t->thread && share_of_others(p, command, true) > max_others) &&
	    !(t->process && share_of_others(p, command, false) > max_others))
		return 0;
	snprintf(why, sizeof(why),
	         "%.200s is of %s %u alone, and the recording of several; callgrind writes a file for each, "
	         "of which 'cat' makes one%s%.500s",
	         truth, t->thread ? "thread" : "process", t->thread ? t->thread : t->process,
	         *p->meta.truth_why ? "; " : "", p->meta.truth_why);
	p->meta.truth_why = profile_string(p, why);
	p->meta.truth_of_one_task = p->meta.truth_of_other_arguments = true;
	p->worst = PROFILE_UNRELIABLE;
	return p->meta.truth_why ? 0 : -SP_ENOMEM;
}

int report_same_command(struct profile *p, const char *truth, const char *counted)
{
	const char *recorded = p->meta.cmdline;
	char why[1400];

	counted += strspn(counted, " ");
	if (!*counted || !recorded || is_same(recorded, counted))
		return 0;
	snprintf(why, sizeof(why),
	         "%.200s is of '%.200s', the recording of '%.200s', and another input has "
	         "other counts%s%.500s",
	         truth, counted, recorded, *p->meta.truth_why ? "; " : "", p->meta.truth_why);
	p->meta.truth_why = profile_string(p, why);
	p->meta.truth_of_other_arguments = true;
	p->worst = PROFILE_UNRELIABLE;
	return p->meta.truth_why ? 0 : -SP_ENOMEM;
}
