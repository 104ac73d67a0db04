# Sourced by scripts with a temporary folder $work. Installs packages with uv, which needs a sixth of
# the CPU time that pip needs; with pip if uv cannot be installed or does not find a package.

install() {  # install VENV WHAT…
  local pip=("$work/tools/bin/python" -m pip --disable-pip-version-check -qq)
  if [ ! -d "$work/tools" ]; then
    python3 -m venv "$work/tools"
    pass_settings_to_uv "$("$work/tools/bin/python" -m pip config list)"
    "${pip[@]}" install uv || true
  fi
  "$work/tools/bin/uv" pip install -q --python "$1/bin/python" "${@:2}" ||
    "${pip[@]}" --python "$1/bin/python" install "${@:2}"
}

pass_settings_to_uv() {  # uv reads none of pip's settings
  setting() {  # the value that pip uses is the first one listed
    sed -n "s/^[^=]*\.$1='\(.*\)'\$/\1/p" <<<"$settings" | sed 's/\\n/ /g;q'
  }
  local settings=$1
  export UV_DEFAULT_INDEX UV_INDEX UV_CONSTRAINT UV_FIND_LINKS UV_INDEX_STRATEGY UV_CACHE_DIR
  UV_DEFAULT_INDEX=$(setting index-url)
  UV_INDEX=$(setting extra-index-url)
  UV_CONSTRAINT=$(setting constraint)
  UV_FIND_LINKS=$(setting find-links | tr ' ' ',')
  UV_INDEX_STRATEGY=unsafe-best-match  # the best version of all indexes, as pip
  UV_CACHE_DIR=${UV_CACHE_DIR:-$work/uv}
  [ -z "$(setting cert)" ] || export SSL_CERT_FILE="${SSL_CERT_FILE:-$(setting cert)}"
}
