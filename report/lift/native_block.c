/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/lift/native_block.h"

#include <string.h>

#include "profiler/base/err.h"
#include "profiler/binary/insn_operands.h"

enum { BRANCH_BYTES = 2, STACK_POINTER = 4 };

/* What is known of the block so far. */
struct prepare {
	struct insn_decoder *d;
	struct block_request *out;
	uint16_t needs, writes; /* registers read before the block writes them; written */
	uint32_t vector_needs, vector_writes;
	uint16_t stores; /* registers that stores reach from, the stack pointer aside */
};

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

static int add_patch(const struct insn *in, uint16_t off, uint8_t disp_off, struct block_request *out)
{
	int32_t disp;

	if (out->n_patches == BLOCK_MAX_PATCHES)
		return -1;
	memcpy(&disp, &out->code[off + disp_off], sizeof(disp));
	/* Data near each other stay so: they may share a cache line. */
	out->patches[out->n_patches++] = (struct block_patch){
		(uint16_t)(off + disp_off),
		(uint16_t)(off + in->size_bytes),
		(uint32_t)((in->vaddr + in->size_bytes + (uint64_t)disp) % BLOCK_RIP_BYTES),
	};
	return 0;
}

static int add_access(const struct insn_memory *m, uint16_t off, struct block_request *out)
{
	if (out->n_accesses == BLOCK_MAX_ACCESSES)
		return -1;
	out->accesses[out->n_accesses++] =
	        (struct block_access){ off, m->base, m->index, m->scale, m->bytes, m->disp };
	return 0;
}

static int add_operands(struct prepare *p, const struct insn_operands *ops, const struct insn *in,
                        uint16_t off)
{
	int err = ops->disp_off ? add_patch(in, off, ops->disp_off, p->out) : 0;

	for (unsigned i = 0; i < ops->n_memory && err == 0; i++) {
		const struct insn_memory *m = &ops->memory[i];

		err = add_access(m, off, p->out);
		if (in->flags & INSN_STORE && m->base != INSN_NO_REG && m->base != STACK_POINTER)
			p->stores |= (uint16_t)(1u << m->base);
	}
	if (ops->vector_bytes > p->out->vector_bytes)
		p->out->vector_bytes = ops->vector_bytes;
	p->needs |= ops->reads & ~p->writes;
	p->writes |= ops->writes;
	p->vector_needs |= ops->vector_reads & ~p->vector_writes;
	p->vector_writes |= ops->vector_writes;
	return err;
}

static int add_insn(struct prepare *p, const uint8_t *code, const struct insn *in)
{
	struct block_request *out = p->out;
	struct insn_operands ops;
	uint16_t off = out->n_bytes;

	if (insn_operands(p->d, code, in->size_bytes, in->vaddr, &ops) < 0)
		return sp_fail(SP_ENOTSUP, "0x%llx: no instruction", (unsigned long long)in->vaddr);
	memcpy(out->code + off, code, in->size_bytes);
	if (add_operands(p, &ops, in, off) < 0)
		return sp_fail(SP_ENOTSUP, "too many memory operands");
	if (in->flags & INSN_REP)
		out->small_rcx = 1;
	out->n_bytes = (uint16_t)(off + in->size_bytes);
	out->n_insn++;
	return 0;
}

static void add_branch(struct block_request *out)
{
	static const uint8_t jo_next[BRANCH_BYTES] = { 0x70, 0x00 };

	memcpy(out->code + out->n_bytes, jo_next, sizeof(jo_next));
	out->n_bytes += sizeof(jo_next);
	out->n_insn++;
}

static int add_next(struct prepare *p, const uint8_t *code, size_t n_bytes, const struct insn *in)
{
	const char *never = never_run(in, code);

	if (never)
		return sp_fail(SP_ENOTSUP, "0x%llx %s", (unsigned long long)in->vaddr, never);
	if (in->flow == INSN_PLAIN)
		return add_insn(p, code, in);
	if (in->size_bytes < n_bytes)
		return sp_fail(SP_ENOTSUP, "0x%llx: a way out in its middle", (unsigned long long)in->vaddr);
	if (in->flow == INSN_COND)
		add_branch(p->out);
	return 0;
}

static int add_all(struct prepare *p, const struct tool_block *b)
{
	for (size_t off = 0; off < b->n_bytes;) {
		struct insn in;
		int err = insn_decode(p->d, b->bytes + off, b->n_bytes - off, b->vaddr + off, &in);

		if (err < 0)
			return sp_fail(SP_ENOTSUP, "ends inside an instruction");
		if (p->out->n_insn == BLOCK_MAX_INSNS)
			return sp_fail(SP_ENOTSUP, "more than %d instructions", BLOCK_MAX_INSNS);
		err = add_next(p, b->bytes + off, b->n_bytes - off, &in);
		if (err < 0)
			return err;
		off += in.size_bytes;
	}
	return 0;
}

int native_prepare(struct insn_decoder *d, const struct tool_block *b, struct block_request *out)
{
	struct prepare p = { .d = d, .out = out };
	int err;

	memset(out, 0, sizeof(*out));
	out->magic = BLOCK_MAGIC;
	if (b->n_bytes > BLOCK_MAX_BYTES - BRANCH_BYTES)
		return sp_fail(SP_ENOTSUP, "more than %d bytes", BLOCK_MAX_BYTES - BRANCH_BYTES);
	err = add_all(&p, b);
	if (err == 0 && (uint64_t)b->turns * out->n_insn <= BLOCK_MAX_TURNED)
		out->n_turns = (uint16_t)b->turns;
	/* What it stores it does not load again the next time, but for the stack's. */
	out->carried = p.needs & (p.writes | p.stores);
	out->carried_vectors = p.vector_needs & p.vector_writes;
	return err;
}
