/** The one place for the admin token: in memory, and in the tab's session storage if the user chooses so. */

import { attempt } from './attempt.ts';

const KEY = 'slipway.admin-token';

export interface TokenVault {
  get(): string | null;
  /** @param keep whether the token survives a reload of this tab */
  set(token: string, keep: boolean): void;
  forget(): void;
}

/** @param session throws if storage is switched off */
export function createTokenVault(
  session: () => Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>,
): TokenVault {
  let token = attempt(() => session().getItem(KEY)) ?? null;
  return {
    get: () => token,
    set: (next, keep) => {
      token = next;
      attempt(() => {
        if (keep) session().setItem(KEY, next);
        else session().removeItem(KEY);
      });
    },
    forget: () => {
      token = null;
      attempt(() => session().removeItem(KEY));
    },
  };
}
