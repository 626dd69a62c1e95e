/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_SIM_PLUGIN_INT_H
#define SKIDPROF_SIM_PLUGIN_INT_H

/* What the plugin's files share.  Nothing of it is seen outside the plugin. */
#include "profiler/sim/qemu_plugin_api.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "profiler/sim/blocks.h"
#include "profiler/sim/chain.h"
#include "profiler/sim/core.h"
#include "profiler/sim/counts.h"
#include "profiler/sim/decode.h"
#include "profiler/sim/follow.h"
#include "profiler/sim/guest.h"
#include "profiler/sim/native.h"
#include "profiler/sim/send.h"
#include "profiler/sim/symbols.h"

enum {
	MAX_VCPUS = 1 << 15,
	MAX_ACCESSES = 4096, /* of one block; more are dropped */
	MAX_PLUGIN_ARG = 2 * 4096 + 64,
	MAX_HANDLERS = 64,
};

enum { MAX_CUTS = 32 };

struct numbers { /* of the guest's system calls; -1: has none */
	int64_t mmap, mprotect, munmap, mremap, close, dup2, dup3, close_range, prctl, execve, execveat,
	        clone, fork, vfork, exit, kill, tkill, tgkill, sigaction;
	/* That no burst goes past: they end what runs, return elsewhere, or are made to wait.  0: no more. */
	int64_t cuts[MAX_CUTS];
};

/*
 * A block that ran.  Few bytes: one processor's cache gets them from the other's.  Where the program went on the next
 * one says.
 */
struct ran {
	const struct sim_code *code;
	uint16_t n_insn, n_mem;
	struct sim_foretold foretold; /* made later */
};

struct vcpu {
	/* What each block and access is noted in.  Nobody else looks here while the program runs. */
	struct sim_code *code; /* running; its end is not known yet */
	uint64_t *mem;         /* its accesses, at the end of the batch's; room for MAX_ACCESSES and one */
	uint64_t *mem_at;      /* behind the newest */
	uint64_t *mem_end;     /* of the room, but for the one */
	uint64_t *mem_due;     /* a batch whose accesses go beyond is to be timed */
	struct ran *ran_at;    /* behind the batch's newest block */
	struct ran *ran_due;   /* a batch whose blocks go up to here may have to be timed */
	uint64_t next_ip;      /* where the program went on behind the newest block */
	int64_t syscall;       /* that the running block ends in; -1: in none */
	bool only_timed;       /* nothing is counted beside */
	struct batch *batch;   /* blocks that have run and are not timed yet */
	struct timer *timer;   /* the thread that times batches; NULL: none */
	uint32_t *seen;        /* lines accessed lately, see find_far */
	bool wants_timer;      /* not tried in vain yet */
	uint32_t n_batches;    /* timed without it */
	struct counts_slot *
	        *runs;         /* of its blocks, by id / COUNTS_CHUNK; NULL: not yet, or nothing is counted */
	struct sim_core *core; /* that it runs on; NULL when only counting */
	struct sim_core *kind[WIRE_MAX_KINDS];
	uint32_t now;             /* which of them runs */
	uint64_t move_cyc, rng;   /* when it is moved to the other, in the time of the one that runs */
	uint64_t elsewhere_ns;    /* since its counters began, on the other */
	uint32_t tid, parent_tid; /* tid 0: has not run yet */
	uint64_t
	        start_ns; /* the tree's clock when the thread began, and its time on the other kind of core */
	uint64_t arg[6];  /* of the system call under way */
	struct calls calls;
	struct sim_chain *chain; /* for bursts; NULL: there are none */
	bool gone;
};

struct plugin {
	qemu_plugin_id_t id;
	pthread_mutex_t lock; /* blocks, counts, decoder, vcpus, guest, handlers */
	struct wire_config config;
	uint64_t seed, n_seeds,
	        n_children;      /* of this process: threads' seeds are made from it, and children's */
	struct sim_config *core; /* [n_kinds]; NULL: no timing */
	struct sim_decoder *decoder, *other_decoder;
	struct sim_native *native, *other_native; /* NULL: blocks have no code of their own */
	struct sim_blocks blocks;
	struct counts counts;
	VEC(struct symbols) symbols; /* by file, as counts has it */
	struct pairs func_index;     /* (file, offset) */
	VEC(struct {
		uint32_t file;
		uint64_t off;
	})
	funcs;         /* by that number; calls count them from 1 */
	int counts_fd; /* to be told to the recorder; -1: has been */
	struct follow follow;
	char plugin_file[MAX_PLUGIN_ARG]; /* as -plugin has it, without what comes behind */
	void *packet;                     /* WIRE_CONFIG with its text */
	bool by_exec;                     /* this program was begun by one that we ran */
	uint64_t start_ns;                /* the tree's clock when it was */
	bool resumes;                     /* its counters go on from ... */
	struct sim_pmu_state state[WIRE_MAX_KINDS];
	struct sender sender;
	struct guest guest;
	const struct numbers *nr;
	struct vcpu *vcpu[MAX_VCPUS];
	unsigned n_vcpus;
	bool followed; /* else inline */
	bool faults; /* the program handles faults: blocks may be left in the middle and the program goes on */
	bool scanned, begun;            /* the guest's mappings are known; the recorder was told */
	uint64_t handler[MAX_HANDLERS]; /* of signals */
	unsigned n_handlers;
	uint64_t handled; /* signals that have one: bit number - 1 */
	/* inline way: the newest rep instruction, and what ran behind it by then */
	uint64_t rep_ip, rep_left;
};
extern struct plugin plugin;

/* ---- plugin_tell.c: to the recorder ---- */

uint64_t plugin_cyc_to_ns(const struct sim_core *c, uint64_t cyc);
/* The thread's clock, in the time of the tree. */
uint64_t plugin_now_ns(const struct vcpu *v);
/* v may be NULL. */
void plugin_warn(const struct vcpu *v, const char *text);
/* Of a kind of core, among the events of all. */
uint32_t plugin_first_event(uint32_t kind);
/* user: the vcpu, for these three. */
void plugin_send_sample(void *user, const struct sim_sample *s);
void plugin_send_throttle(void *user, uint32_t event, bool on, uint64_t cycle);
void plugin_send_map(void *user, const struct guest_map *map);
void plugin_send_totals(struct vcpu *v);
void plugin_send_hello(struct vcpu *v, bool by_exec);
void plugin_send_task(struct vcpu *v, uint32_t ppid);
void plugin_send_first_comm(struct vcpu *v);

/* ---- plugin.c: blocks run ---- */

bool plugin_is_handler(uint64_t ip);
/* Is it followed what happens within a block?  Not when only counting, and no fault can be survived. */
bool plugin_watches_memory(void);
/* First block of a thread, in that thread. */
void plugin_begin(struct vcpu *v);
/* Nothing follows: the thread ends, or waits for what comes. */
void plugin_finish_last(struct vcpu *v);
void plugin_register_callbacks(qemu_plugin_id_t id);

/* ---- plugin_calls.c: who called ---- */

/* Where code lies among functions; under the lock. */
struct calls_place plugin_place(uint32_t file, uint64_t off);
/* All calls of a thread that ends, or may not run on, go to the counts. */
void plugin_end_calls(struct vcpu *v);
/* The same of the only thread left, with which the process ends. */
void plugin_end_last_calls(struct vcpu *v);

/* ---- plugin_run.c: their timing ---- */

/* -1: no memory. */
int plugin_batch_new(struct vcpu *v);
void plugin_batch_free(struct vcpu *v);
/* In the child of a fork: what there is belongs to the parent, and its thread is not here. */
void plugin_batch_forget(struct vcpu *v);
/* n_insn instructions of v->code ran, and the program went on at next_ip. */
void plugin_ran(struct vcpu *v, uint32_t n_insn, uint64_t next_ip);
/* The same without a look at whether the batch is to be timed. */
static inline void plugin_note_ran(struct vcpu *v, uint32_t n_insn, uint64_t next_ip)
{
	struct ran *r = v->ran_at++;

	*v->mem_at++ = SIM_MEM_END;
	r->code = v->code;
	r->n_insn = (uint16_t)n_insn;
	r->n_mem = (uint16_t)(v->mem_at - v->mem);
	v->mem = v->mem_at;
	v->mem_end = v->mem + MAX_ACCESSES;
	v->next_ip = next_ip;
}
/* All that ran is timed when this returns, and nobody else is at it. */
void plugin_settle(struct vcpu *v);

/* ---- plugin_task.c: threads and processes ---- */

/* The thread goes over to the other kind of core when its time on this one is over. */
void plugin_move(struct vcpu *v);
void plugin_on_vcpu_init(qemu_plugin_id_t id, unsigned index);
void plugin_on_exit_process(qemu_plugin_id_t id, void *user);
void plugin_end_thread(struct vcpu *v);
/* After a fork, on both sides: the parent's next child will have another seed. */
void plugin_next_child_seed(bool in_child);
/* In the child: one thread is left, its counters begin at zero. */
void plugin_begin_child(struct vcpu *v);

/* ---- plugin_syscall.c ---- */

/* The table of x86-64's or aarch64's numbers. */
const struct numbers *plugin_numbers(bool aarch64);
void plugin_on_syscall(qemu_plugin_id_t id, unsigned index, int64_t num, uint64_t a1, uint64_t a2,
                       uint64_t a3, uint64_t a4, uint64_t a5, uint64_t a6, uint64_t a7, uint64_t a8);
void plugin_on_syscall_ret(qemu_plugin_id_t id, unsigned index, int64_t num, int64_t ret);

/* ---- plugin_setup.c ---- */

/*
 * Read the recorder's configuration and get all ready.
 * fd  the socket; config_fd  what the program before this one left, -1: it is the first.
 */
int plugin_set_up(const qemu_info_t *info, int fd, int config_fd);

#endif
