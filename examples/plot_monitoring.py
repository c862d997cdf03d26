# SPDX-License-Identifier: BSD-3-Clause
"""
When did the machine begin to drift?
====================================

A machine reports four sensor values each minute, and you want to know soon when its
behaviour changes. At most about one alarm a week may be false.
"""

# %%
# The reference is two days of normal operation, when the load moves temperature,
# pressure and current together. On the next day, a bearing begins to wear at 14:00.
# Then the machine vibrates more, and the vibration follows the load.
import matplotlib.pyplot as plt
import numpy as np

from skdiscrepancy.monitoring import DriftMonitor

rng = np.random.RandomState(0)
DAY, CHANGE = 24 * 60, 14 * 60


def minutes(n, wear=0.0):
    """Draw temperature, pressure, current and vibration of n minutes."""
    load = rng.normal(size=(n, 1))
    rows = 0.7 * load + 0.7 * rng.normal(size=(n, 3))
    vibration = rng.normal(size=(n, 1)) + wear * (load + 0.7)
    return np.concatenate((rows, vibration), axis=1)


reference = minutes(2 * DAY)
day = np.concatenate((minutes(CHANGE), minutes(DAY - CHANGE, wear=1.5)))

# %%
# `fit` learns how much the last hour can differ from the reference by chance. One false
# alarm a week is a run length of 10 080 minutes.
monitor = DriftMonitor(window_size=60, run_length=7 * DAY, random_state=0)
monitor.fit(reference)
for row in day:
    monitor.update(row)
history = monitor.to_frame()
first_alarm = history["alarm"].argmax()


def clock(minute):
    """Return the time of day."""
    return f"{minute // 60}:{minute % 60:02d}"


print(f"The wear begins at {clock(CHANGE)}.")
print(f"The first alarm is at {clock(first_alarm)}.")
print(f"The estimated change point is {clock(monitor.change_point_)}.")

# %%
# The statistic scatters around zero until the wear begins. ``monitor.plot()`` draws the
# lower picture.
hours = np.arange(DAY) / 60
figure, (above, below) = plt.subplots(
    2, sharex=True, figsize=(7, 5), height_ratios=[1, 1.6], layout="constrained"
)
above.plot(hours, day[:, 3], ".", markersize=2)
above.set_ylabel("vibration")
below.plot(hours, history["statistic"], label="statistic of the last hour")
below.plot(hours, history["threshold"], "--", color="C3", label="threshold")
for axes in (above, below):
    axes.axvline(first_alarm / 60, color="C3", label="first alarm")
    axes.axvline(monitor.change_point_ / 60, color="C1", label="change point")
    axes.axvline(CHANGE / 60, color="black", linestyle=":", label="wear begins")
below.set(xlabel="hour of the day", ylabel="standard deviations")
below.set_xticks(range(0, 25, 3))
below.legend(loc="upper left")
plt.show()

# %%
# The alarm comes before the window is full of changed rows, and the estimated change
# point is the true one. But a change that one hour cannot distinguish from chance
# raises no alarm. A larger `window_size` may detect it. Here all rows are independent,
# but values of a real machine depend on the minutes before. `fit` detects this in a
# reference in the order of time, and raises the thresholds.
