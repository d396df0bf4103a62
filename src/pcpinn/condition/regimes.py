"""Numbers that say which terms rule: Peclet and Reynolds numbers, layers, wave lengths, resonance, crossings, stiffness."""

from __future__ import annotations

import numpy as np
import torch

from ..discretize.samples import data_states
from ..discretize.symbol import directions, symbol
from ..problem.field import component_names
from .findings import Finding, graded
from .view import View

_TINY = 1e-12
_NEAR = 0.05  # of k^2: a resonance that is nearer is told though no wave fits in, as where one end is free
_INDEFINITE = np.pi  # below this product of wave number and length no wave fits into a domain


def regime_findings(view: View, inverse_norm: float | None = None) -> list[Finding]:
    """All of them.

    Args:
        view: of the problem.
        inverse_norm: ||F^-1||, if it has been measured.
    """
    result = [*_convection(view), *_reaction(view, inverse_norm)]
    if view.problem.over_time:
        result += [*_crossings(view), *_stiffness(view)]
    return result


def _convection(view: View) -> list[Finding]:
    here, best = view.symbol, (0.0, 0.0, 0.0, "", False)
    at_rest = symbol(view.problem, view.x, torch.zeros_like(view.state)).at(view.finite)
    for c, name in enumerate(component_names(view.problem.unknowns)):
        b, still = (np.nan_to_num(s.convection[:, c, c] - s.carried[:, c, :, c]) for s in (here, at_rest))
        speed = np.linalg.norm(b, axis=1)
        along = b / np.maximum(speed, 1e-300)[:, None]
        a = np.einsum("ni,nij,nj->n", along, here.diffusion[:, c, :, c], along)
        known = (a > _TINY * np.abs(here.diffusion[:, c, :, c]).max(initial=0.0)) & (speed > 0)
        if known.any():
            number = speed[known] * view.length / a[known]
            k = int(number.argmax())
            changes = bool(np.abs(b - still).max() > 1e-6 * speed.max())
            best = max(best, (float(number[k]), float(speed[known][k]), float(a[known][k]), name, changes))
    number_, speed_, a_, name, nonlinear = best
    if number_ < 1:
        return []
    cells = number_ * view.cell / view.length / (2 * view.degree)
    what = "Reynolds" if nonlinear else "Peclet"
    text = (
        f"the {what} number of {name} is {number_:.3g} over the domain ({speed_:.3g} x {view.length:.3g} / {a_:.3g}) and "
        f"{cells:.2g} over a cell of the first mesh: layers are about {view.length / number_:.2g} wide"
    )
    mode = "accuracy mode refines cells in the layers until they are resolved"
    advice = "" if cells < 100 else "expect many levels; a thin layer in three dimensions may not fit into memory"
    return [Finding("convection", graded(cells, 1, 100), number_, text, advice, mode)]


def _reaction(view: View, inverse_norm: float | None) -> list[Finding]:
    """Wave lengths of indefinite operators, or widths of layers."""
    here, waves, layers = view.flat, (0.0, 0.0, ""), (0.0, "")
    for c, name in enumerate(component_names(view.problem.unknowns)):
        a = np.einsum("nii->n", here.diffusion[:, c, :, c]) / view.problem.dimension
        r = here.reaction[:, c, c]
        size = np.abs(a).max(initial=0.0)
        known = np.abs(a) > _TINY * size if size else np.zeros(len(a), dtype=bool)
        if not known.any():
            continue
        ratio = r[known] / a[known]
        if ratio.min() < 0 and not view.problem.domain.has_time:
            k = int(ratio.argmin())
            waves = max(waves, (float(np.sqrt(-ratio[k])), abs(float(r[known][k])), name))
        if ratio.max() > 0:
            layers = max(layers, (float(np.sqrt(ratio.max())), name))
    result = []
    number, r_, name = waves
    if number * view.length > _INDEFINITE:
        length = 2 * np.pi / number
        nodes = length * view.degree / view.cell
        text = (
            f"the equation of {name} is indefinite, as Helmholtz': wave length {length:.3g}, {view.length / length:.3g} of them "
            f"in the domain, {nodes:.3g} nodes of the first mesh each"
        )
        mode = (
            "accuracy mode refines until two levels agree, which also pays for the phase error over many wave lengths"
        )
        result.append(Finding("waves", graded(10 / nodes, 1, 5), length, text, "", mode))
    if number and inverse_norm and len(view.problem.unknowns) == 1:
        near = 1 / (inverse_norm * r_)
        if number * view.length > _INDEFINITE or near < _NEAR:
            text = f"the nearest resonance is {near:.2g} of k^2 away: errors of the data grow {1 / near:.3g}-fold"
            mode = "accuracy mode solves with complete factors and weighs errors by the dual problem, which knows of it"
            advice = "check the frequency, or add damping, if the resonance is not meant" if near < 0.02 else ""
            result.append(Finding("resonance", graded(1 / near, 20, 200), near, text, advice, mode))
    thin, name = layers
    if thin * view.length > 20:
        count = view.cell / view.degree * thin
        text = f"reaction makes layers {1 / thin:.2g} wide in {name}; nodes of the first mesh are {count:.2g} times as far apart"
        mode = "accuracy mode refines cells in the layers"
        result.append(Finding("layers", graded(count, 1, 100), 1 / thin, text, "", mode))
    return result


def _rates(view: View, k: float) -> np.ndarray | None:
    """(m,) all rates of waves of a wave number, at all points and in all directions."""
    found = []
    for direction in directions(view.problem.dimension):
        with np.errstate(all="ignore"):
            rates = view.symbol.rates(k * direction)
        if rates is None:
            return None
        found.append(rates.ravel())
    rates = np.concatenate(found)
    return rates[np.isfinite(rates)]


def _crossings(view: View) -> list[Finding]:
    """How often waves cross the domain, and how many nodes each wave of the data has."""
    k = 2 * np.pi / view.length
    long, short = _rates(view, k), _rates(view, 10 * k)
    if long is None or short is None or not len(long) or not len(short):
        return []
    # Of long waves or short ones, what is slower: oscillations of a reaction travel nowhere.
    speed = min(float(np.abs(long.imag).max()) / k, float(np.abs(short.imag).max()) / (10 * k))
    crossings = speed * view.duration / view.length
    if crossings < 0.1:
        return []
    wave = _wave_length(view)
    nodes = wave * view.degree / view.cell
    travelled = speed * view.duration / wave
    text = (
        f"waves travel at {speed:.3g} and cross the domain {crossings:.3g} times: {travelled:.3g} wave lengths of the initial "
        f"values ({wave:.3g} long, {nodes:.3g} nodes of the first mesh each)"
    )
    mode = "accuracy mode refines cells and steps until two levels agree over the whole time: the phase error grows with the way"
    severity = graded(max(crossings / 5, 10 / nodes), 1, 20)
    return [Finding("travel", severity, crossings, text, "", mode)]


def _wave_length(view: View) -> float:
    """Of the data: 2 pi times their size by that of their slope; at most the domain."""
    state = data_states(view.problem, view.x).numpy()
    d = view.problem.dimension
    value = state[:, :, 0] - state[:, :, 0].mean(axis=0)
    slope = np.linalg.norm(state[:, :, 1 : 1 + d], axis=2)
    sizes = [(np.sqrt((v**2).mean()), np.sqrt((s**2).mean())) for v, s in zip(value.T, slope.T, strict=True)]
    found = [2 * np.pi * v / s for v, s in sizes if v > 0 and s > 0]
    return min([view.length, *found])


def _stiffness(view: View) -> list[Finding]:
    rates = _rates(view, np.pi * view.degree / view.cell)
    slow = _rates(view, 0.0)
    if rates is None or not len(rates):
        return []
    fastest = max(0.0, -float(rates.real.min())) * view.duration
    if fastest < 1:
        return []
    reaction = 0.0 if slow is None else max(0.0, -float(slow.real.min(initial=0.0))) * view.duration
    own = f", reaction alone {reaction:.3g} times" if reaction > 1 else ""
    text = (
        f"the fastest decay on the first mesh is {fastest:.3g} times as fast as the duration{own}: explicit steps would have to "
        f"be shorter than 1/{max(1, fastest / 2):.2g} of it"
    )
    mode = "accuracy mode steps implicitly (Radau IIA, which damps what is stiff): steps are as long as the solution allows"
    return [Finding("stiffness", graded(fastest, 1e4, 1e300), fastest, text, "", mode)]
