// mix is the finisher of MurmurHash3.
__device__ unsigned mix(unsigned h) {
	h ^= h >> 16;
	h *= 0x85ebca6bu;
	h ^= h >> 13;
	h *= 0xc2b2ae35u;
	return h ^ h >> 16;
}

extern "C" __global__ void nothing() {}

// Random bits, of which those of keep stay and those of set are added: with a fixed exponent they are
// numbers of one format, between one half and one, of both signs.
extern "C" __global__ void fill(unsigned* x, long long n, unsigned keep, unsigned set) {
	for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < n;
	     i += (long long)gridDim.x * blockDim.x)
		x[i] = (mix((unsigned)i + 1) & keep) | set;
}

// A thread has 4 pieces of 16 bytes on their way at a time.
extern "C" __global__ void stream(uint4* dst, const uint4* src, long long n) {
	long long first = blockIdx.x * 4LL * blockDim.x + threadIdx.x;
	uint4 v[4];
	for (int k = 0; k < 4; k++) {
		long long i = first + k * (long long)blockDim.x;
		if (i < n) v[k] = src[i];
	}
	for (int k = 0; k < 4; k++) {
		long long i = first + k * (long long)blockDim.x;
		if (i < n) dst[i] = v[k];
	}
}

// Reads whole rows of 16 << shift bytes at random places, neighbouring pieces by neighbouring threads. What
// is read is used, so that the compiler keeps the reads, and hardly ever written.
extern "C" __global__ void gather(const uint4* table, unsigned rows, int shift, long long pieces, unsigned seed,
                                  unsigned* out) {
	long long first = blockIdx.x * 4LL * blockDim.x + threadIdx.x;
	unsigned sum = 0;
	uint4 v[4];
	for (int k = 0; k < 4; k++) {
		long long i = first + k * (long long)blockDim.x;
		v[k] = make_uint4(0, 0, 0, 0);
		if (i >= pieces) continue;
		unsigned long long row = (unsigned long long)mix((unsigned)(i >> shift) + seed) * rows >> 32;
		v[k] = table[(row << shift) + (i & ((1 << shift) - 1))];
	}
	for (int k = 0; k < 4; k++) sum ^= v[k].x ^ v[k].y ^ v[k].z ^ v[k].w;
	if (sum == 0x9e3779b9u) *out = sum;
}
