set shell := ["bash", "-euo", "pipefail", "-c"]
set positional-arguments

# Paths, ports and versions are defined in dev/env.sh; a recipe line starts with one of these.
env := "source dev/env.sh;"
with_engines := "source dev/env.sh; start_engines;"

_default:
    @just --list --unsorted

# Run Souk with demo data, on private engines
[group('run')]
dev *ARGS:
    @{{ with_engines }} exec cargo run --bin souk -- dev "$@"

# Run another command of Souk on the private engines, such as `just souk webhooks status`
[group('run')]
souk *ARGS:
    @{{ with_engines }} exec cargo run --quiet --bin souk -- "$@"

# Make a purchase in the demo store: search, cart, approval in a browser, payment, order
[group('run')]
demo-purchase *ARGS:
    @dev/purchase/run "$@"

# Walk an order from its purchase to the refund of a return: order, shipment, delivery, return, refund
[group('run')]
demo-return *ARGS:
    @dev/returns/run "$@"

# Manage the private PostgreSQL and Redis: start, stop, status, env
[group('run')]
engines *ARGS:
    @dev/engines "$@"

# Run all checks of the gate
[group('check')]
check:
    @.ci/run

# Format the code
[group('check')]
fmt:
    {{ env }} cargo fmt --all

# Run all static checks; also the pre-push hook
[group('check')]
lint: quick clippy

# Run the static checks that take seconds
[group('check')]
quick:
    {{ env }} cargo fmt --all --check
    {{ env }} typos
    {{ env }} grep -rlIE --exclude-dir=node_modules '^#!.*bash|^# shellcheck shell=bash' dev .ci .githooks | xargs shellcheck -x
    {{ env }} cargo run --quiet -p tidy

# Run Clippy; warnings are errors
[group('check')]
clippy:
    {{ env }} cargo clippy --workspace --all-targets -- -D warnings

# Run the tests, with real engines
[group('check')]
test *ARGS:
    @{{ with_engines }} run_tests "$@"

# Run the examples in the documentation
[group('check')]
test-docs:
    @{{ with_engines }} cargo test --quiet --workspace --doc

# Build the documentation; warnings are errors
[group('check')]
docs:
    {{ env }} RUSTDOCFLAGS='-D warnings' cargo doc --workspace --no-deps

# Check licences, duplicates and sources of dependencies
[group('check')]
deny:
    {{ env }} cargo fetch --quiet --locked
    {{ env }} cargo deny --offline check bans licenses sources

# Find unused dependencies
[group('check')]
unused:
    {{ env }} cargo shear --locked

# Install the git hooks: check the commit message, run lint before every push
[group('check')]
hooks:
    git config core.hooksPath .githooks

# Run the checks of a topic: --fast, --only NAME,NAME, --list
[group('proof')]
prove TOPIC *ARGS:
    @dev/prove "$@"

# Run the benchmarks of a topic
[group('proof')]
bench TOPIC *ARGS:
    @dev/bench "$@"

# Run the long benchmarks of a topic, at sizes that take hours
[group('proof')]
soak TOPIC *ARGS:
    @dev/soak "$@"

# Run third-party programs against the server
[group('proof')]
third-party:
    @dev/third-party/run

# Write all generated files
[group('generate')]
generate: sqlx
    {{ env }} cargo run --quiet --bin souk -- generate
    {{ env }} cargo run --quiet -p tidy -- map
    {{ env }} cargo run --quiet -p tidy -- gate

# Write .sqlx, the query data for builds without a database
[group('generate')]
sqlx:
    @dev/sqlx-prepare

# Fail if a generated file is out of date
[group('generate')]
drift:
    {{ env }} cargo run --quiet --bin souk -- generate --check
    {{ env }} cargo run --quiet -p tidy -- map --check
    {{ env }} cargo run --quiet -p tidy -- gate --check
    @dev/sqlx-prepare --check

# Migrate the database to the newest schema
[group('database')]
migrate:
    @{{ with_engines }} cargo run --quiet --bin souk -- migrate

# Fill the database with demo data
[group('database')]
seed:
    @{{ with_engines }} cargo run --quiet --bin souk -- seed

# Open psql on the database
[group('database')]
psql *ARGS:
    @{{ with_engines }} dev/engines psql "$@"
