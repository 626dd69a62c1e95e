/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_REPORT_PAGE_H
#define SKIDPROF_REPORT_PAGE_H

/*
 * One page that needs nothing else.  What it shows is JSON in it, in which no
 * '<' stands; its script (report/html/) makes text of it and nothing else, and
 * its policy lets it load nothing.
 */
#include <jansson.h>

/* A file of report/html/ as a text of the program. */
#define PAGE_EMBED(name, path)                                                         \
	__asm__(".pushsection .rodata\n.global " #name "\n" #name ":\n.incbin \"" path \
	        "\"\n.byte 0\n.popsection");                                           \
	extern const char name[]

/* script: what the page does with doc, behind what all pages share.  doc loses what is null.  The file is replaced whole or not at all.  -SP_EIO with it named. */
int page_write(json_t *doc, const char *script, const char *path);

#endif
