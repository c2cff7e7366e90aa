// The steps of the optimizers. Gradients are sums over samples; the mean is the sum divided once, times the
// factor that keeps its norm, which is 1 if it need not be scaled.

// One sum a block of SUM_THREADS; their number is fixed, so the order depends on n alone.
extern "C" __global__ void squares_of_mean(double* partial, const float* sums, float samples, long long n) {
	double total = 0;
	EACH(i, n) {
		double mean = sums[i] / samples;
		total += mean * mean;
	}
	total = sum_of_block(total);
	if (threadIdx.x == 0) partial[blockIdx.x] = total;
}

extern "C" __global__ void clip_factor(float* factor, const double* partial, int count, double most) {
	double squares = 0;
	for (int i = 0; i < count; i++) squares += partial[i];
	double norm = sqrt(squares);
	int scales = norm > most && norm - norm == 0; // not if it is not finite: no factor would help
	*factor = scales ? (float)(most / norm) : 1.0f;
}

extern "C" __global__ void sgd(float* w, const float* sums, float samples, const float* factor, float rate,
                               long long n) {
	EACH(i, n) w[i] -= rate * (sums[i] / samples * *factor);
}

extern "C" __global__ void adagrad_after(float* w, float* squares, const float* sums, float samples,
                                         const float* factor, float rate, float epsilon, long long n) {
	EACH(i, n) {
		float g = sums[i] / samples * *factor;
		squares[i] += g * g;
		w[i] -= rate * g / (sqrtf(squares[i]) + epsilon);
	}
}

// Persia's form, which counts the gradient only afterwards.
extern "C" __global__ void adagrad_before(float* w, float* squares, const float* sums, float samples,
                                          const float* factor, float rate, float epsilon, long long n) {
	EACH(i, n) {
		float g = sums[i] / samples * *factor;
		w[i] -= rate * g / sqrtf(squares[i] + epsilon);
		squares[i] += g * g;
	}
}

// Four values at an address that is a multiple of 16, which one instruction loads or stores.
struct alignas(16) four {
	float v[4];
};

// The corrections of the first steps are in rate and root. The number of values is a multiple of four.
extern "C" __global__ void adam(float* w, float* mean, float* square, const float* sums, float samples,
                                const float* factor, float rate, float root, float epsilon, float beta1,
                                float beta2, float rest1, float rest2, long long n) {
	four *ws = (four*)w, *means = (four*)mean, *squares = (four*)square;
	EACH(i, n / 4) {
		four x = ws[i], m = means[i], s = squares[i], sum = ((const four*)sums)[i];
		for (int k = 0; k < 4; k++) {
			float g = sum.v[k] / samples * *factor;
			m.v[k] = beta1 * m.v[k] + rest1 * g;
			s.v[k] = beta2 * s.v[k] + rest2 * g * g;
			x.v[k] -= rate * m.v[k] / (root * sqrtf(s.v[k]) + epsilon);
		}
		ws[i] = x, means[i] = m, squares[i] = s;
	}
}

// What an averaging round adds to a replica: the mean of the copies less its own.
extern "C" __global__ void shift(float* w, const float* from, const float* sum, float n, long long count) {
	EACH(i, count) w[i] += sum[i] / n - from[i];
}
