/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Planar-ish solar system integrated with a symplectic leapfrog. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#define PI         3.141592653589793
#define SOLAR_MASS (4 * PI * PI)
#define DAYS       365.24
#define NBODIES    5

#ifndef STEPS
#define STEPS 260000
#endif

typedef struct {
	double x, y, z;
} vec3;
typedef struct {
	vec3 p, v;
	double mass;
} body;

static body bodies[NBODIES] = {
	{ { 0, 0, 0 }, { 0, 0, 0 }, SOLAR_MASS },
	{ { 4.84143144246472090e+00, -1.16032004402742839e+00, -1.03622044471123109e-01 },
	  { 1.66007664274403694e-03 * DAYS, 7.69901118419740425e-03 * DAYS, -6.90460016972063023e-05 * DAYS },
	  9.54791938424326609e-04 * SOLAR_MASS },
	{ { 8.34336671824457987e+00, 4.12479856412430479e+00, -4.03523417114321381e-01 },
	  { -2.76742510726411899e-03 * DAYS, 4.99852801234917238e-03 * DAYS, 2.30417297573763929e-05 * DAYS },
	  2.85885980666130812e-04 * SOLAR_MASS },
	{ { 1.28943695621391310e+01, -1.51111514016986312e+01, -2.23307578892655734e-01 },
	  { 2.96460137564761618e-03 * DAYS, 2.37847173959480950e-03 * DAYS, -2.96589568540237556e-05 * DAYS },
	  4.36624404335156298e-05 * SOLAR_MASS },
	{ { 1.53796971148509165e+01, -2.59193146099879641e+01, 1.79258772950371181e-01 },
	  { 2.68067772490389322e-03 * DAYS, 1.62824170038242295e-03 * DAYS, -9.51592254519715870e-05 * DAYS },
	  5.15138902046611451e-05 * SOLAR_MASS }
};

static inline vec3 sub(vec3 a, vec3 b)
{
	return (vec3){ a.x - b.x, a.y - b.y, a.z - b.z };
}
static inline double dot(vec3 a, vec3 b)
{
	return a.x * b.x + a.y * b.y + a.z * b.z;
}
static inline void axpy(vec3 *y, double a, vec3 x)
{
	y->x += a * x.x;
	y->y += a * x.y;
	y->z += a * x.z;
}
static vec3 cross(vec3 a, vec3 b)
{
	return (vec3){ a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x };
}

/* gravitational pull between one pair; kept out of line on purpose */
__attribute__((noinline)) static void interact(body *a, body *b, double dt)
{
	vec3 d = sub(a->p, b->p);
	double d2 = dot(d, d);
	double mag = dt / (d2 * sqrt(d2));
	axpy(&a->v, -b->mass * mag, d);
	axpy(&b->v, a->mass * mag, d);
}

__attribute__((noinline)) static void kick(body *b, int n, double dt)
{
	for (int i = 0; i < n; i++)
		for (int j = i + 1; j < n; j++)
			interact(&b[i], &b[j], dt);
}

__attribute__((noinline)) static void drift(body *b, int n, double dt)
{
	for (int i = 0; i < n; i++)
		axpy(&b[i].p, dt, b[i].v);
}

__attribute__((noinline)) double energy(const body *b, int n)
{
	double e = 0;
	for (int i = 0; i < n; i++) {
		e += 0.5 * b[i].mass * dot(b[i].v, b[i].v);
		for (int j = i + 1; j < n; j++) {
			vec3 d = sub(b[i].p, b[j].p);
			e -= b[i].mass * b[j].mass / sqrt(dot(d, d));
		}
	}
	return e;
}

__attribute__((noinline)) double angular_momentum(const body *b, int n)
{
	vec3 L = { 0, 0, 0 };
	for (int i = 0; i < n; i++)
		axpy(&L, b[i].mass, cross(b[i].p, b[i].v));
	return sqrt(dot(L, L));
}

static void offset_momentum(body *b, int n)
{
	vec3 m = { 0, 0, 0 };
	for (int i = 0; i < n; i++)
		axpy(&m, b[i].mass, b[i].v);
	b[0].v = (vec3){ -m.x / SOLAR_MASS, -m.y / SOLAR_MASS, -m.z / SOLAR_MASS };
}

int main(void)
{
	double worst = 0, e0, l0, drift_l = 0;
	offset_momentum(bodies, NBODIES);
	e0 = energy(bodies, NBODIES);
	l0 = angular_momentum(bodies, NBODIES);
	for (int s = 0; s < STEPS; s++) {
		kick(bodies, NBODIES, 0.01);
		drift(bodies, NBODIES, 0.01);
		if (s % 4 == 0) {
			double de = fabs((energy(bodies, NBODIES) - e0) / e0);
			if (de > worst)
				worst = de;
		}
		if (s % 2 == 0)
			drift_l = fmax(drift_l, fabs(angular_momentum(bodies, NBODIES) - l0));
	}
	printf("checksum %.9f %.3e %.3e\n", energy(bodies, NBODIES), worst, drift_l);
	return 0;
}
