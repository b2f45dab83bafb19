/* Small parts that all views are made of. */
import {html, useEffect, useRef, useState} from "./htm-preact-3.1.1.js";
import {ago, count, moment} from "./format.js";
import {usePage} from "./hooks.js";

/* What came of what was done. Outside of an open dialog nothing can be reached, nor is it read out, so it
 * stands in the dialog then. */
export function Said() {
    const {said, close} = usePage();
    return html`<div class="said" role="status" aria-live="polite">${said.map((one) => html`<p
        key=${one.id} class=${one.wrong ? "wrong" : "right"}><span aria-hidden="true">
        ${one.wrong ? "✕" : "✓"}</span> <span>${one.text}</span> <button type="button" class="small"
            aria-label="Close" onClick=${() => close(one.id)}>×</button></p>`)}</div>`;
}

/* A sign beside each word, so that no state is told by its colour alone. */
const SIGNS = {
    good: "✓", // done, balanced, asked
    wait: "…", // under way
    warn: "!", // somebody should look
    bad: "✕",  // ended badly, away
    rest: "–", // closed, of no interest
};

const KINDS = {
    done: "good", resolved: "good", balanced: "good", asked: "good", delivering: "good", live: "good",
    accepted: "wait", submitting: "wait", pending: "wait", polling: "wait", running: "wait",
    queued: "wait", open: "warn", held: "warn", paused: "warn", late: "warn", "in trouble": "bad",
    failed: "bad", lost: "bad", expired: "bad", blocked: "bad", down: "bad", away: "bad",
    cancelled: "rest", dropped: "rest",
};

export function State({word, kind}) {
    const shown = kind || KINDS[word] || "rest";
    return html`<span class=${`state ${shown}`}><span aria-hidden="true">${SIGNS[shown]}</span> ${word}
        </span>`;
}

export function Time({ms, exact}) {
    if (ms == null)
        return html`<span>–</span>`;
    const iso = new Date(ms).toISOString();
    return exact
        ? html`<time datetime=${iso} title=${ago(ms)}>${moment(ms)}</time>`
        : html`<time datetime=${iso} title=${moment(ms)}>${ago(ms)}</time>`;
}

export function Trouble({problem}) {
    return problem && html`<p class="trouble" role="alert">${problem.message}</p>`;
}

/* columns: [{name, of(row), number, wide}]. The first column heads its row. A table that is wider than
 * the page is scrolled by itself, with the keyboard too. */
export function Table({label, columns, rows, empty, id = (row) => row.id}) {
    if (rows.length === 0)
        return html`<p class="empty">${empty}</p>`;
    const classOf = (column) => [column.number && "number", column.wide && "wide"]
        .filter(Boolean).join(" ") || undefined;
    return html`<div class="scroll" tabindex="0" role="region" aria-label=${label}><table>
        <thead><tr>${columns.map((column) => html`<th scope="col" class=${classOf(column)}>
            ${column.name}</th>`)}</tr></thead>
        <tbody>${rows.map((row) => html`<tr key=${id(row)}>${columns.map((column) =>
            html`<td class=${classOf(column)}>${column.of(row)}</td>`)}</tr>`)}</tbody>
        </table></div>`;
}

/* A button that keeps the focus when it can do no more, as the one that was just pressed may. */
function Step({name, able, onClick}) {
    return html`<button type="button" aria-disabled=${!able} onClick=${() => able && onClick()}>${name}
        </button>`;
}

/* Where in a list that goes on by cursors one is: [cursor, pager(value, what)]. It begins anew when key
 * changes. Rows that come meanwhile move nothing: a page begins where it began. value: what was answered,
 * null while it is asked; put the pager beside what is shown of it, so that it stays meanwhile. */
export function usePages(key) {
    const [place, set] = useState({key, cursors: [""], moved: false});
    const {cursors, moved} = place.key === key ? place : {cursors: [""], moved: false};
    const go = (next) => set({key, cursors: next, moved: true});
    const pager = (value, what) => (moved || value?.cursor) && html`<nav class="pager"
        aria-label=${`Pages of ${what}`}>
        <${Step} name="Back" able=${cursors.length > 1} onClick=${() => go(cursors.slice(0, -1))} />
        <span role="status">page ${count(cursors.length)}</span>
        <${Step} name="Next" able=${!!value?.cursor} onClick=${() => go([...cursors, value.cursor])} />
        </nav>`;
    return [cursors[cursors.length - 1], pager];
}

/* A question in front of the page. The browser keeps the focus in it, Escape closes it, and the focus goes
 * back to where it came from. */
export function Dialog({title, onClose, children}) {
    const box = useRef(null);
    const {dialog} = usePage();
    useEffect(() => {
        const before = document.activeElement;
        const own = box.current;
        own.showModal();
        dialog(1);
        return () => {
            dialog(-1);
            own.close();
            if (before && before.isConnected)
                before.focus();
        };
    }, []);
    return html`<dialog ref=${box} aria-label=${title}
        onCancel=${(event) => { event.preventDefault(); onClose(); }}>
        <h2>${title}</h2>${children}<${Said} /></dialog>`;
}

/* Ask before what can't be taken back. */
export function Confirm({title, yes, danger, busy, onYes, onClose, children}) {
    return html`<${Dialog} title=${title} onClose=${onClose}>
        ${children}
        <p class="buttons">
            <button type="button" class=${danger ? "danger" : "main"} disabled=${busy}
                onClick=${onYes}>${yes}</button>
            <button type="button" onClick=${onClose}>Cancel</button>
        </p></${Dialog}>`;
}

/* What changes something is there only for those who may. */
export function IfAllowed({children}) {
    return usePage().access?.change ? children : null;
}

export function Facts({rows}) {
    return html`<dl class="facts">${rows.filter(([, value]) => value !== "" && value != null)
        .map(([name, value]) => html`<div key=${name}><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;
}

/* Bytes of somebody else: shown as text, never as markup; the first of very many. */
export function Bytes({label, text, base64}) {
    const MOST = 65536;
    const whole = text ?? base64 ?? "";
    return html`<figure class="bytes"><figcaption>${label}${base64 != null && " (base64: no text)"}
        ${whole.length > MOST && ` (the first ${count(MOST)} of ${count(whole.length)} characters)`}
        </figcaption>
        <pre tabindex="0" aria-label=${label}>${whole.slice(0, MOST) || "(nothing)"}</pre></figure>`;
}

export function Progress({label, value, of}) {
    const part = of > 0 ? Math.min(100, Math.floor(100 * value / of)) : 0;
    return html`<p class="progress"><progress max=${Math.max(1, of)} value=${value}
        aria-label=${label}></progress> <span>${label}: ${count(value)} of ${count(of)} (${part} %)</span></p>`;
}
