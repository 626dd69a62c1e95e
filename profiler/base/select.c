/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/base/select.h"

static void swap(double *a, double *b)
{
	double t = *a;

	*a = *b;
	*b = t;
}

static double middle_of(double a, double b, double c)
{
	double lo = a < b ? a : b, hi = a < b ? b : a;

	return c < lo ? lo : c > hi ? hi : c;
}

/* Hoare's FIND: equal numbers change places, too, so that many of them are halved and not walked through one by one. */
double select_nth(double *v, size_t n, size_t k)
{
	size_t first = 0, last = n - 1;

	while (first < last) {
		double pivot = middle_of(v[first], v[first + (last - first) / 2], v[last]);
		size_t i = first, j = last;

		for (;;) {
			while (v[i] < pivot)
				i++;
			while (v[j] > pivot)
				j--;
			if (i >= j)
				break;
			swap(&v[i++], &v[j--]);
		}
		/* Up to j none is larger than the pivot, from j + 1 on none smaller; one at the last place is not the only one. */
		if (k <= j)
			last = j;
		else
			first = j + 1;
	}
	return v[k];
}

double select_middle(double *v, size_t n)
{
	return n ? select_nth(v, n, n / 2) : 0;
}

double select_quantile(double *v, size_t n, double q)
{
	double at = q * (double)(n - 1), x, next;
	size_t k = (size_t)at;

	if (k + 1 >= n)
		return select_nth(v, n, n - 1);
	x = select_nth(v, n, k);
	next = v[k + 1];
	for (size_t i = k + 2; i < n; i++)
		next = v[i] < next ? v[i] : next;
	return x + (at - (double)k) * (next - x);
}
