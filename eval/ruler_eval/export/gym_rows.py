"""Export frozen rows to NeMo Gym: rows for rollouts, and the server that rewards the answers.

    TO/data/ruler_frozen_4k.jsonl          a file for each length (and languages)
    TO/resources_servers/ruler_frozen/     app.py, its configuration, and the metric

    {"responses_create_params": {"input": [{"role": "user", "content": "…"}],
                                 "max_output_tokens": 30, "temperature": 0.0},
     "outputs": ["ABCDE"], "length": 4066, "subset": "vt", "config": "vt_4k", "index": 0, …}

These are the fields of the rows of NeMo Gym's own server `ruler`. A response cannot begin with the
answer prefix, so the user's turn ends with the line of RULER's Table 6 and the prefix, as in the
exports for other chat endpoints.
"""

from __future__ import annotations

import json
from dataclasses import replace

from ruler_eval.export.job import ExportJob, write_yaml
from ruler_eval.run.prompts import DIRECT

_COLUMNS = (
    "index",
    "task",
    "input",
    "answer_prefix",
    "outputs",
    "max_new_tokens",
    "length",
    "instruction_language",
    "none_word",
)


def write_gym(job: ExportJob) -> str:
    """Write the rows and the server; return the command that runs a file of rows."""
    dataset = job.release.dataset
    server = f"{dataset}_frozen"
    direct = DIRECT if dataset == "ruler" else ""
    folder = job.folder / "data"
    folder.mkdir()
    names = []
    for config in job.each():
        group = config.name.removeprefix(f"{config.task}_")
        names.append(f"{server}_{group}")
        with (folder / f"{names[-1]}.jsonl").open("a", encoding="utf-8") as file:
            for row in job.release.rows(config.name, _COLUMNS):
                text = row["input"] + direct + row["answer_prefix"]
                line = {
                    "responses_create_params": {
                        "input": [{"role": "user", "content": text}],
                        "max_output_tokens": row["max_new_tokens"],
                        "temperature": 0.0,
                    },
                    "outputs": row["outputs"],
                    "length": row["length"],
                    "subset": row["task"],
                    "config": config.name,
                    "index": row["index"],
                    "instruction_language": row["instruction_language"],
                    "none_word": row["none_word"],
                }
                file.write(json.dumps(line) + "\n")
    names = [*dict.fromkeys(names)]
    _write_server(job, server, names)
    prompt = "The user's turn ends with the line of RULER's Table 6 and the answer prefix."
    job.write_readme("gym.md", server=server, prompt=prompt if direct else "The input alone.")
    settings = f"resources_servers/{server}/configs/{server}.yaml"
    return f"cd {job.to} && gym eval run --config {settings} …   (see its README.md)"


def _write_server(job: ExportJob, server: str, names: list[str]) -> None:
    """Write the resources server: the verifier, the metric, its configuration and requirements.

    `names` are the files of rows. NeMo Gym runs all of them in one split, and wants a licence from
    a list of its own, on which the several licences of the rows (README.md) are not.
    """
    place = job.folder / "resources_servers" / server
    (place / "configs").mkdir(parents=True)
    of_server = replace(job, folder=place)
    of_server.write_scorer()
    of_server.copy("gym_server.py", "app.py")
    (place / "requirements.txt").write_text("nemo-gym\n", encoding="utf-8")
    settings = {
        f"{server}_resources_server": {
            "resources_servers": {
                server: {"entrypoint": "app.py", "domain": "other", "verified": False}
            }
        },
        f"{server}_simple_agent": {
            "responses_api_agents": {
                "simple_agent": {
                    "entrypoint": "app.py",
                    "resources_server": {
                        "type": "resources_servers",
                        "name": f"{server}_resources_server",
                    },
                    "model_server": {"type": "responses_api_models", "name": "policy_model"},
                    "datasets": [
                        {
                            "name": name,
                            "type": "validation",
                            "jsonl_fpath": f"data/{name}.jsonl",
                            "license": "TBD",
                            "num_repeats": 1,
                        }
                        for name in names
                    ],
                }
            }
        },
        f"{server}_environment_server": {
            "environment_servers": {
                "legacy_agent": {
                    "entrypoint": "app.py",
                    "agent_server": {
                        "type": "responses_api_agents",
                        "name": f"{server}_simple_agent",
                    },
                }
            }
        },
    }
    write_yaml(place / "configs" / f"{server}.yaml", settings)
