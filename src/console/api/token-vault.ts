/** The one place for the admin token: in memory, and in the tab's session storage if the user chooses so. */

import { attempt } from './attempt.ts';

const KEY = 'slipway.admin-token';

export class TokenVault {
  readonly #session: () => Storage;
  #token: string | null;

  /** @param session throws if storage is switched off */
  constructor(session: () => Storage) {
    this.#session = session;
    this.#token = attempt(() => session().getItem(KEY)) ?? null;
  }

  get(): string | null {
    return this.#token;
  }

  /** @param keep whether the token survives a reload of this tab */
  set(token: string, keep: boolean): void {
    this.#token = token;
    attempt(() => {
      if (keep) this.#session().setItem(KEY, token);
      else this.#session().removeItem(KEY);
    });
  }

  forget(): void {
    this.#token = null;
    attempt(() => this.#session().removeItem(KEY));
  }
}
