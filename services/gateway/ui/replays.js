/* Bulk replays: how far they are, what came of the letters, and their pauses. */
import {html} from "./htm-preact-3.1.1.js";
import {ask, query} from "./api.js";
import {count} from "./format.js";
import {useAsk, useDoing, usePage} from "./hooks.js";
import {Facts, IfAllowed, Progress, State, Table, Time, Trouble, usePages} from "./parts.js";

const LIMIT = 20;

function words(replay) {
    const filter = Object.entries(replay.filter).filter(([, value]) => value)
        .map(([name, value]) => `${name} ${value}`);
    return [...filter, replay.believe && "believed", replay.buy && "bought",
            replay.publish && "published"].filter(Boolean).join(", ") || "all open and held letters";
}

const COLUMNS = [
    {name: "Replay", of: (replay) => html`<a href=${`#/replays/${replay.id}`}>${replay.id}</a>`},
    {name: "State", of: (replay) => html`<${State} word=${replay.state} />`},
    {name: "Of", wide: true, of: words},
    {name: "Kind", of: (replay) => replay.dry_run ? "dry run" : "replay"},
    {name: "By", of: (replay) => replay.by},
    {name: "Looked at", number: true, of: (replay) => `${count(replay.scanned)} of ${count(replay.total)}`},
    {name: "Begun", of: (replay) => html`<${Time} ms=${replay.begun_ms || replay.made_ms} />`},
];

export function Replays() {
    const [cursor, pager] = usePages("replays");
    const {value, problem} = useAsk("/v1/replays" + query({limit: LIMIT, cursor}), cursor ? 0 : 3000);
    return html`<${Trouble} problem=${problem} />${value && html`<${Table} label="Bulk replays"
        columns=${COLUMNS} rows=${value.replays} empty="There was none." />`}
        ${pager(value, "replays")}`;
}

function Commands({replay, again}) {
    const {by} = usePage();
    const [run, busy] = useDoing();
    const tell = (method, path, said) => () => run(async () => {
        await ask(method, `/v1/replays/${replay.id}${path}`, {by});
        again();
    }, said);
    if (replay.state === "done" || replay.state === "cancelled")
        return null;
    return html`<${IfAllowed}><p class="buttons">
        ${replay.state === "paused"
            ? html`<button type="button" disabled=${busy}
                onClick=${tell("POST", "/resume", "It goes on.")}>Resume</button>`
            : html`<button type="button" disabled=${busy}
                onClick=${tell("POST", "/pause", "It is paused.")}>Pause</button>`}
        <button type="button" disabled=${busy} onClick=${tell("DELETE", "", "It is cancelled.")}>Cancel it
        </button></p></${IfAllowed}>`;
}

const RESULTS = [
    {name: "Letters", number: true, of: (row) => count(row.count)},
    {name: "Of reason", of: (row) => row.reason},
    {name: "Came to", of: (row) => row.result},
    {name: "Why", wide: true, of: (row) => row.why || "–"},
];

export function Replay({id}) {
    const {value: replay, problem, again} = useAsk(`/v1/replays/${encodeURIComponent(id)}`, 1000);
    if (!replay)
        return problem ? html`<${Trouble} problem=${problem} /><p><a href="#/replays">All replays</a></p>`
                       : html`<p class="empty">Asking…</p>`;
    return html`<${Trouble} problem=${problem} />
        <p><${State} word=${replay.state} /> ${replay.dry_run
            ? "a dry run (nothing is done)" : "a replay"} of ${words(replay)}</p>
        <${Progress} label="Letters looked at" value=${replay.scanned} of=${replay.total} />
        ${replay.note && html`<p class="soft">${replay.note}</p>`}
        <${Commands} replay=${replay} again=${again} />
        <${Facts} rows=${[["Match", count(replay.seen)],
            ["Tries asked for", count(replay.replayed)], ["Answered", count(replay.answered)],
            ["Skipped", count(replay.skipped)], ["Rate", `${replay.rate} a second`], ["By", replay.by],
            ["Made", html`<${Time} ms=${replay.made_ms} exact />`],
            ["Ended", replay.ended_ms && html`<${Time} ms=${replay.ended_ms} exact />`]]} />
        <section><h2>What came of them</h2><${Table} label="Results" columns=${RESULTS}
            rows=${replay.counts} id=${(row) => `${row.result} ${row.reason} ${row.why}`}
            empty="Nothing yet." /></section>
        <p><a href="#/letters">Dead letters</a> <a href="#/replays">All replays</a></p>`;
}
