/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tiny Whitted-style ray tracer; vectors are passed and returned by value. */
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct {
	double x, y, z;
} vec3;
typedef struct {
	vec3 o, d;
} ray;
typedef struct {
	vec3 color;
	double spec, refl;
	int checker;
} material;
typedef struct {
	vec3 c;
	double r;
	material m;
} sphere;
typedef struct {
	vec3 n;
	double d;
	material m;
} plane;
typedef struct {
	vec3 a, b, c;
	material m;
} tri;
typedef struct {
	double t;
	vec3 p, n;
	const material *m;
} hit;

static vec3 v3(double x, double y, double z)
{
	return (vec3){ x, y, z };
}
static vec3 vadd(vec3 a, vec3 b)
{
	return v3(a.x + b.x, a.y + b.y, a.z + b.z);
}
static vec3 vsub(vec3 a, vec3 b)
{
	return v3(a.x - b.x, a.y - b.y, a.z - b.z);
}
static vec3 vmul(vec3 a, double k)
{
	return v3(a.x * k, a.y * k, a.z * k);
}
static vec3 vprod(vec3 a, vec3 b)
{
	return v3(a.x * b.x, a.y * b.y, a.z * b.z);
}
static double vdot(vec3 a, vec3 b)
{
	return a.x * b.x + a.y * b.y + a.z * b.z;
}
static vec3 vcross(vec3 a, vec3 b)
{
	return v3(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
}
static vec3 vnorm(vec3 a)
{
	return vmul(a, 1.0 / sqrt(vdot(a, a)));
}
__attribute__((noinline)) static vec3 reflect(vec3 d, vec3 n)
{
	return vsub(d, vmul(n, 2 * vdot(d, n)));
}

#define NSPH 12
#define NTRI 16
static sphere spheres[NSPH];
static tri tris[NTRI];
static plane floor_plane;
static const vec3 lights[2] = { { -6, 9, -8 }, { 7, 6, -3 } };
static long nrays, nshadow;

static uint32_t rs = 7;
static double frand(void)
{
	rs = rs * 1664525u + 1013904223u;
	return (rs >> 8) / 16777216.0;
}

static material rand_mat(void)
{
	return (material){ v3(0.2 + 0.8 * frand(), 0.2 + 0.8 * frand(), 0.2 + 0.8 * frand()),
		           10 + 60 * frand(), frand() * 0.5, 0 };
}

static void build_scene(void)
{
	for (int i = 0; i < NSPH; i++) {
		double r = 0.4 + 0.7 * frand();
		spheres[i] =
		        (sphere){ v3(-4 + 8 * frand(), r + 2 * frand(), 1 + 7 * frand()), r, rand_mat() };
	}
	for (int i = 0; i < NTRI; i++) {
		double a = i * 2 * 3.14159265358979 / NTRI, b = (i + 1) * 2 * 3.14159265358979 / NTRI;
		tris[i] = (tri){ v3(0, 4.5, 9), v3(3 * cos(a), 4.5 + 1.5 * sin(a), 10 + cos(3 * a)),
			         v3(3 * cos(b), 4.5 + 1.5 * sin(b), 10 + cos(3 * b)), rand_mat() };
	}
	floor_plane = (plane){ v3(0, 1, 0), 0, { v3(0.9, 0.9, 0.9), 5, 0.15, 1 } };
}

static double hit_sphere(const sphere *s, ray r)
{
	vec3 oc = vsub(r.o, s->c);
	double b = vdot(oc, r.d), c = vdot(oc, oc) - s->r * s->r, disc = b * b - c;
	if (disc < 0)
		return -1;
	disc = sqrt(disc);
	if (-b - disc > 1e-6)
		return -b - disc;
	return -b + disc > 1e-6 ? -b + disc : -1;
}

static double hit_tri(const tri *t, ray r)
{
	vec3 e1 = vsub(t->b, t->a), e2 = vsub(t->c, t->a), p = vcross(r.d, e2);
	double det = vdot(e1, p);
	if (fabs(det) < 1e-9)
		return -1;
	double inv = 1 / det;
	vec3 s = vsub(r.o, t->a);
	double u = vdot(s, p) * inv;
	if (u < 0 || u > 1)
		return -1;
	vec3 q = vcross(s, e1);
	double v = vdot(r.d, q) * inv;
	if (v < 0 || u + v > 1)
		return -1;
	double d = vdot(e2, q) * inv;
	return d > 1e-6 ? d : -1;
}

static double hit_plane(const plane *p, ray r)
{
	double den = vdot(p->n, r.d);
	if (fabs(den) < 1e-9)
		return -1;
	double t = (p->d - vdot(p->n, r.o)) / den;
	return t > 1e-6 ? t : -1;
}

static int tri_box_reject(ray r)
{
	/* the triangle fan lies within a sphere of radius 4 */
	vec3 oc = vsub(v3(0, 4.5, 9.5), r.o);
	double t = vdot(oc, r.d);
	vec3 c = vsub(oc, vmul(r.d, t));
	return vdot(c, c) > 16;
}

int intersect(ray r, hit *h)
{
	double t;
	int kind = 0, idx = 0;
	h->t = DBL_MAX;
	nrays++;
	for (int i = 0; i < NSPH; i++)
		if ((t = hit_sphere(&spheres[i], r)) > 0 && t < h->t)
			h->t = t, kind = 1, idx = i;
	if (!tri_box_reject(r))
		for (int i = 0; i < NTRI; i++)
			if ((t = hit_tri(&tris[i], r)) > 0 && t < h->t)
				h->t = t, kind = 2, idx = i;
	if ((t = hit_plane(&floor_plane, r)) > 0 && t < h->t && t < 60)
		h->t = t, kind = 3;
	if (!kind)
		return 0;
	h->p = vadd(r.o, vmul(r.d, h->t));
	switch (kind) {
	case 1:
		h->n = vmul(vsub(h->p, spheres[idx].c), 1 / spheres[idx].r);
		h->m = &spheres[idx].m;
		break;
	case 2:
		h->n = vnorm(vcross(vsub(tris[idx].b, tris[idx].a), vsub(tris[idx].c, tris[idx].a)));
		h->m = &tris[idx].m;
		break;
	default:
		h->n = floor_plane.n;
		h->m = &floor_plane.m;
	}
	if (vdot(h->n, r.d) > 0)
		h->n = vmul(h->n, -1);
	return 1;
}

int in_shadow(vec3 p, vec3 dir, double dist)
{
	ray r = { p, dir };
	nshadow++;
	for (int i = 0; i < NSPH; i++) {
		double t = hit_sphere(&spheres[i], r);
		if (t > 0 && t < dist)
			return 1;
	}
	if (tri_box_reject(r))
		return 0;
	for (int i = 0; i < NTRI; i++) {
		double t = hit_tri(&tris[i], r);
		if (t > 0 && t < dist)
			return 1;
	}
	return 0;
}

static vec3 sky(vec3 d)
{
	double k = 0.5 * (d.y + 1);
	return vadd(vmul(v3(1, 1, 1), 1 - k), vmul(v3(0.4, 0.6, 1), k));
}

static vec3 surface_color(const hit *h)
{
	if (h->m->checker && (((int)floor(h->p.x) + (int)floor(h->p.z)) & 1))
		return v3(0.15, 0.15, 0.2);
	return h->m->color;
}

vec3 shade(const hit *h, vec3 view)
{
	vec3 base = surface_color(h), out = vmul(base, 0.12);
	for (int i = 0; i < 2; i++) {
		vec3 l = vsub(lights[i], h->p);
		double dist = sqrt(vdot(l, l));
		l = vmul(l, 1 / dist);
		double nl = vdot(h->n, l);
		if (nl <= 0 || in_shadow(vadd(h->p, vmul(h->n, 1e-5)), l, dist))
			continue;
		out = vadd(out, vmul(vprod(base, v3(1, 0.97, 0.9)), nl * 0.6));
		double rv = vdot(reflect(view, h->n), l);
		if (rv > 0.5)
			out = vadd(out, vmul(v3(1, 1, 1), 0.4 * pow(rv, h->m->spec)));
	}
	return out;
}

static vec3 trace(ray r, int depth)
{
	hit h;
	if (!intersect(r, &h))
		return sky(r.d);
	vec3 c = shade(&h, r.d);
	if (depth > 0 && h.m->refl > 0.05) {
		ray rr = { vadd(h.p, vmul(h.n, 1e-5)), vnorm(reflect(r.d, h.n)) };
		c = vadd(vmul(c, 1 - h.m->refl), vmul(trace(rr, depth - 1), h.m->refl));
	}
	return c;
}

static int quant(double v)
{
	if (v > 1)
		v = 1;
	return (int)(sqrt(v) * 255);
}

int main(void)
{
	enum { W = 288, H = 192 };
	uint32_t sum = 0;
	build_scene();
	vec3 eye = v3(0, 3, -9);
	for (int y = 0; y < H; y++)
		for (int x = 0; x < W; x++) {
			vec3 d = vnorm(
			        v3((x - W / 2) / (double)W * 1.6, (H / 2 - y) / (double)W * 1.6 - 0.05, 1));
			vec3 c = trace((ray){ eye, d }, 3);
			sum = sum * 16777619u ^ (quant(c.x) << 16 | quant(c.y) << 8 | quant(c.z));
		}
	printf("checksum %08x rays %ld shadow %ld\n", sum, nrays, nshadow);
	return 0;
}
