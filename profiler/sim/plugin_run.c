/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * From blocks that have run to their timing.  They are gathered, so that the model works through many at a time and
 * the tables it will need are asked for in time; where the program has one thread, a thread of ours does that while
 * the emulator fills the next ones.  They go to it in a ring, so that neither waits for the other as long as there are
 * batches, and room for them.  Whatever looks at a core from outside settles first, and then only one thread is at
 * work: system calls do, so forks, execs, maps and ends find everything as if it had been timed at once.
 */
#include "profiler/base/relax.h"
#include "profiler/sim/plugin_int.h"

#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum {
	/* Few enough for all batches of a ring to stay in the processor's second cache. */
	BATCH_BLOCKS = 512,
	BATCH_ACCESSES = 2048,
	RING = 16,         /* power of two */
	ALONE = 4,         /* batches at the beginning that are not worth a thread */
	SYNC_BLOCKS = 64,  /* of a batch that is timed by the thread itself, which others may wait for */
	AHEAD = 48,        /* accesses: their tables are asked for so early */
	SEEN_LINES = 1024, /* as many as a first-level cache has, or some more; power of two */
	STACK_BYTES = 1 << 20,
	MOST_ACCESSES = BATCH_ACCESSES + MAX_ACCESSES + 1,
	SPINS = 512, /* looks for the next batch before the thread sleeps: some microseconds */
};

_Static_assert((int)MAX_ACCESSES < (int)UINT16_MAX, "n_mem counts them, and one more");

struct batch {
	uint32_t n_ran, n_mem; /* known when it is to be timed, as all that follows but the arrays */
	uint32_t n_far;
	uint64_t next_ip; /* where the program went on behind the last one */
	int64_t syscall;  /* that the last one ended in; -1: in none */
	struct ran ran[BATCH_BLOCKS];
	uint64_t mem[MOST_ACCESSES];
	uint16_t far[MOST_ACCESSES]; /* which of them are to lines that were not accessed lately */
};

_Static_assert((int)MOST_ACCESSES <= (int)UINT16_MAX, "far has their numbers");

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

/* Where the program went on behind r. */
static inline uint64_t next_ip_of(const struct batch *batch, const struct ran *r)
{
	return r + 1 < batch->ran + batch->n_ran ? r[1].code->block.ip : batch->next_ip;
}

/*
 * Nothing but time depends on this.  It is not the timing thread's work, which has more to do than the emulator's, and so
 * doesn't look into the core's caches, which that thread writes.
 */
static void find_far(struct vcpu *v, struct batch *batch)
{
	const unsigned shift = 16 + (unsigned)__builtin_ctz(plugin.core->line_bytes);
	uint32_t n = 0;

	for (uint32_t i = 0; i < batch->n_mem; i++) {
		/* SIM_MEM_END is in line 0, which is never far. */
		uint32_t line = (uint32_t)(batch->mem[i] >> shift), *seen = &v->seen[line % SEEN_LINES];

		batch->far[n] = (uint16_t)i;
		n += *seen != line;
		*seen = line;
	}
	batch->n_far = n;
}

static void count_missed(const struct sim_core *c, const struct sim_block *b)
{
	pthread_mutex_lock(&plugin.lock);
	for (uint32_t i = 0; i < c->n_missed; i++)
		counts_missed(&plugin.counts, b, c->missed[i].index);
	pthread_mutex_unlock(&plugin.lock);
}

/*
 * What can be done before it is timed.  Which way branches were predicted does not depend on time, but with two kinds of
 * core on whose predictor is asked.
 */
static void prepare(struct vcpu *v, struct batch *batch)
{
	find_far(v, batch);
	if (v->kind[1])
		return;
	for (struct ran *r = batch->ran; r < batch->ran + batch->n_ran; r++)
		sim_core_foretell(&v->core->predictor, &r->code->block, r->n_insn, next_ip_of(batch, r),
		                  &r->foretold);
}

static inline void run_block(struct sim_core *c, const struct sim_block *b, const struct ran *r,
                             uint64_t next_ip, const uint64_t *mem, bool foretold)
{
	if (foretold)
		sim_core_run_foretold(c, b, r->n_insn, next_ip, mem, &r->foretold);
	else
		sim_core_run(c, b, r->n_insn, next_ip, mem);
}

static void time_batch(struct vcpu *v, struct batch *batch)
{
	const uint64_t *mem = batch->mem;
	const uint16_t *far = batch->far, *far_end = far + batch->n_far;
	const struct ran *ran_end = batch->ran + batch->n_ran;
	/* Not asked for each block: the emulator writes beside them all the time, and each look would cost both. */
	struct sim_core *c = v->core;
	struct sim_chain *chain = v->chain;
	const bool moves = v->kind[1] != NULL;
	uint32_t now = v->now;

	for (const struct ran *r = batch->ran; r < ran_end; r++) {
		const struct sim_block *b = now ? r->code->other : &r->code->block;
		uint64_t next_ip = next_ip_of(batch, r);

		for (; far < far_end && batch->mem + *far < mem + AHEAD; far++)
			sim_memory_expect(&c->memory, batch->mem[*far] >> 16);
		run_block(c, b, r, next_ip, mem, !moves);
		if (chain && sim_chain_heeds(b->exit) && r->n_insn == b->n_insn)
			sim_chain_step(chain, b, next_ip, mem, r->n_mem);
		mem += r->n_mem;
		if (plugin.config.counting && c->n_missed)
			count_missed(c, b);
		if (r + 1 == ran_end && batch->syscall >= 0)
			sim_core_kernel(c, (uint64_t)batch->syscall);
		if (moves) {
			plugin_move(v);
			c = v->core;
			now = v->now;
		}
	}
}

/* ---- the thread that does it ---- */

static uint32_t left(struct timer *t)
{
	return __atomic_load_n(&t->handed, __ATOMIC_SEQ_CST) - __atomic_load_n(&t->timed, __ATOMIC_SEQ_CST);
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

/* What v->batch has when no more is added to it; its last block ended in that system call, or -1. */
static void close_batch(struct vcpu *v, int64_t number)
{
	struct batch *b = v->batch;

	b->n_ran = (uint32_t)(v->ran_at - b->ran);
	b->n_mem = (uint32_t)(v->mem - b->mem);
	b->next_ip = v->next_ip;
	b->syscall = number;
}

/* v->batch is empty, but for n_mem accesses of the block that runs. */
static void begin_batch(struct vcpu *v, size_t n_mem)
{
	bool long_ones = v->wants_timer && plugin.n_vcpus <= 1;

	v->mem = v->batch->mem;
	v->mem_at = v->mem + n_mem;
	v->mem_end = v->mem + MAX_ACCESSES;
	v->mem_due = v->mem + BATCH_ACCESSES;
	v->ran_at = v->batch->ran;
	v->ran_due = v->ran_at + (long_ones ? BATCH_BLOCKS : SYNC_BLOCKS);
}

/* The batch goes to the thread, and the next of the ring is filled. */
static void hand_over(struct vcpu *v)
{
	struct timer *t = v->timer;

	close_batch(v, -1);
	prepare(v, v->batch);
	__atomic_store_n(&t->handed, t->handed + 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&t->sleeps, __ATOMIC_SEQ_CST))
		wake(t);
	/* Who has to wait waits for some room, not to be woken for each batch. */
	if (left(t) == RING)
		wait_for_timer(t, RING / 2);
	v->batch = t->ring[t->handed % RING];
	begin_batch(v, 0);
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
	v->seen = calloc(SEEN_LINES, sizeof(*v->seen));
	if (!v->batch || !v->seen)
		return -1;
	v->wants_timer = has_two_processors();
	begin_batch(v, 0);
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
	free(v->seen);
	v->seen = NULL;
	v->timer = NULL;
	v->batch = NULL;
}

void plugin_batch_forget(struct vcpu *v)
{
	v->timer = NULL;
	v->n_batches = 0;
	v->wants_timer = has_two_processors();
	begin_batch(v, 0);
}

/* number: as in close_batch. */
static void settle(struct vcpu *v, int64_t number)
{
	size_t n_mem = (size_t)(v->mem_at - v->mem);

	if (v->timer)
		wait_for_timer(v->timer, 0);
	if (v->ran_at == v->batch->ran)
		return;
	close_batch(v, number);
	prepare(v, v->batch);
	time_batch(v, v->batch);
	/* Those of the block that has not ended move to the front. */
	memmove(v->batch->mem, v->mem, n_mem * sizeof(v->mem[0]));
	begin_batch(v, n_mem);
}

void plugin_settle(struct vcpu *v)
{
	settle(v, -1);
}

/* Is the batch to be timed now? */
static bool is_due(const struct vcpu *v)
{
	size_t n_ran = (size_t)(v->ran_at - v->batch->ran);

	if (n_ran == BATCH_BLOCKS || v->mem > v->mem_due)
		return true;
	return n_ran >= SYNC_BLOCKS && (!v->wants_timer || plugin.n_vcpus > 1);
}

/* The batch is to be timed, here or by the thread. */
static void end_batch(struct vcpu *v)
{
	if (v->wants_timer && plugin.n_vcpus == 1 && !v->timer && ++v->n_batches > ALONE) {
		v->timer = timer_new(v);
		v->wants_timer = v->timer != NULL;
	}
	if (v->timer && plugin.n_vcpus == 1)
		hand_over(v);
	else
		plugin_settle(v);
}

void plugin_ran(struct vcpu *v, uint32_t n_insn, uint64_t next_ip)
{
	plugin_note_ran(v, n_insn, next_ip);
	if (v->syscall >= 0)
		settle(v, v->syscall);
	else if (is_due(v))
		end_batch(v);
}
