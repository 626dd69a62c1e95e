/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/base/cmd.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "profiler/base/config.h"
#include "profiler/base/err.h"
#include "profiler/base/log.h"
#include "profiler/base/perf_options.h"

enum { MAX_WORD = 63, KEY_IDLE = 0x10000 };

static size_t min3(size_t a, size_t b, size_t c)
{
	size_t m = a < b ? a : b;

	return m < c ? m : c;
}

/*
 * Letters to insert, drop, change or swap with the next one, to make a into b;
 * longer words count as far apart.
 */
static size_t distance(const char *a, const char *b)
{
	size_t rows[3][MAX_WORD + 1], n_a = strlen(a), n_b = strlen(b);
	size_t *before = rows[0], *last = rows[1], *row = rows[2];

	if (n_a > MAX_WORD || n_b > MAX_WORD)
		return SIZE_MAX;
	for (size_t j = 0; j <= n_b; j++)
		row[j] = j;
	for (size_t i = 1; i <= n_a; i++) {
		size_t *spare = before;

		before = last;
		last = row;
		row = spare;
		row[0] = i;
		for (size_t j = 1; j <= n_b; j++) {
			row[j] = min3(last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
			    before[j - 2] + 1 < row[j])
				row[j] = before[j - 2] + 1;
		}
	}
	return row[n_b];
}

const char *cmd_suggest(const char *word, const char *const *words)
{
	const char *best = NULL;
	size_t best_distance = strlen(word) / 2 + 1;

	for (; *words; words++) {
		size_t d = distance(word, *words);

		/* A word cut short is meant even if much is missing. */
		if (strlen(word) >= 3 && strncmp(word, *words, strlen(word)) == 0)
			d = 1;
		if (d < best_distance) {
			best = *words;
			best_distance = d;
		}
	}
	return best;
}

/* What the wrapped parser needs beside the caller's own input. */
struct wrap {
	const struct argp *argp;
	void *input;
	int rest; /* index of the first word not consumed, -1 = none yet */
	bool in_order;
	int err;
	const struct config *config; /* its words stand first */
};

static const struct argp_option common_options[] = {
	{ "verbose", 'v', NULL, 0, "Say more; twice, say everything", 100 },
	{ "quiet", 'q', NULL, 0, "Say nothing but errors", 100 },
	{ NULL, 'h', NULL, OPTION_HIDDEN, "", 100 }, /* what many type for --help */
	{ PERF_OPTION_IDLE, KEY_IDLE, NULL, OPTION_HIDDEN, "", 100 },
	{ 0 }
};

/* next: of the word after the option. */
static bool is_configured(const struct wrap *wrap, int next)
{
	return next >= 2 && (size_t)(next - 2) < wrap->config->n;
}

bool cmd_is_configured(const struct argp_state *state)
{
	return is_configured(state->hook, state->next);
}

/* A value that the configuration has, and not the command line: where it stands. */
static void name_line(const struct wrap *wrap, int next)
{
	const struct config *c = wrap->config;

	if (is_configured(wrap, next))
		sp_fail_prefix(-SP_EUSAGE, "%s:%u", c->path, c->words[next - 2].line);
}

static error_t parse_own(struct wrap *wrap, int key, char *arg, struct argp_state *state)
{
	if (!wrap->argp->parser)
		return ARGP_ERR_UNKNOWN;
	return wrap->argp->parser(key, arg, state);
}

static error_t parse_opt(int key, char *arg, struct argp_state *state)
{
	struct wrap *wrap = state->hook;
	int next = state->next;
	error_t err;

	switch (key) {
	case 'h':
		err = parse_own(wrap, key, arg, state);
		if (err != ARGP_ERR_UNKNOWN)
			break;
		argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
		return 0;
	case 'v':
		sp_log_level_set(sp_log_level() + 1);
		return 0;
	case 'q':
		sp_log_level_set(-1);
		return 0;
	case KEY_IDLE:
		return 0;
	case ARGP_KEY_ARG:
		err = parse_own(wrap, key, arg, state);
		if (err != ARGP_ERR_UNKNOWN)
			break;
		if (wrap->rest < 0)
			wrap->rest = state->next - 1;
		if (wrap->in_order)
			state->next = state->argc;
		return 0;
	default:
		err = parse_own(wrap, key, arg, state);
	}
	if (err && err != ARGP_ERR_UNKNOWN) {
		name_line(wrap, next);
		wrap->err = err;
		state->next = state->argc;
	}
	return err;
}

/* Every long option there is, for suggestions; the caller frees the array only. */
static const char **option_words(const struct argp_option *options)
{
	size_t n = 0, k = 0;
	const char **words;

	while (options && (options[n].name || options[n].key || options[n].doc))
		n++;
	words = calloc(n + 6, sizeof(*words));
	if (!words)
		return NULL;
	for (size_t i = 0; i < n; i++)
		if (options[i].name)
			words[k++] = options[i].name;
	words[k++] = "help";
	words[k++] = "version";
	words[k++] = "verbose";
	words[k++] = "quiet";
	return words;
}

static bool known_long(const struct argp_option *o, const char *word, size_t n)
{
	for (; o && (o->name || o->key || o->doc); o++)
		if (o->name && strncmp(o->name, word, n) == 0)
			return true;
	return false;
}

static bool known_short(const struct argp_option *o, int c)
{
	for (; o && (o->name || o->key || o->doc); o++)
		if (o->key == c)
			return true;
	return strchr("?hVvq", c) != NULL;
}

/* A word that --format takes, where there is such an option: many tools have an option of that name. */
static bool is_format(const struct argp_option *o, const char *word)
{
	return (strcmp(word, "text") == 0 || strcmp(word, "json") == 0 || strcmp(word, "csv") == 0) &&
	       known_long(o, "format", strlen("format"));
}

/*
 * glibc's argp prints its own complaint and can't be given a suggestion, so
 * unknown options are looked for first.  The word after an option that takes
 * an argument is skipped.
 */
static int refuse_long(const struct argp *argp, const char *prog, const char *arg)
{
	size_t n = strcspn(arg + 2, "=");
	const char **words;
	const char *near;
	char word[MAX_WORD + 1];

	snprintf(word, sizeof(word), "%.*s", (int)n, arg + 2);
	if (is_format(argp->options, word))
		return sp_fail(SP_EUSAGE, "%s: unknown option --%s; did you mean --format %s?", prog, word,
		               word);
	words = option_words(argp->options);
	near = words ? cmd_suggest(word, words) : NULL;
	if (near)
		sp_fail(SP_EUSAGE, "%s: unknown option --%s; did you mean --%s?", prog, word, near);
	else
		sp_fail(SP_EUSAGE, "%s: unknown option --%s; see '%s --help'", prog, word, prog);
	free(words);
	return -SP_EUSAGE;
}

/* Is this a long option, all of its name?  No argument is one. */
static bool is_whole_option(const struct argp_option *o, const char *arg)
{
	if (strncmp(arg, "--", 2) != 0)
		return false;
	for (; o && (o->name || o->key || o->doc); o++)
		if (o->name && strcmp(o->name, arg + 2) == 0)
			return true;
	return false;
}

/* Does this word take the next one as its argument? */
static bool takes_next(const struct argp_option *o, const char *arg)
{
	bool is_long = arg[1] == '-';

	if (is_long && strchr(arg, '='))
		return false;
	for (; o && (o->name || o->key || o->doc); o++) {
		if (!o->arg || (o->flags & OPTION_ARG_OPTIONAL))
			continue;
		if (is_long && o->name && strcmp(o->name, arg + 2) == 0)
			return true;
		if (!is_long && o->key == arg[1] && !arg[2])
			return true;
	}
	return false;
}

/* "skidprof report" -> "report" */
static const char *command_of(const char *prog)
{
	const char *space = strrchr(prog, ' ');

	return space ? space + 1 : prog;
}

static bool is_known(const struct argp *argp, const char *arg)
{
	size_t n = strcspn(arg + 2, "=");

	if (arg[1] != '-')
		return known_short(argp->options, arg[1]);
	return known_long(argp->options, arg + 2, n) || known_long(common_options, arg + 2, n) ||
	       (n && (strncmp("help", arg + 2, n) == 0 || strncmp("usage", arg + 2, n) == 0 ||
	              strncmp("version", arg + 2, n) == 0));
}

/* No option of ours: perf's, which is taken for ours, or a usage error. */
static int check_unknown(const struct argp *argp, const char *prog, char **argv)
{
	int err = perf_option(command_of(prog), prog, argv);

	if (err)
		return err < 0 ? err : 0;
	if (argv[0][1] == '-')
		return refuse_long(argp, prog, argv[0]);
	return sp_fail(SP_EUSAGE, "%s: unknown option -%c; see '%s --help'", prog, argv[0][1], prog);
}

static int check_options(const struct argp *argp, int argc, char **argv, bool in_order)
{
	for (int i = 1, err; i < argc; i++) {
		if (strcmp(argv[i], "--") == 0)
			return 0;
		if (argv[i][0] != '-' || !argv[i][1]) {
			if (in_order)
				return 0;
			continue;
		}
		err = is_known(argp, argv[i]) ? 0 : check_unknown(argp, argv[0], argv + i);
		if (err < 0)
			return err;
		if (!takes_next(argp->options, argv[i]))
			continue;
		if (++i >= argc)
			return sp_fail(SP_EUSAGE, "%s: option %s needs an argument", argv[0], argv[i - 1]);
		if (is_whole_option(argp->options, argv[i]))
			return sp_fail(SP_EUSAGE, "%s: option %s needs an argument, and %s is another option",
			               argv[0], argv[i - 1], argv[i]);
	}
	return 0;
}

static struct argp_option *joined_options(const struct argp_option *own)
{
	size_t n = 0, n_common = sizeof(common_options) / sizeof(common_options[0]);
	struct argp_option *all;

	while (own && (own[n].name || own[n].key || own[n].doc))
		n++;
	all = calloc(n + n_common, sizeof(*all));
	if (!all)
		return NULL;
	if (n)
		memcpy(all, own, n * sizeof(*all));
	memcpy(all + n, common_options, sizeof(common_options));
	return all;
}

static error_t parse_top(int key, char *arg, struct argp_state *state)
{
	struct wrap *wrap = state->input;

	/* The caller's parser sees its own input; the wrap travels in the hook. */
	state->hook = wrap;
	state->input = wrap->input;
	error_t err = parse_opt(key, arg, state);

	state->input = wrap;
	return err;
}

/* The words of the user's configuration, then those of the command line; the caller frees the array. */
static char **with_config(const struct config *c, int argc, char **argv)
{
	char **all = calloc(c->n + (size_t)argc + 1, sizeof(*all));

	if (!all)
		return NULL;
	all[0] = argv[0];
	for (size_t i = 0; i < c->n; i++)
		all[1 + i] = c->words[i].text;
	memcpy(all + 1 + c->n, argv + 1, (size_t)(argc - 1) * sizeof(*all));
	return all;
}

static int parse_words(const struct argp *argp, const struct config *config, int argc, char **argv,
                       int in_order, int *first_arg, void *input)
{
	struct wrap wrap = {
		.argp = argp, .input = input, .rest = -1, .in_order = in_order, .config = config
	};
	struct argp all = *argp;
	int rest = argc, err;

	/* What argp itself refuses (an ambiguous abbreviation) is a usage error like ours. */
	argp_err_exit_status = 2;
	all.parser = parse_top;
	err = argp_parse(&all, argc, argv, in_order ? ARGP_IN_ORDER : 0, &rest, &wrap);
	if (wrap.err == EINVAL || err == EINVAL)
		return *sp_error_text() ? -SP_EUSAGE
		                        : sp_fail(SP_EUSAGE, "%s: see '%s --help'", argv[0], argv[0]);
	if (wrap.err || err)
		return sp_fail(SP_ENOMEM, "%s: out of memory", argv[0]);
	*first_arg = wrap.rest >= 0 ? wrap.rest : rest;
	return 0;
}

int cmd_parse(const struct argp *argp, int argc, char **argv, int in_order, int *first_arg, void *input)
{
	/* What was parsed points into these words, as it does into argv. */
	static struct config config;
	struct argp joined = *argp;
	struct argp_option *options = NULL;
	int first = 0, err = check_options(argp, argc, argv, in_order);
	char **all = NULL;

	if (err < 0)
		return err;
	options = joined_options(argp->options);
	if (!options)
		return sp_fail(SP_ENOMEM, "out of memory");
	joined.options = options;
	config_fini(&config);
	if (config_commands())
		err = config_read(command_of(argv[0]), config_commands(), options, &config);
	if (err < 0)
		goto out;
	all = with_config(&config, argc, argv);
	err = all ? parse_words(&joined, &config, argc + (int)config.n, all, in_order, &first, input)
	          : sp_fail(SP_ENOMEM, "out of memory");
	/* Known only now: whether the command is to be quiet. */
	if (err == 0 && config.unreadable)
		sp_warn("%s: may not be read (%s), and is passed over", config.path,
		        strerror(config.unreadable));
	/* Words that are no options were moved to the end: the caller looks for them there. */
	if (err == 0)
		memcpy(argv + 1, all + 1 + config.n, (size_t)(argc - 1) * sizeof(*argv));
	if (err == 0 && first_arg)
		*first_arg = first - (int)config.n;
out:
	free(options);
	free(all);
	return err;
}

int cmd_parse_u64(const char *option, const char *text, unsigned long long min, unsigned long long max,
                  unsigned long long *out)
{
	unsigned long long value;
	char *end;

	errno = 0;
	value = strtoull(text, &end, 0);
	if (!isdigit((unsigned char)*text) || errno || *end || value < min || value > max)
		return max >= LLONG_MAX
		               ? sp_fail(SP_EUSAGE, "%s: '%s' is not a whole number of at least %llu", option,
		                         text, min)
		               : sp_fail(SP_EUSAGE, "%s: '%s' is not a whole number from %llu to %llu",
		                         option, text, min, max);
	*out = value;
	return 0;
}

int cmd_parse_double(const char *option, const char *text, double min, double max, double *out)
{
	double value;
	char *end;

	errno = 0;
	value = strtod(text, &end);
	if (errno || end == text || *end || !(value >= min && value <= max))
		return sp_fail(SP_EUSAGE, "%s: '%s' is not a number from %.10g to %.10g", option, text, min,
		               max);
	*out = value;
	return 0;
}

int cmd_flush_stdout(void)
{
	struct pollfd out = { .fd = STDOUT_FILENO, .events = POLLOUT };

	errno = 0;
	if (fflush(stdout) == 0 && !ferror(stdout))
		return 0;
	/* Stdio forgets why an earlier write failed: the pipe itself tells whether anyone still reads. */
	if (errno == EPIPE || (poll(&out, 1, 0) == 1 && (out.revents & (POLLERR | POLLHUP))))
		return 0;
	/* One byte more of what is not whole anyway fails for the same reason. */
	if (!errno && write(STDOUT_FILENO, "\n", 1) == 1)
		errno = 0;
	return errno ? sp_fail_errno("standard output: not all could be written")
	             : sp_fail(SP_EIO, "standard output: not all could be written");
}
