"""The equations of an elliptic family in the span of its answers, as weights of a branch that solves (network/trunk_solve.py).

Cells are put into groups. In each, the derivative of source and flux by value and gradient is taken as a matrix C that does not
change and one matrix E times a number a(z), means over the group; tested with the functions of the span E gives a small matrix
of few rows. What a(z) is, units learn from the problem's functions alone: no answer takes part in it.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ..discretize.batches import Batch
from ..network.trunk_solve import Reduced
from .alike import right_side_is_affine
from .assembly import Assembly
from .sensed import apart
from .span import Span

_SAMPLES = 2048  # parameters at which coefficients are looked at
_TRIED = 32  # of them, that tell whether it is of use
_LOOK = 64  # groups for that
_REST = 0.1  # of a derivative: what one matrix times a number may leave
_STILL, _NEGATIVE = (
    1e-9,
    1e-6,
)  # of a derivative: samples that differ by less do not; eigenvalues that are none but for rounding
_STEPS, _BATCH, _RATE = 1500, 256, 0.02  # of the units' fit, by Adam
_UNLEARNT = 0.5  # of the deviation of log a: what a unit may leave of it
_SMALL = 0.02  # deviation of log a that does not matter
_AMPLITUDES, _STEEPEST = (0.51, 0.6, 0.8, 2.0, 8.0), 0.98  # of units, in ranges of log a; tanh that one sees at most
_SEED = 800_003  # added to that of a run


@dataclass(frozen=True)
class Groups:
    """Cells of a mesh in groups.

    Attributes:
        of: for each part of the weak form, (e,) the group of its cells or facets.
        count: of groups.
    """

    of: list[Tensor]
    count: int


def grouped_cells(system: Assembly, count: int) -> Groups:
    """At most `count` groups: neighbouring cells, and the facets of each boundary with a natural condition."""
    cells = [batch.x.mean(1) for _, batch in system.parts if batch.normals is None]
    places, boundaries = torch.cat(cells), len(system.parts) - len(cells)
    chosen = apart(places.cpu(), max(1, min(count - boundaries, len(places)))).to(places.device)
    nearest = torch.cat([torch.cdist(some, places[chosen]).argmin(1) for some in places.split(4096)])
    own, made, at = iter(nearest.split([len(c) for c in cells])), [], len(chosen)
    for _, batch in system.parts:
        if batch.normals is None:
            made.append(next(own))
            continue
        made.append(torch.full((len(batch.dx),), at, device=places.device))
        at += 1
    return Groups(made, at)


def coefficients(system: Assembly, groups: Groups, z: Tensor) -> Tensor:
    """(S, groups, n, n) mean derivative of (source, flux) by (value, gradient), for scaled parameters (S, K)."""
    mu, n = system.family.value(z), system.columns
    total = torch.zeros(len(z), groups.count, n * n, dtype=torch.float64, device=system.device)
    size = torch.zeros(groups.count, dtype=torch.float64, device=system.device)
    for of, (integrand, batch) in zip(groups.of, system.parts, strict=True):
        own = _central(batch)
        mean = system.tangents(integrand, own, mu).flatten(-2)[:, :, 0] * own.dx[:, :, None, None]  # (S, e, C, m, n)
        whole = mean.new_zeros(*mean.shape[:3], system.form.mesh.dimension + 1, n)
        whole[:, :, :, : mean.shape[3]] = mean
        total.index_add_(1, of, whole.flatten(2))
        size.index_add_(0, of, own.dx[:, 0])
    return total.unflatten(2, (n, n)) / size[:, None, None]


def _central(batch: Batch) -> Batch:
    """The same cells or facets with the one point nearest to the middle of each."""
    off = (batch.x - batch.x.mean(1, keepdim=True)).norm(dim=2)
    at = torch.arange(len(off), device=off.device), off.argmin(1)
    normals = None if batch.normals is None else batch.normals[at][:, None]
    shapes = [s[at][:, None] for s in batch.shapes]
    return Batch(batch.x[at][:, None], batch.dx.sum(1, keepdim=True), shapes, batch.unknowns, normals)


def is_elliptic(system: Assembly, span: Span, seed: int) -> bool:
    """Whether matrices are sums of numbers times positive ones, right sides affine, and prescribed values zero."""
    fixed = span.V[:, system.constrained]
    if fixed.numel() and float(fixed.abs().max()) > 1e-9 * float(span.V.abs().max()):
        return False
    if not right_side_is_affine(system):
        return False
    family = system.family
    J = coefficients(system, grouped_cells(system, _LOOK), family.scaled(family.sample(_TRIED, seed=_SEED + seed)))
    C, E, a = _split(J)
    rest = (J - C - a[..., None, None] * E).flatten(2).norm(dim=2)
    size = J.flatten(2).norm(dim=2)
    live = size.amax(0) > 1e-9 * size.max()
    skew = (J - J.mT).abs().max() > 1e-9 * J.abs().max()
    positive = bool((a[:, live] > 0).all())
    for part in (C, E):
        least, whole = torch.linalg.eigvalsh(part[live])[:, 0], part[live].abs().amax((1, 2))
        positive &= bool((least > -_NEGATIVE * torch.maximum(whole, _NEGATIVE * size.amax(0)[live])).all())
    return positive and not skew and float((rest / size.clamp(min=1e-300))[:, live].mean()) <= _REST


def _split(J: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """C and E (groups, n, n) and numbers a (S, groups) with J ~ C + a E: E is how samples differ, C what all of them have.

    Of a E as much is in all samples as leaves C without negative eigenvalues, so that numbers are positive, and C is zero where
    samples are multiples of each other.
    """
    M, n = J.mean(0), J.shape[-1]
    off = (J - M).flatten(2)
    values, vectors = torch.linalg.eigh(torch.einsum("sgi,sgj->gij", off, off) / len(J))
    E = vectors[..., -1].unflatten(-1, (n, n))
    E = (E + E.mT) / 2
    E = E * torch.where(E.diagonal(dim1=1, dim2=2).sum(1) < 0, -1.0, 1.0)[:, None, None]
    still = values[:, -1] <= _STILL**2 * (M**2).sum((1, 2))
    E = torch.where(still[:, None, None], M, E)
    w, V = torch.linalg.eigh((M + M.mT) / 2)
    scaled = V * torch.where(w > _STILL * w[:, -1:], w.clamp(min=1e-300).rsqrt(), 0.0)[:, None]
    largest = torch.linalg.eigvalsh(scaled.mT @ E @ scaled)[:, -1]
    shared = torch.where(largest > 0, 1 / largest.clamp(min=1e-300), 0.0)
    b = (off * E.flatten(1)).sum(2) / (E**2).sum((1, 2)).clamp(min=1e-300)
    return M - shared[:, None, None] * E, E, b + shared


def reduced_equations(
    system: Assembly, span: Span, places: int, rows: int, seed: int, steps: int = _STEPS, samples: int = _SAMPLES
) -> Reduced | None:
    """The layers of a branch that solves the equations in the span, as far as groups of cells and few rows have them.

    None where the family is not elliptic, or units do not learn its coefficients.

    Args:
        system: linear.
        span: r functions.
        places: groups of cells.
        rows: of each group's matrix: those with the largest eigenvalues.
        seed: of the parameters at which coefficients are looked at.
        steps, samples: of the units' fit, and parameters for it.
    """
    if not is_elliptic(system, span, seed):
        return None
    family = system.family
    groups = grouped_cells(system, places)
    z = family.scaled(family.sample(samples, seed=_SEED + seed))
    C, E, a = _split(torch.cat([coefficients(system, groups, some) for some in z.split(_TRIED)]))
    live = ((E**2).sum((1, 2)) > 1e-20 * (E**2).sum((1, 2)).max()).nonzero()[:, 0]
    G = torch.zeros(places, rows, span.count, dtype=torch.float64, device=system.device)
    rest = torch.zeros(span.count, span.count, dtype=torch.float64, device=system.device)
    everywhere = torch.arange(groups.count, device=system.device)
    for K in _matrices(system, span, groups, C, everywhere):
        rest += K
    for k, (K, usual) in enumerate(zip(_matrices(system, span, groups, E, live), a[:, live].mean(0), strict=True)):
        values, vectors = torch.linalg.eigh(K)
        best = vectors[:, -rows:] * values[-rows:].clamp(min=0).sqrt()
        G[k, : best.shape[1]] = best.T
        rest += usual * (K - best @ best.T)
    wanted = torch.zeros(len(z), places, dtype=torch.float64, device=system.device)
    wanted[:, : len(live)] = a[:, live].log()  # others have no rows
    seen, sizes, left = _fitted_units(z.to(wanted), wanted, seed, steps)
    if left > _UNLEARNT:
        return None
    values, vectors = torch.linalg.eigh(rest)  # what few rows leave out counts as it is for the mean coefficient
    D = vectors * values.clamp(min=0).sqrt()
    weights = torch.cat([G.flatten(0, 1).T, D], 1), torch.zeros_like(values)
    return Reduced(seen, sizes, weights, _right_side(system, span, z))


def _matrices(system: Assembly, span: Span, groups: Groups, E: Tensor, live: Tensor) -> list[Tensor]:
    """(r, r) of each group that has a coefficient."""
    result = {int(k): torch.zeros(span.count, span.count, dtype=torch.float64, device=E.device) for k in live}
    for of, (_, batch) in zip(groups.of, system.parts, strict=True):
        B = batch.state(span.V).flatten(1).unflatten(0, (span.count, *batch.dx.shape))  # (r, e, q, n)
        for k in of.unique().tolist():
            if k in result:
                own = of == k
                at = B[:, own].flatten(1, 2)
                result[k] += torch.einsum("rpn,nl,p,tpl->rt", at, E[k], batch.dx[own].flatten(), at)
    return list(result.values())


def _right_side(system: Assembly, span: Span, z: Tensor) -> tuple[Tensor, Tensor]:
    """F (r, K) and g (r,) of the right side tested with the span, as affine as it is."""
    K = system.family.count
    some = z[: 4 * (K + 1)]
    parts = [system.right_side(system.family.value(few).to(system.device)) @ span.V.T for few in some.split(_TRIED)]
    tested = torch.cat(parts)
    mean, design = tested.mean(0), some.to(tested)
    if float((tested - mean).abs().max()) <= 1e-9 * float(tested.abs().max()):
        return mean.new_zeros(span.count, K), mean
    with_one = torch.cat([design, torch.ones_like(design[:, :1])], 1)
    found = torch.linalg.lstsq(with_one, tested).solution.T
    return found[:, :K].contiguous(), found[:, K].contiguous()


def _fitted_units(
    z: Tensor, wanted: Tensor, seed: int, steps: int
) -> tuple[tuple[Tensor, Tensor], tuple[Tensor, Tensor], float]:
    """W (m, K), b (m,) and s (m, 1), c (m,) with wanted (S, m) ~ c + s tanh(W z + b), by Adam.

    Also the largest part of its deviation that is left of one of them.
    """
    deviation = z.std(0).clamp(min=1e-9)
    z = z / deviation  # steps are as long along all of them
    weights = [w.clone().requires_grad_() for w in _first_units(z, wanted)]
    W, b, s, c = weights
    adam = torch.optim.Adam(weights, lr=_RATE)
    order = torch.randint(len(z), (steps, _BATCH), generator=torch.Generator().manual_seed(seed)).to(z.device)
    for step, rows in enumerate(order):
        for group in adam.param_groups:
            group["lr"] = _RATE * (1 - step / steps)
        adam.zero_grad()
        off = c + s * torch.tanh(z[rows] @ W.T + b) - wanted[rows]
        off.square().mean(0).sum().backward()
        adam.step()
    W, b, s, c = (w.detach() for w in weights)
    off, size = c + s * torch.tanh(z @ W.T + b) - wanted, wanted.std(0)
    varies = size > _SMALL
    left = off.square().mean(0).sqrt()[varies] / size[varies]
    return (W / deviation, b), (s[:, None], c), float(left.max()) if len(left) else 0.0


def _first_units(z: Tensor, wanted: Tensor) -> tuple[Tensor, ...]:
    """W, b, s, c by least squares behind the tanh: of some amplitudes the best for each unit."""
    design = torch.cat([z, torch.ones_like(z[:, :1])], 1)
    low, high = wanted.amin(0), wanted.amax(0)
    c, tried = (high + low) / 2, []
    for amplitude in _AMPLITUDES:
        s = (amplitude * (high - low)).clamp(min=1e-3)
        before = torch.atanh(((wanted - c) / s).clamp(-_STEEPEST, _STEEPEST))
        found = torch.linalg.lstsq(design, before).solution
        off = (c + s * torch.tanh(design @ found) - wanted).square().mean(0)
        tried.append((off, found.T, s))
    best = torch.stack([t[0] for t in tried]).argmin(0)
    each = torch.arange(len(best), device=best.device)
    found, s = torch.stack([t[1] for t in tried])[best, each], torch.stack([t[2] for t in tried])[best, each]
    return found[:, :-1], found[:, -1], s, c
