/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The plugin's beginning: the recorder's configuration, what is decoded and counted, how to follow exec. */
#include "profiler/sim/plugin_int.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "profiler/base/err.h"

/* False: it is not of this version. */
static bool is_config(const struct wire_config *c, size_t n)
{
	uint64_t n_events = 0, n_text = 0;

	if (n < sizeof(*c) || c->head.kind != WIRE_CONFIG || c->version != WIRE_VERSION || !c->n_kinds ||
	    c->n_kinds > WIRE_MAX_KINDS || c->branches > WIRE_MAX_BRANCHES ||
	    c->burst_branches > WIRE_MAX_BURST || (c->burst_ns && !c->burst_branches))
		return false;
	for (uint32_t k = 0; k < c->n_kinds; k++) {
		n_events += c->kind[k].n_events;
		n_text += c->kind[k].text_bytes;
		if (c->kind[k].n_sets > WIRE_MAX_EVENTS)
			return false;
	}
	return n_text == n - sizeof(*c) && n_events == c->n_events && n_events <= WIRE_MAX_EVENTS;
}

static int read_cores(const char *text)
{
	int err = 0;

	plugin.core = calloc(plugin.config.n_kinds, sizeof(*plugin.core));
	if (!plugin.core)
		return sp_fail(SP_ENOMEM, "out of memory");
	for (uint32_t k = 0; k < plugin.config.n_kinds && !err; k++) {
		err = sim_config_parse(text, plugin.config.kind[k].text_bytes, &plugin.core[k]);
		text += plugin.config.kind[k].text_bytes;
	}
	return err;
}

/* The recorder's word, or what the program before us left of it.  fd: the socket, or that file. */
static ssize_t read_packet(int fd, bool left, char *packet)
{
	ssize_t n;

	do
		n = left ? read(fd, packet, WIRE_MAX_BYTES) : recv(fd, packet, WIRE_MAX_BYTES, 0);
	while (n < 0 && errno == EINTR);
	if (left)
		close(fd);
	return n;
}

static int read_config(int fd, int config_fd)
{
	char *packet = malloc(WIRE_MAX_BYTES);
	ssize_t n;
	int err = 0;

	if (!packet)
		return sp_fail(SP_ENOMEM, "out of memory");
	n = read_packet(config_fd >= 0 ? config_fd : fd, config_fd >= 0, packet);
	if (config_fd >= 0 && n > (ssize_t)sizeof(plugin.config)) {
		size_t bytes = ((struct wire_config *)packet)->head.bytes;

		plugin.resumes = (size_t)n == bytes + sizeof(plugin.state);
		if (plugin.resumes)
			memcpy(plugin.state, packet + bytes, sizeof(plugin.state));
		n = (ssize_t)bytes;
	}
	memcpy(&plugin.config, packet, n < (ssize_t)sizeof(plugin.config) ? 0 : sizeof(plugin.config));
	if (n < 0 || !is_config(&plugin.config, (size_t)n))
		err = sp_fail(SP_EFORMAT, "the recorder's configuration is not of this version of skidprof");
	for (uint32_t i = 0; !err && i < plugin.config.n_events; i++)
		if (plugin.config.event[i].event >= SIM_N_EVENTS)
			err = sp_fail(SP_EFORMAT,
			              "the recorder asks for an event this simulator does not have");
	plugin.seed = plugin.config.seed;
	plugin.by_exec = config_fd >= 0;
	plugin.start_ns = plugin.by_exec ? plugin.config.head.time_ns : 0;
	if (!err && plugin.config.timing)
		err = read_cores(packet + sizeof(plugin.config));
	plugin.packet = packet;
	return err;
}

static void lock_for_fork(void)
{
	pthread_mutex_lock(&plugin.lock);
}

static void unlock_after_fork(void)
{
	pthread_mutex_unlock(&plugin.lock);
}

/* The plugin's file as the argument -plugin needs it: a comma ends it unless it is doubled. */
static void name_plugin(void)
{
	Dl_info info;
	size_t n = 0;

	if (!dladdr(&plugin, &info) || !info.dli_fname)
		return;
	for (const char *s = info.dli_fname; *s && n + 2 < sizeof(plugin.plugin_file); s++) {
		if (*s == ',')
			plugin.plugin_file[n++] = ',';
		plugin.plugin_file[n++] = *s;
	}
}

int plugin_set_up(const qemu_info_t *info, int fd, int config_fd)
{
	bool arm = !strcmp(info->target_name, "aarch64");
	int err;

	if (!arm && strcmp(info->target_name, "x86_64"))
		return sp_fail(SP_ENOTSUP, "the simulated core runs x86-64 and aarch64, not %s",
		               info->target_name);
	plugin.counts_fd = -1;
	if ((err = read_config(fd, config_fd)) < 0 || (err = sim_blocks_init(&plugin.blocks)) < 0)
		return err;
	if (plugin.config.counting && (err = counts_new(&plugin.counts, &plugin.counts_fd)) < 0) {
		if (!plugin.by_exec)
			return err;
		/* One that limits were set for before it began: it must run as it would.  That it isn't counted is seen. */
		plugin.config.counting = 0;
	}
	name_plugin();
	/* Then nothing is followed, which is said where it matters. */
	if (follow_init(&plugin.follow, arm ? EM_AARCH64 : EM_X86_64) < 0)
		plugin.follow.n_words = 0;
	plugin.nr = plugin_numbers(arm);
	plugin.followed = plugin.config.timing || plugin.config.calls;
	err = sim_decoder_new(arm ? SIM_ISA_AARCH64 : SIM_ISA_X86_64, plugin.core, &plugin.decoder);
	if (!err && plugin.core && plugin.config.n_kinds > 1)
		err = sim_decoder_new(arm ? SIM_ISA_AARCH64 : SIM_ISA_X86_64, &plugin.core[1],
		                      &plugin.other_decoder);
	if (!err && plugin.core)
		plugin.native = sim_native_new(plugin.core);
	if (!err && plugin.other_decoder)
		plugin.other_native = sim_native_new(&plugin.core[1]);
	pthread_atfork(lock_for_fork, unlock_after_fork, unlock_after_fork);
	return err;
}
