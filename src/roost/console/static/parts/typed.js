// A text that counts once it is confirmed: by Enter, or by leaving the field.

import { useLayoutEffect, useState } from "../vendor/preact.js";

/**
 * Attributes of such an input. What was typed so far stays in it although the page is drawn again,
 * which every event of a busy cloud does.
 * @param {string} value what counts now
 * @param {(text: string) => void} confirm
 */
export function useTyped(value, confirm) {
	const [typed, setTyped] = useState(/** @type {string | null} */ (null));
	// The address may say something else by now.
	useLayoutEffect(() => setTyped(null), [value]);
	return {
		value: typed ?? value,
		onInput: (/** @type {any} */ event) => setTyped(event.target.value),
		onChange: (/** @type {any} */ event) => {
			setTyped(null);
			confirm(event.target.value.trim());
		},
		onBlur: () => setTyped(null),
	};
}
