/** The style of a report: the dashboard's colours, light and dark, for printing, and for screens of 360 pixels. */

const light = `--bg:#f5f7f9;--surface:#fff;--raised:#eef2f5;--ink:#17212b;--muted:#55626f;--line:#d8dee5;--strong:#8794a1;--accent:#0b62b0;--recovery:#c62828;
--system:#51606f;--skills:#6d5fa8;--tools:#8a6a2f;--user:#1668b5;--assistant:#1f8578;--results:#c47a12;--summary:#8a3aa0;--handle:#b3245f`;

const dark = `--bg:#10161c;--surface:#18212a;--raised:#212c37;--ink:#e6ecf2;--muted:#9fb0c0;--line:#2b3844;--strong:#6b7d8e;--accent:#6db3f2;--recovery:#ff6b61;
--system:#8fa1b3;--skills:#a99be0;--tools:#cfae6b;--user:#63aef0;--assistant:#4fc4b3;--results:#eab04f;--summary:#cf8be2;--handle:#f27ba8`;

const kindNames = ["system", "skills", "tools", "user", "assistant", "results", "summary"] as const;
const kindRules = kindNames
  .map((kind) => `.k-${kind}{fill:var(--${kind})}.s-${kind}{background:var(--${kind})}`)
  .join("\n");

const page = `
*,*::before,*::after{box-sizing:border-box}
html{background:var(--bg);color:var(--ink);font:14px/1.45 system-ui,-apple-system,"Segoe UI","Open Sans",Roboto,sans-serif;font-variant-numeric:tabular-nums;-webkit-text-size-adjust:100%}
body{max-width:1280px;margin:0 auto;padding:32px 24px 48px}
h1,h2,h3,p,ul,ol,dl,dd,figure{margin:0;padding:0}
ul,ol{list-style:none}
h1{font-size:20px;font-weight:600;line-height:1.3;overflow-wrap:anywhere}
h2{font-size:12px;font-weight:600;letter-spacing:.06em;text-transform:uppercase;color:var(--muted)}
h3{font-size:14px;font-weight:600}
code,.mono{font-family:ui-monospace,"SF Mono",Menlo,Consolas,monospace;font-size:.93em}
code{overflow-wrap:anywhere;unicode-bidi:isolate}
:focus-visible{outline:2px solid var(--accent);outline-offset:2px;border-radius:3px}
.muted,.note{color:var(--muted)}
.note{font-size:12px}
.number{text-align:right;white-space:nowrap}
.foreign{overflow-wrap:anywhere;unicode-bidi:isolate}
header{display:grid;gap:16px}
.brand{display:flex;align-items:center;gap:8px;font-size:12px;color:var(--muted)}
.brand svg{color:var(--accent)}
.about{display:flex;flex-wrap:wrap;gap:4px 24px;margin-top:4px;color:var(--muted)}
.about div{display:flex;gap:6px;min-width:0}
.about dd{color:var(--ink);min-width:0;overflow-wrap:anywhere}
main{display:grid;grid-template-columns:minmax(0,1fr);gap:40px;margin-top:24px}
section{display:grid;grid-template-columns:minmax(0,1fr);gap:12px}
.panel{background:var(--surface);border:1px solid var(--line);border-radius:6px;padding:16px}
footer{margin-top:40px;padding-top:16px;border-top:1px solid var(--line);color:var(--muted);font-size:12px}
`;

const figures = `
.figures{display:grid;grid-template-columns:repeat(4,minmax(0,1fr));gap:1px;background:var(--line);padding:0;overflow:hidden}
.figures>div{background:var(--surface);padding:16px;min-width:0}
.figures dt{font-size:12px;color:var(--muted)}
.figures .value{font-size:24px;font-weight:600;line-height:1.35;letter-spacing:-.01em}
.figures .note{overflow-wrap:anywhere}
.fill{display:flex;flex-wrap:wrap;align-items:baseline;gap:4px 12px}
.fill strong{font-size:18px;font-weight:600}
`;

const pictures = `
svg{display:block}
svg svg{overflow:visible}
svg text{fill:var(--muted);font-size:11px}
.stack{display:grid;grid-template-columns:minmax(0,1fr);gap:12px}
.room{fill:var(--bg)}
.blocks{shape-rendering:crispEdges}
.told{stroke:var(--surface);stroke-width:1}
${kindRules}
.k-handle{fill:url(#handle)}
.k-handle-plain{fill:var(--handle)}
.s-handle{background:repeating-linear-gradient(135deg,var(--surface) 0 1px,transparent 1px 4px),var(--handle)}
.stripe{fill:var(--surface)}
.answer{fill:url(#answer)}
.beyond-stripe{fill:var(--strong)}
.beyond-limit{fill:url(#beyond-limit)}
.beyond-cross{stroke:var(--strong);stroke-width:.75;fill:none}
.cached{fill:var(--surface);opacity:.22}
.cached-edge{fill:var(--surface)}
.cached-bar{fill:var(--ink)}
.pin{fill:var(--ink);stroke:var(--surface);stroke-width:1.5}
.load-line line,.load-line circle{stroke:var(--ink);stroke-width:2;fill:none}
.load-line .rim line{stroke:var(--surface);stroke-width:5}
.load-line .label-ground{fill:var(--surface)}
.load-line text{fill:var(--ink);font-weight:600}
.legend{display:flex;flex-wrap:wrap;gap:4px 16px;font-size:12px}
.legend li{display:flex;align-items:center;gap:6px}
.swatch{flex:none;width:12px;height:12px;border-radius:2px}
.s-cached{background:color-mix(in srgb,var(--user) 78%,var(--surface));border-bottom:3px solid var(--ink)}
.s-beyond-limit{border:1px solid var(--line);background:repeating-linear-gradient(135deg,var(--strong) 0 1px,transparent 1px 4px),repeating-linear-gradient(45deg,var(--strong) 0 1px,transparent 1px 4px)}
.s-answer{border:1px solid var(--line);background:repeating-linear-gradient(135deg,var(--strong) 0 1px,transparent 1px 4px)}
.s-pin{width:8px;height:8px;border-radius:50%;background:var(--ink)}
.s-limit{height:2px;background:var(--ink);border-radius:0}
figure+figure{margin-top:16px}
figcaption{display:flex;flex-wrap:wrap;justify-content:space-between;gap:4px 24px;margin-bottom:4px}
figcaption h3{font-size:13px}
.chart{display:flex}
.scale{flex:none}
.scale text{text-anchor:end}
.plot{flex:1 1 0;width:0;min-width:0;overflow:visible}
.window{overflow:visible}
.plot path{shape-rendering:crispEdges}
.plot .end{text-anchor:end}
.plot .middle{text-anchor:middle}
.grid{stroke:var(--line)}
.axis{stroke:var(--strong)}
.plot .limit{fill:none;stroke:var(--ink);stroke-width:2;vector-effect:non-scaling-stroke}
.c-system{fill:var(--system);background:var(--system)}
.c-skills{fill:var(--skills);background:var(--skills)}
.c-tools{fill:var(--tools);background:var(--tools)}
.c-conversation{fill:var(--user);background:var(--user)}
.c-client{fill:var(--strong);background:var(--strong)}
.c-cached{fill:var(--assistant);background:var(--assistant)}
.plot .mark-compacted,.sample .mark-compacted{fill:var(--ink);shape-rendering:auto}
.plot .mark-recovered,.sample .mark-recovered{fill:var(--recovery);shape-rendering:auto}
`;

const lists = `
table{width:100%;border-collapse:collapse}
th,td{padding:6px 16px 6px 0;border-bottom:1px solid var(--line);text-align:left;vertical-align:top}
tr:last-child>*{border-bottom:0}
th:last-child,td:last-child{padding-right:0}
thead th{font-size:12px;font-weight:400;color:var(--muted);white-space:nowrap}
tbody th{font-weight:600;white-space:nowrap}
th.number,td.number{text-align:right}
.wide{width:100%}
.example{display:block;font-size:12px}
.list{padding:0}
.list>li+li,.list>details+details{border-top:1px solid var(--line)}
details>summary{display:flex;flex-wrap:wrap;align-items:baseline;gap:2px 12px;padding:10px 16px 10px 32px;cursor:pointer;list-style:none;position:relative}
details>summary::-webkit-details-marker{display:none}
details>summary::before{content:"";position:absolute;left:15px;top:16px;border:4px solid transparent;border-left:6px solid var(--muted)}
details[open]>summary::before{transform:rotate(90deg);transform-origin:3px 4px}
details>summary:hover{background:var(--raised)}
details>.inside{display:grid;grid-template-columns:minmax(0,1fr);gap:12px;padding:4px 16px 16px 32px}
.plain>details>summary,.plain>summary{padding-left:20px}
.plain>summary{padding:4px 0 4px 20px;color:var(--muted)}
.plain>summary::before{left:2px;top:9px}
.plain>.inside{padding:8px 0 0}
.spread{margin-left:auto}
.why{flex:1 1 200px;min-width:0;overflow:hidden;text-overflow:ellipsis;white-space:nowrap}
details[open]>summary>.why{white-space:normal;overflow-wrap:anywhere}
.what{white-space:nowrap}
.arrow{display:inline-block;vertical-align:-1px;color:var(--muted)}
.dot{display:inline-block;width:8px;height:8px;border:1.5px solid var(--ink);border-radius:50%}
.dot.said{background:var(--ink)}
.older{border-top:1px solid var(--line)}
.older>summary{color:var(--muted)}
.older>.inside{display:block;padding:0}
.older .inside>details{border-top:1px solid var(--line)}
.kind{display:inline-flex;align-items:center;gap:6px}
.share{display:flex;align-items:center;gap:8px;padding-top:6px}
.share svg{flex:0 1 400px;min-width:0}
.share .note{flex:none;line-height:8px}
.share-room{fill:var(--raised)}
.share-fill{fill:var(--user)}
caption{text-align:left;padding-bottom:4px}
.facts{display:flex;flex-wrap:wrap;gap:4px 24px}
.facts dt{font-size:12px;color:var(--muted)}
.empty{color:var(--muted)}
.commands{display:grid;grid-template-columns:minmax(0,max-content) minmax(0,1fr);gap:6px 24px}
.commands code{color:var(--ink)}
.commands dd{color:var(--muted)}
`;

const narrow = `
@media screen and (max-width:700px){
body{padding:16px 12px 32px}
main{gap:32px}
.panel{padding:12px}
.figures{padding:0;grid-template-columns:repeat(2,minmax(0,1fr))}
.figures>div{padding:12px}
.figures .value{font-size:20px}
.list{padding:0}
.told{stroke:none}
.commands{grid-template-columns:minmax(0,1fr);gap:0}
.commands dd{margin-bottom:12px}
.cards thead{position:absolute;clip-path:inset(50%)}
.cards tr{display:flex;flex-wrap:wrap;gap:0 16px;padding:8px 0;border-bottom:1px solid var(--line)}
.cards tr:last-child{border-bottom:0}
.cards th,.cards td{border:0;padding:0}
.cards .number{text-align:left}
.cards td:empty{display:none}
.why{white-space:normal;flex-basis:100%}
.cards tbody th,.cards .wide{flex:1 0 100%}
.cards td[data-label]::before{content:attr(data-label) " ";color:var(--muted)}
}
`;

/** The style for printing. Colours have a meaning, so they are printed. No section starts at the bottom of a page. */
const print = `
@page{margin:16mm}
@media print{
html{background:#fff;font-size:11px;-webkit-print-color-adjust:exact;print-color-adjust:exact}
body{padding:0}
main{gap:24px}
section,figure,.figures,tr,summary{break-inside:avoid}
section.long{break-inside:auto}
h2{break-after:avoid}
}
`;

export const styleSheet: string = [
  `:root{color-scheme:light;${light}}`,
  `@media screen and (prefers-color-scheme:dark){:root{color-scheme:dark;${dark}}}`,
  page,
  figures,
  pictures,
  lists,
  narrow,
  print,
].join("\n");
