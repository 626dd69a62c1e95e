/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kiss_fft.h"
#include "kiss_fftr.h"
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	static kiss_fft_cpx in[4096], out[4096];
	static kiss_fft_scalar real[4096];
	static const int sizes[] = { 1024, 1000, 729, 1155, 4096 };
	float sum = 0;

	for (int round = argc > 1 ? atoi(argv[1]) : 1; round > 0; round--) {
		for (int s = 0; s < 5; s++) {
			kiss_fft_cfg c = kiss_fft_alloc(sizes[s], round & 1, NULL, NULL);

			for (int i = 0; i < sizes[s]; i++) {
				in[i].r = (float)(i * round % 17);
				in[i].i = (float)(i % 5);
				real[i] = in[i].r;
			}
			kiss_fft(c, in, out);
			sum += out[7].r;
			free(c);
		}
		kiss_fftr_cfg r = kiss_fftr_alloc(2048, 0, NULL, NULL);

		kiss_fftr(r, real, out);
		sum += out[3].i;
		free(r);
	}
	printf("%f\n", (double)sum);
	return 0;
}
