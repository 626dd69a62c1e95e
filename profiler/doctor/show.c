/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <jansson.h>

#include "profiler/base/err.h"
#include "profiler/doctor/doctor.h"

static const char *const words[] = { [DOCTOR_OK] = "ok",
	                             [DOCTOR_PARTLY] = "partly",
	                             [DOCTOR_MISSING] = "missing",
	                             [DOCTOR_UNKNOWN] = "unknown" };

static void machine_text(const struct doctor_machine *m, FILE *f)
{
	fprintf(f, "%s on %s, %s", m->kernel, m->arch, m->cpu);
	if (m->is_virtual)
		fputs(", a virtual machine", f);
	if (m->container)
		fprintf(f, ", in a container (%s)", m->container);
	if (m->user_namespace)
		fputs(", in a user namespace", f);
	if (m->seccomp)
		fputs(", under a filter of system calls", f);
	fputs("\n\n", f);
}

void doctor_text(const struct doctor *d, FILE *f)
{
	machine_text(&d->machine, f);
	for (size_t i = 0; i < d->n; i++) {
		const struct doctor_check *c = &d->check[i];

		fprintf(f, "%-16s  %-7s  %s\n", c->name, words[c->state], c->found);
		if (*c->remedy)
			fprintf(f, "%-16s  %-7s  %s\n", "", "", c->remedy);
	}
	if (d->plan.source)
		fprintf(f, "\nskidprof record PROGRAM takes %s.\n", d->makes);
	else
		fprintf(f, "\nskidprof record PROGRAM does not work: %s.\n", d->why);
	fprintf(f, "skidprof report corrects %s.\n", d->corrects);
}

/* -1 stands for no such setting. */
static json_t *setting(int value)
{
	return value < 0 ? json_null() : json_integer(value);
}

static json_t *machine_json(const struct doctor_machine *m)
{
	return json_pack("{s:s, s:s, s:s, s:b, s:s?, s:b, s:i, s:o, s:o, s:o}", "kernel", m->kernel, "arch",
	                 m->arch, "cpu", m->cpu, "virtual", m->is_virtual, "container", m->container,
	                 "user_namespace", m->user_namespace, "seccomp", m->seccomp, "perf_event_paranoid",
	                 setting(m->paranoid), "ptrace_scope", setting(m->ptrace_scope), "kptr_restrict",
	                 setting(m->kptr_restrict));
}

static json_t *checks_json(const struct doctor *d)
{
	json_t *all = json_array();

	for (size_t i = 0; i < d->n; i++) {
		const struct doctor_check *c = &d->check[i];

		json_array_append_new(all, json_pack("{s:s, s:s, s:s, s:s?}", "name", c->name, "state",
		                                     words[c->state], "found", c->found, "remedy",
		                                     *c->remedy ? c->remedy : NULL));
	}
	return all;
}

static json_t *record_json(const struct doctor *d)
{
	static const char *const bursts[] = {
		[DOCTOR_NO_BURSTS] = NULL, [DOCTOR_STEPPED] = "stepped", [DOCTOR_REPLAYED] = "replayed"
	};
	const struct record_plan *p = &d->plan;

	if (!p->source)
		return json_pack("{s:n, s:s}", "source", "why", d->why);
	return json_pack("{s:s, s:s, s:b, s:b, s:b, s:s?, s:s}", "source", p->source, "events", p->events,
	                 "counters", p->counts, "branch_records", p->records, "branch_cycles", p->tell_cycles,
	                 "bursts", p->bursts_hz > 0 ? bursts[d->bursts] : NULL, "takes", d->makes);
}

int doctor_json(const struct doctor *d, const char *version, FILE *f)
{
	json_t *doc = json_pack("{s:i, s:s, s:o, s:o, s:o, s:b, s:s}", "skidprof", 1, "version", version,
	                        "machine", machine_json(&d->machine), "checks", checks_json(d), "record",
	                        record_json(d), "corrected", d->corrected, "corrects", d->corrects);

	if (!doc)
		return sp_fail(SP_ENOMEM, "out of memory");
	json_dumpf(doc, f, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
	fputc('\n', f);
	json_decref(doc);
	return 0;
}
