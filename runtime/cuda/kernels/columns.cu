// Sums over the rows of a matrix, in an order that depends on the shape alone: blocks of 32 columns by LANES
// rows walk down CHUNK rows each and leave a partial sum, in double precision; finish_columns adds the
// partial sums of a column.
#define LANES 8
#define CHUNK 256

#define COLUMN (blockIdx.x * 32 + threadIdx.x)
#define EACH_ROW(i, rows) \
	for (long long i = (long long)blockIdx.y * CHUNK + threadIdx.y, end_ = end_of_chunk(rows); i < end_; \
	     i += LANES)

__device__ long long end_of_chunk(long long rows) {
	long long end = ((long long)blockIdx.y + 1) * CHUNK;
	return end < rows ? end : rows;
}

__device__ void keep_partial(double sum, double* partial, int cols) {
	__shared__ double lanes[LANES][32];
	lanes[threadIdx.y][threadIdx.x] = sum;
	__syncthreads();
	int column = COLUMN;
	if (threadIdx.y == 0 && column < cols) {
		double total = 0;
		for (int lane = 0; lane < LANES; lane++) total += lanes[lane][threadIdx.x];
		partial[(long long)blockIdx.y * cols + column] = total;
	}
	__syncthreads(); // lanes may be used again
}

__device__ double total_of(const double* partial, int chunks, int cols, long long column) {
	double total = 0;
#pragma unroll 16
	for (int chunk = 0; chunk < chunks; chunk++) total += partial[(long long)chunk * cols + column];
	return total;
}

extern "C" __global__ void finish_columns(float* out, const double* partial, int chunks, int cols) {
	EACH(j, cols) out[j] = (float)total_of(partial, chunks, cols, j);
}

template <class T>
__device__ void column_sums_of(double* partial, const T* x, long long rows, int cols) {
	int column = COLUMN;
	double sum = 0;
	if (column < cols) {
		EACH_ROW(i, rows) sum += value_of(x[i * cols + column]);
	}
	keep_partial(sum, partial, cols);
}

extern "C" __global__ void column_sums(double* partial, const float* x, long long rows, int cols) {
	column_sums_of(partial, x, rows, cols);
}

extern "C" __global__ void column_sums_bf16(double* partial, const bf16* x, long long rows, int cols) {
	column_sums_of(partial, x, rows, cols);
}

// relu_backward, and the column sums of the result. A thread loads several rows before it stores any: a load
// cannot pass a store to the same matrix.
#define ROWS_AT_ONCE 8

template <class T, class F>
__device__ void relu_backward_sums_of(double* partial, T* grad, const F* flows, long long rows, int cols) {
	int column = COLUMN;
	double sum = 0;
	long long end = end_of_chunk(rows);
	if (column < cols) {
		for (long long i = (long long)blockIdx.y * CHUNK + threadIdx.y; i < end; i += ROWS_AT_ONCE * LANES) {
			float g[ROWS_AT_ONCE];
			int f[ROWS_AT_ONCE];
			for (int k = 0; k < ROWS_AT_ONCE; k++) {
				long long row = i + k * LANES;
				g[k] = row < end ? value_of(grad[row * cols + column]) : 0;
				f[k] = row < end ? flows_at(flows, row * cols + column) : 1;
			}
			for (int k = 0; k < ROWS_AT_ONCE; k++) {
				if (!f[k]) keep(&grad[(i + k * LANES) * cols + column], g[k] = 0);
				sum += g[k];
			}
		}
	}
	keep_partial(sum, partial, cols);
}

extern "C" __global__ void relu_backward_sums(double* partial, float* grad, const float* out, long long rows,
                                              int cols) {
	relu_backward_sums_of(partial, grad, out, rows, cols);
}

extern "C" __global__ void relu_backward_sums_bf16(double* partial, bf16* grad, const unsigned char* flows,
                                                   long long rows, int cols) {
	relu_backward_sums_of(partial, grad, flows, rows, cols);
}

// Batch norm, in three sweeps over a group: means, squared deviations, values.

extern "C" __global__ void norm_mean(double* mean, const double* partial, int chunks, long long rows,
                                     int cols) {
	EACH(j, cols) mean[j] = total_of(partial, chunks, cols, j) / (rows > 0 ? rows : 1);
}

extern "C" __global__ void norm_squares(double* partial, const float* x, const double* mean, long long rows,
                                        int cols) {
	int column = COLUMN;
	double sum = 0;
	if (column < cols) {
		EACH_ROW(i, rows) {
			double off = x[i * cols + column] - mean[column];
			sum += off * off;
		}
	}
	keep_partial(sum, partial, cols);
}

// The statistics have the unbiased variance, as running statistics do; inverse is 1/√(variance + epsilon).
extern "C" __global__ void norm_inverse(double* inverse, float* stats_mean, float* stats_variance,
                                        const double* mean, const double* partial, int chunks, long long rows,
                                        int cols, double epsilon) {
	EACH(j, cols) {
		double squares = total_of(partial, chunks, cols, j);
		inverse[j] = 1 / sqrt(squares / (rows > 0 ? rows : 1) + epsilon);
		stats_mean[j] = (float)mean[j];
		stats_variance[j] = rows > 1 ? (float)(squares / (rows - 1)) : 0;
	}
}

// The values to be normalized lie where the normalized ones go, or where the results go.
template <class T>
__device__ void normalize_of(T* out, float* normalized, const float* x, long long rows, int cols,
                             const double* mean, const double* inverse, const float* gamma,
                             const float* beta) {
	EACH(i, rows * cols) {
		long long j = i % cols;
		float v = (float)((x[i] - mean[j]) * inverse[j]);
		normalized[i] = v;
		keep(&out[i], gamma[j] * v + beta[j]);
	}
}

extern "C" __global__ void normalize(float* out, float* normalized, const float* x, long long rows, int cols,
                                     const double* mean, const double* inverse, const float* gamma,
                                     const float* beta) {
	normalize_of(out, normalized, x, rows, cols, mean, inverse, gamma, beta);
}

extern "C" __global__ void normalize_bf16(bf16* out, float* normalized, const float* x, long long rows,
                                          int cols, const double* mean, const double* inverse,
                                          const float* gamma, const float* beta) {
	normalize_of(out, normalized, x, rows, cols, mean, inverse, gamma, beta);
}

template <class T>
__device__ void norm_backward_sums_of(double* sums, double* dots, const T* grad,
                                      const float* normalized, long long rows, int cols) {
	int column = COLUMN;
	double sum = 0, dot = 0;
	if (column < cols) {
		EACH_ROW(i, rows) {
			double g = value_of(grad[i * cols + column]);
			sum += g;
			dot += g * normalized[i * cols + column];
		}
	}
	keep_partial(sum, sums, cols);
	keep_partial(dot, dots, cols);
}

extern "C" __global__ void norm_backward_sums(double* sums, double* dots, const float* grad,
                                              const float* normalized, long long rows, int cols) {
	norm_backward_sums_of(sums, dots, grad, normalized, rows, cols);
}

extern "C" __global__ void norm_backward_sums_bf16(double* sums, double* dots, const bf16* grad,
                                                   const float* normalized, long long rows, int cols) {
	norm_backward_sums_of(sums, dots, grad, normalized, rows, cols);
}

// The totals stay where the first partial sums were.
extern "C" __global__ void norm_backward_finish(double* sums, double* dots, int chunks, int cols,
                                                float* grad_gamma, float* grad_beta) {
	EACH(j, cols) {
		double sum = total_of(sums, chunks, cols, j), dot = total_of(dots, chunks, cols, j);
		grad_beta[j] = (float)sum;
		grad_gamma[j] = (float)dot;
		sums[j] = sum;
		dots[j] = dot;
	}
}

template <class T>
__device__ void norm_backward_of(T* grad, const float* normalized, long long rows, int cols, const double* sums,
                                 const double* dots, const double* inverse, const float* gamma) {
	double n = rows > 0 ? rows : 1;
	EACH(i, rows * cols) {
		long long j = i % cols;
		double centred = value_of(grad[i]) - sums[j] / n - normalized[i] * (dots[j] / n);
		keep(&grad[i], (float)((double)gamma[j] * (double)(float)inverse[j] * centred));
	}
}

extern "C" __global__ void norm_backward(float* grad, const float* normalized, long long rows, int cols,
                                         const double* sums, const double* dots, const double* inverse,
                                         const float* gamma) {
	norm_backward_of(grad, normalized, rows, cols, sums, dots, inverse, gamma);
}

extern "C" __global__ void norm_backward_bf16(bf16* grad, const float* normalized, long long rows, int cols,
                                              const double* sums, const double* dots, const double* inverse,
                                              const float* gamma) {
	norm_backward_of(grad, normalized, rows, cols, sums, dots, inverse, gamma);
}
