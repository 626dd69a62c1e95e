/* SPDX-License-Identifier: GPL-3.0-or-later */
// Binary trees: allocation churn plus an unbalanced BST with deletes.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#ifndef MAXDEPTH
#define MAXDEPTH 13
#endif
#ifndef KEYS
#define KEYS 30000
#endif

typedef struct node {
	struct node *left, *right;
	int32_t key;
} node_t;

static uint32_t seed = 12345;

static inline uint32_t rnd(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 17;
	seed ^= seed << 5;
	return seed;
}

static node_t *new_node(node_t *l, node_t *r, int32_t key)
{
	node_t *n = malloc(sizeof *n);
	if (!n) {
		perror("malloc");
		exit(1);
	}
	n->left = l;
	n->right = r;
	n->key = key;
	return n;
}

static node_t *bottom_up(int depth)
{
	if (depth <= 0)
		return new_node(NULL, NULL, 1);
	node_t *l = bottom_up(depth - 1);
	node_t *r = bottom_up(depth - 1);
	return new_node(l, r, l->key + r->key);
}

static int item_check(const node_t *t)
{
	if (t->left == NULL)
		return 1;
	return 1 + item_check(t->left) + item_check(t->right);
}

static void delete_tree(node_t *t)
{
	if (t->left) {
		delete_tree(t->left);
		delete_tree(t->right);
	}
	free(t);
}

static void insert(node_t **root, int32_t key)
{
	while (*root) {
		if ((*root)->key == key)
			return;
		root = key < (*root)->key ? &(*root)->left : &(*root)->right;
	}
	*root = new_node(NULL, NULL, key);
}

static node_t *insert_rec(node_t *t, int32_t key)
{
	if (!t)
		return new_node(NULL, NULL, key);
	if (key < t->key)
		t->left = insert_rec(t->left, key);
	else if (key > t->key)
		t->right = insert_rec(t->right, key);
	return t;
}

__attribute__((noinline)) static const node_t *find(const node_t *t, int32_t key)
{
	while (t && t->key != key)
		t = key < t->key ? t->left : t->right;
	return t;
}

static node_t *detach_min(node_t **t)
{
	while ((*t)->left)
		t = &(*t)->left;
	node_t *m = *t;
	*t = m->right;
	return m;
}

__attribute__((noinline)) static int remove_key(node_t **root, int32_t key)
{
	while (*root && (*root)->key != key)
		root = key < (*root)->key ? &(*root)->left : &(*root)->right;
	node_t *dead = *root;
	if (!dead)
		return 0;
	if (!dead->left)
		*root = dead->right;
	else if (!dead->right)
		*root = dead->left;
	else {
		node_t *s = detach_min(&dead->right);
		s->left = dead->left;
		s->right = dead->right;
		*root = s;
	}
	free(dead);
	return 1;
}

static int height(const node_t *t)
{
	if (!t)
		return 0;
	int l = height(t->left), r = height(t->right);
	return 1 + (l > r ? l : r);
}

static void sum_inorder(const node_t *t, uint64_t *acc)
{
	if (!t)
		return;
	sum_inorder(t->left, acc);
	*acc = *acc * 31 + (uint32_t)t->key;
	sum_inorder(t->right, acc);
}

static void free_bst(node_t *t)
{
	if (!t)
		return;
	free_bst(t->left);
	free_bst(t->right);
	free(t);
}

int main(void)
{
	long total = 0;
	for (int d = 4; d <= MAXDEPTH; d += 3) {
		int iters = 1 << (MAXDEPTH - d + 4);
		for (int i = 0; i < iters; i++) {
			node_t *t = bottom_up(d);
			total += item_check(t) + t->key;
			delete_tree(t);
		}
	}

	node_t *root = NULL;
	int removed = 0, hits = 0, h = 0;
	for (int i = 0; i < KEYS; i++) {
		int32_t k = (int32_t)(rnd() % (KEYS * 4));
		if (i & 1)
			insert(&root, k);
		else
			root = insert_rec(root, k);
	}
	for (int i = 0; i < KEYS * 3; i++)
		hits += find(root, (int32_t)(rnd() % (KEYS * 4))) != NULL;
	for (int i = 0; i < KEYS; i++)
		removed += remove_key(&root, (int32_t)(rnd() % (KEYS * 4)));
	uint64_t acc = 0;
	for (int i = 0; i < 6; i++) {
		h += height(root);
		sum_inorder(root, &acc);
	}
	free_bst(root);
	printf("checksum %ld %d %d %d %016llx\n", total, hits, removed, h, (unsigned long long)acc);
	return 0;
}
