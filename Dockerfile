# periplus crawl, watch, report and all other commands, in a small image that runs as an ordinary user.
#
#   docker build -t periplus .
#   docker run --rm -v "$PWD:/data" periplus crawl https://docs.example.org -o docs --limit 1000 --contact you@example.org
#
# Collections are written to /data. The container's user has the number 1000: if yours is another, add
# --user "$(id -u):$(id -g)". A crawl of a private network, or through a proxy, is continued without its options if the
# user's key outlives the container: -e XDG_STATE_HOME=/data/.state. `make image` builds it and runs the demo in it.

FROM python:3.11-slim AS build
RUN apt-get update && apt-get install --yes --no-install-recommends gcc libc6-dev
WORKDIR /build
COPY pyproject.toml hatch_build.py README.md LICENSE ./
COPY src src
COPY lab lab
RUN PERIPLUS_NATIVE=1 pip wheel --no-cache-dir --no-deps --wheel-dir wheels . ./lab

FROM python:3.11-slim
COPY requirements/image.txt /install/
COPY --from=build /build/wheels /install/
RUN pip install --no-cache-dir --require-hashes -r /install/image.txt \
    && pip install --no-cache-dir --no-deps /install/*.whl && rm -r /install
RUN useradd --uid 1000 --create-home periplus && install --directory --owner periplus /data
USER periplus
WORKDIR /data
ENTRYPOINT ["periplus"]
CMD ["--help"]
