/* One dead letter: what came, what was tried, and what a person can do about it. */
import {html, useState} from "./htm-preact-3.1.1.js";
import {ask, askText, query} from "./api.js";
import {layOut, member} from "./format.js";
import {useAsk, useDoing, usePage} from "./hooks.js";
import {Bytes, Confirm, Dialog, Facts, IfAllowed, State, Time, Trouble} from "./parts.js";
import {dryRunText, WordChoice, wordBody} from "./replay.js";

const EDITED = ["malformed", "unauthenticated", "unknown_task", "unmapped_status"];
const SOON_MS = 3000;
const SELDOM_MS = 10000; // what is closed stays closed

function DryRun({run}) {
    return run && html`<div class="dry" role="status"><p><${State}
        word=${run.tried && run.disposition !== "still" ? "would be done" : "would stay"}
        kind=${run.tried && run.disposition !== "still" ? "good" : "warn"} />
        ${" "}It ${dryRunText(run)}</p>
        <${Facts} rows=${[["Task", run.task], ["Its state now", run.task_state],
            ["Provider's id", run.provider_id], ["Rule", run.rule], ["Then", run.then],
            ["Code", run.code], ["Row of the code table", run.code_row], ["Class", run.class]]} /></div>`;
}

function ReplayDialog({letter, onClose, again}) {
    const {by} = usePage();
    const [word, setWord] = useState("");
    const [judged, setJudged] = useState(null);
    const [run, busy] = useDoing();
    const path = `/v1/dead-letters/${letter.id}/replay`;
    const dry = () => run(async () =>
        setJudged((await ask("POST", path, {...wordBody(word), dry_run: true})).dry_run));
    const replay = () => run(async () => {
        await ask("POST", path, {...wordBody(word), by});
        again();
        onClose();
    }, "It is tried again: the tries below say what came of it.");
    return html`<${Confirm} title="Try this letter again?" yes="Replay" busy=${busy} onYes=${replay}
        onClose=${onClose}>
        <${WordChoice} reason=${letter.reason} word=${word}
            onWord=${(one) => { setWord(one); setJudged(null); }} />
        <p><button type="button" disabled=${busy} onClick=${dry}>Dry run: what would become of it?</button>
        </p><${DryRun} run=${judged} /></${Confirm}>`;
}

function DropDialog({letter, onClose, again}) {
    const {by} = usePage();
    const [run, busy] = useDoing();
    const drop = () => run(async () => {
        await ask("DELETE", `/v1/dead-letters/${letter.id}`, {by});
        again();
        onClose();
    }, "The letter is dropped.");
    return html`<${Confirm} title="Drop this letter?" yes="Drop" danger busy=${busy} onYes=${drop}
        onClose=${onClose}><p>It is closed as dropped, and not tried again. What it holds is kept for a
        while, and then it is gone.</p></${Confirm}>`;
}

/* {name: text}, and under which names the API takes them. Bytes that are no text are edited as base64. */
function editable(original) {
    const fields = [];
    for (const name of ["query", "content_type", "headers", "body"]) {
        const base64 = `${name}_base64`;
        if (original[base64] != null && (name === "query" || name === "body"))
            fields.push({name: base64, label: `${name}, in base64`, was: original[base64]});
        else if (original[base64] == null)
            fields.push({name, label: name.replace("_", " "), was: original[name] || ""});
    }
    return fields;
}

/* The letter as it was when the dialog was opened: the page behind goes on asking, and an edit is refused
 * when somebody else has put another message there in between. */
function EditDialog({letter: now, onClose, again}) {
    const {by} = usePage();
    const [letter] = useState(now);
    const fields = editable(letter.original);
    const [texts, set] = useState(Object.fromEntries(fields.map((field) => [field.name, field.was])));
    const [run, busy] = useDoing();
    const changed = fields.filter((field) => texts[field.name] !== field.was);
    const save = (event) => {
        event.preventDefault();
        run(async () => {
            const body = Object.fromEntries(changed.map((field) => [field.name, texts[field.name]]));
            await ask("PATCH", `/v1/dead-letters/${letter.id}`, {...body, by, revision: letter.revision});
            again();
            onClose();
        }, "Another message stands in its place; the one before is kept. Replay it to have it tried.");
    };
    const input = (field) => {
        const facts = {value: texts[field.name], spellcheck: false,
                       onInput: (event) => set({...texts, [field.name]: event.target.value})};
        return field.name === "query" || field.name === "content_type"
            ? html`<input type="text" ...${facts} />` : html`<textarea rows=${field.name === "headers" ? 4 : 8}
                ...${facts}></textarea>`;
    };
    return html`<${Dialog} title="Edit this letter" onClose=${onClose}><form onSubmit=${save}>
        <p>Nothing is tried by this alone, and every message before is kept. Headers are lines of
        ${" "}<code>name: value</code>, all of them.</p>
        ${fields.map((field) => html`<label class="stacked" key=${field.name}>${field.label}
            ${input(field)}</label>`)}
        <p class="buttons"><button type="submit" class="main" disabled=${busy || changed.length === 0}>
            Save</button><button type="button" onClick=${onClose}>Cancel</button></p></form></${Dialog}>`;
}

const DIALOGS = {replay: ReplayDialog, drop: DropDialog, edit: EditDialog};

function Commands({letter, again}) {
    const [dialog, set] = useState("");
    const older = letter.shown < letter.revision; // an edit begins with the message as it is now
    const shown = dialog && DIALOGS[dialog];
    return isOpen(letter) && html`<${IfAllowed}><p class="buttons">
        <button type="button" class="main" onClick=${() => set("replay")}>Replay…</button>
        ${EDITED.includes(letter.reason) && letter.original && !older && html`<button type="button"
            onClick=${() => set("edit")}>Edit…</button>`}
        <button type="button" onClick=${() => set("drop")}>Drop…</button></p>
        ${shown && html`<${shown} letter=${letter} again=${again} onClose=${() => set("")} />`}
        </${IfAllowed}>`;
}

function Revisions({letter, shown}) {
    if (letter.revision < 2)
        return null;
    const numbers = Array.from({length: letter.revision}, (_, i) => letter.revision - i);
    return html`<p><label>Message <select value=${String(shown)} onChange=${(event) => {
        location.hash = `#/letters/${letter.id}` + query({revision: event.target.value});
    }}>${numbers.map((number) => html`<option key=${number} value=${number}>${number}${number === 1
        ? ", as it came" : number === letter.revision ? ", as it is now" : ""}</option>`)}</select></label></p>`;
}

function Original({original}) {
    return html`<${Facts} rows=${[["Request", `${original.method} ${original.path}`],
            ["Content type", original.content_type], ["From", original.peer],
            ["Came", html`<${Time} ms=${original.received_ms} exact />`],
            ["Fault", original.fault], ["Detail", original.detail],
            ["Spooled", original.spooled ? "yes" : ""]]} />
        <${Bytes} label="Query" text=${original.query} base64=${original.query_base64} />
        <${Bytes} label="Headers" text=${original.headers} base64=${original.headers_base64} />
        <${Bytes} label="Body" text=${original.body} base64=${original.body_base64} />`;
}

function Message({letter}) {
    if (letter.original)
        return html`<${Original} original=${letter.original} />`;
    if (letter.event)
        return html`<${Bytes} label="Event" text=${layOut(letter.event)} />`;
    if (letter.original_base64 != null)
        return html`<${Bytes} label="Message" base64=${letter.original_base64} />`;
    return html`<p class="empty">It has no message.</p>`;
}

function line(one) {
    const facts = [one.by && `by ${one.by}`, one.revision > 1 && `message ${one.revision}`, one.outcome,
                   one.detail].filter(Boolean).join("; ");
    return html`<${Time} ms=${one.at_ms} exact /> <strong>${one.what}</strong> ${facts}
        ${one.replay && html` (<a href=${`#/replays/${one.replay}`}>bulk replay</a>)`}`;
}

const isOpen = (letter) => letter.state === "open" || letter.state === "held";

const pace = (letter) => letter && !isOpen(letter) ? SELDOM_MS : SOON_MS;

/* Its event as it was written, for that is only shown. */
async function askLetter(path) {
    const text = await askText(path);
    const letter = JSON.parse(text);
    return {...letter, event: letter.event && member(text, "event")};
}

export function Letter({id, revision}) {
    const path = `/v1/dead-letters/${encodeURIComponent(id)}` + query({revision});
    const {value: letter, problem, again} = useAsk(path, pace, askLetter);
    if (!letter)
        return problem ? html`<${Trouble} problem=${problem} /><p><a href="#/letters">All letters</a></p>`
                       : html`<p class="empty">Asking…</p>`;
    return html`<${Trouble} problem=${problem} />${letter.note && html`<p class="soft">${letter.note}</p>`}
        <${Facts} rows=${[["Reason", letter.reason], ["Cause", letter.cause],
            ["State", html`<${State} word=${letter.state} />`], ["Outcome", letter.outcome],
            ["Provider", letter.provider], ["Consumer", letter.consumer],
            ["Task", letter.task && html`<a href=${`#/tasks/${letter.task}`}>${letter.task}</a>`],
            ["Provider's id", letter.provider_id], ["Proof", letter.proof],
            ["Made", html`<${Time} ms=${letter.made_ms} exact />`], ["Tries", letter.attempts],
            ["Next try", letter.due_ms && html`<${Time} ms=${letter.due_ms} exact />`],
            ["Closed", letter.closed_ms && html`<${Time} ms=${letter.closed_ms} exact />`]]} />
        <${Commands} letter=${letter} again=${again} />
        <section><h2>Message</h2><${Revisions} letter=${letter} shown=${letter.shown} />
            <${Message} letter=${letter} /></section>
        <section><h2>What happened</h2><ol class="timeline">${letter.timeline.map((one, i) =>
            html`<li key=${i}>${line(one)}</li>`)}</ol></section>`;
}
