/* Trying again: the words that a person adds, what a dry run says, and all letters of a filter. */
import {html, useState} from "./htm-preact-3.1.1.js";
import {ask} from "./api.js";
import {useDoing, usePage} from "./hooks.js";
import {Confirm} from "./parts.js";

/* Each is said only of letters of certain reasons; of others the dlq refuses it, with a sentence. */
const WORDS = [
    {word: "", label: "As it is", text: "Judged by today's profile, as if it came now.", of: () => true},
    {word: "believe", label: "Believe it", of: (reason) => ["malformed", "unauthenticated",
        "unknown_task", "unmapped_status"].includes(reason),
     text: "Your word stands for the proof that this message did not have."},
    {word: "publish", label: "Publish it as a correction", of: (reason) => reason === "conflict",
     text: "This answer takes the place of the one that was published."},
    {word: "buy", label: "Have the task made anew", of: (reason) => ["submit_failed",
        "submit_uncertain", "expired"].includes(reason),
     text: "A new task asks the provider, and is paid for. If the first one is uncertain, both may be."},
];

export function wordBody(word) {
    return word ? {[word]: true} : {};
}

/* reason: of the letters in question; without it all words are offered. */
export function WordChoice({reason, word, onWord}) {
    const offered = WORDS.filter((one) => !reason || one.of(reason));
    return html`<fieldset><legend>How</legend>${offered.map((one) => html`<label class="choice"
        key=${one.word}><input type="radio" name="word" value=${one.word} checked=${word === one.word}
            onChange=${() => onWord(one.word)} />
        <span><strong>${one.label}.</strong> ${one.text}</span></label>`)}</fieldset>`;
}

/* A dry run in a sentence. */
export function dryRunText(run) {
    if (!run)
        return "Nothing was said.";
    const would = run.tried ? `would be ${run.disposition}` : "would not be tried";
    const state = run.state ? `, the task would be ${run.state}` : "";
    return `${would}${state}. ${run.why}`;
}

function filterWords(filter) {
    const words = Object.entries(filter).filter(([, value]) => value);
    return words.length === 0 ? "all open and held letters"
        : "letters with " + words.map(([name, value]) => `${name} ${value}`).join(", ");
}

/* A bulk replay of all that a filter leaves: it works on in the dlq, also when this page is closed. */
export function ReplayAll({filter, onClose}) {
    const {by} = usePage();
    const [word, setWord] = useState("");
    const [rate, setRate] = useState("50");
    const [run, busy] = useDoing();
    const start = (dry) => run(async () => {
        const body = {...Object.fromEntries(Object.entries(filter).filter(([, value]) => value)),
                      ...wordBody(word), rate: Number(rate), by, dry_run: dry};
        const replay = await ask("POST", "/v1/dead-letters/replay", body);
        onClose();
        location.hash = `#/replays/${replay.id}`;
    });
    return html`<${Confirm} title="Replay all that match?" yes="Replay all" busy=${busy}
        onYes=${() => start(false)} onClose=${onClose}>
        <p>This is about ${filterWords(filter)} that are there now, on every page, the oldest first.</p>
        <${WordChoice} reason=${filter.reason} word=${word} onWord=${setWord} />
        <p><label>Letters a second <input type="number" min="1" max="1000" value=${rate}
            onInput=${(event) => setRate(event.target.value)} /></label></p>
        <p><button type="button" disabled=${busy} onClick=${() => start(true)}>Dry run: what would become
            of them?</button></p></${Confirm}>`;
}
