# shellcheck shell=bash
# shellcheck disable=SC2034  # every name here is read by the scripts that source this file
# The one home of paths, ports and pinned versions, sourced by dev/*, .ci/run and the justfile's recipes.

SOUK_ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
SOUK_CACHE=${XDG_CACHE_HOME:-$HOME/.cache}/souk

# Outside the clone, so that another clone builds on what is already compiled.
CARGO_TARGET_DIR=$(realpath -m "${CARGO_TARGET_DIR:-$SOUK_CACHE/target}")
export CARGO_TARGET_DIR

# With DATABASE_URL set, sqlx's macros would ask that database, migrated or not. Builds read .sqlx instead.
export SQLX_OFFLINE=${SQLX_OFFLINE:-true}

# Ports of the private engines, outside the range from which the kernel takes the ends of clients (32768 to 60999); dev/engines takes the next free one when a stranger holds the port.
SOUK_PG_PORT=25329
SOUK_REDIS_PORT=63799

# Tools from PyPI are pinned in dev/requirements.txt, the compiler in rust-toolchain.toml, the rest here.
SOUK_VENV=$SOUK_ROOT/.venv
SOUK_TOOLS=${SOUK_TOOLS:-$SOUK_CACHE/tools}
CARGO_DENY_VERSION=0.20.2
CARGO_NEXTEST_VERSION=0.9.143
CARGO_SHEAR_VERSION=1.13.4 # 1.13.5 and later need Rust 1.98

# Our pinned tools win over whatever else the machine has.
case $PATH in
    "$SOUK_TOOLS/bin:$SOUK_VENV/bin:"*) ;;
    *) export PATH=$SOUK_TOOLS/bin:$SOUK_VENV/bin:$PATH ;;
esac

# Starts what does not run yet and exports DATABASE_URL and REDIS_URL.
start_engines() {
    local exports
    "$SOUK_ROOT/dev/engines" start >&2
    exports=$("$SOUK_ROOT/dev/engines" env)
    eval "$exports"
}

# Tests of the whole workspace, or of what the arguments name. nextest runs them side by side; without
# it (dev/setup --ci builds it) cargo's own runner does.
run_tests() {
    case " $* " in
        *' -p '* | *' --package '*) ;;
        *) set -- --workspace "$@" ;;
    esac
    if command -v cargo-nextest >/dev/null; then cargo nextest run "$@"; else cargo test "$@"; fi
}

# Builds the binaries. The development build takes everything at once, with the features the tests are
# built with, so that nothing is compiled twice.
build() {
    if [[ $1 == dev ]]; then
        cargo build --workspace --all-targets
    else
        cargo build --profile "$1" -p server -p proof
    fi
}

# run_proof PROFILE VERB TOPIC [ARGS]: builds the server and the proof binary, and lets the latter do VERB.
run_proof() {
    local folder=$CARGO_TARGET_DIR/${1/dev/debug}
    cd "$SOUK_ROOT" || return
    start_engines
    build "$1"
    shift
    SOUK_BIN=$folder/souk SOUK_ENGINES=$SOUK_ROOT/dev/engines SOUK_CLIENTS=$SOUK_ROOT/dev/clients \
        "$folder/proof" "$@"
}
