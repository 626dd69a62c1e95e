/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/calibrate/model.h"

#include "profiler/base/err.h"
#include "profiler/calibrate/walk.h"

enum {
	LINE = 64,
	SETTLE_TURNS = 8,
	MISS_TURNS = 24,
	PAIR_INSNS = 200000, /* where branches go at random, many are needed */
	LOOP_INSNS = 20000,
	LEAST_TURNS = 48,
	CHASE_TURNS = 512, /* measured */
	PATTERN_LEARN = 4, /* a trace of more would take more memory than it is worth */
	PATTERN_REPEATS = 2,
	HUGE_PAGE_KB = 2048,
	FAR_SHIFT = 36, /* every point has memory of its own */
};

struct point {
	uint32_t pressure;
	double parts;
	size_t settle;
	struct sim_trace trace;
};

/* What is known of one cliff. */
struct course {
	const struct cliff *cliff;
	struct sim_replay *replay;
	VEC(struct point *) points;
};

struct cliff_model {
	struct cliff_arena *arena;
	struct cliff_code code;
	VEC(struct course *) courses;
};

int cliff_model_open(struct cliff_arena *arena, struct cliff_model **out)
{
	struct cliff_model *m = calloc(1, sizeof(*m));

	if (!m || !(m->code.code = malloc(CLIFF_CODE_BYTES))) {
		free(m);
		return sp_fail(SP_ENOMEM, "out of memory for the cliffs on the model");
	}
	m->code.cap = CLIFF_CODE_BYTES;
	m->arena = arena;
	*out = m;
	return 0;
}

static void point_free(struct point *p)
{
	sim_trace_fini(&p->trace);
	free(p);
}

static void course_free(struct course *c)
{
	for (size_t i = 0; i < c->points.n; i++)
		point_free(c->points.v[i]);
	vec_fini(&c->points);
	sim_replay_free(c->replay);
	free(c);
}

void cliff_model_close(struct cliff_model *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->courses.n; i++)
		course_free(m->courses.v[i]);
	vec_fini(&m->courses);
	free(m->code.code);
	free(m);
}

static int course_of(struct cliff_model *m, const struct cliff *c, struct course **out)
{
	struct course *course;
	int err;

	for (size_t i = 0; i < m->courses.n; i++)
		if (m->courses.v[i]->cliff == c) {
			*out = m->courses.v[i];
			return 0;
		}
	if (!(course = calloc(1, sizeof(*course))))
		return sp_fail(SP_ENOMEM, "out of memory for the cliffs on the model");
	course->cliff = c;
	if ((err = sim_replay_new(SIM_ISA_X86_64, &course->replay)) < 0 ||
	    (err = vec_push(&m->courses, course)) < 0) {
		course_free(course);
		return err;
	}
	*out = course;
	return 0;
}

/* How many turns of its loop a trace has, and how many of them are there to settle. */
static size_t turns_of(const struct cliff *c, uint32_t p, const struct cliff_code *code, size_t *settle)
{
	size_t n = (c->shape == CLIFF_PAIR ? PAIR_INSNS : LOOP_INSNS) / code->insns_in_loop;

	*settle = SETTLE_TURNS;
	switch ((enum cliff_shape)c->shape) {
	case CLIFF_MISSES:
		return SETTLE_TURNS + MISS_TURNS;
	case CLIFF_PATTERN:
		*settle = (size_t)PATTERN_LEARN * p;
		return *settle + (size_t)PATTERN_REPEATS * p;
	case CLIFF_CHASE:
		*settle = code->warm_iterations;
		return code->warm_iterations + CHASE_TURNS;
	default:
		return SETTLE_TURNS + (n > LEAST_TURNS ? n : LEAST_TURNS);
	}
}

static int trace(struct cliff_model *m, struct course *course, struct point *p)
{
	struct walk_code w;
	size_t turns;
	int err;

	cliff_arena_prepare(m->arena, course->cliff, p->pressure);
	if ((err = cliff_emit(course->cliff, p->pressure, &m->code)) < 0)
		return err;
	turns = turns_of(course->cliff, p->pressure, &m->code, &p->settle);
	w = (struct walk_code){ .code = m->code.code,
		                .n_bytes = m->code.n_bytes,
		                .loop_off = m->code.loop_off,
		                .arg = { turns, (uint64_t)(uintptr_t)m->arena->state },
		                .max_insns = UINT64_C(1) << 30 };
	p->parts = m->code.parts;
	p->trace.regular = course->cliff->shape != CLIFF_CHASE && course->cliff->shape != CLIFF_PATTERN;
	err = walk_x86(course->replay, &w, &p->trace);
	return err < 0 ? sp_fail_prefix(err, "cliff %s", course->cliff->name) : 0;
}

static int point_of(struct cliff_model *m, struct course *course, uint32_t pressure, struct point **out)
{
	struct point *p;
	int err;

	for (size_t i = 0; i < course->points.n; i++)
		if (course->points.v[i]->pressure == pressure) {
			*out = course->points.v[i];
			return 0;
		}
	if (!(p = calloc(1, sizeof(*p))))
		return sp_fail(SP_ENOMEM, "out of memory for the cliffs on the model");
	p->pressure = pressure;
	if ((err = trace(m, course, p)) < 0 || (err = vec_push(&course->points, p)) < 0) {
		point_free(p);
		return err;
	}
	*out = p;
	return 0;
}

int cliff_run_model(struct cliff_model *m, const struct sim_config *config, const struct cliff *c,
                    struct cliff_curve *curve)
{
	struct sim_config here = *config;
	struct course *course = NULL;
	struct point *p = NULL;
	int err;

	/* The cliffs' memory is not what programs have: its pages are as the system gave them. */
	here.page_kb = m->arena->has_huge_pages ? HUGE_PAGE_KB : config->page_kb;
	if ((err = course_of(m, c, &course)) < 0 || (err = sim_replay_start(course->replay, &here)) < 0)
		return err;
	for (size_t i = 0; i < curve->n; i++) {
		if ((err = point_of(m, course, curve->pressure[i], &p)) < 0)
			return err;
		curve->response[i] =
		        sim_trace_run(course->replay, &p->trace, p->settle, (uint64_t)(i + 1) << FAR_SHIFT) /
		        p->parts;
		curve->spread[i] = 0;
	}
	return 0;
}
