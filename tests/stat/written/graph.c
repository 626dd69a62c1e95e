/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef NV
#define NV 20000
#endif
#ifndef NE
#define NE 100000
#endif
#ifndef SOURCES
#define SOURCES 5
#endif

typedef struct {
	int u, v, w;
} Edge;

typedef struct {
	int nv, ne;
	Edge *edges;
	int *head;    /* CSR offsets, nv+1 */
	int *to, *wt; /* 2*ne */
} Graph;

static unsigned int rng_state = 2463534242u;

static unsigned int rng(void)
{
	unsigned int x = rng_state;
	x ^= x << 13;
	x ^= x >> 17;
	x ^= x << 5;
	return rng_state = x;
}

static void *xmalloc(size_t n)
{
	void *p = malloc(n);
	if (p == NULL) {
		fputs("out of memory\n", stderr);
		exit(EXIT_FAILURE);
	}
	return p;
}

static void BuildCsr(Graph *g)
{
	int i, *pos;
	g->head = xmalloc((g->nv + 1) * sizeof(int));
	memset(g->head, 0, (g->nv + 1) * sizeof(int));
	g->to = xmalloc(2 * g->ne * sizeof(int));
	g->wt = xmalloc(2 * g->ne * sizeof(int));
	for (i = 0; i < g->ne; i++) {
		g->head[g->edges[i].u + 1]++;
		g->head[g->edges[i].v + 1]++;
	}
	for (i = 0; i < g->nv; i++)
		g->head[i + 1] += g->head[i];
	pos = xmalloc(g->nv * sizeof(int));
	memcpy(pos, g->head, g->nv * sizeof(int));
	for (i = 0; i < g->ne; i++) {
		Edge e = g->edges[i];
		g->to[pos[e.u]] = e.v;
		g->wt[pos[e.u]++] = e.w;
		g->to[pos[e.v]] = e.u;
		g->wt[pos[e.v]++] = e.w;
	}
	free(pos);
}

static Graph *GenerateGraph(int nv, int ne)
{
	Graph *g = xmalloc(sizeof *g);
	int i;
	g->nv = nv;
	g->ne = ne;
	g->edges = xmalloc(ne * sizeof(Edge));
	for (i = 0; i < ne; i++) {
		Edge *e = &g->edges[i];
		if (i < nv - 1) {
			e->u = i + 1;
			e->v = rng() % (i + 1);
		} else {
			e->u = rng() % nv;
			e->v = rng() % nv;
		}
		e->w = 1 + rng() % 10000;
	}
	BuildCsr(g);
	return g;
}

/* ------------------------------------------------ indexed binary heap */

typedef struct {
	int *item, *where, *key, n;
} Heap;

static Heap *HeapNew(int cap)
{
	Heap *h = xmalloc(sizeof *h);
	h->item = xmalloc(cap * sizeof(int));
	h->where = xmalloc(cap * sizeof(int));
	h->key = xmalloc(cap * sizeof(int));
	h->n = 0;
	return h;
}

static void HeapFree(Heap *h)
{
	free(h->item);
	free(h->where);
	free(h->key);
	free(h);
}

static inline void HeapSet(Heap *h, int i, int x)
{
	h->item[i] = x;
	h->where[x] = i;
}

static __attribute__((noinline)) void SiftUp(Heap *h, int i)
{
	int x = h->item[i];
	while (i > 0) {
		int p = (i - 1) >> 1;
		if (h->key[h->item[p]] <= h->key[x])
			break;
		HeapSet(h, i, h->item[p]);
		i = p;
	}
	HeapSet(h, i, x);
}

static __attribute__((noinline)) void SiftDown(Heap *h, int i)
{
	int x = h->item[i];
	for (;;) {
		int c = 2 * i + 1;
		if (c >= h->n)
			break;
		if (c + 1 < h->n && h->key[h->item[c + 1]] < h->key[h->item[c]])
			c++;
		if (h->key[h->item[c]] >= h->key[x])
			break;
		HeapSet(h, i, h->item[c]);
		i = c;
	}
	HeapSet(h, i, x);
}

static void HeapPush(Heap *h, int x, int key)
{
	h->key[x] = key;
	h->item[h->n] = x;
	SiftUp(h, h->n++);
}

static int HeapPop(Heap *h)
{
	int top = h->item[0];
	if (--h->n > 0) {
		h->item[0] = h->item[h->n];
		SiftDown(h, 0);
	}
	h->where[top] = -1;
	return top;
}

static void HeapDecrease(Heap *h, int x, int key)
{
	h->key[x] = key;
	SiftUp(h, h->where[x]);
}

static __attribute__((noinline)) void Dijkstra(const Graph *g, int src, int *dist, int *parent)
{
	Heap *h = HeapNew(g->nv);
	int i, u;
	for (i = 0; i < g->nv; i++) {
		dist[i] = INT_MAX;
		parent[i] = -1;
	}
	dist[src] = 0;
	HeapPush(h, src, 0);
	while (h->n > 0) {
		u = HeapPop(h);
		for (i = g->head[u]; i < g->head[u + 1]; i++) {
			int v = g->to[i], d = dist[u] + g->wt[i];
			if (d >= dist[v])
				continue;
			if (dist[v] == INT_MAX)
				HeapPush(h, v, d);
			else
				HeapDecrease(h, v, d);
			dist[v] = d;
			parent[v] = u;
		}
	}
	HeapFree(h);
}

static int PathLength(const int *parent, int v)
{
	int n = 0;
	while ((v = parent[v]) >= 0)
		n++;
	return n;
}

/* ------------------------------------------------ Kruskal */

static int *uf_parent, *uf_rank;

static __attribute__((noinline)) int Find(int x)
{
	while (uf_parent[x] != x) {
		uf_parent[x] = uf_parent[uf_parent[x]];
		x = uf_parent[x];
	}
	return x;
}

static int Union(int a, int b)
{
	a = Find(a);
	b = Find(b);
	if (a == b)
		return 0;
	if (uf_rank[a] < uf_rank[b]) {
		int t = a;
		a = b;
		b = t;
	}
	uf_parent[b] = a;
	uf_rank[a] += uf_rank[a] == uf_rank[b];
	return 1;
}

static int EdgeLess(const Edge *a, const Edge *b)
{
	if (a->w != b->w)
		return a->w < b->w;
	if (a->u != b->u)
		return a->u < b->u;
	return a->v < b->v;
}

static void MergeSort(Edge *a, Edge *tmp, int n)
{
	int i, j, k, m = n / 2;
	if (n <= 12) {
		for (i = 1; i < n; i++) {
			Edge e = a[i];
			for (j = i; j > 0 && EdgeLess(&e, &a[j - 1]); j--)
				a[j] = a[j - 1];
			a[j] = e;
		}
		return;
	}
	MergeSort(a, tmp, m);
	MergeSort(a + m, tmp, n - m);
	memcpy(tmp, a, m * sizeof *a);
	for (i = 0, j = m, k = 0; i < m; k++) {
		if (j < n && EdgeLess(&a[j], &tmp[i]))
			a[k] = a[j++];
		else
			a[k] = tmp[i++];
	}
}

static long long Kruskal(const Graph *g)
{
	Edge *e = xmalloc(g->ne * sizeof *e), *tmp = xmalloc(g->ne * sizeof *tmp);
	long long total = 0;
	int i, left = g->nv - 1;
	memcpy(e, g->edges, g->ne * sizeof *e);
	MergeSort(e, tmp, g->ne);
	uf_parent = xmalloc(g->nv * sizeof(int));
	uf_rank = xmalloc(g->nv * sizeof(int));
	for (i = 0; i < g->nv; i++) {
		uf_parent[i] = i;
		uf_rank[i] = 0;
	}
	for (i = 0; i < g->ne && left > 0; i++)
		if (Union(e[i].u, e[i].v)) {
			total += e[i].w;
			left--;
		}
	free(uf_parent);
	free(uf_rank);
	free(e);
	free(tmp);
	return total;
}

/* BFS hop counts */
static __attribute__((noinline)) long Bfs(const Graph *g, int src)
{
	int *q = xmalloc(g->nv * sizeof(int)), *d = xmalloc(g->nv * sizeof(int));
	int qh = 0, qt = 0, i;
	long sum = 0;
	memset(d, -1, g->nv * sizeof(int));
	d[src] = 0;
	q[qt++] = src;
	while (qh < qt) {
		int u = q[qh++];
		sum += d[u];
		for (i = g->head[u]; i < g->head[u + 1]; i++)
			if (d[g->to[i]] < 0) {
				d[g->to[i]] = d[u] + 1;
				q[qt++] = g->to[i];
			}
	}
	free(q);
	free(d);
	return sum;
}

int main(void)
{
	Graph *g = GenerateGraph(NV, NE);
	int *dist = xmalloc(NV * sizeof(int)), *parent = xmalloc(NV * sizeof(int)), s, i;
	unsigned long long sum = 0;
	long hops = 0, bfs = 0;
	long long mst;
	for (s = 0; s < SOURCES; s++) {
		Dijkstra(g, s * 97 % NV, dist, parent);
		for (i = 0; i < NV; i++)
			sum = sum * 3 + dist[i];
		for (i = 0; i < NV; i += 3)
			hops += PathLength(parent, i);
		bfs += Bfs(g, s);
		bfs += Bfs(g, NV - 1 - s);
	}
	mst = Kruskal(g);
	printf("checksum %016llx hops %ld bfs %ld mst %lld\n", sum, hops, bfs, mst);
	return 0;
}
