/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <linux/perf_event.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/base/cmd.h"
#include "profiler/base/err.h"
#include "profiler/base/log.h"
#include "profiler/base/path.h"
#include "profiler/cmd.h"
#include "profiler/record.h"

enum {
	KEY_PMU = 256,
	KEY_CORE,
	KEY_SEED,
	KEY_TRUTH,
	KEY_NO_BRANCHES,
	KEY_DURATION,
	KEY_MAX_SIZE,
	KEY_STATS,
	KEY_ROTATE,
	KEY_BURSTS,
	KEY_BURST_BUDGET,
	KEY_BURST_LENGTH,
	KEY_TIMED_BURSTS,
	KEY_PLAIN,
	KEY_MAX_RATE
};

enum {
	MAX_PERIOD = 2000000000,
	MAX_RATE_HZ = 100000,
	MAX_SIM_RATE_HZ = 10000000,
	MIN_RATE_HZ = 250 /* a sample a tick */,
	MAX_BURSTS_HZ = 1000000,
	MIN_BURST_LENGTH = 8,
	MAX_BURST_LENGTH = 2000,
	MIN_STACK_BYTES = 64,
	MAX_STACK_BYTES = 65528 /* the kernel's: a record has 16 bits for its size */,
	ZSTD_LEVEL = 1
};

/* The program's time. */
enum { MIN_ROTATE_NS = 10000, MAX_ROTATE_MS = 60000 };

struct options {
	struct record_opts record;
	const char *truth;
};

static const struct argp_option argp_options[] = {
	{ "pmu", KEY_PMU, "SOURCE", 0, "Where samples come from: auto (default), hardware, clock or sim", 0 },
	{ "output", 'o', "FILE", 0, "Write to FILE (default skidprof.data); - is standard output", 0 },
	{ "period", 'c', "N", 0,
	  "Sample every N events (default: of instructions and cycles 1000003, simulated 10007; of the clock "
	  "1999993 ns)",
	  0 },
	{ "events", 'e', "LIST", 0, "Events, separated by commas; NAME/N samples every N; help lists them",
	  0 },
	{ "rotate", KEY_ROTATE, "MS", 0,
	  "Simulated PMU: sets of more events than counters take turns of MS ms (default 0.02; 0: never)",
	  0 },
	{ "branches", 'b', NULL, 0, "Record the last taken branches with each sample", 0 },
	{ "branch-filter", 'j', "LIST", 0,
	  "Record branches of these kinds only: any, cond, call, ind_call, any_call, any_ret, ind_jmp; or "
	  "stack",
	  0 },
	{ "no-branches", KEY_NO_BRANCHES, NULL, 0, "Record no branches", 0 },
	{ "call-graph", 'g', "HOW", OPTION_ARG_OPTIONAL,
	  "Record with each sample who called: fp, by frame pointers (-fno-omit-frame-pointer; the default), "
	  "dwarf or "
	  "dwarf,BYTES, by copies of the stack, which reports unwind, or lbr, by the processor's branch "
	  "records",
	  0 },
	{ "bursts", KEY_BURSTS, "RATE", 0,
	  "Find out which way a thread goes on RATE times a second; auto: as often as the budget allows "
	  "(the default with the clock, and beside or instead of branch records); 0: never",
	  0 },
	{ "burst-length", KEY_BURST_LENGTH, "N", 0,
	  "Branches of a burst (default 160 to 2000, as many as are cheap)", 0 },
	{ "burst-budget", KEY_BURST_BUDGET, "PERCENT", 0,
	  "Share of the program's time that bursts may take, and timed ones as much again (default 2)", 0 },
	{ "timed-bursts", KEY_TIMED_BURSTS, "RATE", 0,
	  "With bursts, time how long a thread takes for a path known to the instruction, RATE times a "
	  "second, "
	  "which tells instructions and IPC; auto: as often as the budget allows; 0: never (the default)",
	  0 },
	{ "freq", 'F', "HZ", 0, "Sample about HZ times a second in place of a fixed period", 0 },
	{ "pid", 'p', "PID", 0, "Record running processes, separated by commas, with all their threads", 0 },
	{ "tid", 't', "TID", 0, "Record single threads, separated by commas", 0 },
	{ "all-cpus", 'a', NULL, 0, "Record all that runs; with a program, while that runs", 0 },
	{ "cpu", 'C', "LIST", 0, "Record on these CPUs only, such as 0-3,8", 0 },
	{ "delay", 'D', "MS", 0, "Begin to sample after MS milliseconds", 0 },
	{ "duration", KEY_DURATION, "S", 0, "Stop recording after S seconds", 0 },
	{ "max-size", KEY_MAX_SIZE, "N[KMG]", 0, "Stop recording when the file has so many bytes", 0 },
	{ "compress", 'z', NULL, 0, "Compress the file with zstd", 0 },
	{ "stats", KEY_STATS, NULL, 0, "Tell what recording cost", 0 },
	{ "plain", KEY_PLAIN, NULL, 0,
	  "Simulated PMU: every event by itself and sampled, as perf record -e does with a list", 0 },
	{ "max-rate", KEY_MAX_RATE, "HZ", 0,
	  "Simulated PMU: throttle events that come more often, as kernel.perf_event_max_sample_rate does",
	  0 },
	{ "core", KEY_CORE, "CORE", 0, "The core to simulate: a name or a file", 0 },
	{ "seed", KEY_SEED, "N", 0,
	  "Seed of the simulated interrupts' delays, or of the moments of bursts (default 1)", 0 },
	{ "truth", KEY_TRUTH, "FILE", 0, "Write exact instruction counts of the same run to FILE", 0 },
	{ 0 }
};

/* "64M" */
static int parse_size(const char *option, const char *text, uint64_t *out)
{
	static const char units[] = "KMG";
	const char *unit = *text ? strchr(units, text[strlen(text) - 1]) : NULL;
	unsigned shift = unit && *unit ? 10 * (unsigned)(unit - units + 1) : 0;
	char number[32];
	unsigned long long n;
	int err;

	snprintf(number, sizeof(number), "%.*s", (int)strlen(text) - (shift > 0), text);
	err = cmd_parse_u64(option, number, 1, UINT64_MAX >> shift, &n);
	if (err == 0)
		*out = n << shift;
	return err;
}

/* What and how long to record. */
static error_t parse_extent(struct record_opts *o, int key, char *arg)
{
	unsigned long long n;
	int err = 0;

	switch (key) {
	case 'p':
		o->pids = arg;
		break;
	case 't':
		o->tids = arg;
		break;
	case 'a':
		o->whole_system = true;
		break;
	case 'C':
		o->cpus = arg;
		break;
	case 'D':
		err = cmd_parse_double("-D", arg, 0, 1e9, &o->delay_s);
		o->delay_s *= 1e-3;
		break;
	case KEY_DURATION:
		err = cmd_parse_double("--duration", arg, 1e-3, 1e9, &o->duration_s);
		break;
	case KEY_MAX_SIZE:
		err = parse_size("--max-size", arg, &o->max_bytes);
		break;
	case 'F':
		err = cmd_parse_u64("-F", arg, 1, MAX_SIM_RATE_HZ, &n);
		o->rate_hz = err == 0 ? n : 0;
		break;
	case 'z':
		o->compress_level = ZSTD_LEVEL;
		break;
	case KEY_STATS:
		o->stats = true;
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return err < 0 ? EINVAL : 0;
}

/* "any_call,any_ret" */
static error_t parse_filter(const char *arg, uint64_t *filter)
{
	static const struct {
		const char *name;
		uint64_t mask;
	} kinds[] = {
		{ "any", PERF_SAMPLE_BRANCH_ANY },
		{ "cond", PERF_SAMPLE_BRANCH_COND },
		{ "call", PERF_SAMPLE_BRANCH_CALL },
		{ "ind_call", PERF_SAMPLE_BRANCH_IND_CALL },
		{ "any_call", PERF_SAMPLE_BRANCH_ANY_CALL },
		{ "any_ret", PERF_SAMPLE_BRANCH_ANY_RETURN },
		{ "ind_jmp", PERF_SAMPLE_BRANCH_IND_JUMP },
		{ "stack", PERF_SAMPLE_BRANCH_CALL_STACK },
		{ "u", 0 },
	};
	const char *words[sizeof(kinds) / sizeof(kinds[0]) + 1] = { NULL }, *near;
	char *copy = strdup(arg), *save = NULL;
	size_t i = 0;

	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++)
		words[k] = kinds[k].name;
	for (char *word = copy ? strtok_r(copy, ",", &save) : NULL; word; word = strtok_r(NULL, ",", &save)) {
		for (i = 0; words[i] && strcmp(words[i], word) != 0;)
			i++;
		if (!words[i])
			break;
		*filter |= kinds[i].mask;
	}
	near = words[i] ? NULL : cmd_suggest(arg, words);
	free(copy);
	if (words[i])
		return 0;
	sp_fail(SP_EUSAGE,
	        "-j: '%s': branches are any, cond, call, ind_call, any_call, any_ret, ind_jmp or stack%s%s%s",
	        arg, near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
	return EINVAL;
}

/* "2" or "2%" */
static error_t parse_budget(char *arg, double *budget)
{
	size_t n = strlen(arg);
	double percent;

	if (n && arg[n - 1] == '%')
		arg[n - 1] = '\0';
	if (cmd_parse_double("--burst-budget", arg, 0.001, 1000, &percent) < 0)
		return EINVAL;
	*budget = percent / 100;
	return 0;
}

static error_t parse_rotate(const char *arg, uint64_t *rotate_ns)
{
	double ms;

	if (cmd_parse_double("--rotate", arg, 0, MAX_ROTATE_MS, &ms) < 0)
		return EINVAL;
	*rotate_ns = (uint64_t)(ms * 1e6);
	if (ms > 0 && *rotate_ns < MIN_ROTATE_NS) {
		sp_fail(SP_EUSAGE, "--rotate: turns of less than %g ms are too short for a sample; 0 is none",
		        MIN_ROTATE_NS / 1e6);
		return EINVAL;
	}
	return 0;
}

/* "fp", "lbr", "dwarf", "dwarf,16384" */
static bool find_stacks(const char *arg, enum record_stacks *how, const char **bytes)
{
	static const struct {
		const char *name;
		enum record_stacks how;
	} words[] = { { "fp", STACKS_FP }, { "dwarf", STACKS_DWARF }, { "lbr", STACKS_LBR } };

	for (size_t i = 0; arg && i < sizeof(words) / sizeof(words[0]); i++) {
		size_t n = strlen(words[i].name);

		if (strncmp(arg, words[i].name, n) != 0 ||
		    (arg[n] && (arg[n] != ',' || words[i].how != STACKS_DWARF)))
			continue;
		*how = words[i].how;
		*bytes = arg[n] ? arg + n + 1 : NULL;
		return true;
	}
	return false;
}

static error_t parse_stacks(const char *arg, struct argp_state *state, struct record_opts *o)
{
	const char *next = state->next < state->argc ? state->argv[state->next] : NULL, *bytes = NULL;
	unsigned long long n;

	o->stacks = STACKS_FP;
	/* "-g=dwarf": no word begins with that. */
	if (arg && *arg == '=')
		arg++;
	/* "-g dwarf", as perf has it; "-g ./app" is the program. */
	if (!arg && find_stacks(next, &o->stacks, &bytes)) {
		arg = next;
		state->next++;
	}
	if (arg && !find_stacks(arg, &o->stacks, &bytes)) {
		sp_fail(SP_EUSAGE, "-g: '%s': who called is told by fp, dwarf or lbr", arg);
		return EINVAL;
	}
	if (!bytes)
		return 0;
	if (cmd_parse_u64("-g dwarf", bytes, MIN_STACK_BYTES, MAX_STACK_BYTES, &n) < 0)
		return EINVAL;
	o->stack_bytes = (uint32_t)(n & ~(unsigned long long)7);
	return 0;
}

static int parse_bursts(const char *option, const char *arg, double *hz)
{
	if (strcmp(arg, "auto") == 0) {
		*hz = HUGE_VAL;
		return 0;
	}
	if (cmd_parse_double(option, arg, 0, MAX_BURSTS_HZ, hz) < 0) {
		sp_fail(SP_EUSAGE, "%s: '%s' is neither 'auto' nor a number from 0 to %d", option, arg,
		        MAX_BURSTS_HZ);
		return EINVAL;
	}
	return 0;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;
	unsigned long long n;

	switch (key) {
	case KEY_PMU:
		o->record.pmu = arg;
		return 0;
	case 'o':
		o->record.output = arg;
		return 0;
	case 'c':
		if (cmd_parse_u64("-c", arg, 1, MAX_PERIOD, &n) < 0)
			return EINVAL;
		o->record.period = n;
		return 0;
	case 'e':
		o->record.events = arg;
		return 0;
	case KEY_ROTATE:
		return parse_rotate(arg, &o->record.rotate_ns);
	case KEY_BURSTS:
		return parse_bursts("--bursts", arg, &o->record.bursts_hz);
	case KEY_TIMED_BURSTS:
		return parse_bursts("--timed-bursts", arg, &o->record.timed_hz);
	case KEY_BURST_LENGTH:
		if (cmd_parse_u64("--burst-length", arg, MIN_BURST_LENGTH, MAX_BURST_LENGTH, &n) < 0)
			return EINVAL;
		o->record.burst_length = (uint32_t)n;
		return 0;
	case KEY_BURST_BUDGET:
		return parse_budget(arg, &o->record.burst_budget);
	case 'b':
		o->record.branches = 1;
		return 0;
	case 'j':
		o->record.branches = 1;
		return parse_filter(arg, &o->record.branch_filter);
	case KEY_PLAIN:
		o->record.plain = true;
		return 0;
	case KEY_MAX_RATE:
		if (cmd_parse_u64("--max-rate", arg, MIN_RATE_HZ, MAX_SIM_RATE_HZ, &n) < 0)
			return EINVAL;
		o->record.max_rate_hz = n;
		return 0;
	case KEY_NO_BRANCHES:
		o->record.branches = 0;
		return 0;
	case 'g':
		return parse_stacks(arg, state, &o->record);
	case KEY_CORE:
		o->record.core = arg;
		return 0;
	case KEY_SEED:
		if (cmd_parse_u64("--seed", arg, 0, UINT64_MAX, &n) < 0)
			return EINVAL;
		o->record.seed = n;
		return 0;
	case KEY_TRUTH:
		o->truth = arg;
		return 0;
	default:
		return parse_extent(&o->record, key, arg);
	}
}

/* What belongs together, and what can't. */
static int check(const struct record_opts *o, const char *name)
{
	bool target = o->pids || o->tids;

	if (target && (o->argc || o->whole_system))
		return sp_fail(SP_EUSAGE, "%s: -p and -t record what runs already, without a program or -a",
		               name);
	if (o->pids && o->tids)
		return sp_fail(SP_EUSAGE, "%s: either -p or -t", name);
	if (o->period && o->rate_hz)
		return sp_fail(SP_EUSAGE, "%s: either a period (-c) or a rate (-F)", name);
	if (o->rate_hz > MAX_RATE_HZ && strcmp(o->pmu, "sim") != 0)
		return sp_fail(SP_EUSAGE, "%s: -F beyond %d is for the simulated core (--pmu sim)", name,
		               MAX_RATE_HZ);
	if ((o->plain || o->max_rate_hz) && strcmp(o->pmu, "sim") != 0)
		return sp_fail(SP_EUSAGE, "%s: --plain and --max-rate are for the simulated core (--pmu sim)",
		               name);
	if (o->stacks == STACKS_LBR && o->branches >= 0)
		return sp_fail(SP_EUSAGE,
		               "%s: -g lbr has the processor's branch records for itself, without -b, -j or "
		               "--no-branches",
		               name);
	if (o->branch_filter & PERF_SAMPLE_BRANCH_CALL_STACK &&
	    o->branch_filter != PERF_SAMPLE_BRANCH_CALL_STACK)
		return sp_fail(SP_EUSAGE, "%s: -j stack stands alone", name);
	if (o->bursts_hz == 0 && (o->timed_hz > 0 || o->burst_length))
		return sp_fail(SP_EUSAGE, "%s: %s is of bursts, and --bursts 0 takes none: leave out either",
		               name, o->timed_hz > 0 ? "--timed-bursts" : "--burst-length");
	if (!o->argc && !target && !o->whole_system)
		return sp_fail(SP_EUSAGE, "%s: which program? For example: %s ./app", name, name);
	return 0;
}

int cmd_record(int argc, char **argv)
{
	static const struct argp argp = {
		.options = argp_options,
		.parser = parse,
		.args_doc = "[--] PROGRAM [ARGUMENT...]",
		.doc = "Run a program and write samples of it to a perf.data file."
	};
	struct options o = { .record = record_opts_default() };
	struct record_counts counts = { 0 };
	int first, status = 0, err;

	err = cmd_parse(&argp, argc, argv, 1, &first, &o);
	if (err < 0)
		return err;
	if (o.record.events && strcmp(o.record.events, "help") == 0)
		return record_list_events(argc > first ? argv[first] : NULL);
	o.record.counting = o.record.calls = o.truth != NULL;
	o.record.argc = argc - first;
	o.record.argv = argv + first;
	/* -C alone: all that runs there. */
	o.record.whole_system |= o.record.cpus && !o.record.argc && !o.record.pids && !o.record.tids;
	err = check(&o.record, argv[0]);
	if (err == 0 && o.record.stacks == STACKS_LBR) {
		o.record.branches = 1;
		o.record.branch_filter = PERF_SAMPLE_BRANCH_CALL_STACK;
	}
	if (err == 0 && o.truth)
		err = path_check_file(o.truth, "--truth");
	if (err < 0)
		return err;
	err = record_run(&o.record, &counts, &status);
	if (err == 0 && o.truth)
		err = record_write_truth(o.truth, &counts, o.record.argc, o.record.argv);
	record_counts_fini(&counts);
	return err < 0 ? err : status;
}
