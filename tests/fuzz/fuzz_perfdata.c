/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "profiler/base/log.h"
#include "profiler/perfdata/maps.h"
#include "profiler/perfdata/reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t sum; /* so that no read is optimised away */

static void look_at_events(const struct pd_reader *r)
{
	for (size_t i = 0; i < pd_n_events(r); i++) {
		const struct pd_event *e = pd_event(r, i);

		if (!e->name || e->leader < 0 || (size_t)e->leader >= pd_n_events(r))
			abort();
		sum += strlen(e->name);
		for (size_t k = 0; k < e->n_ids; k++)
			sum += e->ids[k];
	}
}

static void look_at_sample(const struct pd_reader *r, const struct pd_sample *s)
{
	for (size_t i = 0; i < s->n_values; i++) {
		if (s->values[i].event < -1 || s->values[i].event >= (int)pd_n_events(r))
			abort();
		sum += s->values[i].value;
	}
	for (size_t i = 0; i < s->n_branches; i++)
		sum += s->branches[i].from_ip ^ s->branches[i].to_ip;
	for (size_t i = 0; i < s->n_callchain; i++)
		sum += s->callchain[i];
	for (size_t i = 0; i < s->n_regs_user; i++)
		sum += s->regs_user[i];
	for (size_t i = 0; i < s->stack_user_bytes; i++)
		sum += s->stack_user[i];
}

static void look_at(const struct pd_reader *r, struct maps *m, const struct pd_record *rec)
{
	struct maps_place place;
	char room[MAPS_COMM_ROOM];
	const uint8_t *id;
	const char *comm;

	if (rec->event < -1 || rec->event >= (int)pd_n_events(r))
		abort();
	if (maps_apply(m, rec) < 0)
		return;
	if (rec->type == PERF_RECORD_SAMPLE) {
		look_at_sample(r, &rec->sample);
		if (maps_find(m, rec->pid, rec->sample.ip, &place)) {
			const struct maps_file *f = maps_file(m, place.file);

			sum += strlen(f->path) + place.off + pd_build_id(r, f->path, &id);
		}
	}
	comm = maps_comm(m, rec->pid, rec->tid, room);
	sum += strlen(comm);
}

/* Read all; returns the number of records. */
static uint64_t pass(struct pd_reader *r)
{
	struct pd_record rec;
	struct maps *m;
	uint64_t n = 0;

	if (maps_new(&m) < 0)
		return 0;
	while (pd_next(r, &rec) == 1) {
		look_at(r, m, &rec);
		n++;
	}
	maps_free(m);
	return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int fd = -1;
	static char path[64];
	struct pd_reader *r = NULL;

	sp_log_level_set(-1);
	if (fd < 0) {
		fd = memfd_create("perfdata", 0);
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	}
	if (fd < 0 || ftruncate(fd, 0) < 0 || pwrite(fd, data, size, 0) != (ssize_t)size)
		abort();
	if (pd_open(path, &r) == 0) {
		uint64_t n;

		look_at_events(r);
		n = pass(r);
		/* A second pass sees the same, unless groups or ids were learnt on the way. */
		if (pd_rewind(r) == 0 && pass(r) < n && !pd_header(r)->pipe)
			abort();
		look_at_events(r);
		pd_close(r);
	}
	return 0;
}
