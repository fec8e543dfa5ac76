/** The one place where the admin token is: in memory, and in the tab's session storage where the user says so. */

const KEY = 'slipway.admin-token';

/**
 * @typedef {object} TokenVault
 * @property {() => string | null} get
 * @property {(token: string, keep: boolean) => void} set `keep`: survive a reload of this tab
 * @property {() => void} forget
 */

/**
 * @param {() => Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>} session throws where storage is switched off
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
    // Without storage the token lives in memory only, which is all that is promised.
    return undefined;
  }
}
