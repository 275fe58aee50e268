set shell := ["bash", "-euo", "pipefail", "-c"]
set positional-arguments

# Paths, ports and versions have one home, dev/env.sh; a recipe line starts with one of these.
env := "source dev/env.sh;"
with_engines := "source dev/env.sh; start_engines;"

_default:
    @just --list --unsorted

# Souk with demo data, on private engines
[group('run')]
dev *ARGS:
    @{{ with_engines }} exec cargo run --bin souk -- dev "$@"

# A whole purchase in the demo store: an agent, a person's approval in a browser, a payment, an order
[group('run')]
demo-purchase *ARGS:
    @dev/purchase/run "$@"

# Private PostgreSQL and Redis: start, stop, status, env
[group('run')]
engines *ARGS:
    @dev/engines "$@"

# Everything the gate checks, as it checks it
[group('check')]
check:
    @.ci/run

# Format the code
[group('check')]
fmt:
    {{ env }} cargo fmt --all

# What can be said without running anything; also the pre-push hook
[group('check')]
lint: quick clippy

# The part of lint that takes seconds
[group('check')]
quick:
    {{ env }} cargo fmt --all --check
    {{ env }} typos
    {{ env }} grep -rlIE '^#!.*bash|^# shellcheck shell=bash' dev .ci .githooks | xargs shellcheck -x
    {{ env }} cargo run --quiet -p tidy

# Clippy, warnings refused
[group('check')]
clippy:
    {{ env }} cargo clippy --workspace --all-targets -- -D warnings

# Tests, against real engines
[group('check')]
test *ARGS:
    @{{ with_engines }} run_tests "$@"

# Examples in the documentation
[group('check')]
test-docs:
    @{{ with_engines }} cargo test --quiet --workspace --doc

# Documentation, warnings refused
[group('check')]
docs:
    {{ env }} RUSTDOCFLAGS='-D warnings' cargo doc --workspace --no-deps

# Licences, duplicates and sources of dependencies
[group('check')]
deny:
    {{ env }} cargo fetch --quiet --locked
    {{ env }} cargo deny --offline check bans licenses sources

# Dependencies nobody uses
[group('check')]
unused:
    {{ env }} cargo shear --locked

# Run lint before every push
[group('check')]
hooks:
    git config core.hooksPath .githooks

# Prove a promise of the design; --fast for the short form
[group('proof')]
prove TOPIC *ARGS:
    @dev/prove "$@"

# Measure a topic
[group('proof')]
bench TOPIC *ARGS:
    @dev/bench "$@"

# Measure a topic at sizes a workday has no time for
[group('proof')]
soak TOPIC *ARGS:
    @dev/soak "$@"

# Let programs that are not ours use the server
[group('proof')]
strangers:
    @dev/strangers/run

# Write all generated files
[group('generate')]
generate: sqlx
    {{ env }} cargo run --quiet --bin souk -- generate

# Write .sqlx, the query data for builds without a database
[group('generate')]
sqlx:
    @dev/sqlx-prepare

# Fail if a generated file differs from what would be generated
[group('generate')]
drift:
    {{ env }} cargo run --quiet --bin souk -- generate --check
    @dev/sqlx-prepare --check

# Bring the database to the newest schema
[group('database')]
migrate:
    @{{ with_engines }} cargo run --quiet --bin souk -- migrate

# Fill the database with demo data
[group('database')]
seed:
    @{{ with_engines }} cargo run --quiet --bin souk -- seed

# A prompt on the database
[group('database')]
psql *ARGS:
    @{{ with_engines }} dev/engines psql "$@"
