// EACH visits the elements [0, n) with all threads of a launch, whatever their number is.
#define EACH(i, n) \
	for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < (n); \
	     i += (long long)gridDim.x * blockDim.x)

// bf16 is the upper half of a float. Kernels compute with floats; where they keep their results as bf16, their
// names end in _bf16. They are templates, so that both forms are one text.
struct bf16 {
	unsigned short bits;
};

__device__ float value_of(float x) { return x; }

__device__ float value_of(bf16 x) { return __uint_as_float((unsigned)x.bits << 16); }

__device__ void keep(float* to, float x) { *to = x; }

// Rounded to nearest, ties to even. A NaN stays one.
__device__ void keep(bf16* to, float x) {
	unsigned bits = __float_as_uint(x);
	if ((bits & 0x7fffffffu) > 0x7f800000u) {
		to->bits = (unsigned short)((bits >> 16) | 0x40u);
	} else {
		to->bits = (unsigned short)((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
	}
}

extern "C" __global__ void to_bf16(bf16* out, const float* x, long long n) {
	EACH(i, n) keep(&out[i], x[i]);
}

// NaN stays NaN, so that a diverged network shows.
extern "C" __global__ void relu(float* x, long long n) {
	EACH(i, n) if (x[i] <= 0) x[i] = 0;
}

extern "C" __global__ void relu_backward(float* grad, const float* out, long long n) {
	EACH(i, n) if (out[i] <= 0) grad[i] = 0;
}

// Eight values at an address that is a multiple of 16, which one instruction loads or stores. What lies behind
// the last value in its eight is changed, too: nothing reads it.
struct alignas(16) eight {
	bf16 v[8];
};

// Each eight has a byte of bits, which say whose gradients flow: an eighth of a byte for each value instead of
// the two bytes of the value itself.
extern "C" __global__ void relu_bf16(eight* x, unsigned char* flows, long long eights) {
	EACH(i, eights) {
		eight e = x[i];
		unsigned bits = 0;
		for (int k = 0; k < 8; k++) {
			if (value_of(e.v[k]) <= 0) {
				e.v[k].bits = 0;
			} else {
				bits |= 1u << k;
			}
		}
		x[i] = e;
		flows[i] = (unsigned char)bits;
	}
}

extern "C" __global__ void relu_backward_bf16(eight* grad, const unsigned char* flows, long long eights) {
	EACH(i, eights) {
		eight g = grad[i];
		for (int k = 0; k < 8; k++) {
			if (!(flows[i] >> k & 1)) g.v[k].bits = 0;
		}
		grad[i] = g;
	}
}

// Whether the gradient of a value flows through ReLU, by the result of ReLU or by the bits of relu_bf16.
__device__ int flows_at(const float* out, long long at) { return !(out[at] <= 0); }

__device__ int flows_at(const unsigned char* flows, long long at) { return flows[at / 8] >> (at % 8) & 1; }

// A vector is added to each row, where the library cannot do that as part of a product.
template <class T>
__device__ void add_bias_of(T* x, const float* bias, long long rows, int cols) {
	EACH(i, rows * cols) keep(&x[i], value_of(x[i]) + bias[i % cols]);
}

extern "C" __global__ void add_bias(float* x, const float* bias, long long rows, int cols) {
	add_bias_of(x, bias, rows, cols);
}

extern "C" __global__ void add_bias_bf16(bf16* x, const float* bias, long long rows, int cols) {
	add_bias_of(x, bias, rows, cols);
}

extern "C" __global__ void add(float* x, const float* y, long long n) {
	EACH(i, n) x[i] += y[i];
}

// The columns [first, first + width) of rows, which are stride values apart, from one matrix to another, or
// added to what it holds.
template <class D, class S>
__device__ void copy_columns_of(D* dst, int dst_stride, int dst_first, const S* src, int src_stride,
                                int src_first, long long rows, int width, int fresh) {
	EACH(i, rows * width) {
		long long row = i / width, column = i % width;
		D* to = &dst[row * dst_stride + dst_first + column];
		float x = value_of(src[row * src_stride + src_first + column]);
		keep(to, fresh ? x : value_of(*to) + x);
	}
}

extern "C" __global__ void copy_columns(float* dst, int dst_stride, int dst_first, const float* src,
                                        int src_stride, int src_first, long long rows, int width, int fresh) {
	copy_columns_of(dst, dst_stride, dst_first, src, src_stride, src_first, rows, width, fresh);
}

extern "C" __global__ void copy_columns_bf16(bf16* dst, int dst_stride, int dst_first, const bf16* src,
                                             int src_stride, int src_first, long long rows, int width,
                                             int fresh) {
	copy_columns_of(dst, dst_stride, dst_first, src, src_stride, src_first, rows, width, fresh);
}

extern "C" __global__ void copy_columns_to_bf16(bf16* dst, int dst_stride, int dst_first, const float* src,
                                                int src_stride, int src_first, long long rows, int width,
                                                int fresh) {
	copy_columns_of(dst, dst_stride, dst_first, src, src_stride, src_first, rows, width, fresh);
}

extern "C" __global__ void copy_columns_from_bf16(float* dst, int dst_stride, int dst_first, const bf16* src,
                                                  int src_stride, int src_first, long long rows, int width,
                                                  int fresh) {
	copy_columns_of(dst, dst_stride, dst_first, src, src_stride, src_first, rows, width, fresh);
}

// out = x·y + z, which is the half of a cross layer that has no parameters.
template <class Y>
__device__ void gate_of(float* out, const float* x, const Y* y, const float* z, long long n) {
	EACH(i, n) out[i] = x[i] * value_of(y[i]) + z[i];
}

extern "C" __global__ void gate(float* out, const float* x, const float* y, const float* z, long long n) {
	gate_of(out, x, y, z, n);
}

extern "C" __global__ void gate_bf16(float* out, const float* x, const bf16* y, const float* z, long long n) {
	gate_of(out, x, y, z, n);
}

// Gradients may be the same array, so they are written in this order. One that is fresh holds nothing yet.
template <class Y>
__device__ void gate_backward_of(float* grad_x, int fresh_x, Y* grad_y, int fresh_y, float* grad_z, int fresh_z,
                                 const float* grad, const float* x, const Y* y, long long n) {
	EACH(i, n) {
		float g = grad[i], gx = g * value_of(y[i]), gy = g * x[i];
		grad_x[i] = fresh_x ? gx : grad_x[i] + gx;
		keep(&grad_y[i], fresh_y ? gy : value_of(grad_y[i]) + gy);
		grad_z[i] = fresh_z ? g : grad_z[i] + g;
	}
}

extern "C" __global__ void gate_backward(float* grad_x, int fresh_x, float* grad_y, int fresh_y, float* grad_z,
                                         int fresh_z, const float* grad, const float* x, const float* y,
                                         long long n) {
	gate_backward_of(grad_x, fresh_x, grad_y, fresh_y, grad_z, fresh_z, grad, x, y, n);
}

extern "C" __global__ void gate_backward_bf16(float* grad_x, int fresh_x, bf16* grad_y, int fresh_y,
                                              float* grad_z, int fresh_z, const float* grad, const float* x,
                                              const bf16* y, long long n) {
	gate_backward_of(grad_x, fresh_x, grad_y, fresh_y, grad_z, fresh_z, grad, x, y, n);
}

// One flag for all elements; the threads that set it write the same value.
extern "C" __global__ void find_not_finite(int* found, const float* x, long long n) {
	EACH(i, n) if ((__float_as_uint(x[i]) & 0x7f800000u) == 0x7f800000u) *found = 1;
}

// Adds vectors, stride values apart, along the binary tree over their positions: neighbours first, then pairs
// of neighbours. Partial sums of 2^k vectors wait in levels; the number of vectors so far says which exist.
extern "C" __global__ void tree_sum(float* vectors, long long stride, int count, long long n) {
	EACH(i, n) {
		float levels[32];
		int depth = 0;
		for (int k = 0; k < count; k++) {
			float sum = vectors[k * stride + i];
			for (int merged = k; merged & 1; merged >>= 1) sum = levels[--depth] + sum;
			levels[depth++] = sum;
		}
		while (depth > 1) {
			depth--;
			levels[depth - 1] += levels[depth];
		}
		vectors[i] = levels[0];
	}
}
