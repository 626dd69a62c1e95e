/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * From blocks that have run to their timing.  They are gathered, so that the model works through many at a time and
 * the tables it will need are asked for in time; where the program has one thread, a thread of ours does that for one
 * batch while the emulator fills the next.  Whatever looks at a core from outside settles first, and then only
 * one thread is at work: system calls do, so forks, execs, maps and ends find everything as if it had been timed at once.
 */
#include "profiler/sim/plugin_int.h"

#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum {
	BATCH_BLOCKS = 2048,
	BATCH_ACCESSES = 8192,
	SYNC_BLOCKS = 64, /* of a batch that is timed by the thread itself, which others may wait for */
	AHEAD = 48,       /* accesses: their tables are asked for so early */
	STACK_BYTES = 1 << 20,
};

struct ran {
	struct sim_code *code;
	uint64_t next_ip;
	int64_t syscall; /* that it ended in; -1: in none */
	uint32_t n_insn, n_mem;
	struct sim_foretold foretold;
};

struct batch {
	uint32_t n_ran, n_mem;
	struct ran ran[BATCH_BLOCKS];
	uint64_t mem[BATCH_ACCESSES + MAX_ACCESSES + 1];
};

struct timer {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t work, done;
	struct vcpu *v;
	struct batch *batch; /* that is to be timed; NULL: none is */
	struct batch *spare;
	bool ends;
};

/* ---- timing ---- */

static const uint64_t *expect(const struct sim_memory *m, const uint64_t *from, const uint64_t *to)
{
	for (; from < to; from++)
		if (*from != SIM_MEM_END && !sim_memory_is_near(m, *from >> 16))
			sim_memory_expect(m, *from >> 16);
	return from;
}

static void count_missed(const struct sim_core *c, const struct sim_block *b)
{
	pthread_mutex_lock(&plugin.lock);
	for (uint32_t i = 0; i < c->n_missed; i++)
		counts_missed(&plugin.counts, b, c->missed[i].index);
	pthread_mutex_unlock(&plugin.lock);
}

/* Which way branches were predicted does not depend on time, but with two kinds of core on whose predictor is asked. */
static void foretell(struct vcpu *v, struct batch *batch)
{
	for (struct ran *r = batch->ran; r < batch->ran + batch->n_ran; r++)
		sim_core_foretell(&v->core->predictor, &r->code->block, r->n_insn, r->next_ip, &r->foretold);
}

static void run_block(struct sim_core *c, const struct sim_block *b, const struct ran *r, const uint64_t *mem,
                      bool foretold)
{
	if (foretold)
		sim_core_run_foretold(c, b, r->n_insn, r->next_ip, mem, &r->foretold);
	else
		sim_core_run(c, b, r->n_insn, r->next_ip, mem);
}

static void time_batch(struct vcpu *v, struct batch *batch)
{
	const uint64_t *mem = batch->mem, *ahead = mem, *end = mem + batch->n_mem;

	for (const struct ran *r = batch->ran; r < batch->ran + batch->n_ran; r++) {
		const struct sim_block *b = v->now ? r->code->other : &r->code->block;

		ahead = expect(&v->core->memory, ahead, end - mem > AHEAD ? mem + AHEAD : end);
		run_block(v->core, b, r, mem, !v->kind[1]);
		mem += r->n_mem;
		if (plugin.config.counting && v->core->n_missed)
			count_missed(v->core, b);
		if (r->syscall >= 0)
			sim_core_kernel(v->core, (uint64_t)r->syscall);
		if (v->kind[1])
			plugin_move(v);
	}
	batch->n_ran = batch->n_mem = 0;
}

/* ---- the thread that does it ---- */

static void *run_timer(void *user)
{
	struct timer *t = user;

	pthread_mutex_lock(&t->lock);
	while (!t->ends) {
		if (!t->batch) {
			pthread_cond_wait(&t->work, &t->lock);
			continue;
		}
		pthread_mutex_unlock(&t->lock);
		time_batch(t->v, t->batch);
		pthread_mutex_lock(&t->lock);
		t->spare = t->batch;
		t->batch = NULL;
		pthread_cond_signal(&t->done);
	}
	pthread_mutex_unlock(&t->lock);
	return NULL;
}

static bool start_thread(struct timer *t)
{
	pthread_attr_t attr;
	sigset_t all, before;
	bool ok;

	if (pthread_attr_init(&attr) != 0)
		return false;
	/* Signals are the program's, and the emulator's. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	ok = pthread_attr_setstacksize(&attr, STACK_BYTES) == 0 &&
	     pthread_create(&t->thread, &attr, run_timer, t) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	return ok;
}

/* NULL: there is none, and there is not to be another try. */
static struct timer *timer_new(struct vcpu *v)
{
	struct timer *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->v = v;
	t->spare = calloc(1, sizeof(*t->spare));
	pthread_mutex_init(&t->lock, NULL);
	pthread_cond_init(&t->work, NULL);
	pthread_cond_init(&t->done, NULL);
	if (t->spare && start_thread(t))
		return t;
	free(t->spare);
	free(t);
	return NULL;
}

static void wait_for_timer(struct timer *t)
{
	while (t->batch)
		pthread_cond_wait(&t->done, &t->lock);
}

/* The batch goes to the thread, and the one it has finished is filled next. */
static void hand_over(struct vcpu *v)
{
	struct timer *t = v->timer;
	struct batch *full = v->batch;

	if (!v->kind[1])
		foretell(v, full);
	pthread_mutex_lock(&t->lock);
	wait_for_timer(t);
	v->batch = t->spare;
	t->spare = NULL;
	t->batch = full;
	pthread_cond_signal(&t->work);
	pthread_mutex_unlock(&t->lock);
}

static bool has_two_processors(void)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof(set), &set) == 0 && CPU_COUNT(&set) > 1;
}

/* ---- what the other files use ---- */

int plugin_batch_new(struct vcpu *v)
{
	v->batch = calloc(1, sizeof(*v->batch));
	if (!v->batch)
		return -1;
	v->mem = v->batch->mem;
	v->wants_timer = has_two_processors();
	return 0;
}

void plugin_batch_free(struct vcpu *v)
{
	struct timer *t = v->timer;

	if (t) {
		pthread_mutex_lock(&t->lock);
		wait_for_timer(t);
		t->ends = true;
		pthread_cond_signal(&t->work);
		pthread_mutex_unlock(&t->lock);
		pthread_join(t->thread, NULL);
		free(t->spare);
		free(t);
	}
	free(v->batch);
	v->timer = NULL;
	v->batch = NULL;
}

void plugin_batch_forget(struct vcpu *v)
{
	v->timer = NULL;
	v->wants_timer = has_two_processors();
	v->batch->n_ran = v->batch->n_mem = 0;
	v->mem = v->batch->mem;
	v->n_mem = 0;
}

void plugin_settle(struct vcpu *v)
{
	struct timer *t = v->timer;

	if (t) {
		pthread_mutex_lock(&t->lock);
		wait_for_timer(t);
		pthread_mutex_unlock(&t->lock);
	}
	if (!v->batch->n_ran)
		return;
	if (!v->kind[1])
		foretell(v, v->batch);
	time_batch(v, v->batch);
	/* Those of the block that has not ended move to the front. */
	memmove(v->batch->mem, v->mem, v->n_mem * sizeof(v->mem[0]));
	v->mem = v->batch->mem;
}

/* Is the batch to be timed now? */
static bool is_due(struct vcpu *v)
{
	const struct batch *b = v->batch;

	if (b->n_ran == BATCH_BLOCKS || b->n_mem > BATCH_ACCESSES)
		return true;
	return b->n_ran >= SYNC_BLOCKS && (!v->wants_timer || plugin.n_vcpus > 1);
}

void plugin_ran(struct vcpu *v, uint32_t n_insn, uint64_t next_ip)
{
	struct batch *b = v->batch;

	v->mem[v->n_mem++] = SIM_MEM_END;
	b->ran[b->n_ran++] = (struct ran){ v->code, next_ip, v->syscall, n_insn, v->n_mem };
	b->n_mem += v->n_mem;
	v->n_mem = 0;
	if (v->syscall >= 0) {
		plugin_settle(v);
	} else if (is_due(v)) {
		if (v->wants_timer && plugin.n_vcpus == 1 && !v->timer) {
			v->timer = timer_new(v);
			v->wants_timer = v->timer != NULL;
		}
		if (v->timer && plugin.n_vcpus == 1)
			hand_over(v);
		else
			plugin_settle(v);
	}
	v->mem = v->batch->mem + v->batch->n_mem;
}
