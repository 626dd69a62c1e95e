/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "correct/evidence/evidence.h"

#include <stdlib.h>

#include "profiler/base/mem.h"

/* The one table of kinds of evidence. */
static const struct evidence_ops *const kinds[] = { &evidence_mix, &evidence_trips, &evidence_path,
	                                            &evidence_calls, &evidence_border };
enum { N_KINDS = sizeof(kinds) / sizeof(kinds[0]) };

struct evidence {
	void *state[N_KINDS];
};

static int copy_input(const struct evidence_input *in, void **state)
{
	struct evidence_input *own = mem_malloc(sizeof(*own));

	*own = *in;
	*state = own;
	return 0;
}

int evidence_begin(const struct evidence_input *in, struct evidence **out)
{
	struct evidence *ev = mem_calloc(1, sizeof(*ev));
	int err = 0;

	for (size_t i = 0; i < N_KINDS && err == 0; i++)
		err = (kinds[i]->begin ? kinds[i]->begin : copy_input)(in, &ev->state[i]);
	if (err < 0) {
		evidence_end(ev);
		return err;
	}
	*out = ev;
	return 0;
}

void evidence_sample(struct evidence *ev, const struct sample_seen *s)
{
	for (size_t i = 0; i < N_KINDS; i++)
		if (kinds[i]->sample)
			kinds[i]->sample(ev->state[i], s);
}

void evidence_finish(struct evidence *ev)
{
	for (size_t i = 0; i < N_KINDS; i++)
		if (kinds[i]->finish)
			kinds[i]->finish(ev->state[i]);
}

int evidence_equations(struct evidence *ev, size_t scope, const struct space *space, struct equations *out)
{
	for (size_t i = 0; i < N_KINDS; i++) {
		int err = kinds[i]->equations(ev->state[i], scope, space, out);

		if (err < 0)
			return err;
	}
	return 0;
}

void evidence_end(struct evidence *ev)
{
	if (!ev)
		return;
	for (size_t i = 0; i < N_KINDS; i++)
		if (ev->state[i])
			(kinds[i]->end ? kinds[i]->end : free)(ev->state[i]);
	free(ev);
}

void *evidence_state(struct evidence *ev, const struct evidence_ops *kind)
{
	for (size_t i = 0; i < N_KINDS; i++)
		if (kinds[i] == kind)
			return ev->state[i];
	return NULL;
}
