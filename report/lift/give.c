/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/lift/give.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "profiler/base/err.h"
#include "profiler/base/tidy.h"

/* Lines gathered into a stream that grows. */
static void put_lines(const struct descr_words *lines, FILE *f)
{
	for (size_t i = 0; i < lines->v.n; i++)
		fprintf(f, "%s\n", lines->v.v[i]);
}

static void put_bytes(const struct tool_block *b, FILE *f)
{
	for (size_t i = 0; i < b->n_bytes; i++)
		fprintf(f, "%s0x%02x%s", i % 16 ? "," : "\t.byte ", b->bytes[i],
		        i % 16 == 15 || i + 1 == b->n_bytes ? "\n" : "");
}

/* "jne 0x401136" -> "jne .Lskidprof": the target's address means nothing to the assembler. */
static void put_insn(const struct insn *insn, const char *text, FILE *f)
{
	size_t n = strlen(text);

	if (insn->flow == INSN_JUMP || insn->flow == INSN_COND || insn->flow == INSN_CALL)
		while (n && text[n - 1] != ' ' && text[n - 1] != '\t' && text[n - 1] != ',')
			n--;
	if (n < strlen(text))
		fprintf(f, "\t%.*s.Lskidprof\n", (int)n, text);
	else
		fprintf(f, "\t%s\n", text);
}

static int put_mnemonics(const struct tool_block *b, FILE *f)
{
	struct insn_decoder *decoder;
	char text[256];
	int err = insn_decoder_new(b->isa, &decoder);
	struct insn insn;

	if (err < 0)
		return err;
	for (size_t at = 0; at < b->n_bytes && err == 0; at += insn.size_bytes) {
		err = insn_decode(decoder, b->bytes + at, b->n_bytes - at, b->vaddr + at, &insn);
		if (err == 0 && insn.flags & INSN_UNKNOWN)
			err = sp_fail(SP_ENOTSUP, "an instruction at 0x%jx that capstone can't decode",
			              (uintmax_t)insn.vaddr);
		if (err == 0)
			err = insn_text(decoder, b->bytes + at, b->n_bytes - at, b->vaddr + at, text,
			                sizeof(text));
		if (err == 0)
			put_insn(&insn, text, f);
	}
	insn_decoder_free(decoder);
	return err;
}

char *give_assembly(const struct descr *d, const struct tool_block *b, bool exact)
{
	char *text = NULL;
	size_t n;
	FILE *f = open_memstream(&text, &n);
	int err = 0;

	if (!f) {
		sp_fail(SP_ENOMEM, "out of memory");
		return NULL;
	}
	if (exact)
		fputs("\t.text\n", f);
	put_lines(&d->before, f);
	if (!exact)
		fputs(".Lskidprof:\n", f);
	if (exact)
		put_bytes(b, f);
	else
		err = put_mnemonics(b, f);
	put_lines(&d->after, f);
	if (fclose(f) != 0 && err == 0)
		err = sp_fail(SP_ENOMEM, "out of memory");
	if (err < 0) {
		free(text);
		return NULL;
	}
	return text;
}

static char *hex_of(const struct tool_block *b)
{
	char *hex = malloc(2 * b->n_bytes + 1);

	for (size_t i = 0; hex && i < b->n_bytes; i++)
		snprintf(hex + 2 * i, 3, "%02x", b->bytes[i]);
	return hex;
}

static int write_file(const char *path, const void *bytes, size_t n)
{
	FILE *f = fopen(path, "we");
	bool ok = f && fwrite(bytes, 1, n, f) == n;

	if (f && fclose(f) != 0)
		ok = false;
	return ok ? 0 : sp_fail_errno("%s", path);
}

/* In the folder. */
enum { N_NAMES = 3 };
static const char *const files[N_NAMES] = { "block.s", "block.o", "block.bin" };

static int make_dir(struct give *g)
{
	const char *tmp = getenv("TMPDIR");

	if (!tmp || strlen(tmp) > 32)
		tmp = "/tmp";
	snprintf(g->dir, sizeof(g->dir), "%s/skidprof-XXXXXX", tmp);
	if (!mkdtemp(g->dir)) {
		int err = sp_fail_errno("%s", g->dir);

		g->dir[0] = '\0';
		return err;
	}
	g->tidy[N_NAMES] = tidy_path(g->dir);
	for (size_t i = 0; i < N_NAMES; i++) {
		char path[80];

		snprintf(path, sizeof(path), "%s/%s", g->dir, files[i]);
		g->tidy[i] = tidy_path(path);
	}
	return 0;
}

static int assemble(const char *source, const char *object, enum insn_isa isa)
{
	char program[40];
	char *argv[] = { program, (char *)"-o", (char *)object, (char *)source, NULL };
	struct proc_result r;
	int err;

#if defined(__x86_64__)
	bool native = isa == ISA_X86_64;
#else
	bool native = isa == ISA_AARCH64;
#endif
	snprintf(program, sizeof(program), "%s",
	         native               ? "as"
	         : isa == ISA_AARCH64 ? "aarch64-linux-gnu-as"
	                              : "x86_64-linux-gnu-as");
	err = proc_run(argv, "", &r);
	if (err < 0)
		return err;
	if (r.status)
		err = sp_fail(SP_EIO, "%s: exit status %d: %.*s", program, r.status,
		              (int)strcspn(r.err, "\n"), r.err);
	proc_fini(&r);
	return err;
}

/* A file of assembly; of the object that is made of it where that is wanted. */
static int give_file(const struct descr *d, const struct tool_block *b, struct give *g)
{
	char *text = give_assembly(d, b, d->give == GIVE_OBJECT), source[80];
	int err;

	if (!text)
		return -SP_ENOTSUP;
	snprintf(source, sizeof(source), "%s/block.s", g->dir);
	snprintf(g->file, sizeof(g->file), "%s/block.%s", g->dir, d->give == GIVE_OBJECT ? "o" : "s");
	err = write_file(source, text, strlen(text));
	if (err == 0 && d->give == GIVE_OBJECT)
		err = assemble(source, g->file, b->isa);
	free(text);
	return err;
}

int give_block(const struct descr *d, const struct tool_block *b, struct give *g)
{
	int err;

	if (d->give == GIVE_HEX) {
		g->hex = hex_of(b);
		return g->hex ? 0 : sp_fail(SP_ENOMEM, "out of memory");
	}
	err = make_dir(g);
	if (err < 0)
		return err;
	if (d->give != GIVE_RAW)
		return give_file(d, b, g);
	snprintf(g->file, sizeof(g->file), "%s/block.bin", g->dir);
	return write_file(g->file, b->bytes, b->n_bytes);
}

void give_fini(struct give *g)
{
	char path[80];

	for (size_t i = 0; *g->dir && i < N_NAMES; i++) {
		snprintf(path, sizeof(path), "%s/%s", g->dir, files[i]);
		unlink(path);
	}
	if (*g->dir)
		rmdir(g->dir);
	for (size_t i = 0; *g->dir && i <= N_NAMES; i++)
		tidy_path_done(g->tidy[i]);
	free(g->hex);
	*g = (struct give){ 0 };
}

/* A word with its {...} replaced, malloc'd. */
static char *fill_in(const char *word, const struct give *g)
{
	const char *const names[] = { "{file}", "{hex}", "{cpu}" };
	const char *const values[] = { g->file, g->hex ? g->hex : "", g->cpu };
	char *out = NULL;
	size_t n;
	FILE *f = open_memstream(&out, &n);

	while (f && *word) {
		size_t i = 0;

		while (i < 3 && strncmp(word, names[i], strlen(names[i])) != 0)
			i++;
		if (i < 3) {
			fputs(values[i], f);
			word += strlen(names[i]);
		} else {
			fputc(*word++, f);
		}
	}
	if (f && fclose(f) != 0) {
		free(out);
		out = NULL;
	}
	return out;
}

int give_run(const struct descr_words *words, const struct give *g, struct proc_result *r)
{
	char **argv = calloc(words->v.n + 1, sizeof(*argv));
	int err = argv ? 0 : sp_fail(SP_ENOMEM, "out of memory");

	for (size_t i = 0; i < words->v.n && err == 0; i++) {
		argv[i] = fill_in(words->v.v[i], g);
		if (!argv[i])
			err = sp_fail(SP_ENOMEM, "out of memory");
	}
	/* The block is on standard input, too, where it is a word of hex. */
	if (err == 0)
		err = proc_run(argv, g->hex ? g->hex : "", r);
	for (size_t i = 0; argv && i < words->v.n; i++)
		free(argv[i]);
	free(argv);
	return err;
}
