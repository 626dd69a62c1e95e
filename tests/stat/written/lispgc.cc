/* SPDX-License-Identifier: GPL-3.0-or-later */
// A tiny Lisp: reader, environment-chain evaluator, mark-sweep collector over a typed heap.
#include <cctype>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace lisp
{

enum class Tag : std::uint8_t { Free, Nil, Int, Symbol, Pair, Builtin, Lambda, Frame };

struct Cell;
using Ref = Cell *;
class Machine;
using Primitive = Ref (*)(Machine &, Ref args);

struct Cell {
	Tag tag = Tag::Free;
	bool marked = false;
	union {
		long num;
		struct {
			Ref car, cdr;
		}; // Pair; Free uses cdr as link
		struct {
			const std::string *name;
			Ref global;
		};
		Primitive fn;
		struct {
			Ref code, env;
		}; // Lambda: (params body...) + env
		struct {
			Ref binds, up;
		}; // Frame: alist + parent
	};
	Cell() : car(nullptr), cdr(nullptr)
	{
	}
};

class Heap
{
      public:
	explicit Heap(std::size_t cells) : pool_(cells)
	{
		sweep();
	}

	Ref take(Tag t)
	{
		Ref c = free_;
		free_ = c->cdr;
		--avail_;
		++allocated;
		c->tag = t;
		return c;
	}
	bool low() const
	{
		return avail_ < 64;
	}
	std::size_t avail() const
	{
		return avail_;
	}

	void mark(Ref root)
	{
		work_.push_back(root);
		while (!work_.empty()) {
			Ref c = work_.back();
			work_.pop_back();
			if (!c || c->marked)
				continue;
			c->marked = true;
			switch (c->tag) {
			case Tag::Pair:
			case Tag::Lambda:
			case Tag::Frame:
				work_.push_back(c->car);
				work_.push_back(c->cdr);
				break;
			case Tag::Symbol:
				work_.push_back(c->global);
				break;
			default:
				break;
			}
		}
	}

	void sweep()
	{
		free_ = nullptr;
		avail_ = 0;
		for (auto it = pool_.rbegin(); it != pool_.rend(); ++it) {
			if (it->marked) {
				it->marked = false;
				continue;
			}
			it->tag = Tag::Free;
			it->cdr = free_;
			free_ = &*it;
			++avail_;
		}
		++collections;
	}

	std::uint64_t allocated = 0, collections = 0;

      private:
	std::vector<Cell> pool_;
	std::vector<Ref> work_;
	Ref free_ = nullptr;
	std::size_t avail_ = 0;
};

// Keeps a local reference alive across an allocation.
class Root
{
      public:
	Root(std::vector<Ref> &stack, Ref r) : stack_(stack), at_(stack.size())
	{
		stack.push_back(r);
	}
	~Root()
	{
		stack_.resize(at_);
	}
	Root(const Root &) = delete;
	Root &operator=(const Root &) = delete;
	Root &operator=(Ref r)
	{
		stack_[at_] = r;
		return *this;
	}
	operator Ref() const
	{
		return stack_[at_];
	}
	Ref operator->() const
	{
		return stack_[at_];
	}

      private:
	std::vector<Ref> &stack_;
	std::size_t at_;
};

class Machine
{
      public:
	explicit Machine(std::size_t cells);

	Ref nil, t;
	std::vector<Ref> roots;
	Heap heap;

	Ref alloc(Tag tag)
	{
		if (heap.low())
			collect();
		return heap.take(tag);
	}
	Ref integer(long v)
	{
		Ref c = alloc(Tag::Int);
		c->num = v;
		return c;
	}
	Ref cons(Ref a, Ref d)
	{
		Root ra(roots, a), rd(roots, d);
		Ref c = alloc(Tag::Pair);
		c->car = a;
		c->cdr = d;
		return c;
	}
	Ref intern(std::string_view s)
	{
		auto [it, fresh] = symbols_.try_emplace(std::string(s), nullptr);
		if (fresh) {
			it->second = alloc(Tag::Symbol);
			it->second->name = &it->first;
			it->second->global = nullptr;
		}
		return it->second;
	}
	void collect()
	{
		for (auto &s : symbols_)
			heap.mark(s.second);
		for (Ref r : roots)
			heap.mark(r);
		heap.mark(nil);
		heap.sweep();
		if (heap.low())
			throw std::runtime_error("heap exhausted");
	}

	Ref eval(Ref x, Ref env);
	Ref apply(Ref f, Ref args);
	Ref run(std::string_view src);
	Ref truth(bool b)
	{
		return b ? t : nil;
	}

      private:
	Ref read(std::string_view &s);
	Ref eval_list(Ref xs, Ref env);
	Ref lookup(Ref sym, Ref env) const;
	Ref bind(Ref lambda, Ref args);
	void define(const char *name, Primitive p);

	std::unordered_map<std::string, Ref> symbols_;
	Ref s_quote, s_if, s_lambda, s_define, s_let;
};

static void skip_space(std::string_view &s)
{
	while (!s.empty() && std::isspace(static_cast<unsigned char>(s.front())))
		s.remove_prefix(1);
}

Ref Machine::read(std::string_view &s)
{
	skip_space(s);
	if (s.empty())
		throw std::runtime_error("unexpected end");
	if (s.front() == '\'') {
		s.remove_prefix(1);
		Root q(roots, cons(read(s), nil));
		return cons(s_quote, q);
	}
	if (s.front() == '(') {
		s.remove_prefix(1);
		Root head(roots, nil), tail(roots, nil);
		for (skip_space(s); s.front() != ')'; skip_space(s)) {
			Ref c = cons(read(s), nil);
			if (static_cast<Ref>(head) == nil)
				head = c;
			else
				tail->cdr = c;
			tail = c;
		}
		s.remove_prefix(1);
		return head;
	}
	std::size_t n = 0;
	while (n < s.size() && !std::isspace(static_cast<unsigned char>(s[n])) && s[n] != '(' && s[n] != ')')
		++n;
	std::string tok(s.substr(0, n));
	s.remove_prefix(n);
	if (std::isdigit(static_cast<unsigned char>(tok[0])) || (tok[0] == '-' && n > 1))
		return integer(std::stol(tok));
	return tok == "nil" ? nil : intern(tok);
}

Ref Machine::lookup(Ref sym, Ref env) const
{
	for (; env != nil; env = env->up)
		for (Ref b = env->binds; b != nil; b = b->cdr)
			if (b->car->car == sym)
				return b->car->cdr;
	if (!sym->global)
		throw std::runtime_error("unbound: " + *sym->name);
	return sym->global;
}

Ref Machine::eval_list(Ref xs, Ref env)
{
	if (xs == nil)
		return nil;
	Root head(roots, eval(xs->car, env));
	Ref rest = eval_list(xs->cdr, env);
	return cons(head, rest);
}

Ref Machine::bind(Ref lambda, Ref args)
{
	Root binds(roots, nil);
	for (Ref p = lambda->code->car; p != nil; p = p->cdr, args = args->cdr) {
		if (args == nil)
			throw std::runtime_error("too few arguments");
		binds = cons(cons(p->car, args->car), binds);
	}
	Ref f = alloc(Tag::Frame);
	f->binds = binds;
	f->up = lambda->env;
	return f;
}

Ref Machine::apply(Ref f, Ref args)
{
	Root rf(roots, f), ra(roots, args);
	if (f->tag == Tag::Builtin)
		return f->fn(*this, args);
	Root env(roots, bind(f, args));
	Ref out = nil;
	for (Ref b = f->code->cdr; b != nil; b = b->cdr)
		out = eval(b->car, env);
	return out;
}

Ref Machine::eval(Ref x0, Ref env0)
{
	Root x(roots, x0), env(roots, env0);
	for (;;) {
		if (x->tag == Tag::Symbol)
			return lookup(x, env);
		if (x->tag != Tag::Pair)
			return x;
		Ref op = x->car, rest = x->cdr;
		if (op == s_quote)
			return rest->car;
		if (op == s_if) {
			x = eval(rest->car, env) != nil ? rest->cdr->car
			                                : (rest->cdr->cdr == nil ? nil : rest->cdr->cdr->car);
			continue;
		}
		if (op == s_lambda) {
			Ref l = alloc(Tag::Lambda);
			l->code = rest;
			l->env = env;
			return l;
		}
		if (op == s_define) {
			Ref v = eval(rest->cdr->car, env);
			return rest->car->global = v;
		}
		if (op == s_let) { // (let name value body)
			Root v(roots, eval(rest->cdr->car, env));
			Root b(roots, cons(cons(rest->car, v), nil));
			Ref f = alloc(Tag::Frame);
			f->binds = b;
			f->up = env;
			env = f;
			x = rest->cdr->cdr->car;
			continue;
		}
		Root fn(roots, eval(op, env));
		Root args(roots, eval_list(rest, env));
		if (fn->tag != Tag::Lambda || fn->code->cdr->cdr != nil)
			return apply(fn, args);
		env = bind(fn, args); // single-expression body: tail call
		x = fn->code->cdr->car;
	}
}

static long num(Ref r)
{
	if (r->tag != Tag::Int)
		throw std::runtime_error("not a number");
	return r->num;
}

template <class Op> static Ref fold(Machine &m, Ref a)
{
	long v = num(a->car);
	for (a = a->cdr; a != m.nil; a = a->cdr)
		v = Op()(v, num(a->car));
	return m.integer(v);
}

struct Quot {
	long operator()(long a, long b) const
	{
		return b ? a / b : 0;
	}
};
struct Rem {
	long operator()(long a, long b) const
	{
		return b ? a % b : 0;
	}
};

void Machine::define(const char *name, Primitive p)
{
	Ref c = alloc(Tag::Builtin);
	c->fn = p;
	intern(name)->global = c;
}

Machine::Machine(std::size_t cells) : heap(cells)
{
	nil = heap.take(Tag::Nil);
	t = intern("t");
	t->global = t;
	s_quote = intern("quote"), s_if = intern("if"), s_lambda = intern("lambda");
	s_define = intern("define"), s_let = intern("let");
	define("+", fold<std::plus<long>>);
	define("-", fold<std::minus<long>>);
	define("*", fold<std::multiplies<long>>);
	define("/", fold<Quot>);
	define("mod", fold<Rem>);
	define("<", [](Machine &m, Ref a) { return m.truth(num(a->car) < num(a->cdr->car)); });
	define("=", [](Machine &m, Ref a) { return m.truth(num(a->car) == num(a->cdr->car)); });
	define("null", [](Machine &m, Ref a) { return m.truth(a->car == m.nil); });
	define("car", [](Machine &, Ref a) { return a->car->car; });
	define("cdr", [](Machine &, Ref a) { return a->car->cdr; });
	define("cons", [](Machine &m, Ref a) { return m.cons(a->car, a->cdr->car); });
	define("list", [](Machine &, Ref a) { return a; });
}

Ref Machine::run(std::string_view src)
{
	Ref last = nil;
	for (skip_space(src); !src.empty(); skip_space(src)) {
		Root form(roots, read(src));
		last = eval(form, nil);
	}
	return last;
}

static std::uint64_t hash(const Machine &m, Ref r, std::uint64_t h)
{
	for (; r->tag == Tag::Pair; r = r->cdr)
		h = hash(m, r->car, h * 31 + 1);
	return r->tag == Tag::Int ? (h ^ static_cast<std::uint64_t>(r->num)) * 1099511628211u : h * 131 + 7;
}

} // namespace lisp

static const char prelude[] = R"(
(define map (lambda (f l) (if (null l) nil (cons (f (car l)) (map f (cdr l))))))
(define filter (lambda (p l) (if (null l) nil
    (if (p (car l)) (cons (car l) (filter p (cdr l))) (filter p (cdr l))))))
(define foldl (lambda (f a l) (if (null l) a (foldl f (f a (car l)) (cdr l)))))
(define append (lambda (a b) (if (null a) b (cons (car a) (append (cdr a) b)))))
(define iota (lambda (n acc) (if (= n 0) acc (iota (- n 1) (cons n acc)))))
(define length (lambda (l) (foldl (lambda (a x) (+ a 1)) 0 l)))
(define rand (lambda (s n acc) (if (= n 0) acc
    (let next (mod (+ (* s 1103515245) 12345) 2147483648) (rand next (- n 1) (cons (mod (/ next 7) 1000) acc))))))
(define qsort (lambda (l) (if (null l) nil (let p (car l)
    (append (qsort (filter (lambda (x) (< x p)) (cdr l)))
            (cons p (qsort (filter (lambda (x) (if (< x p) nil t)) (cdr l)))))))))
(define tree-add (lambda (tr k) (if (null tr) (list k nil nil)
    (if (< k (car tr)) (list (car tr) (tree-add (car (cdr tr)) k) (car (cdr (cdr tr))))
        (list (car tr) (car (cdr tr)) (tree-add (car (cdr (cdr tr))) k))))))
(define walk (lambda (tr acc) (if (null tr) acc
    (walk (car (cdr tr)) (cons (car tr) (walk (car (cdr (cdr tr))) acc))))))
(define safe (lambda (q d l) (if (null l) t (if (= (car l) q) nil
    (if (= (car l) (+ q d)) nil (if (= (car l) (- q d)) nil (safe q (+ d 1) (cdr l))))))))
(define primes (lambda (l) (if (null l) nil
    (cons (car l) (primes (filter (lambda (x) (if (= 0 (mod x (car l))) nil t)) (cdr l)))))))
(define compose (lambda (f g) (lambda (x) (f (g x)))))
)";

static const char *const programs[] = {
	"(qsort (rand 42 170 nil))",
	"(walk (foldl tree-add nil (rand 7 130 nil)) nil)",
	"(primes (cdr (iota 260 nil)))",
	"(foldl + 0 (map (compose (lambda (x) (* x x)) (lambda (x) (- x 3))) (iota 300 nil)))",
	"(length (filter (lambda (q) (safe q 1 (iota 8 nil))) (rand 99 200 nil)))",
};

int main()
{
	lisp::Machine m(9000);
	std::uint64_t sum = 1469598103934665603u;
	try {
		m.run(prelude);
		for (int round = 0; round < 3; ++round)
			for (const char *p : programs)
				sum = lisp::hash(m, m.run(p), sum);
	} catch (const std::exception &e) {
		std::printf("lispgc: %s\n", e.what());
		return 1;
	}
	std::printf("lispgc cells=%llu collections=%llu sum=%016llx\n",
	            static_cast<unsigned long long>(m.heap.allocated),
	            static_cast<unsigned long long>(m.heap.collections),
	            static_cast<unsigned long long>(sum));
}
