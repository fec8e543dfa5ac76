import type { Clock } from '../../platform/process/clock.ts';
import { readBoundedFile } from '../../platform/files/files.ts';
import type { ClusterAccess } from './cluster-access.ts';

const TOKEN_MAX_BYTES = 64 * 1024;
/** How long a token file is taken to be unchanged; kubelet rotates it long before it expires. */
const REREAD_AFTER_MS = 60_000;

/** Gives the token for the next request. */
export interface TokenSource {
  /**
   * @param refused the last answer was 401: look at the file now
   * @returns `null` for none
   * @throws the file system error
   */
  read(refused?: boolean): Promise<string | null>;
}

/** Makes a source that reads a token file again every minute, and at once when the token was refused. */
export function createTokenSource(access: ClusterAccess['token'], clock: Clock): TokenSource {
  if (access.kind !== 'file') {
    const token = access.kind === 'fixed' ? access.token : null;
    return { read: async () => token };
  }
  let held: { readonly token: string; readonly readAt: number } | null = null;
  return {
    read: async (refused = false) => {
      if (held === null || refused || clock.monotonic() - held.readAt > REREAD_AFTER_MS) {
        const text = (await readBoundedFile(access.path, TOKEN_MAX_BYTES)).toString('utf8').trim();
        held = { token: text, readAt: clock.monotonic() };
      }
      return held.token === '' ? null : held.token;
    },
  };
}
