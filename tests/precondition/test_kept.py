"""A P that is kept for another matrix."""

import numpy as np
import scipy.sparse as sp
import torch

from pcpinn.precondition import LU, Kept, PreconditionedResidual, Quality


def test_the_old_factors_serve_the_new_matrix():
    random = np.random.default_rng(0)
    old = sp.csr_matrix(np.eye(6) * 4 + random.normal(size=(6, 6)) * 0.3)
    new = old + sp.identity(6) * 0.1
    b = random.normal(size=6)
    lu = LU()
    kept = Kept(lu, lu.build(old), Quality(0.1, 0.2, 1))
    operator = PreconditionedResidual(new, b, kept, np.ones(6), dense=False)
    u = torch.from_numpy(random.normal(size=6)).requires_grad_()
    expected = np.linalg.solve(old.toarray(), new @ u.detach().numpy() - b)
    np.testing.assert_allclose(operator(u).detach().numpy(), expected, atol=1e-12)
    (gradient,) = torch.autograd.grad(operator(u).sum(), u)
    transposed = new.T @ np.linalg.solve(old.toarray().T, np.ones(6))
    np.testing.assert_allclose(gradient.numpy(), transposed, atol=1e-12)
    assert operator.describe()["name"] == "lu"
    assert kept.build(new) is kept.state
