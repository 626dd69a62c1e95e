/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/same_command.h"

#include <stdio.h>
#include <string.h>

#include "profiler/base/err.h"
#include "report/report.h"

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
