"""The sitemap protocol as XML schemas: order, number and types of elements, for files written here.

Written down from the protocol's description and the extensions' documentation; the extensions are checked strictly.
"""

from __future__ import annotations

from pathlib import Path

from lxml import etree

from periplus.formats.sitemap.values import IMAGE_NS, NEWS_NS, SITEMAP_NS, VIDEO_NS, XHTML_NS

_HEAD = (
    '<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" xmlns="{ns}" targetNamespace="{ns}"'
    ' elementFormDefault="qualified">'
)
_TYPES = """
<xs:simpleType name="loc"><xs:restriction base="xs:anyURI">
  <xs:minLength value="12"/><xs:maxLength value="2048"/></xs:restriction></xs:simpleType>
<xs:simpleType name="moment"><xs:union>
  <xs:simpleType><xs:restriction base="xs:date"/></xs:simpleType>
  <xs:simpleType><xs:restriction base="xs:dateTime"/></xs:simpleType></xs:union></xs:simpleType>
<xs:simpleType name="flag"><xs:restriction base="xs:string">
  <xs:enumeration value="yes"/><xs:enumeration value="no"/></xs:restriction></xs:simpleType>
<xs:complexType name="related"><xs:simpleContent><xs:extension base="xs:string">
  <xs:attribute name="relationship" use="required"><xs:simpleType><xs:restriction base="xs:string">
    <xs:enumeration value="allow"/><xs:enumeration value="deny"/></xs:restriction></xs:simpleType></xs:attribute>
  </xs:extension></xs:simpleContent></xs:complexType>
"""
_CORE = """
<xs:import namespace="{image}" schemaLocation="image.xsd"/><xs:import namespace="{news}" schemaLocation="news.xsd"/>
<xs:import namespace="{video}" schemaLocation="video.xsd"/><xs:import namespace="{xhtml}" schemaLocation="xhtml.xsd"/>
<xs:element name="urlset"><xs:complexType><xs:sequence>
  <xs:element name="url" minOccurs="0" maxOccurs="50000"><xs:complexType><xs:sequence>
    <xs:element name="loc" type="loc"/><xs:element name="lastmod" type="moment" minOccurs="0"/>
    <xs:element name="changefreq" minOccurs="0"><xs:simpleType><xs:restriction base="xs:string">
      <xs:pattern value="always|hourly|daily|weekly|monthly|yearly|never"/>
      </xs:restriction></xs:simpleType></xs:element>
    <xs:element name="priority" minOccurs="0"><xs:simpleType><xs:restriction base="xs:decimal">
      <xs:minInclusive value="0"/><xs:maxInclusive value="1"/></xs:restriction></xs:simpleType></xs:element>
    <xs:any namespace="##other" processContents="strict" minOccurs="0" maxOccurs="unbounded"/>
  </xs:sequence></xs:complexType></xs:element>
</xs:sequence></xs:complexType></xs:element>
<xs:element name="sitemapindex"><xs:complexType><xs:sequence>
  <xs:element name="sitemap" minOccurs="0" maxOccurs="50000"><xs:complexType><xs:sequence>
    <xs:element name="loc" type="loc"/><xs:element name="lastmod" type="moment" minOccurs="0"/>
  </xs:sequence></xs:complexType></xs:element>
</xs:sequence></xs:complexType></xs:element>
"""
_ONE = '<xs:element name="{name}" type="{type}" minOccurs="{least}" maxOccurs="{most}"/>'
_IMAGE = (
    ("loc", "xs:anyURI", 1, 1), ("caption", "xs:string", 0, 1), ("geo_location", "xs:string", 0, 1),
    ("title", "xs:string", 0, 1), ("license", "xs:anyURI", 0, 1),
)  # fmt: skip
_VIDEO = (
    ("thumbnail_loc", "xs:anyURI", 1, 1), ("title", "xs:string", 1, 1), ("description", "xs:string", 1, 1),
    ("content_loc", "xs:anyURI", 0, 1), ("player_loc", "xs:anyURI", 0, 1), ("duration", "xs:nonNegativeInteger", 0, 1),
    ("expiration_date", "moment", 0, 1), ("rating", "xs:decimal", 0, 1), ("view_count", "xs:nonNegativeInteger", 0, 1),
    ("publication_date", "moment", 0, 1), ("tag", "xs:string", 0, 32), ("category", "xs:string", 0, 1),
    ("family_friendly", "flag", 0, 1), ("restriction", "related", 0, 1), ("requires_subscription", "flag", 0, 1),
    ("uploader", "xs:string", 0, 1), ("platform", "related", 0, 1), ("live", "flag", 0, 1),
)  # fmt: skip
_NEWS = """
<xs:element name="news"><xs:complexType><xs:sequence>
  <xs:element name="publication"><xs:complexType><xs:sequence>
    <xs:element name="name" type="xs:string"/>
    <xs:element name="language"><xs:simpleType><xs:restriction base="xs:string">
      <xs:pattern value="zh-cn|zh-tw|[a-z]{2,3}"/></xs:restriction></xs:simpleType></xs:element>
  </xs:sequence></xs:complexType></xs:element>
  <xs:element name="access" type="xs:string" minOccurs="0"/><xs:element name="genres" type="xs:string" minOccurs="0"/>
  <xs:element name="publication_date" type="moment"/><xs:element name="title" type="xs:string"/>
  <xs:element name="keywords" type="xs:string" minOccurs="0"/>
  <xs:element name="stock_tickers" type="xs:string" minOccurs="0"/>
</xs:sequence></xs:complexType></xs:element>
"""
_XHTML = """
<xs:element name="link"><xs:complexType>
  <xs:attribute name="rel" use="required" fixed="alternate"/><xs:attribute name="hreflang" type="xs:string"/>
  <xs:attribute name="media" type="xs:string"/><xs:attribute name="href" type="xs:anyURI" use="required"/>
</xs:complexType></xs:element>
"""


def sitemap_schema(folder: Path) -> etree.XMLSchema:
    """The schema of sitemaps and their indexes with all extensions; its parts are written to a folder."""
    parts = {
        "image": (IMAGE_NS, _element("image", _IMAGE)),
        "video": (VIDEO_NS, _element("video", _VIDEO)),
        "news": (NEWS_NS, _NEWS),
        "xhtml": (XHTML_NS, _XHTML),
        "core": (SITEMAP_NS, _CORE.format(image=IMAGE_NS, news=NEWS_NS, video=VIDEO_NS, xhtml=XHTML_NS)),
    }
    for name, (namespace, body) in parts.items():
        imports, _, rest = body.partition('<xs:element name="urlset">') if name == "core" else ("", "", body)
        rest = f'<xs:element name="urlset">{rest}' if name == "core" else rest
        text = f"{_HEAD.format(ns=namespace)}{imports}{_TYPES}{rest}</xs:schema>"
        (folder / f"{name}.xsd").write_text(text, encoding="utf-8")
    return etree.XMLSchema(etree.parse(str(folder / "core.xsd")))


def _element(name: str, parts: tuple[tuple[str, str, int, int], ...]) -> str:
    inside = "".join(_ONE.format(name=part, type=kind, least=least, most=most) for part, kind, least, most in parts)
    return (
        f'<xs:element name="{name}"><xs:complexType><xs:sequence>{inside}</xs:sequence></xs:complexType></xs:element>'
    )
