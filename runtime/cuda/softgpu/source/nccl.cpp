// Collectives: NCCL between threads and processes of one machine, through memory that they share.

#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>

#include <atomic>
#include <utility>

enum {
	ncclSuccess = 0,
	ncclSystemError = 2,
	ncclInvalidArgument = 4,
	ncclInvalidUsage = 5,
	ncclInProgress = 7,
	ncclInt8 = 0,
	ncclFloat16 = 6,
	ncclFloat32 = 7,
	ncclBfloat16 = 9,
};

struct ncclUniqueId {
	char internal[128];
};

// ncclConfig_t as of NCCL 2.14; later versions only append to it.
struct ncclConfig_t {
	size_t size;
	unsigned magic, version;
	int blocking;
};

static const int mostRanks = 64;
static const size_t slotBytes = 256 << 10;

// Call is what all ranks must agree on.
struct CallOfRank {
	uint64_t number, kind, count, type, root;
};

// Letter is the part of a send that is under way from one rank to another.
struct Letter {
	std::atomic<bool> full;
	uint64_t all;   // bytes of the whole send
	uint64_t bytes; // of this part
	char data[8 << 10];
};

// Shared is the begin of the memory of all ranks. A slot for each rank follows, and a letter for each two.
struct Shared {
	std::atomic<int> joined;
	std::atomic<int> arrived;
	std::atomic<unsigned> generation;
	int devices[mostRanks];
	CallOfRank calls[mostRanks];
};

struct Collective {
	std::string name;
	int ranks, rank, device;
	Shared *shared = nullptr;
	size_t bytes = 0;
	uint64_t calls = 0;
	std::atomic<bool> aborted{false};
	std::atomic<int> status{ncclInProgress};
	std::mutex mutex;
	std::string error;

	~Collective() {
		if (shared) munmap(shared, bytes);
	}
	char *slot(int r) { return (char *)(shared + 1) + r * slotBytes; }
	Letter *letter(int from, int to) { return (Letter *)slot(ranks) + from * ranks + to; }
	void fail(int code, const std::string &text) {
		std::lock_guard<std::mutex> hold(mutex);
		if (error.empty()) error = text;
		status = code;
	}
	// pause waits a little, the longer the more often it was called before. It returns false after an
	// abort.
	bool pause(int turn) {
		if (turn < 200) sched_yield();
		else std::this_thread::sleep_for(std::chrono::microseconds(turn < 1000 ? 20 : 200));
		return !aborted;
	}
	// barrier waits for all ranks. It returns false after an abort.
	bool barrier() {
		unsigned before = shared->generation;
		if (++shared->arrived == ranks) {
			shared->arrived = 0;
			shared->generation++;
			return !aborted;
		}
		for (int turn = 0; shared->generation == before; turn++)
			if (!pause(turn)) return false;
		return !aborted;
	}
	void join();
	bool agree(const CallOfRank &call);
};

struct Communicator {
	std::shared_ptr<Collective> collective;
	std::thread joining;
};

static std::set<Communicator *> communicators;  // guarded by state

void settleTogether(Device *device) {
	std::set<int> all;
	{
		std::lock_guard<std::mutex> hold(state);
		for (Communicator *own : communicators)
			for (Communicator *other : communicators)
				if (own->collective->device == device->ordinal && own->collective->name == other->collective->name)
					all.insert(other->collective->device);
	}
	for (int ordinal : all) settle(devices[ordinal]);
}

API const char *ncclGetErrorString(int code) {
	switch (code) {
	case ncclSuccess: return "no error";
	case ncclSystemError: return "unhandled system error (run with NCCL_DEBUG=INFO for details)";
	case ncclInvalidArgument: return "invalid argument (run with NCCL_DEBUG=WARN for details)";
	case ncclInvalidUsage: return "invalid usage (run with NCCL_DEBUG=WARN for details)";
	case ncclInProgress: return "NCCL operation in progress";
	}
	return "unknown result code";
}

API const char *ncclGetLastError(Communicator *c) {
	static thread_local std::string text;
	text = "";
	if (known(c)) {
		std::lock_guard<std::mutex> hold(c->collective->mutex);
		text = c->collective->error;
	}
	return text.c_str();
}

API int ncclGetVersion(int *version) {
	*version = 22005;
	return ncclSuccess;
}

API int ncclGetUniqueId(ncclUniqueId *id) {
	memset(id, 0, sizeof *id);
	uint64_t random[2];
	FILE *f = fopen("/dev/urandom", "rb");
	if (!f) return ncclSystemError;
	size_t n = fread(random, sizeof random, 1, f);
	fclose(f);
	// The last byte shows whether all of the id arrives.
	snprintf(id->internal, sizeof id->internal, "/softgpu-%016zx%016zx", size_t(random[0]), size_t(random[1]));
	id->internal[127] = id->internal[9];
	return n == 1 ? ncclSuccess : ncclSystemError;
}

void Collective::join() {
	bytes = sizeof(Shared) + ranks * slotBytes + ranks * ranks * sizeof(Letter);
	int file = shm_open(name.c_str(), O_RDWR | O_CREAT, 0600);
	if (file < 0 || ftruncate(file, bytes)) return fail(ncclSystemError, "cannot make shared memory");
	void *memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	close(file);
	if (memory == MAP_FAILED) return fail(ncclSystemError, "cannot map shared memory");
	shared = (Shared *)memory;
	shared->devices[rank] = device;
	shared->joined++;
	for (int turn = 0; shared->joined < ranks; turn++)
		if (!pause(turn)) {
			shm_unlink(name.c_str());
			return fail(ncclSystemError, "aborted");
		}
	if (rank == 0) shm_unlink(name.c_str());
	for (int a = 0; a < ranks; a++)
		for (int b = a + 1; b < ranks; b++)
			if (shared->devices[a] == shared->devices[b])
				return fail(ncclInvalidUsage, "Duplicate GPU detected : rank " + std::to_string(a) +
					" and rank " + std::to_string(b) + " both on CUDA device " +
					std::to_string(shared->devices[a]));
	status = ncclSuccess;
}

API int ncclCommInitRankConfig(Communicator **communicator, int ranks, ncclUniqueId id, int rank,
	ncclConfig_t *config) {
	int device;
	if (cuCtxGetDevice(&device)) return ncclInvalidUsage;
	if (ranks < 1 || ranks > mostRanks || rank < 0 || rank >= ranks || !config ||
		config->magic != 0xcafebeef || config->version < 21400 || config->size < 24 ||
		id.internal[127] != id.internal[9] || strncmp(id.internal, "/softgpu-", 9))
		return ncclInvalidArgument;
	Communicator *c = new Communicator;
	c->collective = std::make_shared<Collective>();
	c->collective->name = id.internal;
	c->collective->ranks = ranks;
	c->collective->rank = rank;
	c->collective->device = device;
	c->joining = std::thread([=, collective = c->collective] { collective->join(); });
	*communicator = keep(c);
	{
		std::lock_guard<std::mutex> hold(state);
		communicators.insert(c);
	}
	if (config->blocking == 0) return ncclInProgress;
	c->joining.join();
	return c->collective->status;
}

API int ncclCommGetAsyncError(Communicator *c, int *status) {
	if (!known(c)) return ncclInvalidArgument;
	*status = c->collective->status;
	return ncclSuccess;
}

static int end(Communicator *c) {
	if (!forget(c)) return ncclInvalidArgument;
	{
		std::lock_guard<std::mutex> hold(state);
		communicators.erase(c);
	}
	if (c->joining.joinable()) c->joining.join();
	delete c;
	return ncclSuccess;
}

API int ncclCommAbort(Communicator *c) {
	if (!known(c)) return ncclInvalidArgument;
	c->collective->aborted = true;
	return end(c);
}

API int ncclCommFinalize(Communicator *c) { return known(c) ? ncclSuccess : ncclInvalidArgument; }

API int ncclCommDestroy(Communicator *c) { return end(c); }

// agree compares what the ranks call.
bool Collective::agree(const CallOfRank &call) {
	shared->calls[rank] = call;
	if (!barrier()) return false;
	for (int r = 0; r < ranks; r++)
		if (memcmp(&shared->calls[r], &shared->calls[0], sizeof call)) {
			fail(ncclInvalidUsage, "rank " + std::to_string(r) + " calls another collective than rank 0");
			return false;
		}
	return barrier();
}

static size_t sizeOf(int type) { return type == ncclFloat32 ? 4 : 2; }

static int blasType(int type) {
	return type == ncclFloat32 ? CUDA_R_32F : type == ncclFloat16 ? CUDA_R_16F : CUDA_R_16BF;
}

// Exchange of one part: what a rank offers is in its slot when use runs.
typedef std::function<void(Collective *, size_t from, size_t count)> Use;

static int collective(Communicator *c, Stream *s, uint64_t kind, const void *send, size_t count, int type,
	int root, Use use) {
	Device *device;
	if (ready(&device)) return ncclInvalidUsage;
	if (!known(c) || !known(s) || s->device != device || c->collective->device != device->ordinal)
		return ncclInvalidArgument;
	if (type != ncclFloat32 && type != ncclFloat16 && type != ncclBfloat16) return ncclInvalidArgument;
	if (c->collective->status != ncclSuccess) return c->collective->status;
	auto x = c->collective;
	return issue(s, [=] {
		if (x->aborted || x->status != ncclSuccess) return;
		if (!x->agree({x->calls++, kind, count, uint64_t(type), uint64_t(root)})) return;
		size_t size = sizeOf(type);
		for (size_t from = 0; from < count; from += slotBytes / size) {
			size_t n = std::min(count - from, slotBytes / size);
			if (root < 0 || root == x->rank)
				memcpy(x->slot(x->rank), (const char *)send + from * size, n * size);
			if (!x->barrier()) return;
			use(x.get(), from, n);
			if (!x->barrier()) return;
		}
	}) ? ncclInvalidUsage : ncclSuccess;
}

API int ncclAllReduce(const void *send, void *receive, size_t count, int type, int operation, Communicator *c,
	Stream *s) {
	if (operation != 0) return ncclInvalidArgument;  // ncclSum
	return collective(c, s, 1, send, count, type, -1, [=](Collective *x, size_t from, size_t n) {
		for (size_t i = 0; i < n; i++) {
			float sum = element(x->slot(0), blasType(type), int64_t(i));
			for (int r = 1; r < x->ranks; r++) sum += element(x->slot(r), blasType(type), int64_t(i));
			store(receive, blasType(type), int64_t(from + i), sum);
		}
	});
}

API int ncclAllGather(const void *send, void *receive, size_t count, int type, Communicator *c, Stream *s) {
	return collective(c, s, 2, send, count, type, -1, [=](Collective *x, size_t from, size_t n) {
		size_t size = sizeOf(type);
		for (int r = 0; r < x->ranks; r++)
			memcpy((char *)receive + (r * count + from) * size, x->slot(r), n * size);
	});
}

API int ncclBroadcast(const void *send, void *receive, size_t count, int type, int root, Communicator *c,
	Stream *s) {
	if (root < 0 || root >= mostRanks) return ncclInvalidArgument;
	return collective(c, s, 3, send, count, type, root, [=](Collective *x, size_t from, size_t n) {
		memcpy((char *)receive + from * sizeOf(type), x->slot(root), n * sizeOf(type));
	});
}

// PointToPoint is one send or receive of a group.
struct PointToPoint {
	std::shared_ptr<Collective> with;
	Stream *stream;
	bool sends;
	char *data;
	size_t bytes, done;
	int peer;
	// advance moves the next part, if the letter is free, or full. It returns whether it has moved one.
	bool advance() {
		Letter *l = sends ? with->letter(with->rank, peer) : with->letter(peer, with->rank);
		if (done == bytes || l->full == sends) return false;
		if (sends) {
			l->all = bytes;
			l->bytes = std::min(bytes - done, sizeof l->data);
			memcpy(l->data, data + done, l->bytes);
		} else if (l->all != bytes) {
			with->fail(ncclInvalidUsage, "rank " + std::to_string(peer) + " sends " + std::to_string(l->all) +
				" bytes, and rank " + std::to_string(with->rank) + " receives " + std::to_string(bytes));
			return false;
		} else {
			memcpy(data + done, l->data, l->bytes);
		}
		done += l->bytes;
		l->full = sends;
		return true;
	}
};

// The group of this thread: how many starts have no end, what was called since the first of them, and the
// first failure among these calls.
static thread_local int groups = 0;
static thread_local std::vector<PointToPoint> grouped;
static thread_local int groupFailure = ncclSuccess;

// exchange performs sends and receives at the same time, so that none waits for another of its group.
static void exchange(std::vector<PointToPoint> &all) {
	auto x = all[0].with;
	for (int turn = 0;;) {
		if (x->aborted || x->status != ncclSuccess) return;
		bool moved = false, rest = false;
		for (PointToPoint &p : all) {
			moved |= p.advance();
			rest |= p.done < p.bytes;
		}
		if (!rest) return;
		turn = moved ? 0 : turn + 1;
		if (!moved && !x->pause(turn)) return;
	}
}

// The bytes that all ranks of this process have sent each other, and themselves.
static std::atomic<long long> sentBytes{0};

API long long softgpuSent() { return sentBytes; }

// performGroup issues the calls of a group, which are of one communicator and one stream.
static int performGroup(std::vector<PointToPoint> all) {
	if (all.empty()) return ncclSuccess;
	for (PointToPoint &p : all)
		if (p.with != all[0].with || p.stream != all[0].stream) return ncclInvalidUsage;
	for (PointToPoint &p : all)
		if (p.sends) sentBytes += p.bytes;
	auto shared = std::make_shared<std::vector<PointToPoint>>(std::move(all));
	return issue((*shared)[0].stream, [=] { auto calls = *shared; exchange(calls); })
		? ncclInvalidUsage : ncclSuccess;
}

static int addToGroup(bool sends, const void *data, size_t count, int type, int peer, Communicator *c,
	Stream *s) {
	Device *device;
	if (ready(&device)) return ncclInvalidUsage;
	if (!known(c) || !known(s) || s->device != device || c->collective->device != device->ordinal ||
		type != ncclInt8 || peer < 0 || peer >= c->collective->ranks)
		return ncclInvalidArgument;
	if (c->collective->status != ncclSuccess) return c->collective->status;
	grouped.push_back({c->collective, s, sends, (char *)data, count, 0, peer});
	return ncclSuccess;
}

// pointToPoint is a group of one call where none has begun.
static int pointToPoint(bool sends, const void *data, size_t count, int type, int peer, Communicator *c,
	Stream *s) {
	int code = addToGroup(sends, data, count, type, peer, c, s);
	if (groups == 0) return code ? code : performGroup(std::exchange(grouped, {}));
	if (!groupFailure) groupFailure = code;
	return code;
}

API int ncclSend(const void *data, size_t count, int type, int peer, Communicator *c, Stream *s) {
	return pointToPoint(true, data, count, type, peer, c, s);
}

API int ncclRecv(void *data, size_t count, int type, int peer, Communicator *c, Stream *s) {
	return pointToPoint(false, data, count, type, peer, c, s);
}

API int ncclGroupStart() {
	groups++;
	return ncclSuccess;
}

// A group in which a call has failed does nothing.
API int ncclGroupEnd() {
	if (groups == 0) return ncclInvalidUsage;
	if (--groups > 0) return ncclSuccess;
	auto all = std::exchange(grouped, {});
	int failure = std::exchange(groupFailure, ncclSuccess);
	return failure ? failure : performGroup(std::move(all));
}
