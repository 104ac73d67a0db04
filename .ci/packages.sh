# Sourced. Installs packages with uv, which takes a sixth of pip's CPU time, told pip's settings.

# install TOOLS VENV CACHE WHAT…: into the environment VENV, with the uv of the environment TOOLS and
# a cache in UV_CACHE_DIR, else in the folder CACHE; if uv cannot be installed, with pip.
install() {
  local tools=$1 into=$2 cache=$3 settings given=() value
  shift 3
  local pip=("$tools/bin/python" -m pip --disable-pip-version-check -qq)
  settings=$("$tools/bin/python" -m pip config list)
  of_pip() {  # every value of a setting of pip's, the environment's first
    sed -n "s/^[^=]*\.$1='\(.*\)'\$/\1/p" <<<"$settings" | sed 's/\\n/ /g' | tr -s ' ' '\n'
  }
  for value in $(of_pip index-url | head -1); do given+=(--default-index "$value"); done
  for value in $(of_pip extra-index-url); do given+=(--index "$value"); done
  for value in $(of_pip find-links); do given+=(--find-links "$value"); done
  for value in $(of_pip cert | head -1); do export SSL_CERT_FILE="${SSL_CERT_FILE:-$value}"; done
  { { [ -x "$tools/bin/uv" ] || "${pip[@]}" install uv; } &&
    "$tools/bin/uv" pip install -q --python "$into/bin/python" --cache-dir "${UV_CACHE_DIR:-$cache}" \
      --index-strategy unsafe-best-match "${given[@]}" "$@"; } ||
    "${pip[@]}" --python "$into/bin/python" install "$@"
}
