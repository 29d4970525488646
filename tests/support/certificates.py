"""An authority of the tests' own, and a certificate that it signed."""

import subprocess
from pathlib import Path


def certify(folder: Path) -> Path:
    """A folder with ``ca.pem``, and ``key.pem`` and ``cert.pem`` for 127.0.0.1 signed by it."""

    def openssl(*arguments: str) -> None:
        subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True, timeout=60)

    def request(name: str) -> tuple[str, ...]:
        curve = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
        return ("req", *curve, "-keyout", f"{name}key.pem", "-subj", f"/CN={name or 'server'}")

    openssl(*request("ca"), "-x509", "-days", "2", "-out", "ca.pem")
    openssl(*request(""), "-out", "request.pem")
    (folder / "names").write_text("subjectAltName=IP:127.0.0.1\nbasicConstraints=CA:FALSE\n")
    signed = ("-CA", "ca.pem", "-CAkey", "cakey.pem", "-CAcreateserial", "-days", "2", "-extfile", "names")
    openssl("x509", "-req", "-in", "request.pem", *signed, "-out", "cert.pem")
    return folder
