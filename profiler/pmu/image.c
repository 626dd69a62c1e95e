/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/pmu/image.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include "profiler/base/err.h"
#include "profiler/sim/counts.h"

struct reading {
	const uint8_t *base;
	const struct counts_head *head;
	struct counts_layout at;
	uint64_t n_blocks, max_blocks;
	uint64_t *runs; /* [n_blocks] of all threads */
	uint32_t *file; /* [n_files + 1] the tally's number of each of the image's files */
	uint32_t n_files;
	uint64_t total, by_blocks; /* instructions, summed in two ways */
	struct tally *tally;
};

int image_open(uint32_t pid, int fd, struct image *out)
{
	const struct counts_head *head;
	struct counts_layout at;
	uint64_t max_blocks;
	struct stat st;
	void *p;

	if (fstat(fd, &st) < 0 || st.st_size < (off_t)sizeof(*head))
		return sp_fail(SP_EFORMAT, "the plugin's memory of exact counts is none");
	p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED | MAP_NORESERVE, fd, 0);
	if (p == MAP_FAILED)
		return sp_fail_errno("the exact counts of process %u", pid);
	head = p;
	/* max_blocks is a power of two far below 2^32, so nothing wraps here. */
	max_blocks = head->max_blocks;
	if (head->magic == COUNTS_MAGIC && head->version == COUNTS_VERSION && max_blocks < UINT32_MAX) {
		counts_layout(max_blocks, &at);
		if (at.end == (uint64_t)st.st_size) {
			*out = (struct image){ pid, p, (size_t)st.st_size, max_blocks };
			return 0;
		}
	}
	munmap(p, (size_t)st.st_size);
	return sp_fail(SP_EFORMAT,
	               "the plugin's exact counts are of another version; is skidsim.so of this one?");
}

void image_close(struct image *image)
{
	if (image->base)
		munmap((void *)image->base, image->bytes);
	image->base = NULL;
}

/* A program can write where it likes, and so can a fault of ours: then no number is to be believed. */
static int contradiction(const char *what, uint64_t block)
{
	return sp_fail(
	        SP_EFORMAT,
	        "the exact counts contradict each other (%s, block %ju): the program has written over them, "
	        "or it is a fault of skidprof's, to be reported",
	        what, (uintmax_t)block);
}

static int number_file(struct image_files *files, const char *path, uint32_t *number)
{
	char *copy;

	for (size_t i = files->n; i-- > 0;) {
		if (strcmp(files->v[i], path) == 0) {
			*number = (uint32_t)i;
			return 0;
		}
	}
	copy = strdup(path);
	if (!copy || vec_push(files, copy) < 0) {
		free(copy);
		return sp_fail(SP_ENOMEM, "out of memory");
	}
	*number = (uint32_t)files->n - 1;
	return 0;
}

static int number_files(struct reading *r, struct image_files *files)
{
	const char *at = (const char *)r->base + r->at.files, *end = (const char *)r->base + r->at.runs;
	uint32_t n = __atomic_load_n(&r->head->n_files, __ATOMIC_ACQUIRE);
	int err = 0;

	if (n > (uint64_t)(end - at))
		return contradiction("files", 0);
	r->file = calloc(n + COUNTS_FIRST_FILE, sizeof(*r->file));
	if (!r->file)
		return sp_fail(SP_ENOMEM, "out of memory");
	for (uint32_t i = 0; i < n && err == 0; i++) {
		size_t bytes = strnlen(at, (size_t)(end - at)) + 1;

		if (bytes > (size_t)(end - at))
			return contradiction("files", i);
		err = number_file(files, at, &r->file[COUNTS_FIRST_FILE + i]);
		at += bytes;
	}
	r->n_files = n;
	return err;
}

static int sum_runs(struct reading *r)
{
	const uint64_t *alone = (const uint64_t *)(r->base + r->at.runs);
	const struct counts_slot *slot = (const struct counts_slot *)(r->base + r->at.slots);
	uint64_t n_slots = __atomic_load_n(&r->head->n_slots, __ATOMIC_ACQUIRE);

	if (n_slots > (r->at.end - r->at.slots) / sizeof(*slot))
		return contradiction("threads", n_slots);
	r->runs = calloc(r->n_blocks + 1, sizeof(*r->runs));
	if (!r->runs)
		return sp_fail(SP_ENOMEM, "out of memory");
	for (uint64_t b = 0; b < r->n_blocks; b++)
		r->runs[b] = alone[b];
	for (uint64_t k = 0; k < n_slots; k++) {
		uint64_t first = slot[k].chunk * COUNTS_CHUNK;

		if (slot[k].chunk > r->max_blocks / COUNTS_CHUNK)
			return contradiction("threads", slot[k].chunk);
		for (uint64_t i = 0; i < COUNTS_CHUNK && first + i < r->n_blocks; i++)
			r->runs[first + i] += slot[k].runs[i];
	}
	return 0;
}

/* u64[n_insn] of a block, NULL where there are none. */
static int find_extra(const struct reading *r, uint64_t index, uint64_t b, uint32_t n_insn,
                      const uint64_t **out)
{
	uint64_t at = ((const uint64_t *)(r->base + index))[b];

	*out = NULL;
	if (!at)
		return 0;
	if (at < r->at.extra || at % sizeof(uint64_t) || at + n_insn * sizeof(uint64_t) > r->at.calls)
		return contradiction("places", b);
	*out = (const uint64_t *)(r->base + at);
	return 0;
}

static int add_insn(struct reading *r, const struct counts_block *block, uint32_t i, uint64_t n,
                    uint64_t n_miss)
{
	struct record_count count = { .off = block->off + (block->insn[i] & (COUNTS_LOADS - 1)),
		                      .n = n,
		                      .n_load = block->insn[i] & COUNTS_LOADS ? n : 0,
		                      .n_miss = n_miss };

	r->total += n;
	if (!n)
		return 0;
	if (block->file == COUNTS_NO_FILE) {
		tally_add_unmapped(r->tally, n);
		return 0;
	}
	count.file = r->file[block->file];
	return tally_add(r->tally, &count);
}

static int add_block(struct reading *r, uint64_t b, const struct counts_block *block)
{
	uint64_t again = ((const uint64_t *)(r->base + r->at.again))[b], n = r->runs[b];
	const uint64_t *left, *missed;
	int err = find_extra(r, r->at.left, b, block->n_insn, &left);

	if (err == 0)
		err = find_extra(r, r->at.missed, b, block->n_insn, &missed);
	if (err < 0 || (!n && !left && !again))
		return err;
	if (block->file >= COUNTS_FIRST_FILE + r->n_files)
		return contradiction("its file", b);
	r->by_blocks += n * block->n_insn - again;
	for (uint32_t i = 0; i < block->n_insn && err == 0; i++) {
		uint64_t less = left ? left[i] : 0, last = i + 1 == block->n_insn ? again : 0;

		if (less > n || last > n - less)
			return contradiction("runs that were left", b);
		r->by_blocks -= less * (block->n_insn - i);
		n -= less;
		/* A rep instruction may miss at each step. */
		if (missed && missed[i] > n)
			return contradiction("loads that missed", b);
		err = add_insn(r, block, i, n - last, missed ? missed[i] : 0);
	}
	return err;
}

static int add_blocks(struct reading *r)
{
	const uint8_t *at = r->base + r->at.code, *end = r->base + r->at.extra;
	int err = 0;

	for (uint64_t b = 0; b < r->n_blocks && err == 0; b++) {
		const struct counts_block *block = (const struct counts_block *)at;
		size_t bytes;

		if ((size_t)(end - at) < sizeof(*block) || block->n_insn > UINT16_MAX ||
		    (bytes = counts_block_bytes(block->n_insn)) > (size_t)(end - at))
			return contradiction("instructions", b);
		err = add_block(r, b, block);
		at += bytes;
	}
	return err;
}

static int add_calls(struct reading *r)
{
	const struct counts_call *c = (const struct counts_call *)(r->base + r->at.calls);
	uint64_t n = __atomic_load_n(&r->head->n_calls, __ATOMIC_ACQUIRE);
	int err = 0;

	if (!__atomic_load_n(&r->head->calls_whole, __ATOMIC_ACQUIRE)) {
		r->tally->n_calls_lost++;
		return 0;
	}
	if (n > (r->at.slots - r->at.calls) / sizeof(*c))
		return contradiction("calls", n);
	for (uint64_t i = 0; i < n && err == 0; i++) {
		struct record_call out = { .caller_file = RECORD_NO_FILE,
			                   .callee_file = RECORD_NO_FILE,
			                   .n = c[i].n,
			                   .n_insn = c[i].n_insn,
			                   .begins = c[i].begins };

		if (c[i].caller_file >= COUNTS_FIRST_FILE + r->n_files ||
		    c[i].callee_file >= COUNTS_FIRST_FILE + r->n_files)
			return contradiction("files of calls", i);
		if (c[i].caller_file != COUNTS_NO_FILE) {
			out.caller_file = r->file[c[i].caller_file];
			out.caller_off = c[i].caller_off;
		}
		if (c[i].callee_file != COUNTS_NO_FILE) {
			out.callee_file = r->file[c[i].callee_file];
			out.callee_off = c[i].callee_off;
		}
		err = tally_add_call(r->tally, &out);
	}
	r->tally->n_returns += r->head->n_returns;
	r->tally->n_switches += r->head->n_switches;
	r->tally->n_lost_returns += r->head->n_lost_returns;
	return err;
}

int image_add(const struct image *image, struct image_files *files, struct tally *tally)
{
	struct reading r = { .base = image->base,
		             .head = (const struct counts_head *)image->base,
		             .max_blocks = image->max_blocks,
		             .tally = tally };
	uint64_t before = tally->total;
	int err;

	counts_layout(r.max_blocks, &r.at);
	r.n_blocks = __atomic_load_n(&r.head->n_blocks, __ATOMIC_ACQUIRE);
	if (r.head->full)
		return sp_fail(SP_ENOMEM,
		               "process %u ran more code than can be counted (%ju blocks): there are no "
		               "exact counts",
		               image->pid, (uintmax_t)r.n_blocks);
	if (r.head->broken || r.n_blocks > r.max_blocks)
		return contradiction("blocks", r.n_blocks);
	err = number_files(&r, files);
	if (err == 0)
		err = sum_runs(&r);
	if (err == 0)
		err = add_blocks(&r);
	if (err == 0 && tally->calls_wanted)
		err = add_calls(&r);
	if (err == 0 && (tally->total - before != r.total || r.by_blocks != r.total))
		err = contradiction("their sum", r.n_blocks);
	free(r.runs);
	free(r.file);
	return err;
}
