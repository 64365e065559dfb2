"""What all steps of a proof came to, as text and as JSON."""
import io
import json
import os
import tarfile

import figures
from proof import runner

ORDER = ("fail", "crash", "timeout", "cut", "skip", "not run", "pass")


def collect(steps, results, skipped):
    """A row for each step of the table, whether it has run or not."""
    rows = []
    for step in steps:
        result = runner.read_result(os.path.join(results, step.name))
        row = {"name": step.name, "shows": step.shows, "status": "not run", "reason": skipped.get(step.name, ""), "figures": []}
        if result:
            row.update(result)
            row["reason"] = result["reason"] or (skipped.get(step.name, "") if result["status"] not in runner.DONE else "")
        elif step.name in skipped and skipped[step.name].startswith("needs"):
            row["status"] = "skip"
        rows.append(row)
    return rows


def counts(rows):
    return {status: sum(row["status"] == status for row in rows) for status in ORDER}


def lines(rows, source):
    """The summary as text: a table, then figures against goals, then what went wrong."""
    built = sorted({row["source"].get("commit", "unknown") for row in rows if row.get("source")} or {source.get("commit", "unknown")})
    yield "commit " + ", ".join(built) + (" (several: see result.json of each step)" if len(built) > 1 else "")
    for row in rows:
        if row.get("before", {}).get("clocks"):
            yield f"{row['before']['date']}, {row['before']['of']}: {row['before']['clocks'][0]}"
            break
    yield ""
    width = max(len(row["name"]) for row in rows)
    for row in rows:
        seconds = f"{row['seconds']:>6.0f} s" if "seconds" in row else "       -"
        checks = f"{row['passed']}+{row['failed']}" if row.get("passed", 0) + row.get("failed", 0) else ""
        yield f"{row['status']:<8} {row['name']:<{width}} {seconds} {checks:>8}  {row['shows']}"
        if row["reason"]:
            yield f"{'':9}{'':{width}} {'':8} {'':>8}  {row['reason']}"
    if any(row["figures"] for row in rows):
        yield ""
        yield "figures: median [10th, 90th percentile], its 95% bound, and the goal"
        for row in rows:
            for one in row["figures"]:
                yield f"{ {True: 'met', False: 'MISSED', None: ''}[one['met']]:<7} {row['name']:<{width}}  {figures.text(one)}"
    if any(row.get("failures") for row in rows):
        yield ""
        yield "what failed"
        for row in rows:
            for line in row.get("failures", ()):
                yield f"{row['name']:<{width}}  {line}"
    yield ""
    yield ", ".join(f"{number} {status}" for status, number in counts(rows).items() if number)


def write(rows, source, results):
    """summary.txt and summary.json; gives the text."""
    text = "\n".join(lines(rows, source)) + "\n"
    for name, data in (("summary.txt", text), ("summary.json", json.dumps({"source": source, "steps": rows}, indent=1) + "\n")):
        with open(os.path.join(results, name + ".new"), "w") as file:
            file.write(data)
        os.rename(os.path.join(results, name + ".new"), os.path.join(results, name))
    return text


def sizes(results):
    """(bytes, path) of each file, the smallest first. What goes while this looks is not there."""
    found = []
    for folder, _, names in os.walk(results):
        for path in (os.path.join(folder, name) for name in names):
            try:
                if not os.path.islink(path):
                    found.append((os.path.getsize(path), path))
            except OSError:
                pass
    return sorted(found)


def archive(name, files, results):
    """Write it, by way of another name, which does not stay. Files are read whole, for they may change meanwhile;
    gives those that are gone."""
    gone = []
    try:
        with tarfile.open(name + ".new", "w:gz", compresslevel=6) as out:
            for path in sorted(files):
                try:
                    entry = out.gettarinfo(path, os.path.join(os.path.basename(results), os.path.relpath(path, results)))
                    with open(path, "rb") as file:
                        data = file.read()
                except OSError:
                    gone.append(path)
                    continue
                entry.size = len(data)
                out.addfile(entry, io.BytesIO(data))
        os.rename(name + ".new", name)
    finally:
        if os.path.exists(name + ".new"):
            os.remove(name + ".new")
    return gone


def pack(results, path, most, parts=1):
    """The results in archives of at most so many bytes each: PATH, or with parts PATH with their numbers before its
    ending. Files that find no room are left out, the largest first; gives their names, and those of files that went
    meanwhile. An OSError where an archive can't be written; the one before it stays."""
    bins, left = [[] for _ in range(parts)], []
    room = [most] * parts
    # What is small must not fall out for what is large: it is put in first, into the last archive while that has room.
    for size, file in sizes(results):
        size += 1024
        at = max(range(parts), key=lambda part: (room[part] >= size, part))
        if room[at] < size:
            left.append(os.path.relpath(file, results))
            continue
        room[at] -= size
        bins[at].append(file)
    for number, kept in enumerate(bins, 1):
        name = path if parts == 1 else path.replace(".tar.gz", f".{number}.tar.gz")
        left += [os.path.relpath(file, results) for file in archive(name, kept, results)]
    return left
