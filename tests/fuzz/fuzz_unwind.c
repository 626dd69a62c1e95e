/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Call stacks of any registers and any bytes of a stack, over the code of this very program: the first 17 words are the
 * registers, of which the program counter and what looks like return addresses fall into the code, the rest is the stack.
 */
#include <link.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/base/log.h"
#include "profiler/binary/unwind.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { N_REGS = 17, AT_PC = 8, AT_SP = 7, CAP = 128 };

static struct module *self;
static uint64_t bias, text, text_bytes;

static int first_object(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)size;
	(void)arg;
	bias = info->dlpi_addr;
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_LOAD && info->dlpi_phdr[i].p_flags & PF_X) {
			text = bias + info->dlpi_phdr[i].p_vaddr;
			text_bytes = info->dlpi_phdr[i].p_memsz;
		}
	return 1;
}

static struct module *find(void *arg, uint32_t pid, uint64_t ip, uint64_t *vaddr)
{
	/* An odd process has it somewhere else, so that what libdwfl was told goes stale. */
	uint64_t moved = pid & 1 ? *(uint64_t *)arg : 0;

	if (ip - moved < text || ip - moved - text >= text_bytes)
		return NULL;
	*vaddr = ip - moved - bias;
	return self;
}

/* An address in the code from 16 bits of any word that has these above them. */
static uint64_t into_code(uint64_t word)
{
	return word >> 48 == 0xc0de ? text + (word & 0xffffffff) % text_bytes : word;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct module_options opts = { .no_debuginfod = true };
	static struct unwind *u;
	static uint64_t moved;
	static uint8_t stack[4096];
	uint64_t regs[N_REGS] = { 0 }, ips[CAP], word;
	struct unwind_sample s = {
		.isa = ISA_X86_64, .mask = UINT64_C(0xff01ff), .regs = regs, .n_regs = N_REGS
	};
	size_t n = 0, head = size < sizeof(regs) ? size : sizeof(regs);

	sp_log_level_set(-1);
	if (!u) {
		dl_iterate_phdr(first_object, NULL);
		if (module_open("/proc/self/exe", NULL, 0, &opts, &self) < 0)
			abort();
		unwind_new(find, &moved, &u);
	}
	if (head)
		memcpy(regs, data, head);
	s.pid = size & 1;
	moved = (size & 2) << 20;
	regs[AT_PC] = text + regs[AT_PC] % text_bytes + (s.pid ? moved : 0);
	s.stack_bytes = size - head < sizeof(stack) ? (size - head) & ~(size_t)7 : sizeof(stack);
	for (size_t i = 0; i < s.stack_bytes; i += 8) {
		memcpy(&word, data + head + i, 8);
		word = into_code(word);
		/* Words that are small point into the stack. */
		word = word < s.stack_bytes ? regs[AT_SP] + word : word;
		memcpy(stack + i, &word, 8);
	}
	s.stack = stack;
	unwind_stack(u, &s, ips, CAP, &n);
	if (n > CAP || (n && ips[0] != regs[AT_PC]))
		abort();
	return 0;
}
