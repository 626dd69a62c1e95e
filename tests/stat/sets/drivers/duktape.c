/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "duktape.h"
#include <stdio.h>
#include <stdlib.h>

static duk_ret_t print(duk_context *d)
{
	duk_push_string(d, " ");
	duk_insert(d, 0);
	duk_join(d, duk_get_top(d) - 1);
	puts(duk_to_string(d, -1));
	return 0;
}

int main(int argc, char **argv)
{
	static char text[1 << 16];
	duk_context *d = duk_create_heap_default();
	FILE *f = argc > 1 ? fopen(argv[1], "r") : NULL;

	if (!d || !f)
		return 1;
	text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
	duk_push_c_function(d, print, DUK_VARARGS);
	duk_put_global_string(d, "print");
	duk_eval_string_noresult(d, text);
	duk_destroy_heap(d);
	return 0;
}
