/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Dense factors: one by hand, and others of every size about the tiles' held against their definition. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <math.h>

#include "correct/infer/cholesky.h"

/* [4 2; 2 10] = L L' with L = [2 0; 1 3]; its inverse [1/2 0; -1/6 1/3]; [4 2; 2 10] [1; 2] = [8; 22]. */
static void a_factor_by_hand(void **state)
{
	double h[] = { 4, 99, 2, 10 }, x[] = { 8, 22 }, inverse[4];

	(void)state;
	assert_int_equal(cholesky_factor(h, 2), 0);
	assert_true(h[0] == 2 && h[1] == 99 && h[2] == 1 && h[3] == 3);
	cholesky_solve(h, 2, x);
	assert_float_equal(x[0], 1, 1e-15);
	assert_float_equal(x[1], 2, 1e-15);
	cholesky_invert(h, 2, inverse);
	assert_float_equal(inverse[0], 0.5, 1e-15);
	assert_true(inverse[1] == 0);
	assert_float_equal(inverse[2], -1.0 / 6, 1e-15);
	assert_float_equal(inverse[3], 1.0 / 3, 1e-15);
}

static double element(size_t i, size_t j)
{
	return (double)((i * 7919 + j * 104729) % 1000) / 1000 - 0.5;
}

/* A A' + d has eigenvalues of d and more: its condition is below 100, so errors stay near 1e-14. */
static void check_size(size_t d)
{
	double *h = calloc(d * d, sizeof(*h)), *l = calloc(d * d, sizeof(*l)),
	       *inverse = calloc(d * d, sizeof(*l));
	double *x = calloc(d, sizeof(*x)), *b = calloc(d, sizeof(*b));

	assert_true(h && l && inverse && x && b);
	for (size_t i = 0; i < d; i++)
		for (size_t j = 0; j < d; j++) {
			for (size_t k = 0; k < d; k++)
				h[i * d + j] += element(i, k) * element(j, k);
			h[i * d + j] += i == j ? (double)d : 0;
			l[i * d + j] = h[i * d + j];
		}
	for (size_t i = 0; i < d; i++)
		for (size_t j = 0; j < d; j++)
			b[i] += h[i * d + j] * element(j, 1);
	for (size_t i = 0; i < d; i++)
		x[i] = b[i];
	assert_int_equal(cholesky_factor(l, d), 0);
	cholesky_solve(l, d, x);
	cholesky_invert(l, d, inverse);
	for (size_t i = 0; i < d; i++) {
		assert_float_equal(x[i], element(i, 1), 1e-12);
		for (size_t j = 0; j <= i; j++) {
			double product = 0, unit = 0;

			for (size_t k = 0; k <= j; k++)
				product += l[i * d + k] * l[j * d + k];
			for (size_t k = j; k <= i; k++)
				unit += l[i * d + k] * inverse[k * d + j];
			assert_float_equal(product, h[i * d + j], 1e-11 * (double)d);
			assert_float_equal(unit, i == j, 1e-12);
		}
	}
	free(h);
	free(l);
	free(inverse);
	free(x);
	free(b);
}

static void factors_of_every_size_multiply_back(void **state)
{
	(void)state;
	for (size_t d = 1; d < 20; d++)
		check_size(d);
	check_size(101);
}

static void what_is_not_positive_definite_has_no_factor(void **state)
{
	double h[] = { 1, 0, 2, 1 }, nan[] = { NAN };

	(void)state;
	assert_int_equal(cholesky_factor(h, 2), -1);
	assert_int_equal(cholesky_factor(nan, 1), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_factor_by_hand),
		cmocka_unit_test(factors_of_every_size_multiply_back),
		cmocka_unit_test(what_is_not_positive_definite_has_no_factor),
	};

	return cmocka_run_group_tests_name("cholesky", tests, NULL, NULL);
}
