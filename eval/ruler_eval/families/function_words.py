"""The commonest function words of 26 languages: what a model says that counts from memory.

RULER (arXiv:2404.06654, section 5) saw "the", "an", "a" as answers to common words extraction, and
ONERULER (arXiv:2503.01996, Table 1) "the, and, of, to": words of the language, not of the list.
"""

from __future__ import annotations

_WORDS = {
    "cs": "a v na se je že to s z do o ve pro za by jako ale jsem tak co",
    "da": "og i at det er en til af på de som den for med et han har ikke der var",
    "de": "der die und in den von zu das mit sich des auf für ist im dem nicht ein eine als",
    "en": "the of and to a in that is was for it with as his on be at by he i an this are or you",
    "es": "de la que el en y a los del se las por un para con no una su al lo",
    "fa": "و در به از که این را با است برای آن یک خود تا کرد بر هم نیز می ها",
    "fi": "ja on ei että se hän oli mutta kun niin olen en ovat ollut joka kuin nyt myös sitä vain",
    "fr": "de la le et les des en un du une que est pour qui dans a par plus pas au",
    "hi": "के में है की से को का और पर यह कि एक ने हैं भी था नहीं तो इस लिए",
    "hu": "a az és hogy nem is egy ez volt de csak meg már ha mint van még azt el ki",
    "it": "di e il la che in a un per è del non una i le con si da sono come",
    "ja": "の に は を た が で て と し れ さ ある いる も する から な こと として",
    "ko": "이 그 있다 하다 것 수 등 및 를 을 의 가 은 는 에 에서 으로 들 한 그리고",
    "nl": "de en van het een in is dat op te zijn met voor niet die aan er om ook als",
    "no": "og i å det er på en som til av for at med de ikke har den jeg et var",
    "pl": "w i na się z do nie to że o jest jak za a po od ale co tak dla",
    "pt": "de a o que e do da em um para com não uma os no se na por mais as",
    "ru": "и в не на я что он с а как это по но к у из за все она так",
    "sr": "i u je da se na za su od sa ne to kao što ali iz o sam а и у је да се на за су",
    "st": "le ho ea ke e a ka oa ba mo bo ha tse la se ho tsa hore re eo",
    "sv": "och i att det som en på är av för med till den har de inte om ett han men",
    "sw": "na ya wa kwa ni katika za la kuwa cha hii ambayo yake kama au lakini si huo hiyo pia",
    "ta": "ஒரு என்று மற்றும் இந்த அந்த என்ற தான் இது என அது உள்ள நான் அவர் ஆனால் போல பல",
    "uk": "і в не на що я з та у до як це він за а по але від все так",
    "vi": "của và là có được cho trong một không với các người những này đã để khi về đến như",
    "zh": "的 一 是 了 我 不 在 人 有 他 这 个 上 们 来 到 时 大 地 为",
}
FREQUENT = {language: frozenset(words.split()) for language, words in _WORDS.items()}
