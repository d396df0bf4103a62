"""The units that a trunk begins with: slopes of answers, what each kind leaves, and the bookkeeping of the pursuit."""

import numpy as np
import pytest
import torch

import pcpinn as pc
from pcpinn.family.discretise import make_system
from pcpinn.family.run import family_settings
from pcpinn.family.span import span_of
from pcpinn.family.superposed import parts_of
from pcpinn.family.units import _Rows, first_units
from pcpinn.solve.build import make_mesh

CPU = torch.device("cpu")


def system_of(shape, conditions, **sizes):
    time = {"density": lambda x, u: u.value} if shape.has_time else {}
    family = pc.Family(
        lambda k: pc.Problem(shape, flux=lambda x, u: k * u.grad, boundary=conditions, **time), k=pc.Range(1, 2)
    )
    settings = family_settings(family, None, sizes)
    return make_system(family, make_mesh(family.base, settings), settings, CPU)


def square():
    sides = dict.fromkeys(("left", "right", "bottom", "top"), pc.Dirichlet(0.0))
    return system_of(pc.Rectangle((0, 0), (2, 1)), sides, cells=(12, 12), degree=2)


def slabs():
    ends = {"left": pc.Dirichlet(0.0), "right": pc.Dirichlet(0.0), "initial": pc.Initial(0.0)}
    return system_of(pc.Interval(0, 2).over(0, 3), ends, cells=(4,), degree=2, steps=2, order=2)


@pytest.mark.parametrize("system", [square(), slabs()], ids=["space", "space-time"])
def test_slopes_are_those_of_a_polynomial(system):
    places = torch.as_tensor(system.nodes.points)[torch.as_tensor(system.nodes.point_of)]
    u = torch.stack([3 * places[:, 0] - places[:, 1], places[:, 0] * places[:, 1]])
    x, slopes, weights = system.slopes(u)
    assert slopes.shape == (2, len(x), 1, 2)
    assert torch.allclose(slopes[0, :, 0], torch.tensor([3.0, -1.0], dtype=torch.float64).expand(len(x), -1))
    assert torch.allclose(slopes[1, :, 0], x.flip(1))
    size = np.prod(np.ptp(places.numpy(), axis=0))
    assert float(weights.sum()) == pytest.approx(size)
    assert float(weights @ x[:, 0]) == pytest.approx(size)  # 1 in the mean


def scaled(x):
    return torch.stack([x[:, 0] - 1, 2 * x[:, 1] - 1], 1)


def spanned(system, function, count=24):
    places = torch.as_tensor(system.nodes.points)[torch.as_tensor(system.nodes.point_of)]
    z = torch.linspace(-1, 1, count, dtype=torch.float64)[:, None]
    return span_of(system, z, torch.stack([function(places, float(k)) for k in z]), 1e-3, 40)


@pytest.mark.parametrize(
    ("function", "kind"),
    [
        (lambda x, k: torch.sin((12 + 4 * k) * x[:, 0] - 5 * x[:, 1]), "sin"),
        (lambda x, k: torch.tanh(12 * (x[:, 0] + x[:, 1] - 1.5 - 0.3 * k)), "tanh"),
    ],
    ids=["waves", "fronts"],
)
def test_answers_choose_their_units(function, kind):
    system = square()
    span = spanned(system, function)
    units = first_units(system, span, scaled, 60, ("tanh", "sin"), 0)
    assert units.activation == kind
    assert units.weight.shape == (60, 2)
    nodes = torch.as_tensor(system.nodes.points)
    root = system.weights.sqrt()[:, None].numpy()
    table = np.column_stack([units.at(scaled(nodes)).numpy(), np.ones(len(nodes))]) * root
    wanted = (span.sizes[:, None] * span.V).T.numpy() * root
    left = wanted - table @ np.linalg.lstsq(table, wanted, rcond=1e-9)[0]
    assert np.linalg.norm(left) < 0.05 * np.linalg.norm(wanted)  # untrained, at all nodes
    assert units.left == pytest.approx(np.linalg.norm(left) / np.linalg.norm(wanted), rel=1)
    (only,) = {first_units(system, span, scaled, 60, (k,), 0).left > units.left for k in {"tanh", "sin"} - {kind}}
    assert only


def test_a_pursuit_knows_what_each_wave_takes_off():
    system = square()
    (part,) = parts_of(system, spanned(system, lambda x, k: torch.sin((6 + 2 * k) * x[:, 0])).answers)
    nodes = torch.as_tensor(system.nodes.points)
    waves = torch.sin(nodes @ (6 * torch.rand(2, 30, generator=torch.Generator().manual_seed(0))).double())
    rows = _Rows(part, waves)
    close = rows.worth().topk(10).indices
    rows.compare(close)
    root = (part.weights / part.weights.sum()).sqrt().numpy()[:, None]
    wanted = part.target[1:].permute(2, 1, 0).flatten(1).numpy() * root
    known = [np.ones(len(nodes))]

    def left(columns):
        table = np.column_stack(columns) * root
        return np.sum((wanted - table @ np.linalg.lstsq(table, wanted, rcond=None)[0]) ** 2)

    for _ in range(3):
        gain = rows.gain()
        at = int(gain.argmax())
        new = [*known, waves[:, close[at]].numpy()]
        assert float(gain[at]) == pytest.approx(left(known) - left(new), rel=1e-6)
        rows.take(at)
        known = new


def test_units_that_see_features_too():
    """Beside coordinates they have no weight there, or begin anywhere; where coordinates are not what is seen, anywhere."""
    system = square()
    span = spanned(system, lambda x, k: torch.sin((12 + 4 * k) * x[:, 0] - 5 * x[:, 1]))

    def more(x):
        return torch.cat([scaled(x), x.norm(dim=1, keepdim=True)], 1)

    units = first_units(system, span, more, 60, ("tanh", "sin"), 0)
    assert units.weight.shape == (60, 3)
    assert units.activation == "sin"
    assert not units.weight[:, 2].any()
    other = first_units(system, span, lambda x: torch.sin(x), 60, ("tanh", "sin"), 0)
    assert other.weight.shape == (60, 2)
    assert other.left > units.left
