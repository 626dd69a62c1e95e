/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Run blocks of other people's programs natively: torture SKIDBLOCK MOST FILE...
 *
 * Every function is cut at its branches; of all blocks that differ, MOST are
 * taken at even distances.  Prints what became of them; fails when the
 * program that runs them does.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "profiler/base/err.h"
#include "profiler/base/vec.h"
#include "profiler/binary/module.h"
#include "report/lift/native_block.h"

enum { LEAST_TEXT = 100 };

struct piece {
	struct tool_block b;
	uint64_t hash;
};

struct torture {
	struct insn_decoder *d;
	VEC(struct piece) pieces;
	size_t n_files;
};

static uint64_t hash_bytes(const uint8_t *at, size_t n)
{
	uint64_t h = 0xcbf29ce484222325u;

	for (size_t i = 0; i < n; i++)
		h = (h ^ at[i]) * 0x100000001b3u;
	return h;
}

/* Cut [vaddr, vaddr + n) at what leaves it. */
static int cut(struct torture *t, const uint8_t *code, size_t n, uint64_t vaddr)
{
	size_t begin = 0;

	for (size_t off = 0; off < n;) {
		struct insn in;

		if (insn_decode(t->d, code + off, n - off, vaddr + off, &in) < 0)
			return 0;
		off += in.size_bytes;
		if (in.flow == INSN_PLAIN && off < n)
			continue;
		struct tool_block b = { code + begin, off - begin, vaddr + begin, ISA_X86_64, 0 };

		if (vec_push(&t->pieces, (struct piece){ b, hash_bytes(b.bytes, b.n_bytes) }) < 0)
			return -SP_ENOMEM;
		begin = off;
	}
	return 0;
}

/* The module stays open: blocks are borrowed from it. */
static int add_file(struct torture *t, const char *path)
{
	static const struct module_options opts = { .no_debuginfod = true };
	struct module *m;
	uint64_t text = 0;
	int err = module_open(path, NULL, 0, &opts, &m);

	if (err < 0)
		return err;
	if (module_state(m) != MODULE_OK || module_isa(m) != ISA_X86_64) {
		module_free(m);
		return 0;
	}
	for (size_t i = 0; i < module_n_funcs(m); i++)
		text += module_func(m, i)->size_bytes;
	for (size_t i = 0; text > LEAST_TEXT && i < module_n_funcs(m) && err == 0; i++) {
		const struct module_func *f = module_func(m, i);
		size_t left;
		const uint8_t *code = module_code(m, f->vaddr, &left);

		if (code)
			err = cut(t, code, left < f->size_bytes ? left : f->size_bytes, f->vaddr);
	}
	t->n_files++;
	return err;
}

static int by_hash(const void *a, const void *b)
{
	const struct piece *x = a, *y = b;

	return (x->hash > y->hash) - (x->hash < y->hash);
}

static void keep_different(struct torture *t)
{
	size_t n = 0;

	qsort(t->pieces.v, t->pieces.n, sizeof(t->pieces.v[0]), by_hash);
	for (size_t i = 0; i < t->pieces.n; i++)
		if (!n || t->pieces.v[n - 1].hash != t->pieces.v[i].hash)
			t->pieces.v[n++] = t->pieces.v[i];
	t->pieces.n = n;
}

/* N_BLOCK_VERDICTS: not run at all, but refused; one more: only a jump. */
static int run_one(struct torture *t, struct native_server *s, const struct piece *p, size_t *counts)
{
	static struct block_request request;
	struct block_reply r;
	int err = native_prepare(t->d, &p->b, &request);

	if (err < 0) {
		counts[N_BLOCK_VERDICTS]++;
		return 0;
	}
	if (!request.n_insn) {
		counts[N_BLOCK_VERDICTS + 1]++;
		return 0;
	}
	err = native_server_ask(s, &request, &r);
	if (err < 0 || r.verdict == BLOCK_BROKEN) {
		printf("0x%jx (%zu bytes): %s\n", (uintmax_t)p->b.vaddr, p->b.n_bytes,
		       err < 0 ? sp_error_text() : strerror(r.err));
		for (size_t i = 0; i < p->b.n_bytes; i++)
			printf("%02x", p->b.bytes[i]);
		putchar('\n');
		return -1;
	}
	counts[r.verdict]++;
	return 0;
}

static int run_all(struct torture *t, struct native_server *s, size_t most)
{
	static const char *const words[] = { "timed",    "fault",  "trap",    "divide",
		                             "syscall",  "killed", "endless", "pages",
		                             "unsteady", "broken", "refused", "only a jump" };
	size_t n = t->pieces.n < most ? t->pieces.n : most, counts[N_BLOCK_VERDICTS + 2] = { 0 };
	struct timespec a, b;
	int bad = 0;

	clock_gettime(CLOCK_MONOTONIC, &a);
	for (size_t i = 0; i < n; i++)
		bad += run_one(t, s, &t->pieces.v[(size_t)((double)i * (double)t->pieces.n / (double)n)],
		               counts) < 0;
	clock_gettime(CLOCK_MONOTONIC, &b);
	printf("%zu files, %zu different blocks, %zu run:", t->n_files, t->pieces.n, n);
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (counts[i])
			printf(" %zu %s,", counts[i], words[i]);
	printf(" %.2f ms a block\n",
	       n ? ((double)(b.tv_sec - a.tv_sec) * 1e3 + (double)(b.tv_nsec - a.tv_nsec) / 1e6) / (double)n
	         : 0);
	return bad || !n;
}

int main(int argc, char **argv)
{
	struct torture t = { 0 };
	struct native_server *s;
	int err;

	if (argc < 4)
		return 2;
	err = insn_decoder_new(ISA_X86_64, &t.d);
	if (err == 0)
		err = native_server_start(argv[1], &s);
	for (int i = 3; i < argc && err == 0; i++)
		err = add_file(&t, argv[i]);
	if (err < 0) {
		fprintf(stderr, "torture: %s\n", sp_error_text());
		return 1;
	}
	keep_different(&t);
	err = run_all(&t, s, strtoul(argv[2], NULL, 10));
	native_server_stop(s);
	return err;
}
