# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The look of the page. One hue per kind of thing; red and amber are kept for what needs a look."""

from __future__ import annotations

STYLE = """\
:root { color-scheme: light dark;
  --ink: #1c2430; --muted: #5b6675; --line: #d9dee6; --ground: #f5f6f8; --paper: #ffffff; --inset: #f8f9fb;
  --gpu: #2f5fd0; --gpu-soft: #e9effc; --npu: #7440b8; --npu-soft: #f1eafb; --accelerator: #4b3fb5;
    --accelerator-soft: #eeecfb;
  --nic: #0f7a70; --nic-soft: #e4f4f2; --storage: #8a6412; --storage-soft: #f8f0de; --switch: #5b6675;
    --switch-soft: #e9ecf1;
  --fabric: #b02a7c; --fabric-soft: #fae6f2; --bad: #c62f2f; --bad-soft: #fcebea; --warn: #a45a00;
  --warn-soft: #fdf1de; --good: #2c7a3f; }
@media (prefers-color-scheme: dark) { :root {
  --ink: #e6eaf0; --muted: #9aa5b4; --line: #343c49; --ground: #12161c; --paper: #1a2029; --inset: #161b23;
  --gpu: #83a8ff; --gpu-soft: #1f2c4a; --npu: #c09bf5; --npu-soft: #322447; --accelerator: #a9a0ff;
    --accelerator-soft: #2a2650;
  --nic: #56c9bc; --nic-soft: #17352f; --storage: #e0b75a; --storage-soft: #362c15; --switch: #9aa5b4;
    --switch-soft: #2a313c;
  --fabric: #f08ac6; --fabric-soft: #42203a; --bad: #ff8a80; --bad-soft: #44211f; --warn: #f5b14c;
  --warn-soft: #3b2c13; --good: #6fcf86; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--ink);
  font: 14px/1.45 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif; }
main { max-width: 1480px; margin: 0 auto; padding: 28px 28px 48px; }
header { display: flex; justify-content: space-between; align-items: flex-end; gap: 24px; margin-bottom: 20px; }
h1 { font-size: 30px; line-height: 1.15; margin: 0 0 6px; letter-spacing: -0.01em; }
h2 { font-size: 18px; margin: 0 0 12px; }
h3 { font-size: 16px; margin: 0; display: flex; align-items: center; gap: 10px; }
.lead, .when, footer { color: var(--muted); margin: 0; }
.when { white-space: nowrap; font-variant-numeric: tabular-nums; }
section { background: var(--paper); border: 1px solid var(--line); border-radius: 10px; padding: 18px 20px;
  margin-bottom: 18px; }
.figures { display: grid; grid-template-columns: repeat(6, 1fr); gap: 0; padding: 0; overflow: hidden; }
.figure { padding: 16px 20px; border-left: 1px solid var(--line); }
.figure:first-child { border-left: 0; }
.figure b { display: block; font-size: 34px; line-height: 1.1; font-variant-numeric: tabular-nums; }
.figure span { font-weight: 600; display: block; }
.figure small { color: var(--muted); }
.figure.bad b { color: var(--bad); }
.figure.warn b { color: var(--warn); }
.figure.calm b { font-size: 22px; line-height: 37px; font-weight: 500; color: var(--muted); }
.figure.calm span { font-weight: 400; }
.lost { background: var(--bad-soft); border-color: var(--bad); }
.lost ul { margin: 0; padding: 0; list-style: none; }
.lost li { padding: 3px 0; }
.lost span { color: var(--muted); margin-left: 10px; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: left; vertical-align: top; padding: 6px 14px 6px 0; border-top: 1px solid var(--line); }
thead th { border-top: 0; color: var(--muted); font-weight: 600; font-size: 12px; white-space: nowrap; }
tbody th { font-weight: 600; }
td.whole { white-space: nowrap; }
td.n, th.n { text-align: right; font-weight: 600; }
td.bar { width: 22%; min-width: 120px; vertical-align: middle; }
td.bar i { display: block; height: 10px; border-radius: 3px; background: var(--switch); min-width: 3px; }
td.odd code { color: var(--warn); font-weight: 600; }
td.bar i.gpu { background: var(--gpu); }
td.bar i.npu { background: var(--npu); }
td.bar i.accelerator { background: var(--accelerator); }
td.gone { color: var(--bad); }
table.wide { font-size: 13px; }
small { color: var(--muted); font-size: 12px; }
code { font: 12px/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace;
  overflow-wrap: anywhere; }
details summary { cursor: pointer; }
section > details { margin-top: 12px; }
section > details > summary { color: var(--muted); margin-bottom: 6px; }
details.inline { display: inline; }
details.inline summary { display: inline; color: var(--muted); list-style: none; text-decoration: underline
  dotted; }
td.n .unknown { font-weight: 400; }
.unknown { color: var(--muted); font-style: italic; }
.nothing { color: var(--good); margin: 0; }
.badge { display: inline-block; min-width: 24px; padding: 1px 7px; border-radius: 6px; background:
  var(--switch-soft); font-weight: 700; font-size: 13px; text-align: center; }
.verdict { font-weight: 600; white-space: nowrap; }
.verdict.degraded { color: var(--bad); }
.verdict.good { color: var(--good); }
.tiles { list-style: none; margin: 0; padding: 0; display: grid; grid-template-columns: repeat(auto-fill,
  minmax(184px, 1fr)); gap: 8px; }
.tiles li { display: flex; align-items: center; gap: 8px; padding: 7px 10px; border: 1px solid var(--line);
  border-left: 4px solid var(--good); border-radius: 6px; background: var(--inset); min-width: 0; }
.tiles b { flex: 1; font-weight: 600; font-size: 13px; overflow-wrap: anywhere; }
.tiles.small { grid-template-columns: repeat(auto-fill, minmax(var(--tile), 1fr)); gap: 3px; }
.tiles.small li { padding: 1px 6px; gap: 5px; border-left-width: 3px; border-radius: 4px; }
.tiles.small b { font-size: 12px; font-weight: 500; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.tiles span { color: var(--muted); font-size: 12px; }
.tiles i, .key i { font-style: normal; }
.tiles i { font-weight: 700; color: var(--good); }
.tiles .differs { border-left-color: var(--warn); } .tiles .differs i { color: var(--warn); }
.tiles .degraded, .tiles .lost { border-left-color: var(--bad); background: var(--bad-soft); margin: 0; }
.tiles .degraded i, .tiles .lost i { color: var(--bad); }
.legend { display: flex; flex-wrap: wrap; align-items: center; gap: 6px 18px; margin: 10px 0 0; color:
  var(--muted); font-size: 12px; }
.key { display: inline-flex; align-items: center; gap: 6px; }
.key.ok i { color: var(--good); }
.key.differs i { color: var(--warn); }
.key.degraded i, .key.lost i { color: var(--bad); }
.key.gpu i, .key.npu i, .key.accelerator i, .key.nic i, .key.storage i, .key.switch i, .key.fabric i { width:
  12px; height: 12px; border-radius: 3px; background: var(--switch); }
.key.gpu i { background: var(--gpu); }
.key.npu i { background: var(--npu); }
.key.accelerator i { background: var(--accelerator); }
.key.nic i { background: var(--nic); }
.key.storage i { background: var(--storage); }
.key.fabric i { background: var(--fabric); }
.key.flaw i { width: 18px; height: 4px; background: var(--bad); }
figure.topology { margin: 0; padding: 18px 0; border-top: 1px solid var(--line); break-inside: avoid; }
figure.topology:first-of-type { border-top: 0; padding-top: 0; }
figcaption { display: flex; flex-wrap: wrap; justify-content: space-between; align-items: baseline; gap: 4px
  24px; margin-bottom: 12px; }
figcaption div { margin: 0; color: var(--muted); }
svg.wiring { display: block; max-width: 100%; height: auto; margin: 0 auto; }
svg text { fill: var(--ink); font-family: inherit; }
svg .t { font-size: 12px; }
svg .strong { font-weight: 600; }
svg .s { font-size: 11px; }
svg .muted { fill: var(--muted); }
svg .mono { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace;
  font-size: 11px; }
svg .centre { text-anchor: middle; } svg .end { text-anchor: end; }
svg .domain > .box { fill: var(--inset); stroke: var(--line); }
svg .root > .box { fill: var(--paper); stroke: var(--line); } svg .loose > .box { stroke-dasharray: 4 3; }
svg .switch > .box { fill: var(--switch-soft); stroke: var(--switch); }
svg .card > .box { fill: var(--paper); stroke: var(--line); } svg .lent > .box { stroke-dasharray: 5 3; }
svg .gpu > .box { fill: var(--gpu-soft); stroke: var(--gpu); } svg .gpu > .stripe { fill: var(--gpu); }
svg .npu > .box { fill: var(--npu-soft); stroke: var(--npu); } svg .npu > .stripe { fill: var(--npu); }
svg .accelerator > .box { fill: var(--accelerator-soft); stroke: var(--accelerator); }
svg .accelerator > .stripe { fill: var(--accelerator); }
svg .nic > .box { fill: var(--nic-soft); stroke: var(--nic); } svg .nic > .stripe { fill: var(--nic); }
svg .storage > .box { fill: var(--storage-soft); stroke: var(--storage); }
svg .storage > .stripe { fill: var(--storage); }
svg .edge { stroke: var(--switch); }
svg .edge.loose { stroke-dasharray: 3 4; }
svg .edge.flaw { stroke: var(--bad); }
svg .flawed { fill: var(--bad); font-weight: 700; }
svg .band.loose, svg .scaleup.loose { stroke-dasharray: 5 4; }
svg .scaleup { stroke: var(--fabric); fill: none; } svg .arc { opacity: 0.75; }
svg .band { fill: var(--fabric-soft); stroke: var(--fabric); }
svg .onband { fill: var(--fabric); font-weight: 600; }
footer { font-size: 12px; padding: 4px 2px; }
@media (max-width: 900px) { .figures { grid-template-columns: repeat(3, 1fr); } header { display: block; } }
@media print { @page { size: A4 landscape; margin: 10mm; }
  body { background: none; font-size: 11px; -webkit-print-color-adjust: exact; print-color-adjust: exact; }
  main { max-width: none; padding: 0; }
  section { border: 0; padding: 0; }
  .figures { border: 1px solid var(--line); }
  tr, .tiles li { break-inside: avoid; } }
"""
