// EACH visits the elements [0, n) with all threads of a launch, whatever their number is.
#define EACH(i, n) \
	for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < (n); \
	     i += (long long)gridDim.x * blockDim.x)

// NaN stays NaN, so that a diverged network shows.
extern "C" __global__ void relu(float* x, long long n) {
	EACH(i, n) if (x[i] <= 0) x[i] = 0;
}

extern "C" __global__ void relu_backward(float* grad, const float* out, long long n) {
	EACH(i, n) if (out[i] <= 0) grad[i] = 0;
}

extern "C" __global__ void add(float* x, const float* y, long long n) {
	EACH(i, n) x[i] += y[i];
}

// The columns [first, first + width) of rows, which are stride values apart, from one matrix to another.
extern "C" __global__ void copy_columns(float* dst, int dst_stride, int dst_first, const float* src,
                                        int src_stride, int src_first, long long rows, int width) {
	EACH(i, rows * width) {
		long long row = i / width, column = i % width;
		dst[row * dst_stride + dst_first + column] = src[row * src_stride + src_first + column];
	}
}

extern "C" __global__ void add_columns(float* dst, int dst_stride, int dst_first, const float* src,
                                       int src_stride, int src_first, long long rows, int width) {
	EACH(i, rows * width) {
		long long row = i / width, column = i % width;
		dst[row * dst_stride + dst_first + column] += src[row * src_stride + src_first + column];
	}
}

// out = x·y + z, which is the half of a cross layer that has no parameters.
extern "C" __global__ void gate(float* out, const float* x, const float* y, const float* z, long long n) {
	EACH(i, n) out[i] = x[i] * y[i] + z[i];
}

// Gradients may be the same array, so they are written in this order. One that is fresh holds nothing yet.
extern "C" __global__ void gate_backward(float* grad_x, int fresh_x, float* grad_y, int fresh_y, float* grad_z,
                                         int fresh_z, const float* grad, const float* x, const float* y,
                                         long long n) {
	EACH(i, n) {
		float g = grad[i], gx = g * y[i], gy = g * x[i];
		grad_x[i] = fresh_x ? gx : grad_x[i] + gx;
		grad_y[i] = fresh_y ? gy : grad_y[i] + gy;
		grad_z[i] = fresh_z ? g : grad_z[i] + g;
	}
}

// bf16 is the upper half of a float, rounded to nearest, ties to even. A NaN stays one.
extern "C" __global__ void to_bf16(unsigned short* out, const float* x, long long n) {
	EACH(i, n) {
		unsigned bits = __float_as_uint(x[i]);
		if ((bits & 0x7fffffffu) > 0x7f800000u) {
			out[i] = (unsigned short)((bits >> 16) | 0x40u);
		} else {
			out[i] = (unsigned short)((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
		}
	}
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
