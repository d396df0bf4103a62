"""Callbacks that send what happens in a run to programs that people watch: TensorBoard, Weights & Biases. Both are optional."""

from __future__ import annotations

import importlib
from typing import Any

from .errors import PcpinnError
from .progress import Event


class TensorBoard:
    """Writes loss, residual and error of every iteration into a folder: `tensorboard --logdir FOLDER` shows them.

    Stages are told apart by their names: `training (gauss-newton)/residual`.
    """

    def __init__(self, folder: str) -> None:
        self._writer = _module("torch.utils.tensorboard", "tensorboard").SummaryWriter(str(folder))

    def __call__(self, event: Event) -> None:
        """One iteration."""
        for name, value in _numbers(event).items():
            self._writer.add_scalar(f"{event.stage}/{name}", value, event.iteration)
        if event.iteration == event.total:
            self.flush()

    def flush(self) -> None:
        """Everything to disk; by itself this happens at the end of a stage and every two minutes."""
        self._writer.flush()


class WeightsAndBiases:
    """Logs loss, residual and error of every iteration to Weights & Biases.

    Args:
        options: of `wandb.init`: project, name, config, mode="offline", ...
    """

    def __init__(self, **options: Any) -> None:
        self.run = _module("wandb", "wandb").init(**options)

    def __call__(self, event: Event) -> None:
        """One iteration."""
        numbers = {f"{event.stage}/{name}": value for name, value in _numbers(event).items()}
        self.run.log({**numbers, "iteration": event.iteration, "seconds": event.seconds})

    def finish(self) -> None:
        """End the run there; solves that follow would otherwise be part of it."""
        self.run.finish()


def _numbers(event: Event) -> dict[str, float]:
    found = {"loss": event.loss, "residual": event.residual}
    return found if event.error is None else found | {"error": event.error}


def _module(name: str, package: str) -> Any:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise PcpinnError(f"{package} is not installed", f"pip install 'pcpinn[{package}]'") from error
