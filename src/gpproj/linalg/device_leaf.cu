// The inverse of the Cholesky factor, and log|A|, of matrices of up to 64 rows: one block of 256
// threads for each. With A = L D L', L of unit diagonal, and M = I to begin with, step j takes
// l = A_j / A_jj below the diagonal and
//
//     A <- A - l A_j',    M <- M - l M_j.
//
// In the end M = L^-1, and D^-1/2 M is the inverse of the Cholesky factor. A pivot that is not
// positive shows in the logarithm of its determinant.
//
// Thread (x, y) holds the rows y + 16 k and the columns x + 16 l of both; the column and the row
// that everyone needs in a step go through shared memory.

constexpr int SIZE = 64, SIDE = 16, OWN = SIZE / SIDE;

extern "C" __global__ void __launch_bounds__(SIDE * SIDE) factor_and_invert(
    const double* A, double* root, double* log_det, int n,
    int a_lane, int a_row, int a_column, int root_lane, int root_row, int root_column, int log_lane)
{
    __shared__ double column[2][SIZE], row[2][SIZE], D[SIZE], logs[SIZE];
    const int x = threadIdx.x % SIDE, y = threadIdx.x / SIDE;
    const long long lane = blockIdx.x;
    A += lane * a_lane;
    root += lane * root_lane;

    double a[OWN][OWN], m[OWN][OWN];
#pragma unroll
    for (int k = 0; k < OWN; ++k) {
#pragma unroll
        for (int l = 0; l < OWN; ++l) {
            const int r = y + SIDE * k, c = x + SIDE * l;
            a[k][l] = r < n && c <= r ? A[(long long)r * a_row + (long long)c * a_column] : 0.0;
            m[k][l] = r == c ? 1.0 : 0.0;
        }
    }
#pragma unroll
    for (int k = 0; k < OWN; ++k) {
        if (x == 0) column[0][y + SIDE * k] = a[k][0];
        if (y == 0) row[0][x + SIDE * k] = m[0][k];
    }
    if (threadIdx.x < SIZE) D[threadIdx.x] = 1.0;
    __syncthreads();

#pragma unroll
    for (int own = 0; own < OWN; ++own) {  // which of a thread's rows and columns have the pivots
        const int next = own + 1 < OWN ? own + 1 : own;
        for (int i = 0; i < SIDE; ++i) {
            const int j = SIDE * own + i, now = j & 1;
            if (j >= n) break;
            const double pivot = column[now][j], inverse = 1.0 / pivot;
            if (threadIdx.x == 0) D[j] = pivot;
#pragma unroll
            for (int k = own; k < OWN; ++k) {
                const int r = y + SIDE * k;
                const double ratio = r > j ? column[now][r] * inverse : 0.0;
#pragma unroll
                for (int l = 0; l < OWN; ++l) {
                    const int c = x + SIDE * l;
                    if (l >= own) a[k][l] -= ratio * column[now][c];
                    if (l <= own) m[k][l] -= ratio * row[now][c];  // there is nothing beyond
                }
            }
#pragma unroll
            for (int k = 0; k < OWN; ++k) {
                const int r = y + SIDE * k, c = x + SIDE * k;
                if (i + 1 < SIDE) {
                    if (x == i + 1) column[1 - now][r] = a[k][own];
                    if (y == i + 1) row[1 - now][c] = m[own][k];
                } else {
                    if (x == 0) column[1 - now][r] = a[k][next];
                    if (y == 0) row[1 - now][c] = m[next][k];
                }
            }
            __syncthreads();
        }
    }
    __syncthreads();

#pragma unroll
    for (int k = 0; k < OWN; ++k) {
        const int r = y + SIDE * k;
        const double scale = 1.0 / sqrt(D[r]);
#pragma unroll
        for (int l = 0; l < OWN; ++l) {
            const int c = x + SIDE * l;
            if (r < n && c <= r)
                root[(long long)r * root_row + (long long)c * root_column] = scale * m[k][l];
        }
    }
    const int t = threadIdx.x;
    if (t < SIZE) logs[t] = log(D[t]);
    __syncthreads();
    for (int half = SIZE / 2; half > 0; half /= 2) {
        if (t < half) logs[t] += logs[t + half];
        __syncthreads();
    }
    if (t == 0) log_det[lane * log_lane] = logs[0];
}
