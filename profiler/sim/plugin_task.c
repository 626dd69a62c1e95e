/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Threads and processes: how they begin and end, and what they run on. */
#include "profiler/sim/plugin_int.h"

#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A half to one and a half of what was asked for, so that it keeps no step with the program. */
static void draw_move(struct vcpu *v)
{
	uint64_t mean = (uint64_t)((double)plugin.config.stay_ns * v->core->pmu.config->freq_ghz);

	v->move_cyc = v->core->retire_cyc + mean / 2 + sim_pmu_random(&v->rng) % (mean + 1);
}

/* Its time is over: when no interrupt is under way, the thread goes on where it left the other kind of core. */
void plugin_move(struct vcpu *v)
{
	struct sim_core *from = v->core, *to = v->kind[!v->now];

	if (from->retire_cyc < v->move_cyc || !sim_pmu_is_idle(&from->pmu))
		return;
	v->start_ns += plugin_cyc_to_ns(from, from->retire_cyc) - plugin_cyc_to_ns(to, to->retire_cyc);
	v->elsewhere_ns += plugin_cyc_to_ns(from, from->retire_cyc - from->pmu.cycle0) -
	                   plugin_cyc_to_ns(to, to->retire_cyc - to->pmu.cycle0);
	v->now = !v->now;
	v->core = to;
	draw_move(v);
}

/* Its counts stay, and the next thread adds to them. */
static void give_slots_back(struct vcpu *v)
{
	for (uint64_t i = 0; v->runs && i < plugin.counts.head->max_blocks / COUNTS_CHUNK; i++)
		if (v->runs[i])
			counts_slot_put(&plugin.counts, v->runs[i]);
	free(v->runs);
	v->runs = NULL;
}

static struct sim_pmu_setup pmu_setup(struct vcpu *v, uint32_t kind)
{
	double freq_ghz = plugin.core[kind].freq_ghz;
	struct sim_pmu_setup s = { .n_events = plugin.config.kind[kind].n_events,
		                   .n_sets = plugin.config.kind[kind].n_sets,
		                   .rotate_cyc = (uint64_t)((double)plugin.config.rotate_ns * freq_ghz),
		                   .n_branches = plugin.config.branches,
		                   .branch_filter = plugin.config.branch_filter,
		                   .no_values = plugin.config.no_values,
		                   .max_rate_hz = plugin.config.max_rate_hz,
		                   .burst_cyc = (uint64_t)((double)plugin.config.burst_ns * freq_ghz),
		                   .burst_branches = plugin.config.burst_branches,
		                   .chain = v->chain,
		                   .seed = sim_pmu_seed(plugin.seed, ++plugin.n_seeds),
		                   .sample = plugin_send_sample,
		                   .throttle = plugin_send_throttle,
		                   .user = v };

	memcpy(s.event, plugin.config.event + plugin_first_event(kind), s.n_events * sizeof(s.event[0]));
	return s;
}

static void stop_cores(struct vcpu *v)
{
	for (uint32_t k = 0; k < WIRE_MAX_KINDS; k++) {
		if (v->kind[k])
			sim_core_stop(v->kind[k]);
		free(v->kind[k]);
	}
}

/* All kinds of core, or none. */
static int start_cores(struct vcpu *v)
{
	for (uint32_t k = 0; k < plugin.config.n_kinds; k++) {
		struct sim_pmu_setup setup = pmu_setup(v, k);
		struct sim_core *c = calloc(1, sizeof(*c));

		if (!c || sim_core_start(c, &plugin.core[k], &setup) < 0) {
			free(c);
			stop_cores(v);
			return -SP_ENOMEM;
		}
		v->kind[k] = c;
	}
	v->core = v->kind[0];
	if (v->kind[1]) {
		v->rng = sim_pmu_seed(plugin.seed, ++plugin.n_seeds);
		draw_move(v);
	}
	return 0;
}

static struct vcpu *vcpu_new(void)
{
	struct vcpu *v = calloc(1, sizeof(*v));

	if (!v)
		return NULL;
	v->syscall = -1;
	if (plugin.config.counting)
		v->runs = calloc(plugin.counts.head->max_blocks / COUNTS_CHUNK, sizeof(*v->runs));
	if (plugin.core && plugin.config.burst_ns)
		v->chain = calloc(1, sizeof(*v->chain));
	if ((plugin.config.counting && !v->runs) || plugin_batch_new(v) < 0 ||
	    (plugin.core && (start_cores(v) < 0 || (plugin.config.burst_ns && !v->chain)))) {
		plugin_batch_free(v);
		free(v->runs);
		free(v->chain);
		free(v);
		return NULL;
	}
	v->only_timed = v->core && !plugin.config.counting && !plugin.config.calls;
	return v;
}

/* Its thread has ended, and the emulator uses its number again. */
static void vcpu_free(struct vcpu *v)
{
	if (!v)
		return;
	plugin_batch_free(v);
	give_slots_back(v);
	stop_cores(v);
	calls_fini(&v->calls);
	free(v->chain);
	free(v);
}

/* The creator's own clock: what others' was meanwhile differs from run to run. */
static uint64_t creators_ns(uint32_t tid)
{
	for (unsigned i = 0; i < plugin.n_vcpus; i++)
		if (plugin.vcpu[i] && plugin.vcpu[i]->tid == tid && !plugin.vcpu[i]->gone)
			return plugin_now_ns(plugin.vcpu[i]);
	return 0;
}

/* The program before this one left what it had counted. */
static void resume(struct vcpu *v)
{
	for (uint32_t k = 0; k < plugin.config.n_kinds; k++)
		sim_pmu_resume(&v->kind[k]->pmu, &plugin.state[k]);
	if (v->kind[1])
		v->elsewhere_ns = plugin_cyc_to_ns(v->kind[1], plugin.state[1].elapsed_cyc);
}

/* In the thread that creates the new one. */
void plugin_on_vcpu_init(qemu_plugin_id_t id, unsigned index)
{
	struct vcpu *v = vcpu_new();
	bool anew;

	/* Nothing may be printed, and without its record a thread can't run on: there is no memory left anyway. */
	if (!v || index >= MAX_VCPUS)
		abort();
	v->parent_tid = (uint32_t)syscall(SYS_gettid);
	pthread_mutex_lock(&plugin.lock);
	v->start_ns = plugin.n_vcpus ? creators_ns(v->parent_tid) : plugin.start_ns;
	if (!plugin.n_vcpus && v->core && plugin.resumes)
		resume(v);
	/* Inline counters are not atomic: two threads that add to one lose what the other adds. */
	anew = plugin.n_vcpus && !plugin.followed;
	plugin.followed |= anew;
	vcpu_free(plugin.vcpu[index]);
	plugin.vcpu[index] = v;
	if (index >= plugin.n_vcpus)
		plugin.n_vcpus = index + 1;
	pthread_mutex_unlock(&plugin.lock);
	/*
	 * The emulator does so itself for the first second thread, but not where memory that is shared made it translate for
	 * several before.  This thread is stopped until it is done, so that one at most adds to counters inline.
	 */
	if (anew)
		qemu_plugin_reset(id, plugin_register_callbacks);
}

void plugin_end_thread(struct vcpu *v)
{
	struct wire_head m;

	if (v->gone)
		return;
	v->gone = true;
	plugin_finish_last(v);
	plugin_end_calls(v);
	plugin_send_totals(v);
	sender_send(&plugin.sender, WIRE_EXIT, v->tid, plugin_now_ns(v), &m, sizeof(m));
}

void plugin_on_exit_process(qemu_plugin_id_t id, void *user)
{
	struct vcpu *v = NULL;
	struct wire_head m;

	(void)id;
	(void)user;
	for (unsigned i = plugin.n_vcpus; i-- > 0;) {
		if (!plugin.vcpu[i] || !plugin.vcpu[i]->tid)
			continue;
		v = plugin.vcpu[i];
		plugin_end_thread(v);
	}
	if (!v)
		return;
	plugin_end_last_calls(v);
	sender_send(&plugin.sender, WIRE_BYE, v->tid, plugin_now_ns(v), &m, sizeof(m));
	plugin.sender.fd = -1;
}

/* After a fork, on both sides: the parent's next child will have another seed. */
void plugin_next_child_seed(bool in_child)
{
	uint64_t n = __atomic_add_fetch(&plugin.n_children, 1, __ATOMIC_RELAXED);

	if (!in_child)
		return;
	plugin.seed = sim_pmu_seed(~plugin.seed, n);
	plugin.n_children = plugin.n_seeds = 0;
}

/* In the child: one thread is left, its counters begin at zero. */
void plugin_begin_child(struct vcpu *v)
{
	uint32_t ppid = plugin.sender.pid;

	plugin.sender.pid = (uint32_t)getpid();
	/* Those of the parent's other threads are left as they are: one of them may have been at its work. */
	for (unsigned i = 0; i < plugin.n_vcpus; i++)
		if (plugin.vcpu[i] && plugin.vcpu[i] != v)
			plugin.vcpu[i] = NULL;
	if (v->runs)
		memset(v->runs, 0, plugin.counts.head->max_blocks / COUNTS_CHUNK * sizeof(*v->runs));
	/* Without a file of its own it runs on uncounted, which the recorder sees. */
	if (plugin.config.counting && counts_renew(&plugin.counts, &plugin.counts_fd) < 0)
		plugin.counts_fd = -1;
	v->parent_tid = v->tid;
	v->tid = (uint32_t)syscall(SYS_gettid);
	v->code = NULL;
	calls_restart(&v->calls);
	plugin_batch_forget(v);
	v->syscall = -1;
	v->elsewhere_ns = 0;
	for (uint32_t k = 0; v->core && k < plugin.config.n_kinds; k++)
		sim_pmu_restart(&v->kind[k]->pmu, v->kind[k]->retire_cyc,
		                sim_pmu_seed(plugin.seed, ++plugin.n_seeds));
	plugin_send_hello(v, false);
	plugin_send_task(v, ppid);
}
