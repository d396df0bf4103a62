import torch
from strong_cases import loss_of

from pcpinn.strong.form import strong_residual


def test_points_of_the_largest_residual_are_added():
    loss = loss_of("rar", every=3, candidates=50, added=4)
    before = loss.points.clone()
    assert loss.adapt(0) == 3
    assert torch.equal(loss.points, before)
    layout = loss.layout
    loss.adapt(3)
    assert loss.layout > layout
    assert torch.equal(loss.points[:20], before)
    candidates = torch.as_tensor(loss.draw(50, loss.random(3)))
    sizes = strong_residual(loss.pointwise, loss.network, candidates).detach().abs()[:, 0]
    chosen = {tuple(x.tolist()) for x in loss.points[20:]}
    assert chosen == {tuple(candidates[k].tolist()) for k in sizes.argsort()[-4:]}
    assert loss.equations().shape == (24,)


def test_points_are_state():
    loss, other = loss_of("rar", every=1, candidates=9, added=2), loss_of("rar", every=1, candidates=9, added=2)
    loss.adapt(1)
    other.restore(loss.state())
    assert loss.loss().item() == other.loss().item()
