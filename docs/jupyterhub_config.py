"""A class on one server: the book's image for each student, under JupyterHub.

    docker build --tag book .
    pip install jupyterhub dockerspawner
    jupyterhub --config docs/jupyterhub_config.py

It lacks two things that only you can decide: who may log in, and the certificate.
"""

import os

c = get_config()  # noqa: F821 - JupyterHub defines it

# Everybody with the word of the class gets in, under the name that they type. For a course of your
# university take its own way to log in: https://jupyterhub.readthedocs.io, "Authenticators".
c.JupyterHub.authenticator_class = "dummy"
c.DummyAuthenticator.password = os.environ["CLASS_PASSWORD"]
c.Authenticator.allow_all = True

# One container a student, with a home that stays: answers survive the container.
c.JupyterHub.spawner_class = "dockerspawner.DockerSpawner"
c.DockerSpawner.image = "book"
c.DockerSpawner.volumes = {"book-{username}": "/home/jovyan"}
c.DockerSpawner.notebook_dir = "/home/jovyan"
c.DockerSpawner.remove = True
c.JupyterHub.hub_ip = "0.0.0.0"

# The notebooks, copied into the home before each start. What a student wrote is never overwritten.
c.DockerSpawner.cmd = [
    "sh",
    "-c",
    "python /srv/book/tools/own_copy.py ~/book && exec jupyterhub-singleuser",
]
c.Spawner.default_url = "/lab/tree/book/preface.ipynb"

# All chapters run within this, on one core.
c.Spawner.mem_limit = "2G"
c.Spawner.cpu_limit = 1

# Who has been away for an hour gives the memory back.
c.JupyterHub.services = [
    {
        "name": "idle",
        "command": ["jupyterhub-idle-culler", "--timeout=3600"],
    }
]
c.JupyterHub.load_roles = [
    {
        "name": "idle",
        "services": ["idle"],
        "scopes": [
            "list:users",
            "read:users:activity",
            "read:servers",
            "delete:servers",
        ],
    }
]
