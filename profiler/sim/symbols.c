/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/sim/symbols.h"

#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "profiler/base/order.h"

/* Read by itself: the tarball's plugin would need libelf.a, which can't be linked into a shared object. */
struct file {
	const uint8_t *base;
	uint64_t bytes;
	const Elf64_Ehdr *head;
	const Elf64_Shdr *sections;
	const Elf64_Phdr *segments;
};

static const void *part(const struct file *f, uint64_t off, uint64_t bytes)
{
	return off <= f->bytes && bytes <= f->bytes - off ? f->base + off : NULL;
}

static bool read_head(struct file *f)
{
	f->head = part(f, 0, sizeof(*f->head));
	if (!f->head || memcmp(f->head->e_ident, ELFMAG, SELFMAG) != 0 ||
	    f->head->e_ident[EI_CLASS] != ELFCLASS64 || f->head->e_shentsize != sizeof(*f->sections) ||
	    f->head->e_phentsize != sizeof(*f->segments))
		return false;
	f->sections = part(f, f->head->e_shoff, (uint64_t)f->head->e_shnum * sizeof(*f->sections));
	f->segments = part(f, f->head->e_phoff, (uint64_t)f->head->e_phnum * sizeof(*f->segments));
	return f->sections && f->segments && f->head->e_shoff % 8 == 0 && f->head->e_phoff % 8 == 0;
}

static bool offset_of(const struct file *f, uint64_t vaddr, uint64_t *off)
{
	for (unsigned i = 0; i < f->head->e_phnum; i++) {
		const Elf64_Phdr *p = &f->segments[i];

		if (p->p_type != PT_LOAD || vaddr < p->p_vaddr || vaddr - p->p_vaddr >= p->p_filesz)
			continue;
		*off = vaddr - p->p_vaddr + p->p_offset;
		return true;
	}
	return false;
}

static bool is_left_out(const char *name)
{
	return strstr(name, ".cold") ||
	       strncmp(name, "_dl_runtime_resolve", strlen("_dl_runtime_resolve")) == 0;
}

/*
 * What goes on with another stack: Go's scheduler, the C library's contexts, Boost's.  Where they lead looks like longjmp(), so that
 * nothing but their names tells them.
 */
static bool switches_stacks(const char *name)
{
	static const char *const names[] = { "runtime.gogo", "swapcontext", "setcontext", "jump_fcontext",
		                             "ontop_fcontext" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strncmp(name, names[i], strlen(names[i])) == 0 && strchr(".@", name[strlen(names[i])]))
			return true;
	return false;
}

/* "" where it lies outside the table of names, which must end in a NUL. */
static const char *name_at(const struct file *f, unsigned table, uint32_t at)
{
	const Elf64_Shdr *names = table < f->head->e_shnum ? &f->sections[table] : NULL;
	const char *text = names ? part(f, names->sh_offset, names->sh_size) : NULL;

	if (!text || !names->sh_size || text[names->sh_size - 1] || at >= names->sh_size)
		return "";
	return text + at;
}

static void read_table(struct symbols *s, const struct file *f, const Elf64_Shdr *table)
{
	const Elf64_Sym *sym = table->sh_offset % 8 == 0 ? part(f, table->sh_offset, table->sh_size) : NULL;

	for (uint64_t i = 0; sym && i < table->sh_size / sizeof(*sym); i++) {
		unsigned type = ELF64_ST_TYPE(sym[i].st_info);
		const char *name = name_at(f, table->sh_link, sym[i].st_name);
		uint64_t off;

		if ((type != STT_FUNC && type != STT_GNU_IFUNC) || sym[i].st_shndx == SHN_UNDEF ||
		    !sym[i].st_size || !offset_of(f, sym[i].st_value, &off) || is_left_out(name))
			continue;
		/* Without memory there are fewer. */
		if (vec_push(&s->v, ((struct symbol){ off, off + sym[i].st_size, switches_stacks(name),
		                                      SYMBOL_FUNCTION })) < 0)
			return;
	}
}

enum { STUB_BYTES = 16 };

/* A jump through a slot, behind a mark of where jumps may lead and a prefix of the linker's. */
static bool is_stub_x86(const uint8_t *code)
{
	static const uint8_t endbr[] = { 0xf3, 0x0f, 0x1e, 0xfa };

	code += memcmp(code, endbr, sizeof(endbr)) == 0 ? sizeof(endbr) : 0;
	code += *code == 0xf2;
	return code[0] == 0xff && code[1] == 0x25;
}

/* adrp x16, page; ldr x17, [x16, #off] */
static bool is_stub_a64(const uint8_t *code)
{
	uint32_t words[2];

	memcpy(words, code, sizeof(words));
	return (words[0] & 0x9f00001f) == 0x90000010 && (words[1] & 0xffc003ff) == 0xf9400211;
}

/*
 * The linker's stubs of functions elsewhere have no symbols, but what ends in a jump jumps to them as to the functions themselves.
 * On aarch64 a mark of where jumps may lead may stand before each, and the first two are the dynamic linker's.
 */
static void read_stubs(struct symbols *s, const struct file *f, const Elf64_Shdr *section)
{
	static const uint8_t bti[] = { 0x5f, 0x24, 0x03, 0xd5 };
	bool x86 = f->head->e_machine == EM_X86_64;
	uint64_t given =
	        section->sh_entsize >= 8 && section->sh_entsize <= 32 ? section->sh_entsize : STUB_BYTES;

	/* What is no stub there, the first entry above all, leads to the dynamic linker. */
	if (vec_push(&s->v, ((struct symbol){ section->sh_offset, section->sh_offset + section->sh_size,
	                                      false, SYMBOL_ENTRY })) < 0)
		return;
	for (uint64_t at = x86 ? 0 : 2 * STUB_BYTES; at < section->sh_size; at += x86 ? given : 4) {
		const uint8_t *code = part(f, section->sh_offset + at, STUB_BYTES);
		uint64_t off = section->sh_offset + at, lead = 0;

		if (!code)
			return;
		if (!(x86 ? is_stub_x86(code) : is_stub_a64(code)))
			continue;
		if (!x86 && memcmp(code - sizeof(bti), bti, sizeof(bti)) == 0)
			lead = sizeof(bti);
		if (vec_push(&s->v, ((struct symbol){ off - lead, off + (x86 ? given : STUB_BYTES), false,
		                                      SYMBOL_STUB })) < 0)
			return;
	}
}

/* The program begins there, and has a symbol or not. */
static void read_entry(struct symbols *s, const struct file *f)
{
	uint64_t off;

	/* Without memory it is not told. */
	if (f->head->e_entry && offset_of(f, f->head->e_entry, &off))
		(void)vec_push(&s->v, ((struct symbol){ off, off + 1, false, SYMBOL_FUNCTION }));
}

static int by_off(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	if (x->off != y->off)
		return x->off < y->off ? -1 : 1;
	if ((x->kind == SYMBOL_ENTRY) != (y->kind == SYMBOL_ENTRY))
		return x->kind == SYMBOL_ENTRY ? 1 : -1;
	if (x->end_off != y->end_off)
		return x->end_off < y->end_off ? 1 : -1;
	return x->switches < y->switches ? 1 : x->switches > y->switches ? -1 : 0;
}

/* Of names for the same place the one that reaches furthest; a function's or a stub's first. */
static void sort(struct symbols *s)
{
	size_t n = 0;

	if (s->v.n)
		qsort(s->v.v, s->v.n, sizeof(*s->v.v), by_off);
	for (size_t i = 0; i < s->v.n; i++)
		if (!n || s->v.v[n - 1].off != s->v.v[i].off)
			s->v.v[n++] = s->v.v[i];
	s->v.n = n;
}

static void read_file(struct symbols *s, const struct file *f)
{
	const Elf64_Shdr *table = NULL;

	/* The dynamic linker's names are among all names, where those are there. */
	for (unsigned i = 0; i < f->head->e_shnum; i++)
		if (f->sections[i].sh_type == SHT_SYMTAB || (f->sections[i].sh_type == SHT_DYNSYM && !table))
			table = &f->sections[i];
	if (table)
		read_table(s, f, table);
	for (unsigned i = 0; i < f->head->e_shnum; i++) {
		const char *name = name_at(f, f->head->e_shstrndx, f->sections[i].sh_name);

		if (f->sections[i].sh_type == SHT_PROGBITS &&
		    (strncmp(name, ".plt", 4) == 0 || strcmp(name, ".iplt") == 0))
			read_stubs(s, f, &f->sections[i]);
	}
	read_entry(s, f);
	sort(s);
}

void symbols_read(struct symbols *s, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	void *p = MAP_FAILED;

	if (fd < 0)
		return;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0)
		p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (p != MAP_FAILED) {
		struct file f = { .base = p, .bytes = (uint64_t)st.st_size };

		if (read_head(&f))
			read_file(s, &f);
		munmap(p, (size_t)st.st_size);
	}
}

const struct symbol *symbols_find(const struct symbols *s, uint64_t off)
{
	size_t n = sorted_count(s->v.n, k, s->v.v[k].off <= off);

	return n && off < s->v.v[n - 1].end_off ? &s->v.v[n - 1] : NULL;
}
