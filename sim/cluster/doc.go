// Package cluster simulates the training of a job on a cluster. It drives the state machines of
// tandem/algo/protocol/role, the same that the runtime drives, in virtual time: work and messages become
// events with prices (tandem/sim/cost). By default no number of the model is computed, so a run says how fast
// the job trains; with Options.Numerics all numbers are computed, and a run also says how well the model has
// learned at which time.
//
// Run simulates one run at one position of all ranges. tandem/sim/predict makes predictions with ranges of
// runs.
//
// # How work and messages compete
//
// Every place where work waits is a station (tandem/sim/station): a queue with a number of servers.
//
//   - The service threads of embedding workers, PSs and the loader take work of a lane in the order of its
//     issue (cost.Service). Several pieces may be in service at once; they take effect in the order of their
//     issue, so a piece that ends early waits for the pieces before it.
//
//   - Work in service uses core time and memory time of its host, shared in equal parts with all other work
//     on the host (station.Shared). On a measured machine, goroutines take turns on the cores instead.
//
//   - The thread of a rank on its host launches the kernels of a pass before they run.
//
//   - Forward and backward (FC, BC) and the dense optimizer are kernels on the rank's accelerator, one after
//     the other, by the roofline model. BC reports a bucket of dense gradients when the bucket's share of the
//     parameters has had the same share of the time.
//
//   - Pooled embeddings, their gradients and samples cross the link between host and accelerator, which has a
//     copy engine for each direction.
//
//   - A message costs core time at both ends, which is a fixed part and one copy of its payload, and the
//     latency of the network. It is a flow over the cards of both hosts and the links of racks and zones
//     between them, shared max-min fairly; the route is that of tandem/sim/topo. A message without a payload
//     is too small to be a flow.
//
//   - System software has a number of connections from one process to another (system.Messages). As many
//     messages are on the wires at once; the others, also those without a payload, wait in the order in which
//     they have reached their sender's cores. So connections share links fairly, and messages share a
//     connection in turns. A window bounds the rate of a connection on a network of high latency. Software
//     whose connections grow with the messages has none of this: every message is a flow at once.
//
//   - The synchronisation of dense gradients (DS) is the hierarchical all-reduce: reduce-scatter and
//     all-gather inside a server in the time of idle wires, and the part between servers as a flow over the
//     cards and uplinks of all servers, where it competes with embeddings. The plan is that of
//     tandem/sim/topo.
//
//   - Every dense PS has a host of its own, like the hosts of the embedding PSs and in addition to them. That
//     is more hardware than in systems whose PSs share hosts, and so in favour of the modes that need dense
//     PSs. Pulled parameters and pushed gradients cross the copy engines too.
//
//   - The snapshot of a replica and the update by a mean are kernels; the mean itself is an all-reduce for
//     which no rank waits.
//
//   - While an all-reduce is under way, also one for which no rank waits, it takes a share of every
//     accelerator's speed from the kernels that begin (system.NNWorker.Interference).
//
// # Bottlenecks
//
// Every task knows what began it: the input that made a role issue it, or the end of the piece of work that
// left its service thread to it. So each event is the end of a chain of services, transfers and latencies
// without gaps. A run attributes the chain that ends with the last measured step, the critical path, to
// resources (Result.Bottlenecks). A resource need not be busy all the time to be on the path: in a chain of
// latencies nothing is. Options.Improve runs the same job with more of any resource.
//
// # Steps
//
// A run warms up until the pipeline is full. Then it measures windows of steps until the mean step times of
// two consecutive windows differ by less than 2 %, and returns the figures of these two: queues may take
// longer to fill than the pipeline, and steps may come in bursts as long as the pipeline is deep. A run that
// ends before two windows agree says so. What changes more slowly than that from window to window, such as
// ranks that drift apart, is not waited for.
//
// # Jitter
//
// Each piece of work, message, kernel and all-reduce can have a lognormal factor of its own, which depends on
// the seed, on who does it and on the step only. Runs with the same seed and other prices have the same
// factors.
//
// # Folding
//
// Equal PSs can be folded into one state machine that stands for all of them: the fan-out of a batch is then
// one message, whose flow counts P times on the link of the EW and once for each PS of the receiving host.
// Its connection stands for the P connections to single PSs, whose messages wait for each other alike.
// Where hosts share the uplinks of racks, PSs are not folded. One host stands for all of the data loader.
//
// Of more than 512 ranks, about 64 are simulated (Result.Simulated), or fewer where there are more than 32
// dense PSs, so that a run takes as long for 16,384 as for 1,024. Each stands for a class: the ranks at one
// place of several servers. EWs are folded in the same proportion, and a simulated one has the cores,
// memories, cards and threads of those that it stands for. A message or piece of work for a class counts once
// for each member where members share a resource, and once where they do not, as on their servers. The
// all-reduce has the latency and the bytes of all servers. Roles know nothing of classes: the driver makes
// only those of the simulated ranks.
//
// With jitter no two ranks are alike, and where they meet in every step it takes as long as the slowest of
// all. With 64 ranks on Persia's cluster, the jitter of the system software makes a step 4.4 % longer in
// sync, and 3.5 % in hybrid. So a class takes the factors of its slowest member: whose passes take longest,
// in sync together with the lookups before them. The return of gradients in sync has its own slowest member.
// They are the factors that this rank has where all are simulated, so both runs have the same slowest rank.
// In async-ps a class takes the factors of its first member, as no rank waits for others.
//
// Resources that members share are as busy as with the mean of all members. So are the stations of a rank,
// and the phases of a step but for the wait for embeddings. Work that waits for few threads takes the mean of
// its class, too. Of roles with a thread for each core, the threads are handed out by classes and would seem
// busier than they are, so they are no stations. Pieces that cores and memory of PS and EW hosts have served,
// and that wait there, are those of the simulated roles.
//
// Without jitter, the throughput of 64 to 256 ranks, of which a half or a quarter are simulated, is within
// 0.1 % of that of all in sync. So it is in hybrid, unless embeddings compete with the all-reduce for cards;
// then within 1 %: which of the transfers that begin at one instant is first changes a step by 0.6 % also
// without folding. With jitter, 1,024 ranks of Persia's clusters are within 0.7 % in sync and hybrid, and
// within 1.1 % in async-ps, whose windows of one run differ as much. Members that move as one have less
// spread of their transfers: with 64 EWs on cards of 10 Gbit/s, 600 ranks are 6 % too fast in hybrid. As far
// off were clusters with few EWs, or several on a host, and with servers of which two have most of the ranks:
// they are not folded.
//
// Each rank is simulated if ranks differ (other accelerators, slow roles), if messages are lost one by one
// (faults), if hosts share uplinks or rails, with numerics, with rows on GPUs, whose exchanges ranks wait for
// within a step, and for an observer or a timeline, which see every rank. So it is in modes whose ranks meet
// after several steps, or of which the first ones count. In ssp, local-sgd and async-average a rank drifts
// away from others by the sum of many steps; in backup-workers and gba the order of arrivals decides. A class
// that moves as one has neither.
//
// # Numerics
//
// With numerics, the roles learn the true facts about the data, so every size on the wire is true: the
// samples of the last batch of an epoch, the rows of every batch on every PS. Work is priced by the same true
// sizes, except that the ids of a sample, and the rows that ranks share in one step, are the workload's
// expectation. The time that the computation takes on the machine below has no effect.
//
// # Hot rows
//
// Where rows are hot, their gradients are one more bucket of the all-reduce, the last. It is final when the
// rank has merged them after backward. With numerics, the bucket and all messages have their true sizes, and
// the work of the rank on hot rows is the workload's expectation. Hot rows are chosen once:
// predict.PauseForHotRows prices the pauses to choose them again (job.Hot.Every), and a run with numerics
// refuses such a job.
//
// # Rows on GPUs
//
// Where rows are on the accelerators of several ranks, a forward pass has two exchanges, which begin when the
// last rank has come and end for all at once; what a host or a device does in between is a stage of its own.
// The third is part of the last bucket of the all-reduce, with the kernels before and after it on all
// accelerators. Between accelerators of a server, bytes have the time of idle wires; between servers they are
// flows over the cards. Every rank does the work of the one that owns most rows.
//
// Where other slots have their rows on PSs, the roles ask for the work of these as if there were no others.
// An EW's message to a rank has their pooled values and the ids of slots on GPUs; the values cross the link
// to the accelerator when they arrive, and the ids with the forward pass.
//
// # Faults
//
// The faults of a job act on messages and roles as in the runtime: the n-th message from one role to another
// has the same fate. A lost message is priced up to its arrival at the receiver's host, with the sender's
// cores and the wires, and so is a message for a role that is away. A repeated message is priced twice. A
// message that is late or held back enters its sender's cores when it is due, on a measured machine as much
// later as its timers are late. Work that is running when its role crashes keeps its cores busy to its end.
// Messages that were sent before a crash still arrive.
//
// With faults no PS is folded, because messages are lost one by one. All steps are simulated to the end, at
// least 100 of them are measured, settled or not. The steps of crashes count from the end of the warm-up,
// except with numerics, so that a crash in the first steps is measured. If roles ask again sooner than a
// cluster can answer, the run ends with an error.
//
// # Slow roles
//
// The launches and kernels of a slow rank take that many times as long. Work of another slow role, and of a
// rank of a measured machine, takes its cores as long as ever, and then keeps its service thread without a
// core until it has lasted that many times as long. PSs are not folded if one is slower than others.
//
// # What is left out
//
// Crashes of roles that hold parameters, evaluation and checkpoints. Processes of several roles: each has
// connections of its own. Of a connection, its slow start, lost packets and what full queues of a network do
// to it. Embedding PSs differ only if one is slow: without numerics, work takes on each of them as long as on
// the one that is expected to have most rows of a batch, while messages have the mean size. Rows that are
// read often are no faster than others. Without jitter all batches cost the same. New rows are spread evenly
// over a training, while most come at its start; those that admission refuses or eviction brings back are not
// counted.
//
// # Decisions
//
//   - Work of a simulated host shares its cores in equal parts. On this machine, the first in line has a core
//     for up to 10 ms instead: there every role is a goroutine of one process, and Go's scheduler does that.
//     With equal parts a forward pass took three times what was measured. The price is two models of a host.
//   - An interface (Numerics) computes the numbers of a run, and package runtime/numerics implements it. No
//     goroutine may start in sim, and bits depend on neither cores nor speed.
package cluster
