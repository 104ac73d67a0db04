# Sourced. Runs a command that must end as expected.

says() {  # says CODE WORDS COMMAND…: the command ends with this code and says these words
  local code=0 said
  said=$("${@:3}" 2>&1) || code=$?
  if [ "$code" != "$1" ] || ! tr -s '\n ' '  ' <<<"$said" | grep -F -- "$2" >/dev/null; then
    echo "$said"
    echo "Exit code $code, expected $1 and \"$2\": ${*:3}"
    exit 1
  fi
}
