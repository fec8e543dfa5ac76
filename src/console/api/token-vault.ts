/** The one place for the admin token: in memory, and in the tab's session storage if the user chooses so. */

const KEY = 'slipway.admin-token';

/**
 * @typedef {object} TokenVault
 * @property {() => string | null} get
 * @property {(token: string, keep: boolean) => void} set `keep`: the token survives a reload of this tab
 * @property {() => void} forget
 */

/**
 * @param {() => Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>} session throws if storage is switched off
 * @returns {TokenVault}
 */
export function createTokenVault(session) {
  /** @type {string | null} */
  let token = attempt(() => session().getItem(KEY)) ?? null;
  return {
    get: () => token,
    set: (next, keep) => {
      token = next;
      attempt(() => (keep ? session().setItem(KEY, next) : session().removeItem(KEY)));
    },
    forget: () => {
      token = null;
      attempt(() => session().removeItem(KEY));
    },
  };
}

/**
 * @template T
 * @param {() => T} use
 * @returns {T | undefined}
 */
function attempt(use) {
  try {
    return use();
  } catch {
    // Without storage the token is in memory only, and the page promises no more.
    return undefined;
  }
}
