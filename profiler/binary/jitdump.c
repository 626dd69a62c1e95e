/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/binary/jitdump.h"

#include "profiler/base/err.h"
#include "profiler/base/order.h"
#include "profiler/base/pairs.h"
#include "profiler/perfdata/cursor.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
	MAGIC = 0x4a695444, /* "JiTD" of the machine that wrote it */
	VERSION = 1,
	HEADER_BYTES = 40,
	RECORD_BYTES = 16,
	ARCH_TIME = 1, /* of the header's flags */
	MAX_LAYERS = 256,
};

enum record_id { CODE_LOAD, CODE_MOVE, CODE_DEBUG_INFO, CODE_CLOSE };

/* Lines are told before the code that they are of. */
struct parse {
	struct jitdump *out;
	struct pairs begins;  /* addresses that code began at ... */
	VEC(size_t) begun_at; /* ... and the last that did */
	uint64_t lines_of;
	uint32_t line0;
};

bool jitdump_is_one(const uint8_t *data, size_t n)
{
	return n >= HEADER_BYTES && (pd_u32(data, false) == MAGIC || pd_u32(data, true) == MAGIC);
}

bool jitdump_is_name(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	unsigned pid;
	int end = 0;

	return sscanf(name, "jit-%u.dump%n", &pid, &end) == 1 && end && !name[end];
}

static void add_code(struct parse *p, struct jit_code code)
{
	struct jitdump *j = p->out;
	size_t number;

	if (!code.size_bytes || code.vaddr + code.size_bytes < code.vaddr)
		return;
	if (p->lines_of == code.vaddr) {
		code.line0 = p->line0;
		code.n_lines = (uint32_t)j->lines.n - p->line0;
	}
	p->line0 = (uint32_t)j->lines.n;
	number = pairs_must(&p->begins, code.vaddr, 0);
	if (number == p->begun_at.n)
		vec_add(&p->begun_at, 0);
	p->begun_at.v[number] = j->codes.n;
	vec_add(&j->codes, code);
}

static void take_load(struct parse *p, struct pd_cursor *c, uint64_t time_ns)
{
	struct jit_code code = { .from_ns = time_ns };

	cur_bytes(c, 2 * sizeof(uint32_t)); /* process and thread */
	cur_u64(c);                         /* where it is to run: as a rule where it is */
	code.vaddr = cur_u64(c);
	code.size_bytes = cur_u64(c);
	cur_u64(c);
	code.name = cur_text(c);
	code.bytes = cur_bytes(c, code.size_bytes);
	if (!c->bad)
		add_code(p, code);
}

/* What was there before stays known, for samples of before. */
static void take_move(struct parse *p, struct pd_cursor *c, uint64_t time_ns)
{
	struct jit_code code;
	uint64_t to;
	long from;

	cur_bytes(c, 2 * sizeof(uint32_t));
	cur_u64(c);
	from = pairs_find(&p->begins, cur_u64(c), 0);
	to = cur_u64(c);
	if (c->bad || from < 0)
		return;
	code = p->out->codes.v[p->begun_at.v[from]];
	code.from_ns = time_ns;
	code.vaddr = to;
	code.n_lines = 0;
	add_code(p, code);
}

/* A file that is "\xff" is that of the entry before. */
static void take_lines(struct parse *p, struct pd_cursor *c)
{
	struct jitdump *j = p->out;
	const char *file = NULL;
	uint64_t n;

	p->lines_of = cur_u64(c);
	p->line0 = (uint32_t)j->lines.n;
	n = cur_u64(c);
	for (uint64_t i = 0; i < n && !c->bad; i++) {
		struct jit_line line = { .vaddr = cur_u64(c), .line = cur_u32(c) };
		const char *name;

		cur_u32(c); /* the discriminator */
		name = cur_text(c);
		if (name && strcmp(name, "\xff") != 0)
			file = name;
		line.file = file;
		if (!c->bad && file && j->lines.n < UINT32_MAX)
			vec_add(&j->lines, line);
	}
}

static void take_record(struct parse *p, uint32_t id, struct pd_cursor c, uint64_t time_ns)
{
	switch (id) {
	case CODE_LOAD:
		take_load(p, &c, time_ns);
		break;
	case CODE_MOVE:
		take_move(p, &c, time_ns);
		break;
	case CODE_DEBUG_INFO:
		take_lines(p, &c);
		break;
	default:
		break;
	}
}

static void take_records(struct parse *p, struct pd_cursor *c, const uint8_t *data)
{
	while (cur_left(c) > 0) {
		const uint8_t *begin = c->p;
		uint32_t id = cur_u32(c), size = cur_u32(c);
		uint64_t time_ns = cur_u64(c);
		struct pd_cursor body = *c;

		if (c->bad || size < RECORD_BYTES || !cur_bytes(c, size - RECORD_BYTES)) {
			p->out->dropped_off = (size_t)(begin - data);
			p->out->dropped_bytes = (size_t)(c->end - begin);
			break;
		}
		body.end = c->p;
		if (id == CODE_CLOSE)
			break;
		take_record(p, id, body, time_ns);
	}
}

static int by_address(const void *a, const void *b)
{
	const struct jit_code *x = a, *y = b;

	return order_pairs(x->vaddr, x->from_ns, y->vaddr, y->from_ns);
}

static int by_layer(const void *a, const void *b)
{
	const struct jit_code *x = a, *y = b;

	return x->layer != y->layer ? (x->layer > y->layer) - (x->layer < y->layer) : by_address(a, b);
}

/* Each code in the first layer where the one before it has ended.  What fits into none of so many is dropped. */
static void find_layers(struct jitdump *j)
{
	uint64_t end[MAX_LAYERS] = { 0 };
	size_t n = 0;

	if (!j->codes.n)
		return;
	qsort(j->codes.v, j->codes.n, sizeof(*j->codes.v), by_address);
	for (size_t i = 0; i < j->codes.n; i++) {
		struct jit_code code = j->codes.v[i];

		while (code.layer < MAX_LAYERS && end[code.layer] > code.vaddr)
			code.layer++;
		if (code.layer == MAX_LAYERS)
			continue;
		end[code.layer] = code.vaddr + code.size_bytes;
		if (code.layer >= j->n_layers)
			j->n_layers = code.layer + 1;
		j->codes.v[n++] = code;
	}
	j->codes.n = n;
	qsort(j->codes.v, j->codes.n, sizeof(*j->codes.v), by_layer);
}

int jitdump_parse(const uint8_t *data, size_t n, const char *path, struct jitdump *out)
{
	struct pd_cursor c = { data, data + n, false, false };
	struct parse p = { .out = out };
	uint32_t version, size;
	uint64_t flags;

	memset(out, 0, sizeof(*out));
	if (!jitdump_is_one(data, n))
		return sp_fail(SP_EFORMAT, "%s: not a jitdump file", path);
	if (pd_u32(data, false) != MAGIC)
		return sp_fail(SP_EFORMAT, "%s: a jitdump file of a machine of the other byte order", path);
	cur_u32(&c);
	version = cur_u32(&c);
	size = cur_u32(&c);
	out->machine = cur_u32(&c);
	cur_bytes(&c, 2 * sizeof(uint32_t) + sizeof(uint64_t)); /* padding, process, time */
	flags = cur_u64(&c);
	if (version != VERSION || size < HEADER_BYTES || !cur_bytes(&c, size - HEADER_BYTES))
		return sp_fail(SP_EFORMAT, "%s: jitdump of version %" PRIu32 ", which is not known (1 is)",
		               path, version);
	out->other_clock = flags & ARCH_TIME;
	take_records(&p, &c, data);
	pairs_fini(&p.begins);
	vec_fini(&p.begun_at);
	find_layers(out);
	return 0;
}

void jitdump_fini(struct jitdump *j)
{
	vec_fini(&j->codes);
	vec_fini(&j->lines);
}

const struct jit_code *jitdump_at(const struct jitdump *j, uint32_t layer, uint64_t vaddr)
{
	size_t lo = sorted_count(j->codes.n, k,
	                         order_pairs(j->codes.v[k].layer, j->codes.v[k].vaddr, layer, vaddr) <= 0);

	if (!lo || j->codes.v[lo - 1].layer != layer ||
	    vaddr - j->codes.v[lo - 1].vaddr >= j->codes.v[lo - 1].size_bytes)
		return NULL;
	return &j->codes.v[lo - 1];
}
