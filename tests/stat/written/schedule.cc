/* SPDX-License-Identifier: GPL-3.0-or-later */
// Scheduling workbench: weighted intervals by DP, dispatch rules as std::function, list scheduling of DAGs.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <queue>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

using std::size_t;
using std::vector;

namespace
{

std::uint64_t g_state = 0xBF58476D1CE4E5B9ull;

int roll(int lo, int hi)
{
	g_state ^= g_state << 13;
	g_state ^= g_state >> 7;
	g_state ^= g_state << 17;
	return lo + static_cast<int>((g_state >> 20) % static_cast<std::uint64_t>(hi - lo + 1));
}

struct Checksum {
	std::uint64_t v = 14695981039346656037ull;
	void add(long x)
	{
		v = (v ^ static_cast<std::uint64_t>(x)) * 1099511628211ull;
	}
};

// ------------------------------------------------------------- intervals

struct Booking {
	int start, end, weight, room;
	std::string client;
};

vector<Booking> make_bookings(int n)
{
	static const char *const names[] = {
		"anders", "beatriz", "chandra", "dmitri", "esperanza-holdings-ltd", "fatima"
	};
	vector<Booking> v;
	for (int i = 0; i < n; ++i) {
		int s = roll(0, 50000);
		v.push_back({ s, s + roll(5, 400), roll(1, 100), roll(0, 3),
		              std::string(names[roll(0, 5)]) + std::to_string(roll(0, 99)) });
	}
	return v;
}

long best_weight(vector<Booking> v, vector<Booking> *chosen)
{
	std::sort(v.begin(), v.end(), [](const Booking &a, const Booking &b) {
		return std::tie(a.end, a.start, a.weight) < std::tie(b.end, b.start, b.weight);
	});
	vector<long> best(v.size() + 1, 0);
	vector<size_t> prev(v.size());
	for (size_t i = 0; i < v.size(); ++i) {
		auto it = std::upper_bound(v.begin(), v.begin() + static_cast<std::ptrdiff_t>(i), v[i].start,
		                           [](int t, const Booking &b) { return t < b.end; });
		prev[i] = static_cast<size_t>(it - v.begin());
		best[i + 1] = std::max(best[i], best[prev[i]] + v[i].weight);
	}
	for (size_t i = v.size(); chosen && i > 0;) {
		if (best[i] == best[i - 1]) {
			--i;
		} else {
			chosen->push_back(v[i - 1]);
			i = prev[i - 1];
		}
	}
	return best.back();
}

int rooms_needed(const vector<Booking> &v)
{
	std::multiset<int> ends;
	size_t most = 0;
	vector<const Booking *> order;
	for (const auto &b : v)
		order.push_back(&b);
	std::sort(order.begin(), order.end(), [](auto *a, auto *b) { return a->start < b->start; });
	for (auto *b : order) {
		auto it = ends.upper_bound(b->start);
		if (it != ends.begin())
			ends.erase(--it);
		ends.insert(b->end);
		most = std::max(most, ends.size());
	}
	return static_cast<int>(most);
}

long client_report(vector<Booking> v)
{
	std::map<std::string, long> total;
	for (const auto &b : v)
		total[b.client] += long{ b.weight } * (b.end - b.start);
	std::stable_sort(v.begin(), v.end(), [](const Booking &a, const Booking &b) {
		if (int c = a.client.compare(b.client))
			return c < 0;
		return a.weight > b.weight;
	});
	long s = 0, k = 0;
	for (const auto &b : v)
		s += ++k * b.weight % 97;
	for (const auto &[name, t] : total)
		s ^= t + static_cast<long>(name.size());
	return s;
}

// -------------------------------------------------------- dispatch rules

struct Job {
	int id, release, length, due, weight;
};

using Rule = std::function<bool(const Job &, const Job &)>;

struct Outcome {
	long tardy = 0, flow = 0, worst = 0;
};

Outcome dispatch(const vector<Job> &jobs, const Rule &less, int machines)
{
	auto worse = [&](const Job *a, const Job *b) { return less(*b, *a); };
	std::priority_queue<const Job *, vector<const Job *>, decltype(worse)> ready(worse);
	std::priority_queue<int, vector<int>, std::greater<>> free_at;
	Outcome o;
	for (int i = 0; i < machines; ++i)
		free_at.push(0);
	size_t next = 0;
	while (next < jobs.size() || !ready.empty()) {
		int now = free_at.top();
		free_at.pop();
		if (ready.empty() && jobs[next].release > now)
			now = jobs[next].release;
		while (next < jobs.size() && jobs[next].release <= now)
			ready.push(&jobs[next++]);
		const Job &j = *ready.top();
		ready.pop();
		int done = now + j.length;
		free_at.push(done);
		o.flow += done - j.release;
		o.tardy += long{ j.weight } * std::max(0, done - j.due);
		o.worst = std::max<long>(o.worst, done - j.due);
	}
	return o;
}

// Single machine sequence, improved by adjacent swaps and block moves.
long weighted_tardiness(const vector<Job> &seq)
{
	long t = 0, cost = 0;
	for (const Job &j : seq) {
		t = std::max<long>(t, j.release) + j.length;
		cost += j.weight * std::max(0L, t - j.due);
	}
	return cost;
}

long local_search(vector<Job> seq, int tries)
{
	long cost = weighted_tardiness(seq);
	for (int i = 0; i < tries; ++i) {
		int n = static_cast<int>(seq.size()), a = roll(0, n - 1), b = std::min(n - 1, a + roll(1, 8));
		auto first = seq.begin() + a, last = seq.begin() + b + 1;
		bool forward = i & 1;
		forward ? std::rotate(first, first + 1, last) : std::rotate(first, last - 1, last);
		long c = weighted_tardiness(seq);
		if (c <= cost)
			cost = c;
		else
			forward ? std::rotate(first, last - 1, last) : std::rotate(first, first + 1, last);
	}
	return cost;
}

// ------------------------------------------------------------ task graphs

class TaskGraph
{
      public:
	explicit TaskGraph(int n) : len_(static_cast<size_t>(n)), out_(len_.size()), indeg_(len_.size(), 0)
	{
		for (int i = 0; i < n; ++i) {
			len_[static_cast<size_t>(i)] = roll(1, 30);
			for (int k = roll(0, 3); k > 0 && i > 0; --k)
				edge(static_cast<size_t>(roll(std::max(0, i - 60), i - 1)),
				     static_cast<size_t>(i));
		}
	}

	vector<long> critical_path() const
	{
		vector<long> rank(len_.size());
		for (size_t i = len_.size(); i-- > 0;) {
			long m = 0;
			for (size_t v : out_[i])
				m = std::max(m, rank[v]);
			rank[i] = m + len_[i];
		}
		return rank;
	}

	std::optional<long> makespan(int workers, const std::function<long(size_t)> &priority) const
	{
		using Running = std::pair<long, size_t>;
		std::set<std::pair<long, size_t>, std::greater<>> ready;
		std::priority_queue<Running, vector<Running>, std::greater<Running>> running;
		vector<int> wait = indeg_;
		long now = 0;
		size_t done = 0;
		for (size_t i = 0; i < wait.size(); ++i)
			if (wait[i] == 0)
				ready.emplace(priority(i), i);
		while (done < len_.size()) {
			while (!ready.empty() && static_cast<int>(running.size()) < workers) {
				size_t t = ready.begin()->second;
				ready.erase(ready.begin());
				running.emplace(now + len_[t], t);
			}
			if (running.empty())
				return std::nullopt;
			auto [when, t] = running.top();
			running.pop();
			now = when;
			++done;
			for (size_t v : out_[t])
				if (--wait[v] == 0)
					ready.emplace(priority(v), v);
		}
		return now;
	}

	long length(size_t i) const
	{
		return len_[i];
	}

      private:
	void edge(size_t a, size_t b)
	{
		if (std::find(out_[a].begin(), out_[a].end(), b) == out_[a].end()) {
			out_[a].push_back(b);
			++indeg_[b];
		}
	}
	vector<long> len_;
	vector<vector<size_t>> out_;
	vector<int> indeg_;
};

} // namespace

int main()
{
	Checksum sum;
	for (int round = 0; round < 3; ++round) {
		auto v = make_bookings(6000);
		vector<Booking> chosen;
		sum.add(best_weight(v, &chosen));
		sum.add(static_cast<long>(chosen.size()));
		sum.add(rooms_needed(v));
		sum.add(client_report(std::move(v)));
	}

	vector<Job> jobs;
	for (int i = 0, t = 0; i < 3000; ++i) {
		t += roll(0, 9);
		int len = roll(2, 40);
		jobs.push_back({ i, t, len, t + len + roll(0, 120), roll(1, 9) });
	}
	const std::map<std::string, Rule> rules = {
		{ "fifo", [](const Job &a, const Job &b) { return a.id < b.id; } },
		{ "edd",
		  [](const Job &a, const Job &b) { return std::tie(a.due, a.id) < std::tie(b.due, b.id); } },
		{ "spt", [](const Job &a,
		            const Job &b) { return std::tie(a.length, a.id) < std::tie(b.length, b.id); } },
		{ "wspt",
		  [](const Job &a, const Job &b) {
		          int l = a.length * b.weight, r = b.length * a.weight;
		          return l != r ? l < r : a.id < b.id;
		  } },
		{ "slack",
		  [](const Job &a, const Job &b) {
		          int l = a.due - a.length, r = b.due - b.length;
		          return l != r ? l < r : a.id < b.id;
		  } },
	};
	std::string champion;
	long least = -1;
	for (int machines = 2; machines <= 8; ++machines)
		for (const auto &[name, rule] : rules) {
			Outcome o = dispatch(jobs, rule, machines);
			sum.add(o.tardy);
			sum.add(o.flow + o.worst);
			if (machines == 4 && (least < 0 || o.tardy < least))
				least = o.tardy, champion = name;
		}

	vector<Job> part(jobs.begin(), jobs.begin() + 160);
	for (const auto &[name, rule] : rules) {
		std::sort(part.begin(), part.end(), rule);
		sum.add(local_search(part, 5000));
	}

	for (int g = 0; g < 5; ++g) {
		TaskGraph tg(3000);
		auto rank = tg.critical_path();
		for (int workers : { 3, 8, 24 }) {
			sum.add(tg.makespan(workers, [&](size_t i) { return rank[i]; }).value_or(-1));
			sum.add(tg.makespan(workers, [&](size_t i) { return tg.length(i); }).value_or(-1));
			sum.add(tg.makespan(workers, [](size_t i) {
				          return -static_cast<long>(i);
			          }).value_or(-1));
		}
	}
	std::printf("schedule champion=%s tardy=%ld sum=%016llx\n", champion.c_str(), least,
	            static_cast<unsigned long long>(sum.v));
}
