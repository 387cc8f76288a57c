"""The stylesheet of a page: two sets of colours, and rules for a screen, a telephone and paper."""

from __future__ import annotations

from collections.abc import Mapping

from timeveil.page.svg import stylesheet

LIGHT: Mapping[str, str] = {
    "ink": "#1f2933",
    "paper": "#ffffff",
    "soft": "#52606d",
    "panel": "#f4f6f8",
    "line": "#cbd2d9",
    "link": "#1d5f9e",
    "good": "#0b5d33",
    "good-paper": "#e3f4ea",
    "bad": "#9b1c1c",
    "bad-paper": "#fdeaea",
}
DARK: Mapping[str, str] = {
    "ink": "#e8edf2",
    "paper": "#12181f",
    "soft": "#b8c4d0",
    "panel": "#1b242e",
    "line": "#3a4856",
    "link": "#8ec5ff",
    "good": "#8ce0ae",
    "good-paper": "#12301f",
    "bad": "#ffb4b4",
    "bad-paper": "#421616",
}
PAIRS = (
    ("ink", "paper"),
    ("ink", "panel"),
    ("soft", "paper"),
    ("soft", "panel"),
    ("link", "paper"),
    ("link", "panel"),
    ("good", "good-paper"),
    ("ink", "good-paper"),
    ("bad", "paper"),
    ("bad", "bad-paper"),
    ("ink", "bad-paper"),
    ("paper", "bad"),
)
"""Which colour is written on which background."""


def page_style() -> str:
    """All rules: of the page and of the pictures in it."""
    dark = f"@media screen and (prefers-color-scheme:dark){{\n{_root(DARK)}\n}}"
    return "\n".join([_root(LIGHT), dark, _SCREEN.strip(), _PRINT.strip(), stylesheet()])


def _root(colours: Mapping[str, str]) -> str:
    return ":root{" + ";".join(f"--{name}:{colour}" for name, colour in colours.items()) + "}"


_SCREEN = """
:root{color-scheme:light dark}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.55 system-ui,sans-serif}
.strip{background:var(--bad);color:var(--paper);font-weight:600;text-align:center;padding:.5rem 1rem}
header,main,footer{max-width:58rem;margin:0 auto;padding:0 1.25rem}
header{padding-top:2rem}
h1{font-size:1.9rem;line-height:1.2;margin:0 0 .35rem}
.private h1{margin-bottom:1rem}
h2{font-size:1.3rem;line-height:1.3;margin:2.6rem 0 .7rem;padding-top:.9rem;border-top:1px solid var(--line)}
.notice{margin:0 0 1.1rem;color:var(--soft)}
.private .notice{display:none}
.summary{border-left:.4rem solid;border-radius:.3rem;padding:.8rem 1.1rem;margin:0 0 1.4rem}
.summary p{margin:.2rem 0;color:var(--ink)}
.summary p:first-child{font-size:1.2rem;font-weight:650}
.holds{background:var(--good-paper);border-color:var(--good)}
.holds p:first-child{color:var(--good)}
.violated{background:var(--bad-paper);border-color:var(--bad)}
.violated p:first-child{color:var(--bad)}
nav{background:var(--panel);border-radius:.3rem;padding:.7rem 1.1rem;font-size:.93rem}
nav ol{margin:0;padding-left:1.4rem;columns:2;column-gap:2.5rem}
nav li{margin:0;padding:.12rem 0;break-inside:avoid}
a{color:var(--link)}
p{margin:.55rem 0}
ol,ul{padding-left:2rem;margin:.6rem 0}
li{margin:.3rem 0}
p,li{overflow-wrap:anywhere}
code,td,th,bdi{unicode-bidi:isolate}
code,pre{font-family:ui-monospace,Menlo,Consolas,monospace;font-size:.9em}
code{background:var(--panel);border-radius:.2rem;padding:.05rem .15rem}
pre{background:var(--panel);border-radius:.3rem;padding:.75rem 1rem}
pre{white-space:pre-wrap;overflow-wrap:anywhere}
.wide{overflow-x:auto;margin:1.1rem 0}
table{border-collapse:collapse;width:100%;font-size:.93rem;font-variant-numeric:tabular-nums}
caption{text-align:left;font-weight:600;padding-bottom:.35rem}
th,td{text-align:right;padding:.32rem .7rem;border-bottom:1px solid var(--line);vertical-align:top}
th:first-child,td:first-child{padding-left:0}
th{font-weight:500}
thead th,thead td{border-bottom:2px solid var(--line);vertical-align:bottom}
thead th{font-weight:600;color:var(--soft)}
td{white-space:nowrap}
th.w,td.w{text-align:left;white-space:normal;overflow-wrap:anywhere;min-width:6.5rem}
td.w:last-child{min-width:11rem}
tbody th.w{min-width:9rem}
thead th.w{overflow-wrap:normal}
figure{margin:1.3rem 0;overflow-x:auto;border:1px solid var(--line);border-radius:.3rem}
figure svg{display:block;width:100%;min-width:34rem;height:auto}
footer{color:var(--soft);font-size:.88rem;padding-top:2.5rem;padding-bottom:2.5rem}
@media (max-width:40rem){
h1{font-size:1.5rem}
nav ol{columns:1}
th,td{padding:.3rem .45rem}
th.w,td.w{min-width:5.2rem}
td.w:last-child{min-width:9rem}
tbody th.w{min-width:7rem}
}
"""
_PRINT = """
@page{margin:18mm 16mm}
@media print{
body{font-size:10pt;line-height:1.4}
header,main,footer{max-width:none;padding:0}
header{padding-top:0}
nav{display:none}
h1{font-size:19pt}
h2{font-size:13pt;margin:6mm 0 2mm;break-after:avoid}
figure,tr,li,.wide,.summary,pre{break-inside:avoid}
figure svg{min-width:0;max-height:95mm}
thead{display:table-header-group}
td code{font-size:.82em}
p:has(+pre),p:has(+.wide){break-after:avoid}
.wide,figure{overflow:visible}
a{color:inherit;text-decoration:none}
.private{padding-left:11mm}
.private .notice{display:block;color:var(--bad);font-weight:600}
.strip{position:fixed;top:0;bottom:0;left:0;width:7mm;padding:0;writing-mode:vertical-rl;
transform:rotate(180deg);font-size:8.5pt;line-height:7mm;white-space:nowrap;overflow:hidden;
background:none;color:var(--bad);border-right:.6mm solid var(--bad)}
}
"""
