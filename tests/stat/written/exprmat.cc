/* SPDX-License-Identifier: GPL-3.0-or-later */
// Expression templates, fixed-size matrices, and a bit of <algorithm>/<numeric> statistics.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <stdexcept>
#include <vector>

namespace et
{

template <class E> struct Expr {
	const E &self() const
	{
		return static_cast<const E &>(*this);
	}
	double operator[](std::size_t i) const
	{
		return self()[i];
	}
	std::size_t size() const
	{
		return self().size();
	}
};

class Vec : public Expr<Vec>
{
	std::vector<double> d_;

      public:
	explicit Vec(std::size_t n, double v = 0.0) : d_(n, v)
	{
	}
	template <class E> Vec(const Expr<E> &e) : d_(e.size())
	{
		assign(e);
	}
	template <class E> Vec &operator=(const Expr<E> &e)
	{
		assign(e);
		return *this;
	}
	double operator[](std::size_t i) const
	{
		return d_[i];
	}
	double &operator[](std::size_t i)
	{
		return d_[i];
	}
	std::size_t size() const
	{
		return d_.size();
	}
	auto begin()
	{
		return d_.begin();
	}
	auto end()
	{
		return d_.end();
	}
	auto begin() const
	{
		return d_.begin();
	}
	auto end() const
	{
		return d_.end();
	}

      private:
	template <class E> void assign(const Expr<E> &e)
	{
		for (std::size_t i = 0, n = e.size(); i != n; ++i)
			d_[i] = e[i];
	}
};

template <class E> struct Stored {
	using type = const E;
};
template <> struct Stored<Vec> {
	using type = const Vec &;
};

template <class L, class R, class Op> class Bin : public Expr<Bin<L, R, Op>>
{
	typename Stored<L>::type l_;
	typename Stored<R>::type r_;

      public:
	Bin(const L &l, const R &r) : l_(l), r_(r)
	{
	}
	double operator[](std::size_t i) const
	{
		return Op::apply(l_[i], r_[i]);
	}
	std::size_t size() const
	{
		return l_.size();
	}
};

template <class E> class Scaled : public Expr<Scaled<E>>
{
	typename Stored<E>::type e_;
	double k_;

      public:
	Scaled(const E &e, double k) : e_(e), k_(k)
	{
	}
	double operator[](std::size_t i) const
	{
		return e_[i] * k_;
	}
	std::size_t size() const
	{
		return e_.size();
	}
};

struct Add {
	static double apply(double a, double b)
	{
		return a + b;
	}
};
struct Sub {
	static double apply(double a, double b)
	{
		return a - b;
	}
};
struct Mul {
	static double apply(double a, double b)
	{
		return a * b;
	}
};

template <class L, class R> Bin<L, R, Add> operator+(const Expr<L> &l, const Expr<R> &r)
{
	return { l.self(), r.self() };
}
template <class L, class R> Bin<L, R, Sub> operator-(const Expr<L> &l, const Expr<R> &r)
{
	return { l.self(), r.self() };
}
template <class L, class R> Bin<L, R, Mul> operator*(const Expr<L> &l, const Expr<R> &r)
{
	return { l.self(), r.self() };
}
template <class E> Scaled<E> operator*(double k, const Expr<E> &e)
{
	return { e.self(), k };
}

template <class E> double sum(const Expr<E> &e)
{
	double s = 0;
	for (std::size_t i = 0, n = e.size(); i != n; ++i)
		s += e[i];
	return s;
}

} // namespace et

template <int R, int C> struct Matrix {
	std::array<double, R * C> a{};
	double &operator()(int r, int c)
	{
		return a[r * C + c];
	}
	double operator()(int r, int c) const
	{
		return a[r * C + c];
	}
	static Matrix identity()
	{
		Matrix m;
		for (int i = 0; i < std::min(R, C); ++i)
			m(i, i) = 1;
		return m;
	}
};

template <int R, int K, int C> Matrix<R, C> operator*(const Matrix<R, K> &x, const Matrix<K, C> &y)
{
	Matrix<R, C> o;
	for (int i = 0; i < R; ++i)
		for (int j = 0; j < C; ++j) {
			double s = 0;
			for (int k = 0; k < K; ++k)
				s += x(i, k) * y(k, j);
			o(i, j) = s;
		}
	return o;
}

template <int N> double determinant(Matrix<N, N> m)
{
	double det = 1;
	for (int c = 0; c < N; ++c) {
		int p = c;
		for (int r = c + 1; r < N; ++r)
			if (std::fabs(m(r, c)) > std::fabs(m(p, c)))
				p = r;
		if (m(p, c) == 0)
			return 0;
		if (p != c) {
			for (int k = 0; k < N; ++k)
				std::swap(m(p, k), m(c, k));
			det = -det;
		}
		det *= m(c, c);
		for (int r = c + 1; r < N; ++r) {
			double f = m(r, c) / m(c, c);
			for (int k = c; k < N; ++k)
				m(r, k) -= f * m(c, k);
		}
	}
	return det;
}

class Rng
{
	std::uint64_t s_;

      public:
	explicit Rng(std::uint64_t s) : s_(s)
	{
	}
	double operator()()
	{
		s_ = s_ * 6364136223846793005ULL + 1442695040888963407ULL;
		return static_cast<double>(s_ >> 33) / 2147483648.0 - 0.5;
	}
};

double conjugate_gradient(std::size_t n, int iters)
{
	using et::Vec;
	auto laplace = [n](const Vec &x, Vec &y) {
		for (std::size_t i = 0; i < n; ++i) {
			double l = i ? x[i - 1] : 0.0, r = i + 1 < n ? x[i + 1] : 0.0;
			y[i] = 2.05 * x[i] - l - r;
		}
	};
	Vec x(n), b(n), r(n), p(n), ap(n);
	for (std::size_t i = 0; i < n; ++i)
		b[i] = std::sin(0.01 * i) + (i % 7 == 0);
	r = b * Vec(n, 1.0);
	p = 1.0 * r;
	double rr = sum(r * r);
	for (int k = 0; k < iters && rr > 1e-24; ++k) {
		laplace(p, ap);
		double alpha = rr / sum(p * ap);
		x = x + alpha * p;
		r = r - alpha * ap;
		double nr = sum(r * r);
		p = r + (nr / rr) * p;
		rr = nr;
	}
	return sum(x * b);
}

template <class F> double simpson(F f, double a, double b, int n)
{
	std::vector<double> xs(n + 1);
	std::iota(xs.begin(), xs.end(), 0.0);
	double h = (b - a) / n;
	std::transform(xs.begin(), xs.end(), xs.begin(), [=](double i) {
		return f(a + i * h) * (i == 0 || i == n ? 1 : static_cast<int>(i) % 2 ? 4 : 2);
	});
	return std::accumulate(xs.begin(), xs.end(), 0.0) * h / 3;
}

struct Summary {
	double mean, var, median, p90;
};

Summary summarize(std::vector<double> v)
{
	const auto n = static_cast<double>(v.size());
	double mean = std::accumulate(v.begin(), v.end(), 0.0) / n;
	double var = std::accumulate(v.begin(), v.end(), 0.0,
	                             [mean](double acc, double x) { return acc + (x - mean) * (x - mean); }) /
	             n;
	std::sort(v.begin(), v.end(), [](double a, double b) { return a < b; });
	return { mean, var, v[v.size() / 2], v[v.size() * 9 / 10] };
}

double matrix_walk(int steps)
{
	Rng rng(42);
	auto m = Matrix<6, 6>::identity();
	double acc = 0;
	for (int s = 0; s < steps; ++s) {
		Matrix<6, 6> t;
		for (auto &e : t.a)
			e = rng();
		for (int i = 0; i < 6; ++i)
			t(i, i) += 1.0;
		m = m * t;
		double norm = std::sqrt(std::inner_product(m.a.begin(), m.a.end(), m.a.begin(), 0.0));
		for (auto &e : m.a)
			e /= norm;
		acc += determinant(t);
		Matrix<6, 2> v;
		std::fill(v.a.begin(), v.a.end(), 0.25);
		acc += (t * v)(s % 6, s % 2);
	}
	return acc + m(1, 2);
}

int main()
{
	double cg = conjugate_gradient(3000, 300);
	double mw = matrix_walk(20000);
	double in = simpson([](double x) { return x * x / (1 + x * x * x); }, 0.0, 3.0, 200000) +
	            simpson([](double x) { return std::exp(-x * x) * std::cos(3 * x); }, -2.0, 2.0, 60000);
	Rng rng(7);
	double st = 0;
	for (int i = 0; i < 25; ++i) {
		std::vector<double> v(5000);
		std::generate(v.begin(), v.end(), [&] { return rng() * rng() + 0.1 * i; });
		auto s = summarize(std::move(v));
		st += s.mean + s.var + s.median + s.p90;
	}
	std::printf("checksum %.6f %.6f %.8f %.8f\n", cg, mw, in, st);
	return 0;
}
