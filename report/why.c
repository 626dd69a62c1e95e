/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One function explained: what its numbers rest on, and what would settle the rest. */
#include "report/why.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "correct/judge/reasons.h"
#include "profiler/base/err.h"
#include "profiler/base/log.h"
#include "report/number.h"

enum { NAME_BYTES = 512 };

/* Of a total, that is not worth a line. */
static const double little_doubt = 0.02;

/* How much of a function lies in each region. */
int why_find(const struct profile *p, uint32_t func, struct why *out)
{
	struct why_part *parts = calloc(p->n_regions + 1, sizeof(*parts));

	if (!parts)
		return sp_fail(SP_ENOMEM, "out of memory for %zu regions", p->n_regions);
	*out = (struct why){ .func = &p->funcs[func], .parts = parts };
	for (size_t i = 0; i < p->n_insns; i++) {
		const struct profile_insn *insn = &p->insns[i];
		struct why_part *part;

		if (insn->func != func)
			continue;
		part = &parts[insn->region >= 0 && (size_t)insn->region < p->n_regions ? (size_t)insn->region
		                                                                       : p->n_regions];
		part->n_insns++;
		part->raw_insn += insn->count.raw_insn;
		part->insn += insn->count.insn;
	}
	out->outside = parts[p->n_regions];
	for (size_t i = 0; i < p->n_regions; i++) {
		if (!parts[i].n_insns)
			continue;
		parts[out->n_parts] = parts[i];
		parts[out->n_parts++].region = &p->regions[i];
	}
	return 0;
}

static bool event_named(const struct profile *p, const char *part)
{
	for (size_t i = 0; i < p->meta.n_events; i++)
		if (p->meta.events[i].name && strstr(p->meta.events[i].name, part))
			return true;
	return false;
}

/*
 * Events whose totals are equations (eq. 6) and that this recording lacks.
 * "branch-instructions" and the like count as "branch".
 */
static void missing_events(const struct profile *p, char *out, size_t size)
{
	static const struct {
		const char *event;
		const char *known_as;
	} events[] = {
		{ "branches", "branch" }, { "taken branches", "taken" }, { "conditional branches", "cond" },
		{ "calls", "call" },      { "loads", "load" },           { "stores", "store" }
	};
	size_t n = 0;

	out[0] = '\0';
	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]) && n < size; i++)
		if (!event_named(p, events[i].known_as))
			n += (size_t)snprintf(out + n, size - n, "%s%s", n ? ", " : "", events[i].event);
}

#define BY_TRUTH \
	"'skidprof truth' counts all instructions exactly, and report --truth puts them beside these cycles"

/* More bursts do not help where each stays in one of the region's loops. */
static bool is_apart(const struct profile_region *r)
{
	return r->why &&
	       (strstr(r->why, reason_text_apart_in_time) || strstr(r->why, reason_text_scopes_apart));
}

/* Is that the reason?  What comes before its numbers tells, or what comes after them. */
static bool is_reason(const struct profile_region *r, const char *text)
{
	size_t n = strcspn(text, "%");

	return r->why && (n ? strncmp(r->why, text, n) == 0 : strstr(r->why, strrchr(text, '%')) != NULL);
}

/* Is it known how much of the region the function is, whatever else is in doubt? */
static bool is_share_told(const struct profile *p, const struct profile_func *func,
                          const struct profile_region *r)
{
	const struct profile_part *part = &func->part;
	const struct profile_count share = { .insn = part->share, .lo = part->lo, .hi = part->hi };

	if (r->n_free == 1 && r->status == PROFILE_FIXED)
		return true;
	return part->region >= 0 && (size_t)part->region < p->n_regions && &p->regions[part->region] == r &&
	       isfinite(part->lo) && profile_judge(PROFILE_FIXED, &share) == PROFILE_FIXED;
}

/* More bursts, or why these don't help. */
static const char *advice_of_bursts(const struct profile *p, const struct profile_func *func,
                                    const struct profile_region *r)
{
	if (is_reason(r, reason_text_no_budget))
		return "a larger --budget (report).  " BY_TRUTH;
	if (is_reason(r, reason_text_too_large)) /* or the others that begin so */
		return BY_TRUTH ".  Longer runs and larger --burst-budgets help only if they show that less "
		                "of its code runs";
	if (is_reason(r, reason_text_few_samples))
		return "a longer run, or a smaller period (-c).  " BY_TRUTH;
	if (is_reason(r, reason_text_broken_stacks))
		return BY_TRUTH ".  More bursts don't help: as many of them would leave its code";
	if (is_share_told(p, func, r))
		return BY_TRUTH ".  More bursts don't help: its share of this region is known";
	if (is_apart(r))
		return p->meta.pace_timed || p->meta.n_timed + p->meta.n_not_timed ? BY_TRUTH
		               ".  More bursts don't help"
		                                                                   : BY_TRUTH
		               ".  More bursts don't help; timed paths (record --timed-bursts auto, some ten "
		               "seconds or longer) may tell how fast loops ran, and leave some of the doubt";
	return "more bursts: a longer run, or a larger --burst-budget.  " BY_TRUTH;
}

/* A clock has neither branch records nor other events, and no skid; what timed paths tell is of them and of bursts. */
static size_t advice_of_timed(const struct profile *p, const struct profile_func *func,
                              const struct profile_region *r, bool weak, char out[][WHY_ADVICE_BYTES])
{
	size_t n = 0;

	if (weak && r->total_sd > little_doubt)
		snprintf(out[n++], WHY_ADVICE_BYTES,
		         "more timed paths: a longer run, or more often (--timed-bursts RATE)");
	if (weak)
		snprintf(out[n++], WHY_ADVICE_BYTES, "%s", advice_of_bursts(p, func, r));
	return n;
}

/* Where instructions were not counted. */
static size_t advice_without_counts(const struct profile *p, const struct profile_func *func,
                                    const struct profile_region *r, bool weak, char out[][WHY_ADVICE_BYTES])
{
	if (weak)
		snprintf(out[0], WHY_ADVICE_BYTES, "%s",
		         p->meta.branch_records && !is_apart(r)
		                 ? "more branch records: a longer run, or a smaller period (-c); and "
		                   "instructions beside them (-e cycles,instructions)"
		                 : advice_of_bursts(p, func, r));
	return weak;
}

/* What helps where no more of anything does, or NULL. */
static const char *advice_of_reason(const struct profile_region *r)
{
	const char *several = reason_text_several_programs;

	/* Averages have it behind theirs. */
	if (r->why && memmem(r->why, strlen(r->why), several, strcspn(several, "%")))
		return "report --comm NAME, of one program: more of the same recording doesn't help";
	return is_reason(r, reason_text_off_the_flow) ? BY_TRUTH : NULL;
}

size_t why_advice(const struct profile *p, const struct profile_func *func, const struct profile_region *r,
                  char out[][WHY_ADVICE_BYTES])
{
	bool weak = r->status >= PROFILE_WEAK || func->status >= PROFILE_WEAK;
	bool open = weak && r->n_rank < r->n_free;
	double n_samples = fmin(r->n_samples, func->n_samples);
	char events[200];
	size_t n = 0;

	/* What was counted one by one has nothing to settle. */
	if (p->meta.truth)
		return 0;
	if (advice_of_reason(r)) {
		snprintf(out[0], WHY_ADVICE_BYTES, "%s", advice_of_reason(r));
		return 1;
	}
	if (p->meta.relative)
		return advice_without_counts(p, func, r, weak, out);
	if (report_by_clock(&p->meta))
		return advice_of_timed(p, func, r, weak, out);
	missing_events(p, events, sizeof(events));
	if (open && !p->meta.branch_records)
		snprintf(out[n++], WHY_ADVICE_BYTES,
		         "record -b: branch records, where the processor has them ('skidprof doctor' tells), "
		         "settle most of it at once; else %s bursts (--bursts, --burst-budget)",
		         p->meta.n_bursts ? "more" : "take");
	if (open && p->meta.branch_records && !p->meta.n_bursts)
		snprintf(
		        out[n++], WHY_ADVICE_BYTES,
		        "take bursts as well (--bursts): interrupts wait for slow instructions, so how often "
		        "branch records met each branch is in doubt");
	if (open && *events)
		snprintf(out[n++], WHY_ADVICE_BYTES,
		         "count another event beside the samples (-e): each one that tells the open paths "
		         "apart is "
		         "one more equation; not yet counted: %s",
		         events);
	if (weak && n_samples < 1000)
		snprintf(out[n++], WHY_ADVICE_BYTES,
		         "more samples: %.0f of instructions fell into this %s; a smaller period (-c) or a "
		         "longer run",
		         n_samples, func->n_samples < r->n_samples ? "function" : "region");
	if (weak && p->meta.skid_source != SKID_MEASURED && !p->meta.pace_timed)
		snprintf(out[n++], WHY_ADVICE_BYTES,
		         "a measured skid: this one is a default.  A recording with group values (skidprof "
		         "record) measures it, --skid CYCLES gives it");
	return n;
}

bool why_has_raw(const struct profile *p)
{
	return p->meta.insn_event >= 0 || p->meta.pace > 0;
}

/* Exact counts have no interval; without an event of instructions there are no others, and no raw ones. */
static void print_count(const struct profile *p, bool exact, const char *what, const struct profile_count *c,
                        FILE *f)
{
	char raw[NUMBER_MAX], insn[NUMBER_MAX], lo[NUMBER_MAX], hi[NUMBER_MAX];

	number_grouped(c->raw_insn, raw);
	number_grouped(c->insn, insn);
	number_grouped(c->lo, lo);
	number_grouped(c->hi, hi);
	fprintf(f, "  %s: ", what);
	if (why_has_raw(p))
		fprintf(f, "raw %s, ", raw);
	if (exact || why_has_raw(p))
		fprintf(f, "%s %s", exact ? "exact" : "fixed", insn);
	else
		fputs("not counted", f);
	if (!exact && why_has_raw(p) && isfinite(c->lo))
		fprintf(f, ", 90%% interval %s..%s", lo, hi);
	fputc('\n', f);
}

/* A sum of a region has no interval. */
static void print_sum(const struct profile *p, bool exact, const char *what, double raw, double insn, FILE *f)
{
	const struct profile_count c = { .raw_insn = raw, .insn = insn, .lo = NAN, .hi = NAN };

	fputs("  ", f);
	print_count(p, exact, what, &c, f);
}

static const char *evidence_means(const struct profile *p, uint8_t bit)
{
	switch (bit) {
	case PROFILE_BY_FLOW:
		return p->meta.relative
		               ? "flow: the structure of the code leaves one count open, so that it alone "
		                 "tells the shares"
		               : "flow: the structure of the code leaves one count open, and the total of "
		                 "instructions settles it";
	case PROFILE_BY_MIX:
		return "totals: other events (branches, loads, ...), counted exactly beside the samples (eq. "
		       "6)";
	case PROFILE_BY_PATH:
		return "branches: branch records or bursts, which show which way the code went (eq. 9)";
	case PROFILE_BY_TRIPS:
		return "bounds: iterations that the code itself fixes, as in for (i = 0; i < 16; i++) (eq. "
		       "8)";
	case PROFILE_BY_PRECISE:
		return "precise: samples of instructions that are seen where they were caused";
	case PROFILE_BY_BORDER:
		return "loops: samples in a loop whose visits are long, so that few skid over its borders "
		       "(eq. 15)";
	default:
		return "truth: an exact count, of another run";
	}
}

static void print_known(const struct profile *p, const struct profile_func *func, FILE *f)
{
	if (func->evidence)
		fputs("  evidence (equations are those of skidprof-model(7)):\n", f);
	for (unsigned bit = 1; bit <= PROFILE_BY_BORDER; bit <<= 1)
		if (func->evidence & bit)
			fprintf(f, "    %s\n", evidence_means(p, (uint8_t)bit));
}

static void print_share(const struct profile *p, const struct profile_part *part, FILE *f)
{
	char share[NUMBER_MAX], lo[NUMBER_MAX], hi[NUMBER_MAX], name[NAME_BYTES];

	if (part->region < 0) {
		fputs("  instructions were not counted, and it is in no region that bursts tell of\n", f);
		return;
	}
	number_percent(part->share, 0, share);
	number_percent(part->lo, 0, lo);
	number_percent(part->hi, 0, hi);
	text_safe(p->regions[part->region].name, name, sizeof(name));
	fprintf(f, "  %s of the instructions of region %s", share, name);
	if (isfinite(part->lo))
		fprintf(f, ", 90%% interval %s..%s\n", lo, hi);
	else
		fputs(": how far that may be off is not known\n", f);
	/* As in the table: what is not known to its own size is none. */
	if (isfinite(part->cpi) && !((part->cpi_hi - part->cpi_lo) / 2 <= part->cpi))
		fputs("  cycles of an instruction of it, over the region's mean: -, bursts tell too little "
		      "of it\n",
		      f);
	else if (isfinite(part->cpi_hi))
		fprintf(f,
		        "  an instruction of it takes %.2f times the cycles of the region's mean, 90%% "
		        "interval "
		        "%.2f..%.2f\n",
		        part->cpi, part->cpi_lo, part->cpi_hi);
}

static void print_calls(const struct profile *p, const struct profile_func *func, FILE *f)
{
	const struct profile_calls *c = &func->calls;
	const double cyc = calls_cyc(p, func, &c->own);
	char n[NUMBER_MAX], lo[NUMBER_MAX], hi[NUMBER_MAX];

	if (!c->n_terms || isnan(c->n)) {
		fputs(func->inlined
		              ? "  calls: it is inlined\n"
		              : "  calls: not known; it is called from outside every region, or too seldom\n",
		      f);
		return;
	}
	number_grouped(c->n, n);
	number_grouped(c->lo, lo);
	number_grouped(c->hi, hi);
	fprintf(f, "  calls: %s", n);
	if (isfinite(c->lo))
		fprintf(f, ", 90%% interval %s..%s", lo, hi);
	number_mean(c->own.insn, n);
	fprintf(f, "; a call is %s instructions", n);
	number_mean(cyc, n);
	if (isfinite(cyc))
		fprintf(f, " and %s cycles", n);
	fputs(c->rolled.insn > c->own.insn ? ", neither callees nor what is inlined into it counted\n"
	                                   : ", callees not counted\n",
	      f);
	if (!isfinite(cyc) || !isfinite(c->own.cyc_lo))
		return;
	number_mean(c->own.cyc_lo, lo);
	number_mean(c->own.cyc_hi, hi);
	fprintf(f,
	        isfinite(c->own.cyc_hi) ? "  cycles of a call: 90%% interval %s..%s"
	                                : "  cycles of a call: 90%% interval %s or more",
	        lo, hi);
	fprintf(f, "; IPC of a call %.2f\n", calls_ipc(p, func, &c->own));
}

static const char *status_means(uint8_t status)
{
	static const char *const means[] = {
		[PROFILE_FIXED] = "corrected, and its 90% interval is at most 5% to either side",
		[PROFILE_RAW] = "its samples are shown as they are",
		[PROFILE_WEAK] = "corrected, but its interval is wider than 5% to either side",
		[PROFILE_UNRELIABLE] = "not to be used",
	};

	return status < sizeof(means) / sizeof(means[0]) ? means[status] : "";
}

/* "  also called malloc, __malloc": a line. */
static void print_aliases(const struct profile_func *func, FILE *f)
{
	const char *names = func->aliases;
	char one[NAME_BYTES], name[NAME_BYTES];

	for (size_t n; names && *names; names += n + (names[n] == '\n')) {
		n = strcspn(names, "\n");
		snprintf(one, sizeof(one), "%.*s", (int)n, names);
		text_safe(one, name, sizeof(name));
		fprintf(f, "%s%s", names == func->aliases ? "  also called " : ", ", name);
	}
	if (func->aliases)
		fputc('\n', f);
}

/* What is inlined into a function is another row of the table, and no part of what is said of it here. */
static void print_rolled(const struct profile *p, const struct profile_func *func, FILE *f)
{
	double own = profile_weight(p, &func->count), all = profile_weight(p, &func->rolled), total = 0;
	char share[NUMBER_MAX];

	if (!(all > own))
		return;
	for (size_t i = 0; i < p->n_funcs; i++)
		total += profile_weight(p, &p->funcs[i].count);
	number_percent(all / total, 0, share);
	fprintf(f, "  with what is inlined into it%s: %s of the %s, %s (report --rollup)\n",
	        own == 0 ? ", and it has nothing else" : "", share,
	        p->meta.insn_event >= 0 || p->meta.truth ? "instructions"
	        : p->meta.cyc_is_time                    ? "time"
	                                                 : "events",
	        profile_status_word(func->rolled_status));
}

static void print_head(const struct profile *p, const struct profile_func *func, FILE *f)
{
	const struct profile_count *c = &func->count;
	char name[NAME_BYTES], place[NAME_BYTES], raw[NUMBER_MAX], ipc[NUMBER_MAX];
	double ipc_raw = report_ipc(p, c->raw_insn, c->raw_cyc), ipc_fixed = report_ipc(p, c->insn, c->cyc);
	bool exact = func->evidence & PROFILE_BY_TRUTH;

	text_safe(report_name(func), name, sizeof(name));
	text_safe(report_file(p, func->file), place, sizeof(place));
	fprintf(f, "\n%s%s", name, func->inlined ? " (inlined)" : "");
	/* Some compilers tell the file alone, as Go's. */
	if (*place && func->line)
		fprintf(f, ", %s:%u", place, func->line);
	else if (*place)
		fprintf(f, ", %s", place);
	text_safe(report_module(p, func->module), place, sizeof(place));
	fprintf(f, "%s%s\n", *place ? ", in " : "", place);
	print_aliases(func, f);
	fprintf(f, "  status: %s", profile_status_word(func->status));
	text_safe(func->why && *func->why ? func->why
	          : func->status == PROFILE_RAW && profile_weight(p, &func->count) == 0
	                  ? "no sample is of its own code"
	          : exact && func->status == PROFILE_FIXED ? "counted exactly, in another run"
	                                                   : status_means(func->status),
	          place, sizeof(place));
	fprintf(f, ": %s\n", place);
	print_rolled(p, func, f);
	if (p->meta.relative && !p->meta.truth) {
		print_share(p, &func->part, f);
		print_known(p, func, f);
		return;
	}
	if (!report_has_insn(p)) {
		fputs("  no instructions were counted: there is nothing to correct\n", f);
		return;
	}
	print_count(p, exact, "instructions", c, f);
	number_grouped(c->cyc, raw);
	snprintf(ipc, sizeof(ipc), isfinite(ipc_raw) ? "%.2f" : "-", ipc_raw);
	fprintf(f, "  cycles: %s; IPC ", !report_has_cyc(p) ? "not counted" : raw);
	if (why_has_raw(p))
		fprintf(f, "raw %s, fixed ", ipc);
	snprintf(ipc, sizeof(ipc), isfinite(ipc_fixed) ? "%.2f" : "-", ipc_fixed);
	fprintf(f, "%s\n", ipc);
	if (report_no_ipc(p, c->insn, c->cyc))
		fprintf(f, "  %s\n", report_no_ipc(p, c->insn, c->cyc));
	print_calls(p, func, f);
	print_known(p, func, f);
}

static const char *event_of(const struct profile_equation *e)
{
	return e->event ? e->event : "?";
}

static void print_equations(const struct profile *p, const struct profile_region *r, FILE *f)
{
	bool shares = p->meta.relative || !why_has_raw(p), by_pace = p->meta.pace > 0 && !p->meta.truth;

	if (!r->n_equations || shares || by_pace) {
		fputs(by_pace && p->meta.pace_is_a_branch ? "    counted exactly: nothing; the total is the "
		                                            "region's branches, as sampled, times the "
		                                            "instructions a branch in its records (eq. 10)\n"
		      : by_pace ? "    counted exactly: nothing; the total is the region's time at its pace "
		                  "(eq. 10)\n"
		      : shares  ? "    counted exactly: nothing; the shares add up to 1 (eq. 3)\n"
		                : "    counted exactly: only the total of instructions (eq. 3)\n",
		      f);
		return;
	}
	/* Exact from sample to sample: of an interval that ends in another region only a part is this one's. */
	fprintf(f, "    what was counted%s, and what the result comes to (eq. 6; sd: standard deviations):\n",
	        r->total_sd > little_doubt ? " between samples, those next to its edges in parts"
	                                   : " exactly");
	for (size_t i = 0; i < r->n_equations; i++) {
		const struct profile_equation *e = &r->equations[i];
		char measured[NUMBER_MAX], fitted[NUMBER_MAX], off[NUMBER_MAX], name[128];

		if (r->n_parts > 1 && (i == 0 || e->part != r->equations[i - 1].part))
			fprintf(f, "     part %u of %u%s:\n", e->part + 1, r->n_parts,
			        i ? "" : " (loops and phases that are apart in time are solved apart)");
		text_safe(event_of(e), name, sizeof(name));
		number_grouped(e->measured, measured);
		number_grouped(e->fitted, fitted);
		number_percent(e->measured > 0 ? e->fitted / e->measured - 1 : NAN, 1, off);
		fprintf(f, "      %-24s counted %s, the result %s, off by %s", name, measured, fitted, off);
		if (e->sd > 0)
			fprintf(f, " (%.1f sd)", fabs(e->fitted - e->measured) / e->sd);
		fputc('\n', f);
	}
}

static void print_state(const struct profile *p, const struct profile_region *r, FILE *f)
{
	uint32_t open = r->n_rank < r->n_free ? r->n_free - r->n_rank : 0;

	fprintf(f, "    %u block%s and %u edge%s: ", r->n_blocks, sp_plural(r->n_blocks), r->n_edges,
	        sp_plural(r->n_edges));
	if (r->n_free)
		fprintf(f, "%u branch count%s all the others, and what is known settles %u of them to 10%%\n",
		        r->n_free, r->n_free == 1 ? " decides" : "s decide", r->n_rank);
	else
		fputs("not solved\n", f);
	if (open)
		fprintf(f, "    of %u branch count%s %u %s %s\n", r->n_free, sp_plural(r->n_free), open,
		        open == 1 ? "is" : "are",
		        r->evidence & PROFILE_BY_PATH ? "estimated from branch records or bursts"
		                                      : "not determined by anything measured");
	if (r->n_unseen)
		fprintf(f,
		        "    %u more branch counts are of code without samples, or with hardly any: it is "
		        "taken "
		        "not "
		        "to have run, but for these\n",
		        r->n_unseen);
	if (r->untaken_insn > 0)
		fprintf(f,
		        "    branch records give %.1f%% of the instructions to ways through the code that no "
		        "burst took; such few bursts don't prove that these never ran, and a larger "
		        "--burst-budget (record) tells\n",
		        100 * r->untaken_insn / r->insn);
	if (r->called_insn > 0)
		fprintf(f,
		        "    besides it calls other code, of some %.3g instructions by branch records or "
		        "bursts: "
		        "not counted here\n",
		        r->called_insn);
	if (r->total_sd > little_doubt)
		fprintf(f, "    the total is known to %.0f%%: %s\n", 100 * r->total_sd,
		        p->meta.pace_timed
		                ? "more timed paths tell more (a longer run, or --timed-bursts RATE)"
		                : "samples are too far apart for how long the program stays here, and a "
		                  "smaller period (record -c) tells more");
	if (isfinite(r->skid_periods))
		fprintf(f, "    the skid is %.1f loop iterations long\n", r->skid_periods);
}

/* A region has a status of its own, and as a rule another reason for it than the function's: both stand below one another. */
static void print_region_status(const struct profile_func *func, const struct profile_region *r, FILE *f)
{
	char why[NAME_BYTES];

	text_safe(r->why ? r->why : "", why, sizeof(why));
	fputs(profile_status_word(r->status), f);
	if (!*why)
		fputc('\n', f);
	else if (r->status == PROFILE_FIXED) /* what is too small to cost the status */
		fprintf(f, "; of a part of it: %s\n", why);
	else if (r->why && func->why && strcmp(func->why, r->why) == 0)
		fputs(" as a whole, for the same reason\n", f);
	else
		fprintf(f, " as a whole: %s\n", why);
}

static void print_part(const struct profile *p, const struct profile_func *func, const struct why_part *part,
                       FILE *f)
{
	const struct profile_region *r = part->region;
	char name[NAME_BYTES], at[32], advice[WHY_MAX_ADVICE][WHY_ADVICE_BYTES];
	bool exact = r->evidence & PROFILE_BY_TRUTH;
	size_t n;

	text_safe(r->name ? r->name : "?", name, sizeof(name));
	/* Of several by one name each has its address in it. */
	snprintf(at, sizeof(at), " at 0x%" PRIx64, r->vaddr);
	fprintf(f, "\n  region %s%s: ", name, strstr(name, at) ? "" : at);
	print_region_status(func, r, f);
	fprintf(f,
	        "    a region is a hot loop with all it calls, corrected together; %zu instructions of the "
	        "function "
	        "are in this one\n",
	        part->n_insns);
	if (report_has_insn(p)) {
		print_sum(p, exact, "the function in it", part->raw_insn, part->insn, f);
		print_sum(p, exact, "the whole region", r->raw_insn, r->insn, f);
	}
	/* Equations, draws and loops are of the counts that these take the place of. */
	if (exact) {
		fputs("    counted exactly: every instruction, in another run\n", f);
		return;
	}
	print_state(p, r, f);
	print_equations(p, r, f);
	n = why_advice(p, func, r, advice);
	if (n)
		fputs("    what would settle it:\n", f);
	for (size_t i = 0; i < n; i++)
		fprintf(f, "      - %s\n", advice[i]);
}

static int print_one(const struct profile *p, uint32_t func, FILE *f)
{
	struct why w = { 0 };
	int err = why_find(p, func, &w);

	if (err < 0)
		return err;
	print_head(p, w.func, f);
	for (size_t i = 0; i < w.n_parts; i++)
		print_part(p, w.func, &w.parts[i], f);
	if (w.outside.n_insns && report_has_insn(p)) {
		fprintf(f, "\n  outside any region: %zu instructions with samples%s\n", w.outside.n_insns,
		        p->meta.truth ? "" : ", left as they are");
		print_sum(p, w.func->evidence & PROFILE_BY_TRUTH, "there", w.outside.raw_insn, w.outside.insn,
		          f);
	}
	free(w.parts);
	return 0;
}

int why_check(const struct profile *p, const char *function)
{
	for (size_t i = 0; i < p->n_funcs; i++)
		if (report_matches(&p->funcs[i], function))
			return 0;
	return report_no_match(p, function);
}

int why_print(const struct profile *p, const char *function, const struct term *term)
{
	int err = why_check(p, function);

	for (size_t i = 0; err == 0 && i < p->n_funcs; i++)
		if (report_matches(&p->funcs[i], function))
			err = print_one(p, (uint32_t)i, term->f);
	return err;
}
