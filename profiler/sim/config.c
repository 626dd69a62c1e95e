/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/sim/config.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/base/err.h"
#include "profiler/sim/block.h"

struct key {
	const char *name;
	size_t at;
	uint32_t min, max;
	bool optional;
	uint32_t otherwise; /* value of an optional key that is not there */
};

#define KEY(field, min, max)                                         \
	{                                                            \
#field, offsetof(struct sim_config, field), min, max \
	}
#define OPTION(field, min, max, otherwise)                                            \
	{                                                                             \
#field, offsetof(struct sim_config, field), min, max, true, otherwise \
	}
#define CACHE(field, max_kb)                                                                   \
	{ #field "_kb", offsetof(struct sim_config, field.kb), 1, max_kb },                    \
	        { #field "_ways", offsetof(struct sim_config, field.ways), 1, 64 },            \
	{                                                                                      \
#field "_latency_cyc", offsetof(struct sim_config, field.latency_cyc), 1, 1000 \
	}

/* The upper bounds keep a wrong file from asking for absurd memory. */
static const struct key keys[] = {
	KEY(fetch_width, 1, 32),
	KEY(fetch_queue_cyc, 1, 1000),
	KEY(taken_per_cyc, 1, 2),
	KEY(dispatch_width, 1, 32),
	KEY(retire_width, 1, 32),
	KEY(rob, SIM_GROUP, SIM_MAX_ROB),
	KEY(load_queue, SIM_GROUP, SIM_MAX_ROB),
	KEY(store_queue, SIM_GROUP, SIM_MAX_ROB),
	KEY(stores_per_cyc, 1, 8),
	KEY(int_regs, SIM_GROUP, SIM_MAX_ROB),
	KEY(fp_regs, SIM_GROUP, SIM_MAX_ROB),
	KEY(move_elimination, 0, 1),
	KEY(zero_idioms, 0, 1),
	KEY(mispredict_cyc, 0, 1000),
	KEY(resteer_cyc, 0, 1000),
	KEY(predictor_bits, 4, 20),
	KEY(btb_entries, 16, 1 << 20),
	KEY(return_stack, 1, 1024),
	KEY(line_bytes, 16, 256),
	CACHE(l1, 1 << 12),
	CACHE(l2, 1 << 16),
	CACHE(l3, 1 << 18),
	KEY(dram_cyc, 1, 100000),
	KEY(dram_gap_cyc, 0, 10000),
	KEY(mshrs, 1, 256),
	KEY(prefetch_lines, 0, 64),
	KEY(forward_cyc, 0, 100),
	KEY(rep_bytes, 1, 64),
	KEY(n_counters, 1, 16),
	KEY(n_fixed, 0, 2),
	KEY(branch_records, 0, 64),
	OPTION(branch_cycles, 0, 1, 0),
	OPTION(predictor_tables, 1, SIM_MAX_TABLES, 3),
	OPTION(predictor_history, 1, SIM_MAX_HISTORY, 60),
	OPTION(flag_regs, SIM_GROUP, SIM_MAX_ROB, SIM_MAX_ROB),
	OPTION(int_scheduler, 0, SIM_MAX_ROB, 0),
	OPTION(fp_scheduler, 0, SIM_MAX_ROB, 0),
	OPTION(scheduler_hold_cyc, 0, 100, 0),
	OPTION(fp_queue, 0, SIM_MAX_ROB, 0),
	OPTION(address_scheduler, 0, SIM_MAX_ROB, 0),
	OPTION(fuse_branches, 0, 1, 0),
	OPTION(memory_renaming, 0, 1, 0),
	OPTION(pair_trust, 0, 1000, 0),
	OPTION(forward_fail_cyc, 0, 1000, 0),
	OPTION(alias_4k_cyc, 0, 1000, 0),
	OPTION(split_lines, 0, 1, 0),
	OPTION(fp_cross_cyc, 0, 20, 0),
	OPTION(scaled_load_cyc, 0, 20, 0),
	OPTION(vmove_elimination, 0, 1, 0),
	OPTION(store_line_cyc, 0, 100, 0),
	OPTION(call_cyc, 0, 100, 0),
	OPTION(return_cyc, 0, 100, 0),
	OPTION(page_kb, 4, 1 << 15, 4),
	OPTION(tlb_entries, 0, 1 << 16, 0),
	OPTION(tlb2_entries, 0, 1 << 16, 0),
	OPTION(tlb2_cyc, 0, 1000, 0),
	OPTION(walk_cyc, 0, 1000, 0),
	OPTION(interrupt_retires, 0, 1, 0),
	OPTION(skid_period, 0, 100000000, 0),
	OPTION(skid_doubling_cyc, 0, 10000, 0),
	OPTION(skid_sharp_cyc, 0, 100000, 0),
	OPTION(branch_gap_percent, 0, 100, 0),
	OPTION(branch_freeze_cyc, 0, 10000, 0),
	OPTION(branch_freeze_overflow, 0, 1, 0),
	OPTION(precise_max, 0, 3, 0),
	OPTION(precise_shadow_cyc, 0, 10000, 0),
	OPTION(precise_by_dispatch, 0, 1, 0),
	OPTION(syscall_cyc, 0, 1000000, 0),
	OPTION(syscall_insns, 0, 1000000, 0),
};

enum { N_KEYS = sizeof(keys) / sizeof(*keys) };

static const char *const class_names[SIM_N_CLASSES] = {
	[SIM_C_NOP] = "nop",         [SIM_C_MOVE] = "move",     [SIM_C_ALU] = "alu",
	[SIM_C_SHIFT] = "shift",     [SIM_C_LEA] = "lea",       [SIM_C_LEA3] = "lea3",
	[SIM_C_BITS] = "bits",       [SIM_C_IMUL] = "imul",     [SIM_C_DIV32] = "div32",
	[SIM_C_DIV64] = "div64",     [SIM_C_JUMP] = "jump",     [SIM_C_BRANCH] = "branch",
	[SIM_C_LOAD] = "load",       [SIM_C_STORE] = "store",   [SIM_C_FMOVE] = "fmove",
	[SIM_C_FADD] = "fadd",       [SIM_C_FMUL] = "fmul",     [SIM_C_FMA] = "fma",
	[SIM_C_FDIV32] = "fdiv32",   [SIM_C_FDIV64] = "fdiv64", [SIM_C_FSQRT32] = "fsqrt32",
	[SIM_C_FSQRT64] = "fsqrt64", [SIM_C_FCONV] = "fconv",   [SIM_C_FCOMI] = "fcomi",
	[SIM_C_VLOGIC] = "vlogic",   [SIM_C_VINT] = "vint",     [SIM_C_VMUL] = "vmul",
	[SIM_C_VSHUF] = "vshuf",     [SIM_C_CRYPTO] = "crypto", [SIM_C_X87] = "x87",
	[SIM_C_ATOMIC] = "atomic",   [SIM_C_SLOW] = "slow",     [SIM_C_TOVEC] = "tovec",
	[SIM_C_VLOAD] = "vload",
};

#define SEP " \t\r"

struct parse {
	struct sim_config *out;
	unsigned line;
	bool seen_key[N_KEYS], seen_class[SIM_N_CLASSES], seen_freq;
};

static int bad(const struct parse *p, const char *word, const char *what)
{
	return sp_fail(SP_EFORMAT, "core file, line %u: \"%s\" %s", p->line, word, what);
}

static int parse_u32(const struct parse *p, const char *word, uint32_t max, uint32_t *out)
{
	unsigned long long v;
	char *end;

	if (!word || *word < '0' || *word > '9')
		return bad(p, word ? word : "", "is no number");
	errno = 0;
	v = strtoull(word, &end, 10);
	if (*end || errno || v > max)
		return bad(p, word, *end ? "is no whole number" : "is too large");
	*out = (uint32_t)v;
	return 0;
}

static int parse_16ths(const struct parse *p, const char *word, double max, uint32_t *out)
{
	double v;
	char *end;

	if (!word || *word < '0' || *word > '9')
		return bad(p, word ? word : "", "is no number");
	v = strtod(word, &end);
	if (*end || !(v <= max))
		return bad(p, word, *end ? "is no number" : "is too large");
	*out = (uint32_t)(v * 16 + 0.5);
	return 0;
}

static int parse_freq(struct parse *p, const char *word)
{
	char *end;
	double ghz;

	if (!word)
		return bad(p, "freq_ghz", "has no value");
	ghz = strtod(word, &end);
	if (*end || !(ghz >= 0.01 && ghz <= 100))
		return bad(p, word, "is no frequency in GHz (0.01 to 100)");
	p->out->freq_ghz = ghz;
	p->seen_freq = true;
	return 0;
}

static int parse_ports(const struct parse *p, char *word, uint32_t *mask)
{
	char *save = NULL;
	uint32_t port;
	int err;

	*mask = 0;
	if (!word)
		return bad(p, "", "stands where ports were expected");
	if (!strcmp(word, "-"))
		return 0;
	for (char *one = strtok_r(word, ",", &save); one; one = strtok_r(NULL, ",", &save)) {
		if ((err = parse_u32(p, one, SIM_MAX_PORTS - 1, &port)) < 0)
			return err;
		*mask |= 1u << port;
	}
	return 0;
}

static int class_by_name(const struct parse *p, const char *name)
{
	int id = sim_class_find(name);

	return id < 0 ? bad(p, name, "is no instruction class") : id;
}

static int parse_class(struct parse *p, const char *name, char **save)
{
	struct sim_class_config c = { 0 };
	int err, id = class_by_name(p, name);

	if (id < 0)
		return id;
	if ((err = parse_u32(p, strtok_r(NULL, SEP, save), 10000, &c.latency_cyc)) < 0 ||
	    (err = parse_16ths(p, strtok_r(NULL, SEP, save), 255, &c.occupancy_16)) < 0 ||
	    (err = parse_ports(p, strtok_r(NULL, SEP, save), &c.ports)) < 0)
		return err;
	if (c.ports && c.occupancy_16 < 16)
		return bad(p, name, "takes its port for no cycle; say at least 1");
	c.slots_milli = p->out->cls[id].slots_milli;
	c.bind = p->out->cls[id].bind;
	p->out->cls[id] = c;
	p->seen_class[id] = true;
	return 0;
}

static int parse_slots(struct parse *p, const char *name, char **save)
{
	int id = class_by_name(p, name);

	return id < 0 ? id : parse_u32(p, strtok_r(NULL, SEP, save), 16000, &p->out->cls[id].slots_milli);
}

static int parse_bind(struct parse *p, const char *name, char **save)
{
	int id = class_by_name(p, name);

	return id < 0 ? id : parse_u32(p, strtok_r(NULL, SEP, save), SIM_MAX_PORTS, &p->out->cls[id].bind);
}

static int parse_skid(struct parse *p, char **save)
{
	struct sim_config *c = p->out;
	struct sim_skid_bin b = { 0 };
	uint32_t weight;
	int err;

	if (c->n_skid_bins == SIM_MAX_SKID_BINS)
		return bad(p, "skid", "has more bins than the 256 allowed");
	if ((err = parse_u32(p, strtok_r(NULL, SEP, save), 100000000, &b.lo_cyc)) < 0 ||
	    (err = parse_u32(p, strtok_r(NULL, SEP, save), 100000000, &b.hi_cyc)) < 0 ||
	    (err = parse_u32(p, strtok_r(NULL, SEP, save), UINT32_MAX, &weight)) < 0)
		return err;
	if (b.lo_cyc >= b.hi_cyc)
		return bad(p, "skid", "bin is empty: the second number must exceed the first");
	b.weight_up_to = weight + (c->n_skid_bins ? c->skid[c->n_skid_bins - 1].weight_up_to : 0);
	c->skid[c->n_skid_bins++] = b;
	return 0;
}

static int parse_key(struct parse *p, const char *name, char **save)
{
	uint32_t v;
	int err;

	for (size_t i = 0; i < N_KEYS; i++) {
		if (strcmp(keys[i].name, name))
			continue;
		if (p->seen_key[i])
			return bad(p, name, "is given twice");
		if ((err = parse_u32(p, strtok_r(NULL, SEP, save), keys[i].max, &v)) < 0)
			return sp_fail_prefix(err, "%s", name);
		if (v < keys[i].min)
			return bad(p, name, "is too small");
		memcpy((char *)p->out + keys[i].at, &v, sizeof(v));
		p->seen_key[i] = true;
		return 0;
	}
	return bad(p, name, "is no key of a core file");
}

static int parse_line(struct parse *p, char *line)
{
	char *save = NULL, *name, *more;
	int err;

	line[strcspn(line, "#")] = '\0';
	if (!(name = strtok_r(line, SEP, &save)))
		return 0;
	if (!strcmp(name, "freq_ghz"))
		err = parse_freq(p, strtok_r(NULL, SEP, &save));
	else if (!strcmp(name, "skid"))
		err = parse_skid(p, &save);
	else if (!strncmp(name, "class.", 6))
		err = parse_class(p, name + 6, &save);
	else if (!strncmp(name, "slots.", 6))
		err = parse_slots(p, name + 6, &save);
	else if (!strncmp(name, "bind.", 5))
		err = parse_bind(p, name + 5, &save);
	else
		err = parse_key(p, name, &save);
	if (err < 0)
		return err;
	if ((more = strtok_r(NULL, SEP, &save)))
		return bad(p, more, "is one word too many");
	return 0;
}

static int check_cache(const char *name, const struct sim_cache_config *c, uint32_t line_bytes)
{
	uint64_t sets = (uint64_t)c->kb * 1024 / line_bytes / c->ways;

	if (!sets)
		return sp_fail(SP_EFORMAT, "core file: %s has more ways than lines", name);
	return 0;
}

static int check_bind(int id, const struct sim_class_config *c)
{
	unsigned n = (unsigned)__builtin_popcount(c->ports);

	if (!c->bind || !c->ports ||
	    (n % c->bind == 0 && c->ports >> __builtin_ctz(c->ports) == (1u << n) - 1))
		return 0;
	return sp_fail(SP_EFORMAT, "core file: bind.%s %u does not divide neighbouring ports",
	               class_names[id], c->bind);
}

static int check_whole(const struct parse *p)
{
	const struct sim_config *c = p->out;
	int err;

	for (size_t i = 0; i < N_KEYS; i++)
		if (!p->seen_key[i] && !keys[i].optional)
			return sp_fail(SP_EFORMAT, "core file: key %s is missing", keys[i].name);
	for (int i = 0; i < SIM_C_TOVEC; i++)
		if (!p->seen_class[i])
			return sp_fail(SP_EFORMAT, "core file: class.%s is missing", class_names[i]);
	if (!p->seen_freq)
		return sp_fail(SP_EFORMAT, "core file: key freq_ghz is missing");
	if (!c->n_skid_bins || !c->skid[c->n_skid_bins - 1].weight_up_to)
		return sp_fail(SP_EFORMAT, "core file: no skid line with a weight");
	if (c->line_bytes & (c->line_bytes - 1))
		return sp_fail(SP_EFORMAT, "core file: line_bytes must be a power of two");
	if (c->page_kb & (c->page_kb - 1))
		return sp_fail(SP_EFORMAT, "core file: page_kb must be a power of two");
	if (!c->syscall_cyc != !c->syscall_insns)
		return sp_fail(SP_EFORMAT, "core file: syscall_cyc and syscall_insns go together");
	if (!c->cls[SIM_C_LOAD].ports || !c->cls[SIM_C_STORE].ports)
		return sp_fail(SP_EFORMAT, "core file: class.load and class.store need ports");
	for (int i = 0; i < SIM_N_CLASSES; i++)
		if ((err = check_bind(i, &c->cls[i])) < 0)
			return err;
	if ((err = check_cache("l1", &c->l1, c->line_bytes)) < 0 ||
	    (err = check_cache("l2", &c->l2, c->line_bytes)) < 0 ||
	    (err = check_cache("l3", &c->l3, c->line_bytes)) < 0)
		return err;
	return 0;
}

static void set_defaults(struct sim_config *c)
{
	memset(c, 0, sizeof(*c));
	for (size_t i = 0; i < N_KEYS; i++)
		if (keys[i].optional)
			memcpy((char *)c + keys[i].at, &keys[i].otherwise, sizeof(keys[i].otherwise));
	for (int i = 0; i < SIM_N_CLASSES; i++)
		c->cls[i].slots_milli = SIM_SLOT;
}

int sim_config_parse(const char *text, size_t n_bytes, struct sim_config *out)
{
	struct parse p = { .out = out };
	const char *end = text + n_bytes;
	char line[512];
	int err;

	set_defaults(out);
	while (text < end) {
		const char *nl = memchr(text, '\n', (size_t)(end - text));
		size_t n = (size_t)((nl ? nl : end) - text);

		p.line++;
		if (n >= sizeof(line))
			return sp_fail(SP_EFORMAT, "core file, line %u: longer than %zu bytes", p.line,
			               sizeof(line) - 1);
		if (memchr(text, '\0', n))
			return sp_fail(SP_EFORMAT, "core file, line %u: holds a zero byte", p.line);
		memcpy(line, text, n);
		line[n] = '\0';
		if ((err = parse_line(&p, line)) < 0)
			return err;
		text += n + (nl != NULL);
	}
	if ((err = check_whole(&p)) < 0)
		return err;
	out->has_tovec = p.seen_class[SIM_C_TOVEC];
	if (!out->has_tovec)
		out->cls[SIM_C_TOVEC] = out->cls[SIM_C_FCOMI];
	if (!p.seen_class[SIM_C_VLOAD])
		out->cls[SIM_C_VLOAD] = (struct sim_class_config){ 0, 16, out->cls[SIM_C_LOAD].ports,
			                                           out->cls[SIM_C_LOAD].slots_milli, 0 };
	return 0;
}

int sim_class_find(const char *name)
{
	for (int i = 0; i < SIM_N_CLASSES; i++)
		if (!strcmp(class_names[i], name))
			return i;
	return -1;
}

bool sim_config_field(const char *name, struct sim_config_field *out)
{
	for (size_t i = 0; i < N_KEYS; i++)
		if (!strcmp(keys[i].name, name)) {
			*out = (struct sim_config_field){ keys[i].at, keys[i].min, keys[i].max };
			return true;
		}
	return false;
}

static void write_class(const char *name, const struct sim_class_config *c, FILE *to)
{
	fprintf(to, "class.%-8s %3u  %-7.6g ", name, c->latency_cyc, c->occupancy_16 / 16.0);
	for (uint32_t left = c->ports; left; left &= left - 1)
		fprintf(to, "%d%s", __builtin_ctz(left), left & (left - 1) ? "," : "");
	fputs(c->ports ? "\n" : "-\n", to);
	if (c->slots_milli != SIM_SLOT)
		fprintf(to, "slots.%-8s %u\n", name, c->slots_milli);
	if (c->bind)
		fprintf(to, "bind.%-9s %u\n", name, c->bind);
}

void sim_config_write(const struct sim_config *c, FILE *to)
{
	uint64_t before = 0;
	uint32_t v;

	fprintf(to, "%-18s %.6g\n", "freq_ghz", c->freq_ghz);
	for (size_t i = 0; i < N_KEYS; i++) {
		memcpy(&v, (const char *)c + keys[i].at, sizeof(v));
		fprintf(to, "%-18s %u\n", keys[i].name, v);
	}
	for (int i = 0; i < SIM_N_CLASSES; i++)
		if (i != SIM_C_TOVEC || c->has_tovec)
			write_class(class_names[i], &c->cls[i], to);
	for (uint32_t i = 0; i < c->n_skid_bins; i++) {
		fprintf(to, "skid %5u %5u %ju\n", c->skid[i].lo_cyc, c->skid[i].hi_cyc,
		        (uintmax_t)(c->skid[i].weight_up_to - before));
		before = c->skid[i].weight_up_to;
	}
}
