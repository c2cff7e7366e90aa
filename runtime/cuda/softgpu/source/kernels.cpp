// Modules, and launches of kernels: one fibre for each thread of a block, so that barriers and shuffles
// work.

#include <dlfcn.h>
#include <sys/stat.h>

#include <map>
#include <mutex>

struct Vector { unsigned x, y, z; };
struct Block;

// Seen has the fields of SoftgpuBlock in prelude.inc.
struct Seen {
	Vector threadIdx, blockIdx, blockDim, gridDim;
	void *shared;
	void (*barrier)(Block *);
	unsigned long (*exchange)(Block *, unsigned mask, unsigned long value, int source);
};

typedef void (*Call)(Block *, void **arguments);

// A Fibre runs threads of a block one after the other, until one of them waits. Then the next thread gets
// another fibre.
struct Fibre {
	char *stack;
	void *context;
};

struct Warp {
	unsigned arrived = 0, alive = 0;
	unsigned masks[32];
	unsigned long values[32], results[32];
	int sources[32];
	Fibre *fibres[32];
};

// A Block is also the worker of a stream: its blocks run one after the other and use the same fibres.
struct Block : Seen {
	std::vector<Fibre *> idle, all;
	std::deque<Fibre *> runnable;
	std::vector<Fibre *> waiting;  // at the barrier
	std::vector<Warp> warps;
	Fibre *running;
	void *home;  // the context of the worker
	int threads, next, finished;
	bool backwards;
	Call call;
	void **arguments;
	std::string kernel;
	// Faults:
	bool mayFault = false, inKernel = false;
	sigjmp_buf escape;
	uintptr_t fault;
	Block();
	~Block();
};

static thread_local Block *worker __attribute__((tls_model("initial-exec")));

// softgpuSwitch saves the registers that calls preserve and the stack pointer, and loads others.
extern "C" void softgpuSwitch(void **save, void *load);
#if defined(__x86_64__)
asm(R"(
.text
.globl softgpuSwitch
.hidden softgpuSwitch
.type softgpuSwitch, @function
softgpuSwitch:
	pushq %rbp
	pushq %rbx
	pushq %r12
	pushq %r13
	pushq %r14
	pushq %r15
	movq %rsp, (%rdi)
	movq %rsi, %rsp
	popq %r15
	popq %r14
	popq %r13
	popq %r12
	popq %rbx
	popq %rbp
	ret
.size softgpuSwitch, .-softgpuSwitch
)");
static const int returnWord = 6, frameWords = 8;
#elif defined(__aarch64__)
asm(R"(
.text
.globl softgpuSwitch
.hidden softgpuSwitch
.type softgpuSwitch, %function
softgpuSwitch:
	sub sp, sp, #160
	stp x19, x20, [sp, #0]
	stp x21, x22, [sp, #16]
	stp x23, x24, [sp, #32]
	stp x25, x26, [sp, #48]
	stp x27, x28, [sp, #64]
	stp x29, x30, [sp, #80]
	stp d8, d9, [sp, #96]
	stp d10, d11, [sp, #112]
	stp d12, d13, [sp, #128]
	stp d14, d15, [sp, #144]
	mov x9, sp
	str x9, [x0]
	mov sp, x1
	ldp x19, x20, [sp, #0]
	ldp x21, x22, [sp, #16]
	ldp x23, x24, [sp, #32]
	ldp x25, x26, [sp, #48]
	ldp x27, x28, [sp, #64]
	ldp x29, x30, [sp, #80]
	ldp d8, d9, [sp, #96]
	ldp d10, d11, [sp, #112]
	ldp d12, d13, [sp, #128]
	ldp d14, d15, [sp, #144]
	add sp, sp, #160
	ret
.size softgpuSwitch, .-softgpuSwitch
)");
static const int returnWord = 11, frameWords = 20;
#else
#error "the software GPU knows amd64 and arm64"
#endif

static const size_t stackBytes = 64 << 10, guardBytes = 4096;

static void setThread(Block *b, int thread) {
	if (b->backwards) thread = b->threads - 1 - thread;
	unsigned x = b->blockDim.x, y = b->blockDim.y;
	b->threadIdx = {thread % x, thread / x % y, thread / (x * y)};
}

static int linearThread(Block *b) {
	return b->threadIdx.x + b->blockDim.x * (b->threadIdx.y + b->blockDim.y * b->threadIdx.z);
}

static Fibre *nextFibre(Block *b);

// park lets other fibres run, until this one is runnable and its turn has come.
static void park(Block *b) {
	Fibre *self = b->running, *next = nextFibre(b);
	if (next == self) return;
	Vector thread = b->threadIdx;
	b->running = next;
	softgpuSwitch(&self->context, next ? next->context : b->home);
	b->threadIdx = thread;
}

// openBarrier lets the waiting threads on if no other thread can still come.
static bool openBarrier(Block *b) {
	if (int(b->waiting.size()) < b->threads - b->finished) return false;
	for (Fibre *f : b->waiting) b->runnable.push_back(f);
	b->waiting.clear();
	return true;
}

static void barrier(Block *b) {
	b->waiting.push_back(b->running);
	openBarrier(b);
	park(b);
}

static void answerExchange(Block *b, Warp *w) {
	for (int lane = 0; lane < 32; lane++) {
		if (!(w->arrived >> lane & 1)) continue;
		unsigned needed = w->masks[lane] & w->alive;
		if ((w->arrived & needed) != needed) continue;
		for (int l = 0; l < 32; l++) {
			if (!(needed >> l & 1)) continue;
			if (w->sources[l] == 32) {
				w->results[l] = 0;
				for (int from = 0; from < 32; from++)
					w->results[l] |= (needed >> from & 1) && w->values[from] ? 1ul << from : 0;
			} else {
				// A lane that does not take part has no value: NaN in every format.
				bool there = w->sources[l] >= 0 && needed >> w->sources[l] & 1;
				w->results[l] = there ? w->values[w->sources[l]] : ~0ul;
			}
			b->runnable.push_back(w->fibres[l]);
		}
		w->arrived &= ~needed;
	}
}

static unsigned long exchange(Block *b, unsigned mask, unsigned long value, int source) {
	int thread = linearThread(b), lane = thread & 31;
	Warp *w = &b->warps[thread >> 5];
	w->arrived |= 1u << lane;
	w->masks[lane] = mask | 1u << lane;
	w->values[lane] = value;
	w->sources[lane] = source;
	w->fibres[lane] = b->running;
	answerExchange(b, w);
	park(b);
	return w->results[lane];
}

static void runThreads() {
	Block *b = worker;
	for (;;) {
		while (b->next < b->threads) {
			setThread(b, b->next++);
			b->call(b, b->arguments);
			b->finished++;
			int thread = linearThread(b);
			Warp *w = &b->warps[thread >> 5];
			w->alive &= ~(1u << (thread & 31));
			if (w->arrived) answerExchange(b, w);
			if (!b->waiting.empty()) openBarrier(b);
		}
		b->idle.push_back(b->running);
		park(b);
	}
}

static Fibre *freshFibre(Block *b) {
	if (!b->idle.empty()) {
		Fibre *f = b->idle.back();
		b->idle.pop_back();
		return f;
	}
	Fibre *f = new Fibre;
	f->stack = (char *)mmap(nullptr, guardBytes + stackBytes, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (f->stack == MAP_FAILED) abort();
	mprotect(f->stack, guardBytes, PROT_NONE);
	// Stacks begin at different places of their pages: else their ends would compete for the same lines of
	// the cache.
	size_t apart = b->all.size() % 20 * 192;
	void **frame = (void **)(f->stack + guardBytes + stackBytes - apart) - frameWords;
	for (int i = 0; i < frameWords; i++) frame[i] = nullptr;
	frame[returnWord] = (void *)runThreads;
	f->context = frame;
	b->all.push_back(f);
	return f;
}

// nextFibre returns the fibre to run next, or null if all wait.
static Fibre *nextFibre(Block *b) {
	if (b->next < b->threads) return freshFibre(b);
	if (b->runnable.empty()) return nullptr;
	Fibre *f = b->runnable.front();
	b->runnable.pop_front();
	return f;
}

static void dropFibres(Block *b) {
	for (Fibre *f : b->all) {
		munmap(f->stack, guardBytes + stackBytes);
		delete f;
	}
	b->all.clear();
	b->idle.clear();
	b->runnable.clear();
	b->waiting.clear();
}

// runBlock runs the threads of one block. It returns false if all of them wait for different things.
static bool runBlock(Block *b) {
	b->next = b->finished = 0;
	b->warps.assign((b->threads + 31) / 32, Warp());
	for (int t = 0; t < b->threads; t++) b->warps[t >> 5].alive |= 1u << (t & 31);
	while (b->finished < b->threads) {
		b->running = nextFibre(b);
		if (!b->running) return false;
		softgpuSwitch(&b->home, b->running->context);
	}
	return true;
}

Block::Block() {
	((Seen *)this)->barrier = ::barrier;
	((Seen *)this)->exchange = ::exchange;
	stack_t alternative = {};
	alternative.ss_size = 64 << 10;
	alternative.ss_sp = malloc(alternative.ss_size);
	sigaltstack(&alternative, nullptr);
}

Block::~Block() { dropFibres(this); }

struct WorkerOfThread {
	std::unique_ptr<Block> block;
};
static thread_local WorkerOfThread workerOfThread;

static Block *thisWorker() {
	if (!worker) {
		workerOfThread.block.reset(new Block);
		worker = workerOfThread.block.get();
	}
	return worker;
}

static struct sigaction segmentBefore, busBefore;

static void onFault(int signal, siginfo_t *info, void *context) {
	if (seen((char *)info->si_addr, context)) return;
	if (worker && worker->mayFault) {
		worker->mayFault = false;
		worker->fault = uintptr_t(info->si_addr);
		siglongjmp(worker->escape, 1);
	}
	struct sigaction *before = signal == SIGBUS ? &busBefore : &segmentBefore;
	if (before->sa_flags & SA_SIGINFO) before->sa_sigaction(signal, info, context);
	else if (before->sa_handler != SIG_DFL && before->sa_handler != SIG_IGN) before->sa_handler(signal);
	else sigaction(signal, before, nullptr);  // happens again, and ends the process
}

void allowFaults() {
	struct sigaction action = {};
	action.sa_sigaction = onFault;
	action.sa_flags = SA_SIGINFO | SA_ONSTACK;
	sigemptyset(&action.sa_mask);
	sigaction(SIGSEGV, &action, &segmentBefore);
	sigaction(SIGBUS, &action, &busBefore);
}

bool attempt(const Work &work, uintptr_t *fault) {
	Block *b = thisWorker();
	b->inKernel = false;
	if (sigsetjmp(b->escape, 1)) {
		*fault = b->fault;
		return false;
	}
	b->mayFault = true;
	work();
	b->mayFault = false;
	return true;
}

std::string whereFaulted() {
	Block *b = thisWorker();
	if (!b->inKernel) return "a copy, clearing, product or reduction accessed memory";
	char text[300];
	snprintf(text, sizeof text, "kernel %s, block (%u, %u, %u), thread (%u, %u, %u) accessed memory",
		b->kernel.c_str(), b->blockIdx.x, b->blockIdx.y, b->blockIdx.z, b->threadIdx.x, b->threadIdx.y,
		b->threadIdx.z);
	dropFibres(b);
	return text;
}

struct Module {
	void *library;
};

static const int mostArguments = 64;

struct Function {
	Device *device;
	std::string name;
	Call call;
	int count, sizes[mostArguments];
	int shared = 48 << 10;
};

// imageBegin comes before the shared library in what nvrtc.cpp makes of a source.
extern const std::string imageBegin;

API CUresult cuModuleLoadData(Module **module, const void *image) {
	Device *device;
	if (CUresult r = ready(&device)) return r;
	const char *data = (const char *)image;
	if (strncmp(data, imageBegin.data(), imageBegin.size())) return CUDA_ERROR_INVALID_IMAGE;
	uint64_t bytes;
	memcpy(&bytes, data + imageBegin.size(), sizeof bytes);
	char name[] = "/tmp/softgpu-XXXXXX";
	int file = mkstemp(name);
	if (file < 0) return CUDA_ERROR_OUT_OF_MEMORY;
	bool written = write(file, data + imageBegin.size() + sizeof bytes, bytes) == ssize_t(bytes);
	close(file);
	void *library = written ? dlopen(name, RTLD_NOW | RTLD_LOCAL) : nullptr;
	unlink(name);
	if (!library) return CUDA_ERROR_INVALID_IMAGE;
	*module = keep(new Module{library});
	return CUDA_SUCCESS;
}

API CUresult cuModuleUnload(Module *module) {
	Device *device;
	if (CUresult r = ready(&device)) return r;
	if (!forget(module)) return CUDA_ERROR_INVALID_HANDLE;
	settle(device);
	dlclose(module->library);
	delete module;
	return CUDA_SUCCESS;
}

API CUresult cuModuleGetFunction(Function **function, Module *module, const char *name) {
	Device *device;
	if (CUresult r = ready(&device)) return r;
	if (!known(module)) return CUDA_ERROR_INVALID_HANDLE;
	void *call = dlsym(module->library, ("softgpu_call_" + std::string(name)).c_str());
	auto sizes = (int (*)(int *))dlsym(module->library, ("softgpu_sizes_" + std::string(name)).c_str());
	if (!call || !sizes) return CUDA_ERROR_NOT_FOUND;
	Function *f = new Function;
	f->device = device;
	f->name = name;
	f->call = Call(call);
	f->count = sizes(f->sizes);
	*function = keep(f);
	return CUDA_SUCCESS;
}

API CUresult cuFuncGetParamInfo(Function *f, size_t index, size_t *offset, size_t *size) {
	if (!known(f)) return CUDA_ERROR_INVALID_HANDLE;
	if (index >= size_t(f->count)) return CUDA_ERROR_INVALID_VALUE;
	*offset = 0;
	for (size_t i = 0; i <= index; i++) {
		*size = f->sizes[i];
		*offset = (*offset + *size - 1) / *size * *size + (i < index ? *size : 0);
	}
	return CUDA_SUCCESS;
}

API CUresult cuFuncSetAttribute(Function *f, int attribute, int value) {
	if (!known(f)) return CUDA_ERROR_INVALID_HANDLE;
	if (attribute != 8 || value < 0 || value > 227 << 10)  // CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
		return CUDA_ERROR_INVALID_VALUE;
	f->shared = value;
	return CUDA_SUCCESS;
}

// SharedMemory ends, as allocations do, at a page that cannot be touched.
struct SharedMemory {
	char *map;
	size_t bytes;
	explicit SharedMemory(size_t n) : bytes((n + 4095) / 4096 * 4096) {
		map = (char *)mmap(nullptr, bytes + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		mprotect(map + bytes, 4096, PROT_NONE);
	}
	~SharedMemory() { munmap(map, bytes + 4096); }
};

struct Launch {
	Device *device;
	std::string kernel;
	Call call;
	Vector grid, block;
	size_t shared;
	std::vector<uint64_t> values;
	std::vector<void *> arguments;
	uint64_t random;
};

// How often each kernel has run in this process.
static std::mutex ranMutex;
static std::map<std::string, long long> ran;

API long long softgpuRan(const char *kernel) {
	std::lock_guard<std::mutex> lock(ranMutex);
	auto found = ran.find(kernel);
	return found == ran.end() ? 0 : found->second;
}

static void countRun(const std::string &kernel) {
	std::lock_guard<std::mutex> lock(ranMutex);
	ran[kernel]++;
}

static void runKernel(const std::shared_ptr<Launch> &l) {
	countRun(l->kernel);
	Block *b = thisWorker();
	b->kernel = l->kernel;
	b->call = l->call;
	b->arguments = l->arguments.data();
	b->blockDim = l->block;
	b->gridDim = l->grid;
	b->threads = l->block.x * l->block.y * l->block.z;
	size_t shared = (l->shared + 15) & ~size_t(15);
	std::unique_ptr<SharedMemory> memory;
	if (shared) memory.reset(new SharedMemory(shared));
	b->shared = shared ? memory->map + memory->bytes - shared : nullptr;
	uint64_t blocks = uint64_t(l->grid.x) * l->grid.y * l->grid.z;
	// With a seed, blocks and threads run in another order.
	b->backwards = l->random && draw(&l->random) % 2;
	uint64_t first = l->random ? draw(&l->random) % blocks : 0;
	for (uint64_t i = 0; i < blocks; i++) {
		uint64_t n = (first + i) % blocks;
		b->blockIdx = {unsigned(n % l->grid.x), unsigned(n / l->grid.x % l->grid.y),
			unsigned(n / l->grid.x / l->grid.y)};
		if (shared) memset(b->shared, 0xFF, shared);
		b->inKernel = true;
		if (!runBlock(b)) {
			breakDevice(l->device, CUDA_ERROR_LAUNCH_FAILED,
				whereFaulted() + " and waits at a barrier or shuffle that other threads do not reach");
			return;
		}
		b->inKernel = false;
	}
}

API CUresult cuLaunchKernel(Function *f, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX,
	unsigned blockY, unsigned blockZ, unsigned shared, Stream *s, void **arguments, void **extra) {
	Device *device;
	if (CUresult r = ready(&device)) return r;
	if (!known(f) || !known(s) || s->device != device) return CUDA_ERROR_INVALID_HANDLE;
	uint64_t threads = uint64_t(blockX) * blockY * blockZ;
	if (!gridX || !gridY || !gridZ || !threads || threads > 1024 || blockZ > 64 || gridX > 0x7fffffff ||
		gridY > 65535 || gridZ > 65535 || int(shared) > f->shared || extra || (f->count && !arguments))
		return CUDA_ERROR_INVALID_VALUE;
	auto l = std::make_shared<Launch>();
	l->device = device;
	l->kernel = f->name;
	l->call = f->call;
	l->grid = {gridX, gridY, gridZ};
	l->block = {blockX, blockY, blockZ};
	l->shared = shared;
	l->random = s->random ? draw(&s->random) : 0;
	size_t words = 0;
	for (int i = 0; i < f->count; i++) words += (f->sizes[i] + 7) / 8;
	l->values.resize(words);
	words = 0;
	for (int i = 0; i < f->count; i++) {
		memcpy(&l->values[words], arguments[i], f->sizes[i]);
		l->arguments.push_back(&l->values[words]);
		words += (f->sizes[i] + 7) / 8;
	}
	return issue(s, [l] { countMoved(l->kernel, [l] { runKernel(l); }); });
}
