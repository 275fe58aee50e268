# The `souk` binary on a minimal Debian. Every role is a command: `serve` (default), `work`, `index`, `migrate`.
# docker build -t souk . && docker run --rm souk --help
FROM rust:1.95.0-bookworm AS build
WORKDIR /souk
COPY . .
# Queries are checked against the committed metadata in .sqlx, so that the build needs no database.
RUN SQLX_OFFLINE=true cargo build --release --locked --package server --bin souk \
    && strip target/release/souk

FROM debian:bookworm-slim
RUN apt-get update \
    && apt-get install --yes --no-install-recommends ca-certificates \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --system --create-home --home-dir /var/lib/souk souk
COPY --from=build /souk/target/release/souk /usr/local/bin/souk
USER souk
WORKDIR /var/lib/souk
# The server listens on loopback by default, which nothing outside the container reaches.
ENV SOUK_LISTEN=0.0.0.0:8080
EXPOSE 8080
ENTRYPOINT ["souk"]
CMD ["serve"]
