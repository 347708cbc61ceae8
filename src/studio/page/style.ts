// The look of the page. Two themes by what the reader's system prefers; colours are never the only sign of a state.

export const style = /* css */ `
:root {
  color-scheme: light dark;
  --bg: #f5f6f8; --surface: #ffffff; --raised: #fbfcfd; --border: #dfe4e9; --grid: #e8ecf0;
  --text: #10171e; --muted: #566270; --accent: #0b6e60; --accent-soft: #e2f2ef;
  --good: #136f43; --good-soft: #e3f4ea; --watch: #8a5200; --watch-soft: #fdf1dc;
  --bad: #b3201a; --bad-soft: #fdeae8; --unknown: #566270; --unknown-soft: #eceff2;
  --c1: #0b8574; --c2: #3d63dd; --c3: #b3650a; --c4: #c23a6b; --c5: #7a52c7;
  --radius: 12px; --shadow: 0 1px 2px rgb(16 23 30 / 5%);
}
@media (prefers-color-scheme: dark) {
  :root {
    --bg: #0c1014; --surface: #141a20; --raised: #1a2129; --border: #29323c; --grid: #212a33;
    --text: #e9eef3; --muted: #9aa7b4; --accent: #57d3bf; --accent-soft: #12302c;
    --good: #58cd93; --good-soft: #11301f; --watch: #f2b65a; --watch-soft: #362811;
    --bad: #ff857c; --bad-soft: #3c1a19; --unknown: #9aa7b4; --unknown-soft: #222a32;
    --c1: #3fd0ba; --c2: #86a4ff; --c3: #f0a955; --c4: #ff8ab3; --c5: #b99cff;
    --shadow: none;
  }
}
* { box-sizing: border-box; }
[hidden] { display: none !important; }
html { -webkit-text-size-adjust: 100%; }
body { margin: 0; background: var(--bg); color: var(--text); font: 14px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; font-variant-numeric: tabular-nums; }
h1, h2, h3, p, dl, dd, ul, ol, figure, pre { margin: 0; padding: 0; }
h1 { font-size: 22px; line-height: 1.25; letter-spacing: -0.01em; font-weight: 650; }
h2 { font-size: 15px; font-weight: 620; line-height: 1.35; }
h3 { font-size: 14px; font-weight: 600; }
ul { list-style: none; }
code, pre { font: 12.5px/1.55 ui-monospace, "SF Mono", Menlo, Consolas, monospace; }
a { color: var(--accent); }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; border-radius: 6px; }
main:focus { outline: none; }
.hidden { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
.skip { position: fixed; top: 8px; left: 8px; z-index: 9; padding: 8px 14px; border-radius: 8px; background: var(--accent); color: var(--surface); transform: translateY(-200%); }
.skip:focus { transform: none; }
.loading { padding: 40px; color: var(--muted); }
.icon { width: 18px; height: 18px; fill: none; stroke: currentColor; stroke-width: 1.9; stroke-linecap: round; stroke-linejoin: round; flex: none; }

#app { display: grid; grid-template-columns: 232px minmax(0, 1fr); min-height: 100vh; }
.sidebar { background: var(--surface); border-right: 1px solid var(--border); }
.sidebar-inner { position: sticky; top: 0; height: 100vh; display: flex; flex-direction: column; padding: 20px 14px; overflow-y: auto; }
.brand { display: flex; align-items: center; gap: 10px; padding: 0 8px 18px; font-size: 15px; letter-spacing: -0.01em; }
.brand b { font-weight: 650; }
.logo { display: grid; gap: 3px; align-content: center; width: 28px; height: 28px; padding: 0 7px; border-radius: 8px; background: #0b6e60; }
.logo i { height: 2.5px; border-radius: 2px; background: #fff; }
.logo i:nth-child(1) { width: 45%; } .logo i:nth-child(2) { width: 75%; }
.drawer { display: flex; flex-direction: column; flex: 1; min-height: 0; }
.choice { padding: 0 8px 14px; }
.program { color: var(--muted); overflow-wrap: anywhere; font-size: 13px; }
.chooser { width: 100%; }
nav { display: grid; gap: 2px; }
.nav-link { display: flex; align-items: center; gap: 10px; padding: 8px 10px; border-radius: 8px; color: var(--muted); text-decoration: none; font-weight: 500; }
.nav-link:hover { background: var(--raised); color: var(--text); }
.nav-link[aria-current] { background: var(--accent-soft); color: var(--accent); font-weight: 600; }
.connection { margin-top: auto; padding: 12px 10px 0; color: var(--muted); font-size: 13px; display: flex; align-items: center; gap: 8px; }
.connection::before { content: ""; width: 9px; height: 9px; border-radius: 50%; border: 2px solid var(--muted); }
.connection.live::before { background: var(--good); border-color: var(--good); }
.connection.stale::before, .connection.locked::before { border-color: var(--bad); border-radius: 2px; }
.menu { display: none; }

.content { padding: 26px 32px 60px; min-width: 0; }
.content > * { max-width: 1180px; margin-inline: auto; }
.top { display: flex; gap: 24px; align-items: flex-start; justify-content: space-between; margin-bottom: 20px; }
.top > div { flex: none; }
.about { color: var(--muted); }
.health { display: flex; gap: 9px; align-items: flex-start; padding: 9px 14px; border-radius: 10px; font-weight: 500; max-width: 62ch; min-height: 40px; }
.health .badge-icon { margin-top: 1px; }
.banner { padding: 11px 16px; margin-bottom: 18px; border-radius: 10px; background: var(--bad-soft); color: var(--bad); font-weight: 550; }
.stale main { filter: grayscale(1); opacity: 0.55; }
.stale .health { filter: grayscale(1); opacity: 0.55; }
.stack { display: grid; gap: 18px; grid-template-columns: minmax(0, 1fr); }
.stack.tight { gap: 12px; }
.row { display: flex; gap: 14px; justify-content: space-between; align-items: flex-start; }

.good { color: var(--good); background: var(--good-soft); }
.watch { color: var(--watch); background: var(--watch-soft); }
.bad { color: var(--bad); background: var(--bad-soft); }
.unknown { color: var(--unknown); background: var(--unknown-soft); }
.badge { display: inline-flex; align-items: center; gap: 5px; padding: 2px 10px 2px 6px; border-radius: 99px; font-size: 12.5px; font-weight: 600; white-space: nowrap; }
.badge-icon { display: inline-flex; flex: none; }
.badge .icon { width: 16px; height: 16px; stroke-width: 2.1; }
.health .icon, .alert .icon { stroke-width: 2.1; width: 19px; height: 19px; }

.answers { display: grid; grid-template-columns: repeat(3, minmax(0, 1fr)); gap: 18px; }
.card { padding: 18px 20px 20px; border-radius: var(--radius); border: 1px solid var(--border); border-top-width: 3px; background: var(--surface); box-shadow: var(--shadow); color: var(--text); min-height: 168px; }
.card.good { border-top-color: var(--good); } .card.watch { border-top-color: var(--watch); }
.card.bad { border-top-color: var(--bad); } .card.unknown { border-top-color: var(--border); }
.card-head { display: flex; justify-content: space-between; gap: 10px; align-items: center; margin-bottom: 12px; }
.card-head h2 { font-size: 13.5px; font-weight: 550; color: var(--muted); }
.answer { font-size: 22px; line-height: 1.25; font-weight: 640; letter-spacing: -0.015em; overflow-wrap: anywhere; }
.answer:empty, .answer-detail:empty, .hint:empty { display: none; }
.answer-detail { margin-top: 6px; color: var(--muted); overflow-wrap: anywhere; }
.alerts { display: grid; gap: 8px; }
.alert { display: flex; gap: 9px; padding: 11px 16px; border-radius: 10px; font-weight: 550; }

.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(170px, 1fr)); border: 1px solid var(--border); border-radius: var(--radius); overflow: hidden; background: var(--surface); }
.figures.three { grid-template-columns: repeat(3, minmax(0, 1fr)); }
.figures.four { grid-template-columns: repeat(4, minmax(0, 1fr)); }
.figure { padding: 14px 18px; min-height: 98px; min-width: 0; box-shadow: 0 0 0 0.5px var(--border); }
.figure dt { color: var(--muted); font-size: 13px; }
.figure-value { font-size: 21px; font-weight: 620; letter-spacing: -0.01em; line-height: 1.35; overflow-wrap: anywhere; }
.is-unknown { color: var(--muted); font-weight: 450; font-style: italic; }
.figure-detail { color: var(--muted); font-size: 12.5px; line-height: 1.4; overflow-wrap: anywhere; }
.spark { display: block; width: 100%; height: 26px; margin-top: 6px; }
.meter { position: relative; height: 8px; margin-top: 10px; border-radius: 4px; background: var(--unknown-soft); }
.meter-bar { display: block; height: 100%; border-radius: 4px; min-width: 2px; transition: width 0.3s; }
.meter-bar.good { background: var(--good); } .meter-bar.watch { background: var(--watch); } .meter-bar.bad { background: var(--bad); } .meter-bar.unknown { background: transparent; }
.meter-marks i { position: absolute; top: -2px; height: 12px; width: 1.5px; background: var(--muted); opacity: 0.55; }

.panel { padding: 18px 20px; border: 1px solid var(--border); border-radius: var(--radius); background: var(--surface); box-shadow: var(--shadow); min-width: 0; }
.panel-head { margin-bottom: 14px; }
.hint { color: var(--muted); font-size: 13px; overflow-wrap: anywhere; }
.panel > .hint { margin-bottom: 10px; }
.note { padding: 8px 12px; margin: 8px 0; border-radius: 8px; background: var(--raised); border: 1px solid var(--border); overflow-wrap: anywhere; }
.empty { padding: 18px; border: 1px dashed var(--border); border-radius: 10px; color: var(--muted); }
.empty pre { margin-top: 8px; color: var(--text); white-space: pre-wrap; overflow-wrap: anywhere; }
.facts { display: grid; grid-template-columns: repeat(auto-fill, minmax(210px, 1fr)); gap: 10px 20px; margin-bottom: 16px; }
.facts dt { color: var(--muted); font-size: 12.5px; } .facts dd { overflow-wrap: anywhere; }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(300px, 1fr)); gap: 18px; margin-bottom: 8px; }

.chart figcaption { display: flex; flex-wrap: wrap; justify-content: space-between; gap: 2px 16px; margin-bottom: 4px; font-size: 13px; }
.chart-title { font-weight: 560; }
.chart-box { min-height: 120px; width: 100%; overflow: hidden; }
.legend { display: flex; flex-wrap: wrap; gap: 2px 14px; color: var(--muted); font-size: 12.5px; }
.legend b { color: var(--text); font-weight: 580; display: inline-block; min-width: 5ch; }
.key i { display: inline-block; width: 14px; height: 0; border-top: 2.5px solid; margin-right: 5px; vertical-align: middle; }
.key.dashed i { border-top-style: dashed; }
.kc1 i { border-color: var(--c1); } .kc2 i { border-color: var(--c2); } .kc3 i { border-color: var(--c3); } .kc4 i { border-color: var(--c4); } .kc5 i { border-color: var(--c5); }
.scatter { display: block; width: 100%; height: 320px; margin-top: 8px; }
.timeline { display: block; width: 100%; }

.table-box { min-width: 0; }
table { width: 100%; border-collapse: collapse; }
th { text-align: left; font-weight: 550; font-size: 12.5px; color: var(--muted); padding: 6px 10px; border-bottom: 1px solid var(--border); white-space: nowrap; }
td { position: relative; padding: 7px 10px; border-bottom: 1px solid var(--grid); overflow-wrap: anywhere; }
tr:last-child td { border-bottom: 0; }
tbody tr:hover { background: var(--raised); }
.number { text-align: right; white-space: nowrap; }
th:first-child, td:first-child { padding-left: 4px; }
th:last-child, td:last-child { padding-right: 4px; }
.cell-bar { position: absolute; right: 6px; bottom: 3px; height: 3px; border-radius: 2px; background: var(--c1); opacity: 0.75; max-width: calc(100% - 12px); }

.events { display: grid; }
.event { display: grid; grid-template-columns: 20px 66px 90px minmax(0, 1fr) auto; gap: 10px; align-items: baseline; padding: 8px 4px; border-bottom: 1px solid var(--grid); }
.event:last-child { border-bottom: 0; }
.event-sign { width: 20px; height: 20px; display: grid; place-items: center; align-self: start; background: none; }
.event-sign .icon { width: 18px; height: 18px; stroke-width: 2; }
.event-sign.info { color: var(--muted); } .dot { width: 6px; height: 6px; border-radius: 50%; background: var(--muted); }
.event-sign.bad, .event-sign.watch { background: none; }
.event time { color: var(--muted); }
.event-kind { color: var(--muted); overflow-wrap: anywhere; }
.event-text { overflow-wrap: anywhere; }
.event-count { color: var(--muted); font-weight: 600; }
.event-device { color: var(--muted); font-size: 12.5px; }
.toolbar { display: flex; flex-wrap: wrap; gap: 8px; align-items: center; margin-bottom: 12px; }
.toolbar input[type="search"] { flex: 1 1 180px; }

button, select, input { font: inherit; color: inherit; }
.button, .chooser, .field input, .field select, input[type="search"] { min-height: 36px; padding: 6px 12px; border-radius: 8px; border: 1px solid var(--border); background: var(--raised); color: var(--text); }
.button { display: inline-flex; gap: 7px; align-items: center; cursor: pointer; text-decoration: none; font-weight: 550; }
.button:hover { border-color: var(--muted); }
.button .icon { width: 16px; height: 16px; }
.button.primary { background: var(--accent); border-color: var(--accent); color: var(--surface); }
.button[aria-pressed="true"] { background: var(--watch-soft); color: var(--watch); border-color: var(--watch); }
.chip { display: inline-flex; align-items: center; gap: 6px; min-height: 36px; padding: 4px 12px; border-radius: 99px; border: 1px solid var(--border); cursor: pointer; }
.chip:has(input:checked) { background: var(--accent-soft); border-color: var(--accent); }
input[type="checkbox"] { accent-color: var(--accent); width: 16px; height: 16px; margin: 0; }
.switch { display: inline-flex; gap: 8px; align-items: center; font-weight: 550; }
.switch input { appearance: none; width: 38px; height: 22px; border-radius: 11px; background: var(--unknown-soft); border: 1px solid var(--muted); position: relative; cursor: pointer; }
.switch input::after { content: ""; position: absolute; top: 2px; left: 2px; width: 16px; height: 16px; border-radius: 50%; background: var(--muted); transition: left 0.15s; }
.switch input:checked { background: var(--accent); border-color: var(--accent); }
.switch input:checked::after { left: 18px; background: var(--surface); }
.switch input:disabled { opacity: 0.5; cursor: not-allowed; }
.form { display: flex; flex-wrap: wrap; gap: 12px; align-items: flex-end; }
.field { display: grid; gap: 4px; flex: 1 1 150px; max-width: 260px; }
.field span { font-size: 12.5px; color: var(--muted); }
.field input, .field select { width: 100%; }
.drop { display: flex; gap: 12px; align-items: center; padding: 18px 20px; border: 1.5px dashed var(--muted); border-radius: var(--radius); cursor: pointer; background: var(--surface); }
.drop:hover, .drop:focus-within { border-color: var(--accent); color: var(--accent); }
.drop .button { margin-left: auto; }
.suggestions { display: grid; gap: 10px; padding-left: 18px; list-style: disc; }
.sub { padding: 14px 16px; border: 1px solid var(--border); border-radius: 10px; background: var(--raised); }
.code { position: relative; margin: 8px 0; }
.code pre { padding: 12px 14px; border-radius: 8px; border: 1px solid var(--border); background: var(--bg); overflow: auto; max-height: 380px; }
.code .button { position: absolute; top: 8px; right: 8px; min-height: 30px; padding: 3px 10px; font-size: 12.5px; }
.proof { padding-left: 22px; display: grid; gap: 4px; } .proof li { overflow-wrap: anywhere; }
summary { cursor: pointer; padding: 6px 2px; }

.slice-box { display: grid; gap: 10px; }
.slice { width: 100%; aspect-ratio: 1; border-radius: 8px; background: var(--bg); }
.bars { width: 100%; height: 84px; border-radius: 8px; } .histogram { width: 100%; height: 150px; border-radius: 8px; display: block; }
.slider { display: grid; grid-template-columns: auto minmax(0, 1fr) 3ch; gap: 8px; align-items: center; flex: 1 1 160px; color: var(--muted); font-size: 12.5px; }
.slider input { accent-color: var(--accent); min-height: 36px; min-width: 0; width: 100%; } .slider output { text-align: right; color: var(--text); }
.slider.axis { flex: none; grid-template-columns: auto auto; } .slider select { min-height: 36px; padding: 6px 8px; border-radius: 8px; border: 1px solid var(--border); background: var(--raised); color: var(--text); }
.settings { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 430px), 1fr)); gap: 4px 28px; }
.setting { display: grid; grid-template-columns: minmax(0, 1fr) 11ch; gap: 2px 10px; align-items: center; align-content: start; padding: 8px 0; border-bottom: 1px solid var(--border); }
.setting-name, .setting-value, .setting > .switch { grid-column: 1 / -1; justify-self: start; } .setting-name { display: flex; flex-wrap: wrap; gap: 0 8px; align-items: baseline; } .setting-name .hint { margin: 0; font-size: 12px; }
.setting > input[type="range"] { accent-color: var(--accent); min-height: 36px; min-width: 0; width: 100%; }
.setting > input[type="number"], .setting > select { min-height: 36px; padding: 6px 8px; border-radius: 8px; border: 1px solid var(--border); background: var(--raised); color: var(--text); min-width: 0; width: 100%; font: inherit; font-size: 13px; }
.setting > select { max-width: 22ch; }
.setting-trouble { grid-column: 1 / -1; margin: 0; color: var(--bad); font-size: 12.5px; } .setting-trouble:empty { display: none; }

.uplot, .uplot *, .uplot *::before, .uplot *::after { box-sizing: border-box; }
.uplot { width: min-content; line-height: 1.5; }
.u-title { text-align: center; }
.u-wrap { position: relative; user-select: none; }
.u-over, .u-under { position: absolute; }
.u-under { overflow: hidden; }
.uplot canvas { display: block; position: relative; width: 100%; height: 100%; }
.u-axis { position: absolute; }
.u-select { display: none; position: absolute; pointer-events: none; }
.u-cursor-x, .u-cursor-y { position: absolute; left: 0; top: 0; pointer-events: none; will-change: transform; }
.u-hz .u-cursor-x, .u-vt .u-cursor-y { height: 100%; border-right: 1px dashed var(--muted); }
.u-hz .u-cursor-y, .u-vt .u-cursor-x { width: 100%; border-bottom: 1px dashed var(--muted); }
.u-cursor-pt { position: absolute; top: 0; left: 0; border-radius: 50%; border: 0 solid; pointer-events: none; will-change: transform; background-clip: padding-box !important; }
.u-axis.u-off, .u-select.u-off, .u-cursor-x.u-off, .u-cursor-y.u-off, .u-cursor-pt.u-off { display: none; }

@media (max-width: 1020px) {
  .answers { grid-template-columns: minmax(0, 1fr); }
  .card { min-height: 0; }
  .top { flex-direction: column; gap: 12px; }
}
@media (max-width: 760px) {
  #app { grid-template-columns: minmax(0, 1fr); }
  .sidebar { position: sticky; top: 0; z-index: 5; border-right: 0; border-bottom: 1px solid var(--border); }
  .sidebar-inner { position: static; height: auto; max-height: 100vh; flex-direction: row; flex-wrap: wrap; align-items: center; justify-content: space-between; padding: 10px 16px; }
  .brand { padding: 0; }
  .menu { display: inline-flex; gap: 6px; align-items: center; min-height: 40px; padding: 6px 12px; border: 1px solid var(--border); border-radius: 8px; background: var(--raised); cursor: pointer; }
  .drawer { display: none; flex-basis: 100%; padding-top: 12px; }
  .sidebar.open .drawer { display: flex; }
  .nav-link { padding: 11px 10px; }
  .connection { padding-bottom: 8px; }
  .content { padding: 18px 16px 48px; }
  .answers, .stack { gap: 12px; }
  .panel { padding: 14px; }
  .figures, .figures.three, .figures.four { grid-template-columns: repeat(2, minmax(0, 1fr)); }
  .figure { padding: 12px 14px; }
  .figures > .figure:last-child:nth-child(odd) { grid-column: span 2; }
  .charts { grid-template-columns: minmax(0, 1fr); }
  .scatter { height: 260px; }
  .event { grid-template-columns: 20px auto minmax(0, 1fr); gap: 2px 10px; }
  .event-text { grid-column: 2 / -1; grid-row: 2; } .event-device { display: none; }
  .field { max-width: none; }
  .drop { flex-wrap: wrap; } .drop .button { margin-left: 0; }
  thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
  tbody { display: grid; gap: 10px; }
  tbody tr { display: grid; padding: 8px 12px; border: 1px solid var(--border); border-radius: 10px; background: var(--raised); }
  td, td.number { display: flex; justify-content: space-between; gap: 14px; padding: 4px 0; border: 0; text-align: right; white-space: normal; }
  td::before { content: attr(data-label); color: var(--muted); text-align: left; flex: none; }
  td:first-child, td:last-child { padding-inline: 0; }
  td:has(> span:empty) { display: none; }
  .facts { grid-template-columns: repeat(auto-fill, minmax(140px, 1fr)); }
  .cell-bar { display: none; }
}
@media (prefers-reduced-motion: reduce) { * { transition: none !important; scroll-behavior: auto !important; } }
`;
