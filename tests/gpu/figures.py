"""Figures of a proof, as its summary shows them: what was found, how far it spreads, and the goal."""
import json
import os

NAME = "figures.json"


def figure(what, value, goal=None, *, most=None, least=None, at=None, spread=None, n=None, enough=None, unit=""):
    """One figure. The goal holds where `at` (the value unless given: a bound, say) is at most `most` and at least
    `least`, and where the figure rests on `enough` pairs or items; with neither limit there is no goal (met: None).
    A value of None was not found, which misses a goal."""
    held = value if at is None else at
    met = None
    if most is not None or least is not None:
        met = (held is not None and (most is None or held <= most) and (least is None or held >= least)
               and (enough is None or (n or 0) >= enough))
        goal = goal or (f"= {most:g}" if most == least else " and ".join(([f"<= {most:g}"] if most is not None else []) + ([f">= {least:g}"] if least is not None else [])))
    return {"figure": what, "value": value, "unit": unit, "bound": at, "spread": list(spread) if spread else None, "n": n,
            "goal": goal, "met": met}


def text(one):
    """A line for a reader."""
    value = "not found" if one["value"] is None else f"{one['value']:.4g}"
    line = f"{one['figure']}: {value}{' ' + one['unit'] if one['unit'] and one['value'] is not None else ''}"
    if one["spread"]:
        line += " [" + ", ".join(f"{value:.4g}" for value in one["spread"]) + "]"
    if one["bound"] is not None:
        line += f", 95% bound {one['bound']:.4g}"
    if one["n"] is not None:
        line += f", n {one['n']}"
    return line + (f", goal {one['goal']}" if one["goal"] else "")


def show(found):
    """Print them, with PASS or FAIL where there is a goal."""
    for one in found:
        print({True: "PASS ", False: "FAIL ", None: "     "}[one["met"]] + text(one))


def write(folder, found):
    with open(os.path.join(folder, NAME), "w") as out:
        json.dump(found, out, indent=1)


def met(found):
    """Whether no goal was missed, and one was there."""
    goals = [one["met"] for one in found if one["met"] is not None]
    return bool(goals) and all(goals)


def conclude(folder, found):
    """Write them, print them, and give the exit status of a script that they judge: 0 goals met, 1 not."""
    write(folder, found)
    show(found)
    return 0 if met(found) else 1
