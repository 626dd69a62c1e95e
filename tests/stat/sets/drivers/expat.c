/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "expat.h"
#include <stdio.h>
#include <stdlib.h>

static unsigned long n_elements, n_bytes;

static void start(void *data, const char *name, const char **attributes)
{
	(void)data, (void)name;
	for (n_elements++; *attributes; attributes += 2)
		n_bytes++;
}

static void end(void *data, const char *name)
{
	(void)data, (void)name;
}

static void text(void *data, const char *s, int len)
{
	(void)data, (void)s;
	n_bytes += (unsigned)len;
}

int main(int argc, char **argv)
{
	static char buffer[1 << 22];
	FILE *f = argc > 2 ? fopen(argv[1], "r") : NULL;
	int n;

	if (!f)
		return 1;
	n = (int)fread(buffer, 1, sizeof(buffer), f);
	for (int round = atoi(argv[2]); round > 0; round--) {
		XML_Parser p = XML_ParserCreate(NULL);

		XML_SetHashSalt(p, 1);
		XML_SetElementHandler(p, start, end);
		XML_SetCharacterDataHandler(p, text);
		if (XML_Parse(p, buffer, n, 1) != XML_STATUS_OK)
			return 1;
		XML_ParserFree(p);
	}
	printf("%lu %lu\n", n_elements, n_bytes);
	return 0;
}
