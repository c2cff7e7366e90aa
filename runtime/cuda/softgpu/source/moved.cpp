// Bytes that launches move, if TANDEM_SOFTGPU_MOVED is set: the memory of devices that each has read and
// written, every page once, as if a cache had the rest. While a launch runs, pages that it has not read cannot
// be read, and pages that it has not written cannot be written. The faults are counted.

#include <ucontext.h>

struct Moved {
	long long launches = 0, read = 0, written = 0;
};

// Watched is the memory of an allocation while a launch runs.
struct Watched {
	char *map;
	Allocation *of;
	std::vector<char> pages;
};
enum { untouched, onlyRead, onlyWritten, readAndWritten };

std::mutex watchMutex;
static std::map<std::string, Moved> moved;
static std::vector<Watched> watched;
static std::atomic<bool> watching{false};
static char *latestPage;
static uintptr_t latestCode;

static uintptr_t codeOf(void *context) {
	ucontext_t *c = (ucontext_t *)context;
#if defined(__x86_64__)
	return uintptr_t(c->uc_mcontext.gregs[REG_RIP]);
#else
	return uintptr_t(c->uc_mcontext.pc);
#endif
}

// seen notes an access that has faulted, and allows it. An instruction that faults again, although it may
// read, writes.
static bool seen(char *at, void *context) {
	if (!watching) return false;
	for (Watched &w : watched) {
		size_t n = size_t(at - w.map) / page;
		if (at < w.map || n >= w.pages.size() || w.pages[n] > onlyRead) continue;
		char *begin = w.map + n * page;
		uintptr_t code = codeOf(context);
		bool again = latestPage == begin && latestCode == code, first = w.pages[n] == untouched;
		w.pages[n] = first ? onlyRead : again ? onlyWritten : readAndWritten;
		mprotect(begin, page, first ? PROT_READ : PROT_READ | PROT_WRITE);
		latestPage = begin;
		latestCode = code;
		return true;
	}
	return false;
}

static void protect(int access) {
	for (Watched &w : watched) mprotect(w.map, w.pages.size() * page, access);
}

bool countsMoved() { return numericSetting("TANDEM_SOFTGPU_MOVED", 0); }

void countMoved(const std::string &name, const Work &launch) {
	if (!countsMoved()) return launch();
	std::lock_guard<std::mutex> one(watchMutex);
	watched.clear();
	{
		std::lock_guard<std::mutex> hold(state);
		for (auto &entry : allocations) {
			Allocation *a = entry.second;
			if (!a->pinned) watched.push_back({a->map + page, a, std::vector<char>(a->mapped / page - 2)});
		}
	}
	watching = true;
	protect(PROT_NONE);
	launch();
	protect(PROT_READ | PROT_WRITE);
	watching = false;
	Moved &m = moved[name];
	m.launches++;
	for (Watched &w : watched)
		for (size_t n = 0; n < w.pages.size(); n++) {
			char *begin = std::max(w.map + n * page, w.of->start);
			long long bytes = std::min(w.map + (n + 1) * page, w.of->start + w.of->bytes) - begin;
			if (w.pages[n] == onlyRead || w.pages[n] == readAndWritten) m.read += bytes;
			if (w.pages[n] == onlyWritten || w.pages[n] == readAndWritten) m.written += bytes;
		}
}

// softgpuMoved returns how often a kernel, or "product", has run while bytes were counted, and the bytes that it
// has read and written.
API void softgpuMoved(const char *kernel, long long *launches, long long *read, long long *written) {
	std::lock_guard<std::mutex> one(watchMutex);
	Moved m = moved[kernel];
	*launches = m.launches;
	*read = m.read;
	*written = m.written;
}
