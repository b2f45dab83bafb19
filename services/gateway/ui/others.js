/* Providers, consumers, and the record of what people did. */
import {html, useState} from "./htm-preact-3.1.1.js";
import {ask, query} from "./api.js";
import {count, duration} from "./format.js";
import {useAsk, useDoing, usePage} from "./hooks.js";
import {Confirm, Facts, IfAllowed, State, Table, Time, Trouble, usePages} from "./parts.js";

/* ---- providers ---- */

function stateOf(provider) {
    if (provider.paused)
        return "paused";
    if (provider.blocked_until_ms)
        return "blocked";
    return provider.breaker === "closed" || !provider.breaker ? "asked" : "in trouble";
}

function Budget({budget}) {
    const {name, used, limit} = budget;
    const gap = budget.min_gap_ms ? `, ${duration(budget.min_gap_ms)} apart` : "";
    if (!limit)
        return html`<li>Budget ${name}: ${count(used)} used${gap}</li>`;
    const per = budget.per_ms ? ` in ${duration(budget.per_ms)}` : " at once";
    return html`<li><meter min="0" max=${limit} value=${used} high=${0.9 * limit}
        aria-label=${`Budget ${name}`}></meter> Budget ${name}: ${count(used)} of ${count(limit)}${per}
        ${gap}${used >= limit && html` <${State} word="used up" kind="warn" />`}</li>`;
}

function Pause({provider, again}) {
    const {by} = usePage();
    const [asking, set] = useState(false);
    const [run, busy] = useDoing();
    const tell = (word, said) => run(async () => {
        await ask("POST", `/v1/providers/${encodeURIComponent(provider.name)}/${word}`, {by});
        set(false);
        again();
    }, said);
    if (provider.paused)
        return html`<button type="button" disabled=${busy}
            onClick=${() => tell("resume", `${provider.name} is asked again.`)}>Resume ${provider.name}
            </button>`;
    return html`<button type="button" disabled=${busy} onClick=${() => set(true)}>Pause ${provider.name}…
        </button>${asking && html`<${Confirm} title=${`Pause ${provider.name}?`} yes="Pause" busy=${busy}
            onYes=${() => tell("pause", `${provider.name} is paused.`)} onClose=${() => set(false)}>
            <p>It is not polled, and nothing is submitted to it, until somebody resumes it, over restarts
            too. Callbacks are taken. Deadlines of tasks run on.</p></${Confirm}>`}`;
}

function Provider({provider, again}) {
    const asked = provider.never_polled ? "late" : "polled";
    const learned = provider.stale_auto ? "learned" : "set";
    return html`<section class="card" data-provider=${provider.name}><h2>${provider.name} <${State}
            word=${stateOf(provider)} /></h2>
        ${provider.blocked_why && html`<p class="trouble">${provider.blocked_why}, until
            ${" "}<${Time} ms=${provider.blocked_until_ms} exact /></p>`}
        <${Facts} rows=${[
            ["Callbacks after", provider.callbacks > 0 && `${duration(provider.callback_p50_ms)} (half), ` +
                `${duration(provider.callback_p95_ms)} (95 %), of the last ${count(provider.callbacks)}`],
            [`A task is ${asked} after`, `${duration(provider.stale_after_ms)} (${learned})`],
            ["Breaker", provider.breaker + (provider.troubles
                ? `, ${count(provider.troubles)} failures in a row` : "")],
            ["Opens again", provider.open_until_ms && html`<${Time} ms=${provider.open_until_ms} />`],
            ["Open tasks", count(provider.open)],
            ["Polls", `${count(provider.queued)} queued, ${count(provider.polling)} under way`],
            ["Due since", provider.oldest_due_ms && html`<${Time} ms=${provider.oldest_due_ms} />`],
            ["Late", provider.late > 0 && count(provider.late)],
            ["Public keys", provider.keys && `${count(provider.keys.count)}${provider.keys.error
                ? `; ${provider.keys.error}` : ""}`],
        ].map(([name, value]) => [name, value || ""])} />
        ${provider.budgets.length > 0 && html`<ul class="budgets">${provider.budgets.map((budget) =>
            html`<${Budget} key=${budget.name} budget=${budget} />`)}</ul>`}
        <p class="buttons"><a href=${"#/tasks" + query({provider: provider.name})}>Its tasks</a>
            <a href=${"#/letters" + query({provider: provider.name})}>Its dead letters</a>
            <${IfAllowed}><${Pause} provider=${provider} again=${again} /></${IfAllowed}></p></section>`;
}

export function Providers() {
    const {value, problem, again} = useAsk("/v1/providers", 2000);
    return html`<${Trouble} problem=${problem} />${value && (value.providers.length === 0
        ? html`<p class="empty">The settings name no provider.</p>`
        : html`<div class="cards">${value.providers.map((provider) => html`<${Provider}
            key=${provider.name} provider=${provider} again=${again} />`)}</div>`)}`;
}

/* ---- consumers ---- */

function Remove({consumer, again}) {
    const {by} = usePage();
    const [asking, set] = useState(false);
    const [run, busy] = useDoing();
    const remove = () => run(async () => {
        await ask("DELETE", `/v1/consumers/${encodeURIComponent(consumer.name)}`, {by});
        set(false);
        again();
    }, `${consumer.name} is forgotten.`);
    if (consumer.sink)
        return null;
    return html`<button type="button" class="small" onClick=${() => set(true)}
            aria-label=${`Forget ${consumer.name}`}>Forget…</button>
        ${asking && html`<${Confirm} title=${`Forget ${consumer.name}?`} yes="Forget it" danger busy=${busy}
            onYes=${remove} onClose=${() => set(false)}><p>Its place in the feed is gone, with what it had
            not settled, and its dead letters are dropped. If it comes again it begins anew.</p>
            </${Confirm}>`}`;
}

function consumerColumns(again, may) {
    const all = [
        {name: "Consumer", of: (one) => one.name},
        {name: "Kind", of: (one) => one.sink
            ? html`sink <${State} word=${one.sink_state} />` : one.mode},
        {name: "Lag", number: true, of: (one) => count(one.lag)},
        {name: "Not settled", number: true, of: (one) => count(one.pending)},
        {name: "Oldest of it", of: (one) => html`<${Time} ms=${one.oldest_ms} />`},
        {name: "Programs", number: true, of: (one) => count(one.instances)},
        {name: "Asked", of: (one) => html`<${Time} ms=${one.asked_ms} />`},
        {name: "Filter", of: (one) => [one.provider, one.state].filter(Boolean).join(" ") || "all"},
        {name: "Position", of: (one) => one.position},
        {name: "Rejected", number: true, of: (one) => one.rejected > 0
            ? html`<a href=${"#/letters" + query({consumer: one.name})}>${count(one.rejected)}</a>` : "0"},
        {name: "Forget", of: (one) => html`<${Remove} consumer=${one} again=${again} />`},
    ];
    return may ? all : all.slice(0, -1);
}

export function Consumers() {
    const {access} = usePage();
    const {value, problem, again} = useAsk("/v1/consumers", 2000);
    return html`<p class="soft">Lag counts the events of the feed beyond what a consumer has settled.</p>
        <${Trouble} problem=${problem} />${value && html`<${Table} label="Consumers"
            columns=${consumerColumns(again, access?.change)} rows=${value.consumers}
            id=${(one) => one.name} empty="Nobody keeps a place in the feed." />`}`;
}

/* ---- what people did ---- */

const DONE = {
    "POST /v1/tasks/{id}/cancel": "cancelled task",
    "DELETE /v1/consumers/{id}": "forgot consumer",
    "POST /v1/dead-letters/replay": "began a bulk replay",
    "PATCH /v1/dead-letters/{id}": "edited letter",
    "POST /v1/dead-letters/{id}/replay": "replayed letter",
    "DELETE /v1/dead-letters/{id}": "dropped letter",
    "POST /v1/replays/{id}/pause": "paused bulk replay",
    "POST /v1/replays/{id}/resume": "resumed bulk replay",
    "DELETE /v1/replays/{id}": "cancelled bulk replay",
    "POST /v1/providers/{id}/pause": "paused provider",
    "POST /v1/providers/{id}/resume": "resumed provider",
    "POST /v1/backup": "made a backup",
};

function of(action) {
    const place = /tasks|dead-letters|replays/.exec(action.what)?.[0];
    const view = {"dead-letters": "letters"}[place] || place;
    return action.of && view ? html`<a href=${`#/${view}/${action.of}`}>${action.of}</a>` : action.of;
}

/* What was asked for, without who: that stands beside it. */
function asked(action) {
    try {
        const {by, ...rest} = JSON.parse(action.asked);
        return Object.keys(rest).length > 0 ? JSON.stringify(rest) : "";
    } catch {
        return action.asked; /* it was cut */
    }
}

const ACTIONS = [
    {name: "When", of: (action) => html`<${Time} ms=${action.at_ms} exact />`},
    {name: "Who", of: (action) => action.by},
    {name: "Did", of: (action) => html`${DONE[action.what] || action.what} ${of(action)}`},
    {name: "With", wide: true, of: (action) => html`<code>${asked(action)}</code>`},
    {name: "From", of: (action) => action.peer},
    {name: "Answer", of: (action) => html`<${State} word=${String(action.status)}
        kind=${action.status < 300 ? "good" : "bad"} />`},
];

export function Actions() {
    const [cursor, pager] = usePages("actions");
    const {value, problem} = useAsk("/v1/actions" + query({limit: 50, cursor}), cursor ? 0 : 3000);
    return html`<p class="soft">What people had this gateway do, here, by the command, or over the API, and
        who they said they were. What came of letters is also in each letter.</p>
        <${Trouble} problem=${problem} />${value && html`${value.note && html`<p class="trouble">
            ${value.note}</p>`}<${Table} label="What people did" columns=${ACTIONS} rows=${value.actions}
            empty="Nothing yet." />`}${pager(value, "actions")}`;
}
