// Matrix products: cuBLASLt as plain loops. Matrices are column-major, as cuBLASLt has them by default.

enum {
	CUBLAS_STATUS_SUCCESS = 0,
	CUBLAS_STATUS_NOT_INITIALIZED = 1,
	CUBLAS_STATUS_INVALID_VALUE = 7,
	CUBLAS_STATUS_EXECUTION_FAILED = 13,
	CUBLAS_STATUS_NOT_SUPPORTED = 15,

	CUDA_R_32F = 0,
	CUDA_R_16F = 2,
	CUDA_R_16BF = 14,
	CUBLAS_COMPUTE_32F = 68,
	CUBLAS_COMPUTE_32F_FAST_TF32 = 77,

	CUBLASLT_EPILOGUE_DEFAULT = 1,
	CUBLASLT_EPILOGUE_BIAS = 4,
};

struct Lt {
	Device *device;
};

struct Layout {
	int type;
	uint64_t rows, columns;
	int64_t ld, offset = 0;
	int batch = 1;
};

struct MatmulDesc {
	int compute, scale, transA = 0, transB = 0;
	unsigned epilogue = CUBLASLT_EPILOGUE_DEFAULT;
	uint64_t bias = 0;
};

struct Preference {
	uint64_t workspace = 0;
};

struct Algo {
	uint64_t data[8];
};

struct HeuristicResult {
	Algo algo;
	size_t workspaceSize;
	int state;
	float wavesCount;
	int reserved[4];
};

static const uint64_t algoMark = 0x50F7;
static const size_t workspaceBytes = 1024;

API const char *cublasLtGetStatusString(int status) {
	switch (status) {
	case CUBLAS_STATUS_SUCCESS: return "success";
	case CUBLAS_STATUS_NOT_INITIALIZED: return "the library was not initialized";
	case CUBLAS_STATUS_INVALID_VALUE: return "an unsupported value or parameter was passed to the function";
	case CUBLAS_STATUS_EXECUTION_FAILED: return "the GPU program failed to execute";
	case CUBLAS_STATUS_NOT_SUPPORTED: return "the functionality requested is not supported";
	}
	return "unknown error";
}

API size_t cublasLtGetVersion() { return 120400; }

API int cublasLtCreate(Lt **handle) {
	Device *device;
	if (ready(&device)) return CUBLAS_STATUS_NOT_INITIALIZED;
	*handle = keep(new Lt{device});
	return CUBLAS_STATUS_SUCCESS;
}

template <class T> static int destroy(T *handle) {
	if (!forget(handle)) return CUBLAS_STATUS_INVALID_VALUE;
	delete handle;
	return CUBLAS_STATUS_SUCCESS;
}

API int cublasLtDestroy(Lt *handle) {
	if (known(handle)) spoil(handle->device);  // it waits for the device
	return destroy(handle);
}

API int cublasLtMatrixLayoutCreate(Layout **layout, int type, uint64_t rows, uint64_t columns, int64_t ld) {
	if (type != CUDA_R_32F && type != CUDA_R_16F && type != CUDA_R_16BF) return CUBLAS_STATUS_NOT_SUPPORTED;
	*layout = keep(new Layout{type, rows, columns, ld});
	return CUBLAS_STATUS_SUCCESS;
}

API int cublasLtMatrixLayoutDestroy(Layout *layout) { return destroy(layout); }

// assign sets an attribute if it has the size of its type.
template <class T> static int assign(T *to, const void *from, size_t bytes) {
	if (bytes != sizeof(T)) return CUBLAS_STATUS_INVALID_VALUE;
	memcpy(to, from, bytes);
	return CUBLAS_STATUS_SUCCESS;
}

API int cublasLtMatrixLayoutSetAttribute(Layout *l, int attribute, const void *value, size_t bytes) {
	if (!known(l)) return CUBLAS_STATUS_INVALID_VALUE;
	switch (attribute) {
	case 5: return assign(&l->batch, value, bytes);   // CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT
	case 6: return assign(&l->offset, value, bytes);  // CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET
	}
	return CUBLAS_STATUS_INVALID_VALUE;
}

API int cublasLtMatmulDescCreate(MatmulDesc **desc, int compute, int scale) {
	if ((compute != CUBLAS_COMPUTE_32F && compute != CUBLAS_COMPUTE_32F_FAST_TF32) || scale != CUDA_R_32F)
		return CUBLAS_STATUS_NOT_SUPPORTED;
	MatmulDesc *d = new MatmulDesc;
	d->compute = compute;
	d->scale = scale;
	*desc = keep(d);
	return CUBLAS_STATUS_SUCCESS;
}

API int cublasLtMatmulDescDestroy(MatmulDesc *desc) { return destroy(desc); }

API int cublasLtMatmulDescSetAttribute(MatmulDesc *d, int attribute, const void *value, size_t bytes) {
	if (!known(d)) return CUBLAS_STATUS_INVALID_VALUE;
	switch (attribute) {
	case 3: return assign(&d->transA, value, bytes);    // CUBLASLT_MATMUL_DESC_TRANSA
	case 4: return assign(&d->transB, value, bytes);    // CUBLASLT_MATMUL_DESC_TRANSB
	case 7: return assign(&d->epilogue, value, bytes);  // CUBLASLT_MATMUL_DESC_EPILOGUE
	case 8: return assign(&d->bias, value, bytes);      // CUBLASLT_MATMUL_DESC_BIAS_POINTER
	}
	return CUBLAS_STATUS_INVALID_VALUE;
}

API int cublasLtMatmulPreferenceCreate(Preference **preference) {
	*preference = keep(new Preference);
	return CUBLAS_STATUS_SUCCESS;
}

API int cublasLtMatmulPreferenceDestroy(Preference *preference) { return destroy(preference); }

API int cublasLtMatmulPreferenceSetAttribute(Preference *p, int attribute, const void *value, size_t bytes) {
	if (!known(p)) return CUBLAS_STATUS_INVALID_VALUE;
	uint32_t alignment;
	switch (attribute) {
	case 1: return assign(&p->workspace, value, bytes);  // CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES
	case 5: case 6: case 7: case 8:                      // CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES to …_D_…
		return assign(&alignment, value, bytes);
	}
	return CUBLAS_STATUS_INVALID_VALUE;
}

static bool fits(const Layout *l, uint64_t rows, uint64_t columns, int batch) {
	return l->rows == rows && l->columns == columns && l->ld >= int64_t(rows) && l->batch == batch;
}

// legal returns whether the matrices have the sizes of a product, and types that cuBLASLt supports
// together.
static int legal(MatmulDesc *d, Layout *a, Layout *b, Layout *c, Layout *r) {
	if (!known(d) || !known(a) || !known(b) || !known(c) || !known(r)) return CUBLAS_STATUS_INVALID_VALUE;
	uint64_t m = r->rows, n = r->columns, k = d->transA ? a->rows : a->columns;
	if (!m || !n || !k || !fits(a, d->transA ? k : m, d->transA ? m : k, r->batch) ||
		!fits(b, d->transB ? n : k, d->transB ? k : n, r->batch) || !fits(c, m, n, r->batch) ||
		!fits(r, m, n, r->batch))
		return CUBLAS_STATUS_INVALID_VALUE;
	bool tf32 = d->compute == CUBLAS_COMPUTE_32F_FAST_TF32;
	if (a->type != b->type || c->type != r->type || (r->type != CUDA_R_32F && r->type != a->type) ||
		(tf32 && a->type != CUDA_R_32F))
		return CUBLAS_STATUS_NOT_SUPPORTED;
	switch (d->epilogue) {
	case CUBLASLT_EPILOGUE_DEFAULT: return CUBLAS_STATUS_SUCCESS;
	case CUBLASLT_EPILOGUE_BIAS:
		return d->bias ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
	}
	return CUBLAS_STATUS_NOT_SUPPORTED;
}

API int cublasLtMatmulAlgoGetHeuristic(Lt *lt, MatmulDesc *d, Layout *a, Layout *b, Layout *c, Layout *r,
	Preference *p, int asked, HeuristicResult *results, int *returned) {
	*returned = 0;
	if (!known(lt) || !known(p) || asked < 1) return CUBLAS_STATUS_INVALID_VALUE;
	if (int status = legal(d, a, b, c, r)) return status;
	if (d->epilogue == CUBLASLT_EPILOGUE_BIAS && numericSetting("TANDEM_SOFTGPU_NO_BIAS", 0))
		return CUBLAS_STATUS_NOT_SUPPORTED;
	memset(results, 0, sizeof *results);
	results->algo.data[0] = algoMark;
	results->algo.data[1] = p->workspace >= workspaceBytes ? workspaceBytes : 0;
	results->workspaceSize = results->algo.data[1];
	results->wavesCount = 1;
	*returned = 1;
	return CUBLAS_STATUS_SUCCESS;
}

static float fromHalf(uint16_t h) {
	uint32_t sign = uint32_t(h & 0x8000) << 16, exponent = h >> 10 & 31, fraction = h & 1023, bits;
	if (exponent == 31) bits = sign | 0x7F800000 | fraction << 13;
	else if (exponent) bits = sign | (exponent + 112) << 23 | fraction << 13;
	else {
		float small = float(fraction) * 0x1p-24f;
		memcpy(&bits, &small, 4);
		bits |= sign;
	}
	float x;
	memcpy(&x, &bits, 4);
	return x;
}

static uint16_t toHalf(float x) {
	uint32_t bits;
	memcpy(&bits, &x, 4);
	uint32_t sign = bits >> 16 & 0x8000, rest = bits & 0x7FFFFFFF;
	if (rest > 0x7F800000) return uint16_t(sign | 0x7E00);
	if (rest >= 0x477FF000) return uint16_t(sign | 0x7C00);  // 65,520 and more
	if (rest < 0x38800000) {                                 // below 2^−14: multiples of 2^−24
		float magnitude, sum;
		memcpy(&magnitude, &rest, 4);
		sum = magnitude + 0.5f;  // its last bit is worth 2^−24
		uint32_t rounded;
		memcpy(&rounded, &sum, 4);
		return uint16_t(sign | (rounded - 0x3F000000));
	}
	return uint16_t(sign | ((rest + 0xFFF + (rest >> 13 & 1)) - 0x38000000) >> 13);
}

static float fromBF16(uint16_t h) {
	uint32_t bits = uint32_t(h) << 16;
	float x;
	memcpy(&x, &bits, 4);
	return x;
}

static uint16_t toBF16(float x) {
	uint32_t bits;
	memcpy(&bits, &x, 4);
	if ((bits & 0x7FFFFFFF) > 0x7F800000) return uint16_t(bits >> 16 | 64);
	return uint16_t((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

// toTF32 rounds to 10 bits of fraction.
static float toTF32(float x) {
	uint32_t bits;
	memcpy(&bits, &x, 4);
	if ((bits & 0x7F800000) != 0x7F800000) bits = (bits + 0xFFF + (bits >> 13 & 1)) & ~0x1FFFu;
	memcpy(&x, &bits, 4);
	return x;
}

static float element(const void *p, int type, int64_t i) {
	if (type == CUDA_R_32F) return ((const float *)p)[i];
	uint16_t h = ((const uint16_t *)p)[i];
	return type == CUDA_R_16F ? fromHalf(h) : fromBF16(h);
}

static void store(void *p, int type, int64_t i, float x) {
	if (type == CUDA_R_32F) ((float *)p)[i] = x;
	else ((uint16_t *)p)[i] = type == CUDA_R_16F ? toHalf(x) : toBF16(x);
}

static const char *at(const void *p, const Layout &l, int matrix) {
	return (const char *)p + l.offset * matrix * (l.type == CUDA_R_32F ? 4 : 2);
}

// read returns the rows × columns matrix that is stored, or its transpose, without gaps.
static std::vector<float> read(const void *p, const Layout &l, bool transposed, bool tf32) {
	std::vector<float> all(l.rows * l.columns);
	for (uint64_t j = 0; j < l.columns; j++)
		for (uint64_t i = 0; i < l.rows; i++) {
			float x = element(p, l.type, int64_t(i + j * l.ld));
			all[transposed ? j + i * l.columns : i + j * l.rows] = tf32 ? toTF32(x) : x;
		}
	return all;
}

#if defined(__x86_64__)
__attribute__((target_clones("avx2", "default")))
#endif
__attribute__((optimize("O3"))) static void
addMultiple(float *__restrict__ to, const float *__restrict__ from, float factor, size_t n) {
	for (size_t i = 0; i < n; i++) to[i] += factor * from[i];
}

struct Matmul {
	MatmulDesc desc;
	Layout a, b, c, d;
	const void *A, *B, *C;
	void *D, *workspace;
	size_t workspaceBytes;
	float alpha, beta;
};

static void multiplyOne(const Matmul &x, const void *A, const void *B, const void *C, void *D) {
	uint64_t m = x.d.rows, n = x.d.columns, k = x.desc.transA ? x.a.rows : x.a.columns;
	bool tf32 = x.desc.compute == CUBLAS_COMPUTE_32F_FAST_TF32;
	std::vector<float> a = read(A, x.a, x.desc.transA, tf32), b = read(B, x.b, x.desc.transB, tf32), sum(m);
	const void *bias = (const void *)x.desc.bias;
	for (uint64_t j = 0; j < n; j++) {
		std::fill(sum.begin(), sum.end(), 0.0f);
		for (uint64_t l = 0; l < k; l++) addMultiple(sum.data(), &a[l * m], b[l + j * k], m);
		for (uint64_t i = 0; i < m; i++) {
			float y = x.alpha * sum[i];
			if (x.beta != 0) y += x.beta * element(C, x.c.type, int64_t(i + j * x.c.ld));
			if (x.desc.epilogue == CUBLASLT_EPILOGUE_BIAS) y += element(bias, x.d.type, int64_t(i));
			store(D, x.d.type, int64_t(i + j * x.d.ld), y);
		}
	}
}

// pretend touches the matrices of a product and leaves numbers that differ, in no time, while bytes are counted.
static void pretend(const Matmul &x) {
	float some = 0;
	for (const Layout *l : {&x.a, &x.b})
		for (uint64_t j = 0; j < l->columns; j++)
			for (uint64_t i = 0; i < l->rows; i += 512)
				some += element(l == &x.a ? x.A : x.B, l->type, int64_t(i + j * l->ld));
	uint32_t random = some == some;
	for (uint64_t j = 0; j < x.d.columns; j++)
		for (uint64_t i = 0; i < x.d.rows; i++) {
			float before = x.beta != 0 ? element(x.C, x.c.type, i + j * x.c.ld) : 0;
			random = random * 1664525 + 1013904223;
			store(x.D, x.d.type, i + j * x.d.ld, float(int(random)) * 0x1p-35f + x.beta * before * 0.5f);
		}
}

static void multiply(const Matmul &x) {
	if (countsMoved()) return pretend(x);
	if (x.workspaceBytes) memset(x.workspace, 0xFF, x.workspaceBytes);
	for (int i = 0; i < x.d.batch; i++)
		multiplyOne(x, at(x.A, x.a, i), at(x.B, x.b, i), at(x.C, x.c, i), (void *)at(x.D, x.d, i));
}

API int cublasLtMatmul(Lt *lt, MatmulDesc *desc, const float *alpha, const void *A, Layout *a, const void *B,
	Layout *b, const float *beta, const void *C, Layout *c, void *D, Layout *d, const Algo *algo, void *workspace,
	size_t bytes, Stream *s) {
	Device *device;
	if (ready(&device) || !known(lt) || lt->device != device) return CUBLAS_STATUS_NOT_INITIALIZED;
	if (!known(s) || s->device != device) return CUBLAS_STATUS_INVALID_VALUE;
	if (int status = legal(desc, a, b, c, d)) return status;
	if (!algo || algo->data[0] != algoMark || bytes < algo->data[1] || (algo->data[1] && !workspace))
		return CUBLAS_STATUS_INVALID_VALUE;
	Matmul x = {*desc, *a, *b, *c, *d, A, B, C, D, workspace, algo->data[1], *alpha, *beta};
	return issue(s, [x] { countMoved("product", [x] { multiply(x); }); }) ? CUBLAS_STATUS_EXECUTION_FAILED : CUBLAS_STATUS_SUCCESS;
}
