"""
Design by gradients
===================

Where must a coil heat a rod so that two sensors show the same? One network answers for all places, and is differentiated by the place.
"""

import matplotlib.pyplot as plt
import numpy as np
import torch

import pcpinn as pc


def rod(place):
    return pc.Problem(
        pc.Interval(0, 1),
        flux=lambda x, u: (1 + x[0]) * u.grad,
        source=lambda x, u: u.value - 10 * torch.exp(-50 * (x[0] - place) ** 2),
        boundary={"left": pc.Dirichlet(0.0), "right": pc.Robin(1.0, 0.0)},
    )


surrogate = pc.solve(pc.Family(rod, place=pc.Range(0.2, 0.8)), accuracy=2e-2, width=14, depth=2)
sensors = torch.tensor([[0.3], [0.8]], dtype=torch.float64)
place = torch.tensor([0.5], dtype=torch.float64, requires_grad=True)
for _ in range(8):  # Newton's method for one number
    left, right = surrogate(sensors, place)
    (slope,) = torch.autograd.grad(left - right, place)
    with torch.no_grad():
        place -= (left - right) / slope
single = pc.solve(rod(place.item()), accuracy=1e-3)
error = float(abs(np.diff(single(sensors.numpy()))[0]) / single(sensors.numpy()).mean())
print(f"place {place.item():.4f}; the sensors of a single solve differ by {error:.1e}; {surrogate.verdict.message}")
x = np.linspace(0, 1, 200)[:, None]
plt.plot(x, surrogate(x, [0.5]), "--", label="first guess")
plt.plot(x, surrogate(x, [place.item()]), label=f"found, {place.item():.3f}")
plt.plot(sensors, surrogate(sensors, place).detach(), "ko", label="sensors")
plt.legend()
plt.show()
