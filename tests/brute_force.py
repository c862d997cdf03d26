"""Reference implementations: the sums of the paper, written out term by term.

Slow on purpose, and independent: nothing of skdiscrepancy is imported. Equations are
those of the paper, corrected as the last section of the user guide says. Gram matrices
come in as lists or arrays and are read entry by entry; every statistic goes out with
its scale.
"""

# SPDX-License-Identifier: BSD-3-Clause

import math
from itertools import combinations, permutations, product

import numpy as np


def distance(x, y, p=2):
    differences = [abs(float(a) - float(b)) for a, b in zip(x, y, strict=True)]
    if math.isinf(p):
        return max(differences)
    return math.fsum(t**p for t in differences) ** (1 / p)


def squared_distance(x, y):
    return math.fsum((float(a) - float(b)) ** 2 for a, b in zip(x, y, strict=True))


def gaussian(x, y, bandwidth):
    return math.exp(-squared_distance(x, y) / bandwidth**2)


def laplace(x, y, bandwidth):
    return math.exp(-distance(x, y, 1) / bandwidth)


def imq(x, y, bandwidth):
    return 1 / math.sqrt(1 + squared_distance(x, y) / bandwidth**2)


def matern12(x, y, bandwidth, p=2):
    return math.exp(-distance(x, y, p) / bandwidth)


def matern32(x, y, bandwidth, p=2):
    u = distance(x, y, p) / bandwidth
    return (1 + math.sqrt(3) * u) * math.exp(-math.sqrt(3) * u)


def matern52(x, y, bandwidth, p=2):
    u = distance(x, y, p) / bandwidth
    return (1 + math.sqrt(5) * u + 5 / 3 * u**2) * math.exp(-math.sqrt(5) * u)


def matern72(x, y, bandwidth, p=2):
    u = distance(x, y, p) / bandwidth
    polynomial = 1 + math.sqrt(7) * u + 14 / 5 * u**2 + 7 * math.sqrt(7) / 15 * u**3
    return polynomial * math.exp(-math.sqrt(7) * u)


def matern92(x, y, bandwidth, p=2):
    u = distance(x, y, p) / bandwidth
    polynomial = 1 + 3 * u + 3 * 36 / 28 * u**2 + 216 / 84 * u**3 + 1296 / 1680 * u**4
    return polynomial * math.exp(-3 * u)


def indicator(x, y, bandwidth=None):
    return float(all(a == b for a, b in zip(x, y, strict=True)))


KERNELS = {
    "gaussian": gaussian,
    "laplace": laplace,
    "imq": imq,
    "matern12": matern12,
    "matern32": matern32,
    "matern52": matern52,
    "matern72": matern72,
    "matern92": matern92,
    "indicator": indicator,
}


# Kernels of scikit-learn, which have another convention for the bandwidth.
def sklearn_rbf(x, y, length_scale):
    return math.exp(-squared_distance(x, y) / (2 * length_scale**2))


def sklearn_rational_quadratic(x, y, length_scale, alpha):
    return (1 + squared_distance(x, y) / (2 * alpha * length_scale**2)) ** -alpha


def sklearn_dot_product(x, y, sigma_0):
    return sigma_0**2 + math.fsum(a * b for a, b in zip(x, y, strict=True))


def gram(kernel, Z, *args, noise=0.0):
    """Gram matrix of the rows of Z; `noise` is a white kernel: of i = j only."""
    K = np.array([[kernel(x, y, *args) for y in Z] for x in Z])
    return K + noise * np.eye(len(K))


def gaussian_derivatives(d, bandwidth):
    value = math.exp(-((d / bandwidth) ** 2))
    return (
        value,
        -2 / bandwidth**2 * value,
        (4 * d**2 / bandwidth**4 - 2 / bandwidth**2) * value,
    )


def imq_derivatives(d, bandwidth):
    base = 1 + (d / bandwidth) ** 2
    return (
        base**-0.5,
        -(base**-1.5) / bandwidth**2,
        -(base**-1.5) / bandwidth**2 + 3 * d**2 / bandwidth**4 * base**-2.5,
    )


def matern32_derivatives(d, bandwidth):
    t, c = math.sqrt(3) * d / bandwidth, 3 / bandwidth**2
    decay = math.exp(-t)
    return (1 + t) * decay, -c * decay, -c * (1 - t) * decay


def matern52_derivatives(d, bandwidth):
    t, c = math.sqrt(5) * d / bandwidth, 5 / bandwidth**2
    decay = math.exp(-t)
    return (
        (1 + t + t**2 / 3) * decay,
        -c / 3 * (1 + t) * decay,
        -c / 3 * (1 + t - t**2) * decay,
    )


def matern72_derivatives(d, bandwidth):
    t, c = math.sqrt(7) * d / bandwidth, 7 / bandwidth**2
    decay = math.exp(-t)
    return (
        (1 + t + 2 * t**2 / 5 + t**3 / 15) * decay,
        -c / 15 * (3 + 3 * t + t**2) * decay,
        -c / 15 * (3 + 3 * t - t**3) * decay,
    )


def matern92_derivatives(d, bandwidth):
    t, c = 3 * d / bandwidth, 9 / bandwidth**2
    decay = math.exp(-t)
    return (
        (1 + t + 3 * t**2 / 7 + 2 * t**3 / 21 + t**4 / 105) * decay,
        -c / 105 * (15 + 15 * t + 6 * t**2 + t**3) * decay,
        -c / 105 * (15 + 15 * t + 3 * t**2 - 2 * t**3 - t**4) * decay,
    )


# psi(d), psi'(d) / d and psi''(d) for k(x, y) = psi(||x - y||_2).
DERIVATIVES = {
    "gaussian": gaussian_derivatives,
    "imq": imq_derivatives,
    "matern32": matern32_derivatives,
    "matern52": matern52_derivatives,
    "matern72": matern72_derivatives,
    "matern92": matern92_derivatives,
}


def stein_kernel(name, x, y, score_x, score_y, bandwidth):
    """Equation `h_ksd_stein`, coordinate by coordinate."""
    d = distance(x, y)
    value, slope, curvature = DERIVATIVES[name](d, bandwidth)
    terms = []
    for a, b, s, t in zip(x, y, score_x, score_y, strict=True):
        gradient_x, gradient_y = slope * (a - b), -slope * (a - b)
        # d^2 k / dx_i dy_i; the direction has no meaning, and no weight, at d = 0.
        direction = ((a - b) / d) ** 2 if d > 0 else 0.0
        mixed = -slope - (curvature - slope) * direction
        terms += [s * t * value, s * gradient_y, t * gradient_x, mixed]
    return math.fsum(terms)


def stein_gram(name, X, scores, bandwidth):
    return np.array(
        [
            [
                stein_kernel(name, x, y, s, t, bandwidth)
                for y, t in zip(X, scores, strict=True)
            ]
            for x, s in zip(X, scores, strict=True)
        ]
    )


def design_pairs(design, n, random_state=None):
    """List the pairs of a design, from its letter or from its class and parameters.

    Only for random pairs is the design itself asked: which pairs were drawn is its own
    affair, what is summed over them is not.
    """
    name = design if isinstance(design, str) else type(design).__name__
    params = {} if isinstance(design, str) else design.get_params()
    if name in ("v", "CompleteV"):
        return list(product(range(n), repeat=2))
    if name in ("u", "CompleteU"):
        return list(permutations(range(n), 2))
    if name in ("l", "Linear"):
        return [(2 * i, 2 * i + 1) for i in range(n // 2)]
    if name in ("d", "Subdiagonals"):
        r = params.get("n_subdiagonals", "sqrt")
        r = math.isqrt(n) if r == "sqrt" else r
        return [(i, i + j) for j in range(1, r + 1) for i in range(n - j)]
    if name in ("b", "Blocks"):
        sizes = params.get("block_sizes")
        if sizes is None:
            b = params.get("n_blocks", "sqrt")
            b = math.isqrt(n) if b == "sqrt" else b
            sizes = [n // b] * b + [n % b]
        pairs, start = [], 0
        for size in sizes:
            pairs += permutations(range(start, start + size), 2)
            start += size
        return pairs
    if name in ("x", "Cross"):
        first = params.get("n_first", "half")
        first = n // 2 if first == "half" else first
        return list(product(range(first), range(first, n)))
    rows, cols = design.pairs(n, random_state=random_state)
    return list(zip(rows.tolist(), cols.tolist(), strict=True))


def design_statistic(h, pairs):
    """Mean of h over a design, and sigma_k with rows weighted by length."""
    rows = {}
    for i, j in pairs:
        rows.setdefault(i, []).append(float(h[i][j]))
    weights = [len(row) / len(pairs) for row in rows.values()]
    means = [math.fsum(row) / len(row) for row in rows.values()]
    return _mean_and_scale(means, weights, 2)


def _mean_and_scale(values, weights, factor):
    """Weighted mean, and `factor` times the weighted standard deviation.

    sum w v^2 - (sum w v)^2 is written as a sum of squares: the same number, with the
    digits that the difference would lose.
    """
    mean = math.fsum(w * v for w, v in zip(weights, values, strict=True))
    variance = math.fsum(
        w * (v - mean) ** 2 for w, v in zip(weights, values, strict=True)
    )
    return mean, factor * math.sqrt(variance)


def mmd(K, m, *, unbiased):
    """Two-sample V or U from the joint Gram matrix of m rows and the others."""
    n = len(K) - m
    first, second = range(m), range(m, m + n)
    statistic = (
        _mean(K[i][j] for i, j in product(first, first) if i != j or not unbiased)
        - 2 * _mean(K[i][j] for i, j in product(first, second))
        + _mean(K[i][j] for i, j in product(second, second) if i != j or not unbiased)
    )
    variances = []
    for own, other in ((first, second), (second, first)):
        differences = [
            _mean(K[i][j] for j in own if i != j or not unbiased)
            - _mean(K[i][j] for j in other)
            for i in own
        ]
        centre = _mean(differences)
        variances.append(_mean((v - centre) ** 2 for v in differences) / len(own))
    harmonic = 2 * m * n / (m + n)
    return statistic, math.sqrt(4 * harmonic * sum(variances))


def mmd_core(K, m, size):
    """h(X_i, X_j; Y_i, Y_j) on the first `size` rows of each sample."""
    return [
        [K[i][j] - K[j][m + i] - K[i][m + j] + K[m + i][m + j] for j in range(size)]
        for i in range(size)
    ]


def _mean(values):
    values = list(values)
    return math.fsum(values) / len(values)


def hsic_core(K, L, i, j, r, s):
    """Equation `hsiccore`, the one with the factor 1/4."""
    return (
        (K[i][j] - K[i][s] - K[r][j] + K[r][s])
        * (L[i][j] - L[i][s] - L[r][j] + L[r][s])
        / 4
    )


def hsic_v(K, L):
    """Mean of the fourth-order core over all quadruples; scale as in the user guide."""
    n = len(K)
    K, L = np.asarray(K).tolist(), np.asarray(L).tolist()
    statistic = _mean(hsic_core(K, L, *q) for q in product(range(n), repeat=4))
    h = np.asarray(_centred(K)) * np.asarray(_centred(L))
    return statistic, design_statistic(h, design_pairs("v", n))[1]


def _centred(K):
    n = len(K)
    rows, total = [_mean(row) for row in K], _mean(v for row in K for v in row)
    return [[K[i][j] - rows[i] - rows[j] + total for j in range(n)] for i in range(n)]


def hsic_u(K, L):
    """Mean over quadruples of distinct samples, and 4 sd of the projections p_i.

    p_i is the mean of the symmetrised core over all quadruples that hold i, that is the
    mean of the core itself over all ordered quadruples that hold i anywhere.
    """
    n = len(K)
    K, L = np.asarray(K).tolist(), np.asarray(L).tolist()
    values, holding = [], [[] for _ in range(n)]
    for quadruple in permutations(range(n), 4):
        value = hsic_core(K, L, *quadruple)
        values.append(value)
        for i in quadruple:
            holding[i].append(value)
    projections = [_mean(part) for part in holding]
    # 16 (mean p_i^2 - U^2): the mean of the projections is U.
    return _mean(values), _mean_and_scale(projections, [1 / n] * n, 4)[1]


def weighted_mmd(K, m, w, v, *, unbiased):
    """Return the statistic and the scale of rows with weights, pair by pair."""
    n = len(v)
    w, v = ([float(t) / math.fsum(u) for t in u] for u in (w, v))

    def part(weights, k, cross):
        rows = range(len(weights))
        pairs = [(i, j) for i in rows for j in rows if i != j or not unbiased]
        mass = math.fsum(weights[i] * weights[j] for i, j in pairs)
        total = math.fsum(weights[i] * weights[j] * k(i, j) for i, j in pairs)
        means = []
        for i in rows:
            others = [j for j in rows if j != i or not unbiased]
            own = math.fsum(weights[j] * k(i, j) for j in others)
            means.append(own / math.fsum(weights[j] for j in others) - cross(i))
        middle = math.fsum(a * b for a, b in zip(weights, means, strict=True))
        variance = math.fsum(
            a * (b - middle) ** 2 for a, b in zip(weights, means, strict=True)
        )
        return total / mass, variance, 1 / math.fsum(t * t for t in weights)

    of_x, var_x, m_eff = part(
        w,
        lambda i, j: K[i][j],
        lambda i: math.fsum(v[j] * K[i][m + j] for j in range(n)),
    )
    of_y, var_y, n_eff = part(
        v,
        lambda i, j: K[m + i][m + j],
        lambda j: math.fsum(w[i] * K[i][m + j] for i in range(m)),
    )
    cross = math.fsum(w[i] * v[j] * K[i][m + j] for i in range(m) for j in range(n))
    harmonic = 2 * m_eff * n_eff / (m_eff + n_eff)
    scale = math.sqrt(4 * harmonic * (var_x / m_eff + var_y / n_eff))
    return of_x + of_y - 2 * cross, scale, harmonic


def weighted_hsic(K, L, w, *, unbiased):
    """Return the fourth-order statistic of rows with weights, tuple by tuple."""
    rows = range(len(w))
    tuples = permutations(rows, 4) if unbiased else product(rows, repeat=4)
    total = mass = 0.0
    for i, j, r, s in tuples:
        weight = float(w[i]) * w[j] * w[r] * w[s]
        core = K[i][j] * (L[i][j] + L[r][s] - 2 * L[i][r])
        total, mass = total + weight * core, mass + weight
    return total / mass


def hsic_shifted_core(K, L):
    """The second-order core on the N/2 pairs of rows (i, i + N/2)."""
    n = len(K) // 2
    return [[hsic_core(K, L, i, j, i + n, j + n) for j in range(n)] for i in range(n)]


def pool(values, pooling, nu):
    values = [float(v) for v in values]
    if pooling == "mean":
        return _mean(values)
    if pooling == "max":
        return max(values)
    return math.log(_mean(math.exp(nu * v) for v in values)) / nu


def splits(n, first):
    """All orders of n samples that put another set among the first ones."""
    for chosen in combinations(range(n), first):
        yield [*chosen, *(i for i in range(n) if i not in chosen)]


def held_out_r2(matrices, L, n):
    """R^2 on the rows after the first n, by sums over these n with kernels as weights.

    The features of y enter by their inner products L, as the rows of a root of L.
    """
    H = np.eye(len(L))
    H[:, :n] -= 1 / n
    variances, axes = np.linalg.eigh(H @ L @ H.T)
    F = axes * np.sqrt(np.maximum(variances, 0))
    variances, axes = np.linalg.eigh(F[:n].T @ F[:n] / n)
    F = F @ axes[:, variances > 1e-3 * variances[-1]]
    predictions = []
    for K in matrices:
        K = H @ K @ H.T
        np.fill_diagonal(K[:n, :n], 0)
        P = K[:, :n] @ F[:n] / n
        P -= P[:n].mean(axis=0)
        predictions.append(P / np.sqrt(np.square(P[:n]).sum() / n))
    P = np.moveaxis(predictions, 0, -1)
    A, b = P[:n].reshape(-1, P.shape[2]) / np.sqrt(n), F[:n].ravel() / np.sqrt(n)
    weights = np.linalg.solve(A.T @ A + 1e-3 * np.eye(A.shape[1]), A.T @ b)
    return 1 - np.square(F - P @ weights)[n:].sum() / np.square(F[n:]).sum()
