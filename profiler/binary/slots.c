/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the dynamic linker writes: the relocations of allocated sections,
 * found by the section headers or, where those are stripped, by the dynamic
 * segment.
 */
#include "profiler/binary/module_impl.h"

#include "profiler/base/order.h"

#include <elf.h>
#include <endian.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

enum slot_kind { SLOT_NONE, SLOT_RELATIVE, SLOT_IRELATIVE, SLOT_SYMBOL };

/* The symbols and strings that relocations refer to. */
struct table {
	const uint8_t *symbols, *strings;
	size_t n_symbols, strings_bytes;
};

static enum slot_kind kind_of(enum insn_isa isa, uint32_t type)
{
	if (isa == ISA_X86_64)
		switch (type) {
		case R_X86_64_RELATIVE:
		case R_X86_64_RELATIVE64:
			return SLOT_RELATIVE;
		case R_X86_64_IRELATIVE:
			return SLOT_IRELATIVE;
		case R_X86_64_64:
		case R_X86_64_GLOB_DAT:
		case R_X86_64_JUMP_SLOT:
			return SLOT_SYMBOL;
		default:
			return SLOT_NONE;
		}
	switch (type) {
	case R_AARCH64_RELATIVE:
		return SLOT_RELATIVE;
	case R_AARCH64_IRELATIVE:
		return SLOT_IRELATIVE;
	case R_AARCH64_ABS64:
	case R_AARCH64_GLOB_DAT:
	case R_AARCH64_JUMP_SLOT:
		return SLOT_SYMBOL;
	default:
		return SLOT_NONE;
	}
}

/* A name without its version: "memcpy@GLIBC_2.14" is memcpy. */
static const char *symbol_name(struct module *m, const struct table *t, const Elf64_Sym *sym)
{
	size_t room = sym->st_name < t->strings_bytes ? t->strings_bytes - sym->st_name : 0;
	const char *name = room ? (const char *)t->strings + sym->st_name : NULL;
	size_t len = room ? strnlen(name, room) : 0;
	const char *version = len ? memchr(name, '@', len) : NULL;

	if (!len || len == room)
		return NULL;
	return texts_add(&m->pool, name, version ? (size_t)(version - name) : len);
}

/* A symbol's slot.  One that others may replace keeps its name beside its own address. */
static bool fill_symbol(struct module *m, const struct table *t, const Elf64_Rela *rela, struct slot *slot)
{
	uint32_t index = ELF64_R_SYM(rela->r_info);
	Elf64_Sym sym;

	if (index >= t->n_symbols)
		return false;
	memcpy(&sym, t->symbols + (size_t)index * sizeof(sym), sizeof(sym));
	if (sym.st_shndx != SHN_UNDEF)
		slot->target = sym.st_value + (uint64_t)rela->r_addend;
	slot->ifunc = sym.st_shndx != SHN_UNDEF && ELF64_ST_TYPE(sym.st_info) == STT_GNU_IFUNC;
	if (ELF64_ST_BIND(sym.st_info) != STB_LOCAL)
		slot->name = symbol_name(m, t, &sym);
	return slot->name || sym.st_shndx != SHN_UNDEF;
}

static void add_rela(struct module *m, const struct table *t, const uint8_t *data, size_t n_bytes)
{
	for (size_t at = 0; at + sizeof(Elf64_Rela) <= n_bytes; at += sizeof(Elf64_Rela)) {
		struct slot slot = { 0 };
		enum slot_kind kind;
		Elf64_Rela rela;

		memcpy(&rela, data + at, sizeof(rela));
		kind = kind_of(m->isa, (uint32_t)ELF64_R_TYPE(rela.r_info));
		slot.vaddr = rela.r_offset;
		slot.target = kind == SLOT_SYMBOL ? 0 : (uint64_t)rela.r_addend;
		slot.ifunc = kind == SLOT_IRELATIVE;
		if (kind == SLOT_NONE || (kind == SLOT_SYMBOL && !fill_symbol(m, t, &rela, &slot)))
			continue;
		vec_add(&m->slots, slot);
	}
}

/* A word that is relocated by the load address: its addend stands in its place. */
static void add_relative(struct module *m, uint64_t vaddr)
{
	size_t n_bytes;
	const uint8_t *data = module_data(m, vaddr, &n_bytes);
	uint64_t value;

	if (!data || n_bytes < sizeof(value))
		return;
	memcpy(&value, data, sizeof(value));
	vec_add(&m->slots, (struct slot){ .vaddr = vaddr, .target = le64toh(value) });
}

/* RELR: an even word is an address; an odd one a bitmap of the 63 words that follow. */
static void add_relr(struct module *m, const uint8_t *data, size_t n_bytes)
{
	uint64_t next = 0;

	for (size_t at = 0; at + 8 <= n_bytes; at += 8) {
		uint64_t word;

		memcpy(&word, data + at, sizeof(word));
		if (!(word & 1)) {
			add_relative(m, word);
			next = word + 8;
			continue;
		}
		for (unsigned bit = 1; bit < 64; bit++)
			if (word >> bit & 1)
				add_relative(m, next + 8 * (bit - 1));
		next += 8 * 63;
	}
}

static struct table table_of(struct module *m, Elf_Scn *scn)
{
	struct table t = { 0 };
	GElf_Shdr shdr;
	Elf_Data *symbols, *strings;

	if (!scn || !gelf_getshdr(scn, &shdr) || (shdr.sh_type != SHT_DYNSYM && shdr.sh_type != SHT_SYMTAB))
		return t;
	symbols = elf_rawdata(scn, NULL);
	scn = elf_getscn(m->elf, shdr.sh_link);
	strings = scn ? elf_rawdata(scn, NULL) : NULL;
	if (!symbols || !strings || !symbols->d_buf || !strings->d_buf)
		return t;
	return (struct table){ symbols->d_buf, strings->d_buf, symbols->d_size / sizeof(Elf64_Sym),
		               strings->d_size };
}

static void load_sections(struct module *m, bool *found)
{
	for (Elf_Scn *scn = elf_nextscn(m->elf, NULL); scn; scn = elf_nextscn(m->elf, scn)) {
		struct table t;
		GElf_Shdr shdr;
		Elf_Data *data;

		if (!gelf_getshdr(scn, &shdr) || !(shdr.sh_flags & SHF_ALLOC) ||
		    (shdr.sh_type != SHT_RELA && shdr.sh_type != SHT_RELR))
			continue;
		data = elf_rawdata(scn, NULL);
		if (!data || !data->d_buf)
			continue;
		*found = true;
		t = table_of(m, elf_getscn(m->elf, shdr.sh_link));
		if (shdr.sh_type == SHT_RELR)
			add_relr(m, data->d_buf, data->d_size);
		else
			add_rela(m, &t, data->d_buf, data->d_size);
	}
}

/* The dynamic segment's entries by tag; a file without section headers still has it. */
struct dynamic {
	uint64_t value[DT_JMPREL + 1];
	uint64_t relr, relr_bytes;
};

static bool read_dynamic(const struct module *m, struct dynamic *dyn)
{
	size_t n_phdr = 0, n_bytes = 0;
	const uint8_t *data = NULL;
	GElf_Phdr phdr;

	memset(dyn, 0, sizeof(*dyn));
	elf_getphdrnum(m->elf, &n_phdr);
	for (size_t i = 0; i < n_phdr && !data; i++)
		if (gelf_getphdr(m->elf, (int)i, &phdr) && phdr.p_type == PT_DYNAMIC)
			data = module_data(m, phdr.p_vaddr, &n_bytes);
	for (size_t at = 0; data && at + sizeof(Elf64_Dyn) <= n_bytes; at += sizeof(Elf64_Dyn)) {
		Elf64_Dyn entry;

		memcpy(&entry, data + at, sizeof(entry));
		if (entry.d_tag == DT_NULL)
			break;
		if (entry.d_tag > 0 && entry.d_tag <= DT_JMPREL)
			dyn->value[entry.d_tag] = entry.d_un.d_val;
		else if (entry.d_tag == DT_RELR)
			dyn->relr = entry.d_un.d_val;
		else if (entry.d_tag == DT_RELRSZ)
			dyn->relr_bytes = entry.d_un.d_val;
	}
	return data != NULL;
}

/* What the dynamic segment says is at vaddr: no more of it than the file has. */
static const uint8_t *dynamic_data(const struct module *m, uint64_t vaddr, size_t want, size_t *n_bytes)
{
	const uint8_t *data = vaddr && want ? module_data(m, vaddr, n_bytes) : NULL;

	if (!data)
		*n_bytes = 0;
	else if (*n_bytes > want)
		*n_bytes = want;
	return data;
}

static void load_dynamic(struct module *m)
{
	struct table t = { 0 };
	struct dynamic dyn;
	const uint8_t *data;
	size_t n_bytes;

	if (!read_dynamic(m, &dyn))
		return;
	/* Nothing says how many symbols there are: as many as fit into the segment. */
	t.symbols = dynamic_data(m, dyn.value[DT_SYMTAB], SIZE_MAX, &n_bytes);
	t.n_symbols = n_bytes / sizeof(Elf64_Sym);
	t.strings = dynamic_data(m, dyn.value[DT_STRTAB], dyn.value[DT_STRSZ], &t.strings_bytes);
	data = dynamic_data(m, dyn.value[DT_RELA], dyn.value[DT_RELASZ], &n_bytes);
	if (data)
		add_rela(m, &t, data, n_bytes);
	data = dynamic_data(m, dyn.value[DT_JMPREL], dyn.value[DT_PLTRELSZ], &n_bytes);
	if (data)
		add_rela(m, &t, data, n_bytes);
	data = dynamic_data(m, dyn.relr, dyn.relr_bytes, &n_bytes);
	if (data)
		add_relr(m, data, n_bytes);
}

void slots_load(struct module *m)
{
	bool found = false;

	load_sections(m, &found);
	if (!found)
		load_dynamic(m);
	if (m->slots.n)
		qsort(m->slots.v, m->slots.n, sizeof(*m->slots.v), order_u64);
}

const struct slot *slots_at(const struct module *m, uint64_t vaddr)
{
	const struct slot key = { .vaddr = vaddr };

	return m->slots.n ? bsearch(&key, m->slots.v, m->slots.n, sizeof(key), order_u64) : NULL;
}

bool module_slot(struct module *m, uint64_t vaddr, const char **name, uint64_t *target, bool *ifunc)
{
	const struct slot *slot = slots_at(m, vaddr);

	if (!slot)
		return false;
	*name = slot->name;
	*target = slot->target;
	*ifunc = slot->ifunc;
	return true;
}
