"""Audits sites without faults: everything that is found at one of their pages is a false alarm.

Six sites are made from a seed, each in the manner of another kind of site: a blog in three languages, a shop, a manual,
a newspaper in Chinese and Japanese, a gallery, and pages written by hand with all that HTML allows. They have much that
looks like a fault and is none: titles in drawings, tags in comments, scripts and templates, omitted tags, pages of a
list that name themselves, versions of a page, links to places, mail and telephones.
"""

# ruff: noqa: E501 - sentences and tags in one line, punctuation of other languages
from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from html import escape
from itertools import count
from random import Random
from typing import Any

from tests.apps.audit.planted_faults import Web, audited, served

WORDS = {
    "en": "the of and to in is that it was for on with as they be at this from have or by one had not but what all were when we there can an your which their said if do will each about how up out them then many some so these would other into has more two like him see time could no make than first been its who now people my made over did down only way find use may water long little very after words called just where most know get through back much before go good new write our me man too any day same right look think also around another came come work three must because does part even place well such here take why help put different away again off went old number great tell men say small every found still between name should home big give air line set own under read last never us left end along while might next sound below saw something thought both few those always show large often together asked house world going want school important until form food keep children feet land side without boy once animal life enough took four head above kind began almost live page got earth need far hand high year mother light country father let night picture being study second soon story since white ever paper hard near sentence better best across during today however sure knew try told young sun thing whole hear example heard several change answer room sea against top turned learn point city play toward five himself usually money seen car morning",
    "fr": "le la les de des du et un une est dans que qui pour sur pas ne avec ce il elle au par plus sont se en nous vous ils son sa ses mais ou comme tout on si leur y dont cette ces même aussi bien fait peut temps très sans deux autre après entre quand depuis avant toujours encore jour année monde maison ville pays rue eau main vie homme femme enfant livre école travail chose point partie côté nuit matin soir père mère ami terre mer route jardin fenêtre porte table lumière couleur musique histoire question réponse idée exemple nombre lettre mot page forêt montagne rivière chemin marché fromage pain vin cuisine voyage train gare bateau port île pont place église château musée théâtre cinéma journal image lampe chaise été hiver automne printemps soleil pluie vent neige ciel étoile lune oiseau chien chat cheval arbre fleur fruit pomme poire cerise",
    "de": "der die das und in den von zu mit sich des auf für ist im dem nicht ein eine als auch es an werden aus er hat dass sie nach wird bei einer um am sind noch wie einem über einen so zum war haben nur oder aber vor zur bis mehr durch man sein wurde wenn können schon wir doch gegen vom unter sehr dann hier weil ihr seine gibt Haus Stadt Land Straße Wasser Hand Leben Mann Frau Kind Buch Schule Arbeit Sache Punkt Teil Seite Nacht Morgen Abend Vater Mutter Freund Erde Meer Weg Garten Fenster Tür Tisch Licht Farbe Musik Geschichte Frage Antwort Beispiel Zahl Brief Wort Wald Berg Fluss Markt Käse Brot Wein Küche Reise Zug Bahnhof Schiff Hafen Insel Brücke Platz Kirche Schloss Museum Theater Kino Zeitung Bild Lampe Stuhl Sommer Winter Herbst Frühling Sonne Regen Wind Schnee Himmel Stern Mond Vogel Hund Katze Pferd Baum Blume Obst Apfel Birne Kirsche",
    "zh": "我们 他们 这个 那个 今天 明天 城市 人民 经济 发展 中国 世界 问题 工作 学习 社会 文化 历史 音乐 天气 春天 夏天 秋天 冬天 学校 老师 学生 医院 医生 公司 市场 价格 上升 下降 政府 会议 决定 报道 记者 电影 图书 火车 飞机 道路 大桥 河流 山脉 海洋 森林 动物 植物 水果 苹果 咖啡 茶叶 饭店 旅行 比赛 球队 运动 健康 科学 技术 研究 大学 教授 方法 结果 数据 已经 开始 结束 非常 可以 因为 所以 但是 如果 以及 进行 表示 认为 希望 需要 提高 改善",
    "ja": "私たち は が を に で と も の から まで です ます した する こと もの とき ところ 今日 明日 都市 経済 世界 問題 仕事 社会 文化 歴史 音楽 天気 春 夏 秋 冬 学校 先生 学生 病院 会社 市場 価格 政府 会議 映画 電車 飛行機 道路 橋 川 山 海 森 動物 植物 果物 りんご コーヒー お茶 旅行 試合 健康 科学 技術 研究 大学 方法 結果 とても しかし そして",
}  # fmt: skip
"""Words of each language, the commonest first: texts of them have what is known of the language."""
WIDE = ("zh", "ja")
PICTURE = ("/ok.png", b"\x89PNG\r\n\x1a\n" + b"0" * 400, "image/png")


class CleanSite:
    """A site that is being written: its web, chance, and a number for every page."""

    def __init__(self, web: Web, pages: int) -> None:
        self.web, self.random, self.size = web, web.random, pages
        self.origin = web.origin
        self.listed: list[str] = []
        self._numbers = count(1)

    def number(self) -> int:
        """A number that no other page has."""
        return next(self._numbers)

    def phrase(self, language: str, least: int, most: int) -> str:
        """Some words, the common ones more often."""
        words = WORDS[language].split()
        weights = [1 / (3 + rank) for rank in range(len(words))]
        chosen = self.random.choices(words, weights, k=self.random.randint(least, most))
        text = ("" if language in WIDE else " ").join(chosen)
        return text[:1].upper() + text[1:]

    def name(self, language: str) -> str:
        """A name for a page: rare words, and a number that no other page has."""
        words = self.random.sample(WORDS[language].split()[20:], 3)
        return f"{('' if language in WIDE else ' ').join(words)} {self.number()}"

    def prose(self, language: str, least: int = 3, most: int = 7) -> list[str]:
        """Paragraphs."""
        stop = "。" if language in WIDE else ". "
        return [
            stop.join(self.phrase(language, 8, 18) for _ in range(self.random.randint(3, 6))) + stop.strip()
            for _ in range(self.random.randint(least, most))
        ]

    def add(
        self, path: str, html: str | bytes, kind: str = "text/html; charset=utf-8", *, is_listed: bool = True
    ) -> None:
        """Publish a page."""
        self.web.put(path, html, kind)
        if is_listed:
            self.listed.append(path)

    def finish(self, robots: str = "User-agent: *\nDisallow:\n") -> None:
        """Publish what belongs to every site."""
        rows = "".join(
            f"<url><loc>{self.origin}{escape(path)}</loc><lastmod>2026-0{1 + place % 9}-{1 + place * 5 % 28:02}</lastmod></url>"
            for place, path in enumerate(self.listed)
        )
        self.web.put(
            "/sitemap.xml",
            f'<?xml version="1.0" encoding="UTF-8"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{rows}</urlset>',
            "application/xml",
        )
        self.web.put("/robots.txt", f"{robots}Sitemap: {self.origin}/sitemap.xml\n", "text/plain")
        self.web.put(PICTURE[0], PICTURE[1], PICTURE[2])
        self.web.put("/s.css", "body{margin:0}", "text/css")
        self.web.put("/s.js", "1", "text/javascript")
        self.web.put("/film.mp4", b"0" * 99, "video/mp4")
        self.web.put("/film.vtt", "WEBVTT\n", "text/vtt")
        self.web.put(
            "/feed.xml",
            '<?xml version="1.0"?><rss version="2.0"><channel><title>News of it all</title><link>/</link><description>All</description></channel></rss>',
            "application/rss+xml",
        )
        self.web.put(
            "/frame",
            '<!doctype html><html lang="en"><meta name="robots" content="noindex"><meta name="viewport" content="width=device-width"><title>A map of the town</title><h1>Map</h1>',
        )


def _head(site: CleanSite, path: str, title: str, description: str, *more: str, image: bool = True) -> str:
    """What is in the head of most pages, in any order."""
    parts = [
        f"<title>{escape(title)}</title>",
        f'<meta name="description" content="{escape(description)}">',
        '<meta name="viewport" content="width=device-width,initial-scale=1">',
        f'<link rel="canonical" href="{site.origin}{escape(path)}">',
        '<link rel=stylesheet href=/s.css>',
        f'<meta property="og:title" content="{escape(title)}"><meta property="og:type" content="website"><meta property="og:url" content="{site.origin}{escape(path)}">',
        f'<meta property="og:image" content="{site.origin}/ok.png">' if image else "",
        *more,
    ]  # fmt: skip
    site.random.shuffle(parts)
    return '<meta charset="utf-8">' + "\n".join(parts)


def _paragraphs(texts: list[str]) -> str:
    return "".join(f"<p>{escape(text)}</p>" for text in texts)


def _ring(paths: list[str], place: int, names: list[str], steps: tuple[int, ...] = (1, 2, 5)) -> str:
    """Links to neighbours, so that every page has several links to it."""
    chosen = [(place + step) % len(paths) for step in steps]
    return "".join(f'<li><a href="{escape(paths[each])}">{escape(names[each])}</a></li>' for each in chosen)


def _json(value: object, **options: Any) -> str:
    return f'<script type="application/ld+json">{json.dumps(value, ensure_ascii=False, **options)}</script>'


def blog(site: CleanSite) -> None:
    """French posts, some of them also in English and German; lists of posts by pages."""
    posts = [(site.name("fr"), site.number()) for _ in range(site.size)]
    paths = [f"/billets/{number}-{'été' if number % 7 == 0 else 'article'}/" for _, number in posts]
    paths = [path.replace("é", "%C3%A9") for path in paths]
    names = [f"{name[:1].upper()}{name[1:]}" for name, _ in posts]
    for place, path in enumerate(paths):
        versions = {"fr": path}
        if place % 3 == 0:
            versions |= {"en-GB": f"/en{path}", "de": f"/de{path}"}
        for code, own in versions.items():
            language = code[:2]
            name = names[place] if code == "fr" else site.name(language).capitalize()
            alternates = "".join(
                f'<link rel="alternate" hreflang="{each}" href="{site.origin}{url}">'
                for each, url in (*versions.items(), ("x-default", versions["fr"]))
            ) if len(versions) > 1 else ""  # fmt: skip
            post = {
                "@context": "https://schema.org", "@type": "BlogPosting", "headline": name, "inLanguage": code,
                "author": [{"@type": "Person", "name": "Zoé Lefèvre", "url": f"{site.origin}/"}], "image": [f"{site.origin}/ok.png"],
                "datePublished": "2026-01-05T08:00:00+01:00", "dateModified": "2026-02-05", "publisher": {"@id": "#site"},
            }  # fmt: skip
            head = _head(
                site, own, f"{name} – Le carnet de Zoé", f"{name} : {site.phrase(language, 8, 12)}", alternates,
                '<link rel="alternate" type="application/rss+xml" title="Flux" href="/feed.xml">',
                _json(post, indent=site.random.choice([None, 2])),
            )  # fmt: skip
            others = "".join(
                f'<a href="{url}" hreflang="{each}" lang="{each}">{each}</a> '
                for each, url in versions.items()
                if url != own
            )
            site.add(
                own,
                f'''<!DOCTYPE html><html lang="{code}"><head>{head}</head><body><header><p><a href="/">Le carnet</a> {others}<a href="#contenu" class="skip">↓ Aller au contenu</a></header>
<main id="contenu"><article><h1>{escape(name)}</h1><p><time datetime="2026-01-05">5 janvier</time></p>{_paragraphs(site.prose(language))}
<blockquote lang="en"><p>To be, or not to be, that is the question.</p></blockquote><h2>Notes</h2><p id="n1">1. {escape(site.phrase(language, 6, 9))} <a href="#r1" aria-label="Retour">↩</a> <sup id="r1"><a href="#n1">1</a></sup></p>
<figure><picture><source srcset="/ok.png 1x, /ok.png?2x 2x" type="image/png"><img src="/ok.png" width=320 height=200 alt="" loading=lazy></picture><figcaption>Une vue</figcaption></figure></article>
<form method="post" action="comment"><label>Votre avis <textarea name="t"><h1>Bonjour</h1><a href=></a></textarea></label><button>Envoyer</button></form>
<form action="?" role="search"><input name="s" type="search"></form></main><aside><ul>{_ring(paths, place, names)}</ul></aside><footer><a href="mailto:zoe@example.org">Écrire</a> · <a href="tel:+33123456789">Appeler</a></footer></body></html>''',
            )
    size = 10
    lists = ["/" if start == 0 else f"/page/{start // size + 1}/" for start in range(0, len(paths), size)]
    for place, own in enumerate(lists):
        part = range(place * size, min(len(paths), place * size + size))
        title = "Le carnet de Zoé" + (f" – page {place + 1}" if place else " : tous les billets")
        items = "".join(
            f'<h2><a href="{paths[each]}">{escape(names[each])}</a></h2>{_paragraphs(site.prose("fr", 1, 1))}'
            for each in part
        )
        pager = " ".join(
            f'<a href="{url}"{" aria-current=page" if url == own else ""}>{number}</a>'
            for number, url in enumerate(lists, 1)
        )
        head = _head(
            site,
            own,
            title,
            f"Les billets du carnet de Zoé, {place + 1} sur {len(lists)}, du plus récent au plus ancien.",
        )
        near = (f'<link rel="prev" href="{lists[place - 1]}">' if place else "") + (
            f'<link rel="next" href="{lists[place + 1]}">' if place + 1 < len(lists) else ""
        )
        site.add(
            own,
            f'<!DOCTYPE html><html lang="fr-FR"><head>{head}{near}</head><body><h1>Tous les billets{f", page {place + 1}" if place else ""}</h1>{items}<nav>{pager}</nav></body></html>',
        )


def shop(site: CleanSite) -> None:
    """Products with a graph of JSON-LD or with microdata, and their colours as parameters of one page."""
    names = [site.name("en").title() for _ in range(site.size)]
    paths = [f"/p/{place}-{name.lower().replace(' ', '-')}" for place, name in enumerate(names)]
    for place, (own, name) in enumerate(zip(paths, names, strict=True)):
        url = site.origin + own
        offer = {
            "@type": "Offer",
            "price": site.random.choice(["19.90", 19.9, "1299"]),
            "priceCurrency": "EUR",
            "availability": "https://schema.org/InStock",
            "url": url,
        }
        product: dict[str, Any] = {
            "@type": site.random.choice(["Product", ["Product", "Vehicle"]]), "@id": f"{url}#product", "name": name, "image": [f"{site.origin}/ok.png"],
            "description": "A thing of use", "sku": str(place), "brand": {"@type": "Brand", "name": "Lee"}, "offers": site.random.choice([offer, [offer]]),
        }  # fmt: skip
        if place % 2:
            product["aggregateRating"] = {"@type": "AggregateRating", "ratingValue": "4.4", "reviewCount": 89}
            product["review"] = [
                {
                    "@type": "Review",
                    "author": {"@type": "Person", "name": "Ann"},
                    "reviewRating": {"@type": "Rating", "ratingValue": 5},
                }
            ]
        if place % 5 == 4:
            product["offers"] = {
                "@type": "AggregateOffer",
                "lowPrice": "9.00",
                "highPrice": "19.00",
                "priceCurrency": "EUR",
                "offerCount": 3,
            }
        crumbs = [
            {"@type": "ListItem", "position": 1, "name": "Shop", "item": f"{site.origin}/"},
            {"@type": "ListItem", "position": 2, "name": name},
        ]
        graph = [
            {"@type": "WebPage", "@id": url, "url": url, "name": name, "breadcrumb": {"@id": f"{url}#crumbs"}, "isPartOf": {"@id": f"{site.origin}/#website"}},
            {"@type": "BreadcrumbList", "@id": f"{url}#crumbs", "itemListElement": crumbs},
            {"@type": "WebSite", "@id": f"{site.origin}/#website", "name": "Lee's shop", "url": f"{site.origin}/"},
            {"@type": "Organization", "@id": f"{site.origin}/#org", "name": "Lee", "url": site.origin, "logo": f"{site.origin}/ok.png"},
            product,
        ]  # fmt: skip
        micro = f'''<div itemscope itemtype="http://schema.org/Product"><span itemprop=name>{escape(name)}</span><img itemprop=image src=/ok.png alt="{escape(name)}" width=9 height=9>
<div itemprop=description>Fine.</div><div itemprop=offers itemscope itemtype="http://schema.org/Offer"><span itemprop=priceCurrency content=EUR>€</span><span itemprop=price content="9.90">9,90</span><link itemprop=availability href="http://schema.org/InStock"></div></div>'''
        is_micro = place % 4 == 3
        for query in ("", "?colour=red") if place % 6 == 0 else ("",):
            head = _head(
                site,
                own,
                f"{name} | Buy online | Lee's",
                f"Buy {name}: {site.phrase('en', 6, 9)}",
                "" if is_micro else _json({"@context": "https://schema.org", "@graph": graph}),
            )
            text = _paragraphs(_OwnChance(site, Random(own)).prose("en"))
            variant = f'<a href="{own}?colour=red">In red</a>' if place % 6 == 0 and not query else ""
            site.add(
                own + query,
                f"""<!doctype html>
<html lang=en-US><head>{head}<script>window.dataLayer=[];document.write("<title>no</title><h1>no</h1>")</script><noscript><link rel=stylesheet href="/s.css"><img src="/ok.png?px" height=1 width=1></noscript></head>
<body class=p><noscript><iframe src="/frame" height="0" width="0" style="display:none;visibility:hidden"></iframe></noscript>
<template><h1></h1><a href="/nowhere"></a><img src="/none.png"><title>x</title></template>
<svg style="display:none"><symbol id="cart"><title>Cart</title><path d="M0 0"/></symbol></svg>
<a href="/"><svg role="img" aria-label="Lee's shop"><use href="#cart"/></svg></a>
<h1>{escape(name)}</h1>{text}{micro if is_micro else ""}{variant}<form action="basket" method=post><input type=hidden name=id value={place}><button>Buy</button></form>
<iframe src=/frame title="Where we are" width=300 height=200 loading=lazy></iframe><h2>Others also bought</h2><ul>{_ring(paths, place, names)}</ul>
<a href="tel:+49-30-1234">Call us</a> <a href="sms:+4930">Text us</a> <a href="whatsapp://send?text=hi">Share</a> <a role=button href="#" onclick="return false">Size guide</a> <a href="#top">Back to top</a>
<img src="data:image/gif;base64,R0lGODlhAQABAAAAACw=" alt=""><img src="/ok.png?t=1" width="1" height="1"></body></html>""",
                is_listed=not query,
            )
    items = "".join(
        f'<li><a href="{path}">{escape(name)}</a> – from 9.90</li>' for path, name in zip(paths, names, strict=True)
    )
    site.add(
        "/",
        f'<!doctype html><html lang="en"><head>{_head(site, "/", "Lee: things of use since 1931", "All that we sell, in one list, with prices.")}</head><body><h1>All things</h1>{_paragraphs(site.prose("en"))}<ul>{items}</ul></body></html>',
    )


class _OwnChance(CleanSite):
    """Writes texts for a site by a chance of its own."""

    def __init__(self, site: CleanSite, random: Random) -> None:
        self.web, self.random, self.origin = site.web, random, site.origin


def manual(site: CleanSite) -> None:
    """Chapters with places, code, formulas and drawings; tags in capitals, omitted tags, a base."""
    names = [site.name("en").capitalize() for _ in range(site.size)]
    paths = [f"/doc/{place // 10}/ch{place}.html" for place in range(len(names))]
    for place, (own, name) in enumerate(zip(paths, names, strict=True)):
        after = paths[(place + 1) % len(paths)]
        up = site.random.random() < 0.4
        head = f'''<META CHARSET=UTF-8><TITLE>{escape(name)} &mdash; Manual 2.1</TITLE><META NAME=Viewport CONTENT="width=device-width"><LINK REL=StyleSheet HREF=/s.css>
<meta content="{escape(name)}: {escape(site.phrase("en", 7, 9))}" name=Description><link rel="Next" href="{after}"><link href="ch{place}.html" rel="canonical">'''
        text = site.prose("en", 4, 6)
        body = f'''<p class=nav><a href="/">Manual</a> &raquo; <a name=start></a><a accesskey=n href="{after}#sec-%C3%BCber">Next, from &uuml;ber</a> <a href="{after}#start">next</a>
<h1 id="{escape(name.lower().replace(" ", "-"))}">{escape(name)}<a class=headerlink href="#{escape(name.lower().replace(" ", "-"))}" title="Permalink">¶</a></h1>
<p>{escape(text[0])}<p>{escape(text[1])}
<ul class=toc><li><a href="#sec-über">1. Über</a><li><a href="#a&amp;b">2. A &amp; B</a><li><a href="#Case.Name()">3. Case</a></ul>
<h2 id="sec-über">1. Über</h2>{_paragraphs(text[2:])}<pre><code>&lt;h1&gt;Title&lt;/h1&gt; &lt;a href="http://example.org"&gt; &lt;img src=x&gt;</code></pre>
<!-- <h1>Old</h1> <a href="/gone"></a> --><h2 id="a&amp;b">2. A &amp; B</h2><p>With <math><semantics><mi>x</mi><annotation-xml encoding="text/html"><p>x</p></annotation-xml></semantics></math> and
<svg width=10 height=10 viewBox="0 0 1 1"><title>A point</title><desc>One</desc><circle r=1 /></svg> there is more.</p>
<h3>2.1 Notes</h3><dl><dt id="Case.Name()"><tt>Case.Name()</tt><dd>{escape(site.phrase("en", 9, 12))}</dl><h2>3. See also</h2>
<table summary=x><tr><th>Name<th>Use<tr><td><code>a</code><td>{escape(site.phrase("en", 6, 9))}</table><ul>{_ring(paths, place, names)}</ul>
<p><a href="#">Up</a> <a href="#TOP">Top</a> <a href="news:comp.lang">News</a> <a href="irc://irc.example.org/x">Chat</a> <a href="git+ssh://example.org/x.git">Source</a>'''
        if up:
            body = (
                body.replace("<p>", "<P>")
                .replace("<h2", "<H2")
                .replace("</h2>", "</H2>")
                .replace("<a ", "<A ")
                .replace("</a>", "</A>")
                .replace(" href=", " HREF=")
            )
        opened = site.random.choice(
            [
                "<!DOCTYPE html>\n<html lang=en>\n<head>{0}</head><body>{1}</body></html>",
                '<!DOCTYPE HTML PUBLIC "-//W3C//DTD HTML 4.01//EN" "http://www.w3.org/TR/html4/strict.dtd">\n<HTML LANG="en">{0}<BODY>{1}',
                '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN" "http://www.w3.org/TR/xhtml1/DTD/xhtml1-strict.dtd">\n<html xmlns="http://www.w3.org/1999/xhtml" xml:lang="en">{0}{1}',
            ]
        )
        site.add(own, opened.replace("{0}", head).replace("{1}", body))
    items = "".join(f'<li><a href="{path}">{escape(name)}</a>' for path, name in zip(paths, names, strict=True))
    site.add(
        "/",
        f'<!doctype html><html lang=en><title>Manual 2.1, all chapters</title><meta charset=utf-8><meta name=viewport content="width=device-width, initial-scale=1.0, maximum-scale=5"><meta name=description content="All chapters of the manual, in order."><link rel=canonical href=/><h1>Contents</h1>{_paragraphs(site.prose("en"))}<ol>{items}</ol>',
    )


def newspaper(site: CleanSite) -> None:
    """News in Chinese and Japanese: few characters a title, no words between spaces, microdata and RDFa."""
    languages = [site.random.choice(["zh", "zh", "ja"]) for _ in range(site.size)]
    names = [site.name(language).replace(" ", "") for language in languages]
    paths = [f"/news/2026/{place}.html" for place in range(len(names))]
    for place, (own, name, language) in enumerate(zip(paths, names, languages, strict=True)):
        code = (
            site.random.choice(["zh-Hans", "zh-CN", "zh"]) if language == "zh" else site.random.choice(["ja", "ja-JP"])
        )
        text = "".join(f"<p>{paragraph}</p>" for paragraph in site.prose(language))
        data = {
            "@context": "http://schema.org",
            "@type": "NewsArticle",
            "headline": name,
            "datePublished": "2026-01-05 08:00:00+08:00",
            "author": {"@type": "Organization", "name": "日报"},
            "image": f"{site.origin}/ok.png",
            "mainEntityOfPage": {"@type": "WebPage", "@id": site.origin + own},
        }
        rdfa = f'<div vocab="http://schema.org/" typeof="NewsArticle"><span property="headline">{name}</span><span property="author" typeof="Person"><b property="name">王</b></span><time property="datePublished" datetime="2026-01-05T08:00+08:00">1月5日</time><img property="image" src="/ok.png" alt="图" width="9" height="9"></div>'
        is_rdfa = place % 3 == 2
        head = _head(
            site,
            own,
            f"{name}_日报",
            f"{name}:{site.phrase(language, 14, 20)}",
            "" if is_rdfa else _json(data),
            '<meta name="twitter:card" content="summary_large_image"><meta name="twitter:site" content="@ribao">',
        )
        site.add(
            own,
            f'<!DOCTYPE html><html lang="{code}" prefix="og: https://ogp.me/ns#"><head>{head}</head><body><nav><a href="/">首页</a></nav><h1>{name}</h1>{text}{rdfa if is_rdfa else ""}<ul>{_ring(paths, place, names)}</ul><p lang="en">© 2026 The Daily</p></body></html>',
        )
    items = "".join(f'<li><a href="{path}">{name}</a></li>' for path, name in zip(paths, names, strict=True))
    head = _head(
        site,
        "/",
        "日报首页新闻",
        "今天的新闻和所有的报道,每天更新,请看这里的文章。",
        '<meta name="twitter:card" content="summary">',
    )
    site.add(
        "/",
        f'<!DOCTYPE html><html lang="zh-Hans"><head>{head}</head><body><h1>日报</h1><ul>{items}</ul>{"".join(f"<p>{text}</p>" for text in site.prose("zh"))}</body></html>',
    )


def gallery(site: CleanSite) -> None:
    """Pages with many pictures, each written in another of the ways that there are."""
    names = [site.name("de") for _ in range(site.size)]
    paths = [f"/galerie/{place}" for place in range(len(names))]
    ways = (
        '<img src="/ok.png?{0}" alt="Ansicht {0}" width="320" height="200" loading="lazy">',
        '<picture><source media="(min-width: 800px)" srcset="/ok.png?{0}a 800w, /ok.png?{0}b 1600w" sizes="100vw"><img loading=lazy src=/ok.png?{0} alt="Ansicht {0}" width=320 height=200></picture>',
        '<img class="lazy" src="data:image/gif;base64,R0lGODlhAQABAAAAACw=" data-src="/ok.png?{0}" alt="Ansicht {0}"><noscript><img src="/ok.png?{0}"></noscript>',
        '<img srcset="/ok.png?{0}, /ok.png?{0}x 2x" src="/ok.png?{0}" alt="" style="aspect-ratio: 3/2; width: 100%" loading=lazy>',
        '<a href="/ok.png?{0}"><img src="/ok.png?{0}" alt="Ansicht {0} groß" style="width:30px;height:20px" loading=lazy></a>',
        '<img src="/ok.png?{0}" role="presentation" alt="" width=3 height=3 loading=LAZY>',
        '<svg viewBox="0 0 9 9"><image href="/ok.png?{0}" width="9" height="9"/><title>Karte</title></svg>',
        '<video controls poster="/ok.png?{0}" width=320 height=200><source src="/film.mp4" type="video/mp4"><track src="/film.vtt" kind="captions" srclang="de" label="Deutsch"></video>',
    )  # fmt: skip
    for place, (own, name) in enumerate(zip(paths, names, strict=True)):
        pictures = "".join(
            f"<figure>{way.format(f'{place}-{n}')}<figcaption>Bild {n}</figcaption></figure>\n"
            for n, way in enumerate([*site.random.choices(ways, k=16), ways[0]])
        )
        item = {
            "@context": {"@vocab": "https://schema.org/"},
            "@type": "ImageGallery",
            "name": name,
            "image": [{"@type": "ImageObject", "contentUrl": f"{site.origin}/ok.png"}],
        }
        head = _head(site, own, f"Galerie: {name}", f"Bilder zu {name}: {site.phrase('de', 6, 9)}", _json(item))
        site.add(
            own,
            f'<!doctype html><html lang="de-AT"><head>{head}</head><body><h1><img src="/ok.png" alt="Galerie" width="9" height="9"> {escape(name)}</h1>{_paragraphs(site.prose("de"))}{pictures}<ul>{_ring(paths, place, names)}</ul><a href="/"><i class=icon aria-hidden=true></i><span class="sr-only">Zur Übersicht</span></a></body></html>',
        )
    items = "".join(
        f'<li><a href="{path}" title="{escape(name)}"><img src="/ok.png" alt="{escape(name)}" width=9 height=9 loading=lazy></a></li>'
        for path, name in zip(paths, names, strict=True)
    )
    site.add(
        "/",
        f'<!doctype html><html lang="de"><head>{_head(site, "/", "Galerie am Hafen: alle Bilder", "Alle Bilder der Galerie am Hafen, nach Jahren geordnet.")}</head><body><h1>Alle Bilder</h1>{_paragraphs(site.prose("de"))}<ul>{items}</ul></body></html>',
    )


def by_hand(site: CleanSite) -> None:
    """Small pages with what HTML allows: encodings, entities, spaces in attributes, titles that look alike."""
    names = [site.name("en").capitalize() for _ in range(site.size)]
    paths = [f"/~ann/{place}{site.random.choice(['', '.htm', '.php', '/'])}" for place in range(len(names))]
    for place, (own, name) in enumerate(zip(paths, names, strict=True)):
        title = f"Ann's notes (part {place}): café & more"
        text = _paragraphs(site.prose("en"))
        latin = place % 4 == 1
        written = escape(title) if place % 2 else escape(title).replace("é", "&eacute;")
        odd = f'''<p><a href="
   {paths[(place + 1) % len(paths)]}
">{escape(names[(place + 1) % len(paths)])}</a> <a href="{site.origin}{paths[(place + 2) % len(paths)]}">Again</a> <a href="//{site.origin.partition("//")[2]}{paths[(place + 3) % len(paths)]}">And again</a>
<a href='https://example.org/?a=1&amp;b=2&copy=3'>Elsewhere</a> <a href="HTTP://EXAMPLE.ORG/">Loud</a> <a href=https://example.org/http://example.net/>Archived</a> <a href="/~ann/http-notes/..{paths[(place + 4) % len(paths)].removeprefix("/~ann")}">Notes</a>
<a id=x1></a><a name="x 2"></a><a href="#x1">one</a> <a href="#x%202">two</a>'''
        head = f'''<title>{written}</title><meta name="viewport" content="width = device-width ; initial-scale = 1"><meta name=description content="{escape(name)}, as Ann has noted it down">
<script>var a = "<\\/script><h1></h1>"; if (1<2) {{ document.title = '<title>' }}</script><style>a::before {{ content: "<h1>" }}</style><!--[if IE]><link rel=canonical href=http://none.test/><![endif]-->
<link rel="preload" href="/s.css" as="style"><link rel="alternate stylesheet" href="/s.css" title="Dark"><link rel="shortcut icon" href="/ok.png"><link rel=canonical href=" {own} "><meta http-equiv=content-language content=en><meta http-equiv="Content-Security-Policy" content="upgrade-insecure-requests">'''
        body = f"""<h1
 >{escape(name)}</h1>{text}<h2>More<h3>Of it</h3></h2><textarea><title>x</title><h1></h1></textarea><xmp><h1></h1><a href=/none></a></xmp><select><option>One<option>Two</select>{odd}
<details><summary>Open</summary><p>Hidden at first</details><dialog><h2>Sure?</h2><form method=dialog><button>Yes</button></form></dialog><object data=/ok.png type=image/png>A picture</object><ruby>x<rt>y</ruby><input type=image src=/ok.png alt=Go><wbr>"""
        charset = "" if latin else '<meta http-equiv=Content-Type content="text/html; charset=utf-8">'
        html = f"<!-- by hand -->\n<!DoCtYpE hTmL><html lang=en>{charset}{head}{body}"
        if place % 5 == 3:
            html = "﻿" + html
        encoded = html.encode("latin-1", "xmlcharrefreplace") if latin else html.encode()
        site.add(
            own,
            encoded,
            "text/html; charset=ISO-8859-1" if latin else site.random.choice(["text/html", "text/html;charset=UTF-8"]),
        )
    items = "".join(f'<li><a href="{path}">{escape(name)}</a>' for path, name in zip(paths, names, strict=True))
    site.add(
        "/",
        f'<!doctype html><html lang="en"><meta charset=utf-8><title>Ann\'s notes, the list of all</title><meta name=viewport content="width=device-width"><meta name=description content="The list of all notes, in no order"><h1>Notes</h1>{_paragraphs(site.prose("en"))}<ul>{items}</ul>',
    )


SITES: tuple[Callable[[CleanSite], None], ...] = (blog, shop, manual, newspaper, gallery, by_hand)
UNAVOIDABLE = frozenset({"no-https", "slow-pages"})
"""Loopback has no certificate, and a busy machine is slow."""


def alarms(make: Callable[[CleanSite], None], seed: int, pages: int) -> tuple[int, list[tuple[str, str, str]]]:
    """How many pages a site has, and what is found at them: name, URL and note."""

    def build(origin: str) -> Web:
        site = CleanSite(Web(origin, Random(f"{seed} {make.__name__}")), pages)
        make(site)
        site.finish()
        return site.web

    with served(build) as web:
        audit = audited(web)
        size = sum(1 for _, kind, _ in web.others.values() if kind.startswith("text/html")) - 1
    return size, list(_found(audit))


def _found(audit: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    for each in audit["findings"]:
        if each["name"] not in UNAVOIDABLE:
            yield from (
                (each["name"], example["url"], f"{example['note']} {example['at']}")
                for example in each["examples"] or [{"url": "", "note": each["title"], "at": ""}]
            )
