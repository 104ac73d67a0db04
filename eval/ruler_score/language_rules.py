"""List the words of ONERULER's 26 languages that scoring needs.

    LANGUAGES["pl"].none        # ('brak',)

The table is copied from ruler_common/languages/*.toml, which have the sources, so that the metric
needs no other files. Change the words there, then run `python -m docs.embed_languages`.
"""

from __future__ import annotations

from typing import NamedTuple


class LanguageRules(NamedTuple):
    """The words that scoring reads in the answers of a language."""

    tags: tuple[str, ...]
    """The tags that may enclose an answer; the published one is the first."""
    conjunctions: tuple[str, ...]
    """The words for "and"."""
    none: tuple[str, ...]
    """The prompt's word for "none", in each of its spellings."""
    none_forms: tuple[str, ...]
    """Other forms of that word."""
    none_exceptions: tuple[str, ...] = ()
    """Words, or beginnings of words, that contain a form but do not mean "none"."""
    touching: bool = False
    """Whether words are written without spaces, or with endings attached."""
    may_precede: tuple[str, ...] = ()
    """If `touching`: particles that may touch the word after them."""
    may_follow: tuple[str, ...] = ()
    """If `touching`: particles that may touch the word before them, if no letter follows."""
    fold: tuple[tuple[int, str], ...] = ()
    """Equal letters: a code point, and the letter it is replaced by before case folding."""


LANGUAGES: dict[str, LanguageRules] = {
    "cs": LanguageRules(
        tags=("Odpověď",),
        conjunctions=("a",),
        none=("žádné",),
        none_forms=("žádný", "žádná", "žádní", "žádnou", "žádných",),
        none_exceptions=("žádné tušení",),
    ),
    "da": LanguageRules(
        tags=("Svar",),
        conjunctions=("og",),
        none=("ingen",),
        none_forms=("intet",),
        none_exceptions=("ingen anelse", "ingen idé",),
    ),
    "de": LanguageRules(
        tags=("Antwort",),
        conjunctions=("und", "sowie",),
        none=("Keine vorhanden",),
        none_forms=("keine", "kein", "keinen", "keinem", "keiner", "keines", "keins",),
        none_exceptions=("keine Ahnung",),
    ),
    "en": LanguageRules(
        tags=("Answer",),
        conjunctions=("and",),
        none=("none",),
        none_forms=("no",),
        none_exceptions=("no idea", "no clue", "no doubt",),
    ),
    "es": LanguageRules(
        tags=("Respuesta",),
        conjunctions=("y", "e",),
        none=("ninguno",),
        none_forms=("ninguna", "ningún", "ningunos", "ningunas",),
        none_exceptions=("ninguna idea", "ninguna duda",),
    ),
    "fa": LanguageRules(
        tags=("پاسخ",),
        conjunctions=("و",),
        none=("هیچ کدام", "هیچ\u200cکدام",),
        none_forms=("هیچ", "هیچ\u200cیک", "هیچ\u200cکدوم",),
    ),
    "fi": LanguageRules(
        tags=("Vastaus",),
        conjunctions=("ja", "sekä",),
        none=("ei mikään",),
        none_forms=("ei mitään", "ei mitkään", "eivät", "ei",),
        none_exceptions=("ei tietoa", "ei aavistusta",),
    ),
    "fr": LanguageRules(
        tags=("Réponse",),
        conjunctions=("et",),
        none=("aucun",),
        none_forms=("aucune", "aucuns", "aucunes",),
        none_exceptions=("aucune idée", "aucun doute",),
    ),
    "hi": LanguageRules(
        tags=("उत्तर",),
        conjunctions=("और", "तथा", "एवं",),
        none=("कोई नहीं",),
        none_forms=("कोई भी नहीं", "नही", "नहीं",),
        none_exceptions=(
            "नहीं पता", "पता नहीं", "नहीं जानत", "नहीं मालूम", "मालूम नहीं", "नहीं सक",
        ),
    ),
    "hu": LanguageRules(
        tags=("Válasz",),
        conjunctions=("és", "valamint",),
        none=("nincs",),
        none_forms=("nincsen", "nincsenek",),
    ),
    "it": LanguageRules(
        tags=("Risposta",),
        conjunctions=("e", "ed",),
        none=("nessuno",),
        none_forms=("nessuna", "nessun", "nessun'",),
        none_exceptions=("nessuna idea", "nessun dubbio",),
    ),
    "ja": LanguageRules(
        tags=("答え",),
        conjunctions=("と", "および",),
        none=("なし",),
        none_forms=("無し", "ナシ", "ない", "無い", "ありません", "ございません",),
        none_exceptions=(
            "おはなし", "ばなし", "ぱなし", "みなし", "間違いなし", "疑いなし", "問題なし",
            "異論なし", "文句なし", "ではない", "じゃない", "ではありません", "じゃありません",
            "くありません", "かない", "きない", "けない", "さない", "しない", "せない", "たない",
            "てない", "らない", "りない", "れない", "わない", "えない", "いない", "くない",
            "まない", "みない", "めない", "べない", "ばない", "少ない", "危ない", "間違いない",
        ),
        touching=True,
        may_precede=("は",),
        may_follow=("です", "でした", "だ", "である",),
    ),
    "ko": LanguageRules(
        tags=("답변",),
        conjunctions=("와", "과", "및", "그리고",),
        none=("없음",),
        none_forms=("없다", "없습니다", "없어요", "없네요", "없는", "없었다", "없었습니다",),
        none_exceptions=(
            "틀림없", "문제없", "상관없", "관계없", "의심없", "다름없", "빈틈없", "재미없", "수 없",
            "수없", "없음직",
        ),
        touching=True,
        may_follow=("입니다", "이다", "이에요", "예요",),
    ),
    "nl": LanguageRules(
        tags=("Antwoord",),
        conjunctions=("en",),
        none=("geen",),
        none_forms=("geeneen",),
        none_exceptions=("geen idee", "geen twijfel",),
    ),
    "no": LanguageRules(
        tags=("Svar",),
        conjunctions=("og",),
        none=("ingen",),
        none_forms=("intet", "inga",),
        none_exceptions=("ingen anelse", "ingen idé",),
    ),
    "pl": LanguageRules(
        tags=("odpowiedź",),
        conjunctions=("i", "oraz",),
        none=("brak",),
        none_forms=("braku", "braki",),
    ),
    "pt": LanguageRules(
        tags=("Resposta",),
        conjunctions=("e",),
        none=("nenhum",),
        none_forms=("nenhuma", "nenhuns", "nenhumas",),
        none_exceptions=("nenhuma ideia", "nenhuma dúvida",),
    ),
    "ru": LanguageRules(
        tags=("Ответ",),
        conjunctions=("и", "а", "также",),
        none=("нет",),
        none_forms=("нету",),
        fold=((1025, "Е"), (1105, "е"),),
    ),
    "sr": LanguageRules(
        tags=("Odgovor", "Одговор",),
        conjunctions=("i", "и",),
        none=("nema", "нема",),
        none_forms=("nemaju", "немају",),
    ),
    "st": LanguageRules(
        tags=("Karabo",),
        conjunctions=("le",),
        none=("ha ho letho",),
        none_forms=("ha ho", "ha hona",),
        none_exceptions=("ha ho pelaelo", "ha ho tsejwe",),
    ),
    "sv": LanguageRules(
        tags=("Svar",),
        conjunctions=("och", "samt",),
        none=("inga",),
        none_forms=("ingen", "inget",),
        none_exceptions=("ingen aning", "inga problem",),
    ),
    "sw": LanguageRules(
        tags=("Jibu",),
        conjunctions=("na",),
        none=("hakuna",),
        none_forms=("hapana", "hamuna", "hamna",),
    ),
    "ta": LanguageRules(
        tags=("விடை",),
        conjunctions=("மற்றும்",),
        none=("ஏதுமில்லை",),
        none_forms=("ஏதும் இல்லை", "எதுவுமில்லை", "எதுவும் இல்லை", "இல்லை",),
    ),
    "uk": LanguageRules(
        tags=("Відповідь",),
        conjunctions=("і", "й", "та", "а", "також",),
        none=("немає",),
        none_forms=("нема",),
    ),
    "vi": LanguageRules(
        tags=("Câu trả lời",),
        conjunctions=("và",),
        none=("Không có",),
        none_forms=("không", "chẳng có",),
        none_exceptions=("không biết", "không rõ", "không chắc", "không thể",),
    ),
    "zh": LanguageRules(
        tags=("答案",),
        conjunctions=("和", "与", "及", "以及",),
        none=("无",),
        none_forms=("無", "没有", "沒有",),
        none_exceptions=(
            "无法", "無法", "无锡", "无数", "無數", "无关", "無關", "无论", "無論", "无疑", "無疑",
            "无限", "無限", "无线", "无聊", "无意", "无效", "无奈", "无辜", "无名", "无非", "无比",
            "无情", "无知", "无需", "無需", "无须", "无视", "无所", "无处", "虚无", "有无",
            "有没有", "有沒有", "没有关系", "没有问题", "没有足够",
        ),
        touching=True,
        may_precede=("是", "为", "為", "有", "中", "内", "里",),
    ),
}  # fmt: skip
"""By ISO 639-1."""
