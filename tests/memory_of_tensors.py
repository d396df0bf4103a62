"""How much memory of tensors a piece of work holds at most: every storage that torch makes is counted until it is freed."""

import weakref

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


class _Counting(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.held = self.most = 0
        self._known = set()

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        before = {
            t.untyped_storage()._cdata for t in tree_leaves((args, kwargs)) if isinstance(t, torch.Tensor) and _dense(t)
        }
        result = function(*args, **(kwargs or {}))
        for tensor in tree_leaves(result):
            if isinstance(tensor, torch.Tensor) and _dense(tensor):
                self._count(tensor.untyped_storage(), before)
        return result

    def _count(self, storage, before):
        key = storage._cdata
        if key in self._known or key in before:
            return
        self._known.add(key)
        size = storage.nbytes()
        self.held += size
        self.most = max(self.most, self.held)
        weakref.finalize(storage, self._forget, key, size)

    def _forget(self, key, size):
        self._known.discard(key)
        self.held -= size


def _dense(tensor):
    return tensor.layout == torch.strided


def most_held(work):
    """Bytes of the tensors that `work` made, at the worst moment; what the libraries below need on the way is not seen."""
    with _Counting() as counting:
        work()
    return counting.most
