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

/* "" where its name lies outside the table of names, which must end in a NUL. */
static const char *name_of(const struct file *f, const Elf64_Shdr *table, const Elf64_Sym *sym)
{
	const Elf64_Shdr *names = table->sh_link < f->head->e_shnum ? &f->sections[table->sh_link] : NULL;
	const char *text = names ? part(f, names->sh_offset, names->sh_size) : NULL;

	if (!text || !names->sh_size || text[names->sh_size - 1] || sym->st_name >= names->sh_size)
		return "";
	return text + sym->st_name;
}

static void read_table(struct symbols *s, const struct file *f, const Elf64_Shdr *table)
{
	const Elf64_Sym *sym = table->sh_offset % 8 == 0 ? part(f, table->sh_offset, table->sh_size) : NULL;

	for (uint64_t i = 0; sym && i < table->sh_size / sizeof(*sym); i++) {
		unsigned type = ELF64_ST_TYPE(sym[i].st_info);
		const char *name = name_of(f, table, &sym[i]);
		uint64_t off;

		if ((type != STT_FUNC && type != STT_GNU_IFUNC) || sym[i].st_shndx == SHN_UNDEF ||
		    !sym[i].st_size || !offset_of(f, sym[i].st_value, &off) || is_left_out(name))
			continue;
		/* Without memory there are fewer. */
		if (vec_push(&s->v, ((struct symbol){ off, off + sym[i].st_size, switches_stacks(name) })) <
		    0)
			return;
	}
}

static int by_off(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	if (x->off != y->off)
		return x->off < y->off ? -1 : 1;
	if (x->end_off != y->end_off)
		return x->end_off < y->end_off ? 1 : -1;
	return x->switches < y->switches ? 1 : x->switches > y->switches ? -1 : 0;
}

/* Of names for the same place the one that reaches furthest. */
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
