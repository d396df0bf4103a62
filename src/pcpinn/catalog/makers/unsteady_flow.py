"""Navier-Stokes equations in time: viscosity and pressure implicit, convection explicit.

The scheme is that of Ascher, Ruuth and Spiteri (1997) with four implicit stages of one diagonal entry, so one
factorisation serves all of them: order three, two where stiff viscosity meets walls that change. Every stage is free of
divergence and meets the walls' values. The pressure is not stepped: at a time of output it is that of the accelerations
which velocity, load and the walls' accelerations imply.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import SuperLU, splu

from .taylor_hood import TaylorHood

_C = np.array([0, 1 / 2, 2 / 3, 1 / 2, 1])
_GAMMA = 1 / 2
_IMPLICIT = ((), (0,), (0, 1 / 6), (0, -1 / 2, 1 / 2), (0, 3 / 2, -3 / 2, 1 / 2))  # and _GAMMA on the diagonal
_EXPLICIT = ((), (1 / 2,), (11 / 18, 1 / 18), (5 / 6, -5 / 6, 1 / 2), (1 / 4, 7 / 4, 3 / 4, -7 / 4))

Vector = Callable[[float], np.ndarray]


class UnsteadyFlow:
    """u_t + u . grad u + grad p - nu Laplace u = f, div u = 0.

    Args:
        space: of velocities and pressure.
        viscosity: nu.
        held: numbers of the velocities with given values, and of one pressure where these are all the boundary.
        values: t -> their values.
        rates: t -> the derivatives of these, and the pressure itself.
        load: (t, z) -> what the test functions see besides convection, viscosity and pressure: forces, tractions.
    """

    def __init__(
        self,
        space: TaylorHood,
        viscosity: float,
        held: np.ndarray,
        values: Vector,
        rates: Vector,
        load: Callable[[float, np.ndarray], np.ndarray],
    ) -> None:
        self.space, self.held, self.values, self.rates, self.load = space, held, values, rates, load
        self.free = np.setdiff1d(np.arange(space.size), held)
        self._inertia = space.stokes(0.0, mass=1.0)
        n, m = space.velocity.size, space.pressure.size
        A = viscosity * space.stiffness
        self._viscous = sp.block_diag([A, A, sp.csr_matrix((m, m))], format="csr")
        self._mass = sp.block_diag([space.mass, space.mass, sp.csr_matrix((m, m))], format="csr")
        self._velocities = np.arange(space.size) < 2 * n

    def march(self, z: np.ndarray, start: float, step: float, steps: int) -> Iterator[np.ndarray]:
        """Velocities at start + step, start + 2 step, ...; the pressures in z mean nothing."""
        matrix = self._inertia + _GAMMA * step * self._viscous
        factors = _factorise(matrix[self.free][:, self.free])
        for k in range(steps):
            t = start + k * step
            known = self._mass @ z
            slow, stiff, stage = [self._explicit(t, z)], [-(self._viscous @ z)], z
            for i in range(1, len(_C)):
                right = known + step * sum(
                    (a * f for a, f in zip(_EXPLICIT[i] + _IMPLICIT[i], slow + stiff, strict=True)), np.zeros(len(z))
                )
                at = t + _C[i] * step
                stage = self._solve(matrix, factors, right, self.values(at))
                if i < len(_C) - 1:
                    slow.append(self._explicit(at, stage))
                    stiff.append(-(self._viscous @ stage))
            z = stage
            yield z

    def with_pressure(self, t: float, z: np.ndarray) -> np.ndarray:
        """z with the pressure that belongs to its velocities."""
        right = self._explicit(t, z) - self._viscous @ z
        rates = self._solve(self._inertia, self._inertia_factors(), right, self.rates(t))
        return np.where(self._velocities, z, rates)

    def _inertia_factors(self) -> SuperLU:
        if not hasattr(self, "_factors"):
            self._factors = _factorise(self._inertia[self.free][:, self.free])
        return self._factors

    def _explicit(self, t: float, z: np.ndarray) -> np.ndarray:
        return self.load(t, z) - self.space.convection(z)

    def _solve(self, matrix: sp.csr_matrix, factors: SuperLU, right: np.ndarray, values: np.ndarray) -> np.ndarray:
        """matrix z = right where nothing is held."""
        z = np.zeros(len(right))
        z[self.held] = values
        z[self.free] = factors.solve((right - matrix @ z)[self.free])
        return z


def _factorise(matrix: sp.spmatrix) -> SuperLU:
    return splu(matrix.tocsc(), permc_spec="COLAMD")
