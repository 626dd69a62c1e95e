/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Red-black tree (CLRS, parent pointers, sentinel) and a recursive AVL tree driven by the same ops. */
#include <stdio.h>
#include <stdlib.h>

/* ------------------------------------------------------------------ RB */
typedef struct rbnode {
	struct rbnode *l, *r, *p;
	int key, val;
	char red;
} rbnode;

static rbnode nil_node;
#define NIL (&nil_node)
static rbnode *rb_root = NIL;
static int rb_size;

void rotate_left(rbnode *x)
{
	rbnode *y = x->r;
	x->r = y->l;
	if (y->l != NIL)
		y->l->p = x;
	y->p = x->p;
	if (x->p == NIL)
		rb_root = y;
	else if (x == x->p->l)
		x->p->l = y;
	else
		x->p->r = y;
	y->l = x;
	x->p = y;
}

void rotate_right(rbnode *x)
{
	rbnode *y = x->l;
	x->l = y->r;
	if (y->r != NIL)
		y->r->p = x;
	y->p = x->p;
	if (x->p == NIL)
		rb_root = y;
	else if (x == x->p->r)
		x->p->r = y;
	else
		x->p->l = y;
	y->r = x;
	x->p = y;
}

void insert_fixup(rbnode *z)
{
	while (z->p->red) {
		rbnode *g = z->p->p;
		if (z->p == g->l) {
			rbnode *u = g->r;
			if (u->red) {
				z->p->red = u->red = 0;
				g->red = 1;
				z = g;
			} else {
				if (z == z->p->r) {
					z = z->p;
					rotate_left(z);
				}
				z->p->red = 0;
				g->red = 1;
				rotate_right(g);
			}
		} else {
			rbnode *u = g->l;
			if (u->red) {
				z->p->red = u->red = 0;
				g->red = 1;
				z = g;
			} else {
				if (z == z->p->l) {
					z = z->p;
					rotate_right(z);
				}
				z->p->red = 0;
				g->red = 1;
				rotate_left(g);
			}
		}
	}
	rb_root->red = 0;
}

rbnode *rb_find(int key)
{
	rbnode *n = rb_root;
	while (n != NIL && n->key != key)
		n = key < n->key ? n->l : n->r;
	return n;
}

int rb_insert(int key, int val)
{
	rbnode *y = NIL, *x = rb_root;
	while (x != NIL) {
		y = x;
		if (key == x->key) {
			x->val += val;
			return 0;
		}
		x = key < x->key ? x->l : x->r;
	}
	rbnode *z = malloc(sizeof *z);
	*z = (rbnode){ NIL, NIL, y, key, val, 1 };
	if (y == NIL)
		rb_root = z;
	else if (key < y->key)
		y->l = z;
	else
		y->r = z;
	insert_fixup(z);
	rb_size++;
	return 1;
}

static rbnode *tree_min(rbnode *n)
{
	while (n->l != NIL)
		n = n->l;
	return n;
}

static rbnode *rb_next(rbnode *n)
{
	if (n->r != NIL)
		return tree_min(n->r);
	rbnode *p = n->p;
	while (p != NIL && n == p->r) {
		n = p;
		p = p->p;
	}
	return p;
}

static void transplant(rbnode *u, rbnode *v)
{
	if (u->p == NIL)
		rb_root = v;
	else if (u == u->p->l)
		u->p->l = v;
	else
		u->p->r = v;
	v->p = u->p;
}

void delete_fixup(rbnode *x)
{
	while (x != rb_root && !x->red) {
		rbnode *p = x->p, *w;
		if (x == p->l) {
			w = p->r;
			if (w->red) {
				w->red = 0;
				p->red = 1;
				rotate_left(p);
				w = p->r;
			}
			if (!w->l->red && !w->r->red) {
				w->red = 1;
				x = p;
				continue;
			}
			if (!w->r->red) {
				w->l->red = 0;
				w->red = 1;
				rotate_right(w);
				w = p->r;
			}
			w->red = p->red;
			p->red = 0;
			w->r->red = 0;
			rotate_left(p);
		} else {
			w = p->l;
			if (w->red) {
				w->red = 0;
				p->red = 1;
				rotate_right(p);
				w = p->l;
			}
			if (!w->l->red && !w->r->red) {
				w->red = 1;
				x = p;
				continue;
			}
			if (!w->l->red) {
				w->r->red = 0;
				w->red = 1;
				rotate_left(w);
				w = p->l;
			}
			w->red = p->red;
			p->red = 0;
			w->l->red = 0;
			rotate_right(p);
		}
		x = rb_root;
	}
	x->red = 0;
}

int rb_delete(int key)
{
	rbnode *z = rb_find(key), *y = z, *x;
	if (z == NIL)
		return 0;
	int was_red = y->red;
	if (z->l == NIL) {
		x = z->r;
		transplant(z, z->r);
	} else if (z->r == NIL) {
		x = z->l;
		transplant(z, z->l);
	} else {
		y = tree_min(z->r);
		was_red = y->red;
		x = y->r;
		if (y->p == z)
			x->p = y;
		else {
			transplant(y, y->r);
			y->r = z->r;
			y->r->p = y;
		}
		transplant(z, y);
		y->l = z->l;
		y->l->p = y;
		y->red = z->red;
	}
	if (!was_red)
		delete_fixup(x);
	free(z);
	rb_size--;
	return 1;
}

static int rb_check(rbnode *n)
{
	if (n == NIL)
		return 1;
	int a = rb_check(n->l), b = rb_check(n->r);
	if (a == 0 || a != b || (n->red && (n->l->red || n->r->red)))
		return 0;
	return a + !n->red;
}

/* ------------------------------------------------------------------ AVL */
typedef struct avl {
	struct avl *kid[2];
	int key, val, height;
} avl;

static int height(const avl *t)
{
	return t ? t->height : 0;
}
static int max(int a, int b)
{
	return a > b ? a : b;
}
static void update(avl *t)
{
	t->height = 1 + max(height(t->kid[0]), height(t->kid[1]));
}

static avl *rot(avl *t, int dir)
{
	avl *k = t->kid[!dir];
	t->kid[!dir] = k->kid[dir];
	k->kid[dir] = t;
	update(t);
	update(k);
	return k;
}

static avl *rebalance(avl *t)
{
	update(t);
	int d = height(t->kid[0]) - height(t->kid[1]);
	if (d > 1) {
		if (height(t->kid[0]->kid[0]) < height(t->kid[0]->kid[1]))
			t->kid[0] = rot(t->kid[0], 0);
		return rot(t, 1);
	}
	if (d < -1) {
		if (height(t->kid[1]->kid[1]) < height(t->kid[1]->kid[0]))
			t->kid[1] = rot(t->kid[1], 1);
		return rot(t, 0);
	}
	return t;
}

static avl *avl_insert(avl *t, int key, int val, int *added)
{
	if (!t) {
		t = calloc(1, sizeof *t);
		t->key = key;
		t->val = val;
		t->height = 1;
		*added = 1;
		return t;
	}
	if (key == t->key) {
		t->val += val;
		return t;
	}
	int d = key > t->key;
	t->kid[d] = avl_insert(t->kid[d], key, val, added);
	return rebalance(t);
}

static avl *avl_pop_min(avl *t, avl **min)
{
	if (!t->kid[0]) {
		*min = t;
		return t->kid[1];
	}
	t->kid[0] = avl_pop_min(t->kid[0], min);
	return rebalance(t);
}

static avl *avl_delete(avl *t, int key, int *removed)
{
	if (!t)
		return NULL;
	if (key == t->key) {
		avl *l = t->kid[0], *r = t->kid[1], *m;
		free(t);
		*removed = 1;
		if (!r)
			return l;
		r = avl_pop_min(r, &m);
		m->kid[0] = l;
		m->kid[1] = r;
		return rebalance(m);
	}
	int d = key > t->key;
	t->kid[d] = avl_delete(t->kid[d], key, removed);
	return rebalance(t);
}

static const avl *avl_find(const avl *t, int key)
{
	if (!t || t->key == key)
		return t;
	return avl_find(t->kid[key > t->key], key);
}

static unsigned avl_fold(const avl *t, unsigned h)
{
	if (!t)
		return h;
	h = avl_fold(t->kid[0], h);
	h = h * 31 + t->key + t->val;
	return avl_fold(t->kid[1], h);
}

static unsigned long seed = 20240607;
static unsigned rnd(unsigned n)
{
	seed = seed * 6364136223846793005UL + 1;
	return (unsigned)(seed >> 33) % n;
}

int main(void)
{
	avl *t = NULL;
	unsigned sum = 0;
	int found = 0, avl_size = 0;
	for (int i = 0; i < 190000; i++) {
		int k = rnd(30000), op = rnd(10), a = 0;
		if (op < 4) {
			t = avl_insert(t, k, i & 15, &a);
			avl_size += a;
			if (rb_insert(k, i & 15) != a) {
				puts("insert mismatch");
				return 1;
			}
		} else if (op < 6) {
			t = avl_delete(t, k, &a);
			avl_size -= a;
			if (rb_delete(k) != a) {
				puts("delete mismatch");
				return 1;
			}
		} else {
			for (int j = 0; j < 3; j++, k = rnd(30000)) {
				const avl *x = avl_find(t, k);
				rbnode *y = rb_find(k);
				if ((x != NULL) != (y != NIL)) {
					puts("find mismatch");
					return 1;
				}
				if (x) {
					found++;
					sum += x->val * 3 + y->val;
				}
			}
		}
		if (i % 19000 == 18999) {
			unsigned h = 0;
			for (rbnode *n = tree_min(rb_root); n != NIL; n = rb_next(n))
				h = h * 31 + n->key + n->val;
			if (h != avl_fold(t, 0) || !rb_check(rb_root)) {
				puts("traversal mismatch");
				return 1;
			}
			sum = sum * 33 + h;
		}
	}
	printf("checksum %08x found %d size %d %d height %d\n", sum, found, rb_size, avl_size, height(t));
	while (rb_root != NIL)
		rb_delete(rb_root->key);
	while (t) {
		int gone;
		t = avl_delete(t, t->key, &gone);
	}
	return rb_size != 0;
}
