import { findWeakTokenFiles } from '../../platform/files/token-file.ts';
import type { ServerConfiguration } from './config.ts';
import { tokenSources } from './token-sources.ts';

/** Finds what makes the tokens of a configuration weak, one sentence for each finding, with its remedy. */
export async function findWeakSecrets({
  admin,
  auth,
  daemon,
}: Pick<ServerConfiguration, 'admin' | 'auth' | 'daemon'>): Promise<readonly string[]> {
  return await findWeakTokenFiles([
    ...tokenSources({ admin, auth }).map(({ file }) => file),
    ...(daemon.tokenFile === undefined ? [] : [daemon.tokenFile]),
  ]);
}
