# shellcheck shell=bash
# shellcheck disable=SC2034  # every name here is read by the scripts that source this file
# Paths, ports and pinned versions, sourced by dev/*, .ci/run and the recipes of the justfile.

SOUK_ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
SOUK_CACHE=${XDG_CACHE_HOME:-$HOME/.cache}/souk

# Outside the clone, so that clones share compiled dependencies.
CARGO_TARGET_DIR=$(realpath -m "${CARGO_TARGET_DIR:-$SOUK_CACHE/target}")
export CARGO_TARGET_DIR

# With DATABASE_URL set, the macros of sqlx would query that database, migrated or not. Builds read .sqlx instead.
export SQLX_OFFLINE=${SQLX_OFFLINE:-true}

# Ports of the private engines, outside the ephemeral port range of Linux (32768 to 60999). If a port is in use, dev/engines takes the next free one.
SOUK_PG_PORT=25329
SOUK_REDIS_PORT=63799

# Tools from PyPI are pinned in dev/requirements.txt, the compiler in rust-toolchain.toml, the rest here.
# The virtual environment is shared by all clones with the same requirements; .venv links to it.
SOUK_VENV=$SOUK_CACHE/venv-$(sha256sum <"$SOUK_ROOT/dev/requirements.txt" | cut -c 1-16)
SOUK_TOOLS=${SOUK_TOOLS:-$SOUK_CACHE/tools}
CARGO_DENY_VERSION=0.20.2
CARGO_NEXTEST_VERSION=0.9.143
CARGO_SHEAR_VERSION=1.13.4 # 1.13.5 and later need Rust 1.98

# The pinned tools take precedence over other versions on this machine.
case $PATH in
    "$SOUK_TOOLS/bin:$SOUK_VENV/bin:"*) ;;
    *) export PATH=$SOUK_TOOLS/bin:$SOUK_VENV/bin:$PATH ;;
esac

# Starts the engines that are not running and exports DATABASE_URL and REDIS_URL.
start_engines() {
    local exports
    "$SOUK_ROOT/dev/engines" start >&2
    exports=$("$SOUK_ROOT/dev/engines" env)
    eval "$exports"
}

# Runs the tests of the whole workspace, or of the packages in the arguments: with nextest in parallel,
# or with cargo test if nextest is not installed (dev/setup --ci compiles it).
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

# run_proof PROFILE VERB TOPIC [ARGS]: builds the server and the proof binary, and runs `proof VERB TOPIC`.
# The engines are not needed to list checks. SOUK_PREBUILT: the binaries were just built.
run_proof() {
    local folder=$CARGO_TARGET_DIR/${1/dev/debug}
    cd "$SOUK_ROOT" || return
    case " $* " in
        *' --list '*) ;;
        *) start_engines ;;
    esac
    [[ -n ${SOUK_PREBUILT:-} ]] || build "$1"
    shift
    SOUK_BIN=$folder/souk SOUK_ENGINES=$SOUK_ROOT/dev/engines SOUK_CLIENTS=$SOUK_ROOT/dev/clients \
        "$folder/proof" "$@"
}
