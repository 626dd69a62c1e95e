/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Messages to the recorder. */
#include "profiler/sim/plugin_int.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

uint64_t plugin_cyc_to_ns(const struct sim_core *c, uint64_t cyc)
{
	return (uint64_t)((double)cyc / c->pmu.config->freq_ghz);
}

uint64_t plugin_now_ns(const struct vcpu *v)
{
	if (!v->core)
		return 0;
	return v->start_ns + plugin_cyc_to_ns(v->core, v->core->retire_cyc);
}

void plugin_warn(const struct vcpu *v, const char *text)
{
	sender_text(&plugin.sender, WIRE_WARN, v ? v->tid : plugin.sender.pid, v ? plugin_now_ns(v) : 0,
	            text);
}

/* Of a kind of core, among the events of all. */
uint32_t plugin_first_event(uint32_t kind)
{
	return kind ? plugin.config.kind[0].n_events : 0;
}

void plugin_send_sample(void *user, const struct sim_sample *s)
{
	struct vcpu *v = user;
	struct {
		struct wire_sample m;
		uint64_t rest[WIRE_MAX_EVENTS + WIRE_MAX_BURST * sizeof(struct wire_branch) / 8 +
		              WIRE_MAX_CHAIN];
	} out;
	uint32_t n = s->n_values;
	size_t branch_bytes = s->n_branches * sizeof(struct wire_branch),
	       bytes = sizeof(out.m) + (n + s->n_chain) * sizeof(uint64_t) + branch_bytes;

	out.m.ip = s->ip;
	out.m.enabled_ns = v->elsewhere_ns + plugin_cyc_to_ns(v->core, s->cycle - v->core->pmu.cycle0);
	out.m.running_ns = plugin_cyc_to_ns(v->core, s->running_cyc);
	out.m.period = s->period;
	out.m.event = s->event < plugin.config.kind[v->now].n_events ? plugin_first_event(v->now) + s->event
	                                                             : plugin.config.n_events;
	out.m.n_values = n;
	out.m.n_branches = s->n_branches;
	out.m.n_chain = s->n_chain;
	memcpy(out.rest, s->value, n * sizeof(uint64_t));
	memcpy(out.rest + n, s->branch, branch_bytes);
	if (s->n_chain)
		memcpy((char *)(out.rest + n) + branch_bytes, s->chain, s->n_chain * sizeof(uint64_t));
	sender_send(&plugin.sender, WIRE_SAMPLE, v->tid, v->start_ns + plugin_cyc_to_ns(v->core, s->cycle),
	            &out.m.head, bytes);
}

void plugin_send_throttle(void *user, uint32_t event, bool on, uint64_t cycle)
{
	struct vcpu *v = user;
	struct wire_throttle m = { .event = plugin_first_event(v->now) + event, .on = on };

	sender_send(&plugin.sender, WIRE_THROTTLE, v->tid, v->start_ns + plugin_cyc_to_ns(v->core, cycle),
	            &m.head, sizeof(m));
}

void plugin_send_map(void *user, const struct guest_map *map)
{
	struct vcpu *v = user;
	size_t n = strlen(map->path) + 1, bytes = sizeof(struct wire_map) + n;
	struct wire_map *m = malloc(bytes);

	if (!m)
		return;
	m->ip = map->ip;
	m->len_bytes = map->len_bytes;
	m->pgoff_bytes = map->pgoff_bytes;
	m->prot = map->prot;
	m->flags = map->flags;
	memcpy(m->path, map->path, n);
	sender_send(&plugin.sender, WIRE_MAP, v->tid, plugin_now_ns(v), &m->head, bytes);
	free(m);
}

void plugin_send_totals(struct vcpu *v)
{
	struct {
		struct wire_head head;
		uint64_t value[WIRE_MAX_EVENTS];
	} m;

	if (!v->core || !plugin.config.n_events)
		return;
	for (uint32_t k = 0; k < plugin.config.n_kinds; k++) {
		struct sim_core *c = v->kind[k];

		c->pmu.value[SIM_CYCLES] = c->retire_cyc - c->pmu.cycle0;
		for (uint32_t i = 0; i < plugin.config.kind[k].n_events; i++)
			m.value[plugin_first_event(k) + i] = sim_pmu_value(&c->pmu, i);
	}
	sender_send(&plugin.sender, WIRE_TOTALS, v->tid, plugin_now_ns(v), &m.head,
	            sizeof(m.head) + plugin.config.n_events * sizeof(uint64_t));
}

void plugin_send_hello(struct vcpu *v, bool by_exec)
{
	struct wire_hello m = { .by_exec = by_exec, .fresh = !plugin.resumes };

	sender_send_fd(&plugin.sender, WIRE_HELLO, v->tid, plugin_now_ns(v), &m.head, sizeof(m),
	               plugin.counts_fd);
	if (plugin.counts_fd >= 0)
		close(plugin.counts_fd);
	plugin.counts_fd = -1;
}

void plugin_send_task(struct vcpu *v, uint32_t ppid)
{
	struct wire_task m = { .ppid = ppid, .ptid = v->parent_tid };

	sender_send(&plugin.sender, WIRE_TASK, v->tid, plugin_now_ns(v), &m.head, sizeof(m));
}

void plugin_send_first_comm(struct vcpu *v)
{
	const char *path = qemu_plugin_path_to_binary(), *slash = path ? strrchr(path, '/') : NULL;
	char comm[16];

	snprintf(comm, sizeof(comm), "%s", slash ? slash + 1 : path ? path : "?");
	sender_text(&plugin.sender, WIRE_COMM, v->tid, plugin_now_ns(v), comm);
	free((char *)path);
}
