// What a page shows when it has nothing to show: not yet, not at all, or not to this user.

import { ApiError } from "../api.js";
import { live } from "../model/live.js";
import { html, useEffect, useRef, useState } from "../vendor/preact.js";

/**
 * The frame of what is to come.
 * @param {{lines?: number, text?: string}} props
 */
export function Loading({ lines = 8, text = "loading" }) {
	const bars = Array.from({ length: lines }, (_, line) => html`<div class="bone" style=${{ width: `${90 - ((line * 37) % 50)}%` }}></div>`);
	return html`<div class="loading" role="status" aria-label=${text}>${bars}<p class="quiet">${text}</p></div>`;
}

/**
 * @param {{title: string, children?: any, command?: string}} props `command`: the one that gets further
 */
export function Empty({ title, children, command }) {
	return html`<div class="empty">
		<h2>${title}</h2>
		<p>${children}</p>
		${command && html`<${Command} text=${command} />`}
	</div>`;
}

/** A command to copy. @param {{text: string}} props */
export function Command({ text }) {
	const [copied, setCopied] = useState(false);
	const copy = async () => {
		await navigator.clipboard?.writeText(text).catch(() => undefined);
		setCopied(true);
		setTimeout(() => setCopied(false), 1000);
	};
	return html`<div class="command"><code tabindex="0">${text}</code><button type="button" onClick=${copy}>${copied ? "copied" : "copy"}</button></div>`;
}

/**
 * Call `retry` when events flow again: a service that did not answer has come back.
 * @param {(() => void) | undefined | false} retry
 */
function useReturnOfService(retry) {
	const latest = useRef(retry);
	latest.current = retry;
	useEffect(() => {
		let wasOpen = live.value.isOpen;
		return live.subscribe(() => {
			if (live.value.isOpen && !wasOpen && latest.current) latest.current();
			wasOpen = live.value.isOpen;
		});
	}, []);
}

/**
 * What the service said, and a way to try again. If it said nothing, that is done as soon as it is there again.
 * @param {{error: unknown, retry?: () => void}} props
 */
export function Failed({ error, retry }) {
	const refused = error instanceof ApiError ? error : new ApiError(0, error instanceof Error ? error.message : String(error));
	useReturnOfService(!refused.status && retry);
	if (refused.rule) return html`<${Forbidden} rule=${refused.rule} />`;
	return html`<div class="failed" role="alert">
		<h2>${refused.status ? `${refused.status}: the service refused` : "No answer"}</h2>
		<p class="said">${refused.detail}</p>
		<p class="quiet">
			${refused.code && html`code <code>${refused.code}</code> `}
			${refused.requestId && html`request <code>${refused.requestId}</code>`}
		</p>
		${retry && html`<button type="button" onClick=${retry}>try again</button>`}
	</div>`;
}

/** @param {{rule: string}} props */
export function Forbidden({ rule }) {
	return html`<div class="failed" role="alert">
		<h2>Not allowed</h2>
		<p>The policy rule <code>${rule}</code> does not admit the roles of this token. An operator can change who it admits in the policy file.</p>
	</div>`;
}

/**
 * Read something when `keys` change, or when `reload` is called. What was read before stays until the next is there.
 * @template T
 * @param {(signal: AbortSignal) => Promise<T>} read
 * @param {readonly unknown[]} keys
 * @returns {{value: T | null, error: unknown, isLoading: boolean, reload: () => void}}
 */
export function useReading(read, keys) {
	const [count, setCount] = useState(0);
	const [state, setState] = useState(/** @type {{value: T | null, error: unknown, isLoading: boolean}} */ ({ value: null, error: null, isLoading: true }));
	useEffect(() => {
		const controller = new AbortController();
		setState((before) => ({ ...before, isLoading: true }));
		read(controller.signal).then(
			(value) => {
				if (controller.signal.aborted) return;
				setState({ value, error: null, isLoading: false });
			},
			(error) => controller.signal.aborted || setState((before) => ({ ...before, error, isLoading: false })),
		);
		return () => controller.abort();
	}, [...keys, count]);
	return { ...state, reload: () => setCount((before) => before + 1) };
}
