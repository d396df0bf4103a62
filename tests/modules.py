"""Modules as a user writes them, of common kinds."""

import torch
from torch import nn


class Siren(nn.Module):
    """Sines of scaled sums (Sitzmann et al. 2020), initialised as there."""

    def __init__(self, inputs=1, outputs=1, width=16, omega=4.0, seed=0):
        super().__init__()
        self.omega = omega
        self.first, self.second, self.last = (
            nn.Linear(a, b) for a, b in ((inputs, width), (width, width), (width, outputs))
        )
        generator = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            for layer, bound in ((self.first, 1 / inputs), (self.second, (6 / width) ** 0.5 / omega), (self.last, 0.1)):
                layer.weight.uniform_(-bound, bound, generator=generator)
                layer.bias.uniform_(-bound, bound, generator=generator)

    def forward(self, x):
        a = torch.sin(self.omega * self.first(x))
        return self.last(torch.sin(self.omega * self.second(a)))


class ResNet(nn.Module):
    """Residual blocks with normalised layers and SiLU; a buffer of frequencies, a frozen shift, and dropout, which is off."""

    def __init__(self, inputs=1, outputs=1, width=16, seed=0):
        super().__init__()
        generator = torch.Generator().manual_seed(seed)
        self.register_buffer("frequencies", torch.randn(inputs, 4, generator=generator))
        self.shift = nn.Parameter(torch.full((inputs,), 0.1), requires_grad=False)
        self.lift = nn.Linear(8 + inputs, width)
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.Linear(width, width), nn.SiLU(), nn.Dropout(0.5)) for _ in range(2)
        )
        self.norm = nn.LayerNorm(width)
        self.last = nn.Linear(width, outputs)
        with torch.no_grad():
            for layer in self.modules():
                if isinstance(layer, nn.Linear):
                    fan_in = layer.in_features
                    layer.weight.copy_(torch.randn(layer.weight.shape, generator=generator) / fan_in**0.5)
                    layer.bias.zero_()

    def forward(self, x):
        phase = (x + self.shift) @ self.frequencies
        a = self.lift(torch.cat([x, torch.sin(phase), torch.cos(phase)], dim=-1))
        for block in self.blocks:
            a = a + block(a)
        return self.last(nn.functional.silu(self.norm(a)))


class Formula(nn.Module):
    """What `f` makes of one weight and the points."""

    def __init__(self, f, trainable=True):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(1), requires_grad=trainable)
        self.f = f

    def forward(self, x):
        return self.f(self.weight, x)
