// The style of the page: light and dark, narrow and wide, and for paper.

const light = `
--bg:#f6f7f9;--card:#fff;--ink:#1b2330;--soft:#5b6675;--line:#dde2e8;--accent:#1f6feb;--warn:#9a6700;--warnbg:#fff8e1;
--bad:#c62828;--good:#1a7f37;--unknown:#c3cad3;
--c0:#3b7dd8;--c1:#e08a2c;--c2:#3d9a6b;--c3:#c2507a;--c4:#7d66c4;--c5:#4aa3b5;--c6:#a8813b;--c7:#7a8698;`;

const dark = `
--bg:#11151b;--card:#1a2028;--ink:#e6eaf0;--soft:#9aa6b5;--line:#2d3642;--accent:#6ea8fe;--warn:#f2c462;--warnbg:#2e2713;
--bad:#ff8a80;--good:#6fd08c;--unknown:#4a5564;
--c0:#6aa5f0;--c1:#f0a95c;--c2:#66c293;--c3:#e682a6;--c4:#a694e8;--c5:#72c3d3;--c6:#cda964;--c7:#9aa6b8;`;

export const style = `
:root{color-scheme:light;${light}}
:root[data-theme=dark]{color-scheme:dark;${dark}}
@media (prefers-color-scheme:dark){:root:not([data-theme=light]){color-scheme:dark;${dark}}}
*{box-sizing:border-box}
body{margin:0;background:var(--bg);color:var(--ink);font:15px/1.5 system-ui,-apple-system,"Segoe UI",sans-serif}
#page{max-width:1180px;margin:0 auto;padding:20px 16px 60px}
header{display:flex;flex-wrap:wrap;gap:8px 16px;align-items:baseline;margin-bottom:14px}
h1{font-size:22px;margin:0}
header p{margin:0;color:var(--soft);flex:1 1 300px}
h2{font-size:16px;margin:0 0 2px}
h3{font-size:14px;margin:10px 0 4px}
.hint{margin:0 0 10px;color:var(--soft);font-size:13.5px}
.panel{background:var(--card);border:1px solid var(--line);border-radius:10px;padding:14px 16px;margin:0 0 14px;min-width:0}
.two{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(440px,100%),1fr));gap:0 14px}
.cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(150px,1fr));gap:10px;margin-bottom:14px}
.card{background:var(--card);border:1px solid var(--line);border-radius:10px;padding:10px 14px}
.card b{display:block;font-size:22px;font-weight:650;font-variant-numeric:tabular-nums;overflow-wrap:anywhere}
.card span{color:var(--soft);font-size:13px}
button,select,input,.file{font:inherit;color:inherit;background:var(--card);border:1px solid var(--line);border-radius:7px;padding:4px 10px;cursor:pointer}
input[type=search]{cursor:text;min-width:0;width:190px}
button:hover,.file:hover{border-color:var(--accent)}
:focus-visible{outline:2px solid var(--accent);outline-offset:1px}
.file input{position:absolute;width:1px;height:1px;opacity:0}
.bar{display:flex;flex-wrap:wrap;gap:6px;align-items:center;margin-bottom:8px}
.bar .grow{flex:1}
.alert{border:1px solid var(--bad);color:var(--bad);background:var(--card);border-radius:10px;padding:10px 14px;margin-bottom:14px;white-space:pre-wrap;overflow-wrap:anywhere}
.demo{border:2px dashed var(--warn);background:var(--warnbg);color:var(--warn);border-radius:10px;padding:8px 14px;margin-bottom:14px;font-weight:600}
.drop{border:2px dashed var(--line);border-radius:12px;padding:50px 20px;text-align:center;background:var(--card)}
.drop.over{border-color:var(--accent)}
.drop p{color:var(--soft)}
.suggestion{border-left:4px solid var(--c1);padding:2px 0 2px 12px;margin:10px 0}
.suggestion b{overflow-wrap:anywhere}
.suggestion p{margin:2px 0}
.suggestion .why{color:var(--soft);font-size:13.5px;overflow-wrap:anywhere}
.rule{font-size:12px;color:var(--soft);border:1px solid var(--line);border-radius:20px;padding:0 8px;margin-left:8px;white-space:nowrap}
.legend{display:flex;flex-wrap:wrap;gap:4px 14px;font-size:13px;margin:8px 0 0;padding:0;list-style:none}
.legend li{display:flex;align-items:center;gap:6px;min-width:0;overflow-wrap:anywhere}
.dot{flex:none;width:11px;height:11px;border-radius:3px}
.scroll{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-size:13.5px;font-variant-numeric:tabular-nums}
th,td{text-align:right;padding:4px 6px;border-bottom:1px solid var(--line);white-space:nowrap}
th:first-child,td:first-child{text-align:left;white-space:normal;overflow-wrap:anywhere;min-width:130px}
th button{border:0;background:none;padding:0;font-weight:600;color:inherit}
td.left,th.left{text-align:left}
.soft{color:var(--soft)}
.bad{color:var(--bad)}
.good{color:var(--good)}
svg{display:block;width:100%;height:auto;overflow:visible}
svg text{fill:var(--ink);font-size:12px}
svg text.soft{fill:var(--soft)}
svg .axis{stroke:var(--line)}
canvas{display:block;width:100%;border:1px solid var(--line);border-radius:8px;touch-action:pan-y;cursor:grab}
canvas:active{cursor:grabbing}
.canvas{position:relative}
.tip{position:absolute;pointer-events:none;background:var(--ink);color:var(--bg);border-radius:7px;padding:5px 9px;font-size:12.5px;max-width:340px;white-space:pre-line;overflow-wrap:anywhere;z-index:2}
.pie{display:grid;grid-template-columns:minmax(120px,180px) 1fr;gap:16px;align-items:center}
.pie .legend{flex-direction:column}
ol.top{margin:0;padding:0 0 0 22px}
ol.top li{margin:3px 0;overflow-wrap:anywhere}
@media (max-width:520px){.pie{grid-template-columns:1fr}.panel{padding:12px}}
@media print{body{background:#fff}.bar,.file,button,#flame,#compare,#suggestions{display:none}th button{display:inline}.panel,.card{break-inside:avoid;border-color:#bbb}#page{max-width:none;padding:0}}
`;
