// Streams, events, copies, and the capture of streams as graphs.

static std::set<Stream *> streams;  // guarded by state

void Mark::reach() {
	std::lock_guard<std::mutex> hold(mutex);
	reached = true;
	when = std::chrono::steady_clock::now();
	changed.notify_all();
}

void Mark::wait() {
	std::unique_lock<std::mutex> hold(mutex);
	changed.wait(hold, [this] { return reached; });
}

bool Mark::ready() {
	std::lock_guard<std::mutex> hold(mutex);
	return reached;
}

uint64_t draw(uint64_t *random) {
	*random ^= *random << 13;
	*random ^= *random >> 7;
	*random ^= *random << 17;
	return *random;
}

// perform is the thread of a stream. With a seed, it waits a random time before some of its work, so that
// work of other streams overtakes it.
static void perform(Stream *s) {
	for (;;) {
		Work work;
		{
			std::unique_lock<std::mutex> hold(s->mutex);
			s->changed.wait(hold, [s] { return s->closed || !s->queue.empty(); });
			if (s->queue.empty()) return;
			work = std::move(s->queue.front());
			s->queue.pop_front();
		}
		if (s->random && draw(&s->random) % 4 == 0)
			std::this_thread::sleep_for(std::chrono::microseconds(draw(&s->random) % 300));
		work();
		work = nullptr;
		std::lock_guard<std::mutex> hold(s->mutex);
		s->done++;
		s->changed.notify_all();
	}
}

static void enqueue(Stream *s, Work work) {
	std::lock_guard<std::mutex> hold(s->mutex);
	s->issued++;
	s->queue.push_back(std::move(work));
	s->changed.notify_all();
}

static void drain(Stream *s) {
	std::unique_lock<std::mutex> hold(s->mutex);
	uint64_t until = s->issued;
	s->changed.wait(hold, [=] { return s->done >= until; });
}

static std::set<Capture *> captures;  // that have not ended; guarded by state

bool spoil(Device *device) {
	bool spoilt = false;
	std::lock_guard<std::mutex> hold(state);
	for (Capture *c : captures)
		if (c->origin->device == device) spoilt = c->invalid = true;
	return spoilt;
}

void settle(Device *device) {
	std::vector<Stream *> all;
	{
		std::lock_guard<std::mutex> hold(state);
		for (Stream *s : streams)
			if (s->device == device) all.push_back(s);
	}
	for (Stream *s : all) drain(s);
}

// guarded returns work that is left out on a broken device, and breaks the device if it touches memory that
// it may not touch.
static Work guarded(Device *device, Work work) {
	return [device, work] {
		if (device->broken) return;
		uintptr_t fault;
		if (!attempt(work, &fault))
			breakDevice(device, CUDA_ERROR_ILLEGAL_ADDRESS, whereFaulted() + ": " + nearestAllocation(fault));
	};
}

// issue queues work, or adds it to the capture of the stream.
CUresult issue(Stream *s, Work work) {
	work = guarded(s->device, std::move(work));
	if (!s->capture) {
		if (loses(s->device)) return CUDA_ERROR_UNKNOWN;
		enqueue(s, std::move(work));
		return CUDA_SUCCESS;
	}
	if (s->capture->invalid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	s->capture->nodes.push_back({std::move(work), s->after});
	s->after = {int(s->capture->nodes.size()) - 1};
	return CUDA_SUCCESS;
}

// usable returns why a stream cannot be used on this thread, or 0.
static CUresult usable(Stream *s) {
	Device *device;
	if (CUresult r = ready(&device)) return r;
	return known(s) && s->device == device ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

API CUresult cuStreamCreate(Stream **stream, unsigned flags) {
	Device *device;
	if (CUresult r = ready(&device)) return r;
	if (flags != 1) return CUDA_ERROR_INVALID_VALUE;  // only CU_STREAM_NON_BLOCKING: there is no stream 0
	Stream *s = new Stream;
	s->device = device;
	uint64_t seed = numericSetting("TANDEM_SOFTGPU_SEED", 0);
	static std::atomic<uint64_t> number{0};
	s->random = seed ? seed * 0x9E3779B97F4A7C15 + ++number : 0;
	// Signals of the process go to its own threads.
	sigset_t all, before;
	sigfillset(&all);
	for (int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL}) sigdelset(&all, fault);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	s->thread = std::thread(perform, s);
	pthread_sigmask(SIG_SETMASK, &before, nullptr);
	*stream = keep(s);
	std::lock_guard<std::mutex> hold(state);
	streams.insert(s);
	return CUDA_SUCCESS;
}

API CUresult cuStreamDestroy_v2(Stream *s) {
	if (CUresult r = usable(s)) {
		if (r == CUDA_ERROR_INVALID_HANDLE || !known(s)) return r;  // on a broken device, its thread ends
	}
	forget(s);
	{
		std::lock_guard<std::mutex> hold(state);
		streams.erase(s);
		captures.erase(s->capture.get());
	}
	{
		std::lock_guard<std::mutex> hold(s->mutex);
		s->closed = true;
		s->changed.notify_all();
	}
	s->thread.join();
	CUresult broken = s->device->broken;
	delete s;
	return broken;
}

API CUresult cuStreamSynchronize(Stream *s) {
	if (CUresult r = usable(s)) return r;
	if (s->capture) {
		s->capture->invalid = true;
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	}
	drain(s);
	std::string damage = damageAfterAllocations(s->device);
	if (!damage.empty()) breakDevice(s->device, CUDA_ERROR_ILLEGAL_ADDRESS, damage);
	return s->device->broken;
}

API CUresult cuEventCreate(Event **event, unsigned flags) {
	Device *device;
	if (CUresult r = ready(&device)) return r;
	*event = keep(new Event{device, !(flags & 2), nullptr, nullptr, {}});  // CU_EVENT_DISABLE_TIMING
	return CUDA_SUCCESS;
}

API CUresult cuEventDestroy_v2(Event *e) {
	if (!forget(e)) return CUDA_ERROR_INVALID_HANDLE;
	delete e;
	return CUDA_SUCCESS;
}

API CUresult cuEventRecord(Event *e, Stream *s) {
	if (CUresult r = usable(s)) return r;
	if (!known(e) || e->device != s->device) return CUDA_ERROR_INVALID_HANDLE;
	e->capture = s->capture;
	if (s->capture) {
		e->after = s->after;
		return CUDA_SUCCESS;
	}
	auto mark = e->mark = std::make_shared<Mark>();
	enqueue(s, [mark] { mark->reach(); });
	return CUDA_SUCCESS;
}

API CUresult cuStreamWaitEvent(Stream *s, Event *e, unsigned flags) {
	if (CUresult r = usable(s)) return r;
	if (!known(e) || flags) return CUDA_ERROR_INVALID_HANDLE;
	if (e->capture) {
		if (e->capture->ended) return CUDA_ERROR_CAPTURED_EVENT;
		if (s->capture && s->capture != e->capture) return CUDA_ERROR_STREAM_CAPTURE_MERGE;
		if (!s->capture) {  // the stream joins the capture
			s->capture = e->capture;
			s->capture->streams.insert(s);
			s->after.clear();
		}
		s->after.insert(s->after.end(), e->after.begin(), e->after.end());
		return CUDA_SUCCESS;
	}
	if (s->capture) {
		s->capture->invalid = true;
		return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
	}
	if (auto mark = e->mark) enqueue(s, [mark] { mark->wait(); });
	return CUDA_SUCCESS;
}

API CUresult cuEventSynchronize(Event *e) {
	Device *device;
	if (CUresult r = ready(&device)) return r;
	if (!known(e)) return CUDA_ERROR_INVALID_HANDLE;
	if (e->capture) return CUDA_ERROR_CAPTURED_EVENT;
	if (e->mark) e->mark->wait();
	return device->broken;
}

API CUresult cuEventQuery(Event *e) {
	Device *device;
	if (CUresult r = ready(&device)) return r;
	if (!known(e)) return CUDA_ERROR_INVALID_HANDLE;
	if (e->capture) return CUDA_ERROR_CAPTURED_EVENT;
	return !e->mark || e->mark->ready() ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

API CUresult cuEventElapsedTime(float *milliseconds, Event *start, Event *end) {
	if (!known(start) || !known(end) || !start->timed || !end->timed || !start->mark || !end->mark)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!start->mark->ready() || !end->mark->ready()) return CUDA_ERROR_NOT_READY;
	*milliseconds = std::chrono::duration<float, std::milli>(end->mark->when - start->mark->when).count();
	return CUDA_SUCCESS;
}

// onDevice reports whether memory lies in one allocation of the device of the stream.
static bool onDevice(Stream *s, CUdeviceptr address, size_t bytes) {
	Allocation *a = allocationAround(address, bytes);
	return a && !a->pinned && a->device == s->device;
}

static CUresult copy(Stream *s, void *to, const void *from, size_t bytes, bool toDevice, bool fromDevice) {
	if (CUresult r = usable(s)) return r;
	if (bytes == 0) return CUDA_SUCCESS;
	if ((toDevice && !onDevice(s, CUdeviceptr(to), bytes)) ||
		(fromDevice && !onDevice(s, CUdeviceptr(from), bytes)))
		return CUDA_ERROR_INVALID_VALUE;
	return issue(s, [=] { memmove(to, from, bytes); });
}

API CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes, Stream *s) {
	return copy(s, (void *)to, from, bytes, true, false);
}

API CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes, Stream *s) {
	return copy(s, to, (void *)from, bytes, false, true);
}

API CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, Stream *s) {
	return copy(s, (void *)to, (void *)from, bytes, true, true);
}

API CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t bytes, Stream *s) {
	if (CUresult r = usable(s)) return r;
	if (!onDevice(s, to, bytes)) return CUDA_ERROR_INVALID_VALUE;
	return issue(s, [=] { memset((void *)to, value, bytes); });
}

API CUresult cuStreamBeginCapture_v2(Stream *s, int mode) {
	if (CUresult r = usable(s)) return r;
	if (mode < 0 || mode > 2 || s->capture) return CUDA_ERROR_INVALID_VALUE;
	s->capture = std::make_shared<Capture>();
	s->capture->origin = s;
	s->capture->streams = {s};
	s->after.clear();
	std::lock_guard<std::mutex> hold(state);
	captures.insert(s->capture.get());
	return CUDA_SUCCESS;
}

// joined reports whether every node comes before the last nodes of the origin.
static bool joined(Capture *c, const std::vector<int> &last) {
	std::vector<bool> before(c->nodes.size());
	std::vector<int> next = last;
	while (!next.empty()) {
		int node = next.back();
		next.pop_back();
		if (before[node]) continue;
		before[node] = true;
		for (int earlier : c->nodes[node].after) next.push_back(earlier);
	}
	for (Stream *s : c->streams)
		for (int node : s->after)
			if (!before[node]) return false;
	return true;
}

API CUresult cuStreamEndCapture(Stream *s, Graph **graph) {
	if (CUresult r = usable(s)) return r;
	*graph = nullptr;
	auto capture = s->capture;
	if (!capture) return CUDA_ERROR_INVALID_VALUE;
	if (capture->origin != s) return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
	{
		std::lock_guard<std::mutex> hold(state);
		captures.erase(capture.get());
	}
	bool complete = joined(capture.get(), s->after);
	capture->ended = true;
	for (Stream *member : capture->streams) {
		member->capture = nullptr;
		member->after.clear();
	}
	if (capture->invalid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	if (!complete) return CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
	*graph = keep(new Graph{s->device, std::move(capture->nodes)});
	return CUDA_SUCCESS;
}

API CUresult cuGraphInstantiateWithFlags(Graph **executable, Graph *graph, unsigned long long flags) {
	Device *device;
	if (CUresult r = ready(&device)) return r;
	if (!known(graph) || flags) return CUDA_ERROR_INVALID_VALUE;
	*executable = keep(new Graph(*graph));
	return CUDA_SUCCESS;
}

API CUresult cuGraphDestroy(Graph *graph) {
	if (!forget(graph)) return CUDA_ERROR_INVALID_VALUE;
	delete graph;
	return CUDA_SUCCESS;
}

API CUresult cuGraphExecDestroy(Graph *graph) {
	if (!known(graph)) return CUDA_ERROR_INVALID_VALUE;
	settle(graph->device);
	return cuGraphDestroy(graph);
}

// perform runs the nodes of a graph one by one: in the order of the capture, or with a seed in any order
// that its dependencies allow, so that a missing one shows.
static void performGraph(const std::vector<Node> &nodes, uint64_t *random) {
	std::vector<int> open, waiting(nodes.size());
	std::vector<std::vector<int>> next(nodes.size());
	for (size_t i = 0; i < nodes.size(); i++) {
		waiting[i] = int(nodes[i].after.size());
		for (int earlier : nodes[i].after) next[earlier].push_back(int(i));
		if (!waiting[i]) open.push_back(int(i));
	}
	while (!open.empty()) {
		size_t chosen = 0;
		if (*random) chosen = draw(random) % open.size();
		else
			for (size_t i = 1; i < open.size(); i++)
				if (open[i] < open[chosen]) chosen = i;
		int node = open[chosen];
		open.erase(open.begin() + chosen);
		nodes[node].work();
		for (int later : next[node])
			if (--waiting[later] == 0) open.push_back(later);
	}
}

API CUresult cuGraphLaunch(Graph *graph, Stream *s) {
	if (CUresult r = usable(s)) return r;
	if (!known(graph) || graph->device != s->device) return CUDA_ERROR_INVALID_HANDLE;
	if (s->capture) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	if (loses(s->device)) return CUDA_ERROR_UNKNOWN;
	enqueue(s, [=] { performGraph(graph->nodes, &s->random); });
	return CUDA_SUCCESS;
}
