"""What a run reports: plain data as result.json holds it, with names for what one asks first."""

from __future__ import annotations

from typing import Any

from .verdict import Verdict


class Result(dict[str, Any]):
    """The record of a run; `result["errors"]["l2re"]` and so on, as in result.json."""

    @property
    def success(self) -> bool:
        """Whether the run came to a proper end: not by a time limit, a loss that is not finite, or an inference that stopped
        short of its discrete answer."""
        return self["stopped_by"] not in ("time limit", "not finite") and self._inverse.get("converged") is not False

    @property
    def message(self) -> str:
        """How it ended, in a sentence."""
        text = f"{self['method']}: stopped by {self['stopped_by']} after {self['iterations']} iterations"
        estimate, residual = self["errors"].get("estimate"), self["errors"].get("training")
        if estimate is not None:
            text += f"; estimated error {estimate:.1e}"
        elif residual is not None:
            text += f"; training error {residual:.1e}"
        if (self.get("verdict") or {}).get("asked") is not None:
            text += f"; {Verdict(**self['verdict']).message}"
        if self._inverse.get("converged") is False:
            excess = self._inverse.get("excess")  # not a number where the loss was not finite
            side = "above" if excess is None or excess > 0 else "below"
            by = "" if excess is None else f": loss {abs(excess):.1f} {side} that of the discrete answer"
            text += f"; not converged{by}"
        return text

    @property
    def iterations(self) -> int:
        """Of the optimiser, in all."""
        return int(self["iterations"])

    @property
    def errors(self) -> dict[str, Any]:
        """Against the reference, and by part."""
        errors: dict[str, Any] = self["errors"]
        return errors

    @property
    def seconds(self) -> float:
        """Of the whole run."""
        return float(self["time"]["total_s"])

    @property
    def _inverse(self) -> dict[str, Any]:
        return self.get("inverse") or {}
