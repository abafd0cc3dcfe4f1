/* What it costs to bring the best channel down: φ(s) = min_u Σ_x w_x D(W_x‖u_x) + s C(u) at a price s.

   Convex, and solved once for all rivals on a grid of prices, by steps of Blahut and Arimoto [Bla72, Ari72]. */
#include "lower_bound.h"

static const double INPUT_RATE = 1.5;     /* exponent of their steps: 1 is theirs, and below 2 they converge */
static const double LEAST_INPUT = 1e-30;  /* so that an input which a step has ruled out can come back */

StepRoom step_room(Space *space, Size n, Size m) {
    return (StepRoom){take(space, n), take(space, m), take(space, m), take(space, m), take(space, m), take(space, m),
                      take(space, m)};
}

void curve_room(Space *space, Curve *curve) {
    Size n = curve->side.n, m = curve->side.m;
    curve->step = step_room(space, n, m);
    curve->between_u = take(space, n * m), curve->between_P = take(space, n), curve->new = take(space, n * m);
}

/* Q = Pv. */
void output(Size n, Size m, const double *v, const double *P, double *Q) {
    for (Size y = 0; y < m; y++) Q[y] = 0.0;
    for (Size x = 0; x < n; x++)
        for (Size y = 0; y < m; y++) Q[y] += P[x] * v[x * m + y];
}

/* One step P ← P exp(rate D(v_x‖Pv)), and how far it went. */
double improve_input(Size n, Size m, const double *v, double *P, const StepRoom *room) {
    double total = 0.0, change = 0.0, *new = room->P;
    output(n, m, v, P, room->Q);
    for (Size y = 0; y < m; y++) room->log_Q[y] = log_of(room->Q[y]);
    for (Size x = 0; x < n; x++) {
        double D = 0.0;
        for (Size y = 0; y < m; y++) {
            double p = v[x * m + y];
            if (p > 0.0) D += p * (bc_log(p) - room->log_Q[y]);
        }
        new[x] = P[x] * bc_exp(INPUT_RATE * smaller(D, 100.0));
        total += new[x];
    }
    for (Size x = 0; x < n; x++) {
        double moved = larger(new[x] / total, LEAST_INPUT);
        change = larger(change, fabs(moved - P[x]));
        P[x] = moved;
    }
    return change;
}

/* Σ_y weight (h - mean h)²: how fast ⟨h, v⟩ follows its price along one row. */
double spread(Size m, const double *weights, const double *h) {
    double total = TINY, mean = 0.0, square = 0.0;
    for (Size y = 0; y < m; y++) {
        total += weights[y];
        mean += weights[y] * h[y];
        square += weights[y] * h[y] * h[y];
    }
    return larger(square - mean * mean / total, 0.0);
}

/* The rows at the price s while Q = Pu stays: a descent step, as C(u) is a minimum over Q as well.

   Returns Σ_x P_x D(new_x‖Q) and how fast it falls with s. */
Sloped leader_step(const Side *side, double s, const double *u, const double *P, double *new, const StepRoom *room) {
    Size n = side->n, m = side->m;
    Sloped information = {0.0, 0.0};
    output(n, m, u, P, room->Q);
    for (Size y = 0; y < m; y++) room->log_Q[y] = log_of(room->Q[y]);
    for (Size x = 0; x < n; x++) {
        const double t = s * P[x], *a = side->a + x * m;
        double *row = new + x * m;
        divergence_sum_row(m, a, side->w[x], t, room->log_Q, row);
        for (Size y = 0; y < m; y++) {
            room->h[y] = P[x] * (log_of(row[y]) - room->log_Q[y]);
            room->weights[y] = row[y] * row[y] / larger(a[y] + t * row[y], TINY);
            information.value += room->h[y] * row[y];
        }
        information.slope += spread(m, room->weights, room->h);
    }
    return information;
}

/* A lower bound of φ(s); fills the information of (P, u).

   C ≥ Σ_x P_x E_{·|x} log(u_x/Pu) for every P and u: a linear function, and the rows separate. */
static double leader_bound(const Side *side, double s, const double *u, const double *P, const StepRoom *room,
                           double *information) {
    Size n = side->n, m = side->m;
    double bound = 0.0;
    *information = 0.0;
    output(n, m, u, P, room->Q);
    for (Size y = 0; y < m; y++) room->log_Q[y] = log_of(room->Q[y]);
    for (Size x = 0; x < n; x++) {
        for (Size y = 0; y < m; y++) {
            double h = P[x] * (log_of(u[x * m + y]) - room->log_Q[y]);
            room->tilt[y] = s * h;
            *information += u[x * m + y] * h;
        }
        bound += tilted_row(m, side->a + x * m, side->w[x], room->tilt, room->v);
    }
    return bound;
}

/* old = new, and how far that was. */
double move(double *old, const double *new, Size count) {
    double change = 0.0;
    for (Size i = 0; i < count; i++) {
        change = larger(change, fabs(new[i] - old[i]));
        old[i] = new[i];
    }
    return change;
}

/* The i with x between values[i] and values[i + 1] of a monotone list; the first or last where x is outside. */
static Size segment(const double *values, Size count, double x) {
    Size low = 0, high = count - 1;
    int falling = values[low] > values[high];
    while (high - low > 1) {
        Size middle = (low + high) / 2;
        if ((values[middle] <= x) != falling) low = middle;
        else high = middle;
    }
    return low;
}

/* A lower bound of φ at any price, one step from what lies between the two nearest of the grid. */
double phi_at(const Curve *curve, double s) {
    Size n = curve->side.n, m = curve->side.m, i = segment(curve->s, curve->count, s);
    double r = smaller(larger((s - curve->s[i]) / (curve->s[i + 1] - curve->s[i]), 0.0), 1.0), information;
    const double *u = curve->u + i * n * m, *P = curve->P + i * n;
    for (Size x = 0; x < n; x++) curve->between_P[x] = (1.0 - r) * P[x] + r * P[n + x];
    for (Size k = 0; k < n * m; k++)  /* small entries are about exponential in s */
        curve->between_u[k] = bc_exp((1.0 - r) * log_of(u[k]) + r * log_of(u[n * m + k]));
    leader_step(&curve->side, s, curve->between_u, curve->between_P, curve->new, &curve->step);
    return leader_bound(&curve->side, s, curve->new, curve->between_P, &curve->step, &information);
}

/* F(c) = min{Σ w D(W‖u): C(u) ≤ c} = max_s φ(s) - sc about, the price s that gives it, and F''(c).

   Only a guide: φ between the prices of the grid is Hermite's cubic, with φ' = C(u). */
Price leader_cost(const Curve *curve, double c) {
    Size end = curve->count - 1;
    const double *s = curve->s, *phi = curve->phi, *C = curve->capacity;
    if (!(c < C[0])) return (Price){0.0, s[0], 0.0};
    if (!(c > C[end])) return (Price){phi[end] - s[end] * c, s[end], 0.0};
    Size i = segment(C, curve->count, c);
    double width = s[i + 1] - s[i], rise = phi[i + 1] - phi[i], first = width * C[i], last = width * C[i + 1];
    /* φ(s_i + r width) = φ_i + first r + square r² + cube r³, and its slope is to be c */
    double square = 3.0 * rise - 2.0 * first - last, cube = first + last - 2.0 * rise, excess = first - width * c;
    double r = excess / (sqrt(larger(square * square - 3.0 * cube * excess, 0.0)) - square);
    if (!(r >= 0.0 && r <= 1.0)) r = excess / (first - last);
    double bend = -(square + 3.0 * cube * r) * 2.0, price = s[i] + r * width;
    double value = phi[i] + r * (first + r * (square + r * cube));
    return (Price){value - price * c, price, width * width / larger(bend, 0.1 * (first - last))};
}

/* How many numbers `room` of the next functions must have. */
BC_EXPORT Size BC(leader_curve_room)(Size n, Size m) {
    Space space = {0, 0};
    Curve curve = {.side = {n, m, 0, 0, 0.0}};
    curve_room(&space, &curve);
    return space.used;
}

/* Follow the leader with a [x, y] and w [x] from the first of `count` prices s on, started at the rows u0 and the input
   P0, which it overwrites: fills phi [s], capacity [s], u [s, x, y] and P [s, x]. */
BC_EXPORT void BC(leader_curve)(Size n, Size m, Size count, const double *a, const double *w, const double *s,
                                double *phi, double *capacity, double *u, double *P, double *u0, double *P0, Size most,
                                double tol, double *room) {
    Space space = {room, 0};
    Curve curve = {.side = {n, m, a, w, 0.0}};
    curve_room(&space, &curve);
    for (Size i = 0; i < count; i++) {
        for (Size step = 0; step < most; step++) {
            double change = improve_input(n, m, u0, P0, &curve.step);
            leader_step(&curve.side, s[i], u0, P0, curve.new, &curve.step);
            if (larger(change, move(u0, curve.new, n * m)) < tol) break;
        }
        phi[i] = leader_bound(&curve.side, s[i], u0, P0, &curve.step, capacity + i);
        copy(P0, P + i * n, n);
        copy(u0, u + i * n * m, n * m);
    }
}

/* `phi_at` by itself, for tests. */
BC_EXPORT double BC(phi_at)(Size n, Size m, Size count, const double *a, const double *w, const double *s, double *u,
                            double *P, double price, double *room) {
    Space space = {room, 0};
    Curve curve = {.side = {n, m, a, w, 0.0}, .count = count, .s = s, .u = u, .P = P};
    curve_room(&space, &curve);
    return phi_at(&curve, price);
}
