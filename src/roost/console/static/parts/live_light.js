// The one light that says whether what is shown is alive.

import { live } from "../model/live.js";
import { useStore } from "../state.js";
import { html, useEffect, useReducer } from "../vendor/preact.js";
import { formatAge } from "./values.js";

/** Green while events flow, amber while the console reconnects, with how old what is shown may be. */
export function LiveLight() {
	const { isOpen, since, reason, rule } = useStore(live);
	const [, tick] = useReducer((/** @type {number} */ count) => count + 1, 0);
	useEffect(() => {
		const timer = isOpen ? 0 : setInterval(() => tick(undefined), 1000);
		return () => clearInterval(timer);
	}, [isOpen]);
	if (isOpen) return html`<span class="live is-open" role="status" title="Changes are shown as they happen.">live</span>`;
	const age = formatAge(Date.now() - since);
	if (rule) return html`<span class="live" role="status" title=${`The policy rule ${rule} does not admit this token.`}>not live: ${age} old</span>`;
	return html`<span class="live" role="status" title=${reason || "connecting"}>${reason ? `reconnecting: ${age} old` : "connecting"}</span>`;
}
