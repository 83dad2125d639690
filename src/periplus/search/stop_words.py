"""The most frequent function words of some languages: left out of queries, and used to tell languages apart."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

_LISTS = {
    "ca": "de la el que i a en un per amb una es no els les del al com més però són va aquest ha seva",
    "cs": "a se v na je že o s z do i to k ve pro za by ale si po jako podle které není jsou nebo aby byl",
    "da": "og i at det er en til på som med for de af den der ikke et har om vi han var fra så men kan jeg eller hun",
    "de": "der die und in den von zu das mit sich des auf für ist im dem nicht ein eine als auch es an werden aus er"
    " hat dass sie nach wird bei einer um am sind noch wie einem über einen so zum war haben nur oder aber vor zur",
    "en": "the of and to a in is it you that he was for on are with as i his they be at one have this from or had by"
    " not but what all were when we there can an your which their if do will each how them then she these so has its"
    " who did into than been would about no my out up may must what such being does",
    "es": "de la que el en y a los se del las un por con no una su para es al lo como más o pero sus le ha me si sin"
    " sobre este ya entre cuando todo esta ser son dos también fue había era muy años hasta desde está",
    "fi": "ja on ei että se oli hän en ovat mutta kun tai kuin joka niin myös sen ole voi mitä nyt jos vain olla hänen",
    "fr": "de la le et les des en un du une que est pour qui dans a par plus pas au sur ne se ce il sont avec son ou"
    " aux mais comme on cette ses leur sa été être fait vous nous si peut ces tout entre",
    "hu": "a az és hogy nem is egy ez de van meg csak azt már még mint el ha volt vagy ki kell volna lehet ezt amely",
    "id": "yang dan di dengan untuk dari pada ini itu tidak dalam adalah ke akan oleh juga atau sebagai karena dapat",
    "it": "di e il la che in un a per è una non del si da con i le della al come sono più dei anche nel alla ma ha gli"
    " su se questo lo o delle dal suo essere stato ed cui",
    "nl": "de van het een en in is dat op te zijn met voor niet die aan er om ook als dan bij door maar naar uit wordt"
    " ze over hij nog kan worden of was heeft deze tot meer je",
    "no": "og i det er en til på som med for å av den at ikke de et har om jeg var fra så men han vi kan eller hun ble",
    "pl": "w i na z do się nie to że jest o jak po a od co za przez ale dla tym być są już tego oraz tak może tylko",
    "pt": "de a o que e do da em um para é com não uma os no se na por mais as dos como mas foi ao ele das tem à seu"
    " sua ou ser quando muito há nos já está eu também só pelo pela até",
    "ro": "de și în a la cu pe că din care o un nu este mai pentru sau ce au fost prin să se ale ca după între fi sunt",
    "ru": "и в не на что я с он как это по но они к у из за от его так для о же бы то или мы при был если все",
    "sv": "och i att det som en på är av för med den till inte de ett om har var jag från så men kan eller han vi ska",
    "tr": "ve bir bu için ile da de ne o çok gibi daha olarak var kadar ancak sonra ya olan en ise her veya değil",
}

STOP_WORDS: Mapping[str, frozenset[str]] = MappingProxyType(
    {language: frozenset(words.split()) for language, words in _LISTS.items()}
)
"""By two-letter code, in lower case."""
