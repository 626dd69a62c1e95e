/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_TESTS_REPLAY_FUZZ_H
#define SKIDPROF_TESTS_REPLAY_FUZZ_H

/* What the fuzzers of the replayer share, whatever the processor: chance, and the code of ELF files. */
#include <elf.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Not 0. */
static uint64_t state = 1;

static uint64_t rnd(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state * 0x2545f4914f6cdd1d;
}

static void random_bytes(uint8_t *p, size_t n)
{
	for (size_t i = 0; i + 8 <= n; i += 8) {
		uint64_t v = rnd();

		/* Numbers that arithmetic makes something of; small ones, for indices. */
		if (v % 4 == 0)
			v = 0x3ff8000000000000 + (v & 0xfffff);
		else if (v % 4 == 1)
			v = 0x3f80000040490fdb + (v & 0xffff00000000);
		else if (v % 4 == 2)
			v &= 0x0000007f0000007f;
		memcpy(p + i, &v, 8);
	}
}

/* Calls gather with each section of code of an ELF file for that machine (EM_*).  Any other file gives false. */
static bool gather_file(const char *path, unsigned machine, void (*gather)(const uint8_t *code, size_t n))
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	bool good = false;
	struct stat st;
	const uint8_t *m;
	const Elf64_Ehdr *e;

	if (fd < 0 || fstat(fd, &st) < 0 || (size_t)st.st_size < sizeof(*e))
		goto out;
	m = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (m == MAP_FAILED)
		goto out;
	e = (const Elf64_Ehdr *)m;
	good = memcmp(m, ELFMAG, SELFMAG) == 0 && e->e_machine == machine &&
	       e->e_shoff + e->e_shnum * sizeof(Elf64_Shdr) <= (size_t)st.st_size;
	for (unsigned k = 0; good && k < e->e_shnum; k++) {
		const Elf64_Shdr *s = (const Elf64_Shdr *)(m + e->e_shoff) + k;

		if (s->sh_type == SHT_PROGBITS && s->sh_flags & SHF_EXECINSTR &&
		    s->sh_offset + s->sh_size <= (size_t)st.st_size)
			gather(m + s->sh_offset, s->sh_size);
	}
	munmap((void *)m, (size_t)st.st_size);
out:
	if (fd >= 0)
		close(fd);
	return good;
}

#endif
