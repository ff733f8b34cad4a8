"""Which lanes a build of kvscope-cli has: policies, keys and choices as `kvscope-cli info --policies --json` lists them. Python 3 only."""
import json
import re
import subprocess


def read_catalog(cli):
    """{policy: {key: set of choices, or None where the value is free}}"""
    out = subprocess.run([cli, "info", "--policies", "--json"], capture_output=True, text=True, check=True).stdout
    return {p["name"]: {k["key"]: set(k["choices"]) if "choices" in k else None for k in p["keys"]} for p in json.loads(out)["policies"]}


def supported(spec, catalog):
    """True if the build has the policy, every key of the specification and every choice in it."""
    pair = re.fullmatch('prefill_decode:prefill="([^"]*)",decode="([^"]*)"', spec)
    if pair:
        return "prefill_decode" in catalog and all(supported(half, catalog) for half in pair.groups())
    name, _, rest = spec.partition(":")
    if name not in catalog:
        return False
    for part in filter(None, rest.split(",")):
        key, _, value = part.partition("=")
        if key in ("slots", "ratio", "round"):
            continue
        if key not in catalog[name] or (catalog[name][key] is not None and value not in catalog[name][key]):
            return False
    return True
