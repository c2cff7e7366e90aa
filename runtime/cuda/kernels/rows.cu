// Embedding rows in the memory of the device. The bags of a batch, the ids of a sample in a slot, follow each
// other by group, slot and sample, and their occurrences of rows too; so an occurrence is named by its number.
// What is added is added in the order of occurrences within a group, and along the tree over groups.

// The index finds the row of a sign by open addressing. It has more slots than there can be rows.
#define NO_SIGN 0xffffffffffffffffull
#define NO_OCCURRENCE 0xffffffffu

// The header of a row: its count of updates, and whether it has been read since it was created.
#define MOST_UPDATES ((1u << 30) - 1)
#define ROW_READ (1u << 30)

struct alignas(16) row_slot {
	unsigned long long sign;
	int row;         // −1: claimed, and not created yet
	unsigned first;  // the first occurrence in the current batch
};

// A table of rows. Package engine has the same fields in rowTable.
struct row_table {
	row_slot* index;
	unsigned long long* signs;
	unsigned* updates;  // headers
	float *values, *state;
	int* counts;  // rows; rows before the current batch; 1 if rows are refused for want of room
	unsigned long long* applied;  // gradients, by block of update_rows
	unsigned long long slots;
	unsigned long long key;  // of initial values, which lie in [−bound, bound)
	int capacity, dim, states;
	float bound, initial;  // initial: of the state
	int copies;            // the rows are copies of those of other ranks, of one batch: signs and values alone
};

// How a slot of the data becomes model input: summed, or the first ids apart, each with its mask.
struct row_column {
	int first;    // column of the model input
	int apart;    // ids that are kept apart; 0: all are summed
	int each;     // rows of an id
	int scaling;  // of a sum of n rows: 0 none, 1 by 1/√n, 2 by 1/n
};

// The occurrences of rows in a batch. Package engine has the same fields in rowBatch.
struct row_batch {
	int* count;  // of occurrences, followed by the learning rate and the number of samples, as floats
	int* ends;   // where the first bag begins, then where each bag ends
	unsigned long long* signs;
	row_column* columns;
	int* at;        // the slot of the index
	int* places;    // in the model input; ~place, where the model input leaves the occurrence out
	float* scales;  // none unless a slot is scaled
	float* partial; // sums of gradients, of dim values
	int* segments;  // where the occurrences of a row in a group end
	int* bases;     // of chunks: occurrences that create rows
	int slots, width;  // of a sample
	int group;         // values of the model input from one group to the next
};

// rng.Mix.
__device__ unsigned long long mix(unsigned long long z) {
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

// The d-th initial value of a row, as Table.initialize of package table.
__device__ float initial_value(const row_table* t, unsigned long long sign, int d) {
	unsigned long long key = mix(t->key ^ mix(sign + 0x9e3779b97f4a7c15ull));
	float unit = (float)(mix(key + d * 0x9e3779b97f4a7c15ull) >> 40) * (1.0f / (1 << 24));
	return 2 * t->bound * unit - t->bound;
}

// Returns the slot of a sign, or 0 if the index is full. An absent sign claims an empty slot.
__device__ row_slot* claim(const row_table* t, unsigned long long sign) {
	unsigned long long at = __umul64hi(mix(sign), t->slots);
	for (unsigned long long tried = 0; tried < t->slots; tried++) {
		row_slot* slot = &t->index[at];
		unsigned long long there = slot->sign;
		if (there == NO_SIGN) there = atomicCAS(&slot->sign, NO_SIGN, sign);
		if (there == sign || there == NO_SIGN) return slot;
		if (++at == t->slots) at = 0;
	}
	return 0;
}

// Returns the row of a sign, −1 if there is none.
__device__ int find_row(const row_table* t, unsigned long long sign) {
	unsigned long long at = __umul64hi(mix(sign), t->slots);
	for (unsigned long long tried = 0; tried < t->slots; tried++) {
		const row_slot* slot = &t->index[at];
		if (slot->sign == sign) return slot->row;
		if (slot->sign == NO_SIGN) return -1;
		if (++at == t->slots) at = 0;
	}
	return -1;
}

// A row has ROW_LANES threads, of which each has every ROW_LANES-th value. A block has ROWS_OF_BLOCK rows.
#define ROW_LANES 16
#define ROWS_OF_BLOCK 16
#define EACH_ROW_AT(k, n) \
	for (long long k = blockIdx.x * (long long)ROWS_OF_BLOCK + threadIdx.y; k < (n); \
	     k += (long long)gridDim.x * ROWS_OF_BLOCK)

extern "C" __global__ void clear_index(const row_table* t) {
	EACH(i, t->slots) t->index[i] = {NO_SIGN, -1, NO_OCCURRENCE};
}

// Enters the first rows of the table, which have been copied to it, in the index.
extern "C" __global__ void index_rows(const row_table* t, int rows) {
	EACH(i, rows) claim(t, t->signs[i])->row = i;
	if (blockIdx.x == 0 && threadIdx.x == 0) t->counts[0] = rows;
}

// The values of rows that have been updated, zeros for others.
extern "C" __global__ void read_rows(float* out, const row_table* t, const unsigned long long* signs, int n) {
	EACH_ROW_AT(k, n) {
		int row = find_row(t, signs[k]);
		int trained = row >= 0 && (t->updates[row] & MOST_UPDATES) > 0;
		for (int d = threadIdx.x; d < t->dim; d += ROW_LANES) {
			out[k * t->dim + d] = trained ? t->values[(long long)row * t->dim + d] : 0;
		}
	}
}

// Notes of an occurrence where its row is found, and where its gradient will be.
__device__ void note(const row_table* t, const row_batch* b, row_slot* slot, int k, int place, float scale) {
	if (!slot) {
		t->counts[2] = 1;
		slot = t->index; // the run ends
	}
	b->at[k] = slot - t->index;
	b->places[k] = place;
	if (b->scales) b->scales[k] = scale;
	if (slot->first > k) atomicMin(&slot->first, (unsigned)k);
}

// What is done with the rows of a bag. A single rank notes and pools at once; of several, each notes what it
// asks the others for, and pools what they answer. Rows of a slot with others on PSs are added to the sums of
// these, which the model input has already.
#define NOTES 1
#define POOLS 2
#define ADDS 4

// Notes, and sums, n rows from occurrence lo on, of which the sum lies at a place of the model input.
__device__ void pool_rows(float* to, const row_table* t, const row_batch* b, int lo, int n, int place,
                          int scaling, int what) {
	float scale = !scaling || n < 2 ? 1 : (float)(1 / (scaling == 1 ? sqrt((double)n) : (double)n));
	for (int d = threadIdx.x; d < (what & POOLS ? t->dim : 1); d += ROW_LANES) {
		float sum = what & ADDS ? to[d] : 0;
		for (int k = lo; k < lo + n; k++) {
			unsigned long long sign = b->signs[k];
			row_slot* slot = claim(t, sign);
			int row = slot ? slot->row : -1;
			if (what & POOLS) {
				sum += row >= 0 ? t->values[(long long)row * t->dim + d] : initial_value(t, sign, d);
			}
			if (what & NOTES && d == 0) note(t, b, slot, k, place, scale);
		}
		if (what & POOLS) to[d] = scale == 1 ? sum : sum * scale;
	}
}

// Finds and pools the rows of all slots of a group, whose bags and places begin at first_bag and first_place.
// A row that is absent is claimed, and has its initial values.
extern "C" __global__ void pool_group(float* out, const row_table* t, const row_batch* b, long long first_bag,
                                      int first_place, int samples, int what) {
	EACH_ROW_AT(bag, (long long)samples * b->slots) {
		int s = bag / samples, i = bag % samples;
		row_column c = b->columns[s];
		const int* ends = b->ends + first_bag + bag;
		int at = i * b->width + c.first, lo = ends[0], n = ends[1] - lo, place = first_place + at;
		if (!c.apart) {
			pool_rows(out + at, t, b, lo, n, place, c.scaling, what);
			continue;
		}
		int stride = t->dim + 1;
		for (int id = 0; id < c.apart; id++, lo += n > 0 ? c.each : 0) {
			int has = n > 0;
			pool_rows(out + at + id * stride, t, b, lo, has ? c.each : 0, place + id * stride, c.scaling,
			          what);
			if (what & POOLS && threadIdx.x == 0) out[at + id * stride + t->dim] = has;
			n -= c.each;
		}
		for (; what & NOTES && threadIdx.x == 0 && n > 0; n--, lo++) note(t, b, claim(t, b->signs[lo]), lo, ~place, 1);
	}
}

// Columns of the model input whose slots have their rows on PSs: n values, from_width of a sample, travel
// without the columns between them. The first kernel puts them into the model input, the second takes their
// gradients from those of the model input.
extern "C" __global__ void spread_columns(float* out, const float* in, const int* columns, int n,
                                          int from_width, int width) {
	EACH(i, n) out[i / from_width * (long long)width + columns[i % from_width]] = in[i];
}

extern "C" __global__ void gather_columns(float* out, const float* in, const int* columns, int n,
                                          int to_width, int width) {
	EACH(i, n) out[i] = in[i / to_width * (long long)width + columns[i % to_width]];
}

// The number of threads of a block that counts, and of occurrences of a chunk.
#define COUNT_THREADS 256
#define OCCURRENCES_OF_CHUNK 1024

// Returns the sum of n over the threads before this one; total is the sum over all threads of the block.
__device__ int sum_before(int n, int* total) {
	__shared__ int sums[2][COUNT_THREADS];
	int from = 0, x = threadIdx.x;
	sums[0][x] = n;
	__syncthreads();
	for (int step = 1; step < COUNT_THREADS; step *= 2, from ^= 1) {
		sums[from ^ 1][x] = sums[from][x] + (x >= step ? sums[from][x - step] : 0);
		__syncthreads();
	}
	int before = sums[from][x] - n;
	*total = sums[from][COUNT_THREADS - 1];
	__syncthreads(); // sums may be used again
	return before;
}

// Reports whether an occurrence is the first of a row that does not exist.
__device__ int creates(const row_table* t, const row_batch* b, int k) {
	if (k >= *b->count) return 0;
	const row_slot* slot = &t->index[b->at[k]];
	return slot->row < 0 && slot->first == k;
}

#define OF_THREAD (OCCURRENCES_OF_CHUNK / COUNT_THREADS)

extern "C" __global__ void count_new_rows(const row_table* t, const row_batch* b) {
	int n = 0, total, k = (blockIdx.x * COUNT_THREADS + threadIdx.x) * OF_THREAD;
	for (int i = 0; i < OF_THREAD; i++) n += creates(t, b, k + i);
	sum_before(n, &total);
	if (threadIdx.x == 0) b->bases[blockIdx.x] = total;
}

// Gives every chunk the number of its first new row. One block.
extern "C" __global__ void number_new_rows(const row_table* t, const row_batch* b, int chunks) {
	int rows = t->counts[0], before = rows;
	for (int first = 0; first < chunks; first += COUNT_THREADS) {
		int chunk = first + threadIdx.x, total;
		int base = rows + sum_before(chunk < chunks ? b->bases[chunk] : 0, &total);
		if (chunk < chunks) b->bases[chunk] = base;
		rows += total;
	}
	if (threadIdx.x == 0) {
		t->counts[1] = before;
		t->counts[0] = rows < t->capacity ? rows : t->capacity;
		if (rows > t->capacity) t->counts[2] = 1;
	}
}

__device__ void initialize(const row_table* t, long long row, unsigned long long sign) {
	t->updates[row] = 0;
	for (int d = 0; d < t->dim; d++) t->values[row * t->dim + d] = initial_value(t, sign, d);
	for (int d = 0; d < t->states; d++) t->state[row * t->states + d] = t->initial;
}

// Creates new rows in the order of their first occurrences, and makes the keys by which these are sorted.
extern "C" __global__ void create_rows(const row_table* t, const row_batch* b, unsigned* keys, int* order) {
	int created[OF_THREAD], n = 0, total, k = (blockIdx.x * COUNT_THREADS + threadIdx.x) * OF_THREAD;
	for (int i = 0; i < OF_THREAD; i++) n += created[i] = creates(t, b, k + i);
	int row = b->bases[blockIdx.x] + sum_before(n, &total);
	for (int i = 0; i < OF_THREAD && k < *b->count; i++, k++) {
		row_slot* slot = &t->index[b->at[k]];
		keys[k] = slot->first;
		order[k] = k;
		if (!created[i]) continue;
		if (row < t->capacity) {
			t->signs[row] = slot->sign;
			if (!t->copies) initialize(t, row, slot->sign);
			slot->row = row;
		}
		row++;
	}
}

// A stable radix sort of occurrences by their keys, DIGITS values of a digit at a time: the occurrences of a
// digit are counted by chunk, the counts summed by digit, and the occurrences placed.
#define DIGITS COUNT_THREADS
#define SORTED_OF_CHUNK 2048

// Loads the digits of a tile of COUNT_THREADS occurrences, which all threads may read then.
__device__ int load_digit(int* tile, const unsigned* keys, int k, int count, int shift) {
	int digit = k < count ? (int)(keys[k] >> shift) & (DIGITS - 1) : DIGITS;
	__syncthreads(); // of the tile before
	tile[threadIdx.x] = digit;
	__syncthreads();
	return digit;
}

extern "C" __global__ void count_digits(int* counts, const int* count, const unsigned* keys, int shift) {
	__shared__ int tile[COUNT_THREADS];
	int n = 0, first = blockIdx.x * SORTED_OF_CHUNK;
	for (int k = first; k < first + SORTED_OF_CHUNK && k < *count; k += COUNT_THREADS) {
		load_digit(tile, keys, k + threadIdx.x, *count, shift);
		for (int j = 0; j < COUNT_THREADS; j++) n += tile[j] == threadIdx.x;
	}
	counts[blockIdx.x * DIGITS + threadIdx.x] = n;
}

// A thread has a digit, whose counts become sums over the chunks before. The totals lie behind the counts.
extern "C" __global__ void sum_digits(int* counts, int chunks) {
	EACH(digit, DIGITS) {
		int before = 0;
#pragma unroll 8
		for (int chunk = 0; chunk < chunks; chunk++) {
			int n = counts[chunk * DIGITS + digit];
			counts[chunk * DIGITS + digit] = before;
			before += n;
		}
		counts[chunks * DIGITS + digit] = before;
	}
}

extern "C" __global__ void place_digits(unsigned* keys_out, int* order_out, const int* counts, const int* count,
                                        const unsigned* keys, const int* order, int shift) {
	__shared__ int tile[COUNT_THREADS], next[DIGITS];
	int chunks = gridDim.x, x = threadIdx.x, total, first = blockIdx.x * SORTED_OF_CHUNK;
	next[x] = sum_before(counts[chunks * DIGITS + x], &total) + counts[blockIdx.x * DIGITS + x];
	for (int k = first; k < first + SORTED_OF_CHUNK && k < *count; k += COUNT_THREADS) {
		int digit = load_digit(tile, keys, k + x, *count, shift), before = 0, own = 0;
		for (int j = 0; j < COUNT_THREADS; j++) {
			before += j < x && tile[j] == digit;
			own += tile[j] == x;
		}
		if (digit < DIGITS) {
			int to = next[digit] + before;
			keys_out[to] = keys[k + x];
			order_out[to] = order[k + x];
		}
		__syncthreads();
		next[x] += own;
	}
}

// The group of an occurrence.
__device__ int group_of(const row_batch* b, int occurrence) {
	int place = b->places[occurrence];
	return (place < 0 ? ~place : place) / b->group;
}

// Reports whether two sorted occurrences are of one row in one group.
__device__ int same_segment(const row_batch* b, const unsigned* keys, const int* order, int j, int k) {
	return keys[j] == keys[k] && group_of(b, order[j]) == group_of(b, order[k]);
}

// Sums the gradients of each row in each group, at the first of its sorted occurrences. −0 stands for no
// gradient: it leaves every value as it is. A thread loads several gradients before it adds them.
#define ADDED_AT_ONCE 8

extern "C" __global__ void sum_row_gradients(const row_table* t, const row_batch* b, const unsigned* keys,
                                             const int* order, const float* grads) {
	int count = *b->count;
	EACH_ROW_AT(k, count) {
		if (k > 0 && same_segment(b, keys, order, k - 1, k)) continue;
		for (int d = threadIdx.x; d < t->dim; d += ROW_LANES) {
			float sum = -0.0f;
			int j = k, more = 1;
			while (more) {
				float g[ADDED_AT_ONCE];
				int n = 0;
				for (int i = 0; i < ADDED_AT_ONCE; i++) {
					more = more && j + i < count && same_segment(b, keys, order, k, j + i);
					g[i] = -0.0f;
					if (!more) continue;
					int occurrence = order[j + i], place = b->places[occurrence];
					n++;
					if (place < 0) continue;
					g[i] = grads[place + d];
					if (b->scales) g[i] *= b->scales[occurrence];
				}
				for (int i = 0; i < ADDED_AT_ONCE; i++) sum += g[i];
				j += n;
			}
			b->partial[k * t->dim + d] = sum;
			if (d == 0) b->segments[k] = j;
		}
	}
}

// The sum of the gradients of the row whose sorted occurrences begin at k, along the tree over groups: see
// vec.SumTrees.
__device__ float sum_of_row(const row_table* t, const row_batch* b, const unsigned* keys, const int* order,
                            int count, long long k, int d) {
	float sum = b->partial[k * t->dim + d];
	int j = b->segments[k];
	if (j >= count || keys[j] != keys[k]) return sum;
	float sums[32];
	int levels[32], waiting = 0, group = group_of(b, order[k]);
	for (; j < count && keys[j] == keys[k]; j = b->segments[j]) {
		int next = group_of(b, order[j]), level = 32 - __clz(group ^ next);
		for (; waiting > 0 && levels[waiting - 1] <= level; waiting--) sum = sums[waiting - 1] + sum;
		sums[waiting] = sum;
		levels[waiting++] = level;
		sum = b->partial[(long long)j * t->dim + d];
		group = next;
	}
	while (waiting > 0) sum = sums[--waiting] + sum;
	return sum;
}

// Several ranks. A rank owns the rows of some signs. In every step it makes a table of copies, with one row
// for each sign of its own batch, and asks the owners for their values; what ranks ask it for are occurrences,
// of which each rank is a group.

// Makes the keys by which the rows of a batch are sorted by their owners: see Plan.Owner of package shard.
extern "C" __global__ void key_owners(unsigned* keys, int* order, const row_table* t, int ranks) {
	EACH(i, t->counts[0]) {
		keys[i] = __umul64hi(mix(mix(t->signs[i]) + 1), ranks);
		order[i] = i;
	}
}

// Numbers the rows of a batch in the order of their owners, in which they travel.
extern "C" __global__ void deal_rows(unsigned long long* dealt, const row_table* t, const int* order) {
	EACH(i, t->counts[0]) {
		dealt[i] = t->signs[order[i]];
		claim(t, dealt[i])->row = i;
	}
}

// Finds the rows that ranks ask for. Those of a rank follow each other, and end where its bag ends; their
// gradients will lie there in its group.
extern "C" __global__ void answer_rows(float* out, const row_table* t, const row_batch* b) {
	EACH_ROW_AT(k, *b->count) {
		int rank = 0, dim = t->dim;
		while (k >= b->ends[rank + 1]) rank++;
		unsigned long long sign = b->signs[k];
		row_slot* slot = claim(t, sign);
		int row = slot ? slot->row : -1;
		for (int d = threadIdx.x; d < dim; d += ROW_LANES) {
			out[k * dim + d] = row >= 0 ? t->values[(long long)row * dim + d] : initial_value(t, sign, d);
		}
		if (threadIdx.x == 0) note(t, b, slot, k, rank * b->group + (int)(k - b->ends[rank]) * dim, 1);
	}
}

// Writes the sum of the gradients of each row to where it travels from.
extern "C" __global__ void send_sums(float* out, const row_table* t, const row_batch* b, const unsigned* keys,
                                     const int* order) {
	int count = *b->count;
	EACH_ROW_AT(k, count) {
		if (k > 0 && keys[k - 1] == keys[k]) continue;
		long long row = t->index[b->at[order[k]]].row;
		for (int d = threadIdx.x; d < t->dim; d += ROW_LANES) {
			out[row * t->dim + d] = sum_of_row(t, b, keys, order, count, k, d);
		}
	}
}

// The kinds of row optimizers, and their numbers; package engine has the same.
#define ROW_SGD 0
#define ROW_ADAGRAD 1
#define ROW_ROWWISE_ADAGRAD 2
#define ROW_ADAM 3

struct row_rule {
	// adam: by the number of updates of a row, 1 − beta1ᵗ and, as its upper half, 1/√(1 − beta2ᵗ)
	double* corrections;
	int kind, before;  // before: adagrad counts its gradient only afterwards
	int last;          // the corrections from here on are equal
	float epsilon, bound, beta1, beta2, rest1, rest2;
};

// Updates a value of a row by its gradient; divisor and rate are those of the row.
__device__ float updated(const row_rule* rule, float w, float* state, int dim, float g, float rate, float root,
                         float divisor) {
	switch (rule->kind) {
	case ROW_ADAGRAD:
		if (rule->before) {
			w -= rate * g / sqrtf(state[0] + rule->epsilon);
			state[0] += g * g;
		} else {
			state[0] += g * g;
			w -= rate * g / (sqrtf(state[0]) + rule->epsilon);
		}
		break;
	case ROW_ADAM:
		state[0] = rule->beta1 * state[0] + rule->rest1 * g;
		state[dim] = rule->beta2 * state[dim] + rule->rest2 * g * g;
		w -= rate * state[0] / (root * sqrtf(state[dim]) + rule->epsilon);
		break;
	default:
		w -= rate * g / divisor;
	}
	return w < -rule->bound ? -rule->bound : w > rule->bound ? rule->bound : w;
}

// Updates rows by the means of their gradients, unless something is not finite. The twins are Table.Apply and
// the row optimizers of package opt. Squares are summed as sumOfSquares does: lane by lane, then by halves.
extern "C" __global__ void update_rows(const row_table* t, const row_batch* b, const unsigned* keys,
                                       const int* order, const row_rule* rule, int* found) {
	__shared__ int bad[ROWS_OF_BLOCK], applied[ROWS_OF_BLOCK];
	__shared__ float squares[ROWS_OF_BLOCK][ROW_LANES];
	int x = threadIdx.x, y = threadIdx.y, dim = t->dim, count = *b->count, stopped = *found;
	float samples = ((float*)b->count)[2];
	if (x == 0) applied[y] = 0;
	for (long long first = blockIdx.x * (long long)ROWS_OF_BLOCK; first < count;
	     first += (long long)gridDim.x * ROWS_OF_BLOCK) {
		long long k = first + y;
		int begins = !stopped && k < count && (k == 0 || keys[k - 1] != keys[k]);
		if (x == 0) bad[y] = 0;
		__syncthreads();
		float square = 0, rate = ((float*)b->count)[1], root = 0, divisor = 1, own = 0;
		for (int d = x; begins && d < dim; d += ROW_LANES) {
			float g = sum_of_row(t, b, keys, order, count, k, d) / samples;
			b->partial[k * dim + d] = g;
			square += g * g;
			if ((__float_as_uint(g) & 0x7f800000u) == 0x7f800000u) bad[y] = 1;
		}
		row_slot* slot = begins ? &t->index[b->at[order[k]]] : 0;
		float* state = begins ? t->state + (long long)slot->row * t->states : 0;
		int whole = rule->kind == ROW_ROWWISE_ADAGRAD ? 0 : 2 * dim; // the value of the whole row, if any
		if (begins && whole < t->states) own = state[whole];
		squares[y][x] = square;
		__syncthreads();
		for (int half = ROW_LANES / 2; half > 0; half /= 2) {
			if (x < half) squares[y][x] += squares[y][x + half];
			__syncthreads();
		}
		if (begins && !bad[y]) {
			if (rule->kind == ROW_ROWWISE_ADAGRAD) {
				float sum = own + squares[y][0] / dim;
				divisor = rule->before ? sqrtf(own + rule->epsilon) : sqrtf(sum) + rule->epsilon;
				own = sum;
			} else if (rule->kind == ROW_ADAM) {
				own += 1;
				const double* now = rule->corrections + 2 * (own < rule->last ? (int)own : rule->last);
				rate = (float)(rate / now[0]);
				root = (float)now[1];
			}
			float* w = t->values + (long long)slot->row * dim;
			for (int d = x; d < dim; d += ROW_LANES) {
				w[d] = updated(rule, w[d], state + d, dim, b->partial[k * dim + d], rate, root, divisor);
			}
			if (x == 0) {
				unsigned updates = t->updates[slot->row];
				if (slot->row < t->counts[1]) updates |= ROW_READ;
				t->updates[slot->row] = (updates & MOST_UPDATES) < MOST_UPDATES ? updates + 1 : updates;
				if (whole < t->states) state[whole] = own;
				applied[y]++;
			}
		} else if (begins && x == 0) {
			*found = 1;
		}
		if (begins && x == 0) slot->first = NO_OCCURRENCE;
		__syncthreads(); // bad may be used again
	}
	__syncthreads();
	for (int i = 0; x + y == 0 && i < ROWS_OF_BLOCK; i++) t->applied[blockIdx.x] += applied[i];
}
