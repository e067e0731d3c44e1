// The report of an audit. It is read in the browser and goes nowhere.

import { parseReport } from "../../model/consumers.js";
import { Command } from "../../parts/conditions.js";
import { formatNumber } from "../../parts/values.js";
import { Store, change, useStore } from "../../state.js";
import { html, useEffect, useState } from "../../vendor/preact.js";
import { addNames } from "./names.js";

/** @typedef {import("../../model/consumers.js").AuditReport} AuditReport */
/** @typedef {{report: AuditReport | null, problem: string, take: (file: File) => void, drop: () => void}} Audit */

const NOT_KEPT = "The report stays in this tab: nothing is sent anywhere, and loading the page again forgets it.";

/** Stays while other pages are shown. */
const audit = new Store({ report: /** @type {AuditReport | null} */ (null), problem: "" });

/** @param {File} file */
async function take(file) {
	try {
		const report = parseReport(await file.text(), file.name);
		addNames(report.names);
		audit.set({ report, problem: "" });
		change({ orphans: "1", shown: null, consumer: null });
	} catch (error) {
		audit.set({ report: audit.value.report, problem: error instanceof Error ? error.message : String(error) });
	}
}

function drop() {
	audit.set({ report: null, problem: "" });
	change({ orphans: null });
}

/** @returns {Audit} */
export function useAudit() {
	return { ...useStore(audit), take, drop };
}

/**
 * Files can be dropped anywhere on the page. Returns whether one is above it now.
 * @param {(file: File) => void} onFile
 */
export function useDrop(onFile) {
	const [isOver, setOver] = useState(false);
	useEffect(() => {
		const hasFiles = (/** @type {DragEvent} */ event) => event.dataTransfer?.types.includes("Files");
		const over = (/** @type {DragEvent} */ event) => {
			if (!hasFiles(event)) return;
			event.preventDefault();
			setOver(true);
		};
		const leave = (/** @type {DragEvent} */ event) => {
			if (!event.relatedTarget) setOver(false);
		};
		const dropped = (/** @type {DragEvent} */ event) => {
			if (!hasFiles(event)) return;
			event.preventDefault();
			setOver(false);
			const file = event.dataTransfer?.files[0];
			if (file) onFile(file);
		};
		addEventListener("dragover", over);
		addEventListener("dragleave", leave);
		addEventListener("drop", dropped);
		return () => (removeEventListener("dragover", over), removeEventListener("dragleave", leave), removeEventListener("drop", dropped));
	}, []);
	return isOver;
}

/** @param {{onFile: (file: File) => void, children?: any}} props */
function FileChoice({ onFile, children }) {
	return html`<label class="file-choice button-like" title=${`what \`roost audit --json\` printed; or drop the file on the page. ${NOT_KEPT}`}>${children}
		<input class="unseen" type="file" accept=".json,application/json" onChange=${(/** @type {any} */ event) => {
			const file = event.target.files[0];
			event.target.value = ""; // so that the same file can be chosen again
			if (file) onFile(file);
		}} />
	</label>`;
}

/** @param {{audit: Audit, isOrphansOnly: boolean}} props */
export function AuditChoice({ audit: { report, take: onFile, drop: onDrop }, isOrphansOnly }) {
	if (!report) return html`<${FileChoice} onFile=${onFile}>audit report…</${FileChoice}>`;
	return html`<button type="button" aria-pressed=${isOrphansOnly} title=${`${report.fileName}. ${NOT_KEPT}`}
			onClick=${() => change({ orphans: isOrphansOnly ? null : "1", shown: null })}>orphans only (${formatNumber(report.orphans.length)})</button>
		<${FileChoice} onFile=${onFile}>another report…</${FileChoice}>
		<button type="button" class="icon" aria-label="forget the audit report" title="forget the report" onClick=${onDrop}>✕</button>`;
}

/** The orphans are asked for, and there is no report. @param {{take: (file: File) => void}} props */
export function NoReport({ take: onFile }) {
	return html`<div class="empty">
		<h2>Which audit?</h2>
		<p>Orphans are consumers that the cloud does not know any more. An audit finds them:</p>
		<${Command} text="roost audit --nova --json > audit.json" />
		<p class="after-command">Choose its report, or drop it on this page. ${NOT_KEPT}</p>
		<p><${FileChoice} onFile=${onFile}>choose the report…</${FileChoice}> <button type="button" onClick=${() => change({ orphans: null })}>show all consumers</button></p>
	</div>`;
}
