"""What scoring knows of each of ONERULER's 26 languages; docs/embed_languages.py writes the table.

    LANGUAGES["pl"].none        # ('brak',)

The words are those of ruler_common/languages/*.toml: change them there, and write this anew. Here
they go with the metric wherever it is copied.
"""

from __future__ import annotations

from typing import NamedTuple


class LanguageRules(NamedTuple):
    """The words that scoring reads in the answers of a language.

    `tags`: what an answer may stand in, the published tag first. `conjunctions`: the words before
    the last item of a list, no items themselves; where `touching`, no spaces part words, and they
    may touch those beside them. `none`: what the prompt asks for when there is no answer, and
    variants of it. `none_alone`: what says the same as the whole answer, `none_phrases` in any
    place (… is up to three words). `lead_in`: the words that may stand before a list, `counts`
    those beside a number in it, with spaces between. `fold`: letters, by their numbers in
    Unicode, each with what it becomes before the case is folded. The rest says where letters may
    touch a none word: `NoneFacts` of ruler_common/languages.
    """

    tags: tuple[str, ...]
    conjunctions: tuple[str, ...]
    none: tuple[str, ...]
    none_alone: tuple[str, ...]
    none_phrases: tuple[str, ...]
    lead_in: str
    counts: str
    touching: bool = False
    fold: tuple[tuple[int, str], ...] = ()
    not_after: tuple[str, ...] = ()
    may_follow: str = ""
    may_end_before: tuple[str, ...] = ()
    may_begin: str = ""


LANGUAGES: dict[str, LanguageRules] = {
    "cs": LanguageRules(
        tags=("Odpověď",),
        conjunctions=("a",),
        none=("žádné", "žádná",),
        none_alone=(
            "žádný", "žádnou", "žádných", "žádné číslo", "nejsou", "neexistují", "není", "nic",
        ),
        none_phrases=(
            "taková … čísla neexistují", "čísla … neexistují", "neexistují … čísla",
            "nejsou … čísla", "čísla … nejsou", "čísla … nebyla", "není … číslo", "nejsou uvedena",
            "nejsou zmíněna", "není uvedeno", "není zmíněno",
        ),
        lead_in=(
            "odpověď jakých je 10 deset nejčastějších nejčastější slov slova ve výše uvedeném "
            "uvedených seznamu v ze zde uveď uveďte jsou seznam následující následujících která "
            "se nejčastěji vyskytují vyskytujících moje konečná tato to těchto tady"
        ),
        counts=(
            "krát x výskytů výskyty výskyt výskytu opakování vyskytuje vyskytl vyskytlo vyskytla "
            "objevuje se celkem počet"
        ),
    ),
    "da": LanguageRules(
        tags=("Svar",),
        conjunctions=("og",),
        none=("ingen",),
        none_alone=("intet", "ikke nogen", "findes ikke", "der er ikke nogen",),
        none_phrases=(
            "de tal findes ikke", "tal findes ikke", "findes ikke", "er ikke nævnt", "er der ikke",
            "der findes ikke", "ikke … tal", "intet … tal",
        ),
        lead_in=(
            "svar svaret hvad er de 10 ti mest almindelige hyppigste ord ordene på i listen "
            "ovenfor ovenstående oplist her som den der forekommer optræder oftest følgende liste "
            "over mit endelige hyppigst disse"
        ),
        counts="gange gang x forekomster forekomst forekommer optræder i alt antal",
    ),
    "de": LanguageRules(
        tags=("Antwort",),
        conjunctions=("und", "sowie",),
        none=("Keine vorhanden",),
        none_alone=(
            "Keine", "keiner", "keines", "kein", "nicht vorhanden", "keine Zahl", "keine Zahlen",
        ),
        none_phrases=(
            "keiner solcher … zahlen", "keine solcher … zahlen", "keine … zahlen", "keine … zahl",
            "keinen … zahlen", "nicht vorhanden", "sind nicht vorhanden", "keine … erwähnt",
            "keine … genannt", "nicht erwähnt", "nicht genannt",
        ),
        lead_in=(
            "antwort antworten was sind die 10 zehn häufigsten wörter in der obigen liste hier "
            "auf folgende folgenden lauten am vorkommen vorkommenden aus den das ist meine "
            "endgültige wort diese oben"
        ),
        counts=(
            "mal x vorkommen vorkommnisse erscheint kommt erwähnungen je jeweils insgesamt anzahl "
            "vor"
        ),
    ),
    "en": LanguageRules(
        tags=("Answer",),
        conjunctions=("and",),
        none=("none",),
        none_alone=(
            "no", "no number", "no numbers", "nothing", "not mentioned", "n/a",
            "there are no such numbers",
        ),
        none_phrases=(
            "no such … numbers", "no such … number", "no … numbers", "no … number",
            "not mentioned", "are not mentioned", "does not mention", "do not exist",
            "does not exist", "doesn't mention",
        ),
        lead_in=(
            "answer answers what are the 10 ten most common words word in above list here is this "
            "that which appear appears appearing often frequently frequent as follows following "
            "my final these from provided given of top"
        ),
        counts=(
            "time times x occurrence occurrences appears appear appeared occurs occur occurred "
            "appearances appearance count counts total each mentions mentioned"
        ),
    ),
    "es": LanguageRules(
        tags=("Respuesta",),
        conjunctions=("y", "e",),
        none=("ninguno",),
        none_alone=(
            "ninguna", "ningún", "ningún número", "ningunos", "no existen", "no hay",
            "no se menciona", "no se mencionan", "nada",
        ),
        none_phrases=(
            "no existen tales números", "no existen … números", "no hay … números",
            "no hay ningún", "ningún … número", "no se menciona", "no se mencionan", "no existe",
            "no existen", "no aparece", "no aparecen",
        ),
        lead_in=(
            "respuesta cuáles son las 10 diez palabras más comunes frecuentes en la lista "
            "anterior enumera aquí siguientes que aparecen con frecuencia mi final es de estas "
            "proporcionada los del a continuación"
        ),
        counts="veces vez x ocurrencias ocurrencia apariciones aparición aparece total frecuencia",
    ),
    "fa": LanguageRules(
        tags=("پاسخ",),
        conjunctions=("و",),
        none=("هیچ کدام", "هیچ\u200cکدام",),
        none_alone=("هیچ", "هیچکدام", "ندارد", "وجود ندارد", "وجود ندارند", "نیست", "هیچ عددی",),
        none_phrases=(
            "چنین … اعدادی وجود ندارند", "اعدادی وجود ندارند", "وجود ندارد", "وجود ندارند",
            "هیچ عددی", "هیچ عدد", "هیچ … عددی", "ذکر نشده", "نشده است", "نشده\u200cاند",
        ),
        lead_in=(
            "پاسخ ۱۰ ده کلمه کلمات رایج رایج\u200cترین پرتکرار پرتکرارترین در فهرست لیست بالا "
            "کدامند را اینجا کنید عبارتند عبارت\u200cاند از هستند است که بیشترین تکرار زیر به شرح "
            "این من نهایی ترین"
        ),
        counts="بار مرتبه دفعه تکرار x تعداد",
    ),
    "fi": LanguageRules(
        tags=("Vastaus",),
        conjunctions=("ja", "sekä",),
        none=("ei mikään",),
        none_alone=(
            "ei mitään", "ei yhtään", "ei ole", "ei ole mitään", "ei löydy", "ei mitkään",
        ),
        none_phrases=(
            "tällaisia … numeroita ei ole", "numeroita ei ole", "ei ole mainittu", "ei mainita",
            "ei ole … numeroita", "ei ole … numeroa", "ei löydy", "ei … numeroita", "ei … numeroa",
        ),
        lead_in=(
            "vastaus vastaukseni mitkä ovat 10 kymmenen yleisintä yleisimmät sanaa sanat yllä "
            "olevassa luettelossa luettelon listan listassa luettele listaa tähän seuraavat "
            "useimmin esiintyvät esiintyvää on lopullinen tässä nämä"
        ),
        counts="kertaa kerran kpl x esiintymää esiintymä esiintyy mainintaa yhteensä",
    ),
    "fr": LanguageRules(
        tags=("Réponse",),
        conjunctions=("et",),
        none=("aucun",),
        none_alone=(
            "aucune", "aucuns", "aucun nombre", "aucun numéro", "aucun chiffre", "il n'y en a pas",
            "il n'y en a aucun", "néant", "rien",
        ),
        none_phrases=(
            "n'existe pas de tels … nombres", "n'existe pas de … nombres", "n'existent pas",
            "n'y a pas de … nombres", "n'y a pas de … nombre", "n'y a pas de … numéros",
            "n'y a pas de … numéro", "n'y en a pas", "aucune mention", "n'est mentionné",
            "ne sont pas mentionnés", "n'est pas mentionné", "pas de … nombres",
            "pas de … numéros",
        ),
        lead_in=(
            "réponse quels sont les 10 dix mots plus courants fréquents dans la liste ci-dessus "
            "ci dessus énumérez listez ici voici qui apparaissent souvent le suivants ma finale "
            "est de ces fournie reviennent"
        ),
        counts="fois x occurrences occurrence apparitions apparition apparaît total",
    ),
    "hi": LanguageRules(
        tags=("उत्तर",),
        conjunctions=("और", "तथा", "एवं",),
        none=("कोई नहीं",),
        none_alone=(
            "नहीं", "नहीं है", "कोई भी नहीं", "कुछ नहीं", "कोई संख्या नहीं", "मौजूद नहीं",
            "मौजूद नहीं है",
        ),
        none_phrases=(
            "कोई संख्या मौजूद नहीं", "संख्या मौजूद नहीं", "कोई … संख्या नहीं",
            "कोई … संख्याएँ नहीं", "कोई … संख्या … नहीं", "संख्या नहीं है", "संख्याएँ नहीं",
            "संख्याएं नहीं", "उल्लेख नहीं", "मौजूद नहीं",
        ),
        lead_in=(
            "उत्तर ऊपर दी गई सूची में 10 दस सबसे सामान्य शब्द शब्दों कौन से हैं है यहाँ की बनाएं "
            "अधिक बार आने वाले निम्नलिखित इस प्रकार ये मेरा अंतिम के आम"
        ),
        counts="बार x बारी कुल आया आता है",
    ),
    "hu": LanguageRules(
        tags=("Válasz",),
        conjunctions=("és", "valamint",),
        none=("nincs",),
        none_alone=(
            "nincsenek", "nem", "semmi", "egyik sem", "nincsen", "nincs ilyen",
            "nincsenek ilyenek", "nincs szám",
        ),
        none_phrases=(
            "nincsenek ilyen … számok", "ilyen számok nincsenek", "nincsenek … számok",
            "nincsenek ilyenek", "nem szerepel", "nem szerepelnek", "nem található",
            "nem találhatók",
        ),
        lead_in=(
            "válasz válaszom melyik a az 10 tíz leggyakoribb szó szavak szavakat fenti listában "
            "lista sorold fel itt következő következők ezek leggyakrabban szereplő előforduló "
            "végső vannak alábbi"
        ),
        counts="alkalommal szor szer ször alkalom x előfordulás előfordul szerepel összesen",
    ),
    "it": LanguageRules(
        tags=("Risposta",),
        conjunctions=("e", "ed",),
        none=("nessuno",),
        none_alone=(
            "nessuna", "nessun", "nessun numero", "nessuno di questi", "non ce ne sono",
            "non ci sono", "niente", "nulla",
        ),
        none_phrases=(
            "non ce ne sono", "nessun … numero", "non ci sono … numeri", "non sono citati",
            "non viene citato", "non vengono citati", "non è citato", "non sono presenti",
            "non esistono", "non è presente", "nessuna … menzione",
        ),
        lead_in=(
            "risposta quali sono le 10 dieci parole più ricorrenti comuni frequenti nella lista "
            "sopra elenca elenco qui ecco che compaiono di seguito seguenti la mia finale è "
            "spesso queste dell'elenco della"
        ),
        counts="volte volta x occorrenze occorrenza appare compare totale",
    ),
    "ja": LanguageRules(
        tags=("答え",),
        conjunctions=("と", "および",),
        none=("なし", "数字はありません",),
        none_alone=("ない", "ありません", "無し", "該当なし", "ないです", "存在しません",),
        none_phrases=(
            "該当する数字はない", "数字はない", "数字はありません", "数字は存在しません",
            "数字がありません", "数字は言及されていません", "言及されていません",
            "記載されていません", "見つかりません", "存在しません", "該当する数字がない",
        ),
        lead_in=(
            "答え を か 回答 上記 上 の リスト で に 中 出現頻度 が 最も もっとも 高い 多い 単語 "
            "言葉 語 10個 10語 十個 10 は 何 以下 次 とおり 通り です すべて該当する ここ 列挙 "
            "よく 出現する 現れる 頻出 登場する 最終的な"
        ),
        counts="回 度 件 x 出現 登場 合計 回出現 回登場",
        touching=True,
        not_after=("おは", "ば", "ぱ", "み", "間違い", "疑い", "問題", "異論", "文句",),
        may_end_before=("です", "でした", "だ", "である",),
    ),
    "ko": LanguageRules(
        tags=("답변",),
        conjunctions=("와", "과", "및", "그리고",),
        none=("없음",),
        none_alone=("없습니다", "없다", "없어요", "무", "존재하지 않습니다", "없는", "해당 없음",),
        none_phrases=(
            "숫자가 존재하지 않습니다", "숫자가 존재하지 않는다", "숫자는 존재하지 않습니다",
            "존재하지 않습니다", "숫자가 없습니다", "숫자는 없습니다", "숫자들은 없습니다",
            "숫자가 없다", "숫자는 없다", "언급되지 않았습니다", "언급되어 있지 않습니다",
            "언급되지 않음", "나오지 않습니다", "숫자들이 없습니다",
        ),
        lead_in=(
            "답변 답 정답 위 목록에서 목록 가장 많이 자주 등장한 등장하는 나온 나오는 단어 단어들 "
            "단어는 단어들은 10개 10개는 10개의 10 열 개 개는 무엇인가요 여기 나열하세요 다음과 "
            "같습니다 다음 은 는 입니다 최종 흔한 단어를 여기에"
        ),
        counts="번 회 차례 x 등장 출현 총",
        touching=True,
        not_after=("틀림", "문제", "의심", "상관", "관계", "다름",),
        may_end_before=("입니다", "이다", "임", "이에요",),
    ),
    "nl": LanguageRules(
        tags=("Antwoord",),
        conjunctions=("en",),
        none=("geen",),
        none_alone=(
            "niet", "niets", "bestaan niet", "die zijn er niet", "niet genoemd", "niet vermeld",
        ),
        none_phrases=(
            "dergelijke … nummers bestaan niet", "nummers bestaan niet", "getallen bestaan niet",
            "niet genoemd", "niet vermeld", "bestaan niet", "zijn er niet",
        ),
        lead_in=(
            "antwoord wat zijn de 10 tien meest voorkomende woorden in bovenstaande lijst noem "
            "hier op het die vaakst voorkomen volgende mijn definitieve is dit deze uit gebruikte "
            "veelvoorkomende"
        ),
        counts="keer maal x keren voorkomens komt voor totaal vermeldingen",
    ),
    "no": LanguageRules(
        tags=("Svar",),
        conjunctions=("og",),
        none=("ingen",),
        none_alone=("intet", "ikke noen", "finnes ikke", "ikke nevnt",),
        none_phrases=(
            "slike tall finnes ikke", "tall finnes ikke", "er ikke nevnt", "finnes ikke",
            "ikke … tall", "det finnes ikke",
        ),
        lead_in=(
            "svar svaret hva er de 10 ti vanligste ordene ord i på listen ovenfor list opp her "
            "som forekommer oftest følgende mitt endelige den fra over hyppigste mest disse"
        ),
        counts="ganger gang x forekomster forekomst forekommer opptrer totalt antall",
    ),
    "pl": LanguageRules(
        tags=("odpowiedź",),
        conjunctions=("i", "oraz",),
        none=("brak",),
        none_alone=(
            "żadne", "żadna", "żaden", "nie ma", "nie istnieją", "brak takich liczb",
            "nie ma takich liczb", "nic",
        ),
        none_phrases=(
            "takie … liczby nie istnieją", "liczby nie istnieją", "nie ma … liczb",
            "nie ma … liczby", "nie istnieją", "nie wspomniano", "nie zostały wspomniane",
            "nie są wspomniane", "nie występują", "żadne … liczby", "żadnych … liczb",
        ),
        lead_in=(
            "odpowiedź jakie jest 10 dziesięć słów słowa które najczęściej występują "
            "występujących na w powyższej liście listy wszystkie takie powinny się znaleźć tutaj "
            "oto to są następujące najczęstsze najczęstszych moja ostateczna z te "
            "najpopularniejsze"
        ),
        counts="razy raz x wystąpień wystąpienia wystąpienie występuje pojawia się łącznie liczba",
    ),
    "pt": LanguageRules(
        tags=("Resposta",),
        conjunctions=("e",),
        none=("nenhum",),
        none_alone=(
            "nenhuma", "nenhum número", "nenhuns", "não existem", "não há", "nada", "não existe",
        ),
        none_phrases=(
            "esses … números não existem", "números não existem", "não há … números",
            "não há … número", "não existem", "não existe", "não são mencionados",
            "não é mencionado", "não foram mencionados", "não é mencionada", "nenhuma … menção",
        ),
        lead_in=(
            "resposta quais são as 10 dez palavras mais comuns frequentes na lista acima aqui que "
            "aparecem com frequência seguintes a minha final é da de estas em do fornecida"
        ),
        counts="vezes vez x ocorrências ocorrência aparece aparições total",
    ),
    "ru": LanguageRules(
        tags=("Ответ",),
        conjunctions=("и", "а", "также",),
        none=("нет",),
        none_alone=(
            "нету", "отсутствуют", "отсутствует", "никакие", "никаких", "ни одного",
            "не упоминаются", "не упоминается", "ничего",
        ),
        none_phrases=(
            "таких … чисел нет", "чисел нет", "не упоминаются", "не упоминается", "не упомянуты",
            "отсутствуют", "отсутствует", "не указаны", "не существует", "не найдено",
            "не найдены", "никаких … чисел",
        ),
        lead_in=(
            "ответ какие 10 десять слов слова в приведенном приведённом выше списке из списка "
            "встречаются чаще всего перечислите здесь вот следующие самые наиболее "
            "распространенные распространённые частые часто встречающиеся мой окончательный это "
            "которые являются эти частых"
        ),
        counts="раз раза x вхождений вхождения встречается повторений появляется всего количество",
    ),
    "sr": LanguageRules(
        tags=("Odgovor", "Одговор",),
        conjunctions=("i", "и",),
        none=("nema", "нема",),
        none_alone=(
            "nijedan", "nijedna", "nijedno", "ne postoje", "nisu pomenuti", "nema ih", "ниједан",
            "не постоје", "нема их",
        ),
        none_phrases=(
            "takvi … brojevi ne postoje", "brojevi ne postoje", "такви … бројеви не постоје",
            "бројеви не постоје", "ne postoje", "ne postoji", "nisu pomenuti", "nije pomenut",
            "не постоје", "не постоји", "нису поменути", "није поменут", "ne pominju se",
            "не помињу се",
        ),
        lead_in=(
            "odgovor kojih 10 deset reči su najčešće na u gornjoj listi liste iz navedi ovde "
            "sledeće koje se pojavljuju moj konačan je to ove evo najčešćih одговор којих десет "
            "речи су најчешће на у горњој листи листе из наведи овде следеће које се појављују "
            "мој коначан је то ове ево најчешћих"
        ),
        counts=(
            "puta put x pojavljivanja pojavljuje se ukupno пута пут појављивања појављује се "
            "укупно"
        ),
    ),
    "st": LanguageRules(
        tags=("Karabo",),
        conjunctions=("le",),
        none=("ha ho letho",),
        none_alone=("ha ho na", "ha di yo", "ha ho", "ha li eo", "ha diyo",),
        none_phrases=(
            "ha ho na dinomoro", "ha ho na … dinomoro", "ha ho dinomoro", "ha ho … dinomoro",
            "ha di boleloe", "ha dia boleloa", "ha ho na nomoro", "ha ho nomoro",
        ),
        lead_in=(
            "karabo ke mantsoe mantswe afe a leshome 10 atileng haholo lethathamong le ka holimo "
            "hodimo thatamisa mona latelang hlahang khafetsa ho feta ana ea ya tse"
        ),
        counts="makhetlo a ha hlaha lekhetlo x hangata",
    ),
    "sv": LanguageRules(
        tags=("Svar",),
        conjunctions=("och", "samt",),
        none=("inga",),
        none_alone=("inget", "ingen", "ingenting", "finns inte", "finns ej", "inte nämnt", "nej",),
        none_phrases=(
            "sådana tal finns inte", "tal finns inte", "finns inte", "nämns inte", "inget … tal",
            "nämns ej", "är inte nämnda",
        ),
        lead_in=(
            "svar svaret vilka är de 10 tio vanligaste orden ord i på listan ovan lista här som "
            "förekommer oftast följande mitt slutgiltiga det från mest frekventa förekommande "
            "dessa"
        ),
        counts="gånger gång x förekomster förekomst förekommer totalt antal ggr",
    ),
    "sw": LanguageRules(
        tags=("Jibu",),
        conjunctions=("na",),
        none=("hakuna",),
        none_alone=("hapana", "hakuna nambari", "haipo", "hazipo", "hamna", "hazikutajwa",),
        none_phrases=(
            "hakuna nambari", "hazipo", "haipo", "hazijatajwa", "haijatajwa", "hazikutajwa",
            "haikutajwa", "hamna … nambari",
        ),
        lead_in=(
            "jibu langu ni maneno gani 10 kumi yanayo onekana yanayoonekana mara nyingi zaidi "
            "kwenye katika orodha iliyopo iliyo hapo juu orodhesha hapa yafuatayo haya ya la "
            "mwisho yanayojitokeza"
        ),
        counts="mara x jumla imeonekana inaonekana",
    ),
    "ta": LanguageRules(
        tags=("விடை",),
        conjunctions=("மற்றும்",),
        none=("ஏதுமில்லை",),
        none_alone=(
            "இல்லை", "எதுவும் இல்லை", "எதுவுமில்லை", "ஏதும் இல்லை", "எண்கள் இல்லை",
            "ஒன்றும் இல்லை", "ஒன்றுமில்லை",
        ),
        none_phrases=(
            "அத்தகைய எண்கள் எதுவும் இல்லை", "எண்கள் எதுவும் இல்லை", "எதுவும் இல்லை", "ஏதும் இல்லை",
            "எதுவுமில்லை", "எண்கள் இல்லை", "எண்கள் … இல்லை", "குறிப்பிடப்படவில்லை",
            "கொடுக்கப்படவில்லை",
        ),
        lead_in=(
            "விடை பதில் மேற்கண்ட பட்டியலில் அதிகம் காணப்படும் 10 பத்து சொற்கள் யாவை சொற்களை இங்கு "
            "பட்டியலிடுக அடிக்கடி தோன்றும் பின்வருமாறு இவை மிகவும் உள்ள இறுதி எனது"
        ),
        counts="முறை தடவை x மொத்தம்",
    ),
    "uk": LanguageRules(
        tags=("Відповідь",),
        conjunctions=("і", "й", "та", "а", "також",),
        none=("немає", "Нема",),
        none_alone=(
            "нема", "відсутні", "відсутнє", "жодне", "жодного", "жодних", "ні", "не згадуються",
            "нічого",
        ),
        none_phrases=(
            "таких … чисел немає", "чисел немає", "не згадуються", "не згадується", "не згадано",
            "відсутні", "відсутнє", "не існує", "не вказано", "не знайдено", "жодних … чисел",
            "жодного … числа",
        ),
        lead_in=(
            "відповідь які 10 десять слів слова у в наведеному вище списку зі з зустрічаються "
            "найчастіше перелічіть тут ось наступні такі найпоширеніші найчастіші моя остаточна "
            "це що є ці трапляються"
        ),
        counts="разів рази раз x входжень входження зустрічається повторень трапляється всього",
    ),
    "vi": LanguageRules(
        tags=("Câu trả lời",),
        conjunctions=("và",),
        none=("Không có",),
        none_alone=("không", "không có số nào", "không tồn tại", "không có con số nào",),
        none_phrases=(
            "không có con số nào", "không tồn tại", "không được đề cập", "không được nhắc",
            "không đề cập",
        ),
        lead_in=(
            "câu trả lời 10 mười từ ngữ phổ biến xuất hiện nhiều nhất thường xuyên trong danh "
            "sách trên là gì các những sau đây như của tôi cuối cùng ở được hay"
        ),
        counts="lần x số xuất hiện tổng",
    ),
    "zh": LanguageRules(
        tags=("答案",),
        conjunctions=("和", "与", "及", "以及",),
        none=("无",),
        none_alone=("没有", "沒有", "無", "不存在", "未提及", "没有数字", "没有提到",),
        none_phrases=(
            "数字不存在", "这样的数字不存在", "没有提到", "没有提及", "没有找到", "没有这样的数字",
            "没有数字", "没有任何数字", "没有与", "没有相关", "没有特殊", "没有符合", "未提及",
            "未提到", "不存在", "没有出现", "没有此类", "没有魔法数字", "没有特别", "没有对应",
        ),
        lead_in=(
            "答案 回答 以上 上述 列表 中 里 最常 最常见 最频繁 出现 的 次数 频率 最多 最高 十个 "
            "10个 10 个 词语 词 单词 词汇 是 为 什么 如下 以下 最终 在此处 列出 所有 分别"
        ),
        counts="次 回 x 出现 共 共出现 出现了 次数 频次",
        touching=True,
        may_follow="是为為中内里",
        may_begin=(
            r"(?:任何|此类|这类|该类|这样的?|符合[^\W\d_]{0,8}?的|相关的?|对应的?|相应的?|匹配的?|"
            "特殊的?|魔法|上述|以上|该|此){0,3}(?:数字|数值|号码|答案|结果|内容|信息)"
        ),
    ),
}  # fmt: skip
"""By ISO 639-1."""
