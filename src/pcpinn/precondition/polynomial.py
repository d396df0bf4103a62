"""P^-1 as a polynomial in D^-1 A: products with a sparse matrix alone, so it stays on a GPU and costs nothing to set up.

For matrices that a diagonal nearly solves: short steps in time, where mass outweighs diffusion and convection. The polynomial's
roots are the harmonic Ritz values of a few steps of GMRES with a random right-hand side (Loe and Thornquist 2022), in Leja's
order.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

_ROUNDS = 4  # of the power method
_NOTHING = 1e-12


class PolynomialSolver:
    """x = p(D^-1 A) D^-1 r for a sparse matrix, real or complex.

    Attributes:
        error: ||r - A x|| / ||r|| for a random right-hand side, of which smooth functions are a small part.
    """

    kind = "polynomial"
    fill = 0.0

    def __init__(self, A: Tensor, transposed: Tensor, diagonal: Tensor, degree: int = 24, seed: int = 0) -> None:
        self._A, self._At, self._d = A, transposed, diagonal
        self.degree, self._seed = degree, seed
        generator = torch.Generator().manual_seed(seed)
        probes = torch.randn(2, len(diagonal), generator=generator, dtype=torch.float64).to(diagonal)
        self._roots = _leja(self._harmonic_ritz(probes[0], degree))
        r = probes[1]
        self.error = float((r - self._A @ self.solve(r, False)).norm() / r.norm())

    def solve(self, r: Tensor, transpose: bool) -> Tensor:
        """(n,) -> (n,)."""
        A = self._At if transpose else self._A
        r = r.to(self._d.dtype) / self._d
        x = torch.zeros_like(r)
        for root in self._roots:
            x = x + r / root
            r = r - (A @ r) / self._d / root
        return x

    def left(self) -> float:
        """||x - P^-1 A x|| / ||x|| for what is solved worst: in long steps smooth functions, which random ones hide."""
        generator = torch.Generator().manual_seed(self._seed + 1)
        x = torch.randn(len(self._d), generator=generator, dtype=torch.float64).to(self._d)
        ratio = 1.0
        for _ in range(_ROUNDS):
            x = x / x.norm()
            x = x - self.solve(self._A @ x, False)
            ratio = float(x.norm())
            if ratio < _NOTHING:
                break
        return ratio

    def _harmonic_ritz(self, v: Tensor, steps: int) -> np.ndarray:
        """Roots of GMRES's residual polynomial after some steps of Arnoldi."""
        basis = torch.zeros(steps + 1, len(v), dtype=v.dtype, device=v.device)
        basis[0] = v / v.norm()
        H = np.zeros((steps + 1, steps), dtype=complex)
        for k in range(steps):
            w = (self._A @ basis[k]) / self._d
            for _ in range(2):
                h = basis[: k + 1].conj() @ w
                H[: k + 1, k] += h.cpu().numpy()
                w = w - h @ basis[: k + 1]
            H[k + 1, k] = float(w.norm())
            if abs(H[k + 1, k]) < 1e-12 * np.abs(H[: k + 1, k]).max():
                steps = k + 1
                break
            basis[k + 1] = w / w.norm()
        square = H[:steps, :steps]
        last = np.zeros(steps)
        last[-1] = 1.0
        f = np.linalg.solve(square.conj().T, last)
        return np.linalg.eigvals(square + abs(H[steps, steps - 1]) ** 2 * np.outer(f, last))


def _leja(roots: np.ndarray) -> list[complex]:
    """Each next root as far as possible from those before: products stay in range."""
    left = list(roots)
    ordered = [left.pop(int(np.argmax(np.abs(left))))]
    while left:
        distances = [sum(np.log(max(abs(z - o), 1e-300)) for o in ordered) for z in left]
        ordered.append(left.pop(int(np.argmax(distances))))
    return [complex(z) for z in ordered]
