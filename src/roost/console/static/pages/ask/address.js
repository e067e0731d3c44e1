// The address of the page Ask: the parameters of GET /allocation_candidates, and `show`, what the drawer shows.

import { readParameters, writeParameters } from "../../model/request.js";
import { go, link } from "../../state.js";

/**
 * @typedef {import("../../model/request.js").Request} Request
 * @typedef {{kind: "" | "stage" | "tree" | "candidate", value: string}} Show
 */

export const NOTHING = /** @type {Show} */ ({ kind: "", value: "" });

/** @param {URLSearchParams} parameters @returns {{request: Request, show: Show}} */
export function readAsk(parameters) {
	const others = [...parameters].filter(([name]) => name !== "show" && name !== "tree");
	// The query of an explanation may have the tree that it is about.
	const tree = parameters.get("tree");
	const text = parameters.get("show") ?? (tree ? `tree:${tree}` : "");
	const [, kind, value] = text.match(/^(stage|tree|candidate):(.+)$/) ?? ["", "", ""];
	return { request: readParameters(others), show: /** @type {Show} */ ({ kind, value }) };
}

/** @param {Request} request @param {Show} [show] */
function toParameters(request, show = NOTHING) {
	const parameters = writeParameters(request);
	if (show.kind) parameters.append("show", `${show.kind}:${show.value}`);
	return parameters;
}

/** @param {Request} request @param {Show} [show] */
export const askLink = (request, show) => link("ask", toParameters(request, show));

/**
 * @param {Request} request
 * @param {Show} [show]
 * @param {{replace?: boolean}} [options]
 */
export const goAsk = (request, show, options) => go("ask", toParameters(request, show), options);
