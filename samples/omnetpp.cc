/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A discrete event simulator's walk over the submodules of a module.
 *
 * SubModuleIterator::operator++ looks through a range of module numbers for
 * the next one that has the right parent.  Simulation::module(), the table
 * lookup, is put in place.  The table is read in a row and is fast; the module
 * behind each pointer is somewhere else in memory and is slow, so nearly every
 * sample of module()'s instructions is seen in its caller.
 */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

static uint64_t lcg_state = 19920930;

static uint32_t lcg_next()
{
	lcg_state = lcg_state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(lcg_state >> 33);
}

static uint32_t lcg_below(uint32_t n)
{
	return (uint32_t)(((uint64_t)lcg_next() * n) >> 31);
}

class Module
{
	Module *parent;
	uint64_t backlog = 0;
	char gates[104]; /* a module is more than its head: neighbours share no cache line */

      public:
	explicit Module(Module *p) : parent(p), gates()
	{
	}
	Module *parentModule() const
	{
		return parent;
	}
	void receive(uint64_t work)
	{
		backlog += work;
	}
	uint64_t waiting() const
	{
		return backlog;
	}
};

class Simulation
{
	Module **table;
	int size, last = 0;

      public:
	explicit Simulation(int n) : table(new Module *[(size_t)n + 1]()), size(n + 1)
	{
	}
	Simulation(const Simulation &) = delete;
	Simulation &operator=(const Simulation &) = delete;
	~Simulation()
	{
		delete[] table;
	}
	void add(int id, Module *m)
	{
		table[id] = m;
		if (id > last)
			last = id;
	}
	Module *module(int id) const
	{
		return id > 0 && id < size ? table[id] : nullptr;
	}
	int lastId() const
	{
		return last;
	}
};

class SubModuleIterator
{
	const Simulation &sim;
	Module *parent;
	int id, lastId;

      public:
	SubModuleIterator(const Simulation &s, Module *p, int from, int to)
	    : sim(s), parent(p), id(from - 1), lastId(to)
	{
	}
	Module *operator++(int);
};

/* The hot loop: the next submodule, or none. */
__attribute__((noinline)) Module *SubModuleIterator::operator++(int)
{
	do {
		id++;
		Module *mod = sim.module(id);
		if (mod != nullptr && mod->parentModule() == parent)
			return mod;
	} while (id <= lastId);
	return nullptr;
}

/* A network: hosts of some submodules each, whose numbers lie interleaved, as they were created. */
struct Network {
	enum { n_hosts = 600, n_modules = 26000, span = 1200 };
	std::vector<Module> pool;
	std::vector<Module *> hosts;
	std::vector<int> first;
	Simulation sim;

	Network() : first(n_hosts), sim(n_modules)
	{
		std::vector<uint32_t> place(n_modules);

		pool.reserve(n_hosts + n_modules);
		for (int h = 0; h < n_hosts; h++) {
			first[h] = 1 + (int)lcg_below(n_modules - span);
			pool.emplace_back(nullptr);
			hosts.push_back(&pool.back());
		}
		/* Creation order is by host, numbers are not: the table's pointers go all over the pool. */
		for (int i = 0; i < n_modules; i++)
			place[i] = (uint32_t)i + 1;
		for (int i = n_modules - 1; i > 0; i--) {
			uint32_t j = lcg_below((uint32_t)i + 1), t = place[i];

			place[i] = place[j];
			place[j] = t;
		}
		for (int i = 0; i < n_modules; i++)
			if (lcg_below(8) != 0) /* the rest are numbers of deleted modules */
				create((int)place[i]);
	}

	void create(int id)
	{
		pool.emplace_back(hosts[owner(id)]);
		sim.add(id, &pool.back());
	}

	/* A host whose range holds the number, or any. */
	uint32_t owner(int id)
	{
		for (int tries = 0; tries < 4; tries++) {
			uint32_t h = lcg_below(n_hosts);

			if (id >= first[h] && id < first[h] + span)
				return h;
		}
		return lcg_below(n_hosts);
	}
};

int main(int argc, char **argv)
{
	int events = argc > 1 ? atoi(argv[1]) : 12000;
	Network net;
	uint64_t sum = 0, n = 0;

	for (int e = 0; e < events; e++) {
		uint32_t h = lcg_below(Network::n_hosts);
		SubModuleIterator it(net.sim, net.hosts[h], net.first[h], net.first[h] + Network::span);

		while (Module *m = it++) {
			m->receive(h + (uint64_t)e % 7);
			n++;
		}
	}
	for (const Module &m : net.pool)
		sum = sum * 31 + m.waiting();
	printf("omnetpp: %llu messages, checksum %016llx\n", (unsigned long long)n, (unsigned long long)sum);
	return 0;
}
