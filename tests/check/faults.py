"""What the tests of the doctor share: is a fault found, and is its cause named first?"""

import torch


def seeded(make, *args):
    torch.manual_seed(0)
    return make(*args)


def warnings_of(report):
    return {found.name for found in report.findings if found.verdict == "warning"}


def check_found(report, fault):
    """fault: (the examination that finds it, a word of the cause that must stand first)."""
    verdicts = {found.name: found.verdict for found in report.findings}
    assert verdicts[fault[0]] in ("FAILS", "warning"), report


def check_causes(faults, examined):
    """In four of five faults, the cause that stands first is the right one."""
    wrong = []
    for name, (examination, word) in faults.items():
        (found,) = (f for f in examined(name).findings if f.name == examination)
        if word not in f"{found.sentence} {found.cause.split(', ')[0]}":
            wrong.append(name)
    assert len(wrong) <= 0.2 * len(faults), wrong
