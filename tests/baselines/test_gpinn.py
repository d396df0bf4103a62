import torch
from strong_cases import loss_of

from pcpinn.strong.form import strong_residual


def test_gradients_by_hand():
    """Central differences of the residual along each axis."""
    loss = loss_of("gpinn", gradient_weight=0.3)
    step, expected = 1e-5, []
    for axis in range(2):
        along = torch.zeros(2, dtype=torch.float64)
        along[axis] = step
        ahead, behind = (
            strong_residual(loss.pointwise, loss.network, loss.points + s * along).detach() for s in (1, -1)
        )
        expected.append((ahead - behind)[:, 0] / (2 * step))
    scaled = torch.stack(expected, dim=1).reshape(-1) * (0.3 / 20) ** 0.5
    found = loss.parts()[-1].detach()
    torch.testing.assert_close(found, scaled, rtol=1e-5, atol=1e-6)
    assert loss.names[-1] == "gradients"
    plain = loss_of("pinn").loss().item()
    torch.testing.assert_close(loss.loss().item(), plain + 0.5 * float(found @ found))


def test_gradient_of_the_loss_against_differences():
    loss = loss_of("gpinn", gradient_weight=1.0)
    (gradient,) = torch.autograd.grad(loss.loss(), loss.theta)
    direction = torch.randn(len(gradient), generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    start, step, values = loss.theta.detach().clone(), 1e-5, []
    for sign in (1, -1):
        with torch.no_grad():
            loss.theta.copy_(start + sign * step * direction)
        values.append(loss.loss().item())
    torch.testing.assert_close(float(gradient @ direction), (values[0] - values[1]) / (2 * step), rtol=1e-6, atol=0.0)
