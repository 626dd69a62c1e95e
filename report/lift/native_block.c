/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/lift/native_block.h"

#include <string.h>

#include "correct/binary/insn_operands.h"
#include "profiler/base/err.h"

_Static_assert((int)BLOCK_NO_REG == (int)INSN_NO_REG, "the same registers");

static const char *never_run(const struct insn *in, const uint8_t *code)
{
	/* vmcall and vmmcall, which would ask the hypervisor. */
	static const uint8_t hyper[][3] = { { 0x0f, 0x01, 0xc1 }, { 0x0f, 0x01, 0xd9 } };

	for (size_t i = 0; i < sizeof(hyper) / sizeof(hyper[0]); i++)
		if (in->size_bytes == sizeof(hyper[0]) && memcmp(code, hyper[i], sizeof(hyper[0])) == 0)
			return "calls the hypervisor";
	if (in->flow == INSN_SYSCALL)
		return "calls the system";
	if (in->flow == INSN_STOP)
		return "stops";
	return NULL;
}

static int add_operands(const struct insn_operands *ops, const struct insn *in, uint16_t off,
                        struct block_request *out)
{
	if (ops->disp_off && out->n_patches == BLOCK_MAX_PATCHES)
		return -1;
	if (ops->disp_off) {
		struct block_patch *p = &out->patches[out->n_patches++];
		int32_t disp;

		memcpy(&disp, &out->code[off + ops->disp_off], sizeof(disp));
		/* Data near each other stay so: in the cache they may share a line. */
		*p = (struct block_patch){ (uint16_t)(off + ops->disp_off), (uint16_t)(off + in->size_bytes),
			                   (uint32_t)(in->vaddr + in->size_bytes + (uint64_t)disp) %
			                           BLOCK_RIP_BYTES };
	}
	for (unsigned i = 0; i < ops->n_memory; i++) {
		const struct insn_memory *m = &ops->memory[i];

		if (out->n_accesses == BLOCK_MAX_ACCESSES)
			return -1;
		out->accesses[out->n_accesses++] =
		        (struct block_access){ off, m->base, m->index, m->scale, m->bytes, m->disp };
	}
	if (ops->vector_bytes > out->vector_bytes)
		out->vector_bytes = ops->vector_bytes;
	return 0;
}

static int add_insn(struct insn_decoder *d, const uint8_t *code, const struct insn *in,
                    struct block_request *out)
{
	struct insn_operands ops;
	uint16_t off = out->n_bytes;

	if (insn_operands(d, code, in->size_bytes, in->vaddr, &ops) < 0)
		return sp_fail(SP_ENOTSUP, "0x%llx: no instruction", (unsigned long long)in->vaddr);
	memcpy(out->code + off, code, in->size_bytes);
	if (add_operands(&ops, in, off, out) < 0)
		return sp_fail(SP_ENOTSUP, "too many memory operands");
	if (in->flags & INSN_REP)
		out->small_rcx = 1;
	out->n_bytes = (uint16_t)(off + in->size_bytes);
	out->n_insn++;
	return 0;
}

static void add_branch(struct block_request *out)
{
	static const uint8_t jo_next[] = { 0x70, 0x00 };

	memcpy(out->code + out->n_bytes, jo_next, sizeof(jo_next));
	out->n_bytes += sizeof(jo_next);
	out->n_insn++;
}

static int add_next(struct insn_decoder *d, const uint8_t *code, size_t n_bytes, const struct insn *in,
                    struct block_request *out)
{
	const char *never = never_run(in, code);

	if (never)
		return sp_fail(SP_ENOTSUP, "0x%llx %s", (unsigned long long)in->vaddr, never);
	if (in->flow == INSN_PLAIN)
		return add_insn(d, code, in, out);
	if (in->size_bytes < n_bytes)
		return sp_fail(SP_ENOTSUP, "0x%llx: a way out in its middle", (unsigned long long)in->vaddr);
	if (in->flow == INSN_COND)
		add_branch(out);
	return 0;
}

int native_prepare(struct insn_decoder *d, const uint8_t *code, size_t n_bytes, uint64_t vaddr,
                   struct block_request *out)
{
	memset(out, 0, sizeof(*out));
	out->magic = BLOCK_MAGIC;
	out->vector_bytes = 16;
	if (n_bytes > BLOCK_MAX_BYTES)
		return sp_fail(SP_ENOTSUP, "more than %d bytes", BLOCK_MAX_BYTES);
	for (size_t off = 0; off < n_bytes;) {
		struct insn in;
		int err = insn_decode(d, code + off, n_bytes - off, vaddr + off, &in);

		if (err == 0 && out->n_insn == BLOCK_MAX_INSNS)
			err = sp_fail(SP_ENOTSUP, "more than %d instructions", BLOCK_MAX_INSNS);
		if (err == 0)
			err = add_next(d, code + off, n_bytes - off, &in, out);
		if (err < 0)
			return err == -SP_EDOMAIN ? sp_fail(SP_ENOTSUP, "ends inside an instruction") : err;
		off += in.size_bytes;
	}
	return 0;
}
