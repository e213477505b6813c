# The book with everything that runs it: for Binder, for a class under JupyterHub
# (docs/jupyterhub_config.py), or on one's own machine:
#     docker build --tag book . && docker run --rm --publish 8888:8888 book
# For NVIDIA cards, on a host with NVIDIA's container toolkit:
#     docker build --tag book:cuda --build-arg TORCH_INDEX=https://pypi.org/simple .
#     docker run --rm --gpus all --publish 8888:8888 book:cuda
# Who builds it for a class names the base image by its digest, so that every build is the same:
#     docker build --build-arg PYTHON=python:3.12-slim-bookworm@sha256:... .
ARG PYTHON=python:3.12-slim-bookworm
FROM ${PYTHON}

# As Binder asks: the user that it names, who is not root.
ARG NB_USER=jovyan
ARG NB_UID=1000
ARG TORCH_INDEX=https://download.pytorch.org/whl/cpu
ARG JUPYTERHUB=6.1.1
ENV USER=${NB_USER} NB_UID=${NB_UID} HOME=/home/${NB_USER} \
    OMP_NUM_THREADS=1 PYTHONUNBUFFERED=1 \
    NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility
RUN useradd --create-home --uid ${NB_UID} --shell /bin/bash ${NB_USER}

# Not within the home: a hub mounts each student's own one over it.
WORKDIR /srv/book
COPY --chown=${NB_UID} . .
RUN pip install --no-cache-dir --no-deps --index-url ${TORCH_INDEX} \
        $(grep --only-matching '^torch==[^ ]*' requirements.txt) \
    && pip install --no-cache-dir --requirement requirements.in --constraint requirements.txt \
        jupyterhub==${JUPYTERHUB} \
    && chown ${NB_UID} .

USER ${NB_UID}
EXPOSE 8888
CMD ["jupyter", "lab", "--ip=0.0.0.0", "--no-browser", "--ServerApp.preferred_dir=book"]
