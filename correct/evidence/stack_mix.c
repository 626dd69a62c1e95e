/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "correct/evidence/stack_mix.h"

#include <stdlib.h>
#include <string.h>

#include "correct/evidence/events.h"
#include "profiler/base/err.h"

enum { TABLE_SIZE = 1 << 14 };

/* A straight run, by the addresses of its ends: looked up once. */
struct run {
	uint32_t pid;
	int32_t scope;
	uint64_t start_ip, from_ip;
	bool used;
};

struct stack_mix {
	struct evidence_input in;
	int *kinds;
	size_t n;
	struct run *table; /* [TABLE_SIZE] */
	float *sums; /* [TABLE_SIZE][1 + n] instructions of a run, 0 = it is none of the scope's; then its counts */
	uint64_t maps_changes;
};

int stack_mix_new(const struct evidence_input *in, const int *kinds, size_t n, struct stack_mix **out)
{
	struct stack_mix *m = calloc(1, sizeof(*m));

	*out = m;
	if (!m)
		return sp_fail(SP_ENOMEM, "out of memory");
	m->in = *in;
	m->n = n;
	m->kinds = calloc(n + 1, sizeof(*m->kinds));
	m->table = calloc(TABLE_SIZE, sizeof(*m->table));
	m->sums = calloc(TABLE_SIZE * (n + 1), sizeof(*m->sums));
	if (!m->kinds || !m->table || !m->sums)
		return sp_fail(SP_ENOMEM, "out of memory");
	memcpy(m->kinds, kinds, n * sizeof(*kinds));
	return 0;
}

void stack_mix_free(struct stack_mix *m)
{
	if (!m)
		return;
	free(m->kinds);
	free(m->table);
	free(m->sums);
	free(m);
}

/* A block that is run to its end, and left by a taken branch or not. */
static void add_block(const struct stack_mix *m, const struct flow_block *b, bool taken, float *sums)
{
	const struct insn *insns = m->in.graph->insns + b->insn0;

	for (uint32_t i = 0; i < b->n_insn; i++)
		for (size_t k = 0; k < m->n; k++)
			sums[1 + k] += (float)mix_of_insn(m->kinds[k], &insns[i]);
	for (size_t k = 0; k < m->n && b->n_insn; k++)
		sums[1 + k] += (float)mix_of_edge(m->kinds[k], &insns[b->n_insn - 1],
		                                  taken ? FLOW_TAKEN : FLOW_FALL);
	sums[0] += (float)b->n_insn;
}

static void trace(const struct stack_mix *m, int32_t scope, struct place start, struct place from,
                  float *sums)
{
	const struct flow_graph *g = m->in.graph;
	long first, last;

	memset(sums, 0, (m->n + 1) * sizeof(*sums));
	if (start.module < 0 || from.module != start.module || from.vaddr < start.vaddr)
		return;
	first = flow_block_at(g, (uint32_t)start.module, start.vaddr);
	last = flow_block_at(g, (uint32_t)from.module, from.vaddr);
	if (first < 0 || last < first || g->blocks[first].vaddr != start.vaddr)
		return;
	for (long b = first; b <= last; b++)
		if (problem_block_at(m->in.problems[scope], (uint32_t)b) < 0 ||
		    (b < last && g->blocks[b].end_vaddr != g->blocks[b + 1].vaddr))
			return;
	for (long b = first; b <= last; b++)
		add_block(m, &g->blocks[b], b == last, sums);
}

static const float *sums_of_run(struct stack_mix *m, const struct sample_seen *seen, uint64_t start_ip,
                                uint64_t from_ip)
{
	const uint32_t pid = seen->record->pid;
	uint64_t hash = (start_ip * 0x9e3779b97f4a7c15u ^ from_ip) * 0x9e3779b97f4a7c15u ^ pid ^
	                (uint64_t)seen->scope << 32;
	size_t at = (hash ^ hash >> 29) % TABLE_SIZE;
	struct run *r = &m->table[at];
	float *sums = m->sums + at * (m->n + 1);

	if (r->used && r->pid == pid && r->scope == seen->scope && r->start_ip == start_ip &&
	    r->from_ip == from_ip)
		return sums;
	*r = (struct run){ pid, seen->scope, start_ip, from_ip, true };
	trace(m, seen->scope, recording_place(m->in.rec, pid, start_ip),
	      recording_place(m->in.rec, pid, from_ip), sums);
	return sums;
}

bool stack_mix_of(struct stack_mix *m, const struct sample_seen *seen, float *out)
{
	const struct pd_sample *smp = &seen->record->sample;
	float insn = 0;

	if (m->maps_changes != m->in.rec->maps_changes) {
		memset(m->table, 0, TABLE_SIZE * sizeof(*m->table));
		m->maps_changes = m->in.rec->maps_changes;
	}
	memset(out, 0, m->n * sizeof(*out));
	/* The newest piece of a record may have lost a branch (path_impl.h). */
	for (size_t i = 1; seen->scope >= 0 && i + 1 < smp->n_branches; i++) {
		const float *sums =
		        sums_of_run(m, seen, smp->branches[i + 1].to_ip, smp->branches[i].from_ip);

		for (size_t k = 0; k < m->n; k++)
			out[k] += sums[1 + k];
		insn += sums[0];
	}
	for (size_t k = 0; insn > 0 && k < m->n; k++)
		out[k] /= insn;
	return insn > 0;
}
