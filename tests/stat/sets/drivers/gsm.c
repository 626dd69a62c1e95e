/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "gsm.h"
#include <stdio.h>

int main(int argc, char **argv)
{
	FILE *f = argc > 1 ? fopen(argv[1], "r") : NULL;
	gsm c = gsm_create(), d = gsm_create();
	gsm_signal s[160], t[160];
	gsm_frame frame;
	long sum = 0;

	if (!f || !c || !d)
		return 1;
	while (fread(s, sizeof(*s), 160, f) == 160) {
		gsm_encode(c, s, frame);
		gsm_decode(d, frame, t);
		sum += t[80];
	}
	printf("%ld\n", sum);
	return 0;
}
