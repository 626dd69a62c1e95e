/* SPDX-License-Identifier: GPL-3.0-or-later */
// A limit-order-book exchange with a handful of trading agents (virtual dispatch, std::map books).
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace
{

class Random
{
      public:
	explicit Random(std::uint64_t seed) : s_(seed)
	{
	}
	std::uint64_t next()
	{
		s_ ^= s_ << 13;
		s_ ^= s_ >> 7;
		s_ ^= s_ << 17;
		return s_;
	}
	int below(int n)
	{
		return static_cast<int>((next() >> 32) * static_cast<std::uint64_t>(n) >> 32);
	}
	bool chance(int percent)
	{
		return below(100) < percent;
	}

      private:
	std::uint64_t s_;
};

enum class Side { Buy, Sell };

struct Order {
	std::uint64_t id;
	int agent;
	Side side;
	int price;
	int qty;
};

struct Trade {
	std::uint64_t maker, taker;
	int price, qty, buyer, seller;
};

class Book
{
      public:
	using Level = std::list<Order>;

	explicit Book(std::string symbol) : symbol_(std::move(symbol))
	{
	}

	const std::string &symbol() const
	{
		return symbol_;
	}
	int best_bid() const
	{
		return bids_.empty() ? 0 : bids_.begin()->first;
	}
	int best_ask() const
	{
		return asks_.empty() ? 0 : asks_.begin()->first;
	}
	int last() const
	{
		return last_;
	}
	std::size_t resting() const
	{
		return where_.size();
	}

	void submit(Order o, std::vector<Trade> &out)
	{
		if (o.side == Side::Buy)
			match(o, asks_, out, [&](int p) { return p <= o.price; });
		else
			match(o, bids_, out, [&](int p) { return p >= o.price; });
		if (o.qty > 0)
			rest(o);
	}

	bool cancel(std::uint64_t id)
	{
		auto it = where_.find(id);
		if (it == where_.end())
			return false;
		auto node = it->second;
		where_.erase(it);
		if (node->side == Side::Buy)
			drop(bids_, node);
		else
			drop(asks_, node);
		return true;
	}

	int depth(Side s, int levels) const
	{
		return s == Side::Buy ? sum_levels(bids_, levels) : sum_levels(asks_, levels);
	}

      private:
	template <class M, class Ok> void match(Order &o, M &book, std::vector<Trade> &out, Ok ok)
	{
		while (o.qty > 0 && !book.empty() && ok(book.begin()->first)) {
			Level &lv = book.begin()->second;
			while (o.qty > 0 && !lv.empty()) {
				Order &m = lv.front();
				int q = std::min(m.qty, o.qty);
				bool buy = o.side == Side::Buy;
				out.push_back({ m.id, o.id, m.price, q, buy ? o.agent : m.agent,
				                buy ? m.agent : o.agent });
				last_ = m.price;
				m.qty -= q;
				o.qty -= q;
				if (m.qty == 0) {
					where_.erase(m.id);
					lv.pop_front();
				}
			}
			if (lv.empty())
				book.erase(book.begin());
		}
	}

	template <class M> void drop(M &book, Level::iterator node)
	{
		auto lv = book.find(node->price);
		lv->second.erase(node);
		if (lv->second.empty())
			book.erase(lv);
	}

	template <class M> static int sum_levels(const M &book, int levels)
	{
		int total = 0;
		for (const auto &[price, lv] : book) {
			if (levels-- == 0)
				break;
			for (const Order &o : lv)
				total += o.qty;
		}
		return total;
	}

	void rest(const Order &o)
	{
		Level &lv = o.side == Side::Buy ? bids_[o.price] : asks_[o.price];
		where_[o.id] = lv.insert(lv.end(), o);
	}

	std::string symbol_;
	std::map<int, Level, std::greater<int>> bids_;
	std::map<int, Level> asks_;
	std::unordered_map<std::uint64_t, Level::iterator> where_;
	int last_ = 10000;
};

struct Account {
	long cash = 0;
	std::map<std::string, int> position;
};

class Market;

class Agent
{
      public:
	Agent(int id, std::uint64_t seed) : id_(id), rnd(seed)
	{
	}
	virtual ~Agent() = default;
	virtual void act(Market &m) = 0;
	virtual void on_trade(const Book &, const Trade &)
	{
	}
	virtual const char *kind() const = 0;
	int id() const
	{
		return id_;
	}

      protected:
	int id_;
	Random rnd;
};

class Market
{
      public:
	void add_book(const std::string &symbol)
	{
		books_.emplace(symbol, Book(symbol)), names_.push_back(symbol);
	}
	template <class A> void add_agent(std::uint64_t seed)
	{
		agents_.push_back(std::make_unique<A>(static_cast<int>(agents_.size()), seed));
		accounts_.emplace_back();
	}
	Book &book(const std::string &symbol)
	{
		return books_.at(symbol);
	}
	const std::string &pick(Random &r) const
	{
		return names_[static_cast<std::size_t>(r.below(static_cast<int>(names_.size())))];
	}

	std::uint64_t send(const Agent &a, const std::string &symbol, Side side, int price, int qty)
	{
		trades_.clear();
		Book &b = book(symbol);
		b.submit({ ++next_id_, a.id(), side, price, qty }, trades_);
		for (const Trade &t : trades_)
			settle(b, t);
		return next_id_;
	}

	void step()
	{
		for (auto &a : agents_)
			a->act(*this);
	}

	std::uint64_t digest() const
	{
		std::uint64_t h = hash_;
		for (const Account &a : accounts_) {
			h = h * 1099511628211u ^ static_cast<std::uint64_t>(a.cash);
			for (const auto &[sym, n] : a.position)
				h = h * 1099511628211u ^ static_cast<std::uint64_t>(n) ^ sym.size();
		}
		return h;
	}
	long volume() const
	{
		return volume_;
	}
	bool balanced() const
	{
		long cash = 0, pos = 0;
		for (const Account &a : accounts_) {
			cash += a.cash;
			for (const auto &p : a.position)
				pos += p.second;
		}
		return cash == 0 && pos == 0;
	}
	std::size_t resting() const
	{
		std::size_t n = 0;
		for (const auto &b : books_)
			n += b.second.resting();
		return n;
	}
	std::size_t agents() const
	{
		return agents_.size();
	}

      private:
	void settle(const Book &b, const Trade &t)
	{
		Account &buyer = accounts_[static_cast<std::size_t>(t.buyer)],
		        &seller = accounts_[static_cast<std::size_t>(t.seller)];
		buyer.cash -= long{ t.price } * t.qty;
		seller.cash += long{ t.price } * t.qty;
		buyer.position[b.symbol()] += t.qty;
		seller.position[b.symbol()] -= t.qty;
		volume_ += t.qty;
		hash_ = (hash_ ^ (t.maker * 31 + t.taker)) * 1099511628211u +
		        static_cast<std::uint64_t>(t.price);
		agents_[static_cast<std::size_t>(t.buyer)]->on_trade(b, t);
		agents_[static_cast<std::size_t>(t.seller)]->on_trade(b, t);
	}

	std::unordered_map<std::string, Book> books_;
	std::vector<std::string> names_;
	std::vector<std::unique_ptr<Agent>> agents_;
	std::vector<Account> accounts_;
	std::vector<Trade> trades_;
	std::uint64_t next_id_ = 0, hash_ = 1469598103934665603u;
	long volume_ = 0;
};

// Places limit orders around the last price and cancels some old ones.
class NoiseTrader : public Agent
{
      public:
	using Agent::Agent;
	void act(Market &m) override
	{
		const std::string &sym = m.pick(rnd);
		int mid = m.book(sym).last();
		Side side = rnd.chance(50) ? Side::Buy : Side::Sell;
		int off = rnd.below(40) - 8;
		open_.emplace_back(sym, m.send(*this, sym, side, side == Side::Buy ? mid - off : mid + off,
		                               1 + rnd.below(20)));
		if (open_.size() > 40) {
			m.book(open_.front().first).cancel(open_.front().second);
			open_.pop_front();
		}
	}
	const char *kind() const override
	{
		return "noise";
	}

      private:
	std::deque<std::pair<std::string, std::uint64_t>> open_;
};

// Quotes both sides, skewed by inventory.
class MarketMaker : public Agent
{
      public:
	using Agent::Agent;
	void act(Market &m) override
	{
		const std::string &sym = m.pick(rnd);
		Book &b = m.book(sym);
		for (std::uint64_t id : quotes_[sym])
			b.cancel(id);
		int bid = b.best_bid(), ask = b.best_ask();
		int mid = bid && ask ? (bid + ask) / 2 : b.last();
		int skew = std::clamp(inventory_[sym] / 50, -6, 6);
		auto &q = quotes_[sym];
		q.clear();
		for (int lvl = 1; lvl <= 3; ++lvl) {
			q.push_back(m.send(*this, sym, Side::Buy, mid - 2 * lvl - skew, 10 * lvl));
			q.push_back(m.send(*this, sym, Side::Sell, mid + 2 * lvl - skew, 10 * lvl));
		}
	}
	void on_trade(const Book &b, const Trade &t) override
	{
		inventory_[b.symbol()] += t.buyer == id_ ? t.qty : -t.qty;
	}
	const char *kind() const override
	{
		return "maker";
	}

      private:
	std::unordered_map<std::string, std::vector<std::uint64_t>> quotes_;
	std::unordered_map<std::string, int> inventory_;
};

// Follows an exponentially weighted trend and takes liquidity.
class TrendFollower : public Agent
{
      public:
	using Agent::Agent;
	void act(Market &m) override
	{
		const std::string &sym = m.pick(rnd);
		Book &b = m.book(sym);
		auto [it, fresh] = avg_.try_emplace(sym, b.last(), b.last());
		auto &[fast, slow] = it->second;
		fast += 0.2 * (b.last() - fast);
		slow += 0.02 * (b.last() - slow);
		double gap = fast - slow;
		if (fresh || std::fabs(gap) < 1.0)
			return;
		Side side = gap > 0 ? Side::Buy : Side::Sell;
		int avail = b.depth(side == Side::Buy ? Side::Sell : Side::Buy, 2);
		if (avail > 10)
			m.send(*this, sym, side, side == Side::Buy ? b.best_ask() : b.best_bid(),
			       1 + avail / 8);
	}
	const char *kind() const override
	{
		return "trend";
	}

      private:
	std::map<std::string, std::pair<double, double>> avg_;
};

} // namespace

int main()
{
	Market m;
	for (const char *s : { "ACME", "GLOBEX", "INITECH", "UMBRELLA-CLASS-A-COMMON" })
		m.add_book(s);
	std::uint64_t seed = 0x9E3779B97F4A7C15u;
	for (int i = 0; i < 12; ++i)
		m.add_agent<NoiseTrader>(seed += 0x2545F4914F6CDD1Du);
	for (int i = 0; i < 3; ++i)
		m.add_agent<MarketMaker>(seed += 0x2545F4914F6CDD1Du);
	for (int i = 0; i < 5; ++i)
		m.add_agent<TrendFollower>(seed += 0x2545F4914F6CDD1Du);
	for (int t = 0; t < 5000; ++t)
		m.step();
	std::printf("exchange agents=%zu volume=%ld resting=%zu balanced=%d sum=%016llx\n", m.agents(),
	            m.volume(), m.resting(), m.balanced(), static_cast<unsigned long long>(m.digest()));
	return !m.balanced();
}
