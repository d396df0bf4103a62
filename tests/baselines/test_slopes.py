import math

import pytest
import torch
from strong_cases import loss_of

from pcpinn import PcpinnError, load
from pcpinn.baselines.slopes import slopes_of
from pcpinn.catalog.task import catalog_task


@pytest.mark.parametrize(("method", "count"), [("laaf", 2), ("gaaf", 1)])
def test_slopes_begin_at_one_and_are_trained(method, count):
    loss = loss_of(method, factor=4.0)
    assert slopes_of(loss).tolist() == [0.25] * count
    (gradient,) = torch.autograd.grad(loss.loss(), loss.theta)
    assert (slopes_of(loss).grad_fn is not None, len(gradient)) == (True, loss.network.parameter_count)
    assert torch.count_nonzero(loss.network.parts(gradient)["slopes"]) == count


def test_the_activation_is_tanh_of_n_a_z():
    """Slopes of 1 / n are the plain perceptron; twice the slope is twice the weights of that layer."""
    loss = loss_of("laaf", factor=2.0, depth=1)
    base, x = loss.network._template[0].base, loss.points
    with torch.no_grad():
        torch.testing.assert_close(loss.network(x), base(x))
        loss.network.parts(loss.theta)["slopes"].mul_(2.0)
        (w, c), _ = base.layers(base.theta)
        w.mul_(2.0)
        c.mul_(2.0)
        torch.testing.assert_close(loss.network(x), base(x))


def test_neurons_may_have_slopes_of_their_own():
    loss = loss_of("laaf", per="neuron", factor=4.0)
    slopes = loss.network.parts(loss.theta)["slopes"]
    assert slopes.shape == (2, loss.network._template[0].base.layers(loss.theta)[0][0].shape[0])
    (gradient,) = torch.autograd.grad(loss.loss(), loss.theta)
    assert torch.count_nonzero(loss.network.parts(gradient)["slopes"]) == slopes.numel()
    torch.testing.assert_close(loss.network(loss.points), loss_of("laaf", factor=4.0).network(loss.points))
    with torch.no_grad():
        slopes[0] *= 3.0
    assert slopes_of(loss).tolist() == pytest.approx([0.75, 0.25])


def test_slope_recovery_by_hand():
    with_term, without = loss_of("laaf", slope_weight=3.0), loss_of("laaf", slope_weight=0.0)
    assert with_term.loss().item() == pytest.approx(without.loss().item() + 3 / math.e)
    groups = torch.stack(with_term.groups()).sum().item()
    assert groups == pytest.approx(with_term.loss().item())


def test_a_network_without_slopes_is_refused():
    with pytest.raises(PcpinnError, match="network=mlp cannot be used"):
        loss_of("laaf", network="mlp")


@pytest.mark.parametrize("method", ["laaf", "gaaf", "fbpinn"])
def test_networks_survive_the_disk(method, tmp_path):
    task = catalog_task("poisson1d", "pinnacle-quick", {"iterations": 2, "width": 5}, method=method)
    solution = task.run(tmp_path / "run")
    again = load(tmp_path / "run")
    x = task.reference.points
    assert (again(x) == solution(x)).all()
