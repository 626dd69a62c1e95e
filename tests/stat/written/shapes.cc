/* SPDX-License-Identifier: GPL-3.0-or-later */
// Shape zoo: virtual dispatch, a scene that owns shapes, and exceptions for bad shapes.
#include <cmath>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#ifndef FRAMES
#define FRAMES 300
#endif
#ifndef NSHAPES
#define NSHAPES 2000
#endif

struct Point {
	double x, y;
};
inline Point operator+(Point a, Point b)
{
	return { a.x + b.x, a.y + b.y };
}
inline Point operator-(Point a, Point b)
{
	return { a.x - b.x, a.y - b.y };
}
inline Point operator*(Point a, double k)
{
	return { a.x * k, a.y * k };
}
inline double cross(Point a, Point b)
{
	return a.x * b.y - a.y * b.x;
}
inline double length(Point a)
{
	return std::sqrt(a.x * a.x + a.y * a.y);
}

struct degenerate_shape : std::runtime_error {
	degenerate_shape(const char *kind, int id)
	    : std::runtime_error(std::string("degenerate ") + kind), id(id)
	{
	}
	int id;
};

class Shape
{
      public:
	explicit Shape(int id) : id_(id)
	{
	}
	virtual ~Shape() = default;
	virtual double area() const = 0;
	virtual double perimeter() const = 0;
	virtual void move(Point d) = 0;
	virtual void scale(double k) = 0;
	virtual bool contains(Point p) const = 0;
	virtual const char *name() const
	{
		return "shape";
	}
	int id() const
	{
		return id_;
	}

      protected:
	int id_;
};

class Circle : public Shape
{
      public:
	Circle(int id, Point c, double r) : Shape(id), c_(c), r_(r)
	{
	}
	double area() const override
	{
		if (r_ < 0.05)
			throw degenerate_shape("circle", id_);
		return M_PI * r_ * r_;
	}
	double perimeter() const override
	{
		return 2 * M_PI * r_;
	}
	void move(Point d) override
	{
		c_ = c_ + d;
	}
	void scale(double k) override
	{
		r_ *= k;
	}
	bool contains(Point p) const override
	{
		return length(p - c_) <= r_;
	}
	const char *name() const override
	{
		return "circle";
	}

      private:
	Point c_;
	double r_;
};

class Rect : public Shape
{
      public:
	Rect(int id, Point lo, Point hi) : Shape(id), lo_(lo), hi_(hi)
	{
	}
	double area() const override
	{
		double w = hi_.x - lo_.x, h = hi_.y - lo_.y;
		if (w * h < 0.02)
			throw degenerate_shape("rect", id_);
		return w * h;
	}
	double perimeter() const override
	{
		return 2 * (hi_.x - lo_.x + hi_.y - lo_.y);
	}
	void move(Point d) override
	{
		lo_ = lo_ + d;
		hi_ = hi_ + d;
	}
	void scale(double k) override
	{
		Point mid = (lo_ + hi_) * 0.5, half = (hi_ - lo_) * (0.5 * k);
		lo_ = mid - half;
		hi_ = mid + half;
	}
	bool contains(Point p) const override
	{
		return p.x >= lo_.x && p.x <= hi_.x && p.y >= lo_.y && p.y <= hi_.y;
	}
	const char *name() const override
	{
		return "rect";
	}

      protected:
	Point lo_, hi_;
};

class RoundedRect final : public Rect
{
      public:
	RoundedRect(int id, Point lo, Point hi, double r) : Rect(id, lo, hi), r_(r)
	{
	}
	double area() const override
	{
		return Rect::area() - (4 - M_PI) * r_ * r_;
	}
	double perimeter() const override
	{
		return Rect::perimeter() - (8 - 2 * M_PI) * r_;
	}
	void scale(double k) override
	{
		Rect::scale(k);
		r_ *= k;
	}
	const char *name() const override
	{
		return "rounded";
	}

      private:
	double r_;
};

class Polygon : public Shape
{
      public:
	Polygon(int id, std::vector<Point> pts) : Shape(id), pts_(std::move(pts))
	{
	}
	double area() const override
	{
		double s = 0;
		for (size_t i = 0, j = pts_.size() - 1; i < pts_.size(); j = i++)
			s += cross(pts_[j], pts_[i]);
		s = std::fabs(s) / 2;
		if (s < 0.01)
			throw degenerate_shape("polygon", id_);
		return s;
	}
	double perimeter() const override
	{
		double s = 0;
		for (size_t i = 0, j = pts_.size() - 1; i < pts_.size(); j = i++)
			s += length(pts_[i] - pts_[j]);
		return s;
	}
	void move(Point d) override
	{
		for (Point &p : pts_)
			p = p + d;
	}
	void scale(double k) override
	{
		Point c = centroid();
		for (Point &p : pts_)
			p = c + (p - c) * k;
	}
	bool contains(Point q) const override
	{
		bool in = false;
		for (size_t i = 0, j = pts_.size() - 1; i < pts_.size(); j = i++) {
			const Point &a = pts_[i], &b = pts_[j];
			if ((a.y > q.y) != (b.y > q.y) && q.x < (b.x - a.x) * (q.y - a.y) / (b.y - a.y) + a.x)
				in = !in;
		}
		return in;
	}
	const char *name() const override
	{
		return "polygon";
	}

      private:
	Point centroid() const
	{
		Point c{ 0, 0 };
		for (const Point &p : pts_)
			c = c + p;
		return c * (1.0 / pts_.size());
	}
	std::vector<Point> pts_;
};

struct Lcg {
	unsigned s;
	double operator()()
	{
		s = s * 1664525u + 1013904223u;
		return (s >> 8) / 16777216.0;
	}
};

std::unique_ptr<Shape> make_shape(int id, Lcg &r)
{
	Point p{ r() * 20, r() * 20 };
	double a = 0.3 + r() * 2, b = 0.3 + r() * 2;
	switch (id % 5) {
	case 0:
		return std::make_unique<Circle>(id, p, a);
	case 1:
		return std::make_unique<Rect>(id, p, p + Point{ a, b });
	case 2:
		return std::make_unique<RoundedRect>(id, p, p + Point{ a, b }, 0.1 * a);
	default: {
		int n = 3 + static_cast<int>(r() * 5);
		std::vector<Point> v;
		for (int i = 0; i < n; i++) {
			double t = 2 * M_PI * i / n, q = a * (0.7 + 0.3 * r());
			v.push_back(p + Point{ std::cos(t) * q, std::sin(t) * q });
		}
		return std::make_unique<Polygon>(id, std::move(v));
	}
	}
}

class Scene
{
      public:
	explicit Scene(int n) : rng_{ 42 }
	{
		for (int i = 0; i < n; i++)
			shapes_.push_back(make_shape(i, rng_));
	}
	double step(int frame)
	{
		animate(frame);
		double t = measure();
		hits_ += pick({ rng_() * 20, rng_() * 20 });
		return t;
	}
	long hits() const
	{
		return hits_;
	}
	long rebuilt() const
	{
		return rebuilt_;
	}

      private:
	void animate(int frame)
	{
		double k = 0.92 + 0.1 * rng_();
		for (size_t i = 0; i < shapes_.size(); i++) {
			if ((i + frame) % 3 == 0)
				shapes_[i]->scale(k);
			else
				shapes_[i]->move({ k - 1, 1 - k });
		}
	}
	double ratio(const Shape &s) const
	{
		return s.perimeter() / s.area();
	}
	double measure()
	{
		double t = 0;
		for (auto &s : shapes_) {
			try {
				t += ratio(*s);
			} catch (const degenerate_shape &e) {
				rebuilt_++;
				s = make_shape(e.id, rng_);
			}
		}
		return t;
	}
	int pick(Point p) const
	{
		int n = 0;
		for (const auto &s : shapes_)
			if (s->contains(p))
				n += s->name()[0];
		return n;
	}
	std::vector<std::unique_ptr<Shape>> shapes_;
	Lcg rng_;
	long hits_ = 0, rebuilt_ = 0;
};

int main()
{
	Scene scene(NSHAPES);
	double sum = 0;
	for (int f = 0; f < FRAMES; f++)
		sum += scene.step(f);
	std::printf("checksum %.4f hits %ld rebuilt %ld\n", sum, scene.hits(), scene.rebuilt());
}
