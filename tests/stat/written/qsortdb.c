/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A tiny in-memory "personnel database": qsort() on several keys, bsearch() lookups. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef NREC
#define NREC 20000
#endif
#ifndef NLOOK
#define NLOOK 60000
#endif

struct employee {
	int id;
	int dept;
	double salary;
	char name[24];
};

static unsigned long rstate = 88172645463325252UL;

static unsigned long xrand(void)
{
	rstate ^= rstate << 7;
	rstate ^= rstate >> 9;
	return rstate;
}

static void make_name(char *buf, size_t len)
{
	static const char vowels[] = "aeiou", cons[] = "bcdfghklmnprstvz";
	size_t i, n = 5 + xrand() % (len - 7);

	for (i = 0; i < n; i++)
		buf[i] = (i & 1) ? vowels[xrand() % 5] : cons[xrand() % 16];
	buf[n] = '\0';
}

static int cmp_id(const void *a, const void *b)
{
	const struct employee *x = a, *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

static int cmp_name(const void *a, const void *b)
{
	const struct employee *x = a, *y = b;
	int c = strcmp(x->name, y->name);

	return c ? c : cmp_id(a, b);
}

static int cmp_name_only(const void *a, const void *b)
{
	return strcmp(((const struct employee *)a)->name, ((const struct employee *)b)->name);
}

static int cmp_salary_desc(const void *a, const void *b)
{
	double x = ((const struct employee *)a)->salary;
	double y = ((const struct employee *)b)->salary;

	if (x > y)
		return -1;
	if (x < y)
		return 1;
	return cmp_id(a, b);
}

static int cmp_dept(const void *a, const void *b)
{
	const struct employee *x = a, *y = b;

	if (x->dept != y->dept)
		return x->dept - y->dept;
	return cmp_salary_desc(a, b);
}

static int cmp_ptr_namelen(const void *a, const void *b)
{
	const struct employee *x = *(const struct employee *const *)a;
	const struct employee *y = *(const struct employee *const *)b;
	size_t lx = strlen(x->name), ly = strlen(y->name);

	if (lx != ly)
		return lx < ly ? -1 : 1;
	return cmp_id(x, y);
}

static unsigned digest(const struct employee *e, size_t n)
{
	unsigned h = 5381;
	size_t i;
	const char *s;

	for (i = 0; i < n; i++) {
		for (s = e[i].name; *s; s++)
			h = h * 33 ^ (unsigned char)*s;
		h = h * 33 ^ (unsigned)e[i].id;
	}
	return h;
}

static void load(struct employee *e, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		memset(&e[i], 0, sizeof e[i]);
		e[i].id = (int)(xrand() % 10000000);
		e[i].dept = (int)(xrand() % 37);
		e[i].salary = 1000.0 + (double)(xrand() % 500000) / 100.0;
		make_name(e[i].name, sizeof e[i].name);
	}
}

/* hand-written quartile finder to contrast with libc's sort */
static double quickselect(double *v, int n, int k)
{
	int lo = 0, hi = n - 1;

	while (lo < hi) {
		double p = v[(lo + hi) / 2];
		int i = lo, j = hi;

		while (i <= j) {
			while (v[i] < p)
				i++;
			while (v[j] > p)
				j--;
			if (i <= j) {
				double t = v[i];
				v[i++] = v[j];
				v[j--] = t;
			}
		}
		if (k <= j)
			hi = j;
		else if (k >= i)
			lo = i;
		else
			break;
	}
	return v[k];
}

int main(void)
{
	struct employee *db = calloc(NREC, sizeof *db), key, *hit;
	struct employee **idx = calloc(NREC, sizeof *idx);
	double *sal = calloc(NREC, sizeof *sal), q = 0;
	unsigned sum = 0;
	int i, found = 0;

	if (db == NULL || idx == NULL || sal == NULL)
		return 1;
	load(db, NREC);

	qsort(db, NREC, sizeof *db, cmp_name);
	sum ^= digest(db, NREC);
	memset(&key, 0, sizeof key);
	for (i = 0; i < NLOOK / 2; i++) {
		strcpy(key.name, db[xrand() % NREC].name);
		if (i % 4 == 0)
			key.name[3]++;
		if (bsearch(&key, db, NREC, sizeof *db, cmp_name_only) != NULL)
			found++;
	}

	qsort(db, NREC, sizeof *db, cmp_dept);
	sum = sum * 3 ^ digest(db, NREC);
	qsort(db, NREC, sizeof *db, cmp_salary_desc);
	sum = sum * 3 ^ digest(db, NREC);

	for (i = 0; i < NREC; i++)
		idx[i] = &db[i];
	qsort(idx, NREC, sizeof *idx, cmp_ptr_namelen);
	for (i = 0; i < NREC; i++)
		sum = sum * 3 + (unsigned)idx[i]->id;

	for (i = 1; i < 20; i++) {
		int j;
		for (j = 0; j < NREC; j++)
			sal[j] = db[j].salary * ((j % i) + 1);
		q += quickselect(sal, NREC, NREC * i / 20);
	}

	qsort(db, NREC, sizeof *db, cmp_id);
	for (i = 0; i < NLOOK; i++) {
		key.id = (i & 1) ? db[xrand() % NREC].id : (int)(xrand() % 10000000);
		hit = bsearch(&key, db, NREC, sizeof *db, cmp_id);
		if (hit != NULL) {
			found++;
			sum += (unsigned)hit->dept;
		}
	}
	printf("checksum %u found %d q %.2f\n", sum, found, q);
	free(sal);
	free(idx);
	free(db);
	return 0;
}
