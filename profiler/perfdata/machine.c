/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/auxv.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "profiler/perfdata/build_id_cache.h"
#include "profiler/perfdata/writer_int.h"

/* The value of the first "name : value" line of /proc/cpuinfo; "" if there is none. */
static void cpuinfo(const char *name, char *out, size_t size)
{
	FILE *f = fopen("/proc/cpuinfo", "re");
	char line[512];
	size_t n = strlen(name);

	*out = 0;
	while (f && fgets(line, sizeof(line), f)) {
		const char *colon = strchr(line, ':');

		if (!colon || strncmp(line, name, n) || (line[n] != '\t' && line[n] != ' ' && line[n] != ':'))
			continue;
		snprintf(out, size, "%.*s", (int)strcspn(colon + 1, "\n"), colon + 1);
		memmove(out, out + strspn(out, " \t"), strlen(out + strspn(out, " \t")) + 1);
		break;
	}
	if (f)
		fclose(f);
}

char *pd_machine_cpudesc(void)
{
	char text[256];

	cpuinfo("model name", text, sizeof(text));
	return strdup(text);
}

/* Arm names a core by its MIDR register. */
static bool midr(char *out, size_t size)
{
	FILE *f = fopen("/sys/devices/system/cpu/cpu0/regs/identification/midr_el1", "re");
	bool ok = f && fgets(out, (int)size, f);

	if (ok)
		out[strcspn(out, "\n")] = 0;
	if (f)
		fclose(f);
	return ok;
}

char *pd_machine_cpuid(void)
{
	char vendor[64], family[64], model[64], stepping[64], text[272];

	if (midr(text, sizeof(text)))
		return strdup(text);
	cpuinfo("vendor_id", vendor, sizeof(vendor));
	cpuinfo("cpu family", family, sizeof(family));
	cpuinfo("model", model, sizeof(model));
	cpuinfo("stepping", stepping, sizeof(stepping));
	if (!*vendor)
		return strdup("");
	snprintf(text, sizeof(text), "%s,%s,%s,%s", vendor, family, model, stepping);
	return strdup(text);
}

char *pd_machine_arch(void)
{
	struct utsname u;

	return strdup(uname(&u) == 0 ? u.machine : "");
}

size_t pd_elf_build_id(const char *path, uint8_t id[PD_BUILD_ID_MAX])
{
	const void *bytes;
	ssize_t n = 0;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	Elf *elf;

	if (fd < 0)
		return 0;
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	if (elf && elf_kind(elf) == ELF_K_ELF)
		n = dwelf_elf_gnu_build_id(elf, &bytes);
	if (n > PD_BUILD_ID_MAX)
		n = PD_BUILD_ID_MAX;
	if (n > 0)
		memcpy(id, bytes, (size_t)n);
	elf_end(elf);
	close(fd);
	return n > 0 ? (size_t)n : 0;
}

static size_t build_id_in_notes(const uint8_t *notes, size_t n, uint8_t id[PD_BUILD_ID_MAX])
{
	size_t at = 0;

	while (n - at >= sizeof(GElf_Nhdr)) {
		GElf_Nhdr h;
		size_t name = at + sizeof(h), desc;

		memcpy(&h, notes + at, sizeof(h));
		desc = name + ((size_t)h.n_namesz + 3) / 4 * 4;
		at = desc + ((size_t)h.n_descsz + 3) / 4 * 4;
		if (at > n)
			break;
		if (h.n_type == NT_GNU_BUILD_ID && h.n_namesz == 4 && !memcmp(notes + name, "GNU", 4) &&
		    h.n_descsz <= PD_BUILD_ID_MAX) {
			memcpy(id, notes + desc, h.n_descsz);
			return h.n_descsz;
		}
	}
	return 0;
}

size_t pd_kernel_build_id(uint8_t id[PD_BUILD_ID_MAX])
{
	uint8_t notes[4096];
	FILE *f = fopen("/sys/kernel/notes", "re");
	size_t n = f ? fread(notes, 1, sizeof(notes), f) : 0;

	if (f)
		fclose(f);
	return build_id_in_notes(notes, n, id);
}

size_t pd_vdso_build_id(uint8_t id[PD_BUILD_ID_MAX])
{
	const uint8_t *image =
	        (const uint8_t *)getauxval(AT_SYSINFO_EHDR); /* NOLINT: the kernel gives a number */
	size_t found = 0;
	Elf64_Ehdr header;

	if (!image || memcmp(image, ELFMAG, SELFMAG) != 0 || image[EI_CLASS] != ELFCLASS64)
		return 0;
	memcpy(&header, image, sizeof(header));
	for (size_t i = 0; i < header.e_phnum && !found; i++) {
		Elf64_Phdr part;

		memcpy(&part, image + header.e_phoff + i * sizeof(part), sizeof(part));
		if (part.p_type == PT_NOTE)
			found = build_id_in_notes(image + part.p_offset, part.p_filesz, id);
	}
	return found;
}
