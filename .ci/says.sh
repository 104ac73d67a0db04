# Sourced. Runs a command and checks how it ends.

says() {  # says CODE WORDS COMMAND…: the command must end with this code and print these words
  local code=0 output
  output=$("${@:3}" 2>&1) || code=$?
  if [ "$code" != "$1" ] || ! tr -s '\n ' '  ' <<<"$output" | grep -F -- "$2" >/dev/null; then
    echo "$output"
    echo "Exit code $code, expected $1 and \"$2\": ${*:3}"
    exit 1
  fi
}
