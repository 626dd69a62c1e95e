/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "correct/recording/tasks.h"

#include <stdio.h>
#include <string.h>

/* Among the rows of a thread, from the latest back; -1 = it never had that name. */
static long find_row(const struct tasks *t, long row, const char *comm)
{
	while (row >= 0 && strcmp(t->rows.v[row].comm, comm) != 0)
		row = t->rows.v[row].before;
	return row;
}

/* The row of a thread under this name; a name that it never had makes a new one. */
static long row_of(struct tasks *t, const struct pd_record *rec, const char *comm)
{
	size_t thread = pairs_must(&t->threads, rec->pid, rec->tid);
	struct task_sum sum = { .pid = rec->pid, .tid = rec->tid };
	long row;

	if (thread == t->current.n)
		vec_add(&t->current, -1);
	snprintf(sum.comm, sizeof(sum.comm), "%s", comm);
	row = find_row(t, t->current.v[thread], sum.comm);
	if (row < 0) {
		sum.before = t->current.v[thread];
		vec_add(&t->rows, sum);
		row = (long)t->rows.n - 1;
		t->current.v[thread] = row;
	}
	return row;
}

void tasks_add(struct tasks *t, const struct recording *r, const struct pd_record *rec)
{
	char room[MAPS_COMM_ROOM];
	long row;

	if (rec->event != r->insn_event && rec->event != r->cyc_event)
		return;
	row = row_of(t, rec, maps_comm(r->maps, rec->pid, rec->tid, room));
	if (rec->event == r->insn_event) {
		t->rows.v[row].insn += recording_weight(r, rec);
		/* Those that are counted with a sample of cycles are no sample more. */
		t->rows.v[row].n_insn += !r->insn_counted;
	} else {
		t->rows.v[row].cyc += recording_weight(r, rec);
		t->rows.v[row].n_cyc++;
	}
}

void tasks_fini(struct tasks *t)
{
	pairs_fini(&t->threads);
	vec_fini(&t->current);
	vec_fini(&t->rows);
}
