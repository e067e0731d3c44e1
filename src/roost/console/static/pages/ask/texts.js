// Sentences of the service with short names in them.

import { shortenUuids } from "../../draw/funnel.js";
import { names } from "../../model/provider_names.js";

/**
 * Many names begin with that of the host, which stands before them.
 * @param {string} name
 * @param {string} rootName
 */
export function shortName(name, rootName) {
	return rootName && name.startsWith(rootName) ? name.slice(rootName.length).replace(/^[-_./: ]+/, "") || name : name;
}

/**
 * A rule, with the name of the provider that it is about; who shows it follows `names`.
 * @param {import("./answers.js").Stage} stage
 */
export function ruleText({ text, rule }) {
	const isOfProvider = rule.kind === "in_tree" || rule.kind === "in_subtree";
	const [uuid] = rule.names;
	return shortenUuids(isOfProvider ? text.replace(uuid, () => names.nameOf(uuid) || uuid) : text);
}
