/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CORRECT_RECORDING_RECORDING_H
#define SKIDPROF_CORRECT_RECORDING_RECORDING_H

/*
 * A recording with its binaries: samples as places in modules.  The file is gone through twice (first to learn which code
 * matters, then to collect evidence about its flow), so nothing of it is kept but sums; standard input is spooled to an unnamed
 * temporary file.
 */
#include "correct/correct.h"
#include "correct/flow/graph.h"
#include "correct/recording/filter.h"
#include "correct/recording/rests.h"
#include "correct/recording/timed_paths.h"
#include "profiler/base/pairs.h"
#include "profiler/base/vec.h"
#include "profiler/binary/unwind.h"
#include "profiler/perfdata/maps.h"
#include "profiler/perfdata/reader.h"

/* Addresses of the kernel, on any machine: no program calls from there. */
#define KERNEL_HALF (UINT64_C(1) << 63)

/* Where a sample or a branch was, in the binaries. */
struct place {
	int32_t module; /* index into recording.modules, -1 = not in a usable file */
	uint64_t vaddr;
};

/* Everything sampled at one address. */
struct place_sum {
	uint32_t module;
	uint64_t vaddr;
	double insn, cyc;     /* events: samples x period */
	double n_insn, n_cyc; /* samples */
	double still_cyc; /* of cyc, in which no branch was taken (branches.h); 0 where instructions were counted */
};

/* How far from its cause an event's sample is seen (precise_ip of perf_event_open(2)). */
enum recording_precision {
	SEEN_LATER, /* a skid away */
	SEEN_SHADOWED, /* there, or at the next one; but one that retires while the unit waits for another has none (Intel's PEBS) */
	SEEN_THERE, /* PEBS with precise distribution, IBS, SPE */
};

/* What is known of a mapped file, as every sample and branch asks for it. */
struct recording_file {
	int32_t module;   /* index into recording.modules, < 0 = not opened, or of no use */
	bool may_be_made; /* memory, or what a program wrote its code to as well: not a file that was loaded */
};

struct recording {
	struct pd_reader *reader;
	struct maps *maps;
	struct module_options module_opts;

	struct module **modules;
	size_t n_modules;
	struct recording_file *files; /* [n_files] of the address maps */
	size_t n_files;
	struct made *made; /* code that programs made as they ran; NULL until it is asked for */
	struct pairs made_paths;
	VEC(int32_t) made_modules; /* by made_paths */
	uint64_t now_ns;           /* of the sample that is being shown */
	uint64_t made_changes;     /* how often code took another's place so far */

	int insn_event, cyc_event; /* index of the sampled events, -1 = none */
	/*
	 * Where groups of events took turns, each has cycles and instructions of its own.  Events that
	 * count the same are shown as one, the first of them, in samples and in their values.
	 */
	struct recording_event {
		int same;       /* the first event that counts the same */
		uint32_t group; /* number of the group it is read with, from 0 */
		bool several;   /* there are others that count the same */
		bool untimed; /* its branch records tell no cycles, and others' that count the same do; set once sums are collected */
	} * events; /* [n_events] */
	size_t n_events;
	uint32_t group;  /* of the sample that is being shown */
	int as_recorded; /* its event, as the file has it: of several that count the same, its own */
	/* Its branches, where they are not all that were taken: each of them was, but they are no path, and the sample is shown without. */
	const struct pd_branch *apart; /* [n_apart], newest first */
	size_t n_apart;
	size_t n_calls;            /* apart[n_calls] are the calls that are not back yet */
	enum pd_branches branches; /* of the file's events, the first that is not PD_BRANCHES_ALL */
	VEC(struct pd_value) values;
	/*
	 * Instructions were not sampled but counted beside cycles (perf's {cycles,instructions}:S): each sample of cycles is
	 * shown once more as one of the instructions since the counters' last, as perf takes it.
	 */
	bool insn_counted;
	struct pairs told_by;
	VEC(uint64_t) told; /* by told_by: told_before() */
	enum recording_precision insn_precise, cyc_precise;
	bool cyc_is_even;  /* that event comes evenly in time, as cycles do: another clock's */
	bool cyc_is_other; /* neither was sampled: cyc_event is the first event that was, whatever it counts */
	/* That event is branches, or those taken, and has records of them, each of which stands for as many (enum mix_kind); else MIX_NONE. */
	int branch_kind;
	/*
	 * Of events that are not read in groups, by the first that counts the same: what samples stand for beside their
	 * period, for the event had no counter, or samples were lost (eq. 5); set once sums are collected.
	 */
	double *scale; /* [n_scale]; past it 1 */
	size_t n_scale;
	double insn_stopped; /* share of the time that the counter of instructions was stopped for its rate (eq. 5) */
	struct rests *rests; /* NULL = none rested */
	int burst_event;     /* branch stacks that lie ahead of their moment, -1 = none */
	int path_event;      /* timed paths, which no pass is shown, -1 = none */
	struct timed_paths paths;
	uint64_t noted_ns;   /* when a record that is noted was, whose time is moved into the part */
	VEC(double) core_hz; /* measured after bursts, of the whole recording: its parts add up */
	bool paths_known;    /* all of the file's are there, and of core_hz */
	bool relative; /* bursts or branch records, but no instructions: how many ran is known as shares of a region only */
	char *kernel_symbol;   /* owner of module_opts.kernel_symbol */
	const char *wanted;    /* event to show; NULL = instructions and cycles */
	struct filter *filter; /* NULL = the whole recording */
	uint64_t n_unmapped;
	int32_t nowhere[2]; /* modules of samples that no mapping holds, and of a guest's; -1 = none so far */
	/* Samples of the user's code with an address of the kernel's, placed in the user's code or not; what the latter stand for. */
	uint64_t n_entries, n_entries_lost;
	bool at_entry;    /* is the sample that is being shown one of them, placed in the user's code? */
	double lost_insn; /* ... those of instructions */
	struct insn_decoder *decoder; /* entry.c's; NULL until it is needed */
	uint64_t maps_changes;        /* grows whenever addresses may mean something else */
};

/* Called with each sample in time order. */
typedef void recording_fn(void *arg, const struct recording *r, const struct pd_record *rec,
                          struct place place);

int recording_open(const struct correct_opts *opts, struct recording **out);
void recording_close(struct recording *r);

/* Go through all samples from the beginning.  `what` names the pass in the progress line. */
int recording_each(struct recording *r, const char *what, recording_fn *fn, void *arg);

/* The same, with each record that is no sample shown between them, beside its event as samples are shown (-1 = not known). */
typedef void recording_note_fn(void *arg, int event, const struct pd_record *rec);
int recording_each_noting(struct recording *r, const char *what, recording_fn *fn, recording_note_fn *note,
                          void *arg);

/* Where ip of a process is at this point of a pass. */
struct place recording_place(const struct recording *r, uint32_t pid, uint64_t ip);

/* The graph's block at a place, -1 = none. */
static inline long recording_block(const struct flow_graph *g, struct place at)
{
	return at.module < 0 ? -1 : flow_block_at(g, (uint32_t)at.module, at.vaddr);
}

/* How a sample's event counts: its weight in events (its period). */
double recording_weight(const struct recording *r, const struct pd_record *rec);

/* The value of an event (-1 = none) in a sample's group read; false where it was not read. */
bool sample_value(const struct pd_sample *s, int event, uint64_t *value);

/* Are its counters tasks', and not processors'?  perf record -a inherits nothing, and waits for no program. */
bool recording_is_of_tasks(const struct recording *r);

/*
 * The number of a sample's counters among those that are known.  Its values are of one task, and with inherited events of one CPU
 * as well: only samples of the same counters can be compared.
 */
size_t recording_counters(const struct recording *r, const struct pd_record *rec, struct pairs *known);

/* A sample's registers and its copy of the user's stack, borrowed; isa ISA_NONE where they are none that we know. */
struct unwind_sample recording_stack(const struct recording *r, const struct pd_record *rec);

#endif
