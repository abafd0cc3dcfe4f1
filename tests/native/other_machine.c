/* The answers of kernels for channels that are exact in binary, as one number: the same on every machine.
 *
 * Built with the sources of the library for any machine, and run there or in an emulator (tests/native/test_machines.py).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel.h"

int64_t BC(lanes_solve_room)(int64_t, int64_t, int64_t);
void BC(lanes_solve)(const double *, int64_t, int64_t, int64_t, int64_t, int64_t, double, double, int64_t, double *,
                     double *, double *, double *, uint8_t *, double *);
int64_t BC(interior_point_room)(int64_t, int64_t);
void BC(interior_point)(int64_t, int64_t, const double *, const double *, const double *, double, double *, double *);
void BC(climb)(int64_t, int64_t, const double *, const double *, const double *, int64_t, double *, double *, double *);
void BC(neg_entropies)(int64_t, int64_t, const double *, double *, double *, double *);
void BC(exp)(int64_t, const double *, double *);
void BC(log1p)(int64_t, const double *, double *);

static uint64_t state = 88172645463325252u, digest = 14695981039346656037u;

static uint64_t drawn(void) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return state;
}

static void note(const void *data, size_t bytes) {
    for (size_t i = 0; i < bytes; i++) digest = (digest ^ ((const unsigned char *)data)[i]) * 1099511628211u;
}

/* Rows of whole numbers that sum to 2^20, in units of 2^-20; one of three is coarse, with zeros. */
static double *channels(int count, int n, int m) {
    double *W = malloc(sizeof(double) * count * n * m);
    for (int row = 0; row < count * n; row++) {
        uint64_t left = 1 << 20, coarse = row % 3 ? 1 : 1 << 14;
        for (int y = 0; y < m; y++) {
            uint64_t part = y == m - 1 ? left : drawn() % (left + 1) / coarse * coarse;
            W[row * m + y] = (double)part / 1048576.0, left -= part;
        }
    }
    return W;
}

static void solve(int count, int n, int m, double rtol) {
    double *W = channels(count, n, m), *space = malloc(sizeof(double) * BC(lanes_solve_room)(n, m, 32));
    double *low = calloc(count * (2 + n + m), sizeof(double)), *high = low + count, *P = high + count, *Q = P + count * n;
    uint8_t *status = calloc(count, 1);
    BC(lanes_solve)(W, 0, count, n, m, 32, 1e-10, rtol, 0, low, high, P, Q, status, space);
    note(low, sizeof(double) * count * (2 + n + m)), note(status, count);
    free(W), free(space), free(low), free(status);
}

static void solve_alone(int n, int m) {
    double *W = channels(1, n, m), *space = malloc(sizeof(double) * (BC(interior_point_room)(n, m) + 5 * n + 2 * m));
    double *h = calloc(4 * n, sizeof(double)), *excess = h + n, *p = excess + n, *best = p + n;
    for (int x = 0; x < n; x++) p[x] = 1.0 / n;
    BC(neg_entropies)(n, m, W, h, excess, space);
    BC(climb)(n, m, W, h, p, 12, best, space, space + n);
    memcpy(p, best, sizeof(double) * n);
    BC(interior_point)(n, m, W, h, p, 1e-11, best, space);
    note(h, sizeof(double) * 4 * n);
    free(W), free(space), free(h);
}

int main(void) {
    double x[1000], y[1000];
    for (int i = 0; i < 1000; i++) x[i] = (double)(int64_t)(drawn() >> 11) / 4503599627370496.0 - 0.99;
    BC(exp)(1000, x, y), note(y, sizeof y);
    BC(log1p)(1000, x, y), note(y, sizeof y);
    solve(500, 2, 2, 1.0), solve(500, 4, 4, 1.0), solve(200, 8, 3, 1.0), solve(100, 4, 4, 1e-6), solve(40, 17, 30, 1.0);
    solve_alone(64, 64), solve_alone(70, 40);
    printf("%016llx\n", (unsigned long long)digest);
    return 0;
}
