#!/usr/bin/env python3
"""Includes go downwards only, and each third-party header has one home.

services/* -> common/{net,store,config,client} -> proto -> common/base -> libc; a service never includes another.
Usage: layers.py ROOT
"""

import fnmatch
import re

import tree

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.MULTILINE)

# What files of a layer may include, besides their own folder and libc. Tests may include anything.
LAYERS = {
    "common/base": (),
    "proto": ("common/base",),
    "common/config": ("common/base", "proto"),
    "common/store": ("common/base", "proto"),
    "common/client": ("common/base", "proto"),
    "common/net": ("common/base", "proto", "common/config", "common/store"),
    "services": ("common/base", "proto", "common/config", "common/store", "common/net"),
}

# Included by files of others: it may name nothing but these.
PUBLIC = {"common/client/aldaba.h": ("stdbool.h", "stddef.h", "stdint.h")}

# Third-party headers and the files that may include them.
HOMES = {
    "civetweb.h": ("services/gateway/http/http.c",),
    "curl/*": ("services/poller/fetch.c", "services/poller/fetch_ask.[ch]", "services/poller/fetch_shard.[ch]",
               "services/ctl/api.c"),
    "msgpack.h": ("proto/wire.c",),
    "msgpack/*": ("proto/wire.c",),
    "yaml.h": ("common/config/yaml.c",),
    "sqlite3.h": ("common/store/sqlite.c", "common/store/sqlite.h"),
    "jansson.h": ("services/gateway/api/json*.c", "services/ctl/*.c"),
    "gcrypt.h": ("common/base/digest.c",),
    "sodium.h": ("common/base/digest.c",),
    "czmq.h": ("common/net/*", "services/*"),
    "zmq.h": ("common/net/*", "common/client/bus.h"),
    "systemd/*": ("common/net/*",),
    "cmocka.h": ("tests/*",),
}


def layer_of(path):
    """The layer of a file or an include, or None when it belongs to none."""
    return next((layer for layer in LAYERS if path.startswith(layer + "/")), None)


def service_of(path):
    parts = path.split("/")
    return parts[1] if parts[0] == "services" and len(parts) > 2 else None


def own_fault(name, included):
    """What is wrong with a project's file including a project's header, or None."""
    here, there = layer_of(name), layer_of(included)
    if here is None:
        return None
    if included.startswith("tests/"):
        return f"{included} belongs to the tests"
    if there is None:
        return f'"{included}" is not a path from the top of the tree'
    if here != there and there not in LAYERS[here]:
        return f"{here} must not include {included}"
    if here == "services" and there == "services" and service_of(name) != service_of(included):
        return f"a service must not include another: {included}"
    return None


def home_fault(name, included):
    """What is wrong with a file including a third-party header, or None."""
    if included not in PUBLIC.get(name, (included,)):
        return f"a public header may include {', '.join(PUBLIC[name])} alone"
    if name.startswith("tests/"):
        return None
    for header, homes in HOMES.items():
        if fnmatch.fnmatch(included, header):
            if not any(fnmatch.fnmatch(name, home) for home in homes):
                return f"<{included}> may be included by {', '.join(homes)} alone"
    return None


def check(root):
    for name in tree.files(root, ".c", ".h"):
        text = tree.read(root, name) or ""
        for match in INCLUDE.finditer(text):
            quote, included = match.groups()
            fault = home_fault(name, included)
            if fault is None and quote == '"':
                fault = own_fault(name, included)
            if fault is not None:
                yield name, text.count("\n", 0, match.start()) + 1, fault


if __name__ == "__main__":
    tree.run(check)
