/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * From blocks that have run to their timing.  They are gathered, so that the model works through many at a time and
 * the tables it will need are asked for in time; where the program has one thread, a thread of ours does that while
 * the emulator fills the next ones.  They go to it in a ring, so that neither waits for the other as long as there are
 * batches, and room for them.  Whatever looks at a core from outside settles first, and then only one thread is at
 * work: system calls do, so forks, execs, maps and ends find everything as if it had been timed at once.
 */
#include "profiler/sim/plugin_int.h"

#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum {
	/* Few enough for all batches of a ring to stay in the processor's second cache. */
	BATCH_BLOCKS = 512,
	BATCH_ACCESSES = 2048,
	RING = 16,        /* power of two */
	ALONE = 4,        /* batches at the beginning that are not worth a thread */
	SYNC_BLOCKS = 64, /* of a batch that is timed by the thread itself, which others may wait for */
	AHEAD = 48,       /* accesses: their tables are asked for so early */
	STACK_BYTES = 1 << 20,
	SPINS = 512, /* looks for the next batch before the thread sleeps: some microseconds */
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

/* Batches are numbered as they are handed over; number n lies in ring[n % RING], and the next one is being filled. */
struct timer {
	pthread_t thread;
	struct vcpu *v;
	struct batch *ring[RING];
	uint32_t handed, timed; /* how many; one thread adds to each */
	uint32_t wake_at;       /* the emulator waits until no more than so many are left; NOT_WAITING */
	bool sleeps, ends;      /* the timing thread does, is to end */
	pthread_mutex_t lock;   /* for those who sleep alone */
	pthread_cond_t work, done;
};

#define NOT_WAITING UINT32_MAX

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
		if (v->chain && r->n_insn == b->n_insn)
			sim_chain_step(v->chain, b, r->next_ip, mem, r->n_mem);
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

static uint32_t left(struct timer *t)
{
	return __atomic_load_n(&t->handed, __ATOMIC_SEQ_CST) - __atomic_load_n(&t->timed, __ATOMIC_SEQ_CST);
}

/* What else the processor has to run goes first. */
static inline void relax(void)
{
#ifdef __x86_64__
	__builtin_ia32_pause();
#endif
}

/* False: there will be no more. */
static bool wait_for_work(struct timer *t)
{
	for (unsigned i = 0; i < SPINS; i++) {
		if (left(t))
			return true;
		relax();
	}
	pthread_mutex_lock(&t->lock);
	__atomic_store_n(&t->sleeps, true, __ATOMIC_SEQ_CST);
	while (!left(t) && !t->ends)
		pthread_cond_wait(&t->work, &t->lock);
	__atomic_store_n(&t->sleeps, false, __ATOMIC_SEQ_CST);
	pthread_mutex_unlock(&t->lock);
	return left(t);
}

/* The emulator waits, and need wait no longer. */
static bool is_awaited(struct timer *t)
{
	uint32_t at = __atomic_load_n(&t->wake_at, __ATOMIC_SEQ_CST);

	return at != NOT_WAITING && left(t) <= at;
}

static void *run_timer(void *user)
{
	struct timer *t = user;

	while (wait_for_work(t)) {
		time_batch(t->v, t->ring[t->timed % RING]);
		__atomic_store_n(&t->timed, t->timed + 1, __ATOMIC_SEQ_CST);
		if (!is_awaited(t))
			continue;
		pthread_mutex_lock(&t->lock);
		pthread_cond_signal(&t->done);
		pthread_mutex_unlock(&t->lock);
	}
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

static void free_ring(struct timer *t)
{
	for (unsigned i = 0; i < RING; i++)
		free(t->ring[i]);
	free(t);
}

/* NULL: there is none, and there is not to be another try. */
static struct timer *timer_new(struct vcpu *v)
{
	struct timer *t = calloc(1, sizeof(*t));
	bool ok = t != NULL;

	for (unsigned i = 1; ok && i < RING; i++)
		ok = (t->ring[i] = calloc(1, sizeof(*t->ring[i]))) != NULL;
	if (!ok) {
		if (t)
			free_ring(t);
		return NULL;
	}
	t->v = v;
	t->wake_at = NOT_WAITING;
	pthread_mutex_init(&t->lock, NULL);
	pthread_cond_init(&t->work, NULL);
	pthread_cond_init(&t->done, NULL);
	if (!start_thread(t)) {
		free_ring(t);
		return NULL;
	}
	t->ring[0] = v->batch;
	return t;
}

static void wake(struct timer *t)
{
	pthread_mutex_lock(&t->lock);
	pthread_cond_signal(&t->work);
	pthread_mutex_unlock(&t->lock);
}

/* Until no more than n batches are to be timed. */
static void wait_for_timer(struct timer *t, uint32_t n)
{
	if (left(t) <= n)
		return;
	pthread_mutex_lock(&t->lock);
	__atomic_store_n(&t->wake_at, n, __ATOMIC_SEQ_CST);
	while (left(t) > n)
		pthread_cond_wait(&t->done, &t->lock);
	__atomic_store_n(&t->wake_at, NOT_WAITING, __ATOMIC_SEQ_CST);
	pthread_mutex_unlock(&t->lock);
}

/* The batch goes to the thread, and the next of the ring is filled. */
static void hand_over(struct vcpu *v)
{
	struct timer *t = v->timer;

	if (!v->kind[1])
		foretell(v, v->batch);
	__atomic_store_n(&t->handed, t->handed + 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&t->sleeps, __ATOMIC_SEQ_CST))
		wake(t);
	/* Who has to wait waits for some room, not to be woken for each batch. */
	if (left(t) == RING)
		wait_for_timer(t, RING / 2);
	v->batch = t->ring[t->handed % RING];
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
		wait_for_timer(t, 0);
		pthread_mutex_lock(&t->lock);
		t->ends = true;
		pthread_cond_signal(&t->work);
		pthread_mutex_unlock(&t->lock);
		pthread_join(t->thread, NULL);
		free_ring(t);
	} else {
		free(v->batch);
	}
	v->timer = NULL;
	v->batch = NULL;
}

void plugin_batch_forget(struct vcpu *v)
{
	v->timer = NULL;
	v->n_batches = 0;
	v->wants_timer = has_two_processors();
	v->batch->n_ran = v->batch->n_mem = 0;
	v->mem = v->batch->mem;
	v->n_mem = 0;
}

void plugin_settle(struct vcpu *v)
{
	if (v->timer)
		wait_for_timer(v->timer, 0);
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
		if (v->wants_timer && plugin.n_vcpus == 1 && !v->timer && ++v->n_batches > ALONE) {
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
