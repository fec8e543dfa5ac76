import { CONTROL_SCOPES } from '../schemas/vocabulary.ts';

export type ControlScope = (typeof CONTROL_SCOPES)[number];

/** The scope of a job; `read` for one that changes nothing, which every valid token may run. */
export type JobScope = ControlScope | 'read';

export interface Caller {
  /** Names the token in logs and histories; `null` when the daemon was called directly. */
  readonly tokenId: string | null;
  readonly allow: readonly ControlScope[] | null;
}

/** The fields of the loopback call that carry the {@link Caller}. */
export const CALLER_FIELDS = { tokenId: 'slipway-token-id', allow: 'slipway-token-allow' } as const;

/** The id of a token: what an operator gives it, or the beginning of its digest. */
export const TOKEN_ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

/** The scopes that a caller does not have, in the order of {@link CONTROL_SCOPES}. */
export function missingScopes({ allow }: Caller, needed: readonly ControlScope[]): readonly ControlScope[] {
  if (allow === null) return [];
  return CONTROL_SCOPES.filter((scope) => needed.includes(scope) && !allow.includes(scope));
}
