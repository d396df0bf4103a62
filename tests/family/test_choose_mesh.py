"""Meshes and slabs that are fine enough for all problems of a family."""

import numpy as np
import torch

import pcpinn as pc
from pcpinn.family.choose_mesh import choose_mesh
from pcpinn.family.run import family_settings
from pcpinn.progress import Progress

ENDS = {"left": pc.Dirichlet(0.0), "right": pc.Dirichlet(0.0)}


def chosen(family, **asked):
    return choose_mesh(family, family_settings(family, None, asked), Progress())


def zones(k, place=0.4):
    """Another conductivity to the right of a place."""
    return pc.Problem(
        pc.Interval(0, 1),
        flux=lambda x, u: torch.where(x[0] < place, 1.0, k) * u.grad,
        source=lambda x, u: -1.0,
        boundary=ENDS,
    )


def test_jumps_that_stay_are_sides_of_cells():
    mesh, settings = chosen(pc.Family(zones, k=pc.Range(0.1, 10, log=True)), accuracy=1e-2)
    assert np.abs(mesh.nodes[:, 0] - 0.4).min() < 1e-12
    assert settings.mesh.kinks == ((0.4,),)
    moving = pc.Family(lambda s: zones(5.0, s), s=pc.Range(0.3, 0.7))
    assert not any(chosen(moving, accuracy=0.2)[1].mesh.kinks or ())


def test_each_field_has_nodes_for_a_network():
    mesh, settings = chosen(pc.Family(zones, k=pc.Range(1, 2)), accuracy=0.3)
    assert len(mesh.nodes) * settings.mesh.degree >= 300


def test_its_time_is_a_part_of_the_limit():
    def bent(k):
        flux, source = lambda x, u: torch.exp(5 * k * x[0]) * u.grad, lambda x, u: -1.0
        return pc.Problem(pc.Interval(0, 1), flux=flux, source=source, boundary=ENDS)

    family = pc.Family(bent, k=pc.Range(1, 2))
    clock = iter(range(1000)).__next__
    settings = family_settings(family, None, {"accuracy": 1e-8})
    early, _ = choose_mesh(family, settings, Progress(), clock, 10.0)
    assert len(early.nodes) < len(choose_mesh(family, settings, Progress())[0].nodes)


def pulse(w):
    """u_t = u_xx / 10 + w sin(w t), no flux at the ends: 1 - cos(w t)."""
    return pc.Problem(
        pc.Interval(0, 1).over(0, 1),
        density=lambda x, u: u.value,
        flux=lambda x, u: 0.1 * u.grad,
        source=lambda x, t, u: -w * torch.sin(w * t),
        boundary={"left": pc.Neumann(0.0), "right": pc.Neumann(0.0), "initial": pc.Initial(0.0)},
    )


def test_slabs_are_halved_for_time_alone():
    family = pc.Family(pulse, w=pc.Range(10, 40))
    mesh, settings = chosen(family, accuracy=5e-2)
    assert len(mesh.times) - 1 == settings.time.steps == 20
    assert len(mesh.space.nodes) == len(chosen(family, accuracy=5e-2, steps=10)[0].space.nodes)
