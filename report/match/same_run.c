/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/match/same_run.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "correct/judge/reasons.h"

/* Intervals of a total that timed paths tell, and standard deviations of a count of samples, past which it is no chance. */
static const double max_intervals = 3;

/* Of all cycles, in code that the truth never saw, past which the two are not the same run. */
static const double max_unseen = 0.01;

/* Of all cycles, that instructions need which were counted where no time was sampled. */
static const double max_without_time = 0.05;

static bool is_exact(const struct profile_func *f)
{
	return f->rolled_evidence & PROFILE_BY_TRUTH;
}

static void doubt(struct profile *p, const char *why)
{
	p->meta.truth_why = profile_string(p, why);
	p->worst = PROFILE_UNRELIABLE;
}

/* Instructions of the truth, and as they were recorded, of what both have. */
static void add_up(const struct profile *p, double *truth, double *ours, double *cyc)
{
	*truth = *ours = *cyc = 0;
	for (size_t f = 0; f < p->n_funcs; f++) {
		const struct profile_func *func = &p->funcs[f];

		if (!is_exact(func))
			continue;
		*truth += func->rolled.insn;
		*ours += func->rolled.raw_insn;
		*cyc += func->rolled.cyc;
	}
}

/* How far a total of all instructions may be off by chance, and 0 where none was recorded. */
static double total_noise(const struct profile *p, double *ours)
{
	const struct profile_meta *m = &p->meta;
	const struct profile_event *e = m->insn_event >= 0 ? &m->events[m->insn_event] : NULL;

	/* What no sample stands for is in the truth. */
	if (e && e->n_samples)
		return *ours * (fmax(same_run_most_off, max_intervals / sqrt((double)e->n_samples)) +
		                (e->ended + e->hidden) / (1 - e->ended));
	if (!(m->timed_insn > 0))
		return 0;
	*ours = m->timed_insn;
	return max_intervals * (m->timed_hi - m->timed_lo) / 2;
}

/* Does the event that was sampled beside instructions count the core's cycles? */
static bool has_cycles(const struct profile_meta *m)
{
	const char *name = m->cyc_event >= 0 ? m->events[m->cyc_event].name : NULL;

	return m->cyc_event >= 0 && (m->cyc_known || m->core_hz > 0 || (name && strstr(name, "cycles")));
}

/*
 * Cycles that the exact instructions need beyond those sampled, function by function.  Twice as many a cycle as a core keeps up
 * seem to run where cycles land on the code that retires together with it.
 */
static double without_time(const struct profile *p)
{
	const struct profile_event *e = &p->meta.events[p->meta.cyc_event];
	double period = profile_mean_period(e) * p->meta.cyc_per_event, sum = 0;

	for (size_t f = 0; f < p->n_funcs; f++) {
		const struct profile_count *c = &p->funcs[f].rolled;
		double chance = profile_fewest_samples * period + max_intervals * sqrt(c->cyc * period);

		if (is_exact(&p->funcs[f]))
			sum += fmax(c->insn / (2 * PROFILE_MAX_IPC) - c->cyc - chance, 0);
	}
	return sum;
}

void same_run_doubt(struct profile *p)
{
	double truth, ours, cyc, noise;
	char why[300];

	add_up(p, &truth, &ours, &cyc);
	noise = total_noise(p, &ours);
	if (noise > 0 && fabs(truth - ours) > noise) {
		snprintf(why, sizeof(why),
		         "the truth has %.3g instructions, this recording %.3g: another input, or a part of "
		         "the "
		         "run",
		         truth, ours);
		doubt(p, why);
		return;
	}
	if (!has_cycles(&p->meta) || !(cyc > 0))
		return;
	if (truth > PROFILE_MAX_IPC * cyc) {
		snprintf(why, sizeof(why),
		         "the truth has %.3g instructions, this recording %.3g cycles, and no core keeps up "
		         "%.0f a cycle: a longer run, or another input",
		         truth, cyc, truth / cyc);
		doubt(p, why);
		return;
	}
	if (without_time(p) > max_without_time * cyc)
		doubt(p, "the truth has instructions where hardly any time was sampled: another input");
}

/* How many samples a count stands for: those of cycles, where there are some. */
static double samples_of(const struct profile *p, const struct profile_count *c)
{
	bool cyc = p->meta.cyc_event >= 0;
	int i = cyc ? p->meta.cyc_event : p->meta.insn_event;
	const struct profile_event *e = i >= 0 && (size_t)i < p->meta.n_events ? &p->meta.events[i] : NULL;
	double n = cyc ? c->raw_cyc / p->meta.cyc_per_event : c->raw_insn;

	return e && e->n_samples ? n / profile_mean_period(e) : 0;
}

void same_run_doubt_unseen(struct profile *p, const bool *own, const bool *rolled)
{
	const struct profile_func *most = NULL;
	/*
	 * One sample is enough against a count of none, for it stands where something ran.  Tools that count by name may have put what ran
	 * to another name, a caller's: of theirs more samples are asked for, as they are against a whole run.
	 */
	double all = 0, unseen = 0, least = p->meta.truth_rolled ? profile_fewest_samples : 0;
	char why[600];

	for (size_t f = 0; f < p->n_funcs; f++) {
		struct profile_func *func = &p->funcs[f];

		all += func->rolled.raw_cyc;
		if (own[f] && samples_of(p, &func->count) > least) {
			func->status = reason_status_other_run;
			func->why = reason_text_other_run;
		}
		if (!rolled[f] || !(samples_of(p, &func->rolled) > least))
			continue;
		func->rolled_status = reason_status_other_run;
		func->rolled_why = reason_text_other_run;
		if (!(samples_of(p, &func->rolled) > profile_fewest_samples))
			continue;
		unseen += func->rolled.raw_cyc;
		if (!most || func->rolled.raw_cyc > most->rolled.raw_cyc)
			most = func;
	}
	for (size_t i = 0; i < p->n_insns; i++)
		if (p->insns[i].func < p->n_funcs && p->funcs[p->insns[i].func].why == reason_text_other_run)
			p->insns[i].status = PROFILE_UNRELIABLE;
	if (!most || !(unseen > max_unseen * all))
		return;
	snprintf(why, sizeof(why), "%.100s has %.1f%% of the cycles: %s", most->name,
	         100 * most->rolled.raw_cyc / all, reason_text_other_run);
	doubt(p, why);
}
