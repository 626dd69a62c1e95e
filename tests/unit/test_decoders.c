/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The simulated core counts what it decodes, and the corrector holds that against what it decodes itself: they share no
 * code, but must mean the same by an event.  Both read the whole C and mathematical library that this test runs with.
 */
#include "tests/unit/sim_fixture.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <gelf.h>
#include <math.h>
#include <unistd.h>

#include "correct/recording/events.h"
#include "profiler/binary/insn.h"
#include "profiler/sim/blocks.h"
#include "profiler/sim/events.h"

enum { MAX_SHOWN = 20, MIN_INSNS = 20000 };

#ifdef __aarch64__
static const enum insn_isa isa = ISA_AARCH64;
static const char core[] = "cortex-a76";
#else
static const enum insn_isa isa = ISA_X86_64;
static const char core[] = "zen5";
#endif

/* What is counted where an instruction is; branches are counted where a block ends. */
static const struct {
	int kind;
	enum sim_event event;
} same[] = {
	{ MIX_LOAD, SIM_LOADS },          { MIX_STORE, SIM_STORES },  { MIX_FP_SCALAR, SIM_FP_SCALAR },
	{ MIX_FP_VECTOR, SIM_FP_VECTOR }, { MIX_FP_ADD, SIM_FP_ADD }, { MIX_FP_MUL, SIM_FP_MUL },
	{ MIX_FP_DIV, SIM_FP_DIV },       { MIX_FP_FMA, SIM_FP_FMA }, { MIX_SIMD_INT, SIM_SIMD_INT },
};

struct text {
	uint8_t *bytes;
	size_t n_bytes;
	uint64_t vaddr;
};

/* The .text of the file that a function was loaded from. */
static void read_text(void *function, struct text *t)
{
	Dl_info info;
	Elf *elf;
	Elf_Scn *scn = NULL;
	size_t names;
	int fd;

	assert_true(dladdr(function, &info) != 0);
	fd = open(info.dli_fname, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_true(elf_version(EV_CURRENT) != EV_NONE);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	assert_non_null(elf);
	assert_int_equal(elf_getshdrstrndx(elf, &names), 0);
	while ((scn = elf_nextscn(elf, scn))) {
		GElf_Shdr shdr;

		if (!gelf_getshdr(scn, &shdr) || strcmp(elf_strptr(elf, names, shdr.sh_name), ".text") != 0)
			continue;
		t->vaddr = shdr.sh_addr;
		t->n_bytes = shdr.sh_size;
		t->bytes = malloc(t->n_bytes);
		assert_non_null(t->bytes);
		assert_int_equal(pread(fd, t->bytes, t->n_bytes, (off_t)shdr.sh_offset), (ssize_t)t->n_bytes);
	}
	assert_non_null(t->bytes);
	elf_end(elf);
	close(fd);
}

/* Returns how many events they do not mean the same by. */
static unsigned differences(struct insn_decoder *d, struct rig *r, struct sim_code *c, const struct text *t,
                            size_t at, const struct insn *insn)
{
	unsigned n = 0;
	char text[96];

	sim_decode(r->decoder, t->bytes + at, insn->size_bytes, insn->vaddr, &c->block, 0);
	for (size_t k = 0; k < sizeof(same) / sizeof(*same); k++) {
		bool ours = mix_of_insn(same[k].kind, insn) != 0,
		     theirs = c->block.insn[0].events >> same[k].event & 1;

		if (ours == theirs)
			continue;
		insn_text(d, t->bytes + at, insn->size_bytes, insn->vaddr, text, sizeof(text));
		if (n++ == 0)
			print_message("%s: %d in the corrector, %d in the core: %s\n",
			              sim_event_name(same[k].event), ours, theirs, text);
	}
	return n;
}

static void agree_on(void *function)
{
	struct text t = { 0 };
	struct insn_decoder *d;
	struct sim_code *c;
	struct rig r;
	size_t n_insns = 0;
	unsigned n = 0;

	rig_prepare(&r, core);
	rig_start(&r);
	assert_int_equal(insn_decoder_new(isa, &d), 0);
	read_text(function, &t);
	c = sim_code_new(t.vaddr, 1);
	assert_non_null(c);
	for (size_t at = 0; at < t.n_bytes && n < MAX_SHOWN;) {
		struct insn insn;

		if (insn_decode(d, t.bytes + at, t.n_bytes - at, t.vaddr + at, &insn) < 0)
			break;
		c->block.ip = insn.vaddr;
		/* What capstone does not know is microcode to the core. */
		if (!(insn.flags & INSN_UNKNOWN) &&
		    sim_decode_length(r.decoder, t.bytes + at, insn.size_bytes)) {
			n += differences(d, &r, c, &t, at, &insn);
			n_insns++;
		}
		at += insn.size_bytes;
	}
	assert_int_equal(n, 0);
	assert_true(n_insns > MIN_INSNS);
	free(c);
	free(t.bytes);
	insn_decoder_free(d);
	rig_stop(&r);
}

static void both_count_the_same_in_the_c_library(void **state)
{
	(void)state;
	agree_on((void *)(uintptr_t)dlsym(RTLD_DEFAULT, "strverscmp"));
}

static void both_count_the_same_in_the_mathematical_library(void **state)
{
	volatile double x = 1;

	(void)state;
	/* So that it is linked to. */
	x = sin(x);
	agree_on((void *)(uintptr_t)dlsym(RTLD_DEFAULT, "sin"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_count_the_same_in_the_c_library),
		cmocka_unit_test(both_count_the_same_in_the_mathematical_library),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
