/* SPDX-License-Identifier: GPL-3.0-or-later */
// What liblinear wants of BLAS, where there is none.
extern "C" {
double ddot_(int *n, double *x, int *, double *y, int *)
{
	double s = 0;
	for (int i = 0; i < *n; i++)
		s += x[i] * y[i];
	return s;
}
int daxpy_(int *n, double *a, double *x, int *, double *y, int *)
{
	for (int i = 0; i < *n; i++)
		y[i] += *a * x[i];
	return 0;
}
int dscal_(int *n, double *a, double *x, int *)
{
	for (int i = 0; i < *n; i++)
		x[i] *= *a;
	return 0;
}
double dnrm2_(int *n, double *x, int *)
{
	double s = 0;
	for (int i = 0; i < *n; i++)
		s += x[i] * x[i];
	return __builtin_sqrt(s);
}
}
