"""What is written down of an inference: errors, misfits, priors, uncertainty."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import torch

from ..discretize.probe import probe
from ..errors import PcpinnWarning
from ..problem.unknowns import Coefficient
from ..solution.reference import ERRORS
from ..solution.result import Result
from ..solve.watching import known_errors
from ..train import Training
from .choice import Choice, chosen_hypers
from .inference import Inference
from .setup import space_of
from .solution import InverseSolution
from .truth import Uncertainty, compare_inverse, expected_error

# Log likelihood that networks may lack of the discrete answer. A parameter one standard deviation off costs 0.5.
EXCESS = 5.0
_COARSE = 0.5  # of a deviation: moves of the answer by its mesh that are said
_STUCK = -25.0  # networks whose loss is so far below that of the discrete answer: that one is no optimum


def conclude(run: Inference, training: Training) -> InverseSolution:
    """The solution with its record."""
    run.progress.stage("errors")
    settings, equations, model = run.settings, run.equations, run.model
    plain = {"mesh": run.mesh, "result": Result(), "history": training.history, "settings": settings.to_dict()}
    solution = InverseSolution.from_model(model, plain, _uncertainty(run), run.data)
    errors: dict[str, Any] = dict.fromkeys(ERRORS)
    if run.truth is not None:
        errors |= compare_inverse(solution, run.truth)
    if run.choice is not None:
        errors["training"] = _training_error(run, run.choice)
    usual = settings.asked.get("optimiser") is None
    solution.result = run.own.result(
        dofs=equations.size,
        parameters=len(model.theta),
        iterations=training.iterations,
        stopped_by=training.reason,
        loss=training.loss,
        seconds=training.seconds,
        optimiser=settings.optimiser.label,
        optimiser_reason="the joint loss is a least-squares problem" if usual else "asked for",
        discretisation=equations.discretisation.name,
        mesh=run.mesh,
        preconditioner={**run.loss.describe(), "refresh": settings.loss.refresh},
        errors=errors,
        error_history=known_errors(training.history, errors["l2re"]),
        reference=None if run.truth is None else run.truth.describe(),
        inverse=_facts(run, solution),
    )
    return solution


def _uncertainty(run: Inference) -> Uncertainty | None:
    if run.choice is None:
        return None
    posterior, equations = run.choice.posterior, run.equations
    names = [n for n, u in run.family.unknowns.items() if isinstance(u, Coefficient)]
    numbers = [n for n, u in run.family.unknowns.items() if not isinstance(u, Coefficient)]
    return Uncertainty(
        posterior.u_factor,
        dict(zip(names, posterior.factors, strict=False)),
        dict(zip(numbers, posterior.factors[len(names) :], strict=False)),
        posterior.effective,
        lambda x, k: probe(equations.discretisation, x, k),
        space_of(equations).interpolation,
        equations.coefficient_nodes.shape[1],
    )


def _training_error(run: Inference, choice: Choice) -> float:
    """(u, c) of the networks against those of the discrete answer, stacked, at the nodes."""
    u, c = run.loss.nodal()
    e = np.concatenate([u - choice.u, (c - choice.c).ravel()])
    return float(np.linalg.norm(e) / np.linalg.norm(np.concatenate([choice.u, choice.c.ravel()])))


def discrete_loss(run: Inference, choice: Choice) -> float:
    """The joint loss of the discrete answer, which satisfies the equations and the known values."""
    prediction, _ = run.discrete.observe(choice.u)
    noise = np.concatenate([term.noise.cpu().numpy() for term in run.loss.data])
    r = torch.from_numpy((prediction - run.discrete.values) / noise)
    total = float(run.loss.data[0].loss(r))
    for prior in run.loss.priors:
        if prior.coefficient is not None:
            v = choice.c[:, run.family.columns(prior.coefficient).start]
        else:
            assert prior.unknowns is not None
            v = choice.u[prior.unknowns.cpu().numpy()]
        q = prior.rows.cpu().numpy() @ (v - prior.mean.cpu().numpy())
        total += 0.5 * float(q @ q)
    return total


def _raised(run: Inference) -> float | None:
    """By how much given noise was raised; None where it was not."""
    factor = 1.0 if run.choice is None else run.choice.noise_factor
    return None if run.estimate or factor == 1.0 else factor


def announce_noise(run: Inference) -> None:
    """Say that the given noise is not believed."""
    factor = _raised(run)
    if factor is not None:
        given = ", ".join(f"{float(np.median(n)):.3g}" for n in run.noise)
        text = (
            f"the best answer is {factor:.2g} times as far from the data as the given noise ({given}) explains, so the noise is "
            "taken as that much larger: outliers, a mesh too coarse, or equations or priors that do not fit the data"
        )
        warnings.warn(text, PcpinnWarning, stacklevel=3)


def _facts(run: Inference, solution: InverseSolution) -> dict[str, Any]:
    theta = run.model.theta.detach()[run.model.parts[0]]
    with torch.no_grad():
        misfits = [float((term.residual(theta) ** 2).mean() ** 0.5) for term in run.loss.data]
    facts: dict[str, Any] = {
        "data": run.loss.count,
        "misfit": misfits,
        "noise": [float(term.noise.median()) for term in run.loss.data],
        "noise_estimated": run.estimate,
        "noise_raised": _raised(run),
        "coefficients": list(solution.coefficients),
        "boundaries": boundary_coefficients(run),
        "values": {n: np.asarray(v).tolist() for n, v in solution.parameters.items()},
    }
    if run.choice is not None and solution.uncertainty is not None:
        facts["effective"] = solution.uncertainty.effective
        facts["excess"] = run.loss.value() - discrete_loss(run, run.choice)
        facts["converged"] = _STUCK < facts["excess"] < EXCESS
        if facts["excess"] <= _STUCK:
            run.progress.note(
                f"the networks' loss is {-facts['excess']:.1f} below that of the discrete answer, whose search ended in a poor "
                "place: noise and deviations, which are its own, mean little; begin nearer to the answer (initial=...)"
            )
        elif not facts["converged"]:
            run.progress.note(
                f"the networks have not converged: their loss is {facts['excess']:.1f} above that of the discrete answer, so "
                "they do not show what the data say; take more iterations, a wider network or a finer mesh"
            )
        facts["discretisation"] = _of_the_mesh(run, run.choice)
        facts["priors"] = chosen_hypers(run.choice)
        facts["prior_of"] = {n: p.link.name for n, p in run.discrete.coefficients.items() if p is not None}
        facts["std"] = {n: np.asarray(solution.std(n)).tolist() for n in solution.parameters}
        if run.truth is not None:
            facts["expected_l2re"] = expected_error(solution.uncertainty, solution.names, run.truth)
    return facts


def _of_the_mesh(run: Inference, choice: Choice) -> dict[str, Any] | None:
    """What the mesh predicts wrongly, in units of the noise, and how far this moves what was found, in other deviations."""
    if choice.missed is None:
        return None
    kinds = (lambda u: isinstance(u, Coefficient), lambda u: not isinstance(u, Coefficient))
    names = [n for kind in kinds for n, u in run.family.unknowns.items() if kind(u)]
    moves = dict(zip(names, choice.moves, strict=False))
    far = [f"{name} by {size:.1f}" for name, size in moves.items() if size > _COARSE]
    if far:
        run.progress.note(
            f"the mesh moves what is found ({', '.join(far)} standard deviations of all else), which the deviations include; "
            "take more cells, a higher degree or more slabs"
        )
    return {"data": float(np.sqrt(np.mean(choice.missed**2))), "moves": moves}


def boundary_coefficients(run: Inference) -> dict[str, list[str]]:
    """Coefficients that the equations see on boundaries alone, with the names of these: elsewhere their values mean nothing."""
    space = run.equations.discretisation.space.scalar[0]
    u, c = run.loss.nodal()
    slopes = run.equations.by_coefficients(u, c)
    on = {name: set(space.boundary_nodes(space.mesh.facets(name)).tolist()) for name in space.mesh.boundary_names}
    result: dict[str, list[str]] = {}
    for name, unknown in run.family.unknowns.items():
        if not isinstance(unknown, Coefficient):
            continue
        size = abs(slopes[run.family.columns(name).start]).max(axis=0).toarray().ravel()
        seen = set(np.flatnonzero(size > 1e-12 * size.max()).tolist())
        if seen and seen <= set().union(*on.values()):
            result[name] = [at for at, nodes in on.items() if nodes <= seen]
    return result
