# The explorer in a container:
#   docker build -t densray .
#   docker run --rm --network host -v "$PWD:/data" densray vectors.densray
# It listens on 127.0.0.1 only, so the container shares the network of its host.
FROM python:3.13-slim
COPY . /densray
RUN pip install --no-cache-dir /densray/densray-data "/densray[explore]" && rm -rf /densray
RUN useradd --create-home reader
USER reader
WORKDIR /data
ENTRYPOINT ["densray", "explore", "--no-browser"]
