/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Dense switches, as a bounds check before a table and as a masked byte. Every case is code of its own. */
#define CASE(n)                                    \
	case n:                                    \
		x = x * (n + 3) % (7 * n + 5) + n; \
		break;
#define FOUR(n) CASE(n) CASE(n + 1) CASE(n + 2) CASE(n + 3)
#define CASES   FOUR(0) FOUR(4) FOUR(8) FOUR(12) FOUR(16) FOUR(20)

int dispatch(int which, int x);
int interpret(const unsigned char *code, int n);

int dispatch(int which, int x)
{
	switch (which - 5) {
		CASES
	default:
		x = -1;
	}
	return x;
}

int interpret(const unsigned char *code, int n)
{
	int x = 1;

	for (int i = 0; i < n; i++) {
		switch (code[i] & 31) {
			CASES
		}
	}
	return x;
}

int main(int argc, char **argv)
{
	return dispatch(argc, argc) + interpret((const unsigned char *)argv[0], argc);
}
