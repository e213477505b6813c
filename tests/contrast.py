"""How well one colour reads on another, as the guidelines for accessible pages measure it."""

import numpy as np
from matplotlib.colors import to_rgb


def luminance(colour):
    rgb = np.array(to_rgb(colour))
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    return linear @ [0.2126, 0.7152, 0.0722]


def contrast(one, other):
    """From 1, the same, to 21, black on white; text should have 4.5."""
    darker, lighter = sorted([luminance(one), luminance(other)])
    return (lighter + 0.05) / (darker + 0.05)
