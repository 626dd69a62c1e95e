/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/base/perf_options.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/base/err.h"

enum how {
	OURS,    /* `ours` is an option that takes what theirs takes */
	PERCENT, /* the same, but theirs is in hundredths */
	WORD,    /* ours is a word by itself: the argument */
	IDLE,    /* it is so anyway */
	SAID,    /* `ours` says what to do */
};

static const struct row {
	const char *commands; /* with blanks around each */
	char letter;          /* 0 = none */
	const char *name;     /* NULL = none */
	enum how how;
	const char *ours;
} rows[] = {
	{ " report ", 'S', "symbols", OURS, "function" },
	{ " report ", 0, "symbol-filter", OURS, "function" },
	{ " report ", 's', NULL, OURS, "sort" },
	{ " report annotate top ", 'c', "comms", OURS, "comm" },
	{ " report annotate ", 0, "percent-limit", PERCENT, "min-share" },
	{ " report annotate diff compare ", 0, "stdio", IDLE, NULL },
	{ " report annotate ", 0, "stdio2", IDLE, NULL },
	{ " report annotate diff ", 'f', "force", IDLE, NULL },
	{ " report ", 0, "no-children", IDLE, NULL },
	{ " report ", 0, "demangle", IDLE, NULL },
	{ " report ", 'I', "show-info", IDLE, NULL },
	{ " report ", 0, "header", IDLE, NULL },
	{ " report ", 'T', NULL, OURS, "threads" },
	{ " report ", 0, "tasks", OURS, "processes" },
	{ " report ", 0, "no-inline", OURS, "rollup" },
	{ " report ", 'n', "show-nr-samples", SAID,
	  "not here: --raw has samples times their period, --events how many samples there are" },
	{ " report ", 0, "show-total-period", SAID, "--raw here: RAW is samples times their period" },
	{ " report ", 'g', "call-graph", SAID,
	  "--callers FUNCTION, --callees FUNCTION or --children here; --html has the graph" },
	{ " report ", 'G', "inverted", SAID, "--callers FUNCTION here" },
	{ " report ", 'p', "parent", SAID, "--callers FUNCTION here" },
	{ " report ", 'b', "branch-stack", SAID,
	  "done by itself here: branch records are evidence wherever a file has them" },
	{ " report annotate ", 'd', "dsos", SAID,
	  "not here: --function GLOB chooses functions, and --insns --format csv has each one's module" },
	{ " report annotate ", 0, "dso", SAID,
	  "not here: --function GLOB chooses functions, and --insns --format csv has each one's module" },
	{ " report ", 'U', "hide-unresolved", SAID,
	  "not here: code without a name stays in, as [unknown], for shares are of all" },
	{ " report ", 'F', "fields", SAID,
	  "not here: --raw, --fixed and --both choose columns, --format csv has all" },
	{ " report ", 't', "field-separator", SAID, "--format csv here" },
	{ " report ", 'w', "column-widths", SAID, "not here: tables are as wide as the terminal (COLUMNS)" },
	{ " report ", 0, "group", SAID,
	  "done by itself here: instructions and cycles are columns of one table" },
	{ " report ", 0, "hierarchy", SAID,
	  "not here: --processes, --threads, --lines and --insns are tables" },
	{ " report ", 0, "header-only", SAID, "--events here, below the header" },
	{ " report annotate ", 0, "tui", SAID, "'skidprof top' here" },
	{ " report annotate ", 0, "gtk", SAID, "'skidprof top', or --html FILE, here" },
	{ " report annotate ", 'C', "cpu", SAID, "not here: --pid, --tid, --comm and --time choose samples" },
	{ " report annotate ", 'k', "vmlinux", SAID, "--debug-dir DIR here" },
	{ " annotate ", 's', "symbol", WORD, NULL },
	{ " annotate ", 'l', "print-line", IDLE, NULL },
	{ " annotate ", 'P', "full-paths", SAID, "--format json here: it has whole paths" },
	{ " annotate ", 0, "no-source", OURS, "asm" },
	{ " diff ", 'c', "compute", SAID, "--by here: instructions, cycles, ipc, executions or events" },
	{ " diff ", 's', "sort", SAID, "not here: rows go by what changed; --lines has source lines" },
	{ " diff ", 'o', "order", SAID, "not here: rows go by what changed" },
	{ " record ", 0, "event", OURS, "events" },
	{ " record ", 0, "count", OURS, "period" },
	{ " record ", 0, "branch-any", OURS, "branches" },
	{ " record ", 0, "compression-level", SAID, "-z here" },
	{ " record ", 'i', "no-inherit", SAID,
	  "not here: children are recorded, and report --pid leaves them out" },
	{ " record ", 0, "all-user", IDLE, NULL },
	{ " record ", 0, "all-kernel", SAID, "-e cycles:k,instructions:k here" },
	{ " record ", 'd', "data", SAID, "not here: addresses of data are not recorded" },
	{ " record ", 'm', "mmap-pages", SAID,
	  "not here: buffers are as large as kernel.perf_event_mlock_kb allows" },
	{ " record ", 'r', "realtime", SAID, "not here: 'chrt -f 10 skidprof record' does it" },
	{ " record ", 'u', "uid", SAID, "not here: -p $(pgrep -d, -u USER)" },
	{ " record ", 'G', "cgroup", SAID, "not here: -p with the processes of its cgroup.procs" },
	{ " record ", 's', "stat", SAID, "done by itself here: counts stand beside each sample" },
	{ " record ", 'T', "timestamp", IDLE, NULL },
	{ " record ", 'P', NULL, IDLE, NULL },
	{ " record ", 'N', "no-buildid-cache", IDLE, NULL },
	{ " record ", 'B', "no-buildid", SAID,
	  "not here: without build ids reports could be of another build" },
	/* Words of an option that both have. */
	{ " report ", 0, "sort=symbol", SAID, "the default here: one row per function" },
	{ " report ", 0, "sort=sym", SAID, "the default here: one row per function" },
	{ " report ", 0, "sort=overhead", SAID, "--sort share here" },
	{ " report ", 0, "sort=comm", SAID, "--processes here: one row per process and its name" },
	{ " report ", 0, "sort=tid", SAID, "--threads here" },
	{ " report ", 0, "sort=dso", SAID,
	  "not here: names of functions have their module where it is needed" },
	{ " report ", 0, "sort=srcline", SAID, "--lines here" },
	{ " report ", 0, "sort=srcfile", SAID, "--lines here" },
	{ " report ", 0, "sort=symbol_from", SAID, "--callers FUNCTION here" },
	{ " report ", 0, "sort=parent", SAID, "--callers FUNCTION here" },
};

static bool is_of(const struct row *r, const char *command)
{
	const char *at = strstr(r->commands, command);

	return at && at[-1] == ' ' && at[strlen(command)] == ' ';
}

/* The row of a word, and where its argument begins: NULL = in none. */
static const struct row *row_of(const char *command, const char *word, const char **arg)
{
	const bool is_long = word[1] == '-';
	const size_t n = is_long ? strcspn(word + 2, "=") : 0;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct row *r = &rows[i];

		if (!is_of(r, command))
			continue;
		if (is_long ? r->name && strlen(r->name) == n && strncmp(r->name, word + 2, n) == 0
		            : r->letter && r->letter == word[1]) {
			*arg = is_long ? word[2 + n] ? word + 3 + n : NULL : word[2] ? word + 2 : NULL;
			return r;
		}
	}
	return NULL;
}

/* Takes the place of a word: the caller's until the program ends, as words of the command line are. */
static int put(char **word, const char *dashes, const char *name, const char *arg, const char *unit)
{
	char *made = NULL;

	if (asprintf(&made, "%s%s%s%s%s", dashes, name, arg && *name ? "=" : "", arg ? arg : "",
	             arg ? unit : "") < 0)
		return sp_fail(SP_ENOMEM, "out of memory");
	*word = made;
	return 1;
}

/* What a number of hundredths lacks. */
static const char *percent(const char *number)
{
	return strchr(number, '%') ? "" : "%";
}

int perf_option_keys(const char *command, const char *option, const char *keys)
{
	for (size_t n; *keys; keys += n + (keys[n] != '\0')) {
		char word[64];

		n = strcspn(keys, ",");
		snprintf(word, sizeof(word), "%s=%.*s", option, (int)n, keys);
		for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
			if (is_of(&rows[i], command) && rows[i].name && strcmp(rows[i].name, word) == 0)
				return sp_fail(SP_EUSAGE, "perf's --%s %s is %s", option,
				               word + strlen(option) + 1, rows[i].ours);
	}
	return 0;
}

int perf_option(const char *command, const char *prog, char **argv)
{
	const char *arg = NULL;
	const struct row *r = row_of(command, argv[0], &arg);
	const int n = (int)strcspn(argv[0], "=");

	if (!r)
		return 0;
	switch (r->how) {
	case OURS:
		return put(&argv[0], "--", r->ours, arg, "");
	case PERCENT:
		if (!arg && argv[1] && put(&argv[1], "", "", argv[1], percent(argv[1])) < 0)
			return -SP_ENOMEM;
		return put(&argv[0], "--", r->ours, arg, arg ? percent(arg) : "");
	case WORD:
		if (arg)
			return put(&argv[0], "", "", arg, "");
		/* The argument stands by itself already. */
		__attribute__((fallthrough));
	case IDLE:
		return put(&argv[0], "--", PERF_OPTION_IDLE, NULL, "");
	default:
		return sp_fail(SP_EUSAGE, "%s: perf's %.*s is %s", prog, argv[0][1] == '-' ? n : 2, argv[0],
		               r->ours);
	}
}
