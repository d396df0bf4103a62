"""A network whose output is known."""

import torch
from torch.func import vmap


class Known:
    """Outputs given by functions of one point."""

    def __init__(self, *functions):
        self.functions = functions

    def __call__(self, x):
        return torch.cat([vmap(f)(x).reshape(len(x), -1) for f in self.functions], dim=1)
