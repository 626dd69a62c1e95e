/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Who called whom: functions of files, and what threads leave of their calls. */
#include "profiler/sim/plugin_int.h"

#include <stdlib.h>
#include <string.h>

static const struct symbols *symbols_of(uint32_t file)
{
	static const struct symbols none;

	while (plugin.symbols.n <= file) {
		struct symbols s = { .v = { 0 } };
		const char *path = counts_path(&plugin.counts, (uint32_t)plugin.symbols.n);

		if (path)
			symbols_read(&s, path);
		if (vec_push(&plugin.symbols, s) < 0) {
			vec_fini(&s.v);
			return &none;
		}
	}
	return &plugin.symbols.v[file];
}

static uint32_t number_func(uint32_t file, uint64_t off)
{
	long i = pairs_number(&plugin.func_index, file, off);

	if (i < 0 || ((size_t)i == plugin.funcs.n && vec_reserve(&plugin.funcs, plugin.funcs.n + 1) < 0))
		return CALLS_NOBODY;
	if ((size_t)i == plugin.funcs.n) {
		plugin.funcs.v[i].file = file;
		plugin.funcs.v[i].off = off;
		plugin.funcs.n++;
	}
	return (uint32_t)i + 1;
}

struct calls_place plugin_place(uint32_t file, uint64_t off)
{
	const struct symbol *s = symbols_find(symbols_of(file), off);
	uint32_t func = s && s->kind != SYMBOL_ENTRY ? number_func(file, s->off) : CALLS_NOBODY;

	return (struct calls_place){ .func = func,
		                     .called = func ? func : number_func(file, off),
		                     .enters = func && s->off == off,
		                     .stub = s && s->kind == SYMBOL_STUB,
		                     .looks_up = s && s->kind == SYMBOL_ENTRY,
		                     .switches = s && s->switches };
}

static void put(const struct calls_arc *a)
{
	struct counts_call call = { .n = a->n, .n_insn = a->n_insn, .begins = a->caller == CALLS_NOBODY };

	if (a->caller) {
		call.caller_file = plugin.funcs.v[a->caller - 1].file;
		call.caller_off = plugin.funcs.v[a->caller - 1].off;
	}
	call.callee_file = plugin.funcs.v[a->callee - 1].file;
	call.callee_off = plugin.funcs.v[a->callee - 1].off;
	counts_call(&plugin.counts, &call);
}

void plugin_end_calls(struct vcpu *v)
{
	if (!plugin.config.counting || !plugin.config.calls)
		return;
	pthread_mutex_lock(&plugin.lock);
	calls_end(&v->calls);
	plugin.counts.no_calls |= v->calls.failed;
	/* Without memory for a number a function has none. */
	for (size_t i = 0; i < v->calls.arcs.n; i++)
		if (v->calls.arcs.v[i].callee)
			put(&v->calls.arcs.v[i]);
	counts_stacks(&plugin.counts, v->calls.n_returns, v->calls.n_lost, v->calls.n_switches);
	calls_forget(&v->calls);
	pthread_mutex_unlock(&plugin.lock);
}

void plugin_end_last_calls(struct vcpu *v)
{
	if (!plugin.config.counting || !plugin.config.calls)
		return;
	for (unsigned i = 0; i < plugin.n_vcpus; i++)
		if (plugin.vcpu[i] && plugin.vcpu[i] != v && plugin.vcpu[i]->tid && !plugin.vcpu[i]->gone)
			return;
	plugin_end_calls(v);
	counts_calls_end(&plugin.counts);
}
