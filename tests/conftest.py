"""What all tests share."""

import pytest
import torch


@pytest.fixture(autouse=True, scope="session")
def one_thread():
    """Small tensors are faster on one thread, and sums keep their order."""
    torch.set_num_threads(1)
