/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What QEMU's plugin hotblocks prints (contrib/plugins/hotblocks.c): blocks
 * as they were translated, by address at run time, the most frequent first.
 *
 *   collected 903 entries in the hash table
 *   pc, tcount, icount, ecount
 *   0x0000004000001690, 1, 5, 66087
 *
 * Some versions append " - SYMBOL".
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/truth/build.h"

/* QEMU translates at most so many instructions at a time (TCG_MAX_INSNS). */
enum { MAX_INSNS = 512 };

static int bad(const struct truth_lines *l, const char *what)
{
	return sp_fail(SP_EFORMAT,
	               "%s: line %lu: %s; known is what QEMU's plugin hotblocks prints: 'qemu-x86_64 "
	               "-plugin libhotblocks.so -d plugin -D FILE'",
	               l->path, l->n, what);
}

/* "12, ": a number and the comma behind it; the last has none. */
static bool field(const char **s, bool last, uint64_t *out)
{
	char *end;

	if (!(**s >= '0' && **s <= '9'))
		return false;
	errno = 0;
	*out = strtoull(*s, &end, strncmp(*s, "0x", 2) == 0 ? 16 : 10);
	if (errno == ERANGE)
		*out = UINT64_MAX;
	if (last ? *end && *end != ' ' : *end != ',')
		return false;
	*s = last ? end : end + 1 + strspn(end + 1, " ");
	return true;
}

static int parse_row(struct truth_lines *l, struct truth_build *b, uint64_t *sum)
{
	struct truth_run run = { .func = TRUTH_NONE };
	uint64_t translated, n_insns, product;
	const char *s = l->buf;

	if (!field(&s, false, &run.ip) || !field(&s, false, &translated) || !field(&s, false, &n_insns) ||
	    !field(&s, true, &run.n))
		return bad(l, "not 'pc, tcount, icount, ecount'");
	if (n_insns == 0 || n_insns > MAX_INSNS)
		return bad(l, "a block of so many instructions is none");
	if (__builtin_mul_overflow(n_insns, run.n, &product))
		product = UINT64_MAX;
	if (truth_add(l, sum, product) < 0)
		return -SP_EFORMAT;
	run.n_insns = (uint32_t)n_insns;
	if (run.n)
		vec_add(&b->runs, run);
	return 0;
}

int truth_parse_hotblocks(struct truth_lines *l, struct truth_build *b)
{
	uint64_t sum = 0, collected = UINT64_MAX, rows = 0;
	int err;

	do {
		err = 0;
		if (strncmp(l->buf, "collected ", 10) == 0) {
			const char *s = l->buf + 10;

			if (!truth_number(&s, &collected))
				err = bad(l, "no number of entries");
		} else if (strncmp(l->buf, "0x", 2) == 0) {
			rows++;
			err = parse_row(l, b, &sum);
		}
		/* The program's own messages may stand between. */
	} while (err == 0 && (err = truth_lines_next(l)) > 0);
	if (err == 0 && sum == 0)
		err = bad(l, "no block has a count");
	b->format = "the blocks of QEMU's plugin hotblocks";
	b->partial = rows < collected;
	b->creator = "QEMU's plugin hotblocks";
	return err;
}
