"""Samples a benchmark's pods from inside the cluster; standard library only.

collect.py sample SECONDS   samples until SIGTERM, into /samples/samples.jsonl (one line a source and moment)
collect.py archive          prints /samples with pod logs and last pages as a tar.gz, preceded by a line with its
                            length and SHA-256, so that a transfer that broke off is noticed
"""

import hashlib
import io
import json
import os
import re
import signal
import ssl
import sys
import tarfile
import threading
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timezone

SAMPLES = "/samples"
ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"
API = "https://kubernetes.default.svc"
METRICS_SECRET = "inference-gateway-sa-metrics-reader-secret"
DEADLINE = 5
LOG_LIMIT = 8 << 20
PAGE_LIMIT = 16 << 20
# Suffixes of quantities as metrics.k8s.io writes them.
UNITS = {"n": 1e-9, "u": 1e-6, "m": 1e-3, "": 1.0, "k": 1e3, "M": 1e6, "G": 1e9,
         "Ki": 1024.0, "Mi": 1024.0 ** 2, "Gi": 1024.0 ** 3}

namespace = os.environ.get("NAMESPACE", "default")


def text(path):
    with open(path, encoding="utf-8") as file:
        return file.read().strip()


def api(path):
    """The bytes that the API server answers; the account's token is read each time because it is renewed."""
    context = ssl.create_default_context(cafile=os.path.join(ACCOUNT, "ca.crt"))
    request = urllib.request.Request(API + path, headers={"Authorization": "Bearer " + text(ACCOUNT + "/token")})
    with urllib.request.urlopen(request, timeout=DEADLINE, context=context) as answer:
        return answer.read(LOG_LIMIT)


def page(url, tokens):
    """A metrics page; with each token in turn when the page asks who reads it."""
    refused = None
    for token in [None] + tokens:
        headers = {"Authorization": "Bearer " + token} if token else {}
        try:
            with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=DEADLINE) as answer:
                return answer.read(PAGE_LIMIT).decode("utf-8", "replace")
        except urllib.error.HTTPError as error:
            if error.code not in (401, 403):
                raise
            refused = error
    raise refused


def tokens():
    import base64
    found = []
    try:
        secret = json.loads(api("/api/v1/namespaces/%s/secrets/%s" % (namespace, METRICS_SECRET)))
        found.append(base64.b64decode(secret["data"]["token"]).decode())
    except (OSError, KeyError, ValueError):
        pass
    return found + [text(ACCOUNT + "/token")]


def values(document):
    """Series and their values; histograms' buckets are left out, as are values that are no numbers."""
    found = {}
    for line in document.splitlines():
        if line.startswith("#") or " " not in line:
            continue
        # `name{labels} value` or `name{labels} value timestamp`.
        match = re.match(r"^([A-Za-z_:][A-Za-z0-9_:]*(?:\{.*\})?)\s+(\S+)(?:\s+\d+)?$", line)
        if not match or match.group(1).split("{")[0].endswith("_bucket"):
            continue
        try:
            value = float(match.group(2))
        except ValueError:
            continue
        if value == value and abs(value) != float("inf"):
            found[match.group(1)] = value
    return found


def quantity(words):
    match = re.match(r"^([0-9.]+)([A-Za-z]*)$", words)
    return float(match.group(1)) * UNITS[match.group(2)] if match and match.group(2) in UNITS else None


def sources(targets):
    """Every source with the pages to try, by name; pods are numbered in the order of their names."""
    found = {}
    for target in targets:
        path = "/api/v1/namespaces/%s/pods?labelSelector=%s" % (namespace, urllib.request.quote(target["selector"]))
        pods = [pod for pod in json.loads(api(path))["items"] if pod.get("status", {}).get("podIP")]
        for number, pod in enumerate(sorted(pods, key=lambda pod: pod["metadata"]["name"]), 1):
            host = pod["status"]["podIP"]
            host = "[%s]" % host if ":" in host else host
            found["%s-%d" % (target["role"], number)] = {
                "pod": pod["metadata"]["name"],
                "urls": ["http://" + host + rest for rest in target["pages"]],
            }
    return found


def usage():
    """CPU in cores and memory in bytes of each container, where the cluster measures them."""
    path = "/apis/metrics.k8s.io/v1beta1/namespaces/%s/pods" % namespace
    found = {}
    for pod in json.loads(api(path))["items"]:
        series = {}
        for container in pod["containers"]:
            label = '{container="%s"}' % container["name"]
            for name, key in (("container_cpu_cores", "cpu"), ("container_memory_bytes", "memory")):
                value = quantity(container.get("usage", {}).get(key, ""))
                if value is not None:
                    series[name + label] = value
        found[pod["metadata"]["name"]] = series
    return found


class Sampler:
    def __init__(self):
        self.began = time.monotonic()
        self.targets = json.loads(text("/collector/targets.json"))
        self.answered = {}
        self.tokens = tokens()
        self.pool = ThreadPoolExecutor(32)
        self.out = open(os.path.join(SAMPLES, "samples.jsonl"), "a", encoding="utf-8")

    def line(self, source, pod, metrics, error):
        sample = {
            "at": datetime.now(timezone.utc).isoformat().replace("+00:00", "Z"),
            "elapsed_seconds": round(time.monotonic() - self.began, 3),
            "source": source,
            "pod": pod,
        }
        if error is not None:
            sample["error"] = str(error)
        if metrics:
            sample["metrics"] = metrics
        self.out.write(json.dumps(sample, separators=(",", ":")) + "\n")

    def read(self, name, source):
        """A source's page: the one that answered last time, or the first that answers."""
        urls = [self.answered[name]] if self.answered.get(name) in source["urls"] else source["urls"]
        error = None
        for url in urls:
            try:
                document = page(url, self.tokens)
                self.answered[name] = url
                return document, None
            except (OSError, ValueError) as failed:
                error = failed
        self.answered.pop(name, None)
        return None, error

    def once(self):
        try:
            found = sources(self.targets)
        except (OSError, ValueError) as error:
            self.line("cluster", None, {}, error)
            self.out.flush()
            return
        try:
            used = usage()
        except (OSError, ValueError):
            used = {}
        pages = self.pool.map(lambda entry: self.read(*entry), found.items())
        for (name, source), (document, error) in zip(found.items(), pages):
            metrics = values(document) if document is not None else {}
            metrics.update(used.get(source["pod"], {}))
            self.line(name, source["pod"], metrics, error)
            if document is not None:
                with open(os.path.join(SAMPLES, name + ".prom"), "w", encoding="utf-8") as file:
                    file.write(document)
        self.out.flush()


def sample(interval):
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    sampler = Sampler()
    began = time.monotonic()
    number = 0
    while not stop.is_set():
        sampler.once()
        number += 1
        # Absolute deadlines: a slow sample does not shift the ones after it.
        stop.wait(max(0.0, began + number * interval - time.monotonic()))


def logs(archive):
    """The end of each container's log; the harness's own is collected with its results."""
    pods = json.loads(api("/api/v1/namespaces/%s/pods" % namespace))["items"]
    for pod in pods:
        name = pod["metadata"]["name"]
        for container in pod["spec"].get("initContainers", []) + pod["spec"]["containers"]:
            path = "/api/v1/namespaces/%s/pods/%s/log?container=%s&limitBytes=%d&tailLines=20000" % (
                namespace, name, container["name"], LOG_LIMIT)
            try:
                add(archive, "pod-logs/%s-%s.log" % (name, container["name"]), api(path))
            except (OSError, ValueError) as error:
                add(archive, "pod-logs/%s-%s.missing" % (name, container["name"]), str(error).encode())


def add(archive, name, content):
    entry = tarfile.TarInfo(name)
    entry.size = len(content)
    archive.addfile(entry, io.BytesIO(content))


def archive():
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w:gz") as packed:
        for name in sorted(os.listdir(SAMPLES)):
            if name == "samples.jsonl" or name.endswith(".prom"):
                packed.add(os.path.join(SAMPLES, name), arcname=name)
        logs(packed)
    content = held.getvalue()
    out = sys.stdout.buffer
    out.write(("%d %s\n" % (len(content), hashlib.sha256(content).hexdigest())).encode())
    out.write(content)
    out.flush()


if __name__ == "__main__":
    if sys.argv[1] == "sample":
        sample(float(sys.argv[2]))
    else:
        archive()
