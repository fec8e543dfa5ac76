import type { ControlScope } from '../../contract/actions/control-scopes.ts';
import type { ServerConfiguration } from './config.ts';

/** A file with one token; surrounding white space is ignored. */
export interface TokenSource {
  readonly file: string;
  /** The name that an operator gave the token, or `null`. */
  readonly id: string | null;
  /** The scopes of the token; `null` for all. */
  readonly allow: readonly ControlScope[] | null;
  /** `null` for none. */
  readonly limits: TokenLimitSettings | null;
}

/** The limits of the requests with a token, in each process. An absent one does not hold. */
export type TokenLimitSettings = NonNullable<ServerConfiguration['auth']['tokens'][number]['limits']>;

/** The files of the admin tokens: those that may do everything, then those with limits. */
export function tokenSources({ admin, auth }: ServerConfiguration): readonly TokenSource[] {
  return [
    ...admin.tokenFiles.map((file) => ({ file, id: null, allow: null, limits: null })),
    ...auth.tokens.map(({ file, id = null, allow = null, limits = null }) => ({ file, id, allow, limits })),
  ];
}
