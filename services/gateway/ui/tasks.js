/* Tasks: found by id, listed by page, and one of them with all that happened to it. */
import {html, useMemo, useState} from "./htm-preact-3.1.1.js";
import {ask, askText, query} from "./api.js";
import {layOut} from "./format.js";
import {useAsk, useDoing, usePage} from "./hooks.js";
import {Bytes, Confirm, Facts, IfAllowed, State, Table, Time, Trouble, usePages} from "./parts.js";

const STATES = ["accepted", "submitting", "pending", "done", "failed", "lost", "expired", "cancelled"];
const OPEN = ["accepted", "submitting", "pending", "polling"];
const LIMIT = 50;
const SOON_MS = 2000;
const SELDOM_MS = 10000; // an end can still be corrected, and letters about it come

const COLUMNS = [
    {name: "Task", of: (task) => html`<a href=${`#/tasks/${task.id}`}>${task.id}</a>`},
    {name: "State", of: (task) => html`<${State} word=${task.state} />`},
    {name: "By", of: (task) => task.source || "–"},
    {name: "Provider", of: (task) => task.provider},
    {name: "Provider's id", of: (task) => task.provider_id || "–"},
    {name: "Key", of: (task) => task.key || "–"},
    {name: "Code", of: (task) => task.code || "–"},
    {name: "Made", of: (task) => html`<${Time} ms=${task.created_ms} />`},
    {name: "Ended", of: (task) => html`<${Time} ms=${task.ended_ms} />`},
];

function Find({filter}) {
    const [q, set] = useState(filter.q || "");
    const [run, busy] = useDoing();
    const find = (event) => {
        event.preventDefault();
        const text = q.trim();
        if (!text)
            location.hash = "#/tasks";
        else
            run(async () => {
                const {tasks} = await ask("GET", "/v1/tasks" + query({q: text, limit: 2}));
                location.hash = tasks.length === 1 ? `#/tasks/${tasks[0].id}`
                                                   : "#/tasks" + query({q: text});
            });
    };
    return html`<form class="find" role="search" onSubmit=${find}>
        <label>Find a task by its id, the provider's id, or its key, whole
        <input name="q" type="search" autocomplete="off" spellcheck=${false} value=${q}
            onInput=${(event) => set(event.target.value)} /></label>
        <button type="submit" class="main" disabled=${busy}>Find</button></form>`;
}

function Filter({filter}) {
    const go = (change) => {
        location.hash = "#/tasks" + query({...filter, q: "", ...change});
    };
    const provider = (event) => go({provider: event.target.value.trim()});
    return html`<div class="filter" role="group" aria-label="Filter">
        <label>State <select value=${filter.state || ""}
            onChange=${(event) => go({state: event.target.value})}>
            <option value="">any</option>
            ${STATES.map((word) => html`<option key=${word} value=${word}>${word}</option>`)}
        </select></label>
        <label>Provider <input value=${filter.provider || ""} placeholder="any" onChange=${provider} />
        </label></div>`;
}

export function Tasks({filter}) {
    const key = query(filter);
    const [cursor, pager] = usePages(key);
    const asked = "/v1/tasks" + query({...filter, limit: LIMIT, cursor});
    const {value, problem, again} = useAsk(asked, cursor ? 0 : 5000);
    return html`<${Find} key=${filter.q} filter=${filter} /><${Filter} filter=${filter} />
        <${Trouble} problem=${problem} />
        ${value && html`<${Table} label="Tasks" columns=${COLUMNS} rows=${value.tasks}
            empty=${filter.q ? `No task has ${filter.q} as its id, provider's id or key.`
                             : "There is no such task."} />`}
        ${pager(value, "tasks")}
        ${cursor && html`<button type="button" onClick=${again}>Ask again</button>`}`;
}

/* Of JSON the very bytes are asked for: a number of twenty digits must stay one. Made anew (by its key)
 * when a correction has taken the result's place. */
function Result({task}) {
    const json = task.result_type === "json";
    const {value, problem, again} = useAsk(json ? `/v1/tasks/${task.id}/result` : null, 0, askText);
    const laidOut = useMemo(() => value == null ? null : layOut(value), [value]);
    if (!task.result_type) // there is none
        return null;
    if (!json)
        return html`<${Bytes} label="Result" text=${task.result} base64=${task.result_base64} />`;
    return html`<${Trouble} problem=${problem} />
        ${problem && html`<button type="button" onClick=${again}>Ask for the result again</button>`}
        ${laidOut != null && html`<${Bytes} label="Result" text=${laidOut} />`}`;
}

function Timeline({lines}) {
    return html`<section><h2>What happened</h2>${lines.length === 0
        ? html`<p class="empty">Nothing is kept of it any more.</p>`
        : html`<ol class="timeline">${lines.map((line, i) => html`<li key=${i}>
            <${Time} ms=${line.at_ms} exact /> <strong>${line.what}</strong> ${line.text}</li>`)}</ol>`}
        </section>`;
}

function LettersOf({id, everyMs}) {
    const {value} = useAsk("/v1/dead-letters" + query({task: id, limit: 20}), everyMs);
    return value && value.letters.length > 0 && html`<section><h2>Dead letters about it</h2><ul>
        ${value.letters.map((letter) => html`<li key=${letter.id}>
            <a href=${`#/letters/${letter.id}`}>${letter.reason}</a> <${State} word=${letter.state} />
            ${" "}${letter.cause}</li>`)}</ul></section>`;
}

function Cancel({task, again}) {
    const {by} = usePage();
    const [asking, set] = useState(false);
    const [run, busy] = useDoing();
    const cancel = async () => {
        await run(() => ask("POST", `/v1/tasks/${task.id}/cancel`, {by}), `Task ${task.id} is cancelled.`);
        set(false);
        again();
    };
    return html`<button type="button" onClick=${() => set(true)}>Cancel it…</button>
        ${asking && html`<${Confirm} title="Cancel this task?" yes="Stop waiting" danger busy=${busy}
            onYes=${cancel} onClose=${() => set(false)}>
            <p>Nobody waits for task ${task.id} any more, and its event says cancelled. What the provider
            still sends is counted and ends nothing. What was bought stays bought.</p></${Confirm}>`}`;
}

function facts(task) {
    const time = (ms) => ms && html`<${Time} ms=${ms} exact />`;
    const other = (id) => id && html`<a href=${`#/tasks/${id}`}>${id}</a>`;
    return [
        ["State", html`<${State} word=${task.state} />`], ["Provider", task.provider],
        ["Provider's id", task.provider_id], ["Key", task.key], ["Meta", task.meta],
        ["Ended by", task.source], ["Code", task.code], ["Made", time(task.created_ms)],
        ["Ended", time(task.ended_ms)], ["Polled from", time(task.stale_at_ms)],
        ["Given up at", time(task.give_up_at_ms)], ["Polls", task.polls],
        ["Submissions begun", task.attempts], ["Submitted again", task.resubmits],
        ["Event", task.position], ["Corrects the event", task.corrects],
        ["Replaces", other(task.replaces)], ["Replaced by", other(task.replaced_by)],
        ["Trace", task.trace],
    ];
}

const pace = (task) => task && !OPEN.includes(task.state) ? SELDOM_MS : SOON_MS;

export function Task({id}) {
    const {value: task, problem, again} = useAsk(`/v1/tasks/${encodeURIComponent(id)}`, pace);
    if (!task)
        return problem ? html`<${Trouble} problem=${problem} />
            <p><a href="#/tasks">All tasks</a></p>` : html`<p class="empty">Asking…</p>`;
    return html`<${Trouble} problem=${problem} />
        <${Facts} rows=${facts(task)} />
        ${OPEN.includes(task.state) && html`<${IfAllowed}><p class="buttons">
            <${Cancel} task=${task} again=${again} /></p></${IfAllowed}>`}
        <${Result} key=${task.position} task=${task} />
        <${Timeline} lines=${task.timeline} />
        <${LettersOf} id=${task.id} everyMs=${pace(task)} />`;
}
