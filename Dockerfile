# Static binaries in images that hold nothing else; built with: docker build --target vela-core -t vela-core .
# The other targets are vela, vela-dapr and vela-harbor.
FROM rust:1.95-slim AS build
RUN apt-get update && apt-get install -y --no-install-recommends gcc libc6-dev && rustup target add x86_64-unknown-linux-musl
WORKDIR /src
COPY Cargo.toml Cargo.lock clippy.toml rustfmt.toml ./
COPY .cargo .cargo
COPY cue cue
COPY crds crds
COPY definitions definitions
COPY kinds kinds
COPY listen listen
COPY runtime runtime
COPY apiserver apiserver
COPY testkit testkit
COPY engine engine
COPY snapshot snapshot
COPY embedded embedded
COPY webhooks webhooks
COPY console console
COPY dapr dapr
COPY harbor harbor
COPY core core
COPY vela-cli vela-cli
COPY simulation simulation
COPY e2e e2e
COPY xtask xtask
# ring builds with plain gcc; no musl-gcc is needed.
ENV CC_x86_64_unknown_linux_musl=gcc
RUN cargo build --profile dist --locked --target x86_64-unknown-linux-musl --package vela-core --package vela-cli \
    --package vela-dapr --package vela-harbor
# An account without a name, a shell or a home; the root certificates of the build image for registries over TLS.
RUN mkdir -p /root-fs/etc/ssl/certs /root-fs/tmp && echo "vela:x:65532:65532::/:" > /root-fs/etc/passwd \
    && cp /etc/ssl/certs/ca-certificates.crt /root-fs/etc/ssl/certs/ 2>/dev/null || true

FROM scratch AS vela-core
COPY --from=build /root-fs /
COPY --from=build /src/target/x86_64-unknown-linux-musl/dist/vela-core /vela-core
USER 65532:65532
ENTRYPOINT ["/vela-core"]

FROM scratch AS vela
COPY --from=build /root-fs /
COPY --from=build /src/target/x86_64-unknown-linux-musl/dist/vela /vela
USER 65532:65532
ENTRYPOINT ["/vela"]

FROM scratch AS vela-dapr
COPY --from=build /root-fs /
COPY --from=build /src/target/x86_64-unknown-linux-musl/dist/vela-dapr /vela-dapr
USER 65532:65532
ENTRYPOINT ["/vela-dapr"]

FROM scratch AS vela-harbor
COPY --from=build /root-fs /
COPY --from=build /src/target/x86_64-unknown-linux-musl/dist/vela-harbor /vela-harbor
USER 65532:65532
ENTRYPOINT ["/vela-harbor"]
