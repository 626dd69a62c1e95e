/* SPDX-License-Identifier: GPL-3.0-or-later */
/* System calls of the guest that matter here: mappings, signals, processes, exec, descriptors. */
#include "profiler/sim/plugin_int.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct numbers numbers_x86_64 = {
	.mmap = 9,
	.mprotect = 10,
	.munmap = 11,
	.mremap = 25,
	.close = 3,
	.dup2 = 33,
	.dup3 = 292,
	.close_range = 436,
	.prctl = 157,
	.execve = 59,
	.execveat = 322,
	.clone = 56,
	.fork = 57,
	.vfork = 58,
	.exit = 60,
	.kill = 62,
	.tkill = 200,
	.tgkill = 234,
	.sigaction = 13,
	/*
	 * poll, rt_sigreturn, select, pause, nanosleep, accept, vfork, execve, exit, wait4, semop, msgrcv, flock, rt_sigtimedwait,
	 * rt_sigsuspend, io_getevents, restart_syscall, semtimedop, clock_nanosleep, exit_group, epoll_wait, mq_timedreceive,
	 * waitid, pselect6, ppoll, epoll_pwait, accept4, execveat
	 */
	.cuts = { 7,   15,  23,  34,  35,  43,  58,  59,  60,  61,  65,  70,  73,  128,
	          130, 208, 219, 220, 230, 231, 232, 243, 247, 270, 271, 281, 288, 322 },
};

static const struct numbers numbers_aarch64 = {
	.mmap = 222,
	.mprotect = 226,
	.munmap = 215,
	.mremap = 216,
	.close = 57,
	.dup2 = -1,
	.dup3 = 24,
	.close_range = 436,
	.prctl = 167,
	.execve = 221,
	.execveat = 281,
	.clone = 220,
	.fork = -1,
	.vfork = -1,
	.exit = 93,
	.kill = 129,
	.tkill = 130,
	.tgkill = 131,
	.sigaction = 134,
	/*
	 * io_getevents, epoll_pwait, flock, pselect6, ppoll, exit, exit_group, waitid, nanosleep, clock_nanosleep,
	 * restart_syscall, rt_sigsuspend, rt_sigtimedwait, rt_sigreturn, mq_timedreceive, msgrcv, semtimedop, semop, accept,
	 * execve, accept4, wait4, execveat
	 */
	.cuts = { 4,   22,  32,  72,  73,  93,  94,  95,  101, 115, 128, 133,
	          137, 139, 183, 188, 192, 193, 202, 221, 242, 260, 281 },
};

const struct numbers *plugin_numbers(bool aarch64)
{
	return aarch64 ? &numbers_aarch64 : &numbers_x86_64;
}

/* Words of the guest's, NULL at the end; freed by the caller, the words are borrowed.  NULL without memory. */
static char **guest_words(uint64_t ip)
{
	const uint64_t *at = (const uint64_t *)(uintptr_t)(ip + plugin.guest.base);
	size_t n = 0;
	char **out;

	while (ip && at[n])
		n++;
	out = calloc(n + 1, sizeof(*out));
	for (size_t i = 0; out && i < n; i++)
		out[i] = (char *)(uintptr_t)(at[i] + plugin.guest.base);
	return out;
}

/* What the emulator of the next program reads in place of the recorder's word.  -1: it can't be written. */
static int leave_config(const struct vcpu *v)
{
	struct wire_config *c = plugin.packet;
	bool leader = v->tid == plugin.sender.pid;
	int fd = memfd_create("skidprof config", 0); /* stays open over the exec, and is closed there */
	struct sim_pmu_state state[WIRE_MAX_KINDS] = { 0 };
	ssize_t n = -1;

	if (fd < 0)
		return -1;
	c->head.time_ns = plugin_now_ns(v);
	c->seed = sim_pmu_seed(~plugin.seed, ++plugin.n_children);
	for (uint32_t k = 0; v->core && k < plugin.config.n_kinds; k++)
		sim_pmu_save(&v->kind[k]->pmu, v->kind[k]->retire_cyc, &state[k]);
	if (write(fd, c, c->head.bytes) == (ssize_t)c->head.bytes)
		n = write(fd, state, leader ? sizeof(state) : 0);
	if (n >= 0 && lseek(fd, 0, SEEK_SET) == 0)
		return fd;
	close(fd);
	return -1;
}

/* The path of what is open as fd; "" when it has none any more. */
static void path_of_fd(int fd, char *out, size_t size)
{
	struct stat a, b;
	char link[64];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, out, size - 1);
	out[n < 0 ? 0 : n] = '\0';
	if (n > 0 && (fstat(fd, &a) < 0 || stat(out, &b) < 0 || a.st_ino != b.st_ino || a.st_dev != b.st_dev))
		out[0] = '\0';
}

/* The path that execve or execveat would take; "" where it has none. */
static void exec_path(int64_t num, const uint64_t arg[6], char *out, size_t size)
{
	char below[4096];
	int fd = (int)arg[0];

	guest_string(&plugin.guest, num == plugin.nr->execve ? arg[0] : arg[1], out, size);
	if (num == plugin.nr->execve || out[0] == '/' || (out[0] && fd == AT_FDCWD))
		return;
	snprintf(below, sizeof(below), "%s", out);
	path_of_fd(fd, out, size);
	if (out[0] && below[0] && strlen(out) + strlen(below) + 2 < size) {
		strcat(out, "/");
		strcat(out, below);
	}
}

/*
 * The program that follows runs under an emulator of its own, which takes our
 * place here; where that can't be, natively and without us.  Shells try one
 * folder after the other: what can't succeed is not worth a word.
 */
static void on_exec(struct vcpu *v, int64_t num, const uint64_t arg[6])
{
	const uint64_t *at = num == plugin.nr->execve ? arg + 1 : arg + 2;
	char path[4096], option[MAX_PLUGIN_ARG + 64], text[4096 + 128];
	char **argv = guest_words(at[0]), **envp = guest_words(at[1]);
	const char *why = "";
	int saved = errno, config;
	bool fails = false;

	exec_path(num, arg, path, sizeof(path));
	plugin_finish_last(v);
	plugin_end_last_calls(v);
	plugin_send_totals(v);
	config = leave_config(v);
	snprintf(option, sizeof(option), "%s,fd=%d,config=%d", plugin.plugin_file, plugin.sender.fd, config);
	if (path[0] && argv && envp && config >= 0 && plugin.sender.fd >= 0) {
		fcntl(plugin.sender.fd, F_SETFD, 0);
		fails = follow_exec(&plugin.follow, option, path, argv, envp, &why);
		fcntl(plugin.sender.fd, F_SETFD, FD_CLOEXEC);
	}
	if (config >= 0)
		close(config);
	if (!fails) {
		snprintf(text, sizeof(text), "%s\n%s", path, why);
		sender_text(&plugin.sender, WIRE_EXEC, v->tid, plugin_now_ns(v), text);
	}
	free(argv);
	free(envp);
	errno = saved;
}

static void guard_range(uint64_t from, uint64_t to)
{
	if (plugin.sender.fd >= 0 && from <= (uint64_t)plugin.sender.fd && to >= (uint64_t)plugin.sender.fd)
		sender_guard(&plugin.sender, plugin.sender.fd);
}

/* Signals that an instruction raises, so that its block is left in the middle. */
static bool is_fault(uint64_t signal)
{
	return signal == 4 || signal == 5 || signal == 7 || signal == 8 || signal == 11;
}

static void on_sigaction(uint64_t signal, uint64_t action_ip)
{
	uint64_t handler = action_ip ? *(uint64_t *)(uintptr_t)(action_ip + plugin.guest.base) : 0;
	bool anew = false;

	if (handler <= 1)
		return;
	pthread_mutex_lock(&plugin.lock);
	if (signal <= 64)
		plugin.handled |= (uint64_t)1 << (signal - 1);
	if (!plugin_is_handler(handler) && plugin.n_handlers < MAX_HANDLERS) {
		plugin.handler[plugin.n_handlers] = handler;
		__atomic_store_n(&plugin.n_handlers, plugin.n_handlers + 1, __ATOMIC_RELEASE);
	}
	if (is_fault(signal) && !plugin.faults) {
		anew = !plugin_watches_memory();
		plugin.faults = plugin.followed = true;
	}
	pthread_mutex_unlock(&plugin.lock);
	/* Code translated so far does not say what happens within a block. */
	if (anew)
		qemu_plugin_reset(plugin.id, plugin_register_callbacks);
}

/*
 * A signal of the program's own that will kill it: no callback comes then, so
 * its threads' totals go now.
 */
static void on_kill(struct vcpu *v, uint64_t signal)
{
	const uint64_t fatal = 1u << 1 | 1u << 2 | 1u << 5 | 1u << 8 | 1u << 14; /* INT QUIT ABRT KILL TERM */

	if (signal < 1 || signal > 64 || !(fatal & ~plugin.handled & (uint64_t)1 << (signal - 1)))
		return;
	plugin_finish_last(v);
	plugin_end_last_calls(v);
	plugin_send_totals(v);
}

static void on_munmap(uint64_t ip, uint64_t len_bytes)
{
	pthread_mutex_lock(&plugin.lock);
	guest_munmap(&plugin.guest, ip, len_bytes);
	pthread_mutex_unlock(&plugin.lock);
}

static bool cuts_burst(int64_t num)
{
	const int64_t *cuts = plugin.nr->cuts;

	while (*cuts && *cuts != num)
		cuts++;
	return *cuts == num;
}

void plugin_on_syscall(qemu_plugin_id_t id, unsigned index, int64_t num, uint64_t a1, uint64_t a2,
                       uint64_t a3, uint64_t a4, uint64_t a5, uint64_t a6, uint64_t a7, uint64_t a8)
{
	struct vcpu *v = plugin.vcpu[index];
	const uint64_t arg[6] = { a1, a2, a3, a4, a5, a6 };

	(void)id;
	(void)a7;
	(void)a8;
	memcpy(v->arg, arg, sizeof(arg));
	v->syscall = num;
	if (!v->tid)
		plugin_begin(v);
	plugin_settle(v);
	if (v->core && cuts_burst(num))
		sim_pmu_cut_burst(&v->core->pmu, v->core->retire_cyc);
	else if (v->core)
		sim_pmu_pass_call(&v->core->pmu, v->core->retire_cyc);
	if (num == plugin.nr->execve || num == plugin.nr->execveat)
		on_exec(v, num, arg);
	else if (num == plugin.nr->munmap)
		on_munmap(a1, a2);
	else if (num == plugin.nr->close)
		guard_range(a1, a1);
	else if (num == plugin.nr->dup2 || num == plugin.nr->dup3)
		guard_range(a2, a2);
	else if (num == plugin.nr->close_range)
		guard_range(a1, a2);
	else if (num == plugin.nr->sigaction)
		on_sigaction(a1, a2);
	else if ((num == plugin.nr->kill && (a1 == plugin.sender.pid || !a1)) || num == plugin.nr->tkill)
		on_kill(v, a2);
	else if (num == plugin.nr->tgkill && a1 == plugin.sender.pid)
		on_kill(v, a3);
	else if (num == plugin.nr->exit && index)
		plugin_end_thread(v);
}

static void on_prctl(struct vcpu *v)
{
	enum { SET_NAME = 15 };
	char comm[16];

	if (v->arg[0] != SET_NAME)
		return;
	guest_string(&plugin.guest, v->arg[1], comm, sizeof(comm));
	sender_text(&plugin.sender, WIRE_COMM, v->tid, plugin_now_ns(v), comm);
}

void plugin_on_syscall_ret(qemu_plugin_id_t id, unsigned index, int64_t num, int64_t ret)
{
	struct vcpu *v = plugin.vcpu[index];

	(void)id;
	if (num == plugin.nr->fork || num == plugin.nr->vfork || num == plugin.nr->clone) {
		bool child = !ret && (uint32_t)getpid() != plugin.sender.pid;

		/* Process numbers differ from run to run; which child of its parent it is does not. */
		plugin_next_child_seed(child);
		if (child)
			plugin_begin_child(v);
	}
	if (ret < 0 && ret > -4096)
		return;
	if (num == plugin.nr->prctl)
		on_prctl(v);
	if (num != plugin.nr->mmap && num != plugin.nr->mprotect && num != plugin.nr->mremap)
		return;
	pthread_mutex_lock(&plugin.lock);
	if (num == plugin.nr->mmap)
		guest_mmap(&plugin.guest, (uint64_t)ret, v->arg, plugin_send_map, v);
	else if (num == plugin.nr->mremap)
		guest_mremap(&plugin.guest, v->arg[0], v->arg[1], (uint64_t)ret, v->arg[2], plugin_send_map,
		             v);
	else
		guest_mprotect(&plugin.guest, v->arg[0], v->arg[1], (uint32_t)v->arg[2], plugin_send_map, v);
	pthread_mutex_unlock(&plugin.lock);
}
