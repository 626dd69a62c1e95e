/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * .eh_frame, of which only the ranges of functions are wanted: what is left
 * of a stripped file's functions.  Read by hand, with every length checked.
 */
#include "profiler/binary/module_impl.h"

#include <dwarf.h>
#include <elf.h>
#include <gelf.h>
#include <string.h>

struct frames {
	const uint8_t *data;
	size_t n_bytes;
	uint64_t vaddr;
};

static uint64_t number(const uint8_t *at, unsigned n_bytes)
{
	uint64_t value = 0;

	for (unsigned i = 0; i < n_bytes; i++)
		value |= (uint64_t)at[i] << (8 * i);
	return value;
}

static unsigned encoded_bytes(uint8_t encoding)
{
	switch (encoding & 7) {
	case DW_EH_PE_udata2:
		return 2;
	case DW_EH_PE_udata4:
		return 4;
	default:
		return (encoding & 7) == DW_EH_PE_uleb128 ? 0 : 8; /* absolute pointers, too */
	}
}

/* Of the encodings only what linkers use for code: absolute or from the place it stands at. */
static bool encoded(const struct frames *f, size_t at, uint8_t encoding, uint64_t *value)
{
	unsigned n = encoded_bytes(encoding);

	if (!n || at > f->n_bytes || f->n_bytes - at < n || encoding & DW_EH_PE_indirect)
		return false;
	*value = number(f->data + at, n);
	if (encoding & DW_EH_PE_signed && n < 8 && *value >> (8 * n - 1))
		*value |= ~0ULL << (8 * n);
	if ((encoding & 0x70) == DW_EH_PE_pcrel)
		*value += f->vaddr + at;
	return (encoding & 0x70) == DW_EH_PE_pcrel || (encoding & 0x70) == DW_EH_PE_absptr;
}

static void skip_leb(const struct frames *f, size_t *at)
{
	while (*at < f->n_bytes && f->data[*at] & 0x80)
		++*at;
	++*at;
}

/* How the CIE at `at` (its length field) encodes code addresses; false if that can't be told. */
static bool cie_encoding(const struct frames *f, size_t at, uint8_t *encoding)
{
	const char *letters;
	size_t len;

	*encoding = DW_EH_PE_absptr;
	at += 4 + 4 + 1; /* length, id, version */
	if (at >= f->n_bytes)
		return false;
	letters = (const char *)f->data + at;
	len = strnlen(letters, f->n_bytes - at);
	at += len + 1;
	if (letters[0] != 'z')
		return len == 0;
	skip_leb(f, &at);
	skip_leb(f, &at);
	skip_leb(f, &at); /* the return address's register */
	skip_leb(f, &at); /* how long the data of the letters is */
	for (const char *letter = letters + 1; letter < letters + len && at < f->n_bytes; letter++) {
		if (*letter == 'R') {
			*encoding = f->data[at];
			return true;
		}
		if (*letter == 'P')
			at += 1 + (f->data[at] == DW_EH_PE_omit ? 0 : encoded_bytes(f->data[at]));
		else if (*letter == 'L')
			at++;
		else if (*letter != 'S' && *letter != 'B')
			return false;
	}
	return true;
}

static void walk(const struct frames *f, ehframe_seen *seen, void *data)
{
	for (size_t at = 0; at + 8 <= f->n_bytes;) {
		uint64_t length = number(f->data + at, 4), cie = number(f->data + at + 4, 4), start, size;
		uint8_t encoding;

		/* A length of 0 ends the list; 64-bit lengths no linker writes. */
		if (!length || length == 0xffffffff || length > f->n_bytes - at - 4)
			break;
		if (cie && cie <= at + 4 && cie_encoding(f, at + 4 - cie, &encoding) &&
		    encoded(f, at + 8, encoding, &start) &&
		    encoded(f, at + 8 + encoded_bytes(encoding), encoding & 0xf, &size) && start && size)
			seen(data, start, size);
		at += 4 + length;
	}
}

static bool find_by_section(const struct module *m, struct frames *f)
{
	size_t names = 0;

	if (elf_getshdrstrndx(m->elf, &names) < 0)
		return false;
	for (Elf_Scn *scn = elf_nextscn(m->elf, NULL); scn; scn = elf_nextscn(m->elf, scn)) {
		GElf_Shdr shdr;
		const char *name;

		if (!gelf_getshdr(scn, &shdr) || shdr.sh_type == SHT_NOBITS)
			continue;
		name = elf_strptr(m->elf, names, shdr.sh_name);
		if (!name || strcmp(name, ".eh_frame") != 0)
			continue;
		f->vaddr = shdr.sh_addr;
		f->data = module_data(m, f->vaddr, &f->n_bytes);
		if (f->data && f->n_bytes > shdr.sh_size)
			f->n_bytes = shdr.sh_size;
		return f->data != NULL;
	}
	return false;
}

/* Without section headers: .eh_frame_hdr's segment points to it. */
static bool find_by_header(const struct module *m, struct frames *f)
{
	size_t n_phdr = 0;
	GElf_Phdr phdr;

	elf_getphdrnum(m->elf, &n_phdr);
	for (size_t i = 0; i < n_phdr; i++) {
		struct frames header;

		if (!gelf_getphdr(m->elf, (int)i, &phdr) || phdr.p_type != PT_GNU_EH_FRAME)
			continue;
		header.vaddr = phdr.p_vaddr;
		header.data = module_data(m, header.vaddr, &header.n_bytes);
		if (!header.data || header.n_bytes < 8 || !encoded(&header, 4, header.data[1], &f->vaddr))
			return false;
		f->data = module_data(m, f->vaddr, &f->n_bytes);
		return f->data != NULL;
	}
	return false;
}

void ehframe_walk(const struct module *m, ehframe_seen *seen, void *data)
{
	struct frames f = { 0 };

	if (find_by_section(m, &f) || find_by_header(m, &f))
		walk(&f, seen, data);
}
