/* Dead letters: in groups of a kind, as a list by page, and what is done to several at once. */
import {html, useEffect, useRef, useState} from "./htm-preact-3.1.1.js";
import {ask, query} from "./api.js";
import {count, cut} from "./format.js";
import {useAsk, usePage} from "./hooks.js";
import {Confirm, IfAllowed, Progress, State, Table, Time, Trouble, usePages} from "./parts.js";
import {dryRunText, ReplayAll, WordChoice, wordBody} from "./replay.js";

export const REASONS = ["malformed", "unauthenticated", "unknown_task", "unmapped_status", "conflict",
                        "submit_failed", "submit_uncertain", "expired", "consumer_rejected"];
const LIMIT = 50;
const GROUPS = 20;
const Q_BYTES = 128; // of q, the API takes
const EMPTY_PAGES = 20; // of a search that looks at a bounded number of letters at once

/* A page that is empty though there are more: go on, but not for ever. */
async function askLetters(path) {
    let page = await ask("GET", path);
    for (let i = 0; i < EMPTY_PAGES && page.letters.length === 0 && page.cursor; i++)
        page = await ask("GET", path.replace(/&?cursor=[^&]*/, "") + `&cursor=${page.cursor}`);
    return page;
}

/* A group's filter. Its cause is needed only where another group has the same reason and provider. */
function groupFilter(group, groups) {
    const alike = groups.filter((other) => other.reason === group.reason &&
        other.provider === group.provider);
    return {reason: group.reason, provider: group.provider,
            q: alike.length > 1 ? cut(group.cause, Q_BYTES) : ""};
}

function Groups() {
    const [cursor, pager] = usePages("groups");
    const asked = "/v1/dead-letters" + query({group: 1, limit: GROUPS, cursor});
    const {value, problem} = useAsk(asked, cursor ? 0 : 5000);
    const columns = [
        {name: "Reason", of: (group) => html`<a
            href=${"#/letters" + query(groupFilter(group, value.groups))}>${group.reason}</a>`},
        {name: "Letters", number: true, of: (group) => count(group.count)},
        {name: "Cause", wide: true, of: (group) => group.cause},
        {name: "Provider", of: (group) => group.provider || "–"},
        {name: "Oldest", of: (group) => html`<${Time} ms=${group.oldest_ms} />`},
        {name: "Newest", of: (group) => html`<${Time} ms=${group.newest_ms} />`},
        {name: "Look at", of: (group) => html`<a href=${`#/letters/${group.example}`}
            aria-label=${`The newest of ${group.reason}, ${group.cause}`}>the newest</a>`},
    ];
    return html`<section><h2>By reason</h2><${Trouble} problem=${problem} />
        ${value && html`${value.note && html`<p class="soft">${value.note}</p>`}
            <${Table} label="Groups of dead letters" columns=${columns} rows=${value.groups}
                id=${(group) => `${group.reason} ${group.provider} ${group.cause}`}
                empty="There are no open or held letters: nothing needs a person." />`}
        ${pager(value, "groups")}</section>`;
}

function Filter({filter}) {
    const go = (name) => (event) => {
        location.hash = "#/letters" + query({...filter, [name]: event.target.value.trim()});
    };
    const text = (name, label) => html`<label>${label} <input value=${filter[name] || ""}
        placeholder="any" spellcheck=${false} onChange=${go(name)} /></label>`;
    const choice = (name, label, words, none) => html`<label>${label} <select
        value=${filter[name] || ""} onChange=${go(name)}><option value="">${none}</option>
        ${words.map((word) => html`<option key=${word} value=${word}>${word}</option>`)}</select></label>`;
    return html`<div class="filter" role="group" aria-label="Filter">
        ${choice("reason", "Reason", REASONS, "any")}
        ${choice("state", "State", ["open", "held", "resolved", "dropped"], "open or held")}
        ${text("provider", "Provider")} ${text("task", "Task")} ${text("consumer", "Consumer")}
        ${text("q", "Text in cause, ids or message")}
        <a class="button" href="#/letters">Clear</a></div>`;
}

/* The same command for each of the chosen letters, one after the other; it can be stopped. */
function useEach(done) {
    const [state, set] = useState(null);
    const stop = useRef(false);
    useEffect(() => () => { stop.current = true; }, []);
    const start = async (name, ids, work) => {
        const lines = [];
        stop.current = false;
        for (let i = 0; i < ids.length && !stop.current; i++) {
            set({name, at: i, of: ids.length, lines: [...lines]});
            try {
                lines.push({id: ids[i], text: await work(ids[i]), ok: true});
            } catch (problem) {
                lines.push({id: ids[i], text: problem.message, ok: false});
            }
        }
        set({name, at: lines.length, of: ids.length, lines, over: true});
        done();
    };
    const box = state && html`<section class="each" role="status">
        <${Progress} label=${state.name} value=${state.at} of=${state.of} />
        ${!state.over && html`<button type="button" onClick=${() => { stop.current = true; }}>Stop
            </button>`}
        ${state.over && html`<p>${count(state.lines.filter((line) => line.ok).length)} of
            ${" "}${count(state.of)} went well.</p><ul class="lines">${state.lines.map((line) =>
            html`<li key=${line.id}><${State} word=${line.ok ? "ok" : "refused"}
                kind=${line.ok ? "good" : "bad"} /> <a href=${`#/letters/${line.id}`}>${line.id}</a>
                ${" "}${line.text}</li>`)}</ul>
            <button type="button" onClick=${() => set(null)}>Close</button>`}</section>`;
    return [start, box, state && !state.over];
}

function Chosen({ids, chosen, clear, again}) {
    const {by} = usePage();
    const [dialog, set] = useState("");
    const [word, setWord] = useState("");
    const [start, box, busy] = useEach(again);
    const list = ids.filter((id) => chosen.has(id));
    const begin = (name, work) => {
        set("");
        clear();
        start(name, list, work);
    };
    const path = (id) => `/v1/dead-letters/${id}`;
    const dry = () => begin("Dry run of the chosen", async (id) =>
        dryRunText((await ask("POST", `${path(id)}/replay`, {...wordBody(word), dry_run: true})).dry_run));
    const leave = () => { /* a word is said of these letters, not of those that are chosen next */
        set("");
        setWord("");
    };
    const replay = () => {
        begin("Replay of the chosen", async (id) =>
            `tried, and it is ${(await ask("POST", `${path(id)}/replay`, {...wordBody(word), by})).state}`);
        leave();
    };
    const drop = () => begin("Drop of the chosen", async (id) =>
        (await ask("DELETE", path(id), {by})).state);
    const some = list.length > 0 && !busy;
    return html`<p class="buttons">
        <span>${count(list.length)} of this page chosen</span>
        <button type="button" disabled=${!some} onClick=${() => set("replay")}>Replay them…</button>
        <button type="button" disabled=${!some} onClick=${() => set("drop")}>Drop them…</button></p>
        ${box}
        ${dialog === "replay" && html`<${Confirm} title=${`Replay ${count(list.length)} letters?`}
            yes="Replay" onYes=${replay} onClose=${leave}>
            <${WordChoice} word=${word} onWord=${setWord} />
            <p><button type="button" onClick=${dry}>Dry run: what would become of them?</button></p>
            </${Confirm}>`}
        ${dialog === "drop" && html`<${Confirm} title=${`Drop ${count(list.length)} letters?`} yes="Drop"
            danger onYes=${drop} onClose=${() => set("")}><p>They are closed as dropped, and not tried
            again. What they hold is kept for a while, and then it is gone.</p></${Confirm}>`}`;
}

function columnsOf(chosen, choose, all) {
    const box = {name: html`<input type="checkbox" aria-label="Choose all of this page"
            checked=${all.length > 0 && all.every((id) => chosen.has(id))}
            onChange=${(event) => choose(all, event.target.checked)} />`,
        of: (letter) => html`<input type="checkbox" aria-label=${`Choose ${letter.id}`}
            checked=${chosen.has(letter.id)}
            onChange=${(event) => choose([letter.id], event.target.checked)} />`};
    return [box,
        {name: "Letter", of: (letter) => html`<a href=${`#/letters/${letter.id}`}>${letter.id}</a>`},
        {name: "Reason", of: (letter) => letter.reason},
        {name: "State", of: (letter) => html`<${State} word=${letter.state} />`},
        {name: "Cause", wide: true, of: (letter) => letter.cause},
        {name: "Of", of: (letter) => letter.consumer || letter.provider || "–"},
        {name: "Task", of: (letter) => letter.task
            ? html`<a href=${`#/tasks/${letter.task}`}>${letter.task}</a>` : "–"},
        {name: "Tries", number: true, of: (letter) => count(letter.attempts)},
        {name: "Made", of: (letter) => html`<${Time} ms=${letter.made_ms} />`},
        {name: "Next try", of: (letter) => html`<${Time} ms=${letter.due_ms} />`}];
}

function List({filter}) {
    const key = query(filter);
    const {access} = usePage();
    const [cursor, pager] = usePages(key);
    const [chosen, set] = useState(new Set());
    const [replaying, setReplaying] = useState(false);
    const asked = "/v1/dead-letters" + query({...filter, limit: LIMIT, cursor});
    const {value, problem, again} = useAsk(asked, 0, askLetters);
    useEffect(() => set(new Set()), [asked]);
    const choose = (ids, on) => set((old) => {
        const next = new Set(old);
        ids.forEach((id) => on ? next.add(id) : next.delete(id));
        return next;
    });
    const ids = value ? value.letters.map((letter) => letter.id) : [];
    const open = !filter.state || filter.state === "open" || filter.state === "held";
    const columns = columnsOf(chosen, choose, ids);
    return html`<section><h2>Letters</h2><${Filter} filter=${filter} />
        <${Trouble} problem=${problem} />
        <p class="buttons"><button type="button" onClick=${again}>Ask again</button>
            ${open && html`<${IfAllowed}><button type="button" onClick=${() => setReplaying(true)}>
                Replay all that match…</button></${IfAllowed}>`}
            <a href="#/replays">Bulk replays</a></p>
        ${open && html`<${IfAllowed}><${Chosen} ids=${ids} chosen=${chosen}
            again=${again} clear=${() => set(new Set())} /></${IfAllowed}>`}
        ${value && html`${value.note && html`<p class="soft">${value.note}</p>`}
            <${Table} label="Dead letters" columns=${access?.change ? columns : columns.slice(1)}
                rows=${value.letters} empty=${value.cursor
                    ? "None so far; there are more letters to look through." : "There is no such letter."} />`}
        ${pager(value, "letters")}
        ${replaying && html`<${ReplayAll} filter=${filter} onClose=${() => setReplaying(false)} />`}
        </section>`;
}

export function Letters({filter}) {
    return html`<${Groups} /><${List} filter=${filter} />`;
}
