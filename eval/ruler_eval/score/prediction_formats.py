"""Reads one prediction file, of whatever form the table of forms has (forms.toml).

    reader = PredictionFile(Path("4096/pred/vt.jsonl"), Naming())
    for prediction in reader.read(damaged=[]): …
    reader.model, reader.run

Where neither the records nor the path give the length or the language, `--length` and `--config`
do; `--config` names the configuration outright.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import Any

from ruler_common.errors import RulerError
from ruler_eval.prediction import Prediction
from ruler_eval.score.config_naming import Naming
from ruler_eval.score.form_reader import FormReader, beside
from ruler_eval.score.forms import SIMPLEST, Form, forms
from ruler_eval.score.prompt_check import PromptCheck
from ruler_eval.score.records import Records, parquet_records, records_of


@dataclass
class PredictionFile:
    """One file to read: its path, what the caller adds, and whether prompts are kept.

    `prompts` compares each prompt that the file holds with its row's, where there is a release;
    `form` is that of --columns, else the first record tells it. `parts` are the numbers of rows of
    the parts that were read before, by configuration: a part's indices begin at 0 again.
    """

    file: Path
    naming: Naming
    _: KW_ONLY
    form: Form | None = None
    keep_prompts: bool = False
    prompts: PromptCheck | None = None
    parts: dict[str, list[int]] = field(default_factory=dict)
    _reader: FormReader | None = None

    def read(self, damaged: list[str]) -> Iterator[Prediction]:
        """The predictions in file order; notes lines that are no JSON in `damaged`.

        Raises RulerError for a file of no known form, and for a record that lacks what it needs.
        """
        rows, config = 0, ""
        part: str | None = None
        for where, record in self._records(damaged):
            reader = self._reader or self._opened(record)
            try:
                found = reader.prediction(record)
                found.where = where
                found.check()
                part, config = reader.told.get("part"), found.config
                if part is not None:
                    found.index += self._before(int(part), config)
            except RulerError:
                raise
            except (LookupError, TypeError, AttributeError, ValueError, SyntaxError) as error:
                why = f"no '{error.args[0]}'" if isinstance(error, KeyError) else error
                raise RulerError(f"'{where}' lacks a field or misuses one: {why}.") from error
            if self.prompts is not None:
                self.prompts.of(found)
            if not self.keep_prompts:
                found.prompt = None
            rows += 1
            yield found
        if part is not None:
            self.parts[config].append(rows)

    @property
    def model(self) -> str | None:
        """The model's name, where the file, its path or another file beside it tells it."""
        return self._reader.model if self._reader else None

    @property
    def run(self) -> str:
        """What the files of one run have in common, once the file was read."""
        if self.form is None or self._reader is None:
            return str(self.file.parent)
        return " ".join(
            filter(None, (run_id(self.form, self.file), self._reader.told.get("again")))
        )

    def _before(self, part: int, config: str) -> int:
        """How many rows the parts before this one have. Raises RulerError where one is missing."""
        before = self.parts.setdefault(config, [])
        if part != len(before):
            raise RulerError(
                f"'{self.file}' is part {part} of {config}, whose rows are numbered on from the "
                "parts before it: give all parts, each once and in order, or their folder."
            )
        return sum(before)

    def _records(self, damaged: list[str]) -> Records:
        if self.file.suffix == ".parquet":
            return parquet_records(self.file, self._columns)
        lists = [form.records for form in forms() if form.records]
        return records_of(self.file, damaged, lists)

    def _opened(self, record: Any) -> FormReader:
        """The reader of the form that the first record tells."""
        if self.form is None:
            held = record if isinstance(record, Mapping) else {}
            self.form = self._known((form for form in forms() if form.fits(record)), held)
        self._reader = FormReader(self.form, self.file, self.naming, self.keep_prompts)
        return self._reader

    def _columns(self, names: Collection[str]) -> Iterable[str]:
        if self.form is None:
            held = {name.partition(".")[0] for name in names}
            fitting = (form for form in forms() if form.fits_columns(names))
            self.form = self._known(fitting, held)
        return self.form.columns(names)

    def _known(self, fitting: Iterator[Form], held: Iterable[Any]) -> Form:
        form = next(fitting, None)
        if form is None:
            names = ", ".join(sorted(map(str, held))) or "no fields"
            raise RulerError(
                f"'{self.file}' is of no known format: its lines hold {names}. The simplest line "
                f"is {SIMPLEST}; of any other file, say which columns to read, such as --columns "
                "prediction=answer,index=id."
            )
        if form.refused is not None:
            raise RulerError(form.refused.replace("{file}", str(self.file)))
        return form


def run_id(form: Form, file: Path) -> str:
    """What the files of one run have in common: the folder above them, and the model."""
    told = {**form.of_path(file), **beside(form, file)}
    model = form.label(told)
    if form.run == "model" and model:
        return model
    return " ".join(filter(None, (str(told["run"]), model)))
