"""Random features: the strong form by least squares in the last layer, no other weight being trained.

One solve for a linear problem, Gauss-Newton steps for a nonlinear one, as FastLSQ does.
"""

from __future__ import annotations

from ..network.random_features import RandomFeatures
from ..solve.method import METHODS
from ..train.last_layer import LastLayer
from .recipe import Collocation
from .strong_method import strong_method

METHODS.register(
    strong_method(
        "random-features",
        Collocation(boundary_weight=100.0),
        network=RandomFeatures(),
        optimiser=LastLayer(),
        small={"iterations": 10, "waves": 100, "collocation": 1000},
        iterations=30,
        waves=500,
        precision="float64",
    )
)
