/* SPDX-License-Identifier: GPL-3.0-or-later */
// Word counting with the standard containers, on pseudo-English text.
#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace
{

constexpr int kWords = 42000;

class Rng
{
      public:
	explicit Rng(std::uint64_t s) : s_(s)
	{
	}
	std::uint32_t next()
	{
		s_ = s_ * 6364136223846793005ULL + 1442695040888963407ULL;
		return static_cast<std::uint32_t>(s_ >> 33);
	}
	std::uint32_t below(std::uint32_t n)
	{
		return next() % n;
	}

      private:
	std::uint64_t s_;
};

const char *const kSyllables[] = { "ka", "lo",  "mi",  "ter", "an",  "sto", "re", "ing",
	                           "u",  "ban", "qui", "ver", "sal", "den", "o",  "pre" };

std::string make_word(Rng &rng)
{
	std::string w;
	const int n = 1 + std::min(rng.below(4), rng.below(4));
	for (int i = 0; i < n; ++i)
		w += kSyllables[std::min(rng.below(16), rng.below(16))];
	return w;
}

std::string make_text(Rng &rng, int words)
{
	static const char *const kSep[] = { " ", " ", " ", ", ", ".\n", " - ", "; " };
	std::string text;
	for (int i = 0; i < words; ++i) {
		std::string w = make_word(rng);
		if (rng.below(9) == 0)
			w[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(w[0])));
		text += w;
		text += kSep[rng.below(7)];
	}
	return text;
}

constexpr char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
}
constexpr bool is_letter(char c)
{
	return lower(c) >= 'a' && lower(c) <= 'z';
}

template <class F> void for_each_word(const std::string &text, F &&f)
{
	std::string cur;
	for (char c : text) {
		if (is_letter(c)) {
			cur.push_back(lower(c));
		} else if (!cur.empty()) {
			f(cur);
			cur.clear();
		}
	}
	if (!cur.empty())
		f(cur);
}

using Ordered = std::map<std::string, int>;
using Hashed = std::unordered_map<std::string, int>;

Ordered count_ordered(const std::string &text)
{
	Ordered m;
	for_each_word(text, [&](const std::string &w) { ++m[w]; });
	return m;
}

Hashed count_hashed(const std::string &text)
{
	Hashed m;
	for_each_word(text, [&](const std::string &w) { ++m[w]; });
	return m;
}

struct ByFreq {
	bool operator()(const std::pair<std::string, int> &a, const std::pair<std::string, int> &b) const
	{
		if (a.second != b.second)
			return a.second > b.second;
		return a.first < b.first;
	}
};

template <class M> std::vector<std::pair<std::string, int>> ranking(const M &m)
{
	std::vector<std::pair<std::string, int>> v(m.begin(), m.end());
	std::sort(v.begin(), v.end(), ByFreq());
	return v;
}

bool is_palindrome(const std::string &s)
{
	return std::equal(s.begin(), s.begin() + s.size() / 2, s.rbegin());
}

Hashed anagram_classes(const Ordered &m)
{
	Hashed out;
	for (const auto &kv : m) {
		std::string key = kv.first;
		std::sort(key.begin(), key.end());
		out[key] += kv.second;
	}
	return out;
}

std::uint32_t fnv(const std::string &s, std::uint32_t h)
{
	for (unsigned char c : s)
		h = (h ^ c) * 16777619u;
	return h;
}

} // namespace

int main()
{
	Rng rng(2024);
	std::uint32_t h = 2166136261u;
	int pal = 0;
	std::size_t classes = 0;
	for (int round = 0; round < 2; ++round) {
		const std::string text = make_text(rng, kWords);
		const Ordered o = count_ordered(text);
		const Hashed u = count_hashed(text);
		const auto ro = ranking(o);
		const auto ru = ranking(u);
		if (ro != ru) {
			std::puts("mismatch");
			return 1;
		}
		for (const auto &p : ro) {
			h = fnv(p.first, h) + p.second;
			pal += is_palindrome(p.first);
		}
		classes += anagram_classes(o).size();
		std::printf("top: %s %d\n", ro[0].first.c_str(), ro[0].second);
	}
	std::printf("checksum %08x %d %zu\n", h, pal, classes);
}
