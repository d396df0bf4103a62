"""Methods for inverse problems beside `pcpinn.infer`, with the same call and the same record: adjoint methods and the PINN."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ..errors import PcpinnError
from ..invert.equations import Equations
from ..invert.infer import inverse_settings
from ..invert.model import InverseModel, make_coefficients
from ..invert.nodal_files import nodal_solution, nodal_u
from ..invert.observations import Observations, as_data
from ..invert.setup import make_equations
from ..invert.solution import InverseSolution
from ..invert.truth import Truth, compare_inverse
from ..invert.write import write_data
from ..mesh.slab_mesh import AnyMesh
from ..problem.family import Family
from ..problem.problem import Problem
from ..problem.unknowns import Coefficient, Unknown
from ..progress import Progress
from ..solution.reference import ERRORS
from ..solution.result import Result
from ..solution.solution import Solution
from ..solve.afford import refuse_unaffordable
from ..solve.build import make_mesh, make_network
from ..solve.conduct import Run
from ..solve.method import INVERSE_METHODS, Method
from ..solve.settings import Settings
from ..train import Stopping, train
from .adjoint import Descent
from .inverse_recipe import offer_adjoint, offer_inverse_pinn
from .pinn_inverse import InverseStrongLoss
from .reduced import Reduced, State

Infer = Callable[..., InverseSolution]

_NO_PRECONDITIONER: dict[str, Any] = {"name": "none", "refreshes": 0, "refresh": 0, "ages": []}


def infer_by(
    method: str,
    problem: Callable[..., Problem],
    data: Observations | Sequence[Observations],
    unknowns: Mapping[str, Unknown],
    settings: Settings | Mapping[str, Any] | None = None,
    **options: Any,
) -> InverseSolution:
    """`pcpinn.infer` by another method: infer, adjoint, adjoint-tikhonov, adjoint-tv or pinn; arguments as there.

    Raises:
        PcpinnError: for anything the user can correct; nothing has been written then.
    """
    return INVERSE_METHODS.find(method).solver(problem, data, unknowns, settings, **options)


class _Run:
    """What both baselines share: set-up, errors, record."""

    def __init__(
        self,
        method: str,
        problem: Callable[..., Problem],
        data: Observations | Sequence[Observations],
        unknowns: Mapping[str, Unknown],
        settings: Settings | Mapping[str, Any] | None = None,
        *,
        out: str | Path | None = None,
        truth: Truth | None = None,
        progress: Progress | None = None,
        record: Mapping[str, Any] | None = None,
        resume: bool = False,
        on: AnyMesh | None = None,
        **choices: Any,
    ) -> None:
        self.family, self.data, self.truth = Family(problem, unknowns), as_data(data), truth
        self.method = method
        self.settings = inverse_settings(method, self.family, settings, choices)
        if resume:
            raise PcpinnError(f"method {method} cannot be resumed", "start it again in another folder")
        base, kind = self.family.base, "nodal" if method.startswith("adjoint") else "inverse"
        self.own = Run(self.settings, base.name, base.unknowns, out=out, progress=progress, record=record, kind=kind)
        self.progress = self.own.progress
        if kind == "nodal":
            if self.settings.run.device == "cuda":
                raise PcpinnError(f"method {method} computes on the CPU alone", "leave device=cuda out")
            self.own.device = torch.device("cpu")
        refuse_unaffordable(base, self.settings, on)
        self.mesh = self.own.mesh(on, lambda: make_mesh(base, self.settings))
        for one in self.data:
            one.check(base, self.mesh)
        self.noise = [self._noise_of(d) for d in self.data]

    def _noise_of(self, d: Observations) -> np.ndarray:
        if isinstance(d.noise, np.ndarray):
            return d.noise
        if self.settings.loss.noise_level is None and self.method.startswith("adjoint-"):
            raise PcpinnError(
                f"{d.name}: the noise is not known, by which {self.method} chooses the weight of its penalty",
                "give its standard deviation: noise=, or a column of that name",
            )
        return np.full(len(d), self.settings.loss.noise_level or 1.0)

    def begin(self) -> None:
        """Make the folder, with the data in it."""
        self.own.begin(self.mesh, lambda folder: write_data(folder / "data.safetensors", self.data))
        self.own.ready()

    def result(self, solution: InverseSolution, misfits: list[float], **facts: Any) -> Result:
        """The record: errors, what inverse problems have, and the facts of the method."""
        self.progress.stage("errors")
        errors: dict[str, Any] = dict.fromkeys(ERRORS)
        if self.truth is not None:
            errors |= compare_inverse(solution, self.truth)
        reference = None if self.truth is None else self.truth.describe()
        inverse = self.inverse_facts(misfits, solution)
        return self.own.result(errors=errors, reference=reference, inverse=inverse, **facts)

    def inverse_facts(self, misfits: list[float], solution: InverseSolution) -> dict[str, Any]:
        """The part of the record that inverse problems have."""
        return {
            "data": sum(len(d) for d in self.data),
            "misfit": misfits,
            "noise": [float(np.median(n)) for n in self.noise],
            "noise_estimated": False,
            "coefficients": list(solution.coefficients),
            "values": {n: np.asarray(v).tolist() for n, v in solution.parameters.items()},
        }


def infer_adjoint(penalty: str, method: str, *arguments: Any, **options: Any) -> InverseSolution:
    """Nodal coefficients by PDE-constrained optimisation; `penalty` is none, tikhonov or tv (see `adjoint.py`)."""
    run = _Run(method, *arguments, **options)
    settings, family = run.settings, run.family
    run.progress.stage("assembly")
    equations = make_equations(family, run.mesh, settings)
    reduced = Reduced(
        equations, run.data, run.noise, "tv" if penalty == "tv" else "tikhonov", settings.loss.misfit == "huber"
    )
    reduced = reduced if penalty == "none" else reduced.with_penalty()
    run.begin()
    descent = Descent(reduced, settings.optimiser.iterations, run.own.training_limit(), run.progress)
    search = descent.without_penalty() if penalty == "none" else descent.by_discrepancy()
    if run.truth is not None:
        for tried in search.tried:
            tried.l2re = compare_inverse(_nodal(run, equations, tried.state, descent)[0], run.truth)["l2re"]
    best = search.chosen
    solution, misfits = _nodal(run, equations, best.state, descent)
    solution.result = run.result(
        solution,
        misfits,
        dofs=equations.size,
        parameters=reduced.size,
        iterations=descent.done,
        evaluations=reduced.evaluations,
        stopped_by=best.message,
        loss=best.state.data + best.weight * best.state.roughness,
        seconds=descent.seconds,
        optimiser="l-bfgs-b",
        optimiser_reason="the adjoint method has no other",
        discretisation=equations.discretisation.name,
        mesh=run.mesh,
        preconditioner=_NO_PRECONDITIONER,
        penalty={"name": penalty, **search.describe()},
    )
    if run.own.out is not None:
        solution.finish(run.own.out)
    return solution


def _nodal(run: _Run, equations: Equations, state: State, descent: Descent) -> tuple[InverseSolution, list[float]]:
    """An answer from nodal values, and the misfits of the sets of data; its record is still empty."""
    coefficients: dict[str, np.ndarray] = {}
    parameters: dict[str, Any] = {}
    for name, unknown in run.family.unknowns.items():
        columns = list(run.family.columns(name))
        if isinstance(unknown, Coefficient):
            coefficients[name] = state.c[:, columns[0]]
        else:
            parameters[name] = state.c[0, columns] if unknown.is_vector else state.c[0, columns[0]]
    form = equations.discretisation
    plain = Solution(
        nodal_u(form, state.u), run.family.base.unknowns, run.mesh, Result(), descent.history, run.settings.to_dict()
    )
    solution = nodal_solution(plain, form, state.u, coefficients, parameters, run.data)
    residual = (descent.reduced.observe(state.u) - descent.reduced.values) / descent.reduced.noise
    cuts = np.cumsum([len(d) for d in run.data])[:-1]
    return solution, [float(np.sqrt((r**2).mean())) for r in np.split(residual, cuts)]


def infer_pinn(*arguments: Any, **options: Any) -> InverseSolution:
    """The ordinary PINN with the networks of `pcpinn.infer` (see `pinn_inverse.py`), trained by Adam on everything at once."""
    run = _Run("pinn", *arguments, **options)
    settings, family = run.settings, run.family
    device = run.own.device
    nodes = run.mesh.simplices.nodes
    coefficients = make_coefficients(family, nodes, run.mesh.has_time, settings, device)
    model = InverseModel(family, make_network(family.base, run.mesh, settings).double(), coefficients)
    loss = InverseStrongLoss(model, run.data, run.noise, run.mesh.simplices, settings)
    run.begin()
    optimiser = settings.optimiser
    stopping = Stopping(optimiser.iterations, 0.0, run.own.training_limit(), optimiser.patience or 0)
    training = train(loss, optimiser, stopping, None, run.progress)
    plain = {"mesh": run.mesh, "result": Result(), "history": training.history, "settings": settings.to_dict()}
    solution = InverseSolution.from_model(model, plain, None, run.data)
    misfits = []
    for i, d in enumerate(run.data):
        r = (loss.predictions(i).detach().cpu().numpy() - d.values) / run.noise[i]
        misfits.append(float(np.sqrt((r**2).mean())))
    solution.result = run.result(
        solution,
        misfits,
        dofs=len(loss.points),
        parameters=len(model.theta),
        iterations=training.iterations,
        stopped_by=training.reason,
        loss=training.loss,
        seconds=training.seconds,
        optimiser=optimiser.label,
        optimiser_reason="the ordinary PINN is trained as usual",
        discretisation="none",
        mesh=None,
        preconditioner={**loss.describe(), **_NO_PRECONDITIONER},
    )
    if run.own.out is not None:
        solution.finish(run.own.out)
    return solution


def _adjoint(penalty: str, method: str) -> Infer:
    def by_adjoint(*arguments: Any, **options: Any) -> InverseSolution:
        return infer_adjoint(penalty, method, *arguments, **options)

    return by_adjoint


for _method, _penalty in (("adjoint", "none"), ("adjoint-tikhonov", "tikhonov"), ("adjoint-tv", "tv")):
    INVERSE_METHODS.register(Method(_method, offer_adjoint, _adjoint(_penalty, _method), inverse=True))
_PINN = {"quick": {"iterations": 3000, "collocation": 1024}, "paper": {"iterations": 5000}}
INVERSE_METHODS.register(Method("pinn", offer_inverse_pinn, infer_pinn, inverse=True, presets=_PINN))
