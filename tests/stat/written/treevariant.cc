/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <cstdint>
#include <deque>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

namespace
{

struct Rand {
	std::uint32_t s = 12345;
	std::uint32_t next()
	{
		s ^= s << 13;
		s ^= s >> 17;
		s ^= s << 5;
		return s;
	}
	std::uint32_t below(std::uint32_t n)
	{
		return next() % n;
	}
};

// ---- a symbolic expression tree built from variants --------------------------

struct Node;
using NodePtr = std::shared_ptr<Node>;

struct Num {
	long v;
};
struct Var {
	int idx;
};
struct Neg {
	NodePtr e;
};
struct BinOp {
	char op;
	NodePtr l, r;
};
struct Call {
	std::string name;
	std::vector<NodePtr> args;
};

struct Node {
	std::variant<Num, Var, Neg, BinOp, Call> v;
};

template <class... Ts> struct overloaded : Ts... {
	using Ts::operator()...;
};
template <class... Ts> overloaded(Ts...) -> overloaded<Ts...>;

template <class T> NodePtr mk(T &&t)
{
	return std::make_shared<Node>(Node{ std::forward<T>(t) });
}

NodePtr random_tree(Rand &r, int depth)
{
	if (depth == 0 || r.below(12) == 0) {
		if (r.below(2))
			return mk(Num{ static_cast<long>(r.below(10)) });
		return mk(Var{ static_cast<int>(r.below(4)) });
	}
	switch (r.below(8)) {
	case 0:
		return mk(Neg{ random_tree(r, depth - 1) });
	case 1: {
		static const char *names[] = { "max", "min", "clamp_sum" };
		Call c{ names[r.below(3)], {} };
		int n = 2 + r.below(2);
		for (int i = 0; i < n; ++i)
			c.args.push_back(random_tree(r, depth - 1));
		return mk(std::move(c));
	}
	default: {
		char op = "+-*+"[r.below(4)];
		auto l = random_tree(r, depth - 1);
		return mk(BinOp{ op, l, random_tree(r, depth - 1) });
	}
	}
}

using Fn = std::function<long(const std::vector<long> &)>;

class Evaluator
{
	std::map<std::string, Fn> fns_;
	std::vector<long> vars_;

      public:
	explicit Evaluator(std::vector<long> vars) : vars_(std::move(vars))
	{
		fns_["max"] = [](const std::vector<long> &a) {
			long m = a[0];
			for (long x : a)
				m = std::max(m, x);
			return m;
		};
		fns_["min"] = [](const std::vector<long> &a) {
			long m = a[0];
			for (long x : a)
				m = std::min(m, x);
			return m;
		};
		int lim = 1000;
		fns_["clamp_sum"] = [lim](const std::vector<long> &a) {
			long s = 0;
			for (long x : a)
				s += x;
			return s > lim ? lim : s < -lim ? -lim : s;
		};
	}
	void set(int i, long v)
	{
		vars_[i] = v;
	}
	long eval(const Node &n) const
	{
		return std::visit(*this, n.v);
	}

	long operator()(const Num &n) const
	{
		return n.v;
	}
	long operator()(const Var &v) const
	{
		return vars_[v.idx];
	}
	long operator()(const Neg &n) const
	{
		return -eval(*n.e);
	}
	long operator()(const BinOp &b) const
	{
		long l = eval(*b.l), r = eval(*b.r);
		switch (b.op) {
		case '+':
			return (l + r) % 1000003;
		case '-':
			return (l - r) % 1000003;
		default:
			return l * r % 1000003;
		}
	}
	long operator()(const Call &c) const
	{
		std::vector<long> a;
		for (const auto &p : c.args)
			a.push_back(eval(*p));
		return fns_.at(c.name)(a);
	}
};

NodePtr simplify(const NodePtr &p)
{
	return std::visit(overloaded{
	                          [&](const Num &) { return p; }, [&](const Var &) { return p; },
	                          [&](const Neg &n) {
		                          auto e = simplify(n.e);
		                          if (auto *k = std::get_if<Num>(&e->v))
			                          return mk(Num{ -k->v });
		                          if (auto *k = std::get_if<Neg>(&e->v))
			                          return k->e;
		                          return e == n.e ? p : mk(Neg{ e });
	                          },
	                          [&](const BinOp &b) {
		                          auto l = simplify(b.l), r = simplify(b.r);
		                          auto *nl = std::get_if<Num>(&l->v), *nr = std::get_if<Num>(&r->v);
		                          if (nl && nr)
			                          return mk(Num{ b.op == '+'   ? nl->v + nr->v
			                                         : b.op == '-' ? nl->v - nr->v
			                                                       : nl->v * nr->v % 1000003 });
		                          if (b.op == '*' && ((nl && nl->v == 0) || (nr && nr->v == 0)))
			                          return mk(Num{ 0 });
		                          if (b.op == '*' && nl && nl->v == 1)
			                          return r;
		                          if (b.op != '*' && nr && nr->v == 0)
			                          return l;
		                          if (l == b.l && r == b.r)
			                          return p;
		                          return mk(BinOp{ b.op, l, r });
	                          },
	                          [&](const Call &c) {
		                          Call o{ c.name, {} };
		                          o.args.reserve(c.args.size());
		                          for (auto &a : c.args)
			                          o.args.push_back(simplify(a));
		                          return mk(std::move(o));
	                          } },
	                  p->v);
}

struct Counter {
	std::size_t operator()(const Num &) const
	{
		return 1;
	}
	std::size_t operator()(const Var &) const
	{
		return 1;
	}
	std::size_t operator()(const Neg &n) const
	{
		return 1 + count(n.e);
	}
	std::size_t operator()(const BinOp &b) const
	{
		return 1 + count(b.l) + count(b.r);
	}
	std::size_t operator()(const Call &c) const
	{
		std::size_t s = 1;
		for (auto &a : c.args)
			s += count(a);
		return s;
	}
	std::size_t count(const NodePtr &p) const
	{
		return std::visit(*this, p->v);
	}
};

// ---- binary search tree with shared/weak pointers ---------------------------

struct Tree {
	int key;
	std::shared_ptr<Tree> left, right;
	std::weak_ptr<Tree> parent;
	explicit Tree(int k) : key(k)
	{
	}
};

void tree_insert(std::shared_ptr<Tree> &root, int k)
{
	if (!root) {
		root = std::make_shared<Tree>(k);
		return;
	}
	auto cur = root;
	while (cur->key != k) {
		auto &next = k < cur->key ? cur->left : cur->right;
		if (!next) {
			next = std::make_shared<Tree>(k);
			next->parent = cur;
			return;
		}
		cur = next;
	}
}

int depth_of(std::shared_ptr<Tree> t)
{
	int d = 0;
	while (auto p = t->parent.lock()) {
		++d;
		t = p;
	}
	return d;
}

void for_each(const std::shared_ptr<Tree> &t, const std::function<void(const std::shared_ptr<Tree> &)> &f)
{
	if (!t)
		return;
	for_each(t->left, f);
	f(t);
	for_each(t->right, f);
}

// ---- grid BFS ------------------------------------------------------------------

class Grid
{
	int w_, h_;
	std::vector<char> wall_;

      public:
	Grid(int w, int h, Rand &r) : w_(w), h_(h), wall_(w * h)
	{
		for (auto &c : wall_)
			c = r.below(100) < 28;
		wall_[0] = 0;
	}
	std::vector<int> bfs(std::pair<int, int> start, const std::function<bool(int, int)> &allowed) const
	{
		std::vector<int> dist(w_ * h_, -1);
		std::deque<std::pair<int, int>> q;
		q.push_back(start);
		dist[start.second * w_ + start.first] = 0;
		while (!q.empty()) {
			auto [x, y] = q.front();
			q.pop_front();
			static const int dx[] = { 1, -1, 0, 0 }, dy[] = { 0, 0, 1, -1 };
			for (int d = 0; d < 4; ++d) {
				int nx = x + dx[d], ny = y + dy[d];
				if (nx < 0 || ny < 0 || nx >= w_ || ny >= h_)
					continue;
				int &t = dist[ny * w_ + nx];
				if (t >= 0 || wall_[ny * w_ + nx] || !allowed(nx, ny))
					continue;
				t = dist[y * w_ + x] + 1;
				q.emplace_back(nx, ny);
			}
		}
		return dist;
	}
};

} // namespace

int main()
{
	Rand rnd;
	std::uint64_t sum = 0;

	Counter counter;
	for (int t = 0; t < 40; ++t) {
		auto tree = random_tree(rnd, 10);
		auto small = simplify(tree);
		Evaluator ev({ 3, -7, 11, 2 });
		sum = sum * 31 + counter.count(tree) * 3 + counter.count(small);
		for (int i = 0; i < 30; ++i) {
			ev.set(i % 4, i * 5 - t);
			sum = sum * 7 +
			      static_cast<std::uint64_t>(ev.eval(*small) + ev.eval(i % 3 ? *small : *tree));
		}
	}

	std::shared_ptr<Tree> root;
	for (int i = 0; i < 9000; ++i)
		tree_insert(root, rnd.below(1000000));
	long total = 0;
	for_each(root, [&total](const std::shared_ptr<Tree> &t) { total += depth_of(t) + t->key % 3; });
	sum += total;

	for (int i = 0; i < 7; ++i) {
		Grid g(260, 180, rnd);
		int m = 5 + i;
		auto d = g.bfs({ 0, 0 }, [m](int x, int y) { return (x * y + x) % (m * 4) != 1; });
		std::unordered_map<int, int> hist;
		for (int v : d)
			++hist[v / 8];
		for (int k = 0; k < 120; ++k) {
			auto it = hist.find(k);
			if (it != hist.end())
				sum = sum * 13 + it->second;
		}
	}
	std::cout << "checksum " << sum << " " << total << "\n";
}
