/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/pmu/buildid.h"

#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

size_t buildid_read(const char *path, uint8_t *out, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	const void *bytes;
	struct stat st;
	ssize_t n = 0;
	Elf *elf;

	if (fd < 0)
		return 0;
	elf_version(EV_CURRENT);
	/* Not a device: reading one could do something. */
	elf = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? elf_begin(fd, ELF_C_READ_MMAP, NULL) : NULL;
	if (elf)
		n = dwelf_elf_gnu_build_id(elf, &bytes);
	if (n < 0 || (size_t)n > size)
		n = 0;
	if (n)
		memcpy(out, bytes, (size_t)n);
	elf_end(elf);
	close(fd);
	return (size_t)n;
}
