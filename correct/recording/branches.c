/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "correct/recording/branches.h"

static void add_pair(const struct recording *r, uint32_t pid, uint64_t from_ip, uint64_t to_ip,
                     struct pairs *pairs, struct branch_list *out)
{
	/* Code that takes another's place at its address is another branch's. */
	size_t k = pairs_must(pairs, from_ip ^ (uint64_t)pid << 48, to_ip ^ r->made_changes << 48);

	if (k == out->n) {
		struct place from = recording_place(r, pid, from_ip), to = recording_place(r, pid, to_ip);
		struct flow_seen seen = { (uint32_t)from.module, (uint32_t)to.module, from.vaddr, to.vaddr,
			                  0 };

		vec_add(out, seen);
	}
	out->v[k].n++;
}

void branch_sums_add(struct branch_sums *s, const struct recording *r, const struct pd_record *rec)
{
	const struct pd_branch *b = rec->sample.branches;
	/* Between the newest of a processor's record and the one before, a branch may be missing. */
	const size_t first_run = rec->event == r->burst_event ? 0 : 1;

	for (size_t i = 0; i < r->n_apart; i++)
		add_pair(r, rec->pid, r->apart[i].from_ip, r->apart[i].to_ip, &s->pairs, &s->seen);
	for (size_t i = 0; i < rec->sample.n_branches; i++) {
		add_pair(r, rec->pid, b[i].from_ip, b[i].to_ip, &s->pairs, &s->seen);
		/* Newest first: the older one's target, and on to this one's source. */
		if (i >= first_run && i + 1 < rec->sample.n_branches)
			add_pair(r, rec->pid, b[i + 1].to_ip, b[i].from_ip, &s->run_pairs, &s->runs);
		s->n_branches++;
	}
}

bool branch_sums_is_still(struct branch_sums *s, const struct pd_record *rec)
{
	return pd_stack_is_still(pairs_in(&s->threads, &s->last, rec->tid, 0), &rec->sample);
}

static void drop_unplaced(struct branch_list *seen)
{
	size_t kept = 0;

	for (size_t i = 0; i < seen->n; i++)
		if ((int32_t)seen->v[i].from_module >= 0 && (int32_t)seen->v[i].to_module >= 0)
			seen->v[kept++] = seen->v[i];
	seen->n = kept;
}

void branch_sums_end(struct branch_sums *s)
{
	drop_unplaced(&s->seen);
	drop_unplaced(&s->runs);
}

void branch_sums_fini(struct branch_sums *s)
{
	pairs_fini(&s->pairs);
	pairs_fini(&s->run_pairs);
	vec_fini(&s->seen);
	vec_fini(&s->runs);
	pairs_fini(&s->threads);
	vec_fini(&s->last);
	*s = (struct branch_sums){ 0 };
}
