/* SPDX-License-Identifier: GPL-3.0-or-later */
// k-d tree over a templated point type: nearest neighbours, box queries, k-means, k-NN smoothing.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <memory>
#include <numeric>
#include <queue>
#include <type_traits>
#include <utility>
#include <vector>

struct XorShift {
	using result_type = std::uint32_t;
	std::uint64_t s;
	static constexpr result_type min()
	{
		return 0;
	}
	static constexpr result_type max()
	{
		return 0xFFFFFFFFu;
	}
	result_type operator()()
	{
		s ^= s >> 12;
		s ^= s << 25;
		s ^= s >> 27;
		return static_cast<result_type>(s * 0x2545F4914F6CDD1Dull >> 32);
	}
	template <class T> T unit()
	{
		return static_cast<T>((*this)() >> 8) / static_cast<T>(1 << 24);
	}
};

template <class T, std::size_t N> struct Point : std::array<T, N> {
	Point &operator+=(const Point &o)
	{
		for (std::size_t i = 0; i < N; ++i)
			(*this)[i] += o[i];
		return *this;
	}
	Point operator*(T k) const
	{
		Point r = *this;
		for (T &v : r)
			v *= k;
		return r;
	}
};

struct Euclid {
	template <class P> static auto distance(const P &a, const P &b)
	{
		typename P::value_type s{};
		for (std::size_t i = 0; i < a.size(); ++i)
			s += (a[i] - b[i]) * (a[i] - b[i]);
		return s;
	}
	template <class T> static T axis(T d)
	{
		return d * d;
	}
};

struct Manhattan {
	template <class P> static auto distance(const P &a, const P &b)
	{
		typename P::value_type s{};
		for (std::size_t i = 0; i < a.size(); ++i)
			s += std::fabs(a[i] - b[i]);
		return s;
	}
	template <class T> static T axis(T d)
	{
		return std::fabs(d);
	}
};

// Keeps the k smallest (distance, index) pairs.
template <class T> class Nearest
{
      public:
	explicit Nearest(std::size_t k) : k_(k)
	{
	}
	T bound() const
	{
		return heap_.size() < k_ ? std::numeric_limits<T>::max() : heap_.top().first;
	}
	void offer(T d, std::uint32_t i)
	{
		if (heap_.size() == k_) {
			if (std::make_pair(d, i) >= heap_.top())
				return;
			heap_.pop();
		}
		heap_.emplace(d, i);
	}
	std::vector<std::uint32_t> take()
	{
		std::vector<std::uint32_t> out(heap_.size());
		for (auto it = out.rbegin(); it != out.rend(); ++it) {
			*it = heap_.top().second;
			heap_.pop();
		}
		return out;
	}

      private:
	std::size_t k_;
	std::priority_queue<std::pair<T, std::uint32_t>> heap_;
};

template <class P, class Metric = Euclid, std::size_t LeafSize = 8> class KdTree
{
      public:
	using T = typename P::value_type;
	static_assert(std::is_floating_point_v<T>);
	static constexpr std::size_t Dim = std::tuple_size<typename P::array>::value;

	explicit KdTree(const std::vector<P> &pts) : pts_(pts), idx_(pts.size())
	{
		std::iota(idx_.begin(), idx_.end(), 0u);
		root_ = build(0, idx_.size());
	}

	std::vector<std::uint32_t> nearest(const P &q, std::size_t k) const
	{
		Nearest<T> best(k);
		descend(*root_, q, best);
		return best.take();
	}

	template <class Visit> void box(const P &lo, const P &hi, Visit &&visit) const
	{
		box_rec(*root_, lo, hi, visit);
	}

	std::size_t nodes() const
	{
		return nodes_;
	}

      private:
	struct Node {
		std::size_t begin, end, axis = 0;
		T split{};
		std::unique_ptr<Node> low, high;
	};

	std::size_t widest(std::size_t b, std::size_t e) const
	{
		P lo = pts_[idx_[b]], hi = lo;
		for (std::size_t i = b + 1; i < e; ++i)
			for (std::size_t d = 0; d < Dim; ++d) {
				lo[d] = std::min(lo[d], pts_[idx_[i]][d]);
				hi[d] = std::max(hi[d], pts_[idx_[i]][d]);
			}
		std::size_t best = 0;
		for (std::size_t d = 1; d < Dim; ++d)
			if (hi[d] - lo[d] > hi[best] - lo[best])
				best = d;
		return best;
	}

	std::unique_ptr<Node> build(std::size_t b, std::size_t e)
	{
		auto n = std::make_unique<Node>();
		++nodes_;
		n->begin = b;
		n->end = e;
		if (e - b <= LeafSize)
			return n;
		std::size_t mid = b + (e - b) / 2, ax = widest(b, e);
		auto at = [&](std::size_t i) { return idx_.begin() + static_cast<std::ptrdiff_t>(i); };
		std::nth_element(at(b), at(mid), at(e),
		                 [&](auto x, auto y) { return pts_[x][ax] < pts_[y][ax]; });
		n->axis = ax;
		n->split = pts_[idx_[mid]][ax];
		n->low = build(b, mid);
		n->high = build(mid, e);
		return n;
	}

	void descend(const Node &n, const P &q, Nearest<T> &best) const
	{
		if (!n.low) {
			for (std::size_t i = n.begin; i < n.end; ++i) {
				T d = Metric::distance(q, pts_[idx_[i]]);
				if (d <= best.bound())
					best.offer(d, idx_[i]);
			}
			return;
		}
		T diff = q[n.axis] - n.split;
		descend(diff < 0 ? *n.low : *n.high, q, best);
		if (Metric::axis(diff) <= best.bound())
			descend(diff < 0 ? *n.high : *n.low, q, best);
	}

	template <class Visit> void box_rec(const Node &n, const P &lo, const P &hi, Visit &visit) const
	{
		if (!n.low) {
			for (std::size_t i = n.begin; i < n.end; ++i) {
				const P &p = pts_[idx_[i]];
				bool in = true;
				for (std::size_t d = 0; d < Dim && in; ++d)
					in = p[d] >= lo[d] && p[d] <= hi[d];
				if (in)
					visit(idx_[i]);
			}
			return;
		}
		if (lo[n.axis] <= n.split)
			box_rec(*n.low, lo, hi, visit);
		if (hi[n.axis] >= n.split)
			box_rec(*n.high, lo, hi, visit);
	}

	const std::vector<P> &pts_;
	std::vector<std::uint32_t> idx_;
	std::unique_ptr<Node> root_;
	std::size_t nodes_ = 0;
};

// Gaussian-ish blobs (sum of uniforms) plus background noise.
template <class P> std::vector<P> blobs(std::size_t n, XorShift &rng)
{
	using T = typename P::value_type;
	std::array<P, 10> centre;
	for (P &c : centre)
		for (T &v : c)
			v = rng.unit<T>() * 100;
	std::vector<P> out(n);
	for (P &p : out) {
		const P &c = centre[rng() % centre.size()];
		bool noise = rng() % 10 == 0;
		for (std::size_t d = 0; d < p.size(); ++d)
			p[d] = noise ? rng.unit<T>() * 100
			             : c[d] + (rng.unit<T>() + rng.unit<T>() + rng.unit<T>() - T(1.5)) * 8;
	}
	return out;
}

template <class P> std::pair<std::vector<P>, int> kmeans(const std::vector<P> &pts, std::size_t k, int rounds)
{
	std::vector<P> c(pts.begin(), pts.begin() + static_cast<std::ptrdiff_t>(k));
	std::vector<std::uint32_t> owner(pts.size(), 0);
	int used = 0;
	for (bool moved = true; moved && used < rounds; ++used) {
		moved = false;
		std::vector<P> sum(k, P{});
		std::vector<std::size_t> count(k, 0);
		KdTree<P, Euclid, 2> tree(c);
		for (std::size_t i = 0; i < pts.size(); ++i) {
			std::uint32_t o = tree.nearest(pts[i], 1)[0];
			moved |= o != owner[i];
			owner[i] = o;
			sum[o] += pts[i];
			++count[o];
		}
		for (std::size_t j = 0; j < k; ++j)
			if (count[j])
				c[j] = sum[j] * (typename P::value_type(1) /
				                 static_cast<typename P::value_type>(count[j]));
	}
	return { std::move(c), used };
}

template <class Metric, class P>
bool brute_agrees(const std::vector<P> &pts, const P &q, const std::vector<std::uint32_t> &got)
{
	std::vector<std::pair<typename P::value_type, std::uint32_t>> all;
	all.reserve(pts.size());
	for (std::uint32_t i = 0; i < pts.size(); ++i)
		all.emplace_back(Metric::distance(q, pts[i]), i);
	std::partial_sort(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(got.size()), all.end());
	return std::equal(got.begin(), got.end(), all.begin(),
	                  [](auto g, const auto &a) { return g == a.second; });
}

template <class P, class Metric>
std::uint64_t exercise(std::size_t n, std::size_t queries, XorShift &rng, int &bad)
{
	auto pts = blobs<P>(n, rng);
	KdTree<P, Metric> tree(pts);
	std::uint64_t h = tree.nodes();
	for (std::size_t i = 0; i < queries; ++i) {
		P q = pts[rng() % n] * typename P::value_type(0.999);
		auto nn = tree.nearest(q, 1 + i % 8);
		if (i % 400 == 0)
			bad += !brute_agrees<Metric>(pts, q, nn);
		for (auto j : nn)
			h = h * 1099511628211u ^ j;
		if (i % 4 == 0) {
			P lo = q, hi = q;
			for (std::size_t d = 0; d < q.size(); ++d)
				lo[d] -= 4, hi[d] += 4;
			std::size_t found = 0;
			tree.box(lo, hi, [&](std::uint32_t j) { found += 1 + j % 3; });
			h += found;
		}
	}
	return h;
}

int main()
{
	XorShift rng{ 0x853C49E6748FEA9Bull };
	int bad = 0;
	std::uint64_t h = exercise<Point<float, 2>, Euclid>(9000, 12000, rng, bad);
	h = h * 31 + exercise<Point<double, 3>, Manhattan>(8000, 5200, rng, bad);
	h = h * 31 + exercise<Point<float, 4>, Euclid>(5000, 2200, rng, bad);
	auto pts = blobs<Point<double, 2>>(3600, rng);
	auto [centres, rounds] = kmeans(pts, 14, 12);
	double s = 0;
	for (const auto &c : centres)
		s += c[0] + 2 * c[1];
	std::printf("kdtree bad=%d rounds=%d centres=%.6f sum=%016llx\n", bad, rounds, s,
	            static_cast<unsigned long long>(h));
	return bad != 0;
}
