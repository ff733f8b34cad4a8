"""Attention Matching (arXiv 2602.16284; POLICIES.md section 4.4, refit): what stays gets weights and values with which it answers the prompt's
queries as all slots did. Written from the equations: least squares of stacked rows, never their normal equations."""
import math

import numpy as np

TOLERANCE = 1e-11


def rows(q, qr, k, model, asked, most):
    """exp(logit - largest of the row) [R, n] of the reference queries over all slots; 0 where a query does not see one.
    q, qr [G, n, d] before rotation, and rotated to the place of each."""
    n = len(k)
    tokens = min(most, n)
    out = []
    for u in range(tokens):
        t = u * n // tokens
        for g in range(len(q)):
            z = k @ (model.rope(q[g, t], n) if asked == "again" else qr[g, t]) / math.sqrt(model.d)
            if asked == "observed":
                z[t + 1:] = -np.inf
            out.append(np.exp(z - z.max()))
    return np.array(out)


def score(e, strength):
    a = e / e.sum(1, keepdims=True)
    return a.max(0) if strength == "max" else np.sqrt((a * a).mean(0))


def bounded(a, m, least, most):
    """The x between least and most with the smallest |a x - m|^2, by Stark and Parker's BVLS (Computational Statistics 10, 1995): free the number
    at a bound that gains most, solve for the free ones, and go only as far as the first bound they meet; until none at a bound gains."""
    n = a.shape[1]
    x, free = np.full(n, least), np.zeros(n, bool)
    scale = max(np.abs(a.T @ m).max(), 1e-300)
    while True:
        gain = a.T @ (m - a @ x)
        gain[free] = 0.0
        gain = np.where(x <= least, gain, np.where(x >= most, -gain, 0.0))
        if gain.max() <= TOLERANCE * scale:
            return x
        free[int(np.argmax(gain))] = True
        while free.any():
            goal = np.linalg.lstsq(a[:, free], m - a[:, ~free] @ x[~free], rcond=None)[0]
            now = x[free]
            if ((goal > least) & (goal < most)).all():
                x[free] = goal
                break
            with np.errstate(divide="ignore", invalid="ignore"):
                room = np.where(goal >= most, (most - now) / (goal - now), np.where(goal <= least, (least - now) / (goal - now), np.inf))
            first = int(np.argmin(room))
            now = now + room[first] * (goal - now)
            now[first] = most if goal[first] >= most else least
            x[free] = now
            free[np.flatnonzero(free)[first]] = False


def fit(e, keep, v, ridge, limit):
    """(weights, values) of the slots that stay."""
    mass = e.sum(1)
    seen = e[:, keep].sum(1) > 0
    e, mass = e[seen], mass[seen]
    a, n = e[:, keep], len(keep)

    def stacked(x, y, held):                                           # |x c - y|^2 + lambda |c - held|^2 as one sum of squares
        root = math.sqrt(ridge * (x * x).sum() / n)
        return np.vstack([x, root * np.eye(n)]), np.concatenate([y, root * held])
    least, most = math.exp(-limit), math.exp(limit)
    w = np.ones(n) if limit == 0 else bounded(*stacked(a, mass, np.ones(n)), least, most)
    x = a * w
    x = x / x.sum(1, keepdims=True)
    return w, np.linalg.lstsq(*stacked(x, (e / mass[:, None]) @ v, v[keep]), rcond=None)[0]


def apply(head, e, keep, ridge, limit):
    """Changes what stays; the others go afterwards."""
    w, values = fit(e, keep, head.v, ridge, limit)
    head.extra[keep], head.v[keep] = np.log(w), values
