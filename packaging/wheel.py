"""Packs what `make install-files` staged as a Python wheel: wheel.py ROOT VERSION FOLDER.

ROOT has bin/, share/ and python/. pip copies bin/ beside its python and share/ below the same
prefix, where the program looks for its presets. A wheel is a zip file with a list of checksums.
Writing it needs no setuptools, which cannot install a program that is no script.
"""
import base64
import glob
import hashlib
import os
import sys
import tomllib
import zipfile

LICENSES = ["LICENSE"] + [f"/usr/share/doc/{package}/copyright" for package in (
    "libopenblas-dev", "liblapack-dev", "libarmadillo-dev", "libcxxopts-dev",
    "nlohmann-json3-dev", "zlib1g-dev", "libstdc++6")]  # of what the program has inside


def contents(root, name):
    """(path in the wheel, path of the file) of each file."""
    places = {"python": "", "bin": f"{name}.data/scripts/", "share": f"{name}.data/data/share/"}
    for folder, place in places.items():
        top = os.path.join(root, folder)
        for path in sorted(glob.glob(f"{top}/**", recursive=True)):
            if os.path.isfile(path):
                yield place + os.path.relpath(path, top), path
    for path in filter(os.path.exists, LICENSES):
        yield f"{name}.dist-info/licenses/{'-'.join(path.split('/')[-2:])}", path


def main(root, version, folder):
    with open("python/pyproject.toml", "rb") as file:
        project = tomllib.load(file)["project"]
    name, tag = f"ranklab-{version}", "py3-none-linux_x86_64"
    needs = "".join(f"Provides-Extra: {extra}\n" + "".join(
        f'Requires-Dist: {package}; extra == "{extra}"\n' for package in packages)
        for extra, packages in project["optional-dependencies"].items())
    out, record = f"{folder}/{name}-{tag}.whl", []
    with zipfile.ZipFile(out + ".new", "w", zipfile.ZIP_DEFLATED) as wheel:
        def add(path, data, mode=0o644):
            entry = zipfile.ZipInfo(path)  # of 1980, so that equal files make an equal wheel
            entry.external_attr = (0o100000 | mode) << 16
            wheel.writestr(entry, data, zipfile.ZIP_DEFLATED)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            record.append(f"{path},sha256={digest},{len(data)}\n")

        for path, source in contents(root, name):
            with open(source, "rb") as file:
                add(path, file.read(), os.stat(source).st_mode & 0o777)
        add(f"{name}.dist-info/METADATA", (
            f"Metadata-Version: 2.1\nName: ranklab\nVersion: {version}\nLicense: MIT\n"
            f"Summary: {project['description']}\n"
            f"Requires-Python: {project['requires-python']}\n{needs}").encode())
        add(f"{name}.dist-info/WHEEL", (
            "Wheel-Version: 1.0\nGenerator: ranklab\nRoot-Is-Purelib: false\n"
            f"Tag: {tag}\n").encode())
        own = f"{name}.dist-info/RECORD"
        add(own, "".join([*record, f"{own},,\n"]).encode())
    os.replace(out + ".new", out)
    print(out)


if __name__ == "__main__":
    main(*sys.argv[1:])
