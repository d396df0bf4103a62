"""
A corner with an infinite gradient
==================================
Laplace's equation in an L.
"""

import matplotlib.pyplot as plt

plt.plot([1, 2])
plt.show()
