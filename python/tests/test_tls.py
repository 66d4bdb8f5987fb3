"""A replica that follows its primary by TLS, with certificates that are made when the test runs."""

import pathlib
import subprocess
import tempfile
import unittest

from server import Server, free_port

import larder


class TlsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.openssl("ecparam -name prime256v1 -genkey -noout -out ca.key")
        self.openssl("req -x509 -new -key ca.key -days 9 -subj /CN=authority -out ca.crt")
        for name in ["server", "client"]:
            self.openssl(f"ecparam -name prime256v1 -genkey -noout -out {name}.key")
            self.openssl(f"req -new -key {name}.key -subj /CN={name} -out {name}.csr")
            (self.folder / "names").write_text("basicConstraints=CA:FALSE\nsubjectAltName=DNS:localhost,IP:127.0.0.1")
            own = f"-in {name}.csr -out {name}.crt -extfile names -days 9"
            self.openssl(f"x509 -req {own} -CA ca.crt -CAkey ca.key -CAcreateserial")
        self.port = free_port()
        files = [("cert", "server.crt"), ("key", "server.key"), ("ca-cert", "ca.crt")]
        options = [word for option, name in files for word in (f"--tls-{option}-file", str(self.folder / name))]
        self.server = Server("--tls-port", str(self.port), *options)
        self.addCleanup(self.server.close)

    def openssl(self, line):
        subprocess.run(["openssl", *line.split()], cwd=self.folder, check=True, capture_output=True)

    def test_a_replica_follows_by_tls(self):
        url = f"rediss://localhost:{self.port}"
        trusted = {"ssl_ca_certs": self.folder / "ca.crt"}
        own = {"ssl_certfile": self.folder / "client.crt", "ssl_keyfile": self.folder / "client.key"}
        with larder.Replica(url, **trusted, **own) as replica:
            replica.set("k", "v")
            self.assertEqual(replica.get("k"), b"v")
        with self.assertRaises(larder.OptionError):
            larder.Replica(url)
        with self.assertRaises(larder.OptionError):
            larder.Replica(url, ssl_certfile=own["ssl_certfile"], **trusted)
        with self.assertRaises(larder.OptionError):
            larder.Replica(f"redis://localhost:{self.port}", **trusted)
        # The server asks for a certificate.
        with self.assertRaises(larder.ConnectionError):
            larder.Replica(url, sync_timeout=1, **trusted)


if __name__ == "__main__":
    unittest.main()
