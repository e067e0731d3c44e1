export const cloud = { /** @returns {{uuid: string, name: string}[]} */ findNames(/** @type {string} */ text, /** @type {number} */ most) { return []; } };
