/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/binary/insn_impl.h"

#include "profiler/base/err.h"
#include "profiler/base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int open_capstone(struct insn_decoder *d, cs_arch arch)
{
	if (cs_open(arch, arch == CS_ARCH_X86 ? CS_MODE_64 : CS_MODE_LITTLE_ENDIAN, &d->detail) !=
	            CS_ERR_OK ||
	    cs_open(arch, arch == CS_ARCH_X86 ? CS_MODE_64 : CS_MODE_LITTLE_ENDIAN, &d->text) != CS_ERR_OK)
		return sp_fail(SP_ENOTSUP,
		               "the installed capstone library can't decode this instruction set");
	cs_option(d->detail, CS_OPT_DETAIL, CS_OPT_ON);
	if (arch == CS_ARCH_X86)
		cs_option(d->text, CS_OPT_SYNTAX, CS_OPT_SYNTAX_ATT);
	d->scratch = mem_have(cs_malloc(d->detail));
	d->scratch_text = mem_have(cs_malloc(d->text));
	return 0;
}

int insn_decoder_new(enum insn_isa isa, struct insn_decoder **out)
{
	struct insn_decoder *d;
	int err;

	if (isa != ISA_X86_64 && isa != ISA_AARCH64)
		return sp_fail(SP_ENOTSUP, "only x86-64 and aarch64 instructions are decoded");
	d = mem_calloc(1, sizeof(*d));
	d->isa = isa;
	err = open_capstone(d, isa == ISA_X86_64 ? CS_ARCH_X86 : CS_ARCH_ARM64);
	if (err) {
		insn_decoder_free(d);
		return err;
	}
	if (isa == ISA_X86_64)
		insn_x86_learn(d);
	else
		insn_a64_learn(d);
	*out = d;
	return 0;
}

void insn_decoder_free(struct insn_decoder *d)
{
	if (!d)
		return;
	if (d->scratch)
		cs_free(d->scratch, 1);
	if (d->scratch_text)
		cs_free(d->scratch_text, 1);
	if (d->detail)
		cs_close(&d->detail);
	if (d->text)
		cs_close(&d->text);
	free(d);
}

const cs_insn *insn_detail(struct insn_decoder *d, const uint8_t *code, size_t n_bytes, uint64_t vaddr)
{
	return cs_disasm_iter(d->detail, &code, &n_bytes, &vaddr, d->scratch) ? d->scratch : NULL;
}

static int compare_words(const void *a, const void *b)
{
	return strcmp(a, *(const char *const *)b);
}

bool insn_word_in(const char *word, const char *const *sorted, size_t n)
{
	return bsearch(word, sorted, n, sizeof(*sorted), compare_words) != NULL;
}

int insn_decode(struct insn_decoder *d, const uint8_t *code, size_t n_bytes, uint64_t vaddr, struct insn *out)
{
	struct insn insn = { .vaddr = vaddr };
	int err;

	err = d->isa == ISA_X86_64 ? insn_x86_decode(d, code, n_bytes, &insn)
	                           : insn_a64_decode(d, code, n_bytes, &insn);
	if (err)
		return sp_fail(SP_EDOMAIN, "the code ends inside the instruction at 0x%jx", (uintmax_t)vaddr);
	*out = insn;
	return 0;
}

int insn_text(struct insn_decoder *d, const uint8_t *code, size_t n_bytes, uint64_t vaddr, char *text,
              size_t size)
{
	struct insn insn;
	int err = insn_decode(d, code, n_bytes, vaddr, &insn);

	if (err)
		return err;
	n_bytes = insn.size_bytes;
	if (!cs_disasm_iter(d->text, &code, &n_bytes, &vaddr, d->scratch_text))
		snprintf(text, size, "(bad)");
	else
		snprintf(text, size, "%s%s%s", d->scratch_text->mnemonic,
		         d->scratch_text->op_str[0] ? " " : "", d->scratch_text->op_str);
	return 0;
}
