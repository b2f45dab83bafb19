/* The first screen: is everything well, and if not, where is it not? */
import {html, useState} from "./htm-preact-3.1.1.js";
import {ask} from "./api.js";
import {Rates} from "./chart.js";
import {count, duration} from "./format.js";
import {useDoing, usePage} from "./hooks.js";
import {State} from "./parts.js";

function Tile({name, value, kind, href, children}) {
    return html`<li class=${`tile ${kind || ""}`} data-tile=${name}><h2>${name}</h2>
        <p class="figure">${href ? html`<a href=${href}>${value}</a>` : value}</p>
        <p class="more">${children}</p></li>`;
}

function Oldest({status}) {
    const facts = status.status;
    if (!facts.oldest_open_at_ms)
        return html`<${Tile} name="Oldest open task" value="none">no task waits</${Tile}>`;
    return html`<${Tile} name="Oldest open task" href=${`#/tasks/${facts.oldest_open}`}
        value=${duration(Date.now() - facts.oldest_open_at_ms)}>
        task ${facts.oldest_open}</${Tile}>`;
}

function Letters({status}) {
    const dlq = status.dlq;
    if (!dlq)
        return html`<${Tile} name="Dead letters" value="?" kind="bad">the dlq is away</${Tile}>`;
    const all = dlq.open + dlq.held;
    return html`<${Tile} name="Dead letters" value=${count(all)} href="#/letters"
        kind=${all > 0 ? "warn" : ""}>
        ${all > 0 ? `${count(dlq.open)} open, ${count(dlq.held)} held for a person; the oldest is ` +
            `${duration(dlq.oldest_age_ms)} old` : "nothing needs a person"}</${Tile}>`;
}

function Spool({spool}) {
    const kind = spool.writable ? (spool.items || spool.damaged ? "warn" : "") : "bad";
    const damaged = spool.damaged ? `; ${count(spool.damaged)} damaged` : "";
    return html`<${Tile} name="Spool" value=${count(spool.items)} kind=${kind}>
        ${!spool.writable ? "it can't be written" : spool.items
            ? `callbacks wait for the tracker, the oldest ${duration(spool.oldest_ms)}`
            : "no callback waits on this gateway"}${damaged}</${Tile}>`;
}

function Books({status}) {
    const [run, busy] = useDoing();
    const [audit, set] = useState(null);
    const told = status.status?.balanced;
    const well = told === 1 && (!audit || audit.balanced); // what was compared may be long ago
    const look = () => run(async () => set(await ask("GET", "/v1/audit")));
    return html`<${Tile} name="Books" kind=${well ? "" : "bad"}
        value=${html`<${State} word=${well ? "balanced" : "not balanced"}
            kind=${well ? "good" : "bad"} />`}>
        ${typeof told === "string" ? told : audit
            ? audit.problems.join("; ") || "all four ledgers were compared" : "as the tracker keeps them"}
        ${" "}<button type="button" class="small" disabled=${busy} onClick=${look}>
            ${busy ? "Comparing…" : "Compare all"}</button></${Tile}>`;
}

function Tiles({status}) {
    const {tasks} = status;
    return html`<ul class="tiles">
        ${tasks && html`<${Tile} name="Open tasks" value=${count(tasks.open)}
            href="#/tasks?state=pending">${count(tasks.pending)} pending, ${count(tasks.polling)} polled,
            ${" "}${count(tasks.submitting)} submitting, ${count(tasks.accepted)} accepted</${Tile}>
        <${Oldest} status=${status} />
        <${Tile} name="Pollers" value=${count(status.status.pollers)}
            kind=${status.status.pollers > 0 ? "" : "bad"}>
            ${status.status.pollers > 0 ? "ask for what is late" : "nobody asks for what is late"}
        </${Tile}>`}
        <${Letters} status=${status} />
        <${Spool} spool=${status.spool} />
        ${tasks && html`<${Tile} name="Parked" value=${count(status.status.parked)}>
            callbacks wait for their task</${Tile}>
        <${Books} status=${status} />`}
    </ul>`;
}

function Notes({status}) {
    const away = status.away.map((name) => html`<li key=${name}><${State} word="away" /> The ${name} does
        not answer${name === "tracker" ? ": callbacks go to the spools, and wait" : ""}.</li>`);
    const settings = Object.entries(status.settings || {}).map(([name, text]) => html`<li key=${name}>
        <${State} word="refused" kind="warn" /> Settings of ${name}: ${text}</li>`);
    const notes = [...away, ...settings];
    return notes.length > 0 && html`<ul class="notes" role="alert">${notes}</ul>`;
}

/* What ended, since the store was made. */
function Ends({tasks, results}) {
    const rows = ["done", "failed", "lost", "expired", "cancelled"];
    return html`<section><h2>All tasks so far</h2><ul class="counts">
        ${rows.map((word) => html`<li key=${word}><${State} word=${word} /> ${count(tasks[word])}</li>`)}
        </ul><p class="soft">of ${count(tasks.created)}; answers by callback ${count(results.callback)},
        late callback ${count(results.late)}, poll ${count(results.poll)}, submission
        ${" "}${count(results.submit)}, replay ${count(results.replay)}, by hand
        ${" "}${count(results.manual)}</p></section>`;
}

export function Overview({theme}) {
    const {status, points} = usePage();
    if (!status)
        return html`<p class="empty">Waiting for the first figures…</p>`;
    return html`<${Notes} status=${status} />
        <${Tiles} status=${status} />
        <section><h2>By net</h2><${Rates} points=${points} theme=${theme} /></section>
        ${status.tasks && html`<${Ends} tasks=${status.tasks} results=${status.results} />`}`;
}
