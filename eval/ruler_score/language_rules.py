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
    """Other sentences that only say "none": its inflections, "none of them", "nothing"."""
    negators: tuple[str, ...] = ()
    """The words for "no", which say "none" only as the whole answer."""
    introductions: tuple[str, ...] = ()
    """What may come before the word for "none" in its sentence: "the answer is"."""
    no_numbers: tuple[str, ...] = ()
    """The sentences that say "there are no such numbers", with {} for one of `numbers`."""
    numbers: tuple[str, ...] = ()
    """What the numbers may be called: "such numbers"."""
    places: tuple[str, ...] = ()
    """What may be added to such a sentence: "in the text"."""
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
        none_forms=(
            "žádný", "žádná", "žádní", "žádnou", "žádných", "vůbec žádné", "ani jedno",
            "žádné z nich", "žádné z těchto", "nic", "vůbec nic",
        ),
        negators=("ne", "nikoli", "nikoliv",),
        introductions=(
            "odpověď", "odpověď je", "odpověď zní", "moje odpověď je", "správná odpověď je",
            "konečná odpověď je",
        ),
        no_numbers=(
            "nejsou žádné", "žádné nejsou", "žádné tam nejsou", "nejsou tam žádné", "není žádné",
            "žádné takové", "žádné takové nejsou", "žádná taková nejsou", "žádná {}",
            "žádná {} neexistují", "{} neexistují", "neexistují {}", "neexistují žádná {}",
            "nejsou žádná {}", "žádná {} nejsou", "{} nejsou", "nejsou {}", "žádná {} tam nejsou",
            "{} tam nejsou", "žádné číslo", "žádné takové číslo", "žádné takové číslo neexistuje",
            "takové číslo neexistuje", "není žádné číslo", "není žádné takové číslo",
            "{} nejsou žádná", "žádné není", "žádné takové číslo není", "takové číslo není",
            "není takové číslo", "nejsou tu žádné", "žádné tu nejsou", "žádné číslo není",
            "žádné neexistují", "žádné neexistuje", "neexistují žádné", "neexistuje žádné",
            "neexistují", "neexistuje",
        ),
        numbers=(
            "čísla", "taková čísla", "kouzelná čísla", "speciální kouzelná čísla",
            "taková kouzelná čísla", "taková speciální kouzelná čísla",
        ),
        places=(
            "v textu", "v poskytnutém textu", "v uvedeném textu", "v daném textu", "v tomto textu",
        ),
    ),
    "da": LanguageRules(
        tags=("Svar",),
        conjunctions=("og",),
        none=("ingen",),
        none_forms=(
            "intet", "slet ingen", "overhovedet ingen", "ikke en eneste", "ingen af dem",
            "ingen af disse", "ingenting", "slet ingenting", "slet intet",
        ),
        negators=("nej",),
        introductions=(
            "svar", "svaret er", "svaret lyder", "mit svar er", "det rigtige svar er",
            "det endelige svar er",
        ),
        no_numbers=(
            "der er ingen", "der findes ingen", "der er ikke nogen", "ingen sådanne",
            "der er ingen sådanne", "der er intet", "ingen {}", "der er ingen {}",
            "der findes ingen {}", "der eksisterer ingen {}", "{} findes ikke", "ingen {} findes",
            "{} eksisterer ikke", "der er ikke nogen {}", "der findes ikke nogen {}",
            "de tal findes ikke", "intet tal", "intet sådant tal", "der er intet tal",
            "der er intet sådant tal", "er der ingen {}", "er der ingen", "findes der ingen {}",
            "findes der ingen", "er der ikke nogen {}", "der er ikke noget", "der findes intet",
            "der er ikke noget {}", "der findes ikke noget {}", "der er ikke noget sådant tal",
            "der findes ikke noget sådant tal", "der eksisterer ingen", "ingen findes",
            "ingen eksisterer", "de findes ikke", "de eksisterer ikke",
        ),
        numbers=(
            "tal", "sådanne tal", "magiske tal", "særlige magiske tal", "sådanne magiske tal",
            "sådanne særlige magiske tal", "numre", "sådanne numre",
        ),
        places=("i teksten", "i den givne tekst", "i den angivne tekst", "i denne tekst",),
    ),
    "de": LanguageRules(
        tags=("Antwort",),
        conjunctions=("und", "sowie",),
        none=("Keine vorhanden",),
        none_forms=(
            "keine", "kein", "keinen", "keinem", "keiner", "keines", "keins", "gar keine",
            "überhaupt keine", "keine einzige", "keine davon", "keine von ihnen",
            "keine von diesen", "keine von diesen allen", "nichts", "gar nichts",
            "überhaupt nichts",
        ),
        negators=("nein",),
        introductions=(
            "antwort", "die antwort ist", "die antwort lautet", "die antwort wäre",
            "meine antwort ist", "meine antwort lautet", "die richtige antwort ist",
            "die richtige antwort lautet", "die endgültige antwort ist",
            "die endgültige antwort lautet",
        ),
        no_numbers=(
            "es gibt keine", "es gibt keine davon", "keine solchen", "es gibt keine solchen",
            "es sind keine vorhanden", "sind keine vorhanden", "es ist keine vorhanden",
            "da sind keine", "keine {}", "es gibt keine {}", "es existieren keine {}",
            "{} existieren nicht", "{} gibt es nicht", "keine {} vorhanden",
            "es sind keine {} vorhanden", "da sind keine {}", "keine Zahl", "keine solche Zahl",
            "es gibt keine Zahl", "es gibt keine solche Zahl", "es existiert keine solche Zahl",
            "gibt es keine {}", "gibt es keine", "gibt es keine solchen", "sind keine {} vorhanden",
            "sind keine {}", "existieren keine {}", "gibt es keine Zahl",
            "gibt es keine solche Zahl", "es gibt da keine", "da gibt es keine",
            "es existieren keine", "es existiert keine", "keine existieren", "sie existieren nicht",
            "es gibt sie nicht", "die gibt es nicht",
        ),
        numbers=(
            "Zahlen", "solche Zahlen", "solchen Zahlen", "derartige Zahlen", "derartigen Zahlen",
            "magische Zahlen", "magischen Zahlen", "besonderen magischen Zahlen",
            "besondere magische Zahlen", "solchen magischen Zahlen",
        ),
        places=(
            "im Text", "im bereitgestellten Text", "im gegebenen Text", "in dem Text",
            "in diesem Text", "im vorliegenden Text",
        ),
    ),
    "en": LanguageRules(
        tags=("Answer",),
        conjunctions=("and",),
        none=("none",),
        none_forms=(
            "none at all", "absolutely none", "not one", "not a single one", "not any",
            "none of them", "none of these", "none of those", "none of the above", "nothing",
            "nothing at all", "absolutely nothing",
        ),
        negators=("no", "nope",),
        introductions=(
            "answer", "the answer is", "my answer is", "the correct answer is",
            "the final answer is", "final answer", "so the answer is", "the answer would be",
        ),
        no_numbers=(
            "there are none", "there is none", "there's none", "there aren't any",
            "there are not any", "there are none at all", "none such", "there are none such",
            "there is nothing", "no {}", "there are no {}", "there is no {}", "no {} exist",
            "no {} exists", "{} do not exist", "{} don't exist", "there exist no {}",
            "there aren't any {}", "there are not any {}", "there isn't any", "there is not any",
            "isn't any", "aren't any", "there isn't any {}", "there is not any {}",
            "there isn't one", "there is not one", "there is none of them",
            "there are none of them", "there aren't any of them", "none exist", "none exists",
            "there exist none", "there exists none", "there exists no {}", "they do not exist",
            "they don't exist",
        ),
        numbers=(
            "numbers", "such numbers", "number", "such number", "magic numbers",
            "special magic numbers", "such magic numbers", "such special magic numbers",
            "magic number", "special magic number",
        ),
        places=(
            "in the text", "in the provided text", "in the given text", "in this text",
            "in the passage", "in the book",
        ),
    ),
    "es": LanguageRules(
        tags=("Respuesta",),
        conjunctions=("y", "e",),
        none=("ninguno",),
        none_forms=(
            "ninguna", "ningún", "ningunos", "ningunas", "absolutamente ninguno",
            "ninguno en absoluto", "ni uno", "ni uno solo", "ninguno de ellos", "ninguno de estos",
            "ninguno de esos", "ninguna de ellas", "nada", "nada en absoluto", "absolutamente nada",
        ),
        negators=("no",),
        introductions=(
            "respuesta", "la respuesta es", "mi respuesta es", "la respuesta correcta es",
            "la respuesta final es", "la respuesta sería",
        ),
        no_numbers=(
            "no hay", "no hay ninguno", "no hay ninguna", "no hay ningunos", "no hay nada",
            "no existe ninguno", "ninguno así", "no hay {}", "no existen {}", "{} no existen",
            "ningún número", "ningún número mágico", "ningún número así", "ningún tal número",
            "no hay ningún número", "no hay ningún número mágico", "no hay ningún número así",
            "no existe ningún número", "no hay tal número", "no existe tal número",
            "no existe ningún número así", "no hay ninguno de ellos", "no existe ninguno de ellos",
            "ninguno existe", "no existen ningunos", "no existe", "no existen",
        ),
        numbers=(
            "números", "tales números", "esos números", "dichos números", "números así",
            "números mágicos", "números mágicos especiales", "tales números mágicos",
        ),
        places=("en el texto", "en el texto proporcionado", "en el texto dado", "en este texto",),
    ),
    "fa": LanguageRules(
        tags=("پاسخ",),
        conjunctions=("و",),
        none=("هیچ کدام", "هیچ\u200cکدام",),
        none_forms=(
            "هیچ", "هیچ\u200cیک", "هیچ\u200cکدوم", "هیچ کدام از آن\u200cها", "هیچ کدام از آنها",
            "هیچ کدام از این\u200cها", "هیچ کدام از اینها", "هیچ یک از آن\u200cها",
            "هیچ یک از آنها", "هیچ یک از اینها", "هیچ یک از موارد بالا", "هیچ چیز", "هیچ چیزی",
            "هیچی", "اصلاً هیچ",
        ),
        negators=("نه", "خیر", "نخیر", "نه خیر",),
        introductions=(
            "پاسخ", "پاسخ این است", "پاسخ من", "پاسخ صحیح", "پاسخ درست", "پاسخ نهایی", "جواب",
            "جواب این است",
        ),
        no_numbers=(
            "هیچ کدام نیست", "هیچ کدام نیستند", "هیچ کدام است", "هیچ کدام وجود ندارد",
            "هیچ کدام وجود ندارند", "هیچ یک وجود ندارد", "چیزی وجود ندارد", "هیچ چیزی وجود ندارد",
            "هیچ چیز نیست", "هیچی نیست", "{} وجود ندارد", "{} وجود ندارند", "هیچ {} وجود ندارد",
            "هیچ {} وجود ندارند", "هیچ {}", "هیچ {} نیست", "{} نیست", "هیچ {} نداریم", "وجود ندارد",
            "وجود ندارند", "آن\u200cها وجود ندارند", "آنها وجود ندارند",
        ),
        numbers=(
            "عددی", "عدد", "اعدادی", "چنین عددی", "چنین اعدادی", "عدد جادویی", "عدد جادویی خاصی",
            "عدد خاصی", "چنین عدد جادویی", "شماره\u200cای",
        ),
        places=(
            "در متن", "در متن ارائه شده", "در متن ارائه\u200cشده", "در متن داده شده", "در این متن",
        ),
    ),
    "fi": LanguageRules(
        tags=("Vastaus",),
        conjunctions=("ja", "sekä",),
        none=("ei mikään",),
        none_forms=(
            "ei mitään", "ei mitkään", "ei yhtään", "ei yhtäkään", "ei ainuttakaan", "ei ainoakaan",
            "ei lainkaan", "ei yhtään mitään", "ei mikään niistä", "ei mikään näistä",
            "ei mitkään niistä", "ei yksikään", "ei yksikään niistä",
        ),
        negators=("ei", "eivät",),
        introductions=(
            "vastaus", "vastaus on", "vastaukseni on", "oikea vastaus on", "lopullinen vastaus on",
            "vastaus kuuluu",
        ),
        no_numbers=(
            "niitä ei ole", "ei niitä ole", "ei ole mitään", "ei ole yhtään", "ei ole yhtäkään",
            "sellaisia ei ole", "tällaisia ei ole", "ei sellaisia ole", "ei ole sellaisia",
            "ei ole", "ei {}", "{} ei ole", "ei ole {}", "{} ei ole olemassa", "ei ole olemassa {}",
            "ei ole mitään {}", "ei mitään {}", "ei numeroa", "ei yhtään numeroa", "numeroa ei ole",
            "tällaista numeroa ei ole", "sellaista numeroa ei ole", "ei ole sellaista numeroa",
            "ei ole yhtään numeroa", "ei ole tällaista numeroa", "ei ole yhtään {}",
            "yhtään {} ei ole", "ei ole yhtään tällaista numeroa",
            "ei ole yhtään sellaista numeroa", "yhtään ei ole", "yhtään ei ole olemassa",
            "niitä ei ole olemassa", "ei ole olemassa", "sellaisia ei ole olemassa",
        ),
        numbers=(
            "numeroita", "tällaisia numeroita", "sellaisia numeroita", "lukuja", "tällaisia lukuja",
            "sellaisia lukuja", "näitä numeroita", "taikanumeroita", "taikalukuja",
            "erityisiä taikanumeroita", "tällaisia taikanumeroita",
            "tällaisia erityisiä taikanumeroita",
        ),
        places=("tekstissä", "annetussa tekstissä", "tässä tekstissä",),
    ),
    "fr": LanguageRules(
        tags=("Réponse",),
        conjunctions=("et",),
        none=("aucun",),
        none_forms=(
            "aucune", "aucuns", "aucunes", "absolument aucun", "aucun du tout", "pas un seul",
            "pas un", "aucun d'entre eux", "aucun d'eux", "aucun de ceux-ci", "aucun de ceux-là",
            "rien", "rien du tout", "absolument rien",
        ),
        negators=("non",),
        introductions=(
            "réponse", "la réponse est", "ma réponse est", "la bonne réponse est",
            "la réponse correcte est", "la réponse finale est", "la réponse serait",
        ),
        no_numbers=(
            "il n'y en a pas", "il n'y en a aucun", "il n'y en a aucune", "il n'en existe aucun",
            "il n'en existe pas", "il n'y a rien", "aucun de ce genre", "pas de {}",
            "il n'y a pas de {}", "il n'existe pas de {}", "de {} n'existent pas", "aucun nombre",
            "aucun numéro", "aucun tel nombre", "aucun nombre de ce type",
            "aucun nombre de ce genre", "aucun nombre magique", "il n'y a aucun nombre",
            "il n'y a aucun numéro", "il n'y a aucun tel nombre", "il n'y a aucun nombre magique",
            "il n'y a aucun nombre de ce type", "il n'existe aucun nombre",
            "il n'existe aucun tel nombre", "il n'existe aucun nombre de ce type",
            "il n'y en a aucun de ce type", "il n'existe aucun d'entre eux", "aucun n'existe",
            "aucune n'existe", "ils n'existent pas", "elles n'existent pas",
        ),
        numbers=(
            "nombres", "tels nombres", "nombres de ce type", "nombres magiques",
            "nombres magiques spéciaux", "numéros", "tels numéros", "numéros magiques",
            "tels nombres magiques",
        ),
        places=("dans le texte", "dans le texte fourni", "dans le texte donné", "dans ce texte",),
    ),
    "hi": LanguageRules(
        tags=("उत्तर",),
        conjunctions=("और", "तथा", "एवं",),
        none=("कोई नहीं",),
        none_forms=(
            "कोई भी नहीं", "कोई नही", "एक भी नहीं", "बिल्कुल कोई नहीं", "बिल्कुल नहीं",
            "उनमें से कोई नहीं", "उनमें से कोई भी नहीं", "इनमें से कोई नहीं",
            "इनमें से कोई भी नहीं", "कुछ नहीं", "कुछ भी नहीं", "बिल्कुल कुछ नहीं",
        ),
        negators=("नहीं", "नही", "जी नहीं", "जी नही", "ना", "नहीं जी",),
        introductions=(
            "उत्तर", "उत्तर है", "उत्तर यह है", "मेरा उत्तर", "मेरा उत्तर है", "सही उत्तर",
            "सही उत्तर है", "अंतिम उत्तर", "अंतिम उत्तर है", "जवाब", "जवाब है", "मेरा जवाब है",
        ),
        no_numbers=(
            "कोई नहीं है", "कोई नहीं हैं", "कोई भी नहीं है", "कोई भी नहीं हैं", "कुछ नहीं है",
            "कुछ भी नहीं है", "एक भी नहीं है", "ऐसा कोई नहीं", "ऐसी कोई नहीं", "ऐसा कोई नहीं है",
            "ऐसी कोई नहीं है", "ऐसा कुछ नहीं है", "कोई {} नहीं", "कोई {} नहीं है",
            "कोई {} नहीं हैं", "कोई भी {} नहीं", "कोई भी {} नहीं है", "ऐसी कोई {} नहीं",
            "ऐसी कोई {} नहीं है", "ऐसी कोई {} नहीं हैं", "ऐसी कोई भी {} नहीं है",
            "ऐसा कोई {} नहीं है", "ऐसे कोई {} नहीं हैं", "कोई ऐसी {} नहीं है", "ऐसी {} नहीं हैं",
            "ऐसी {} नहीं है", "कोई {} मौजूद नहीं है", "ऐसी कोई {} मौजूद नहीं है",
            "ऐसे कोई {} मौजूद नहीं है", "ऐसी {} मौजूद नहीं हैं", "ऐसी {} मौजूद नहीं है",
            "ऐसी कोई भी {} मौजूद नहीं है", "ऐसी एक भी {} नहीं है", "एक भी {} नहीं है",
            "ऐसी एक भी {} नहीं", "कोई मौजूद नहीं है", "कोई भी मौजूद नहीं है", "एक भी मौजूद नहीं है",
            "वे मौजूद नहीं हैं", "ऐसा कुछ मौजूद नहीं है",
        ),
        numbers=(
            "संख्या", "संख्याएँ", "संख्याएं", "जादुई संख्या", "विशेष जादुई संख्या",
            "जादुई संख्याएँ", "नंबर", "अंक",
        ),
        places=(
            "पाठ में", "इस पाठ में", "दिए गए पाठ में", "प्रदान किए गए पाठ में", "टेक्स्ट में",
        ),
    ),
    "hu": LanguageRules(
        tags=("Válasz",),
        conjunctions=("és", "valamint",),
        none=("nincs",),
        none_forms=(
            "nincsen", "nincsenek", "egyáltalán nincs", "egyáltalán nincsenek", "egy sem",
            "egyetlen egy sem", "egyetlenegy sem", "egyik sem", "egyikük sem", "egyik sem közülük",
            "ezek közül egyik sem", "azok közül egyik sem", "semmi", "semmi sem",
        ),
        negators=("nem",),
        introductions=(
            "válasz", "a válasz", "a válasz az", "a válasz az hogy", "a válaszom",
            "a válaszom az hogy", "válaszom", "a helyes válasz", "a helyes válasz az hogy",
            "a végső válasz", "a végleges válasz",
        ),
        no_numbers=(
            "nincs ilyen", "ilyen nincs", "nincsenek ilyenek", "ilyenek nincsenek", "nincs egy sem",
            "egy sincs", "nincs semmi", "semmi sincs", "nincs egyetlen egy sem", "nincs {}",
            "nincsenek {}", "{} nincs", "{} nincsenek", "nem létezik {}", "nem léteznek {}",
            "{} nem létezik", "{} nem léteznek", "egyetlen {} sem", "nincs egyetlen {} sem",
            "egy {} sem", "nincs egy {} sem", "egy sem létezik", "nem létezik egy sem",
            "nem létezik", "nem léteznek", "ilyenek nem léteznek",
        ),
        numbers=(
            "szám", "számok", "ilyen szám", "ilyen számok", "varázsszám", "varázsszámok",
            "ilyen varázsszám", "ilyen varázsszámok", "különleges varázsszám",
            "különleges varázsszámok", "ilyen különleges varázsszám",
            "ilyen különleges varázsszámok",
        ),
        places=("a szövegben", "a megadott szövegben", "az adott szövegben", "ebben a szövegben",),
    ),
    "it": LanguageRules(
        tags=("Risposta",),
        conjunctions=("e", "ed",),
        none=("nessuno",),
        none_forms=(
            "nessuna", "nessun", "nessun'", "assolutamente nessuno", "proprio nessuno",
            "nemmeno uno", "neanche uno", "neppure uno", "nessuno di loro", "nessuno di essi",
            "nessuno di questi", "nessuno di quelli", "nessuna di esse", "niente", "nulla",
            "niente di niente", "assolutamente niente",
        ),
        negators=("no",),
        introductions=(
            "risposta", "la risposta è", "la mia risposta è", "la risposta corretta è",
            "la risposta giusta è", "la risposta finale è", "la risposta sarebbe",
        ),
        no_numbers=(
            "non ce n'è", "non ce ne sono", "non ve ne sono", "non ce n'è nessuno",
            "non ce n'è nessuna", "non ce n'è neanche uno", "non c'è niente", "non c'è nulla",
            "nessuno del genere", "non ci sono {}", "non esistono {}", "{} non esistono",
            "{} non ci sono", "nessun numero", "nessun numero magico", "nessun numero simile",
            "nessun numero del genere", "nessun tale numero", "non c'è nessun numero",
            "non c'è alcun numero", "non c'è nessun numero magico",
            "non c'è nessun numero del genere", "non esiste nessun numero",
            "non esiste alcun numero", "non esiste un tale numero",
            "non esiste nessun numero del genere", "non ne esistono", "non ne esiste nessuno",
            "non ne esiste", "nessuno esiste", "non esistono", "non esiste",
        ),
        numbers=(
            "numeri", "tali numeri", "questi numeri", "numeri simili", "numeri del genere",
            "numeri di questo tipo", "numeri magici", "numeri magici speciali",
            "tali numeri magici",
        ),
        places=("nel testo", "nel testo fornito", "nel testo dato", "in questo testo",),
    ),
    "ja": LanguageRules(
        tags=("答え",),
        conjunctions=("と", "および",),
        none=("なし",),
        none_forms=(
            "無し", "ナシ", "ない", "無い", "ありません", "ございません", "なしです", "無しです",
            "なしだ", "なしである", "なしでございます", "ないです", "無いです", "ありませんでした",
            "全くない", "まったくない", "全くありません", "まったくありません", "一つもない",
            "ひとつもない", "一つもありません", "ひとつもありません", "一つもなし", "どれもない",
            "どれもありません", "いずれもない", "いずれもありません", "いずれもなし",
            "いずれも該当なし", "どれも該当なし", "何もない", "何もありません", "何もございません",
            "何もなし", "なにもない", "なにもありません",
        ),
        negators=("いいえ", "いえ", "いや",),
        introductions=(
            "答え", "答えは", "お答えは", "回答", "回答は", "解答は", "私の答えは", "私の回答は",
            "正解は", "正しい答えは", "最終的な答えは", "最終回答は", "したがって答えは",
        ),
        no_numbers=(
            "特になし", "特に無し", "特になしです", "特にない", "特にありません",
            "特にございません", "該当なし", "該当無し", "該当なしです", "該当ありません",
            "該当はありません", "該当はない", "該当するものなし", "該当するものはない",
            "該当するものはなし", "該当するものはありません", "該当するものがありません",
            "該当するものはございません", "そのようなものはない", "そのようなものはありません",
            "そのようなものはございません", "{}なし", "{}はなし", "{}は特になし", "{}はない",
            "{}がない", "{}は無い", "{}はありません", "{}がありません", "{}はございません",
            "{}はありませんでした", "{}がありませんでした", "{}は存在しない", "{}は存在しません",
            "{}が存在しない", "{}が存在しません", "{}は一つもない", "{}は一つもありません",
            "{}は何もありません", "一つも存在しない", "一つも存在しません", "存在しない",
            "存在しません", "存在しないです", "{}は一つも存在しません",
        ),
        numbers=(
            "数字", "そのような数字", "このような数字", "該当する数字", "該当数字", "魔法の数字",
            "特別な魔法の数字", "そのような魔法の数字", "該当する魔法の数字", "関連する数字",
            "番号", "数",
        ),
        places=(
            "テキストに", "テキストには", "テキストの中に", "テキストの中には", "テキスト中に",
            "テキスト中には", "本文に", "本文には", "本文中には", "文中に", "文中には", "文章に",
            "文章には", "この文章には", "このテキストには", "提供されたテキストには",
            "上記のテキストには", "上記のテキストの中には", "与えられたテキストには",
        ),
        touching=True,
        may_precede=("は",),
        may_follow=("です", "でした", "だ", "である",),
    ),
    "ko": LanguageRules(
        tags=("답변",),
        conjunctions=("와", "과", "및", "그리고",),
        none=("없음",),
        none_forms=(
            "없다", "없습니다", "없어요", "없네요", "없었다", "없었습니다", "없음입니다",
            "없음이다", "없음이에요", "없었음", "없었어요", "없답니다", "없지요", "없죠", "없어",
            "전혀 없음", "전혀 없다", "전혀 없습니다", "전혀 없어요", "하나도 없음", "하나도 없다",
            "하나도 없습니다", "하나도 없어요", "이 중 없음", "이 중에 없음", "이 중에는 없습니다",
            "이 중에 없습니다", "그중에 없음", "그중에 없습니다", "그중에는 없습니다",
            "이 중 아무것도 없음", "그중 아무것도 없습니다", "그중 하나도 없습니다",
            "그중 하나도 없음", "아무것도 없음", "아무것도 없다", "아무것도 없습니다",
            "아무것도 없어요",
        ),
        negators=("아니", "아니요", "아니오", "아뇨", "아닙니다",),
        introductions=(
            "답", "답은", "답변", "답변은", "정답", "정답은", "대답", "대답은", "제 답은",
            "제 답변은", "제 대답은", "최종 답은", "최종 답변", "최종 답변은",
            "최종 답변은 다음과 같습니다",
        ),
        no_numbers=(
            "해당 없음", "해당 없습니다", "해당 없음입니다", "해당 사항 없음", "해당 사항 없습니다",
            "해당 사항이 없습니다", "해당 사항 없음입니다", "해당하는 것 없음",
            "해당하는 것이 없음", "해당하는 것이 없습니다", "해당하는 것은 없습니다",
            "해당되는 것이 없습니다", "그런 것 없음", "그런 것은 없음", "그런 것은 없다",
            "그런 것은 없습니다", "그런 것은 없어요", "{} 없음", "{} 없습니다", "{}가 없음",
            "{}는 없음", "{}가 없다", "{}는 없다", "{}가 없습니다", "{}는 없습니다", "{}가 없어요",
            "{}는 없어요", "{}가 존재하지 않는다", "{}는 존재하지 않는다", "{}가 존재하지 않습니다",
            "{}는 존재하지 않습니다", "{}가 하나도 없습니다", "{}는 하나도 없습니다",
            "{}가 전혀 없습니다", "{}는 전혀 없습니다", "{}들은 없습니다", "{}들이 없습니다",
            "{}가 없었습니다", "하나도 존재하지 않습니다", "하나도 존재하지 않는다",
            "존재하지 않습니다", "존재하지 않는다", "존재하지 않음", "존재하지 않아요",
        ),
        numbers=(
            "숫자", "그런 숫자", "그러한 숫자", "이러한 숫자", "해당 숫자", "해당하는 숫자",
            "해당되는 숫자", "마법의 숫자", "특별한 마법의 숫자", "그런 마법의 숫자",
            "해당하는 마법의 숫자", "해당되는 마법의 숫자",
        ),
        places=(
            "글에", "글에는", "이 글에는", "주어진 글에", "주어진 글에는", "본문에", "본문에는",
            "텍스트에", "텍스트에는", "제공된 글에는", "제공된 텍스트에는", "주어진 텍스트에는",
        ),
        touching=True,
        may_follow=("입니다", "이다", "이에요", "예요",),
    ),
    "nl": LanguageRules(
        tags=("Antwoord",),
        conjunctions=("en",),
        none=("geen",),
        none_forms=(
            "geeneen", "geen enkele", "geen enkel", "helemaal geen", "absoluut geen", "niet één",
            "niet een", "geen één", "geen van hen", "geen van deze", "geen van die",
            "geen van alle", "geen van allen", "geen ervan", "geen daarvan", "niets",
            "helemaal niets", "niks", "helemaal niks",
        ),
        negators=("nee", "neen",),
        introductions=(
            "antwoord", "het antwoord is", "het antwoord luidt", "mijn antwoord is",
            "het juiste antwoord is", "het correcte antwoord is", "het uiteindelijke antwoord is",
            "het definitieve antwoord is",
        ),
        no_numbers=(
            "er zijn er geen", "er is er geen", "er zijn geen", "er is geen",
            "er zijn er geen enkele", "er is er geen enkele", "er is niets", "geen dergelijke",
            "die zijn er niet", "geen {}", "er zijn geen {}", "er bestaan geen {}",
            "{} bestaan niet", "{} zijn er niet", "geen {} aanwezig", "er zijn geen {} aanwezig",
            "geen getal", "geen nummer", "geen enkel getal", "geen enkel nummer",
            "er is geen getal", "er is geen nummer", "er is geen dergelijk getal",
            "er is geen dergelijk nummer", "er is geen enkel getal", "zijn er geen {}",
            "zijn er geen", "zijn geen {}", "bestaan geen {}", "is er geen getal",
            "is er geen nummer", "er staan geen {}", "staan geen {}", "er staan er geen",
            "er bestaan er geen", "er bestaat er geen", "er bestaan geen", "geen bestaan",
            "ze bestaan niet", "die bestaan niet", "zij bestaan niet",
        ),
        numbers=(
            "nummers", "getallen", "dergelijke nummers", "dergelijke getallen", "zulke nummers",
            "zulke getallen", "magische nummers", "magische getallen", "speciale magische nummers",
            "speciale magische getallen", "zulke magische getallen",
        ),
        places=("in de tekst", "in de verstrekte tekst", "in de gegeven tekst", "in deze tekst",),
    ),
    "no": LanguageRules(
        tags=("Svar",),
        conjunctions=("og",),
        none=("ingen",),
        none_forms=(
            "intet", "inga", "slett ingen", "overhodet ingen", "ingen i det hele tatt",
            "ikke en eneste", "ikke noen", "ingen av dem", "ingen av disse", "ingen av de",
            "ingenting", "ingenting i det hele tatt", "ikke noe",
        ),
        negators=("nei",),
        introductions=(
            "svar", "svaret er", "svaret mitt er", "mitt svar er", "det riktige svaret er",
            "riktig svar er", "det endelige svaret er", "svaret lyder",
        ),
        no_numbers=(
            "det er ingen", "det finnes ingen", "det fins ingen", "det er ikke noen",
            "det finnes ikke noen", "ingen slike", "det er ingen slike", "det finnes ingen slike",
            "det er ingenting", "ingen {}", "det er ingen {}", "det finnes ingen {}",
            "det fins ingen {}", "{} finnes ikke", "ingen {} finnes", "det eksisterer ingen {}",
            "{} eksisterer ikke", "det er ikke noen {}", "det finnes ikke noen {}", "intet tall",
            "ikke noe tall", "intet slikt tall", "det er ikke noe slikt tall",
            "det finnes ikke noe slikt tall", "det finnes intet slikt tall", "er det ingen {}",
            "er det ingen", "finnes det ingen {}", "finnes det ingen", "er det ikke noen {}",
            "finnes det ikke noen {}", "det er ikke noe", "det finnes ikke noe",
            "det er ikke noe {}", "det finnes ikke noe {}", "det eksisterer ingen", "ingen finnes",
            "ingen eksisterer", "de finnes ikke", "de eksisterer ikke",
        ),
        numbers=(
            "tall", "slike tall", "magiske tall", "spesielle magiske tall", "slike magiske tall",
            "nummer", "slike nummer",
        ),
        places=("i teksten", "i den gitte teksten", "i den oppgitte teksten", "i denne teksten",),
    ),
    "pl": LanguageRules(
        tags=("odpowiedź",),
        conjunctions=("i", "oraz",),
        none=("brak",),
        none_forms=(
            "braku", "braki", "żadne", "żadna", "żaden", "żadnych", "żadnej", "żadnego",
            "całkowity brak", "zupełny brak", "ani jedna", "ani jednej", "ani jednego",
            "zupełnie żadne", "żadna z nich", "żadne z nich", "żaden z nich", "żadna z tych",
            "żadne z tych", "nic", "zupełnie nic", "nic a nic",
        ),
        negators=("nie",),
        introductions=(
            "odpowiedź", "odpowiedź to", "odpowiedź brzmi", "moja odpowiedź to",
            "moja odpowiedź brzmi", "prawidłowa odpowiedź to", "prawidłowa odpowiedź brzmi",
            "poprawna odpowiedź to", "poprawna odpowiedź brzmi", "ostateczna odpowiedź to",
            "ostateczna odpowiedź brzmi", "odpowiedzią jest",
        ),
        no_numbers=(
            "nie ma", "nie ma ich", "ich brak", "brak ich", "nie ma żadnych", "nie ma żadnej",
            "nie ma takich", "takich nie ma", "takich brak", "brak takich", "nie ma ani jednej",
            "nie ma nic", "nie ma niczego", "brak {}", "nie ma {}", "{} brak", "{} nie ma",
            "takie liczby nie istnieją", "nie istnieją takie liczby",
            "żadne takie liczby nie istnieją", "nie istnieją żadne takie liczby", "żadne liczby",
            "żadna liczba", "nie ma takiej liczby", "takiej liczby nie ma", "nie ma żadnej liczby",
            "nie ma żadnej takiej liczby", "taka liczba nie istnieje", "nie istnieją",
            "nie istnieje", "żadne nie istnieją", "żadna nie istnieje", "nie istnieje żadna",
            "nie istnieją żadne", "one nie istnieją", "nie ma żadnego", "nie ma ani jednego",
        ),
        numbers=(
            "liczb", "takich liczb", "tych liczb", "magicznych liczb",
            "specjalnych magicznych liczb", "takich magicznych liczb", "żadnych liczb",
            "żadnych takich liczb", "żadnych magicznych liczb",
        ),
        places=("w tekście", "w podanym tekście", "w tym tekście", "w dostarczonym tekście",),
    ),
    "pt": LanguageRules(
        tags=("Resposta",),
        conjunctions=("e",),
        none=("nenhum",),
        none_forms=(
            "nenhuma", "nenhuns", "nenhumas", "absolutamente nenhum", "nenhum mesmo", "nem um",
            "nem um único", "nem um só", "nenhum deles", "nenhum destes", "nenhum desses",
            "nenhuma delas", "nada", "nada mesmo", "absolutamente nada",
        ),
        negators=("não",),
        introductions=(
            "resposta", "a resposta é", "a minha resposta é", "minha resposta é",
            "a resposta correta é", "a resposta certa é", "a resposta final é", "a resposta seria",
        ),
        no_numbers=(
            "não há", "não há nenhum", "não há nenhuns", "não há nenhuma", "não existe nenhum",
            "não há nada", "não tem", "não tem nenhum", "nenhum assim", "não há {}",
            "não existem {}", "{} não existem", "não tem {}", "nenhum número",
            "nenhum número mágico", "nenhum tal número", "nenhum número assim",
            "nenhum número desse tipo", "não há nenhum número", "não há nenhum número mágico",
            "não há nenhum número assim", "não existe nenhum número", "não existe tal número",
            "não há tal número", "não há nenhum deles", "não existe nenhum deles",
            "não há nenhum número desse tipo", "não existe nenhum número desse tipo",
            "nenhum existe", "não existe", "não existem", "eles não existem",
        ),
        numbers=(
            "números", "tais números", "esses números", "números assim", "números desses",
            "números mágicos", "números mágicos especiais", "tais números mágicos",
        ),
        places=(
            "no texto", "no texto apresentado", "no texto fornecido", "no texto dado",
            "neste texto",
        ),
    ),
    "ru": LanguageRules(
        tags=("Ответ",),
        conjunctions=("и", "а", "также",),
        none=("нет",),
        none_forms=(
            "нету", "никаких", "никакие", "никакого", "никакое", "совсем нет", "вообще нет",
            "ни одного", "ни одно", "ни один", "нет ни одного", "ни одного нет", "нет вообще",
            "ни одно из них", "ни один из них", "ни одного из них", "никакие из них",
            "ни одно из этих", "ничего", "совсем ничего", "вообще ничего",
        ),
        introductions=(
            "ответ", "ответ такой", "ответ это", "ответ будет", "мой ответ", "правильный ответ",
            "верный ответ", "окончательный ответ", "итоговый ответ",
        ),
        no_numbers=(
            "нет таких", "таких нет", "их нет", "таковых нет", "нет никаких", "никаких нет",
            "ничего нет", "нет ничего", "такого нет", "нет {}", "{} нет", "нету {}", "{} нету",
            "не существует {}", "{} не существует", "не имеется {}", "{} не имеется",
            "нет такого числа", "такого числа нет", "такие числа не существуют", "ни одного числа",
            "нет ни одного числа", "ни одного числа нет", "нет ни одного такого числа",
            "ни одного такого числа нет", "ни одного не существует", "не существует",
            "их не существует", "таких не существует", "таковых не существует", "они не существуют",
            "не существует ни одного", "такого не существует",
        ),
        numbers=(
            "чисел", "таких чисел", "этих чисел", "волшебных чисел", "магических чисел",
            "особых волшебных чисел", "таких волшебных чисел", "никаких чисел",
            "никаких таких чисел", "никаких волшебных чисел",
        ),
        places=(
            "в тексте", "в предоставленном тексте", "в данном тексте", "в этом тексте",
            "в приведённом тексте",
        ),
        fold=((1025, "Е"), (1105, "е"),),
    ),
    "sr": LanguageRules(
        tags=("Odgovor", "Одговор",),
        conjunctions=("i", "и",),
        none=("nema", "нема",),
        none_forms=(
            "nemaju", "немају", "nijedan", "ниједан", "nijedna", "ниједна", "nijedno", "ниједно",
            "nijednog", "ниједног", "nikakvi", "никакви", "nikakvih", "никаквих", "uopšte nema",
            "уопште нема", "nema nijednog", "нема ниједног", "ni jedan", "ни један", "ni jedno",
            "ни једно", "ni jednog", "ни једног", "nema ni jednog", "нема ни једног",
            "nijedan od njih", "ниједан од њих", "nijedno od njih", "ниједно од њих",
            "nijedan od ovih", "ниједан од ових", "nijedan od tih", "ниједан од тих",
            "nijedan od navedenih", "ниједан од наведених", "ništa", "ништа", "baš ništa",
            "баш ништа", "apsolutno ništa", "апсолутно ништа",
        ),
        negators=("ne", "не",),
        introductions=(
            "odgovor", "odgovor je", "odgovor glasi", "moj odgovor je", "moj odgovor glasi",
            "tačan odgovor je", "ispravan odgovor je", "konačan odgovor je", "konačni odgovor je",
            "одговор", "одговор је", "одговор гласи", "мој одговор је", "мој одговор гласи",
            "тачан одговор је", "исправан одговор је", "коначан одговор је", "коначни одговор је",
        ),
        no_numbers=(
            "nema ih", "nema takvih", "takvih nema", "nema nikakvih", "nema ništa", "nema ničega",
            "ne postoji nijedan", "nema {}", "{} nema", "takvi brojevi ne postoje",
            "ne postoje takvi brojevi", "nijedan broj", "nijedan takav broj", "nema nijednog broja",
            "nema nijednog takvog broja", "nema takvog broja", "ne postoji takav broj",
            "ne postoje nikakvi brojevi", "нема их", "нема таквих", "таквих нема", "нема никаквих",
            "нема ништа", "нема ничега", "не постоји ниједан", "нема {}", "{} нема",
            "такви бројеви не постоје", "не постоје такви бројеви", "ниједан број",
            "ниједан такав број", "нема ниједног броја", "нема ниједног таквог броја",
            "нема таквог броја", "не постоји такав број", "не постоје никакви бројеви",
            "ne postoje nikakvi", "ne postoje", "ne postoji", "oni ne postoje", "takvi ne postoje",
            "nijedan ne postoji", "не постоје никакви", "не постоје", "не постоји",
            "они не постоје", "такви не постоје", "ниједан не постоји",
        ),
        numbers=(
            "brojeva", "takvih brojeva", "ovih brojeva", "magičnih brojeva",
            "posebnih magičnih brojeva", "takvih magičnih brojeva", "nikakvih brojeva",
            "nikakvih takvih brojeva", "бројева", "таквих бројева", "ових бројева",
            "магичних бројева", "посебних магичних бројева", "таквих магичних бројева",
            "никаквих бројева", "никаквих таквих бројева",
        ),
        places=(
            "u tekstu", "u datom tekstu", "u ovom tekstu", "u priloženom tekstu", "у тексту",
            "у датом тексту", "у овом тексту", "у приложеном тексту",
        ),
    ),
    "st": LanguageRules(
        tags=("Karabo",),
        conjunctions=("le",),
        none=("ha ho letho",),
        none_forms=(
            "ha ho", "ha hona", "ha ho letho ho hang", "ha ho le e nngwe", "ha ho le e 'ngoe",
            "ha ho le e le nngwe", "ha ho le ha e le nngwe", "ha ho le ha e le 'ngoe",
            "ha ho le e nngwe ya tsona", "ha ho le e 'ngoe ea tsona", "ha ho letho ho tsona",
            "ha ho e nngwe ya tsona", "letho", "ha ho ntho", "ha ho ntho efe kapa efe",
        ),
        negators=("tjhe", "tjhee", "che", "chee",),
        introductions=(
            "karabo", "karabo ke", "karabo ya ka ke", "karabo ea ka ke", "karabo ya me ke",
            "karabo e nepahetseng ke", "karabo ya ho qetela ke", "karabo ea ho qetela ke",
        ),
        no_numbers=(
            "ha ho na letho", "ha hona letho", "ha ho tse jwalo", "ha ho tse joalo", "ha ho {}",
            "ha ho na {}", "ha hona {}", "ha ho letho la {}", "dinomoro tse joalo ha di yo",
            "dinomoro tse jwalo ha di yo", "dinomoro ha di yo", "ha ho se na dinomoro tse joalo",
            "ha ho e teng", "ha ho tse teng", "ha di yo", "ha li eo", "ha di teng", "ha li teng",
        ),
        numbers=(
            "dinomoro", "dinomoro tse joalo", "dinomoro tse jwalo", "dinomoro tsa boselamose",
            "dinomoro tse kgethehileng", "dinomoro tse kgethehileng tsa boselamose", "linomoro",
            "linomoro tse joalo", "nomoro", "nomoro e joalo", "nomoro e jwalo",
        ),
        places=(
            "temaneng", "temaneng e fanoeng", "temaneng e fanweng", "temaneng ena", "mongolong",
        ),
    ),
    "sv": LanguageRules(
        tags=("Svar",),
        conjunctions=("och", "samt",),
        none=("inga",),
        none_forms=(
            "ingen", "inget", "inga alls", "absolut inga", "inte några", "inte en enda",
            "ingen alls", "inga av dem", "inga av dessa", "ingen av dem", "ingen av dessa",
            "ingenting", "ingenting alls", "inget alls", "inte något",
        ),
        negators=("nej",),
        introductions=(
            "svar", "svaret är", "svaret lyder", "svaret blir", "mitt svar är", "rätt svar är",
            "det rätta svaret är", "det korrekta svaret är", "det slutgiltiga svaret är",
        ),
        no_numbers=(
            "det finns inga", "det finns ingen", "det finns inte några", "inga sådana",
            "det finns inga sådana", "det är inga", "det finns inget", "det finns ingenting",
            "inga {}", "det finns inga {}", "det är inga {}", "{} finns inte", "inga {} finns",
            "det existerar inga {}", "{} existerar inte", "det finns inte några {}", "inget tal",
            "inget sådant tal", "det finns inget tal", "det finns inget sådant tal",
            "inget sådant tal finns", "finns det inga {}", "finns det inga", "finns inga {}",
            "finns inga", "finns det inte några {}", "det finns inte något",
            "det finns inte något {}", "det existerar inga", "inga finns", "inga existerar",
            "de finns inte", "de existerar inte",
        ),
        numbers=(
            "tal", "sådana tal", "magiska tal", "speciella magiska tal", "sådana magiska tal",
            "nummer", "siffror", "sådana nummer", "sådana siffror",
        ),
        places=(
            "i texten", "i den givna texten", "i den tillhandahållna texten",
            "i den angivna texten", "i denna text",
        ),
    ),
    "sw": LanguageRules(
        tags=("Jibu",),
        conjunctions=("na",),
        none=("hakuna",),
        none_forms=(
            "hamuna", "hamna", "hakuna kabisa", "hakuna hata moja", "hakuna hata mmoja",
            "hakuna hata kidogo", "hakuna kati yao", "hakuna kati yake", "hakuna kati ya hizo",
            "hakuna kati ya hizi", "hakuna miongoni mwao", "hakuna hata moja kati ya hizo",
            "hakuna kitu", "hakuna chochote", "hakuna kitu chochote", "hamna kitu", "si chochote",
        ),
        negators=("hapana", "la", "siyo", "sivyo",),
        introductions=(
            "jibu", "jibu ni", "jibu langu ni", "jibu sahihi ni", "jibu la mwisho ni",
            "jibu lake ni",
        ),
        no_numbers=(
            "hakuna yoyote", "hakuna zozote", "hakuna wowote", "hakuna kama hizo", "hakuna hizo",
            "hakuna {}", "{} hakuna", "hamna {}", "hakuna hata {}", "nambari kama hizo hazipo",
            "nambari hizo hazipo", "nambari hazipo", "hakuna iliyopo", "hakuna zilizopo",
            "hakuna inayopatikana", "hazipo", "haipo",
        ),
        numbers=(
            "nambari", "nambari kama hizo", "nambari kama hiyo", "nambari hizo", "nambari moja",
            "nambari yoyote", "nambari yoyote kama hiyo", "nambari zozote",
            "nambari zozote kama hizo", "nambari za namna hiyo", "nambari za maajabu",
            "nambari maalum", "nambari maalum za maajabu", "namba", "namba kama hizo",
            "namba yoyote",
        ),
        places=(
            "katika maandishi", "katika maandishi haya", "katika maandishi yaliyotolewa",
            "kwenye maandishi", "kwenye maandishi yaliyotolewa", "katika matini",
        ),
    ),
    "ta": LanguageRules(
        tags=("விடை",),
        conjunctions=("மற்றும்",),
        none=("ஏதுமில்லை",),
        none_forms=(
            "ஏதும் இல்லை", "எதுவுமில்லை", "எதுவும் இல்லை", "ஒன்று கூட இல்லை", "ஒன்றுகூட இல்லை",
            "எதுவுமே இல்லை", "எதுவுமேயில்லை", "ஏதுமே இல்லை", "அவற்றில் எதுவும் இல்லை",
            "அவற்றில் எதுவுமில்லை", "அவற்றில் ஏதுமில்லை", "அவற்றில் ஏதும் இல்லை",
            "இவற்றில் எதுவும் இல்லை", "இவற்றில் எதுவுமில்லை", "இவற்றில் ஏதுமில்லை",
            "இவற்றில் ஏதும் இல்லை", "ஒன்றுமில்லை", "ஒன்றும் இல்லை", "ஒன்றுமே இல்லை",
        ),
        negators=("இல்லை", "இல்லைங்க", "இல்லீங்க", "இல்ல",),
        introductions=(
            "விடை", "என் விடை", "எனது விடை", "பதில்", "என் பதில்", "எனது பதில்", "சரியான விடை",
            "சரியான பதில்", "இறுதி விடை", "இறுதி பதில்", "விடையானது",
        ),
        no_numbers=(
            "ஏதும் கிடையாது", "எதுவும் கிடையாது", "ஒன்றும் கிடையாது", "கிடையாது",
            "அப்படி ஏதுமில்லை", "அப்படி ஏதும் இல்லை", "அப்படி எதுவும் இல்லை", "அப்படி எதுவுமில்லை",
            "அவ்வாறு எதுவும் இல்லை", "அவ்வாறு ஏதுமில்லை", "{} எதுவும் இல்லை", "{} எதுவுமில்லை",
            "{} ஏதும் இல்லை", "{} ஏதுமில்லை", "{} எவையும் இல்லை", "{} எவையுமில்லை",
            "{} ஒன்றும் இல்லை", "{} ஒன்றுமில்லை", "{} இல்லை", "{} கிடையாது", "எந்த எண்ணும் இல்லை",
            "எந்த எண்ணுமில்லை", "எந்த எண்களும் இல்லை", "எந்த மந்திர எண்ணும் இல்லை",
            "எந்த மந்திர எண்களும் இல்லை", "அத்தகைய எந்த எண்ணும் இல்லை",
            "அத்தகைய எந்த எண்களும் இல்லை", "அவை இல்லை", "அவை கிடையாது", "அப்படிப்பட்டவை இல்லை",
        ),
        numbers=(
            "எண்கள்", "அத்தகைய எண்கள்", "இத்தகைய எண்கள்", "அப்படிப்பட்ட எண்கள்", "மந்திர எண்கள்",
            "சிறப்பு மந்திர எண்கள்", "அத்தகைய மந்திர எண்கள்", "எண்", "அத்தகைய எண்",
        ),
        places=(
            "உரையில்", "இந்த உரையில்", "கொடுக்கப்பட்டுள்ள உரையில்", "கொடுக்கப்பட்ட உரையில்",
            "வழங்கப்பட்ட உரையில்",
        ),
    ),
    "uk": LanguageRules(
        tags=("Відповідь",),
        conjunctions=("і", "й", "та", "а", "також",),
        none=("немає",),
        none_forms=(
            "нема", "жодного", "жодне", "жоден", "жодна", "жодних", "ніяких", "ніякі",
            "зовсім немає", "взагалі немає", "немає жодного", "жодного немає", "немає жодних",
            "ані одного", "жодне з них", "жоден з них", "жоден із них", "жодне із них",
            "жодного з них", "жодне з цих", "нічого", "зовсім нічого", "взагалі нічого",
        ),
        negators=("ні",),
        introductions=(
            "відповідь", "відповідь така", "відповідь це", "моя відповідь", "правильна відповідь",
            "остаточна відповідь", "відповіддю є",
        ),
        no_numbers=(
            "немає таких", "таких немає", "їх немає", "нема таких", "таких нема", "немає ніяких",
            "ніяких немає", "нічого немає", "немає нічого", "такого немає", "немає {}", "{} немає",
            "нема {}", "{} нема", "не існує {}", "{} не існує", "немає такого числа",
            "такого числа немає", "такі числа не існують", "жодного числа", "немає жодного числа",
            "жодного числа немає", "немає жодного такого числа", "жодного такого числа немає",
            "жодного не існує", "не існує", "їх не існує", "таких не існує", "вони не існують",
            "не існує жодного", "такого не існує",
        ),
        numbers=(
            "чисел", "таких чисел", "цих чисел", "чарівних чисел", "магічних чисел",
            "особливих чарівних чисел", "таких чарівних чисел", "жодних чисел",
            "жодних таких чисел", "ніяких чисел",
        ),
        places=(
            "у тексті", "в тексті", "у наданому тексті", "в наданому тексті", "у цьому тексті",
            "в цьому тексті", "у даному тексті",
        ),
    ),
    "vi": LanguageRules(
        tags=("Câu trả lời",),
        conjunctions=("và",),
        none=("Không có",),
        none_forms=(
            "chẳng có", "không có ạ", "dạ không có", "dạ không có ạ", "không có đâu",
            "không có đâu ạ", "thưa không có", "hoàn toàn không có", "không hề có",
            "không có một cái nào", "không có cái nào", "không có cái nào cả", "không cái nào",
            "không cái nào cả", "không có cái nào trong số đó", "không có cái nào trong số này",
            "không có cái nào trong số chúng", "không có gì", "không có gì cả", "không có gì hết",
            "chẳng có gì", "chẳng có gì cả",
        ),
        negators=("không", "dạ không", "không ạ", "dạ không ạ", "chẳng", "thưa không",),
        introductions=(
            "câu trả lời", "câu trả lời là", "câu trả lời của tôi là", "câu trả lời đúng là",
            "câu trả lời cuối cùng là", "câu trả lời chính xác là", "đáp án", "đáp án là",
            "trả lời",
        ),
        no_numbers=(
            "chẳng có cái nào", "không có cái nào như vậy", "không có cái nào như thế",
            "không có {}", "không hề có {}", "chẳng có {}", "không tồn tại {}", "không có {} cả",
            "không có {} tồn tại", "những con số như vậy không tồn tại",
            "các con số như vậy không tồn tại", "không tồn tại cái nào", "không có cái nào tồn tại",
            "không tồn tại", "chúng không tồn tại", "không hề tồn tại",
        ),
        numbers=(
            "số", "số nào", "số nào như vậy", "số nào như thế", "số như vậy", "con số",
            "con số nào", "con số nào như vậy", "con số nào như thế", "con số như vậy",
            "con số ma thuật nào", "con số ma thuật đặc biệt nào", "số ma thuật nào",
            "bất kỳ số nào", "bất kỳ con số nào", "những con số như vậy",
        ),
        places=(
            "trong văn bản", "trong văn bản này", "trong văn bản đã cho",
            "trong văn bản được cung cấp", "trong đoạn văn",
        ),
    ),
    "zh": LanguageRules(
        tags=("答案",),
        conjunctions=("和", "与", "及", "以及",),
        none=("无",),
        none_forms=(
            "無", "没有", "沒有", "暂无", "暫無", "没有的", "沒有的", "并没有", "並沒有",
            "完全没有", "完全沒有", "根本没有", "根本沒有", "一个也没有", "一个都没有",
            "一個也沒有", "一個都沒有", "没有一个", "沒有一個", "都没有", "都沒有", "均无", "均無",
            "皆无", "皆無", "其中没有", "其中沒有", "其中一个也没有", "其中一個也沒有",
            "其中没有一个", "其中沒有一個", "什么都没有", "什么也没有", "什麼都沒有", "什麼也沒有",
            "没有什么", "沒有什麼",
        ),
        negators=("不", "否", "没", "沒", "不是", "不是的",),
        introductions=(
            "答案", "答案是", "答案为", "答案為", "答案就是", "答案应为", "答案應為", "我的答案是",
            "我的回答是", "回答", "回答是", "正确答案是", "正確答案是", "最终答案是", "最終答案是",
            "最终答案", "所以答案是",
        ),
        no_numbers=(
            "没有这样的", "沒有這樣的", "没有任何", "沒有任何", "没有啊", "没有呢", "没有哦",
            "没有{}", "沒有{}", "无{}", "無{}", "不存在{}", "{}不存在", "并没有{}", "並沒有{}",
            "并不存在{}", "{}并不存在", "一个也不存在", "一個也不存在", "一个都不存在", "不存在",
            "并不存在", "並不存在", "都不存在", "它们不存在", "它們不存在",
        ),
        numbers=(
            "数字", "数字存在", "这样的数字", "这种数字", "此类数字", "这类数字", "相关数字",
            "相关的数字", "任何数字", "任何相关数字", "任何这样的数字", "符合条件的数字",
            "魔法数字", "这样的魔法数字", "相关的魔法数字", "任何魔法数字", "數字", "這樣的數字",
            "此類數字", "這類數字", "相關數字", "相關的數字", "任何數字", "任何相關數字",
            "符合條件的數字", "魔法數字", "這樣的魔法數字",
        ),
        places=(
            "文中", "在文中", "文本中", "在文本中", "文本里", "文章中", "该文本中", "提供的文本中",
            "在提供的文本中", "所提供的文本中", "在所提供的文本中", "根据文本",
        ),
        touching=True,
        may_precede=("是", "为", "為", "有", "中", "内", "里",),
    ),
}  # fmt: skip
"""By ISO 639-1."""
