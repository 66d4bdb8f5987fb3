#!/usr/bin/env python3
"""The chart for Kubernetes: chart.py HELM PATH_OF_LARDER_SERVER

Renders the chart, checks that its parts fit together, and starts the server with the file and the arguments of a pod.
"""

import pathlib
import re
import subprocess
import sys
import tempfile

import yaml

from run import ROOT, ask, ended, free_port, run, until

CHART = ROOT / "packaging" / "chart"
ALL = ["--set", "replicas=2,metrics.serviceMonitor=true,metrics.prometheusRule=true"]


def render(helm, *words):
    """The objects by kind and name."""
    done = subprocess.run([helm, "template", "--kube-version", "1.30.0", "store", CHART, *words], stdout=subprocess.PIPE, check=True)
    objects = [found for found in yaml.safe_load_all(done.stdout) if found]
    return {(found["kind"], found["metadata"]["name"]): found for found in objects}


def container(objects, name):
    return objects["StatefulSet", name]["spec"]["template"]["spec"]["containers"][0]


def check_parts(objects):
    services = {name: found["spec"] for (kind, name), found in objects.items() if kind == "Service"}
    assert set(services) == {"store-larder", "store-larder-read", "store-larder-primary", "store-larder-replica"}, services
    for role in ["primary", "replica"]:
        servers = objects["StatefulSet", f"store-larder-{role}"]["spec"]
        labels = servers["template"]["metadata"]["labels"]
        service = services[servers["serviceName"]]
        assert service["selector"].items() <= labels.items() and service["clusterIP"] == "None"
        ports = {port["name"] for port in container(objects, f"store-larder-{role}")["ports"]}
        assert {port["targetPort"] for port in service["ports"]} == ports
    args = container(objects, "store-larder-replica")["args"]
    pod, name = args[args.index("--replicaof") + 1].split(".")
    assert name in services and pod == "store-larder-primary-0", args
    secret = container(objects, "store-larder-primary")["env"][0]["valueFrom"]["secretKeyRef"]
    assert len(objects["Secret", secret["name"]]["data"][secret["key"]]) > 32
    rules = yaml.safe_load((ROOT / "packaging" / "alerts.yml").read_text())
    assert objects["PrometheusRule", "store-larder"]["spec"] == rules
    assert objects["ServiceMonitor", "store-larder"]["spec"]["endpoints"] == [{"port": "metrics"}]


def check_pod(objects, server):
    """The server takes the file and the arguments of the pod, and its probes succeed."""
    ports = {"6379": str(free_port()), "9121": str(free_port())}
    with tempfile.TemporaryDirectory() as folder:
        config = pathlib.Path(folder) / "larder.conf"
        config.write_text(objects["ConfigMap", "store-larder"]["data"]["larder.conf"])
        places = {"/etc/larder/larder.conf": str(config), "/data": folder, "$(LARDERCLI_AUTH)": "secret", **ports}
        pod = container(objects, "store-larder-primary")
        words = [places.get(word, word) for word in pod["args"]]
        process = subprocess.Popen([server, *words], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        try:
            until("the server answers", lambda: asks_for_password(int(ports["6379"])))
            probe = pod["livenessProbe"]["exec"]["command"]
            assert probe[0] == "/larder-server"
            words = [server, *probe[1:], "-p", ports["6379"]]
            assert run(*words, env={"LARDERCLI_AUTH": "secret"}) == "PONG\n"
            path = pod["readinessProbe"]["httpGet"]["path"]
            assert run("curl", "-sf", f"http://127.0.0.1:{ports['9121']}{path}") == "ok\n"
        finally:
            code, text = ended(process)
        assert code == 0, text


def asks_for_password(port):
    try:
        return ask(port, "PING").startswith("-NOAUTH")
    except OSError:
        return False


def main():
    helm, server = sys.argv[1:]
    run(helm, "lint", "--strict", CHART)
    objects = render(helm, *ALL)
    check_parts(objects)
    check_pod(objects, server)
    small = render(helm, "--set", "auth.existingSecret=mine,persistence.enabled=false")
    assert not [name for kind, name in small if kind in ("Secret", "ServiceMonitor", "PrometheusRule") or "replica" in name], small.keys()
    assert "volumeClaimTemplates" not in small["StatefulSet", "store-larder-primary"]["spec"]
    version = re.search(r'^version = "(.*)"$', (ROOT / "Cargo.toml").read_text(), re.M)[1]
    assert container(small, "store-larder-primary")["image"] == f"larder:{version}", "the chart has the version of Larder"
    print("chart: ok")


if __name__ == "__main__":
    main()
