// Dot products of all pairs of vectors of a sample, the strictly lower triangle of their Gram matrix row by
// row. A block has a sample. Its vectors are copied to shared memory if the launch has any: they lie a value
// further apart there, so that threads with different vectors read different banks.

template <class V>
__device__ const float* vectors_of(const V* all, long long sample, int count, int dim, int in_shared) {
	extern __shared__ float copy[];
	const V* vectors = all + sample * count * dim;
	if (!in_shared) return (const float*)vectors; // they are floats: see interaction.room
	for (int i = threadIdx.x; i < count * dim; i += blockDim.x) {
		copy[i / dim * (dim + 1) + i % dim] = value_of(vectors[i]);
	}
	__syncthreads();
	return copy;
}

template <class T, class V>
__device__ void interaction_of(T* out, const V* all, int count, int dim, int in_shared) {
	long long sample = blockIdx.x;
	const float* vectors = vectors_of(all, sample, count, dim, in_shared);
	int stride = dim + in_shared, pairs = count * (count - 1) / 2;
	int i = 1, first = 0; // pair first is (i, 0)
	for (int pair = threadIdx.x; pair < pairs; pair += blockDim.x) {
		while (pair >= first + i) first += i++;
		int j = pair - first;
		float sum = 0;
		for (int d = 0; d < dim; d++) sum += vectors[i * stride + d] * vectors[j * stride + d];
		keep(&out[sample * pairs + pair], sum);
	}
}

extern "C" __global__ void interaction(float* out, const float* all, int count, int dim, int in_shared) {
	interaction_of(out, all, count, dim, in_shared);
}

extern "C" __global__ void interaction_bf16(bf16* out, const bf16* all, int count, int dim, int in_shared) {
	interaction_of(out, all, count, dim, in_shared);
}

extern "C" __global__ void interaction_to_bf16(bf16* out, const float* all, int count, int dim, int in_shared) {
	interaction_of(out, all, count, dim, in_shared);
}

template <class V, class T>
__device__ void interaction_backward_of(V* grad_vectors, const V* all, const T* grad, int count, int dim,
                                        int fresh, int in_shared) {
	long long sample = blockIdx.x;
	int width = count * dim, stride = dim + in_shared;
	int pairs = count * (count - 1) / 2;
	grad += sample * pairs;
	extern __shared__ float block[]; // the vectors, and then the gradients of their products
	const float* of_pairs = (const float*)grad;
	if (in_shared) {
		float* own = block + count * stride; // vectors_of waits for all threads
		for (int pair = threadIdx.x; pair < pairs; pair += blockDim.x) own[pair] = value_of(grad[pair]);
		of_pairs = own;
	}
	const float* vectors = vectors_of(all, sample, count, dim, in_shared);
	for (int at = threadIdx.x; at < width; at += blockDim.x) {
		int i = at / dim, d = at % dim;
		const float *v = vectors + d, *row = of_pairs + i * (i - 1) / 2;
		float sum = 0;
#pragma unroll 4
		for (int j = 0; j < i; j++, v += stride) sum += row[j] * *v;
		row += i + i; // the pair (i + 1, i); pair (j, i) lies j values before (j + 1, i)
#pragma unroll 4
		for (int j = i + 1; j < count; row += j++) sum += *row * *(v += stride);
		V* to = &grad_vectors[sample * width + at];
		keep(to, fresh ? sum : value_of(*to) + sum);
	}
}

extern "C" __global__ void interaction_backward(float* grad_vectors, const float* all, const float* grad,
                                                int count, int dim, int fresh, int in_shared) {
	interaction_backward_of(grad_vectors, all, grad, count, dim, fresh, in_shared);
}

extern "C" __global__ void interaction_backward_bf16(bf16* grad_vectors, const bf16* all, const bf16* grad,
                                                     int count, int dim, int fresh, int in_shared) {
	interaction_backward_of(grad_vectors, all, grad, count, dim, fresh, in_shared);
}

extern "C" __global__ void interaction_backward_from_bf16(float* grad_vectors, const float* all,
                                                          const bf16* grad, int count, int dim, int fresh,
                                                          int in_shared) {
	interaction_backward_of(grad_vectors, all, grad, count, dim, fresh, in_shared);
}

// Logits that are linear in values of the rows, which begin at given places of a sample, and in numbers.
extern "C" __global__ void linear(float* out, const float* rows, const int* places, int count, int stride,
                                  const float* x, int width, const float* weight, const float* bias, int heads,
                                  long long samples) {
	EACH(at, samples * heads) {
		long long i = at / heads, h = at % heads;
		double logit = bias[h];
		for (int k = 0; k < count; k++) logit += rows[i * stride + places[k] + h];
		for (int j = 0; j < width; j++) logit += (double)weight[h * width + j] * x[i * width + j];
		out[at] = (float)logit;
	}
}

extern "C" __global__ void linear_backward(float* grad_rows, const float* grad, const int* places, int count,
                                           int stride, int heads, long long samples) {
	EACH(at, samples * count * heads) {
		long long i = at / (count * heads), k = at / heads % count, h = at % heads;
		grad_rows[i * stride + places[k] + h] += grad[i * heads + h];
	}
}

// The vectors of a factorization machine: rows without their first value, and numbers times parameters.
extern "C" __global__ void factors(float* out, const float* rows, const int* places, int slots, int stride, int dim,
                                   const float* x, int width, const float* vectors, long long samples) {
	int row = (slots + width) * dim;
	EACH(at, samples * row) {
		long long i = at / row;
		int k = at % row / dim, d = at % dim;
		if (k < slots) {
			out[at] = rows[i * stride + places[k] + 1 + d];
		} else {
			out[at] = vectors[(k - slots) * dim + d] * x[i * width + k - slots];
		}
	}
}

extern "C" __global__ void factors_backward_rows(float* grad_rows, const float* grad, const int* places, int slots,
                                                 int stride, int dim, int width, long long samples) {
	EACH(at, samples * slots * dim) {
		long long i = at / (slots * dim);
		int k = at / dim % slots, d = at % dim;
		grad_rows[i * stride + places[k] + 1 + d] += grad[(i * (slots + width) + k) * dim + d];
	}
}

// The partial sums of finish_columns for the gradients of the parameters, width × dim columns.
extern "C" __global__ void factors_backward(double* partial, const float* grad, const float* x, int slots,
                                            int dim, int width, long long samples) {
	int column = COLUMN;
	double sum = 0;
	if (column < width * dim) {
		EACH_ROW(i, samples) {
			sum += (double)x[i * width + column / dim] * grad[(i * (slots + width) + slots) * dim + column];
		}
	}
	keep_partial(sum, partial, width * dim);
}

// The sum of the dot products of all pairs of vectors of a sample, by its square: ½·Σ[(Σv)² − Σv²]. A warp has
// a sample. The sums Σv are kept for the backward pass.
extern "C" __global__ void pair_sum(float* out, double* sums, const float* vectors, int count, int dim) {
	long long i = blockIdx.x;
	double twice = 0;
	for (int d = threadIdx.x; d < dim; d += warpSize) {
		double sum = 0, squares = 0;
		for (int k = 0; k < count; k++) {
			double v = vectors[(i * count + k) * dim + d];
			sum += v;
			squares += v * v;
		}
		sums[i * dim + d] = sum;
		twice += sum * sum - squares;
	}
	for (int off = warpSize / 2; off > 0; off /= 2) twice += __shfl_down_sync(0xffffffffu, twice, off);
	if (threadIdx.x == 0) out[i] = (float)(twice / 2);
}

extern "C" __global__ void pair_sum_backward(float* grad_vectors, const float* vectors, const double* sums,
                                             const float* grad, int count, int dim, long long samples) {
	EACH(at, samples * count * dim) {
		long long i = at / (count * dim);
		grad_vectors[at] += (float)((double)grad[i] * (sums[i * dim + at % dim] - (double)vectors[at]));
	}
}

// Binary cross-entropy of logits, in the form that neither overflows nor takes the logarithm of 0. A loss
// counts the weight of its head, and that of positive samples too if the label is one.
extern "C" __global__ void cross_entropy(float* grad, double* losses, const float* logits, const float* labels,
                                         const float* weights, const float* positive, int heads, long long n) {
	EACH(i, n) {
		double z = logits[i], y = labels[i];
		float weight = weights[i % heads];
		if (labels[i] > 0.5f) weight *= positive[i % heads];
		double w = weight, e = exp(-fabs(z));
		double sigmoid = z >= 0 ? 1 / (1 + e) : e / (1 + e);
		losses[i] = w * ((z > 0 || z != z ? z : 0) - z * y + log1p(e));
		grad[i] = (float)(w * (sigmoid - y));
	}
}

#define SUM_THREADS 256

__device__ double sum_of_block(double sum) {
	__shared__ double lanes[SUM_THREADS];
	lanes[threadIdx.x] = sum;
	__syncthreads();
	for (int half = SUM_THREADS / 2; half > 0; half /= 2) {
		if (threadIdx.x < half) lanes[threadIdx.x] += lanes[threadIdx.x + half];
		__syncthreads();
	}
	return lanes[0];
}

// One block of SUM_THREADS, so that the order of the sum depends on n alone.
extern "C" __global__ void sum_losses(double* out, const double* losses, long long n) {
	double sum = 0;
	for (long long i = threadIdx.x; i < n; i += SUM_THREADS) sum += losses[i];
	sum = sum_of_block(sum);
	if (threadIdx.x == 0) *out = sum;
}
