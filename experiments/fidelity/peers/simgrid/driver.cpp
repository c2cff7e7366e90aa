// Runs the flows of one network in SimGrid and prints when each of them is finished.
//
// Standard input holds numbers: the number of links and their capacities in bytes per second; the number of
// flows and, for each, its start in seconds, its bytes, the number of its links and their positions. Options
// of SimGrid are arguments. Standard output is the version of the library, the wall time of the simulation in
// seconds, and the instants in seconds at which the flows finish, in their order.
//
// Flows are communications between hosts without actors, started by timers: the cheapest way that the
// interface of the library has. Every flow has hosts and a route of its own, as its links are chosen freely.
#include <simgrid/kernel/Timer.hpp>
#include <simgrid/s4u.hpp>
#include <simgrid/version.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <string>
#include <vector>

namespace sg4 = simgrid::s4u;

struct Flow {
  double start;
  uint64_t bytes;
  std::vector<size_t> links;
};

template <class T> static T next()
{
  T value;
  if (!(std::cin >> value)) {
    std::fputs("the network is incomplete\n", stderr);
    std::exit(2);
  }
  return value;
}

int main(int argc, char* argv[])
{
  std::ios::sync_with_stdio(false);
  sg4::Engine engine(&argc, argv);
  auto* zone = sg4::create_full_zone("zone");
  std::vector<sg4::Link*> links(next<size_t>());
  for (size_t i = 0; i < links.size(); i++)
    links[i] = zone->create_link("link" + std::to_string(i), next<double>())->seal();
  std::vector<Flow> flows(next<size_t>());
  for (auto& flow : flows) {
    flow.start = next<double>();
    flow.bytes = next<uint64_t>();
    flow.links.resize(next<size_t>());
    for (auto& link : flow.links)
      link = next<size_t>();
  }

  // A full zone has a table of all pairs: n hosts have n (n − 1) routes.
  size_t n = 2;
  while (n * (n - 1) < flows.size())
    n++;
  std::vector<sg4::Host*> hosts(n);
  for (size_t i = 0; i < n; i++)
    hosts[i] = zone->create_host("host" + std::to_string(i), 1e9)->seal();
  std::vector<sg4::CommPtr> comms;
  for (size_t i = 0; i < flows.size(); i++) {
    size_t from = i / (n - 1), to = i % (n - 1);
    if (to >= from)
      to++;
    std::vector<sg4::LinkInRoute> route;
    for (size_t link : flows[i].links)
      route.emplace_back(links[link]);
    zone->add_route(hosts[from]->get_netpoint(), hosts[to]->get_netpoint(), nullptr, nullptr, route, false);
    auto comm = sg4::Comm::sendto_init(hosts[from], hosts[to]);
    comm->set_payload_size(flows[i].bytes);
    comms.push_back(comm);
  }
  zone->seal();

  for (size_t i = 0; i < flows.size(); i++)
    simgrid::kernel::timer::Timer::set(flows[i].start, [comm = comms[i]] { comm->start(); });
  auto begin = std::chrono::steady_clock::now();
  engine.run();
  std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin;

  int major, minor, patch;
  sg_version_get(&major, &minor, &patch);
  std::printf("%d.%d.%d %.9g\n", major, minor, patch, wall.count());
  for (auto const& comm : comms)
    std::printf("%.17g\n", comm->get_finish_time());
}
